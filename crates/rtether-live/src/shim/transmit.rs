//! From the stack to the wire: classes, smoother, transmit queues, tags, and the line below them.
//!
//! All due events are processed in order, each with the time at which it was due, before a new
//! frame is taken: a thread that wakes up late sends late but decides as if it had been on time.
//! Delays beyond [`catch_up`] are not made up for.

mod probing;

use std::collections::VecDeque;

use rtether_model::endnode::Layer;
use rtether_model::quantity::{Duration, Instant};
use rtether_model::smoother::Rule;
use rtether_model::wire;
use rtether_proto::egress::{Egress, Handed, Offered, Recording, Seeds};
use rtether_proto::endnode::{self, Classifier, MAX_CLASSES};
use rtether_proto::probe::Observation;

use super::frames::{self, Pool};
use super::hub::{Hub, Step};
use super::line::{Line, size_on_wire};
use super::port::{Port, Sent};
use super::probes::Probes;
use super::receive::classifier;
use super::status::{Direction, Drops, QueueStatus, SmootherStatus, Traffic};
use super::{Settings, ShimError, Signal, Tags};
use crate::emulator::CompletionReport;

/// Returns how much wake-up delay is made up for. Frames sent in a burst to catch up wait in the
/// device, in front of the next urgent frame.
///
/// A thread with a real-time priority seldom wakes up more than 30 us late. An ordinary thread on a
/// busy host wakes up milliseconds late each time; if it sent one frame per wake-up, it would reach
/// only a small fraction of the link rate and the queue would grow. Urgent frames wait just as long
/// for the wake-up itself.
pub(super) const fn catch_up(is_real_time: bool) -> Duration {
    if is_real_time { Duration::from_us(30) } else { Duration::from_ms(10) }
}

/// Queue limit for a layer without transmit queues: a usual `txqueuelen`.
const PLAIN_MAX: usize = 1_000;

/// Layer changes kept in a recording; a replay ends with the last of them.
const LAYERS_MAX: usize = 1_000;

type Frame = Vec<u8>;

/// How the shim learns when a frame is out.
enum Below {
    Line(Line),
    Hub(Hub),
}

/// The transmit path of the shim.
pub(super) struct TransmitSide {
    classifier: Classifier,
    egress: Egress<Frame>,
    /// While calls are recorded: the initial layer, and that of each change.
    layers: Vec<Layer>,
    /// Frames handed out but not begun, oldest first.
    rings: [VecDeque<Frame>; MAX_CLASSES],
    below: Below,
    /// The driver has seen a collision since the last frame was out.
    has_collided: bool,
    rule: Option<Rule>,
    tags: Tags,
    /// How much wake-up delay is made up for.
    pub(super) catch_up: Duration,
    pub(super) probes: Option<Probes>,
    pub(super) traffic: Traffic,
    pub(super) drops: Drops,
}

impl TransmitSide {
    /// `seed` must differ between stations: the MAC address.
    pub(super) fn new(now: Instant, settings: &Settings, seed: u64) -> Result<Self, ShimError> {
        let layer = &settings.layer;
        let egress = Egress::new(now, layer, settings.rate, Seeds::new(seed));
        Ok(Self {
            classifier: classifier(layer)?,
            egress: egress.map_err(|error| ShimError::Layer(error.to_string()))?,
            layers: Vec::new(),
            rings: Default::default(),
            below: match settings.signal {
                Signal::Reports => Below::Hub(Hub::default()),
                Signal::Port | Signal::DriverCollisions { .. } => {
                    Below::Line(Line::new(settings.rate))
                }
            },
            has_collided: false,
            rule: layer.smoother.map(|smoothing| smoothing.rule),
            tags: settings.tags,
            catch_up: catch_up(true),
            probes: None,
            traffic: Traffic::default(),
            drops: Drops::default(),
        })
    }

    /// Records up to `limit` calls and decisions of the engines from the start.
    pub(super) fn recorded(mut self, layer: Layer, limit: usize) -> Self {
        self.egress = self.egress.recorded(limit);
        self.layers = vec![layer];
        self
    }

    /// Ends the recording and returns it with its layers.
    pub(super) fn take_recording(&mut self) -> Option<(Recording, Vec<Layer>)> {
        let recording = self.egress.take_recording()?;
        Some((recording, std::mem::take(&mut self.layers)))
    }

