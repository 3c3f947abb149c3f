//! Bounds worked out by hand, and the reasons for having none.

use rtether_bounds::{
    Analysis, Analyzer, Bound, Composer, Composition, DiameterObstacle, Method, Reason, Share,
    ShareCause, analyze,
};
use rtether_model::flow::{Flow, FlowId, Phase, Reply, Tag, Traffic};
use rtether_model::network::{
    Backoff, Buffer, EndStation, Hub, Link, Network, Node, NodeId, NodeKind, Pcp, PortId, QueueMap,
    Selection, Stack, Switch, Vid,
};
use rtether_model::quantity::{BitRate, Bytes, Duration};

/// Stations 0 to 3 at a switch, node 4; 100 Mbit/s, no propagation, no latency.
fn star(stack: &Stack, selection: Selection) -> Network {
    let switch = Switch {
        queues: QueueMap::standard(2).unwrap(),
        selection,
        buffer: Buffer::per_port(Bytes::new(100_000)),
        ..Switch::new(4)
    };
    let mut network = Network::default();
    for index in 0..4 {
        network.nodes.push(Node {
            name: format!("s{index}"),
            kind: NodeKind::EndStation(EndStation::new(stack.clone())),
        });
    }
    network.nodes.push(Node { name: "switch".into(), kind: NodeKind::Switch(switch) });
    for index in 0..4u16 {
        let station = PortId::first(NodeId(u32::from(index)));
        let port = PortId { node: NodeId(4), port: index };
        network.links.push(Link::new([station, port], BitRate::from_mbps(100)));
    }
    network
}

/// A flow of UDP datagrams every millisecond.
fn flow(talker: u32, listener: u32, payload: u64) -> Flow {
    Flow::new(
        format!("{talker} to {listener}"),
        NodeId(talker),
        vec![NodeId(listener)],
        Bytes::new(payload),
        Traffic::periodic(Duration::from_ms(1), Phase::Random),
    )
}

fn bound(analysis: &Analysis, stream: usize) -> &Bound {
    analysis.streams[stream].bound.as_ref().unwrap()
}

fn reason(analysis: &Analysis, stream: usize) -> &Reason {
    analysis.streams[stream].bound.as_ref().unwrap_err()
}

#[test]
fn three_into_one_in_order_of_arrival() {
    // By hand: frames of 1000 octets, 80.64 us on the wire and 81.6 us with the gap. Two links, and
    // two other frames in front.
    let network = star(&Stack::Zero, Selection::Fcfs);
    let mut flows = [1, 2, 3].map(|talker| flow(talker, 0, 954));
    flows[0].deadline = Some(Duration::from_us(300));
    let analysis = analyze(&network, &flows);
    for stream in 0..3 {
        let bound = bound(&analysis, stream);
        assert_eq!(bound.latency, Duration::from_ns(2 * 80_640 + 2 * 81_600));
        assert_eq!(bound.latency_min, Duration::from_ns(2 * 80_640));
        let worst = bound.responsible().unwrap();
        assert_eq!(worst.queueing, Duration::from_ns(2 * 81_600));
        assert_eq!(worst.place.port.node, NodeId(4));
    }
    let slack = bound(&analysis, 0).slack.unwrap();
    assert_eq!(slack, Duration::from_ns(300_000 - 324_480));
    let port = analysis.ports.iter().find(|p| p.port.node == NodeId(4));
    let port = port.unwrap();
    // Three times 81.6 us of a millisecond, rounded once.
    assert_eq!(port.utilization_ppm, Some(244_800));
    assert_eq!(port.backlog, Some(Bytes::new(3_000)));
}

#[test]
fn a_high_frame_waits_for_one_low_frame() {
    // By hand: a high frame of 64 + 4 octets waits for one low frame of 1518 with its gap.
    let network = star(&Stack::Zero, Selection::StrictPriority);
    let mut flows = [flow(1, 0, 18), flow(2, 0, 1472), flow(3, 0, 1472)];
    flows[0].tag = Some(Tag { pcp: Pcp::new(7).unwrap(), vid: Vid::PRIORITY_ONLY });
    let analysis = analyze(&network, &flows);
    let expected = Duration::from_ns(2 * 6_080 + 123_040);
    assert_eq!(bound(&analysis, 0).latency, expected);
    // A low one waits for the other low one and the high one.
    let expected = Duration::from_ns(2 * 122_080 + 123_040 + 7_040);
    assert_eq!(bound(&analysis, 1).latency, expected);
}

