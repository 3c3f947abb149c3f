//! Files as they come from the field, each with the right answer. Oracle: how they were made.

use rtether::import::{Code, File, Options, Plan, import_all};
use rtether::scenario;

/// Imports a file; what comes of it loads.
fn plan(name: &str, octets: &[u8]) -> Plan {
    let plan = import_all(&[File { name, octets }], &Options::new());
    let plan = plan.unwrap_or_else(|error| panic!("{error}"));
    let loaded = scenario::load("plan.yaml", &plan.scenario).into_scenario();
    loaded.unwrap_or_else(|words| panic!("{name}: {words}"));
    plan
}

macro_rules! file {
    ($name:literal) => {
        plan($name, include_bytes!($name))
    };
}

/// Asserts that the plan has these lines, and findings of these kinds and no others.
fn says(plan: &Plan, lines: &[&str], findings: &[Code]) {
    let written: Vec<&str> = plan
        .scenario
        .lines()
        .map(|line| line.split(" #").next().unwrap_or_default().trim())
        .collect();
    for line in lines {
        assert!(written.contains(line), "{line}\n{}", plan.scenario);
    }
    let codes: Vec<Code> = plan.findings.iter().map(|found| found.code).collect();
    assert_eq!(codes, findings, "{:?}", plan.findings);
}

const UDP: &str = "- name: \"10.0.0.1 > 10.0.0.2 UDP 4000 to 5000\"";
const EACH_MS: [&str; 4] = [UDP, "period: 1 ms", "size: 100 B", "deadline: 1 ms"];

/// IGMP and OSPF have a DSCP of 48, for which flows have no word without UDP, TCP or ICMP.
#[test]
fn a_dscp_that_no_flow_has_is_found() {
    let found = [Code::NotRead];
    says(&file!("cap-igmp-dscp.pcap.gz"), &EACH_MS, &found);
    says(&file!("cap-ospf-dscp.pcap.gz"), &EACH_MS, &found);
    says(&file!("cap-igmp-nodscp.pcap.gz"), &EACH_MS, &[]);
    let ipv6 = file!("cap-ipv6-dscp.pcap.gz");
    says(&ipv6, &["period: 1 ms"], &found);
    assert!(ipv6.findings[0].text.contains("46"), "{:?}", ipv6.findings);
}

#[test]
fn packets_without_ethernet_are_read() {
    for (plan, link_type) in
        [(file!("cap-linux-cooked.pcap.gz"), 113), (file!("cap-raw-ip.pcap.gz"), 101)]
    {
        says(&plan, &EACH_MS, &[Code::NotRead]);
        let text = &plan.findings[0].text;
        assert!(text.contains(&format!("link type {link_type}")), "{text}");
    }
}

#[test]
fn a_pause_and_a_stepped_clock_part_sessions() {
    let pause = file!("cap-pause-1s.pcap.gz");
    says(&pause, &EACH_MS, &[Code::Sessions]);
    assert!(pause.findings[0].text.contains("1001 ms"), "{pause:?}");
    says(&file!("cap-step-back.pcap.gz"), &EACH_MS, &[Code::Sessions]);
}

#[test]
fn tags_beyond_the_first_are_found() {
    let qinq = ["pcp: 3", "vlan: 100"];
    let qinq = [&EACH_MS[..], &qinq].concat();
    says(&file!("cap-qinq.pcap.gz"), &qinq, &[Code::NotRead]);
    let ring = file!("cap-hsr.pcap.gz");
    let lines = ["class: sv", "over: sv", "period: 250 us", "size: 100 B", "pcp: 4", "vlan: 5"];
    says(&ring, &lines, &[Code::Redundancy]);
    let text = &ring.findings[0].text;
    assert!(text.contains("6 octets") && text.contains("2000 of them are copies"), "{text}");
}

#[test]
fn goose_has_events_and_numbers_that_end() {
    let event = ["- name: G event", "min_gap: 4 ms", "- name: G heartbeat"];
    says(&file!("cap-goose-event.pcap.gz"), &event, &[]);
    let wrap = file!("cap-goose-wrap.pcap.gz");
    says(&wrap, &["- name: G heartbeat", "period: 1 s"], &[]);
    assert!(!wrap.scenario.contains("G event"));
}

