//! The engine: queues, mode, limits and counters.

use rtether_model::quantity::{BitRate, Bytes, Duration, Instant};

use super::Class;
use super::bucket::rate_floor;
use rtether_model::smoother::{Config, Limits};

use super::config::{self, ConfigError};
use super::congestion::Signal;
use super::event::{ClassStatistics, DropReason, Event, Log, Reason, Statistics, Transmission};
use super::law::Law;
use super::queue::{Queue, Waiting};

/// Traffic smoother of one station, for frames of type `F`, whose content it never reads.
#[derive(Clone, Debug)]
pub struct Smoother<F> {
    limits: Limits,
    law: Law,
    real_time: Queue<F>,
    bulk: Queue<F>,
    log: Log,
    now: Instant,
}

/// A packet for the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit<F> {
    /// The frame.
    pub frame: F,
    /// Its charged size.
    pub size: Bytes,
    /// Its class.
    pub class: Class,
    /// Time it spent in the smoother.
    pub waited: Duration,
}

/// State for traces and displays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    /// Credits in octets, below zero if borrowed; `None` if the mode has none.
    pub credits: Option<i64>,
    /// Depth of the bucket, or the most that is released at once.
    pub depth: Option<Bytes>,
    /// Current period.
    pub period: Option<Duration>,
    /// Station input limit: depth over period, rounded down to bit/s.
    pub rate: Option<BitRate>,
    /// Real-time packets waiting.
    pub real_time_packets: usize,
    /// Bulk packets waiting.
    pub bulk_packets: usize,
    /// Octets waiting in both classes.
    pub backlog: Bytes,
}

impl<F> Smoother<F> {
    /// Creates a smoother that starts at `now` with a full bucket and the shortest period.
    pub fn new(now: Instant, config: Config) -> Result<Self, ConfigError> {
        config::check(&config)?;
        Ok(Self {
            limits: config.limits,
            law: Law::new(now, config.mode),
            real_time: Queue::new(),
            bulk: Queue::new(),
            log: Log::default(),
            now,
        })
    }

    /// Changes parameters at run time.
    ///
    /// Within a mode, the state is kept and clamped to the new ranges; another mode starts afresh.
    /// A queue longer than its new limit keeps its packets and accepts no more, and packets that
    /// exceed a smaller MTU are still served.
    pub fn set(&mut self, now: Instant, config: Config) -> Result<(), ConfigError> {
        config::check(&config)?;
        self.begin(now);
        self.limits = config.limits;
        self.law.set(now, config.mode, &mut self.log);
        Ok(())
    }

    /// Takes a packet of `size` octets (IP datagram) into the queue of its class. If the queue is
    /// full or the packet exceeds the MTU, returns it and counts a drop.
    pub fn enqueue(&mut self, now: Instant, frame: F, size: Bytes, class: Class) -> Result<(), F> {
        self.begin(now);
        let limit = match class {
            Class::RealTime => self.limits.real_time_packets,
            Class::Bulk => self.limits.bulk_packets,
        };
        let refused = if size > self.limits.mtu {
            Some(DropReason::TooLarge)
        } else if self.queue(class).len() >= limit {
            Some(DropReason::QueueFull)
        } else {
            None
        };
        let statistics = self.log.of(class);
        statistics.offered += 1;
        statistics.offered_size += size;
        if let Some(reason) = refused {
            statistics.dropped += 1;
            statistics.dropped_size += size;
            let at = now;
            self.log.push(Event::Dropped { at, class, size, reason });
            return Err(frame);
        }
        let since = now;
        self.queue_mut(class).push(Waiting { frame, size, since });
        let queued = self.queue(class).len();
        let statistics = self.log.of(class);
        statistics.queued_max = statistics.queued_max.max(queued);
        Ok(())
    }

    /// Processes the output of a detector, when the driver has completed a packet or at any other
    /// time.
    pub fn handle_signal(&mut self, now: Instant, signal: Signal) {
        self.begin(now);
        if signal == Signal::Congestion {
            self.log.statistics.reports += 1;
            self.log.push(Event::CongestionReported { at: now });
        }
        self.law.handle_signal(now, signal);
    }

    /// A packet of this class is out or given up. Only [`rtether_model::smoother::Mode::Rtether`]
    /// uses this, instead of signals.
    pub fn handle_completion(&mut self, now: Instant, class: Class, sent: Transmission) {
        self.begin(now);
        if class == Class::Bulk {
            self.law.handle_completion(sent);
        }
    }

