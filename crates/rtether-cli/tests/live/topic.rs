//! `rtether pub`, `sub` and `spy`: mistakes on loopback, and two hosts with a wire.
//!
//! Tests with two hosts need root and iproute2; a test that cannot run reports why.

use std::time::Duration;

use rtether_testkit::{Ended, Finish, Run, follows_schema, signal};
use serde_json::Value;

use crate::hosts::{FAR, Hosts, NEAR, ip};
use crate::rtether;

/// Runs the words of a line.
pub(crate) fn line(line: &str) -> Ended {
    rtether().args(line.split(' ')).run()
}

#[test]
fn mistakes_are_told_before_anything_is_opened() {
    // Oracle: the documented exit code of wrong input.
    for (arguments, message) in [
        ("pub ", "1 to 255 octets"),
        ("pub Square --domain 233", "232"),
        ("pub Square --period 10", "unit"),
        ("pub Square --size 17000000", "16000000"),
        ("sub Square --deadline 0s", "above zero"),
        ("sub Square --xcdr 3", "possible values"),
        ("sub Square --filter 2s --deadline 1s", "miss each deadline"),
        ("sub Square --json --csv", "cannot be used"),
        ("spy --interface wire", "address"),
        ("sub Square --vlan 7", "--device"),
        ("spy --peer 02:00:00:00:00", "02:00:00:00:00:01"),
        ("pub Square --peer 02:00:00:00:00:01", "--device"),
        ("spy --device lo --peer 10.0.0.1", "no IP addresses"),
        ("spy --device lo --ethertype 8100", "0x0600"),
        ("spy --device lo --ethertype x", "digits"),
        ("sub Square --rtps 1.0 --device lo", "over UDP only"),
        ("manager --rtps 2.5", "possible values"),
        ("sub Square --discovery none", "on-demand"),
        ("sub Square --rtps 1.0 --discovery on-demand", "no discovery on demand"),
        ("spy --discovery on-demand", "possible values: all"),
        ("manager --discovery on-demand", "possible values: all"),
        ("pub Square --strength 2 --persistence 1s", "--rtps 1.0"),
        ("ping", "a target is missing"),
        ("ping 10.0.0.2 --via rtps", "--peer 10.0.0.2"),
        ("ping --via rtps --stamps", "not possible"),
        ("ping --via rtps --valentim 100Mbit/s", "not possible"),
    ] {
        let output = line(arguments);
        output.exits(2).says(message);
        assert_eq!(output.out, "");
    }
}

#[test]
fn an_address_of_somebody_else_is_refused() {
    // Oracle: RFC 5737 reserves the address for documentation, so no host has it.
    for verb in ["pub Square", "sub Square", "spy"] {
        line(&format!("{verb} --interface 203.0.113.7")).exits(4).says("no device");
    }
}

#[test]
fn nobody_there_is_no_answer() {
    // Oracle: the documented exit code; the domain is not used otherwise.
    let alone = "--domain 223 --interface 127.0.0.1 --no-multicast --for 300ms";
    for verb in ["pub Square", "sub Square", "spy"] {
        line(&format!("{verb} {alone}")).exits(3);
    }
}

/// Returns the lines of samples and the summary, which follows its schema.
pub(crate) fn objects(output: &Ended) -> Vec<Value> {
    let lines = output.out.lines().map(|line| serde_json::from_str(line).unwrap());
    lines.inspect(follows_schema).collect()
}

#[test]
fn what_is_published_is_received() {
    let Some(hosts) = Hosts::new() else { return };
    publish_and_read(&hosts, "", "10.78.31.2");
}

#[test]
fn what_is_published_in_frames_is_received() {
    let Some(hosts) = Hosts::new() else { return };
    for host in [&hosts.near, &hosts.far] {
        ip(&format!("-n {host} address flush dev wire")).unwrap();
    }
    publish_and_read(&hosts, " --device wire --vlan 3", "vlan 3 port 7410");
}

