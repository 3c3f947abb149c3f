use alloc::boxed::Box;
use alloc::string::ToString;
use alloc::vec;

use rtether_model::endnode::{Detector, Layer, Smoothing};
use rtether_model::flow::{Flow, Phase, Traffic};
use rtether_model::network::{
    Duplex, EndStation, Link, Network, Node, NodeId, NodeKind, PortId, Stack,
};
use rtether_model::quantity::{BitRate, Bytes, Duration, Instant};
use rtether_model::smoother::{Adaptive, Config, Mode, Rule};

use super::*;
use crate::observe::NoObserver;

/// Two stations on a link, the first with this layer, and a flow of full frames every 2 ms.
fn simulation(layer: Layer) -> Simulation {
    let node = |name: &str, layer: Option<Box<Layer>>| Node {
        name: name.to_string(),
        kind: NodeKind::EndStation(EndStation { layer, ..EndStation::new(Stack::Zero) }),
    };
    let network = Network {
        nodes: vec![node("a", Some(Box::new(layer))), node("b", None)],
        links: vec![Link {
            ends: [0, 1].map(|node| PortId::first(NodeId(node))),
            rate: BitRate::from_mbps(10),
            propagation: Duration::ZERO,
            errors_per_billion: 0,
            standby: false,
            duplex: Duplex::Full,
        }],
        ..Network::default()
    };
    let flow = Flow::new(
        "f".to_string(),
        NodeId(0),
        vec![NodeId(1)],
        Bytes::new(1_472),
        Traffic::periodic(Duration::from_ms(2), Phase::Fixed(Duration::ZERO)),
    );
    let config = crate::config::Config { seed: 1, warmup: Duration::ZERO, bucket: Duration::ZERO };
    Simulation::new(&network, &[flow], &config).expect("a legal plant")
}

#[test]
fn a_frame_that_collided_slows_its_station_down() {
    // Oracle: W5 and W7. More than one attempt is a report; the next bulk packet within 10 ms is
    // held back, once, and the period doubles.
    let layer = Layer {
        smoother: Some(Smoothing {
            config: Config::new(Mode::Adaptive(Adaptive::HIMD)),
            rule: Rule::LINUX,
            ring: 1,
            detector: Detector::OwnCollisions { visibility_per_million: 1_000_000 },
        }),
        ..Layer::default()
    };
    for (attempts, reports) in [(1, 0), (2, 1)] {
        let mut simulation = simulation(layer.clone());
        let at = |us| Instant::ZERO + Duration::from_us(us);
        simulation.run_until(at(100), &mut NoObserver);
        // What a shared medium would report; this link has no collisions.
        simulation.transmission_complete(0, attempts, &mut NoObserver);
        simulation.run_until(at(2_100), &mut NoObserver);
        let statistics = simulation.layers[0].egress().smoother_statistics();
        let statistics = statistics.expect("a smoother");
        assert_eq!((statistics.reports, statistics.decreases), (reports, reports));
    }
}

#[test]
fn nothing_is_left_in_a_ring_that_nobody_empties() {
    // Oracle: a port without smoother and transmit queues above it reports no completions, so that
    // the ring of its layer is not used.
    let mut simulation = simulation(Layer::default());
    simulation.run_until(Instant::ZERO + Duration::from_ms(100), &mut NoObserver);
    assert_eq!(simulation.layers[0].egress().in_rings(), 0);
    assert_eq!(simulation.invariants(), Ok(()));
    assert_eq!(simulation.finish().streams[0].delivered, 50);
}

#[test]
fn the_classifier_sees_the_headers_of_the_capture() {
    // Oracle: `trace::frame`, whose headers are checked against etherparse: node 0 is 10.0.0.0, the
    // first flow sends from port 49152 to 49152; EF is the octet 0xB8.
    let mut simulation = simulation(Layer::default());
    simulation.flow_list[0].dscp = 46;
    simulation.run_until(Instant::from_ps(1), &mut NoObserver);
    let key = simulation.frame_key(0);
    assert_eq!((key.ethertype, key.protocol, key.tos), (Some(0x0800), Some(17), Some(0xB8)));
    assert_eq!(key.source, Some([10, 0, 0, 0].into()));
    assert_eq!(key.destination, Some([10, 0, 0, 1].into()));
    assert_eq!((key.source_port, key.destination_port), (Some(49_152), Some(49_152)));
    assert_eq!(key.tag, None);
    let (size, class) = simulation.datagram(0, Rule::LINUX).expect("UDP is IP");
    assert_eq!((size.get(), class), (1_500, rtether_proto::smoother::Class::RealTime));
}
