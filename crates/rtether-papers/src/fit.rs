//! Least-squares lines through measured times, used to calibrate stacks (R56).

use rtether_model::network::Cost;
use rtether_model::quantity::{Bytes, Duration};

/// Returns the least-squares line through times by size; `None` if it is not determined.
///
/// Computed in integers, so it is the same on every machine; rounded towards zero to a picosecond.
pub(super) fn line(points: &[(Bytes, Duration)]) -> Option<Cost> {
    let n = i128::try_from(points.len()).ok()?;
    let points =
        points.iter().map(|&(size, time)| (i128::from(size.get()), i128::from(time.as_ps())));
    let (mut x, mut y, mut xx, mut xy) = (0, 0, 0, 0);
    for (size, time) in points {
        x += size;
        y += time;
        xx += size * size;
        xy += size * time;
    }
    // Both come from the normal equations, so that rounding the slope does not shift the base.
    let determinant = n * xx - x * x;
    let slope = (n * xy - x * y).checked_div(determinant)?;
    let base = (y * xx - x * xy).checked_div(determinant)?;
    let duration = |ps: i128| i64::try_from(ps).ok().map(Duration::from_ps);
    Some(Cost { base: duration(base)?, per_octet: duration(slope)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_least_squares() {
        let points = |all: &[(u64, i64)]| {
            let all = all.iter();
            all.map(|&(size, us)| (Bytes::new(size), Duration::from_us(us))).collect::<Vec<_>>()
        };
        // By hand: exact through two points; (0, 0), (1, 1), (2, 5) give -1/2 + 5/2 x.
        let exact = line(&points(&[(100, 30), (300, 70)])).unwrap();
        assert_eq!(exact.base, Duration::from_us(10));
        assert_eq!(exact.per_octet, Duration::from_ns(200));
        let squares = line(&points(&[(0, 0), (1, 1), (2, 5)])).unwrap();
        assert_eq!(squares.base, Duration::from_ns(-500));
        assert_eq!(squares.per_octet, Duration::from_ns(2_500));
        assert_eq!(line(&points(&[(5, 1), (5, 2)])), None);
        assert_eq!(line(&[]), None);
    }
}
