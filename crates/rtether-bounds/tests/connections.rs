//! Messages over TCP, worked out by hand.

use rtether_bounds::{Analyzer, Bound, ConnectionObstacle, Methods, Reason, analyze, analyze_with};
use rtether_model::flow::{Bulk, Flow, FlowId, Phase, Reply, TcpParameters, Traffic, Transfer};
use rtether_model::network::{
    AddressTable, EndStation, Link, Network, Node, NodeId, NodeKind, PortId, Stack, Switch, Tasks,
};
use rtether_model::quantity::{BitRate, Bytes, Duration};
use rtether_model::wire::Encapsulation;

/// A switch, node 0, and two stations without stacks, 1 and 2; 100 Mbit/s.
fn pair() -> Network {
    let mut network = Network::default();
    network.nodes.push(Node { name: "switch".into(), kind: NodeKind::Switch(Switch::new(2)) });
    for index in 0..2 {
        network.nodes.push(Node {
            name: format!("s{index}"),
            kind: NodeKind::EndStation(EndStation::new(Stack::Zero)),
        });
        let ends = [(u32::from(index) + 1, 0), (0, index)]
            .map(|(node, port)| PortId { node: NodeId(node), port });
        network.links.push(Link::new(ends, BitRate::from_mbps(100)));
    }
    network
}

/// Messages every 10 ms from station 1 to station 2.
fn messages(payload: u64) -> Flow {
    Flow {
        encapsulation: Encapsulation::Tcp,
        connection: Some(TcpParameters::default()),
        ..Flow::new(
            "messages".into(),
            NodeId(1),
            vec![NodeId(2)],
            Bytes::new(payload),
            Traffic::periodic(Duration::from_ms(10), Phase::Random),
        )
    }
}

fn only(network: &Network, flow: Flow) -> Result<Bound, Reason> {
    analyze(network, &[flow]).streams.remove(0).bound
}

