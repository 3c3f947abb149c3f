//! Lowering of hubs, half-duplex links, and traffic that waits for replies.

use rtether_model::flow::{Bursts, Flow, Phase, TcpParameters, Traffic};
use rtether_model::network::{Backoff, Duplex, Hub};
use rtether_model::quantity::{BitRate, Bytes, Duration};
use rtether_model::wire::Encapsulation;
use rtether_scenario::{Override, Scenario, load, load_with, render};

fn text(hub: &str, flows: &str) -> String {
    format!(
        "rtether: 1\n\
         nodes: {{ a: {{ stack: zero }}, b: {{ stack: zero }}, c: {{ stack: zero }} }}\n\
         hubs: {{ hub1: {hub} }}\n\
         switches: {{ sw: {{ ports: 4 }} }}\n\
         links:\n\
         - {{ ends: [a, 'hub1:1'], length: 10 m }}\n\
         - {{ ends: ['hub1:4', 'sw:1'], rate: 10 Mbit/s, duplex: half }}\n\
         - {{ ends: [b, 'sw:2'], rate: 100 Mbit/s, duplex: half }}\n\
         - {{ ends: [c, 'sw:3'], rate: 1 Gbit/s, duplex: full }}\n\
         flows:\n{flows}\
         - {{ name: to c, from: a, to: c, period: 2 ms, size: 64 B }}\n"
    )
}

fn scenario(hub: &str, flows: &str) -> Scenario {
    let loaded = load("test.yaml", &text(hub, flows));
    assert_eq!(loaded.text(render::Style::Plain), "");
    loaded.into_scenario().expect("it has no mistake")
}

const HUB: &str = "{ ports: 4, rate: 10 Mbit/s }";

fn flow(text: &str) -> Flow {
    let line = format!("- {{ name: x, from: a, to: b, {text} }}\n");
    scenario(HUB, &line).flows.remove(0)
}

#[test]
fn hubs() {
    let hub = |text: &str| {
        let plant = scenario(text, "- { name: x, from: a, to: b, period: 2 ms, size: 64 B }\n");
        let id = plant.network.find("hub1").expect("declared");
        *plant.network.hub(id).expect("a hub")
    };
    let plain = Hub {
        rate: BitRate::from_mbps(10),
        delay: Duration::ZERO,
        backoff: Backoff::Standard,
        ports: 4,
    };
    assert_eq!(hub(HUB), plain);
    let full = Hub {
        delay: Duration::from_ns(500),
        backoff: Backoff::UpperEndIncluded,
        ports: 11,
        ..plain
    };
    let text = "{ ports: 11, rate: 10 Mbit/s, delay: 500 ns, backoff: upper-end-included }";
    assert_eq!(hub(text), full);
}

#[test]
fn links_of_hubs_and_at_half_duplex() {
    let plant = scenario(HUB, "- { name: x, from: a, to: b, period: 2 ms, size: 64 B }\n");
    let links: Vec<_> = plant.network.links.iter().map(|link| (link.rate, link.duplex)).collect();
    let mbps = BitRate::from_mbps;
    let expected = [
        (mbps(10), Duplex::Half),
        (mbps(10), Duplex::Half),
        (mbps(100), Duplex::Half),
        (mbps(1000), Duplex::Full),
    ];
    assert_eq!(links, expected);
    // 10 m at 5 ns a meter; port 4 in the file is port 3 in the model.
    assert_eq!(plant.network.links[0].propagation, Duration::from_ns(50));
    assert_eq!(plant.network.links[1].ends.map(|end| end.port), [3, 0]);
}

#[test]
fn requests_that_wait_for_answers() {
    let ping = flow("over: icmp, kind: adaptive, size: 56 B, reply: { size: 56 B }");
    let adaptive = |pause, timeout| Traffic::Adaptive { pause, timeout };
    let second = Duration::from_secs(1);
    assert_eq!(ping.traffic, adaptive(Duration::ZERO, second));
    assert_eq!((ping.encapsulation, ping.connection), (Encapsulation::Icmp, None));
    let ms = Duration::from_ms;
    let full =
        flow("kind: adaptive, pause: 10 ms, timeout: 200 ms, size: 9 B, reply: { size: 9 B }");
    assert_eq!(full.traffic, adaptive(ms(10), ms(200)));
    assert_eq!(full.encapsulation, Encapsulation::Udp);
}

