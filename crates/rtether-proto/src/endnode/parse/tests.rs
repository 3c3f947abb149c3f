use alloc::vec::Vec;

use proptest::prelude::*;

use rtether_model::network::{Pcp, Vid};

use super::super::classifier::Tag;
use super::*;

const MACS: [u8; 12] = [0x01, 0x0C, 0xCD, 0x01, 0x00, 0x01, 0x02, 0x00, 0x00, 0x00, 0x00, 0x07];
/// IPv4 without options, DSCP 46, 32 octets, UDP, from 192.0.2.1 to 198.51.100.2.
const IPV4_UDP: [u8; 20] = [
    0x45, 0xB8, 0x00, 0x20, 0x12, 0x34, 0x40, 0x00, 0x40, 0x11, 0x00, 0x00, 0xC0, 0x00, 0x02, 0x01,
    0xC6, 0x33, 0x64, 0x02,
];
/// Ports 5000 and 102, 12 octets, no checksum; four octets of data.
const UDP: [u8; 12] = [0x13, 0x88, 0x00, 0x66, 0x00, 0x0C, 0x00, 0x00, 0xDE, 0xAD, 0xBE, 0xEF];
const ADDRESSES_V6: [u8; 32] = [
    0x20, 0x01, 0x0D, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, // 2001:db8::1
    0x20, 0x01, 0x0D, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, // 2001:db8::2
];

fn frame(parts: &[&[u8]]) -> Vec<u8> {
    [&MACS as &[u8]].iter().chain(parts).copied().flatten().copied().collect()
}

/// An IPv6 frame: traffic class 0xB8, flow label 0xABCDE.
fn frame_v6(length: [u8; 2], next: u8, rest: &[&[u8]]) -> Vec<u8> {
    let fixed = [0x6B, 0x8A, 0xBC, 0xDE, length[0], length[1], next, 0x40];
    let head: Vec<u8> = [&[0x86, 0xDD], &fixed[..], &ADDRESSES_V6].concat();
    frame(&[&head, &rest.concat()])
}

fn well_formed(frame: &[u8]) -> FrameKey {
    let parsed = parse(frame);
    assert_eq!(parsed.malformed, None);
    parsed.key
}

fn tag(pcp: u8, vid: u16) -> Option<Tag> {
    Pcp::new(pcp).zip(Vid::new(vid)).map(|(pcp, vid)| Tag::new(pcp, vid))
}

fn key_v4() -> FrameKey {
    FrameKey {
        tag: None,
        ethertype: Some(0x0800),
        tos: Some(0xB8),
        protocol: Some(17),
        source: Some("192.0.2.1".parse().unwrap()),
        destination: Some("198.51.100.2".parse().unwrap()),
        source_port: Some(5000),
        destination_port: Some(102),
    }
}

fn key_v6() -> FrameKey {
    FrameKey {
        ethertype: Some(0x86DD),
        source: Some("2001:db8::1".parse().unwrap()),
        destination: Some("2001:db8::2".parse().unwrap()),
        ..key_v4()
    }
}

fn without_ports(key: FrameKey) -> FrameKey {
    FrameKey { source_port: None, destination_port: None, ..key }
}

// Oracle of all tests with literal octets: the layouts of the standards named at the top of the
// module; expected fields written out by hand.

#[test]
fn ipv4_with_and_without_tags() {
    let plain = frame(&[&[0x08, 0x00], &IPV4_UDP, &UDP]);
    assert_eq!(well_formed(&plain), key_v4());
    let tagged = frame(&[&[0x81, 0x00, 0xC0, 0x0A, 0x08, 0x00], &IPV4_UDP, &UDP]);
    let expected = FrameKey { tag: tag(6, 10), ..key_v4() };
    assert_eq!(well_formed(&tagged), expected);
    let priority_only = frame(&[&[0x81, 0x00, 0xE0, 0x00, 0x88, 0xB8], &[0; 46]]);
    let expected = FrameKey { tag: tag(7, 0), ethertype: Some(0x88B8), ..FrameKey::default() };
    assert_eq!(well_formed(&priority_only), expected);
}

