//! The plant: end stations, switches and the links between them.
//!
//! Indices are positions in [`Network::nodes`] and [`Network::links`]; ports are counted from zero
//! within their node. An end station has one port, number 0, or two if it is in two networks.

mod intervals;

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use crate::admission::Admission;
use crate::arp::Arp;
use crate::empirical::Empirical;
use crate::endnode::Layer;
pub use crate::index::{LinkId, NodeId, PortId};
use crate::ingress::IngressRule;
pub use crate::port_plan::{Algorithm, Feature, PortPlan};
pub use crate::priority::{Pcp, QueueMap, Vid};
use crate::quantity::{BitRate, Bytes, Duration};
pub use crate::redundancy::Redundancy;
use crate::scheme::Access;
use crate::unknown::Unknown;

pub use crate::selection::{Partition, Selection};
pub use intervals::Interval;

/// The whole plant.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Network {
    /// End stations, switches and hubs, in the order of the scenario.
    pub nodes: Vec<Node>,
    /// Links between their ports.
    pub links: Vec<Link>,
    /// Access schemes of collision domains other than CSMA/CD, at most one for each.
    pub access: Vec<Access>,
    /// How deadlines are divided among ports that select by deadline.
    pub partition: Partition,
    /// Who grants flows with a deadline before they begin; `None` if they need not ask.
    pub admission: Option<Admission>,
    /// Trunks whose VLANs follow from what is declared behind them ([`crate::registration`]).
    pub registering: Vec<PortId>,
}

/// An end station, a switch or a hub.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Unique name.
    pub name: String,
    /// Kind of node.
    pub kind: NodeKind,
}

/// Kind of a node.
#[derive(Clone, Debug, PartialEq)]
pub enum NodeKind {
    /// Sends and receives.
    EndStation(EndStation),
    /// Forwards.
    Switch(Switch),
    /// Repeats.
    Hub(Hub),
}

/// A node with applications, a protocol stack and one network interface.
#[derive(Clone, Debug, PartialEq)]
pub struct EndStation {
    /// Cost of a packet in the stack; the least, where it is not known.
    pub stack: Stack,
    /// Costs of stack and tasks that are not known, each one constant in a run.
    pub unknown: Vec<Unknown>,
    /// Packets that may wait for the stack, both directions together; further ones are dropped.
    pub stack_queue: u32,
    /// Octets of frames that may wait in the FIFO queue of the driver; further frames are dropped.
    pub driver_queue: Bytes,
    /// Whether its port sends the frame with the earliest local deadline, as
    /// [`Selection::EarliestDeadline`], in place of the first that came. Not with transmit queues
    /// or a smoother, and not on a medium with an access scheme, which choose themselves.
    pub by_deadline: bool,
    /// Processor time of the applications; zero if not given.
    pub tasks: Option<Tasks>,
    /// Priority queues and traffic smoother between stack and driver; plain FIFO if not given.
    pub layer: Option<Box<Layer>>,
    /// Resolution of the addresses of neighbors; all are known beforehand if not given. Every
    /// station answers requests.
    pub arp: Option<Arp>,
    /// How it is in two networks at once; it is in one if not given. Not with a layer.
    pub redundancy: Option<Redundancy>,
    /// On real hosts: whether all of the above is emulated below the host, in addition to the
    /// host's own costs, instead of left to the host. Ignored in a simulation.
    pub emulate: bool,
}

impl EndStation {
    /// Default number of packets that may wait for a stack.
    pub const STACK_QUEUE: u32 = 1000;
    /// Default number of octets that may wait in a driver queue.
    pub const DRIVER_QUEUE: Bytes = Bytes::new(1_000_000);

    /// Returns a station with the default queues and nothing between stack and driver.
    pub const fn new(stack: Stack) -> Self {
        Self {
            stack,
            unknown: Vec::new(),
            stack_queue: Self::STACK_QUEUE,
            driver_queue: Self::DRIVER_QUEUE,
            by_deadline: false,
            tasks: None,
            layer: None,
            arp: None,
            redundancy: None,
            emulate: false,
        }
    }

