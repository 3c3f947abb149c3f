//! When the frames of a stream come, in memory that does not grow with their number.
//!
//! The first frames of a part show whether they are on a grid; from then on a [`Grid`] takes them,
//! or they count as irregular. A part ends with a gap that is no part of the traffic, or after some
//! hundred frames, since two clocks drift apart, and one late frame must not hide the period of all.

use super::grid::{Fit, Grid};

/// Frames that are looked at before it is decided what they are.
const LEARNED: usize = 64;
/// Frames of a part: on a grid, and otherwise.
const ON_GRID: u64 = 512;
const IRREGULAR: u64 = 512;
/// A gap ends a session if it is longer than this, in nanoseconds, and than this many mean gaps.
const SESSION_GAP: i64 = 10_000_000_000;
const SESSION_GAPS: i128 = 20;
/// Most frames of a burst.
const MAX_BURST: usize = 16;
/// A burst is long enough if no longer one leaves a load this many times smaller.
const SMALLER: i128 = 8;

/// A session also ends where a grid of this many frames pauses for as many periods, or its clock
/// steps back, if that is rare: at most once in a number of frames, and a few times in all.
const STEADY: usize = 16;
const PAUSE: i64 = 20;
const BETWEEN_PAUSES: u64 = 64;
const FEW_PAUSES: u64 = 2;
const PER_PAUSE: u64 = 500;

/// Frames so far, and what is known of them.
#[derive(Clone, Debug, Default)]
pub(super) struct Times {
    /// Sessions end with gaps that are long for any traffic.
    all: Sessions,
    /// Sessions end with gaps that are long for the period before, too.
    steady: Sessions,
}

impl Times {
    /// Takes the next frame, in nanoseconds.
    pub(super) fn take(&mut self, at: i64) {
        self.all.take(at, false);
        self.steady.take(at, true);
    }

    /// Ends the part: what comes next is not on the same grid.
    pub(super) fn cut(&mut self) {
        self.all.cut();
        self.steady.cut();
    }

    pub(super) const fn frames(&self) -> u64 {
        self.all.frames
    }

    /// Returns nanoseconds in all sessions.
    pub(super) const fn span(&self) -> i128 {
        self.all.gaps.sum
    }

    /// Returns when frames come.
    pub(super) fn pattern(&self) -> Pattern {
        self.steadily().unwrap_or_else(|| self.all.pattern_of(MAX_BURST))
    }

    /// Returns when frames come, where each counts for itself.
    pub(super) fn single(&self) -> Pattern {
        self.all.pattern_of(1)
    }

    /// Returns the gaps that end sessions: how many, and the longest in nanoseconds.
    pub(super) fn cuts(&self) -> (u64, i64) {
        let from = if self.steadily().is_some() { &self.steady } else { &self.all };
        (from.cuts, from.longest)
    }

    /// Returns the grid that pauses now and then, if there is one.
    fn steadily(&self) -> Option<Pattern> {
        let Sessions { cuts, frames, .. } = self.steady;
        let is_rare = cuts * BETWEEN_PAUSES <= frames && cuts <= frames / PER_PAUSE + FEW_PAUSES;
        if cuts <= self.all.cuts || !is_rare {
            return None;
        }
        let pattern = self.steady.pattern_of(1);
        matches!(pattern, Pattern::Periodic(_)).then_some(pattern)
    }
}

/// Frames of sessions, and what is known of them.
#[derive(Clone, Debug, Default)]
struct Sessions {
    part: Part,
    last: Option<i64>,
    frames: u64,
    /// Frames in parts on a grid.
    on_grid: u64,
    /// Sum of their periods, each times its frames.
    periods: i128,
    jitter: i64,
    missing: u64,
    gaps: Gaps,
    windows: Windows,
    /// Gaps that end a session, and the longest of them.
    cuts: u64,
    longest: i64,
}

#[derive(Clone, Debug)]
enum Part {
    Learning(Vec<i64>),
    Grid(Box<Grid>),
    Irregular(u64),
}

impl Default for Part {
    fn default() -> Self {
        Self::Learning(Vec::new())
    }
}

/// Gaps between frames of a session.
#[derive(Clone, Copy, Debug, Default)]
struct Gaps {
    count: u64,
    sum: i128,
}

impl Gaps {
    fn add(&mut self, gap: i64) {
        self.count += 1;
        self.sum += i128::from(gap);
    }

    fn mean(&self) -> i64 {
        let mean = self.sum / i128::from(self.count.max(1));
        i64::try_from(mean).unwrap_or(i64::MAX)
    }
}

/// The shortest times in which a number of frames came.
#[derive(Clone, Copy, Debug, Default)]
struct Windows {
    /// The last frames of this session, in a ring.
    last: [i64; MAX_BURST],
    count: usize,
    /// By number, from one: the shortest time from a frame to the one that many later.
    least: [Option<i64>; MAX_BURST],
}

