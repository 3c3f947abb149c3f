//! Hosts the prober of `rtether_proto::probe` on a socket.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use rtether_model::quantity::{Duration, Instant};
use rtether_proto::probe::{Codec, Event, Prober, Received};

use crate::clock::Clock;
use crate::link::Link;
use crate::wait::{Waiter, Waiting};

/// Octets of the largest payload that is sent or received.
pub const PAYLOAD_MAX: usize = 65_507;
/// Times a spinning thread asks its socket before it looks at the clock again: the clock costs a
/// tenth of an empty read.
const READS: u32 = 8;
/// A responder has so long to wake up before the next request.
const WAKE: std::time::Duration = std::time::Duration::from_micros(500);
/// How often a blocking wait looks whether to stop.
const LOOK: Duration = Duration::from_ms(50);

/// What a socket did besides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Oddities {
    /// Payloads that are no answer of the format.
    pub malformed: u64,
    /// Answers to somebody else.
    pub foreign: u64,
    /// Answers that say that the request cannot be done.
    pub refusals: u64,
    /// Times the peer's host said that nobody listens there (ICMP port unreachable).
    pub unreachable: u64,
    /// Requests that the system did not take.
    pub unsent: u64,
    /// Times a spinning thread slept, lest the kernel stop it.
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
}

impl<L: Link> Meter<L> {
    /// Returns a meter whose requests have `size` octets of payload, or as many as the format needs.
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
        }
    }

    /// Returns the prober with its counters.
    pub fn prober(&self) -> &Prober {
        &self.prober
    }

    /// Returns what the socket did besides.
    pub fn oddities(&self) -> Oddities {
        self.oddities
    }

    /// Runs until every request is answered or lost, or until `stop`.
    ///
    /// An error ends the run; what was measured before has been handed to `on_event`.
    pub fn run(&mut self, stop: &AtomicBool, mut on_event: impl FnMut(Event)) -> io::Result<()> {
        while !self.prober.is_finished() && !stop.load(Ordering::Relaxed) {
            if self.prober.is_idle() && self.waiter.is_rest_due() {
                self.rest()?;
            }
            if let Some(request) = self.prober.poll_transmit(self.clock.now()) {
                self.codec.write(request, &mut self.request);
                self.send()?;
            }
            let until = self.prober.poll_timeout();
            self.wait(until)?;
            if !self.receive(&mut on_event)? {
                self.prober.handle_timeout(self.clock.now());
                drain(&mut self.prober, &mut on_event);
            }
        }
        Ok(())
    }

    fn wait(&mut self, until: Option<Instant>) -> io::Result<()> {
        let look = self.clock.now() + LOOK;
        let until = until.map_or(look, |until| until.min(look));
        let is_awaited = !self.prober.is_idle();
        self.waiter.wait(self.link.as_fd(), Some(until), is_awaited)
    }

    /// Takes in what is there; returns whether anything was.
    fn receive(&mut self, on_event: &mut impl FnMut(Event)) -> io::Result<bool> {
        let reads = match self.waiter.waiting() {
            Waiting::Block => 1,
            Waiting::Spin => READS,
        };
        for _ in 0..reads {
            let payload = match self.link.receive(&mut self.buffer) {
                Ok(Some(payload)) => payload,
                Ok(None) => continue,
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                    self.oddities.unreachable += 1;
                    continue;
                }
                Err(error) => return Err(error),
            };
            let now = self.clock.now();
            let oldest = self.prober.oldest_pending();
            match self.codec.read(&self.buffer[payload], oldest) {
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
            drain(&mut self.prober, on_event);
            return Ok(true);
        }
        Ok(false)
    }

    /// Sends the request. What the system does not take is lost like a frame on the wire.
    fn send(&mut self) -> io::Result<()> {
        let sent = self.link.send(&self.request);
        let Err(error) = sent else {
            return Ok(());
        };
        if error.kind() == io::ErrorKind::ConnectionRefused {
            // The news is about an earlier request, and this one has not been sent.
            self.oddities.unreachable += 1;
            if self.link.send(&self.request).is_ok() {
                return Ok(());
            }
        } else if !is_passing(&error) {
            return Err(error);
        }
        self.oddities.unsent += 1;
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
        }
        Ok(())
    }
}

fn drain(prober: &mut Prober, on_event: &mut impl FnMut(Event)) {
    while let Some(event) = prober.poll_event() {
        on_event(event);
    }
}

/// Returns whether an error may be gone the next time.
pub(crate) fn is_passing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused | io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    ) || error.raw_os_error() == Some(libc::ENOBUFS)
}
