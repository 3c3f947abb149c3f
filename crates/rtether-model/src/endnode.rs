//! Parameters of the prioritized layer between driver and stack (catalogue 1a, S7 to S10).

use alloc::vec::Vec;
use core::net::IpAddr;
use core::num::NonZeroU32;

use crate::port_plan::PortPlan;
use crate::priority::{Pcp, QueueMap};
use crate::quantity::{BitRate, Bytes, Duration};
use crate::selection::Selection;
use crate::smoother;

/// Layer between the stack of an end station and its driver. Parts that are not given behave like a
/// plain FIFO stack.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer {
    /// Queue of each priority, and of untagged frames.
    pub table: PriorityTable,
    /// Header rules for untagged frames; the first that matches decides.
    pub rules: Vec<Rule>,
    /// Whether header rules overlook ICMP, as some devices do (catalogue 2d.2).
    pub icmp_unclassified: bool,
    /// Between driver and stack.
    pub receive: Option<Receive>,
    /// Between stack and driver.
    pub transmit: Option<TransmitConfig>,
    /// Above the transmit queues.
    pub smoother: Option<Smoothing>,
}

impl Default for Layer {
    /// Two classes, no queues and no smoother.
    fn default() -> Self {
        Self {
            table: PriorityTable::HIGH_LOW,
            rules: Vec::new(),
            icmp_unclassified: false,
            receive: None,
            transmit: None,
            smoother: None,
        }
    }
}

/// How received frames reach the stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Receive {
    /// Several queues and one stack (S8).
    Queues(ReceiveConfig),
    /// One stack instance for each class, at the task priority of its class; preemptive (S7).
    Instances {
        /// Frames that may wait for each instance, lowest class first; one more may be in service.
        queue_limits: Vec<u32>,
    },
}

/// A traffic smoother with its surroundings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Smoothing {
    /// Parameters of the engine.
    pub config: smoother::Config,
    /// Which packets are real-time.
    pub rule: smoother::Rule,
    /// Largest number of frames below the smoother, the one in transmission included.
    pub ring: u32,
    /// Source of congestion signals.
    pub detector: Detector,
}

/// Source of a smoother's congestion signals (W7).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Detector {
    /// Collisions of the station's own frames, each detected with this probability.
    OwnCollisions {
        /// Detected per million.
        visibility_per_million: u32,
    },
    /// Octets per second that the driver clears while it is busy.
    ClearingRate {
        /// Congestion below this rate.
        floor: BitRate,
    },
    /// Octets waiting below the smoother.
    Backlog {
        /// Congestion ends at this backlog.
        low: Bytes,
        /// Congestion begins at this backlog.
        high: Bytes,
    },
    /// Share of time in which any station sends.
    Utilization {
        /// Congestion above this percentage.
        threshold_percent: u8,
        /// Measurement interval.
        window: Duration,
    },
    /// One-way delay of probes in the bulk class, on media without collisions. Live only.
    ProbeDelay {
        /// Congestion if a probe takes longer than the shortest recent one by more than this.
        excess: Duration,
        /// The shortest delay is taken over one to two epochs, to allow for clock drift.
        epoch: Duration,
    },
    /// Octets returned with a congestion mark (ECN, RFC 3168). Live only.
    Marks {
        /// Congestion above this percentage of them.
        threshold_percent: u8,
        /// Measurement interval.
        window: Duration,
    },
}

/// Picks before a promotion round of algorithm B.
pub const DEFAULT_PICKS: NonZeroU32 = NonZeroU32::new(8).expect("not zero");

/// Default idle release, of algorithm C and of the strict transmit strategy.
pub const DEFAULT_IDLE_RELEASE: Duration = Duration::from_ms(1);

/// Queue of each priority, and of untagged frames (R72).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PriorityTable {
    map: QueueMap,
    untagged: u8,
}

impl PriorityTable {
    /// Two classes: priorities 4 to 7 are high, the others and untagged frames low.
    pub const HIGH_LOW: Self =
        Self { map: QueueMap::standard(2).expect("two queues are possible"), untagged: 0 };

