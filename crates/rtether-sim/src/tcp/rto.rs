//! Retransmission timeout from round-trip times, RFC 6298, in integer picoseconds.
//!
//! The clock granularity is negligible, so G of the RFC is zero. Divisions round towards zero, by
//! less than 1 ps per measurement. The caller applies Karn's rule, not to measure retransmitted
//! segments.

use rtether_model::quantity::Duration;

use super::Config;

/// Smoothed round-trip time, its variation, and the timeout they give.
#[derive(Clone, Copy, Debug)]
pub(super) struct Estimator {
    smoothed: Option<Duration>,
    variation: Duration,
    rto: Duration,
    floor: Duration,
    ceiling: Duration,
}

impl Estimator {
    /// Returns an estimator without a measurement (RFC 6298, 2.1).
    pub(super) fn new(config: &Config) -> Self {
        Self {
            smoothed: None,
            variation: Duration::ZERO,
            rto: Ord::min(config.initial_rto, config.max_rto),
            floor: config.min_rto,
            ceiling: config.max_rto,
        }
    }

    /// Adds a measured round-trip time (RFC 6298, 2.2 and 2.3); undoes all back-off.
    pub(super) fn measure(&mut self, round_trip: Duration) {
        debug_assert!(!round_trip.is_negative(), "a round trip of {round_trip}");
        let smoothed = match self.smoothed {
            None => {
                self.variation = round_trip / 2;
                round_trip
            }
            Some(smoothed) => {
                let error = smoothed - round_trip;
                let error = error.max(Duration::ZERO - error);
                // The old SRTT goes into RTTVAR, hence the order.
                self.variation = (self.variation * 3 + error) / 4;
                (smoothed * 7 + round_trip) / 8
            }
        };
        self.smoothed = Some(smoothed);
        self.rto = Ord::min((smoothed + self.variation * 4).max(self.floor), self.ceiling);
    }

    /// Doubles the timeout after it has expired (RFC 6298, 5.5).
    pub(super) fn back_off(&mut self) {
        // Compare before doubling: a very large ceiling must not overflow.
        self.rto = if self.rto > self.ceiling / 2 { self.ceiling } else { self.rto * 2 };
    }

    /// Starts data transfer after the SYN timed out: at least 3 s (RFC 6298, 5.7).
    pub(super) fn restart_after_lost_syn(&mut self) {
        self.rto = Ord::min(self.rto.max(Duration::from_secs(3)), self.ceiling);
    }

    /// Returns the timeout for arming a timer.
    pub(super) const fn rto(&self) -> Duration {
        self.rto
    }

    /// Returns SRTT, or `None` before the first measurement.
    pub(super) const fn smoothed(&self) -> Option<Duration> {
        self.smoothed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimator(floor_ms: i64) -> Estimator {
        Estimator::new(&Config { min_rto: Duration::from_ms(floor_ms), ..Config::default() })
    }

    #[test]
    fn worked_example_without_floor() {
        let mut e = estimator(1);
        assert_eq!(e.rto(), Duration::from_secs(1));
        // R = 100 ms: SRTT 100, RTTVAR 50, RTO 100 + 4 * 50 = 300 ms.
        e.measure(Duration::from_ms(100));
        assert_eq!(e.smoothed(), Some(Duration::from_ms(100)));
        assert_eq!(e.rto(), Duration::from_ms(300));
        // R = 140 ms: RTTVAR 3/4 * 50 + 1/4 * 40 = 47.5, SRTT 7/8 * 100 + 1/8 * 140 = 105,
        // RTO 105 + 190 = 295 ms.
        e.measure(Duration::from_ms(140));
        assert_eq!(e.smoothed(), Some(Duration::from_ms(105)));
        assert_eq!(e.rto(), Duration::from_ms(295));
        // R = 105 ms: RTTVAR 3/4 * 47.5 = 35.625, SRTT 105, RTO 105 + 142.5 = 247.5 ms.
        e.measure(Duration::from_ms(105));
        assert_eq!(e.smoothed(), Some(Duration::from_ms(105)));
        assert_eq!(e.rto(), Duration::from_us(247_500));
    }

    #[test]
    fn floor_back_off_and_ceiling() {
        let mut e = estimator(200);
        // SRTT 1 ms, RTTVAR 0.5 ms: 3 ms, raised to the floor.
        e.measure(Duration::from_ms(1));
        assert_eq!(e.rto(), Duration::from_ms(200));
        for expected_ms in [400, 800, 1_600, 3_200, 6_400, 12_800, 25_600, 51_200, 60_000, 60_000] {
            e.back_off();
            assert_eq!(e.rto(), Duration::from_ms(expected_ms));
        }
        // Measuring a segment sent once ends the back-off.
        e.measure(Duration::from_ms(1));
        assert_eq!(e.rto(), Duration::from_ms(200));
    }

    #[test]
    fn a_lost_syn_leaves_three_seconds() {
        let mut e = estimator(200);
        e.back_off();
        e.restart_after_lost_syn();
        assert_eq!(e.rto(), Duration::from_secs(3));
    }
}
