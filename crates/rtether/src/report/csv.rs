//! CSV tables for spreadsheets and notebooks; column names end in the unit.
//!
//! Nanoseconds are exact decimals. A name that a spreadsheet would read as a formula is prefixed
//! with an apostrophe.

mod shared;

use rtether_model::quantity::{Duration, Instant};
use rtether_model::record::Segment;

use crate::measured::Measurement;
pub use crate::sheet::write;
use crate::verdict::Standing;

use super::checked::{Checked, Stream};
use super::json::{segment_key, throughput};
use super::text::exact_ns;
pub use shared::{collisions, media, queues, smoothers};

/// Returns all files: name and contents.
pub fn files(checked: &Checked) -> Vec<(&'static str, String)> {
    let texts = [
        flows(checked),
        ports(checked),
        nodes(checked),
        histogram(checked),
        buckets(checked),
        transfers(checked),
        media(checked),
        collisions(checked),
        queues(checked),
        smoothers(checked),
    ];
    NAMES.into_iter().zip(texts).collect()
}

/// Names of the files that [`files`] returns, in the same order.
pub const NAMES: [&str; 10] = [
    "flows.csv",
    "ports.csv",
    "nodes.csv",
    "histogram.csv",
    "buckets.csv",
    "transfers.csv",
    "media.csv",
    "collisions.csv",
    "layer-queues.csv",
    "smoothers.csv",
];

/// Returns one row per stream.
pub fn flows(checked: &Checked) -> String {
    let mut names: Vec<String> = FLOW_COLUMNS.iter().map(|&name| name.into()).collect();
    names.extend(Segment::ALL.map(|s| format!("mean_{}", segment_key(s))));
    names.extend(Segment::ALL.map(|s| format!("worst_{}", segment_key(s))));
    names.extend(BASIS_COLUMNS.map(str::to_owned));
    // Measured columns come last, and only if something was measured.
    let is_measured = checked.has_measured();
    if is_measured {
        names.extend(MEASURED_COLUMNS.map(str::to_owned));
    }
    let rows = checked.streams().map(|stream| {
        let mut row = flow_row(checked, &stream);
        if is_measured {
            row.extend(measured_cells(stream.measured.unwrap_or_default()));
        }
        row
    });
    write(&names, rows)
}

const FLOW_COLUMNS: [&str; 32] = [
    "flow",
    "class",
    "talker",
    "listener",
    "verdict",
    "deadline_ns",
    "bound_ns",
    "late_statistical_ratio",
    "margin_ns",
    "released_packets",
    "delivered_packets",
    "lost_packets",
    "in_flight_packets",
    "missed_packets",
    "miss_ratio",
    "delay_min_ns",
    "delay_mean_ns",
    "delay_std_ns",
    "delay_p50_ns",
    "delay_p99_ns",
    "delay_p999_ns",
    "delay_max_ns",
    "delay_mean_low_ns",
    "delay_mean_high_ns",
    "ethernet_mean_ns",
    "ethernet_max_ns",
    "node_share_ratio",
    "throughput_bps",
    "worst_released_at_ns",
    "worst_seed",
    "worst_place",
    "worst_place_delay_ns",
];

const MEASURED_COLUMNS: [&str; 7] = [
    "measured_packets",
    "measured_lost_packets",
    "measured_stalled_packets",
    "measured_outside_packets",
    "measured_p50_ns",
    "measured_p999_ns",
    "measured_max_ns",
];

fn measured_cells(measured: Measurement) -> [String; 7] {
    [
        measured.released.to_string(),
        measured.lost.to_string(),
        measured.stalled.to_string(),
        measured.outside.to_string(),
        ns(measured.p50),
        ns(measured.p999),
        ns(measured.max),
    ]
}

fn flow_row(checked: &Checked, stream: &Stream<'_>) -> Vec<String> {
    let (flow, record) = (stream.flow, stream.record);
    let (latency, mean) = (&record.latency, stream.confidence.mean);
    let some = |value: Duration| (latency.count > 0).then_some(value);
    let worst = record.worst.as_ref();
    let place = worst.map(|packet| packet.responsible);
    let mut row = vec![
        flow.name.clone(),
        flow.class.clone(),
        checked.node_name(flow.talker).into(),
        checked.node_name(record.listener_id()).into(),
        stream.verdict().name().into(),
        ns(flow.deadline),
        ns(stream.bound),
        number(stream.statistical.map(|said| said.late_ratio)),
        ns(stream.assessment.margin),
        record.released.to_string(),
        record.delivered.to_string(),
        record.dropped.to_string(),
        record.in_flight.to_string(),
        record.missed.to_string(),
        number(record.miss_ratio()),
        ns(some(latency.min)),
        ns(latency.mean()),
        ns(latency.standard_deviation()),
        ns(record.quantile(1, 2)),
        ns(record.quantile(99, 100)),
        ns(record.quantile(999, 1_000)),
        ns(some(latency.max)),
        ns(mean.map(|interval| interval.low)),
        ns(mean.map(|interval| interval.high)),
        ns(record.ethernet.mean()),
        ns((record.ethernet.count > 0).then_some(record.ethernet.max)),
        number(record.node_share()),
        number(throughput(checked, record)),
        ns(worst.map(|packet| packet.released_at.since_start())),
        number(worst.map(|packet| packet.seed)),
        place.map_or_else(String::new, |(place, _)| checked.place_name(place)),
        ns(place.map(|(_, delay)| delay)),
    ];
    row.extend(Segment::ALL.map(|s| ns(stream.mean_in(s))));
    row.extend(Segment::ALL.map(|s| ns(worst.map(|packet| packet.segments[s.index()]))));
    row.extend(basis_cells(checked, stream));
    row
}

