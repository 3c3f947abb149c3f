//! Oracle: what `#[derive(Data)]` produces for the same values of the same types, whose octets are
//! those of Cyclone DDS ([`crate::cdr`]).
#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use proptest::collection::vec as several;
use proptest::prelude::*;

use super::*;
use crate::cdr::{
    ByteOrder, CdrErrorKind, Data, Encoding, Extensibility, from_payload, is_key_short,
    key_hash_in, to_bare_key_payload, to_key_payload, to_payload_in,
};
use crate::typed::key_of;

#[derive(Clone, Copy, Debug, PartialEq, Data)]
enum Color {
    Red,
    Green = 5,
    Black = -1,
}

#[derive(Clone, Debug, PartialEq, Data)]
#[rtps(final)]
struct Inner {
    a: u8,
    b: u64,
}

#[derive(Clone, Debug, PartialEq, Data)]
#[rtps(appendable)]
struct App {
    #[rtps(key)]
    a: u16,
    b: i8,
}

#[derive(Clone, Debug, PartialEq, Data)]
#[rtps(mutable)]
struct Mut {
    #[rtps(key, id = 9)]
    a: App,
    b: f64,
    #[rtps(max = 7)]
    s: String,
    #[rtps(key, id = 3)]
    d: u8,
    v: Vec<u16>,
    e: Color,
    w: Vec<i64>,
    t: Vec<String>,
    i: Inner,
    #[rtps(id = 20)]
    f: [f32; 3],
}

#[derive(Clone, Debug, PartialEq, Data)]
#[rtps(appendable)]
struct All {
    #[rtps(key)]
    o: u8,
    #[rtps(key)]
    l: u64,
    #[rtps(key)]
    aa: [App; 2],
    s: String,
    t: bool,
    c: char,
    es: Vec<Color>,
    is: Vec<Inner>,
    #[rtps(max = 4)]
    os: Vec<u8>,
    three: [u8; 3],
    m: Mut,
}

fn member(name: &str, kind: Type) -> Member {
    Member { name: name.to_owned(), id: 0, is_key: false, kind, default: None }
}

fn key(name: &str, kind: Type) -> Member {
    Member { is_key: true, ..member(name, kind) }
}

/// Assigns ids as the macro does: one more than the member before, unless one is given.
fn structure(name: &str, how: Extensibility, mut members: Vec<Member>) -> Arc<Structure> {
    let mut next = 0;
    for member in &mut members {
        member.id = if member.id == 0 { next } else { member.id };
        next = member.id + 1;
    }
    Arc::new(Structure::new(name.to_owned(), how, members).unwrap())
}

const OCTET: Type = Type::Primitive(Primitive::Octet);

fn sequence(element: Type) -> Type {
    Type::Sequence(Arc::new(element), None)
}

fn array(element: Type, count: usize) -> Type {
    Type::Array(Arc::new(element), vec![count])
}

fn colors() -> Type {
    let names = [("Red", 0), ("Green", 5), ("Black", -1)];
    let names = names.map(|(name, value)| Enumerator { name: name.to_owned(), value });
    let names = Enumeration::new("Color".to_owned(), names.to_vec());
    Type::Enumeration(Arc::new(names.unwrap()))
}

fn inner() -> Type {
    let members = vec![member("a", OCTET), member("b", Type::Primitive(Primitive::Uint64))];
    Type::Structure(structure("Inner", Extensibility::Final, members))
}

fn app() -> Type {
    let members = vec![
        key("a", Type::Primitive(Primitive::Uint16)),
        member("b", Type::Primitive(Primitive::Int8)),
    ];
    Type::Structure(structure("App", Extensibility::Appendable, members))
}

fn mutable() -> Arc<Structure> {
    let mut members = vec![
        key("a", app()),
        member("b", Type::Primitive(Primitive::Float64)),
        member("s", Type::Text(Some(7))),
        key("d", OCTET),
        member("v", sequence(Type::Primitive(Primitive::Uint16))),
        member("e", colors()),
        member("w", sequence(Type::Primitive(Primitive::Int64))),
        member("t", sequence(Type::Text(None))),
        member("i", inner()),
        member("f", array(Type::Primitive(Primitive::Float32), 3)),
    ];
    members[0].id = 9;
    members[3].id = 3;
    members[9].id = 20;
    structure("Mut", Extensibility::Mutable, members)
}

