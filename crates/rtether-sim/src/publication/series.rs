//! Samples of a writer on their way to one reader.

use alloc::collections::VecDeque;

use rtether_rtps::sequence::SequenceNumber;

use crate::whole::Released;

/// What a writer has written and a reader has not got, in the order of writing.
#[derive(Default)]
pub(super) struct Series {
    /// Number of the oldest one.
    first: i64,
    waiting: VecDeque<Released>,
}

impl Series {
    /// Takes in what the writer has written under the number after the last one.
    pub(super) fn push(&mut self, sequence: SequenceNumber, released: Released) {
        if self.waiting.is_empty() {
            self.first = sequence.0;
        }
        self.waiting.push_back(released);
    }

    /// Takes a sample out; those before it never come and are handed to `lose`.
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
    use crate::whole::Spent;
    use alloc::vec::Vec;

    /// Oracle: by hand. What is passed by is lost, what has been passed by is unknown.
    #[test]
    fn what_is_passed_by_is_lost() {
        let mut series = Series::default();
        for number in 0..4 {
            let released = Released {
                at: 0,
                number,
                is_counted: true,
                spent: Spent::default(),
            };
            series.push(SequenceNumber(i64::from(number) + 5), released);
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
}
