//! Keeps the part of an earlier solution that a change of flows or network leaves valid.
//!
//! Visits and releases are compared by value, without relying on what is known to have changed, so
//! that every consequence of a change is found. Flows that are unchanged pass on their part of the
//! solution; places where something changed are marked, and `solve` continues from there.

use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use crate::index::NONE;
use crate::plant::{Plant, Visit};
use crate::solution::{Before, Solution};

/// Copies the results of unchanged flows into `solution`; returns, by place, whether the place or a
/// visit there has changed.
pub(crate) fn inherit(plant: &Plant, before: &Before<'_>, solution: &mut Solution) -> Vec<bool> {
    let places = plant.servers.len();
    if before.plant.servers.len() != places {
        return vec![true; places];
    }
    let both = plant.servers.iter().zip(&before.plant.servers);
    let mut heir = Heir {
        plant,
        before,
        is_changed: both.map(|(now, then)| now != then).collect(),
        now: 0,
        then: 0,
    };
    let edit = before.edit;
    // A replacement may equal the flow it replaces.
    let paired = edit.flows.start + edit.added.min(edit.flows.len());
    for flow in 0..paired {
        heir.compare(flow, flow, solution);
    }
    for flow in paired..edit.flows.end {
        let gone = heir.range_then(flow);
        heir.mark(&before.plant.visits[gone]);
    }
    let first = edit.flows.start + edit.added;
    for flow in paired..first {
        let came = heir.range_now(flow);
        heir.mark(&plant.visits[came]);
    }
    for flow in first..plant.sources.len() {
        heir.compare(flow, flow - first + edit.flows.end, solution);
    }
    heir.is_changed
}

/// Walks through the flows of both plants in parallel.
struct Heir<'a> {
    plant: &'a Plant,
    before: &'a Before<'a>,
    is_changed: Vec<bool>,
    /// First visits not yet seen.
    now: usize,
    then: usize,
}

impl Heir<'_> {
    fn range_now(&mut self, flow: usize) -> Range<usize> {
        range(&self.plant.visits, flow, &mut self.now)
    }

    fn range_then(&mut self, flow: usize) -> Range<usize> {
        range(&self.before.plant.visits, flow, &mut self.then)
    }

    fn mark(&mut self, visits: &[Visit]) {
        for visit in visits {
            self.is_changed[visit.server as usize] = true;
        }
    }

    /// Passes on the results of a flow, or marks its places.
    fn compare(&mut self, flow: usize, old_flow: usize, solution: &mut Solution) {
        let (now, then) = (self.range_now(flow), self.range_then(old_flow));
        let (plant, before) = (self.plant, self.before);
        let is_alike = now.len() == then.len()
            && plant.sources[flow] == before.sources[old_flow]
            && plant.leads_on[now.clone()] == before.plant.leads_on[then.clone()]
            && now.clone().zip(then.clone()).all(|(new, old)| {
                let [a, b] = [&plant.visits[new], &before.plant.visits[old]];
                let step =
                    |parent: u32, own: usize| (parent != NONE).then(|| own - parent as usize);
                step(a.parent, new) == step(b.parent, old)
                    && a.is_same(b)
                    && plant.limit_of(a) == before.plant.limit_of(b)
            });
        if !is_alike {
            self.mark(&plant.visits[now]);
            self.mark(&before.plant.visits[then]);
            return;
        }
        let old = before.solution;
        solution.jitter[now.clone()].copy_from_slice(&old.jitter[then.clone()]);
        solution.drift[now.clone()].copy_from_slice(&old.drift[then.clone()]);
        solution.wait[now.clone()].copy_from_slice(&old.wait[then.clone()]);
        for (new, old_visit) in now.zip(then) {
            solution.cause[new] = old.cause[old_visit].map(|cause| cause.renumbered(before.edit));
            solution.jitter_cause[new] =
                old.jitter_cause[old_visit].map(|cause| cause.renumbered(before.edit));
        }
    }
}

/// Returns the visits of a flow, which begin at `next` if there are any, and advances `next` beyond
/// them.
fn range(visits: &[Visit], flow: usize, next: &mut usize) -> Range<usize> {
    let begin = *next;
    while visits.get(*next).is_some_and(|visit| visit.flow as usize == flow) {
        *next += 1;
    }
    begin..*next
}
