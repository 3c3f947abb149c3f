//! Least upper delay bound: nested cross flows in order of arrival (Lenzini, Mingozzi and Stea
//! 2008), for whole packets.
//!
//! **Counting.** `A(t)` is the work that came before `t`, `B(t)` the work of packets whose
//! transmission *began* before `t`, both in whole packets. A set of flows has service `f` over some
//! ports if for all `t` there is an `s <= t` with `B(t) >= A(s) + f(t - s)`, `A` at the first port
//! and `B` at the last one. A port of rate `R` has `R t`: the work begun is at least the work
//! done. Behind a packet of a lower class, of work `l`, and higher classes of burst `b` and rate
//! `r` it has `(R - r) t - b - l`.
//!
//! **In a row.** What begins at one port before `t` is at the next one before `t + G`, where `G` is
//! the longest gap of the flows that go on. So the services are concatenated with a delay of `G`
//! between them (Le Boudec and Thiran, 1.4.6). No port subtracts a packet from its service: the
//! only cost of whole packets is that flows which stay together count with their longest gap.
//!
//! **Leaving out a cross flow.** Let flows be served in order of arrival, with service `f`, and let
//! one of them have burst `b` and rate `r`. For each `d >= 0` the others have service
//! `max(0, f(t) - b - r (t - d))` for `t > d`, zero before.
//! *Proof* (after Le Boudec and Thiran, 6.2.1). Let `u` be the last time such that all packets that
//! came before it have begun before `t`. If `u > t - d`, the others have begun with all that came
//! before `t - d`. Otherwise take `s` with `B(t) >= A(s) + f(t - s)`. Since packets begin in their
//! order, all that came before `s` have begun, so that `s <= u`. The packets of the cross flow that
//! have begun came by `u <= t - d`, so their work is at most that of its packets before `s` plus
//! `b + r (t - d - s)`; the rest of `B(t)` belongs to the others and includes all of theirs that
//! came before `s`. The code checks that packets keep their order from port to port.
//!
//! **Delay.** With service `f` for a flow alone, a packet with `q` others in front that have come
//! at `s` or later begins once `f`, counted from the arrival of the first of them, exceeds their
//! work; see [`Tandem::longest`] for the rest.
//!
//! **Form.** All services here are `min_x (b_x + r_x (t - D))` for `t > D`. For two in a row, the
//! `D` are added and the parts are united. Leaving out a cross flow with `d = h + e`, where
//! `h = D + max_x (b - b_x) / r_x` is its own delay and `e >= 0`, gives the same form with `D = d`
//! and parts `b_x + r_x (d - D) - b` and `r_x - r`. Cross flows are left out from the innermost to
//! the outermost. Where two overlap and neither contains the other, the later one is cut, and its
//! second part begins with its burst there.
//!
//! **Choice.** Any `e` gives a bound, so every choice is evaluated exactly: there is no linear
//! program whose optimum would have to be repaired. `e = 0` and some fractions of the burst are
//! tried.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::cmp::Reverse;

use crate::curve::{Affine, ONE};
use crate::tandem::path::{Cross, Tandem, time};

/// Divisors of a burst to try as its extra delay.
const FRACTIONS: [i128; 3] = [8, 2, 1];

/// Zero up to `delay`, then the minimum of the parts as functions of the time since.
struct Service {
    delay: i64,
    parts: Vec<Affine>,
}

impl Service {
    /// Appends another service, `gap` later.
    fn then(mut self, gap: i64, next: Self) -> Self {
        self.delay += gap + next.delay;
        self.parts.extend(next.parts);
        self
    }

    /// Returns the time after which this much work has begun.
    fn busy(&self, work: i128) -> i64 {
        let parts = self
            .parts
            .iter()
            .map(|part| time(work - part.burst, part.rate));
        self.delay + parts.max().unwrap_or(0)
    }

    /// Leaves out a flow whose packets get `extra` time.
    fn without(&self, flow: Affine, extra: i64) -> Option<Self> {
        let delay = self.busy(flow.burst) + extra;
        let later = i128::from(delay - self.delay);
        let parts = self.parts.iter().map(|part| {
            let rate = part.rate - flow.rate;
            (rate > 0).then(|| Affine {
                burst: part.burst + part.rate * later - flow.burst,
                rate,
            })
        });
        let parts = parts.collect::<Option<Vec<Affine>>>()?;
        Some(Self { delay, parts })
    }
}

