//! An edit that leaves the visits of all other flows as they are, apart from their numbers.
//!
//! Flows depend on each other through the waits, and in a few more ways: links whose interfaces cost
//! time per octet, switches that forward after the header, deadlines that select frames, policers,
//! connections, limits, copies for several listeners. Where a plant has none of these, what
//! [`Plant::complete`] adds to a flow follows from the flow alone. Then the edited flow is exchanged
//! in the plant and in the solution, and the search goes on from the places that it passes: no other
//! flow is followed, completed or compared.

use alloc::vec;
use alloc::vec::Vec;
use core::mem::take;
use core::ops::Range;

use rtether_model::flow::Flow;

use super::{Analyzer, Changes};
use crate::components::Components;
use crate::edit::Edit;
use crate::index::NONE;
use crate::plant::{Plant, Visit};
use crate::solution::Solution;
use crate::solve::{impatient, search_on};

impl Analyzer {
    /// Makes an edit in place, if that is all there is to it.
    pub(super) fn edit_in_place(&mut self, edit: &Edit, by: Option<&Flow>) -> Option<Changes> {
        if self.stages.len() != 1 || self.network.selects_by_deadline() || !is_plain(&self.plant) {
            return None;
        }
        // Which of several flows is named for a missing bound depends on all places.
        if self.solution().has_causes() {
            return None;
        }
        let flow = by.map_or(&[][..], core::slice::from_ref);
        let own = self.atlas.follow(&self.network, flow);
        let own = Plant::complete(own, &self.network, flow);
        // Loops make obstacles of all places.
        if !is_plain(&own) || own.servers != self.plant.servers {
            return None;
        }
        let flows = edit.flows.clone();
        self.flows.splice(flows, by.cloned());
        // They are followed again when an edit needs them.
        self.ways = None;
        let was_cyclic = self.solution().is_cyclic;
        self.exchange(edit, own);
        let solution = self.solution();
        if solution.has_causes() || !impatient(&self.plant, solution).is_empty() {
            let network = take(&mut self.network);
            return Some(self.begin_anew(network, edit));
        }
        let is_reached = self.flows_reached(was_cyclic);
        let streams = self.refresh(edit, |analyzer, index, _| {
            !is_reached[analyzer.plant.streams[index].flow as usize]
        });
        Some(self.changes(streams))
    }

    /// Exchanges the edited flows in the plant and its solution, and searches on.
    fn exchange(&mut self, edit: &Edit, own: Plant) {
        let stage = &mut self.stages[0];
        let (plant, solution) = (&mut self.plant, &mut stage.solution);
        let [begin, end] = [edit.flows.start, edit.flows.end]
            .map(|flow| plant.first_of(u32::try_from(flow).unwrap_or(NONE)).visit);
        let gone = begin..end;
        let mut is_changed = vec![false; plant.servers.len()];
        let is_same = is_same(plant, gone.clone(), &own, edit);
        if !is_same {
            for visit in plant.visits[gone.clone()].iter().chain(&own.visits) {
                is_changed[visit.server as usize] = true;
            }
        }
        let has_same_edges = has_same_edges(plant, gone.clone(), &own);
        let came = own.visits.len();
        plant.leads_on.splice(gone.clone(), own.leads_on.iter().copied());
        for sources in [&mut plant.sources, &mut stage.sources] {
            sources.splice(edit.flows.clone(), own.sources.iter().copied());
        }
        edit.apply(plant, own);
        plant.exchange_members(gone.clone(), came);
        if !is_same {
            solution.exchange(gone, came, edit);
        }
        let old = take(&mut solution.components);
        let new = if has_same_edges { old.clone() } else { Components::new(plant) };
        stage.solution = search_on(plant, take(solution), (&old, new), is_changed);
    }

