//! The arrival pattern behind a bound: phases with which packets meet, and how near the simulated
//! latency comes.
//!
//! The search is that of [`crate::phases`], over the flows that share a port with the stream. The
//! whole plant then runs with the phases found, for as long as the packet needs: what it shows is a
//! latency that occurs. The bound is attained only if it is the same to the picosecond.

use rtether_model::flow::{FlowId, Traffic};
use rtether_model::quantity::{Duration, Instant};
use rtether_sim::observe::{Delivery, Observer, PacketInfo};
use rtether_sim::{Config, Simulation};

use super::Stream;
use crate::phases::{self, Random};
use crate::scenario::{Override, Scenario, Written};

/// Most steps of the search, and packets that all steps together may release.
const STEPS: u64 = 400;
const RELEASES: u64 = 40_000;

/// Phases that delay a packet, and by how much.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// When the first packet of each flow is released, for the flows that take part.
    pub releases: Vec<(FlowId, Duration)>,
    /// The largest latency of the stream with these phases.
    pub latency: Duration,
    /// The edits that give the file these phases; `None` if its flows are not written out.
    pub edits: Option<Vec<Override>>,
}

/// Searches for a pattern; `None` if the plant cannot be simulated, or nothing arrives.
pub(super) fn pattern(
    scenario: &Scenario,
    written: &Written,
    stream: Stream,
    bound: Duration,
) -> Option<Pattern> {
    let (network, flows) = (&scenario.network, &scenario.flows);
    if network.admission.is_some() {
        // Grants, not phases, decide when flows begin.
        return None;
    }
    let own = &flows[stream.flow.index()];
    let listener = own.listeners.iter().position(|id| *id == stream.listener)?;
    let search = phases::Search::new(network, flows, (stream.flow.index(), listener), bound);
    let steps = STEPS.min(RELEASES / u64::try_from(search.flows().len()).ok()?.max(1));
    let found = search.run(steps, &mut Numbers(scenario.run.seed))?;
    let found = search.polish(found)?;
    let releases: Vec<(FlowId, Duration)> = search
        .flows()
        .iter()
        .zip(&found.phases)
        .map(|(&flow, &phase)| (flow, Duration::from_ps(phase)))
        .collect();
    let mut changed = flows.clone();
    for &(flow, phase) in &releases {
        phases::release(&mut changed[flow.index()], phase);
    }
    let config = Config {
        seed: scenario.run.seed,
        warmup: Duration::ZERO,
        bucket: Duration::ZERO,
    };
    let mut simulation = Simulation::new(network, &changed, &config).ok()?;
    let mut longest = Longest {
        stream: stream.index(scenario)?,
        latency: Duration::ZERO,
    };
    simulation.run_until(search.until(), &mut longest);
    let edits = edits(scenario, written, &releases, &changed);
    (longest.latency > Duration::ZERO).then_some(Pattern {
        releases,
        latency: longest.latency,
        edits,
    })
}

/// Returns the edits with which the file has these flows.
fn edits(
    scenario: &Scenario,
    written: &Written,
    releases: &[(FlowId, Duration)],
    changed: &[rtether_model::flow::Flow],
) -> Option<Vec<Override>> {
    let edit = |&(flow, phase): &(FlowId, Duration)| {
        let own = &scenario.flows[flow.index()];
        let key = if matches!(own.traffic, Traffic::Periodic { .. }) {
            "phase"
        } else {
            "start"
        };
        let path = format!("flows.{}.{key}", own.name);
        Override::new("--set", path, format!("{} ps", phase.as_ps()))
    };
    let mut edits: Vec<Override> = releases.iter().map(edit).collect();
    if scenario.run.warmup > Duration::ZERO {
        edits.push(Override::new("--set", "run.warmup", "0 s"));
    }
    let (last, others) = edits.split_last()?;
    let mut all = written.clone();
    all.changes.extend(others.iter().cloned());
    let read = all.with(last)?;
    (read.flows == *changed).then_some(edits)
}

/// The largest latency of a stream.
struct Longest {
    stream: usize,
    latency: Duration,
}

impl Observer for Longest {
    fn delivered(&mut self, _: Instant, _: &PacketInfo, delivery: &Delivery) {
        if delivery.stream == self.stream {
            self.latency = Ord::max(delivery.latency, self.latency);
        }
    }
}

/// Random numbers of the search: splitmix64.
struct Numbers(u64);

impl Random for Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}
