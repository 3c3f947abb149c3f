//! The sockets of a station: a receiving one for each carrier, a sending one for each destination.

use std::io;
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};

use rtether_proto::probe::icmp::{self, Echo};
use socket2::{Domain, Protocol, Socket, Type};

use super::{Carrier, PORT, Peer, Tagging};
use crate::link::{self, Device, MacAddress, link_address, mark, ready};
use crate::timestamping::{self, RealNs};

/// Addresses and type, in octets.
const HEADER: usize = 14;
/// Addresses, type and the smallest payload.
const FRAME_MIN: usize = 60;

/// A sending socket.
pub(super) enum Outlet {
    Udp(UdpSocket),
    Echo {
        socket: Socket,
        /// The request; the payload follows its header.
        message: Vec<u8>,
        sequence: u16,
    },
    Raw {
        socket: Socket,
        /// The frame, with the payload at `start`.
        frame: Vec<u8>,
        start: usize,
    },
}

impl Outlet {
    /// Opens a socket to one peer, by the device, which has the address.
    pub(super) fn open(
        (device, address): (&Device, Ipv4Addr),
        carrier: Carrier,
        peer: Peer,
        tagging: Tagging,
        payload: usize,
    ) -> io::Result<Self> {
        match carrier {
            Carrier::Udp => Ok(Self::Udp(udp(address, peer.ip, tagging)?)),
            Carrier::Echo => Ok(Self::Echo {
                socket: echo(peer.ip, tagging)?,
                message: vec![0; icmp::HEADER + payload],
                sequence: 0,
            }),
            Carrier::Raw { ethertype, header: inner } => {
                // Protocol 0: this socket receives nothing.
                let socket = Socket::new(Domain::PACKET, Type::RAW, None)?;
                socket.bind(&link_address(device.index(), 0))?;
                socket.set_nonblocking(true)?;
                let mut frame = Vec::new();
                link::header(&mut frame, peer.mac, device.address(), tagging.tag, ethertype);
                let start = frame.len() + inner;
                let tag = frame.len() - HEADER;
                frame.resize((start + payload).max(FRAME_MIN + tag), 0);
                Ok(Self::Raw { socket, frame, start })
            }
        }
    }

    /// Sends a payload.
    pub(super) fn send(&mut self, payload: &[u8]) -> io::Result<()> {
        match self {
            Self::Udp(socket) => socket.send(payload).map(|_| ()),
            Self::Echo { socket, message, sequence } => {
                message.truncate(icmp::HEADER);
                message.extend(payload);
                let echo = Echo { identifier: identifier(), sequence: *sequence };
                *sequence = sequence.wrapping_add(1);
                icmp::write_request(message, echo);
                socket.send(message).map(|_| ())
            }
            Self::Raw { socket, frame, start } => {
                frame[*start..*start + payload.len()].copy_from_slice(payload);
                socket.send(frame).map(|_| ())
            }
        }
    }
}

fn udp(own: Ipv4Addr, to: Ipv4Addr, tagging: Tagging) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
    let peer = SocketAddrV4::new(to, PORT);
    mark(&socket, peer.into(), tagging.options())?;
    if to.is_multicast() {
        // On a host with several devices the multicast route may point elsewhere, or be missing.
        socket.set_multicast_if_v4(&own)?;
    }
    socket.set_nonblocking(true)?;
    socket.connect(&peer.into())?;
    Ok(socket.into())
}

/// Opens a raw socket for requests only; it also receives the answers, and buffers as few as the
/// system permits.
fn echo(to: Ipv4Addr, tagging: Tagging) -> io::Result<Socket> {
    let socket = Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::ICMPV4))?;
    socket.set_recv_buffer_size(0)?;
    socket.set_tos_v4(u32::from(tagging.dscp) << 2)?;
    socket.set_nonblocking(true)?;
    socket.connect(&SocketAddrV4::new(to, 0).into())?;
    Ok(socket)
}

/// Returns the identifier that distinguishes our requests from those of other programs.
fn identifier() -> u16 {
    u16::try_from(std::process::id() & 0xFFFF).unwrap_or_default()
}

