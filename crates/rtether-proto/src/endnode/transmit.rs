//! Hardware ring and software queues of a driver, and when frames enter the ring (S9; R79 to R81,
//! R83).
//!
//! The ring is counted in descriptors: a frame that enters is handed out by
//! [`TransmitQueues::poll_transmit`], and the driver reports each frame that has left the wire by
//! [`TransmitQueues::handle_completion`]. The oldest descriptor of a ring is in transmission. The
//! hardware works the ring off first in, first out.
//!
//! Waiting times end on entry into the ring. After the last high frame, the k-th low frame of the
//! strict strategy enters at most k idle releases later, given room in the ring.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use rtether_model::endnode::{RingEmpty, TransmitConfig, TransmitStrategy};
use rtether_model::network::Feature;
use rtether_model::quantity::{Bytes, Instant};

use super::queue::{ClassQueues, Events, LastCall, QueueStats};
use super::{ConfigError, Event, QueueKind, Timeout, after};
use crate::port::{Decision, Selector, Unlimited, Waiting};

/// A frame that enters a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit<F> {
    /// The frame.
    pub frame: F,
    /// The class in which it arrived.
    pub class: u8,
    /// The ring it enters.
    pub ring: u8,
}

/// One ring of descriptors.
#[derive(Clone, Copy, Default)]
struct Ring {
    /// Descriptors in use, including frames not yet handed out.
    used: u32,
    /// Of these, frames not yet handed out.
    pending: u32,
    completed: u64,
}

/// Queues between stack and driver.
pub struct TransmitQueues<F> {
    strategy: TransmitStrategy,
    /// Chooses under [`TransmitStrategy::Selection`].
    selector: Option<Selector>,
    /// When it is asked again; `None` unless frames wait for a time.
    not_before: Option<Instant>,
    classes: u8,
    high_from: u8,
    ring_limit: u32,
    /// Largest ring limit so far: a ring above a lowered limit only empties.
    ring_most: u32,
    rings: Vec<Ring>,
    queues: ClassQueues<Item<F>>,
    /// Frames that have entered a ring but are not yet handed out.
    entered: VecDeque<Transmit<F>>,
    /// Strict: the ring was full after a high frame, so a low one goes next.
    is_low_owed: bool,
    last_entry: Instant,
    spurious: u64,
    events: Events<F>,
    clock: LastCall,
}

/// A frame with its original class, which its queue does not determine under the FIFO strategy or
/// for classes above the top.
struct Item<F> {
    frame: F,
    class: u8,
    /// Addresses to FCS.
    size: Bytes,
}

impl<F> Waiting for ClassQueues<Item<F>> {
    fn has_frame(&self, queue: u8) -> bool {
        !self.is_empty(queue)
    }

    fn head_size(&self, queue: u8) -> u32 {
        let head = self.head(queue);
        head.map_or(0, |item| u32::try_from(item.size.get()).unwrap_or(u32::MAX))
    }

    fn head_since(&self, queue: u8) -> Instant {
        Self::head_since(self, queue).unwrap_or(Instant::ZERO)
    }
}

