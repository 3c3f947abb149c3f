//! Delays against arithmetic by hand.

use rtether_model::flow::{Delivery, Phase, Reply, Scan};
use rtether_model::network::{
    AddressTable, Cost, ForwardingMode, Jitter, LinearStack, MulticastForwarding, NodeId, NodeKind,
    PortVlan, QueueMap, Selection, Servers, Stack, TagHandling, Vid,
};
use rtether_model::quantity::{Bytes, Duration};
use rtether_model::record::Segment;
use rtether_model::unknown::{CostName, Unknown};
use rtether_sim::observe::NoObserver;

use crate::support::{Plant, periodic, plain_switch, tag, two_stations};

const US: fn(i64) -> Duration = Duration::from_us;
const NS: fn(i64) -> Duration = Duration::from_ns;

/// 60 octets over UDP: a frame of 106, 9.12 us at 100 Mbit/s.
const FRAME: Duration = Duration::from_ns(9_120);

#[test]
fn two_hops_cost_two_frame_times() {
    // Catalogue 0.1: 18.24 us over two links of 100 Mbit/s.
    let record = two_stations(&Stack::Zero).run(10);
    let stream = &record.streams[0];
    assert_eq!((stream.released, stream.delivered, stream.in_flight), (10, 10, 0));
    assert_eq!((stream.latency.min, stream.latency.max), (FRAME * 2, FRAME * 2));
    assert_eq!(stream.ethernet.max, FRAME * 2);
    assert_eq!(stream.node_share(), Some(0.0));
}

#[test]
fn the_quiet_path_of_skeie_flat() {
    // SIMULATION.md: 200 + 18.24 + 50 us, and 1 us for the switch.
    let mut plant = two_stations(&Stack::Zero);
    let service = [US(200), US(50)];
    for (node, service) in plant.network.nodes[1..].iter_mut().zip(service) {
        let rtether_model::network::NodeKind::EndStation(station) = &mut node.kind else {
            panic!()
        };
        station.stack = Stack::IpRate { service };
    }
    let rtether_model::network::NodeKind::Switch(switch) = &mut plant.network.nodes[0].kind else {
        panic!()
    };
    switch.latency = US(1);
    let record = plant.run(10);
    let stream = &record.streams[0];
    assert_eq!(stream.latency.max, NS(200_000 + 18_240 + 50_000 + 1_000));
    let part =
        |segment: Segment| stream.segments_ps[segment.index()] / i128::from(stream.delivered);
    assert_eq!(part(Segment::TalkerStack), 200_000_000);
    assert_eq!(part(Segment::ReceiveStack), 50_000_000);
    assert_eq!(part(Segment::SwitchLatency), 1_000_000);
    let worst = stream.worst.unwrap();
    assert_eq!(worst.responsible.0.segment, Segment::TalkerStack);
    assert_eq!(worst.responsible.1, US(200));
}

/// Oracle: by hand. At 100 Mbit/s one frame follows another after 10.08 us.
#[test]
fn a_latency_that_varies_keeps_the_order() {
    let mut plant = two_stations(&Stack::Zero);
    let rtether_model::network::NodeKind::Switch(switch) = &mut plant.network.nodes[0].kind else {
        panic!()
    };
    (switch.latency, switch.latency_jitter) = (US(25), US(20));
    // Alone, each frame takes any time of the range.
    let stream = plant.run(10_000).streams.remove(0);
    let [least, most] = [25, 45].map(|latency| FRAME * 2 + US(latency));
    let within = |time: Duration, of: Duration| time - of < NS(50) && of - time < NS(50);
    assert!(stream.latency.min >= least && within(stream.latency.min, least));
    assert!(stream.latency.max <= most && within(stream.latency.max, most));
    let mean = stream.segments_ps[Segment::SwitchLatency.index()] / i128::from(stream.delivered);
    assert!((34_800_000..35_200_000).contains(&mean), "{mean} ps");
    // The second of two in succession overtakes never, and takes at most the largest latency.
    let (a, b) = (plant.flows[0].talker, plant.flows[0].listeners[0]);
    plant.flow(periodic("second", a, b));
    let record = plant.run(10_000);
    let [first, second] = [0, 1].map(|stream| &record.streams[stream]);
    assert!(first.latency.max <= most);
    let behind = NS(10_080 - 9_120) + FRAME;
    assert!(second.latency.min >= least + behind);
    assert!(second.latency.max <= most + behind + FRAME);
}