/// Cross flows with the same ports; no two of these overlap in part.
struct Nested {
    cross: Cross,
    extra: i64,
}

/// Returns the longest time from the latest arrival of a packet at the first port to the beginning
/// of its last transmission; `None` if it has no bound.
pub(crate) fn nested(tandem: &Tandem) -> Option<i64> {
    if !tandem.is_in_order {
        return None;
    }
    let mut all = nest(&tandem.equal);
    let mut best = delay(tandem, &all)?;
    for index in 0..all.len() {
        let burst = all[index].cross.bursts[0];
        for part in FRACTIONS {
            let before = all[index].extra;
            all[index].extra = time(burst / part, ONE);
            match delay(tandem, &all) {
                Some(found) if found < best => best = found,
                _ => all[index].extra = before,
            }
        }
    }
    Some(best)
}

/// Cuts flows so that of two with a common port one has all ports of the other; outer ones first.
fn nest(flows: &[Cross]) -> Vec<Nested> {
    let mut left: BTreeMap<(usize, Reverse<usize>), Cross> = BTreeMap::new();
    let put = |left: &mut BTreeMap<_, Cross>, flow: Cross| {
        let key = (flow.first, Reverse(flow.last()));
        match left.get_mut(&key) {
            Some(same) => same.add(&flow),
            None => {
                left.insert(key, flow);
            }
        }
    };
    for flow in flows {
        put(&mut left, flow.clone());
    }
    let (mut open, mut all): (Vec<usize>, Vec<Nested>) = (Vec::new(), Vec::new());
    while let Some((_, cross)) = left.pop_first() {
        while open.last().is_some_and(|&last| last < cross.first) {
            open.pop();
        }
        let (first, last) = (cross.first, cross.last());
        match open.last() {
            Some(&end) if end < last => {
                put(&mut left, cross.part(first, end));
                put(&mut left, cross.part(end + 1, last));
            }
            _ => {
                open.push(last);
                all.push(Nested { cross, extra: 0 });
            }
        }
    }
    all
}

fn delay(tandem: &Tandem, flows: &[Nested]) -> Option<i64> {
    let gaps: Vec<i64> = tandem.gaps.iter().map(|gap| gap[1]).collect();
    let service = service(tandem, 0, tandem.ports.len() - 1, flows, &gaps)?;
    let rate = service.parts.iter().map(|part| part.rate).min()?;
    tandem.longest(rate, |own| Some(service.busy(own)))
}

/// Returns the service of ports `first..=last` without the flows, all of which are inside, for the
/// remaining flows with `gaps` between ports.
fn service(
    tandem: &Tandem,
    first: usize,
    last: usize,
    flows: &[Nested],
    gaps: &[i64],
) -> Option<Service> {
    let (mut at, mut rest) = (first, flows);
    let mut all: Option<Service> = None;
    while at <= last {
        let (next, end) = match rest.first() {
            Some(own) if own.cross.first == at => {
                let end = own.cross.last();
                let inside = rest
                    .iter()
                    .take_while(|flow| flow.cross.first <= end)
                    .count();
                let mut longer = gaps.to_vec();
                for (gap, own) in longer[at..].iter_mut().zip(&own.cross.gaps) {
                    *gap = own.longest.max(*gap);
                }
                let inner = service(tandem, at, end, &rest[1..inside], &longer)?;
                rest = &rest[inside..];
                let flow = Affine {
                    burst: own.cross.bursts[0],
                    rate: own.cross.rate,
                };
                (inner.without(flow, own.extra)?, end)
            }
            _ => (port(tandem, at)?, at),
        };
        all = Some(match all {
            Some(before) => before.then(gaps[at - 1], next),
            None => next,
        });
        at = end + 1;
    }
    all
}

fn port(tandem: &Tandem, at: usize) -> Option<Service> {
    let port = &tandem.ports[at];
    let rate = port.rate - port.high.rate;
    (rate > 0).then(|| Service {
        delay: time(port.high.burst + port.blocking, rate),
        parts: alloc::vec![Affine { burst: 0, rate }],
    })
}
