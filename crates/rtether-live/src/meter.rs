//! Hosts the prober of `rtether_proto::probe` on a socket.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rtether_model::quantity::{Duration, Instant};
use rtether_proto::probe::details::{self, Details};
use rtether_proto::probe::{Codec, Event, Prober, Received};

use crate::clock::{Clock, to_std};
use crate::link::{Link, PAYLOAD_MAX};
use crate::stall::{Awaited, Sleeper, Stalls};
use crate::stamps::Collector;
use crate::wait::{Waiter, Waiting};

/// Reads of a spinning thread per clock reading: the clock costs a tenth of an empty read.
pub(crate) const READS: u32 = 8;
/// Time for a responder to wake up before the next request.
const WAKE: std::time::Duration = std::time::Duration::from_micros(500);
/// Interval at which a blocking wait checks for a stop.
const LOOK: Duration = Duration::from_ms(50);
/// A spinning meter goes to sleep if the latest reply takes longer. It does not wait for earlier
/// ones: the kernel would stop it before a lost one is given up (`wait.rs`).
const PATIENCE: Duration = Duration::from_ms(50);

/// Other events on a socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Oddities {
    /// Payloads that are not an answer in this format.
    pub malformed: u64,
    /// Answers to another meter.
    pub foreign: u64,
    /// Answers that refuse the request.
    pub refusals: u64,
    /// How often a host reported that the peer, or its port, is unreachable.
    pub unreachable: u64,
    /// Requests that the system refused.
    pub unsent: u64,
    /// How often a spinning thread rested so that the kernel would not stop it.
    pub rests: u64,
}

/// A meter on one link.
pub struct Meter<L> {
    link: L,
    codec: Codec,
    prober: Prober,
    clock: Clock,
    waiter: Waiter,
    request: Vec<u8>,
    buffer: Vec<u8>,
    oddities: Oddities,
    stalls: Stalls,
    /// The last request and its send time, until its reply arrives.
    last: Option<(u32, Instant)>,
    /// When a spinning thread was last seen to run, or last woke up.
    awake_at: Instant,
    /// Collects details, if the peer is asked for them.
    collector: Option<Collector>,
    /// Finds stalls of a thread that sleeps.
    sleeper: Sleeper,
    /// Whether the thread sleeps, or has just woken up.
    is_asleep: bool,
    /// Whether the link sleeps in the call that receives.
    is_patient: bool,
}

impl<L: Link> Meter<L> {
    /// Returns a meter whose requests have `size` octets of payload, or the least size of the
    /// format. The same thread is to run it, since its stalls are looked for.
    pub fn new(
        link: L,
        codec: Codec,
        prober: Prober,
        clock: Clock,
        waiting: Waiting,
        size: usize,
    ) -> Self {
        let size = size.max(codec.size_min()).min(PAYLOAD_MAX);
        Self {
            link,
            codec,
            prober,
            clock,
            waiter: Waiter::new(waiting, clock),
            request: vec![0; size],
            buffer: vec![0; PAYLOAD_MAX + 60],
            oddities: Oddities::default(),
            stalls: Stalls::default(),
            last: None,
            awake_at: clock.now(),
            collector: None,
            sleeper: Sleeper::new(clock.now()),
            is_asleep: false,
            is_patient: false,
        }
    }

    /// Returns what watchers beside this thread look at, if they may rest while it waits briefly.
    pub fn awaited(&self) -> Option<Arc<Awaited>> {
        self.sleeper.awaited()
    }

    /// Asks the peer for details and collects them; requests grow to hold them. Only our own
    /// message format has details.
    #[must_use]
    pub fn with_details(mut self) -> Self {
        let expected = usize::try_from(self.prober.total()).unwrap_or(usize::MAX);
        self.collector = Some(Collector::new(self.clock, expected));
        self.request.resize(self.request.len().max(details::SIZE), 0);
        self
    }

    /// As [`Self::with_details`], with the kernel's time stamps on this side.
    pub fn with_stamps(mut self) -> io::Result<Self> {
        self.link.enable_stamps()?;
        Ok(self.with_details())
    }

