//! UDP datagrams above one frame against arithmetic by hand.

use std::collections::BTreeSet;

use rtether_model::flow::{Delivery, Phase, Reply, Traffic};
use rtether_model::network::{Cost, Jitter, LinearStack, NodeId, NodeKind, Servers, Stack, Tasks};
use rtether_model::quantity::{Bytes, Duration, Instant};
use rtether_model::record::{Record, Segment};
use rtether_model::wire::Encapsulation;
use rtether_sim::observe::{self, DropReason, Observer, PacketInfo};
use rtether_sim::{BuildError, Config, Simulation};

use crate::support::{Plant, plain_switch, tag, two_stations};

const NS: fn(i64) -> Duration = Duration::from_ns;
/// Time of an octet at 100 Mbit/s, in nanoseconds.
const OCTET: i64 = 80;
/// A full fragment on the wire with preamble, and with preamble and gap.
const FULL: i64 = 1_526 * OCTET;
const NEXT: i64 = 1_538 * OCTET;

/// Datagrams with `payload` octets every 10 ms.
fn datagrams(stack: &Stack, payload: u64) -> Plant {
    let mut plant = two_stations(stack);
    plant.flows[0].payload = Bytes::new(payload);
    plant.flows[0].traffic = Traffic::periodic(Duration::from_ms(10), Phase::Fixed(Duration::ZERO));
    plant
}

/// Outcomes of datagrams and of their fragments.
#[derive(Default)]
struct Log {
    fragments: u32,
    delivered: Vec<u32>,
    /// Numbers of datagrams with a lost fragment.
    lost: BTreeSet<u32>,
    dropped: u32,
}

impl Observer for Log {
    fn released(&mut self, _: Instant, packet: &PacketInfo) {
        self.fragments += u32::from(packet.fragment.is_some());
    }

    fn delivered(&mut self, _: Instant, packet: &PacketInfo, delivery: &observe::Delivery) {
        let parts = delivery.segments.iter().copied().sum::<Duration>();
        assert_eq!(parts, delivery.latency, "parts add up");
        self.delivered.push(packet.number);
    }

    fn dropped(&mut self, _: Instant, _: NodeId, packet: &PacketInfo, _: DropReason) {
        self.lost.insert(packet.number);
        self.dropped += 1;
    }
}

fn latency(record: &Record) -> Duration {
    let stream = &record.streams[0];
    assert_eq!(stream.latency.min, stream.latency.max);
    stream.latency.max
}

/// Oracle: by hand. 5008 octets of UDP are three fragments of 1480 and one of 568: three full
/// frames and one of 606 octets. The first link carries all of them; at the switch the last one
/// waits for the one before it, which has just arrived.
#[test]
fn the_last_fragment_completes_a_datagram() {
    let mut log = Log::default();
    let record = datagrams(&Stack::Zero, 5_000).run_with(1_000, 1, &mut log);
    let stream = &record.streams[0];
    assert_eq!((stream.released, stream.delivered), (100, 100));
    assert_eq!(stream.payload_bytes, 500_000);
    assert_eq!(log.fragments, 400);
    assert_eq!(log.delivered, (0..100).collect::<Vec<_>>());
    let last = (606 + 8) * OCTET;
    let third = 2 * NEXT + FULL;
    let by_hand = (third + NEXT).max(3 * NEXT + last) + last;
    assert_eq!(latency(&record), NS(by_hand));
    assert_eq!(record.nodes[1].released, 400, "stacks see packets");
}

/// Oracle: by hand. A datagram of two frames, the second one padded, with a tag of 4 octets.
#[test]
fn a_fragment_of_one_octet_is_padded_and_tagged() {
    let mut plant = datagrams(&Stack::Zero, 1_473);
    plant.flows[0].tag = tag(5, 0);
    let by_hand = FULL + 4 * OCTET + NEXT + 4 * OCTET + (64 + 4 + 8) * OCTET;
    assert_eq!(latency(&plant.run(100)), NS(by_hand));
    // With one octet less nothing is fragmented.
    plant.flows[0].payload = Bytes::new(1_472);
    assert_eq!(latency(&plant.run(100)), NS(2 * (FULL + 4 * OCTET)));
}

