//! Waits at a place that is exactly full: its flows bring as much as it does, and not more.
//!
//! A shaper whose slope is the reservation of its class is such a place, as is a link at 100 %. There
//! is no end of a busy period to look for; but waits have a bound all the same.
//!
//! **Limits.** For the flows from each previous place one limit is chosen, whichever grows more slowly:
//! the staircases of these flows, or the line of that place ([`crate::curve`]). Every limit holds for
//! every window, so any choice is valid. With the rates `p` of the class's own limits and `q` of those
//! of higher classes, this holds where `p + q <= 1` exactly: rates are fractions here, of work that is
//! not rounded either ([`crate::curve::Excess`]).
//!
//! **Theorem 1.** Let `o(t) <= O + p t` and `h(t) <= H + q t`, `p + q <= 1` and `q < 1`. Then no packet
//! of own work `c` waits longer than `(base + O + H - c) / (1 - q)`, or zero. *Proof.* Its service
//! begins at the least `s >= t` with `base + o(t) - c + h(s) <= s` ([`crate::wait`]). Where
//! `s (1 - q) >= base + O + H - c + p t` this holds, and with `p <= 1 - q` it does for
//! `s = t + (base + O + H - c) / (1 - q)`, if that is not before `t`. QED
//!
//! **Theorem 2.** Let `T` be a common multiple of all periods. The longest wait of all packets is that of
//! the packets that come in `[0, T)`. *Proof.* A staircase of work `w` every `P` has
//! `a(x + T) = a(x) + w T / P`, and a line `l(x + T) = l(x) + r T`. So if `s` solves the condition for
//! `t`, then `base + o(t + T) - c + h(s + T) <= s + (p + q) T <= s + T`: `s + T` solves it for `t + T`,
//! which waits no longer than `t`. QED
//! Between two steps of the class's staircases the first packet waits longest: without lines of its own
//! class nothing but time grows with `t`, and in order of arrival its lines grow no faster than time.
//! Where `T` is too long to look at each step, or lines and higher classes come together, theorem 1
//! gives the bound.
//!
//! Both hold in cycles of flows as well: they are functions of the arrivals at one place, and grow with
//! them ([`crate::solve`]).

use alloc::vec::Vec;

use super::{Class, Pair, pair_up};
use crate::curve::{Affine, Group, Load, ONE, PLACES, group};
use crate::fraction::{common, round_up, sum_up};
use crate::source::INFINITE;

/// Largest number of steps that are looked at.
const STEPS_MAX: i128 = 1 << 12;
/// Largest number of evaluations for all of them.
const ROUNDS_MAX: u32 = 1 << 15;

/// Most parts of a picosecond, which keeps sums within 127 bits.
const PARTS_MAX: i128 = 1 << 56;

/// Work of one flow, as it grows by steps.
struct Steps {
    /// At each step, in parts of a picosecond.
    work: i128,
    period: i128,
    jitter: i128,
}

impl Steps {
    /// Returns the work in a closed window.
    const fn at(&self, time: i128) -> i128 {
        self.work * ((time + self.jitter) / self.period + 1)
    }
}

/// Limits on some flows.
#[derive(Default)]
struct Limits {
    steps: Vec<Steps>,
    lines: Vec<Affine>,
}

impl Limits {
    fn lines_at(&self, time: i64) -> i128 {
        let each = self.lines.iter().map(|line| line.at(time));
        let sum = each.fold(0, i128::saturating_add);
        sum.saturating_add(ONE - 1) >> PLACES
    }

    /// Returns the rate of the lines.
    fn lines_rate(&self) -> i128 {
        let each = self.lines.iter().map(|line| line.rate);
        each.fold(0, i128::saturating_add)
    }
}

/// A class and higher classes, each with the limits chosen.
#[derive(Default)]
struct Full {
    /// Parts of a picosecond in which work of steps is counted.
    parts: i128,
    own: Limits,
    high: Limits,
}

