//! The stages of a run, in tables, JSON and page.

use rtether_model::quantity::Duration;
use schemars::JsonSchema;
use serde::Serialize;

use super::checked::{Checked, Stream};
use super::table::Table;
use crate::stages::StageStream;
use rtether_report::number::Ns;

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

/// A stage as documents have it.
#[derive(Serialize, JsonSchema)]
pub(super) struct StageJson<'a> {
    /// Its name.
    name: &'a str,
    /// When it begins.
    from_ns: Ns,
    /// Streams that had packets, the longest latency first. A packet belongs to the stage in which
    /// it was released, so that stages tell quiet and loaded times apart.
    streams: Vec<StreamJson<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct StreamJson<'a> {
    /// Name of the flow.
    flow: &'a str,
    /// Name of the listener.
    listener: &'a str,
    /// Packets that arrived.
    packets: u64,
    /// Packets lost, or under way at the end; always 0 over TCP and RTPS, where segments and
    /// datagrams are not packets.
    missing: u64,
    /// Late packets.
    late: u64,
    /// Mean latency.
    mean_ns: Option<Ns>,
    /// Median latency.
    p50_ns: Option<Ns>,
    /// 99.9th percentile of latency.
    p99_9_ns: Option<Ns>,
    /// Largest latency.
    max_ns: Option<Ns>,
}

/// Returns an object per stage, with one per stream that had packets.
pub(super) fn json(checked: &Checked) -> Vec<StageJson<'_>> {
    let all = rows(checked);
    let stages = checked.scenario.stages.iter();
    let stages = stages.map(|stage| {
        let own = all.iter().filter(|row| row.stage == stage.name);
        let streams = own.map(|row| StreamJson {
            flow: &row.stream.flow.name,
            listener: checked.node_name(row.stream.record.listener_id()),
            packets: row.found.latency.count,
            missing: row.found.missing(),
            late: row.found.late,
            mean_ns: row.found.latency.mean().map(Ns),
            p50_ns: row.quantile(1, 2).map(Ns),
            p99_9_ns: row.quantile(999, 1_000).map(Ns),
            max_ns: row.max().map(Ns),
        });
        StageJson { name: &stage.name, from_ns: Ns(stage.from), streams: streams.collect() }
    });
    stages.collect()
}
