//! The simulated maximum never exceeds the proved bound.
//!
//! The two sides share only the description of the plant, so a mistake in either is likely to show
//! as a contradiction. Each case is made from its number; a failure prints the command that repeats
//! it. `RTETHER_NIGHTLY=1` runs 10 000 cases.

#![allow(clippy::cast_precision_loss, reason = "quotients of bound and maximum are for display")]

mod access;
mod admitted;
mod asking;
mod behind;
mod certified;
mod composition;
mod counterexamples;
mod deadlines;
mod draw;
mod full;
mod helped;
mod identified;
mod incremental;
mod layers;
mod messages;
mod own;
mod plant;
mod policed;
mod polls;
mod published;
mod redundant;
mod resolving;
mod routed;
mod scanned;
mod spaced;
mod split;
mod threads;
mod tightness;
mod unknown;
mod wide;
mod windows;
mod words;

use std::collections::BTreeMap;

use rtether::scenario::RunPlan;
use rtether_bounds::{Analysis, analyze};
use rtether_model::flow::{Flow, Phase, Traffic};
use rtether_model::network::PortId;
use rtether_model::quantity::{Duration, Instant};
use rtether_model::record::{Record, Segment};
use rtether_model::route::Routing;
use rtether_model::wire;
use rtether_sim::observe::NoObserver;
use rtether_sim::{Config, Simulation};
use rtether_testkit::Dice;

use plant::{Plant, Variety};

const CASES: u64 = 150;
const NIGHTLY_CASES: u64 = 10_000;
/// Cases by which nightly runs have found mistakes; they come first in every run.
const FOUND: [(&str, u64); 3] = [
    ("policed_flows_keep_to_their_bounds", 889),
    ("the_first_of_two_copies_keeps_to_the_bound", 3_705),
    ("packets_held_for_an_address_keep_to_their_bounds", 6_297),
];
/// Runs of each case, with different phases.
const RUNS: u64 = 8;

/// Random numbers of a case: one number always gives the same plant.
fn dice(number: u64) -> Dice {
    Dice::new(number.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d)
}

/// Prints how to repeat a case that fails.
struct Repeat(u64, &'static str);

impl Drop for Repeat {
    #[allow(clippy::print_stderr, reason = "the message of a failed test")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!(
                "repeat with: RTETHER_CASE={} cargo test -p rtether --test it {}",
                self.0, self.1
            );
        }
    }
}

/// Runs `property` on many cases, or on the one given by the environment.
fn for_each_case(test: &'static str, property: impl FnMut(u64)) {
    for_each_case_of(CASES, test, property);
}

/// The same with another number of cases than usual.
fn for_each_case_of(cases: u64, test: &'static str, property: impl FnMut(u64)) {
    for_each_case_up_to([cases, NIGHTLY_CASES], test, property);
}

/// The same with another number of cases than usual, and of those in the nightly run.
fn for_each_case_up_to(
    [cases, nightly]: [u64; 2],
    test: &'static str,
    mut property: impl FnMut(u64),
) {
    let variable = |name| std::env::var(name).ok();
    let numbers: Vec<u64> = if let Some(text) = variable("RTETHER_CASE") {
        vec![text.parse().expect("RTETHER_CASE is a number")]
    } else {
        let is_nightly = variable("RTETHER_NIGHTLY").is_some_and(|value| value == "1");
        let found = FOUND.iter().filter(|(name, _)| *name == test);
        let new = 0..if is_nightly { nightly } else { cases };
        found.map(|(_, number)| *number).chain(new).collect()
    };
    for number in numbers {
        let repeat = Repeat(number, test);
        property(number);
        drop(repeat);
    }
}

/// Simulates with the phases of `flows` and returns the record.
fn simulate(plant: &Plant, flows: &[Flow], seed: u64) -> Record {
    let config = Config { seed, warmup: Duration::ZERO, bucket: Duration::ZERO };
    let mut simulation = Simulation::new(&plant.network, flows, &config).unwrap();
    let until = Instant::ZERO + Duration::from_ms(30);
    simulation.run_until(until, &mut NoObserver);
    simulation.finish()
}

