//! The measurements of 002 Kweon on a simulated 10 Mbit/s hub: real-time messages with echo beside
//! bursts of bulk data, with and without a traffic smoother.
//!
//! PC n sends 100 octets to PC n + 1 at random times, 0.3 s apart in the mean, and gets them back;
//! a message whose round trip takes more than 129.6 ms is missed. Active PCs send files of 1 MB to
//! the monitoring station, which has no smoother. Decisions where the paper is silent are those of
//! the catalogue, 3b.

mod alternatives;
mod figure;
mod greedy;
mod nongreedy;
mod nt;
mod plant;
mod rt_only;
mod sequence;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use rayon::prelude::*;
use rtether_model::quantity::{BitRate, Bytes, Duration};
use rtether_model::record::{Record, StreamRecord};
use rtether_model::smoother::{Adaptive, Fixed, Increase, Mode, Nt, Places};
use rtether_sim::observe::NoObserver;

use super::ReproduceError;
use super::observe::{count_f64, run_one};
use crate::run::Progress;
use plant::Platform;

pub(super) use alternatives::run as run_alternatives;
pub(super) use greedy::run as run_greedy;
pub(super) use nongreedy::run as run_nongreedy;
pub(super) use nt::run as run_nt;
pub(super) use rt_only::run as run_rt_only;
pub(super) use sequence::run as run_sequence;

/// Round trip that counts as missed: ten trials each way (catalogue W4).
const DEADLINE: Duration = Duration::from_us(129_600);
/// Raw rate of the medium, which throughputs are given in parts of.
const MEDIUM_BPS: f64 = 10e6;
/// Start of a run that does not count.
const WARMUP: Duration = Duration::from_secs(5);

/// What is done with bulk packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Scheme {
    None,
    /// 1500 octets every 36 ms.
    Fixed,
    /// The same rate twice: 1500 octets every 4.8 ms, 150 000 every 480 ms.
    Fine,
    Coarse,
    Himd,
    SlowStart,
    Linear,
    Rtether,
    Nt,
    /// HIMD whose period shrinks by so many microseconds each tick.
    HimdBy(u16),
    /// Linear increase by so many hundreds of bit/s each tick.
    LinearBy(u16),
    /// `rtether` with a shortest period of so many microseconds, and a gain.
    RtetherBy(u16, u16),
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
            Self::Rtether | Self::RtetherBy(..) => "rtether",
            Self::Nt => "adaptive (NT)",
        }
    }

    fn mode(self) -> Mode {
        let fixed = |depth, period| {
            Mode::Fixed(Fixed {
                depth: Bytes::new(depth),
                period: Duration::from_us(period),
            })
        };
        match self {
            Self::None => Mode::None,
            Self::Fixed => Mode::Fixed(Fixed::PAPER),
            Self::Fine => fixed(1500, 4_800),
            Self::Coarse => fixed(150_000, 480_000),
            Self::Himd => Mode::Adaptive(Adaptive::HIMD),
            Self::SlowStart => Mode::Adaptive(Adaptive::SLOW_START),
            Self::Linear => Mode::Adaptive(Adaptive::LINEAR),
            Self::Rtether => Mode::Rtether(Places::DEFAULT),
            Self::Nt => Mode::Nt(Nt::paper(0)),
            Self::HimdBy(us) => Mode::Adaptive(Adaptive {
                increase: Increase::Harmonic(Duration::from_us(us.into())),
                ..Adaptive::HIMD
            }),
            Self::LinearBy(step) => Mode::Adaptive(Adaptive {
                increase: Increase::Linear(BitRate::from_bps(u64::from(step) * 100)),
                ..Adaptive::LINEAR
            }),
            Self::RtetherBy(us, gain) => Mode::Rtether(Places {
                period_min: Duration::from_us(us.into()),
                gain,
                ..Places::DEFAULT
            }),
        }
    }
}