    /// Returns by flow whether it passes a place whose waits may have changed.
    fn flows_reached(&self, was_cyclic: bool) -> Vec<bool> {
        let solution = self.solution();
        // The method of all bounds depends on whether any flows wait for each other in a cycle.
        let mut is_reached = vec![was_cyclic != solution.is_cyclic; self.flows.len()];
        let places = (0u32..).zip(&solution.is_kept);
        for (place, _) in places.filter(|(_, is_kept)| !**is_kept) {
            for &visit in self.plant.members.of(place) {
                is_reached[self.plant.visits[visit as usize].flow as usize] = true;
            }
        }
        is_reached
    }
}

/// Returns whether flows of a plant depend on each other through the waits alone, apart from selection
/// by deadline.
fn is_plain(plant: &Plant) -> bool {
    let mut servers = plant.servers.iter();
    let is_apart = plant.passages.is_empty()
        && plant.connections.is_empty()
        && plant.limits.is_empty()
        && !plant.has_copies()
        && !plant.has_other_ways();
    is_apart && servers.all(|server| server.interface_per_octet == 0 && !server.is_cut_through)
}

/// Returns whether `own` has the visits that are gone, as where a flow has another deadline only.
fn is_same(plant: &Plant, gone: Range<usize>, own: &Plant, edit: &Edit) -> bool {
    let old = &plant.visits[gone.clone()];
    let first = u32::try_from(gone.start).unwrap_or(NONE);
    let is_alike = |(old, new): (&Visit, &Visit)| {
        let parent = new.parent.checked_add(first).unwrap_or(NONE);
        old.is_same(new) && old.parent == parent
    };
    old.len() == own.visits.len()
        && old.iter().zip(&own.visits).all(is_alike)
        && plant.sources[edit.flows.clone()] == own.sources
        && plant.leads_on[gone] == own.leads_on
}

/// Returns whether the same places follow each other in ways when `own` takes the place of the visits
/// that are gone.
fn has_same_edges(plant: &Plant, gone: Range<usize>, own: &Plant) -> bool {
    let is_step = |visits: &[Visit], visit: &Visit, (from, to): (u32, u32)| {
        let parent = visits.get(visit.parent as usize);
        visit.server == to && parent.is_some_and(|parent| parent.server == from)
    };
    let others_have = |edge: (u32, u32)| {
        let mut others = plant.members.of(edge.1).iter().map(|&visit| visit as usize);
        others.any(|visit| {
            !gone.contains(&visit) && is_step(&plant.visits, &plant.visits[visit], edge)
        })
    };
    let [old, new] =
        [edges(&plant.visits, &plant.visits[gone.clone()]), edges(&own.visits, &own.visits)];
    let is_in = |all: &[(u32, u32)], edge: &(u32, u32)| all.contains(edge) || others_have(*edge);
    old.iter().all(|edge| is_in(&new, edge)) && new.iter().all(|edge| is_in(&old, edge))
}

/// Returns the steps of some visits from place to place.
fn edges(all: &[Visit], some: &[Visit]) -> Vec<(u32, u32)> {
    let steps = some.iter().filter_map(|visit| {
        let parent = all.get(visit.parent as usize)?;
        Some((parent.server, visit.server))
    });
    steps.collect()
}

impl Solution {
    /// Returns whether a wait or a jitter has no bound.
    fn has_causes(&self) -> bool {
        let mut causes = self.cause.iter().chain(&self.jitter_cause);
        causes.any(Option::is_some)
    }

    /// Exchanges visits for as many new ones, of which nothing is known.
    fn exchange(&mut self, gone: Range<usize>, came: usize, edit: &Edit) {
        let zeros = || core::iter::repeat_n(0, came);
        for times in [&mut self.jitter, &mut self.drift, &mut self.wait] {
            times.splice(gone.clone(), zeros());
        }
        for causes in [&mut self.cause, &mut self.jitter_cause] {
            causes.splice(gone.clone(), core::iter::repeat_n(None, came));
            for cause in causes[gone.start + came..].iter_mut().flatten() {
                *cause = cause.renumbered(edit);
            }
        }
    }
}
