//! What the analysis says.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use rtether_model::flow::FlowId;
use rtether_model::network::{NodeId, PortId};
use rtether_model::quantity::{Bytes, Duration};
use rtether_model::record::{Place, Segment};
use rtether_model::route::RouteError;

/// Bounds of a whole plant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Analysis {
    /// One entry a flow and listener: flows in order, listeners in order, as in a run's record.
    pub streams: Vec<StreamBound>,
    /// One entry for every port that frames leave by, by node and port.
    pub ports: Vec<PortBound>,
    /// One entry for every processor of a station that takes time, by node: tasks, then stack,
    /// sending first.
    pub stacks: Vec<StackBound>,
    /// One entry for every flow whose releases nothing limits, such as bulk TCP, in order.
    pub open_flows: Vec<OpenFlow>,
    /// Work that was done.
    pub effort: Effort,
}

/// How much the analysis had to compute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effort {
    /// Flows at places: each packet's way counts every place once.
    pub visits: usize,
    /// Evaluations of ports and stacks; more than their number only where flows depend on each
    /// other in a cycle.
    pub evaluations: u64,
    /// Whether flows depend on each other in a cycle, so that the bounds are a fixed point.
    pub is_cyclic: bool,
}

/// How a flow disturbs others whose releases nothing limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenFlow {
    /// The flow.
    pub flow: FlowId,
    /// What limits its packets on their way.
    pub limit: FlowLimit,
}

/// What limits the packets of a flow whose releases nothing limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowLimit {
    /// So many may be under way at once: a TCP window, with a round trip that is proved to be
    /// shorter than any timeout.
    Window,
    /// The smoother of a station.
    Smoother(NodeId),
    /// The stack of a station, which takes its time for each packet.
    Stack(NodeId),
    /// The rates of links and nothing else: whoever waits with it in order of arrival has no bound.
    Line,
}

/// The bound of one flow to one of its listeners.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamBound {
    /// The flow.
    pub flow: FlowId,
    /// The listener.
    pub listener: NodeId,
    /// The bound, or why there is none.
    pub bound: Result<Bound, Reason>,
}

/// A proved upper bound on a latency, under the assumption that nothing is lost for lack of
/// memory, of this flow or another: a loss can make others give up waiting and send anew. See
/// [`PortBound::backlog`] and [`StackBound::waiting`]. Losses by bit errors are accounted for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bound {
    /// From the release by the talker's application to the delivery to the listener's; with a
    /// reply, back to the talker's.
    pub latency: Duration,
    /// The same without any waiting: no packet is faster.
    pub latency_min: Duration,
    /// The parts, in the order in which a packet passes them; their sum is the latency.
    pub hops: Vec<HopBound>,
    /// How the bound was found.
    pub method: Method,
    /// The bound of each method that was tried and has one; the least of them is the latency.
    pub by_method: Vec<(Method, Duration)>,
    /// Deadline of the flow minus the latency; negative if it may be missed.
    pub slack: Option<Duration>,
}

impl Bound {
    /// Returns the hop that contributes most, the first of equals.
    pub fn responsible(&self) -> Option<&HopBound> {
        self.hops.iter().rev().max_by_key(|hop| hop.delay())
    }
}

/// Part of a bound that one place contributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HopBound {
    /// Where: a stack, a port, or an application that answers.
    pub place: Place,
    /// Longest wait before service or transmission begins, counted from the latest arrival. Where the
    /// method is about several places at once, only the sum over all hops is proved; it is shared
    /// among them in proportion to the waits by [`Method::SeparatedFlow`].
    pub queueing: Duration,
    /// Longest time from there to the next place: service, or transmission, propagation,
    /// interfaces and the fixed latency of the switch behind the link.
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
    /// Total flow analysis, each place once, with staircase arrival curves, the rates of the input
    /// links, and the wait of the last packet: exact in order of arrival, rounded up by at
    /// most 1/128 of the span searched where lines and priorities meet.
    TotalFlow,
    /// The same, where flows depend on each other in a cycle: a fixed point, verified.
    FixedPoint,
    /// Total flow analysis, then each flow apart: its own jitter counts once along its way and not
    /// at every place, and its packet is not the first of those from its link that are in front.
    SeparatedFlow,
    /// Pay multiplexing only once: the burst of a cross flow counts once along the ports that it
    /// shares with the flow, in whatever order they serve packets.
    MultiplexingOnce,
    /// Least upper delay bound: the same, in order of arrival, for nested cross flows.
    LeastUpperDelay,
}

/// Which methods are applied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Methods {
    /// All, of which the least bound counts.
    #[default]
    All,
    /// [`Method::TotalFlow`] or [`Method::FixedPoint`] alone.
    TotalFlow,
}

