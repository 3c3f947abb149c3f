//! Confidence intervals.
//!
//! Replications with different seeds are independent, so the spread of their means gives Student's
//! t interval (two-sided, 95 %). A ratio of misses is a binomial proportion; its interval is
//! Clopper and Pearson's, which never covers less than it says. Packets of one run are not
//! independent, so where misses come in bursts the ratio's interval is too narrow; the pages that
//! show it say so.

use rtether_model::quantity::Duration;
use rtether_model::record::{StreamRecord, Summary};
use statrs::distribution::{Beta, ContinuousCDF, StudentsT};

use crate::run::{Confidence, Interval};

/// Half of what a two-sided 95 % interval leaves out.
const TAIL: f64 = 0.025;

/// How the replications of one stream differ: what is needed of each, summed up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spread {
    means: Summary,
    p99s: Summary,
}

impl Spread {
    /// Takes in one replication.
    pub fn record(&mut self, run: &StreamRecord) {
        if let (Some(mean), Some(p99)) = (run.latency.mean(), run.quantile(99, 100)) {
            self.means.record(mean);
            self.p99s.record(p99);
        }
    }

    /// Returns the intervals; `all` holds all replications together.
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
    let distribution = StudentsT::new(0.0, 1.0, freedom).ok()?;
    let half = distribution.inverse_cdf(1.0 - TAIL) * error;
    let mean = values.mean()?.as_ns_f64();
    Some(Interval {
        low: from_ns(mean - half),
        high: from_ns(mean + half),
    })
}

/// Returns Clopper and Pearson's interval of a proportion; `None` without trials.
pub fn clopper_pearson(hits: u64, trials: u64) -> Option<(f64, f64)> {
    if trials == 0 || hits > trials {
        return None;
    }
    let (hit, miss) = (to_f64(hits), to_f64(trials - hits));
    let low = match hits {
        0 => 0.0,
        _ => Beta::new(hit, miss + 1.0).ok()?.inverse_cdf(TAIL),
    };
    let high = if hits == trials {
        1.0
    } else {
        Beta::new(hit + 1.0, miss).ok()?.inverse_cdf(1.0 - TAIL)
    };
    Some((low, high))
}

/// Returns Clopper and Pearson's one-sided upper limit of a proportion; one without trials.
pub fn upper_limit(hits: u64, trials: u64, confidence: f64) -> f64 {
    if hits >= trials {
        return 1.0;
    }
    let (hit, miss) = (to_f64(hits), to_f64(trials - hits));
    Beta::new(hit + 1.0, miss).map_or(1.0, |beta| beta.inverse_cdf(confidence))
}

/// Returns the trials without a hit after which the upper limit is at most `ratio`: about
/// `3 / ratio` with a confidence of 95 % (the rule of three).
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
    reason = "counts far below 2^53 in a statistic"
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
mod tests {
    use super::*;

    #[test]
    fn student_against_the_table() {
        // 1, 2, 3, 4, 5 us: mean 3, s = 1.5811, t(4; 0.975) = 2.7764: 3 -+ 1.9632 us.
        let mut values = Summary::default();
        values.record(Duration::from_us(1));
        assert_eq!(student(&values), None);
        (2..=5).for_each(|us| values.record(Duration::from_us(us)));
        let interval = student(&values).unwrap();
        assert_eq!(interval.low, Duration::from_ns(1_037));
        assert_eq!(interval.high, Duration::from_ns(4_963));
    }

    #[test]
    fn the_rule_of_three() {
        // ln 0.05 / ln 0.999 = 2994.2; one packet less is not enough.
        assert_eq!(packets_needed(1e-3, 0.95), 2_995);
        assert!(upper_limit(0, 2_995, 0.95) <= 1e-3);
        assert!(upper_limit(0, 2_994, 0.95) > 1e-3);
        // 5 of 100, one-sided 97.5 %: the upper end of the two-sided interval of 95 %.
        assert!((upper_limit(5, 100, 0.975) - 0.112_835).abs() < 1e-5);
        assert!(upper_limit(0, 0, 0.95) >= 1.0 && upper_limit(7, 7, 0.95) >= 1.0);
    }

    #[test]
    fn clopper_pearson_against_known_values() {
        // No hit in 100: upper limit 1 - 0.025^(1/100) = 0.036217; 5 of 100: 0.016432 to 0.112835.
        let (low, high) = clopper_pearson(0, 100).unwrap();
        assert!(
            low.abs() < 1e-12 && (high - 0.036_217).abs() < 1e-5,
            "{low} {high}"
        );
        let (low, high) = clopper_pearson(5, 100).unwrap();
        assert!(
            (low - 0.016_432).abs() < 1e-5 && (high - 0.112_835).abs() < 1e-5,
            "{low} {high}"
        );
        assert!(clopper_pearson(100, 100).is_some_and(|(_, high)| high > 0.999));
        assert_eq!(clopper_pearson(0, 0), None);
    }
}