#[test]
fn a_shared_stack_serves_both_directions() {
    // By hand: 50 us per packet in either direction, request and answer of 64 octets, nothing else:
    // four services, four links, and no wait, since the next request is a millisecond later.
    let service = Duration::from_us(50);
    let network = star(&Stack::IpRate { service }, Selection::Fcfs);
    let mut request = flow(1, 0, 18);
    request.reply = Some(Reply::new(Bytes::new(18), Duration::from_us(7)));
    let analysis = analyze(&network, &[request]);
    assert!(analysis.effort.is_cyclic);
    let bound = bound(&analysis, 0);
    let least = Duration::from_ns(4 * 50_000 + 4 * 5_760 + 7_000);
    assert_eq!(bound.latency_min, least);
    // The analysis does not know phases, so the answer to one request may meet the next request:
    // one more service at each stack, each way.
    assert!(bound.latency <= least + service * 4, "{}", bound.latency);
    let parts: Duration = bound.hops.iter().map(rtether_bounds::HopBound::delay).sum();
    assert_eq!(parts, bound.latency);
}

#[test]
fn too_much_has_a_reason_and_a_place() {
    // 13 frames of 1518 octets every millisecond: 123.04 * 13 = 1599.52 us.
    let network = star(&Stack::Zero, Selection::Fcfs);
    let mut flows: Vec<Flow> = (0..13).map(|n| flow(1 + n % 3, 0, 1472)).collect();
    flows.push(flow(0, 1, 18));
    let analysis = analyze(&network, &flows);
    let Reason::Overload { place, utilization_ppm } = reason(&analysis, 0) else {
        panic!("{:?}", reason(&analysis, 0));
    };
    assert_eq!(place.port, PortId::first(NodeId(4)));
    assert!(utilization_ppm.abs_diff(1_599_520) < 20, "{utilization_ppm}");
    // The other direction is free.
    assert_eq!(bound(&analysis, 13).latency, Duration::from_ns(2 * 5_760));
}

#[test]
fn arrivals_without_limit_hurt_those_who_share_their_queue() {
    let network = star(&Stack::Zero, Selection::StrictPriority);
    let mut flows = [flow(1, 0, 18), flow(2, 0, 18), flow(1, 3, 18)];
    flows[1].traffic = Traffic::Poisson { mean_interval: Duration::from_ms(1) };
    flows[2].tag = Some(Tag { pcp: Pcp::new(7).unwrap(), vid: Vid::PRIORITY_ONLY });
    let analysis = analyze(&network, &flows);
    let endless = Reason::UnlimitedArrivals { flow: rtether_model::flow::FlowId(1) };
    assert_eq!(*reason(&analysis, 0), endless);
    assert_eq!(*reason(&analysis, 1), endless);
    assert!(analysis.streams[2].bound.is_ok());
}

#[test]
fn numbers_beyond_all_measure_have_reasons_too() {
    let network = star(&Stack::Zero, Selection::StrictPriority);
    let extremes = [
        Traffic::Flood { interval: Duration::from_ps(1) },
        Traffic::Sporadic { min_gap: Duration::ZERO, mean_gap: Duration::ZERO, burst: 1 },
        Traffic::Sporadic {
            min_gap: Duration::from_ms(1),
            mean_gap: Duration::from_ms(1),
            burst: u32::MAX,
        },
        Traffic::Periodic {
            period: Duration::from_ns(1),
            phase: Phase::Random,
            release_jitter: Duration::from_secs(1_000_000),
        },
    ];
    for traffic in extremes {
        let mut flows = [flow(1, 0, 18), flow(2, 0, 18), flow(2, 1, 18)];
        flows[0].traffic = traffic.clone();
        let analysis = analyze(&network, &flows);
        let (first, second) = (reason(&analysis, 0), reason(&analysis, 1));
        let is_named = |reason: &Reason| {
            matches!(reason, Reason::Overload { .. } | Reason::UnlimitedArrivals { .. })
        };
        assert!(is_named(first) && is_named(second), "{traffic:?}");
        assert!(analysis.streams[2].bound.is_ok());
    }
}

#[test]
fn a_shared_medium_has_no_bound() {
    let mut network = star(&Stack::Zero, Selection::Fcfs);
    network.nodes[4].kind = NodeKind::Hub(Hub {
        rate: BitRate::from_mbps(100),
        delay: Duration::from_ns(100),
        backoff: Backoff::Standard,
        ports: 4,
    });
    let analysis = analyze(&network, &[flow(1, 0, 18)]);
    let reason = reason(&analysis, 0);
    assert!(matches!(reason, Reason::SharedMedium { .. }), "{reason:?}");
    assert_eq!(reason.to_string(), "shared medium: no hard bound");
}

