//! Flows with a limited number of packets under way, at any rate: bulk TCP with its window,
//! requests that wait for their answer.
//!
//! **Theorem.** Let a packet of a class arrive at `a`, let `C` be the work of all packets that such
//! flows of its class may have under way, `o(x)` the work of other flows of its class and `h(x)`
//! that of higher classes in a window of length `x`, and `base` any other work in front. With the
//! least `x = base + C + o(x) + h(x)` no packet stays longer than `x`.
//! *Proof* by induction over the packets of the class in their order. Each earlier one that is
//! still there at `a` has come after `a - x`, so the class has at most `C + o(x)` work there, the
//! packet included. Let `b <= a` be the last time before which no higher packet was there. Between
//! `b` and the end of its stay at `e` the place does at most: what was in service at `b`, the work
//! of the class at `a`, and what higher classes bring in between, `h(e - b)`; and it is busy all
//! the time. So `e - b` is at most the least `y` with `y = base + C + o(x) + h(y)`, which is `x`.
//! (If there are higher classes, `base` includes one packet of the class: it may be in service at
//! `b` and gone at `a`.) Higher flows must be limited by a rate, since their packets may come round
//! again.
//!
//! **TCP.** A bulk flow has at most `window / segment` whole segments, one shorter one (Nagle's
//! algorithm, RFC 896) and one without data under way, and no more than the segments of its longest
//! file, if nothing is retransmitted. Nothing is as long as a round trip with the longest delay of an acknowledgement
//! stays below the smallest retransmission timeout (RFC 6298, 5). This is checked on the bounds
//! themselves: the first retransmission would need an earlier delay beyond them. Packets of a flow
//! never overtake each other, so there are no duplicate acknowledgements either.
//!
//! **Both directions together.** Let no segment be lost, sent twice, or overtaken by another one. Then
//! the segments of a connection and its acknowledgements that are under way anywhere, stacks
//! included, are together at most as many as its segments not acknowledged at their sender, and one
//! without data. *Proof.* A segment with data under way has not been delivered, so it is not
//! acknowledged. An acknowledgement without data is sent only when data has come since the one before
//! it: at once behind some segment, or by the timer that such a segment has started; so it
//! acknowledges a segment that no earlier one does. While it is under way, that segment has been
//! delivered, and as acknowledgements keep their order, its sender does not know of it. So each
//! acknowledgement under way stands for another segment than those under way and than the other
//! acknowledgements. QED So at a place where a connection passes in both directions, `C` has the
//! larger work of a segment and an acknowledgement for each of them, not both. A line from one
//! direction says nothing about their sum, so the joint number takes the place of both directions
//! with their lines, and the shorter stay holds.
//!
//! It is a limit on what is there at one moment. During a wait the same connection may bring more, so
//! that it limits what a packet finds in its own class, and no higher class.
//!
//! **Messages over TCP.** The octets not acknowledged are consecutive and at most a window `W`. They
//! are cut after each message of `m` octets, into full segments of `s` octets, and where the window
//! ended: into at most `W / m + W / s + 2` segments. Acknowledgements without data under way are at
//! most as many as segments of the other direction, since each acknowledges another one. So with
//! answers the sum for both counts in each direction, and for both directions together.

use alloc::vec::Vec;

use crate::curve::{Affine, Load, ONE, Stairs, affordable, group, round_up};
use crate::index::NONE;
use crate::source::{INFINITE, add, times};

/// Largest number of staircase steps examined before token buckets are used instead.
const STEPS_MAX: i64 = 1 << 14;

/// Limits on the flows from one place.
struct Part {
    /// Most work under way, from flows limited in that way.
    constant: i128,
    /// The other flows.
    open: Vec<Load>,
    /// `None` if one of them is limited only by the line.
    bucket: Option<Affine>,
    line: Option<Affine>,
}

