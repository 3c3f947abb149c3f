//! Random numbers of the search: splitmix64, from the numbers of what is searched.

/// A generator.
#[derive(Clone, Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    /// Returns the generator of these numbers: others give other draws.
    pub(crate) fn of(words: &[u64]) -> Self {
        let mut dice = Self(0);
        for &word in words {
            dice.0 ^= word;
            dice.0 = dice.next();
        }
        dice
    }

    /// Returns the next number.
    pub(crate) const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number from `low` to `high`, inclusive, for times in picoseconds.
    pub(crate) const fn time(&mut self, low: i64, high: i64) -> i64 {
        let width = high.abs_diff(low);
        low.saturating_add_unsigned(self.next() % width.saturating_add(1))
    }

    /// Returns a position in a list of this length, which is not empty.
    pub(crate) fn index(&mut self, len: usize) -> usize {
        usize::try_from(self.next() % (len.max(1) as u64)).unwrap_or(0)
    }

    /// Returns one of these.
    pub(crate) fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.index(all.len())]
    }

    /// Returns whether something happens that does so in this share of all cases.
    pub(crate) const fn chance(&mut self, percent: u64) -> bool {
        self.next() % 100 < percent
    }
}