/// Oracle: the places that the changed flow passes, counted by hand: two ports before and after, at
/// its talker and at the switch; another flow from there shares the former.
#[test]
fn a_change_evaluates_what_it_reaches() {
    let network = star(&Stack::Zero, Selection::Fcfs);
    let flows = [flow(0, 1, 100), flow(0, 2, 100), flow(2, 3, 100)];
    let mut analyzer = Analyzer::new(network, flows.to_vec());
    let changes = analyzer.replace(FlowId(2), flow(2, 3, 200));
    assert_eq!((changes.effort.evaluations, changes.streams.len()), (2, 1));
    assert_eq!(changes.streams[0].after.as_ref(), Some(&analyzer.streams()[2]));
    // The second flow waits longer at the talker, and may come later to its own port.
    let changes = analyzer.replace(FlowId(0), flow(0, 1, 200));
    assert_eq!((changes.effort.evaluations, changes.streams.len()), (3, 2));
    let changes = analyzer.replace(FlowId(1), flow(0, 2, 100));
    assert_eq!((changes.effort.evaluations, changes.streams.len()), (0, 0));
    let changes = analyzer.remove(FlowId(0));
    assert_eq!(changes.streams.len(), 2);
    assert_eq!(analyzer.streams()[1].flow, FlowId(1));
}

/// Frames of 64 octets every 10 us, which wait at their talker for one of 1518 octets to another
/// station, and at the switch, behind links of 1 Gbit/s and before one of 100 Mbit/s, for another
/// one. Returns the bounds by total flow analysis and by separated flow.
fn early_flow(jitter: Duration) -> [Duration; 2] {
    let mut network = star(&Stack::Zero, Selection::Fcfs);
    for link in &mut network.links[1..] {
        link.rate = BitRate::from_mbps(1_000);
    }
    let mut flows = [flow(1, 0, 18), flow(1, 3, 1472), flow(2, 0, 1472)];
    flows[0].traffic = Traffic::Periodic {
        period: Duration::from_us(10),
        phase: Phase::Random,
        release_jitter: jitter,
    };
    let analysis = analyze(&network, &flows);
    let bound = bound(&analysis, 0);
    assert_eq!(bound.method, Method::SeparatedFlow);
    let parts: Duration = bound.hops.iter().map(rtether_bounds::HopBound::delay).sum();
    assert_eq!(parts, bound.latency);
    let [total, separated] = [0, 1].map(|index| bound.by_method[index]);
    assert_eq!((total.0, separated.0), (Method::TotalFlow, bound.method));
    assert_eq!(separated.1, bound.latency);
    [total.1, separated.1]
}

#[test]
fn a_flow_that_is_early_has_time() {
    // By hand: 12.304 us at the talker, so that two may come to the switch together, 0.672 us
    // apart, and wait for 123.04 us there. The second one is early by the lateness of the first,
    // and from its latest arrival it waits no longer than the first; place by place it also waits
    // for the first, less the 0.672 us between them.
    let passages = 576 + 5_760;
    let separated = Duration::from_ns(12_304 + 123_040 + passages);
    let total = separated + Duration::from_ns(6_720 - 672);
    assert_eq!(early_flow(Duration::ZERO), [total, separated]);
}

#[test]
fn the_jitter_of_the_release_counts_at_every_place() {
    // By hand: with a jitter of one period two are released at once, and one waits for the other at
    // the talker, 0.672 us, and at the switch, 6.72 us less the 0.672 us between them. The wait at
    // the talker, 12.976 us, brings a third one at once, and a fourth one 30 - 22.976 = 7.024 us
    // later; these two count only place by place.
    let passages = 576 + 5_760;
    let separated = Duration::from_ns(12_304 + 672 + 123_040 + 6_720 - 672 + passages);
    let total = separated + Duration::from_ns(2 * 6_720 - (7_024 - 672));
    assert_eq!(early_flow(Duration::from_us(10)), [total, separated]);
}

#[test]
fn a_packet_is_not_in_front_of_itself() {
    // By hand: two talkers, each with a frame of 1518 and one of 64 octets. A long one waits for
    // the short one at its talker, 6.72 us. If the short one is also in front at the switch, it
    // came 123.04 us earlier and has left long ago; otherwise the long one waits for the other long
    // one, 123.04 us, and is sent before the short one behind that has come. Total flow analysis
    // counts the long one itself as the first from its link, which adds 6.72 us.
    let network = star(&Stack::Zero, Selection::Fcfs);
    let flows = [flow(1, 0, 1472), flow(1, 0, 18), flow(2, 0, 1472), flow(2, 0, 18)];
    let analysis = analyze(&network, &flows);
    let bound = bound(&analysis, 0);
    let latency = Duration::from_ns(6_720 + 122_080 + 123_040 + 122_080);
    assert_eq!((bound.method, bound.latency), (Method::SeparatedFlow, latency));
    assert_eq!(bound.by_method[0].1, latency + Duration::from_ns(6_720));
}

