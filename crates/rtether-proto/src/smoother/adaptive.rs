//! Credit bucket whose period follows congestion (002 Kweon 2.2, figures 3 and 4).
//!
//! Where figures and text are ambiguous or contradict each other:
//! - one collision report doubles the period once; doubling at every call that the report holds
//!   back is [`Doubling::PerCall`];
//! - the period shrinks at every tick, after a collision too, as in figure 4;
//! - a refresh takes place at the first tick at or after its time (the figure compares for
//!   equality);
//! - *vacating the bucket* removes credits but does not forgive debt. Figure 3 sets the credits to
//!   zero, which is [`Adaptive::forgive_debt`]: a collision can then let more out, and no arrival
//!   curve holds. With full-sized packets only, there is no difference: one leaves with each
//!   refresh.

use rtether_model::quantity::{BitRate, Duration, Instant};

use super::bucket::{Bucket, grown, rate_floor};
use super::event::Log;
use rtether_model::smoother::{Adaptive, Doubling, Increase};

/// State of the adaptive modes.
#[derive(Clone, Debug)]
pub(super) struct AdaptiveLaw {
    parameters: Adaptive,
    /// Invariant: between `period_min` and `period_max`.
    period: Duration,
    pub(super) bucket: Bucket,
    next_tick: Instant,
    congested_at: Option<Instant>,
    /// The latest report has not yet doubled the period.
    is_report_new: bool,
    /// When slow start halves the period next.
    halve_at: Instant,
}

impl AdaptiveLaw {
    pub(super) fn new(now: Instant, parameters: Adaptive) -> Self {
        let period = parameters.period_min;
        Self {
            parameters,
            period,
            bucket: Bucket::new(now, parameters.depth, period),
            next_tick: now + parameters.tick,
            congested_at: None,
            is_report_new: false,
            halve_at: now,
        }
    }

    pub(super) const fn period(&self) -> Duration {
        self.period
    }

    pub(super) const fn due(&self) -> Instant {
        self.next_tick
    }

    /// Changes the parameters; the period is clamped to the new range.
    pub(super) fn set(&mut self, now: Instant, parameters: Adaptive, log: &mut Log) {
        let before = self.period;
        let (low, high) = (parameters.period_min, parameters.period_max);
        self.period = before.clamp(low, high);
        log.period_changed(now, before, self.period);
        self.parameters = parameters;
        self.bucket.set(parameters.depth, low, high);
        self.next_tick = self.next_tick.min(now + parameters.tick);
        if let Increase::SlowStart(interval) = parameters.increase {
            self.halve_at = self.halve_at.min(now + interval);
        }
    }

    pub(super) fn report(&mut self, now: Instant) {
        self.congested_at = Some(now);
        self.is_report_new = true;
    }

    /// The procedure *refresh*.
    pub(super) fn tick(&mut self, now: Instant, log: &mut Log) {
        if now < self.next_tick {
            return;
        }
        let before = self.period;
        self.period = self.shorter(now).max(self.parameters.period_min);
        log.period_changed(now, before, self.period);
        if now >= self.bucket.due() {
            self.bucket.refresh(now, self.period, log);
        }
        // Ticks keep to their grid; those missed by a late driver are skipped.
        let tick = self.parameters.tick.as_ps();
        let passed = (now - self.next_tick).as_ps() / tick + 1;
        self.next_tick += self.parameters.tick * passed;
    }

    fn shorter(&mut self, now: Instant) -> Duration {
        match self.parameters.increase {
            Increase::Harmonic(delta) => self.period - delta,
            Increase::SlowStart(interval) if now >= self.halve_at => {
                self.halve_at = now + interval;
                Duration::from_ps(self.period.as_ps() - self.period.as_ps() / 2)
            }
            Increase::SlowStart(_) => self.period,
            Increase::Linear(step) => {
                let depth = self.parameters.depth;
                let rate = rate_floor(depth, self.period).as_bps();
                let faster = rate.saturating_add(step.as_bps());
                let period = BitRate::from_bps(faster).time_ceil(depth);
                period.min(self.period)
            }
        }
    }

    /// The part of the procedure *smoothing* that deals with a bulk packet at the head.
    pub(super) fn permits(&mut self, now: Instant, log: &mut Log) -> bool {
        let is_held = self.congested_at.is_some_and(|at| now - at <= self.parameters.hold);
        if !is_held {
            return self.bucket.credits() > 0;
        }
        log.statistics.holds += 1;
        self.bucket.empty(now, self.parameters.forgive_debt, log);
        if self.is_report_new || self.parameters.doubling == Doubling::PerCall {
            self.is_report_new = false;
            self.lengthen(now, log);
        }
        false
    }

