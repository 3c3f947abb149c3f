//! The smoother's control law, which runs in this process while its queues are in the kernel.
//!
//! The engine is the same as in the simulator and the other back end. It receives congestion
//! signals and its ticks, and its packets are stand-ins: while bulk packets wait in the kernel, one
//! waits in the engine, so that the engine decides whether it may leave, which is when it doubles
//! its period. The packets it releases are discarded; the resulting rate is what counts.
//!
//! While the engine holds bulk packets back after a collision, HTB cannot be told to send nothing:
//! a packet that slips through at a tiny rate would block the class for a minute. The class gets
//! the rate that fills one bucket in the hold time, so that at most the rest of the bucket and one
//! more packet leave.

use rtether_model::endnode::Smoothing;
use rtether_model::quantity::{BitRate, Bytes, Duration, Instant};
use rtether_model::smoother::Mode;
use rtether_proto::smoother::{Class, ConfigError, Smoother, State, Statistics};

use super::watch::{Observation, Watch};

/// A smoother whose packets are in the kernel.
#[derive(Debug)]
pub struct Regulator {
    smoothing: Smoothing,
    /// Link rate.
    rate: BitRate,
    seed: u64,
    smoother: Smoother<()>,
    watch: Watch,
}

impl Regulator {
    /// Starts the law at `now`; `seed` selects the collisions that are not seen.
    ///
    /// # Errors
    /// If the engine refuses its parameters.
    pub fn new(
        now: Instant,
        smoothing: Smoothing,
        rate: BitRate,
        seed: u64,
    ) -> Result<Self, ConfigError> {
        Ok(Self {
            smoothing,
            rate,
            seed,
            smoother: Smoother::new(now, smoothing.config)?,
            watch: Watch::new(now, smoothing.detector, rate, seed),
        })
    }

    /// Changes parameters while running, as [`Smoother::set`] does; a changed detector starts
    /// afresh.
    ///
    /// # Errors
    /// If the engine refuses its parameters; nothing has then changed.
    pub fn set(
        &mut self,
        now: Instant,
        smoothing: Smoothing,
        rate: BitRate,
    ) -> Result<(), ConfigError> {
        self.smoother.set(now, smoothing.config)?;
        self.drain();
        if (smoothing.detector, rate) != (self.smoothing.detector, self.rate) {
            self.watch = Watch::new(now, smoothing.detector, rate, self.seed);
        }
        (self.smoothing, self.rate) = (smoothing, rate);
        Ok(())
    }

    /// Processes an observation and returns the new rate of the smoother's class.
    pub fn step(&mut self, seen: &Observation) -> BitRate {
        if let Some(signal) = self.watch.observe(seen) {
            self.smoother.handle_signal(seen.at, signal);
            self.drain();
        }
        let due = self.smoother.poll_timeout();
        if due.is_some_and(|(due, _)| due <= seen.at) {
            self.smoother.handle_timeout(seen.at);
            self.drain();
        }
        let is_held = seen.has_bulk && self.is_holding(seen.at);
        self.rate(is_held)
    }

    /// Returns the initial rate.
    pub fn first_rate(&self) -> BitRate {
        self.rate(false)
    }

    /// Lets the engine decide on a packet, and returns whether it holds packets back because of a
    /// collision.
    fn is_holding(&mut self, now: Instant) -> bool {
        if self.smoother.state().bulk_packets == 0 {
            let size = self.burst().min(self.smoothing.config.limits.mtu);
            // Cannot fail: there is room for one packet, and it fits the MTU.
            let _ = self.smoother.enqueue(now, (), size, Class::Bulk);
            self.drain();
        }
        let holds = self.smoother.statistics().holds;
        let _ = self.smoother.poll_transmit(now);
        self.drain();
        self.smoother.statistics().holds > holds
    }

    fn rate(&self, is_held: bool) -> BitRate {
        let rate = self.smoother.state().rate.unwrap_or(self.rate);
        match self.smoothing.config.mode {
            Mode::Adaptive(adaptive) if is_held => {
                rate.min(per(adaptive.depth, adaptive.hold).unwrap_or(rate))
            }
            Mode::None | Mode::Fixed(_) | Mode::Adaptive(_) | Mode::Nt(_) | Mode::Rtether(_) => {
                rate
            }
        }
    }

    /// Returns the burst of the smoother's class.
    pub fn burst(&self) -> Bytes {
        let depth = self.smoother.state().depth;
        depth.unwrap_or(self.smoothing.config.limits.mtu)
    }

    /// Returns when the next step is due at the latest; `None` if nothing changes without input.
    pub fn poll_timeout(&self) -> Option<Instant> {
        match self.smoothing.config.mode {
            Mode::Adaptive(_) => self.smoother.poll_timeout().map(|(due, _)| due),
            Mode::None | Mode::Fixed(_) | Mode::Nt(_) | Mode::Rtether(_) => None,
        }
    }

    /// Returns the parameters.
    pub fn smoothing(&self) -> &Smoothing {
        &self.smoothing
    }

    /// Returns the engine's state; packets and credits are those of stand-ins.
    pub fn state(&self) -> State {
        self.smoother.state()
    }

    /// Returns the engine's counters; packets are stand-ins.
    pub fn statistics(&self) -> &Statistics {
        self.smoother.statistics()
    }

    /// Discards the events: state and counters contain the same information.
    fn drain(&mut self) {
        while self.smoother.poll_event().is_some() {}
    }
}

