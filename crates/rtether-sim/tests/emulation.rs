//! Frames from outside: refusals, late frames, and recordings of them.

mod stacks;

use rtether_model::endnode::{HeaderMatch, Layer, PortRange, Rule};
use rtether_model::flow::{Delivery, Flow, FlowId};
use rtether_model::network::{
    AddressTable, Cost, Jitter, LinearStack, MulticastForwarding, NodeId, NodeKind, Outliers, Pcp,
    PortVlan, QueueMap, Selection, Servers, Spread, Stack, Tasks, Vid,
};
use rtether_model::quantity::{BitRate, Bytes, Duration, Instant};
use rtether_sim::emulation::{
    Arrival, Destination, Draws, Emulation, EmulationError, Foreign, Headers, Output, Recording,
    Refusal, Setup,
};
use rtether_sim::observe::DropReason;

use crate::support::{Plant, periodic, plain_switch};

const US: Duration = Duration::from_us(1);

fn at(us: i64) -> Instant {
    Instant::ZERO + US * us
}

fn frame(token: u64, size: u64, destination: Destination) -> Foreign {
    Foreign { size: Bytes::new(size), destination, tag: None, headers: Headers::default(), token }
}

fn outputs(emulation: &mut Emulation, until: Instant) -> Vec<Output> {
    emulation.run_until(until);
    emulation.invariants().unwrap();
    std::iter::from_fn(|| emulation.poll_output()).collect()
}

/// When a frame arrives, its token, where, and with which tag.
type Delivered = (Instant, u64, NodeId, Option<(Pcp, Vid)>);

fn delivered(emulation: &mut Emulation, until: Instant) -> Vec<Delivered> {
    let outputs = outputs(emulation, until).into_iter();
    let delivered = outputs.filter_map(|output| match output {
        Output::Delivered { at, token, station, tag, .. } => Some((at, token, station, tag)),
        Output::Dropped { .. } | Output::Collision { .. } | Output::Finished { .. } => None,
    });
    delivered.collect()
}

/// A switch with stations at 100 Mbit/s; returns the stations.
fn star(stations: usize) -> (Plant, Vec<NodeId>) {
    let mut plant = Plant::default();
    let switch = plant.switch(plain_switch());
    let stations: Vec<NodeId> = (0..stations).map(|_| plant.station(Stack::Zero)).collect();
    for &station in &stations {
        plant.join(switch, station, 100);
    }
    (plant, stations)
}

/// Gives the stations of a plant this stack, and emulates them.
fn emulate(plant: &mut Plant, stack: &Stack) {
    for node in &mut plant.network.nodes {
        if let NodeKind::EndStation(station) = &mut node.kind {
            station.stack = stack.clone();
            station.emulate = true;
        }
    }
}

#[allow(clippy::unnecessary_wraps, reason = "assigned to an optional field")]
fn tagged(pcp: u8, vid: u16) -> Option<(Pcp, Vid)> {
    Some((Pcp::new(pcp).unwrap(), Vid::new(vid).unwrap()))
}

/// Oracle: (8 + 64) octets of 80 ns, twice.
#[test]
fn a_broadcast_by_hand() {
    let (plant, nodes) = star(3);
    let mut emulation = Emulation::new(&Setup::new(&plant.network, 1)).unwrap();
    emulation.inject(nodes[1], at(5), frame(7, 64, Destination::All)).unwrap();
    assert_eq!(emulation.next_event(), Some(at(5) + Duration::from_ns(5_760)));
    let arrived = at(5) + Duration::from_ns(11_520);
    let delivered = |station| Output::Delivered { token: 7, station, at: arrived, tag: None };
    let expected = [delivered(nodes[0]), delivered(nodes[2]), Output::Finished { token: 7 }];
    assert_eq!(outputs(&mut emulation, at(100)), expected);
    assert_eq!(emulation.next_event(), None);
}

