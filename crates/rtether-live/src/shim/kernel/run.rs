//! The thread that runs the control law: observations, rate changes and sleep.

use std::os::fd::AsFd;

use rtether_model::quantity::{Bytes, Duration, Instant};

use super::ear::{Ear, ear_of};
use super::plan::Programs;
use super::regulator::Regulator;
use super::shape::Treatment;
use super::watch::Observation;
use super::{Shim, layer, no_namespace, report};
use crate::clock::to_std;
use crate::shim::{Settings, ShimError, placement};
use crate::wait::{Waiting, sleep_until_readable};

/// Interval at which the status is published and new settings are applied.
const PUBLISH: Duration = Duration::from_ms(100);
/// A spinning thread wakes this much before a deadline: longer than a wake-up takes.
const LEAD: Duration = Duration::from_us(60);
impl Shim {
    /// Runs the smoother's control law and publishes the status, in the calling thread, until
    /// [`Handle::stop`](crate::shim::Handle::stop).
    ///
    /// # Errors
    /// If the thread cannot be placed as requested, or the device goes away.
    pub fn run(&mut self) -> Result<(), ShimError> {
        placement(&self.settings).apply()?;
        while !self.handle.is_stopped() {
            let now = self.clock.now();
            self.step(now)?;
            if now - self.published_at >= PUBLISH {
                if let Some(settings) = self.handle.poll_settings() {
                    self.apply(now, settings)?;
                }
                self.follow_mtu()?;
                self.publish(now)?;
            }
            self.rest()?;
        }
        let now = self.clock.now();
        self.publish(now)
    }

    /// Feeds the control law with an observation and sets the resulting rate.
    pub(super) fn step(&mut self, now: Instant) -> Result<(), ShimError> {
        if self.regulator.is_none() {
            return Ok(());
        }
        let seen = self.observe(now)?;
        let Some(law) = &mut self.regulator else {
            return Ok(());
        };
        let rate = law.step(&seen);
        let wanted = (rate, law.burst());
        if let Some(recording) = &mut self.recording {
            recording.note(seen, rate);
        }
        if self.present != Some(wanted) {
            let set = self.netlink.set_rate(self.plan.index, rate, wanted.1);
            set.map_err(|source| self.gone(source))?;
            self.present = Some(wanted);
        }
        Ok(())
    }

    fn observe(&mut self, now: Instant) -> Result<Observation, ShimError> {
        self.read_classes()?;
        let of = |kind| report::total(&self.classes, kind);
        let (bulk, real_time, passing) =
            (of(Treatment::Bulk), of(Treatment::RealTime), of(Treatment::Passing));
        let sent = bulk.frames + real_time.frames;
        let mut seen = Observation {
            at: now,
            sent: sent.saturating_sub(self.last.sent),
            collisions: 0,
            has_bulk: bulk.waiting > 0 || bulk.frames > self.last.bulk,
            behind: report::backlog(&real_time) + report::backlog(&passing),
            heard: Bytes::ZERO,
            heard_since: now,
            returned: Bytes::ZERO,
            marked: Bytes::ZERO,
        };
        (self.last.sent, self.last.bulk) = (sent, bulk.frames);
        let every = match &mut self.ear {
            Ear::Nothing => return Ok(seen),
            Ear::Reports(reports) => {
                let taken = reports.take();
                seen.collisions = taken.map_err(ShimError::system("reading reports of the hub"))?;
                return Ok(seen);
            }
            Ear::Marks => {
                let read = self.echoes.get();
                let now = read.map_err(ShimError::system("reading counters of a program"))?;
                let before = std::mem::replace(&mut self.last.echoes, now);
                let new = |index: usize| Bytes::new(now[index].saturating_sub(before[index]));
                (seen.returned, seen.marked) = (new(0), new(1));
                return Ok(seen);
            }
            Ear::Driver(every) => *every,
            Ear::Medium { .. } => Duration::ZERO,
        };
        if self.last.asked_at.is_some_and(|at| now - at < every) {
            return Ok(seen);
        }
        let asked_at = self.clock.now();
        let before = self.last.asked_at.replace(asked_at);
        let device = self.netlink.device(self.plan.index);
        let device = device.map_err(|source| self.gone(source))?;
        (seen.at, seen.heard_since) = (self.clock.now(), before.unwrap_or(self.started_at));
        let before = std::mem::replace(&mut self.last.device, device);
        seen.collisions = device.collisions.saturating_sub(before.collisions);
        if let Ear::Medium { .. } = self.ear {
            seen.heard = report::on_wire(&before, &device);
        }
        Ok(seen)
    }

