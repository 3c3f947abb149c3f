//! Time, rate and size as integers.
//!
//! Time is counted in picoseconds: at every Ethernet rate from 10 Mbit/s to 100 Gbit/s a bit is a
//! whole number of picoseconds, so that serialization times are exact. An `i64` reaches 106 days.
//! No float holds a time, a rate or a size; the `as_*_f64` functions are for display only.

use core::fmt;
use core::iter::Sum;
use core::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};

/// A point in time: picoseconds since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(i64);

/// A span of time in picoseconds; may be negative as a difference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(i64);

/// A bit rate on the wire in bit/s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BitRate(u64);

/// A size in octets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(u64);

const PS_PER_SECOND: i64 = 1_000_000_000_000;
const PS_PER_SECOND_U128: u128 = 1_000_000_000_000;

impl Instant {
    /// Start of the run.
    pub const ZERO: Self = Self(0);
    /// Later than every event; also stands for "never".
    pub const MAX: Self = Self(i64::MAX);

    /// Returns the instant `ps` picoseconds after the start of the run.
    pub const fn from_ps(ps: i64) -> Self {
        Self(ps)
    }

    /// Returns picoseconds since the start of the run.
    pub const fn as_ps(self) -> i64 {
        self.0
    }

    /// Returns the time passed since the start of the run.
    pub const fn since_start(self) -> Duration {
        Duration(self.0)
    }
}

impl Duration {
    /// Zero.
    pub const ZERO: Self = Self(0);
    /// The longest span that can be represented.
    pub const MAX: Self = Self(i64::MAX);

    /// Returns a span of `ps` picoseconds.
    pub const fn from_ps(ps: i64) -> Self {
        Self(ps)
    }

    /// Returns a span of `ns` nanoseconds.
    pub const fn from_ns(ns: i64) -> Self {
        Self(ns * 1_000)
    }

    /// Returns a span of `us` microseconds.
    pub const fn from_us(us: i64) -> Self {
        Self(us * 1_000_000)
    }

    /// Returns a span of `ms` milliseconds.
    pub const fn from_ms(ms: i64) -> Self {
        Self(ms * 1_000_000_000)
    }

    /// Returns a span of `s` seconds.
    pub const fn from_secs(s: i64) -> Self {
        Self(s * PS_PER_SECOND)
    }

    /// Returns picoseconds.
    pub const fn as_ps(self) -> i64 {
        self.0
    }

    /// Returns whole nanoseconds, rounded down.
    pub const fn as_ns_floor(self) -> i64 {
        self.0.div_euclid(1_000)
    }

    /// Returns nanoseconds for display and export.
    pub fn as_ns_f64(self) -> f64 {
        to_f64(self.0) / 1e3
    }

    /// Returns microseconds for display.
    pub fn as_us_f64(self) -> f64 {
        to_f64(self.0) / 1e6
    }

    /// Returns seconds for display.
    pub fn as_secs_f64(self) -> f64 {
        to_f64(self.0) / 1e12
    }

    /// Returns the sum, or `None` beyond 106 days.
    pub const fn checked_add(self, other: Self) -> Option<Self> {
        match self.0.checked_add(other.0) {
            Some(ps) => Some(Self(ps)),
            None => None,
        }
    }

    /// Returns the larger of the two spans.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Ord::max(self, other)
    }

    /// Returns whether the span is below zero.
    pub const fn is_negative(self) -> bool {
        self.0 < 0
    }
}

#[allow(
    clippy::cast_precision_loss,
    reason = "for display; 53 bits of a picosecond count are 2.5 h"
)]
const fn to_f64(value: i64) -> f64 {
    value as f64
}

impl BitRate {
    /// Returns a rate of `bps` bit/s.
    pub const fn from_bps(bps: u64) -> Self {
        Self(bps)
    }

