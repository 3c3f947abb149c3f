//! `kweon-linux-greedy`, `-nongreedy`, `-sequence` and `kweon-nt-greedy` on this host: each PC is a
//! namespace with this kernel's TCP and a shim; the hub is emulated and reports collisions.
//!
//! Runs take tens of seconds instead of hours: miss ratios below one in a thousand cannot be
//! distinguished from zero.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::{Arc, Mutex, PoisonError};

use rtether_model::quantity::{Bytes, Duration};

use super::super::live::lab;
use super::super::{Comparison, Judge, Judgement, ReproduceError, Reproduction};
use super::{Bulk, Case, MEDIUM_BPS, Platform, Point, Scheme, count_f64, jain, merge, plant};
use rtether::run::Progress;
use rtether::scenario::Scenario;
use rtether_testbed::testbed::{Emulation, Measured};

/// The first tenth, at most one second, is warm-up.
const GREEDY: Duration = Duration::from_secs(40);
/// Files start 25 s apart on average.
const NONGREEDY: Duration = Duration::from_secs(120);
const ACTIVE: u16 = 10;
const NT_ACTIVE: u16 = 4;

/// Results of one run.
#[derive(Clone, Debug)]
struct Run {
    point: Point,
    /// Longest round trip, including stalls of the host.
    longest: Duration,
    stalled: u64,
    /// Shim decisions replayed, calls not recorded, and whether all decisions agreed.
    replayed: (u64, u64, bool),
    emulation: Emulation,
}

/// Runs used by several experiments are made once.
static KNOWN: Mutex<BTreeMap<Case, Arc<Run>>> = Mutex::new(BTreeMap::new());

fn measure(cases: &[Case], progress: &Progress) -> Result<Vec<Arc<Run>>, ReproduceError> {
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let mut runs = Vec::new();
    for &case in cases {
        let run = match known.entry(case) {
            Entry::Occupied(run) => Arc::clone(run.get()),
            Entry::Vacant(place) => Arc::clone(place.insert(Arc::new(run(case, progress)?))),
        };
        runs.push(run);
    }
    Ok(runs)
}

fn run(case: Case, progress: &Progress) -> Result<Run, ReproduceError> {
    let (scenario, messages) = plant::scenario(case);
    let duration = match case.bulk {
        Bulk::Greedy => GREEDY,
        Bulk::NonGreedy => NONGREEDY,
    };
    let measured = lab::run(&scenario, duration, 1, progress)?;
    Run::new(case, &scenario, measured, messages)
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
        let transfers = bulk.iter().flat_map(|stream| &stream.transfers);
        let ended = transfers.filter_map(|file| Some(file.finished_at? - file.started_at));
        let files = ended.fold((Duration::ZERO, 0), |sum, time| (sum.0 + time, sum.1 + 1));
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
            point: Point {
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
            },
            longest: kept.filter_map(|p| p.latency).max().unwrap_or_default(),
            stalled: measured.streams[..count].iter().map(|s| s.stalled).sum(),
            replayed: layers.fold((0, 0, true), |sum, own| {
                let (all, lost) = (sum.0 + own.decisions, sum.1 + own.unrecorded);
                (all, lost, sum.2 && !own.differs)
            }),
            emulation,
        })
    }

    fn comparison(&self, active: u16) -> Comparison {
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
        Comparison {
            quantity: format!("{}, {active} active nodes", point.case.scheme.name()),
            paper: "see the simulated experiment".into(),
            ours: format!(
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
            ),
            source: "002 Kweon 3.2, 4.2".into(),
        }
    }
}

fn reproduction(
    id: &'static str,
    title: &'static str,
    runs: &[Arc<Run>],
    claims: Vec<Judgement>,
    active: u16,
) -> Reproduction {
    let emulations: Vec<Emulation> = runs.iter().map(|run| run.emulation.clone()).collect();
    let duration = match runs.first().map(|run| run.point.case.bulk) {
        Some(Bulk::NonGreedy) => NONGREEDY,
        Some(Bulk::Greedy) | None => GREEDY,
    };
    Reproduction {
        id,
        title,
        mode: "live",
        comparisons: runs.iter().map(|run| run.comparison(active)).collect(),
        claims,
        figures: Vec::new(),
        notes: vec![
            lab::fidelity(&emulations),
            format!(
                "{duration} for each row, which is some {} messages; {active} nodes send files. The \
                 scenario, its deadline of 129.6 ms and the smoothers are those of the simulation; \
                 TCP and all else above the shims is this kernel's. A message that stalls of the \
                 host touched is missed if it would have been late without them.",
                runs.first().map_or(0, |run| run.point.messages.released)
            ),
        ],
    }
}

