//! Made-up records of shared media and of layers in end nodes.

use rtether_model::network::{Network, NodeId, PortId};
use rtether_model::quantity::{Bytes, Duration};
use rtether_model::record::{
    AccessRecord, ClassRecord, LayerRecord, MediumRecord, Record, SmootherRecord,
};

use super::Dice;

/// Collisions at each attempt number, from the first, of each sending port of a medium.
const COLLISIONS: [u64; 4] = [9_000, 1_800, 240, 12];

/// Adds the counters of the network's hubs and layers; all hubs are one medium.
pub(super) fn fill(network: &Network, record: &mut Record, dice: &mut Dice) {
    let is_hub = |node: NodeId| network.hub(node).is_some();
    let at_hub = |port: PortId| {
        let peers = network.links.iter().filter_map(|link| link.peer_of(port));
        peers.into_iter().any(|peer| is_hub(peer.node))
    };
    let mut medium = MediumRecord {
        collisions: vec![0; 16],
        carried: record.observed * 9 / 25,
        wasted: record.observed / 40,
        ..MediumRecord::default()
    };
    for port in record.ports.iter_mut().filter(|port| at_hub(port.port)) {
        medium.ports.push(port.port);
        let mut access = AccessRecord {
            sent_after_collision: 5_000 + dice.below(400),
            excessive_collisions: u64::from(medium.ports.len() == 2),
            ..AccessRecord::default()
        };
        port.sent += 60_000;
        port.offered = port.sent + access.excessive_collisions;
        for (slot, count) in medium.collisions.iter_mut().zip(COLLISIONS) {
            *slot += count;
            access.collisions += count;
        }
        port.access = Some(access);
    }
    if !medium.ports.is_empty() {
        record.media.push(medium);
    }
    for node in &mut record.nodes {
        let station = network.end_station(node.node);
        if station.is_some_and(|station| station.layer.is_some()) {
            node.layer_dropped = 7;
            node.layer = Some(layer(dice));
        }
    }
}

fn layer(dice: &mut Dice) -> LayerRecord {
    let mut class = |dropped: u64| {
        let left = 10_000 + dice.below(9_000);
        ClassRecord {
            arrived: left + dropped,
            left,
            dropped,
            depth_max: 4 + u32::try_from(dropped).unwrap(),
            waited_ps: i128::from(left) * 31_000_000,
            promoted: dropped * 2,
            idle_releases: 3,
        }
    };
    LayerRecord {
        receive: vec![class(5), class(0)],
        transmit: vec![class(2), class(0)],
        smoother: Some(SmootherRecord {
            real_time: Bytes::new(1_234_567),
            bulk: Bytes::new(45_678_901),
            dropped: 0,
            signals: 321,
            bulk_waited_ps: i128::from(Duration::from_ms(4_321).as_ps()),
            bulk_depth_max: 17,
        }),
    }
}
