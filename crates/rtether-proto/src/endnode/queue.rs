//! Bounded queues, one per class, with statistics (R85); shared by the engines of this layer.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use rtether_model::quantity::{Duration, Instant};

use super::{ConfigError, Event, MAX_CLASSES};

/// Statistics of one queue.
///
/// `depth` refers to the queue's current content; everything else to the class in which a frame
/// arrived, even if algorithm B has promoted it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueStats {
    /// Frames that were queued.
    pub accepted: u64,
    /// Frames dropped because the queue was full.
    pub dropped: u64,
    /// Frames that left.
    pub released: u64,
    /// Frames waiting in the queue now.
    pub depth: u32,
    /// Largest number of frames that waited in the queue.
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

    /// Adds the counters of another class; [`Self::note_depth`] sets `depth`.
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

/// A waiting frame.
pub(super) struct Waiting<T> {
    pub(super) item: T,
    pub(super) class: u8,
    pub(super) since: Instant,
}

/// A first-in, first-out queue with a limit.
pub(super) struct Fifo<T> {
    items: VecDeque<Waiting<T>>,
    limit: u32,
    /// Largest permitted length: the limit, or more after frames were moved here above it.
    most: u32,
}

impl<T> Fifo<T> {
    pub(super) fn new(limit: u32) -> Result<Self, ConfigError> {
        if limit == 0 {
            return Err(ConfigError::ZeroLimit);
        }
        Ok(Self { items: VecDeque::new(), limit, most: limit })
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

    /// Appends an item regardless of the limit.
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

/// One queue per class; the highest number is the highest class.
pub(super) struct ClassQueues<T> {
    fifos: Vec<Fifo<T>>,
    stats: Vec<QueueStats>,
}

impl<T> ClassQueues<T> {
    /// Creates empty queues, one for each limit.
    pub(super) fn new(limits: &[u32]) -> Result<Self, ConfigError> {
        if limits.is_empty() || limits.len() > MAX_CLASSES {
            return Err(ConfigError::QueueCount { found: limits.len() });
        }
        let fifos = limits.iter().map(|&limit| Fifo::new(limit));
        Ok(Self {
            fifos: fifos.collect::<Result<_, _>>()?,
            stats: alloc::vec![QueueStats::default(); limits.len()],
        })
    }

    /// Moves all items and statistics into the empty queues of `other`; `class_of` returns the
    /// class of an item there. No item is dropped: a queue longer than its limit accepts no more.
    pub(super) fn move_into(self, other: &mut Self, class_of: impl Fn(&T) -> u8) {
        for (stats, queue) in self.stats.iter().zip(0_u8..) {
            let index = usize::from(other.queue_for(queue));
            other.stats[index].add(stats);
        }
        let all = self.fifos.into_iter().flat_map(|fifo| fifo.items);
        let mut all: Vec<Waiting<T>> = all.collect();
        // Keeps the order of arrival where two queues are merged.
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

    /// Returns the number of waiting frames in all queues.
    pub(super) fn len(&self) -> u64 {
        self.fifos.iter().map(|fifo| u64::from(fifo.len())).sum()
    }

    /// Returns the highest non-empty queue in `range`.
    pub(super) fn highest(&self, range: core::ops::Range<u8>) -> Option<u8> {
        range.rev().find(|&queue| !self.is_empty(queue))
    }

    /// Returns the highest non-empty queue.
    pub(super) fn highest_of_all(&self) -> Option<u8> {
        self.highest(0..self.top() + 1)
    }

    /// Appends an item, or returns it if the queue is full.
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

    /// Removes the head of a queue and records its waiting time up to `now`.
    pub(super) fn take(&mut self, now: Instant, queue: u8) -> Option<Waiting<T>> {
        let head = self.remove(queue)?;
        self.stats[usize::from(head.class)].note_released(now - head.since);
        Some(head)
    }

    /// Removes the head of a queue; the caller records its waiting time.
    pub(super) fn remove(&mut self, queue: u8) -> Option<Waiting<T>> {
        let index = usize::from(queue);
        let head = self.fifos[index].pop()?;
        self.note_depth(index);
        Some(head)
    }

    /// Moves the head of `queue` to the tail of the next higher one; `false` if it was empty.
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

    /// Returns all waiting items, lowest queue first.
    pub(super) fn items(&self) -> impl Iterator<Item = &T> {
        self.fifos.iter().flat_map(Fifo::items)
    }

    /// Returns when the head of a queue was queued.
    pub(super) fn head_since(&self, queue: u8) -> Option<Instant> {
        let fifo = &self.fifos[usize::from(queue)];
        fifo.items.front().map(|waiting| waiting.since)
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

    /// Returns the sums over all classes: accepted, dropped, released.
    pub(super) fn totals(&self) -> [u64; 3] {
        self.stats.iter().fold([0; 3], |[a, d, r], stats| {
            [a + stats.accepted, d + stats.dropped, r + stats.released]
        })
    }

    /// Panics if frames of a class were lost or duplicated, or a limit is exceeded.
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
        Self { queue: VecDeque::new(), lost: 0 }
    }

    /// Starts a call: events not fetched are discarded and counted.
    pub(super) fn begin(&mut self) {
        debug_assert!(self.queue.is_empty(), "events are drained before the next call");
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

/// Time of the last call; it never decreases.
pub(super) struct LastCall(Instant);

impl LastCall {
    pub(super) const fn new() -> Self {
        Self(Instant::ZERO)
    }

    /// Records a call; in release builds, a time in the past is raised to the last one.
    pub(super) fn advance(&mut self, now: Instant) -> Instant {
        debug_assert!(now >= self.0, "time goes back from {:?} to {now:?}", self.0);
        self.0 = self.0.max(now);
        self.0
    }
}
