//! The law of the smoother, which runs here while its queues are in the kernel.
//!
//! The engine is the one that the simulator and the other back end host. It is fed with signals of
//! congestion and with its ticks; its packets are stand-ins: one bulk packet waits in it while any
//! wait in the kernel, so that it asks itself whether that one may leave, which is when it doubles
//! its period. What it lets out is of no interest; the rate that it has then is.
//!
//! While the engine holds bulk packets back after a collision, HTB cannot be told to send nothing:
//! a packet that slips through at hardly any rate would stop the class for a minute. It gets the
//! rate at which one bucket takes as long as the engine holds, so that at most what is left in the
//! bucket and one more packet leave.

use rtether_model::endnode::{Detector, Smoothing};
use rtether_model::quantity::{BitRate, Bytes, Duration, Instant};
use rtether_model::smoother::Mode;
use rtether_proto::smoother::congestion::{
    Backlog, CongestionSignal, OwnCollisions, Signal, Utilization,
};
use rtether_proto::smoother::{Class, ConfigError, Smoother, State, Statistics};

/// What was seen since the observation before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observation {
    /// When it was made, on the clock of the run.
    pub at: Instant,
    /// Packets that left the smoother.
    pub sent: u64,
    /// Collisions of this station.
    pub collisions: u64,
    /// Whether bulk packets wait, or have left.
    pub has_bulk: bool,
    /// Octets that wait behind the smoother now.
    pub behind: Bytes,
    /// Octets on the wire, of all frames that were sent or heard.
    pub heard: Bytes,
}

/// What a detector is in this back end.
#[derive(Debug)]
enum Watch {
    Collisions(OwnCollisions),
    Backlog(Backlog),
    Utilization(Utilization),
    /// Refused before it gets here.
    Nothing,
}

impl Watch {
    fn new(now: Instant, detector: Detector, rate: BitRate, seed: u64) -> Self {
        match detector {
            Detector::OwnCollisions {
                visibility_per_million,
            } => Self::Collisions(OwnCollisions::with_visibility(visibility_per_million, seed)),
            Detector::Backlog { low, high } => Self::Backlog(Backlog::new(low, high)),
            Detector::Utilization {
                threshold_percent,
                window,
            } => Self::Utilization(Utilization::new(now, rate, threshold_percent, window)),
            Detector::ClearingRate { .. }
            | Detector::ProbeDelay { .. }
            | Detector::Marks { .. } => Self::Nothing,
        }
    }

    fn observe(&mut self, seen: &Observation) -> Option<Signal> {
        match self {
            // The engines count attempts: more than one is a collision.
            Self::Collisions(collisions) if seen.collisions > 0 => {
                Some(collisions.observe(seen.at, 2))
            }
            Self::Collisions(collisions) if seen.sent > 0 => Some(collisions.observe(seen.at, 1)),
            Self::Backlog(backlog) => Some(backlog.observe(seen.at, seen.behind)),
            Self::Utilization(utilization) if seen.heard > Bytes::ZERO => {
                Some(utilization.observe(seen.at, seen.heard))
            }
            Self::Utilization(utilization) => Some(utilization.signal(seen.at)),
            Self::Collisions(_) | Self::Nothing => None,
        }
    }
}

/// A smoother whose packets are elsewhere.
#[derive(Debug)]
pub struct Regulator {
    smoothing: Smoothing,
    /// Of the link.
    rate: BitRate,
    seed: u64,
    smoother: Smoother<()>,
    watch: Watch,
}

impl Regulator {
    /// Starts the law at `now`; the seed is that of collisions that are not seen.
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

    /// Changes parameters while running, as [`Smoother::set`] does; another detector starts anew.
    ///
    /// # Errors
    /// If the engine refuses its parameters; then nothing has changed.
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

    /// Takes what was seen, and returns the rate of the smoother's class from now on.
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

    /// Returns the rate at the start.
    pub fn first_rate(&self) -> BitRate {
        self.rate(false)
    }

    /// Lets the engine decide on a packet, and returns whether it holds packets back because of a
    /// collision.
    fn is_holding(&mut self, now: Instant) -> bool {
        if self.smoother.state().bulk_packets == 0 {
            let size = self.burst().min(self.smoothing.config.limits.mtu);
            // There is room for one, and it is not too large.
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

    /// Returns what may leave at once.
    pub fn burst(&self) -> Bytes {
        let depth = self.smoother.state().depth;
        depth.unwrap_or(self.smoothing.config.limits.mtu)
    }

    /// Returns when the next step is due at the latest; never if nothing changes by itself.
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

    /// Returns the engine's state. Packets and credits are those of stand-ins.
    pub fn state(&self) -> State {
        self.smoother.state()
    }

    /// Returns the engine's counters. Packets are stand-ins.
    pub fn statistics(&self) -> &Statistics {
        self.smoother.statistics()
    }

    /// What the events say is in state and counters.
    fn drain(&mut self) {
        while self.smoother.poll_event().is_some() {}
    }
}

/// Returns an amount each time as a rate, rounded down.
fn per(amount: Bytes, time: Duration) -> Option<BitRate> {
    let ps = u128::try_from(time.as_ps()).ok().filter(|&ps| ps > 0)?;
    let bps = u128::from(amount.get()) * 8 * 1_000_000_000_000 / ps;
    u64::try_from(bps).ok().map(BitRate::from_bps)
}

/// One call of the law.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Call {
    Step(Observation, BitRate),
    Set(Instant, Smoothing, BitRate),
}

/// The calls of a run, for as long as there is room.
#[derive(Clone, Debug, PartialEq)]
pub struct Recording {
    start: Instant,
    smoothing: Smoothing,
    rate: BitRate,
    seed: u64,
    calls: Vec<Call>,
    limit: usize,
    overflow: u64,
}

/// A recorded run against a fresh engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replayed {
    /// Rates compared.
    pub decisions: usize,
    /// Calls that found no room in the recording and are not compared.
    pub lost: u64,
    /// The first decision that differs: its number, the rate then and the rate now.
    pub difference: Option<(usize, BitRate, BitRate)>,
}