    /// Returns a rate of `mbps` Mbit/s.
    pub const fn from_mbps(mbps: u64) -> Self {
        Self(mbps * 1_000_000)
    }

    /// Returns bit/s.
    pub const fn as_bps(self) -> u64 {
        self.0
    }

    /// Returns the time of one octet if it is a whole number of picoseconds, as it is at every
    /// standard Ethernet rate (IEEE 802.3: 10 Mbit/s to 400 Gbit/s).
    pub fn octet_time(self) -> Option<Duration> {
        const OCTET_PS: u64 = 8 * PS_PER_SECOND.unsigned_abs();
        if self.0 == 0 || !OCTET_PS.is_multiple_of(self.0) {
            return None;
        }
        i64::try_from(OCTET_PS / self.0).ok().map(Duration)
    }

    /// Returns the time `size` takes at this rate, rounded up to a picosecond.
    ///
    /// # Panics
    /// If the rate is zero or the result is beyond 106 days.
    pub fn time_ceil(self, size: Bytes) -> Duration {
        let bits = u128::from(size.0) * 8;
        span((bits * PS_PER_SECOND_U128).div_ceil(u128::from(self.0)))
    }

    /// Returns the time `size` takes at this rate, rounded down to a picosecond.
    ///
    /// # Panics
    /// If the rate is zero or the result is beyond 106 days.
    pub fn time_floor(self, size: Bytes) -> Duration {
        let bits = u128::from(size.0) * 8;
        span(bits * PS_PER_SECOND_U128 / u128::from(self.0))
    }

    /// Returns the octets that fit into `time` at this rate, rounded down.
    pub fn bytes_floor(self, time: Duration) -> Bytes {
        let ps = u128::from(time.0.max(0).unsigned_abs());
        let octets = u128::from(self.0) * ps / (8 * PS_PER_SECOND_U128);
        Bytes(u64::try_from(octets).unwrap_or(u64::MAX))
    }
}

fn span(ps: u128) -> Duration {
    Duration(i64::try_from(ps).expect("a time beyond 106 days"))
}

impl Bytes {
    /// Zero.
    pub const ZERO: Self = Self(0);

    /// Returns a size of `octets`.
    pub const fn new(octets: u64) -> Self {
        Self(octets)
    }

    /// Returns octets.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Returns bits.
    pub const fn bits(self) -> u64 {
        self.0 * 8
    }
}

impl Add<Duration> for Instant {
    type Output = Self;
    fn add(self, span: Duration) -> Self {
        Self(self.0 + span.0)
    }
}

impl Sub<Duration> for Instant {
    type Output = Self;
    fn sub(self, span: Duration) -> Self {
        Self(self.0 - span.0)
    }
}

impl Sub for Instant {
    type Output = Duration;
    fn sub(self, earlier: Self) -> Duration {
        Duration(self.0 - earlier.0)
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, span: Duration) {
        self.0 += span.0;
    }
}

