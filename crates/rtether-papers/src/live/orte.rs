//! Paper 003 live: publish-subscribe over loopback, and over an emulated switch between namespaces.

use std::net::Ipv4Addr;
use std::sync::atomic::AtomicBool;

use rtether::meter::{Measurement, Statistics};
use rtether_live::host::rights::cores;
use rtether_testbed::testbed::Emulation;
use rtether_testbed::topics::ParticipantOptions;
use rtether_testbed::{Config, EchoOptions, PingOptions, Via, over_loopback};

use crate::lab;
use crate::observe::mean;
use crate::orte::{self, Point, REPETITION, REPETITIONS, SIZE, SIZES};
use crate::prelude::*;

/// Round trips per pair and over loopback; the paper has 5000.
const COUNT: u32 = 500;
/// Most round trips per point of a figure, and the longest time for one.
const FEW: u32 = 200;
const POINT_MAX: Duration = Duration::from_secs(5);

fn options(size: u64, repetition: Duration, count: u32) -> PingOptions {
    let usual = lab::round_trips(Via::Rtps, size, count);
    PingOptions { device: None, config: Config { pause: repetition, ..usual.config }, ..usual }
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
        participant: ParticipantOptions {
            interface: Some(Ipv4Addr::LOCALHOST),
            ..ParticipantOptions::default()
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
    let pairs = pairs.map(|pair| lab::ends(&plant, pair));
    lab::with(plant, Vec::new(), progress, |lab| {
        let far = EchoOptions { device: None, ..lab::answering(Via::Rtps) };
        let options = options(SIZE, Duration::from_ms(REPETITION), COUNT);
        let mut all = lab.ping(pairs[0], &options, &far)?;
        all.samples.extend(lab.ping(pairs[1], &options, &far)?.samples);
        halves(&all)
    })
}

/// Measures four nodes and loopback, and judges both: each claim needs both.
pub(crate) fn parts(page: &mut Page, progress: &Progress) -> Outcome {
    page.title(format!("{}, measured", orte::titles(page)));
    let processing = loopback(SIZE, Duration::from_ms(REPETITION), COUNT, progress)?;
    let (response, emulation) = four_nodes(progress)?;
    // Without a communication measurement, network jitter is the difference of the variances.
    let both = [&response, &processing].map(|own| own.standard_deviation.as_ns_floor().pow(2));
    let network = Duration::from_ns((both[0] - both[1]).max(0).isqrt());
    orte::judge_parts(page, &response, &processing, network);
    page.note(lab::fidelity(&[emulation]));
    page.note(format!(
        "Four nodes: namespaces at an emulated switch of 100 Mbit/s, two pairs one after the \
         other; mean {}. Loopback: mean {}. A processor of today takes a tenth of the \
         paper's time or less, and frames take as long as then, so that shares shift to \
         communication.",
        response.mean, processing.mean
    ));
    Ok(())
}

/// Measures points over loopback, where all delay is processing, and shows them.
fn points(
    page: &mut Page,
    title: &str,
    (sizes, repetitions): (&[u64], &[i64]),
    progress: &Progress,
) -> Result<Vec<Point>, ReproduceError> {
    let found = orte::points(sizes, repetitions, |size, repetition| {
        let fit = POINT_MAX.as_ns_floor() / repetition.as_ns_floor().max(1);
        let count = u32::try_from(fit).map_or(FEW, |fit| fit.min(FEW));
        Ok(loopback(size, repetition, count, progress)?.median)
    })?;
    orte::show(page, title, "median", &found);
    page.note(
        "Medians over loopback, both sides on one core, at a real-time priority, asleep between \
         issues: what grows with the repetition time are caches that grow cold and processors that \
         fall asleep.",
    );
    Ok(found)
}

pub(crate) fn repetition(page: &mut Page, progress: &Progress) -> Outcome {
    let title = "Response time against repetition time, measured";
    let found = points(page, title, (&[SIZE], &REPETITIONS), progress)?;
    orte::judge_repetition(page, &found);
    Ok(())
}

pub(crate) fn size(page: &mut Page, progress: &Progress) -> Outcome {
    let title = "Response time against size, measured";
    let found = points(page, title, (&SIZES, &[REPETITION]), progress)?;
    orte::judge_size(page, &found);
    Ok(())
}

pub(crate) fn surface(page: &mut Page, progress: &Progress) -> Outcome {
    let title = "Response time against size and repetition time, measured";
    let found = points(page, title, (&SIZES, &REPETITIONS), progress)?;
    let mean = |repetition: Duration| {
        let own = found.iter().filter(|point| point.repetition == repetition);
        mean(own.map(|point| point.time)).unwrap_or_default()
    };
    let (slow, fast) = (mean(Duration::from_ms(100)), mean(Duration::from_ms(1)));
    page.judge(
        "C082",
        slow >= fast,
        format!("{slow} at 100 ms, {fast} at 1 ms, all sizes"),
        "a longer repetition time is not slower",
    );
    Ok(())
}
