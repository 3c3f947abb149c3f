//! UDP.

use std::io;
use std::net::SocketAddr;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration as Span;

use rustix::net::{RecvFlags, SendFlags};
use socket2::{Domain, Protocol, Socket, Type};

use super::{
    AT_ONCE, Link, PATIENTLY, Service, Stamped, Turned, ready, receive, send, set_patience,
};
use crate::option;
use crate::timestamping::{self, RealNs, Sent};

/// How datagrams are marked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UdpOptions {
    /// DSCP, 0 to 63.
    pub dscp: u8,
    /// Priority inside the host (`SO_PRIORITY`): selects the class of a queueing discipline and the
    /// PCP of a VLAN device.
    pub priority: Option<u32>,
}

/// A UDP socket, connected or not.
#[derive(Debug)]
pub struct Udp {
    socket: Socket,
    is_stamped: bool,
    received_at: Option<RealNs>,
}

impl Udp {
    /// Returns a socket that communicates with `peer` only.
    pub fn connect(peer: SocketAddr, options: UdpOptions) -> io::Result<Self> {
        let any: SocketAddr = match peer {
            SocketAddr::V4(_) => (std::net::Ipv4Addr::UNSPECIFIED, 0).into(),
            SocketAddr::V6(_) => (std::net::Ipv6Addr::UNSPECIFIED, 0).into(),
        };
        let this = Self::bind(any, options)?;
        this.socket.connect(&peer.into())?;
        Ok(this)
    }

    /// Returns a socket that receives datagrams for `address` from any sender.
    pub fn bind(address: SocketAddr, options: UdpOptions) -> io::Result<Self> {
        let domain = Domain::for_address(address);
        let socket = Socket::new(domain, Type::DGRAM, Some(Protocol::UDP))?;
        mark(&socket, address, options)?;
        socket.set_nonblocking(true)?;
        socket.bind(&address.into())?;
        Ok(Self { socket, is_stamped: false, received_at: None })
    }

    /// Returns the address it is bound to.
    pub fn local_address(&self) -> io::Result<SocketAddr> {
        let address = self.socket.local_addr()?.as_socket();
        address.ok_or_else(|| io::ErrorKind::AddrNotAvailable.into())
    }

    /// Stamps of what was sent wake a thread that polls, but none that receives.
    fn wait_for(&self, patience: Span) -> io::Result<bool> {
        if !self.is_stamped {
            set_patience(&self.socket, patience)?;
        }
        Ok(!self.is_stamped)
    }

    fn receive_from(
        &self,
        buffer: &mut [u8],
        flags: RecvFlags,
    ) -> io::Result<Option<(Range<usize>, SocketAddr)>> {
        let received = rustix::net::recvfrom(&self.socket, buffer, flags);
        let found = ready(received.map_err(Into::into))?;
        Ok(found.and_then(|(len, _, from)| {
            let from = from.and_then(|from| SocketAddr::try_from(from).ok())?;
            Some((0..len, from))
        }))
    }

    fn receive_stamped(
        &mut self,
        buffer: &mut [u8],
    ) -> io::Result<Option<(Range<usize>, Option<SocketAddr>)>> {
        let received = ready(timestamping::receive(self.socket.as_fd(), buffer))?;
        Ok(received.map(|(len, stamp, from)| {
            self.received_at = stamp;
            (0..len, from.as_socket())
        }))
    }
}

/// Marks what a socket sends; `address` only selects IPv4 or IPv6.
pub(crate) fn mark(socket: &Socket, address: SocketAddr, options: UdpOptions) -> io::Result<()> {
    let tos = u32::from(options.dscp) << 2;
    if tos > 0 {
        match address {
            SocketAddr::V4(_) => socket.set_tos_v4(tos)?,
            SocketAddr::V6(_) => socket.set_tclass_v6(tos)?,
        }
    }
    match options.priority {
        Some(priority) => set_priority(socket, priority),
        None => Ok(()),
    }
}

/// Sets `SO_PRIORITY`, for which the wrappers in use have no call.
fn set_priority(socket: &Socket, priority: u32) -> io::Result<()> {
    // The kernel takes an `int` and keeps an `unsigned`.
    let value = libc::c_int::from_ne_bytes(priority.to_ne_bytes());
    option::set(socket, libc::SOL_SOCKET, libc::SO_PRIORITY, &value)
}

