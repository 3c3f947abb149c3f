//! 95 % means 95 %: intervals and limits against a queue whose distribution is known.
//!
//! One station sends frames of one size to another, at random times: what they wait at its port is
//! M/D/1, exactly. An experiment is one call of [`run::simulate`] or [`limit::find`], as the command
//! makes it; it is counted whether the true value lies in the interval.
//!
//! `RTETHER_BLESS=1 RTETHER_NIGHTLY=1 cargo test --release -p rtether --test it -- --ignored confidence::`
//! writes the table of `docs/models/confidence.md`, which takes 25 minutes on two cores.

mod queue;

use std::fmt::Write as _;

use queue::{Queue, bisect};
use rayon::prelude::*;
use rtether::limit::{self, Question};
use rtether::run::{self, Confidence, Interval, Needs, Progress};
use rtether::scenario::{self, Scenario};
use rtether_model::quantity::Duration;

/// 1000 octets over UDP, with preamble and gap, at 100 Mbit/s.
const SERVICE_NS: f64 = 85_280.0;
/// From the start of a frame to its arrival: without the gap of 12 octets.
const FRAME_NS: f64 = 84_320.0;

/// A plant at this load; the deadline is exceeded with probability `late`.
fn plant(queue: &Queue, load: f64, late: f64, (packets, runs): (u32, u32), seed: u64) -> Scenario {
    let deadline = queue.quantile(late) * SERVICE_NS + FRAME_NS;
    let gap = SERVICE_NS / load;
    let duration = gap * f64::from(packets) / 1e3;
    let text = format!(
        "rtether: 1\nnodes: {{ a: {{ stack: zero }}, b: {{ stack: zero }} }}\n\
         links: [ {{ ends: [a, b], rate: 100 Mbit/s, length: 0 m }} ]\nflows:\n  - {{ name: f, \
         from: a, to: b, kind: poisson, mean_gap: {gap:.3} ns, size: 1000 B, deadline: \
         {deadline:.3} ns }}\nrun: {{ for: {duration:.0} us, seeds: {runs}, seed: {seed} }}\n"
    );
    let loaded = scenario::load("queue.yaml", &text).into_scenario();
    loaded.unwrap_or_else(|words| panic!("{words}"))
}

/// What experiments of one cell showed.
#[derive(Clone, Copy, Default)]
struct Cell {
    experiments: u32,
    /// Of mean, 99th percentile, miss ratio: how many intervals hold the true value, and how many
    /// there are.
    holds: [u32; 3],
    given: [u32; 3],
    /// Experiments that need a longer warm-up.
    warmup: u32,
    /// 99th percentiles without upper end.
    open: u32,
}

impl Cell {
    fn coverage(&self, of: usize) -> f64 {
        f64::from(self.holds[of]) / f64::from(self.given[of])
    }

    fn answered(&self) -> f64 {
        f64::from(self.given[0]) / f64::from(self.experiments)
    }

    fn add(mut self, other: Self) -> Self {
        self.experiments += other.experiments;
        self.warmup += other.warmup;
        self.open += other.open;
        for of in 0..3 {
            self.holds[of] += other.holds[of];
            self.given[of] += other.given[of];
        }
        self
    }
}

fn one(queue: &Queue, late: f64, confidence: &Confidence) -> Cell {
    let time = |wait: f64| (wait * SERVICE_NS + FRAME_NS).round();
    let holds = |interval: Option<Interval>, truth: f64| {
        let ns = |time: Duration| time.as_ns_f64();
        interval.map(|own| ns(own.low) <= truth && own.high.is_none_or(|high| truth <= ns(high)))
    };
    let found = [
        holds(confidence.mean, time(queue.mean())),
        holds(confidence.p99, time(queue.quantile(0.01))),
        confidence.miss_ratio.map(|(low, high)| low <= late && late <= high),
    ];
    Cell {
        experiments: 1,
        holds: found.map(|own| u32::from(own == Some(true))),
        given: found.map(|own| u32::from(own.is_some())),
        warmup: u32::from(confidence.needs == Some(Needs::Warmup)),
        open: u32::from(confidence.p99.is_some_and(|own| own.high.is_none())),
    }
}

/// Returns the coverage at a load, of `experiments`, each with a number of packets in a number of runs.
fn cell(load: f64, late: f64, size: (u32, u32), experiments: u32) -> Cell {
    let queue = Queue::new(load);
    let cells = (0..experiments).into_par_iter().map(|number| {
        let seed = u64::from(number) * u64::from(size.1) + 1;
        let scenario = plant(&queue, load, late, size, seed);
        let results = run::simulate(&scenario, &Progress::default()).unwrap();
        one(&queue, late, &results.confidence[0])
    });
    cells.reduce(Cell::default, Cell::add)
}

