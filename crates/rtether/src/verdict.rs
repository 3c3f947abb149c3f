//! The verdict per stream: requirements, findings, margins, and where the time goes.
//!
//! A stream is assessed in three columns: simulation, proof and measurement. A verdict covers all
//! requirements; a [`Standing`] is the result of one column alone, so that an observation is never
//! taken for a proof.

mod judge;

use rtether_bounds::Analysis;
use rtether_model::quantity::Duration;
use rtether_model::record::{Place, StreamRecord};

use crate::run::Results;
use crate::scenario::{Scenario, Statistic};
use judge::{Judge, Proof};

/// Judgment on one stream; later variants outweigh earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// The stream has no deadline and no requirement that could fail.
    Unjudged,
    /// Every requirement that matches the stream holds.
    Ok,
    /// Nothing was delivered or due, so there is no answer.
    NoAnswer,
    /// Failed: a bound exceeds its limit.
    NotProved,
    /// Failed: packets were lost.
    Lost,
    /// Failed: packets were late.
    Late,
}

impl Verdict {
    /// Returns the word used in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Unjudged => "unjudged",
            Self::NoAnswer => "no-answer",
            Self::NotProved => "not-proved",
            Self::Lost => "lost",
            Self::Late => "late",
        }
    }

    /// Returns whether a requirement failed.
    pub const fn is_failure(self) -> bool {
        matches!(self, Self::NotProved | Self::Lost | Self::Late)
    }
}

/// Where a figure comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// Simulation.
    Simulated,
    /// Proof.
    Bound,
    /// Measurement on a test bed.
    Measured,
}

impl Column {
    /// Returns the word used in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Simulated => "sim",
            Self::Bound => "bound",
            Self::Measured => "measured",
        }
    }
}

/// What the verdict on a stream rests on, in one column or over all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Standing {
    /// No requirement applies to this column.
    #[default]
    Unjudged,
    /// The bound is within the deadline and all limits: no packet can be late.
    Proved,
    /// No packet violated a requirement; this proves nothing about the next.
    Held {
        /// Number of packets delivered.
        packets: u64,
    },
    /// Nothing was delivered or due.
    NoAnswer,
    /// There is no bound.
    NoBound,
    /// The bound exceeds the deadline: packets may or may not be late.
    NotProved,
    /// Packets were lost.
    Lost,
    /// Packets were late.
    Late,
}

impl Standing {
    /// Returns the word used in tables and files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unjudged => "unjudged",
            Self::Proved => "proved",
            Self::Held { .. } => "held",
            Self::NoAnswer => "no-answer",
            Self::NoBound => "no-bound",
            Self::NotProved => "not-proved",
            Self::Lost => "lost",
            Self::Late => "late",
        }
    }

    /// Returns the word; `None` if the column was not judged.
    pub fn said(self) -> Option<&'static str> {
        (self != Self::Unjudged).then(|| self.name())
    }

    /// Returns the number of packets in which requirements held.
    pub const fn packets(self) -> Option<u64> {
        if let Self::Held { packets } = self {
            Some(packets)
        } else {
            None
        }
    }

    /// Returns the severity: zero for unjudged, one for proved, higher for worse.
    pub const fn rank(self) -> u8 {
        match self {
            Self::Unjudged => 0,
            Self::Proved => 1,
            Self::Held { .. } => 2,
            Self::NoAnswer => 3,
            Self::NoBound => 4,
            Self::NotProved => 5,
            Self::Lost => 6,
            Self::Late => 7,
        }
    }

    fn seen(verdict: Verdict, stream: &StreamRecord) -> Self {
        match verdict {
            Verdict::Unjudged => Self::Unjudged,
            Verdict::Ok => Self::Held {
                packets: stream.delivered,
            },
            Verdict::NoAnswer => Self::NoAnswer,
            Verdict::NotProved => Self::NotProved,
            Verdict::Lost => Self::Lost,
            Verdict::Late => Self::Late,
        }
    }
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
    /// Where most of the time is spent; `None` if unknown.
    pub responsible: Option<Blame>,
    /// One sentence per requirement that failed, the worst first.
    pub reasons: Vec<String>,
    /// Whether the bound is within every limit on latency.
    is_proved: bool,
}

impl Assessment {
    /// Returns what the verdict rests on, over all columns.
    pub fn standing(&self) -> Standing {
        match self.verdict {
            Verdict::Unjudged => Standing::Unjudged,
            Verdict::NoAnswer => Standing::NoAnswer,
            Verdict::NotProved => Standing::NotProved,
            Verdict::Lost => Standing::Lost,
            Verdict::Late => Standing::Late,
            Verdict::Ok if self.is_proved => Standing::Proved,
            Verdict::Ok => Standing::Held {
                // If both exist, simulation has the broader base.
                packets: self
                    .simulated
                    .packets()
                    .or(self.measured.packets())
                    .unwrap_or(0),
            },
        }
    }
}

/// Result of a check: the requirements, and everything that contradicts the figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conclusion {
    /// Every requirement holds.
    Met,
    /// A requirement does not hold.
    Failed,
    /// Nothing was delivered or due on a stream with requirements, or its bound rests on an assumption
    /// that does not hold.
    NoAnswer,
    /// The measurement ended early with an error.
    Unmeasured,
    /// The user interrupted it.
    Interrupted,
    /// A packet was simulated or measured beyond a proved bound whose assumptions hold.
    Contradiction,
}

impl Conclusion {
    /// Returns the conclusion from the verdicts alone.
    pub fn of(verdicts: impl IntoIterator<Item = Verdict>, is_partial: bool) -> Self {
        match verdicts.into_iter().max() {
            _ if is_partial => Self::Interrupted,
            Some(verdict) if verdict.is_failure() => Self::Failed,
            Some(Verdict::NoAnswer) => Self::NoAnswer,
            Some(_) | None => Self::Met,
        }
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
    // Bounds assume that no buffer overflows.
    let is_void =
        analysis.is_some() && crate::bound::broken_assumption(scenario, results).is_some();
    let streams = results.record.streams.iter().enumerate();
    streams
        .map(|(index, stream)| {
            let proof = Proof::of(analysis, index);
            let flow = &scenario.flows[stream.flow_id().index()];
            let mut judge = Judge::new(flow, stream, Column::Simulated);
            assess_stream(scenario, &mut judge, proof);
            judge.conclude(index, proof, is_void)
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
            assess_stream(scenario, &mut judge, Proof::Unasked);
            judge.conclude(index, Proof::Unasked, false)
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
    }
}

fn assess_stream(scenario: &Scenario, judge: &mut Judge<'_>, proof: Proof<'_>) {
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
