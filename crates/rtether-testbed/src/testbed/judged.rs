//! What is made of a measurement: evidence, and a verdict on each stream and on all.

use rtether_model::flow::Flow;
use rtether_model::network::NodeId;
use rtether_model::record::Record;

use super::{Backend, Measured, MeasuredStream, ssh};
use rtether::measured::{Evidence, much_stalled, thousandths};
use rtether::run::Results;
use rtether::scenario::Scenario;
use rtether::stages::Stages;
use rtether::sums::{self, OneSum};
use rtether::verdict::{self, Assessment, Conclusion, Standing, Verdict};

impl Measured {
    /// Judges the streams as `check` judges simulated ones: all delivered packets, without the time for
    /// which stalls were felt on their way. Where stalls touched many of them, a stream that holds must
    /// hold with the stalls, too, or there is no answer; where they touched all, there is none.
    pub fn assess(&self, scenario: &Scenario) -> Vec<Assessment> {
        let judged = |figures| {
            let record = self.record_of(scenario, figures);
            verdict::assess_measured(scenario, &self.results_of(record))
        };
        let mut assessments = judged(|own| (own.less_stalls.clone(), own.missed));
        let with_stalls = judged(|own| (own.with_stalls.clone(), own.missed_with_stalls));
        let both = assessments.iter_mut().zip(with_stalls);
        for ((own, with_stalls), stream) in both.zip(&self.streams) {
            leave_open_if_stalled(own, &with_stalls, stream);
        }
        let flows = scenario.flows.iter();
        let flows = flows.flat_map(|flow| flow.listeners.iter().map(move |_| flow));
        for ((flow, stream), assessment) in flows.zip(&self.streams).zip(&mut assessments) {
            if let Some(why) = &stream.withheld {
                ssh::leave_open(scenario, flow, why, assessment);
            }
        }
        assessments
    }

    /// Judges the requirements over several flows.
    pub fn sums(&self, scenario: &Scenario) -> Vec<OneSum> {
        let streams = self.streams.iter().map(|stream| {
            let max = stream.measurement().summand();
            (max.filter(|_| stream.withheld.is_none()), stream.delivered)
        });
        sums::observed(scenario, &streams.collect::<Vec<_>>())
    }

    /// Returns the measurement as evidence for a check.
    pub fn evidence(&self, scenario: &Scenario) -> Evidence {
        let streams = self.streams.iter();
        let emulated = super::emulated(scenario).into_iter();
        Evidence {
            streams: streams.map(|stream| (stream.measurement(), stream.distribution())).collect(),
            assessments: self.assess(scenario),
            tolerance: self.tolerance,
            error: self.errors.first().cloned(),
            is_partial: self.is_partial,
            emulated: emulated.map(str::to_owned).collect(),
            apart: (self.backend == Backend::Kernel).then_some(KERNEL),
        }
    }

    /// Returns the measurement as the results of one run.
    pub(super) fn results(&self, scenario: &Scenario) -> Results {
        self.results_of(self.record(scenario))
    }

    fn results_of(&self, record: Record) -> Results {
        Results {
            record,
            stages: Stages::new(),
            confidence: Vec::new(),
            seeds: Vec::new(),
            partial: self.is_partial,
        }
    }
}

/// What the kernel's links and bridges lack.
const KERNEL: &str = "the kernel's links and bridges pass a frame at once: live figures over `kernel` \
    have neither transmission times nor latencies of the plant and cannot be compared with those \
    simulated; `--live emulated` has them";

/// Withdraws an answer that only packets without a stall would give.
fn leave_open_if_stalled(own: &mut Assessment, with_stalls: &Assessment, stream: &MeasuredStream) {
    if own.verdict == Verdict::Unjudged {
        return;
    }
    let why = if stream.stalled > 0 && stream.stalled == stream.delivered {
        format!(
            "stalls of this host touched {} packets that were delivered",
            match stream.stalled {
                1 => "the".to_owned(),
                all => format!("all {all}"),
            }
        )
    } else if let Some(share) = much_stalled(stream.stalled, stream.delivered)
        && own.verdict == Verdict::Ok
        && with_stalls.verdict.is_failure()
    {
        let reason = with_stalls.reasons.first();
        format!(
            "stalls of this host touched {} of the packets, and with them {}",
            thousandths(share),
            reason.map_or("it does not hold", |reason| reason)
        )
    } else {
        return;
    };
    own.verdict = Verdict::NoAnswer;
    own.measured = Standing::NoAnswer;
    own.failed = None;
    own.margin = None;
    own.reasons = vec![why];
}

pub(super) struct Row<'a> {
    pub(super) flow: &'a Flow,
    pub(super) listener: NodeId,
    pub(super) stream: &'a MeasuredStream,
    pub(super) assessment: &'a Assessment,
}

pub(super) fn rows<'a>(
    scenario: &'a Scenario,
    measured: &'a Measured,
    assessments: &'a [Assessment],
) -> impl Iterator<Item = Row<'a>> {
    let flows = scenario.flows.iter();
    let ends = flows.flat_map(|flow| flow.listeners.iter().map(move |&node| (flow, node)));
    let said = measured.streams.iter().zip(assessments);
    ends.zip(said).map(|((flow, listener), (stream, assessment))| Row {
        flow,
        listener,
        stream,
        assessment,
    })
}

/// A measured scenario, in all formats.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// The scenario.
    pub scenario: &'a Scenario,
    /// What was measured.
    pub measured: &'a Measured,
    /// The judgment of each stream.
    pub assessments: &'a [Assessment],
}

impl Run<'_> {
    /// Returns the verdict on what was measured.
    pub fn conclusion(&self) -> Conclusion {
        let Self { measured, .. } = *self;
        // Each host hears of the request to stop at a moment of its own: the first to end breaks the
        // connections of the others.
        let is_stopped = measured.is_partial && measured.backend == Backend::Ssh;
        if !measured.errors.is_empty() && !is_stopped {
            // An error also ends a run early, without a request to stop.
            return Conclusion::Unmeasured;
        }
        let worst = worst(self.assessments, &measured.sums(self.scenario));
        Conclusion::of([worst], measured.is_partial)
    }
}

/// Returns the verdict over all streams.
pub(super) fn worst(assessments: &[Assessment], sums: &[OneSum]) -> Verdict {
    let sums = sums.iter().map(|sum| {
        if sum.added.standing == Standing::Late {
            Verdict::Late
        } else if sum.added.standing == Standing::NoAnswer {
            Verdict::NoAnswer
        } else {
            Verdict::Ok
        }
    });
    let streams = assessments.iter().map(|own| own.verdict);
    streams.chain(sums).max().unwrap_or(Verdict::Unjudged)
}
