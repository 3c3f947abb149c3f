//! Schedule of requests and matching of replies.
//!
//! Requests have consecutive sequence numbers from zero, across series. With a fixed interval they
//! go out on a grid: a host that is late skips the points it has missed and counts them
//! ([`Counters::skipped`]), since requests sent close together would affect each other. A series
//! begins when the previous one is complete and `pause` has passed.
//!
//! A request without a reply after `timeout` is lost. A request is remembered until 65 536 others
//! have followed, or the number chosen by the host, so that a very late reply can be told from one
//! that matches no request.

use alloc::collections::VecDeque;
use core::fmt;

use rtether_model::quantity::{Duration, Instant};

/// Default number of requests remembered.
pub(super) const WINDOW: usize = 1 << 16;

/// Spacing of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interval {
    /// When the previous one is answered or lost, as `ping -A` does.
    Adaptive,
    /// On a grid.
    Fixed(Duration),
}

/// Configuration of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Number of series.
    pub series: u32,
    /// Requests per series.
    pub samples: u32,
    /// Spacing of requests.
    pub interval: Interval,
    /// Time between the end of a series and the start of the next.
    pub pause: Duration,
    /// Time after which a request is lost.
    pub timeout: Duration,
}

/// Why a configuration is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigError {
    /// The number of series or samples is zero.
    Nothing,
    /// More requests than sequence numbers.
    TooMany,
    /// Timeout or interval is not positive, or the pause is negative.
    Time,
    /// More requests would be in flight at once than are remembered.
    TooDense {
        /// The shortest interval with this timeout.
        interval_min: Duration,
    },
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => write!(f, "the number of samples is zero"),
            Self::TooMany => write!(f, "series and samples make more than 4294967295 requests"),
            Self::Time => write!(f, "timeout and interval must be positive"),
            Self::TooDense { interval_min } => write!(
                f,
                "with this timeout the interval must be at least {} ns",
                interval_min.as_ns_floor()
            ),
        }
    }
}

impl core::error::Error for ConfigError {}

/// A request to be sent now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Its sequence number in the run.
    pub sequence: u32,
    /// Number of its series.
    pub series: u32,
}

/// A round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Sequence number of the request.
    pub sequence: u32,
    /// Number of its series.
    pub series: u32,
    /// When the request was handed out.
    pub sent_at: Instant,
    /// Time from there until the reply was handled.
    pub round_trip: Duration,
    /// Whether a later request was answered earlier.
    pub is_reordered: bool,
}

/// An event of the meter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A reply in time.
    Sample(Sample),
    /// No reply in time.
    Lost(Request),
    /// A reply to a request that counts as lost.
    Late {
        /// The request.
        request: Request,
        /// The round trip all the same.
        round_trip: Duration,
    },
    /// A further reply to a request.
    Duplicate(Request),
}

/// Counters of requests and replies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Requests handed out.
    pub sent: u64,
    /// Replies within the timeout.
    pub answered: u64,
    /// Requests without a reply in time.
    pub lost: u64,
    /// Replies to lost requests.
    pub late: u64,
    /// Duplicate replies.
    pub duplicates: u64,
    /// Replies in time that followed the reply to a later request.
    pub reordered: u64,
    /// Replies that match no remembered request.
    pub unknown: u64,
    /// Grid points that the host missed.
    pub skipped: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Pending,
    Answered,
    Lost,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    sent_at: Instant,
    state: State,
}

/// Schedules requests and matches replies to them.
#[derive(Clone, Debug)]
pub struct Prober {
    config: Config,
    /// Number of requests remembered.
    window: usize,
    /// When the next request is due; unused while an event has to come first.
    next_at: Instant,
    /// Its sequence number.
    next: u32,
    /// Remembered requests, oldest first, up to the last one sent.
    slots: VecDeque<Slot>,
    /// Sequence number after the highest one answered.
    answered_up_to: u32,
    /// Requests in flight.
    pending: u32,
    /// The oldest request in flight; the next request if there is none.
    oldest: u32,
    counters: Counters,
    events: VecDeque<Event>,
}

