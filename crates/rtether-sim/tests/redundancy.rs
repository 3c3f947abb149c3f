//! Stations in two networks. Oracles: arithmetic by hand, and the same plant with one network.

use rtether_model::flow::{Delivery, Flow, Reply, Traffic};
use rtether_model::network::{NodeId, NodeKind, Redundancy, Stack, Switch};
use rtether_model::quantity::{Bytes, Duration};
use rtether_sim::{BuildError, Config, Simulation};

use crate::support::{Plant, periodic, plain_switch};

const US: fn(i64) -> Duration = Duration::from_us;
/// 60 octets over UDP are a frame of 106 octets, 112 with the trailer of PRP; 120 with the preamble.
const FRAME: Duration = Duration::from_ns(9_600);

/// Nodes: two switches, one in each network, and two stations in both. The second network takes
/// 50 us longer.
fn two_networks(stack: &Stack, redundancy: Redundancy) -> Plant {
    let mut plant = Plant::default();
    let first = plant.switch(plain_switch());
    let second = plant.switch(Switch { latency: US(50), ..plain_switch() });
    let [a, b] = [(); 2].map(|()| plant.station(stack.clone()));
    for station in [a, b] {
        plant.double(station, redundancy);
        plant.join(first, station, 100);
        plant.join(second, station, 100);
    }
    plant.flow(periodic("f", a, b));
    plant
}

impl Plant {
    fn double(&mut self, station: NodeId, redundancy: Redundancy) {
        match &mut self.network.nodes[station.index()].kind {
            NodeKind::EndStation(own) => own.redundancy = Some(redundancy),
            NodeKind::Switch(_) | NodeKind::Hub(_) => panic!("not a station"),
        }
    }
}

const A: usize = 2;
const B: usize = 3;

#[test]
fn the_first_copy_is_taken_and_the_second_discarded() {
    // By hand: two links each; the second copy comes 50 us later.
    let record = two_networks(&Stack::Zero, Redundancy::Prp).run(10);
    let stream = &record.streams[0];
    assert_eq!((stream.latency.count, stream.dropped), (10, 0));
    assert_eq!((stream.latency.min, stream.latency.max), (FRAME * 2, FRAME * 2));
    assert_eq!(record.nodes[A].copied, 10);
    assert_eq!((record.nodes[B].arrived, record.nodes[B].filtered), (20, 10));
    // A sequence number of one octet instead of the trailer of six.
    let afdx = two_networks(&Stack::Zero, Redundancy::Afdx).run(10);
    let five_octets = Duration::from_ns(5 * 80);
    assert_eq!(afdx.streams[0].latency.max, (FRAME - five_octets) * 2);
}

#[test]
fn what_one_network_destroys_comes_by_the_other() {
    let mut plant = two_networks(&Stack::Zero, Redundancy::Prp);
    plant.network.links[0].errors_per_billion = 1_000_000_000;
    let record = plant.run(10);
    let stream = &record.streams[0];
    assert_eq!((stream.latency.count, stream.dropped), (10, 0));
    assert_eq!(stream.latency.max, FRAME * 2 + US(50));
    plant.network.links[3].errors_per_billion = 1_000_000_000;
    let record = plant.run(10);
    let stream = &record.streams[0];
    assert_eq!((stream.latency.count, stream.dropped), (0, 10));
}

#[test]
fn a_network_that_is_down_is_not_used() {
    let mut plant = two_networks(&Stack::Zero, Redundancy::Prp);
    // The first network of the talker: the second takes over, and its loss is one of the stream.
    plant.network.links[0].standby = true;
    let record = plant.run(10);
    assert_eq!(record.streams[0].latency.max, FRAME * 2 + US(50));
    assert_eq!(record.nodes[A].copied, 0);
    plant.network.links[3].errors_per_billion = 1_000_000_000;
    assert_eq!(plant.run(10).streams[0].dropped, 10);
    // That of the listener: copies into the first network end at its switch.
    let mut plant = two_networks(&Stack::Zero, Redundancy::Prp);
    plant.network.links[2].standby = true;
    let record = plant.run(10);
    assert_eq!(record.streams[0].latency.max, FRAME * 2 + US(50));
    assert_eq!(record.streams[0].dropped, 0);
}

