//! Answers the meter's messages.

use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use rtether_model::quantity::{Duration, Instant};
use rtether_proto::probe::cndep::{Board, Profile};
use rtether_proto::probe::details;
use rtether_proto::probe::message::{self, Kind, Message};

use crate::clock::{Clock, to_std};
use crate::informant::Informant;
use crate::link::Service;
use crate::meter::{PAYLOAD_MAX, READS, is_passing};
use crate::wait::{Waiter, Waiting};

/// How often a blocking wait looks whether to stop.
const LOOK: Duration = Duration::from_ms(50);
/// A spinning responder goes to sleep if nothing has come for so long.
const PATIENCE: Duration = Duration::from_ms(20);

/// What a responder is.
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
        /// Between the receipt of a request and its answer; requests that come meanwhile wait.
        delay: Duration,
    },
}

/// What a responder has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Answered {
    /// Requests answered.
    pub answered: u64,
    /// Payloads that are no request, dropped without an answer.
    pub malformed: u64,
    /// Answers that the system did not take.
    pub unsent: u64,
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
    /// Returns a responder that has answered nothing.
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

    /// Has the kernel stamp what comes and goes, for replies with details.
    pub fn with_stamps(mut self) -> io::Result<Self> {
        self.service.enable_stamps()?;
        self.informant.is_stamped = true;
        Ok(self)
    }

    /// Returns what has been done.
    pub fn counters(&self) -> Answered {
        self.counters
    }

    /// Answers until `stop`.
    pub fn run(&mut self, stop: &AtomicBool) -> io::Result<()> {
        let mut last = self.clock.now() - PATIENCE;
        while !stop.load(Ordering::Relaxed) {
            let now = self.clock.now();
            let is_awaited = now - last < PATIENCE;
            let socket = self.service.as_fd();
            self.waiter.wait(socket, Some(now + LOOK), is_awaited)?;
            let reads = if self.waiter.is_busy(is_awaited) {
                READS
            } else {
                1
            };
            for _ in 0..reads {
                if let Some(received_at) = self.answer_one()? {
                    last = received_at;
                    break;
                }
            }
            self.take_stamps()?;
        }
        Ok(())
    }

    /// Takes in stamps of answers; those that wait wake a blocking thread again and again.
    fn take_stamps(&mut self) -> io::Result<()> {
        if self.informant.is_stamped {
            while let Some(sent) = self.service.poll_sent()? {
                self.informant.on_stamp(sent);
            }
        }
        Ok(())
    }

    /// Answers one request; returns when it came, if one was there.
    fn answer_one(&mut self) -> io::Result<Option<Instant>> {
        let found = match self.service.receive(&mut self.buffer) {
            Ok(found) => found,
            // A peer has gone before its answer came.
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
            Err(error) if is_passing(&error) => self.counters.unsent += 1,
            Err(error) => return Err(error),
        }
        Ok(Some(received_at))
    }

    /// Writes the answer over the request; returns where it is, if there is one.
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
            Role::Board {
                board,
                profile,
                delay,
            } => {
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

/// Returns whether there is something to send; details that are asked for are still to be written.
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
