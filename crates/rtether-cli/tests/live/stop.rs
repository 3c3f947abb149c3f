//! SIGTERM ends every verb at any moment.
//!
//! Oracle: the clock, the documented exit codes, and what is left behind. The moments are drawn
//! from `RTETHER_SEED` (1), 0 to 1.5 s after the start.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rtether_testkit::{Folder, Run, namespaces, signal, skip};

use crate::hosts::Hosts;

/// Limit on the end after a signal, on an idle machine.
const SOON: Duration = Duration::from_secs(1);
/// The same while other tests run, ten times as long.
const PATIENCE: Duration = Duration::from_secs(10);

/// A plant that keeps every verb busy for longer than a test takes.
const SMALL: &str = "rtether: 1
nodes: { a: { stack: zero }, b: { stack: zero }, c: { stack: zero } }
switches: { sw: { ports: 3 } }
links:
  - { ends: [a, \"sw:1\"], rate: 1 Gbit/s }
  - { ends: [b, \"sw:2\"], rate: 1 Gbit/s }
  - { ends: [c, \"sw:3\"], rate: 1 Gbit/s }
flows:
  - { name: f, from: a, to: b, period: 1 ms, size: 64 B, deadline: 500 us }
  - { name: g, from: c, to: b, kind: poisson, mean_gap: 1 ms, size: 64 B }
";

/// The same stations at a hub.
const HUB: &str = "rtether: 1
nodes: { a: { stack: zero }, b: { stack: zero }, c: { stack: zero } }
hubs: { hub: { ports: 3, rate: 10 Mbit/s } }
links:
  - { ends: [a, \"hub:1\"] }
  - { ends: [b, \"hub:2\"] }
  - { ends: [c, \"hub:3\"] }
flows:
  - { name: f, from: a, to: b, period: 10 ms, size: 64 B, deadline: 10 ms }
  - { name: g, from: c, to: b, period: 10 ms, size: 64 B, deadline: 10 ms }
";

/// Returns a line of stations, with flows from each to those that are these steps away.
fn large(steps: &[usize]) -> String {
    const NODES: usize = 40;
    let mut text = String::from("rtether: 1\nnodes:\n");
    for node in 0..NODES {
        writeln!(text, "  n{node}: {{ stack: zero }}").unwrap();
    }
    text += "switches:\n";
    for node in 0..NODES {
        writeln!(text, "  s{node}: {{ ports: 3 }}").unwrap();
    }
    text += "links:\n";
    for node in 0..NODES {
        writeln!(text, "  - {{ ends: [n{node}, \"s{node}:1\"], rate: 1 Gbit/s }}").unwrap();
        if node > 0 {
            let before = node - 1;
            writeln!(text, "  - {{ ends: [\"s{before}:2\", \"s{node}:3\"], rate: 1 Gbit/s }}")
                .unwrap();
        }
    }
    text += "flows:\n";
    for from in 0..NODES {
        for step in steps {
            let to = (from + step) % NODES;
            writeln!(
                text,
                "  - {{ name: f{from}-{step}, from: n{from}, to: n{to}, period: 2 ms, size: 200 B, deadline: 2 ms }}"
            )
            .unwrap();
        }
    }
    text
}

/// Returns a hub with many stations.
fn crowd() -> String {
    const NODES: usize = 300;
    let mut text = String::from("rtether: 1\nnodes:\n");
    for node in 0..NODES {
        writeln!(text, "  n{node}: {{ stack: zero }}").unwrap();
    }
    writeln!(text, "hubs: {{ hub: {{ ports: {NODES}, rate: 100 Mbit/s }} }}\nlinks:").unwrap();
    for node in 0..NODES {
        writeln!(text, "  - {{ ends: [n{node}, \"hub:{}\"] }}", node + 1).unwrap();
    }
    text += "flows:\n";
    for from in 0..NODES {
        let to = (from + 1) % NODES;
        writeln!(
            text,
            "  - {{ name: f{from}, from: n{from}, to: n{to}, period: 50 ms, size: 64 B, deadline: 50 ms }}"
        )
        .unwrap();
    }
    text
}

/// Returns a result of many streams.
fn result() -> String {
    let stream = |number: usize| {
        format!(
            "{{\"name\":\"f{number}\",\"listener\":\"b\",\"verdict\":\"ok\",\"basis\":{{\"word\":\"held\"}},\"margin_ns\":{number}}}"
        )
    };
    let streams: Vec<String> = (0..100_000).map(stream).collect();
    format!(
        "{{\"schema\":\"rtether.result/1\",\"scenario\":\"many\",\"flows\":[{}]}}",
        streams.join(",")
    )
}

/// Returns a list of many flows, as tsnkit has it.
fn list() -> String {
    let mut text = String::from("stream,src,dst,size,period,deadline,jitter\n");
    for flow in 0..20_000 {
        let (from, to) = (flow % 200, (flow + 1) % 200);
        writeln!(text, "{flow},{from},[{to}],200,100000000,100000000,0").unwrap();
    }
    text
}

/// Priority queues in front of a device.
const SHIM: &str = "rtether: 1
rate: 100 Mbit/s
priorities: { queues: 2, rules: [{ dscp: 46, queue: 1 }] }
transmit_queues: { strategy: strict, ring: 1 }
";

/// What was found of a device.
const DEVICE: &str = "rtether: 1
profile: { device: Relay R7, date: 2026-11-30, stack_from: closed }
requests: [{ protocol: closed, method: quiet, sent: 60, answered: 60, fixed: { value: 117 us, low: 113 us, high: 121 us } }]
";

/// Creates a folder with the plants, for the drafts of output files.
fn plants(test: &str) -> Folder {
    let folder = Folder::new(test);
    folder.write("small.yaml", SMALL);
    folder.write("hub.yaml", HUB);
    folder.write("crowd.yaml", crowd());
    folder.write("large.yaml", large(&[3, 7, 11, 19, 31]));
    let more = "{ name: more, from: n0, to: n5, period: 1 ms, size: 64 B, deadline: 5 ms }\n";
    folder.write("more.yaml", more);
    folder.write("result.json", result());
    folder.write("list.csv", list());
    folder.write("claims.csv", "flow,bound\nf0-3,reached\nf0-31,no loss\nf7-19,1 us\n");
    folder.write("study.yaml", STUDY);
    folder.write("shim.yaml", SHIM);
    folder.write("device.yaml", DEVICE);
    folder
}

/// A study of the small plant, whose points take long.
const STUDY: &str = "study: 1
scenario: small.yaml
parameters: { run.for: [20000 s, 20001 s] }
";

/// Verbs that need no rights and no network.
const COMPUTING: &[&str] = &[
    "check small.yaml --for 20000s --report check.html",
    "check large.yaml --for 100ms --out all",
    "check small.yaml --for 20000s --fail links",
    "check small.yaml --for 20000s --baseline result.json",
    "sim small.yaml --for 20000s --packets packets.csv",
    "why small.yaml f --for 20000s --svg why.svg",
    "bound large.yaml --report bound.html",
    "bound large.yaml --sensitivity",
    "admit large.yaml more.yaml",
    "limit small.yaml --for 2000s --report limit.html",
    "compare hub.yaml --for 200000s --report compare.html",
    "compare crowd.yaml --for 100s --by-flow",
    "sweep study.yaml --out study",
    "reproduce skeie-substation",
    "reproduce kweon-bucket",
    "design large.yaml -o design.yaml",
    "judge claims.csv --scenario large.yaml --out refuted",
    "doctor --watch 60s",
    "diff result.json result.json",
    "profile show device.yaml",
    "volume --points 12",
    "import list.csv -o list.yaml",
    "export small.yaml --to saihu -o saihu",
    "new plant --template substation",
    "schema",
    "completions bash",
    "man check",
];

/// Verbs that need a network; they get a separate one.
const TALKING: &[&str] = &[
    "ping 127.0.0.1 --via icmp -n 1000000",
    "echo 127.0.0.1",
    "pub Square --period 10ms",
    "sub Square",
    "spy --for 60s",
    "watch wire --plan small.yaml --metrics watch.prom",
    "manager",
    "load --sink 127.0.0.1:0",
    "load 127.0.0.1 --for 60s",
    "calibrate -n 1000000",
    "identify 127.0.0.1",
    "live small.yaml --for 60s --priority 0",
    "live small.yaml --for 60s --priority 0 --backend emulated",
    "check small.yaml --for 30s --live",
    "shim up wire --config shim.yaml",
];

/// Sends SIGTERM at this time after the start; returns how long the end took.
fn end(hosts: Option<&Hosts>, line: &str, folder: &Folder, after: Duration) -> Duration {
    let mut child: Child = program(hosts)
        .args(line.split(' '))
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let pid = child.id();
    thread::sleep(after);
    let sent = Command::new("kill").args(["-TERM", &pid.to_string()]).output();
    assert!(sent.is_ok(), "{sent:?}");
    let asked = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if asked.elapsed() > 3 * PATIENCE {
            drop(child.kill());
            panic!("`rtether {line}`, SIGTERM after {after:?}: it does not end");
        }
        thread::sleep(Duration::from_millis(2));
    };
    let took = asked.elapsed();
    // It may have finished before, or not have handled signals yet.
    let is_known = matches!(status.code(), Some(0..=5 | 130)) || status.signal() == Some(15);
    assert!(is_known, "`rtether {line}` after {after:?}: {status:?}");
    let mut drafts = folder.names();
    drafts.retain(|name| name.contains(&format!(".{pid}-")));
    assert_eq!(drafts, [""; 0], "{line}");
    assert_eq!(left(pid), [""; 0], "`rtether {line}` after {after:?}");
    if let Some(hosts) = hosts.filter(|_| line.starts_with("shim")) {
        // The process that watches over a shim restores what the shim itself could not.
        while has_filters(hosts) {
            let why = "filters are left on the device";
            assert!(asked.elapsed() < PATIENCE, "`rtether {line}`: {why}");
            thread::sleep(Duration::from_millis(5));
        }
    }
    took
}

/// Returns whether a shim has left the place of its filters on the device of the near host.
fn has_filters(hosts: &Hosts) -> bool {
    let show = ["tc", "qdisc", "show", "dev", "wire"];
    let output = Command::new("ip").args(["netns", "exec", &hosts.near]).args(show).run();
    output.exits(0);
    output.out.contains("clsact")
}

/// Returns the namespaces that a process left behind.
fn left(pid: u32) -> Vec<String> {
    let part = format!("-{pid}");
    let mut names = namespaces(&part);
    names.retain(|name| name.starts_with("rtether-") && !name.starts_with("rtether-top"));
    names.retain(|name| name.ends_with(&part) || name.contains(&format!("{part}-")));
    names
}

/// Returns the moments of one verb, determined by the seed and its command line alone.
fn moments(line: &str, count: usize) -> Vec<Duration> {
    let seed = std::env::var("RTETHER_SEED").map_or(1, |seed| seed.parse().unwrap());
    let mut state: u64 = line
        .bytes()
        .fold(seed, |state, octet| (state ^ u64::from(octet)).wrapping_mul(0x0100_0000_01b3));
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        Duration::from_millis((state >> 33) % 1_500)
    };
    (0..count).map(|_| next()).collect()
}

fn program(hosts: Option<&Hosts>) -> Command {
    let program = Path::new(env!("CARGO_BIN_EXE_rtether"));
    match hosts {
        None => Command::new(program),
        Some(hosts) => {
            let mut command = Command::new("ip");
            command.args(["netns", "exec", &hosts.near]).arg(program);
            command
        }
    }
}

/// Ends each verb at `count` moments; returns the longest time with its verb.
fn longest(lines: &[&'static str], hosts: Option<&Hosts>, count: usize) -> (Duration, String) {
    let folder = plants(if hosts.is_some() { "stop-net" } else { "stop" });
    let of = |line: &str| {
        let all = moments(line, count).into_iter();
        let all = all.map(|after| {
            let took = end(hosts, line, &folder, after);
            (took, format!("`rtether {line}`, SIGTERM after {after:?}"))
        });
        all.max().unwrap()
    };
    if count > 1 {
        return lines.iter().map(|line| of(line)).max().unwrap();
    }
    thread::scope(|scope| {
        let all: Vec<_> = lines.iter().map(|line| scope.spawn(|| of(line))).collect();
        all.into_iter().map(|one| one.join().unwrap()).max().unwrap()
    })
}

#[track_caller]
fn assert_soon((took, what): (Duration, String), limit: Duration) {
    assert!(took < limit, "{what}: ended {took:?} later");
}

/// Oracle: the list of verbs, as `rtether --help` has it.
#[test]
fn no_verb_is_left_out() {
    let command = rtether_cli::command();
    let verbs = command.get_subcommands().filter(|verb| !verb.is_hide_set());
    for verb in verbs.map(clap::Command::get_name) {
        let mut lines = COMPUTING.iter().chain(TALKING);
        let is_verb = |line: &&str| line.split(' ').next() == Some(verb);
        assert!(lines.any(is_verb), "`rtether {verb}` is not ended by any test");
    }
}

/// A pipe that is full and not read holds a verb in a write, where it cannot look for signals.
#[test]
fn sigterm_ends_a_verb_whose_output_is_not_read() {
    let mut child = program(None).arg("schema").stdout(Stdio::piped()).spawn().unwrap();
    thread::sleep(Duration::from_millis(500));
    assert!(child.try_wait().unwrap().is_none(), "its output fits a pipe");
    signal(child.id(), "-TERM");
    let asked = Instant::now();
    while child.try_wait().unwrap().is_none() {
        assert!(asked.elapsed() < PATIENCE, "it does not end");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Bounds can be asked to end: what the run has shown is not lost.
#[test]
fn sigterm_while_bounds_are_computed_leaves_the_results_of_the_run() {
    let folder = Folder::new("stop-bounds");
    // Its bounds take a second.
    folder.write("full.yaml", large(&(1..40).collect::<Vec<_>>()));
    let mut child = program(None)
        .args(["check", "full.yaml", "--for", "10ms", "--verbose", "--no-progress"])
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let said = BufReader::new(child.stderr.take().unwrap());
    let mut lines = said.lines().map(Result::unwrap);
    assert!(lines.any(|line| line.contains("computing bounds")));
    signal(child.id(), "-TERM");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(shown.contains("INTERRUPTED. 1560 streams"), "{shown}");
}

/// Bounds, reports and other phases that did not check for signals once ended minutes later or
/// never.
#[test]
fn sigterm_ends_every_verb_that_computes() {
    assert_soon(longest(COMPUTING, None, 1), PATIENCE);
}

#[test]
fn sigterm_ends_every_verb_that_talks() {
    let Some(hosts) = Hosts::new() else { return };
    assert_soon(longest(TALKING, Some(&hosts), 1), PATIENCE);
}

#[test]
#[ignore = "long"]
#[allow(clippy::print_stderr, reason = "what was measured is wanted")]
fn sigterm_ends_every_verb_within_a_second() {
    if thread::available_parallelism().map_or(1, usize::from) < 2 {
        return skip("needs two cores");
    }
    let Some(hosts) = Hosts::new() else { return };
    for (lines, hosts) in [(COMPUTING, None), (TALKING, Some(&hosts))] {
        for line in lines {
            let found = longest(&[line], hosts, 10);
            eprintln!("{:>6} ms  {}", found.0.as_millis(), found.1);
            assert_soon(found, SOON);
        }
    }
}
