//! Stacks, switches and links.

use rtether_model::admission::Admission;
use rtether_model::arp::Arp;
use rtether_model::empirical::{Empirical, Quantile, Quantiles};
use rtether_model::endnode::{HeaderMatch, PortRange, TosMatch};
use rtether_model::ingress::{Exceed, IngressRule, Police};
use rtether_model::network::{
    AddressTable, Cost, Duplex, ForwardingMode, Jitter, Mirror, MirrorDirection,
    MulticastForwarding, NodeId, Outliers, Partition, Pcp, PortVlan, QueueMap, Selection, Servers,
    Spread, Stack, Switch, TagHandling, Vid,
};
use rtether_model::quantity::{BitRate, Bytes, Duration};

use super::{FLOW, scenario, small};

fn stack(text: &str) -> Stack {
    let plant = small(text, "{ ports: 4 }", FLOW);
    let id = plant.network.find("a").expect("declared");
    plant.network.end_station(id).expect("a station").stack.clone()
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
        spread: Spread::Exponential { mean: Duration::from_us(10), max: Duration::from_us(100) },
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
        let points = points
            .iter()
            .map(|&(per_million, ns)| Quantile { per_million, value: Duration::from_ns(ns) });
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
    let expected = Empirical { send: both.clone(), receive: both.clone() };
    assert_eq!(read, Spread::Empirical(Box::new(expected)));
    let other = "[{ share: 0 %, add: 0 us }, { share: 100 %, add: 1 us }]";
    let read = spread(&format!("{{ send: {one}, receive: {other} }}"));
    let expected = Empirical { send: both, receive: table(&[(0, 0), (1_000_000, 1_000)]) };
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
    assert!(plain.ports.iter().all(|port| port.vlan == PortVlan::Transparent));
}

#[test]
fn deadlines_of_stations_and_their_parts() {
    let station = |text: &str, node: &str| {
        let head = "rtether: 1\npartition: proportional\nstacks:\n  s: ";
        let tail = "  b: { stack: zero }\nlinks: [{ ends: [a, b], rate: 100 Mbit/s }]\n\
                    flows: [{ name: f, from: a, to: b, period: 2 ms, size: 64 B }]\n";
        let plant = scenario(&format!("{head}{text}\nnodes:\n  a: {node}\n{tail}"));
        assert_eq!(plant.network.partition, Partition::Proportional);
        plant.network.end_station(NodeId(0)).unwrap().by_deadline
    };
    let edf = "{ rate: 5000 packets/s, selection: edf }";
    let plain = "{ rate: 5000 packets/s }";
    assert!(station(edf, "{ stack: s }"));
    assert!(!station(edf, "{ stack: s, selection: fcfs }"));
    assert!(!station(plain, "{ stack: s }"));
    assert!(station(plain, "{ stack: s, selection: edf }"));
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
    let both = switch(
        "{ ports: 6, queues: 4, selection: cbs+drr, quanta: [800, 1600], \
         idle_slopes: [0 bit/s, 0 bit/s, 25 Mbit/s, 0 bit/s] }",
    );
    let Selection::CbsDrr { idle_slopes, quanta } = both.selection else {
        panic!("{:?}", both.selection);
    };
    assert_eq!(idle_slopes[..4], [0, 0, 25, 0].map(BitRate::from_mbps));
    assert_eq!(quanta[..2], [800, 1_600]);
    assert_eq!(edf.selection, Selection::EarliestDeadline);
    assert_eq!(full.latency, Duration::from_us(10));
    assert_eq!(full.mode, ForwardingMode::CutThrough);
    assert_eq!(Some(full.queues), QueueMap::new(2, [0, 0, 0, 1, 1, 1, 1, 1]));
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
    assert_eq!(full.ports[3].vlan, trunk(Some(vec![ten, twenty]), Some(ten)));
    assert_eq!(full.ports[4].vlan, PortVlan::Transparent);
}

#[test]
fn rules_for_arriving_frames() {
    // Oracle: the values in the file. `a` is node 0, `b` node 1.
    let switch = switch(
        "{ ports: 4, icmp_unclassified: true, ingress: [\
         { from: a, to: [a, b], pcp: 2, mark: 6 }, \
         { dscp: 46, protocol: udp, port: 5000-5010, source_port: 9, \
           police: 2 Mbit/s, burst: 3 kB, exceed: 1 }, \
         { ethertype: '0x88b8', police: 1 Mbit/s, burst: 64 B }, { mark_dscp: 0 }, {}], \
         port_settings: { 2: { ingress: [] }, 3-4: { ingress: [{ mark: 1 }] } } }",
    );
    let pcp = |value| Pcp::new(value).unwrap();
    let police = |mbps, burst, exceed| Police {
        rate: BitRate::from_mbps(mbps),
        burst: Bytes::new(burst),
        exceed,
    };
    let range = |first, last| Some(PortRange { first, last });
    let none = IngressRule::default();
    let expected = [
        IngressRule {
            from: vec![NodeId(0)],
            to: vec![NodeId(0), NodeId(1)],
            pcp: Some(pcp(2)),
            mark: Some(pcp(6)),
            ..none.clone()
        },
        IngressRule {
            headers: HeaderMatch {
                tos: Some(TosMatch::dscp(46)),
                protocol: Some(17),
                source_port: range(9, 9),
                destination_port: range(5_000, 5_010),
                ..HeaderMatch::default()
            },
            police: Some(police(2, 3_000, Exceed::Demote(pcp(1)))),
            ..none.clone()
        },
        IngressRule {
            headers: HeaderMatch { ethertype: Some(0x88b8), ..HeaderMatch::default() },
            police: Some(police(1, 64, Exceed::Drop)),
            ..none.clone()
        },
        IngressRule { mark_dscp: Some(0), ..none.clone() },
        none.clone(),
    ];
    let marking = IngressRule { mark: Some(pcp(1)), ..none };
    assert!(switch.icmp_unclassified);
    assert_eq!(switch.ingress_at(0), expected);
    assert_eq!(switch.ingress_at(1), []);
    assert_eq!(switch.ingress_at(3), [marking]);
}

