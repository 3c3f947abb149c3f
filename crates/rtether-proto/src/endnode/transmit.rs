//! Hardware ring and software queues of a driver, and what enters the ring when (S9; R79 to R81,
//! R83).
//!
//! The ring is counted in descriptors: a frame that enters is handed out by
//! [`TransmitQueues::poll_transmit`], and the driver reports each frame that has left the wire
//! with [`TransmitQueues::handle_completion`]. The oldest descriptor of a ring is the one in
//! transmission. Order within the ring is the hardware's: first in, first out.
//!
//! Waiting times end with entry into the ring. After the last high frame, the k-th low frame of the
//! strict strategy enters no later than k times the idle release, given room in the ring.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use rtether_model::endnode::{RingEmpty, TransmitConfig, TransmitStrategy};
use rtether_model::quantity::Instant;

use super::queue::{ClassQueues, Events, LastCall, QueueStats};
use super::{ConfigError, Event, Place, Timeout, after};

/// A frame that enters a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit<F> {
    /// The frame.
    pub frame: F,
    /// The class in which it came.
    pub class: u8,
    /// The ring it enters.
    pub ring: u8,
}

/// One ring of descriptors.
#[derive(Clone, Copy, Default)]
struct Ring {
    /// In use: handed out or waiting to be.
    used: u32,
    /// Of these, not handed out yet.
    pending: u32,
    completed: u64,
}

/// Queues between stack and driver.
pub struct TransmitQueues<F> {
    strategy: TransmitStrategy,
    classes: u8,
    high_from: u8,
    ring_limit: u32,
    /// The largest of all ring limits so far: a ring above a lowered limit only empties.
    ring_most: u32,
    rings: Vec<Ring>,
    queues: ClassQueues<Item<F>>,
    /// Frames that have entered and are not handed out yet.
    entered: VecDeque<Transmit<F>>,
    /// Strict: the ring was full behind a high frame, so a low one goes next.
    is_low_owed: bool,
    last_entry: Instant,
    spurious: u64,
    events: Events<F>,
    clock: LastCall,
}

/// A frame with its class, which the queue of the FIFO strategy does not tell, nor one that stands
/// for all higher ones.
struct Item<F> {
    frame: F,
    class: u8,
}

impl<F> TransmitQueues<F> {
    /// Creates empty queues. The idle clock of the strict strategy starts with the run.
    pub fn new(config: &TransmitConfig) -> Result<Self, ConfigError> {
        let limits = &config.queue_limits;
        // Made for its checks also where the FIFO strategy needs another.
        let by_class = ClassQueues::new(limits)?;
        let classes = by_class.top() + 1;
        let high_from = config.high_from.unwrap_or(by_class.top());
        if high_from >= classes {
            let (class, count) = (high_from, classes);
            return Err(ConfigError::ClassOutOfRange { class, count });
        }
        if config.ring_limit == 0 {
            return Err(ConfigError::ZeroLimit);
        }
        let (queues, rings) = match config.strategy {
            TransmitStrategy::Fifo => {
                let sum = limits.iter().fold(0_u32, |sum, &l| sum.saturating_add(l));
                (ClassQueues::new(&[sum])?, 1)
            }
            TransmitStrategy::Rings { count } if count == 0 || count > classes => {
                return Err(ConfigError::RingCount { found: count });
            }
            TransmitStrategy::Rings { count } => (by_class, usize::from(count)),
            TransmitStrategy::Strict {
                idle_release: Some(span),
            } if span.is_negative() => return Err(ConfigError::NegativeTime),
            TransmitStrategy::Moderate { .. } | TransmitStrategy::Strict { .. } => (by_class, 1),
        };
        Ok(Self {
            strategy: config.strategy,
            classes,
            // The single queue of the FIFO strategy is neither high nor low.
            high_from: if config.strategy == TransmitStrategy::Fifo {
                0
            } else {
                high_from
            },
            ring_limit: config.ring_limit,
            ring_most: config.ring_limit,
            rings: alloc::vec![Ring::default(); rings],
            queues,
            entered: VecDeque::new(),
            is_low_owed: false,
            last_entry: Instant::ZERO,
            spurious: 0,
            events: Events::new(),
            clock: LastCall::new(),
        })
    }

