//! `dolejs-hub`: ten senders and one receiver on a 100 Mbit/s hub, six loads (003 Dolejs, 2,
//! figures 1 and 2).
//!
//! Communication time is medium access plus transmission, so nodes take no time. Two arrival
//! patterns: all senders in step, as the paper's median suggests, and Poisson, as its tails
//! suggest.

use rayon::prelude::*;
use rtether_model::flow::{Phase, Traffic};
use rtether_model::network::{Backoff, Hub, NodeKind, Stack};
use rtether_model::quantity::{BitRate, Bytes, Duration};
use rtether_model::record::{Record, StreamRecord};
use rtether_model::wire::Encapsulation;
use rtether_sim::observe::NoObserver;

use super::judge::over_seeds;
use super::observe::{count_f64, merge, run_one};
use super::plant::{Plant, flow};
use super::{Comparison, Figure, Judge, ReproduceError, Reproduction, reference};
use rtether::report::chart::{Axis, LineChart, Series, Style};
use rtether::run::Progress;
use rtether::scenario::{RunPlan, Scenario};

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
        let fast: u64 = bins
            .filter(|&(upper, _)| upper <= limit)
            .map(|bin| bin.1)
            .sum();
        count_f64(fast) / count_f64(self.all.histogram.total().max(1))
    }

    fn words(&self) -> String {
        format!(
            "p10 {}, p50 {}, p95 {}, p99 {}, max {}",
            self.quantile(100),
            self.quantile(500),
            self.quantile(950),
            self.quantile(990),
            self.all.latency.max
        )
    }
}

pub(super) fn run(progress: &Progress) -> Result<Reproduction, ReproduceError> {
    let cases: Vec<(Arrivals, u32)> = Arrivals::ALL
        .into_iter()
        .flat_map(|arrivals| LOADS.map(|load| (arrivals, load)))
        .collect();
    let measure = |seed: u64| {
        cases
            .par_iter()
            .map(|&(arrivals, load)| measure(arrivals, load, seed, progress))
            .collect::<Result<Vec<Point>, ReproduceError>>()
    };
    let seeds = (1..=SEEDS).map(measure).collect::<Result<Vec<_>, _>>()?;
    let points: Vec<Point> = (0..cases.len())
        .map(|at| Point::pool(seeds.iter().map(|points| &points[at])))
        .collect();
    Ok(Reproduction {
        id: "dolejs-hub",
        title: "Ten senders on a 100 Mbit/s hub",
        mode: "sim",
        comparisons: comparisons(&points),
        claims: over_seeds(judge(&points), seeds.iter().map(|points| judge(points))),
        figures: Arrivals::ALL
            .map(|arrivals| figure(&points, arrivals))
            .into(),
        notes: vec![
            "The paper does not say how packets arrive. Senders in step collide at every release, \
             which gives medians near 100 us at loads the medium carries with ease; Poisson \
             arrivals give its tails. 66 666 packets/s are more than the medium carries, so the \
             delays there grow with the length of the run (5 s)."
                .into(),
            format!("All values are of {SEEDS} seeds together."),
            collision_note(&points),
        ],
    })
}

fn collision_note(points: &[Point]) -> String {
    let rates = points.iter().map(|point| {
        let rate = count_f64(point.collisions) / count_f64(point.frames.max(1));
        format!("{} {}: {rate:.2}", point.arrivals.name(), point.load)
    });
    format!(
        "Collided transmissions per frame sent: {}.",
        rates.collect::<Vec<_>>().join("; ")
    )
}

/// Returns a scenario with Poisson arrivals for each load the paper names, with rate and loads
/// divided by `part`.
#[cfg(target_os = "linux")]
pub(super) fn live_scenarios(part: u32, duration: Duration) -> Vec<(u32, Scenario)> {
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
    let hub = plant.add(
        "hub",
        NodeKind::Hub(Hub {
            rate,
            delay: Duration::ZERO,
            backoff: Backoff::Standard,
            ports: SENDERS + 1,
        }),
    );
    let receiver = plant.station("receiver", Stack::Zero);
    plant.link((receiver, 0), (hub, SENDERS), rate);
    let interval = Duration::from_secs(1) * i64::from(SENDERS) / i64::from(load);
    let mut flows = Vec::new();
    for number in 0..SENDERS {
        let name = format!("sender{number}");
        let sender = plant.station(&name, Stack::Zero);
        plant.link((sender, 0), (hub, number), rate);
        let traffic = match arrivals {
            Arrivals::InStep => Traffic::Periodic {
                period: interval,
                phase: Phase::Fixed(Duration::ZERO),
                release_jitter: Duration::ZERO,
            },
            Arrivals::Poisson => Traffic::Poisson {
                mean_interval: interval,
            },
        };
        flows.push(flow(
            &name,
            (sender, receiver),
            (Encapsulation::Udp, PAYLOAD),
            traffic,
        ));
    }
    Scenario {
        name: "ten senders on a hub".into(),
        network: plant.network,
        flows,
        run: RunPlan {
            duration: DURATION,
            warmup: Duration::ZERO,
            runs: 1,
            seed: 1,
            bucket: Duration::ZERO,
        },
        accept: Vec::new(),
    }
}

