//! Packets of pcap and pcapng files, one after the other, from a buffer that holds one block.
//!
//! Format: the file format of libpcap, and draft-ietf-opsawg-pcapng; gzip around either (RFC 1952).
//! A file that ends within a packet, as that of a capture that was killed, has the packets before.

use std::io::{BufReader, ErrorKind, Read};

use flate2::read::MultiGzDecoder;

use super::link::Link;

/// Largest block, in octets: ten times the largest packet that tools capture.
const MAX_BLOCK: usize = 4 << 20;
/// Octets read at once.
const BUFFER: usize = 1 << 16;
/// Most interfaces of a file.
const MAX_INTERFACES: usize = 4096;
/// Longest name of an interface that is kept.
const MAX_NAME: usize = 100;

/// In the link type of pcap: whether the octets of check sequences are stated, in pairs of them.
const HAS_CHECK: u32 = 0x0400_0000;
/// Beginnings of files: microseconds and nanoseconds, in both orders of octets.
const MICROSECONDS: u32 = 0xA1B2_C3D4;
const NANOSECONDS: u32 = 0xA1B2_3C4D;
/// Types of blocks (pcapng, 4 and 10.1).
const SECTION: u32 = 0x0A0D_0D0A;
const INTERFACE: u32 = 1;
const OLD_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const PACKET: u32 = 6;
const ORDER: u32 = 0x1A2B_3C4D;
/// Options of an interface.
const IF_NAME: u16 = 2;
const IF_RESOLUTION: u16 = 9;
const IF_CHECK: u16 = 13;
const IF_OFFSET: u16 = 14;

/// Returns whether octets begin like a capture, in gzip or not.
pub(crate) fn is_capture(octets: &[u8]) -> bool {
    let Some(&[a, b, c, d]) = octets.first_chunk() else {
        return false;
    };
    let magic = [u32::from_be_bytes([a, b, c, d]), u32::from_le_bytes([a, b, c, d])];
    let known = [MICROSECONDS, NANOSECONDS, SECTION];
    is_gzip(octets) || magic.iter().any(|magic| known.contains(magic))
}

fn is_gzip(octets: &[u8]) -> bool {
    octets.starts_with(&[0x1f, 0x8b])
}

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Pcap,
    Pcapng,
}

/// A packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packet<'a> {
    /// Number of the interface in the file.
    pub(super) interface: usize,
    /// Nanoseconds since 1970.
    pub(super) at: i64,
    pub(super) link: Link,
    /// Whether the file has several interfaces so far.
    pub(super) has_others: bool,
    /// Octets on the wire, without those that only the wire has.
    pub(super) length: usize,
    pub(super) octets: &'a [u8],
}

/// An interface.
#[derive(Clone, Debug)]
pub(super) struct Interface {
    /// Empty if the file states none.
    pub(super) name: String,
    /// Number in the registry of link types.
    pub(super) link_type: u16,
    /// Octets of the check sequence that is captured with each frame.
    check: usize,
    clock: Clock,
}

/// Units of stamps.
#[derive(Clone, Copy, Debug)]
struct Clock {
    /// In a second.
    units: u64,
    /// Seconds to add.
    offset: i64,
}

impl Clock {
    fn nanoseconds(self, stamp: u64) -> i64 {
        let ns = u128::from(stamp) * 1_000_000_000 / u128::from(self.units.max(1));
        let offset = i128::from(self.offset) * 1_000_000_000;
        let ns = i128::try_from(ns).unwrap_or(i128::MAX).saturating_add(offset);
        // Four hundred years are more than any clock needs, and leave room for differences.
        let most = i64::MAX / 2;
        i64::try_from(ns).unwrap_or(most).clamp(-most, most)
    }
}

/// Why a file is read no further.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// It ends where it may.
    Whole,
    /// It ends within a block, or cannot be read further.
    Broken(String),
}

/// Order of octets.
#[derive(Clone, Copy, Debug)]
struct Order {
    is_big: bool,
}

impl Order {
    fn u16(self, octets: &[u8], at: usize) -> Option<u16> {
        let octets: [u8; 2] = octets.get(at..at + 2)?.try_into().ok()?;
        Some(if self.is_big { u16::from_be_bytes(octets) } else { u16::from_le_bytes(octets) })
    }

    fn u32(self, octets: &[u8], at: usize) -> Option<u32> {
        let octets: [u8; 4] = octets.get(at..at + 4)?.try_into().ok()?;
        Some(if self.is_big { u32::from_be_bytes(octets) } else { u32::from_le_bytes(octets) })
    }

    fn size(self, octets: &[u8], at: usize) -> Option<usize> {
        usize::try_from(self.u32(octets, at)?).ok()
    }
}

/// The packets of a file.
pub(super) struct Packets<'r> {
    reader: BufReader<Box<dyn Read + 'r>>,
    format: Format,
    order: Order,
    pub(super) interfaces: Vec<Interface>,
    /// Number of the first interface of this section.
    section: usize,
    block: Vec<u8>,
    /// Packets without a stamp.
    pub(super) unstamped: u64,
    end: Option<End>,
}

