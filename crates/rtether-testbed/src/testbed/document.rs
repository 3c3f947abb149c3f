//! A measurement as one JSON document.

use rtether_model::histogram::Histogram;
use rtether_model::network::NodeId;
use rtether_model::quantity::{Duration, Instant};
use rtether_model::record::TransferRecord;
use schemars::JsonSchema;
use serde::Serialize;

use super::judged::{Row, Run, rows, worst};
use super::{Emulation, HostLayer, Measured, MeasuredStream, Oddities, profile, ssh};
use crate::shim::StatusJson;
use rtether::measured::WithStallsJson;
use rtether::report::document::Document;
use rtether::scenario::Scenario;
use rtether::sums::{self, MaxOfSum, OneSum, SumJson};
use rtether::verdict::Conclusion;

/// What was measured of a scenario on a test bed.
#[derive(Serialize, JsonSchema)]
pub(crate) struct LiveJson<'a> {
    /// Title of the scenario.
    scenario: &'a str,
    /// What carried the frames: `kernel`, `emulated` or `ssh`.
    backend: &'static str,
    /// Time of the releases.
    duration_ns: i64,
    /// Its start that does not count.
    warmup_ns: i64,
    /// Whether it was ended early.
    partial: bool,
    conclusion: Conclusion,
    /// The worst verdict of all streams and sums.
    verdict: &'static str,
    /// Stalls of the host, on any core.
    stalls: StallsJson,
    /// Whether cores were kept from deep sleep.
    cores_awake: bool,
    /// What should not have happened, over all stations.
    oddities: OdditiesJson,
    /// The emulator; `null` without one.
    emulator: Option<EmulatorJson>,
    /// Layers that were shims on the devices of their stations.
    layers: Vec<LayerJson<'a>>,
    /// Hosts of `--backend ssh`.
    hosts: Vec<ssh::HostJson<'a>>,
    /// Names of the stations whose stacks and layers were emulated.
    emulated_stations: Vec<&'a str>,
    /// What stations survived, such as connections that were not established.
    failures: &'a [String],
    /// What ended the emulator or stations.
    errors: &'a [String],
    /// Each flow and listener.
    streams: Vec<StreamJson<'a>>,
    /// Requirements over several flows, if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    sums: Option<Vec<SumJson<'a, MaxOfSum>>>,
}

impl Document for LiveJson<'_> {
    const SCHEMA: &'static str = "rtether.live/1";
    const HEAD: &'static [(&'static str, &'static str)] = &[("format", Self::SCHEMA)];
}

#[derive(Serialize, JsonSchema)]
struct StallsJson {
    /// How many there were.
    count: usize,
    /// The longest; `null` without any.
    longest_ns: Option<i64>,
    /// Whether they were watched with real-time priority; else waiting for a core looks like one.
    real_time: bool,
}

#[derive(Serialize, JsonSchema)]
struct OdditiesJson {
    /// Packets of no stream.
    foreign: u64,
    /// Packets that the system refused.
    unsent: u64,
    /// Packets without a record.
    unrecorded: u64,
    /// How often the clock of the day was set.
    clock_steps: u64,
}

#[derive(Serialize, JsonSchema)]
struct EmulatorJson {
    /// Frames that the stations sent.
    frames: u64,
    /// Frames that came after their time, and were processed at once.
    late: u64,
    /// Frames whose fate differs from the replay of the arrivals; `null` if not all were recorded.
    differing: Option<u64>,
    /// By how much the times of these differ: the median.
    apart_p50_ns: Option<i64>,
    /// The largest such difference.
    apart_max_ns: Option<i64>,
    /// How late frames left, outside stalls of the emulator: the median.
    late_p50_ns: Option<i64>,
    /// The 99th percentile of how late they left.
    late_p99_ns: Option<i64>,
    /// How late the latest of them left.
    late_max_ns: i64,
    /// The same, measured when the sending call returned.
    returned_max_ns: i64,
    /// Frames that the emulated network dropped.
    dropped: u64,
    /// Frames that the emulator did not receive or send.
    failed: u64,
    /// Collisions on shared media of the emulated network.
    collisions: u64,
    /// How often the emulator stood still for a millisecond or more.
    stalls: u64,
}

#[derive(Serialize, JsonSchema)]
struct LayerJson<'a> {
    #[serde(flatten)]
    status: StatusJson,
    /// Name of the station.
    station: &'a str,
    /// Replay of what it decided.
    replay: ReplayJson,
}

