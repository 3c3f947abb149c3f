//! What a deadline has to bear: other flows, and costs of nodes and links.
//!
//! Each one can be taken away: a flow is left out, a cost becomes zero or what is least. That changes
//! the scenario behind its edits, whatever file, selector or generator it comes from, so that no
//! name is missed. What was planned for all flows, such as the turns of stations at a hub, stays.

use std::collections::BTreeSet;
use std::mem::take;

use rtether_model::endnode::{Layer, Receive};
use rtether_model::flow::FlowId;
use rtether_model::network::{
    Buffer, Cost, Duplex, Jitter, LinkId, Network, NodeId, NodeKind, Spread, Stack,
};
use rtether_model::quantity::{BitRate, Bytes, Duration};
use rtether_model::unknown::{CostName, stated};
use rtether_report::text::time;

use crate::scenario::Scenario;

/// The fastest Ethernet.
const FASTEST: BitRate = BitRate::from_bps(400_000_000_000);
/// Packets and octets that hold all that may wait.
const PACKETS: u32 = 1 << 30;
const OCTETS: Bytes = Bytes::new(1 << 40);

/// A flow, or a cost of a node or a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Burden {
    /// Octets and packets that may wait in a node: what they do not hold is dropped.
    Memory(NodeId),
    /// Time of a frame on a link.
    Link(LinkId),
    /// What a cost of a node may vary by.
    Jitter(NodeId),
    /// A cost of a packet in a node.
    Cost(NodeId, CostName),
    /// Another flow.
    Flow(FlowId),
}

impl Burden {
    /// Returns all of a plant but one flow. What comes first is tried first without, so that an
    /// explanation has a flow or a cost of a stack rather than a link or a memory.
    pub(super) fn all(scenario: &Scenario, but: FlowId) -> Vec<Self> {
        let network = &scenario.network;
        let nodes: Vec<NodeId> = (0..).map(NodeId).take(network.nodes.len()).collect();
        let links = network.iter_links().map(|(id, _)| Self::Link(id));
        let costs = nodes.iter().flat_map(|&node| CostName::ALL.map(|name| Self::Cost(node, name)));
        let flows = (0..).map(FlowId).take(scenario.flows.len()).filter(|own| *own != but);
        let all = nodes
            .iter()
            .copied()
            .map(Self::Memory)
            .chain(links)
            .chain(nodes.iter().copied().map(Self::Jitter));
        let all = all.chain(flows.map(Self::Flow)).chain(costs);
        all.filter(|own| own.shown(scenario).is_some()).collect()
    }

    /// Returns the flow, if it is one.
    pub(super) const fn flow(self) -> Option<FlowId> {
        if let Self::Flow(flow) = self { Some(flow) } else { None }
    }

    /// Returns `flow` or `cost`.
    pub(super) const fn kind(self) -> &'static str {
        if self.flow().is_some() { "flow" } else { "cost" }
    }

    /// Returns what it is, in words.
    pub(super) fn name(self, scenario: &Scenario) -> String {
        let network = &scenario.network;
        match self {
            Self::Flow(flow) => scenario.flows[flow.index()].name.clone(),
            Self::Memory(id) if network.switch(id).is_some() => {
                format!("buffer of {}", called(network, id))
            }
            Self::Memory(id) => format!("queues of {}", called(network, id)),
            Self::Jitter(id) => format!("jitter of {}", called(network, id)),
            Self::Cost(id, name) => format!("{name} of {}", called(network, id)),
            Self::Link(link) => {
                let [a, b] = network.links[link.index()].ends.map(|end| called(network, end.node));
                format!("link {a} - {b}")
            }
        }
    }

    /// Returns what is written, in words; `None` for a cost that is the least already.
    pub(super) fn shown(self, scenario: &Scenario) -> Option<String> {
        let network = &scenario.network;
        match self {
            Self::Flow(flow) => {
                let flow = &scenario.flows[flow.index()];
                let listeners = flow.listeners.iter().map(|id| called(network, *id));
                let listeners: Vec<&str> = listeners.collect();
                Some(format!("{} > {}", called(network, flow.talker), listeners.join(", ")))
            }
            Self::Memory(node) => memory(&network.node(node).kind),
            Self::Link(link) => {
                let link = &network.links[link.index()];
                // Those that share a medium have its rate.
                let may_rise = link.rate < FASTEST && link.duplex == Duplex::Full;
                may_rise.then(|| link.rate.to_string())
            }
            Self::Jitter(node) => {
                let most = taken_jitter(&mut network.node(node).kind.clone());
                (most > Duration::ZERO).then(|| time(most))
            }
            Self::Cost(node, name) => {
                let cost = taken(&mut network.node(node).kind.clone(), name);
                let (base, octet) = (cost.base, cost.per_octet);
                match (base > Duration::ZERO, octet > Duration::ZERO) {
                    (false, false) => None,
                    (_, false) => Some(time(base)),
                    (_, true) => Some(format!("{} + {}/B", time(base), time(octet))),
                }
            }
        }
    }

    /// Takes a cost away; flows are left out together.
    fn relieve(self, network: &mut Network) {
        let nodes = &mut network.nodes;
        match self {
            Self::Flow(_) => {}
            Self::Memory(node) => hold_all(&mut nodes[node.index()].kind),
            Self::Jitter(node) => {
                taken_jitter(&mut nodes[node.index()].kind);
            }
            Self::Cost(node, name) => {
                taken(&mut nodes[node.index()].kind, name);
            }
            Self::Link(link) => {
                let link = &mut network.links[link.index()];
                (link.rate, link.propagation) = (FASTEST, Duration::ZERO);
            }
        }
    }
}

