//! Longest waits where the earliest local deadline goes first, without preemption.
//!
//! A packet of flow `i` that arrives at `a` is due at `a + d(i)`; the port sends the packet that is
//! due first, ties in order of arrival.
//!
//! **Theorem.** Let a packet of flow `i` with work `c` arrive a time `t` after the last moment 0
//! before which no packet was there that is due by `t + d(i)`. Its service begins no later than the
//! least `s >= t` with `B + sum_j A_j(min(s, t + d(i) - d(j))) - c <= s`, where `A_j(x)` is the most
//! work of flow `j` in a closed window of length `x`, flows with `t + d(i) < d(j)` are left out, and
//! `B` is the longest packet of those with `d(j) > t + d(i)`.
//!
//! *Proof.* From 0 until this packet is served there is always a packet that is due by `t + d(i)`.
//! So one packet that is due later may be in service at 0, having arrived by then, which takes
//! `d(j) > t + d(i)`; after it, only packets due by `t + d(i)` are served. They have arrived since
//! 0, at `t + d(i) - d(j)` at the latest, and before `s`. Any packet that arrives by `s` and is not
//! served by `s` would be due later. This packet is among them and does not delay itself. As in
//! [`crate::wait`] windows are closed, so that the order of simultaneous events does not matter.
//! QED
//!
//! For fixed `i` the left side grows with `t` in steps, at `t = x - d(i) + d(j)` where `A_j` grows
//! at `x`, and falls with `B`; between two steps the earliest `t` waits longest, so that only these
//! are examined. No `t` counts beyond the longest busy period `L`, the least with
//! `B + sum_j A_j(L) <= L`. (George, Rivierre and Spuri, INRIA RR-2966, 1996, section 5, with
//! jitter in the arrivals; flows there are called tasks, and `0` begins their deadline busy
//! period.) The deadline counts from the arrival at this queue, so that jitter brings packets
//! closer together but does not shift their deadlines.
//!
//! **Any order.** If the local deadlines may change at any time, the port still sends some packet with
//! a deadline while one waits: none waits longer than the longest busy period of these, behind the
//! longest packet of the others.
//!
//! **A port that is exactly full** may never rest. With the jitters and periods of all flows let
//! `A_j(x) <= B_j + p_j x`, and `sum p_j <= 1`, exactly. For a common multiple `T` of all periods,
//! `A_j(x + T) = A_j(x) + p_j T` for `x >= 0`. So if `s` solves the condition for a `t` at which every flow
//! counts, `t >= d(j) - d(i)` for all `j`, then `s + T` solves it for `t + T`, since no window but those
//! that end at `s` or `t` grows: only `t` before `T` and the largest `d(j) - d(i)` count. Where these are too many, the sum
//! is at most `sum (B_j + p_j max(d(i) - d(j), 0)) + t`, and no packet waits longer than that and `B`,
//! less `t` and `c`. In any order a packet may then wait forever.
//!
//! Flows without a deadline are due last: at most one of their packets is in front. Where there are
//! too many steps, the whole busy period bounds the wait. The rates of the links before the port
//! are not used, so that the bound is pessimistic behind links with several flows.

use alloc::vec;
use alloc::vec::Vec;

use rtether_model::flow::Flow;
use rtether_model::network::Network;
use rtether_model::partition::LocalDeadlines;
use rtether_model::route::Routing;

use super::port::{Port, Waits};
use super::strict;
use crate::curve::{JITTER_MAX, Load, ONE, round_up, steps_until};
use crate::index::NONE;
use crate::source::{INFINITE, add};
use crate::wait::{Unbounded, common_period, exact_rate, millionths};

/// Queue of flows with a local deadline; the others are in queue 0, below it.
pub(crate) const DUE: u8 = 1;
/// Local deadline, below all others, where they may change at any time.
pub(crate) const ANY_ORDER: i64 = 0;
/// Largest number of steps, over all flows, that are examined for each flow.
const STEPS_MAX: i64 = 1 << 12;
/// Evaluations after which token buckets give the busy period.
const ROUNDS_MAX: u32 = 1 << 12;

