//! `dolejs-hub`: ten senders and one receiver on a 100 Mbit/s hub, six loads (003 Dolejs, 2,
//! figures 1 and 2).
//!
//! Communication time is medium access plus transmission, so nodes take no time. Two arrival
//! patterns: all senders in step, as the paper's median suggests, and Poisson, as its tails
//! suggest.

use rayon::prelude::*;
use rtether_model::flow::Traffic;
use rtether_model::network::Stack;
use rtether_model::record::StreamRecord;
use rtether_model::wire::Encapsulation;
use rtether_sim::observe::NoObserver;

use crate::observe::{distribution, merge, run_one};
use crate::plant::{self, Plant, flow, periodic};
use crate::prelude::*;

const SENDERS: u16 = 10;
const RATE: BitRate = BitRate::from_mbps(100);
/// Application data; with 46 octets of headers and frame check sequence a frame of 174.
const PAYLOAD: Bytes = Bytes::new(128);
const DURATION: Duration = Duration::from_secs(5);
/// Packets per second of all senders together; the paper names the last four.
const LOADS: [u32; 6] = [10_000, 20_000, 30_000, 40_000, 50_000, 66_666];
/// Largest load the paper calls "usable".
const USABLE: u32 = 30_000;

/// Arrival pattern.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Arrivals {
    /// Periodic, all senders at the same instant.
    InStep,
    Poisson,
}

impl Arrivals {
    const ALL: [Self; 2] = [Self::InStep, Self::Poisson];

    const fn name(self) -> &'static str {
        match self {
            Self::InStep => "in step",
            Self::Poisson => "Poisson",
        }
    }
}

/// Runs per point.
const SEEDS: u64 = 5;

/// Results at one load, from one or several runs.
#[derive(Clone)]
struct Point {
    arrivals: Arrivals,
    load: u32,
    all: StreamRecord,
    collisions: u64,
    frames: u64,
}

impl Point {
    /// Pools the runs of one case.
    fn pool<'a>(runs: impl Iterator<Item = &'a Self>) -> Self {
        let runs: Vec<&Self> = runs.collect();
        Self {
            all: merge(runs.iter().map(|run| &run.all)),
            collisions: runs.iter().map(|run| run.collisions).sum(),
            frames: runs.iter().map(|run| run.frames).sum(),
            ..runs[0].clone()
        }
    }

    fn quantile(&self, per_mille: u64) -> Duration {
        self.all.quantile(per_mille, 1000).unwrap_or_default()
    }

    /// Returns the share of packets that took at most a millisecond.
    fn fast(&self) -> f64 {
        let limit = Duration::from_ms(1);
        let bins = self.all.histogram.bins();
        let fast: u64 = bins.filter(|&(upper, _)| upper <= limit).map(|bin| bin.1).sum();
        count_f64(fast) / count_f64(self.all.histogram.total().max(1))
    }

    fn words(&self) -> String {
        format!(
            "{}: p10 {}, p50 {}, p95 {}, p99 {}, max {}",
            self.arrivals.name(),
            self.quantile(100),
            self.quantile(500),
            self.quantile(950),
            self.quantile(990),
            self.all.latency.max
        )
    }
}

pub(crate) fn run(page: &mut Page, progress: &Progress) -> Outcome {
    page.title("Ten senders on a 100 Mbit/s hub");
    let cases = Arrivals::ALL.into_iter();
    let cases: Vec<_> = cases.flat_map(|arrivals| LOADS.map(|load| (arrivals, load))).collect();
    let measure = |seed: u64| {
        let cases = cases.par_iter();
        let points = cases.map(|&(arrivals, load)| measure(arrivals, load, seed, progress));
        points.collect::<Result<Vec<Point>, ReproduceError>>()
    };
    let seeds = (1..=SEEDS).map(measure).collect::<Result<Vec<_>, _>>()?;
    let points: Vec<Point> =
        (0..cases.len()).map(|at| Point::pool(seeds.iter().map(|points| &points[at]))).collect();
    page.compare(reference::values("dolejs-hub"), |value| {
        let load = value.subject.parse().ok()?;
        let ours = listed(both(&points, load).map(Point::words), "; ");
        let quantity = format!("communication time at {load} packets/s");
        (value.statistic == "communication_time").then_some((quantity, ours))
    });
    page.judge_seeds(&points, &seeds, judge);
    for arrivals in Arrivals::ALL {
        draw(page, &points, arrivals);
    }
    page.note(
        "The paper does not say how packets arrive. Senders in step collide at every release, \
         which gives medians near 100 us at loads the medium carries with ease; Poisson \
         arrivals give its tails. 66 666 packets/s are more than the medium carries, so the \
         delays there grow with the length of the run (5 s).",
    );
    page.note(format!("All values are of {SEEDS} seeds together."));
    let rates = points.iter().map(|point| {
        let rate = count_f64(point.collisions) / count_f64(point.frames.max(1));
        format!("{} {}: {rate:.2}", point.arrivals.name(), point.load)
    });
    page.note(format!("Collided transmissions per frame sent: {}.", listed(rates, "; ")));
    Ok(())
}

