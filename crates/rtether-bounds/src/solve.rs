//! The waits of all visits: place by place in the order of the flows, and repeatedly where flows
//! depend on each other in a cycle.
//!
//! The state is the jitter of every visit: the largest difference in time under way between two
//! packets of its flow on arrival here, plus that of the release. The waits at a place follow from
//! the jitters there; the jitter of the next visit is the jitter of this one plus the wait plus the
//! variation of the passage. All of these are monotonic.
//!
//! **Theorem.** Any jitters that are no smaller than those computed from them are valid, also in a
//! cycle. *Proof.* Take a run and assume that some wait exceeds its bound; let the first moment at
//! which this happens be at place `p`. All packets that have arrived at `p` by then have left the
//! previous places within their bounds, so their arrivals so far obey the curves used for the bound
//! at `p`, and the wait at a place depends on earlier arrivals alone: a contradiction. (The
//! fixed-point theorem of Thomas, Le Boudec and Mifdaoui, RTSS 2019, for events.)
//!
//! The search takes one component of places after the other, each after those that lead to it. A
//! place outside any cycle is evaluated once, with final arrivals. In a cycle the search begins at
//! zero and stops at a fixed point, not always the smallest, because larger steps may cut slow
//! convergence short; a separate second pass evaluates every place once more and compares.
//!
//! **What a change leaves valid.** The waits of a component are a function of its input: its
//! places, the visits there, the releases of their flows, how visits inside it follow each other,
//! and the jitters with which visits come from outside. If all of this equals an earlier solution,
//! so do the waits, and they are taken from there. *Proof.* The search in a component reads nothing
//! else, and the order in which it goes through the places depends only on the edges inside the
//! component; by induction over the components in their order, every jitter from outside is that of
//! a search from the beginning. So the solution is the same to the last picosecond, whether flows
//! or the network changed and in which direction.
//!
//! **Flows that wait for their answers.** While such a flow never gives up, a request passes each
//! place at least a whole round trip after the previous one, so its jitter is zero everywhere. The
//! flow never gives up if none of its packets is lost and the bound found in this way is below its
//! timeout, by the same argument on the first time-out. Where bit errors may destroy a request or
//! an answer it is assumed to give up ([`crate::plant`] does so before the search begins); that no
//! buffer overflows is the condition of all bounds. Otherwise the flow is assumed to give up at any
//! time. Flooded copies that reach no listener are not waited for; their jitter grows like that of
//! other flows.

mod warm_start;

use alloc::vec;
use alloc::vec::Vec;

use crate::components::Components;
use crate::curve::{Excess, JITTER_MAX, Load, ONE};
use crate::edit::Edit;
use crate::evaluate::{Scratch, evaluate};
use crate::index::NONE;
use crate::inherit::inherit;
use crate::output_limit::{self, Limit, Limited, Limiter};
use crate::plant::{Plant, Visit, group_of};
use crate::solution::{Before, Cause, Solution, Stage};
use crate::source::{INFINITE, add};
use crate::wait::{Unbounded, millionths};

/// Rounds through all places after which a cycle is given up.
const ROUNDS_MAX: u32 = 2_000;

/// Solves a plant, starting from the stages of an earlier one; returns all stages, at least one. Flows
/// that may give up waiting lose [`crate::source::Source::closed`].
pub(crate) fn solve_after(
    plant: &mut Plant,
    earlier: Option<(&Plant, &[Stage], &Edit)>,
) -> Vec<Stage> {
    let components = Components::new(plant);
    let mut stages: Vec<Stage> = Vec::new();
    loop {
        let same =
            earlier.and_then(|(plant, old, edit)| Some((plant, old.get(stages.len())?, edit)));
        // A stage that the earlier search did not have is compared with the stage before it.
        let before = match (same, stages.last()) {
            (Some(same), _) => Some(same),
            (None, Some(stage)) => Some((&*plant, stage, &Edit::NOTHING)),
            (None, None) => None,
        };
        let before = before.map(|(plant, stage, edit)| Before {
            plant,
            edit,
            sources: &stage.sources,
            solution: &stage.solution,
        });
        let solution = Solver::new(plant, components.clone(), before).run();
        let impatient = impatient(plant, &solution);
        stages.push(Stage { sources: plant.sources.clone(), solution });
        if impatient.is_empty() {
            return stages;
        }
        for flow in impatient {
            plant.sources[flow].closed = None;
        }
    }
}

