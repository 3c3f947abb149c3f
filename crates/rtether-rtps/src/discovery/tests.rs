use std::vec::Vec;

use super::*;
use crate::guid::GuidPrefix;
use crate::locator::Locator;
use crate::qos::{AccessScope, History, Qos, Reliability, Representation, ResourceLimits};
use crate::time::Duration;

mod round_trip;

const PREFIX: GuidPrefix = GuidPrefix([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
const WRITER: Guid = Guid::new(PREFIX, EntityId([0, 0, 2, 2]));
/// Topic `Square` and type `Shape`, big-endian, and the GUID of [`WRITER`].
const NAMES: [u8; 56] =
    *b"\x00\x05\x00\x0C\0\0\0\x07Square\0\0\x00\x07\x00\x0C\0\0\0\x06Shape\0\0\0\
    \x00\x5A\x00\x10\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0A\x0B\x0C\0\0\x02\x02\
    \x80\x07\x00\x00";

/// A big-endian payload.
fn payload(parts: &[&[u8]]) -> Vec<u8> {
    [&[0, 2, 0, 0], parts.concat().as_slice(), &[0, 1, 0, 0]].concat()
}

/// Reads an endpoint announced with one parameter in addition to its names, big-endian.
fn endpoint(is_writer: bool, id: u16, value: &[u8]) -> Result<EndpointData, Malformed> {
    let len = u16::try_from(value.len()).unwrap().to_be_bytes();
    let payload = payload(&[&NAMES, &id.to_be_bytes(), &len, value]);
    EndpointData::decode(&payload, is_writer)
}

fn participant(id: u16, value: &[u8]) -> Result<ParticipantData, Malformed> {
    let len = u16::try_from(value.len()).unwrap().to_be_bytes();
    let guid = Guid::new(PREFIX, EntityId::PARTICIPANT).octets();
    let payload = payload(&[&[0, 0x50, 0, 16], &guid, &id.to_be_bytes(), &len, value]);
    ParticipantData::decode(&payload)
}

#[test]
fn defaults_of_writers_and_readers_differ() {
    // Oracle: DDS 1.4, 2.2.3.14: by default writers are reliable and readers best effort.
    let all = payload(&[&NAMES]);
    let writer = EndpointData::decode(&all, true).unwrap();
    assert_eq!(writer.qos, Qos::writer());
    assert_eq!(writer.qos.reliability, Reliability::Reliable);
    assert_eq!((writer.topic.as_str(), writer.type_name.as_str()), ("Square", "Shape"));
    assert_eq!(writer.guid, WRITER);
    let reader = EndpointData::decode(&all, false).unwrap();
    assert_eq!(reader.qos, Qos::reader());
    let guid = Guid::new(PREFIX, EntityId::PARTICIPANT).octets();
    let data = ParticipantData::decode(&payload(&[&[0, 0x50, 0, 16], &guid])).unwrap();
    assert_eq!(data.lease, Duration::from_s(100), "8.5.3.3");
    assert_eq!((data.domain, data.domain_tag.as_str()), (None, ""));
}

#[test]
fn big_endian_policies_by_hand() {
    let qos = |id, value: &[u8]| endpoint(true, id, value).map(|data| data.qos);
    let infinite = [0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF];
    let reliability = qos(0x1A, &[0, 0, 0, 1, 0, 0, 0, 1, 0x80, 0, 0, 0]).unwrap();
    assert_eq!(reliability.reliability, Reliability::BestEffort);
    assert_eq!(reliability.max_blocking, Duration::from_ms(1_500));
    assert_eq!(qos(0x23, &infinite).unwrap().deadline, Duration::INFINITE);
    let lifespan = qos(0x2B, &[0, 0, 0, 2, 0, 0, 0, 0]).unwrap().lifespan;
    assert_eq!(lifespan, Duration::from_s(2));
    let partitions = b"\0\0\0\x02\0\0\0\x03ab\0\0\0\0\0\x02*\0\0\0";
    assert_eq!(qos(0x29, partitions).unwrap().partitions, ["ab", "*"]);
    let representations = qos(0x73, &[0, 0, 0, 2, 0, 2, 0, 0]).unwrap().representations;
    assert_eq!(representations, [Representation::Xcdr2, Representation::Xcdr1]);
    let presentation = qos(0x21, &[0, 0, 0, 2, 1, 0, 0, 0]).unwrap().presentation;
    assert_eq!((presentation.scope, presentation.is_coherent), (AccessScope::Group, true));
    assert_eq!(qos(0x40, &[0, 0, 0, 0, 0, 0, 0, 7]).unwrap().history, History::KeepLast(7));
    let limits = [0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 9, 0xFF, 0xFF, 0xFF, 0xFF];
    let expected = ResourceLimits { instances: Some(9), ..ResourceLimits::default() };
    assert_eq!(qos(0x41, &limits).unwrap().limits, expected);
    // An all-zero durability service, type information and a vendor-specific policy change nothing.
    assert_eq!(qos(0x1E, &[0; 28]), Ok(Qos::writer()));
    assert_eq!(qos(0x75, &[0xFF; 8]), Ok(Qos::writer()));
    assert_eq!(qos(0xC019, &[0xFF; 8]), Ok(Qos::writer()));
}

#[test]
fn values_that_policies_cannot_have() {
    for (id, value) in [
        (0x1A, &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0][..]),
        (0x1A, &[0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0]),
        (0x1A, &[0, 0, 0, 1]),
        (0x1D, &[0, 0, 0, 4]),
        (0x1D, &[0xFF; 4]),
        (0x1B, &[0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0]),
        (0x1F, &[0, 0, 0, 2]),
        (0x21, &[0, 0, 0, 3, 0, 0, 0, 0]),
        (0x21, &[0, 0, 0, 1, 2, 0, 0, 0]),
        (0x23, &[0xFF; 8]),
        (0x25, &[0, 0, 0, 2]),
        (0x40, &[0, 0, 0, 2, 0, 0, 0, 1]),
        (0x43, &[2, 0, 0, 0]),
        (0x73, &[0, 0, 0, 1, 0, 9, 0, 0]),
        (0x73, &[0xFF; 8]),
        (0x29, &[0xFF; 8]),
        (0x29, &[0, 0, 0, 33]),
        (0x2C, &[0, 0, 0, 9, 1, 2, 3, 4]),
        (0x35, &[0, 0, 0, 2, b'a', 0, 0, 0]),
        (0x2F, &[0; 20]),
        (0x05, &[0, 0, 0, 200, b'a', 0, 0, 0]),
    ] {
        let error = Err(Malformed::Parameter { id });
        assert_eq!(endpoint(true, id, value), error, "{id:#x}");
        assert_eq!(endpoint(false, id, value), error, "{id:#x}");
    }
    assert_eq!(endpoint(true, 0x4FF0, &[]), Err(Malformed::NotUnderstood { id: 0x4FF0 }));
    assert!(endpoint(true, 0x0FF0, &[]).is_ok());
    assert!(endpoint(true, 0x401D, &[0, 0, 0, 1]).is_ok(), "known, so it is understood");
}

#[test]
fn encodings_that_are_not_known_are_passed_over_where_that_is_safe() {
    let of =
        |is_writer, value: &[u8]| endpoint(is_writer, 0x73, value).map(|d| d.qos.representations);
    let later = [0, 0, 0, 2, 0, 9, 0, 2];
    assert_eq!(of(false, &later).unwrap(), [Representation::Xcdr2]);
    assert!(of(true, &later).is_err(), "the first one is what the writer uses");
    assert_eq!(of(true, &[0, 0, 0, 2, 0, 2, 0, 9]).unwrap(), [Representation::Xcdr2]);
}

#[test]
fn limits_hold() {
    let mut long = std::vec![b'a'; 4 + 260];
    long[..4].copy_from_slice(&[0, 0, 1, 4]);
    long[263] = 0;
    assert_eq!(participant(0x62, &long), Err(Malformed::Parameter { id: 0x62 }));
    let mut data = std::vec![0; 4 + 1_028];
    data[..4].copy_from_slice(&[0, 0, 4, 4]);
    assert_eq!(participant(0x2C, &data), Err(Malformed::Parameter { id: 0x2C }));
    // A property list that claims more than it holds (CVE-2023-39946, CVE-2025-62599) is not read.
    assert!(participant(0x59, &[0xFF; 8]).is_ok());
    let locator = [
        0, 0x32, 0, 24, 0, 0, 0, 1, 0, 0, 0x1C, 0xF2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10, 0, 0,
        1,
    ];
    let foreign = [&locator[..7], &[16], &locator[8..]].concat();
    let guid = Guid::new(PREFIX, EntityId::PARTICIPANT).octets();
    let many = [foreign, locator.repeat(50)].concat();
    let data = ParticipantData::decode(&payload(&[&[0, 0x50, 0, 16], &guid, &many])).unwrap();
    let expected = Locator::udp([10, 0, 0, 1].into(), 7_410);
    assert_eq!(data.metatraffic_unicast, [expected; LOCATORS_MAX]);
}

#[test]
fn wrong_encapsulation() {
    let mut octets = payload(&[&NAMES]);
    for id in [0_u8, 1, 6, 7, 10, 0xFF] {
        octets[1] = id;
        let error = Malformed::Encapsulation { id: u16::from(id) };
        assert_eq!(EndpointData::decode(&octets, true), Err(error));
        assert_eq!(ParticipantData::decode(&octets), Err(error));
        assert_eq!(decode_key(&octets), Err(error));
    }
    assert_eq!(decode_key(&[0, 3]), Err(Malformed::Truncated { offset: 2 }));
    assert_eq!(decode_key(&[0, 3, 0, 0]), Err(Malformed::Endless { offset: 4 }));
}

#[test]
fn filters_beyond_the_limits() {
    // Oracle: a filter that is complete but beyond the limits is ignored; a malformed one is
    // rejected.
    let string = |len: usize| {
        let mut octets = u32::try_from(len + 1).unwrap().to_be_bytes().to_vec();
        octets.resize(4 + len, b'x');
        octets.resize((4 + len + 1).next_multiple_of(4), 0);
        octets
    };
    let filter = |expression: usize, parameters: u32, len: usize| {
        let mut value = [string(3), string(3), string(6), string(expression)].concat();
        value.extend_from_slice(&parameters.to_be_bytes());
        for _ in 0..parameters {
            value.extend_from_slice(&string(len));
        }
        endpoint(false, 0x35, &value).map(|data| data.content_filter.is_some())
    };
    assert_eq!(filter(4_096, 16, 255), Ok(true));
    assert_eq!(filter(4_097, 0, 0), Ok(false));
    assert_eq!(filter(40_000, 1, 1), Ok(false));
    assert_eq!(filter(1, 17, 1), Ok(false));
    assert_eq!(filter(1, 5_000, 1), Ok(false));
    assert_eq!(filter(1, 1, 256), Ok(false));
    let malformed = Err(Malformed::Parameter { id: 0x35 });
    let start = [string(3), string(3), string(6), string(1)].concat();
    for count in [1, 17, u32::MAX] {
        let value = [start.as_slice(), &count.to_be_bytes()].concat();
        let read = endpoint(false, 0x35, &value);
        assert_eq!(read.map(|_| ()), malformed, "{count}");
    }
    assert_eq!(endpoint(false, 0x35, &[&start[..32], &[0x7F; 4]].concat()).map(|_| ()), malformed);
    // Writing: a filter that is too long is omitted, not truncated.
    for (len, is_there) in [(4_096, true), (4_097, false)] {
        let data = EndpointData {
            guid: WRITER,
            content_filter: Some(ContentFilter {
                topic: "t".into(),
                related_topic: "r".into(),
                class: "DDSSQL".into(),
                expression: "x".repeat(len),
                parameters: Vec::new(),
            }),
            ..endpoint(false, 0, &[]).unwrap()
        };
        let mut out = Vec::new();
        data.encode(&mut out, false);
        let read = EndpointData::decode(&out, false).unwrap();
        assert_eq!(read.content_filter.is_some(), is_there);
    }
}

#[test]
fn what_may_not_be_missing() {
    let missing = |id| Malformed::Missing { id };
    let empty = payload(&[]);
    assert_eq!(ParticipantData::decode(&empty), Err(missing(0x50)));
    assert_eq!(EndpointData::decode(&empty, true), Err(missing(0x5A)));
    assert_eq!(EndpointData::decode(&payload(&[&NAMES[16..]]), true), Err(missing(0x05)));
    assert_eq!(
        EndpointData::decode(&payload(&[&NAMES[..16], &NAMES[32..]]), true),
        Err(missing(0x07))
    );
    assert_eq!(decode_key(&empty), Err(missing(0x5A)));
    // A participant GUID that names an endpoint.
    assert_eq!(participant(0x50, &WRITER.octets()), Err(Malformed::Parameter { id: 0x50 }));
}

#[test]
fn keys() {
    assert_eq!(decode_key(&payload(&[&NAMES[32..]])), Ok(WRITER));
    let guid = Guid::new(PREFIX, EntityId::PARTICIPANT);
    let participant = [&[0, 0x50, 0, 16], guid.octets().as_slice()].concat();
    assert_eq!(decode_key(&payload(&[&participant])), Ok(guid));
    assert_eq!(decode_key(&payload(&[&NAMES[32..], &participant])), Ok(WRITER));
    // Writing gives the same, little-endian.
    for (guid, id) in [(WRITER, 0x5A), (guid, 0x50)] {
        let mut out = Vec::new();
        encode_key(guid, &mut out);
        let octets = guid.octets();
        let expected = [&[0, 3, 0, 0, id, 0, 16, 0], &octets[..], &[1, 0, 0, 0]].concat();
        assert_eq!(out, expected);
    }
}

#[test]
fn written_participant_by_hand() {
    let data = ParticipantData {
        domain: Some(1),
        domain_tag: "t".into(),
        endpoints: 0x3F,
        lease: Duration::from_ms(2_500),
        default_unicast: [Locator::udp([10, 0, 0, 1].into(), 7_411)].into(),
        ..ParticipantData::new(PREFIX)
    };
    let mut out = Vec::new();
    data.encode(&mut out);
    let expected = [
        &[0, 3, 0, 0][..],
        &[0x15, 0, 4, 0, 2, 5, 0, 0],
        &[0x16, 0, 4, 0, 1, 0xFE, 0, 0],
        &[0x50, 0, 16, 0],
        &PREFIX.0,
        &[0, 0, 1, 0xC1],
        &[0x58, 0, 4, 0, 0x3F, 0, 0, 0],
        &[2, 0, 8, 0, 2, 0, 0, 0, 0, 0, 0, 0x80],
        &[0x0F, 0, 4, 0, 1, 0, 0, 0],
        &[0x14, 0x40, 8, 0, 2, 0, 0, 0, b't', 0, 0, 0],
        &[0x31, 0, 24, 0, 1, 0, 0, 0, 0xF3, 0x1C, 0, 0],
        &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10, 0, 0, 1],
        &[1, 0, 0, 0],
    ]
    .concat();
    assert_eq!(out, expected);
}

#[test]
fn what_is_too_long_is_cut() {
    let long = "ä".repeat(200);
    let data = EndpointData {
        guid: WRITER,
        topic: long.clone(),
        type_name: long.clone(),
        qos: Qos {
            partitions: std::vec![long; 40],
            user_data: std::vec![1; 5_000],
            ..Qos::writer()
        },
        unicast: Vec::new(),
        multicast: Vec::new(),
        expects_inline_qos: false,
        content_filter: None,
        type_hash: None,
        type_information: Vec::new(),
        group: None,
    };
    let mut out = Vec::new();
    data.encode(&mut out, true);
    let read = EndpointData::decode(&out, true).unwrap();
    assert_eq!(read.topic, "ä".repeat(127));
    assert_eq!(read.qos.partitions.len(), PARTITIONS_MAX);
    assert_eq!(read.qos.user_data.len(), USER_DATA_MAX);
}
