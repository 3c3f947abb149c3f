//! Credit bucket that shares the medium and keeps its place on it (mode `rtether`).
//!
//! Two rules control the rate and the timing:
//!
//! - *Shares.* A station measures the share of time in which any station sends, which is the same
//!   for all stations. At the end of each window, its rate moves by a fraction of the distance to a
//!   common target, and grows by a step. Above the target, the fraction is proportional to the rate
//!   and the step is not, so that a faster station loses more: all rates converge to the value at
//!   which both cancel out (Chiu and Jain 1989). A station's own collisions are no measure: under
//!   1-persistent CSMA/CD, the stations that send most see the fewest collisions, and a law based
//!   on them starves the others.
//! - *Places.* With a steady period, a station's bulk frames come at one place in the cycle of all
//!   stations. A station whose frame had to wait or collided *moves*: its next turn comes one
//!   period after its frame got through, plus a guard in which an answer to the previous frame
//!   fits. Places push each other apart until no frame has to wait, without any messages.
//!
//! Far above the target, as when several stations start at once, the period grows by a factor at
//! the end of each window. The shortest period leaves room on an idle medium, so that one station
//! cannot fill it.

use rtether_model::quantity::{BitRate, Duration, Instant};
use rtether_model::smoother::TurnBucket;

use super::Transmission;
use super::bucket::{Bucket, grown, rate_floor};
use super::event::Log;

/// A transmission that starts within this time of its release did not wait: the gap between frames
/// at 10 Mbit/s, and some time for the driver.
const AT_ONCE: Duration = Duration::from_us(20);

/// State of the mode.
#[derive(Clone, Debug)]
pub(super) struct TurnLaw {
    parameters: TurnBucket,
    /// Invariant: between `period_min` and `period_max`.
    period: Duration,
    pub(super) bucket: Bucket,
    /// When the latest bulk packet was released to the driver; `None` once a frame is out.
    released_at: Option<Instant>,
    /// How long any station sent in the current window, and when the window began.
    busy: Duration,
    window_began_at: Instant,
}

impl TurnLaw {
    pub(super) fn new(now: Instant, parameters: TurnBucket) -> Self {
        let period = parameters.period_min;
        Self {
            parameters,
            period,
            bucket: Bucket::new(now, parameters.depth, period),
            released_at: None,
            busy: Duration::ZERO,
            window_began_at: now,
        }
    }

    pub(super) const fn period(&self) -> Duration {
        self.period
    }

    /// Changes the parameters; the period is clamped to the new range.
    pub(super) fn set(&mut self, now: Instant, parameters: TurnBucket, log: &mut Log) {
        let (low, high) = (parameters.period_min, parameters.period_max);
        self.change_period(now, self.period.clamp(low, high), log);
        self.parameters = parameters;
        self.bucket.set(parameters.depth, low, high);
    }

    /// Takes a turn, if it is due.
    pub(super) fn refresh(&mut self, now: Instant, log: &mut Log) {
        if now < self.bucket.due() {
            return;
        }
        self.on_busy(now, Duration::ZERO, log);
        self.bucket.refresh(now, self.period, log);
    }

    /// A station, including this one, sent for `busy`. A window ends with the first call at or
    /// after its end time.
    pub(super) fn on_busy(&mut self, now: Instant, busy: Duration, log: &mut Log) {
        self.busy += busy;
        let length = now - self.window_began_at;
        if length < self.parameters.window {
            return;
        }
        let heard = ten_thousandths(self.busy, length);
        (self.busy, self.window_began_at) = (Duration::ZERO, now);
        self.adapt(now, heard, log);
    }

    /// Moves the rate towards the target. `heard` is in ten-thousandths.
    fn adapt(&mut self, now: Instant, heard: i64, log: &mut Log) {
        let parameters = &self.parameters;
        let (low, high) = (parameters.period_min, parameters.period_max);
        let [target, threshold] = [parameters.target_percent, parameters.threshold_percent]
            .map(|percent| i64::from(percent) * 100);
        let rate = i128::from(rate_floor(parameters.depth, self.period).as_bps());
        let part = i128::from(target - heard) * i128::from(parameters.gain_percent);
        let change = rate * part / (i128::from(target) * 100);
        let next = rate + change + i128::from(parameters.step.as_bps());
        // The rate of the longest period, rounded down; a lower one makes no difference.
        let slowest = i128::from(rate_floor(parameters.depth, high).as_bps().max(1));
        let next = BitRate::from_bps(u64::try_from(next.max(slowest)).unwrap_or(u64::MAX));
        let mut period = next.time_ceil(parameters.depth);
        if heard > threshold {
            period = grown(period, parameters.growth_percent);
            log.statistics.decreases += 1;
        }
        self.change_period(now, period.clamp(low, high), log);
    }

    pub(super) const fn on_release(&mut self, now: Instant) {
        self.released_at = Some(now);
    }

    /// A bulk frame is out. With two of them below, the first to finish is judged by the release of
    /// the second: it seems to have started early and does not move the place.
    pub(super) fn on_complete(&mut self, sent: Transmission) {
        let Some(released_at) = self.released_at.take() else {
            return;
        };
        if sent.started_at - released_at > AT_ONCE {
            let next = sent.started_at + self.parameters.guard + self.period;
            self.bucket.postpone_to(next);
        }
    }

