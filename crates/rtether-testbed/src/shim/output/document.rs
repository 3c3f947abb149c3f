//! The status of a shim as one JSON document.

use rtether::report::document::{Document, Members};
use rtether_live::shim::{QueueStatus, SmootherStatus, Status, Traffic};
use rtether_model::quantity::{BitRate, Bytes, Duration};
use rtether_proto::smoother::ClassStatistics;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Report, detector_name, direction_name, malformed, mode_name, signal_name};

/// A shim and its counters, which begin when it is set up.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ShimJson<'a> {
    /// Version of rtether.
    version: &'static str,
    /// Name of the device.
    device: &'a str,
    /// Number of the process.
    pid: u32,
    /// Seconds since the shim was set up.
    up_s: u64,
    /// Name of the configuration in force.
    config: &'a str,
    /// Configurations that came since the shim was set up.
    reloads: ReloadsJson,
    /// Whether a watchdog restores the device if the process dies.
    is_watched: bool,
    /// Rate of the link.
    rate_bps: u64,
    /// How the smoother finds congestion: `collisions`, `clearing-rate`, `backlog`, `utilization`,
    /// `probe-delay` or `marks`; `null` without a detector.
    detector: Option<&'static str>,
    #[serde(flatten)]
    status: StatusJson,
}

impl Document for ShimJson<'_> {
    const SCHEMA: &'static str = "rtether.shim/1";
}

#[derive(Serialize, JsonSchema)]
struct ReloadsJson {
    /// Those that were put in force.
    taken: u64,
    /// Those that were refused.
    refused: u64,
}

/// Counters and present values of a layer.
#[derive(Serialize, JsonSchema)]
pub(crate) struct StatusJson {
    /// The back end: `user` or `kernel`.
    backend: &'static str,
    /// Whether the thread that forwards has a real-time priority; `null` where the kernel forwards,
    /// and before the thread runs.
    is_real_time: Option<bool>,
    /// From the stack to the wire.
    transmitted: TrafficJson,
    /// From the wire to the stack.
    received: TrafficJson,
    /// Transmit queues, then receive queues, each from the lowest class.
    queues: Vec<QueueJson>,
    /// The smoother; `null` without one.
    smoother: Option<SmootherJson>,
    /// Where the detector hears of congestion: `port` (this port itself), `driver` (collisions that
    /// the driver counts) or `reports` (of an emulated hub).
    signal: &'static str,
    /// Lost frames by reason: queues that were full (`transmit_full`, `receive_full`), a shim that
    /// was too slow (`stack_overrun`, `wire_overrun`), a device without carrier (`port_down`),
    /// frames that device or stack refused (`port_refused`, `stack_refused`), and those that waited
    /// at the end (`abandoned`).
    drops: Members<&'static str, u64>,
    /// Frames that passed by because the shim gave no sign of life.
    bypassed: DirectionsJson,
    /// Frames that contradict themselves, by reason; they are forwarded.
    malformed: Members<&'static str, u64>,
    /// Reports of an emulated hub that were waited for in vain.
    missed_reports: u64,
    /// Probes between shims; `null` without them: those `sent`, `answered` in time, `lost`, and of
    /// these to `absent` stations; `answers` to probes of others, and those `declined` because there
    /// were too many; `forged` answers, and `malformed` frames.
    probes: Option<Members<&'static str, u64>>,
}

#[derive(Serialize, JsonSchema)]
struct TrafficJson {
    /// Frames taken in.
    taken_frames: u64,
    /// Frames handed on.
    frames: u64,
    /// Their octets, without check sequence.
    bytes: u64,
}

#[derive(Serialize, JsonSchema)]
struct DirectionsJson {
    /// From the stack to the wire.
    transmit: u64,
    /// From the wire to the stack.
    receive: u64,
}

#[derive(Serialize, JsonSchema)]
struct QueueJson {
    /// Its direction: `transmit` or `receive`.
    direction: &'static str,
    /// Its class.
    queue: u8,
    /// Frames that wait now.
    depth_frames: u32,
    /// Frames that were queued.
    accepted: u64,
    /// Frames that left.
    released: u64,
    /// Frames dropped because the queue was full.
    dropped: u64,
    /// Mean wait of the frames that left; `null` where the kernel holds the queue.
    wait_mean_ns: Option<f64>,
    /// Longest wait of a frame that left; `null` likewise.
    wait_max_ns: Option<f64>,
}

