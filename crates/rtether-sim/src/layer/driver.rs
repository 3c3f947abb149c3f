//! Between stack and port: smoother, transmit queues, and the ring below them.
//!
//! The ring is the queue of the port. A frame is in it from the moment the engines hand it out
//! until the port reports that the wire is free again, gap included.

use alloc::collections::VecDeque;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use rtether_model::endnode::{Layer, Smoothing, TransmitStrategy};
use rtether_model::quantity::{BitRate, Bytes, Duration, Instant};
use rtether_model::record::Segment;
use rtether_model::smoother::{Config, Mode, Nt, Rule};
use rtether_model::wire;
use rtether_proto::endnode::{Event, Transmit, TransmitQueues};
use rtether_proto::smoother::congestion::CongestionSignal;
use rtether_proto::smoother::{Class, Smoother, Transmission};

use super::time_or_never;
use super::watch::{Completed, Watch};
use crate::kernel::Simulation;
use crate::observe::Observer;
use crate::port::Owner;
use crate::random::{Draw, Purpose};

/// What lies between the stack and the port.
pub(super) struct DriverSide {
    pub(super) transmit: Option<TransmitQueues<u32>>,
    pub(super) pacer: Option<Pacer>,
    /// Frames in each ring, oldest first.
    rings: Vec<VecDeque<Descriptor>>,
    /// Rings of the frames whose transmission has begun and not been reported complete.
    on_wire: VecDeque<u8>,
    /// Rate of the link.
    rate: BitRate,
    /// When the last frame was out.
    cleared_at: Instant,
    /// Frames below the smoother and their octets.
    below: u32,
    below_size: Bytes,
}

/// A smoother and what tells it of congestion.
pub(super) struct Pacer {
    pub(super) smoother: Smoother<u32>,
    rule: Rule,
    ring: u32,
    watch: Watch,
}

/// A frame in a ring; the packet itself may be delivered before it is reported complete.
#[derive(Clone, Copy)]
struct Descriptor {
    since: Instant,
    size: Bytes,
    /// In the smoother; `None` if it passed by.
    class: Option<Class>,
}

impl Pacer {
    fn new(smoothing: &Smoothing, name: &str, seed: u64, rate: BitRate) -> Result<Self, String> {
        let mut draw = Draw::new(seed, name, Purpose::Smoother);
        let mode = match smoothing.config.mode {
            // Stations with one seed would lock in step.
            Mode::Nt(nt) => Mode::Nt(Nt {
                seed: draw.seed(),
                ..nt
            }),
            mode @ (Mode::None | Mode::Fixed(_) | Mode::Adaptive(_) | Mode::Rtether(_)) => mode,
        };
        let limits = smoothing.config.limits;
        // Stations are not switched on at the same instant: with timers in step all of them would
        // let their packets go at once.
        let age = Duration::from_ps(draw.up_to(first_period(&mode).as_ps()));
        let smoother = Smoother::new(Instant::ZERO - age, Config { mode, limits });
        if smoothing.ring == 0 {
            return Err("a smoother needs room for at least one frame below it".to_string());
        }
        Ok(Self {
            smoother: smoother.map_err(|error| error.to_string())?,
            rule: smoothing.rule,
            ring: smoothing.ring,
            watch: Watch::new(smoothing.detector, name, seed, rate),
        })
    }

    /// Lets go of events that nobody reads; what they say is in the statistics.
    fn drain(&mut self) {
        while self.smoother.poll_event().is_some() {}
    }
}

/// Returns the period with which a smoother starts.
const fn first_period(mode: &Mode) -> Duration {
    match mode {
        Mode::None => Duration::ZERO,
        Mode::Fixed(fixed) => fixed.period,
        Mode::Adaptive(adaptive) => adaptive.period_min,
        Mode::Nt(nt) => nt.period_min,
        Mode::Rtether(places) => places.period_min,
    }
}

impl DriverSide {
    pub(super) fn new(layer: &Layer, name: &str, seed: u64, rate: BitRate) -> Result<Self, String> {
        let transmit = layer.transmit.as_ref().map(TransmitQueues::new);
        let pacer = layer.smoother.as_ref();
        let pacer = pacer.map(|smoothing| Pacer::new(smoothing, name, seed, rate));
        let rings = match layer.transmit.as_ref().map(|transmit| transmit.strategy) {
            Some(TransmitStrategy::Rings { count }) => usize::from(count),
            _ => 1,
        };
        Ok(Self {
            transmit: transmit.transpose().map_err(|error| error.to_string())?,
            pacer: pacer.transpose()?,
            rings: alloc::vec![VecDeque::new(); rings],
            on_wire: VecDeque::new(),
            rate,
            cleared_at: Instant::ZERO,
            below: 0,
            below_size: Bytes::ZERO,
        })
    }

    /// Returns when transmit queues or smoother want to be called, as the agenda has it.
    pub(super) fn due(&self) -> i64 {
        let transmit = self.transmit.as_ref();
        let transmit = transmit.and_then(TransmitQueues::poll_timeout);
        let pacer = self.pacer.as_ref();
        let pacer = pacer.and_then(|pacer| pacer.smoother.poll_timeout());
        let transmit = time_or_never(transmit.map(|(due, _)| due));
        transmit.min(time_or_never(pacer.map(|(due, _)| due)))
    }

