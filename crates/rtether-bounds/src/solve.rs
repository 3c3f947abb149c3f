//! The waits of all visits: place by place in the order of the flows, and round after round where
//! flows depend on each other in a cycle.
//!
//! The state is the jitter of every visit: how much longer than at the release a packet may have
//! been under way here than another one of its flow. The waits at a place follow from the jitters
//! there, and the jitter of the next visit is this one's plus the wait plus what the passage
//! varies. Everything grows with everything.
//!
//! **Theorem.** Any jitters that are no smaller than what they lead to are true, also in a cycle.
//! *Proof.* Take a run and assume that some wait exceeds its bound; let the first moment at which
//! one does so be at place `p`. All packets that have arrived at `p` by then have left the places
//! before within their bounds, so their arrivals so far obey the curves that the bound at `p` was
//! computed with, and the wait at a place depends on earlier arrivals alone: a contradiction. (The
//! fixed-point theorem of Thomas, Le Boudec and Mifdaoui, RTSS 2019, for events.)
//!
//! The search begins at zero and stops at a fixed point, not always the smallest, since waits may be
//! cut short by larger steps; a second, separate pass evaluates every place once more and compares.
//!
//! **Flows that wait for their answers.** While such a flow never gives up, a request passes each
//! place no earlier than a whole round trip after the one before, so its jitter is zero
//! everywhere. That it never gives up follows if nothing of it is lost and the bound found so is
//! below its timeout, by the same argument on the first time-out. Where bit errors may destroy a
//! request or an answer it gives up ([`crate::plant`] says so before the search begins); that no
//! memory runs full is the condition of all bounds. Otherwise the flow is taken to give up at will. Copies that
//! are flooded to where nobody answers are not waited for; their jitter grows as that of others.

use alloc::vec;
use alloc::vec::Vec;

use crate::curve::{JITTER_MAX, Load, ONE};
use crate::place::{Scratch, evaluate};
use crate::plant::{NONE, Plant, group_of};
use crate::source::{INFINITE, add};
use crate::wait::{Unbounded, millionths};

/// Rounds through all places after which a cycle is given up.
const ROUNDS_MAX: u32 = 2_000;

/// Why a wait is infinite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// Nothing is known of a place.
    Obstacle(u32),
    /// A place has too much to do: place, millionths.
    Overload(u32, u64),
    /// Nothing limits a flow.
    Flow(u32),
    /// No fixed point was found: place.
    Cycle(u32),
    /// A number is beyond exact arithmetic.
    OutOfRange,
}

/// Jitter and wait of every visit.
#[derive(Clone, Debug)]
pub(crate) struct Solution {
    pub(crate) jitter: Vec<i64>,
    pub(crate) wait: Vec<i64>,
    /// Given where the wait is infinite.
    pub(crate) cause: Vec<Option<Cause>>,
    pub(crate) evaluations: u64,
    pub(crate) is_cyclic: bool,
}

/// Solves a plant; flows that may give up waiting lose [`crate::source::Source::closed`].
pub(crate) fn solve(plant: &mut Plant) -> Solution {
    let (order, is_cyclic) = order(plant);
    let mut evaluations = 0;
    loop {
        let mut solver = Solver::new(plant, is_cyclic);
        solver.run(&order);
        if is_cyclic {
            solver.certify();
        }
        let mut solution = solver.solution;
        evaluations += solution.evaluations;
        let impatient = impatient(plant, &solution);
        if impatient.is_empty() {
            solution.evaluations = evaluations;
            return solution;
        }
        for flow in impatient {
            plant.sources[flow].closed = None;
        }
    }
}

