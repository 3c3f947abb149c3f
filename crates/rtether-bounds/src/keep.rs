//! Whether a component of places has the same input as in an earlier solution.
//!
//! Compared by value and not by what is known to have changed, so that whatever a change of flows or
//! network leads to is found. Numbers of visits and flows may differ: visits correspond by their
//! position among the members of a place.

use alloc::vec::Vec;

use crate::components::Components;
use crate::plant::{NONE, Plant, Visit};
use crate::solve::{Before, Solution};

/// Two solutions, the newer one known up to the component that is compared.
pub(crate) struct Comparison<'a> {
    pub(crate) plant: &'a Plant,
    pub(crate) solution: &'a Solution,
    pub(crate) before: Before<'a>,
    /// Where each visit stands among the members of its place, now and before; only needed where
    /// there are cycles.
    pub(crate) positions: &'a [Vec<u32>; 2],
}

impl Comparison<'_> {
    /// Returns whether places, visits, releases and arrivals are those of the earlier solution.
    pub(crate) fn has_same_input(&self, components: &Components, component: usize) -> bool {
        let places = components.places(component);
        let old = &self.before.solution.components;
        let old_component = old.of_place(places[0]);
        let had_same_places = old_component.is_some_and(|old_one| old.places(old_one) == places);
        had_same_places && {
            let is_inside = |place| components.of_place(place) == Some(component);
            places.iter().all(|&place| self.is_alike(place, is_inside))
        }
    }

    fn is_alike(&self, place: u32, is_inside: impl Fn(u32) -> bool) -> bool {
        let [now, then] = [self.plant, self.before.plant].map(|plant| plant.members.of(place));
        let index = place as usize;
        now.len() == then.len()
            && self.plant.servers[index] == self.before.plant.servers[index]
            && now
                .iter()
                .zip(then)
                .all(|(&now, &then)| self.arrives_alike(now as usize, then as usize, &is_inside))
    }

    fn arrives_alike(&self, now: usize, then: usize, is_inside: impl Fn(u32) -> bool) -> bool {
        let [plant, old] = [self.plant, self.before.plant];
        let [new_visit, old_visit] = [&plant.visits[now], &old.visits[then]];
        let source = &plant.sources[new_visit.flow as usize];
        if !is_same(new_visit, old_visit)
            || plant.limit_of(new_visit) != old.limit_of(old_visit)
            || *source != self.before.sources[old_visit.flow as usize]
            || plant.leads_on[now] != old.leads_on[then]
        {
            return false;
        }
        let [new_parent, old_parent] = [(plant, new_visit), (old, old_visit)]
            .map(|(plant, visit)| plant.visits.get(visit.parent as usize));
        let place = new_parent.map_or(NONE, |parent| parent.server);
        if place != old_parent.map_or(NONE, |parent| parent.server) {
            return false;
        }
        if is_inside(place) {
            let [new, old] = self.positions;
            return new[new_visit.parent as usize] == old[old_visit.parent as usize];
        }
        let [new, old] = [self.solution, self.before.solution];
        new.jitter[now] == old.jitter[then]
            && new.drift[now] == old.drift[then]
            && new.jitter_cause[now] == old.jitter_cause[then]
    }
}

/// Returns whether two visits are the same but for the numbers of flow, parent and limit.
fn is_same(a: &Visit, b: &Visit) -> bool {
    let without_numbers = |visit: &Visit| Visit {
        flow: 0,
        parent: 0,
        limit: 0,
        ..visit.clone()
    };
    without_numbers(a) == without_numbers(b)
}
