//! What happens besides samples, in words.

use std::fmt::{self, Display};

use super::relation::Reason;

/// Something that happened in the domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Happening {
    /// The participant is there.
    Opened {
        /// Where.
        address: String,
        /// In which domain.
        domain: u16,
    },
    /// Another participant has announced itself.
    Found {
        /// Its name and place.
        who: String,
    },
    /// A participant is no longer there.
    Gone {
        /// Its name and place.
        who: String,
        /// Whether it has said good-bye.
        has_left: bool,
    },
    /// A participant has a writer or a reader of a topic.
    Endpoint {
        /// The name and place of the participant.
        who: String,
        /// `writes` or `reads`.
        does: &'static str,
        /// The topic.
        topic: String,
        /// The type.
        type_name: String,
    },
    /// Samples go between here and there.
    Matched {
        /// The other side.
        who: String,
    },
    /// They no longer do.
    Unmatched {
        /// The other side.
        who: String,
    },
    /// They would, but for the reason.
    Apart {
        /// The other side.
        who: String,
        /// Why not.
        reason: Reason,
    },
    /// Instances have had no sample within the deadline.
    DeadlineMissed {
        /// How many.
        overdue: u32,
    },
    /// A writer has not said within its lease that it is alive.
    Silent {
        /// The writer.
        who: String,
    },
}

impl Display for Happening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Opened { address, domain } => {
                write!(
                    f,
                    "participant of domain {domain} at {address}; Ctrl-C ends it"
                )
            }
            Self::Found { who } => write!(f, "found {who}"),
            Self::Gone {
                who,
                has_left: true,
            } => write!(f, "{who} has left"),
            Self::Gone { who, .. } => {
                write!(f, "{who} is gone: silent for longer than its lease")
            }
            Self::Endpoint {
                who,
                does,
                topic,
                type_name,
            } => write!(f, "{who} {does} `{topic}` of type {type_name}"),
            Self::Matched { who } => write!(f, "matched with {who}"),
            Self::Unmatched { who } => write!(f, "no longer matched with {who}"),
            Self::Apart { who, reason } => write!(f, "no match with {who}: {reason}"),
            Self::DeadlineMissed { overdue: 1 } => f.write_str("a deadline was missed"),
            Self::DeadlineMissed { overdue } => {
                write!(f, "a deadline was missed by {overdue} instances")
            }
            Self::Silent { who } => {
                write!(f, "{who} has not said within its lease that it is alive")
            }
        }
    }
}