/// When active PCs send files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Bulk {
    /// At random, 25 s apart in the mean.
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

/// What a point showed.
#[derive(Clone, Debug)]
struct Point {
    case: Case,
    /// All real-time messages.
    messages: StreamRecord,
    /// Mean time of a file of 1 MB, if one was sent.
    burst: Option<Duration>,
    /// Application data of files, in parts of 10 Mbit/s.
    throughput: f64,
    /// Collided transmissions per frame sent.
    collisions: f64,
    /// Frames given up after 16 attempts.
    given_up: u64,
}

impl Point {
    fn miss(&self) -> f64 {
        self.messages.miss_ratio().unwrap_or(0.0)
    }

    /// Returns the miss ratio, or what one miss would be: what the run can tell from zero.
    fn miss_at_most(&self) -> f64 {
        self.miss()
            .max(1.0 / count_f64(self.messages.released.max(1)))
    }

    fn miss_words(&self) -> String {
        let Self { messages, .. } = self;
        format!(
            "{:.2e} ({} of {})",
            self.miss(),
            messages.missed,
            messages.released
        )
    }

    fn burst_seconds(&self) -> f64 {
        self.burst.map_or(f64::NAN, Duration::as_secs_f64)
    }

    fn new(case: Case, record: &Record, messages: usize) -> Self {
        let (messages, bulk) = record.streams.split_at(messages);
        let transfers = || bulk.iter().flat_map(|stream| &stream.transfers);
        let done = transfers().filter_map(|file| Some(file.finished_at? - file.started_at));
        let counted = record.duration - record.warmup;
        let octets: u64 = bulk.iter().map(|stream| stream.payload_bytes).sum();
        let medium = record.media.first();
        let collided: u64 = medium.map_or(0, |medium| medium.collisions.iter().sum());
        let access = || {
            record
                .ports
                .iter()
                .filter_map(|port| Some((port.sent, port.access?)))
        };
        let sent: u64 = access().map(|(sent, _)| sent).sum();
        Self {
            case,
            messages: merge(messages),
            burst: super::observe::mean(done),
            throughput: count_f64(octets) * 8.0 / counted.as_secs_f64() / MEDIUM_BPS,
            collisions: count_f64(collided) / count_f64(sent.max(1)),
            given_up: access()
                .map(|(_, access)| access.excessive_collisions)
                .sum(),
        }
    }
}

/// All streams as one.
fn merge(streams: &[StreamRecord]) -> StreamRecord {
    let Some((first, others)) = streams.split_first() else {
        return StreamRecord::default();
    };
    let mut all = first.clone();
    for other in others {
        let mut other = other.clone();
        (other.flow, other.listener) = (all.flow, all.listener);
        all.merge(&other);
    }
    all
}

/// Points that several experiments look at are simulated once.
static KNOWN: Mutex<BTreeMap<Case, Arc<Point>>> = Mutex::new(BTreeMap::new());

/// Simulates what is not known yet, and returns all of it in order.
fn measure(cases: &[Case], progress: &Progress) -> Result<Vec<Arc<Point>>, ReproduceError> {
    let known = |case: &Case| {
        let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(case).cloned()
    };
    cases
        .par_iter()
        .map(|case| {
            if let Some(point) = known(case) {
                return Ok(point);
            }
            let point = Arc::new(simulate(*case, progress)?);
            let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
            known.insert(*case, Arc::clone(&point));
            Ok(point)
        })
        .collect()
}

fn simulate(case: Case, progress: &Progress) -> Result<Point, ReproduceError> {
    let (scenario, messages) = plant::scenario(case);
    let record = run_one(&scenario, 1, progress, &mut NoObserver)?;
    Ok(Point::new(case, &record, messages))
}

/// Returns the point of a case among measured ones.
fn find(points: &[Arc<Point>], case: Case) -> &Point {
    points
        .iter()
        .find(|point| point.case == case)
        .expect("every case was measured")
}
