//! The verdict per stream: what was required, what was found, by how much, and where the time goes.

use rtether_model::flow::Flow;
use rtether_model::quantity::Duration;
use rtether_model::record::{Place, StreamRecord};

use crate::run::Results;
use crate::scenario::{Limit, Requirement, Scenario, Statistic};

/// Judgement on one stream; what stands later outweighs what stands before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// The stream has no deadline and no requirement that could fail.
    Unjudged,
    /// Every requirement that matches the stream holds.
    Ok,
    /// Nothing was delivered or due, so nothing can be said.
    NoAnswer,
    /// A requirement does not hold: lost packets.
    Lost,
    /// A requirement does not hold: too late.
    Late,
}

impl Verdict {
    /// Returns the word used in tables and files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Unjudged => "unjudged",
            Self::NoAnswer => "no-answer",
            Self::Lost => "lost",
            Self::Late => "late",
        }
    }

    /// Returns whether a requirement failed.
    pub const fn is_failure(self) -> bool {
        matches!(self, Self::Lost | Self::Late)
    }
}

/// What is said of one stream.
#[derive(Clone, Debug, PartialEq)]
pub struct Assessment {
    /// Position in [`rtether_model::record::Record::streams`].
    pub stream: usize,
    /// The judgement.
    pub verdict: Verdict,
    /// Deadline minus the largest simulated latency; negative when late, `None` when packets are
    /// still under way past their deadline although none was delivered late.
    pub margin: Option<Duration>,
    /// The place where the worst packet spent most, and how much.
    pub responsible: Option<(Place, Duration)>,
    /// One sentence per requirement that failed.
    pub reasons: Vec<String>,
}

/// Judges every stream, in the order of the record.
pub fn assess(scenario: &Scenario, results: &Results) -> Vec<Assessment> {
    assess_with(scenario, results, None)
}

/// Does the same with proved bounds, one a stream, if they were computed.
pub fn assess_with(
    scenario: &Scenario,
    results: &Results,
    bounds: Option<&[Option<Duration>]>,
) -> Vec<Assessment> {
    let streams = results.record.streams.iter().enumerate();
    streams
        .map(|(index, stream)| assess_stream(scenario, index, stream, bounds))
        .collect()
}

fn assess_stream(
    scenario: &Scenario,
    index: usize,
    stream: &StreamRecord,
    bounds: Option<&[Option<Duration>]>,
) -> Assessment {
    let flow = &scenario.flows[stream.flow_id().index()];
    let mut verdict = Verdict::Unjudged;
    let mut reasons = Vec::new();
    for requirement in scenario.accept.iter().filter(|r| matches(r, flow)) {
        verdict = verdict.max(judge(requirement, flow, stream, &mut reasons));
        if let Some(bounds) = bounds {
            let bound = bounds.get(index).copied().flatten();
            verdict = verdict.max(judge_bound(requirement, flow, bound, &mut reasons));
        }
    }
    let worst = stream.worst;
    // A packet that is still under way past its deadline will be later than any that arrived, by
    // nobody knows how much: then there is no margin to give.
    let margin = flow
        .deadline
        .zip(worst)
        .map(|(deadline, worst)| deadline - worst.latency)
        .filter(|margin| margin.is_negative() || not_in_time(stream) == 0);
    Assessment {
        stream: index,
        verdict,
        margin,
        responsible: worst.map(|worst| worst.responsible),
        reasons,
    }
}

/// Returns whether a requirement speaks of this flow: by name, class, or a pattern with `*`.
pub fn matches(requirement: &Requirement, flow: &Flow) -> bool {
    let pattern = &requirement.flow;
    matches_pattern(pattern, &flow.name)
        || (!flow.class.is_empty() && matches_pattern(pattern, &flow.class))
}

/// Returns whether some requirement limits how late packets of this flow may be.
pub fn judges_deadline(accept: &[Requirement], flow: &Flow) -> bool {
    let limits_delay = |requirement: &&Requirement| {
        !requirement.simulated.is_empty()
            || requirement.bound.is_some()
            || requirement.miss_per_billion.is_some()
    };
    accept
        .iter()
        .filter(limits_delay)
        .any(|requirement| matches(requirement, flow))
}

fn matches_pattern(pattern: &str, text: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else {
        return pattern == text;
    };
    let Some(tail) = text.strip_prefix(head) else {
        return false;
    };
    rest.is_empty()
        || tail
            .char_indices()
            .map(|(at, _)| &tail[at..])
            .chain([""])
            .any(|tail| matches_pattern(rest, tail))
}