/// Oracle: the range, and by hand three transmissions of 5.76 us. Which frame comes first on the
/// trunk changes no other frame's draw.
#[test]
fn latencies_that_vary_are_drawn_by_frame() {
    let mut plant = Plant::default();
    let [first, second] = [0, 20].map(|jitter| {
        let mut switch = plain_switch();
        (switch.latency, switch.latency_jitter) = (US * jitter, US * jitter);
        plant.switch(switch)
    });
    let [a, b, c] = [first, first, second].map(|switch| {
        let station = plant.station(Stack::Zero);
        plant.join(switch, station, 100);
        station
    });
    plant.join(first, second, 100);
    let run = |is_late: bool| {
        let mut emulation = Emulation::new(&Setup::new(&plant.network, 1)).unwrap();
        let mut spans = Vec::new();
        for round in 0..100 {
            let begin = 1_000 * round;
            let (of_a, of_b) = (begin + if is_late { 200 } else { 0 }, begin + 100);
            let mut sent = [(of_a, a, 1), (of_b, b, 2)];
            sent.sort_unstable();
            for (time, station, token) in sent {
                emulation.run_until(at(time));
                let frame = frame(token, 64, Destination::One(c));
                emulation.inject(station, at(time), frame).unwrap();
            }
            for output in outputs(&mut emulation, at(begin + 900)) {
                if let Output::Delivered { token, at: there, .. } = output {
                    let from = if token == 1 { of_a } else { of_b };
                    spans.push((round, token, there - at(from)));
                }
            }
        }
        spans.sort_unstable();
        spans
    };
    let spans = run(false);
    assert_eq!(spans.len(), 200);
    let wire = Duration::from_ns(3 * 5_760);
    let inside = |span: Duration| (wire + US * 20..=wire + US * 40).contains(&span);
    assert!(spans.iter().all(|&(_, _, span)| inside(span)), "{spans:?}");
    let latencies: std::collections::BTreeSet<_> = spans.iter().map(|one| one.2).collect();
    assert!(latencies.len() > 190, "{}", latencies.len());
    assert_eq!(run(true), spans);
}

/// Oracle: by hand. A switch with managed multicast sends a frame of a group to its listeners and a
/// broadcast to all; one without sends both to all, and stations filter.
#[test]
fn a_managed_group_goes_to_its_listeners_alone() {
    for (multicast, sent) in [
        (MulticastForwarding::Managed, [1, 1, 2, 1]),
        (MulticastForwarding::Unmanaged, [1, 2, 2, 2]),
    ] {
        let (mut plant, nodes) = star(4);
        if let NodeKind::Switch(switch) = &mut plant.network.nodes[0].kind {
            switch.multicast = multicast;
        }
        let unicast = periodic("unicast", nodes[0], nodes[1]);
        let group = Flow { delivery: Delivery::Multicast, ..periodic("group", nodes[0], nodes[2]) };
        let setup = Setup { groups: &[unicast, group], ..Setup::new(&plant.network, 1) };
        let mut emulation = Emulation::new(&setup).unwrap();
        let mut inject = |station, token, destination| {
            emulation.inject(station, at(0), frame(token, 64, destination))
        };
        let group = Destination::Group(FlowId(1));
        inject(nodes[0], 1, group).unwrap();
        inject(nodes[0], 2, Destination::All).unwrap();
        inject(nodes[3], 3, Destination::One(nodes[0])).unwrap();
        // Wrong sender, not multicast, unknown.
        let refused = Err(Refusal::Destination);
        assert_eq!(inject(nodes[1], 4, group), refused);
        assert_eq!(inject(nodes[0], 4, Destination::Group(FlowId(0))), refused);
        assert_eq!(inject(nodes[0], 4, Destination::Group(FlowId(2))), refused);
        let delivered = delivered(&mut emulation, at(1_000)).into_iter();
        let delivered = delivered.map(|(_, token, station, _)| (token, station));
        let mut delivered: Vec<_> = delivered.collect();
        delivered.sort_unstable();
        let expected = [(1, nodes[2]), (2, nodes[1]), (2, nodes[2]), (2, nodes[3]), (3, nodes[0])];
        assert_eq!(delivered, expected, "{multicast:?}");
        let record = emulation.finish();
        let ports = record.ports.iter().filter(|port| port.port.node == NodeId(0));
        let counts: Vec<u64> = ports.map(|port| port.sent).collect();
        assert_eq!(counts, sent, "{multicast:?}");
        assert!(record.streams.is_empty());
    }
}