/// Returns `amount` per `time` as a rate, rounded down.
fn per(amount: Bytes, time: Duration) -> Option<BitRate> {
    let ps = u128::try_from(time.as_ps()).ok().filter(|&ps| ps > 0)?;
    let bps = u128::from(amount.get()) * 8 * 1_000_000_000_000 / ps;
    u64::try_from(bps).ok().map(BitRate::from_bps)
}

#[cfg(test)]
pub(super) mod tests {
    use rtether_model::endnode::Detector;
    use rtether_model::smoother::{Adaptive, Config, Rule};

    use super::*;

    pub(in super::super) fn at(ms: i64) -> Instant {
        Instant::ZERO + Duration::from_ms(ms)
    }

    pub(in super::super) fn smoothing() -> Smoothing {
        Smoothing {
            config: Config::new(Mode::Adaptive(Adaptive::HIMD)),
            rule: Rule::LINUX,
            ring: 1,
            detector: Detector::OwnCollisions { visibility_per_million: 1_000_000 },
        }
    }

    pub(in super::super) fn seen(ms: i64, collisions: u64, has_bulk: bool) -> Observation {
        Observation {
            at: at(ms),
            sent: 1,
            collisions,
            has_bulk,
            behind: Bytes::ZERO,
            heard: Bytes::ZERO,
            heard_since: at(ms),
            returned: Bytes::ZERO,
            marked: Bytes::ZERO,
        }
    }

    #[test]
    fn a_collision_halves_the_rate_and_holds() {
        // By hand: 1500 octets every 3 ms are 4 Mbit/s. A collision at 5 ms doubles the period to 6
        // ms (2 Mbit/s), but 1500 octets in the 10 ms of the hold are 1.2 Mbit/s. The hold ends
        // after 15 ms, when ten ticks have reduced 6 ms to 5 ms; one more tick gives 4.9 ms.
        let mut law = Regulator::new(at(0), smoothing(), BitRate::from_mbps(10), 1).unwrap();
        assert_eq!(law.first_rate(), BitRate::from_mbps(4));
        for ms in 1..5 {
            assert_eq!(law.step(&seen(ms, 0, true)), BitRate::from_mbps(4));
        }
        for ms in 5..=15 {
            let rate = law.step(&seen(ms, u64::from(ms == 5), true));
            assert_eq!(rate, BitRate::from_bps(1_200_000), "at {ms} ms");
        }
        assert_eq!(law.state().period, Some(Duration::from_ms(5)));
        let rate = law.step(&seen(16, 0, true));
        assert_eq!(rate.as_bps(), 1500 * 8 * 10_000 / 49);
    }

    #[test]
    fn without_bulk_packets_a_collision_changes_nothing() {
        // Oracle: the engine doubles its period when it first holds a bulk packet back.
        let mut law = Regulator::new(at(0), smoothing(), BitRate::from_mbps(10), 1).unwrap();
        for ms in 1..20 {
            let rate = law.step(&seen(ms, 1, false));
            assert_eq!(rate, BitRate::from_mbps(4));
        }
        assert_eq!(law.statistics().reports, 19);
        assert_eq!(law.statistics().decreases, 0);
    }

    #[test]
    fn other_detectors_are_fed_too() {
        // By hand: 5 of 10 Mbit/s are 6250 octets every 10 ms. Only the third window has more.
        let window = Duration::from_ms(10);
        let utilization = Detector::Utilization { threshold_percent: 50, window };
        let [low, high] = [1_500, 6_000].map(Bytes::new);
        let backlog = Detector::Backlog { low, high };
        for (detector, heard, behind, expected) in [
            (utilization, [6_250, 6_000, 6_251, 0], [0; 4], [0, 0, 1, 1]),
            (backlog, [0; 4], [5_999, 5_999, 6_000, 1_500], [0, 0, 1, 1]),
        ] {
            let rate = BitRate::from_mbps(10);
            let smoothing = Smoothing { detector, ..smoothing() };
            let mut law = Regulator::new(at(0), smoothing, rate, 1).unwrap();
            let mut reports = Vec::new();
            for (window, (heard, behind)) in (1..).zip(heard.into_iter().zip(behind)) {
                let seen = Observation {
                    heard: Bytes::new(heard),
                    heard_since: at(10 * window - 10),
                    behind: Bytes::new(behind),
                    ..seen(10 * window, 0, true)
                };
                law.step(&seen);
                reports.push(law.statistics().reports);
            }
            assert_eq!(reports, expected, "{detector:?}");
        }
    }

    #[test]
    fn marks_are_one_report_a_window() {
        // By hand: windows of 10 ms, threshold 20 %. In the first, 300 of 1800 octets are marked;
        // in the second 400 of 1900, which is reported at the first later observation with any
        // octets; in the third, none.
        let marks = Detector::Marks { threshold_percent: 20, window: Duration::from_ms(10) };
        let smoothing = Smoothing { detector: marks, ..smoothing() };
        let mut law = Regulator::new(at(0), smoothing, BitRate::from_mbps(10), 1).unwrap();
        for (ms, returned, marked, reports) in [
            (1, 1_500, 0, 0),
            (9, 300, 300, 0),
            (10, 1_500, 0, 0),
            (19, 400, 400, 0),
            (22, 0, 0, 0),
            (25, 60, 0, 1),
            (26, 60, 60, 1),
            (31, 60, 0, 2),
            (45, 60, 0, 2),
        ] {
            let [returned, marked] = [returned, marked].map(Bytes::new);
            law.step(&Observation { returned, marked, ..seen(ms, 0, true) });
            assert_eq!(law.statistics().reports, reports, "at {ms} ms");
        }
    }
}
