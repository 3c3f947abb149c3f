//! What every key means: files against the model they have to become.

use std::fs;
use std::path::Path;

use rtether::scenario::{Limit, Requirement, Scenario, Statistic, load, render};
use rtether_model::empirical::{Empirical, Quantile, Quantiles};
use rtether_model::flow::{Delivery, Flow, Phase, TcpParameters, Traffic};
use rtether_model::network::{
    AddressTable, Cost, ForwardingMode, Jitter, MulticastForwarding, Outliers, Pcp, PortVlan,
    QueueMap, Selection, Servers, Spread, Stack, Switch, TagHandling, Vid,
};
use rtether_model::quantity::{BitRate, Bytes, Duration};
use rtether_model::wire::Encapsulation;

fn scenario(text: &str) -> Scenario {
    let loaded = load("test.yaml", text);
    let words = loaded.text(render::Style::Plain);
    loaded.scenario.unwrap_or_else(|| panic!("{words}"))
}

fn file(path: &str) -> Scenario {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    scenario(&fs::read_to_string(root.join(path)).expect("the file is there"))
}

/// Two nodes at one switch, with these nodes' stacks, switch and flows.
fn small(stack: &str, switch: &str, flows: &str) -> Scenario {
    scenario(&format!(
        "rtether: 1\n\
         nodes: {{ a: {{ stack: {stack} }}, b: {{ stack: zero }} }}\n\
         switches: {{ sw: {switch} }}\n\
         links:\n\
         - {{ ends: [a, 'sw:1'], rate: 100 Mbit/s }}\n\
         - {{ ends: ['sw:4', b], rate: 1 Gbit/s, length: 20 m, errors: 1e-9 }}\n\
         flows:\n{flows}"
    ))
}

const FLOW: &str = "- { name: x, from: a, to: b, period: 2 ms, size: 64 B }\n";

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

fn flow(text: &str) -> Flow {
    let line = format!("- {{ name: x, from: a, to: b, {text} }}\n");
    small("zero", "{ ports: 4 }", &line).flows.remove(0)
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
    // Oracle: the file's own words.
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
         4: { trunk: [20, 10], native: 10 } } }",
    );
    let edf = switch("{ ports: 6, selection: edf }");
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
    // Port 4 of the file is port 3 of the model; 20 m at 5 ns a metre.
    assert_eq!(second.ends.map(|end| end.port), [3, 0]);
    assert_eq!(second.propagation, Duration::from_ns(100));
    assert_eq!(second.errors_per_billion, 1);
    assert!(!second.standby);
}

#[test]
fn periodic_flows() {
    let plain = flow("period: 2 ms, size: 64 B");
    assert_eq!(plain.encapsulation, Encapsulation::Udp);
    assert_eq!((plain.tag, plain.dscp, plain.deadline), (None, 0, None));
    let periodic = |period, phase, release_jitter| Traffic::Periodic {
        period,
        phase,
        release_jitter,
    };
    let ms = Duration::from_ms;
    let none = Duration::ZERO;
    assert_eq!(plain.traffic, periodic(ms(2), Phase::Random, none));
    let rate = flow("rate: 1440 /s, size: 60 B, phase: synchronized");
    let period = Duration::from_ps(694_444_444);
    assert_eq!(rate.traffic, periodic(period, Phase::Fixed(none), none));
    let full = flow(
        "class: c, over: profinet, period: 2 ms, jitter: 50 us, phase: 1 ms, size: 40 B, pcp: 6, \
         vlan: 10, start: 1 s, stop: 2 s, deadline: 3 ms, reply: { size: 60 B, after: 100 us }",
    );
    let phase = Phase::Fixed(ms(1));
    assert_eq!(full.traffic, periodic(ms(2), phase, Duration::from_us(50)));
    assert_eq!(full.encapsulation, Encapsulation::Profinet);
    let tag = full.tag.unwrap();
    assert_eq!(
        (tag.pcp, tag.vid),
        (Pcp::new(6).unwrap(), Vid::new(10).unwrap())
    );
    assert_eq!((full.start, full.stop), (ms(1000), Some(ms(2000))));
    assert_eq!(full.deadline, Some(ms(3)));
    let reply = full.reply.unwrap();
    assert_eq!(
        (reply.payload, reply.after),
        (Bytes::new(60), Duration::from_us(100))
    );
    // A priority without a VLAN is a priority tag.
    let tag = flow("period: 2 ms, size: 64 B, pcp: 3").tag.unwrap();
    assert_eq!(tag.vid, Vid::PRIORITY_ONLY);
}