    /// Applies new settings; no frame is lost.
    pub(super) fn set(
        &mut self,
        now: Instant,
        settings: &Settings,
        port: &Port,
        pool: &mut Pool,
    ) -> Result<(), ShimError> {
        let layer = &settings.layer;
        let set = self.egress.set(now, layer);
        set.map_err(|error| ShimError::Layer(error.to_string()))?;
        if !self.layers.is_empty() && self.layers.len() < LAYERS_MAX {
            self.layers.push(layer.clone());
        }
        self.classifier = classifier(layer)?;
        if let Below::Line(line) = &mut self.below {
            line.set_rate(settings.rate);
        }
        self.rule = layer.smoother.map(|smoothing| smoothing.rule);
        self.tags = settings.tags;
        self.settle(now, port, pool)
    }

    /// Takes a frame from the stack.
    pub(super) fn take(
        &mut self,
        now: Instant,
        octets: &[u8],
        port: &Port,
        pool: &mut Pool,
    ) -> Result<(), ShimError> {
        self.offer(now, octets, self.rule, pool);
        self.settle(now, port, pool)
    }

    /// Takes a probe or an answer of the shim itself. It bypasses the smoother, since it is to wait
    /// only in the queues that bulk frames of all stations share.
    pub(super) fn take_own(
        &mut self,
        now: Instant,
        octets: &[u8],
        port: &Port,
        pool: &mut Pool,
    ) -> Result<(), ShimError> {
        self.offer(now, octets, None, pool);
        self.settle(now, port, pool)
    }

    /// Offers a frame to the engines; with `rule`, the smoother sees its datagram.
    fn offer(&mut self, now: Instant, octets: &[u8], rule: Option<Rule>, pool: &mut Pool) {
        self.traffic.taken += 1;
        let (mut frame, parsed) = pool.frame(octets);
        let class = self.classifier.classify(&parsed.key).class;
        let offered = Offered {
            size: size_on_wire(frame.len()),
            class,
            datagram: rule.and_then(|rule| frames::datagram(&frame, &parsed, rule)),
        };
        frames::tag(&mut frame, &parsed, class, &self.tags);
        self.egress.offer(now, frame, offered);
    }

    /// A probe was answered or lost.
    pub(super) fn observe(
        &mut self,
        now: Instant,
        observed: Observation,
        port: &Port,
        pool: &mut Pool,
    ) -> Result<(), ShimError> {
        self.egress.probe(now, observed.path, observed.delay);
        self.settle(now, port, pool)
    }

    /// A frame was heard.
    pub(super) fn hear(
        &mut self,
        now: Instant,
        octets: &[u8],
        port: &Port,
        pool: &mut Pool,
    ) -> Result<(), ShimError> {
        self.advance(now, port, pool)?;
        let size = wire::wire_size(size_on_wire(octets.len()));
        self.egress.hear(now, size);
        if let Some(mark) = frames::echoed_mark(octets, &endnode::parse(octets)) {
            self.egress.mark(now, mark);
        }
        self.settle(now, port, pool)
    }

    /// Returns whether a frame waits or is in a ring.
    pub(super) fn is_busy(&self) -> bool {
        self.is_waiting() || self.egress.in_rings() > 0
    }

    /// Processes everything due until now.
    pub(super) fn advance(
        &mut self,
        now: Instant,
        port: &Port,
        pool: &mut Pool,
    ) -> Result<(), ShimError> {
        while let Some(due) = self.due().filter(|&due| due <= now) {
            let at = if self.is_waiting() { due.max(now - self.catch_up) } else { due };
            if self.below_due() == Some(due) {
                self.complete(at);
            } else {
                self.egress.handle_timeout(at);
            }
            self.settle(at, port, pool)?;
        }
        Ok(())
    }

    /// The frame below is out by the line's clock, or the hub's report is overdue.
    fn complete(&mut self, now: Instant) {
        let attempts = 1 + u32::from(std::mem::take(&mut self.has_collided));
        match &mut self.below {
            Below::Line(line) => line.end(),
            Below::Hub(hub) => {
                hub.missed += 1;
                hub.end();
            }
        }
        self.egress.handle_completion(now, attempts);
    }

    /// The driver has seen a collision.
    pub(super) fn collide(&mut self) {
        self.has_collided = true;
    }

    /// Processes a hub report.
    pub(super) fn report(
        &mut self,
        now: Instant,
        report: &CompletionReport,
        port: &Port,
        pool: &mut Pool,
    ) -> Result<(), ShimError> {
        let Below::Hub(hub) = &mut self.below else {
            return Ok(());
        };
        let new = hub.note(report.completed);
        for number in (0..new).rev() {
            if let Below::Hub(hub) = &mut self.below {
                hub.end();
            }
            // The attempts of frames whose reports were lost are unknown.
            let is_last = number == 0;
            if is_last {
                self.egress.attempted(now, report.since_attempt);
            }
            let attempts = if is_last { report.attempts.max(1) } else { 1 };
            self.egress.handle_completion(now, attempts);
            self.settle(now, port, pool)?;
        }
        Ok(())
    }

