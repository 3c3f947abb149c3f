//! The user-space back end: one thread between two TAPs and a packet socket.

use std::num::NonZeroU64;

use rtether_model::endnode::Layer;
use rtether_model::quantity::{Duration, Instant};
use rtether_proto::egress::Recording;

use super::check::{check, check_change};
use super::counters::Counters;
use super::divert::Diversion;
use super::frames::Pool;
use super::network_namespace::NetworkNamespace;
use super::plan::{Plan, Taps, restore};
use super::port::Port;
use super::receive::ReceiveSide;
use super::settings::{listens, placement};
use super::tap::{FRAME_MAX, Tap};
use super::transmit::{TransmitSide, catch_up};
use super::{Backend, Handle, Settings, ShimError, Signal, Status};
use crate::clock::Clock;
use crate::link::{Device, DeviceError};
use crate::thread::is_real_time;

/// How long waiting frames may take to leave when the shim is taken down: first at the smoother's
/// pace, then at that of the line. A thousand of the longest frames take 1.2 s at 10 Mbit/s.
const FLUSH_MAX: [Duration; 2] = [Duration::from_ms(500), Duration::from_ms(1_500)];

/// A device whose frames pass the end-node layer.
///
/// Dropping it restores the device.
pub struct Shim {
    pub(super) name: String,
    pub(super) settings: Settings,
    pub(super) diversion: Diversion,
    pub(super) stack: Tap,
    /// TAP for received frames, if these pass the shim.
    pub(super) wire: Option<Tap>,
    pub(super) port: Port,
    pub(super) transmit: TransmitSide,
    pub(super) receive: ReceiveSide,
    pub(super) counters: Counters,
    pub(super) pool: Pool,
    pub(super) buffer: Box<[u8]>,
    pub(super) clock: Clock,
    pub(super) handle: Handle,
    pub(super) beat_at: Instant,
    pub(super) beats: u32,
    /// When the driver's collision counter is read next, and its last value.
    pub(super) look_at: Instant,
    pub(super) collisions: u64,
    pub(super) blinked_at: Instant,
    /// The network namespace of the device.
    pub(super) place: NetworkNamespace,
    pub(super) is_up: bool,
    pub(super) is_flushed: bool,
    /// Whether its thread has a real-time priority; `None` before it runs.
    pub(super) is_real_time: Option<bool>,
}

impl Shim {
    /// Inspects a device in the calling thread's namespace and returns what would be done to it.
    ///
    /// # Errors
    /// If the settings are invalid or refused, or the device is not suitable.
    pub fn prepare(device: &str, settings: &Settings) -> Result<Plan, ShimError> {
        check(settings)?;
        Plan::new(device, settings)
    }

    /// Sets up the shim between the stack and a device in the calling thread's namespace.
    ///
    /// Frames bypass it until [`Self::run`].
    ///
    /// # Errors
    /// As [`Self::prepare`], and if a privilege is missing. The device is then left as it was.
    pub fn up(device: &str, settings: Settings) -> Result<Self, ShimError> {
        Self::up_recorded(device, settings, 0)
    }

    /// As [`Self::up`], and records up to `limit` calls and decisions of the transmit engines,
    /// about 60 octets each, for [`Self::take_recording`].
    ///
    /// # Errors
    /// As [`Self::up`].
    pub fn up_recorded(device: &str, settings: Settings, limit: usize) -> Result<Self, ShimError> {
        let plan = Self::prepare(device, &settings)?;
        let found = Device::named(device)?;
        let place = NetworkNamespace::here().map_err(ShimError::system("opening the namespace"))?;
        let mut counters = Counters::open().map_err(ShimError::system("opening counters"))?;
        let seen = counters.read(device);
        let seen = seen.map_err(ShimError::system("reading counters of devices"))?;
        let clock = Clock::start();
        let now = clock.now();
        let mut transmit = TransmitSide::new(now, &settings, seed_of(&found))?;
        transmit.probe_from(now, &settings, found.address());
        if limit > 0 {
            transmit = transmit.recorded(settings.layer.clone(), limit);
        }
        let receive = ReceiveSide::new(&settings)?;
        let port = Port::open(
            device,
            &found,
            settings.signal == Signal::Reports || settings.probes.is_some(),
            listens(&settings),
        )?;
        let taps = plan.open_taps()?;
        let diversion = plan.run(&taps, &settings)?;
        let Taps { stack, wire } = taps;
        let mut this = Self {
            name: device.to_owned(),
            handle: Handle::new(
                settings.clone(),
                Status::new(Backend::User, settings.signal),
                check_change,
            ),
            settings,
            diversion,
            stack,
            wire,
            port,
            transmit,
            receive,
            counters,
            pool: Pool::default(),
            buffer: vec![0; FRAME_MAX].into_boxed_slice(),
            clock,
            beat_at: now,
            beats: 0,
            look_at: now,
            collisions: seen.unwrap_or_default().collisions,
            blinked_at: now,
            place,
            is_up: true,
            is_flushed: false,
            is_real_time: None,
        };
        this.publish()?;
        Ok(this)
    }