#[test]
fn other_kinds_of_flows() {
    let ms = Duration::from_ms;
    let sporadic = |min_gap, mean_gap, burst| Traffic::Sporadic {
        min_gap,
        mean_gap,
        burst,
    };
    let events = flow("min_gap: 10 ms, size: 46 B");
    assert_eq!(events.traffic, sporadic(ms(10), ms(10), 1));
    let events = flow("min_gap: 10 ms, mean_gap: 50 ms, burst: 3, size: 46 B");
    assert_eq!(events.traffic, sporadic(ms(10), ms(50), 3));
    let mean_interval = ms(1);
    for text in ["rate: 1000 packets/s", "mean_gap: 1 ms"] {
        let poisson = flow(&format!("kind: poisson, {text}, size: 64 B"));
        assert_eq!(poisson.traffic, Traffic::Poisson { mean_interval });
    }
    // 1472 B over UDP: 1538 B with preamble and gap, at 10 Mbit/s 1230.4 us; a tag adds 3.2 us.
    let interval = Duration::from_ns(1_230_400);
    let flood = flow("kind: flood, rate: 10 Mbit/s, size: 1472 B");
    assert_eq!(flood.traffic, Traffic::Flood { interval });
    let interval = Duration::from_ns(1_233_600);
    let flood = flow("kind: flood, rate: 10 Mbit/s, size: 1472 B, vlan: 5");
    assert_eq!(flood.traffic, Traffic::Flood { interval });
    let goose = flow("over: goose, period: 2 ms, size: 64 B");
    assert_eq!(goose.delivery, Delivery::Multicast);
    let goose = flow("over: goose, period: 2 ms, size: 64 B, delivery: unicast");
    assert_eq!(goose.delivery, Delivery::Unicast);
}

#[test]
fn bulk_transfers() {
    let bulk = |text: &str| {
        let flow = flow(text);
        assert_eq!(flow.encapsulation, Encapsulation::Tcp);
        let Traffic::Bulk(bulk) = flow.traffic else {
            panic!("{:?}", flow.traffic);
        };
        assert_eq!(flow.payload, bulk.tcp.segment);
        bulk
    };
    let list = |text: &str| {
        let transfers = bulk(text).transfers;
        let pairs = transfers
            .iter()
            .map(|t| (t.start.as_ps() / 1_000_000_000, t.size));
        pairs.collect::<Vec<_>>()
    };
    let mb = Some(Bytes::new(1_000_000));
    assert_eq!(list("kind: bulk"), [(0, None)]);
    assert_eq!(list("over: tcp, total: 1 MB, start: 2 s"), [(2000, mb)]);
    // The run takes 10 s; what would start at its end does not.
    let every = list("kind: bulk, total: 1 MB, start: 1 s, every: 3 s");
    assert_eq!(every, [(1000, mb), (4000, mb), (7000, mb)]);
    let listed = list("kind: bulk, transfers: [{ at: 3 s, size: 1 MB }, { at: 1 s, size: 1 MB }]");
    assert_eq!(listed, [(1000, mb), (3000, mb)]);
    let greedy = bulk("kind: bulk");
    assert_eq!((greedy.rate, greedy.tcp), (None, TcpParameters::default()));
    let tuned = bulk(
        "kind: bulk, rate: 1 Mbit/s, tcp: { segment: 1000 B, window: 8 kB, initial_window: 2, \
         ack_every: 1, ack_delay: 10 ms, min_rto: 1 s }",
    );
    assert_eq!(tuned.rate, Some(BitRate::from_mbps(1)));
    let tcp = TcpParameters {
        segment: Bytes::new(1000),
        window: Bytes::new(8000),
        initial_window: 2,
        ack_every: 1,
        ack_delay: Duration::from_ms(10),
        min_rto: Duration::from_secs(1),
    };
    assert_eq!(tuned.tcp, tcp);
}

#[test]
fn run_and_accept() {
    let plain = small("zero", "{ ports: 4 }", FLOW);
    assert_eq!(plain.name, "test");
    assert_eq!(plain.accept, [Requirement::default_for_all()]);
    assert_eq!(plain.run.duration, Duration::from_secs(10));
    assert_eq!((plain.run.runs, plain.run.seed), (1, 1));
    assert_eq!(plain.run.bucket, Duration::from_ms(100));
    let tail = "run: { for: 5 s, warmup: 1 s, seeds: 3, seed: 9, bucket: 1 s }\n\
                accept:\n\
                - { flow: x, sim: { p99.9: 600 us, max: deadline, mean: 1 ms, median: 1 ms }, \
                bound: deadline, lost: 2, missed: 0.1 % }\n\
                - { flow: '*', sim: 2 ms }\n";
    let flow = FLOW.replace("size:", "deadline: 1 ms, size:");
    let full = small("zero", "{ ports: 4 }", &format!("{flow}{tail}"));
    assert_eq!(full.run.warmup, Duration::from_secs(1));
    assert_eq!((full.run.runs, full.run.seed), (3, 9));
    assert_eq!(full.run.bucket, Duration::from_secs(1));
    let us = |us| Limit::Time(Duration::from_us(us));
    let quantile = |part, whole| Statistic::Quantile { part, whole };
    let first = Requirement {
        flow: "x".into(),
        simulated: vec![
            (quantile(999, 1000), us(600)),
            (Statistic::Max, Limit::Deadline),
            (Statistic::Mean, us(1000)),
            (quantile(1, 2), us(1000)),
        ],
        bound: Some(Limit::Deadline),
        lost: Some(2),
        miss_per_billion: Some(1_000_000),
    };
    let second = Requirement {
        flow: "*".into(),
        simulated: vec![(Statistic::Max, us(2000))],
        bound: None,
        lost: None,
        miss_per_billion: None,
    };
    assert_eq!(full.accept, [first, second]);
}

