//! One instance of the protocol stack per class, at the task priority of the class (S7; R82).
//!
//! The instance of the highest class that has a frame runs. A frame of a higher class interrupts
//! it; the rest of its service follows later, in the same order. Within a class, frames are served
//! in order of arrival and do not interrupt each other. The model has one processor; switching
//! between instances takes no time.

use alloc::vec::Vec;

use rtether_model::quantity::{Duration, Instant};

use super::queue::{ClassQueues, Events, LastCall, QueueStats};
use super::{ConfigError, Event, QueueKind, Timeout, after};

/// A frame and its remaining service.
struct Job<F> {
    frame: F,
    cost: Duration,
    remaining: Duration,
}

/// The running instance.
#[derive(Clone, Copy)]
struct Running {
    class: u8,
    since: Instant,
}

/// Instances of the stack on one processor.
///
/// Waiting times are from arrival to completion, excluding service. The frame in service counts
/// towards the depth and limit of its queue.
pub struct StackInstances<F> {
    queues: ClassQueues<Job<F>>,
    running: Option<Running>,
    preemptions: u64,
    busy: Duration,
    events: Events<F>,
    clock: LastCall,
}

impl<F> StackInstances<F> {
    /// Creates idle instances; `queue_limits` is the number of frames that each may hold, lowest
    /// class first.
    pub fn new(queue_limits: &[u32]) -> Result<Self, ConfigError> {
        Ok(Self {
            queues: ClassQueues::new(queue_limits)?,
            running: None,
            preemptions: 0,
            busy: Duration::ZERO,
            events: Events::new(),
            clock: LastCall::new(),
        })
    }

    /// Hands a frame to the instance of its class; `cost` is its service time.
    ///
    /// A negative cost counts as zero. A completion that is due at `now` takes effect first: its
    /// frame is not interrupted.
    pub fn handle_frame(&mut self, now: Instant, frame: F, class: u8, cost: Duration) {
        let now = self.begin(now);
        let class = self.queues.queue_for(class);
        let cost = cost.max(Duration::ZERO);
        let remaining = cost;
        let job = Job { frame, cost, remaining };
        if let Err(Job { frame, .. }) = self.queues.offer(now, job, class) {
            let place = QueueKind::Queue;
            self.events.push(Event::Dropped { frame, class, place });
            return;
        }
        match self.running {
            None => self.start(now),
            Some(running) if running.class < class && !self.is_done(now) => {
                self.suspend(now);
                self.preemptions += 1;
                self.events.push(Event::Preempted { class: running.class, by: class });
                self.start(now);
            }
            Some(_) => {}
        }
    }

    /// Returns when the running instance completes its frame.
    pub fn poll_timeout(&self) -> Option<(Instant, Timeout)> {
        self.due().map(|due| (due, Timeout::Completion))
    }

    /// Returns the completed frame, if one is due, and starts the next one.
    pub fn handle_timeout(&mut self, now: Instant) -> Option<F> {
        let now = self.begin(now);
        if !self.is_done(now) {
            return None;
        }
        let running = self.running.take()?;
        let done = self.queues.remove(running.class)?;
        self.busy += done.item.remaining;
        let waited = now - done.since - done.item.cost;
        let stats = self.queues.stats_mut(done.class);
        stats.note_released(waited);
        self.start(now);
        Some(done.item.frame)
    }

    /// Returns the next event of the last call.
    pub fn poll_event(&mut self) -> Option<Event<F>> {
        self.events.pop()
    }

    /// Returns the statistics of an instance.
    ///
    /// # Panics
    /// If there is no such instance.
    pub fn stats(&self, class: u8) -> QueueStats {
        self.queues.stats(class)
    }

    /// Returns the number of instances.
    pub fn count(&self) -> u8 {
        self.queues.top() + 1
    }

    /// Returns the class of the running instance.
    pub fn running(&self) -> Option<u8> {
        self.running.map(|running| running.class)
    }

    /// Returns the frame in service and its completion time, if no other frame can interrupt it.
    pub fn certain(&self) -> Option<(&F, Instant)> {
        let running = self.running.filter(|running| running.class == self.queues.top())?;
        let job = self.queues.head(running.class)?;
        Some((&job.frame, after(running.since, job.remaining)))
    }

    /// Returns the number of frames in all instances, including the one in service.
    pub fn waiting(&self) -> u64 {
        self.queues.len()
    }

    /// Returns the frames in all instances for accounts and displays, not in the order in which
    /// they leave.
    pub fn frames(&self) -> impl Iterator<Item = &F> {
        self.queues.items().map(|job| &job.frame)
    }

    /// Returns how often an instance was interrupted.
    pub const fn preemptions(&self) -> u64 {
        self.preemptions
    }

    /// Returns the service time spent, up to the last completion or interruption.
    pub const fn busy(&self) -> Duration {
        self.busy
    }

    /// Returns the number of events that the host did not fetch in time.
    pub const fn events_lost(&self) -> u64 {
        self.events.lost()
    }

    /// Checks that no frame is lost and that the highest class runs.
    ///
    /// `now` is the time of the last call. If a completion is due but not handled, a higher class
    /// may be waiting.
    ///
    /// # Panics
    /// If a frame is lost, or a lower class runs.
    pub fn invariants(&self, now: Instant) {
        self.queues.check();
        let highest = self.queues.highest_of_all();
        if !self.is_done(now) {
            assert_eq!(self.running(), highest, "the highest class runs");
        }
        assert_eq!(self.running.is_some(), highest.is_some(), "never idle");
        let jobs: Vec<&Job<F>> =
            (0..=self.queues.top()).filter_map(|class| self.queues.head(class)).collect();
        for job in jobs {
            let is_partial = Duration::ZERO <= job.remaining && job.remaining <= job.cost;
            assert!(is_partial, "service left is between none and all");
        }
    }

    fn begin(&mut self, now: Instant) -> Instant {
        self.events.begin();
        self.clock.advance(now)
    }

    fn due(&self) -> Option<Instant> {
        let running = self.running?;
        let job = self.queues.head(running.class)?;
        Some(after(running.since, job.remaining))
    }

    fn is_done(&self, now: Instant) -> bool {
        self.due().is_some_and(|due| due <= now)
    }

    fn start(&mut self, now: Instant) {
        self.running = self.queues.highest_of_all().map(|class| Running { class, since: now });
    }

    fn suspend(&mut self, now: Instant) {
        if let Some(running) = self.running.take()
            && let Some(job) = self.queues.head_mut(running.class)
        {
            let served = now - running.since;
            job.remaining -= served;
            self.busy += served;
        }
    }
}

#[cfg(test)]
mod tests;
