//! The clock of a run.

use rtether_model::quantity::{Duration, Instant};

/// Attempts at reading two clocks at the same time.
const READINGS: u32 = 9;

/// Returns the system's monotonic clock in nanoseconds. It is the same for all programs in one time
/// namespace of a host (`host::clock_identity`).
pub fn monotonic_ns() -> i64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    // Holds 292 years.
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

/// Returns [`monotonic_ns`] and the clock of the day at the same time, in nanoseconds since 1970.
pub fn monotonic_and_real_ns() -> (i64, i64) {
    let read = |_| {
        let before = monotonic_ns();
        let real = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
        let after = monotonic_ns();
        let real = real.tv_sec * 1_000_000_000 + real.tv_nsec;
        (after - before, before.midpoint(after), real)
    };
    let best = (0..READINGS).map(read).min_by_key(|&(width, ..)| width);
    best.map_or((0, 0), |(_, monotonic, real)| (monotonic, real))
}

/// The system's monotonic clock, with the start of the run as its origin.
///
/// A reading takes about 25 ns and does not enter the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    origin: std::time::Instant,
}

impl Clock {
    /// Returns a clock that shows zero now.
    pub fn start() -> Self {
        Self { origin: std::time::Instant::now() }
    }

    /// Returns a clock that shows zero when [`monotonic_ns`] is `ns`, and before.
    pub fn starting_at(ns: i64) -> Self {
        // The standard library hides the reading of its clock, which is the same one. Both are read
        // in turn, and the attempt with the shortest interval counts.
        let read = |_| {
            let before = monotonic_ns();
            let origin = std::time::Instant::now();
            let after = monotonic_ns();
            (after - before, before.midpoint(after), origin)
        };
        let best = (0..READINGS).map(read).min_by_key(|&(width, ..)| width);
        let Some((_, now, origin)) = best else {
            return Self::start();
        };
        let span = std::time::Duration::from_nanos(now.abs_diff(ns));
        let shifted = if ns < now { origin.checked_sub(span) } else { origin.checked_add(span) };
        Self { origin: shifted.unwrap_or(origin) }
    }

    /// Returns when this clock showed zero by another one; negative if that was before it.
    pub fn start_by(&self, other: &Self) -> Duration {
        let ahead = self.origin.saturating_duration_since(other.origin);
        let behind = other.origin.saturating_duration_since(self.origin);
        let ns = |span: std::time::Duration| i64::try_from(span.as_nanos()).unwrap_or(i64::MAX);
        Duration::from_ps(ns(ahead).saturating_sub(ns(behind)).saturating_mul(1_000))
    }

    /// Returns the time since the start.
    pub fn now(&self) -> Instant {
        let ns = self.origin.elapsed().as_nanos();
        // Nanoseconds in 63 bits hold 292 years, picoseconds 106 days.
        Instant::from_ps(i64::try_from(ns).unwrap_or(i64::MAX).saturating_mul(1_000))
    }
}

/// Converts a duration, rounded up to a nanosecond; a negative one becomes zero.
pub fn to_std(span: Duration) -> std::time::Duration {
    let ns = u64::try_from(span.as_ps()).unwrap_or(0).div_ceil(1_000);
    std::time::Duration::from_nanos(ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Oracle: by hand.
    #[test]
    fn clocks_know_when_others_began() {
        let origin = std::time::Instant::now();
        let clock = |us| Clock { origin: origin + std::time::Duration::from_micros(us) };
        assert_eq!(clock(500).start_by(&clock(300)), Duration::from_us(200));
        assert_eq!(clock(300).start_by(&clock(500)), Duration::from_us(-200));
    }

    /// Oracle: the definition, between two readings of the system's clock. Both clocks are read
    /// within a millisecond, unless nine attempts in a row are interrupted for that long.
    #[test]
    fn a_clock_starts_at_a_reading() {
        let origin = monotonic_ns() - 5_000_000;
        let clock = Clock::starting_at(origin);
        let before = monotonic_ns() - origin;
        let now = clock.now().since_start().as_ns_floor();
        let after = monotonic_ns() - origin;
        assert!((before - 1_000_000..=after + 1_000_000).contains(&now));
        let later = Clock::starting_at(monotonic_ns() + 60_000_000_000);
        assert_eq!(later.now(), Instant::ZERO);
    }

    /// Oracle: the standard library's clock of the day, read before and after.
    #[test]
    fn both_clocks_are_read_at_once() {
        let real = || {
            let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
            i64::try_from(since.unwrap().as_nanos()).unwrap()
        };
        let (from, before) = (monotonic_ns(), real());
        let (monotonic, now) = monotonic_and_real_ns();
        let (until, after) = (monotonic_ns(), real());
        assert!((from..=until).contains(&monotonic));
        assert!((before..=after).contains(&now));
    }
}
