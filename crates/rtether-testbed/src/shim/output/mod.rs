//! The status of a shim in all formats, and for Prometheus.

mod document;
mod metrics;
mod table;

use rtether_live::shim::{Direction, Signal, Status};
use rtether_model::endnode::Detector;
use rtether_model::quantity::BitRate;
use rtether_model::smoother::{Increase, Mode};
use rtether_proto::endnode::MalformedReason;

pub(crate) use document::{ShimJson, StatusJson};
pub use metrics::metrics;

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
