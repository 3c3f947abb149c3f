//! Links that carry payloads to a peer and back.

mod bpf;
mod device;
mod frame;
mod icmp;
mod raw;
mod tcp;
mod udp;
mod xdp;

use std::io;
use std::ops::Range;
use std::os::fd::AsFd;

use rustix::net::{RecvFlags, SendFlags};
use socket2::Socket;

use crate::timestamping::{RealNs, Sent};

pub use device::{Device, DeviceError};
pub use frame::RawOptions;
pub(crate) use frame::{ETHERTYPE_TAG, header};
pub use icmp::Icmp;
pub use raw::Raw;
pub(crate) use raw::link_address;
pub use rtether_model::mac::{MacAddress, ParseMacError};
pub use tcp::{CONNECTIONS_MAX, Tcp, TcpLimits, TcpService};
pub(crate) use udp::mark;
pub use udp::{Udp, UdpOptions};
pub use xdp::Xdp;

/// Largest payload sent or received, in octets.
pub const PAYLOAD_MAX: usize = 65_507;

/// A socket whose payloads the kernel stamps with their time, if it can.
pub trait Stamped: AsFd {
    /// Enables kernel time stamps on what is sent and received from now on.
    fn enable_stamps(&mut self) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Returns the kernel's stamp of the last payload received.
    fn received_at(&self) -> Option<RealNs> {
        None
    }

    /// Returns the next stamp of a sent payload; `None` if there is none now.
    fn poll_sent(&mut self) -> io::Result<Option<Sent>> {
        Ok(None)
    }
}

/// A socket that sends payloads to one peer and receives its answers.
///
/// No call blocks but [`Self::receive_or_wait`]: [`crate::wait::Waiter`] does.
pub trait Link: Stamped {
    /// Lets [`Self::receive_or_wait`] sleep for up to `patience`, as exactly as the kernel's tick;
    /// returns whether it can.
    ///
    /// # Errors
    /// If the system refuses.
    fn set_patience(&mut self, _patience: std::time::Duration) -> io::Result<bool> {
        Ok(false)
    }

    /// As [`Self::receive`], but sleeps until there is a payload, the patience is over or a signal
    /// arrives: one system call, where waiting and then receiving are two.
    fn receive_or_wait(&mut self, buffer: &mut [u8]) -> io::Result<Option<Range<usize>>> {
        self.receive(buffer)
    }

    /// Smallest payload in octets; shorter ones cannot be distinguished from padding.
    fn payload_min(&self) -> usize {
        0
    }

    /// Sends one payload.
    fn send(&mut self, payload: &[u8]) -> io::Result<()>;

    /// Returns the range of the next payload in `buffer`; `None` if there is none now.
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<Range<usize>>>;
}

/// A socket that answers payloads from any peer.
pub trait Service: Stamped {
    /// Destination of an answer.
    type Peer: Copy;

    /// As [`Link::set_patience`].
    ///
    /// # Errors
    /// If the system refuses.
    fn set_patience(&mut self, _patience: std::time::Duration) -> io::Result<bool> {
        Ok(false)
    }

    /// As [`Link::receive_or_wait`].
    fn receive_or_wait(
        &mut self,
        buffer: &mut [u8],
    ) -> io::Result<Option<(Range<usize>, Self::Peer)>> {
        self.receive(buffer)
    }

    /// Returns the range of the next payload in `buffer`, and its sender.
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<(Range<usize>, Self::Peer)>>;

    /// Sends an answer. `buffer` is the one the request was received in: the octets before
    /// `payload` may be overwritten.
    fn answer(
        &mut self,
        buffer: &mut [u8],
        payload: Range<usize>,
        to: Self::Peer,
    ) -> io::Result<()>;

    /// Returns what it has rejected or missed so far.
    fn turned(&self) -> Turned {
        Turned::default()
    }
}

/// Payloads and connections that a service rejected or missed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Turned {
    /// Payloads dropped because the socket's buffer was full.
    pub overrun: u64,
    /// Connections refused because there was no room.
    pub refused: u64,
    /// Connections closed because they were idle.
    pub idle: u64,
}

/// Sends on a connected socket.
///
/// Uses the system call directly, as [`receive`] does: in a multithreaded program the C library's
/// wrapper makes each call a cancellation point, which costs as much as a clock reading.
fn send(socket: &impl AsFd, payload: &[u8]) -> io::Result<()> {
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    rustix::net::send(socket, payload, flags)?;
    Ok(())
}

/// Flags of a call that returns at once, also on a socket with patience.
const AT_ONCE: RecvFlags = RecvFlags::DONTWAIT;
/// Flags of a call that sleeps as long as the socket's patience.
const PATIENTLY: RecvFlags = RecvFlags::empty();

/// Returns the length of the next payload in octets; `None` if there is none by then.
fn receive(socket: &impl AsFd, buffer: &mut [u8], flags: RecvFlags) -> io::Result<Option<usize>> {
    let received = rustix::net::recv(socket, buffer, flags);
    ready(received.map(|(len, _)| len).map_err(Into::into))
}

/// Lets calls with [`PATIENTLY`] sleep for up to `patience`.
fn set_patience(socket: &Socket, patience: std::time::Duration) -> io::Result<()> {
    socket.set_read_timeout(Some(patience))?;
    socket.set_nonblocking(false)
}

/// Turns "would block" into `None`.
pub(crate) fn ready<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error)
            if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}
