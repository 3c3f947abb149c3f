//! Judges one stream by its requirements.

use rtether_bounds::{Analysis, Bound, Effect};
use rtether_model::flow::Flow;
use rtether_model::quantity::Duration;
use rtether_model::record::StreamRecord;

use super::{Assessment, Blame, Column, Judged, Standing, Verdict, name_of};
use crate::bound::condition::only_if;
use crate::bound::names::Names;
use crate::scenario::{Limit, Loss, Requirement, Statistic};

/// Requirements of one stream and their results so far.
pub(super) struct Judge<'a> {
    pub(super) flow: &'a Flow,
    stream: &'a StreamRecord,
    /// Source of the packets.
    column: Column,
    /// Verdict of all requirements on packets.
    seen: Verdict,
    /// Verdict of all requirements on the bound.
    proved: Verdict,
    /// The requirement that failed worst.
    worst: Option<Failure>,
    /// Whether a requirement on packets is one on latency.
    has_latency: bool,
    /// Lowest limit on latency.
    limit: Option<Duration>,
    /// Lowest limit on the bound.
    to_prove: Option<Duration>,
    reasons: Vec<String>,
}

/// Result of the analysis for one stream.
pub(super) enum Proof<'a> {
    /// No analysis was made.
    Unasked,
    /// The analysis found no bound.
    Missing,
    Bound(&'a Bound),
    /// The bound is a proof only if nothing is dropped, with what must not be, in words.
    If(&'a Bound, Effect, String),
}

impl<'a> Proof<'a> {
    pub(super) fn of(analysis: Option<(&'a Analysis, &Names<'_>)>, stream: usize) -> Self {
        let Some((analysis, names)) = analysis else {
            return Self::Unasked;
        };
        let bound = analysis.streams.get(stream);
        let bound = bound.and_then(|stream| stream.bound.as_ref().ok());
        match (bound, analysis.condition(stream)) {
            (None, _) => Self::Missing,
            (Some(bound), None) => Self::Bound(bound),
            (Some(bound), Some(condition)) => {
                let words = only_if(names, analysis, condition);
                Self::If(bound, condition.effect, words)
            }
        }
    }

    /// Returns the bound, whatever it rests on.
    const fn bound(&self) -> Option<&'a Bound> {
        match self {
            Self::Unasked | Self::Missing => None,
            Self::Bound(bound) | Self::If(bound, ..) => Some(bound),
        }
    }
}

struct Failure {
    verdict: Verdict,
    column: Column,
    margin: Option<Duration>,
    /// Index of its reason.
    reason: usize,
}

impl<'a> Judge<'a> {
    pub(super) fn new(flow: &'a Flow, stream: &'a StreamRecord, column: Column) -> Self {
        Self {
            flow,
            stream,
            column,
            seen: Verdict::Unjudged,
            proved: Verdict::Unjudged,
            worst: None,
            has_latency: false,
            limit: flow.deadline,
            to_prove: None,
            reasons: Vec::new(),
        }
    }

    /// Records the result of one requirement; `margin` is limit minus value.
    fn note(&mut self, column: Column, found: Verdict, margin: Option<Duration>, reason: String) {
        let of = match column {
            Column::Bound => &mut self.proved,
            Column::Simulated | Column::Measured => &mut self.seen,
        };
        *of = (*of).max(found);
        let is_worse = |known: &Failure| found > known.verdict;
        if found.is_failure() && self.worst.as_ref().is_none_or(is_worse) {
            self.worst =
                Some(Failure { verdict: found, column, margin, reason: self.reasons.len() });
        }
        if !reason.is_empty() {
            self.reasons.push(reason);
        }
    }

    fn hold(&mut self) {
        self.seen = self.seen.max(Verdict::Ok);
    }

    /// Judges the requirements on packets.
    pub(super) fn seen(&mut self, requirement: &Requirement) {
        let statistics = match self.column {
            Column::Measured if !requirement.measured.is_empty() => &requirement.measured,
            Column::Simulated | Column::Bound | Column::Measured => &requirement.simulated,
        };
        for &(statistic, limit) in statistics {
            if let Some(limit) = resolve(limit, self.flow) {
                self.limit = Some(self.limit.map_or(limit, |least| Ord::min(least, limit)));
                self.has_latency = true;
                self.statistic(statistic, limit);
            }
        }
        if let Some(allowed) = requirement.lost.filter(|_| self.flow.is_real_time()) {
            self.lost(allowed);
        }
        if let Some((allowed, deadline)) = requirement.miss_per_billion.zip(self.flow.deadline) {
            self.has_latency = true;
            self.missed(allowed, deadline);
        }
    }

