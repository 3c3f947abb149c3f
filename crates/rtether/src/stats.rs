//! Confidence intervals.
//!
//! Replications with different seeds are independent, so the spread of their means gives Student's
//! t interval (two-sided, 95 %). A deadline-miss ratio is a binomial proportion with the interval
//! of Clopper and Pearson, whose coverage is never below the nominal one. Packets of one run are
//! not independent: if misses come in bursts, the interval of the ratio is too narrow, and reports
//! say so.

mod beta;

use rtether_model::quantity::Duration;
use rtether_model::record::{StreamRecord, Summary};

use beta::Beta;

/// Probability in each tail outside a two-sided 95 % interval.
const TAIL: f64 = 0.025;

/// Two-sided 95 % confidence intervals of one stream.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Confidence {
    /// Mean latency, from the spread of the replications (Student's t); needs two runs.
    pub mean: Option<Interval>,
    /// 99th percentile, in the same way.
    pub p99: Option<Interval>,
    /// Ratio of late or lost packets (Clopper-Pearson on all packets).
    pub miss_ratio: Option<(f64, f64)>,
}

/// An interval with both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// Lower end.
    pub low: Duration,
    /// Upper end.
    pub high: Duration,
}

/// Spread of one stream over replications, accumulated from each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spread {
    means: Summary,
    p99s: Summary,
}

impl Spread {
    /// Adds one replication.
    pub fn record(&mut self, run: &StreamRecord) {
        if let (Some(mean), Some(p99)) = (run.latency.mean(), run.quantile(99, 100)) {
            self.means.record(mean);
            self.p99s.record(p99);
        }
    }

    /// Returns the intervals; `all` is the record of all replications merged.
    pub fn confidence(&self, all: &StreamRecord) -> Confidence {
        Confidence {
            mean: student(&self.means),
            p99: student(&self.p99s),
            miss_ratio: clopper_pearson(all.missed, all.released),
        }
    }
}

/// Returns Student's t interval of the mean of independent values; `None` for fewer than two.
pub fn student(values: &Summary) -> Option<Interval> {
    if values.count < 2 {
        return None;
    }
    let freedom = to_f64(values.count - 1);
    let error = values.standard_deviation()?.as_ns_f64() / freedom.sqrt();
    let half = student_quantile(freedom) * error;
    let mean = values.mean()?.as_ns_f64();
    Some(Interval {
        low: from_ns(mean - half),
        high: from_ns(mean + half),
    })
}

/// Returns the value that Student's t exceeds with probability 0.025.
pub fn student_quantile(freedom: f64) -> f64 {
    // t^2 / (f + t^2) is distributed as Beta(1/2, f/2), so its odds are t^2 / f.
    let quantile = Beta::new(0.5, freedom / 2.0).quantile(1.0 - 2.0 * TAIL);
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

/// Returns the number of trials without a hit after which the upper limit is at most `ratio`: about
/// `3 / ratio` at 95 % confidence (rule of three).
pub fn packets_needed(ratio: f64, confidence: f64) -> u64 {
    // (1 - ratio)^n <= 1 - confidence.
    let trials = libm::log1p(-confidence) / libm::log1p(-ratio);
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "positive, and a cast saturates"
    )]
    let trials = trials.ceil() as u64;
    trials.max(1)
}

#[allow(
    clippy::cast_precision_loss,
    reason = "a count above 2^53 is as good as its neighbor in a statistic"
)]
fn to_f64(count: u64) -> f64 {
    count as f64
}

#[allow(
    clippy::cast_possible_truncation,
    reason = "an estimate is rounded to a nanosecond"
)]
fn from_ns(ns: f64) -> Duration {
    Duration::from_ns(ns.round() as i64)
}

#[cfg(test)]
mod tests;