#[test]
fn substation_is_that_of_the_paper() {
    // Catalogue, section 1b: ten bays of 9 PISAs, 3 bay nodes and a switch; Busbar unit, server, top.
    let plant = file("scenarios/substation.yaml");
    assert_eq!(plant.network.nodes.len(), 10 * 13 + 3);
    assert_eq!(plant.network.links.len(), 10 * 13 + 2);
    let of_class = |class: &str| plant.flows.iter().filter(|f| f.class == class).count();
    assert_eq!(of_class("ct-vt to protection unit"), 30);
    assert_eq!(of_class("ct-vt to bay controller"), 30);
    assert_eq!(of_class("ct-vt to differential protection unit"), 30);
    assert_eq!(of_class("ct-vt to busbar"), 30);
    assert_eq!(of_class("protection unit to circuit breaker"), 10);
    assert_eq!(of_class("busbar to circuit breaker"), 10);
    assert_eq!(of_class("exchange"), 10 * 9 * 3 * 2);
    // Within 24 s: PISA k at 2k seconds for k = 1 to 11, all bay nodes at 3 s, one upload.
    assert_eq!(of_class("file to pisa"), 11);
    assert_eq!(of_class("file to bay node"), 30);
    assert_eq!(of_class("file from pisa"), 1);
    let find = |name: &str| {
        plant
            .flows
            .iter()
            .find(|f| f.name == name)
            .expect("the flow")
    };
    let sample = find("bay01.ct1 > bay01.pu");
    assert_eq!(sample.payload, Bytes::new(32));
    assert_eq!(sample.mean_interval(), Some(Duration::from_ms(1)));
    assert_eq!(sample.deadline, Some(Duration::from_ms(1)));
    let command = find("busbar > bay10.cb1");
    assert_eq!(command.mean_interval(), Some(Duration::from_ms(4)));
    let Traffic::Bulk(upload) = &find("file bay01.ct2 > server").traffic else {
        panic!("not bulk");
    };
    assert_eq!(upload.transfers[0].size, Some(Bytes::new(1_000_000)));
    assert_eq!(upload.tcp.window, Bytes::new(7300));
}

#[test]
fn the_star_sends_what_the_benchmark_counts() {
    let star = file("benches/scenarios/star.yaml");
    let packets: i64 = star
        .flows
        .iter()
        .map(|flow| {
            let copies = i64::try_from(flow.listeners.len()).unwrap();
            let period = flow.mean_interval().unwrap();
            copies * (star.run.duration.as_ps() / period.as_ps())
        })
        .sum();
    assert_eq!(packets, 460_800);
}

#[test]
fn rings_without_flooding_need_no_standby() {
    let text = "rtether: 1\n\
        nodes: { a: { stack: zero }, b: { stack: zero } }\n\
        switches: { s1: { ports: 3 }, s2: { ports: 3 }, s3: { ports: 3 } }\n\
        links:\n\
        - { ends: [a, 's1:1'], rate: 100 Mbit/s }\n\
        - { ends: [b, 's2:1'], rate: 100 Mbit/s }\n\
        - { ends: ['s1:2', 's2:3'], rate: 100 Mbit/s }\n\
        - { ends: ['s2:2', 's3:3'], rate: 100 Mbit/s }\n\
        - { ends: ['s3:2', 's1:3'], rate: 100 Mbit/s }\n\
        flows: [{ name: x, from: a, to: b, period: 2 ms, size: 64 B }]\n";
    let loaded = load("ring.yaml", text);
    // Only s3 is passed by nothing.
    let codes: Vec<_> = loaded.diagnostics.iter().map(|d| d.code).collect();
    assert_eq!(codes, ["unused-node"]);
    assert!(loaded.scenario.is_some());
}

#[test]
fn places_belong_to_what_they_name() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/bottling-line.yaml");
    let text = fs::read_to_string(path).expect("the file is there");
    let loaded = load("x", &text);
    let scenario = loaded.scenario.expect("no errors");
    let word = |span: &rtether::scenario::Span| &text[span.start as usize..span.end as usize];
    for (node, span) in scenario.network.nodes.iter().zip(&loaded.places.nodes) {
        assert_eq!(word(span), node.name);
    }
    for (flow, span) in scenario.flows.iter().zip(&loaded.places.flows) {
        assert_eq!(word(span), flow.name);
    }
    assert_eq!(loaded.places.links.len(), scenario.network.links.len());
}
