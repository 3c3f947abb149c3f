//! The measurements of 002 Kweon on a simulated 10 Mbit/s hub: real-time messages with echo
//! alongside bursts of bulk data, with and without a traffic smoother.
//!
//! PC n sends 100 octets to PC n + 1 at random times, 0.3 s apart on average, and gets them back; a
//! message with a round trip above 129.6 ms is missed. Active PCs send files of 1 MB to the
//! monitoring station, which has no smoother. Where the paper is silent, the choices are those of
//! the catalogue, 3b.
//!
//! Every point is simulated with several seeds. Claims are judged on all seeds together; the
//! verdict also gives the number of single seeds in which they hold.

pub(crate) mod alternatives;
mod figure;
pub(crate) mod greedy;
mod laws;
#[cfg(target_os = "linux")]
pub(crate) mod live;
pub(crate) mod nongreedy;
pub(crate) mod nt;
mod plant;
pub(crate) mod rt_only;
pub(crate) mod sequence;
pub(crate) mod smoothing;

use std::sync::Arc;

use rayon::prelude::*;
use rtether_model::record::{Record, StreamRecord};
use rtether_model::smoother::{Adaptive, Fixed, Increase, Mode, Nt, TurnBucket};
use rtether_sim::observe::NoObserver;

use crate::observe::{Known, merge, run_one};
use crate::prelude::*;
use plant::Platform;

pub use laws::tables as laws;

/// Longest round trip that is not missed: ten attempts each way (catalogue W4).
const DEADLINE: Duration = Duration::from_us(129_600);
/// Raw rate of the medium; throughputs are fractions of it.
const MEDIUM_BPS: f64 = 10e6;
/// Warm-up of a run.
const WARMUP: Duration = Duration::from_secs(5);

/// Treatment of bulk packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Scheme {
    None,
    /// 1500 octets every 36 ms.
    Fixed,
    /// The same rate in two forms: 1500 octets every 4.8 ms, 150 000 every 480 ms.
    Fine,
    Coarse,
    Himd,
    SlowStart,
    Linear,
    Rtether,
    Nt,
    /// HIMD whose period shrinks by this many microseconds per tick.
    HimdBy(u16),
    /// Linear increase by this many hundreds of bit/s per tick.
    LinearBy(u16),
    /// `rtether` with this target in percent.
    RtetherBy(u8),
}

impl Scheme {
    const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Fixed => "fixed",
            Self::Fine => "fixed, 1500 B / 4.8 ms",
            Self::Coarse => "fixed, 150000 B / 480 ms",
            Self::Himd | Self::HimdBy(_) => "adaptive",
            Self::SlowStart => "slow-start increase",
            Self::Linear | Self::LinearBy(_) => "linear increase",
            Self::Rtether | Self::RtetherBy(_) => "rtether",
            Self::Nt => "adaptive (NT)",
        }
    }

    fn mode(self) -> Mode {
        let fixed = |depth, period| {
            Mode::Fixed(Fixed { depth: Bytes::new(depth), period: Duration::from_us(period) })
        };
        match self {
            Self::None => Mode::None,
            Self::Fixed => Mode::Fixed(Fixed::PAPER),
            Self::Fine => fixed(1500, 4_800),
            Self::Coarse => fixed(150_000, 480_000),
            Self::Himd => Mode::Adaptive(Adaptive::HIMD),
            Self::SlowStart => Mode::Adaptive(Adaptive::SLOW_START),
            Self::Linear => Mode::Adaptive(Adaptive::LINEAR),
            Self::Rtether => Mode::Rtether(TurnBucket::DEFAULT),
            Self::Nt => Mode::Nt(Nt::paper(0)),
            Self::HimdBy(us) => Mode::Adaptive(Adaptive {
                increase: Increase::Harmonic(Duration::from_us(us.into())),
                ..Adaptive::HIMD
            }),
            Self::LinearBy(step) => Mode::Adaptive(Adaptive {
                increase: Increase::Linear(BitRate::from_bps(u64::from(step) * 100)),
                ..Adaptive::LINEAR
            }),
            Self::RtetherBy(percent) => Mode::Rtether(TurnBucket {
                target_percent: percent,
                threshold_percent: (percent + 13).min(100),
                ..TurnBucket::DEFAULT
            }),
        }
    }
}

/// When active PCs send files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Bulk {
    /// At random, 25 s apart on average.
    NonGreedy,
    /// One after the other.
    Greedy,
}

/// One point of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Case {
    platform: Platform,
    scheme: Scheme,
    bulk: Bulk,
    active: u16,
}

impl Case {
    const fn new(platform: Platform, scheme: Scheme, bulk: Bulk, active: u16) -> Self {
        Self { platform, scheme, bulk, active }
    }

    /// PCs with Linux that send files without a pause.
    const fn greedy(scheme: Scheme, active: u16) -> Self {
        Self::new(Platform::Linux, scheme, Bulk::Greedy, active)
    }

