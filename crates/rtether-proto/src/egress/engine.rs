//! The composition itself.

use alloc::collections::VecDeque;

use rtether_model::endnode::{Layer, TransmitConfig, TransmitStrategy};
use rtether_model::quantity::{BitRate, Bytes, Duration, Instant};
use rtether_model::wire;

use super::pacer::Pacer;
use super::record::{Call, Decision, Dropper, Recorder, What};
use super::ring::{Descriptor, Rings};
use super::watch::Completed;
use super::{DROPPED_MAX, EgressError, Handed, Offered, PLAIN_RING, Seeds, Statistics};
use crate::endnode::{Event, Transmit, TransmitQueues};
use crate::smoother::congestion::Marked;

/// Smoother, transmit queues and rings of one port, for frames of type `F`.
pub struct Egress<F> {
    now: Instant,
    rate: BitRate,
    seeds: Seeds,
    pub(super) pacer: Option<Pacer<Item<F>>>,
    pub(super) transmit: TransmitQueues<Item<F>>,
    /// The layer has transmit queues; else `transmit` lets everything pass.
    pub(super) has_queues: bool,
    pub(super) rings: Rings,
    /// Frames below the smoother and their octets.
    pub(super) below: u32,
    pub(super) below_size: Bytes,
    /// Something happened after which the smoother may let a packet go.
    is_pumping: bool,
    /// Frames that have entered a ring in a call after which the host did not fetch them.
    pub(super) entered: VecDeque<Transmit<Item<F>>>,
    /// Rings with descriptors that the host has refused to use.
    pub(super) unused: VecDeque<u8>,
    dropped: VecDeque<F>,
    pub(super) statistics: Statistics,
    pub(super) recorder: Option<Recorder>,
}

/// A frame on its way.
#[derive(Clone, Debug)]
pub(super) struct Item<F> {
    /// In order of arrival, from 0.
    number: u64,
    pub(super) frame: F,
    pub(super) offered: Offered,
}

/// Returns what the transmit queues of a layer are made of.
fn transmit_config(layer: &Layer) -> TransmitConfig {
    layer.transmit.clone().unwrap_or_else(|| TransmitConfig {
        ring_limit: PLAIN_RING,
        queue_limits: alloc::vec![1],
        high_from: None,
        strategy: TransmitStrategy::Fifo,
    })
}

impl<F> Egress<F> {
    /// Creates empty queues for a port at a link of this rate. `now` is not before
    /// [`Instant::ZERO`].
    ///
    /// # Errors
    /// If the engines refuse their parameters.
    pub fn new(
        now: Instant,
        layer: &Layer,
        rate: BitRate,
        seeds: Seeds,
    ) -> Result<Self, EgressError> {
        let now = now.max(Instant::ZERO);
        let transmit = TransmitQueues::new(&transmit_config(layer))?;
        let pacer = layer.smoother.as_ref();
        let pacer = pacer.map(|smoothing| Pacer::new(now, smoothing, seeds, rate));
        Ok(Self {
            now,
            rate,
            seeds,
            pacer: pacer.transpose()?,
            has_queues: layer.transmit.is_some(),
            rings: Rings::new(now, transmit.ring_count()),
            transmit,
            below: 0,
            below_size: Bytes::ZERO,
            is_pumping: false,
            entered: VecDeque::new(),
            unused: VecDeque::new(),
            dropped: VecDeque::new(),
            statistics: Statistics::default(),
            recorder: None,
        })
    }

    /// Records calls and decisions from here on, at most `limit` of them together; an entry takes some
    /// 50 octets. To be called before any other method, for a replay begins with a fresh engine.
    #[must_use]
    pub fn recorded(mut self, limit: usize) -> Self {
        debug_assert!(
            self.statistics == Statistics::default(),
            "not from the start"
        );
        self.recorder = Some(Recorder::new(self.now, self.rate, self.seeds, limit));
        self
    }

    /// Changes the layer while running, or leaves everything as it is if it refuses.
    ///
    /// No frame is lost: a queue that is longer than its new limit takes no more, and a smoother
    /// that is gone lets go of what waits in it first. State stays where the kind of engine stays.
    ///
    /// # Errors
    /// As [`Egress::new`].
    pub fn set(&mut self, now: Instant, layer: &Layer) -> Result<(), EgressError> {
        // Whatever is refused is refused before anything changes.
        Egress::<()>::new(now, layer, self.rate, self.seeds)?;
        let now = self.call(now, Call::Set);
        self.stash(now);
        self.transmit.set(now, &transmit_config(layer))?;
        self.drain_transmit();
        self.has_queues = layer.transmit.is_some();
        self.rings.grow(self.transmit.ring_count());
        let (seeds, rate) = (self.seeds, self.rate);
        match (&mut self.pacer, &layer.smoother) {
            (Some(pacer), Some(smoothing)) => pacer.set(now, smoothing, seeds, rate)?,
            (Some(pacer), None) => pacer.leave(now),
            (None, Some(smoothing)) => {
                self.pacer = Some(Pacer::new(now, smoothing, seeds, rate)?);
            }
            (None, None) => {}
        }
        self.is_pumping = true;
        Ok(())
    }

