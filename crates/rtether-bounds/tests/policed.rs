//! Switches that mark and police frames as they arrive, worked out by hand.

use rtether_bounds::{
    Analysis, ConnectionObstacle, FlowLimit, IngressPart, PolicerBound, Reason, analyze,
};
use rtether_model::endnode::{HeaderMatch, PortRange, TosMatch};
use rtether_model::flow::{Flow, Phase, Reply, TcpParameters, Traffic};
use rtether_model::ingress::{Exceed, IngressRule, Police};
use rtether_model::network::{
    EndStation, Network, NodeId, NodeKind, Pcp, PortId, QueueMap, Selection, Stack, Switch,
};
use rtether_model::quantity::{BitRate, Bytes, Duration};
use rtether_model::wire::Encapsulation;

const SWITCH: NodeId = NodeId(0);
/// A frame of 64 octets at 100 Mbit/s, and with its gap.
const FRAME: i64 = 5_760;
const WIRE: i64 = 6_720;

fn ns(ns: i64) -> Duration {
    Duration::from_ns(ns)
}

fn pcp(value: u8) -> Pcp {
    Pcp::new(value).unwrap()
}

/// A switch with two queues, node 0, and three stations; the first has 1 Gbit/s, the others
/// 100 Mbit/s. `rules` are those of its port.
fn star(rules: Vec<IngressRule>) -> Network {
    let mut network = Network::default();
    let switch = Switch {
        queues: QueueMap::standard(2).unwrap(),
        selection: Selection::StrictPriority,
        ..Switch::new(0)
    };
    network.add("switch", NodeKind::Switch(switch));
    for (name, mbps) in [("fast", 1_000), ("sink", 100), ("calm", 100)] {
        let station = network.add(name, NodeKind::EndStation(EndStation::new(Stack::Zero)));
        network.join(SWITCH, station, BitRate::from_mbps(mbps));
    }
    if let NodeKind::Switch(switch) = &mut network.nodes[0].kind {
        switch.ports[0].ingress = Some(rules);
    }
    network
}

/// Frames of 64 octets to the sink.
fn flow(talker: u32, traffic: Traffic) -> Flow {
    let listeners = vec![NodeId(2)];
    Flow::new("f".into(), NodeId(talker), listeners, Bytes::new(18), traffic)
}

fn every(us: i64) -> Traffic {
    Traffic::periodic(Duration::from_us(us), Phase::Random)
}

/// Bits a second and octets.
fn police(rate: u64, burst: u64, exceed: Exceed) -> IngressRule {
    IngressRule {
        police: Some(Police { rate: BitRate::from_bps(rate), burst: Bytes::new(burst), exceed }),
        ..IngressRule::default()
    }
}

fn latency(analysis: &Analysis, stream: usize) -> Duration {
    analysis.streams[stream].bound.as_ref().unwrap().latency
}

fn is_kept(network: &Network, flows: &[Flow]) -> bool {
    let analysis = analyze(network, flows);
    let port = PortId::first(SWITCH);
    let [PolicerBound { is_kept, .. }] = analysis.policers[..] else {
        panic!("{:?}", analysis.policers);
    };
    assert_eq!((analysis.policers[0].port, analysis.policers[0].rule), (port, 0));
    is_kept
}

#[test]
fn a_policed_flood_brings_its_burst() {
    // A flood of four times the egress link. Of 640 octets ten frames conform at once, and then one
    // every 64 us. They come 0.672 us apart, so that 6.048 us of the ten have been sent as the last
    // one comes; the calm frame comes behind it.
    let flood = flow(1, Traffic::Flood { interval: ns(1_680) });
    let flows = [flood, flow(3, every(1_000))];
    let open = analyze(&star(Vec::new()), &flows);
    assert!(matches!(open.streams[1].bound, Err(Reason::Overload { .. })));
    let network = star(vec![police(8_000_000, 640, Exceed::Drop)]);
    let analysis = analyze(&network, &flows);
    let wait = 10 * WIRE - 9 * 672;
    assert_eq!(latency(&analysis, 1), ns(2 * FRAME + wait));
    // Its own frames wait for nine of them and the calm one, and take 0.576 us to the switch.
    let own = 10 * WIRE - 9 * 672;
    assert_eq!(latency(&analysis, 0), ns(576 + own + FRAME));
    assert!(!is_kept(&network, &flows));
}

