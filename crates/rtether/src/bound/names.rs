//! Names of ports and places, looked up fast enough for results with thousands of them.

use std::collections::BTreeMap;

use rtether_bounds::{FlowLimit, PolicerBound};
use rtether_model::flow::FlowId;
use rtether_model::network::{NodeId, PortId};
use rtether_model::record::{Place, Segment};

use crate::place::place_name;
use crate::scenario::Scenario;

/// Node at the other end of every link in use.
pub(crate) struct Names<'a> {
    scenario: &'a Scenario,
    peers: BTreeMap<PortId, NodeId>,
}

impl<'a> Names<'a> {
    pub(crate) fn new(scenario: &'a Scenario) -> Self {
        let links = scenario.network.links.iter();
        let used = links.filter(|link| !link.standby);
        let ends = used.flat_map(|link| {
            let [a, b] = link.ends;
            [(a, b.node), (b, a.node)]
        });
        Self { scenario, peers: ends.collect() }
    }

    pub(crate) fn node(&self, id: NodeId) -> &'a str {
        &self.scenario.network.node(id).name
    }

    pub(crate) fn flow(&self, id: FlowId) -> &'a str {
        self.scenario.flow_name(id)
    }

    /// Returns the node at the other end of the link in use at a port.
    pub(crate) fn peer(&self, port: PortId) -> &'a str {
        self.peers.get(&port).map_or("nowhere", |&id| self.node(id))
    }

    /// Returns a port in words: `sw1 > plc`.
    pub(crate) fn port(&self, port: PortId) -> String {
        format!("{} > {}", self.node(port.node), self.peer(port))
    }

    /// Returns a place in words: `switch queue of sw1 to plc`.
    pub(crate) fn place(&self, place: Place) -> String {
        match (place.segment, self.peers.get(&place.port)) {
            (segment @ Segment::SwitchQueue, Some(&peer)) => {
                let node = self.node(place.port.node);
                format!("{} of {node} to {}", segment.name(), self.node(peer))
            }
            _ => place_name(self.scenario, place),
        }
    }
}

/// Returns the name of a policer: `rule 2 of sw1 at port 3`, counted from one.
pub(super) fn policer(scenario: &Scenario, policer: &PolicerBound) -> String {
    let PortId { node, port } = policer.port;
    let name = &scenario.network.node(node).name;
    format!("rule {} of {name} at port {}", policer.rule + 1, port + 1)
}

/// Returns in words what limits a flow with unlimited releases.
pub(super) fn flow_limit(scenario: &Scenario, limit: FlowLimit) -> String {
    let name = |node| scenario.network.node(node).name.as_str();
    match limit {
        FlowLimit::Window => "window".into(),
        FlowLimit::Smoother(node) => format!("smoother of {}", name(node)),
        FlowLimit::Stack(node) => format!("stack of {}", name(node)),
        FlowLimit::Policer(node) => format!("policer of {}", name(node)),
        FlowLimit::Gap(node) => format!("gap at {}", name(node)),
        FlowLimit::Line => "line rate".into(),
    }
}
