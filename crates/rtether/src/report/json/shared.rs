//! Shared media and the layer in end nodes.

use rtether_model::quantity::Duration;
use rtether_model::record::{AccessRecord, ClassRecord, LayerRecord, SmootherRecord};
use rtether_report::number::Ns;
use schemars::JsonSchema;
use serde::Serialize;

use super::super::checked::Checked;
use crate::domain::{Attempts, Domain};

#[derive(Serialize, JsonSchema)]
pub(super) struct MediumJson<'a> {
    /// Names of its hubs, or both ends of a half-duplex link.
    name: String,
    /// The hubs.
    hubs: Vec<&'a str>,
    /// Positions of its links.
    links: Vec<u32>,
    /// Each port that sends; those of hubs do not.
    ports: Vec<PortOfMedium<'a>>,
    /// Share of the time in which frames were carried that got through.
    utilization: f64,
    /// That time, preambles included, gaps not.
    carried_ns: Ns,
    /// Time of transmissions that collided; each port's counts.
    wasted_ns: Ns,
    /// Frames that got through.
    sent: u64,
    /// Transmissions that collided.
    collisions: u64,
    /// Their ratio.
    collisions_per_sent: Option<f64>,
    /// Transmissions by the number of the attempt.
    attempts: Vec<AttemptJson>,
    #[serde(flatten)]
    given_up: GivenUp,
    /// Jain's index over the ports that offered anything, by frames: 1 if all sent the same, 1/n if
    /// one of n sent all.
    fairness_frames: Option<f64>,
    /// The same by octets.
    fairness_octets: Option<f64>,
}

#[derive(Serialize, JsonSchema)]
struct PortOfMedium<'a> {
    /// Its node.
    node: &'a str,
    /// Its number.
    port: u16,
}

#[derive(Serialize, JsonSchema)]
struct AttemptJson {
    #[serde(flatten)]
    attempts: Attempts,
    /// The share that collided.
    collided_ratio: Option<f64>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct AccessJson {
    /// Collisions that it was part of.
    collisions: u64,
    #[serde(flatten)]
    given_up: GivenUp,
}

#[derive(Serialize, JsonSchema)]
struct GivenUp {
    /// Frames sent after a collision.
    sent_after_collision: u64,
    /// Frames given up after the sixteenth collision in a row.
    excessive_collisions: u64,
    /// Frames given up after a collision behind the slot time.
    late_collisions: u64,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct LayerJson {
    /// Queues of received frames, lowest first.
    receive: Vec<ClassJson>,
    /// Queues of frames to send, lowest first.
    transmit: Vec<ClassJson>,
    /// The traffic smoother, or `null`.
    smoother: Option<SmootherJson>,
}

#[derive(Serialize, JsonSchema)]
struct ClassJson {
    /// Frames that came.
    arrived: u64,
    /// Frames that left.
    left: u64,
    /// Frames dropped.
    dropped: u64,
    /// Most frames that waited.
    depth_max: u32,
    /// Mean wait.
    mean_wait_ns: Option<Ns>,
    /// Frames moved up from it.
    promoted: u64,
    /// Frames let go because nothing else came.
    idle_releases: u64,
}

#[derive(Serialize, JsonSchema)]
struct SmootherJson {
    /// Octets of real-time traffic that left, as IP datagrams.
    real_time_bytes: u64,
    /// Octets of bulk traffic that left.
    bulk_bytes: u64,
    /// Packets refused because a queue was full.
    dropped: u64,
    /// Signals of congestion.
    congestion_signals: u64,
    /// Time that bulk packets waited, summed.
    bulk_wait_ns: Ns,
    /// Most bulk packets that waited.
    bulk_depth_max: u32,
}

impl<'a> MediumJson<'a> {
    pub(super) fn of(checked: &'a Checked, domain: &Domain<'_>, observed: Duration) -> Self {
        let ports = domain.ports.iter().map(|port| PortOfMedium {
            node: checked.node_name(port.port.node),
            port: port.port.port,
        });
        let attempts = domain.attempts().into_iter();
        Self {
            name: domain.name(&checked.scenario.network),
            hubs: domain.hubs.iter().map(|&hub| checked.node_name(hub)).collect(),
            links: domain.links.iter().map(|link| link.0).collect(),
            ports: ports.collect(),
            utilization: domain.record.utilization(observed),
            carried_ns: Ns(domain.record.carried),
            wasted_ns: Ns(domain.record.wasted),
            sent: domain.sent(),
            collisions: domain.collisions(),
            collisions_per_sent: domain.collisions_per_frame(),
            attempts: attempts
                .map(|attempts| AttemptJson { attempts, collided_ratio: attempts.ratio() })
                .collect(),
            given_up: GivenUp::of(&domain.access()),
            fairness_frames: domain.fairness_frames(),
            fairness_octets: domain.fairness_octets(),
        }
    }
}

impl AccessJson {
    pub(super) fn of(access: &AccessRecord) -> Self {
        Self { collisions: access.collisions, given_up: GivenUp::of(access) }
    }
}

impl GivenUp {
    fn of(access: &AccessRecord) -> Self {
        Self {
            sent_after_collision: access.sent_after_collision,
            excessive_collisions: access.excessive_collisions,
            late_collisions: access.late_collisions,
        }
    }
}

impl LayerJson {
    pub(super) fn of(layer: &LayerRecord) -> Self {
        Self {
            receive: layer.receive.iter().map(ClassJson::of).collect(),
            transmit: layer.transmit.iter().map(ClassJson::of).collect(),
            smoother: layer.smoother.as_ref().map(SmootherJson::of),
        }
    }
}

impl ClassJson {
    fn of(class: &ClassRecord) -> Self {
        Self {
            arrived: class.arrived,
            left: class.left,
            dropped: class.dropped,
            depth_max: class.depth_max,
            mean_wait_ns: mean_wait(class).map(Ns),
            promoted: class.promoted,
            idle_releases: class.idle_releases,
        }
    }
}

/// Returns the mean time a frame waited in a queue of the layer.
pub(crate) fn mean_wait(class: &ClassRecord) -> Option<Duration> {
    let mean = class.waited_ps.checked_div(i128::from(class.left))?;
    i64::try_from(mean).ok().map(Duration::from_ps)
}

/// Returns the time bulk packets waited in a smoother, summed.
pub(crate) fn bulk_wait(smoother: &SmootherRecord) -> Duration {
    Duration::from_ps(i64::try_from(smoother.bulk_waited_ps).unwrap_or(i64::MAX))
}

impl SmootherJson {
    fn of(smoother: &SmootherRecord) -> Self {
        Self {
            real_time_bytes: smoother.real_time.get(),
            bulk_bytes: smoother.bulk.get(),
            dropped: smoother.dropped,
            congestion_signals: smoother.signals,
            bulk_wait_ns: Ns(bulk_wait(smoother)),
            bulk_depth_max: smoother.bulk_depth_max,
        }
    }
}
