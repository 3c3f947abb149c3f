//! `skeie-flat`: 16 process interfaces and two controllers on one switch (000 Skeie, section III,
//! figures 2 and 3).
//!
//! The paper runs 200 s with an upload at 100 s and a download at 102 s. Results do not depend on
//! the start time, and a transfer lasts about 30 ms, in which a controller sends at most one
//! packet; so the statistics come from many short runs with the transfers at 2 s and 4 s.

mod figure;
mod show;

use rayon::prelude::*;
use rtether_model::quantity::Instant;
use rtether_model::record::{Bucket, Record};

use crate::observe::{Sample, Sampler, load, mean, run_one, shown};
use crate::prelude::*;

const SCENARIO: &str = include_str!("../scenarios/skeie-flat.yaml");

/// Streams between the PISA with file transfers and its controller, and their classes.
const UP: &str = "pisa01 > controller1";
const DOWN: &str = "controller1 > pisa01";
const ALL_UP: &str = "pisa to controller";
const ALL_DOWN: &str = "controller to pisa";

/// Number of runs, each with its own seed: about 24 packets of a controller meet a transfer of 30
/// ms.
const RUNS: u64 = 96;
/// Number of runs with faster nodes, where transfers are shorter and fewer packets meet one.
const RUNS_FASTER: u64 = 512;
/// Fewest packets that give a mean.
const ENOUGH: usize = 10;

/// Timeline of a run.
struct Schedule {
    quiet: (Duration, Duration),
    upload_at: Duration,
    download_at: Duration,
    end: Duration,
}

impl Schedule {
    const FULL: Self = Self {
        quiet: (Duration::from_secs(1), Duration::from_secs(2)),
        upload_at: Duration::from_secs(2),
        download_at: Duration::from_secs(4),
        end: Duration::from_secs(6),
    };

    /// For the upload alone.
    const SHORT: Self = Self {
        quiet: (Duration::from_ms(100), Duration::from_ms(200)),
        upload_at: Duration::from_ms(200),
        download_at: Duration::from_ms(300),
        end: Duration::from_ms(400),
    };

    /// Returns the release windows of the packets to keep: the quiet one, and from the start of
    /// each transfer a quarter of the time from the download to the end.
    fn windows(&self) -> [(Duration, Duration); 3] {
        let look = (self.end - self.download_at) / 4;
        [
            self.quiet,
            (self.upload_at, self.upload_at + look),
            (self.download_at, self.download_at + look),
        ]
    }
}

/// Packets of all runs, by traffic condition.
#[derive(Default)]
struct Packets {
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
    /// Sums over all samples: delay, and its Ethernet part.
    total: Duration,
    ethernet: Duration,
    /// Mean delays of the tested PISA's packets over two seconds of each run: without transfers,
    /// and from the start of the download.
    bucket_quiet: Vec<Duration>,
    bucket_download: Vec<Duration>,
}

/// Positions of the tested PISA's two streams and the two transfers.
struct Streams {
    up: usize,
    down: usize,
    upload: usize,
    download: usize,
}

