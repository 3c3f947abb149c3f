//! Flows over TCP: messages on a connection that stays open, and files.
//!
//! Each connection begins with a header of 16 octets, all big-endian: stream (2), 0 for a file and 1
//! for messages (2), number of the file (4), octets of the file, all ones for one without end (8).
//! Behind it come the octets of the file, or messages of the size that both ends know, each with a
//! [`super::mark::Mark`] at its beginning. Answers travel back on the same connection.

mod files;
mod messages;
mod server;

use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration as Span;

use rtether_model::flow::Bulk;
use rtether_model::quantity::{Duration, Instant};
use rtether_sim::release::Releases;
use socket2::{Domain, Protocol, Socket, Type};

use super::{Peer, Tagging};
use crate::clock::{Clock, to_std};
use crate::link::mark;

pub use files::send_files;
pub use messages::send_messages;
pub use server::Server;

/// TCP port of measured connections.
pub const PORT: u16 = 7_256;
/// Connections that a station serves at once; more are closed.
pub const CONNECTIONS_MAX: usize = 256;
/// How often a thread that waits looks whether to stop.
const LOOK: Span = Span::from_millis(20);
/// A connection that does not come about is given up after this time.
const CONNECT: Span = Span::from_secs(3);
/// Octets of the header.
const HEADER: usize = 16;
/// Size of a file without end.
const ENDLESS: u64 = u64::MAX;

/// A stream over TCP that starts here.
pub struct TcpOutgoing {
    /// The stream.
    pub stream: u16,
    /// To whom.
    pub peer: Peer,
    /// Marks.
    pub tagging: Tagging,
    /// What is sent.
    pub traffic: TcpTraffic,
}

/// What is sent over TCP.
pub enum TcpTraffic {
    /// Messages on one connection.
    Messages {
        /// When.
        releases: Releases,
        /// Octets of each.
        payload: usize,
        /// Octets of the answer, if there is one.
        answer: Option<usize>,
    },
    /// Files, each on a connection of its own.
    Files {
        /// Which.
        bulk: Bulk,
        /// When files at random times are due, if there are such.
        due: Option<Releases>,
    },
}

/// A stream over TCP that ends here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpIncoming {
    /// The stream.
    pub stream: u16,
    /// Octets of a message; `None` for files.
    pub message: Option<usize>,
    /// Octets of the answer to a message, and what it takes, if there is one.
    pub answer: Option<(usize, Duration)>,
    /// Marks of what goes back.
    pub tagging: Tagging,
    /// Octets that the sender may have under way, at least a segment; whatever the kernel allows if
    /// not given.
    pub window: Option<u32>,
}

/// A file as one end saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileLog {
    /// The stream.
    pub stream: u16,
    /// Number of the file within the stream.
    pub number: u32,
    /// When its connection was opened; known to the sender.
    pub started_at: Option<Instant>,
    /// When its last octet was delivered; known to the receiver.
    pub finished_at: Option<Instant>,
    /// Octets delivered.
    pub delivered: u64,
    /// Segments that the sender's kernel sent again.
    pub retransmissions: u64,
}

struct Header {
    stream: u16,
    is_messages: bool,
    number: u32,
    size: u64,
}

impl Header {
    fn write(&self) -> [u8; HEADER] {
        let mut octets = [0; HEADER];
        octets[..2].copy_from_slice(&self.stream.to_be_bytes());
        octets[2..4].copy_from_slice(&u16::from(self.is_messages).to_be_bytes());
        octets[4..8].copy_from_slice(&self.number.to_be_bytes());
        octets[8..].copy_from_slice(&self.size.to_be_bytes());
        octets
    }

    fn read(octets: [u8; HEADER]) -> Self {
        let [s0, s1, k0, k1, n0, n1, n2, n3, size @ ..] = octets;
        Self {
            stream: u16::from_be_bytes([s0, s1]),
            is_messages: u16::from_be_bytes([k0, k1]) == 1,
            number: u32::from_be_bytes([n0, n1, n2, n3]),
            size: u64::from_be_bytes(size),
        }
    }
}

/// The time of a thread; every wait of it is over soon after.
#[derive(Clone, Copy)]
struct Run<'a> {
    clock: Clock,
    end: Instant,
    stop: &'a AtomicBool,
}

impl Run<'_> {
    fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.clock.now() >= self.end
    }

    fn sleep_until(&self, at: Instant) {
        while !self.is_over() {
            let left = at - self.clock.now();
            if left <= Duration::ZERO {
                return;
            }
            std::thread::sleep(to_std(left).min(LOOK));
        }
    }
}

/// Opens a connection and says what it is for.
fn connect(to: Peer, tagging: Tagging, header: &Header, run: Run<'_>) -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
    prepare(&socket, to.ip, tagging)?;
    let peer = SocketAddrV4::new(to.ip, PORT);
    let left = to_std(run.end - run.clock.now());
    socket.connect_timeout(&peer.into(), left.clamp(LOOK, CONNECT))?;
    let mut stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(LOOK))?;
    stream.set_write_timeout(Some(LOOK))?;
    stream.write_all(&header.write())?;
    Ok(stream)
}

/// Marks a connection; small messages go at once.
fn prepare(socket: &Socket, peer: Ipv4Addr, tagging: Tagging) -> io::Result<()> {
    mark(
        socket,
        SocketAddrV4::new(peer, PORT).into(),
        tagging.options(),
    )?;
    socket.set_tcp_nodelay(true)
}

/// Returns whether an error only says that a wait is over.
fn is_pause(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_by_hand() {
        let header = Header {
            stream: 0x0102,
            is_messages: true,
            number: 0x0304_0506,
            size: ENDLESS,
        };
        let octets = header.write();
        assert_eq!(octets[..8], [1, 2, 0, 1, 3, 4, 5, 6]);
        assert_eq!(octets[8..], [0xFF; 8]);
        let back = Header::read(octets);
        assert_eq!(
            (back.stream, back.number, back.size),
            (0x0102, 0x0304_0506, ENDLESS)
        );
        assert!(back.is_messages);
    }
}