/// A receiving socket.
pub(super) struct Inlet {
    socket: Socket,
    carrier: Carrier,
    own: MacAddress,
}

impl Inlet {
    /// Opens the receiving socket of a carrier.
    pub(super) fn open(
        device: &Device,
        address: Ipv4Addr,
        groups: &[Ipv4Addr],
        carrier: Carrier,
    ) -> io::Result<Self> {
        let socket = match carrier {
            Carrier::Udp => {
                let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
                let any = Ipv4Addr::UNSPECIFIED;
                let own = if groups.is_empty() { address } else { any };
                socket.bind(&SocketAddrV4::new(own, PORT).into())?;
                for group in groups {
                    socket.join_multicast_v4(group, &address)?;
                }
                socket
            }
            Carrier::Echo => Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::ICMPV4))?,
            Carrier::Raw { ethertype, .. } => {
                let protocol = Protocol::from(i32::from(ethertype.to_be()));
                let socket = Socket::new(Domain::PACKET, Type::RAW, Some(protocol))?;
                socket.bind(&link_address(device.index(), ethertype))?;
                socket
            }
        };
        // Room for what arrives while the thread sleeps; the system may grant less.
        drop(socket.set_recv_buffer_size(4 << 20));
        socket.set_nonblocking(true)?;
        timestamping::enable(socket.as_fd())?;
        Ok(Self { socket, carrier, own: device.address() })
    }

    /// Returns whether everything that arrives here is an answer.
    pub(super) fn is_for_answers(&self) -> bool {
        self.carrier == Carrier::Echo
    }

    /// Returns the range of the next payload for us in `buffer`, and the kernel's stamp.
    pub(super) fn receive(
        &self,
        buffer: &mut [u8],
    ) -> io::Result<Option<(std::ops::Range<usize>, Option<RealNs>)>> {
        loop {
            let received = ready(timestamping::receive(self.socket.as_fd(), buffer))?;
            let Some((len, stamp, _)) = received else {
                return Ok(None);
            };
            let start = match self.carrier {
                Carrier::Udp => 0,
                Carrier::Echo => match answer(&buffer[..len]) {
                    Some(start) => start,
                    None => continue,
                },
                Carrier::Raw { header, .. } => {
                    let is_for_us = buffer
                        .first_chunk::<6>()
                        .is_some_and(|to| *to == self.own.0 || to[0] & 1 == 1);
                    if !is_for_us {
                        continue;
                    }
                    HEADER + header
                }
            };
            return Ok(Some((start.min(len)..len, stamp)));
        }
    }
}

/// Returns where the payload of an answer to one of our echo requests starts; a raw socket sees all
/// ICMP, with the IP header (raw(7)), whose length is in words.
fn answer(packet: &[u8]) -> Option<usize> {
    let header = 4 * usize::from(packet.first()? & 0x0F);
    let echo = icmp::parse_reply(packet.get(header..)?).ok()?;
    (echo.identifier == identifier()).then_some(header + icmp::HEADER)
}

impl AsFd for Inlet {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Oracle: a reply as `icmp::answer` makes it of our request, behind IP headers of 20 and 24
    /// octets; truncated packets, other messages and replies to others are rejected.
    #[test]
    fn only_answers_to_our_requests_are_taken() {
        let own = identifier();
        for header in [20, 24] {
            let reply = |identifier| {
                let mut message = vec![7; icmp::HEADER + 12];
                let sequence = 1;
                let echo = Echo { identifier, sequence };
                assert!(icmp::write_request(&mut message, echo));
                icmp::answer(&mut message).expect("a request");
                let mut packet = vec![0; header];
                packet[0] = 0x40 | u8::try_from(header / 4).expect("small");
                packet.extend(message);
                packet
            };
            let mut packet = reply(own);
            assert_eq!(answer(&packet), Some(header + icmp::HEADER));
            for length in 0..packet.len() {
                assert_eq!(answer(&packet[..length]), None, "{length}");
            }
            packet[header] = 8;
            assert_eq!(answer(&packet), None);
            assert_eq!(answer(&reply(own.wrapping_add(1))), None);
        }
    }
}