    /// Returns a table, or `None` if the queue for untagged frames does not exist.
    pub const fn new(map: QueueMap, untagged: u8) -> Option<Self> {
        if untagged < map.count() { Some(Self { map, untagged }) } else { None }
    }

    /// Returns the number of queues.
    pub const fn count(&self) -> u8 {
        self.map.count()
    }

    /// Returns the queue of a priority, or of untagged frames.
    pub fn class_of(&self, pcp: Option<Pcp>) -> u8 {
        pcp.map_or(self.untagged, |pcp| self.map.queue_of(pcp))
    }
}

/// A header rule of an end node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rule {
    /// The frames meant.
    pub headers: HeaderMatch,
    /// Class of the frames that match.
    pub class: u8,
}

/// Conditions on the headers of a frame: it needs every field named, with a matching value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeaderMatch {
    /// `EtherType`.
    pub ethertype: Option<u16>,
    /// `ToS` octet.
    pub tos: Option<TosMatch>,
    /// Protocol above IP.
    pub protocol: Option<u8>,
    /// Source address.
    pub source: Option<Prefix>,
    /// Destination address.
    pub destination: Option<Prefix>,
    /// Source port.
    pub source_port: Option<PortRange>,
    /// Destination port.
    pub destination_port: Option<PortRange>,
}

impl HeaderMatch {
    /// Returns whether it looks at ports, which only the first fragment of a datagram has.
    pub fn names_port(&self) -> bool {
        self.source_port.or(self.destination_port).is_some()
    }
}

/// Some bits of a `ToS` octet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TosMatch {
    /// Their values.
    pub value: u8,
    /// The bits that count.
    pub mask: u8,
}

impl TosMatch {
    /// Matches a DSCP, 0 to 63, with any value of the two bits below it (RFC 2474, 3).
    pub const fn dscp(dscp: u8) -> Self {
        Self { value: dscp << 2, mask: 0xFC }
    }

    /// Returns whether the octet matches.
    pub fn contains(self, tos: u8) -> bool {
        (tos ^ self.value) & self.mask == 0
    }
}

/// The upper `bits` of an address; a length beyond the address means all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    /// Any address with these upper bits.
    pub address: IpAddr,
    /// Number of bits that count.
    pub bits: u8,
}

impl Prefix {
    /// Matches one address only.
    pub const fn host(address: IpAddr) -> Self {
        Self { address, bits: 128 }
    }

    /// Returns whether the address matches.
    pub fn contains(self, other: IpAddr) -> bool {
        let (difference, width) = match (self.address, other) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                (u128::from(own.to_bits() ^ other.to_bits()), 32)
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => (own.to_bits() ^ other.to_bits(), 128),
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => return false,
        };
        let free = width - u32::from(self.bits).min(width);
        difference.checked_shr(free).unwrap_or(0) == 0
    }
}

/// Ports from `first` to `last`, inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortRange {
    /// Lowest port.
    pub first: u16,
    /// Highest port.
    pub last: u16,
}

impl PortRange {
    /// Matches one port only.
    pub const fn one(port: u16) -> Self {
        Self { first: port, last: port }
    }

    /// Returns whether the port is in the range.
    pub fn contains(self, port: u16) -> bool {
        (self.first..=self.last).contains(&port)
    }
}

/// How the next frame for the stack is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiveSelection {
    /// Algorithm A: the head of the highest queue that is not empty (R76).
    HighestFirst,
    /// Algorithm B: as A, and after `picks` frames the head of every queue but the top one moves
    /// to the tail of the next higher queue (R77).
    Promoting {
        /// Frames between two promotion rounds.
        picks: NonZeroU32,
    },
    /// Algorithm C: a frame of the top queue sets a flag, and the flag lets the next frame pass
    /// regardless of its class (R78).
    LowFlag {
        /// Time without a top frame after which the flag counts as set; `None` for never.
        idle_release: Option<Duration>,
        /// Queues examined when the flag is set.
        low_turn: LowTurn,
    },
}

