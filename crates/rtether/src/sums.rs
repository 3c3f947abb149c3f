//! Requirements over several flows in one column: what is proved, or what was observed.

use rtether_bounds::{Analysis, Effect};
use rtether_model::quantity::Duration;
use rtether_report::number::Ns;
use rtether_report::table::{Cell, Table};
use rtether_report::text::plural;
use schemars::JsonSchema;
use serde::Serialize;

use crate::scenario::Scenario;
use crate::words::Standing;

/// A sum in one column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Added {
    /// The sum; `None` if a flow has no value.
    pub value: Option<Duration>,
    /// What it says; unjudged if the column was not asked for.
    pub standing: Standing,
}

impl Added {
    /// Judges a sum of bounds, which are a proof only if nothing is dropped where any has a condition.
    pub fn proved(
        bounds: Option<Vec<Duration>>,
        limit: Duration,
        condition: Option<Effect>,
    ) -> Self {
        let value = bounds.and_then(add_up);
        let standing = match value {
            None => Standing::NoBound,
            Some(bound) if bound <= limit => Standing::of_proof(condition),
            Some(_) => Standing::NotProved,
        };
        Self { value, standing }
    }

    /// Judges a sum of the largest latencies, of this number of packets.
    pub fn observed(latencies: Option<Vec<Duration>>, limit: Duration, packets: u64) -> Self {
        let value = latencies.and_then(add_up);
        let standing = match value {
            None => Standing::NoAnswer,
            Some(value) if value > limit => Standing::Late,
            Some(_) => Standing::Held { packets },
        };
        Self { value, standing }
    }
}

/// Adds values; `None` without any.
fn add_up(values: Vec<Duration>) -> Option<Duration> {
    let sum = |a: Duration, b: Duration| Duration::from_ps(a.as_ps().saturating_add(b.as_ps()));
    values.into_iter().reduce(sum)
}

/// Returns the name of a sum of these flows.
pub fn name(flows: &[String]) -> String {
    format!("sum of {}", flows.join(", "))
}

/// A requirement over several flows, judged in one column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OneSum {
    /// `sum of request, reply`.
    pub name: String,
    /// The flows.
    pub flows: Vec<String>,
    /// Upper limit.
    pub limit: Duration,
    /// The sum.
    pub added: Added,
}

impl OneSum {
    /// Returns the limit minus the sum.
    pub fn margin(&self) -> Option<Duration> {
        Some(self.limit - self.added.value?)
    }
}

/// Judges the bounds of a scenario.
pub fn proved(scenario: &Scenario, analysis: &Analysis) -> Vec<OneSum> {
    judged(scenario, |streams, limit| {
        let bounds = streams.iter().map(|&index| {
            let stream = analysis.streams.get(index)?;
            Some(stream.bound.as_ref().ok()?.latency)
        });
        let conditions = streams.iter().filter_map(|&index| analysis.condition(index));
        let condition = conditions.map(|own| own.effect).max();
        Added::proved(bounds.collect(), limit, condition)
    })
}

/// Judges the largest latency and the number of packets of each stream.
pub fn observed(scenario: &Scenario, streams: &[(Option<Duration>, u64)]) -> Vec<OneSum> {
    judged(scenario, |own, limit| {
        let values = own.iter().map(|&index| streams.get(index)?.0);
        let packets = own.iter().filter_map(|&index| Some(streams.get(index)?.1));
        Added::observed(values.collect(), limit, packets.sum())
    })
}

/// Judges each sum from the numbers of its streams, in the order of a record; the flows of a sum
/// have one listener each.
fn judged(scenario: &Scenario, judge: impl Fn(&[usize], Duration) -> Added) -> Vec<OneSum> {
    if scenario.sums.is_empty() {
        // The names of thousands of flows need not be sorted.
        return Vec::new();
    }
    let mut first = 0;
    let mut starts = Vec::with_capacity(scenario.flows.len());
    for flow in &scenario.flows {
        starts.push((flow.name.as_str(), first));
        first += flow.listeners.len();
    }
    starts.sort_unstable();
    let stream = |flow: &String| {
        let at = starts.binary_search_by_key(&flow.as_str(), |(name, _)| *name);
        at.map_or(usize::MAX, |at| starts[at].1)
    };
    let sums = scenario.sums.iter().map(|sum| {
        let streams: Vec<usize> = sum.flows.iter().map(stream).collect();
        OneSum {
            name: name(&sum.flows),
            flows: sum.flows.clone(),
            limit: sum.max,
            added: judge(&streams, sum.max),
        }
    });
    sums.collect()
}

/// Returns a row per sum; `title` and `column` name its value for people and in files.
pub fn table(sums: &[OneSum], title: &'static str, column: &'static str) -> Table {
    Table::of(sums)
        .both("sum", "flow", |sum| sum.name.clone())
        .number(title, column, |sum| match sum.added.value {
            Some(value) => value.into(),
            None => Cell::default().shown("none"),
        })
        .number("limit", "deadline_ns", |sum| sum.limit)
        .number("margin", "slack_ns", |sum| sum.margin())
        .both("verdict", "verdict", |sum| {
            let word = sum.added.standing.name();
            Cell::from(word).shown(if sum.added.standing == Standing::Late {
                word.to_uppercase()
            } else {
                word.replace('-', " ")
            })
        })
        .done()
}

/// A sum as documents have it, with a member for its value.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SumJson<'a, V> {
    /// `sum of request, reply`.
    name: &'a str,
    /// Names of the flows.
    flows: &'a [String],
    /// The limit.
    deadline_ns: Ns,
    #[serde(flatten)]
    value: V,
    /// The limit minus the sum.
    margin_ns: Option<Ns>,
    /// What it rests on, as of a flow.
    basis: &'static str,
}

/// Value of a sum that is proved.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BoundOfSum {
    /// Sum of the bounds; `null` if one is missing.
    pub bound_ns: Option<Ns>,
}

/// Value of a sum that was observed.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MaxOfSum {
    /// Sum of the largest latencies; `null` if one is missing.
    pub max_ns: Option<Ns>,
}

/// Returns an object per sum; `value` names its value.
pub fn json<V>(sums: &[OneSum], value: fn(Option<Ns>) -> V) -> Vec<SumJson<'_, V>> {
    let sums = sums.iter().map(|sum| SumJson {
        name: &sum.name,
        flows: &sum.flows,
        deadline_ns: Ns(sum.limit),
        value: value(sum.added.value.map(Ns)),
        margin_ns: sum.margin().map(Ns),
        basis: sum.added.standing.name(),
    });
    sums.collect()
}

/// Returns a sentence on the sums; empty without any.
pub fn said(sums: &[OneSum]) -> String {
    let is_good =
        |sum: &&OneSum| matches!(sum.added.standing, Standing::Proved | Standing::Held { .. });
    let good = sums.iter().filter(is_good).count();
    let word = match sums.first().map(|sum| sum.added.standing) {
        None => return String::new(),
        Some(
            Standing::Proved
            | Standing::IfDelivered
            | Standing::IfNothingDropped
            | Standing::NotProved
            | Standing::NoBound,
        ) => "proved",
        Some(_) => "held",
    };
    let all = plural(sums.len(), "sum");
    match sums.len() - good {
        0 => format!("{all} of delays: {word}.\n"),
        bad => format!("{all} of delays: {good} {word}, {bad} not.\n"),
    }
}