    /// Returns how many hub reports did not come.
    pub(super) fn missed(&self) -> u64 {
        match &self.below {
            Below::Line(_) => 0,
            Below::Hub(hub) => hub.missed,
        }
    }

    fn below_due(&self) -> Option<Instant> {
        match &self.below {
            Below::Line(line) => line.until(),
            Below::Hub(hub) => hub.due(),
        }
    }

    /// Returns when the next event is due; it may be in the past.
    fn due(&self) -> Option<Instant> {
        let times = self.below_due().into_iter();
        times.chain(self.egress.poll_timeout()).min()
    }

    /// Returns when the next event is due that may release a frame; no wake-up is needed before.
    pub(super) fn wake_at(&self) -> Option<Instant> {
        self.due().filter(|_| self.is_waiting())
    }

    fn is_waiting(&self) -> bool {
        self.waiting() > 0
    }

    /// Returns the number of waiting frames.
    pub(super) fn waiting(&self) -> u64 {
        let rings: usize = self.rings.iter().map(VecDeque::len).sum();
        let all = self.egress.statistics();
        let dropped = all.dropped_by_smoother + all.dropped_by_queues;
        all.offered - all.handed - dropped + rings as u64
    }

    pub(super) fn queues(&self) -> impl Iterator<Item = QueueStatus> {
        let of = |(class, stats)| QueueStatus::of(Direction::Transmit, class, &stats);
        (0_u8..).zip(self.egress.queues()).map(of)
    }

    pub(super) fn smoother(&self, settings: &Settings) -> Option<SmootherStatus> {
        Some(SmootherStatus {
            mode: settings.layer.smoother?.config.mode,
            state: self.egress.smoother_state()?,
            statistics: *self.egress.smoother_statistics()?,
        })
    }

    /// Moves frames from the engines into the rings, and from there to the line.
    fn settle(&mut self, now: Instant, port: &Port, pool: &mut Pool) -> Result<(), ShimError> {
        loop {
            while let Some(Handed { frame, ring }) = self.egress.poll_transmit(now) {
                let waiting = &mut self.rings[usize::from(ring)];
                if waiting.len() >= PLAIN_MAX && !self.egress.has_queues() {
                    self.egress.refuse(now, ring);
                    self.drops.transmit_full += 1;
                    pool.free(frame);
                } else {
                    waiting.push_back(frame);
                }
            }
            while let Some(frame) = self.egress.poll_dropped() {
                self.drops.transmit_full += 1;
                pool.free(frame);
            }
            let is_any = self.step(now);
            if !self.begin(now, port, pool)? && !is_any {
                return Ok(());
            }
        }
    }

    /// Carries out the hub's next steps; returns whether there were any.
    fn step(&mut self, now: Instant) -> bool {
        let mut is_any = false;
        while let Below::Hub(hub) = &mut self.below
            && let Some(step) = hub.step(now)
        {
            is_any = true;
            match step {
                Step::Begin(ring) => self.egress.begin(now, ring),
                Step::End => self.egress.handle_completion(now, 1),
            }
        }
        is_any
    }

    /// Sends the oldest frame of the highest ring; returns `false` if there was none, or no room.
    fn begin(&mut self, now: Instant, port: &Port, pool: &mut Pool) -> Result<bool, ShimError> {
        let has_room = match &self.below {
            Below::Line(line) => line.until().is_none(),
            Below::Hub(hub) => hub.has_room(),
        };
        let rings = (0_u8..8).zip(&mut self.rings).rev();
        let mut next = rings.filter_map(|(number, ring)| Some((number, ring.pop_front()?)));
        let Some((ring, frame)) = has_room.then(|| next.next()).flatten() else {
            return Ok(false);
        };
        let sent = port.send(&frame)?;
        if let Some(probes) = &mut self.probes {
            probes.handle_departure(now, &frame);
        }
        match sent {
            Sent::Out => {
                self.traffic.frames += 1;
                self.traffic.octets += frame.len() as u64;
            }
            Sent::Down => self.drops.port_down += 1,
            Sent::Refused => self.drops.port_refused += 1,
        }
        match &mut self.below {
            Below::Line(line) => {
                line.begin(now, frame.len());
                self.egress.begin(now, ring);
            }
            Below::Hub(hub) => hub.fetch(ring, sent == Sent::Out),
        }
        pool.free(frame);
        Ok(true)
    }
}