    /// Changes strategy and limits while running, or leaves everything as it is if it refuses.
    ///
    /// No frame is lost: those that wait move to the queues of their classes, in order of arrival,
    /// and a queue or ring that is longer than its new limit takes no more. Frames in a ring that
    /// is no longer used are still completed.
    pub fn set(&mut self, now: Instant, config: &TransmitConfig) -> Result<(), ConfigError> {
        let fresh = Self::new(config)?;
        let now = self.begin(now);
        let before = core::mem::replace(&mut self.queues, fresh.queues);
        before.move_into(&mut self.queues, |item| item.class);
        self.strategy = fresh.strategy;
        self.classes = fresh.classes;
        self.high_from = fresh.high_from;
        self.ring_limit = fresh.ring_limit;
        self.ring_most = self.ring_most.max(fresh.ring_limit);
        let rings = self.rings.len().max(fresh.rings.len());
        self.rings.resize(rings, Ring::default());
        self.is_low_owed &= matches!(self.strategy, TransmitStrategy::Strict { .. })
            && self.queues.highest(0..self.high_from).is_some();
        self.fill(now);
        Ok(())
    }

    /// Takes a frame from the stack.
    pub fn enqueue(&mut self, now: Instant, frame: F, class: u8) {
        let now = self.begin(now);
        if let Err(Item { frame, class }) = self.queues.offer(now, Item { frame, class }, class) {
            let (class, place) = (class.min(self.classes - 1), Place::Queue);
            self.events.push(Event::Dropped {
                frame,
                class,
                place,
            });
        }
        self.fill(now);
    }

    /// Notes that the frame in transmission in a ring has left; says whether there was one.
    ///
    /// A completion without a frame, or in a ring that does not exist, is counted and changes
    /// nothing.
    pub fn handle_completion(&mut self, now: Instant, ring: u8) -> bool {
        let now = self.begin(now);
        match self.rings.get_mut(usize::from(ring)) {
            Some(ring) if ring.used > ring.pending => {
                ring.used -= 1;
                ring.completed += 1;
            }
            _ => {
                self.spurious += 1;
                return false;
            }
        }
        self.fill(now);
        true
    }

