//! Requests and replies: a reply follows its own request.
//!
//! Total flow analysis takes the request and the reply of a flow for two flows. A reply that leaves
//! by the processor by which its request came then waits for that request, and a master that polls
//! many slaves gets all their replies at once. Three facts are missing there:
//!
//! 1. A packet waits for no other packet twice, nor for itself: [`twice`].
//! 2. Replies come back about as far apart as their requests were sent: [`echo`].
//! 3. What the packet saves in this way makes the jitter behind smaller, and so the waits of others.
//!
//! **State.** Waits and jitters as in [`crate::solve`], and for each second visit of a packet to a
//! place the longest wait at both visits together, `both`. Where a way is added up, `both` counts
//! instead of the two waits as soon as the second one is over: if they sum up to more, the rest is
//! *spared* in every sum that contains both of them. So the jitter behind a second visit is the
//! jitter of the first, plus `both`, plus the variation in between.
//!
//! **Theorem.** Waits, jitters and `both` that are no smaller than those computed from them are
//! valid. *Proof* as in [`crate::solve`], by the first moment at which a wait, or the sum of two,
//! exceeds its bound: each is computed from what happened before that moment. Bounds of the solution
//! are facts about every run, so they may take the place of larger ones at any time; and so may its
//! assumptions on flows that wait for their answers, which it has proved.
//!
//! The search begins at zero and goes through all places until nothing grows: the last round
//! certifies the rest. It begins at zero, not at the solution, because a short way is a reason for
//! itself: while it is below a period, no second request of the flow counts.

mod echo;
mod twice;

use alloc::vec;
use alloc::vec::Vec;

use crate::curve::{Load, group};
use crate::discipline::Discipline;
use crate::evaluate::{Scratch, evaluate};
use crate::index::NONE;
use crate::plant::{Plant, ServerKind, Stream};
use crate::solution::Solution;
use crate::solve::{drift_after, jitter_after, loads_of};
use crate::source::{INFINITE, add};
use echo::Echoes;
use twice::Twice;

/// Rounds through all places after which the search is given up.
const ROUNDS_MAX: u32 = 200;

/// Waits, jitters and drifts by visit, with requests and replies taken together.
pub(crate) struct Exchanges {
    pub(crate) wait: Vec<i64>,
    pub(crate) jitter: Vec<i64>,
    pub(crate) drift: Vec<i64>,
    /// Earlier visit of the same packet to the same place; [`NONE`] without one.
    first: Vec<u32>,
    /// Longest wait at that visit and this one together.
    both: Vec<i64>,
    echoes: Echoes,
}

impl Exchanges {
    /// Searches for smaller bounds than those of the solution; `None` if no flow has replies, or the
    /// search does not end.
    pub(crate) fn search(plant: &Plant, solution: &Solution) -> Option<Self> {
        if !plant.visits.iter().any(|visit| visit.is_answer) {
            return None;
        }
        let count = plant.visits.len();
        let mut found = Self {
            wait: vec![0; count],
            jitter: vec![0; count],
            drift: vec![0; count],
            first: first_visits(plant),
            both: vec![0; count],
            echoes: Echoes::new(plant),
        };
        if found.echoes.is_empty() && found.first.iter().all(|&first| first == NONE) {
            return None;
        }
        let is_done = (0..ROUNDS_MAX).any(|round| !found.grow(plant, solution, round == 0));
        is_done.then_some(found)
    }

    /// Returns the bound of a stream; `None` if it is infinite.
    pub(crate) fn latency(&self, plant: &Plant, stream: &Stream) -> Option<i64> {
        let (last, end) = stream.end.as_ref().ok()?;
        let wait = self.wait[*last as usize];
        let sum = add(add(self.arrival(plant, *last, NONE)?, wait), end.max);
        (sum < INFINITE).then(|| sum - self.spared(*last, NONE))
    }

    /// Goes through all places once; returns whether anything has grown.
    fn grow(&mut self, plant: &Plant, solution: &Solution, is_first: bool) -> bool {
        let mut has_grown = false;
        let mut scratch = Scratch::default();
        let components = &solution.components;
        for component in 0..components.len() {
            for &place in components.places(component) {
                let members = plant.members.of(place);
                let mut is_due = is_first || self.is_special(members);
                for &visit in members {
                    is_due |= self.pull(plant, solution, visit);
                }
                has_grown |= is_due && self.serve(plant, solution, place, &mut scratch);
            }
        }
        has_grown || is_first
    }

