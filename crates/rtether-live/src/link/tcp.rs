//! TCP: length-prefixed payloads on one connection, without Nagle's delay.

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rtether_proto::probe::framing::{self, Deframer};
use rustix::event::epoll;
use socket2::{Domain, Protocol, Socket, Type};

use super::{Link, PAYLOAD_MAX, Service, Stamped, Turned, UdpOptions, ready, udp};
use crate::leaving::{Leaving, tell};
use crate::process::is_short_of_descriptors;
use crate::spare::Spare;

/// Connections served at once; others are told that there is no room.
pub const CONNECTIONS_MAX: usize = 16;
/// Payload that says so; it is neither a message nor a CNDEP packet.
const BUSY: &[u8] = b"rtether echo: busy";
/// Limit on establishing a connection.
const PATIENCE: Duration = Duration::from_secs(5);
/// Turns between two looks of a spinning responder for new connections: a look costs as much as an
/// empty read.
const TURNS: u32 = 64;

/// One end of a connection.
#[derive(Debug)]
struct Framed {
    socket: TcpStream,
    deframer: Deframer,
    /// Octets not accepted by the system yet: at most one payload with its length.
    unsent: Vec<u8>,
}

impl Framed {
    fn new(stream: TcpStream, payload_max: usize) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        Ok(Self {
            socket: stream,
            deframer: Deframer::new(payload_max),
            unsent: Vec::with_capacity(framing::HEADER + payload_max),
        })
    }

    /// Sends a payload; what the system does not accept now goes out with the next call.
    fn send(&mut self, payload: &[u8]) -> io::Result<()> {
        self.flush()?;
        if !self.unsent.is_empty() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        framing::write(payload, &mut self.unsent);
        self.flush()
    }

    fn flush(&mut self) -> io::Result<()> {
        while !self.unsent.is_empty() {
            match ready((&self.socket).write(&self.unsent))? {
                Some(len) => drop(self.unsent.drain(..len)),
                None => return Ok(()),
            }
        }
        Ok(())
    }

    /// Copies the next payload to the start of `buffer` and returns its length.
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        self.flush()?;
        loop {
            let invalid = |error| io::Error::new(io::ErrorKind::InvalidData, error);
            if let Some(payload) = self.deframer.poll().map_err(invalid)? {
                let len = payload.len().min(buffer.len());
                buffer[..len].copy_from_slice(&payload[..len]);
                return Ok(Some(len));
            }
            match ready((&self.socket).read(self.deframer.room()))? {
                Some(0) => {
                    let why = "the peer has closed the connection";
                    return Err(io::Error::new(io::ErrorKind::UnexpectedEof, why));
                }
                Some(len) => self.deframer.advance(len),
                None => return Ok(None),
            }
        }
    }
}

/// A connection to one peer.
#[derive(Debug)]
pub struct Tcp {
    stream: Framed,
}

impl Tcp {
    /// Connects to `peer`, within five seconds.
    pub fn connect(peer: SocketAddr, options: UdpOptions) -> io::Result<Self> {
        let socket = socket(peer, options)?;
        socket.connect_timeout(&peer.into(), PATIENCE)?;
        Ok(Self { stream: Framed::new(socket.into(), PAYLOAD_MAX)? })
    }
}

fn socket(address: SocketAddr, options: UdpOptions) -> io::Result<Socket> {
    let domain = Domain::for_address(address);
    let socket = Socket::new(domain, Type::STREAM, Some(Protocol::TCP))?;
    udp::mark(&socket, address, options)?;
    Ok(socket)
}

impl AsFd for Tcp {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.socket.as_fd()
    }
}

impl Stamped for Tcp {}

impl Link for Tcp {
    fn send(&mut self, payload: &[u8]) -> io::Result<()> {
        self.stream.send(payload)
    }

    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<Range<usize>>> {
        let received = self.stream.receive(buffer)?;
        if received.is_some_and(|len| &buffer[..len] == BUSY) {
            let why = "the responder has as many connections as it takes, of all hosts or of this \
                       one (`--limit-peer` there)";
            return Err(io::Error::new(io::ErrorKind::ResourceBusy, why));
        }
        Ok(received.map(|len| 0..len))
    }
}

/// Limits of a responder on its clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpLimits {
    /// Connections from one address at a time.
    pub of_peer: usize,
    /// A connection without a payload for this long is closed, up to 3 s later.
    pub idle: Duration,
}

impl Default for TcpLimits {
    fn default() -> Self {
        Self { of_peer: 4, idle: Duration::from_secs(10) }
    }
}

/// A connection being served.
#[derive(Debug)]
struct Connection {
    stream: Framed,
    peer: IpAddr,
    /// Whether a payload has arrived since the last check, and when a check last found one.
    is_heard: bool,
    heard_at: Instant,
}

/// Accepts connections and answers on each.
#[derive(Debug)]
pub struct TcpService {
    listener: TcpListener,
    /// Readable when a connection or a payload has arrived.
    events: OwnedFd,
    connections: [Option<Connection>; CONNECTIONS_MAX],
    leaving: Leaving,
    limits: TcpLimits,
    spare: Spare,
    turned: Turned,
    /// The connection to look at first, rotated so that none starves.
    first: usize,
    turns: u32,
}