impl AsFd for Udp {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Stamped for Udp {
    fn enable_stamps(&mut self) -> io::Result<()> {
        self.socket.set_nonblocking(true)?;
        timestamping::enable(self.socket.as_fd())?;
        self.is_stamped = true;
        Ok(())
    }

    fn received_at(&self) -> Option<RealNs> {
        self.received_at
    }

    fn poll_sent(&mut self) -> io::Result<Option<Sent>> {
        timestamping::sent(self.socket.as_fd())
    }
}

impl Link for Udp {
    fn send(&mut self, payload: &[u8]) -> io::Result<()> {
        send(&self.socket, payload)
    }

    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<Range<usize>>> {
        if self.is_stamped {
            return Ok(self.receive_stamped(buffer)?.map(|(payload, _)| payload));
        }
        Ok(receive(&self.socket, buffer, AT_ONCE)?.map(|len| 0..len))
    }

    fn set_patience(&mut self, patience: Span) -> io::Result<bool> {
        self.wait_for(patience)
    }

    fn receive_or_wait(&mut self, buffer: &mut [u8]) -> io::Result<Option<Range<usize>>> {
        Ok(receive(&self.socket, buffer, PATIENTLY)?.map(|len| 0..len))
    }
}

impl Service for Udp {
    type Peer = SocketAddr;

    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<(Range<usize>, SocketAddr)>> {
        if self.is_stamped {
            let found = self.receive_stamped(buffer)?;
            return Ok(found.and_then(|(payload, from)| Some((payload, from?))));
        }
        self.receive_from(buffer, AT_ONCE)
    }

    fn set_patience(&mut self, patience: Span) -> io::Result<bool> {
        self.wait_for(patience)
    }

    fn receive_or_wait(
        &mut self,
        buffer: &mut [u8],
    ) -> io::Result<Option<(Range<usize>, SocketAddr)>> {
        self.receive_from(buffer, PATIENTLY)
    }

    fn answer(
        &mut self,
        buffer: &mut [u8],
        payload: Range<usize>,
        to: SocketAddr,
    ) -> io::Result<()> {
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        rustix::net::sendto(&self.socket, &buffer[payload], flags, &to)?;
        Ok(())
    }

    fn turned(&self) -> Turned {
        Turned {
            // Zero if the kernel does not report it.
            overrun: option::drops(&self.socket).map_or(0, u64::from),
            ..Turned::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    const PATIENCE: Span = Span::from_millis(40);

    /// Oracle: the clock. A patient socket sleeps where it is told to, and nowhere else.
    #[test]
    fn a_patient_socket_sleeps_in_the_call_that_may() {
        let here = "127.0.0.1:0".parse().unwrap();
        let mut service = Udp::bind(here, UdpOptions::default()).unwrap();
        let at = service.local_address().unwrap();
        let mut link = Udp::connect(at, UdpOptions::default()).unwrap();
        let mut buffer = [0; 64];
        assert!(Link::set_patience(&mut link, PATIENCE).unwrap());
        assert!(Service::set_patience(&mut service, PATIENCE).unwrap());

        let begun = Instant::now();
        assert_eq!(Link::receive(&mut link, &mut buffer).unwrap(), None);
        assert_eq!(Service::receive(&mut service, &mut buffer).unwrap(), None);
        assert!(begun.elapsed() < PATIENCE, "it slept");
        assert_eq!(Link::receive_or_wait(&mut link, &mut buffer).unwrap(), None);
        // The kernel counts ticks, the first of which may be almost over.
        assert!(begun.elapsed() >= PATIENCE / 2, "it did not sleep");

        link.send(b"request").unwrap();
        let (request, peer) =
            Service::receive_or_wait(&mut service, &mut buffer).unwrap().expect("it has been sent");
        assert_eq!(&buffer[request.clone()], b"request");
        service.answer(&mut buffer, request, peer).unwrap();
        let answer = Link::receive_or_wait(&mut link, &mut buffer).unwrap();
        assert_eq!(answer, Some(0..7));
    }
}
