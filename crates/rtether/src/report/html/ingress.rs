//! Rules of switches on the page.

use super::super::checked::Checked;
use super::super::ingress::rules;
use super::super::markup::Markup;
use super::super::page::TableCell;
use super::{number, table};
use crate::rules::COUNTERS;

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
    table(&names, rows)
}
