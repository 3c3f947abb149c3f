//! Flows with a gap that their station keeps, worked out by hand.

use rtether_bounds::{Analyzer, DiameterObstacle, FlowLimit, Reason, analyze, diameter};
use rtether_model::flow::{Flow, Phase, Traffic};
use rtether_model::ingress::{Exceed, IngressRule, Police};
use rtether_model::network::{EndStation, Network, NodeId, NodeKind, Stack, Switch};
use rtether_model::quantity::{BitRate, Bytes, Duration};
use rtether_model::record::Segment;

/// A frame of 64 octets at 100 Mbit/s, and with its gap.
const FRAME: Duration = Duration::from_ns(5_760);
const WIRE: Duration = Duration::from_ns(6_720);
const US: fn(i64) -> Duration = Duration::from_us;
const MS: fn(i64) -> Duration = Duration::from_ms;

/// A switch, node 0, and three stations, of which the first, node 1, has this stack; 100 Mbit/s.
fn star(first: Stack) -> Network {
    let mut network = Network::default();
    network.add("switch", NodeKind::Switch(Switch::new(0)));
    for (name, stack) in [("a", first), ("b", Stack::Zero), ("c", Stack::Zero)] {
        let station = network.add(name, NodeKind::EndStation(EndStation::new(stack)));
        network.join(NodeId(0), station, BitRate::from_mbps(100));
    }
    network
}

/// Frames of 64 octets.
fn flow([from, to]: [u32; 2], traffic: Traffic, gap: Option<Duration>) -> Flow {
    let listeners = vec![NodeId(to)];
    let size = Bytes::new(18);
    Flow { gap, ..Flow::new("f".into(), NodeId(from), listeners, size, traffic) }
}

fn bursts() -> Traffic {
    Traffic::Sporadic { min_gap: MS(10), mean_gap: MS(10), burst: 3 }
}

fn every(period: Duration, release_jitter: Duration) -> Traffic {
    Traffic::Periodic { period, phase: Phase::Random, release_jitter }
}

fn latency(network: &Network, flows: &[Flow], stream: usize) -> Result<Duration, Reason> {
    let analysis = analyze(network, flows);
    let bound = analysis.streams[stream].bound.clone();
    bound.map(|bound| bound.latency)
}

#[test]
fn a_burst_waits_at_its_station_and_disturbs_like_one_frame() {
    // By hand: two gaps. One frame is in front of others, at the station and at the switch, where
    // without a gap it would be three.
    let network = star(Stack::Zero);
    let calm = every(MS(10), Duration::ZERO);
    let flows = |gap| {
        [
            flow([1, 2], bursts(), gap),
            flow([1, 3], calm.clone(), None),
            flow([3, 2], calm.clone(), None),
        ]
    };
    let flows = [flows(Some(US(200))), flows(None)];
    // The other flow of the station, and that of station 3, may be in front of each frame.
    let own = FRAME * 2 + WIRE * 2 + US(400);
    assert_eq!(latency(&network, &flows[0], 0), Ok(own));
    for stream in [1, 2] {
        assert_eq!(latency(&network, &flows[0], stream), Ok(FRAME * 2 + WIRE));
    }
    assert_eq!(latency(&network, &flows[1], 1), Ok(FRAME * 2 + WIRE * 3));
    let analysis = analyze(&network, &flows[0]);
    let hops = &analysis.streams[0].bound.as_ref().unwrap().hops;
    assert_eq!(hops[0].place.segment, Segment::TalkerStack);
    assert_eq!((hops[0].queueing, hops[0].passage), (US(400), Duration::ZERO));
    let found = diameter(&network, &flows[0]);
    assert!(matches!(found, Err(DiameterObstacle::Discipline(_))));
}

#[test]
fn jitter_before_the_gap_is_gone_behind_it() {
    // By hand: a period of the gap, and 3 ms of jitter: four frames may come at once, and the last
    // waits for three gaps. In front of another flow is one of them. Without a gap there would be four.
    let network = star(Stack::Zero);
    let late = every(MS(1), MS(3));
    let other = flow([3, 2], every(MS(10), Duration::ZERO), None);
    let flows = [flow([1, 2], late.clone(), Some(MS(1))), other.clone()];
    assert_eq!(latency(&network, &flows, 0), Ok(MS(3) + FRAME * 2 + WIRE));
    assert_eq!(latency(&network, &flows, 1), Ok(FRAME * 2 + WIRE));
}

