//! Requests and replies, and copies for several listeners, worked out by hand.

use rtether_bounds::{Bound, Method, analyze};
use rtether_model::flow::{Flow, Phase, Reply, Traffic};
use rtether_model::network::{
    Buffer, Cost, EndStation, Jitter, LinearStack, Network, NodeId, NodeKind, Servers, Stack,
    Switch,
};
use rtether_model::quantity::{BitRate, Bytes, Duration};
use rtether_model::unknown::{CostName, Unknown};

/// A switch, node 0, and stations from 1 on, whose stacks take 50 us per packet; 100 Mbit/s.
fn star(stations: u16) -> Network {
    let mut network = Network::default();
    let switch = Switch { buffer: Buffer::per_port(Bytes::new(100_000)), ..Switch::new(0) };
    let switch = network.add("switch", NodeKind::Switch(switch));
    for index in 0..stations {
        let service = Duration::from_us(50);
        let station = EndStation::new(Stack::IpRate { service });
        let station = network.add(format!("s{index}"), NodeKind::EndStation(station));
        network.join(station, switch, BitRate::from_mbps(100));
    }
    network
}

/// Requests of 64 octets from station 1, and replies of the same size: 5.76 us on each link.
fn polls(listeners: Vec<NodeId>, period: Duration) -> Flow {
    let traffic = Traffic::periodic(period, Phase::Random);
    let payload = Bytes::new(18);
    Flow {
        reply: Some(Reply::new(payload, Duration::ZERO)),
        ..Flow::new("poll".into(), NodeId(1), listeners, payload, traffic)
    }
}

fn bounds(network: &Network, flows: &[Flow]) -> Vec<Bound> {
    let streams = analyze(network, flows).streams.into_iter();
    streams.map(|stream| stream.bound.unwrap()).collect()
}

/// Octets of four frames on the links, and four times the stack.
const ALONE: Duration = Duration::from_ns(4 * 50_000 + 4 * 5_760);

#[test]
fn a_lone_poll_waits_for_nothing() {
    // By hand: a reply cannot wait for its own request, at either end.
    for period in [230, 1_000, 10_000] {
        let flows = [polls(vec![NodeId(2)], Duration::from_us(period))];
        let found = &bounds(&star(2), &flows)[0];
        assert_eq!(found.latency, ALONE, "{period} us");
        let parts: Duration = found.hops.iter().map(rtether_bounds::HopBound::delay).sum();
        assert_eq!(parts, found.latency);
    }
    let flows = [polls(vec![NodeId(2)], Duration::from_ms(10))];
    let found = &bounds(&star(2), &flows)[0];
    assert_eq!(found.method, Method::RequestAndReply);
    // Place by place, each of the four visits to a stack waits for a packet of the other direction.
    let total = (Method::TotalFlow, ALONE + Duration::from_us(200));
    assert_eq!(found.by_method[0].1, total.1);
}

/// By hand: a device that takes 320 us for a request and its answer together takes no more, and up to
/// all of it for a datagram alone.
#[test]
fn a_sum_counts_once_there_and_back() {
    let sum = Duration::from_us(320);
    let mut network = star(2);
    let NodeKind::EndStation(own) = &mut network.nodes[2].kind else { panic!("a station") };
    own.stack = Stack::Linear(LinearStack {
        send: Cost::default(),
        receive: Cost::default(),
        interface: Cost::default(),
        jitter: Jitter::default(),
        servers: Servers::PerDirection,
    });
    own.unknown.push(Unknown { cost: CostName::Both, more: sum });
    let poll = polls(vec![NodeId(2)], Duration::from_ms(10));
    let (asker, links) = (Duration::from_us(2 * 50), Duration::from_ns(4 * 5_760));
    let found = &bounds(&network, core::slice::from_ref(&poll))[0];
    assert_eq!(found.latency, asker + links + sum);
    let parts: Vec<Duration> = found.hops.iter().map(rtether_bounds::HopBound::delay).collect();
    assert_eq!(parts.iter().copied().sum::<Duration>(), found.latency);
    assert!(parts.iter().all(|part| *part >= Duration::ZERO), "{parts:?}");
    let alone = Flow { reply: None, ..poll };
    let found = &bounds(&network, &[alone])[0];
    assert_eq!(found.latency, asker / 2 + links / 2 + sum);
}

#[test]
fn a_master_does_all_its_work_once() {
    // By hand: all six requests at once. The master is busy with twelve packets of 50 us; then the
    // last reply is delivered. Place by place it was 1 374.64 us.
    let slaves = (2..8).map(|slave| polls(vec![NodeId(slave)], Duration::from_ms(10)));
    let flows: Vec<Flow> = slaves.collect();
    for found in bounds(&star(7), &flows) {
        assert_eq!(found.latency, Duration::from_us(600));
        assert!(found.by_method[0].1 > Duration::from_us(1_200));
    }
}

#[test]
fn all_fragments_of_all_replies_count() {
    // By hand: four requests at once, 6.72 us apart, and replies of four frames of 1518 octets. The
    // first request comes after 11.52 us, the last frame waits for 15 others of 123.04 us, and two
    // links take 122.08 us each. No method may prove less.
    let mut network = star(2);
    for node in &mut network.nodes[1..] {
        node.kind = NodeKind::EndStation(EndStation::new(Stack::Zero));
    }
    let mut flow = polls(vec![NodeId(2)], Duration::ZERO);
    let period = Duration::from_ms(10);
    flow.traffic = Traffic::Sporadic { min_gap: period, mean_gap: period, burst: 4 };
    flow.reply = flow.reply.map(|reply| Reply { payload: Bytes::new(4 * 1_480 - 8), ..reply });
    let least = Duration::from_ns(11_520 + 15 * 123_040 + 2 * 122_080);
    let found = &bounds(&network, &[flow])[0];
    for (method, latency) in &found.by_method {
        assert!(*latency >= least, "{latency} by {}", method.name());
    }
}

#[test]
fn each_listener_of_a_list_has_its_own_bound() {
    // By hand: one packet after the other leaves the stack of the talker.
    let mut flow = polls((2..6).map(NodeId).collect(), Duration::from_ms(10));
    flow.reply = None;
    let found = bounds(&star(5), &[flow]);
    for (index, bound) in (1..).zip(found) {
        let latency = Duration::from_us(50) * (index + 1) + Duration::from_ns(2 * 5_760);
        assert_eq!(bound.latency, latency, "listener {index}");
    }
}
