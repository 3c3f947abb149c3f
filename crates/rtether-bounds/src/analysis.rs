//! The result of the analysis.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use rtether_model::flow::FlowId;
use rtether_model::ingress::Cause;
use rtether_model::network::{NodeId, PortId};
use rtether_model::quantity::{Bytes, Duration};
use rtether_model::record::{Place, Segment};
use rtether_model::route::RouteError;

/// Bounds of a whole plant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Analysis {
    /// One entry per flow and listener: flows in order, listeners in order, as in a run's record.
    pub streams: Vec<StreamBound>,
    /// One entry for every egress port, by node and port.
    pub ports: Vec<PortBound>,
    /// One entry for every processor of a station that takes time, by node: tasks, then stack, the
    /// sending one first.
    pub stacks: Vec<StackBound>,
    /// One entry for every flow with unlimited releases, such as bulk TCP, in order.
    pub open_flows: Vec<OpenFlow>,
    /// One entry for every policer of a switch that a flow passes, and for every other step of a
    /// rule that may stop frames, by port and rule.
    pub policers: Vec<PolicerBound>,
    /// One entry for each memory with a limit that packets of flows pass.
    pub memories: Vec<Memory>,
    /// What may drop packets.
    pub droppers: Vec<Dropper>,
    /// One entry per stream: what its bound is a proof of only if nothing is dropped there; `None` if
    /// each packet arrives within its bound, or if there is none.
    pub conditions: Vec<Option<Condition>>,
    /// Work done.
    pub effort: Effort,
}

impl Analysis {
    /// Returns the streams with their conditions.
    pub fn judged(&self) -> impl Iterator<Item = (&StreamBound, Option<&Condition>)> {
        let conditions = self.conditions.iter().map(Option::as_ref);
        self.streams.iter().zip(conditions)
    }

    /// Returns the condition of a stream.
    pub fn condition(&self, stream: usize) -> Option<&Condition> {
        self.conditions.get(stream)?.as_ref()
    }
}

/// What holds packets, with a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Holder {
    /// The buffer of a switch port, or the driver queue of a station; octets.
    Buffer(PortId),
    /// One queue of a switch port, up to its threshold; octets.
    Threshold(PortId, u8),
    /// The buffer that all ports of a switch share; octets.
    SharedBuffer(NodeId),
    /// The stack of a station, both directions together; packets.
    Stack(NodeId),
    /// The application tasks of a station, each; packets.
    Tasks(NodeId),
    /// The processor of a router; packets.
    Router(NodeId),
    /// What waits in a station to be sorted into its receive queues; frames.
    Input(NodeId),
    /// A receive queue or stack instance of a station; frames.
    ReceiveQueue(NodeId, u8),
    /// A transmit queue of a station; frames.
    TransmitQueue(NodeId, u8),
    /// The real-time packets in a smoother; packets.
    RealTime(NodeId),
    /// The bulk packets in a smoother; packets.
    Bulk(NodeId),
    /// What a station holds for the address of a neighbor; octets.
    Address(NodeId),
    /// What a station holds for the gap of a flow; frames.
    Gap(FlowId),
}

/// A memory with a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Where.
    pub holder: Holder,
    /// The most that may be in it at once, while nothing is dropped; `None` if nothing limits that.
    pub need: Option<u64>,
    /// What it holds.
    pub limit: u64,
}

impl Memory {
    /// Returns whether it is proved never to be full.
    pub fn suffices(&self) -> bool {
        self.need.is_some_and(|need| need <= self.limit)
    }

    /// Returns whether it counts octets; otherwise packets.
    pub const fn is_in_octets(&self) -> bool {
        matches!(
            self.holder,
            Holder::Buffer(_)
                | Holder::Threshold(..)
                | Holder::SharedBuffer(_)
                | Holder::Address(_)
        )
    }
}

/// What may drop packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dropper {
    /// A memory that may need more than it has.
    Memory(Memory),
    /// A rule that may stop frames for a cause, such as a policer that is not proved kept, by the port
    /// at which they arrive and its number there, from zero.
    Rule(PortId, u16, Cause),
    /// A link with bit errors, or the medium of a port that loses frames, by the sending port.
    Link(PortId),
}

