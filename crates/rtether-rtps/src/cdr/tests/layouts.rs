//! Oracle: octets written by hand from the rules, member by member.

use alloc::vec::Vec;

use super::*;
use crate::types::{Octets, ShapeType};

fn shape() -> ShapeType {
    ShapeType {
        color: "BLUE".into(),
        x: 10,
        y: 20,
        shapesize: 30,
        additional_payload_size: Vec::new(),
    }
}

/// The type before its last member was added.
#[derive(Clone, Debug, PartialEq, Data)]
#[rtps(name = "ShapeType", appendable)]
struct Classic {
    #[rtps(key, max = 128)]
    color: String,
    x: i32,
    y: i32,
    shapesize: i32,
}

#[rustfmt::skip]
const BODY: [u8; 24] = [
    5, 0, 0, 0, b'B', b'L', b'U', b'E', 0, 0, 0, 0,
    10, 0, 0, 0, 20, 0, 0, 0, 30, 0, 0, 0,
];

#[test]
fn shapes_are_what_the_rules_say() {
    let mut xcdr1 = [0, 1, 0, 0].to_vec();
    xcdr1.extend(BODY);
    let classic = from_payload::<Classic>(&xcdr1).expect("a shape");
    assert_eq!(payload(&classic, Encoding::Xcdr1, ByteOrder::Little), xcdr1);
    xcdr1.extend([0; 4]);
    assert_eq!(payload(&shape(), Encoding::Xcdr1, ByteOrder::Little), xcdr1);

    // 28 octets: the above and the length of the empty sequence.
    let mut xcdr2 = [0, 9, 0, 0, 28, 0, 0, 0].to_vec();
    xcdr2.extend(BODY);
    xcdr2.extend([0; 4]);
    assert_eq!(payload(&shape(), Encoding::Xcdr2, ByteOrder::Little), xcdr2);
}

#[test]
fn padding_is_told_of() {
    let value = Octets { octets: [7].into() };
    assert_eq!(
        payload(&value, Encoding::Xcdr1, ByteOrder::Big),
        [0, 0, 0, 3, 0, 0, 0, 1, 7, 0, 0, 0]
    );
    // Other option bits are ignored.
    let strange = [0, 0, 0xAB, 0xFF, 0, 0, 0, 1, 7, 0, 0, 0];
    assert_eq!(from_payload(&strange), Ok(value.clone()));
    // Writers that omit the padding, or do not count it.
    assert_eq!(from_payload::<Octets>(&strange[..9]), from_payload(&[0, 0, 0, 0, 0, 0, 0, 1, 7]));
    assert_eq!(from_payload(&[0, 0, 0, 0, 0, 0, 0, 1, 7, 0, 0, 0]), Ok(value));
    let longer = [0, 0, 0, 0, 0, 0, 0, 1, 7, 0, 0, 0, 0];
    let error = from_payload::<Octets>(&longer).expect_err("a type that cannot have grown");
    assert_eq!(error.kind, CdrErrorKind::Trailing(4));
}

#[test]
fn short_and_long_shapes_are_read_as_the_other() {
    // Oracle: shared members are equal, all others empty.
    let long = ShapeType { additional_payload_size: [1, 2, 3].into(), ..shape() };
    let classic = Classic { color: "BLUE".into(), x: 10, y: 20, shapesize: 30 };
    for encoding in ENCODINGS {
        for order in ORDERS {
            assert_eq!(from_payload(&payload(&long, encoding, order)), Ok(classic.clone()));
            assert_eq!(from_payload(&payload(&classic, encoding, order)), Ok(shape()));
        }
    }
}

#[derive(Clone, Debug, PartialEq, Data)]
#[rtps(final)]
struct Ending {
    app: App,
    last: u8,
}

#[derive(Clone, Debug, PartialEq, Data)]
#[rtps(appendable)]
struct Grown {
    first: u8,
    new: u32,
}

#[test]
fn zeros_are_padding_only_where_nothing_else_can_follow() {
    // Oracle: the members, one by one.
    let ending = Ending { app: App { a: 7, b: 0 }, last: 0 };
    assert_eq!(from_payload(&[0, 0, 0, 0, 0, 7, 0, 0]), Ok(ending));
    let grown = Grown { first: 7, new: 0 };
    assert_eq!(from_payload(&[0, 0, 0, 0, 7, 0, 0, 0]), Ok(grown.clone()));
    assert_eq!(from_payload(&[0, 0, 0, 3, 7, 0, 0, 0]), Ok(grown));
    assert!(from_payload::<Grown>(&[0, 0, 0, 0, 7, 0, 0, 1]).is_err());
}

#[test]
fn a_type_that_the_writer_holds_for_final_is_read() {
    // Oracle: CDR2_LE in the header means that no length precedes the members.
    let mut plain = [0, 7, 0, 0].to_vec();
    plain.extend(BODY);
    plain.extend([0; 4]);
    assert_eq!(from_payload(&plain), Ok(shape()));
    plain[1] = 0x0B;
    let error = from_payload::<ShapeType>(&plain).expect_err("not a list");
    assert_eq!(error.kind, CdrErrorKind::Representation(0x0B));
    plain[1] = 0x05;
    let error = from_payload::<ShapeType>(&plain).expect_err("XML");
    assert_eq!((error.offset, error.kind), (0, CdrErrorKind::Representation(5)));
}