fn with_phases(flows: &[Flow], mut phase: impl FnMut(usize, &Flow) -> Duration) -> Vec<Flow> {
    let mut flows = flows.to_vec();
    for (index, flow) in flows.iter_mut().enumerate() {
        let start = phase(index, flow);
        if let Traffic::Periodic { phase, .. } = &mut flow.traffic {
            *phase = Phase::Fixed(start);
        } else {
            flow.start = start;
        }
    }
    flows
}

/// Returns how long a search for bad releases simulates: as long as a run here.
const fn searched() -> RunPlan {
    RunPlan {
        duration: Duration::from_ms(30),
        warmup: Duration::ZERO,
        runs: 1,
        seed: 0,
        bucket: Duration::ZERO,
    }
}

/// Returns the time of a flow's frame from release to the queue of `port` on an empty network.
fn way_to(plant: &Plant, flow: &Flow, port: PortId) -> Option<Duration> {
    let routing = Routing::new(&plant.network);
    let mut time = Duration::ZERO;
    for &listener in &flow.listeners {
        let path = routing.flow_path(&plant.network, flow, listener);
        for hop in path.unwrap_or_default() {
            if hop.egress == port {
                return Some(time);
            }
            let link = &plant.network.links[hop.link.index()];
            let frame = flow.frames(flow.payload).full;
            time += wire::wire_time(frame, link.rate) + link.propagation;
            if let Some(switch) = plant.network.switch(hop.ingress.node) {
                time += switch.latency;
            }
        }
    }
    None
}

/// Returns phases with which frames of all flows through `port` arrive there at about the same time
/// on an empty network, the one numbered `last` slightly after the others.
fn meeting_at(plant: &Plant, port: PortId, last: usize) -> Vec<Flow> {
    let meeting = Duration::from_ms(10);
    with_phases(&plant.flows, |index, flow| {
        let early = way_to(plant, flow, port).map_or(Duration::ZERO, |way| meeting - way);
        let late = if index == last { 1_000 } else { 0 };
        (early + Duration::from_ps(late)).max(Duration::ZERO)
    })
}

/// Returns the phases of one run: synchronized, random, or meeting at some port.
fn adversarial(plant: &Plant, dice: &mut Dice, run: u64) -> Vec<Flow> {
    match run {
        _ if plant.flows.is_empty() => Vec::new(),
        0 => with_phases(&plant.flows, |_, _| Duration::ZERO),
        // Nearly synchronized at one station.
        _ if plant.is_focused => {
            let spread = dice.pick(&[1, 20_000_000, 150_000_000, 1_000_000_000]);
            with_phases(&plant.flows, |_, _| Duration::from_ps(dice.time(0, spread)))
        }
        1 | 2 => with_phases(&plant.flows, |_, _| Duration::from_ps(dice.time(0, 4_000_000_000))),
        _ => {
            let target = dice.index(plant.flows.len());
            let flow = &plant.flows[target];
            let routing = Routing::new(&plant.network);
            let listener = dice.pick(&flow.listeners);
            let path = routing.flow_path(&plant.network, flow, listener).unwrap();
            if path.is_empty() {
                // To its own station: it meets others in the stack.
                let spread = dice.pick(&[1, 20_000_000, 150_000_000, 1_000_000_000]);
                return with_phases(&plant.flows, |_, _| Duration::from_ps(dice.time(0, spread)));
            }
            // Mostly the last hop, where all disturbing flows have joined.
            let hop = if dice.chance(60) { path.len() - 1 } else { dice.index(path.len()) };
            meeting_at(plant, path[hop].egress, target)
        }
    }
}

