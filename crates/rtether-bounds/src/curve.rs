//! Upper bounds on the work that arrives at one place: staircases, and what a link lets through.
//!
//! Work is measured in picoseconds with 32 binary places, in 128 bits; times are whole picoseconds,
//! as everywhere in the model. Only rates are rounded, up to the next 2^-32, so that a curve is
//! never below the true one.
//!
//! **Line.** Packets leave a place at least as far apart as their service there lasts. If `w` is
//! the service there and `c <= ratio * w` the work here, a window of length `t` holds at most
//! `c_max + ratio * t`: all but the first packet of the window were served there within it. This is
//! line shaping with its packet term ("grouping", Grieu 2004; Mifdaoui and Leydier 2017). If
//! packets may move towards each other by `slack` on the way, the window grows by `slack`. The
//! three numbers are maxima over all flows from there, so that the limit on two classes together
//! takes the larger cost, the larger ratio and the larger slack ([`Line::join`]), even if they come
//! from different classes.
//!
//! **Range.** Sums and products saturate upwards, and a wait as long as [`INFINITE`] is reported as
//! unbounded. Lines that are steeper than any link or stack, or whose slack exceeds [`JITTER_MAX`],
//! are left out: dropping a limit never makes a bound smaller.

use alloc::vec::Vec;

use crate::fraction;
use crate::index::NONE;
use crate::source::{INFINITE, add};

/// Binary places of work.
pub(crate) const PLACES: u32 = 32;
/// One picosecond of work per picosecond.
pub(crate) const ONE: i128 = 1 << PLACES;
/// A jitter beyond this (70 s) counts as infinite; keeps all sums of work within 63 bits and all
/// products within 127.
pub(crate) const JITTER_MAX: i64 = 1 << 46;
/// The same for the work of one burst (1.1 s).
const WORK_MAX: i64 = 1 << 40;
/// A flow that brings more than this many times the capacity of a place counts as unlimited, so
/// that staircases have few steps.
const RATE_MAX: i64 = 16;
/// A line that lets through more than this many times the capacity of a place is ignored:
/// 400 Gbit/s into 10 Mbit/s is 40 000.
const LINE_RATE_MAX: i128 = ONE << 20;

/// Returns work in whole picoseconds, rounded up and clamped to plus or minus [`INFINITE`].
pub(crate) fn round_up(work: i128) -> i64 {
    let whole = work.saturating_add(ONE - 1) >> PLACES;
    i64::try_from(whole.clamp(-i128::from(INFINITE), i128::from(INFINITE))).unwrap_or(INFINITE)
}

/// By how much a work was rounded up to whole picoseconds: `parts / of`, below one. Kept so that a
/// place that is exactly full is not taken for one that is overloaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Excess {
    parts: i64,
    pub(crate) of: i64,
}

impl Excess {
    /// Of work in whole picoseconds.
    pub(crate) const NONE: Self = Self { parts: 0, of: 1 };

    /// Rounds `work / of` up; returns it with its excess. Where that is beyond 63 bits, the work counts
    /// as exact once it is rounded.
    pub(crate) fn round_up(work: i128, of: i128) -> (i64, Self) {
        let divisor = fraction::divisor(work, of);
        let (work, of) = (work / divisor, of / divisor);
        let whole = fraction::round_up(work, of);
        let cost = i64::try_from(whole).unwrap_or(INFINITE).min(INFINITE);
        let parts = whole.saturating_mul(of).saturating_sub(work);
        match (i64::try_from(parts), i64::try_from(of)) {
            (Ok(parts), Ok(of)) if parts < of => (cost, Self { parts, of }),
            _ => (cost, Self::NONE),
        }
    }
}

/// Arrivals of one flow at a place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    /// Most work of a packet in picoseconds, rounded up.
    pub(crate) cost: i64,
    /// What was rounded.
    pub(crate) excess: Excess,
    /// Work counted for its smallest packet here: below `cost` where packets have two sizes.
    pub(crate) least: i64,
    pub(crate) period: i64,
    /// Packets of this cost at each point of the grid; zero if another load counts them.
    pub(crate) burst: i64,
    /// Packets of any cost at each point of the grid that make up this work: at least `burst`.
    pub(crate) packets: i64,
    /// Infinite if nothing is known about its arrivals.
    pub(crate) jitter: i64,
    /// Flows with the same number come from the same place; [`NONE`] if unknown.
    pub(crate) group: u32,
    /// Work here per picosecond of service there, with [`PLACES`] binary places.
    pub(crate) ratio: i128,
    /// Shortest service there.
    pub(crate) spacing: i64,
    pub(crate) slack: i64,
    /// The visit of this load.
    pub(crate) visit: u32,
    /// By how much packets may be later than the first ones of their release grid; what limits the
    /// arrivals may know better how dense they are, but not when they come. Infinite if unknown.
    pub(crate) lateness: i64,
    /// Packets that may be under way at once, at any rate; zero if unknown.
    pub(crate) in_flight: i64,
    /// First visit of the connection whose packets share that number in both directions; [`NONE`]
    /// where each visit counts for itself.
    pub(crate) connection: u32,
    /// Its arrivals are those of a limit on the way, for all flows that share it, not the releases
    /// of its flow with a jitter.
    pub(crate) is_of_limit: bool,
}

