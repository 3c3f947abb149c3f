//! The kernel back end: kernel filters classify and tag, kernel queues hold the frames, and only
//! the smoother's control law runs in this process.
//!
//! ```text
//!   stack ──► clsact egress: class, tag ──► HTB: queues by class, smoother, link ──► device
//!   stack ◄── clsact ingress: echoes of marks counted, tag off ◄────────────────────── device
//!                                              ▲ rate of the smoother's class
//!            signals, backlog ──► Regulator ───┘ every tick
//! ```
//!
//! No frame passes through this process, so traffic continues if it stalls; the smoother then keeps
//! its last rate. `tc qdisc`, `tc class` and `tc filter` show the whole set-up.
//!
//! # Scope and limitations
//!
//! - Of the engines, [`rtether_proto::endnode::Classifier`] is compiled into a filter program from
//!   the same table and rules, and [`rtether_proto::smoother::Smoother`] sets the rate (see
//!   [`Regulator`]). The queues are those of HTB: whenever the link is free, the head of the
//!   highest non-empty queue is sent.
//! - Settings that HTB cannot carry out are refused with the reason: receive queues, stack
//!   instances, strategies in which the ring matters, and modes and detectors that need to know
//!   when a frame got through.
//! - A smoother's limits apply to each of its queues; each transmit queue has a real-time and a
//!   bulk queue. The bucket gains credits continuously instead of at each refresh, which lets out
//!   less; a debt is repaid at the rate at which it was incurred.
//! - A device whose root queue is not a kernel default is refused, since it could not be restored.
//!   Frames waiting in the root queue when the shim is set up, and in the shim when it is taken
//!   down, are lost; the latter are counted.
//! - A packet that stands for several frames, as TCP hands it over, is split before it is queued;
//!   the frames split off count with 14 extra octets. A frame larger than the MTU of a tenth of a
//!   second before is dropped. After the MTU has been reduced, segments may be split at the old
//!   length until no frame waits.

mod assembler;
mod commands;
mod ear;
mod message;
mod netlink;
mod plan;
mod program;
mod recording;
mod refuse;
mod regulator;
mod report;
mod run;
mod shape;
mod watch;

use std::io;

use rtether_model::endnode::Smoothing;
use rtether_model::quantity::{BitRate, Bytes, Instant};
use rtether_proto::endnode::{Classifier, TransmitQueues};

use super::network_namespace::NetworkNamespace;
use super::{Backend, Handle, Settings, ShimError, Status};
use crate::clock::Clock;
use crate::link::Device;
use ear::Ear;
use netlink::{ClassCounters, DeviceCounters, Netlink};
pub use plan::Plan;
use plan::Programs;
use program::{Counts, Echoes};
pub use recording::{Recording, Replayed};
pub use regulator::Regulator;
pub use watch::Observation;

/// Seed for the collisions that a detector does not see.
const SEED: u64 = 1;

/// A device with the end-node layer in the kernel.
///
/// Dropping it restores the device.
#[derive(Debug)]
pub struct Shim {
    settings: Settings,
    plan: Plan,
    counts: Counts,
    echoes: Echoes,
    netlink: Netlink,
    regulator: Option<Regulator>,
    recording: Option<Recording>,
    ear: Ear,
    clock: Clock,
    /// Current rate and burst of the smoother's class.
    present: Option<(BitRate, Bytes)>,
    /// Counters at the start, and at the last reading.
    first: DeviceCounters,
    last: Last,
    classes: Vec<ClassCounters>,
    handle: Handle,
    started_at: Instant,
    published_at: Instant,
    place: NetworkNamespace,
    is_up: bool,
}

/// Counters at the previous observation.
#[derive(Clone, Copy, Debug, Default)]
struct Last {
    sent: u64,
    bulk: u64,
    echoes: [u64; 2],
    device: DeviceCounters,
    /// When the device counters were read.
    asked_at: Option<Instant>,
}