    fn statistic(&mut self, statistic: Statistic, limit: Duration) {
        let (flow, stream) = (self.flow, self.stream);
        let value = value_of(statistic, stream);
        if value.is_none_or(|value| value <= limit)
            && flow.deadline.is_some_and(|deadline| limit <= deadline)
            && exceeds_under_way(statistic, stream)
        {
            // Packets in flight will be later than any that arrived, by an unknown amount: no
            // margin.
            let reason = under_way(limit, flow, stream);
            return self.note(self.column, Verdict::Late, None, reason);
        }
        match value {
            None => self.nothing_delivered(),
            Some(value) if value > limit => {
                let name = name_of(statistic);
                let over = value - limit;
                let reason = format!("{name} {value} exceeds {limit} by {over}");
                self.note(self.column, Verdict::Late, Some(limit - value), reason);
            }
            Some(_) => self.hold(),
        }
    }

    fn lost(&mut self, allowed: Loss) {
        let (dropped, released) = (self.stream.dropped, self.stream.released);
        if !allowed.permits(dropped, released) {
            let of = match allowed {
                Loss::Count(_) => String::new(),
                Loss::PerBillion(_) => format!("of {released} "),
            };
            let reason = format!("{dropped} {of}packets lost, {allowed} accepted");
            self.note(self.column, Verdict::Lost, None, reason);
        } else {
            self.hold_if_delivered();
        }
    }

    fn missed(&mut self, allowed: u64, deadline: Duration) {
        let (missed, released) = (self.stream.missed, self.stream.released);
        if u128::from(missed) * 1_000_000_000 > u128::from(allowed) * u128::from(released) {
            let reason = format!("{missed} of {released} packets late or lost");
            let margin = largest(self.stream).map(|max| deadline - max);
            let margin = margin.filter(|margin| margin.is_negative());
            self.note(self.column, Verdict::Late, margin, reason);
        } else {
            self.hold_if_delivered();
        }
    }

    /// Holds a requirement that lost and late packets do not break: without a packet that arrived,
    /// none of them was seen, which says nothing.
    fn hold_if_delivered(&mut self) {
        if self.stream.delivered > 0 {
            self.hold();
        } else {
            self.nothing_delivered();
        }
    }

    fn nothing_delivered(&mut self) {
        if self.stream.released == 0 {
            return self.nothing_released();
        }
        let reason = "no packet was delivered".into();
        self.note(self.column, Verdict::NoAnswer, None, reason);
    }

    fn nothing_released(&mut self) {
        let refusal = self.stream.channel.and_then(|own| own.refusal());
        let reason = match refusal {
            Some(refusal) => format!("its channel was refused: {refusal}"),
            None => "no packet was released".into(),
        };
        self.note(self.column, Verdict::NoAnswer, None, reason);
    }

    /// Judges the requirement on the bound.
    pub(super) fn proved(&mut self, requirement: &Requirement, proof: &Proof<'_>) {
        let Some(limit) = requirement.bound.and_then(|limit| resolve(limit, self.flow)) else {
            return;
        };
        self.to_prove = Some(self.to_prove.map_or(limit, |least| Ord::min(least, limit)));
        match proof {
            Proof::Unasked => {}
            Proof::Missing => {
                let reason = "there is no proved bound; `rtether bound` says why".into();
                self.note(Column::Bound, Verdict::NoAnswer, None, reason);
            }
            &Proof::Bound(&Bound { latency: bound, .. })
            | &Proof::If(&Bound { latency: bound, .. }, ..)
                if bound > limit =>
            {
                let over = bound - limit;
                let reason = format!("bound {bound} exceeds {limit} by {over}");
                self.note(Column::Bound, Verdict::NotProved, Some(limit - bound), reason);
            }
            Proof::Bound(_) => self.proved = self.proved.max(Verdict::Ok),
            Proof::If(_, _, words) => self.not_sure(words),
        }
    }

    /// Judges a required proof that needs nothing to be dropped: a lost packet shows that it fails.
    fn not_sure(&mut self, words: &str) {
        let dropped = self.stream.dropped;
        let (verdict, seen) = if dropped > 0 {
            (Verdict::Lost, format!(", and {dropped} packets were lost"))
        } else {
            (Verdict::NoAnswer, String::new())
        };
        let reason = format!("proved only {words}{seen}");
        self.note(Column::Bound, verdict, None, reason);
    }