impl Add for Duration {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl Sub for Duration {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl AddAssign for Duration {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl SubAssign for Duration {
    fn sub_assign(&mut self, other: Self) {
        self.0 -= other.0;
    }
}

impl Mul<i64> for Duration {
    type Output = Self;
    fn mul(self, times: i64) -> Self {
        Self(self.0 * times)
    }
}

impl Div<i64> for Duration {
    type Output = Self;
    /// Rounds towards zero.
    fn div(self, parts: i64) -> Self {
        Self(self.0 / parts)
    }
}

impl Sum for Duration {
    fn sum<I: Iterator<Item = Self>>(spans: I) -> Self {
        spans.fold(Self::ZERO, Add::add)
    }
}

impl Add for Bytes {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl Sub for Bytes {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl Mul<u64> for Bytes {
    type Output = Self;
    fn mul(self, times: u64) -> Self {
        Self(self.0 * times)
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl SubAssign for Bytes {
    fn sub_assign(&mut self, other: Self) {
        self.0 -= other.0;
    }
}

impl Sum for Bytes {
    fn sum<I: Iterator<Item = Self>>(sizes: I) -> Self {
        sizes.fold(Self::ZERO, Add::add)
    }
}

impl fmt::Display for Duration {
    /// Writes the span in the largest unit of ns, us, ms, s in which it is at least one, with up
    /// to three decimals and no trailing zeros: `268.3 us`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let magnitude = self.0.unsigned_abs();
        let sign = if self.0 < 0 { "-" } else { "" };
        let (unit_ps, unit) = match magnitude {
            0 => return f.pad("0 s"),
            m if m >= 1_000_000_000_000 => (1_000_000_000_000, "s"),
            m if m >= 1_000_000_000 => (1_000_000_000, "ms"),
            m if m >= 1_000_000 => (1_000_000, "us"),
            _ => (1_000, "ns"),
        };
        let text = decimal(magnitude, unit_ps);
        f.pad(&alloc::format!("{sign}{text} {unit}"))
    }
}

impl fmt::Display for BitRate {
    /// Writes the rate in the largest decimal unit in which it is at least one: `100 Mbit/s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (divisor, unit) = match self.0 {
            r if r >= 1_000_000_000 => (1_000_000_000, "Gbit/s"),
            r if r >= 1_000_000 => (1_000_000, "Mbit/s"),
            r if r >= 1_000 => (1_000, "kbit/s"),
            _ => (1, "bit/s"),
        };
        f.pad(&alloc::format!("{} {unit}", decimal(self.0, divisor)))
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&alloc::format!("{} B", self.0))
    }
}

/// Writes `value / unit` with up to three decimals, rounded half up, without trailing zeros.
fn decimal(value: u64, unit: u64) -> alloc::string::String {
    let thousandths = (u128::from(value) * 1_000 + u128::from(unit) / 2) / u128::from(unit);
    let text = alloc::format!("{}.{:03}", thousandths / 1_000, thousandths % 1_000);
    alloc::string::String::from(text.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    #[test]
    fn octet_times_are_exact_at_every_standard_rate() {
        // Oracle: 8 bits over the rate of IEEE 802.3, by hand.
        for (mbps, ps) in [
            (10, 800_000),
            (100, 80_000),
            (1_000, 8_000),
            (2_500, 3_200),
            (5_000, 1_600),
            (10_000, 800),
            (25_000, 320),
            (40_000, 200),
            (50_000, 160),
            (100_000, 80),
            (200_000, 40),
            (400_000, 20),
        ] {
            assert_eq!(BitRate::from_mbps(mbps).octet_time(), Some(Duration::from_ps(ps)));
        }
        assert_eq!(BitRate::from_bps(3).octet_time(), None);
        assert_eq!(BitRate::from_bps(0).octet_time(), None);
    }

    #[test]
    fn division_says_how_it_rounds() {
        let third = BitRate::from_bps(3);
        // 8 bit at 3 bit/s = 2.666... s
        assert_eq!(third.time_floor(Bytes::new(1)).as_ps(), 2_666_666_666_666);
        assert_eq!(third.time_ceil(Bytes::new(1)).as_ps(), 2_666_666_666_667);
        assert_eq!(third.bytes_floor(Duration::from_secs(3)), Bytes::new(1));
    }

    #[test]
    fn quantities_read_like_the_scenario_file() {
        assert_eq!(Duration::from_ns(268_300).to_string(), "268.3 us");
        assert_eq!(Duration::from_ms(-2).to_string(), "-2 ms");
        assert_eq!(Duration::from_ps(18_240_000).to_string(), "18.24 us");
        assert_eq!(Duration::from_ps(500).to_string(), "0.5 ns");
        assert_eq!(BitRate::from_mbps(2_500).to_string(), "2.5 Gbit/s");
        assert_eq!(Bytes::new(1518).to_string(), "1518 B");
    }
}
