//! Statistics of round trips.

use rtether_model::quantity::Duration;
use rtether_model::record::Summary;

/// Statistics of a set of times. Percentiles are nearest-rank, so they are values that occurred.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Statistics {
    /// Number of values.
    pub count: u64,
    /// Smallest.
    pub min: Duration,
    /// Mean.
    pub mean: Duration,
    /// Median.
    pub median: Duration,
    /// First and third quartile.
    pub quartiles: [Duration; 2],
    /// 90th, 99th and 99.9th percentile.
    pub percentiles: [Duration; 3],
    /// Largest.
    pub max: Duration,
    /// Standard deviation of the sample, with `n - 1`; zero for one value.
    pub standard_deviation: Duration,
    /// Standard deviation of the population, with `n`: the `mdev` of iputils.
    pub mdev: Duration,
    /// Mean absolute deviation from the mean.
    pub mean_deviation: Duration,
}

impl Statistics {
    /// Computes all statistics; `None` without values.
    pub fn of(values: impl Iterator<Item = Duration>) -> Option<Self> {
        let mut values: Vec<Duration> = values.collect();
        values.sort_unstable();
        let mut summary = Summary::default();
        for &value in &values {
            summary.record(value);
        }
        let (mean, mdev) = (summary.mean()?, summary.standard_deviation()?);
        let distances = values.iter().map(|&value| {
            let distance = (value - mean).as_ps();
            i128::from(distance.abs())
        });
        let count = i128::from(summary.count);
        let mean_deviation = from_wide(distances.sum::<i128>() / count);
        // Nearest rank: the smallest value that at least `part / whole` of the values do not
        // exceed.
        let quantile = |part: usize, whole: usize| {
            let rank = (values.len() * part).div_ceil(whole);
            values[rank.clamp(1, values.len()) - 1]
        };
        Some(Self {
            count: summary.count,
            min: summary.min,
            mean,
            median: quantile(1, 2),
            quartiles: [quantile(1, 4), quantile(3, 4)],
            percentiles: [quantile(9, 10), quantile(99, 100), quantile(999, 1_000)],
            max: summary.max,
            standard_deviation: sample_deviation(mdev, summary.count),
            mdev,
            mean_deviation,
        })
    }
}

/// Converts the deviation with `n` to the one with `n - 1`.
fn sample_deviation(mdev: Duration, count: u64) -> Duration {
    if count < 2 {
        return Duration::ZERO;
    }
    let square = i128::from(mdev.as_ps()).pow(2);
    let variance = square * i128::from(count) / i128::from(count - 1);
    from_wide(variance.isqrt())
}

/// The two combined standard deviations of several series (R126).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Combined {
    /// Root of the mean of the series' variances, weighted with `n - 1`: variation within a series.
    pub pooled_within: Duration,
    /// Standard deviation of all values about their common mean, including variation between
    /// series.
    pub total: Duration,
}

impl Combined {
    /// Computes both; `None` without series.
    pub fn of(series: &[Statistics], all: &Statistics) -> Option<Self> {
        if series.is_empty() {
            return None;
        }
        let squares = series.iter().map(|one| {
            let freedom = i128::from(one.count - 1);
            i128::from(one.standard_deviation.as_ps()).pow(2) * freedom
        });
        let freedom: i128 = series.iter().map(|one| i128::from(one.count - 1)).sum();
        let variance = squares.sum::<i128>().checked_div(freedom).unwrap_or(0);
        Some(Self { pooled_within: from_wide(variance.isqrt()), total: all.standard_deviation })
    }
}

fn from_wide(ps: i128) -> Duration {
    Duration::from_ps(i64::try_from(ps).unwrap_or(i64::MAX))
}