impl Streams {
    fn new(scenario: &Scenario) -> Result<Self, ReproduceError> {
        // Every flow has one listener, so stream and flow positions agree.
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

/// Runs the plant `runs` times with nodes `faster` times as fast as in the paper.
fn observe(
    faster: u64,
    runs: u64,
    schedule: &Schedule,
    progress: &Progress,
) -> Result<Packets, ReproduceError> {
    let set = [
        format!("run.for={}", schedule.end),
        "run.warmup=0 s".to_owned(),
        "run.bucket=2 s".to_owned(),
        format!("flows.upload.start={}", schedule.upload_at),
        format!("flows.download.start={}", schedule.download_at),
        format!("stacks.pisa.rate={} packets/s", 5_000 * faster),
        format!("stacks.controller.rate={} packets/s", 20_000 * faster),
    ];
    let scenario = load("skeie-flat.yaml", SCENARIO, &set)?;
    let streams = Streams::new(&scenario)?;
    let windows = schedule.windows();
    // In parallel, but collected in seed order.
    let observed = (1..=runs).into_par_iter().map(|seed| {
        let mut sampler = Sampler::new(&scenario, &[ALL_UP, ALL_DOWN], &windows);
        let record = run_one(&scenario, seed, progress, &mut sampler)?;
        Ok((record, sampler.samples))
    });
    let mut found = Packets::default();
    for (record, samples) in observed.collect::<Result<Vec<_>, ReproduceError>>()? {
        found.sort((&scenario, schedule), &streams, &record, samples);
    }
    Ok(found)
}

impl Packets {
    /// Sorts the packets of a run by traffic condition.
    fn sort(
        &mut self,
        (scenario, schedule): (&Scenario, &Schedule),
        streams: &Streams,
        record: &Record,
        samples: Vec<Sample>,
    ) {
        // Buckets of two seconds: the first is quiet, the third starts with the download.
        let means: Vec<_> = record.streams[streams.down].buckets.iter().map(Bucket::mean).collect();
        if let [Some(quiet), _, Some(download), ..] = means[..] {
            self.bucket_quiet.push(quiet);
            self.bucket_download.push(download);
        }
        let end_of = |stream: usize| {
            let transfers = &record.streams[stream].transfers;
            transfers.first().and_then(|transfer| transfer.finished_at).unwrap_or(Instant::MAX)
        };
        let upload = Instant::ZERO + schedule.upload_at..end_of(streams.upload);
        let download = Instant::ZERO + schedule.download_at..end_of(streams.download);
        for sample in samples {
            self.total += sample.latency;
            self.ethernet += sample.ethernet;
            let is_up = scenario.flows[sample.stream].class == ALL_UP;
            let is_own = sample.stream == if is_up { streams.up } else { streams.down };
            if sample.released_at < Instant::ZERO + schedule.quiet.1 {
                let all = if is_up { &mut self.quiet_up } else { &mut self.quiet_down };
                all.push(sample);
            }
            // A packet meets a transfer if both are in progress at the same time.
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
}

/// Returns the mean; `None` for too few packets.
fn mean_of(samples: &[Sample], value: fn(&Sample) -> Duration) -> Option<Duration> {
    if samples.len() < ENOUGH {
        return None;
    }
    mean(samples.iter().map(value))
}

fn latency(samples: &[Sample]) -> Option<Duration> {
    mean_of(samples, |sample| sample.latency)
}

fn ethernet(samples: &[Sample]) -> Option<Duration> {
    mean_of(samples, |sample| sample.ethernet)
}

fn sum(a: Option<Duration>, b: Option<Duration>) -> Option<Duration> {
    Some(a? + b?)
}

fn rise(now: Option<Duration>, quiet: Option<Duration>) -> Option<Duration> {
    Some(now? - quiet?)
}

pub(crate) fn run(page: &mut Page, progress: &Progress) -> Outcome {
    page.title("A flat substation network with file transfers");
    let found = observe(1, RUNS, &Schedule::FULL, progress)?;
    show::compare(page, &found);
    judge_quiet(page, &found);
    judge_transfers(page, &found);
    judge_faster(page, progress)?;
    figure::draw(page, progress)?;
    page.note(format!(
        "Means over {RUNS} runs; under upload {} and {} packets to and from the controller, \
         under download {} and {}.",
        found.upload_up.len(),
        found.upload_down.len(),
        found.download_up.len(),
        found.download_down.len()
    ));
    page.note(show::success(&found));
    page.note(
        "The paper's 50 us under download are not reproduced. They cannot be the mean of the \
         packets that meet the transfer, since every segment costs the PISA 200 us; in its single \
         run one packet of some fifteen in a mean may have been hit. Over all our runs, most of \
         which have no packet in the way, a mean over two seconds rises by less. C009 adds as the \
         paper does: one direction under upload, the other in the two seconds of the download.",
    );
    Ok(())
}

/// Judges whether faster nodes bring the round trip below the requirement.
fn judge_faster(page: &mut Page, progress: &Progress) -> Outcome {
    let (mut words, mut trips) = (Vec::new(), Vec::new());
    for faster in [2, 4] {
        let found = observe(faster, RUNS_FASTER, &Schedule::SHORT, progress)?;
        let trip = sum(latency(&found.upload_up), latency(&found.upload_down));
        words.push(format!(
            "{} at {faster} times the rates ({} and {} packets)",
            shown(trip),
            found.upload_up.len(),
            found.upload_down.len()
        ));
        trips.push(trip);
    }
    page.check("C013", trips, words.join(", "));
    Ok(())
}

fn judge_quiet(page: &mut Page, found: &Packets) {
    let (up, down) = (latency(&found.quiet_up), latency(&found.quiet_down));
    page.check("C005", [up, down], format!("{}, {}", shown(up), shown(down)));
    page.judge(
        "C006",
        up.zip(down).map(|(up, down)| down >= up),
        format!("{} against {}", shown(down), shown(up)),
        "the order is the other one",
    );
    page.check("C007", [sum(up, down)], shown(sum(up, down)));
    let (up, down) = (ethernet(&found.quiet_up), ethernet(&found.quiet_down));
    page.check("C010", [up, down], format!("{}, {}", shown(up), shown(down)));
    let share = 1.0 - ratio(found.ethernet, found.total);
    page.check("C012", [share], format!("{:.0} %", share * 100.0));
}

fn judge_transfers(page: &mut Page, found: &Packets) {
    let (up, quiet) = (latency(&found.upload_up), latency(&found.own_quiet_up));
    let factor = up.zip(quiet).map(|(up, quiet)| ratio(up, quiet));
    let number = factor.unwrap_or(f64::NAN);
    page.check("C008", [factor], format!("{} / {} = {number:.2}", shown(up), shown(quiet)));
    // Added as in the paper: one direction under upload, from the packets that meet it; the other
    // under download, from a curve of means over about two seconds.
    let download = mean(found.bucket_download.iter().copied());
    let trip = sum(up, download);
    let words = format!(
        "{} under upload + {} over two seconds with the download = {}; both directions under \
         upload {}",
        shown(up),
        shown(download),
        shown(trip),
        shown(sum(up, latency(&found.upload_down)))
    );
    page.check("C009", [trip], words);
    let down = rise(ethernet(&found.download_down), ethernet(&found.own_quiet_down));
    let up = rise(ethernet(&found.upload_up), ethernet(&found.own_quiet_up));
    let both = down.zip(up);
    page.judge(
        "C011",
        both.map(|(down, up)| down > Duration::ZERO && up.as_ps().abs() <= 1_000_000),
        format!("down {} more, up {} more", shown(down), shown(up)),
        "the Ethernet delay does not rise for controller to PISA under download only",
    );
}
