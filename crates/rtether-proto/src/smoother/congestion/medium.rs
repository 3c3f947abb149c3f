//! Detectors for medium and path: utilization, delay, marks.

use rtether_model::quantity::{BitRate, Bytes, Duration, Instant};

use super::{CongestionSignal, Signal};

/// Share of time that all frames heard in promiscuous mode occupied the medium in the last complete
/// window: congestion above a threshold.
#[derive(Clone, Debug)]
pub struct Utilization {
    window: Duration,
    /// Wire octets that the threshold allows per window.
    allowed: Bytes,
    started: Instant,
    heard: Bytes,
    last: Signal,
}

impl Utilization {
    /// 50 % is a good threshold on shared Ethernet, where delays grow steeply above it. `window`
    /// must be positive; 10 ms are some ten full frames at 10 Mbit/s.
    pub fn new(now: Instant, rate: BitRate, threshold_percent: u8, window: Duration) -> Self {
        let window = window.max(Duration::from_ps(1));
        let whole = rate.bytes_floor(window).get();
        let allowed = u128::from(whole) * u128::from(threshold_percent) / 100;
        Self {
            window,
            allowed: Bytes::new(u64::try_from(allowed).unwrap_or(u64::MAX)),
            started: now,
            heard: Bytes::ZERO,
            last: Signal::Clear,
        }
    }

    /// Returns the number of windows that are complete at `now` but not yet judged.
    fn complete(&self, now: Instant) -> i64 {
        (now - self.started).as_ps() / self.window.as_ps()
    }
}

impl CongestionSignal for Utilization {
    /// Size on the wire of a frame that was heard.
    type Observation = Bytes;

    fn observe(&mut self, now: Instant, wire_size: Bytes) -> Signal {
        let complete = self.complete(now);
        if complete > 0 {
            self.last = self.signal(now);
            self.started += self.window * complete;
            self.heard = Bytes::ZERO;
        }
        self.heard += wire_size;
        self.last
    }

    fn signal(&self, now: Instant) -> Signal {
        match self.complete(now) {
            0 => self.last,
            1 => Signal::congestion_if(self.heard > self.allowed),
            // A whole window passed without a frame.
            _ => Signal::Clear,
        }
    }
}

/// One-way delay of probes in the bulk class: congestion if the last delay exceeds the shortest
/// recent one by more than a threshold.
///
/// Only differences count, so the clocks need not agree; the minimum is taken over one to two
/// epochs, so the clocks may drift.
#[derive(Clone, Debug)]
pub struct ProbeDelay {
    excess: Duration,
    epoch: Duration,
    started: Instant,
    shortest: Option<Duration>,
    shortest_before: Option<Duration>,
    last: Signal,
}

impl ProbeDelay {
    /// Four full frame times are a good threshold, and 10 s a good epoch.
    pub fn new(now: Instant, excess: Duration, epoch: Duration) -> Self {
        Self {
            excess,
            epoch,
            started: now,
            shortest: None,
            shortest_before: None,
            last: Signal::Clear,
        }
    }
}

impl CongestionSignal for ProbeDelay {
    /// Delay by the clocks of both ends, so possibly negative; `None` for a lost probe, which
    /// counts as congestion.
    type Observation = Option<Duration>;

    fn observe(&mut self, now: Instant, delay: Option<Duration>) -> Signal {
        if now - self.started >= self.epoch {
            self.started = now;
            self.shortest_before = self.shortest.take();
        }
        self.last = match delay {
            None => Signal::Congestion,
            Some(delay) => {
                let shortest = self.shortest.map_or(delay, |shortest| shortest.min(delay));
                self.shortest = Some(shortest);
                let base = self.shortest_before.map_or(shortest, |s| s.min(shortest));
                Signal::congestion_if(delay - base > self.excess)
            }
        };
        self.last
    }

    fn signal(&self, _: Instant) -> Signal {
        self.last
    }
}

/// Congestion marks on the packets that came back (ECN): congestion if at least `at_least` of the
/// last 64 were marked.
#[derive(Clone, Debug)]
pub struct EcnMarks {
    at_least: u32,
    /// One bit per packet, the latest in bit 0.
    recent: u64,
}

impl EcnMarks {
    /// One mark is a good threshold where switches mark early.
    pub const fn new(at_least: u32) -> Self {
        Self { at_least, recent: 0 }
    }
}

impl CongestionSignal for EcnMarks {
    /// Whether the packet carried the mark.
    type Observation = bool;

    fn observe(&mut self, now: Instant, is_marked: bool) -> Signal {
        self.recent = self.recent << 1 | u64::from(is_marked);
        self.signal(now)
    }

    fn signal(&self, _: Instant) -> Signal {
        let marks = self.recent.count_ones();
        Signal::congestion_if(marks > 0 && marks >= self.at_least)
    }
}

/// The size of a packet, with or without a congestion mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marked {
    /// Octets of the packet; any measure will do if it is used consistently.
    pub size: Bytes,
    /// Whether the packet carried the mark.
    pub is_marked: bool,
}

/// Share of marked octets (ECN, RFC 3168) in windows of time: congestion if it was above a
/// threshold in the last complete window in which any packet came back.
///
/// Octets count, as in RFC 8257, 3.2, so that many small acknowledgments weigh as much as a few
/// large ones. A window without packets leaves the state unchanged.
#[derive(Clone, Debug)]
pub struct MarkedShare {
    threshold_percent: u8,
    window: Duration,
    started: Instant,
    all: Bytes,
    marked: Bytes,
    last: Signal,
}