#[derive(Serialize, JsonSchema)]
struct SmootherJson {
    /// Its mode, as in configurations: `none`, `fixed`, `himd`, `slow-start`, `linear`, `nt` or
    /// `rtether`.
    mode: &'static str,
    /// Credits, below zero if borrowed; `null` if the mode has none.
    credits_bytes: Option<i64>,
    /// Depth of the bucket, or the most that is released at once.
    depth_bytes: Option<u64>,
    /// Present period.
    period_ns: Option<f64>,
    /// Present limit on bulk traffic: depth over period.
    rate_bps: Option<u64>,
    /// Octets that wait, of both classes.
    backlog_bytes: u64,
    /// Real-time packets.
    real_time: ClassJson,
    /// Bulk packets.
    bulk: ClassJson,
    /// How often the bucket was refreshed; in mode `nt`, served.
    refreshes: u64,
    /// Reports of congestion.
    reports: u64,
    /// How often the rate was lowered.
    decreases: u64,
    /// How often a bulk packet was held because of congestion just before.
    holds: u64,
}

#[derive(Serialize, JsonSchema)]
struct ClassJson {
    /// Packets that wait now.
    depth_packets: usize,
    /// Packets offered.
    offered: u64,
    /// Octets offered.
    offered_bytes: u64,
    /// Packets handed to the driver.
    sent: u64,
    /// Octets handed to the driver.
    sent_bytes: u64,
    /// Packets refused.
    dropped: u64,
    /// Octets refused.
    dropped_bytes: u64,
    /// Largest number of packets that waited at once.
    depth_max_packets: usize,
    /// Time in the smoother of all packets that left, added up.
    wait_ns: f64,
    /// Longest time in the smoother of a packet that left.
    wait_max_ns: f64,
}

impl<'a> ShimJson<'a> {
    pub(super) fn of(report: &'a Report) -> Self {
        let (taken, refused) = report.reloads;
        Self {
            version: env!("CARGO_PKG_VERSION"),
            device: &report.device,
            pid: report.pid,
            up_s: report.up.as_secs(),
            config: &report.config,
            reloads: ReloadsJson { taken, refused },
            is_watched: report.is_watched,
            rate_bps: report.rate.as_bps(),
            detector: report.detector.map(detector_name),
            status: StatusJson::of(&report.status),
        }
    }
}

impl StatusJson {
    pub(crate) fn of(status: &Status) -> Self {
        let bypassed = status.bypassed;
        Self {
            backend: status.backend.name(),
            is_real_time: status.is_real_time,
            transmitted: TrafficJson::of(&status.transmitted),
            received: TrafficJson::of(&status.received),
            queues: status.queues.iter().map(QueueJson::of).collect(),
            smoother: status.smoother.as_ref().map(SmootherJson::of),
            signal: signal_name(status.signal),
            drops: Members(status.drops.named().into()),
            bypassed: DirectionsJson { transmit: bypassed.transmit, receive: bypassed.receive },
            malformed: Members(malformed(status).collect()),
            missed_reports: status.missed_reports,
            probes: status.probes.as_ref().map(|probes| Members(probes.named().into())),
        }
    }
}

impl TrafficJson {
    const fn of(traffic: &Traffic) -> Self {
        Self { taken_frames: traffic.taken, frames: traffic.frames, bytes: traffic.octets }
    }
}

impl QueueJson {
    fn of(queue: &QueueStatus) -> Self {
        Self {
            direction: direction_name(queue.direction),
            queue: queue.class,
            depth_frames: queue.depth,
            accepted: queue.accepted,
            released: queue.released,
            dropped: queue.dropped,
            wait_mean_ns: queue.waited.map(|waited| waited.mean.as_ns_f64()),
            wait_max_ns: queue.waited.map(|waited| waited.max.as_ns_f64()),
        }
    }
}

impl SmootherJson {
    fn of(smoother: &SmootherStatus) -> Self {
        let SmootherStatus { mode, state, statistics } = smoother;
        Self {
            mode: mode_name(mode),
            credits_bytes: state.credits,
            depth_bytes: state.depth.map(Bytes::get),
            period_ns: state.period.map(Duration::as_ns_f64),
            rate_bps: state.rate.map(BitRate::as_bps),
            backlog_bytes: state.backlog.get(),
            real_time: ClassJson::of(state.real_time_packets, &statistics.real_time),
            bulk: ClassJson::of(state.bulk_packets, &statistics.bulk),
            refreshes: statistics.refreshes,
            reports: statistics.reports,
            decreases: statistics.decreases,
            holds: statistics.holds,
        }
    }
}

impl ClassJson {
    fn of(waiting: usize, statistics: &ClassStatistics) -> Self {
        Self {
            depth_packets: waiting,
            offered: statistics.offered,
            offered_bytes: statistics.offered_size.get(),
            sent: statistics.sent,
            sent_bytes: statistics.sent_size.get(),
            dropped: statistics.dropped,
            dropped_bytes: statistics.dropped_size.get(),
            depth_max_packets: statistics.queued_max,
            wait_ns: statistics.waited.as_ns_f64(),
            wait_max_ns: statistics.waited_max.as_ns_f64(),
        }
    }
}
