//! Measured distributions: tables of quantiles.

use alloc::vec::Vec;
use core::fmt;

use crate::quantity::Duration;

/// Parts per whole of a share.
pub const WHOLE: u32 = 1_000_000;

/// One point of a distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantile {
    /// Values per million that are at most `value`.
    pub per_million: u32,
    /// The value.
    pub value: Duration,
}

/// A distribution of times: linear between its points, deterministic, and in integers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quantiles {
    /// At least two points, from zero to [`WHOLE`]; shares rise, values do not fall and are not
    /// negative.
    points: Vec<Quantile>,
}

/// Why points do not form a distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuantilesError {
    /// Fewer than two points, or more than [`Quantiles::MAX`].
    Count {
        /// Number of points.
        count: usize,
    },
    /// The first share is not zero.
    First,
    /// The last share is not [`WHOLE`].
    Last,
    /// A share is not larger than the previous one.
    Share {
        /// Index of the point, from zero.
        index: usize,
    },
    /// A value is smaller than the previous one, or negative.
    Value {
        /// Index of the point, from zero.
        index: usize,
    },
}

impl fmt::Display for QuantilesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count { count } => {
                let most = Quantiles::MAX;
                write!(f, "a distribution has 2 to {most} points, found {count}")
            }
            Self::First => f.write_str("the first share must be 0 %: the smallest value"),
            Self::Last => f.write_str("the last share must be 100 %: the largest value"),
            Self::Share { .. } => f.write_str("a share must be larger than the one before"),
            Self::Value { .. } => f.write_str("a value must not be smaller than the one before"),
        }
    }
}

impl Quantiles {
    /// Largest number of points.
    pub const MAX: usize = 64;

    /// Returns the distribution through these points.
    ///
    /// # Errors
    /// If they do not form a distribution.
    pub fn new(points: Vec<Quantile>) -> Result<Self, QuantilesError> {
        let count = points.len();
        if !(2..=Self::MAX).contains(&count) {
            return Err(QuantilesError::Count { count });
        }
        if points[0].value.is_negative() {
            return Err(QuantilesError::Value { index: 0 });
        }
        for (before, pair) in points.windows(2).enumerate() {
            let index = before + 1;
            if pair[0].per_million >= pair[1].per_million {
                return Err(QuantilesError::Share { index });
            }
            if pair[0].value > pair[1].value {
                return Err(QuantilesError::Value { index });
            }
        }
        if points[0].per_million != 0 {
            return Err(QuantilesError::First);
        }
        if points[count - 1].per_million != WHOLE {
            return Err(QuantilesError::Last);
        }
        Ok(Self { points })
    }

    /// Returns the points.
    pub fn points(&self) -> &[Quantile] {
        &self.points
    }

    /// Returns the largest value; no draw exceeds it.
    pub fn max(&self) -> Duration {
        self.points[self.points.len() - 1].value
    }

    /// Returns the mean, rounded down.
    pub fn mean(&self) -> Duration {
        let twice = self.points.windows(2).map(|pair| {
            let share = i128::from(pair[1].per_million - pair[0].per_million);
            share * (i128::from(pair[0].value.as_ps()) + i128::from(pair[1].value.as_ps()))
        });
        let mean = twice.sum::<i128>() / (2 * i128::from(WHOLE));
        // Fits: the mean is between the smallest and the largest value.
        Duration::from_ps(i64::try_from(mean).unwrap_or(i64::MAX))
    }

    /// Returns the quantile of `part / 2^32`, rounded down: a random draw if `part` is uniform.
    pub fn value_at(&self, part: u32) -> Duration {
        // In millionths, with 32 binary places.
        let share = u64::from(part) * u64::from(WHOLE);
        let above =
            self.points.partition_point(|point| u64::from(point.per_million) << 32 <= share);
        // The first point is at zero, and the last is above every share.
        let (low, high) = (self.points[above - 1], self.points[above]);
        let into = i128::from(share - (u64::from(low.per_million) << 32));
        let width = i128::from(high.per_million - low.per_million) << 32;
        let rise = i128::from((high.value - low.value).as_ps());
        let more = rise * into / width;
        low.value + Duration::from_ps(i64::try_from(more).unwrap_or(i64::MAX))
    }

    /// Returns the distribution with each value changed.
    ///
    /// # Errors
    /// If the changed values do not form a distribution.
    pub fn map(&self, change: impl Fn(Duration) -> Duration) -> Result<Self, QuantilesError> {
        let changed =
            self.points.iter().map(|point| Quantile { value: change(point.value), ..*point });
        Self::new(changed.collect())
    }
}

/// Measured additions to the costs of a stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Empirical {
    /// Added to the cost of sending.
    pub send: Quantiles,
    /// Added to the cost of receiving.
    pub receive: Quantiles,
}

impl Empirical {
    /// Returns the additions for one direction.
    pub const fn of(&self, is_outbound: bool) -> &Quantiles {
        if is_outbound { &self.send } else { &self.receive }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec;

    fn quantiles(points: &[(u32, i64)]) -> Result<Quantiles, QuantilesError> {
        let points = points
            .iter()
            .map(|&(per_million, us)| Quantile { per_million, value: Duration::from_us(us) });
        Quantiles::new(points.collect())
    }

    #[test]
    fn values_lie_on_the_line_between_the_points() {
        // Oracle: by hand. Half of the values lie evenly in 10 to 20 us, the rest in 20 to 100 us.
        let table = quantiles(&[(0, 10), (500_000, 20), (1_000_000, 100)]).expect("it rises");
        let quarter = 1 << 30;
        let values = [0, quarter, 2 * quarter, 3 * quarter].map(|part| table.value_at(part));
        assert_eq!(values, [10, 15, 20, 60].map(Duration::from_us));
        let last = table.value_at(u32::MAX);
        assert!(last < table.max() && last > table.max() - Duration::from_ns(1), "{last:?}");
        // (15 + 60) / 2.
        assert_eq!(table.mean(), Duration::from_ns(37_500));
    }

    #[test]
    fn large_values_do_not_overflow() {
        // Oracle: a straight line from zero to an hour.
        let hour = 3_600_000_000;
        let table = quantiles(&[(0, 0), (1_000_000, hour)]).expect("it rises");
        assert_eq!(table.value_at(1 << 31), Duration::from_us(hour / 2));
    }

    #[test]
    fn points_that_are_no_distribution_are_refused() {
        let wrong = |points: &[(u32, i64)]| quantiles(points).expect_err("no distribution");
        assert_eq!(wrong(&[(0, 1)]), QuantilesError::Count { count: 1 });
        let many: vec::Vec<(u32, i64)> = (0..65).map(|n| (n, 0)).collect();
        assert_eq!(wrong(&many), QuantilesError::Count { count: 65 });
        assert_eq!(wrong(&[(1, 0), (1_000_000, 1)]), QuantilesError::First);
        assert_eq!(wrong(&[(0, 0), (999_999, 1)]), QuantilesError::Last);
        assert_eq!(wrong(&[(0, 0), (0, 1)]), QuantilesError::Share { index: 1 });
        assert_eq!(wrong(&[(0, 2), (1_000_000, 1)]), QuantilesError::Value { index: 1 });
        assert_eq!(wrong(&[(0, -1), (1_000_000, 1)]), QuantilesError::Value { index: 0 });
    }
}
