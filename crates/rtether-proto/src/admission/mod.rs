//! Admission of channels: stations ask, the manager of a switch decides, listeners consent.
//!
//! After H. Hoang and M. Jonsson (catalogue R106), with several listeners as with Fan (R107): a
//! [`Party`] requests a channel from the [`Manager`], which refuses it at once if a port could not
//! send everything in time, or else offers it to the listeners, and grants it when all of them
//! consent. What a talker no longer wants, it releases.
//!
//! Every message that wants an answer is repeated after [`Admission::retry`], by the manager after
//! half of it, and given up after [`Admission::attempts`]: a talker then takes its request for
//! refused, and releases what the manager may have granted meanwhile. So no station waits forever,
//! and a request that comes twice is granted once. If all releases of a talker are lost, the
//! manager keeps the channel; a listener that does not answer keeps its place.
//!
//! Times, frames and addresses come from the host; frames that are malformed or come from another
//! station than they say are counted and dropped.
//!
//! [`Admission::retry`]: rtether_model::admission::Admission::retry
//! [`Admission::attempts`]: rtether_model::admission::Admission::attempts

mod manager;
mod message;
mod party;

use rtether_model::mac::MacAddress;
use rtether_model::quantity::{Duration, Instant};

pub use manager::Manager;
pub use message::{Body, ChannelId, Contract, Message};
pub use party::{Decision, Party};

/// A message to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// To this station.
    pub to: MacAddress,
    /// The message.
    pub message: Message,
}

/// Messages sent in one exchange, and when the last one has not been answered.
#[derive(Clone, Copy, Debug)]
struct Tries {
    sent: u32,
    due: Instant,
}

impl Tries {
    /// Begins with the first message.
    fn begin(now: Instant, retry: Duration) -> Self {
        Self { sent: 1, due: now + retry }
    }

    /// Returns whether one more message is sent; `false` if the exchange is given up.
    fn again(&mut self, now: Instant, retry: Duration, attempts: u32) -> bool {
        if self.sent >= attempts {
            return false;
        }
        self.sent += 1;
        self.due = now + retry;
        true
    }
}

#[cfg(test)]
mod tests;