    /// Returns the number of its ports.
    pub const fn ports(&self) -> u16 {
        if self.redundancy.is_some() { 2 } else { 1 }
    }
}

/// Application tasks that share a separate processor (catalogue 0.3, `rtos`; 1b,
/// `skeie-prio-taskprio`).
///
/// A message takes the processor before it enters the sending stack and after it has left the
/// receiving one; so does each data segment of a bulk flow, for the program that writes or reads
/// the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tasks {
    /// Time for a message, each way.
    pub message: Duration,
    /// Time for a data segment of a bulk flow, each way.
    pub segment: Duration,
    /// Whether messages preempt bulk flows; otherwise all are handled in order of arrival.
    pub messages_first: bool,
}

/// Cost model of a protocol stack (catalogue 0.3).
#[derive(Clone, Debug, PartialEq)]
pub enum Stack {
    /// Takes no time; only communication time remains (R53).
    Zero,
    /// One FIFO server for sent and received packets; the same time for any size (R50).
    IpRate {
        /// Time per packet: the reciprocal of the IP processing rate.
        service: Duration,
    },
    /// Costs that grow with the size, a network interface, jitter and rare outliers (R52).
    Linear(LinearStack),
    /// One network task of a real-time operating system: a cost for each kind of packet, the same
    /// in both directions (R54).
    Rtos(RtosStack),
}

/// Parameters of [`Stack::Linear`].
#[derive(Clone, Debug, PartialEq)]
pub struct LinearStack {
    /// From the application's call to the driver queue, per frame.
    pub send: Cost,
    /// From the driver to the application, per frame.
    pub receive: Cost,
    /// Delay of the network interface, each way; does not occupy the server.
    pub interface: Cost,
    /// Added to every send and receive cost.
    pub jitter: Jitter,
    /// Whether both directions share one processor.
    pub servers: Servers,
}

/// Parameters of [`Stack::Rtos`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RtosStack {
    /// A packet that is not TCP.
    pub datagram: Cost,
    /// A TCP segment with data.
    pub segment: Cost,
    /// A TCP segment without data.
    pub acknowledgement: Cost,
    /// Added to every cost.
    pub jitter: Jitter,
}

/// A time that grows with the frame: `base + per_octet * frame_size` (untagged, addresses to FCS).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Time independent of the size.
    pub base: Duration,
    /// Time per octet of the frame.
    pub per_octet: Duration,
}

impl Cost {
    /// Returns the cost of a frame of `size`.
    ///
    /// # Panics
    /// If the size does not fit 63 bits.
    pub fn of(self, size: Bytes) -> Duration {
        let octets = i64::try_from(size.get()).expect("a frame size fits 63 bits");
        self.base + self.per_octet * octets
    }
}

/// Number of processors of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Servers {
    /// One, shared by sent and received packets in order of arrival.
    Shared,
    /// One for each direction.
    PerDirection,
}

/// Random addition to a cost.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Jitter {
    /// Addition to every packet.
    pub spread: Spread,
    /// Further addition to a few packets.
    pub outliers: Option<Outliers>,
}

/// Distribution of the everyday jitter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Spread {
    /// No jitter.
    #[default]
    None,
    /// Uniform from zero to `max`.
    Uniform {
        /// The largest addition.
        max: Duration,
    },
    /// Exponential, cut at `max` (larger draws become `max`).
    Exponential {
        /// Mean before the cut.
        mean: Duration,
        /// The largest addition.
        max: Duration,
    },
    /// As measured, for each direction.
    Empirical(Box<Empirical>),
}

impl Spread {
    /// Returns the largest addition.
    pub fn max(&self, is_outbound: bool) -> Duration {
        match self {
            Self::None => Duration::ZERO,
            Self::Uniform { max } | Self::Exponential { max, .. } => *max,
            Self::Empirical(measured) => measured.of(is_outbound).max(),
        }
    }

