//! Receive queues and the selection of the next frame for the stack (S8; R75 to R78, R81).
//!
//! Frames wait in an input queue until the stack is ready. All of them are then sorted into the
//! queues of their classes, and one is selected. The selection never interrupts the stack; for that
//! see [`super::StackInstances`]. With a single queue this is the standard stack (R81).
//!
//! Within a class, frames keep their order under every algorithm. While the stack keeps selecting,
//! a frame waits at most: under A, without bound if higher classes never pause; under B, `picks`
//! times the limits of the queues from its own to below the top, plus the limit of the top queue,
//! in selections; under C with idle release and a top queue that has run empty, the idle release
//! and the frames ahead of it; under C with [`LowTurn::BelowTop`], even without a pause, two
//! selections for each frame ahead of it and for itself.

use rtether_model::endnode::{LowTurn, ReceiveConfig, ReceiveSelection};
use rtether_model::quantity::Instant;

use super::queue::{ClassQueues, Events, Fifo, LastCall, QueueStats, Waiting};
use super::{ConfigError, Event, QueueKind, Timeout, after};

/// State of the flag of algorithm C.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Low {
    Off,
    /// Set by a top frame.
    Turn,
    /// Set by an idle release.
    Idle,
}

/// The queues between driver and stack.
pub struct ReceiveQueues<F> {
    selection: ReceiveSelection,
    input: Fifo<F>,
    input_stats: QueueStats,
    queues: ClassQueues<F>,
    /// Algorithm B: frames selected since the last promotion round.
    picked: u32,
    /// State of algorithm C.
    low: Low,
    last_top: Instant,
    events: Events<F>,
    clock: LastCall,
}

impl<F> ReceiveQueues<F> {
    /// Creates empty queues. The idle clock of algorithm C starts at time zero.
    pub fn new(config: &ReceiveConfig) -> Result<Self, ConfigError> {
        if let ReceiveSelection::LowFlag { idle_release: Some(span), .. } = config.selection
            && span.is_negative()
        {
            return Err(ConfigError::NegativeTime);
        }
        Ok(Self {
            selection: config.selection,
            input: Fifo::new(config.input_limit)?,
            input_stats: QueueStats::default(),
            queues: ClassQueues::new(&config.queue_limits)?,
            picked: 0,
            low: Low::Off,
            last_top: Instant::ZERO,
            events: Events::new(),
            clock: LastCall::new(),
        })
    }

    /// Takes a frame from the driver into the input queue.
    pub fn handle_frame(&mut self, now: Instant, frame: F, class: u8) {
        let now = self.begin(now);
        let class = self.queues.queue_for(class);
        if self.input.is_full() {
            self.input_stats.dropped += 1;
            let place = QueueKind::Input;
            self.events.push(Event::Dropped { frame, class, place });
            return;
        }
        self.input.push(Waiting { item: frame, class, since: now });
        self.input_stats.accepted += 1;
        self.input_stats.note_depth(self.input.len());
    }

    /// Returns the next frame for a ready stack; `None` if it has to wait.
    pub fn select(&mut self, now: Instant) -> Option<F> {
        let now = self.begin(now);
        self.drain_input(now);
        let queue = match self.selection {
            ReceiveSelection::HighestFirst | ReceiveSelection::Promoting { .. } => {
                self.queues.highest_of_all()
            }
            ReceiveSelection::LowFlag { low_turn, .. } => self.low_flag_turn(now, low_turn),
        }?;
        let head = self.queues.take(now, queue)?;
        if let ReceiveSelection::Promoting { picks } = self.selection {
            self.picked += 1;
            if self.picked >= picks.get() {
                self.picked = 0;
                self.promote();
            }
        }
        Some(head.item)
    }

    /// Returns when a waiting stack should poll again even if no frame arrives.
    ///
    /// A time in the past is due at once.
    pub fn poll_timeout(&self) -> Option<(Instant, Timeout)> {
        let due = self.idle_due()?;
        let below = self.queues.highest(0..self.queues.top());
        (self.low == Low::Off && below.is_some()).then_some((due, Timeout::IdleRelease))
    }

    /// Notes the passage of time; a ready stack should select afterwards.
    pub fn handle_timeout(&mut self, now: Instant) {
        let now = self.begin(now);
        self.drain_input(now);
        self.note_idle(now);
    }

    /// Returns the next event of the last call.
    pub fn poll_event(&mut self) -> Option<Event<F>> {
        self.events.pop()
    }

    /// Returns the statistics of the input queue; its waiting times end when frames are sorted.
    pub const fn input_stats(&self) -> QueueStats {
        self.input_stats
    }

