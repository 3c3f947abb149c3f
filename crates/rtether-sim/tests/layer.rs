//! Tasks, priority queues and smoothers of end stations against arithmetic by hand.

mod connections;
mod smoothing;

use std::num::NonZeroU32;

use rtether_model::endnode::{
    Layer, LowTurn, Receive, ReceiveConfig, ReceiveSelection, RingEmpty, TransmitConfig,
    TransmitStrategy,
};
use rtether_model::flow::{Bulk, Flow, Phase, TcpParameters, Traffic, Transfer};
use rtether_model::network::{
    Cost, EndStation, Jitter, NodeId, NodeKind, RtosStack, Selection, Stack, Tasks,
};
use rtether_model::quantity::{Bytes, Duration, Instant};
use rtether_model::record::Segment;
use rtether_model::wire::Encapsulation;
use rtether_sim::observe::{Delivery, Observer, PacketInfo};

use crate::support::{Plant, periodic, tag};

const US: fn(i64) -> Duration = Duration::from_us;
const NS: fn(i64) -> Duration = Duration::from_ns;

/// 60 octets over UDP: a frame of 106, 9.12 us at 100 Mbit/s, 9.44 us with a tag.
const FRAME: Duration = Duration::from_ns(9_120);
const TAGGED_FRAME: Duration = Duration::from_ns(9_440);

/// Two stations and a link.
fn cable(stacks: [Stack; 2]) -> (Plant, NodeId, NodeId) {
    let mut plant = Plant::default();
    let [a, b] = stacks.map(|stack| plant.station(stack));
    plant.join(a, b, 100);
    (plant, a, b)
}

fn station(plant: &mut Plant, id: NodeId) -> &mut EndStation {
    match &mut plant.network.nodes[id.index()].kind {
        NodeKind::EndStation(station) => station,
        NodeKind::Switch(_) | NodeKind::Hub(_) => panic!("not an end station"),
    }
}

/// A flow of one frame.
fn once(name: &str, talker: NodeId, listener: NodeId, at: Duration) -> Flow {
    Flow { start: at, stop: Some(at + NS(1)), ..periodic(name, talker, listener) }
}

fn transfer(talker: NodeId, listener: NodeId, size: u64) -> Flow {
    Flow {
        encapsulation: Encapsulation::Tcp,
        traffic: Traffic::Bulk(Bulk {
            transfers: vec![Transfer { start: Duration::ZERO, size: Some(Bytes::new(size)) }],
            bursts: None,
            rate: None,
            tcp: TcpParameters::default(),
        }),
        ..periodic("file", talker, listener)
    }
}

fn queues(selection: ReceiveSelection) -> Layer {
    Layer {
        receive: Some(Receive::Queues(ReceiveConfig {
            input_limit: 1_000,
            queue_limits: vec![1_000; 2],
            selection,
        })),
        ..Layer::default()
    }
}

/// Names of the flows whose frames are delivered and sent, in order, with the times.
#[derive(Default)]
struct Order {
    delivered: Vec<(u32, Instant)>,
    sent: Vec<(u32, Instant)>,
    octets: u64,
    data: i64,
    control: i64,
}

impl Observer for Order {
    fn released(&mut self, _: Instant, packet: &PacketInfo) {
        if let Some(segment) = packet.tcp {
            *(if segment.len > 0 { &mut self.data } else { &mut self.control }) += 1;
        }
    }

    fn transmitted(&mut self, now: Instant, _: rtether_model::network::PortId, p: &PacketInfo) {
        self.sent.push((p.flow.0, now));
        self.octets += p.frame_size.get();
    }

    fn delivered(&mut self, now: Instant, packet: &PacketInfo, _: &Delivery) {
        self.delivered.push((packet.flow.0, now));
    }
}

fn names(plant: &Plant, events: &[(u32, Instant)]) -> String {
    let names = events.iter().map(|&(flow, _)| &*plant.flows[flow as usize].name);
    names.collect::<Vec<_>>().join(" ")
}

