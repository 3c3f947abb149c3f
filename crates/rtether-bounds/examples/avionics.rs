//! Bounds of a plant like an avionics network: many flows over eight linked switches.
//!
//! `cargo run --release -p rtether-bounds --example avionics -- FLOWS` prints the time of the
//! analysis and what came out; 6000 flows pass about 250 ports. With `total-flow` behind the number
//! only that method is applied.

use std::time::Instant;

use rtether_bounds::{Methods, analyze_with};
use rtether_model::flow::{Delivery, Flow, Phase, Traffic};
use rtether_model::network::{
    AddressTable, Buffer, Duplex, EndStation, ForwardingMode, Link, MulticastForwarding, Network,
    Node, NodeId, NodeKind, Pcp, PortId, PortVlan, QueueMap, Selection, Stack, Switch, SwitchPort,
    TagHandling,
};
use rtether_model::quantity::{BitRate, Bytes, Duration};
use rtether_model::wire::Encapsulation;

const SWITCHES: u32 = 8;
const STATIONS: u32 = 112;

fn main() {
    let flows = std::env::args().nth(1);
    let flows: u32 = flows.map_or(6_000, |text| text.parse().expect("a number of flows"));
    let network = network();
    let flows: Vec<Flow> = (0..flows).map(flow).collect();
    let begin = Instant::now();
    let methods = match std::env::args().nth(2).as_deref() {
        Some("total-flow") => Methods::TotalFlow,
        _ => Methods::All,
    };
    let analysis = analyze_with(&network, &flows, methods);
    let time = begin.elapsed();
    let bounds = analysis
        .streams
        .iter()
        .filter_map(|s| s.bound.as_ref().ok());
    let better = bounds.clone().filter(|b| b.latency < b.by_method[0].1);
    let better = better.count();
    let latencies: Vec<Duration> = bounds.map(|bound| bound.latency).collect();
    let longest = latencies.iter().max().copied().unwrap_or_default();
    let load = analysis
        .ports
        .iter()
        .filter_map(|p| p.utilization_ppm)
        .max();
    #[allow(clippy::print_stdout, reason = "an example says what it found")]
    {
        println!(
            "{} of {} flows bounded, {} visits at {} ports, largest bound {longest}, largest \
             utilization {} %, {better} better than by total flow analysis, {:.2} ms",
            latencies.len(),
            flows.len(),
            analysis.effort.visits,
            analysis.ports.len(),
            load.unwrap_or(0) / 10_000,
            time.as_secs_f64() * 1e3,
        );
    }
}

/// Eight switches, each linked with every other one; fourteen stations at each.
fn network() -> Network {
    let mut network = Network::default();
    let port = SwitchPort {
        vlan: PortVlan::Transparent,
        default_pcp: Pcp::default(),
    };
    let per_switch = STATIONS / SWITCHES;
    for index in 0..SWITCHES {
        let ports = vec![port.clone(); (SWITCHES - 1 + per_switch) as usize];
        let switch = Switch {
            latency: Duration::from_us(1),
            mode: ForwardingMode::StoreAndForward,
            queues: QueueMap::standard(1).expect("one queue is possible"),
            selection: Selection::Fcfs,
            buffer: Buffer {
                per_port: Bytes::new(1 << 20),
                shared: None,
            },
            addresses: AddressTable::Static,
            multicast: MulticastForwarding::Managed,
            tags: TagHandling::Keep,
            ports,
        };
        network.nodes.push(Node {
            name: format!("w{index}"),
            kind: NodeKind::Switch(switch),
        });
    }
    let mut next = [0u16; SWITCHES as usize];
    let mut free = |node: u32| {
        let port = &mut next[node as usize];
        *port += 1;
        PortId {
            node: NodeId(node),
            port: *port - 1,
        }
    };
    for a in 0..SWITCHES {
        for b in a + 1..SWITCHES {
            let ends = [free(a), free(b)];
            network.links.push(link(ends));
        }
    }
    for index in 0..STATIONS {
        let node = NodeId(SWITCHES + index);
        network.nodes.push(Node {
            name: format!("s{index}"),
            kind: NodeKind::EndStation(EndStation::new(Stack::Zero)),
        });
        network
            .links
            .push(link([PortId { node, port: 0 }, free(index % SWITCHES)]));
    }
    network
}

fn link(ends: [PortId; 2]) -> Link {
    Link {
        ends,
        rate: BitRate::from_mbps(100),
        propagation: Duration::ZERO,
        errors_per_billion: 0,
        standby: false,
        duplex: Duplex::Full,
    }
}

/// Periods of 2 to 128 ms and frames of 64 to 1518 octets, by number.
fn flow(index: u32) -> Flow {
    let mix = |salt: u32| {
        let mut x = (index + 1).wrapping_mul(0x9e37_79b9) ^ salt.wrapping_mul(0x85eb_ca6b);
        x ^= x >> 16;
        x = x.wrapping_mul(0x7feb_352d);
        x ^ (x >> 15)
    };
    let talker = mix(1) % STATIONS;
    let listener = (talker + 1 + mix(2) % (STATIONS - 1)) % STATIONS;
    Flow {
        name: format!("f{index}"),
        class: String::new(),
        talker: NodeId(SWITCHES + talker),
        listeners: vec![NodeId(SWITCHES + listener)],
        delivery: Delivery::Unicast,
        encapsulation: Encapsulation::Udp,
        payload: Bytes::new(u64::from(18 + mix(3) % 500)),
        tag: None,
        dscp: 0,
        traffic: Traffic::Periodic {
            period: Duration::from_ms(1 << (3 + mix(4) % 5)),
            phase: Phase::Random,
            release_jitter: Duration::ZERO,
        },
        start: Duration::ZERO,
        stop: None,
        reply: None,
        connection: None,
        deadline: None,
    }
}
