//! Shared media, and the layer in end nodes.

use rtether_model::quantity::Duration;
use rtether_model::record::ClassRecord;

use super::super::chart::{Axis, Column, ColumnChart};
use super::super::checked::Checked;
use super::super::json::{bulk_wait, mean_wait};
use super::super::markup::Markup;
use super::super::page::{TableCell, wide_grid};
use super::super::text::{count, share};
use super::cells::time_cell;
use super::plant::{load_cell, number, table};
use super::subtitle;
use crate::domain::Domain;

/// Most collision domains with a chart of attempts.
const MOST_CHARTS: usize = 6;

/// Returns the table of collision domains and their collisions by attempt; empty if there are none.
pub(super) fn media(checked: &Checked) -> Markup {
    let observed = checked.results.record.observed;
    let mut domains = checked.domains();
    if domains.is_empty() {
        return Markup::default();
    }
    let load = |domain: &Domain<'_>| domain.record.utilization(observed);
    domains.sort_by(|a, b| load(b).total_cmp(&load(a)));
    let names = [
        ("hubs", false),
        ("load", false),
        ("wasted", false),
        ("ports", true),
        ("frames sent", true),
        ("collisions", true),
        ("per frame", true),
        ("excessive", true),
        ("late", true),
        ("fairness by frames", true),
        ("by octets", true),
    ];
    let rows = domains.iter().map(|domain| {
        let access = domain.access();
        let failed = access.excessive_collisions + access.late_collisions > 0;
        (domain_row(checked, domain, observed), failed)
    });
    let mut all = table(&names, rows.collect());
    let charts = domains.iter().take(MOST_CHARTS);
    let charts: Vec<Markup> = charts
        .filter(|domain| domain.collisions() > 0)
        .map(|domain| attempts(checked, domain))
        .collect();
    if !charts.is_empty() {
        all.push(wide_grid(charts));
    }
    all
}

fn domain_row(checked: &Checked, domain: &Domain<'_>, observed: Duration) -> Vec<TableCell> {
    let access = domain.access();
    let mark = |value: u64| {
        let cell = number(value);
        if value > 0 { cell.class("n over") } else { cell }
    };
    vec![
        TableCell::text(domain.name(&checked.scenario.network)).class("name"),
        load_cell(domain.record.utilization(observed)),
        load_cell(share(domain.record.wasted, observed)),
        TableCell::number(domain.ports.len(), domain.ports.len()),
        number(domain.sent()),
        number(domain.collisions()),
        decimals(domain.collisions_per_frame()),
        mark(access.excessive_collisions),
        mark(access.late_collisions),
        decimals(domain.fairness_frames()),
        decimals(domain.fairness_octets()),
    ]
}

fn decimals(value: Option<f64>) -> TableCell {
    match value {
        Some(value) => TableCell::number(format!("{value:.3}"), value),
        None => TableCell::number("\u{2013}", ""),
    }
}

/// Draws the share of attempts that collided, by attempt number.
fn attempts(checked: &Checked, domain: &Domain<'_>) -> Markup {
    let groups = domain.attempts().into_iter().map(|attempts| {
        let column = attempts.ratio().map(|value| Column { value, ..Column::default() });
        (attempts.number.to_string(), vec![column])
    });
    let chart = ColumnChart {
        title: format!("Attempts that collided, {}", domain.name(&checked.scenario.network)),
        note: "by number of the attempt".into(),
        y: Axis::share("share of attempts"),
        series: vec!["collided".into()],
        groups: groups.collect(),
        reference_name: String::new(),
    };
    chart.render()
}

/// Returns the queues and smoothers of all nodes with a layer; empty if there are none.
pub(super) fn layers(checked: &Checked) -> Markup {
    let mut queues = Vec::new();
    let mut smoothers = Vec::new();
    for node in &checked.results.record.nodes {
        let Some(layer) = &node.layer else { continue };
        let name = checked.node_name(node.node);
        for (direction, classes) in [("receive", &layer.receive), ("transmit", &layer.transmit)] {
            let numbered = classes.iter().enumerate();
            queues.extend(numbered.map(|(queue, class)| {
                (queue_row(name, direction, queue, class), class.dropped > 0)
            }));
        }
        if let Some(smoother) = &layer.smoother {
            let octets = |value: u64| TableCell::number(format!("{} B", count(value)), value);
            let row = vec![
                TableCell::text(name).class("name"),
                octets(smoother.real_time.get()),
                octets(smoother.bulk.get()),
                dropped(smoother.dropped),
                number(smoother.signals),
                time_cell(Some(bulk_wait(smoother))),
                number(smoother.bulk_depth_max.into()),
            ];
            smoothers.push((row, smoother.dropped > 0));
        }
    }
    let mut all = Markup::default();
    if !queues.is_empty() {
        all.push(subtitle("Queues"));
        all.push(table(&QUEUES, queues));
    }
    if !smoothers.is_empty() {
        all.push(subtitle("Traffic smoothers"));
        all.push(table(&SMOOTHERS, smoothers));
    }
    all
}

const QUEUES: [(&str, bool); 10] = [
    ("node", false),
    ("direction", false),
    ("queue", true),
    ("arrived", true),
    ("left", true),
    ("dropped", true),
    ("largest depth", true),
    ("mean wait", true),
    ("promoted", true),
    ("idle releases", true),
];

const SMOOTHERS: [(&str, bool); 7] = [
    ("node", false),
    ("real-time", true),
    ("bulk", true),
    ("dropped", true),
    ("congestion signals", true),
    ("bulk waited", true),
    ("bulk depth", true),
];

fn queue_row(node: &str, direction: &str, queue: usize, class: &ClassRecord) -> Vec<TableCell> {
    vec![
        TableCell::text(node).class("name"),
        TableCell::text(direction),
        TableCell::number(queue, queue),
        number(class.arrived),
        number(class.left),
        dropped(class.dropped),
        number(class.depth_max.into()),
        time_cell(mean_wait(class)),
        number(class.promoted),
        number(class.idle_releases),
    ]
}

fn dropped(value: u64) -> TableCell {
    let cell = number(value);
    if value > 0 { cell.class("n over") } else { cell }
}
