//! TCP: payloads with their lengths on one connection, without Nagle's delay.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rtether_proto::probe::framing::{self, Deframer};
use rustix::event::epoll;
use socket2::{Domain, Protocol, Socket, Type};

use super::{Link, Service, UdpOptions, ready, udp};
use crate::meter::PAYLOAD_MAX;

/// Connections that are served at once; further ones are closed at once.
pub const CONNECTIONS_MAX: usize = 16;
/// How long a connection may take to come about.
const PATIENCE: Duration = Duration::from_secs(5);
/// A spinning responder looks for new connections once in so many turns: to look costs as much as
/// an empty read.
const TURNS: u32 = 64;

/// One end of a connection.
#[derive(Debug)]
struct Stream {
    socket: TcpStream,
    deframer: Deframer,
    /// What the system has not taken yet: at most one payload with its length.
    unsent: Vec<u8>,
}

impl Stream {
    fn new(stream: TcpStream, payload_max: usize) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        Ok(Self {
            socket: stream,
            deframer: Deframer::new(payload_max),
            unsent: Vec::with_capacity(framing::HEADER + payload_max),
        })
    }

    /// Sends a payload; what the system does not take now goes out with the next call.
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

    /// Copies the next payload to the beginning of `buffer` and returns its length.
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
    stream: Stream,
}

impl Tcp {
    /// Connects to `peer`; waits up to five seconds for it.
    pub fn connect(peer: SocketAddr, options: UdpOptions) -> io::Result<Self> {
        let socket = socket(peer, options)?;
        socket.connect_timeout(&peer.into(), PATIENCE)?;
        Ok(Self {
            stream: Stream::new(socket.into(), PAYLOAD_MAX)?,
        })
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

impl Link for Tcp {
    fn send(&mut self, payload: &[u8]) -> io::Result<()> {
        self.stream.send(payload)
    }

    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<Range<usize>>> {
        Ok(self.stream.receive(buffer)?.map(|len| 0..len))
    }
}

/// Takes connections and answers on each.
#[derive(Debug)]
pub struct TcpService {
    listener: TcpListener,
    /// Can be read when a connection or a payload has come.
    events: OwnedFd,
    connections: [Option<Stream>; CONNECTIONS_MAX],
    /// The connection that is looked at first, so that none starves the others.
    first: usize,
    turns: u32,
}

impl TcpService {
    /// Listens at `address`.
    pub fn bind(address: SocketAddr, options: UdpOptions) -> io::Result<Self> {
        let socket = socket(address, options)?;
        socket.set_reuse_address(true)?;
        socket.bind(&address.into())?;
        socket.listen(libc::c_int::try_from(CONNECTIONS_MAX).unwrap_or(1))?;
        socket.set_nonblocking(true)?;
        let this = Self {
            listener: socket.into(),
            events: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            connections: Default::default(),
            first: 0,
            turns: 0,
        };
        this.watch(this.listener.as_fd())?;
        Ok(this)
    }

    fn watch(&self, socket: BorrowedFd<'_>) -> io::Result<()> {
        let data = epoll::EventData::new_u64(0);
        Ok(epoll::add(
            &self.events,
            socket,
            data,
            epoll::EventFlags::IN,
        )?)
    }

    fn accept(&mut self) -> io::Result<()> {
        let accepted = match ready(self.listener.accept()) {
            Ok(accepted) => accepted,
            // The peer has gone before it was taken.
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => None,
            Err(error) => return Err(error),
        };
        let Some((stream, _)) = accepted else {
            return Ok(());
        };
        let free = self.connections.iter().position(Option::is_none);
        // Without a free place the stream is closed here.
        if let (Some(free), Ok(stream)) = (free, Stream::new(stream, PAYLOAD_MAX)) {
            self.watch(stream.socket.as_fd())?;
            self.connections[free] = Some(stream);
        }
        Ok(())
    }
}

impl AsFd for TcpService {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.events.as_fd()
    }
}

impl Service for TcpService {
    type Peer = usize;

    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<(Range<usize>, usize)>> {
        self.turns = self.turns.wrapping_add(1);
        let is_alone = self.connections.iter().all(Option::is_none);
        if is_alone || self.turns.is_multiple_of(TURNS) {
            self.accept()?;
        }
        for turn in 0..CONNECTIONS_MAX {
            let index = (self.first + turn) % CONNECTIONS_MAX;
            let Some(stream) = &mut self.connections[index] else {
                continue;
            };
            match stream.receive(buffer) {
                Ok(Some(len)) => {
                    self.first = (index + 1) % CONNECTIONS_MAX;
                    return Ok(Some((0..len, index)));
                }
                Ok(None) => {}
                // A peer that is gone, or is no meter, ends its own connection only.
                Err(_) => self.connections[index] = None,
            }
        }
        Ok(None)
    }

    fn answer(&mut self, buffer: &mut [u8], payload: Range<usize>, to: usize) -> io::Result<()> {
        let Some(stream) = &mut self.connections[to] else {
            return Ok(());
        };
        match stream.send(&buffer[payload]) {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => {
                self.connections[to] = None;
                Ok(())
            }
            sent => sent,
        }
    }
}