/// Oracle: by hand. The stack takes 200 us per packet, longer than a link: four packets follow each
/// other through both stacks.
#[test]
fn a_stack_takes_its_time_for_each_fragment() {
    let cost = Cost { base: Duration::from_us(200), ..Cost::default() };
    let stack = Stack::Linear(LinearStack {
        send: cost,
        receive: cost,
        interface: Cost::default(),
        jitter: Jitter::default(),
        servers: Servers::PerDirection,
    });
    let record = datagrams(&stack, 5_000).run(100);
    // The third one is served at the receiver when the fourth arrives.
    let third = 3 * 200_000 + 2 * FULL + 200_000;
    let fourth = 4 * 200_000 + 2 * (606 + 8) * OCTET;
    assert_eq!(latency(&record), NS(third.max(fourth) + 200_000));
}

/// Oracle: by hand. Tasks handle whole datagrams: one to send, one to receive.
#[test]
fn a_task_has_a_datagram_whole() {
    let mut plant = datagrams(&Stack::Zero, 5_000);
    let plain = latency(&plant.run(100));
    for node in &mut plant.network.nodes {
        if let NodeKind::EndStation(station) = &mut node.kind {
            station.tasks = Some(Tasks {
                message: Duration::from_us(70),
                segment: Duration::ZERO,
                messages_first: true,
            });
        }
    }
    let mut log = Log::default();
    let record = plant.run_with(100, 1, &mut log);
    assert_eq!(latency(&record), plain + Duration::from_us(140));
    let application = record.streams[0].segments_ps[Segment::Application.index()];
    assert_eq!(application, 10 * 140_000_000);
    assert_eq!(log.delivered.len(), 10);
}

/// Oracle: both ways by hand: 3000 octets are two full fragments and one of 48 octets, padded.
#[test]
fn an_answer_is_fragmented_too() {
    let mut plant = datagrams(&Stack::Zero, 100);
    plant.flows[0].reply = Some(Reply::new(Bytes::new(3_000), Duration::from_us(50)));
    plant.flows[0].deadline = Some(Duration::from_us(400));
    let record = plant.run(1_000);
    let request = 2 * (146 + 8) * OCTET;
    let last = (38 + 3_008 - 2 * 1_480 + 8) * OCTET;
    let answer = FULL + 2 * NEXT + last;
    assert_eq!(latency(&record), NS(request + 50_000 + answer));
    let stream = &record.streams[0];
    assert_eq!((stream.released, stream.delivered), (100, 100));
    assert_eq!((stream.missed, stream.payload_bytes), (100, 300_000));
    // A fragmented request with a short answer.
    plant.flows[0].payload = Bytes::new(3_000);
    plant.flows[0].reply = Some(Reply::new(Bytes::new(100), Duration::ZERO));
    assert_eq!(latency(&plant.run(1_000)), NS(request + answer));
}

/// Oracle: the fragments observed to be lost. A datagram is complete, or lost once.
#[test]
fn one_lost_fragment_loses_the_datagram() {
    let mut plant = datagrams(&Stack::Zero, 20_000);
    plant.flows[0].deadline = Some(Duration::from_ms(5));
    plant.network.links[0].errors_per_billion = 50_000_000;
    let mut log = Log::default();
    let record = plant.run_with(3_000, 7, &mut log);
    let stream = &record.streams[0];
    let lost = log.lost.len() as u64;
    assert!(u64::from(log.dropped) > lost, "some lack several");
    assert_eq!((stream.released, stream.dropped), (300, lost));
    assert_eq!((stream.delivered, stream.missed), (300 - lost, lost));
    assert!(log.delivered.iter().all(|number| !log.lost.contains(number)));
}

