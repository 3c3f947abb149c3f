//! Quantiles of independent values, with intervals by ranks.

use alloc::vec::Vec;

use rtether_model::quantity::Duration;

use super::figure::{count, from_ns};

/// Shares that are reported, per million.
const SHARES: [u32; 6] = [50_000, 250_000, 500_000, 750_000, 950_000, 990_000];

/// A quantile. Its interval is that of two ranks between which the true one is with at least 95 %,
/// whatever the distribution is, and wider by what is not known of the costs of octets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantile {
    /// Values per million that are at most this one.
    pub per_million: u32,
    /// The estimate.
    pub value: Duration,
    /// Lower end; `None` if there are too few values to have one.
    pub low: Option<Duration>,
    /// Upper end; `None` if there are too few values: 299 are needed for the 99 % quantile.
    pub high: Option<Duration>,
}

impl Quantile {
    /// Returns the quantiles of sorted nanoseconds less an offset, of which half an interval is known.
    pub(super) fn all(sorted: &[f64], offset: f64, half: f64) -> Vec<Self> {
        SHARES.into_iter().map(|per_million| Self::of(sorted, per_million, offset, half)).collect()
    }

    fn of(sorted: &[f64], per_million: u32, offset: f64, half: f64) -> Self {
        let share = f64::from(per_million) / 1e6;
        let value = of_sorted(sorted, share);
        let [low, high] = ranks(sorted.len(), share).map(|rank| sorted.get(rank?));
        let low = low.map(|low| from_ns(value - offset - libm::hypot(value - low, half)));
        let high = high.map(|high| from_ns(value - offset + libm::hypot(high - value, half)));
        Self { per_million, value: from_ns(value - offset), low, high }
    }
}

/// Returns the quantile of sorted values, between the two nearest.
pub(super) fn of_sorted(sorted: &[f64], share: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return 0.0 };
    let place = share * count(last);
    // The lower neighbor: the number of whole steps.
    let below = (1..=last).take_while(|&rank| count(rank) <= place).last().unwrap_or(0);
    let above = (below + 1).min(last);
    sorted[below] + (sorted[above] - sorted[below]) * (place - count(below))
}

/// Returns the ranks, from zero, between which a quantile is: the number of values below it is
/// binomial, and at each end at most 2.5 % are left out.
fn ranks(values: usize, share: f64) -> [Option<usize>; 2] {
    let mut below = 0.0;
    let (mut low, mut high) = (None, None);
    for number in 0..=values {
        // The quantile is at least the value of this rank if this many or more are below it.
        if below <= 0.025 {
            low = number.checked_sub(1);
        }
        below += binomial(values, number, share);
        if below >= 0.975 && high.is_none() {
            high = Some(number).filter(|number| *number < values);
        }
    }
    [low, high]
}

/// Returns the probability of a number of successes.
fn binomial(trials: usize, number: usize, share: f64) -> f64 {
    let [all, some, rest] =
        [trials, number, trials - number].map(|own| libm::lgamma(count(own) + 1.0));
    let logarithm = all - some - rest
        + count(number) * libm::log(share)
        + count(trials - number) * libm::log(1.0 - share);
    libm::exp(logarithm)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Oracle: the table of the sign test for ten values (ranks 2 and 9, 97.9 %), and
    /// `1 - 0.99^n >= 0.975` from 368 values on.
    #[test]
    fn ranks_are_those_of_the_binomial() {
        assert_eq!(ranks(10, 0.5), [Some(1), Some(8)]);
        assert_eq!(ranks(367, 0.99)[1], None);
        assert_eq!(ranks(368, 0.99)[1], Some(367));
        assert_eq!(ranks(5, 0.5), [None, None]);
        let sorted = [10.0, 20.0, 40.0];
        assert!((of_sorted(&sorted, 0.75) - 30.0).abs() < 1e-9);
        assert!((of_sorted(&sorted, 1.0) - 40.0).abs() < 1e-9);
    }
}
