use super::*;
use crate::tcp::Flags;
use etherparse::{NetSlice, SlicedPacket, TransportSlice};

const ALL: [Encapsulation; 7] = [
    Encapsulation::Raw,
    Encapsulation::Udp,
    Encapsulation::Tcp,
    Encapsulation::Icmp,
    Encapsulation::Goose,
    Encapsulation::SampledValues,
    Encapsulation::Profinet,
];

fn description(encapsulation: Encapsulation, payload: u64) -> FrameDescription {
    FrameDescription {
        source: 1,
        destination: Destination::Station(2),
        tag: None,
        encapsulation,
        payload: Bytes::new(payload),
        dscp: 0,
        flow: 3,
        ports: Ports::UNSET,
        reply: false,
        identification: 0,
        tcp: None,
    }
}

fn bytes(description: &FrameDescription) -> Vec<u8> {
    let mut out = Vec::new();
    description.append_to(&mut out);
    out
}

/// Our own ones'-complement sum over 16-bit words (RFC 1071); 0xFFFF over data that includes a
/// valid checksum.
fn sum(parts: &[&[u8]]) -> u16 {
    let mut sum = 0_u32;
    for part in parts {
        for pair in part.chunks(2) {
            sum += u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
        }
    }
    while sum > 0xFFFF {
        sum = (sum >> 16) + (sum & 0xFFFF);
    }
    u16::try_from(sum).unwrap()
}

#[test]
fn one_frame_octet_by_octet() {
    // Four octets over UDP from station 1 to station 2, tagged with PCP 6 and VID 100, DSCP 46.
    let frame = bytes(&FrameDescription {
        tag: Some(Tag { pcp: 6, vid: 100 }),
        dscp: 46,
        identification: 0x1234,
        ..description(Encapsulation::Udp, 4)
    });
    #[rustfmt::skip]
    let expected = [
        // Destination, source.
        0x02, 0, 0, 0, 0, 2,  0x02, 0, 0, 0, 0, 1,
        // Tag: 6 << 13 | 100.
        0x81, 0x00, 0xC0, 0x64,  0x08, 0x00,
        // IPv4: 20 + 8 + 4 octets, DSCP 46 << 2, do not fragment, TTL 64, UDP. The words without
        // the checksum add up to 45B8 + 0020 + 1234 + 4000 + 4011 + 0A00 + 0001 + 0A00 + 0002 =
        // EC20; its complement is 13DF.
        0x45, 0xB8, 0x00, 0x20, 0x12, 0x34, 0x40, 0x00, 0x40, 0x11, 0x13, 0xDF,
        10, 0, 0, 1,  10, 0, 0, 2,
        // UDP: ports 49152 + 3 and 49152, 12 octets. Pseudo header 0A00 + 0001 + 0A00 + 0002 +
        // 0011 + 000C = 1420, header C003 + C000 + 000C = 1800F: 1942F, with the carry 9430; its
        // complement is 6BCF.
        0xC0, 0x03, 0xC0, 0x00, 0x00, 0x0C, 0x6B, 0xCF,
        // Payload and padding up to 60 + 4.
        0, 0, 0, 0,
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    ];
    assert_eq!(frame, expected);
}

#[test]
fn lengths_are_those_of_the_frame_arithmetic() {
    for encapsulation in ALL {
        for payload in 0..=encapsulation.max_payload().get() {
            for tag in [None, Some(Tag { pcp: 7, vid: 4095 })] {
                let description = FrameDescription { tag, ..description(encapsulation, payload) };
                let tag_size = if tag.is_some() { 4 } else { 0 };
                let expected =
                    wire::frame_size(Bytes::new(payload), encapsulation).get() - 4 + tag_size;
                let length = u64::try_from(bytes(&description).len()).unwrap();
                assert_eq!(length, expected, "{description:?}");
                assert_eq!(description.length().get(), expected);
            }
        }
    }
}

#[test]
fn frames_are_appended() {
    let mut out = Vec::new();
    description(Encapsulation::Raw, 0).append_to(&mut out);
    description(Encapsulation::Udp, 100).append_to(&mut out);
    assert_eq!(out.len(), 60 + 142);
    assert_eq!(out[60..], bytes(&description(Encapsulation::Udp, 100)));
}