    /// Hands out the next frame that has entered a ring; a host calls it until `None`.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Transmit<F>> {
        self.clock.advance(now);
        let transmit = self.entered.pop_front()?;
        self.rings[usize::from(transmit.ring)].pending -= 1;
        Some(transmit)
    }

    /// Returns when the idle release is due; the time may be in the past, then it is due at once.
    pub fn poll_timeout(&self) -> Option<(Instant, Timeout)> {
        let TransmitStrategy::Strict {
            idle_release: Some(span),
        } = self.strategy
        else {
            return None;
        };
        let can_enter = self.has_room(0) && self.queues.highest(0..self.high_from).is_some();
        can_enter.then(|| (after(self.last_entry, span), Timeout::IdleRelease))
    }

    /// Moves one low frame into the ring if the idle release is due.
    pub fn handle_timeout(&mut self, now: Instant) {
        let now = self.begin(now);
        let is_due = self.poll_timeout().is_some_and(|(due, _)| due <= now);
        let low = self.queues.highest(0..self.high_from);
        if let Some(queue) = low.filter(|_| is_due) {
            self.queues.stats_mut(queue).idle_releases += 1;
            self.events.push(Event::IdleRelease { queue });
            self.enter(now, queue);
        }
    }

    /// Returns the next event of the last call.
    pub fn poll_event(&mut self) -> Option<Event<F>> {
        self.events.pop()
    }

    /// Returns the statistics of a software queue; with the FIFO strategy there is one only.
    ///
    /// # Panics
    /// If there is no such queue.
    pub fn stats(&self, queue: u8) -> QueueStats {
        self.queues.stats(queue)
    }

    /// Returns the number of software queues.
    pub fn count(&self) -> u8 {
        self.queues.top() + 1
    }

    /// Returns the number of frames in the software queues.
    pub fn waiting(&self) -> u64 {
        self.queues.len()
    }

    /// Returns the frames in the software queues, for accounts and displays: not the order in which
    /// they leave.
    pub fn frames(&self) -> impl Iterator<Item = &F> {
        self.queues.items().map(|item| &item.frame)
    }

    /// Returns the frames that have entered a ring and are not handed out yet.
    pub(crate) fn entered(&self) -> impl Iterator<Item = &Transmit<F>> {
        self.entered.iter()
    }

    /// Returns the number of rings, those that were used before a change included.
    pub fn ring_count(&self) -> u8 {
        // At most one for each class.
        u8::try_from(self.rings.len()).unwrap_or(u8::MAX)
    }

    /// Returns the descriptors of a ring that are in use, the one in transmission included.
    ///
    /// # Panics
    /// If there is no such ring.
    pub fn ring_depth(&self, ring: u8) -> u32 {
        self.rings[usize::from(ring)].used
    }

    /// Returns the number of completions without a frame.
    pub const fn spurious_completions(&self) -> u64 {
        self.spurious
    }

    /// Returns the number of events that the host did not fetch in time.
    pub const fn events_lost(&self) -> u64 {
        self.events.lost()
    }

    /// Checks that no frame is lost, no limit exceeded, and none waits that could enter.
    ///
    /// # Panics
    /// If one is or does.
    pub fn invariants(&self) {
        self.queues.check();
        let [_, _, released] = self.queues.totals();
        let mut entered = 0;
        let mut pending = 0;
        for ring in &self.rings {
            assert!(ring.used <= self.ring_most, "ring above its limit");
            assert!(ring.pending <= ring.used, "handed out more than entered");
            entered += ring.completed + u64::from(ring.used);
            pending += ring.pending as usize;
        }
        assert_eq!(released, entered, "frames between queue and ring");
        assert_eq!(self.entered.len(), pending, "frames to be handed out");
        let is_low_waiting = self.queues.highest(0..self.high_from).is_some();
        assert!(!self.is_low_owed || is_low_waiting, "owed to no frame");
        assert_eq!(self.next_entry(), None, "a frame waits that could enter");
    }

    fn begin(&mut self, now: Instant) -> Instant {
        debug_assert!(
            self.entered.is_empty(),
            "frames are drained before the next call"
        );
        self.events.begin();
        self.clock.advance(now)
    }

    fn has_room(&self, ring: u8) -> bool {
        self.rings[usize::from(ring)].used < self.ring_limit
    }

    /// Returns the ring of a queue.
    fn ring_of(&self, queue: u8) -> u8 {
        match self.strategy {
            TransmitStrategy::Rings { count } => queue.saturating_sub(self.classes - count),
            TransmitStrategy::Fifo
            | TransmitStrategy::Moderate { .. }
            | TransmitStrategy::Strict { .. } => 0,
        }
    }

    /// Moves what may enter into the rings.
    fn fill(&mut self, now: Instant) {
        while let Some(queue) = self.next_entry() {
            self.enter(now, queue);
            if let TransmitStrategy::Strict { .. } = self.strategy {
                let is_low_waiting = self.queues.highest(0..self.high_from).is_some();
                self.is_low_owed = queue >= self.high_from && is_low_waiting;
            }
        }
    }

    /// Returns the queue whose head enters now.
    fn next_entry(&self) -> Option<u8> {
        let high = || self.queues.highest(self.high_from..self.classes);
        let low = || self.queues.highest(0..self.high_from);
        match self.strategy {
            TransmitStrategy::Rings { .. } => (0..self.classes)
                .rev()
                .find(|&queue| !self.queues.is_empty(queue) && self.has_room(self.ring_of(queue))),
            _ if !self.has_room(0) => None,
            TransmitStrategy::Fifo => self.queues.highest_of_all(),
            TransmitStrategy::Moderate { empty } => {
                let used = self.rings[0].used;
                let is_empty = match empty {
                    RingEmpty::NoneWaitingOrSending => used == 0,
                    RingEmpty::NoneWaiting => used <= 1,
                };
                high().or_else(|| low().filter(|_| is_empty))
            }
            TransmitStrategy::Strict { .. } if self.is_low_owed => low(),
            TransmitStrategy::Strict { .. } => high(),
        }
    }

    /// Moves the head of a queue into its ring.
    fn enter(&mut self, now: Instant, queue: u8) {
        let Some(head) = self.queues.take(now, queue) else {
            return;
        };
        let Item { frame, class } = head.item;
        let class = class.min(self.classes - 1);
        let ring = self.ring_of(queue);
        let state = &mut self.rings[usize::from(ring)];
        state.used += 1;
        state.pending += 1;
        self.last_entry = now;
        self.entered.push_back(Transmit { frame, class, ring });
    }
}

#[cfg(test)]
mod tests;
