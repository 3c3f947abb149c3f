//! Stacks, switches and links.

use rtether_model::empirical::{Empirical, Quantile, Quantiles};
use rtether_model::network::{
    AddressTable, Cost, ForwardingMode, Jitter, MulticastForwarding, Outliers, PortVlan, QueueMap,
    Selection, Servers, Spread, Stack, Switch, TagHandling, Vid,
};
use rtether_model::quantity::{BitRate, Bytes, Duration};

use super::{FLOW, small};

fn stack(text: &str) -> Stack {
    let plant = small(text, "{ ports: 4 }", FLOW);
    let id = plant.network.find("a").expect("declared");
    plant
        .network
        .end_station(id)
        .expect("a station")
        .stack
        .clone()
}

fn switch(text: &str) -> Switch {
    let plant = small("zero", text, FLOW);
    let id = plant.network.find("sw").expect("declared");
    plant.network.switch(id).expect("a switch").clone()
}

#[test]
fn stacks() {
    assert_eq!(stack("zero"), Stack::Zero);
    let service = Duration::from_us(200);
    assert_eq!(stack("{ rate: 5000 packets/s }"), Stack::IpRate { service });
    assert_eq!(stack("{ service: 0.2 ms }"), Stack::IpRate { service });
    let Stack::Linear(linear) = stack(
        "{ send: 8 us + 12 ns/B, receive: 1 ns/B, interface: 2 us, servers: per-direction, \
         jitter: { mean: 10 us, max: 100 us }, outliers: { ratio: 100 ppm, delay: 1 ms .. 5 ms } }",
    ) else {
        panic!("not linear");
    };
    let cost = |base, per_octet| Cost {
        base: Duration::from_ns(base),
        per_octet: Duration::from_ns(per_octet),
    };
    assert_eq!(linear.send, cost(8_000, 12));
    assert_eq!(linear.receive, cost(0, 1));
    assert_eq!(linear.interface, cost(2_000, 0));
    assert_eq!(linear.servers, Servers::PerDirection);
    let jitter = Jitter {
        spread: Spread::Exponential {
            mean: Duration::from_us(10),
            max: Duration::from_us(100),
        },
        outliers: Some(Outliers {
            per_million: 100,
            min: Duration::from_ms(1),
            max: Duration::from_ms(5),
        }),
    };
    assert_eq!(linear.jitter, jitter);
    let Stack::Linear(linear) = stack("{ send: 8 us, receive: 9 us, jitter: 30 us }") else {
        panic!("not linear");
    };
    let max = Duration::from_us(30);
    assert_eq!(linear.jitter.spread, Spread::Uniform { max });
    assert_eq!(linear.servers, Servers::Shared);
}

#[test]
fn measured_jitter() {
    // Oracle: the values in the file.
    let table = |points: &[(u32, i64)]| {
        let points = points.iter().map(|&(per_million, ns)| Quantile {
            per_million,
            value: Duration::from_ns(ns),
        });
        Quantiles::new(points.collect()).expect("it rises")
    };
    let spread = |jitter: &str| {
        let text = format!("{{ send: 8 us, receive: 9 us, jitter: {jitter} }}");
        let Stack::Linear(linear) = stack(&text) else {
            panic!("not linear");
        };
        linear.jitter.spread
    };
    let one =
        "[{ share: 0 %, add: 0.5 us }, { share: 99.9 %, add: 3 us }, { share: 100 %, add: 1 ms }]";
    let both = table(&[(0, 500), (999_000, 3_000), (1_000_000, 1_000_000)]);
    let read = spread(&format!("{{ quantiles: {one} }}"));
    let expected = Empirical {
        send: both.clone(),
        receive: both.clone(),
    };
    assert_eq!(read, Spread::Empirical(Box::new(expected)));
    let other = "[{ share: 0 %, add: 0 us }, { share: 100 %, add: 1 us }]";
    let read = spread(&format!("{{ send: {one}, receive: {other} }}"));
    let expected = Empirical {
        send: both,
        receive: table(&[(0, 0), (1_000_000, 1_000)]),
    };
    assert_eq!(read, Spread::Empirical(Box::new(expected)));
}

