//! Oracle: reading returns what was written, in all encodings and byte orders.

use alloc::vec::Vec;
use core::fmt::Debug;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::*;
use crate::types::{Octets, ShapeType};

fn check<T: Data + PartialEq + Debug + Clone>(value: &T) -> Result<(), TestCaseError> {
    for encoding in ENCODINGS {
        for order in ORDERS {
            let octets = payload(value, encoding, order);
            let read = from_payload::<T>(&octets);
            prop_assert_eq!(read.as_ref(), Ok(value));
            // Nested, it ends where the next value begins.
            let several = Pair(value.clone(), [[value.clone(), value.clone()]].into());
            let octets = payload(&several, encoding, order);
            prop_assert_eq!(from_payload(&octets), Ok(several));
            if let Some(max) = payload_size_max::<T>(encoding) {
                prop_assert!(octets.len() <= max * 3 + 16);
            }
        }
        if T::HAS_KEY {
            let mut octets = Vec::new();
            prop_assert_eq!(to_key_payload(value, encoding, &mut octets), Ok(()));
            let key: T = from_key_payload(&octets).expect("a key");
            prop_assert_eq!(key_hash(&key), key_hash(value));
        }
    }
    Ok(())
}

prop_compose! {
    fn inners()(a: u8, b: u64) -> Inner { Inner { a, b } }
}

prop_compose! {
    fn apps()(a: u16, b: u8) -> App { App { a, b } }
}

fn colors() -> impl Strategy<Value = Color> {
    prop_oneof![Just(Color::Red), Just(Color::Green), Just(Color::Blue), Just(Color::Black),]
}

const TEXT: &str = "[^\\x00]{0,9}";

prop_compose! {
    fn mixes()(
        (o, l, s, inner, app, e) in (any::<u8>(), any::<u64>(), TEXT, inners(), apps(), colors()),
        es in vec(colors(), 0..4),
        ls in vec(any::<u64>(), 0..4),
        iss in vec(inners(), 0..4),
        ss in vec(TEXT, 0..4),
        arr: [u16; 3],
        (one, two) in (apps(), apps()),
        d in any::<f64>(),
        (f, t, c) in (any::<f32>(), any::<bool>(), any::<u8>()),
    ) -> Mix {
        Mix { o, l, s, inner, app, e, es, ls, iss, ss, arr, aa: [one, two], d, f, t, c: c.into() }
    }
}

proptest! {
    #[test]
    fn structures(value in mixes()) {
        check(&value)?;
    }

    #[test]
    fn shapes(color in "[^\\x00]{0,20}", x: i32, octets in vec(any::<u8>(), 0..50)) {
        check(&ShapeType {
            color,
            x,
            y: x.wrapping_mul(3),
            shapesize: 1,
            additional_payload_size: octets.clone(),
        })?;
        check(&Octets { octets })?;
    }

    #[test]
    fn absent_members(
        k: u8,
        a in option::of(any::<u8>()),
        b in option::of(any::<u64>()),
        c in option::of("[ -~]{0,5}"),
    ) {
        check(&Opt { k, a, b, c })?;
    }

    #[test]
    fn lists(a: u8, b: u64, s in TEXT, v in vec(any::<u8>(), 0..4), n in apps(), k: u32) {
        check(&Mut { a, b, s, v, n, k })?;
    }
}
