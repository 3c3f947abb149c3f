//! Ports that wait for a time: the credit-based shaper, against arithmetic by hand.

use rtether_model::endnode::{Layer, TransmitConfig, TransmitStrategy};
use rtether_model::flow::Flow;
use rtether_model::network::{Link, NodeId, NodeKind, QueueMap, Selection, Stack, Switch};
use rtether_model::quantity::{BitRate, Bytes, Duration, Instant};
use rtether_sim::observe::{Delivery, NoObserver, Observer, PacketInfo};

use crate::support::{Plant, periodic, plain_switch, tag};

const US: fn(i64) -> Duration = Duration::from_us;
const NS: fn(i64) -> Duration = Duration::from_ns;

/// 25 Mbit/s for the higher of two queues.
const SHAPED: Selection = Selection::Cbs {
    idle_slopes: {
        let mut slopes = [BitRate::from_bps(0); 8];
        slopes[1] = BitRate::from_mbps(25);
        slopes
    },
};

/// A tagged frame of `octets` octets.
fn once(name: &str, ends: [NodeId; 2], at: Duration, octets: u64, pcp: u8) -> Flow {
    Flow {
        start: at,
        stop: Some(at + NS(1)),
        payload: Bytes::new(octets - 50),
        tag: tag(pcp, 0),
        ..periodic(name, ends[0], ends[1])
    }
}

/// Times at which frames are delivered, by flow.
#[derive(Default)]
struct Times(Vec<(u32, Instant)>);

impl Observer for Times {
    fn delivered(&mut self, now: Instant, packet: &PacketInfo, _: &Delivery) {
        self.0.push((packet.flow.0, now));
    }
}

/// Four frames of 1000 octets at once to a port of 100 Mbit/s with two queues.
fn burst(selection: Selection) -> Plant {
    let mut plant = Plant::default();
    let switch = plant.switch(Switch {
        queues: QueueMap::standard(2).unwrap(),
        selection,
        ..plain_switch()
    });
    let [a, b] = [(); 2].map(|()| plant.station(Stack::Zero));
    plant.join(switch, a, 1_000);
    plant.join(switch, b, 100);
    for number in 0..4 {
        plant.flow(once(&format!("f{number}"), [a, b], US(0), 1_000, 7));
    }
    plant
}

/// Returns the number of events of a run.
fn events(plant: &Plant) -> u64 {
    let mut simulation = plant.simulation(1);
    simulation.run_until(Instant::ZERO + Duration::from_ms(2), &mut NoObserver);
    simulation.invariants().unwrap();
    simulation.events()
}

#[test]
fn a_switch_port_waits_for_its_credit() {
    // 1000 octets: 8.064 us to the switch, then 81.6 us each, which cost 6120 bit: back at zero
    // 326.4 us after the beginning.
    let plant = burst(SHAPED);
    let mut times = Times::default();
    plant.run_with(2, 1, &mut times);
    let expected = (0..4).map(|frame| NS(8_064) + NS(326_400) * frame + NS(80_640));
    let found: Vec<Duration> = times.0.iter().map(|(_, time)| time.since_start()).collect();
    assert_eq!(found, expected.collect::<Vec<_>>());
}

#[test]
fn a_port_asks_again_once_for_each_wait() {
    // Both ports wake at the end of each of three frames, with others waiting. The shaped one also
    // asks about the first frame, which finds it idle, and once when each of three waits is over.
    let shaped = events(&burst(SHAPED));
    let strict = events(&burst(Selection::StrictPriority));
    assert_eq!(shaped - strict, 1 + 3);
}

#[test]
fn an_idle_port_is_asked_about_each_frame() {
    // By hand: credit -6120 bit at 89.664 us. A lower frame at 100 us goes at once, and when it is
    // done at 223.04 us the shaped one still waits, until 334.464 us.
    let mut plant = burst(SHAPED);
    plant.flows.truncate(2);
    let [a, b] = [plant.flows[0].talker, plant.flows[0].listeners[0]];
    plant.flow(once("low", [a, b], US(100), 1_518, 0));
    let mut times = Times::default();
    plant.run_with(2, 1, &mut times);
    let arrival = US(100) + NS(12_208);
    let expected = [
        (0, NS(8_064) + NS(80_640)),
        (2, arrival + NS(122_080)),
        (1, NS(8_064) + NS(326_400) + NS(80_640)),
    ];
    let found = times.0.iter().map(|&(flow, time)| (flow, time.since_start()));
    assert_eq!(found.collect::<Vec<_>>(), expected);
}

