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

mod backlog;

use alloc::vec::Vec;

use crate::analysis::LayerPart;
use crate::curve::{
    Affine, Group, Load, ONE, PLACES, Stairs, affordable, group, round_up, stepped,
};
use crate::source::INFINITE;
use crate::window::longest_stay;
use backlog::distance;
pub(crate) use backlog::{backlog, caught_up, wait_of_only};

/// Largest number of staircase steps examined before token buckets are used instead.
const STEPS_MAX: i64 = 1 << 14;
/// The same where each step takes a search.
const SEARCHED_MAX: i64 = 1 << 12;
/// Pieces into which a busy period is cut where a line holds arrivals back.
const PIECES: i64 = 128;
/// Where a line limits two classes together, waits longer than this fraction of the horizon are
/// followed one after the other; shorter ones are examined in pieces.
const WAITS_MAX: i64 = 1 << 13;

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

/// Returns a share of the time in millionths, rounded up.
pub(crate) fn millionths(rate: i128) -> u64 {
    let scaled = rate.saturating_mul(1_000_000).saturating_add(ONE - 1);
    u64::try_from(scaled >> PLACES).unwrap_or(u64::MAX)
}

/// Returns a guess of the length of a busy period: twice the work at its beginning.
fn first_horizon(groups: &[Group], loads: &[Load]) -> i64 {
    let begin = groups.iter().map(|group| {
        let own = &loads[group.range.clone()];
        let at_once = own
            .iter()
            .map(|load| i128::from(load.cost) * i128::from(load.burst));
        let at_once: i128 = at_once.sum();
        group
            .line
            .map_or(at_once, |line| at_once.max(line.burst >> PLACES))
    });
    let sum: i128 = begin.sum();
    i64::try_from(sum.saturating_mul(2))
        .unwrap_or(INFINITE)
        .clamp(1_000, INFINITE)
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
    fn at(&self, t: i64, s: i64) -> i128 {
        let own = limited(self.own.as_ref(), self.own_line, t);
        let high = limited(self.high.as_ref(), self.high_line, s);
        let sum = own.saturating_add(high);
        self.line.map_or(sum, |line| sum.min(line.at(s)))
    }

    /// Returns whether the line holds the class back at `t`.
    fn is_held_back(&self, t: i64) -> bool {
        match (&self.own, self.own_line) {
            (Some(stairs), Some(line)) => line.at(t) < stairs.at(t),
            (None, Some(_)) => true,
            (_, None) => false,
        }
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
    if class.higher.is_empty() {
        let most = class.base + distance(class.own, class.is_whole, None)?;
        return Ok(class
            .costs
            .iter()
            .map(|cost| (most - cost).max(0))
            .collect());
    }
    let pairs = pair_up(class);
    let tails = long_run(&pairs, class)?;
    let least = if class.is_whole {
        meeting(&[tails.own, tails.high], class.base)
    } else {
        0
    };
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
        let levels: Vec<Level> = pairs
            .iter()
            .map(|pair| pair.level(class, horizon))
            .collect();
        let search = Search {
            levels: &levels,
            base: i128::from(class.base) * ONE,
            least,
            horizon,
        };
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
            Some(group) => group
                .bucket
                .map(|_| Stairs::new(&loads[group.range.clone()], horizon)),
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
                && pair
                    .own
                    .as_ref()
                    .is_some_and(|own| own.number == group.number)
        });
        match same {
            Some(pair) => pair.high = Some(group),
            None => pairs.push(Pair {
                own: None,
                high: Some(group),
            }),
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
    let mut sum = LongRun {
        own: Affine::default(),
        high: Affine::default(),
    };
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
        let mut times: Vec<i64> = self
            .levels
            .iter()
            .filter_map(|level| level.own.as_ref())
            .flat_map(|stairs| stairs.points.iter().map(|point| point.0))
            .collect();
        times.push(0);
        times.sort_unstable();
        times.dedup();
        let mut waits = alloc::vec![0; costs.len()];
        let mut end = 0;
        for (index, &time) in times.iter().enumerate() {
            let next = times.get(index + 1).copied().unwrap_or(self.horizon);
            if time >= next {
                break;
            }
            // All packets that came before the next step are done by then.
            end = self.solve(next - 1, 0, time.max(end));
            let until = next.min(end.saturating_add(1));
            for (wait, &cost) in waits.iter_mut().zip(costs) {
                match self.longest(time, until, i128::from(cost) * ONE) {
                    Some(found) => *wait = found.max(*wait),
                    None => return (waits, Some(time)),
                }
            }
            if end <= next && next >= self.least {
                return (waits, None);
            }
        }
        (waits, Some(self.horizon))
    }

    /// Returns the longest wait of a packet that arrives from `from` on and before `until`, a span
    /// in which the staircases of its class do not grow; `None` if it may exceed the horizon.
    ///
    /// With staircases only, the first arrival waits longest. Where a line limits the class and
    /// higher ones together, more work can come the later a packet arrives: all packets that arrive
    /// before the service of the first begin with it, so that the next one to examine arrives after
    /// that. Otherwise the span is cut into pieces, and all packets of a piece are assumed to
    /// arrive at its beginning with the work present at its end.
    fn longest(&self, from: i64, until: i64, cost: i128) -> Option<i64> {
        let has_joint_line = self.levels.iter().any(|level| level.line.is_some());
        let piece = (self.horizon / PIECES).max(1);
        let (mut longest, mut t) = (0, from);
        while t < until {
            let is_flat = !self.levels.iter().any(|level| level.is_held_back(t));
            if is_flat {
                let begin = self.solve(t, cost, t);
                if begin > self.horizon {
                    return None;
                }
                longest = longest.max(begin - t);
                if !has_joint_line {
                    break;
                }
                if begin - t > self.horizon / WAITS_MAX {
                    t = begin + 1;
                    continue;
                }
            }
            let to = until.min(t + piece);
            let known = if has_joint_line { to - 1 } else { t };
            let begin = self.solve(to - 1, cost, known);
            if begin > self.horizon {
                return None;
            }
            longest = longest.max(begin - t);
            t = to;
        }
        Some(longest)
    }

    /// Returns the least `s`, at least `known`, with `base + own(t) - cost + high(s) <= s`.
    ///
    /// Any such `s` is a bound, so that larger steps may cut slow convergence short.
    fn solve(&self, t: i64, cost: i128, known: i64) -> i64 {
        let mut s = known;
        let mut stride = 0;
        for round in 0u32.. {
            let each = self.levels.iter().map(|level| level.at(t, s));
            let work = each.fold(self.base, i128::saturating_add);
            let needed = round_up(work.saturating_sub(cost).max(0));
            if needed <= s {
                return s;
            }
            if needed > self.horizon {
                return needed;
            }
            if round > 32 {
                stride = 2 * stride + 1_000;
            }
            s = needed.max(s + stride);
        }
        s
    }
}

#[cfg(test)]
mod tests;
