//! Ways for a payload to a peer and back.

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

pub use device::{Device, DeviceError, MacAddress, ParseMacError};
pub use frame::RawOptions;
pub(crate) use frame::{ETHERTYPE_TAG, header};
pub use icmp::Icmp;
pub use raw::Raw;
pub(crate) use raw::link_address;
pub use tcp::{CONNECTIONS_MAX, Tcp, TcpLimits, TcpService};
pub(crate) use udp::mark;
pub use udp::{Udp, UdpOptions};
pub use xdp::Xdp;

/// A socket that sends payloads to one peer and receives what comes back from it.
///
/// Neither call waits: [`crate::wait::Waiter`] does.
pub trait Link: AsFd {
    /// Octets of a payload at least; shorter ones cannot be told from padding.
    fn payload_min(&self) -> usize {
        0
    }

    /// Sends one payload.
    fn send(&mut self, payload: &[u8]) -> io::Result<()>;

    /// Returns where in `buffer` the next payload lies; `None` if there is none now.
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<Range<usize>>>;

    /// Switches on kernel time stamps of what is sent and received from now on.
    fn enable_stamps(&mut self) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Returns the kernel's stamp of the payload received last.
    fn received_at(&self) -> Option<RealNs> {
        None
    }

    /// Returns the next stamp of a payload that was sent; `None` if there is none now.
    fn poll_sent(&mut self) -> io::Result<Option<Sent>> {
        Ok(None)
    }
}

/// A socket that receives payloads from anybody and answers them.
pub trait Service: AsFd {
    /// Who is to get the answer.
    type Peer: Copy;

    /// Returns where in `buffer` the next payload lies and who has sent it.
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<(Range<usize>, Self::Peer)>>;

    /// Sends a payload back. `buffer` is the one it was received in: what lies before `payload` may
    /// be overwritten.
    fn answer(
        &mut self,
        buffer: &mut [u8],
        payload: Range<usize>,
        to: Self::Peer,
    ) -> io::Result<()>;

    /// Switches on kernel time stamps of what is sent and received from now on.
    fn enable_stamps(&mut self) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Returns the kernel's stamp of the payload received last.
    fn received_at(&self) -> Option<RealNs> {
        None
    }

    /// Returns the next stamp of a payload that was sent; `None` if there is none now.
    fn poll_sent(&mut self) -> io::Result<Option<Sent>> {
        Ok(None)
    }

    /// Returns what it has turned away so far, or never got to see.
    fn turned(&self) -> Turned {
        Turned::default()
    }
}

/// What a service has turned away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Turned {
    /// Payloads that the socket's buffer had no room for.
    pub overrun: u64,
    /// Connections that were told that there is no room.
    pub refused: u64,
    /// Connections that were closed since nothing came.
    pub idle: u64,
}

/// Sends on a connected socket.
///
/// By the system call itself, as [`receive`]: in a program of several threads, the C library's
/// wrapper makes each call a point at which the thread can be canceled, which takes as long as a
/// look at the clock.
fn send(socket: &impl AsFd, payload: &[u8]) -> io::Result<()> {
    rustix::net::send(socket, payload, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Returns the octets of the next payload; `None` if there is none now.
fn receive(socket: &impl AsFd, buffer: &mut [u8]) -> io::Result<Option<usize>> {
    let received = rustix::net::recv(socket, buffer, RecvFlags::empty());
    ready(received.map(|(len, _)| len).map_err(Into::into))
}

/// Turns "nothing there" into `None`.
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
