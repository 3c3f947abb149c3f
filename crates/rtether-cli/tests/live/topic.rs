//! `rtether pub`, `sub` and `spy`: mistakes on loopback, and two hosts with a wire.
//!
//! Tests with two hosts need root and iproute2; a test that cannot run reports why.

use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde_json::Value;

use crate::{rtether, skip, stderr, stdout};

pub(crate) fn run(arguments: &[&str]) -> Output {
    rtether().args(arguments).output().unwrap()
}

pub(crate) fn code(output: &Output) -> Option<i32> {
    output.status.code()
}

#[test]
fn mistakes_are_told_before_anything_is_opened() {
    // Oracle: the documented exit code of wrong input.
    for (arguments, message) in [
        (&["pub", ""][..], "1 to 255 octets"),
        (&["pub", "Square", "--domain", "233"], "232"),
        (&["pub", "Square", "--period", "10"], "unit"),
        (&["pub", "Square", "--size", "17000000"], "16000000"),
        (&["sub", "Square", "--deadline", "0 s"], "above zero"),
        (&["sub", "Square", "--xcdr", "3"], "possible values"),
        (
            &["sub", "Square", "--filter", "2 s", "--deadline", "1 s"],
            "miss each deadline",
        ),
        (&["sub", "Square", "--json", "--csv"], "cannot be used"),
        (&["spy", "--interface", "wire"], "address"),
        (&["sub", "Square", "--vlan", "7"], "--device"),
        (&["spy", "--peer", "02:00:00:00:00"], "02:00:00:00:00:01"),
        (
            &["pub", "Square", "--peer", "02:00:00:00:00:01"],
            "--device",
        ),
        (
            &["spy", "--device", "lo", "--peer", "10.0.0.1"],
            "no IP addresses",
        ),
        (&["spy", "--device", "lo", "--ethertype", "8100"], "0x0600"),
        (&["spy", "--device", "lo", "--ethertype", "x"], "digits"),
        (&["ping"], "a target is missing"),
        (&["ping", "10.0.0.2", "--via", "rtps"], "--peer 10.0.0.2"),
        (&["ping", "--via", "rtps", "--stamps"], "not possible"),
        (
            &["ping", "--via", "rtps", "--valentim", "100Mbit/s"],
            "not possible",
        ),
    ] {
        let output = run(arguments);
        assert_eq!(code(&output), Some(2), "{arguments:?}: {}", stderr(&output));
        let said = stderr(&output);
        assert!(said.contains(message), "{arguments:?}: {said}");
        assert_eq!(stdout(&output), "", "{arguments:?}");
    }
}

#[test]
fn an_address_of_somebody_else_is_refused() {
    // Oracle: RFC 5737 reserves the address for documentation, so no host has it.
    for verb in [&["pub", "Square"][..], &["sub", "Square"], &["spy"]] {
        let output = run(&[verb, &["--interface", "203.0.113.7"]].concat());
        assert_eq!(code(&output), Some(4), "{}", stderr(&output));
        assert!(stderr(&output).contains("no device"), "{}", stderr(&output));
    }
}

#[test]
fn nobody_there_is_no_answer() {
    // Oracle: the documented exit code; the domain is not used otherwise.
    let alone = [
        "--domain",
        "223",
        "--interface",
        "127.0.0.1",
        "--no-multicast",
        "--for",
        "300 ms",
    ];
    for verb in [&["pub", "Square"][..], &["sub", "Square"], &["spy"]] {
        let output = run(&[verb, &alone].concat());
        assert_eq!(code(&output), Some(3), "{}", stderr(&output));
    }
}

const NEAR: &str = "10.78.31.1";
const FAR: &str = "10.78.31.2";

/// Two hosts with a wire; removed on drop.
pub(crate) struct Hosts {
    pub(crate) near: String,
    pub(crate) far: String,
}

fn ip(arguments: &str) -> Result<String, String> {
    let arguments = arguments.split_whitespace();
    let output = Command::new("ip").args(arguments.clone()).output();
    let output = output.map_err(|error| error.to_string())?;
    if output.status.success() {
        Ok(stdout(&output))
    } else {
        let line: Vec<&str> = arguments.collect();
        Err(format!("ip {}: {}", line.join(" "), stderr(&output)))
    }
}

