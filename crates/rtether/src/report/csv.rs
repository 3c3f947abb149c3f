//! Tables for spreadsheets and notebooks; column names end in the unit.
//!
//! Nanoseconds are exact decimals. A name that a spreadsheet would read as a formula is prefixed
//! with an apostrophe.

mod shared;

use rtether_model::admission::Refusal;
use rtether_model::quantity::{Duration, Instant};
use rtether_model::record::Segment;

use crate::words::{Column as Blamed, Standing};

use super::checked::{Checked, Stream};
pub use super::ingress::table as ingress;
use super::json::{segment_key, throughput};
use super::table::{Cell, Rows, Table};
use super::{stages, sums};
pub use shared::{collisions, media, queues, smoothers};

/// Returns all files: name and contents.
pub fn files(checked: &Checked) -> Vec<(&'static str, String)> {
    let tables = [
        flows(checked),
        ports(checked),
        nodes(checked),
        histogram(checked),
        buckets(checked),
        transfers(checked),
        stages::table(checked),
        media(checked),
        collisions(checked),
        queues(checked),
        smoothers(checked),
        ingress(checked),
    ];
    NAMES.into_iter().zip(tables.map(|table| table.csv())).collect()
}

/// Names of the files that [`files`] returns, in the same order.
pub const NAMES: [&str; 12] = [
    "flows.csv",
    "ports.csv",
    "nodes.csv",
    "histogram.csv",
    "buckets.csv",
    "transfers.csv",
    "stages.csv",
    "media.csv",
    "collisions.csv",
    "layer-queues.csv",
    "smoothers.csv",
    "ingress.csv",
];

