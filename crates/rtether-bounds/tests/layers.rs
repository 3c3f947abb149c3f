//! Tasks, queues and smoothers of end stations, worked out by hand.
//!
//! Station 0 sends to station 1 at 100 Mbit/s. A datagram of 954 octets makes a frame of 1000,
//! 80.64 us on the wire and 81.6 us with the gap; one of 18 octets a frame of 64, 5.76 us and 6.72
//! us.

use rtether_bounds::{
    Analysis, Analyzer, FlowLimit, HopBound, LayerPart, Methods, Reason, analyze, analyze_with,
};
use rtether_model::endnode::{
    self as endnode, Detector, HeaderMatch, Layer, LowTurn, PortRange, Receive, ReceiveConfig,
    ReceiveSelection, RingEmpty, Smoothing, TransmitConfig, TransmitStrategy,
};
use rtether_model::flow::{Bulk, Flow, FlowId, Phase, Tag, TcpParameters, Traffic, Transfer};
use rtether_model::network::{
    EndStation, Link, Network, Node, NodeId, NodeKind, Pcp, PortId, Selection, Stack, Tasks, Vid,
};
use rtether_model::quantity::{BitRate, Bytes, Duration};
use rtether_model::record::Segment;
use rtether_model::smoother::{Adaptive, Config, Fixed, Mode, Rule};
use rtether_model::wire::Encapsulation;

const FRAME: Duration = Duration::from_ns(81_600);

fn pair(stations: [EndStation; 2]) -> Network {
    let mut network = Network::default();
    for (index, station) in stations.into_iter().enumerate() {
        network.nodes.push(Node { name: format!("s{index}"), kind: NodeKind::EndStation(station) });
    }
    let ends = [0, 1].map(|node| PortId::first(NodeId(node)));
    network.links.push(Link::new(ends, BitRate::from_mbps(100)));
    network
}

fn plain() -> EndStation {
    EndStation::new(Stack::Zero)
}

/// A station with a stack of 100 us and these receive queues.
fn receiver(receive: Receive) -> EndStation {
    let service = Duration::from_us(100);
    let mut station = EndStation::new(Stack::IpRate { service });
    station.layer = Some(Box::new(Layer { receive: Some(receive), ..Layer::default() }));
    station
}

fn queues(selection: ReceiveSelection) -> Receive {
    Receive::Queues(ReceiveConfig { input_limit: 100, queue_limits: vec![100; 2], selection })
}

/// A station that sends through these transmit queues.
fn sender(strategy: TransmitStrategy) -> EndStation {
    let mut station = plain();
    station.layer = Some(Box::new(Layer {
        transmit: Some(TransmitConfig {
            ring_limit: 16,
            queue_limits: vec![100; 2],
            high_from: None,
            strategy,
        }),
        ..Layer::default()
    }));
    station
}

fn smoother(mode: Mode, detector: Detector) -> EndStation {
    let mut station = plain();
    station.layer = Some(Box::new(Layer {
        smoother: Some(Smoothing {
            config: Config::new(mode),
            rule: Rule::LINUX,
            ring: 2,
            detector,
        }),
        ..Layer::default()
    }));
    station
}

/// Datagrams every 10 ms from station 0 to station 1.
fn flow(payload: u64, pcp: Option<u8>) -> Flow {
    Flow {
        tag: pcp.map(|pcp| Tag { pcp: Pcp::new(pcp).unwrap(), vid: Vid::PRIORITY_ONLY }),
        ..Flow::new(
            String::new(),
            NodeId(0),
            vec![NodeId(1)],
            Bytes::new(payload),
            Traffic::periodic(Duration::from_ms(10), Phase::Random),
        )
    }
}

/// A file whose window does not count as a limit: its sender times out at once.
fn file() -> Flow {
    let tcp = TcpParameters {
        min_rto: Duration::from_us(1),
        ack_delay: Duration::ZERO,
        ..TcpParameters::default()
    };
    Flow {
        encapsulation: Encapsulation::Tcp,
        traffic: Traffic::Bulk(Bulk {
            transfers: vec![Transfer { start: Duration::ZERO, size: None }],
            bursts: None,
            rate: None,
            tcp,
        }),
        ..flow(0, None)
    }
}

/// Returns the total wait of a stream in all hops of a kind.
fn waits(analysis: &Analysis, stream: usize, segment: Segment) -> Duration {
    let bound = analysis.streams[stream].bound.as_ref().unwrap();
    let hops = bound.hops.iter();
    let own = hops.filter(|hop| hop.place.segment == segment);
    own.map(|hop: &HopBound| hop.queueing).sum()
}

