//! Traffic smoother: paces what a station hands to its own port, so that its bulk traffic leaves
//! room on the medium for the real-time traffic of all stations (002 Kweon).
//!
//! It sits between IP and the driver and has two FIFO queues: real-time packets always go first and
//! at once; bulk packets go when the [`Mode`] permits. The driver calls [`Smoother::poll_transmit`]
//! whenever its transmit queue has room, and reports collisions or other findings of a
//! [`congestion`] detector with [`Smoother::handle_signal`].
//!
//! Sizes are IP datagram lengths. Out of scope: the depth of the network card's queue,
//! classification beyond [`Rule`], packets that are not IP (the driver passes ARP around the
//! smoother, uncharged), admission of flows, and limits across stations.
//!
//! # Calls
//!
//! Each of `enqueue`, `handle_signal`, `handle_timeout` and `set` is followed by `poll_transmit`
//! until it returns `None` or the driver has no more room, then by `poll_event` until `None`.
//! `poll_timeout` then returns when to call `handle_timeout`. `now` never decreases; a late call
//! makes output later, never denser.
//!
//! # What may leave
//!
//! With [`Mode::Fixed`], [`Mode::Rtether`] and [`Mode::Adaptive`] (unless it forgives debt), a
//! bucket of depth `D` octets gains up to `D` credits each period `P`; credits above `D` are lost.
//! A bulk packet leaves if there is at least one credit; its size is then subtracted, below zero if
//! necessary (borrowing). Real-time packets leave regardless of credits, and are subtracted too.
//! `M` is the size of the largest packet.
//!
//! **Theorem.** Let a window contain `n` refreshes. At most `(n + 1) * D - 1 + M` octets of both
//! classes leave in it up to and including its last bulk packet.
//!
//! *Proof.* At the start of the window there are at most `D` credits, each refresh adds at most
//! `D`, and each octet that leaves takes one. When the last bulk packet leaves, at least one is
//! left, so at most `(n + 1) * D - 1` octets left before it; it adds at most `M`. ∎
//!
//! Two refreshes are at least `P` apart (`P_min` if the period adapts), because the next is due a
//! period after the last one *took place*. With rounding down:
//! - between two refreshes, back to back: `D - 1 + M` octets, the number of the paper: 2999 for
//!   `D` = `M` = 1500;
//! - in a window of length `t` that begins just after a refresh: `D - 1 + M + D * floor(t / P)`;
//! - in any window of length `t`: `2 * D - 1 + M + D * floor(t / P)`, at most `D / P * t` above
//!   `2 * D - 1 + M`. The additional `D` is real: a burst may end just as a refresh comes, and as
//!   much may follow at once: 4499 octets for `D` = `M` = 1500. The paper's number omits this.
//!
//! Real-time packets after the last bulk packet are not limited; later bulk packets pay the debt
//! that they leave.
//!
//! With [`Mode::Nt`], at most `D` octets of bulk traffic are released each period and nothing is
//! carried over: at most `D_max * (floor(t / P_min) + 2)` octets in any window of length `t`.

mod adaptive;
mod bucket;
mod classify;
mod config;
pub mod congestion;
mod engine;
mod event;
mod law;
mod nt;
mod queue;
pub(crate) mod random;
mod turns;

pub use classify::classify;
pub use config::ConfigError;
pub use congestion::Signal;
pub use engine::{Smoother, State, Transmit};
pub use event::{Cause, ClassStatistics, DropReason, Event, Reason, Statistics, Transmission};

pub use rtether_model::smoother::{
    Adaptive, Config, Doubling, Fixed, Increase, Limits, Mode, Nt, Rule, TurnBucket,
};

/// Class of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Goes first and never waits for credits.
    RealTime,
    /// Everything else; waits for credits.
    Bulk,
}
