//! Offsets between the clocks of hosts.
//!
//! The coordinator asks an agent for its clock many times. Each answer was given between the
//! question and its arrival here, so the error of the midpoint is at most half the fastest exchange
//! (as in NTP, RFC 5905). Where both hosts report that their clocks of the day are synchronized, by
//! PTP or NTP, the errors they state give another estimate. The better one counts. Clocks are
//! compared before and after the run; in between they are assumed to run at a constant rate.

use rtether_model::quantity::{Duration, Instant};

use super::wire::Reading;
use crate::testbed::host_report::{Basis, HostClock};

/// Exchanges before and after the run.
pub(super) const EXCHANGES: u32 = 32;
/// Largest move of a clock during a run, or between estimates of its offset, in nanoseconds. Beyond
/// it the clock did not run steadily, for example because its host was suspended.
const JUMP: i64 = 1_000_000_000;
/// Largest error used, in nanoseconds: eleven days. An offset known no better is useless, and sums
/// of a few fit.
const ERROR_MAX: i64 = 1_000_000_000_000_000;

/// One exchange; times of the coordinator's monotonic clock in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exchange {
    pub(super) asked: i64,
    pub(super) answered: i64,
    /// The agent's reading.
    pub(super) reading: Reading,
    /// The coordinator's reading, before the question.
    pub(super) own: Reading,
}

/// Offset of a clock from the coordinator's; positive if ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Offset {
    /// Nanoseconds.
    pub(super) ns: i64,
    /// Largest error, in nanoseconds.
    pub(super) error: i64,
    /// Time of the estimate, by the coordinator's monotonic clock.
    pub(super) at: i64,
}

/// The offset at one end of the run, by both methods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Estimate {
    /// From exchanges.
    pub(super) exchanged: Offset,
    /// From the synchronized clocks of the day of both hosts.
    pub(super) synchronized: Option<Offset>,
}

/// A clock from before the run to after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Course {
    before: Offset,
    after: Offset,
    basis: Basis,
    /// Offset assumed when the start was ordered.
    taken: i64,
    /// The start, by the coordinator's clock.
    start: i64,
}

impl Estimate {
    /// Estimates the offset from exchanges; `None` without any.
    pub(super) fn of(exchanges: &[Exchange]) -> Option<Self> {
        let fastest = exchanges.iter().min_by_key(|exchange| exchange.answered - exchange.asked)?;
        let middle = fastest.asked.midpoint(fastest.answered);
        // Rounded up, plus one for the rounded midpoint.
        let error = (fastest.answered - fastest.asked) / 2 + 1;
        let exchanged =
            Offset { ns: fastest.reading.monotonic.checked_sub(middle)?, error, at: middle };
        Some(Self { exchanged, synchronized: synchronized(fastest, middle) })
    }

    /// Returns the better estimate.
    pub(super) fn best(&self) -> Offset {
        match self.synchronized {
            Some(offset) if offset.error < self.exchanged.error => offset,
            _ => self.exchanged,
        }
    }
}

fn synchronized(exchange: &Exchange, at: i64) -> Option<Offset> {
    // Differences of the clock of the day, common to both hosts, and each monotonic clock.
    let lacks = |reading: &Reading| reading.real.checked_sub(reading.monotonic);
    let errors = exchange.own.error_us.zip(exchange.reading.error_us);
    let (own, theirs) = errors?;
    Some(Offset {
        ns: lacks(&exchange.own)?.checked_sub(lacks(&exchange.reading)?)?,
        error: (i64::from(own) + i64::from(theirs)) * 1_000,
        at,
    })
}

impl Course {
    /// Combines the estimates from before and after the run.
    pub(super) fn new(before: Estimate, after: Estimate, taken: i64, start: i64) -> Self {
        let course = |before: Offset, after: Offset, basis| {
            let moved = before.ns.abs_diff(after.ns);
            let moved = i64::try_from(moved).unwrap_or(i64::MAX);
            // Did not run steadily: only its largest error can be given.
            let jumped = Offset { error: moved, ..before };
            Self { before, after: if moved > JUMP { jumped } else { after }, basis, taken, start }
        };
        let exchanged = course(before.exchanged, after.exchanged, Basis::Exchanges);
        let both = before.synchronized.zip(after.synchronized);
        let both = both.map(|(before, after)| course(before, after, Basis::Synchronized));
        both.filter(|other| other.error() < exchanged.error()).unwrap_or(exchanged)
    }

    fn error(&self) -> i64 {
        Ord::max(self.before.error, self.after.error)
    }

