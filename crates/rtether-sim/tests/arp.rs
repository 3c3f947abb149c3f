//! Address resolution against arithmetic by hand: the first packet waits for a request and its
//! reply.

use rtether_model::arp::Arp;
use rtether_model::endnode::HeaderMatch;
use rtether_model::flow::{Delivery, Phase, Reply, Traffic};
use rtether_model::ingress::{Exceed, IngressRule, Police};
use rtether_model::network::{AddressTable, NodeId, NodeKind, PortId, PortVlan, Stack, Vid};
use rtether_model::quantity::{BitRate, Bytes, Duration, Instant};
use rtether_model::record::{ArpRecord, Record, Segment};
use rtether_model::wire::Encapsulation;
use rtether_sim::observe::{Delivery as Delivered, DropReason, Observer, PacketInfo};

use crate::support::{Plant, periodic, plain_switch, tag, two_stations};

const US: fn(i64) -> Duration = Duration::from_us;
const NS: fn(i64) -> Duration = Duration::from_ns;

/// 60 octets over UDP at 100 Mbit/s: 114 octets with the preamble.
const FRAME: Duration = Duration::from_ns(9_120);
/// A request or a reply: 64 octets, 72 with the preamble.
const ARP_FRAME: Duration = Duration::from_ns(5_760);

const ARP: Arp = Arp {
    lifetime: Duration::from_secs(60),
    retry: Duration::from_ms(2),
    attempts: 3,
    hold: Bytes::new(10_000),
};

impl Plant {
    fn resolve(&mut self, station: NodeId, arp: Arp) {
        match &mut self.network.nodes[station.index()].kind {
            NodeKind::EndStation(station) => station.arp = Some(arp),
            NodeKind::Switch(_) | NodeKind::Hub(_) => panic!("not a station"),
        }
    }

    fn arp_of(&self, record: &Record, station: NodeId) -> ArpRecord {
        assert!(self.network.end_station(station).is_some());
        record.nodes[station.index()].arp.unwrap()
    }
}

/// Latencies by flow, messages of ARP at the port where they begin, and losses.
#[derive(Default)]
struct Log {
    latencies: Vec<(u32, u32, Duration)>,
    messages: Vec<(Instant, NodeId, bool, u64, bool)>,
    lost: Vec<(u32, DropReason, Instant)>,
}

impl Observer for Log {
    fn transmitted(&mut self, now: Instant, port: PortId, packet: &PacketInfo) {
        if packet.arp.is_some() && port.node == packet.source {
            let octets = packet.frame_size.get();
            let is_broadcast = packet.destination.is_none();
            let message = (now, port.node, packet.is_reverse, octets, is_broadcast);
            self.messages.push(message);
        }
    }

    fn delivered(&mut self, _: Instant, packet: &PacketInfo, delivery: &Delivered) {
        let latency = delivery.latency;
        self.latencies.push((packet.flow.0, packet.number, latency));
    }

    fn dropped(&mut self, now: Instant, _: NodeId, packet: &PacketInfo, reason: DropReason) {
        if packet.arp.is_none() {
            self.lost.push((packet.number, reason, now));
        }
    }
}

fn of_flow(log: &Log, flow: u32) -> Vec<Duration> {
    let own = log.latencies.iter().filter(|own| own.0 == flow);
    own.map(|own| own.2).collect()
}