    fn change_period(&mut self, now: Instant, period: Duration, log: &mut Log) {
        log.period_changed(now, self.period, period);
        self.period = period;
    }

    pub(super) fn invariants(&self) {
        let range = self.parameters.period_min..=self.parameters.period_max;
        assert!(range.contains(&self.period), "period out of range: {self:?}");
        assert!(!self.busy.is_negative(), "less than silence: {self:?}");
        self.bucket.invariants();
    }
}

/// Returns `part` in ten-thousandths of `whole`, which is not zero; at most 10 000.
fn ten_thousandths(part: Duration, whole: Duration) -> i64 {
    let share = i128::from(part.as_ps()) * 10_000 / i128::from(whole.as_ps());
    i64::try_from(share.min(10_000)).unwrap_or(10_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(i64) -> Duration = Duration::from_ms;

    fn at(ms: i64) -> Instant {
        Instant::ZERO + MS(ms)
    }

    /// Periods from 1 to 100 ms, windows of 100 ms, target 50 %, gain 20 %, 12 kbit/s per window.
    fn law(period: Duration) -> TurnLaw {
        let parameters = TurnBucket {
            period_min: MS(1),
            guard: MS(1),
            window: MS(100),
            target_percent: 50,
            threshold_percent: 80,
            gain_percent: 20,
            step: BitRate::from_bps(12_000),
            ..TurnBucket::DEFAULT
        };
        let mut law = TurnLaw::new(at(0), parameters);
        law.period = period;
        law
    }

    fn sent(started_at: Instant, attempts: u32) -> Transmission {
        Transmission { started_at, attempts }
    }

    #[test]
    fn a_frame_that_waits_moves_the_next_turn() {
        // By hand: turn at 10 ms, due next at 20 ms; the frame got through at 14 ms, so the next
        // turn is at 14 + 1 + 10 = 25 ms. One that starts at once moves nothing.
        let mut log = Log::default();
        let mut law = law(MS(10));
        law.parameters.window = MS(1_000);
        law.refresh(at(10), &mut log);
        assert_eq!(law.bucket.due(), at(20));
        law.on_release(at(10));
        law.on_complete(sent(at(14), 1));
        assert_eq!(law.bucket.due(), at(25));
        law.refresh(at(25), &mut log);
        law.on_release(at(25));
        law.on_complete(sent(at(25), 1));
        assert_eq!(law.bucket.due(), at(35));
    }

    #[test]
    fn the_rate_follows_what_is_heard_once_a_window() {
        // By hand: 12 ms are 1 Mbit/s. Silence: + 20 % + 12 kbit/s = 1.212 Mbit/s, 9.901 ms. At the
        // target: 1.012 Mbit/s, 11.858 ms. 75 % heard: - 10 % + 12 kbit/s = 0.912 Mbit/s, 13.158
        // ms. 90 %: - 16 % + 12 kbit/s = 0.852 Mbit/s, 14.085 ms, times 1.5: 21.127 ms.
        for (heard, us) in [(0, 9_900), (50, 11_857), (75, 13_157), (90, 21_126)] {
            let mut log = Log::default();
            let mut law = law(MS(12));
            law.on_busy(at(99), MS(heard), &mut log);
            assert_eq!(law.period(), MS(12), "not before the end of the window");
            law.on_busy(at(100), Duration::ZERO, &mut log);
            assert_eq!(law.period().as_ns_floor() / 1000, us, "{heard} % heard");
            assert_eq!(log.statistics.decreases, u64::from(heard > 80));
            law.invariants();
        }
    }

    #[test]
    fn rates_meet_whatever_they_began_with() {
        // Oracle: Chiu and Jain 1989. 1500 octets keep 10 Mbit/s busy for 1.2 ms; both stations
        // hear the same, and one alone with 2 ms would be at 60 %. At 2.6 Mbit/s each, their
        // distance shrinks by 12 / 2600 per window, by hand to e^-9 of the initial one in 2000
        // windows.
        let mut log = Log::default();
        let mut laws = [law(MS(2)), law(MS(100))];
        for window in 1..=2_000 {
            let shares = laws.each_ref().map(|law| {
                let turns = MS(100).as_ps() * 1_200 / law.period().as_ps();
                Duration::from_us(turns)
            });
            for law in &mut laws {
                law.on_busy(at(window * 100), shares[0] + shares[1], &mut log);
            }
        }
        let [a, b] = laws.map(|law| law.period().as_ns_f64());
        assert!((a / b - 1.0).abs() < 0.01, "{a} ns and {b} ns");
        // Together at the target or slightly above: 2.4 ms / period is 0.5.
        assert!((4_300e3..=4_900e3).contains(&a), "{a} ns");
    }

    #[test]
    fn nobody_who_is_heard_is_taken_for_silence_only_once() {
        // Silence beyond one window counts as one window: the next one starts with the call.
        let mut log = Log::default();
        let mut law = law(MS(12));
        law.on_busy(at(1_000), Duration::ZERO, &mut log);
        let after_one = law.period();
        law.on_busy(at(1_050), Duration::ZERO, &mut log);
        assert_eq!(law.period(), after_one);
    }
}