    /// Combines the results.
    pub(super) fn conclude(self, index: usize, proof: &Proof<'_>) -> Assessment {
        let known = proof.bound();
        let judged = match self.limit.or(self.to_prove) {
            _ if self.has_latency => Judged::Latency,
            Some(_) => Judged::Other,
            None => Judged::NoLimit,
        };
        let seen = super::seen(self.seen, self.stream, judged);
        let is_measured = self.column == Column::Measured;
        let is_within = |limit: Option<Duration>| {
            let both = known.zip(limit);
            both.is_some_and(|(bound, limit)| bound.latency <= limit)
        };
        let to_prove = self.to_prove.or(self.flow.deadline);
        let said = match (proof, to_prove) {
            (Proof::Unasked, _) | (_, None) => Standing::Unjudged,
            (Proof::Missing, Some(_)) => Standing::NoBound,
            (Proof::Bound(_), limit) if is_within(limit) => Standing::Proved,
            (Proof::If(_, effect, _), limit) if is_within(limit) => {
                Standing::of_proof(Some(*effect))
            }
            (Proof::Bound(_) | Proof::If(..), Some(_)) => Standing::NotProved,
        };
        let failed = self.worst.as_ref().map(|worst| worst.column);
        let mut assessment = Assessment {
            stream: index,
            verdict: self.seen.max(self.proved),
            failed,
            simulated: if is_measured { Standing::Unjudged } else { seen },
            bound: said,
            measured: if is_measured { seen } else { Standing::Unjudged },
            margin: self.margin(),
            limit: self.limit.into_iter().chain(self.to_prove).min(),
            responsible: self.blame(failed, known),
            is_proved: said == Standing::Proved && is_within(self.limit),
            reasons: self.reasons,
            only_if: match proof {
                Proof::If(_, _, words) => Some(words.clone()),
                Proof::Unasked | Proof::Missing | Proof::Bound(_) => None,
            },
            judged,
        };
        if let Some(worst) = &self.worst {
            assessment.reasons[..=worst.reason].rotate_right(1);
        }
        assessment
    }

    fn margin(&self) -> Option<Duration> {
        if let Some(worst) = &self.worst {
            return worst.margin;
        }
        // A packet in flight past its deadline will be later than any that arrived.
        let margin = self.flow.deadline? - largest(self.stream)?;
        (margin.is_negative() || not_in_time(self.stream) == 0).then_some(margin)
    }

    /// Returns where most of the worst packet's latency, or of the bound that failed, is spent.
    fn blame(&self, failed: Option<Column>, bound: Option<&Bound>) -> Option<Blame> {
        if failed == Some(Column::Bound) {
            let bound = bound?;
            let hop = bound.responsible()?;
            return Some(Blame {
                column: Column::Bound,
                place: hop.place,
                delay: hop.delay(),
                of: bound.latency,
            });
        }
        let worst = self.stream.worst?;
        let (place, delay) = worst.responsible;
        Some(Blame { column: self.column, place, delay, of: worst.latency })
    }
}

fn largest(stream: &StreamRecord) -> Option<Duration> {
    Some(stream.worst?.latency)
}

/// Returns the packets that missed their deadline without being dropped: delivered late, or still
/// in flight past it at the end. Zero without a deadline.
const fn not_in_time(stream: &StreamRecord) -> u64 {
    stream.missed.saturating_sub(stream.dropped)
}

/// Returns whether a quantile over all packets that were not dropped, including those in flight,
/// exceeds the deadline.
///
/// Statistics cover delivered packets only. In a starved queue the late packets never arrive, so
/// the delivered ones look good. Packets in flight within their deadline count as in time.
fn exceeds_under_way(statistic: Statistic, stream: &StreamRecord) -> bool {
    let (part, whole) = match statistic {
        // The mean of unfinished packets is undefined; that of delivered packets is judged as it
        // is.
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
    let packets =
        if count == 1 { "1 packet was".to_owned() } else { format!("{count} packets were") };
    let after =
        if flow.deadline == Some(limit) { "their deadline".to_owned() } else { format!("{limit}") };
    let all_delivered_in_time = stream.latency.count == 0
        || flow.deadline.is_some_and(|deadline| stream.latency.max <= deadline);
    if all_delivered_in_time {
        format!("{packets} still under way after {after}")
    } else {
        format!("{packets} late or still under way after {after}")
    }
}

/// Returns the time that a limit stands for; `None` for a flow without a deadline.
pub(super) fn resolve(limit: Limit, flow: &Flow) -> Option<Duration> {
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
