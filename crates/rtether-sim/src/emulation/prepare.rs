//! Prepares the network between the hosts for frames from outside.

use alloc::vec::Vec;

use rtether_model::endnode::HeaderMatch;
use rtether_model::flow::{Delivery, Flow, Traffic};
use rtether_model::network::{EndStation, Feature, Network, NodeKind, Stack};
use rtether_model::quantity::{Bytes, Duration};
use rtether_model::route::Routing;

use super::EmulationError;

/// Returns the multicast flows, modified to release nothing, and for each flow its index among
/// them.
pub(super) fn known_groups(flows: &[Flow]) -> (Vec<Flow>, Vec<Option<u32>>) {
    let mut groups = Vec::new();
    let position = |flow: &Flow| {
        if flow.delivery != Delivery::Multicast {
            return None;
        }
        let position = u32::try_from(groups.len()).ok();
        groups.push(Flow {
            payload: Bytes::ZERO,
            traffic: Traffic::Poisson { mean_interval: Duration::from_secs(1) },
            start: Duration::ZERO,
            stop: Some(Duration::ZERO),
            reply: None,
            connection: None,
            ..flow.clone()
        });
        position
    };
    let positions = flows.iter().map(position).collect();
    (groups, positions)
}

/// Returns whether a rule uses addresses or ports, which differ between the plant and its real
/// hosts.
fn looks_at_hosts(headers: &HeaderMatch) -> bool {
    headers.source.or(headers.destination).is_some() || headers.names_port()
}

/// Returns the network between the hosts: stations that are not emulated have zero processing time.
pub(super) fn bare(network: &Network, flows: &[Flow]) -> Result<Network, EmulationError> {
    let mut network = network.clone();
    let routing = Routing::new(&network);
    if let Some(links) = routing.find_loop(&network) {
        // Without a loop, a route is the only way.
        if let Some(flow) = flows.iter().find(|flow| !flow.routes.is_empty()) {
            let flow = flow.name.clone();
            return Err(EmulationError::Route { flow });
        }
        let node = links.first().map(|link| network.links[link.index()].ends[0].node);
        let switch = node.map(|node| network.node(node).name.clone());
        return Err(EmulationError::Loop { switch: switch.unwrap_or_default() });
    }
    if network.admission.is_some() {
        return Err(EmulationError::Admission);
    }
    for node in &mut network.nodes {
        match &mut node.kind {
            NodeKind::EndStation(station) if station.redundancy.is_some() => {
                let node = node.name.clone();
                return Err(EmulationError::Redundancy { node });
            }
            NodeKind::EndStation(station) if station.emulate => {
                if station.by_deadline {
                    let node = node.name.clone();
                    return Err(EmulationError::Deadlines { node });
                }
                let layer = station.layer.as_ref();
                if layer.is_some_and(|layer| {
                    layer.rules.iter().any(|rule| looks_at_hosts(&rule.headers))
                }) {
                    let node = node.name.clone();
                    return Err(EmulationError::Rules { node });
                }
                // The kernel of the real host resolves addresses; its frames come from outside.
                station.arp = None;
            }
            NodeKind::EndStation(station) => {
                *station = EndStation {
                    driver_queue: station.driver_queue,
                    ..EndStation::new(Stack::Zero)
                };
            }
            NodeKind::Switch(switch) => {
                let own = switch.ports.iter().filter_map(|port| port.ingress.as_ref());
                let mut rules = own.chain([&switch.ingress]).flatten();
                if rules.clone().any(|rule| looks_at_hosts(&rule.headers)) {
                    let node = node.name.clone();
                    return Err(EmulationError::Rules { node });
                }
                if rules.any(|rule| rule.mark_dscp.is_some()) {
                    let node = node.name.clone();
                    return Err(EmulationError::CodePoints { node });
                }
                if switch.plans().any(|plan| plan.needs(Feature::Deadlines)) {
                    let node = node.name.clone();
                    return Err(EmulationError::Deadlines { node });
                }
            }
            NodeKind::Hub(_) => {}
        }
    }
    Ok(network)
}
