//! Access schemes as data: rules, values, members and faults.

use alloc::vec::Vec;

use crate::index::NodeId;
use crate::quantity::{Bytes, Duration};
use crate::wire;

/// Classes of traffic. Stations that follow a scheme queue them apart.
pub const CLASSES: usize = 2;
/// Frames of files and floods.
pub const ORDINARY: u8 = 0;
/// Frames of flows whose latency matters ([`crate::flow::Flow::is_real_time`]), and of their answers.
pub const REAL_TIME: u8 = 1;
/// Size of control frames; that of a trigger message may be larger.
pub const CONTROL: Bytes = wire::MIN_FRAME;

/// The access scheme of one collision domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// A hub of the domain.
    pub hub: NodeId,
    /// Rules and values.
    pub scheme: Scheme,
    /// Stations that follow the scheme, in the order of their turns. Others on the medium send by
    /// CSMA/CD whenever they have a frame.
    pub members: Vec<Member>,
    /// Time from the last bit of a frame that asks a station to the first bit of its answer; the
    /// inter-frame gap holds as well.
    pub response: Duration,
    /// What goes wrong.
    pub faults: Faults,
}

/// A station or switch that follows the scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// The node.
    pub node: NodeId,
    /// Largest frame that it sends, by class; zero if it sends none. Larger ones are dropped.
    pub largest: [Bytes; CLASSES],
}

impl Member {
    /// Returns the largest frame of any class.
    pub fn largest_of_all(&self) -> Bytes {
        self.largest[0].max(self.largest[1])
    }
}

/// Control frames that are lost, and members that fall silent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Numbers of the control frames of the domain, from 1, that reach no station.
    pub lost: Vec<u64>,
    /// Members that send nothing from this time on.
    pub silent: Vec<(NodeId, Duration)>,
}

impl Faults {
    /// Returns whether nothing goes wrong.
    pub const fn is_empty(&self) -> bool {
        self.lost.is_empty() && self.silent.is_empty()
    }
}

/// Name of a scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SchemeKind {
    /// Contention (IEEE 802.3-2022, clause 4).
    CsmaCd,
    /// Time slots, as of RTnet.
    Tdma,
    /// A master asks its slaves in turn.
    Polling,
    /// ETHERNET Powerlink.
    Powerlink,
    /// FTT-Ethernet.
    Ftt,
    /// A token with reservations, as of RETHER.
    TimedToken,
    /// A ring without a token frame, as of VTPE.
    VirtualToken,
    /// Grants of the hub (IEEE 802.12).
    DemandPriority,
    /// One frame that passes through all stations, as of `EtherCAT`.
    Summation,
}

impl SchemeKind {
    /// All schemes, CSMA/CD first.
    pub const ALL: &'static [Self] = &[
        Self::CsmaCd,
        Self::Tdma,
        Self::Polling,
        Self::Powerlink,
        Self::Ftt,
        Self::TimedToken,
        Self::VirtualToken,
        Self::DemandPriority,
        Self::Summation,
    ];

    /// Returns the name in scenarios and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CsmaCd => "csma-cd",
            Self::Tdma => "tdma",
            Self::Polling => "polling",
            Self::Powerlink => "powerlink",
            Self::Ftt => "ftt-ethernet",
            Self::TimedToken => "timed-token",
            Self::VirtualToken => "virtual-token",
            Self::DemandPriority => "demand-priority",
            Self::Summation => "summation",
        }
    }
}

/// Rules of a scheme other than CSMA/CD.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// Time slots in a cycle that a master announces.
    Tdma(Tdma),
    /// A master asks its slaves in turn.
    Polling(Polling),
    /// A cycle with an isochronous and an asynchronous phase.
    Powerlink(Powerlink),
    /// A master triggers the messages of each elementary cycle.
    Ftt(Ftt),
    /// A token with reservations.
    TimedToken(TimedToken),
    /// A ring without a token frame.
    VirtualToken(VirtualToken),
    /// Grants of the hub.
    DemandPriority(DemandPriority),
    /// One frame that passes through all stations.
    Summation(Summation),
}

impl Scheme {
    /// Returns the name of the scheme.
    pub const fn kind(&self) -> SchemeKind {
        match self {
            Self::Tdma(_) => SchemeKind::Tdma,
            Self::Polling(_) => SchemeKind::Polling,
            Self::Powerlink(_) => SchemeKind::Powerlink,
            Self::Ftt(_) => SchemeKind::Ftt,
            Self::TimedToken(_) => SchemeKind::TimedToken,
            Self::VirtualToken(_) => SchemeKind::VirtualToken,
            Self::DemandPriority(_) => SchemeKind::DemandPriority,
            Self::Summation(_) => SchemeKind::Summation,
        }
    }

