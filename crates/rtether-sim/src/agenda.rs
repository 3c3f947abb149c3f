//! The event queue: one slot per timer, the earliest found by a heap or a winner tree.
//!
//! All possible events of a run are known when it is built: each link has a next arrival, each
//! stack a next completion, each flow a next release. Each such timer owns a slot for the whole
//! run, and an event is a change of the slot's time.
//!
//! **What is under way**, arrivals and completions, is set once and then happens, soon, and few of
//! many slots are set at any time: a heap of those that are set stays small, whatever the plant. Those
//! set in the order in which they happen do not even enter it: they stand in a line.
//! **All others**, of which most are set (releases) or are moved again and again (retransmissions),
//! are in a tree. A change there replays the matches on the path to the root, whose memory
//! locations follow from the slot, so that they are fetched in parallel. Ports wake up only where
//! frames wait for more than their turn: they have a heap of their own, which costs nothing until
//! one of them is set.
//!
//! In a large plant the cost of a change in the tree is memory access and branch misprediction.
//! Slots are therefore bare times, four to a group; a node of the tree above the groups has the
//! winners of four in one cache line; and a match is decided without a branch, since its outcome is
//! unpredictable.
//!
//! **Order of equal times.** The lower slot wins. Slots are laid out by kind, then by node, so the
//! order of simultaneous events is (time, kind, node), the same on every machine; within a slot,
//! packets keep the order in which they entered it.

use alloc::collections::BinaryHeap;
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::hint::select_unpredictable;
use core::mem;

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

impl Entry {
    /// Returns whether it comes before another one; at the same time the lower slot does.
    #[inline]
    const fn is_before(self, other: Self) -> bool {
        self.time < other.time || (self.time == other.time && self.slot < other.slot)
    }
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
        let others = [u32::from(place == 0), 1 + u32::from(place <= 1), 2 + u32::from(place <= 2)];
        let [a, b, c] = others.map(|other| (other, self.0[(other % GROUP) as usize]));
        let (other, at) = earlier(earlier(a, b), c);
        self.0[(place % GROUP) as usize] = time;
        // Of equal times that at the lower place comes first.
        let is_other = at.wrapping_sub(i64::from(other < place)) < time;
        (select_unpredictable(is_other, other, place), select_unpredictable(is_other, at, time))
    }
}

/// Returns the earlier of two times with their places; the left one of equal times.
#[inline]
fn earlier((left, at): (u32, i64), (right, other): (u32, i64)) -> (u32, i64) {
    let is_right = other < at;
    (select_unpredictable(is_right, right, left), select_unpredictable(is_right, other, at))
}

/// A node of the tree: the winners of its children, in a cache line.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Node {
    times: Group,
    slots: [u32; GROUP as usize],
}

/// Timers by slot: what is under way, then all others, then those of ports that wake up.
pub(crate) struct Agenda {
    near: Heap,
    middle: Tree,
    late: Heap,
    /// First slots of the tree and of the last heap.
    splits: [u32; 2],
}

impl Agenda {
    /// Creates `slots` timers, none of them set; the tree and the last heap begin at `splits`.
    pub(crate) fn new(slots: u32, splits: [u32; 2]) -> Self {
        Self {
            near: Heap::new(splits[0]),
            middle: Tree::new(splits[1] - splits[0]),
            late: Heap::new(slots - splits[1]),
            splits,
        }
    }

    /// Returns the earliest slot and its time; [`NEVER`] if nothing is set.
    #[inline]
    pub(crate) const fn first(&self) -> (i64, u32) {
        let (near, middle, late) = (self.near.first, self.middle.first, self.late.first);
        if late.time < near.time && late.time < middle.time {
            (late.time, self.splits[1] + late.slot)
        } else if middle.time < near.time {
            (middle.time, self.splits[0] + middle.slot)
        } else {
            (near.time, near.slot)
        }
    }

    /// Sets a timer, or clears it with [`NEVER`].
    #[inline]
    pub(crate) fn set(&mut self, slot: u32, time: i64) {
        if slot < self.splits[0] {
            self.near.set(slot, time);
        } else if slot < self.splits[1] {
            self.middle.set(slot - self.splits[0], time);
        } else {
            self.set_late(slot - self.splits[1], time);
        }
    }

    /// Not inlined, so that others do not pay for its variables.
    #[inline(never)]
    fn set_late(&mut self, slot: u32, time: i64) {
        self.late.set(slot, time);
    }
}