fn rtos() -> Stack {
    let cost = |base| Cost { base: US(base), ..Cost::default() };
    Stack::Rtos(RtosStack {
        datagram: cost(101),
        segment: cost(50),
        acknowledgement: cost(25),
        jitter: Jitter::default(),
    })
}

#[test]
fn a_real_time_stack_charges_by_kind() {
    // Oracle: catalogue 1b, stack costs. A message costs 101 us per stack; segments and
    // acknowledgements are counted by an observer, and each passes two stacks.
    let (mut plant, a, b) = cable([rtos(), rtos()]);
    plant.flow(once("message", a, b, US(50_000)));
    plant.flow(transfer(a, b, 20_000));
    let mut order = Order::default();
    let record = plant.run_with(60, 1, &mut order);
    assert_eq!(record.streams[0].latency.max, US(202) + FRAME);
    let file = &record.streams[1];
    let passages = i128::from(file.delivered) * i128::from(US(50).as_ps());
    assert_eq!(file.segments_ps[Segment::ReceiveStack.index()], passages);
    assert_eq!(order.data, 14);
    assert!(order.control >= 7 + 2, "{}", order.control);
    for node in &record.nodes {
        let expected = US(101) + US(50) * order.data + US(25) * order.control;
        assert_eq!(node.stack_busy, expected);
        assert_eq!(node.in_stack, 0);
    }
}

#[test]
fn messages_preempt_files_or_wait_for_them() {
    // By hand: SYN and SYN-ACK take 5.76 us each, so ten segments are written from 11.52 us on,
    // until 511.52 us. The message of 100 us comes in between or after them.
    for (messages_first, waited) in [(true, Duration::ZERO), (false, NS(411_520))] {
        let (mut plant, a, b) = cable([Stack::Zero, Stack::Zero]);
        plant.flow(transfer(a, b, 14_600));
        plant.flow(once("message", a, b, US(100)));
        let tasks = Tasks { message: US(10), segment: US(50), messages_first };
        station(&mut plant, a).tasks = Some(tasks);
        let record = plant.run(50);
        let message = &record.streams[1];
        let task = message.segments_ps[Segment::Application.index()];
        assert_eq!(task, i128::from((waited + US(10)).as_ps()));
        assert!(record.streams[0].transfers[0].finished_at.is_some());
        // The same processor at the other end: 10 us more, since TCP does not wait for it.
        station(&mut plant, b).tasks = Some(Tasks { messages_first: true, ..tasks });
        let both = plant.run(50);
        let more = both.streams[1].latency.max - message.latency.max;
        assert_eq!(more, US(10));
        let finished =
            |record: &rtether_model::record::Record| record.streams[0].transfers[0].finished_at;
        assert_eq!(finished(&both), finished(&record));
    }
}

/// Order in which a stack of 100 us delivers frames that arrive at these times, `h`igh or `l`ow,
/// and how many it never delivers.
fn served(layer: Layer, frames: &[(&str, i64)]) -> (String, u64) {
    let (mut plant, a, b) = cable([Stack::Zero, Stack::IpRate { service: US(100) }]);
    for &(name, at) in frames {
        let flow = plant.flow(once(name, a, b, US(at)));
        flow.tag = tag(if name.starts_with('u') { 7 } else { 0 }, 0);
    }
    station(&mut plant, b).layer = Some(Box::new(layer));
    let mut order = Order::default();
    let record = plant.run_with(50, 1, &mut order);
    (names(&plant, &order.delivered), record.nodes[b.index()].in_stack)
}

