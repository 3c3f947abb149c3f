//! The sink, which receives load and serves files over TCP.
//!
//! One port for TCP and UDP. Nothing is sent except over connections opened by clients.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rtether_model::quantity::{BitRate, Bytes, Duration as Span};
use rtether_proto::load::{Datagram, Hello, Pacer, Report, Status, Tally, Wish};
use socket2::Socket;

use super::{CHUNK, LOOK, is_pause, read_all, socket};
use crate::clock::{Clock, to_std};
use crate::leaving::{Leaving, tell};
use crate::process::is_short_of_descriptors;
use crate::spare::Spare;

/// A client silent for this long is disconnected.
const PATIENCE: Duration = Duration::from_secs(5);
/// Time after the client's end in which datagrams may still arrive.
const STRAGGLERS: Duration = Duration::from_millis(200);
/// Octets per piece if the rate is limited.
const PIECE: usize = 8_192;

/// Limits of a sink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Connections at a time.
    pub connections: usize,
    /// Connections from one address at a time.
    pub of_peer: usize,
    /// Rate of payload over TCP, all connections and both directions together; `None` for no limit.
    pub rate: Option<BitRate>,
    /// Whether clients choose the DSCP of what they are sent.
    pub marks: bool,
    /// A transfer without an octet, or a session without a datagram, is aborted after this long.
    pub idle: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 64,
            of_peer: 16,
            rate: None,
            marks: false,
            idle: Duration::from_secs(30),
        }
    }
}

/// Counters of a sink.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// Connections served.
    pub connections: u64,
    /// Connections refused: a limit was reached, or threads or descriptors were short.
    pub refused: u64,
    /// Connections and sessions aborted because they were idle.
    pub idle: u64,
    /// Connections that were refused the DSCP they asked for.
    pub unmarked: u64,
    /// Connections without a hello, and datagrams without a session.
    pub malformed: u64,
    /// Octets received, over TCP and in datagrams.
    pub received: u64,
    /// Octets sent, over TCP.
    pub sent: u64,
    /// Distinct datagrams received.
    pub datagrams: u64,
}

/// A TCP and a UDP socket with the same port number.
pub struct Sink {
    listener: Socket,
    datagrams: UdpSocket,
    limits: Limits,
}

/// What all threads share.
struct Shared<'a> {
    stop: &'a AtomicBool,
    limits: Limits,
    clock: Clock,
    pacer: Option<Mutex<Pacer>>,
    /// Tally of each session, and the only address whose datagrams it counts.
    sessions: Mutex<BTreeMap<u64, (IpAddr, Tally)>>,
    /// Connections being served, by address.
    served: Mutex<BTreeMap<IpAddr, usize>>,
    connections: AtomicU64,
    refused: AtomicU64,
    idle: AtomicU64,
    unmarked: AtomicU64,
    malformed: AtomicU64,
    received: AtomicU64,
    sent: AtomicU64,
    distinct: AtomicU64,
}

impl Sink {
    /// Opens both sockets.
    ///
    /// # Errors
    /// If the port is taken.
    pub fn bind(at: SocketAddr, limits: Limits) -> io::Result<Self> {
        let listener = socket::listen(at)?;
        // Port zero selects any port; datagrams use the same.
        let bound = listener.local_addr()?;
        let bound = bound.as_socket().ok_or(io::ErrorKind::InvalidInput)?;
        Ok(Self { listener, datagrams: socket::receive_datagrams(bound)?, limits })
    }

    /// Returns the address it listens on.
    ///
    /// # Errors
    /// The error of the system.
    pub fn local_address(&self) -> io::Result<SocketAddr> {
        self.datagrams.local_addr()
    }

    /// Serves until `stop`.
    ///
    /// # Errors
    /// If a socket fails; errors of a connection end only that connection.
    pub fn run(&self, stop: &AtomicBool) -> io::Result<Taken> {
        let clock = Clock::start();
        let pacer = self.limits.rate.and_then(|rate| {
            let slack = Span::from_ms(10);
            Pacer::new(rate, slack, clock.now()).map(Mutex::new)
        });
        let shared = Shared {
            stop,
            limits: self.limits,
            clock,
            pacer,
            sessions: Mutex::default(),
            served: Mutex::default(),
            connections: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            idle: AtomicU64::new(0),
            unmarked: AtomicU64::new(0),
            malformed: AtomicU64::new(0),
            received: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            distinct: AtomicU64::new(0),
        };
        let shared = &shared;
        std::thread::scope(|scope| {
            let counts = || shared.take_datagrams(&self.datagrams);
            let datagrams = thread::Builder::new().spawn_scoped(scope, counts)?;
            let mut spare = Spare::new(&self.listener);
            let mut leaving = Leaving::default();
            while !stop.load(Ordering::Relaxed) && !datagrams.is_finished() {
                leaving.close(Instant::now());
                match self.listener.accept() {
                    Ok((stream, peer)) => {
                        if let Some(peer) = peer.as_socket()
                            && let Err((stream, status)) = shared.admit(scope, stream.into(), peer)
                        {
                            shared.refused.fetch_add(1, Ordering::Relaxed);
                            leaving.refuse(stream, &report_of(status));
                        }
                    }
                    Err(error) if is_pause(&error) => thread::sleep(LOOK / 10),
                    Err(error) if is_short_of_descriptors(&error) => {
                        spare.lend(&self.listener, || shared.refuse_next(&self.listener));
                        thread::sleep(LOOK / 10);
                    }
                    // The client had gone before it was accepted.
                    Err(_) => thread::sleep(LOOK),
                }
            }
            datagrams
                .join()
                .unwrap_or_else(|_| Err(io::Error::other("the thread of datagrams ended")))
        })?;
        Ok(shared.taken())
    }
}