fn all() -> Arc<Structure> {
    let members = vec![
        key("o", OCTET),
        key("l", Type::Primitive(Primitive::Uint64)),
        key("aa", array(app(), 2)),
        member("s", Type::Text(None)),
        member("t", Type::Primitive(Primitive::Boolean)),
        member("c", Type::Primitive(Primitive::Character)),
        member("es", sequence(colors())),
        member("is", sequence(inner())),
        member("os", Type::Sequence(Arc::new(OCTET), Some(4))),
        member("three", array(OCTET, 3)),
        member("m", Type::Structure(mutable())),
    ];
    structure("All", Extensibility::Appendable, members)
}

prop_compose! {
    fn apps()(a: u16, b: i8) -> App { App { a, b } }
}

prop_compose! {
    fn inners()(a: u8, b: u64) -> Inner { Inner { a, b } }
}

fn some_color() -> impl Strategy<Value = Color> {
    prop_oneof![Just(Color::Red), Just(Color::Green), Just(Color::Black)]
}

const TEXT: &str = "[a-z]{0,7}";

prop_compose! {
    fn muts()(
        (a, b, s, d) in (apps(), -1e9..1e9, TEXT, any::<u8>()),
        v in several(any::<u16>(), 0..4),
        e in some_color(),
        w in several(any::<i64>(), 0..4),
        t in several(TEXT, 0..3),
        i in inners(),
        f in [-1e3_f32..1e3, -1e3_f32..1e3, -1e3_f32..1e3],
    ) -> Mut {
        Mut { a, b, s, d, v, e, w, t, i, f }
    }
}

prop_compose! {
    fn alls()(
        (o, l, t, three) in (any::<u8>(), any::<u64>(), any::<bool>(), any::<[u8; 3]>()),
        aa in [apps(), apps()],
        s in TEXT,
        c in any::<u8>(),
        es in several(some_color(), 0..4),
        is in several(inners(), 0..3),
        os in several(any::<u8>(), 0..=4),
        m in muts(),
    ) -> All {
        All { o, l, aa, s, t, c: c.into(), es, is, os, three, m }
    }
}

const ENCODINGS: [Encoding; 2] = [Encoding::Xcdr1, Encoding::Xcdr2];

