//! A smoother in its place: the room below it, and its congestion detector.

use rtether_model::endnode::{Detector, Smoothing};
use rtether_model::quantity::{BitRate, Bytes, Duration, Instant};
use rtether_model::smoother::{Config, Limits, Mode, Nt, Rule};

use super::ring::Done;
use super::watch::{Completed, Watch};
use super::{EgressError, Seeds};
use crate::smoother::congestion::{Marked, Signal};
use crate::smoother::{Class, Smoother, Transmission};

/// A smoother with its surroundings, for frames of type `T`.
#[derive(Clone, Debug)]
pub(super) struct Pacer<T> {
    pub(super) smoother: Smoother<T>,
    pub(super) rule: Rule,
    limits: Limits,
    /// Largest number of frames below it.
    ring: u32,
    detector: Detector,
    watch: Watch,
    /// Link rate.
    rate: BitRate,
    /// It has been removed from the layer, and goes away when it is empty.
    is_leaving: bool,
}

/// Returns the configuration of a layer's smoother.
fn config(smoothing: &Smoothing, seeds: Seeds) -> Result<Config, EgressError> {
    if smoothing.ring == 0 {
        return Err(EgressError::NoRoomBelow);
    }
    let mode = match smoothing.config.mode {
        // Stations with the same seed would run in lockstep.
        Mode::Nt(nt) => Mode::Nt(Nt { seed: seeds.jitter, ..nt }),
        mode @ (Mode::None | Mode::Fixed(_) | Mode::Adaptive(_) | Mode::Rtether(_)) => mode,
    };
    let limits = smoothing.config.limits;
    Ok(Config { mode, limits })
}

/// Returns a smoother's initial period.
const fn first_period(mode: &Mode) -> Duration {
    match mode {
        Mode::None => Duration::ZERO,
        Mode::Fixed(fixed) => fixed.period,
        Mode::Adaptive(adaptive) => adaptive.period_min,
        Mode::Nt(nt) => nt.period_min,
        Mode::Rtether(places) => places.period_min,
    }
}

impl<T> Pacer<T> {
    /// Starts the smoother at a random phase of its first period: stations are not switched on at
    /// the same instant, and with synchronized timers all of them would release packets at once.
    pub(super) fn new(
        now: Instant,
        smoothing: &Smoothing,
        seeds: Seeds,
        rate: BitRate,
    ) -> Result<Self, EgressError> {
        let config = config(smoothing, seeds)?;
        let age = seeds.phase_of(first_period(&config.mode));
        Ok(Self {
            smoother: Smoother::new(now - age, config)?,
            rule: smoothing.rule,
            limits: config.limits,
            ring: smoothing.ring,
            detector: smoothing.detector,
            watch: Watch::new(now, smoothing.detector, seeds.visibility, rate),
            rate,
            is_leaving: false,
        })
    }

    /// Changes parameters; smoother and detector keep their state where possible.
    pub(super) fn set(
        &mut self,
        now: Instant,
        smoothing: &Smoothing,
        seeds: Seeds,
        rate: BitRate,
    ) -> Result<(), EgressError> {
        self.smoother.set(now, config(smoothing, seeds)?)?;
        self.drain();
        if smoothing.detector != self.detector {
            self.watch = Watch::new(now, smoothing.detector, seeds.visibility, rate);
            self.detector = smoothing.detector;
        }
        self.rule = smoothing.rule;
        self.limits = smoothing.config.limits;
        self.ring = smoothing.ring;
        self.rate = rate;
        self.is_leaving = false;
        Ok(())
    }

    /// Removes the smoother once it is empty; until then it holds nothing back, and nothing
    /// overtakes what is in it.
    pub(super) fn leave(&mut self, now: Instant) {
        let (mode, limits) = (Mode::None, self.limits);
        let is_possible = self.smoother.set(now, Config { mode, limits });
        debug_assert!(is_possible.is_ok(), "the limits were accepted before");
        self.drain();
        self.is_leaving = true;
    }

    pub(super) fn is_gone(&self) -> bool {
        self.is_leaving && self.smoother.frames().next().is_none()
    }

    /// Takes a packet, or returns it as an error.
    pub(super) fn enqueue(
        &mut self,
        now: Instant,
        item: T,
        size: Bytes,
        class: Class,
    ) -> Result<(), T> {
        let result = self.smoother.enqueue(now, item, size, class);
        self.drain();
        result
    }

    /// Returns a packet that may leave now, when `below` frames are below the smoother.
    pub(super) fn next(&mut self, now: Instant, below: u32) -> Option<T> {
        if below >= self.ring {
            return None;
        }
        let next = self.smoother.poll_transmit(now);
        self.drain();
        next.map(|next| next.frame)
    }

    /// The backlog below the smoother has grown to `below`.
    pub(super) fn entered(&mut self, now: Instant, below: Bytes) {
        self.watch.entered(now, below);
    }

    pub(super) fn completed(&mut self, now: Instant, done: &Done, frame: &Completed) {
        if let Some(class) = done.frame.class {
            let sent = Transmission { started_at: done.started_at, attempts: frame.attempts };
            self.smoother.handle_completion(now, class, sent);
            self.drain();
        }
        self.busy(now, frame.wire_size);
        let signal = self.watch.completed(now, frame);
        self.signal(now, signal);
    }

    pub(super) fn heard(&mut self, now: Instant, wire_size: Bytes) {
        self.watch.heard(now, wire_size);
        self.busy(now, wire_size);
    }

    /// The medium was busy with a frame of this size.
    fn busy(&mut self, now: Instant, wire_size: Bytes) {
        let busy = self.rate.time_ceil(wire_size);
        self.smoother.handle_busy(now, busy);
        self.drain();
    }

    pub(super) fn probed(&mut self, now: Instant, path: u8, delay: Option<Duration>) {
        let signal = self.watch.probed(now, path, delay);
        self.signal(now, signal);
    }

    pub(super) fn marked(&mut self, now: Instant, packet: Marked) {
        let signal = self.watch.marked(now, packet);
        self.signal(now, signal);
    }

    pub(super) fn due(&self) -> Option<Instant> {
        self.smoother.poll_timeout().map(|(due, _)| due)
    }

    pub(super) fn handle_timeout(&mut self, now: Instant) {
        if self.due().is_some_and(|due| due <= now) {
            self.smoother.handle_timeout(now);
            self.drain();
        }
    }

    fn signal(&mut self, now: Instant, signal: Option<Signal>) {
        if let Some(signal) = signal {
            self.smoother.handle_signal(now, signal);
            self.drain();
        }
    }

    /// Discards the smoother's events; the statistics contain the same information.
    fn drain(&mut self) {
        while self.smoother.poll_event().is_some() {}
    }
}
