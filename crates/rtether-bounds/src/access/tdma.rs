//! TDMA: slots in a cycle of length `T`.
//!
//! **Theorem.** If the longest time from the beginning of one slot of a station to that of its next
//! one is `Z`, where slots count that take its largest frame of the class, its turns have the latency `Z` and the
//! interval `Z`, for the frames of a class. A station with one slot in every `P` cycles has `Z = P T`.
//!
//! *Proof.* Slots and Sync frames do not overlap, gap and propagation included
//! ([`rtether_model::access::Access::check`]), so each station finds the medium idle at its slot,
//! and has heard the Sync frame by then. It sends its oldest frame at the beginning of the slot if
//! it waits there. Let a frame come to an empty queue at 0. The first slot that begins at 0 or later
//! begins before `Z`, and by `n Z` there have been `n`. Frames smaller than the largest may go in
//! further slots, which only helps those behind. QED
//!
//! With the last bit `F(L)` and the propagation later, the `q`-th frame in the queue is there at
//! `q P T + F(L) + tau`.

use alloc::vec::Vec;

use rtether_model::access::{Access, Slot, Tdma};

use super::{Turns, every};
use crate::source::times;

/// Most cycles after which all slots have come.
const ROUND_MAX: i64 = 4_096;

/// Returns the turns of a member for a class; `None` if none of its slots takes its largest frame.
pub(super) fn turns(tdma: &Tdma, access: &Access, member: usize, class: u8) -> Option<Turns> {
    let largest = access.members[member].largest[usize::from(class)];
    let is_own = |slot: &&Slot| slot.member as usize == member && slot.size >= largest;
    let own: Vec<&Slot> = tdma.slots.iter().filter(is_own).collect();
    let cycle = tdma.cycle.as_ps();
    let rarest = own.iter().map(|slot| i64::from(slot.of)).min()?;
    let round = own.iter().try_fold(1, |round, slot| {
        let round = lcm(round, i64::from(slot.of));
        (round <= ROUND_MAX).then_some(round)
    });
    // One slot alone is a bound as well.
    let Some(round) = round else {
        return Some(every(times(cycle, rarest)));
    };
    let mut begins: Vec<i64> = Vec::new();
    for slot in own {
        let first = times(cycle, i64::from(slot.turn)) + slot.offset.as_ps();
        let times_a_round = round / i64::from(slot.of);
        let step = times(cycle, i64::from(slot.of));
        begins.extend((0..times_a_round).map(|number| first + times(step, number)));
    }
    begins.sort_unstable();
    let again = begins.first()? + times(cycle, round);
    begins.push(again);
    let gaps = begins.windows(2).map(|pair| pair[1] - pair[0]);
    gaps.max().map(every)
}

const fn lcm(a: i64, b: i64) -> i64 {
    let (mut x, mut y) = (a, b);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    if x == 0 { a } else { a / x * b }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;
    use rtether_model::access::{Faults, Member, ORDINARY, Scheme};
    use rtether_model::network::NodeId;
    use rtether_model::quantity::{Bytes, Duration};

    /// Oracle: by hand, in a cycle of 5 ms.
    #[test]
    fn longest_time_between_slots() {
        let slot = |offset, size, turn, of| Slot {
            member: 0,
            offset: Duration::from_us(offset),
            size: Bytes::new(size),
            of,
            turn,
        };
        let turns = |slots: &[Slot]| {
            let tdma =
                Tdma { cycle: Duration::from_ms(5), master: 0, backup: None, slots: slots.into() };
            let access = Access {
                hub: NodeId(0),
                scheme: Scheme::Tdma(tdma.clone()),
                members: vec![Member {
                    node: NodeId(1),
                    largest: [Bytes::new(1_000), Bytes::ZERO],
                }],
                response: Duration::ZERO,
                faults: Faults::default(),
            };
            turns(&tdma, &access, 0, ORDINARY).map(|turns| turns.interval / 1_000_000)
        };
        assert_eq!(turns(&[slot(2_000, 1_518, 0, 1)]), Some(5_000));
        assert_eq!(turns(&[slot(2_000, 1_518, 1, 3)]), Some(15_000));
        // From 2 to 3.5 ms and from there to 7 ms.
        let two = [slot(2_000, 1_000, 0, 1), slot(3_500, 1_000, 0, 1)];
        assert_eq!(turns(&two), Some(3_500));
        // A slot that is too small for the largest frame does not count.
        let small = [slot(2_000, 1_518, 0, 1), slot(3_500, 999, 0, 1)];
        assert_eq!(turns(&small), Some(5_000));
        assert_eq!(turns(&[slot(3_500, 999, 0, 1)]), None);
        // At 2, 7, ... ms in even cycles and at 1 ms in every third: 2, 11, 12, 16, 22, 31, 32, ...
        let mixed = [slot(2_000, 1_518, 0, 2), slot(1_000, 1_518, 0, 3)];
        assert_eq!(turns(&mixed), Some(10_000));
    }
}
