//! The composition of the engines.

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
    /// The layer has transmit queues; otherwise `transmit` only passes frames on.
    pub(super) has_queues: bool,
    pub(super) rings: Rings,
    /// Number and octets of the frames below the smoother.
    pub(super) below: u32,
    pub(super) below_size: Bytes,
    /// Something has happened since the last poll that may let the smoother release a packet.
    is_pumping: bool,
    /// Frames that entered a ring during a call after which the host did not fetch them.
    pub(super) entered: VecDeque<Transmit<Item<F>>>,
    /// Rings with a descriptor that the host refused to use.
    pub(super) unused: VecDeque<u8>,
    dropped: VecDeque<F>,
    pub(super) statistics: Statistics,
    pub(super) recorder: Option<Recorder>,
}

/// A frame in the composition.
#[derive(Clone, Debug)]
pub(super) struct Item<F> {
    /// Number in order of arrival, from 0.
    number: u64,
    pub(super) frame: F,
    pub(super) offered: Offered,
}

/// Returns the configuration of a layer's transmit queues.
fn transmit_config(layer: &Layer) -> TransmitConfig {
    layer.transmit.clone().unwrap_or_else(|| TransmitConfig {
        ring_limit: PLAIN_RING,
        queue_limits: alloc::vec![1],
        high_from: None,
        strategy: TransmitStrategy::Fifo,
    })
}

impl<F> Egress<F> {
    /// Creates empty queues for a port on a link of rate `rate`; `now` is raised to
    /// [`Instant::ZERO`] if earlier.
    ///
    /// # Errors
    /// If an engine refuses its parameters.
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

    /// Records calls and decisions from now on, at most `limit` in total, about 50 octets each.
    /// Call it before any other method: a replay starts with a fresh engine.
    #[must_use]
    pub fn recorded(mut self, limit: usize) -> Self {
        debug_assert!(self.statistics == Statistics::default(), "not from the start");
        self.recorder = Some(Recorder::new(self.now, self.rate, self.seeds, limit));
        self
    }

    /// Changes the layer at run time; a refused layer changes nothing.
    ///
    /// No frame is lost: a queue longer than its new limit accepts no more, and a removed smoother
    /// first releases what waits in it. An engine keeps its state if its kind stays the same.
    ///
    /// # Errors
    /// As [`Egress::new`].
    pub fn set(&mut self, now: Instant, layer: &Layer) -> Result<(), EgressError> {
        // Checks everything before changing anything.
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

    /// Takes a frame from the stack. If there is no room, it comes back from
    /// [`Egress::poll_dropped`].
    pub fn offer(&mut self, now: Instant, frame: F, offered: Offered) {
        let now = self.call(now, Call::Offer(offered));
        let number = self.statistics.offered;
        self.statistics.offered += 1;
        if self.pacer.as_ref().is_some_and(Pacer::is_gone) {
            self.pacer = None;
        }
        let item = Item { number, frame, offered };
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

    /// Returns a frame that was dropped for lack of room.
    pub fn poll_dropped(&mut self) -> Option<F> {
        self.dropped.pop_front()
    }

    /// The host had no room for the newest frame of this ring and dropped it; its descriptor
    /// becomes free for another.
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

    /// The port starts sending the oldest frame of a ring that it has not begun, or passes it to
    /// its medium.
    pub fn begin(&mut self, now: Instant, ring: u8) {
        let now = self.call(now, Call::Begin { ring });
        let is_known = self.rings.begin(now, ring);
        self.statistics.spurious += u64::from(!is_known);
    }

    /// A transmission of the most recently begun frame starts, on a shared medium where it may
    /// collide.
    pub fn attempt(&mut self, now: Instant) {
        let now = self.call(now, Call::Attempt);
        let is_known = self.rings.attempt(now);
        self.statistics.spurious += u64::from(!is_known);
    }

    /// As [`Self::attempt`], for a transmission that started `ago` before the host learned of it.
    pub fn attempted(&mut self, now: Instant, ago: Duration) {
        let now = self.call(now, Call::Attempted { ago });
        let is_known = self.rings.attempt(now - ago.max(Duration::ZERO));
        self.statistics.spurious += u64::from(!is_known);
    }

    /// The frame that was begun first is out or given up, after `attempts` attempts.
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

    /// The port heard a frame of another station. Used only by a detector of utilization.
    pub fn hear(&mut self, now: Instant, wire_size: Bytes) {
        let now = self.call(now, Call::Hear { wire_size });
        if let Some(pacer) = &mut self.pacer {
            pacer.heard(now, wire_size);
        }
    }

    /// Reports the delay of a bulk-class probe on a path, by clocks that need not agree, or `None`
    /// if it was lost. Used only by a detector of probe delay. Paths count from 0; those from
    /// [`crate::probe::PATHS_MAX`] on are ignored.
    pub fn probe(&mut self, now: Instant, path: u8, delay: Option<Duration>) {
        let now = self.call(now, Call::Probe { path, delay });
        if let Some(pacer) = &mut self.pacer {
            pacer.probed(now, path, delay);
            self.is_pumping = true;
        }
    }

    /// A packet came back with or without a congestion mark. Used only by a detector of marks.
    pub fn mark(&mut self, now: Instant, packet: Marked) {
        let now = self.call(now, Call::Mark(packet));
        if let Some(pacer) = &mut self.pacer {
            pacer.marked(now, packet);
            self.is_pumping = true;
        }
    }

    /// Does what is due. A call before [`Egress::poll_timeout`] is harmless.
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

    /// Returns when to call `handle_timeout`; a time in the past means at once.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let transmit = self.transmit.poll_timeout().map(|(due, _)| due);
        let pacer = self.pacer.as_ref().and_then(Pacer::due);
        [transmit, pacer].into_iter().flatten().min()
    }
}

impl<F> Egress<F> {
    /// Records a call and returns its time, at least that of the previous call.
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

    /// Sets aside frames that the host did not fetch after the last call, since the engines must be
    /// drained before the next.
    fn stash(&mut self, now: Instant) {
        while let Some(next) = self.transmit.poll_transmit(now) {
            self.entered.push_back(next);
        }
    }

    /// Returns a packet that may leave the smoother now.
    ///
    /// It polls the smoother only after a call that may have changed the outcome: some modes count
    /// how often they are polled while they hold packets back.
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
        self.transmit.enqueue(now, item, size, class);
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
        let Transmit { frame: item, ring, .. } = next;
        let Offered { size, datagram, .. } = item.offered;
        let descriptor = Descriptor { since: now, size, class: datagram.map(|(_, class)| class) };
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

    /// Discards events that do not concern frames.
    fn drain_transmit(&mut self) {
        while self.transmit.poll_event().is_some() {}
    }
}
