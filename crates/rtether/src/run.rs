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
    /// The seeds that were run, in order; fewer than planned after an interruption.
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
/// records are merged in the order of seeds. After [`Progress::cancel`] no further replication
/// begins; what those under way have found is merged, but tells nothing of how replications differ.
pub fn simulate(scenario: &Scenario, progress: &Progress) -> Result<Results, BuildError> {
    let plan = scenario.run;
    let runs = u64::from(plan.runs);
    let mut merged = Merged::default();
    let mut begun = 0;
    while begun < runs && (begun == 0 || !progress.is_cancelled()) {
        let some = begun..runs.min(begun + at_once(scenario));
        begun = some.end;
        let records = some
            .into_par_iter()
            .filter(|&run| run == 0 || !progress.is_cancelled())
            .map(|run| {
                let seed = plan.seed.wrapping_add(run);
                let record = simulate_seed(scenario, seed, progress, &mut NoObserver)?;
                Ok((seed, record))
            })
            .collect::<Result<Vec<(u64, Record)>, BuildError>>()?;
        for (seed, record) in records {
            merged.add(seed, record, plan.duration);
        }
    }
    Ok(merged.finish(progress.is_cancelled()))
}

/// Returns how many records are held in memory before they are merged: enough for all threads to be
/// busy most of the time, but no more points on time axes than one run may have.
fn at_once(scenario: &Scenario) -> u64 {
    let streams = scenario.flows.iter().map(|flow| flow.listeners.len()).sum();
    let points = scenario.run.points(streams).max(1);
    let most = u64::try_from(RunPlan::MOST_POINTS / points).unwrap_or(1);
    let busy = u64::try_from(2 * rayon::current_num_threads()).unwrap_or(u64::MAX);
    most.clamp(1, busy.max(1))
}

/// Runs one replication under an observer. One that was cancelled ends early: its record is shorter
/// than the plan.
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
    let longest = Duration::from_ps((duration.as_ps() / STEPS).max(1));
    let mut step = Ord::min(longest, FIRST_STEP);
    let mut reached = Duration::ZERO;
    while reached < duration && !progress.is_cancelled() {
        let next = Ord::min(step, duration - reached) + reached;
        let before = simulation.events();
        simulation.run_until(Instant::ZERO + next, observer);
        progress
            .simulated_ps
            .fetch_add((next - reached).as_ps(), Ordering::Relaxed);
        reached = next;
        step = match simulation.events() - before {
            MANY_EVENTS.. => Ord::max(step / 2, Duration::from_ps(1)),
            FEW_EVENTS.. => step,
            _ => Ord::min(step + step, longest),
        };
    }
    Ok(simulation.finish())
}

/// Steps of a run, at least, between which progress is told.
const STEPS: i64 = 1_000;
/// Steps grow from here: nobody knows beforehand how much happens in a thousandth of a long run.
const FIRST_STEP: Duration = Duration::from_ms(1);
/// A step with so many events, some milliseconds of work, is followed by a shorter one: often
/// enough for an impatient Ctrl-C.
const MANY_EVENTS: u64 = 1 << 14;
/// A step with fewer is followed by a longer one.
const FEW_EVENTS: u64 = 1 << 12;

/// Records of several seeds, taken in in their order.
#[derive(Default)]
struct Merged {
    record: Option<Record>,
    spreads: Vec<Spread>,
    seeds: Vec<u64>,
}

impl Merged {
    /// Takes in one run; one shorter than `duration` was cut off and is no replication of the
    /// others.
    fn add(&mut self, seed: u64, record: Record, duration: Duration) {
        self.seeds.push(seed);
        self.spreads.resize(record.streams.len(), Spread::default());
        if record.duration >= duration {
            for (spread, stream) in self.spreads.iter_mut().zip(&record.streams) {
                spread.record(stream);
            }
        }
        match &mut self.record {
            None => self.record = Some(record),
            Some(merged) => merged.merge(&record),
        }
    }

    fn finish(self, partial: bool) -> Results {
        let record = self.record.unwrap_or_default();
        let streams = record.streams.iter().zip(&self.spreads);
        let confidence = streams
            .map(|(stream, spread)| spread.confidence(stream))
            .collect();
        Results {
            record,
            confidence,
            seeds: self.seeds,
            partial,
        }
    }
}