    /// Sleeps until the control law is due, a report arrives, or the status is to be published.
    fn rest(&self) -> Result<(), ShimError> {
        let publish = self.published_at + PUBLISH;
        let law = self.regulator.as_ref();
        let due = law.and_then(Regulator::poll_timeout);
        let mut until = due.map_or(publish, |due| due.min(publish));
        if let (Ear::Driver(every), Some(asked), Some(_)) = (&self.ear, self.last.asked_at, law) {
            until = until.min(asked + *every);
        }
        let lead = match self.settings.waiting {
            Waiting::Block => Duration::ZERO,
            Waiting::Spin => LEAD,
        };
        let left = until - self.clock.now() - lead;
        if left > Duration::ZERO {
            match &self.ear {
                Ear::Reports(reports) => {
                    let slept = sleep_until_readable(reports.as_fd(), Some(left));
                    return slept.map_err(ShimError::system("waiting for reports of the hub"));
                }
                Ear::Nothing | Ear::Driver(_) | Ear::Medium { .. } | Ear::Marks => {
                    std::thread::sleep(to_std(left));
                }
            }
        }
        while self.settings.waiting == Waiting::Spin && self.clock.now() < until {
            std::hint::spin_loop();
        }
        Ok(())
    }

    /// Adapts the splitters when the device's MTU changes. They are reduced only while no frame
    /// waits, since a frame too long for its queue would block the head of the queue forever.
    fn follow_mtu(&mut self) -> Result<(), ShimError> {
        let mtu = self.netlink.mtu(self.plan.index);
        let mtu = mtu.map_err(|source| self.gone(source))?;
        if mtu == self.plan.mtu {
            return Ok(());
        }
        if mtu < self.plan.mtu {
            self.read_classes()?;
            if self.classes.iter().any(|class| class.waiting > 0) {
                return Ok(());
            }
        }
        let Self { plan, settings, .. } = self;
        let followed = self.place.run(|| plan.set_mtu(mtu, settings));
        followed.map_err(|source| no_namespace(&self.plan.device, source))?
    }

    /// Applies new settings of the same shape.
    fn apply(&mut self, now: Instant, settings: Settings) -> Result<(), ShimError> {
        let programs = Programs::load(&settings, &self.plan.shape, &self.counts, &self.echoes)?;
        if let (Some(law), Some(smoothing)) = (&mut self.regulator, settings.layer.smoother) {
            law.set(now, smoothing, settings.rate).map_err(|error| layer(&error))?;
            if let Some(recording) = &mut self.recording {
                recording.note_set(now, smoothing, settings.rate);
            }
            self.present = Some((law.first_rate(), law.burst()));
        }
        if placement(&settings) != placement(&self.settings) {
            placement(&settings).apply()?;
        }
        let Self { plan, netlink, present, .. } = self;
        let changed = self.place.run(|| plan.change(netlink, &settings, &programs, *present));
        changed.map_err(|source| no_namespace(&self.plan.device, source))??;
        if ear_of(&settings) != ear_of(&self.settings) {
            let device = &self.plan.device;
            let opened = self.place.run(|| Ear::open(device, &settings));
            self.ear = opened.map_err(|source| no_namespace(device, source))??;
        }
        self.settings = settings;
        Ok(())
    }
}
