//! Packets without a header of Ethernet: what is in them of IP, as frames.
//!
//! The header of such a packet names no two stations, so that hosts are told apart by their
//! addresses over IP, which give them one of Ethernet here.
//!
//! Sources: the registry of link types of tcpdump.org (`LINKTYPE_NULL`, `LOOP`, `RAW`, `IPV4`,
//! `IPV6`, `LINUX_SLL`, `LINUX_SLL2`).

use std::hash::{DefaultHasher, Hasher};

use super::frame::Mac;

/// What is before the packets of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Link {
    Ethernet,
    /// Nothing: the version is the first half octet.
    Ip,
    /// A family of addresses, four octets in either order.
    Loopback,
    /// Linux' own, of either version: octets before the packet, and where the type is.
    Cooked {
        skip: usize,
        at: usize,
    },
    Other,
}

impl Link {
    /// Returns the kind of a link type.
    pub(super) const fn of(link_type: u16) -> Self {
        match link_type {
            1 => Self::Ethernet,
            0 | 108 => Self::Loopback,
            12 | 14 | 101 | 228 | 229 => Self::Ip,
            113 => Self::Cooked { skip: 16, at: 14 },
            276 => Self::Cooked { skip: 20, at: 0 },
            _ => Self::Other,
        }
    }

    /// Returns the frame of a packet of `length` octets on the wire, and the length of that; `None` if
    /// there is no IP in it.
    pub(super) fn frame(self, octets: &[u8], length: usize) -> Option<(Vec<u8>, usize)> {
        let skip = match self {
            Self::Ethernet | Self::Other => return None,
            Self::Ip => 0,
            Self::Loopback => 4,
            Self::Cooked { skip, at } => {
                let kind = octets.get(at..at + 2)?;
                if ![[0x08, 0x00], [0x86, 0xDD]].iter().any(|ip| ip == kind) {
                    return None;
                }
                skip
            }
        };
        let packet = octets.get(skip..)?;
        let (kind, [from, to]) = match packet.first()? >> 4 {
            4 => {
                let of = |at: usize| packet.get(at..at + 4).map(station_of_ipv4);
                ([0x08, 0x00], [of(12)?, of(16)?])
            }
            6 => {
                let of = |at: usize| packet.get(at..at + 16).map(station_of_ipv6);
                ([0x86, 0xDD], [of(8)?, of(24)?])
            }
            _ => return None,
        };
        let mut frame = Vec::with_capacity(HEADER + packet.len());
        for part in [&to[..], &from[..], &kind[..], packet] {
            frame.extend_from_slice(part);
        }
        Some((frame, length.saturating_sub(skip) + HEADER))
    }
}

/// Octets of two addresses and a type.
const HEADER: usize = 14;

/// Returns an address of the station, or of the group (RFC 1112, 6.4).
fn station_of_ipv4(address: &[u8]) -> Mac {
    match *address {
        [255, 255, 255, 255] => [0xff; 6],
        [224..=239, b, c, d] => [1, 0, 0x5E, b & 0x7f, c, d],
        [a, b, c, d] => [2, 0, a, b, c, d],
        _ => [0; 6],
    }
}

/// Returns an address of the station, or of the group (RFC 2464, 7).
fn station_of_ipv6(address: &[u8]) -> Mac {
    if let [0xff, .., a, b, c, d] = *address {
        return [0x33, 0x33, a, b, c, d];
    }
    let mut hasher = DefaultHasher::new();
    hasher.write(address);
    let mut station = [2; 6];
    station[1..].copy_from_slice(&hasher.finish().to_be_bytes()[..5]);
    station
}
