//! Round-trip meter: schedule of requests, matching of replies, and detection of losses (R113 to
//! R125).
//!
//! [`Prober`] keeps the schedule and matches replies, independently of a wire format; [`message`],
//! [`icmp`] and [`cndep`] are formats, each with its answering side, and [`Codec`] selects one of
//! them. To send a request:
//!
//! 1. [`Prober::poll_transmit`] returns it; the host encodes it with the codec and sends it.
//! 2. The host decodes what comes back with the codec and calls [`Prober::handle_reply`].
//! 3. [`Prober::poll_event`] returns samples, losses and anomalies until `None`.
//! 4. [`Prober::poll_timeout`] returns when to call [`Prober::handle_timeout`].
//!
//! [`Paths`] measures the one-way delays to peers for a smoother, with the same schedule and
//! messages; [`Answers`] is its answering side.
//!
//! A reply is never longer than its request, and only complete requests are answered, so that
//! forging the sender of a request gains nothing.

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
