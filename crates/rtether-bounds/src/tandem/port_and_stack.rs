//! The last port on a way and the receive stack behind it, taken together; so are a port and the
//! processor of a router behind it.
//!
//! Place by place, a burst that waits at the port waits once more at the stack, together with what
//! the jitter of its first wait lets come besides. But while it waits at the port the stack serves
//! what is through: each packet but one delays the packet looked at by one of its two services.
//!
//! **Places.** The port sends in order of arrival, or the highest queue first. The stack (or the
//! router, always in order of arrival) serves in order of arrival, or the highest class first, with
//! preemption or without. Neither is idle while a packet waits. Let `x` be a packet of queue `q`
//! that goes to class `k` of the stack. *Through* are the packets that the port sends from queues
//! `>= q` to classes `>= k`. Let `c` and `s` be the longest services of a packet at the port and at
//! the stack, `g` its longest time from the beginning of its transmission to its arrival at the
//! stack, and `m` the larger of `c` and `s` if it is through, `c` if it is not. `x` has `m_x` and
//! `g_x`. It comes to the port no later than at `L`, and to the stack no later than at `L + D`.
//!
//! **Theorem.** Let `a(t)` be the sum of
//! - `m` over the packets of queue `q`, but those through to classes above `k`, that come to the
//!   port in a closed window of length `t`,
//! - `s` over the packets of class `k` that come to the stack in one of length `t + D` and are not
//!   through,
//!
//! and `h(t)` the sum of
//! - `m` over all other packets of queues `>= q` that come to the port in one of length `t`,
//! - `s` over the packets of classes above `k` that come to the stack in it and are not through.
//!
//! Let `B` be the longest `c` of a queue below `q`, plus, unless the stack preempts, the longest
//! `s` of a class below `k`. Let `E` be the larger of `g_x` and the largest `min(g, g + s - c)` of
//! the packets that are through. The service of `x` at the stack begins at most `sup_t (f(t) - t)`
//! after `L`, where `f(t)` is the least `f` not before `t` with `f = B + E + a(t) - m_x + h(f)`. If the stack
//! preempts, `x` is complete by then with `m_x - s_x` in place of `m_x`.
//!
//! *Proof.* Let the service of `x` at the stack begin (if it preempts, end) at `F`. Let `v` be the
//! last time, not after the arrival of `x` at the stack, before which no packet of classes `>= k`
//! was there. Let `y` be the first packet in the order of transmissions that is through and comes
//! to the stack at `v` or later; there is one, since `x` does. Let `b` be the beginning of its
//! transmission, and `u <= b` the last time before which no packet of queues `>= q` was at the
//! port.
//! (1) From `u` to `b` the port sends packets of queues `>= q`, which have come at `u` or later,
//! behind at most one of a lower queue.
//! (2) From `v` to `F` the stack serves packets of classes `>= k`, which have come at `v` or later,
//! behind at most one of a lower class unless it preempts. Those of them that are through begin at
//! the port at `b` or later, by the choice of `y`. So none of them is one of (1), and they have
//! come to the port at `u` or later, since none was there at `u`.
//! (3) `v` is at most `b + g_y`, when `y` is at the stack.
//! Let `w` be the earlier of `u` and `v`. If it is `u`, then `F - w` is at most
//! `(b - u) + g_y + (F - v)`, and otherwise it is `F - v`. So it is at most `g_y`, the work of (1)
//! and (2), and one packet of a lower queue and one of a lower class. Packets that are not through
//! have `c` in (1), `s` in (2), or both, which come as two sums; each other packet has one of the
//! two, at most `m`, but `y` has `g_y` and its service in (2). These are at most
//! `min(g, g + s - c) + m`; if `y` is `x`, its service is not in front and only `g_x` counts. In
//! any case it is at most `E` besides an `m` for each packet but `x`.
//!
//! When do they come? Those of queue `q` in (1) were sent before `y`, so not after `x`, and have
//! come before it. Those of queue `q` and class `k` in (2) come to the stack before `x`; they were
//! sent before it, since none overtakes another one on this link, and have come to the port before
//! it. All these came in `[w, L]`, and with `x` they are the first sum of `a(L - w)`. Other packets
//! of class `k` in (2) come to the stack before `x`, in `[w, L + D]`, unless they are of a higher
//! queue; these and all others came in `[w, F]`: they are the rest of `a(L - w)`, and `h(F - w)`.
//!
//! Now let `T` be any time from `L` to before `F`. If it is not before `v`, the stack has worked
//! from `v` to `T` and has more to do of what counts and has come by then. Otherwise `w` is `u`,
//! and if `y` is being sent, `T - u` is less than `(b - u) + g_y`, where all that was sent has come
//! by `T`, and so has `y`; if not, the port has sent from `u` to `T` and has more to send that has
//! come. In each case `f = T - w` is less than `B + E + a(L - w) - m_x + h(f)`. So no `f` from
//! `L - w` to before `F - w` is a solution, and with `t = L - w`, `F - L` is at most `f(t) - t`.
//! QED
//!
//! The supremum is over all times ([`crate::wait::Class::is_whole`]). Where packets come to the
//! port by a line, that limits which of them come, with `m` as well as with `c` for each. The bound
//! grows with the packets of the flow of `x` in front and with `t`, so that the theorem of
//! [`crate::tandem::sfa`] holds as well: the flow may come with the jitter of its release instead
//! of its own.
//!
//! **Shaped ports.** A queue with an idle slope has a share `r` of the rate behind a latency `d`,
//! whatever other queues do ([`crate::discipline`]): let `u` be the last time before which none of
//! its packets was there and nothing of the past held it back; the packet behind its work `w`
//! begins at `u + d + w / r` at the latest. Let only packets of this queue be through, and let
//! `c / r` stand for `c`, `d` for the longest `c` below `q`, and nothing else of the port count in
//! `h`. The proof holds as it is: this is (1), and the queue is empty at `u`. That the port holds
//! packets back behind `y` does not matter, since the stack is busy until it serves `x`; and if `y`
//! is not sent at `T`, all that is in front of it has come, so that `b - u` is at most `d` and its
//! work.
//!
//! **What is not through.** Other ports of the station, packets that it sends, and answers come to
//! the stack otherwise. So do packets that a limit on the way counts together with others, and
//! those whose number changes in between; all have both services. What is received by no stack has
//! `c` alone. That a packet may be lost behind the port, or discarded as a second copy, leaves work
//! out. A receive queue that holds frames back or promotes them, a port that takes turns, and a
//! link on which frames might come in another order have no such bound.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::cmp::Ordering;