#[test]
fn a_flow_without_a_limit_of_its_own_has_one_behind_its_gap() {
    // By hand: it has no bound itself, but at most one of its frames is in front of the other.
    let network = star(Stack::Zero);
    let random = Traffic::Poisson { mean_interval: MS(1) };
    let flows =
        [flow([1, 2], random, Some(MS(2))), flow([1, 2], every(MS(10), Duration::ZERO), None)];
    let analysis = analyze(&network, &flows);
    let reason = Err(Reason::UnlimitedArrivals { flow: analysis.streams[0].flow });
    assert_eq!(latency(&network, &flows, 0), reason);
    assert_eq!(latency(&network, &flows, 1), Ok(FRAME * 2 + WIRE));
    assert_eq!(analysis.open_flows[0].limit, FlowLimit::Gap(NodeId(1)));
}

#[test]
fn a_flow_faster_than_its_gap_has_no_bound() {
    let network = star(Stack::Zero);
    let flows = [flow([1, 2], bursts(), Some(US(3_334)))];
    let Err(Reason::Overload { place, .. }) = latency(&network, &flows, 0) else {
        panic!("30 ms hold at most 8.998 gaps");
    };
    assert_eq!(place.port.node, NodeId(1));
    let flows = [flow([1, 2], bursts(), Some(US(3_333)))];
    assert_eq!(latency(&network, &flows, 0), Ok(US(6_666) + FRAME * 2));
}

#[test]
fn the_jitter_of_a_stack_is_waited_out() {
    // By hand: the stack takes 100 us a packet. A packet of the other flow of the station may be in
    // front there, so that the frame after it is up to 100 us early, and waits for that.
    let network = star(Stack::IpRate { service: US(100) });
    let flows = [
        flow([1, 2], every(MS(1), Duration::ZERO), Some(MS(1))),
        flow([1, 3], every(MS(10), Duration::ZERO), None),
    ];
    let analysis = analyze(&network, &flows);
    let hops = &analysis.streams[0].bound.as_ref().unwrap().hops;
    let waits: Vec<Duration> = hops.iter().map(|hop| hop.queueing).collect();
    assert_eq!(waits[..2], [US(100), US(100)]);
}

#[test]
fn a_policer_of_one_frame_is_kept_behind_the_gap() {
    // By hand: frames 1 ms apart, 64 octets, jitter by the other flow of the station: 6.72 us at its
    // port, in which 0.43 octets come.
    let mut network = star(Stack::Zero);
    let rule = IngressRule {
        from: vec![NodeId(1)],
        to: vec![NodeId(2)],
        police: Some(Police {
            rate: BitRate::from_bps(512_000),
            burst: Bytes::new(65),
            exceed: Exceed::Drop,
        }),
        ..IngressRule::default()
    };
    if let NodeKind::Switch(switch) = &mut network.nodes[0].kind {
        switch.ingress = vec![rule];
    }
    let other = flow([1, 3], every(MS(10), Duration::ZERO), None);
    let is_kept = |gap| {
        let flows = [flow([1, 2], every(MS(1), MS(5)), gap), other.clone()];
        let analysis = analyze(&network, &flows);
        assert_eq!(analysis.policers.len(), 1);
        analysis.policers[0].is_kept
    };
    assert!(is_kept(Some(MS(1))));
    assert!(!is_kept(None));
    assert!(!is_kept(Some(US(999))));
}

#[test]
fn changes_are_analyzed_as_if_for_the_first_time() {
    let network = star(Stack::Zero);
    let calm = flow([3, 2], every(MS(10), Duration::ZERO), None);
    let spaced = flow([1, 2], bursts(), Some(US(200)));
    let mut analyzer = Analyzer::new(network.clone(), vec![calm.clone()]);
    analyzer.add(spaced.clone());
    analyzer.add(calm.clone());
    let first = analyzer.streams()[0].flow;
    analyzer.remove(first);
    let anew = analyze(&network, &[spaced, calm]);
    for (kept, anew) in analyzer.streams().iter().zip(&anew.streams) {
        let [kept, anew] = [kept, anew].map(|own| own.bound.as_ref().unwrap());
        assert_eq!(kept.by_method[0], anew.by_method[0]);
    }
}
