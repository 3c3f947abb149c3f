//! Fills a [`FrameKey`] from the octets of a frame (R74).
//!
//! Reads up to [`MAX_TAGS`] tags, IPv4 with options, IPv6 with up to [`MAX_EXTENSIONS`] extension
//! headers, and the ports of TCP, UDP and similar protocols. It checks no checksum and reassembles
//! no fragments: only the first fragment has ports. ARP and other protocols yield their `EtherType`
//! only. Any octets are accepted; for a malformed frame the key holds the fields read so far, and
//! the reason and its offset are returned.
//!
//! Sources: IEEE 802.3-2022, 3.2; IEEE 802.1Q-2022, 9; RFC 791, 3.1; RFC 8200, 3 and 4; RFC 4302,
//! 2.2 (length of the authentication header).

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use rtether_model::network::{Pcp, Vid};

use super::classifier::{FrameKey, Tag};

/// What was read from a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parsed {
    /// The fields that were found.
    pub key: FrameKey,
    /// Where the frame is malformed; `None` if it is well-formed.
    pub malformed: Option<Malformed>,
}

/// Why and where a frame is malformed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// The reason.
    pub reason: MalformedReason,
    /// Offset of the header concerned, from the destination address, in octets.
    pub offset: usize,
}

/// A way in which a frame is malformed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MalformedReason {
    /// Ends within addresses and `EtherType`.
    ShortFrame,
    /// Neither a length nor an `EtherType`: 1501 to 1535.
    UndefinedType,
    /// Ends within a tag.
    ShortTag,
    /// More tags than [`MAX_TAGS`].
    TooManyTags,
    /// VLAN 4095.
    ReservedVid,
    /// Ends within the fixed header of IPv4 or IPv6.
    ShortIpHeader,
    /// The version is not that of the `EtherType`.
    WrongIpVersion,
    /// The IPv4 header is shorter than 20 octets or longer than the packet.
    IpHeaderLength,
    /// The IP packet is longer than the frame.
    IpPacketLength,
    /// Ends within an extension header of IPv6.
    ShortExtension,
    /// More extension headers than [`MAX_EXTENSIONS`].
    TooManyExtensions,
    /// Ends within the ports.
    ShortPorts,
}

impl MalformedReason {
    /// All reasons, in the order of the counters.
    pub const ALL: [Self; 12] = [
        Self::ShortFrame,
        Self::UndefinedType,
        Self::ShortTag,
        Self::TooManyTags,
        Self::ReservedVid,
        Self::ShortIpHeader,
        Self::WrongIpVersion,
        Self::IpHeaderLength,
        Self::IpPacketLength,
        Self::ShortExtension,
        Self::TooManyExtensions,
        Self::ShortPorts,
    ];
}

/// Number of frames by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MalformedCounters {
    well_formed: u64,
    by_reason: [u64; MalformedReason::ALL.len()],
}

impl MalformedCounters {
    /// Returns counters from external counts, in the order of [`MalformedReason::ALL`].
    pub const fn of(well_formed: u64, by_reason: [u64; MalformedReason::ALL.len()]) -> Self {
        Self { well_formed, by_reason }
    }

    /// Counts a frame.
    pub const fn note(&mut self, parsed: &Parsed) {
        match parsed.malformed {
            None => self.well_formed += 1,
            Some(malformed) => self.by_reason[malformed.reason as usize] += 1,
        }
    }

    /// Returns the number of well-formed frames.
    pub const fn well_formed(&self) -> u64 {
        self.well_formed
    }

    /// Returns the number of frames malformed for this reason.
    pub const fn count(&self, reason: MalformedReason) -> u64 {
        self.by_reason[reason as usize]
    }
}

/// Parses the headers of a frame, given from its destination address on, without preamble.
pub fn parse(frame: &[u8]) -> Parsed {
    let mut key = FrameKey::default();
    let malformed = read(frame, &mut key).err();
    Parsed { key, malformed }
}

type Read<T> = Result<T, Malformed>;

fn fail<T>(reason: MalformedReason, offset: usize) -> Read<T> {
    Err(Malformed { reason, offset })
}

