//! Whether the frames of a periodic flow come when they should, one by one, in constant memory.
//!
//! Frames are expected on a grid with the planned period. Its place follows the earliest of them,
//! since every path only delays, and drifts by up to 200 ppm, since two clocks do. A frame counts as
//! the next one that is expected, however late it is; frames that stay behind by whole periods show
//! that others were lost. Times are nanoseconds.
//!
//! Where jitter is half a period or more, no single frame shows a loss: one that is a period behind may
//! have come late. Then the *least* that many frames in sequence are behind shows it. Of frames that
//! are each behind by up to the jitter J, at random, n are all behind by three quarters of a period T
//! with probability (1 - 3T/4J)^n; after 4 + 28 J/T of them that is below one in a billion. J is less than
//! T, so that a loss is told 32 frames later at most.

/// Frames that place the grid.
const PLACING: i64 = 4;
/// Frames behind by the same whole periods that show a loss.
const BEHIND: u32 = 4;
/// Further frames of the kind for each period of jitter, where jitter alone may put a frame behind.
const BEHIND_JITTER: i64 = 28;
/// Part of a period by which the grid may drift in one.
const DRIFT: i64 = 5_000;
/// Part of what a frame is early by which the grid moves.
const EARLY: i64 = 8;
/// Frames of which the mean period is taken, at least and at most, and if it is plain to see.
const MEAN: (i64, i64) = (64, 100_000);
const PLAIN: i64 = 16;
/// A period deviates if it is off by more than this part.
const PART: i64 = 1_000;
/// Periods without a frame after which a flow is silent.
const SILENT: i64 = 4;

/// What is wrong with the times of frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// A frame was behind the grid by this.
    Late(i64),
    /// This number of frames did not come.
    Lost(i64),
    /// A frame came between two others.
    Extra,
    /// The mean period is this, less or more than planned.
    Faster(i64),
    Slower(i64),
    /// No frame for this long.
    Silent(i64),
    /// The first frame after a silence of this.
    Back(i64),
}

/// The grid of a flow.
#[derive(Clone, Debug)]
pub(super) struct Grid {
    planned: i64,
    /// The planned period, or the one that was measured while it deviates.
    period: i64,
    jitter: i64,
    deadline: Option<i64>,
    /// When the next frame is expected, once the grid is placed.
    next: Option<i64>,
    /// Frames of the grid that is being placed, and its earliest begin.
    placing: (i64, i64),
    last: i64,
    /// Frames in sequence that were behind by about as much, since a gap in which others are missing.
    stable: u32,
    has_gap: bool,
    anchor: i64,
    /// Largest lateness beyond the limit since the last frame in time.
    late: i64,
    is_silent: bool,
    mean: Mean,
}

/// Frames since a begin, and how much their gaps differ from the period.
#[derive(Clone, Copy, Debug, Default)]
struct Mean {
    begin: i64,
    frames: i64,
    wobble: i64,
}

impl Grid {
    /// Returns the grid of a flow; `None` if no period can be watched.
    pub(super) fn new(period: i64, jitter: i64, deadline: Option<i64>) -> Option<Self> {
        // Sums of these stay far below what the type holds.
        const LONGEST: i64 = 1 << 58;
        let all = [period, jitter, deadline.unwrap_or(0)];
        if period <= 0 || all.into_iter().any(|time| time > LONGEST / 16) {
            return None;
        }
        Some(Self {
            planned: period,
            period,
            jitter,
            deadline,
            next: None,
            placing: (0, 0),
            last: 0,
            stable: 0,
            has_gap: false,
            anchor: 0,
            late: 0,
            is_silent: false,
            mean: Mean::default(),
        })
    }

    /// Forgets the place of the grid: the next frames are of another one.
    pub(super) fn cut(&mut self) {
        self.next = None;
        self.placing = (0, 0);
        (self.stable, self.has_gap, self.late) = (0, false, 0);
        self.is_silent = false;
        self.mean = Mean::default();
    }

    /// Takes a frame.
    pub(super) fn take(&mut self, at: i64, say: &mut dyn FnMut(Fault)) {
        if self.is_silent {
            say(Fault::Back(at - self.last));
            self.cut();
        }
        let Some(next) = self.next else {
            self.place(at);
            return;
        };
        let (gap, behind) = (at - self.last, at - next);
        if behind < -(self.period / 2) && gap < self.period / 2 {
            self.last = at;
            self.mean = Mean::default();
            say(Fault::Extra);
            return;
        }
        self.has_gap |= gap > self.period / 4 * 5;
        self.judge(behind, say);
        let drift = self.period / DRIFT;
        let moves = if behind < 0 { behind / EARLY } else { behind.min(drift) };
        // A loss has moved it on already.
        let next = self.next.unwrap_or(next);
        self.next = Some(next + self.period + moves);
        self.measure(at, gap, say);
        self.last = at;
    }

    /// Places the grid such that none of its first frames is early.
    fn place(&mut self, at: i64) {
        let (count, begin) = self.placing;
        let own = at - count * self.period;
        let begin = if count == 0 { own } else { begin.min(own) };
        self.placing = (count + 1, begin);
        if count + 1 == PLACING {
            self.next = Some(begin + PLACING * self.period);
        }
        self.last = at;
    }

