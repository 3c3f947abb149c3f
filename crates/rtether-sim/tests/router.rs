//! Routers: packets take their turns at a processor. Oracles: arithmetic by hand.

use rtether_model::flow::{Delivery, Flow};
use rtether_model::network::{Cost, NodeId, NodeKind, Router, Stack, Switch};
use rtether_model::quantity::{Bytes, Duration};
use rtether_model::record::{Record, Segment};

use crate::support::{Plant, periodic, plain_switch};

const US: fn(i64) -> Duration = Duration::from_us;

/// 60 octets over UDP: a frame of 106, 9.12 us at 100 Mbit/s.
const FRAME: Duration = Duration::from_ns(9_120);

/// Returns stations `0..3` at a router that takes 20 us, and 10 ns more for each octet.
fn around_a_router(queue: u32) -> (Plant, [NodeId; 4]) {
    let mut plant = Plant::default();
    let router = plant.switch(Switch {
        router: Some(Router {
            cost: Cost { base: US(20), per_octet: Duration::from_ns(10) },
            unknown: Duration::ZERO,
            jitter: Duration::ZERO,
            queue,
        }),
        ..plain_switch()
    });
    let stations = [(); 4].map(|()| plant.station(Stack::Zero));
    for station in stations {
        plant.join(router, station, 100);
    }
    (plant, stations)
}

fn latencies(record: &Record) -> Vec<Duration> {
    record.streams.iter().map(|own| own.latency.max).collect()
}

#[test]
fn packets_take_their_turns_whatever_their_ports() {
    // 106 octets cost 21.06 us. The three packets are there at 9.12 us and leave one after the
    // other, although two of them have a port of their own.
    let (mut plant, [a, b, c, d]) = around_a_router(10);
    plant.flow(periodic("a", a, d));
    plant.flow(periodic("b", b, c));
    plant.flow(periodic("c", c, a));
    let record = plant.run(10);
    let cost = Duration::from_ns(21_060);
    let expected = [1, 2, 3].map(|turns| FRAME * 2 + cost * turns);
    assert_eq!(latencies(&record), expected);
    let stream = &record.streams[2];
    let inside = stream.segments_ps[Segment::SwitchLatency.index()];
    assert_eq!(inside, i128::from((cost * 30).as_ps()));
    let worst = stream.worst.unwrap();
    assert_eq!(worst.responsible.0.segment, Segment::SwitchLatency);
    assert_eq!(worst.responsible.0.port.node, NodeId(0));
    let router = &record.nodes[0];
    assert_eq!((router.stack_queue_max, router.stack_dropped), (2, 0));
    assert_eq!(router.stack_busy, cost * 30);
}

#[test]
fn a_packet_that_finds_the_queue_full_is_lost() {
    let (mut plant, [a, b, c, d]) = around_a_router(1);
    plant.flow(periodic("a", a, d));
    plant.flow(periodic("b", b, d));
    plant.flow(periodic("c", c, d));
    let record = plant.run(10);
    let dropped: Vec<u64> = record.streams.iter().map(|own| own.dropped).collect();
    assert_eq!(dropped, [0, 0, 10]);
    assert_eq!(record.nodes[0].stack_dropped, 10);
}

#[test]
fn a_packet_to_several_ports_is_decided_about_once() {
    let (mut plant, [a, b, c, d]) = around_a_router(10);
    let flow =
        Flow { delivery: Delivery::Multicast, listeners: vec![b, c, d], ..periodic("all", a, b) };
    plant.flow(flow);
    let record = plant.run(10);
    let each = FRAME * 2 + Duration::from_ns(21_060);
    assert_eq!(latencies(&record), [each; 3]);
    assert_eq!(record.nodes[0].copied, 20);
}

#[test]
fn larger_packets_cost_more() {
    // 1518 octets: 122.08 us with the preamble at 100 Mbit/s, and 35.18 us for the processor.
    let (mut plant, [a, b, ..]) = around_a_router(10);
    plant.flow(periodic("large", a, b)).payload = Bytes::new(1_472);
    let wire = Duration::from_ns(122_080);
    let expected = wire * 2 + Duration::from_ns(35_180);
    assert_eq!(latencies(&plant.run(10)), [expected]);
}

#[test]
fn a_cost_in_a_range_is_drawn_for_each_packet() {
    let (mut plant, [a, b, ..]) = around_a_router(10);
    let NodeKind::Switch(switch) = &mut plant.network.nodes[0].kind else { panic!() };
    switch.router.as_mut().unwrap().jitter = US(15);
    plant.flow(periodic("a", a, b));
    let latency = &plant.run(10_000).streams[0].latency;
    let [least, most] = [21_060, 36_060].map(|cost| FRAME * 2 + Duration::from_ns(cost));
    let near = Duration::from_ns(50);
    assert!((least..least + near).contains(&latency.min));
    assert!(latency.max <= most && latency.max > most - near);
}

#[test]
fn what_passes_only_a_switch_does_not_wait_for_the_router() {
    // Two stations at a switch exchange frames beside a router that has two packets for the same
    // port: 9.12 us, 21.06 us each, then behind one another.
    let (mut plant, [a, b, c, d]) = around_a_router(10);
    let switch = plant.switch(plain_switch());
    let [first, second] = [(); 2].map(|()| plant.station(Stack::Zero));
    for node in [first, second] {
        plant.join(switch, node, 100);
    }
    plant.join(NodeId(0), switch, 100);
    plant.flow(periodic("beside", first, second));
    plant.flow(periodic("into", a, second));
    plant.flow(periodic("through", b, c));
    plant.flow(periodic("out", first, d)).start = US(500);
    let cost = Duration::from_ns(21_060);
    let expected = [FRAME * 2, FRAME * 3 + cost, FRAME * 2 + cost * 2, FRAME * 3 + cost];
    assert_eq!(latencies(&plant.run(10)), expected);
}