/// Oracle: the same plant with the lists written out, worked out by hand from who is where.
#[test]
fn registered_vlans_are_those_declared_behind_a_port() {
    let plant = |trunks: [&str; 6]| {
        let [ab, ba, ac, ca, bd, da] = trunks;
        // a - b - d (a station with a tagged flow), a - c; VLAN 10 at a, b; 20 at a, c; 30 at c alone,
        // and 40 between the tagged station at b and another at c.
        scenario(&format!(
            "rtether: 1\n\
             nodes: {{ a1: {{ stack: zero }}, a2: {{ stack: zero }}, b1: {{ stack: zero }}, \
             c1: {{ stack: zero }}, c2: {{ stack: zero }}, d1: {{ stack: zero }} }}\n\
             switches:\n\
             \x20 a: {{ ports: 4, port_settings: {{ 1: {{ access: 10 }}, 2: {{ access: 20 }}, \
             3: {{ trunk: {ab} }}, 4: {{ trunk: {ac}, native: 50 }} }} }}\n\
             \x20 b: {{ ports: 3, port_settings: {{ 1: {{ access: 10 }}, 2: {{ trunk: {ba} }}, \
             3: {{ trunk: {bd} }} }} }}\n\
             \x20 c: {{ ports: 4, port_settings: {{ 1: {{ access: 20 }}, 2: {{ access: 30 }}, \
             3: {{ trunk: {ca} }}, 4: {{ trunk: [40] }} }} }}\n\
             links:\n\
             - {{ ends: [a1, 'a:1'], rate: 100 Mbit/s }}\n\
             - {{ ends: [a2, 'a:2'], rate: 100 Mbit/s }}\n\
             - {{ ends: [b1, 'b:1'], rate: 100 Mbit/s }}\n\
             - {{ ends: [c1, 'c:1'], rate: 100 Mbit/s }}\n\
             - {{ ends: [c2, 'c:4'], rate: 100 Mbit/s }}\n\
             - {{ ends: [d1, 'b:3'], rate: 100 Mbit/s }}\n\
             - {{ ends: ['a:3', 'b:2'], rate: 100 Mbit/s }}\n\
             - {{ ends: ['a:4', 'c:3'], rate: 100 Mbit/s }}\n\
             flows:\n\
             - {{ name: ten, from: a1, to: b1, period: 2 ms, size: 64 B }}\n\
             - {{ name: twenty, from: c1, to: a2, period: 2 ms, size: 64 B }}\n\
             - {{ name: forty, from: d1, to: c2, period: 2 ms, size: 64 B, vlan: 40{da} }}\n"
        ))
    };
    let auto = "registered";
    let by_hand =
        plant(["[10, 40]", "[10, 20, 30, 40, 50]", "[20, 30, 40]", "[10, 20, 40]", "[40]", ""]);
    let mut registered = plant([auto, auto, auto, auto, auto, ""]);
    // Which ports register is kept, for a plant with a link less.
    assert_eq!(std::mem::take(&mut registered.network.registering).len(), 5);
    assert_eq!(registered.network, by_hand.network);
    assert_eq!(registered, by_hand);
}

