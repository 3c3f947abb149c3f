//! Samples of a writer in transit to one reader.

use alloc::collections::VecDeque;

use rtether_rtps::sequence::SequenceNumber;

use crate::message::Released;

/// Largest number of samples in transit to a reader. Only best-effort samples can reach it, when
/// none is delivered any more.
const LIMIT: usize = 100_000;

/// Samples that a writer has written and a reader has not received, in the order of writing.
#[derive(Default)]
pub(super) struct Series {
    /// Sequence number of the oldest one.
    first: i64,
    waiting: VecDeque<Released>,
}

impl Series {
    /// Adds a sample with the next sequence number; returns the oldest one if there are too many,
    /// which then counts as lost.
    #[must_use]
    pub(super) fn push(
        &mut self,
        sequence: SequenceNumber,
        released: Released,
    ) -> Option<Released> {
        if self.waiting.is_empty() {
            self.first = sequence.0;
        }
        self.waiting.push_back(released);
        if self.waiting.len() <= LIMIT {
            return None;
        }
        self.first += 1;
        self.waiting.pop_front()
    }

    /// Removes a sample; earlier ones will never arrive and are passed to `lose`.
    pub(super) fn take(
        &mut self,
        sequence: SequenceNumber,
        mut lose: impl FnMut(&Released),
    ) -> Option<Released> {
        while self.first < sequence.0 {
            lose(&self.waiting.pop_front()?);
            self.first += 1;
        }
        if self.first > sequence.0 {
            return None;
        }
        self.first += 1;
        self.waiting.pop_front()
    }

    /// Returns how many counted samples are older than `deadline`.
    pub(super) fn overdue(&self, now: i64, deadline: i64) -> usize {
        let counted = self.waiting.iter().filter(|one| one.is_counted);
        counted.filter(|one| now - one.at > deadline).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    /// Oracle: by hand. Skipped samples are lost; a skipped or taken sequence number is unknown.
    #[test]
    fn what_is_passed_by_is_lost() {
        let mut series = Series::default();
        for number in 0..4 {
            let released = Released::new(0, number, true);
            assert!(series.push(SequenceNumber(i64::from(number) + 5), released).is_none());
        }
        let mut lost = Vec::new();
        let taken = series.take(SequenceNumber(7), |one| lost.push(one.number));
        assert_eq!(taken.map(|one| one.number), Some(2));
        assert_eq!(lost, [0, 1]);
        assert_eq!(series.overdue(10, 5), 1);
        let none = |_: &Released| panic!("nothing is lost");
        assert!(series.take(SequenceNumber(6), none).is_none());
        let last = series.take(SequenceNumber(8), none).map(|one| one.number);
        assert_eq!(last, Some(3));
        assert!(series.take(SequenceNumber(9), none).is_none());
    }

    /// Oracle: the limit, and the order of writing.
    #[test]
    fn too_many_are_lost_from_the_oldest_on() {
        let mut series = Series::default();
        let released = |number| Released::new(0, number, true);
        let limit = u32::try_from(LIMIT).expect("a number");
        for number in 0..limit {
            let sequence = SequenceNumber(i64::from(number) + 1);
            assert!(series.push(sequence, released(number)).is_none());
        }
        let over = series.push(SequenceNumber(i64::from(limit) + 1), released(limit));
        assert_eq!(over.map(|one| one.number), Some(0));
        let none = |_: &Released| panic!("nothing is lost");
        let next = series.take(SequenceNumber(2), none);
        assert_eq!(next.map(|one| one.number), Some(1));
    }
}
