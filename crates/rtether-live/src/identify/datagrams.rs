//! Messages over UDP.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket};
use std::os::fd::AsFd;

use rtether_model::quantity::Duration;

use super::{Line, MESSAGE_MAX, Received};
use crate::link::ready;
use crate::wait::sleep_until_readable;

/// A socket that is not connected, so that messages from other addresses are seen and counted.
#[derive(Debug)]
pub struct Datagrams {
    socket: UdpSocket,
    peer: SocketAddrV4,
    buffer: Vec<u8>,
}

impl Datagrams {
    /// Opens a socket for a device.
    ///
    /// # Errors
    /// Those of the system.
    pub fn open(peer: SocketAddrV4) -> io::Result<Self> {
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
        socket.set_nonblocking(true)?;
        Ok(Self { socket, peer, buffer: vec![0; MESSAGE_MAX + 1] })
    }
}

impl Line for Datagrams {
    fn send(&mut self, _: u32, message: &[u8]) -> io::Result<()> {
        self.socket.send_to(message, self.peer).map(|_| ())
    }

    fn receive(&mut self) -> io::Result<Received<'_>> {
        let Some((octets, from)) = ready(self.socket.recv_from(&mut self.buffer))? else {
            return Ok(Received::Nothing);
        };
        let message = &self.buffer[..octets];
        if octets > MESSAGE_MAX {
            return Ok(Received::TooLong);
        }
        let is_from_peer = from == SocketAddr::V4(self.peer);
        Ok(if is_from_peer { Received::Message(message) } else { Received::Foreign(message) })
    }

    fn wait(&mut self, left: Duration) -> io::Result<()> {
        sleep_until_readable(self.socket.as_fd(), Some(left))
    }
}
