//! Bounds against worked examples of the literature; see `README.md` beside this file.
//!
//! Each test prints a table: `cargo test -p rtether --test it -- published_bounds:: --nocapture`.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "the tables are what the tests are read for, and a test may panic"
)]

mod channels;

use std::fmt::Write as _;

use rtether::bound;
use rtether::run::{self, Progress};
use rtether::scenario::{self, Scenario};
use rtether_bounds::{Bound, analyze};
use rtether_model::flow::{Flow, Phase, Traffic};
use rtether_model::quantity::{BitRate, Duration};

fn load(text: &str) -> Scenario {
    let loaded = scenario::load("published.yaml", text).into_scenario();
    loaded.unwrap_or_else(|words| panic!("{words}"))
}

fn bounds(scenario: &Scenario, flows: &[Flow]) -> Vec<Bound> {
    let analysis = analyze(&scenario.network, flows);
    let streams = analysis.streams.into_iter();
    streams.map(|stream| stream.bound.unwrap()).collect()
}

/// Three messages of a CAN bus as frames of three priorities that leave a switch by one port.
///
/// A frame of 105 octets, tag included, takes 125 octets with preamble and gap: 1 ms at 1 Mbit/s,
/// the transmission time of each message in the example. Each arrives over its own link, a thousand
/// times as fast, so that it reaches the queue as it is released.
fn can() -> Scenario {
    let mut text = "rtether: 1\nname: CAN\nnodes:\n  sink: { stack: zero }\n".to_owned();
    let mut links = "links:\n  - { ends: [sink, 'sw:4'], rate: 10 Mbit/s }\n".to_owned();
    let mut flows = "flows:\n".to_owned();
    let messages = [("A", 7, "2.5 ms"), ("B", 6, "3.5 ms"), ("C", 5, "3.5 ms")];
    for (number, (name, pcp, period)) in (1..).zip(messages) {
        writeln!(text, "  n{number}: {{ stack: zero }}").unwrap();
        let link = format!("  - {{ ends: [n{number}, 'sw:{number}'], rate: 1 Gbit/s }}\n");
        links += &link;
        writeln!(
            flows,
            "  - {{ name: {name}, from: n{number}, to: sink, period: {period}, size: 55 B, \
             pcp: {pcp} }}"
        )
        .unwrap();
    }
    text += "switches:\n  sw: { ports: 4, queues: 8 }\n";
    text += &links;
    text += &flows;
    text += "run: { for: 100 ms, seeds: 1 }\n";
    let mut scenario = load(&text);
    // Slower than any Ethernet, so a scenario cannot express it.
    scenario.network.links[0].rate = BitRate::from_bps(1_000_000);
    scenario
}

/// Oracle: R. I. Davis, A. Burns, R. J. Bril, J. J. Lukkien: Controller Area Network (CAN)
/// schedulability analysis: Refuted, revisited and revised, Real-Time Systems 35(3), 2007: response
/// times 2, 3 and 3.5 ms, the last in the second instance of a busy period; the first instance
/// takes 3 ms, which earlier work gave as the worst case.
#[test]
fn can_messages_of_davis() {
    let scenario = can();
    let found = bounds(&scenario, &scenario.flows);
    let millisecond = Duration::from_ms(1);
    let expected = [2_000, 3_000, 3_500].map(Duration::from_us);
    println!("message  published  bound");
    for ((flow, bound), expected) in scenario.flows.iter().zip(&found).zip(expected) {
        let queue = bound.hops.last().unwrap();
        let response = queue.queueing + millisecond;
        println!("{:<7}  {expected:>9}  {response}", flow.name);
        assert_eq!(response, expected, "{}", flow.name);
    }
    // The simulator finds the second instance if A and B arrive as C begins, and A again at 2.5 ms.
    let results = run::simulate(&scenario, &Progress::default()).unwrap();
    for (stream, bound) in results.record.streams.iter().zip(&found) {
        assert!(stream.latency.max <= bound.latency);
    }
}

/// Nanoseconds of a frame of 500 octets with preamble and gap at 100 Mbit/s.
const FRAME_NS: i64 = 40_000;
/// Technological latency of a switch.
const LATENCY_NS: i64 = 16_000;
/// The gap behind a frame, which the published figures count as part of it.
const GAP_NS: i64 = 960;