/// Oracle: by hand. Half of 100 datagrams a second are incomplete, and their fragments wait for 30
/// s: about 20 kB each, so 4 MiB hold about 220. After 10 s the station refuses fragments.
#[test]
fn what_waits_for_lost_fragments_fills_the_memory() {
    let mut plant = datagrams(&Stack::Zero, 20_000);
    plant.network.links[0].errors_per_billion = 50_000_000;
    let mut log = Log::default();
    let stream = &plant.run_with(10_000, 7, &mut log).streams[0];
    let lost = log.lost.len() as u64;
    assert!(stream.dropped > lost + 100, "{} of {lost}", stream.dropped);
    assert_eq!(stream.delivered + stream.dropped, 1_000);
    let last = log.delivered.last().copied();
    assert!(last.is_some_and(|last| last < 700), "{last:?}");
}

/// Oracle: the end of the run: a datagram in transit is late or not, and counts once.
#[test]
fn what_is_under_way_at_the_end_counts_once() {
    let mut plant = datagrams(&Stack::Zero, 60_000);
    // 60 000 octets take 4.9 ms on each link; the run ends 3 ms after the last release.
    plant.flows[0].deadline = Some(Duration::from_ms(2));
    let stream = &plant.run(93).streams[0];
    assert_eq!((stream.released, stream.delivered), (10, 9));
    assert_eq!((stream.in_flight, stream.missed), (1, 10));
    plant.flows[0].deadline = Some(Duration::from_ms(20));
    let stream = &plant.run(93).streams[0];
    assert_eq!((stream.in_flight, stream.missed), (1, 0));
}

/// Oracle: symmetry: each listener of a group gets every datagram, at the same time.
#[test]
fn each_listener_of_a_group_puts_its_own_together() {
    let mut plant = Plant::default();
    let switch = plant.switch(plain_switch());
    let [a, b, c] = [(); 3].map(|()| plant.station(Stack::Zero));
    for station in [a, b, c] {
        plant.join(switch, station, 100);
    }
    let mut flow = datagrams(&Stack::Zero, 5_000).flows.remove(0);
    (flow.talker, flow.listeners) = (a, vec![b, c]);
    flow.delivery = Delivery::Multicast;
    plant.flow(flow);
    let record = plant.run(100);
    let alone = latency(&datagrams(&Stack::Zero, 5_000).run(100));
    for stream in &record.streams {
        assert_eq!((stream.released, stream.delivered), (10, 10));
        assert_eq!((stream.latency.min, stream.latency.max), (alone, alone));
    }
    assert_eq!(record.nodes[1].released, 40, "one copy for both");
}

/// Oracle: an idle medium: a hub repeats bit by bit, so fragments occupy it once.
#[test]
fn fragments_pass_a_hub() {
    let mut plant = Plant::default();
    let hub = plant.hub(100, Duration::ZERO);
    let [a, b] = [(); 2].map(|()| plant.station(Stack::Zero));
    plant.join(hub, a, 100);
    plant.join(hub, b, 100);
    let mut flow = datagrams(&Stack::Zero, 5_000).flows.remove(0);
    (flow.talker, flow.listeners) = (a, vec![b]);
    plant.flow(flow);
    assert_eq!(latency(&plant.run(100)), NS(3 * NEXT + (606 + 8) * OCTET));
}

/// Oracle: RFC 791: a total length of 65 535 octets.
#[test]
fn a_datagram_has_a_limit() {
    let config = Config { seed: 1, warmup: Duration::ZERO, bucket: Duration::ZERO };
    let mut plant = datagrams(&Stack::Zero, 65_507);
    assert_eq!(plant.run(100).streams[0].delivered, 10);
    plant.flows[0].payload = Bytes::new(65_508);
    let built = Simulation::new(&plant.network, &plant.flows, &config);
    assert!(matches!(built.err(), Some(BuildError::Payload { .. })));
    plant.flows[0].payload = Bytes::new(1_501);
    plant.flows[0].encapsulation = Encapsulation::Raw;
    let built = Simulation::new(&plant.network, &plant.flows, &config);
    assert!(matches!(built.err(), Some(BuildError::Payload { .. })));
}