fn called(network: &Network, node: NodeId) -> &str {
    &network.node(node).name
}

/// Takes burdens away from a scenario; `whole` is the one that they are numbered in.
pub(super) fn relieve(scenario: &mut Scenario, whole: &Scenario, burdens: &[Burden]) {
    let mut left_out = BTreeSet::new();
    for burden in burdens {
        burden.relieve(&mut scenario.network);
        if let Burden::Flow(flow) = burden {
            left_out.insert(whole.flows[flow.index()].name.as_str());
        }
    }
    scenario.retain_flows(|flow| !left_out.contains(flow.name.as_str()));
}

/// Sets a cost to zero, and returns the most that it was.
fn taken(kind: &mut NodeKind, name: CostName) -> Cost {
    match kind {
        NodeKind::EndStation(own) => {
            // The most of a sum has in it what the sum may be above its least, and goes with it.
            if name == CostName::Sum {
                return Cost::default();
            }
            let unknown = stated(&own.unknown, name);
            let is_split = name == CostName::Both;
            own.unknown
                .retain(|other| other.cost != name && !(is_split && other.cost == CostName::Sum));
            let mut cost = match (&mut own.stack, name) {
                (Stack::IpRate { service }, CostName::Service) => fixed(service),
                (Stack::Linear(stack), CostName::Send) => take(&mut stack.send),
                (Stack::Linear(stack), CostName::Receive) => take(&mut stack.receive),
                (Stack::Linear(stack), CostName::Interface) => take(&mut stack.interface),
                (Stack::Rtos(stack), CostName::Datagram) => take(&mut stack.datagram),
                (Stack::Rtos(stack), CostName::Segment) => take(&mut stack.segment),
                (Stack::Rtos(stack), CostName::Acknowledgement) => take(&mut stack.acknowledgement),
                (_, CostName::TaskMessage) => {
                    own.tasks.as_mut().map_or_else(Cost::default, |own| fixed(&mut own.message))
                }
                (_, CostName::TaskSegment) => {
                    own.tasks.as_mut().map_or_else(Cost::default, |own| fixed(&mut own.segment))
                }
                (Stack::Zero | Stack::IpRate { .. } | Stack::Linear(_) | Stack::Rtos(_), _) => {
                    Cost::default()
                }
            };
            // A server that takes no time is none.
            if own.stack == (Stack::IpRate { service: Duration::ZERO }) {
                own.stack = Stack::Zero;
            }
            cost.base += unknown;
            cost
        }
        NodeKind::Switch(own) => match (&mut own.router, name) {
            (_, CostName::Latency) => {
                let unknown = take(&mut own.unknown_latency);
                Cost { base: take(&mut own.latency) + unknown, ..Cost::default() }
            }
            (Some(router), CostName::Router) => {
                let unknown = take(&mut router.unknown);
                let cost = take(&mut router.cost);
                Cost { base: cost.base + unknown, ..cost }
            }
            (_, _) => Cost::default(),
        },
        NodeKind::Hub(_) => Cost::default(),
    }
}

/// Sets a cost that is the same for all sizes to zero, and returns what it was.
fn fixed(base: &mut Duration) -> Cost {
    Cost { base: take(base), ..Cost::default() }
}

/// Sets what varies to zero, and returns the most that it was.
fn taken_jitter(kind: &mut NodeKind) -> Duration {
    match kind {
        NodeKind::EndStation(own) => {
            let jitter = match &mut own.stack {
                Stack::Linear(stack) => take(&mut stack.jitter),
                Stack::Rtos(stack) => take(&mut stack.jitter),
                Stack::Zero | Stack::IpRate { .. } => Jitter::default(),
            };
            let outliers = jitter.outliers.map_or(Duration::ZERO, |own| own.max);
            most(&jitter.spread) + outliers
        }
        NodeKind::Switch(own) => {
            let router = own.router.as_mut().map(|own| take(&mut own.jitter));
            take(&mut own.latency_jitter) + router.unwrap_or(Duration::ZERO)
        }
        NodeKind::Hub(_) => Duration::ZERO,
    }
}

fn most(spread: &Spread) -> Duration {
    spread.max(true).max(spread.max(false))
}

/// Returns what may wait in a node, in words; `None` if all may.
fn memory(kind: &NodeKind) -> Option<String> {
    match kind {
        NodeKind::EndStation(own) => Some(format!("{} packets", own.stack_queue)),
        NodeKind::Switch(own) => Some(own.buffer.per_port.to_string()),
        NodeKind::Hub(_) => None,
    }
}

/// Lets all wait that may come.
fn hold_all(kind: &mut NodeKind) {
    match kind {
        NodeKind::EndStation(own) => {
            (own.stack_queue, own.driver_queue) = (PACKETS, OCTETS);
            own.layer.as_deref_mut().into_iter().for_each(hold_all_of);
        }
        NodeKind::Switch(own) => {
            (own.buffer, own.thresholds) = (Buffer::per_port(OCTETS), None);
            own.ports.iter_mut().for_each(|port| port.thresholds = None);
            own.router.iter_mut().for_each(|own| own.queue = PACKETS);
        }
        NodeKind::Hub(_) => {}
    }
}

fn hold_all_of(layer: &mut Layer) {
    match &mut layer.receive {
        Some(Receive::Queues(own)) => {
            own.input_limit = PACKETS;
            own.queue_limits.fill(PACKETS);
        }
        Some(Receive::Instances { queue_limits }) => queue_limits.fill(PACKETS),
        None => {}
    }
    layer.transmit.iter_mut().for_each(|own| own.queue_limits.fill(PACKETS));
}
