//! Flows with a gap that their station keeps. Oracles: arithmetic by hand.

use rtether_model::flow::{Delivery, Flow, Phase, Reply, Traffic};
use rtether_model::network::{NodeKind, Stack, Tasks};
use rtether_model::quantity::{BitRate, Bytes, Duration};
use rtether_model::record::{Record, Segment};
use rtether_sim::{BuildError, Config, Simulation};

use crate::support::{Plant, periodic, two_stations};

const US: fn(i64) -> Duration = Duration::from_us;
/// A frame of 106 octets over 100 Mbit/s, without and with its gap.
const FRAME: Duration = Duration::from_ns(9_120);
const WIRE: Duration = Duration::from_ns(10_080);

/// Three frames at a time, 200 us apart at the least.
fn bursts(plant: &mut Plant) {
    let flow = &mut plant.flows[0];
    flow.traffic = Traffic::Sporadic {
        min_gap: Duration::from_ms(1),
        mean_gap: Duration::from_ms(1),
        burst: 3,
    };
    flow.gap = Some(US(200));
}

fn held(record: &Record, stream: usize) -> i128 {
    record.streams[stream].segments_ps[Segment::TalkerStack.index()]
}

#[test]
fn frames_released_together_leave_a_gap_apart() {
    // By hand: the first leaves at once, the others 200 and 400 us later.
    let mut plant = two_stations(&Stack::Zero);
    bursts(&mut plant);
    let record = plant.run(100);
    let stream = &record.streams[0];
    assert_eq!(stream.latency.min, FRAME * 2);
    assert_eq!(stream.latency.max, FRAME * 2 + US(400));
    assert!(stream.latency.count >= 290 && stream.latency.count.is_multiple_of(3));
    let each = i128::from(US(200).as_ps()) * i128::from(stream.latency.count);
    assert_eq!(held(&record, 0), each);
    let worst = stream.worst.unwrap();
    assert_eq!(worst.responsible.0.segment, Segment::TalkerStack);
}

#[test]
fn other_flows_of_the_station_pass_frames_that_are_held() {
    // By hand: three frames at 0, 1 and 2 us, and the other one at 3 us. One of the three is in front,
    // and all of them without a gap.
    let mut plant = two_stations(&Stack::Zero);
    plant.flows[0].traffic = Traffic::periodic(US(1), Phase::Fixed(Duration::ZERO));
    plant.flows[0].stop = Some(US(3));
    plant.flows[0].gap = Some(US(200));
    let [talker, listener] = [plant.flows[0].talker, plant.flows[0].listeners[0]];
    plant.flow(Flow {
        traffic: Traffic::periodic(Duration::from_ms(1), Phase::Fixed(US(3))),
        ..periodic("other", talker, listener)
    });
    let held = plant.run(1);
    assert_eq!(held.streams[1].latency.max, FRAME * 2 + WIRE - US(3));
    plant.flows[0].gap = None;
    let together = plant.run(1);
    assert_eq!(together.streams[1].latency.max, FRAME * 2 + WIRE * 3 - US(3));
}

#[test]
fn a_frame_in_time_is_not_held() {
    // By hand: a period of the gap, and a stack of 50 us that all frames pass alike.
    let mut plant = two_stations(&Stack::IpRate { service: US(50) });
    plant.flows[0].gap = Some(Duration::from_ms(1));
    let record = plant.run(20);
    let latency = &record.streams[0].latency;
    let expected = FRAME * 2 + US(100);
    assert_eq!((latency.min, latency.max), (expected, expected));
}

#[test]
fn a_station_holds_a_thousand_frames_and_drops_the_others() {
    // By hand: a frame every 10 us, of which one leaves each millisecond.
    let mut plant = two_stations(&Stack::Zero);
    plant.flows[0].traffic = Traffic::Flood { interval: US(10) };
    plant.flows[0].gap = Some(Duration::from_ms(1));
    let record = plant.run(30);
    let talker = &record.nodes[plant.flows[0].talker.index()];
    let sent = record.ports.iter().find(|own| own.port.node == talker.node);
    let sent = sent.unwrap().sent;
    assert!((30..=31).contains(&sent), "{sent} sent");
    assert_eq!(talker.in_stack, u64::from(Flow::HELD_MAX));
    assert_eq!(talker.stack_dropped, talker.released - sent - talker.in_stack);
    assert_eq!(record.streams[0].dropped, talker.stack_dropped);
}

#[test]
fn gaps_that_cannot_be_kept_are_refused() {
    let refused = |change: fn(&mut Plant)| {
        let mut plant = two_stations(&Stack::Zero);
        plant.flows[0].gap = Some(US(100));
        change(&mut plant);
        let config = Config { seed: 1, warmup: Duration::ZERO, bucket: Duration::ZERO };
        match Simulation::new(&plant.network, &plant.flows, &config) {
            Err(BuildError::Traffic { reason, .. }) => Some(reason),
            _ => None,
        }
    };
    let back = Some("its listeners send frames back, and a gap is for one way");
    assert_eq!(refused(|_| {}), None);
    let reply = |plant: &mut Plant| {
        plant.flows[0].reply = Some(Reply::new(Bytes::new(1), Duration::ZERO));
    };
    assert_eq!(refused(reply), back);
    let zero = |plant: &mut Plant| plant.flows[0].gap = Some(Duration::ZERO);
    let range = Some("a gap is above zero and at most a second");
    assert_eq!(refused(zero), range);
    let large = |plant: &mut Plant| plant.flows[0].payload = Bytes::new(2_000);
    assert_eq!(refused(large), Some("its datagrams are fragmented"));
    let two = |plant: &mut Plant| {
        let third = plant.station(Stack::Zero);
        let switch = plant.network.links[0].ends[0].node;
        plant.network.join(switch, third, BitRate::from_mbps(100));
        plant.flows[0].listeners.push(third);
    };
    let each = Some("it sends one frame to each of several listeners");
    assert_eq!(refused(two), each);
    let group = |plant: &mut Plant| plant.flows[0].delivery = Delivery::Multicast;
    assert_eq!(refused(group), None);
    let busy = |plant: &mut Plant| {
        let talker = plant.flows[0].talker;
        if let NodeKind::EndStation(station) = &mut plant.network.nodes[talker.index()].kind {
            station.tasks = Some(Tasks { message: US(1), segment: US(1), messages_first: false });
        }
    };
    let layer = Some("its station has tasks, or queues or a smoother above its port");
    assert_eq!(refused(busy), layer);
}
