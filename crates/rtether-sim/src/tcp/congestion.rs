//! Congestion window and slow-start threshold: RFC 5681, RFC 3465 and the window arithmetic of
//! RFC 6582. The sender decides when to call each function.

use super::{Config, CongestionControl, Counting};

/// No limit; far below overflow when segments are added to it.
const UNLIMITED: u64 = 1 << 62;
/// Segments that one acknowledgement may add in slow start: L of RFC 3465, 2.2.
const SLOW_START_LIMIT: u64 = 2;

/// The congestion window, in octets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    mss: u64,
    initial: u64,
    counting: Counting,
    /// If false, `congestion` stays unlimited.
    controlled: bool,
    congestion: u64,
    threshold: u64,
    /// Octets acknowledged in congestion avoidance and not yet turned into window (RFC 3465, 2.1).
    counted: u64,
    /// From a timeout until everything sent before it is acknowledged, one acknowledgement adds at
    /// most one segment (RFC 3465, 2.3): it may cover octets that left the network long ago.
    after_timeout: bool,
}

impl Window {
    /// Returns the window of a new connection.
    pub(super) fn new(config: &Config) -> Self {
        let initial = config.initial_window.octets(config.mss);
        let controlled = config.congestion_control == CongestionControl::NewReno;
        Self {
            mss: u64::from(config.mss),
            initial,
            counting: config.counting,
            controlled,
            congestion: if controlled { initial } else { UNLIMITED },
            threshold: UNLIMITED,
            counted: 0,
            after_timeout: false,
        }
    }

    /// Returns the congestion window in octets.
    pub(super) const fn size(&self) -> u64 {
        self.congestion
    }

    /// Returns the slow-start threshold in octets, `None` while it is unlimited.
    pub(super) const fn threshold(&self) -> Option<u64> {
        if self.threshold < UNLIMITED { Some(self.threshold) } else { None }
    }

    /// Grows by an acknowledgement of `acked` new octets outside recovery (RFC 5681, 3.1).
    pub(super) fn on_ack(&mut self, acked: u64) {
        if !self.controlled {
            return;
        }
        if self.congestion < self.threshold {
            let segments = match self.counting {
                Counting::Octets if !self.after_timeout => SLOW_START_LIMIT,
                Counting::Octets | Counting::Acknowledgements => 1,
            };
            self.congestion += acked.min(segments * self.mss);
            return;
        }
        match self.counting {
            Counting::Acknowledgements => {
                self.congestion += (self.mss * self.mss / self.congestion).max(1);
            }
            Counting::Octets => {
                self.counted += acked;
                if self.counted >= self.congestion {
                    self.counted -= self.congestion;
                    self.congestion += self.mss;
                }
            }
        }
    }

    /// Enters recovery after three duplicate acknowledgements with `flight` octets
    /// unacknowledged (RFC 5681, 3.2, steps 2 and 3).
    pub(super) fn on_fast_retransmit(&mut self, flight: u64) {
        if !self.controlled {
            return;
        }
        // What limited transmit sent beyond the window does not count (RFC 5681, 3.2, step 2).
        self.halve(flight.min(self.congestion));
        self.congestion = self.threshold + 3 * self.mss;
    }

    /// Inflates during recovery: one more segment has left the network (RFC 5681, 3.2, step 4).
    pub(super) fn on_duplicate(&mut self) {
        if self.controlled {
            self.congestion += self.mss;
        }
    }

    /// Deflates by a partial acknowledgement (RFC 6582, 3.2, step 3).
    pub(super) fn on_partial_ack(&mut self, acked: u64) {
        if !self.controlled {
            return;
        }
        self.congestion = self.congestion.saturating_sub(acked);
        if acked >= self.mss {
            self.congestion += self.mss;
        }
        self.congestion = self.congestion.max(self.mss);
    }

    /// Leaves recovery with `flight` octets unacknowledged; the first choice of RFC 6582, 3.2,
    /// step 3, which sends no burst.
    pub(super) fn on_full_ack(&mut self, flight: u64) {
        if self.controlled {
            self.congestion = self.threshold.min(flight.max(self.mss) + self.mss);
        }
    }

    /// Falls to the loss window after a timeout (RFC 5681, 3.1, equation 4).
    ///
    /// `first`: the timer has not retransmitted the lost segment before, so the threshold moves.
    pub(super) fn on_timeout(&mut self, flight: u64, first: bool) {
        if !self.controlled {
            return;
        }
        if first {
            self.halve(flight);
        }
        self.congestion = self.mss;
        self.counted = 0;
        self.after_timeout = true;
    }