/// Returns a scenario with Poisson arrivals for each load the paper names, with rate and loads
/// divided by `part`.
#[cfg(target_os = "linux")]
pub(crate) fn live_scenarios(part: u32, duration: Duration) -> Vec<(u32, Scenario)> {
    let rate = BitRate::from_bps(RATE.as_bps() / u64::from(part));
    let loads = LOADS.into_iter().filter(|&load| load >= USABLE);
    let scenarios = loads.map(|load| {
        let mut scenario = scenario(Arrivals::Poisson, load / part, rate);
        scenario.run.duration = duration;
        (load / part, scenario)
    });
    scenarios.collect()
}

fn scenario(arrivals: Arrivals, load: u32, rate: BitRate) -> Scenario {
    let mut plant = Plant::default();
    let hub = plant.hub(rate, Duration::ZERO, SENDERS + 1);
    let receiver = plant.station("receiver", Stack::Zero);
    plant.link((receiver, 0), (hub, SENDERS), rate);
    let interval = Duration::from_secs(1) * i64::from(SENDERS) / i64::from(load);
    let traffic = match arrivals {
        Arrivals::InStep => periodic(interval),
        Arrivals::Poisson => Traffic::Poisson { mean_interval: interval },
    };
    let mut flows = Vec::new();
    for number in 0..SENDERS {
        let name = format!("sender{number}");
        let sender = plant.station(&name, Stack::Zero);
        plant.link((sender, 0), (hub, number), rate);
        let form = (Encapsulation::Udp, PAYLOAD);
        flows.push(flow(&name, (sender, receiver), form, traffic.clone()));
    }
    let times = (DURATION, Duration::ZERO);
    plant::scenario("ten senders on a hub", plant.network, flows, times)
}

fn measure(
    arrivals: Arrivals,
    load: u32,
    seed: u64,
    progress: &Progress,
) -> Result<Point, ReproduceError> {
    let scenario = scenario(arrivals, load, RATE);
    let record = run_one(&scenario, seed, progress, &mut NoObserver)?;
    // All senders together.
    let all = merge(&record.streams);
    if all.delivered == 0 {
        return Err(ReproduceError::Scenario("no packet arrived".into()));
    }
    let medium = record.media.first();
    Ok(Point {
        arrivals,
        load,
        collisions: medium.map_or(0, |medium| medium.collisions.iter().sum()),
        frames: all.delivered,
        all,
    })
}

/// Returns the points of both arrival patterns at a load.
fn both(points: &[Point], load: u32) -> impl Iterator<Item = &Point> {
    points.iter().filter(move |point| point.load == load)
}

fn judge(page: &mut Page, points: &[Point]) {
    let usable = |arrivals| {
        let own = points.iter().filter(move |point| point.arrivals == arrivals);
        own.filter(|point| point.load <= USABLE)
    };
    let slowest = usable(Arrivals::Poisson).map(Point::fast).fold(1.0, f64::min);
    let words = format!("at least {slowest:.4} at every load up to {USABLE} packets/s");
    page.check("C071", [slowest], words);
    let medians: Vec<_> = usable(Arrivals::InStep).map(|p| p.quantile(500)).collect();
    let words = format!("medians {}", listed(&medians, ", "));
    page.check("C072", medians, words);
    let mut of_both = |claim: &str, load, holds: &dyn Fn(&Point) -> bool, reason: &str| {
        let words = listed(both(points, load).map(Point::words), "; ");
        page.judge(claim, both(points, load).all(holds), words, reason);
    };
    let us = Duration::from_us;
    let has_tail = |p: &Point| p.quantile(500) < us(1000) && p.quantile(990) >= us(1000);
    of_both("C073", 40_000, &has_tail, "a pattern has no such tail");
    let spreads = |p: &Point| {
        (us(500)..=us(10_000)).contains(&p.quantile(500))
            && (us(5_000)..=us(40_000)).contains(&p.quantile(950))
    };
    of_both("C074", 50_000, &spreads, "a pattern does not spread like that");
    let reaches_far = |p: &Point| {
        let max = p.all.latency.max;
        p.quantile(100) >= us(5_000) && (us(100_000)..=us(2_000_000)).contains(&max)
    };
    of_both("C075", 66_666, &reaches_far, "a pattern does not reach that far");
}

/// Draws distribution functions on a logarithmic axis, with the ranges that the paper names.
fn draw(page: &mut Page, points: &[Point], arrivals: Arrivals) {
    let own = points.iter().filter(|point| point.arrivals == arrivals);
    let series = own.map(|point| {
        let name = format!("{} packets/s", point.load);
        curve(name, Style::Steps, distribution(&point.all.histogram))
    });
    // Ends of the ranges that the paper names: nothing below the lower, nothing above the upper.
    let ranges = ["50000", "66666"].map(|load| {
        let values = reference::values("dolejs-hub").into_iter();
        let own: Vec<Value> = values.filter(|value| value.subject == load).collect();
        let end = |qualifier, share: f64| {
            let value = own.iter().find(|value| value.qualifier == qualifier);
            (value.and_then(Value::time), share)
        };
        let ends = [end("range_low", 0.0), end("range_high", 1.0)];
        curve(format!("paper, {load} packets/s"), Style::Markers, ends)
    });
    let pattern = arrivals.name();
    page.lines(
        format!("The counterpart of figure 2: all packets of ten senders, arrivals {pattern}."),
        [&format!("Communication time, arrivals {pattern}"), "distribution"],
        [Axis::time("communication time").log(), Axis::share("packets")],
        series.chain(ranges).collect(),
    );
}
