//! `kweon-linux-greedy`, `-nongreedy`, `-sequence` and `kweon-nt-greedy` on this host: each PC is a
//! namespace with this kernel's TCP and a shim; the hub is emulated and reports collisions.
//!
//! Runs take tens of seconds instead of hours: miss ratios below one in a thousand cannot be
//! distinguished from zero.

use std::sync::Arc;

use rtether_testbed::testbed::{Emulation, Measured};

use super::{
    Bulk, Case, MEDIUM_BPS, Platform, Point, Scheme, file_times, greedy, jain, merge, nongreedy,
    nt, plant, sequence,
};
use crate::lab;
use crate::observe::Known;
use crate::prelude::*;

/// The first tenth, at most one second, is warm-up.
const GREEDY: Duration = Duration::from_secs(40);
/// Files start 25 s apart on average.
const NONGREEDY: Duration = Duration::from_secs(120);
const ACTIVE: u16 = 10;
const NT_ACTIVE: u16 = Platform::Nt.stations();

/// Results of one run.
#[derive(Clone, Debug)]
struct Run {
    point: Arc<Point>,
    /// Longest round trip, including stalls of the host.
    longest: Duration,
    stalled: u64,
    /// Shim decisions replayed, calls not recorded, and whether all decisions agreed.
    replayed: (u64, u64, bool),
    emulation: Emulation,
}

/// Runs used by several experiments are made once.
static KNOWN: Known<Case, Arc<Run>> = Known::new();

fn run(case: Case, progress: &Progress) -> Result<Arc<Run>, ReproduceError> {
    KNOWN.get(case, || {
        let (scenario, messages) = plant::scenario(case);
        let measured = lab::run(&scenario, duration(case), 1, progress)?;
        Ok(Arc::new(Run::new(case, &scenario, measured, messages)?))
    })
}

const fn duration(case: Case) -> Duration {
    match case.bulk {
        Bulk::Greedy => GREEDY,
        Bulk::NonGreedy => NONGREEDY,
    }
}

impl Run {
    fn new(
        case: Case,
        scenario: &Scenario,
        measured: Measured,
        count: usize,
    ) -> Result<Self, ReproduceError> {
        let record = measured.record(scenario);
        let (messages, bulk) = record.streams.split_at(count);
        let files = file_times(bulk);
        let octets: Vec<u64> = bulk
            .iter()
            .map(|stream| {
                let delivered = stream.transfers.iter().map(|file| file.delivered);
                delivered.map(Bytes::get).sum()
            })
            .collect();
        let messages = merge(messages);
        let miss = messages.miss_ratio();
        let emulation = measured.emulation.unwrap_or_default();
        let kept = measured.packets.kept.iter();
        let kept = kept.filter(|packet| usize::from(packet.stream) < count);
        let layers = measured.layers.iter().map(|layer| layer.replayed);
        Ok(Self {
            point: Arc::new(Point {
                case,
                messages,
                miss: miss.ok_or_else(|| ReproduceError::Scenario("no messages".into()))?,
                files,
                throughput: count_f64(octets.iter().sum()) * 8.0
                    / record.duration.as_secs_f64()
                    / MEDIUM_BPS,
                collisions: count_f64(emulation.collisions) / count_f64(emulation.frames.max(1)),
                given_up: emulation.dropped,
                jain: jain(&octets),
            }),
            longest: kept.filter_map(|p| p.latency).max().unwrap_or_default(),
            stalled: measured.streams[..count].iter().map(|s| s.stalled).sum(),
            replayed: layers.fold((0, 0, true), |sum, own| {
                let (all, lost) = (sum.0 + own.decisions, sum.1 + own.unrecorded);
                (all, lost, sum.2 && !own.differs)
            }),
            emulation,
        })
    }

    fn words(&self) -> String {
        let Self { point, .. } = self;
        let quantile = |part| point.messages.quantile(part, 1_000).unwrap_or_default();
        let file = point.burst().map(|time| {
            let count = point.files.1;
            format!(", a file in {:.2} s ({count} of them)", time.as_secs_f64())
        });
        let replay = match self.replayed {
            (decisions, 0, true) => format!("{decisions} decisions of shims as in their replay"),
            (decisions, more, true) => {
                format!("{decisions} decisions of shims as in their replay, {more} not recorded")
            }
            (.., false) => "a shim DECIDED OTHERWISE than its replay".into(),
        };
        format!(
            "miss {}, p50 {}, p99 {}, longest {}; throughput {:.3}{}; {:.2} collisions per \
             frame, {} given up, Jain's index {:.2}; {replay}; {} touched by stalls",
            point.miss_words(),
            quantile(500),
            quantile(990),
            self.longest,
            point.throughput,
            file.unwrap_or_default(),
            point.collisions,
            point.given_up,
            point.jain,
            self.stalled
        )
    }
}

/// Returns what was measured, in the form in which it is compared with the paper.
fn points<const N: usize>(runs: &[Arc<Run>; N]) -> [Arc<Point>; N] {
    runs.each_ref().map(|run| Arc::clone(&run.point))
}

