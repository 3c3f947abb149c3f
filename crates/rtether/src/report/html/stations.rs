//! End stations by the worst of their streams.

use rtether_model::quantity::Duration;

use super::super::checked::Checked;
use super::super::markup::Markup;
use super::super::page::TableCell;
use super::cells::{mark_cell, time_cell};
use super::plant::{number, table};
use super::{MOST_ROWS, left_out};

const COLUMNS: [(&str, bool); 7] = [
    ("verdict", false),
    ("end station", false),
    ("streams", true),
    ("failed", true),
    ("max", true),
    ("least margin", true),
    ("worst stream", false),
];

/// Returns a row for each end station where streams start or end; `order` has the worst first.
pub(super) fn table_of(checked: &Checked, order: &[usize]) -> Markup {
    let mut streams = vec![Vec::new(); checked.scenario.network.nodes.len()];
    let mut nodes = Vec::new();
    for &index in order {
        let stream = checked.stream(index);
        let mut ends = vec![stream.flow.talker, stream.record.listener_id()];
        ends.dedup();
        for node in ends {
            if streams[node.index()].is_empty() {
                nodes.push(node);
            }
            streams[node.index()].push(index);
        }
    }
    let mut all = left_out(nodes.len(), "end station", "worst");
    let rows = nodes.into_iter().take(MOST_ROWS).map(|node| {
        let own = &streams[node.index()];
        let failed = checked.count_of(own.iter().copied()).failed();
        (row(checked, checked.node_name(node), own), failed > 0)
    });
    all.push(table(&COLUMNS, rows.collect()));
    all
}

fn row(checked: &Checked, name: &str, own: &[usize]) -> Vec<TableCell> {
    let streams = || own.iter().map(|&index| checked.stream(index));
    let worst = checked.stream(own[0]);
    let counts = checked.count_of(own.iter().copied());
    let margin = streams().filter_map(|stream| stream.assessment.margin).min();
    let is_over = margin.is_some_and(Duration::is_negative);
    let least = time_cell(margin);
    let count = |value: usize| number(u64::try_from(value).unwrap_or(u64::MAX));
    vec![
        mark_cell(worst.standing()),
        TableCell::text(name).class("name"),
        count(counts.streams),
        count(counts.failed()),
        time_cell(streams().filter_map(|stream| stream.max()).max()),
        if is_over { least.class("n over") } else { least },
        TableCell::text(checked.stream_name(&worst)).class("why"),
    ]
}