impl Hosts {
    pub(crate) fn new(test: &str) -> Option<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let tag = format!("rtether-top{}-{number}", std::process::id());
        let hosts = Self {
            near: format!("{tag}a"),
            far: format!("{tag}b"),
        };
        match hosts.build() {
            Ok(()) => Some(hosts),
            Err(reason) => {
                skip(test, &reason);
                None
            }
        }
    }

    fn build(&self) -> Result<(), String> {
        let Self { near, far } = self;
        ip(&format!("netns add {near}"))?;
        ip(&format!("netns add {far}"))?;
        ip(&format!(
            "link add wire netns {near} type veth peer name wire netns {far}"
        ))?;
        for (host, address) in [(near, NEAR), (far, FAR)] {
            ip(&format!("-n {host} address add {address}/24 dev wire"))?;
            ip(&format!("-n {host} link set wire up"))?;
            // Two participants of one host communicate by it.
            ip(&format!("-n {host} link set lo up"))?;
        }
        for host in [near, far] {
            // Until the kernel has seen the carrier, it drops what is sent.
            while !ip(&format!("-n {host} -br link show wire"))?.contains(" UP ") {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        Ok(())
    }

    pub(crate) fn near(&self) -> &str {
        &self.near
    }

    pub(crate) fn start(host: &str, arguments: &[&str]) -> Child {
        let program = env!("CARGO_BIN_EXE_rtether");
        let mut command = Command::new("ip");
        command
            .args(["netns", "exec", host, program])
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command.spawn().unwrap()
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for host in [&self.near, &self.far] {
            // Missing if it could not be created.
            let _ = ip(&format!("netns delete {host}"));
        }
    }
}

pub(crate) fn interrupt(child: &Child) {
    let kill = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(kill.unwrap().success());
}

pub(crate) fn objects(output: &Output) -> Vec<Value> {
    let text = stdout(output);
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    lines.collect()
}

#[test]
fn what_is_published_is_received() {
    let Some(hosts) = Hosts::new("what_is_published_is_received") else {
        return;
    };
    publish_and_read(&hosts, &[], "10.78.31.2");
}

#[test]
fn what_is_published_in_frames_is_received() {
    let Some(hosts) = Hosts::new("what_is_published_in_frames_is_received") else {
        return;
    };
    for host in [&hosts.near, &hosts.far] {
        ip(&format!("-n {host} address flush dev wire")).unwrap();
    }
    publish_and_read(
        &hosts,
        &["--device", "wire", "--vlan", "3"],
        "vlan 3 port 7410",
    );
}

fn publish_and_read(hosts: &Hosts, place: &[&str], shown: &str) {
    // Oracle: the samples written, all of them and in order, since both are reliable.
    let reading = Hosts::start(
        &hosts.far,
        &[
            &[
                "sub",
                "Square",
                "--reliable",
                "--depth",
                "0",
                "-n",
                "20",
                "--for",
                "30 s",
                "--json",
            ],
            place,
        ]
        .concat(),
    );
    let writing = Hosts::start(
        &hosts.near,
        &[
            &[
                "pub",
                "Square",
                "--reliable",
                "--depth",
                "0",
                "-n",
                "20",
                "--period",
                "5 ms",
                "--size",
                "3000",
                "--for",
                "30 s",
                "--csv",
            ],
            place,
        ]
        .concat(),
    );
    let read = reading.wait_with_output().unwrap();
    let written = writing.wait_with_output().unwrap();
    assert_eq!(code(&read), Some(0), "{}", stderr(&read));
    assert_eq!(code(&written), Some(0), "{}", stderr(&written));
    let mut objects = objects(&read);
    let summary = objects.pop().unwrap();
    assert_eq!(summary["event"], "summary");
    assert_eq!(summary["samples"], 20);
    assert_eq!(summary["lost"], 0);
    let numbers: Vec<i64> = objects
        .iter()
        .filter_map(|sample| sample["sequence"].as_i64())
        .collect();
    assert_eq!(numbers, (1..=20).collect::<Vec<i64>>());
    let first = &objects[0]["value"];
    assert_eq!(first["color"], "BLUE");
    assert_eq!(first["payload_bytes"], 3_000);
    assert_eq!(stdout(&written).lines().count(), 21);
    let said = stderr(&written);
    let matched = said.lines().find(|line| line.contains("matched with"));
    let matched = matched.unwrap_or_default();
    assert!(
        matched.contains("`rtether sub` at ") && matched.contains(shown),
        "{said}"
    );
}

/// Oracle: it runs as root, and gives up all rights.
fn says_what_it_gave_up(output: &Output) {
    let said = stderr(output);
    let first = said.lines().next().unwrap_or_default();
    assert!(first.contains(", as user 65534, without rights"), "{said}");
}

#[test]
fn who_does_not_match_is_told_why() {
    let Some(hosts) = Hosts::new("who_does_not_match_is_told_why") else {
        return;
    };
    // Oracle: DDS 1.4, 2.2.3.14: best effort is less than reliable.
    let expected = "reliability: best effort is offered, reliable is requested";
    let reading = Hosts::start(&hosts.far, &["sub", "Square", "--reliable", "--for", "9 s"]);
    let writing = Hosts::start(&hosts.near, &["pub", "Square", "--for", "9 s"]);
    let other = Hosts::start(&hosts.far, &["sub", "Square", "--type", "octets"]);
    let spying = Hosts::start(&hosts.near, &["spy", "--for", "4 s", "--json"]);
    let spied = spying.wait_with_output().unwrap();
    interrupt(&other);
    let other = other.wait_with_output().unwrap();
    let read = reading.wait_with_output().unwrap();
    let written = writing.wait_with_output().unwrap();
    assert_eq!(code(&other), Some(130), "{}", stderr(&other));
    for output in [&read, &written, &spied] {
        says_what_it_gave_up(output);
    }
    for output in [&read, &written] {
        assert_eq!(code(output), Some(3), "{}", stderr(output));
        assert!(stderr(output).contains(expected), "{}", stderr(output));
    }
    // Both saw the other type, and the departure of its participant.
    let said = stderr(&written);
    assert!(
        said.contains("type: ShapeType is written, rtether::Octets is read"),
        "{said}"
    );
    assert!(said.contains("has left"), "{said}");
    assert_eq!(code(&spied), Some(1), "{}", stderr(&spied));
    let census: Value = serde_json::from_slice(&spied.stdout).unwrap();
    assert_eq!(census["participants"].as_array().unwrap().len(), 3);
    assert_eq!(census["participants"][0]["vendor"], "rtether");
    assert_eq!(census["endpoints"].as_array().unwrap().len(), 3);
    let reasons = census["mismatches"].to_string();
    assert!(reasons.contains(expected), "{census:#}");
    assert!(reasons.contains("rtether::Octets"), "{census:#}");
}

#[test]
fn round_trips_over_topics() {
    let Some(hosts) = Hosts::new("round_trips_over_topics") else {
        return;
    };
    // Oracle: every request has one answer, and the documented exit codes. Only one is under way at
    // a time: of two that arrive together, a reader that keeps the last one loses the other.
    let alone = Hosts::start(&hosts.near, &["ping", "--via", "rtps", "--domain", "9"]);
    let echo = Hosts::start(&hosts.far, &["echo", "--via", "rtps"]);
    let arguments = [
        "ping", "--via", "rtps", "-n", "200", "--series", "2", "-s", "4000", "-i", "0 s", "--json",
    ];
    let ping = Hosts::start(&hosts.near, &arguments);
    let ping = ping.wait_with_output().unwrap();
    assert_eq!(code(&ping), Some(0), "{}", stderr(&ping));
    let document: Value = serde_json::from_slice(&ping.stdout).unwrap();
    assert_eq!(document["all"]["count"], 400, "{document:#}");
    interrupt(&echo);
    let echo = echo.wait_with_output().unwrap();
    assert_eq!(code(&echo), Some(0), "{}", stderr(&echo));
    says_what_it_gave_up(&echo);
    assert!(
        stdout(&echo).starts_with("400 answered, 0 malformed"),
        "{}",
        stdout(&echo)
    );
    let alone = alone.wait_with_output().unwrap();
    assert_eq!(code(&alone), Some(3), "{}", stderr(&alone));
    assert!(stdout(&alone).contains("no reply"), "{}", stdout(&alone));
}

#[test]
fn round_trips_in_frames() {
    let Some(hosts) = Hosts::new("round_trips_in_frames") else {
        return;
    };
    // Oracle: every request has one answer.
    let place = ["--via", "rtps", "--device", "wire", "--pcp", "5"];
    let echo = Hosts::start(&hosts.far, &[&["echo"], &place[..]].concat());
    let asking = ["ping", "-n", "200", "-s", "4000", "-i", "0 s", "--json"];
    let ping = Hosts::start(&hosts.near, &[&asking[..], &place].concat());
    let ping = ping.wait_with_output().unwrap();
    assert_eq!(code(&ping), Some(0), "{}", stderr(&ping));
    let document: Value = serde_json::from_slice(&ping.stdout).unwrap();
    assert_eq!(document["all"]["count"], 200, "{document:#}");
    interrupt(&echo);
    let echo = echo.wait_with_output().unwrap();
    assert_eq!(code(&echo), Some(0), "{}", stderr(&echo));
    let answered = stdout(&echo);
    assert!(
        answered.starts_with("200 answered, 0 malformed"),
        "{answered}"
    );
}

#[test]
fn ctrl_c_leaves_properly() {
    let Some(hosts) = Hosts::new("ctrl_c_leaves_properly") else {
        return;
    };
    // Oracle: the documented exit code, and the summary so far.
    let writing = Hosts::start(&hosts.near, &["pub", "Square", "--period", "10 ms"]);
    let reading = Hosts::start(&hosts.far, &["sub", "Square", "-n", "5", "--for", "30 s"]);
    let read = reading.wait_with_output().unwrap();
    assert_eq!(code(&read), Some(0), "{}", stderr(&read));
    std::thread::sleep(Duration::from_millis(300));
    interrupt(&writing);
    let written = writing.wait_with_output().unwrap();
    assert_eq!(code(&written), Some(130), "{}", stderr(&written));
    assert!(
        stderr(&written).contains("has left"),
        "{}",
        stderr(&written)
    );
    let text = stdout(&written);
    assert!(text.contains("written, 0 deadlines missed"), "{text}");
}