/// Returns the `N` octets at `offset`.
fn octets<const N: usize>(bytes: &[u8], offset: usize, short: MalformedReason) -> Read<[u8; N]> {
    match bytes.get(offset..).and_then(<[u8]>::first_chunk) {
        Some(chunk) => Ok(*chunk),
        None => fail(short, offset),
    }
}

fn read(frame: &[u8], key: &mut FrameKey) -> Read<()> {
    let mut offset = ADDRESSES;
    let mut kind = match octets(frame, offset, MalformedReason::ShortFrame) {
        Ok(kind) => u16::from_be_bytes(kind),
        Err(_) => return fail(MalformedReason::ShortFrame, 0),
    };
    let mut tags = 0;
    while is_tag(kind) {
        if tags == MAX_TAGS {
            return fail(MalformedReason::TooManyTags, offset);
        }
        let [_, _, a, b, c, d] = octets(frame, offset, MalformedReason::ShortTag)?;
        let Some(tag) = tag_from([a, b]) else {
            return fail(MalformedReason::ReservedVid, offset);
        };
        key.tag = key.tag.or(Some(tag));
        tags += 1;
        offset += 4;
        kind = u16::from_be_bytes([c, d]);
    }
    offset += 2;
    if kind <= MAX_LENGTH {
        return Ok(());
    }
    if kind < MIN_ETHERTYPE {
        return fail(MalformedReason::UndefinedType, offset - 2);
    }
    key.ethertype = Some(kind);
    match kind {
        ETHERTYPE_IPV4 => read_ipv4(frame, offset, key),
        ETHERTYPE_IPV6 => read_ipv6(frame, offset, key),
        _ => Ok(()),
    }
}

fn read_ipv4(frame: &[u8], start: usize, key: &mut FrameKey) -> Read<()> {
    let header: [u8; 20] = octets(frame, start, MalformedReason::ShortIpHeader)?;
    let [first, tos, l0, l1, _, _, f0, f1, _, protocol, _, _, addresses @ ..] = header;
    if first >> 4 != 4 {
        return fail(MalformedReason::WrongIpVersion, start);
    }
    let [s0, s1, s2, s3, d0, d1, d2, d3] = addresses;
    key.tos = Some(tos);
    key.protocol = Some(protocol);
    key.source = Some(IpAddr::V4(Ipv4Addr::new(s0, s1, s2, s3)));
    key.destination = Some(IpAddr::V4(Ipv4Addr::new(d0, d1, d2, d3)));
    let header_len = usize::from(first & 0x0F) * 4;
    let total_len = usize::from(u16::from_be_bytes([l0, l1]));
    if header_len < header.len() || header_len > total_len {
        return fail(MalformedReason::IpHeaderLength, start);
    }
    let Some(packet) = frame.get(..start + total_len) else {
        return fail(MalformedReason::IpPacketLength, start);
    };
    let is_first = u16::from_be_bytes([f0, f1]) & FRAGMENT_OFFSET_V4 == 0;
    if is_first { read_ports(packet, start + header_len, protocol, key) } else { Ok(()) }
}

fn read_ipv6(frame: &[u8], start: usize, key: &mut FrameKey) -> Read<()> {
    let header: [u8; 40] = octets(frame, start, MalformedReason::ShortIpHeader)?;
    let [first, second, _, _, l0, l1, next, _, addresses @ ..] = header;
    if first >> 4 != 6 {
        return fail(MalformedReason::WrongIpVersion, start);
    }
    key.tos = Some(first << 4 | second >> 4);
    key.protocol = Some(next);
    if let Some((source, destination)) = addresses.split_first_chunk::<16>() {
        key.source = Some(IpAddr::V6(Ipv6Addr::from(*source)));
        let destination = destination.first_chunk::<16>();
        key.destination = destination.map(|octets| IpAddr::V6(Ipv6Addr::from(*octets)));
    }
    let payload = start + header.len();
    let packet = match usize::from(u16::from_be_bytes([l0, l1])) {
        // A jumbogram carries its length in a hop-by-hop option (RFC 2675, 3).
        0 if next == HOP_BY_HOP => Some(frame),
        length => frame.get(..payload + length),
    };
    match packet {
        Some(packet) => read_extensions(packet, payload, next, key),
        None => fail(MalformedReason::IpPacketLength, start),
    }
}

