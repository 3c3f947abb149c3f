//! Shared segment: half-duplex stations on a repeater (hub), one frame at a time or a collision.
//!
//! # Scope and limitations
//!
//! One engine is one collision domain of 10 or 100 Mbit/s. Modeled, after IEEE 802.3-2022, clause
//! 4: carrier sense with the delay between each pair of stations, 1-persistent deference and the
//! inter-frame gap in two parts (4.2.3.2.1, 4.2.3.2.2), collision detection and the jam after a
//! completed preamble (4.2.3.2.3, 4.2.3.2.4), truncated binary exponential back-off and the limit
//! of 16 attempts (4.2.3.2.5), late collisions, with the parameters of 4.4.2.
//!
//! The repeater passes on what it hears to all other ports after a fixed delay. A transmitting
//! station therefore detects a collision when the signal of another station reaches it, and a jam
//! propagates like any other signal. Left out on purpose:
//! - extension of fragments to 96 bits (nothing here is shorter), jabber and partition, loss of
//!   preamble bits, and different delays for data and for collisions in the repeater;
//! - address filtering at receivers: the driver of the engine looks at addresses;
//! - bit errors, frames below 64 octets, bursts and carrier extension of 1000 Mbit/s.
//!
//! A half-duplex link without a repeater is a segment of two stations, each half the cable from its
//! middle, and a repeater delay of zero.
//!
//! One deviation: a frame with a late collision is dropped, as network interfaces do; the
//! procedures in 4.2.8 would try again at these rates. "Late" means 512 bit times or more after the
//! first bit of the preamble. Late collisions need a segment of half a slot or more, one way; see
//! [`Medium::is_within_slot`]. Up to a whole slot is accepted.
//!
//! # Model
//!
//! The engine reads no clock and does no input or output. A station offers the frame at the head of
//! its queue with [`Medium::offer`], and the next one after [`EventKind::Sent`] or
//! [`EventKind::Dropped`]. After each call the driver takes all events with [`Medium::poll_event`];
//! then [`Medium::poll_timeout`] says when to call [`Medium::handle_timeout`]. `now` may never
//! decrease. A driver that calls late gets events with the times at which they were due: the
//! segment itself is never late.
//!
//! Time between transmissions is computed, not stepped through: the engine wakes at the start and
//! at the end of each transmission, regardless of cable length. When a transmission starts, every
//! station that it collides with is known, and so is when each of them will detect that and how its
//! own transmission will end; a later start can only shorten that. Deference is evaluated for
//! stations with a frame to send, and where signals overlap at every station only once all of them
//! have ended. Nothing is allocated once the lists have reached the size that one instant needs. The
//! cost of a step is proportional to the number of stations with a frame.
//!
//! # Validation
//!
//! Against the same rules stepped bit by bit on random segments and offers (equal to the bit),
//! arithmetic by hand, the probabilities of the back-off and of the capture effect, the mean time
//! to resolve a collision of two, and the throughput of Metcalfe and Boggs.
//!
//! # Order of simultaneous events
//!
//! Time is not slotted, yet back-off is, so exact ties are common. Causality decides:
//! - carrier that reaches a station at the instant of its decision is not sensed yet, so stations
//!   that start together, or exactly one delay apart, collide;
//! - a signal that ends at an instant does not overlap with one that starts there;
//! - carrier at the end of the first part of the gap does not restart it.
//!
//! So no outcome depends on the order in which events of one instant are handled, nor on whether an
//! offer comes before or after them. They are reported in the order (time, ends before starts,
//! number of the station). Each station has its own random generator.

mod backoff;
mod certain;
mod config;
mod event;
mod signal;
#[cfg(test)]
mod tests;

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::cmp::Ordering;

use rtether_model::quantity::{Bytes, Duration, Instant};
use rtether_model::wire::MIN_FRAME;

