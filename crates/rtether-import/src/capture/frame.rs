//! What one frame says: who sends to whom, by which protocol, and how much.
//!
//! Sources: IEEE 802.3 and 802.1Q, RFC 791, 768, 9293 and 8200; IEC 61850-8-1 and 9-2, annex C;
//! IEC 61158-6-10 (identifiers of PROFINET frames); DDSI-RTPS 2.5, 9.4; OPC 10000-14, 7.2.

use std::hash::{DefaultHasher, Hasher};

use rtether_model::wire::Encapsulation;

/// Types of Ethernet.
const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86DD;
const TAGGED: u16 = 0x8100;
const TAGGED_OUTER: u16 = 0x88A8;
/// What devices used for outer tags before IEEE 802.1ad.
const TAGGED_OLD: u16 = 0x9100;
/// Tag of HSR, and the end of the trailer of PRP (IEC 62439-3).
const HSR: u16 = 0x892F;
const PRP: u16 = 0x88FB;
const REDUNDANT: usize = 6;
pub(super) const GOOSE: u16 = 0x88B8;
pub(super) const SAMPLED_VALUES: u16 = 0x88BA;
pub(super) const PROFINET: u16 = 0x8892;
pub(super) const OPC_UA: u16 = 0xB62C;
/// The first number that is a type and no length.
const FIRST_TYPE: u16 = 0x0600;
/// Protocols over IP.
const ICMP: u8 = 1;
const TCP: u8 = 6;
const UDP: u8 = 17;
/// Ports.
const PROFINET_CONNECT: u16 = 34_964;
const ENIP_EXPLICIT: u16 = 44_818;
const ENIP_CYCLIC: u16 = 2_222;
const OPC_UA_PORT: u16 = 4_840;
/// First port that is taken for a connection and given back.
const FIRST_EPHEMERAL: u16 = 32_768;
/// Headers of IPv4 and UDP without options, and of IPv4 and TCP.
const IP_UDP: usize = 28;
/// Most tags before the type, and most submessages and elements that are looked at.
const MOST_TAGS: usize = 3;
const MOST_PARTS: usize = 16;
/// Largest payload over IPv4.
const LARGEST: usize = 65_507;

/// Address of a station or a group.
pub(super) type Mac = [u8; 6];

/// Returns whether an address is that of a group, or of all.
pub(super) const fn is_group(address: Mac) -> bool {
    address[0] & 1 == 1
}

/// Address over IP; one of version 4 is mapped into version 6 (RFC 4291, 2.5.5.2).
pub(super) type Ip = std::net::Ipv6Addr;

/// A tag of IEEE 802.1Q.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Tag {
    pub(super) pcp: u8,
    pub(super) vid: u16,
}

/// What tells a frame that may have a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Numbered {
    pub(super) sequence: u16,
    /// Whether it is of a ring (HSR), or of two networks (PRP).
    pub(super) is_ring: bool,
}

/// Headers around what an application sends, by the words of the scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Over {
    Raw,
    Udp,
    Tcp,
    Icmp,
    Goose,
    SampledValues,
    Profinet,
}

impl Over {
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Raw => "raw",
            Self::Udp => "udp",
            Self::Tcp => "tcp",
            Self::Icmp => "icmp",
            Self::Goose => "goose",
            Self::SampledValues => "sv",
            Self::Profinet => "profinet",
        }
    }

    /// Returns whether a flow can have a DSCP.
    pub(super) const fn has_dscp(self) -> bool {
        matches!(self, Self::Udp | Self::Tcp | Self::Icmp)
    }

    pub(super) const fn encapsulation(self) -> Encapsulation {
        match self {
            Self::Raw => Encapsulation::Raw,
            Self::Udp => Encapsulation::Udp,
            Self::Tcp => Encapsulation::Tcp,
            Self::Icmp => Encapsulation::Icmp,
            Self::Goose => Encapsulation::Goose,
            Self::SampledValues => Encapsulation::SampledValues,
            Self::Profinet => Encapsulation::Profinet,
        }
    }
}

