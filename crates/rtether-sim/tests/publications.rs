//! Samples over RTPS against arithmetic by hand, and over lossy links.

use rtether_model::arp::Arp;
use rtether_model::flow::{Delivery, Phase, Reply, Scan, Traffic};
use rtether_model::network::{NodeId, NodeKind, PortId, PortVlan, Stack, Vid};
use rtether_model::quantity::{BitRate, Bytes, Duration, Instant};
use rtether_model::record::Record;
use rtether_model::wire::{self, Encapsulation, RtpsVersion};
use rtether_rtps::wire::v1;
use rtether_sim::observe::{Datagram, Delivery as Delivered, Fingerprint, Observer, PacketInfo};
use rtether_sim::{BuildError, Config, Simulation};

use crate::support::{Plant, plain_switch, tag, two_stations};

const FAST: BitRate = BitRate::from_mbps(100);

const VERSIONS: [RtpsVersion; 2] = [RtpsVersion::V1_0, RtpsVersion::V2_5];

const fn over(version: RtpsVersion, is_reliable: bool) -> Encapsulation {
    Encapsulation::Rtps { version, is_reliable }
}

/// 1024 octets every 10 ms from station 1 to station 2, at times without announcements.
fn issues(is_reliable: bool) -> Plant {
    issues_in(RtpsVersion::V2_5, is_reliable)
}

fn issues_in(version: RtpsVersion, is_reliable: bool) -> Plant {
    let mut plant = two_stations(&Stack::Zero);
    let flow = &mut plant.flows[0];
    flow.encapsulation = over(version, is_reliable);
    flow.payload = Bytes::new(1_024);
    flow.traffic = Traffic::periodic(Duration::from_ms(10), Phase::Fixed(Duration::from_ms(3)));
    plant
}

fn error(plant: &Plant) -> BuildError {
    let config = Config { seed: 1, warmup: Duration::ZERO, bucket: Duration::ZERO };
    let built = Simulation::new(&plant.network, &plant.flows, &config);
    built.err().expect("is refused")
}

fn two_links(version: RtpsVersion, payload: u64, is_reliable: bool) -> Duration {
    let frame = wire::frame_size(Bytes::new(payload), over(version, is_reliable));
    wire::wire_time(frame, FAST) * 2
}

/// Samples of 10 ms in a second of RTPS 2.5: two pass before the listener has proved its address by four
/// heartbeats.
const RELEASED: u64 = 98;

/// Oracle: two serializations by `wire`, with the headers of the standard.
#[test]
fn a_sample_takes_two_serializations() {
    for (version, is_reliable) in VERSIONS.into_iter().flat_map(|of| [(of, false), (of, true)]) {
        let record = issues_in(version, is_reliable).run(1_000);
        let stream = &record.streams[0];
        let expected = two_links(version, 1_024, is_reliable);
        assert_eq!(stream.latency.min, expected, "{version:?} {is_reliable}");
        assert_eq!(stream.latency.max, expected, "{version:?} {is_reliable}");
        let released = match version {
            RtpsVersion::V1_0 => 100,
            RtpsVersion::V2_5 => RELEASED,
        };
        assert_eq!(stream.released, released);
        assert_eq!(stream.latency.count, stream.released);
    }
}

/// Oracle: the sum of both ways and the application's time.
#[test]
fn a_round_trip_is_both_ways_and_the_application() {
    for version in VERSIONS {
        let mut plant = issues_in(version, true);
        let after = Duration::from_us(37);
        plant.flows[0].reply = Some(Reply::new(Bytes::new(64), after));
        let record = plant.run(1_000);
        let stream = &record.streams[0];
        let way = |payload| two_links(version, payload, true);
        assert_eq!(stream.latency.min, way(1_024) + way(64) + after);
        assert!(stream.released >= 98 && stream.latency.count == stream.released);
        assert_eq!(stream.dropped, 0);
    }
}

