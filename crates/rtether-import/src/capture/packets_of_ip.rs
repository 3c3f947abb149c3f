//! Packets of IPv4 in a capture, one by one, for what looks at conversations.

use std::net::Ipv4Addr;

use super::link::Link;
use super::packets::{End, Packets};
use super::{ImportError, Source};

/// Octets of two addresses, of a type, and of a check sequence.
const ADDRESSES: usize = 12;
const TYPE: usize = 2;
const CHECK: usize = 4;
/// Octets of a tag, its types, and most tags before the type.
const TAG: usize = 4;
const TAGS: [[u8; 2]; 3] = [[0x81, 0x00], [0x88, 0xA8], [0x91, 0x00]];
const TAGS_MAX: usize = 3;
const IPV4: [u8; 2] = [0x08, 0x00];
/// The smallest frame.
const FRAME_MIN: usize = 64;

/// A packet of IPv4 that is no later fragment of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IpPacket<'a> {
    /// Nanoseconds since 1970.
    pub at: i64,
    /// Sender.
    pub from: Ipv4Addr,
    /// Receiver.
    pub to: Ipv4Addr,
    /// What follows its header: 1 for ICMP, 6 for TCP, 17 for UDP.
    pub protocol: u8,
    /// Octets of its frame, from addresses to check sequence, without tags.
    pub frame: usize,
    /// What follows its header, as far as it was captured.
    pub payload: &'a [u8],
}

/// Reads the packets of IPv4 of a capture. What ends within a packet has those before.
///
/// # Errors
/// If it is no capture.
pub fn ip_packets(
    source: Source<'_>,
    mut take: impl FnMut(IpPacket<'_>),
) -> Result<(), ImportError> {
    let Source { name, reader } = source;
    let broken = |why: String| {
        let remedy = "give a capture of Ethernet (pcap or pcapng, also in gzip)";
        ImportError::new(&name, None, why, remedy)
    };
    let mut packets = Packets::open(reader).map_err(broken)?;
    let mut count = 0_u64;
    while let Some(packet) = packets.next() {
        count += 1;
        if packet.link == Link::Ethernet {
            read(packet.at, packet.octets).into_iter().for_each(&mut take);
        } else if let Some((frame, _)) = packet.link.frame(packet.octets, packet.length) {
            read(packet.at, &frame).into_iter().for_each(&mut take);
        }
    }
    match packets.end() {
        End::Broken(why) if count == 0 => Err(broken(why.clone())),
        End::Broken(_) | End::Whole => Ok(()),
    }
}

/// Reads a frame; `None` if it carries no IPv4, or a later fragment.
fn read(at: i64, octets: &[u8]) -> Option<IpPacket<'_>> {
    let mut rest = octets.get(ADDRESSES..)?;
    for _ in 0..TAGS_MAX {
        if TAGS.iter().any(|tag| rest.starts_with(tag)) {
            rest = rest.get(TAG..)?;
        }
    }
    let packet = rest.get(TYPE..).filter(|_| rest.starts_with(&IPV4))?;
    let head: &[u8; 20] = packet.first_chunk()?;
    let header = 4 * usize::from(head[0] & 0x0F);
    let length = usize::from(u16::from_be_bytes([head[2], head[3]]));
    let offset = u16::from_be_bytes([head[6], head[7]]) & 0x1FFF;
    if head[0] >> 4 != 4 || header < 20 || length < header || offset > 0 {
        return None;
    }
    let payload = packet.get(header..length.min(packet.len()))?;
    let [from, to] = [12, 16].map(|at| {
        let address: [u8; 4] = [head[at], head[at + 1], head[at + 2], head[at + 3]];
        Ipv4Addr::from(address)
    });
    let frame = (ADDRESSES + TYPE + length + CHECK).max(FRAME_MIN);
    Some(IpPacket { at, from, to, protocol: head[9], frame, payload })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Oracle: by hand: a tagged frame with four octets of UDP payload, and padding.
    #[test]
    fn a_packet_by_hand() {
        let mut octets = vec![2; 12];
        octets.extend([0x81, 0, 0xC0, 5, 8, 0]);
        octets.extend([0x45, 0, 0, 24, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        octets.extend([1, 2, 3, 4, 0, 0, 0]);
        let packet = read(7, &octets).unwrap();
        let [from, to] = [1, 2].map(|last| Ipv4Addr::new(10, 0, 0, last));
        let payload = &[1, 2, 3, 4][..];
        assert_eq!(packet, IpPacket { at: 7, from, to, protocol: 17, frame: 64, payload });
        // A later fragment, and one whose header is longer than it.
        octets[18 + 7] = 1;
        assert_eq!(read(7, &octets), None);
        octets[18 + 7] = 0;
        octets[18] = 0x4F;
        assert_eq!(read(7, &octets), None);
        for end in 0..octets.len() {
            read(7, &octets[..end]);
        }
    }
}
