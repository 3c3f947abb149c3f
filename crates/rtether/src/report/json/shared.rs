//! Shared media and the layer in end nodes.

use rtether_model::quantity::Duration;
use rtether_model::record::{AccessRecord, ClassRecord, LayerRecord, SmootherRecord};
use rtether_report::number::Ns;
use serde::Serialize;

use super::super::checked::Checked;
use super::super::domain::{Attempts, Domain};
use super::maybe_ns;

/// Returns one collision domain.
pub(super) fn medium(checked: &Checked, domain: &Domain<'_>, observed: Duration) -> impl Serialize {
    let network = &checked.scenario.network;
    let name = |node| checked.node_name(node);
    let hubs: Vec<&str> = domain.hubs.iter().map(|&hub| name(hub)).collect();
    let ports = domain
        .ports
        .iter()
        .map(|port| object!({ node: name(port.port.node), port: port.port.port }));
    let access = domain.access();
    object!({
        name: domain.name(network),
        hubs: hubs,
        links: domain.links.iter().map(|link| link.0).collect::<Vec<_>>(),
        ports: ports.collect::<Vec<_>>(),
        utilization: domain.record.utilization(observed),
        carried_ns: Ns(domain.record.carried),
        wasted_ns: Ns(domain.record.wasted),
        sent: domain.sent(),
        collisions: domain.collisions(),
        collisions_per_sent: domain.collisions_per_frame(),
        attempts: domain.attempts().into_iter().map(attempt).collect::<Vec<_>>(),
        sent_after_collision: access.sent_after_collision,
        excessive_collisions: access.excessive_collisions,
        late_collisions: access.late_collisions,
        fairness_frames: domain.fairness_frames(),
        fairness_octets: domain.fairness_octets(),
    })
}

fn attempt(attempts: Attempts) -> impl Serialize {
    object!({
        number: attempts.number,
        made: attempts.made,
        collided: attempts.collided,
        collided_ratio: attempts.ratio(),
    })
}

/// Returns the counters of a port's access to its medium.
pub(super) fn access(access: &AccessRecord) -> impl Serialize {
    object!({
        collisions: access.collisions,
        sent_after_collision: access.sent_after_collision,
        excessive_collisions: access.excessive_collisions,
        late_collisions: access.late_collisions,
    })
}

/// Returns the layer of one node.
pub(super) fn layer(layer: &LayerRecord) -> impl Serialize {
    object!({
        receive: layer.receive.iter().map(class).collect::<Vec<_>>(),
        transmit: layer.transmit.iter().map(class).collect::<Vec<_>>(),
        smoother: layer.smoother.as_ref().map(smoother),
    })
}

fn class(class: &ClassRecord) -> impl Serialize {
    object!({
        arrived: class.arrived,
        left: class.left,
        dropped: class.dropped,
        depth_max: class.depth_max,
        mean_wait_ns: maybe_ns(mean_wait(class)),
        promoted: class.promoted,
        idle_releases: class.idle_releases,
    })
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

fn smoother(smoother: &SmootherRecord) -> impl Serialize {
    object!({
        real_time_bytes: smoother.real_time.get(),
        bulk_bytes: smoother.bulk.get(),
        dropped: smoother.dropped,
        congestion_signals: smoother.signals,
        bulk_wait_ns: Ns(bulk_wait(smoother)),
        bulk_depth_max: smoother.bulk_depth_max,
    })
}