/// Oracle: 802.1Q: access ports remove tags, trunks add them; VLANs do not mix.
#[test]
fn tags_leave_as_the_switch_sends_them() {
    let (mut plant, nodes) = star(4);
    let ten = Vid::new(10).unwrap();
    let trunk = PortVlan::Trunk { allowed: Some(vec![ten]), native: None };
    let vlans =
        [PortVlan::Access(ten), trunk.clone(), trunk, PortVlan::Access(Vid::new(20).unwrap())];
    let switch = NodeId(0);
    for (port, vlan) in vlans.into_iter().enumerate() {
        plant.vlan(switch, port, vlan);
    }
    let mut emulation = Emulation::new(&Setup::new(&plant.network, 1)).unwrap();
    let tags = |emulation: &mut Emulation| -> Vec<_> {
        let delivered = delivered(emulation, emulation.now() + US * 1_000).into_iter();
        delivered.map(|(_, _, station, tag)| (station, tag)).collect()
    };
    let plain = frame(1, 100, Destination::All);
    emulation.inject(nodes[0], at(0), plain).unwrap();
    let tagged_zero = tagged(0, 10);
    assert_eq!(tags(&mut emulation), [(nodes[1], tagged_zero), (nodes[2], tagged_zero)]);
    let urgent = Foreign { tag: tagged(6, 10), ..plain };
    emulation.inject(nodes[1], at(2_000), urgent).unwrap();
    assert_eq!(tags(&mut emulation), [(nodes[0], None), (nodes[2], tagged(6, 10))]);
}

/// Oracle: strict priority by hand. Four frames of 1518 octets take 123.04 us each on the way out;
/// the urgent one, which comes last, waits for the frame being sent.
#[test]
fn priority_passes_what_waits() {
    let (mut plant, nodes) = star(3);
    if let rtether_model::network::NodeKind::Switch(switch) = &mut plant.network.nodes[0].kind {
        switch.queues = QueueMap::standard(8).unwrap();
        switch.selection = Selection::StrictPriority;
    }
    let mut emulation = Emulation::new(&Setup::new(&plant.network, 1)).unwrap();
    for token in 0..4 {
        let tag = tagged(1, 0);
        let low = frame(token, 1518, Destination::One(nodes[2]));
        let sender = nodes[usize::from(token % 2 == 1)];
        emulation.inject(sender, at(0), Foreign { tag, ..low }).unwrap();
    }
    let tag = tagged(7, 0);
    let high = frame(9, 64, Destination::One(nodes[2]));
    emulation.inject(nodes[0], at(1), Foreign { tag, ..high }).unwrap();
    let delivered = delivered(&mut emulation, at(1_000)).into_iter();
    let order: Vec<u64> = delivered.map(|(_, token, ..)| token).collect();
    // Frames 0 and 1 arrive together, 2 and 3 right after, the urgent one behind 2.
    assert_eq!(order, [0, 1, 9, 2, 3]);
}

/// Oracle: by hand. Frames of 1000 octets take 80.64 us to the switch and as long from there; each
/// costs 6120 bit at 25 Mbit/s, so the second begins 326.4 us after the first.
#[test]
fn an_emulated_port_waits_for_its_credit() {
    let (mut plant, nodes) = star(3);
    if let NodeKind::Switch(switch) = &mut plant.network.nodes[0].kind {
        let idle_slopes = [BitRate::from_mbps(25); 8];
        switch.selection = Selection::Cbs { idle_slopes };
    }
    let mut emulation = Emulation::new(&Setup::new(&plant.network, 1)).unwrap();
    for token in 0..2 {
        let sender = nodes[usize::from(token == 1)];
        let one = frame(token, 1_000, Destination::One(nodes[2]));
        emulation.inject(sender, at(0), one).unwrap();
    }
    let delivered = delivered(&mut emulation, at(1_000)).into_iter();
    let times: Vec<Instant> = delivered.map(|(at, ..)| at).collect();
    let first = at(0) + Duration::from_ns(161_280);
    assert_eq!(times, [first, first + Duration::from_ns(326_400)]);
}

