//! Background load: hosts the client and the sink of `rtether_proto::load` on sockets.

pub mod client;
pub mod sink;
pub mod socket;
pub mod task;

use std::io::{self, Read};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Octets that are handed over in one call.
pub(crate) const CHUNK: usize = 65_536;
/// How often a call that waits looks whether to stop.
pub(crate) const LOOK: Duration = Duration::from_millis(50);

/// What has been done so far, for those who watch.
#[derive(Debug, Default)]
pub struct Progress {
    /// Octets of files and datagrams.
    pub octets: AtomicU64,
    /// Files that are complete.
    pub files: AtomicU64,
}

impl Progress {
    pub(crate) fn add(&self, octets: usize) {
        self.octets.fetch_add(octets as u64, Ordering::Relaxed);
    }
}

/// Returns whether an error means that nothing was there within the time of a call.
pub(crate) fn is_pause(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted
    )
}

/// Reads exactly as many octets, for at most `patience`, or until `stop`.
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
