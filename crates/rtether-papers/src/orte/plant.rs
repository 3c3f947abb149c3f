//! The paper's nodes, and a simulated series.

use rtether::meter::Statistics;
use rtether::profiles;
use rtether_model::flow::{Reply, Traffic};
use rtether_model::network::{Jitter, LinearStack, NodeKind, Spread, Stack};
use rtether_model::wire::{Encapsulation, RtpsVersion};

use super::Series;
use crate::observe::{Sample, Sampler, load, run_one};
use crate::prelude::*;

const SCENARIO: &str = include_str!("../../scenarios/publish-subscribe.yaml");
const CLASS: &str = "ping-pong";
/// One pass through the stack: smallest time, and its jitter (see the list of fitted items).
const BASE: Duration = Duration::from_us(260);
const JITTER: Spread = Spread::Exponential {
    mean: Duration::from_ns(77_500),
    max: Duration::from_us(255),
};
/// ORTE speaks version 1.0.
const RTPS: Encapsulation = Encapsulation::Rtps {
    version: RtpsVersion::V1_0,
    is_reliable: true,
};
/// Discovery is complete by then.
const SETTLED: Duration = Duration::from_ms(500);
/// A request is given up after this time.
const TIMEOUT: Duration = Duration::from_secs(1);
/// Exceeds a round trip between the paper's nodes.
const ROUND_TRIP: Duration = Duration::from_ms(3);

fn scenario() -> Result<Scenario, ReproduceError> {
    load("publish-subscribe.yaml", SCENARIO, &[])
}

/// Returns the four nodes on their switch.
#[cfg(target_os = "linux")]
pub(crate) fn network() -> Result<rtether_model::network::Network, ReproduceError> {
    Ok(scenario()?.network)
}

/// Returns the stack of the paper's nodes, with jitter.
fn stack() -> Result<LinearStack, ReproduceError> {
    let profile = profiles::find("celeron-566-orte").map(|profile| profile.station().stack);
    let Some(Stack::Linear(mut stack)) = profile else {
        let missing = "the profile `celeron-566-orte` is missing";
        return Err(ReproduceError::Scenario(missing.into()));
    };
    (stack.send.base, stack.receive.base) = (BASE, BASE);
    stack.jitter = Jitter {
        spread: JITTER,
        ..Jitter::default()
    };
    Ok(stack)
}

/// Simulates a series of issues; the first half second does not count.
pub(crate) fn simulate(
    size: u64,
    repetition: Duration,
    issues: u32,
    progress: &Progress,
) -> Result<Series, ReproduceError> {
    let mut scenario = scenario()?;
    let stack = stack()?;
    for node in &mut scenario.network.nodes {
        if let NodeKind::EndStation(station) = &mut node.kind {
            station.stack = Stack::Linear(stack.clone());
        }
    }
    let payload = Bytes::new(size);
    for flow in &mut scenario.flows {
        flow.encapsulation = RTPS;
        flow.payload = payload;
        flow.reply = Some(Reply {
            payload,
            after: Duration::ZERO,
        });
        flow.traffic = Traffic::Adaptive {
            pause: repetition,
            timeout: TIMEOUT,
        };
        flow.deadline = None;
    }
    let length = (repetition + ROUND_TRIP) * i64::from(issues) + SETTLED;
    scenario.run.duration = length;
    let mut sampler = Sampler::new(&scenario, &[CLASS], &[(SETTLED, length)]);
    run_one(&scenario, scenario.run.seed, progress, &mut sampler)?;
    let kept = usize::try_from(issues).unwrap_or(usize::MAX) * scenario.flows.len();
    let samples = sampler.samples.iter().take(kept);
    let of = |part: &dyn Fn(&Sample) -> Duration| {
        let found = Statistics::of(samples.clone().map(|sample| part(sample) / 2));
        found.ok_or_else(|| ReproduceError::Scenario("no issue came back".into()))
    };
    Ok(Series {
        response: of(&|sample| sample.latency)?,
        processing: of(&|sample| sample.latency - sample.ethernet)?,
        communication: of(&|sample| sample.ethernet)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Oracle: the paper's loopback: mean 0.67 ms, at most 1.03 ms (figure 10), to which the stack
    /// was fitted. With an acknowledgment in between, one issue in a thousand takes longer.
    #[test]
    fn the_stack_is_that_of_the_loopback() {
        let found = simulate(1024, Duration::from_ms(10), 2_000, &Progress::default());
        let processing = found.expect("can be simulated").processing;
        let mean = processing.mean;
        let accepted = Duration::from_us(660)..=Duration::from_us(680);
        assert!(accepted.contains(&mean), "{mean}");
        let most = processing.percentiles[2];
        assert!(most <= Duration::from_us(1_030), "{most}");
    }
}