/// Returns how long after it came to a port a frame is due there, as the ports use it; `None` if no
/// port selects by deadline.
pub(crate) fn local_deadlines(network: &Network, flows: &[Flow]) -> Option<LocalDeadlines> {
    let uses = network.selects_by_deadline();
    uses.then(|| LocalDeadlines::new(network, flows, &Routing::new(network)))
}

/// Returns the waits of a queue.
pub(crate) fn waits_of(port: &Port<'_>, queue: u8) -> Waits {
    if queue != DUE {
        return strict::waits(port, queue);
    }
    let due = |load: Load| (load, port.visits.local_deadline(load.visit));
    let own = port.of(|other| other == DUE).into_iter().map(due);
    let own: Vec<(Load, i64)> = own.collect();
    waits(&own, port.longest(|other| other != DUE))
}

/// Returns the longest wait of each load, given with its finite local deadline; `lower` is the
/// longest packet of flows without one.
fn waits(loads: &[(Load, i64)], lower: i64) -> Result<Vec<i64>, Unbounded> {
    if let Some((load, _)) = loads.iter().find(|(load, _)| !load.is_limited()) {
        return Err(Unbounded::Visit(load.visit));
    }
    let rate: i128 = loads.iter().map(|(load, _)| load.rate()).sum();
    let plain: Vec<Load> = loads.iter().map(|(load, _)| *load).collect();
    let has_any_order = loads.iter().any(|(_, due)| *due == ANY_ORDER);
    if rate >= ONE {
        // Where the rate is above one only because it was rounded, or is one.
        let exact = exact_rate(&mut alone(&plain), ONE);
        return match exact {
            Some(exact) if exact <= ONE && !has_any_order => Ok(full(loads, lower)),
            _ => Err(Unbounded::Overload(millionths(rate))),
        };
    }
    let end = busy_period(loads, lower, rate);
    if end > JITTER_MAX {
        return Err(Unbounded::Overload(millionths(rate)));
    }
    if has_any_order || steps_until(plain.iter(), end) > STEPS_MAX {
        return Ok(vec![end; loads.len()]);
    }
    let mut found: Vec<i64> = Vec::with_capacity(loads.len());
    for (index, (load, deadline)) in loads.iter().enumerate() {
        // Flows with the same deadline and work have the same wait.
        let same = loads[..index]
            .iter()
            .position(|(other, due)| due == deadline && other.cost == load.cost);
        let wait = match same {
            Some(same) => found[same],
            None => wait(loads, lower, (load.cost, *deadline), end).min(end),
        };
        found.push(wait);
    }
    Ok(found)
}

/// Returns loads each of which has no limit but its own: the links before the port do not count.
fn alone(loads: &[Load]) -> Vec<Load> {
    let each = loads.iter().map(|load| Load { group: NONE, ..*load });
    each.collect()
}

/// Returns the longest wait of each load where all of them bring exactly what the port sends.
fn full(loads: &[(Load, i64)], lower: i64) -> Vec<i64> {
    let plain = || loads.iter().map(|(load, _)| load);
    let period = common_period(plain());
    let each = loads.iter().map(|(load, deadline)| {
        let later = loads.iter().map(|(_, due)| due - deadline).max();
        let end = period.and_then(|period| period.checked_add(later?.max(0)));
        let end = end.filter(|&end| steps_until(plain(), end) <= STEPS_MAX);
        match end {
            Some(end) => wait(loads, lower, (load.cost, *deadline), end),
            None => by_bursts(loads, lower, (load.cost, *deadline)),
        }
    });
    each.collect()
}

/// Returns a wait that holds wherever the loads bring no more than the port sends.
fn by_bursts(loads: &[(Load, i64)], lower: i64, (cost, deadline): (i64, i64)) -> i64 {
    let longest = loads.iter().map(|(load, _)| load.cost).max().unwrap_or(0);
    let bursts = loads.iter().map(|(load, due)| {
        let at_once = i128::from(load.cost) * i128::from(load.burst) * ONE;
        let later = i128::from(load.jitter) + i128::from((deadline - due).max(0));
        at_once.saturating_add(load.rate().saturating_mul(later))
    });
    let burst = bursts.fold(0, i128::saturating_add);
    let before = lower.max(longest) - cost;
    add(round_up(burst), before).max(0)
}

