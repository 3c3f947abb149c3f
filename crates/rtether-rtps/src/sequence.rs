//! Sequence numbers of samples, and sets of them (9.3.2, 9.4.2.6).

/// Sequence number of a sample of one writer, from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SequenceNumber(pub i64);

impl SequenceNumber {
    /// Precedes the first one.
    pub const ZERO: Self = Self(0);
    /// The first one.
    pub const FIRST: Self = Self(1);
    /// Largest number accepted from the wire: far above what any writer reaches in a century, and
    /// far enough below the limit of the type that sums of a few numbers do not overflow.
    pub const MAX: Self = Self(1 << 62);

    /// `SEQUENCENUMBER_UNKNOWN` on the wire.
    pub const UNKNOWN: Self = Self(-(1 << 32));

    /// Returns the next number.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }

    /// Returns the number `count` places later.
    #[must_use]
    pub const fn plus(self, count: i64) -> Self {
        Self(self.0.saturating_add(count))
    }

    /// Returns whether a sample can have this number.
    pub const fn is_valid(self) -> bool {
        0 < self.0 && self.0 <= Self::MAX.0
    }
}

/// Numbers within 256 of a base, as in ACKNACK and GAP; also used for fragments, whose numbers have
/// 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NumberSet {
    base: i64,
    /// Count of numbers covered, from the base.
    len: u32,
    /// The highest bit of the first word stands for the base.
    words: [u32; 8],
}

impl NumberSet {
    /// Most numbers that a set covers.
    pub const LEN_MAX: u32 = 256;

    /// Returns an empty set; in an ACKNACK it acknowledges everything below `base`.
    pub const fn empty(base: i64) -> Self {
        Self { base, len: 0, words: [0; 8] }
    }

    /// Reads the wire format; `None` if the set covers more than 256 numbers. Bits beyond `len` are
    /// cleared, and missing words are zero.
    pub fn from_words(base: i64, len: u32, words: impl IntoIterator<Item = u32>) -> Option<Self> {
        if len > Self::LEN_MAX {
            return None;
        }
        let mut set = Self::empty(base);
        set.len = len;
        for (own, word) in set.words.iter_mut().zip(words) {
            *own = word;
        }
        for index in 0..8 {
            let used = len.saturating_sub(index * 32).min(32);
            let mask = u32::MAX.checked_shl(32 - used).unwrap_or(0);
            if let Some(word) = set.words.get_mut(usize::try_from(index).unwrap_or(8)) {
                *word &= mask;
            }
        }
        Some(set)
    }

    /// Returns the base.
    pub const fn base(&self) -> i64 {
        self.base
    }

    /// Returns the count of numbers covered.
    pub const fn len(&self) -> u32 {
        self.len
    }

    /// Returns whether the set contains no number.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    /// Returns the words of the wire format.
    pub fn words(&self) -> &[u32] {
        let count = usize::try_from(self.len.div_ceil(32)).unwrap_or(8);
        &self.words[..count.min(8)]
    }

    /// Adds a number; returns whether it is within range.
    pub fn insert(&mut self, number: i64) -> bool {
        let Some(offset) = self.offset(number) else {
            return false;
        };
        self.len = self.len.max(offset + 1);
        let index = usize::try_from(offset / 32).unwrap_or(8);
        if let Some(word) = self.words.get_mut(index) {
            *word |= 1 << (31 - offset % 32);
        }
        true
    }

    /// Returns whether the set contains a number.
    pub fn contains(&self, number: i64) -> bool {
        let Some(offset) = self.offset(number) else {
            return false;
        };
        let word = usize::try_from(offset / 32).ok();
        let word = word.and_then(|index| self.words.get(index));
        word.is_some_and(|word| word >> (31 - offset % 32) & 1 == 1)
    }

    /// Returns the set with all numbers increased.
    #[must_use]
    pub(crate) const fn plus(mut self, count: i64) -> Self {
        self.base = self.base.saturating_add(count);
        self
    }

    /// Returns the set without the numbers above `last`.
    #[must_use]
    pub fn up_to(mut self, last: i64) -> Self {
        let end = last.saturating_sub(self.base).saturating_add(1).max(0);
        let len = u32::try_from(end).unwrap_or(u32::MAX).min(self.len);
        self = Self::from_words(self.base, len, self.words).unwrap_or(self);
        self
    }

    /// Returns the numbers of the set in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = i64> + '_ {
        let numbers = (0..self.len).map(|offset| self.base.saturating_add(i64::from(offset)));
        numbers.filter(|number| self.contains(*number))
    }

    fn offset(&self, number: i64) -> Option<u32> {
        let offset = u32::try_from(number.checked_sub(self.base)?).ok()?;
        (offset < Self::LEN_MAX).then_some(offset)
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn bits_by_hand() {
        // Oracle: the example of 9.4.2.6, base 1234, numbers 1234 to 1245, of which 1236 and 1237
        // are in the set: 1234/12:00110... .
        let set = NumberSet::from_words(1_234, 12, [0b0011_0000 << 24]).unwrap();
        assert_eq!(set.iter().collect::<Vec<_>>(), [1_236, 1_237]);
        assert_eq!(set.words().len(), 1);
        assert_eq!(NumberSet::from_words(1, 257, [0; 9]), None);
        // Bits beyond the length are ignored.
        let set = NumberSet::from_words(1, 2, [u32::MAX, u32::MAX]).unwrap();
        assert_eq!(set.iter().collect::<Vec<_>>(), [1, 2]);
    }

    proptest! {
        /// Oracle: a set of the standard library.
        #[test]
        fn what_is_put_in_is_in(base in -5_i64..1 << 40, offsets in prop::collection::btree_set(0_i64..300, 0..40)) {
            let mut set = NumberSet::empty(base);
            for offset in &offsets {
                prop_assert_eq!(set.insert(base + offset), *offset < 256);
            }
            let read = NumberSet::from_words(base, set.len(), set.words().iter().copied()).unwrap();
            prop_assert_eq!(read, set);
            let some = set.up_to(base + 100);
            let expected: Vec<i64> = set.iter().filter(|number| *number <= base + 100).collect();
            prop_assert_eq!(some.iter().collect::<Vec<_>>(), expected);
            prop_assert!(set.up_to(base - 1).is_empty());
            let expected: Vec<i64> =
                offsets.into_iter().filter(|offset| *offset < 256).map(|offset| base + offset).collect();
            prop_assert_eq!(set.iter().collect::<Vec<_>>(), expected);
        }
    }
}
