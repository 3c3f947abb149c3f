//! Checks the traffic of a flow, and adds its TCP transfers and connections.

use rtether_model::flow::{Bulk, Delivery, Flow, TcpParameters, Traffic};
use rtether_model::network::Network;
use rtether_model::quantity::{BitRate, Bytes, Duration};
use rtether_model::wire::Encapsulation;

use crate::bulk::BulkFlow;
use crate::conversation::Conversation;
use crate::error::BuildError;
use crate::kernel::Simulation;
use crate::tcp;

/// Checks that a flow does not release endlessly at one instant, that an adaptive flow has replies,
/// and that the parameters of its connections are usable.
pub(super) fn check_traffic(flow: &Flow, network: &Network) -> Result<(), BuildError> {
    let name = || flow.name.clone();
    if matches!(flow.traffic, Traffic::Adaptive { .. }) && flow.reply.is_none() {
        return Err(BuildError::NoReply { flow: name() });
    }
    match obstacle(flow).or_else(|| flow.obstacle_to_gap(network)) {
        None => Ok(()),
        Some(reason) => Err(BuildError::Traffic { flow: name(), reason }),
    }
}

fn obstacle(flow: &Flow) -> Option<&'static str> {
    let time = |span: Duration, what| (span <= Duration::ZERO).then_some(what);
    let of_traffic = match &flow.traffic {
        Traffic::Periodic { period, .. } => time(*period, "its period is zero"),
        Traffic::Flood { interval } => time(*interval, "its interval is zero"),
        Traffic::Sporadic { mean_gap, .. } => time(*mean_gap, "its mean gap is zero"),
        Traffic::Poisson { mean_interval } => time(*mean_interval, "its mean gap is zero"),
        Traffic::Adaptive { timeout, .. } => time(*timeout, "the timeout of its requests is zero"),
        Traffic::Bulk(bulk) => obstacle_to_bulk(bulk),
    };
    of_traffic.or_else(|| flow.connection.as_ref().and_then(obstacle_to_tcp))
}

fn obstacle_to_bulk(bulk: &Bulk) -> Option<&'static str> {
    let of_bursts = bulk.bursts.as_ref().and_then(|bursts| {
        if bursts.size == Bytes::ZERO {
            Some("its files are empty")
        } else if bursts.mean_gap.is_some_and(|gap| gap <= Duration::ZERO) {
            Some("the mean gap of its files is zero")
        } else {
            None
        }
    });
    let is_silent = bulk.rate == Some(BitRate::default());
    of_bursts
        .or_else(|| is_silent.then_some("the rate of its application is zero"))
        .or_else(|| obstacle_to_tcp(&bulk.tcp))
}

fn obstacle_to_tcp(parameters: &TcpParameters) -> Option<&'static str> {
    tcp::Config::of(parameters).obstacle()
}

impl Simulation {
    /// Adds the transfers of a bulk flow and returns their index.
    pub(super) fn add_bulk(
        &mut self,
        index: u32,
        stations: [u32; 2],
        flow: &Flow,
    ) -> Result<Option<u32>, BuildError> {
        let Traffic::Bulk(bulk) = &flow.traffic else {
            return Ok(None);
        };
        if bulk.tcp.segment > Encapsulation::Tcp.max_payload() {
            let flow = flow.name.clone();
            return Err(BuildError::Payload { flow });
        }
        let position = u32::try_from(self.bulk.len()).map_err(|_| BuildError::TooLarge)?;
        let seed = self.config.seed;
        self.bulk.push(BulkFlow::new(index, flow, bulk, seed, stations));
        Ok(Some(position))
    }

    /// Adds a connection with each listener if the flow has connections for its messages; returns
    /// the index of the first.
    pub(super) fn add_conversations(
        &mut self,
        index: u32,
        talker: u32,
        listeners: &[u32],
        flow: &Flow,
    ) -> Result<Option<u32>, BuildError> {
        let Some(parameters) = &flow.connection else {
            return Ok(None);
        };
        if let Some(reason) = obstacle_to_connection(flow) {
            let flow = flow.name.clone();
            return Err(BuildError::Connection { flow, reason });
        }
        if parameters.segment > Encapsulation::Tcp.max_payload() {
            let flow = flow.name.clone();
            return Err(BuildError::Payload { flow });
        }
        let first = u32::try_from(self.conversations.len()).map_err(|_| BuildError::TooLarge)?;
        let first_stream = u32::try_from(self.streams.len()).map_err(|_| BuildError::TooLarge)?;
        let thinking = self.thinking(flow);
        for ((stream, &listener), place) in (first_stream..).zip(listeners).zip(0..) {
            let ends = [talker, listener];
            let answers = (flow, thinking.get(place).copied());
            self.conversations.push(Conversation::new(index, stream, ends, answers, parameters));
        }
        Ok(Some(first))
    }
}

/// Returns why a flow's messages cannot travel over TCP, if they cannot.
fn obstacle_to_connection(flow: &Flow) -> Option<&'static str> {
    if matches!(flow.traffic, Traffic::Bulk(_)) {
        Some("its transfers open their own connections")
    } else if flow.encapsulation != Encapsulation::Tcp {
        Some("it is not encapsulated in TCP")
    } else if flow.delivery == Delivery::Multicast {
        Some("it is multicast")
    } else if flow.payload == Bytes::ZERO
        || flow.reply.is_some_and(|reply| reply.payload == Bytes::ZERO)
    {
        Some("a message or an answer is empty")
    } else {
        None
    }
}