/// Name and cell of a column.
type Named<T> = (&'static str, fn(&T) -> Cell);

/// Adds columns of files.
fn each<T, const N: usize>(rows: Rows<T>, columns: [Named<T>; N]) -> Rows<T> {
    let add = |rows: Rows<T>, (name, cell): Named<T>| rows.file(name, cell);
    columns.into_iter().fold(rows, add)
}

/// Returns one row per stream, followed by one per sum of several.
pub fn flows(checked: &Checked) -> Table {
    let node = |id| checked.node_name(id).to_owned();
    let rows = Table::of(checked.streams())
        .file("flow", |s| s.flow.name.clone())
        .file("class", |s| s.flow.class.clone())
        .file("talker", |s| node(s.flow.talker))
        .file("listener", |s| node(s.record.listener_id()));
    let rows = each(
        rows,
        [
            ("verdict", |s| s.verdict().name().into()),
            ("deadline_ns", |s| s.flow.deadline.into()),
            ("bound_ns", |s| s.bound.into()),
            ("late_statistical_ratio", |s| s.statistical.map(|said| said.late_ratio).into()),
            ("margin_ns", |s| s.assessment.margin.into()),
            ("released_packets", |s| s.record.released.into()),
            ("delivered_packets", |s| s.record.delivered.into()),
            ("lost_packets", |s| s.record.dropped.into()),
            ("in_flight_packets", |s| s.record.in_flight.into()),
            ("missed_packets", |s| s.record.missed.into()),
            ("miss_ratio", |s| s.record.miss_ratio().into()),
            ("delay_min_ns", |s| least(s).into()),
            ("delay_mean_ns", |s| s.record.latency.mean().into()),
            ("delay_std_ns", |s| s.record.latency.standard_deviation().into()),
            ("delay_p50_ns", |s| s.record.quantile(1, 2).into()),
            ("delay_p99_ns", |s| s.record.quantile(99, 100).into()),
            ("delay_p999_ns", |s| s.record.quantile(999, 1_000).into()),
            ("delay_max_ns", |s| s.max().into()),
            ("delay_mean_low_ns", |s| s.confidence.mean.map(|interval| interval.low).into()),
            ("delay_mean_high_ns", |s| s.confidence.mean.and_then(|interval| interval.high).into()),
            ("ethernet_mean_ns", |s| s.record.ethernet.mean().into()),
            ("ethernet_max_ns", |s| {
                let ethernet = &s.record.ethernet;
                (ethernet.count > 0).then_some(ethernet.max).into()
            }),
            ("node_share_ratio", |s| s.record.node_share().into()),
        ],
    );
    let by_flow = &checked.assumed.by_flow;
    let rows =
        rows.file("assumptions", |s| by_flow.get(s.record.flow_id().index()).copied().unwrap_or(0));
    let rows = worst(checked, rows);
    // Measured columns come last, and only if something was measured.
    let has_channels = checked.scenario.network.admission.is_some();
    let has_samples = checked.streams().any(|s| s.record.samples.is_some());
    basis(checked, rows)
        .when(has_channels, channels)
        .when(has_samples, samples)
        .when(checked.has_measured(), measured)
        .when(checked.adversarial.is_some(), found)
        .done()
        .append(&sums::table(checked))
}

/// Adds the worst that was found.
fn found(rows: Rows<Stream<'_>>) -> Rows<Stream<'_>> {
    rows.file("delay_found_ns", |s| s.found.map(|found| found.latency))
}

/// Adds the throughput, the worst packet, and the mean and worst time in each segment.
fn worst<'a>(checked: &Checked, rows: Rows<Stream<'a>>) -> Rows<Stream<'a>> {
    let rows = rows
        .file("throughput_bps", |s| throughput(checked, s.record))
        .file("worst_released_at_ns", |s| {
            let worst = s.record.worst.as_ref();
            worst.map(|packet| packet.released_at.since_start())
        })
        .file("worst_seed", |s| s.record.worst.as_ref().map(|packet| packet.seed))
        .file("worst_place", |s| {
            let worst = s.record.worst.as_ref();
            worst.map(|packet| checked.place_name(packet.responsible.0))
        })
        .file("worst_place_delay_ns", |s| {
            s.record.worst.as_ref().map(|packet| packet.responsible.1)
        });
    let rows = Segment::ALL.into_iter().fold(rows, |rows, segment| {
        let name = format!("mean_{}", segment_key(segment));
        rows.file(name, |s| s.mean_in(segment))
    });
    Segment::ALL.into_iter().fold(rows, |rows, segment| {
        let name = format!("worst_{}", segment_key(segment));
        rows.file(name, |s| {
            let worst = s.record.worst.as_ref();
            worst.map(|packet| packet.segments[segment.index()])
        })
    })
}

fn least(stream: &Stream<'_>) -> Option<Duration> {
    let latency = &stream.record.latency;
    (latency.count > 0).then_some(latency.min)
}

