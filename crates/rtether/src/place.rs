//! Places in words.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use rtether_model::network::{Network, NodeId, PortId};
use rtether_model::record::{Place, Segment};

use crate::scenario::Scenario;

/// Returns the node at the other end of a port's link.
pub fn peer_name(scenario: &Scenario, port: PortId) -> Option<&str> {
    let mut links = scenario.network.links.iter();
    let peer = links.find_map(|link| link.peer_of(port))?;
    Some(&scenario.network.node(peer.node).name)
}

/// Nodes at the other ends of links, for reports that name thousands of places.
#[derive(Clone, Debug, Default)]
pub(super) struct Peers(BTreeMap<PortId, NodeId>);

impl Peers {
    /// Looks at each link once.
    pub(super) fn new(network: &Network) -> Self {
        let mut peers = BTreeMap::new();
        for link in &network.links {
            let [a, b] = link.ends;
            for (port, peer) in [(a, b), (b, a)] {
                if let Entry::Vacant(place) = peers.entry(port) {
                    place.insert(peer.node);
                }
            }
        }
        Self(peers)
    }

    /// Returns what [`peer_name`] does.
    pub(super) fn name<'a>(&self, scenario: &'a Scenario, port: PortId) -> Option<&'a str> {
        let peer = self.0.get(&port)?;
        Some(&scenario.network.node(*peer).name)
    }

    /// Returns what [`place_name`] does.
    pub(super) fn place(&self, scenario: &Scenario, place: Place) -> String {
        in_words(scenario, place, |port| self.name(scenario, port))
    }
}

/// Returns a place in words: `driver queue of bay01.ct2`, `switch queue of sw1 to bay01.pu`.
pub fn place_name(scenario: &Scenario, place: Place) -> String {
    in_words(scenario, place, |port| peer_name(scenario, port))
}

fn in_words<'a>(
    scenario: &'a Scenario,
    place: Place,
    peer_name: impl Fn(PortId) -> Option<&'a str>,
) -> String {
    let segment = place.segment.name();
    let node = &scenario.network.node(place.port.node).name;
    let peer = || peer_name(place.port).unwrap_or("nowhere");
    match place.segment {
        Segment::Wire => format!("wire from {node} to {}", peer()),
        Segment::SwitchQueue => format!("switch queue of {node} to {}", peer()),
        Segment::SwitchLatency if is_router(scenario, place.port.node) => {
            format!("processor of {node}")
        }
        Segment::TalkerStack
        | Segment::DriverQueue
        | Segment::MediumAccess
        | Segment::SwitchLatency
        | Segment::ReceiveQueue
        | Segment::ReceiveStack
        | Segment::Application
        | Segment::Protocol => format!("{segment} of {node}"),
    }
}

fn is_router(scenario: &Scenario, node: NodeId) -> bool {
    let switch = scenario.network.switch(node);
    switch.is_some_and(|switch| switch.router.is_some())
}