    /// A station, including this one, kept the medium busy for `busy`. Only
    /// [`rtether_model::smoother::Mode::Rtether`] uses this.
    pub fn handle_busy(&mut self, now: Instant, busy: Duration) {
        self.begin(now);
        self.law.handle_busy(now, busy, &mut self.log);
    }

    /// Does what is due. A call before [`Smoother::poll_timeout`] has no effect.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.begin(now);
        self.law.handle_timeout(now, self.bulk.sizes(), &mut self.log);
    }

    /// Returns the next packet that may leave; call it when the driver has room.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Transmit<F>> {
        self.advance(now);
        let class = if !self.real_time.is_empty() {
            Class::RealTime
        } else if !self.bulk.is_empty() && self.law.permits(now, &mut self.log) {
            Class::Bulk
        } else {
            return None;
        };
        let Waiting { frame, size, since } = self.queue_mut(class).pop()?;
        self.law.charge(now, class, size, &mut self.log);
        let waited = now - since;
        let statistics = self.log.of(class);
        statistics.sent += 1;
        statistics.sent_size += size;
        let sum = statistics.waited.as_ps().saturating_add(waited.as_ps());
        statistics.waited = Duration::from_ps(sum);
        statistics.waited_max = statistics.waited_max.max(waited);
        let at = now;
        self.log.push(Event::Released { at, class, size, waited });
        Some(Transmit { frame, size, class, waited })
    }

    /// Returns when to call `handle_timeout`, and why.
    pub fn poll_timeout(&self) -> Option<(Instant, Reason)> {
        self.law.due()
    }

    /// Returns the next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.log.pop()
    }

    /// Returns the counters.
    pub const fn statistics(&self) -> &Statistics {
        &self.log.statistics
    }

    /// Returns the current state.
    pub fn state(&self) -> State {
        let shape = self.law.shape();
        State {
            credits: self.law.credits(),
            depth: shape.map(|(depth, _)| depth),
            period: shape.map(|(_, period)| period),
            rate: shape.map(|(depth, period)| rate_floor(depth, period)),
            real_time_packets: self.real_time.len(),
            bulk_packets: self.bulk.len(),
            backlog: self.real_time.size() + self.bulk.size(),
        }
    }

    /// Returns the waiting frames for accounts and displays, not in the order in which they leave.
    pub fn frames(&self) -> impl Iterator<Item = &F> {
        self.real_time.frames().chain(self.bulk.frames())
    }

    /// Checks the invariants.
    ///
    /// # Panics
    /// If one is violated: a bug in this module.
    pub fn invariants(&self) {
        let statistics = &self.log.statistics;
        conserved(&statistics.real_time, &self.real_time);
        conserved(&statistics.bulk, &self.bulk);
        self.law.invariants(self.bulk.len());
    }

    fn queue(&self, class: Class) -> &Queue<F> {
        match class {
            Class::RealTime => &self.real_time,
            Class::Bulk => &self.bulk,
        }
    }

    fn queue_mut(&mut self, class: Class) -> &mut Queue<F> {
        match class {
            Class::RealTime => &mut self.real_time,
            Class::Bulk => &mut self.bulk,
        }
    }

    /// Starts a mutation. Draining of transmits cannot be checked here, since only the driver knows
    /// how much room it had.
    fn begin(&mut self, now: Instant) {
        debug_assert!(self.log.is_drained(), "events must be drained before the next mutation");
        self.advance(now);
    }

    fn advance(&mut self, now: Instant) {
        debug_assert!(now >= self.now, "time runs backwards: {now:?}");
        self.now = self.now.max(now);
    }
}

/// Everything offered has left, was refused, or is waiting.
fn conserved<F>(statistics: &ClassStatistics, queue: &Queue<F>) {
    let queued = u64::try_from(queue.len()).unwrap_or(u64::MAX);
    assert_eq!(
        statistics.offered,
        statistics.sent + statistics.dropped + queued,
        "packets are not conserved"
    );
    assert_eq!(
        statistics.offered_size,
        statistics.sent_size + statistics.dropped_size + queue.size(),
        "octets are not conserved"
    );
    let measured: Bytes = queue.sizes().sum();
    assert_eq!(queue.size(), measured, "the queue's size is stale");
}
