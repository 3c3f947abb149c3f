//! Credit bucket that keeps its place on a shared medium (mode `rtether`).
//!
//! With a steady period a station's bulk frames come at one place in the cycle of all stations.
//! Where two stations have the same place they collide in every cycle; where one finds the medium
//! busy it waits, and collides with whoever else waits for the same end of carrier. So a station
//! that had to wait or collided *moves*: its next turn comes one period after the time at which its
//! frame got through, plus a guard in which an answer to the frame before finds room. Places push
//! each other apart until nobody waits, without a word exchanged.
//!
//! For that the period must be steadier than with HIMD, which doubles it at each collision:
//! - a single collision moves the place and nothing else; only when the share of recent bulk frames
//!   that collided passes a threshold does the period grow;
//! - the period shrinks by a small part at every turn, by a larger one while few frames wait
//!   and hardly any collides.
//!
//! The shortest period leaves room on an idle medium: one station may not fill it.

use rtether_model::quantity::{Duration, Instant};
use rtether_model::smoother::Places;

use super::Transmission;
use super::bucket::{Bucket, grown};
use super::event::Log;

/// A transmission that begins so soon after its release did not wait for anybody: the gap between
/// frames at 10 Mbit/s, and some time for the driver.
const AT_ONCE: Duration = Duration::from_us(20);

/// One, as averages are kept.
const WHOLE: u32 = 1 << 16;
/// While fewer bulk frames than these shares collide and wait there is room on the medium. Frames of
/// others, answers and real-time messages make some wait in any case.
const FEW_COLLIDE: u32 = WHOLE / 10;
const FEW_WAIT: u32 = WHOLE / 5 * 2;

/// State of the mode.
#[derive(Clone, Debug)]
pub(super) struct PlacesLaw {
    parameters: Places,
    /// Invariant: within the ends of the parameters.
    period: Duration,
    pub(super) bucket: Bucket,
    /// When the latest bulk packet left for the driver, until its frame is out.
    released_at: Option<Instant>,
    /// A bulk packet has left since the last refresh.
    is_used: bool,
    /// Shares of recent bulk frames that collided, and that did not start at once.
    collided: u32,
    waited: u32,
}

impl PlacesLaw {
    pub(super) fn new(now: Instant, parameters: Places) -> Self {
        let period = parameters.period_min;
        Self {
            parameters,
            period,
            bucket: Bucket::new(now, parameters.depth, period),
            released_at: None,
            is_used: false,
            collided: 0,
            waited: 0,
        }
    }

    pub(super) const fn period(&self) -> Duration {
        self.period
    }

    /// Changes the parameters; the period is moved into the new range.
    pub(super) fn set(&mut self, now: Instant, parameters: Places, log: &mut Log) {
        let (low, high) = (parameters.period_min, parameters.period_max);
        self.change_period(now, self.period.clamp(low, high), log);
        self.parameters = parameters;
        self.bucket.set(parameters.depth, low, high);
    }

    /// A turn, if it is due.
    pub(super) fn refresh(&mut self, now: Instant, log: &mut Log) {
        if now < self.bucket.due() {
            return;
        }
        if !core::mem::take(&mut self.is_used) {
            // A turn that nobody needed met nobody.
            self.waited = average(self.waited, false);
            self.collided = average(self.collided, false);
        }
        let shorter = self.period - part(self.period, self.gain());
        self.change_period(now, shorter.max(self.parameters.period_min), log);
        self.bucket.refresh(now, self.period, log);
    }

    /// Returns by how many ten-thousandths the period shrinks at a turn.
    const fn gain(&self) -> u16 {
        if self.collided < FEW_COLLIDE && self.waited < FEW_WAIT {
            self.parameters.gain_free
        } else if self.collided < self.threshold() / 2 {
            self.parameters.gain
        } else {
            0
        }
    }

    const fn threshold(&self) -> u32 {
        WHOLE / 100 * self.parameters.threshold_percent as u32
    }

    pub(super) const fn on_release(&mut self, now: Instant) {
        self.released_at = Some(now);
        self.is_used = true;
    }