impl Prober {
    /// Creates a meter whose first request is due at `start`.
    pub fn new(config: Config, start: Instant) -> Result<Self, ConfigError> {
        Self::remembering(config, start, WINDOW)
    }

    /// As [`Self::new`], but remembers `window` requests (at least two) instead of 65 536.
    pub fn remembering(config: Config, start: Instant, window: usize) -> Result<Self, ConfigError> {
        let window = window.max(2);
        let total = config.series.checked_mul(config.samples);
        if total.ok_or(ConfigError::TooMany)? == 0 {
            return Err(ConfigError::Nothing);
        }
        let is_positive = |time: Duration| time > Duration::ZERO;
        if !is_positive(config.timeout) || config.pause.is_negative() {
            return Err(ConfigError::Time);
        }
        if let Interval::Fixed(interval) = config.interval {
            if !is_positive(interval) {
                return Err(ConfigError::Time);
            }
            let half = i64::try_from(window / 2).unwrap_or(i64::MAX);
            let interval_min = Duration::from_ps(config.timeout.as_ps() / half);
            if interval < interval_min {
                return Err(ConfigError::TooDense { interval_min });
            }
        }
        Ok(Self {
            config,
            window,
            next_at: start,
            next: 0,
            slots: VecDeque::with_capacity(window),
            answered_up_to: 0,
            pending: 0,
            oldest: 0,
            counters: Counters::default(),
            events: VecDeque::new(),
        })
    }