    /// Returns the link, for another run.
    pub fn into_link(self) -> L {
        self.link
    }

    /// Returns the collected details, if they were asked for.
    pub fn take_collector(&mut self) -> Option<Collector> {
        self.collector.take()
    }

    /// Returns the gaps seen by a spinning meter while it did not sleep, and the times for which a
    /// sleeping one waited for its core.
    pub fn stalls(&self) -> Stalls {
        let mut stalls = self.stalls.clone();
        stalls.extend(self.sleeper.stalls().clone());
        stalls
    }

    /// Returns the prober with its counters.
    pub fn prober(&self) -> &Prober {
        &self.prober
    }

    /// Returns the other events on the socket.
    pub fn oddities(&self) -> Oddities {
        self.oddities
    }

    /// Runs until every request is answered or lost, or until `stop`.
    ///
    /// An error ends the run; earlier samples have been passed to `on_event`.
    pub fn run(&mut self, stop: &AtomicBool, mut on_event: impl FnMut(Event)) -> io::Result<()> {
        let is_blocking = self.waiter.waiting() == Waiting::Block;
        self.is_patient = is_blocking && self.collector.is_none() && {
            // The prober is asked again by then.
            self.link.set_patience(to_std(LOOK))?
        };
        self.awake_at = self.clock.now();
        while !self.prober.is_finished() && !stop.load(Ordering::Relaxed) {
            let now = self.clock.now();
            self.look(now);
            if !self.is_awaiting(now) && self.waiter.is_rest_due(now) {
                self.rest()?;
                self.awake_at = self.clock.now();
                continue;
            }
            if let Some(request) = self.prober.poll_transmit(now) {
                self.codec.write(request, &mut self.request);
                if self.collector.is_some() {
                    details::ask(&mut self.request);
                }
                self.send(request.sequence)?;
                self.last = Some((request.sequence, now));
            }
            let sleeps_later = self.wait()?;
            if !self.receive(sleeps_later, &mut on_event)? {
                let now = self.clock.now();
                self.wake(now);
                self.prober.handle_timeout(now);
                self.drain(None, &mut on_event);
            }
        }
        Ok(())
    }

    /// Records a gap since the thread was last seen to run.
    fn look(&mut self, now: Instant) {
        self.stalls.look(self.awake_at, now, Duration::ZERO);
        self.awake_at = now;
    }

    /// Returns whether a reply may arrive at any moment.
    fn is_awaiting(&self, now: Instant) -> bool {
        let last = self.last.filter(|(_, sent_at)| now - *sent_at < PATIENCE);
        last.is_some() && !self.prober.is_idle()
    }

    /// Waits for the next event, or returns whether the call that receives is to do so.
    fn wait(&mut self) -> io::Result<bool> {
        let now = self.clock.now();
        let is_awaited = self.is_awaiting(now);
        if self.waiter.is_busy(is_awaited) {
            return Ok(false);
        }
        let look = now + LOOK;
        let until = self.prober.poll_timeout();
        if self.waiter.waiting() == Waiting::Block {
            self.is_asleep = true;
            self.sleeper.falls_asleep(now, !self.prober.is_idle());
            // That call ends by ticks of the kernel, a little late.
            if self.is_patient && until.is_none_or(|until| until >= look + LOOK) {
                return Ok(true);
            }
        }
        let until = until.map_or(look, |until| until.min(look));
        if self.waiter.wait(self.link.as_fd(), Some(until), is_awaited)? {
            self.awake_at = self.clock.now();
        }
        Ok(false)
    }

    /// Takes that the thread is awake at `now`, if it slept.
    fn wake(&mut self, now: Instant) {
        if self.is_asleep {
            self.is_asleep = false;
            self.awake_at = now;
            self.sleeper.wakes(now);
        }
    }