    /// Returns the mean addition; for an exponential one, before the cut.
    pub fn mean(&self, is_outbound: bool) -> Duration {
        match self {
            Self::None => Duration::ZERO,
            Self::Uniform { max } => *max / 2,
            Self::Exponential { mean, .. } => *mean,
            Self::Empirical(measured) => measured.of(is_outbound).mean(),
        }
    }
}

/// Rare large delays, uniform between two limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outliers {
    /// Packets per million that are affected.
    pub per_million: u32,
    /// The smallest addition.
    pub min: Duration,
    /// The largest addition.
    pub max: Duration,
}

/// A bridge in the sense of IEEE 802.1Q.
#[derive(Clone, Debug, PartialEq)]
pub struct Switch {
    /// Time from the moment a frame may be forwarded to its entry into the egress queue; the least,
    /// if it varies.
    pub latency: Duration,
    /// Largest addition to the latency, drawn for each frame with equal probability of all values.
    /// Frames from one port keep their order.
    pub latency_jitter: Duration,
    /// Largest constant that comes on top of the latency in a run, if it is not known.
    pub unknown_latency: Duration,
    /// When a frame may be forwarded.
    pub mode: ForwardingMode,
    /// Queues of each egress port and the map from PCP to queue.
    pub queues: QueueMap,
    /// Selection of the next queue to send from, at ports without their own.
    pub selection: Selection,
    /// Memory for waiting frames.
    pub buffer: Buffer,
    /// Octets that may wait in each queue, indexed by queue, at ports without their own; `None` if only
    /// the buffer of the port limits them.
    pub thresholds: Option<[Bytes; 8]>,
    /// How unicast destinations are found.
    pub addresses: AddressTable,
    /// How multicast is forwarded.
    pub multicast: MulticastForwarding,
    /// Whether tags are kept.
    pub tags: TagHandling,
    /// Rules for frames that arrive, at ports without their own.
    pub ingress: Vec<IngressRule>,
    /// Whether these rules overlook ICMP, as in some switches (catalogue 2d.2).
    pub icmp_unclassified: bool,
    /// Copies of frames for a station that looks on.
    pub mirror: Option<Mirror>,
    /// The processor of a router; a switch has none.
    pub router: Option<Router>,
    /// One entry per port.
    pub ports: Vec<SwitchPort>,
}

/// The processor of a router between networks: every packet that it forwards takes its turn there,
/// between the latency and the egress queue (catalogue R49).
///
/// A router stores frames, keeps their tags, knows all addresses and groups beforehand, and floods
/// nothing. Switches around it do not learn addresses, and stations do not resolve them: behind a
/// router all have its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Router {
    /// Least cost of a packet.
    pub cost: Cost,
    /// Largest addition to the cost, drawn for each packet with equal probability of all values.
    pub jitter: Duration,
    /// Largest constant that comes on top of the cost in a run, if it is not known.
    pub unknown: Duration,
    /// Packets that may wait for the processor; further ones are dropped.
    pub queue: u32,
}

impl Router {
    /// Returns the processor as the stack of a station, where sending costs what receiving does.
    pub fn stack(&self) -> Stack {
        let spread = if self.jitter == Duration::ZERO {
            Spread::None
        } else {
            Spread::Uniform { max: self.jitter }
        };
        Stack::Linear(LinearStack {
            send: self.cost,
            receive: self.cost,
            interface: Cost::default(),
            jitter: Jitter { spread, outliers: None },
            servers: Servers::Shared,
        })
    }
}

/// A mirror port: it sends copies of frames at other ports and nothing else (catalogue R46).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mirror {
    /// The port that sends the copies; it takes no part in forwarding.
    pub to: u16,
    /// The ports looked at.
    pub ports: Vec<u16>,
    /// Which of their frames are copied.
    pub direction: MirrorDirection,
}

/// Frames that a mirror port sends a copy of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MirrorDirection {
    /// Both.
    #[default]
    Both,
    /// Those received without error, as they came.
    Received,
    /// Those sent, from the moment when their transmission begins.
    Sent,
}

impl Mirror {
    fn looks_at(&self, port: u16) -> bool {
        port != self.to && self.ports.contains(&port)
    }