    /// Returns whether waits there depend on more than the jitters.
    fn is_special(&self, members: &[u32]) -> bool {
        let is_second = |&visit: &u32| self.first[visit as usize] != NONE;
        members.iter().any(is_second) || self.echoes.is_at(members)
    }

    /// Takes jitter and drift of a visit from its parent; returns whether either has grown.
    fn pull(&mut self, plant: &Plant, solution: &Solution, visit: u32) -> bool {
        let id = visit as usize;
        let parent = plant.visits[id].parent;
        let (jitter, drift) = if parent == NONE {
            (plant.source_of(visit).jitter, drift_after(plant, 0, 0, id))
        } else {
            let at = parent as usize;
            let before = add(self.jitter[at], self.wait[at]);
            let before =
                if before < INFINITE { before - self.spared(parent, NONE) } else { before };
            let drift = drift_after(plant, self.drift[at], self.wait[at], id);
            (jitter_after(plant, before, id), drift)
        };
        let jitter = jitter.min(solution.jitter[id]);
        let drift = drift.min(solution.drift[id]);
        let has_grown = jitter > self.jitter[id] || drift > self.drift[id];
        self.jitter[id] = jitter.max(self.jitter[id]);
        self.drift[id] = drift.max(self.drift[id]);
        has_grown
    }

    /// Evaluates a place; returns whether a wait there has grown.
    fn serve(
        &mut self,
        plant: &Plant,
        solution: &Solution,
        place: u32,
        scratch: &mut Scratch,
    ) -> bool {
        loads_of(plant, (&self.jitter, &self.drift), place, &mut scratch.loads);
        let members = plant.members.of(place);
        evaluate(plant, place, scratch);
        let mut waits: Vec<i64> = scratch.waits.iter().map(or_infinite).collect();
        let mut loads = vec![scratch.loads.clone()];
        if let Some(apart) = self.apart(plant, place, &scratch.loads) {
            scratch.loads.clone_from(&apart);
            evaluate(plant, place, scratch);
            for (wait, found) in waits.iter_mut().zip(&scratch.waits) {
                *wait = or_infinite(found).min(*wait);
            }
            loads.push(apart);
        }
        let mut has_grown = false;
        for (&visit, wait) in members.iter().zip(waits) {
            let id = visit as usize;
            let wait = wait.min(solution.wait[id]);
            has_grown |= wait > self.wait[id];
            self.wait[id] = wait.max(self.wait[id]);
        }
        self.serve_both(plant, place, &mut loads) || has_grown
    }

    /// Computes the waits at both visits of the packets that come for the second time.
    fn serve_both(&mut self, plant: &Plant, place: u32, loads: &mut [Vec<Load>]) -> bool {
        let members = plant.members.of(place);
        let second = |&&visit: &&u32| self.first[visit as usize] != NONE;
        let seconds: Vec<u32> = members.iter().filter(second).copied().collect();
        if seconds.is_empty() {
            return false;
        }
        let stays = members.iter().map(|&visit| {
            let cost = plant.visits[visit as usize].service.max();
            add(self.wait[visit as usize], cost)
        });
        let stay = stays.max().unwrap_or(0);
        let grouped: Vec<_> = loads.iter_mut().map(|own| (group(own), &own[..])).collect();
        let mut has_grown = false;
        for visit in seconds {
            let first = self.first[visit as usize];
            let between = self.arrival(plant, visit, first).unwrap_or(INFINITE);
            let reach = add(add(stay, self.wait[first as usize]), between);
            let is_alone = self.is_alone(plant, visit);
            let own = Twice::new(plant, [first, visit], reach, is_alone);
            let found = grouped.iter().filter_map(|(groups, loads)| own.longest(groups, loads));
            let found = found.min().unwrap_or(INFINITE);
            let both = &mut self.both[visit as usize];
            has_grown |= found > *both;
            *both = found.max(*both);
        }
        has_grown
    }

