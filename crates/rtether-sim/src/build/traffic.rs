//! What a flow must be for its releases and connections to make sense.

use rtether_model::flow::{Bulk, Flow, TcpParameters, Traffic};
use rtether_model::quantity::{BitRate, Bytes, Duration};

use crate::bulk::engine_config;
use crate::kernel::BuildError;

/// Checks the traffic of a flow: it must not release without end at one instant, whoever waits for
/// answers must get some, and the parameters of its connections must be usable.
pub(super) fn check_traffic(flow: &Flow) -> Result<(), BuildError> {
    let name = || flow.name.clone();
    if matches!(flow.traffic, Traffic::Adaptive { .. }) && flow.reply.is_none() {
        return Err(BuildError::NoReply { flow: name() });
    }
    match obstacle(flow) {
        None => Ok(()),
        Some(reason) => Err(BuildError::Traffic {
            flow: name(),
            reason,
        }),
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
    engine_config(parameters).obstacle()
}