fn obstacle(network: &Network, flow: Flow) -> ConnectionObstacle {
    match only(network, flow) {
        Err(Reason::Connection { obstacle, .. }) => obstacle,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_message_is_a_packet() {
    // By hand: 100 octets make a frame of 158, 13.28 us on each of two links.
    let found = only(&pair(), messages(100)).unwrap();
    assert_eq!(found.latency, Duration::from_ns(2 * 13_280));
    assert_eq!(found.latency_min, found.latency);
}

#[test]
fn a_longer_message_is_a_burst() {
    // By hand: three full segments, 123.04 us with their gaps. The last waits for the two others,
    // and takes 122.08 us on each of two links.
    let found = only(&pair(), messages(3 * 1_460)).unwrap();
    assert_eq!(found.latency, Duration::from_ns(2 * 123_040 + 2 * 122_080));
}

/// A message of 100 octets every 10 ms with an answer of 100 octets, 300 us later.
fn exchange() -> Flow {
    Flow { reply: Some(Reply::new(Bytes::new(100), Duration::from_us(300))), ..messages(100) }
}

#[test]
fn an_answer_follows_its_message() {
    // By hand: 13.28 us on each of four links, and 300 us of the application. The answer carries the
    // acknowledgement of its message, the next message that of the answer.
    let found = only(&pair(), exchange()).unwrap();
    assert_eq!(found.latency, Duration::from_ns(4 * 13_280 + 300_000));
}

/// Gives both stations a stack of 50 us per packet, and the switch a latency of 1 us.
fn slow_pair() -> Network {
    let mut network = pair();
    for node in &mut network.nodes {
        match &mut node.kind {
            NodeKind::EndStation(station) => {
                station.stack = Stack::IpRate { service: Duration::from_us(50) };
            }
            NodeKind::Switch(switch) => switch.latency = Duration::from_us(1),
            NodeKind::Hub(_) => {}
        }
    }
    network
}

fn every(period: Duration, flow: Flow) -> Flow {
    Flow { traffic: Traffic::periodic(period, Phase::Random), ..flow }
}

/// By hand: two stacks, two links, and the switch.
const ALONE: Duration = Duration::from_ns(2 * 50_000 + 2 * 13_280 + 1_000);

#[test]
fn a_message_meets_no_acknowledgement_of_an_earlier_one() {
    // One acknowledgement is under way until 0.2 ms after every second message, or 40 ms after one.
    for period in [20, 37, 1_000] {
        let flow = every(Duration::from_ms(period), messages(100));
        let found = only(&slow_pair(), flow).unwrap();
        assert_eq!(found.latency, ALONE, "{period} ms");
    }
    // Without a period the timer of any message may fire as another one comes: it may find one of 50 us
    // at either stack, the links are faster.
    let mut random = messages(100);
    random.traffic = Traffic::Sporadic {
        min_gap: Duration::from_ms(20),
        mean_gap: Duration::from_ms(30),
        burst: 1,
    };
    let found = only(&slow_pair(), random).unwrap();
    assert!(found.latency >= ALONE + Duration::from_us(50), "{found:?}");
    // The acknowledgement at once of the message before is on its way when the next one comes.
    let mut dense = every(Duration::from_us(160), messages(100));
    dense.connection.as_mut().unwrap().ack_every = 1;
    let found = only(&slow_pair(), dense).unwrap();
    assert!(found.latency >= ALONE + Duration::from_us(50), "{found:?}");
}

#[test]
fn acknowledgements_that_data_carries_disturb_nobody() {
    let period = Duration::from_ms(10);
    let other = Flow { encapsulation: Encapsulation::Udp, connection: None, ..messages(200) };
    // How long a datagram of the talker waits for the connection.
    let waits = |flow: Flow| {
        let [alone, found] = [vec![other.clone()], vec![other.clone(), flow]].map(|flows| {
            let mut found = analyze(&pair(), &flows).streams;
            found.swap_remove(0).bound.unwrap().latency
        });
        found - alone
    };
    let message = Duration::from_ns(14_240);
    let acknowledgement = Duration::from_ns(6_720);
    assert_eq!(waits(exchange()), message);
    // The timer fires before the next message, or behind the last one.
    assert_eq!(waits(every(period * 5, exchange())), message + acknowledgement);
    let ends = Flow { stop: Some(Duration::from_secs(1)), ..exchange() };
    assert_eq!(waits(ends), message + acknowledgement);
    // Every answer is acknowledged at once.
    let mut each = exchange();
    each.connection.as_mut().unwrap().ack_every = 1;
    assert_eq!(waits(each), message + acknowledgement);
    // The answer comes after the next message, so that two messages are not acknowledged at once.
    let mut late = exchange();
    late.reply.as_mut().unwrap().after = Duration::from_ms(11);
    assert!(waits(late) >= message + acknowledgement);
}

#[test]
fn fewer_are_acknowledged_at_once() {
    // By hand: of four segments each second is acknowledged at once, and the timer has no time to fire.
    // The acknowledgements take the link from the listener for 6.72 us each.
    let other = Flow {
        talker: NodeId(2),
        listeners: vec![NodeId(1)],
        encapsulation: Encapsulation::Udp,
        connection: None,
        ..messages(200)
    };
    let latency = |flows: &[Flow]| {
        let bound = analyze(&pair(), flows).streams.swap_remove(0).bound;
        bound.unwrap().latency
    };
    let found = latency(&[other.clone(), messages(4 * 1_460)]);
    let alone = latency(core::slice::from_ref(&other));
    // Segments come 123 us apart, so that one of them is in front.
    assert_eq!(found - alone, Duration::from_ns(6_720));
    // Five segments leave one to the timer, or to the next message.
    let odd = Flow { stop: Some(Duration::from_secs(1)), ..messages(5 * 1_460) };
    let found = latency(&[other.clone(), odd]);
    assert_eq!(found - alone, Duration::from_ns(2 * 6_720));
}

#[test]
fn what_a_proof_lacks_is_told() {
    // By hand: twenty segments may wait, and one that is not acknowledged yet; ten may leave.
    let window = ConnectionObstacle::Window {
        needed: Bytes::new(20 * 1_460 + 1_460),
        allowed: Bytes::new(10 * 1_460),
    };
    assert_eq!(obstacle(&pair(), messages(20 * 1_460)), window);
    let mut dense = messages(100);
    dense.traffic = Traffic::Flood { interval: Duration::from_us(20) };
    // 13.28 us there and 5.76 us back on two links each: the third message comes after 40 us. With one
    // that is not acknowledged yet there are three.
    dense.connection.as_mut().unwrap().window = Bytes::new(300);
    assert!(only(&pair(), dense.clone()).is_ok());
    dense.connection.as_mut().unwrap().window = Bytes::new(299);
    assert!(matches!(obstacle(&pair(), dense), ConnectionObstacle::Window { .. }));

    let mut hasty = messages(100);
    hasty.connection.as_mut().unwrap().min_rto = Duration::from_ms(40);
    assert!(matches!(
        obstacle(&pair(), hasty.clone()),
        ConnectionObstacle::Timeout { acknowledged, timeout }
            if acknowledged > timeout && timeout == Duration::from_ms(40)
    ));
    hasty.connection.as_mut().unwrap().min_rto = Duration::from_ms(41);
    assert!(only(&pair(), hasty).is_ok());

    let mut lossy = pair();
    lossy.links[1].errors_per_billion = 1;
    let lacks = obstacle(&lossy, messages(100));
    assert_eq!(lacks, ConnectionObstacle::Losses);

    let mut random = messages(100);
    random.traffic = Traffic::Poisson { mean_interval: Duration::from_ms(10) };
    assert_eq!(obstacle(&pair(), random), ConnectionObstacle::Releases);

    let mut busy = pair();
    if let NodeKind::EndStation(talker) = &mut busy.nodes[1].kind {
        talker.tasks = Some(Tasks {
            message: Duration::from_us(10),
            segment: Duration::from_us(10),
            messages_first: true,
        });
    }
    assert!(only(&busy, messages(100)).is_ok());
    let mut asks = messages(100);
    asks.reply = Some(Reply::new(Bytes::new(1), Duration::ZERO));
    assert_eq!(obstacle(&busy, asks), ConnectionObstacle::Order);
}

#[test]
fn others_share_the_queue_with_a_connection() {
    // By hand: a datagram of 100 octets (a frame of 146, 12.32 us) behind a message of two segments
    // with 123.04 us each, from the same station. The second reaches the switch 13.28 us before it.
    let other = Flow { encapsulation: Encapsulation::Udp, connection: None, ..messages(100) };
    let found = analyze(&pair(), &[messages(2 * 1_460), other]);
    let bound = found.streams[1].bound.as_ref().unwrap();
    let waits = 2 * 123_040 + (123_040 - 13_280);
    assert_eq!(bound.latency, Duration::from_ns(waits + 2 * 12_320));
}

/// How long a datagram of the listener waits for the connection.
fn waits_at_listener(flow: Flow) -> Duration {
    let other = Flow {
        talker: NodeId(2),
        listeners: vec![NodeId(1)],
        encapsulation: Encapsulation::Udp,
        connection: None,
        ..messages(200)
    };
    let latency = |flows: &[Flow]| {
        let bound = analyze(&pair(), flows).streams.swap_remove(0).bound;
        bound.unwrap().latency
    };
    latency(&[other.clone(), flow]) - latency(&[other])
}

#[test]
fn patterns_end_where_their_times_do() {
    // By hand: two segments come 123.04 us apart, with each third acknowledged at once. If the timer takes
    // longer it acknowledges both; otherwise each, and at once one may be counted on.
    let acknowledgement = Duration::from_ns(6_720);
    let timed = |delay| {
        let mut flow = messages(2 * 1_460);
        let tcp = flow.connection.as_mut().unwrap();
        (tcp.ack_every, tcp.ack_delay) = (3, Duration::from_us(delay));
        flow
    };
    assert_eq!(waits_at_listener(timed(124)), acknowledgement);
    assert_eq!(waits_at_listener(timed(123)), acknowledgement * 2);
    // The next message comes after 10 ms. The timer fires before, or meets its first segment.
    assert_eq!(waits_at_listener(timed(9_876)), acknowledgement);
    assert_eq!(waits_at_listener(timed(9_877)), acknowledgement * 2);
    // The answer is written before the timer of the first segment fires, or not.
    let answered = |after| {
        let mut flow = timed(1_000);
        flow.reply = Some(Reply::new(Bytes::new(100), Duration::from_us(after)));
        flow
    };
    let answer = Duration::from_ns(13_280 + 960);
    assert_eq!(waits_at_listener(answered(876)), answer);
    assert!(waits_at_listener(answered(877)) >= answer + acknowledgement);
    // The answer comes before the next message leaves, or not: then the listener may not have answered
    // before that message comes.
    assert_eq!(waits_at_listener(slow(answered(100), 9_500)), answer);
    assert!(waits_at_listener(slow(answered(100), 9_700)) >= answer + acknowledgement);
}

/// Lets the listener answer later, and the timer fire later.
fn slow(mut flow: Flow, after: i64) -> Flow {
    flow.reply.as_mut().unwrap().after = Duration::from_us(after);
    flow.connection.as_mut().unwrap().ack_delay = Duration::from_ms(40);
    flow
}

/// A pair and a third station at 10 Mbit/s, of whose port the backlog is returned while files go over the
/// connection of the others.
fn flooded(aging: Duration, window: u64) -> Option<Bytes> {
    let mut network = pair();
    network
        .nodes
        .push(Node { name: "s2".into(), kind: NodeKind::EndStation(EndStation::new(Stack::Zero)) });
    let mut switch = Switch::new(3);
    switch.addresses = AddressTable::Learning { aging };
    network.nodes[0].kind = NodeKind::Switch(switch);
    let port = PortId { node: NodeId(0), port: 2 };
    let station = PortId { node: NodeId(3), port: 0 };
    network.links.push(Link::new([station, port], BitRate::from_mbps(10)));
    let files = Bulk {
        transfers: vec![Transfer { start: Duration::ZERO, size: None }],
        bursts: None,
        rate: None,
        tcp: TcpParameters { window: Bytes::new(window), ..TcpParameters::default() },
    };
    let flow = Flow {
        encapsulation: Encapsulation::Tcp,
        traffic: Traffic::Bulk(files),
        ..Flow::new(
            "files".into(),
            NodeId(1),
            vec![NodeId(2)],
            Bytes::ZERO,
            Traffic::periodic(Duration::from_ms(10), Phase::Random),
        )
    };
    let found = analyze(&network, &[flow]).ports;
    let own = found.iter().find(|own| own.port == port).unwrap();
    own.backlog
}

#[test]
fn a_switch_that_learns_floods_one_window() {
    // By hand: four whole segments, a shorter one and one without data, or their acknowledgements, while
    // the link takes a tenth of what comes: five and a half frames of 1518 octets. Acknowledgements of 64
    // octets may be flooded as well.
    let backlog = flooded(Duration::from_secs(300), 4 * 1_460).unwrap().get();
    assert!((5 * 1_518..6 * 1_518 + 6 * 64).contains(&backlog), "{backlog}");
    // Addresses are forgotten within a round trip.
    assert_eq!(flooded(Duration::from_secs(1), 4 * 1_460), None);
}

/// Oracle: a full analysis.
#[test]
fn a_change_beside_connections_is_a_full_analysis() {
    let asks = |payload| {
        let mut flow = messages(payload);
        flow.reply = Some(Reply::new(Bytes::new(300), Duration::from_us(10)));
        flow
    };
    let datagrams =
        || Flow { encapsulation: Encapsulation::Udp, connection: None, ..messages(400) };
    let network = pair();
    let mut analyzer = Analyzer::new(network.clone(), vec![asks(100), datagrams(), messages(50)]);
    let check = |analyzer: &Analyzer| {
        let full = analyze_with(&network, analyzer.flows(), Methods::TotalFlow);
        assert_eq!(analyzer.streams(), full.streams);
    };
    check(&analyzer);
    // The second one has to wait for its window, then no longer.
    for payload in [3_000, 40_000, 1_000] {
        analyzer.replace(FlowId(0), asks(payload));
        check(&analyzer);
        analyzer.add(messages(payload / 10));
        check(&analyzer);
        analyzer.remove(FlowId(1));
        check(&analyzer);
        analyzer.add(datagrams());
        check(&analyzer);
    }
}