impl TcpService {
    /// Listens at `address`.
    pub fn bind(address: SocketAddr, options: UdpOptions, limits: TcpLimits) -> io::Result<Self> {
        let socket = socket(address, options)?;
        socket.set_reuse_address(true)?;
        socket.bind(&address.into())?;
        socket.listen(libc::c_int::try_from(CONNECTIONS_MAX).unwrap_or(1))?;
        socket.set_nonblocking(true)?;
        let events = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let this = Self {
            listener: socket.into(),
            spare: Spare::new(&events),
            events,
            connections: Default::default(),
            leaving: Leaving::default(),
            limits,
            turned: Turned::default(),
            first: 0,
            turns: 0,
        };
        this.watch(this.listener.as_fd())?;
        Ok(this)
    }

    /// Returns the address it listens on.
    pub fn local_address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    fn watch(&self, socket: BorrowedFd<'_>) -> io::Result<()> {
        let data = epoll::EventData::new_u64(0);
        Ok(epoll::add(&self.events, socket, data, epoll::EventFlags::IN)?)
    }

    /// Accepts a new connection if there is one, and closes idle ones.
    fn tend(&mut self) -> io::Result<()> {
        self.close_idle(Instant::now());
        let accepted = match ready(self.listener.accept()) {
            Ok(accepted) => accepted,
            Err(error) if is_short_of_descriptors(&error) => {
                let listener = &self.listener;
                let told = self.spare.lend(&self.events, || {
                    let accepted = listener.accept();
                    accepted.map(|(stream, _)| tell(&stream, &busy()))
                });
                self.turned.refused += u64::from(told.is_ok());
                return Ok(());
            }
            // The listening socket is unusable; any other error concerns one connection whose peer
            // has gone.
            Err(error) if matches!(error.raw_os_error(), Some(libc::EBADF | libc::EINVAL)) => {
                return Err(error);
            }
            Err(_) => None,
        };
        if let Some((stream, peer)) = accepted {
            self.admit(stream, peer.ip().to_canonical());
        }
        Ok(())
    }

    /// Serves a connection, or tells it that there is no room.
    fn admit(&mut self, stream: TcpStream, peer: IpAddr) {
        let of_peer = self.connections.iter().flatten();
        let of_peer = of_peer.filter(|connection| connection.peer == peer).count();
        let free = self.connections.iter().position(Option::is_none);
        let free = free.filter(|_| of_peer < self.limits.of_peer);
        let is_watched = free.is_some() && self.watch(stream.as_fd()).is_ok();
        let (Some(free), true) = (free, is_watched) else {
            self.leaving.refuse(stream, &busy());
            self.turned.refused += 1;
            return;
        };
        // An error means that it has gone already.
        self.connections[free] = Framed::new(stream, PAYLOAD_MAX).ok().map(|stream| Connection {
            stream,
            peer,
            is_heard: false,
            heard_at: Instant::now(),
        });
    }

    fn close_idle(&mut self, now: Instant) {
        self.leaving.close(now);
        for place in &mut self.connections {
            let Some(connection) = place else { continue };
            if std::mem::take(&mut connection.is_heard) {
                connection.heard_at = now;
            } else if now.saturating_duration_since(connection.heard_at) >= self.limits.idle {
                *place = None;
                self.turned.idle += 1;
            }
        }
    }
}

/// The answer to a client that there is no room for.
fn busy() -> Vec<u8> {
    let mut answer = Vec::with_capacity(framing::HEADER + BUSY.len());
    framing::write(BUSY, &mut answer);
    answer
}

impl AsFd for TcpService {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.events.as_fd()
    }
}

impl Stamped for TcpService {}

impl Service for TcpService {
    type Peer = usize;

    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<(Range<usize>, usize)>> {
        self.turns = self.turns.wrapping_add(1);
        let is_alone = self.connections.iter().all(Option::is_none);
        if is_alone || self.turns.is_multiple_of(TURNS) {
            self.tend()?;
        }
        for turn in 0..CONNECTIONS_MAX {
            let index = (self.first + turn) % CONNECTIONS_MAX;
            let Some(connection) = &mut self.connections[index] else {
                continue;
            };
            match connection.stream.receive(buffer) {
                Ok(Some(len)) => {
                    connection.is_heard = true;
                    self.first = (index + 1) % CONNECTIONS_MAX;
                    return Ok(Some((0..len, index)));
                }
                Ok(None) => {}
                // A peer that is gone, or not a meter, only ends its own connection.
                Err(_) => self.connections[index] = None,
            }
        }
        Ok(None)
    }

    fn answer(&mut self, buffer: &mut [u8], payload: Range<usize>, to: usize) -> io::Result<()> {
        let Some(connection) = &mut self.connections[to] else {
            return Ok(());
        };
        match connection.stream.send(&buffer[payload]) {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => {
                self.connections[to] = None;
                Ok(())
            }
            sent => sent,
        }
    }

    fn turned(&self) -> Turned {
        self.turned
    }
}

#[cfg(test)]
mod tests;
