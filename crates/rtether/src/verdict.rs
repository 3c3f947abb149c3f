//! The verdict per stream: requirements, findings, margins, and where the time goes.
//!
//! A stream is assessed in three columns: simulation, proof and measurement. A verdict covers all
//! requirements; a [`Standing`] is the result of one column alone, so that an observation is never
//! taken for a proof.

mod judge;

use rtether_bounds::Analysis;
use rtether_model::quantity::Duration;
use rtether_model::record::{Place, StreamRecord};

use crate::adversary::Found;
use crate::bound::names::Names;
use crate::run::Results;
use crate::scenario::{Limit, Loss, Scenario, Statistic};
pub use crate::words::{Column, Conclusion, Standing, Verdict};
use judge::{Judge, Proof};

/// What the requirements on packets say of the latency of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Judged {
    /// It was held against a limit.
    Latency,
    /// It has a limit, against which no requirement holds it.
    Other,
    /// It has no limit.
    NoLimit,
}

/// The place with the largest share of a delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blame {
    /// Source of the delay: the worst simulated packet, or the bound.
    pub column: Column,
    /// Where.
    pub place: Place,
    /// Time spent there.
    pub delay: Duration,
    /// The whole delay.
    pub of: Duration,
}

/// Assessment of one stream.
#[derive(Clone, Debug, PartialEq)]
pub struct Assessment {
    /// Position in [`rtether_model::record::Record::streams`].
    pub stream: usize,
    /// The verdict over all requirements.
    pub verdict: Verdict,
    /// The column of the requirement that failed worst.
    pub failed: Option<Column>,
    /// Standing in simulation.
    pub simulated: Standing,
    /// Standing of the proof; unjudged if no bounds were computed.
    pub bound: Standing,
    /// Standing on the test bed; unjudged if nothing was measured.
    pub measured: Standing,
    /// Limit minus value of the requirement that failed; if none failed, deadline minus the largest
    /// latency observed. `None` if the failed requirement is about lost packets, or if packets were
    /// in flight past their deadline although none was delivered late.
    pub margin: Option<Duration>,
    /// The least limit on latency: of the deadline, and of what is required of packets and bound.
    pub limit: Option<Duration>,
    /// Where most of the time is spent; `None` if unknown.
    pub responsible: Option<Blame>,
    /// One sentence per requirement that failed, the worst first.
    pub reasons: Vec<String>,
    /// What must drop nothing for the bound to be a proof, in words.
    pub only_if: Option<String>,
    /// Whether the bound is within every limit on latency.
    is_proved: bool,
    /// What was judged of its latency.
    judged: Judged,
}

impl Assessment {
    /// Notes that a requirement on packets does not hold in a plant that the scenario allows.
    fn fail(&mut self, verdict: Verdict, margin: Option<Duration>, reason: String) {
        let is_first = verdict > self.verdict || self.margin > margin && verdict == self.verdict;
        if is_first {
            self.reasons.insert(0, reason);
            self.verdict = verdict;
            self.failed = Some(Column::Simulated);
            self.margin = margin;
        } else {
            self.reasons.push(reason);
        }
    }

    /// Returns what the verdict rests on, over all columns.
    pub fn standing(&self) -> Standing {
        let is_good = matches!(self.verdict, Verdict::Ok | Verdict::Unjudged);
        match self.judged {
            _ if !is_good => Standing::failed(self.verdict),
            _ if self.verdict == Verdict::Ok && self.is_proved => Standing::Proved,
            Judged::Latency => Standing::Held {
                // If both exist, simulation has the broader base.
                packets: self.simulated.packets().or(self.measured.packets()).unwrap_or(0),
            },
            Judged::Other => Standing::Unjudged,
            Judged::NoLimit => Standing::NoDeadline,
        }
    }
}

/// Returns the standing by packets; without a requirement on latency a stream cannot be held.
fn seen(verdict: Verdict, stream: &StreamRecord, judged: Judged) -> Standing {
    match (verdict, judged) {
        (Verdict::Ok, Judged::Latency) => Standing::Held { packets: stream.delivered },
        (Verdict::Ok | Verdict::Unjudged, Judged::NoLimit) => Standing::NoDeadline,
        (Verdict::Ok | Verdict::Unjudged, _) => Standing::Unjudged,
        (verdict, _) => Standing::failed(verdict),
    }
}

/// Judges every stream by simulation, in the order of the record.
pub fn assess(scenario: &Scenario, results: &Results) -> Vec<Assessment> {
    assess_with(scenario, results, None)
}

