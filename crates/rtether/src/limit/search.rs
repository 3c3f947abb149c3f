//! Brackets the limit by doubling or halving the load, halves the bracket, and certifies a load.

use rtether_model::flow::FlowId;
use rtether_model::network::LinkId;
use rtether_model::quantity::Duration;
use rtether_model::record::{Record, Summary};
use rtether_report::text::real;

use super::{End, LimitError, Misses, Question, Stage, Trial, TrialVerdict};
use crate::domain::Domain;
use crate::load;
use crate::run::{self, Progress};
use crate::scenario::Scenario;
use crate::stats::interval::Sample;
use crate::stats::{Needs, Spread};

/// Loads below this share of the present one count as minimal.
const LEAST: f64 = 1.0 / 1024.0;

/// Multiple of the capacity of the stations' links and shared media above which more load has no
/// further effect.
const MOST_OF_LINKS: f64 = 2.0;

/// Rungs of the ladder, in steps below the load that the search found: it passes a load that had
/// luck. A step is the tolerance, and at least [`LEAST_STEP`] of the load.
const RUNGS: [i32; 5] = [8, 4, 2, 1, 0];
const LEAST_STEP: f64 = 0.01;

/// Result of a search.
pub(super) struct SearchResult {
    pub(super) trials: Vec<Trial>,
    pub(super) end: End,
    /// Record of the highest load that passes; of the last load if none does.
    pub(super) record: Option<Record>,
}

pub(super) fn run(
    scenario: &Scenario,
    question: &Question,
    flows: &[FlowId],
    progress: &Progress,
) -> Result<SearchResult, LimitError> {
    let mut search = Search {
        scenario,
        question,
        flows,
        progress,
        trials: Vec::new(),
        record: None,
        passed: None,
        lack: None,
    };
    let end = search.bracket()?;
    Ok(SearchResult { trials: search.trials, end, record: search.record })
}

struct Search<'a> {
    scenario: &'a Scenario,
    question: &'a Question,
    flows: &'a [FlowId],
    progress: &'a Progress,
    trials: Vec<Trial>,
    record: Option<Record>,
    /// Highest factor that has passed so far.
    passed: Option<f64>,
    /// What the last load that was not shown would have needed.
    lack: Option<End>,
}

/// Outcome of one load.
enum Step {
    /// It passes; its index.
    Pass(usize),
    /// It does not; its index.
    Fail(usize),
    /// Interrupted.
    Stop,
}