impl<F> TransmitQueues<F> {
    /// Creates empty queues. The idle clock of the strict strategy starts at time zero.
    pub fn new(config: &TransmitConfig) -> Result<Self, ConfigError> {
        let limits = &config.queue_limits;
        // Created even if the FIFO strategy needs another, to check the limits.
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
        let plan = config.plan();
        if plan.as_ref().is_some_and(|plan| !plan.needs(Feature::Queues)) {
            return Err(ConfigError::SelectionWithoutQueues);
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
            TransmitStrategy::Strict { idle_release: Some(span) } if span.is_negative() => {
                return Err(ConfigError::NegativeTime);
            }
            TransmitStrategy::Moderate { .. }
            | TransmitStrategy::Strict { .. }
            | TransmitStrategy::Selection(_) => (by_class, 1),
        };
        Ok(Self {
            strategy: config.strategy,
            // Frames of the ring are between the selection and the line.
            selector: plan.map(|plan| Selector::new(&plan, None)),
            not_before: None,
            classes,
            // The single queue of the FIFO strategy is neither high nor low.
            high_from: if config.strategy == TransmitStrategy::Fifo { 0 } else { high_from },
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

    /// Changes strategy and limits at run time; a refused configuration changes nothing.
    ///
    /// No frame is lost: waiting frames move to the queues of their classes in order of arrival,
    /// and a queue or ring longer than its new limit accepts no more. Frames in a ring that is no
    /// longer used can still complete.
    pub fn set(&mut self, now: Instant, config: &TransmitConfig) -> Result<(), ConfigError> {
        let fresh = Self::new(config)?;
        let now = self.begin(now);
        let before = core::mem::replace(&mut self.queues, fresh.queues);
        before.move_into(&mut self.queues, |item| item.class);
        if self.strategy != fresh.strategy || self.classes != fresh.classes {
            self.selector = fresh.selector;
        }
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

    /// Takes a frame of `size` octets, addresses to FCS, from the stack.
    pub fn enqueue(&mut self, now: Instant, frame: F, size: Bytes, class: u8) {
        let now = self.begin(now);
        let item = Item { frame, class, size };
        if let Err(Item { frame, class, .. }) = self.queues.offer(now, item, class) {
            let (class, place) = (class.min(self.classes - 1), QueueKind::Queue);
            self.events.push(Event::Dropped { frame, class, place });
        }
        self.fill(now);
    }

    /// Records that the frame in transmission in a ring has left; `false` if there was none.
    ///
    /// A completion without a frame, or for a ring that does not exist, is counted and has no other
    /// effect.
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

    /// Returns the next frame that has entered a ring; the host calls it until `None`.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Transmit<F>> {
        self.clock.advance(now);
        let transmit = self.entered.pop_front()?;
        self.rings[usize::from(transmit.ring)].pending -= 1;
        Some(transmit)
    }

    /// Returns when the idle release is due, or when the selection is asked again; a time in the
    /// past is due at once.
    pub fn poll_timeout(&self) -> Option<(Instant, Timeout)> {
        if let Some(time) = self.not_before {
            return Some((time, Timeout::Selection));
        }
        let TransmitStrategy::Strict { idle_release: Some(span) } = self.strategy else {
            return None;
        };
        let can_enter = self.has_room(0) && self.queues.highest(0..self.high_from).is_some();
        can_enter.then(|| (after(self.last_entry, span), Timeout::IdleRelease))
    }

    /// Moves one low frame into the ring if the idle release is due; asks the selection again if
    /// that is.
    pub fn handle_timeout(&mut self, now: Instant) {
        let now = self.begin(now);
        if self.selector.is_some() {
            self.fill(now);
            return;
        }
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

    /// Returns the statistics of a software queue; the FIFO strategy has only one.
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

    /// Returns the frames in the software queues for accounts and displays, not in the order in
    /// which they leave.
    pub fn frames(&self) -> impl Iterator<Item = &F> {
        self.queues.items().map(|item| &item.frame)
    }

    /// Returns the frames that have entered a ring but are not yet handed out.
    pub(crate) fn entered(&self) -> impl Iterator<Item = &Transmit<F>> {
        self.entered.iter()
    }

    /// Returns the number of rings, including those used before a change.
    pub fn ring_count(&self) -> u8 {
        // At most one for each class.
        u8::try_from(self.rings.len()).unwrap_or(u8::MAX)
    }

    /// Returns the number of descriptors in use in a ring, including the one in transmission.
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

    /// Checks that no frame is lost, no limit is exceeded, and no frame waits that could enter.
    ///
    /// # Panics
    /// If the check fails.
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
        if self.selector.is_some() && self.not_before.is_none() {
            let is_stuck = self.has_room(0) && self.waiting() > 0;
            assert!(!is_stuck, "a frame waits that the selection could send");
        }
    }

    fn begin(&mut self, now: Instant) -> Instant {
        debug_assert!(self.entered.is_empty(), "frames are drained before the next call");
        self.events.begin();
        self.clock.advance(now)
    }

    fn has_room(&self, ring: u8) -> bool {
        self.rings[usize::from(ring)].used < self.ring_limit
    }

    /// Returns the ring that a queue feeds.
    fn ring_of(&self, queue: u8) -> u8 {
        match self.strategy {
            TransmitStrategy::Rings { count } => queue.saturating_sub(self.classes - count),
            TransmitStrategy::Fifo
            | TransmitStrategy::Moderate { .. }
            | TransmitStrategy::Strict { .. }
            | TransmitStrategy::Selection(_) => 0,
        }
    }

    /// Moves all frames that may enter into the rings.
    fn fill(&mut self, now: Instant) {
        while let Some(queue) = self.selected(now) {
            self.enter(now, queue);
        }
        while let Some(queue) = self.next_entry() {
            self.enter(now, queue);
            if let TransmitStrategy::Strict { .. } = self.strategy {
                let is_low_waiting = self.queues.highest(0..self.high_from).is_some();
                self.is_low_owed = queue >= self.high_from && is_low_waiting;
            }
        }
    }

    /// Returns the queue that the selection chooses if the ring has room.
    fn selected(&mut self, now: Instant) -> Option<u8> {
        self.not_before = None;
        let has_room = self.has_room(0);
        let selector = self.selector.as_mut().filter(|_| has_room)?;
        match selector.poll(now, &Unlimited, &self.queues) {
            Decision::Send(queue) => Some(queue),
            Decision::NotBefore(time) => {
                self.not_before = Some(time);
                None
            }
            Decision::Empty => None,
        }
    }

    /// Returns the queue whose head may enter now, without a selection.
    fn next_entry(&self) -> Option<u8> {
        let high = || self.queues.highest(self.high_from..self.classes);
        let low = || self.queues.highest(0..self.high_from);
        match self.strategy {
            TransmitStrategy::Selection(_) => None,
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
        let Item { frame, class, .. } = head.item;
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
