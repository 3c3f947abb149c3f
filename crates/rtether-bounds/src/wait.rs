//! Longest waits at one place.
//!
//! **In order of arrival.** Let a place be idle before time 0 and busy up to the service of a
//! packet that arrives at `t`. All packets served before it arrived in `[0, t]`, so their work and
//! its own is at most `a(t)`, and its service begins no later than `a(t) - c`. Its wait is at most
//! `sup_t (a(t) - t) - c`, where `c` is its own work: its own transmission does not delay it (the
//! last-packet gain of Mohammadpour, Stai and Le Boudec 2019 in its strongest form). For staircases
//! this is the response time of FIFO queues of George, Rivierre and Spuri (INRIA RR-2966, 1996).
//!
//! **By priority, without preemption.** Let 0 be the last time before which no packet of the same
//! or a higher class was there. At most one lower packet is in service then (`base`), and until the
//! packet that arrives at `t` is served, only the same class up to `t` and higher classes up to the
//! beginning `s` of its service are served: `s = base + a(t) - c + h(s)`, the least solution, whose
//! wait is `s - t`. With every `t` of the busy period this is the analysis of Davis, Burns, Bril
//! and Lukkien (2007), which looks at every instance and not only at the first. Windows are closed:
//! a higher packet that arrives at the moment of the choice goes first, and a lower one that
//! arrives as the place becomes idle may go first.
//!
//! **Every arrival.** Where a line holds a class back, or a class and higher ones together, the
//! longest wait may come at any `t`. Let `W(t, s)` be all work in front, `s(t)` the least `s` not
//! before `t` with `W(t, s) <= s`, and let `a < b` be two arrivals. (1) Those between them wait at
//! most `s(b) - a`, since `s` grows with `t`. (2) If at `(a, s(a))` and `(b, s(b))` the same limits
//! hold, the same step of each staircase and the same lines, and the work grows by less than 1 with
//! `s`, none between them waits longer than the longer of the two. *Proof of (2).* Every sum of
//! limits that hold anywhere is at least `W` on these steps. The sum of those that hold at both ends
//! is a plane `A + B t + C s` with `C < 1`, so `s(t)` is at most the larger of `s(a)` and
//! `ceil((A + B t) / (1 - C))`, or it is `t` itself. Less `t`, the first falls, and the second falls
//! or grows all the way; at both ends it is at most the wait there. If nothing waits at both ends,
//! the plane is at most `t` at `(t, t)` there, so also in between, for any `C`. So the span from the first to
//! the last arrival of a busy period is split, where (1) promises most first, until nothing can
//! exceed the longest wait found: the result is the longest wait of any arrival, though few of
//! thousands are looked at. Where `s(t)` takes too many rounds to find, a later solution stands for
//! it, which only lengthens the wait.
//!
//! **A place that is full** has no end of a busy period: [`full`] has the waits there.

mod backlog;
mod full;

use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
use core::cmp::Ordering;
use core::ops::Range;

use crate::analysis::LayerPart;
use crate::curve::{
    Affine, Group, Load, ONE, PLACES, Stairs, affordable, group, round_up, stepped,
};
use crate::source::INFINITE;
use crate::window::longest_stay;
use backlog::distance;
pub(crate) use backlog::{backlog, caught_up, wait_of_only};
pub(crate) use full::{common_period, long_run as exact_rate};

/// Largest number of staircase steps examined before token buckets are used instead.
const STEPS_MAX: i64 = 1 << 14;
/// The same where each step takes a search.
const SEARCHED_MAX: i64 = 1 << 12;
/// Largest number of times that the arrivals of a busy period are split; then what is left counts
/// as a whole.
const SPLITS_MAX: u32 = 1 << 16;

/// Why a wait has no bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unbounded {
    /// The arrivals of this visit are unlimited.
    Visit(u32),
    /// Offered work in millionths of the available time.
    Overload(u64),
    /// The place has an obstacle.
    Obstacle,
    /// The layer of the end station may hold the packets back forever.
    Layer(LayerPart),
}