impl Windows {
    fn add(&mut self, at: i64) {
        for number in 1..=MAX_BURST.min(self.count) {
            let before = self.last[(self.count - number) % MAX_BURST];
            let least = &mut self.least[number - 1];
            let span = at - before;
            *least = Some(least.map_or(span, |least| least.min(span)));
        }
        self.last[self.count % MAX_BURST] = at;
        self.count += 1;
    }

    /// Forgets the last frames: the next one is of another session.
    const fn cut(&mut self) {
        self.count = 0;
    }

    /// Returns a number of frames and a time in which no more than these come: the smallest number
    /// that leaves little more load than any. `most` is the largest number.
    fn burst(&self, most: usize) -> Option<(i64, i64)> {
        let least = self.least.iter().take(most).zip(1_i64..);
        let found = least.filter_map(|(span, number)| Some((number, (*span)?.max(1))));
        let found: Vec<(i64, i64)> = found.collect();
        // The load of one is less than that of another if number x (other span) is less.
        let wide = |(number, span): (i64, i64)| (i128::from(number), i128::from(span));
        let is_less = |one, other, times| {
            let [(n, span), (m, wider)] = [wide(one), wide(other)];
            n * wider <= m * span * times
        };
        let lightest = found
            .iter()
            .copied()
            .reduce(|best, next| if is_less(best, next, 1) { best } else { next })?;
        found.into_iter().find(|one| is_less(*one, lightest, SMALLER))
    }
}

/// When frames come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pattern {
    /// On a grid.
    Periodic(Fit),
    /// Times are nanoseconds.
    Sporadic {
        /// In which no more than a burst comes.
        least: i64,
        /// From burst to burst.
        mean: i64,
        burst: u64,
    },
    /// There are too few to tell.
    Unknown,
}

impl Sessions {
    fn take(&mut self, at: i64, is_steady: bool) {
        let Some(last) = self.last else {
            self.frames += 1;
            self.last = Some(at);
            self.part = Part::Learning(vec![at]);
            self.windows.add(at);
            return;
        };
        if self.is_cut(at.saturating_sub(last), is_steady) {
            self.cut();
            self.cuts += 1;
            self.longest = self.longest.max(at.saturating_sub(last));
            self.take(at, is_steady);
            return;
        }
        // Points of capture may be a little out of order.
        let at = at.max(last);
        self.frames += 1;
        self.last = Some(at);
        self.gaps.add(at - last);
        self.windows.add(at);
        self.extend(at);
    }

    fn is_cut(&self, gap: i64, is_steady: bool) -> bool {
        if is_steady && self.is_pause(gap.saturating_abs() / PAUSE) {
            return true;
        }
        let mean = i128::from(self.gaps.mean());
        let is_long = self.gaps.count > 1 && i128::from(gap) > mean * SESSION_GAPS;
        gap <= -SESSION_GAP || (gap > SESSION_GAP && is_long)
    }

    /// Returns whether the last frames are on a grid whose period is below this time.
    fn is_pause(&self, span: i64) -> bool {
        match &self.part {
            Part::Grid(grid) => grid.period() < span,
            // Few gaps are long against the one before, so that a grid is seldom looked for.
            Part::Learning(times) => match times.as_slice() {
                [.., before, last] if times.len() >= STEADY && last - before < span => {
                    Grid::learn(times).is_some_and(|grid| grid.period() < span)
                }
                _ => false,
            },
            Part::Irregular(_) => false,
        }
    }

    /// Ends the part: what comes next is not on the same grid.
    fn cut(&mut self) {
        self.settle();
        self.last = None;
        self.windows.cut();
    }

    fn extend(&mut self, at: i64) {
        let is_full = match &mut self.part {
            Part::Learning(times) => {
                times.push(at);
                if times.len() == LEARNED {
                    self.learn();
                }
                false
            }
            Part::Grid(grid) => !grid.take(at) || grid.frames() >= ON_GRID,
            Part::Irregular(count) => {
                *count += 1;
                *count >= IRREGULAR
            }
        };
        if is_full {
            self.settle();
            self.part = Part::Learning(vec![at]);
        }
    }

    /// Decides what the first frames of a part are.
    fn learn(&mut self) {
        let Part::Learning(times) = std::mem::take(&mut self.part) else {
            return;
        };
        let count = u64::try_from(times.len()).unwrap_or(0);
        self.part =
            Grid::learn(&times).map_or(Part::Irregular(count), |grid| Part::Grid(Box::new(grid)));
    }

    /// Takes the result of the part into account.
    fn settle(&mut self) {
        if matches!(self.part, Part::Learning(_)) {
            self.learn();
        }
        let Part::Grid(grid) = std::mem::take(&mut self.part) else {
            return;
        };
        let Some(fit) = grid.fit() else {
            return;
        };
        self.on_grid += fit.frames;
        self.jitter = self.jitter.max(fit.jitter);
        self.missing += fit.missing;
        self.periods += i128::from(fit.period) * i128::from(fit.frames);
    }

