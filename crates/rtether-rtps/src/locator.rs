//! Addresses of endpoints (9.3.2; for Ethernet frames DDS-TSN 1.0, annex A), and the ports of a
//! domain (9.6.2).

use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Destination or source of datagrams.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Locator {
    /// UDP over IP.
    Udp(SocketAddr),
    /// RTPS directly in Ethernet frames: station address and a logical port.
    Ethernet {
        /// Address of a station or a group.
        address: [u8; 6],
        /// VLAN of the station; 0 for none.
        vid: u16,
        /// Logical port, numbered as UDP ports are.
        port: u16,
    },
}

/// Address that a datagram came from, without the port: peers may send from any of their ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Origin {
    /// IP address.
    Ip(IpAddr),
    /// A station on the link.
    Station([u8; 6]),
    /// This host, over a path without addresses.
    Host,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ip(address) => fmt::Display::fmt(address, f),
            Self::Station(address) => fmt_station(*address, f),
            Self::Host => f.write_str("this host"),
        }
    }
}

fn fmt_station(address: [u8; 6], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (index, octet) in address.iter().enumerate() {
        write!(f, "{}{octet:02x}", if index > 0 { ":" } else { "" })?;
    }
    Ok(())
}

/// Multicast group of participant announcements.
pub const DISCOVERY_GROUP: Ipv4Addr = Ipv4Addr::new(239, 255, 0, 1);
/// The same for Ethernet frames. DDS-TSN 1.0, A.6.1.4.1 prints `01:00:5E::EF:FF:00:01`, which is
/// not a valid address: read as [`DISCOVERY_GROUP`] mapped by RFC 1112.
pub const ETHERNET_GROUP: [u8; 6] = [0x01, 0x00, 0x5E, 0x7F, 0x00, 0x01];

impl Locator {
    /// Returns a locator of UDP over IPv4.
    pub const fn udp(address: Ipv4Addr, port: u16) -> Self {
        Self::Udp(SocketAddr::new(IpAddr::V4(address), port))
    }

    /// Returns the address without the port.
    pub const fn origin(&self) -> Origin {
        match self {
            Self::Udp(address) => Origin::Ip(address.ip()),
            Self::Ethernet { address, .. } => Origin::Station(*address),
        }
    }

    /// Returns whether it is a group address.
    pub fn is_multicast(&self) -> bool {
        match self {
            Self::Udp(address) => address.ip().is_multicast(),
            Self::Ethernet { address, .. } => address[0] & 1 == 1,
        }
    }
}

/// A destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Recipient {
    pub(crate) to: Locator,
    /// Whether one who wants the datagram has proved to receive there.
    pub(crate) is_proved: bool,
}

const KIND_UDP_V4: i32 = 1;
const KIND_UDP_V6: i32 = 2;
/// Locator kind of DDS-TSN 1.0, A.3.
const KIND_ETHERNET: i32 = 0x0200_0000;
/// First reserved VLAN identifier (IEEE 802.1Q-2018, table 9-2).
const VID_RESERVED: u16 = 0xFFF;

/// Wire format of a locator: kind, port, and sixteen octets of address.
pub type WireLocator = (i32, u32, [u8; 16]);

impl Locator {
    /// Reads the wire format; `None` for unsupported kinds, and for ports to which no datagram can
    /// be sent.
    ///
    /// For frames, the port field is VLAN identifier (12 bits), PCP (4) and port (16) (DDS-TSN 1.0,
    /// table A.1). The PCP is ignored: the sender of a frame decides its priority.
    pub fn from_wire((kind, number, address): WireLocator) -> Option<Self> {
        let [upper @ .., c, d] = number.to_be_bytes();
        let (vid, port) = if kind == KIND_ETHERNET {
            (u16::from_be_bytes(upper) >> 4, u16::from_be_bytes([c, d]))
        } else {
            (0, u16::try_from(number).ok()?)
        };
        if port == 0 || vid == VID_RESERVED {
            return None;
        }
        let ([_, _, _, _, _, _, _, _, _, _, station @ ..], [.., a, b, c, d]) = (address, address);
        match kind {
            KIND_UDP_V4 => Some(Self::udp(Ipv4Addr::new(a, b, c, d), port)),
            KIND_UDP_V6 => {
                let address = IpAddr::V6(Ipv6Addr::from(address));
                Some(Self::Udp(SocketAddr::new(address, port)))
            }
            KIND_ETHERNET => {
                let address = station;
                Some(Self::Ethernet { address, vid, port })
            }
            _ => None,
        }
    }

    /// Returns the wire format.
    pub fn to_wire(self) -> WireLocator {
        let mut octets = [0; 16];
        match self {
            Self::Udp(address) => match address.ip() {
                IpAddr::V4(ip) => {
                    octets[12..].copy_from_slice(&ip.octets());
                    (KIND_UDP_V4, u32::from(address.port()), octets)
                }
                IpAddr::V6(ip) => (KIND_UDP_V6, u32::from(address.port()), ip.octets()),
            },
            Self::Ethernet { address, vid, port } => {
                octets[10..].copy_from_slice(&address);
                let number = u32::from(vid & VID_RESERVED) << 20 | u32::from(port);
                (KIND_ETHERNET, number, octets)
            }
        }
    }
}