/// Returns the limits that hold in the long run; fails if they add up to the whole capacity.
fn tails(groups: &[Group], loads: &[Load]) -> Result<Vec<Affine>, Unbounded> {
    let mut all = Vec::with_capacity(groups.len());
    let mut sum = 0i128;
    for group in groups {
        let Some(tail) = group.tail() else {
            let cause = loads[group.range.clone()].iter().find(|l| !l.is_limited());
            return Err(Unbounded::Visit(cause.map_or(0, |load| load.visit)));
        };
        sum = sum.saturating_add(tail.rate);
        all.push(tail);
    }
    if sum < ONE {
        return Ok(all);
    }
    // If a link is full only because a flow has no limit, that flow is the cause.
    match loads.iter().find(|load| !load.is_limited()) {
        Some(load) => Err(Unbounded::Visit(load.visit)),
        None => Err(Unbounded::Overload(millionths(sum))),
    }
}

/// Returns a limit on the work of all these loads that holds for every span.
pub(crate) fn affine_limit(loads: &mut [Load]) -> Result<Affine, Unbounded> {
    let groups = group(loads);
    let tails = tails(&groups, loads)?;
    Ok(tails.into_iter().fold(Affine::default(), Affine::plus))
}

/// Returns a share of the time in millionths, rounded up.
pub(crate) fn millionths(rate: i128) -> u64 {
    let scaled = rate.saturating_mul(1_000_000).saturating_add(ONE - 1);
    u64::try_from(scaled >> PLACES).unwrap_or(u64::MAX)
}

/// Returns a guess of the length of a busy period: twice the work at its beginning.
fn first_horizon(groups: &[Group], loads: &[Load]) -> i64 {
    let begin = groups.iter().map(|group| {
        let own = &loads[group.range.clone()];
        let at_once = own.iter().map(|load| i128::from(load.cost) * i128::from(load.burst));
        let at_once: i128 = at_once.sum();
        group.line.map_or(at_once, |line| at_once.max(line.burst >> PLACES))
    });
    let sum: i128 = begin.sum();
    i64::try_from(sum.saturating_mul(2)).unwrap_or(INFINITE).clamp(1_000, INFINITE)
}

/// Returns the time by which `base` and all arrivals are served under the long-run limits.
fn meeting(tails: &[Affine], base: i64) -> i64 {
    let begin = i128::from(base) * ONE;
    let sum = tails.iter().copied().fold(Affine::default(), Affine::plus);
    let time = begin.saturating_add(sum.burst) / (ONE - sum.rate) + 1;
    i64::try_from(time).unwrap_or(INFINITE).min(INFINITE)
}

/// One previous place, as seen by a class and the classes above it.
struct Level {
    own: Option<Stairs>,
    own_line: Option<Affine>,
    high: Option<Stairs>,
    high_line: Option<Affine>,
    /// Both together.
    line: Option<Affine>,
}

impl Level {
    /// Returns the work of the class in `[0, t]` and of higher ones in `[0, s]`.
    ///
    /// The line holds for a window that includes the packet looked at, so `s` must not be before
    /// its arrival where the packet's own work is subtracted.
    #[cfg(test)]
    fn at(&self, t: i64, s: i64) -> i128 {
        self.with(self.own_at(t), s)
    }

    /// Returns the work of the class in `[0, t]`.
    fn own_at(&self, t: i64) -> i128 {
        limited(self.own.as_ref(), self.own_line, t)
    }

    /// Adds the work of higher classes in `[0, s]` to that of the class.
    fn with(&self, own: i128, s: i64) -> i128 {
        let sum = own.saturating_add(limited(self.high.as_ref(), self.high_line, s));
        self.line.map_or(sum, |line| sum.min(line.at(s)))
    }

    /// Returns whether higher classes have no work.
    fn is_own_only(&self) -> bool {
        let is_empty = |stairs: &Stairs| stairs.points.is_empty();
        self.line.is_none() && self.high.as_ref().is_some_and(is_empty)
    }

    /// Returns whether the line holds the class back at `t`.
    fn is_held_back(&self, t: i64) -> bool {
        is_line(self.own.as_ref(), self.own_line, t)
    }