#[test]
fn stations_in_one_network_take_part() {
    // By hand: the frame of such a station is without trailer, and leads to the first network.
    let mut plant = two_networks(&Stack::Zero, Redundancy::Prp);
    let c = plant.station(Stack::Zero);
    plant.join(NodeId(0), c, 100);
    let [a, b] = [A, B].map(|node| NodeId(u32::try_from(node).unwrap()));
    plant.flows = vec![
        Flow { start: US(200), ..periodic("from one", c, b) },
        Flow { start: US(400), ..periodic("to one", a, c) },
    ];
    let record = plant.run(10);
    let five_sizes = FRAME - Duration::from_ns(6 * 80);
    assert_eq!(record.streams[0].latency.max, five_sizes * 2);
    assert_eq!(record.streams[1].latency.max, FRAME * 2);
    assert_eq!((record.nodes[A].copied, record.nodes[B].filtered), (0, 0));
}

#[test]
fn a_group_without_a_switch_gets_both_copies() {
    // By hand: one link each; what the first destroys comes by the second at the same time.
    let mut plant = Plant::default();
    let [a, b] = [(); 2].map(|()| plant.station(Stack::Zero));
    for station in [a, b] {
        plant.double(station, Redundancy::Prp);
    }
    plant.join(a, b, 100);
    plant.join(a, b, 100);
    plant.flow(Flow { delivery: Delivery::Multicast, ..periodic("f", a, b) });
    plant.network.links[0].errors_per_billion = 1_000_000_000;
    let record = plant.run(10);
    assert_eq!(record.nodes[0].copied, 10);
    assert_eq!(record.streams[0].latency.count, 10);
    assert_eq!(record.streams[0].latency.max, FRAME);
    plant.network.links[1].errors_per_billion = 1_000_000_000;
    let stream = &plant.run(10).streams[0];
    assert_eq!((stream.latency.count, stream.dropped), (0, 10));
}

#[test]
fn answers_groups_and_messages_pass_both_networks() {
    // By hand: a stack of 10 us takes the first copy only.
    let stack = Stack::IpRate { service: US(10) };
    let mut plant = two_networks(&stack, Redundancy::Prp);
    plant.flows[0].reply = Some(Reply::new(Bytes::new(60), US(5)));
    plant.network.links[0].errors_per_billion = 1_000_000_000;
    let record = plant.run(10);
    let stream = &record.streams[0];
    assert_eq!((stream.latency.count, stream.dropped), (10, 0));
    // Four passages of stacks, request and answer by the second network.
    assert_eq!(stream.latency.max, FRAME * 4 + US(40 + 5 + 2 * 50));
    let mut plant = two_networks(&stack, Redundancy::Prp);
    plant.flows[0].delivery = Delivery::Multicast;
    plant.network.links[2].errors_per_billion = 500_000_000;
    let record = plant.run(1_000);
    let stream = &record.streams[0];
    assert_eq!((stream.latency.count, stream.dropped), (1_000, 0));
    assert_eq!(stream.latency.max, FRAME * 2 + US(20 + 50));
    assert_eq!(stream.latency.min, FRAME * 2 + US(20));
}

#[test]
fn a_gap_is_kept_before_both_ports() {
    // By hand: three frames at once, 200 us apart in each network.
    let mut plant = two_networks(&Stack::Zero, Redundancy::Afdx);
    let flow = &mut plant.flows[0];
    flow.traffic = Traffic::Sporadic {
        min_gap: Duration::from_ms(1),
        mean_gap: Duration::from_ms(1),
        burst: 3,
    };
    flow.gap = Some(US(200));
    let record = plant.run(100);
    let frame = FRAME - Duration::from_ns(5 * 80);
    let latency = &record.streams[0].latency;
    assert_eq!((latency.min, latency.max), (frame * 2, frame * 2 + US(400)));
}

#[test]
fn a_layer_drives_one_port() {
    let mut plant = two_networks(&Stack::Zero, Redundancy::Prp);
    if let NodeKind::EndStation(own) = &mut plant.network.nodes[A].kind {
        own.layer = Some(Box::default());
    }
    let config = Config { seed: 1, warmup: Duration::ZERO, bucket: Duration::ZERO };
    let refused = Simulation::new(&plant.network, &plant.flows, &config).err();
    assert!(matches!(refused, Some(BuildError::Layer { .. })));
}
