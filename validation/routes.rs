//! Bounds of flows on given routes against worked examples of the literature; see `README.md`
//! beside this file.
//!
//! Each test prints a table: `cargo test -p rtether --test it -- published_routes:: --nocapture`.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "the tables are what the tests are read for, and a test may panic"
)]

use std::collections::BTreeMap;
use std::fmt::Write as _;

use rtether::scenario::{self, Scenario};
use rtether_bounds::{Analysis, Reason, analyze};
use rtether_model::quantity::{Duration, Instant};
use rtether_sim::observe::NoObserver;
use rtether_sim::{Config, Simulation};

fn load(text: &str) -> Scenario {
    let loaded = scenario::load("published.yaml", text).into_scenario();
    loaded.unwrap_or_else(|words| panic!("{words}"))
}

fn analysis_of(scenario: &Scenario) -> Analysis {
    analyze(&scenario.network, &scenario.flows)
}

/// Returns the largest latency of each flow in runs with random phases, which change in each run.
fn simulated(scenario: &Scenario, runs: u64) -> Vec<Duration> {
    let mut most = vec![Duration::ZERO; scenario.flows.len()];
    for seed in 0..runs {
        let config = Config { seed, warmup: Duration::ZERO, bucket: Duration::ZERO };
        let mut run = Simulation::new(&scenario.network, &scenario.flows, &config).unwrap();
        run.run_until(Instant::ZERO + Duration::from_ms(20), &mut NoObserver);
        for (most, seen) in most.iter_mut().zip(run.finish().streams) {
            *most = (*most).max(seen.latency.max);
        }
    }
    most
}

/// Paths of the five flows of Martin and Minet over numbered nodes.
const PATHS: [&[usize]; 5] =
    [&[1, 3, 4, 5], &[9, 10, 7, 6], &[2, 3, 4, 7, 10, 11], &[2, 3, 4, 7, 10, 11], &[2, 3, 4, 7, 8]];
/// Published by the trajectory approach, and by the holistic one.
const TRAJECTORY: [i64; 5] = [31, 37, 47, 47, 40];
const HOLISTIC: [i64; 5] = [43, 63, 73, 73, 56];
/// Period, processing time in a node, and delay between two nodes.
const PERIOD: i64 = 36;
const WORK: i64 = 4;
const LINK: i64 = 1;

/// The trajectory approach with order of arrival, for equal flows: see the paper.
struct Trajectory {
    /// Latest arrival at each node, by flow and node.
    latest: BTreeMap<(usize, usize), i64>,
}

impl Trajectory {
    /// Repeats the computation until nothing changes.
    fn new() -> Self {
        let mut found = Self { latest: BTreeMap::new() };
        loop {
            let mut next = BTreeMap::new();
            for (flow, path) in PATHS.iter().enumerate() {
                for (place, &node) in path.iter().enumerate() {
                    let before = match place {
                        0 => 0,
                        _ => found.response(flow, place) + LINK,
                    };
                    next.insert((flow, node), before);
                }
            }
            if next == found.latest {
                return found;
            }
            found.latest = next;
        }
    }

    fn earliest(flow: usize, node: usize) -> i64 {
        let place = PATHS[flow].iter().position(|&own| own == node).unwrap();
        i64::try_from(place).unwrap() * (WORK + LINK)
    }

    /// Response time over the first `count` nodes of a flow.
    fn response(&self, flow: usize, count: usize) -> i64 {
        let path = &PATHS[flow][..count];
        let hops = i64::try_from(count - 1).unwrap();
        let at = |flow, node| self.latest.get(&(flow, node)).copied().unwrap_or(0);
        let work = |time: i64| {
            let others = (0..PATHS.len()).filter(|&other| other != flow);
            let cross = others.filter_map(|other| {
                let first = *path.iter().find(|node| PATHS[other].contains(node))?;
                let theirs = *PATHS[other].iter().find(|node| path.contains(node))?;
                let window = time + at(flow, theirs) - Self::earliest(other, theirs)
                    + at(other, first)
                    - Self::earliest(flow, first);
                Some((1 + window.div_euclid(PERIOD)).max(0) * WORK)
            });
            // Its own packet, one more in every node but one, and the links.
            cross.sum::<i64>() + WORK + hops * (WORK + LINK)
        };
        (0..PERIOD).map(|time| work(time) - time).max().unwrap()
    }
}

