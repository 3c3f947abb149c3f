//! Tables of shared media and of the layer in end nodes, below the verdicts.

use std::cmp::Reverse;

use rtether_model::record::ClassRecord;

use super::super::checked::Checked;
use super::super::format::Part;
use super::super::json::{bulk_wait, mean_wait};
use super::super::table::Table;
use super::super::text::{percent, plural, share};
use super::plain;
use crate::domain::Domain;

/// Most rows of a table; the files have all rows.
const MOST_ROWS: usize = 12;

/// Returns the non-empty tables, cut to some rows unless `all` are wanted.
pub(super) fn tables(checked: &Checked, all: bool) -> Vec<Table> {
    let tables = [media(checked), queues(checked), smoothers(checked)].into_iter();
    let tables = tables.filter(|table| !table.is_empty());
    let kept = if all { usize::MAX } else { MOST_ROWS };
    tables
        .map(|mut table| {
            table.truncate(kept);
            table
        })
        .collect()
}

/// Returns the tables, each with a note on the rows left out.
pub(super) fn parts(checked: &Checked, all: bool) -> Vec<Part> {
    let whole = tables(checked, true).into_iter();
    let shown = tables(checked, all).into_iter().zip(whole);
    let parts = shown.flat_map(|(table, whole)| {
        let rest = match whole.len() - table.len() {
            0 => String::new(),
            more => format!("{} more with --all\n", plural(more, "row")),
        };
        [table.into(), Part::Lines(rest + "\n")]
    });
    parts.collect()
}

fn media(checked: &Checked) -> Table {
    let observed = checked.results.record.observed;
    let decimals = |value: Option<f64>| value.map(|value| format!("{value:.3}"));
    Table::of(checked.domains())
        .shown("shared medium", |domain| plain(&domain.name(&checked.scenario.network)))
        .amount("load", |domain| percent(domain.record.utilization(observed)))
        .amount("wasted", |domain| percent(share(domain.record.wasted, observed)))
        .amount("sent", Domain::sent)
        .amount("collisions", Domain::collisions)
        .amount("per frame", |domain| decimals(domain.collisions_per_frame()))
        .amount("excessive", |domain| domain.access().excessive_collisions)
        .amount("late", |domain| domain.access().late_collisions)
        .amount("fairness", |domain| decimals(domain.fairness_frames()))
        .done()
}

/// Lists the queues of all layers, sorted by drops, then by mean wait, largest first.
fn queues(checked: &Checked) -> Table {
    let mut found: Vec<(String, &ClassRecord)> = Vec::new();
    for node in &checked.results.record.nodes {
        let Some(layer) = &node.layer else { continue };
        let name = checked.node_name(node.node);
        for (direction, classes) in [("receive", &layer.receive), ("transmit", &layer.transmit)] {
            let numbered = classes.iter().enumerate();
            found.extend(numbered.map(|(q, class)| (format!("{name} {direction} {q}"), class)));
        }
    }
    let key = |class: &ClassRecord| (class.dropped, mean_wait(class));
    found.sort_by_key(|(_, class)| Reverse(key(class)));
    Table::of(found)
        .shown("layer queue", |(name, _)| plain(name))
        .amount("arrived", |(_, class)| class.arrived)
        .amount("dropped", |(_, class)| class.dropped)
        .amount("largest depth", |(_, class)| class.depth_max)
        .amount("mean wait", |(_, class)| mean_wait(class))
        .amount("promoted", |(_, class)| class.promoted)
        .amount("idle releases", |(_, class)| class.idle_releases)
        .done()
}

fn smoothers(checked: &Checked) -> Table {
    let nodes = checked.results.record.nodes.iter();
    let smoothers = nodes.filter_map(|node| Some((node, node.layer.as_ref()?.smoother.as_ref()?)));
    Table::of(smoothers)
        .shown("smoother", |(node, _)| plain(checked.node_name(node.node)))
        .amount("real-time octets", |(_, of)| of.real_time.get())
        .amount("bulk octets", |(_, of)| of.bulk.get())
        .amount("dropped", |(_, of)| of.dropped)
        .amount("congestion signals", |(_, of)| of.signals)
        .amount("bulk waited", |(_, of)| bulk_wait(of))
        .amount("bulk depth", |(_, of)| of.bulk_depth_max)
        .done()
}