pub(in super::super) fn greedy(progress: &Progress) -> Result<Reproduction, ReproduceError> {
    let schemes = [Scheme::None, Scheme::Fixed, Scheme::Himd, Scheme::Rtether];
    let runs = measure(
        &schemes.map(|scheme| Case::greedy(scheme, ACTIVE)),
        progress,
    )?;
    let [none, fixed, himd, rtether] = [0, 1, 2, 3].map(|at: usize| &runs[at].point);
    let mut judge = Judge::new("kweon-linux-greedy");
    judge_adaptive(&mut judge, himd);
    let claims = judge.finish();
    let title = "Files without a pause beside real-time messages on a hub, measured";
    let mut found = reproduction("kweon-linux-greedy", title, &runs, claims, ACTIVE);
    let words = [fixed, himd, rtether].map(|point| trade_off(none, point));
    found
        .notes
        .push(format!("Against no smoothing: {}.", words.join("; ")));
    Ok(found)
}

/// Describes what a scheme gains and costs.
fn trade_off(none: &Point, point: &Point) -> String {
    let is_told = point.messages.missed > 0;
    format!(
        "{}, misses {}{:.0} times fewer, throughput {:.2} of it",
        point.case.scheme.name(),
        if is_told { "" } else { "at least " },
        none.miss() / point.miss_at_most(),
        point.throughput / none.throughput
    )
}

fn judge_adaptive(judge: &mut Judge, himd: &Point) {
    let (missed, released) = (himd.messages.missed, himd.messages.released);
    let told = released >= 1_000 || missed > 0;
    judge.decide(
        "C050",
        told.then(|| himd.miss() < 1e-3),
        himd.miss_words(),
        "more misses, or too few messages to tell",
    );
}

pub(in super::super) fn nongreedy(progress: &Progress) -> Result<Reproduction, ReproduceError> {
    let runs = random(progress)?;
    let [none, fixed, himd] = [0, 1, 2].map(|at: usize| &runs[at].point);
    let mut judge = Judge::new("kweon-linux-nongreedy");
    let is_told = fixed.messages.missed > 0 || himd.messages.missed > 0;
    let holds = if none.miss() > fixed.miss().max(himd.miss()) {
        is_told.then(|| fixed.miss() >= himd.miss())
    } else {
        Some(false)
    };
    let misses = [none, fixed, himd].map(Point::miss_words).join(", ");
    judge.decide(
        "C048",
        holds,
        format!("{ACTIVE} active, none, fixed, adaptive: {misses}"),
        "another order, or neither fixed nor adaptive misses anything",
    );
    judge_adaptive(&mut judge, himd);
    let times = [none, himd, fixed].map(Point::burst_seconds);
    let words = times.map(|time| format!("{time:.2}")).join(", ");
    judge.judge(
        "C052",
        times[0] < times[1] && times[1] < times[2],
        format!("{ACTIVE} active, none, adaptive, fixed: {words} s"),
        "another order",
    );
    let title = "Files at random times beside real-time messages on a hub, measured";
    let claims = judge.finish();
    Ok(reproduction(
        "kweon-linux-nongreedy",
        title,
        &runs,
        claims,
        ACTIVE,
    ))
}

fn random(progress: &Progress) -> Result<Vec<Arc<Run>>, ReproduceError> {
    let schemes = [Scheme::None, Scheme::Fixed, Scheme::Himd];
    measure(
        &schemes.map(|scheme| Case::nongreedy(scheme, ACTIVE)),
        progress,
    )
}

pub(in super::super) fn sequence(progress: &Progress) -> Result<Reproduction, ReproduceError> {
    const LONG: Duration = Duration::from_ms(300);
    let runs = random(progress)?;
    let mut judge = Judge::new("kweon-linux-sequence");
    let longest = runs[2].longest;
    judge.judge(
        "C057",
        longest < LONG,
        longest.to_string(),
        "a longer round trip",
    );
    let title = "Round trips with ten nodes that send files at random times, measured";
    let claims = judge.finish();
    Ok(reproduction(
        "kweon-linux-sequence",
        title,
        &runs,
        claims,
        ACTIVE,
    ))
}

pub(in super::super) fn nt(progress: &Progress) -> Result<Reproduction, ReproduceError> {
    debug_assert_eq!(Platform::Nt.stations(), NT_ACTIVE, "all of them are active");
    let schemes = [Scheme::None, Scheme::Nt];
    let runs = measure(&schemes.map(|scheme| Case::nt(scheme, NT_ACTIVE)), progress)?;
    let [none, adaptive] = [&runs[0].point, &runs[1].point];
    let claims = Judge::new("kweon-nt-greedy").finish();
    let title = "The NT variant of the smoother, four nodes, measured";
    let mut found = reproduction("kweon-nt-greedy", title, &runs, claims, NT_ACTIVE);
    let words = trade_off(none, adaptive);
    found.notes.push(format!("Against no smoothing: {words}."));
    Ok(found)
}
