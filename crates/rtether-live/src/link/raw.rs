//! Raw Ethernet: `EtherType` 0x88B5, kept free for experiments (IEEE 802-2014, 9.2.4).
//!
//! A frame has at least 46 octets of payload, so shorter payloads are padded; the meter's message
//! says itself what belongs to it.

use std::fmt;
use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::str::FromStr;

use rtether_model::network::{Pcp, Vid};
use socket2::{Domain, Protocol, SockAddr, SockAddrStorage, Socket, Type};

use super::{Link, Service, ready};

/// The `EtherType` of the meter.
pub(super) const ETHERTYPE: u16 = 0x88B5;
const ETHERTYPE_TAG: u16 = 0x8100;
const HEADER: usize = 14;
/// Addresses, type and the smallest payload.
const FRAME_MIN: usize = 60;

/// An Ethernet address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MacAddress(pub [u8; 6]);

impl fmt::Display for MacAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, octet) in self.0.iter().enumerate() {
            let colon = if index > 0 { ":" } else { "" };
            write!(f, "{colon}{octet:02x}")?;
        }
        Ok(())
    }
}

/// A text that is no Ethernet address.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("an Ethernet address has six octets, such as 02:00:00:00:00:01")]
pub struct ParseMacError;

impl FromStr for MacAddress {
    type Err = ParseMacError;

    fn from_str(text: &str) -> Result<Self, ParseMacError> {
        let mut octets = [0; 6];
        let mut parts = text.split([':', '-']);
        for octet in &mut octets {
            let part = parts.next().filter(|part| part.len() == 2);
            let value = part.and_then(|part| u8::from_str_radix(part, 16).ok());
            *octet = value.ok_or(ParseMacError)?;
        }
        if parts.next().is_some() {
            return Err(ParseMacError);
        }
        Ok(Self(octets))
    }
}

/// A network device of this host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    index: i32,
    address: MacAddress,
}

/// Why a device cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    /// There is none of this name.
    #[error("no network device `{name}`; `ip -br link` lists those there are")]
    Unknown {
        /// The name.
        name: String,
    },
    /// It has no Ethernet address.
    #[error("`{name}` is no Ethernet device")]
    NoEthernet {
        /// The name.
        name: String,
    },
    /// No right to raw frames.
    #[error(
        "raw frames on `{name}`: {source}; run as root, or `sudo setcap cap_net_raw+ep` on the \
         program"
    )]
    Socket {
        /// The device.
        name: String,
        /// What the system says.
        source: io::Error,
    },
}

impl Device {
    /// Finds a device of the calling thread's network namespace.
    pub fn named(name: &str) -> Result<Self, DeviceError> {
        let unknown = || DeviceError::Unknown {
            name: name.to_owned(),
        };
        let socket = Socket::new(Domain::UNIX, Type::DGRAM, None).map_err(|_| unknown())?;
        let index = rustix::net::netdevice::name_to_index(&socket, name).map_err(|_| unknown())?;
        let index = i32::try_from(index).map_err(|_| unknown())?;
        // `/sys` shows the namespace it was mounted in, so the kernel is asked by a socket.
        let address = hardware_address(&socket, name).ok_or_else(|| DeviceError::NoEthernet {
            name: name.to_owned(),
        })?;
        Ok(Self { index, address })
    }

    /// Returns its Ethernet address.
    pub fn address(&self) -> MacAddress {
        self.address
    }

    /// Returns its number in its namespace.
    pub(crate) fn index(&self) -> i32 {
        self.index
    }
}

fn hardware_address(socket: &Socket, name: &str) -> Option<MacAddress> {
    if name.len() >= libc::IFNAMSIZ {
        return None;
    }
    // SAFETY: all zeros are a valid `ifreq`.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = libc::c_char::from_ne_bytes([from]);
    }
    // SAFETY: the descriptor is open, and the pointer is to a live `ifreq` with a name that ends.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFHWADDR, &raw mut request) };
    if result != 0 {
        return None;
    }
    // SAFETY: the call has filled in this member of the union.
    let address = unsafe { request.ifr_ifru.ifru_hwaddr };
    if address.sa_family != libc::ARPHRD_ETHER {
        return None;
    }
    let mut octets = [0; 6];
    for (to, from) in octets.iter_mut().zip(address.sa_data) {
        [*to] = from.to_ne_bytes();
    }
    Some(MacAddress(octets))
}

/// How frames are marked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RawOptions {
    /// Priority and VLAN of a tag; none if not given.
    pub tag: Option<(Pcp, Vid)>,
}

/// A packet socket on one device, for one `EtherType`.
#[derive(Debug)]
pub struct Raw {
    socket: Socket,
    own: MacAddress,
    /// Frames of others are overlooked.
    peer: Option<MacAddress>,
    options: RawOptions,
    frame: Vec<u8>,
}

impl Raw {
    /// Returns a socket that talks to one station.
    pub fn connect(name: &str, peer: MacAddress, options: RawOptions) -> Result<Self, DeviceError> {
        let mut this = Self::bind(name, options)?;
        this.peer = Some(peer);
        Ok(this)
    }