/// Oracle: samples leave at 3 ms of each 10, so that an answer at the next scan leaves at 5 ms.
#[test]
fn an_answer_to_a_sample_waits_for_a_scan() {
    for version in VERSIONS {
        let mut plant = issues_in(version, true);
        let phase = Phase::Fixed(Duration::from_ms(5));
        let scan = Some(Scan { period: Duration::from_ms(10), phase });
        plant.flows[0].reply =
            Some(Reply { scan, ..Reply::new(Bytes::new(64), Duration::from_us(37)) });
        let record = plant.run(1_000);
        let stream = &record.streams[0];
        let back = two_links(version, 64, true);
        assert_eq!(stream.latency.min, Duration::from_ms(2) + back);
        assert!(stream.released >= 98 && stream.latency.count == stream.released);
    }
}

/// Frames that a switch sends to a station that takes no part: requests for addresses, and others.
#[derive(Default)]
struct Overheard([u64; 2]);

impl Observer for Overheard {
    fn transmitted(&mut self, _: Instant, port: PortId, packet: &PacketInfo) {
        let is_there = (port.node, port.port) == (NodeId(0), 2);
        self.0[usize::from(packet.arp.is_none())] += u64::from(is_there);
    }
}

/// Oracle: managed multicast. Discovery goes to participants alone, while requests for addresses go to
/// all stations.
#[test]
fn discovery_is_not_flooded_like_requests_for_addresses() {
    for (version, resolves) in VERSIONS.into_iter().flat_map(|of| [(of, false), (of, true)]) {
        let mut plant = issues_in(version, true);
        let other = plant.station(Stack::Zero);
        plant.join(NodeId(0), other, 100);
        for node in &mut plant.network.nodes {
            if let NodeKind::EndStation(station) = &mut node.kind {
                station.arp = resolves.then(Arp::default);
            }
        }
        let mut seen = Overheard::default();
        let record = plant.run_with(1_000, 1, &mut seen);
        assert!(record.streams[0].latency.count > 90, "{version:?} {resolves}");
        let Overheard([requests, others]) = seen;
        assert_eq!((requests > 0, others), (resolves, 0), "{version:?}");
    }
}

/// Numbers of delivered samples by stream, and datagrams on the wire.
#[derive(Default)]
struct Seen {
    numbers: Vec<Vec<u32>>,
    datagrams: u64,
    malformed: u64,
    sizes: u64,
}

impl Observer for Seen {
    fn delivered(&mut self, _: Instant, packet: &PacketInfo, delivery: &Delivered) {
        let needed = self.numbers.len().max(delivery.stream + 1);
        self.numbers.resize(needed, Vec::new());
        self.numbers[delivery.stream].push(packet.number);
        let parts: Duration = delivery.segments.iter().copied().sum();
        assert_eq!(parts, delivery.latency, "the parts are the whole");
    }

    fn carries(&mut self, datagram: &Datagram<'_>) {
        self.datagrams += 1;
        self.sizes += datagram.octets.len() as u64;
        let message = rtether_rtps::wire::parse(datagram.octets);
        let is_whole = message.is_ok_and(|message| message.submessages().all(|part| part.is_ok()));
        let message = v1::parse(datagram.octets);
        let is_v1 = message.is_ok_and(|message| message.submessages().all(|part| part.is_ok()));
        self.malformed += u64::from(!is_whole && !is_v1);
    }
}

fn lossy(is_reliable: bool, listeners: usize) -> Plant {
    lossy_in(RtpsVersion::V2_5, is_reliable, listeners)
}

fn lossy_in(version: RtpsVersion, is_reliable: bool, listeners: usize) -> Plant {
    let mut plant = issues_in(version, is_reliable);
    for _ in 1..listeners {
        let station = plant.station(Stack::Zero);
        let switch = rtether_model::network::NodeId(0);
        plant.join(switch, station, 100);
        plant.flows[0].listeners.push(station);
    }
    for link in &mut plant.network.links {
        link.errors_per_billion = 100_000_000;
    }
    plant
}

