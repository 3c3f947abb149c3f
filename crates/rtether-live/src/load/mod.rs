//! Background load: hosts the client and the sink of `rtether_proto::load` on sockets.

pub mod client;
pub mod sink;
pub mod socket;
pub mod task;

use std::io::{self, Read};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Octets per system call.
pub(crate) const CHUNK: usize = 65_536;
/// Interval at which a blocked call checks for a stop.
pub(crate) const LOOK: Duration = Duration::from_millis(50);

/// Progress so far.
#[derive(Debug, Default)]
pub struct Progress {
    /// Octets of files and datagrams.
    pub octets: AtomicU64,
    /// Complete files.
    pub files: AtomicU64,
}

impl Progress {
    pub(crate) fn add(&self, octets: usize) {
        self.octets.fetch_add(octets as u64, Ordering::Relaxed);
    }
}

/// Returns whether an error means that a call timed out without data.
pub(crate) fn is_pause(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted
    )
}

/// Fills `octets`, within `patience` and until `stop`.
pub(crate) fn read_all(
    stream: &mut TcpStream,
    octets: &mut [u8],
    patience: Duration,
    stop: Option<&AtomicBool>,
) -> io::Result<()> {
    let begin = Instant::now();
    let mut done = 0;
    while done < octets.len() {
        match stream.read(&mut octets[done..]) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(len) => done += len,
            Err(error) if is_pause(&error) => {
                let is_stopped = stop.is_some_and(|stop| stop.load(Ordering::Relaxed));
                if is_stopped || begin.elapsed() > patience {
                    return Err(io::ErrorKind::TimedOut.into());
                }
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