impl ReceiveSelection {
    /// Algorithm B with the default number of picks.
    pub const PROMOTING: Self = Self::Promoting { picks: DEFAULT_PICKS };
    /// Algorithm C with the default idle release.
    pub const LOW_FLAG: Self =
        Self::LowFlag { idle_release: Some(DEFAULT_IDLE_RELEASE), low_turn: LowTurn::AllQueues };
    /// Algorithm C as printed: without top traffic the other queues are never served.
    pub const LOW_FLAG_LITERAL: Self =
        Self::LowFlag { idle_release: None, low_turn: LowTurn::AllQueues };
}

/// Queues examined when the flag of algorithm C is set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LowTurn {
    /// All of them, as printed.
    #[default]
    AllQueues,
    /// Those below the top one; the top one only if they are empty.
    BelowTop,
}

/// Queues between driver and stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceiveConfig {
    /// Frames that may wait in the input queue.
    pub input_limit: u32,
    /// Frames that may wait in each queue, lowest class first.
    pub queue_limits: Vec<u32>,
    /// How the next frame is chosen.
    pub selection: ReceiveSelection,
}

/// When a frame moves from a software queue into the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransmitStrategy {
    /// One queue for all classes; a frame enters whenever there is room (R81).
    Fifo,
    /// A high frame enters at once, a low one when the ring is empty (R79).
    Moderate {
        /// What counts as an empty ring.
        empty: RingEmpty,
    },
    /// A high frame enters at once, and the first low frame behind it (R80).
    Strict {
        /// Time without any entry after which one low frame enters; `None` for never.
        idle_release: Option<Duration>,
    },
    /// The hardware has several rings and serves the highest first (R83). The highest classes have
    /// a ring each, the others share ring 0; a frame enters whenever its ring has room.
    Rings {
        /// Number of rings.
        count: u8,
    },
    /// One ring, which a frame enters whenever there is room, from the queue that the selection
    /// chooses; each class has a queue.
    Selection(Selection),
}

impl TransmitStrategy {
    /// The moderate strategy as decided in the catalogue.
    pub const MODERATE: Self = Self::Moderate { empty: RingEmpty::NoneWaitingOrSending };
    /// The strict strategy with the default idle release.
    pub const STRICT: Self = Self::Strict { idle_release: Some(DEFAULT_IDLE_RELEASE) };
    /// The strict strategy as printed: without high traffic low frames never leave.
    pub const STRICT_LITERAL: Self = Self::Strict { idle_release: None };
}

/// What "the hardware queue is empty" means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RingEmpty {
    /// No frame waits in the ring and none is in transmission (`strict_empty`).
    #[default]
    NoneWaitingOrSending,
    /// No frame waits in the ring; one may be in transmission (`ring_empty`).
    NoneWaiting,
}

/// Hardware ring and software queues of a driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransmitConfig {
    /// Descriptors of each ring.
    pub ring_limit: u32,
    /// Frames that may wait in each software queue, lowest class first.
    ///
    /// The FIFO strategy has one queue, limited by their sum.
    pub queue_limits: Vec<u32>,
    /// The lowest class that goes straight into the ring; `None` for the highest class only.
    ///
    /// Only for the moderate and the strict strategy.
    pub high_from: Option<u8>,
    /// When a frame moves into the ring.
    pub strategy: TransmitStrategy,
}

impl TransmitConfig {
    /// Descriptors in the baseline's ring (catalogue S9).
    pub const DEFAULT_RING_LIMIT: u32 = 16;

    /// Returns the plan by which frames enter the ring; `None` for other strategies than a
    /// selection.
    pub fn plan(&self) -> Option<PortPlan> {
        let TransmitStrategy::Selection(selection) = self.strategy else {
            return None;
        };
        // Engines refuse other numbers.
        let queues = u8::try_from(self.queue_limits.len()).ok()?;
        (1..=8).contains(&queues).then(|| PortPlan::new(selection, queues))
    }
}