    /// Returns the request to send now, if one is due; `now` is taken as its send time.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Request> {
        if self.is_blocked() || now < self.next_at {
            return None;
        }
        let request = self.request(self.next);
        if self.slots.len() == self.window {
            self.slots.pop_front();
        }
        self.slots.push_back(Slot { sent_at: now, state: State::Pending });
        self.next += 1;
        self.pending += 1;
        self.counters.sent += 1;
        if let Interval::Fixed(interval) = self.config.interval {
            let missed = (now - self.next_at).as_ps() / interval.as_ps();
            self.counters.skipped += u64::try_from(missed).unwrap_or(0);
            let step = interval.as_ps().saturating_mul(missed + 1);
            self.next_at += Duration::from_ps(step);
        }
        Some(request)
    }

    /// Processes the reply to request `sequence`.
    pub fn handle_reply(&mut self, now: Instant, sequence: u32) {
        debug_assert!(self.events.is_empty(), "events are drained first");
        let Some(index) = self.index_of(sequence) else {
            self.counters.unknown += 1;
            return;
        };
        let slot = &mut self.slots[index];
        let round_trip = now - slot.sent_at;
        let state = core::mem::replace(&mut slot.state, State::Answered);
        let sent_at = slot.sent_at;
        let request = self.request(sequence);
        let event = match state {
            State::Pending if round_trip <= self.config.timeout => {
                let is_reordered = sequence < self.answered_up_to;
                self.answered_up_to = self.answered_up_to.max(sequence + 1);
                self.counters.answered += 1;
                self.counters.reordered += u64::from(is_reordered);
                self.complete(now);
                Event::Sample(Sample {
                    sequence,
                    series: request.series,
                    sent_at,
                    round_trip,
                    is_reordered,
                })
            }
            State::Pending => {
                self.counters.lost += 1;
                self.counters.late += 1;
                self.complete(now);
                self.events.push_back(Event::Lost(request));
                Event::Late { request, round_trip }
            }
            State::Lost => {
                self.counters.late += 1;
                Event::Late { request, round_trip }
            }
            State::Answered => {
                self.counters.duplicates += 1;
                Event::Duplicate(request)
            }
        };
        self.events.push_back(event);
    }

    /// Processes a reply of a protocol without sequence numbers: it belongs to the oldest
    /// outstanding request.
    pub fn handle_reply_in_order(&mut self, now: Instant) {
        match self.oldest_pending() {
            Some(sequence) => self.handle_reply(now, sequence),
            None => self.counters.unknown += 1,
        }
    }

    /// Recovers a sequence number from its lower 16 bits: that of the latest request with these
    /// bits.
    pub fn widen(&self, low: u16) -> u32 {
        let behind = self.next.wrapping_sub(1).wrapping_sub(u32::from(low)) & 0xFFFF;
        self.next.wrapping_sub(1).wrapping_sub(behind)
    }

    /// Gives up requests that have timed out.
    pub fn handle_timeout(&mut self, now: Instant) {
        debug_assert!(self.events.is_empty(), "events are drained first");
        while let Some(sequence) = self.oldest_pending() {
            let Some(index) = self.index_of(sequence) else {
                return;
            };
            if now - self.slots[index].sent_at <= self.config.timeout {
                return;
            }
            self.slots[index].state = State::Lost;
            self.counters.lost += 1;
            self.complete(now);
            self.events.push_back(Event::Lost(self.request(sequence)));
        }
    }

    /// Returns the next event, oldest first.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Returns when to call again at the latest: for the next request or the next loss.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let next = (!self.is_blocked()).then_some(self.next_at);
        let loss = self.oldest_pending().and_then(|sequence| {
            let sent_at = self.slots[self.index_of(sequence)?].sent_at;
            // One picosecond later: a reply exactly at the timeout is in time.
            Some(sent_at + self.config.timeout + Duration::from_ps(1))
        });
        [next, loss].into_iter().flatten().min()
    }

    /// Returns whether all requests are answered or lost.
    pub fn is_finished(&self) -> bool {
        self.next == self.total() && self.pending == 0
    }

    /// Returns whether no request is in flight.
    pub fn is_idle(&self) -> bool {
        self.pending == 0
    }

    /// Returns the counters.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Panics if the state is inconsistent.
    #[doc(hidden)]
    pub fn invariants(&self) {
        let of = |state| self.slots.iter().filter(|s| s.state == state).count();
        assert_eq!(of(State::Pending), self.pending as usize);
        let Counters { sent, answered, lost, .. } = self.counters;
        assert_eq!(sent, answered + lost + u64::from(self.pending));
        assert!(self.slots.len() <= self.window);
        let first = self.slots.iter().position(|s| s.state == State::Pending);
        let first = first.and_then(|index| u32::try_from(self.slots.len() - index).ok());
        assert_eq!(self.oldest, self.next - first.unwrap_or(0));
    }

    /// Whether the next request waits for something other than time, or does not exist.
    fn is_blocked(&self) -> bool {
        let is_over = self.next == self.total();
        let is_first_of_series = self.next.is_multiple_of(self.config.samples);
        let waits = is_first_of_series || self.config.interval == Interval::Adaptive;
        let is_full = self.slots.len() == self.window
            && self.slots.front().map(|slot| slot.state) == Some(State::Pending);
        is_over || (waits && self.pending > 0) || is_full
    }

    /// Counts one request less in flight.
    fn complete(&mut self, now: Instant) {
        self.pending -= 1;
        while self.oldest < self.next && self.state_of(self.oldest) != Some(State::Pending) {
            self.oldest += 1;
        }
        if self.pending > 0 {
            return;
        }
        if self.next.is_multiple_of(self.config.samples) {
            self.next_at = now + self.config.pause;
        } else if self.config.interval == Interval::Adaptive {
            self.next_at = now;
        }
    }

    /// Returns the number of requests in the whole run.
    pub fn total(&self) -> u32 {
        self.config.series * self.config.samples
    }

    fn request(&self, sequence: u32) -> Request {
        Request { sequence, series: sequence / self.config.samples }
    }

    fn index_of(&self, sequence: u32) -> Option<usize> {
        let behind = self.next.checked_sub(sequence)? as usize;
        self.slots.len().checked_sub(behind).filter(|_| behind > 0)
    }

    /// Returns the oldest request in flight.
    pub fn oldest_pending(&self) -> Option<u32> {
        (self.pending > 0).then_some(self.oldest)
    }

    fn state_of(&self, sequence: u32) -> Option<State> {
        Some(self.slots[self.index_of(sequence)?].state)
    }
}
