//! Events other than samples, in words.

use std::fmt::{self, Display};

use rtether_live::confine::Confined;
use rtether_rtps::engine::Parting;
use rtether_rtps::locator::{Locator, Origin};

use super::relation::Reason;

/// An event in the domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Happening {
    /// Our participant was opened.
    Opened {
        /// Its address.
        address: String,
        /// Its domain.
        domain: u16,
        /// What it gave up.
        confined: Option<Confined>,
    },
    /// Another participant has announced itself.
    Found {
        /// Its name and place.
        who: String,
    },
    /// A participant has gone.
    Gone {
        /// Its name and place.
        who: String,
        /// Why it is forgotten.
        why: Parting,
    },
    /// A participant has a writer or a reader.
    Endpoint {
        /// Name and place of the participant.
        who: String,
        /// `writes` or `reads`.
        does: &'static str,
        /// The topic.
        topic: String,
        /// The type.
        type_name: String,
    },
    /// Two endpoints matched.
    Matched {
        /// The other side.
        who: String,
    },
    /// Two endpoints no longer match.
    Unmatched {
        /// The other side.
        who: String,
    },
    /// Two endpoints on the topic do not match.
    Apart {
        /// The other side.
        who: String,
        /// Why not.
        reason: Reason,
    },
    /// Instances had no sample within the deadline.
    DeadlineMissed {
        /// Number of instances.
        overdue: u32,
    },
    /// No room for a participant.
    Refused {
        /// Address from which it announced itself.
        address: String,
        /// Participants and endpoints refused so far.
        refused: u64,
    },
    /// Data was withheld because its destination has never answered.
    Withheld {
        /// Its destination.
        address: String,
    },
    /// A writer has not asserted its liveliness within its lease.
    Silent {
        /// The writer.
        who: String,
    },
}

impl Happening {
    pub(super) fn refused(origin: Origin, refused: u64) -> Self {
        let address = origin.to_string();
        Self::Refused { address, refused }
    }

    pub(super) fn withheld(to: Locator) -> Self {
        let address = to.origin().to_string();
        Self::Withheld { address }
    }

    /// Returns whether it is a warning: a fault of the network or its configuration.
    pub fn is_warning(&self) -> bool {
        matches!(self, Self::Refused { .. } | Self::Withheld { .. })
    }
}

impl Display for Happening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Opened { address, domain, confined } => {
                write!(f, "participant of domain {domain} at {address}")?;
                if let Some(confined) = confined {
                    write!(f, ", {confined}")?;
                }
                f.write_str("; Ctrl-C ends it")
            }
            Self::Found { who } => write!(f, "found {who}"),
            Self::Gone { who, why } => match why {
                Parting::Left => write!(f, "{who} has left"),
                Parting::Silent => write!(f, "{who} is gone: silent for longer than its lease"),
                Parting::Closed => write!(
                    f,
                    "{who} is forgotten: its host says that nobody listens at its address (ICMP port \
                     unreachable)"
                ),
                Parting::MadeRoom(silence) => write!(
                    f,
                    "{who} has made room for another participant: the table is full, and it was silent \
                     for {} s",
                    silence.as_ns() / 1_000_000_000
                ),
                Parting::Unanswered => {
                    write!(f, "{who} has made room for another participant: it has not answered")
                }
                Parting::NoRoom => write!(f, "{who} has no place: the table is full of others"),
                Parting::Ignored => write!(f, "{who} is ignored"),
            },
            Self::Endpoint { who, does, topic, type_name } => {
                write!(f, "{who} {does} `{topic}` of type {type_name}")
            }
            Self::Matched { who } => write!(f, "matched with {who}"),
            Self::Unmatched { who } => write!(f, "no longer matched with {who}"),
            Self::Apart { who, reason } => write!(f, "no match with {who}: {reason}"),
            Self::DeadlineMissed { overdue: 1 } => f.write_str("a deadline was missed"),
            Self::DeadlineMissed { overdue } => {
                write!(f, "a deadline was missed by {overdue} instances")
            }
            Self::Refused { address, refused } => write!(
                f,
                "no room for a participant that announces itself from {address} ({refused} refused so \
                 far): there are more participants than places, or a station makes them up"
            ),
            Self::Withheld { address } => write!(
                f,
                "nothing is sent to {address}, which a participant has announced: no answer \
                 came from there; `--any-source` sends all the same"
            ),
            Self::Silent { who } => {
                write!(f, "{who} has not asserted its liveliness within its lease")
            }
        }
    }
}