    fn pattern_of(&self, most: usize) -> Pattern {
        let mut done = self.clone();
        done.settle();
        // Parts share the frame between them.
        let on_grid = done.on_grid.min(done.frames);
        if on_grid > 0 && on_grid >= done.frames / 4 * 3 {
            let period = done.periods / i128::from(done.on_grid);
            return Pattern::Periodic(Fit {
                period: i64::try_from(period).unwrap_or(i64::MAX),
                jitter: done.jitter,
                frames: on_grid,
                missing: done.missing,
            });
        }
        match done.windows.burst(most) {
            Some((burst, least)) if done.frames >= 3 && done.gaps.sum > 0 => Pattern::Sporadic {
                least,
                mean: done.gaps.mean().saturating_mul(burst),
                burst: burst.unsigned_abs(),
            },
            _ => Pattern::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(times: impl IntoIterator<Item = i64>) -> Pattern {
        let mut all = Times::default();
        times.into_iter().for_each(|at| all.take(at));
        all.pattern()
    }

    /// Oracle: the grid. Three sessions, years apart, on grids of their own.
    #[test]
    fn sessions_are_cut_at_gaps() {
        let year = 31_536_000_000_000_000;
        let times = (0..3).flat_map(|s| (0..50).map(move |n| s * year + s * 333 + n * 2_000_000));
        let Pattern::Periodic(fit) = pattern(times) else {
            panic!("on a grid");
        };
        assert_eq!((fit.period, fit.jitter, fit.missing), (2_000_000_000, 0, 0));
    }

    /// Oracle: the grid, whose clock gains a millionth after each 10 000 frames: more than half a
    /// period in all.
    #[test]
    fn clocks_drift_apart() {
        let mut at = 0;
        let times = (0..500_000_i64).map(|n| {
            at += 100_000 + n / 10_000 / 10 + i64::from(n % 10 < n / 10_000 % 10);
            at
        });
        let Pattern::Periodic(fit) = pattern(times) else {
            panic!("on a grid");
        };
        assert!((fit.period - 100_000_000).abs() < 6_000, "{fit:?}");
        assert!(fit.jitter < 1_000, "{fit:?}");
    }

    /// Oracle: how they were made: three frames together, 20 to 90 ms apart.
    #[test]
    fn bursts_are_told_from_gaps() {
        let mut at = 0;
        let times = (0..400_i64).flat_map(|n| {
            at += 20_000_000 + n * 7_919 % 71 * 1_000_000;
            [at, at + 12_000, at + 25_000]
        });
        let Pattern::Sporadic { least, mean, burst } = pattern(times) else {
            panic!("no grid");
        };
        assert_eq!((least, burst), (20_000_000, 3));
        assert!((50_000_000..60_000_000).contains(&mean), "{mean}");
    }

    /// Oracle: the grid of 1 ms. It pauses, its clock steps back or forth, and the talker begins anew
    /// beside its old grid; once or twice in 2000 frames, and near the end.
    #[test]
    fn a_grid_that_pauses_is_one() {
        let ms = 1_000_000;
        for (pause, begin) in [
            (200 * ms, 1000),
            (1_000 * ms, 1000),
            (9_999 * ms, 1000),
            (1_000 * ms + 333_333, 1937),
            (-1_000 * ms, 1000),
            (-30 * ms, 700),
            (30_000 * ms, 40),
        ] {
            let times = (0..2000).map(|n| n * ms + if n >= begin { pause } else { 0 });
            let mut all = Times::default();
            times.for_each(|at| all.take(at));
            let Pattern::Periodic(fit) = all.pattern() else {
                panic!("{pause}: no grid");
            };
            assert_eq!(fit.period, 1_000_000_000, "{pause}");
            assert_eq!((fit.jitter, fit.missing), (0, 0), "{pause}");
            assert_eq!(all.cuts(), (1, (pause + ms).max(0)), "{pause}");
        }
        // A hole is none: frames are missing.
        let hole = (0..2000).filter(|n| !(500..510).contains(n));
        let mut all = Times::default();
        hole.for_each(|n| all.take(n * ms));
        assert_eq!(all.cuts().0, 0);
    }

    /// Oracle: how they were made: trains of 100 frames each 40 ms are no period of 12 us.
    #[test]
    fn trains_are_no_pauses() {
        let times = (0..50).flat_map(|n| (0..100).map(move |k| n * 40_000_000 + k * 12_000));
        assert!(!matches!(pattern(times), Pattern::Periodic(_)));
    }

    #[test]
    fn two_frames_say_nothing() {
        assert_eq!(pattern([5, 9]), Pattern::Unknown);
        assert_eq!(pattern([]), Pattern::Unknown);
        // Two in a microsecond are a smaller load than one in ten nanoseconds.
        let Pattern::Sporadic { least, burst, .. } = pattern([0, 10, 1000]) else {
            panic!("a gap");
        };
        assert_eq!((least, burst), (1000, 2));
    }
}