    /// Returns whether frames received at a port are copied.
    pub fn copies_received(&self, port: u16) -> bool {
        self.direction != MirrorDirection::Sent && self.looks_at(port)
    }

    /// Returns whether frames sent by a port are copied.
    pub fn copies_sent(&self, port: u16) -> bool {
        self.direction != MirrorDirection::Received && self.looks_at(port)
    }
}

/// When a switch may begin to forward a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForwardingMode {
    /// After its last bit; frames with errors are discarded.
    StoreAndForward,
    /// After its header, towards ports that are not faster than the one it arrives on; towards
    /// faster ones after its last bit. Frames with errors are forwarded.
    CutThrough,
}

/// Memory for frames that wait in a switch; frames in transmission do not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// Octets that may wait at one port; a frame that does not fit is dropped (tail drop).
    pub per_port: Bytes,
    /// Octets that may wait in the whole switch, if its ports share one memory.
    pub shared: Option<Bytes>,
}

impl Buffer {
    /// Creates a memory that ports do not share.
    pub const fn per_port(octets: Bytes) -> Self {
        Self { per_port: octets, shared: None }
    }
}

/// How a switch finds the port of a unicast address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressTable {
    /// Filled before the run by shortest paths.
    Static,
    /// Empty at the start, filled from source addresses (IEEE 802.1Q-2022, 8.7); unknown
    /// destinations are flooded.
    Learning {
        /// Age at which an entry is forgotten.
        aging: Duration,
    },
}

/// How a switch forwards multicast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MulticastForwarding {
    /// Only towards listeners (static entries, as GMRP, MMRP or IGMP snooping would make them).
    Managed,
    /// To every port of the VLAN except the ingress port.
    Unmanaged,
}

/// Handling of IEEE 802.1Q tags by a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TagHandling {
    /// Tags frames by the VLAN settings of the egress port.
    Keep,
    /// Honors the priority of tagged frames and sends all frames untagged.
    Strip,
}

/// Settings of one port of a switch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SwitchPort {
    /// VLAN membership.
    pub vlan: PortVlan,
    /// Priority of untagged frames that arrive here.
    pub default_pcp: Pcp,
    /// Selection at this port; `None` for that of the switch.
    pub selection: Option<Selection>,
    /// Octets that may wait in each queue of this port; `None` for those of the switch.
    pub thresholds: Option<[Bytes; 8]>,
    /// Rules for frames that arrive here; `None` for those of the switch.
    pub ingress: Option<Vec<IngressRule>>,
}

impl Switch {
    /// Creates a switch that stores and forwards without latency, with one queue of 1 MiB at each
    /// port; it knows all addresses and members of multicast groups, and has no VLANs. Others
    /// differ in fields: `Switch { latency, ..Switch::new(4) }`.
    pub fn new(ports: usize) -> Self {
        Self {
            latency: Duration::ZERO,
            latency_jitter: Duration::ZERO,
            unknown_latency: Duration::ZERO,
            mode: ForwardingMode::StoreAndForward,
            queues: QueueMap::ONE,
            selection: Selection::Fcfs,
            buffer: Buffer::per_port(Bytes::new(1 << 20)),
            thresholds: None,
            addresses: AddressTable::Static,
            multicast: MulticastForwarding::Managed,
            tags: TagHandling::Keep,
            ingress: Vec::new(),
            icmp_unclassified: false,
            mirror: None,
            router: None,
            ports: alloc::vec![SwitchPort::default(); ports],
        }
    }

    /// Returns the selection at a port; that of the switch if there is no such port.
    pub fn selection_at(&self, port: u16) -> Selection {
        let own = self.ports.get(usize::from(port));
        own.and_then(|port| port.selection).unwrap_or(self.selection)
    }

    /// Returns whether a port only sends copies of frames of others.
    pub fn is_mirror(&self, port: u16) -> bool {
        self.mirror.as_ref().is_some_and(|mirror| mirror.to == port)
    }

