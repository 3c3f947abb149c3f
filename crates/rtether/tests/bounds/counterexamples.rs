//! Regressions: scenarios that were once simulated beyond their bound, or whose analysis never
//! ended.

use std::fmt::Write as _;
use std::time::{Duration as WallTime, Instant as WallClock};

use rtether::bound;
use rtether::run::{self, Progress, Results};
use rtether::scenario::{self, Scenario};
use rtether_bounds::{Analysis, Reason};

/// Loads, bounds and simulates.
fn both(text: &str) -> (Scenario, Analysis, Results) {
    let loaded = scenario::load("counterexample.yaml", text);
    let scenario = loaded.scenario.expect("a good scenario");
    let analysis = bound::analyze(&scenario);
    let results = run::simulate(&scenario, &Progress::default()).expect("runs");
    (scenario, analysis, results)
}

fn assert_sound(scenario: &Scenario, analysis: &Analysis, results: &Results) {
    let Scenario { network, flows, .. } = scenario;
    let shown = bound::contradictions(network, flows, analysis, &results.record);
    let streams = &results.record.streams;
    let max: Vec<_> = streams.iter().map(|own| own.latency.max).collect();
    assert!(shown.is_empty(), "{shown:?}, {max:?} seen, {:?}", analysis.streams);
}

/// A request is held up by sixty frames, lost, and given up; the next one follows after a timeout
/// rather than a round trip, and both hold up low-priority frames at the listener.
fn impatient(errors: &str, buffer: &str) -> String {
    let mut text = format!(
        "rtether: 1\nname: lost requests\n\
         nodes: {{ a: {{stack: zero}}, bs: {{stack: zero}}, bd: {{stack: zero}}, g: {{stack: zero}}, l: {{stack: zero}} }}\n\
         switches:\n\
         \x20 s1: {{ ports: 4, latency: 0 us, queues: 1, buffer: 10 MB }}\n\
         \x20 s2: {{ ports: 4, latency: 0 us, queues: 8, buffer: {buffer} }}\n\
         links:\n\
         \x20 - {{ ends: [a, \"s1:1\"], rate: 1 Gbit/s }}\n\
         \x20 - {{ ends: [bs, \"s1:2\"], rate: 100 Gbit/s }}\n\
         \x20 - {{ ends: [\"s1:3\", \"s2:1\"], rate: 1 Gbit/s }}\n\
         \x20 - {{ ends: [bd, \"s2:2\"], rate: 1 Gbit/s }}\n\
         \x20 - {{ ends: [g, \"s2:3\"], rate: 1 Gbit/s }}\n\
         \x20 - {{ ends: [l, \"s2:4\"], rate: 100 Mbit/s{errors} }}\n\
         flows:\n\
         \x20 - {{ name: ask, from: a, to: l, kind: adaptive, size: 1472 B, pcp: 6, start: 1 ms, pause: 200 ms, timeout: 1011 us, reply: {{ size: 18 B }} }}\n"
    );
    let mut low = |name, count, from, to, phase| {
        for number in 0..count {
            writeln!(
                text,
                "  - {{ name: {name}{number}, from: {from}, to: {to}, period: 100 ms, phase: {phase} us, size: 1472 B, pcp: 0 }}"
            )
            .unwrap();
        }
    };
    low("b", 60, "bs", "bd", 1_004);
    low("g", 11, "g", "l", 1_745);
    text + "run: { for: 10 ms, seeds: 40 }\naccept: [{ flow: \"*\", sim: 1 s }]\n"
}

/// Oracle: the simulator.
#[test]
fn requests_that_bit_errors_destroy_are_given_up() {
    let (scenario, analysis, results) = both(&impatient(", errors: 0.5", "10 MB"));
    assert_sound(&scenario, &analysis, &results);
    // Without errors the flow waits for its reply, and the bound is smaller.
    let (_, patient, _) = both(&impatient("", "10 MB"));
    let most = |analysis: &Analysis| {
        let bounds = analysis.streams.iter().map(|stream| &stream.bound);
        bounds.map(|bound| bound.as_ref().unwrap().latency).max()
    };
    assert!(most(&patient) < most(&analysis));
}

