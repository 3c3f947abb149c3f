//! Connections that were refused and are about to be closed.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

/// Time that a refused client has to read the answer before the connection is closed.
const LEAVE: Duration = Duration::from_millis(200);
/// Largest number of connections about to be closed.
const MAX: usize = 4;

/// The connections, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Leaving(Vec<(TcpStream, Instant)>);

impl Leaving {
    /// Refuses a connection, and keeps it open until the client has had time to read the answer.
    pub(crate) fn refuse(&mut self, stream: TcpStream, answer: &[u8]) {
        tell(&stream, answer);
        if self.0.len() >= MAX {
            self.0.remove(0);
        }
        self.0.push((stream, Instant::now() + LEAVE));
    }

    /// Closes those whose time is over.
    pub(crate) fn close(&mut self, now: Instant) {
        self.0.retain(|(_, until)| now < *until);
    }
}

/// Answers a client that is not served. The answer fits any buffer, so nothing blocks.
pub(crate) fn tell(mut stream: &TcpStream, answer: &[u8]) {
    drop(stream.set_nonblocking(true));
    drop(stream.write(answer));
    drop(stream.shutdown(Shutdown::Write));
    // Read a request that may be pending; closing with it unread would reset the connection and
    // lose the answer.
    drop(stream.read(&mut [0; 2_048]));
}