    /// Returns the octets that may wait in each queue of a port; `None` if only its buffer limits them.
    pub fn thresholds_at(&self, port: u16) -> Option<[Bytes; 8]> {
        let own = self.ports.get(usize::from(port));
        let own = own.and_then(|port| port.thresholds).or(self.thresholds);
        own.filter(|_| self.selection_at(port).uses_queues())
    }

    /// Returns the rules for frames that arrive at a port.
    pub fn ingress_at(&self, port: u16) -> &[IngressRule] {
        let own = self.ports.get(usize::from(port));
        own.and_then(|port| port.ingress.as_ref()).unwrap_or(&self.ingress)
    }

    /// Returns whether any port has rules for frames that arrive.
    pub fn has_ingress(&self) -> bool {
        let own = self.ports.iter().filter_map(|port| port.ingress.as_ref());
        !self.ingress.is_empty() || own.into_iter().any(|rules| !rules.is_empty())
    }

    /// Returns the plan of ports without a selection of their own.
    pub fn plan(&self) -> PortPlan {
        PortPlan::new(self.selection, self.queues.count())
    }

    /// Returns the plan of a port; that of the switch if there is no such port.
    pub fn plan_at(&self, port: u16) -> PortPlan {
        PortPlan::new(self.selection_at(port), self.queues.count())
    }

    /// Returns the plans of all ports.
    pub fn plans(&self) -> impl Iterator<Item = PortPlan> + '_ {
        (0..).zip(&self.ports).map(|(port, _)| self.plan_at(port))
    }
}

/// VLAN membership of a port.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum PortVlan {
    /// Not VLAN-aware: every frame passes, and tags stay as they are.
    #[default]
    Transparent,
    /// Member of one VLAN, untagged.
    Access(Vid),
    /// Member of several VLANs, tagged; `native` travels untagged.
    Trunk {
        /// Members, sorted; `None` for all.
        allowed: Option<Vec<Vid>>,
        /// VLAN of untagged frames.
        native: Option<Vid>,
    },
}

impl PortVlan {
    /// Returns whether frames of `vid` may pass.
    pub fn admits(&self, vid: Vid) -> bool {
        match self {
            Self::Transparent | Self::Trunk { allowed: None, .. } => true,
            Self::Access(own) => *own == vid,
            Self::Trunk { allowed: Some(list), native } => {
                list.contains(&vid) || *native == Some(vid)
            }
        }
    }

    /// Returns the VLAN of a frame that arrives untagged or with a priority tag only.
    pub const fn vid_of_untagged(&self) -> Option<Vid> {
        match self {
            Self::Transparent => Some(Vid::DEFAULT),
            Self::Access(own) => Some(*own),
            Self::Trunk { native, .. } => *native,
        }
    }

    /// Returns whether a frame of `vid` leaves with a tag, or `None` if it keeps its tag as
    /// received.
    pub fn sends_tagged(&self, vid: Vid) -> Option<bool> {
        match self {
            Self::Transparent => None,
            Self::Access(_) => Some(false),
            Self::Trunk { native, .. } => Some(*native != Some(vid)),
        }
    }
}

/// A repeater: frames received at one port are sent at all others, at half duplex. Its stations,
/// those of other hubs joined to it, and the switches between them share one collision domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hub {
    /// Rate of all ports, 10 or 100 Mbit/s.
    pub rate: BitRate,
    /// From the first bit at one port to the first bit at the others.
    pub delay: Duration,
    /// Ranges of the back-off of all stations in the collision domain.
    pub backoff: Backoff,
    /// Number of ports.
    pub ports: u16,
}

/// Slots that a station may wait after its n-th collision with one frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Backoff {
    /// 0 to 2^k - 1 with k = min(n, 10) (IEEE 802.3-2022, 4.2.3.2.5).
    #[default]
    Standard,
    /// 0 to 2^k inclusive, as some papers print it; to reproduce their numbers.
    UpperEndIncluded,
}