    /// Returns the statistics of a queue; its waiting times start at arrival.
    ///
    /// # Panics
    /// If there is no such queue.
    pub fn stats(&self, queue: u8) -> QueueStats {
        self.queues.stats(queue)
    }

    /// Returns the number of queues.
    pub fn count(&self) -> u8 {
        self.queues.top() + 1
    }

    /// Returns the number of waiting frames, sorted or not.
    pub fn waiting(&self) -> u64 {
        self.queues.len() + u64::from(self.input.len())
    }

    /// Returns the waiting frames for accounts and displays, not in the order in which they leave.
    pub fn frames(&self) -> impl Iterator<Item = &F> {
        self.queues.items().chain(self.input.items())
    }

    /// Returns the number of events that the host did not fetch in time.
    pub const fn events_lost(&self) -> u64 {
        self.events.lost()
    }

    /// Checks that no frame is lost and no limit is exceeded.
    ///
    /// # Panics
    /// If the check fails.
    pub fn invariants(&self) {
        self.queues.check();
        let input = self.input_stats;
        assert!(self.input.is_within_limit(), "input queue above its limit");
        assert_eq!(input.depth, self.input.len(), "depth of the input queue");
        let seen = input.released + u64::from(input.depth);
        assert_eq!(input.accepted, seen, "input queue is not conserved");
        let [accepted, dropped, _] = self.queues.totals();
        assert_eq!(input.released, accepted + dropped, "sorting loses frames");
        match self.selection {
            ReceiveSelection::Promoting { picks } => {
                assert!(self.picked < picks.get(), "a promotion round is due");
            }
            ReceiveSelection::HighestFirst | ReceiveSelection::LowFlag { .. } => {
                assert_eq!(self.picked, 0, "only algorithm B counts picks");
            }
        }
    }

    fn begin(&mut self, now: Instant) -> Instant {
        self.events.begin();
        self.clock.advance(now)
    }

    /// Sorts the input queue into the queues of the classes (R75).
    fn drain_input(&mut self, now: Instant) {
        while let Some(waiting) = self.input.pop() {
            let Waiting { item, class, since } = waiting;
            self.input_stats.note_released(now - since);
            // The idle clock of algorithm C is driven by arrival times, not by sorting.
            self.note_idle(since);
            if let Err(frame) = self.queues.offer(since, item, class) {
                let place = QueueKind::Queue;
                self.events.push(Event::Dropped { frame, class, place });
            }
        }
        self.input_stats.note_depth(0);
    }

    /// Promotes one frame of every queue, from high to low so that none moves twice.
    fn promote(&mut self) {
        for queue in (0..self.queues.top()).rev() {
            // There is room above: the top queue is empty or has just lost a frame to the stack,
            // and every other queue is empty or has just lost its head to promotion.
            if self.queues.promote(queue) {
                self.events.push(Event::Promoted { from: queue });
            }
        }
    }

    /// Returns the queue to take from under algorithm C, and sets or clears the flag.
    fn low_flag_turn(&mut self, now: Instant, low_turn: LowTurn) -> Option<u8> {
        self.note_idle(now);
        let top = self.queues.top();
        let queue = match (self.low, low_turn) {
            (Low::Off, _) => (!self.queues.is_empty(top)).then_some(top)?,
            (_, LowTurn::AllQueues) => self.queues.highest_of_all()?,
            (_, LowTurn::BelowTop) => {
                self.queues.highest(0..top).or_else(|| self.queues.highest_of_all())?
            }
        };
        if self.low == Low::Idle && queue != top {
            self.queues.stats_mut(queue).idle_releases += 1;
            self.events.push(Event::IdleRelease { queue });
        }
        self.low = if self.low == Low::Off { Low::Turn } else { Low::Off };
        if queue == top {
            self.last_top = now;
        }
        Some(queue)
    }

    /// Sets the flag of algorithm C if there has been no top frame for the idle release.
    fn note_idle(&mut self, now: Instant) {
        if self.low == Low::Off && self.idle_due().is_some_and(|due| due <= now) {
            self.low = Low::Idle;
        }
    }

    /// Returns when the idle release is due; `None` while a top frame waits.
    fn idle_due(&self) -> Option<Instant> {
        match self.selection {
            ReceiveSelection::LowFlag { idle_release, .. }
                if self.queues.is_empty(self.queues.top()) =>
            {
                Some(after(self.last_top, idle_release?))
            }
            ReceiveSelection::LowFlag { .. }
            | ReceiveSelection::HighestFirst
            | ReceiveSelection::Promoting { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests;
