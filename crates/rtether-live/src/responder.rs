//! Answers the meter's messages.

use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use rtether_model::quantity::{Duration, Instant};
use rtether_proto::probe::cndep::{Board, Profile};
use rtether_proto::probe::details;
use rtether_proto::probe::message::{self, Kind, Message};
use rtether_rtps::engine::Versions;

use crate::clock::{Clock, to_std};
use crate::informant::Informant;
use crate::link::PAYLOAD_MAX;
use crate::link::{Service, Turned};
use crate::meter::{READS, is_passing};
use crate::wait::{LEAD, Waiter, Waiting};

/// Interval at which a blocking wait checks for a stop.
const LOOK: Duration = Duration::from_ms(50);
/// A spinning responder goes to sleep if a request is this late.
///
/// The kernel stops real-time threads that run for more than 95 % of a second. A meter that sends
/// requests back to back runs for 800 ms and rests for 60 ms (`wait.rs`), which its responder
/// notices only after this time. With 5 ms it sleeps for at least 55 ms of every second, so it runs
/// for 94.5 %; 10 ms would be at the limit, 20 ms beyond it.
const PATIENCE: Duration = Duration::from_ms(5);

/// Protocol of a responder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// Answers the meter's messages.
    Echo,
    /// A controller board that speaks CNDEP (R118).
    Board {
        /// Its parameters.
        board: Board,
        /// Octet values.
        profile: Profile,
        /// Time from the receipt of a request to its answer; requests that arrive meanwhile wait.
        delay: Duration,
    },
}

/// Counters of a responder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Answered {
    /// Requests answered.
    pub answered: u64,
    /// Payloads that are not requests, dropped without an answer.
    pub malformed: u64,
    /// Answers that the system refused.
    pub unsent: u64,
    /// Requests that never arrived here.
    pub turned: Turned,
    /// Over topics: datagrams of versions of RTPS that are not spoken here.
    pub versions: Versions,
}

/// Expected times of requests, from the last ones.
///
/// A responder that spun between requests a millisecond apart would never sleep, since their meter
/// sleeps between them and so needs no rests.
struct Rhythm {
    last: Instant,
    /// The two gaps between the last three requests.
    gaps: [Duration; 2],
}

impl Rhythm {
    /// Returns a rhythm that expects nothing at `now` or later.
    fn new(now: Instant) -> Self {
        Self { last: now - PATIENCE, gaps: [Duration::ZERO; 2] }
    }

    fn note(&mut self, received_at: Instant) {
        self.gaps = [self.gaps[1], received_at - self.last];
        self.last = received_at;
    }

    /// Returns from when until when to poll for the next request: from half the gap on or, if that
    /// is short, from the time at which its meter wakes up. The shorter gap counts, since a longer
    /// one may be due to a lost request or to a rest.
    fn awaited(&self) -> [Instant; 2] {
        let [one, other] = self.gaps;
        let gap = one.min(other);
        [(gap / 2).min(gap - LEAD), gap + PATIENCE].map(|after| self.last + after)
    }
}

/// Answers requests on one socket.
pub struct Responder<S> {
    service: S,
    role: Role,
    clock: Clock,
    waiter: Waiter,
    buffer: Vec<u8>,
    reply: Vec<u8>,
    counters: Answered,
    informant: Informant,
}

impl<S: Service> Responder<S> {
    /// Returns a responder with all counters zero.
    pub fn new(service: S, role: Role, clock: Clock, waiting: Waiting) -> Self {
        Self {
            service,
            role,
            clock,
            waiter: Waiter::new(waiting, clock),
            buffer: vec![0; PAYLOAD_MAX + 60],
            reply: Vec::new(),
            counters: Answered::default(),
            informant: Informant::new(),
        }
    }

    /// Makes the kernel stamp packets, for replies with details.
    pub fn with_stamps(mut self) -> io::Result<Self> {
        self.service.enable_stamps()?;
        self.informant.is_stamped = true;
        Ok(self)
    }

    /// Returns the counters.
    pub fn counters(&self) -> Answered {
        Answered { turned: self.service.turned(), ..self.counters }
    }

    /// Answers until `stop`.
    pub fn run(&mut self, stop: &AtomicBool) -> io::Result<()> {
        let mut rhythm = Rhythm::new(self.clock.now());
        let is_blocking = self.waiter.waiting() == Waiting::Block;
        if is_blocking && !self.informant.is_stamped && self.service.set_patience(to_std(LOOK))? {
            while !stop.load(Ordering::Relaxed) {
                self.answer_one(true)?;
            }
            return Ok(());
        }
        while !stop.load(Ordering::Relaxed) {
            let now = self.clock.now();
            let [awake_at, late_at] = rhythm.awaited();
            let is_awaited = (awake_at..late_at).contains(&now);
            let until = match self.waiter.waiting() {
                // The waiter returns this much early.
                Waiting::Spin if now < awake_at => (awake_at + LEAD).min(now + LOOK),
                Waiting::Spin | Waiting::Block => now + LOOK,
            };
            let socket = self.service.as_fd();
            let has_slept = self.waiter.wait(socket, Some(until), is_awaited)?;
            for _ in 0..if has_slept { 1 } else { READS } {
                if let Some(received_at) = self.answer_one(false)? {
                    rhythm.note(received_at);
                    break;
                }
            }
            self.take_stamps()?;
        }
        Ok(())
    }

