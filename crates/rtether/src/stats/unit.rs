//! Units: parts of the runs that are independent of each other.

use rtether_model::flow::{Flow, Phase, Traffic};
use rtether_model::quantity::Duration;
use rtether_model::record::{StreamRecord, Tally};
use rtether_report::text::real;
use rtether_sim::Simulation;

use crate::scenario::Scenario;

/// Batches of one run.
const BATCHES: u64 = 16;
/// Most units of a stream; twice the batches, so that there are never fewer than these.
const UNITS: u64 = 2 * BATCHES;
/// Most tallies held for one run (about 30 MB); plants with more streams have fewer batches.
const MOST_TALLIES: usize = 1 << 16;

/// What is independent of each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// Batches of each run: what happens in it soon forgets what happened before.
    #[default]
    Batches,
    /// Whole runs: phases are drawn once for each, or it changes on the way.
    Runs,
}

impl Kind {
    /// Returns the word of reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Batches => "batches",
            Self::Runs => "runs",
        }
    }
}

/// How the runs of a scenario are divided.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    kind: Kind,
    /// Batches of a run.
    batches: u64,
    runs: u64,
    from: Duration,
    until: Duration,
    /// Whether the end of a run can be compared with its beginning.
    is_steady: bool,
}

impl Plan {
    pub(crate) fn new(scenario: &Scenario) -> Self {
        let run = &scenario.run;
        let streams: usize = scenario.flows.iter().map(|flow| flow.listeners.len()).sum();
        let batches = (MOST_TALLIES / streams.max(1)).min(usize::try_from(BATCHES).unwrap_or(1));
        // A power of two, so that units consist of whole batches.
        let batches = 1_u64 << batches.max(1).ilog2();
        let is_steady = scenario.stages.is_empty()
            && scenario.flows.iter().all(|flow| is_steady(flow, run.warmup));
        let kind = if is_steady && !draws_once(scenario) { Kind::Batches } else { Kind::Runs };
        Self {
            kind,
            batches,
            runs: u64::from(run.runs),
            from: run.warmup,
            until: run.duration,
            is_steady,
        }
    }

    /// Returns the end of a batch.
    fn end(&self, batch: u64) -> Duration {
        // The last one ends with the run, however short that is.
        let span = i128::from((self.until - self.from).as_ps());
        let part = span * i128::from(batch) / i128::from(self.batches);
        self.from + i64::try_from(part).map_or(Duration::ZERO, Duration::from_ps)
    }

    /// Returns the unit that a batch of a run belongs to: at most [`UNITS`], of equal size.
    fn unit(&self, run: u64, batch: u64) -> usize {
        let unit = match self.kind {
            Kind::Batches if self.runs * self.batches > UNITS && self.runs < UNITS => {
                // Fewer and longer batches: the more they forget.
                let of_a_run = 1 << (UNITS / self.runs).ilog2();
                run * of_a_run + batch * of_a_run / self.batches
            }
            Kind::Batches if self.runs < UNITS => run * self.batches + batch,
            Kind::Batches | Kind::Runs => run / self.runs.div_ceil(UNITS),
        };
        usize::try_from(unit).unwrap_or(usize::MAX)
    }
}

/// Returns whether a flow behaves alike from the end of the warm-up to the end of the run.
fn is_steady(flow: &Flow, warmup: Duration) -> bool {
    let has_files = matches!(&flow.traffic, Traffic::Bulk(bulk) if !bulk.transfers.is_empty());
    flow.start <= warmup && flow.stop.is_none() && !has_files
}

/// Returns whether the seed decides once for a whole run how regular events meet: flows whose phase
/// is drawn meet other regular ones, or the turns of an access scheme; a smoother has a phase; or a
/// cost is not known.
fn draws_once(scenario: &Scenario) -> bool {
    let is_drawn = |flow: &Flow| match flow.traffic {
        Traffic::Periodic { phase, .. } => phase == Phase::Random,
        Traffic::Flood { .. } => true,
        Traffic::Sporadic { min_gap, mean_gap, .. } => min_gap == mean_gap,
        Traffic::Poisson { .. } | Traffic::Adaptive { .. } | Traffic::Bulk(_) => false,
    };
    let is_regular =
        |flow: &Flow| is_drawn(flow) || matches!(flow.traffic, Traffic::Periodic { .. });
    let network = &scenario.network;
    let regular = scenario.flows.iter().filter(|flow| is_regular(flow)).count();
    let meets = regular > 1 || !network.access.is_empty();
    let smooths = network.iter_nodes().any(|(id, _)| {
        let layer = network.end_station(id).and_then(|station| station.layer.as_ref());
        layer.is_some_and(|layer| layer.smoother.is_some())
    });
    let unknown = network.has_unknown();
    unknown || smooths || meets && scenario.flows.iter().any(is_drawn)
}

/// Tallies at the ends of the batches of one run, except the last.
#[derive(Debug, Default)]
pub(crate) struct Batches {
    ends: Vec<Vec<Tally>>,
}

impl Batches {
    /// Returns when the next batch ends.
    pub(crate) fn next(&self, plan: &Plan) -> Duration {
        plan.end(self.done() + 1)
    }

    /// Notes what was counted if a batch ends here. The record has the end of the last one.
    pub(crate) fn reach(&mut self, plan: &Plan, now: Duration, simulation: &Simulation) {
        if now >= self.next(plan) && self.done() + 1 < plan.batches {
            self.ends.push(simulation.tallies());
        }
    }