/// Like [`assess`], and also judges proved bounds if `analysis` is given.
pub fn assess_with(
    scenario: &Scenario,
    results: &Results,
    analysis: Option<&Analysis>,
) -> Vec<Assessment> {
    let streams = results.record.streams.iter().enumerate();
    let analysis = analysis.map(|analysis| (analysis, Names::new(scenario)));
    let analysis = analysis.as_ref().map(|(analysis, names)| (*analysis, names));
    streams
        .map(|(index, stream)| {
            let proof = Proof::of(analysis, index);
            let flow = &scenario.flows[stream.flow_id().index()];
            let mut judge = Judge::new(flow, stream, Column::Simulated);
            assess_stream(scenario, &mut judge, &proof);
            judge.conclude(index, &proof)
        })
        .collect()
}

/// Judges every stream by measurement, as [`assess`] does by simulation. Limits under `live` take
/// precedence over those under `sim`.
pub fn assess_measured(scenario: &Scenario, results: &Results) -> Vec<Assessment> {
    let streams = results.record.streams.iter().enumerate();
    streams
        .map(|(index, stream)| {
            let flow = &scenario.flows[stream.flow_id().index()];
            let mut judge = Judge::new(flow, stream, Column::Measured);
            assess_stream(scenario, &mut judge, &Proof::Unasked);
            judge.conclude(index, &Proof::Unasked)
        })
        .collect()
}

/// Merges measured assessments, one per stream: a measured miss is a miss.
pub fn add_measured(assessments: &mut [Assessment], measured: &[Assessment]) {
    for (own, other) in assessments.iter_mut().zip(measured) {
        own.measured = other.measured;
        let reasons = other.reasons.iter().map(|why| format!("measured: {why}"));
        if other.verdict > own.verdict {
            own.reasons.splice(..0, reasons);
            if other.verdict.is_failure() {
                own.failed = Some(Column::Measured);
                own.margin = other.margin;
                own.responsible = None;
            }
        } else {
            own.reasons.extend(reasons);
        }
        own.verdict = own.verdict.max(other.verdict);
        if other.judged == Judged::Latency {
            own.judged = Judged::Latency;
        }
    }
}

/// Adds what a search has found, one for each stream: a packet that is late, or lost, in a plant that
/// the scenario allows.
pub fn add_found(scenario: &Scenario, assessments: &mut [Assessment], found: &[Option<Found>]) {
    for (own, found) in assessments.iter_mut().zip(found) {
        let Some(found) = found else { continue };
        let flow = &scenario.flows[found.target.flow.index()];
        let required = scenario.accept.iter().filter(|line| line.matches(flow));
        let (mut limit, mut allowed) = (None, None);
        for line in required {
            let most = |(statistic, limit): &(Statistic, Limit)| {
                let is_most = *statistic == Statistic::Max;
                is_most.then(|| judge::resolve(*limit, flow)).flatten()
            };
            let limits = line.simulated.iter().filter_map(most);
            limit = limit.into_iter().chain(limits).min();
            // A share is one of ordinary runs.
            let lost = match line.lost.filter(|_| flow.is_real_time()) {
                Some(Loss::Count(count)) => Some(count),
                Some(Loss::PerBillion(_)) | None => None,
            };
            allowed = allowed.into_iter().chain(lost).min();
        }
        let late = limit.filter(|limit| found.latency > *limit);
        if let Some(allowed) = allowed.filter(|allowed| found.dropped > *allowed) {
            let reason = format!("found: {} packets lost, {allowed} accepted", found.dropped);
            own.fail(Verdict::Lost, None, reason);
        }
        if let Some(limit) = late {
            let (max, over) = (found.latency, found.latency - limit);
            let reason = format!("found: max {max} exceeds {limit} by {over}");
            own.fail(Verdict::Late, Some(limit - max), reason);
            let (place, delay) = found.responsible;
            own.responsible = Some(Blame { column: Column::Simulated, place, delay, of: max });
        }
    }
}

fn assess_stream(scenario: &Scenario, judge: &mut Judge<'_>, proof: &Proof<'_>) {
    let flow = judge.flow;
    for requirement in scenario.accept.iter().filter(|r| r.matches(flow)) {
        judge.seen(requirement);
        judge.proved(requirement, proof);
    }
}

/// Returns the usual name of a statistic: `p99.9`, `max`.
pub fn name_of(statistic: Statistic) -> String {
    match statistic {
        Statistic::Mean => "mean".into(),
        Statistic::Max => "max".into(),
        Statistic::Quantile { part, whole } => {
            // Scenario files give quantiles with up to six decimals of a percent.
            let millionths = u128::from(part) * 100_000_000 / u128::from(whole.max(1));
            let text = format!("{}.{:06}", millionths / 1_000_000, millionths % 1_000_000);
            format!("p{}", text.trim_end_matches('0').trim_end_matches('.'))
        }
    }
}
