//! The sockets of a station: one that receives for each carrier, one that sends for each way.

use std::io;
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use socket2::{Domain, Protocol, Socket, Type};

use super::{Carrier, PORT, Peer, Tagging};
use crate::filter::TAG_PRIORITY;
use crate::link::{Device, MacAddress, link_address, set_priority, write_header};

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
    /// Opens a way to one peer.
    pub(super) fn open(
        device: &Device,
        carrier: Carrier,
        peer: Peer,
        tagging: Tagging,
        payload: usize,
    ) -> io::Result<Self> {
        match carrier {
            Carrier::Udp => Ok(Self::Udp(udp(peer.ip, tagging)?)),
            Carrier::Raw { ethertype, header } => {
                // Protocol 0: this socket receives nothing.
                let socket = Socket::new(Domain::PACKET, Type::RAW, None)?;
                socket.bind(&link_address(device, 0))?;
                socket.set_nonblocking(true)?;
                let mut frame = Vec::new();
                write_header(
                    &mut frame,
                    peer.mac,
                    device.address(),
                    tagging.tag,
                    ethertype,
                );
                let start = frame.len() + header;
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

fn udp(to: Ipv4Addr, tagging: Tagging) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
    mark(&socket, tagging)?;
    socket.set_nonblocking(true)?;
    socket.connect(&SocketAddrV4::new(to, PORT).into())?;
    Ok(socket.into())
}

/// Has all packets of an IP socket carry marks; the kernel's own priority would follow the DSCP, so
/// it is set last.
pub(super) fn mark(socket: &Socket, tagging: Tagging) -> io::Result<()> {
    if tagging.dscp > 0 {
        socket.set_tos_v4(u32::from(tagging.dscp) << 2)?;
    }
    if let Some((pcp, vid)) = tagging.tag {
        let control = u32::from(pcp.get()) << 13 | u32::from(vid.get());
        set_priority(socket, TAG_PRIORITY | control)?;
    }
    Ok(())
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
        stamp_received(&socket)?;
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
    ) -> io::Result<Option<(std::ops::Range<usize>, Option<i64>)>> {
        loop {
            let Some((len, stamp)) = receive_stamped(&self.socket, buffer)? else {
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

fn stamp_received(socket: &Socket) -> io::Result<()> {
    let on: libc::c_int = 1;
    // SAFETY: the descriptor is open, and pointer and length are those of a live integer.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_TIMESTAMPNS,
            (&raw const on).cast(),
            libc::socklen_t::try_from(size_of_val(&on)).unwrap_or(4),
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Receives one packet with the time at which the kernel took it in, nanoseconds since 1970.
fn receive_stamped(socket: &Socket, buffer: &mut [u8]) -> io::Result<Option<(usize, Option<i64>)>> {
    let mut vector = libc::iovec {
        iov_base: buffer.as_mut_ptr().cast(),
        iov_len: buffer.len(),
    };
    let mut control = [0u64; 16];
    // SAFETY: all zeros are a valid `msghdr`.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut vector;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = size_of_val(&control);
    // SAFETY: the descriptor is open; vector and control buffer are live and of the stated lengths.
    let len = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, libc::MSG_DONTWAIT) };
    let Ok(len) = usize::try_from(len) else {
        let error = io::Error::last_os_error();
        // A port that is unreachable concerns packets sent before.
        let is_nothing = matches!(
            error.kind(),
            io::ErrorKind::WouldBlock
                | io::ErrorKind::Interrupted
                | io::ErrorKind::ConnectionRefused
        );
        return if is_nothing { Ok(None) } else { Err(error) };
    };
    let mut stamp = None;
    // SAFETY: the kernel has filled in the message, whose buffers are still live.
    let mut header = unsafe { libc::CMSG_FIRSTHDR(&raw const message) };
    while !header.is_null() {
        // SAFETY: the pointer comes from the two functions that walk the control buffer.
        let found = unsafe { &*header };
        if found.cmsg_level == libc::SOL_SOCKET && found.cmsg_type == libc::SCM_TIMESTAMPNS {
            // SAFETY: a control message of this type holds a `timespec`, not necessarily aligned.
            let time: libc::timespec = unsafe {
                libc::CMSG_DATA(header)
                    .cast::<libc::timespec>()
                    .read_unaligned()
            };
            stamp = time
                .tv_sec
                .checked_mul(1_000_000_000)
                .and_then(|s| s.checked_add(time.tv_nsec));
        }
        // SAFETY: as above; the message and the header belong together.
        header = unsafe { libc::CMSG_NXTHDR(&raw const message, header) };
    }
    Ok(Some((len, stamp)))
}
