//! Participants of flows over RTPS, and the groups by which they find each other.

use alloc::vec::Vec;

use rtether_model::flow::{Delivery, Flow};
use rtether_model::network::NodeId;

use crate::error::BuildError;
use crate::flow::Carrier;
use crate::kernel::Simulation;
use crate::publication::{Plant, Publications};

impl Simulation {
    /// Creates the participants, writers and readers of all flows over RTPS.
    pub(super) fn add_publications(&mut self, flows: &[Flow]) -> Result<(), BuildError> {
        if !flows.iter().any(Flow::is_published) {
            return Ok(());
        }
        let nodes: Vec<NodeId> = self.station_nodes().collect();
        self.publications = Publications::new(nodes.len());
        let plant = Plant { network: &self.network, nodes: &nodes, seed: self.config.seed };
        for (index, flow) in (0u32..).zip(flows) {
            if !flow.is_published() {
                continue;
            }
            let state = &mut self.flows[index as usize];
            let topic = self.publications.add(
                &plant,
                (index, flow),
                state.talker(),
                state.listeners(),
                state.first_stream(),
            );
            let topic = topic
                .map_err(|reason| BuildError::Publication { flow: flow.name.clone(), reason })?;
            state.set_carrier(Carrier::Publication(topic));
        }
        self.add_groups(flows, &nodes);
        Ok(())
    }

    /// Adds the discovery group of each participant to switches with managed multicast, along the
    /// paths to the other participants: flooding would loop in a ring of switches.
    fn add_groups(&mut self, flows: &[Flow], nodes: &[NodeId]) {
        let (routing, network) = (&self.routing, &self.network);
        let all = self.publications.groups();
        let all: Vec<NodeId> = all.map(|(_, station, _)| nodes[station as usize]).collect();
        for (group, station, flow) in self.publications.groups() {
            let talker = nodes[station as usize];
            let others = all.iter().copied().filter(|&other| other != talker);
            let reached = others.filter(|&other| routing.path(network, talker, other).is_ok());
            let said = Flow {
                talker,
                listeners: reached.collect(),
                delivery: Delivery::Multicast,
                ..flows[flow as usize].clone()
            };
            for hop in routing.flow_hops(network, &said).unwrap_or_default() {
                let mut switches = self.switches.iter_mut();
                if let Some(switch) = switches.find(|switch| switch.node() == hop.egress.node) {
                    switch.add_to_group(group, hop.egress.port);
                }
            }
        }
    }
}