/// Whether both ends of a link may send at the same time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Duplex {
    /// Both ends at the same time.
    #[default]
    Full,
    /// One end at a time, by CSMA/CD. Links of a hub are always half duplex.
    Half,
}

/// A link between two ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// The two ports it joins.
    pub ends: [PortId; 2],
    /// Rate in both directions; an octet takes a whole number of picoseconds.
    pub rate: BitRate,
    /// Propagation delay.
    pub propagation: Duration,
    /// Frames per billion that arrive with a wrong FCS.
    pub errors_per_billion: u32,
    /// Blocked by a redundancy protocol: carries no frames.
    pub standby: bool,
    /// Whether both ends may send at the same time.
    pub duplex: Duplex,
}

impl Network {
    /// Returns whether any station resolves addresses, and so broadcasts requests.
    pub fn resolves_addresses(&self) -> bool {
        let resolves = |node: &Node| match &node.kind {
            NodeKind::EndStation(station) => station.arp.is_some(),
            NodeKind::Switch(_) | NodeKind::Hub(_) => false,
        };
        self.nodes.iter().any(resolves)
    }

    /// Adds a node.
    ///
    /// # Panics
    /// With 2^32 nodes; a reader of files counts them before.
    pub fn add(&mut self, name: impl Into<String>, kind: NodeKind) -> NodeId {
        let id = u32::try_from(self.nodes.len()).expect("fewer than 2^32 nodes");
        let name = name.into();
        self.nodes.push(Node { name, kind });
        NodeId(id)
    }

    /// Joins two nodes by a link as [`Link::new`] makes it: a switch or hub gets a new port for
    /// it, an end station has one, or two of which the first one that is free is taken.
    ///
    /// # Panics
    /// With 2^16 ports at one node.
    pub fn join(&mut self, a: NodeId, b: NodeId, rate: BitRate) -> &mut Link {
        let ends = [a, b].map(|node| {
            let station = self.end_station(node);
            let is_double = station.is_some_and(|own| own.ports() > 1);
            let first = PortId::first(node);
            let is_linked = || self.links.iter().any(|link| link.ends.contains(&first));
            if is_double && is_linked() {
                return PortId { node, port: 1 };
            }
            let port = self.nodes[node.index()].kind.new_port();
            PortId { node, port }
        });
        self.links.push(Link::new(ends, rate));
        let last = self.links.len() - 1;
        &mut self.links[last]
    }

    /// Returns the node.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    /// Returns the switch with this id, or `None` for another kind of node.
    pub fn switch(&self, id: NodeId) -> Option<&Switch> {
        match &self.node(id).kind {
            NodeKind::Switch(switch) => Some(switch),
            NodeKind::EndStation(_) | NodeKind::Hub(_) => None,
        }
    }

    /// Returns the end station with this id, or `None` for another kind of node.
    pub fn end_station(&self, id: NodeId) -> Option<&EndStation> {
        match &self.node(id).kind {
            NodeKind::EndStation(station) => Some(station),
            NodeKind::Switch(_) | NodeKind::Hub(_) => None,
        }
    }

    /// Returns the hub with this id, or `None` for another kind of node.
    pub fn hub(&self, id: NodeId) -> Option<&Hub> {
        match &self.node(id).kind {
            NodeKind::Hub(hub) => Some(hub),
            NodeKind::EndStation(_) | NodeKind::Switch(_) => None,
        }
    }

    /// Returns whether a link carries one frame at a time, in either direction.
    pub fn is_half_duplex(&self, link: &Link) -> bool {
        let joins_hub = link.ends.iter().any(|end| self.hub(end.node).is_some());
        joins_hub || link.duplex == Duplex::Half
    }

    /// Returns whether any port selects by deadline.
    pub fn selects_by_deadline(&self) -> bool {
        self.nodes.iter().any(|node| match &node.kind {
            NodeKind::EndStation(station) => station.by_deadline,
            NodeKind::Switch(switch) => switch.plans().any(|plan| plan.needs(Feature::Deadlines)),
            NodeKind::Hub(_) => false,
        })
    }