/// What drops do to a bound; the later one outweighs the earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// The number holds for each packet that arrives, although others may be dropped.
    IfDelivered,
    /// A drop voids the number itself.
    IfNothingDropped,
}

/// What must drop nothing for a bound to be a proof.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// What drops there do.
    pub effect: Effect,
    /// Positions in [`Analysis::droppers`], in order; not empty.
    pub droppers: Vec<u32>,
}

/// How much the analysis had to compute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effort {
    /// Visits: the places on the path of each flow, summed over all flows.
    pub visits: usize,
    /// Evaluations of ports and stacks; more than there are ports and stacks only if flows depend
    /// on each other in a cycle.
    pub evaluations: u64,
    /// Whether flows depend on each other in a cycle, so that the bounds are a fixed point.
    pub is_cyclic: bool,
}

/// A step of a rule of a switch that limits frames, such as its policer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PolicerBound {
    /// The port at which frames arrive.
    pub port: PortId,
    /// Number of its rule there, from zero.
    pub rule: u16,
    /// Why it stops frames.
    pub cause: Cause,
    /// Whether it is proved that no frame exceeds the limit, so that none is dropped or demoted.
    pub is_kept: bool,
}

/// How a flow with unlimited releases disturbs others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenFlow {
    /// The flow.
    pub flow: FlowId,
    /// What limits its packets on their path.
    pub limit: FlowLimit,
}

/// What limits the packets of a flow with unlimited releases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowLimit {
    /// The number of packets under way at once: a TCP window, with a round trip that is proved to
    /// be shorter than any timeout.
    Window,
    /// The smoother of a station.
    Smoother(NodeId),
    /// The stack of a station, because each packet takes time there.
    Stack(NodeId),
    /// A policer of a switch.
    Policer(NodeId),
    /// Its gap, which its station keeps.
    Gap(NodeId),
    /// Only the rates of links: a flow that shares a queue in order of arrival with it has no
    /// bound.
    Line,
}

/// Bound of one flow to one of its listeners.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamBound {
    /// The flow.
    pub flow: FlowId,
    /// The listener.
    pub listener: NodeId,
    /// The bound, or why there is none.
    pub bound: Result<Bound, Reason>,
}

/// An upper bound on a latency: a proof that packets arrive in time where it has no [`Condition`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bound {
    /// From the release by the talker's application to the delivery to the listener's; for a
    /// request, until the reply reaches the talker's application.
    pub latency: Duration,
    /// The same without any waiting; no packet is faster.
    pub latency_min: Duration,
    /// The parts, in the order in which a packet passes them; they add up to the latency.
    pub hops: Vec<HopBound>,
    /// How the bound was found.
    pub method: Method,
    /// The bound of each method that found one; the least is the latency.
    pub by_method: Vec<(Method, Duration)>,
    /// Deadline of the flow minus the latency; negative if it may be missed.
    pub slack: Option<Duration>,
}

impl Bound {
    /// Returns the hop that contributes most, the first one among equals.
    pub fn responsible(&self) -> Option<&HopBound> {
        self.hops.iter().rev().max_by_key(|hop| hop.delay())
    }
}

/// Contribution of one place to a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HopBound {
    /// A stack, a port, or an application that answers.
    pub place: Place,
    /// Longest wait before service or transmission begins, counted from the latest arrival. For
    /// methods that look at several places at once only the sum over all hops is proved; it is
    /// divided among them in proportion to the waits by [`Method::SeparatedFlow`].
    pub queueing: Duration,
    /// Longest time from there to the next place: service, or transmission, propagation, interfaces
    /// and the fixed latency of the switch behind the link.
    pub passage: Duration,
}

impl HopBound {
    /// Returns the sum of both parts.
    pub fn delay(&self) -> Duration {
        self.queueing + self.passage
    }
}