/// What the frames of a stream have in common, besides point and tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Path {
    pub(super) source: Mac,
    pub(super) destination: Mac,
    pub(super) ether_type: u16,
    pub(super) ends: Option<[Ip; 2]>,
    /// Protocol over IP.
    pub(super) protocol: u8,
    pub(super) ports: [u16; 2],
    /// Number that the protocol itself gives to a stream.
    pub(super) own: u64,
}

/// A frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame<'a> {
    pub(super) path: Path,
    pub(super) tag: Option<Tag>,
    /// Tags behind the first one.
    pub(super) inner_tags: usize,
    /// Its number, if it may have a copy.
    pub(super) numbered: Option<Numbered>,
    pub(super) over: Over,
    /// Octets of the application.
    pub(super) size: usize,
    pub(super) dscp: u8,
    pub(super) what: What<'a>,
    /// What is behind its type.
    pub(super) inside: &'a [u8],
}

/// What is in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What<'a> {
    Data,
    /// A fragment that is not the first: counted with it.
    Fragment,
    Goose(Goose<'a>),
    SampledValues {
        id: &'a [u8],
    },
    Rtps {
        /// Entity that writes; zero if no sample is in it.
        writer: u32,
    },
    OpcUa,
    /// Cyclic data of a connection of EtherNet/IP.
    Connected,
    /// A request or answer of PROFINET's connection management.
    Rpc(&'a [u8]),
    Segment(Segment<'a>),
}

/// A message of GOOSE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Goose<'a> {
    pub(super) block: &'a [u8],
    pub(super) id: &'a [u8],
    /// Number of the event, and of the repetition.
    pub(super) state: u64,
    pub(super) sequence: u64,
}

/// A segment of TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Segment<'a> {
    /// Octets of data on the wire.
    pub(super) size: usize,
    /// Data of explicit messages of EtherNet/IP; empty for other ports.
    pub(super) explicit: &'a [u8],
}

fn u16_at(octets: &[u8], at: usize) -> Option<u16> {
    let octets: [u8; 2] = octets.get(at..at + 2)?.try_into().ok()?;
    Some(u16::from_be_bytes(octets))
}

fn mac_at(octets: &[u8], at: usize) -> Option<Mac> {
    octets.get(at..at + 6)?.try_into().ok()
}

/// Returns a number for octets of any length.
fn number(octets: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(octets);
    hasher.finish()
}

/// What is between the addresses of a frame and what is in it.
struct Head {
    tag: Option<Tag>,
    tags: usize,
    numbered: Option<Numbered>,
    ether_type: u16,
    /// Where the rest begins.
    at: usize,
}

impl Head {
    fn read(octets: &[u8]) -> Option<Self> {
        let mut head =
            Self { tag: None, tags: 0, numbered: None, ether_type: u16_at(octets, 12)?, at: 14 };
        for _ in 0..MOST_TAGS {
            let at = head.at;
            if head.ether_type == HSR {
                head.numbered = Some(Numbered { sequence: u16_at(octets, at + 2)?, is_ring: true });
                head.at += REDUNDANT;
            } else if [TAGGED, TAGGED_OUTER, TAGGED_OLD].contains(&head.ether_type) {
                let value = u16_at(octets, at)?;
                let pcp = u8::try_from(value >> 13).ok()?;
                let vid = value & 0xfff;
                head.tag = head.tag.or(Some(Tag { pcp, vid }));
                head.tags += 1;
                head.at += 4;
            } else {
                break;
            }
            head.ether_type = u16_at(octets, head.at - 2)?;
        }
        Some(head)
    }
}

