//! Flows with routes of their own, and flows that follow their VLAN, against arithmetic by hand.

use rtether_model::flow::{Bulk, Delivery, Reply, TcpParameters, Traffic, Transfer};
use rtether_model::network::{
    AddressTable, MulticastForwarding, NodeId, NodeKind, PortId, PortVlan, Stack, Vid,
};
use rtether_model::quantity::{Bytes, Duration};
use rtether_model::record::Record;
use rtether_model::route::RouteError;
use rtether_sim::emulation::{Emulation, EmulationError, Setup};
use rtether_sim::{BuildError, Config, Simulation};

use crate::support::{Plant, periodic, plain_switch, tag};

/// 60 octets over UDP: a frame of 106, 9.12 us at 100 Mbit/s.
const FRAME: Duration = Duration::from_ns(9_120);
const GAP: Duration = Duration::from_ns(960);

const fn at(node: u32, port: u16) -> PortId {
    PortId { node: NodeId(node), port }
}

/// Four switches in a ring, nodes 0 to 3, each with a station, nodes 4 to 7, at port 2. Port 0 leads
/// to the switch before and port 1 to the next one; at switch 0 it is the other way round.
fn ring() -> Plant {
    let mut plant = Plant::default();
    let switches = [(); 4].map(|()| plant.switch(plain_switch()));
    for index in 0..4 {
        plant.join(switches[index], switches[(index + 1) % 4], 100);
    }
    for switch in switches {
        let station = plant.station(Stack::Zero);
        plant.join(switch, station, 100);
    }
    plant.flow(periodic("f", NodeId(4), NodeId(5)));
    plant
}

/// The route from station 4 to station 5 the long way: over 0, 3, 2 and 1.
fn long_way() -> Vec<PortId> {
    vec![at(4, 0), at(0, 1), at(3, 0), at(2, 0), at(1, 2)]
}

fn sent(record: &Record, port: PortId) -> u64 {
    let own = record.ports.iter().find(|own| own.port == port);
    own.map_or(0, |own| own.sent)
}

#[test]
fn a_route_leads_the_long_way_round() {
    let mut plant = ring();
    assert_eq!(plant.run(10).streams[0].latency.max, FRAME * 3);
    plant.flows[0].routes = vec![long_way()];
    let record = plant.run(10);
    assert_eq!(record.streams[0].latency.max, FRAME * 5);
    let counts = long_way().into_iter().map(|port| sent(&record, port));
    assert!(counts.eq([10; 5]));
    assert_eq!(sent(&record, at(0, 0)), 0);
}

/// Two streams from one station to another, with the same tag, take different routes.
#[test]
fn streams_of_one_pair_of_stations_part() {
    let mut plant = ring();
    plant.flows[0].routes = vec![long_way()];
    plant.flow(periodic("short", NodeId(4), NodeId(5)));
    let record = plant.run(10);
    // The short one is behind the other at the first port. At the last one it is in front, begins
    // after a frame, a gap and two more frames, and occupies the port for a frame and a gap.
    let latencies: Vec<Duration> = record.streams.iter().map(|s| s.latency.max).collect();
    let free = FRAME + GAP + FRAME * 2 + FRAME + GAP;
    assert_eq!(latencies, [free + FRAME, FRAME + GAP + FRAME * 3]);
}

#[test]
fn answers_take_the_route_back() {
    let mut plant = ring();
    plant.flows[0].routes = vec![long_way()];
    plant.flows[0].reply = Some(Reply::new(Bytes::new(60), Duration::ZERO));
    let record = plant.run(10);
    assert_eq!(record.streams[0].latency.max, FRAME * 10);
    assert_eq!([sent(&record, at(0, 0)), sent(&record, at(1, 0))], [0; 2]);
}

#[test]
fn acknowledgements_of_tcp_take_the_route_back() {
    let mut plant = ring();
    plant.flows[0].traffic = Traffic::Bulk(Bulk {
        transfers: vec![Transfer { start: Duration::ZERO, size: Some(Bytes::new(20_000)) }],
        bursts: None,
        rate: None,
        tcp: TcpParameters::default(),
    });
    plant.flows[0].encapsulation = rtether_model::wire::Encapsulation::Tcp;
    plant.flows[0].routes = vec![long_way()];
    let record = plant.run(100);
    assert!(record.streams[0].delivered > 0);
    assert!(sent(&record, at(1, 1)) > 0, "acknowledgements");
    assert_eq!([sent(&record, at(0, 0)), sent(&record, at(1, 0))], [0; 2]);
}

/// Learning switches in a ring would flood; entries of streams prevent it.
#[test]
fn nothing_is_flooded_on_a_route() {
    let mut plant = ring();
    for node in &mut plant.network.nodes {
        if let NodeKind::Switch(switch) = &mut node.kind {
            let aging = Duration::from_secs(1);
            switch.addresses = AddressTable::Learning { aging };
            switch.multicast = MulticastForwarding::Unmanaged;
        }
    }
    plant.flows[0].routes = vec![long_way()];
    let mut group = periodic("group", NodeId(4), NodeId(5));
    group.delivery = Delivery::Multicast;
    group.listeners.push(NodeId(7));
    let to_7 = vec![at(4, 0), at(0, 1), at(3, 2)];
    group.routes = vec![long_way(), to_7];
    plant.flow(group);
    let record = plant.run(10);
    // Behind the other flow at the first port; then five hops, or three.
    let latencies: Vec<Duration> = record.streams.iter().map(|s| s.latency.max).collect();
    let behind = FRAME + GAP;
    let expected = [FRAME * 5, behind + FRAME * 5, behind + FRAME * 3];
    assert_eq!(latencies, expected);
    let all: u64 = record.ports.iter().map(|port| port.sent).sum();
    assert_eq!(all, 10 * (5 + 5 + 1));
}