impl Shim {
    /// Checks a device in the calling thread's namespace and returns what would be done to it.
    ///
    /// # Errors
    /// If the settings are invalid or refused, or the device is not suitable.
    pub fn prepare(device: &str, settings: &Settings) -> Result<Plan, ShimError> {
        let found = Device::named(device)?;
        check(settings)?;
        refuse::check(settings, found.mtu())?;
        let regulator = regulator(Instant::ZERO, settings)?;
        let smoother = regulator.map(|law| (law.first_rate(), law.burst()));
        Plan::new(device, found.index(), settings, smoother)
    }

    /// Sets up the shim on a device in the calling thread's namespace. Frames pass through it at
    /// once; the smoother keeps its first rate until [`Self::run`].
    ///
    /// # Errors
    /// As [`Self::prepare`], and if a privilege is missing. The device is then left as it was.
    pub fn up(device: &str, settings: Settings) -> Result<Self, ShimError> {
        let plan = Self::prepare(device, &settings)?;
        let clock = Clock::start();
        let now = clock.now();
        let regulator = regulator(now, &settings)?;
        let opening = ShimError::system("opening a socket of the kernel");
        let mut netlink = Netlink::open().map_err(opening)?;
        let making = ShimError::program("making a map for a program");
        let counts = Counts::new().map_err(&making)?;
        let echoes = Echoes::new().map_err(making)?;
        let ear = Ear::open(device, &settings)?;
        let place = NetworkNamespace::here().map_err(ShimError::system("opening the namespace"))?;
        let first = netlink.device(plan.index).map_err(reading)?;
        let programs = Programs::load(&settings, &plan.shape, &counts, &echoes)?;
        plan.run(&programs)?;
        let status = Status::new(Backend::Kernel, settings.signal);
        let mut this = Self {
            handle: Handle::new(settings.clone(), status, check_change),
            present: regulator.as_ref().map(|law| (law.first_rate(), law.burst())),
            settings,
            plan,
            counts,
            echoes,
            netlink,
            regulator,
            recording: None,
            ear,
            clock,
            first,
            last: Last { device: first, ..Last::default() },
            classes: Vec::new(),
            started_at: now,
            published_at: now,
            place,
            is_up: true,
        };
        this.publish(now)?;
        Ok(this)
    }

    /// Returns a handle to control this shim from other threads.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Records calls of the control law from now on, up to `limit`, and restarts the law.
    ///
    /// # Errors
    /// If the engine refuses its parameters, although it accepted them before.
    pub fn record(&mut self, limit: usize) -> Result<(), ShimError> {
        let now = self.clock.now();
        self.regulator = regulator(now, &self.settings)?;
        let (rate, smoothing) = (self.settings.rate, self.settings.layer.smoother);
        self.recording =
            smoothing.map(|smoothing| Recording::new(now, smoothing, rate, SEED, limit));
        Ok(())
    }

    /// Returns the recording and stops recording.
    pub fn take_recording(&mut self) -> Option<Recording> {
        self.recording.take()
    }

    fn read_classes(&mut self) -> Result<(), ShimError> {
        let read = self.netlink.classes(self.plan.index, &mut self.classes);
        read.map_err(|source| self.gone(source))?;
        if self.classes.is_empty() {
            let source = io::Error::other("its queues have been removed by another program");
            let device = self.plan.device.clone();
            return Err(ShimError::Gone { device, source });
        }
        Ok(())
    }

    fn publish(&mut self, now: Instant) -> Result<(), ShimError> {
        let status = self.status()?;
        self.handle.publish(status);
        self.published_at = now;
        Ok(())
    }