    /// PCs with Linux that send files at random times.
    const fn nongreedy(scheme: Scheme, active: u16) -> Self {
        Self::new(Platform::Linux, scheme, Bulk::NonGreedy, active)
    }

    /// PCs with the NT variant of the smoother, which send files without a pause.
    const fn nt(scheme: Scheme, active: u16) -> Self {
        Self::new(Platform::Nt, scheme, Bulk::Greedy, active)
    }
}

/// Runs per point.
const SEEDS: u64 = 5;

/// Results of a point in one run, or in all runs together.
#[derive(Clone, Debug)]
struct Point {
    case: Case,
    /// All real-time messages.
    messages: StreamRecord,
    /// Share of messages that were late or lost.
    miss: f64,
    /// Transfer times of files of 1 MB: sum and count.
    files: (Duration, i64),
    /// Application data of files, as a fraction of 10 Mbit/s.
    throughput: f64,
    /// Collided transmissions per frame sent.
    collisions: f64,
    /// Frames given up after 16 attempts.
    given_up: u64,
    /// Jain's index over the octets sent by active nodes: 1 if all are equal, 1/n if one of n has
    /// all; mean over runs.
    jain: f64,
}

/// Points of one or several cases: all seeds pooled, and each seed alone.
#[derive(Clone, Debug)]
struct Measured {
    pooled: Vec<Arc<Point>>,
    seeds: Vec<Vec<Arc<Point>>>,
}

impl Measured {
    /// Judges all seeds together, and adds the number of single seeds in which each claim holds.
    fn judge(&self, page: &mut Page, judge: impl Fn(&mut Page, &[Arc<Point>])) {
        page.judge_seeds(&self.pooled, &self.seeds, judge);
    }

    /// Returns the smallest and largest value of a case over the seeds.
    fn range(&self, case: Case, value: impl Fn(&Point) -> f64) -> (f64, f64) {
        let values = self.seeds.iter().map(|points| value(find(points, case)));
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(value), high.max(value))
        })
    }

    /// Describes the ranges of miss ratio, throughput, burst time and fairness for some cases.
    fn ranges(&self, cases: &[Case]) -> String {
        let words = cases.iter().map(|&case| {
            let miss = self.range(case, |point| point.miss);
            let part = self.range(case, |point| point.throughput);
            let burst = self.range(case, Point::burst_seconds);
            let jain = self.range(case, |point| point.jain);
            let (scheme, active) = (case.scheme.name(), case.active);
            format!("{scheme} {active}: miss {:.1e} to {:.1e}", miss.0, miss.1)
                + &format!(", throughput {:.3} to {:.3}", part.0, part.1)
                + &format!(", file {:.2} to {:.2} s", burst.0, burst.1)
                + &format!(", Jain's index {:.2} to {:.2}", jain.0, jain.1)
        });
        let words = listed(words, "; ");
        format!("Ranges over {SEEDS} seeds, by smoothing and active nodes: {words}.")
    }
}

impl Point {
    /// Returns the miss ratio, or that of a single miss if there was none: the resolution of the
    /// run.
    fn miss_at_most(&self) -> f64 {
        self.miss.max(1.0 / count_f64(self.messages.released.max(1)))
    }

    fn miss_words(&self) -> String {
        let Self { messages, miss, .. } = self;
        format!("{miss:.2e} ({} of {})", messages.missed, messages.released)
    }

    /// Returns the mean transfer time of a file of 1 MB; `None` if none was sent.
    fn burst(&self) -> Option<Duration> {
        let (sum, count) = self.files;
        (count > 0).then(|| sum / count)
    }

    fn burst_seconds(&self) -> f64 {
        self.burst().map_or(f64::NAN, Duration::as_secs_f64)
    }

    fn new(case: Case, record: &Record, messages: usize) -> Result<Self, ReproduceError> {
        let (messages, bulk) = record.streams.split_at(messages);
        let messages = merge(messages);
        let miss = messages.miss_ratio();
        let counted = record.duration - record.warmup;
        let octets: Vec<u64> = bulk.iter().map(|stream| stream.payload_bytes).collect();
        let medium = record.media.first();
        let collided: u64 = medium.map_or(0, |medium| medium.collisions.iter().sum());
        let access = || record.ports.iter().filter_map(|port| Some((port.sent, port.access?)));
        let sent: u64 = access().map(|(sent, _)| sent).sum();
        Ok(Self {
            case,
            messages,
            miss: miss.ok_or_else(|| ReproduceError::Scenario("no messages".into()))?,
            files: file_times(bulk),
            throughput: count_f64(octets.iter().sum()) * 8.0 / counted.as_secs_f64() / MEDIUM_BPS,
            collisions: count_f64(collided) / count_f64(sent.max(1)),
            given_up: access().map(|(_, access)| access.excessive_collisions).sum(),
            jain: jain(&octets),
        })
    }