#[test]
fn a_burst_that_passes_a_policer_waits_for_itself() {
    // Four frames of 1518 octets at once, every 600 us: more than 40 Mbit/s in the long run, but
    // 10 000 octets let the first four pass. The first is at the switch after 12.208 us, and behind
    // it four transmissions of 123.04 us follow each other, the last without its gap of 0.96 us.
    let burst = Traffic::Sporadic {
        min_gap: Duration::from_us(600),
        mean_gap: Duration::from_us(600),
        burst: 4,
    };
    let long = |to: u32, traffic| Flow {
        payload: Bytes::new(1_472),
        listeners: vec![NodeId(to)],
        ..flow(1, traffic)
    };
    let network = star(vec![police(40_000_000, 10_000, Exceed::Drop)]);
    let flows = [long(2, burst), long(3, every(1_000))];
    let analysis = analyze(&network, &flows);
    let seen = 12_208 + 4 * 123_040 - 960;
    for (method, latency) in &analysis.streams[0].bound.as_ref().unwrap().by_method {
        assert!(*latency >= ns(seen), "{latency} by {}", method.name());
    }
}

#[test]
fn random_arrivals_have_a_bound_behind_a_policer() {
    let mean_interval = Duration::from_us(500);
    let flows = [flow(1, Traffic::Poisson { mean_interval }), flow(3, every(1_000))];
    let network = star(vec![police(8_000_000, 64, Exceed::Drop)]);
    let analysis = analyze(&network, &flows);
    // One frame at once, another one 64 us later.
    assert_eq!(latency(&analysis, 1), ns(2 * FRAME + WIRE));
    let open = analysis.open_flows[0];
    assert_eq!(open.limit, FlowLimit::Policer(SWITCH));
}

#[test]
fn flows_share_a_policer() {
    // Two floods behind one policer bring what it lets through, not twice as much: at most 640 octets
    // and a longest frame of 1522, 33.8 frames, less what the line to the switch holds back.
    let flood = flow(1, Traffic::Flood { interval: ns(1_680) });
    let flows = [flood.clone(), flood, flow(3, every(1_000))];
    let analysis = analyze(&star(vec![police(8_000_000, 640, Exceed::Drop)]), &flows);
    let wait = latency(&analysis, 2) - ns(2 * FRAME);
    assert!(wait >= ns(10 * WIRE - 9 * 672), "{wait}");
    assert!(wait <= ns(34 * WIRE), "{wait}");
}

#[test]
fn what_keeps_the_limit_is_proved_to() {
    // 64 octets every millisecond are 512 kbit/s. With a release jitter of a quarter of the period
    // a frame may come with a quarter of another one too many.
    let kept = |rate, burst, jitter: i64| {
        let traffic = Traffic::Periodic {
            period: Duration::from_ms(1),
            phase: Phase::Random,
            release_jitter: Duration::from_us(jitter),
        };
        let network = star(vec![police(rate, burst, Exceed::Drop)]);
        is_kept(&network, &[flow(1, traffic)])
    };
    assert!(kept(512_000, 64, 0));
    assert!(!kept(511_999, 64, 0));
    assert!(!kept(512_000, 63, 0));
    assert!(kept(512_000, 80, 250));
    assert!(!kept(512_000, 79, 250));
    // Two flows need both shares, and their port makes one of them wait for the other: 0.672 us of a
    // millisecond are a part of an octet for each, and of one octet for both.
    let flows = [flow(1, every(1_000)), flow(1, every(1_000))];
    let pair = |rate, burst| is_kept(&star(vec![police(rate, burst, Exceed::Drop)]), &flows);
    assert!(pair(1_024_000, 129));
    assert!(!pair(1_024_000, 128));
    assert!(!pair(1_023_999, 129));
}