/// How a bound was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Total flow analysis, place by place, with staircase arrival curves, the rates of the input
    /// links, and the wait of the last packet: exact for these curves.
    TotalFlow,
    /// The same, where flows depend on each other in a cycle: a verified fixed point.
    FixedPoint,
    /// The same, where a reply follows its own request: a packet waits at both its visits to a
    /// processor for different ones, and replies come as far apart as their requests.
    RequestAndReply,
    /// Total flow analysis, then each flow separately: its own jitter counts once along its path
    /// instead of at every place, and its packet is not first among the packets from its link that
    /// count as in front.
    SeparatedFlow,
    /// Pay multiplexing only once: the burst of a cross flow counts once along the ports it shares
    /// with the flow, in any order of service.
    MultiplexingOnce,
    /// Least upper delay bound: the same for nested cross flows in order of arrival.
    LeastUpperDelay,
    /// Separated flow, with the last port on the way and the receive stack behind it taken
    /// together, and each port with a router behind it: each packet but one delays by the longer of
    /// its two services, not by their sum.
    PortAndStack,
}

/// Methods to apply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Methods {
    /// All; the least bound counts.
    #[default]
    All,
    /// Only [`Method::TotalFlow`] or [`Method::FixedPoint`].
    TotalFlow,
    /// All for streams with a deadline that total flow analysis does not prove, and only that for the
    /// others: the same deadlines are proved, with the same bounds of all that are not.
    UntilProved,
}

impl Method {
    /// Returns the name used in tables and files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::TotalFlow => "total flow",
            Self::FixedPoint => "fixed point",
            Self::RequestAndReply => "request and reply",
            Self::SeparatedFlow => "separated flow",
            Self::MultiplexingOnce => "multiplexing once",
            Self::LeastUpperDelay => "least upper delay",
            Self::PortAndStack => "port and stack",
        }
    }
}

/// Why there is no bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Frames have no route to the listener, or the answer has none back.
    NoRoute(RouteError),
    /// The frames never arrive, for example because a switch sends them elsewhere.
    NotDelivered,
    /// The path crosses a hub or a half-duplex link: the delay has a distribution but no bound.
    SharedMedium {
        /// A port at the medium.
        port: PortId,
    },
    /// The path crosses a medium whose access scheme guarantees nothing here.
    Access {
        /// A port at the medium.
        port: PortId,
        /// What the proof lacks.
        obstacle: AccessObstacle,
    },
    /// More work arrives at a place than it can do.
    Overload {
        /// The place.
        place: Place,
        /// Offered work in millionths of the capacity; at least one million.
        utilization_ppm: u64,
    },
    /// The packets of a flow are unlimited: Poisson arrivals, bulk TCP, messages over TCP that do
    /// not all leave at once, RTPS, or bursts without a minimum gap.
    UnlimitedArrivals {
        /// That flow, which may be another one that shares a queue.
        flow: FlowId,
    },
    /// Messages over TCP that may have to wait for the connection, or be sent again.
    Connection {
        /// Their flow.
        flow: FlowId,
        /// What the proof lacks.
        obstacle: ConnectionObstacle,
    },
    /// Files over TCP: how fast they go depends on the congestion window.
    Files {
        /// Their flow.
        flow: FlowId,
    },
    /// Samples over RTPS: discovery and acknowledgements of the participants share the queues of
    /// their stations, and no rate is known for them.
    Samples {
        /// Their flow.
        flow: FlowId,
    },
    /// Flows depend on each other in a cycle for which no finite solution was found.
    Cycle {
        /// A place in the cycle.
        place: Place,
    },
    /// The layer of an end station guarantees nothing to packets of some class.
    EndNodeLayer {
        /// The station.
        node: NodeId,
        /// Part of the layer that guarantees nothing.
        part: LayerPart,
    },
    /// Rules of a switch may put packets of the flow into different queues.
    Ingress {
        /// The port at which they arrive.
        port: PortId,
        /// Which packets go another way.
        part: IngressPart,
    },
    /// The address of the next station is not proved to be resolved in time.
    Resolution {
        /// The station that asks.
        from: NodeId,
        /// The one that is asked.
        to: NodeId,
        /// What the proof lacks.
        obstacle: ResolutionObstacle,
    },
    /// On a link, an octet does not take a whole number of picoseconds.
    LinkRate {
        /// The sending port.
        port: PortId,
    },
    /// Copies of frames circulate in a loop of switches that flood, or reach a station twice.
    FloodingLoop {
        /// The flow of these frames.
        flow: FlowId,
    },
    /// A jitter above 70 s, a burst of more than 1.1 s of work, or a latency above 13 days: beyond
    /// the range of exact arithmetic.
    OutOfRange,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRoute(error) => error.fmt(f),
            Self::NotDelivered => write!(f, "its frames do not reach the listener"),
            Self::SharedMedium { .. } => write!(f, "shared medium: no hard bound"),
            Self::Access { obstacle, .. } => write!(f, "access to the medium: {obstacle}"),
            Self::Overload { utilization_ppm, .. } => {
                write!(f, "overload: {} of the capacity", percent(*utilization_ppm))
            }
            Self::UnlimitedArrivals { .. } => write!(f, "unlimited arrivals"),
            Self::Connection { obstacle, .. } => write!(f, "messages over TCP: {obstacle}"),
            Self::Files { .. } => write!(f, "files over TCP: no bound on slow start"),
            Self::Samples { .. } => write!(
                f,
                "samples over RTPS: a bound would need a rate of discovery and acknowledgements, \
                 which share the queues of the stations"
            ),
            Self::Cycle { .. } => write!(f, "no finite bound found for a cycle of flows"),
            Self::EndNodeLayer { part, .. } => part.fmt(f),
            Self::Ingress { part, .. } => part.fmt(f),
            Self::Resolution { obstacle, .. } => write!(f, "address resolution: {obstacle}"),
            Self::LinkRate { .. } => {
                write!(f, "an octet on a link does not take a whole number of picoseconds")
            }
            Self::FloodingLoop { .. } => {
                write!(f, "frames are flooded into a loop or arrive twice")
            }
            Self::OutOfRange => write!(
                f,
                "beyond exact arithmetic: jitter above 70 s, a burst of more than 1.1 s of work, \
                 or a latency above 13 days"
            ),
        }
    }
}