#[test]
fn ip_checksums_are_valid() {
    for encapsulation in [Encapsulation::Udp, Encapsulation::Tcp, Encapsulation::Icmp] {
        for payload in [0, 1, 17, 18, 100, encapsulation.max_payload().get()] {
            let frame = bytes(&FrameDescription {
                source: 0x0001_0203,
                dscp: 63,
                flow: 0x0ABC_DEF1,
                identification: 0xBEEF,
                tcp: Some(Segment { seq: 1 << 40, ack: u64::MAX, ..Segment::default() }),
                ..description(encapsulation, payload)
            });
            assert_eq!(sum(&[&frame[14..34]]), 0xFFFF);
            let total = usize::from(u16::from_be_bytes([frame[16], frame[17]]));
            let body = &frame[34..14 + total];
            let length = u16::try_from(body.len()).unwrap().to_be_bytes();
            let pseudo: &[u8] = &[&frame[26..34], &[0, frame[23]], &length].concat();
            let parts: &[&[u8]] =
                if encapsulation == Encapsulation::Icmp { &[body] } else { &[pseudo, body] };
            assert_eq!(sum(parts), 0xFFFF, "{encapsulation:?}, {payload} octets");
        }
    }
}

#[test]
fn a_tcp_segment_reads_back() {
    let segment = Segment {
        seq: (1 << 32) + 5,
        ack: 9,
        len: 100,
        window: 1_000_000,
        flags: Flags { syn: false, ack: true, fin: true },
    };
    let frame = bytes(&FrameDescription {
        flow: 5 << 14 | 7,
        ports: Ports::UNSET,
        reply: true,
        tcp: Some(segment),
        ..description(Encapsulation::Tcp, 100)
    });
    let packet = SlicedPacket::from_ethernet(&frame).unwrap();
    let Some(TransportSlice::Tcp(tcp)) = packet.transport else { panic!("{packet:?}") };
    assert_eq!((tcp.source_port(), tcp.destination_port()), (49_152 + 5, 49_152 + 7));
    assert_eq!((tcp.sequence_number(), tcp.acknowledgment_number()), (5, 9));
    assert!(tcp.fin() && tcp.ack() && !tcp.syn());
    assert_eq!((tcp.window_size(), tcp.payload().len()), (65_535, 100));
}

#[test]
fn udp_and_tag_read_back() {
    let frame = bytes(&FrameDescription {
        source: 0x0102_0304,
        tag: Some(Tag { pcp: 5, vid: 42 }),
        dscp: 34,
        ..description(Encapsulation::Udp, 200)
    });
    let packet = SlicedPacket::from_ethernet(&frame).unwrap();
    let vlan = packet.vlan().unwrap().to_header();
    let etherparse::VlanHeader::Single(vlan) = vlan else { panic!("two tags") };
    assert_eq!((vlan.pcp.value(), vlan.vlan_id.value()), (5, 42));
    let Some(NetSlice::Ipv4(ip)) = packet.net else { panic!("no IPv4") };
    assert_eq!((ip.header().source(), ip.header().dcp().value()), ([10, 2, 3, 4], 34));
    let Some(TransportSlice::Udp(udp)) = packet.transport else { panic!("no UDP") };
    assert_eq!(udp.payload().len(), 200);
}

#[test]
fn destinations() {
    let to = |destination, encapsulation| {
        let frame = bytes(&FrameDescription { destination, ..description(encapsulation, 10) });
        <[u8; 6]>::try_from(&frame[..6]).unwrap()
    };
    let group = Destination::Group(0x00FF_0001);
    assert_eq!(to(group, Encapsulation::Udp), [0x01, 0x00, 0x5E, 0x7F, 0x00, 0x01]);
    assert_eq!(to(group, Encapsulation::Goose), [0x03, 0x00, 0x00, 0xFF, 0x00, 0x01]);
    assert_eq!(to(Destination::Broadcast, Encapsulation::Raw), [0xFF; 6]);
    assert_eq!(to(Destination::Station(258), Encapsulation::Raw), [2, 0, 0, 0, 1, 2]);
}

#[test]
fn headers_of_automation_protocols() {
    let goose = bytes(&description(Encapsulation::Goose, 100));
    assert_eq!(goose[12..22], [0x88, 0xB8, 0, 3, 0, 108, 0, 0, 0, 0]);
    let values = bytes(&description(Encapsulation::SampledValues, 100));
    assert_eq!(values[12..18], [0x88, 0xBA, 0x40, 3, 0, 108]);
    // The shortest PROFINET frame: 40 octets of data, and the status at the end.
    let profinet =
        FrameDescription { identification: 0x0102, ..description(Encapsulation::Profinet, 1) };
    let profinet = bytes(&profinet);
    assert_eq!(profinet[12..16], [0x88, 0x92, 0x80, 3]);
    assert_eq!(profinet[56..], [1, 2, 0x35, 0]);
    let raw = bytes(&description(Encapsulation::Raw, 1));
    assert_eq!(raw[12..14], [0x88, 0xB5]);
}

#[test]
#[should_panic(expected = "is too large")]
fn a_payload_beyond_one_frame_is_refused() {
    bytes(&description(Encapsulation::Udp, 1473));
}
