//! Prepares the network between the hosts for frames from outside.

use alloc::vec::Vec;

use rtether_model::endnode::Rule;
use rtether_model::flow::{Delivery, Flow, Traffic};
use rtether_model::network::{EndStation, Network, NodeKind, Selection, Stack};
use rtether_model::quantity::{Bytes, Duration};
use rtether_model::route::Routing;

use super::EmulationError;
use crate::kernel::{Action, Carrier, FlowState, Listeners, Simulation};
use crate::packet::NONE;
use crate::source::Source;

impl Simulation {
    /// Gives every station a flow to all others that never releases: packets from outside belong to
    /// it, or to the flow of their group. All streams are removed, so packets count in none.
    pub(super) fn open_to_all(&mut self) {
        self.streams.clear();
        self.broadcasts_from = u32::try_from(self.flows.len()).unwrap_or(u32::MAX);
        let count = u32::try_from(self.stations.len()).unwrap_or(u32::MAX);
        for talker in 0..count {
            let others = (0..count).filter(|&station| station != talker);
            self.flows.push(FlowState {
                source: Source::silent(),
                slot: NONE,
                talker,
                listeners: Listeners::new(others.collect()),
                is_multicast: true,
                first_stream: 0,
                size: 0,
                reply: None,
                flags: 0,
                pcp: 0,
                vid: 0,
                number: 0,
                counted: 0,
                carrier: Carrier::Packets,
                awaited: 0,
            });
        }
    }
}

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
            traffic: Traffic::Poisson {
                mean_interval: Duration::from_secs(1),
            },
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

/// Returns the slot of the first release, or the one in its place.
pub(super) fn release_slot(simulation: &Simulation) -> u32 {
    let comes_after = |action: &Action| match action {
        Action::Release(_) | Action::Medium(_) | Action::Wake(_) => true,
        Action::Arrival(_)
        | Action::Stored(_)
        | Action::Stack(..)
        | Action::Layer(_)
        | Action::Reply(_)
        | Action::TcpSender(_)
        | Action::TcpReceiver(_)
        | Action::TcpEnd(..)
        | Action::Party(_) => false,
    };
    let actions = &simulation.actions;
    let position = actions.iter().position(comes_after);
    u32::try_from(position.unwrap_or(actions.len())).unwrap_or(u32::MAX)
}

/// Returns whether a rule uses addresses or ports, which differ between the plant and its real
/// hosts.
fn looks_at_hosts(rule: &Rule) -> bool {
    let addresses = [rule.source, rule.destination];
    let ports = [rule.source_port, rule.destination_port];
    addresses.iter().any(Option::is_some) || ports.iter().any(Option::is_some)
}

/// Returns the network between the hosts: stations that are not emulated have zero processing time.
pub(super) fn bare(network: &Network) -> Result<Network, EmulationError> {
    let mut network = network.clone();
    let routing = Routing::new(&network);
    if let Some(links) = routing.find_loop(&network) {
        let node = links
            .first()
            .map(|link| network.links[link.index()].ends[0].node);
        let switch = node.map(|node| network.node(node).name.clone());
        return Err(EmulationError::Loop {
            switch: switch.unwrap_or_default(),
        });
    }
    for node in &mut network.nodes {
        match &mut node.kind {
            NodeKind::EndStation(station) if station.emulate => {
                let layer = station.layer.as_ref();
                if layer.is_some_and(|layer| layer.rules.iter().any(looks_at_hosts)) {
                    let station = node.name.clone();
                    return Err(EmulationError::Rules { station });
                }
            }
            NodeKind::EndStation(station) => {
                *station = EndStation {
                    driver_queue: station.driver_queue,
                    ..EndStation::new(Stack::Zero)
                };
            }
            NodeKind::Switch(switch) => {
                let mut selections = switch.selections();
                if selections.any(|selection| selection == Selection::EarliestDeadline) {
                    let switch = node.name.clone();
                    return Err(EmulationError::Deadlines { switch });
                }
            }
            NodeKind::Hub(_) => {}
        }
    }
    Ok(network)
}
