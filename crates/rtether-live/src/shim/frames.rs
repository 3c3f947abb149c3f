//! Frame buffers of the shim.

use rtether_model::network::Vid;
use rtether_model::quantity::Bytes;
use rtether_model::smoother::Rule;
use rtether_proto::egress::Marked;
use rtether_proto::endnode::{self, MalformedCounters, Parsed, Tag};
use rtether_proto::smoother;

use super::Tags;

/// Shortest frame without check sequence and tag, in octets.
const SHORTEST: usize = 60;
/// Length of a tag; every buffer has room for one.
const TAG: usize = 4;
/// Largest number of free buffers kept; further ones are deallocated.
const KEPT_MAX: usize = 4_096;
/// Larger buffers are not kept.
const KEPT_OCTETS: usize = 2_048;

/// Free frame buffers for reuse, and counters of malformed frames.
#[derive(Debug, Default)]
pub(super) struct Pool {
    free: Vec<Vec<u8>>,
    pub(super) malformed: MalformedCounters,
}

impl Pool {
    /// Returns a buffer with these octets, and the parsed headers.
    pub(super) fn frame(&mut self, octets: &[u8]) -> (Vec<u8>, Parsed) {
        let parsed = endnode::parse(octets);
        self.malformed.note(&parsed);
        let mut frame = self.free.pop().unwrap_or_default();
        frame.reserve(octets.len() + TAG);
        frame.extend_from_slice(octets);
        (frame, parsed)
    }

    /// Takes back the buffer of a finished frame.
    pub(super) fn free(&mut self, mut frame: Vec<u8>) {
        if self.free.len() < KEPT_MAX && frame.capacity() <= KEPT_OCTETS {
            frame.clear();
            self.free.push(frame);
        }
    }
}

/// Tags an untagged frame with the PCP of its class.
pub(super) fn tag(frame: &mut Vec<u8>, parsed: &Parsed, class: u8, tags: &Tags) {
    let Some(pcp) = tags.insert.and_then(|of| of.get(usize::from(class)).copied()) else {
        return;
    };
    if parsed.key.tag.is_some() {
        return;
    }
    // Pad before tagging, so that removing the tag restores the same frame.
    if frame.len() < SHORTEST {
        frame.resize(SHORTEST, 0);
    }
    // Cannot fail: the frame has at least `SHORTEST` octets.
    let _ = endnode::push_tag(frame, Tag::new(pcp, tags.vid));
}

/// Removes the outermost tag if the stack is not to see it.
pub(super) fn strip(frame: &mut Vec<u8>, parsed: &Parsed, tags: &Tags) {
    let is_hidden = |tag: Tag| [Vid::PRIORITY_ONLY, tags.vid].contains(&tag.vid);
    if tags.strip && parsed.key.tag.is_some_and(is_hidden) {
        let _ = endnode::pop_tag(frame);
    }
}

/// Returns the octets from the IP header on; `None` if the frame is not IP or its fixed header is
/// cut short.
fn packet<'a>(frame: &'a [u8], parsed: &Parsed) -> Option<&'a [u8]> {
    parsed.key.protocol?;
    let mut start = ADDRESSES;
    while frame.get(start..start + 2)? != parsed.key.ethertype?.to_be_bytes() {
        start += TAG;
    }
    frame.get(start + 2..)
}

fn number(octets: &[u8], at: usize) -> Option<usize> {
    let two = octets.get(at..)?.first_chunk()?;
    Some(usize::from(u16::from_be_bytes(*two)))
}

/// Returns the length of the IP datagram, without padding, and its class in the smoother; `None` if
/// the frame holds none.
pub(super) fn datagram(
    frame: &[u8],
    parsed: &Parsed,
    rule: Rule,
) -> Option<(Bytes, smoother::Class)> {
    let packet = packet(frame, parsed)?;
    let length = match packet.first()? >> 4 {
        4 => number(packet, 2)?,
        _ => IPV6_HEADER + number(packet, 4)?,
    };
    let size = Bytes::new(length.min(packet.len()) as u64);
    let class = smoother::classify(rule, parsed.key.tos?, parsed.key.protocol?);
    Some((size, class))
}

/// Reads from a TCP segment whether frames sent by this host were marked on their way (RFC 3168,
/// 6.1.3); `None` if the segment cannot carry that information.
pub(in crate::shim) fn echoed_mark(frame: &[u8], parsed: &Parsed) -> Option<Marked> {
    let packet = packet(frame, parsed).filter(|_| parsed.key.protocol == Some(TCP))?;
    let first = *packet.first()?;
    // Extension headers are not followed; that misses only a few marks.
    let start = if first >> 4 == 4 { usize::from(first & 0x0F) * 4 } else { IPV6_HEADER };
    let flags = *packet.get(start + TCP_FLAGS)?;
    // In a SYN, this bit negotiates ECN and does not echo a mark.
    let is_ack = flags & (TCP_ACK | TCP_SYN) == TCP_ACK;
    is_ack
        .then(|| Marked { size: Bytes::new(packet.len() as u64), is_marked: flags & TCP_ECHO != 0 })
}

/// Octets of the two MAC addresses, and of the fixed IPv6 header.
const ADDRESSES: usize = 12;
const IPV6_HEADER: usize = 40;
/// TCP's protocol number, the offset of its flags, and some of them (RFC 9293, 3.1; RFC 3168, 6.1).
const TCP: u8 = 6;
const TCP_FLAGS: usize = 13;
const TCP_SYN: u8 = 0x02;
const TCP_ACK: u8 = 0x10;
const TCP_ECHO: u8 = 0x40;

