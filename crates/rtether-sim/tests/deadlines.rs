//! Stations that select by deadline, against arithmetic by hand.

use rtether_model::flow::{Delivery, Flow, Phase, Traffic};
use rtether_model::network::{NodeId, NodeKind, Partition, Selection, Stack, Switch};
use rtether_model::quantity::{Bytes, Duration, Instant};
use rtether_model::wire::Encapsulation;
use rtether_sim::observe::{Delivery as Delivered, Observer, PacketInfo};
use rtether_sim::{BuildError, Config, Simulation};

use crate::support::{Plant, periodic, plain_switch};

/// 60 octets over UDP at 100 Mbit/s: 114 octets with the preamble, 126 with the gap.
const FRAME: Duration = Duration::from_ns(9_120);
const BUSY: Duration = Duration::from_ns(10_080);
/// A full frame with its gap: 1538 octets.
const LONG: Duration = Duration::from_ns(123_040);

#[derive(Default)]
struct Latencies(Vec<(u32, Duration)>);

impl Observer for Latencies {
    fn delivered(&mut self, _: Instant, packet: &PacketInfo, delivery: &Delivered) {
        self.0.push((packet.flow.0, delivery.latency));
    }
}

impl Plant {
    fn by_deadline(&mut self, station: NodeId) {
        match &mut self.network.nodes[station.index()].kind {
            NodeKind::EndStation(station) => station.by_deadline = true,
            NodeKind::Switch(_) | NodeKind::Hub(_) => panic!("not a station"),
        }
    }

    /// Runs for half a millisecond and returns the latencies in order of arrival.
    fn latencies(&self) -> Vec<(u32, Duration)> {
        let mut log = Latencies::default();
        let mut simulation = self.simulation(1);
        simulation.run_until(Instant::ZERO + Duration::from_us(500), &mut log);
        simulation.invariants().unwrap();
        log.0
    }
}

fn due(flow: Flow, us: i64) -> Flow {
    Flow { deadline: Some(Duration::from_us(us)), ..flow }
}

/// When the full frame is on the wire.
const LATER: Duration = Duration::from_ns(10);

/// The flow, released when the full frame is on the wire.
fn later(flow: Flow) -> Flow {
    let traffic = Traffic::periodic(Duration::from_ms(1), Phase::Fixed(LATER));
    Flow { traffic, ..flow }
}

/// A full frame without a deadline.
fn long(talker: NodeId, listener: NodeId) -> Flow {
    Flow {
        payload: Bytes::new(1_500),
        encapsulation: Encapsulation::Raw,
        ..periodic("long", talker, listener)
    }
}

/// A full frame is on the wire when two frames come; the second of them is due first.
#[test]
fn a_station_sends_what_is_due_first() {
    let mut plant = Plant::default();
    let [a, b] = [(); 2].map(|()| plant.station(Stack::Zero));
    plant.join(a, b, 100);
    plant.flow(long(a, b));
    plant.flow(later(periodic("first", a, b)));
    plant.flow(later(due(periodic("late", a, b), 900)));
    plant.flow(later(due(periodic("soon", a, b), 300)));
    let first = (0, LONG - (BUSY - FRAME));
    let in_order = |flows: [u32; 3]| {
        let after = |(place, flow): (i64, u32)| (flow, LONG + BUSY * place + FRAME - LATER);
        let rest = (0..).zip(flows).map(after);
        core::iter::once(first).chain(rest).collect::<Vec<_>>()
    };
    assert_eq!(plant.latencies(), in_order([1, 2, 3]));
    plant.by_deadline(a);
    assert_eq!(plant.latencies(), in_order([3, 2, 1]));
}

/// Six flows with a deadline pass the port of `a`, and five of them that to `c`.
#[test]
fn parts_of_a_deadline_decide_the_order() {
    let mut plant = Plant::default();
    let switch = plant.switch(Switch { selection: Selection::EarliestDeadline, ..plain_switch() });
    let [a, b, c, d] = [(); 4].map(|()| plant.station(Stack::Zero));
    for station in [a, b, c, d] {
        plant.join(switch, station, 100);
    }
    plant.by_deadline(a);
    plant.flow(long(a, d));
    // Equal parts: 200 and 240 us. Loads: 6 at `a`, 1 at `b`, 5 at `c`. In proportion: 342.9 us of
    // 400 for `b`, 261.8 us of 480 for `c`.
    plant.flow(due(periodic("to b", a, b), 400));
    for _ in 0..5 {
        plant.flow(due(periodic("to c", a, c), 480));
    }
    let order = |plant: &Plant| {
        let flows = plant.latencies().into_iter().map(|found| found.0);
        flows.filter(|flow| [1, 2].contains(flow)).collect::<Vec<_>>()
    };
    assert_eq!(order(&plant), [1, 2]);
    plant.network.partition = Partition::Proportional;
    assert_eq!(order(&plant), [2, 1]);
}

/// A group has one local deadline at the port that its copies share.
#[test]
fn groups_have_deadlines_too() {
    let mut plant = Plant::default();
    let switch = plant.switch(plain_switch());
    let [a, b, c] = [(); 3].map(|()| plant.station(Stack::Zero));
    for station in [a, b, c] {
        plant.join(switch, station, 100);
    }
    plant.by_deadline(a);
    plant.flow(long(a, b));
    plant.flow(later(periodic("first", a, c)));
    let group = later(due(periodic("group", a, b), 300));
    plant.flow(Flow { listeners: vec![b, c], delivery: Delivery::Multicast, ..group });
    let flows = plant.latencies().into_iter().map(|found| found.0);
    // The group comes to `c` before the frame that was released before it.
    assert_eq!(flows.collect::<Vec<_>>(), [2, 1, 0, 2]);
}

#[test]
fn a_port_below_transmit_queues_does_not_choose() {
    use rtether_model::endnode::{Layer, TransmitConfig, TransmitStrategy};

    let mut plant = Plant::default();
    let [a, b] = [(); 2].map(|()| plant.station(Stack::Zero));
    plant.join(a, b, 100);
    plant.flow(periodic("f", a, b));
    plant.by_deadline(a);
    let NodeKind::EndStation(station) = &mut plant.network.nodes[a.index()].kind else {
        panic!("a station");
    };
    station.layer = Some(Box::new(Layer {
        transmit: Some(TransmitConfig {
            ring_limit: 16,
            queue_limits: vec![100],
            high_from: None,
            strategy: TransmitStrategy::Fifo,
        }),
        ..Layer::default()
    }));
    let config = Config { seed: 1, warmup: Duration::ZERO, bucket: Duration::ZERO };
    let built = Simulation::new(&plant.network, &plant.flows, &config);
    assert!(matches!(built, Err(BuildError::Layer { .. })));
}
