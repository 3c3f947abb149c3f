//! The credit bucket.

use rtether_model::quantity::{BitRate, Bytes, Duration, Instant};

use super::event::{Cause, Event, Log};

/// Credits in octets, and the time of the next refresh.
#[derive(Clone, Debug)]
pub(super) struct Bucket {
    /// Invariant: at least 1 and at most 10^9.
    depth: i64,
    /// Invariant: at most `depth`.
    credits: i64,
    refreshed_at: Instant,
    /// Invariant: later than `refreshed_at`.
    due: Instant,
}

impl Bucket {
    /// Creates a full bucket.
    pub(super) fn new(now: Instant, depth: Bytes, period: Duration) -> Self {
        let depth = octets(depth);
        Self { depth, credits: depth, refreshed_at: now, due: now + period }
    }

    pub(super) const fn credits(&self) -> i64 {
        self.credits
    }

    pub(super) const fn depth(&self) -> Bytes {
        Bytes::new(self.depth.unsigned_abs())
    }

    pub(super) const fn due(&self) -> Instant {
        self.due
    }

    /// Changes depth and range of the period. Credits above a smaller depth are lost; the next
    /// refresh is moved into the range.
    pub(super) fn set(&mut self, depth: Bytes, shortest: Duration, longest: Duration) {
        self.depth = octets(depth);
        self.credits = self.credits.min(self.depth);
        let (from, to) = (self.refreshed_at + shortest, self.refreshed_at + longest);
        self.due = self.due.clamp(from, to);
    }

    /// Refreshes; the next time is `period` from now.
    pub(super) fn refresh(&mut self, now: Instant, period: Duration, log: &mut Log) {
        let grown = self.credits.saturating_add(self.depth);
        let lost = (grown - self.depth).max(0);
        log.statistics.credits_lost += lost.unsigned_abs();
        log.statistics.refreshes += 1;
        self.change(now, grown.min(self.depth), Cause::Refresh, log);
        self.refreshed_at = now;
        self.due = now + period;
    }

    /// Postpones the next refresh to `period` after the last one, if that is later.
    pub(super) fn postpone(&mut self, period: Duration) {
        self.due = self.due.max(self.refreshed_at + period);
    }

    /// Postpones the next refresh to a time, if that is later.
    pub(super) fn postpone_to(&mut self, at: Instant) {
        self.due = self.due.max(at);
    }

    /// Charges a packet that leaves. Saturates far below zero, where nothing can leave for years.
    pub(super) fn charge(&mut self, now: Instant, size: Bytes, log: &mut Log) {
        let after = self.credits.saturating_sub(octets(size));
        self.change(now, after, Cause::Transmit, log);
    }

    /// Removes all credits; forgives debt only if `forgive_debt`.
    pub(super) fn empty(&mut self, now: Instant, forgive_debt: bool, log: &mut Log) {
        let left = if forgive_debt { 0 } else { self.credits.min(0) };
        self.change(now, left, Cause::Congestion, log);
    }

    fn change(&mut self, at: Instant, credits: i64, cause: Cause, log: &mut Log) {
        if credits != self.credits {
            self.credits = credits;
            log.push(Event::CreditsChanged { at, credits, cause });
        }
    }

    pub(super) fn invariants(&self) {
        assert!(self.credits <= self.depth, "bucket overflows: {self:?}");
        assert!(self.refreshed_at < self.due, "refresh in the past: {self:?}");
    }
}

fn octets(size: Bytes) -> i64 {
    i64::try_from(size.get()).unwrap_or(i64::MAX)
}

const PS_PER_SECOND: u128 = 1_000_000_000_000;

/// Returns `percent` percent of a period, saturating.
pub(super) fn grown(period: Duration, percent: u16) -> Duration {
    let ps = i128::from(period.as_ps()) * i128::from(percent) / 100;
    Duration::from_ps(i64::try_from(ps).unwrap_or(i64::MAX))
}

/// Returns `depth` each `period` as a rate, rounded down to bit/s.
pub(super) fn rate_floor(depth: Bytes, period: Duration) -> BitRate {
    let ps = u128::from(period.as_ps().max(1).unsigned_abs());
    let bps = u128::from(depth.get()) * 8 * PS_PER_SECOND / ps;
    BitRate::from_bps(u64::try_from(bps).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bucket_overflows_and_lends() {
        // By hand: 1500 full; -1 leaves 1499; +1500 overflows by 1499; -1500 twice is -1500;
        // +1500 is 0, which lets nothing leave; +1500 is 1500.
        let period = Duration::from_ms(36);
        let mut log = Log::default();
        let mut bucket = Bucket::new(Instant::ZERO, Bytes::new(1500), period);
        let mut now = Instant::ZERO;
        bucket.charge(now, Bytes::new(1), &mut log);
        assert_eq!(bucket.credits(), 1499);
        now += period;
        bucket.refresh(now, period, &mut log);
        assert_eq!((bucket.credits(), log.statistics.credits_lost), (1500, 1499));
        bucket.charge(now, Bytes::new(1500), &mut log);
        bucket.charge(now, Bytes::new(1500), &mut log);
        assert_eq!(bucket.credits(), -1500);
        for credits in [0, 1500] {
            now += period;
            bucket.refresh(now, period, &mut log);
            assert_eq!(bucket.credits(), credits);
        }
        assert_eq!(bucket.due(), now + period);
    }

    #[test]
    fn rates_round_down() {
        // 1500 * 8 / 4.8 ms = 2.5 Mbit/s; 1500 * 8 / 36 ms = 333 333.3 bit/s.
        for (us, bps) in [(4_800, 2_500_000), (36_000, 333_333)] {
            let rate = rate_floor(Bytes::new(1500), Duration::from_us(us));
            assert_eq!(rate.as_bps(), bps);
        }
    }
}