    /// Returns a socket that takes frames from anybody.
    pub fn bind(name: &str, options: RawOptions) -> Result<Self, DeviceError> {
        let device = Device::named(name)?;
        let failed = |source| DeviceError::Socket {
            name: name.to_owned(),
            source,
        };
        let protocol = Protocol::from(i32::from(ETHERTYPE.to_be()));
        let socket = Socket::new(Domain::PACKET, Type::RAW, Some(protocol)).map_err(failed)?;
        socket.set_nonblocking(true).map_err(failed)?;
        let address = link_address(&device, ETHERTYPE);
        socket.bind(&address).map_err(failed)?;
        Ok(Self {
            socket,
            own: device.address,
            peer: None,
            options,
            frame: Vec::with_capacity(1_600),
        })
    }

    /// Returns the address of the device.
    pub fn address(&self) -> MacAddress {
        self.own
    }

    fn send_to(&mut self, payload: &[u8], to: MacAddress) -> io::Result<()> {
        let frame = &mut self.frame;
        frame.clear();
        write_header(frame, to, self.own, self.options.tag, ETHERTYPE);
        let shortest = frame.len() - HEADER + FRAME_MIN;
        frame.extend(payload);
        if frame.len() < shortest {
            frame.resize(shortest, 0);
        }
        self.socket.send(frame).map(|_| ())
    }

    /// Returns the payload of the next frame for us, and who has sent it.
    fn next(&mut self, buffer: &mut [u8]) -> io::Result<Option<(Range<usize>, MacAddress)>> {
        use std::io::Read;
        loop {
            let Some(len) = ready((&self.socket).read(buffer))? else {
                return Ok(None);
            };
            // The kernel takes tags off. Shorter frames and those of others are no business of ours.
            let Some(&[to, from]) = buffer[..len].as_chunks::<6>().0.first_chunk::<2>() else {
                continue;
            };
            let is_from_peer = self.peer.is_none_or(|peer| peer.0 == from);
            if len >= HEADER && to == self.own.0 && is_from_peer {
                return Ok(Some((HEADER..len, MacAddress(from))));
            }
        }
    }
}

/// Returns the address of a device for a packet socket that takes in frames of one type; 0 for none.
pub(crate) fn link_address(device: &Device, ethertype: u16) -> SockAddr {
    let address = libc::sockaddr_ll {
        sll_family: libc::sa_family_t::try_from(libc::AF_PACKET).unwrap_or_default(),
        sll_protocol: ethertype.to_be(),
        sll_ifindex: device.index,
        sll_hatype: 0,
        sll_pkttype: 0,
        sll_halen: 0,
        sll_addr: [0; 8],
    };
    let mut storage = SockAddrStorage::zeroed();
    let len = libc::socklen_t::try_from(size_of_val(&address)).unwrap_or(20);
    // SAFETY: the storage is as large as any address and aligned for all of them, so that a
    // `sockaddr_ll` may be written over its beginning.
    unsafe {
        *storage.view_as::<libc::sockaddr_ll>() = address;
        SockAddr::new(storage, len)
    }
}

/// Appends addresses, tag and type.
pub(crate) fn write_header(
    frame: &mut Vec<u8>,
    to: MacAddress,
    from: MacAddress,
    tag: Option<(Pcp, Vid)>,
    ethertype: u16,
) {
    frame.extend(to.0);
    frame.extend(from.0);
    if let Some((pcp, vid)) = tag {
        frame.extend(ETHERTYPE_TAG.to_be_bytes());
        let control = u16::from(pcp.get()) << 13 | vid.get();
        frame.extend(control.to_be_bytes());
    }
    frame.extend(ethertype.to_be_bytes());
}

impl AsFd for Raw {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Link for Raw {
    fn send(&mut self, payload: &[u8]) -> io::Result<()> {
        let peer = self.peer.unwrap_or(MacAddress([0xFF; 6]));
        self.send_to(payload, peer)
    }

    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<Range<usize>>> {
        Ok(self.next(buffer)?.map(|(payload, _)| payload))
    }
}

impl Service for Raw {
    type Peer = MacAddress;

    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<(Range<usize>, MacAddress)>> {
        self.next(buffer)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_written() {
        let text = "02:0a:ff:00:10:01";
        let address: MacAddress = text.parse().unwrap();
        assert_eq!(address.0, [2, 10, 255, 0, 16, 1]);
        assert_eq!(address.to_string(), text);
        for wrong in [
            "",
            "02:0a:ff:00:10",
            "02:0a:ff:00:10:01:02",
            "2:0a:ff:00:10:01",
            "plc",
        ] {
            assert_eq!(wrong.parse::<MacAddress>(), Err(ParseMacError), "{wrong}");
        }
    }

    #[test]
    fn a_device_that_is_not_there_is_named() {
        let message = Device::named("nosuch0").expect_err("none").to_string();
        assert!(
            message.contains("nosuch0") && message.contains("ip -br link"),
            "{message}"
        );
    }
}
