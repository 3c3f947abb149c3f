//! Differences as rows and JSON.

use rtether_model::quantity::Duration;
use rtether_report::number::Ns;
use rtether_report::table::{Cell, Table};
use rtether_report::text::{plural, time};
use schemars::JsonSchema;
use serde::Serialize;

use super::compare::{Comparison, Difference, Side};

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

/// A stream that differs, as documents have it.
#[derive(Serialize, JsonSchema)]
pub(crate) struct DifferenceJson<'a> {
    /// Name of the flow.
    name: &'a str,
    /// Name of its talker; after the change, if the stream still exists.
    talker: &'a str,
    /// Name of the listener.
    listener: &'a str,
    /// Before the change; `null` for an added stream.
    before: Option<SideJson<'a>>,
    /// After the change; `null` for a removed stream.
    after: Option<SideJson<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct SideJson<'a> {
    /// The bound; `null` if the stream has none.
    bound_ns: Option<Ns>,
    /// Deadline of the flow.
    deadline_ns: Option<Ns>,
    /// The deadline minus the bound.
    slack_ns: Option<Ns>,
    /// `ok`, `if-delivered`, `if-nothing-dropped`, `not-proved`, `no-bound` or `unjudged`.
    verdict: &'static str,
    /// Why there is no bound.
    reason: Option<&'a str>,
    /// What must drop nothing for the bound to be a proof, in words.
    only_if: Option<&'a str>,
}

impl<'a> SideJson<'a> {
    fn of(side: &'a Side) -> Self {
        Self {
            bound_ns: side.bound.map(Ns),
            deadline_ns: side.deadline.map(Ns),
            slack_ns: side.slack().map(Ns),
            verdict: side.verdict,
            reason: side.reason.as_deref(),
            only_if: side.only_if.as_deref(),
        }
    }
}

/// Returns the differences as documents have them.
pub(super) fn list(differences: &[Difference]) -> Vec<DifferenceJson<'_>> {
    let all = differences.iter().map(|difference| DifferenceJson {
        name: &difference.flow,
        talker: &difference.talker,
        listener: &difference.listener,
        before: difference.before.as_ref().map(SideJson::of),
        after: difference.after.as_ref().map(SideJson::of),
    });
    all.collect()
}