    /// Finds late and lost frames.
    fn judge(&mut self, behind: i64, say: &mut dyn FnMut(Fault)) {
        let limit = self.deadline.map(|deadline| self.jitter + deadline);
        let is_late = |behind: i64| limit.is_some_and(|limit| behind > limit);
        let mark = self.period / 4 * 3;
        let mark = if self.is_jittery() { mark } else { mark.max(self.jitter + self.period / 2) };
        if behind < mark {
            self.end_late(say);
            (self.stable, self.has_gap) = (0, false);
            if is_late(behind) {
                self.late = behind;
            }
            return;
        }
        if is_late(behind) {
            self.late = self.late.max(behind);
        }
        if self.is_jittery() {
            let least = if self.stable == 0 { behind } else { self.anchor.min(behind) };
            (self.stable, self.anchor) = (self.stable + 1, least);
        } else if self.stable > 0 && (behind - self.anchor).abs() <= self.period / 4 {
            self.stable += 1;
        } else {
            (self.stable, self.anchor) = (1, behind);
        }
        if !self.shows_loss() {
            return;
        }
        let lost = ((self.anchor + self.period / 4) / self.period).max(1);
        let worst = self.late - lost * self.period;
        let was_late = is_late(worst);
        say(Fault::Lost(lost));
        if was_late {
            say(Fault::Late(worst));
        }
        (self.stable, self.has_gap, self.late) = (0, false, 0);
        self.next = self.next.map(|next| next + lost * self.period);
    }

    /// Returns whether jitter alone may put a frame behind as far as a loss does.
    const fn is_jittery(&self) -> bool {
        self.jitter >= self.period / 2
    }

    /// Returns whether the frames that stay behind are enough to show a loss.
    fn shows_loss(&self) -> bool {
        let stable = i64::from(self.stable);
        if self.is_jittery() {
            let enough = i64::from(BEHIND) + BEHIND_JITTER * self.jitter / self.period;
            stable >= enough
        } else {
            stable >= i64::from(BEHIND) && self.has_gap
        }
    }

    fn end_late(&mut self, say: &mut dyn FnMut(Fault)) {
        if self.late > 0 {
            say(Fault::Late(self.late));
            self.late = 0;
        }
    }

    /// Compares the mean period with the plan, once there are enough frames.
    fn measure(&mut self, at: i64, gap: i64, say: &mut dyn FnMut(Fault)) {
        let wobble = (gap - self.period).abs();
        if self.mean.frames == 0 || wobble > self.period / 2 {
            self.mean = Mean { begin: at, frames: 1, wobble: 0 };
            return;
        }
        self.mean.frames += 1;
        self.mean.wobble = self.mean.wobble.max(wobble);
        let Mean { begin, frames, wobble } = self.mean;
        let (span, periods) = (at - begin, frames - 1);
        let off = i128::from(span) - i128::from(periods) * i128::from(self.planned);
        let slack = i128::from(span) / i128::from(PART) + i128::from(wobble);
        let limit = self.jitter + self.deadline.unwrap_or(self.planned / 2);
        let is_plain = off.abs() > (4 * slack).max(i128::from(limit));
        let is_exact = i128::from(span) >= i128::from(wobble) * i128::from(PART);
        let is_enough = periods >= MEAN.0 && (is_exact || periods >= MEAN.1);
        let is_seen = is_plain && periods >= PLAIN;
        if !(is_enough || is_seen) {
            return;
        }
        self.period = self.planned;
        self.mean = Mean { begin: at, frames: 1, wobble: 0 };
        if off.abs() > slack {
            self.cut();
            self.period = span / periods;
            say(if off < 0 { Fault::Faster(self.period) } else { Fault::Slower(self.period) });
        }
    }