#[test]
fn mirrors_and_thresholds() {
    let plain = switch("{ ports: 4, mirror: { to: 3 } }");
    let mirror = Mirror { to: 2, ports: vec![0, 1, 3], direction: MirrorDirection::Both };
    assert_eq!(plain.mirror, Some(mirror));
    let chosen = switch(
        "{ ports: 4, queues: 2, mirror: { to: 3, ports: [4], direction: sent }, buffer: 32 KiB, \
         thresholds: [2 KiB, 16 KiB], port_settings: { 1: { thresholds: [8 KiB, 8 KiB] }, \
         2: { selection: fcfs } } }",
    );
    let mirror = Mirror { to: 2, ports: vec![3], direction: MirrorDirection::Sent };
    assert_eq!(chosen.mirror, Some(mirror));
    let [own, all] = [[8, 8], [2, 16]].map(|sizes| sizes.map(|kib| Bytes::new(kib << 10)));
    let first = |port| chosen.thresholds_at(port).map(|own| [own[0], own[1]]);
    // Without queues there is nothing to tell apart.
    assert_eq!([0, 1, 2].map(first), [Some(own), None, Some(all)]);
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

#[test]
fn address_resolution() {
    let arp = |stack: &str| {
        let plant = small(stack, "{ ports: 4 }", FLOW);
        let id = plant.network.find("a").expect("declared");
        plant.network.end_station(id).expect("a station").arp
    };
    assert_eq!(arp("zero"), None);
    assert_eq!(arp("zero, arp: {}"), Some(Arp::DEFAULT));
    let own = Arp {
        lifetime: Duration::from_ms(10),
        retry: Duration::from_us(500),
        attempts: 5,
        hold: Bytes::new(20_000),
    };
    let text = "arp: { lifetime: 10 ms, retry: 500 us, attempts: 5, hold: 20 kB }";
    assert_eq!(arp(&format!("zero, {text}")), Some(own));
    assert_eq!(arp(&format!("{{ service: 1 us, {text} }}")), Some(own));
}

/// Oracle: by hand. The manager is a station behind a port of its own, as fast as the fastest link;
/// the longest frame that does not ask is the event's, 1000 + 46 octets.
#[test]
fn a_manager_of_channels() {
    let text = "rtether: 1
nodes: { a: { stack: zero }, b: { stack: zero } }
switches: { sw: { ports: 2 } }
links:
  - { ends: [a, \"sw:1\"], rate: 10 Mbit/s }
  - { ends: [b, \"sw:2\"], rate: 1 Gbit/s }
admission: { at: sw, channels: 8, accepts: 2, retry: 4 ms, attempts: 5, cost: 30 us }
flows:
  - { name: control, from: a, to: b, period: 2 ms, size: 1400 B, deadline: 5 ms }
  - { name: event, from: b, to: a, min_gap: 10 ms, size: 1000 B }
";
    let plant = scenario(text);
    let manager = plant.network.find("sw.manager").expect("added");
    let expected = Admission {
        manager,
        channels: 8,
        accepts: 2,
        retry: Duration::from_ms(4),
        attempts: 5,
        other: Bytes::new(1_046),
    };
    assert_eq!(plant.network.admission, Some(expected));
    let link = plant.network.links.last().expect("added");
    assert_eq!(link.rate, BitRate::from_mbps(1_000));
    assert_eq!((link.ends[0].port, link.ends[1].node), (2, manager));
    let station = plant.network.end_station(manager).expect("a station");
    let Stack::Linear(stack) = &station.stack else {
        panic!("a cost");
    };
    assert_eq!(stack.receive.base, Duration::from_us(30));
    assert_eq!(stack.send, Cost::default());
    assert!(plant.flows[0].asks(&plant.network) && !plant.flows[1].asks(&plant.network));
    let plain = scenario(
        &text.replace(", channels: 8, accepts: 2, retry: 4 ms, attempts: 5, cost: 30 us", ""),
    );
    let expected = Admission {
        manager,
        channels: Admission::CHANNELS,
        accepts: Admission::ACCEPTS,
        retry: Admission::RETRY,
        attempts: Admission::ATTEMPTS,
        other: Bytes::new(1_046),
    };
    assert_eq!(plain.network.admission, Some(expected));
    let station = plain.network.end_station(manager).expect("a station");
    assert_eq!(station.stack, Stack::Zero);
}

/// Oracle: the rules of autonegotiation, by hand: the fastest that both ends offer; half duplex if one
/// offers nothing else. What a link says goes first.
#[test]
fn ends_agree_on_what_both_offer() {
    let plant = |nodes: &str, switch: &str, link: &str| {
        scenario(&format!(
            "rtether: 1\nnodes: {{ a: {{ stack: zero{nodes} }}, b: {{ stack: zero }} }}\n\
             switches: {{ sw: {{ ports: 4{switch} }} }}\n\
             links:\n  - {{ ends: [a, \"sw:1\"]{link} }}\n  - {{ ends: [b, \"sw:2\"], rate: 10 Mbit/s }}\n\
             flows:\n{FLOW}"
        ))
    };
    let fast = ", rate: 1 Gbit/s";
    for (nodes, switch, link, mbps, is_half) in [
        (", rate: 100 Mbit/s", fast, "", 100, false),
        (fast, ", rate: 100 Mbit/s", "", 100, false),
        (", rate: 10 Mbit/s, duplex: half", fast, "", 10, true),
        (", rate: 100 Mbit/s, duplex: half", fast, ", duplex: full", 100, false),
        (", duplex: half", "", ", rate: 10 Mbit/s", 10, true),
        // A port has its own rate in place of that of the switch.
        (fast, ", rate: 1 Gbit/s, port_settings: { 1: { rate: 100 Mbit/s } }", "", 100, false),
    ] {
        let plant = plant(nodes, switch, link);
        let own = &plant.network.links[0];
        assert_eq!(own.rate, BitRate::from_mbps(mbps), "{nodes} {switch} {link}");
        let duplex = if is_half { Duplex::Half } else { Duplex::Full };
        assert_eq!(own.duplex, duplex, "{nodes} {switch} {link}");
    }
}
