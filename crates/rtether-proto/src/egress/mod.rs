//! Everything between stack and port of a station, composed: smoother, transmit queues, the rings
//! below them, and what tells the smoother of congestion.
//!
//! ```text
//!   stack ──► Egress { smoother ──► transmit queues ──► rings } ──► port
//!                         ▲                               │
//!                         └────────── detector ◄──────────┘  attempts, backlog, what is heard
//! ```
//!
//! One composition for the simulator and for drivers on a wire: which frame goes next is decided
//! here and nowhere else. Generic over the frame, which it never looks into: the host says with
//! [`Offered`] what the engines need to know of it.
//!
//! A frame is in a ring from the moment [`Egress::poll_transmit`] hands it out until
//! [`Egress::handle_completion`] says that the port is done with it, gap included. Rings are the
//! host's: a queue of its port, or descriptors of a card.
//!
//! # Calls
//!
//! After each of `offer`, `refuse`, `handle_completion`, `probe`, `mark`, `handle_timeout` and `set` the host calls
//! `poll_transmit` until `None`, then `poll_dropped` until `None`; then `poll_timeout` says when to
//! call `handle_timeout`. For each frame that it sends the host calls `begin`, on a shared medium
//! `attempt` at each transmission of it, and `handle_completion` when it is out or given up. A time
//! before that of the last call counts as that; calls in another order do no harm, and those that
//! refer to no frame are counted ([`Statistics::spurious`]).
//!
//! # Limits
//!
//! Smoother and transmit queues have limits of their own and drop the tail. Without transmit queues
//! a frame goes into the ring at once, of which [`PLAIN_RING`] frames are the limit. Frames that
//! are dropped wait for `poll_dropped`, at most [`DROPPED_MAX`] of them.

mod accounts;
mod engine;
mod pacer;
mod record;
mod ring;
mod watch;

use rtether_model::quantity::{Bytes, Duration};
use thiserror::Error;

use crate::endnode;
use crate::smoother::random::Random;
use crate::smoother::{self, Class};

pub use crate::smoother::congestion::Marked;
pub use engine::Egress;
pub use record::{
    Call, Comparison, Decision, Difference, Dropper, Entry, Recording, ReplayError, What, replay,
};

/// Frames in the ring of a port without transmit queues: more than any card has, and no more than
/// a host can keep.
pub const PLAIN_RING: u32 = 65_536;

/// Dropped frames that wait for their host; the oldest is forgotten, and counted, when one more
/// comes.
pub const DROPPED_MAX: usize = 4096;

/// What the engines need to know of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offered {
    /// Frame size, addresses to FCS.
    pub size: Bytes,
    /// Class in the transmit queues.
    pub class: u8,
    /// Size and class of the IP datagram in it, for the smoother; `None` passes the smoother by,
    /// uncharged.
    pub datagram: Option<(Bytes, Class)>,
}

/// A frame for the port; it is in the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handed<F> {
    /// The frame.
    pub frame: F,
    /// Which ring it is in.
    pub ring: u8,
}

/// What chance decides, one number for each purpose: uniform in 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seeds {
    /// Seed of the timer jitter of NT mode.
    pub jitter: u64,
    /// Where in its first period a smoother starts, as a fraction of 2^64.
    pub phase: u64,
    /// Seed of which collisions are seen.
    pub visibility: u64,
}

impl Seeds {
    /// Derives all of them from one number.
    pub fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        Self {
            jitter: random.next(),
            phase: random.next(),
            visibility: random.next(),
        }
    }

    /// Returns the age of a period at the start, from none to all of it.
    fn phase_of(self, period: Duration) -> Duration {
        let count = u128::from(period.as_ps().max(0).unsigned_abs()) + 1;
        let age = (u128::from(self.phase) * count) >> 64;
        Duration::from_ps(i64::try_from(age).unwrap_or(0))
    }
}

/// Why a layer is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EgressError {
    /// Its transmit queues are.
    #[error(transparent)]
    Transmit(#[from] endnode::ConfigError),
    /// Its smoother is.
    #[error(transparent)]
    Smoother(#[from] smoother::ConfigError),
    /// Nothing would ever leave the smoother.
    #[error("a smoother needs room for at least one frame below it")]
    NoRoomBelow,
}

/// Frames counted since the start.
///
/// `offered` is `handed` and both kinds of drops and [`Egress::waiting`] together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Frames taken from the stack.
    pub offered: u64,
    /// Frames handed out.
    pub handed: u64,
    /// Of these, refused by the host.
    pub refused: u64,
    /// Of these, reported complete.
    pub completed: u64,
    /// Frames that the smoother refused.
    pub dropped_by_smoother: u64,
    /// Frames that a transmit queue had no room for.
    pub dropped_by_queues: u64,
    /// Of the dropped frames, those that the host did not fetch in time.
    pub forgotten: u64,
    /// Calls of the host about a frame that there is not.
    pub spurious: u64,
}