/// Why messages over TCP are not proved to leave at once and arrive once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionObstacle {
    /// Their releases are random, or wait for answers.
    Releases,
    /// Bit errors may destroy segments on a link of the ways there and back.
    Losses,
    /// A rule of a switch may drop segments, or put them into another queue.
    Policed,
    /// In the tasks of the talker, messages go before acknowledgements; or copies in two networks
    /// change the order of segments.
    Order,
    /// Answers of several may be written at one scan, and share segments.
    Scan,
    /// More octets may wait for an acknowledgement than may leave without one.
    Window {
        /// Octets of messages, or of answers, that may wait at once.
        needed: Bytes,
        /// The smaller of the receive window and the initial congestion window.
        allowed: Bytes,
    },
    /// An acknowledgement may come after data was sent again.
    Timeout {
        /// Longest time to an acknowledgement.
        acknowledged: Duration,
        /// Smallest retransmission timeout.
        timeout: Duration,
    },
}

impl fmt::Display for ConnectionObstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Releases => write!(f, "no two of them are a known time apart"),
            Self::Losses => write!(f, "bit errors may destroy segments, which are sent again"),
            Self::Policed => write!(f, "a rule of a switch may drop or demote segments"),
            Self::Order => write!(
                f,
                "they may overtake others: in the tasks of the talker (messages first), or by the \
                 second of two networks"
            ),
            Self::Scan => write!(
                f,
                "answers of several may be written at one scan of the listener, and share segments"
            ),
            Self::Window { needed, allowed } => write!(
                f,
                "{needed} may wait for acknowledgements, and window and initial congestion window \
                 let {allowed} leave without one"
            ),
            Self::Timeout { acknowledged, timeout } => write!(
                f,
                "an acknowledgement may take {acknowledged}, and after {timeout} data is sent again"
            ),
        }
    }
}

/// Why an address is not proved to be resolved by the first request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResolutionObstacle {
    /// Request and reply have no bound.
    Unbounded,
    /// Bit errors or a rule of a switch may destroy one of them.
    Losses,
    /// The request is repeated before the reply may be there.
    Late {
        /// Longest time to the reply.
        answered: Duration,
        /// Time after which the request is repeated.
        retry: Duration,
    },
}

impl fmt::Display for ResolutionObstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unbounded => write!(f, "request and reply have no bound"),
            Self::Losses => {
                write!(f, "bit errors or a rule of a switch may destroy request or reply")
            }
            Self::Late { answered, retry } => write!(
                f,
                "the reply may take {answered}, and after {retry} the request is repeated"
            ),
        }
    }
}