impl Search<'_> {
    fn bracket(&mut self) -> Result<End, LimitError> {
        let (mut passing, mut failing) = (None, None);
        let mut factor = 1.0;
        let (passing, failing) = loop {
            match self.step(factor, Stage::Search)? {
                Step::Stop => return Ok(End::Interrupted),
                Step::Pass(at) => passing = Some(at),
                Step::Fail(at) => failing = Some(at),
            }
            match (passing, failing) {
                (Some(passing), Some(failing)) => break (passing, failing),
                (Some(passing), None) if self.is_beyond_links(factor) => {
                    return self.certify(passing, None);
                }
                (None, Some(_)) if factor <= LEAST => {
                    return Ok(self.lack.unwrap_or(End::Never));
                }
                (Some(_), None) => factor *= 2.0,
                // If the present load cannot be judged, perhaps none can.
                (None, Some(at)) if factor >= 1.0 && self.is_too_few(at) => match self.least()? {
                    Some(end) => return Ok(end),
                    None => factor /= 2.0,
                },
                (None, _) => factor /= 2.0,
            }
        };
        self.bisect(passing, failing)
    }

    fn is_too_few(&self, trial: usize) -> bool {
        self.trials[trial].verdict == TrialVerdict::TooFew
    }

    /// Tries the least load; returns the end of the search if it does not pass.
    fn least(&mut self) -> Result<Option<End>, LimitError> {
        Ok(match self.step(LEAST, Stage::Search)? {
            Step::Stop => Some(End::Interrupted),
            Step::Pass(_) => None,
            Step::Fail(_) => Some(self.lack.unwrap_or(End::Never)),
        })
    }

    fn bisect(&mut self, mut passing: usize, mut failing: usize) -> Result<End, LimitError> {
        loop {
            let (low, high) = (self.trials[passing].factor, self.trials[failing].factor);
            let middle = low.midpoint(high);
            let is_near = high - low <= self.question.tolerance * high;
            // Or the factors are adjacent floating-point numbers.
            if is_near || middle <= low || middle >= high {
                return self.certify(passing, Some(failing));
            }
            match self.step(middle, Stage::Search)? {
                Step::Stop => return Ok(End::Interrupted),
                Step::Pass(at) => passing = at,
                Step::Fail(at) => failing = at,
            }
        }
    }

    /// Climbs the ladder below the load that the search found. `failing` is the load above it.
    fn certify(&mut self, found: usize, failing: Option<usize>) -> Result<End, LimitError> {
        let top = self.trials[found].factor;
        let step = self.question.tolerance.max(LEAST_STEP);
        let mut passing = None;
        let mut failing = failing;
        for rung in RUNGS {
            match self.step(top * (1.0 - step).powi(rung), Stage::Certification)? {
                Step::Stop => return Ok(End::Interrupted),
                Step::Pass(at) => passing = Some(at),
                Step::Fail(at) => {
                    failing = Some(at);
                    break;
                }
            }
        }
        Ok(match (passing, failing) {
            (Some(passing), Some(failing)) => End::Found { passing, failing },
            (Some(passing), None) => End::Unlimited { passing },
            // What the search found was luck; more packets leave less to it.
            (None, _) => self.lack.unwrap_or_else(|| self.twice()),
        })
    }

    fn twice(&self) -> End {
        let runs = u64::from(self.scenario.run.runs) * 2;
        End::TooFew { runs: Some(runs) }
    }

    /// Any excess over the capacity of the stations would only wait in them.
    fn is_beyond_links(&self, factor: f64) -> bool {
        let mut stations: Vec<_> = self
            .flows
            .iter()
            .flat_map(|id| load::offers(&self.scenario.flows[id.index()]))
            .map(|(station, _)| station)
            .collect();
        stations.sort_unstable();
        stations.dedup();
        let network = &self.scenario.network;
        let record = self.record.as_ref();
        let domains = record.map_or_else(Vec::new, |record| Domain::all(network, record));
        let is_attached = |id: LinkId| {
            let link = &network.links[id.index()];
            !link.standby && link.ends.iter().any(|end| stations.contains(&end.node))
        };
        let is_shared = |id: LinkId| domains.iter().any(|domain| domain.links.contains(&id));
        let own = network.iter_links().map(|(id, _)| id);
        let own = own.filter(|&id| is_attached(id) && !is_shared(id));
        // All links of a shared medium together carry as much as one of them.
        let media = domains.iter();
        let media = media.filter_map(|domain| {
            let mut links = domain.links.iter().copied();
            links.find(|&id| is_attached(id))
        });
        let capacity: f64 =
            own.chain(media).map(|id| real(network.links[id.index()].rate.as_bps())).sum();
        load::total_bps(self.scenario, self.flows) * factor > MOST_OF_LINKS * capacity
    }

    fn step(&mut self, factor: f64, stage: Stage) -> Result<Step, LimitError> {
        let mut scenario = self.scenario.clone();
        for id in self.flows {
            let flow = &mut scenario.flows[id.index()];
            if let Ok(other) = load::scaled(flow, factor) {
                *flow = other;
            }
        }
        let run = &mut scenario.run;
        if stage == Stage::Certification {
            run.seed = run.seed.wrapping_add(u64::from(run.runs));
        }
        let (results, spreads) = run::simulate_with_spread(&scenario, self.progress)?;
        if results.partial {
            return Ok(Step::Stop);
        }
        let record = results.record;
        let judged = judge(&scenario, self.question, &record, &spreads);
        self.trials.push(Trial {
            factor,
            load_bps: load::total_bps(&scenario, self.flows),
            throughput_bps: throughput(&record, self.flows),
            utilization: utilization(&record),
            worst: judged.misses,
            verdict: judged.verdict,
            stage,
        });
        let at = self.trials.len() - 1;
        if judged.verdict == TrialVerdict::Pass {
            // A load that is certified says more than one that was found.
            if stage == Stage::Certification || self.passed.is_none_or(|other| factor > other) {
                self.passed = Some(factor);
                self.record = Some(record);
            }
            return Ok(Step::Pass(at));
        }
        self.lack = judged.lack;
        if self.passed.is_none() {
            self.record = Some(record);
        }
        Ok(Step::Fail(at))
    }
}

/// What one load shows of one flow.
struct Judged {
    misses: Misses,
    verdict: TrialVerdict,
    /// What it would need, if neither is shown.
    lack: Option<End>,
}

