//! What endpoints offer and ask for (DDS 1.4, 2.2.3).

use alloc::string::String;
use alloc::vec::Vec;

use crate::time::Duration;

/// Whether samples may be lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reliability {
    /// They may.
    #[default]
    BestEffort,
    /// Lost ones are sent again.
    Reliable,
}

/// Which samples a reader gets that comes later than they.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Durability {
    /// None.
    #[default]
    Volatile,
    /// Those in the history of the writer.
    TransientLocal,
    /// Those that outlive their writer. The engine keeps none: whoever offers them gives a new writer
    /// what the one before has left, as `rtether_live::rtps::Store` does.
    Transient,
    /// Those that outlive the system, on disk.
    Persistent,
}

/// How many samples of an instance are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum History {
    /// The last ones.
    KeepLast(u32),
    /// All, up to the limits.
    KeepAll,
}

impl Default for History {
    fn default() -> Self {
        Self::KeepLast(1)
    }
}

/// Who says that a writer is alive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum LivelinessKind {
    /// Its participant, for as long as it runs.
    #[default]
    Automatic,
    /// The application, by any writer of the participant.
    ManualByParticipant,
    /// The application, by this writer.
    ManualByTopic,
}

/// How it is known that a writer is alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Liveliness {
    /// Who says so.
    pub kind: LivelinessKind,
    /// For how long that holds.
    pub lease: Duration,
}

impl Default for Liveliness {
    fn default() -> Self {
        Self {
            kind: LivelinessKind::Automatic,
            lease: Duration::INFINITE,
        }
    }
}

/// Whether several writers may write one instance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ownership {
    /// They may.
    #[default]
    Shared,
    /// The strongest one counts.
    Exclusive,
}

/// By which time samples of several writers are ordered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum DestinationOrder {
    /// By that of receipt.
    #[default]
    ByReception,
    /// By that of writing.
    BySource,
}

/// Within what the order and coherence of samples hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum AccessScope {
    /// An instance.
    #[default]
    Instance,
    /// A topic.
    Topic,
    /// A group of endpoints.
    Group,
}

/// How samples are presented to the application.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Presentation {
    /// Within what the other two hold.
    pub scope: AccessScope,
    /// Whether sets of samples are taken as a whole or not at all.
    pub is_coherent: bool,
    /// Whether samples of several instances keep their order.
    pub is_ordered: bool,
}

/// How samples are encoded (DDS-XTypes 1.3, 7.6.3.1.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Representation {
    /// XCDR1.
    #[default]
    Xcdr1,
    /// XML.
    Xml,
    /// XCDR2.
    Xcdr2,
}

/// Limits of memory; none is written as -1 on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResourceLimits {
    /// Samples.
    pub samples: Option<u32>,
    /// Instances.
    pub instances: Option<u32>,
    /// Samples of an instance.
    pub samples_per_instance: Option<u32>,
}

/// The policies of an endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Qos {
    /// Whether samples may be lost.
    pub reliability: Reliability,
    /// For how long a write waits for room in the history.
    pub max_blocking: Duration,
    /// What late readers get.
    pub durability: Durability,
    /// How many samples are kept.
    pub history: History,
    /// The most time between samples of an instance.
    pub deadline: Duration,
    /// A hint on how long a sample may wait.
    pub latency_budget: Duration,
    /// How a writer is known to be alive.
    pub liveliness: Liveliness,
    /// Whether the strongest writer counts.
    pub ownership: Ownership,
    /// How strong a writer is.
    pub strength: i32,
    /// By which time samples are ordered.
    pub destination_order: DestinationOrder,
    /// How samples are presented.
    pub presentation: Presentation,
    /// The least time between samples of an instance that a reader is given.
    pub time_based_filter: Duration,
    /// After which a sample is worth nothing.
    pub lifespan: Duration,
    /// Names, or patterns of names, of which one must be common; none is the empty name.
    pub partitions: Vec<String>,
    /// Encodings: the first is what a writer uses, all are what a reader takes. Empty: XCDR1.
    pub representations: Vec<Representation>,
    /// Limits of memory.
    pub limits: ResourceLimits,
    /// Priority of frames: DSCP and PCP of what a writer sends.
    pub transport_priority: i32,
    /// Whatever the application wants its peers to know.
    pub user_data: Vec<u8>,
}

impl Qos {
    /// The standard's defaults of a writer: reliable.
    pub fn writer() -> Self {
        Self {
            reliability: Reliability::Reliable,
            ..Self::reader()
        }
    }

    /// The standard's defaults of a reader: best effort.
    pub fn reader() -> Self {
        Self {
            reliability: Reliability::BestEffort,
            max_blocking: Duration::from_ms(100),
            durability: Durability::default(),
            history: History::default(),
            deadline: Duration::INFINITE,
            latency_budget: Duration::ZERO,
            liveliness: Liveliness::default(),
            ownership: Ownership::default(),
            strength: 0,
            destination_order: DestinationOrder::default(),
            presentation: Presentation::default(),
            time_based_filter: Duration::ZERO,
            lifespan: Duration::INFINITE,
            partitions: Vec::new(),
            representations: Vec::new(),
            limits: ResourceLimits::default(),
            transport_priority: 0,
            user_data: Vec::new(),
        }
    }
}