#[test]
fn the_first_packet_over_a_link_waits_for_two_frames() {
    let mut plant = Plant::default();
    let [a, b] = [(); 2].map(|()| plant.station(Stack::Zero));
    plant.join(a, b, 100);
    plant.flow(periodic("f", a, b));
    plant.resolve(a, ARP);
    let mut log = Log::default();
    let record = plant.run_with(3, 1, &mut log);
    let first = ARP_FRAME * 2 + FRAME;
    assert_eq!(first, NS(20_640));
    assert_eq!(of_flow(&log, 0), [first, FRAME, FRAME]);
    let asked = (Instant::ZERO, a, false, 64, true);
    let answered = (Instant::ZERO + ARP_FRAME, b, true, 64, false);
    assert_eq!(log.messages, [asked, answered]);
    let stream = &record.streams[0];
    let held = i128::from((ARP_FRAME * 2).as_ps());
    assert_eq!(stream.segments_ps[Segment::TalkerStack.index()], held);
    let own = plant.arp_of(&record, a);
    assert_eq!((own.requests, own.held, own.handled), (1, 1, 1));
    let other = plant.arp_of(&record, b);
    assert_eq!((other.replies, other.handled), (1, 1));
}

#[test]
fn over_a_switch_all_stations_hear_the_request() {
    for addresses in [AddressTable::Static, AddressTable::Learning { aging: US(500) }] {
        let mut plant = two_stations(&Stack::Zero);
        let other = plant.station(Stack::Zero);
        plant.join(NodeId(0), other, 100);
        if let NodeKind::Switch(switch) = &mut plant.network.nodes[0].kind {
            switch.addresses = addresses;
        }
        let [a, b] = [plant.flows[0].talker, plant.flows[0].listeners[0]];
        plant.resolve(a, ARP);
        let mut log = Log::default();
        let record = plant.run_with(3, 1, &mut log);
        let first = ARP_FRAME * 4 + FRAME * 2;
        assert_eq!(first, NS(41_280));
        assert_eq!(of_flow(&log, 0), [first, FRAME * 2, FRAME * 2]);
        let handled = [a, b, other].map(|node| plant.arp_of(&record, node).handled);
        assert_eq!(handled, [1, 1, 1]);
        assert_eq!(plant.arp_of(&record, other).replies, 0);
    }
}

/// Oracle: by hand. The packet of the talker, its request and its reply each pass a stack of 100
/// us; requests, replies and the packets held leave it at its lower end.
#[test]
fn requests_and_replies_take_their_time_in_stacks() {
    let mut plant = two_stations(&Stack::IpRate { service: US(100) });
    let a = plant.flows[0].talker;
    plant.resolve(a, ARP);
    let mut log = Log::default();
    let record = plant.run_with(3, 1, &mut log);
    let usual = US(200) + FRAME * 2;
    let resolving = ARP_FRAME * 4 + US(200);
    let expected = [usual + resolving, usual, usual];
    assert_eq!(of_flow(&log, 0), expected);
    let worst = record.streams[0].worst.unwrap();
    assert_eq!(worst.responsible.0.segment, Segment::TalkerStack);
    assert_eq!(worst.responsible.1, resolving);
}

#[test]
fn the_listener_knows_who_asked() {
    let mut plant = two_stations(&Stack::Zero);
    plant.flows[0].reply = Some(Reply::new(Bytes::new(60), Duration::ZERO));
    let [a, b] = [plant.flows[0].talker, plant.flows[0].listeners[0]];
    plant.resolve(a, ARP);
    plant.resolve(b, ARP);
    let mut log = Log::default();
    plant.run_with(3, 1, &mut log);
    let usual = FRAME * 4;
    assert_eq!(of_flow(&log, 0), [usual + ARP_FRAME * 4, usual, usual]);
    assert_eq!(log.messages.len(), 2);
}

#[test]
fn other_frames_and_groups_are_not_held() {
    for change in [true, false] {
        let mut plant = two_stations(&Stack::Zero);
        if change {
            plant.flows[0].encapsulation = Encapsulation::Goose;
        } else {
            plant.flows[0].delivery = Delivery::Multicast;
        }
        let a = plant.flows[0].talker;
        plant.resolve(a, ARP);
        let mut log = Log::default();
        plant.run_with(3, 1, &mut log);
        assert!(log.messages.is_empty());
        assert_eq!(log.latencies.len(), 3);
    }
}