#[test]
fn switches_as_they_come() {
    let plain = switch("{ ports: 4 }");
    assert_eq!(plain.latency, Duration::ZERO);
    assert_eq!(plain.mode, ForwardingMode::StoreAndForward);
    assert_eq!(Some(plain.queues), QueueMap::standard(1));
    assert_eq!(plain.selection, Selection::StrictPriority);
    assert_eq!(plain.buffer.per_port, Bytes::new(1 << 20));
    assert_eq!(plain.buffer.shared, None);
    assert_eq!(plain.addresses, AddressTable::Static);
    assert_eq!(plain.multicast, MulticastForwarding::Managed);
    assert_eq!(plain.tags, TagHandling::Keep);
    assert_eq!(plain.ports.len(), 4);
    assert!(
        plain
            .ports
            .iter()
            .all(|port| port.vlan == PortVlan::Transparent)
    );
}

#[test]
fn switches_with_every_key() {
    let full = switch(
        "{ ports: 6, latency: 10 us, mode: cut-through, queues: 2, pcp_map: [0,0,0,1,1,1,1,1], \
         selection: strict+wrr, weights: [3, 1], buffer: 64 KiB, shared_buffer: 512 KiB, \
         addresses: learning, aging: 10 s, multicast: unmanaged, tags: strip, default_pcp: 2, \
         port_settings: { 1: { access: 10 }, 2-3: { trunk: all, native: 1, default_pcp: 5 }, \
         4: { trunk: [20, 10], native: 10 }, 6: { selection: drr, quanta: [800, 1600] } } }",
    );
    let edf = switch("{ ports: 6, selection: edf }");
    let cbs = switch("{ ports: 6, queues: 2, selection: cbs, idle_slopes: [0 bit/s, 25 Mbit/s] }");
    let Selection::Cbs { idle_slopes } = cbs.selection else {
        panic!("{:?}", cbs.selection);
    };
    assert_eq!(idle_slopes[..2], [0, 25].map(BitRate::from_mbps));
    assert_eq!(edf.selection, Selection::EarliestDeadline);
    assert_eq!(full.latency, Duration::from_us(10));
    assert_eq!(full.mode, ForwardingMode::CutThrough);
    assert_eq!(
        Some(full.queues),
        QueueMap::new(2, [0, 0, 0, 1, 1, 1, 1, 1])
    );
    let Selection::StrictWrr { weights } = full.selection else {
        panic!("{:?}", full.selection);
    };
    assert_eq!(weights[..2], [3, 1]);
    assert_eq!(full.selection_at(4), full.selection);
    let quanta = [800, 1_600, 1, 1, 1, 1, 1, 1];
    assert_eq!(full.selection_at(5), Selection::Drr { quanta });
    assert_eq!(full.buffer.per_port, Bytes::new(65_536));
    assert_eq!(full.buffer.shared, Some(Bytes::new(524_288)));
    let aging = Duration::from_secs(10);
    assert_eq!(full.addresses, AddressTable::Learning { aging });
    assert_eq!(full.multicast, MulticastForwarding::Unmanaged);
    assert_eq!(full.tags, TagHandling::Strip);
    let [ten, twenty, one] = [10, 20, 1].map(|v| Vid::new(v).unwrap());
    assert_eq!(full.ports[0].vlan, PortVlan::Access(ten));
    assert_eq!(full.ports[0].default_pcp.get(), 2);
    let trunk = |allowed, native| PortVlan::Trunk { allowed, native };
    assert_eq!(full.ports[1].vlan, trunk(None, Some(one)));
    assert_eq!(full.ports[2], full.ports[1]);
    assert_eq!(full.ports[2].default_pcp.get(), 5);
    assert_eq!(
        full.ports[3].vlan,
        trunk(Some(vec![ten, twenty]), Some(ten))
    );
    assert_eq!(full.ports[4].vlan, PortVlan::Transparent);
}

#[test]
fn links() {
    let plant = small("zero", "{ ports: 4 }", FLOW);
    let [first, second] = plant.network.links[..] else {
        panic!("two links");
    };
    assert_eq!(first.rate, BitRate::from_mbps(100));
    assert_eq!(first.propagation, Duration::ZERO);
    // Port 4 in the file is port 3 in the model; 20 m at 5 ns a meter.
    assert_eq!(second.ends.map(|end| end.port), [3, 0]);
    assert_eq!(second.propagation, Duration::from_ns(100));
    assert_eq!(second.errors_per_billion, 1);
    assert!(!second.standby);
}
