//! Connections that are begun and closed, one for each packet.

use std::io;
use std::net::SocketAddrV4;
use std::time::Instant;

use rtether_model::quantity::Duration;
use rtether_proto::identify::request::Ended;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use socket2::{Domain, Protocol, Socket, Type};

use super::{Line, Received};
use crate::clock::to_std;

/// The kernel repeats a SYN after a second; without an answer the connection is given up before, so
/// that one request is outstanding.
const PATIENCE: std::time::Duration = std::time::Duration::from_millis(900);

/// Connections to one port. What is "received" is how they ended ([`Ended`]).
#[derive(Debug)]
pub struct Connects {
    peer: SocketAddrV4,
    pending: Option<(u32, Socket, Instant)>,
    ended: Option<Ended>,
    message: [u8; 5],
}

impl Connects {
    /// Returns a line to a port.
    pub const fn new(peer: SocketAddrV4) -> Self {
        Self { peer, pending: None, ended: None, message: [0; 5] }
    }

    /// Notes how the connection under way has ended, if it has.
    fn look(&mut self) -> io::Result<()> {
        let Some((id, socket, begun)) = &self.pending else { return Ok(()) };
        if !is_writable(socket, Duration::ZERO)? {
            if begun.elapsed() > PATIENCE {
                self.pending = None;
            }
            return Ok(());
        }
        let error = socket.take_error()?;
        self.ended = ended(*id, error);
        // An open connection is closed by FIN, since nothing has come that is not read.
        self.pending = None;
        Ok(())
    }
}

/// Returns how a connection ended; other errors, such as that there is no way, are no answers.
fn ended(id: u32, error: Option<io::Error>) -> Option<Ended> {
    match error.map(|error| error.kind()) {
        None => Some(Ended { id, is_refused: false }),
        Some(io::ErrorKind::ConnectionRefused) => Some(Ended { id, is_refused: true }),
        Some(_) => None,
    }
}

fn is_writable(socket: &Socket, left: Duration) -> io::Result<bool> {
    let left = to_std(left);
    let limit =
        Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: i64::from(left.subsec_nanos()) };
    let mut sockets = [PollFd::new(socket, PollFlags::OUT)];
    match poll(&mut sockets, Some(&limit)) {
        Ok(number) => Ok(number > 0),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

impl Line for Connects {
    fn send(&mut self, id: u32, _: &[u8]) -> io::Result<()> {
        self.pending = None;
        let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
        socket.set_nonblocking(true)?;
        let begun = Instant::now();
        match socket.connect(&self.peer.into()) {
            Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => {
                self.pending = Some((id, socket, begun));
            }
            Ok(()) => self.ended = ended(id, None),
            Err(error) => self.ended = ended(id, Some(error)),
        }
        Ok(())
    }

    fn receive(&mut self) -> io::Result<Received<'_>> {
        if self.ended.is_none() {
            self.look()?;
        }
        let Some(ended) = self.ended.take() else { return Ok(Received::Nothing) };
        self.message = ended.message();
        Ok(Received::Message(&self.message))
    }

    fn wait(&mut self, left: Duration) -> io::Result<()> {
        if self.ended.is_some() {
            return Ok(());
        }
        if let Some((_, socket, _)) = &self.pending {
            return is_writable(socket, left).map(|_| ());
        }
        std::thread::sleep(to_std(left));
        Ok(())
    }
}
