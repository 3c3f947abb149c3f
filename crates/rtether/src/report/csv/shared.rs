//! Shared media and the layer in end nodes.

use rtether_model::record::{AccessRecord, ClassRecord, LayerRecord};

use super::super::checked::Checked;
use super::super::json::{bulk_wait, mean_wait};
use super::super::text::exact_ns;
use super::{ns, number, write};

/// Columns for a port's access to a shared medium.
pub(super) const ACCESS_COLUMNS: [&str; 4] = [
    "collided_frames",
    "sent_after_collision_frames",
    "excessive_collisions_frames",
    "late_collisions_frames",
];

/// Returns the cells of [`ACCESS_COLUMNS`], empty if the port is not on a shared medium.
pub(super) fn access_cells(access: Option<&AccessRecord>) -> [String; 4] {
    [
        number(access.map(|access| access.collisions)),
        number(access.map(|access| access.sent_after_collision)),
        number(access.map(|access| access.excessive_collisions)),
        number(access.map(|access| access.late_collisions)),
    ]
}

/// Returns one row per collision domain.
pub fn media(checked: &Checked) -> String {
    let mut names = vec![
        "medium",
        "utilization_ratio",
        "carried_ns",
        "wasted_ns",
        "sent_frames",
        "collisions_per_sent_ratio",
        "fairness_frames_ratio",
        "fairness_octets_ratio",
    ];
    names.extend(ACCESS_COLUMNS);
    let observed = checked.results.record.observed;
    let rows = checked.domains().into_iter().map(|domain| {
        let mut row = vec![
            domain.name(&checked.scenario.network),
            domain.record.utilization(observed).to_string(),
            exact_ns(domain.record.carried.as_ps()),
            exact_ns(domain.record.wasted.as_ps()),
            domain.sent().to_string(),
            number(domain.collisions_per_frame()),
            number(domain.fairness_frames()),
            number(domain.fairness_octets()),
        ];
        let access = AccessRecord {
            collisions: domain.collisions(),
            ..domain.access()
        };
        row.extend(access_cells(Some(&access)));
        row
    });
    write(&names, rows)
}

/// Returns one row per attempt number at which frames collided.
pub fn collisions(checked: &Checked) -> String {
    let names = [
        "medium",
        "attempt",
        "made_frames",
        "collided_frames",
        "collided_ratio",
    ];
    let rows = checked.domains().into_iter().flat_map(|domain| {
        let name = domain.name(&checked.scenario.network);
        domain.attempts().into_iter().map(move |attempts| {
            vec![
                name.clone(),
                attempts.number.to_string(),
                attempts.made.to_string(),
                attempts.collided.to_string(),
                number(attempts.ratio()),
            ]
        })
    });
    write(&names, rows)
}

/// Returns the layers of all nodes that have one.
fn layers(checked: &Checked) -> impl Iterator<Item = (&str, &LayerRecord)> {
    let nodes = checked.results.record.nodes.iter();
    nodes.filter_map(move |node| Some((checked.node_name(node.node), node.layer.as_ref()?)))
}

/// Returns one row per queue between driver and stack; queue 0 is the lowest.
pub fn queues(checked: &Checked) -> String {
    let names = [
        "node",
        "direction",
        "queue",
        "arrived_frames",
        "left_frames",
        "dropped_frames",
        "depth_max_frames",
        "mean_wait_ns",
        "promoted_frames",
        "idle_released_frames",
    ];
    let rows = layers(checked).flat_map(|(node, layer)| {
        let directions = [("receive", &layer.receive), ("transmit", &layer.transmit)];
        directions.into_iter().flat_map(move |(direction, queues)| {
            let numbered = queues.iter().enumerate();
            numbered.map(move |(queue, class)| queue_row([node, direction], queue, class))
        })
    });
    write(&names, rows)
}

fn queue_row(names: [&str; 2], queue: usize, class: &ClassRecord) -> Vec<String> {
    vec![
        names[0].to_owned(),
        names[1].to_owned(),
        queue.to_string(),
        class.arrived.to_string(),
        class.left.to_string(),
        class.dropped.to_string(),
        class.depth_max.to_string(),
        ns(mean_wait(class)),
        class.promoted.to_string(),
        class.idle_releases.to_string(),
    ]
}

/// Returns one row per traffic smoother.
pub fn smoothers(checked: &Checked) -> String {
    let names = [
        "node",
        "real_time_bytes",
        "bulk_bytes",
        "dropped_packets",
        "congestion_signals",
        "bulk_wait_ns",
        "bulk_depth_max_packets",
    ];
    let rows = layers(checked).filter_map(|(node, layer)| {
        let smoother = layer.smoother.as_ref()?;
        Some(vec![
            node.to_owned(),
            smoother.real_time.get().to_string(),
            smoother.bulk.get().to_string(),
            smoother.dropped.to_string(),
            smoother.signals.to_string(),
            exact_ns(bulk_wait(smoother).as_ps()),
            smoother.bulk_depth_max.to_string(),
        ])
    });
    write(&names, rows)
}