fn check<T: Data + PartialEq>(value: &T, kind: &Structure) -> Result<(), TestCaseError> {
    for encoding in ENCODINGS {
        prop_assert_eq!(kind.is_key_short(encoding), is_key_short::<T>(encoding));
        for order in [ByteOrder::Little, ByteOrder::Big] {
            let (mut theirs, mut ours) = (Vec::new(), Vec::new());
            to_payload_in(value, encoding, order, &mut theirs).unwrap();
            let read = kind.from_payload(&theirs).unwrap();
            kind.to_payload(&read, encoding, order, &mut ours).unwrap();
            prop_assert_eq!(&ours, &theirs);
            prop_assert!(from_payload::<T>(&ours).as_ref() == Ok(value));
            prop_assert_eq!(
                kind.key_hash_in(&read, encoding, &mut ours),
                key_hash_in(value, encoding, &mut theirs)
            );
            prop_assert_eq!(&ours, &theirs);
            for is_bare in [true, false] {
                let (mut theirs, mut ours) = (Vec::new(), Vec::new());
                if is_bare {
                    to_bare_key_payload(value, encoding, &mut theirs).unwrap();
                } else {
                    to_key_payload(value, encoding, &mut theirs).unwrap();
                }
                kind.to_key_payload(&read, encoding, is_bare, &mut ours).unwrap();
                prop_assert_eq!(&ours, &theirs);
                let (mut their_key, mut our_key) = (Vec::new(), Vec::new());
                prop_assert_eq!(
                    kind.key_of(&ours, true, &mut our_key),
                    key_of::<T>(&theirs, true, &mut their_key)
                );
                prop_assert_eq!(our_key, their_key);
            }
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn values_have_the_octets_of_the_derived_type(all_value in alls(), mut_value in muts()) {
        check(&all_value, &all())?;
        check(&mut_value, &mutable())?;
        check(&mut_value.a, &App::described())?;
    }

    /// On any input: the same verdict as the derived type, and no panic.
    #[test]
    fn mutated_payloads_get_the_verdict_of_the_derived_type(
        value in alls(),
        is_second: bool,
        edits in several((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        cut in any::<prop::sample::Index>(),
        is_cut: bool,
    ) {
        let mut payload = Vec::new();
        let encoding = ENCODINGS[usize::from(is_second)];
        to_payload_in(&value, encoding, ByteOrder::Little, &mut payload).unwrap();
        for (at, octet) in edits {
            let at = at.index(payload.len());
            payload[at] = octet;
        }
        if is_cut {
            payload.truncate(cut.index(payload.len()));
        }
        let (ours, theirs) = (all().from_payload(&payload), from_payload::<All>(&payload));
        // Bounds are checked in the member here and after it there: only the verdict is compared.
        prop_assert_eq!(ours.is_ok(), theirs.is_ok(), "{:?} {:?}", ours, theirs);
        let (mut our_key, mut their_key) = (Vec::new(), Vec::new());
        for is_key in [true, false] {
            prop_assert_eq!(
                all().key_of(&payload, is_key, &mut our_key),
                key_of::<All>(&payload, is_key, &mut their_key)
            );
        }
    }
}

impl App {
    fn described() -> Arc<Structure> {
        let Type::Structure(structure) = app() else {
            panic!("a structure");
        };
        structure
    }
}

#[test]
fn members_have_the_values_that_were_written() {
    // Oracle: by hand.
    let value = App { a: 513, b: -2 };
    let mut payload = Vec::new();
    to_payload_in(&value, Encoding::Xcdr2, ByteOrder::Big, &mut payload).unwrap();
    assert_eq!(
        App::described().from_payload(&payload),
        Ok(Value::Structure(vec![Value::Unsigned(513), Value::Signed(-2)]))
    );
}

#[test]
fn an_array_of_several_dimensions_is_one_collection() {
    // Oracle: DDS-XTypes 1.3, 7.4.3.5, rule 15: primitive elements have no length before them, and
    // the last dimension varies fastest.
    let kind = Type::Array(Arc::new(Type::Primitive(Primitive::Int16)), vec![2, 3]);
    let kind = structure("A", Extensibility::Final, vec![member("a", kind)]);
    let value = Value::Structure(vec![Value::List((1..=6).map(Value::Signed).collect())]);
    let mut payload = Vec::new();
    let written = kind.to_payload(&value, Encoding::Xcdr2, ByteOrder::Big, &mut payload);
    assert_eq!(written, Ok(()));
    assert_eq!(payload, [0, 6, 0, 0, 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6]);
    assert_eq!(kind.from_payload(&payload), Ok(value));
}

#[test]
fn members_that_the_writer_did_not_know_are_zero() {
    // Oracle: DDS-XTypes 1.3, 7.6.3.6 and table 9: default values.
    let payload = [0, 9, 0, 0, 4, 0, 0, 0, 7, 0, 0, 0];
    let kind = Type::Array(Arc::new(OCTET), vec![2]);
    let members = vec![member("a", OCTET), member("b", colors()), member("c", kind)];
    let kind = structure("A", Extensibility::Appendable, members);
    let short = [0, 9, 0, 3, 1, 0, 0, 0, 7, 0, 0, 0];
    let expected = vec![Value::Unsigned(7), Value::Enumerator(0), Value::Octets(vec![0, 0])];
    assert_eq!(kind.from_payload(&short), Ok(Value::Structure(expected)));
    // Three octets cut the next member.
    assert!(kind.from_payload(&payload).is_err());
}

#[test]
fn values_of_another_type_are_not_written() {
    // Oracle: the documented errors.
    let kind = App::described();
    let mut out = vec![1];
    let mut verdict = |value: &Value| {
        let written = kind.to_payload(value, Encoding::Xcdr1, ByteOrder::Little, &mut out);
        assert_eq!(out, [1], "nothing is left of it");
        written.unwrap_err().kind
    };
    let of = |a, b| Value::Structure(vec![a, b]);
    for wrong in [
        Value::Unsigned(1),
        Value::Structure(vec![Value::Unsigned(1)]),
        of(Value::Unsigned(65_536), Value::Signed(0)),
        of(Value::Signed(1), Value::Signed(0)),
        of(Value::Unsigned(1), Value::Signed(-129)),
    ] {
        assert_eq!(verdict(&wrong), CdrErrorKind::Mismatch, "{wrong:?}");
    }
}

#[test]
fn descriptions_have_limits() {
    // Oracle: the documented limits.
    let refused = |members| {
        Structure::new("S".to_owned(), Extensibility::Final, members).expect_err("a limit")
    };
    assert_eq!(refused(vec![]), TypeError::Empty);
    let twice = vec![member("a", OCTET), member("a", OCTET)];
    assert_eq!(refused(twice), TypeError::Twice("a".to_owned()));
    let numbers = vec![member("a", OCTET), member("b", OCTET)];
    assert_eq!(refused(numbers), TypeError::NumberTwice(0));
    let many = (0..=MEMBERS_MAX).map(|at| member(&alloc::format!("m{at}"), OCTET));
    assert_eq!(refused(many.collect()), TypeError::Members);
    assert_eq!(refused(vec![member("a", array(OCTET, 0))]), TypeError::NoElements);
    assert_eq!(refused(vec![member("a", array(colors(), VALUES_MAX))]), TypeError::Values);
    assert_eq!(refused(vec![member("a", array(OCTET, (64 << 20) + 1))]), TypeError::Octets);
    let deep = (0..DEPTH_MAX).fold(OCTET, |kind, _| sequence(kind));
    assert_eq!(refused(vec![member("a", deep)]), TypeError::Depth);
}

#[test]
fn a_small_payload_does_not_become_much_memory() {
    // Oracle: the documented limit; each element of four octets would be 1000 values.
    let large = array(Type::Primitive(Primitive::Boolean), 1_000);
    let large = structure("L", Extensibility::Mutable, vec![member("a", large)]);
    let kind = sequence(Type::Structure(large));
    let kind = structure("S", Extensibility::Final, vec![member("a", kind)]);
    let count = 2_000_u32;
    let mut payload = vec![0, 7, 0, 0];
    payload.extend((4 + 4 * count).to_le_bytes());
    payload.extend(count.to_le_bytes());
    payload.extend((0..count).flat_map(|_| [0; 4]));
    let read = kind.from_payload(&payload);
    assert_eq!(read.unwrap_err().kind, CdrErrorKind::Values(VALUES_MAX));
}

#[test]
fn defaults_count_as_values() {
    // Oracle: 2^20 values at most; each element has a thousand and two.
    let number = Type::Primitive(Primitive::Int32);
    let many = Value::List(vec![Value::Signed(7); 1_000]);
    let many = Member { default: Some(many), ..member("b", sequence(number)) };
    let [old, new] = [vec![member("a", OCTET)], vec![member("a", OCTET), many]]
        .map(|members| Type::Structure(structure("E", Extensibility::Appendable, members)));
    let arrays = vec![member("all", array(new.clone(), 2_000))];
    let arrays = Structure::new("S".to_owned(), Extensibility::Final, arrays);
    assert_eq!(arrays, Err(TypeError::Values));
    let [old, new] = [old, new].map(|element| {
        structure("S", Extensibility::Final, vec![member("all", sequence(element))])
    });
    for (count, fits) in [(1_000, true), (2_000, false)] {
        let element = Value::Structure(vec![Value::Unsigned(1)]);
        let value = Value::Structure(vec![Value::List(vec![element; count])]);
        let mut payload = Vec::new();
        old.to_payload(&value, Encoding::Xcdr2, ByteOrder::Little, &mut payload).unwrap();
        assert_eq!(new.from_payload(&payload).is_ok(), fits, "{count}");
    }
}