/// Runs the cases and shows them, the first of them without smoothing.
fn show<const N: usize>(
    page: &mut Page,
    title: &str,
    cases: [Case; N],
    progress: &Progress,
) -> Result<[Arc<Run>; N], ReproduceError> {
    page.title(title);
    let runs = cases.iter().map(|&case| run(case, progress));
    let runs = runs.collect::<Result<Vec<_>, _>>()?;
    let Case { active, .. } = cases[0];
    for run in &runs {
        let quantity = format!("{}, {active} active nodes", run.point.case.scheme.name());
        page.row(quantity, "see the simulated experiment", run.words(), "002 Kweon 3.2, 4.2");
    }
    let emulations: Vec<Emulation> = runs.iter().map(|run| run.emulation.clone()).collect();
    page.note(lab::fidelity(&emulations));
    page.note(format!(
        "{} for each row, which is some {} messages; {active} nodes send files. The \
         scenario, its deadline of 129.6 ms and the smoothers are those of the simulation; \
         TCP and all else above the shims is this kernel's. A message that stalls of the \
         host touched is missed if it would have been late without them.",
        duration(cases[0]),
        runs[0].point.messages.released
    ));
    Ok(runs.try_into().unwrap_or_else(|_| unreachable!("a run a case")))
}

pub(crate) fn greedy(page: &mut Page, progress: &Progress) -> Outcome {
    let schemes = [Scheme::None, Scheme::Fixed, Scheme::Himd, Scheme::Rtether];
    let cases = schemes.map(|scheme| Case::greedy(scheme, ACTIVE));
    let title = "Files without a pause beside real-time messages on a hub, measured";
    let runs = show(page, title, cases, progress)?;
    greedy::compare(page, &points(&runs));
    let [none, fixed, himd, rtether] = runs.each_ref().map(|run| &*run.point);
    judge_adaptive(page, himd);
    let words = [fixed, himd, rtether].map(|point| trade_off(none, point));
    page.note(format!("Against no smoothing: {}.", words.join("; ")));
    Ok(())
}

/// Describes what a scheme gains and costs.
fn trade_off(none: &Point, point: &Point) -> String {
    let is_told = point.messages.missed > 0;
    format!(
        "{}, misses {}{:.0} times fewer, throughput {:.2} of it",
        point.case.scheme.name(),
        if is_told { "" } else { "at least " },
        none.miss / point.miss_at_most(),
        point.throughput / none.throughput
    )
}

fn judge_adaptive(page: &mut Page, himd: &Point) {
    let (missed, released) = (himd.messages.missed, himd.messages.released);
    let told = released >= 1_000 || missed > 0;
    let reason = "more misses, or too few messages to tell";
    page.check_or("C050", [told.then_some(himd.miss)], himd.miss_words(), reason);
}

pub(crate) fn nongreedy(page: &mut Page, progress: &Progress) -> Outcome {
    let title = "Files at random times beside real-time messages on a hub, measured";
    let runs = random(page, title, progress)?;
    nongreedy::compare(page, &points(&runs));
    let [none, fixed, himd] = runs.each_ref().map(|run| &*run.point);
    let is_told = fixed.messages.missed > 0 || himd.messages.missed > 0;
    let holds = if none.miss > fixed.miss.max(himd.miss) {
        is_told.then_some(fixed.miss >= himd.miss)
    } else {
        Some(false)
    };
    let misses = [none, fixed, himd].map(Point::miss_words).join(", ");
    page.judge(
        "C048",
        holds,
        format!("{ACTIVE} active, none, fixed, adaptive: {misses}"),
        "another order, or neither fixed nor adaptive misses anything",
    );
    judge_adaptive(page, himd);
    let times = [none, himd, fixed].map(Point::burst_seconds);
    let words = times.map(|time| format!("{time:.2}")).join(", ");
    let words = format!("{ACTIVE} active, none, adaptive, fixed: {words} s");
    page.judge("C052", times[0] < times[1] && times[1] < times[2], words, "another order");
    Ok(())
}

fn random(
    page: &mut Page,
    title: &str,
    progress: &Progress,
) -> Result<[Arc<Run>; 3], ReproduceError> {
    let schemes = [Scheme::None, Scheme::Fixed, Scheme::Himd];
    let cases = schemes.map(|scheme| Case::nongreedy(scheme, ACTIVE));
    show(page, title, cases, progress)
}

pub(crate) fn sequence(page: &mut Page, progress: &Progress) -> Outcome {
    let title = "Round trips with ten nodes that send files at random times, measured";
    let runs = random(page, title, progress)?;
    sequence::compare(page, &points(&runs));
    let longest = runs[2].longest;
    page.check_or("C057", [longest], longest, "a longer round trip");
    Ok(())
}

pub(crate) fn nt(page: &mut Page, progress: &Progress) -> Outcome {
    let cases = [Scheme::None, Scheme::Nt].map(|scheme| Case::nt(scheme, NT_ACTIVE));
    let title = "The NT variant of the smoother, four nodes, measured";
    let runs = show(page, title, cases, progress)?;
    nt::compare(page, &points(&runs));
    let words = trade_off(&runs[0].point, &runs[1].point);
    page.note(format!("Against no smoothing: {words}."));
    Ok(())
}