/// Microseconds of one unit of time of the example.
const UNIT_US: i64 = 10;

/// The example of Martin and Minet: each numbered node is a port with its link. Stations are nodes
/// 1, 2 and 9, which no flow passes on its way; 7 and 10 lead round a ring of four switches, whose
/// other two links take no time worth mentioning.
///
/// A frame of 480 octets occupies a link of 100 Mbit/s for 40 us, 0.96 us of which are the gap
/// behind it. The propagation makes up for the gap, and has the delay to the next node.
fn trajectories() -> Scenario {
    let mut text = "rtether: 1\nname: Martin and Minet\nnodes:\n".to_owned();
    for station in ["n1", "n2", "n9", "l5", "l6", "l8", "l11"] {
        writeln!(text, "  {station}: {{ stack: zero }}").unwrap();
    }
    text += "switches:\n";
    for switch in ["a", "b", "c1", "d1", "d2", "c2"] {
        writeln!(text, "  {switch}: {{ ports: 5 }}").unwrap();
    }
    text += "links:\n";
    let inner = [
        ("n1", "a:1"),
        ("n2", "a:2"),
        ("n9", "d2:1"),
        ("a:3", "b:1"),
        ("b:2", "c1:1"),
        ("c1:2", "d1:1"),
        ("d2:2", "c2:1"),
    ];
    let last = [("c1:3", "l5"), ("d1:2", "l6"), ("d1:3", "l8"), ("c2:2", "l11")];
    let fast = [("d1:4", "d2:3"), ("c2:3", "c1:4")];
    for (ends, rate, propagation) in [
        (&inner[..], "100 Mbit/s", "10.96 us"),
        (&last[..], "100 Mbit/s", "0.96 us"),
        (&fast[..], "400 Gbit/s", "0 us"),
    ] {
        for (a, b) in ends {
            writeln!(
                text,
                "  - {{ ends: ['{a}', '{b}'], rate: {rate}, propagation: {propagation} }}"
            )
            .unwrap();
        }
    }
    text += "flows:\n";
    let routes = [
        "n1, a, b, c1, l5",
        "n9, d2, c2, c1, d1, l6",
        "n2, a, b, c1, d1, d2, c2, l11",
        "n2, a, b, c1, d1, d2, c2, l11",
        "n2, a, b, c1, d1, l8",
    ];
    for (number, route) in (1..).zip(routes) {
        let (from, _) = route.split_once(',').unwrap();
        let (_, to) = route.rsplit_once(' ').unwrap();
        writeln!(
            text,
            "  - {{ name: t{number}, from: {from}, to: {to}, period: 360 us, size: 462 B, \
             over: raw, route: [{route}] }}"
        )
        .unwrap();
    }
    text += "run: { for: 20 ms, seeds: 1 }\n";
    load(&text)
}

/// Oracle: S. Martin, P. Minet: Schedulability analysis of flows scheduled with FIFO: application to
/// the Expedited Forwarding class, IPDPS 2006, second-hand: T = 36, C = 4, delay between nodes 1;
/// response times 31, 37, 47, 47 and 40 by the trajectory approach, 43, 63, 73, 73 and 56 by the
/// holistic one. The paths are reconstructed: with these, the formula of the approach gives all five
/// published values.
#[test]
fn flows_of_martin_and_minet() {
    let formula = Trajectory::new();
    let scenario = trajectories();
    let analysis = analysis_of(&scenario);
    assert!(analysis.effort.is_cyclic, "7 and 10 wait for each other");
    let seen = simulated(&scenario, 400);
    println!("flow  trajectory  holistic  bound  simulated");
    let unit = Duration::from_us(UNIT_US).as_secs_f64();
    for flow in 0..PATHS.len() {
        let bound = analysis.streams[flow].bound.as_ref().unwrap().latency;
        println!(
            "t{}    {:>10}  {:>8}  {:>5.1}  {:>9.1}",
            flow + 1,
            TRAJECTORY[flow],
            HOLISTIC[flow],
            bound.as_secs_f64() / unit,
            seen[flow].as_secs_f64() / unit,
        );
        assert_eq!(
            formula.response(flow, PATHS[flow].len()),
            TRAJECTORY[flow],
            "the paths are those of the example"
        );
        assert!(seen[flow] <= bound);
    }
}

