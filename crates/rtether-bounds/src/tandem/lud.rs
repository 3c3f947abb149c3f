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

use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use alloc::collections::btree_map::Entry;
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::ops::RangeInclusive;

use crate::curve::{Affine, ONE};
use crate::tandem::path::{Cross, Tandem, time};

/// Divisors of a burst to try as its extra delay.
const FRACTIONS: [i128; 3] = [8, 2, 1];

/// Cross flows with the same ports; no two of these overlap in part.
struct Nested<'a> {
    cross: Cow<'a, Cross>,
    extra: i64,
}

/// Returns the longest time from the latest arrival of a packet at the first port to the beginning
/// of its last transmission; `None` if it has no bound.
pub(crate) fn nested(tandem: &Tandem) -> Option<i64> {
    if !tandem.is_in_order {
        return None;
    }
    let mut all = nest(&tandem.equal);
    let mut services = Services::new(tandem);
    let mut best = services.delay(&all)?;
    for index in 0..all.len() {
        let burst = all[index].cross.bursts[0];
        for part in FRACTIONS {
            let before = all[index].extra;
            all[index].extra = time(burst / part, ONE);
            match services.delay(&all) {
                Some(found) if found < best => best = found,
                _ => all[index].extra = before,
            }
        }
    }
    Some(best)
}

/// Flows that are not nested yet, by their first and last port; outer ones first.
type Left<'a> = BTreeMap<(usize, Reverse<usize>), Cow<'a, Cross>>;

/// Cuts flows so that of two with a common port one has all ports of the other; outer ones first.
fn nest(flows: &[Cross]) -> Vec<Nested<'_>> {
    let mut left = Left::new();
    for flow in flows {
        put(&mut left, Cow::Borrowed(flow));
    }
    let (mut open, mut all): (Vec<usize>, Vec<Nested>) = (Vec::new(), Vec::new());
    while let Some((_, cross)) = left.pop_first() {
        while open.last().is_some_and(|&last| last < cross.first) {
            open.pop();
        }
        let (first, last) = (cross.first, cross.last());
        match open.last() {
            Some(&end) if end < last => {
                put(&mut left, Cow::Owned(cross.part(first, end)));
                put(&mut left, Cow::Owned(cross.part(end + 1, last)));
            }
            _ => {
                open.push(last);
                all.push(Nested { cross, extra: 0 });
            }
        }
    }
    all
}

/// Puts a flow to those with the same ports.
fn put<'a>(left: &mut Left<'a>, flow: Cow<'a, Cross>) {
    match left.entry((flow.first, Reverse(flow.last()))) {
        Entry::Occupied(mut same) => same.get_mut().to_mut().add(&flow),
        Entry::Vacant(place) => {
            place.insert(flow);
        }
    }
}

/// A service: zero up to `delay`, then the minimum of the parts from `first` on as functions of the
/// time since.
struct Service {
    delay: i64,
    first: usize,
}

/// Memory for the services of a tandem, which are evaluated often: nothing is allocated for one.
struct Services<'a> {
    tandem: &'a Tandem,
    /// Parts of all services that are not complete yet, outer ones first.
    parts: Vec<Affine>,
    /// Gaps between the ports of each of them, in the same order.
    gaps: Vec<i64>,
}

impl<'a> Services<'a> {
    fn new(tandem: &'a Tandem) -> Self {
        Self { tandem, parts: Vec::new(), gaps: Vec::new() }
    }

    /// Returns the longest time to the beginning of the last transmission, with the extra times of
    /// these flows.
    fn delay(&mut self, flows: &[Nested<'_>]) -> Option<i64> {
        self.parts.clear();
        self.gaps.clear();
        let own = self.tandem.gaps.iter().map(|gap| gap[1]);
        self.gaps.extend(own);
        let service = self.of(0..=self.tandem.ports.len() - 1, flows, 0)?;
        let rate = self.parts.iter().map(|part| part.rate).min()?;
        let busy = |own| Some(self.busy(&service, own));
        self.tandem.longest(rate, busy)
    }

    /// Returns the service of some ports without the flows, all of which are inside, for the
    /// remaining flows, whose gaps between these ports begin at `gaps`.
    fn of(
        &mut self,
        ports: RangeInclusive<usize>,
        flows: &[Nested<'_>],
        gaps: usize,
    ) -> Option<Service> {
        let (first, last) = ports.into_inner();
        let (mut at, mut rest) = (first, flows);
        let mut service = Service { delay: 0, first: self.parts.len() };
        while at <= last {
            if at > first {
                service.delay += self.gaps[gaps + at - 1 - first];
            }
            let own = rest.first().filter(|own| own.cross.first == at);
            let end = if let Some(own) = own {
                let end = own.cross.last();
                let is_inside = |flow: &&Nested<'_>| flow.cross.first <= end;
                let inside = rest.iter().take_while(is_inside).count();
                let longer = self.gaps.len();
                for (gap, own) in own.cross.gaps.iter().enumerate() {
                    let before = self.gaps[gaps + at - first + gap];
                    self.gaps.push(own.longest.max(before));
                }
                let inner = self.of(at..=end, &rest[1..inside], longer)?;
                self.gaps.truncate(longer);
                service.delay += self.leave_out(&inner, own)?;
                rest = &rest[inside..];
                end
            } else {
                service.delay += self.add_port(at)?;
                at
            };
            at = end + 1;
        }
        Some(service)
    }

    /// Adds the part of a port alone, and returns its delay.
    fn add_port(&mut self, at: usize) -> Option<i64> {
        let port = &self.tandem.ports[at];
        let rate = port.rate - port.high.rate;
        self.parts.push(Affine { burst: 0, rate });
        (rate > 0).then(|| time(port.high.burst + port.blocking, rate))
    }

    /// Returns the time after which this much work has begun.
    fn busy(&self, service: &Service, work: i128) -> i64 {
        let parts = self.parts[service.first..].iter();
        let parts = parts.map(|part| time(work - part.burst, part.rate));
        service.delay + parts.max().unwrap_or(0)
    }

    /// Leaves flows out of the last service, and returns its delay.
    fn leave_out(&mut self, service: &Service, flows: &Nested<'_>) -> Option<i64> {
        let (burst, rate) = (flows.cross.bursts[0], flows.cross.rate);
        let delay = self.busy(service, burst) + flows.extra;
        let later = i128::from(delay - service.delay);
        for part in &mut self.parts[service.first..] {
            part.burst += part.rate * later - burst;
            part.rate -= rate;
            if part.rate <= 0 {
                return None;
            }
        }
        Some(delay)
    }
}