    /// Returns whether deadlines are divided anew during a run: their parts depend on the channels
    /// that there are.
    pub fn divides_anew(&self) -> bool {
        self.admission.is_some() && self.partition != Partition::Equal
    }

    /// Returns all ids with their nodes, in order.
    pub fn iter_nodes(&self) -> impl Iterator<Item = (NodeId, &Node)> {
        (0u32..).map(NodeId).zip(&self.nodes)
    }

    /// Returns all ids with their links, in order.
    pub fn iter_links(&self) -> impl Iterator<Item = (LinkId, &Link)> {
        (0u32..).map(LinkId).zip(&self.links)
    }

    /// Returns the node with this name.
    pub fn find(&self, name: &str) -> Option<NodeId> {
        self.iter_nodes().find(|(_, node)| node.name == name).map(|(id, _)| id)
    }
}

impl NodeKind {
    fn new_port(&mut self) -> u16 {
        match self {
            Self::EndStation(_) => 0,
            Self::Switch(switch) => {
                switch.ports.push(SwitchPort::default());
                u16::try_from(switch.ports.len() - 1).expect("at most 2^16 ports")
            }
            Self::Hub(hub) => {
                hub.ports += 1;
                hub.ports - 1
            }
        }
    }
}

impl Hub {
    /// Creates a hub without delay, whose stations back off as the standard says.
    pub const fn new(rate: BitRate, ports: u16) -> Self {
        Self { rate, delay: Duration::ZERO, backoff: Backoff::Standard, ports }
    }
}

impl Link {
    /// Creates a link in use, at full duplex, without propagation delay and errors. Others differ
    /// in fields: `Link { duplex, ..Link::new(ends, rate) }`.
    pub const fn new(ends: [PortId; 2], rate: BitRate) -> Self {
        Self {
            ends,
            rate,
            propagation: Duration::ZERO,
            errors_per_billion: 0,
            standby: false,
            duplex: Duplex::Full,
        }
    }

    /// Returns the other end, as seen from `port`; `None` if the link does not end there.
    pub fn peer_of(&self, port: PortId) -> Option<PortId> {
        match self.ends {
            [a, b] if a == port => Some(b),
            [a, b] if b == port => Some(a),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Oracle: by hand.
    #[test]
    fn nodes_and_ports_are_numbered_in_order() {
        let rate = BitRate::from_mbps(10);
        let mut network = Network::default();
        let a = network.add("a", NodeKind::EndStation(EndStation::new(Stack::Zero)));
        let hub = network.add("hub", NodeKind::Hub(Hub::new(rate, 0)));
        let switch = network.add("switch", NodeKind::Switch(Switch::new(2)));
        network.join(a, hub, rate);
        network.join(hub, switch, rate).standby = true;
        let ends = |link: usize| network.links[link].ends.map(|end| (end.node, end.port));
        assert_eq!(ends(0), [(a, 0), (hub, 0)]);
        assert_eq!(ends(1), [(hub, 1), (switch, 2)]);
        assert!(network.links[1].standby && network.find("hub") == Some(hub));
        assert_eq!(network.hub(hub).map(|hub| hub.ports), Some(2));
        assert_eq!(network.switch(switch).map(|switch| switch.ports.len()), Some(3));
    }

    #[test]
    fn vlan_membership() {
        let [ten, twenty] = [10, 20].map(|v| Vid::new(v).unwrap());
        let access = PortVlan::Access(ten);
        assert!(access.admits(ten) && !access.admits(twenty));
        assert_eq!(access.sends_tagged(ten), Some(false));
        let trunk = PortVlan::Trunk { allowed: Some(alloc::vec![twenty]), native: Some(ten) };
        assert!(trunk.admits(ten) && trunk.admits(twenty) && !trunk.admits(Vid::DEFAULT));
        assert_eq!(trunk.sends_tagged(ten), Some(false));
        assert_eq!(trunk.sends_tagged(twenty), Some(true));
        assert_eq!(PortVlan::Transparent.sends_tagged(ten), None);
        assert!(Vid::new(4095).is_none());
    }
}