    /// Takes stamps of answers; unread ones would wake a blocking thread again and again.
    fn take_stamps(&mut self) -> io::Result<()> {
        if self.informant.is_stamped {
            while let Some(sent) = self.service.poll_sent()? {
                self.informant.on_stamp(sent);
            }
        }
        Ok(())
    }

    /// Answers one request, and waits for it if it `sleeps`; returns its arrival time, if there
    /// was one.
    fn answer_one(&mut self, sleeps: bool) -> io::Result<Option<Instant>> {
        let received = if sleeps {
            self.service.receive_or_wait(&mut self.buffer)
        } else {
            self.service.receive(&mut self.buffer)
        };
        let found = match received {
            Ok(found) => found,
            // A peer had gone before its answer came.
            Err(error) if is_passing(&error) => return Ok(None),
            Err(error) => return Err(error),
        };
        let Some((payload, peer)) = found else {
            return Ok(None);
        };
        let received_at = self.clock.now();
        let Some(payload) = self.prepare(payload, received_at) else {
            return Ok(Some(received_at));
        };
        match self.service.answer(&mut self.buffer, payload, peer) {
            Ok(()) => {
                self.counters.answered += 1;
                self.informant.on_send();
            }
            // Anyone can forge the address: an answer without a route, or to port 0, is counted. A
            // packet socket reports that its device is gone when it is read.
            Err(_) => self.counters.unsent += 1,
        }
        Ok(Some(received_at))
    }

    /// Writes the answer over the request; returns its range, if there is one.
    fn prepare(&mut self, payload: Range<usize>, received_at: Instant) -> Option<Range<usize>> {
        let request = &mut self.buffer[payload.clone()];
        match &mut self.role {
            Role::Echo => match answer(request, received_at, &self.clock) {
                Ok(true) => {
                    let arrived_at = self.service.received_at();
                    self.informant.inform(request, arrived_at);
                    Some(payload)
                }
                Ok(false) => None,
                Err(_) => {
                    self.counters.malformed += 1;
                    None
                }
            },
            Role::Board { board, profile, delay } => {
                self.reply.clear();
                if !board.answer(request, profile, &mut self.reply) {
                    self.counters.malformed += 1;
                    return None;
                }
                let left = received_at + *delay - self.clock.now();
                if left > Duration::ZERO {
                    std::thread::sleep(to_std(left));
                }
                let end = payload.start + self.reply.len();
                self.buffer[payload.start..end].copy_from_slice(&self.reply);
                Some(payload.start..end)
            }
        }
    }
}

/// Returns whether there is an answer to send; requested details are filled in later.
fn answer(
    payload: &mut [u8],
    received_at: Instant,
    clock: &Clock,
) -> Result<bool, message::Malformed> {
    if Message::parse(payload)?.kind == Kind::Wake {
        return Ok(false);
    }
    let has_details = details::are_in(payload);
    message::answer(payload, received_at, clock.now())?;
    if has_details {
        details::ask(payload);
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(us: i64) -> Instant {
        Instant::ZERO + Duration::from_us(us)
    }

    fn after(gaps: &[i64]) -> [Duration; 2] {
        let mut rhythm = Rhythm::new(us(0));
        let mut at = 0;
        for gap in gaps {
            at += gap;
            rhythm.note(us(at));
        }
        rhythm.awaited().map(|time| time - us(at))
    }

    /// Oracle: by hand.
    #[test]
    fn requests_are_awaited_as_the_last_ones_tell() {
        let [ms, patience] = [Duration::from_ms(1), PATIENCE];
        // Nothing has arrived.
        assert!(Rhythm::new(us(7)).awaited()[1] <= us(7));
        // One request has arrived, and the next may come at once.
        assert_eq!(after(&[900]), [Duration::ZERO - LEAD, patience]);
        assert_eq!(after(&[900, 1_000, 1_000]), [ms / 2, ms + patience]);
        // One was lost.
        assert_eq!(after(&[1_000, 1_000, 2_000]), [ms / 2, ms + patience]);
        // A back-to-back meter has rested, and has announced that it continues.
        assert_eq!(after(&[10, 10, 60_000])[0], Duration::from_us(10) - LEAD);
        // The meter wakes up 100 us before.
        assert_eq!(after(&[150, 150, 150])[0], Duration::from_us(50));
    }

    /// Oracle: the kernel's limit, 95 % of a second. A meter that does not sleep between requests
    /// rests; one that does sleep leaves more than 105 us between them, since a round trip takes at
    /// least 5 us.
    #[test]
    fn a_responder_sleeps_if_its_meter_does() {
        for gap in (106..2_000).chain([5_000, 20_000, 1_000_000]) {
            let [asleep, _] = after(&[gap; 3]);
            assert!(asleep * 20 >= Duration::from_us(gap), "{gap} us: {asleep:?}");
        }
    }
}
