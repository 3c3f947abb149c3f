//! Flows beside random ones that something on their way limits, worked out by hand.

use rtether_bounds::{FlowLimit, analyze};
use rtether_model::flow::{Flow, Phase, TcpParameters, Traffic};
use rtether_model::network::{
    EndStation, Link, Network, Node, NodeId, NodeKind, PortId, Stack, Switch,
};
use rtether_model::quantity::{BitRate, Bytes, Duration};
use rtether_model::wire::Encapsulation;

/// A switch, node 0, and three stations, of which the first, node 1, has this stack; 100 Mbit/s.
fn star(first: Stack) -> Network {
    let mut network = Network::default();
    network.nodes.push(Node { name: "switch".into(), kind: NodeKind::Switch(Switch::new(3)) });
    for (index, stack) in (0..).zip([first, Stack::Zero, Stack::Zero]) {
        network.nodes.push(Node {
            name: format!("s{index}"),
            kind: NodeKind::EndStation(EndStation::new(stack)),
        });
        let ends = [(u32::from(index) + 1, 0), (0, index)]
            .map(|(node, port)| PortId { node: NodeId(node), port });
        network.links.push(Link::new(ends, BitRate::from_mbps(100)));
    }
    network
}

/// Frames of 64 octets, 6.72 us with their gap, to node 2.
fn flow(talker: u32, traffic: Traffic) -> Flow {
    let listeners = vec![NodeId(2)];
    Flow::new("f".into(), NodeId(talker), listeners, Bytes::new(18), traffic)
}

fn every(period: Duration) -> Traffic {
    Traffic::periodic(period, Phase::Random)
}

#[test]
fn random_flows_share_the_time_of_their_stack() {
    // By hand: twenty random flows leave one stack, which takes 100 us per packet, so that at most
    // 7 % of the link is theirs. One of their frames may be in front at the switch; the next comes
    // as it is gone.
    let random = Traffic::Poisson { mean_interval: Duration::from_ms(1) };
    let mut flows = vec![flow(1, random); 20];
    flows.push(flow(3, every(Duration::from_ms(10))));
    let service = Duration::from_us(100);
    let analysis = analyze(&star(Stack::IpRate { service }), &flows);
    let bound = analysis.streams[20].bound.as_ref().unwrap();
    assert_eq!(bound.latency, Duration::from_ns(2 * 5_760 + 6_720));
    let limits = analysis.open_flows.iter().map(|open| open.limit);
    assert!(limits.eq([FlowLimit::Stack(NodeId(1)); 20]));
}

#[test]
fn a_window_limits_messages_that_are_held_back() {
    // By hand: messages of 29 200 octets wait for their window of 65 535: 44 full segments, two ends
    // of messages, and two more may be under way, all in front at the talker's port.
    let period = every(Duration::from_ms(10));
    let messages = Flow {
        payload: Bytes::new(29_200),
        encapsulation: Encapsulation::Tcp,
        connection: Some(TcpParameters::default()),
        ..flow(1, period.clone())
    };
    let analysis = analyze(&star(Stack::Zero), &[messages, flow(1, period)]);
    assert!(analysis.streams[0].bound.is_err());
    let bound = analysis.streams[1].bound.as_ref().unwrap();
    assert_eq!(bound.hops[0].queueing, Duration::from_ns(48 * 123_040));
    assert_eq!(analysis.open_flows[0].limit, FlowLimit::Window);
}