/// Timers by slot of which few are set.
///
/// Each entry is a time that was set. One that is no longer that of its slot is left where it is until
/// it comes first.
struct Heap {
    /// By slot.
    times: Vec<i64>,
    /// Entries that were set about in order.
    line: Line,
    /// All others, with their slots in the lower bits, the earliest first.
    set: BinaryHeap<Reverse<i128>>,
    /// The first of these.
    top: Entry,
    first: Entry,
}

/// Returns a number that is ordered as time and slot are: comparing one is faster.
#[inline]
fn number(entry: Entry) -> i128 {
    (i128::from(entry.time) << u32::BITS) | i128::from(entry.slot)
}

#[inline]
#[allow(clippy::cast_possible_truncation, reason = "each takes its own bits")]
#[allow(clippy::cast_sign_loss, reason = "a slot has no sign")]
const fn entry(number: i128) -> Entry {
    Entry { time: (number >> u32::BITS) as i64, slot: number as u32 }
}

const NOTHING: Entry = Entry { time: NEVER, slot: 0 };

impl Heap {
    /// Creates `slots` timers, none of them set.
    fn new(slots: u32) -> Self {
        Self {
            times: vec![NEVER; slots as usize],
            line: Line::new(),
            set: BinaryHeap::new(),
            top: NOTHING,
            first: NOTHING,
        }
    }

    #[inline]
    fn set(&mut self, slot: u32, time: i64) {
        let own = &mut self.times[slot as usize];
        let was_set = *own != NEVER;
        *own = time;
        let new = Entry { time, slot };
        if was_set && self.first.slot == slot {
            self.replace_first(new);
        } else if time != NEVER {
            if self.set.len() + self.line.len() >= 2 * self.times.len() {
                self.forget_moved();
            }
            self.add(new);
            if new.is_before(self.first) {
                self.first = new;
            }
        }
    }

    #[inline]
    fn add(&mut self, entry: Entry) {
        if !self.line.takes(entry) {
            self.push(entry);
        }
    }

    #[inline(never)]
    fn push(&mut self, entry: Entry) {
        self.set.push(Reverse(number(entry)));
        if entry.is_before(self.top) {
            self.top = entry;
        }
    }

    /// Removes what is no longer the time of its slot, so that there are never more than two entries
    /// for each slot.
    #[cold]
    fn forget_moved(&mut self) {
        let mut entries = mem::take(&mut self.set).into_vec();
        while self.line.len() > 0 {
            entries.push(Reverse(number(self.line.front())));
            self.line.leave();
        }
        entries.retain(|&Reverse(number)| {
            let Entry { time, slot } = entry(number);
            self.times[slot as usize] == time
        });
        entries.sort_unstable();
        entries.dedup();
        self.set = entries.into();
        self.find_top();
    }

    /// Sets the timer that is first, or clears it with [`NEVER`].
    #[inline]
    fn replace_first(&mut self, new: Entry) {
        if self.line.front().slot == new.slot && self.line.front().time == self.first.time {
            self.line.leave();
            if new.time != NEVER {
                self.add(new);
            }
        } else {
            self.replace_top(new);
        }
        // What is next in line is first, nearly always.
        let front = self.line.front();
        if front.is_before(self.top) && self.times[front.slot as usize] == front.time {
            self.first = front;
        } else {
            self.find_first();
        }
    }

    /// Puts a timer in the place of the first one of the heap.
    #[inline(never)]
    fn replace_top(&mut self, new: Entry) {
        if new.time == NEVER || self.line.takes(new) {
            self.set.pop();
        } else if let Some(mut first) = self.set.peek_mut() {
            *first = Reverse(number(new));
        }
        self.find_top();
    }

    fn find_top(&mut self) {
        let top = self.set.peek();
        self.top = top.map_or(NOTHING, |&Reverse(number)| entry(number));
    }

    /// Finds the first entry that is the time of its slot, and removes those before it.
    #[inline(never)]
    fn find_first(&mut self) {
        loop {
            let (front, top) = (self.line.front(), self.top);
            let is_in_line = front.is_before(top);
            self.first = if is_in_line { front } else { top };
            let Entry { time, slot } = self.first;
            if time == NEVER || self.times[slot as usize] == time {
                return;
            }
            if is_in_line {
                self.line.leave();
            } else {
                self.replace_top(NOTHING);
            }
        }
    }
}

/// Entries in order, earliest first, in a ring. Frames of one size on links of one rate arrive in the
/// order in which they were sent: each comes to the end here, where a heap would compare it on all its
/// levels.
struct Line {
    /// [`PAST`] before the first entry, [`NEVER`] after the last one: neither end has to be looked for.
    times: [i64; Self::PLACES as usize],
    slots: [u32; Self::PLACES as usize],
    head: u32,
    tail: u32,
}

