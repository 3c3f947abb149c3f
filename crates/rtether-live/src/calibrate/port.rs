//! Sockets at the ends of the measured paths.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};

use super::stamp;
use crate::link::{Icmp, Link, MacAddress, Raw, RawOptions};

/// A socket to one peer.
pub(super) enum Port {
    /// Datagrams; payloads start at once.
    Udp(UdpSocket),
    /// Ethernet frames; payloads follow the header.
    Raw(Raw),
    /// Echo requests, which the peer's kernel answers.
    Icmp(Icmp),
}

/// Octets before the payload of an Ethernet frame, and of an ICMP message.
const ETHERNET: usize = 14;
const ICMP: usize = 8;

/// Addresses of an end and of its peer.
#[derive(Clone, Copy, Debug)]
pub(super) enum Ends<'a> {
    Udp { own: SocketAddr, peer: SocketAddr },
    Raw { device: &'a str, peer: MacAddress },
    Icmp { peer: Ipv4Addr },
}

impl Port {
    pub(super) fn open(place: Ends<'_>) -> io::Result<Self> {
        let this = match place {
            Ends::Udp { own, peer } => {
                let socket = UdpSocket::bind(own)?;
                socket.connect(peer)?;
                socket.set_nonblocking(true)?;
                Self::Udp(socket)
            }
            Ends::Raw { device, peer } => {
                let raw = Raw::connect(device, peer, RawOptions::default());
                Self::Raw(raw.map_err(io::Error::other)?)
            }
            Ends::Icmp { peer } => Self::Icmp(Icmp::connect(peer, 0)?),
        };
        stamp::enable(this.as_fd())?;
        Ok(this)
    }

    /// Sends a payload. For ICMP its first octets are overwritten by the header of an echo request.
    pub(super) fn send(&mut self, payload: &mut [u8]) -> io::Result<()> {
        match self {
            Self::Udp(socket) => socket.send(payload).map(|_| ()),
            Self::Raw(raw) => raw.send(payload),
            Self::Icmp(icmp) => {
                payload[..ICMP].copy_from_slice(&[8, 0, 0, 0, 0x72, 0x54, 0, 0]);
                let sum = checksum(payload);
                payload[2..4].copy_from_slice(&sum.to_be_bytes());
                icmp.send(payload)
            }
        }
    }

    /// Returns the payload of the next packet and its stamp.
    pub(super) fn receive<'b>(
        &self,
        buffer: &'b mut [u8],
    ) -> io::Result<Option<(&'b mut [u8], Option<i64>)>> {
        let received = match stamp::receive(self.as_fd(), buffer) {
            // The peer's socket does not exist yet, or no longer.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => return Ok(None),
            other => other?,
        };
        let Some((length, stamp)) = received else {
            return Ok(None);
        };
        let first = buffer.first().copied().unwrap_or(0);
        let begin = match self {
            Self::Udp(_) => 0,
            Self::Raw(_) => ETHERNET,
            // The kernel includes the IP header, whose length is in words.
            Self::Icmp(_) => 4 * usize::from(first & 0x0F),
        };
        Ok(Some((&mut buffer[begin.min(length)..length], stamp)))
    }

    /// Returns how many octets of a payload belong to the protocol.
    pub(super) const fn head(&self) -> usize {
        match self {
            Self::Udp(_) | Self::Raw(_) => 0,
            Self::Icmp(_) => ICMP,
        }
    }
}

impl AsFd for Port {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Udp(socket) => socket.as_fd(),
            Self::Raw(raw) => raw.as_fd(),
            Self::Icmp(icmp) => icmp.as_fd(),
        }
    }
}

/// Returns the Internet checksum (RFC 1071) of octets whose checksum field is zero.
fn checksum(octets: &[u8]) -> u16 {
    let words = octets.chunks(2).map(|pair| {
        let low = pair.get(1).copied().unwrap_or(0);
        u64::from(u16::from_be_bytes([pair[0], low]))
    });
    let mut sum: u64 = words.sum();
    while sum > 0xFFFF {
        sum = (sum >> 16) + (sum & 0xFFFF);
    }
    !u16::try_from(sum).unwrap_or(0)
}
