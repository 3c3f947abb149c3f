//! Answers the meter's messages.

use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use rtether_model::quantity::{Duration, Instant};
use rtether_proto::probe::cndep::{Board, Profile};
use rtether_proto::probe::message::{self, Kind, Message};

use crate::clock::{Clock, to_std};
use crate::link::Service;
use crate::meter::{PAYLOAD_MAX, is_passing};
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
        }
    }

    /// Returns what has been done.
    pub fn counters(&self) -> Answered {
        self.counters
    }

    /// Answers until `stop`.
    pub fn run(&mut self, stop: &AtomicBool) -> io::Result<()> {
        let mut last = self.clock.now() - PATIENCE;
        while !stop.load(Ordering::Relaxed) {
            let is_awaited = self.clock.now() - last < PATIENCE;
            let until = self.clock.now() + LOOK;
            let socket = self.service.as_fd();
            self.waiter.wait(socket, Some(until), is_awaited)?;
            if self.answer_one()? {
                last = self.clock.now();
            }
        }
        Ok(())
    }

    /// Answers one request; returns whether anything was there.
    fn answer_one(&mut self) -> io::Result<bool> {
        let found = match self.service.receive(&mut self.buffer) {
            Ok(found) => found,
            // A peer has gone before its answer came.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => return Ok(true),
            Err(error) => return Err(error),
        };
        let Some((payload, peer)) = found else {
            return Ok(false);
        };
        let received_at = self.clock.now();
        let Some(payload) = self.prepare(payload, received_at) else {
            return Ok(true);
        };
        match self.service.answer(&mut self.buffer, payload, peer) {
            Ok(()) => self.counters.answered += 1,
            Err(error) if is_passing(&error) => self.counters.unsent += 1,
            Err(error) => return Err(error),
        }
        Ok(true)
    }

    /// Writes the answer over the request; returns where it is, if there is one.
    fn prepare(&mut self, payload: Range<usize>, received_at: Instant) -> Option<Range<usize>> {
        let request = &mut self.buffer[payload.clone()];
        match &mut self.role {
            Role::Echo => match answer(request, received_at, &self.clock) {
                Ok(true) => Some(payload),
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

/// Returns whether there is something to send.
fn answer(
    payload: &mut [u8],
    received_at: Instant,
    clock: &Clock,
) -> Result<bool, message::Malformed> {
    if Message::parse(payload)?.kind == Kind::Wake {
        return Ok(false);
    }
    message::answer(payload, received_at, clock.now())?;
    Ok(true)
}
