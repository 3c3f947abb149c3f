//! The paper's nodes, and a simulated series.

use rtether::meter::Statistics;
use rtether::profiles;
use rtether_model::flow::{Reply, Traffic};
use rtether_model::network::{Jitter, LinearStack, NodeKind, Spread, Stack};
use rtether_model::wire::{Encapsulation, RtpsVersion};

use super::Series;
use crate::echo;
use crate::observe::{Sample, Sampler, load, run_one};
use crate::plant::{Plant, echoed, flow};
use crate::prelude::*;

const SCENARIO: &str = include_str!("../../scenarios/publish-subscribe.yaml");
const CLASS: &str = "ping-pong";
/// One pass through the stack: smallest time, and its jitter (see the list of fitted items).
const BASE: Duration = Duration::from_us(260);
const JITTER: Spread =
    Spread::Exponential { mean: Duration::from_ns(77_500), max: Duration::from_us(255) };
/// ORTE speaks version 1.0.
pub(crate) const RTPS: Encapsulation =
    Encapsulation::Rtps { version: RtpsVersion::V1_0, is_reliable: true };
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
    stack.jitter = Jitter { spread: JITTER, ..Jitter::default() };
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
        flow.reply = Some(Reply::new(payload, Duration::ZERO));
        flow.traffic = Traffic::Adaptive { pause: repetition, timeout: TIMEOUT };
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

/// Octets before the value in a datagram of RTPS 1.0 (catalogue, D5).
const HEADERS: Bytes = Bytes::new(48);

/// Simulates the same series with both applications in one node: datagrams as large, which turn
/// round in its stack, without the heartbeats and acknowledgments of the four nodes.
pub(super) fn within_one_node(
    size: u64,
    repetition: Duration,
    issues: u32,
    progress: &Progress,
) -> Result<Statistics, ReproduceError> {
    let mut plant = Plant::default();
    let node = plant.station("node", Stack::Linear(stack()?));
    let form = (Encapsulation::Udp, Bytes::new(size) + HEADERS);
    let traffic = Traffic::Adaptive { pause: repetition, timeout: TIMEOUT };
    let flow = echoed(flow("ping-pong", (node, node), form, traffic));
    let issues = usize::try_from(issues).unwrap_or(usize::MAX);
    let echoes = echo::measure(&plant.network, &[flow], issues, 1, progress)?;
    let found = Statistics::of(echoes.times.into_iter().map(|time| time / 2));
    found.ok_or_else(|| ReproduceError::Scenario("no issue came back".into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Oracle: the time that four nodes spend outside the network: the same stack, each way once. The
    /// mean of 1000 pairs of exponential times of 77.5 us is known to 3.5 us, and acknowledgments of
    /// the four nodes take their turns at the stack as well.
    #[test]
    fn one_node_takes_what_four_spend_in_their_stacks() {
        let repetition = Duration::from_ms(10);
        let progress = Progress::default();
        let alone = within_one_node(1024, repetition, 1_000, &progress).expect("can be simulated");
        let four = simulate(1024, repetition, 1_000, &progress).expect("can be simulated");
        let difference = (four.processing.mean - alone.mean).as_ps().abs();
        assert!(difference < Duration::from_us(15).as_ps(), "{alone:?}, {four:?}");
    }

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
