#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]
use proptest::collection::vec;
use proptest::prelude::*;
use rtether_rtps::cdr::{ByteOrder, Data, Encoding, Extensibility, key_hash_in, to_payload_in};
use rtether_rtps::dynamic::{Primitive, Structure, Type, Value};
use rtether_rtps::types::ShapeType;

use super::*;
use crate::topics::values_of;
use rtether::scenario::render::{self, Style};

fn source(text: &str) -> Source {
    Source { name: "types.idl".to_owned(), text: text.to_owned() }
}

fn library(text: &str) -> Library {
    let source = source(text);
    Library::parse(&source).unwrap_or_else(|mistake| {
        panic!("{}", render::text(&mistake, std::slice::from_ref(&source), Style::Plain))
    })
}

fn structure(text: &str, name: &str) -> Arc<Structure> {
    Arc::clone(library(text).structure(name).unwrap())
}

/// The type of the peers in `interop/`.
const PEER: &str = include_str!("../../../../interop/peer.idl");

#[test]
fn the_types_of_the_peers() {
    // Oracle: the derived type, whose octets Cyclone DDS reads.
    let library = library(PEER);
    assert_eq!(library.names(), ["ShapeType", "ShapeFinal", "Octets"]);
    let shape = library.structure("ShapeType").unwrap();
    assert_eq!(shape.name(), ShapeType::NAME);
    assert_eq!(shape.extensibility(), Extensibility::Appendable);
    let of = |name: &str| library.structure(name).unwrap().extensibility();
    assert_eq!(of("ShapeFinal"), Extensibility::Final);
    let value = ShapeType {
        color: "GREEN".to_owned(),
        x: -1,
        y: 2,
        shapesize: 30,
        additional_payload_size: vec![1, 2, 3],
    };
    same(&value, shape).unwrap();
}

/// Octets and hashes of a value equal those of the derived type, in all representations.
fn same<T: Data>(value: &T, kind: &Structure) -> Result<(), TestCaseError> {
    for encoding in [Encoding::Xcdr1, Encoding::Xcdr2] {
        for order in [ByteOrder::Little, ByteOrder::Big] {
            let (mut theirs, mut ours) = (Vec::new(), Vec::new());
            to_payload_in(value, encoding, order, &mut theirs).unwrap();
            let read = kind.from_payload(&theirs);
            let read = read.map_err(|error| TestCaseError::fail(error.to_string()))?;
            kind.to_payload(&read, encoding, order, &mut ours).unwrap();
            prop_assert_eq!(&ours, &theirs);
            let their_hash = key_hash_in(value, encoding, &mut theirs);
            prop_assert_eq!(kind.key_hash_in(&read, encoding, &mut ours), their_hash);
        }
    }
    Ok(())
}

#[derive(Clone, Copy, Debug, PartialEq, Data)]
#[rtps(name = "Cell::Mode")]
enum Mode {
    Off,
    Slow = 7,
    Fast,
}

#[derive(Clone, Debug, PartialEq, Data)]
#[rtps(name = "Cell::Joint", final)]
struct Joint {
    #[rtps(key)]
    number: u8,
    angle: f64,
}

#[derive(Clone, Debug, PartialEq, Data)]
#[rtps(name = "Cell::Robot", mutable)]
struct Robot {
    #[rtps(key, id = 20)]
    joints: [Joint; 2],
    #[rtps(id = 3, key)]
    line: i64,
    mode: Mode,
    #[rtps(max = 8)]
    name: String,
    modes: Vec<Mode>,
    #[rtps(max = 16)]
    counts: Vec<u16>,
    flags: Vec<bool>,
    octets: Vec<u8>,
    letter: char,
    force: f32,
    parts: Vec<Joint>,
    words: Vec<String>,
    a: i8,
    b: i16,
    c: u64,
}

