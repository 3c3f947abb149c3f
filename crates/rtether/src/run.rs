//! Simulates a scenario: parallel replications, merged in seed order.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;
use rtether_model::quantity::{Duration, Instant};
use rtether_model::record::Record;
use rtether_sim::observe::Observer;
use rtether_sim::{BuildError, Config, Simulation};

use crate::scenario::{RunPlan, Scenario};
use crate::stages::{self, Stages};
use crate::stats::{Batches, Plan, Spread};
pub use crate::stats::{Confidence, Interval, Kind, Needs};

/// Results of all replications of a scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Results {
    /// All runs merged.
    pub record: Record,
    /// Figures of each stage of the run, by stream; empty if the scenario has no stages.
    pub stages: Stages,
    /// Confidence intervals per stream, in the order of `record.streams`.
    pub confidence: Vec<Confidence>,
    /// The seeds that were run, in order; fewer than planned after an interruption.
    pub seeds: Vec<u64>,
    /// Whether the run was interrupted, so that less time was simulated than planned.
    pub partial: bool,
}

/// Progress of a run, shared with the caller, who can also cancel it.
#[derive(Default)]
pub struct Progress {
    simulated_ps: AtomicI64,
    is_cancelled: AtomicBool,
    tell: Option<Mutex<Box<Tell>>>,
}

/// What is called with the time simulated so far, summed over replications.
type Tell = dyn FnMut(Duration) + Send;

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Progress")
            .field("simulated", &self.simulated())
            .field("is_cancelled", &self.is_cancelled())
            .finish_non_exhaustive()
    }
}

impl Progress {
    /// Returns one that calls `tell` with the time simulated so far, summed over replications: for
    /// callers without a thread that looks. It is called where a replication runs, after each of its
    /// steps, which are milliseconds of work, and must not take long: replications on other threads
    /// wait for it. No time is less than the one told before.
    pub fn telling(tell: impl FnMut(Duration) + Send + 'static) -> Self {
        Self { tell: Some(Mutex::new(Box::new(tell))), ..Self::default() }
    }

    /// Counts simulated time.
    fn advance(&self, by: Duration) {
        self.simulated_ps.fetch_add(by.as_ps(), Ordering::Relaxed);
        if let Some(tell) = &self.tell {
            // The time is read under the lock, or another thread's later time could be told first.
            let mut tell = tell.lock().unwrap_or_else(PoisonError::into_inner);
            tell(self.simulated());
        }
    }

    /// Returns the time simulated so far, summed over replications.
    pub fn simulated(&self) -> Duration {
        Duration::from_ps(self.simulated_ps.load(Ordering::Relaxed))
    }

    /// Cancels all replications; their results so far count.
    pub fn cancel(&self) {
        self.is_cancelled.store(true, Ordering::Relaxed);
    }

    /// Returns whether the run was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::Relaxed)
    }
}

/// Runs all replications of a scenario on the threads of the current rayon pool.
///
/// The result does not depend on the number of threads: each replication is one seed on one thread,
/// and records are merged in seed order. After [`Progress::cancel`] no replication starts;
/// unfinished ones are merged into the record but do not count in intervals of confidence.
pub fn simulate(scenario: &Scenario, progress: &Progress) -> Result<Results, BuildError> {
    Ok(simulate_with_spread(scenario, progress)?.0)
}

/// As [`simulate`], with the spread of each stream, for intervals of several streams together.
pub(crate) fn simulate_with_spread(
    scenario: &Scenario,
    progress: &Progress,
) -> Result<(Results, Vec<Spread>), BuildError> {
    let plan = scenario.run;
    let units = Plan::new(scenario);
    let runs = u64::from(plan.runs);
    let replicate = |run| {
        let seed = plan.seed.wrapping_add(run);
        let run = simulate_run(scenario, seed, &units, progress)?;
        Ok((seed, run))
    };
    let mut merged = Merged::default();
    let mut begun = 0;
    // To ask a pool for its threads would start them, for a single run in vain.
    let at_once = if runs == 1 { 1 } else { at_once(scenario) };
    while begun < runs && (begun == 0 || !progress.is_cancelled()) {
        let some = begun..runs.min(begun + at_once);
        begun = some.end;
        let is_wanted = |&run: &u64| run == 0 || !progress.is_cancelled();
        let records: Result<Vec<_>, BuildError> = if at_once == 1 {
            some.filter(is_wanted).map(replicate).collect()
        } else {
            let some = some.into_par_iter().filter(is_wanted);
            some.map(replicate).collect()
        };
        for (seed, run) in records? {
            merged.add(seed, run, (plan.duration, &units));
        }
    }
    Ok(merged.finish(progress.is_cancelled()))
}

/// Results of one replication.
struct Run {
    record: Record,
    stages: Stages,
    batches: Batches,
}

/// Runs one replication; only stages need an observer.
fn simulate_run(
    scenario: &Scenario,
    seed: u64,
    units: &Plan,
    progress: &Progress,
) -> Result<Run, BuildError> {
    let mut batches = Batches::default();
    let counted = Some((units, &mut batches));
    if scenario.stages.is_empty() {
        let record = replicate(scenario, seed, progress, counted, |simulation, until| {
            simulation.advance_to(until);
            true
        })?;
        return Ok(Run { record, stages: Stages::new(), batches });
    }
    let mut log = stages::Log::new(scenario);
    let record = replicate(scenario, seed, progress, counted, |simulation, until| {
        simulation.run_until(until, &mut log);
        true
    })?;
    Ok(Run { record, stages: log.found, batches })
}