/// Oracle: strict reliability (D4, R139): each sample once, in order, regardless of losses on
/// links.
#[test]
fn reliable_samples_survive_a_lossy_network() {
    for (seed, version) in (1..=5).flat_map(|seed| VERSIONS.map(|version| (seed, version))) {
        let plant = lossy_in(version, true, 3);
        let mut seen = Seen::default();
        let record = plant.run_with(5_000, seed, &mut seen);
        assert_eq!(seen.malformed, 0);
        for (stream, numbers) in record.streams.iter().zip(&seen.numbers) {
            assert_eq!(stream.dropped, 0);
            assert!(numbers.is_sorted_by(|a, b| a + 1 == *b), "{numbers:?}");
            assert!(stream.released > 300, "{}", stream.released);
            // All but the last ones are delivered.
            assert!(stream.latency.count + 20 > stream.released);
            assert!(stream.latency.max > Duration::from_ms(1), "none was lost");
        }
    }
}

/// Oracle: each released sample is delivered, lost, or still in transit; none is delivered twice or
/// out of order.
#[test]
fn best_effort_samples_are_lost_and_counted() {
    let mut seen = Seen::default();
    let record = lossy(false, 3).run_with(5_000, 1, &mut seen);
    for (stream, numbers) in record.streams.iter().zip(&seen.numbers) {
        assert!(numbers.is_sorted_by(|a, b| a < b));
        let known = stream.latency.count + stream.dropped;
        assert!(known <= stream.released && known + 5 > stream.released);
        let lost = stream.dropped * 100 / stream.released.max(1);
        // Two links: 1 - 0.9^2 = 19 %.
        assert!((13..=26).contains(&lost), "{lost} %");
    }
}

/// Oracle: the same seed gives the same trajectory, another seed another one.
#[test]
fn runs_are_repeated_octet_by_octet() {
    let run = |seed| {
        let mut fingerprint = Fingerprint::default();
        lossy(true, 2).run_with(2_000, seed, &mut fingerprint);
        fingerprint.value()
    };
    assert_eq!(run(3), run(3));
    assert_ne!(run(3), run(4));
}

/// Oracle: a talker in another VLAN never finds its listener, and so releases nothing.
#[test]
fn who_is_not_found_gets_nothing() {
    let mut plant = issues(true);
    plant.flows[0].tag = tag(5, 0);
    for (port, vid) in [(0, 7), (1, 8)] {
        plant.vlan(
            rtether_model::network::NodeId(0),
            port,
            PortVlan::Access(Vid::new(vid).unwrap()),
        );
    }
    assert!(matches!(error(&plant), BuildError::NoRoute { .. }));
}

/// Oracle: the restrictions in the documentation.
#[test]
fn what_cannot_be_published_is_refused() {
    let mut plant = issues(true);
    plant.flows[0].delivery = Delivery::Multicast;
    assert!(matches!(error(&plant), BuildError::Publication { .. }));
    let mut plant = issues(true);
    plant.flows[0].payload = Bytes::new((16 << 20) + 1);
    assert!(matches!(error(&plant), BuildError::Publication { .. }));
}

/// Oracle: the octets, which take their time on each link, and at most a fifth of them for headers,
/// since a fragment has 1024 octets; plus retransmissions of lost fragments.
#[test]
fn samples_above_a_datagram_are_put_together() {
    for is_reliable in [false, true] {
        let mut plant = issues(is_reliable);
        plant.flows[0].payload = Bytes::new(50_000);
        plant.flows[0].deadline = Some(Duration::from_us(5_300));
        let stream = plant.run(1_000).streams.remove(0);
        assert_eq!((stream.released, stream.delivered), (RELEASED, RELEASED));
        assert_eq!((stream.missed, stream.payload_bytes), (0, RELEASED * 50_000));
        let octets = FAST.time_ceil(Bytes::new(50_000));
        let range = octets..octets * 6 / 5 + Duration::from_us(250);
        assert!(range.contains(&stream.latency.min), "{}", stream.latency.min);
        assert!(range.contains(&stream.latency.max), "{}", stream.latency.max);
        // A few hundred frames are lost.
        plant.network.links[0].errors_per_billion = 20_000_000;
        let stream = plant.run(2_500).streams.remove(0);
        assert!(stream.released > 150);
        if is_reliable {
            assert_eq!(stream.dropped, 0);
            assert!(stream.missed > 20, "{} late", stream.missed);
            assert!(stream.delivered + 20 > stream.released);
        } else {
            assert!(stream.dropped > 20, "{} lost", stream.dropped);
            assert!(stream.missed >= stream.dropped);
        }
    }
}

