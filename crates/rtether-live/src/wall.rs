//! Maps the kernel's stamps, which are of the real-time clock, to the clock of the run.
//!
//! Both clocks run at the same rate, however the time service slews them; their offset changes only
//! when the real-time clock is stepped. So the offset is measured once, and again when a look shows
//! that it has jumped.

use std::time::{SystemTime, UNIX_EPOCH};

use rtether_model::quantity::{Duration, Instant};

use crate::clock::Clock;
use crate::timestamping::RealNs;

/// Looks at both clocks per measurement.
const LOOKS: u32 = 9;
/// Largest distance of a look's two readings of the run's clock; a longer look was interrupted and
/// is ignored.
const LOOK_MAX: Duration = Duration::from_us(5);
/// A smaller change may be a measurement error.
const STEP_MIN_NS: i64 = 10_000;

/// Returns the real-time clock.
pub(crate) fn real_now() -> RealNs {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    RealNs::try_from(since.unwrap_or_default().as_nanos()).unwrap_or(RealNs::MAX)
}

/// Reading of the real-time clock at zero of the clock of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Offset(RealNs);

impl Offset {
    /// Returns the time of the run at which the real-time clock showed `real`; `None` if that is 53
    /// days or more away, which leaves room for further additions and subtractions.
    pub(crate) fn to_run(self, real: RealNs) -> Option<Instant> {
        let ps = real.checked_sub(self.0)?.checked_mul(1_000)?;
        (ps.unsigned_abs() < u64::MAX / 4).then_some(Instant::from_ps(ps))
    }
}

/// One look at both clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Look {
    offset: Offset,
    /// Nanoseconds the look took.
    width: i64,
}

/// The offset of the clocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stamps {
    clock: Clock,
    offset: Offset,
    /// Offset before the last step, for earlier frames.
    previous: Option<Offset>,
    steps: u64,
}

impl Stamps {
    pub(crate) fn new(clock: Clock) -> Self {
        Self { clock, offset: measure(&clock).offset, previous: None, steps: 0 }
    }

    /// Returns how often the real-time clock was set.
    pub(crate) const fn steps(&self) -> u64 {
        self.steps
    }

    /// Returns the current offset.
    pub(crate) const fn offset(&self) -> Offset {
        self.offset
    }

    /// Checks whether the real-time clock has been set.
    #[inline]
    pub(crate) fn look(&mut self) -> bool {
        let has_jumped = self.has_jumped(look(&self.clock));
        if has_jumped {
            self.step_to(measure(&self.clock).offset);
        }
        has_jumped
    }

    fn has_jumped(&self, look: Look) -> bool {
        let moved = (look.offset.0 - self.offset.0).abs();
        moved > STEP_MIN_NS && look.width < nanoseconds(LOOK_MAX)
    }

    fn step_to(&mut self, offset: Offset) {
        self.previous = Some(self.offset);
        self.offset = offset;
        self.steps += 1;
    }

    /// Returns the time of the run at which the real-time clock showed `stamp`, given that it lies
    /// between `after` and `before`; `None` if it fits neither the current offset nor that before
    /// the last step.
    #[inline]
    pub(crate) fn map(&self, stamp: RealNs, after: Instant, before: Instant) -> Option<Instant> {
        let candidates = [Some(self.offset), self.previous];
        let times = candidates.into_iter().flatten();
        let mut times = times.filter_map(|offset| offset.to_run(stamp));
        times.find(|at| (after..=before).contains(at))
    }
}

fn nanoseconds(span: Duration) -> i64 {
    span.as_ps() / 1_000
}

fn look(clock: &Clock) -> Look {
    let before = clock.now().as_ps() / 1_000;
    let real = real_now();
    let after = clock.now().as_ps() / 1_000;
    Look { offset: Offset(real - before.midpoint(after)), width: after - before }
}

/// Returns the shortest look.
fn measure(clock: &Clock) -> Look {
    let mut best = look(clock);
    for _ in 1..LOOKS {
        let next = look(clock);
        if next.width < best.width {
            best = next;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: i64) -> Instant {
        Instant::ZERO + Duration::from_us(us)
    }

    /// Oracle: the run began at 5 s real time; a stamp of 5 s and 7 us is 7 us after. Then the
    /// clock is set back by 2 s.
    #[test]
    fn stamps_from_before_and_after_a_step() {
        let mut stamps = Stamps {
            clock: Clock::start(),
            offset: Offset(5_000_000_000),
            previous: None,
            steps: 0,
        };
        assert_eq!(stamps.map(5_000_007_000, at(0), at(10)), Some(at(7)));
        // Too early.
        assert_eq!(stamps.map(5_000_007_000, at(0), at(6)), None);
        let look = |offset, width| Look { offset: Offset(offset), width };
        assert!(!stamps.has_jumped(look(5_000_009_000, 100)));
        assert!(!stamps.has_jumped(look(3_000_000_000, 40_000)));
        assert!(stamps.has_jumped(look(3_000_000_000, 100)));
        stamps.step_to(Offset(3_000_000_000));
        assert_eq!(stamps.steps(), 1);
        assert_eq!(stamps.map(3_000_020_000, at(0), at(25)), Some(at(20)));
        assert_eq!(stamps.map(5_000_019_000, at(0), at(25)), Some(at(19)));
        assert_eq!(stamps.map(4_000_019_000, at(0), at(25)), None);
        assert_eq!(stamps.map(i64::MIN, at(0), at(25)), None);
    }

    /// Oracle: the definition; two measurements of one offset agree, since the clock is not set
    /// meanwhile.
    #[test]
    fn a_distance_is_measured_to_a_few_microseconds() {
        let clock = Clock::start();
        let [one, other] = [measure(&clock), measure(&clock)];
        let bound = one.width + other.width + 2;
        assert!((one.offset.0 - other.offset.0).abs() <= bound, "{one:?} {other:?}");
        let mut stamps = Stamps::new(clock);
        assert!(!stamps.look());
        let stamp = real_now();
        let now = clock.now();
        let mapped = stamps.map(stamp, Instant::ZERO, now + Duration::from_ms(1));
        let error = now - mapped.expect("in between");
        assert!(error < Duration::from_ms(100), "{error:?}");
    }
}