#[test]
fn receive_algorithms_on_a_flooded_station() {
    // By hand, catalogue S8. The first frame is served at once, if the algorithm allows; the others
    // wait, and u2 comes when the first two services are over.
    let frames = [("l1", 0), ("l2", 0), ("u1", 0), ("u2", 150), ("l3", 150)];
    let promoting = ReceiveSelection::Promoting { picks: NonZeroU32::MIN };
    let low_flag = |low_turn| ReceiveSelection::LowFlag { idle_release: None, low_turn };
    for (selection, expected, left) in [
        (ReceiveSelection::HighestFirst, "l1 u1 u2 l2 l3", 0),
        // l2 rises with the first pick after its arrival and is ahead of u2.
        (promoting, "l1 u1 l2 u2 l3", 0),
        // Nothing precedes u1; it sets the flag for one low frame, as u2 does.
        (low_flag(LowTurn::AllQueues), "u1 l1 u2 l2", 1),
        (low_flag(LowTurn::BelowTop), "u1 l1 u2 l2", 1),
    ] {
        let seen = served(queues(selection), &frames);
        assert_eq!(seen, (expected.to_string(), left), "{selection:?}");
    }
    // Without a layer, in order of arrival, and by name where that is the same.
    let plain = served(Layer::default(), &frames);
    assert_eq!(plain, ("l1 l2 u1 l3 u2".to_string(), 0));
}

#[test]
fn an_instance_is_interrupted() {
    // By hand: l is served from 9.44 us, h interrupts it at 59.44 us for 100 us.
    let (mut plant, a, b) = cable([Stack::Zero, Stack::IpRate { service: US(100) }]);
    plant.flow(once("l", a, b, US(0))).tag = tag(0, 0);
    plant.flow(once("h", a, b, US(50))).tag = tag(7, 0);
    station(&mut plant, b).layer = Some(Box::new(Layer {
        receive: Some(Receive::Instances { queue_limits: vec![10, 10] }),
        ..Layer::default()
    }));
    let record = plant.run(10);
    let latencies = [0, 1].map(|stream| record.streams[stream].latency.max);
    assert_eq!(latencies, [US(200), US(100)].map(|time| time + TAGGED_FRAME));
    let part = |segment: Segment| record.streams[0].segments_ps[segment.index()];
    assert_eq!(part(Segment::ReceiveQueue), 100_000_000);
    assert_eq!(part(Segment::ReceiveStack), 100_000_000);
    assert_eq!(record.nodes[b.index()].stack_busy, US(200));
    let layer = record.nodes[b.index()].layer.as_ref().unwrap();
    assert_eq!(layer.receive.len(), 2);
    assert!(layer.receive.iter().all(|class| class.left == 1));
}

#[test]
fn urgent_messages_overtake_in_both_directions() {
    // By hand: low frames arrive every 50 us, and a stack of 100 us begins with one at 9.12 us and
    // every 100 us from there. A message of 1000 us waits only for the one in service; in a plain
    // stack it waits for all that have arrived: 20 frames until 950 us, which end at 2009.12 us.
    let service = US(100);
    for (layer, until) in [(true, NS(1_009_120)), (false, NS(2_009_120))] {
        let (mut plant, a, b) = cable([Stack::Zero, Stack::IpRate { service }]);
        plant.flow(periodic("flood", a, b)).traffic =
            Traffic::periodic(US(50), Phase::Fixed(Duration::ZERO));
        plant.flow(once("message", b, a, US(1_000))).tag = tag(7, 0);
        if layer {
            let layer = queues(ReceiveSelection::HighestFirst);
            station(&mut plant, b).layer = Some(Box::new(layer));
        }
        let record = plant.run(10);
        let latency = record.streams[1].latency.max;
        assert_eq!(latency, until - US(1_000) + service + TAGGED_FRAME);
    }
}

#[test]
fn directions_of_one_class_take_turns() {
    // By hand: when the service that began at 9.12 us ends, two packets wait on each side.
    let service = US(100);
    let (mut plant, a, b) = cable([Stack::Zero, Stack::IpRate { service }]);
    for name in ["in1", "in2", "in3"] {
        plant.flow(once(name, a, b, US(0)));
    }
    for name in ["out1", "out2"] {
        plant.flow(once(name, b, a, US(20)));
    }
    station(&mut plant, b).layer = Some(Box::new(queues(ReceiveSelection::HighestFirst)));
    let record = plant.run(10);
    let ends = [0, 1, 2].map(|stream| record.streams[stream].latency.max);
    assert_eq!(ends, [100, 300, 500].map(|us| US(us) + FRAME));
    let ends = [3, 4].map(|stream| record.streams[stream].latency.max);
    assert_eq!(ends, [200, 400].map(|us| US(us - 20) + FRAME * 2));
}

