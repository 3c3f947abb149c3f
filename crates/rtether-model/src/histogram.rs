//! Histogram of times with fixed logarithmic bins.
//!
//! Bins are at most 1/128 (0.8 %) wide relative to their value, so that recording is a shift and an
//! addition and the histograms of any two runs can be added. Only octaves in use take memory: 1 KiB
//! each. Layout: the high-dynamic-range one of 128 sub-bins per power of two.

use alloc::vec::Vec;

use crate::quantity::Duration;

const SUB_BIN_BITS: u32 = 7;
const SUB_BINS: usize = 1 << SUB_BIN_BITS;

/// Counts of non-negative times; negative ones count as zero.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    /// Index of the bin that `counts[0]` stands for; a multiple of `SUB_BINS`.
    first: usize,
    counts: Vec<u64>,
}

impl Histogram {
    /// Bins in a coarse bin.
    const COARSE: usize = SUB_BINS / 8;

    /// Counts one value.
    #[inline]
    pub fn record(&mut self, value: Duration) {
        let index = bin_of(value.as_ps().max(0).unsigned_abs());
        let slot = index.wrapping_sub(self.first);
        if let Some(count) = self.counts.get_mut(slot) {
            *count += 1;
        } else {
            self.grow_to(index);
            self.counts[index - self.first] += 1;
        }
    }

    /// Adds all counts of `other`.
    pub fn merge(&mut self, other: &Self) {
        for (offset, &count) in other.counts.iter().enumerate().filter(|&(_, &count)| count > 0) {
            let index = other.first + offset;
            self.grow_to(index);
            self.counts[index - self.first] += count;
        }
    }

    /// Returns the number of values.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Returns the upper edge of the bin that holds the value of rank `ceil(total * part / whole)`;
    /// `None` without values.
    ///
    /// The true quantile is at most 0.8 % smaller.
    ///
    /// # Panics
    /// If `whole` is zero or `part` exceeds it.
    pub fn quantile(&self, part: u64, whole: u64) -> Option<Duration> {
        assert!(part <= whole && whole > 0, "quantile {part}/{whole}");
        let total = self.total();
        if total == 0 {
            return None;
        }
        let rank = (u128::from(total) * u128::from(part)).div_ceil(u128::from(whole)).max(1);
        let mut seen = 0u128;
        for (upper, count) in self.bins() {
            seen += u128::from(count);
            if seen >= rank {
                return Some(upper);
            }
        }
        None
    }

    /// Returns the lower edge of the bin whose upper edge this is, as [`Self::quantile`] returns it.
    pub fn lower_edge(upper: Duration) -> Duration {
        match bin_of(upper.as_ps().max(0).unsigned_abs()).checked_sub(1) {
            Some(below) => Duration::from_ps(upper_edge(below).as_ps() + 1),
            None => Duration::ZERO,
        }
    }

    /// Returns the upper edge and count of every non-empty bin, in ascending order.
    pub fn bins(&self) -> impl Iterator<Item = (Duration, u64)> + '_ {
        self.counts
            .iter()
            .enumerate()
            .filter(|&(_, &count)| count > 0)
            .map(|(offset, &count)| (upper_edge(self.first + offset), count))
    }

    /// Returns number and count of every non-empty coarse bin, in ascending order.
    ///
    /// A coarse bin is [`Self::COARSE`] bins: an eighth of an octave.
    pub fn coarse(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        let first = self.first / Self::COARSE;
        let sums = self.counts.chunks(Self::COARSE);
        let sums = sums.map(|bins| bins.iter().sum());
        (first..).zip(sums).filter(|&(_, count)| count > 0)
    }

    /// Returns the number of the coarse bin that holds a value.
    pub fn coarse_bin(value: Duration) -> usize {
        bin_of(value.as_ps().max(0).unsigned_abs()) / Self::COARSE
    }

    /// Makes room for bin `index`.
    fn grow_to(&mut self, index: usize) {
        let octave = index - index % SUB_BINS;
        if self.counts.is_empty() {
            self.first = octave;
        } else if octave < self.first {
            let missing = self.first - octave;
            self.counts.splice(0..0, core::iter::repeat_n(0, missing));
            self.first = octave;
        }
        let needed = octave + SUB_BINS - self.first;
        if needed > self.counts.len() {
            self.counts.resize(needed, 0);
        }
    }
}

#[inline]
fn bin_of(value: u64) -> usize {
    // Below 2^8 a bin is one picosecond wide; above, the top eight bits name the bin.
    let shift = (u64::BITS - SUB_BIN_BITS - 1).saturating_sub((value | 1).leading_zeros());
    let sub_bin = value >> shift;
    ((shift as usize) << SUB_BIN_BITS) + usize::try_from(sub_bin).unwrap_or(0)
}

/// Returns the largest value that falls into the bin.
fn upper_edge(bin: usize) -> Duration {
    let shift = (bin >> SUB_BIN_BITS).saturating_sub(1);
    let sub_bin = bin - (shift << SUB_BIN_BITS);
    let next = (sub_bin as u128 + 1) << shift;
    Duration::from_ps(i64::try_from(next - 1).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_lies_in_its_bin() {
        // Oracle: the definition; the bin's upper edge is at least the value, its width 1/128.
        let mut value = 0u64;
        while value < 1 << 62 {
            for v in [value, value + 1, value * 3 / 2] {
                let upper = upper_edge(bin_of(v)).as_ps().unsigned_abs();
                assert!(upper >= v, "{v} above its bin {upper}");
                assert!(upper - v <= v / 128, "{v}: bin edge {upper} too far");
                if v > 0 {
                    assert!(bin_of(v - 1) <= bin_of(v));
                }
            }
            value = (value * 2).max(1);
        }
    }

    /// Oracle: eight coarse bins divide an octave, and the lower edge is the first value of its bin.
    #[test]
    fn coarse_bins_and_lower_edges() {
        let mut times = Histogram::default();
        for ps in [1 << 20, (1 << 20) + (1 << 17) - 1, (1 << 20) + (1 << 17)] {
            let time = Duration::from_ps(ps);
            times.record(time);
            let lower = Histogram::lower_edge(upper_edge(bin_of(ps.unsigned_abs())));
            assert!(
                lower <= time && bin_of(lower.as_ps().unsigned_abs()) == bin_of(ps.unsigned_abs())
            );
        }
        let first = Histogram::coarse_bin(Duration::from_ps(1 << 20));
        let found: Vec<_> = times.coarse().collect();
        assert_eq!(found, [(first, 2), (first + 1, 1)]);
        assert_eq!(Histogram::lower_edge(Duration::ZERO), Duration::ZERO);
    }

    #[test]
    fn quantiles_and_merge() {
        let mut low = Histogram::default();
        let mut high = Histogram::default();
        for us in 1..=100 {
            low.record(Duration::from_us(us));
            high.record(Duration::from_us(1_000 + us));
        }
        let p50 = low.quantile(1, 2).unwrap().as_us_f64();
        assert!((50.0..50.4).contains(&p50), "{p50}");
        let mut both = high.clone();
        both.merge(&low);
        let mut other_way = low.clone();
        other_way.merge(&high);
        assert_eq!(both.total(), 200);
        assert!(both.bins().eq(other_way.bins()));
        let p25 = both.quantile(1, 4).unwrap();
        assert_eq!(Some(p25), low.quantile(1, 2));
        assert_eq!(Histogram::default().quantile(1, 2), None);
    }
}
