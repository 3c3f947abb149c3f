//! Flows over TCP: messages on a connection that stays open, and files.
//!
//! Each connection begins with a header of 16 octets, all big-endian: stream (2), 0 for a file and
//! 1 for messages (2), number of the file (4), size of the file in octets, all ones for an endless
//! one (8). The file or the messages follow; the message size is known to both ends, and each
//! starts with a [`super::mark::Mark`]. Answers return on the same connection.

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
use rtether_sim::thinking::Thinking;
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
/// Interval at which a waiting thread checks for a stop.
const LOOK: Span = Span::from_millis(20);
/// Limit on establishing a connection.
const CONNECT: Span = Span::from_secs(3);
/// Size of the header, in octets.
const HEADER: usize = 16;
/// Size of an endless file.
const ENDLESS: u64 = u64::MAX;

/// A stream over TCP that starts here.
pub struct TcpOutgoing {
    /// The stream.
    pub stream: u16,
    /// Its destination.
    pub peer: Peer,
    /// Marks of packets.
    pub tagging: Tagging,
    /// What is sent.
    pub traffic: TcpTraffic,
}

/// What is sent over TCP.
pub enum TcpTraffic {
    /// Messages on one connection.
    Messages {
        /// Times of the releases.
        releases: Releases,
        /// Message size, in octets.
        payload: usize,
        /// Size of the answer, in octets; `None` for no answer.
        answer: Option<usize>,
    },
    /// Files, each over a separate connection.
    Files {
        /// The files.
        bulk: Bulk,
        /// Due times of files of a random sequence; `None` without one.
        due: Option<Releases>,
    },
}

/// A stream over TCP that ends here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpIncoming {
    /// The stream.
    pub stream: u16,
    /// Message size, in octets; `None` for files.
    pub message: Option<usize>,
    /// Size of the answer to a message, in octets, and the time it takes; `None` for no answer.
    pub answer: Option<(usize, Thinking)>,
    /// Marks of the packets sent back.
    pub tagging: Tagging,
    /// Octets that the sender may have under way, at least a segment; `None` for the kernel's
    /// limit.
    pub window: Option<u32>,
}

/// A file as seen by one end.
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
    /// Segments retransmitted by the sender's kernel.
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

/// Time limits of a thread; all its waits end soon after.
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

/// Opens a connection and sends its header.
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

/// Marks a connection; small messages go out at once.
fn prepare(socket: &Socket, peer: Ipv4Addr, tagging: Tagging) -> io::Result<()> {
    mark(socket, SocketAddrV4::new(peer, PORT).into(), tagging.options())?;
    socket.set_tcp_nodelay(true)
}

/// Returns whether an error only means that a wait is over.
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
        let header =
            Header { stream: 0x0102, is_messages: true, number: 0x0304_0506, size: ENDLESS };
        let octets = header.write();
        assert_eq!(octets[..8], [1, 2, 0, 1, 3, 4, 5, 6]);
        assert_eq!(octets[8..], [0xFF; 8]);
        let back = Header::read(octets);
        assert_eq!((back.stream, back.number, back.size), (0x0102, 0x0304_0506, ENDLESS));
        assert!(back.is_messages);
    }
}