    /// Returns which limits hold for the class in `[0, t]` and for higher ones in `[0, s]`.
    fn holding(&self, t: i64, s: i64) -> Holding {
        let high = self.high.as_ref();
        let is_high_line = is_line(high, self.high_line, s);
        let sum = limited(self.own.as_ref(), self.own_line, t).saturating_add(limited(
            high,
            self.high_line,
            s,
        ));
        let joint = self.line.filter(|line| line.at(s) < sum);
        let line = joint.or(self.high_line.filter(|_| is_high_line));
        Holding {
            is_own_line: self.is_held_back(t),
            is_joint: joint.is_some(),
            is_high_line,
            step: high.map_or(0, |stairs| stairs.step(s)),
            slope: line.map_or(0, |line| line.rate),
        }
    }

    /// Returns when the line that holds the class back at `t` no longer does so, if its staircase
    /// does not grow before.
    fn meets(&self, t: i64) -> Option<i64> {
        let (stairs, line) = (self.own.as_ref()?, self.own_line?);
        self.is_held_back(t).then(|| line.reaches(stairs.at(t)))
    }
}

/// Limits that hold at one place.
#[derive(PartialEq, Eq)]
struct Holding {
    is_own_line: bool,
    is_joint: bool,
    is_high_line: bool,
    /// Step of the staircase of higher classes.
    step: usize,
    /// By how much the work grows with the beginning of service.
    slope: i128,
}

/// Returns whether a line is below a staircase; a missing staircase does not limit.
fn is_line(stairs: Option<&Stairs>, line: Option<Affine>, time: i64) -> bool {
    match (stairs, line) {
        (Some(stairs), Some(line)) => line.at(time) < stairs.at(time),
        (None, Some(_)) => true,
        (_, None) => false,
    }
}

/// Returns the lower of a staircase and a line; a missing staircase does not limit.
fn limited(stairs: Option<&Stairs>, line: Option<Affine>, time: i64) -> i128 {
    let line = line.map_or(i128::MAX, |line| line.at(time));
    stairs.map_or(line, |stairs| stairs.at(time).min(line))
}

/// A class and the higher classes above it.
pub(crate) struct Class<'a> {
    /// Work that may be in front regardless of the class.
    pub(crate) base: i64,
    pub(crate) own: &'a mut [Load],
    pub(crate) higher: &'a mut [Load],
    /// Values to subtract as a packet's own work; ascending.
    pub(crate) costs: &'a [i64],
    /// Whether the loads are not those of one busy period, so that all times count.
    pub(crate) is_whole: bool,
}

/// Returns the longest wait of packets with each of the costs.
pub(crate) fn waits(class: &mut Class<'_>) -> Result<Vec<i64>, Unbounded> {
    let open = waits_of_rates(class);
    let Some(stay) = longest_stay(class.base, class.own, class.higher) else {
        return open;
    };
    let closed = class.costs.iter().map(|cost| (stay - cost).max(0));
    Ok(match open {
        Ok(open) => closed.zip(open).map(|(a, b)| a.min(b)).collect(),
        Err(_) => closed.collect(),
    })
}

/// The same, by the rates of all flows alone.
fn waits_of_rates(class: &mut Class<'_>) -> Result<Vec<i64>, Unbounded> {
    below_full(class).or_else(|reason| full::waits(class).ok_or(reason))
}

