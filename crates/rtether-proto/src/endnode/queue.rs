//! Bounded queues, one a class, and their statistics (R85); what the engines of this layer share.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use rtether_model::quantity::{Duration, Instant};

use super::{ConfigError, Event, MAX_CLASSES};

/// What happened at one queue.
///
/// `depth` belongs to the queue as it stands; everything else to the class in which the frame came,
/// also if algorithm B has moved it up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueStats {
    /// Frames that found room.
    pub accepted: u64,
    /// Frames that found the queue full.
    pub dropped: u64,
    /// Frames that left.
    pub released: u64,
    /// Frames that wait in the queue now.
    pub depth: u32,
    /// The most frames that waited in the queue.
    pub depth_max: u32,
    /// Sum of the waiting times of the frames that left, in picoseconds.
    pub waited_ps: i128,
    /// Longest waiting time of a frame that left.
    pub waited_max: Duration,
    /// Frames moved from this queue to the next higher one.
    pub promotions: u64,
    /// Frames that left this queue because of an idle release.
    pub idle_releases: u64,
}

impl QueueStats {
    pub(super) const fn note_depth(&mut self, depth: u32) {
        self.depth = depth;
        if depth > self.depth_max {
            self.depth_max = depth;
        }
    }

    pub(super) fn note_released(&mut self, waited: Duration) {
        self.released += 1;
        self.waited_ps += i128::from(waited.as_ps());
        self.waited_max = self.waited_max.max(waited);
    }

    /// Adds what happened to the frames of another class; depths are left to [`Self::note_depth`].
    fn add(&mut self, other: &Self) {
        self.accepted += other.accepted;
        self.dropped += other.dropped;
        self.released += other.released;
        self.depth_max = self.depth_max.max(other.depth_max);
        self.waited_ps += other.waited_ps;
        self.waited_max = self.waited_max.max(other.waited_max);
        self.promotions += other.promotions;
        self.idle_releases += other.idle_releases;
    }
}

/// One frame that waits.
pub(super) struct Waiting<T> {
    pub(super) item: T,
    pub(super) class: u8,
    pub(super) since: Instant,
}

/// First in, first out, up to a limit.
pub(super) struct Fifo<T> {
    items: VecDeque<Waiting<T>>,
    limit: u32,
    /// Frames that were moved here above the limit, with those within it.
    most: u32,
}

impl<T> Fifo<T> {
    pub(super) fn new(limit: u32) -> Result<Self, ConfigError> {
        if limit == 0 {
            return Err(ConfigError::ZeroLimit);
        }
        Ok(Self {
            items: VecDeque::new(),
            limit,
            most: limit,
        })
    }

    pub(super) fn len(&self) -> u32 {
        u32::try_from(self.items.len()).expect("a queue is no longer than its limit")
    }

    pub(super) fn is_full(&self) -> bool {
        self.len() >= self.limit
    }

    pub(super) fn push(&mut self, waiting: Waiting<T>) {
        debug_assert!(!self.is_full(), "pushed into a full queue");
        self.items.push_back(waiting);
    }

    pub(super) fn pop(&mut self) -> Option<Waiting<T>> {
        self.items.pop_front()
    }

    /// Appends an item whatever the limit.
    fn push_moved(&mut self, waiting: Waiting<T>) {
        self.items.push_back(waiting);
        self.most = self.most.max(self.len());
    }

    pub(super) fn is_within_limit(&self) -> bool {
        self.len() <= self.most
    }

    /// Returns all items, oldest first.
    pub(super) fn items(&self) -> impl Iterator<Item = &T> {
        self.items.iter().map(|waiting| &waiting.item)
    }
}

/// One queue a class; the highest number is the highest class.
pub(super) struct ClassQueues<T> {
    fifos: Vec<Fifo<T>>,
    stats: Vec<QueueStats>,
}