const ROBOT: &str = "
    #ifndef CELL
    #define CELL
    module Cell {
        const long SIZE = 0x8; /* octets */ const unsigned short TWICE = 16;
        enum Mode { Off, @value(7) Slow, Fast };
        @final struct Joint { @key octet number; double angle; };
        typedef sequence<Joint> Joints; // of all
        typedef Joint Pair[2];
        module Inner { typedef unsigned long long Count; };
        @mutable @topic(name = \"robots\")
        struct Robot {
            @key @id(20) Pair joints;
            @id(3) @key long long line;
            Cell::Mode mode;
            string<SIZE> name;
            sequence<Mode> modes;
            sequence<uint16, TWICE> counts;
            sequence<boolean> flags;
            sequence<uint8> octets;
            @unit(\"none\") char letter;
            float force;
            Joints parts;
            sequence< sequence<long>, 1> unused_never;
            int8 a;
        };
    };
    #endif
    ";

fn robot() -> Arc<Structure> {
    let text = ROBOT.replace(
        "sequence< sequence<long>, 1> unused_never;\n            int8 a;",
        "sequence<string> words; int8 a; short b; ::Cell::Inner::Count c;",
    );
    structure(&text, "Cell::Robot")
}

fn modes() -> impl Strategy<Value = Mode> {
    prop_oneof![Just(Mode::Off), Just(Mode::Slow), Just(Mode::Fast)]
}

prop_compose! {
    fn joints()(number: u8, angle in -1e9..1e9) -> Joint { Joint { number, angle } }
}

prop_compose! {
    fn robots()(
        (joints, parts) in ([joints(), joints()], vec(joints(), 0..3)),
        (line, letter, a, b, c) in any::<(i64, u8, i8, i16, u64)>(),
        (mode, modes) in (modes(), vec(modes(), 0..4)),
        (name, words) in ("[a-z]{0,8}", vec("[a-z]{0,5}", 0..3)),
        counts in vec(any::<u16>(), 0..=16),
        flags in vec(any::<bool>(), 0..4),
        octets in vec(any::<u8>(), 0..4),
        force in -1e9_f32..1e9,
    ) -> Robot {
        Robot {
            joints, line, mode, name, modes, counts, flags, octets, letter: letter.into(), force,
            parts, words, a, b, c,
        }
    }
}

proptest! {
    #[test]
    fn a_type_of_a_file_is_the_derived_one(value in robots()) {
        same(&value, &robot())?;
    }

    /// Any input gives a library or a mistake that can be shown, never a panic.
    #[test]
    fn mutated_text_is_read_or_refused(
        edits in vec((any::<prop::sample::Index>(), "[ -~\\n\u{e9}]{0,3}|struct|@|::|>|\\{"), 1..6),
        cut in any::<prop::sample::Index>(),
        is_cut: bool,
    ) {
        let mut text: Vec<char> = ROBOT.chars().collect();
        for (at, with) in edits {
            let at = at.index(text.len());
            text.splice(at..=at, with.chars());
            if text.is_empty() {
                text.push(' ');
            }
        }
        if is_cut {
            text.truncate(cut.index(text.len()));
        }
        let source = source(&text.into_iter().collect::<String>());
        match Library::parse(&source) {
            Ok(library) => prop_assert!(library.names().len() <= 3),
            Err(mistake) => {
                let sources = std::slice::from_ref(&source);
                prop_assert!(render::text(&mistake, sources, Style::Plain).contains("error[idl-"));
                prop_assert!(!mistake.help.is_empty());
            }
        }
    }

    /// The same for arbitrary text.
    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,80}") {
        drop(Library::parse(&source(&text)));
    }
}