    /// Receives what has arrived, or what arrives while it `sleeps`; returns whether there was
    /// anything.
    fn receive(&mut self, sleeps: bool, on_event: &mut impl FnMut(Event)) -> io::Result<bool> {
        let reads = match self.waiter.waiting() {
            Waiting::Block => 1,
            Waiting::Spin => READS,
        };
        for _ in 0..reads {
            let received = if sleeps {
                self.link.receive_or_wait(&mut self.buffer)
            } else {
                self.link.receive(&mut self.buffer)
            };
            let payload = match received {
                Ok(Some(payload)) => payload,
                Ok(None) => continue,
                Err(error) if is_unreachable(&error) => {
                    self.oddities.unreachable += 1;
                    continue;
                }
                Err(error) => return Err(error),
            };
            let now = self.clock.now();
            self.wake(now);
            self.look(now);
            let payload = &self.buffer[payload];
            let oldest = self.prober.oldest_pending();
            match self.codec.read(payload, oldest) {
                Received::Reply(sequence) => self.prober.handle_reply(now, sequence),
                Received::ReplyLow(low) => {
                    self.prober.handle_reply(now, self.prober.widen(low));
                }
                Received::ReplyInOrder => self.prober.handle_reply_in_order(now),
                Received::Refusal => {
                    self.oddities.refusals += 1;
                    self.prober.handle_reply_in_order(now);
                }
                Received::Foreign => self.oddities.foreign += 1,
                Received::Malformed => self.oddities.malformed += 1,
            }
            let details = self.collector.as_ref();
            let details = details.and_then(|_| Details::parse(payload));
            if let Some(collector) = &mut self.collector {
                take_stamps(&mut self.link, collector)?;
            }
            self.drain(details, on_event);
            return Ok(true);
        }
        if let Some(collector) = &mut self.collector {
            // Unread stamps would wake a blocking thread again and again.
            take_stamps(&mut self.link, collector)?;
        }
        Ok(false)
    }

    /// Passes events on; `details` are those of the reply that has just arrived.
    fn drain(&mut self, details: Option<Details>, on_event: &mut impl FnMut(Event)) {
        while let Some(event) = self.prober.poll_event() {
            if let Event::Sample(sample) = event {
                self.last = self.last.filter(|(last, _)| *last != sample.sequence);
                if let Some(collector) = &mut self.collector {
                    collector.on_reply(sample, self.link.received_at(), details);
                }
            }
            on_event(event);
        }
    }

    /// Sends the request. If the system refuses it, it is lost like a frame on the wire.
    fn send(&mut self, sequence: u32) -> io::Result<()> {
        let mut sent = self.link.send(&self.request);
        if matches!(&sent, Err(error) if is_unreachable(error)) {
            // The error concerns an earlier request; this one has not been sent.
            self.oddities.unreachable += 1;
            sent = self.link.send(&self.request);
        }
        match sent {
            Ok(()) => {
                if let Some(collector) = &mut self.collector {
                    collector.on_send(Some(sequence));
                }
            }
            Err(error) if is_passing(&error) => self.oddities.unsent += 1,
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn rest(&mut self) -> io::Result<()> {
        self.waiter.rest();
        self.oddities.rests += 1;
        if let Some(payload) = self.codec.wake() {
            match self.link.send(&payload) {
                Err(error) if !is_passing(&error) => return Err(error),
                Ok(()) | Err(_) => std::thread::sleep(WAKE),
            }
            if let Some(collector) = &mut self.collector {
                collector.on_send(None);
            }
        }
        Ok(())
    }
}

fn take_stamps<L: Link>(link: &mut L, collector: &mut Collector) -> io::Result<()> {
    while let Some(sent) = link.poll_sent()? {
        collector.on_stamp(sent);
    }
    Ok(())
}

/// Returns whether an error reports that the peer's port or host is unreachable.
fn is_unreachable(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::ConnectionRefused | io::ErrorKind::HostUnreachable)
}

/// Returns whether an error may be gone the next time.
pub(crate) fn is_passing(error: &io::Error) -> bool {
    let is_full = error.raw_os_error() == Some(libc::ENOBUFS);
    let is_later = matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted);
    is_full || is_later || is_unreachable(error)
}