    /// Returns whether each class of traffic has turns of its own. Otherwise a turn is for the
    /// oldest real-time frame, or for an ordinary one if none waits.
    pub const fn has_turns_by_class(&self) -> bool {
        match self {
            Self::Tdma(_) | Self::Polling(_) | Self::VirtualToken(_) => false,
            Self::Powerlink(_)
            | Self::Ftt(_)
            | Self::TimedToken(_)
            | Self::DemandPriority(_)
            | Self::Summation(_) => true,
        }
    }
}

/// Slots of RTnet's TDMA discipline 2.1a: the master broadcasts a Sync frame each cycle, and a
/// station sends at most one frame in each of its slots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tdma {
    /// Time between two Sync frames.
    pub cycle: Duration,
    /// Position of the master among the members.
    pub master: u32,
    /// Sends the Sync frame if the master has not, at this offset in the cycle.
    pub backup: Option<Backup>,
    /// In the order of their offsets.
    pub slots: Vec<Slot>,
}

/// A backup master.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backup {
    /// Position among the members.
    pub member: u32,
    /// From the time at which the Sync frame was due.
    pub offset: Duration,
}

/// A time slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Position of its station among the members.
    pub member: u32,
    /// From the start of the cycle.
    pub offset: Duration,
    /// Largest frame, addresses to FCS.
    pub size: Bytes,
    /// The slot counts in one of every `of` cycles.
    pub of: u32,
    /// In which of these, from 0.
    pub turn: u32,
}

/// A master that asks its slaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Polling {
    /// Shortest time between the starts of two cycles; zero to begin at once.
    pub cycle: Duration,
    /// Position of the master among the members.
    pub master: u32,
    /// From the last bit of a request to the time at which its answer is missing.
    pub timeout: Duration,
    /// How often the master asks again then.
    pub retries: u32,
}

/// ETHERNET Powerlink: a managing node begins each cycle (SoC), asks each other node for its
/// real-time frame (PReq, PRes), and grants one ordinary frame (SoA).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Powerlink {
    /// Time between two SoC frames.
    pub cycle: Duration,
    /// Position of the managing node among the members.
    pub master: u32,
    /// From the last bit of a PReq or SoA frame to the time at which the answer is missing.
    pub timeout: Duration,
}

/// FTT-Ethernet: a master begins each elementary cycle with a trigger message, which lists the
/// synchronous messages of the cycle and when each is sent; then it asks stations for ordinary
/// frames.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ftt {
    /// Length of an elementary cycle.
    pub cycle: Duration,
    /// Position of the master among the members.
    pub master: u32,
    /// Longest time for synchronous messages in a cycle.
    pub window: Duration,
    /// Synchronous messages.
    pub messages: Vec<Synchronous>,
}

/// A synchronous message of FTT-Ethernet: a real-time frame of a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Synchronous {
    /// Position of its station among the members.
    pub member: u32,
    /// Largest frame, addresses to FCS.
    pub size: Bytes,
    /// It is sent once in this many cycles.
    pub every: u32,
}

/// A token that goes round in cycles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimedToken {
    /// Longest cycle.
    pub cycle: Duration,
    /// By member: time for real-time frames in each cycle, gap included; zero for none.
    pub reservations: Vec<Duration>,
    /// From the last bit of a token to the time at which its effect is missing.
    pub timeout: Duration,
}

/// A ring in which all stations count turns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VirtualToken {
    /// Silence after which the turn goes to the next station (`t2`).
    pub silence: Duration,
}

/// Grants of a hub on demand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DemandPriority {
    /// Time of the signalling before each frame.
    pub signalling: Duration,
    /// After this time, a waiting ordinary frame counts as a real-time one.
    pub promotion: Duration,
}

/// A summation frame: in each cycle the master sends one frame, or several in a row, through all
/// stations and back. Each takes out what is for it as the frame passes, and puts in what it sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summation {
    /// Time between two cycles.
    pub cycle: Duration,
    /// Position of the master among the members.
    pub master: u32,
    /// How long a station holds the frame, on its way out and back.
    pub pass: Duration,
    /// Octets of process data in each cycle.
    pub octets: Bytes,
    /// By member: most real-time frames that it puts in.
    pub places: Vec<u32>,
    /// Whether the master passes ordinary frames on from one station to another.
    pub relays: bool,
}
