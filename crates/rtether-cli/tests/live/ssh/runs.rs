//! Whole runs. Oracles: what was sent; the offset given to a time namespace; the processes in the
//! namespaces of the hosts.

use std::os::unix::process::CommandExt;
use std::time::Duration;

use rtether_testkit::{Finish, Run, signal_group};
use serde_json::Value;

use super::bed::Bed;

const SCENARIO: &str = "
rtether: 1
nodes: { a: { stack: zero }, b: { stack: zero } }
links: [{ ends: [a, b], rate: 1 Gbit/s }]
flows:
  - { name: udp, from: a, to: b, period: 2 ms, size: 64 B }
  - { name: trip, from: a, to: b, period: 5 ms, size: 64 B, pcp: 5, reply: { size: 100 B } }
  - { name: raw, from: b, to: a, over: goose, period: 4 ms, size: 120 B, pcp: 4 }
  - { name: tcp, from: b, to: a, over: tcp, period: 10 ms, size: 300 B }
  - { name: group, from: b, to: [a], delivery: multicast, period: 10 ms, size: 60 B }
  - { name: file, from: a, to: b, kind: bulk, total: 1 MB }
run: { for: 3 s }
";

fn stream<'d>(document: &'d Value, name: &str) -> &'d Value {
    let streams = document["streams"].as_array().unwrap();
    let found = streams.iter().find(|stream| stream["flow"] == name);
    found.unwrap()
}

#[test]
fn a_scenario_runs_between_hosts() {
    let Some(bed) = Bed::new("hosts", 0) else {
        return;
    };
    let mut command = bed.live(SCENARIO);
    command.args(["--json", "--set", "flows.udp.period=4 ms", "--seed", "7"]);
    let output = command.run();
    output.exits(0);
    assert_eq!(bed.left(), [""; 0]);
    let document = output.json();
    assert_eq!(document["backend"], "ssh");
    for (name, per_second) in
        [("udp", 250), ("trip", 200), ("raw", 250), ("tcp", 100), ("group", 100)]
    {
        let stream = stream(&document, name);
        // Three seconds less the warm-up of a tenth; a release at either end may be left out. Of the
        // warm-up, those count that a stall of this host makes late.
        let expected = per_second * 27 / 10;
        let released = stream["released"].as_u64().unwrap();
        let late_ns = stream["late_release_ns"]["p999"].as_u64().unwrap_or(0);
        let more = late_ns * per_second / 1_000_000_000;
        assert!((expected - 2..=expected + 2 + more).contains(&released), "{name}: {stream}");
        assert_eq!(stream["lost"], 0, "{name}: {stream}");
        assert_eq!(stream["delivered"], stream["released"]);
        assert_eq!(stream["uncertainty_ns"], 0, "one kernel has one clock");
        // Without a wire and without load the latency is that of the wake-ups.
        let median = stream["latency_ns"]["p50"].as_u64().unwrap();
        assert!((1_000..5_000_000).contains(&median), "{name}: {stream}");
    }
    let file = &stream(&document, "file")["files"][0];
    assert_eq!(file["delivered_bytes"], 1_000_000);
    assert!(file["finished_ns"].as_u64() > file["started_ns"].as_u64());
    for (host, name) in document["hosts"].as_array().unwrap().iter().zip(["a", "b"]) {
        assert_eq!(host["node"], name);
        assert_eq!(host["device"], "plant");
        assert_eq!(host["clock"]["same"], true);
        assert!(host["ip"].as_str().unwrap().starts_with("10.78.0."));
    }
}

