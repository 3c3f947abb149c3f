//! Exact sums of fractions with positive denominators.

/// Returns the greatest common divisor of two numbers, at least one.
pub(crate) const fn divisor(mut one: i128, mut other: i128) -> i128 {
    while other != 0 {
        (one, other) = (other, one % other);
    }
    if one < 1 { 1 } else { one }
}

/// Returns the least common multiple; `None` beyond 127 bits.
pub(crate) fn common(one: i128, other: i128) -> Option<i128> {
    (one / divisor(one, other)).checked_mul(other)
}

/// Returns a sum of fractions as one; `None` beyond 127 bits.
pub(crate) fn sum(mut each: impl Iterator<Item = (i128, i128)>) -> Option<(i128, i128)> {
    each.try_fold((0i128, 1i128), |(sum, of), (more, by)| {
        let all = common(of, by)?;
        let sum = sum.checked_mul(all / of)?;
        let more = more.checked_mul(all / by)?;
        Some((sum.checked_add(more)?, all))
    })
}

/// Returns a sum of fractions, rounded up once; each by itself where the sum is beyond 127 bits.
pub(crate) fn sum_up(each: impl Iterator<Item = (i128, i128)> + Clone) -> i128 {
    match sum(each.clone()) {
        Some((sum, of)) => round_up(sum, of),
        None => each.map(|(work, of)| round_up(work, of)).fold(0, i128::saturating_add),
    }
}

/// Returns a fraction, rounded up.
pub(crate) const fn round_up(work: i128, of: i128) -> i128 {
    work.div_euclid(of) + (work.rem_euclid(of) > 0) as i128
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Oracle: by hand. Three thirds are one; each rounded up they would be three.
    #[test]
    fn thirds_are_one() {
        let thirds = [(1, 3), (1, 3), (2, 6)];
        assert_eq!(sum_up(thirds.into_iter()), 1);
        assert_eq!(sum(thirds.into_iter()), Some((6, 6)));
        // Beyond 127 bits each counts by itself.
        let long = [(1, (1 << 100) + 1), (1, 1 << 100)];
        assert_eq!(sum(long.into_iter()), None);
        assert_eq!(sum_up(long.into_iter()), 2);
        assert_eq!(round_up(-3, 2), -1);
    }
}
