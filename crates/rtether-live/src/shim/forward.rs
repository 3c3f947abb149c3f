//! The loop of the thread that forwards frames.

use std::os::fd::AsFd;

use rtether_model::quantity::{Duration, Instant};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::probes::Probes;
use super::settings::{hears, placement};
use super::tap::{FRAME_MAX, Tap};
use super::{Backend, Drops, Settings, Shim, ShimError, Signal, Status};
use crate::clock::to_std;
use crate::emulator::CompletionReport;
use crate::wait::Waiting;

/// Interval between signs of life: frames bypass the shim after five missed ones.
const BEAT: Duration = Duration::from_ms(50);
/// The status is published with every second sign of life.
const PUBLISH_EVERY: u32 = 2;
/// Largest number of frames taken from one side before the other side and the timers get a turn.
const BURST: usize = 32;
/// A thread that sleeps until a deadline wakes this much earlier and then spins: longer than a
/// wake-up takes.
const LEAD: Duration = Duration::from_us(60);
/// How often, and for how long, a spinning thread sleeps unless a frame arrives: the kernel's own
/// threads need the core, and real-time throttling stops a thread that never sleeps, for 50 ms of
/// every second.
const BLINK_EVERY: Duration = Duration::from_ms(1);
const BLINK: Duration = Duration::from_us(75);
impl Shim {
    pub(super) fn forward(&mut self) -> Result<(), ShimError> {
        while !self.handle.is_stopped() {
            let now = self.clock.now();
            if now >= self.beat_at {
                self.beat(now)?;
            }
            if now >= self.look_at {
                self.look_for_collisions(now)?;
            }
            if !self.step(now)? {
                self.rest(now)?;
            }
        }
        Ok(())
    }

    /// Does the work that is due and takes waiting frames; returns `false` if there was nothing to
    /// take.
    pub(super) fn step(&mut self, now: Instant) -> Result<bool, ShimError> {
        self.transmit.advance(now, &self.port, &mut self.pool)?;
        self.transmit.probe(now, &self.port, &mut self.pool)?;
        self.receive.handle_timeout(now, &mut self.pool);
        let told = self.take_reports()?;
        let sent = self.take_from_stack()?;
        let received = self.take_from_wire()?;
        Ok(told || sent || received)
    }

    /// Takes completion reports of a hub (one per frame) and probes and answers of other shims.
    fn take_reports(&mut self) -> Result<bool, ShimError> {
        for number in 0..BURST {
            let Some((length, age)) = self.port.receive(&mut self.buffer)? else {
                return Ok(number > 0);
            };
            let octets = &self.buffer[..length.min(FRAME_MAX)];
            let now = self.clock.now();
            let (port, pool) = (&self.port, &mut self.pool);
            self.transmit.advance(now, port, pool)?;
            if let Some(mut report) = CompletionReport::parse(octets) {
                report.since_attempt += age;
                self.transmit.report(now, &report, port, pool)?;
            } else {
                self.transmit.take_probe(now, age, octets, port, pool)?;
            }
        }
        Ok(true)
    }

    fn take_from_stack(&mut self) -> Result<bool, ShimError> {
        for number in 0..BURST {
            let read = self.stack.read(&mut self.buffer);
            let read = read.map_err(ShimError::system("reading frames of the stack"))?;
            let Some(length) = read else {
                return Ok(number > 0);
            };
            let now = self.clock.now();
            let (port, pool) = (&self.port, &mut self.pool);
            self.transmit.advance(now, port, pool)?;
            let octets = &self.buffer[..length];
            self.transmit.take(now, octets, port, pool)?;
        }
        Ok(true)
    }

    /// Takes all frames waiting from the wire, then hands one to the stack. If more than [`BURST`]
    /// are waiting, hands over as many as it took.
    fn take_from_wire(&mut self) -> Result<bool, ShimError> {
        let Some(wire) = &self.wire else {
            return Ok(false);
        };
        let mut deliveries = BURST;
        for _ in 0..BURST {
            if !self.receive.has_room() {
                self.receive.deliver(self.clock.now(), wire, &mut self.pool);
            }
            let read = wire.read(&mut self.buffer);
            let read = read.map_err(ShimError::system("reading frames of the wire"))?;
            let Some(length) = read else {
                deliveries = 1;
                break;
            };
            let (now, octets) = (self.clock.now(), &self.buffer[..length]);
            if hears(&self.settings) {
                self.transmit.hear(now, octets, &self.port, &mut self.pool)?;
            }
            self.receive.take(now, octets, &mut self.pool);
        }
        let mut is_any = deliveries > 1;
        for _ in 0..deliveries {
            let now = self.clock.now();
            is_any |= self.receive.deliver(now, wire, &mut self.pool);
        }
        Ok(is_any)
    }

