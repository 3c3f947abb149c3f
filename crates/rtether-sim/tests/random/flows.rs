//! Random flows of every traffic kind.

use rtether_model::flow::{
    Bulk, Delivery, Flow, Phase, Reply, Tag, TcpParameters, Traffic, Transfer,
};
use rtether_model::network::NodeId;
use rtether_model::quantity::{BitRate, Bytes, Duration};
use rtether_model::route::Routing;
use rtether_model::wire::Encapsulation;

use super::network::{pcp, vid};
use crate::support::{Plant, periodic};
use rtether_testkit::Dice;

/// Adds flows between `stations`; flows without a route are left out.
pub(super) fn flows(dice: &mut Dice, plant: &mut Plant, stations: &[NodeId], drains: bool) {
    let count = dice.between(1, 8);
    let has_bulk = dice.chance(50);
    let routing = Routing::new(&plant.network);
    for number in 0..count {
        let flow = flow(dice, &format!("f{number}"), stations, has_bulk, drains);
        let back =
            |from: NodeId| Flow { talker: from, delivery: Delivery::Unicast, ..flow.clone() };
        let is_answered = flow.reply.is_some() || matches!(flow.traffic, Traffic::Bulk(_));
        let path = |flow: &Flow, to| routing.flow_path(&plant.network, flow, to);
        let reaches = |&to: &NodeId| {
            let answers = !is_answered || path(&back(to), flow.talker).is_ok();
            path(&flow, to).is_ok() && answers
        };
        if flow.listeners.iter().all(reaches) {
            plant.flow(flow);
        }
    }
}

fn flow(dice: &mut Dice, name: &str, stations: &[NodeId], has_bulk: bool, drains: bool) -> Flow {
    let mut others = stations.to_vec();
    let talker = others.swap_remove(dice.index(others.len()));
    let traffic = traffic(dice, has_bulk, drains);
    let is_bulk = matches!(traffic, Traffic::Bulk(_));
    let listeners = if is_bulk { 1 } else { dice.between(1, 3).min(others.len() as u64) };
    let listeners = (0..listeners).map(|_| others.swap_remove(dice.index(others.len()))).collect();
    let encapsulation = dice.pick(&[
        Encapsulation::Udp,
        Encapsulation::Udp,
        Encapsulation::Raw,
        Encapsulation::Goose,
        Encapsulation::Profinet,
        Encapsulation::Icmp,
    ]);
    let largest = encapsulation.max_payload().get();
    let payload = |dice: &mut Dice| match dice.between(0, 3) {
        0 => Bytes::new(dice.between(0, 100)),
        1 => Bytes::new(largest),
        _ => Bytes::new(dice.between(0, largest)),
    };
    let deadline = dice.chance(70).then(|| Duration::from_ns(dice.time(10_000, 3_000_000)));
    let mut flow = Flow {
        listeners,
        delivery: dice.pick(&[Delivery::Unicast, Delivery::Multicast]),
        encapsulation,
        payload: payload(dice),
        tag: dice.chance(50).then(|| Tag { pcp: pcp(dice), vid: vid(dice.pick(&[0, 10, 20])) }),
        dscp: dice.pick(&[0, 0, 46]),
        start: Duration::from_ns(dice.pick(&[0, 0, 1_000_000])),
        stop: Some(Duration::from_us(dice.time(1_500, 5_000))),
        reply: (!is_bulk && dice.chance(25))
            .then(|| Reply::new(payload(dice), Duration::from_ns(dice.pick(&[0, 0, 20_000])))),
        deadline,
        traffic,
        ..periodic(name, talker, stations[0])
    };
    if is_bulk {
        flow.delivery = Delivery::Unicast;
        flow.encapsulation = Encapsulation::Tcp;
        flow.payload = Bytes::new(1_000);
        // Segments have no deadline; files with one are tested in `sizes`.
        flow.deadline = None;
    }
    flow
}

fn traffic(dice: &mut Dice, has_bulk: bool, drains: bool) -> Traffic {
    let us = |dice: &mut Dice, low: i64, high: i64| {
        Duration::from_ns(dice.time(low * 1_000, high * 1_000))
    };
    match dice.between(0, if has_bulk { 6 } else { 4 }) {
        0 | 1 => Traffic::Periodic {
            period: dice.pick(&[100, 250, 500, 1_000].map(Duration::from_us)),
            phase: dice.pick(&[Phase::Fixed(Duration::ZERO), Phase::Random]),
            release_jitter: Duration::from_us(dice.pick(&[0, 0, 30, 400])),
        },
        2 => {
            let min_gap = us(dice, 100, 800);
            Traffic::Sporadic {
                min_gap,
                mean_gap: min_gap + dice.pick(&[Duration::ZERO, min_gap]),
                burst: dice.small::<u32>(1, 8),
            }
        }
        3 => Traffic::Poisson { mean_interval: us(dice, 50, 500) },
        4 => Traffic::Flood { interval: us(dice, 8, 60) },
        _ => Traffic::Bulk(bulk(dice, drains)),
    }
}

fn bulk(dice: &mut Dice, drains: bool) -> Bulk {
    let size =
        |dice: &mut Dice| (drains || dice.chance(60)).then(|| Bytes::new(dice.between(1, 60_000)));
    Bulk {
        bursts: None,
        transfers: (0..dice.between(1, 3))
            .map(|_| Transfer { start: Duration::from_us(dice.time(0, 3_000)), size: size(dice) })
            .collect(),
        rate: dice.chance(40).then(|| BitRate::from_mbps(dice.between(1, 50))),
        tcp: TcpParameters {
            segment: Bytes::new(dice.pick(&[100, 536, 1_460])),
            window: Bytes::new(dice.pick(&[2_000, 20_000, 65_535])),
            initial_window: dice.pick(&[1, 2, 10]),
            ack_every: dice.pick(&[1, 2]),
            ack_delay: Duration::from_us(dice.pick(&[500, 40_000])),
            min_rto: Duration::from_us(dice.pick(&[2_000, 200_000])),
        },
    }
}