#[test]
fn the_outermost_tag_counts() {
    let tags = [0x88, 0xA8, 0x60, 0x64, 0x81, 0x00, 0xA0, 0x0A, 0x08, 0x00];
    let expected = FrameKey { tag: tag(3, 100), ..key_v4() };
    assert_eq!(well_formed(&frame(&[&tags, &IPV4_UDP, &UDP])), expected);
}

#[test]
fn ipv4_with_options() {
    // Header of 24 octets, 36 in all; router alert (RFC 2113).
    let mut header = IPV4_UDP;
    (header[0], header[3]) = (0x46, 0x24);
    let options = [0x94, 0x04, 0x00, 0x00];
    let frame = frame(&[&[0x08, 0x00], &header, &options, &UDP]);
    assert_eq!(well_formed(&frame), key_v4());
}

#[test]
fn fragments_of_ipv4() {
    let mut header = IPV4_UDP;
    // More fragments, offset 0: the first has the ports.
    (header[6], header[7]) = (0x20, 0x00);
    let first = frame(&[&[0x08, 0x00], &header, &UDP]);
    assert_eq!(well_formed(&first), key_v4());
    // Offset 1 (8 octets), last fragment.
    (header[6], header[7]) = (0x00, 0x01);
    let last = frame(&[&[0x08, 0x00], &header, &UDP]);
    assert_eq!(well_formed(&last), without_ports(key_v4()));
}

#[test]
fn ipv4_without_ports() {
    let mut header = IPV4_UDP;
    header[9] = 1;
    let expected = FrameKey { protocol: Some(1), ..without_ports(key_v4()) };
    let ping = frame(&[&[0x08, 0x00], &header, &UDP]);
    assert_eq!(well_formed(&ping), expected);
}

#[test]
fn padding_is_not_read_as_ports() {
    // A packet of 22 octets in a padded frame: the ports are cut off.
    let mut header = IPV4_UDP;
    header[3] = 22;
    let padded = frame(&[&[0x08, 0x00], &header, &[0xFF; 26]]);
    let parsed = parse(&padded);
    assert_eq!(parsed.key, without_ports(key_v4()));
    let expected = Malformed { reason: MalformedReason::ShortPorts, offset: 34 };
    assert_eq!(parsed.malformed, Some(expected));
}

