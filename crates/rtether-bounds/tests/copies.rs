//! Frames that arrive twice or circulate, and the memory that a port needs.

use rtether_bounds::{Analysis, Reason, analyze};
use rtether_model::flow::{
    Bulk, Delivery, Flow, FlowId, Phase, Tag, TcpParameters, Traffic, Transfer,
};
use rtether_model::network::{
    Buffer, EndStation, Link, MulticastForwarding, Network, NodeId, NodeKind, Pcp, PortId,
    PortVlan, QueueMap, Selection, Stack, Switch, Vid,
};
use rtether_model::quantity::{BitRate, Bytes, Duration};
use rtether_model::wire::Encapsulation;

/// Three switches, nodes 0 to 2, each with two stations: 3 and 6, 4 and 7, 5 and 8. Port 0 leads to
/// the next switch, port 1 to the previous one, ports 2 and 3 to the stations; 100 Mbit/s.
fn ring(is_closed: bool, multicast: MulticastForwarding) -> Network {
    let switch = Switch {
        queues: QueueMap::standard(2).unwrap(),
        selection: Selection::StrictPriority,
        buffer: Buffer::per_port(Bytes::new(100_000)),
        multicast,
        ..Switch::new(4)
    };
    let mut network = Network::default();
    let mut node = |kind| {
        network.add(format!("n{}", network.nodes.len()), kind);
    };
    for _ in 0..3 {
        node(NodeKind::Switch(switch.clone()));
    }
    for _ in 0..6 {
        node(NodeKind::EndStation(EndStation::new(Stack::Zero)));
    }
    let at = |node, port| PortId { node: NodeId(node), port };
    let mut join = |ends, standby| {
        network.links.push(Link { standby, ..Link::new(ends, BitRate::from_mbps(100)) });
    };
    for index in 0..3 {
        let next = (index + 1) % 3;
        join([at(index, 0), at(next, 1)], next == 0 && !is_closed);
        join([at(3 + index, 0), at(index, 2)], false);
        join([at(6 + index, 0), at(index, 3)], false);
    }
    network
}

fn flow(talker: u32, listener: u32) -> Flow {
    Flow::new(
        format!("{talker} to {listener}"),
        NodeId(talker),
        vec![NodeId(listener)],
        Bytes::new(100),
        Traffic::periodic(Duration::from_ms(1), Phase::Random),
    )
}

fn assert_no_bound(analysis: &Analysis, flow: u32) {
    for stream in &analysis.streams {
        let expected = Reason::FloodingLoop { flow: FlowId(flow) };
        assert_eq!(stream.bound, Err(expected), "{}", stream.flow.index());
    }
}

/// Oracle: by hand; frames that never stop fill every link they pass, also for other flows.
#[test]
fn frames_that_go_round_spare_nobody() {
    let network = ring(true, MulticastForwarding::Unmanaged);
    let mut flows = [flow(3, 4), flow(6, 7)];
    flows[1].delivery = Delivery::Multicast;
    assert_no_bound(&analyze(&network, &flows), 1);
    let open = ring(false, MulticastForwarding::Unmanaged);
    assert!(analyze(&open, &flows).streams.iter().all(|s| s.bound.is_ok()));
}

/// Oracle: by hand. Frames that come to the third switch directly are in VLAN 1, those that come by
/// the second one in VLAN 20; both go only to the stations.
#[test]
fn a_packet_that_arrives_twice_has_no_bound() {
    let mut network = ring(true, MulticastForwarding::Unmanaged);
    let vid = |number| Vid::new(number).unwrap();
    let mut set = |switch: usize, port: usize, vlan| {
        if let NodeKind::Switch(switch) = &mut network.nodes[switch].kind {
            switch.ports[port].vlan = vlan;
        }
    };
    set(1, 1, PortVlan::Access(vid(20)));
    let trunk = |allowed: Option<Vec<Vid>>| PortVlan::Trunk { allowed, native: None };
    set(1, 0, trunk(Some(vec![vid(20)])));
    set(2, 1, trunk(None));
    set(2, 0, PortVlan::Access(vid(1)));
    let mut flows = [flow(3, 5), flow(8, 5)];
    flows[0].delivery = Delivery::Multicast;
    assert_no_bound(&analyze(&network, &flows), 0);
}

/// Oracle: by hand. At most eight low segments and one without data of one connection are under
/// way, and one high frame; their work is the least that the port must have room for.
#[test]
fn a_port_with_bulk_and_priorities_has_a_limit() {
    let network = ring(false, MulticastForwarding::Managed);
    let mut flows = [flow(3, 4), flow(6, 4)];
    flows[0].encapsulation = Encapsulation::Tcp;
    flows[0].payload = Bytes::ZERO;
    flows[0].traffic = Traffic::Bulk(Bulk {
        transfers: vec![Transfer { start: Duration::ZERO, size: None }],
        bursts: None,
        rate: None,
        tcp: TcpParameters {
            segment: Bytes::new(1000),
            window: Bytes::new(7_000),
            ..TcpParameters::default()
        },
    });
    flows[1].tag = Some(Tag { pcp: Pcp::new(7).unwrap(), vid: Vid::PRIORITY_ONLY });
    let analysis = analyze(&network, &flows);
    assert!(analysis.streams[1].bound.is_ok());
    let port = PortId::first(NodeId(0));
    let port = analysis.ports.iter().find(|found| found.port == port);
    let backlog = port.unwrap().backlog.expect("a limit").get();
    assert!((7_000..24_000).contains(&backlog), "{backlog}");
}