/// Adds what became of the samples of topics.
fn samples(rows: Rows<Stream<'_>>) -> Rows<Stream<'_>> {
    each(
        rows,
        [
            ("samples_written", |s| s.record.samples.map(|own| own.written).into()),
            ("samples_taken", |s| s.record.samples.map(|own| own.taken).into()),
            ("samples_lost", |s| s.record.samples.map(|own| own.lost).into()),
            ("samples_rejected", |s| s.record.samples.map(|own| own.rejected).into()),
            ("samples_replaced", |s| s.record.samples.map(|own| own.replaced).into()),
            ("samples_filtered", |s| s.record.samples.map(|own| own.filtered).into()),
            ("samples_expired", |s| s.record.samples.map(|own| own.expired).into()),
            ("samples_not_owed", |s| s.record.samples.map(|own| own.not_owed).into()),
            ("samples_under_way", |s| s.record.samples.map(|own| own.under_way).into()),
        ],
    )
}

fn channels(rows: Rows<Stream<'_>>) -> Rows<Stream<'_>> {
    each(
        rows,
        [
            ("channel_granted_runs", |s| s.record.channel.map(|own| own.granted).into()),
            ("channel_refused_runs", |s| {
                let refused = s.record.channel.map(|own| own.refused);
                refused.map(|own| own.iter().sum::<u64>()).into()
            }),
            ("channel_refusal", |s| {
                let refusal = s.record.channel.and_then(|own| own.refusal());
                refusal.map(Refusal::name).into()
            }),
            ("channel_undecided_runs", |s| s.record.channel.map(|own| own.undecided).into()),
            ("channel_wait_mean_ns", |s| s.record.channel.and_then(|own| own.wait_mean()).into()),
            ("channel_wait_max_ns", |s| {
                let granted = s.record.channel.filter(|own| own.granted > 0);
                granted.map(|own| own.wait_max).into()
            }),
        ],
    )
}

fn measured(rows: Rows<Stream<'_>>) -> Rows<Stream<'_>> {
    each(
        rows,
        [
            ("measured_packets", |s| s.measured.unwrap_or_default().released.into()),
            ("measured_lost_packets", |s| s.measured.unwrap_or_default().lost.into()),
            ("measured_stalled_packets", |s| s.measured.unwrap_or_default().stalled.into()),
            ("measured_outside_packets", |s| s.measured.unwrap_or_default().outside.into()),
            ("measured_held_up_packets", |s| s.measured.unwrap_or_default().held_up.into()),
            ("measured_missed_packets", |s| s.measured.unwrap_or_default().missed.into()),
            ("measured_p50_ns", |s| s.measured.unwrap_or_default().p50.into()),
            ("measured_p99_ns", |s| s.measured.unwrap_or_default().p99.into()),
            ("measured_p999_ns", |s| s.measured.unwrap_or_default().p999.into()),
            ("measured_max_ns", |s| s.measured.unwrap_or_default().max.into()),
            ("measured_missed_packets_with_stalls", |s| {
                s.measured.unwrap_or_default().with_stalls.missed.into()
            }),
            ("measured_p50_with_stalls_ns", |s| {
                s.measured.unwrap_or_default().with_stalls.p50.into()
            }),
            ("measured_p99_with_stalls_ns", |s| {
                s.measured.unwrap_or_default().with_stalls.p99.into()
            }),
            ("measured_p999_with_stalls_ns", |s| {
                s.measured.unwrap_or_default().with_stalls.p999.into()
            }),
            ("measured_max_with_stalls_ns", |s| {
                s.measured.unwrap_or_default().with_stalls.max.into()
            }),
        ],
    )
}

/// Adds what the verdict rests on, and where the time goes in the column that failed.
fn basis<'a>(checked: &Checked, rows: Rows<Stream<'a>>) -> Rows<Stream<'a>> {
    fn word(standing: Standing) -> Cell {
        standing.said().into()
    }
    let rows = each(
        rows,
        [
            ("basis", |s| word(s.assessment.standing())),
            ("sim_basis", |s| word(s.assessment.simulated)),
            ("bound_basis", |s| word(s.assessment.bound)),
            ("only_if", |s| s.assessment.only_if.clone().into()),
            ("measured_basis", |s| word(s.assessment.measured)),
            ("failed_column", |s| s.assessment.failed.map(Blamed::name).into()),
        ],
    );
    let blame = |s: &Stream<'_>| {
        let responsible = s.assessment.responsible;
        responsible.filter(|_| s.assessment.failed.is_some())
    };
    rows.file("failed_place", |s| blame(s).map(|blame| checked.place_name(blame.place)))
        .file("failed_place_delay_ns", |s| blame(s).map(|blame| blame.delay))
}

