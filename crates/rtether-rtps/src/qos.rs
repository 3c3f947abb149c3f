//! Policies that endpoints offer and request (DDS 1.4, 2.2.3).

use alloc::string::String;
use alloc::vec::Vec;

use crate::time::Duration;

/// Whether samples may be lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reliability {
    /// They may be lost.
    #[default]
    BestEffort,
    /// Lost samples are sent again.
    Reliable,
}

impl Reliability {
    /// Returns its name in words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::BestEffort => "best effort",
            Self::Reliable => "reliable",
        }
    }
}

/// Which earlier samples a late-joining reader gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Durability {
    /// None.
    #[default]
    Volatile,
    /// Those in the history of the writer.
    TransientLocal,
    /// Those that outlive their writer. The engine stores none: the caller gives a new writer what
    /// the previous one left, as `rtether_live::rtps::Store` does.
    Transient,
    /// Those that outlive the system, on disk.
    Persistent,
}

impl Durability {
    /// Returns its name in words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Volatile => "volatile",
            Self::TransientLocal => "transient local",
            Self::Transient => "transient",
            Self::Persistent => "persistent",
        }
    }
}

/// How many samples of each instance are kept.
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

/// What asserts that a writer is alive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum LivelinessKind {
    /// The participant, for as long as it runs.
    #[default]
    Automatic,
    /// The application, through any writer of the participant.
    ManualByParticipant,
    /// The application, through this writer.
    ManualByTopic,
}

/// How the liveliness of a writer is determined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Liveliness {
    /// What asserts it.
    pub kind: LivelinessKind,
    /// How long an assertion lasts.
    pub lease: Duration,
}

impl Default for Liveliness {
    fn default() -> Self {
        Self { kind: LivelinessKind::Automatic, lease: Duration::INFINITE }
    }
}

/// Whether several writers may update one instance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ownership {
    /// They may.
    #[default]
    Shared,
    /// Only samples of the strongest writer are taken.
    Exclusive,
}

/// Time that orders samples of several writers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum DestinationOrder {
    /// Reception time.
    #[default]
    ByReception,
    /// Source timestamp.
    BySource,
}

/// Scope of order and coherence.
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
    /// Scope of the other two members.
    pub scope: AccessScope,
    /// Whether coherent sets are taken as a whole or not at all.
    pub is_coherent: bool,
    /// Whether samples of different instances keep their order.
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

/// Memory limits; `None` is -1 on the wire.
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
    /// How long a write waits for room in the history.
    pub max_blocking: Duration,
    /// What late-joining readers get.
    pub durability: Durability,
    /// How many samples are kept.
    pub history: History,
    /// Longest time between samples of an instance.
    pub deadline: Duration,
    /// A hint on how long a sample may wait.
    pub latency_budget: Duration,
    /// How the liveliness of a writer is determined.
    pub liveliness: Liveliness,
    /// Whether only the strongest writer is taken.
    pub ownership: Ownership,
    /// Strength of a writer.
    pub strength: i32,
    /// RTPS 1.0: how long the last sample of a writer keeps weaker writers away. `None`: its
    /// deadline with exclusive ownership, otherwise not at all.
    pub persistence: Option<Duration>,
    /// Time that orders samples.
    pub destination_order: DestinationOrder,
    /// How samples are presented.
    pub presentation: Presentation,
    /// Shortest time between samples of an instance that a reader is given.
    pub time_based_filter: Duration,
    /// Time after which a sample expires.
    pub lifespan: Duration,
    /// Partition names or patterns; two endpoints need one in common. Empty: the empty name.
    pub partitions: Vec<String>,
    /// Encodings: a writer uses the first, a reader accepts all. Empty: XCDR1.
    pub representations: Vec<Representation>,
    /// Memory limits.
    pub limits: ResourceLimits,
    /// Priority of frames: DSCP and PCP of what a writer sends, and of a reader's acknowledgements.
    pub transport_priority: i32,
    /// Opaque data that the application announces to its peers.
    pub user_data: Vec<u8>,
}

impl Qos {
    /// Default policies of a writer in the standard: reliable.
    pub fn writer() -> Self {
        Self { reliability: Reliability::Reliable, ..Self::reader() }
    }

    /// Default policies of a reader in the standard: best effort.
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
            persistence: None,
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
