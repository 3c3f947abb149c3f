//! Builds the mechanisms of all stations, and the flows of their messages.

use alloc::vec::Vec;

use rtether_model::flow::{Flow, Phase, Traffic};
use rtether_model::network::{Network, NodeKind};
use rtether_model::quantity::{Bytes, Duration};
use rtether_model::route::Routing;
use rtether_model::wire::Encapsulation;

use crate::error::BuildError;
use crate::flow::FlowState;
use crate::kernel::Simulation;
use crate::mechanism::Mechanism;
use crate::mechanism::arp::ArpState;
use crate::mechanism::redundancy::Redundant;
use crate::packet::NONE;

/// Returns the tables of all stations and adds their flows, if one of them resolves addresses.
pub(in crate::kernel) fn resolving(
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
    /// Gives stations their mechanisms; `tables` are those of addresses, by station.
    pub(in crate::kernel) fn add_mechanisms(&mut self, tables: Vec<ArpState>) {
        self.open_for_requests(!tables.is_empty());
        let tables = (0u32..).zip(tables).map(|(station, state)| Mechanism::arp(station, state));
        self.mechanisms.extend(tables);
        for (number, flow) in (0u32..).zip(&self.flow_list) {
            // Answers and other flows of the station have none.
            if let Some(gap) = flow.kept_gap(&self.network) {
                let talker = self.flows[number as usize].talker();
                self.mechanisms.push(Mechanism::gap(talker, number, gap));
            }
        }
        self.add_redundancy();
        for mechanism in self.mechanisms.iter().filter(|own| own.concerns_packets()) {
            self.stations[mechanism.station as usize].add(mechanism.level);
        }
        self.mechanisms.sort_by_key(Mechanism::key);
    }

    /// Gives each station a flow that never releases: its requests and replies belong to it.
    /// Switches flood its group.
    fn open_for_requests(&mut self, is_needed: bool) {
        if !is_needed {
            return;
        }
        self.flooded_from = u32::try_from(self.flows.len()).unwrap_or(u32::MAX);
        for (number, _) in (0u32..).zip(&self.stations) {
            self.flows.push(FlowState::silent(number, Vec::new()));
        }
    }

    /// Puts stations in two networks.
    fn add_redundancy(&mut self) {
        for (number, station) in (0u32..).zip(&self.stations) {
            let definition = self.network.end_station(station.node());
            let Some(redundancy) = definition.and_then(|own| own.redundancy) else {
                continue;
            };
            let node = station.node();
            let first = self.port_rests.partition_point(|rest| rest.id().node < node);
            let linked = |port: usize| match u32::try_from(port) {
                Ok(number) if self.ports[port].peer() != NONE => number,
                _ => NONE,
            };
            let ports = [first, first + 1].map(linked);
            let state = Redundant { ports, redundancy, sequence: 0, copied: 0 };
            self.mechanisms.push(Mechanism::redundancy(number, state));
        }
    }
}