    /// Returns the packets in smoother and transmit queues.
    pub(super) fn packets(&self) -> impl Iterator<Item = u32> {
        let waiting = self.transmit.iter().flat_map(TransmitQueues::frames);
        let paced = self.pacer.iter().flat_map(|pacer| pacer.smoother.frames());
        waiting.chain(paced).copied()
    }

    /// Panics if an engine's books do not balance; returns the frames in the rings.
    pub(super) fn invariants(&self) -> usize {
        let in_rings = self.rings.iter().map(VecDeque::len).sum();
        let mut below = in_rings;
        if let Some(transmit) = &self.transmit {
            transmit.invariants();
            below += transmit.frames().count();
            for (ring, descriptors) in (0u8..).zip(&self.rings) {
                let used = transmit.ring_depth(ring) as usize;
                assert_eq!(descriptors.len(), used, "frames in ring {ring}");
            }
        }
        if let Some(pacer) = &self.pacer {
            pacer.smoother.invariants();
        }
        assert_eq!(self.below as usize, below, "frames below the smoother");
        in_rings
    }

    fn enter_below(&mut self, now: Instant, size: Bytes) {
        self.below += 1;
        self.below_size += size;
        if let Some(Pacer {
            watch: Watch::Backlog(backlog),
            ..
        }) = &mut self.pacer
        {
            // The upper mark may be passed between two completions; the signal comes with the next.
            backlog.observe(now, self.below_size);
        }
    }

    fn leave_below(&mut self, size: Bytes) {
        self.below -= 1;
        self.below_size -= size;
    }

    /// Returns a packet that may leave the smoother now.
    fn next_paced(&mut self, now: Instant) -> Option<u32> {
        let pacer = self.pacer.as_mut()?;
        if self.below >= pacer.ring {
            return None;
        }
        let next = pacer.smoother.poll_transmit(now);
        pacer.drain();
        next.map(|next| next.frame)
    }

    /// Takes a frame that is out off its ring; says which ring, if there was one.
    fn complete(&mut self, now: Instant, attempts: u32) -> Option<u8> {
        let oldest = || {
            let ring = self.rings.iter().rposition(|ring| !ring.is_empty())?;
            u8::try_from(ring).ok()
        };
        let ring = self.on_wire.front().copied().or_else(oldest)?;
        self.on_wire.pop_front();
        let frame = self.rings[usize::from(ring)].pop_front()?;
        self.leave_below(frame.size);
        let completed = Completed {
            attempts,
            wire_size: wire::wire_size(frame.size),
            busy: now - frame.since.max(self.cleared_at),
            backlog: self.below_size,
        };
        self.cleared_at = now;
        if let Some(pacer) = &mut self.pacer {
            if let Some(class) = frame.class {
                let sent = Transmission {
                    started_at: now - wire::wire_time(frame.size, self.rate),
                    attempts,
                };
                pacer.smoother.handle_completion(now, class, sent);
                pacer.drain();
            }
            let signal = pacer.watch.completed(now, &completed);
            pacer.smoother.handle_signal(now, signal);
            pacer.drain();
        }
        Some(ring)
    }
}

impl Simulation {
    /// A packet leaves the stack for the port.
    pub(super) fn hand_down<O: Observer>(&mut self, index: u32, id: u32, observer: &mut O) {
        let now = self.now();
        self.pool.get_mut(id).mark = self.now;
        let rule = self.layer(index).driver.pacer.as_ref().map(|p| p.rule);
        let Some((size, class)) = rule.and_then(|rule| self.datagram(id, rule)) else {
            self.put_below(index, id, observer);
            return;
        };
        if self.smooth(index, now, id, size, class) {
            self.pump(index, observer);
        } else {
            self.lose_in_layer(index, id, observer);
        }
    }

    /// Puts a packet into the smoother; `false` if that refuses it.
    fn smooth(&mut self, index: u32, now: Instant, id: u32, size: Bytes, class: Class) -> bool {
        let Some(pacer) = &mut self.layer(index).driver.pacer else {
            return false;
        };
        let is_accepted = pacer.smoother.enqueue(now, id, size, class).is_ok();
        pacer.drain();
        is_accepted
    }

    /// Moves packets out of the smoother while there is room below.
    fn pump<O: Observer>(&mut self, index: u32, observer: &mut O) {
        let now = self.now();
        while let Some(id) = self.layer(index).driver.next_paced(now) {
            self.put_below(index, id, observer);
        }
    }