fn publish_and_read(hosts: &Hosts, place: &str, shown: &str) {
    // Oracle: the samples written, all of them and in order, since both are reliable.
    let read = "sub Square --reliable --depth 0 -n 20 --for 30s --json";
    let reading = Hosts::start(&hosts.far, &format!("{read}{place}"));
    let write = "pub Square --reliable --depth 0 -n 20 --for 30s --csv --period 5ms --size 3000";
    let writing = Hosts::start(&hosts.near, &format!("{write}{place}"));
    let read = reading.finish();
    let written = writing.finish();
    read.exits(0);
    written.exits(0);
    let mut objects = objects(&read);
    let summary = objects.pop().unwrap();
    assert_eq!(summary["event"], "summary");
    assert_eq!(summary["samples"], 20);
    assert_eq!(summary["lost"], 0);
    let numbers: Vec<i64> =
        objects.iter().filter_map(|sample| sample["sequence"].as_i64()).collect();
    assert_eq!(numbers, (1..=20).collect::<Vec<i64>>());
    let first = &objects[0]["value"];
    assert_eq!(first["color"], "BLUE");
    assert_eq!(first["payload_bytes"], 3_000);
    assert_eq!(written.out.lines().count(), 21);
    let said = written.err;
    let matched = said.lines().find(|line| line.contains("matched with"));
    let matched = matched.unwrap_or_default();
    assert!(matched.contains("`rtether sub` at ") && matched.contains(shown), "{said}");
}

#[test]
fn rtps_1_0_has_managers() {
    let Some(hosts) = Hosts::new() else { return };
    // Oracle: the samples written, all of them and in order, since both sides are strict; the
    // strength and the persistence that the publication was given.
    let managing = hosts.managers();
    let v1 = "Square --reliable --depth 0 -n 200 --rtps 1.0 --for 30s --json";
    let reading = Hosts::start(&hosts.far, &format!("sub {v1}"));
    let owner = "--period 25ms --strength 7 --persistence 30ms";
    let writing = Hosts::start(&hosts.near, &format!("pub {v1} {owner}"));
    let spying = Hosts::start(&hosts.far, "spy --rtps 1.0 --for 4s --json");
    let spied = spying.finish();
    let read = reading.finish();
    let written = writing.finish();
    let managed = managing.map(|child| {
        signal(child.id(), "-INT");
        child.finish()
    });
    for output in [&read, &written, &spied] {
        output.exits(0);
    }
    for output in managed.iter().chain([&read, &written, &spied]) {
        says_what_it_gave_up(output);
    }
    let objects = objects(&read);
    let sequences = objects.iter().filter_map(|one| one["sequence"].as_i64());
    assert_eq!(sequences.collect::<Vec<_>>(), (1..=200).collect::<Vec<i64>>());
    let census = spied.json();
    let participants = census["participants"].as_array().unwrap();
    assert!(participants.iter().all(|one| one["version"] == "1.0"), "{census:#}");
    let text = census.to_string();
    for part in [NEAR, FAR, "\"strength\":\"7\"", "\"persistence\":\"30 ms\""] {
        assert!(text.contains(part), "{part}: {census:#}");
    }
    for output in managed {
        output.exits(130);
    }
}

/// Oracle: it runs as root, and gives up all rights.
fn says_what_it_gave_up(output: &Ended) {
    let said = &output.err;
    let first = said.lines().next().unwrap_or_default();
    assert!(first.contains(", as user 65534, without rights"), "{said}");
}