/// The same where less comes than can be served, by rates rounded up.
pub(crate) fn below_full(class: &mut Class<'_>) -> Result<Vec<i64>, Unbounded> {
    if class.higher.is_empty() {
        let most = class.base + distance(class.own, class.is_whole, None)?;
        return Ok(class.costs.iter().map(|cost| (most - cost).max(0)).collect());
    }
    let pairs = pair_up(class);
    let tails = long_run(&pairs, class)?;
    let least = if class.is_whole { meeting(&[tails.own, tails.high], class.base) } else { 0 };
    let first = first_horizon(&group(class.own), class.own)
        + first_horizon(&group(class.higher), class.higher);
    let mut wanted = first.saturating_add(class.base.saturating_mul(2));
    wanted = wanted.min(INFINITE);
    loop {
        let groups = |of: fn(&Pair) -> &Option<Group>| {
            let some = pairs.iter().filter_map(move |pair| of(pair).as_ref());
            some.cloned().collect::<Vec<Group>>()
        };
        let (own, high) = (groups(|pair| &pair.own), groups(|pair| &pair.high));
        let steps = stepped(&own, class.own).chain(stepped(&high, class.higher));
        let horizon = affordable(&steps, wanted, SEARCHED_MAX);
        let levels: Vec<Level> = pairs.iter().map(|pair| pair.level(class, horizon)).collect();
        let search = Search { levels: &levels, base: i128::from(class.base) * ONE, least, horizon };
        let (waits, unfinished) = search.run(class.costs);
        let Some(from) = unfinished else {
            return Ok(waits);
        };
        if horizon < wanted || horizon >= INFINITE {
            let tail = |cost: i64| tails.wait(class.base, cost, from);
            let both = waits.iter().zip(class.costs);
            return Ok(both.map(|(&wait, &cost)| wait.max(tail(cost))).collect());
        }
        wanted = horizon.saturating_mul(4).min(INFINITE);
    }
}

/// Flows of a class and of higher ones that come from the same place.
struct Pair {
    own: Option<Group>,
    high: Option<Group>,
}

impl Pair {
    /// Returns the limit on both together.
    fn line(&self) -> Option<Affine> {
        let (own, high) = (self.own.as_ref()?.shape?, self.high.as_ref()?.shape?);
        own.join(high).affine()
    }

    fn level(&self, class: &Class<'_>, horizon: i64) -> Level {
        let stairs = |group: &Option<Group>, loads: &[Load]| match group {
            None => Some(Stairs::default()),
            Some(group) => group.bucket.map(|_| Stairs::new(&loads[group.range.clone()], horizon)),
        };
        Level {
            own: stairs(&self.own, class.own),
            own_line: self.own.as_ref().and_then(|group| group.line),
            high: stairs(&self.high, class.higher),
            high_line: self.high.as_ref().and_then(|group| group.line),
            line: self.line(),
        }
    }
}

fn pair_up(class: &mut Class<'_>) -> Vec<Pair> {
    let mut pairs: Vec<Pair> = Vec::new();
    for group in group(class.own) {
        let own = Some(group);
        pairs.push(Pair { own, high: None });
    }
    for group in group(class.higher) {
        let same = pairs.iter_mut().find(|pair| {
            group.number != crate::index::NONE
                && pair.own.as_ref().is_some_and(|own| own.number == group.number)
        });
        match same {
            Some(pair) => pair.high = Some(group),
            None => pairs.push(Pair { own: None, high: Some(group) }),
        }
    }
    pairs
}

/// Long-run limits of a class and of higher ones.
struct LongRun {
    own: Affine,
    high: Affine,
}

impl LongRun {
    /// Returns the longest wait of all packets that arrive at `from` or later.
    ///
    /// `s <= base + own(t) - c + high(s)` is solved by a straight line that falls against `t`.
    fn wait(&self, base: i64, cost: i64, from: i64) -> i64 {
        let work = i128::from(base.saturating_sub(cost)) * ONE;
        let work = work.saturating_add(self.own.at(from));
        let work = work.saturating_add(self.high.burst);
        let left = ONE - self.high.rate;
        let begin = (work.max(0) / left).saturating_add(1);
        let begin = i64::try_from(begin).unwrap_or(INFINITE).min(INFINITE);
        (begin - from).max(0)
    }
}

fn long_run(pairs: &[Pair], class: &Class<'_>) -> Result<LongRun, Unbounded> {
    let mut sum = LongRun { own: Affine::default(), high: Affine::default() };
    let mut unlimited = None;
    let first = |group: &Group, loads: &[Load]| {
        let mut own = loads[group.range.clone()].iter();
        own.find(|load| !load.is_limited()).map(|load| load.visit)
    };
    for pair in pairs {
        let (mut own, mut high) = (Some(Affine::default()), Some(Affine::default()));
        if let Some(group) = &pair.own {
            own = group.tail();
            unlimited = unlimited.or(first(group, class.own));
        }
        if let Some(group) = &pair.high {
            high = group.tail();
            unlimited = unlimited.or(first(group, class.higher));
        }
        let (Some(mut own), Some(mut high)) = (own, high) else {
            return Err(Unbounded::Visit(unlimited.unwrap_or(0)));
        };
        let both = own.rate.saturating_add(high.rate);
        if let Some(line) = pair.line().filter(|line| line.rate < both) {
            (own, high) = (Affine::default(), line);
        }
        sum.own = sum.own.plus(own);
        sum.high = sum.high.plus(high);
    }
    let rate = sum.own.rate.saturating_add(sum.high.rate);
    if rate < ONE {
        return Ok(sum);
    }
    match unlimited {
        Some(visit) => Err(Unbounded::Visit(visit)),
        None => Err(Unbounded::Overload(millionths(rate))),
    }
}