/// A hub repeats the frame to a switch that is not on the route, which ends it and loses nothing.
#[test]
fn a_switch_beside_the_route_drops_what_a_hub_repeats() {
    let mut plant = Plant::default();
    let hub = plant.hub(100, Duration::ZERO);
    let switches = [(); 3].map(|()| plant.switch(plain_switch()));
    let stations = [(); 3].map(|()| plant.station(Stack::Zero));
    for (switch, station) in switches.into_iter().zip(stations) {
        plant.join(switch, hub, 100).duplex = rtether_model::network::Duplex::Half;
        plant.join(switch, station, 100);
    }
    let mut flow = periodic("f", stations[0], stations[1]);
    flow.routes = vec![vec![at(4, 0), at(1, 0), at(0, 1), at(2, 1)]];
    plant.flow(flow);
    let record = plant.run(10);
    let stream = &record.streams[0];
    assert_eq!((stream.released, stream.delivered, stream.dropped), (10, 10, 0));
    assert_eq!(sent(&record, at(3, 1)), 0);
}

/// VLAN 10 has all links of the ring but the one between switches 0 and 1.
#[test]
fn a_vlan_leads_where_the_shortest_path_leaves_it() {
    let mut plant = ring();
    let vid = |number| Vid::new(number).unwrap();
    let trunk = |allowed: Vec<Vid>| PortVlan::Trunk { allowed: Some(allowed), native: None };
    for switch in 0..4 {
        for port in 0..3 {
            plant.vlan(NodeId(switch), port, trunk(vec![vid(10), vid(20)]));
        }
    }
    plant.vlan(NodeId(0), 0, trunk(vec![vid(20)]));
    plant.flows[0].tag = tag(0, 10);
    plant.flows[0].reply = Some(Reply::new(Bytes::new(60), Duration::ZERO));
    let mut other = periodic("other", NodeId(6), NodeId(7));
    other.tag = tag(0, 20);
    plant.flow(other);
    let record = plant.run(10);
    // A tag makes the frame 0.32 us longer.
    let tagged = FRAME + Duration::from_ns(320);
    assert_eq!(record.streams[0].latency.max, tagged * 10);
    assert_eq!(record.streams[1].latency.max, tagged * 3);

    // Both ways from station 4 to station 6 are equally short, and the lower port counts. Without
    // its link, VLAN 20 has the other way.
    plant.flows.truncate(1);
    plant.flows[0].listeners = vec![NodeId(6)];
    plant.flows[0].tag = tag(0, 20);
    assert_eq!(plant.run(10).streams[0].latency.max, tagged * 8);
    plant.vlan(NodeId(1), 0, trunk(vec![vid(10)]));
    let record = plant.run(10);
    assert_eq!(record.streams[0].latency.max, tagged * 8);
    assert_eq!(sent(&record, at(0, 0)), 0);
}

#[test]
fn broken_routes_are_refused() {
    let refused = |change: fn(&mut Plant)| {
        let mut plant = ring();
        plant.flows[0].routes = vec![long_way()];
        change(&mut plant);
        let config = Config { seed: 1, warmup: Duration::ZERO, bucket: Duration::ZERO };
        match Simulation::new(&plant.network, &plant.flows, &config) {
            Err(BuildError::NoRoute { reason, .. }) => reason,
            _ => panic!("it is refused"),
        }
    };
    let broken = |node, port| RouteError::Broken { port: at(node, port) };
    let reason = refused(|plant| plant.network.links[3].standby = true);
    assert_eq!(reason, broken(0, 1));
    let reason = refused(|plant| plant.flows[0].routes[0][2] = at(2, 0));
    assert_eq!(reason, broken(2, 0));
    // Around the ring and again.
    let reason = refused(|plant| {
        plant.flows[0].routes[0].splice(4.., [at(1, 0), at(0, 1)]);
    });
    assert_eq!(reason, broken(0, 1));
    let reason = refused(|plant| plant.flows[0].routes[0].truncate(4));
    let (from, to) = (NodeId(4), NodeId(5));
    assert_eq!(reason, RouteError::Separated { from, to });
}

#[test]
fn an_emulation_refuses_routes_through_a_loop() {
    let mut plant = ring();
    plant.flows[0].routes = vec![long_way()];
    let setup = Setup { groups: &plant.flows, ..Setup::new(&plant.network, 1) };
    let refusal = Emulation::new(&setup).err();
    assert!(matches!(refusal, Some(EmulationError::Route { .. })));
    plant.network.links[0].standby = true;
    let setup = Setup { groups: &plant.flows, ..Setup::new(&plant.network, 1) };
    assert!(Emulation::new(&setup).is_ok(), "it is the only way");
}