impl<'r> Packets<'r> {
    /// Begins to read. An error says what the file is instead.
    pub(super) fn open(reader: Box<dyn Read + 'r>) -> Result<Self, String> {
        let mut reader = BufReader::with_capacity(BUFFER, reader);
        let mut magic = [0; 4];
        read_all(&mut reader, &mut magic)?;
        if is_gzip(&magic) {
            let head = std::io::Cursor::new(magic).chain(reader);
            let inside: Box<dyn Read + 'r> = Box::new(MultiGzDecoder::new(head));
            reader = BufReader::with_capacity(BUFFER, inside);
            read_all(&mut reader, &mut magic)?;
        }
        let [big, little] = [u32::from_be_bytes(magic), u32::from_le_bytes(magic)];
        let mut packets = Self {
            reader,
            format: Format::Pcapng,
            order: Order { is_big: true },
            interfaces: Vec::new(),
            section: 0,
            block: Vec::new(),
            unstamped: 0,
            end: None,
        };
        if big == SECTION {
            packets.section()?;
            return Ok(packets);
        }
        for (value, is_big) in [(big, true), (little, false)] {
            let units = match value {
                MICROSECONDS => 1_000_000,
                NANOSECONDS => 1_000_000_000,
                _ => continue,
            };
            packets.order = Order { is_big };
            packets.file_header(units)?;
            return Ok(packets);
        }
        Err("what is in it is no capture".into())
    }

    pub(super) const fn format(&self) -> Format {
        self.format
    }

    /// Returns why there are no further packets.
    pub(super) fn end(&self) -> &End {
        self.end.as_ref().unwrap_or(&End::Whole)
    }

    /// Reads the rest of the header of a pcap file.
    fn file_header(&mut self, units: u64) -> Result<(), String> {
        self.format = Format::Pcap;
        let mut header = [0; 20];
        read_all(&mut self.reader, &mut header)?;
        let link_type = self.order.u32(&header, 16).unwrap_or(0);
        self.interfaces.push(Interface {
            name: String::new(),
            // The upper bits tell about check sequences.
            link_type: u16::try_from(link_type & 0xffff).unwrap_or(0),
            check: match link_type & HAS_CHECK {
                0 => 0,
                _ => usize::try_from(link_type >> 28).unwrap_or(0) * 2,
            },
            clock: Clock { units, offset: 0 },
        });
        Ok(())
    }