/// Returns the longest wait of packets with each of the costs; `None` if more comes than can be served,
/// or a number is beyond exact arithmetic.
pub(super) fn waits(class: &mut Class<'_>) -> Option<Vec<i64>> {
    let pairs = pair_up(class);
    let all = class.own.iter().chain(&*class.higher);
    let parts = parts_of(all)?;
    // A line that grows as fast as the flows behind it is often the lower limit, but its rate may be
    // rounded.
    let full = [true, false].into_iter().find_map(|prefers_lines| {
        let full = Full::of(&pairs, class, parts, prefers_lines)?;
        (full.rate(ONE)? <= ONE).then_some(full)
    })?;
    let costs = class.costs.iter();
    costs.map(|&cost| full.wait(class.base, cost)).collect()
}

/// Returns the long-run work of some loads in each `scale` picoseconds, rounded up once; `None` if it is
/// unlimited.
pub(crate) fn long_run(loads: &mut [Load], scale: i128) -> Option<i128> {
    let parts = parts_of(loads.iter())?;
    let groups = group(loads);
    let mut full = Full { parts, ..Full::default() };
    for group in &groups {
        Full::put(&mut full.own, group, loads, parts, false)?;
    }
    full.rate(scale)
}

/// Returns in how many parts of a picosecond all work is whole.
fn parts_of<'a>(mut loads: impl Iterator<Item = &'a Load>) -> Option<i128> {
    let parts = loads.try_fold(1, |all, load| common(all, load.excess.of.into()));
    parts.filter(|&parts| parts <= PARTS_MAX)
}

/// Returns the least common multiple of the periods of some loads.
pub(crate) fn common_period<'a>(mut loads: impl Iterator<Item = &'a Load>) -> Option<i64> {
    let all = loads.try_fold(1, |all, load| common(all, load.period.into()));
    all.and_then(|all| i64::try_from(all).ok())
}

impl Full {
    fn of(pairs: &[Pair], class: &Class<'_>, parts: i128, prefers_lines: bool) -> Option<Self> {
        let mut full = Self { parts, ..Self::default() };
        for pair in pairs {
            let [mut own, mut high] = [Limits::default(), Limits::default()];
            let sides =
                [(&mut own, &pair.own, &*class.own), (&mut high, &pair.high, &*class.higher)];
            let mut is_limited = true;
            for (limits, group, loads) in sides {
                if let Some(group) = group {
                    is_limited &= Self::put(limits, group, loads, parts, prefers_lines).is_some();
                }
            }
            // One line for both counts with the higher ones, up to the beginning of service.
            let both = Self { parts, own, high };
            match pair.line() {
                Some(line) if !is_limited || line.rate < both.rate(ONE)? => {
                    full.high.lines.push(line);
                }
                _ if !is_limited => return None,
                _ => {
                    full.own.steps.extend(both.own.steps);
                    full.own.lines.extend(both.own.lines);
                    full.high.steps.extend(both.high.steps);
                    full.high.lines.extend(both.high.lines);
                }
            }
        }
        Some(full)
    }

    /// Adds the limit of a group that grows more slowly; `None` if it has none.
    fn put(
        limits: &mut Limits,
        group: &Group,
        loads: &[Load],
        parts: i128,
        prefers_lines: bool,
    ) -> Option<()> {
        let steps = |load: &Load| Steps {
            work: load.exact(parts) * i128::from(load.burst),
            period: load.period.into(),
            jitter: load.jitter.into(),
        };
        let mut own = Limits::default();
        if let Some(bucket) = group.bucket {
            let loads = loads[group.range.clone()].iter();
            own.steps = loads.filter(|load| load.burst > 0).map(steps).collect();
            let rate = Self::rate_of([&own], parts, ONE)?;
            let is_slower = |line: &Affine| {
                line.rate < rate || prefers_lines && line.rate == rate && line.burst < bucket.burst
            };
            if let Some(line) = group.line.filter(is_slower) {
                own = Limits::default();
                own.lines.push(line);
            }
        } else {
            own.lines.push(group.line?);
        }
        limits.steps.extend(own.steps);
        limits.lines.extend(own.lines);
        Some(())
    }