    /// Gives a sign of life, applies new settings and publishes the status.
    fn beat(&mut self, now: Instant) -> Result<(), ShimError> {
        let beaten = self.diversion.beat();
        beaten.map_err(ShimError::system("giving a sign of life"))?;
        self.beat_at = now + BEAT;
        self.beats = self.beats.wrapping_add(1);
        if let Some(settings) = self.handle.poll_settings() {
            self.apply(now, settings)?;
        }
        if self.beats.is_multiple_of(PUBLISH_EVERY) {
            self.publish()?;
        }
        Ok(())
    }

    /// Reads the driver's collision counter while frames are out that may have collided.
    fn look_for_collisions(&mut self, now: Instant) -> Result<(), ShimError> {
        let Signal::DriverCollisions { every } = self.settings.signal else {
            self.look_at = Instant::from_ps(i64::MAX);
            return Ok(());
        };
        self.look_at = now + every;
        let read = self.counters.read(&self.name);
        let read = read.map_err(ShimError::system("reading counters of devices"))?;
        let collisions = read.unwrap_or_default().collisions;
        if collisions > self.collisions && self.transmit.is_busy() {
            self.transmit.collide();
        }
        self.collisions = collisions;
        Ok(())
    }

    fn apply(&mut self, now: Instant, settings: Settings) -> Result<(), ShimError> {
        let (port, pool) = (&self.port, &mut self.pool);
        self.transmit.advance(now, port, pool)?;
        self.transmit.set(now, &settings, port, pool)?;
        if let Some(wire) = &self.wire {
            self.receive.set(now, &settings, wire, pool)?;
        }
        let is_moved = placement(&settings) != placement(&self.settings);
        self.look_at = now;
        self.settings = settings;
        if is_moved {
            self.place_thread()?;
        }
        Ok(())
    }

    /// Sleeps until a frame arrives or something is due, as the waiting setting allows.
    fn rest(&mut self, now: Instant) -> Result<(), ShimError> {
        let held = self
            .transmit
            .wake_at()
            .into_iter()
            .chain(self.transmit.probe_at())
            .chain(self.receive.due());
        let until_frame = held.min().map(|due| due - now - LEAD);
        let until_look = self.transmit.is_busy().then_some(self.look_at - now);
        let left = match self.settings.waiting {
            Waiting::Block => self.beat_at - now,
            Waiting::Spin if now - self.blinked_at > BLINK_EVERY => {
                self.blinked_at = now;
                BLINK
            }
            Waiting::Spin => return Ok(()),
        };
        let left = until_frame.into_iter().chain(until_look).fold(left, Duration::min);
        if left > Duration::ZERO {
            self.sleep(left)?;
        }
        Ok(())
    }

    fn sleep(&self, left: Duration) -> Result<(), ShimError> {
        let left = to_std(left);
        let limit = Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(left.subsec_nanos()),
        };
        let stack = self.stack.as_fd();
        let wire = self.wire.as_ref().map(Tap::as_fd);
        // An absent source is polled for no events.
        let mut all = [Some(stack), wire, self.port.reports()].map(|source| {
            let flags = source.map_or(PollFlags::empty(), |_| PollFlags::IN);
            PollFd::from_borrowed_fd(source.unwrap_or(stack), flags)
        });
        match poll(&mut all, Some(&limit)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(ShimError::system("waiting for frames")(error.into())),
        }
    }

    pub(super) fn publish(&mut self) -> Result<(), ShimError> {
        let status = self.status()?;
        self.handle.publish(status);
        Ok(())
    }

    fn status(&mut self) -> Result<Status, ShimError> {
        let counters = &mut self.counters;
        let mut overruns = |tap: &Tap| {
            let read = counters.read(tap.name());
            read.map(|found| found.unwrap_or_default().dropped)
                .map_err(ShimError::system("reading counters of devices"))
        };
        let stack_overrun = overruns(&self.stack)?;
        let wire_overrun = self.wire.as_ref().map_or(Ok(0), overruns)?;
        let counts = self.diversion.counts();
        let [_, bypassed] = counts.map_err(ShimError::system("reading counters of filters"))?;
        Ok(Status {
            backend: Backend::User,
            is_real_time: self.is_real_time,
            transmitted: self.transmit.traffic,
            received: self.receive.traffic,
            queues: self.transmit.queues().chain(self.receive.queues()).collect(),
            smoother: self.transmit.smoother(&self.settings),
            signal: self.settings.signal,
            missed_reports: self.transmit.missed(),
            probes: self.transmit.probes.as_ref().map(Probes::status),
            drops: Drops {
                receive_full: self.receive.dropped,
                stack_overrun,
                wire_overrun,
                stack_refused: self.receive.refused,
                ..self.transmit.drops
            },
            bypassed,
            malformed: self.pool.malformed,
        })
    }
}