/// Returns one row per sending port.
pub fn ports(checked: &Checked) -> Table {
    let observed = checked.results.record.observed;
    let rows = Table::of(&checked.results.record.ports)
        .file("node", |port| checked.node_name(port.port.node))
        .file("port", |port| port.port.port)
        .file("peer", |port| checked.peer_name(port.port))
        .file("rate_bps", |port| checked.scenario.network.links[port.link.index()].rate.as_bps())
        .file("utilization_ratio", |port| port.utilization(observed));
    let rows = each(
        rows,
        [
            ("backlog_max_bytes", |port| port.backlog_max.get().into()),
            ("offered_frames", |port| port.offered.into()),
            ("sent_frames", |port| port.sent.into()),
            ("sent_wire_bytes", |port| port.sent_wire.get().into()),
            ("dropped_frames", |port| port.dropped.into()),
            ("queued_frames", |port| port.queued.into()),
            ("corrupted_frames", |port| port.corrupted.into()),
        ],
    );
    shared::access(rows, |port| port.access).done()
}

/// Returns one row per node.
pub fn nodes(checked: &Checked) -> Table {
    let observed = checked.results.record.observed;
    let rows = Table::of(&checked.results.record.nodes)
        .file("node", |node| checked.node_name(node.node))
        .file("kind", |node| checked.kind_name(node.node))
        .file("stack_utilization_ratio", |node| node.stack_utilization(observed));
    each(
        rows,
        [
            ("stack_queue_max_packets", |node| node.stack_queue_max.into()),
            ("stack_dropped_packets", |node| node.stack_dropped.into()),
            ("in_stack_packets", |node| node.in_stack.into()),
            ("released_packets", |node| node.released.into()),
            ("delivered_packets", |node| node.delivered.into()),
            ("arrived_frames", |node| node.arrived.into()),
            ("copied_frames", |node| node.copied.into()),
            ("filtered_frames", |node| node.filtered.into()),
            ("discarded_frames", |node| node.discarded.into()),
            ("layer_dropped_packets", |node| node.layer_dropped.into()),
        ],
    )
    .done()
}

/// Begins a table with the flow and the listener of a part of each stream.
fn of_streams<'a, T, I: IntoIterator<Item = T>>(
    checked: &'a Checked,
    parts: impl Fn(&Stream<'a>) -> I,
) -> Rows<(Stream<'a>, T)> {
    let rows = checked.streams().flat_map(|stream| {
        let parts: Vec<T> = parts(&stream).into_iter().collect();
        parts.into_iter().map(move |part| (stream, part))
    });
    Table::of(rows)
        .file("flow", |(stream, _)| &stream.flow.name)
        .file("listener", |(stream, _)| checked.node_name(stream.record.listener_id()))
}

/// Returns one row per non-empty bin of each stream's latency distribution.
pub fn histogram(checked: &Checked) -> Table {
    of_streams(checked, |stream| stream.record.histogram.bins())
        .file("upper_edge_ns", |(_, (upper, _))| *upper)
        .file("count_packets", |(_, (_, count))| *count)
        .done()
}

/// Returns one row per time bucket in which a stream delivered packets.
pub fn buckets(checked: &Checked) -> Table {
    let length = checked.results.record.bucket;
    let used = |stream: &Stream<'_>| {
        let numbered = (0i64..).zip(stream.record.buckets.clone());
        numbered.filter(|(_, bucket)| bucket.count > 0)
    };
    of_streams(checked, used)
        .file("begin_ns", |(_, (number, _))| length * *number)
        .file("count_packets", |(_, (_, bucket))| bucket.count)
        .file("mean_ns", |(_, (_, bucket))| bucket.mean())
        .file("max_ns", |(_, (_, bucket))| bucket.max)
        .done()
}

/// Returns one row per TCP transfer of each run.
pub fn transfers(checked: &Checked) -> Table {
    of_streams(checked, |stream| stream.record.transfers.clone())
        .file("started_at_ns", |(_, of)| of.started_at.since_start())
        .file("finished_at_ns", |(_, of)| of.finished_at.map(Instant::since_start))
        .file("delivered_bytes", |(_, of)| of.delivered.get())
        .file("resent_packets", |(_, of)| of.retransmissions)
        .file("timeouts", |(_, of)| of.timeouts)
        .done()
}
