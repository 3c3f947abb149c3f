//! Address resolution: a table for each station, and a flow for its requests and replies.

use alloc::vec::Vec;

use rtether_model::flow::{Flow, Phase, Traffic};
use rtether_model::network::{Network, NodeKind};
use rtether_model::quantity::{Bytes, Duration};
use rtether_model::route::Routing;
use rtether_model::wire::Encapsulation;

use super::Simulation;
use crate::arp::ArpState;
use crate::error::BuildError;
use crate::flow::FlowState;

/// Returns the tables of all stations and adds their flows, if one of them resolves addresses.
pub(super) fn add(
    network: &Network,
    routing: &Routing,
    flows: &mut Vec<Flow>,
) -> Result<Vec<ArpState>, BuildError> {
    if !network.resolves_addresses() {
        return Ok(Vec::new());
    }
    let stations = network.iter_nodes();
    let stations = stations.filter_map(|(id, node)| match &node.kind {
        NodeKind::EndStation(station) => Some((id, station.arp)),
        NodeKind::Switch(_) | NodeKind::Hub(_) => None,
    });
    let stations: Vec<_> = stations.collect();
    if let Some(links) = routing.find_loop(network) {
        let first = links.first().map_or(0, |link| link.index());
        return Err(BuildError::Broadcasts { link: first });
    }
    let count = stations.len();
    let tables = stations.into_iter().map(|(node, config)| {
        let never = Traffic::periodic(Duration::from_secs(1), Phase::Random);
        flows.push(Flow {
            encapsulation: Encapsulation::Arp,
            ..Flow::new("ARP".into(), node, Vec::new(), Bytes::ZERO, never)
        });
        ArpState::new(node, config, count)
    });
    Ok(tables.collect())
}

impl Simulation {
    /// Gives each station a flow that never releases: its requests and replies belong to it.
    /// Switches flood its group.
    pub(super) fn open_for_requests(&mut self) {
        if self.arp.is_empty() {
            return;
        }
        self.flooded_from = u32::try_from(self.flows.len()).unwrap_or(u32::MAX);
        for (number, station) in (0u32..).zip(&mut self.stations) {
            self.flows.push(FlowState::silent(number, Vec::new()));
            if self.arp[number as usize].resolves() {
                station.resolve();
            }
        }
    }
}