/// Oracle: the simulator. Untagged high-priority frames and a tagged low-priority one arrive over
/// one link with interfaces of high cost per octet, so they move towards each other.
#[test]
fn classes_of_one_link_share_its_slack() {
    let text = "rtether: 1\nname: joint line\n\
        stacks: { slow: { send: 0 us, receive: 0 us, interface: 0 us + 1 us/B } }\n\
        nodes: { t: {stack: slow}, x: {stack: zero}, l: {stack: zero} }\n\
        switches:\n\
        \x20 s: { ports: 3, latency: 0 us, queues: 8, buffer: 10 MB, port_settings: { 1: { trunk: all, native: 1, default_pcp: 6 }, 2: { trunk: all }, 3: { trunk: all } } }\n\
        links:\n\
        \x20 - { ends: [t, \"s:1\"], rate: 100 Mbit/s }\n\
        \x20 - { ends: [x, \"s:2\"], rate: 1 Gbit/s }\n\
        \x20 - { ends: [l, \"s:3\"], rate: 1 Gbit/s }\n\
        flows:\n\
        \x20 - { name: high, from: t, to: l, over: raw, period: 7 us, phase: 1 ms, start: 0 us, size: 18 B }\n\
        \x20 - { name: own, from: t, to: l, over: raw, period: 100 ms, phase: 1 ms, size: 1500 B, pcp: 0, vlan: 10 }\n\
        \x20 - { name: block, from: x, to: l, over: raw, period: 100 ms, phase: 2632880 ns, size: 1500 B, pcp: 1, vlan: 10 }\n\
        run: { for: 30 ms, seeds: 1 }\n\
        accept: [{ flow: \"*\", sim: 1 s }]\n";
    let (scenario, analysis, results) = both(text);
    assert_sound(&scenario, &analysis, &results);
}

/// Oracle: the simulator. A station without a stack answers a frame with two fragments, or two
/// fragments with as many: methods over whole ways took the ports before and behind it for one way,
/// on which each packet at the end is one of the beginning.
#[test]
fn fragments_of_an_answer_wait_for_each_other() {
    for (request, reply) in [("891 B", "2952 B"), ("2952 B", "2952 B"), ("2952 B", "64 B")] {
        for mode in ["cut-through", "store-and-forward"] {
            let text = format!(
                "rtether: 1\nname: fragments\nstacks: {{ slow: {{ send: 20 us, receive: 20 us }} }}\n\
                 nodes: {{ a: {{stack: slow}}, b: {{stack: zero}} }}\n\
                 switches: {{ s1: {{ ports: 2, mode: {mode} }}, s2: {{ ports: 2, mode: {mode} }} }}\n\
                 links:\n\
                 \x20 - {{ ends: [a, \"s1:1\"], rate: 100 Mbit/s }}\n\
                 \x20 - {{ ends: [\"s1:2\", \"s2:1\"], rate: 100 Mbit/s }}\n\
                 \x20 - {{ ends: [b, \"s2:2\"], rate: 100 Mbit/s }}\n\
                 flows:\n\
                 \x20 - {{ name: ask, from: a, to: b, period: 2 ms, phase: 0 us, size: {request}, reply: {{ size: {reply} }} }}\n\
                 run: {{ for: 20 ms, seeds: 1 }}\n"
            );
            let (scenario, analysis, results) = both(&text);
            assert_sound(&scenario, &analysis, &results);
        }
    }
}

/// Bounds a scenario that once took minutes and gigabytes.
///
/// Oracle: the clock, with a margin for a busy machine.
fn assert_quick(text: &str) -> Analysis {
    let loaded = scenario::load("counterexample.yaml", text);
    let scenario = loaded.scenario.expect("a good scenario");
    let begin = WallClock::now();
    let analysis = bound::analyze(&scenario);
    assert!(begin.elapsed() < WallTime::from_secs(5), "{text}");
    analysis
}