fn layer_part(analysis: &Analysis, stream: usize) -> LayerPart {
    match &analysis.streams[stream].bound {
        Err(Reason::EndNodeLayer { part, .. }) => *part,
        other => panic!("{other:?}"),
    }
}

/// Oracle: by hand. A message waits for the other one in the sending task; at the receiving task
/// the other one is at least 6.72 us ahead, the spacing on the link.
#[test]
fn messages_wait_for_their_task() {
    let tasks = Tasks {
        message: Duration::from_us(10),
        segment: Duration::from_us(50),
        messages_first: false,
    };
    let station = || EndStation { tasks: Some(tasks), ..plain() };
    let analysis = analyze(&pair([station(), station()]), &[flow(18, None), flow(18, None)]);
    let bound = analysis.streams[0].bound.as_ref().unwrap();
    let segments: Vec<Segment> = bound.hops.iter().map(|hop| hop.place.segment).collect();
    let expected = [Segment::Application, Segment::DriverQueue, Segment::Application];
    assert_eq!(segments, expected);
    let expected = [10_000, 0, 3_280].map(Duration::from_ns);
    assert_eq!([0, 1, 2].map(|hop| bound.hops[hop].queueing), expected);
    assert_eq!(bound.latency, Duration::from_ns(20_000 + 5_760 + 13_280));
    assert_eq!(analysis.stacks[0].segment, Segment::Application);
}

/// Oracle: by hand. Where messages go first a file costs them nothing; in order of arrival it is
/// unlimited, and they have no bound.
#[test]
fn messages_first_interrupt_files() {
    let waits_with = |messages_first| {
        let tasks = Tasks {
            message: Duration::from_us(10),
            segment: Duration::from_us(50),
            messages_first,
        };
        let station = EndStation { tasks: Some(tasks), ..sender(TransmitStrategy::MODERATE) };
        analyze(&pair([station, plain()]), &[flow(18, Some(7)), file()])
    };
    let analysis = waits_with(true);
    assert_eq!(waits(&analysis, 0, Segment::Application), Duration::ZERO);
    let reason = waits_with(false).streams[0].bound.clone().unwrap_err();
    assert!(matches!(reason, Reason::UnlimitedArrivals { .. }));
}

/// Oracle: by hand, service 100 us, idle release 300 us. A: one low frame in service. C: as A for
/// the high class; a low frame is held for 300 us after an earlier high one, waits for one high
/// frame, and is held for another 300 us. Instances: not preempted by a low one. With
/// the highest first, a low frame comes at least a picosecond after the high one of the same link.
/// These are waits place by place.
#[test]
fn receive_queues_by_hand() {
    let flows = [flow(18, Some(7)), flow(18, Some(0))];
    let us = Duration::from_us;
    let just_after = us(100) - Duration::from_ps(1);
    let low_flag =
        |idle_release, low_turn| queues(ReceiveSelection::LowFlag { idle_release, low_turn });
    let cases = [
        (queues(ReceiveSelection::HighestFirst), us(100), just_after),
        (low_flag(Some(us(300)), LowTurn::AllQueues), us(100), us(700)),
        (Receive::Instances { queue_limits: vec![100; 2] }, us(0), us(100)),
    ];
    for (receive, high, low) in cases {
        let network = pair([plain(), receiver(receive.clone())]);
        let analysis = analyze_with(&network, &flows, Methods::TotalFlow);
        let found = [0, 1].map(|stream| waits(&analysis, stream, Segment::ReceiveStack));
        assert_eq!(found, [high, low], "{receive:?}");
    }
    let literal = low_flag(None, LowTurn::AllQueues);
    let analysis = analyze(&pair([plain(), receiver(literal)]), &flows);
    assert_eq!(layer_part(&analysis, 1), LayerPart::ReceiveQueues);
    assert_eq!(waits(&analysis, 0, Segment::ReceiveStack), us(100));
}

