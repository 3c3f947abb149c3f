//! Rules of switches for frames that arrive: what each has decided, for all formats, and what each
//! cause is called.

use rtether_model::ingress::Cause;
use rtether_model::record::{IngressRecord, NodeRecord};
use schemars::JsonSchema;
use serde::Serialize;

use super::checked::Checked;
use super::html::{number, table as html_table};
use super::markup::Markup;
use super::page::TableCell;
use super::table::Table;

/// What is shown above the table of rules.
pub(super) const NOTE: &str = "Frames that each rule decided on, and those of them above the limit of \
    its policer, which were dropped or demoted, larger than its filter lets through, or blocked since \
    one was larger, which were dropped. Ports and rules count from 1.";

/// Counters of a rule, each with its column in files and on the page.
const COUNTERS: [(Cause, &str, &str); Cause::ALL.len()] = [
    (Cause::Exceeded, "exceeded_frames", "above the limit"),
    (Cause::Oversize, "oversize_frames", "too large"),
    (Cause::Blocked, "blocked_frames", "blocked"),
];

/// A rule at a port.
#[derive(Serialize, JsonSchema)]
pub(super) struct RuleJson {
    /// The port, counted from 1.
    port: u16,
    /// The rule, counted from 1.
    rule: u16,
    /// Frames that it decided on.
    matched: u64,
    /// Those of them above the limit of its policer.
    exceeded: u64,
    /// Those of them larger than its filter lets through (`NotPassingSDUCount`).
    oversize: u64,
    /// Those of them that its filter dropped since an earlier one was larger.
    blocked: u64,
}

impl RuleJson {
    pub(super) const fn of(own: &IngressRecord) -> Self {
        Self {
            port: own.port + 1,
            rule: own.rule + 1,
            matched: own.counts.matched,
            exceeded: own.counts.of(Cause::Exceeded),
            oversize: own.counts.of(Cause::Oversize),
            blocked: own.counts.of(Cause::Blocked),
        }
    }
}

/// Returns what stopped a frame, in words.
pub(crate) const fn stopped_by(cause: Cause) -> &'static str {
    match cause {
        Cause::Exceeded => "a policer of the switch, whose limit it exceeded",
        Cause::Oversize => "a filter of the switch, for which it was too large (`max_sdu`)",
        Cause::Blocked => "a filter of the switch, blocked since an earlier frame was too large",
    }
}

/// Returns the name of the step that stops frames for a cause.
pub(crate) const fn step(cause: Cause) -> &'static str {
    match cause {
        Cause::Exceeded => "policer",
        Cause::Oversize | Cause::Blocked => "filter",
    }
}

/// Returns why a step may stop frames.
pub(crate) const fn may_stop(cause: Cause) -> &'static str {
    match cause {
        Cause::Exceeded => "not proved kept",
        Cause::Oversize | Cause::Blocked => "frames above its `max_sdu`",
    }
}

/// Returns what lets all frames pass.
pub(crate) const fn to_pass(cause: Cause) -> &'static str {
    match cause {
        Cause::Exceeded => "policers whose limits its flows keep",
        Cause::Oversize | Cause::Blocked => "a `max_sdu` that all frames of its rule keep",
    }
}

/// Returns one row per rule of a switch port; ports and rules count from one.
pub fn table(checked: &Checked) -> Table {
    let rows = Table::of(rules(checked))
        .file("node", |(node, _)| checked.node_name(node.node))
        .file("port", |(_, rule)| u64::from(rule.port) + 1)
        .file("rule", |(_, rule)| u64::from(rule.rule) + 1)
        .file("matched_frames", |(_, rule)| rule.counts.matched);
    let rows = COUNTERS.into_iter().fold(rows, |rows, (cause, name, _)| {
        rows.file(name, move |(_, rule)| rule.counts.of(cause))
    });
    rows.done()
}

/// Returns the table of the page; empty if there are no rules.
pub(super) fn section(checked: &Checked) -> Markup {
    let rows = rules(checked).map(|(node, rule)| {
        let mut cells = vec![
            TableCell::text(checked.node_name(node.node)).class("name"),
            number(u64::from(rule.port) + 1),
            number(u64::from(rule.rule) + 1),
            number(rule.counts.matched),
        ];
        cells.extend(COUNTERS.map(|(cause, ..)| number(rule.counts.of(cause))));
        (cells, false)
    });
    let rows: Vec<_> = rows.collect();
    if rows.is_empty() {
        return Markup::default();
    }
    let mut names = vec![("switch", false), ("port", true), ("rule", true), ("frames", true)];
    names.extend(COUNTERS.map(|(_, _, name)| (name, true)));
    html_table(&names, rows)
}

fn rules(checked: &Checked) -> impl Iterator<Item = (&NodeRecord, &IngressRecord)> {
    let nodes = checked.results.record.nodes.iter();
    nodes.flat_map(|node| node.ingress.iter().map(move |rule| (node, rule)))
}
