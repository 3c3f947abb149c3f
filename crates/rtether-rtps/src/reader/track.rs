//! Position of a reader with a best-effort writer, which announces nothing.
//!
//! One forged or corrupted number must not mute the writer: a long leap is held back until a later
//! number arrives, and consecutive numbers below the position reset it.

use alloc::collections::VecDeque;

use crate::sequence::SequenceNumber;

/// Longest leap accepted at once.
pub(super) const LEAP_MAX: i64 = 1 << 16;
/// Consecutive numbers below the position that reset it.
const RUN: u8 = 3;
/// Delivered numbers remembered: redundant paths repeat whole runs.
const RECENT: usize = 64;

/// What to do with a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// Deliver it.
    Take,
    /// A duplicate, or too late.
    Repeated,
    /// Far ahead: hold back.
    Wait,
}

/// Recent sequence numbers of a best-effort writer.
#[derive(Debug, Default)]
pub(crate) struct Track {
    recent: VecDeque<SequenceNumber>,
    /// At least the highest of them.
    top: SequenceNumber,
    /// A number far ahead.
    leap: Option<SequenceNumber>,
    /// Last number below the position, and the length of its run.
    below: (SequenceNumber, u8),
}

impl Track {
    /// Returns what to do with a number at or above `next`, which is the first number if none have
    /// arrived.
    pub(super) fn ahead(&mut self, next: SequenceNumber, number: SequenceNumber) -> Turn {
        if number <= self.top && self.recent.contains(&number) {
            return Turn::Repeated;
        }
        let is_far = number.0.saturating_sub(next.0) > LEAP_MAX && !self.recent.is_empty();
        if is_far && self.leap.is_none_or(|leap| number <= leap) {
            self.leap = Some(number);
            return Turn::Wait;
        }
        self.leap = None;
        if self.recent.len() >= RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(number);
        self.top = self.top.max(number);
        Turn::Take
    }

    /// Returns whether a number below the position, of a sample or a fragment, resets the position.
    pub(super) fn moves_back(&mut self, number: SequenceNumber) -> bool {
        let (last, run) = self.below;
        if number == last || self.recent.contains(&number) {
            return false;
        }
        let run = if number == last.next() { run + 1 } else { 1 };
        self.below = (number, run);
        if run < RUN {
            return false;
        }
        self.below = (SequenceNumber::ZERO, 0);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(number: i64) -> SequenceNumber {
        SequenceNumber(number)
    }

    #[test]
    fn a_leap_waits_for_a_later_number() {
        // Oracle: the rules above, by hand.
        let mut track = Track::default();
        assert_eq!(track.ahead(number(1), number(1 << 40)), Turn::Take);
        let next = number((1 << 40) + 1);
        let near = number(next.0 + LEAP_MAX);
        assert_eq!(track.ahead(next, near), Turn::Take);
        let next = near.next();
        let far = number(next.0 + LEAP_MAX + 2);
        for _ in 0..10 {
            assert_eq!(track.ahead(next, far), Turn::Wait);
        }
        assert_eq!(track.ahead(next, next), Turn::Take);
        assert_eq!(track.ahead(next.next(), far), Turn::Wait);
        assert_eq!(track.ahead(next.next(), far.next()), Turn::Take);
    }

    #[test]
    fn three_in_a_row_move_back_unless_they_were_there() {
        let mut track = Track::default();
        for one in 1..=100 {
            assert_eq!(track.ahead(number(one), number(one)), Turn::Take);
        }
        // The last 64 are remembered: 37 to 100.
        assert!((37..=100).all(|one| !track.moves_back(number(one))));
        assert!((1..=50).step_by(2).all(|one| !track.moves_back(number(one))));
        let moved = [10, 11, 11, 12, 13].map(|one| track.moves_back(number(one)));
        assert_eq!(moved, [false, false, false, true, false]);
        // Delivered numbers are not delivered again after a reset.
        assert_eq!(track.ahead(number(12), number(12)), Turn::Take);
        assert_eq!(track.ahead(number(13), number(99)), Turn::Repeated);
    }
}