    fn status(&mut self) -> Result<Status, ShimError> {
        self.read_classes()?;
        let drops = self.netlink.drops(self.plan.index, &mut self.classes);
        drops.map_err(|source| self.gone(source))?;
        let device = self.netlink.device(self.plan.index);
        let device = device.map_err(|source| self.gone(source))?;
        let counts = self.counts.get();
        let counts = counts.map_err(ShimError::system("reading counters of a program"))?;
        Ok(report::status(&report::Sources {
            settings: &self.settings,
            shape: &self.plan.shape,
            classes: &self.classes,
            counts: &counts,
            law: self.regulator.as_ref(),
            first: &self.first,
            device: &device,
        }))
    }

    /// Ends the shim and restores the device. Frames that wait are lost and counted.
    ///
    /// # Errors
    /// If the device cannot be restored; call [`restore`] to try again.
    pub fn down(mut self) -> Result<Status, ShimError> {
        let status = self.status();
        self.remove()?;
        let mut status = status?;
        status.drops.abandoned += report::waiting(&status);
        Ok(status)
    }

    fn remove(&mut self) -> Result<(), ShimError> {
        if !std::mem::replace(&mut self.is_up, false) {
            return Ok(());
        }
        let (device, index) = (&self.plan.device, self.plan.index);
        let restored = self.place.run(|| plan::restore(device, index));
        restored.map_err(|source| no_namespace(device, source))??;
        Ok(())
    }

    /// Maps an error of the kernel to a [`ShimError`].
    fn gone(&self, source: io::Error) -> ShimError {
        match source.raw_os_error() {
            Some(libc::ENODEV | libc::ENXIO | libc::ENOENT | libc::EINVAL) => {
                ShimError::Gone { device: self.plan.device.clone(), source }
            }
            _ => reading(source),
        }
    }
}

impl Drop for Shim {
    fn drop(&mut self) {
        // A failure cannot be reported here; `restore` can be called later.
        let _ = self.remove();
    }
}

/// Removes everything that a shim of this back end, alive or dead, has put on a device in the
/// calling thread's namespace; returns whether there was anything.
///
/// # Errors
/// If the device does not exist, or a step fails; it may then be tried again.
pub fn restore(device: &str) -> Result<bool, ShimError> {
    let found = Device::named(device)?;
    plan::restore(device, found.index())
}

/// Checks the layer with the constructors of the engines.
fn check(settings: &Settings) -> Result<(), ShimError> {
    let Settings { layer: given, .. } = settings;
    Classifier::new(given.table, given.rules.clone()).map_err(|error| layer(&error))?;
    if let Some(transmit) = &given.transmit {
        TransmitQueues::<()>::new(transmit).map_err(|error| layer(&error))?;
    }
    Ok(())
}

/// Checks new settings for a shim that is up.
fn check_change(present: &Settings, wanted: &Settings) -> Result<(), ShimError> {
    check(wanted)?;
    // The device's MTU was checked against the present settings; a smaller smoother MTU is refused.
    let mtu = |settings: &Settings| settings.layer.smoother.map(|s| s.config.limits.mtu);
    let least = mtu(present).map_or(0, |mtu| usize::try_from(mtu.get()).unwrap_or(0));
    refuse::check(wanted, least)?;
    regulator(Instant::ZERO, wanted)?;
    let shapes = [present, wanted].map(|settings| shape::Shape::of(&settings.layer));
    if !shapes[0].is_alike(&shapes[1]) {
        return Err(ShimError::Shape { option: "transmit, smoother" });
    }
    Ok(())
}

fn no_namespace(device: &str, source: io::Error) -> ShimError {
    ShimError::Namespace { device: device.to_owned(), source }
}

fn regulator(now: Instant, settings: &Settings) -> Result<Option<Regulator>, ShimError> {
    let start = |smoothing: Smoothing| Regulator::new(now, smoothing, settings.rate, SEED);
    settings.layer.smoother.map(start).transpose().map_err(|error| layer(&error))
}

fn layer(error: &impl ToString) -> ShimError {
    ShimError::Layer(error.to_string())
}

fn reading(source: io::Error) -> ShimError {
    ShimError::system("asking the kernel about queues")(source)
}

#[cfg(test)]
mod tests;
