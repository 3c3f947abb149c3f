//! `skeie-flat`: 16 process interfaces and two controllers at one switch (000 Skeie, section III,
//! figures 2 and 3).
//!
//! The paper runs 200 s with an upload at 100 s and a download at 102 s. What happens does not
//! depend on the hour, and a transfer lasts about 30 ms, in which a controller sends one packet at
//! the most; so the statistics come from many short runs with the transfers at 2 s and 4 s.

use std::collections::BTreeMap;

use rayon::prelude::*;
use rtether_model::quantity::{Duration, Instant};
use rtether_model::record::Record;

use super::observe::{Sample, Sampler, load, mean, ratio, run_one};
use super::{Comparison, Figure, Judge, ReproduceError, Reproduction, reference};
use crate::report::chart::{Axis, LineChart, Series, Style};
use crate::run::Progress;
use crate::scenario::Scenario;

const SCENARIO: &str = include_str!("../../../../scenarios/skeie-flat.yaml");

/// The PISA with the file transfers, and what it exchanges with its controller.
const UP: &str = "pisa01 > controller1";
const DOWN: &str = "controller1 > pisa01";
const ALL_UP: &str = "pisa to controller";
const ALL_DOWN: &str = "controller to pisa";

const QUIET: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(2));
const UPLOAD_AT: Duration = Duration::from_secs(2);
const DOWNLOAD_AT: Duration = Duration::from_secs(4);
/// Longer than any transfer.
const LOOK: Duration = Duration::from_ms(500);

/// Runs, each with another seed: about 24 packets of a controller fall into a transfer of 30 ms.
const RUNS: u64 = 96;

/// Packets of all runs by what went on.
#[derive(Default)]
struct Found {
    /// All streams, without transfers.
    quiet_up: Vec<Sample>,
    quiet_down: Vec<Sample>,
    /// The tested PISA only.
    own_quiet_up: Vec<Sample>,
    own_quiet_down: Vec<Sample>,
    upload_up: Vec<Sample>,
    upload_down: Vec<Sample>,
    download_up: Vec<Sample>,
    download_down: Vec<Sample>,
    /// Delay and the part inside nodes, over everything sampled.
    total: Duration,
    ethernet: Duration,
    /// The tested PISA's packets of the first run.
    trace: Vec<(bool, Sample)>,
}

/// Positions of the two streams of the tested PISA and the two transfers.
struct Streams {
    up: usize,
    down: usize,
    upload: usize,
    download: usize,
}

impl Streams {
    fn new(scenario: &Scenario) -> Result<Self, ReproduceError> {
        // Every flow has one listener, so that streams count like flows.
        let find = |name: &str| {
            let position = scenario.flows.iter().position(|flow| flow.name == name);
            position.ok_or_else(|| ReproduceError::Scenario(format!("no flow `{name}`")))
        };
        Ok(Self {
            up: find(UP)?,
            down: find(DOWN)?,
            upload: find("upload")?,
            download: find("download")?,
        })
    }
}

/// Runs the plant `runs` times with nodes `faster` times as fast as the paper's.
fn observe(faster: u64, runs: u64, progress: &Progress) -> Result<Found, ReproduceError> {
    let set = [
        "run.for=6 s".to_owned(),
        "flows.upload.start=2 s".to_owned(),
        "flows.download.start=4 s".to_owned(),
        format!("stacks.pisa.rate={} packets/s", 5_000 * faster),
        format!("stacks.controller.rate={} packets/s", 20_000 * faster),
    ];
    let scenario = load("skeie-flat.yaml", SCENARIO, &set)?;
    let streams = Streams::new(&scenario)?;
    let windows = [
        QUIET,
        (UPLOAD_AT, UPLOAD_AT + LOOK),
        (DOWNLOAD_AT, DOWNLOAD_AT + LOOK),
    ];
    // In parallel, but taken in in the order of seeds.
    let observed = (1..=runs).into_par_iter().map(|seed| {
        let mut sampler = Sampler::new(&scenario, &[ALL_UP, ALL_DOWN], &windows);
        let record = run_one(&scenario, seed, progress, &mut sampler)?;
        Ok((record, sampler.samples))
    });
    let mut found = Found::default();
    for (record, samples) in observed.collect::<Result<Vec<_>, ReproduceError>>()? {
        found.sort(&scenario, &streams, &record, samples);
    }
    found.trace(&streams, &scenario, progress)?;
    Ok(found)
}

