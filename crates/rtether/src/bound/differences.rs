//! Differences as table, JSON and CSV.

use comfy_table::{Cell, CellAlignment, LineStyle, Table, TableStyle};
use rtether_model::quantity::Duration;
use serde_json::{Value, json};

use super::compare::{Comparison, Difference, Side};
use crate::report::text::{exact_ns, plural, time};
use crate::sheet::write;

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
    step(
        difference.before.as_ref().map(&of),
        difference.after.as_ref().map(&of),
    )
}

fn or_dash(span: Option<Duration>) -> String {
    span.map_or_else(|| "-".into(), time)
}

/// Returns the differences as a table, before and after in each cell.
pub(super) fn table(differences: &[Difference]) -> Table {
    let mut table = Table::new();
    let rule = LineStyle::none().fill('\u{2500}').junction('\u{2500}');
    table.load_style(TableStyle::new().header_separator(rule));
    let reason = |difference: &Difference| difference.after.as_ref()?.reason.clone();
    let has_reasons = differences.iter().any(|d| reason(d).is_some());
    let mut header = vec![
        "flow",
        "talker > listener",
        "bound",
        "deadline",
        "slack",
        "verdict",
    ];
    if has_reasons {
        header.push("why");
    }
    table.set_header(header);
    for difference in differences {
        let mut cells = vec![
            difference.flow.clone(),
            format!("{} > {}", difference.talker, difference.listener),
            words(difference, |side| {
                side.bound.map_or_else(|| "none".into(), time)
            }),
            words(difference, |side| or_dash(side.deadline)),
            words(difference, |side| or_dash(side.slack())),
            words(difference, |side| super::words(side.verdict)),
        ];
        if has_reasons {
            cells.push(reason(difference).unwrap_or_default());
        }
        table.add_row(cells.into_iter().map(Cell::new));
    }
    for column in 2..5 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
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
    span.map_or(Value::Null, crate::report::number::ns)
}

/// Returns one CSV row per difference.
pub(super) fn csv(differences: &[Difference]) -> String {
    let header = [
        "flow",
        "talker",
        "listener",
        "bound_before_ns",
        "bound_after_ns",
        "slack_before_ns",
        "slack_after_ns",
        "verdict_before",
        "verdict_after",
        "reason",
    ];
    let exact = |span: Option<Duration>| span.map_or_else(String::new, |s| exact_ns(s.as_ps()));
    let rows = differences.iter().map(|difference| {
        let sides = [&difference.before, &difference.after].map(Option::as_ref);
        let bounds = sides.map(|side| exact(side.and_then(|side| side.bound)));
        let slacks = sides.map(|side| exact(side.and_then(Side::slack)));
        let verdicts = sides.map(|side| side.map_or("", |side| side.verdict).to_owned());
        let reason = sides[1].and_then(|side| side.reason.clone());
        let names = [&difference.flow, &difference.talker, &difference.listener];
        let cells = names.into_iter().cloned().chain(bounds).chain(slacks);
        let cells = cells.chain(verdicts).chain([reason.unwrap_or_default()]);
        cells.collect()
    });
    write(&header, rows)
}