impl Method {
    /// Returns the name used in tables and files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::TotalFlow => "total flow",
            Self::FixedPoint => "fixed point",
            Self::SeparatedFlow => "separated flow",
            Self::MultiplexingOnce => "multiplexing once",
            Self::LeastUpperDelay => "least upper delay",
        }
    }
}

/// Why there is no bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Frames cannot get to the listener, or the answer not back.
    NoRoute(RouteError),
    /// The frames never arrive, for example since a switch sends them elsewhere.
    NotDelivered,
    /// The path crosses a hub or a half-duplex link: the delay has no bound, only a distribution.
    SharedMedium {
        /// A port at the medium.
        port: PortId,
    },
    /// More work arrives at a place than it can do.
    Overload {
        /// The place.
        place: Place,
        /// Offered work in millionths of what the place can do; one million and more.
        utilization_ppm: u64,
    },
    /// Nothing limits what a flow releases: Poisson arrivals, bulk TCP, messages over TCP, or
    /// bursts without a smallest gap.
    UnlimitedArrivals {
        /// The flow; it may be another one that shares a queue.
        flow: FlowId,
    },
    /// Flows depend on each other in a cycle for which no finite solution was found.
    Cycle {
        /// A place in the cycle.
        place: Place,
    },
    /// The layer of an end station gives no promise to packets of some class.
    EndNodeLayer {
        /// The station.
        node: NodeId,
        /// What part of it does not.
        part: LayerPart,
    },
    /// An octet does not take a whole number of picoseconds on a link.
    LinkRate {
        /// The sending port.
        port: PortId,
    },
    /// Copies of frames go round in a loop of switches that flood, or reach a station twice.
    FloodingLoop {
        /// The flow whose frames do.
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
            Self::Overload {
                utilization_ppm, ..
            } => write!(f, "overload: {} of the capacity", percent(*utilization_ppm)),
            Self::UnlimitedArrivals { .. } => write!(f, "nothing limits the arrivals"),
            Self::Cycle { .. } => write!(f, "no finite bound found for a cycle of flows"),
            Self::EndNodeLayer { part, .. } => part.fmt(f),
            Self::LinkRate { .. } => {
                write!(f, "an octet on a link is no whole number of picoseconds")
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

/// What a layer may hold packets back with for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayerPart {
    /// Receive queues of algorithm C without idle release: low frames wait for high ones.
    ReceiveQueues,
    /// The strict transmit strategy without idle release: low frames wait for high ones.
    TransmitQueues,
    /// A smoother that holds bulk packets, and empties its bucket, whenever congestion is reported.
    Congestion,
    /// The strict transmit strategy below a smoother: low frames fill the room of high ones.
    StrictBelowSmoother,
    /// A smoother that waits for what transmit queues below it let through.
    QueuesBelowSmoother,
    /// Rules by port, which the first fragment of a datagram has and the others lack.
    Fragments,
}

impl fmt::Display for LayerPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ReceiveQueues => "receive queues without idle release hold low frames back",
            Self::TransmitQueues => "transmit queues without idle release hold low frames back",
            Self::Congestion => "the smoother holds bulk packets while it is told of congestion",
            Self::StrictBelowSmoother => "strict transmit queues below a smoother promise nothing",
            Self::QueuesBelowSmoother => {
                "transmit queues below a smoother of mode `rtether` promise bulk nothing"
            }
            Self::Fragments => {
                "rules by port see the first fragment of a datagram and not the others"
            }
        })
    }
}

/// Writes millionths as percent with one decimal.
fn percent(ppm: u64) -> String {
    alloc::format!("{}.{} %", ppm / 10_000, ppm / 1_000 % 10)
}

/// Load and memory of one port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortBound {
    /// The port.
    pub port: PortId,
    /// Offered wire time in millionths of the time there is, rounded up; `None` if nothing limits
    /// what a flow there releases.
    pub utilization_ppm: Option<u64>,
    /// Octets of frames that may wait there at once, the one in transmission not counted, of all
    /// queues together; `None` if a wait there has no bound.
    pub backlog: Option<Bytes>,
    /// Longest wait of any frame before its transmission begins.
    pub queueing: Option<Duration>,
}

/// Load of one processor of an end station: of its stack, or of its application tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StackBound {
    /// The end station.
    pub node: NodeId,
    /// Whether it serves received packets only; else sent ones, or both directions.
    pub is_receiver: bool,
    /// What it is for: the application's tasks, or the stack.
    pub segment: Segment,
    /// Offered work in millionths of the time there is, rounded up; `None` if nothing limits it.
    pub utilization_ppm: Option<u64>,
    /// Packets that may wait there at once.
    pub waiting: Option<u64>,
    /// Longest wait of any packet before its service begins.
    pub queueing: Option<Duration>,
}
