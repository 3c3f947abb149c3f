//! Addresses of endpoints (9.3.2), and the ports of a domain (9.6.2).

use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Where datagrams are sent to or come from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Locator {
    /// UDP over IP.
    Udp(SocketAddr),
    /// RTPS in Ethernet frames: the address of the station, and a number that plays the part of a port.
    Ethernet {
        /// Address of a station or a group.
        address: [u8; 6],
        /// Number of the service at the station.
        port: u16,
    },
}

/// The group to which participants announce themselves.
pub const DISCOVERY_GROUP: Ipv4Addr = Ipv4Addr::new(239, 255, 0, 1);

impl Locator {
    /// UDP over IPv4.
    pub const fn udp(address: Ipv4Addr, port: u16) -> Self {
        Self::Udp(SocketAddr::new(IpAddr::V4(address), port))
    }

    /// Returns whether it names a group.
    pub fn is_multicast(&self) -> bool {
        match self {
            Self::Udp(address) => address.ip().is_multicast(),
            Self::Ethernet { address, .. } => address[0] & 1 == 1,
        }
    }
}

const KIND_UDP_V4: i32 = 1;
const KIND_UDP_V6: i32 = 2;
/// In the range left to vendors.
const KIND_ETHERNET: i32 = 0x0100_0E88;

/// What the wire has for a locator: kind, port, and sixteen octets of address.
pub type WireLocator = (i32, u32, [u8; 16]);

impl Locator {
    /// Reads what the wire says; `None` for kinds that are not spoken here, and for ports that no
    /// datagram can be sent to.
    pub fn from_wire((kind, port, address): WireLocator) -> Option<Self> {
        let port = u16::try_from(port).ok().filter(|port| *port > 0)?;
        let ([_, _, _, _, _, _, _, _, _, _, station @ ..], [.., a, b, c, d]) = (address, address);
        match kind {
            KIND_UDP_V4 => Some(Self::udp(Ipv4Addr::new(a, b, c, d), port)),
            KIND_UDP_V6 => {
                let address = IpAddr::V6(Ipv6Addr::from(address));
                Some(Self::Udp(SocketAddr::new(address, port)))
            }
            KIND_ETHERNET => {
                let address = station;
                Some(Self::Ethernet { address, port })
            }
            _ => None,
        }
    }

    /// Returns what the wire says.
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
            Self::Ethernet { address, port } => {
                octets[10..].copy_from_slice(&address);
                (KIND_ETHERNET, u32::from(port), octets)
            }
        }
    }
}

impl fmt::Display for Locator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Udp(address) => write!(f, "udp {address}"),
            Self::Ethernet { address, port } => {
                for (index, octet) in address.iter().enumerate() {
                    write!(f, "{}{octet:02x}", if index > 0 { ":" } else { "" })?;
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

/// The ports of a domain, with the standard's numbers (9.6.2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ports {
    domain: u16,
}

impl Ports {
    /// The highest domain of which at least the first participant has a port.
    pub const DOMAIN_MAX: u16 = 232;
    /// Participants of one host in one domain; the next would have ports of the next domain.
    pub const PARTICIPANTS_MAX: u16 = 120;

    /// Returns the ports of a domain; `None` above [`Self::DOMAIN_MAX`].
    pub const fn new(domain: u16) -> Option<Self> {
        if domain <= Self::DOMAIN_MAX {
            Some(Self { domain })
        } else {
            None
        }
    }

    const fn base(self) -> u16 {
        7_400 + 250 * self.domain
    }

    /// Discovery, to the group.
    pub const fn discovery_multicast(self) -> u16 {
        self.base()
    }

    /// Data, to the group.
    pub const fn user_multicast(self) -> u16 {
        self.base() + 1
    }

    /// Discovery, to the participant with this number on its host; `None` if there is no such port.
    pub fn discovery_unicast(self, participant: u16) -> Option<u16> {
        self.unicast(10, participant)
    }

    /// Data, to the participant with this number on its host; `None` if there is no such port.
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
            Locator::Ethernet {
                address: [2, 3, 4, 5, 6, 7],
                port: 9,
            },
        ] {
            assert_eq!(Locator::from_wire(locator.to_wire()), Some(locator));
        }
        assert_eq!(Locator::from_wire((1, 0, [0; 16])), None);
        assert_eq!(Locator::from_wire((1, 70_000, [0; 16])), None);
        assert_eq!(Locator::from_wire((-1, 0, [0; 16])), None);
        assert_eq!(Locator::from_wire((16, 7_400, [0; 16])), None);
    }
}
