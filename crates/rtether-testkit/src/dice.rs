//! Random numbers that are the same on every machine, and independent of the simulator's.

use core::fmt::Debug;

/// A generator (`SplitMix64`): any seed gives a good sequence, so numbers of cases can be seeds.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// Creates a generator.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns 64 random bits.
    pub const fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number in `low..=high`.
    pub const fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.bits() % (high - low + 1)
    }

    /// Returns a number in `low..=high` as the type that is wanted.
    ///
    /// # Panics
    /// If `high` does not fit.
    pub fn small<T: TryFrom<u64, Error: Debug>>(&mut self, low: u64, high: u64) -> T {
        T::try_from(self.between(low, high)).expect("a number of its type")
    }

    /// Returns a number in `low..=high`, which may be negative, such as picoseconds.
    ///
    /// # Panics
    /// If the range is wider than 2^63.
    pub fn time(&mut self, low: i64, high: i64) -> i64 {
        let width = high.abs_diff(low);
        low + i64::try_from(self.between(0, width)).expect("less than 2^63")
    }

    /// Returns an index into a list of `len`.
    pub fn index(&mut self, len: usize) -> usize {
        self.small(0, len as u64 - 1)
    }

    /// Returns whether an event of this percentage happens.
    pub const fn chance(&mut self, percent: u64) -> bool {
        self.bits() % 100 < percent
    }

    /// Returns one of these.
    pub fn pick<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.index(choices.len())].clone()
    }
}

#[cfg(test)]
mod tests {
    use super::Dice;

    /// Oracle: the reference code of `SplitMix64` in its paper; its first number from seed 0, and
    /// the first three from seed 1234567.
    #[test]
    fn numbers_are_those_of_splitmix() {
        assert_eq!(Dice::new(0).bits(), 0xE220_A839_7B1D_CDAF);
        let mut dice = Dice::new(1_234_567);
        let bits = [(); 3].map(|()| dice.bits());
        let expected =
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert_eq!(bits, expected);
    }

    /// Oracle: the definition of each; every number of a small range comes up.
    #[test]
    fn ranges_are_whole() {
        let mut dice = Dice::new(1);
        let mut seen = [false; 5];
        for _ in 0..200 {
            let at = dice.time(-2, 2);
            seen[usize::try_from(at + 2).expect("at least zero")] = true;
            assert!(dice.index(3) < 3);
            assert!((7..=9).contains(&dice.small::<u8>(7, 9)));
            assert!(!dice.chance(0) && dice.chance(100));
        }
        assert_eq!(seen, [true; 5]);
    }
}