/// Judges a load by its worst flow; a failure outranks what is not shown.
fn judge(scenario: &Scenario, question: &Question, record: &Record, spreads: &[Spread]) -> Judged {
    let numbered = (0u32..).map(FlowId).zip(&scenario.flows);
    let with_deadline = numbered.filter(|(_, flow)| flow.deadline.is_some());
    let judged = with_deadline.map(|(id, _)| judge_flow(id, question, record, spreads));
    let rank = |verdict: TrialVerdict| match verdict {
        TrialVerdict::Pass => 0,
        TrialVerdict::Open => 1,
        TrialVerdict::TooFew => 2,
        TrialVerdict::Fail => 3,
    };
    let upper = |one: &Judged| one.misses.upper.unwrap_or(1.0);
    judged
        .max_by(|one, other| {
            let by_verdict = rank(one.verdict).cmp(&rank(other.verdict));
            let by_limit = upper(one).total_cmp(&upper(other));
            // Among equals, the first in the scenario's order.
            let by_order = other.misses.flow.cmp(&one.misses.flow);
            by_verdict.then(by_limit).then(by_order)
        })
        .expect("a flow with a deadline was required")
}

/// Judges a flow by all its listeners and runs together.
fn judge_flow(flow: FlowId, question: &Question, record: &Record, spreads: &[Spread]) -> Judged {
    let both = record.streams.iter().zip(spreads);
    let (mut missed, mut released, mut latency) = (0, 0, Summary::default());
    let mut own = Vec::new();
    for (stream, spread) in both.filter(|(stream, _)| stream.flow_id() == flow) {
        missed += stream.missed;
        released += stream.released;
        latency.merge(&stream.latency);
        own.push(spread);
    }
    let misses = |upper| Misses { flow, missed, released, upper };
    let runs = u64::from(record.runs);
    let sample = match Sample::new(&own, latency.standard_deviation()) {
        Ok(sample) => sample,
        Err(_) if exceeds_always(question, &own) => {
            return Judged { misses: misses(None), verdict: TrialVerdict::Fail, lack: None };
        }
        Err(needs) => {
            let lack = match needs {
                Needs::Warmup => End::Unsettled,
                Needs::Runs => {
                    End::TooFew { runs: (released > 0).then(|| (2 * runs).max(LEAST_RUNS)) }
                }
            };
            return Judged {
                misses: misses(None),
                verdict: TrialVerdict::TooFew,
                lack: Some(lack),
            };
        }
    };
    let (lower, upper) = sample.missed(1.0 - question.confidence).unwrap_or((0.0, 1.0));
    let needed = sample.needed(question.miss_ratio, question.confidence) / sample.independent();
    let (verdict, lack) = if upper <= question.miss_ratio {
        (TrialVerdict::Pass, None)
    } else if lower > question.miss_ratio {
        (TrialVerdict::Fail, None)
    } else if needed > 1.0 {
        let runs = rounded_up(real(sample.runs()) * needed);
        (TrialVerdict::TooFew, Some(End::TooFew { runs: Some(runs) }))
    } else {
        (TrialVerdict::Open, Some(End::TooFew { runs: Some(2 * runs) }))
    };
    Judged { misses: misses(Some(upper)), verdict, lack }
}

/// Returns whether every unit has more misses than permitted. Then the flow fails, even if its
/// latencies grow without end and no interval is known.
fn exceeds_always(question: &Question, spreads: &[&Spread]) -> bool {
    let mut units = spreads.iter().flat_map(|spread| spread.units());
    let is_above = |missed: u64, released: u64| real(missed) > question.miss_ratio * real(released);
    spreads.iter().all(|spread| spread.units().len() > 1)
        && units.all(|unit| is_above(unit.missed, unit.released))
}

/// Runs proposed where there are too few to tell anything.
const LEAST_RUNS: u64 = 4;

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "positive, and a cast saturates"
)]
const fn rounded_up(runs: f64) -> u64 {
    runs.ceil() as u64
}

fn throughput(record: &Record, flows: &[FlowId]) -> f64 {
    let streams = record.streams.iter();
    let chosen = streams.filter(|stream| flows.contains(&stream.flow_id()));
    let octets: u64 = chosen.map(|stream| stream.payload_bytes).sum();
    let counted: Duration = (record.duration - record.warmup) * i64::from(record.runs);
    if counted <= Duration::ZERO {
        return 0.0;
    }
    real(octets) * 8.0 / counted.as_secs_f64()
}

fn utilization(record: &Record) -> f64 {
    let ports = record.ports.iter();
    let ports = ports.map(|port| port.utilization(record.observed));
    let media = record.media.iter();
    let media = media.map(|medium| medium.utilization(record.observed));
    ports.chain(media).fold(0.0, f64::max)
}
