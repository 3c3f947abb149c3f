//! A plant in which one element is absent.
//!
//! Recovery is not modeled, only its end: of the links on standby, in the order of the file, each takes over that
//! joins two parts which have no connection any more, so that no loop can arise. Streams without a way
//! are removed, and what their talkers would still send in vain is not simulated.

use rtether_model::flow::Flow;
use rtether_model::network::{Link, LinkId, Network, NodeId, NodeKind, PortId};
use rtether_model::registration;
use rtether_model::route::{Hop, Routing};

use crate::scenario::Scenario;

/// Which elements fail, one at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// Every link in use.
    Links,
    /// Every link in use between switches and hubs: those of end stations have no second way.
    Trunks,
    /// Every switch and hub.
    Switches,
    /// Every link in use, switch and hub.
    Both,
}

impl Which {
    /// All.
    pub const ALL: [Self; 4] = [Self::Links, Self::Trunks, Self::Switches, Self::Both];

    /// Returns the word used on the command line and in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Links => "links",
            Self::Trunks => "trunks",
            Self::Switches => "switches",
            Self::Both => "both",
        }
    }
}

/// An element that can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// A link.
    Link(LinkId),
    /// A switch or hub, with all its links.
    Node(NodeId),
}

impl Element {
    /// Returns all elements of a kind: links, then nodes, in the order of the scenario.
    pub fn all(network: &Network, which: Which) -> Vec<Self> {
        let is_station = |node| network.end_station(node).is_some();
        let is_trunk = |link: &Link| !link.ends.iter().any(|end| is_station(end.node));
        let links = network.iter_links().filter(|(_, link)| match which {
            Which::Links | Which::Both => !link.standby,
            Which::Trunks => !link.standby && is_trunk(link),
            Which::Switches => false,
        });
        let has_nodes = matches!(which, Which::Switches | Which::Both);
        let nodes = network.iter_nodes().map(|(id, _)| id);
        let nodes = nodes.filter(|&id| has_nodes && !is_station(id));
        links.map(|(id, _)| Self::Link(id)).chain(nodes.map(Self::Node)).collect()
    }

    /// Returns its name as the scenario has it: `sw1:2 - sw2:1`, `sw1`.
    pub fn name(self, network: &Network) -> String {
        match self {
            Self::Link(link) => {
                let [a, b] = network.links[link.index()].ends;
                format!("{} - {}", end_name(network, a), end_name(network, b))
            }
            Self::Node(node) => network.node(node).name.clone(),
        }
    }

    /// Returns `link`, `switch` or `hub`.
    pub fn kind(self, network: &Network) -> &'static str {
        match self {
            Self::Link(_) => "link",
            Self::Node(node) if network.hub(node).is_some() => "hub",
            Self::Node(_) => "switch",
        }
    }

    /// Returns whether a link is lost with it.
    fn takes(self, id: LinkId, link: &Link) -> bool {
        match self {
            Self::Link(own) => own == id,
            Self::Node(node) => link.ends.iter().any(|end| end.node == node),
        }
    }
}

fn end_name(network: &Network, port: PortId) -> String {
    let node = network.node(port.node);
    match node.kind {
        NodeKind::EndStation(_) => node.name.clone(),
        NodeKind::Switch(_) | NodeKind::Hub(_) => format!("{}:{}", node.name, port.port + 1),
    }
}

/// A plant after a failure, once the network has reconverged. Streams are positions in the record of
/// the whole plant.
#[derive(Clone, Debug, PartialEq)]
pub struct Damaged {
    /// The plant. Its nodes are those of the whole plant; a node that failed has no link.
    pub scenario: Scenario,
    /// Its streams, in the order of its own record.
    pub streams: Vec<usize>,
    /// Streams that have no way any more.
    pub cut_off: Vec<usize>,
    /// Streams that take another way, there or back.
    pub rerouted: Vec<usize>,
    /// Links on standby that have taken over, as numbered in the whole plant.
    pub activated: Vec<LinkId>,
}

/// Returns a plant as it is.
pub fn whole(scenario: &Scenario) -> Damaged {
    let streams = scenario.flows.iter().map(|flow| flow.listeners.len());
    Damaged {
        scenario: scenario.clone(),
        streams: (0..streams.sum()).collect(),
        cut_off: Vec::new(),
        rerouted: Vec::new(),
        activated: Vec::new(),
    }
}