    /// Returns all work that comes in `scale` picoseconds in the long run, rounded up.
    fn rate(&self, scale: i128) -> Option<i128> {
        Self::rate_of([&self.own, &self.high], self.parts, scale)
    }

    fn rate_of<const N: usize>(limits: [&Limits; N], parts: i128, scale: i128) -> Option<i128> {
        let lines = limits.iter().map(|limits| limits.lines_rate());
        let lines = lines.fold(0, i128::saturating_add);
        let lines = round_up(lines.checked_mul(scale)?, ONE);
        let mut each = Vec::new();
        for own in limits.iter().flat_map(|limits| &limits.steps) {
            each.push((own.work.checked_mul(scale)?, parts.checked_mul(own.period)?));
        }
        lines.checked_add(sum_up(each.into_iter()))
    }

    /// Returns the longest wait of packets with this work.
    fn wait(&self, base: i64, cost: i64) -> Option<i64> {
        let wait = match self.longest(base, cost) {
            Some(longest) => longest,
            None => self.by_bursts(base, cost)?,
        };
        i64::try_from(wait).ok().filter(|&wait| wait < INFINITE)
    }

    /// Theorem 1.
    fn by_bursts(&self, base: i64, cost: i64) -> Option<i128> {
        let sides = [&self.own, &self.high];
        let steps = sides.into_iter().flat_map(|limits| &limits.steps);
        let mut bursts = steps.map(|own| {
            let work = own.work.checked_mul(own.period + own.jitter)?;
            Some(round_up(work, own.period))
        });
        let steps = bursts.try_fold(0i128, |sum, own| sum.checked_add(own?))?;
        let lines = sides.map(|limits| limits.lines_at(0)).iter().sum::<i128>();
        let work = i128::from(base) + round_up(steps, self.parts) + lines - i128::from(cost);
        let left = ONE - Self::rate_of([&self.high], self.parts, ONE)?;
        (left > 0).then(|| round_up(work.max(0).saturating_mul(ONE), left))
    }

    /// Theorem 2; `None` if there is too much to look at.
    fn longest(&self, base: i64, cost: i64) -> Option<i128> {
        let has_higher = !(self.high.steps.is_empty() && self.high.lines.is_empty());
        if has_higher && !self.own.lines.is_empty() {
            return None;
        }
        let all = || self.own.steps.iter().chain(&self.high.steps);
        let period = all().try_fold(1, |all, own| common(all, own.period))?;
        let count: i128 = all().map(|own| period / own.period).sum();
        if count > STEPS_MAX {
            return None;
        }
        let fixed = i128::from(base) - i128::from(cost);
        let (mut longest, mut begin, mut rounds) = (0, 0, 0);
        for time in self.times(period) {
            begin = time.max(begin);
            let own: i128 = self.own.steps.iter().map(|own| own.at(time)).sum();
            let lines = self.own.lines_at(i64::try_from(time).ok()?);
            loop {
                rounds += 1;
                let high: i128 = self.high.steps.iter().map(|own| own.at(begin)).sum();
                let work = round_up(own + high, self.parts) + lines;
                let needed = fixed + work + self.high.lines_at(i64::try_from(begin).ok()?);
                if needed <= begin {
                    break;
                }
                if rounds > ROUNDS_MAX {
                    return None;
                }
                begin = needed;
            }
            longest = longest.max(begin - time);
        }
        Some(longest)
    }

