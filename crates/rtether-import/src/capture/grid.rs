//! The period of frames: a line through their times, by least squares, with the largest distance
//! from it.
//!
//! A grid takes frame after frame and keeps sums and the convex hull of (number, time), on which the
//! points farthest from any line lie; so it needs no frame again, and its result is exact.

/// Frames from which any period is trusted; fewer must be the more regular.
const MANY: u64 = 64;

/// A line through the times of frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fit {
    /// Picoseconds.
    pub(super) period: i64,
    /// Nanoseconds from the earliest to the latest frame, each relative to its place on the grid.
    pub(super) jitter: i64,
    pub(super) frames: u64,
    /// Places of the grid without a frame.
    pub(super) missing: u64,
}

/// Frames so far. Times are nanoseconds since the first one.
#[derive(Clone, Debug)]
pub(super) struct Grid {
    first: i64,
    last: i64,
    /// Place of the last frame on the grid.
    place: i64,
    /// Estimated period in nanoseconds.
    period: i64,
    frames: u64,
    /// Frames at the place of another one.
    doubled: u64,
    sums: Sums,
    upper: Vec<(i64, i64)>,
    lower: Vec<(i64, i64)>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    k: i128,
    t: i128,
    kk: i128,
    kt: i128,
}

/// Largest number of places, so that no sum grows beyond its type: with 2^13 frames and times below
/// 2^63, sums of products stay below 2^102, and what is computed of them below 2^116.
const MAX_PLACES: i64 = 1 << 26;

impl Grid {
    /// Begins a grid of this estimated period.
    fn new(first: i64, period: i64) -> Self {
        let mut grid = Self {
            first,
            last: first,
            place: 0,
            period: period.max(1),
            frames: 0,
            doubled: 0,
            sums: Sums::default(),
            upper: Vec::new(),
            lower: Vec::new(),
        };
        grid.add(first, 0);
        grid
    }

    /// Begins with some frames, if their gaps are those of a grid: near multiples of the median.
    pub(super) fn learn(times: &[i64]) -> Option<Self> {
        let gaps: Vec<i64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let mut sorted = gaps.clone();
        sorted.sort_unstable();
        let period = *sorted.get(sorted.len() / 2)?;
        if period <= 0 || times.len() < 3 {
            return None;
        }
        let aside = |gap: &i64| {
            let rest = gap % period;
            i128::from(rest.min(period - rest))
        };
        let aside: i128 = gaps.iter().map(aside).sum();
        // Random gaps are a quarter of the period beside it in the mean.
        let part = if times.len() < 5 { 20 } else { 5 };
        let count = i128::try_from(gaps.len()).ok()?;
        if aside * part >= i128::from(period) * count {
            return None;
        }
        let mut times = times.iter();
        let mut grid = Self::new(*times.next()?, period);
        times.all(|at| grid.take(*at)).then_some(grid)
    }

    /// Takes the next frame. Returns whether that was possible.
    pub(super) fn take(&mut self, at: i64) -> bool {
        if self.place > 16 {
            self.period = ((self.last - self.first) / self.place).max(1);
        }
        let gap = at - self.last;
        let step = gap.saturating_add(self.period / 2) / self.period;
        let place = self.place.saturating_add(step);
        if gap < 0 || place > MAX_PLACES {
            return false;
        }
        self.doubled += u64::from(step == 0);
        self.place = place;
        self.last = at;
        self.add(at, place);
        true
    }

    fn add(&mut self, at: i64, place: i64) {
        let time = at - self.first;
        let (k, t) = (i128::from(place), i128::from(time));
        self.frames += 1;
        self.sums.k += k;
        self.sums.t += t;
        self.sums.kk += k * k;
        self.sums.kt += k * t;
        extend(&mut self.upper, (place, time), 1);
        extend(&mut self.lower, (place, time), -1);
    }

    /// Returns the estimated period in nanoseconds.
    pub(super) const fn period(&self) -> i64 {
        self.period
    }

