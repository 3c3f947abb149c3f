//! Messages over ICMP: echoes, and what a host says of a closed port of UDP.

use std::io;
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::os::fd::AsFd;

use rtether_model::quantity::Duration;
use rustix::net::{RecvFlags, SocketAddrAny};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};

use super::{Line, MESSAGE_MAX, Received};
use crate::link::ready;
use crate::wait::sleep_until_readable;

/// DSCP "expedited forwarding" in the octet of IP, and a priority inside the host.
const EXPEDITED: u32 = 46 << 2;
const PRIORITY: u32 = 6;
/// Octets for all messages of the longest burst, with what the kernel keeps of each.
const ROOM: usize = 1 << 20;

/// A raw socket that hears all ICMP of this host; it is not connected, so that answers from other
/// addresses are seen and counted.
#[derive(Debug)]
struct Ear {
    socket: Socket,
    peer: Ipv4Addr,
    buffer: Vec<u8>,
}

impl Ear {
    fn open(peer: Ipv4Addr) -> io::Result<Self> {
        let socket = Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::ICMPV4))?;
        socket.set_nonblocking(true)?;
        // What exceeds it is lost as on the wire; the kernel grants what it may.
        let _ = socket.set_recv_buffer_size(ROOM);
        Ok(Self { socket, peer, buffer: vec![0; MESSAGE_MAX + 1] })
    }

    fn receive(&mut self) -> io::Result<Received<'_>> {
        let got = rustix::net::recvfrom(&self.socket, &mut self.buffer[..], RecvFlags::DONTWAIT);
        let Some((octets, _, from)) = ready(got.map_err(Into::into))? else {
            return Ok(Received::Nothing);
        };
        if octets > MESSAGE_MAX {
            return Ok(Received::TooLong);
        }
        // The kernel includes the IP header (raw(7)), whose length is in words.
        let packet = &self.buffer[..octets];
        let header = 4 * usize::from(packet.first().copied().unwrap_or(0) & 0x0F);
        let message = packet.get(header..).unwrap_or_default();
        let is_from_peer = from.is_some_and(|from| is_of(&from, self.peer));
        Ok(if is_from_peer { Received::Message(message) } else { Received::Foreign(message) })
    }
}

fn is_of(from: &SocketAddrAny, peer: Ipv4Addr) -> bool {
    let from = std::net::SocketAddr::try_from(from.clone());
    from.is_ok_and(|from| from.ip() == peer)
}

/// Echo requests of ICMP; needs `CAP_NET_RAW`.
#[derive(Debug)]
pub struct Pings {
    ear: Ear,
    to: SockAddr,
    high: Socket,
}

impl Pings {
    /// Opens sockets for a device.
    ///
    /// # Errors
    /// Those of the system.
    pub fn open(peer: Ipv4Addr) -> io::Result<Self> {
        let high = Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::ICMPV4))?;
        high.set_tos_v4(EXPEDITED)?;
        high.set_priority(PRIORITY)?;
        // It only sends; without room what it hears is dropped.
        high.set_recv_buffer_size(0)?;
        Ok(Self { ear: Ear::open(peer)?, to: SocketAddrV4::new(peer, 0).into(), high })
    }
}

impl Line for Pings {
    fn send(&mut self, _: u32, message: &[u8]) -> io::Result<()> {
        self.ear.socket.send_to(message, &self.to).map(|_| ())
    }

    fn send_high(&mut self, _: u32, message: &[u8]) -> io::Result<()> {
        self.high.send_to(message, &self.to).map(|_| ())
    }

    fn receive(&mut self) -> io::Result<Received<'_>> {
        self.ear.receive()
    }

    fn wait(&mut self, left: Duration) -> io::Result<()> {
        sleep_until_readable(self.ear.socket.as_fd(), Some(left))
    }
}

/// Datagrams to a closed port, which ICMP answers; needs `CAP_NET_RAW`.
#[derive(Debug)]
pub struct Quotes {
    ear: Ear,
    socket: UdpSocket,
    peer: SocketAddrV4,
}

impl Quotes {
    /// Opens sockets for a port of a device.
    ///
    /// # Errors
    /// Those of the system.
    pub fn open(peer: SocketAddrV4) -> io::Result<Self> {
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
        socket.set_nonblocking(true)?;
        Ok(Self { ear: Ear::open(*peer.ip())?, socket, peer })
    }
}

impl Line for Quotes {
    fn send(&mut self, _: u32, message: &[u8]) -> io::Result<()> {
        self.socket.send_to(message, self.peer).map(|_| ())
    }

    fn receive(&mut self) -> io::Result<Received<'_>> {
        self.ear.receive()
    }

    fn wait(&mut self, left: Duration) -> io::Result<()> {
        sleep_until_readable(self.ear.socket.as_fd(), Some(left))
    }
}