impl Load {
    /// Returns packets of one size that come once a period; where they come from is unknown.
    pub(crate) const fn periodic(cost: i64, period: i64) -> Self {
        Self {
            cost,
            excess: Excess::NONE,
            least: cost,
            period,
            burst: 1,
            packets: 1,
            jitter: 0,
            group: NONE,
            ratio: 0,
            spacing: 1,
            slack: 0,
            visit: 0,
            lateness: INFINITE,
            in_flight: 0,
            connection: NONE,
            is_of_limit: false,
        }
    }

    pub(crate) const fn is_limited(&self) -> bool {
        if self.burst == 0 {
            return self.jitter < JITTER_MAX;
        }
        self.jitter < JITTER_MAX
            && self.cost < WORK_MAX / self.burst
            && self.cost * self.burst / self.period < RATE_MAX
    }

    /// Returns the load with `extra` work added to each packet.
    pub(crate) fn with(&self, extra: i64) -> Self {
        let spacing = i128::from(self.spacing.max(1));
        let more = (i128::from(extra) * ONE + spacing - 1) / spacing;
        // Where small packets are counted as fewer large ones, each of these brings more.
        let each = if self.packets == self.burst {
            extra
        } else {
            let all = i128::from(extra) * i128::from(self.packets);
            let share = all / i128::from(self.burst.max(1)) + 1;
            i64::try_from(share).unwrap_or(INFINITE)
        };
        Self {
            cost: add(self.cost, each),
            least: add(self.least, each),
            ratio: self.ratio + more,
            ..*self
        }
    }

    /// Returns the same with `extra / of` work added to each packet, exactly.
    pub(crate) fn with_part(&self, extra: i128, of: i128) -> Self {
        if extra == 0 {
            return *self;
        }
        let (whole, _) = Excess::round_up(extra, of);
        let heavier = self.with(whole);
        if heavier.cost != add(self.cost, whole) {
            return heavier;
        }
        let own = i128::from(self.excess.of);
        let work = self.exact(own).saturating_mul(of);
        let work = work.saturating_add(extra.saturating_mul(own));
        let (cost, excess) = Excess::round_up(work, own.saturating_mul(of));
        Self { cost, excess, ..heavier }
    }

    /// Returns the work of a packet before it was rounded, in parts of a picosecond, which are a multiple
    /// of those of its excess.
    pub(crate) fn exact(&self, parts: i128) -> i128 {
        let excess = i128::from(self.excess.parts) * (parts / i128::from(self.excess.of));
        i128::from(self.cost).saturating_mul(parts) - excess
    }

    /// Returns the long-run work in each picosecond, rounded up.
    pub(crate) fn rate(&self) -> i128 {
        let (work, period) =
            (i128::from(self.cost) * i128::from(self.burst) * ONE, i128::from(self.period));
        (work + period - 1) / period
    }

    /// Returns how many points of its grid a window of zero length may hold.
    const fn first_steps(&self) -> i64 {
        self.jitter / self.period + 1
    }
}

/// `burst + rate * t`, with [`PLACES`] binary places.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Affine {
    pub(crate) burst: i128,
    pub(crate) rate: i128,
}

impl Affine {
    pub(crate) fn at(&self, time: i64) -> i128 {
        let grown = self.rate.saturating_mul(i128::from(time));
        self.burst.saturating_add(grown)
    }

    /// Returns the sum of both.
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            burst: self.burst.saturating_add(other.burst),
            rate: self.rate.saturating_add(other.rate),
        }
    }

    /// Returns the first time, at least zero, at which the value is at least `work`.
    pub(crate) fn reaches(&self, work: i128) -> i64 {
        if self.burst >= work {
            return 0;
        }
        if self.rate == 0 {
            return INFINITE;
        }
        let time = (work - self.burst + self.rate - 1) / self.rate;
        i64::try_from(time).unwrap_or(INFINITE).min(INFINITE)
    }
}