    /// Returns the next packet; `None` at the end.
    pub(super) fn next(&mut self) -> Option<Packet<'_>> {
        if self.end.is_some() {
            return None;
        }
        let found = match self.format {
            Format::Pcap => self.record(),
            Format::Pcapng => self.blocks(),
        };
        match found {
            Ok(Some((interface, stamp, length, octets))) => {
                let from = self.interfaces.get(interface)?;
                let octets = self.block.get(octets)?;
                let length = length.max(octets.len()).saturating_sub(from.check);
                let octets = &octets[..octets.len().min(length)];
                Some(Packet {
                    interface,
                    has_others: self.interfaces.len() > 1,
                    link: Link::of(from.link_type),
                    at: from.clock.nanoseconds(stamp),
                    length,
                    octets,
                })
            }
            Ok(None) => {
                self.end = Some(End::Whole);
                None
            }
            Err(why) => {
                self.end = Some(End::Broken(why));
                None
            }
        }
    }

    /// Reads a record of pcap.
    fn record(&mut self) -> Result<Option<Place>, String> {
        let mut header = [0; 16];
        if !read_or_end(&mut self.reader, &mut header)? {
            return Ok(None);
        }
        let order = self.order;
        let number = |at| order.u32(&header, at).unwrap_or(0);
        let size = order.size(&header, 8).unwrap_or(0);
        let length = order.size(&header, 12).unwrap_or(0);
        self.body(size)?;
        let units = self.interfaces.first().map_or(1, |only| only.clock.units);
        let stamp = u64::from(number(0)) * units + u64::from(number(4));
        Ok(Some((0, stamp, length, 0..size)))
    }

    /// Reads blocks of pcapng up to a packet.
    fn blocks(&mut self) -> Result<Option<Place>, String> {
        loop {
            let mut head = [0; 4];
            if !read_or_end(&mut self.reader, &mut head)? {
                return Ok(None);
            }
            if u32::from_be_bytes(head) == SECTION {
                self.section()?;
                continue;
            }
            let kind = self.order.u32(&head, 0).unwrap_or(0);
            let mut length = [0; 4];
            read_all(&mut self.reader, &mut length)?;
            self.rest(self.order.size(&length, 0).unwrap_or(0), 8)?;
            let place = match kind {
                INTERFACE => {
                    self.interface()?;
                    None
                }
                PACKET => self.packet(self.order.size(&self.block, 0), 4),
                OLD_PACKET => self.packet(self.order.u16(&self.block, 0).map(usize::from), 4),
                SIMPLE_PACKET => {
                    self.unstamped += 1;
                    None
                }
                _ => None,
            };
            if place.is_some() {
                return Ok(place);
            }
        }
    }

    /// Finds the parts of a block with a packet; the stamp is at `at`.
    fn packet(&self, interface: Option<usize>, at: usize) -> Option<Place> {
        let number = |at| self.order.u32(&self.block, at);
        let stamp = u64::from(number(at)?) << 32 | u64::from(number(at + 4)?);
        let size = self.order.size(&self.block, at + 8)?;
        let length = self.order.size(&self.block, at + 12)?;
        let begin = at + 16;
        let end = begin.checked_add(size)?;
        let interface = interface?.checked_add(self.section)?;
        let is_there = end <= self.block.len() && interface < self.interfaces.len();
        is_there.then_some((interface, stamp, length, begin..end))
    }

    /// Reads a section header behind its type.
    fn section(&mut self) -> Result<(), String> {
        let mut head = [0; 8];
        read_all(&mut self.reader, &mut head)?;
        let found = [true, false].map(|is_big| Order { is_big });
        let order = found.into_iter().find(|order| order.u32(&head, 4) == Some(ORDER));
        self.order = order.ok_or("a section has no order of octets")?;
        self.section = self.interfaces.len();
        self.rest(self.order.size(&head, 0).unwrap_or(0), 12)
    }

    /// Reads the rest of a block of this length, of which `known` octets have been read. The length
    /// at the end does not stay.
    fn rest(&mut self, length: usize, known: usize) -> Result<(), String> {
        let rest = length.checked_sub(known).filter(|rest| *rest >= 4);
        let rest = rest.filter(|_| length.is_multiple_of(4));
        let rest = rest.ok_or_else(|| format!("a block has the length {length}"))?;
        self.body(rest)?;
        self.block.truncate(rest - 4);
        Ok(())
    }

    fn body(&mut self, size: usize) -> Result<(), String> {
        if size > MAX_BLOCK {
            return Err(format!("a packet or block has {size} octets"));
        }
        self.block.resize(size, 0);
        read_all(&mut self.reader, &mut self.block)
    }

    /// Reads the description of an interface.
    fn interface(&mut self) -> Result<(), String> {
        if self.interfaces.len() >= MAX_INTERFACES {
            return Err(format!("it has more than {MAX_INTERFACES} interfaces"));
        }
        let mut interface = Interface {
            name: String::new(),
            link_type: self.order.u16(&self.block, 0).unwrap_or(0),
            check: 0,
            clock: Clock { units: 1_000_000, offset: 0 },
        };
        let mut rest = self.block.get(8..).unwrap_or_default();
        while let (Some(code), Some(length)) = (self.order.u16(rest, 0), self.order.u16(rest, 2)) {
            let length = usize::from(length);
            let Some(value) = rest.get(4..4 + length).filter(|_| code != 0) else {
                break;
            };
            match code {
                IF_NAME => {
                    let text = String::from_utf8_lossy(value);
                    interface.name = text.chars().take(MAX_NAME).collect();
                }
                IF_RESOLUTION => interface.clock.units = resolution(value)?,
                // Bits by the format, octets by some programs.
                IF_CHECK if matches!(value.first(), Some(4 | 32)) => interface.check = 4,
                IF_OFFSET => interface.clock.offset = self.seconds(value),
                _ => {}
            }
            rest = rest.get(4 + length.next_multiple_of(4)..).unwrap_or_default();
        }
        self.interfaces.push(interface);
        Ok(())
    }

    fn seconds(&self, value: &[u8]) -> i64 {
        let octets: Option<[u8; 8]> = value.try_into().ok();
        octets.map_or(0, |octets| {
            if self.order.is_big { i64::from_be_bytes(octets) } else { i64::from_le_bytes(octets) }
        })
    }
}

/// Interface, stamp, length on the wire, and where the octets are in the block.
type Place = (usize, u64, usize, std::ops::Range<usize>);

/// Returns the units in a second: a power of ten, or of two if the highest bit is set (4.2).
fn resolution(value: &[u8]) -> Result<u64, String> {
    let [value, ..] = value else {
        return Ok(1_000_000);
    };
    let exponent = u32::from(value & 0x7f);
    let base: u64 = if value & 0x80 == 0 { 10 } else { 2 };
    base.checked_pow(exponent)
        .ok_or_else(|| format!("an interface has stamps in units of {base}^-{exponent} s"))
}

/// Fills a buffer; the file must not end before.
fn read_all(reader: &mut impl Read, buffer: &mut [u8]) -> Result<(), String> {
    reader.read_exact(buffer).map_err(|error| why(&error))
}

/// Fills a buffer, or returns `false` at the end of the file.
fn read_or_end(reader: &mut impl Read, buffer: &mut [u8]) -> Result<bool, String> {
    let mut filled = 0;
    while filled < buffer.len() {
        match reader.read(&mut buffer[filled..]) {
            Ok(0) if filled == 0 => return Ok(false),
            Ok(0) => return Err("it ends within a packet".into()),
            Ok(count) => filled += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(why(&error)),
        }
    }
    Ok(true)
}

fn why(error: &std::io::Error) -> String {
    if error.kind() == ErrorKind::UnexpectedEof {
        return "it ends within a packet".into();
    }
    crate::text::plain(&error.to_string(), 200)
}