/// Oracle: topics between the same stations, and others unknown to them, do not mix; a flow of
/// packets on the same links is affected only by the additional frames.
#[test]
fn topics_keep_apart_and_share_their_participants() {
    let mut plant = Plant::default();
    let switch = plant.switch(plain_switch());
    let stations: Vec<_> = (0..6).map(|_| plant.station(Stack::Zero)).collect();
    for station in &stations {
        plant.join(switch, *station, 100);
    }
    let template = issues(true).flows.remove(0);
    for (number, talker) in stations.iter().enumerate().take(4) {
        for other in 1..3 {
            let mut flow = template.clone();
            flow.name = format!("{number}-{other}");
            flow.talker = *talker;
            flow.listeners = vec![stations[(number + other) % 4]];
            flow.payload = Bytes::new(100);
            flow.encapsulation = over(RtpsVersion::V2_5, other == 1);
            plant.flow(flow);
        }
    }
    let mut plain = template;
    plain.name = "plain".into();
    plain.encapsulation = Encapsulation::Udp;
    (plain.talker, plain.listeners) = (stations[4], vec![stations[5]]);
    plant.flow(plain);
    let mut seen = Seen::default();
    let record: Record = plant.run_with(1_000, 1, &mut seen);
    for stream in &record.streams[..8] {
        assert!(stream.released >= 98 && stream.dropped == 0);
        assert!(stream.latency.count + 1 >= stream.released);
    }
    assert_eq!(record.streams[8].latency.count, 100);
    assert_eq!(seen.malformed, 0);
    let NodeKind::Switch(_) = plant.network.nodes[0].kind else {
        panic!("the first node is the switch");
    };
    // Stations without a participant send no RTPS, and receive none behind a switch with managed
    // multicast.
    assert_eq!(record.nodes[stations[4].index()].released, 100);
    assert_eq!(record.nodes[stations[5].index()].arrived, 100);
    assert!(seen.datagrams > 800 && seen.sizes > 100 * 800);
}

/// Oracle: a station has one participant in 2.5, and two in 1.0, of which one is found by name.
#[test]
fn a_station_speaks_one_version() {
    let mut plant = issues_in(RtpsVersion::V1_0, true);
    let mut other = plant.flows[0].clone();
    other.name = "other".into();
    other.encapsulation = over(RtpsVersion::V2_5, true);
    plant.flow(other);
    let BuildError::Publication { flow, reason } = error(&plant) else {
        panic!("the second flow is refused");
    };
    assert_eq!(flow, "other");
    assert!(reason.contains("another version"), "{reason}");
    plant.flows[1].encapsulation = over(RtpsVersion::V1_0, false);
    let record = plant.run(1_000);
    assert!(record.streams.iter().all(|stream| stream.latency.count > 90));
}

/// Oracle: a frame to a group is delivered once, also where three switches form a ring.
#[test]
fn discovery_does_not_go_round_in_a_ring() {
    let mut plant = Plant::default();
    let switches = [(); 3].map(|()| plant.switch(plain_switch()));
    let stations = [(); 3].map(|()| plant.station(Stack::Zero));
    for place in 0..3 {
        plant.join(switches[place], switches[(place + 1) % 3], 100);
        plant.join(switches[place], stations[place], 100);
    }
    let mut flow = issues(true).flows.remove(0);
    flow.talker = stations[0];
    flow.listeners = vec![stations[1], stations[2]];
    plant.flow(flow);
    let record = plant.run(1_000);
    for stream in &record.streams {
        assert_eq!((stream.released, stream.dropped), (RELEASED, 0));
    }
    // Samples, heartbeats, acknowledgments and discovery of three; a storm would have a hundred
    // thousand.
    let arrived: u64 = record.nodes.iter().map(|node| node.arrived).sum();
    assert!(arrived < 4_000, "{arrived} frames");
}