use crate::curve::{Excess, Load};
use crate::discipline::{Discipline, Port};
use crate::evaluate::queues;
use crate::index::NONE;
use crate::plant::{Plant, Server, ServerKind, Visit};
use crate::service_curve::{ServiceCurve, Share};
use crate::solve::loads_among;
use crate::source::{INFINITE, add};
use crate::stack::Service;
use crate::tandem::path::is_port;
use crate::tandem::sfa::Separated;
use crate::wait::{Class, below_full};

/// A queue of a port, and a queue of the stack behind it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Crossing {
    port: u32,
    queue: u8,
    stack: u32,
    class: u8,
}

/// Waits at ports and the stacks behind them, kept for packets that meet the same ones.
pub(crate) struct Pairs<'a> {
    plant: &'a Plant,
    known: &'a Separated,
    crossings: BTreeMap<Crossing, Option<Arrivals>>,
}

impl<'a> Pairs<'a> {
    pub(crate) const fn new(plant: &'a Plant, known: &'a Separated) -> Self {
        Self { plant, known, crossings: BTreeMap::new() }
    }

    /// Returns the longest time from the latest release to `end` after the beginning of the last
    /// service, other places one by one; `None` if nothing is gained.
    pub(crate) fn latency(&mut self, way: &[u32], end: i64) -> Option<i64> {
        let (mut sum, mut is_better) = (end, false);
        let mut rest = way;
        while let Some((&visit, behind)) = rest.split_first() {
            let gap = self.plant.visits[visit as usize].gap.max;
            let pair = behind.first().and_then(|&next| self.gaining([visit, next]));
            let wait = pair.unwrap_or(self.known.wait[visit as usize]);
            is_better |= pair.is_some();
            sum = add(sum, add(gap, wait));
            rest = if pair.is_some() { &behind[1..] } else { behind };
        }
        (is_better && sum < INFINITE).then_some(sum)
    }

