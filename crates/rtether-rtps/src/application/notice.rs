//! What an application is told, and how it answers.

use alloc::vec::Vec;
use core::convert::Infallible;

use crate::guid::Guid;
use crate::matching::Mismatch;
use crate::reader::SampleInfo;

/// What a subscription is told.
#[derive(Clone, Debug, PartialEq)]
pub enum Notice<S> {
    /// A sample has come.
    Sample(S),
    /// Instances have had no sample within the deadline. Told again after each further deadline.
    DeadlineMissed {
        /// How many of them; pulled: how often.
        overdue: u32,
    },
    /// A publication has been found.
    Matched {
        /// Its name.
        writer: Guid,
    },
    /// It is no longer there.
    Unmatched {
        /// Its name.
        writer: Guid,
    },
    /// A publication offers less than is asked for.
    Incompatible {
        /// Its name.
        writer: Guid,
        /// In what.
        policies: Vec<Mismatch>,
    },
    /// A publication has not said for longer than it promised that it is alive.
    Silent {
        /// Its name.
        writer: Guid,
    },
    /// Samples will never come. Told with the next one that does.
    Lost {
        /// How many.
        samples: u64,
    },
}

impl Notice<Infallible> {
    /// Returns the same for any samples.
    pub(super) fn widen<S>(self) -> Notice<S> {
        match self {
            Self::Sample(never) => match never {},
            Self::DeadlineMissed { overdue } => Notice::DeadlineMissed { overdue },
            Self::Matched { writer } => Notice::Matched { writer },
            Self::Unmatched { writer } => Notice::Unmatched { writer },
            Self::Incompatible { writer, policies } => Notice::Incompatible { writer, policies },
            Self::Silent { writer } => Notice::Silent { writer },
            Self::Lost { samples } => Notice::Lost { samples },
        }
    }
}

/// A sample as it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawSample<'a> {
    /// What is known of it.
    pub info: SampleInfo,
    /// Its octets with their encapsulation header: the value, or the key of an instance that has ended.
    pub payload: &'a [u8],
    /// The key of its instance in canonical form; empty for topics without keys.
    pub key: &'a [u8],
}

/// What a publication is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PublicationNotice {
    /// A subscription has been found.
    Matched {
        /// Its name.
        reader: Guid,
    },
    /// It is no longer there.
    Unmatched {
        /// Its name.
        reader: Guid,
    },
    /// A subscription asks for more than is offered.
    Incompatible {
        /// Its name.
        reader: Guid,
        /// In what.
        policies: Vec<Mismatch>,
    },
    /// Instances have not been written within the persistence.
    DeadlineMissed {
        /// How many.
        overdue: u32,
    },
    /// The critical level is reached: so many samples wait for acknowledgment by a subscription that
    /// lags. Told once until [`Self::Relieved`].
    Critical {
        /// How many.
        waiting: u64,
    },
    /// Fewer than the critical level wait.
    Relieved,
}

/// Whether somebody who was seen is to count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It does.
    Admit,
    /// It is left out, until it says something else of itself.
    Ignore,
}

/// The type of a publication or subscription that handles octets.
#[derive(Clone, Copy, Debug)]
pub struct Untyped;

/// What has happened at a publication.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PublicationCounters {
    /// Samples taken.
    pub sent: u64,
    /// Samples for which there was no room, or that could not be encoded.
    pub refused: u64,
    /// Periods at which the send callback was not called: the host came too late.
    pub periods_missed: u64,
}

/// What has happened in an application.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ApplicationCounters {
    /// Participants and endpoints that were left out.
    pub ignored: u64,
    /// Topics for which a pattern had no room.
    pub patterns_full: u64,
    /// Notices of pulled subscriptions that were dropped, the oldest first.
    pub notices_dropped: u64,
}