    /// Returns a handle to control this shim from other threads.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Forwards frames in the calling thread until [`Handle::stop`]; afterwards they bypass the
    /// shim.
    ///
    /// # Errors
    /// If the thread cannot be placed as requested, or the device goes away.
    pub fn run(&mut self) -> Result<(), ShimError> {
        self.place_thread()?;
        // Otherwise, a timer of an ordinary thread may be late by 50 us.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        let ended = self.forward();
        // Ends the diversion even after an error, so that the device works without the shim.
        let passed = self.diversion.end();
        ended?;
        passed.map_err(ShimError::system("ending the diversion"))?;
        self.publish()
    }

    /// Places the calling thread as configured.
    pub(super) fn place_thread(&mut self) -> Result<(), ShimError> {
        placement(&self.settings).apply()?;
        let is_real_time = is_real_time();
        self.is_real_time = Some(is_real_time);
        self.transmit.catch_up = catch_up(is_real_time);
        Ok(())
    }

    /// Ends the recording and returns it with its layers, for [`rtether_proto::egress::replay`];
    /// `None` if nothing was recorded. Frames that leave later are not in it.
    pub fn take_recording(&mut self) -> Option<(Recording, Vec<Layer>)> {
        self.transmit.take_recording()
    }

    /// Ends the shim: lets waiting frames leave as [`Self::flush`] does, and restores the device.
    ///
    /// # Errors
    /// If the device cannot be restored; call [`restore`] to try again.
    pub fn down(mut self) -> Result<Status, ShimError> {
        let flushed = self.flush();
        self.remove()?;
        flushed?;
        Ok(self.handle.status())
    }

    /// Lets waiting frames leave for up to two seconds; later calls do nothing. These frames are
    /// recorded, too, so a complete recording is taken afterwards.
    ///
    /// # Errors
    /// If the device goes away.
    pub fn flush(&mut self) -> Result<(), ShimError> {
        if std::mem::replace(&mut self.is_flushed, true) {
            return Ok(());
        }
        let ended = self.diversion.end();
        ended.map_err(ShimError::system("ending the diversion"))?;
        let [smoothly, fast] = FLUSH_MAX;
        if self.drain(smoothly)? {
            return self.publish();
        }
        // New frames bypass the shim already, so holding the rest back gains nothing.
        let mut settings = self.settings.clone();
        settings.layer.smoother = None;
        let now = self.clock.now();
        self.transmit.set(now, &settings, &self.port, &mut self.pool)?;
        if !self.drain(fast)? {
            self.transmit.drops.abandoned += self.transmit.waiting() + self.receive.waiting();
        }
        self.publish()
    }

    /// Lets waiting frames leave for up to `time`; returns whether all did.
    fn drain(&mut self, time: Duration) -> Result<bool, ShimError> {
        let until = self.clock.now() + time;
        loop {
            let now = self.clock.now();
            let is_busy = self.step(now)?;
            if !is_busy && self.transmit.waiting() + self.receive.waiting() == 0 {
                return Ok(true);
            }
            if now > until {
                return Ok(false);
            }
        }
    }

    fn remove(&mut self) -> Result<(), ShimError> {
        if !std::mem::replace(&mut self.is_up, false) {
            return Ok(());
        }
        let restored = self.place.run(|| match Device::named(&self.name) {
            // The device is gone, with everything attached to it.
            Err(DeviceError::Unknown { .. }) => Ok(()),
            _ => restore(&self.name),
        });
        restored.map_err(|source| ShimError::Namespace { device: self.name.clone(), source })?
    }
}

impl Drop for Shim {
    fn drop(&mut self) {
        // A failure cannot be reported here; frames bypass the shim in any case.
        let _ = self.diversion.end();
        let _ = self.remove();
    }
}

/// Returns a number that is unique to this station: its MAC address.
fn seed_of(device: &Device) -> u64 {
    let octets = device.address().0;
    octets.iter().fold(0, |seed, &octet| seed << 8 | u64::from(octet))
}