/// Returns the flows that are taken to wait for their answers and may give up.
fn impatient(plant: &Plant, solution: &Solution) -> Vec<usize> {
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

/// Returns the bound of a stream, if it is finite.
pub(crate) fn latency(
    plant: &Plant,
    solution: &Solution,
    stream: &crate::plant::Stream,
) -> Option<i64> {
    let (last, gap) = stream.end.as_ref().ok()?;
    let mut sum = gap.max;
    let mut at = *last;
    while at != NONE {
        let visit = &plant.visits[at as usize];
        sum = add(sum, add(solution.wait[at as usize], visit.gap.max));
        at = visit.parent;
    }
    (sum < INFINITE).then_some(sum)
}

/// Returns the places such that each comes after those before it on the ways of flows, as far as
/// there are no cycles, and whether there are any.
fn order(plant: &Plant) -> (Vec<u32>, bool) {
    let count = plant.servers.len();
    let mut edges: Vec<(u32, u32)> = plant
        .visits
        .iter()
        .filter(|visit| visit.parent != NONE)
        .map(|visit| (plant.visits[visit.parent as usize].server, visit.server))
        .collect();
    edges.sort_unstable();
    edges.dedup();
    let first_of = |server: u32| edges.partition_point(|edge| edge.0 < server);
    // Depth first; a place is finished after all that follow it. 0: new, 1: open, 2: finished.
    let mut state = vec![0u8; count];
    let mut finished = Vec::with_capacity(count);
    let mut is_cyclic = false;
    for root in (0u32..).take(count) {
        if state[root as usize] != 0 {
            continue;
        }
        state[root as usize] = 1;
        let mut path = vec![(root, first_of(root))];
        while let Some((server, next)) = path.last_mut() {
            if let Some(&(_, to)) = edges.get(*next).filter(|edge| edge.0 == *server) {
                *next += 1;
                is_cyclic |= state[to as usize] == 1;
                if state[to as usize] == 0 {
                    state[to as usize] = 1;
                    path.push((to, first_of(to)));
                }
            } else {
                state[*server as usize] = 2;
                finished.push(*server);
                path.pop();
            }
        }
    }
    finished.reverse();
    (finished, is_cyclic)
}

struct Solver<'a> {
    plant: &'a Plant,
    solution: Solution,
    /// Why a jitter is infinite.
    jitter_cause: Vec<Option<Cause>>,
    is_due: Vec<bool>,
    scratch: Scratch,
}

impl<'a> Solver<'a> {
    fn new(plant: &'a Plant, is_cyclic: bool) -> Self {
        let count = plant.visits.len();
        let mut solver = Self {
            plant,
            solution: Solution {
                jitter: vec![0; count],
                wait: vec![0; count],
                cause: vec![None; count],
                evaluations: 0,
                is_cyclic,
            },
            jitter_cause: vec![None; count],
            is_due: vec![true; plant.servers.len()],
            scratch: Scratch::default(),
        };
        // Without any wait, what the passages vary is already there.
        for index in 0..count {
            let visit = &plant.visits[index];
            let source = &plant.sources[visit.flow as usize];
            let jitter = if visit.parent == NONE {
                source.jitter
            } else {
                let before = solver.solution.jitter[visit.parent as usize];
                solver.jitter_after(before, 0, index)
            };
            solver.solution.jitter[index] = jitter;
            if !source.is_limited() {
                solver.jitter_cause[index] = Some(Cause::Flow(visit.flow));
            }
        }
        solver
    }

    /// Returns the jitter of a visit whose parent has this jitter and wait.
    fn jitter_after(&self, jitter: i64, wait: i64, visit: usize) -> i64 {
        let leads_on = self.plant.leads_on[visit];
        let visit = &self.plant.visits[visit];
        let source = &self.plant.sources[visit.flow as usize];
        if source.closed.is_some() && source.is_limited() && leads_on {
            return 0;
        }
        let varies = if visit.gap.max < INFINITE {
            visit.gap.max - visit.gap.min
        } else {
            INFINITE
        };
        let sum = add(add(jitter, wait), varies);
        if sum > JITTER_MAX { INFINITE } else { sum }
    }

    fn run(&mut self, order: &[u32]) {
        let mut round = 0;
        while self.is_due.contains(&true) {
            round += 1;
            for &server in order {
                if core::mem::take(&mut self.is_due[server as usize]) {
                    self.visit(server, round > ROUNDS_MAX);
                }
            }
        }
    }

