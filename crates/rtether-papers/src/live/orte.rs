//! Paper 003 live: publish-subscribe over loopback, and over an emulated switch between namespaces.

use std::net::Ipv4Addr;
use std::sync::atomic::AtomicBool;

use rtether_live::host::rights::cores;
use rtether_model::quantity::Duration;

use super::super::judge::Judge;
use super::super::orte::{self, Point, REPETITION, REPETITIONS, SIZE, SIZES};
use super::super::{ReproduceError, Reproduction};
use super::lab;
use rtether::meter::{Measurement, Statistics};
use rtether::run::Progress;
use rtether_testbed::testbed::Emulation;
use rtether_testbed::topics::Place;
use rtether_testbed::{Config, EchoOptions, PingOptions, Via, over_loopback};

/// Round trips per pair and over loopback; the paper has 5000.
const COUNT: u32 = 500;
/// Most round trips per point of a figure, and the longest time for one.
const FEW: u32 = 200;
const POINT_MAX: Duration = Duration::from_secs(5);

fn options(size: u64, repetition: Duration, count: u32) -> PingOptions {
    let usual = lab::round_trips(Via::Rtps, size, count);
    PingOptions {
        device: None,
        config: Config {
            pause: repetition,
            ..usual.config
        },
        ..usual
    }
}

/// Returns half of each round trip that no stall of the host affected.
fn halves(found: &Measurement) -> Result<Statistics, ReproduceError> {
    let found = found.without_hit().or_else(|| found.all());
    let found = found.ok_or_else(|| ReproduceError::Machine("nothing came back".into()))?;
    Ok(Statistics {
        count: found.count,
        min: found.min / 2,
        mean: found.mean / 2,
        median: found.median / 2,
        quartiles: found.quartiles.map(|time| time / 2),
        percentiles: found.percentiles.map(|time| time / 2),
        max: found.max / 2,
        standard_deviation: found.standard_deviation / 2,
        mdev: found.mdev / 2,
        mean_deviation: found.mean_deviation / 2,
    })
}

/// Measures within one node, over loopback.
fn loopback(
    size: u64,
    repetition: Duration,
    count: u32,
    progress: &Progress,
) -> Result<Statistics, ReproduceError> {
    if progress.is_cancelled() {
        return Err(ReproduceError::Interrupted);
    }
    let mut options = PingOptions {
        place: Place {
            interface: Some(Ipv4Addr::LOCALHOST),
            ..Place::default()
        },
        ..options(size, repetition, count)
    };
    // The paper's node has one processor.
    options.thread.placement.core = cores().last().copied();
    halves(&over_loopback(&options, &AtomicBool::new(false))?)
}

/// Measures both pairs of the four nodes, one after the other.
fn four_nodes(progress: &Progress) -> Result<(Statistics, Emulation), ReproduceError> {
    let plant = orte::network()?;
    let pairs = [["node1", "node2"], ["node3", "node4"]];
    let pairs = pairs.map(|pair| pair.map(|name| plant.find(name).expect("in the file")));
    lab::with(plant, Vec::new(), progress, |lab| {
        let far = EchoOptions {
            device: None,
            ..lab::answering(Via::Rtps)
        };
        let mut all = None;
        for pair in pairs {
            let found = lab.ping(pair, &options(SIZE, REPETITION, COUNT), &far)?;
            match &mut all {
                None => all = Some(found),
                Some(first) => first.samples.extend(found.samples),
            }
        }
        halves(&all.expect("there are two pairs"))
    })
}