    /// Takes a frame from the stack. What there is no room for comes back from
    /// [`Egress::poll_dropped`].
    pub fn offer(&mut self, now: Instant, frame: F, offered: Offered) {
        let now = self.call(now, Call::Offer(offered));
        let number = self.statistics.offered;
        self.statistics.offered += 1;
        if self.pacer.as_ref().is_some_and(Pacer::is_gone) {
            self.pacer = None;
        }
        let item = Item {
            number,
            frame,
            offered,
        };
        let (Some(pacer), Some((size, class))) = (&mut self.pacer, offered.datagram) else {
            self.stash(now);
            self.put_below(now, item);
            return;
        };
        match pacer.enqueue(now, item, size, class) {
            Ok(()) => self.is_pumping = true,
            Err(item) => self.lose(item, Dropper::Smoother),
        }
    }

    /// Hands out the next frame for a ring.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Handed<F>> {
        let is_idle = self.entered.is_empty()
            && self.unused.is_empty()
            && self.transmit.entered().next().is_none()
            && !self.is_pumping;
        if is_idle {
            return None;
        }
        let now = self.call(now, Call::Poll);
        loop {
            let entered = self.entered.pop_front();
            if let Some(next) = entered.or_else(|| self.transmit.poll_transmit(now)) {
                return Some(self.hand_out(now, next));
            }
            if let Some(ring) = self.unused.pop_front() {
                self.transmit.handle_completion(now, ring);
                self.drain_transmit();
                continue;
            }
            let item = self.next_paced(now)?;
            self.put_below(now, item);
        }
    }

    /// Returns a frame that there was no room for.
    pub fn poll_dropped(&mut self) -> Option<F> {
        self.dropped.pop_front()
    }

    /// The host has no room for the frame that it was handed last for this ring, and drops it; the
    /// descriptor is left to another.
    pub fn refuse(&mut self, now: Instant, ring: u8) {
        self.call(now, Call::Refuse { ring });
        match self.rings.pop_newest(ring) {
            Some(frame) => {
                self.leave_below(frame.size);
                self.unused.push_back(ring);
                self.statistics.refused += 1;
            }
            None => self.statistics.spurious += 1,
        }
    }

    /// The port begins to send the oldest frame of a ring that it has not begun, or gives it to its
    /// medium.
    pub fn begin(&mut self, now: Instant, ring: u8) {
        let now = self.call(now, Call::Begin { ring });
        let is_known = self.rings.begin(now, ring);
        self.statistics.spurious += u64::from(!is_known);
    }

    /// A transmission of the frame that was begun last begins, on a shared medium where it may
    /// collide.
    pub fn attempt(&mut self, now: Instant) {
        let now = self.call(now, Call::Attempt);
        let is_known = self.rings.attempt(now);
        self.statistics.spurious += u64::from(!is_known);
    }

    /// The same of a transmission that began so long ago, of which the host hears only now.
    pub fn attempted(&mut self, now: Instant, ago: Duration) {
        let now = self.call(now, Call::Attempted { ago });
        let is_known = self.rings.attempt(now - ago.max(Duration::ZERO));
        self.statistics.spurious += u64::from(!is_known);
    }

    /// The frame that was begun first is out or given up, after so many attempts.
    pub fn handle_completion(&mut self, now: Instant, attempts: u32) {
        let now = self.call(now, Call::Complete { attempts });
        self.is_pumping = true;
        let Some(done) = self.rings.complete(now) else {
            self.statistics.spurious += 1;
            return;
        };
        self.statistics.completed += 1;
        self.leave_below(done.frame.size);
        let completed = Completed {
            attempts,
            wire_size: wire::wire_size(done.frame.size),
            busy: done.busy,
            backlog: self.below_size,
        };
        if let Some(pacer) = &mut self.pacer {
            pacer.completed(now, &done, &completed);
        }
        self.stash(now);
        self.transmit.handle_completion(now, done.ring);
        self.drain_transmit();
    }

    /// A frame of somebody was heard; only a detector of utilization listens.
    pub fn hear(&mut self, now: Instant, wire_size: Bytes) {
        let now = self.call(now, Call::Hear { wire_size });
        if let Some(pacer) = &mut self.pacer {
            pacer.heard(now, wire_size);
        }
    }

    /// A probe of the bulk class took so long on a path, by clocks that need not agree, or was lost;
    /// only a detector of probe delay cares. Paths count from 0; those from
    /// [`crate::probe::PATHS_MAX`] on are overlooked.
    pub fn probe(&mut self, now: Instant, path: u8, delay: Option<Duration>) {
        let now = self.call(now, Call::Probe { path, delay });
        if let Some(pacer) = &mut self.pacer {
            pacer.probed(now, path, delay);
            self.is_pumping = true;
        }
    }

    /// A packet came back with or without a congestion mark; only a detector of marks cares.
    pub fn mark(&mut self, now: Instant, packet: Marked) {
        let now = self.call(now, Call::Mark(packet));
        if let Some(pacer) = &mut self.pacer {
            pacer.marked(now, packet);
            self.is_pumping = true;
        }
    }

    /// Does what is due. A call before [`Egress::poll_timeout`] does no harm.
    pub fn handle_timeout(&mut self, now: Instant) {
        let now = self.call(now, Call::Timeout);
        let due = self.transmit.poll_timeout();
        if due.is_some_and(|(due, _)| due <= now) {
            self.stash(now);
            self.transmit.handle_timeout(now);
            self.drain_transmit();
        }
        if let Some(pacer) = &mut self.pacer {
            pacer.handle_timeout(now);
        }
        self.is_pumping = true;
    }

    /// Returns when `handle_timeout` wants to be called; a time in the past means at once.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let transmit = self.transmit.poll_timeout().map(|(due, _)| due);
        let pacer = self.pacer.as_ref().and_then(Pacer::due);
        [transmit, pacer].into_iter().flatten().min()
    }
}