/// Oracle: by hand. An address is known from the arrival of the reply, 23.04 us after the first
/// release, for 2.5 ms: packets 0, 3 and 6 wait, since packets 3 and 6 come 3 ms later each.
#[test]
fn addresses_are_forgotten() {
    let mut plant = two_stations(&Stack::Zero);
    let a = plant.flows[0].talker;
    let lifetime = US(2_500);
    plant.resolve(a, Arp { lifetime, ..ARP });
    let mut log = Log::default();
    plant.run_with(8, 1, &mut log);
    let slow = FRAME * 2 + ARP_FRAME * 4;
    let fast = FRAME * 2;
    let expected = [slow, fast, fast, slow, fast, fast, slow, fast];
    assert_eq!(of_flow(&log, 0), expected);
}

/// Oracle: by hand. A switch that drops all requests: they come at 0, 2 and 4 ms; at 6 ms the
/// packets held go, those released at 0 to 5 ms, and the one at 6 ms begins anew.
#[test]
fn a_neighbor_that_does_not_answer_is_given_up() {
    let mut plant = two_stations(&Stack::Zero);
    let a = plant.flows[0].talker;
    plant.resolve(a, ARP);
    drop_requests(&mut plant);
    let mut log = Log::default();
    let record = plant.run_with(7, 1, &mut log);
    let sent: Vec<Duration> = log.messages.iter().map(|own| own.0 - Instant::ZERO).collect();
    assert_eq!(sent, [0, 2, 4, 6].map(Duration::from_ms));
    let end = Instant::ZERO + Duration::from_ms(6);
    let lost: Vec<_> = (0..6).map(|number| (number, DropReason::Unresolved, end)).collect();
    assert_eq!(log.lost, lost);
    let own = plant.arp_of(&record, a);
    assert_eq!((own.requests, own.failures), (4, 1));
    assert_eq!((own.held, own.dropped, own.waiting), (7, 6, 1));
    let stream = &record.streams[0];
    let ends = (stream.delivered, stream.dropped, stream.in_flight);
    assert_eq!(ends, (0, 6, 1));
}

fn drop_requests(plant: &mut Plant) {
    if let NodeKind::Switch(switch) = &mut plant.network.nodes[0].kind {
        // No frame has 63 octets.
        switch.ingress = vec![IngressRule {
            headers: HeaderMatch { ethertype: Some(0x0806), ..HeaderMatch::default() },
            police: Some(Police {
                rate: BitRate::from_bps(1),
                burst: Bytes::new(63),
                exceed: Exceed::Drop,
            }),
            ..IngressRule::default()
        }];
    }
}

/// Oracle: what is held at most. Of bursts of 20 frames of 106 octets 10 000 octets hold 94 frames,
/// 300 octets two: the last ones.
#[test]
fn the_latest_packets_are_held() {
    let mut plant = two_stations(&Stack::Zero);
    let a = plant.flows[0].talker;
    let hold = Bytes::new(300);
    plant.resolve(a, Arp { hold, ..ARP });
    plant.flows[0].traffic = Traffic::Sporadic {
        min_gap: Duration::from_ms(10),
        mean_gap: Duration::from_ms(10),
        burst: 20,
    };
    let mut log = Log::default();
    plant.run_with(15, 1, &mut log);
    let lost: Vec<u32> = log.lost.iter().map(|own| own.0).collect();
    assert_eq!(lost, (0..18).collect::<Vec<_>>());
    let first = FRAME * 2 + ARP_FRAME * 4;
    assert_eq!(of_flow(&log, 0)[..2], [first, first + NS(10_080)]);
    // The next burst finds the address known.
    assert_eq!(of_flow(&log, 0).len(), 22);
}