/// Checks one record and returns the largest latency of each stream.
fn check(analysis: &Analysis, record: &Record) -> Vec<Duration> {
    assert_eq!(analysis.streams.len(), record.streams.len());
    for (bound, seen) in analysis.streams.iter().zip(&record.streams) {
        assert_eq!(bound.listener.0, seen.listener);
        if let Ok(bound) = &bound.bound {
            for (method, latency) in &bound.by_method {
                assert!(
                    seen.latency.max <= *latency,
                    "flow {} to node {}: {} seen, {latency} proved by {}: {:?}, {:?}",
                    seen.flow,
                    seen.listener,
                    seen.latency.max,
                    method.name(),
                    bound.hops,
                    seen.worst,
                );
            }
            let least = bound.by_method.iter().map(|found| found.1).min();
            assert_eq!(least, Some(bound.latency));
            assert!(seen.latency.count == 0 || bound.latency_min <= seen.latency.min);
            let sum: Duration = bound.hops.iter().map(rtether_bounds::HopBound::delay).sum();
            assert_eq!(sum, bound.latency, "the hops are the whole");
        }
    }
    for port in &analysis.ports {
        let seen = record.ports.iter().find(|seen| seen.port == port.port);
        if let (Some(limit), Some(seen)) = (port.backlog, seen) {
            assert!(seen.backlog_max <= limit, "{port:?}: {} seen", seen.backlog_max);
        }
        let queues = seen.iter().flat_map(|seen| &seen.queues);
        for (limit, seen) in port.queues.iter().zip(queues) {
            let is_within = limit.is_none_or(|limit| seen.backlog_max <= limit);
            assert!(is_within, "{port:?}: {} seen", seen.backlog_max);
        }
    }
    for (number, seen) in (0u32..).zip(&record.nodes) {
        let is_stack = |s: &&rtether_bounds::StackBound| s.segment != Segment::Application;
        let own = analysis.stacks.iter().filter(|s| s.node.0 == number);
        let own = own.filter(is_stack);
        let limits: Option<Vec<u64>> = own.map(|stack| stack.waiting).collect();
        if let Some(limits) = limits {
            let limit: u64 = limits.iter().sum();
            assert!(
                u64::from(seen.stack_queue_max) <= limit,
                "{} packets wait for the stack of node {number}, {limit} proved",
                seen.stack_queue_max
            );
        }
    }
    let seen = record.streams.iter();
    seen.map(|stream| stream.latency.max).collect()
}

/// Ratio of bound to largest observed latency, for all streams of all cases.
#[derive(Default)]
struct Tightness {
    ratios: Vec<f64>,
    streams: usize,
    bounded: usize,
    /// Reasons why streams have no bound.
    reasons: BTreeMap<String, usize>,
    /// By method that gives the bound: number of streams, and summed improvement over the first
    /// method.
    methods: BTreeMap<&'static str, (usize, f64)>,
    /// Streams that have a bound by the diameter of their plant.
    by_diameter: usize,
}

impl Tightness {
    fn add(&mut self, analysis: &Analysis, seen: &[Duration]) {
        for (stream, seen) in analysis.streams.iter().zip(seen) {
            self.streams += 1;
            match &stream.bound {
                Ok(bound) => {
                    self.bounded += 1;
                    let (count, gain) = self.methods.entry(bound.method.name()).or_default();
                    *count += 1;
                    *gain += bound.by_method[0].1.as_secs_f64() / bound.latency.as_secs_f64() - 1.0;
                    if *seen > Duration::ZERO {
                        self.ratios.push(bound.latency.as_secs_f64() / seen.as_secs_f64());
                    }
                }
                Err(reason) => {
                    let text = reason.to_string();
                    let text = text.split(':').next().unwrap_or_default();
                    *self.reasons.entry(text.into()).or_default() += 1;
                }
            }
        }
    }

    #[allow(clippy::print_stdout, reason = "shown with --nocapture")]
    fn print(&mut self, what: &str) {
        if self.ratios.is_empty() {
            return println!("{what}: nothing bounded was delivered");
        }
        self.ratios.sort_by(f64::total_cmp);
        let at = |percent: usize| self.ratios[(self.ratios.len() - 1) * percent / 100];
        let count = self.ratios.len().max(1);
        let mean = self.ratios.iter().sum::<f64>() / count as f64;
        println!(
            "{what}: {} of {} streams bounded; bound / seen: median {:.3}, mean {mean:.3}, \
             p95 {:.3}, max {:.3}",
            self.bounded,
            self.streams,
            at(50),
            at(95),
            at(100),
        );
        println!("  {} by diameter", self.by_diameter);
        for (reason, streams) in &self.reasons {
            println!("  {streams} not: {reason}");
        }
        for (method, (count, gain)) in &self.methods {
            let percent = 100.0 * gain / *count as f64;
            println!("    {method}: {count} streams, gain {percent:.1} % in the mean");
        }
    }
}

/// Checks the bounds by diameter, and returns how many of them there are.
fn check_diameter(plant: &Plant, seen: &[Duration]) -> usize {
    let Ok(found) = rtether_bounds::diameter(&plant.network, &plant.flows) else {
        return 0;
    };
    let streams = found.streams.iter().zip(seen);
    let streams = streams.filter_map(|(bound, seen)| Some((bound.as_ref()?, seen)));
    let mut count = 0;
    for ((places, bound), seen) in streams {
        assert!(seen <= bound, "{seen} seen, {bound} by {places} places: {found:?}");
        count += 1;
    }
    count
}

