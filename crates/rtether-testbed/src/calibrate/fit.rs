//! Fits a line and a jitter distribution to measured costs.

use rtether_model::empirical::{Quantile, Quantiles, WHOLE};
use rtether_model::network::Cost;
use rtether_model::quantity::{Bytes, Duration};

/// Shares at which the distribution is kept, in parts per million; denser in the tail, where
/// deadlines matter.
const SHARES: [u32; 21] = [
    0, 10_000, 50_000, 100_000, 200_000, 300_000, 400_000, 500_000, 600_000, 700_000, 800_000,
    900_000, 950_000, 970_000, 980_000, 990_000, 995_000, 998_000, 999_000, 999_500, WHOLE,
];

/// A cost with its measured jitter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fit {
    /// Least cost of a packet: a line through the medians of the sizes, lowered until no measured
    /// cost lies below it.
    pub cost: Cost,
    /// Additional cost above [`Fit::cost`], as a distribution.
    pub additions: Quantiles,
}

/// Fits the costs of several frame sizes; `None` without values.
///
/// The additions of all sizes form one distribution, so a jitter that grows with the size appears
/// as its mean over the sizes.
pub fn fit(sizes: &[(Bytes, Vec<Duration>)]) -> Option<Fit> {
    let medians: Vec<(i128, i128)> = sizes
        .iter()
        .filter_map(|(size, values)| {
            let mut values: Vec<i64> = values.iter().map(|value| value.as_ps()).collect();
            values.sort_unstable();
            let median = *values.get(values.len().checked_sub(1)? / 2)?;
            Some((i128::from(size.get()), i128::from(median)))
        })
        .collect();
    // Limits the slope: a steeper line would need a negative base cost.
    let steepest = sizes.iter().filter_map(|(size, values)| {
        let least = values.iter().map(|value| i128::from(value.as_ps())).min();
        least?.checked_div(i128::from(size.get()))
    });
    let slope = slope(&medians).min(steepest.min()?).max(0);
    let mut rest: Vec<i64> = Vec::new();
    for (size, values) in sizes {
        let part = i128::from(size.get()) * slope;
        let left = values.iter().map(|value| i128::from(value.as_ps()) - part);
        rest.extend(left.filter_map(|left| i64::try_from(left).ok()));
    }
    rest.sort_unstable();
    let base = *rest.first()?;
    for value in &mut rest {
        *value -= base;
    }
    Some(Fit {
        cost: Cost {
            base: Duration::from_ps(base),
            per_octet: Duration::from_ps(i64::try_from(slope).ok()?),
        },
        additions: quantiles(&rest)?,
    })
}

/// Least-squares slope in picoseconds per octet, at least zero.
fn slope(points: &[(i128, i128)]) -> i128 {
    let count = i128::try_from(points.len()).unwrap_or(0);
    let sum = |of: fn(&(i128, i128)) -> i128| points.iter().map(of).sum::<i128>();
    let (x, y) = (sum(|p| p.0), sum(|p| p.1));
    let (xx, xy) = (sum(|p| p.0 * p.0), sum(|p| p.0 * p.1));
    let slope = (count * xy - x * y).checked_div(count * xx - x * x);
    slope.unwrap_or(0).max(0)
}

/// Returns the quantiles of sorted values, by nearest rank.
fn quantiles(values: &[i64]) -> Option<Quantiles> {
    let count = values.len();
    let points = SHARES.iter().map(|&per_million| {
        let rank = (count as u128 * u128::from(per_million)).div_ceil(u128::from(WHOLE));
        let rank = usize::try_from(rank).unwrap_or(count).clamp(1, count.max(1));
        let value = values.get(rank - 1).copied()?;
        Some(Quantile { per_million, value: Duration::from_ps(value) })
    });
    Quantiles::new(points.collect::<Option<Vec<_>>>()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: [u64; 4] = [64, 300, 800, 1_500];

    /// Costs of 5 us plus 2 ns per octet plus `addition`, a thousand of each size.
    fn costs(addition: impl Fn(i64) -> i64) -> Vec<(Bytes, Vec<Duration>)> {
        let of = |size: u64| {
            let octets = i64::try_from(size).expect("small");
            let cost = |number| Duration::from_ns(5_000 + 2 * octets + addition(number));
            (Bytes::new(size), (0..1_000).map(cost).collect())
        };
        SIZES.map(of).into()
    }

    #[test]
    fn a_line_and_its_jitter_are_found_again() {
        // Oracle: the numbers that the costs were made from.
        let fit = fit(&costs(|number| number)).expect("there are values");
        assert_eq!(fit.cost.base, Duration::from_ns(5_000));
        assert_eq!(fit.cost.per_octet, Duration::from_ns(2));
        for point in fit.additions.points() {
            // The value of rank ceil(share * 1000), counted from one.
            let rank = point.per_million.div_ceil(1_000).max(1);
            let expected = Duration::from_ns(i64::from(rank) - 1);
            assert_eq!(point.value, expected, "{point:?}");
        }
    }

    #[test]
    fn a_rare_outlier_is_the_last_point_and_moves_no_other() {
        let fit = fit(&costs(|number| if number == 999 { 1_000_000 } else { 0 }));
        let fit = fit.expect("there are values");
        assert_eq!(fit.additions.max(), Duration::from_ms(1));
        let points = fit.additions.points();
        let before = points[points.len() - 3];
        assert_eq!((before.per_million, before.value), (999_000, Duration::ZERO));
    }

    #[test]
    fn costs_that_fall_with_the_size_have_no_slope() {
        // Oracle: every measured cost is at least the base and at most the base plus the largest
        // addition.
        let falling = [(64, 9_000), (1_500, 7_000)].map(|(size, ns)| {
            let value = Duration::from_ns(ns);
            (Bytes::new(size), vec![value])
        });
        let fit = fit(&falling).expect("there are values");
        assert_eq!(fit.cost.per_octet, Duration::ZERO);
        assert_eq!(fit.cost.base, Duration::from_ns(7_000));
        assert_eq!(fit.additions.max(), Duration::from_ns(2_000));
    }

    #[test]
    fn nothing_measured_lies_below_a_steep_line() {
        // Oracle: the measured costs themselves. The medians alone would give a base below zero.
        let steep = [(64, [1_000, 1_100, 1_200]), (1_500, [4_000, 60_000, 61_000])];
        let steep = steep.map(|(size, ns)| (Bytes::new(size), ns.map(Duration::from_ns).to_vec()));
        let fit = fit(&steep).expect("there are values");
        assert!(!fit.cost.base.is_negative());
        for (size, values) in &steep {
            let least = fit.cost.of(*size);
            let most = least + fit.additions.max();
            assert!(values.iter().all(|value| (least..=most).contains(value)), "{fit:?}");
        }
    }

    #[test]
    fn nothing_is_fitted_to_nothing() {
        assert_eq!(fit(&[]), None);
        assert_eq!(fit(&[(Bytes::new(64), Vec::new())]), None);
    }
}
