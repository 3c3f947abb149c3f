//! Messages worked out by hand; those of ORTE are in `tests/octets`.

use std::vec::Vec;

use super::*;
use crate::sequence::{NumberSet, SequenceNumber};
use crate::time::{Duration, WallTime};
use crate::wire::Parameter;

const SOURCE: Source = Source::new(0x0A4D_0001, 7, Role::Application);

#[test]
fn a_sample_has_48_octets_of_headers() {
    // Oracle: Dolejs et al. count 48 octets of RTPS in front of the value.
    let mut buffer = Vec::new();
    let mut message = Builder::new(&mut buffer, SOURCE, 100);
    assert!(message.is_empty());
    assert!(message.info_timestamp(Some(WallTime::from_ns(1_500_000_000).into())));
    let issue = Issue {
        reader: EntityId::UNKNOWN,
        writer: EntityId::writer(1, false),
        sequence: SequenceNumber(1 << 32 | 5),
        parameters: None,
        payload: &[1, 2, 3],
        is_little_endian: true,
    };
    assert!(message.issue(&issue));
    let expected = [
        &b"RTPS\x01\x00\x00\x00\x0A\x4D\x00\x01\x00\x00\x07\x01"[..],
        &[0x09, 1, 8, 0, 1, 0, 0, 0, 0, 0, 0, 0x80],
        &[0x03, 1, 19, 0, 0, 0, 0, 0, 0, 0, 1, 3, 1, 0, 0, 0, 5, 0, 0, 0],
        &[1, 2, 3],
    ]
    .concat();
    assert_eq!(buffer, expected);
    assert_eq!(buffer.len(), ISSUE_HEADS + 3);
    let big = Issue { is_little_endian: false, ..issue };
    assert!(Builder::new(&mut buffer, SOURCE, 100).issue(&big));
    let head = [0x03, 0, 0, 19, 0, 0, 0, 0, 0, 0, 1, 3, 0, 0, 0, 1, 0, 0, 0, 5];
    assert_eq!(buffer[HEADER_SIZE..], [&head[..], &[1, 2, 3]].concat());
    assert!(!Builder::new(&mut buffer, SOURCE, 38).issue(&big), "no room");
}

#[test]
fn zeros_of_an_acknowledgment_are_missing() {
    // Oracle: the draft: a 0 means missing, a 1 says nothing.
    let ack = Ack {
        reader: EntityId::reader(1, false),
        writer: EntityId::writer(1, false),
        set: NumberSet::from_words(10, 4, [0b1010 << 28]).unwrap(),
        is_final: true,
    };
    assert_eq!(ack.missing().iter().collect::<Vec<_>>(), [11, 13]);
}

#[test]
fn prefixes_stand_for_participants() {
    assert_eq!(SOURCE.application, 0x0000_0701);
    assert_eq!(SOURCE.role(), Some(Role::Application));
    assert_eq!(Source::of(SOURCE.prefix()), SOURCE);
    let manager = Source::new(1, 0xFF00_0001, Role::Manager);
    assert_eq!(manager.application, 0x0000_0102, "24 bits of the number");
    assert_eq!(manager.role(), Some(Role::Manager));
    let other = Source { host: 1, application: 3 };
    assert_eq!(other.role(), None);
}

#[test]
fn malformed_messages_are_errors() {
    let header = b"RTPS\x01\x00\x00\x00\x0A\x4D\x00\x01\x00\x00\x07\x01";
    let first = |octets: &[u8]| {
        let message = [&header[..], octets].concat();
        let message = parse(&message).unwrap();
        message.submessages().next().unwrap().map(|_| ())
    };
    assert_eq!(parse(b"RTPX").err(), Some(Malformed::NotRtps));
    let (major, minor) = (2, 5);
    let other = parse(b"RTPS\x02\x05\x00\x00\x0A\x4D\x00\x01\x00\x00\x07\x01");
    assert_eq!(other.err(), Some(Malformed::Version { major, minor }));
    assert_eq!(parse(&header[..15]).err(), Some(Malformed::Truncated { offset: 12 }));
    // A length beyond the datagram, a head that is cut, an empty submessage.
    assert_eq!(first(&[7, 1, 25, 0]), Err(Malformed::Overrun { offset: 16 }));
    assert_eq!(first(&[7, 1]), Err(Malformed::Truncated { offset: 18 }));
    assert_eq!(first(&[3, 1, 0, 0]), Err(Malformed::Truncated { offset: 20 }));
    // First 5 and last 3; first 0 and last 0 of a writer without samples.
    let mut heartbeat = [0; 28];
    heartbeat[..4].copy_from_slice(&[7, 1, 24, 0]);
    assert_eq!(first(&heartbeat), Ok(()));
    (heartbeat[16], heartbeat[24]) = (5, 3);
    assert_eq!(first(&heartbeat), Err(Malformed::Value { offset: 36 }));
    // A bitmap of 257.
    let mut ack = [0; 28];
    (ack[0], ack[1], ack[2]) = (6, 1, 24);
    ack[20..22].copy_from_slice(&[1, 1]);
    assert_eq!(first(&ack), Err(Malformed::Value { offset: 36 }));
    // A list without its end; a value longer than the list.
    let mut var = [0; 28];
    (var[0], var[1], var[2], var[20]) = (2, 3, 24, 1);
    var[24..28].copy_from_slice(&[2, 0, 0, 0]);
    assert_eq!(first(&var), Err(Malformed::Endless { offset: 44 }));
    var[26] = 1;
    assert_eq!(first(&var), Err(Malformed::Overrun { offset: 40 }));
    // A sequence number of zero.
    var[20] = 0;
    assert_eq!(first(&var), Err(Malformed::Value { offset: 32 }));
}

#[test]
fn spans_that_orte_takes_for_infinite() {
    // Oracle: NTPTIME_INFINITE of ORTE has seconds of -1; the draft has the largest of both.
    let span_of = |seconds: i32| {
        let value = [seconds.to_le_bytes(), [0; 4]].concat();
        let (id, is_little_endian) = (2, true);
        let value = value.as_slice();
        span(&Parameter { id, value, is_little_endian }).unwrap()
    };
    assert_eq!(span_of(30), Duration::from_s(30));
    assert!(span_of(-1).is_infinite() && span_of(i32::MAX).is_infinite());
    assert_eq!(span_to_wire(Duration::from_ms(1_500)), (1, 1 << 31));
    assert!(span_of(span_to_wire(Duration::INFINITE).0).is_infinite());
}