#[test]
fn one_server_serves_both_directions_in_order() {
    // Both stations release at 0. Each serves its own packet until 100 us, the frame arrives at
    // 118.24 us when the server is idle again: 100 + 18.24 + 100.
    let stack = Stack::IpRate { service: US(100) };
    let mut plant = two_stations(&stack);
    let (a, b) = (plant.flows[0].talker, plant.flows[0].listeners[0]);
    plant.flow(periodic("back", b, a));
    let record = plant.run(10);
    for stream in &record.streams {
        assert_eq!(stream.latency.max, US(200) + FRAME * 2);
    }
    // A second packet released by `b` at 110 us is ahead of the one that arrives at 118.24.
    plant.flow(periodic("busy", b, a)).start = US(110);
    let record = plant.run(10);
    let waited = US(110 + 100) - (US(100) + FRAME * 2);
    assert_eq!(record.streams[0].latency.max, US(200) + FRAME * 2 + waited);
}

#[test]
fn a_reply_comes_back_to_its_talker() {
    let mut plant = two_stations(&Stack::Zero);
    plant.flows[0].reply = Some(Reply::new(Bytes::new(60), US(7)));
    plant.flows[0].deadline = Some(US(43));
    let record = plant.run(10);
    let stream = &record.streams[0];
    assert_eq!(stream.latency.max, FRAME * 4 + US(7));
    // 43.48 us against 43 us: all late.
    assert_eq!((stream.missed, stream.released), (10, 10));
}

/// Oracle: by hand. However the sum of a device is split, a request and its answer take all of it; a
/// datagram takes the part of one direction, which differs from seed to seed.
#[test]
fn a_sum_is_taken_once_there_and_back() {
    let sum = US(320);
    let stack = Stack::Linear(LinearStack {
        send: Cost::default(),
        receive: Cost::default(),
        interface: Cost::default(),
        jitter: Jitter::default(),
        servers: Servers::PerDirection,
    });
    let mut parts = Vec::new();
    for seed in 1..=20 {
        let mut plant = two_stations(&Stack::Zero);
        let listener = plant.flows[0].listeners[0];
        let NodeKind::EndStation(own) = &mut plant.network.nodes[listener.index()].kind else {
            panic!("a station");
        };
        own.stack = stack.clone();
        own.unknown.push(Unknown { cost: CostName::Both, more: sum });
        let one_way = plant.run_with(10, seed, &mut NoObserver).streams.remove(0).latency;
        assert_eq!(one_way.min, one_way.max);
        parts.push(one_way.max - FRAME * 2);
        plant.flows[0].reply = Some(Reply::new(Bytes::new(60), US(7)));
        let there_and_back = plant.run_with(10, seed, &mut NoObserver).streams.remove(0).latency;
        assert_eq!(there_and_back.min, FRAME * 4 + US(7) + sum);
        assert_eq!(there_and_back.max, FRAME * 4 + US(7) + sum);
    }
    assert!(parts.iter().all(|part| *part <= sum));
    let [least, most] = [parts.iter().min(), parts.iter().max()].map(|part| *part.unwrap());
    assert!(least < sum / 4 && most > sum - sum / 4, "{least} .. {most}");
}

/// Oracle: by hand. Requests arrive 18.24 us after each millisecond; scans are at 100 us, and the answer to
/// one that is ready just behind a scan takes a cycle more.
#[test]
fn an_answer_waits_for_a_scan() {
    let mut plant = two_stations(&Stack::Zero);
    let reply = Reply::new(Bytes::new(60), US(7));
    for (phase, leaves) in
        [(US(100), US(100)), (FRAME * 2 + US(7), FRAME * 2 + US(7)), (US(25), US(1_025))]
    {
        let scan = Scan { period: US(1_000), phase: Phase::Fixed(phase) };
        plant.flows[0].reply = Some(Reply { scan: Some(scan), ..reply });
        let stream = plant.run(10).streams.remove(0);
        assert_eq!(
            (stream.latency.min, stream.latency.max),
            (leaves + FRAME * 2, leaves + FRAME * 2)
        );
        let spent = stream.segments_ps[Segment::Application.index()] / i128::from(stream.delivered);
        assert_eq!(spent, i128::from((leaves - FRAME * 2).as_ps()), "{phase}");
    }
}