impl<T> ClassQueues<T> {
    /// Creates empty queues, one for each limit.
    pub(super) fn new(limits: &[u32]) -> Result<Self, ConfigError> {
        if limits.is_empty() || limits.len() > MAX_CLASSES {
            return Err(ConfigError::QueueCount {
                found: limits.len(),
            });
        }
        let fifos = limits.iter().map(|&limit| Fifo::new(limit));
        Ok(Self {
            fifos: fifos.collect::<Result<_, _>>()?,
            stats: alloc::vec![QueueStats::default(); limits.len()],
        })
    }

    /// Moves all items and statistics into other, empty queues; `class_of` says in which class an
    /// item belongs there. No item is dropped: a queue that becomes longer than its limit takes no
    /// more.
    pub(super) fn move_into(self, other: &mut Self, class_of: impl Fn(&T) -> u8) {
        for (stats, queue) in self.stats.iter().zip(0_u8..) {
            let index = usize::from(other.queue_for(queue));
            other.stats[index].add(stats);
        }
        let all = self.fifos.into_iter().flat_map(|fifo| fifo.items);
        let mut all: Vec<Waiting<T>> = all.collect();
        // What came first stays first where two queues become one.
        all.sort_by_key(|waiting| waiting.since);
        for mut waiting in all {
            let before = usize::from(other.queue_for(waiting.class));
            waiting.class = other.queue_for(class_of(&waiting.item));
            let index = usize::from(waiting.class);
            other.stats[before].accepted -= 1;
            other.stats[index].accepted += 1;
            other.fifos[index].push_moved(waiting);
        }
        for index in 0..other.fifos.len() {
            other.note_depth(index);
        }
    }

    /// Returns the number of the highest queue.
    pub(super) fn top(&self) -> u8 {
        u8::try_from(self.fifos.len() - 1).expect("at most eight queues")
    }

    /// Returns the queue that frames of `class` use.
    pub(super) fn queue_for(&self, class: u8) -> u8 {
        class.min(self.top())
    }

    pub(super) fn is_empty(&self, queue: u8) -> bool {
        self.fifos[usize::from(queue)].items.is_empty()
    }

    /// Returns the number of frames that wait in all queues.
    pub(super) fn len(&self) -> u64 {
        self.fifos.iter().map(|fifo| u64::from(fifo.len())).sum()
    }

    /// Returns the highest queue in `range` that is not empty.
    pub(super) fn highest(&self, range: core::ops::Range<u8>) -> Option<u8> {
        range.rev().find(|&queue| !self.is_empty(queue))
    }

    /// Returns the highest queue that is not empty.
    pub(super) fn highest_of_all(&self) -> Option<u8> {
        self.highest(0..self.top() + 1)
    }

    /// Appends an item, or gives it back if the queue is full.
    pub(super) fn offer(&mut self, since: Instant, item: T, class: u8) -> Result<(), T> {
        let index = usize::from(self.queue_for(class));
        if self.fifos[index].is_full() {
            self.stats[index].dropped += 1;
            return Err(item);
        }
        let class = self.queue_for(class);
        self.fifos[index].push(Waiting { item, class, since });
        self.stats[index].accepted += 1;
        self.note_depth(index);
        Ok(())
    }

    /// Takes the head of a queue and books its waiting time up to `now`.
    pub(super) fn take(&mut self, now: Instant, queue: u8) -> Option<Waiting<T>> {
        let head = self.remove(queue)?;
        self.stats[usize::from(head.class)].note_released(now - head.since);
        Some(head)
    }

    /// Takes the head of a queue and leaves the waiting time to the caller.
    pub(super) fn remove(&mut self, queue: u8) -> Option<Waiting<T>> {
        let index = usize::from(queue);
        let head = self.fifos[index].pop()?;
        self.note_depth(index);
        Some(head)
    }