    /// Returns the largest error of the offset.
    pub(super) fn uncertainty(&self) -> Duration {
        nanoseconds(self.error().min(ERROR_MAX))
    }

    /// Returns how much later an event seems on this clock than on the coordinator's, at a time of
    /// the run on this clock.
    pub(super) fn shift(&self, at: Instant) -> Duration {
        let at = self.start.saturating_add(at.since_start().as_ns_floor());
        let shift = self.offset(at).saturating_sub(self.taken);
        nanoseconds(shift.clamp(-JUMP, JUMP))
    }

    /// Returns the offset at a time of the coordinator's clock, interpolated between both
    /// estimates.
    fn offset(&self, at: i64) -> i64 {
        let span = i128::from(self.after.at) - i128::from(self.before.at);
        if span <= 0 {
            return self.before.ns;
        }
        let moved = i128::from(self.after.ns) - i128::from(self.before.ns);
        let since = i128::from(at) - i128::from(self.before.at);
        let offset = i128::from(self.before.ns) + moved * since / span;
        i64::try_from(offset).unwrap_or(self.before.ns)
    }

    /// Returns the clock as reported.
    pub(super) fn said(&self) -> HostClock {
        HostClock::Apart {
            offset_ns: self.offset(self.start),
            uncertainty: self.uncertainty(),
            moved: nanoseconds(self.after.ns.saturating_sub(self.before.ns)),
            basis: self.basis,
        }
    }
}

/// Converts nanoseconds, saturating.
fn nanoseconds(ns: i64) -> Duration {
    Duration::from_ps(ns.saturating_mul(1_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(monotonic: i64, real: i64, error_us: Option<u32>) -> Reading {
        Reading { number: 0, monotonic, real, error_us }
    }

    fn exchange(asked: i64, answered: i64, monotonic: i64) -> Exchange {
        Exchange {
            asked,
            answered,
            reading: reading(monotonic, 0, None),
            own: reading(asked, 0, None),
        }
    }

    fn offset(ns: i64, error: i64, at: i64) -> Offset {
        Offset { ns, error, at }
    }

    /// Oracle: by hand. The other clock is ahead by 1000; the two directions take 300 and 100, then
    /// 10 and 30.
    #[test]
    fn the_fastest_exchange_counts() {
        let slow = exchange(0, 400, 1_300);
        let fast = exchange(1_000, 1_040, 2_010);
        let estimate = Estimate::of(&[slow, fast]).expect("two");
        assert_eq!(estimate.exchanged, offset(990, 21, 1_020));
        assert_eq!(estimate.synchronized, None);
        assert_eq!(Estimate::of(&[]), None);
    }

    /// Oracle: by hand. At 1 000 000 of the day the coordinator's clock shows 400, the other 900.
    #[test]
    fn synchronized_clocks_of_the_day_are_another_way() {
        let mut exchange = exchange(400, 10_400, 900);
        exchange.own = reading(400, 1_000_000, Some(2));
        exchange.reading = reading(1_000, 1_000_100, Some(1));
        let estimate = Estimate::of(&[exchange]).expect("one");
        assert_eq!(estimate.synchronized, Some(offset(500, 3_000, 5_400)));
        assert_eq!(estimate.best().ns, 500, "5001 is more than 3000");
        exchange.own.error_us = Some(100);
        let estimate = Estimate::of(&[exchange]).expect("one");
        assert_eq!(estimate.best(), estimate.exchanged);
    }

    /// Oracle: by hand. From 100 to 300 the offset grows from 1000 to 1200, so it is 1100 at 200;
    /// the run began at 150, with an assumed offset of 1010.
    #[test]
    fn between_estimates_a_clock_runs_at_a_constant_rate() {
        let one = |ns, error, at| Estimate { exchanged: offset(ns, error, at), synchronized: None };
        let course = Course::new(one(1_000, 5, 100), one(1_200, 7, 300), 1_010, 150);
        let at = Instant::from_ps(50_000);
        assert_eq!(course.shift(at), Duration::from_ns(90));
        assert_eq!(course.uncertainty(), Duration::from_ns(7));
        let HostClock::Apart { offset_ns, moved, .. } = course.said() else {
            panic!("{course:?}");
        };
        assert_eq!((offset_ns, moved), (1_050, Duration::from_ns(200)));
        // Suspended for an hour in between.
        let hour = 3_600_000_000_000;
        let course = Course::new(one(0, 5, 100), one(-hour, 7, 300), 0, 150);
        assert_eq!(course.uncertainty(), Duration::from_secs(3_600));
        assert_eq!(course.shift(at), Duration::ZERO);
    }
}
