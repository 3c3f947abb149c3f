//! Orders the places along the flows and groups places that depend on each other in a cycle.

use alloc::vec;
use alloc::vec::Vec;

use crate::index::NONE;
use crate::plant::Plant;

/// Strongly connected components of the places, each after all that lead to it.
///
/// A component and the order of its places depend only on the edges inside it, so that both stay
/// the same while flows elsewhere change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Components {
    /// All places; those of a component are contiguous, in the order of iteration.
    order: Vec<u32>,
    starts: Vec<u32>,
    /// By component.
    is_cyclic: Vec<bool>,
    /// By place.
    component: Vec<u32>,
}

impl Components {
    /// Finds the components of a plant's places; an edge is a step of a flow.
    pub(crate) fn new(plant: &Plant) -> Self {
        let steps = plant.visits.iter().filter(|visit| visit.parent != NONE);
        let edges = steps.map(|visit| (plant.visits[visit.parent as usize].server, visit.server));
        Self::of(plant.servers.len(), edges.collect())
    }

    fn of(count: usize, mut edges: Vec<(u32, u32)>) -> Self {
        sort(&mut edges);
        let mut state = vec![State::New; count];
        let mut order = Vec::with_capacity(count);
        let mut has_cycle = false;
        for root in (0u32..).take(count) {
            has_cycle |= finish(root, &edges, &mut state, &mut order);
        }
        order.reverse();
        let mut found = Self { component: vec![NONE; count], ..Self::default() };
        if !has_cycle {
            for place in order {
                found.push(&[place], false);
            }
            return found;
        }
        // In this order, a backward search from a place reaches only its own component and places
        // that already have one.
        let mut back: Vec<(u32, u32)> = edges.iter().map(|&(from, to)| (to, from)).collect();
        sort(&mut back);
        state.fill(State::New);
        for root in order {
            let mut places = Vec::new();
            finish(root, &back, &mut state, &mut places);
            if !places.is_empty() {
                found.push_component(places, &edges);
            }
        }
        found
    }

    /// Adds the component of these places, ordered along its edges.
    fn push_component(&mut self, mut places: Vec<u32>, edges: &[(u32, u32)]) {
        places.sort_unstable();
        let inner = |edge: &&(u32, u32)| places.binary_search(&edge.1).is_ok();
        let inner: Vec<(u32, u32)> = places
            .iter()
            .flat_map(|&place| edges[range_of(place, edges)].iter().filter(inner))
            .copied()
            .collect();
        let mut state = vec![State::New; self.component.len()];
        let mut order = Vec::with_capacity(places.len());
        finish(places[0], &inner, &mut state, &mut order);
        order.reverse();
        debug_assert_eq!(order.len(), places.len(), "each leads to all");
        self.push(&order, !inner.is_empty());
    }

    fn push(&mut self, places: &[u32], is_cyclic: bool) {
        let number = u32::try_from(self.is_cyclic.len()).unwrap_or(NONE);
        for &place in places {
            self.component[place as usize] = number;
        }
        self.starts.push(u32::try_from(self.order.len()).unwrap_or(NONE));
        self.order.extend_from_slice(places);
        self.is_cyclic.push(is_cyclic);
    }

    /// Returns the number of components.
    pub(crate) fn len(&self) -> usize {
        self.is_cyclic.len()
    }

    /// Returns the places of a component.
    pub(crate) fn places(&self, component: usize) -> &[u32] {
        let end = self.starts.get(component + 1);
        let end = end.map_or(self.order.len(), |&end| end as usize);
        &self.order[self.starts[component] as usize..end]
    }

    /// Returns the component of a place; `None` if it does not exist.
    pub(crate) fn of_place(&self, place: u32) -> Option<usize> {
        self.component.get(place as usize).map(|&component| component as usize)
    }

    /// Returns whether places of a component depend on each other.
    pub(crate) fn is_cyclic(&self, component: usize) -> bool {
        self.is_cyclic[component]
    }

    /// Returns whether any component is cyclic.
    pub(crate) fn has_cycle(&self) -> bool {
        self.is_cyclic.contains(&true)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    Open,
    Finished,
}

fn sort(edges: &mut Vec<(u32, u32)>) {
    edges.sort_unstable();
    edges.dedup();
}

/// Returns the range of a place's edges in a sorted list.
fn range_of(place: u32, edges: &[(u32, u32)]) -> core::ops::Range<usize> {
    let first = edges.partition_point(|edge| edge.0 < place);
    first..first + edges[first..].partition_point(|edge| edge.0 == place)
}

/// Appends all new places reachable from `root`, each after all that follow it (post-order);
/// returns whether it met a cycle.
fn finish(root: u32, edges: &[(u32, u32)], state: &mut [State], out: &mut Vec<u32>) -> bool {
    if state[root as usize] != State::New {
        return false;
    }
    let mut has_cycle = false;
    state[root as usize] = State::Open;
    let mut path = vec![(root, range_of(root, edges))];
    while let Some((place, next)) = path.last_mut() {
        let Some(edge) = next.next() else {
            state[*place as usize] = State::Finished;
            out.push(*place);
            path.pop();
            continue;
        };
        let to = edges[edge].1;
        has_cycle |= state[to as usize] == State::Open;
        if state[to as usize] == State::New {
            state[to as usize] = State::Open;
            path.push((to, range_of(to, edges)));
        }
    }
    has_cycle
}

#[cfg(test)]
mod tests {
    use super::*;

    fn components(count: usize, edges: &[(u32, u32)]) -> Vec<(Vec<u32>, bool)> {
        let found = Components::of(count, edges.to_vec());
        (0..found.len())
            .map(|index| (found.places(index).to_vec(), found.is_cyclic(index)))
            .collect()
    }

    /// Oracle: drawn by hand.
    #[test]
    fn a_cycle_is_one_component_between_those_before_and_after() {
        let edges = [(0, 1), (1, 2), (2, 3), (3, 1), (3, 4), (5, 5), (0, 5)];
        let found = components(6, &edges);
        let at = |place| found.iter().position(|(all, _)| all.contains(&place));
        assert_eq!(found.len(), 4);
        assert_eq!(found[at(1).unwrap()], (vec![1, 2, 3], true));
        assert_eq!(found[at(5).unwrap()], (vec![5], true));
        assert!(at(0) < at(1) && at(1) < at(4) && at(0) < at(5));
        assert!(!found[at(0).unwrap()].1 && !found[at(4).unwrap()].1);
    }

    /// Oracle: edges outside a component do not affect its order.
    #[test]
    fn the_order_in_a_component_is_its_own() {
        let inner = [(2, 4), (4, 3), (3, 2), (4, 2)];
        let alone = components(5, &inner);
        let more = components(5, &[&inner[..], &[(0, 3), (1, 4), (0, 1)]].concat());
        let of = |all: &[(Vec<u32>, bool)]| all.iter().find(|(_, cyclic)| *cyclic).cloned();
        assert_eq!(of(&alone), of(&more));
    }
}