fn judge(
    requirement: &Requirement,
    flow: &Flow,
    stream: &StreamRecord,
    reasons: &mut Vec<String>,
) -> Verdict {
    let mut verdict = Verdict::Unjudged;
    let mut note = |found: Verdict, reason: Option<String>| {
        verdict = verdict.max(found);
        reasons.extend(reason);
    };
    for &(statistic, limit) in &requirement.simulated {
        let Some(limit) = resolve(limit, flow) else {
            continue;
        };
        let value = value_of(statistic, stream);
        if value.is_none_or(|value| value <= limit)
            && flow.deadline.is_some_and(|deadline| limit <= deadline)
            && exceeds_under_way(statistic, stream)
        {
            note(Verdict::Late, Some(under_way(limit, flow, stream)));
            continue;
        }
        match value {
            None if stream.released == 0 => {
                note(Verdict::NoAnswer, Some("no packet was released".into()));
            }
            None => note(Verdict::NoAnswer, Some("no packet was delivered".into())),
            Some(value) if value > limit => {
                let name = name_of(statistic);
                let over = value - limit;
                note(
                    Verdict::Late,
                    Some(format!("{name} {value} exceeds {limit} by {over}")),
                );
            }
            Some(_) => note(Verdict::Ok, None),
        }
    }
    if let Some(allowed) = requirement.lost.filter(|_| flow.is_real_time()) {
        if stream.released == 0 {
            note(Verdict::NoAnswer, Some("no packet was released".into()));
        } else if stream.dropped > allowed {
            let dropped = stream.dropped;
            note(
                Verdict::Lost,
                Some(format!("{dropped} packets lost, {allowed} accepted")),
            );
        } else {
            note(Verdict::Ok, None);
        }
    }
    if let Some((allowed, _)) = requirement.miss_per_billion.zip(flow.deadline) {
        let missed = u128::from(stream.missed) * 1_000_000_000;
        if stream.released == 0 {
            note(Verdict::NoAnswer, Some("no packet was released".into()));
        } else if missed > u128::from(allowed) * u128::from(stream.released) {
            let (missed, released) = (stream.missed, stream.released);
            note(
                Verdict::Late,
                Some(format!("{missed} of {released} packets late or lost")),
            );
        } else {
            note(Verdict::Ok, None);
        }
    }
    verdict
}

/// Returns the packets that missed their deadline but were not dropped: delivered late, or still
/// under way past it at the end. Zero without deadline.
const fn not_in_time(stream: &StreamRecord) -> u64 {
    stream.missed.saturating_sub(stream.dropped)
}

/// Returns whether a quantile of all packets that were not dropped lies beyond the deadline, those
/// still under way included.
///
/// The statistics know delivered packets only. Under a starved queue those that would be late never
/// arrive, so that what arrives looks well. Packets under way within their deadline count as in
/// time: nothing is held against them yet.
fn exceeds_under_way(statistic: Statistic, stream: &StreamRecord) -> bool {
    let (part, whole) = match statistic {
        // A mean of packets without an end cannot be given; those that arrived have one.
        Statistic::Mean => return false,
        Statistic::Quantile { part, whole } => (part, whole),
        Statistic::Max => (1, 1),
    };
    let all = u128::from(stream.delivered) + u128::from(stream.in_flight);
    let permitted = u128::from(whole.saturating_sub(part)) * all;
    u128::from(not_in_time(stream)) * u128::from(whole) > permitted
}

fn under_way(limit: Duration, flow: &Flow, stream: &StreamRecord) -> String {
    let count = not_in_time(stream);
    let packets = if count == 1 {
        "1 packet was".to_owned()
    } else {
        format!("{count} packets were")
    };
    let after = if flow.deadline == Some(limit) {
        "their deadline".to_owned()
    } else {
        format!("{limit}")
    };
    let all_delivered_in_time = stream.latency.count == 0
        || flow
            .deadline
            .is_some_and(|deadline| stream.latency.max <= deadline);
    if all_delivered_in_time {
        format!("{packets} still under way after {after}")
    } else {
        format!("{packets} late or still under way after {after}")
    }
}

/// Judges what is required of the bound.
fn judge_bound(
    requirement: &Requirement,
    flow: &Flow,
    bound: Option<Duration>,
    reasons: &mut Vec<String>,
) -> Verdict {
    let Some(limit) = requirement.bound.and_then(|limit| resolve(limit, flow)) else {
        return Verdict::Unjudged;
    };
    match bound {
        None => {
            reasons.push("there is no proved bound; `rtether bound` says why".into());
            Verdict::NoAnswer
        }
        Some(bound) if bound > limit => {
            let over = bound - limit;
            reasons.push(format!("bound {bound} exceeds {limit} by {over}"));
            Verdict::Late
        }
        Some(_) => Verdict::Ok,
    }
}

fn resolve(limit: Limit, flow: &Flow) -> Option<Duration> {
    match limit {
        Limit::Deadline => flow.deadline,
        Limit::Time(time) => Some(time),
    }
}

fn value_of(statistic: Statistic, stream: &StreamRecord) -> Option<Duration> {
    match statistic {
        Statistic::Mean => stream.latency.mean(),
        Statistic::Quantile { part, whole } => stream.quantile(part, whole),
        Statistic::Max => (stream.latency.count > 0).then_some(stream.latency.max),
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
