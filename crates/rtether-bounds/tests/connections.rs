//! Messages over TCP, worked out by hand.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use rtether_bounds::{Analyzer, Bound, ConnectionObstacle, Methods, Reason, analyze, analyze_with};
use rtether_model::flow::{Flow, FlowId, Phase, Reply, TcpParameters, Traffic};
use rtether_model::network::{
    EndStation, Link, Network, Node, NodeId, NodeKind, PortId, Stack, Switch, Tasks,
};
use rtether_model::quantity::{BitRate, Bytes, Duration};
use rtether_model::wire::Encapsulation;

/// A switch, node 0, and two stations without stacks, 1 and 2; 100 Mbit/s.
fn pair() -> Network {
    let mut network = Network::default();
    network.nodes.push(Node {
        name: "switch".into(),
        kind: NodeKind::Switch(Switch::new(2)),
    });
    for index in 0..2 {
        network.nodes.push(Node {
            name: format!("s{index}"),
            kind: NodeKind::EndStation(EndStation::new(Stack::Zero)),
        });
        let ends = [(u32::from(index) + 1, 0), (0, index)].map(|(node, port)| PortId {
            node: NodeId(node),
            port,
        });
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

#[test]
fn an_answer_follows_its_message() {
    // By hand: 13.28 us on each of four links, and 300 us of the application. The message before is
    // acknowledged by its answer.
    let mut flow = messages(100);
    flow.reply = Some(Reply {
        payload: Bytes::new(100),
        after: Duration::from_us(300),
    });
    let found = only(&pair(), flow).unwrap();
    // No method may prove less; an acknowledgement of the message before, 6.72 us with its gap, may
    // be in front at each end.
    let alone = Duration::from_ns(4 * 13_280 + 300_000);
    assert!(found.latency >= alone);
    assert!(
        found.latency <= alone + Duration::from_ns(4 * 6_720),
        "{}",
        found.latency
    );
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
    dense.traffic = Traffic::Flood {
        interval: Duration::from_us(20),
    };
    // 13.28 us there and 5.76 us back on two links each, and one more frame of either kind: the
    // third message comes after 40 us.
    assert!(only(&pair(), dense.clone()).is_ok());
    dense.connection.as_mut().unwrap().window = Bytes::new(300);
    assert!(matches!(
        obstacle(&pair(), dense),
        ConnectionObstacle::Window { .. }
    ));

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
    random.traffic = Traffic::Poisson {
        mean_interval: Duration::from_ms(10),
    };
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
    asks.reply = Some(Reply {
        payload: Bytes::new(1),
        after: Duration::ZERO,
    });
    assert_eq!(obstacle(&busy, asks), ConnectionObstacle::Order);
}

#[test]
fn others_share_the_queue_with_a_connection() {
    // By hand: a datagram of 100 octets (a frame of 146, 12.32 us) behind a message of two segments
    // with 123.04 us each, from the same station. The second reaches the switch 13.28 us before it.
    let other = Flow {
        encapsulation: Encapsulation::Udp,
        connection: None,
        ..messages(100)
    };
    let found = analyze(&pair(), &[messages(2 * 1_460), other]);
    let bound = found.streams[1].bound.as_ref().unwrap();
    let waits = 2 * 123_040 + (123_040 - 13_280);
    assert_eq!(bound.latency, Duration::from_ns(waits + 2 * 12_320));
}

/// Oracle: a full analysis.
#[test]
fn a_change_beside_connections_is_a_full_analysis() {
    let asks = |payload| {
        let mut flow = messages(payload);
        flow.reply = Some(Reply {
            payload: Bytes::new(300),
            after: Duration::from_us(10),
        });
        flow
    };
    let datagrams = || Flow {
        encapsulation: Encapsulation::Udp,
        connection: None,
        ..messages(400)
    };
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