#[test]
fn who_does_not_match_is_told_why() {
    let Some(hosts) = Hosts::new() else { return };
    // Oracle: DDS 1.4, 2.2.3.14: best effort is less than reliable.
    let expected = "reliability: best effort is offered, reliable is requested";
    let reading = Hosts::start(&hosts.far, "sub Square --reliable --for 9s");
    let writing = Hosts::start(&hosts.near, "pub Square --for 9s");
    let other = Hosts::start(&hosts.far, "sub Square --type octets");
    let spying = Hosts::start(&hosts.near, "spy --for 4s --json");
    let spied = spying.finish();
    signal(other.id(), "-INT");
    let other = other.finish();
    let read = reading.finish();
    let written = writing.finish();
    other.exits(130);
    for output in [&read, &written, &spied] {
        says_what_it_gave_up(output);
    }
    for output in [&read, &written] {
        output.exits(3).says(expected);
    }
    // Both saw the other type, and the departure of its participant.
    written.says("type: ShapeType is written, rtether::Octets is read").says("has left");
    spied.exits(1);
    let census = spied.json();
    assert_eq!(census["participants"].as_array().unwrap().len(), 3);
    assert_eq!(census["participants"][0]["vendor"], "rtether");
    assert_eq!(census["endpoints"].as_array().unwrap().len(), 3);
    let reasons = census["mismatches"].to_string();
    assert!(reasons.contains(expected), "{census:#}");
    assert!(reasons.contains("rtether::Octets"), "{census:#}");
}

#[test]
fn topics_are_discovered_on_demand() {
    // Oracle: the documented exit codes: 3 without a counterpart, which those have that share no
    // topic; and every request has one answer. One is under way at a time, as in the test below.
    let place = "--discovery on-demand --domain 225 --interface 127.0.0.1";
    let start = |line: &str| rtether().args(format!("{line} {place}").split(' ')).start();
    let alone = start("sub Circle --for 3s --quiet");
    let writing = start("pub Square --for 20s -n 20 --reliable --depth 0 --period 20ms --quiet");
    let reading = start("sub Square --for 20s -n 20 --reliable --depth 0 --quiet");
    reading.finish().exits(0);
    writing.finish().exits(0);
    alone.finish().exits(3);
    let echo = start("echo --via rtps");
    start("ping --via rtps -n 20 -i 0s").finish().exits(0);
    signal(echo.id(), "-INT");
    echo.finish().exits(0);
}

#[test]
fn round_trips_over_topics() {
    let Some(hosts) = Hosts::new() else { return };
    // Oracle: every request has one answer, and the documented exit codes. Only one is under way at
    // a time: of two that arrive together, a reader that keeps the last one loses the other.
    let alone = Hosts::start(&hosts.near, "ping --via rtps --domain 9");
    let echo = Hosts::start(&hosts.far, "echo --via rtps");
    let ping = "ping --via rtps -n 200 --series 2 -s 4000 -i 0s --json";
    let ping = Hosts::start(&hosts.near, ping);
    let ping = ping.finish();
    ping.exits(0);
    let document = ping.json();
    assert_eq!(document["all"]["count"], 400, "{document:#}");
    signal(echo.id(), "-INT");
    let echo = echo.finish();
    echo.exits(0);
    says_what_it_gave_up(&echo);
    assert!(echo.out.starts_with("400 answered, 0 malformed"), "{}", echo.out);
    alone.finish().exits(3).shows("no reply");
}

#[test]
fn round_trips_in_frames() {
    let Some(hosts) = Hosts::new() else { return };
    // Oracle: every request has one answer.
    let place = "--via rtps --device wire --pcp 5";
    let echo = Hosts::start(&hosts.far, &format!("echo {place}"));
    let ping = format!("ping {place} -n 200 -s 4000 -i 0s --json");
    let ping = Hosts::start(&hosts.near, &ping);
    let ping = ping.finish();
    ping.exits(0);
    let document = ping.json();
    assert_eq!(document["all"]["count"], 200, "{document:#}");
    signal(echo.id(), "-INT");
    let echo = echo.finish();
    echo.exits(0);
    let answered = echo.out;
    assert!(answered.starts_with("200 answered, 0 malformed"), "{answered}");
}

#[test]
fn ctrl_c_leaves_properly() {
    let Some(hosts) = Hosts::new() else { return };
    // Oracle: the documented exit code, and the summary so far.
    let writing = Hosts::start(&hosts.near, "pub Square --period 10ms");
    let reading = Hosts::start(&hosts.far, "sub Square -n 5 --for 30s");
    reading.finish().exits(0);
    std::thread::sleep(Duration::from_millis(300));
    signal(writing.id(), "-INT");
    writing.finish().exits(130).says("has left").shows("written, 0 deadlines missed");
}