/// [`Mut`] after changes: one member removed, one added, the others reordered.
#[derive(Clone, Debug, PartialEq, Data)]
#[rtps(name = "Mut", mutable)]
struct Other {
    #[rtps(key, id = 5)]
    k: u32,
    #[rtps(id = 77)]
    new: Option<u16>,
    #[rtps(id = 2)]
    s: String,
    #[rtps(id = 0)]
    a: u8,
}

#[test]
fn members_of_lists_are_found_by_their_number() {
    let other = Other { k: 9, new: None, s: "xyz".into(), a: 1 };
    for encoding in ENCODINGS {
        for order in ORDERS {
            assert_eq!(from_payload(&payload(&mutable(), encoding, order)), Ok(other.clone()));
            let new = Other { new: Some(3), ..other.clone() };
            let read: Mut = from_payload(&payload(&new, encoding, order)).expect("known members");
            assert_eq!((read.k, read.a, read.b, read.s.as_str()), (9, 1, 0, "xyz"));
        }
    }
}

#[test]
fn lists_without_key_or_with_what_must_be_understood_are_refused() {
    // PL_CDR2_LE: one member of one octet, id 0.
    let keyless = [0, 0x0B, 0, 3, 5, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0];
    let error = from_payload::<Mut>(&keyless).expect_err("no key");
    assert_eq!(error.kind, CdrErrorKind::KeyMissing(5));
    // Member 99, which must be understood.
    let mut unknown = keyless;
    unknown[8] = 99;
    unknown[11] = 0x80;
    let error = from_payload::<Mut>(&unknown).expect_err("not understood");
    assert_eq!(error.kind, CdrErrorKind::MustUnderstand(99));
}

#[test]
fn short_headers_of_lists_are_read() {
    // PL_CDR_LE: member 5 (4 octets), member 9 skipped, the sentinel; oracle: DDS-XTypes 1.3,
    // 7.4.1.2.
    let short = unhex("00030000 05400400 2a000000 09000400 ffffffff 023f0000");
    let read: Mut = from_payload(&short).expect("short headers");
    assert_eq!((read.k, read.a), (42, 0));
}

#[test]
fn names_and_kinds_are_derived() {
    assert_eq!(ShapeType::NAME, "ShapeType");
    assert_eq!(<Pair<u8, 2>>::NAME, "generic");
    assert_eq!(ShapeType::EXTENSIBILITY, Extensibility::Appendable);
    const { assert!(ShapeType::HAS_KEY && !Octets::HAS_KEY) };
    assert_eq!(Color::missing(), Color::Red);
}

#[test]
fn largest_sizes_are_those_of_the_longest_values() {
    // Oracle: payloads of the longest values. Length and NUL of a string, 4 + 1; twice a u32.
    let app = payload(&App { a: 0, b: 0 }, Encoding::Xcdr2, ByteOrder::Big).len();
    assert_eq!(payload_size_max::<App>(Encoding::Xcdr2), Some(app));
    let longest = Pair(1_u64, [[1, 2], [1, 2], [1, 2], [1, 2]].into());
    for encoding in ENCODINGS {
        let len = payload(&longest, encoding, ByteOrder::Big).len();
        assert_eq!(payload_size_max::<Pair<u64, 2>>(encoding), Some(len));
        let thousand = payload_size_max::<[Inner; 1000]>(encoding).expect("a bound");
        let elements: [Inner; 1000] = Data::missing();
        assert!(thousand >= payload(&elements, encoding, ByteOrder::Big).len());
        assert_eq!(payload_size_max::<ShapeType>(encoding), None);
        assert_eq!(payload_size_max::<Tree>(encoding), None);
    }
}

/// Two dimensions of a primitive type, and of a string.
#[derive(Clone, Debug, PartialEq, Data)]
#[rtps(final)]
struct Tables {
    numbers: [[i16; 3]; 2],
    words: [[String; 1]; 2],
}

#[test]
fn dimensions_of_an_array_are_one_collection() {
    // Oracle: DDS-XTypes 1.3, 7.4.3.5: no length before primitive elements, one before all others.
    let value = Tables { numbers: [[1, 2, 3], [4, 5, 6]], words: [["a".into()], ["b".into()]] };
    #[rustfmt::skip]
    let expected = [
        0, 6, 0, 0,
        0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6,
        0, 0, 0, 14,
        0, 0, 0, 2, b'a', 0, 0, 0,
        0, 0, 0, 2, b'b', 0,
        0, 0,
    ];
    let written = payload(&value, Encoding::Xcdr2, ByteOrder::Big);
    assert_eq!(written[..2], expected[..2]);
    assert_eq!(written[4..], expected[4..]);
    assert_eq!(from_payload::<Tables>(&written), Ok(value.clone()));
    let written = payload(&value, Encoding::Xcdr1, ByteOrder::Big);
    assert_eq!(from_payload::<Tables>(&written), Ok(value));
}
