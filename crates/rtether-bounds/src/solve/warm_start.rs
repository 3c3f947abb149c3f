//! The search in a component that an earlier solution may already cover.

use alloc::vec::Vec;

use super::Solver;
use crate::components::Components;
use crate::solution::Cause;

/// Results for one visit.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct VisitResult {
    jitter: i64,
    drift: i64,
    jitter_cause: Option<Cause>,
    wait: i64,
    cause: Option<Cause>,
}

impl Solver<'_> {
    /// Finds the waits of a component if its input has changed, and marks the places behind it.
    pub(super) fn search_again(&mut self, components: &Components, component: usize) {
        let places = components.places(component);
        let had_same_places = self.old.is_some_and(|old| {
            let old_component = old.of_place(places[0]);
            old_component.is_some_and(|component| old.places(component) == places)
        });
        let any = |marks: &[bool]| places.iter().any(|&place| marks[place as usize]);
        let is_changed = !had_same_places || any(&self.is_changed);
        if !is_changed && !any(&self.is_reached) {
            self.keep(places);
            return;
        }
        let plant = self.plant;
        let visits = places.iter().flat_map(|&place| plant.members.of(place));
        let old: Vec<(u32, VisitResult)> = visits.map(|&visit| (visit, self.take(visit))).collect();
        let is_cyclic = components.is_cyclic(component);
        self.arrive(places, is_cyclic);
        let arrives_alike = |&(visit, found): &(u32, VisitResult)| {
            let parent = plant.visits.get(plant.visits[visit as usize].parent as usize);
            let is_inside =
                parent.is_some_and(|parent| components.of_place(parent.server) == Some(component));
            let now = VisitResult { wait: found.wait, cause: found.cause, ..self.found(visit) };
            is_inside || now == found
        };
        if !is_changed && old.iter().all(arrives_alike) {
            for (visit, found) in old {
                self.put(visit, found);
            }
            self.keep(places);
            return;
        }
        self.evaluate(places, is_cyclic);
        for (visit, found) in old {
            if self.found(visit) != found {
                self.reach_from(visit);
            }
        }
    }

    fn keep(&mut self, places: &[u32]) {
        for &place in places {
            self.solution.is_kept[place as usize] = true;
        }
    }

    fn found(&self, visit: u32) -> VisitResult {
        let (id, now) = (visit as usize, &self.solution);
        VisitResult {
            jitter: now.jitter[id],
            drift: now.drift[id],
            jitter_cause: now.jitter_cause[id],
            wait: now.wait[id],
            cause: now.cause[id],
        }
    }

    fn put(&mut self, visit: u32, found: VisitResult) {
        let (id, now) = (visit as usize, &mut self.solution);
        (now.jitter[id], now.drift[id]) = (found.jitter, found.drift);
        (now.jitter_cause[id], now.wait[id]) = (found.jitter_cause, found.wait);
        now.cause[id] = found.cause;
    }

    /// Returns the results for a visit and resets them.
    fn take(&mut self, visit: u32) -> VisitResult {
        let found = self.found(visit);
        self.put(visit, VisitResult::default());
        found
    }

    /// Marks the next places of a visit.
    fn reach_from(&mut self, visit: u32) {
        let flow = self.plant.visits[visit as usize].flow;
        let rest = self.plant.visits[visit as usize + 1..].iter();
        for next in rest.take_while(|next| next.flow == flow) {
            if next.parent == visit {
                self.is_reached[next.server as usize] = true;
            }
        }
    }
}