/// Returns the most work of a flow in a closed window.
const fn work(load: &Load, span: i64) -> i64 {
    load.cost * load.burst * ((span + load.jitter) / load.period + 1)
}

/// Returns a bound on the longest busy period; `rate` is below one.
fn busy_period(loads: &[(Load, i64)], lower: i64, rate: i128) -> i64 {
    let first = loads.iter().map(|(load, _)| load.cost).max().unwrap_or(0);
    let before = lower.max(first);
    // Token buckets are above the staircases: `before + burst + rate * L = L`.
    let bursts = loads.iter().map(|(load, _)| {
        let at_once = i128::from(load.cost) * i128::from(load.burst) * ONE;
        at_once + load.rate() * i128::from(load.jitter)
    });
    let burst = i128::from(before) * ONE + bursts.sum::<i128>();
    let most = (burst + (ONE - rate) - 1) / (ONE - rate);
    let most = i64::try_from(most).unwrap_or(INFINITE).min(INFINITE);
    if most > JITTER_MAX {
        return most;
    }
    let mut length = before;
    for _ in 0..ROUNDS_MAX {
        let all = loads.iter().map(|(load, _)| work(load, length));
        let longer = before + all.sum::<i64>();
        if longer <= length {
            return length.min(most);
        }
        length = longer;
    }
    most
}

/// Returns the longest wait of packets with this work and local deadline.
fn wait(loads: &[(Load, i64)], lower: i64, own: (i64, i64), end: i64) -> i64 {
    let (cost, deadline) = own;
    let mut times = vec![0];
    for (load, due) in loads {
        // What arrives by `x` counts for packets that arrive `due - deadline` later.
        let shift = due - deadline;
        times.push(shift);
        let first = load.period - load.jitter % load.period + shift;
        // Steps before zero count as present from the beginning.
        let skipped = if first < 0 { -first / load.period } else { 0 };
        let steps = (skipped..).map(|n| first + n * load.period);
        times.extend(steps.take_while(|time| *time <= end));
    }
    times.retain(|time| (0..=end).contains(time));
    times.sort_unstable();
    times.dedup();
    let waits = times.into_iter().map(|time| {
        let later = loads.iter().filter(|(_, due)| due - time > deadline);
        let in_front = later.map(|(load, _)| load.cost).max().unwrap_or(0);
        let begin = begin(loads, in_front.max(lower) - cost, deadline, time);
        begin - time
    });
    waits.max().unwrap_or(0)
}

