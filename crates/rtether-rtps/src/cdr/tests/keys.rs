//! Keys and their hashes.

use alloc::vec::Vec;

use Encoding::{Xcdr1, Xcdr2};

use super::*;
use crate::types::{Octets, ShapeType};

#[derive(Clone, Debug, PartialEq, Data)]
#[rtps(final)]
struct Eight {
    #[rtps(key)]
    a: u32,
    #[rtps(key)]
    b: u64,
}

#[derive(Clone, Debug, PartialEq, Data)]
#[rtps(appendable)]
struct Text<const N: usize> {
    other: u64,
    #[rtps(key)]
    inner: Eleven,
}

/// Without a key: as a key member, all its members count.
#[derive(Clone, Debug, PartialEq, Data)]
#[rtps(appendable)]
struct Eleven {
    #[rtps(max = 11)]
    text: String,
}

#[derive(Clone, Debug, PartialEq, Data)]
#[rtps(final)]
struct Twelve {
    #[rtps(key, max = 12)]
    text: String,
}

#[derive(Clone, Debug, PartialEq, Data)]
#[rtps(mutable)]
struct Swapped {
    #[rtps(key, id = 8)]
    a: u8,
    #[rtps(key, id = 3)]
    b: u32,
}

fn hash<T: Data>(value: &T) -> String {
    hex(&key_hash(value).expect("a key"))
}

#[test]
fn short_keys_are_their_own_hash() {
    // Oracle: big-endian, alignment at most 4 in XCDR2 and 8 in XCDR1, zeros up to 16.
    let value = Eight { a: 1, b: 2 };
    assert_eq!(hash(&value), "00000001000000000000000200000000");
    let mut room = Vec::new();
    let xcdr1 = key_hash_in(&value, Encoding::Xcdr1, &mut room).expect("a key");
    assert_eq!(hex(&xcdr1), "00000001000000000000000000000002");
    // 4 + 11 + 1 octets still fit; structures have no length here.
    let value = Text::<1> { other: 1, inner: Eleven { text: "abc".into() } };
    assert_eq!(hash(&value), "00000004616263000000000000000000");
    assert!(is_key_short::<Text<1>>(Encoding::Xcdr2));
    // By member id, not by position.
    let value = Swapped { a: 1, b: 2 };
    assert_eq!(hash(&value), "00000002010000000000000000000000");
    assert_eq!(key_hash(&Octets::default()), Ok([0; 16]));
}

#[test]
fn keys_that_could_be_long_are_hashed() {
    // Oracle: `printf '\0\0\0\5BLUE\0' | md5sum`, likewise '\0\0\0\4abc\0'.
    let shape = ShapeType { color: "BLUE".into(), x: 1, ..ShapeType::default() };
    assert_eq!(hash(&shape), "cac217c318363f8ef1160eeedef9e886");
    let twelve = Twelve { text: "abc".into() };
    assert_eq!(hash(&twelve), "1a6974cae0ba21bf15f88d759c31eaf8");
    // A key above its bound has no hash.
    let shape = ShapeType { color: "B".repeat(129), ..shape };
    let error = key_hash(&shape).expect_err("a key too long");
    assert_eq!(error.kind, CdrErrorKind::Bound { len: 129, max: 128 });
}

fn key_payload<T: Data>(value: &T, encoding: Encoding) -> Vec<u8> {
    let mut out = Vec::new();
    to_key_payload(value, encoding, &mut out).expect("a key");
    out
}

fn key_hex<T: Data>(value: &T, encoding: Encoding) -> String {
    hex(&key_payload(value, encoding))
}

#[test]
fn payloads_of_keys_are_those_of_cyclone() {
    // Oracle: payloads that Cyclone DDS 11.0.1 produces for the same keys; header and padding by
    // hand. For an appendable type in XCDR2 it sends a length first, as the header says; version
    // 0.10.2 sends none.
    let shape = ShapeType { color: "BLUE".into(), x: 1, ..ShapeType::default() };
    assert_eq!(key_hex(&shape, Xcdr1), "0001000305000000424c554500000000");
    assert_eq!(key_hex(&shape, Xcdr2), "000900030900000005000000424c554500000000");
    for (encoding, expected) in
        [(Xcdr1, "0001000305000000424c554500000000"), (Xcdr2, "0009000305000000424c554500000000")]
    {
        let mut bare = Vec::new();
        to_bare_key_payload(&shape, encoding, &mut bare).expect("a key");
        assert_eq!(hex(&bare), expected);
        let read: ShapeType = from_key_payload(&bare).expect("a key");
        assert_eq!(read.color, "BLUE");
    }
    assert_eq!(key_hex(&mix(), Xcdr1), "000100020100000000000000080706050403020103000000");
    assert_eq!(key_hex(&mix(), Xcdr2), "000700020100000008070605040302010200000003000000");
    assert_eq!(key_hex(&mutable(), Xcdr1), "00030000017f0800050000000400000009000000027f0000");
    assert_eq!(key_hex(&mutable(), Xcdr2), "000b0000080000000500002009000000");
    assert_eq!(key_hex(&Octets::default(), Xcdr1), "00010000");
}

#[test]
fn keys_are_read_alone() {
    // Oracle: the value written; members outside the key are empty.
    for encoding in ENCODINGS {
        let read: Mix = from_key_payload(&key_payload(&mix(), encoding)).expect("a key");
        let expected = Mix { o: 1, l: mix().l, app: App { a: 3, b: 0 }, ..Data::missing() };
        assert_eq!(read, expected);
        assert_eq!(key_hash(&read), key_hash(&mix()));
        let read: Mut = from_key_payload(&key_payload(&mutable(), encoding)).expect("a key");
        assert_eq!((read.k, read.a), (9, 0));
        let empty = from_key_payload::<Octets>(&key_payload(&Octets::default(), encoding));
        assert_eq!(empty, Ok(Octets::default()));
        assert!(from_key_payload::<ShapeType>(&[0, 1, 0, 0]).is_err());
    }
}