impl Found {
    /// Puts the packets of a run where they belong.
    fn sort(
        &mut self,
        scenario: &Scenario,
        streams: &Streams,
        record: &Record,
        samples: Vec<Sample>,
    ) {
        let end_of = |stream: usize| {
            let transfers = &record.streams[stream].transfers;
            transfers
                .first()
                .and_then(|transfer| transfer.finished_at)
                .unwrap_or(Instant::MAX)
        };
        let upload = Instant::ZERO + UPLOAD_AT..end_of(streams.upload);
        let download = Instant::ZERO + DOWNLOAD_AT..end_of(streams.download);
        for sample in samples {
            self.total += sample.latency;
            self.ethernet += sample.ethernet;
            let is_up = scenario.flows[sample.stream].class == ALL_UP;
            let is_own = sample.stream == if is_up { streams.up } else { streams.down };
            if sample.released_at < Instant::ZERO + QUIET.1 {
                let all = if is_up {
                    &mut self.quiet_up
                } else {
                    &mut self.quiet_down
                };
                all.push(sample);
            }
            // A packet meets a transfer if it is under way while the transfer is.
            let meets = |transfer: &std::ops::Range<Instant>| {
                sample.delivered_at > transfer.start && sample.released_at < transfer.end
            };
            let own = match (is_own, meets(&upload), meets(&download), is_up) {
                (true, true, _, true) => &mut self.upload_up,
                (true, true, _, false) => &mut self.upload_down,
                (true, _, true, true) => &mut self.download_up,
                (true, _, true, false) => &mut self.download_down,
                (true, _, _, true) => &mut self.own_quiet_up,
                (true, _, _, false) => &mut self.own_quiet_down,
                (false, ..) => continue,
            };
            own.push(sample);
        }
    }

    /// Keeps every packet of the tested PISA of the first run, for the figure.
    fn trace(
        &mut self,
        streams: &Streams,
        scenario: &Scenario,
        progress: &Progress,
    ) -> Result<(), ReproduceError> {
        let all = [(QUIET.0, Duration::from_secs(6))];
        let mut sampler = Sampler::new(scenario, &[ALL_UP, ALL_DOWN], &all);
        run_one(scenario, 1, progress, &mut sampler)?;
        let own = sampler.samples.into_iter();
        let own = own.filter(|sample| [streams.up, streams.down].contains(&sample.stream));
        self.trace = own
            .map(|sample| (sample.stream == streams.up, sample))
            .collect();
        Ok(())
    }
}

fn latency(samples: &[Sample]) -> Duration {
    mean(samples.iter().map(|sample| sample.latency)).unwrap_or_default()
}

fn ethernet(samples: &[Sample]) -> Duration {
    mean(samples.iter().map(|sample| sample.ethernet)).unwrap_or_default()
}

pub(super) fn run(progress: &Progress) -> Result<Reproduction, ReproduceError> {
    let found = observe(1, RUNS, progress)?;
    let mut judge = Judge::new("skeie-flat");
    judge_quiet(&mut judge, &found);
    judge_transfers(&mut judge, &found);
    let faster = [2, 4].map(|faster| observe(faster, RUNS / 8, progress));
    let [twice, four_times] = faster;
    let trips = [twice?, four_times?].map(|f| latency(&f.upload_up) + latency(&f.upload_down));
    judge.judge(
        "C013",
        trips.iter().all(|&trip| trip < Duration::from_ms(1)),
        format!(
            "{} at twice, {} at four times the rates",
            trips[0], trips[1]
        ),
        "faster nodes do not bring the round trip under 1 ms",
    );
    let counts = [
        &found.upload_up,
        &found.upload_down,
        &found.download_up,
        &found.download_down,
    ];
    Ok(Reproduction {
        id: "skeie-flat",
        title: "A flat substation network with file transfers",
        mode: "sim",
        comparisons: comparisons(&found),
        claims: judge.finish(),
        figures: vec![figure(&found)],
        notes: vec![
            format!(
                "Means over {RUNS} runs; under upload {} and {} packets to and from the controller, \
                 under download {} and {}.",
                counts[0].len(),
                counts[1].len(),
                counts[2].len(),
                counts[3].len()
            ),
            "The paper's 50 us under download cannot be the mean of the packets that meet the \
             transfer, since every segment costs the PISA 200 us; it fits an average over more time. \
             Its round trip adds one direction under upload and the other under download; ours has \
             both directions under upload."
                .into(),
        ],
    })
}

fn judge_quiet(judge: &mut Judge, found: &Found) {
    let us = Duration::from_us;
    let (up, down) = (latency(&found.quiet_up), latency(&found.quiet_down));
    judge.judge(
        "C005",
        [up, down]
            .iter()
            .all(|mean| (us(240)..=us(360)).contains(mean)),
        format!("{up}, {down}"),
        "a quiet mean is outside the range",
    );
    judge.judge(
        "C006",
        down >= up,
        format!("{down} against {up}"),
        "the order is the other one",
    );
    judge.judge(
        "C007",
        up + down < us(1_000),
        format!("{}", up + down),
        "1 ms is not met",
    );
    let wires = [ethernet(&found.quiet_up), ethernet(&found.quiet_down)];
    judge.judge(
        "C010",
        wires.iter().all(|mean| (us(17)..=us(22)).contains(mean)),
        format!("{}, {}", wires[0], wires[1]),
        "a quiet Ethernet delay is outside the range",
    );
    let share = 1.0 - ratio(found.ethernet, found.total);
    judge.judge(
        "C012",
        share >= 0.8,
        format!("{:.0} %", share * 100.0),
        "less than 80 % of the delay is inside the nodes",
    );
}

