//! Confidence intervals.
//!
//! Replications with different seeds are independent, so the spread of their means gives Student's
//! t interval (two-sided, 95 %). A ratio of misses is a binomial proportion; its interval is
//! Clopper and Pearson's, which never covers less than it says. Packets of one run are not
//! independent, so where misses come in bursts the ratio's interval is too narrow; the pages that
//! show it say so.

use rtether_model::quantity::Duration;
use rtether_model::record::{Record, StreamRecord};
use statrs::distribution::{Beta, ContinuousCDF, StudentsT};

use crate::run::{Confidence, Interval};

/// Half of what a two-sided 95 % interval leaves out.
const TAIL: f64 = 0.025;

/// Returns the intervals of every stream of some replications.
pub fn confidence(records: &[Record]) -> Vec<Confidence> {
    let streams = records.first().map_or(0, |record| record.streams.len());
    (0..streams)
        .map(|index| {
            let runs: Vec<&StreamRecord> = records.iter().map(|r| &r.streams[index]).collect();
            let missed = runs.iter().map(|run| run.missed).sum();
            let released = runs.iter().map(|run| run.released).sum();
            Confidence {
                mean: student(&collect(&runs, |run| run.latency.mean())),
                p99: student(&collect(&runs, |run| run.quantile(99, 100))),
                miss_ratio: clopper_pearson(missed, released),
            }
        })
        .collect()
}

fn collect(
    runs: &[&StreamRecord],
    value: impl Fn(&StreamRecord) -> Option<Duration>,
) -> Vec<Duration> {
    runs.iter().filter_map(|run| value(run)).collect()
}

/// Returns Student's t interval of the mean of independent values; `None` for fewer than two.
pub fn student(values: &[Duration]) -> Option<Interval> {
    if values.len() < 2 {
        return None;
    }
    let count = to_f64(values.len() as u64);
    let mean = values.iter().map(|value| value.as_ns_f64()).sum::<f64>() / count;
    let squares: f64 = values
        .iter()
        .map(|value| (value.as_ns_f64() - mean).powi(2))
        .sum();
    let error = (squares / (count - 1.0) / count).sqrt();
    let distribution = StudentsT::new(0.0, 1.0, count - 1.0).ok()?;
    let half = distribution.inverse_cdf(1.0 - TAIL) * error;
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
        let values: Vec<Duration> = (1..=5).map(Duration::from_us).collect();
        let interval = student(&values).unwrap();
        assert_eq!(interval.low, Duration::from_ns(1_037));
        assert_eq!(interval.high, Duration::from_ns(4_963));
        assert_eq!(student(&values[..1]), None);
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
