//! Exact count, extremes and moments of times.

use crate::quantity::Duration;

/// Exact count, extremes and moments of a set of times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Number of values.
    pub count: u64,
    /// Smallest value; [`Duration::MAX`] without values.
    pub min: Duration,
    /// Largest value; zero without values.
    pub max: Duration,
    /// Sum in picoseconds.
    pub sum_ps: i128,
    /// Sum of squares in square picoseconds; [`u128::MAX`] on overflow, as with thousands of
    /// latencies of days.
    pub sum_sq_ps2: u128,
}

impl Default for Summary {
    fn default() -> Self {
        Self { count: 0, min: Duration::MAX, max: Duration::ZERO, sum_ps: 0, sum_sq_ps2: 0 }
    }
}

impl Summary {
    /// Adds one non-negative value.
    #[inline]
    pub fn record(&mut self, value: Duration) {
        let ps = value.as_ps();
        self.count += 1;
        self.min = Ord::min(self.min, value);
        self.max = Ord::max(self.max, value);
        self.sum_ps += i128::from(ps);
        let magnitude = u128::from(ps.unsigned_abs());
        self.sum_sq_ps2 = self.sum_sq_ps2.saturating_add(magnitude * magnitude);
    }

    /// Adds all values of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.min = Ord::min(self.min, other.min);
        self.max = Ord::max(self.max, other.max);
        self.sum_ps += other.sum_ps;
        self.sum_sq_ps2 = self.sum_sq_ps2.saturating_add(other.sum_sq_ps2);
    }

    /// Returns the mean, rounded down to a picosecond; `None` without values.
    pub fn mean(&self) -> Option<Duration> {
        let mean = self.sum_ps.checked_div(i128::from(self.count))?;
        i64::try_from(mean).ok().map(Duration::from_ps)
    }

    /// Returns the population standard deviation (the `mdev` of iputils), rounded down to a
    /// picosecond; `None` without values, or if the sum of squares overflowed.
    pub fn standard_deviation(&self) -> Option<Duration> {
        if self.sum_sq_ps2 == u128::MAX {
            return None;
        }
        let count = u128::from(self.count);
        let sum = u128::try_from(self.sum_ps).ok()?;
        let (quotient, rest) = (sum.checked_div(count)?, sum % count);
        // count * variance = sum of squares - sum^2 / count, with sum = quotient * count + rest
        // expanded so that every product fits 128 bits.
        let square_of_sum = quotient * quotient * count + 2 * quotient * rest + rest * rest / count;
        let variance = self.sum_sq_ps2.saturating_sub(square_of_sum) / count;
        i64::try_from(variance.isqrt()).ok().map(Duration::from_ps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_by_hand() {
        // 2, 4, 4, 4, 5, 5, 7, 9: mean 5, population standard deviation 2.
        let mut summary = Summary::default();
        for ns in [2, 4, 4, 4, 5, 5, 7, 9] {
            summary.record(Duration::from_ns(ns));
        }
        assert_eq!(summary.mean(), Some(Duration::from_ns(5)));
        assert_eq!(summary.standard_deviation(), Some(Duration::from_ns(2)));
        assert_eq!((summary.min, summary.max), (Duration::from_ns(2), Duration::from_ns(9)));
        assert_eq!(Summary::default().mean(), None);
        assert_eq!(Summary::default().standard_deviation(), None);
    }

    /// Oracle: a constant has no deviation; 120 h squared is 1.9e35 square picoseconds, and 128
    /// bits end at 3.4e38.
    #[test]
    fn squares_without_room_give_no_deviation() {
        let days = Duration::from_secs(120 * 3600);
        let mut summary = Summary::default();
        (0..1_000).for_each(|_| summary.record(days));
        assert_eq!(summary.standard_deviation(), Some(Duration::ZERO));
        let half = summary;
        summary.merge(&half);
        assert_eq!((summary.count, summary.mean()), (2_000, Some(days)));
        assert_eq!(summary.standard_deviation(), None);
        summary.record(days);
        assert_eq!(summary.standard_deviation(), None);
    }
}
