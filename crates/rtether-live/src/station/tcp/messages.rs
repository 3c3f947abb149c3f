//! The sender of messages on one connection.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};

use rtether_model::quantity::{Duration, Instant};
use rtether_sim::release::Releases;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::super::mark::Mark;
use super::super::{Arrived, Log, RECORDS_MAX, Sent, StationError};
use super::{Header, TcpOutgoing, TcpTraffic, connect, is_pause};
use crate::clock::{Clock, to_std};

/// How often it looks whether to stop.
const LOOK: Duration = Duration::from_ms(20);
/// Octets of answers that are read at once.
const BUFFER: usize = 64 * 1_024;

struct Talker {
    stream: TcpStream,
    clock: Clock,
    number: u16,
    releases: Releases,
    message: Vec<u8>,
    answer: Option<usize>,
    /// Octets of answers that are not complete.
    incoming: Vec<u8>,
    buffer: Vec<u8>,
    released: u32,
    next: Option<Instant>,
    log: Log,
}

/// Sends the messages of a stream until `end`, the last one before `until`, or until `stop`; what
/// was seen is returned in any case, with the error that ended it.
pub fn send_messages(
    outgoing: TcpOutgoing,
    clock: Clock,
    [until, end]: [Instant; 2],
    stop: &AtomicBool,
) -> (Log, Option<StationError>) {
    let header = Header {
        stream: outgoing.stream,
        is_messages: true,
        number: 0,
        size: 0,
    };
    let failed = |doing: &str| {
        let doing = format!("{doing} {}", outgoing.peer.ip);
        move |source| StationError::Socket { doing, source }
    };
    let stream = match connect(outgoing.peer, outgoing.tagging, &header)
        .map_err(failed("a connection to"))
    {
        Ok(stream) => stream,
        Err(error) => return (Log::default(), Some(error)),
    };
    let lost = failed("the connection to");
    let TcpTraffic::Messages {
        mut releases,
        payload,
        answer,
    } = outgoing.traffic
    else {
        return (Log::default(), None);
    };
    let next = releases.first();
    let mut talker = Talker {
        stream,
        clock,
        number: outgoing.stream,
        releases,
        message: vec![0; payload],
        answer,
        incoming: Vec::new(),
        buffer: vec![0; BUFFER],
        released: 0,
        next,
        log: Log::default(),
    };
    let ended = talker.run(until, end, stop);
    // After the last message the other side may close first.
    let is_over = clock.now() >= until || stop.load(Ordering::Relaxed);
    let ended = ended
        .err()
        .filter(|error| !is_over || error.kind() != io::ErrorKind::UnexpectedEof);
    (talker.log, ended.map(lost))
}

impl Talker {
    fn run(&mut self, until: Instant, end: Instant, stop: &AtomicBool) -> io::Result<()> {
        while !stop.load(Ordering::Relaxed) && self.clock.now() < end {
            let due = self.next.filter(|&at| at < until);
            if let Some(at) = due.filter(|&at| at <= self.clock.now()) {
                self.release(at, stop)?;
                continue;
            }
            let look = self.clock.now() + LOOK;
            self.wait(due.map_or(look, |at| at.min(look)))?;
            self.take_in()?;
        }
        Ok(())
    }

    fn release(&mut self, due: Instant, stop: &AtomicBool) -> io::Result<()> {
        self.next = self.releases.next(due);
        for _ in 0..self.releases.burst() {
            let at = self.clock.now();
            let number = self.released;
            self.released = self.released.wrapping_add(1);
            let mark = Mark {
                stream: self.number,
                is_answer: false,
                number,
                released_at: at,
            };
            mark.write(&mut self.message);
            self.write(stop)?;
            if self.log.sent.len() == RECORDS_MAX {
                self.log.oddities.unrecorded += 1;
                continue;
            }
            self.log.sent.push(Sent {
                stream: self.number,
                number,
                at,
                call: self.clock.now() - at,
                late: at - due,
            });
        }
        Ok(())
    }

    /// Writes a whole message, however long the connection is stuck.
    fn write(&mut self, stop: &AtomicBool) -> io::Result<()> {
        let mut left = &self.message[..];
        while !left.is_empty() && !stop.load(Ordering::Relaxed) {
            match self.stream.write(left) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => left = &left[count..],
                Err(error) if is_pause(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn wait(&self, until: Instant) -> io::Result<()> {
        let left = to_std(until - self.clock.now());
        let limit = Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(0),
            tv_nsec: i64::from(left.subsec_nanos()),
        };
        let mut sockets = [PollFd::from_borrowed_fd(self.stream.as_fd(), PollFlags::IN)];
        match poll(&mut sockets, Some(&limit)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Takes in answers, if any are there.
    fn take_in(&mut self) -> io::Result<()> {
        let mut sockets = [PollFd::from_borrowed_fd(self.stream.as_fd(), PollFlags::IN)];
        let nothing = Timespec::default();
        if poll(&mut sockets, Some(&nothing))? == 0 {
            return Ok(());
        }
        match self.stream.read(&mut self.buffer) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => self.incoming.extend_from_slice(&self.buffer[..count]),
            Err(error) if is_pause(&error) => return Ok(()),
            Err(error) => return Err(error),
        }
        let now = self.clock.now();
        let Some(size) = self.answer else {
            // Nobody was asked.
            self.log.oddities.foreign += 1;
            self.incoming.clear();
            return Ok(());
        };
        while self.incoming.len() >= size {
            let answer: Vec<u8> = self.incoming.drain(..size).collect();
            self.record(&answer, now);
        }
        Ok(())
    }

    fn record(&mut self, answer: &[u8], now: Instant) {
        let Some(mark) = Mark::read(answer).filter(|mark| mark.is_answer) else {
            self.log.oddities.foreign += 1;
            return;
        };
        if self.log.arrived.len() < RECORDS_MAX {
            self.log.arrived.push(Arrived {
                stream: mark.stream,
                number: mark.number,
                released_at: mark.released_at,
                latency: now - mark.released_at,
                receive: None,
                is_answer: true,
            });
        } else {
            self.log.oddities.unrecorded += 1;
        }
        if self.releases.is_adaptive() && mark.number == self.released.wrapping_sub(1) {
            self.next = self.releases.after_answer(now);
        }
    }
}
