//! Delays of samples, from the time stamps of their writers.
//!
//! A stamp (`INFO_TS`) is the writer's clock of the day at the write; the sample is read here by
//! the clock of this host. On one host both are one clock. Between hosts each delay contains the
//! difference of their clocks, which no message in one direction can tell from the delay itself.

use std::collections::BTreeMap;

use rtether_live::host::clock::Discipline;
use rtether_model::histogram::Histogram;
use rtether_model::quantity::Duration;
use rtether_rtps::guid::Guid;

/// Writers that are counted.
const WRITERS_MAX: usize = 4_096;

/// What is known about the difference of two clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clocks {
    /// Writer and reader are on one host, and use one clock.
    One,
    /// They differ, at most by this much, as the user says.
    Within(Duration),
    /// They differ by an unknown amount.
    Unknown,
}

impl Clocks {
    /// Returns the largest error of a delay, if known.
    pub const fn error(self) -> Option<Duration> {
        match self {
            Self::One => Some(Duration::ZERO),
            Self::Within(error) => Some(error),
            Self::Unknown => None,
        }
    }
}

/// Delays of the samples of a writer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delay {
    /// Name and place of its participant.
    pub who: String,
    /// What is known about the clocks.
    pub clocks: Clocks,
    /// The least one; negative if the clock of the writer is ahead.
    pub least: Duration,
    /// The largest one.
    pub most: Duration,
    /// Samples without a stamp.
    pub unstamped: u64,
    later: Histogram,
    /// Amounts of negative ones.
    earlier: Histogram,
}

impl Delay {
    fn new(who: String, clocks: Clocks) -> Self {
        Self {
            who,
            clocks,
            least: Duration::MAX,
            most: Duration::ZERO - Duration::MAX,
            unstamped: 0,
            later: Histogram::default(),
            earlier: Histogram::default(),
        }
    }

    fn add(&mut self, delay: Option<Duration>) {
        let Some(delay) = delay else {
            self.unstamped += 1;
            return;
        };
        self.least = self.least.min(delay);
        self.most = self.most.max(delay);
        if delay < Duration::ZERO {
            self.earlier.record(Duration::ZERO - delay);
        } else {
            self.later.record(delay);
        }
    }

    /// Returns the number of samples with a stamp.
    pub fn samples(&self) -> u64 {
        self.earlier.total() + self.later.total()
    }

    /// Returns the delay that `part` of `whole` samples do not exceed, at most 0.8 % too far from
    /// zero; `None` without samples.
    pub fn quantile(&self, part: u64, whole: u64) -> Option<Duration> {
        let total = self.samples();
        let rank = u128::from(total) * u128::from(part);
        let rank = rank.div_ceil(u128::from(whole.max(1))).max(1);
        let rank = u64::try_from(rank).ok().filter(|rank| *rank <= total)?;
        let earlier = self.earlier.total();
        let found = if rank <= earlier {
            // The largest amounts come first.
            let amount = self.earlier.quantile(earlier - rank + 1, earlier)?;
            Duration::ZERO - amount
        } else {
            self.later.quantile(rank - earlier, self.later.total())?
        };
        Some(found.clamp(self.least, self.most))
    }

    /// Returns how much the delays vary: this does not depend on the difference of the clocks, as
    /// long as both run alike.
    pub fn spread(&self) -> Duration {
        if self.samples() == 0 {
            return Duration::ZERO;
        }
        self.most - self.least
    }

    /// Returns by how much the clock of the writer is ahead at least: no sample is read before it
    /// was written.
    pub fn ahead(&self) -> Option<Duration> {
        let is_impossible = self.samples() > 0 && self.least < Duration::ZERO;
        is_impossible.then(|| Duration::ZERO - self.least)
    }
}

/// Delays of all writers of a subscription.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delays {
    by_writer: BTreeMap<Guid, Delay>,
    /// What the kernel says about the clock of this host.
    pub clock: Option<Discipline>,
    /// Samples of writers beyond the limit.
    pub uncounted: u64,
}

impl Delays {
    pub(super) fn new(clock: Option<Discipline>) -> Self {
        Self { clock, ..Self::default() }
    }

    /// Counts a sample; `about` names the participant of a new writer, and what is known about the
    /// clocks.
    pub(super) fn add(
        &mut self,
        writer: Guid,
        delay: Option<Duration>,
        about: impl FnOnce() -> (String, Clocks),
    ) {
        if self.by_writer.len() >= WRITERS_MAX && !self.by_writer.contains_key(&writer) {
            self.uncounted += 1;
            return;
        }
        let entry = self.by_writer.entry(writer).or_insert_with(|| {
            let (who, clocks) = about();
            Delay::new(who, clocks)
        });
        entry.add(delay);
    }

    /// Returns each writer and its delays.
    pub fn iter(&self) -> impl Iterator<Item = (Guid, &Delay)> {
        self.by_writer.iter().map(|(writer, delay)| (*writer, delay))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(us: i64) -> Duration {
        Duration::from_ps(us * 1_000_000)
    }

    fn delays(of: impl IntoIterator<Item = i64>) -> Delay {
        let mut delay = Delay::new(String::new(), Clocks::Unknown);
        for one in of {
            delay.add(Some(us(one)));
        }
        delay
    }

    /// Returns whether a quantile is as near as the histogram allows.
    fn is_near(found: Option<Duration>, expected: Duration) -> bool {
        let error = found.map(|found| (found - expected).as_ps().unsigned_abs());
        error.is_some_and(|error| error <= expected.as_ps().unsigned_abs() / 100)
    }

    #[test]
    fn quantiles_are_those_of_the_sorted_delays() {
        // Oracle: the sorted values; rank `ceil(n * part / whole)`.
        let all = delays((1..=100).rev());
        assert_eq!((all.least, all.most, all.spread()), (us(1), us(100), us(99)));
        assert!(is_near(all.quantile(50, 100), us(50)));
        assert!(is_near(all.quantile(99, 100), us(99)));
        assert_eq!(all.quantile(100, 100), Some(us(100)));
        assert_eq!(all.ahead(), None);
        assert_eq!(delays([]).quantile(50, 100), None);
    }

    #[test]
    fn a_clock_that_is_ahead_is_found() {
        // Oracle: the same delays, with a clock that is 60 us ahead: all shift, the spread stays.
        let all = delays((1..=100).map(|delay| delay - 60));
        assert_eq!((all.least, all.most, all.spread()), (us(-59), us(40), us(99)));
        assert!(is_near(all.quantile(50, 100), us(-10)));
        assert!(is_near(all.quantile(10, 100), us(-50)));
        assert!(is_near(all.quantile(99, 100), us(39)));
        assert_eq!(all.ahead(), Some(us(59)));
    }

    #[test]
    fn writers_are_limited_and_stamps_may_be_missing() {
        let mut all = Delays::default();
        for number in 0..=u32::try_from(WRITERS_MAX).unwrap_or(0) {
            let mut guid = Guid::default();
            guid.prefix.0[..4].copy_from_slice(&number.to_be_bytes());
            all.add(guid, None, || (String::new(), Clocks::One));
        }
        assert_eq!((all.iter().count(), all.uncounted), (WRITERS_MAX, 1));
        assert!(all.iter().all(|(_, one)| one.unstamped == 1 && one.samples() == 0));
    }
}