const BASIS_COLUMNS: [&str; 7] = [
    "basis",
    "sim_basis",
    "bound_basis",
    "measured_basis",
    "failed_column",
    "failed_place",
    "failed_place_delay_ns",
];

/// Returns what the verdict rests on, and where the time goes in the column that failed.
fn basis_cells(checked: &Checked, stream: &Stream<'_>) -> [String; 7] {
    let said = stream.assessment;
    let word = |standing: Standing| standing.said().unwrap_or_default().to_owned();
    let blame = said.responsible.filter(|_| said.failed.is_some());
    [
        word(said.standing()),
        word(said.simulated),
        word(said.bound),
        word(said.measured),
        said.failed
            .map_or_else(String::new, |column| column.name().to_owned()),
        blame.map_or_else(String::new, |blame| checked.place_name(blame.place)),
        ns(blame.map(|blame| blame.delay)),
    ]
}

/// Returns one row per sending port.
pub fn ports(checked: &Checked) -> String {
    let mut names = vec![
        "node",
        "port",
        "peer",
        "rate_bps",
        "utilization_ratio",
        "backlog_max_bytes",
        "offered_frames",
        "sent_frames",
        "sent_wire_bytes",
        "dropped_frames",
        "queued_frames",
        "corrupted_frames",
    ];
    names.extend(shared::ACCESS_COLUMNS);
    let observed = checked.results.record.observed;
    let rows = checked.results.record.ports.iter().map(|port| {
        let rate = checked.scenario.network.links[port.link.index()].rate;
        let mut row = vec![
            checked.node_name(port.port.node).to_owned(),
            port.port.port.to_string(),
            checked.peer_name(port.port).unwrap_or_default().to_owned(),
            rate.as_bps().to_string(),
            port.utilization(observed).to_string(),
            port.backlog_max.get().to_string(),
            port.offered.to_string(),
            port.sent.to_string(),
            port.sent_wire.get().to_string(),
            port.dropped.to_string(),
            port.queued.to_string(),
            port.corrupted.to_string(),
        ];
        row.extend(shared::access_cells(port.access.as_ref()));
        row
    });
    write(&names, rows)
}

/// Returns one row per node.
pub fn nodes(checked: &Checked) -> String {
    let names = [
        "node",
        "kind",
        "stack_utilization_ratio",
        "stack_queue_max_packets",
        "stack_dropped_packets",
        "in_stack_packets",
        "released_packets",
        "delivered_packets",
        "arrived_frames",
        "copied_frames",
        "filtered_frames",
        "discarded_frames",
        "layer_dropped_packets",
    ];
    let observed = checked.results.record.observed;
    let rows = checked.results.record.nodes.iter().map(|node| {
        vec![
            checked.node_name(node.node).to_owned(),
            checked.kind_name(node.node).to_owned(),
            node.stack_utilization(observed).to_string(),
            node.stack_queue_max.to_string(),
            node.stack_dropped.to_string(),
            node.in_stack.to_string(),
            node.released.to_string(),
            node.delivered.to_string(),
            node.arrived.to_string(),
            node.copied.to_string(),
            node.filtered.to_string(),
            node.discarded.to_string(),
            node.layer_dropped.to_string(),
        ]
    });
    write(&names, rows)
}

/// Returns one row per non-empty bin of each stream's latency distribution.
pub fn histogram(checked: &Checked) -> String {
    let names = ["flow", "listener", "upper_edge_ns", "count_packets"];
    let rows = checked.streams().flat_map(|stream| {
        let listener = checked.node_name(stream.record.listener_id());
        stream.record.histogram.bins().map(move |(upper, count)| {
            vec![
                stream.flow.name.clone(),
                listener.to_owned(),
                exact_ns(upper.as_ps()),
                count.to_string(),
            ]
        })
    });
    write(&names, rows)
}

/// Returns one row per time bucket in which a stream delivered packets.
pub fn buckets(checked: &Checked) -> String {
    let names = [
        "flow",
        "listener",
        "begin_ns",
        "count_packets",
        "mean_ns",
        "max_ns",
    ];
    let length = checked.results.record.bucket;
    let rows = checked.streams().flat_map(|stream| {
        let listener = checked.node_name(stream.record.listener_id());
        let numbered = (0i64..).zip(&stream.record.buckets);
        let used = numbered.filter(|(_, bucket)| bucket.count > 0);
        used.map(move |(number, bucket)| {
            vec![
                stream.flow.name.clone(),
                listener.to_owned(),
                exact_ns((length * number).as_ps()),
                bucket.count.to_string(),
                ns(bucket.mean()),
                exact_ns(bucket.max.as_ps()),
            ]
        })
    });
    write(&names, rows)
}

/// Returns one row per TCP transfer of each run.
pub fn transfers(checked: &Checked) -> String {
    let names = [
        "flow",
        "listener",
        "started_at_ns",
        "finished_at_ns",
        "delivered_bytes",
        "resent_packets",
        "timeouts",
    ];
    let rows = checked.streams().flat_map(|stream| {
        let listener = checked.node_name(stream.record.listener_id());
        stream.record.transfers.iter().map(move |transfer| {
            vec![
                stream.flow.name.clone(),
                listener.to_owned(),
                exact_ns(transfer.started_at.as_ps()),
                ns(transfer.finished_at.map(Instant::since_start)),
                transfer.delivered.get().to_string(),
                transfer.retransmissions.to_string(),
                transfer.timeouts.to_string(),
            ]
        })
    });
    write(&names, rows)
}

fn ns(span: Option<Duration>) -> String {
    span.map_or_else(String::new, |span| exact_ns(span.as_ps()))
}

fn number(value: Option<impl ToString>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}