pub use config::{ATTEMPT_LIMIT, Attachment, Config, MediumError};
pub use event::{DropReason, Event, EventKind, StationStatistics, Statistics};
pub use rtether_model::network::Backoff;

use backoff::Dice;
use config::Timing;
use signal::{Cables, Signal, Wire};

/// Later than any time.
const NEVER: i64 = i64::MAX;
/// Largest number of stations with several repeaters: their delays form a square table.
const MOST_WITH_PATHS: u32 = 4096;

/// A station, and its frame.
#[derive(Clone, Debug)]
struct Station {
    frame: u32,
    /// Duration of a complete transmission.
    length: i64,
    /// Transmissions of this frame.
    attempts: u32,
    /// Start of its transmission.
    start: i64,
    /// When it detects a collision; [`NEVER`] if none is known.
    detected: i64,
    dice: Dice,
    statistics: StationStatistics,
}

/// A station that waits to send: back-off and deference.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    station: u32,
    /// When it starts, as currently known; of no meaning while it waits until no station sends.
    due: i64,
    /// Time from which it wants to send.
    ready: i64,
}

/// A station that sends.
#[derive(Clone, Copy, Debug)]
struct Sending {
    station: u32,
    /// When it ends, as currently known.
    due: i64,
}

/// The earliest time at which a waiting station starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Next {
    at: i64,
    /// The first station with this time, by its place in [`Medium::waiting`].
    place: usize,
    /// Whether others have the same time.
    is_shared: bool,
    /// The earliest time after it.
    following: i64,
}

/// One collision domain.
#[derive(Clone, Debug)]
pub struct Medium {
    timing: Timing,
    backoff: Backoff,
    wire: Wire,
    stations: Vec<Station>,
    /// The stations that wait, and those that send, in order; all others have no frame.
    waiting: Vec<Waiting>,
    sending: Vec<Sending>,
    /// Whether all that wait do so until no station sends, but for those that [`Self::next`] is of.
    is_deferring: bool,
    next: Next,
    next_end: i64,
    now: i64,
    events: VecDeque<Event>,
    /// Whether starts and collisions are events.
    reports_attempts: bool,
    statistics: Statistics,
}

impl Medium {
    /// Returns an idle segment with these stations, numbered in order.
    ///
    /// # Errors
    /// If the rate has no half duplex, there are too many stations, a delay is negative, or a delay
    /// between two stations is longer than a slot.
    pub fn new(config: &Config, attachments: &[Attachment]) -> Result<Self, MediumError> {
        let timing = Timing::at(config.rate).ok_or(MediumError::Rate(config.rate))?;
        if attachments.len() > 1 << 16 {
            return Err(MediumError::Crowded(attachments.len()));
        }
        for (station, attachment) in (0..).zip(attachments) {
            if attachment.distance.is_negative() || config.repeater_delay.is_negative() {
                return Err(MediumError::Negative { station });
            }
            let way = attachment.distance.max(config.repeater_delay);
            if way.as_ps() > timing.slot {
                return Err(MediumError::TooLong(way));
            }
        }
        let distances = attachments.iter().map(|a| a.distance.as_ps()).collect();
        let cables = Cables::new(distances, config.repeater_delay.as_ps());
        Self::with_cables(config, timing, cables, attachments)
    }

    /// Returns an idle segment with several repeaters: `between` gives the one-way delay from one
    /// station to another, the same in both directions. The distance of an attachment is that to
    /// the first repeater; the repeater delay of `config` is not used.
    ///
    /// # Errors
    /// As [`Medium::new`].
    pub fn with_paths(
        config: &Config,
        attachments: &[Attachment],
        between: impl Fn(u32, u32) -> Duration,
    ) -> Result<Self, MediumError> {
        let timing = Timing::at(config.rate).ok_or(MediumError::Rate(config.rate))?;
        let count = u32::try_from(attachments.len()).unwrap_or(u32::MAX);
        if count > MOST_WITH_PATHS {
            return Err(MediumError::Crowded(attachments.len()));
        }
        let distances = attachments.iter().map(|a| a.distance.as_ps()).collect();
        let mut paths = Vec::with_capacity(attachments.len() * attachments.len());
        for from in 0..count {
            for to in 0..count {
                let delay = if from == to { Duration::ZERO } else { between(from, to) };
                if delay.is_negative() {
                    return Err(MediumError::Negative { station: from });
                }
                paths.push(delay.as_ps());
            }
        }
        let cables = Cables::with_paths(distances, paths);
        Self::with_cables(config, timing, cables, attachments)
    }

