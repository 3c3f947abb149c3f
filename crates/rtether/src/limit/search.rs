//! Brackets the limit by doubling or halving the load, then halves the bracket.

use rtether_model::flow::FlowId;
use rtether_model::network::LinkId;
use rtether_model::quantity::Duration;
use rtether_model::record::Record;

use super::{End, LimitError, Misses, Question, Trial, TrialVerdict, load};
use crate::report::domain::Domain;
use crate::report::text::real;
use crate::run::{self, Progress};
use crate::scenario::Scenario;
use crate::stats::{packets_needed, upper_limit};

/// Loads below this share of the present one count as minimal.
const LEAST: f64 = 1.0 / 1024.0;

/// Multiple of the capacity of the stations' links and shared media above which more load has no
/// further effect.
const MOST_OF_LINKS: f64 = 2.0;

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
    };
    let end = search.bracket()?;
    Ok(SearchResult {
        trials: search.trials,
        end,
        record: search.record,
    })
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
}

/// Outcome of one load.
enum Step {
    /// It passes; its index.
    Pass(usize),
    /// It fails; its index.
    Fail(usize),
    /// Further loads are pointless.
    Stop(End),
}

impl Search<'_> {
    fn bracket(&mut self) -> Result<End, LimitError> {
        let (mut passing, mut failing) = (None, None);
        let mut factor = 1.0;
        let (passing, failing) = loop {
            match self.step(factor)? {
                Step::Stop(end) => return Ok(end),
                Step::Pass(at) => passing = Some(at),
                Step::Fail(at) => failing = Some(at),
            }
            match (passing, failing) {
                (Some(passing), Some(failing)) => break (passing, failing),
                (Some(passing), None) if self.is_beyond_links(factor) => {
                    return Ok(End::Unlimited { passing });
                }
                (None, Some(_)) if factor <= LEAST => return Ok(End::Never),
                (Some(_), None) => factor *= 2.0,
                (None, _) => factor /= 2.0,
            }
        };
        self.bisect(passing, failing)
    }

    fn bisect(&mut self, mut passing: usize, mut failing: usize) -> Result<End, LimitError> {
        loop {
            let (low, high) = (self.trials[passing].factor, self.trials[failing].factor);
            if high - low <= self.question.tolerance * high {
                return Ok(End::Found { passing, failing });
            }
            let middle = low.midpoint(high);
            // The factors are adjacent floating-point numbers.
            if middle <= low || middle >= high {
                return Ok(End::Found { passing, failing });
            }
            match self.step(middle)? {
                Step::Stop(end) => return Ok(end),
                Step::Pass(at) => passing = at,
                Step::Fail(at) => failing = at,
            }
        }
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
        let capacity: f64 = own
            .chain(media)
            .map(|id| real(network.links[id.index()].rate.as_bps()))
            .sum();
        load::total_bps(self.scenario, self.flows) * factor > MOST_OF_LINKS * capacity
    }

    fn step(&mut self, factor: f64) -> Result<Step, LimitError> {
        let mut scenario = self.scenario.clone();
        for id in self.flows {
            let flow = &mut scenario.flows[id.index()];
            if let Ok(other) = load::scaled(flow, factor) {
                *flow = other;
            }
        }
        let results = run::simulate(&scenario, self.progress)?;
        if results.partial {
            return Ok(Step::Stop(End::Interrupted));
        }
        let record = results.record;
        let misses = misses(&scenario, &record, self.question.confidence);
        let (verdict, worst) = judge(&misses, self.question);
        self.trials.push(Trial {
            factor,
            load_bps: load::total_bps(&scenario, self.flows),
            throughput_bps: throughput(&record, self.flows),
            utilization: utilization(&record),
            worst,
            verdict,
        });
        let at = self.trials.len() - 1;
        match verdict {
            TrialVerdict::Pass if self.passed.is_none_or(|other| factor > other) => {
                self.passed = Some(factor);
                self.record = Some(record);
            }
            TrialVerdict::Pass => {}
            TrialVerdict::Fail | TrialVerdict::TooFew if self.passed.is_none() => {
                self.record = Some(record);
            }
            TrialVerdict::Fail | TrialVerdict::TooFew => {}
        }
        Ok(match verdict {
            TrialVerdict::Pass => Step::Pass(at),
            TrialVerdict::Fail => Step::Fail(at),
            TrialVerdict::TooFew => Step::Stop(End::TooFew {
                runs: runs_needed(&misses, self.question, scenario.run.runs),
            }),
        })
    }
}

/// Pools the misses of each flow with a deadline over its listeners and all runs.
fn misses(scenario: &Scenario, record: &Record, confidence: f64) -> Vec<Misses> {
    let numbered = (0u32..).map(FlowId).zip(&scenario.flows);
    let with_deadline = numbered.filter(|(_, flow)| flow.deadline.is_some());
    let pooled = with_deadline.map(|(id, _)| {
        let streams = || record.streams.iter().filter(|s| s.flow_id() == id);
        let missed = streams().map(|stream| stream.missed).sum();
        let released = streams().map(|stream| stream.released).sum();
        Misses {
            flow: id,
            missed,
            released,
            upper: upper_limit(missed, released, confidence),
        }
    });
    pooled.collect()
}

/// Judges a load by its worst flow; a failure outranks too few packets.
fn judge(misses: &[Misses], question: &Question) -> (TrialVerdict, Misses) {
    let needed = packets_needed(question.miss_ratio, question.confidence);
    let judged = misses.iter().map(|one| {
        let verdict = if one.upper <= question.miss_ratio {
            TrialVerdict::Pass
        } else if one.released < needed
            && real(one.missed) <= question.miss_ratio * real(one.released)
        {
            TrialVerdict::TooFew
        } else {
            TrialVerdict::Fail
        };
        (verdict, *one)
    });
    let rank = |verdict: TrialVerdict| match verdict {
        TrialVerdict::Pass => 0,
        TrialVerdict::TooFew => 1,
        TrialVerdict::Fail => 2,
    };
    judged
        .max_by(|(a, one), (b, other)| {
            let by_verdict = rank(*a).cmp(&rank(*b));
            let by_limit = one.upper.total_cmp(&other.upper);
            // Among equals, the first in the scenario's order.
            by_verdict.then(by_limit).then(other.flow.cmp(&one.flow))
        })
        .expect("a flow with a deadline was required")
}

/// Returns the number of runs after which every flow would have enough packets if none is missed.
fn runs_needed(misses: &[Misses], question: &Question, runs: u32) -> Option<u64> {
    let needed = packets_needed(question.miss_ratio, question.confidence);
    let fewest = misses.iter().map(|one| one.released).min()?;
    let all = u128::from(needed) * u128::from(runs);
    let runs = all.div_ceil(u128::from(fewest).max(1));
    (fewest > 0).then(|| u64::try_from(runs).unwrap_or(u64::MAX))
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