impl Part {
    /// Splits loads by the place they come from; `None` if some of them have no limit.
    fn split(loads: &mut [Load], has_constants: bool) -> Option<Vec<Self>> {
        let groups = group(loads);
        let parts = groups.into_iter().map(|found| {
            let own = &loads[found.range.clone()];
            let is_constant = |load: &&Load| has_constants && load.in_flight > 0;
            let constant = own.iter().filter(is_constant);
            let constant = constant.map(|load| i128::from(load.cost) * i128::from(load.in_flight));
            let constant = constant.fold(0, i128::saturating_add);
            let constant = constant.saturating_mul(ONE);
            let open = own.iter().filter(|load| !is_constant(load));
            let mut open: Vec<Load> = open.copied().map(|load| Load { group: 0, ..load }).collect();
            let bucket = match &group(&mut open)[..] {
                [] => Some(Affine::default()),
                [one] => one.bucket,
                _ => None,
            };
            let line = (found.number != NONE).then_some(found.line).flatten();
            (bucket.is_some() || line.is_some()).then_some(Self { constant, open, bucket, line })
        });
        parts.collect()
    }

    /// Returns the limit that holds in the long run.
    fn tail(&self) -> Affine {
        let bucket = self
            .bucket
            .map(|bucket| Affine { burst: bucket.burst.saturating_add(self.constant), ..bucket });
        let limits = [bucket, self.line].into_iter().flatten();
        limits.min_by_key(|limit| limit.rate).unwrap_or_default()
    }

    /// Returns the work in a closed window; `stairs` must be complete up to its length.
    fn at(&self, stairs: &Stairs, x: i64) -> i128 {
        let Some(_) = self.bucket else {
            return self.line.map_or(i128::MAX, |line| line.at(x));
        };
        let sum = self.constant.saturating_add(stairs.at(x));
        self.line.map_or(sum, |line| sum.min(line.at(x)))
    }
}

/// Returns the longest stay of a packet of the class `own` below the classes `higher`, service
/// included, or `None` if no bound was found; `base` is the work that may be in front regardless of
/// the class. Tried only where a flow of the class is limited by its packets under way.
pub(crate) fn longest_stay(base: i64, own: &mut [Load], higher: &mut [Load]) -> Option<i64> {
    if own.iter().all(|load| load.in_flight == 0) {
        return None;
    }
    let apart = stay(base, own, higher);
    if !has_both_directions(own) {
        return apart;
    }
    let base = add(base, under_way(own, |load| load.cost));
    let mut others: Vec<Load> = own.iter().filter(|own| own.in_flight == 0).copied().collect();
    // One of them may be in service when the last packet of a higher class comes.
    let longest = own.iter().map(|load| load.cost).max().unwrap_or(0);
    let in_front = if higher.is_empty() { 0 } else { longest };
    let together = least_stay(add(base, in_front), &mut others, higher);
    apart.into_iter().chain(together).min()
}

/// Returns whether a connection passes in both directions.
fn has_both_directions(loads: &[Load]) -> bool {
    let mut known: Vec<u32> = Vec::new();
    loads.iter().any(|load| {
        let is_second = known.contains(&load.connection);
        known.extend((load.in_flight > 0 && load.connection != NONE).then_some(load.connection));
        is_second && load.in_flight > 0
    })
}

/// Returns the most packets of flows limited by their packets under way, both directions of a
/// connection together; each counts what `worth` says.
pub(crate) fn under_way(loads: &[Load], worth: impl Fn(&Load) -> i64) -> i64 {
    let mut connections: Vec<(u32, i64)> = Vec::new();
    let mut sum = 0;
    for load in loads.iter().filter(|load| load.in_flight > 0) {
        let work = times(worth(load), load.in_flight);
        let known = connections.iter_mut().find(|known| known.0 == load.connection);
        match known.filter(|_| load.connection != NONE) {
            Some(known) if work > known.1 => {
                sum = add(sum, work - known.1);
                known.1 = work;
            }
            Some(_) => {}
            None => {
                sum = add(sum, work);
                connections.push((load.connection, work));
            }
        }
    }
    sum
}

/// Returns the longest stay with a number for each direction.
fn stay(base: i64, own: &mut [Load], higher: &mut [Load]) -> Option<i64> {
    let longest = own.iter().map(|load| load.cost).max().unwrap_or(0);
    let in_front = if higher.is_empty() { 0 } else { longest };
    least_stay(base.saturating_add(in_front), own, higher)
}