fn transmit(strategy: TransmitStrategy) -> Layer {
    Layer {
        transmit: Some(TransmitConfig {
            ring_limit: 16,
            queue_limits: vec![1_000; 2],
            high_from: None,
            strategy,
        }),
        ..Layer::default()
    }
}

#[test]
fn transmit_strategies_on_a_link() {
    // By hand, catalogue S9: four low frames and two high ones are handed over at once:
    // the high ones are offered first.
    let names_of = ["l1", "l2", "l3", "l4", "u1", "u2"];
    let ring_empty = TransmitStrategy::Moderate { empty: RingEmpty::NoneWaiting };
    let strict = TransmitStrategy::Selection(Selection::StrictPriority);
    for (strategy, expected, left) in [
        (TransmitStrategy::Fifo, "l1 l2 l3 l4 u1 u2", 0),
        (TransmitStrategy::MODERATE, "u1 u2 l1 l2 l3 l4", 0),
        (ring_empty, "u1 u2 l1 l2 l3 l4", 0),
        // No high frame comes after the low ones, which none lets through.
        (TransmitStrategy::STRICT_LITERAL, "u1 u2", 4),
        (TransmitStrategy::STRICT, "u1 u2 l1 l2 l3 l4", 0),
        (TransmitStrategy::Rings { count: 2 }, "u1 u2 l1 l2 l3 l4", 0),
        (TransmitStrategy::Rings { count: 1 }, "u1 u2 l1 l2 l3 l4", 0),
        (strict, "u1 u2 l1 l2 l3 l4", 0),
    ] {
        let (mut plant, a, b) = cable([Stack::Zero, Stack::Zero]);
        for name in names_of {
            let flow = plant.flow(once(name, a, b, US(500)));
            flow.tag = tag(if name.starts_with('u') { 7 } else { 0 }, 0);
        }
        station(&mut plant, a).layer = Some(Box::new(transmit(strategy)));
        let mut order = Order::default();
        let record = plant.run_with(10, 1, &mut order);
        assert_eq!(names(&plant, &order.sent), expected, "{strategy:?}");
        assert_eq!(record.nodes[a.index()].in_stack, left, "{strategy:?}");
        let [_, .., last] = order.sent[..] else { panic!("nothing was sent") };
        // Back to back, 130 octets each; with idle releases each low one goes 1 ms after an entry.
        let expected = match strategy {
            TransmitStrategy::STRICT => US(4_500),
            TransmitStrategy::STRICT_LITERAL => US(500) + NS(10_400),
            TransmitStrategy::Fifo
            | TransmitStrategy::Moderate { .. }
            | TransmitStrategy::Strict { .. }
            | TransmitStrategy::Rings { .. }
            | TransmitStrategy::Selection(_) => US(500) + NS(10_400) * 5,
        };
        assert_eq!(last.1.since_start(), expected, "{strategy:?}");
        assert_eq!(record.streams[0].ethernet.sum_ps, record.streams[0].latency.sum_ps);
    }
}

#[test]
fn a_burst_of_one_instant_finds_the_limits() {
    // Oracle: by hand. Of 5000 packets of low priority that are handed over at once 16 are in the ring,
    // and 1000 wait in their queue, however many may wait for the selection of the instant.
    let (mut plant, a, b) = cable([Stack::Zero, Stack::Zero]);
    plant.flow(periodic("burst", a, b)).traffic = Traffic::Sporadic {
        min_gap: Duration::from_secs(1),
        mean_gap: Duration::from_secs(1),
        burst: 5_000,
    };
    station(&mut plant, a).layer = Some(Box::new(transmit(TransmitStrategy::Rings { count: 1 })));
    plant.flows[0].stop = Some(Duration::from_ms(2_500));
    let record = plant.run(3_000);
    let stream = &record.streams[0];
    let bursts = stream.released / 5_000;
    assert!(bursts > 0);
    assert_eq!((stream.released, stream.delivered), (bursts * 5_000, bursts * 1_016));
    assert_eq!(record.nodes[a.index()].layer_dropped, bursts * (5_000 - 1_016));
}

