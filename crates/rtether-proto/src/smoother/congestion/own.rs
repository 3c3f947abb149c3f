//! Detectors that use a station's own traffic: collisions, clearing rate, backlog.

use rtether_model::quantity::{BitRate, Bytes, Duration, Instant};

use super::super::random::Random;
use super::{CongestionSignal, Signal};

/// Collisions of the last transmitted packet: congestion if it needed more than one attempt.
#[derive(Clone, Debug)]
pub struct OwnCollisions {
    visibility_per_million: u32,
    random: Random,
    last: Signal,
}

impl OwnCollisions {
    /// Sees every collision (the Linux variant).
    pub const fn new() -> Self {
        Self::with_visibility(1_000_000, 0)
    }

    /// Sees a collision with this probability, like a program that polls the card's counters while
    /// further packets are queued. A quarter fits the NT experiments of the paper.
    pub const fn with_visibility(per_million: u32, seed: u64) -> Self {
        Self { visibility_per_million: per_million, random: Random::new(seed), last: Signal::Clear }
    }
}

impl Default for OwnCollisions {
    fn default() -> Self {
        Self::new()
    }
}

impl CongestionSignal for OwnCollisions {
    /// Attempts of the completed packet; 1 means no collision.
    type Observation = u32;

    fn observe(&mut self, _: Instant, attempts: u32) -> Signal {
        let collided = attempts > 1;
        let is_seen = collided && self.random.happens(self.visibility_per_million);
        self.last = Signal::congestion_if(is_seen);
        self.last
    }

    fn signal(&self, _: Instant) -> Signal {
        self.last
    }
}

/// A packet transmitted by the network card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cleared {
    /// Size on the wire.
    pub wire_size: Bytes,
    /// Time at the head of the card's queue until transmitted.
    pub busy: Duration,
}

/// Number of packets over which the clearing rate is computed.
const CLEARED_MAX: usize = 8;

/// Rate at which the driver's buffer empties while it is not empty: congestion below a floor.
///
/// Computed over the last eight packets, or fewer at the start.
#[derive(Clone, Debug)]
pub struct ClearingRate {
    floor: BitRate,
    recent: [Cleared; CLEARED_MAX],
    next: usize,
}

impl ClearingRate {
    /// Half the link rate is a good floor: other stations then have the other half.
    pub const fn new(floor: BitRate) -> Self {
        let nothing = Cleared { wire_size: Bytes::ZERO, busy: Duration::ZERO };
        Self { floor, recent: [nothing; CLEARED_MAX], next: 0 }
    }
}

impl CongestionSignal for ClearingRate {
    type Observation = Cleared;

    fn observe(&mut self, now: Instant, cleared: Cleared) -> Signal {
        self.recent[self.next] = cleared;
        self.next = (self.next + 1) % CLEARED_MAX;
        self.signal(now)
    }

    fn signal(&self, _: Instant) -> Signal {
        let busy: Duration = self.recent.iter().map(|cleared| cleared.busy).sum();
        let size: Bytes = self.recent.iter().map(|cleared| cleared.wire_size).sum();
        Signal::congestion_if(size < self.floor.bytes_floor(busy))
    }
}

/// Octets waiting below the smoother: congestion from a high mark on, until a low mark is reached.
#[derive(Clone, Debug)]
pub struct Backlog {
    low: Bytes,
    high: Bytes,
    last: Signal,
}

impl Backlog {
    /// Four full frames and one are good marks for a queue that should stay short.
    pub const fn new(low: Bytes, high: Bytes) -> Self {
        Self { low, high, last: Signal::Clear }
    }
}

impl CongestionSignal for Backlog {
    /// Octets waiting now.
    type Observation = Bytes;

    fn observe(&mut self, _: Instant, backlog: Bytes) -> Signal {
        if backlog >= self.high {
            self.last = Signal::Congestion;
        } else if backlog <= self.low {
            self.last = Signal::Clear;
        }
        self.last
    }

    fn signal(&self, _: Instant) -> Signal {
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::Signal::{Clear, Congestion};
    use super::*;

    const NOW: Instant = Instant::ZERO;

    #[test]
    fn the_last_packet_decides() {
        let mut collisions = OwnCollisions::new();
        for (attempts, expected) in [(1, Clear), (2, Congestion), (16, Congestion), (1, Clear)] {
            assert_eq!(collisions.observe(NOW, attempts), expected);
            assert_eq!(collisions.signal(NOW), expected);
        }
    }

    #[test]
    fn a_collision_is_seen_as_often_as_told() {
        // Oracle: binomial, 10 000 draws at 1/4: 2500 with a standard deviation of 43.
        let mut collisions = OwnCollisions::with_visibility(250_000, 3);
        let seen = (0..10_000).filter(|_| collisions.observe(NOW, 2) == Congestion);
        let seen = seen.count();
        assert!((2_300..2_700).contains(&seen), "{seen}");
        assert!((0..1000).all(|_| collisions.observe(NOW, 1) == Clear));
    }

    #[test]
    fn a_slow_buffer_is_congestion() {
        // By hand: 1538 octets take 1.2304 ms at 10 Mbit/s. At 2.4 ms each, the rate is above 5
        // Mbit/s, at 2.5 ms below.
        let cleared = |us| Cleared { wire_size: Bytes::new(1538), busy: Duration::from_us(us) };
        let mut rate = ClearingRate::new(BitRate::from_mbps(5));
        assert_eq!(rate.signal(NOW), Clear);
        assert_eq!(rate.observe(NOW, cleared(2_400)), Clear);
        for _ in 0..8 {
            rate.observe(NOW, cleared(2_500));
        }
        assert_eq!(rate.signal(NOW), Congestion);
        // Eight fast ones displace the slow ones.
        for _ in 0..8 {
            rate.observe(NOW, cleared(1_231));
        }
        assert_eq!(rate.signal(NOW), Clear);
    }

    #[test]
    fn backlog_has_two_marks() {
        let mut backlog = Backlog::new(Bytes::new(1500), Bytes::new(6000));
        for (octets, expected) in
            [(5999, Clear), (6000, Congestion), (1501, Congestion), (1500, Clear), (3000, Clear)]
        {
            assert_eq!(backlog.observe(NOW, Bytes::new(octets)), expected);
        }
    }
}
