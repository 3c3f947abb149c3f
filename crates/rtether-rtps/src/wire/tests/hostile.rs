//! Hostile input. Oracle: 8.3.8 defines what is invalid; nothing panics.

use super::*;

const ENTITIES: [u8; 8] = [0, 0, 1, 7, 0, 0, 2, 2];
const ONE: [u8; 8] = [0, 0, 0, 0, 0, 0, 0, 1];
const ZERO: [u8; 8] = [0; 8];
const NEGATIVE: [u8; 8] = [0xFF; 8];
const HUGE: [u8; 8] = [0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF];
/// `SEQUENCENUMBER_UNKNOWN`.
const UNKNOWN: [u8; 8] = [0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0];

#[test]
fn sequence_numbers_that_are_not_valid() {
    // CVE-2023-39949.
    let value = |offset| Malformed::Value { offset };
    for number in [ZERO, NEGATIVE, UNKNOWN, HUGE] {
        let data = join(&[&[0, 0, 0, 16], &ENTITIES, &number, &[0, 1, 0, 0]]);
        assert_eq!(error(0x15, 0x04, &data), value(36));
        let frag = join(&[
            &[0, 0, 0, 28],
            &ENTITIES,
            &number,
            &[0, 0, 0, 1, 0, 1, 0, 4, 0, 0, 0, 4, 0, 1, 0, 0],
        ]);
        assert_eq!(error(0x16, 0, &frag), value(36));
        let heartbeat = join(&[&ENTITIES, &number, &HUGE, &[0; 4]]);
        assert_eq!(error(0x07, 0, &heartbeat), value(32));
        let gap = join(&[&ENTITIES, &number, &ONE, &[0; 4]]);
        assert_eq!(error(0x08, 0, &gap), value(32));
        let nack = join(&[&ENTITIES, &number, &[0, 0, 0, 1], &[0; 8]]);
        assert_eq!(error(0x12, 0, &nack), value(32));
        let frag = join(&[&ENTITIES, &number, &[0, 0, 0, 1], &[0; 4]]);
        assert_eq!(error(0x13, 0, &frag), value(32));
    }
    for number in [NEGATIVE, UNKNOWN, HUGE] {
        let ack = join(&[&ENTITIES, &number, &[0; 8]]);
        assert_eq!(error(0x06, 0, &ack), value(32));
    }
}

#[test]
fn pre_emptive_acknack_of_base_zero_is_taken() {
    let ack = join(&[&ENTITIES, &ZERO, &[0; 4], &[0, 0, 0, 1]]);
    let octets = message(&part(0x06, 0, &ack));
    let Ok(Submessage::AckNack(ack)) = only(&octets) else { panic!("not ACKNACK") };
    assert_eq!(ack.set, NumberSet::empty(0));
}

#[test]
fn heartbeat_whose_last_is_before_its_first() {
    let two = [0, 0, 0, 0, 0, 0, 0, 2];
    let three = [0, 0, 0, 0, 0, 0, 0, 3];
    let heartbeat = |first: &[u8], last: &[u8]| {
        let body = join(&[&ENTITIES, first, last, &[0; 4]]);
        only(&message(&part(0x07, 0, &body))).map(|_| ())
    };
    assert_eq!(heartbeat(&three, &two), Ok(()), "a writer without samples");
    let error = Err(Malformed::Value { offset: 40 });
    assert_eq!(heartbeat(&three, &ONE), error);
    assert_eq!(heartbeat(&ONE, &NEGATIVE), error);
}

#[test]
fn gap_with_a_huge_range() {
    // CVE-2025-64438: the number is read, but the range never iterated.
    let base = (1_i64 << 62).to_be_bytes();
    let gap = join(&[&ENTITIES, &ONE, &base, &[0; 4]]);
    let octets = message(&part(0x08, 0, &gap));
    let Ok(Submessage::Gap(gap)) = only(&octets) else { panic!("not GAP") };
    assert_eq!((gap.start.0, gap.set.base()), (1, 1 << 62));
    // A gap that ends before it starts.
    let gap = join(&[&ENTITIES, &base, &ONE, &[0; 4]]);
    assert_eq!(error(0x08, 0, &gap), Malformed::Value { offset: 40 });
}