impl<'a> Frame<'a> {
    /// Reads a frame with `length` octets on the wire, of which not all may be there. `None` if
    /// these do not hold its headers.
    pub(super) fn read(octets: &'a [u8], length: usize) -> Option<Self> {
        let destination = mac_at(octets, 0)?;
        let source = mac_at(octets, 6)?;
        let Head { tag, tags, mut numbered, ether_type, at } = Head::read(octets)?;
        let inside = octets.get(at..)?;
        let mut room = length.saturating_sub(at);
        if let Some(sequence) = twin(octets, length, room) {
            numbered = Some(Numbered { sequence, is_ring: false });
            room -= REDUNDANT;
        }
        let mut frame = Self {
            path: Path {
                source,
                destination,
                ether_type,
                ends: None,
                protocol: 0,
                ports: [0; 2],
                own: 0,
            },
            tag,
            inner_tags: usize::max(tags, 1) - 1,
            numbered,
            over: Over::Raw,
            size: room,
            dscp: 0,
            what: What::Data,
            inside,
        };
        match ether_type {
            IPV4 => frame.ipv4(inside, room)?,
            IPV6 => frame.ipv6(inside, room)?,
            GOOSE | SAMPLED_VALUES => frame.iec61850(inside, room)?,
            PROFINET => frame.profinet(inside, room)?,
            OPC_UA => frame.opc_ua(inside),
            length if length < FIRST_TYPE => {
                frame.path.ether_type = 0;
                frame.path.own = u16_at(inside, 0).map_or(0, u64::from);
                frame.size = usize::from(length);
            }
            _ => {}
        }
        Some(frame)
    }

    fn ipv4(&mut self, octets: &'a [u8], room: usize) -> Option<()> {
        let head = usize::from(octets.first()? & 0xf) * 4;
        let total = match usize::from(u16_at(octets, 2)?) {
            // Cards that cut segments themselves are given packets without a length.
            0 => room,
            total => total,
        };
        let address = |at: usize| -> Option<Ip> {
            let octets: [u8; 4] = octets.get(at..at + 4)?.try_into().ok()?;
            Some(std::net::Ipv4Addr::from(octets).to_ipv6_mapped())
        };
        self.dscp = octets.get(1)? >> 2;
        self.path.ends = Some([address(12)?, address(16)?]);
        self.path.protocol = *octets.get(9)?;
        self.size = total;
        let place = u16_at(octets, 6)?;
        if place & 0x1fff != 0 {
            self.what = What::Fragment;
            return Some(());
        }
        let inside = octets.get(head..).unwrap_or_default();
        let is_first = place & 0x2000 != 0;
        match self.path.protocol {
            UDP => {
                self.udp(inside)?;
                self.over = Over::Udp;
                let rest = total.saturating_sub(IP_UDP);
                let stated = usize::from(u16_at(inside, 4)?).saturating_sub(8);
                self.size = if is_first { stated } else { rest }.min(LARGEST);
            }
            TCP => {
                let size = self.tcp(inside, total.saturating_sub(head))?;
                // A connection has two ends; what is sent to a group is frames.
                if !is_group(self.path.destination) {
                    self.over = Over::Tcp;
                    self.size = size;
                }
            }
            ICMP => {
                self.over = Over::Icmp;
                self.size = total.saturating_sub(IP_UDP);
                // Request or answer, and who asks.
                let kind = u64::from(*inside.first()?);
                let asks = u16_at(inside, 4).map_or(0, u64::from);
                self.path.own = kind << 16 | asks;
            }
            _ => {}
        }
        Some(())
    }

    fn ipv6(&mut self, octets: &'a [u8], room: usize) -> Option<()> {
        let address = |at: usize| -> Option<Ip> {
            let octets: [u8; 16] = octets.get(at..at + 16)?.try_into().ok()?;
            Some(Ip::from(octets))
        };
        self.path.ends = Some([address(8)?, address(24)?]);
        self.path.protocol = *octets.get(6)?;
        self.dscp = (octets.first()? << 2 | octets.get(1)? >> 6) & 0x3f;
        let length = usize::from(u16_at(octets, 4)?);
        self.size = if length == 0 { room } else { length + 40 };
        let inside = octets.get(40..).unwrap_or_default();
        match self.path.protocol {
            UDP => self.udp(inside)?,
            TCP => _ = self.tcp(inside, length)?,
            _ => self.path.own = inside.first().map_or(0, |kind| u64::from(*kind)),
        }
        Some(())
    }

