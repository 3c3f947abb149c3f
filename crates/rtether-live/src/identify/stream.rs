//! Messages over one TCP connection.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddrV4, TcpStream};
use std::os::fd::AsFd;
use std::time::{Duration as Span, Instant};

use rtether_model::quantity::Duration;
use rtether_proto::identify::request::opcua::Numbers;
use rtether_proto::identify::request::{Carrier, Framing, Splitter};

use super::{Line, MESSAGE_MAX, Received};
use crate::link::ready;
use crate::option;
use crate::wait::sleep_until_readable;

/// How long to wait for a connection: less than until the kernel repeats its SYN.
const PATIENCE: Span = Span::from_millis(900);
/// How long an end waits for that of the device, and how much it reads until then.
const FAREWELL: Span = Span::from_millis(200);
const FAREWELL_READS: usize = 64;

/// A connection with messages in it.
#[derive(Debug)]
pub struct Stream {
    connection: TcpStream,
    splitter: Splitter,
    /// Numbers of messages, where the protocol has them.
    numbers: Option<Numbers>,
    /// The message received last.
    message: Vec<u8>,
}

impl Stream {
    /// Connects to a device.
    ///
    /// # Errors
    /// Those of the system; `ConnectionRefused` and `TimedOut` say that nobody listens there.
    pub fn connect(peer: SocketAddrV4, framing: Framing) -> io::Result<Self> {
        let connection = TcpStream::connect_timeout(&peer.into(), PATIENCE)?;
        // Else a request would wait for the acknowledgment of the one before.
        connection.set_nodelay(true)?;
        connection.set_nonblocking(true)?;
        let message = Vec::with_capacity(MESSAGE_MAX);
        let numbers = (framing == Framing::OpcUa).then(Numbers::default);
        Ok(Self { connection, splitter: Splitter::new(framing), numbers, message })
    }

    /// Returns what its segments look like.
    pub fn carrier(&self) -> Carrier {
        Carrier::Tcp { timestamps: option::has_timestamps(&self.connection) }
    }

    /// Returns whether the message received last is there.
    fn poll(&mut self) -> io::Result<bool> {
        match self.splitter.poll() {
            Ok(Some(message)) => {
                self.message.clear();
                self.message.extend_from_slice(message);
                Ok(true)
            }
            Ok(None) => Ok(false),
            Err(malformed) => {
                Err(io::Error::new(io::ErrorKind::InvalidData, malformed.to_string()))
            }
        }
    }
}

impl Line for Stream {
    fn send(&mut self, _: u32, message: &[u8]) -> io::Result<()> {
        let mut message = message.to_vec();
        if let Some(numbers) = &mut self.numbers {
            numbers.stamp(&mut message);
        }
        // Requests are far smaller than the socket's buffer, so that one write takes all or none.
        match self.connection.write(&message)? {
            written if written == message.len() => Ok(()),
            _ => Err(io::Error::other("the device does not read what it is sent")),
        }
    }

    fn receive(&mut self) -> io::Result<Received<'_>> {
        if self.poll()? {
            return Ok(Received::Message(&self.message));
        }
        match ready(self.connection.read(self.splitter.room()))? {
            None => return Ok(Received::Nothing),
            Some(0) => {
                let error = "the device closed the connection";
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, error));
            }
            Some(octets) => self.splitter.advance(octets),
        }
        Ok(if self.poll()? { Received::Message(&self.message) } else { Received::Nothing })
    }

    fn wait(&mut self, left: Duration) -> io::Result<()> {
        sleep_until_readable(self.connection.as_fd(), Some(left))
    }
}

impl Drop for Stream {
    /// Closes by FIN: what had come and was not read would make it a reset.
    fn drop(&mut self) {
        if self.connection.shutdown(Shutdown::Write).is_err() {
            return;
        }
        let begun = Instant::now();
        let mut rest = [0; MESSAGE_MAX];
        for _ in 0..FAREWELL_READS {
            let left = FAREWELL.saturating_sub(begun.elapsed());
            // Below a second.
            let left = Duration::from_us(i64::from(left.subsec_micros()));
            let waited = sleep_until_readable(self.connection.as_fd(), Some(left));
            match (waited, ready(self.connection.read(&mut rest))) {
                (Ok(()), Ok(Some(1..))) => {}
                (Ok(()), Ok(None)) if begun.elapsed() < FAREWELL => {}
                _ => return,
            }
        }
    }
}
