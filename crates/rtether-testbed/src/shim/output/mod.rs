//! The status of a shim in all formats, and for Prometheus.

mod metrics;
mod table;

use rtether_live::shim::{
    Direction, ProbeStatus, QueueStatus, Signal, SmootherStatus, Status, Traffic,
};
use rtether_model::endnode::Detector;
use rtether_model::quantity::{BitRate, Bytes, Duration};
use rtether_model::smoother::{Increase, Mode};
use rtether_proto::endnode::MalformedReason;
use rtether_proto::smoother::ClassStatistics;
use serde_json::{Value, json};

pub use metrics::metrics;

/// Schema of the JSON document.
const SCHEMA: &str = "rtether.shim/1";

/// A shim and its status.
#[derive(Clone, Debug)]
pub struct Report {
    /// Name of the device.
    pub device: String,
    /// Number of the process.
    pub pid: u32,
    /// Name of the configuration in force.
    pub config: String,
    /// Rate of the link.
    pub rate: BitRate,
    /// The smoother's congestion detector.
    pub detector: Option<Detector>,
    /// Time since the shim was set up.
    pub up: std::time::Duration,
    /// Configurations accepted since then, and refused.
    pub reloads: (u64, u64),
    /// Whether a watchdog restores the device if the process dies.
    pub is_watched: bool,
    /// Counters and states.
    pub status: Status,
}

/// Warning about a shim whose thread has no real-time priority.
pub(crate) const NOT_REAL_TIME: &str = "no real-time priority: on a busy host frames wait for the shim's thread, for milliseconds each; \
     `priority: 40` in the configuration gives it one";

/// Returns one JSON document.
fn json(report: &Report) -> String {
    let mut document = json!({
        "schema": SCHEMA,
        "version": env!("CARGO_PKG_VERSION"),
        "device": report.device,
        "pid": report.pid,
        "up_s": report.up.as_secs(),
        "config": report.config,
        "reloads": { "taken": report.reloads.0, "refused": report.reloads.1 },
        "is_watched": report.is_watched,
        "rate_bps": report.rate.as_bps(),
        "detector": report.detector.map(detector_name),
    });
    if let (Some(all), Value::Object(status)) =
        (document.as_object_mut(), of_status(&report.status))
    {
        all.extend(status);
    }
    format!("{document:#}\n")
}

/// Returns the counters and states as a JSON object.
pub(crate) fn of_status(status: &Status) -> Value {
    let queues: Vec<Value> = status.queues.iter().map(queue).collect();
    let drops = status.drops.named();
    let drops: serde_json::Map<String, Value> =
        drops.into_iter().map(|(reason, count)| (reason.to_owned(), count.into())).collect();
    let malformed: serde_json::Map<String, Value> =
        malformed(status).map(|(reason, count)| (reason.to_owned(), count.into())).collect();
    json!({
        "backend": status.backend.name(),
        "is_real_time": status.is_real_time,
        "transmitted": traffic(&status.transmitted),
        "received": traffic(&status.received),
        "queues": queues,
        "smoother": status.smoother.as_ref().map(smoother),
        "signal": signal_name(status.signal),
        "drops": drops,
        "bypassed": { "transmit": status.bypassed.transmit, "receive": status.bypassed.receive },
        "malformed": malformed,
        "missed_reports": status.missed_reports,
        "probes": status.probes.as_ref().map(probes),
    })
}

