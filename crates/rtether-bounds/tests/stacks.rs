//! A port and the receive stack behind it, by hand.

use rtether_bounds::{Analysis, Bound, Composer, Method, ShareCause, analyze};
use rtether_model::endnode::{Layer, PriorityTable, Receive, ReceiveConfig, ReceiveSelection};
use rtether_model::flow::{Flow, Phase, Tag, Traffic};
use rtether_model::network::{
    Buffer, EndStation, Link, Network, Node, NodeId, NodeKind, Pcp, PortId, QueueMap, Selection,
    Stack, Switch, Vid,
};
use rtether_model::quantity::{BitRate, Bytes, Duration};

/// Transmission of a frame of 1000 octets over 100 Mbit/s, and the same with the gap behind it.
const SENT: i64 = 80_640;
const SLOT: i64 = 81_600;

/// Stations 0 to 4 at a switch, node 5, whose ports have two queues; the first one takes a time for
/// each packet, in either direction.
fn star(service: Duration, receive: Option<&Receive>) -> Network {
    star_with(Selection::StrictPriority, service, receive)
}

fn star_with(selection: Selection, service: Duration, receive: Option<&Receive>) -> Network {
    let switch = Switch {
        queues: QueueMap::standard(2).unwrap(),
        selection,
        buffer: Buffer::per_port(Bytes::new(1_000_000)),
        ..Switch::new(5)
    };
    let mut network = Network::default();
    for index in 0..5 {
        let stack = if index == 0 { Stack::IpRate { service } } else { Stack::Zero };
        let mut station = EndStation::new(stack);
        if let (0, Some(receive)) = (index, receive) {
            station.layer = Some(Box::new(Layer {
                table: PriorityTable::new(QueueMap::standard(2).unwrap(), 0).unwrap(),
                receive: Some(receive.clone()),
                ..Layer::default()
            }));
        }
        network.nodes.push(Node { name: format!("s{index}"), kind: NodeKind::EndStation(station) });
    }
    network.nodes.push(Node { name: "switch".into(), kind: NodeKind::Switch(switch) });
    for index in 0..5u16 {
        let station = PortId::first(NodeId(u32::from(index)));
        let port = PortId { node: NodeId(5), port: index };
        network.links.push(Link::new([station, port], BitRate::from_mbps(100)));
    }
    network
}

/// A flow of frames of 1000 octets.
fn flow(talker: u32, listener: u32, period: Duration) -> Flow {
    Flow::new(
        format!("{talker} to {listener}"),
        NodeId(talker),
        vec![NodeId(listener)],
        Bytes::new(954),
        Traffic::periodic(period, Phase::Random),
    )
}

fn tagged(flow: Flow, pcp: u8) -> Flow {
    // The tag makes the frame no longer.
    Flow {
        payload: Bytes::new(950),
        tag: Some(Tag { pcp: Pcp::new(pcp).unwrap(), vid: Vid::PRIORITY_ONLY }),
        ..flow
    }
}

fn bound(analysis: &Analysis, stream: usize) -> &Bound {
    analysis.streams[stream].bound.as_ref().unwrap()
}

fn of_method(bound: &Bound, method: Method) -> Option<Duration> {
    let mut all = bound.by_method.iter();
    all.find(|found| found.0 == method).map(|found| found.1)
}

#[test]
fn a_burst_waits_at_its_port_or_at_its_stack() {
    // By hand: three frames at once, every 300 us, and 90 us for each in the stack. The last one is
    // at the stack when the first two have been served there but for 2 (90 - 81.6) us: it begins
    // 80.64 + 2 * 90 us after its arrival at the port. Place by place, the wait of 163.2 us at the
    // port lets the second burst come 136.8 us after the first, and six of them meet at the stack:
    // the last of 18 packets waits for 17 others, whose slots on the link are 8.4 us shorter than
    // their services. A quotient is rounded up.
    let period = Duration::from_us(300);
    let network = star(Duration::from_us(90), None);
    let flows = [1, 2, 3].map(|talker| flow(talker, 0, period));
    let analysis = analyze(&network, &flows);
    for stream in 0..3 {
        let bound = bound(&analysis, stream);
        let together = Duration::from_ns(SENT + SENT + 2 * 90_000 + 90_000);
        assert_eq!((bound.method, bound.latency), (Method::PortAndStack, together));
        let total = Duration::from_ns(SENT + 2 * SLOT + SENT + 17 * (90_000 - SLOT) + 90_000);
        let total = total + Duration::from_ps(1);
        assert_eq!(bound.by_method[0], (Method::TotalFlow, total));
    }
}

