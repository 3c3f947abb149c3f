//! Tables of shared media and of the layer in end nodes, below the verdicts.

use std::cmp::Reverse;

use rtether_model::record::ClassRecord;

use super::super::checked::Checked;
use super::super::json::{bulk_wait, mean_wait};
use super::super::text::{percent, plural, time, time_or_dash};
use super::{Options, plain};

/// Most rows of a table; the files have all rows.
const MOST_ROWS: usize = 12;

/// A table: titles, rows, and the number of leading text columns.
pub(super) struct Small {
    pub(super) titles: Vec<&'static str>,
    pub(super) rows: Vec<Vec<String>>,
    pub(super) texts: usize,
    /// Number of rows left out.
    pub(super) more: usize,
}

impl Small {
    fn new(titles: &[&'static str], texts: usize, rows: Vec<Vec<String>>, all: bool) -> Self {
        let kept = if all { usize::MAX } else { MOST_ROWS };
        Self {
            titles: titles.to_vec(),
            texts,
            more: rows.len().saturating_sub(kept),
            rows: rows.into_iter().take(kept).collect(),
        }
    }

    /// Returns a note on the rows left out; empty if there are none.
    pub(super) fn rest(&self) -> String {
        match self.more {
            0 => String::new(),
            more => format!("{} more with --all\n", plural(more, "row")),
        }
    }
}

/// Returns the non-empty tables.
pub(super) fn tables(checked: &Checked, all: bool) -> Vec<Small> {
    let mut tables = vec![media(checked, all), queues(checked, all)];
    tables.push(smoothers(checked, all));
    tables.retain(|table| !table.rows.is_empty());
    tables
}

/// Draws the tables one below the other.
pub(super) fn render(checked: &Checked, options: Options) -> String {
    let mut text = String::new();
    for table in tables(checked, options.all) {
        let drawn = super::draw_small(&table, options);
        text.extend([&drawn, "\n", &table.rest(), "\n"]);
    }
    text
}

fn media(checked: &Checked, all: bool) -> Small {
    let titles = [
        "shared medium",
        "load",
        "wasted",
        "sent",
        "collisions",
        "per frame",
        "excessive",
        "late",
        "fairness",
    ];
    let observed = checked.results.record.observed;
    let rows = checked.domains().into_iter().map(|domain| {
        let access = domain.access();
        let wasted = super::text::share(domain.record.wasted, observed);
        let decimals =
            |value: Option<f64>| value.map_or_else(|| "-".into(), |value| format!("{value:.3}"));
        vec![
            plain(&domain.name(&checked.scenario.network)),
            percent(domain.record.utilization(observed)),
            percent(wasted),
            domain.sent().to_string(),
            domain.collisions().to_string(),
            decimals(domain.collisions_per_frame()),
            access.excessive_collisions.to_string(),
            access.late_collisions.to_string(),
            decimals(domain.fairness_frames()),
        ]
    });
    Small::new(&titles, 1, rows.collect(), all)
}

/// Lists the queues of all layers, sorted by drops, then by mean wait, largest first.
fn queues(checked: &Checked, all: bool) -> Small {
    let titles = [
        "layer queue",
        "arrived",
        "dropped",
        "largest depth",
        "mean wait",
        "promoted",
        "idle releases",
    ];
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
    let rows = found.into_iter().map(|(name, class)| {
        vec![
            plain(&name),
            class.arrived.to_string(),
            class.dropped.to_string(),
            class.depth_max.to_string(),
            time_or_dash(mean_wait(class)),
            class.promoted.to_string(),
            class.idle_releases.to_string(),
        ]
    });
    Small::new(&titles, 1, rows.collect(), all)
}

fn smoothers(checked: &Checked, all: bool) -> Small {
    let titles = [
        "smoother",
        "real-time octets",
        "bulk octets",
        "dropped",
        "congestion signals",
        "bulk waited",
        "bulk depth",
    ];
    let nodes = checked.results.record.nodes.iter();
    let rows = nodes.filter_map(|node| {
        let smoother = node.layer.as_ref()?.smoother.as_ref()?;
        Some(vec![
            plain(checked.node_name(node.node)),
            smoother.real_time.get().to_string(),
            smoother.bulk.get().to_string(),
            smoother.dropped.to_string(),
            smoother.signals.to_string(),
            time(bulk_wait(smoother)),
            smoother.bulk_depth_max.to_string(),
        ])
    });
    Small::new(&titles, 1, rows.collect(), all)
}