#[test]
fn turns_take_what_a_shaped_queue_leaves() {
    // By hand: frames of 1000 octets begin 81.6 us apart. The second shaped one waits for its credit
    // until 334.464 us; until then the queues below send two frames and one, as their quanta say.
    let mut idle_slopes = [BitRate::default(); 8];
    idle_slopes[2] = BitRate::from_mbps(25);
    let mut plant =
        burst(Selection::CbsDrr { idle_slopes, quanta: [1_000, 2_000, 0, 0, 0, 0, 0, 0] });
    let [a, b] = [plant.flows[0].talker, plant.flows[0].listeners[0]];
    plant.flows.clear();
    for node in &mut plant.network.nodes {
        if let NodeKind::Switch(switch) = &mut node.kind {
            switch.queues = QueueMap::standard(3).unwrap();
        }
    }
    for (at, pcp) in (0..).zip([7, 7, 5, 5, 5, 0, 0]) {
        plant.flow(once(&format!("f{at}"), [a, b], US(at), 1_000, pcp));
    }
    let mut times = Times::default();
    plant.run_with(2, 1, &mut times);
    let order: Vec<u32> = times.0.iter().map(|(flow, _)| *flow).collect();
    assert_eq!(order, [0, 2, 3, 5, 1, 4, 6]);
    let found: Vec<Duration> = times.0.iter().map(|(_, time)| time.since_start()).collect();
    let expected = (0..7).map(|frame| NS(8_064) + NS(81_600) * frame + NS(80_640));
    assert_eq!(found, expected.collect::<Vec<_>>());
}

#[test]
fn transmit_queues_of_a_station_wait_for_their_credit() {
    // 1518 octets from 0 on, four of 200 at 1 us: 3051 bit at 123.04 us, 1320 for each, -909 at
    // 175.84 us, zero again at 212.2 us. The last bit is out 16.64 us after the beginning.
    let [mut plant, mut hub] = [(); 2].map(|()| Plant::default());
    for (plant, is_shared) in [(&mut plant, false), (&mut hub, true)] {
        let [a, b] = [(); 2].map(|()| plant.station(Stack::Zero));
        if is_shared {
            let hub = plant.hub(100, Duration::ZERO);
            plant.join(a, hub, 100);
            plant.join(b, hub, 100);
        } else {
            plant.join(a, b, 100);
        }
        if let NodeKind::EndStation(station) = &mut plant.network.nodes[a.index()].kind {
            station.layer = Some(Box::new(Layer {
                transmit: Some(TransmitConfig {
                    ring_limit: 1,
                    queue_limits: vec![1_000; 2],
                    high_from: None,
                    strategy: TransmitStrategy::Selection(SHAPED),
                }),
                ..Layer::default()
            }));
        }
        plant.flow(once("low", [a, b], US(0), 1_518, 0));
        for number in 0..4 {
            plant.flow(once(&format!("f{number}"), [a, b], US(1), 200, 7));
        }
    }
    let mut times = Times::default();
    plant.run_with(2, 1, &mut times);
    let found: Vec<Duration> = times.0.iter().map(|(_, time)| time.since_start()).collect();
    let starts = [123_040, 140_640, 158_240, 212_200];
    let expected = starts.map(|start| NS(start + 16_640));
    assert_eq!(found[0], NS(122_080));
    assert_eq!(found[1..], expected);
    // On a hub alone the order is the same, and everything arrives.
    let mut times = Times::default();
    hub.run_with(2, 1, &mut times);
    let flows: Vec<u32> = times.0.iter().map(|(flow, _)| *flow).collect();
    assert_eq!(flows, [0, 1, 2, 3, 4]);
}

#[test]
fn a_port_on_a_shared_medium_waits_for_its_credit() {
    // A switch port at half duplex: nothing else is on the medium, so each frame begins when the
    // credit is zero again.
    let mut plant = burst(SHAPED);
    let last: &mut Link = plant.network.links.last_mut().unwrap();
    last.duplex = rtether_model::network::Duplex::Half;
    let mut times = Times::default();
    let record = plant.run_with(2, 1, &mut times);
    let found: Vec<Duration> = times.0.iter().map(|(_, time)| time.since_start()).collect();
    let apart: Vec<Duration> = found.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(apart, [NS(326_400); 3]);
    assert_eq!(record.ports.iter().map(|port| port.queued).sum::<u64>(), 0);
}