    /// Looks whether frames should have come by now.
    pub(super) fn check(&mut self, now: i64, say: &mut dyn FnMut(Fault)) {
        let begun = (self.placing.0 > 0).then_some(self.last + self.period);
        let Some(next) = self.next.or(begun) else {
            return;
        };
        let limit = self.jitter + self.deadline.unwrap_or(0);
        if !self.is_silent && now - next > (SILENT * self.period).max(limit) + self.period {
            self.is_silent = true;
            self.end_late(say);
            say(Fault::Silent(now - self.last));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;
    const PERIOD: i64 = 10 * MS;

    /// Takes frames of a flow of 10 ms with a deadline of 20 ms; `None` for none.
    fn faults(deadline: Option<i64>, times: impl IntoIterator<Item = i64>) -> Vec<Fault> {
        let mut grid = Grid::new(PERIOD, 0, deadline).expect("a period");
        let mut found = Vec::new();
        let mut now = 0;
        for at in times {
            while now < at {
                now += MS;
                grid.check(now.min(at), &mut |fault| found.push(fault));
            }
            grid.take(at, &mut |fault| found.push(fault));
        }
        found
    }

    fn regular(count: i64) -> Vec<i64> {
        (0..count).map(|n| n * PERIOD).collect()
    }

    /// Oracle: by hand; each list has one fault.
    #[test]
    fn each_fault_is_found_and_named() {
        let with = |change: &dyn Fn(&mut Vec<i64>)| {
            let mut times = regular(200);
            change(&mut times);
            faults(Some(20 * MS), times)
        };
        assert_eq!(with(&|_| {}), []);
        assert_eq!(with(&|t| t[50] += 15 * MS), [], "within its deadline");
        let late = with(&|t| t[50] += 21 * MS);
        assert!(matches!(late[..], [Fault::Late(by)] if (by - 21 * MS).abs() < MS / 10));
        assert_eq!(with(&|t| _ = t.remove(50)), [Fault::Lost(1)]);
        assert_eq!(with(&|t| _ = t.drain(50..53)), [Fault::Lost(3)]);
        assert_eq!(with(&|t| t.insert(50, 49 * PERIOD + 3 * MS)), [Fault::Extra]);
        assert_eq!(with(&|t| t.insert(50, 49 * PERIOD + 7 * MS)), [Fault::Extra]);
        let silent = with(&|t| _ = t.drain(50..100));
        assert!(matches!(silent[..], [Fault::Silent(_), Fault::Back(_)]), "{silent:?}");
    }

    /// Oracle: a frame that is held up for five periods and those behind it, all within the
    /// deadline, of which none is lost.
    #[test]
    fn frames_that_catch_up_are_neither_lost_nor_too_many() {
        let mut times = regular(200);
        for (n, at) in (0..).zip(&mut times[50..55]) {
            *at = 55 * PERIOD + MS + n * MS / 50;
        }
        assert_eq!(faults(Some(100 * MS), times), []);
    }

    /// Oracle: two clocks, each off by 100 ppm, are no deviation; a tenth of a percent is the limit.
    #[test]
    fn clocks_drift_and_periods_deviate() {
        let with = |ppm: i64| {
            let times = (0..20_000).map(|n| n * PERIOD + n * (PERIOD / 1_000_000) * ppm);
            let mut found = faults(Some(20 * MS), times);
            found.dedup_by_key(|fault| std::mem::discriminant(fault));
            found
        };
        for ppm in [-200, -100, 0, 100, 190] {
            assert_eq!(with(ppm), [], "{ppm}");
        }
        assert!(matches!(with(2_000)[..], [Fault::Slower(_)]));
        assert!(matches!(with(-2_000)[..], [Fault::Faster(_)]));
        assert!(matches!(with(20_000)[..], [Fault::Slower(_)]));
        let twice = (0..1000).map(|n| n * PERIOD / 2);
        let found = faults(Some(20 * MS), twice);
        assert_eq!(found[0], Fault::Faster(PERIOD / 2));
        let thrice = (0..1000).map(|n| n * PERIOD / 3);
        let found = faults(Some(20 * MS), thrice);
        assert!(found.contains(&Fault::Extra), "{found:?}");
    }

    /// Oracle: what the test removes from frames that each come up to the jitter late, at random, in
    /// order. Without a deadline, and with one that a lasting shift by a period exceeds.
    #[test]
    fn losses_are_told_however_large_the_jitter() {
        let mut state = 7_u64;
        let mut dice = |most: i64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            i64::try_from(state % u64::try_from(most).unwrap()).unwrap()
        };
        for jitter in [49, 50, 60, 75, 90, 95, 99].map(|part| part * MS / 10) {
            for deadline in [None, Some(2 * MS)] {
                for lost in [0, 1, 3] {
                    let mut grid = Grid::new(PERIOD, jitter, deadline).expect("a period");
                    let (mut found, mut last) = (Vec::new(), 0);
                    for n in 0..20_000 {
                        let at = (n * PERIOD + dice(jitter)).max(last + MS / 100);
                        if !(9_000..9_000 + lost).contains(&n) {
                            grid.take(at, &mut |fault| found.push(fault));
                            last = at;
                        }
                    }
                    // A frame that is late before the gap may have the loss told in two parts.
                    let told = found.iter().map(|fault| {
                        let Fault::Lost(frames) = fault else {
                            panic!("{fault:?}: {jitter} {deadline:?}")
                        };
                        *frames
                    });
                    assert_eq!(told.sum::<i64>(), lost, "{jitter} {deadline:?}: {found:?}");
                }
            }
        }
    }

    /// Oracle: a path that delays each frame by less than the deadline.
    #[test]
    fn delays_within_the_deadline_are_no_fault() {
        let mut state = 1_u64;
        let mut dice = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            i64::try_from(state % 1_000).unwrap()
        };
        let times: Vec<i64> = (0..100_000)
            .scan(0, |last, n| {
                // Mostly little, seldom much, in order.
                let much = if dice() < 5 { 19 * MS } else { MS };
                *last = (n * PERIOD + much * dice() / 1_000).max(*last + 1_000);
                Some(*last)
            })
            .collect();
        assert_eq!(faults(Some(20 * MS), times), []);
    }
}