#[derive(Serialize, JsonSchema)]
struct ReplayJson {
    /// Decisions that were replayed.
    decisions: u64,
    /// Whether one of them differs; the replay ends there.
    differs: bool,
    /// Calls and decisions that were not recorded for lack of room.
    unrecorded: u64,
}

#[derive(Serialize, JsonSchema)]
struct StreamJson<'a> {
    /// Name of the flow.
    flow: &'a str,
    /// Its class; empty if it has none.
    class: &'a str,
    /// End station that sends.
    talker: &'a str,
    /// End station that receives.
    listener: &'a str,
    /// Packets released after the warm-up.
    released: u64,
    /// Of these, those that arrived, or whose reply did.
    delivered: u64,
    /// Of these, those that did not.
    lost: u64,
    /// Packets lost, and packets later than the deadline even without the time for which stalls were
    /// felt on their way.
    missed: u64,
    /// Packets that arrived more than once.
    duplicates: u64,
    /// Packets that arrived after one sent later.
    reordered: u64,
    /// Delivered packets that a stall of the host touched.
    stalled: u64,
    /// Delivered packets that took longer in the host's end nodes than the scenario allows.
    outside_profile: u64,
    /// Delivered packets that were under way while the emulator stood still.
    held_up: u64,
    /// Latency from application to application of packets that no stall touched.
    latency_ns: LatencyJson,
    /// Its part until the call that sends returns.
    send_ns: QuantilesJson,
    /// Its part after the kernel's receive stamp.
    receive_ns: QuantilesJson,
    /// How far latencies may be off because talker and listener have different clocks.
    uncertainty_ns: i64,
    /// How late packets were released.
    late_release_ns: QuantilesJson,
    /// Files of a bulk flow.
    files: Vec<FileJson>,
    /// Latency of all delivered packets, as it was measured.
    with_stalls: WithStallsJson,
    /// The largest latency of all delivered packets, less the time for which stalls were felt on
    /// their way.
    max_less_stalls_ns: Option<i64>,
    /// When the slowest packet that no stall touched was released, from the start of the run.
    worst_at_ns: Option<i64>,
    /// Deadline of the flow.
    deadline_ns: Option<i64>,
    /// The verdict, as of `rtether check`.
    verdict: &'static str,
    /// What it rests on, as of `rtether check`.
    basis: &'static str,
    /// Why it is no better.
    reasons: &'a [String],
}

#[derive(Serialize, JsonSchema)]
struct LatencyJson {
    /// The least; `null` without packets, as the others.
    min: Option<i64>,
    /// The mean.
    mean: Option<i64>,
    #[serde(flatten)]
    quantiles: QuantilesJson,
    /// The largest.
    max: Option<i64>,
}

#[derive(Serialize, JsonSchema)]
struct QuantilesJson {
    /// The median; `null` without packets, as the others.
    p50: Option<i64>,
    /// The 90th percentile.
    p90: Option<i64>,
    /// The 99th percentile.
    p99: Option<i64>,
    /// The 99.9th percentile.
    p999: Option<i64>,
}

#[derive(Serialize, JsonSchema)]
struct FileJson {
    /// When it began, from the start of the run.
    started_ns: i64,
    /// When its last octet arrived; `null` if it was still under way.
    finished_ns: Option<i64>,
    /// Octets that arrived in order.
    delivered_bytes: u64,
    /// Segments sent again.
    retransmissions: u64,
}

impl<'a> LiveJson<'a> {
    pub(super) fn of(run: &Run<'a>, sums: &'a [OneSum]) -> Self {
        let Run { scenario, measured, assessments } = *run;
        let streams = rows(scenario, measured, assessments);
        let layers = measured.layers.iter();
        Self {
            scenario: &scenario.name,
            backend: measured.backend.name(),
            duration_ns: measured.duration.as_ns_floor(),
            warmup_ns: measured.warmup.as_ns_floor(),
            partial: measured.is_partial,
            conclusion: run.conclusion(),
            verdict: worst(assessments, sums).name(),
            stalls: StallsJson::of(measured),
            cores_awake: measured.awake.is_ok(),
            oddities: OdditiesJson::of(measured.oddities),
            emulator: measured.emulation.as_ref().map(EmulatorJson::of),
            layers: layers.map(|layer| LayerJson::of(scenario, layer)).collect(),
            hosts: ssh::json(scenario, measured),
            emulated_stations: profile::emulated(scenario),
            failures: &measured.failures,
            errors: &measured.errors,
            streams: streams.map(|row| StreamJson::of(scenario, &row)).collect(),
            sums: (!sums.is_empty()).then(|| sums::json(sums, |max_ns| MaxOfSum { max_ns })),
        }
    }
}