#[test]
fn what_is_not_of_this_network_is_refused_and_counted() {
    let (plant, nodes) = star(2);
    let lonely = {
        let mut plant = plant.clone();
        plant.station(Stack::Zero);
        plant
    };
    let mut emulation = Emulation::new(&Setup::new(&lonely.network, 1)).unwrap();
    let (switch, alone, nobody) = (NodeId(0), NodeId(3), NodeId(99));
    let to = |node| frame(1, 64, Destination::One(node));
    let mut refuse = |station, frame, reason| {
        assert_eq!(emulation.inject(station, at(0), frame), Err(reason));
    };
    refuse(switch, to(nodes[0]), Refusal::Sender);
    refuse(nobody, to(nodes[0]), Refusal::Sender);
    refuse(alone, to(nodes[0]), Refusal::Sender);
    refuse(nodes[0], to(switch), Refusal::Destination);
    refuse(nodes[0], to(nobody), Refusal::Destination);
    for size in [0, 63, 1519, 70_000, u64::MAX] {
        let odd = frame(1, size, Destination::All);
        refuse(nodes[0], odd, Refusal::Size);
    }
    assert_eq!(emulation.counters().refused, 10);
    // No switch has a port towards a station without a link.
    emulation.inject(nodes[0], at(1), to(alone)).unwrap();
    let expected = [
        Output::Dropped {
            token: 1,
            node: switch,
            at: at(1) + Duration::from_ns(5_760),
            reason: DropReason::Filtered,
        },
        Output::Finished { token: 1 },
    ];
    assert_eq!(outputs(&mut emulation, at(100)), expected);
    assert_eq!(emulation.counters().injected, 1);
}

#[test]
fn networks_that_cannot_be_emulated_are_refused() {
    let (mut plant, _) = star(1);
    let mut learning = plain_switch();
    learning.addresses = AddressTable::Learning { aging: Duration::from_secs(300) };
    learning.multicast = MulticastForwarding::Unmanaged;
    let other = plant.switch(learning);
    plant.join(NodeId(0), other, 100);
    assert!(Emulation::new(&Setup::new(&plant.network, 1)).is_ok());
    plant.join(NodeId(0), other, 100);
    let refused = |plant: &Plant| Emulation::new(&Setup::new(&plant.network, 1)).err();
    assert!(matches!(refused(&plant), Some(EmulationError::Loop { .. })));
    let (mut plant, _) = star(1);
    if let rtether_model::network::NodeKind::Switch(switch) = &mut plant.network.nodes[0].kind {
        switch.selection = Selection::EarliestDeadline;
    }
    let message = refused(&plant).unwrap().to_string();
    assert!(message.contains("sw0") && message.contains("deadline"), "{message}");
    let (mut plant, nodes) = star(1);
    if let NodeKind::EndStation(station) = &mut plant.network.nodes[nodes[0].index()].kind {
        station.by_deadline = true;
    }
    // A station that is not emulated keeps its own order.
    assert_eq!(refused(&plant), None);
    emulate(&mut plant, &Stack::Zero);
    if let NodeKind::EndStation(station) = &mut plant.network.nodes[nodes[0].index()].kind {
        station.by_deadline = true;
    }
    let message = refused(&plant).unwrap().to_string();
    assert!(message.contains("deadline"), "{message}");
    let (mut plant, nodes) = star(1);
    if let NodeKind::EndStation(station) = &mut plant.network.nodes[nodes[0].index()].kind {
        let headers = HeaderMatch {
            destination_port: Some(PortRange { first: 5_000, last: 5_010 }),
            ..HeaderMatch::default()
        };
        let rule = Rule { headers, class: 0 };
        station.layer = Some(Box::new(Layer { rules: vec![rule], ..Layer::default() }));
    }
    assert_eq!(refused(&plant), None);
    emulate(&mut plant, &Stack::Zero);
    let message = refused(&plant).unwrap().to_string();
    assert!(message.contains("s1") && message.contains("ports"), "{message}");
}

