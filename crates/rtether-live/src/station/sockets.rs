//! The sockets of a station: one that receives for each carrier, one that sends for each way.

use std::io;
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};

use socket2::{Domain, Protocol, Socket, Type};

use super::{Carrier, PORT, Peer, Tagging};
use crate::link::{self, Device, MacAddress, UdpOptions, link_address, mark, ready};
use crate::timestamping::{self, RealNs};

/// Octets of addresses and type.
const HEADER: usize = 14;
/// Addresses, type and the smallest payload.
const FRAME_MIN: usize = 60;

/// A way out.
pub(super) enum Outlet {
    Udp(UdpSocket),
    Raw {
        socket: Socket,
        /// The frame, with the payload behind `start`.
        frame: Vec<u8>,
        start: usize,
    },
}

impl Outlet {
    /// Opens a way to one peer, by the device, which has the address.
    pub(super) fn open(
        (device, address): (&Device, Ipv4Addr),
        carrier: Carrier,
        peer: Peer,
        tagging: Tagging,
        payload: usize,
    ) -> io::Result<Self> {
        match carrier {
            Carrier::Udp => Ok(Self::Udp(udp(address, peer.ip, tagging)?)),
            Carrier::Raw {
                ethertype,
                header: inner,
            } => {
                // Protocol 0: this socket receives nothing.
                let socket = Socket::new(Domain::PACKET, Type::RAW, None)?;
                socket.bind(&link_address(device, 0))?;
                socket.set_nonblocking(true)?;
                let mut frame = Vec::new();
                link::header(
                    &mut frame,
                    peer.mac,
                    device.address(),
                    tagging.tag,
                    ethertype,
                );
                let start = frame.len() + inner;
                let tag = frame.len() - HEADER;
                frame.resize((start + payload).max(FRAME_MIN + tag), 0);
                Ok(Self::Raw {
                    socket,
                    frame,
                    start,
                })
            }
        }
    }

    /// Sends a payload.
    pub(super) fn send(&mut self, payload: &[u8]) -> io::Result<()> {
        match self {
            Self::Udp(socket) => socket.send(payload).map(|_| ()),
            Self::Raw {
                socket,
                frame,
                start,
            } => {
                frame[*start..*start + payload.len()].copy_from_slice(payload);
                socket.send(frame).map(|_| ())
            }
        }
    }
}

fn udp(own: Ipv4Addr, to: Ipv4Addr, tagging: Tagging) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
    let peer = SocketAddrV4::new(to, PORT);
    let marks = UdpOptions {
        dscp: tagging.dscp,
        priority: tagging.priority(),
    };
    mark(&socket, peer.into(), marks)?;
    if to.is_multicast() {
        // A host with several devices may have its route for groups elsewhere, or none.
        socket.set_multicast_if_v4(&own)?;
    }
    socket.set_nonblocking(true)?;
    socket.connect(&peer.into())?;
    Ok(socket.into())
}

/// A way in.
pub(super) struct Inlet {
    socket: Socket,
    carrier: Carrier,
    own: MacAddress,
}

impl Inlet {
    /// Opens the way in for a carrier.
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
            Carrier::Raw { ethertype, .. } => {
                let protocol = Protocol::from(i32::from(ethertype.to_be()));
                let socket = Socket::new(Domain::PACKET, Type::RAW, Some(protocol))?;
                socket.bind(&link_address(device, ethertype))?;
                socket
            }
        };
        // What arrives while the thread sleeps must find room; the system may grant less.
        drop(socket.set_recv_buffer_size(4 << 20));
        socket.set_nonblocking(true)?;
        timestamping::enable(socket.as_fd())?;
        Ok(Self {
            socket,
            carrier,
            own: device.address(),
        })
    }

    /// Returns where in `buffer` the next payload for us lies, and the kernel's stamp.
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

impl AsFd for Inlet {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