/// Oracle: the time of a retry. Where bit errors destroy requests and replies, the first packet
/// that gets through has waited for whole retries, and each of these has a request of its own.
#[test]
fn a_lost_request_is_repeated() {
    let mut repeated = 0;
    for seed in 1..=200 {
        let mut plant = Plant::default();
        let [a, b] = [(); 2].map(|()| plant.station(Stack::Zero));
        plant.join(a, b, 100).errors_per_billion = 300_000_000;
        let once = Traffic::periodic(Duration::from_secs(1), Phase::Fixed(Duration::ZERO));
        plant.flow(periodic("f", a, b)).traffic = once;
        let attempts = 20;
        plant.resolve(a, Arp { attempts, ..ARP });
        let mut log = Log::default();
        let record = plant.run_with(100, seed, &mut log);
        let own = plant.arp_of(&record, a);
        assert_eq!(own.dropped, 0, "with seed {seed}");
        let retries = i64::try_from(own.requests).unwrap() - 1;
        for latency in of_flow(&log, 0) {
            let expected = FRAME + ARP_FRAME * 2 + ARP.retry * retries;
            assert_eq!(latency, expected, "with seed {seed}");
            repeated += u32::from(retries > 0);
        }
    }
    assert!(repeated > 50, "{repeated}");
}

/// Oracle: the tag. Requests and replies stay in the VLAN of the packet and have no priority.
#[test]
fn requests_stay_in_the_vlan() {
    let mut plant = Plant::default();
    let switch = plant.switch(plain_switch());
    let [a, b, outside] = [(); 3].map(|()| plant.station(Stack::Zero));
    for station in [a, b, outside] {
        plant.join(switch, station, 100);
    }
    let vid = |number| Vid::new(number).unwrap();
    plant.vlan(switch, 0, PortVlan::Trunk { native: Some(vid(1)), allowed: Some(vec![vid(7)]) });
    plant.vlan(switch, 1, PortVlan::Access(vid(7)));
    plant.vlan(switch, 2, PortVlan::Access(vid(8)));
    let flow = plant.flow(periodic("f", a, b));
    flow.tag = tag(6, 7);
    plant.resolve(a, ARP);
    let mut log = Log::default();
    let record = plant.run_with(2, 1, &mut log);
    // 68 octets to the switch, 64 behind it, and back.
    assert_eq!(log.latencies.len(), 2);
    assert_eq!(log.messages[0].3, 68);
    assert_eq!(log.messages[1].3, 64);
    let resolving = (ARP_FRAME * 2 + NS(320)) * 2;
    assert_eq!(of_flow(&log, 0)[0] - of_flow(&log, 0)[1], resolving);
    assert_eq!(plant.arp_of(&record, outside).handled, 0);
}

#[test]
fn a_hub_carries_requests() {
    let mut plant = Plant::default();
    let hub = plant.hub(100, Duration::ZERO);
    let [a, b] = [(); 2].map(|()| plant.station(Stack::Zero));
    for station in [a, b] {
        plant.join(hub, station, 100).duplex = rtether_model::network::Duplex::Half;
    }
    plant.flow(periodic("f", a, b));
    plant.resolve(a, ARP);
    let mut log = Log::default();
    plant.run_with(3, 1, &mut log);
    let [first, second] = [0, 1].map(|number| of_flow(&log, 0)[number]);
    // The gap of 0.96 us before a station sends after it has heard a frame.
    assert_eq!(first - second, ARP_FRAME * 2 + NS(960) * 2);
}

#[test]
fn a_loop_is_refused() {
    let mut plant = Plant::default();
    let [one, other] = [(); 2].map(|()| plant.switch(plain_switch()));
    plant.join(one, other, 100);
    plant.join(one, other, 100);
    let [a, b] = [(); 2].map(|()| plant.station(Stack::Zero));
    plant.join(one, a, 100);
    plant.join(other, b, 100);
    plant.flow(periodic("f", a, b));
    plant.resolve(a, ARP);
    let config = rtether_sim::Config { seed: 1, warmup: Duration::ZERO, bucket: Duration::ZERO };
    let refused = rtether_sim::Simulation::new(&plant.network, &plant.flows, &config);
    let error = refused.err().unwrap().to_string();
    assert!(error.contains("loop"), "{error}");
}