/// Stations on a hub of 10 Mbit/s at a load of about one half, frames of 84 to 1500 octets, often
/// sent at the same time.
fn hub_traffic(frames: u64) -> (Plant, Vec<Arrival>) {
    let mut plant = Plant::default();
    let hub = plant.hub(10, Duration::ZERO);
    let stations: Vec<NodeId> = (0..10).map(|_| plant.station(Stack::Zero)).collect();
    for &station in &stations {
        plant.join(hub, station, 10);
    }
    let mut state = 1_u64;
    let mut draw = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) % below
    };
    let mut now = Instant::ZERO;
    let arrivals = (0..frames).map(|token| {
        // A mean frame of 792 octets takes 650 us; every third one comes alone.
        let gap = if token % 3 == 0 { 7_800 } else { 60 };
        now += US * i64::try_from(draw(gap)).unwrap();
        let from = usize::try_from(draw(10)).unwrap();
        let to = (from + 1 + usize::try_from(draw(9)).unwrap()) % 10;
        Arrival {
            station: stations[from],
            at: now,
            frame: frame(token, 84 + draw(1_416), Destination::One(stations[to])),
        }
    });
    let arrivals = arrivals.collect();
    (plant, arrivals)
}

/// One frame in a hundred comes too late to meet the frames it should have met: only those around
/// it differ. Oracle: the replay of the true times.
#[test]
fn a_late_frame_spoils_few_others() {
    let (plant, arrivals) = hub_traffic(4_000);
    let until = arrivals.last().unwrap().at + Duration::from_secs(1);
    let setup = |draws| Setup { draws, ..Setup::new(&plant.network, 1) };
    let run = |draws, lateness: Duration| {
        let mut emulation = Emulation::new(&setup(draws)).unwrap();
        let mut recording = Recording::new(100_000);
        for (number, &arrival) in arrivals.iter().enumerate() {
            recording.note_arrival(arrival);
            if number % 100 == 50 {
                emulation.run_until(arrival.at + lateness);
            }
            emulation.inject(arrival.station, arrival.at, arrival.frame).unwrap();
            while let Some(output) = emulation.poll_output() {
                recording.note_output(&output);
            }
        }
        for output in outputs(&mut emulation, until) {
            recording.note_output(&output);
        }
        let comparison = recording.compare(&setup(draws), until);
        (emulation.counters(), comparison.unwrap())
    };
    let (counters, same) = run(Draws::ByFrame, Duration::ZERO);
    assert_eq!((counters.late, same.frames, same.differing), (0, 4_000, 0));
    let (counters, by_frame) = run(Draws::ByFrame, US * 20);
    assert!(counters.late > 20 && counters.lateness_max == US * 20, "{counters:?}");
    let (_, in_order) = run(Draws::InOrder, US * 20);
    // Each late frame differs itself; drawn in order, back-offs never agree again.
    assert!(by_frame.differing >= counters.late, "{by_frame:?}");
    assert!(by_frame.differing < 10 * counters.late, "{}", by_frame.differing);
    assert!(in_order.differing > 2 * by_frame.differing, "{}", in_order.differing);
    assert_eq!(by_frame.tokens.len() as u64, by_frame.differing);
    let apart = by_frame.apart.total() + by_frame.elsewhere;
    assert_eq!(apart, by_frame.differing);
}

/// Oracle: counting. A full recording compares the frames before its limit.
#[test]
fn a_full_recording_says_until_when_it_is_whole() {
    let (plant, arrivals) = hub_traffic(500);
    let mut emulation = Emulation::new(&Setup::new(&plant.network, 1)).unwrap();
    let mut recording = Recording::new(300);
    for &arrival in &arrivals {
        recording.note_arrival(arrival);
        emulation.inject(arrival.station, arrival.at, arrival.frame).unwrap();
        while let Some(output) = emulation.poll_output() {
            recording.note_output(&output);
        }
    }
    let whole_before = recording.whole_before().unwrap();
    assert!(whole_before <= arrivals[300].at && whole_before > arrivals[250].at);
    let until = emulation.now();
    let comparison = recording.compare(&Setup::new(&plant.network, 1), until);
    let comparison = comparison.unwrap();
    assert_eq!(comparison.differing, 0);
    assert!((250..=300).contains(&comparison.frames), "{}", comparison.frames);
}