    /// Notes that everything sent before the last timeout is acknowledged.
    pub(super) fn on_timeout_repaired(&mut self) {
        self.after_timeout = false;
    }

    /// Starts with one segment, because more than one SYN was lost (RFC 6928, 2).
    pub(super) fn on_lost_syns(&mut self) {
        if self.controlled {
            self.congestion = self.mss;
        }
    }

    /// Falls back to the restart window, because nothing was sent for an RTO (RFC 5681, 4.1).
    pub(super) fn on_idle(&mut self) {
        if self.controlled {
            self.congestion = self.congestion.min(self.initial);
        }
    }

    fn halve(&mut self, flight: u64) {
        self.threshold = (flight / 2).max(2 * self.mss);
        self.counted = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1_460;

    fn window(counting: Counting) -> Window {
        Window::new(&Config { counting, ..Config::default() })
    }

    #[test]
    fn slow_start_doubles_a_round_when_octets_are_counted() {
        // Ten segments out, five acknowledgements of two back: 10 -> 20 segments.
        let mut w = window(Counting::Octets);
        assert_eq!(w.size(), 10 * MSS);
        (0..5).for_each(|_| w.on_ack(2 * MSS));
        assert_eq!(w.size(), 20 * MSS);
        // RFC 5681 alone: one segment per acknowledgement, 10 -> 15.
        let mut w = window(Counting::Acknowledgements);
        (0..5).for_each(|_| w.on_ack(2 * MSS));
        assert_eq!(w.size(), 15 * MSS);
    }

    #[test]
    fn avoidance_adds_a_segment_a_round() {
        let mut w = window(Counting::Octets);
        w.on_timeout(8 * MSS, true);
        assert_eq!((w.size(), w.threshold()), (MSS, Some(4 * MSS)));
        // Slow start in steps of one segment until the threshold.
        (0..3).for_each(|_| w.on_ack(2 * MSS));
        assert_eq!(w.size(), 4 * MSS);
        // Four segments acknowledged are one round, regardless of the number of acknowledgements.
        w.on_ack(2 * MSS);
        assert_eq!(w.size(), 4 * MSS);
        w.on_ack(2 * MSS);
        assert_eq!(w.size(), 5 * MSS);
    }

    #[test]
    fn avoidance_by_acknowledgements() {
        let mut w = window(Counting::Acknowledgements);
        w.on_timeout(8 * MSS, true);
        (0..3).for_each(|_| w.on_ack(MSS));
        // 1460 * 1460 / 5840 = 365 octets.
        w.on_ack(MSS);
        assert_eq!(w.size(), 4 * MSS + 365);
    }

    #[test]
    fn recovery_of_rfc_6582() {
        let mut w = window(Counting::Octets);
        // Ten segments in flight: threshold 5, window 5 + 3.
        w.on_fast_retransmit(10 * MSS);
        assert_eq!((w.size(), w.threshold()), (8 * MSS, Some(5 * MSS)));
        w.on_duplicate();
        assert_eq!(w.size(), 9 * MSS);
        // Three segments acknowledged: 9 - 3 + 1.
        w.on_partial_ack(3 * MSS);
        assert_eq!(w.size(), 7 * MSS);
        // Two in flight at the end: min(5, 2 + 1).
        w.on_full_ack(2 * MSS);
        assert_eq!(w.size(), 3 * MSS);
    }

    #[test]
    fn threshold_has_a_floor_and_moves_once_a_loss() {
        let mut w = window(Counting::Octets);
        w.on_timeout(10 * MSS, true);
        assert_eq!(w.threshold(), Some(5 * MSS));
        w.on_timeout(MSS, false);
        assert_eq!(w.threshold(), Some(5 * MSS));
        w.on_timeout(MSS, true);
        assert_eq!(w.threshold(), Some(2 * MSS));
    }

    #[test]
    fn without_control_nothing_limits() {
        let config = Config { congestion_control: CongestionControl::None, ..Config::default() };
        let mut w = Window::new(&config);
        w.on_timeout(10 * MSS, true);
        w.on_fast_retransmit(10 * MSS);
        w.on_partial_ack(MSS);
        w.on_full_ack(MSS);
        w.on_idle();
        assert!(w.size() >= UNLIMITED);
        assert_eq!(w.threshold(), None);
    }
}