/// Oracle: M/D/1. Of 200 experiments with 95 % each, fewer than 179 (89.5 %) hold once in a thousand
/// times; the miss ratio held in 21 % when packets were counted as independent.
#[test]
fn intervals_hold_what_they_say() {
    for (load, size) in [(0.5, (6_000, 1)), (0.8, (3_000, 4))] {
        let cell = cell(load, 0.01, size, 200);
        assert!(cell.answered() > 0.8, "{load}: {} given", cell.given[0]);
        for (of, name) in ["mean", "p99", "miss ratio"].iter().enumerate() {
            let coverage = cell.coverage(of);
            assert!(coverage >= 0.895, "{name} at load {load}: {coverage}");
        }
    }
}

/// Oracle: a run of 200 packets at load 0.95 is shorter than its packets depend on each other.
#[test]
fn what_cannot_be_said_is_not() {
    let queue = Queue::new(0.95);
    let scenario = plant(&queue, 0.95, 0.01, (200, 1), 1);
    let results = run::simulate(&scenario, &Progress::default()).unwrap();
    let found = results.confidence[0];
    assert_eq!(found.needs, Some(Needs::Runs));
    assert_eq!((found.mean, found.p99, found.miss_ratio), (None, None, None));
}

/// Oracle: a cost that is not known is one constant in a run, so that one run says nothing of others,
/// however many packets it has; nor do two regular flows with drawn phases.
#[test]
fn what_is_drawn_once_takes_several_runs() {
    let plant = |stack: &str, flows: &str| {
        let text = format!(
            "rtether: 1\nnodes: {{ a: {{ stack: zero }}, b: {{ stack: {stack} }} }}\n\
             links: [ {{ ends: [a, b], rate: 100 Mbit/s }} ]\nflows:\n{flows}run: {{ for: 2 s }}\n"
        );
        let loaded = scenario::load("drawn.yaml", &text).into_scenario();
        loaded.unwrap_or_else(|words| panic!("{words}"))
    };
    let random = "  - { name: f, from: a, to: b, kind: poisson, mean_gap: 1 ms, size: 64 B }\n";
    let regular = "  - { name: f, from: a, to: b, period: 1 ms, size: 64 B }\n  \
                   - { name: g, from: a, to: b, period: 1 ms, size: 64 B }\n";
    let needs = |scenario: &Scenario| {
        run::simulate(scenario, &Progress::default()).unwrap().confidence[0].needs
    };
    assert_eq!(needs(&plant("zero", random)), None);
    let unknown = "{ send: 10 us, receive: { unknown: 20 us .. 200 us } }";
    for mut drawn in [plant(unknown, random), plant("zero", regular)] {
        assert_eq!(needs(&drawn), Some(Needs::Runs));
        drawn.run.runs = 4;
        assert_eq!(needs(&drawn), None);
    }
}

/// Oracle: 400 runs that begin empty, each of 600 packets at load 0.9, have a mean of three quarters
/// of that in equilibrium, and their spread is far too small to cover it.
#[test]
fn many_short_runs_need_a_warmup() {
    let queue = Queue::new(0.9);
    let mut scenario = plant(&queue, 0.9, 0.01, (600, 400), 1);
    let confidence =
        |scenario: &Scenario| run::simulate(scenario, &Progress::default()).unwrap().confidence[0];
    assert_eq!(confidence(&scenario).needs, Some(Needs::Warmup));
    scenario.run.warmup = Duration::from_ms(50);
    scenario.run.duration += Duration::from_ms(50);
    let warm = confidence(&scenario);
    assert!(warm.needs.is_none() && warm.mean.is_some(), "{warm:?}");
}

/// Loads of the table, and packets in all runs of an experiment.
const LOADS: [(f64, u32); 7] = [
    (0.3, 4_000),
    (0.4, 4_000),
    (0.5, 16_000),
    (0.6, 16_000),
    (0.7, 32_000),
    (0.8, 64_000),
    (0.9, 128_000),
];

/// Oracle: M/D/1.
#[test]
#[ignore = "long"]
#[allow(clippy::print_stdout, reason = "shown with --nocapture")]
fn coverage_from_load_three_to_nine() {
    let experiments = if std::env::var_os("RTETHER_NIGHTLY").is_some() { 2_000 } else { 100 };
    let mut csv =
        "load,packets,runs,late,experiments,given,mean,p99,miss_ratio,p99_open,warmup\n".to_owned();
    let mut wrong = Vec::new();
    for (load, packets) in LOADS {
        for (runs, late) in [(1, 0.01), (4, 0.01), (4, 0.001)] {
            let cell = cell(load, late, (packets / runs, runs), experiments);
            let [mean, p99, missed] = [0, 1, 2].map(|of| cell.coverage(of));
            let line = format!(
                "{load},{packets},{runs},{late},{experiments},{},{mean:.4},{p99:.4},{missed:.4},{},{}",
                cell.given[0], cell.open, cell.warmup
            );
            println!("{line}");
            writeln!(csv, "{line}").unwrap();
            let mut is_right = [mean, p99].iter().all(|own| (0.93..=0.97).contains(own));
            // Of few misses the interval is wider than need be, and holds more often.
            is_right &= missed >= 0.93 && (missed <= 0.97 || late < 0.01);
            if !is_right || cell.answered() < 0.8 {
                wrong.push(line);
            }
        }
    }
    bless("coverage.csv", &csv);
    // A hundred experiments tell nothing this fine.
    assert!(wrong.is_empty() || experiments < 2_000, "{wrong:#?}");
}