impl StallsJson {
    fn of(measured: &Measured) -> Self {
        Self {
            count: measured.stalls,
            longest_ns: whole(measured.longest_stall),
            real_time: measured.watched_in_real_time,
        }
    }
}

impl OdditiesJson {
    const fn of(oddities: Oddities) -> Self {
        let Oddities { foreign, unsent, unrecorded, clock_steps } = oddities;
        Self { foreign, unsent, unrecorded, clock_steps }
    }
}

impl EmulatorJson {
    fn of(emulation: &Emulation) -> Self {
        Self {
            frames: emulation.frames,
            late: emulation.late,
            differing: emulation.differing,
            apart_p50_ns: whole(emulation.apart_p50),
            apart_max_ns: whole(emulation.apart_max),
            late_p50_ns: whole(emulation.late_p50),
            late_p99_ns: whole(emulation.late_p99),
            late_max_ns: emulation.late_max.as_ns_floor(),
            returned_max_ns: emulation.returned_max.as_ns_floor(),
            dropped: emulation.dropped,
            failed: emulation.failed,
            collisions: emulation.collisions,
            stalls: emulation.stalls,
        }
    }
}

impl<'a> LayerJson<'a> {
    fn of(scenario: &'a Scenario, layer: &HostLayer) -> Self {
        let replayed = layer.replayed;
        Self {
            status: StatusJson::of(&layer.status),
            station: &scenario.network.node(layer.node).name,
            replay: ReplayJson {
                decisions: replayed.decisions,
                differs: replayed.differs,
                unrecorded: replayed.unrecorded,
            },
        }
    }
}

impl<'a> StreamJson<'a> {
    fn of(scenario: &'a Scenario, row: &Row<'a>) -> Self {
        let Row { flow, listener, stream, assessment } = *row;
        Self {
            flow: &flow.name,
            class: &flow.class,
            talker: name(scenario, flow.talker),
            listener: name(scenario, listener),
            released: stream.released,
            delivered: stream.delivered,
            lost: stream.lost,
            missed: stream.missed,
            duplicates: stream.duplicates,
            reordered: stream.reordered,
            stalled: stream.stalled,
            outside_profile: stream.outside,
            held_up: stream.held_up,
            latency_ns: LatencyJson::of(stream),
            send_ns: QuantilesJson::of(&stream.send),
            receive_ns: QuantilesJson::of(&stream.receive),
            uncertainty_ns: stream.uncertainty.as_ns_floor(),
            late_release_ns: QuantilesJson::of(&stream.late),
            files: stream.transfers.iter().map(FileJson::of).collect(),
            with_stalls: stream.measurement().with_stalls.json(),
            max_less_stalls_ns: whole(stream.less_stalls.max()),
            worst_at_ns: stream.worst.map(|worst| since_start(worst.at)),
            deadline_ns: whole(flow.deadline),
            verdict: assessment.verdict.name(),
            basis: assessment.standing().name(),
            reasons: &assessment.reasons,
        }
    }
}

impl LatencyJson {
    fn of(stream: &MeasuredStream) -> Self {
        let latency = &stream.latency;
        let is_any = latency.count > 0;
        Self {
            min: whole(is_any.then_some(latency.min)),
            mean: whole(latency.mean()),
            quantiles: QuantilesJson {
                p50: whole(stream.quantile(1, 2)),
                p90: whole(stream.quantile(9, 10)),
                p99: whole(stream.quantile(99, 100)),
                p999: whole(stream.quantile(999, 1_000)),
            },
            max: whole(is_any.then_some(latency.max)),
        }
    }
}

impl QuantilesJson {
    fn of(histogram: &Histogram) -> Self {
        Self {
            p50: whole(histogram.quantile(1, 2)),
            p90: whole(histogram.quantile(9, 10)),
            p99: whole(histogram.quantile(99, 100)),
            p999: whole(histogram.quantile(999, 1_000)),
        }
    }
}

impl FileJson {
    fn of(file: &TransferRecord) -> Self {
        Self {
            started_ns: since_start(file.started_at),
            finished_ns: file.finished_at.map(since_start),
            delivered_bytes: file.delivered.get(),
            retransmissions: file.retransmissions,
        }
    }
}

fn name(scenario: &Scenario, id: NodeId) -> &str {
    &scenario.network.node(id).name
}

fn since_start(at: Instant) -> i64 {
    at.since_start().as_ns_floor()
}

/// Returns whole nanoseconds, which is what clocks resolve.
fn whole(time: Option<Duration>) -> Option<i64> {
    time.map(Duration::as_ns_floor)
}
