//! Lowering of flows, run parameters and requirements.

use rtether_model::flow::{Delivery, Flow, Phase, TcpParameters, Traffic};
use rtether_model::network::{Pcp, PortId, Vid};
use rtether_model::quantity::{BitRate, Bytes, Duration};
use rtether_model::wire::Encapsulation;
use rtether_scenario::{Limit, Loss, Requirement, Statistic};

use super::{FLOW, small};

fn flow(text: &str) -> Flow {
    let line = format!("- {{ name: x, from: a, to: b, {text} }}\n");
    small("zero", "{ ports: 4 }", &line).flows.remove(0)
}

#[test]
fn periodic_flows() {
    let plain = flow("period: 2 ms, size: 64 B");
    assert_eq!(plain.encapsulation, Encapsulation::Udp);
    assert_eq!((plain.tag, plain.dscp, plain.deadline), (None, 0, None));
    let periodic =
        |period, phase, release_jitter| Traffic::Periodic { period, phase, release_jitter };
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
    assert_eq!((tag.pcp, tag.vid), (Pcp::new(6).unwrap(), Vid::new(10).unwrap()));
    assert_eq!((full.start, full.stop), (ms(1000), Some(ms(2000))));
    assert_eq!(full.deadline, Some(ms(3)));
    let reply = full.reply.unwrap();
    assert_eq!((reply.payload, reply.after), (Bytes::new(60), Duration::from_us(100)));
    // A priority without a VLAN gives a priority tag.
    let tag = flow("period: 2 ms, size: 64 B, pcp: 3").tag.unwrap();
    assert_eq!(tag.vid, Vid::PRIORITY_ONLY);
}

#[test]
fn other_kinds_of_flows() {
    let ms = Duration::from_ms;
    let sporadic = |min_gap, mean_gap, burst| Traffic::Sporadic { min_gap, mean_gap, burst };
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
        let pairs = transfers.iter().map(|t| (t.start.as_ps() / 1_000_000_000, t.size));
        pairs.collect::<Vec<_>>()
    };
    let mb = Some(Bytes::new(1_000_000));
    assert_eq!(list("kind: bulk"), [(0, None)]);
    assert_eq!(list("over: tcp, total: 1 MB, start: 2 s"), [(2000, mb)]);
    // The run takes 10 s; a transfer due at its end does not start.
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
        measured: Vec::new(),
        bound: Some(Limit::Deadline),
        lost: Some(Loss::Count(2)),
        miss_per_billion: Some(1_000_000),
    };
    let second = Requirement {
        flow: "*".into(),
        simulated: vec![(Statistic::Max, us(2000))],
        measured: Vec::new(),
        bound: None,
        lost: None,
        miss_per_billion: None,
    };
    assert_eq!(full.accept, [first, second]);
}

/// Oracle: by hand.
#[test]
fn lost_is_a_count_or_a_share() {
    for (text, expected, shown) in [
        ("3", Loss::Count(3), "3"),
        ("1 %", Loss::PerBillion(10_000_000), "1 %"),
        ("0.01 %", Loss::PerBillion(100_000), "0.01 %"),
        ("250 ppm", Loss::PerBillion(250_000), "0.025 %"),
        ("0.5", Loss::PerBillion(500_000_000), "50 %"),
    ] {
        let plant = super::scenario(&format!(
            "rtether: 1
nodes: {{ a: {{ stack: zero }}, b: {{ stack: zero }} }}
links: [{{ ends: [a, b], rate: 100 Mbit/s }}]
flows: [{{ name: f, from: a, to: b, period: 1 ms, size: 40 B }}]
accept: [{{ flow: f, lost: {text} }}]
"
        ));
        let lost = plant.accept[0].lost.expect("it");
        assert_eq!((lost, lost.to_string().as_str()), (expected, shown), "{text}");
    }
    let percent = Loss::PerBillion(10_000_000);
    assert!(percent.permits(1, 100) && !percent.permits(2, 199) && percent.permits(0, 0));
    assert!(Loss::Count(1).permits(1, 1) && !Loss::Count(0).permits(1, 1_000_000));
}

/// Two switches joined twice and a third one beside them; the routes of a flow from `a`, as nodes and
/// ports counted from one.
fn routes(to: &str, text: &str) -> Vec<Vec<String>> {
    let plant = super::scenario(&format!(
        "rtether: 1\n\
         nodes: {{ a: {{ stack: zero }}, b: {{ stack: zero }}, c: {{ stack: zero }} }}\n\
         switches: {{ s1: {{ ports: 4, addresses: learning }}, s2: {{ ports: 4 }}, s3: {{ ports: 4 }} }}\n\
         links:\n\
         - {{ ends: [a, \"s1:1\"], rate: 100 Mbit/s }}\n\
         - {{ ends: [b, \"s2:1\"], rate: 100 Mbit/s }}\n\
         - {{ ends: [c, \"s3:1\"], rate: 100 Mbit/s }}\n\
         - {{ ends: [\"s1:2\", \"s2:2\"], rate: 100 Mbit/s }}\n\
         - {{ ends: [\"s1:3\", \"s2:3\"], rate: 100 Mbit/s }}\n\
         - {{ ends: [\"s1:4\", \"s3:2\"], rate: 100 Mbit/s }}\n\
         - {{ ends: [\"s2:4\", \"s3:3\"], rate: 100 Mbit/s }}\n\
         flows: [{{ name: x, from: a, to: {to}, period: 2 ms, size: 64 B, {text} }}]\n"
    ));
    let name = |port: &PortId| {
        let node = &plant.network.node(port.node).name;
        format!("{node}:{}", port.port + 1)
    };
    let routes = plant.flows[0].routes.iter();
    routes.map(|route| route.iter().map(name).collect()).collect()
}

/// Oracle: by hand. The switches form a loop and one of them learns, so the plant would be refused
/// if it flooded anything.
#[test]
fn routes_become_ports() {
    let long = [["a:1", "s1:4", "s3:3", "s2:1"]];
    assert_eq!(routes("b", "route: [a, s1, s3, s2, b]"), long);
    let second = [["a:1", "s1:3", "s2:1"]];
    for text in ["[a, \"s1:3\", s2, b]", "[a, s1, \"s2:3\", b]"] {
        assert_eq!(routes("b", &format!("route: {text}")), second);
    }
    // A port of the link before a node, and of the one behind it.
    let passed = routes("c", "route: [a, s1, \"s2:2\", s3, c]");
    assert_eq!(passed, [["a:1", "s1:2", "s2:4", "s3:1"]]);
    let passed = routes("c", "route: [a, \"s1:2\", \"s2:4\", s3, c]");
    assert_eq!(passed, [["a:1", "s1:2", "s2:4", "s3:1"]]);
    // In the order of the listeners, which is that of the file.
    let both = "[[a, s1, s3, s2, b], [a, s1, s3, c]]";
    for kind in ["unicast", "multicast"] {
        let found = routes("[c, b]", &format!("route: {both}, delivery: {kind}"));
        assert_eq!(found[0], ["a:1", "s1:4", "s3:1"]);
        assert_eq!(found[1], long[0]);
    }
    // Unicast copies may part and meet again.
    let meet = "[[a, \"s1:2\", s2, b], [a, \"s1:3\", s2, s3, c]]";
    assert_eq!(routes("[b, c]", &format!("route: {meet}")).len(), 2);
}
