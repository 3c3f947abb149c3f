//! The event queue: one slot per timer, the earliest found by a winner tree.
//!
//! All possible events of a run are known when it is built: each link has a next arrival, each
//! stack a next completion, each flow a next release. Each such timer owns a slot for the whole
//! run, and an event is a change of the slot's time; nothing is allocated. A change replays the
//! matches on the path to the root, whose memory locations follow from the slot, so that they are
//! fetched in parallel.
//!
//! In a large plant the cost of a change is memory access and branch misprediction. Slots are
//! therefore bare times, four to a group, and only the tree above the groups stores winners; and a
//! match is decided without a branch, since its outcome is unpredictable.
//!
//! **Order of equal times.** The lower slot wins. Slots are laid out by kind, then by node, so the
//! order of simultaneous events is (time, kind, node), the same on every machine; within a slot,
//! packets keep the order in which they entered it.

use alloc::vec;
use alloc::vec::Vec;
use core::hint::select_unpredictable;

/// Time of an idle slot.
pub(crate) const NEVER: i64 = i64::MAX;

/// Slots compared at once.
const GROUP: u32 = 4;

#[derive(Clone, Copy, PartialEq, Eq)]
struct Entry {
    time: i64,
    slot: u32,
}

impl Entry {
    /// Returns the earlier of two entries; on a tie `left`, which has the lower slots.
    #[inline]
    fn earlier(left: Self, right: Self) -> Self {
        let is_right = right.time < left.time;
        Self {
            time: select_unpredictable(is_right, right.time, left.time),
            slot: select_unpredictable(is_right, right.slot, left.slot),
        }
    }
}

/// Timers by slot.
pub(crate) struct Agenda {
    /// Times by slot.
    groups: Vec<Group>,
    /// A complete binary tree: the root is 1, the winners of the groups begin at `leaves`; inner
    /// entries repeat the winner below them.
    tree: Vec<Entry>,
    leaves: usize,
}

/// Times of neighbors, in half a cache line.
#[derive(Clone, Copy)]
#[repr(align(32))]
struct Group([i64; GROUP as usize]);

impl Group {
    /// Returns the winner; `first` is the group's first slot.
    #[inline]
    fn winner(&self, first: u32) -> Entry {
        let entry = |place: u32| Entry {
            time: self.0[place as usize],
            slot: first + place,
        };
        let left = Entry::earlier(entry(0), entry(1));
        Entry::earlier(left, Entry::earlier(entry(2), entry(3)))
    }
}

impl Agenda {
    /// Creates `slots` timers, none of them set.
    pub(crate) fn new(slots: u32) -> Self {
        let groups = slots.div_ceil(GROUP).max(1) as usize;
        let leaves = groups.next_power_of_two();
        let nothing = Entry {
            time: NEVER,
            slot: 0,
        };
        Self {
            groups: vec![Group([NEVER; GROUP as usize]); groups],
            tree: vec![nothing; 2 * leaves],
            leaves,
        }
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
        let number = (slot / GROUP) as usize;
        let group = &mut self.groups[number];
        group.0[(slot % GROUP) as usize] = time;
        let mut winner = group.winner(slot - slot % GROUP);
        let mut node = self.leaves + number;
        let tree = self.tree.as_mut_slice();
        loop {
            // An unchanged entry leaves all entries above it unchanged.
            if tree[node] == winner {
                return;
            }
            tree[node] = winner;
            if node == 1 {
                return;
            }
            let rival = tree[node ^ 1];
            let rival_is_left = i64::from(node & 1 == 1);
            let rival_wins = rival.time - rival_is_left < winner.time;
            winner.time = select_unpredictable(rival_wins, rival.time, winner.time);
            winner.slot = select_unpredictable(rival_wins, rival.slot, winner.slot);
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