    fn done(&self) -> u64 {
        u64::try_from(self.ends.len()).unwrap_or(u64::MAX)
    }
}

/// What happened in one unit.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Unit {
    pub(crate) released: u64,
    pub(crate) delivered: u64,
    pub(crate) missed: u64,
    pub(crate) sum_ps: i128,
    /// Delivered packets by coarse bin, from the bin `first` on.
    first: usize,
    bins: Vec<u64>,
}

impl Unit {
    /// Adds what happened between two tallies.
    fn add(&mut self, before: &Tally, after: &Tally) {
        self.released += after.released - before.released;
        self.delivered += after.delivered - before.delivered;
        self.missed += after.missed.saturating_sub(before.missed);
        self.sum_ps += after.sum_ps - before.sum_ps;
        let mut old = before.bins.iter().peekable();
        for &(bin, count) in &after.bins {
            // Counts do not fall: each bin of `before` is in `after`.
            let known = old.next_if(|own| own.0 == bin).map_or(0, |own| own.1);
            if count > known {
                *self.slot(bin) += count - known;
            }
        }
    }

    fn slot(&mut self, bin: usize) -> &mut u64 {
        if self.bins.is_empty() {
            self.first = bin;
        } else if bin < self.first {
            self.bins.splice(0..0, core::iter::repeat_n(0, self.first - bin));
            self.first = bin;
        }
        let at = bin - self.first;
        if at >= self.bins.len() {
            self.bins.resize(at + 1, 0);
        }
        &mut self.bins[at]
    }

    /// Returns the packets in a coarse bin or above.
    pub(crate) fn at_least(&self, bin: usize) -> u64 {
        self.bins.iter().skip(bin.saturating_sub(self.first)).sum()
    }
}

/// How the mean of the first batch differs from that of the second half, over runs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Start {
    pub(crate) runs: u64,
    /// Sum of the differences, in picoseconds, and of their squares.
    pub(crate) sum: f64,
    pub(crate) squares: f64,
    /// Part of a run that a batch is.
    pub(crate) part: f64,
}

/// Units of one stream, accumulated from its runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spread {
    kind: Kind,
    runs: u64,
    units: Vec<Unit>,
    start: Start,
}

impl Spread {
    /// Adds the batches of one run to all streams.
    pub(crate) fn add(all: &mut [Self], plan: &Plan, batches: &Batches, streams: &[StreamRecord]) {
        for (at, (own, stream)) in all.iter_mut().zip(streams).enumerate() {
            let last = Tally::of(stream);
            let ends = batches.ends.iter().map(|tallies| &tallies[at]);
            own.add_run(plan, &ends.chain([&last]).collect::<Vec<_>>());
        }
    }

    fn add_run(&mut self, plan: &Plan, ends: &[&Tally]) {
        self.kind = plan.kind;
        let none = Tally::default();
        let befores = [&none].into_iter().chain(ends.iter().copied());
        for ((batch, &after), before) in (0..).zip(ends).zip(befores) {
            let unit = plan.unit(self.runs, batch);
            if self.units.len() <= unit {
                self.units.resize(unit + 1, Unit::default());
            }
            self.units[unit].add(before, after);
        }
        self.runs += 1;
        if plan.is_steady {
            self.compare_start(ends);
        }
    }

    /// Compares the first batch of a run with its second half.
    fn compare_start(&mut self, ends: &[&Tally]) {
        let [first, .., last] = ends else { return };
        let half = ends[ends.len() / 2 - 1];
        let late = last.delivered - half.delivered;
        if first.delivered == 0 || late == 0 {
            return;
        }
        let early = ps(first.sum_ps) / real(first.delivered);
        let apart = early - ps(last.sum_ps - half.sum_ps) / real(late);
        self.start.runs += 1;
        self.start.sum += apart;
        self.start.squares += apart * apart;
        self.start.part = real(first.delivered) / real(last.delivered);
    }

    /// Returns the number of runs added.
    pub(crate) const fn runs(&self) -> u64 {
        self.runs
    }

    pub(crate) const fn kind(&self) -> Kind {
        self.kind
    }

    pub(crate) fn size(&self) -> u32 {
        u32::try_from(self.units.len()).unwrap_or(u32::MAX)
    }

    pub(crate) fn units(&self) -> &[Unit] {
        &self.units
    }

    pub(crate) const fn start(&self) -> &Start {
        &self.start
    }
}

#[allow(clippy::cast_precision_loss, reason = "a statistic needs no 53rd bit")]
pub(crate) const fn ps(sum: i128) -> f64 {
    sum as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Oracle: by hand. A run of a nanosecond has fewer picoseconds than batches: with batches of equal
    /// whole length none would end, and the run would wait for them for ever.
    #[test]
    fn the_last_batch_ends_with_the_run() {
        for until in [1, 1_000, 1_023, 1_025, 999_999_999] {
            let plan = Plan {
                kind: Kind::Batches,
                batches: 1_024,
                runs: 1,
                from: Duration::ZERO,
                until: Duration::from_ps(until),
                is_steady: true,
            };
            assert_eq!(plan.end(1_024), plan.until);
            assert!((0..1_024).all(|batch| plan.end(batch) <= plan.end(batch + 1)));
        }
    }
}
