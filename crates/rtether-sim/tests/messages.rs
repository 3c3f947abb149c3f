//! Messages over TCP connections against arithmetic by hand.

use rtether_model::flow::{Delivery, Phase, Reply, TcpParameters, Traffic};
use rtether_model::network::{NodeKind, Stack};
use rtether_model::quantity::{Bytes, Duration, Instant};
use rtether_model::record::{NodeRecord, Record, Segment};
use rtether_model::wire::Encapsulation;
use rtether_sim::observe::{self, Fingerprint, Observer, PacketInfo};
use rtether_sim::{BuildError, Config, Simulation};

use crate::support::{Plant, tag, two_stations};

const MS: fn(i64) -> Duration = Duration::from_ms;
const NS: fn(i64) -> Duration = Duration::from_ns;

/// 100 octets over TCP: a frame of 158, 13.28 us at 100 Mbit/s.
const FRAME: Duration = Duration::from_ns(13_280);

/// Messages of 100 octets every `period`, with an echo after `after` if given.
fn messages(period: Duration, after: Option<Duration>) -> Plant {
    let mut plant = two_stations(&Stack::Zero);
    let flow = &mut plant.flows[0];
    flow.encapsulation = Encapsulation::Tcp;
    flow.payload = Bytes::new(100);
    flow.connection = Some(TcpParameters::default());
    flow.traffic = Traffic::periodic(period, Phase::Fixed(Duration::ZERO));
    flow.reply = after.map(|after| Reply::new(Bytes::new(100), after));
    plant
}

/// Segments sent by the two stations.
fn sent(record: &Record) -> [u64; 2] {
    let count = |node: &NodeRecord| node.released;
    [count(&record.nodes[1]), count(&record.nodes[2])]
}

/// Message numbers in order of arrival, and segments by direction.
#[derive(Default)]
struct Log {
    delivered: Vec<u32>,
    segments: Vec<(bool, PacketInfo)>,
    lost: u32,
}

impl Observer for Log {
    fn released(&mut self, _: Instant, packet: &PacketInfo) {
        self.segments.push((packet.is_reverse, *packet));
    }

    fn delivered(&mut self, _: Instant, packet: &PacketInfo, delivery: &observe::Delivery) {
        let parts = delivery.segments.iter().copied().sum::<Duration>();
        assert_eq!(parts, delivery.latency);
        self.delivered.push(packet.number);
    }

    fn dropped(
        &mut self,
        _: Instant,
        _: rtether_model::network::NodeId,
        _: &PacketInfo,
        _: observe::DropReason,
    ) {
        self.lost += 1;
    }
}

#[test]
fn an_echo_takes_four_frame_times_and_carries_acknowledgements() {
    // Oracle: four frames; each answer acknowledges its message, each message the last answer.
    let mut log = Log::default();
    let record = messages(MS(10), Some(Duration::ZERO)).run_with(1_000, 1, &mut log);
    let stream = &record.streams[0];
    assert_eq!((stream.released, stream.delivered), (100, 100));
    assert_eq!((stream.latency.min, stream.latency.max), (FRAME * 4, FRAME * 4));
    assert_eq!(stream.ethernet.max, FRAME * 4);
    assert_eq!(stream.payload_bytes, 10_000);
    assert_eq!(sent(&record), [100, 100]);
    assert_eq!(log.delivered, (0..100).collect::<Vec<_>>());
    for (position, (is_reverse, packet)) in (0u32..).zip(&log.segments) {
        let (round, tcp) = (position / 2, packet.tcp.unwrap());
        assert_eq!((*is_reverse, packet.number), (position % 2 == 1, round));
        let octets = u64::from(round) * 100;
        let acknowledged = octets + if *is_reverse { 100 } else { 0 };
        assert_eq!((tcp.seq, tcp.ack, tcp.len), (octets + 1, acknowledged + 1, 100));
    }
}

#[test]
fn acknowledgements_that_wait_too_long_go_alone() {
    // Oracle: 40 ms of delay. The next message is later, so each answer is acknowledged separately.
    let record = messages(MS(100), Some(Duration::ZERO)).run(1_000);
    assert_eq!(sent(&record), [20, 10]);
    // So is each message if its answer takes longer.
    let record = messages(MS(200), Some(MS(60))).run(1_000);
    assert_eq!(sent(&record), [10, 10]);
    let stream = &record.streams[0];
    assert_eq!(stream.latency.max, FRAME * 4 + MS(60));
    let application = stream.segments_ps[Segment::Application.index()];
    assert_eq!(application, 5 * 60_000_000_000);
    assert_eq!(stream.segments_ps[Segment::TalkerStack.index()], 0);
    // The acknowledgement in between does not change latency.
    let record = messages(MS(200), Some(MS(39))).run(1_000);
    assert_eq!(sent(&record), [10, 5]);
    assert_eq!(record.streams[0].latency.max, FRAME * 4 + MS(39));
}