/// Packets that rules of a switch may put into another queue than others of the same flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IngressPart {
    /// Those that exceed the limit of a policer, which demotes them.
    Demotion,
    /// The first fragments of datagrams, which alone match rules by port.
    Fragments,
}

impl fmt::Display for IngressPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Demotion => "frames above the limit of a policer may take another queue",
            Self::Fragments => "rules by port match only the first fragment of a datagram",
        })
    }
}

/// Why an access scheme guarantees nothing to the frames of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessObstacle {
    /// A station on the medium does not follow the scheme.
    Others,
    /// Control frames are lost, or stations fall silent.
    Faults,
    /// The values of the scheme contradict each other.
    Impossible,
    /// Frames may take longer to a node on the medium if others are long or early: its interface
    /// costs time per octet, or its latency varies.
    Node,
    /// A layer above the port holds frames back or reorders them.
    Queues,
    /// The port has no turn, or none that takes its largest frame.
    NoTurn,
    /// A frame is larger than its station may send.
    Frame,
}

impl fmt::Display for AccessObstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Others => "a station does not follow the scheme",
            Self::Faults => "control frames are lost or stations fall silent",
            Self::Impossible => "the values of the scheme contradict each other",
            Self::Node => "a node on the medium takes longer for some frames than for others",
            Self::Queues => "transmit queues or a smoother of the station hold frames back",
            Self::NoTurn => "the station has no turn for its largest frame",
            Self::Frame => "a frame is larger than its station may send",
        })
    }
}

/// Part of an end station's layer that may hold packets back forever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayerPart {
    /// Receive queues of algorithm C without idle release: low frames wait for high ones.
    ReceiveQueues,
    /// The strict transmit strategy without idle release: low frames wait for high ones.
    TransmitQueues,
    /// A smoother that holds bulk packets and empties its bucket whenever congestion is reported.
    Congestion,
    /// The strict transmit strategy below a smoother: low frames take up the room of high ones.
    StrictBelowSmoother,
    /// A smoother that waits for transmit queues below it, which guarantee bulk packets nothing.
    QueuesBelowSmoother,
    /// Rules by port, which match the first fragment of a datagram but not the others.
    Fragments,
}

impl fmt::Display for LayerPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ReceiveQueues => "receive queues without idle release hold low frames back",
            Self::TransmitQueues => "transmit queues without idle release hold low frames back",
            Self::Congestion => "the smoother holds bulk packets as long as congestion is reported",
            Self::StrictBelowSmoother => {
                "strict transmit queues below a smoother guarantee nothing"
            }
            Self::QueuesBelowSmoother => {
                "transmit queues below a smoother of mode `rtether` guarantee bulk packets nothing"
            }
            Self::Fragments => "rules by port match only the first fragment of a datagram",
        })
    }
}

/// Formats millionths as percent with one decimal.
fn percent(ppm: u64) -> String {
    alloc::format!("{}.{} %", ppm / 10_000, ppm / 1_000 % 10)
}

/// Load and memory of one port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortBound {
    /// The port.
    pub port: PortId,
    /// Offered wire time in millionths of the available time, rounded up; `None` if the releases of
    /// a flow there are unlimited.
    pub utilization_ppm: Option<u64>,
    /// Octets of frames that may wait there at once, over all queues and without the frame in
    /// transmission; `None` if a wait there has no bound.
    pub backlog: Option<Bytes>,
    /// The same for each queue of a switch port, lowest first, up to the highest one in use; `None` where
    /// a wait has no bound. Together they may be more than the backlog of the port.
    pub queues: Vec<Option<Bytes>>,
    /// Longest wait of any frame before its transmission begins.
    pub queueing: Option<Duration>,
}

/// Load of one processor of an end station: of its stack, or of its application tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StackBound {
    /// The end station.
    pub node: NodeId,
    /// Whether it serves received packets only; otherwise it serves packets to be sent, or both
    /// directions.
    pub is_receiver: bool,
    /// Its purpose: application tasks or stack.
    pub segment: Segment,
    /// Offered work in millionths of the available time, rounded up; `None` if it is unlimited.
    pub utilization_ppm: Option<u64>,
    /// Packets that may wait there at once.
    pub waiting: Option<u64>,
    /// Longest wait of any packet before its service begins.
    pub queueing: Option<Duration>,
}
