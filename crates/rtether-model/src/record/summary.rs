//! Count, extremes and moments of times, exact.

use crate::quantity::Duration;

/// Count, extremes and moments of a set of times, exact.
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
    /// Sum of squares in square picoseconds.
    pub sum_sq_ps2: u128,
}

impl Default for Summary {
    fn default() -> Self {
        Self {
            count: 0,
            min: Duration::MAX,
            max: Duration::ZERO,
            sum_ps: 0,
            sum_sq_ps2: 0,
        }
    }
}

impl Summary {
    /// Takes in one value, not negative.
    #[inline]
    pub fn record(&mut self, value: Duration) {
        let ps = value.as_ps();
        self.count += 1;
        self.min = Ord::min(self.min, value);
        self.max = Ord::max(self.max, value);
        self.sum_ps += i128::from(ps);
        let magnitude = u128::from(ps.unsigned_abs());
        self.sum_sq_ps2 += magnitude * magnitude;
    }

    /// Takes in all values of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.min = Ord::min(self.min, other.min);
        self.max = Ord::max(self.max, other.max);
        self.sum_ps += other.sum_ps;
        self.sum_sq_ps2 += other.sum_sq_ps2;
    }

    /// Returns the mean, rounded down to a picosecond; `None` without values.
    pub fn mean(&self) -> Option<Duration> {
        let mean = self.sum_ps.checked_div(i128::from(self.count))?;
        i64::try_from(mean).ok().map(Duration::from_ps)
    }

    /// Returns the population standard deviation (the `mdev` of iputils), rounded down to a
    /// picosecond; `None` without values.
    pub fn standard_deviation(&self) -> Option<Duration> {
        let count = u128::from(self.count);
        let sum = u128::try_from(self.sum_ps).ok()?;
        let (quotient, rest) = (sum.checked_div(count)?, sum % count);
        // count * variance = sum of squares - sum^2 / count, with sum = quotient * count + rest
        // spread out so that no product leaves 128 bits.
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
        assert_eq!(
            (summary.min, summary.max),
            (Duration::from_ns(2), Duration::from_ns(9))
        );
        assert_eq!(Summary::default().mean(), None);
        assert_eq!(Summary::default().standard_deviation(), None);
    }
}
