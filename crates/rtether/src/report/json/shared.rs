//! Shared media and the layer in end nodes.

use rtether_model::quantity::Duration;
use rtether_model::record::{AccessRecord, ClassRecord, LayerRecord, SmootherRecord};
use serde_json::{Value, json};

use super::super::checked::Checked;
use super::super::domain::{Attempts, Domain};
use super::{ns, ns_or_null};

/// Returns one collision domain.
pub(super) fn medium(checked: &Checked, domain: &Domain<'_>, observed: Duration) -> Value {
    let network = &checked.scenario.network;
    let name = |node| checked.node_name(node);
    let hubs: Vec<&str> = domain.hubs.iter().map(|&hub| name(hub)).collect();
    let ports = domain
        .ports
        .iter()
        .map(|port| json!({ "node": name(port.port.node), "port": port.port.port }));
    let access = domain.access();
    json!({
        "name": domain.name(network),
        "hubs": hubs,
        "links": domain.links.iter().map(|link| link.0).collect::<Vec<_>>(),
        "ports": ports.collect::<Vec<_>>(),
        "utilization": domain.record.utilization(observed),
        "carried_ns": ns(domain.record.carried),
        "wasted_ns": ns(domain.record.wasted),
        "sent": domain.sent(),
        "collisions": domain.collisions(),
        "collisions_per_sent": domain.collisions_per_frame(),
        "attempts": domain.attempts().into_iter().map(attempt).collect::<Vec<_>>(),
        "sent_after_collision": access.sent_after_collision,
        "excessive_collisions": access.excessive_collisions,
        "late_collisions": access.late_collisions,
        "fairness_frames": domain.fairness_frames(),
        "fairness_octets": domain.fairness_octets(),
    })
}

fn attempt(attempts: Attempts) -> Value {
    json!({
        "number": attempts.number,
        "made": attempts.made,
        "collided": attempts.collided,
        "collided_ratio": attempts.ratio(),
    })
}

/// Returns the counters of a port's access to its medium.
pub(super) fn access(access: &AccessRecord) -> Value {
    json!({
        "collisions": access.collisions,
        "sent_after_collision": access.sent_after_collision,
        "excessive_collisions": access.excessive_collisions,
        "late_collisions": access.late_collisions,
    })
}

/// Returns the layer of one node.
pub(super) fn layer(layer: &LayerRecord) -> Value {
    json!({
        "receive": layer.receive.iter().map(class).collect::<Vec<_>>(),
        "transmit": layer.transmit.iter().map(class).collect::<Vec<_>>(),
        "smoother": layer.smoother.as_ref().map_or(Value::Null, smoother),
    })
}

fn class(class: &ClassRecord) -> Value {
    json!({
        "arrived": class.arrived,
        "left": class.left,
        "dropped": class.dropped,
        "depth_max": class.depth_max,
        "mean_wait_ns": ns_or_null(mean_wait(class)),
        "promoted": class.promoted,
        "idle_releases": class.idle_releases,
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

fn smoother(smoother: &SmootherRecord) -> Value {
    json!({
        "real_time_bytes": smoother.real_time.get(),
        "bulk_bytes": smoother.bulk.get(),
        "dropped": smoother.dropped,
        "congestion_signals": smoother.signals,
        "bulk_wait_ns": ns(bulk_wait(smoother)),
        "bulk_depth_max": smoother.bulk_depth_max,
    })
}