fn soundness(test: &'static str, variety: Variety) -> Tightness {
    soundness_of([CASES, NIGHTLY_CASES], test, variety)
}

/// The same with another number of cases than usual, and of those in the nightly run.
fn soundness_of(cases: [u64; 2], test: &'static str, variety: Variety) -> Tightness {
    let mut tightness = Tightness::default();
    for_each_case_up_to(cases, test, |number| {
        let plant = Plant::random(number, variety);
        let analysis = analyze(&plant.network, &plant.flows);
        let mut dice = dice(!number);
        let mut most = vec![Duration::ZERO; analysis.streams.len()];
        for run in 0..RUNS {
            let flows = adversarial(&plant, &mut dice, run);
            let record = simulate(&plant, &flows, number ^ run);
            for (most, seen) in most.iter_mut().zip(check(&analysis, &record)) {
                *most = (*most).max(seen);
            }
        }
        tightness.by_diameter += check_diameter(&plant, &most);
        tightness.add(&analysis, &most);
    });
    tightness
}

/// Oracle: the simulator, which shares no code with the bounds.
#[test]
fn nothing_simulated_exceeds_its_bound() {
    let mut tightness = soundness("nothing_simulated_exceeds_its_bound", Variety::Full);
    tightness.print("all kinds of plants");
    assert!(
        tightness.bounded * 2 > tightness.streams || std::env::var_os("RTETHER_CASE").is_some()
    );
}

/// Oracle: the simulator, as above, where ports share octets.
#[test]
fn deficit_round_robin_keeps_to_its_bounds() {
    let test = "deficit_round_robin_keeps_to_its_bounds";
    soundness(test, Variety::Deficit).print("ports with deficit round robin");
}

/// Oracle: the simulator, as above, where ports and transmit queues wait for their credit.
#[test]
fn shaped_ports_keep_to_their_bounds() {
    let test = "shaped_ports_keep_to_their_bounds";
    let mut tightness = soundness(test, Variety::Shaped);
    tightness.print("ports with the credit-based shaper");
    // Where a class brings more than its slope it has no bound.
    assert!(
        tightness.bounded * 4 > tightness.streams || std::env::var_os("RTETHER_CASE").is_some()
    );
}

/// Oracle: the simulator, as above, on the plants of the published comparisons.
#[test]
fn bounds_of_plain_plants_are_tight() {
    let mut tightness = soundness("bounds_of_plain_plants_are_tight", Variety::Plain);
    tightness.print("plain plants");
    assert!(tightness.by_diameter > 0 || std::env::var_os("RTETHER_CASE").is_some());
}

/// Oracle: the simulator, as above, where flows take long ways through rings, by routes or VLANs.
#[test]
fn flows_with_routes_keep_to_their_bounds() {
    let mut tightness = soundness("flows_with_routes_keep_to_their_bounds", Variety::Routed);
    tightness.print("plants with routes");
    assert!(
        tightness.bounded * 3 > tightness.streams || std::env::var_os("RTETHER_CASE").is_some()
    );
}

/// Oracle: the simulator, as above, where the latency of switches varies.
#[test]
fn switches_of_varying_latency_keep_to_their_bounds() {
    let test = "switches_of_varying_latency_keep_to_their_bounds";
    soundness(test, Variety::Jittered).print("switches of varying latency");
}

/// Oracle: the simulator, as above, where packets pass the processors of routers.
#[test]
fn routers_keep_to_their_bounds() {
    let mut tightness = soundness("routers_keep_to_their_bounds", Variety::Internetwork);
    tightness.print("plants with routers");
    assert!(
        tightness.bounded * 3 > tightness.streams || std::env::var_os("RTETHER_CASE").is_some()
    );
}

/// Oracle: the simulator, as above, where stations have tasks, queues and smoothers.
#[test]
fn layers_keep_to_their_bounds() {
    let mut tightness = soundness("layers_keep_to_their_bounds", Variety::Layered);
    tightness.print("plants with layers");
    assert!(
        tightness.bounded * 5 > tightness.streams * 2 || std::env::var_os("RTETHER_CASE").is_some()
    );
}