/// Returns a plant without an element.
pub fn without(scenario: &Scenario, element: Element) -> Damaged {
    let network = &scenario.network;
    let links = network.iter_links().map(|(id, link)| (id, *link));
    let mut links: Vec<(LinkId, Link)> =
        links.filter(|(id, link)| !element.takes(*id, link)).collect();
    let activated = take_over(&mut links, network.nodes.len());
    let mut damaged = Network {
        nodes: network.nodes.clone(),
        links: links.into_iter().map(|(_, link)| link).collect(),
        access: network.access.clone(),
        partition: network.partition,
        admission: network.admission,
        registering: network.registering.clone(),
    };
    // The ports register what is behind them now.
    registration::register(&mut damaged, &scenario.flows);
    let before = Ways::new(network);
    let after = Ways::new(&damaged);
    let (mut streams, mut cut_off, mut rerouted) = (Vec::new(), Vec::new(), Vec::new());
    let mut flows = Vec::new();
    let mut stream = 0;
    for flow in &scenario.flows {
        let rest = after.reached(flow);
        for &listener in &flow.listeners {
            if rest.listeners.contains(&listener) {
                streams.push(stream);
                let ways = [before.ways(flow, listener), after.ways(&rest, listener)];
                if !keeps_a_way(ways) {
                    rerouted.push(stream);
                }
            } else {
                cut_off.push(stream);
            }
            stream += 1;
        }
        if !rest.listeners.is_empty() {
            flows.push(rest);
        }
    }
    let scenario = Scenario { network: damaged, flows, ..scenario.clone() };
    Damaged { scenario, streams, cut_off, rerouted, activated }
}

/// Returns whether a stream goes on as before: in each direction one of its ways, of which there are
/// several in two networks, is the same before and after.
fn keeps_a_way([before, after]: [Option<[Vec<Vec<PortId>>; 2]>; 2]) -> bool {
    let (Some(before), Some(after)) = (before, after) else {
        return false;
    };
    before
        .iter()
        .zip(&after)
        .all(|(before, after)| before == after || before.iter().any(|way| after.contains(way)))
}

/// Puts links on standby into use that join two separate parts; returns them.
fn take_over(links: &mut [(LinkId, Link)], nodes: usize) -> Vec<LinkId> {
    let mut parts = Parts((0..nodes).collect());
    for (_, link) in links.iter().filter(|(_, link)| !link.standby) {
        parts.join(link);
    }
    let mut activated = Vec::new();
    for (id, link) in links.iter_mut().filter(|(_, link)| link.standby) {
        if parts.join(link) {
            link.standby = false;
            activated.push(*id);
        }
    }
    activated
}

/// Parts of a network: for each node another one of its part, or itself.
struct Parts(Vec<usize>);

impl Parts {
    fn root(&mut self, mut node: usize) -> usize {
        while self.0[node] != node {
            self.0[node] = self.0[self.0[node]];
            node = self.0[node];
        }
        node
    }

    /// Joins the parts at both ends; returns whether they were separate.
    fn join(&mut self, link: &Link) -> bool {
        let [a, b] = link.ends.map(|end| self.root(end.node.index()));
        self.0[a] = b;
        a != b
    }
}

/// Ways of flows through a network.
struct Ways<'a> {
    network: &'a Network,
    routing: Routing,
}

impl<'a> Ways<'a> {
    fn new(network: &'a Network) -> Self {
        Self { network, routing: Routing::new(network) }
    }

    /// Returns the ports that send on the ways to a listener, and on those of answers or
    /// acknowledgements; `None` without a way. There are several in two networks.
    fn ways(&self, flow: &Flow, listener: NodeId) -> Option<[Vec<Vec<PortId>>; 2]> {
        let there = self.routing.flow_paths(self.network, flow, listener).ok()?;
        let back = if flow.reply.is_some() || flow.is_acknowledged() {
            let back = self.routing.answer_paths(self.network, flow, listener);
            back.ok()?
        } else {
            Vec::new()
        };
        let ports = |hops: Vec<Hop>| hops.iter().map(|hop| hop.egress).collect();
        Some([there, back].map(|paths| paths.into_iter().map(ports).collect()))
    }

    /// Returns a flow with the listeners that it reaches.
    fn reached(&self, flow: &Flow) -> Flow {
        // One listener that cannot be reached spoils the tree of all, so each is tried alone first.
        let mut rest = flow.to_those(|listener| {
            let alone = flow.to_those(|other| other == listener);
            self.ways(&alone, listener).is_some()
        });
        // The tree may lead to a listener by another way, through ports outside the VLAN.
        while let Some(lost) = self.first_lost(&rest) {
            rest = rest.to_those(|listener| listener != lost);
        }
        rest
    }

    fn first_lost(&self, flow: &Flow) -> Option<NodeId> {
        let mut listeners = flow.listeners.iter().copied();
        listeners.find(|&listener| self.ways(flow, listener).is_none())
    }
}
