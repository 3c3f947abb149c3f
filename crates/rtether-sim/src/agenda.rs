//! The event queue: one slot per timer, the earliest found by a winner tree.
//!
//! Everything that can happen in a run is known when it is built: each link has a next arrival,
//! each stack a next completion, each flow a next release. So every such timer owns a slot for
//! life, and an event is a change of the slot's time; nothing is allocated. A change replays the
//! matches on the path to the root: log2(slots) comparisons in adjacent memory.
//!
//! **Order of equal times.** The lower slot wins. Slots are laid out by kind, then by node, so the
//! order of simultaneous events is (time, kind, node), the same on every machine; within a slot,
//! packets keep the order in which they entered it.

use alloc::vec;
use alloc::vec::Vec;

/// Time of a slot with nothing to do.
pub(crate) const NEVER: i64 = i64::MAX;

#[derive(Clone, Copy, PartialEq, Eq)]
struct Entry {
    time: i64,
    slot: u32,
}

/// Timers by slot.
pub(crate) struct Agenda {
    /// A complete binary tree: the root is 1, the leaves begin at `leaves`; inner entries repeat
    /// the winner below them.
    tree: Vec<Entry>,
    leaves: usize,
}

impl Agenda {
    /// Creates `slots` timers, none of them set.
    pub(crate) fn new(slots: u32) -> Self {
        let leaves = (slots as usize).next_power_of_two();
        let mut tree = vec![
            Entry {
                time: NEVER,
                slot: 0
            };
            2 * leaves
        ];
        for (slot, leaf) in (0..).zip(&mut tree[leaves..]) {
            leaf.slot = slot;
        }
        for parent in (1..leaves).rev() {
            tree[parent] = tree[2 * parent];
        }
        Self { tree, leaves }
    }

    /// Returns the earliest slot and its time; [`NEVER`] if nothing is set.
    #[inline]
    pub(crate) fn first(&self) -> (i64, u32) {
        let root = self.tree[1];
        (root.time, root.slot)
    }

    /// Sets a timer, or clears it with [`NEVER`].
    #[inline]
    pub(crate) fn set(&mut self, slot: u32, time: i64) {
        let tree = self.tree.as_mut_slice();
        let mut node = self.leaves + slot as usize;
        let mut winner = Entry { time, slot };
        loop {
            // Where nothing changes, nothing changes above.
            if tree[node] == winner {
                return;
            }
            tree[node] = winner;
            if node == 1 {
                return;
            }
            let rival = tree[node ^ 1];
            // The left one has the lower slots and wins ties.
            let rival_is_left = node & 1 == 1;
            if rival.time < winner.time || (rival_is_left && rival.time == winner.time) {
                winner = rival;
            }
            node >>= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn equal_times_go_to_the_lower_slot() {
        let mut agenda = Agenda::new(5);
        for slot in [4, 2, 3] {
            agenda.set(slot, 7);
        }
        assert_eq!(agenda.first(), (7, 2));
        agenda.set(2, NEVER);
        assert_eq!(agenda.first(), (7, 3));
    }

    proptest! {
        /// Oracle: an ordered set of (time, slot).
        #[test]
        fn agrees_with_an_ordered_set(
            slots in 1u32..40,
            changes in proptest::collection::vec((0u32..40, 0i64..20), 1..200),
        ) {
            let mut agenda = Agenda::new(slots);
            let mut reference: BTreeSet<(i64, u32)> = (0..slots).map(|s| (NEVER, s)).collect();
            let mut times = std::vec![NEVER; slots as usize];
            for (slot, time) in changes {
                let slot = slot % slots;
                let time = if time == 19 { NEVER } else { time };
                reference.remove(&(times[slot as usize], slot));
                reference.insert((time, slot));
                times[slot as usize] = time;
                agenda.set(slot, time);
                let first = *reference.first().unwrap();
                let (found, at) = agenda.first();
                prop_assert_eq!(found, first.0);
                prop_assert!(found == NEVER || at == first.1);
            }
        }
    }
}
