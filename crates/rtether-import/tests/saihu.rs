//! Networks of output ports, in JSON.

use rtether_import::{Code, Options, Plan, import};

/// Two stations at a switch, and a third one behind another, as Saihu's own files have it: units in
/// texts, names without a number, and one curve in octets.
const NETWORK: &str = r#"{
  "network": { "name": "small", "multiplexing": "FIFO", "time_unit": "us", "data_unit": "B",
    "rate_unit": "Mbps", "packetizer": true, "analysis_option": ["IS", "PK"] },
  "flows": [
    { "name": "f", "path": ["a-o1", "s1-o2", "s2-o1"], "path_name": "c",
      "arrival_curve": { "bursts": [298], "rates": ["1.904 Mbps"] }, "max_packet_length": "238B" },
    { "name": "g", "path": ["b-o1", "s1-o2", "s2-o1"], "path_name": "c",
      "arrival_curve": { "bursts": [2084], "rates": [4.168] }, "max_packet_length": 1042 },
    { "name": "h", "path": ["b-o1", "s1-o1"], "path_name": "a",
      "arrival_curve": { "bursts": [1542], "rates": [1] }, "max_packet_length": 1542,
      "multicast": [ { "name": "c", "path": ["b-o1", "s1-o2", "s2-o1"] } ] }
  ],
  "servers": [
    { "name": "a-o1", "service_curve": { "latencies": [5], "rates": [100] }, "capacity": 100 },
    { "name": "b-o1", "service_curve": { "latencies": ["4 us"], "rates": ["1 Gbps"] }, "capacity": 1000 },
    { "name": "s1-o1", "service_curve": { "latencies": [0.000001], "rates": [100] }, "capacity": 100 },
    { "name": "s1-o2", "service_curve": { "latencies": [5.5], "rates": [100] }, "capacity": 100 },
    { "name": "s2-o1", "service_curve": { "latencies": [0], "rates": [10] }, "capacity": 10 }
  ]
}"#;

fn plan(text: &str) -> Plan {
    import("small.json", text.as_bytes(), &Options::new()).expect("a plan")
}

/// Oracle: by hand. 238 octets on the wire are 200 of payload, at 1.904 Mbit/s every 1 ms; 60 more
/// at once is a quarter of a period. 2084 octets are two packets, which come every 4 ms; 1542 octets
/// have a tag, 12.336 ms at 1 Mbit/s.
#[test]
fn ports_are_links_and_curves_are_releases() {
    let plan = plan(NETWORK);
    let lines = plan.scenario.lines();
    let lines = lines.map(|line| line.split(" #").next().unwrap_or_default().trim());
    let lines: Vec<&str> = lines.collect();
    for line in [
        "- { ends: [a, \"s1:1\"], rate: 100 Mbit/s, propagation: 5 us }",
        "- { ends: [b, \"s1:3\"], rate: 1 Gbit/s, propagation: 4 us }",
        "- { ends: [\"s1:2\", \"s2:2\"], rate: 100 Mbit/s, propagation: 5500 ns }",
        "- { ends: [\"s2:1\", c], rate: 10 Mbit/s }",
        "size: 200 B",
        "period: 1 ms",
        "size: 1004 B",
        "min_gap: 4 ms",
        "burst: 2",
        "size: 1500 B",
        "pcp: 0",
        "period: 12336 us",
        "to: [a, c]",
        "delivery: multicast",
    ] {
        assert!(lines.contains(&line), "{line}\n{}", plan.scenario);
    }
    let jitter = lines.iter().find_map(|line| line.strip_prefix("jitter: "));
    assert!(jitter.is_some_and(|own| own.starts_with("25210084")), "{jitter:?}");
    assert_eq!(lines.iter().filter(|line| line.starts_with("- { ends")).count(), 4);
    assert_eq!(plan.findings, []);
}

#[test]
fn what_it_leaves_open_is_found_and_what_it_cannot_be_is_refused() {
    let open = NETWORK.replace("\"packetizer\": true, ", "").replace("[\"IS\", \"PK\"]", "[]");
    let open = open.replace("FIFO", "ARBITRARY");
    let codes: Vec<Code> = plan(&open).findings.iter().map(|own| own.code).collect();
    assert_eq!(codes, [Code::NotRead, Code::NotRead]);
    for (from, to, what) in [
        (
            "\"max_packet_length\": 1542",
            "\"max_packet_length\": 1543",
            "the flow `h`: packets of 1543 octets",
        ),
        ("\"name\": \"s2-o1\"", "\"name\": \"s2-o9\"", "there is no server `s2-o1`"),
        (
            "\"rates\": [1] }",
            "\"rates\": [1, 2] }",
            "the flow `h`: `rates` of `arrival_curve` has several",
        ),
        (
            "\"path\": [\"b-o1\", \"s1-o1\"]",
            "\"path\": [\"b-o1\", \"s2-o1\"]",
            "the server `b-o1` leads to",
        ),
        ("[\"1 Gbps\"]", "[\"1 furlong\"]", "the server `b-o1`: `rates` holds no number"),
        ("\"time_unit\": \"us\"", "\"time_unit\": \"fortnight\"", "the unit `fortnight`"),
        ("\"flows\"", "\"flow\"", "it has no list `flows`"),
    ] {
        let text = NETWORK.replacen(from, to, 1);
        assert_ne!(text, NETWORK, "{from}");
        let error = import("small.json", text.as_bytes(), &Options::new()).expect_err(what);
        assert!(error.what.starts_with(what), "{error}");
    }
}