#[test]
fn bitmap_overflow() {
    // CVE-2020-18734: a set of more than 256 numbers, with all its words present.
    let words = [0xFF; 40];
    let ack = join(&[&ENTITIES, &ONE, &[0, 0, 1, 1], &words, &[0; 4]]);
    assert_eq!(error(0x06, 0, &ack), Malformed::Value { offset: 40 });
    let all = join(&[&ENTITIES, &ONE, &[0xFF; 4], &words, &[0; 4]]);
    assert_eq!(error(0x06, 0, &all), Malformed::Value { offset: 40 });
    // Missing words.
    let ack = join(&[&ENTITIES, &ONE, &[0, 0, 1, 0], &[0xFF; 28]]);
    assert_eq!(error(0x06, 0, &ack), Malformed::Truncated { offset: 72 });
    let nack = join(&[&ENTITIES, &ONE, &[0, 0, 0, 1], &[0, 0, 1, 1], &words, &[0; 4]]);
    assert_eq!(error(0x12, 0, &nack), Malformed::Value { offset: 44 });
}

#[test]
fn lengths_beyond_the_datagram() {
    let mut octets = message(&part(0x0E, 0, &PREFIX.0));
    octets[23] += 1;
    let overrun = |offset| Malformed::Overrun { offset };
    assert_eq!(only(&octets).unwrap_err(), overrun(20));
    // Within the datagram, but too short: the next submessage is not read into.
    let octets = message(&join(&[&part(0x0E, 0, &[0; 8]), &part(0x0E, 0, &PREFIX.0)]));
    assert_eq!(only(&octets).unwrap_err(), Malformed::Truncated { offset: 24 });
    // A submessage header without its length.
    let octets = message(&[0x15, 0, 0]);
    assert_eq!(only(&octets).unwrap_err(), Malformed::Truncated { offset: 22 });
    // A locator count far beyond the data.
    let reply = [0x0F, 0xFF, 0xFF, 0xFF];
    assert_eq!(error(0x0F, 0, &reply), overrun(24));
}

#[test]
fn inline_qos_overrun() {
    let head = join(&[&ENTITIES, &ONE]);
    let data = |to_qos: u8, rest: &[u8]| {
        let body = join(&[&[0, 0, 0, to_qos], &head, rest]);
        error(0x15, 0x02 | 0x04, &body)
    };
    assert_eq!(data(200, &[0; 20]), Malformed::Overrun { offset: 26 });
    assert_eq!(data(12, &[0; 20]), Malformed::Value { offset: 26 });
    // A parameter that is longer than the submessage.
    assert_eq!(data(16, &[0, 0x70, 0, 16, 1, 2, 3, 4]), Malformed::Overrun { offset: 44 });
    // A list without a sentinel, and one that ends after a length.
    assert_eq!(data(16, &[0, 0x70, 0, 4, 1, 2, 3, 4]), Malformed::Endless { offset: 52 });
    assert_eq!(data(16, &[0, 0x70, 0]), Malformed::Endless { offset: 44 });
    // A length that is not a multiple of four.
    assert_eq!(data(16, &[0, 0x70, 0, 2, 1, 2, 0, 1, 0, 0]), Malformed::Value { offset: 44 });
    // No octets left for the content.
    assert_eq!(data(16, &[0, 1, 0, 0, 0, 1]), Malformed::Truncated { offset: 48 });
}

#[test]
fn data_with_data_and_key() {
    let body = join(&[&[0, 0, 0, 16], &ENTITIES, &ONE, &[0, 1, 0, 0]]);
    assert_eq!(error(0x15, 0x04 | 0x08, &body), Malformed::Value { offset: 44 });
}