#[test]
fn messages_over_tcp() {
    let period = Duration::from_ms(2);
    let periodic = Traffic::periodic(period, Phase::Random);
    let plain = flow("over: tcp, period: 2 ms, size: 100 B");
    assert_eq!((&plain.traffic, plain.payload), (&periodic, Bytes::new(100)));
    assert_eq!(plain.connection, Some(TcpParameters::default()));
    let tcp = TcpParameters {
        window: Bytes::new(32_768),
        ack_delay: Duration::from_ms(20),
        ..TcpParameters::default()
    };
    for (text, traffic) in [
        ("kind: poisson, mean_gap: 2 ms", Traffic::Poisson { mean_interval: period }),
        ("rate: 500 packets/s", periodic),
        ("min_gap: 2 ms", Traffic::Sporadic { min_gap: period, mean_gap: period, burst: 1 }),
    ] {
        let tuned = flow(&format!(
            "over: tcp, {text}, size: 100 B, reply: {{ size: 50 B }}, \
             tcp: {{ window: 32 KiB, ack_delay: 20 ms }}"
        ));
        assert_eq!(tuned.traffic, traffic);
        assert_eq!(tuned.connection, Some(tcp));
    }
    // Without a size it is still a transfer.
    for text in ["over: tcp", "over: tcp, rate: 1 Mbit/s", "kind: bulk", "total: 1 MB"] {
        let bulk = flow(text);
        assert_eq!((bulk.encapsulation, bulk.connection), (Encapsulation::Tcp, None));
        assert!(matches!(bulk.traffic, Traffic::Bulk(_)), "{text}");
    }
}

#[test]
fn bursts() {
    let bursts = |text: &str| {
        let Traffic::Bulk(bulk) = flow(text).traffic else {
            panic!("{text}");
        };
        assert!(bulk.transfers.is_empty());
        bulk.bursts.expect("bursts")
    };
    let size = Bytes::new(1_000_000);
    let gap = Some(Duration::from_secs(25));
    let greedy = bursts("bursts: { size: 1 MB }, start: 1 s");
    assert_eq!(greedy, Bursts { size, mean_gap: None });
    let modest = bursts("kind: bulk, bursts: { size: 1 MB, mean_gap: 25 s }, rate: 1 Mbit/s");
    assert_eq!(modest, Bursts { size, mean_gap: gap });
}

/// Returns the diagnostic codes for three streams that meet at a hub.
fn codes_of_load(period: &str) -> Vec<&'static str> {
    let text = format!(
        "rtether: 1\n\
         nodes: {{ a: {{ stack: zero }}, b: {{ stack: zero }}, c: {{ stack: zero }} }}\n\
         hubs: {{ h1: {{ ports: 3, rate: 10 Mbit/s }}, h2: {{ ports: 3, rate: 10 Mbit/s }} }}\n\
         links:\n\
         - {{ ends: [a, 'h1:1'] }}\n\
         - {{ ends: ['h1:3', 'h2:3'] }}\n\
         - {{ ends: [b, 'h2:1'] }}\n\
         - {{ ends: [c, 'h2:2'] }}\n\
         flows:\n\
         - {{ name: 1, from: a, to: b, period: {period}, size: 88 B }}\n\
         - {{ name: 2, from: b, to: c, period: {period}, size: 88 B }}\n\
         - {{ name: 3, from: c, to: [a, b], delivery: multicast, period: {period}, size: 88 B }}\n"
    );
    let loaded = load("test.yaml", &text);
    loaded.diagnostics.iter().map(|d| d.code).collect()
}

#[test]
fn a_collision_domain_counts_a_frame_once() {
    // 88 B over UDP are 154 B with preamble and gap, 123.2 us at 10 Mbit/s: three in 369.6 us, for
    // any number of hubs and listeners.
    assert!(codes_of_load("369.6 us").is_empty());
    assert_eq!(codes_of_load("369.5 us"), ["link-overload"]);
}

#[test]
fn a_frame_is_sent_once_through_a_hub() {
    // 110 B and the preamble at 10 Mbit/s: 94.4 us; 10 m and 0 m on the switch side: 50 ns; the
    // hub: 1 us; the second link at 100 Mbit/s: 9.44 us.
    let hub = "{ ports: 4, rate: 10 Mbit/s, delay: 1 us }";
    let codes = |deadline: &str| {
        let flow = format!(
            "- {{ name: x, from: a, to: b, period: 2 ms, size: 64 B, deadline: {deadline} }}\n"
        );
        let loaded = load("test.yaml", &text(hub, &flow));
        let codes: Vec<_> = loaded.diagnostics.iter().map(|d| d.code).collect();
        codes
    };
    assert!(codes("104.89 us").is_empty());
    assert_eq!(codes("104.88 us"), ["deadline-unreachable"]);
}

#[test]
fn overrides_reach_hubs_and_links() {
    let sets = ["hubs.hub1.delay=2 us", "links.3.duplex=full", "flows.x.bursts.size=2 MB"];
    let sets = sets.map(|set| Override::parse(set).unwrap());
    let text = text(HUB, "- { name: x, from: a, to: b, kind: bulk }\n");
    let loaded = load_with("test.yaml", &text, &sets).into_scenario();
    let scenario = loaded.unwrap_or_else(|words| panic!("{words}"));
    let id = scenario.network.find("hub1").unwrap();
    assert_eq!(scenario.network.hub(id).unwrap().delay, Duration::from_us(2));
    let Traffic::Bulk(bulk) = &scenario.flows[0].traffic else {
        panic!("not bulk");
    };
    assert_eq!(bulk.bursts.unwrap().size, Bytes::new(2_000_000));
    // A misspelled path must not create a hub.
    let slip = [Override::parse("hubs.hub2.rate=10 Mbit/s").unwrap()];
    let loaded = load_with("test.yaml", &text, &slip);
    assert_eq!(loaded.diagnostics[0].code, "unknown-path");
}
