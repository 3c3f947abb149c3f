//! The sender of messages on one connection.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};

use rtether_model::quantity::Instant;
use rtether_sim::release::Releases;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::super::mark::Mark;
use super::super::{Arrived, Log, RECORDS_MAX, Sent, StationError, missed};
use super::{Header, LOOK, Run, TcpOutgoing, TcpTraffic, connect, is_pause};
use crate::clock::{Clock, to_std};

/// Octets of answers per read.
const BUFFER: usize = 64 * 1_024;

struct Talker<'a> {
    stream: TcpStream,
    run: Run<'a>,
    /// End of the releases.
    until: Instant,
    number: u16,
    releases: Releases,
    message: Vec<u8>,
    answer: Option<usize>,
    /// Octets of incomplete answers.
    incoming: Vec<u8>,
    buffer: Vec<u8>,
    released: u32,
    next: Option<Instant>,
    log: Log,
}

/// Sends the messages of a stream until `end`, the last one before `until`, or until `stop`;
/// returns the log in every case, with the error if one ended it.
pub fn send_messages(
    outgoing: TcpOutgoing,
    clock: Clock,
    [until, end]: [Instant; 2],
    stop: &AtomicBool,
) -> (Log, Option<StationError>) {
    let header = Header { stream: outgoing.stream, is_messages: true, number: 0, size: 0 };
    let run = Run { clock, end, stop };
    let failed = |doing: &str| {
        let doing = format!("{doing} {}", outgoing.peer.ip);
        move |source| StationError::Socket { doing, source }
    };
    let stream = connect(outgoing.peer, outgoing.tagging, &header, run);
    let ready = stream.and_then(|stream| stream.set_nonblocking(true).map(|()| stream));
    let stream = match ready.map_err(failed("a connection to")) {
        Ok(stream) => stream,
        Err(error) => return (Log::default(), Some(error)),
    };
    let lost = failed("the connection to");
    let TcpTraffic::Messages { mut releases, payload, answer } = outgoing.traffic else {
        return (Log::default(), None);
    };
    let next = releases.first();
    let mut talker = Talker {
        stream,
        run,
        until,
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
    let ended = talker.run();
    // After the last message the other side may close first.
    let is_over = clock.now() >= until || stop.load(Ordering::Relaxed);
    let ended = ended.err().filter(|error| !is_over || !is_closed(error));
    (talker.log, ended.map(lost))
}

/// Returns whether an error reports that the other side has closed the connection.
fn is_closed(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe
    )
}

impl Talker<'_> {
    fn run(&mut self) -> io::Result<()> {
        let ended = self.turn();
        if !self.run.stop.load(Ordering::Relaxed) {
            let missed = missed(&mut self.releases, self.next, self.until);
            self.log.oddities.unsent += missed;
        }
        ended
    }

    fn turn(&mut self) -> io::Result<()> {
        while !self.run.is_over() {
            let due = self.next.filter(|&at| at < self.until);
            let now = self.run.clock.now();
            match due {
                Some(at) if at <= now => self.release(at)?,
                _ => self.wait(due, PollFlags::IN)?,
            }
            self.take_in()?;
        }
        Ok(())
    }

    fn release(&mut self, due: Instant) -> io::Result<()> {
        let burst = self.releases.burst();
        self.next = self.releases.next(due);
        for index in 0..burst {
            let at = self.run.clock.now();
            let number = self.released;
            self.released = self.released.wrapping_add(1);
            let mark = Mark { stream: self.number, is_answer: false, number, released_at: at };
            mark.write(&mut self.message);
            let written = self.write();
            if !matches!(written, Ok(true)) {
                self.log.oddities.unsent += u64::from(burst - index);
                return written.map(|_| ());
            }
            if self.log.sent.len() == RECORDS_MAX {
                self.log.oddities.unrecorded += 1;
                continue;
            }
            self.log.sent.push(Sent {
                stream: self.number,
                number,
                at,
                call: self.run.clock.now() - at,
                late: at - due,
            });
        }
        Ok(())
    }

    /// Writes a whole message; `false` if the run ends before.
    fn write(&mut self) -> io::Result<bool> {
        let mut written = 0;
        while written < self.message.len() {
            if self.run.is_over() {
                return Ok(false);
            }
            match self.stream.write(&self.message[written..]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => written += count,
                Err(error) if is_pause(&error) => {
                    self.wait(None, PollFlags::IN | PollFlags::OUT)?;
                    // The peer may not read until its answers have been taken.
                    self.take_in()?;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Waits for the connection, at most until `until`, and no longer than [`LOOK`].
    fn wait(&self, until: Option<Instant>, flags: PollFlags) -> io::Result<()> {
        let now = self.run.clock.now();
        let left = until.map_or(LOOK, |until| to_std(until - now).min(LOOK));
        let limit = Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(0),
            tv_nsec: i64::from(left.subsec_nanos()),
        };
        let mut sockets = [PollFd::from_borrowed_fd(self.stream.as_fd(), flags)];
        match poll(&mut sockets, Some(&limit)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Receives answers, if there are any.
    fn take_in(&mut self) -> io::Result<()> {
        match self.stream.read(&mut self.buffer) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => self.incoming.extend_from_slice(&self.buffer[..count]),
            Err(error) if is_pause(&error) => return Ok(()),
            Err(error) => return Err(error),
        }
        let now = self.run.clock.now();
        let Some(size) = self.answer else {
            // No answers are expected.
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
