//! Admission of flows as channels: a station asks for its flow, and the manager of a switch answers
//! (catalogue R106 and R107).
//!
//! As with H. Hoang and M. Jonsson, a request says from where to where, how often, how much and by
//! when. The manager knows the plant and what it has granted, divides the deadlines among the ports
//! ([`crate::partition`]), and grants what all ports can still send in time once the listeners have
//! consented. As with Fan, a channel may have several listeners.

use core::fmt;

use crate::index::NodeId;
use crate::quantity::{Bytes, Duration};

/// Parameters of admission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Admission {
    /// The end station that decides: the processor of a switch, behind a port of its own.
    pub manager: NodeId,
    /// Channels that the manager keeps, those not decided yet included.
    pub channels: u32,
    /// Channels that a station consents to as a listener.
    pub accepts: u32,
    /// Time after which a station repeats a frame that is not answered; the manager takes half of it.
    pub retry: Duration,
    /// Frames, the first one included, after which an answer is no longer waited for.
    pub attempts: u32,
    /// Longest frame of traffic that does not ask, from addresses to FCS without tag.
    pub other: Bytes,
}

impl Admission {
    /// Default of [`Self::channels`].
    pub const CHANNELS: u32 = 1_000;
    /// Default of [`Self::accepts`].
    pub const ACCEPTS: u32 = 1_000;
    /// Default of [`Self::retry`].
    pub const RETRY: Duration = Duration::from_ms(10);
    /// Default of [`Self::attempts`].
    pub const ATTEMPTS: u32 = 3;
    /// Most listeners of a channel, whose addresses fit one request.
    pub const LISTENERS: usize = 200;

    /// Octets of a request with this many listeners, in the payload of its frame.
    pub const fn request(listeners: usize) -> Bytes {
        Bytes::new(48 + 6 * listeners as u64)
    }

    /// Octets of any other message.
    pub const ANSWER: Bytes = Bytes::new(16);

    /// Most frames that a talker sends about one channel: requests, and releases.
    pub const fn asked(&self) -> u32 {
        2 * self.attempts
    }

    /// Most frames that the manager and one listener send each other about one channel, each way:
    /// every request may begin a new try, if its answer was lost.
    pub const fn offered(&self) -> u32 {
        2 * self.attempts * self.attempts
    }
}

/// Why a channel was not granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Refusal {
    /// A port could not send everything in time.
    Late,
    /// The manager keeps no further channel.
    Full,
    /// A listener did not consent.
    Declined,
    /// A listener did not answer.
    Silent,
    /// The manager knows no such station, or no way to it.
    Unknown,
    /// The manager did not answer.
    Unanswered,
}

impl Refusal {
    /// Number of reasons.
    pub const COUNT: usize = Self::ALL.len();
    /// All reasons, in the order of [`Self::index`].
    pub const ALL: [Self; 6] =
        [Self::Late, Self::Full, Self::Declined, Self::Silent, Self::Unknown, Self::Unanswered];

    /// Returns its position.
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Returns the word used in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Late => "late",
            Self::Full => "full",
            Self::Declined => "declined",
            Self::Silent => "silent",
            Self::Unknown => "unknown",
            Self::Unanswered => "unanswered",
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Late => "a port could not send everything in time",
            Self::Full => "the manager keeps no further channel",
            Self::Declined => "a listener did not consent",
            Self::Silent => "a listener did not answer the manager",
            Self::Unknown => "the manager knows no way to a station",
            Self::Unanswered => "the manager did not answer",
        })
    }
}