/// Returns the least time, at least `time`, at which all work that goes first has been served.
fn begin(loads: &[(Load, i64)], base: i64, deadline: i64, time: i64) -> i64 {
    let mut begin = time;
    loop {
        let counted = loads.iter().filter_map(|(load, due)| {
            let last = time.saturating_add(deadline - due);
            (last >= 0).then(|| work(load, last.min(begin)))
        });
        let needed = base + counted.sum::<i64>();
        if needed <= begin {
            return begin;
        }
        begin = needed;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(cost: i64, period: i64, jitter: i64) -> Load {
        Load { jitter, ..Load::periodic(cost, period) }
    }

    /// Oracle: by hand.
    #[test]
    fn waits_of_two_flows_by_hand() {
        // The urgent one waits for one packet of the other, which waits for one urgent packet.
        let two = [(load(1, 4, 0), 2), (load(3, 10, 0), 10)];
        assert_eq!(waits(&two, 0), Ok(vec![3, 1]));
        // A packet that is due last may be in front of both. Then both wait for it, and the other
        // flow for two urgent packets, at 0 and 4, because otherwise it would begin at 5 + 1 = 6.
        assert_eq!(waits(&two, 5), Ok(vec![5, 7]));
        // Jitter of a period: two urgent packets at once; the second also waits for the first.
        let two = [(load(1, 4, 4), 2), (load(3, 10, 0), 10)];
        assert_eq!(waits(&two, 0), Ok(vec![4, 2]));
    }

    /// Oracle: with equal deadlines this is the order of arrival, whose waits are by hand.
    #[test]
    fn equal_deadlines_are_order_of_arrival() {
        let three = [(load(2, 20, 0), 9), (load(3, 20, 0), 9), (load(4, 20, 0), 9)];
        assert_eq!(waits(&three, 0), Ok(vec![7, 6, 5]));
        // In the worst case a longer packet without a deadline is in front.
        assert_eq!(waits(&three, 6), Ok(vec![13, 12, 11]));
    }

    #[test]
    fn what_has_no_limit_has_no_wait() {
        let full = [(load(1, 2, 0), 9), (load(1, 2, 0), 9)];
        // Full, but not more: one packet of the other flow is in front.
        assert_eq!(waits(&full, 0), Ok(vec![1, 1]));
        let more = [(load(1, 2, 0), 9), (load(2, 3, 0), 9)];
        assert_eq!(waits(&more, 0), Err(Unbounded::Overload(1_166_667)));
        let endless = [(load(1, 2, INFINITE), 9)];
        assert_eq!(waits(&endless, 0), Err(Unbounded::Visit(0)));
        // Close to full load, the busy period is long but finite.
        let nearly = [(load(999, 1_000, 0), 9), (load(1_000, 10_000_000, 0), 5)];
        let found = waits(&nearly, 0).unwrap();
        assert!(found[0] >= 1_000 && found[1] == 999, "{found:?}");
    }

    /// Oracle: schedules of small plants, drawn at random and followed packet by packet.
    #[test]
    fn no_schedule_waits_longer() {
        let mut seed = 7u64;
        let mut draw = |below: i64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            i64::try_from(seed >> 33).unwrap() % below
        };
        let mut tight = 0;
        for _ in 0..300 {
            let flows: Vec<(Load, i64)> =
                (0..3).map(|_| (load(1 + draw(4), 12 + draw(6), draw(9)), 1 + draw(20))).collect();
            let bounds = waits(&flows, 0).unwrap();
            let mut most = [0; 3];
            for _ in 0..60 {
                let mut packets = Vec::new();
                for (index, (load, due)) in flows.iter().enumerate() {
                    let phase = draw(load.period);
                    let late = draw(load.jitter + 1);
                    for n in 0..4 {
                        // The first is late, the others are not: they come close together.
                        let lateness = if n == 0 { late } else { draw(load.jitter + 1) };
                        packets.push((phase + n * load.period + lateness, index, *due));
                    }
                }
                packets.sort_unstable();
                let seen = schedule(&flows, packets);
                for (most, seen) in most.iter_mut().zip(seen) {
                    *most = seen.max(*most);
                }
            }
            for (seen, bound) in most.iter().zip(&bounds) {
                assert!(seen <= bound, "{flows:?}: {seen} of {bound}");
                tight += i64::from(seen == bound);
            }
        }
        // Random schedules reach the worst case in many plants.
        assert!(tight > 100, "{tight}");
    }

    /// Returns the longest wait of each flow for these packets, which are in order of arrival.
    fn schedule(flows: &[(Load, i64)], packets: Vec<(i64, usize, i64)>) -> [i64; 3] {
        let mut waiting: Vec<(i64, i64, usize)> = Vec::new();
        let mut arriving = packets.into_iter().peekable();
        let (mut now, mut longest) = (0, [0; 3]);
        loop {
            while let Some((at, flow, due)) = arriving.next_if(|packet| packet.0 <= now) {
                waiting.push((at + due, at, flow));
            }
            let Some(&first) = waiting.iter().min() else {
                let Some(next) = arriving.peek() else {
                    return longest;
                };
                now = next.0;
                continue;
            };
            waiting.retain(|packet| *packet != first);
            let (_, at, flow) = first;
            longest[flow] = (now - at).max(longest[flow]);
            now += flows[flow].0.cost;
        }
    }
}