impl<F> Egress<F> {
    /// Notes a call; a time in the past counts as the present.
    fn call(&mut self, now: Instant, call: Call) -> Instant {
        self.now = self.now.max(now);
        self.note(What::Call(call));
        self.now
    }

    fn note(&mut self, what: What) {
        if let Some(recorder) = &mut self.recorder {
            recorder.push(self.now, what);
        }
    }

    /// Puts aside what the host has not fetched after the last call, for engines want to be drained
    /// before the next.
    fn stash(&mut self, now: Instant) {
        while let Some(next) = self.transmit.poll_transmit(now) {
            self.entered.push_back(next);
        }
    }

    /// Returns a packet that may leave the smoother now.
    ///
    /// It is asked only after a call that may have changed its mind: some modes count how often
    /// they are asked while they hold packets back.
    fn next_paced(&mut self, now: Instant) -> Option<Item<F>> {
        if !self.is_pumping {
            return None;
        }
        let next = self.pacer.as_mut().and_then(|p| p.next(now, self.below));
        self.is_pumping = next.is_some();
        next
    }

    /// Puts a frame into the transmit queues.
    fn put_below(&mut self, now: Instant, item: Item<F>) {
        let Offered { size, class, .. } = item.offered;
        self.below += 1;
        self.below_size += size;
        if let Some(pacer) = &mut self.pacer {
            pacer.entered(now, self.below_size);
        }
        self.transmit.enqueue(now, item, class);
        while let Some(event) = self.transmit.poll_event() {
            if let Event::Dropped { frame, .. } = event {
                self.leave_below(size);
                self.lose(frame, Dropper::Queue);
            }
        }
    }

    fn leave_below(&mut self, size: Bytes) {
        self.below -= 1;
        self.below_size -= size;
    }

    /// Puts a frame into its ring.
    fn hand_out(&mut self, now: Instant, next: Transmit<Item<F>>) -> Handed<F> {
        let Transmit {
            frame: item, ring, ..
        } = next;
        let Offered { size, datagram, .. } = item.offered;
        let descriptor = Descriptor {
            since: now,
            size,
            class: datagram.map(|(_, class)| class),
        };
        self.rings.push(ring, descriptor);
        self.statistics.handed += 1;
        let Item { number: frame, .. } = item;
        self.note(What::Decision(Decision::Handed { frame, ring }));
        let frame = item.frame;
        Handed { frame, ring }
    }

    /// Keeps a dropped frame for the host.
    fn lose(&mut self, item: Item<F>, by: Dropper) {
        match by {
            Dropper::Smoother => self.statistics.dropped_by_smoother += 1,
            Dropper::Queue => self.statistics.dropped_by_queues += 1,
        }
        let Item { number: frame, .. } = item;
        self.note(What::Decision(Decision::Dropped { frame, by }));
        if self.dropped.len() == DROPPED_MAX {
            self.dropped.pop_front();
            self.statistics.forgotten += 1;
        }
        self.dropped.push_back(item.frame);
    }

    /// Lets go of events that say nothing of frames.
    fn drain_transmit(&mut self) {
        while self.transmit.poll_event().is_some() {}
    }
}