#[test]
fn ipv6_plain_and_with_extensions() {
    assert_eq!(well_formed(&frame_v6([0, 12], 17, &[&UDP])), key_v6());
    // Hop-by-hop (8 octets), routing (16), destination options (8), authentication (12), then UDP.
    let hop_by_hop = [43, 0, 5, 2, 0, 0, 1, 0];
    let routing = [60, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let destination = [51, 0, 1, 4, 0, 0, 0, 0];
    let authentication = [17, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1];
    let rest: [&[u8]; 5] = [&hop_by_hop, &routing, &destination, &authentication, &UDP];
    assert_eq!(well_formed(&frame_v6([0, 56], 0, &rest)), key_v6());
}

#[test]
fn fragments_of_ipv6() {
    let first = [17, 0, 0x00, 0x01, 0, 0, 0, 9];
    let frame = frame_v6([0, 20], 44, &[&first, &UDP]);
    assert_eq!(well_formed(&frame), key_v6());
    // Offset 1 (8 octets).
    let later = [17, 0, 0x00, 0x08, 0, 0, 0, 9];
    let frame = frame_v6([0, 20], 44, &[&later, &UDP]);
    assert_eq!(well_formed(&frame), without_ports(key_v6()));
}

#[test]
fn ipv6_that_ends_without_ports() {
    for next in [58, 50, 59] {
        let expected = FrameKey { protocol: Some(next), ..without_ports(key_v6()) };
        assert_eq!(well_formed(&frame_v6([0, 12], next, &[&UDP])), expected);
    }
}

#[test]
fn jumbo_frames_and_jumbograms() {
    // 9000 octets of packet: 0x2328.
    let mut header = IPV4_UDP;
    (header[2], header[3]) = (0x23, 0x28);
    let jumbo = frame(&[&[0x08, 0x00], &header, &UDP, &[0; 8968]]);
    assert_eq!(jumbo.len(), 9014);
    assert_eq!(well_formed(&jumbo), key_v4());
    // Payload length 0 and the length in a hop-by-hop option (RFC 2675).
    let option = [17, 0, 0xC2, 4, 0, 1, 0x11, 0x78];
    let jumbogram = frame_v6([0, 0], 0, &[&option, &UDP, &alloc::vec![0; 70_000]]);
    assert_eq!(well_formed(&jumbogram), key_v6());
}

#[test]
fn frames_that_are_not_ip() {
    let only = |ethertype| FrameKey { ethertype, ..FrameKey::default() };
    // ARP request (RFC 826): its addresses are not read.
    let arp = [
        0x08, 0x06, 0x00, 0x01, 0x08, 0x00, 0x06, 0x04, 0x00, 0x01, 0x02, 0x00, 0x00, 0x00, 0x00,
        0x07, 0xC0, 0x00, 0x02, 0x01, 0, 0, 0, 0, 0, 0, 0xC0, 0x00, 0x02, 0x02,
    ];
    assert_eq!(well_formed(&frame(&[&arp])), only(Some(0x0806)));
    let goose = frame(&[&[0x88, 0xB8], &[0; 46]]);
    assert_eq!(well_formed(&goose), only(Some(0x88B8)));
    // Length 38 and LLC, as in a spanning tree frame.
    let llc = frame(&[&[0x00, 0x26, 0x42, 0x42, 0x03], &[0; 43]]);
    assert_eq!(well_formed(&llc), only(None));
}

#[test]
fn every_contradiction_has_its_reason_and_place() {
    use MalformedReason as R;
    let v4 = |change: fn(&mut [u8; 20])| {
        let mut header = IPV4_UDP;
        change(&mut header);
        frame(&[&[0x08, 0x00], &header, &UDP])
    };
    let one_tag = [0x81, 0x00, 0x20, 0x01];
    let option = [0, 0, 1, 4, 0, 0, 0, 0];
    let cases: [(Vec<u8>, R, usize); 17] = [
        (Vec::new(), R::ShortFrame, 0),
        (MACS.to_vec(), R::ShortFrame, 0),
        (frame(&[&[0x05, 0xDD]]), R::UndefinedType, 12),
        (frame(&[&[0x05, 0xFF]]), R::UndefinedType, 12),
        (frame(&[&one_tag, &[0x08]]), R::ShortTag, 12),
        (frame(&[&one_tag, &one_tag]), R::ShortTag, 16),
        (frame(&[&one_tag.repeat(5), &[8, 0]]), R::TooManyTags, 28),
        (frame(&[&[0x81, 0x00, 0x2F, 0xFF, 8, 0]]), R::ReservedVid, 12),
        (frame(&[&[0x08, 0x00], &IPV4_UDP[..19]]), R::ShortIpHeader, 14),
        (v4(|h| h[0] = 0x65), R::WrongIpVersion, 14),
        (v4(|h| h[0] = 0x44), R::IpHeaderLength, 14),
        (v4(|h| h[3] = 19), R::IpHeaderLength, 14),
        (v4(|h| h[3] = 33), R::IpPacketLength, 14),
        (v4(|h| h[3] = 23), R::ShortPorts, 34),
        (frame_v6([0, 13], 17, &[&UDP]), R::IpPacketLength, 14),
        (frame_v6([0, 7], 60, &[&UDP]), R::ShortExtension, 54),
        (frame_v6([0, 72], 0, &[&option.repeat(9)]), R::TooManyExtensions, 54 + 72),
    ];
    let mut counters = MalformedCounters::default();
    for (frame, reason, offset) in &cases {
        let parsed = parse(frame);
        let expected = Malformed { reason: *reason, offset: *offset };
        assert_eq!(parsed.malformed, Some(expected), "{frame:02X?}");
        counters.note(&parsed);
    }
    counters.note(&parse(&frame(&[&[0x08, 0x00], &IPV4_UDP, &UDP])));
    assert_eq!(counters.well_formed(), 1);
    for reason in MalformedReason::ALL {
        let count = cases.iter().filter(|case| case.1 == reason).count();
        assert!(count > 0, "{reason:?} has no case");
        assert_eq!(counters.count(reason), count as u64, "{reason:?}");
    }
}

#[test]
fn a_tag_survives_what_follows_it() {
    let cut = frame(&[&[0x81, 0x00, 0xA0, 0x05, 0x08, 0x00], &IPV4_UDP[..10]]);
    let parsed = parse(&cut);
    assert_eq!(parsed.key.tag, tag(5, 5));
    assert_eq!(parsed.key.ethertype, Some(0x0800));
    assert!(parsed.malformed.is_some());
}

/// Octets that begin like a frame, so that random ones reach every header.
fn plausible() -> impl Strategy<Value = Vec<u8>> {
    let tag = prop_oneof![Just([0x81, 0x00]), Just([0x88, 0xA8])];
    let tags = proptest::collection::vec((tag, any::<[u8; 2]>()), 0..6);
    let kind =
        prop_oneof![Just([0x08, 0x00, 0x45]), Just([0x08, 0x00, 0x4F]), Just([0x86, 0xDD, 0x60])];
    let next =
        prop_oneof![Just(0_u8), Just(17), Just(43), Just(44), Just(51), Just(60), any::<u8>()];
    let rest =
        proptest::collection::vec(prop_oneof![1 => any::<u8>(), 2 => 0_u8..2, 2 => next], 0..120);
    (tags, kind, rest).prop_map(|(tags, kind, rest)| {
        let tags: Vec<u8> = tags.iter().flat_map(|(a, b)| [a[0], a[1], b[0], b[1]]).collect();
        frame(&[&tags, &kind, &rest])
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn any_octets_are_accepted(octets in proptest::collection::vec(any::<u8>(), 0..200)) {
        // Oracles: no panic; an offset lies within the frame.
        let parsed = parse(&octets);
        prop_assert!(parsed.malformed.is_none_or(|malformed| malformed.offset <= octets.len()));
    }

    #[test]
    fn plausible_octets_are_accepted(octets in plausible()) {
        // Oracles: no panic; an offset lies within the frame; ports come in pairs and above IP.
        let Parsed { key, malformed } = parse(&octets);
        prop_assert!(malformed.is_none_or(|malformed| malformed.offset <= octets.len()));
        prop_assert_eq!(key.source_port.is_some(), key.destination_port.is_some());
        prop_assert_eq!(key.source.is_some(), key.destination.is_some());
        prop_assert!(key.source_port.is_none() || key.protocol.is_some_and(has_ports));
        prop_assert_eq!(key.source.is_some(), key.protocol.is_some());
    }
}

#[test]
fn a_cut_frame_says_no_more_than_the_whole() {
    // Oracle: for a shorter frame, each field of the key is that of the whole frame or absent.
    let authentication = [17, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1];
    let whole = frame_v6([0, 24], 51, &[&authentication, &UDP]);
    let full = well_formed(&whole);
    for len in 0..whole.len() {
        let Parsed { key, malformed } = parse(&whole[..len]);
        assert!(malformed.is_some(), "{len}");
        assert!(key.source.is_none() || key.source == full.source);
        assert!(key.source_port.is_none() && key.destination_port.is_none());
    }
}
