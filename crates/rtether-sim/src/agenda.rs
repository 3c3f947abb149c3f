//! The event queue: one slot per timer, the earliest found by a winner tree.
//!
//! All possible events of a run are known when it is built: each link has a next arrival, each
//! stack a next completion, each flow a next release. Each such timer owns a slot for the whole
//! run, and an event is a change of the slot's time; nothing is allocated. A change replays the
//! matches on the path to the root, whose memory locations follow from the slot, so that they are
//! fetched in parallel.
//!
//! In a large plant the cost of a change is memory access and branch misprediction. Slots are
//! therefore bare times, four to a group; a node of the tree above the groups has the winners of
//! four in one cache line; and a match is decided without a branch, since its outcome is
//! unpredictable.
//!
//! Ports wake up only where frames wait for more than their turn, and their slots are the last: they
//! have a tree of their own, which costs nothing until one of them is set.
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

/// A timer: its time, and its slot.
#[derive(Clone, Copy)]
struct Entry {
    time: i64,
    slot: u32,
}

/// Times of neighbors, in half a cache line.
#[derive(Clone, Copy)]
#[repr(align(32))]
struct Group([i64; GROUP as usize]);

impl Group {
    /// Sets the time at a place, and returns the place of the earliest time, the first of equal
    /// ones, and that time.
    ///
    /// The others are compared among each other first: what is set follows from matches further
    /// down, and only one match waits for it.
    #[inline]
    fn replace(&mut self, place: u32, time: i64) -> (u32, i64) {
        let others = [
            u32::from(place == 0),
            1 + u32::from(place <= 1),
            2 + u32::from(place <= 2),
        ];
        let [a, b, c] = others.map(|other| (other, self.0[(other % GROUP) as usize]));
        let (other, at) = earlier(earlier(a, b), c);
        self.0[(place % GROUP) as usize] = time;
        // Of equal times that at the lower place comes first.
        let is_other = at.wrapping_sub(i64::from(other < place)) < time;
        (
            select_unpredictable(is_other, other, place),
            select_unpredictable(is_other, at, time),
        )
    }
}

/// Returns the earlier of two times with their places; the left one of equal times.
#[inline]
fn earlier((left, at): (u32, i64), (right, other): (u32, i64)) -> (u32, i64) {
    let is_right = other < at;
    (
        select_unpredictable(is_right, right, left),
        select_unpredictable(is_right, other, at),
    )
}

/// A node of the tree: the winners of its children, in a cache line.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Node {
    times: Group,
    slots: [u32; GROUP as usize],
}

/// Timers by slot.
pub(crate) struct Agenda {
    /// Those below `split`, and those from there on.
    early: Tree,
    late: Tree,
    split: u32,
}

impl Agenda {
    /// Creates `slots` timers, none of them set; those from `split` on are seldom set.
    pub(crate) fn new(slots: u32, split: u32) -> Self {
        Self {
            early: Tree::new(split),
            late: Tree::new(slots - split),
            split,
        }
    }

    /// Returns the earliest slot and its time; [`NEVER`] if nothing is set.
    #[inline]
    pub(crate) const fn first(&self) -> (i64, u32) {
        let (early, late) = (self.early.first, self.late.first);
        if late.time < early.time {
            (late.time, self.split + late.slot)
        } else {
            (early.time, early.slot)
        }
    }

    /// Sets a timer, or clears it with [`NEVER`].
    #[inline]
    pub(crate) fn set(&mut self, slot: u32, time: i64) {
        match slot.checked_sub(self.split) {
            None => self.early.set(slot, time),
            Some(slot) => self.set_late(slot, time),
        }
    }

    /// Not inlined, so that others do not pay for its variables.
    #[inline(never)]
    fn set_late(&mut self, slot: u32, time: i64) {
        self.late.set(slot, time);
    }
}

/// Timers by slot, with one winner.
struct Tree {
    /// Times by slot.
    groups: Vec<Group>,
    /// A complete tree: the root is 0, the children of `n` are `4 n + 1` to `4 n + 4`, the parents
    /// of the groups begin at `bottom`.
    nodes: Vec<Node>,
    bottom: u32,
    first: Entry,
}

impl Tree {
    /// Creates `slots` timers, none of them set.
    fn new(slots: u32) -> Self {
        let groups = slots.div_ceil(GROUP).max(1);
        let parents = groups.div_ceil(GROUP);
        let mut bottom = 0;
        let mut width = 1;
        while width < parents {
            bottom += width;
            width *= GROUP;
        }
        let nothing = Group([NEVER; GROUP as usize]);
        let idle = Node {
            times: nothing,
            slots: [0; GROUP as usize],
        };
        Self {
            groups: vec![nothing; groups as usize],
            nodes: vec![idle; (bottom + parents) as usize],
            bottom,
            first: Entry {
                time: NEVER,
                slot: 0,
            },
        }
    }

    #[inline]
    fn set(&mut self, slot: u32, time: i64) {
        let number = slot / GROUP;
        let (place, time) = self.groups[number as usize].replace(slot % GROUP, time);
        let winner = Entry {
            time,
            slot: number * GROUP + place,
        };
        if self.first.slot == slot {
            self.climb::<false>(number, winner);
        } else {
            self.climb::<true>(number, winner);
        }
    }

    /// Replays the matches from a group to the root. An unchanged entry leaves all entries above it
    /// unchanged: that `STOPS` the replay, but is not worth asking after the timer that was first.
    #[inline]
    fn climb<const STOPS: bool>(&mut self, group: u32, mut winner: Entry) {
        let mut node = self.bottom + group / GROUP;
        let mut side = group % GROUP;
        loop {
            let own = &mut self.nodes[node as usize];
            let at = (side % GROUP) as usize;
            if STOPS && own.times.0[at] == winner.time && own.slots[at] == winner.slot {
                return;
            }
            own.slots[at] = winner.slot;
            let (place, time) = own.times.replace(side, winner.time);
            winner = Entry {
                time,
                slot: own.slots[(place % GROUP) as usize],
            };
            if node == 0 {
                break;
            }
            side = (node - 1) % GROUP;
            node = (node - 1) / GROUP;
        }
        self.first = winner;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn equal_times_go_to_the_lower_slot() {
        let mut agenda = Agenda::new(5, 4);
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
            (slots, split) in (1u32..300).prop_flat_map(|slots| (Just(slots), 0..=slots)),
            changes in proptest::collection::vec((0u32..300, 0i64..20), 1..200),
        ) {
            let mut agenda = Agenda::new(slots, split);
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