/// Oracle: each listener has a phase of its own, the same in all of its answers; whose comes first depends
/// on the seed.
#[test]
fn listeners_answer_at_scans_of_their_own() {
    let mut firsts = [0; 2];
    for seed in 1..=20 {
        let mut plant = two_stations(&Stack::Zero);
        let third = plant.station(Stack::Zero);
        plant.join(NodeId(0), third, 100);
        plant.flows[0].listeners.push(third);
        let scan = Some(Scan { period: US(1_000), phase: Phase::Random });
        plant.flows[0].reply = Some(Reply { scan, ..Reply::new(Bytes::new(60), US(0)) });
        let record = plant.run_with(20, seed, &mut NoObserver);
        let [one, other] = [0, 1].map(|stream| {
            let own = &record.streams[stream];
            // The last answers may be under way.
            assert!(own.delivered >= 18 && own.dropped == 0, "{seed}");
            // Both may share the port of the talker.
            assert!(own.latency.max - own.latency.min <= FRAME + NS(960), "{seed}");
            own.latency.min
        });
        firsts[usize::from(other < one)] += 1;
    }
    assert!(firsts.iter().all(|count| *count > 2), "{firsts:?}");
}

#[test]
fn cut_through_waits_for_the_header_only() {
    // 22 octets of preamble and header at 100 Mbit/s are 1.76 us.
    let mut plant = Plant::default();
    let mode = ForwardingMode::CutThrough;
    let switch = plant.switch(rtether_model::network::Switch { mode, ..plain_switch() });
    let [a, b, c] = [(); 3].map(|()| plant.station(Stack::Zero));
    plant.join(switch, a, 100);
    plant.join(switch, b, 100);
    plant.join(switch, c, 1_000);
    plant.flow(periodic("equal", a, b));
    plant.flow(periodic("faster", a, c)).start = US(100);
    plant.flow(periodic("slower", c, b)).start = US(200);
    let record = plant.run(10);
    assert_eq!(record.streams[0].latency.max, NS(1_760) + FRAME);
    // Towards a faster port the frame is stored: 9.12 us in, 0.912 us out.
    assert_eq!(record.streams[1].latency.max, FRAME + NS(912));
    assert_eq!(record.streams[2].latency.max, NS(176) + FRAME);
}

#[test]
fn a_more_urgent_frame_waits_for_one_frame_at_most() {
    // Ten frames of 1518 octets fill the port; the urgent one waits for the rest of one.
    let mut plant = Plant::default();
    let switch = plant.switch(rtether_model::network::Switch {
        queues: QueueMap::standard(2).unwrap(),
        selection: Selection::StrictPriority,
        ..plain_switch()
    });
    let [bulk, urgent, sink] = [(); 3].map(|()| plant.station(Stack::Zero));
    plant.join(switch, bulk, 1_000);
    plant.join(switch, urgent, 100);
    plant.join(switch, sink, 100);
    for number in 0..10 {
        plant.flow(periodic(&format!("bulk{number}"), bulk, sink)).payload = Bytes::new(1472);
    }
    let late = plant.flow(periodic("urgent", urgent, sink));
    late.tag = tag(7, 0);
    late.start = US(200);
    let record = plant.run(10);
    // First bulk frame: 12.208 us over 1 Gbit/s, then 123.04 us per frame with its gap. At 200 us +
    // 9.44 us (110 octets) the second is being sent, until 12.208 + 2 * 123.04.
    let arrival = US(200) + NS(9_440);
    let free = NS(12_208) + NS(123_040) * 2;
    assert_eq!(record.streams[10].latency.max, free - arrival + NS(9_440) * 2);
    assert_eq!(record.streams[10].worst.unwrap().responsible.0.segment, Segment::SwitchQueue);
}