    /// Returns the longest time from the latest arrival at the first of two visits to the beginning
    /// of service at the second one; `None` unless it is less than place by place.
    pub(crate) fn gaining(&mut self, visits: [u32; 2]) -> Option<i64> {
        let pair = Pair::new(self.plant, self.known, visits, None)?;
        let arrivals = self.crossings.entry(pair.at).or_insert_with(|| pair.arrivals());
        let found = pair.longest(arrivals.as_mut()?);
        found.filter(|&found| found < pair.one_by_one())
    }
}

/// Returns the longest time from the latest arrival at the first of two visits to the beginning of
/// service at the second one, if besides their flow only some come; these are in ascending order.
pub(crate) fn wait_among(
    plant: &Plant,
    known: &Separated,
    visits: [u32; 2],
    among: &[u32],
) -> Option<i64> {
    let pair = Pair::new(plant, known, visits, Some(among))?;
    pair.longest(&mut pair.arrivals()?)
}

/// What comes to the places of a crossing.
struct Arrivals {
    /// Of the theorem: what makes up `a` and `h`, and `B`.
    own: Vec<Load>,
    high: Vec<Load>,
    base: i64,
    /// Part of the rate of the port that the queue can count on.
    share: Share,
    /// Largest part of `E` of any packet that is through.
    entry: i64,
    /// Stack visits of what is through, by visits at the port.
    through: BTreeMap<u32, u32>,
    /// Results by gap, own work and service at the stack.
    found: BTreeMap<[i64; 3], Option<i64>>,
}

/// The visits of one packet to a port and to the stack behind it.
struct Pair<'a> {
    plant: &'a Plant,
    known: &'a Separated,
    visits: [u32; 2],
    at: Crossing,
    /// Flows that come besides its own; all if there is no list.
    among: Option<&'a [u32]>,
}

impl<'a> Pair<'a> {
    /// Returns the pair of two visits; `None` if the theorem says nothing of these places.
    fn new(
        plant: &'a Plant,
        known: &'a Separated,
        visits: [u32; 2],
        among: Option<&'a [u32]>,
    ) -> Option<Self> {
        let [port, stack] = visits.map(|visit| &plant.visits[visit as usize]);
        let at = Crossing {
            port: port.server,
            queue: port.queue,
            stack: stack.server,
            class: stack.queue,
        };
        let pair = Self { plant, known, visits, at, among };
        let is_processor =
            matches!(pair.stack().kind, ServerKind::Stack { .. } | ServerKind::Router(_));
        let is_served = pair.stack().obstacle.is_none() && pair.rank(stack).is_some();
        let is_sent = is_port(plant, visits[0]) || pair.is_shaped();
        (is_processor && is_served && is_sent && pair.is_through(stack)).then_some(pair)
    }

    fn port(&self) -> &Server {
        &self.plant.servers[self.at.port as usize]
    }

    /// Returns whether the queue of the port has a slope of its own.
    fn is_shaped(&self) -> bool {
        let port = self.port();
        let is_switch = matches!(port.kind, ServerKind::Switch(_));
        is_switch && port.obstacle.is_none() && port.discipline.is_shaped(self.at.queue)
    }