    /// Returns when the staircases of the class grow, before `end`.
    fn times(&self, end: i128) -> Vec<i128> {
        let mut times = alloc::vec![0];
        for own in &self.own.steps {
            let first = (own.jitter / own.period + 1) * own.period - own.jitter;
            let steps = (0..).map(|n| first + n * own.period);
            times.extend(steps.take_while(|time| *time < end));
        }
        times.sort_unstable();
        times.dedup();
        times
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;
    use crate::index::NONE;

    fn load(cost: i64, period: i64, jitter: i64) -> Load {
        Load { jitter, ..Load::periodic(cost, period) }
    }

    fn waits_of(base: i64, own: &[Load], higher: &[Load], costs: &[i64]) -> Option<Vec<i64>> {
        waits(&mut Class {
            base,
            own: &mut own.to_vec(),
            higher: &mut higher.to_vec(),
            costs,
            is_whole: false,
        })
    }

    /// Oracle: by hand.
    #[test]
    fn waits_by_hand() {
        // Half of the time each: one packet of the other flow is in front.
        let half = load(1, 2, 0);
        assert_eq!(waits_of(0, &[half, half], &[], &[1]), Some(vec![1]));
        assert_eq!(waits_of(5, &[half], &[half], &[1]), Some(vec![11]));
        // A third more is too much.
        assert_eq!(waits_of(0, &[half, half, load(1, 3, 0)], &[], &[1]), None);
        // Thirds, whose rates would be above one if each were rounded up.
        let third = load(1, 3, 0);
        assert_eq!(waits_of(0, &[third; 3], &[], &[1]), Some(vec![2]));
        // Seven thirds of a picosecond every seven thirds: rounded work would be too much.
        let (cost, excess) = crate::curve::Excess::round_up(7, 3);
        let part = Load { cost, excess, period: 7, ..third };
        assert_eq!(waits_of(0, &[part; 3], &[], &[2]), Some(vec![5]));
        // Without a limit of their own, packets of one link that is as fast come as it lets them.
        let open = Load { jitter: INFINITE, group: 1, ratio: ONE, spacing: 10, ..load(10, 1, 0) };
        assert_eq!(waits_of(0, &[open], &[], &[10, 4]), Some(vec![0, 6]));
        assert_eq!(waits_of(0, &[Load { group: NONE, ..open }], &[], &[10]), None);
    }

    /// Oracle: the condition of theorem 2, solved for every moment of three common periods; and theorem
    /// 1, which must not be below.
    #[test]
    fn no_moment_waits_longer() {
        let mut seed = 5u64;
        let mut draw = |below: i64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            i64::try_from(seed >> 33).unwrap() % below
        };
        let mut tight = 0;
        for _ in 0..200 {
            // Shares of a twelfth, up to all of them.
            let mut left = 12;
            let mut loads = [Vec::new(), Vec::new()];
            while left > 0 {
                let (share, cost) = (1 + draw(left), 1 + draw(3));
                let own = load(cost * share, cost * 12, draw(30));
                loads[usize::from(draw(3) == 0 && left < 12)].push(own);
                left -= share;
            }
            let [own, higher] = &loads;
            let (base, cost) = (draw(9), own[0].cost);
            let found = waits_of(base, own, higher, &[cost]).unwrap()[0];
            let work = |all: &[Load], span: i64| -> i64 {
                let each =
                    all.iter().map(|load| load.cost * ((span + load.jitter) / load.period + 1));
                each.sum()
            };
            let mut most = 0;
            for time in 0..3 * 72 {
                let mut begin = time;
                while base + work(own, time) - cost + work(higher, begin) > begin {
                    begin += 1;
                }
                most = most.max(begin - time);
            }
            assert_eq!(found, most.max(0), "{loads:?}");
            let class = Class {
                base,
                own: &mut own.clone(),
                higher: &mut higher.clone(),
                costs: &[cost],
                is_whole: false,
            };
            let mut class = class;
            let pairs = pair_up(&mut class);
            let full = Full::of(&pairs, &class, 1, true).unwrap();
            let bursts = full.by_bursts(base, cost).unwrap();
            assert!(i128::from(found) <= bursts, "{found} of {bursts}");
            tight += i64::from(5 * i128::from(found) >= 4 * bursts);
        }
        assert!(tight > 50, "{tight}");
    }
}