    /// Pools the runs of one case.
    fn pool(runs: &[Arc<Self>]) -> Self {
        let first = &runs[0];
        let mean = |value: fn(&Self) -> f64| {
            let sum: f64 = runs.iter().map(|run| value(run)).sum();
            sum / count_f64(runs.len() as u64)
        };
        let messages = merge(runs.iter().map(|run| &run.messages));
        Self {
            case: first.case,
            miss: messages.miss_ratio().unwrap_or(first.miss),
            messages,
            files: runs
                .iter()
                .fold((Duration::ZERO, 0), |sum, run| (sum.0 + run.files.0, sum.1 + run.files.1)),
            throughput: mean(|run| run.throughput),
            collisions: mean(|run| run.collisions),
            given_up: runs.iter().map(|run| run.given_up).sum(),
            jain: mean(|run| run.jain),
        }
    }
}

/// Returns sum and count of the transfer times of files.
fn file_times(bulk: &[StreamRecord]) -> (Duration, i64) {
    let transfers = bulk.iter().flat_map(|stream| &stream.transfers);
    let ended = transfers.filter_map(|file| Some(file.finished_at? - file.started_at));
    ended.fold((Duration::ZERO, 0), |sum, time| (sum.0 + time, sum.1 + 1))
}

/// Returns Jain's index: square of the sum over n times the sum of squares; 1 if all are zero.
fn jain(octets: &[u64]) -> f64 {
    let values = || octets.iter().map(|&octets| count_f64(octets));
    let (sum, squares) = (values().sum::<f64>(), values().map(|x| x * x).sum::<f64>());
    if squares == 0.0 {
        return 1.0;
    }
    sum * sum / (count_f64(octets.len() as u64) * squares)
}

/// Runs used by several experiments are simulated once.
static KNOWN: Known<(Case, u64), Arc<Point>> = Known::new();

/// Simulates the cases not yet known, and returns all in order.
fn measure(cases: &[Case], progress: &Progress) -> Result<Measured, ReproduceError> {
    let runs_of = |&case| (1..=SEEDS).map(move |seed| (case, seed));
    let keys: Vec<(Case, u64)> = cases.iter().flat_map(runs_of).collect();
    let runs =
        keys.par_iter().map(|&key| simulate(key, progress)).collect::<Result<Vec<_>, _>>()?;
    let seeds = usize::try_from(SEEDS).unwrap_or(usize::MAX);
    let by_case = runs.chunks(seeds);
    let of_seed = |at: usize| {
        let own = by_case.clone().map(|runs| Arc::clone(&runs[at]));
        own.collect::<Vec<_>>()
    };
    Ok(Measured {
        pooled: by_case.clone().map(|runs| Arc::new(Point::pool(runs))).collect(),
        seeds: (0..seeds).map(of_seed).collect(),
    })
}

fn simulate((case, seed): (Case, u64), progress: &Progress) -> Result<Arc<Point>, ReproduceError> {
    KNOWN.get((case, seed), || {
        let (scenario, messages) = plant::scenario(case);
        let record = run_one(&scenario, seed, progress, &mut NoObserver)?;
        Ok(Arc::new(Point::new(case, &record, messages)?))
    })
}

/// Returns a case for every scheme and number of active nodes.
fn grid(case: fn(Scheme, u16) -> Case, schemes: &[Scheme], active: &[u16]) -> Vec<Case> {
    let cases = schemes.iter().flat_map(|&scheme| active.iter().map(move |&n| (scheme, n)));
    cases.map(|(scheme, active)| case(scheme, active)).collect()
}

/// Returns the scheme that a value of the paper is about.
fn scheme_of(value: &Value, schemes: &[Scheme]) -> Option<Scheme> {
    let name = value.subject.split(", ").nth(2)?;
    schemes.iter().copied().find(|scheme| scheme.name() == name)
}

/// Returns a number the paper prints for a scheme.
fn printed(experiment: &str, scheme: Scheme, statistic: &str, qualifier: &str) -> f64 {
    let values = reference::values(experiment).into_iter();
    let mut values = values.filter(|value| scheme_of(value, &[scheme]).is_some());
    let value = values.find(|value| value.statistic == statistic && value.qualifier == qualifier);
    let number = value.and_then(|value| value.value.parse().ok());
    number.expect("the table of the paper has it")
}

/// Returns the point of a case.
fn find(points: &[Arc<Point>], case: Case) -> &Point {
    points.iter().find(|point| point.case == case).expect("every case was measured")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fairness() {
        // Oracle: by hand: 1 for equal shares, 1/n for one of n, (1 + 3)^2 / (2 * (1 + 9)) = 0.8.
        for (octets, expected) in [(&[5, 5, 5][..], 1.0), (&[7, 0, 0, 0], 0.25), (&[1, 3], 0.8)] {
            assert!((jain(octets) - expected).abs() < 1e-12, "{octets:?}");
        }
    }
}