    fn with_cables(
        config: &Config,
        timing: Timing,
        cables: Cables,
        attachments: &[Attachment],
    ) -> Result<Self, MediumError> {
        if cables.diameter() > timing.slot {
            return Err(MediumError::TooLong(Duration::from_ps(cables.diameter())));
        }
        let stations = attachments.iter().map(|a| Station::new(a.seed)).collect();
        Ok(Self {
            timing,
            backoff: config.backoff,
            wire: Wire::new(cables, &timing),
            stations,
            sending: Vec::new(),
            is_deferring: false,
            next: Next::NONE,
            next_end: NEVER,
            waiting: Vec::new(),
            now: 0,
            events: VecDeque::with_capacity(4 * attachments.len()),
            reports_attempts: true,
            statistics: Statistics::default(),
        })
    }

    /// Offers the frame at the head of a station's queue; `frame` is the driver's name for it,
    /// `frame_size` counts from the addresses to the check sequence.
    ///
    /// # Panics
    /// If the station has a frame already, or the frame is shorter than 64 octets.
    pub fn offer(&mut self, now: Instant, station: u32, frame: u32, frame_size: Bytes) {
        assert!(frame_size >= MIN_FRAME, "a frame of {frame_size}");
        let now = self.advance_clock(now);
        self.run_until(now - 1);
        assert!(!self.has_frame(station), "station {station} has a frame already");
        let state = &mut self.stations[station as usize];
        state.frame = frame;
        state.length = self.timing.frame(frame_size);
        state.attempts = 0;
        state.statistics.offered += 1;
        self.wait(station, now);
    }

    fn has_frame(&self, station: u32) -> bool {
        let waits = |waiting: &Waiting| waiting.station.cmp(&station);
        let sends = |sending: &Sending| sending.station.cmp(&station);
        self.waiting.binary_search_by(waits).is_ok() || self.sending.binary_search_by(sends).is_ok()
    }

    /// Lets a station wait that wants to send from `ready` on.
    fn wait(&mut self, station: u32, ready: i64) {
        let due = if self.is_deferring && self.wire.defers(ready) {
            NEVER
        } else {
            self.wire.may_send(station, ready)
        };
        let before = |waiting: &Waiting| waiting.station < station;
        let place = self.waiting.partition_point(before);
        let waiting = Waiting { station, due, ready };
        put(&mut self.waiting, place, waiting);
        self.next.insert(due, place);
    }

    /// Gives a station a new generator for its next back-offs.
    ///
    /// Otherwise back-offs are drawn from one sequence, so that two runs that differ in one
    /// collision differ from then on. A driver that compares runs seeds by frame.
    pub fn reseed(&mut self, station: u32, seed: u64) {
        self.stations[station as usize].dice = Dice::new(seed);
    }

    /// Says whether [`EventKind::Started`] and [`EventKind::Collision`] are reported, as they are at
    /// first. A driver that takes no notice of them saves their cost.
    pub const fn report_attempts(&mut self, are_reported: bool) {
        self.reports_attempts = are_reported;
    }

    /// Handles everything due up to and including `now`.
    pub fn handle_timeout(&mut self, now: Instant) {
        let now = self.advance_clock(now);
        self.run_until(now);
    }

