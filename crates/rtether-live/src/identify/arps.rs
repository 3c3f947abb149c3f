//! Requests of ARP, in frames of their own.

use std::io;
use std::net::{IpAddr, Ipv4Addr, UdpSocket};
use std::os::fd::AsFd;

use rtether_model::mac::MacAddress;
use rtether_model::quantity::Duration;
use rtether_proto::mechanism::arp::{Address, Message, Operation};
use rustix::net::RecvFlags;
use socket2::{Domain, Protocol, Socket, Type};

use super::{Line, MESSAGE_MAX, Received};
use crate::host::address::interfaces;
use crate::link::{Device, link_address, ready};
use crate::wait::sleep_until_readable;

const ETHERTYPE: u16 = 0x0806;
const BROADCAST: MacAddress = MacAddress([0xFF; 6]);
/// Addresses and type, and the smallest frame without check sequence.
const HEADER: usize = 14;
const SMALLEST: usize = 60;

/// Requests for the address of a device on a network of this host; needs `CAP_NET_RAW`. The first one
/// is a broadcast, as any host sends it; the others go to the address that was answered.
#[derive(Debug)]
pub struct Arps {
    socket: Socket,
    own: Address,
    device: Ipv4Addr,
    /// The device's address, when it has answered.
    peer: Option<MacAddress>,
    buffer: Vec<u8>,
}

impl Arps {
    /// Opens a socket for a device.
    ///
    /// # Errors
    /// Those of the system; `Unsupported` if the device is this host.
    pub fn open(device: Ipv4Addr) -> io::Result<Self> {
        let protocol = own_address(device)?;
        if device.is_loopback() || protocol == device {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let mut all = interfaces()?.into_iter();
        let name = all.find(|own| own.addresses.contains(&protocol)).map(|own| own.name);
        let name = name.ok_or(io::ErrorKind::HostUnreachable)?;
        let link = Device::named(&name).map_err(io::Error::other)?;
        let kind = Protocol::from(i32::from(ETHERTYPE.to_be()));
        let socket = Socket::new(Domain::PACKET, Type::RAW, Some(kind))?;
        socket.set_nonblocking(true)?;
        socket.bind(&link_address(link.index(), ETHERTYPE))?;
        let own = Address { hardware: link.address(), protocol };
        Ok(Self { socket, own, device, peer: None, buffer: vec![0; MESSAGE_MAX] })
    }

    /// Returns the addresses of this host there.
    pub const fn own(&self) -> Address {
        self.own
    }
}

/// Returns the address by which this host reaches another one.
fn own_address(of: Ipv4Addr) -> io::Result<Ipv4Addr> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    // Sends nothing.
    socket.connect((of, 9))?;
    match socket.local_addr()?.ip() {
        IpAddr::V4(own) => Ok(own),
        IpAddr::V6(_) => Err(io::ErrorKind::HostUnreachable.into()),
    }
}

impl Line for Arps {
    fn send(&mut self, _: u32, message: &[u8]) -> io::Result<()> {
        let mut frame = Vec::with_capacity(SMALLEST);
        frame.extend(self.peer.unwrap_or(BROADCAST).0);
        frame.extend(self.own.hardware.0);
        frame.extend(ETHERTYPE.to_be_bytes());
        frame.extend(message);
        frame.resize(frame.len().max(SMALLEST), 0);
        self.socket.send(&frame).map(|_| ())
    }

    fn receive(&mut self) -> io::Result<Received<'_>> {
        let got = rustix::net::recv(&self.socket, &mut self.buffer[..], RecvFlags::DONTWAIT);
        let Some((octets, _)) = ready(got.map_err(Into::into))? else {
            return Ok(Received::Nothing);
        };
        let frame = &self.buffer[..octets.min(MESSAGE_MAX)];
        let Some((head, message)) = frame.split_at_checked(HEADER) else {
            return Ok(Received::Foreign(&[]));
        };
        let from = head.get(6..).and_then(|own| own.first_chunk()).map(|own| MacAddress(*own));
        let is_answer = Message::parse(message).is_some_and(|own| {
            own.operation == Operation::Reply && own.sender.protocol == self.device
        });
        if self.peer.is_none() && is_answer {
            self.peer = from;
        }
        let is_from_peer = self.peer.is_none() || self.peer == from;
        Ok(if is_from_peer { Received::Message(message) } else { Received::Foreign(message) })
    }

    fn wait(&mut self, left: Duration) -> io::Result<()> {
        sleep_until_readable(self.socket.as_fd(), Some(left))
    }
}