#[test]
fn members_are_as_they_are_written() {
    // Oracle: IDL 4.2, table 7-13 and 7.4.1.4.4: dimensions belong to the declarator, and one
    // specification may have several.
    let text =
        "typedef long Row[3]; struct A { long x, grid[2][3]; Row rows[2]; unsigned short s; };";
    let kind = structure(text, "A");
    let int32 = Arc::new(Type::Primitive(Primitive::Int32));
    let kinds: Vec<_> = kind.members().iter().map(|member| member.kind.clone()).collect();
    let expected = [
        Type::Primitive(Primitive::Int32),
        Type::Array(Arc::clone(&int32), vec![2, 3]),
        // As Cyclone DDS 0.10.2 puts it on the wire.
        Type::Array(int32, vec![2, 3]),
        Type::Primitive(Primitive::Uint16),
    ];
    assert_eq!(kinds, expected);
    let ids: Vec<_> = kind.members().iter().map(|member| member.id).collect();
    assert_eq!(ids, [0, 1, 2, 3]);
    assert_eq!(kind.extensibility(), Extensibility::Appendable);
}

#[test]
fn a_member_that_the_writer_lacks_has_its_default() {
    // Oracle: DDS-XTypes 1.3, 7.2.2.4.4.4.7 and 7.3.1.2.1.11, by hand: the writer's type has `a` only.
    let older = structure("@appendable struct A { long a; };", "A");
    let newer = "@appendable struct A { @default(3) long a; @default(-2.5) float b; long c; };";
    let newer = structure(newer, "A");
    let value = Value::Structure(vec![Value::Signed(9)]);
    let mut payload = Vec::new();
    older.to_payload(&value, Encoding::Xcdr2, ByteOrder::Little, &mut payload).unwrap();
    let expected = [Value::Signed(9), Value::Float(-2.5), Value::Signed(0)];
    assert_eq!(newer.from_payload(&payload), Ok(Value::Structure(expected.into())));
    let missing = [Value::Signed(3), Value::Float(-2.5), Value::Signed(0)];
    assert_eq!(newer.missing(), Value::Structure(missing.into()));
}

#[test]
fn an_enumeration_names_its_default() {
    // Oracle: DDS-XTypes 1.3, 7.3.1.2.1.10.
    let text = "enum E { OFF, @value(7) @default_literal SLOW, FAST }; \
                struct A { E a; E b[2]; @default(FAST) E c; };";
    let [slow, fast] = [7, 8].map(Value::Enumerator);
    let expected = vec![slow.clone(), Value::List(vec![slow.clone(), slow]), fast];
    assert_eq!(structure(text, "A").missing(), Value::Structure(expected));
}

#[test]
fn keys_are_listed_by_pragmas_as_well() {
    // Oracle: the same type with annotations.
    let annotated = "module M { struct A { @key long a; long b; @key short c; }; };";
    let listed = "module M { struct A { long a; long b; short c; }; };\n#pragma keylist M::A a c\n";
    let inside = "module M { struct A { long a; long b; short c; };\n#pragma keylist A a c\n};";
    assert_eq!(library(annotated), library(listed));
    assert_eq!(library(annotated), library(inside));
}

/// Accepted by `idlc` of Cyclone DDS 0.10.2, too.
const CELL: &str = "
module Cell {
    enum Mode { OFF, @value(7) SLOW, FAST };
    @final struct Point { double x; octet y; };
    @appendable struct Tool { @key short n; string<8> s; };
    typedef long Row[3];
    @topic @appendable struct Axis {
        @key long number; @key Tool gear; Mode state; sequence<Point, 4> path; sequence<Mode> modes;
        string<16> name; long grid[2][3]; Row rows[2]; Tool tools[2]; unsigned long long big;
        boolean on; sequence<string> words;
    };
    @topic @mutable struct Mut {
        @key @id(90) long number; @id(3) Tool gear; Mode state; sequence<double> ds;
        sequence<unsigned short> us; sequence<octet> os; string name; float f; Row line; char c;
    };
};";