    pub(super) const fn frames(&self) -> u64 {
        self.frames
    }

    /// Returns the line, if the frames are near it.
    pub(super) fn fit(&self) -> Option<Fit> {
        let n = i128::from(self.frames);
        let Sums { k, t, kk, kt } = self.sums;
        let below = n * kk - k * k;
        if self.frames < 3 || below <= 0 {
            return None;
        }
        let above = n * kt - k * t;
        let (whole, rest) = (above / below, above % below);
        let period = whole * 1000 + (rest * 1000 + below / 2) / below;
        let aside =
            |&(place, time): &(i64, i64)| i128::from(time) * 1000 - i128::from(place) * period;
        let late = self.upper.iter().map(aside).max()?;
        let early = self.lower.iter().map(aside).min()?;
        let mean = (t * 1000 - k * period) / n;
        let most = (late - mean).max(mean - early);
        let part = match self.frames {
            MANY.. => 2,
            16.. => 4,
            5.. => 8,
            _ => 20,
        };
        let places = u64::try_from(self.place).ok()? + 1;
        let is_dense = self.frames >= places / 4 * 3 && self.doubled <= self.frames / 20;
        if period <= 0 || most * part >= period || !is_dense {
            return None;
        }
        Some(Fit {
            period: i64::try_from(period).ok()?,
            jitter: i64::try_from((late - early + 999) / 1000).ok()?,
            frames: self.frames,
            missing: places.saturating_sub(self.frames - self.doubled),
        })
    }
}

/// Adds a point to the upper (`side` 1) or lower (-1) convex hull of points in order of their place.
fn extend(hull: &mut Vec<(i64, i64)>, point: (i64, i64), side: i128) {
    let (k, t) = point;
    while let [.., before, last] = hull[..] {
        let to = (i128::from(last.0 - before.0), i128::from(last.1 - before.1));
        let on = (i128::from(k - before.0), i128::from(t - before.1));
        if (to.0 * on.1 - to.1 * on.0) * side < 0 {
            break;
        }
        hull.pop();
    }
    hull.push(point);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fit(times: &[i64]) -> Option<Fit> {
        Grid::learn(times)?.fit()
    }

    /// Oracle: the grid from which the times were made, with lateness by a fixed pattern of 0 to 40 us.
    #[test]
    fn a_grid_with_lateness_and_a_hole() {
        let late = [0, 40_000, 13_000, 27_000, 5_000];
        let times: Vec<i64> = (0..500_usize)
            .filter(|n| *n != 77)
            .map(|n| 1_000_000 * i64::try_from(n).unwrap() + late[n % 5])
            .collect();
        let fit = fit(&times).expect("a period");
        assert!((fit.period - 1_000_000_000).abs() < 200_000, "{fit:?}");
        assert!((39_500..=40_500).contains(&fit.jitter), "{fit:?}");
        assert_eq!((fit.frames, fit.missing), (499, 1));
    }

    /// Oracle: arithmetic. A third of a microsecond is no number of nanoseconds.
    #[test]
    fn a_period_between_two_nanoseconds() {
        let times: Vec<i64> = (0..4_800).map(|n| n * 1_000_000_000 / 4_800).collect();
        let fit = fit(&times).expect("a period");
        assert!((fit.period - 208_333_333).abs() <= 1, "{fit:?}");
        assert!(fit.jitter <= 4, "{fit:?}");
    }

    /// Oracle: the grid: bursts, and gaps that double, are not on one.
    #[test]
    fn what_is_no_grid() {
        let bursts: Vec<i64> = (0..200).map(|n| n / 2 * 1_000_000 + n % 2 * 1000).collect();
        assert_eq!(fit(&bursts), None);
        let doubling: Vec<i64> = (0..20).map(|n| 1 << n).collect();
        assert_eq!(fit(&doubling), None);
        assert_eq!(fit(&[0, 5]), None);
        assert_eq!(fit(&[]), None);
        assert_eq!(fit(&[7; 100]), None);
    }
}