/// Earlier than every time.
const PAST: i64 = i64::MIN;

impl Line {
    const PLACES: u32 = 64;
    /// Entries that one which comes may pass.
    const PASSED: u32 = 4;

    const fn new() -> Self {
        let mut times = [PAST; Self::PLACES as usize];
        times[0] = NEVER;
        Self { times, slots: [0; Self::PLACES as usize], head: 0, tail: 0 }
    }

    #[inline]
    const fn get(&self, number: u32) -> Entry {
        let at = (number % Self::PLACES) as usize;
        Entry { time: self.times[at], slot: self.slots[at] }
    }

    #[inline]
    const fn put(&mut self, number: u32, entry: Entry) {
        let at = (number % Self::PLACES) as usize;
        self.times[at] = entry.time;
        self.slots[at] = entry.slot;
    }

    #[inline]
    const fn len(&self) -> usize {
        self.tail.wrapping_sub(self.head) as usize
    }

    #[inline]
    const fn front(&self) -> Entry {
        self.get(self.head)
    }

    /// Removes the first entry.
    #[inline]
    const fn leave(&mut self) {
        self.times[(self.head % Self::PLACES) as usize] = PAST;
        self.head = self.head.wrapping_add(1);
    }

    /// Takes an entry in, or returns `false` if there is no room or it would pass too many others.
    #[inline]
    fn takes(&mut self, entry: Entry) -> bool {
        // Both ends need a place.
        if self.tail.wrapping_sub(self.head) > Self::PLACES - 3 {
            return false;
        }
        if entry.is_before(self.get(self.tail.wrapping_sub(1))) {
            return self.takes_before(entry);
        }
        self.put(self.tail, entry);
        self.end_at(self.tail.wrapping_add(1));
        true
    }

    #[inline]
    const fn end_at(&mut self, tail: u32) {
        self.tail = tail;
        self.times[(tail % Self::PLACES) as usize] = NEVER;
    }

    /// Takes an entry in before the last one.
    #[inline(never)]
    fn takes_before(&mut self, entry: Entry) -> bool {
        let last = self.tail.wrapping_sub(1);
        for passed in 1..=Self::PASSED {
            let before = last.wrapping_sub(passed);
            if entry.is_before(self.get(before)) {
                continue;
            }
            for at in 0..passed {
                let at = last.wrapping_sub(at);
                self.put(at.wrapping_add(1), self.get(at));
            }
            self.put(before.wrapping_add(1), entry);
            self.end_at(self.tail.wrapping_add(1));
            return true;
        }
        false
    }
}

/// Timers by slot of which most are set, with one winner.
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
        let idle = Node { times: nothing, slots: [0; GROUP as usize] };
        Self {
            groups: vec![nothing; groups as usize],
            nodes: vec![idle; (bottom + parents) as usize],
            bottom,
            first: NOTHING,
        }
    }

    #[inline]
    fn set(&mut self, slot: u32, time: i64) {
        let number = slot / GROUP;
        let (place, time) = self.groups[number as usize].replace(slot % GROUP, time);
        let winner = Entry { time, slot: number * GROUP + place };
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
            winner = Entry { time, slot: own.slots[(place % GROUP) as usize] };
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
        let mut agenda = Agenda::new(5, [3, 4]);
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
            (slots, splits) in (1u32..300).prop_flat_map(|slots| (Just(slots), [0..=slots, 0..=slots])),
            // How much later each change is than the one before: those in order go another way.
            pace in 0i64..12,
            changes in proptest::collection::vec((0u32..300, 0i64..20), 1..200),
        ) {
            let [one, other] = splits;
            let mut agenda = Agenda::new(slots, [one.min(other), one.max(other)]);
            let mut reference: BTreeSet<(i64, u32)> = (0..slots).map(|s| (NEVER, s)).collect();
            let mut times = std::vec![NEVER; slots as usize];
            for ((slot, time), number) in changes.into_iter().zip(0i64..) {
                let slot = slot % slots;
                let time = if time == 19 { NEVER } else { number * pace + time };
                reference.remove(&(times[slot as usize], slot));
                reference.insert((time, slot));
                times[slot as usize] = time;
                agenda.set(slot, time);
                let first = *reference.first().unwrap();
                let (found, at) = agenda.first();
                prop_assert_eq!(found, first.0);
                prop_assert!(found == NEVER || at == first.1);
                for heap in [&agenda.near, &agenda.late] {
                    prop_assert!(heap.set.len() + heap.line.len() <= 2 * heap.times.len());
                }
            }
        }
    }
}