/// Measures four nodes and loopback, and judges both: each claim needs both.
fn parts(
    id: &'static str,
    title: &'static str,
    is_whole: bool,
    progress: &Progress,
) -> Result<Reproduction, ReproduceError> {
    let processing = loopback(SIZE, REPETITION, COUNT, progress)?;
    let (response, emulation) = four_nodes(progress)?;
    let mut judge = Judge::new(id);
    orte::judge_parts(&mut judge, &response, &processing, None);
    let own = if is_whole { &response } else { &processing };
    Ok(Reproduction {
        id,
        title,
        mode: "live",
        comparisons: orte::values(id, own),
        claims: judge.finish(),
        figures: Vec::new(),
        notes: vec![
            lab::fidelity(&[emulation]),
            format!(
                "Four nodes: namespaces at an emulated switch of 100 Mbit/s, two pairs one after the \
                 other; mean {}. Loopback: mean {}. A processor of today takes a tenth of the \
                 paper's time or less, and frames take as long as then, so that shares shift to \
                 communication.",
                response.mean, processing.mean
            ),
        ],
    })
}

pub(super) fn run_four_nodes(progress: &Progress) -> Result<Reproduction, ReproduceError> {
    let title = "Response time over a switch, four nodes, measured";
    parts("dolejs-orte-4nodes", title, true, progress)
}

pub(super) fn run_loopback(progress: &Progress) -> Result<Reproduction, ReproduceError> {
    let title = "Response time within one node, measured";
    parts("dolejs-orte-loopback", title, false, progress)
}

/// Measures points over loopback, where all delay is processing.
fn points(
    sizes: &[u64],
    repetitions: &[Duration],
    progress: &Progress,
) -> Result<Vec<Point>, ReproduceError> {
    let mut all = Vec::new();
    for &size in sizes {
        for &repetition in repetitions {
            let fit = POINT_MAX.as_ns_floor() / repetition.as_ns_floor().max(1);
            let count = u32::try_from(fit).map_or(FEW, |fit| fit.min(FEW));
            let found = loopback(size, repetition, count, progress)?;
            all.push(Point {
                size,
                repetition,
                mean: found.median,
            });
        }
    }
    Ok(all)
}

fn noted(mut all: Reproduction) -> Reproduction {
    all.notes.push(
        "Medians over loopback, both sides on one core, at a real-time priority, asleep between issues: what grows with the \
         repetition time are caches that grow cold and processors that fall asleep."
            .into(),
    );
    all
}

pub(super) fn run_repetition(progress: &Progress) -> Result<Reproduction, ReproduceError> {
    let repetitions = REPETITIONS.map(Duration::from_ms);
    let found = points(&[SIZE], &repetitions, progress)?;
    let mut judge = Judge::new("dolejs-orte-repetition");
    orte::judge_repetition(&mut judge, &found);
    let title = "Response time against repetition time, measured";
    let id = "dolejs-orte-repetition";
    Ok(noted(orte::measured(id, title, &found, judge)))
}

pub(super) fn run_size(progress: &Progress) -> Result<Reproduction, ReproduceError> {
    let found = points(&SIZES, &[REPETITION], progress)?;
    let mut judge = Judge::new("dolejs-orte-size");
    orte::judge_size(&mut judge, &found);
    let title = "Response time against size, measured";
    Ok(noted(orte::measured(
        "dolejs-orte-size",
        title,
        &found,
        judge,
    )))
}

pub(super) fn run_surface(progress: &Progress) -> Result<Reproduction, ReproduceError> {
    let found = points(&SIZES, &REPETITIONS.map(Duration::from_ms), progress)?;
    let mut judge = Judge::new("dolejs-orte-surface");
    let mean = |repetition: Duration| {
        let own = found.iter().filter(|point| point.repetition == repetition);
        super::super::observe::mean(own.map(|point| point.mean)).unwrap_or_default()
    };
    let (slow, fast) = (mean(Duration::from_ms(100)), mean(Duration::from_ms(1)));
    judge.judge(
        "C082",
        slow >= fast,
        format!("{slow} at 100 ms, {fast} at 1 ms, all sizes"),
        "a longer repetition time is not slower",
    );
    let title = "Response time against size and repetition time, measured";
    let id = "dolejs-orte-surface";
    Ok(noted(orte::measured(id, title, &found, judge)))
}