/// Output of one place in a window of length `t`: at most `cost + rate * (t + slack)`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Line {
    /// Most work of one packet, with [`PLACES`] binary places.
    cost: i128,
    rate: i128,
    slack: i64,
}

impl Line {
    fn of(load: &Load) -> Self {
        Self { cost: i128::from(load.cost) * ONE, rate: load.ratio, slack: load.slack }
    }

    /// Returns the limit on this and another class from the same place together.
    pub(crate) fn join(self, other: Self) -> Self {
        Self {
            cost: self.cost.max(other.cost),
            rate: self.rate.max(other.rate),
            slack: self.slack.max(other.slack),
        }
    }

    /// Returns the limit as a straight line; `None` if it is too steep or too loose to be useful.
    pub(crate) fn affine(self) -> Option<Affine> {
        let is_useful = self.rate <= LINE_RATE_MAX && self.slack < JITTER_MAX;
        is_useful.then(|| Affine {
            burst: self.cost + self.rate * i128::from(self.slack),
            rate: self.rate,
        })
    }
}

/// Flows from one place, added up.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub(crate) number: u32,
    /// Sum of their token buckets: `cost * burst * (1 + (t + jitter) / period)`.
    pub(crate) bucket: Option<Affine>,
    /// Output of the previous place, if it limits them.
    pub(crate) line: Option<Affine>,
    /// The same before its parts are combined.
    pub(crate) shape: Option<Line>,
    /// Their range in the list of loads.
    pub(crate) range: core::ops::Range<usize>,
}

impl Group {
    fn of(loads: &[Load], range: core::ops::Range<usize>) -> Self {
        let own = &loads[range.clone()];
        let number = own[0].group;
        let mut bucket = Some(Affine::default());
        for load in own {
            bucket = bucket.filter(|_| load.is_limited()).map(|sum| {
                let rate = load.rate();
                let at_once = i128::from(load.cost) * ONE * i128::from(load.burst);
                sum.plus(Affine { burst: at_once + rate * i128::from(load.jitter), rate })
            });
        }
        let shape = own.iter().map(Line::of).reduce(Line::join);
        let shape = shape.filter(|_| number != NONE);
        Self { number, bucket, line: shape.and_then(Line::affine), shape, range }
    }

    /// Returns whichever of both limits grows more slowly; `None` if there is neither.
    pub(crate) fn tail(&self) -> Option<Affine> {
        [self.bucket, self.line].into_iter().flatten().min_by_key(|limit| limit.rate)
    }
}

/// Sorts loads by group and adds up each group; a load without a group forms its own.
pub(crate) fn group(loads: &mut [Load]) -> Vec<Group> {
    loads.sort_by_key(|load| load.group);
    let mut groups = Vec::new();
    let mut start = 0;
    while start < loads.len() {
        let number = loads[start].group;
        let end = if number == NONE {
            start + 1
        } else {
            let same = loads[start..].iter().take_while(|l| l.group == number);
            start + same.count()
        };
        groups.push(Group::of(loads, start..end));
        start = end;
    }
    groups
}

/// Points at which a staircase grows, each with the sum from there on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stairs {
    pub(crate) points: Vec<(i64, i64)>,
}

impl Stairs {
    /// Collects all steps up to and including `horizon`.
    pub(crate) fn new(loads: &[Load], horizon: i64) -> Self {
        let mut points = Vec::new();
        for load in loads.iter().filter(|load| load.burst > 0) {
            let work = load.cost * load.burst;
            let first = load.first_steps();
            points.push((0, work * first));
            let mut time = first.saturating_mul(load.period) - load.jitter;
            while time <= horizon {
                points.push((time, work));
                time = time.saturating_add(load.period);
            }
        }
        points.sort_unstable_by_key(|point| point.0);
        let mut sum = 0i64;
        let mut kept = 0;
        for index in 0..points.len() {
            let (time, work) = points[index];
            sum = work.saturating_add(sum);
            if kept > 0 && points[kept - 1].0 == time {
                points[kept - 1].1 = sum;
            } else {
                points[kept] = (time, sum);
                kept += 1;
            }
        }
        points.truncate(kept);
        Self { points }
    }

    /// Returns how many times it has grown within a closed window of length `time`.
    pub(crate) fn step(&self, time: i64) -> usize {
        self.points.partition_point(|point| point.0 <= time)
    }