fn probes(probes: &ProbeStatus) -> Value {
    let named = probes.named().into_iter();
    named
        .map(|(name, count)| (name.to_owned(), Value::from(count)))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

fn traffic(traffic: &Traffic) -> Value {
    json!({
        "taken_frames": traffic.taken,
        "frames": traffic.frames,
        "bytes": traffic.octets,
    })
}

fn queue(queue: &QueueStatus) -> Value {
    json!({
        "direction": direction_name(queue.direction),
        "queue": queue.class,
        "depth_frames": queue.depth,
        "accepted": queue.accepted,
        "released": queue.released,
        "dropped": queue.dropped,
        "wait_mean_ns": queue.waited.map(|waited| ns(waited.mean)),
        "wait_max_ns": queue.waited.map(|waited| ns(waited.max)),
    })
}

fn smoother(smoother: &SmootherStatus) -> Value {
    let SmootherStatus { mode, state, statistics } = smoother;
    json!({
        "mode": mode_name(mode),
        "credits_bytes": state.credits,
        "depth_bytes": state.depth.map(Bytes::get),
        "period_ns": state.period.map(ns),
        "rate_bps": state.rate.map(BitRate::as_bps),
        "backlog_bytes": state.backlog.get(),
        "real_time": class(state.real_time_packets, &statistics.real_time),
        "bulk": class(state.bulk_packets, &statistics.bulk),
        "refreshes": statistics.refreshes,
        "reports": statistics.reports,
        "decreases": statistics.decreases,
        "holds": statistics.holds,
    })
}

fn class(waiting: usize, statistics: &ClassStatistics) -> Value {
    json!({
        "depth_packets": waiting,
        "offered": statistics.offered,
        "offered_bytes": statistics.offered_size.get(),
        "sent": statistics.sent,
        "sent_bytes": statistics.sent_size.get(),
        "dropped": statistics.dropped,
        "dropped_bytes": statistics.dropped_size.get(),
        "depth_max_packets": statistics.queued_max,
        "wait_ns": ns(statistics.waited),
        "wait_max_ns": ns(statistics.waited_max),
    })
}

fn ns(time: Duration) -> f64 {
    time.as_ns_f64()
}

/// Returns the number of malformed frames by reason, with names in the style of the other members.
fn malformed(status: &Status) -> impl Iterator<Item = (&'static str, u64)> + '_ {
    MalformedReason::ALL
        .into_iter()
        .map(|reason| (malformed_name(reason), status.malformed.count(reason)))
}

const fn malformed_name(reason: MalformedReason) -> &'static str {
    match reason {
        MalformedReason::ShortFrame => "short_frame",
        MalformedReason::UndefinedType => "undefined_type",
        MalformedReason::ShortTag => "short_tag",
        MalformedReason::TooManyTags => "too_many_tags",
        MalformedReason::ReservedVid => "reserved_vid",
        MalformedReason::ShortIpHeader => "short_ip_header",
        MalformedReason::WrongIpVersion => "wrong_ip_version",
        MalformedReason::IpHeaderLength => "ip_header_length",
        MalformedReason::IpPacketLength => "ip_packet_length",
        MalformedReason::ShortExtension => "short_extension",
        MalformedReason::TooManyExtensions => "too_many_extensions",
        MalformedReason::ShortPorts => "short_ports",
    }
}

const fn direction_name(direction: Direction) -> &'static str {
    match direction {
        Direction::Transmit => "transmit",
        Direction::Receive => "receive",
    }
}

/// Returns the name of a mode in configurations.
const fn mode_name(mode: &Mode) -> &'static str {
    match mode {
        Mode::None => "none",
        Mode::Fixed(_) => "fixed",
        Mode::Adaptive(adaptive) => match adaptive.increase {
            Increase::Harmonic(_) => "himd",
            Increase::SlowStart(_) => "slow-start",
            Increase::Linear(_) => "linear",
        },
        Mode::Nt(_) => "nt",
        Mode::Rtether(_) => "rtether",
    }
}

const fn detector_name(detector: Detector) -> &'static str {
    match detector {
        Detector::OwnCollisions { .. } => "collisions",
        Detector::ClearingRate { .. } => "clearing-rate",
        Detector::Backlog { .. } => "backlog",
        Detector::Utilization { .. } => "utilization",
        Detector::ProbeDelay { .. } => "probe-delay",
        Detector::Marks { .. } => "marks",
    }
}

const fn signal_name(signal: Signal) -> &'static str {
    match signal {
        Signal::Port => "port",
        Signal::DriverCollisions { .. } => "driver",
        Signal::Reports => "reports",
    }
}

#[cfg(test)]
mod tests;