    /// Reads the header of UDP, and the beginnings of protocols over it.
    fn udp(&mut self, octets: &'a [u8]) -> Option<()> {
        let ports = [u16_at(octets, 0)?, u16_at(octets, 2)?];
        self.path.ports = ports;
        let inside = octets.get(8..).unwrap_or_default();
        if inside.starts_with(b"RTPS") {
            let writer = rtps_writer(inside).unwrap_or(0);
            self.path.own = u64::from(writer);
            self.what = What::Rtps { writer };
        } else if ports.contains(&PROFINET_CONNECT) {
            self.what = What::Rpc(inside);
        } else if ports.contains(&ENIP_CYCLIC) {
            if let Some(connection) = connected(inside) {
                self.path.own = u64::from(connection);
                self.what = What::Connected;
            }
        } else if ports.contains(&OPC_UA_PORT) {
            self.opc_ua(inside);
        }
        Some(())
    }

    /// Reads the header of TCP. Returns the octets of data, where header and data have `total`.
    fn tcp(&mut self, octets: &'a [u8], total: usize) -> Option<usize> {
        let ports = [u16_at(octets, 0)?, u16_at(octets, 2)?];
        let head = usize::from(octets.get(12)? >> 4) * 4;
        let size = total.saturating_sub(head);
        let is_explicit = ports.contains(&ENIP_EXPLICIT);
        let data = octets.get(head..).unwrap_or_default();
        // Connections of one client to one service are one stream.
        let is_ephemeral = ports.map(|port| port >= FIRST_EPHEMERAL);
        self.path.ports = match is_ephemeral {
            [true, false] => [0, ports[1]],
            [false, true] => [ports[0], 0],
            _ => ports,
        };
        self.what = What::Segment(Segment { size, explicit: if is_explicit { data } else { &[] } });
        Some(size)
    }

    fn iec61850(&mut self, octets: &'a [u8], room: usize) -> Option<()> {
        let application = u64::from(u16_at(octets, 0)?);
        let length = usize::from(u16_at(octets, 2)?);
        let is_there = (8..=room).contains(&length);
        self.size = if is_there { length } else { room }.saturating_sub(8);
        self.path.own = application;
        let inside = octets.get(8..).unwrap_or_default();
        let [(tag, content), ..] = elements(inside, 1)[..] else {
            self.over =
                if self.path.ether_type == GOOSE { Over::Goose } else { Over::SampledValues };
            return Some(());
        };
        let parts = elements(content, MOST_PARTS);
        let find = |wanted: u8| {
            let mut parts = parts.iter();
            parts.find(|(tag, _)| *tag == wanted).map(|(_, value)| *value)
        };
        if self.path.ether_type == GOOSE {
            self.over = Over::Goose;
            let integer = |value: &[u8]| {
                let octets = value.iter().take(8);
                octets.fold(0_u64, |sum, octet| sum << 8 | u64::from(*octet))
            };
            if tag == 0x61
                && let (Some(state), Some(sequence)) = (find(0x85), find(0x86))
            {
                let block = find(0x80).unwrap_or_default();
                self.path.own |= number(block) << 16;
                self.what = What::Goose(Goose {
                    block,
                    id: find(0x83).unwrap_or(block),
                    state: integer(state),
                    sequence: integer(sequence),
                });
            }
            return Some(());
        }
        self.over = Over::SampledValues;
        let unit = find(0xA2).map(|units| elements(units, 1));
        let unit = unit.and_then(|units| units.first().copied());
        let id = unit.and_then(|(_, unit)| elements(unit, 1).first().copied());
        if let Some((0x80, id)) = id.filter(|_| tag == 0x60) {
            self.path.own |= number(id) << 16;
            self.what = What::SampledValues { id };
        }
        Some(())
    }

    fn profinet(&mut self, octets: &'a [u8], room: usize) -> Option<()> {
        let id = u16_at(octets, 0)?;
        self.path.own = u64::from(id);
        if is_cyclic(id) {
            self.over = Over::Profinet;
            self.size = room.saturating_sub(6);
        }
        Some(())
    }