#[test]
fn idle_releases_let_low_traffic_through() {
    // Oracle: R78 and R80. Without high traffic each low frame waits at most 1 ms, in the sending
    // and in the receiving station, and all arrive.
    let (mut plant, a, b) = cable([Stack::Zero, Stack::IpRate { service: US(10) }]);
    plant.flow(periodic("low", a, b)).traffic =
        Traffic::Poisson { mean_interval: Duration::from_ms(5) };
    station(&mut plant, a).layer = Some(Box::new(transmit(TransmitStrategy::STRICT)));
    station(&mut plant, b).layer = Some(Box::new(queues(ReceiveSelection::LOW_FLAG)));
    plant.flows[0].stop = Some(Duration::from_ms(900));
    let record = plant.run(1_000);
    let stream = &record.streams[0];
    assert!(stream.released > 100);
    assert_eq!(stream.delivered, stream.released);
    let layers = [a, b].map(|node| record.nodes[node.index()].layer.clone().unwrap());
    assert_eq!(layers[0].transmit[0].idle_releases, stream.released);
    assert!(layers[1].receive[0].idle_releases > 0);
}

#[test]
fn full_queues_are_counted() {
    // By hand: of six frames one is served, one waits in the input queue, four find it full.
    let (mut plant, a, b) = cable([Stack::Zero, Stack::IpRate { service: US(100) }]);
    for name in ["1", "2", "3", "4", "5", "6"] {
        plant.flow(once(name, a, b, US(0)));
    }
    station(&mut plant, b).layer = Some(Box::new(Layer {
        receive: Some(Receive::Queues(ReceiveConfig {
            input_limit: 1,
            queue_limits: vec![5; 2],
            selection: ReceiveSelection::HighestFirst,
        })),
        ..Layer::default()
    }));
    let record = plant.run(10);
    let node = &record.nodes[b.index()];
    assert_eq!((node.delivered, node.layer_dropped), (2, 4));
    let low = node.layer.as_ref().unwrap().receive[0];
    assert_eq!((low.arrived, low.left, low.dropped), (6, 2, 4));
    assert_eq!(low.waited_ps, i128::from((US(100) - NS(10_080)).as_ps()));
}

#[test]
fn instances_have_room_for_those_that_wait() {
    // By hand: of six simultaneous frames one is served, one waits, and four are dropped, as with
    // receive queues that hold one.
    let (mut plant, a, b) = cable([Stack::Zero, Stack::IpRate { service: US(100) }]);
    for name in ["1", "2", "3", "4", "5", "6"] {
        plant.flow(once(name, a, b, US(0)));
    }
    station(&mut plant, b).layer = Some(Box::new(Layer {
        receive: Some(Receive::Instances { queue_limits: vec![1] }),
        ..Layer::default()
    }));
    let record = plant.run(10);
    let node = &record.nodes[b.index()];
    assert_eq!((node.delivered, node.layer_dropped), (2, 4));
}

#[test]
fn a_layer_that_cannot_be_is_refused() {
    let (mut plant, a, _) = cable([Stack::Zero, Stack::Zero]);
    station(&mut plant, a).layer = Some(Box::new(transmit(TransmitStrategy::Rings { count: 3 })));
    let config = rtether_sim::Config { seed: 1, warmup: Duration::ZERO, bucket: Duration::ZERO };
    let error = rtether_sim::Simulation::new(&plant.network, &plant.flows, &config).err();
    assert_eq!(
        error.unwrap().to_string(),
        "end station `s0`: 3 hardware queues; 1 to the number of classes are possible"
    );
}