    fn stack(&self) -> &Server {
        &self.plant.servers[self.at.stack as usize]
    }

    fn visit(&self, visit: u32) -> &'a Visit {
        &self.plant.visits[visit as usize]
    }

    /// Returns whether the stack serves the packets of a visit after those of the class, in order
    /// of arrival with them, or before them.
    fn rank(&self, visit: &Visit) -> Option<Ordering> {
        self.stack().discipline.rank(self.at.class, visit.queue)
    }

    fn preempts(&self) -> bool {
        self.stack().discipline == Discipline::Preemptive
    }

    /// Returns whether the packets of a visit to the stack come from the queues of the port one by
    /// one, if their class counts.
    fn is_through(&self, stack: &Visit) -> bool {
        let port = self.plant.visits.get(stack.parent as usize);
        port.is_some_and(|port| {
            let is_here = port.server == self.at.port && self.counts(port);
            let is_new = stack.is_answer || stack.is_pure;
            let has_limit = port.limit != NONE || stack.limit != NONE;
            is_here && !is_new && !has_limit && port.frames == stack.frames
        })
    }

    /// Returns whether a visit to the port is one of the queue, or goes before it.
    fn counts(&self, port: &Visit) -> bool {
        port.queue == self.at.queue || port.queue > self.at.queue && !self.is_shaped()
    }

    /// Returns the visits to a place that count.
    fn visits_of(&self, place: u32) -> impl Iterator<Item = u32> {
        let own = self.visit(self.visits[0]).flow;
        self.plant.members.of(place).iter().copied().filter(move |&visit| {
            let flow = self.visit(visit).flow;
            self.among.is_none_or(|some| flow == own || some.binary_search(&flow).is_ok())
        })
    }

    /// Collects what comes to both places; `None` if frames of the queue may come in another order.
    fn arrivals(&self) -> Option<Arrivals> {
        let mut through = BTreeMap::new();
        let mut others = Vec::new();
        let mut lower = 0;
        for visit in self.visits_of(self.at.stack) {
            let own = self.visit(visit);
            if self.rank(own)? == Ordering::Less {
                let service = if self.preempts() { 0 } else { own.service.max() };
                lower = service.max(lower);
            } else if self.is_through(own) && !through.contains_key(&own.parent) {
                through.insert(own.parent, visit);
            } else {
                others.push(visit);
            }
        }
        if !self.keeps_order(&through) {
            return None;
        }
        let curve = self.curve()?;
        let port = self.visits_of(self.at.port).filter(|&visit| self.counts(self.visit(visit)));
        let port: Vec<u32> = port.collect();
        let entries = through.values().map(|&visit| self.entry(visit));
        let mut arrivals = Arrivals {
            own: Vec::new(),
            high: Vec::new(),
            base: add(curve.latency, lower),
            share: curve.share,
            entry: entries.max().unwrap_or(0),
            through,
            found: BTreeMap::new(),
        };
        self.add_port(&port, &mut arrivals);
        self.add_others(&others, &mut arrivals);
        Some(arrivals)
    }

    /// Returns what the queue of the port can count on, together with higher ones or alone.
    fn curve(&self) -> Option<ServiceCurve> {
        let port = self.port();
        let all: Vec<u32> = self.visits_of(self.at.port).collect();
        if !self.is_shaped() {
            let all = all.iter().map(|&visit| self.visit(visit));
            let below = all.filter(|visit| visit.queue < self.at.queue);
            let longest = below.map(|visit| visit.service.max()).max();
            return Some(port.curve.behind(longest.unwrap_or(0)));
        }
        let loads: Vec<Load> = self.loads(&all).collect();
        let queues = queues(self.plant, &loads);
        let (visits, curve) = (self.plant, port.curve);
        let own = Port { visits, curve, loads: &loads, queues: &queues, is_whole: true };
        port.discipline.slope(&own, self.at.queue)
    }

    /// Adds what comes to the port.
    fn add_port(&self, visits: &[u32], arrivals: &mut Arrivals) {
        for load in self.loads(visits) {
            let port = self.visit(load.visit);
            let stack = arrivals.through.get(&load.visit).map(|&visit| self.visit(visit));
            let rank = stack.and_then(|stack| self.rank(stack));
            let is_own = port.queue == self.at.queue && rank != Some(Ordering::Greater);
            let slow = arrivals.share.slow_down(&load);
            let load = stack.map_or(slow, |stack| {
                let line = line(&load, &port.service, &stack.service);
                longer(&slow, line, &stack.service)
            });
            if is_own { arrivals.own.push(load) } else { arrivals.high.push(load) }
        }
    }

    /// Adds what comes to the stack otherwise. A place that leads to both counts in one line only.
    fn add_others(&self, visits: &[u32], arrivals: &mut Arrivals) {
        let port = arrivals.own.iter().chain(&arrivals.high).map(|load| load.group);
        let port: BTreeSet<u32> = port.collect();
        let delay = self.longest_delay(&arrivals.through);
        for load in self.loads(visits) {
            let group = if port.contains(&load.group) { NONE } else { load.group };
            let load = Load { group, ..load };
            if self.rank(self.visit(load.visit)) == Some(Ordering::Equal) {
                let [jitter, slack] = [load.jitter, load.slack].map(|own| add(own, delay));
                arrivals.own.push(Load { jitter, slack, ..load });
            } else {
                arrivals.high.push(load);
            }
        }
    }

    /// Returns the longest time from the latest arrival of a packet of the queue at the port to its
    /// arrival in the class of the stack.
    fn longest_delay(&self, through: &BTreeMap<u32, u32>) -> i64 {
        let own = through.iter().filter(|&(&port, &stack)| {
            let is_in_order = self.rank(self.visit(stack)) == Some(Ordering::Equal);
            is_in_order && self.visit(port).queue == self.at.queue
        });
        let delays = own
            .map(|(&port, &stack)| add(self.known.wait[port as usize], self.visit(stack).gap.max));
        delays.max().unwrap_or(0)
    }

    /// Returns the loads of visits, by their rates alone.
    fn loads(&self, visits: &[u32]) -> impl Iterator<Item = Load> + use<> {
        let mut loads = Vec::new();
        let now = (&self.known.jitter[..], &self.known.drift[..]);
        loads_among(self.plant, now, visits, &mut loads);
        loads.into_iter().map(|load| Load { in_flight: 0, connection: NONE, ..load })
    }

    /// Returns `g - c` of a visit to the stack, which is the same for all sizes of its packets:
    /// both grow by the same time for each octet.
    fn lag(&self, stack: &Visit) -> i64 {
        stack.gap.max - self.visit(stack.parent).service.max()
    }

    /// Returns `min(g, g + s - c)` of a visit to the stack.
    fn entry(&self, visit: u32) -> i64 {
        let stack = self.visit(visit);
        stack.gap.max.min(self.lag(stack) + stack.service.max())
    }

    /// Returns whether a frame of the queue comes to the stack before the next one, even if that is
    /// sent at once. What is constant is that of the link, and the same for all of them.
    fn keeps_order(&self, through: &BTreeMap<u32, u32>) -> bool {
        let own = through.iter().filter(|&(&port, _)| self.visit(port).queue == self.at.queue);
        let own = own.map(|(_, &stack)| self.visit(stack));
        let last = own.clone().map(|stack| self.lag(stack) - stack.gap.constant).max();
        let next = own.map(|stack| stack.gap.min).min();
        last < next
    }

    /// Returns the time place by place.
    fn one_by_one(&self) -> i64 {
        let [port, stack] = self.visits.map(|visit| self.known.wait[visit as usize]);
        add(add(port, self.visit(self.visits[1]).gap.max), stack)
    }

    /// Returns the longest time from the latest arrival at the port to the beginning of service at
    /// the stack.
    fn longest(&self, arrivals: &mut Arrivals) -> Option<i64> {
        let [port, stack] = self.visits;
        if arrivals.through.get(&port) != Some(&stack) {
            return None;
        }
        let own = self.visit(stack);
        let key = [own.gap.max, self.own_work(arrivals.share), own.service.max()];
        let known = arrivals.found.get(&key).copied();
        let together = known.unwrap_or_else(|| self.evaluate(arrivals, None));
        arrivals.found.insert(key, together);
        let release = self.plant.source_of(port).jitter;
        let alone = self.may_gain(together).then(|| self.evaluate(arrivals, Some(release)));
        together.into_iter().chain(alone.flatten()).min()
    }

    /// Returns what is not in front of the packet of its own work.
    fn own_work(&self, share: Share) -> i64 {
        let [port, stack] = self.visits.map(|visit| self.visit(visit).service);
        let preempts = self.preempts();
        let [small, large] = ends(&port, &stack).map(|[c, s]| {
            let longer = share.time_at_least(c).max(s);
            if preempts { longer - s } else { longer }
        });
        small.min(large)
    }

    /// Returns the supremum of the theorem, where the flow has this jitter if one is given.
    fn evaluate(&self, arrivals: &Arrivals, jitter: Option<i64>) -> Option<i64> {
        let stack = self.visit(self.visits[1]);
        let mut own = arrivals.own.clone();
        for load in own.iter_mut().filter(|load| load.visit == self.visits[0]) {
            load.jitter = jitter.unwrap_or(load.jitter);
        }
        let mut class = Class {
            base: add(arrivals.base, arrivals.entry.max(stack.gap.max)),
            own: &mut own,
            higher: &mut arrivals.high.clone(),
            costs: &[self.own_work(arrivals.share)],
            is_whole: true,
        };
        let found = below_full(&mut class).ok()?[0];
        let served = if self.preempts() { found - stack.service.max() } else { found };
        Some(served.max(stack.gap.max)).filter(|&served| served < INFINITE)
    }

    /// Returns whether the jitter of the release may mean fewer packets of the flow in front.
    fn may_gain(&self, together: Option<i64>) -> bool {
        let [port, stack] = self.visits;
        let source = self.plant.source_of(port);
        let jitter = self.known.jitter[port as usize];
        let Some(wait) = together.filter(|_| source.closed.is_none() && jitter < INFINITE) else {
            return false;
        };
        let reach = 2 * (wait + self.visit(stack).service.max());
        jitter > source.jitter && (jitter + reach) / source.period > source.jitter / source.period
    }
}

/// Returns the longest services at both places of the smallest and of the largest packet.
const fn ends(port: &Service, stack: &Service) -> [[i64; 2]; 2] {
    [[port.small[1], stack.small[1]], [port.large[1], stack.large[1]]]
}

/// Returns the work at the stack of packets that pass a line into the port, for each picosecond of
/// the place before: that at the port times the largest quotient of both services. A quotient of
/// functions that are linear in the size is largest at one end.
fn line(load: &Load, port: &Service, stack: &Service) -> i128 {
    let [small, large] = ends(port, stack).map(|[c, s]| {
        let (c, s) = (i128::from(c.max(1)), i128::from(s));
        load.ratio.saturating_mul(s).saturating_add(c - 1) / c
    });
    small.max(large)
}

/// Returns a load of the port whose packets bring the longer of both services.
fn longer(port: &Load, line: i128, stack: &Service) -> Load {
    Load {
        cost: port.cost.max(stack.max()),
        excess: Excess::NONE,
        least: port.least.max(stack.least_max()),
        ratio: port.ratio.max(line),
        ..*port
    }
}