/// Oracle: by hand, frames of 1000 octets plus four for the tag. One low frame in front; two if
/// only waiting frames count for an empty ring; with the strict strategy one that was released
/// alone.
#[test]
fn transmit_queues_by_hand() {
    let flows = [flow(18, Some(7)), flow(954, Some(0)), flow(954, Some(1))];
    let frame = FRAME + Duration::from_ns(320);
    let waiting = TransmitStrategy::Moderate { empty: RingEmpty::NoneWaiting };
    for (strategy, frames) in [
        (TransmitStrategy::MODERATE, 1),
        (waiting, 2),
        (TransmitStrategy::STRICT, 1),
        (TransmitStrategy::Rings { count: 2 }, 1),
    ] {
        let analysis = analyze(&pair([sender(strategy), plain()]), &flows);
        let wait = waits(&analysis, 0, Segment::DriverQueue);
        assert_eq!(wait, frame * frames, "{strategy:?}");
    }
    let analysis = analyze(&pair([sender(TransmitStrategy::STRICT_LITERAL), plain()]), &flows);
    assert_eq!(layer_part(&analysis, 1), LayerPart::TransmitQueues);
}

const NO_COLLISIONS: Detector = Detector::OwnCollisions { visibility_per_million: 1_000_000 };

/// Oracle: by hand. A bulk packet waits for one period of 36 ms, since the bucket may have no
/// credit left, while the two frames below are sent; then for one frame below. A real-time packet
/// waits for two frames.
/// Oracle: a full analysis. Ports follow from the numbers of flows, so removing one changes those of
/// the flows behind it, and with them which rule they match.
#[test]
fn rules_by_port_are_looked_at_again_after_a_change() {
    let mut station = sender(TransmitStrategy::Selection(Selection::StrictPriority));
    let layer = station.layer.as_mut().unwrap();
    layer.rules = vec![endnode::Rule {
        headers: HeaderMatch {
            source_port: Some(PortRange::one(49_153)),
            ..HeaderMatch::default()
        },
        class: 1,
    }];
    let network = pair([station, plain()]);
    let flows = vec![flow(100, None), flow(954, None), flow(18, None)];
    let mut analyzer = Analyzer::new(network, flows);
    let change = |analyzer: &mut Analyzer, number: u32| {
        if number == 0 { analyzer.remove(FlowId(0)) } else { analyzer.add(flow(954, None)) }
    };
    for number in [0, 1, 0] {
        change(&mut analyzer, number);
        let full = analyze_with(analyzer.network(), analyzer.flows(), Methods::TotalFlow);
        assert_eq!(analyzer.streams(), full.streams);
    }
}

#[test]
fn a_smoother_by_hand() {
    let station = smoother(Mode::Fixed(Fixed::PAPER), NO_COLLISIONS);
    let mut real_time = flow(954, None);
    real_time.dscp = 46;
    let mut bulk = flow(954, None);
    bulk.traffic = Traffic::periodic(Duration::from_ms(100), Phase::Random);
    let analysis = analyze(&pair([station.clone(), plain()]), &[bulk.clone()]);
    let expected = Duration::from_ms(36) + FRAME * 3;
    assert_eq!(waits(&analysis, 0, Segment::DriverQueue), expected);
    let analysis = analyze(&pair([station, plain()]), &[bulk, real_time]);
    assert_eq!(waits(&analysis, 1, Segment::DriverQueue), FRAME * 2);
}

/// Oracle: by hand. Real-time packets wait for two full frames beside a file, however it is
/// released. The smoother limits the file's segments; a smoother that may be told of congestion
/// guarantees nothing to the bulk packets themselves.
#[test]
fn a_file_behind_a_smoother() {
    let mut real_time = flow(954, None);
    real_time.dscp = 46;
    let loud = Detector::Backlog { low: Bytes::new(1), high: Bytes::new(2) };
    let station = smoother(Mode::Adaptive(Adaptive::HIMD), loud);
    let flows = [real_time.clone(), file(), flow(18, None)];
    let analysis = analyze(&pair([station, plain()]), &flows);
    // 1518 octets, and 20 between frames.
    let full = Duration::from_ns(123_040);
    assert_eq!(waits(&analysis, 0, Segment::DriverQueue), full * 2);
    assert_eq!(layer_part(&analysis, 2), LayerPart::Congestion);
    let open = analysis.open_flows[0];
    assert_eq!(open.limit, FlowLimit::Smoother(NodeId(0)));
    let analysis = analyze(&pair([plain(), plain()]), &[real_time, file()]);
    assert_eq!(analysis.open_flows[0].limit, FlowLimit::Line);
    let reason = analysis.streams[0].bound.clone().unwrap_err();
    assert!(matches!(reason, Reason::UnlimitedArrivals { .. }));
}