    /// Returns whether a packet of a flow is served at this visit before the next one is released.
    fn is_alone(&self, plant: &Plant, visit: u32) -> bool {
        let source = plant.source_of(visit);
        let (wait, cost) = (self.wait[visit as usize], plant.visits[visit as usize].service.max());
        let arrival = self.arrival(plant, visit, NONE).unwrap_or(INFINITE);
        let end = add(arrival, add(wait, cost));
        let is_in_time = end < INFINITE
            && end - self.spared(visit, NONE) <= source.period.saturating_sub(source.jitter);
        source.closed.is_some() || is_in_time
    }

    /// Returns the loads of a place with echoes as groups of their own; `None` if there are none.
    fn apart(&self, plant: &Plant, place: u32, loads: &[Load]) -> Option<Vec<Load>> {
        let members = plant.members.of(place);
        let delay = |visit: u32, origin: u32| self.arrival(plant, visit, origin);
        self.echoes.regroup(plant, members, loads, delay)
    }

    /// Returns the longest time from the beginning of service at the visit `from`, or from the
    /// release if that is [`NONE`], to the arrival at a later visit of the same packet.
    fn arrival(&self, plant: &Plant, to: u32, from: u32) -> Option<i64> {
        let (mut sum, mut at) = (0, to);
        loop {
            let visit = &plant.visits[at as usize];
            sum = add(sum, visit.gap.max);
            at = visit.parent;
            if at == from {
                return (sum < INFINITE).then_some(sum);
            }
            sum = add(sum, self.wait[at as usize]);
            if sum >= INFINITE {
                return None;
            }
            sum -= self.spared(at, from);
        }
    }

    /// Returns by how much the waits at this visit and its first one sum up to more than both take;
    /// zero if the first one is not after the visit `from`.
    pub(crate) fn spared(&self, visit: u32, from: u32) -> i64 {
        let (id, first) = (visit as usize, self.first[visit as usize]);
        if first == NONE || (from != NONE && first <= from) {
            return 0;
        }
        let sum = add(self.wait[first as usize], self.wait[id]);
        if sum < INFINITE { (sum - self.both[id]).max(0) } else { 0 }
    }
}

fn or_infinite<E>(wait: &Result<i64, E>) -> i64 {
    wait.as_ref().map_or(INFINITE, |&wait| wait.min(INFINITE))
}

/// Returns by visit the earlier visit of the same packet to the same place, if the place is a
/// processor that serves in order of arrival, and flow and packet come one by one.
fn first_visits(plant: &Plant) -> Vec<u32> {
    let mut first = vec![NONE; plant.visits.len()];
    for stream in plant.streams.iter().filter(|stream| stream.end.is_ok()) {
        let source = &plant.sources[stream.flow as usize];
        let Ok((last, _)) = stream.end else { continue };
        let mut at = last;
        while at != NONE && source.is_limited() && source.burst == 1 {
            let visit = &plant.visits[at as usize];
            let is_here = |earlier: &&u32| {
                let earlier = &plant.visits[**earlier as usize];
                earlier.server == visit.server && earlier.frames == 1 && visit.frames == 1
            };
            if serves_one_by_one(plant, visit.server) {
                let before: Vec<u32> = numbers(plant, visit.parent).collect();
                let mut here = before.iter().filter(is_here);
                // At a third visit the second would count twice.
                if let (Some(&earlier), None) = (here.next(), here.next()) {
                    first[at as usize] = earlier;
                }
            }
            at = visit.parent;
        }
    }
    first
}

/// Returns whether a place is a processor that serves in order of arrival.
fn serves_one_by_one(plant: &Plant, place: u32) -> bool {
    let server = &plant.servers[place as usize];
    let is_processor = matches!(
        server.kind,
        ServerKind::Stack { .. } | ServerKind::Router(_) | ServerKind::Tasks { .. }
    );
    is_processor && server.discipline == Discipline::Fifo && server.obstacle.is_none()
}

/// Returns the least time from the beginning of service at the visit `from` to the arrival at a
/// later visit of the same packet.
fn least_delay(plant: &Plant, to: u32, from: u32) -> i64 {
    let way = numbers(plant, to).take_while(|&at| at != from);
    way.map(|at| plant.visits[at as usize].gap.min).fold(0, add)
}

/// Returns the numbers of a visit and all visits before it, last first.
fn numbers(plant: &Plant, last: u32) -> impl Iterator<Item = u32> {
    let step = |&at: &u32| Some(plant.visits[at as usize].parent).filter(|&parent| parent != NONE);
    core::iter::successors(Some(last).filter(|&last| last != NONE), step)
}
