//! ICMP echo over IPv4 to any host.

use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd};

use socket2::{Domain, Protocol, Socket, Type};

use super::{Link, Stamped, ready};

/// A raw ICMP socket to one host; payloads start at the ICMP header.
#[derive(Debug)]
pub struct Icmp {
    socket: Socket,
}

impl Icmp {
    /// Returns a socket that communicates with `peer`; needs `CAP_NET_RAW`.
    pub fn connect(peer: Ipv4Addr, dscp: u8) -> io::Result<Self> {
        let socket = Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::ICMPV4))?;
        if dscp > 0 {
            socket.set_tos_v4(u32::from(dscp) << 2)?;
        }
        socket.set_nonblocking(true)?;
        socket.connect(&SocketAddrV4::new(peer, 0).into())?;
        Ok(Self { socket })
    }
}

impl AsFd for Icmp {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Stamped for Icmp {}

impl Link for Icmp {
    fn send(&mut self, payload: &[u8]) -> io::Result<()> {
        self.socket.send(payload).map(|_| ())
    }

    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<Range<usize>>> {
        use std::io::Read;
        let Some(len) = ready((&self.socket).read(buffer))? else {
            return Ok(None);
        };
        // The kernel includes the IP header (raw(7)), whose length is in words.
        let first = buffer.first().copied().unwrap_or(0);
        let header = 4 * usize::from(first & 0x0F);
        Ok(Some(header.min(len)..len))
    }
}
