//! Engine time in nanoseconds: participants run for years, and no wire needs finer times.

use core::ops::{Add, Sub};

/// A reading of the host's monotonic clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(i64);

/// A span of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(i64);

/// A time of day: nanoseconds since 1970, as in time stamps of samples (9.3.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WallTime(i64);

const NS_PER_S: i64 = 1_000_000_000;

impl Instant {
    /// Origin of the host's clock.
    pub const ZERO: Self = Self(0);
    /// Later than any other time.
    pub const NEVER: Self = Self(i64::MAX);

    /// Returns the time `ns` nanoseconds after the origin.
    pub const fn from_ns(ns: i64) -> Self {
        Self(ns)
    }

    /// Returns the nanoseconds since the origin.
    pub const fn as_ns(self) -> i64 {
        self.0
    }
}

impl Duration {
    /// Zero.
    pub const ZERO: Self = Self(0);
    /// Longer than any other span; infinite in the standard.
    pub const INFINITE: Self = Self(i64::MAX);

    /// Returns a span of `ns` nanoseconds.
    pub const fn from_ns(ns: i64) -> Self {
        Self(ns)
    }

    /// Returns a span of `us` microseconds.
    pub const fn from_us(us: i64) -> Self {
        Self(us.saturating_mul(1_000))
    }

    /// Returns a span of `ms` milliseconds.
    pub const fn from_ms(ms: i64) -> Self {
        Self(ms.saturating_mul(1_000_000))
    }

    /// Returns a span of `s` seconds.
    pub const fn from_s(s: i64) -> Self {
        Self(s.saturating_mul(NS_PER_S))
    }

    /// Returns the span in nanoseconds.
    pub const fn as_ns(self) -> i64 {
        self.0
    }

    /// Returns whether it is infinite.
    pub const fn is_infinite(self) -> bool {
        self.0 == i64::MAX
    }

    /// Returns the span, or infinity if it is not positive: a period of zero means off.
    #[must_use]
    pub const fn or_never(self) -> Self {
        if self.0 > 0 { self } else { Self::INFINITE }
    }

    /// Returns twice the span.
    #[must_use]
    pub const fn doubled(self) -> Self {
        Self(self.0.saturating_mul(2))
    }

    /// Returns half the span.
    #[must_use]
    pub const fn halved(self) -> Self {
        Self(self.0 / 2)
    }

    /// Returns the wire format: seconds, and the fraction in units of 2^-32 s (9.3.2).
    ///
    /// Rounds up, so that a span read from the wire is written back unchanged.
    pub fn to_wire(self) -> (i32, u32) {
        if self.is_infinite() {
            return (i32::MAX, u32::MAX);
        }
        let Ok(seconds) = i32::try_from(self.0.div_euclid(NS_PER_S)) else {
            return (i32::MAX, u32::MAX);
        };
        (seconds, fraction(self.0.rem_euclid(NS_PER_S)))
    }

    /// Reads the wire format; the largest value of seconds means infinite, with any fraction.
    pub fn from_wire(seconds: i32, fraction: u32) -> Self {
        if seconds == i32::MAX {
            return Self::INFINITE;
        }
        Self(i64::from(seconds) * NS_PER_S + rest(fraction))
    }
}

impl WallTime {
    /// Returns the time `ns` nanoseconds after 1970.
    pub const fn from_ns(ns: i64) -> Self {
        Self(ns)
    }

    /// Returns the nanoseconds since 1970.
    pub const fn as_ns(self) -> i64 {
        self.0
    }

    /// Returns the wire format: unsigned seconds since 1970 (until 2106), and the fraction in units
    /// of 2^-32 s.
    pub fn to_wire(self) -> (u32, u32) {
        let seconds = u32::try_from(self.0.div_euclid(NS_PER_S)).unwrap_or(0);
        (seconds, fraction(self.0.rem_euclid(NS_PER_S)))
    }

    /// Reads the wire format.
    pub fn from_wire(seconds: u32, fraction: u32) -> Self {
        Self(i64::from(seconds) * NS_PER_S + rest(fraction))
    }
}

/// Converts nanoseconds below a second to units of 2^-32 s, rounded up.
fn fraction(ns: i64) -> u32 {
    let ns = u64::try_from(ns).unwrap_or(0);
    let units = (ns << 32).div_ceil(NS_PER_S.unsigned_abs());
    u32::try_from(units).unwrap_or(u32::MAX)
}

/// Converts units of 2^-32 s to nanoseconds, rounded down.
fn rest(fraction: u32) -> i64 {
    let ns = (u64::from(fraction) * NS_PER_S.unsigned_abs()) >> 32;
    ns.cast_signed()
}

impl Add<Duration> for Instant {
    type Output = Self;

    fn add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl Sub<Duration> for Instant {
    type Output = Self;

    fn sub(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(span.0))
    }
}

impl Sub for Instant {
    type Output = Duration;

    fn sub(self, earlier: Self) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

impl Add for Duration {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

/// Returns when the next sample of an existing instance is due if its deadline restarts now.
pub(crate) fn due_anew(now: Instant, deadline: Duration, is_alive: bool) -> Option<Instant> {
    (is_alive && !deadline.is_infinite()).then(|| now + deadline)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn spans_by_hand() {
        // Oracle: 9.3.2; half a second is 2^31 units.
        assert_eq!(Duration::from_ms(1_500).to_wire(), (1, 1 << 31));
        assert_eq!(Duration::from_wire(1, 1 << 31), Duration::from_ms(1_500));
        assert_eq!(Duration::INFINITE.to_wire(), (i32::MAX, u32::MAX));
        assert!(Duration::from_wire(i32::MAX, 0).is_infinite());
        assert_eq!(Duration::from_ms(-500).to_wire(), (-1, 1 << 31));
    }

    proptest! {
        /// Oracle: the identity.
        #[test]
        fn what_is_written_is_read(ns in 0_i64..2_000_000_000_000_000_000) {
            let (seconds, fraction) = Duration::from_ns(ns).to_wire();
            prop_assert_eq!(Duration::from_wire(seconds, fraction), Duration::from_ns(ns));
            let (seconds, fraction) = WallTime::from_ns(ns).to_wire();
            prop_assert_eq!(WallTime::from_wire(seconds, fraction), WallTime::from_ns(ns));
        }
    }
}