#[test]
fn each_packet_but_one_counts_with_its_longer_service() {
    // By hand: 90 us for each of the two other frames, over both places; its own is in no step.
    let network = star(Duration::from_us(90), None);
    let flows = [1, 2, 3].map(|talker| flow(talker, 0, Duration::from_us(300)));
    let found = Composer::new(&network, &flows).compose(1).unwrap();
    assert_eq!(found.method, Method::PortAndStack);
    let [_, both] = &found.steps[..] else { panic!("two steps: {found:?}") };
    let shares = both.shares.iter().map(|own| (own.flow.unwrap().0, own.cause, own.time));
    let behind = [0, 2].map(|flow| (flow, ShareCause::SameClass, Duration::from_us(90)));
    assert_eq!(shares.collect::<Vec<_>>(), behind);
    let passages: Vec<Duration> = both.passages.iter().map(|own| own.time).collect();
    assert_eq!(passages, [Duration::from_ns(SENT), Duration::from_us(90)]);
}

#[test]
fn a_slow_port_counts_its_own_time() {
    // By hand: 40 us for each packet in the stack, half of a slot: the packets come apart, and none
    // waits there, so that there is nothing to gain.
    let network = star(Duration::from_us(40), None);
    let flows = [1, 2, 3].map(|talker| flow(talker, 0, Duration::from_us(300)));
    let analysis = analyze(&network, &flows);
    let bound = bound(&analysis, 0);
    assert_eq!(bound.latency, Duration::from_ns(SENT + 2 * SLOT + SENT + 40_000));
    assert_eq!(of_method(bound, Method::PortAndStack), None);
}

#[test]
fn what_the_station_sends_counts_at_the_stack_alone() {
    // By hand: as in the first test, every 500 us, and the station itself sends two packets at
    // once, which its stack serves in between, 90 us each. The next two come 500 us later, when the
    // frames are through; the jitter of 163.2 us would let the next burst meet them.
    let period = Duration::from_us(500);
    let network = star(Duration::from_us(90), None);
    let mut flows: Vec<Flow> = [1, 2, 3].map(|talker| flow(talker, 0, period)).into();
    flows.extend([flow(0, 1, period), flow(0, 2, period)]);
    let analysis = analyze(&network, &flows);
    let together = Duration::from_ns(SENT + SENT + 2 * 90_000 + 2 * 90_000 + 90_000);
    let bound = bound(&analysis, 0);
    assert_eq!((bound.method, bound.latency), (Method::PortAndStack, together));
}

#[test]
fn a_shaper_spaces_what_comes_to_the_stack() {
    // By hand: with half of the link for their queue, three frames at once leave 163.2 us apart,
    // and none waits for another one at a stack of 100 us. Place by place they may come 81.6 us
    // apart. The latency of the shaper is a picosecond.
    let mut idle_slopes = [BitRate::default(); 8];
    idle_slopes[1] = BitRate::from_mbps(50);
    let network = star_with(Selection::Cbs { idle_slopes }, Duration::from_us(100), None);
    let flows = [1, 2, 3].map(|talker| tagged(flow(talker, 0, Duration::from_us(700)), 7));
    let analysis = analyze(&network, &flows);
    let bound = bound(&analysis, 0);
    let apart = Duration::from_ns(SENT + 2 * 2 * SLOT + SENT + 100_000);
    let apart = apart + Duration::from_ps(1);
    assert_eq!((bound.method, bound.latency), (Method::PortAndStack, apart));
    let total = bound.by_method[0].1;
    assert_eq!(total, apart + Duration::from_ns(2 * (100_000 - SLOT)));
}

/// Returns two receive queues.
fn receive_queues() -> Receive {
    Receive::Queues(ReceiveConfig {
        input_limit: 1_000,
        queue_limits: vec![1_000; 2],
        selection: ReceiveSelection::HighestFirst,
    })
}

/// Returns the bounds of two high flows and two low ones by this method, at a stack of 90 us.
fn by_class(receive: &Receive) -> [Option<Duration>; 2] {
    let period = Duration::from_us(500);
    let network = star(Duration::from_us(90), Some(receive));
    let flows = [
        tagged(flow(1, 0, period), 7),
        tagged(flow(2, 0, period), 7),
        flow(3, 0, period),
        flow(4, 0, period),
    ];
    let analysis = analyze(&network, &flows);
    [0, 2].map(|stream| of_method(bound(&analysis, stream), Method::PortAndStack))
}

#[test]
fn a_low_packet_pays_preemption_once() {
    // By hand: a low frame meets the other low one and both high ones, each with its 90 us at the
    // stack, and 80.64 us on the link. Up to its end, 500 us after the burst, no second one comes.
    let instances = Receive::Instances { queue_limits: vec![1_000; 2] };
    let low = Duration::from_ns(SENT + SENT + 3 * 90_000 + 90_000);
    assert_eq!(by_class(&instances)[1], Some(low));
}

#[test]
fn a_packet_in_service_goes_first_without_preemption() {
    // By hand: as before, since a low packet has no lower one in front.
    let low = Duration::from_ns(SENT + SENT + 3 * 90_000 + 90_000);
    assert_eq!(by_class(&receive_queues())[1], Some(low));
}