/// Returns the least `x = base + C + o(x) + h(x)`.
fn least_stay(base: i64, own: &mut [Load], higher: &mut [Load]) -> Option<i64> {
    if base >= INFINITE {
        return None;
    }
    let base = i128::from(base) * ONE;
    let mut parts = Part::split(own, true)?;
    parts.extend(Part::split(higher, false)?);
    let sum = parts.iter().map(Part::tail);
    let tail = sum.fold(Affine::default(), Affine::plus);
    if tail.rate >= ONE {
        return None;
    }
    let constants = parts.iter().map(|part| part.constant);
    let at_least = constants.fold(base, i128::saturating_add);
    let mut wanted = round_up(at_least.saturating_mul(4)).max(1_000);
    loop {
        let steps = parts.iter().flat_map(Part::limited);
        let horizon = affordable(&steps, wanted, STEPS_MAX);
        let stairs = parts.iter().map(|part| Stairs::new(part.limited(), horizon));
        let stairs: Vec<Stairs> = stairs.collect();
        let work = |x: i64| {
            let each = parts.iter().zip(&stairs).map(|(part, own)| part.at(own, x));
            round_up(each.fold(base, i128::saturating_add))
        };
        if let Some(stay) = least(work, horizon) {
            return Some(stay);
        }
        if horizon < wanted || horizon >= INFINITE {
            // Where the straight lines meet: at or above the true crossing.
            let stay = base.saturating_add(tail.burst) / (ONE - tail.rate) + 1;
            return i64::try_from(stay).ok().filter(|&stay| stay < INFINITE);
        }
        wanted = horizon.saturating_mul(4).min(INFINITE);
    }
}

impl Part {
    /// Returns the loads that have staircases.
    fn limited(&self) -> &[Load] {
        if self.bucket.is_some() { &self.open } else { &[] }
    }
}

/// Returns an `x` up to `horizon` with `work(x) <= x`: the least, or slightly more after 32 rounds.
fn least(work: impl Fn(i64) -> i64, horizon: i64) -> Option<i64> {
    let (mut x, mut stride) = (0, 0);
    for round in 0u32.. {
        let needed = work(x);
        if needed <= x {
            return Some(x);
        }
        if round > 32 {
            stride = 2 * stride + 1_000;
        }
        x = needed.max(x + stride);
        if x > horizon {
            return None;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(cost: i64, period: i64, in_flight: i64) -> Load {
        Load {
            jitter: if in_flight > 0 { INFINITE } else { 0 },
            in_flight,
            ..Load::periodic(cost, period)
        }
    }

    #[test]
    fn a_window_in_front_by_hand() {
        // Five segments of 10 under way and a packet of 4 every 30: x = 50 + 4 * (x / 30 + 1).
        // At 54 one more packet counts, at 58 no further one.
        let mut own = [load(10, 1, 5), load(4, 30, 0)];
        assert_eq!(longest_stay(0, &mut own, &mut []), Some(58));
    }

    #[test]
    fn both_directions_share_a_window_by_hand() {
        // Five segments of 10 or acknowledgements of 3 under way: at most 50, where each direction
        // alone would be 50 and 15. Another connection has five of 3.
        let of = |connection, load| Load { connection, ..load };
        let mut own = [of(7, load(10, 1, 5)), of(7, load(3, 1, 5)), of(8, load(3, 1, 5))];
        assert_eq!(longest_stay(0, &mut own, &mut []), Some(65));
        assert_eq!(under_way(&own, |load| load.cost), 65);
        assert_eq!(under_way(&own, |_| 1), 10);
        // A packet of 4 every 30 besides: at 69 the third has come.
        let mut own = [own[0], own[1], load(4, 30, 0)];
        assert_eq!(longest_stay(0, &mut own, &mut []), Some(58));
        // A connection whose number is not known counts each direction.
        let mut own = [load(10, 1, 5), load(3, 1, 5)];
        assert_eq!(longest_stay(0, &mut own, &mut []), Some(65));
    }
}