#[test]
fn ports_may_count_from_zero() {
    let lines = [
        "from: s0",
        "to: [s1-o0.end]",
        "- { ends: [s0, \"s1:3\"], rate: 100 Mbit/s, propagation: 10 us }",
    ];
    says(&file!("saihu-ports-from-zero.json"), &lines, &[Code::NotRead]);
}

#[test]
fn keys_of_scenarios_are_columns() {
    let lines = ["- name: a", "from: x", "period: 2 ms", "size: 64 B", "deadline: 1 ms"];
    says(&file!("list-with-own-key-names.csv"), &lines, &[]);
}

/// The lines of the control.
const BAY: [&str; 5] =
    ["- name: Pub/LD0/g event", "min_gap: 4 ms", "period: 1 s", "pcp: 4", "vlan: 10"];

#[test]
fn addresses_that_cannot_be_are_found() {
    says(&file!("scl-ok.scd"), &BAY, &[]);
    for (plan, part) in [
        (file!("scl-mac-null.scd"), "that of one station"),
        (file!("scl-mac-unicast.scd"), "that of one station"),
        (file!("scl-mac-broadcast.scd"), "that of all stations"),
        (file!("scl-appid-short.scd"), "four hexadecimal digits"),
    ] {
        says(&plan, &BAY, &[Code::BadValue]);
        let text = &plan.findings[0].text;
        assert!(text.contains(part), "{text}");
    }
    // Siblings: what else a file can say there.
    let ok = include_str!("scl-ok.scd");
    for (from, to, part) in [
        ("01-0C-CD-01-00-01", "01:0C:CD:01:00:01", "no address"),
        ("01-0C-CD-01-00-01", "01-0C-CD-01-00", "no address"),
        ("APPID\">0001", "APPID\">4001", "range of GOOSE"),
        ("APPID\">0001", "APPID\">C000", "range of GOOSE"),
        ("APPID\">4000", "APPID\">0001", "range of sampled values"),
        ("APPID\">0001", "APPID\">000G", "four hexadecimal digits"),
        (">1000</MaxTime>", ">2</MaxTime>", "MinTime 4 ms is longer than MaxTime 2 ms"),
    ] {
        let text = ok.replacen(from, to, 1);
        assert_ne!(text, ok, "{from}");
        let plan = plan("x.scd", text.as_bytes());
        let found = plan.findings.iter().find(|found| found.code == Code::BadValue);
        assert!(found.is_some_and(|found| found.text.contains(part)), "{to}: {:?}", plan.findings);
    }
    // GOOSE for tripping has a range of its own.
    let trip = ok.replace("APPID\">0001", "APPID\">8001");
    says(&plan("x.scd", trip.as_bytes()), &BAY, &[]);
}

#[test]
fn a_client_without_a_description_is_a_station() {
    let plan = file!("scl-client-without-ied.cid");
    let lines = ["from: Meter", "to: [Scada]", "over: tcp", "period: 1 s", "class: report"];
    says(&plan, &lines, &[]);
}

/// A rate without a multiplier is one of bits, if it can be.
#[test]
fn rates_without_a_multiplier() {
    let wrong = file!("scl-bitrate-10-no-multiplier.scd");
    let link = "- { ends: [Pub, \"Bus:1\"], rate: 10 Mbit/s }";
    says(&wrong, &[link], &[Code::BadValue]);
    let text = include_str!("scl-bitrate-10-no-multiplier.scd");
    let bits = text.replace(">10</BitRate>", ">10000000</BitRate>");
    says(&plan("x.scd", bits.as_bytes()), &[link], &[]);
    let odd = text.replace(">10</BitRate>", ">7</BitRate>");
    let usual = "- { ends: [Pub, \"Bus:1\"], rate: 100 Mbit/s }";
    says(&plan("x.scd", odd.as_bytes()), &[usual], &[Code::BadValue]);
}