#[test]
fn fragments_that_ask_for_too_much() {
    let frag = |first: u32, fragments: u16, size: u16, sample: u32, payload: usize| {
        let body = join(&[
            &[0, 0, 0, 28],
            &ENTITIES,
            &ONE,
            &first.to_be_bytes(),
            &fragments.to_be_bytes(),
            &size.to_be_bytes(),
            &sample.to_be_bytes(),
            &std::vec![0; payload],
        ]);
        only(&message(&part(0x16, 0, &body))).map(|_| ())
    };
    assert_eq!(frag(2, 1, 8, 12, 4), Ok(()));
    let value = Err(Malformed::Value { offset: 44 });
    assert_eq!(frag(0, 1, 8, 12, 8), value);
    assert_eq!(frag(1, 0, 8, 12, 8), value);
    assert_eq!(frag(1, 1, 0, 12, 8), value);
    assert_eq!(frag(1, 1, 8, 0, 8), value);
    assert_eq!(frag(1, 1, 16, 12, 12), value);
    assert_eq!(frag(3, 1, 8, 12, 8), value);
    assert_eq!(frag(1, 3, 8, 12, 24), value);
    assert_eq!(frag(u32::MAX, u16::MAX, 8, 12, 8), value);
    // All fragments announced must be present.
    assert_eq!(frag(1, 2, 8, 12, 11), Err(Malformed::Truncated { offset: 56 }));
    let all = frag(1, u16::MAX, u16::MAX, u32::MAX, 8);
    assert_eq!(all, Err(Malformed::Truncated { offset: 56 }));
}

#[test]
fn unknown_parameters() {
    let list = |id: u16| {
        let octets = join(&[&id.to_be_bytes(), &[0, 4, 0, 0, 0, 0, 0, 1, 0, 0]]);
        let (list, _) = ParameterList::split(&octets, false).unwrap();
        InlineQos::read(list)
    };
    assert_eq!(list(0x0FFF), Ok(InlineQos::default()));
    assert_eq!(list(0xC0FF), Ok(InlineQos::default()), "of a vendor");
    assert_eq!(list(0x4FFF), Err(Malformed::NotUnderstood { id: 0x4FFF }));
    assert_eq!(list(0x0070), Err(Malformed::Parameter { id: 0x0070 }));
    assert!(list(0x4071).is_ok());
}

#[test]
fn strings_longer_than_their_content() {
    // CVE-2023-39946 and similar.
    let string = |octets: &[u8]| {
        let parameter = Parameter { id: 5, value: octets, is_little_endian: false };
        parameter.string().map(std::string::String::from)
    };
    let error = Err(Malformed::Parameter { id: 5 });
    assert_eq!(string(&[0, 0, 0, 2, b'a', 0, 0, 0]).unwrap(), "a");
    assert_eq!(string(&[0, 0, 0, 0]).unwrap(), "");
    assert_eq!(string(&[0, 0, 0, 5, b'a', 0, 0, 0]), error);
    assert_eq!(string(&[0xFF, 0xFF, 0xFF, 0xFF, b'a', 0, 0, 0]), error);
    assert_eq!(string(&[0, 0, 0, 1, b'a', 0, 0, 0]), error, "no NUL");
    assert_eq!(string(&[0, 0, 0, 4, b'a', 0, b'a', 0]), error, "a NUL inside");
    assert_eq!(string(&[0, 0, 0, 2, 0xFF, 0, 0, 0]), error, "no UTF-8");
    let mut long = std::vec![b'a'; 4 + 256];
    long[..4].copy_from_slice(&[0, 0, 1, 0]);
    long[259] = 0;
    assert_eq!(string(&long).unwrap().len(), 255);
    long[3] = 1;
    long.push(0);
    assert_eq!(string(&long), error);
}

proptest! {
    #[test]
    fn random_octets_never_panic(octets in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = parse(&octets);
        let _ = read(&message(&octets));
        let _ = ParameterList::split(&octets, true).map(|(list, _)| InlineQos::read(list));
    }

    /// Known kinds and valid lengths with random content.
    #[test]
    fn random_bodies_never_panic(
        kind in prop::sample::select(&[6_u8, 7, 8, 9, 12, 14, 15, 18, 19, 21, 22][..]),
        flags: u8,
        body in prop::collection::vec(prop_oneof![3 => 0_u8..4, 1 => any::<u8>()], 0..100),
    ) {
        for part in parse(&message(&part(kind, flags, &body))).unwrap().submessages().flatten() {
            if let Submessage::Data(data) = part {
                let _ = InlineQos::read(data.inline_qos);
            }
        }
    }
}
