//! Admission: a flow for the messages of each station, and the flows that ask.

use alloc::boxed::Box;
use alloc::vec::Vec;

use rtether_model::flow::{Flow, Phase, Traffic};
use rtether_model::network::{Network, NodeId};
use rtether_model::quantity::{Bytes, Duration};
use rtether_model::wire::Encapsulation;
use rtether_proto::admission::Contract;

use super::{Numbers, Simulation};
use crate::admission::{AdmissionState, address_of};
use crate::error::BuildError;
use crate::flow::{Carrier, FlowState};

/// Returns the state and adds the flows of messages, if the plant has a manager.
pub(super) fn add(
    network: &Network,
    numbers: &Numbers,
    flows: &mut Vec<Flow>,
) -> Result<Option<Box<AdmissionState>>, BuildError> {
    let Some(config) = network.admission else {
        return Ok(None);
    };
    let first = u32::try_from(flows.len()).map_err(|_| BuildError::TooLarge)?;
    let nodes = network.iter_nodes().map(|(id, _)| id);
    let stations: Vec<NodeId> = nodes.filter(|&node| numbers.station(node).is_some()).collect();
    let mut state = AdmissionState::new(config, network, &stations, first);
    for (index, flow) in (0..first).zip(flows.iter()) {
        if !flow.asks(network) {
            continue;
        }
        let talker = numbers.station(flow.talker);
        let contract = Contract::of(flow, address_of);
        let (talker, contract) = talker
            .zip(contract)
            .filter(|_| flow.talker != config.manager && !flow.listeners.contains(&config.manager))
            .ok_or_else(|| BuildError::Channel { flow: flow.name.clone() })?;
        state.add(index, talker, contract, flow.stop);
    }
    for node in stations {
        let never = Traffic::periodic(Duration::from_secs(1), Phase::Random);
        flows.push(Flow {
            encapsulation: Encapsulation::Raw,
            ..Flow::new("admission".into(), node, Vec::new(), Bytes::ZERO, never)
        });
    }
    Ok(Some(Box::new(state)))
}

impl Simulation {
    /// Gives each station a flow that never releases: its messages about channels belong to it.
    pub(super) fn open_for_messages(&mut self) {
        if self.admission.is_none() {
            return;
        }
        for number in super::numbered(self.stations.len()) {
            let mut flow = FlowState::silent(number, Vec::new());
            flow.set_carrier(Carrier::Admission);
            self.flows.push(flow);
        }
    }
}