    /// Reads version, flags and publisher of a network message of OPC UA.
    fn opc_ua(&mut self, octets: &'a [u8]) {
        let Some(&first) = octets.first().filter(|first| *first & 0xf == 1) else {
            return;
        };
        let [has_publisher, has_more] = [0x10, 0x80].map(|flag| first & flag != 0);
        let second = if has_more { octets.get(1) } else { None };
        let second = second.copied().unwrap_or(0);
        let mut at = 1 + usize::from(has_more);
        // A second octet of extended flags.
        at += usize::from(second & 0x80 != 0);
        if has_publisher {
            let size = match second & 7 {
                0 => 1,
                1 => 2,
                2 => 4,
                _ => 8,
            };
            let publisher = octets.get(at..at + size).unwrap_or_default();
            self.path.own = number(publisher);
        }
        self.what = What::OpcUa;
    }
}

/// Returns the number in the trailer of PRP, if a frame has one: network A or B, and octets that fit
/// what is behind its type.
fn twin(octets: &[u8], length: usize, room: usize) -> Option<u16> {
    let is_whole = octets.len() == length && room > REDUNDANT;
    let end = length.checked_sub(REDUNDANT).filter(|_| is_whole)?;
    let lane = u16_at(octets, end + 2)?;
    let is_trailer = u16_at(octets, end + 4)? == PRP && matches!(lane >> 12, 0xA | 0xB);
    (is_trailer && usize::from(lane & 0xfff) <= room).then_some(u16_at(octets, end)?)
}

/// Returns whether the frames of this identifier carry cyclic data.
pub(super) const fn is_cyclic(id: u16) -> bool {
    matches!(id, 0x0100..=0xFBFF)
}

/// Returns the elements of BER with short tags, up to a number of them.
fn elements(octets: &[u8], most: usize) -> Vec<(u8, &[u8])> {
    let mut found = Vec::new();
    let mut rest = octets;
    while let Some((tag, content, behind)) = element(rest) {
        found.push((tag, content));
        rest = behind;
        if found.len() == most {
            break;
        }
    }
    found
}

/// Splits octets after their first element. One that is cut off has what is there.
fn element(octets: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&tag, rest) = octets.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        0..=0x7f => (usize::from(first), rest),
        0x81 => {
            let (&length, rest) = rest.split_first()?;
            (usize::from(length), rest)
        }
        0x82 => (usize::from(u16_at(rest, 0)?), rest.get(2..)?),
        _ => return None,
    };
    let (content, behind) = rest.split_at(length.min(rest.len()));
    Some((tag, content, behind))
}

/// Returns the entity that writes the first sample of an RTPS message.
fn rtps_writer(octets: &[u8]) -> Option<u32> {
    let is_first_version = *octets.get(4)? == 1;
    let mut at = if is_first_version { 16 } else { 20 };
    for _ in 0..MOST_PARTS {
        let kind = *octets.get(at)?;
        let is_little = octets.get(at + 1)? & 1 == 1;
        let length = u16_at(octets, at + 2)?;
        let length = if is_little { length.swap_bytes() } else { length };
        // DATA and DATA_FRAG: flags, octets to the options, reader, writer. ISSUE: reader, writer.
        let writer = match (is_first_version, kind) {
            (false, 0x15 | 0x16) => Some(at + 12),
            (true, 0x02) => Some(at + 8),
            _ => None,
        };
        if let Some(writer) = writer {
            let octets: [u8; 4] = octets.get(writer..writer + 4)?.try_into().ok()?;
            return Some(u32::from_be_bytes(octets));
        }
        if length == 0 {
            return None;
        }
        at += 4 + usize::from(length);
    }
    None
}

/// Returns the connection of a datagram of EtherNet/IP with cyclic data: two items, the first of
/// which is an address with a number of its own.
fn connected(octets: &[u8]) -> Option<u32> {
    let little = |at: usize| u16_at(octets, at).map(u16::swap_bytes);
    let is_address = little(0)? >= 2 && little(2)? == 0x8002 && little(4)? >= 4;
    let octets: [u8; 4] = octets.get(6..10)?.try_into().ok()?;
    is_address.then(|| u32::from_le_bytes(octets))
}
