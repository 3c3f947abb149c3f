//! The number of slots to wait after a collision.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::Backoff;
use super::config::choices;

/// Back-off generator of one station.
#[derive(Clone, Debug)]
pub(super) struct Dice(Xoshiro256PlusPlus);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// Returns how many slots to wait after the `collisions`-th collision of a frame.
    ///
    /// Uniform; with a bias below 2^-53 where the number of values is not a power of two.
    pub(super) fn slots(&mut self, rule: Backoff, collisions: u32) -> i64 {
        let choices = u128::from(choices(rule, collisions));
        let scaled = (u128::from(self.0.next_u64()) * choices) >> 64;
        i64::try_from(scaled).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_both_rules() {
        // Oracle: 4.2.3.2.5 and the ranges {0, 1, 2}, {0..4} of the variant; all values occur.
        let mut dice = Dice::new(1);
        for (rule, extra) in [(Backoff::Standard, 0), (Backoff::UpperEndIncluded, 1)] {
            for (collisions, power) in [(1, 2), (2, 4), (3, 8), (10, 1024), (15, 1024)] {
                assert_eq!(choices(rule, collisions), power + extra);
                let mut seen = std::collections::BTreeSet::new();
                for _ in 0..power * 20 {
                    seen.insert(dice.slots(rule, collisions));
                }
                assert_eq!(seen.len(), (power + extra) as usize);
                assert_eq!(seen.first(), Some(&0));
                assert_eq!(seen.last(), Some(&i64::from(power + extra - 1)));
            }
        }
    }
}
