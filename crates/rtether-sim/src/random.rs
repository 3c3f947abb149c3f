//! Random draws that are identical on every machine.
//!
//! One generator per (seed, name, purpose): adding a node or flow changes no draw of another.
//! Logarithms come from `libm`, which computes in software, so that results do not depend on C
//! library or processor.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rtether_model::network::{Jitter, Spread};

/// Purpose of a generator.
#[derive(Clone, Copy)]
pub(crate) enum Purpose {
    /// Release times of a flow.
    Release = 1,
    /// Jitter of a stack.
    Stack = 2,
    /// Bit errors of a link.
    Errors = 3,
    /// Back-off on a shared medium.
    Backoff = 4,
    /// Latency of a switch.
    Latency = 5,
    /// Costs that are not known; the name of the cost follows that of the node.
    Unknown = 6,
    /// Scans of an application that answers; the name is that of its station.
    Scan = 7,
    /// Times at which the files of a bulk flow become due.
    Files = 8,
    /// Timer jitter of a smoother.
    Smoother = 16,
    /// Collisions that a smoother sees.
    Visibility = 17,
}

/// Returns the seed of a generator: a hash of the run's seed, the name and the purpose.
pub(crate) fn seed_of(seed: u64, name: &str, purpose: Purpose) -> u64 {
    // The name, then the purpose and the seed.
    let words = (purpose as u64).to_le_bytes().into_iter().chain(seed.to_le_bytes());
    hash(name.bytes().chain(words))
}

/// Returns a seed derived from several numbers.
pub(crate) fn mix(words: &[u64]) -> u64 {
    hash(words.iter().flat_map(|word| word.to_le_bytes()))
}