#[test]
fn stacks_and_tags_count_in_both_directions() {
    // Oracle: four passes through stacks of 10 us, and 4 octets of tag on each link.
    let service = Duration::from_us(10);
    let mut plant = messages(MS(10), Some(Duration::ZERO));
    for node in &mut plant.network.nodes[1..] {
        let NodeKind::EndStation(station) = &mut node.kind else { panic!() };
        station.stack = Stack::IpRate { service };
    }
    plant.flows[0].tag = tag(5, 0);
    let mut log = Log::default();
    let record = plant.run_with(1_000, 1, &mut log);
    let stream = &record.streams[0];
    assert_eq!(stream.latency.max, (FRAME + NS(320)) * 4 + service * 4);
    assert!(log.segments.iter().all(|(_, p)| p.tag == Some((5, 0))));
    let part = |segment: Segment| stream.segments_ps[segment.index()];
    assert_eq!(part(Segment::TalkerStack), 100 * 20_000_000);
    assert_eq!(part(Segment::ReceiveStack), 100 * 20_000_000);
}

#[test]
fn a_long_message_is_cut_into_segments() {
    // Oracle: 4000 octets are 1460 + 1460 + 1080. The third frame of 1138 octets, 91.68 us, leaves
    // the switch behind two of 1518, 123.04 us with the gap; the first gets there at 122.08 us.
    let mut plant = messages(MS(10), None);
    plant.flows[0].payload = Bytes::new(4_000);
    let record = plant.run(1_000);
    let stream = &record.streams[0];
    assert_eq!(stream.delivered, 100);
    let latency = NS(122_080 + 2 * 123_040 + 91_680);
    assert_eq!((stream.latency.min, stream.latency.max), (latency, latency));
    assert_eq!(stream.payload_bytes, 400_000);
    assert_eq!(sent(&record)[0], 300);
}

#[test]
fn a_window_makes_messages_wait_for_what_is_on_the_wires() {
    // Oracle: a window of two segments, each acknowledged. The third segment leaves when the
    // acknowledgement of the first is back: two frames of 122.08 us and two of 5.76 us; two more
    // frame times follow. Until it leaves, the first segment and its acknowledgment are on the wires; the
    // longest on that of the talker, where the third is as long.
    let mut plant = messages(MS(10), None);
    plant.flows[0].payload = Bytes::new(4_380);
    plant.flows[0].connection =
        Some(TcpParameters { window: Bytes::new(2_920), ack_every: 1, ..TcpParameters::default() });
    let stream = &plant.run(1_000).streams[0];
    let round_trip = NS(2 * 122_080 + 2 * 5_760);
    assert_eq!(stream.latency.max, round_trip + NS(2 * 122_080));
    let waited = i128::from(100 * round_trip.as_ps());
    assert_eq!(stream.segments_ps[Segment::Protocol.index()], waited);
    assert_eq!(stream.awaited_ps[Segment::Wire.index()], waited);
    let worst = stream.worst.unwrap();
    assert_eq!(worst.awaited[Segment::Wire.index()], round_trip);
    let (place, time) = worst.responsible;
    assert_eq!(
        (place.segment, place.port.node, time),
        (Segment::Wire, plant.flows[0].talker, NS(2 * 122_080))
    );
}

/// Echoes for 5 s over links that lose 3 % of the frames, and time to retransmit them all.
fn lossy(seed: u64) -> (Record, Log, Fingerprint) {
    let mut plant = messages(MS(5), Some(Duration::from_us(300)));
    for link in &mut plant.network.links {
        link.errors_per_billion = 30_000_000;
    }
    let flow = &mut plant.flows[0];
    flow.traffic = Traffic::Poisson { mean_interval: MS(5) };
    flow.stop = Some(MS(5_000));
    flow.deadline = Some(MS(50));
    let mut observer = (Log::default(), Fingerprint::default());
    let mut simulation = plant.simulation(seed);
    for step in 1..=4_000 {
        let until = Instant::ZERO + MS(5) * step;
        simulation.run_until(until, &mut observer);
        simulation.invariants().unwrap();
    }
    (simulation.finish(), observer.0, observer.1)
}

