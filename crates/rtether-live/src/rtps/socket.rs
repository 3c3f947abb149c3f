//! What the sockets of all transports have in common.

use std::io;

use rtether_rtps::time::Duration;
use rustix::event::{PollFd, Timespec, poll};

/// Socket from which to receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// The unicast socket.
    Own,
    /// The multicast socket, if separate.
    Group,
}

/// Sleeps until a socket is readable, `left` has passed or a signal arrives.
pub(super) fn sleep(sockets: &mut [PollFd<'_>], left: Duration) -> io::Result<()> {
    let ns = left.as_ns();
    let limit = Timespec {
        tv_sec: ns / 1_000_000_000,
        tv_nsec: ns % 1_000_000_000,
    };
    match poll(sockets, Some(&limit)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
