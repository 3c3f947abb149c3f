//! Differences as rows and JSON.

use rtether_model::quantity::Duration;
use serde_json::{Value, json};

use super::compare::{Comparison, Difference, Side};
use crate::report::table::{Cell, Table};
use crate::report::text::{plural, time};

/// Method used where many analyses are needed at once.
pub(super) const METHOD: &str = "total-flow";
/// Note on the method, since `rtether bound` may show a lower number for the same stream.
pub(super) const METHOD_NOTE: &str =
    "Bounds of total flow analysis only; `rtether bound` uses the least of all methods.";

/// Joins two words with an arrow; returns one if both are equal.
fn step(before: Option<String>, after: Option<String>) -> String {
    match (before, after) {
        (Some(before), Some(after)) if before == after => after,
        (Some(before), Some(after)) => format!("{before} > {after}"),
        (Some(before), None) => format!("{before} > gone"),
        (None, Some(after)) => format!("new > {after}"),
        (None, None) => String::new(),
    }
}

fn words(difference: &Difference, of: impl Fn(&Side) -> String) -> String {
    step(difference.before.as_ref().map(&of), difference.after.as_ref().map(&of))
}

fn or_dash(span: Option<Duration>) -> String {
    span.map_or_else(|| "-".into(), time)
}

/// Returns one row per difference; before and after in each cell for people.
pub(super) fn rows(differences: &[Difference]) -> Table {
    let shown = |text: String| Cell::default().shown(text);
    let reason = |d: &&Difference| {
        let side = d.after.as_ref()?;
        side.reason.clone().or(side.only_if.clone())
    };
    Table::of(differences)
        .both("flow", "flow", |d| &d.flow)
        .shown("talker > listener", |d| format!("{} > {}", d.talker, d.listener))
        .rank(2)
        .file("talker", |d| &d.talker)
        .file("listener", |d| &d.listener)
        .amount("bound", |d| shown(words(d, |side| side.bound.map_or_else(|| "none".into(), time))))
        .amount("deadline", |d| shown(words(d, |side| or_dash(side.deadline))))
        .amount("slack", |d| shown(words(d, |side| or_dash(side.slack()))))
        .shown("verdict", |d| words(d, |side| super::words(side.verdict)))
        .file("bound_before_ns", |d| d.before.as_ref()?.bound)
        .file("bound_after_ns", |d| d.after.as_ref()?.bound)
        .file("slack_before_ns", |d| d.before.as_ref()?.slack())
        .file("slack_after_ns", |d| d.after.as_ref()?.slack())
        .file("verdict_before", |d| Some(d.before.as_ref()?.verdict))
        .file("verdict_after", |d| Some(d.after.as_ref()?.verdict))
        .file("reason", reason)
        .when(differences.iter().any(|d| reason(&d).is_some()), |rows| {
            rows.shown("why", |d| reason(d).unwrap_or_default()).rank(3)
        })
        .done()
}

/// Returns a sentence with the number of streams and of verdicts that differ.
pub(super) fn summary(comparison: &Comparison) -> String {
    let differences = &comparison.differences;
    if differences.is_empty() {
        return format!("No change: {}.", plural(comparison.same, "stream"));
    }
    let both = |d: &Difference| Some((d.before.as_ref()?.verdict, d.after.as_ref()?.verdict));
    let verdicts = differences.iter().filter_map(both);
    let changed = verdicts.filter(|(before, after)| before != after);
    format!(
        "{} changed, {} of them in the verdict; {} unchanged.",
        plural(differences.len(), "stream"),
        changed.count(),
        comparison.same
    )
}

/// Returns the differences for JSON.
pub(super) fn list(differences: &[Difference]) -> Vec<Value> {
    let side = |side: &Option<Side>| {
        side.as_ref().map_or(Value::Null, |side| {
            json!({
                "bound_ns": ns(side.bound),
                "deadline_ns": ns(side.deadline),
                "slack_ns": ns(side.slack()),
                "verdict": side.verdict,
                "reason": side.reason,
                "only_if": side.only_if,
            })
        })
    };
    let all = differences.iter().map(|difference| {
        json!({
            "name": difference.flow,
            "talker": difference.talker,
            "listener": difference.listener,
            "before": side(&difference.before),
            "after": side(&difference.after),
        })
    });
    all.collect()
}

pub(super) fn ns(span: Option<Duration>) -> Value {
    span.map_or(Value::Null, rtether_report::number::ns)
}
