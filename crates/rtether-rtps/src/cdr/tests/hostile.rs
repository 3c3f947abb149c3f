//! Untrusted octets.

use alloc::vec::Vec;

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::types::{Octets, ShapeType};

/// Payloads with all known identifiers and some unknown ones.
fn payloads() -> impl Strategy<Value = Vec<u8>> {
    let octet = prop_oneof![3 => 0..9_u8, 1 => any::<u8>()];
    (0..14_u8, any::<u8>(), vec(octet, 0..120)).prop_map(|(id, options, body)| {
        let mut octets = [0, id, 0, options].to_vec();
        octets.extend(body);
        octets
    })
}

/// Reads octets; a value that was accepted can be written and read again.
fn read<T: Data + PartialEq + core::fmt::Debug>(octets: &[u8]) -> Result<(), TestCaseError> {
    let _ = from_key_payload::<T>(octets);
    if let Ok(value) = from_payload::<T>(octets) {
        let again = payload(&value, Encoding::Xcdr2, ByteOrder::Big);
        let again = from_payload::<T>(&again).expect("what was just written");
        // A NaN does not equal itself.
        let text = std::format!("{value:?}");
        prop_assert!(again == value || text.contains("NaN"));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Oracle: every input gives a value or an error.
    #[test]
    fn arbitrary_octets_are_a_value_or_an_error(octets in payloads()) {
        read::<ShapeType>(&octets)?;
        read::<Mix>(&octets)?;
        read::<Opt>(&octets)?;
        read::<Mut>(&octets)?;
        read::<Tree>(&octets)?;
        read::<Vec<Vec<Vec<App>>>>(&octets)?;
    }
}

#[test]
fn truncated_values_are_errors() {
    // Oracle: no prefix of the octets is a value of a final type; the error lies within the prefix.
    for encoding in ENCODINGS {
        for order in ORDERS {
            let whole = payload(&mix(), encoding, order);
            let end = whole.len() - usize::from(whole[3]);
            for len in 0..end {
                let mut cut = whole[..len].to_vec();
                if let Some(options) = cut.get_mut(3) {
                    *options = 0;
                }
                let error = from_payload::<Mix>(&cut).expect_err("a part of it");
                assert!(error.offset <= len, "{error} of {len}");
            }
        }
    }
    assert!(
        from_payload::<Mut>(&payload(&mutable(), Encoding::Xcdr1, ByteOrder::Big)[..100]).is_err()
    );
}

#[test]
fn lengths_beyond_the_octets_are_refused_before_anything_is_made() {
    // Oracle: if this much memory were reserved, the test would not complete.
    let body = [0, 1, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 1, 2, 3, 4];
    let error = from_payload::<Octets>(&body).expect_err("four thousand million octets");
    assert_eq!((error.offset, error.kind), (8, CdrErrorKind::Length(u32::MAX)));
    assert!(from_payload::<Vec<Mix>>(&body).is_err());
    assert!(from_payload::<Vec<[u8; 0]>>(&body).is_err());
    assert!(from_payload::<ShapeType>(&body).is_err());
    // Elements that could all be missing: the first one takes what there is.
    let missing = [0, 1, 0, 0, 8, 0, 0, 0, 1, 0, 2, 0, 3, 0, 4, 0];
    let error = from_payload::<Vec<App>>(&missing).expect_err("eight elements in eight octets");
    assert_eq!(error.kind, CdrErrorKind::Truncated);
    // Lengths of structures and of list members.
    assert!(from_payload::<App>(&[0, 9, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 1, 0, 2, 0]).is_err());
    assert!(from_payload::<Mut>(&unhex("000b0000 0c000000 02000070 ffffffff 00000000")).is_err());
    assert!(from_payload::<Mut>(&unhex("00030000 017f0800 02000000 ffffffff 027f0000")).is_err());
    assert!(from_payload::<Mut>(&unhex("00030000 0200ffff 027f0000")).is_err());
}

#[test]
fn values_within_values_end() {
    // Oracle: 32 nested structures are allowed. A sequence of one, of one, ...
    let nested = |depth: usize| {
        let mut octets = [0, 1, 0, 0].to_vec();
        (1..depth).for_each(|_| octets.extend([1, 0, 0, 0]));
        octets.extend([0; 4]);
        octets
    };
    let tree: Tree = from_payload(&nested(32)).expect("as deep as is allowed");
    let error = from_payload::<Tree>(&nested(33)).expect_err("deeper");
    assert_eq!(error.kind, CdrErrorKind::Depth);
    assert!(from_payload::<Tree>(&nested(1_000_000)).is_err());
    let deeper = Tree { branches: [tree].into() };
    let mut out = [9].to_vec();
    let error = to_payload(&deeper, Encoding::Xcdr2, &mut out).expect_err("deeper");
    assert_eq!(error.kind, CdrErrorKind::Depth);
    assert_eq!(out, [9]);
}

#[test]
fn values_that_the_type_does_not_have_are_refused() {
    // Oracle: the definition of each type.
    fn kind<T: Data>(body: &[u8]) -> Option<CdrErrorKind> {
        let mut octets = [0, 1, 0, 0].to_vec();
        octets.extend(body);
        from_payload::<T>(&octets).err().map(|error| error.kind)
    }
    assert_eq!(kind::<bool>(&[2]), Some(CdrErrorKind::Bool(2)));
    assert_eq!(kind::<Color>(&[3, 0, 0, 0]), Some(CdrErrorKind::Enumerator(3)));
    assert_eq!(kind::<Color>(&[0xFF; 4]), None);
    assert_eq!(kind::<String>(&[2, 0, 0, 0, 0xFF, 0]), Some(CdrErrorKind::Utf8));
    assert_eq!(kind::<String>(&[2, 0, 0, 0, b'a', b'b']), Some(CdrErrorKind::Zero));
    assert_eq!(kind::<String>(&[3, 0, 0, 0, b'a', 0, 0]), Some(CdrErrorKind::Zero));
    assert_eq!(kind::<String>(&[0; 4]), None);
    let mut long = [130, 0, 0, 0].to_vec();
    long.extend([b'a'; 129]);
    long.extend([0; 15]);
    assert_eq!(kind::<ShapeType>(&long), Some(CdrErrorKind::Bound { len: 129, max: 128 }));

    let mut out = Vec::new();
    let error = to_payload(&"a\0b".repeat(2), Encoding::Xcdr1, &mut out).expect_err("zeros");
    assert_eq!(error.kind, CdrErrorKind::Zero);
    let error = to_payload(&'€', Encoding::Xcdr1, &mut out).expect_err("more than an octet");
    assert_eq!(error.kind, CdrErrorKind::Char);
    let mut encoder = Encoder::new(&mut out, Encoding::Xcdr1, ByteOrder::Big).with_limit(7);
    assert_eq!(encoder.u32(1), Ok(()));
    let error = encoder.u32(1).expect_err("no room");
    assert_eq!((error.offset, error.kind), (4, CdrErrorKind::Limit(7)));
}

#[test]
fn nothing_is_allocated_within_the_capacity() {
    // Oracle: the vector is not reallocated.
    let mut out = Vec::with_capacity(1024);
    let place = out.as_ptr();
    for _ in 0..3 {
        out.clear();
        to_payload(&mix(), Encoding::Xcdr2, &mut out).expect("room");
        assert_eq!(out.as_ptr(), place);
    }
}
