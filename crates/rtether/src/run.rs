//! Simulates a scenario: replications in parallel, merged in the order of their seeds.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use rayon::prelude::*;
use rtether_model::quantity::{Duration, Instant};
use rtether_model::record::Record;
use rtether_sim::observe::{NoObserver, Observer};
use rtether_sim::{BuildError, Config, Simulation};

use crate::scenario::{RunPlan, Scenario};
use crate::stats::Spread;

/// What the replications of a scenario said.
#[derive(Clone, Debug, PartialEq)]
pub struct Results {
    /// All runs merged.
    pub record: Record,
    /// Per stream, how sure the figures are; same order as `record.streams`.
    pub confidence: Vec<Confidence>,
    /// The seeds that were run, in order.
    pub seeds: Vec<u64>,
    /// Set when the run was interrupted: less simulated time than planned.
    pub partial: bool,
}

/// Two-sided 95 % confidence intervals of one stream.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Confidence {
    /// Mean latency, from the spread of the replications (Student's t); needs two runs.
    pub mean: Option<Interval>,
    /// 99th percentile, in the same way.
    pub p99: Option<Interval>,
    /// Ratio of late or lost packets (Clopper-Pearson on all packets).
    pub miss_ratio: Option<(f64, f64)>,
}

/// From, to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// Lower end.
    pub low: Duration,
    /// Upper end.
    pub high: Duration,
}

/// Shared with a caller who wants to know how far a run is, or to stop it.
#[derive(Debug, Default)]
pub struct Progress {
    simulated_ps: AtomicI64,
    is_cancelled: AtomicBool,
}

impl Progress {
    /// Returns the simulated time over all replications so far.
    pub fn simulated(&self) -> Duration {
        Duration::from_ps(self.simulated_ps.load(Ordering::Relaxed))
    }

    /// Asks the replications to end where they are; what they have found so far counts.
    pub fn cancel(&self) {
        self.is_cancelled.store(true, Ordering::Relaxed);
    }

    /// Returns whether somebody asked to end.
    pub fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::Relaxed)
    }
}

/// Runs all replications of a scenario on the threads of the current rayon pool.
///
/// The result does not depend on their number: each replication is one seed on one thread, and
/// records are merged in the order of seeds.
pub fn simulate(scenario: &Scenario, progress: &Progress) -> Result<Results, BuildError> {
    let plan = scenario.run;
    let seeds: Vec<u64> = (0..u64::from(plan.runs))
        .map(|run| plan.seed.wrapping_add(run))
        .collect();
    let mut merged = Merged::default();
    for some in seeds.chunks(AT_ONCE) {
        let records = some
            .par_iter()
            .map(|&seed| simulate_seed(scenario, seed, progress, &mut NoObserver))
            .collect::<Result<Vec<Record>, BuildError>>()?;
        for record in records {
            merged.add(record);
        }
    }
    Ok(merged.finish(seeds, progress.is_cancelled()))
}

/// Records held in memory before they are merged: enough for many threads to be busy.
const AT_ONCE: usize = 256;

/// Runs one replication under an observer.
pub fn simulate_seed<O: Observer>(
    scenario: &Scenario,
    seed: u64,
    progress: &Progress,
    observer: &mut O,
) -> Result<Record, BuildError> {
    let RunPlan {
        duration,
        warmup,
        bucket,
        ..
    } = scenario.run;
    let config = Config {
        seed,
        warmup,
        bucket,
    };
    let mut simulation = Simulation::new(&scenario.network, &scenario.flows, &config)?;
    let step = Duration::from_ps((duration.as_ps() / STEPS).max(1));
    let mut reached = Duration::ZERO;
    while reached < duration && !progress.is_cancelled() {
        let next = Ord::min(reached + step, duration);
        simulation.run_until(Instant::ZERO + next, observer);
        progress
            .simulated_ps
            .fetch_add((next - reached).as_ps(), Ordering::Relaxed);
        reached = next;
    }
    Ok(simulation.finish())
}

/// Steps of a run between which progress is told: often enough for an impatient Ctrl-C.
const STEPS: i64 = 1_000;

/// Records of several seeds, taken in in their order.
#[derive(Default)]
struct Merged {
    record: Option<Record>,
    spreads: Vec<Spread>,
}

impl Merged {
    fn add(&mut self, record: Record) {
        self.spreads.resize(record.streams.len(), Spread::default());
        for (spread, stream) in self.spreads.iter_mut().zip(&record.streams) {
            spread.record(stream);
        }
        match &mut self.record {
            None => self.record = Some(record),
            Some(merged) => merged.merge(&record),
        }
    }

    fn finish(self, seeds: Vec<u64>, partial: bool) -> Results {
        let record = self.record.unwrap_or_default();
        let streams = record.streams.iter().zip(&self.spreads);
        let confidence = streams
            .map(|(stream, spread)| spread.confidence(stream))
            .collect();
        Results {
            record,
            confidence,
            seeds,
            partial,
        }
    }
}