    /// Returns when to call [`Self::handle_timeout`]; `None` while no station has a frame to send.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let at = self.next.at.min(self.next_end);
        (at != NEVER).then(|| Instant::from_ps(at))
    }

    /// Returns the next event.
    #[inline]
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Exchanges the events of the last call with an empty list.
    pub fn swap_events(&mut self, list: &mut VecDeque<Event>) {
        debug_assert!(list.is_empty(), "events must be taken before they are replaced");
        core::mem::swap(&mut self.events, list);
    }

    /// Returns the one-way delay between two stations.
    pub fn propagation(&self, from: u32, to: u32) -> Duration {
        Duration::from_ps(self.wire.cables.propagation(from, to))
    }

    /// Returns whether every collision is detected within a slot: twice the delay between the most
    /// distant stations is less than 512 bit times (4.2.3.2.3, 4.4.2).
    pub fn is_within_slot(&self) -> bool {
        2 * self.wire.diameter() < self.timing.slot
    }

    /// Returns the counters of the segment.
    pub const fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// Returns the counters of a station.
    pub fn station_statistics(&self, station: u32) -> StationStatistics {
        self.stations[station as usize].statistics
    }

    /// Checks the rules of the model; returns the first one violated.
    pub fn invariants(&self) -> Result<(), &'static str> {
        if !self.is_deferring && Next::of(&self.waiting) != self.next {
            return Err("the next start is not the earliest");
        }
        let ends = self.sending.iter().map(|sending| sending.due);
        if ends.min().unwrap_or(NEVER) != self.next_end {
            return Err("the next end is not the earliest");
        }
        if self.is_deferring && self.sending.is_empty() {
            return Err("stations wait for the end of no transmission");
        }
        if self.next.at.min(self.next_end) < self.now {
            return Err("what is due next is in the past");
        }
        let in_order = self.waiting.is_sorted_by(|a, b| a.station < b.station)
            && self.sending.is_sorted_by(|a, b| a.station < b.station);
        if !in_order {
            return Err("a list of stations with a frame is not in order");
        }
        let mut totals = StationStatistics::default();
        for (number, station) in (0u32..).zip(&self.stations) {
            let counts = &station.statistics;
            let pending = u64::from(self.has_frame(number));
            if counts.offered != counts.sent + counts.dropped() + pending {
                return Err("offered frames do not equal sent plus dropped plus pending");
            }
            if station.attempts > ATTEMPT_LIMIT {
                return Err("a frame was tried too often");
            }
            totals.excessive_collisions += counts.excessive_collisions;
            totals.late_collisions += counts.late_collisions;
            totals.collisions += counts.collisions;
        }
        let collisions = &self.statistics.collisions;
        if totals.collisions != collisions.iter().sum::<u64>() {
            return Err("collisions of stations and of the segment differ");
        }
        // A late collision at the last attempt counts as late, not as excessive.
        if totals.excessive_collisions > collisions[ATTEMPT_LIMIT as usize - 1] {
            return Err("a frame was dropped before its last attempt");
        }
        if totals.late_collisions != self.statistics.late_collisions {
            return Err("late collisions of stations and of the segment differ");
        }
        if self.is_within_slot() && totals.late_collisions + self.statistics.garbled > 0 {
            return Err("a late collision on a segment that is short enough");
        }
        Ok(())
    }

    fn advance_clock(&mut self, now: Instant) -> i64 {
        debug_assert!(self.events.is_empty(), "events must be taken before the next call");
        debug_assert!(now.as_ps() >= self.now, "time runs backwards");
        self.now = now.as_ps();
        self.now
    }

    #[inline]
    fn run_until(&mut self, limit: i64) {
        // Mostly nothing is due before an offer.
        loop {
            let at = self.next.at.min(self.next_end);
            if at > limit || at == NEVER {
                break;
            }
            self.step(at);
        }
    }

    /// Handles everything due at this time: first what ends, then what starts. No station starts at
    /// the end of its own transmission: the gap comes first.
    fn step(&mut self, at: i64) {
        if self.next_end == at {
            self.end_all(at);
        }
        if self.next.at == at {
            self.wire.forget(at);
            self.start_all(at);
            self.wire.begin_period(at);
            self.wire.compare();
            // Those that are not ready before they have heard of it wait until it is over.
            self.is_deferring = self.wire.defers(self.next.following);
            if self.is_deferring {
                self.next = Next::NONE;
            } else {
                self.plan();
            }
        } else if self.sending.is_empty() {
            self.is_deferring = false;
            self.plan();
        }
    }

    /// Handles what ends at this time.
    fn end_all(&mut self, at: i64) {
        let mut place = 0;
        while let Some(&Sending { station, due }) = self.sending.get(place) {
            if due == at {
                take(&mut self.sending, place);
                self.end(station, at);
            } else {
                place += 1;
            }
        }
        self.find_next_end();
    }

    /// Lets the stations start that are due to.
    fn start_all(&mut self, at: i64) {
        let Next { place: first, is_shared, .. } = self.next;
        let mut place = first;
        while let Some(&Waiting { station, due, .. }) = self.waiting.get(place) {
            if due == at {
                take(&mut self.waiting, place);
                self.start(station, at);
            } else {
                place += 1;
            }
            if !is_shared {
                break;
            }
        }
        self.find_next_end();
    }

    fn find_next_end(&mut self) {
        let ends = self.sending.iter().map(|sending| sending.due);
        self.next_end = ends.min().unwrap_or(NEVER);
    }

    /// Begins a transmission; determines how it will end, and how those it collides with will end.
    fn start(&mut self, station: u32, at: i64) {
        let Timing { preamble, jam, .. } = self.timing;
        let length = self.stations[station as usize].length;
        let mut detected = NEVER;
        let (cables, signals) = self.wire.present();
        for other in signals {
            if other.station == station {
                continue;
            }
            let delay = cables.propagation(station, other.station);
            if other.end + delay > at {
                detected = detected.min(at.max(other.start + delay));
            }
            // The other station is still sending when it hears this one.
            let heard = at + delay;
            if heard < other.end {
                let state = &mut self.stations[other.station as usize];
                if heard < state.detected {
                    state.detected = heard;
                    other.end = heard.max(other.start + preamble) + jam;
                    let mut all = self.sending.iter_mut();
                    if let Some(sending) = all.find(|sending| sending.station == other.station) {
                        sending.due = other.end;
                    }
                }
            }
        }
        // Signals now in transit are heard before the end: every delay is shorter than a frame.
        let end = if detected == NEVER { at + length } else { detected.max(at + preamble) + jam };
        self.wire.begin(Signal { station, start: at, end });
        let before = |sending: &Sending| sending.station < station;
        let place = self.sending.partition_point(before);
        let sending = Sending { station, due: end };
        put(&mut self.sending, place, sending);
        let state = &mut self.stations[station as usize];
        state.start = at;
        state.detected = detected;
        state.attempts += 1;
        if self.reports_attempts {
            self.report(station, at, EventKind::Started);
        }
    }

    /// Recomputes when each waiting station may send, and finds who is due next.
    fn plan(&mut self) {
        let mut next = Next::NONE;
        let horizon = self.wire.horizon();
        for (place, waiting) in self.waiting.iter_mut().enumerate() {
            waiting.due = if waiting.ready >= horizon {
                waiting.ready
            } else {
                self.wire.may_send(waiting.station, waiting.ready)
            };
            next.add(waiting.due, place);
        }
        self.next = next;
    }

    /// Handles the last bit sent by a station, of a frame or of a jam.
    fn end(&mut self, station: u32, at: i64) {
        let state = &mut self.stations[station as usize];
        let spent = Duration::from_ps(at - state.start);
        if state.detected != NEVER {
            self.statistics.wasted += spent;
            self.end_of_jam(station, at);
            return;
        }
        let attempts = state.attempts;
        state.statistics.sent += 1;
        state.statistics.sent_after_collision += u64::from(attempts > 1);
        self.statistics.carried += spent;
        let is_garbled = self.wire.meets_another(station, state.start, at);
        self.statistics.garbled += u64::from(is_garbled);
        self.report(station, at, EventKind::Sent { attempts });
        let fate = if is_garbled {
            EventKind::Garbled { attempts }
        } else {
            EventKind::Delivered { attempts }
        };
        self.report(station, at, fate);
    }

    /// Starts the back-off after a collision, or gives up the frame.
    fn end_of_jam(&mut self, station: u32, at: i64) {
        let state = &mut self.stations[station as usize];
        let (attempts, detected) = (state.attempts, state.detected);
        state.statistics.collisions += 1;
        self.statistics.collisions[attempts as usize - 1] += 1;
        let is_late = detected - state.start >= self.timing.slot;
        let reason = if is_late {
            state.statistics.late_collisions += 1;
            self.statistics.late_collisions += 1;
            Some(DropReason::LateCollision)
        } else if attempts >= ATTEMPT_LIMIT {
            state.statistics.excessive_collisions += 1;
            Some(DropReason::ExcessiveCollisions)
        } else {
            None
        };
        if reason.is_none() {
            let ready = at + state.dice.slots(self.backoff, attempts) * self.timing.slot;
            self.wait(station, ready);
        }
        if self.reports_attempts {
            let detected = Instant::from_ps(detected);
            let collision = EventKind::Collision { attempts, detected };
            self.report(station, at, collision);
        }
        if let Some(reason) = reason {
            self.report(station, at, EventKind::Dropped { reason, attempts });
        }
    }

    fn report(&mut self, station: u32, at: i64, kind: EventKind) {
        self.events.push_back(Event {
            at: Instant::from_ps(at),
            station,
            frame: self.stations[station as usize].frame,
            kind,
        });
    }
}

