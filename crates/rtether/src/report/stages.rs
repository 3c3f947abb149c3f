//! The stages of a run, in tables, JSON and page.

use rtether_model::quantity::Duration;
use serde_json::{Value, json};

use super::checked::{Checked, Stream};
use super::table::Table;
use crate::stages::StageStream;
use rtether_report::number::ns;

/// A stream in a stage.
struct Row<'a> {
    stage: &'a str,
    stream: Stream<'a>,
    found: &'a StageStream,
}

impl Row<'_> {
    fn quantile(&self, part: u64, whole: u64) -> Option<Duration> {
        let found = self.found.histogram.quantile(part, whole);
        found.map(|upper| upper.min(self.found.latency.max))
    }

    fn max(&self) -> Option<Duration> {
        (self.found.latency.count > 0).then_some(self.found.latency.max)
    }

    /// Returns whether a packet was late or did not arrive.
    const fn is_bad(&self) -> bool {
        self.found.late > 0
    }
}

/// Returns the streams that had packets, stage by stage, the longest latency first.
fn rows(checked: &Checked) -> Vec<Row<'_>> {
    let mut rows = Vec::new();
    let stages = checked.scenario.stages.iter().zip(&checked.results.stages);
    for (stage, streams) in stages {
        let found = checked.streams().zip(streams).map(|(stream, found)| Row {
            stage: &stage.name,
            stream,
            found,
        });
        let mut own: Vec<Row<'_>> =
            found.filter(|row| row.found.latency.count + row.found.released > 0).collect();
        own.sort_by_key(|row| std::cmp::Reverse(row.max()));
        rows.extend(own);
    }
    rows
}

/// Returns a row per stage and stream.
pub fn table(checked: &Checked) -> Table {
    Table::of(rows(checked))
        .both("stage", "stage", |row| row.stage)
        .shown("flow", |row| checked.stream_name(&row.stream))
        .file("flow", |row| row.stream.flow.name.clone())
        .file("listener", |row| checked.node_name(row.stream.record.listener_id()))
        .number("packets", "delivered_packets", |row| row.found.latency.count)
        .number("missing", "missing_packets", |row| row.found.missing())
        .rank(2)
        .number("late", "late_packets", |row| row.found.late)
        .number("mean", "delay_mean_ns", |row| row.found.latency.mean())
        .rank(3)
        .number("p50", "delay_p50_ns", |row| row.quantile(1, 2))
        .rank(4)
        .number("p99.9", "delay_p999_ns", |row| row.quantile(999, 1_000))
        .number("max", "delay_max_ns", Row::max)
        .number("deadline", "deadline_ns", |row| row.stream.flow.deadline)
        .rank(1)
        .optional()
        .done()
}

/// Returns which rows of [`table`] have late packets.
pub(super) fn late(checked: &Checked) -> Vec<bool> {
    rows(checked).iter().map(Row::is_bad).collect()
}

/// Returns an object per stage, with one per stream that had packets.
pub fn json(checked: &Checked) -> Vec<Value> {
    let all = rows(checked);
    let stages = checked.scenario.stages.iter();
    let stages = stages.map(|stage| {
        let own = all.iter().filter(|row| row.stage == stage.name);
        let streams = own.map(|row| {
            json!({
                "flow": row.stream.flow.name,
                "listener": checked.node_name(row.stream.record.listener_id()),
                "packets": row.found.latency.count,
                "missing": row.found.missing(),
                "late": row.found.late,
                "mean_ns": row.found.latency.mean().map(ns),
                "p50_ns": row.quantile(1, 2).map(ns),
                "p99_9_ns": row.quantile(999, 1_000).map(ns),
                "max_ns": row.max().map(ns),
            })
        });
        json!({ "name": stage.name, "from_ns": ns(stage.from), "streams": streams.collect::<Vec<_>>() })
    });
    stages.collect()
}