/// Examines the arrivals of a busy period.
struct Search<'a> {
    levels: &'a [Level],
    base: i128,
    /// The search goes on until this time, even beyond the end of a busy period.
    least: i64,
    /// Staircases are complete up to here.
    horizon: i64,
}

impl Search<'_> {
    /// Returns the longest waits and, if the busy period is longer than the staircases, the arrival
    /// time from which on nothing is known.
    fn run(&self, costs: &[i64]) -> (Vec<i64>, Option<i64>) {
        let times = self.times();
        let cost_of = |cost: &i64| i128::from(*cost) * ONE;
        let busy = self.busy(&times);
        let count = busy.unwrap_or_else(|| {
            // The smallest packet begins last.
            let cost = costs.first().map_or(0, cost_of);
            let steps: Vec<usize> = (1..times.len()).collect();
            steps.partition_point(|&next| {
                let last = self.last(&times, next - 1);
                self.solve(last, cost, last) <= self.horizon
            })
        });
        let unfinished = busy.is_none().then_some(times[count]);
        let longest = |cost| self.longest(&times[..=count], cost_of(cost));
        (costs.iter().map(longest).collect(), unfinished)
    }

    /// Returns when the staircases of the class grow, and the horizon at the end.
    fn times(&self) -> Vec<i64> {
        let own = self.levels.iter().filter_map(|level| level.own.as_ref());
        let points = own.flat_map(|stairs| stairs.points.iter().map(|point| point.0));
        let mut times: Vec<i64> = points.filter(|&time| time < self.horizon).collect();
        times.extend([0, self.horizon]);
        times.sort_unstable();
        times.dedup();
        times
    }

    /// Returns when all packets are served that came before the step after this one.
    fn end(&self, times: &[i64], step: usize) -> i64 {
        self.solve(times[step + 1] - 1, 0, times[step])
    }

    /// Returns how many steps a busy period has; `None` if it exceeds the horizon.
    fn busy(&self, times: &[i64]) -> Option<usize> {
        let reaches = |end: i64| times.partition_point(|&time| time < end).max(1) - 1;
        let mut step = reaches(self.least);
        while step + 1 < times.len() {
            let end = self.end(times, step);
            if end <= times[step + 1] {
                return Some(step + 1);
            }
            // Until then the place is busy, since more work comes with every step.
            step = reaches(end);
        }
        None
    }

    /// Returns the last arrival of interest in a step.
    fn last(&self, times: &[i64], step: usize) -> i64 {
        if !self.matters_after(times[step]) {
            return times[step];
        }
        (times[step + 1] - 1).min(self.end(times, step))
    }

    /// Returns whether an arrival between a step at `time` and the next one may wait longest: with
    /// staircases only, the first one does.
    fn matters_after(&self, time: i64) -> bool {
        let mut levels = self.levels.iter();
        levels.any(|level| level.line.is_some() || level.is_held_back(time))
    }

    /// Returns the longest wait of packets that arrive between the first and the last of the times,
    /// at which the staircases of their class grow.
    fn longest(&self, times: &[i64], cost: i128) -> i64 {
        let at = |time: i64, known: i64| (time, self.solve(time, cost, time.max(known)));
        let Some(last) = times.len().checked_sub(2) else {
            return 0;
        };
        let first = at(times[0], 0);
        let last = at(self.last(times, last), first.1);
        let mut longest = (first.1 - first.0).max(last.1 - last.0);
        let mut spans = BinaryHeap::from([Span::new(first, last, 0..times.len() - 1)]);
        for _ in 0..SPLITS_MAX {
            let Some(span) = spans.pop().filter(|span| span.most > longest) else {
                return longest;
            };
            let Range { start, end } = span.steps;
            if end - start == 1 {
                if let Some(middle) = self.split(&span) {
                    let middle = at(middle, span.first.1);
                    longest = longest.max(middle.1 - middle.0);
                    spans.push(Span::new(span.first, middle, start..end));
                    spans.push(Span::new(middle, span.last, start..end));
                }
                continue;
            }
            let step = start + (end - start) / 2;
            let before = at(self.last(times, step - 1), span.first.1);
            let middle = at(times[step], before.1);
            for (time, begin) in [before, middle] {
                longest = longest.max(begin - time);
            }
            spans.push(Span::new(span.first, before, start..step));
            spans.push(Span::new(middle, span.last, step..end));
        }
        spans.pop().map_or(longest, |span| span.most.max(longest))
    }

    /// Returns where to split a span; `None` if no arrival inside waits longer than those at its
    /// ends.
    fn split(&self, span: &Span) -> Option<i64> {
        let [(a, begin_a), (b, begin_b)] = [span.first, span.last];
        if b - a <= 1 {
            return None;
        }
        let mut slope = 0i128;
        let is_same = self.levels.iter().all(|level| {
            let holding = level.holding(a, begin_a);
            slope = slope.saturating_add(holding.slope);
            holding == level.holding(b, begin_b)
        });
        let nothing_waits = a == begin_a && b == begin_b;
        if is_same && (slope < ONE || nothing_waits) {
            return None;
        }
        let meetings = self.levels.iter().filter_map(|level| level.meets(a));
        let mut each = meetings.flat_map(|time| [time - 1, time]);
        let meeting = each.find(|time| (a + 1..b).contains(time));
        Some(meeting.unwrap_or(a + (b - a) / 2))
    }

    /// Returns the least `s`, at least `known`, with `base + own(t) - cost + high(s) <= s`.
    ///
    /// Any such `s` is a bound, so that larger steps may cut slow convergence short; what they leave
    /// out is then searched by halves.
    fn solve(&self, t: i64, cost: i128, known: i64) -> i64 {
        let mut fixed = self.base;
        let mut growing = Vec::with_capacity(self.levels.len());
        for level in self.levels {
            let own = level.own_at(t);
            if level.is_own_only() {
                fixed = fixed.saturating_add(own);
            } else {
                growing.push((level, own));
            }
        }
        let needed = |s: i64| {
            let each = growing.iter().map(|(level, own)| level.with(*own, s));
            let work = each.fold(fixed, i128::saturating_add);
            round_up(work.saturating_sub(cost).max(0))
        };
        let (mut s, mut below, mut stride) = (known, known - 1, 0);
        for round in 0u32.. {
            let least = needed(s);
            if least <= s {
                break;
            }
            if least > self.horizon {
                return least;
            }
            if round > 32 {
                stride = 2 * stride + 1_000;
            }
            // More work comes until any later time, so none before `least` is enough.
            below = least - 1;
            s = least.max(s + stride);
        }
        while s - below > 1 {
            let middle = below + (s - below) / 2;
            if needed(middle) <= middle {
                s = middle;
            } else {
                below = middle;
            }
        }
        s
    }
}

/// Arrivals from one to another.
#[derive(PartialEq, Eq)]
struct Span {
    /// The longest wait that any of them may have.
    most: i64,
    /// Arrival and beginning of service.
    first: (i64, i64),
    last: (i64, i64),
    /// Steps of the class's staircases in which they arrive.
    steps: Range<usize>,
}

impl Span {
    const fn new(first: (i64, i64), last: (i64, i64), steps: Range<usize>) -> Self {
        Self { most: last.1 - first.0, first, last, steps }
    }
}

impl Ord for Span {
    fn cmp(&self, other: &Self) -> Ordering {
        let key = |span: &Self| (span.most, span.first, span.last);
        key(self).cmp(&key(other))
    }
}

impl PartialOrd for Span {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests;
