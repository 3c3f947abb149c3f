//! What each rule of a switch has decided, as a table for files and for the page.

use rtether_model::record::{IngressRecord, NodeRecord};

use super::checked::Checked;
use super::table::Table;
use crate::rules::COUNTERS;

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

/// Returns the rules of all switches.
pub(super) fn rules(checked: &Checked) -> impl Iterator<Item = (&NodeRecord, &IngressRecord)> {
    let nodes = checked.results.record.nodes.iter();
    nodes.flat_map(|node| node.ingress.iter().map(move |rule| (node, rule)))
}