/// What Cyclone DDS 0.10.2 sent for both in XCDR2.
const CYCLONE_AXIS: &str = "00090000d0000000f9ffffff0d0000000500000005000000746f6f6c000000000700000019000000 \
     02000000000000000000f83f020000000000000000000ac0040000000c0000000200000008000000 \
     070000000500000061786973000000000000000001000000020000000a0000000b0000000c000000 \
     0000000001000000020000006400000065000000660000001f0000000a0000000100000002000000 \
     780000000b0000000200000003000000797a00000000000000000080010000001400000002000000 \
     02000000610000000400000062636400";
const CYCLONE_MUT: &str = "000b0003910000005a0000a00400000003000040110000000d0000000500000005000000746f6f6c \
     0000000004000020080000000500007002000000000000000000e03f000000000000f0bf06000040 \
     0a0000000300000001000200ffff000007000050010000000900000008000050040000006d757400 \
     09000020000020400a0000400c0000000100000002000000030000000b00000063000000";

#[test]
fn values_are_those_that_cyclone_dds_sends() {
    // Oracle: values written by a program on Cyclone DDS 0.10.2, and the octets it sent for them.
    let axis = "{number: -7, gear: {n: 5, s: tool}, state: SLOW, path: [{x: 1.5, y: 2},
        {x: -3.25, y: 4}], modes: [FAST, SLOW], name: axis, grid: [[0, 1, 2], [10, 11, 12]],
        rows: [[0, 1, 2], [100, 101, 102]], tools: [{n: 1, s: x}, {n: 2, s: yz}],
        big: 9223372036854775808, on: true, words: [a, bcd]}";
    let mutable = "{number: 4, gear: {n: 5, s: tool}, state: FAST, ds: [0.5, -1],
        us: [1, 2, 65535], os: [9], name: mut, f: 2.5, line: [1, 2, 3], c: c}";
    for (name, text, octets) in [("Axis", axis, CYCLONE_AXIS), ("Mut", mutable, CYCLONE_MUT)] {
        let kind = structure(CELL, name);
        let value = values_of(text, &kind).unwrap().remove(0);
        let octets: String = octets.split_whitespace().collect();
        let pairs = (0..octets.len()).step_by(2).map(|at| &octets[at..at + 2]);
        let mut theirs: Vec<u8> = pairs.map(|two| u8::from_str_radix(two, 16).unwrap()).collect();
        assert_eq!(kind.from_payload(&theirs).as_ref(), Ok(&value), "{name}");
        if name == "Mut" {
            // Cyclone sets the must-understand bit for keys; we do not.
            theirs[11] &= 0x7F;
        }
        let mut ours = Vec::new();
        kind.to_payload(&value, Encoding::Xcdr2, ByteOrder::Little, &mut ours).unwrap();
        assert_eq!(ours, theirs, "{name}");
    }
}

#[test]
fn names_are_found_from_the_inside_out() {
    // Oracle: IDL 4.2, 7.5.2; the last part of a name is enough for a structure whose name is
    // unique.
    let text = "module A { struct S { long a; }; module B { struct S { char a; }; struct T { S s; A::S t; }; }; };";
    let library = library(text);
    let name = |member: usize| {
        let kind = &library.structure("T").unwrap().members()[member].kind;
        let Type::Structure(structure) = kind else {
            panic!("{kind:?}");
        };
        structure.name().to_owned()
    };
    assert_eq!((name(0), name(1)), ("A::B::S".to_owned(), "A::S".to_owned()));
    assert!(library.structure("S").is_none(), "there are two");
    assert!(library.structure("B::S").is_some());
}

#[test]
fn a_mistake_shows_its_place_and_what_to_do() {
    // Oracle: the format of diagnostics in this project.
    let source = source("struct A {\n    long x;\n    Colour c;\n};\nenum Color { RED };\n");
    let mistake = Library::parse(&source).unwrap_err();
    let text = render::text(&mistake, std::slice::from_ref(&source), Style::Plain);
    assert!(text.contains("error[idl-unknown-name]: nothing is named `Colour`"), "{text}");
    assert!(text.contains("--> types.idl:3:5"), "{text}");
    assert!(text.contains("help: declare it before"), "{text}");
}

