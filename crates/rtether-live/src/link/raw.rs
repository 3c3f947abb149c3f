//! Raw Ethernet through a packet socket.
//!
//! A frame has at least 46 octets of payload, so shorter payloads are padded; the meter's message
//! states its own length.

use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration as Span;

use rustix::net::RecvFlags;
use socket2::{Domain, Protocol, SockAddr, SockAddrStorage, Socket, Type};

use rtether_model::mac::MacAddress;

use super::device::{Device, DeviceError};
use super::frame::{self, ETHERTYPE, RawOptions};
use super::{AT_ONCE, Link, PATIENTLY, Service, Stamped, ready, receive, send, set_patience};
use crate::timestamping::{self, RealNs, Sent};

/// A packet socket on one device, for one `EtherType`.
#[derive(Debug)]
pub struct Raw {
    socket: Socket,
    own: MacAddress,
    /// Frames from other stations are ignored.
    peer: Option<MacAddress>,
    options: RawOptions,
    mtu: usize,
    frame: Vec<u8>,
    is_stamped: bool,
    received_at: Option<RealNs>,
}

impl Raw {
    /// Returns a socket that communicates with one station.
    pub fn connect(name: &str, peer: MacAddress, options: RawOptions) -> Result<Self, DeviceError> {
        let mut this = Self::bind(name, options)?;
        this.peer = Some(peer);
        Ok(this)
    }

    /// Returns a socket that receives frames from any station.
    pub fn bind(name: &str, options: RawOptions) -> Result<Self, DeviceError> {
        let device = Device::named(name)?;
        let failed = |source| DeviceError::Socket { name: name.to_owned(), source };
        let protocol = Protocol::from(i32::from(ETHERTYPE.to_be()));
        let socket = Socket::new(Domain::PACKET, Type::RAW, Some(protocol)).map_err(failed)?;
        socket.set_nonblocking(true).map_err(failed)?;
        socket.bind(&link_address(device.index(), ETHERTYPE)).map_err(failed)?;
        Ok(Self {
            socket,
            own: device.address,
            peer: None,
            options,
            mtu: device.mtu(),
            frame: Vec::with_capacity(1_600),
            is_stamped: false,
            received_at: None,
        })
    }

    /// Returns the address of the device.
    pub fn address(&self) -> MacAddress {
        self.own
    }

    /// Returns the largest payload, in octets.
    pub fn payload_max(&self) -> usize {
        self.mtu
    }

    /// Stamps of what was sent wake a thread that polls, but none that receives.
    fn wait_for(&self, patience: Span) -> io::Result<bool> {
        if !self.is_stamped {
            set_patience(&self.socket, patience)?;
        }
        Ok(!self.is_stamped)
    }

    fn send_to(&mut self, payload: &[u8], to: MacAddress) -> io::Result<()> {
        frame::write(&mut self.frame, to, self.own, self.options, payload);
        send(&self.socket, &self.frame)
    }

    /// Returns the payload of the next frame for us, and its sender. Frames for others do not make
    /// it wait again.
    fn next(
        &mut self,
        buffer: &mut [u8],
        mut flags: RecvFlags,
    ) -> io::Result<Option<(Range<usize>, MacAddress)>> {
        loop {
            let len = if self.is_stamped {
                let received = timestamping::receive(self.socket.as_fd(), buffer);
                ready(received)?.map(|(len, stamp, ..)| {
                    self.received_at = stamp;
                    len
                })
            } else {
                receive(&self.socket, buffer, flags)?
            };
            flags = AT_ONCE;
            let Some(len) = len else {
                return Ok(None);
            };
            // Not for us.
            let Some((payload, from)) = frame::read(&buffer[..len], self.own) else {
                continue;
            };
            if self.peer.is_none_or(|peer| peer == from) {
                return Ok(Some((payload, from)));
            }
        }
    }
}

/// Returns the address of a device, by its index, for a packet socket that receives frames of one
/// type. Device 0 means all devices, type 0 no frames.
pub(crate) fn link_address(device: i32, ethertype: u16) -> SockAddr {
    let address = libc::sockaddr_ll {
        sll_family: libc::sa_family_t::try_from(libc::AF_PACKET).unwrap_or_default(),
        sll_protocol: ethertype.to_be(),
        sll_ifindex: device,
        sll_hatype: 0,
        sll_pkttype: 0,
        sll_halen: 0,
        sll_addr: [0; 8],
    };
    let mut storage = SockAddrStorage::zeroed();
    let len = libc::socklen_t::try_from(size_of_val(&address)).unwrap_or(20);
    // SAFETY: the storage is as large as any address and aligned for all of them, so a
    // `sockaddr_ll` may be written to its start.
    unsafe {
        *storage.view_as::<libc::sockaddr_ll>() = address;
        SockAddr::new(storage, len)
    }
}

impl AsFd for Raw {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Stamped for Raw {
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

impl Link for Raw {
    fn send(&mut self, payload: &[u8]) -> io::Result<()> {
        let peer = self.peer.unwrap_or(MacAddress([0xFF; 6]));
        self.send_to(payload, peer)
    }

    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<Range<usize>>> {
        let found = self.next(buffer, AT_ONCE)?;
        Ok(found.map(|(payload, _)| payload))
    }

    fn set_patience(&mut self, patience: Span) -> io::Result<bool> {
        self.wait_for(patience)
    }

    fn receive_or_wait(&mut self, buffer: &mut [u8]) -> io::Result<Option<Range<usize>>> {
        let found = self.next(buffer, PATIENTLY)?;
        Ok(found.map(|(payload, _)| payload))
    }
}

impl Service for Raw {
    type Peer = MacAddress;

    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<(Range<usize>, MacAddress)>> {
        self.next(buffer, AT_ONCE)
    }

    fn set_patience(&mut self, patience: Span) -> io::Result<bool> {
        self.wait_for(patience)
    }

    fn receive_or_wait(
        &mut self,
        buffer: &mut [u8],
    ) -> io::Result<Option<(Range<usize>, MacAddress)>> {
        self.next(buffer, PATIENTLY)
    }

    fn answer(
        &mut self,
        buffer: &mut [u8],
        payload: Range<usize>,
        to: MacAddress,
    ) -> io::Result<()> {
        self.send_to(&buffer[payload], to)
    }
}
