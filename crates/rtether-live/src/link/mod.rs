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
/// Neither call blocks: [`crate::wait::Waiter`] does.
pub trait Link: Stamped {
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
    rustix::net::send(socket, payload, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Returns the length of the next payload in octets; `None` if there is none now.
fn receive(socket: &impl AsFd, buffer: &mut [u8]) -> io::Result<Option<usize>> {
    let received = rustix::net::recv(socket, buffer, RecvFlags::empty());
    ready(received.map(|(len, _)| len).map_err(Into::into))
}

/// Turns "would block" into `None`.
pub(crate) fn ready<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
            ) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}
