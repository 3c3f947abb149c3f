//! Hosts the prober of `rtether_proto::probe` on a socket.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use rtether_model::quantity::{Duration, Instant};
use rtether_proto::probe::details::{self, Details};
use rtether_proto::probe::{Codec, Event, Prober, Received};

use crate::clock::Clock;
use crate::link::Link;
use crate::stall::Stalls;
use crate::stamps::Collector;
use crate::wait::{Waiter, Waiting};

/// Octets of the largest payload that is sent or received.
pub const PAYLOAD_MAX: usize = 65_507;
/// Times a spinning thread asks its socket before it looks at the clock again: the clock costs a
/// tenth of an empty read.
pub(crate) const READS: u32 = 8;
/// A responder has so long to wake up before the next request.
const WAKE: std::time::Duration = std::time::Duration::from_micros(500);
/// How often a blocking wait looks whether to stop.
const LOOK: Duration = Duration::from_ms(50);
/// A spinning meter goes to sleep if the last reply takes longer. It does not wait for earlier ones:
/// until a lost one is given up, the kernel would stop it (`wait.rs`).
const PATIENCE: Duration = Duration::from_ms(50);

/// What a socket did besides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Oddities {
    /// Payloads that are no answer of the format.
    pub malformed: u64,
    /// Answers to somebody else.
    pub foreign: u64,
    /// Answers that say that the request cannot be done.
    pub refusals: u64,
    /// Times a host said that the peer, or its port, cannot be reached.
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
    stalls: Stalls,
    /// The request sent last, until its reply is there, and when it was sent.
    last: Option<(u32, Instant)>,
    /// When a spinning thread was last seen to run; later than that if it has slept since.
    awake_at: Instant,
    /// Where the peer is asked for details.
    collector: Option<Collector>,
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
            stalls: Stalls::default(),
            last: None,
            awake_at: clock.now(),
            collector: None,
        }
    }

    /// Asks the peer for details and puts them together; requests become as large as that needs.
    /// Only our own message has them.
    #[must_use]
    pub fn with_details(mut self) -> Self {
        let expected = usize::try_from(self.prober.total()).unwrap_or(usize::MAX);
        self.collector = Some(Collector::new(self.clock, expected));
        self.request
            .resize(self.request.len().max(details::SIZE), 0);
        self
    }

    /// As [`Self::with_details`], with the kernel's time stamps on this side.
    pub fn with_stamps(mut self) -> io::Result<Self> {
        self.link.enable_stamps()?;
        Ok(self.with_details())
    }

    /// Returns the link, for another run on it.
    pub fn into_link(self) -> L {
        self.link
    }

    /// Returns what has been put together, if it was asked for.
    pub fn take_collector(&mut self) -> Option<Collector> {
        self.collector.take()
    }

    /// Returns the gaps that a spinning meter has seen while it did not sleep.
    pub fn stalls(&self) -> &Stalls {
        &self.stalls
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
            if self.wait()? {
                self.awake_at = self.clock.now();
            }
            if !self.receive(&mut on_event)? {
                self.prober.handle_timeout(self.clock.now());
                self.drain(None, &mut on_event);
            }
        }
        Ok(())
    }

    /// Notes a gap since the thread was last seen to run.
    fn look(&mut self, now: Instant) {
        self.stalls.look(self.awake_at, now, Duration::ZERO);
        self.awake_at = now;
    }

    /// Returns whether a reply may come any moment.
    fn is_awaiting(&self, now: Instant) -> bool {
        let last = self.last.filter(|(_, sent_at)| now - *sent_at < PATIENCE);
        last.is_some() && !self.prober.is_idle()
    }

    /// Waits for what comes next; returns whether the thread slept.
    fn wait(&mut self) -> io::Result<bool> {
        let now = self.clock.now();
        let is_awaited = self.is_awaiting(now);
        if self.waiter.is_busy(is_awaited) {
            return Ok(false);
        }
        let look = now + LOOK;
        let until = self.prober.poll_timeout();
        let until = until.map_or(look, |until| until.min(look));
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
                Err(error) if is_unreachable(&error) => {
                    self.oddities.unreachable += 1;
                    continue;
                }
                Err(error) => return Err(error),
            };
            let now = self.clock.now();
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
            // Stamps that wait wake a blocking thread again and again.
            take_stamps(&mut self.link, collector)?;
        }
        Ok(false)
    }

    /// Hands out what has happened; `details` are those of the reply that has just come.
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

    /// Sends the request. What the system does not take is lost like a frame on the wire.
    fn send(&mut self, sequence: u32) -> io::Result<()> {
        let mut sent = self.link.send(&self.request);
        if matches!(&sent, Err(error) if is_unreachable(error)) {
            // The news is about an earlier request, and this one has not been sent.
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

/// Returns whether an error is news about the peer: nobody listens there, or no host is there.
fn is_unreachable(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused | io::ErrorKind::HostUnreachable
    )
}

/// Returns whether an error may be gone the next time.
pub(crate) fn is_passing(error: &io::Error) -> bool {
    let is_full = error.raw_os_error() == Some(libc::ENOBUFS);
    let is_later = matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    );
    is_full || is_later || is_unreachable(error)
}