impl Next {
    /// No station starts.
    const NONE: Self = Self { at: NEVER, place: 0, is_shared: false, following: NEVER };

    /// Returns the earliest of the times of these stations.
    fn of(stations: &[Waiting]) -> Self {
        let mut next = Self::NONE;
        for (place, waiting) in stations.iter().enumerate() {
            next.add(waiting.due, place);
        }
        next
    }

    /// Takes the time of the station at the next place into account.
    #[inline]
    fn add(&mut self, at: i64, place: usize) {
        match at.cmp(&self.at) {
            Ordering::Less => {
                *self = Self { at, place, is_shared: false, following: self.at };
            }
            Ordering::Equal => self.is_shared = true,
            Ordering::Greater => self.following = self.following.min(at),
        }
    }

    /// Takes the time of a station into account that was inserted at a place; [`NEVER`] if it waits
    /// for others.
    fn insert(&mut self, at: i64, place: usize) {
        if at == self.at && at != NEVER {
            self.place = self.place.min(place);
        } else {
            self.place += usize::from(place <= self.place);
        }
        if at != NEVER {
            self.add(at, place);
        }
    }
}

impl Station {
    fn new(seed: u64) -> Self {
        Self {
            frame: 0,
            length: 0,
            attempts: 0,
            start: 0,
            detected: NEVER,
            dice: Dice::new(seed),
            statistics: StationStatistics::default(),
        }
    }
}

/// Puts an element in its place.
///
/// Lists of stations are short: some swaps take less than a call of `memmove`, which in the C library
/// of static programs took a quarter of the time of a hub.
fn put<T>(list: &mut Vec<T>, place: usize, element: T) {
    list.push(element);
    for at in (place + 1..list.len()).rev() {
        list.swap(at - 1, at);
    }
}

/// Takes an element out; the others keep their order.
fn take<T>(list: &mut Vec<T>, place: usize) {
    for at in place + 1..list.len() {
        list.swap(at - 1, at);
    }
    list.pop();
}