/// Returns how many records are held in memory before merging: enough to keep all threads busy most
/// of the time, but no more time-series points than one run may have.
fn at_once(scenario: &Scenario) -> u64 {
    let streams = scenario.flows.iter().map(|flow| flow.listeners.len()).sum();
    let points = scenario.run.points(streams).max(1);
    let most = u64::try_from(RunPlan::MOST_POINTS / points).unwrap_or(1);
    let busy = u64::try_from(2 * rayon::current_num_threads()).unwrap_or(u64::MAX);
    most.clamp(1, busy.max(1))
}

/// Runs one replication under an observer. A cancelled one ends early, with a record shorter than
/// planned.
pub fn simulate_seed<O: Observer>(
    scenario: &Scenario,
    seed: u64,
    progress: &Progress,
    observer: &mut O,
) -> Result<Record, BuildError> {
    simulate_while(scenario, seed, progress, observer, |_| true)
}

/// Like [`simulate_seed`], but ends soon after the observer does not want to go on.
pub fn simulate_while<O: Observer>(
    scenario: &Scenario,
    seed: u64,
    progress: &Progress,
    observer: &mut O,
    goes_on: impl Fn(&O) -> bool,
) -> Result<Record, BuildError> {
    replicate(scenario, seed, progress, None, |simulation, until| {
        simulation.run_until(until, observer);
        goes_on(observer)
    })
}

/// Runs one replication, a step at a time, while `advance` returns `true`; notes what was counted
/// in each batch.
fn replicate(
    scenario: &Scenario,
    seed: u64,
    progress: &Progress,
    mut batches: Option<(&Plan, &mut Batches)>,
    mut advance: impl FnMut(&mut Simulation, Instant) -> bool,
) -> Result<Record, BuildError> {
    let RunPlan { duration, warmup, bucket, .. } = scenario.run;
    let config = Config { seed, warmup, bucket };
    let mut simulation = Simulation::new(&scenario.network, &scenario.flows, &config)?;
    let longest = Duration::from_ps((duration.as_ps() / STEPS).max(1));
    let mut step = Ord::min(longest, FIRST_STEP);
    let mut reached = Duration::ZERO;
    let mut goes_on = true;
    while goes_on && reached < duration && !progress.is_cancelled() {
        let mut next = Ord::min(step, duration - reached) + reached;
        if let Some((plan, batches)) = &batches {
            next = next.min(batches.next(plan));
        }
        let before = simulation.events();
        goes_on = advance(&mut simulation, Instant::ZERO + next);
        progress.advance(next - reached);
        reached = next;
        if let Some((plan, batches)) = &mut batches {
            batches.reach(plan, reached, &simulation);
        }
        step = match simulation.events() - before {
            MANY_EVENTS.. => Ord::max(step / 2, Duration::from_ps(1)),
            FEW_EVENTS.. => step,
            _ => Ord::min(step + step, longest),
        };
    }
    Ok(simulation.finish())
}

/// Least number of steps in a run; progress is reported after each.
const STEPS: i64 = 1_000;
/// First step; steps grow from here, since the number of events in a thousandth of a long run is
/// unknown.
const FIRST_STEP: Duration = Duration::from_ms(1);
/// After a step with this many events (some milliseconds of work) the next is shorter, so that
/// Ctrl-C takes effect quickly.
const MANY_EVENTS: u64 = 1 << 14;
/// After a step with fewer events the next is longer.
const FEW_EVENTS: u64 = 1 << 12;

/// Records of several seeds, merged in seed order.
#[derive(Default)]
struct Merged {
    record: Option<Record>,
    stages: Stages,
    spreads: Vec<Spread>,
    seeds: Vec<u64>,
}

impl Merged {
    /// Adds one run; a run shorter than `duration` was cut off and does not count as a replication.
    fn add(&mut self, seed: u64, run: Run, (duration, units): (Duration, &Plan)) {
        let Run { record, stages, batches } = run;
        self.seeds.push(seed);
        self.spreads.resize(record.streams.len(), Spread::default());
        if record.duration >= duration {
            Spread::add(&mut self.spreads, units, &batches, &record.streams);
        }
        stages::merge(&mut self.stages, stages);
        match &mut self.record {
            None => self.record = Some(record),
            Some(merged) => merged.merge(&record),
        }
    }

    fn finish(self, partial: bool) -> (Results, Vec<Spread>) {
        let record = self.record.unwrap_or_default();
        let streams = record.streams.iter().zip(&self.spreads);
        let confidence = streams.map(|(stream, spread)| spread.confidence(stream)).collect();
        let results =
            Results { record, stages: self.stages, confidence, seeds: self.seeds, partial };
        (results, self.spreads)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::thread;

    use super::*;

    /// Oracle: replications on several threads tell one after the other, none less than before.
    #[test]
    fn progress_never_falls() {
        let told = Arc::new(Mutex::new(Vec::new()));
        let hears = Arc::clone(&told);
        let progress = Progress::telling(move |simulated| hears.lock().unwrap().push(simulated));
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..10_000).for_each(|_| progress.advance(Duration::from_ns(1))));
            }
        });
        let told = told.lock().unwrap();
        assert!(told.is_sorted());
        assert_eq!((told.len(), told.last()), (40_000, Some(&Duration::from_us(40))));
    }
}