/// Returns flow, cause and time of all contributions, in the order of the way.
fn shares(found: &Composition) -> Vec<(u32, ShareCause, Duration)> {
    let shares = found.steps.iter().flat_map(|step| &step.shares);
    let known = |share: &Share| (share.flow.unwrap().0, share.cause, share.time);
    shares.map(known).collect()
}

#[test]
fn two_flows_into_one_port_contribute_a_frame_each() {
    // By hand: a frame of 1000 octets waits for one of 1518 with its gap, and the other way round.
    let network = star(&Stack::Zero, Selection::Fcfs);
    let composer = Composer::new(&network, &[flow(1, 0, 954), flow(2, 0, 1472)]);
    for (stream, other, wait) in [(0, 1, 123_040), (1, 0, 81_600)] {
        let found = composer.compose(stream).unwrap();
        let wait = Duration::from_ns(wait);
        assert_eq!(shares(&found), [(other, ShareCause::SameClass, wait)]);
        let share = found.steps[1].shares[0];
        assert_eq!((share.packet, share.flows, share.is_reply), (wait, 1, false));
        let times = found.steps.iter().map(rtether_bounds::Step::time);
        assert_eq!(times.sum::<Duration>(), found.latency);
        assert_eq!(found.latency, bound(composer.analysis(), stream).latency);
    }
}

#[test]
fn classes_contribute_by_their_order() {
    // By hand, as above: the high frame waits for one of the two low ones. A low one waits for the
    // other and the high one.
    let network = star(&Stack::Zero, Selection::StrictPriority);
    let mut flows = [flow(1, 0, 18), flow(2, 0, 1472), flow(3, 0, 1472)];
    flows[0].tag = Some(Tag { pcp: Pcp::new(7).unwrap(), vid: Vid::PRIORITY_ONLY });
    let composer = Composer::new(&network, &flows);
    let low = Duration::from_ns(123_040);
    let found = composer.compose(0).unwrap();
    assert_eq!(shares(&found), [(1, ShareCause::Lower, low)]);
    let found = composer.compose(1).unwrap();
    let high = (0, ShareCause::Higher, Duration::from_ns(7_040));
    assert_eq!(shares(&found), [(2, ShareCause::SameClass, low), high]);
}

#[test]
fn a_burst_waits_for_itself() {
    // By hand: of three frames at once the last waits for two, once: they come to the switch one
    // after the other.
    let network = star(&Stack::Zero, Selection::Fcfs);
    let mut burst = flow(1, 0, 954);
    burst.traffic = Traffic::Sporadic {
        min_gap: Duration::from_ms(10),
        mean_gap: Duration::from_ms(10),
        burst: 3,
    };
    let found = Composer::new(&network, &[burst]).compose(0).unwrap();
    let wait = Duration::from_ns(2 * 81_600);
    assert_eq!(shares(&found), [(0, ShareCause::Own, wait)]);
    assert_eq!(found.steps[0].passages[0].time, Duration::from_ns(80_640));
}

#[test]
fn what_has_no_bound_has_no_parts() {
    let network = star(&Stack::Zero, Selection::Fcfs);
    let flows: Vec<Flow> = (0..13).map(|n| flow(1 + n % 3, 0, 1472)).collect();
    let composer = Composer::new(&network, &flows);
    let why = composer.compose(0).unwrap_err();
    assert_eq!(why, *reason(composer.analysis(), 0));
}

/// Oracle: none but the absence of a panic: sums of work beyond 128 bits stay at the largest
/// number.
#[test]
fn a_diameter_beyond_all_numbers_is_refused() {
    let mut network = star(&Stack::Zero, Selection::Fcfs);
    for link in &mut network.links {
        link.rate = BitRate::from_bps(1);
    }
    let flows: Vec<Flow> = (0..30)
        .map(|_| {
            let mut flow = flow(0, 1, 65_000);
            flow.traffic = Traffic::Sporadic {
                min_gap: Duration::from_ps(1),
                mean_gap: Duration::from_ps(1),
                burst: u32::MAX,
            };
            flow
        })
        .collect();
    let found = rtether_bounds::diameter(&network, &flows);
    assert!(matches!(found, Err(DiameterObstacle::Utilization { .. })), "{found:?}");
}
