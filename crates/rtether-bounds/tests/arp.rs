//! Stations that resolve addresses, worked out by hand.

use rtether_bounds::{
    Analysis, Analyzer, Composer, Methods, Reason, ResolutionObstacle, analyze, analyze_with,
    diameter,
};
use rtether_model::arp::Arp;
use rtether_model::flow::{Flow, FlowId, Phase, Traffic};
use rtether_model::network::{EndStation, Network, NodeId, NodeKind, Stack, Switch};
use rtether_model::quantity::{BitRate, Bytes, Duration};
use rtether_model::record::Segment;
use rtether_model::wire::Encapsulation;

const A: NodeId = NodeId(0);
const B: NodeId = NodeId(1);
/// At 100 Mbit/s: a request or reply of 64 octets up to its last bit, and with the gap; a frame of
/// 106 octets the same.
const ARP_FRAME: i64 = 5_760;
const ARP_WIRE: i64 = 6_720;
const FRAME: i64 = 9_120;
const WIRE: i64 = 10_080;

fn ns(ns: i64) -> Duration {
    Duration::from_ns(ns)
}

/// Two stations on one link; the first resolves addresses.
fn pair(arp: Arp) -> Network {
    let mut network = Network::default();
    for name in ["a", "b"] {
        network.add(name, NodeKind::EndStation(EndStation::new(Stack::Zero)));
    }
    network.join(A, B, BitRate::from_mbps(100));
    resolve(&mut network, A, arp);
    network
}

fn resolve(network: &mut Network, node: NodeId, arp: Arp) {
    if let NodeKind::EndStation(station) = &mut network.nodes[node.index()].kind {
        station.arp = Some(arp);
    }
}

/// 60 octets over UDP every millisecond.
fn flow(talker: NodeId, listener: NodeId) -> Flow {
    Flow::new(
        "f".into(),
        talker,
        vec![listener],
        Bytes::new(60),
        Traffic::periodic(Duration::from_ms(1), Phase::Random),
    )
}

fn latencies(analysis: &Analysis) -> Vec<Result<Duration, Reason>> {
    let streams = analysis.streams.iter();
    streams.map(|own| own.bound.clone().map(|bound| bound.latency)).collect()
}

/// The request waits for a frame in transmission, and nothing delays the reply; a frame is held for
/// this, and may then wait for another request.
const RESOLVED: i64 = WIRE + ARP_FRAME * 2;
const FIRST: i64 = RESOLVED + ARP_WIRE + FRAME;

#[test]
fn a_packet_may_wait_for_request_and_reply() {
    let (network, flows) = (pair(Arp::DEFAULT), [flow(A, B)]);
    let analysis = analyze(&network, &flows);
    assert_eq!(latencies(&analysis), [Ok(ns(FIRST))]);
    let bound = analysis.streams[0].bound.as_ref().unwrap();
    let [held, port] = &bound.hops[..] else { panic!("{:?}", bound.hops) };
    assert_eq!(held.place.segment, Segment::TalkerStack);
    assert_eq!((held.queueing, held.passage), (ns(0), ns(RESOLVED)));
    assert_eq!((port.queueing, port.passage), (ns(ARP_WIRE), ns(FRAME)));
    assert_eq!(bound.latency_min, ns(FRAME));
    let composed = Composer::new(&network, &flows).compose(0).unwrap();
    assert_eq!(composed.latency, bound.latency);
    assert_eq!(composed.steps.len(), 2);
}

/// Oracle: the time for which a packet is held, as above. Three frames may meet at a port, so that
/// none waits for less than these.
#[test]
fn the_diameter_counts_the_time_held() {
    let found = diameter(&pair(Arp::DEFAULT), &[flow(A, B)]).unwrap();
    let [Some((places, latency))] = found.streams[..] else { panic!("{found:?}") };
    assert_eq!(places, 1);
    assert_eq!(latency, ns(RESOLVED) + found.wait + ns(FRAME));
    assert!(found.wait >= ns(WIRE + ARP_WIRE), "{found:?}");
}

