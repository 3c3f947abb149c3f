//! Compares two analyses: the effect of a change of the plant on every stream.

use std::collections::BTreeMap;

use rtether_bounds::{Analysis, Reason, StreamBound};
use rtether_model::quantity::Duration;

use super::condition::only_if;
use super::names::Names;
use super::{Judged, reason, verdict};
use crate::scenario::Scenario;

/// A scenario with its bounds.
#[derive(Clone, Copy, Debug)]
pub struct Answer<'a> {
    /// The scenario.
    pub scenario: &'a Scenario,
    /// Its bounds.
    pub analysis: &'a Analysis,
}

/// One stream in two analyses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Name of the flow.
    pub flow: String,
    /// Name of its talker; after the change, if the stream still exists.
    pub talker: String,
    /// Name of the listener.
    pub listener: String,
    /// Before the change; `None` for an added stream.
    pub before: Option<Side>,
    /// After the change; `None` for a removed stream.
    pub after: Option<Side>,
}

/// Result of one analysis for a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Side {
    /// The bound; `None` if the stream has none.
    pub bound: Option<Duration>,
    /// The deadline of the flow.
    pub deadline: Option<Duration>,
    /// `ok`, `if-delivered`, `if-nothing-dropped`, `not-proved`, `no-bound` or `unjudged`.
    pub verdict: &'static str,
    /// What must drop nothing for the bound to be a proof.
    pub only_if: Option<String>,
    /// Why there is no bound, with names.
    pub reason: Option<String>,
    /// Whether the reason is an overloaded place.
    pub is_overload: bool,
}

impl Side {
    fn of(
        Answer { scenario, analysis }: Answer<'_>,
        names: &Names<'_>,
        judged: Judged<'_>,
    ) -> Self {
        let (stream, condition) = judged;
        let why = stream.bound.as_ref().err();
        Self {
            bound: stream.bound.as_ref().ok().map(|bound| bound.latency),
            deadline: scenario.flows[stream.flow.index()].deadline,
            verdict: verdict(scenario, judged),
            only_if: condition.map(|own| only_if(names, analysis, own)),
            reason: why.map(|why| reason(scenario, why)),
            is_overload: matches!(why, Some(Reason::Overload { .. })),
        }
    }

    /// Returns deadline minus bound, if both exist; negative if the deadline may be missed.
    pub fn slack(&self) -> Option<Duration> {
        Some(self.deadline? - self.bound?)
    }
}

/// Comparison of two analyses: streams that differ, and the number of equal ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// In the order of the analysis after the change; removed streams come first.
    pub differences: Vec<Difference>,
    /// Streams with the same bound and the same deadline.
    pub same: usize,
}

/// Compares two analyses; streams correspond by the names of flow and listener.
pub fn compare(before: Answer<'_>, after: Answer<'_>) -> Comparison {
    let mut old: BTreeMap<(&str, &str), Judged<'_>> = BTreeMap::new();
    for judged in before.analysis.judged() {
        old.insert(names(before.scenario, judged.0), judged);
    }
    let (names_before, names_after) = (Names::new(before.scenario), Names::new(after.scenario));
    let mut comparison = Comparison::default();
    let mut came_or_changed = Vec::new();
    for judged in after.analysis.judged() {
        let stream = judged.0;
        let key = names(after.scenario, stream);
        let old = old.remove(&key);
        let old = old.map(|old| Side::of(before, &names_before, old));
        let new = Side::of(after, &names_after, judged);
        if old.as_ref() == Some(&new) {
            comparison.same += 1;
        } else {
            came_or_changed.push(difference(after.scenario, stream, old, Some(new)));
        }
    }
    let gone = before.analysis.judged();
    let gone = gone.filter(|(stream, _)| old.contains_key(&names(before.scenario, stream)));
    comparison.differences = gone
        .map(|judged| {
            let side = Side::of(before, &names_before, judged);
            difference(before.scenario, judged.0, Some(side), None)
        })
        .chain(came_or_changed)
        .collect();
    comparison
}

/// Returns the names of flow and listener.
fn names<'a>(scenario: &'a Scenario, stream: &StreamBound) -> (&'a str, &'a str) {
    let flow = &scenario.flows[stream.flow.index()];
    let listener = scenario.network.node(stream.listener);
    (&flow.name, &listener.name)
}

fn difference(
    scenario: &Scenario,
    stream: &StreamBound,
    before: Option<Side>,
    after: Option<Side>,
) -> Difference {
    let (flow, listener) = names(scenario, stream);
    let talker = scenario.flows[stream.flow.index()].talker;
    Difference {
        flow: flow.to_owned(),
        talker: scenario.network.node(talker).name.clone(),
        listener: listener.to_owned(),
        before,
        after,
    }
}