    /// Evaluates a place and hands its waits on.
    fn visit(&mut self, server: u32, is_given_up: bool) {
        self.solution.evaluations += 1;
        let members = self.plant.members.of(server);
        self.fill(server);
        evaluate(self.plant, server, &mut self.scratch);
        for (&visit, index) in members.iter().zip(0..) {
            let id = visit as usize;
            let (wait, cause) = match self.scratch.waits[index] {
                Ok(_) if is_given_up => (INFINITE, Some(Cause::Cycle(server))),
                Ok(wait) if wait >= INFINITE => (INFINITE, Some(Cause::OutOfRange)),
                Ok(wait) => (wait, None),
                Err(unbounded) => (INFINITE, Some(self.cause(server, unbounded))),
            };
            // Infinity stays, so that giving up comes to an end.
            if wait > self.solution.wait[id] {
                self.solution.wait[id] = wait;
                self.solution.cause[id] = cause;
            }
            // The jitter here may have grown while the wait has not.
            self.hand_on(visit, server);
        }
    }

    fn hand_on(&mut self, visit: u32, server: u32) {
        let id = visit as usize;
        for &child in self.plant.children.of(visit) {
            let next = &self.plant.visits[child as usize];
            let (before, wait) = (self.solution.jitter[id], self.solution.wait[id]);
            let jitter = self.jitter_after(before, wait, child as usize);
            if jitter <= self.solution.jitter[child as usize] {
                continue;
            }
            self.solution.jitter[child as usize] = jitter;
            if jitter >= INFINITE {
                let cause = self.solution.cause[id].or(self.jitter_cause[id]);
                let beyond = if self.solution.is_cyclic {
                    Cause::Cycle(server)
                } else {
                    Cause::OutOfRange
                };
                self.jitter_cause[child as usize] = cause.or(Some(beyond));
            }
            self.is_due[next.server as usize] = true;
        }
    }

    fn cause(&self, server: u32, unbounded: Unbounded) -> Cause {
        match unbounded {
            Unbounded::Obstacle => Cause::Obstacle(server),
            Unbounded::Overload(millionths) => Cause::Overload(server, millionths),
            Unbounded::Visit(visit) => self.jitter_cause[visit as usize].unwrap_or_else(|| {
                // Limited, but beyond all measure: too much in the long run, or at once.
                let load = self.scratch.loads.iter().find(|load| load.visit == visit);
                match load.map(Load::rate) {
                    Some(rate) if rate >= ONE => Cause::Overload(server, millionths(rate)),
                    _ => Cause::OutOfRange,
                }
            }),
        }
    }

    fn fill(&mut self, server: u32) {
        loads_of(
            self.plant,
            &self.solution.jitter,
            server,
            &mut self.scratch.loads,
        );
    }

    /// Evaluates every place once more from the jitters found.
    ///
    /// # Panics
    /// If a wait or jitter is larger than the one found: then the search is wrong.
    fn certify(&mut self) {
        for server in (0u32..).take(self.plant.servers.len()) {
            self.fill(server);
            evaluate(self.plant, server, &mut self.scratch);
            for (&visit, found) in self
                .plant
                .members
                .of(server)
                .iter()
                .zip(&self.scratch.waits)
            {
                let wait = found.unwrap_or(INFINITE);
                let id = visit as usize;
                assert!(
                    wait <= self.solution.wait[id],
                    "no fixed point at visit {id}"
                );
                for &child in self.plant.children.of(visit) {
                    let before = self.solution.jitter[id];
                    let jitter = self.jitter_after(before, wait, child as usize);
                    let known = self.solution.jitter[child as usize];
                    assert!(jitter <= known, "no fixed point at visit {child}");
                }
            }
        }
    }
}

/// Returns the loads of a place, in the order of its members.
pub(crate) fn loads_of(plant: &Plant, jitter: &[i64], server: u32, out: &mut Vec<Load>) {
    out.clear();
    for &id in plant.members.of(server) {
        let visit = &plant.visits[id as usize];
        let source = &plant.sources[visit.flow as usize];
        out.push(Load {
            cost: visit.service.max(),
            least: visit.service.least_max(),
            period: source.period,
            burst: source.burst,
            jitter: jitter[id as usize],
            group: group_of(&plant.visits, visit),
            ratio: visit.ratio.unwrap_or(0),
            spacing: visit.spacing,
            slack: visit.slack,
            visit: id,
            in_flight: match source.closed {
                Some(_) if plant.leads_on[id as usize] => source.in_flight,
                _ => 0,
            },
        });
    }
}