/// Five virtual links with a bandwidth allocation gap of 4 ms through three switches. v1 meets v2
/// at the first switch, and v3 and v5, which arrive over two other links, at the last one.
fn avionics() -> Scenario {
    let mut text = "rtether: 1\nname: five virtual links\nnodes:\n".to_owned();
    for number in 1..=7 {
        writeln!(text, "  e{number}: {{ stack: zero }}").unwrap();
    }
    text += "switches:\n";
    for number in 1..=3 {
        writeln!(text, "  s{number}: {{ ports: 5, latency: 16 us }}").unwrap();
    }
    text += "links:\n";
    let links = [
        ("e1", "s1:1"),
        ("e2", "s1:2"),
        ("e3", "s2:1"),
        ("e4", "s2:2"),
        ("s1:3", "s3:1"),
        ("s2:3", "s3:2"),
        ("e5", "s3:3"),
        ("e6", "s3:4"),
        ("e7", "s3:5"),
    ];
    for (a, b) in links {
        writeln!(text, "  - {{ ends: ['{a}', '{b}'], rate: 100 Mbit/s }}").unwrap();
    }
    text += "flows:\n";
    let flows = [("e1", "e6"), ("e2", "e7"), ("e3", "e6"), ("e4", "e7"), ("e5", "e6")];
    for (number, (from, to)) in (1..).zip(flows) {
        // 462 octets of payload, header and check sequence make a frame of 480.
        writeln!(
            text,
            "  - {{ name: v{number}, from: {from}, to: {to}, period: 4 ms, size: 462 B, over: raw }}"
        )
        .unwrap();
    }
    text += "run: { for: 40 ms, seeds: 1 }\n";
    load(&text)
}

/// Oracle: H. Bauer, J.-L. Scharbarg, C. Fraboul: Improving the Worst-Case Delay Analysis of an
/// AFDX Network Using an Optimized Trajectory Approach, IEEE Transactions on Industrial Informatics
/// 6(4), 2010, second-hand: 272 us for v1 by trajectories; 276.02 us by total flow analysis with
/// line shaping and packet term, with public tools on a reconstruction. The simulator gives the
/// lower end.
#[test]
fn five_virtual_links() {
    let scenario = avionics();
    let found = bounds(&scenario, &scenario.flows);
    // Three frames ahead and its own three times, with gaps as published; two latencies.
    let published = Duration::from_ns(6 * FRAME_NS + 2 * LATENCY_NS);
    assert_eq!(published, Duration::from_us(272));
    let gaps = Duration::from_ns(3 * GAP_NS);
    let bound = found[0].latency + gaps;

    let hop = FRAME_NS - GAP_NS + LATENCY_NS;
    let late = 1;
    // v2 reaches the first switch just before v1; v3 and v5 reach the last one just before v1,
    // which has waited for v2.
    let at_last = hop + FRAME_NS + hop;
    let phases = [late, 0, at_last - 2 * hop - 1, 2_000_000, at_last - hop - 1];
    let mut worst = scenario.clone();
    for (flow, phase) in worst.flows.iter_mut().zip(phases) {
        flow.traffic = Traffic::Periodic {
            period: Duration::from_ms(4),
            phase: Phase::Fixed(Duration::from_ns(phase)),
            release_jitter: Duration::ZERO,
        };
    }
    let results = run::simulate(&worst, &Progress::default()).unwrap();
    let seen = results.record.streams[0].latency.max + gaps;
    println!("v1: simulated {seen}, bound {bound}, trajectory 272 us, total flow 276.02 us");
    assert!(seen <= bound);
    // The phases above leave a few nanoseconds between the frames.
    assert!(seen >= published - Duration::from_ns(10), "{seen}");
    assert!(bound <= Duration::from_ns(276_020), "{bound}");
    assert_eq!(bound::counts(&scenario, &bound::analyze(&scenario)).unjudged, 5);
}

/// Oracle: the limit on the jitter of an end system of ARINC 664, part 7, second-hand: 40 us and
/// `(20 + L) 8 / rate` of each virtual link, so 216 us for ten of 200 octets at 100 Mbit/s. All ten
/// at once: the last one waits for nine frames with gaps, 158.4 us, behind a least delay of two
/// times 16.64 us and the latency of the switch. The bound is the same for each.
#[test]
fn ten_virtual_links_of_one_end_system() {
    let mut text = "rtether: 1\nname: ten virtual links\nnodes: { from: { stack: zero }, to: { stack: zero } }\nswitches: { s: { ports: 2, latency: 16 us } }\nlinks:\n  - { ends: [from, 's:1'], rate: 100 Mbit/s }\n  - { ends: [to, 's:2'], rate: 100 Mbit/s }\nflows:\n".to_owned();
    for number in 1..=10 {
        writeln!(
            text,
            "  - {{ name: v{number}, from: from, to: to, period: 8 ms, phase: 0 ms, size: 154 B }}"
        )
        .unwrap();
    }
    text += "run: { for: 40 ms, seeds: 1 }\n";
    let scenario = load(&text);
    let slot = Duration::from_ns(17_600);
    let least = Duration::from_ns(2 * 16_640 + LATENCY_NS);
    let limit = Duration::from_us(216) - Duration::from_us(40);
    assert_eq!(slot * 10, limit);
    let most = least + slot * 9;
    for bound in bounds(&scenario, &scenario.flows) {
        assert_eq!(bound.latency, most);
        assert!(bound.latency - least <= limit);
    }
    let results = run::simulate(&scenario, &Progress::default()).unwrap();
    let seen = results.record.streams.iter().map(|own| own.latency.max);
    assert_eq!(seen.max(), Some(most));
}