#[test]
fn clocks_that_are_apart_are_compared() {
    let Some(bed) = Bed::new("clocks", 1_000_000) else {
        return;
    };
    let scenario = "
rtether: 1
nodes: { a: { stack: zero }, b: { stack: zero } }
links: [{ ends: [a, b], rate: 1 Gbit/s }]
flows:
  - { name: wide, from: a, to: b, period: 4 ms, size: 64 B, deadline: 10 s }
  - { name: back, from: b, to: a, over: raw, period: 4 ms, size: 64 B, deadline: 10 s }
  - { name: narrow, from: a, to: b, period: 4 ms, size: 64 B, deadline: 10 us }
  - { name: trip, from: b, to: a, period: 4 ms, size: 64 B, deadline: 10 s, reply: { size: 64 B } }
run: { for: 2 s }
";
    let mut command = bed.live(scenario);
    command.arg("--json");
    let output = command.run();
    let document = output.json();
    // Oracle: `unshare` was given the offset. The rest is the time between two readings.
    let clock = &document["hosts"][1]["clock"];
    let offset = clock["offset_ns"].as_i64().unwrap();
    let uncertainty = clock["uncertainty_ns"].as_i64().unwrap();
    assert!((offset - 1_000_000_000_000_000).abs() <= uncertainty, "{clock}");
    assert_eq!(document["hosts"][0]["clock"]["same"], true);
    for name in ["wide", "back"] {
        let stream = stream(&document, name);
        assert_eq!(stream["lost"], 0, "{stream}");
        assert_eq!(stream["verdict"], "ok", "{stream}");
        let median = stream["latency_ns"]["p50"].as_i64().unwrap();
        assert!(median < 5_000_000 + uncertainty, "{stream}");
        assert_eq!(stream["uncertainty_ns"], uncertainty);
    }
    let narrow = stream(&document, "narrow");
    assert_eq!(narrow["verdict"], "no-answer", "{narrow}");
    assert!(narrow["latency_ns"]["p50"].is_null(), "{narrow}");
    assert_eq!(narrow["lost"], 0, "{narrow}");
    let reason = narrow["reasons"][0].as_str().unwrap();
    assert!(reason.contains("a tenth of the deadline") && reason.contains("PTP"), "{reason}");
    let trip = stream(&document, "trip");
    assert_eq!(trip["uncertainty_ns"], 0, "one clock saw it leave and return");
    assert!(trip["latency_ns"]["p50"].as_i64().unwrap() < 5_000_000, "{trip}");
    output.exits(3);
}

#[test]
fn agents_end_with_the_coordinator() {
    let Some(bed) = Bed::new("ends", 0) else {
        return;
    };
    // As at a terminal: the signal reaches the whole process group.
    let mut command = bed.live(SCENARIO);
    command.args(["--json", "--for", "60s", "--priority", "0"]).process_group(0);
    let child = command.start();
    bed.until_agents_run();
    std::thread::sleep(Duration::from_secs(4));
    signal_group(child.id(), "-INT");
    let output = child.finish();
    output.exits(130);
    assert_eq!(bed.left(), [""; 0]);
    let document = output.json();
    assert_eq!(document["partial"], true);
    assert!(stream(&document, "udp")["delivered"].as_u64().unwrap() > 0);

    let mut command = bed.live(SCENARIO);
    command.args(["--for", "60s", "--priority", "0"]);
    let mut child = command.start();
    bed.until_agents_run();
    // `ip netns exec` becomes the program it runs.
    child.kill().unwrap();
    child.wait().unwrap();
    // Without a coordinator there is nothing to wait for.
    bed.until_nothing_is_left(Duration::from_secs(10));
}

#[test]
fn a_host_that_falls_out_is_named() {
    let Some(bed) = Bed::new("falls", 0) else {
        return;
    };
    let mut command = bed.live(SCENARIO);
    command.args(["--json", "--for", "5s", "--priority", "0"]);
    let child = command.start();
    bed.until_agents_run();
    std::thread::sleep(Duration::from_secs(1));
    bed.kill_agent("b");
    let output = child.finish();
    output.exits(4).says("the connection to `b` (b) ended");
    let document = output.json();
    assert!(document["hosts"][1]["clock"].is_null());
    let udp = stream(&document, "udp");
    assert_eq!((udp["released"].as_u64(), udp["verdict"].as_str()), (Some(0), Some("no-answer")));
    assert!(udp["reasons"][0].as_str().unwrap().contains("`b` dropped out"), "{udp}");
    assert_eq!(bed.left(), [""; 0]);
}