/// Skips the extension headers of IPv6 (RFC 8200, 4).
fn read_extensions(packet: &[u8], start: usize, first: u8, key: &mut FrameKey) -> Read<()> {
    let mut next = first;
    let mut offset = start;
    for _ in 0..=MAX_EXTENSIONS {
        key.protocol = Some(next);
        if !is_extension(next) {
            return read_ports(packet, offset, next, key);
        }
        let [following, length, f0, f1, ..] =
            octets::<8>(packet, offset, MalformedReason::ShortExtension)?;
        let is_later_fragment =
            next == FRAGMENT && u16::from_be_bytes([f0, f1]) & FRAGMENT_OFFSET_V6 != 0;
        if is_later_fragment {
            key.protocol = Some(following);
            return Ok(());
        }
        let length = usize::from(length);
        offset += match next {
            FRAGMENT => 8,
            AUTHENTICATION => (length + 2) * 4,
            _ => (length + 1) * 8,
        };
        if offset > packet.len() {
            return fail(MalformedReason::ShortExtension, packet.len());
        }
        next = following;
    }
    fail(MalformedReason::TooManyExtensions, offset)
}

fn read_ports(packet: &[u8], offset: usize, protocol: u8, key: &mut FrameKey) -> Read<()> {
    if !has_ports(protocol) {
        return Ok(());
    }
    let [s0, s1, d0, d1] = octets(packet, offset, MalformedReason::ShortPorts)?;
    key.source_port = Some(u16::from_be_bytes([s0, s1]));
    key.destination_port = Some(u16::from_be_bytes([d0, d1]));
    Ok(())
}

/// Reads the tag control information; `None` for the reserved VLAN 4095.
pub(super) fn tag_from(octets: [u8; 2]) -> Option<Tag> {
    let value = u16::from_be_bytes(octets);
    Some(Tag {
        pcp: Pcp::new(octets[0] >> 5)?,
        dei: value & 0x1000 != 0,
        vid: Vid::new(value & 0x0FFF)?,
    })
}

/// Returns whether a tag follows this `EtherType`.
pub(super) const fn is_tag(kind: u16) -> bool {
    matches!(kind, ETHERTYPE_CUSTOMER_TAG | ETHERTYPE_SERVICE_TAG)
}

/// Hop-by-hop, routing, fragment, authentication, destination options, mobility, host identity and
/// shim6 (IANA, IPv6 extension header types). An encrypted payload (50) ends the chain.
const fn is_extension(next: u8) -> bool {
    matches!(next, HOP_BY_HOP | 43 | FRAGMENT | AUTHENTICATION | 60 | 135 | 139 | 140)
}

/// TCP, UDP, DCCP, SCTP and UDP-Lite begin with two ports.
const fn has_ports(protocol: u8) -> bool {
    matches!(protocol, 6 | 17 | 33 | 132 | 136)
}

/// Largest number of tags: two are usual, more are by mistake.
pub const MAX_TAGS: usize = 4;
/// Largest number of extension headers: RFC 8200, 4.1 lists seven in a sensible packet.
pub const MAX_EXTENSIONS: usize = 8;

/// Length of destination and source address.
pub(super) const ADDRESSES: usize = 12;
pub(super) const ETHERTYPE_CUSTOMER_TAG: u16 = 0x8100;
const ETHERTYPE_SERVICE_TAG: u16 = 0x88A8;
const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_IPV6: u16 = 0x86DD;
/// IEEE 802.3-2022, 3.2.6.
const MAX_LENGTH: u16 = 1500;
const MIN_ETHERTYPE: u16 = 1536;
const FRAGMENT_OFFSET_V4: u16 = 0x1FFF;
const FRAGMENT_OFFSET_V6: u16 = 0xFFF8;
const HOP_BY_HOP: u8 = 0;
const FRAGMENT: u8 = 44;
const AUTHENTICATION: u8 = 51;

#[cfg(test)]
mod tests;