fn bless(name: &str, csv: &str) {
    if std::env::var_os("RTETHER_BLESS").is_some() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../validation/confidence");
        std::fs::create_dir_all(folder).unwrap();
        std::fs::write(format!("{folder}/{name}"), csv).unwrap();
    }
}

/// The flow `m` has a deadline, and `load` shares its port; what is scaled is `load`.
fn shared(load: f64, deadline: f64, seed: u64) -> Scenario {
    let part = 0.2;
    let gaps = [part, load - part].map(|own| SERVICE_NS / own);
    let text = format!(
        "rtether: 1\nnodes: {{ a: {{ stack: zero }}, b: {{ stack: zero }} }}\n\
         links: [ {{ ends: [a, b], rate: 100 Mbit/s, length: 0 m }} ]\nflows:\n  - {{ name: m, \
         from: a, to: b, kind: poisson, mean_gap: {:.3} ns, size: 1000 B, deadline: \
         {deadline:.3} ns }}\n  - {{ name: load, from: a, to: b, kind: poisson, mean_gap: \
         {:.3} ns, size: 1000 B }}\nrun: {{ for: 2 s, warmup: 20 ms, seeds: 4, seed: {seed} }}\n",
        gaps[0], gaps[1],
    );
    let loaded = scenario::load("shared.yaml", &text).into_scenario();
    loaded.unwrap_or_else(|words| panic!("{words}"))
}

/// What searches found.
#[derive(Clone, Copy, Debug, Default)]
struct Searches {
    all: u32,
    /// Those that certified a load, and one above the true limit.
    certified: u32,
    above: u32,
    /// Sum of the certified loads, relative to the true limit.
    loads: f64,
}

/// Searches for the limit of a plant many times; the true limit is known.
fn searches(wait: f64, miss_ratio: f64, count: u32) -> Searches {
    let present = 0.6;
    // Poisson arrivals see averages, whichever flow they belong to, and flows together are M/D/1.
    let limit = bisect(0.3, 0.94, |load| Queue::new(load).exceeds(wait) < miss_ratio);
    let question =
        Question { flows: Some("load".into()), miss_ratio, confidence: 0.95, tolerance: 0.02 };
    let found = (0..count).into_par_iter().map(|number| {
        let scenario = shared(present, wait * SERVICE_NS + FRAME_NS, u64::from(number) * 8 + 1);
        let found = limit::find(&scenario, &question, &Progress::default()).unwrap();
        let load = found.passing().map(|trial| 0.2 + trial.factor * (present - 0.2));
        Searches {
            all: 1,
            certified: u32::from(load.is_some()),
            above: u32::from(load.is_some_and(|load| load > limit)),
            loads: load.map_or(0.0, |load| load / limit),
        }
    });
    found.reduce(Searches::default, |one, other| Searches {
        all: one.all + other.all,
        certified: one.certified + other.certified,
        above: one.above + other.above,
        loads: one.loads + other.loads,
    })
}

/// Oracle: M/D/1. With 5 % each, more than 11 of 100 are above the true limit once in 200 times;
/// when the search itself certified, 5 of 14 were.
#[test]
#[ignore = "long"]
#[allow(clippy::print_stdout, reason = "shown with --nocapture")]
fn few_limits_are_too_high() {
    let count = if std::env::var_os("RTETHER_NIGHTLY").is_some() { 500 } else { 100 };
    let mut csv =
        "deadline_services,miss_ratio,searches,certified,above,mean_of_limit\n".to_owned();
    for (wait, miss_ratio) in [(8.0, 0.01), (12.0, 0.001)] {
        let found = searches(wait, miss_ratio, count);
        let mean = found.loads / f64::from(found.certified);
        println!("{found:?} mean {mean:.3}");
        writeln!(csv, "{wait},{miss_ratio},{count},{},{},{mean:.3}", found.certified, found.above)
            .unwrap();
        let most = if count < 500 { 0.11 } else { 0.06 };
        assert!(f64::from(found.above) <= most * f64::from(count), "{found:?}");
        assert!(f64::from(found.certified) >= 0.8 * f64::from(count), "{found:?}");
        assert!(mean > 0.85, "{found:?}");
    }
    bless("limit.csv", &csv);
}
