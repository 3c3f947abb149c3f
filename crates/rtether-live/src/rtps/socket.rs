//! The sockets of a participant.

use std::cell::Cell;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};

use rtether_rtps::locator::{DISCOVERY_GROUP, Ports};
use rustix::net::{RecvFlags, SendFlags};
use socket2::{Domain as Family, Protocol, Socket, Type};

use super::{DomainError, failed};
use crate::link::ready;
use crate::option;

/// Octets that may wait in a socket: a sample of a megabyte in fragments, with the kernel's own.
const BUFFER: libc::c_int = 8 << 20;

/// A socket.
#[derive(Debug)]
pub(super) struct Port {
    socket: Socket,
    /// How the last datagram was marked.
    priority: Cell<i32>,
}

impl AsFd for Port {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Port {
    /// Sends a datagram; the priority is its DSCP, and its upper three bits are the PCP.
    pub(super) fn send(&self, datagram: &[u8], to: SocketAddr, priority: i32) -> io::Result<()> {
        if priority != self.priority.get() {
            self.mark(priority)?;
        }
        rustix::net::sendto(&self.socket, datagram, SendFlags::NOSIGNAL, &to)?;
        Ok(())
    }

    fn mark(&self, priority: i32) -> io::Result<()> {
        let dscp = priority.clamp(0, 63);
        self.socket
            .set_tos_v4(u32::try_from(dscp << 2).unwrap_or(0))?;
        // Values above 6 need a right; a host that does not grant it still marks the packet.
        let class: libc::c_int = dscp >> 3;
        let _ = option::set(&self.socket, libc::SOL_SOCKET, libc::SO_PRIORITY, &class);
        self.priority.set(priority);
        Ok(())
    }

    /// Returns the octets of the next datagram; `None` if there is none now.
    pub(super) fn receive(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        let received = rustix::net::recv(&self.socket, buffer, RecvFlags::empty());
        ready(received.map(|(len, _)| len).map_err(Into::into))
    }
}

/// Returns a socket with large buffers that never waits.
fn datagrams() -> io::Result<Socket> {
    let socket = Socket::new(Family::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
    socket.set_nonblocking(true)?;
    // More than the system's limit needs a right; without it there is less room.
    for (forced, usual) in [
        (libc::SO_RCVBUFFORCE, libc::SO_RCVBUF),
        (libc::SO_SNDBUFFORCE, libc::SO_SNDBUF),
    ] {
        if option::set(&socket, libc::SOL_SOCKET, forced, &BUFFER).is_err() {
            option::set(&socket, libc::SOL_SOCKET, usual, &BUFFER)?;
        }
    }
    Ok(socket)
}

/// Opens the socket of the first participant number that is free on this host.
pub(super) fn open_unicast(
    own: Ipv4Addr,
    ports: Ports,
    domain: u16,
) -> Result<(Port, u16), DomainError> {
    for number in 0..Ports::PARTICIPANTS_MAX {
        let Some(port) = ports.discovery_unicast(number) else {
            break;
        };
        let opening = || -> io::Result<Socket> {
            let socket = datagrams()?;
            socket.bind(&SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)).into())?;
            socket.set_multicast_if_v4(&own)?;
            socket.set_multicast_loop_v4(true)?;
            socket.set_multicast_ttl_v4(1)?;
            Ok(socket)
        };
        match opening() {
            Ok(socket) => {
                let priority = Cell::new(0);
                return Ok((Port { socket, priority }, number));
            }
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
            Err(error) => return Err(failed("opening the socket of the participant")(error)),
        }
    }
    Err(DomainError::Ports { domain })
}

/// Opens a socket that listens to the group of discovery.
pub(super) fn open_group(own: Ipv4Addr, port: u16) -> io::Result<Port> {
    let socket = datagrams()?;
    // All participants of a host listen to it, those of others included.
    socket.set_reuse_address(true)?;
    socket.bind(&SocketAddr::from((DISCOVERY_GROUP, port)).into())?;
    socket.join_multicast_v4(&DISCOVERY_GROUP, &own)?;
    Ok(Port {
        socket,
        priority: Cell::new(0),
    })
}