fn judge_transfers(judge: &mut Judge, found: &Found) {
    let factor = ratio(latency(&found.upload_up), latency(&found.own_quiet_up));
    judge.judge(
        "C008",
        (2.0..=4.5).contains(&factor),
        format!(
            "{} / {} = {factor:.2}",
            latency(&found.upload_up),
            latency(&found.own_quiet_up)
        ),
        "the factor is outside the range",
    );
    let trip = latency(&found.upload_up) + latency(&found.upload_down);
    judge.judge(
        "C009",
        trip > Duration::from_ms(1),
        format!("{trip}"),
        "1 ms is met",
    );
    let down = ethernet(&found.download_down) - ethernet(&found.own_quiet_down);
    let up = ethernet(&found.upload_up) - ethernet(&found.own_quiet_up);
    let is_flat = up <= Duration::from_us(1) && up >= Duration::from_us(-1);
    judge.judge(
        "C011",
        down > Duration::ZERO && is_flat,
        format!("down {down} more, up {up} more"),
        "the Ethernet delay does not rise for controller to PISA under download only",
    );
}

fn comparisons(found: &Found) -> Vec<Comparison> {
    let values = reference::values("skeie-flat").into_iter();
    let rows = values.filter_map(|value| {
        let upload = latency(&found.upload_up);
        let rise = |now: Duration, quiet: Duration| (now - quiet).to_string();
        let ours = match (value.subject.as_str(), value.condition.as_str()) {
            ("pisa_to_controller, application", "real-time traffic only") => {
                latency(&found.quiet_up).to_string()
            }
            ("controller_to_pisa, application", "real-time traffic only") => {
                latency(&found.quiet_down).to_string()
            }
            ("round_trip, application", "real-time traffic only") => {
                (latency(&found.quiet_up) + latency(&found.quiet_down)).to_string()
            }
            ("pisa_to_controller, application", _) => upload.to_string(),
            ("controller_to_pisa, application", _) => rise(
                latency(&found.download_down),
                latency(&found.own_quiet_down),
            ),
            ("round_trip, application", _) => (upload + latency(&found.upload_down)).to_string(),
            ("controller_to_pisa, ethernet", "no FTP") => ethernet(&found.quiet_down).to_string(),
            ("controller_to_pisa, ethernet", _) => rise(
                ethernet(&found.download_down),
                ethernet(&found.own_quiet_down),
            ),
            ("pisa_to_controller, ethernet", _) => {
                rise(ethernet(&found.upload_up), ethernet(&found.own_quiet_up))
            }
            _ => return None,
        };
        Some(Comparison {
            quantity: format!("{} ({})", value.subject.replace('_', " "), value.condition),
            paper: value.words(),
            ours,
            source: value.source,
        })
    });
    rows.collect()
}

/// Returns means over slices of time, in seconds.
fn curve(samples: impl Iterator<Item = Sample>, slice: Duration) -> Vec<(f64, f64)> {
    let mut slices = BTreeMap::<i64, Vec<Duration>>::new();
    for sample in samples {
        let number = sample.released_at.as_ps() / slice.as_ps();
        slices.entry(number).or_default().push(sample.latency);
    }
    let place = |number: i64| (slice * number + slice / 2).as_secs_f64();
    let points = slices.into_iter();
    points
        .filter_map(|(number, all)| Some((place(number), mean(all)?.as_secs_f64())))
        .collect()
}

fn figure(found: &Found) -> Figure {
    let direction = |is_up: bool| {
        let own = found
            .trace
            .iter()
            .filter(move |(up, _)| *up == is_up)
            .map(|(_, s)| *s);
        // The controller sends every 100 ms: each packet is a point.
        curve(
            own,
            if is_up {
                Duration::from_ms(20)
            } else {
                Duration::from_ms(1)
            },
        )
    };
    let ours = |name: &str, points| Series {
        name: name.into(),
        points,
        style: Style::Line,
    };
    let paper = |name: &str, points| Series {
        name: name.into(),
        points,
        style: Style::Markers,
    };
    let chart = LineChart {
        title: "Delay of the PISA with file transfers".into(),
        note: "upload at 2 s, download at 4 s".into(),
        x: Axis::time("time of the run"),
        y: Axis::time("delay"),
        series: vec![
            ours("PISA to controller, means of 20 ms", direction(true)),
            ours("controller to PISA, each packet", direction(false)),
            paper(
                "paper, PISA to controller",
                vec![(1.5, 0.3e-3), (2.01, 0.85e-3)],
            ),
            paper(
                "paper, controller to PISA",
                vec![(1.5, 0.3e-3), (4.01, 0.35e-3)],
            ),
        ],
        ..LineChart::default()
    };
    Figure {
        caption: "The counterpart of figure 3.".into(),
        drawing: chart.render(),
    }
}
