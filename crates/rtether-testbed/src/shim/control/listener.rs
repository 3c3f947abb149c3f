//! The server side of the control socket.
//!
//! Nothing here blocks: all clients are polled in turn, each with its own time limit for sending
//! the request and taking the answer, and the caller waits for whichever event comes first. A
//! silent client therefore does not delay the others.

use std::fs::{self, Permissions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::{Duration, Instant};

use rtether_live::process::{Interest, is_short_of_descriptors};

use super::{Answer, Line, Request, Wrong, line_of};
use crate::shim::runtime_files::RuntimeFiles;

/// Time limit for receiving a request, and for delivering its answer.
pub(super) const PATIENCE: Duration = Duration::from_secs(1);
/// Largest number of clients. A further one replaces the one that has been silent longest.
pub(super) const CLIENTS_MAX: usize = 16;
/// Octets read from one client before the next one's turn.
const PIECE: usize = 64 << 10;
/// How long no client is accepted after the system has run out of descriptors.
const REST: Duration = Duration::from_millis(200);

/// The server side of a shim's control socket.
#[derive(Debug)]
pub struct Listener {
    socket: UnixListener,
    /// In order of arrival.
    clients: Vec<Client>,
    /// No client is accepted before this time.
    rests_until: Option<Instant>,
}

/// A client.
#[derive(Debug)]
struct Client {
    stream: UnixStream,
    step: Step,
    /// Time limit of the step.
    until: Instant,
}

/// Progress of a client.
#[derive(Debug)]
enum Step {
    /// Its request is arriving.
    Asks(Line),
    /// Its request is complete.
    HasAsked(Vec<u8>),
    /// The rest of its answer.
    Hears(Vec<u8>),
}

/// Result of a client's turn.
enum Turn {
    /// It has received its answer.
    Done,
    /// It has not finished.
    Waits,
    /// It is gone, or exceeded its time limit.
    Lost,
}

impl Listener {
    /// Opens the socket of a place whose lock is held.
    ///
    /// # Errors
    /// The system's error.
    pub fn open(place: &RuntimeFiles) -> io::Result<Self> {
        let path = place.socket();
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let socket = UnixListener::bind(&path)?;
        fs::set_permissions(&path, Permissions::from_mode(0o600))?;
        socket.set_nonblocking(true)?;
        Ok(Self { socket, clients: Vec::new(), rests_until: None })
    }

    /// Returns the descriptors to wait for before the next call of [`serve`](Self::serve).
    pub fn awaited(&self) -> Vec<(BorrowedFd<'_>, Interest)> {
        let newcomers = (self.socket.as_fd(), Interest::Readable);
        let newcomers = self.rests_until.is_none().then_some(newcomers);
        let clients = self.clients.iter().map(|client| {
            let interest = match client.step {
                Step::Hears(_) => Interest::Writable,
                Step::Asks(_) | Step::HasAsked(_) => Interest::Readable,
            };
            (client.stream.as_fd(), interest)
        });
        newcomers.into_iter().chain(clients).collect()
    }

    /// Returns how long to wait at most; `None` if there are no clients.
    pub fn pause(&self) -> Option<Duration> {
        let now = Instant::now();
        let due = |client: &Client| match client.step {
            Step::HasAsked(_) => now,
            Step::Asks(_) | Step::Hears(_) => client.until,
        };
        let times = self.clients.iter().map(due).chain(self.rests_until);
        let first = times.min()?;
        Some(first.saturating_duration_since(now))
    }

    /// Reads from the clients and answers one request, so that repeated requests do not keep the
    /// shim from its other work. Returns how many clients were dropped because they were too slow
    /// or gone.
    pub fn serve(&mut self, answer: impl FnOnce(Request) -> Answer) -> u64 {
        let mut lost = self.take_turns();
        // Answer a complete request before a new client can replace its client.
        let asked = self.clients.iter().position(Client::has_asked);
        if let Some(client) = asked.map(|index| &mut self.clients[index]) {
            client.answer(answer);
            lost += self.take_turns();
        }
        lost + self.accept()
    }

    /// Reads and writes as far as possible without blocking.
    fn take_turns(&mut self) -> u64 {
        let now = Instant::now();
        let mut lost = 0;
        self.clients.retain_mut(|client| match client.turn(now) {
            Turn::Waits => true,
            Turn::Done => false,
            Turn::Lost => {
                lost += 1;
                false
            }
        });
        lost
    }

    /// Accepts waiting clients, up to the limit.
    fn accept(&mut self) -> u64 {
        let now = Instant::now();
        if self.rests_until.is_some_and(|until| now < until) {
            return 0;
        }
        self.rests_until = None;
        let mut lost = 0;
        for _ in 0..CLIENTS_MAX {
            let stream = match self.socket.accept() {
                Ok((stream, _)) => stream,
                Err(error) => {
                    // No client is waiting, or the system has no descriptor left.
                    if is_short_of_descriptors(&error) {
                        lost += self.make_room();
                        self.rests_until = Some(now + REST);
                    }
                    return lost;
                }
            };
            if stream.set_nonblocking(true).is_err() {
                lost += 1;
                continue;
            }
            if self.clients.len() >= CLIENTS_MAX {
                lost += self.make_room();
            }
            self.clients.push(Client {
                stream,
                step: Step::Asks(Line::default()),
                until: now + PATIENCE,
            });
        }
        lost
    }

    /// Drops the oldest client without a complete request, or else the oldest of all.
    fn make_room(&mut self) -> u64 {
        let silent = self.clients.iter().position(|client| !client.has_asked());
        let leaves = silent.unwrap_or(0);
        if leaves < self.clients.len() {
            self.clients.remove(leaves);
            return 1;
        }
        0
    }
}

impl Client {
    fn has_asked(&self) -> bool {
        matches!(self.step, Step::HasAsked(_))
    }

    /// Answers a complete request.
    fn answer(&mut self, answer: impl FnOnce(Request) -> Answer) {
        if let Step::HasAsked(line) = &self.step {
            let answer = Request::read(line).and_then(answer);
            self.tell(&answer);
        }
    }

    fn tell(&mut self, answer: &Answer) {
        self.step = Step::Hears(line_of(answer).into_bytes());
        self.until = Instant::now() + PATIENCE;
    }

    fn turn(&mut self, now: Instant) -> Turn {
        if let Step::Asks(line) = &mut self.step {
            match read(&self.stream, line) {
                Ok(true) => self.step = Step::HasAsked(std::mem::take(&mut line.0)),
                Ok(false) => {}
                Err(error) if error.kind() == ErrorKind::InvalidData => {
                    self.tell(&Err(Wrong::input(error.to_string())));
                }
                Err(_) => return Turn::Lost,
            }
        }
        if let Step::Hears(left) = &mut self.step {
            match write(&self.stream, left) {
                Ok(true) => return Turn::Done,
                Ok(false) => {}
                Err(_) => return Turn::Lost,
            }
        }
        // A client whose request is complete waits for the shim, so its time limit does not apply.
        if now >= self.until && !self.has_asked() {
            return Turn::Lost;
        }
        Turn::Waits
    }
}

/// Reads the available part of a line; returns whether it is complete.
fn read(mut stream: &UnixStream, line: &mut Line) -> io::Result<bool> {
    let mut octets = [0; 4096];
    for _ in 0..PIECE / octets.len() {
        let size = match stream.read(&mut octets) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(size) => size,
            Err(error) if is_pause(&error) => return Ok(false),
            Err(error) => return Err(error),
        };
        if line.take(&octets[..size])? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Writes as much as the client takes now; returns whether everything is written.
fn write(mut stream: &UnixStream, left: &mut Vec<u8>) -> io::Result<bool> {
    while !left.is_empty() {
        match stream.write(left) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(size) => drop(left.drain(..size)),
            Err(error) if is_pause(&error) => return Ok(false),
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

fn is_pause(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