    /// Returns the sum in a closed window of length `time`.
    pub(crate) fn at(&self, time: i64) -> i128 {
        let after = self.step(time);
        if after == 0 {
            return 0;
        }
        i128::from(self.points[after - 1].1) * ONE
    }
}

/// Returns an upper bound on the number of steps that these staircases have until `horizon`.
pub(crate) fn steps_until<'a>(loads: impl Iterator<Item = &'a Load>, horizon: i64) -> i64 {
    loads.map(|load| horizon / load.period + 2).fold(0, i64::saturating_add)
}

/// Returns the longest horizon up to `wanted` within which the staircases of these loads have at
/// most `most` steps, or four per load if that is more.
pub(crate) fn affordable<'a>(
    loads: &(impl Iterator<Item = &'a Load> + Clone),
    wanted: i64,
    most: i64,
) -> i64 {
    let count = i64::try_from(loads.clone().count()).unwrap_or(i64::MAX);
    let most = most.max(count.saturating_mul(4));
    let (mut good, mut bad) = (0, wanted);
    if steps_until(loads.clone(), wanted) <= most {
        return wanted;
    }
    while bad - good > 1 {
        let middle = good + (bad - good) / 2;
        if steps_until(loads.clone(), middle) <= most {
            good = middle;
        } else {
            bad = middle;
        }
    }
    good
}

/// Returns the loads whose staircases count: those of groups with a token bucket.
pub(crate) fn stepped<'a>(
    groups: &'a [Group],
    loads: &'a [Load],
) -> impl Iterator<Item = &'a Load> + Clone {
    let limited = groups.iter().filter(|group| group.bucket.is_some());
    limited.flat_map(|group| &loads[group.range.clone()])
}

/// A change of the sum over all groups: adds `offset + slope * t` from `time` on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change {
    pub(crate) time: i64,
    pub(crate) offset: i128,
    pub(crate) slope: i128,
}

/// Appends the changes of one group: the lower of staircase and line, at whole picoseconds. A line
/// below zero counts as zero.
pub(crate) fn changes(stairs: &Stairs, line: Option<Affine>, out: &mut Vec<Change>) {
    let mut now = Affine::default();
    let mut set = |time, next: Affine| {
        out.push(Change { time, offset: next.burst - now.burst, slope: next.rate - now.rate });
        now = next;
    };
    for (index, &(time, sum)) in stairs.points.iter().enumerate() {
        let flat = Affine { burst: i128::from(sum) * ONE, rate: 0 };
        let meets = line.map_or(0, |line| line.reaches(flat.burst));
        match line {
            Some(line) if meets > time => {
                let next = stairs.points.get(index + 1).map_or(INFINITE, |p| p.0);
                let begin = line.reaches(0).max(time);
                if begin > time {
                    set(time, Affine::default());
                }
                if begin < next {
                    set(begin, line);
                }
                if meets < next {
                    set(meets, flat);
                }
            }
            _ => set(time, flat),
        }
    }
    if let (true, Some(line)) = (stairs.points.is_empty(), line) {
        set(0, line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(cost: i64, period: i64, jitter: i64) -> Load {
        Load { jitter, ..Load::periodic(cost, period) }
    }

    #[test]
    fn a_staircase_counts_closed_windows() {
        // By hand: floor((t + 15) / 10) + 1 packets of 3 ps: two at once, the third after 5 ps.
        let stairs = Stairs::new(&[load(3, 10, 15)], 30);
        for (time, work) in [(0, 6), (4, 6), (5, 9), (14, 9), (15, 12), (25, 15)] {
            assert_eq!(stairs.at(time), work * ONE, "{time}");
        }
    }

    #[test]
    fn a_line_holds_a_staircase_back_until_they_meet() {
        // By hand: 4 packets of 10 at once through a line of rate 1 with one packet ahead.
        let stairs = Stairs::new(&[load(10, 1000, 3000)], 100);
        let line = Affine { burst: 10 * ONE, rate: ONE };
        let mut out = Vec::new();
        changes(&stairs, Some(line), &mut out);
        let at = |time| {
            let past = out.iter().filter(|change| change.time <= time);
            let (a, r) = past.fold((0, 0), |(a, r), c| (a + c.offset, r + c.slope));
            (a + r * i128::from(time)) / ONE
        };
        assert_eq!([0, 1, 29, 30, 31].map(at), [10, 11, 39, 40, 40]);
    }
}