    /// Puts a frame into the transmit queues, or into the ring if there are none.
    fn put_below<O: Observer>(&mut self, index: u32, id: u32, observer: &mut O) {
        let now = self.now();
        let size = Bytes::new(self.pool.get(id).frame_size().unsigned_abs());
        let has_queues = self.layer(index).driver.transmit.is_some();
        let class = if has_queues {
            self.class_of(index, id)
        } else {
            0
        };
        let driver = &mut self.layer(index).driver;
        driver.enter_below(now, size);
        let Some(transmit) = &mut driver.transmit else {
            self.put_into_ring(index, id, 0, observer);
            return;
        };
        transmit.enqueue(now, id, class);
        let mut is_refused = false;
        while let Some(event) = transmit.poll_event() {
            is_refused |= matches!(event, Event::Dropped { .. });
        }
        if is_refused {
            driver.leave_below(size);
            self.lose_in_layer(index, id, observer);
        }
        self.fill_rings(index, observer);
    }

    /// Moves what has entered a ring to the port. A frame that the port has no room for leaves its
    /// descriptor to another.
    fn fill_rings<O: Observer>(&mut self, index: u32, observer: &mut O) {
        let now = self.now();
        let mut unused: VecDeque<u8> = VecDeque::new();
        while let Some(transmit) = &mut self.layer(index).driver.transmit {
            if let Some(Transmit { frame, ring, .. }) = transmit.poll_transmit(now) {
                if !self.put_into_ring(index, frame, ring, observer) {
                    unused.push_back(ring);
                }
            } else if let Some(ring) = unused.pop_front() {
                transmit.handle_completion(now, ring);
                while transmit.poll_event().is_some() {}
            } else {
                return;
            }
        }
    }

    /// Tells the transmit queues that a descriptor of a ring is free.
    fn free_descriptor<O: Observer>(&mut self, index: u32, ring: u8, observer: &mut O) {
        let now = self.now();
        if let Some(transmit) = &mut self.layer(index).driver.transmit {
            transmit.handle_completion(now, ring);
            while transmit.poll_event().is_some() {}
            self.fill_rings(index, observer);
        }
    }

    /// Hands a frame to the port; `false` if its buffer is too small.
    fn put_into_ring<O: Observer>(
        &mut self,
        index: u32,
        id: u32,
        ring: u8,
        observer: &mut O,
    ) -> bool {
        let since = self.now();
        let port = self.stations[index as usize].port;
        let packet = self.pool.get_mut(id);
        let waited = self.now - packet.mark;
        packet.spend(Segment::DriverQueue, port, waited);
        let size = Bytes::new(packet.frame_size().unsigned_abs());
        let rule = self.layer(index).driver.pacer.as_ref().map(|p| p.rule);
        let class = rule.and_then(|rule| Some(self.datagram(id, rule)?.1));
        let rings = &mut self.layer(index).driver.rings;
        rings[usize::from(ring)].push_back(Descriptor { since, size, class });
        let dropped = self.port_rests[port as usize].dropped;
        self.enqueue_at(port, id, ring, observer);
        let is_kept = self.port_rests[port as usize].dropped == dropped;
        if !is_kept {
            let driver = &mut self.layer(index).driver;
            driver.rings[usize::from(ring)].pop_back();
            driver.leave_below(size);
        }
        is_kept
    }

    /// A port that reports completions begins to send a frame of a ring.
    #[cold]
    pub(crate) fn transmission_begins(&mut self, port: u32, ring: u8) {
        if let Owner::Station(index) = self.ports[port as usize].owner {
            self.layer(index).driver.on_wire.push_back(ring);
        }
    }

    /// A port that reports completions is done with a frame, after so many attempts.
    ///
    /// A frame that is given up is reported too. Where the beginning of a transmission was not
    /// reported, the oldest frame of the highest ring is the one.
    #[cold]
    pub(crate) fn transmission_complete<O: Observer>(
        &mut self,
        port: u32,
        attempts: u32,
        observer: &mut O,
    ) {
        let Owner::Station(index) = self.ports[port as usize].owner else {
            return;
        };
        let now = self.now();
        if let Some(ring) = self.layer(index).driver.complete(now, attempts) {
            self.free_descriptor(index, ring, observer);
        }
        self.pump(index, observer);
        self.set_layer_timer(index);
    }

    /// A station with a layer hears a frame, whoever it is for.
    #[cold]
    pub(crate) fn hear(&mut self, index: u32, id: u32) {
        let now = self.now();
        let size = Bytes::new(self.pool.get(id).frame_size().unsigned_abs());
        if let Some(Pacer {
            watch: Watch::Utilization(utilization),
            ..
        }) = &mut self.layer(index).driver.pacer
        {
            utilization.observe(now, wire::wire_size(size));
        }
    }

    /// Does what is due in transmit queues and smoother.
    pub(super) fn driver_timeout<O: Observer>(&mut self, index: u32, observer: &mut O) {
        let now = self.now();
        if let Some(transmit) = &mut self.layer(index).driver.transmit {
            let due = transmit.poll_timeout();
            if due.is_some_and(|(due, _)| due <= now) {
                transmit.handle_timeout(now);
                while transmit.poll_event().is_some() {}
                self.fill_rings(index, observer);
            }
        }
        if let Some(pacer) = &mut self.layer(index).driver.pacer {
            let due = pacer.smoother.poll_timeout();
            if due.is_some_and(|(due, _)| due <= now) {
                pacer.smoother.handle_timeout(now);
                pacer.drain();
            }
        }
        self.pump(index, observer);
    }
}