#[test]
fn stripped_tags_lose_their_priority() {
    let mut plant = Plant::default();
    let tags = TagHandling::Strip;
    let queues = QueueMap::standard(2).unwrap();
    let selection = Selection::StrictPriority;
    let first =
        plant.switch(rtether_model::network::Switch { tags, queues, selection, ..plain_switch() });
    let second =
        plant.switch(rtether_model::network::Switch { queues, selection, ..plain_switch() });
    let [a, b] = [(); 2].map(|()| plant.station(Stack::Zero));
    plant.join(a, first, 100);
    plant.join(first, second, 100);
    plant.join(second, b, 100);
    plant.flow(periodic("f", a, b)).tag = tag(6, 0);
    let record = plant.run(10);
    // Tagged on the first link (110 octets), untagged on the others.
    assert_eq!(record.streams[0].latency.max, NS(9_440) + FRAME * 2);
    let queues_of = |node| {
        let port = record.ports.iter().find(|p| p.port.node == node && p.port.port == 1).unwrap();
        [port.queues[0].sent, port.queues[1].sent]
    };
    assert_eq!(queues_of(first), [0, 10]);
    assert_eq!(queues_of(second), [10, 0]);
}

#[test]
fn vlans_keep_floods_apart() {
    let mut plant = Plant::default();
    let switch = plant.switch(rtether_model::network::Switch {
        multicast: MulticastForwarding::Unmanaged,
        addresses: AddressTable::Learning { aging: Duration::from_secs(300) },
        ..plain_switch()
    });
    let stations = [(); 4].map(|()| plant.station(Stack::Zero));
    for (port, &station) in stations.iter().enumerate() {
        plant.join(switch, station, 100);
        let vid = if port < 3 { 10 } else { 20 };
        plant.vlan(switch, port, PortVlan::Access(Vid::new(vid).unwrap()));
    }
    let [a, b, c, d] = stations;
    let flow = plant.flow(periodic("group", a, b));
    flow.delivery = Delivery::Multicast;
    let record = plant.run(10);
    assert_eq!(record.streams[0].delivered, 10);
    // Flooded to `b` and `c` of VLAN 10; `d` receives nothing.
    let arrived = |node: rtether_model::network::NodeId| record.nodes[node.index()].arrived;
    assert_eq!([arrived(b), arrived(c), arrived(d)], [10, 10, 0]);
    assert_eq!(record.nodes[c.index()].filtered, 10);
    assert_eq!(record.nodes[switch.index()].copied, 10);
}

#[test]
fn a_learning_switch_floods_until_it_knows() {
    let mut plant = Plant::default();
    let addresses = AddressTable::Learning { aging: Duration::from_secs(300) };
    let switch = plant.switch(rtether_model::network::Switch { addresses, ..plain_switch() });
    let [a, b, c] = [(); 3].map(|()| plant.station(Stack::Zero));
    for station in [a, b, c] {
        plant.join(switch, station, 100);
    }
    plant.flow(periodic("f", a, b));
    plant.flow(periodic("back", b, a)).start = Duration::from_us(4_500);
    let record = plant.run(10);
    assert_eq!(record.streams[0].delivered, 10);
    // `b` sends at 4.5 ms: five frames were flooded before.
    assert_eq!(record.nodes[c.index()].filtered, 5);
}

#[test]
fn a_corrupted_frame_is_discarded_and_lost() {
    let mut plant = two_stations(&Stack::Zero);
    plant.network.links[0].errors_per_billion = 500_000_000;
    let record = plant.run(1_000);
    let stream = &record.streams[0];
    assert_eq!(stream.dropped, record.nodes[0].discarded);
    // Binomial(1000, 1/2): five standard deviations are 79.
    assert!((421..=579).contains(&stream.dropped), "{}", stream.dropped);
}

#[test]
fn of_frames_of_one_instant_the_highest_priority_is_first() {
    // Oracle: by hand. Three tagged frames of 1050 octets, 84.64 us with the preamble and 85.60 with
    // the gap, are at an idle port together; the file lists them in two orders.
    let wire = NS(84_640);
    for order in [[7, 4, 1], [1, 4, 7]] {
        let mut plant = Plant::default();
        let switch = plant.switch(rtether_model::network::Switch {
            queues: QueueMap::standard(8).unwrap(),
            selection: Selection::StrictPriority,
            ..plain_switch()
        });
        let to = plant.station(Stack::Zero);
        plant.join(switch, to, 100);
        for pcp in order {
            let from = plant.station(Stack::Zero);
            plant.join(switch, from, 100);
            let flow = plant.flow(periodic(&format!("p{pcp}"), from, to));
            flow.payload = Bytes::new(1_000);
            flow.tag = tag(pcp, 0);
        }
        let record = plant.run(10);
        for (stream, pcp) in record.streams.iter().zip(order) {
            let before = (7 - i64::from(pcp)) / 3;
            assert_eq!(
                stream.latency.max,
                wire + wire + (wire + NS(960)) * before,
                "{order:?} {pcp}"
            );
        }
    }
}