#[test]
fn long_busy_periods_and_short_periods_are_quick() {
    for (rate, cost, period) in [
        ("10 Gbit/s", "1 s", "200 ns"),
        ("400 Gbit/s", "100 ms", "10 ns"),
        ("100 Gbit/s", "0 us", "10 ns"),
    ] {
        let text = format!(
            "rtether: 1\nname: points\n\
             stacks: {{ slow: {{ send: 0 us, receive: {cost}, servers: per-direction, interface: 0 us + 1 ms/B }} }}\n\
             nodes: {{ t: {{stack: zero}}, l: {{stack: slow}} }}\n\
             switches:\n\
             \x20 s: {{ ports: 3, latency: 0 us, buffer: 10 MB }}\n\
             links:\n\
             \x20 - {{ ends: [t, \"s:1\"], rate: {rate} }}\n\
             \x20 - {{ ends: [l, \"s:3\"], rate: {rate} }}\n\
             flows:\n\
             \x20 - {{ name: a, from: t, to: l, over: raw, period: {period}, size: 18 B }}\n\
             \x20 - {{ name: own, from: t, to: l, over: raw, period: 1 h, size: 1500 B }}\n\
             run: {{ for: 30 ms, seeds: 1, overload: allow }}\n"
        );
        assert_quick(&text);
    }
}

#[test]
fn numbers_out_of_range_do_not_overflow() {
    let mut text = String::from(
        "rtether: 1\nname: overflow\n\
         stacks: { slow: { send: 0 us, receive: 3600 s, servers: per-direction } }\n\
         nodes:\n  l: { stack: slow }\n",
    );
    let count = 40;
    for number in 0..count {
        writeln!(text, "  n{number}: {{ stack: zero }}").unwrap();
    }
    writeln!(
        text,
        "switches: {{ s: {{ ports: 41, latency: 0 us }} }}\nlinks:\n  - {{ ends: [l, \"s:41\"], rate: 400 Gbit/s }}"
    )
    .unwrap();
    for number in 0..count {
        let port = number + 1;
        writeln!(text, "  - {{ ends: [n{number}, \"s:{port}\"], rate: 400 Gbit/s }}").unwrap();
    }
    text += "flows:\n";
    for number in 0..count {
        writeln!(
            text,
            "  - {{ name: f{number}, from: n{number}, to: l, over: raw, kind: adaptive, pause: 0 us, timeout: 239 h, size: 18 B, reply: {{ size: 18 B }} }}"
        )
        .unwrap();
    }
    text += "run: { for: 239 h, seeds: 1, overload: allow }\n";
    let analysis = assert_quick(&text);
    // Forty services of an hour each: the last packet waits for 39.
    for stream in &analysis.streams {
        match &stream.bound {
            Ok(bound) => assert!(bound.latency.as_ps() >= 40 * 3_600 * 1_000_000_000_000),
            Err(why) => assert_eq!(*why, Reason::OutOfRange),
        }
    }
}

#[test]
fn a_rare_flow_is_no_overload() {
    let text = "rtether: 1\nname: rare\n\
        nodes: { a: {stack: zero}, b: {stack: zero}, c: {stack: zero} }\n\
        switches: { s: { ports: 3, buffer: 1 GB } }\n\
        links:\n\
        \x20 - { ends: [a, \"s:1\"], rate: 10 Mbit/s }\n\
        \x20 - { ends: [b, \"s:2\"], rate: 10 Mbit/s }\n\
        \x20 - { ends: [c, \"s:3\"], rate: 10 Mbit/s }\n\
        flows:\n\
        \x20 - { name: hourly, from: a, to: b, period: 1 h, jitter: 2 min, size: 18 B }\n\
        \x20 - { name: dump, from: c, to: b, min_gap: 1 h, burst: 1000, size: 1472 B }\n\
        run: { for: 30 ms, seeds: 1 }\n";
    let analysis = assert_quick(text);
    for stream in &analysis.streams {
        let why = stream.bound.as_ref().unwrap_err();
        assert_eq!(*why, Reason::OutOfRange);
        assert!(why.to_string().contains("70 s"), "{why}");
    }
}
