//! One direction of a wire: a rate, a tail-drop queue, a propagation delay, and seeded impairments.

use std::collections::{BTreeMap, VecDeque};

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rtether_model::quantity::{BitRate, Bytes, Duration, Instant};
use rtether_model::wire;

/// Properties of a wire. Shares are per million.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wire {
    pub(crate) rate: BitRate,
    pub(crate) delay: Duration,
    /// Frames that may wait behind the one in transmission.
    pub(crate) queue: usize,
    pub(crate) loss_ppm: u64,
    pub(crate) duplication_ppm: u64,
    /// Frames are delayed individually by up to this time, and so overtake each other.
    pub(crate) jitter: Duration,
}

impl Wire {
    pub(crate) fn new(rate: BitRate, delay: Duration) -> Self {
        Self {
            rate,
            delay,
            queue: usize::MAX,
            loss_ppm: 0,
            duplication_ppm: 0,
            jitter: Duration::ZERO,
        }
    }
}

/// A wire in operation.
pub(crate) struct Bottleneck {
    wire: Wire,
    random: Xoshiro256PlusPlus,
    /// When the frames queued or in transmission will have been sent, gap included.
    departures: VecDeque<Instant>,
    pub(crate) tail_drops: u64,
}

impl Bottleneck {
    pub(crate) fn new(wire: Wire, seed: u64) -> Self {
        Self {
            wire,
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            departures: VecDeque::new(),
            tail_drops: 0,
        }
    }

    /// Sends a frame with `ip_packet` octets and returns when its copies arrive.
    pub(crate) fn offer(&mut self, now: Instant, ip_packet: Bytes) -> [Option<Instant>; 2] {
        while self.departures.front().is_some_and(|at| *at <= now) {
            self.departures.pop_front();
        }
        if self.departures.len() > self.wire.queue {
            self.tail_drops += 1;
            return [None; 2];
        }
        let frame = wire::MIN_FRAME.max(wire::HEADER + ip_packet + wire::FCS);
        let start = self.departures.back().map_or(now, |at| (*at).max(now));
        self.departures.push_back(start + wire::occupancy(frame, self.wire.rate));
        let arrival = start + wire::wire_time(frame, self.wire.rate) + self.wire.delay;
        if self.chance(self.wire.loss_ppm) {
            return [None; 2];
        }
        let copy = self.chance(self.wire.duplication_ppm);
        [Some(self.held_back(arrival)), copy.then(|| self.held_back(arrival))]
    }

    fn chance(&mut self, ppm: u64) -> bool {
        ppm > 0 && self.random.next_u64() % 1_000_000 < ppm
    }

    fn held_back(&mut self, arrival: Instant) -> Instant {
        let span = self.wire.jitter.as_ps().unsigned_abs();
        if span == 0 {
            return arrival;
        }
        let back = i64::try_from(self.random.next_u64() % span).expect("below a span");
        arrival + Duration::from_ps(back)
    }
}

/// Entries in transit, in order of arrival and, at equal times, of sending.
pub(crate) struct Agenda<T> {
    entries: BTreeMap<(Instant, u64), T>,
    count: u64,
}

impl<T> Agenda<T> {
    pub(crate) fn new() -> Self {
        Self { entries: BTreeMap::new(), count: 0 }
    }

    pub(crate) fn push(&mut self, at: Instant, what: T) {
        self.entries.insert((at, self.count), what);
        self.count += 1;
    }

    pub(crate) fn next(&self) -> Option<Instant> {
        self.entries.first_key_value().map(|((at, _), _)| *at)
    }

    /// Removes and returns the first entry if it is due.
    pub(crate) fn pop(&mut self, now: Instant) -> Option<T> {
        (self.next()? <= now).then(|| self.entries.pop_first().expect("looked at").1)
    }
}