    fn lengthen(&mut self, now: Instant, log: &mut Log) {
        let before = self.period;
        let longer = grown(before, self.parameters.growth_percent);
        self.period = longer.min(self.parameters.period_max);
        log.statistics.decreases += 1;
        log.period_changed(now, before, self.period);
        if let Increase::SlowStart(interval) = self.parameters.increase {
            self.halve_at = now + interval;
        }
        if self.parameters.shift_refresh {
            self.bucket.postpone(self.period);
        }
    }

    pub(super) fn invariants(&self) {
        let range = self.parameters.period_min..=self.parameters.period_max;
        assert!(range.contains(&self.period), "period out of range: {self:?}");
        assert!(
            !self.is_report_new || self.congested_at.is_some(),
            "a report without its time: {self:?}"
        );
        self.bucket.invariants();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtether_model::quantity::Bytes;

    fn at(ms: i64) -> Instant {
        Instant::ZERO + Duration::from_ms(ms)
    }

    /// Runs the ticks of `from + 1..=to` milliseconds.
    fn ticks(law: &mut AdaptiveLaw, log: &mut Log, from: i64, to: i64) {
        for ms in from + 1..=to {
            law.tick(at(ms), log);
        }
    }

    #[test]
    fn himd_doubles_once_a_report_and_falls_by_delta_each_tick() {
        // By hand: 3 ms; the report at 5 ms doubles to 6 ms at the first call, not at the second;
        // ticks at 6..=15 subtract 10 * 0.1 ms: 5 ms.
        let mut log = Log::default();
        let mut law = AdaptiveLaw::new(at(0), Adaptive::HIMD);
        ticks(&mut law, &mut log, 0, 5);
        assert_eq!(law.period(), Duration::from_ms(3));
        law.report(at(5));
        assert!(!law.permits(at(5), &mut log));
        assert!(!law.permits(at(5), &mut log));
        assert_eq!(law.period(), Duration::from_ms(6));
        assert_eq!(law.bucket.credits(), 0);
        ticks(&mut law, &mut log, 5, 15);
        assert_eq!(law.period(), Duration::from_ms(5));
        // Held up to and including 15 ms, regardless of credits; the refresh due at 6 ms gave 1500,
        // which the call at 15 ms removes.
        assert_eq!(law.bucket.credits(), 1500);
        assert!(!law.permits(at(15), &mut log));
        assert_eq!(law.bucket.credits(), 0);
        law.invariants();
    }

    #[test]
    fn the_literal_procedure_doubles_at_every_call() {
        // By hand: 3, 6, 12, 24, 48, 96 ms, then the limit of 100 ms.
        let mut log = Log::default();
        let literal = Adaptive { doubling: Doubling::PerCall, ..Adaptive::HIMD };
        let mut law = AdaptiveLaw::new(at(0), literal);
        law.report(at(0));
        for ms in [6, 12, 24, 48, 96, 100, 100] {
            assert!(!law.permits(at(0), &mut log));
            assert_eq!(law.period(), Duration::from_ms(ms));
        }
        // 0.1 ms shorter every tick: 100 ms - 970 * 0.1 ms = 3 ms after 970 ticks.
        ticks(&mut law, &mut log, 0, 969);
        assert_eq!(law.period(), Duration::from_us(3_100));
        ticks(&mut law, &mut log, 969, 1000);
        assert_eq!(law.period(), Duration::from_ms(3));
    }

    #[test]
    fn a_refresh_waits_for_a_tick_and_doubling_moves_it_only_if_told() {
        // By hand: full at 0, refresh due at 3 ms. Doubled at 1 ms to 6 ms: still due at 3 ms, or
        // at 6 ms if shifted. At 3 ms the period is 6 - 2 * 0.1 = 5.8 ms, so the next is at 8.8 ms,
        // which is the tick at 9 ms. The call at 1 ms empties the bucket.
        for (shift_refresh, first, second) in [(false, 3, 9), (true, 6, 12)] {
            let mut log = Log::default();
            let parameters = Adaptive { shift_refresh, ..Adaptive::HIMD };
            let mut law = AdaptiveLaw::new(at(0), parameters);
            law.tick(at(1), &mut log);
            law.report(at(1));
            assert!(!law.permits(at(1), &mut log));
            let mut refreshed = std::vec::Vec::new();
            for ms in 2..=12 {
                let before = log.statistics.refreshes;
                law.tick(at(ms), &mut log);
                if log.statistics.refreshes > before {
                    refreshed.push(ms);
                }
            }
            // Shifted: at 6 ms the period is 6 - 5 * 0.1 = 5.5 ms, so next at 11.5: tick 12.
            assert_eq!(refreshed, [first, second], "shift {shift_refresh}");
        }
    }

    #[test]
    fn debt_is_forgiven_only_if_told() {
        // By hand: 1500 - 2 * 1400 = -1300; figure 3 makes that 0.
        for (forgive_debt, credits) in [(false, -1300), (true, 0)] {
            let mut log = Log::default();
            let parameters = Adaptive { forgive_debt, ..Adaptive::HIMD };
            let mut law = AdaptiveLaw::new(at(0), parameters);
            for _ in 0..2 {
                let size = Bytes::new(1400);
                law.bucket.charge(at(0), size, &mut log);
            }
            law.report(at(0));
            assert!(!law.permits(at(0), &mut log));
            assert_eq!(law.bucket.credits(), credits);
        }
    }

    #[test]
    fn slow_start_halves_the_period_each_interval() {
        // By hand: 96 ms; halved 200 ms after the doubling and every 200 ms from then on.
        let mut log = Log::default();
        let parameters = Adaptive { doubling: Doubling::PerCall, ..Adaptive::SLOW_START };
        let mut law = AdaptiveLaw::new(at(0), parameters);
        law.report(at(0));
        for _ in 0..5 {
            assert!(!law.permits(at(0), &mut log));
        }
        for (to, ms) in [(199, 96), (200, 48), (400, 24), (600, 12), (800, 6), (1000, 3)] {
            let from = (law.due() - at(0)).as_ps() / 1_000_000_000 - 1;
            ticks(&mut law, &mut log, from, to);
            assert_eq!(law.period(), Duration::from_ms(ms), "at {to} ms");
        }
        ticks(&mut law, &mut log, 1000, 2000);
        assert_eq!(law.period(), Duration::from_ms(3));
    }

    #[test]
    fn linear_increase_adds_its_step_to_the_rate() {
        // By hand: 12 ms is 1 Mbit/s; after one step of 500 kbit/s 12 000 bit / 1.5 Mbit/s = 8 ms,
        // after two 6 ms, after three 4.8 ms, after four 4 ms.
        let mut log = Log::default();
        let parameters =
            Adaptive { increase: Increase::Linear(BitRate::from_bps(500_000)), ..Adaptive::LINEAR };
        let mut law = AdaptiveLaw::new(at(0), parameters);
        for _ in 0..2 {
            law.report(at(0));
            assert!(!law.permits(at(0), &mut log));
        }
        assert_eq!(law.period(), Duration::from_ms(12));
        for (ms, us) in [(1, 8_000), (2, 6_000), (3, 4_800), (4, 4_000)] {
            law.tick(at(ms), &mut log);
            assert_eq!(law.period(), Duration::from_us(us));
        }
    }

    #[test]
    fn the_three_laws_need_about_a_second_from_slow_to_fast() {
        for parameters in [Adaptive::HIMD, Adaptive::SLOW_START, Adaptive::LINEAR] {
            let mut log = Log::default();
            let mut law = AdaptiveLaw::new(at(0), parameters);
            for _ in 0..6 {
                law.report(at(0));
                assert!(!law.permits(at(0), &mut log));
            }
            assert_eq!(law.period(), Duration::from_ms(100));
            ticks(&mut law, &mut log, 0, 900);
            assert!(law.period() > Duration::from_ms(3), "{parameters:?}");
            ticks(&mut law, &mut log, 900, 1200);
            assert_eq!(law.period(), Duration::from_ms(3), "{parameters:?}");
        }
    }

    #[test]
    fn a_late_driver_loses_ticks_and_keeps_the_grid() {
        let mut log = Log::default();
        let mut law = AdaptiveLaw::new(at(0), Adaptive::HIMD);
        law.tick(at(0) + Duration::from_us(3_500), &mut log);
        assert_eq!(law.due(), at(4));
        assert_eq!(log.statistics.refreshes, 1);
        // The next refresh is a period after this one, not after its planned time.
        assert_eq!(law.bucket.due(), at(0) + Duration::from_us(6_500));
    }
}