#[test]
fn lost_segments_delay_messages_and_lose_none() {
    // Oracle: every message once and in order; a retransmission costs at least 200 ms of timer or
    // a fast retransmission, and the slowest message waited for the timer of the protocol.
    let (record, log, _) = lossy(1);
    let stream = &record.streams[0];
    assert!(log.lost > 100, "{}", log.lost);
    assert!(stream.released > 800, "{}", stream.released);
    let counts = (stream.delivered, stream.dropped, stream.in_flight);
    assert_eq!(counts, (stream.released, 0, 0));
    let count = u32::try_from(stream.released).unwrap();
    assert_eq!(log.delivered, (0..count).collect::<Vec<_>>());
    assert!(stream.missed > 0);
    assert!(stream.latency.max > MS(200), "{}", stream.latency.max);
    assert!(stream.latency.min < MS(1));
    let worst = stream.worst.unwrap();
    assert!(worst.awaited[Segment::Protocol.index()] >= MS(200), "{worst:?}");
    assert_eq!(worst.responsible.0.segment, Segment::Protocol);
}

#[test]
fn lossy_runs_repeat() {
    let ((one, _, first), (other, _, second)) = (lossy(1), lossy(1));
    assert_eq!(first, second);
    assert_eq!(one, other);
    assert_ne!(first, lossy(2).2);
}

#[test]
fn messages_that_never_arrive_are_overdue_or_on_the_way() {
    // Oracle: a dead link. Messages at 0, 10, ..., 990 ms; those before 950 ms are late at 1 s.
    let mut plant = messages(MS(10), Some(Duration::ZERO));
    plant.network.links[0].errors_per_billion = 1_000_000_000;
    plant.flows[0].deadline = Some(MS(50));
    let stream = &plant.run(1_000).streams[0];
    let counts = (stream.released, stream.delivered, stream.dropped);
    assert_eq!(counts, (100, 0, 0));
    assert_eq!((stream.in_flight, stream.missed), (100, 95));
}

#[test]
fn messages_beyond_the_limit_are_dropped() {
    // Oracle: at most 100 000 are in transit.
    let mut plant = messages(Duration::from_us(5), None);
    plant.network.links[0].errors_per_billion = 1_000_000_000;
    plant.flows[0].deadline = Some(MS(50));
    let stream = &plant.run(600).streams[0];
    assert_eq!((stream.released, stream.delivered), (120_000, 0));
    assert_eq!((stream.dropped, stream.in_flight), (20_000, 100_000));
    // All refused messages, and those in transit older than 50 ms: all of them.
    assert_eq!(stream.missed, 120_000);
}

#[test]
fn each_listener_has_a_connection() {
    // Oracle: the second frame waits for the first and its gap, 14.24 us.
    let mut plant = messages(MS(10), Some(Duration::ZERO));
    let third = plant.station(Stack::Zero);
    plant.join(rtether_model::network::NodeId(0), third, 100);
    plant.flows[0].listeners.push(third);
    let record = plant.run(1_000);
    let latencies = [0, 1].map(|stream: usize| record.streams[stream].latency.max);
    assert_eq!(latencies, [FRAME * 4, FRAME * 4 + NS(14_240)]);
    assert!(record.streams.iter().all(|stream| stream.delivered == 100));
}

#[test]
fn warm_up_takes_messages_out() {
    let plant = messages(MS(10), Some(Duration::ZERO));
    let config = Config { seed: 1, warmup: MS(300), bucket: MS(100) };
    let mut simulation = Simulation::new(&plant.network, &plant.flows, &config).unwrap();
    simulation.run_until(Instant::ZERO + MS(1_000), &mut observe::NoObserver);
    let record = simulation.finish();
    let stream = &record.streams[0];
    assert_eq!((stream.released, stream.delivered), (70, 70));
    let counts: Vec<u64> = stream.buckets.iter().map(|b| b.count).collect();
    assert_eq!(counts, [0, 0, 0, 10, 10, 10, 10, 10, 10, 10]);
}

#[test]
fn what_cannot_travel_over_a_connection_is_an_error() {
    let error = |change: fn(&mut rtether_model::flow::Flow)| {
        let mut plant = messages(MS(10), Some(Duration::ZERO));
        change(&mut plant.flows[0]);
        let config = Config { seed: 1, warmup: Duration::ZERO, bucket: Duration::ZERO };
        Simulation::new(&plant.network, &plant.flows, &config).err()
    };
    let is_refused = |change| matches!(error(change), Some(BuildError::Connection { .. }));
    assert_eq!(error(|_| ()), None);
    assert!(is_refused(|flow| flow.encapsulation = Encapsulation::Udp));
    assert!(is_refused(|flow| flow.delivery = Delivery::Multicast));
    assert!(is_refused(|flow| flow.payload = Bytes::ZERO));
}