impl fmt::Display for Locator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Udp(address) => write!(f, "udp {address}"),
            Self::Ethernet { address, vid, port } => {
                fmt_station(*address, f)?;
                if *vid > 0 {
                    write!(f, " vlan {vid}")?;
                }
                write!(f, " port {port}")
            }
        }
    }
}

impl fmt::Debug for Locator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Ports of a domain, with the default parameters of the standard (9.6.2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ports {
    domain: u16,
}

impl Ports {
    /// Highest domain in which at least the first participant has ports.
    pub const DOMAIN_MAX: u16 = 232;
    /// Participants per host in one domain; the next one would get ports of the next domain.
    pub const PARTICIPANTS_MAX: u16 = 120;

    /// Returns the ports of a domain; `None` above [`Self::DOMAIN_MAX`].
    pub const fn new(domain: u16) -> Option<Self> {
        if domain <= Self::DOMAIN_MAX { Some(Self { domain }) } else { None }
    }

    const fn base(self) -> u16 {
        7_400 + 250 * self.domain
    }

    /// Multicast port of discovery.
    pub const fn discovery_multicast(self) -> u16 {
        self.base()
    }

    /// Multicast port of user data.
    pub const fn user_multicast(self) -> u16 {
        self.base() + 1
    }

    /// Unicast port of discovery for the participant with this number on its host; `None` if there
    /// is no such port.
    pub fn discovery_unicast(self, participant: u16) -> Option<u16> {
        self.unicast(10, participant)
    }

    /// Unicast port of user data for the participant with this number on its host; `None` if there
    /// is no such port.
    pub fn user_unicast(self, participant: u16) -> Option<u16> {
        self.unicast(11, participant)
    }

    fn unicast(self, offset: u16, participant: u16) -> Option<u16> {
        if participant >= Self::PARTICIPANTS_MAX {
            return None;
        }
        self.base().checked_add(offset + 2 * participant)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_by_hand() {
        // Oracle: 9.6.2.3 with its default parameters.
        let ports = Ports::new(1).unwrap();
        assert_eq!(ports.discovery_multicast(), 7_650);
        assert_eq!(ports.user_multicast(), 7_651);
        assert_eq!(ports.discovery_unicast(0), Some(7_660));
        assert_eq!(ports.user_unicast(3), Some(7_667));
        assert_eq!(Ports::new(233), None);
        assert_eq!(Ports::new(232).unwrap().user_unicast(119), None);
        assert_eq!(ports.user_unicast(120), None);
    }

    #[test]
    fn locators_come_back() {
        for locator in [
            Locator::udp(Ipv4Addr::new(10, 1, 2, 3), 7_410),
            Locator::Udp("[fe80::1]:7411".parse().unwrap()),
            Locator::Ethernet { address: [2, 3, 4, 5, 6, 7], vid: 0xFFE, port: 9 },
        ] {
            assert_eq!(Locator::from_wire(locator.to_wire()), Some(locator));
        }
        assert_eq!(Locator::from_wire((1, 0, [0; 16])), None);
        assert_eq!(Locator::from_wire((1, 70_000, [0; 16])), None);
        assert_eq!(Locator::from_wire((-1, 0, [0; 16])), None);
        assert_eq!(Locator::from_wire((16, 7_400, [0; 16])), None);
    }

    #[test]
    fn a_place_in_frames_by_hand() {
        // Oracle: DDS-TSN 1.0, A.3 and table A.1: VLAN 100, PCP 3, port 7410 of station 01:23:45:67:89:ab.
        let mut address = [0; 16];
        address[10..].copy_from_slice(&[0x01, 0x23, 0x45, 0x67, 0x89, 0xAB]);
        let number = (100 << 20) + (3 << 16) + 7_410;
        let read = Locator::from_wire((0x0200_0000, number, address)).unwrap();
        let station = Locator::Ethernet {
            address: [0x01, 0x23, 0x45, 0x67, 0x89, 0xAB],
            vid: 100,
            port: 7_410,
        };
        assert_eq!(read, station);
        assert!(read.is_multicast());
        let written = (0x0200_0000, (100 << 20) + 7_410, address);
        assert_eq!(read.to_wire(), written);
        for number in [100 << 20, (0xFFF << 20) + 7_410] {
            let read = Locator::from_wire((0x0200_0000, number, address));
            assert_eq!(read, None, "{number:x}");
        }
    }

    #[test]
    fn the_group_by_hand() {
        // Oracle: RFC 1112, 6.4: the lower 23 bits of the address behind 01:00:5e.
        let [_, b, c, d] = DISCOVERY_GROUP.octets();
        assert_eq!(ETHERNET_GROUP, [0x01, 0x00, 0x5E, b & 0x7F, c, d]);
    }
}