impl MarkedShare {
    /// A round trip is a good window, and zero a good threshold where switches mark early. `window`
    /// must be positive.
    pub fn new(now: Instant, threshold_percent: u8, window: Duration) -> Self {
        Self {
            threshold_percent,
            window: window.max(Duration::from_ps(1)),
            started: now,
            all: Bytes::ZERO,
            marked: Bytes::ZERO,
            last: Signal::Clear,
        }
    }

    /// Returns whether the current window is over at `now`, so that the next observation starts
    /// another.
    pub fn is_complete(&self, now: Instant) -> bool {
        now - self.started >= self.window
    }
}

impl CongestionSignal for MarkedShare {
    type Observation = Marked;

    fn observe(&mut self, now: Instant, packet: Marked) -> Signal {
        if self.is_complete(now) {
            self.last = self.signal(now);
            let complete = (now - self.started).as_ps() / self.window.as_ps();
            self.started += self.window * complete;
            (self.all, self.marked) = (Bytes::ZERO, Bytes::ZERO);
        }
        self.all += packet.size;
        if packet.is_marked {
            self.marked += packet.size;
        }
        self.last
    }

    fn signal(&self, now: Instant) -> Signal {
        if !self.is_complete(now) || self.all == Bytes::ZERO {
            return self.last;
        }
        let [marked, all] = [self.marked, self.all].map(|octets| u128::from(octets.get()));
        Signal::congestion_if(marked * 100 > all * u128::from(self.threshold_percent))
    }
}

#[cfg(test)]
mod tests {
    use super::Signal::{Clear, Congestion};
    use super::*;

    fn at(ms: i64) -> Instant {
        Instant::ZERO + Duration::from_ms(ms)
    }

    #[test]
    fn utilization_judges_complete_windows() {
        // By hand: 10 ms at 10 Mbit/s are 12 500 octets, half of them 6250; four frames of 1538
        // are 6152, five are 7690.
        let mut heard = Utilization::new(at(0), BitRate::from_mbps(10), 50, Duration::from_ms(10));
        let frame = Bytes::new(1538);
        for ms in [0, 1, 2, 3] {
            assert_eq!(heard.observe(at(ms), frame), Clear);
        }
        assert_eq!(heard.signal(at(10)), Clear);
        for ms in [10, 11, 12, 13, 14] {
            assert_eq!(heard.observe(at(ms), frame), Clear, "not before its end");
        }
        assert_eq!(heard.signal(at(19)), Clear);
        assert_eq!(heard.signal(at(20)), Congestion);
        assert_eq!(heard.observe(at(21), frame), Congestion);
        // 20..30 had one frame only; 30..40 is silent.
        assert_eq!(heard.signal(at(30)), Clear);
        assert_eq!(heard.signal(at(45)), Clear);
        assert_eq!(heard.observe(at(45), frame), Clear);
    }

    #[test]
    fn delay_counts_above_the_shortest() {
        let us = Duration::from_us;
        let mut probe = ProbeDelay::new(at(0), us(500), Duration::from_secs(10));
        for (ms, delay, expected) in [
            (0, Some(us(-300)), Clear),
            (1, Some(us(200)), Clear),
            (2, Some(us(201)), Congestion),
            (3, None, Congestion),
            (4, Some(us(-400)), Clear),
            // The minimum of the previous epoch still counts.
            (10_000, Some(us(101)), Congestion),
            // Two epochs later it is forgotten.
            (20_000, Some(us(201)), Clear),
        ] {
            assert_eq!(probe.observe(at(ms), delay), expected, "at {ms} ms");
        }
        assert_eq!(probe.signal(at(20_000)), Clear);
    }

    #[test]
    fn marks_are_forgotten_after_64_packets() {
        let mut marks = EcnMarks::new(2);
        assert_eq!(marks.observe(at(0), true), Clear);
        assert_eq!(marks.observe(at(0), true), Congestion);
        for _ in 0..62 {
            assert_eq!(marks.observe(at(0), false), Congestion);
        }
        assert_eq!(marks.observe(at(0), false), Clear);
    }

    #[test]
    fn marked_octets_count_by_window() {
        // By hand: windows of 10 ms, threshold 20 %. In the first, 300 of 1800 octets are marked,
        // 16.7 %; in the second 400 of 1900, 21.05 %; in 20..30 nothing comes; then 1 of 5 octets,
        // which is not above 20 %.
        let mut share = MarkedShare::new(at(0), 20, Duration::from_ms(10));
        let mut feed = |ms, octets, is_marked| {
            let size = Bytes::new(octets);
            share.observe(at(ms), Marked { size, is_marked })
        };
        assert_eq!(feed(0, 1500, false), Clear);
        assert_eq!(feed(9, 300, true), Clear);
        assert_eq!(feed(10, 1500, false), Clear, "the first window");
        assert_eq!(feed(19, 400, true), Clear, "not before its end");
        assert_eq!(feed(35, 4, false), Congestion, "the second window");
        assert_eq!(feed(36, 1, true), Congestion);
        assert_eq!(share.signal(at(39)), Congestion);
        assert_eq!(share.signal(at(40)), Clear, "the fourth window");
        // Silence changes nothing.
        assert_eq!(share.signal(at(400)), Clear);
    }
}
