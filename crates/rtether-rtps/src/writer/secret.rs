//! Numbers that only the address of a reader is told.
//!
//! They begin at one that nobody can guess, and each right acknowledgment moves them on by another
//! such step, until as many in a row as there are rounds prove the address. Steps are short: Fast DDS
//! counts from the last number that it knows to the first one offered, one by one.

use md5::{Digest, Md5};

use crate::sequence::SequenceNumber;

/// How an address is proved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rounds {
    /// Right acknowledgments in a row.
    pub(crate) count: u8,
    /// Bits of the secret of each.
    pub(crate) bits: u32,
}

impl Rounds {
    /// Of 2.5: at most 4096 numbers are left out. With a guess in each frame of a full Gigabit link
    /// an even chance takes a day.
    pub(crate) const SEVERAL: Self = Self { count: 4, bits: 10 };
    /// Of 1.0, whose readers may not answer a second time.
    pub(crate) const ONE: Self = Self { count: 1, bits: 40 };
}

/// The numbers for a reader.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Secret {
    /// Of the steps for this participant and address.
    seed: [u8; 16],
    /// What nobody keeps secret: all numbers are above.
    start: i64,
    rounds: Rounds,
    /// Right acknowledgments so far.
    right: u8,
    /// Steps made.
    steps: u32,
    /// What is added to the numbers.
    pub(super) offset: i64,
    /// Base of the last right acknowledgment, which may come again.
    confirmed: i64,
}

/// What an acknowledgment shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    /// Nothing.
    Nothing,
    /// One more right number: the next are others.
    More,
    /// The reader receives at its address.
    Proof,
}

impl Secret {
    /// Returns the numbers above `start` of a participant and an address, of which `seed` is a keyed
    /// hash.
    pub(crate) fn new(seed: [u8; 16], start: i64, rounds: Rounds) -> Self {
        let mut this =
            Self { seed, start, rounds, right: 0, steps: 0, offset: start, confirmed: 0 };
        this.step();
        this
    }

    /// Moves the numbers on.
    fn step(&mut self) {
        let mut md5 = Md5::new();
        md5.update(self.seed);
        md5.update(self.steps.to_be_bytes());
        let digest = u128::from_be_bytes(md5.finalize().into());
        let secret = i64::try_from(digest >> (128 - self.rounds.bits)).unwrap_or(0);
        // Above those of a reader that begins anew, which everybody knows.
        self.offset = self.offset.saturating_add(secret + 1);
        self.steps = self.steps.wrapping_add(1);
    }

    /// Returns the numbers of the same address, above all that `old` can have had, up to `last` samples.
    ///
    /// Above those that it had, they would tell at this address what only the old one was told.
    pub(super) fn above(&self, old: &Self, last: SequenceNumber) -> Self {
        let span = i64::from(old.rounds.count) << old.rounds.bits;
        let used = old.start.saturating_add(span).saturating_add(last.0);
        Self::new(self.seed, self.start.saturating_add(used), self.rounds)
    }

    /// Judges the base of an acknowledgment of samples from `first` to `last`. A wrong one takes back
    /// what was right, except the one before, repeated, and 0 and 1 of a reader that begins.
    pub(super) fn judge(&mut self, base: i64, [first, last]: [SequenceNumber; 2]) -> Shown {
        if base <= 1 || base == self.confirmed {
            return Shown::Nothing;
        }
        let number = base.saturating_sub(self.offset);
        if number != first.0 && number != last.0 + 1 {
            self.right = 0;
            return Shown::Nothing;
        }
        self.confirmed = base;
        self.right += 1;
        if self.right >= self.rounds.count {
            return Shown::Proof;
        }
        self.step();
        Shown::More
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: [SequenceNumber; 2] = [SequenceNumber::FIRST, SequenceNumber::ZERO];

    #[test]
    fn right_numbers_in_a_row_are_the_proof() {
        // Oracle: four right ones; the second time a wrong one lies between.
        let mut secret = Secret::new([7; 16], 0, Rounds::SEVERAL);
        for shown in [Shown::More, Shown::More, Shown::More, Shown::Proof] {
            let base = secret.offset + 1;
            assert_eq!(secret.judge(1, NONE), Shown::Nothing);
            assert_eq!(secret.judge(base, NONE), shown);
            assert_eq!(secret.judge(base, NONE), Shown::Nothing, "again");
        }
        assert!(secret.offset <= 4 * 1_024);
        let mut secret = Secret::new([7; 16], 0, Rounds::SEVERAL);
        for wrong in [0, 0, 3, 0, 0, 0] {
            assert_eq!(secret.judge(secret.offset + 1, NONE), Shown::More);
            if wrong > 0 {
                assert_eq!(secret.judge(secret.offset + wrong, NONE), Shown::Nothing);
            }
        }
        assert_eq!(secret.judge(secret.offset + 1, NONE), Shown::Proof);
    }

    #[test]
    fn another_address_is_told_nothing_of_the_numbers_before() {
        // Oracle: whatever the first address was told, the second is told the same.
        for rounds in [Rounds::SEVERAL, Rounds::ONE] {
            let new = Secret::new([1; 16], 0, rounds);
            let told = [2, 3].map(|seed| {
                let mut old = Secret::new([seed; 16], 5, rounds);
                let mut highest = old.offset;
                while old.judge(old.offset + 1, NONE) == Shown::More {
                    highest = old.offset;
                }
                let above = new.above(&old, SequenceNumber(3));
                assert!(above.offset > highest + 3);
                above.offset
            });
            assert_eq!(told[0], told[1], "{rounds:?}");
        }
    }

    #[test]
    fn numbers_that_have_run_out_prove_nothing() {
        // Oracle: no number is above the largest one. One who moves often enough is never proved.
        for rounds in [Rounds::SEVERAL, Rounds::ONE] {
            let old = Secret::new([1; 16], i64::MAX - 9, rounds);
            let mut secret = Secret::new([2; 16], 0, rounds).above(&old, SequenceNumber(3));
            for base in [2, i64::MAX / 2, i64::MAX - 1, i64::MAX] {
                assert_eq!(secret.judge(base, NONE), Shown::Nothing, "{rounds:?}, {base}");
            }
        }
    }

    #[test]
    fn counting_up_is_no_way_to_find_them() {
        // Oracle: the number after a right one is wrong, unless the step is one.
        let mut secret = Secret::new([9; 16], 0, Rounds::SEVERAL);
        let all = (2..100_000).map(|base| secret.judge(base, NONE));
        let all: std::vec::Vec<Shown> = all.collect();
        assert!(all.contains(&Shown::More) && !all.contains(&Shown::Proof));
    }
}
