//! Confidence intervals that hold: two-sided 95 %, of mean, 99th percentile and miss ratio.
//!
//! Packets of one run depend on each other: behind a late packet others are late. What counts is
//! therefore not how many packets there are, but how many parts of the runs that are independent of
//! each other ([`Spread`], 16 to 32 *units*): batches of the runs, or whole runs where something is
//! drawn once for a run or changes within it ([`unit::Kind`]). The spread of the units shows by how
//! much the variance exceeds that of as many independent packets (the *design effect*,
//! [`interval`]).
//!
//! Where the runs are too few, too short for how long packets depend on each other, or begin with a
//! transient that they do not outweigh, there is no interval but what it [`Needs`].
//!
//! Oracle of the tests: a queue whose distribution is known (`tests/confidence.rs`; the measured
//! coverage is in `docs/models/confidence.md`).
//!
//! Proportions of independent trials, such as plants drawn at random, have the interval of Clopper
//! and Pearson, whose coverage is never below the nominal one.

mod beta;
pub(crate) mod interval;
mod unit;

use rtether_model::quantity::Duration;
use rtether_model::record::StreamRecord;

use beta::Beta;
pub(crate) use unit::{Batches, Plan};
pub use unit::{Kind, Spread};

/// Probability in each tail outside a two-sided 95 % interval.
pub(crate) const TAIL: f64 = 0.025;

/// Two-sided 95 % confidence intervals of one stream.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Confidence {
    /// Mean latency.
    pub mean: Option<Interval>,
    /// 99th percentile.
    pub p99: Option<Interval>,
    /// Ratio of late or lost packets.
    pub miss_ratio: Option<(f64, f64)>,
    /// Number of independent units behind the intervals.
    pub units: u32,
    /// What the units are.
    pub kind: Kind,
    /// What there would have to be for the intervals that are missing.
    pub needs: Option<Needs>,
}

impl Confidence {
    /// Returns what the intervals rest on, or what they need.
    pub fn basis(&self) -> String {
        match self.needs {
            Some(needs) => needs.words().to_owned(),
            None => format!("{} {}", self.units, self.kind.name()),
        }
    }
}

/// An interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// Lower end.
    pub low: Duration,
    /// Upper end; `None` if more packets are needed to tell it.
    pub high: Option<Duration>,
}

/// What an interval of 95 % would need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// More runs, or longer ones.
    Runs,
    /// A longer warm-up: the beginning of the runs differs from the rest.
    Warmup,
}

impl Needs {
    /// Returns the words of reports.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Runs => "needs more runs",
            Self::Warmup => "needs a longer warm-up",
        }
    }
}

impl Spread {
    /// Returns the intervals; `all` is the record of all replications merged.
    pub fn confidence(&self, all: &StreamRecord) -> Confidence {
        let (units, kind) = (self.size(), self.kind());
        let nothing = Confidence { units, kind, ..Confidence::default() };
        let sample = match interval::Sample::new(&[self], all.latency.standard_deviation()) {
            Ok(sample) => sample,
            Err(needs) => {
                return Confidence { needs: Some(needs), ..nothing };
            }
        };
        let (low, high) = sample.mean();
        Confidence {
            mean: Some(Interval { low, high: Some(high) }),
            p99: sample.quantile(all, 99, 100),
            miss_ratio: sample.missed(TAIL),
            ..nothing
        }
    }
}

/// Returns the value that Student's t exceeds with probability `tail`.
pub fn student_quantile(freedom: f64, tail: f64) -> f64 {
    if tail >= 0.5 {
        // Symmetric about zero.
        return if tail > 0.5 { -student_quantile(freedom, 1.0 - tail) } else { 0.0 };
    }
    // t^2 / (f + t^2) is distributed as Beta(1/2, f/2), so its odds are t^2 / f.
    let quantile = Beta::new(0.5, freedom / 2.0).quantile(1.0 - 2.0 * tail);
    libm::sqrt(freedom * quantile.odds)
}

/// Returns the Clopper-Pearson interval of a proportion; `None` without trials.
pub fn clopper_pearson(hits: u64, trials: u64) -> Option<(f64, f64)> {
    if trials == 0 || hits > trials {
        return None;
    }
    let low = match hits {
        0 => 0.0,
        _ => quantile(hits, trials - hits + 1, TAIL),
    };
    Some((low, upper_limit(hits, trials, 1.0 - TAIL)))
}

/// Returns the one-sided Clopper-Pearson upper limit of a proportion; 1 without trials.
///
/// `confidence` lies strictly between 0 and 1.
pub fn upper_limit(hits: u64, trials: u64, confidence: f64) -> f64 {
    if hits >= trials {
        return 1.0;
    }
    quantile(hits + 1, trials - hits, confidence)
}

/// Returns the quantile of a beta distribution with positive integer parameters.
fn quantile(a: u64, b: u64, p: f64) -> f64 {
    match (a, b) {
        (1, b) => beta::first_power(to_f64(b), p),
        (a, 1) => beta::last_power(to_f64(a), p),
        (a, b) => Beta::new(to_f64(a), to_f64(b)).quantile(p).value,
    }
}

#[allow(
    clippy::cast_precision_loss,
    reason = "a count above 2^53 is as good as its neighbor in a statistic"
)]
fn to_f64(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests;