    /// A bulk frame is out. With two of them below, the first to be out is judged by the release of
    /// the second: it seems to have started early, and does not move the place.
    pub(super) fn on_complete(&mut self, now: Instant, sent: Transmission, log: &mut Log) {
        let Some(released_at) = self.released_at.take() else {
            return;
        };
        let has_waited = sent.started_at - released_at > AT_ONCE;
        self.waited = average(self.waited, has_waited);
        if has_waited {
            let next = sent.started_at + self.parameters.guard + self.period;
            self.bucket.postpone_to(next);
        }
        let has_collided = sent.attempts > 1;
        self.collided = average(self.collided, has_collided);
        if has_collided && self.collided > self.threshold() {
            let longer = grown(self.period, self.parameters.growth_percent);
            log.statistics.decreases += 1;
            self.change_period(now, longer.min(self.parameters.period_max), log);
            self.collided = 0;
        }
    }

    fn change_period(&mut self, now: Instant, period: Duration, log: &mut Log) {
        log.period_changed(now, self.period, period);
        self.period = period;
    }

    pub(super) fn invariants(&self) {
        let range = self.parameters.period_min..=self.parameters.period_max;
        assert!(
            range.contains(&self.period),
            "period out of range: {self:?}"
        );
        assert!(
            self.collided <= WHOLE && self.waited <= WHOLE,
            "a share above one: {self:?}"
        );
        self.bucket.invariants();
    }
}

/// Moves an average over about eight values.
const fn average(average: u32, value: bool) -> u32 {
    let target = if value { WHOLE } else { 0 };
    average - average / 8 + target / 8
}

/// Returns so many ten-thousandths of a time.
fn part(whole: Duration, ten_thousandths: u16) -> Duration {
    whole / 10_000 * i64::from(ten_thousandths)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(i64) -> Duration = Duration::from_ms;

    fn at(ms: i64) -> Instant {
        Instant::ZERO + MS(ms)
    }

    fn law() -> PlacesLaw {
        PlacesLaw::new(
            at(0),
            Places {
                period_min: MS(10),
                guard: MS(1),
                ..Places::DEFAULT
            },
        )
    }

    fn sent(started_at: Instant, attempts: u32) -> Transmission {
        Transmission {
            started_at,
            attempts,
        }
    }

    #[test]
    fn a_frame_that_waits_moves_the_next_turn() {
        // By hand: turn at 10 ms, due next at 20 ms; the frame got through at 14 ms, so the next
        // turn is at 14 + 1 + 10 = 25 ms. One that starts at once moves nothing.
        let (mut log, mut law) = (Log::default(), law());
        law.refresh(at(10), &mut log);
        assert_eq!(law.bucket.due(), at(20));
        law.on_release(at(10));
        law.on_complete(at(15), sent(at(14), 1), &mut log);
        assert_eq!(law.bucket.due(), at(25));
        law.refresh(at(25), &mut log);
        law.on_release(at(25));
        law.on_complete(at(26), sent(at(25), 1), &mut log);
        assert_eq!(law.bucket.due(), at(35));
    }

    #[test]
    fn single_collisions_move_and_repeated_ones_slow_down() {
        // By hand: shares 1/8, 1 - (7/8)^2 = 0.234 > 0.2 at the second in a row: 10 ms become 15.
        let (mut log, mut law) = (Log::default(), law());
        for (turn, period) in [(10, MS(10)), (40, MS(15)), (80, MS(15))] {
            law.refresh(at(turn), &mut log);
            law.on_release(at(turn));
            law.on_complete(at(turn + 2), sent(at(turn + 1), 2), &mut log);
            // What a turn takes off is less than a part in ten.
            assert!(
                law.period() <= period && law.period() > period * 9 / 10,
                "{turn}"
            );
            law.invariants();
        }
        assert_eq!(log.statistics.decreases, 1);
    }

    #[test]
    fn a_free_medium_is_taken_quickly_and_a_busy_one_slowly() {
        // By hand: 3 % of 100 ms off at a turn while nobody is met, 0.2 % while frames wait.
        let (mut log, mut law) = (Log::default(), law());
        law.period = MS(100);
        law.refresh(at(10), &mut log);
        assert_eq!(law.period(), MS(97));
        law.waited = WHOLE;
        law.is_used = true;
        law.refresh(at(200), &mut log);
        assert_eq!(law.period(), Duration::from_us(97_000 - 194));
        law.collided = WHOLE;
        law.is_used = true;
        law.refresh(at(400), &mut log);
        assert_eq!(law.period(), Duration::from_us(97_000 - 194));
    }
}