/// Six switches in a ring of 100 Mbit/s; the station of each sends over `hops` links of the ring,
/// always the same way round. `load` is that of each link of the ring in per cent.
fn ring_of_six(hops: usize, load_percent: i64) -> Scenario {
    let mut text = "rtether: 1\nname: ring of six\nnodes:\n".to_owned();
    let mut switches = "switches:\n".to_owned();
    let mut links = "links:\n".to_owned();
    let mut flows = "flows:\n".to_owned();
    // 40 us of each flow on a link.
    let period = i64::try_from(hops).unwrap() * 40_000 * 100 / load_percent;
    for index in 0..6 {
        let at = |offset: usize| (index + offset) % 6;
        writeln!(text, "  e{index}: {{ stack: zero }}").unwrap();
        writeln!(switches, "  s{index}: {{ ports: 3 }}").unwrap();
        writeln!(
            links,
            "  - {{ ends: [e{index}, 's{index}:1'], rate: 1 Gbit/s }}\n  \
             - {{ ends: ['s{index}:2', 's{}:3'], rate: 100 Mbit/s }}",
            at(1)
        )
        .unwrap();
        let way: Vec<String> = (0..=hops).map(|hop| format!("s{}", at(hop))).collect();
        writeln!(
            flows,
            "  - {{ name: f{index}, from: e{index}, to: e{}, period: {period} ns, size: 462 B, \
             over: raw, route: [e{index}, {}, e{}] }}",
            at(hops),
            way.join(", "),
            at(hops)
        )
        .unwrap();
    }
    text += &switches;
    text += &links;
    text += &flows;
    text += "run: { for: 20 ms, seeds: 1, overload: allow }\n";
    load(&text)
}

/// Oracle: second-hand, of public tools on a ring of six: total flow analysis without shaping stops
/// converging between loads of 0.64 and 0.72, with line shaping and packet term it is finite at
/// 0.88. How far the flows of that ring go is not stated. The simulator is the lower end.
#[test]
fn a_ring_of_six_with_long_ways() {
    println!("links  load  bound  simulated");
    for hops in 2..=5 {
        for load in [64, 72, 80, 88] {
            let scenario = ring_of_six(hops, load);
            let analysis = analysis_of(&scenario);
            assert!(analysis.effort.is_cyclic);
            let seen = simulated(&scenario, 50);
            for (stream, seen) in analysis.streams.iter().zip(&seen) {
                match &stream.bound {
                    Ok(bound) => assert!(*seen <= bound.latency),
                    Err(reason) => assert!(matches!(reason, Reason::Cycle { .. }), "{reason:?}"),
                }
            }
            let bound = analysis.streams[0].bound.as_ref();
            let words = bound.map_or_else(ToString::to_string, |bound| bound.latency.to_string());
            println!("{hops}      0.{load}  {words}  {}", seen[0]);
            // Where each flow goes round all but one link, the fixed point ends before.
            assert_eq!(bound.is_ok(), (hops, load) != (5, 88));
        }
        let over = analysis_of(&ring_of_six(hops, 101));
        for stream in &over.streams {
            let reason = &stream.bound;
            assert!(matches!(reason, Err(Reason::Overload { .. })), "{reason:?}");
        }
    }
}