#[cfg(test)]
mod tests {
    use rtether_model::network::Pcp;
    use rtether_proto::endnode::MalformedReason;

    use super::*;

    const HEADER: [u8; 14] = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x08, 0x06];

    fn tags(vid: u16) -> Tags {
        let pcp = |class| Pcp::new(7 - class).unwrap();
        Tags {
            insert: Some([0_u8, 1, 2, 3, 4, 5, 6, 7].map(pcp)),
            vid: Vid::new(vid).unwrap(),
            strip: true,
        }
    }

    /// Oracle: IEEE 802.1Q-2022, 9.6: PCP 5 and VLAN 0 are 0xA000, VLAN 7 0xA007.
    #[test]
    fn tags_come_and_go_by_class() {
        let mut pool = Pool::default();
        let (mut frame, parsed) = pool.frame(&HEADER);
        tag(&mut frame, &parsed, 2, &tags(0));
        assert_eq!(frame.len(), 64);
        assert_eq!(frame[12..18], [0x81, 0x00, 0xA0, 0x00, 0x08, 0x06]);
        // A tagged frame gets no second tag.
        let parsed = endnode::parse(&frame);
        let before = frame.clone();
        tag(&mut frame, &parsed, 1, &tags(0));
        assert_eq!(frame, before);
        strip(&mut frame, &parsed, &Tags::default());
        assert_eq!(frame, before);
        strip(&mut frame, &parsed, &tags(7));
        assert_eq!(frame[..14], HEADER);
        assert_eq!(frame.len(), 60);
        // A tag that the stack set itself stays.
        let (mut frame, parsed) = pool.frame(&HEADER);
        tag(&mut frame, &parsed, 2, &tags(7));
        assert_eq!(frame[14..16], [0xA0, 0x07]);
        let parsed = endnode::parse(&frame);
        strip(&mut frame, &parsed, &tags(8));
        assert_eq!(frame.len(), 64);
        strip(&mut frame, &parsed, &tags(7));
        assert_eq!(frame.len(), 60);
    }

    #[test]
    fn buffers_are_used_again() {
        let mut pool = Pool::default();
        let (frame, _) = pool.frame(&[1; 1_000]);
        let address = frame.as_ptr();
        pool.free(frame);
        let (frame, _) = pool.frame(&[2; 10]);
        assert_eq!((frame.as_ptr(), &frame[..]), (address, &[2; 10][..]));
        pool.free(Vec::with_capacity(KEPT_OCTETS + 1));
        assert!(pool.free.is_empty(), "a long one is given back");
        assert_eq!(pool.malformed.count(MalformedReason::ShortFrame), 1);
    }

    /// Oracle: RFC 791, 3.1 and RFC 8200, 3: lengths by hand; IANA: UDP is 17.
    #[test]
    fn datagrams_are_as_long_as_they_say() {
        let ethernet = |kind: &[u8]| [&[2; 12], kind].concat();
        let mut four = vec![0_u8; 46];
        (four[0], four[3], four[9]) = (0x45, 29, 17);
        let mut six = vec![0_u8; 60];
        (six[0], six[5], six[6]) = (0x60, 9, 17);
        let look = |frame: &[u8], rule| datagram(frame, &endnode::parse(frame), rule);
        let found = |octets, class| Some((Bytes::new(octets), class));
        let real_time = smoother::Class::RealTime;
        let plain = [ethernet(&[0x08, 0x00]), four.clone()].concat();
        assert_eq!(look(&plain, Rule::NT), found(29, real_time));
        assert_eq!(look(&plain, Rule::LINUX), found(29, smoother::Class::Bulk));
        let tagged = [ethernet(&[0x81, 0x00, 0x20, 5, 0x08, 0x00]), four].concat();
        assert_eq!(look(&tagged, Rule::NT), found(29, real_time));
        let plain = [ethernet(&[0x86, 0xDD]), six].concat();
        assert_eq!(look(&plain, Rule::NT), found(49, real_time));
        let arp = [ethernet(&[0x08, 0x06]), vec![0; 46]].concat();
        assert_eq!(look(&arp, Rule::NT), None);
        for length in 0..plain.len() {
            look(&plain[..length], Rule::NT);
        }
    }

    /// Oracle: RFC 3168, 6.1: the receiver sets ECE in acknowledgments; in a SYN it is a request.
    #[test]
    fn echoes_are_in_acknowledgements() {
        let mut four = vec![0_u8; 40];
        (four[0], four[3], four[9]) = (0x45, 40, 6);
        let ethernet = [&[2; 12][..], &[0x08, 0x00]].concat();
        let mut six = vec![0_u8; 60];
        (six[0], six[5], six[6]) = (0x60, 20, 6);
        let ethernet_six = [&[2; 12][..], &[0x86, 0xDD]].concat();
        for (flags, expected) in
            [(0x10, Some(false)), (0x50, Some(true)), (0x52, None), (0xC2, None)]
        {
            (four[33], six[53]) = (flags, flags);
            for (header, packet) in [(&ethernet, &four), (&ethernet_six, &six)] {
                let frame = [&header[..], packet].concat();
                let found = echoed_mark(&frame, &endnode::parse(&frame));
                assert_eq!(found.map(|mark| mark.is_marked), expected, "{flags:x}");
                for length in 0..frame.len() {
                    let _ = echoed_mark(&frame[..length], &endnode::parse(&frame[..length]));
                }
            }
        }
        four[9] = 17;
        let frame = [ethernet, four].concat();
        assert_eq!(echoed_mark(&frame, &endnode::parse(&frame)), None);
    }
}