impl Recording {
    /// Begins the recording of a law with these parameters; `limit` calls fit.
    pub fn new(
        start: Instant,
        smoothing: Smoothing,
        rate: BitRate,
        seed: u64,
        limit: usize,
    ) -> Self {
        Self {
            start,
            smoothing,
            rate,
            seed,
            calls: Vec::new(),
            limit,
            overflow: 0,
        }
    }

    /// Notes a step and the rate that followed.
    pub fn note(&mut self, seen: Observation, rate: BitRate) {
        self.push(Call::Step(seen, rate));
    }

    /// Notes a change of parameters.
    pub fn note_set(&mut self, now: Instant, smoothing: Smoothing, rate: BitRate) {
        self.push(Call::Set(now, smoothing, rate));
    }

    fn push(&mut self, call: Call) {
        if self.calls.len() < self.limit {
            self.calls.push(call);
        } else {
            self.overflow += 1;
        }
    }

    /// Returns the observations, in order.
    pub fn observations(&self) -> impl Iterator<Item = (&Observation, BitRate)> {
        self.calls.iter().filter_map(|call| match call {
            Call::Step(seen, rate) => Some((seen, *rate)),
            Call::Set(..) => None,
        })
    }

    /// Makes the same calls to a fresh engine.
    ///
    /// # Errors
    /// If the engine refuses the parameters that it was recorded with.
    pub fn replay(&self) -> Result<Replayed, ConfigError> {
        let mut regulator = Regulator::new(self.start, self.smoothing, self.rate, self.seed)?;
        let mut result = Replayed {
            decisions: 0,
            lost: self.overflow,
            difference: None,
        };
        for call in &self.calls {
            match *call {
                Call::Step(seen, then) => {
                    let now = regulator.step(&seen);
                    if now != then && result.difference.is_none() {
                        result.difference = Some((result.decisions, then, now));
                    }
                    result.decisions += 1;
                }
                Call::Set(now, smoothing, rate) => regulator.set(now, smoothing, rate)?,
            }
        }
        Ok(result)
    }
}

#[cfg(test)]
mod tests {
    use rtether_model::smoother::{Adaptive, Config, Rule};

    use super::*;

    fn at(ms: i64) -> Instant {
        Instant::ZERO + Duration::from_ms(ms)
    }

    fn smoothing() -> Smoothing {
        Smoothing {
            config: Config::new(Mode::Adaptive(Adaptive::HIMD)),
            rule: Rule::LINUX,
            ring: 1,
            detector: Detector::OwnCollisions {
                visibility_per_million: 1_000_000,
            },
        }
    }

    fn seen(ms: i64, collisions: u64, has_bulk: bool) -> Observation {
        Observation {
            at: at(ms),
            sent: 1,
            collisions,
            has_bulk,
            behind: Bytes::ZERO,
            heard: Bytes::ZERO,
        }
    }

    #[test]
    fn a_collision_halves_the_rate_and_holds() {
        // By hand: 1500 octets each 3 ms are 4 Mbit/s; a collision at 5 ms makes 6 ms of it, that
        // is 2 Mbit/s, but 1500 octets in the 10 ms of the hold are 1.2 Mbit/s. The hold ends
        // behind 15 ms, when ten ticks have made 5 ms of 6 ms, and one more 4.9 ms.
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
    fn a_replay_says_where_it_differs() {
        let rate = BitRate::from_mbps(10);
        let mut law = Regulator::new(at(0), smoothing(), rate, 1).unwrap();
        let mut recording = Recording::new(at(0), smoothing(), rate, 1, 100);
        for ms in 1..=120 {
            let seen = seen(ms, u64::from(ms % 40 == 0), true);
            recording.note(seen, law.step(&seen));
        }
        let expected = Replayed {
            decisions: 100,
            lost: 20,
            difference: None,
        };
        assert_eq!(recording.replay(), Ok(expected));
        let Call::Step(_, rate) = &mut recording.calls[70] else {
            panic!("only steps were noted");
        };
        let then = std::mem::replace(rate, BitRate::from_bps(1));
        let expected = Some((70, BitRate::from_bps(1), then));
        assert_eq!(recording.replay().unwrap().difference, expected);
    }
}