#[test]
#[allow(clippy::too_many_lines, reason = "a table")]
fn mistakes_of_all_kinds_are_refused() {
    // Oracle: the codes, and words of the text in the title.
    let deep = format!("struct A {{ {}long{} a; }};", "sequence<".repeat(17), ">".repeat(17));
    let modules = "module M { ".repeat(17);
    for (text, code, title) in [
        ("struct A { A a; };", "idl-recursion", "`A`"),
        ("struct A; struct B { sequence<A> a; };", "idl-recursion", "`A`"),
        ("struct A { long a };", "idl-syntax", "`}`"),
        ("struct A { long a; }", "idl-syntax", "the file ends"),
        ("struct A { };", "idl-type", "no members"),
        ("struct A { long a; char a; };", "idl-type", "`a`"),
        ("struct A { @id(1) long a; @id(1) char b; };", "idl-type", "the id 1"),
        ("struct A { long a; }; struct A { long b; };", "idl-name", "twice"),
        ("struct A : B { long a; };", "idl-unsupported", "inherits"),
        ("union U switch (long) { case 1: long a; };", "idl-unsupported", "union"),
        ("struct A { wstring a; };", "idl-unsupported", "wstring"),
        ("struct A { long double a; };", "idl-unsupported", "long double"),
        ("struct A { @optional long a; };", "idl-annotation", "optional"),
        ("@nonsense struct A { long a; };", "idl-annotation", "nonsense"),
        ("struct A { string<0> a; };", "idl-number", "found 0"),
        ("struct A { long a[4294967296]; };", "idl-number", "4294967296"),
        ("struct A { long a[1048576]; };", "idl-type", "values"),
        ("struct A { octet a[99999999]; };", "idl-type", "octets"),
        ("const long N = 2 * 3;", "idl-unsupported", "expression"),
        ("const string S = \"a\";", "idl-unsupported", "whole number"),
        ("enum E { A, A };", "idl-type", "`A`"),
        ("enum E { @value(2147483647) A, B };", "idl-number", "2147483648"),
        ("#include \"a.idl\"\n", "idl-preprocessor", "include"),
        ("struct A { long a; };\n#pragma keylist A b\n", "idl-key", "`b`"),
        ("#pragma keylist A b\n", "idl-key", "`A`"),
        ("struct A { long $; };", "idl-syntax", "`$`"),
        ("struct A { @default(2.5) long a; };", "idl-default", "`2.5`"),
        ("struct A { @default(\"abc\") string<2> a; };", "idl-default", "abc"),
        ("struct A { @default(1e999) double a; };", "idl-default", "1e999"),
        ("struct A { @default(1) long a[2]; };", "idl-default", "`1`"),
        ("struct A { @default(1) sequence<long> a; };", "idl-default", "`1`"),
        ("struct B { long b; }; struct A { @default(1) B a; };", "idl-default", "`1`"),
        ("@default(5) typedef long L; struct A { L a; };", "idl-default", "no member"),
        ("@autoid(HASH) module M { struct A { long a; }; };", "idl-annotation", "autoid"),
        ("enum E { @default_literal A, @default_literal B };", "idl-default", "second default"),
        ("struct A { @default('ab') char a; };", "idl-syntax", "character"),
        ("const long N = 2.5;", "idl-number", "`2.5`"),
        ("/* no end", "idl-syntax", "comment"),
        (&deep, "idl-too-deep", "16 deep"),
        (&modules, "idl-too-deep", "16 modules"),
        (&" ".repeat(FILE_MAX + 1), "idl-too-large", "1048577"),
    ] {
        let mistake = Library::parse(&source(text)).expect_err(text);
        assert_eq!(mistake.code, code, "{text}: {}", mistake.title);
        assert!(mistake.title.contains(title), "{text}: {}", mistake.title);
        assert_eq!(mistake.help.len(), 1, "{text}");
    }
}