fn measure(
    arrivals: Arrivals,
    load: u32,
    seed: u64,
    progress: &Progress,
) -> Result<Point, ReproduceError> {
    let scenario = scenario(arrivals, load, RATE);
    let record: Record = run_one(&scenario, seed, progress, &mut NoObserver)?;
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

fn find(points: &[Point], arrivals: Arrivals, load: u32) -> &Point {
    let mut points = points.iter();
    points
        .find(|point| point.arrivals == arrivals && point.load == load)
        .expect("every case was measured")
}

fn comparisons(points: &[Point]) -> Vec<Comparison> {
    let values = reference::values("dolejs-hub").into_iter();
    let values = values.filter(|value| value.statistic == "communication_time");
    let compare = |value: reference::Value| {
        let load: u32 = value.subject.parse().ok()?;
        Some(Comparison {
            quantity: format!("communication time at {load} packets/s"),
            paper: value.words(),
            ours: Arrivals::ALL
                .map(|arrivals| {
                    format!(
                        "{}: {}",
                        arrivals.name(),
                        find(points, arrivals, load).words()
                    )
                })
                .join("; "),
            source: value.source,
        })
    };
    values.filter_map(compare).collect()
}

fn judge(points: &[Point]) -> Vec<super::Judgement> {
    let mut judge = Judge::new("dolejs-hub");
    let usable = |arrivals| {
        points
            .iter()
            .filter(move |point| point.arrivals == arrivals && point.load <= USABLE)
    };
    let slowest = usable(Arrivals::Poisson)
        .map(Point::fast)
        .fold(1.0, f64::min);
    judge.judge(
        "C071",
        slowest >= 0.98,
        format!("at least {slowest:.4} at every load up to {USABLE} packets/s"),
        "fewer packets are fast",
    );
    let medians: Vec<Duration> = usable(Arrivals::InStep).map(|p| p.quantile(500)).collect();
    let range = Duration::from_us(80)..=Duration::from_us(200);
    judge.judge(
        "C072",
        medians.iter().all(|median| range.contains(median)),
        format!("medians {}", list(&medians)),
        "a median is outside the range",
    );
    let us = Duration::from_us;
    let both = |load, holds: &dyn Fn(&Point) -> bool| {
        let two = Arrivals::ALL.map(|arrivals| find(points, arrivals, load));
        let words = two.map(|point| format!("{}: {}", point.arrivals.name(), point.words()));
        (two.iter().all(|point| holds(point)), words.join("; "))
    };
    let (holds, observed) = both(40_000, &|point| {
        point.quantile(500) < us(1000) && point.quantile(990) >= us(1000)
    });
    judge.judge("C073", holds, observed, "a pattern has no such tail");
    let (holds, observed) = both(50_000, &|point| {
        (us(500)..=us(10_000)).contains(&point.quantile(500))
            && (us(5_000)..=us(40_000)).contains(&point.quantile(950))
    });
    judge.judge(
        "C074",
        holds,
        observed,
        "a pattern does not spread like that",
    );
    let (holds, observed) = both(66_666, &|point| {
        let max = point.all.latency.max;
        point.quantile(100) >= us(5_000) && (us(100_000)..=us(2_000_000)).contains(&max)
    });
    judge.judge("C075", holds, observed, "a pattern does not reach that far");
    judge.finish()
}

fn list(values: &[Duration]) -> String {
    let words: Vec<String> = values.iter().map(ToString::to_string).collect();
    words.join(", ")
}

/// Draws distribution functions on a logarithmic axis, with the ranges that the paper names.
fn figure(points: &[Point], arrivals: Arrivals) -> Figure {
    let own = points.iter().filter(|point| point.arrivals == arrivals);
    let series = own.map(|point| {
        let total = count_f64(point.all.histogram.total());
        let mut seen = 0.0;
        let points = point.all.histogram.bins().map(|(upper, count)| {
            seen += count_f64(count);
            (upper.as_secs_f64(), seen / total)
        });
        Series {
            name: format!("{} packets/s", point.load),
            points: points.collect(),
            style: Style::Steps,
        }
    });
    let mut series: Vec<Series> = series.collect();
    // Ends of the ranges that the paper names: nothing below the lower, nothing above the upper.
    for load in ["50000", "66666"] {
        let end = |qualifier| {
            let values = reference::values("dolejs-hub").into_iter();
            let mut own = values.filter(|value| value.subject == load);
            own.find(|value| value.qualifier == qualifier)?.time()
        };
        let ends = end("range_low").zip(end("range_high"));
        series.extend(ends.map(|(low, high)| Series {
            name: format!("paper, {load} packets/s"),
            points: vec![(low.as_secs_f64(), 0.0), (high.as_secs_f64(), 1.0)],
            style: Style::Markers,
        }));
    }
    let chart = LineChart {
        title: format!("Communication time, arrivals {}", arrivals.name()),
        note: "distribution".into(),
        x: Axis::time("communication time").log(),
        y: Axis::share("packets"),
        series,
        rules: Vec::new(),
        bands: Vec::new(),
    };
    Figure {
        caption: format!(
            "The counterpart of figure 2: all packets of ten senders, arrivals {}.",
            arrivals.name()
        ),
        drawing: chart.render(),
    }
}