#[test]
fn a_full_buffer_drops_the_tail() {
    // Three frames of 106 octets arrive together; one is sent, one fits, one is dropped.
    let mut plant = Plant::default();
    let mut switch = plain_switch();
    switch.buffer.per_port = Bytes::new(150);
    let switch = plant.switch(switch);
    let stations = [(); 4].map(|()| plant.station(Stack::Zero));
    for station in stations {
        plant.join(switch, station, 100);
    }
    for talker in &stations[..3] {
        plant.flow(periodic(&format!("f{}", talker.0), *talker, stations[3]));
    }
    let record = plant.run(10);
    let lost: Vec<u64> = record.streams.iter().map(|stream| stream.dropped).collect();
    assert_eq!(lost, [0, 0, 10]);
    assert_eq!(record.streams[1].latency.max, FRAME * 2 + NS(10_080));
    let port = record.ports.iter().find(|port| port.dropped > 0).unwrap();
    assert_eq!((port.offered, port.sent, port.backlog_max), (30, 20, Bytes::new(106)));
}

#[test]
fn a_full_queue_drops_what_others_have_room_for() {
    // Four frames of 106 octets for each of two queues arrive together. One of the upper queue is
    // sent, the others wait there; the threshold of the lower queue lets one wait. The first frame
    // of all has no room once a better one is sent.
    let mut plant = Plant::default();
    let mut sizes = [Bytes::new(10_000); 8];
    sizes[0] = Bytes::new(150);
    let switch = plant.switch(rtether_model::network::Switch {
        queues: QueueMap::standard(2).unwrap(),
        selection: Selection::StrictPriority,
        thresholds: Some(sizes),
        ..plain_switch()
    });
    let stations = [(); 9].map(|()| plant.station(Stack::Zero));
    for station in stations {
        plant.join(switch, station, 100);
    }
    for talker in &stations[..8] {
        let flow = plant.flow(periodic(&format!("f{}", talker.0), *talker, stations[8]));
        flow.tag = tag(if talker.0 > 4 { 6 } else { 0 }, 0);
    }
    let record = plant.run(10);
    let lost: Vec<u64> = record.streams.iter().map(|stream| stream.dropped).collect();
    assert_eq!(lost, [10, 0, 10, 10, 0, 0, 0, 0]);
    let port = record.ports.iter().find(|port| port.dropped > 0).unwrap();
    let queues = port.queues.iter();
    let counted = queues.map(|own| (own.sent, own.dropped, own.backlog_max.get()));
    // Tagged frames have 110 octets.
    assert!(counted.eq([(10, 30, 110), (40, 0, 330)]));
}

#[test]
fn a_priority_tag_belongs_to_no_vlan() {
    // The first switch has a VLAN at another port only, so the priority tag passes unchanged, and
    // the second switch assigns the frame to the VLAN of its access port.
    let mut plant = Plant::default();
    let [first, second] = [(); 2].map(|()| plant.switch(plain_switch()));
    let [a, b, c] = [(); 3].map(|()| plant.station(Stack::Zero));
    plant.join(a, first, 100);
    plant.join(first, second, 100);
    plant.join(first, c, 100);
    plant.join(second, b, 100);
    let ten = PortVlan::Access(Vid::new(10).unwrap());
    plant.vlan(first, 2, ten.clone());
    plant.vlan(second, 0, ten.clone());
    plant.vlan(second, 1, ten);
    plant.flow(periodic("f", a, b)).tag = tag(6, 0);
    let record = plant.run(10);
    assert_eq!(record.streams[0].delivered, 10);
    assert_eq!(record.streams[0].latency.max, NS(9_440) * 2 + FRAME);
}