/// Searches on in a solution of the same visits, except those of changed places, of which nothing
/// needs to be known; `components` are those of the solution and of the plant.
pub(crate) fn search_on(
    plant: &Plant,
    mut solution: Solution,
    (old, new): (&Components, Components),
    is_changed: Vec<bool>,
) -> Solution {
    let places = plant.servers.len();
    solution.evaluations = 0;
    solution.is_cyclic = new.has_cycle();
    solution.components = new;
    solution.is_kept = vec![false; places];
    let solver = Solver {
        plant,
        old: Some(old),
        is_changed,
        is_reached: vec![false; places],
        solution,
        scratch: Scratch::default(),
    };
    solver.run()
}

/// Returns the flows that were assumed to wait for their answers but may give up.
pub(crate) fn impatient(plant: &Plant, solution: &Solution) -> Vec<usize> {
    let mut flows = Vec::new();
    for stream in &plant.streams {
        let flow = stream.flow as usize;
        if let Some(timeout) = plant.sources[flow].closed {
            let is_in_time = latency(plant, solution, stream).is_some_and(|time| time < timeout);
            if !is_in_time {
                flows.push(flow);
            }
        }
    }
    flows
}

/// Returns the bound of a stream; `None` if it is infinite.
pub(crate) fn latency(
    plant: &Plant,
    solution: &Solution,
    stream: &crate::plant::Stream,
) -> Option<i64> {
    let (last, gap) = stream.end.as_ref().ok()?;
    arrival(plant, solution, *last, gap.max)
}

/// Returns the longest time from the release to `rest` after the beginning of service at a visit;
/// `None` if it is infinite.
pub(crate) fn arrival(plant: &Plant, solution: &Solution, last: u32, rest: i64) -> Option<i64> {
    let (mut sum, mut at) = (rest, last);
    while at != NONE {
        let visit = &plant.visits[at as usize];
        sum = add(sum, add(solution.wait[at as usize], visit.gap.max));
        at = visit.parent;
    }
    (sum < INFINITE).then_some(sum)
}

struct Solver<'a> {
    plant: &'a Plant,
    /// The components of an earlier search, if there was one.
    old: Option<&'a Components>,
    /// By place: whether something there has changed.
    is_changed: Vec<bool>,
    /// By place: whether a visit may arrive with another jitter than before.
    is_reached: Vec<bool>,
    solution: Solution,
    scratch: Scratch,
}

impl<'a> Solver<'a> {
    fn new(plant: &'a Plant, components: Components, before: Option<Before<'a>>) -> Self {
        let count = plant.visits.len();
        let places = plant.servers.len();
        let mut solution = Solution {
            jitter: vec![0; count],
            drift: vec![0; count],
            wait: vec![0; count],
            cause: vec![None; count],
            jitter_cause: vec![None; count],
            evaluations: 0,
            is_cyclic: components.has_cycle(),
            components,
            is_kept: vec![false; places],
        };
        let is_changed = match &before {
            Some(before) => inherit(plant, before, &mut solution),
            None => vec![true; places],
        };
        Self {
            plant,
            old: before.map(|before| &before.solution.components),
            is_changed,
            is_reached: vec![false; places],
            solution,
            scratch: Scratch::default(),
        }
    }

    fn run(mut self) -> Solution {
        let components = core::mem::take(&mut self.solution.components);
        for component in 0..components.len() {
            let places = components.places(component);
            let is_cyclic = components.is_cyclic(component);
            if self.old.is_none() {
                self.search(places, is_cyclic);
            } else {
                self.search_again(&components, component);
            }
        }
        self.solution.components = components;
        self.solution
    }

    /// Finds the waits of a component whose visits have none yet.
    fn search(&mut self, places: &[u32], is_cyclic: bool) {
        self.arrive(places, is_cyclic);
        self.evaluate(places, is_cyclic);
    }

    fn evaluate(&mut self, places: &[u32], is_cyclic: bool) {
        if is_cyclic {
            self.iterate(places);
            self.certify(places);
        } else {
            self.visit(places[0], false);
        }
    }