/// FNV-1a.
fn hash(octets: impl Iterator<Item = u8>) -> u64 {
    octets.fold(0xcbf2_9ce4_8422_2325, |hash, octet| {
        (hash ^ u64::from(octet)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// A generator of one purpose.
pub(crate) struct Draw(Xoshiro256PlusPlus);

impl Draw {
    /// Creates the generator of `name`.
    pub(crate) fn new(seed: u64, name: &str, purpose: Purpose) -> Self {
        Self::seeded(seed_of(seed, name, purpose))
    }

    /// Creates a generator from a seed.
    pub(crate) fn seeded(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// Returns a seed for an engine with its own generator.
    pub(crate) fn seed(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Returns a number uniform in `0..=max`; `max` must not be negative.
    ///
    /// The multiplication is uneven by less than `max / 2^64`.
    pub(crate) fn up_to(&mut self, max: i64) -> i64 {
        debug_assert!(max >= 0, "a draw up to {max}");
        let count = u128::from(max.unsigned_abs()) + 1;
        let scaled = (u128::from(self.0.next_u64()) * count) >> 64;
        i64::try_from(scaled).unwrap_or(max)
    }

    /// Returns whether an event of probability `part / whole` happens.
    pub(crate) fn happens(&mut self, part: u32, whole: u32) -> bool {
        part > 0 && self.up_to(i64::from(whole) - 1) < i64::from(part)
    }

    /// Returns an exponentially distributed time with this mean, at most 37 means (`53 * ln 2` is
    /// 36.7), saturating at [`i64::MAX`].
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        reason = "a random time has no exact value to lose; what is above 2^63 saturates"
    )]
    pub(crate) fn exponential(&mut self, mean: i64) -> i64 {
        // Uniform in (0, 1], 53 bits.
        let uniform = ((self.0.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64;
        (-libm::log(uniform) * mean as f64) as i64
    }

    /// Returns the jitter to add to a cost.
    pub(crate) fn jitter(&mut self, jitter: &Jitter, is_outbound: bool) -> i64 {
        let everyday = match &jitter.spread {
            Spread::None => 0,
            Spread::Uniform { max } => self.up_to(max.as_ps()),
            Spread::Exponential { mean, max } => self.exponential(mean.as_ps()).min(max.as_ps()),
            Spread::Empirical(measured) => {
                let part = u32::try_from(self.0.next_u64() >> 32).unwrap_or(u32::MAX);
                measured.of(is_outbound).value_at(part).as_ps()
            }
        };
        let Some(outliers) = jitter.outliers else {
            return everyday;
        };
        if !self.happens(outliers.per_million, 1_000_000) {
            return everyday;
        }
        everyday + outliers.min.as_ps() + self.up_to((outliers.max - outliers.min).as_ps())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::boxed::Box;
    use alloc::vec::Vec;
    use rtether_model::empirical::{Empirical, Quantile, Quantiles};
    use rtether_model::quantity::Duration;

    #[test]
    fn draws_have_the_quantiles_of_the_table() {
        // Oracle: order statistics. The number of 100 000 draws at most as large as a quantile is
        // binomial; within 5 standard errors, at most 791 for a share of a half.
        let points =
            [(0, 0), (500_000, 2_000), (990_000, 9_000), (999_000, 30_000), (1_000_000, 80_000)];
        let table = |offset: i64| {
            let points = points.map(|(per_million, ns)| Quantile {
                per_million,
                value: Duration::from_ns(ns + offset),
            });
            Quantiles::new(points.to_vec()).expect("it rises")
        };
        let jitter = Jitter {
            spread: Spread::Empirical(Box::new(Empirical {
                send: table(0),
                receive: table(100_000),
            })),
            outliers: None,
        };
        let mut draw = Draw::new(11, "quantiles", Purpose::Stack);
        for (is_outbound, offset) in [(true, 0), (false, 100_000)] {
            let drawn: Vec<i64> = (0..100_000).map(|_| draw.jitter(&jitter, is_outbound)).collect();
            for (per_million, ns) in points {
                let limit = Duration::from_ns(ns + offset).as_ps();
                let found = drawn.iter().filter(|drawn| **drawn <= limit).count();
                let found = i64::try_from(found).expect("few");
                let due = i64::from(per_million) / 10;
                // The variance is due * (1 - share); at the ends, where it is zero, one is added.
                let variance = due * (1_000_000 - i64::from(per_million)) / 1_000_000;
                let error = 5 * (variance.isqrt() + 1);
                assert!((found - due).abs() <= error, "{per_million}: {found}, not {due}");
            }
            let most = jitter.spread.max(is_outbound).as_ps();
            assert!(drawn.iter().all(|drawn| (0..=most).contains(drawn)));
        }
    }

    #[test]
    fn generators_are_told_apart_and_repeat() {
        let first = |seed, name, purpose| Draw::new(seed, name, purpose).up_to(i64::MAX);
        let base = first(1, "a", Purpose::Release);
        assert_eq!(base, first(1, "a", Purpose::Release));
        assert_ne!(base, first(2, "a", Purpose::Release));
        assert_ne!(base, first(1, "b", Purpose::Release));
        assert_ne!(base, first(1, "a", Purpose::Stack));
    }

    #[test]
    fn moments_of_the_distributions() {
        // Oracle: mean and variance of the distributions; 100 000 draws, 5 standard errors.
        let mut draw = Draw::new(7, "moments", Purpose::Release);
        let n = 100_000i64;
        let uniform: i64 = (0..n).map(|_| draw.up_to(1_000_000)).sum::<i64>() / n;
        assert!((uniform - 500_000).abs() < 5 * 289_000 / 316, "{uniform}");
        let exponential: i64 = (0..n).map(|_| draw.exponential(1_000_000)).sum::<i64>() / n;
        assert!((exponential - 1_000_000).abs() < 5 * 1_000_000 / 316, "{exponential}");
        let hits = (0..n).filter(|_| draw.happens(1, 100)).count();
        assert!((1000 - 160..=1000 + 160).contains(&hits), "{hits}");
    }
}