#[test]
fn demoted_flows_have_no_bound_and_disturb_both_queues() {
    let rule = IngressRule { mark: Some(pcp(7)), ..police(8_000_000, 640, Exceed::Demote(pcp(0))) };
    let network = star(vec![rule.clone()]);
    let flood = flow(1, Traffic::Flood { interval: ns(64_000) });
    let mut urgent = flow(3, every(1_000));
    urgent.tag = Some(rtether_model::flow::Tag {
        pcp: pcp(7),
        vid: rtether_model::network::Vid::PRIORITY_ONLY,
    });
    // Kept: all its frames are urgent, and one of them may be in front.
    let analysis = analyze(&network, &[flood.clone(), urgent.clone(), flow(3, every(1_000))]);
    assert!(analysis.policers[0].is_kept);
    assert!(analysis.streams.iter().all(|stream| stream.bound.is_ok()));
    // Twice as many may exceed it: some stay, ten at once, and some are in the lower queue.
    let flood = flow(1, Traffic::Flood { interval: ns(32_000) });
    let analysis = analyze(&network, &[flood, urgent, flow(3, every(1_000))]);
    assert!(!analysis.policers[0].is_kept);
    let reason = Reason::Ingress { port: PortId::first(SWITCH), part: IngressPart::Demotion };
    assert_eq!(analysis.streams[0].bound, Err(reason));
    assert!(analysis.streams[1..].iter().all(|stream| stream.bound.is_ok()));
    // The urgent frame, with its tag 68 octets or 6.08 us long, waits for another one in its station,
    // and at the switch for an urgent one and for one of the lower queue in transmission.
    assert_eq!(latency(&analysis, 1), ns(2 * 6_080 + 3 * WIRE));
    // To the same queue nothing is demoted.
    let same = IngressRule { mark: None, ..rule };
    let flood = flow(1, Traffic::Flood { interval: ns(32_000) });
    assert!(analyze(&star(vec![same]), &[flood]).streams[0].bound.is_ok());
}

#[test]
fn demoted_frames_keep_their_code_point() {
    // The limit is below the smallest frame, so that none gets the new code point: in the switch behind,
    // the rule for the old one decides. It does so, too, if all frames get the same priority.
    let dscp = |rule| IngressRule {
        headers: HeaderMatch { tos: Some(TosMatch::dscp(46)), ..HeaderMatch::default() },
        ..rule
    };
    for demoted in [0, 7] {
        let mut network = star(vec![IngressRule {
            mark: Some(pcp(7)),
            mark_dscp: Some(10),
            ..dscp(police(8_000_000, 63, Exceed::Demote(pcp(demoted))))
        }]);
        let mut behind = Switch::new(0);
        behind.ingress = vec![dscp(police(8_000_000, 63, Exceed::Drop))];
        let behind = network.add("behind", NodeKind::Switch(behind));
        let last = network.add("last", NodeKind::EndStation(EndStation::new(Stack::Zero)));
        for (node, other) in [(SWITCH, behind), (behind, last)] {
            network.join(node, other, BitRate::from_mbps(100));
        }
        let flow = Flow { dscp: 46, listeners: vec![last], ..flow(1, every(1_000)) };
        let policers = analyze(&network, &[flow]).policers;
        let found = policers.iter().map(|own| (own.port.node, own.rule, own.is_kept));
        assert!(found.eq([(SWITCH, 0, false), (behind, 0, false)]), "{policers:?}");
    }
}

#[test]
fn fragments_may_differ() {
    let rule = IngressRule {
        headers: HeaderMatch {
            destination_port: Some(PortRange { first: 49_152, last: 49_152 }),
            ..HeaderMatch::default()
        },
        mark: Some(pcp(7)),
        ..IngressRule::default()
    };
    let large = Flow { payload: Bytes::new(3_000), ..flow(1, every(1_000)) };
    let large = [large];
    let analysis = analyze(&star(vec![rule.clone()]), &large);
    let reason = Reason::Ingress { port: PortId::first(SWITCH), part: IngressPart::Fragments };
    assert_eq!(analysis.streams[0].bound, Err(reason));
    let all = IngressRule { headers: HeaderMatch::default(), ..rule };
    assert!(analyze(&star(vec![all]), &large).streams[0].bound.is_ok());
}

#[test]
fn messages_over_tcp_need_a_policer_that_is_kept() {
    let message = Flow {
        encapsulation: Encapsulation::Tcp,
        connection: Some(TcpParameters::default()),
        reply: Some(Reply::new(Bytes::new(18), Duration::ZERO)),
        ..flow(1, every(10_000))
    };
    let bound = |rate| {
        let network = star(vec![police(rate, 3_000, Exceed::Drop)]);
        let analysis = analyze(&network, std::slice::from_ref(&message));
        analysis.streams[0].bound.clone()
    };
    assert!(bound(10_000_000).is_ok());
    assert!(matches!(
        bound(10_000),
        Err(Reason::Connection { obstacle: ConnectionObstacle::Policed, .. })
    ));
}