    /// Sets the jitters with which visits arrive at a component; inside it, they include the
    /// variation of the passages but no waits yet.
    fn arrive(&mut self, places: &[u32], is_cyclic: bool) {
        let plant = self.plant;
        if let ([place], false) = (places, is_cyclic) {
            for &visit in plant.members.of(*place) {
                self.pull(visit);
            }
            return;
        }
        let all = places.iter().flat_map(|&place| plant.members.of(place));
        let mut all: Vec<u32> = all.copied().collect();
        // Parents have smaller numbers.
        all.sort_unstable();
        for visit in all {
            self.pull(visit);
        }
    }

    /// Takes jitter and drift of a visit from its parent; returns whether either has grown.
    fn pull(&mut self, visit: u32) -> bool {
        let id = visit as usize;
        let visit = &self.plant.visits[id];
        let source = &self.plant.sources[visit.flow as usize];
        let jitter = if visit.parent == NONE && visit.gap.max == 0 {
            source.jitter
        } else if visit.parent == NONE {
            // It was held for an address.
            jitter_after(self.plant, source.jitter, id)
        } else {
            let parent = visit.parent as usize;
            let before = add(self.solution.jitter[parent], self.solution.wait[parent]);
            jitter_after(self.plant, before, id)
        };
        if !source.is_limited() {
            self.solution.jitter_cause[id] = Some(Cause::Flow(visit.flow));
        } else if jitter >= INFINITE && self.solution.jitter[id] < INFINITE {
            let parent = self.plant.visits.get(visit.parent as usize);
            let place = parent.map_or(visit.server, |parent| parent.server);
            let cause = |of: &[Option<Cause>]| of.get(visit.parent as usize).copied().flatten();
            let first = cause(&self.solution.cause).or(cause(&self.solution.jitter_cause));
            let beyond =
                if self.solution.is_cyclic { Cause::Cycle(place) } else { Cause::OutOfRange };
            self.solution.jitter_cause[id] = first.or(Some(beyond));
        }
        let wait = self.solution.wait.get(visit.parent as usize);
        let before = self.solution.drift.get(visit.parent as usize);
        let [before, wait] = [before, wait].map(|known| known.copied().unwrap_or(0));
        let drift = drift_after(self.plant, before, wait, id);
        let known = [self.solution.jitter[id], self.solution.drift[id]];
        self.solution.jitter[id] = jitter.max(known[0]);
        self.solution.drift[id] = drift.max(known[1]);
        jitter > known[0] || drift > known[1]
    }

    /// Iterates over a cycle until nothing changes.
    fn iterate(&mut self, places: &[u32]) {
        let mut round = 0;
        let mut has_changed = true;
        while has_changed {
            round += 1;
            has_changed = false;
            for &place in places {
                let mut is_due = round == 1;
                for &visit in self.plant.members.of(place) {
                    is_due |= self.pull(visit);
                }
                if is_due {
                    self.visit(place, round > ROUNDS_MAX);
                    has_changed = true;
                }
            }
        }
    }

    /// Evaluates a place.
    fn visit(&mut self, server: u32, is_given_up: bool) {
        self.solution.evaluations += 1;
        self.fill(server);
        evaluate(self.plant, server, &mut self.scratch);
        let members = self.plant.members.of(server);
        for (&visit, index) in members.iter().zip(0..) {
            let id = visit as usize;
            let (wait, cause) = match self.scratch.waits[index] {
                Ok(_) if is_given_up => (INFINITE, Some(Cause::Cycle(server))),
                Ok(wait) if wait >= INFINITE => (INFINITE, Some(Cause::OutOfRange)),
                Ok(wait) => (wait, None),
                Err(unbounded) => (INFINITE, Some(self.cause(server, unbounded))),
            };
            // Infinity is final, so that giving up terminates.
            if wait > self.solution.wait[id] {
                self.solution.wait[id] = wait;
                self.solution.cause[id] = cause;
            }
        }
    }

    fn cause(&self, server: u32, unbounded: Unbounded) -> Cause {
        match unbounded {
            Unbounded::Obstacle => Cause::Obstacle(server),
            Unbounded::Layer(part) => Cause::Layer(server, part),
            Unbounded::Overload(millionths) => Cause::Overload(server, millionths),
            Unbounded::Visit(visit) => {
                self.solution.jitter_cause[visit as usize].unwrap_or_else(|| {
                    // Limited, but out of range: too much in the long run, or at once.
                    let load = self.scratch.loads.iter().find(|load| load.visit == visit);
                    match load.map(Load::rate) {
                        Some(rate) if rate >= ONE => Cause::Overload(server, millionths(rate)),
                        _ => Cause::OutOfRange,
                    }
                })
            }
        }
    }

