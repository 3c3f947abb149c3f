//! The client, which generates load.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rtether_model::quantity::Bytes;
use rtether_model::wire::{Encapsulation, frame_size, wire_size};
use rtether_proto::load::{Datagram, Hello, Pacer, Report, Status, Wish};

use super::{CHUNK, Progress, is_pause, read_all, socket};
use crate::clock::{Clock, to_std};

/// Limit on the sink's answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// A sleep may end this much late; the remaining time is spun.
const LATE: Duration = Duration::from_micros(80);

/// When to end.
#[derive(Clone, Copy, Debug)]
pub struct End<'a> {
    /// Set by the user.
    pub stop: &'a AtomicBool,
    /// Time of the end; `None` for no limit.
    pub at: Option<Instant>,
}

impl End<'_> {
    /// Returns whether the end has been reached.
    pub fn is_reached(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.at.is_some_and(|at| Instant::now() >= at)
    }
}

/// Outcome of one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Octets that arrived.
    pub octets: u64,
    /// Whether the file is complete.
    pub is_complete: bool,
    /// Segments retransmitted by the sender of the file.
    pub retransmissions: Option<u64>,
    /// Time from the first segment to the sink's final report.
    pub time: Duration,
}

/// Outcome of a flood of datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flood {
    /// Datagrams accepted by the system.
    pub sent: u64,
    /// Datagrams refused by the system.
    pub unsent: u64,
    /// Time from the first datagram to the last.
    pub time: Duration,
    /// Report of the sink; `None` if it did not arrive.
    pub report: Option<Report>,
}

/// Sends a file of `size` octets, or until `end` if `size` is zero.
///
/// # Errors
/// If the sink cannot be reached, is busy, or is not a sink.
pub fn upload(
    peer: SocketAddr,
    dscp: u8,
    size: u64,
    end: End<'_>,
    progress: &Progress,
) -> io::Result<Transfer> {
    let begin = Instant::now();
    let mut stream = open(peer, dscp, Wish::Upload, 0, size)?;
    let chunk = vec![0; CHUNK];
    let mut sent = 0;
    while (size == 0 || sent < size) && !end.is_reached() {
        let left = if size == 0 { CHUNK as u64 } else { size - sent };
        let length = usize::try_from(left).map_or(CHUNK, |left| left.min(CHUNK));
        match stream.write(&chunk[..length]) {
            Ok(length) => {
                sent += length as u64;
                progress.add(length);
            }
            Err(error) if is_pause(&error) => {}
            Err(error) => return Err(error),
        }
    }
    stream.shutdown(Shutdown::Write)?;
    let report = hear(&mut stream)?;
    Ok(Transfer {
        octets: report.octets,
        is_complete: size > 0 && report.octets == size,
        retransmissions: socket::retransmissions(&stream),
        time: begin.elapsed(),
    })
}

/// Receives a file of `size` octets.
///
/// # Errors
/// If the sink cannot be reached, is busy, is not a sink, or breaks off.
pub fn download(
    peer: SocketAddr,
    dscp: u8,
    size: u64,
    end: End<'_>,
    progress: &Progress,
) -> io::Result<Transfer> {
    let begin = Instant::now();
    let mut stream = open(peer, dscp, Wish::Download, 0, size)?;
    let mut chunk = vec![0; CHUNK];
    let mut received = 0;
    while received < size && !end.is_reached() {
        let left = usize::try_from(size - received).map_or(CHUNK, |left| left.min(CHUNK));
        match stream.read(&mut chunk[..left]) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(length) => {
                received += length as u64;
                progress.add(length);
            }
            Err(error) if is_pause(&error) => {}
            Err(error) => return Err(error),
        }
    }
    let is_complete = received == size;
    // An aborted file is not followed by a report.
    let report = is_complete.then(|| hear(&mut stream)).transpose()?;
    Ok(Transfer {
        octets: received,
        is_complete,
        retransmissions: report.map(|report| report.retransmissions),
        time: begin.elapsed(),
    })
}

/// Sends datagrams of `size` octets of UDP payload, paced if there is a pacer.
///
/// # Errors
/// If the sink cannot be reached, is busy, or is not a sink.
pub fn flood(
    peer: SocketAddr,
    dscp: u8,
    size: usize,
    mut pacer: Option<Pacer>,
    end: End<'_>,
    progress: &Progress,
) -> io::Result<Flood> {
    let session = session();
    let mut control = open(peer, dscp, Wish::Datagrams, session, 0)?;
    let socket = socket::datagrams_to(peer, dscp)?;
    let mut payload = vec![0; size];
    let on_wire = wire_size(frame_size(Bytes::new(size as u64), Encapsulation::Udp));
    let (mut sent, mut unsent) = (0, 0);
    let clock = Clock::start();
    while !end.is_reached() {
        if let Some(pacer) = &mut pacer {
            let due = pacer.reserve(clock.now(), on_wire);
            let left = to_std(due - clock.now());
            std::thread::sleep(left.saturating_sub(LATE));
            while clock.now() < due {
                std::hint::spin_loop();
            }
        }
        let datagram = Datagram { session, sequence: sent };
        datagram.write(&mut payload);
        match socket.send(&payload) {
            Ok(_) => {
                sent += 1;
                progress.add(size);
            }
            // Refused for lack of room, so it is not on the wire.
            Err(error) if is_pause(&error) || error.raw_os_error() == Some(libc::ENOBUFS) => {
                unsent += 1;
            }
            // The sink's port is closed; the control connection reports it.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => break,
            Err(error) => return Err(error),
        }
    }
    let time = to_std(clock.now().since_start());
    let closed = control.shutdown(Shutdown::Write);
    let report = closed.and_then(|()| hear(&mut control)).ok();
    Ok(Flood { sent, unsent, time, report })
}

/// Opens a connection and reads whether the sink serves it.
fn open(peer: SocketAddr, dscp: u8, wish: Wish, session: u64, size: u64) -> io::Result<TcpStream> {
    let mut stream = socket::connect(peer, dscp)?;
    let hello = Hello { wish, dscp, session, size };
    stream.write_all(&hello.write())?;
    match hear(&mut stream)?.status {
        Status::Ready => Ok(stream),
        Status::Busy => Err(io::Error::new(
            io::ErrorKind::ResourceBusy,
            "the sink has as many connections as it takes, of all hosts (`--limit-connections` \
             there) or of this one (`--limit-peer`)",
        )),
        Status::Unable => Err(io::Error::new(
            io::ErrorKind::ResourceBusy,
            "the sink's host has no thread or no descriptor left for another connection",
        )),
    }
}

fn hear(stream: &mut TcpStream) -> io::Result<Report> {
    let mut octets = [0; Report::SIZE];
    read_all(stream, &mut octets, PATIENCE, None)?;
    Report::read(&octets).map_err(|_| {
        io::Error::new(
            io::ErrorKind::InvalidData,
            "the program listening there is not a sink of `rtether load`",
        )
    })
}

/// Returns a number unlikely to be guessed.
fn session() -> u64 {
    let now = std::time::SystemTime::now();
    let since = now.duration_since(std::time::UNIX_EPOCH);
    let ns = since.map_or(0, |since| since.subsec_nanos());
    // The address of a stack variable differs between threads and, by randomization, between runs.
    let place = (&raw const ns).addr() as u64;
    place.rotate_left(40) ^ (u64::from(std::process::id()) << 32) ^ u64::from(ns)
}
