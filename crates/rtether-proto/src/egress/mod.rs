//! Everything between stack and port of a station: smoother, transmit queues, the rings below them,
//! and the detector that reports congestion to the smoother.
//!
//! ```text
//!   stack ──► Egress { smoother ──► transmit queues ──► rings } ──► port
//!                         ▲                               │
//!                         └────────── detector ◄──────────┘  attempts, backlog, what is heard
//! ```
//!
//! The simulator and the drivers on a wire use the same composition, which alone decides which
//! frame goes next. It is generic over the frame and never looks into it: the host describes each
//! frame by an [`Offered`].
//!
//! A frame is in a ring from the moment [`Egress::poll_transmit`] hands it out until
//! [`Egress::handle_completion`] reports that the port is done with it, gap included. Rings belong
//! to the host: a queue of its port, or descriptors of a card.
//!
//! # Calls
//!
//! After each of `offer`, `refuse`, `handle_completion`, `probe`, `mark`, `handle_timeout` and
//! `set`, the host calls `poll_transmit` until `None`, then `poll_dropped` until `None`;
//! `poll_timeout` then returns when to call `handle_timeout`. For each frame that it sends, the
//! host calls `begin`, then `attempt` at each transmission on a shared medium, and
//! `handle_completion` when the frame is out or given up. A time before that of the last call is
//! raised to it; calls in a different order are harmless, and those that refer to no frame are
//! counted ([`Statistics::spurious`]).
//!
//! # Limits
//!
//! Smoother and transmit queues have their own limits and drop the tail. Without transmit queues a
//! frame goes into the ring at once, up to [`PLAIN_RING`] frames. At most [`DROPPED_MAX`] dropped
//! frames wait for `poll_dropped`.

mod accounts;
mod engine;
mod pacer;
mod record;
mod replay;
mod ring;
mod watch;

use rtether_model::quantity::{Bytes, Duration};
use thiserror::Error;

use crate::endnode;
use crate::smoother::random::Random;
use crate::smoother::{self, Class};

pub use crate::smoother::congestion::Marked;
pub use engine::Egress;
pub use record::{Call, Decision, Dropper, Entry, Recording, What};
pub use replay::{Comparison, Difference, ReplayError, replay};

/// Ring limit of a port without transmit queues: more than any card has, and no more than a host
/// can hold.
pub const PLAIN_RING: u32 = 65_536;

/// Largest number of dropped frames that wait for the host; beyond it, the oldest is discarded and
/// counted.
pub const DROPPED_MAX: usize = 4096;

/// Properties of a frame that the engines need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offered {
    /// Frame size, addresses to FCS.
    pub size: Bytes,
    /// Class in the transmit queues.
    pub class: u8,
    /// Size and class of its IP datagram, for the smoother; with `None` the frame bypasses the
    /// smoother, uncharged.
    pub datagram: Option<(Bytes, Class)>,
}

/// A frame for the port, now in a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handed<F> {
    /// The frame.
    pub frame: F,
    /// Which ring it is in.
    pub ring: u8,
}

/// Random inputs, one number per purpose: uniform in 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seeds {
    /// Seed of NT mode's timer jitter.
    pub jitter: u64,
    /// Phase of a smoother's first period at the start, as a fraction of 2^64.
    pub phase: u64,
    /// Seed for which collisions are seen.
    pub visibility: u64,
}

impl Seeds {
    /// Derives all of them from one number.
    pub fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        Self { jitter: random.next(), phase: random.next(), visibility: random.next() }
    }

    /// Returns how much of a period has passed at the start, from zero to all of it.
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
    /// Its transmit queues are refused.
    #[error(transparent)]
    Transmit(#[from] endnode::ConfigError),
    /// Its smoother is refused.
    #[error(transparent)]
    Smoother(#[from] smoother::ConfigError),
    /// No packet could ever leave the smoother.
    #[error("a smoother needs room for at least one frame below it")]
    NoRoomBelow,
}

/// Frame counters since the start.
///
/// `offered` is the sum of `handed`, both kinds of drops, and [`Egress::waiting`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Frames taken from the stack.
    pub offered: u64,
    /// Frames handed out.
    pub handed: u64,
    /// Frames handed out and refused by the host.
    pub refused: u64,
    /// Frames handed out and reported complete.
    pub completed: u64,
    /// Frames refused by the smoother.
    pub dropped_by_smoother: u64,
    /// Frames dropped because a transmit queue was full.
    pub dropped_by_queues: u64,
    /// Dropped frames that the host did not fetch in time.
    pub forgotten: u64,
    /// Calls of the host that refer to no frame.
    pub spurious: u64,
}