/// Oracle: the same with a stack: the request leaves at its lower end, and the reply passes it. Two
/// packets may be in front of the reply: one that is served, and the next one of the flow.
#[test]
fn a_reply_passes_the_stack() {
    let mut network = pair(Arp::DEFAULT);
    if let NodeKind::EndStation(station) = &mut network.nodes[0].kind {
        let service = Duration::from_us(100);
        station.stack = Stack::IpRate { service };
    }
    let analysis = analyze(&network, &[flow(A, B)]);
    let bound = analysis.streams[0].bound.as_ref().unwrap();
    // The talker's stack: behind a reply, 100 us, then held; the reply waits for one packet.
    let resolved = RESOLVED + 200_000;
    let expected = 100_000 + 100_000 + resolved + ARP_WIRE + FRAME;
    assert_eq!(bound.latency, ns(expected));
    let parts: Vec<_> = bound.hops.iter().map(|hop| hop.passage).collect();
    assert_eq!(parts, [ns(100_000 + resolved), ns(FRAME)]);
}

#[test]
fn requests_delay_other_flows() {
    let network = pair(Arp::DEFAULT);
    let mut goose = flow(A, B);
    goose.encapsulation = Encapsulation::Goose;
    goose.payload = Bytes::new(80);
    // Alone it has no request to wait for.
    let analysis = analyze(&network, std::slice::from_ref(&goose));
    assert_eq!(latencies(&analysis), [Ok(ns(FRAME))]);
    // A frame of the other flow and its request are in front of it; these also delay the request.
    let analysis = analyze(&network, &[goose, flow(A, B)]);
    let [first, second] = &latencies(&analysis)[..] else { panic!() };
    assert_eq!(*first, Ok(ns(WIRE + ARP_WIRE + FRAME)));
    let resolved = 2 * WIRE + ARP_FRAME * 2;
    assert_eq!(*second, Ok(ns(resolved + WIRE + ARP_WIRE + FRAME)));
}

#[test]
fn without_proof_there_is_no_bound() {
    let reason = |obstacle| Reason::Resolution { from: A, to: B, obstacle };
    let mut lossy = pair(Arp::DEFAULT);
    lossy.links[0].errors_per_billion = 1;
    let analysis = analyze(&lossy, &[flow(A, B)]);
    let losses = reason(ResolutionObstacle::Losses);
    assert_eq!(latencies(&analysis), [Err(losses)]);
    // Another one over the same link is not held.
    let retry = ns(RESOLVED);
    let early = pair(Arp { retry, ..Arp::DEFAULT });
    let analysis = analyze(&early, &[flow(A, B), flow(B, A)]);
    let late = reason(ResolutionObstacle::Late { answered: ns(RESOLVED + WIRE), retry });
    let found = latencies(&analysis);
    assert_eq!(found[0], Err(late));
    // Behind a reply for each request in the time of the attempts.
    assert!(found[1].is_ok(), "{found:?}");
    let later = pair(Arp { retry: ns(RESOLVED + 1), ..Arp::DEFAULT });
    assert_eq!(latencies(&analyze(&later, &[flow(A, B)])), [Ok(ns(FIRST))]);
}

/// Oracle: the analysis from the beginning.
#[test]
fn an_edited_plant_has_the_bounds_of_a_new_one() {
    let mut network = Network::default();
    let switch = network.add("switch", NodeKind::Switch(Switch::new(0)));
    for name in ["a", "b", "c"] {
        let node = network.add(name, NodeKind::EndStation(EndStation::new(Stack::Zero)));
        network.join(switch, node, BitRate::from_mbps(100));
    }
    let [a, b, c] = [1, 2, 3].map(NodeId);
    let plain = network.clone();
    resolve(&mut network, a, Arp::DEFAULT);
    let mut analyzer = Analyzer::new(network.clone(), vec![flow(a, b), flow(c, b)]);
    let is_anew = |analyzer: &Analyzer| {
        let again = analyze_with(analyzer.network(), analyzer.flows(), Methods::TotalFlow);
        assert_eq!(again.streams, analyzer.streams());
    };
    is_anew(&analyzer);
    let changes = analyzer.add(flow(a, c));
    assert_eq!(changes.streams.len(), 3);
    is_anew(&analyzer);
    let changes = analyzer.remove(FlowId(0));
    assert_eq!(changes.streams[0].after, None);
    is_anew(&analyzer);
    analyzer.replace(FlowId(1), flow(b, a));
    is_anew(&analyzer);
    // No flow of the station that resolves is left.
    analyzer.set_network(plain.clone());
    is_anew(&analyzer);
    assert!(analyzer.set_network(plain).streams.is_empty());
    analyzer.set_network(network);
    is_anew(&analyzer);
}