/// The report that tells a client why it is not served.
fn report_of(status: Status) -> [u8; Report::SIZE] {
    let report = Report { status, ..Report::default() };
    report.write()
}

impl Shared<'_> {
    /// Serves a connection in a separate thread, or returns it with the reason why not.
    fn admit<'scope>(
        &'scope self,
        scope: &'scope thread::Scope<'scope, '_>,
        stream: TcpStream,
        peer: SocketAddr,
    ) -> Result<(), (TcpStream, Status)> {
        let address = peer.ip().to_canonical();
        if !self.enter(address) {
            return Err((stream, Status::Busy));
        }
        // Stays here if no thread can be started.
        let held = Arc::new(Mutex::new(Some(stream)));
        let taken = Arc::clone(&held);
        let serve = move || {
            let stream = taken.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(stream) = stream {
                // An error of a connection is reported by the client.
                drop(self.serve(stream, peer));
            }
            self.leave(address);
        };
        if thread::Builder::new().spawn_scoped(scope, serve).is_err() {
            self.leave(address);
            let stream = held.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(stream) = stream {
                return Err((stream, Status::Unable));
            }
        }
        Ok(())
    }

    /// Counts a connection from this address, unless a limit is reached.
    fn enter(&self, address: IpAddr) -> bool {
        let mut served = self.served();
        let of_peer = served.get(&address).copied().unwrap_or(0);
        let is_free = served.values().sum::<usize>() < self.limits.connections
            && of_peer < self.limits.of_peer;
        if is_free {
            served.insert(address, of_peer + 1);
        }
        is_free
    }

    fn leave(&self, address: IpAddr) {
        let mut served = self.served();
        if let Some(count) = served.get_mut(&address) {
            *count -= 1;
            if *count == 0 {
                served.remove(&address);
            }
        }
    }

    fn served(&self) -> MutexGuard<'_, BTreeMap<IpAddr, usize>> {
        // A panicking thread leaves the counts valid.
        self.served.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Accepts the next connection and tells it that the sink is short of descriptors.
    fn refuse_next(&self, listener: &Socket) {
        if let Ok((stream, _)) = listener.accept() {
            self.refused.fetch_add(1, Ordering::Relaxed);
            tell(&stream.into(), &report_of(Status::Unable));
        }
    }

    fn taken(&self) -> Taken {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Taken {
            connections: get(&self.connections),
            refused: get(&self.refused),
            idle: get(&self.idle),
            unmarked: get(&self.unmarked),
            malformed: get(&self.malformed),
            received: get(&self.received),
            sent: get(&self.sent),
            datagrams: get(&self.distinct),
        }
    }

    fn sessions(&self) -> MutexGuard<'_, BTreeMap<u64, (IpAddr, Tally)>> {
        // A panicking thread leaves the counters valid.
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take_datagrams(&self, socket: &UdpSocket) -> io::Result<()> {
        let mut payload = vec![0; 65_536];
        while !self.stop.load(Ordering::Relaxed) {
            let (length, from) = match socket.recv_from(&mut payload) {
                Ok(received) => received,
                Err(error) if is_pause(&error) => continue,
                Err(error) => return Err(error),
            };
            let datagram = Datagram::read(&payload[..length]).ok();
            let mut sessions = self.sessions();
            let found = datagram.and_then(|of| Some((of, sessions.get_mut(&of.session)?)));
            match found {
                Some((datagram, (owner, tally))) if *owner == from.ip() => {
                    tally.record(datagram.sequence, length as u64);
                }
                _ => {
                    self.malformed.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
        Ok(())
    }

    fn serve(&self, mut stream: TcpStream, peer: SocketAddr) -> io::Result<()> {
        stream.set_nonblocking(false)?;
        socket::prepare(&stream)?;
        let mut octets = [0; Hello::SIZE];
        let heard = read_all(&mut stream, &mut octets, PATIENCE, Some(self.stop));
        let hello = heard.ok().and_then(|()| Hello::read(&octets).ok());
        let Some(hello) = hello else {
            self.malformed.fetch_add(1, Ordering::Relaxed);
            return Ok(());
        };
        self.connections.fetch_add(1, Ordering::Relaxed);
        if self.limits.marks {
            socket::mark_accepted(&stream, peer, hello.dscp)?;
        } else if hello.dscp > 0 {
            self.unmarked.fetch_add(1, Ordering::Relaxed);
        }
        match hello.wish {
            Wish::Upload => {
                stream.write_all(&Report::default().write())?;
                let octets = self.take(&mut stream, hello.size)?;
                let report = Report { octets, ..Report::default() };
                stream.write_all(&report.write())
            }
            Wish::Download => {
                stream.write_all(&Report::default().write())?;
                let octets = self.give(&mut stream, hello.size)?;
                let report = Report {
                    octets,
                    retransmissions: socket::retransmissions(&stream).unwrap_or(0),
                    ..Report::default()
                };
                stream.write_all(&report.write())
            }
            Wish::Datagrams => self.count(&mut stream, peer.ip(), hello.session),
        }
    }

    /// Waits until `octets` are within the rate.
    fn pace(&self, octets: usize) {
        let Some(pacer) = &self.pacer else { return };
        let now = self.clock.now();
        let mut pacer = pacer.lock().unwrap_or_else(PoisonError::into_inner);
        let due = pacer.reserve(now, Bytes::new(octets as u64));
        drop(pacer);
        let mut left = to_std(due - now);
        while left > Duration::ZERO && !self.stop.load(Ordering::Relaxed) {
            let nap = left.min(LOOK);
            thread::sleep(nap);
            left -= nap;
        }
    }

    fn piece(&self) -> usize {
        if self.pacer.is_some() { PIECE } else { CHUNK }
    }

    /// Receives a file of `size` octets, or until the client's end if `size` is zero.
    fn take(&self, stream: &mut TcpStream, size: u64) -> io::Result<u64> {
        let mut chunk = vec![0; self.piece()];
        let (mut received, mut last) = (0, Instant::now());
        while !self.stop.load(Ordering::Relaxed) {
            if last.elapsed() > self.limits.idle {
                self.idle.fetch_add(1, Ordering::Relaxed);
                break;
            }
            match stream.read(&mut chunk) {
                Ok(0) => break,
                Ok(length) => {
                    received += length as u64;
                    self.received.fetch_add(length as u64, Ordering::Relaxed);
                    self.pace(length);
                    last = Instant::now();
                }
                Err(error) if is_pause(&error) => {}
                Err(error) => return Err(error),
            }
            if size > 0 && received >= size {
                break;
            }
        }
        Ok(received)
    }

    fn give(&self, stream: &mut TcpStream, size: u64) -> io::Result<u64> {
        let chunk = vec![0; self.piece()];
        let (mut sent, mut last) = (0, Instant::now());
        while sent < size && !self.stop.load(Ordering::Relaxed) {
            if last.elapsed() > self.limits.idle {
                self.idle.fetch_add(1, Ordering::Relaxed);
                return Err(io::ErrorKind::TimedOut.into());
            }
            let left = usize::try_from(size - sent).unwrap_or(usize::MAX);
            match stream.write(&chunk[..left.min(chunk.len())]) {
                Ok(length) => {
                    sent += length as u64;
                    self.sent.fetch_add(length as u64, Ordering::Relaxed);
                    self.pace(length);
                    last = Instant::now();
                }
                Err(error) if is_pause(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(sent)
    }

    /// Counts datagrams until the client closes its end, and reports the counts.
    fn count(&self, stream: &mut TcpStream, from: IpAddr, session: u64) -> io::Result<()> {
        {
            let mut sessions = self.sessions();
            if sessions.contains_key(&session) {
                return stream.write_all(&report_of(Status::Busy));
            }
            sessions.insert(session, (from, Tally::default()));
        }
        let counted = stream
            .write_all(&Report::default().write())
            .and_then(|()| self.await_end(stream, session));
        if counted.is_ok() {
            thread::sleep(STRAGGLERS);
        }
        let tally = self.sessions().remove(&session).map(|(_, tally)| tally);
        let tally = tally.unwrap_or_default();
        self.received.fetch_add(tally.octets, Ordering::Relaxed);
        self.distinct.fetch_add(tally.received, Ordering::Relaxed);
        counted?;
        stream.write_all(&Report::from(&tally).write())
    }

    /// Waits until the client closes its end, as long as datagrams arrive.
    fn await_end(&self, stream: &mut TcpStream, session: u64) -> io::Result<()> {
        let mut octets = [0; 64];
        let (mut seen, mut last) = (0, Instant::now());
        while !self.stop.load(Ordering::Relaxed) {
            match stream.read(&mut octets) {
                Ok(0) => break,
                // The client must not send anything here.
                Ok(_) => return Err(io::ErrorKind::InvalidData.into()),
                Err(error) if is_pause(&error) => {}
                Err(error) => return Err(error),
            }
            let sessions = self.sessions();
            let octets = sessions.get(&session).map_or(0, |(_, tally)| tally.octets);
            drop(sessions);
            if octets != seen {
                (seen, last) = (octets, Instant::now());
            } else if last.elapsed() > self.limits.idle {
                self.idle.fetch_add(1, Ordering::Relaxed);
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
