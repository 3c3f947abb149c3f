//! Round-trip meter: when requests go out, which reply belongs to which, what counts as lost
//! (R113 to R125).
//!
//! [`Prober`] keeps the schedule and the matching and knows no wire format; [`message`], [`icmp`]
//! and [`cndep`] are formats, each with the side that answers, and [`Codec`] is the choice among
//! them. Sending one request:
//!
//! 1. [`Prober::poll_transmit`] says which one; the host has the codec write it and sends it.
//! 2. The host has the codec read what comes back and calls [`Prober::handle_reply`].
//! 3. [`Prober::poll_event`] gives samples, losses and oddities until there is none left.
//! 4. [`Prober::poll_timeout`] says when to come back; [`Prober::handle_timeout`] is called then.
//!
//! [`Paths`] is what a smoother asks with: the one-way delays to some peers, measured with the same
//! schedule and the same messages, and [`Answers`] the side that answers it.
//!
//! Replies are never longer than what they answer, and only whole requests are answered, so that
//! nobody gains by forging the sender of a request.

mod answers;
pub mod cndep;
mod codec;
pub mod details;
pub mod framing;
pub mod icmp;
pub mod message;
mod paths;
mod prober;

pub use answers::{Answers, Declined};
pub use codec::{Codec, Command, Received};
pub use paths::{Observation, Outcome, PATHS_MAX, PathConfig, PathCounters, Paths};
pub use prober::{Config, ConfigError, Counters, Event, Interval, Prober, Request, Sample};

#[cfg(test)]
mod tests;