    fn fill(&mut self, server: u32) {
        let now = (&self.solution.jitter[..], &self.solution.drift[..]);
        loads_of(self.plant, now, server, &mut self.scratch.loads);
    }

    /// Evaluates the places of a cycle once more from the jitters found.
    ///
    /// # Panics
    /// If a wait or jitter exceeds the one found, which would be an error of the search.
    fn certify(&mut self, places: &[u32]) {
        for &server in places {
            self.fill(server);
            evaluate(self.plant, server, &mut self.scratch);
            let members = self.plant.members.of(server);
            for (&visit, found) in members.iter().zip(&self.scratch.waits) {
                let wait = found.unwrap_or(INFINITE);
                let id = visit as usize;
                assert!(wait <= self.solution.wait[id], "no fixed point at visit {id}");
            }
            for &visit in members {
                assert!(!self.pull(visit), "no fixed point before visit {visit}");
            }
        }
    }
}

/// Returns the jitter of a visit, where `before` is the jitter of its parent plus the wait there.
pub(crate) fn jitter_after(plant: &Plant, before: i64, visit: usize) -> i64 {
    let leads_on = plant.leads_on[visit];
    let visit = &plant.visits[visit];
    let source = &plant.sources[visit.flow as usize];
    if source.closed.is_some() && source.is_limited() && leads_on {
        return 0;
    }
    let sum = add(before, visit.gap.varies());
    if sum > JITTER_MAX { INFINITE } else { sum }
}

/// Returns the drift of a visit whose parent has this drift and wait.
pub(crate) fn drift_after(plant: &Plant, before: i64, wait: i64, visit: usize) -> i64 {
    let visit = &plant.visits[visit];
    let Some(limit) = plant.limit_of(visit) else {
        return 0;
    };
    limit.drift_after(before, wait, visit.gap.max - visit.gap.min)
}

/// Returns the least time that packets of a visit have been under way since their limit.
fn least_since_limit(plant: &Plant, visit: u32) -> i64 {
    let is_after = |visit: &&Visit| plant.limit_of(visit).is_some_and(|own| !own.begins);
    let way = plant.way_to(visit).take_while(is_after);
    way.map(|visit| visit.gap.min).fold(0, add)
}

/// Returns the loads of a place, in the order of its members, from jitter and drift of all visits.
pub(crate) fn loads_of(plant: &Plant, now: (&[i64], &[i64]), server: u32, out: &mut Vec<Load>) {
    loads_among(plant, now, plant.members.of(server), out);
}

/// The same for some of the members, in their order.
pub(crate) fn loads_among(
    plant: &Plant,
    (jitter, drift): (&[i64], &[i64]),
    members: &[u32],
    out: &mut Vec<Load>,
) {
    out.clear();
    for &id in members {
        let visit = &plant.visits[id as usize];
        let source = &plant.sources[visit.flow as usize];
        out.push(Load {
            cost: visit.service.max(),
            excess: Excess::NONE,
            least: visit.service.least_max(),
            period: source.period,
            burst: source.burst * visit.frames,
            packets: source.burst * visit.frames,
            jitter: jitter[id as usize],
            group: group_of(&plant.visits, visit),
            ratio: visit.ratio.unwrap_or(0),
            spacing: visit.spacing,
            slack: visit.slack,
            visit: id,
            lateness: jitter[id as usize],
            in_flight: match source.closed {
                Some(_) if plant.leads_on[id as usize] => source.in_flight * visit.frames,
                _ => 0,
            },
            connection: match source.closed {
                // Only connections are unlimited.
                Some(_) if !source.is_limited() => plant.first_visit(id),
                _ => NONE,
            },
            is_of_limit: false,
        });
    }
    if plant.limits.is_empty() {
        return;
    }
    let limited = members.iter().enumerate().filter_map(|(load, &id)| {
        let visit = &plant.visits[id as usize];
        let is_void = |limit: &&Limit| {
            limit.by == Limiter::Table && plant.sources[visit.flow as usize].closed.is_none()
        };
        Some(Limited {
            load,
            limit: plant.limit_of(visit).filter(|limit| !is_void(limit))?,
            service: &visit.service,
            queue: visit.queue,
            drift: drift[id as usize],
            least: least_since_limit(plant, id),
        })
    });
    output_limit::apply(limited, out);
}
