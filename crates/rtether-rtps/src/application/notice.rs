//! Notices to an application, and its verdicts.

use alloc::vec::Vec;
use core::convert::Infallible;

use crate::guid::Guid;
use crate::matching::Mismatch;
use crate::reader::SampleInfo;

/// Notification to a subscription.
#[derive(Clone, Debug, PartialEq)]
pub enum Notice<S> {
    /// A sample has arrived.
    Sample(S),
    /// Instances have had no sample within the deadline. Reported again after each further
    /// deadline.
    DeadlineMissed {
        /// Count of instances; if pulled, the sum over all deadlines missed.
        overdue: u32,
    },
    /// A publication was matched.
    Matched {
        /// Its GUID.
        writer: Guid,
    },
    /// A publication is no longer matched.
    Unmatched {
        /// Its GUID.
        writer: Guid,
    },
    /// A publication offers less than is requested.
    Incompatible {
        /// Its GUID.
        writer: Guid,
        /// Incompatible policies.
        policies: Vec<Mismatch>,
    },
    /// The liveliness lease of a publication has expired.
    Silent {
        /// Its GUID.
        writer: Guid,
    },
    /// Samples are irrecoverably lost. Reported with the next sample that arrives.
    Lost {
        /// Their number.
        samples: u64,
    },
}

impl Notice<Infallible> {
    /// Converts the notice to another sample type.
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

/// An encoded sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawSample<'a> {
    /// Metadata of the sample.
    pub info: SampleInfo,
    /// Payload with its encapsulation header: the value, or the key of an instance that has ended.
    pub payload: &'a [u8],
    /// Key of its instance in canonical form; empty for topics without a key.
    pub key: &'a [u8],
}

/// Notification to a publication.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PublicationNotice {
    /// A subscription was matched.
    Matched {
        /// Its GUID.
        reader: Guid,
    },
    /// A subscription is no longer matched.
    Unmatched {
        /// Its GUID.
        reader: Guid,
    },
    /// A subscription requests more than is offered.
    Incompatible {
        /// Its GUID.
        reader: Guid,
        /// Incompatible policies.
        policies: Vec<Mismatch>,
    },
    /// Instances have not been written within the persistence.
    DeadlineMissed {
        /// Count of instances.
        overdue: u32,
    },
    /// The samples that wait for acknowledgment by a lagging subscription have reached the critical
    /// level. Reported once until [`Self::Relieved`].
    Critical {
        /// Count of waiting samples.
        waiting: u64,
    },
    /// The count has fallen below the critical level.
    Relieved,
}

/// Decision on a sighting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Use the participant or endpoint.
    Admit,
    /// Ignore it until its announced data changes.
    Ignore,
}

/// Type parameter of handles for octets.
#[derive(Clone, Copy, Debug)]
pub struct Untyped;

/// Counters of a publication.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PublicationCounters {
    /// Samples accepted.
    pub sent: u64,
    /// Samples refused: no room, or not encodable.
    pub refused: u64,
    /// Periods skipped because the host called too late.
    pub periods_missed: u64,
}

/// Counters of an application.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ApplicationCounters {
    /// Participants and endpoints ignored.
    pub ignored: u64,
    /// Topics that did not fit a pattern's limit of readers, or the limit of endpoints.
    pub patterns_full: u64,
    /// Dropped notices of pulled subscriptions, the oldest first.
    pub notices_dropped: u64,
}
