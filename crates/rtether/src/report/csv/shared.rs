//! Shared media and the layer in end nodes.

use rtether_model::record::{AccessRecord, LayerRecord};

use super::super::checked::Checked;
use super::super::json::{bulk_wait, mean_wait};
use super::super::table::{Rows, Table};
use crate::domain::Domain;

/// Adds the counters of a port's access to a shared medium, empty for one that is not on any.
pub(super) fn access<T>(rows: Rows<T>, of: fn(&T) -> Option<AccessRecord>) -> Rows<T> {
    rows.file("collided_frames", |row| of(row).map(|access| access.collisions))
        .file("sent_after_collision_frames", |row| {
            of(row).map(|access| access.sent_after_collision)
        })
        .file("excessive_collisions_frames", |row| {
            of(row).map(|access| access.excessive_collisions)
        })
        .file("late_collisions_frames", |row| of(row).map(|access| access.late_collisions))
}

/// Returns one row per collision domain.
pub fn media(checked: &Checked) -> Table {
    let observed = checked.results.record.observed;
    let rows = Table::of(checked.domains())
        .file("medium", |domain| domain.name(&checked.scenario.network))
        .file("utilization_ratio", |domain| domain.record.utilization(observed))
        .file("carried_ns", |domain| domain.record.carried)
        .file("wasted_ns", |domain| domain.record.wasted)
        .file("sent_frames", Domain::sent)
        .file("collisions_per_sent_ratio", crate::domain::Domain::collisions_per_frame)
        .file("fairness_frames_ratio", Domain::fairness_frames)
        .file("fairness_octets_ratio", Domain::fairness_octets);
    let rows = access(rows, |domain| {
        Some(AccessRecord { collisions: domain.collisions(), ..domain.access() })
    });
    rows.done()
}

/// Returns one row per attempt number at which frames collided.
pub fn collisions(checked: &Checked) -> Table {
    let rows = checked.domains().into_iter().flat_map(|domain| {
        let name = domain.name(&checked.scenario.network);
        let attempts = domain.attempts().into_iter();
        attempts.map(move |attempts| (name.clone(), attempts))
    });
    Table::of(rows)
        .file("medium", |(name, _)| name.clone())
        .file("attempt", |(_, of)| of.number)
        .file("made_frames", |(_, of)| of.made)
        .file("collided_frames", |(_, of)| of.collided)
        .file("collided_ratio", |(_, of)| of.ratio())
        .done()
}

/// Returns the layers of all nodes that have one.
fn layers(checked: &Checked) -> impl Iterator<Item = (&str, &LayerRecord)> {
    let nodes = checked.results.record.nodes.iter();
    nodes.filter_map(move |node| Some((checked.node_name(node.node), node.layer.as_ref()?)))
}

/// Returns one row per queue between driver and stack; queue 0 is the lowest.
pub fn queues(checked: &Checked) -> Table {
    let rows = layers(checked).flat_map(|(node, layer)| {
        let directions = [("receive", &layer.receive), ("transmit", &layer.transmit)];
        directions.into_iter().flat_map(move |(direction, queues)| {
            let numbered = queues.iter().enumerate();
            numbered.map(move |(queue, class)| (node, direction, queue, class))
        })
    });
    Table::of(rows)
        .file("node", |row| row.0)
        .file("direction", |row| row.1)
        .file("queue", |row| row.2)
        .file("arrived_frames", |row| row.3.arrived)
        .file("left_frames", |row| row.3.left)
        .file("dropped_frames", |row| row.3.dropped)
        .file("depth_max_frames", |row| row.3.depth_max)
        .file("mean_wait_ns", |row| mean_wait(row.3))
        .file("promoted_frames", |row| row.3.promoted)
        .file("idle_released_frames", |row| row.3.idle_releases)
        .done()
}

/// Returns one row per traffic smoother.
pub fn smoothers(checked: &Checked) -> Table {
    let rows = layers(checked).filter_map(|(node, layer)| Some((node, layer.smoother.as_ref()?)));
    Table::of(rows)
        .file("node", |(node, _)| *node)
        .file("real_time_bytes", |(_, of)| of.real_time.get())
        .file("bulk_bytes", |(_, of)| of.bulk.get())
        .file("dropped_packets", |(_, of)| of.dropped)
        .file("congestion_signals", |(_, of)| of.signals)
        .file("bulk_wait_ns", |(_, of)| bulk_wait(of))
        .file("bulk_depth_max_packets", |(_, of)| of.bulk_depth_max)
        .done()
}
