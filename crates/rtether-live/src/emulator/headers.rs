//! Headers that emulated stations read.

use rtether_model::quantity::Bytes;
use rtether_proto::endnode::parse;
use rtether_sim::emulation::{Content, Headers};

/// Addresses and type: start of the IP header.
const START: usize = 14;
const TCP: u8 = 6;
/// RFC 791, 3.1.
const FRAGMENT_OFFSET: u16 = 0x1FFF;

/// Parses a frame without tag and check sequence; invalid headers are left out.
pub(super) fn read(frame: &[u8]) -> Headers {
    let parsed = parse(frame);
    let key = parsed.key;
    let datagram = key.protocol.and_then(|_| datagram(frame));
    let content = match key.protocol {
        Some(TCP) if datagram.is_some_and(|length| has_data(frame, length)) => Content::Segment,
        Some(TCP) => Content::Acknowledgement,
        _ => Content::Datagram,
    };
    Headers {
        ethertype: key.ethertype,
        tos: key.tos,
        protocol: key.protocol,
        datagram: datagram.map(|length| Bytes::new(length as u64)),
        content,
    }
}

/// Returns the length of the IP packet in a frame, without padding.
fn datagram(frame: &[u8]) -> Option<usize> {
    let packet = frame.get(START..)?;
    let field = |at: usize| packet.get(at..)?.first_chunk().copied();
    let (length, least) = match packet.first()? >> 4 {
        4 => (usize::from(u16::from_be_bytes(field(2)?)), 20),
        // The length field of IPv6 excludes its header (RFC 8200, 3).
        _ => (usize::from(u16::from_be_bytes(field(4)?)) + 40, 40),
    };
    (least..=packet.len()).contains(&length).then_some(length)
}

/// Returns whether a TCP segment has data. If its header cannot be found, behind extension headers
/// or in later fragments, the answer is yes.
fn has_data(frame: &[u8], datagram: usize) -> bool {
    let Some(packet) = frame.get(START..START + datagram) else {
        return true;
    };
    let header = match packet.first().map(|first| (first >> 4, first & 0x0F)) {
        Some((4, words)) => usize::from(words) * 4,
        _ => 40,
    };
    let is_plain = match *packet {
        [first, _, _, _, _, _, high, low, ..] if first >> 4 == 4 => {
            u16::from_be_bytes([high, low]) & FRAGMENT_OFFSET == 0
        }
        [_, _, _, _, _, _, next, ..] => next == TCP,
        _ => false,
    };
    // The data offset (RFC 9293, 3.1), in words of four octets.
    match packet.get(header + 12) {
        Some(offset) if is_plain => header + usize::from(offset >> 4) * 4 < datagram,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Addresses, type, and the packet, padded to the shortest frame.
    fn frame(ethertype: u16, packet: &[u8]) -> Vec<u8> {
        let mut frame = vec![0; 12];
        frame.extend(ethertype.to_be_bytes());
        frame.extend(packet);
        frame.resize(frame.len().max(60), 0);
        frame
    }

    /// An IPv4 header without options (RFC 791, 3.1), DSCP 46.
    fn ipv4(protocol: u8, inside: &[u8]) -> Vec<u8> {
        let length = u8::try_from(20 + inside.len()).unwrap();
        let mut packet = vec![0x45, 46 << 2, 0, length, 0, 0, 0, 0, 64, protocol, 0, 0];
        packet.extend([10, 0, 0, 1, 10, 0, 0, 2]);
        packet.extend(inside);
        packet
    }

    /// A TCP header without options (RFC 9293, 3.1) and `data` octets of data.
    fn tcp(data: usize) -> Vec<u8> {
        let mut segment = vec![0; 20 + data];
        segment[12] = 5 << 4;
        segment
    }

    /// Oracle: the formats of the standards, by hand.
    #[test]
    fn headers_by_hand() {
        let goose = read(&frame(0x88B8, &[0; 30]));
        let expected = Headers { ethertype: Some(0x88B8), ..Headers::default() };
        assert_eq!(goose, expected);
        let udp = read(&frame(0x0800, &ipv4(17, &[0; 12])));
        let expected = Headers {
            ethertype: Some(0x0800),
            tos: Some(46 << 2),
            protocol: Some(17),
            datagram: Some(Bytes::new(32)),
            content: Content::Datagram,
        };
        assert_eq!(udp, expected);
        for (data, content) in [(0, Content::Acknowledgement), (1, Content::Segment)] {
            let segment = read(&frame(0x0800, &ipv4(6, &tcp(data))));
            assert_eq!(segment.datagram, Some(Bytes::new(40 + data as u64)));
            assert_eq!(segment.content, content);
        }
        let mut fragment = ipv4(6, &tcp(0));
        fragment[7] = 185;
        assert_eq!(read(&frame(0x0800, &fragment)).content, Content::Segment);
        let mut v6 = vec![0x60, 0, 0, 0, 0, 20, 6, 64];
        v6.extend([0; 32]);
        v6.extend(tcp(0));
        let segment = read(&frame(0x86DD, &v6));
        assert_eq!(segment.datagram, Some(Bytes::new(60)));
        assert_eq!(segment.content, Content::Acknowledgement);
    }

    /// Oracle: nothing is read past the end, and no length exceeds the frame.
    #[test]
    fn cut_and_changed_frames_are_read_without_a_panic() {
        let mut v6 = vec![0x60, 0, 0, 0, 0, 120, 6, 64];
        v6.extend([0; 32]);
        v6.extend(tcp(100));
        for whole in [frame(0x0800, &ipv4(6, &tcp(100))), frame(0x86DD, &v6)] {
            for length in 0..=whole.len() {
                for place in 0..length {
                    for value in [0, 1, 0x0F, 0x45, 0x60, 0xFF] {
                        let mut changed = whole[..length].to_vec();
                        changed[place] = value;
                        let headers = read(&changed);
                        let most = length.saturating_sub(START) as u64;
                        let found = headers.datagram.map_or(0, Bytes::get);
                        assert!(found <= most, "{length}: {found}");
                    }
                }
            }
        }
    }
}