    /// Moves the head of `queue` to the tail of the next higher one; says whether there was one.
    pub(super) fn promote(&mut self, queue: u8) -> bool {
        let (index, above) = (usize::from(queue), usize::from(queue) + 1);
        let Some(head) = self.fifos[index].pop() else {
            return false;
        };
        self.fifos[above].push(head);
        self.stats[index].promotions += 1;
        self.note_depth(index);
        self.note_depth(above);
        true
    }

    /// Returns all items that wait, lowest queue first.
    pub(super) fn items(&self) -> impl Iterator<Item = &T> {
        self.fifos.iter().flat_map(Fifo::items)
    }

    /// Returns the head of a queue.
    pub(super) fn head_mut(&mut self, queue: u8) -> Option<&mut T> {
        let fifo = &mut self.fifos[usize::from(queue)];
        fifo.items.front_mut().map(|waiting| &mut waiting.item)
    }

    /// Returns the head of a queue.
    pub(super) fn head(&self, queue: u8) -> Option<&T> {
        let fifo = &self.fifos[usize::from(queue)];
        fifo.items.front().map(|waiting| &waiting.item)
    }

    pub(super) fn stats(&self, queue: u8) -> QueueStats {
        self.stats[usize::from(queue)]
    }

    pub(super) fn stats_mut(&mut self, queue: u8) -> &mut QueueStats {
        &mut self.stats[usize::from(queue)]
    }

    /// Returns sums over all classes: accepted, dropped, released.
    pub(super) fn totals(&self) -> [u64; 3] {
        self.stats.iter().fold([0; 3], |[a, d, r], stats| {
            [a + stats.accepted, d + stats.dropped, r + stats.released]
        })
    }

    /// Panics if a frame has been lost or made, class by class, or a limit is exceeded.
    pub(super) fn check(&self) {
        let mut waiting = [0_u64; MAX_CLASSES];
        for (queue, fifo) in self.fifos.iter().enumerate() {
            assert!(fifo.is_within_limit(), "queue {queue} above its limit");
            assert_eq!(self.stats[queue].depth, fifo.len(), "depth of {queue}");
            for item in &fifo.items {
                assert!(usize::from(item.class) <= queue, "a frame went down");
                waiting[usize::from(item.class)] += 1;
            }
        }
        for (class, stats) in self.stats.iter().enumerate() {
            let known = stats.released + waiting[class];
            assert_eq!(stats.accepted, known, "class {class} is not conserved");
        }
    }

    fn note_depth(&mut self, index: usize) {
        let depth = self.fifos[index].len();
        self.stats[index].note_depth(depth);
    }
}

/// Events of one call; the host drains them before the next.
pub(super) struct Events<F> {
    queue: VecDeque<Event<F>>,
    lost: u64,
}

impl<F> Events<F> {
    pub(super) const fn new() -> Self {
        Self {
            queue: VecDeque::new(),
            lost: 0,
        }
    }

    /// Begins a call: what the host has left behind is lost, and counted.
    pub(super) fn begin(&mut self) {
        debug_assert!(
            self.queue.is_empty(),
            "events are drained before the next call"
        );
        let left = u64::try_from(self.queue.len()).unwrap_or(u64::MAX);
        self.lost = self.lost.saturating_add(left);
        self.queue.clear();
    }

    pub(super) fn push(&mut self, event: Event<F>) {
        self.queue.push_back(event);
    }

    pub(super) fn pop(&mut self) -> Option<Event<F>> {
        self.queue.pop_front()
    }

    pub(super) const fn lost(&self) -> u64 {
        self.lost
    }
}

/// The time of the last call, which never goes back.
pub(super) struct LastCall(Instant);

impl LastCall {
    pub(super) const fn new() -> Self {
        Self(Instant::ZERO)
    }

    /// Notes a call; in release builds a time in the past counts as the present.
    pub(super) fn advance(&mut self, now: Instant) -> Instant {
        debug_assert!(now >= self.0, "time goes back from {:?} to {now:?}", self.0);
        self.0 = self.0.max(now);
        self.0
    }
}
