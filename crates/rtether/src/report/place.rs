//! Places in words.

use rtether_model::network::{NodeId, PortId};
use rtether_model::record::{Place, Segment};

use crate::scenario::Scenario;

/// Returns the node at the other end of a port's link.
pub fn peer_name(scenario: &Scenario, port: PortId) -> Option<&str> {
    let mut links = scenario.network.links.iter();
    let peer = links.find_map(|link| link.peer_of(port))?;
    Some(&scenario.network.node(peer.node).name)
}

/// Returns a place in words: `driver queue of bay01.ct2`, `switch queue of sw1 to bay01.pu`.
pub fn place_name(scenario: &Scenario, place: Place) -> String {
    let segment = place.segment.name();
    let node = &scenario.network.node(place.port.node).name;
    let peer = || peer_name(scenario, place.port).unwrap_or("nowhere");
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
        | Segment::Application => format!("{segment} of {node}"),
    }
}

fn is_router(scenario: &Scenario, node: NodeId) -> bool {
    let switch = scenario.network.switch(node);
    switch.is_some_and(|switch| switch.router.is_some())
}
