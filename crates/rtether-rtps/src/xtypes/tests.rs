//! Octets that Cyclone DDS 11.0.1 sent, and hostile ones.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::lookup::{
    ASKED_MAX, instance_of, is_instance_of, read_reply, read_request, reply, request,
};
use super::*;
use crate::cdr::Extensibility;
use crate::dynamic::{Member, Primitive, Structure, Type, Value};
use crate::guid::{EntityId, Guid, GuidPrefix};

fn octets(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
    let pairs = digits.chunks(2);
    let octet = |pair: &[u8]| u8::from_str_radix(core::str::from_utf8(pair).unwrap(), 16).unwrap();
    pairs.map(octet).collect()
}

/// What it announced of `std_msgs::msg::dds_::String_` of Python.
const INFORMATION: &str = "6000000001100040280000002400000014000000f159656d080ab926a333a69d269cb10000\
    00000000000000040000000000000002100040280000002400000014000000f2c3da80d638e91b9fad0a6b765cc20000\
    000000000000000400000000000000";
/// The same of Fast DDS 3.2.3, with members whose length is that of their value.
const OF_FAST: &str = "58000000011000502400000014000000f1f93df16d593968a052327f69f535005a000000ffffffff\
    0400000000000000021000502400000014000000f2e1511f550bc23ce73cbdebe3dd8400b5000000ffffffff04000000\
    00000000";
/// What Fast DDS 3.2.3 asks a participant once its writer has announced a type.
const ASKED_BY_FAST: &str = "00070000010ff5e0eb2366410000000\
    0000300c300000000000000003100000064\
    64732e6275696c74696e2e544f532e3031666531313230613739346438313130653161303030303030303030336332\
    000000002c00000031fbaa05240000006560535c1300000001000000f2d7eeffbc7829fde85bc1e942153100d2e3085500\
    000000";
/// Its request for that type.
const REQUEST: &str = "00070001011091a38bfe22d79c4b82b3000300c3000000000100000031000000\
    6464732e6275696c74696e2e544f532e303030303030303030303030303030303030303030303030303030303030303000\
    00000023000000d35282011b0000006560535c1300000001000000f2c3da80d638e91b9fad0a6b765cc200";
/// Its reply.
const REPLY: &str = "00070000011091a38bfe22d79c4b82b3000300c30000000001000000000000008c000000d3528201\
    84000000000000007c000000d14a80526700000001000000f2c3da80d638e91b9fad0a6b765cc2004f000000f2510100\
    25000000000000001d0000007374645f6d7367733a3a6d73673a3a6464735f3a3a537472696e675f000000001b000000\
    0100000013000000000000000100700005000000646174610000000077658e5b0400000000000000";
/// Its reply about a message with nested types, an array and sequences.
const POSE: &str = "00070000011091a38bfe22d79c4b82b3000300c300000000010000000000000028010000d3528201\
    200100000000000018010000d14a80520401000001000000f2d7eeffbc7829fde85bc1e942153100ec000000f2510100\
    25000000000000001d000000706c616e745f6d7367733a3a6d73673a3a6464735f3a3a506f73655f00000000b8000000\
    05000000140000000000000001007010060000006672616d6500000024000000010000000100f2780248103525a76a9d\
    4654097df800000006000000706c6163650000002700000002000000010080f2010004f2780248103525a76a9d465409\
    7df800000500000070617468000000002500000003000000010090f30100000001000000030a00000b000000636f7661\
    7269616e63650000000000001800000004000000010080f30100000406000000636f64657300000077658e5b04000000\
    00000000";

const TEXT: Hash = Hash {
    is_complete: true,
    octets: [0xC3, 0xDA, 0x80, 0xD6, 0x38, 0xE9, 0x1B, 0x9F, 0xAD, 0x0A, 0x6B, 0x76, 0x5C, 0xC2],
};

#[test]
fn announced_types_are_read() {
    // Oracle: the digest in the request of the other implementation.
    let read = TypeInformation::decode(&octets(INFORMATION)).unwrap();
    assert_eq!(read.complete, TypeId::Hash(TEXT));
    assert_eq!(read.dependencies, []);
    let read = TypeInformation::decode(&octets(OF_FAST)).unwrap();
    let hash = read.complete.hash().unwrap();
    assert!(hash.is_complete && hash.octets.starts_with(&[0xE1, 0x51]));
}

#[test]
fn a_request_is_that_of_cyclone_but_for_its_addressee() {
    // Oracle: the recorded request.
    let theirs = octets(REQUEST);
    let read = read_request(&theirs).unwrap().unwrap();
    assert_eq!(read.hashes, [TEXT]);
    assert!(!read.is_for_dependencies && read.instance.ends_with(&[b'0'; 32]));
    let (writer, number) = read.identity;
    assert_eq!((writer.entity, number), (EntityId::TYPE_REQUEST_WRITER, 1));
    let to = GuidPrefix([0xAB; 12]);
    let mut ours = request(read.identity, to, &read.hashes);
    let name = instance_of(to);
    assert_eq!(name.len(), 48);
    let at = ours.windows(48).position(|part| part == name).unwrap();
    ours[at..at + 48].copy_from_slice(&read.instance);
    // Options of the header count padding, which is ignored.
    assert_eq!(ours[4..], theirs[4..]);
}

#[test]
fn a_request_of_fast_dds_is_read() {
    // Oracle: the digest of the type it has been told of, and the GUID of its announcer.
    let read = read_request(&octets(ASKED_BY_FAST)).unwrap().unwrap();
    assert!(read.is_for_dependencies);
    let [hash] = &read.hashes[..] else {
        panic!("{:?}", read.hashes);
    };
    assert!(hash.is_complete && hash.octets.starts_with(&[0xD7, 0xEE]));
    let own = GuidPrefix([0x01, 0xFE, 0x11, 0x20, 0xA7, 0x94, 0xD8, 0x11, 0x0E, 0x1A, 0, 0]);
    assert!(is_instance_of(&read.instance, own));
    assert!(!is_instance_of(&read.instance[..47], own));
    assert!(!is_instance_of(&read.instance, GuidPrefix([1; 12])));
}

#[test]
fn a_reply_is_that_of_cyclone() {
    // Oracle: the recorded reply, and the type of the Python program.
    let theirs = octets(REPLY);
    let (identity, types) = read_reply(&theirs).unwrap();
    let [(hash, object)] = &types[..] else {
        panic!("{types:?}");
    };
    assert_eq!(*hash, TEXT);
    assert_eq!(reply(identity, &[(*hash, object)]), theirs);
    let mut library = Library::default();
    library.insert(*hash, object).unwrap();
    let kind = library.structure(&TypeId::Hash(TEXT), "std_msgs::msg::dds_::String_");
    let kind = kind.unwrap();
    assert_eq!(kind.extensibility(), Extensibility::Final);
    assert_eq!(kind.members()[0].kind, Type::Text(None));
    let value = kind.from_payload(&[0, 1, 0, 0, 3, 0, 0, 0, b'h', b'i', 0, 0]);
    assert_eq!(value, Ok(Value::Structure(alloc::vec![Value::Text("hi".into())])));
}

#[test]
fn what_a_type_needs_is_asked_for() {
    // Oracle: the type of the Python program: a bounded string, a structure, a bounded sequence of
    // it, an array, and a sequence.
    let (_, types) = read_reply(&octets(POSE)).unwrap();
    let (hash, object) = &types[0];
    let root = TypeId::Hash(*hash);
    let mut library = Library::default();
    assert_eq!(library.missing(&root), [*hash]);
    library.insert(*hash, object).unwrap();
    let [point] = library.missing(&root)[..] else {
        panic!("{:?}", library.missing(&root));
    };
    assert_eq!(library.structure(&root, "Pose"), Err(BuildError::Missing(point)));
    let Ok(Object::Structure { name, members, .. }) = Object::decode(object) else {
        panic!("no structure");
    };
    assert_eq!(name, "plant_msgs::msg::dds_::Pose_");
    let names: Vec<&str> = members.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["frame", "place", "path", "covariance", "codes"]);
    let kind = |at: usize| &members[at].kind;
    let text = TypeId::Text { is_wide: false, max: 16 };
    assert_eq!(kind(0), &text);
    assert_eq!(kind(2), &TypeId::Sequence(TypeId::Hash(point).into(), 4));
    let array = TypeId::Array(TypeId::Primitive(0x0A).into(), alloc::vec![3]);
    assert_eq!(kind(3), &array);
    assert_eq!(kind(4), &TypeId::Sequence(TypeId::Primitive(4).into(), 0));
}

#[test]
fn a_digest_is_that_of_the_octets() {
    // Oracle: the digests that the other implementation sent with its descriptions.
    for hex in [REPLY, POSE] {
        let (_, types) = read_reply(&octets(hex)).unwrap();
        let (hash, object) = &types[0];
        assert_eq!(Hash::of(object), *hash);
    }
}

/// The message of the Python program, and the structure in it.
fn pose() -> [Arc<Structure>; 2] {
    let members = |all: Vec<(&str, Type)>| {
        let all = all.into_iter().zip(0..);
        all.map(|((name, kind), id)| Member {
            name: name.into(),
            id,
            is_key: false,
            kind,
            default: None,
        })
        .collect()
    };
    let made = |name: &str, all| {
        let made = Structure::new(name.into(), Extensibility::Final, members(all));
        Arc::new(made.unwrap())
    };
    let number = Type::Primitive(Primitive::Float64);
    let point = alloc::vec![("x", number.clone()), ("y", number.clone())];
    let point = made("plant_msgs::msg::dds_::Point_", point);
    let inner = Type::Structure(Arc::clone(&point));
    let codes = Type::Primitive(Primitive::Int32);
    let pose = alloc::vec![
        ("frame", Type::Text(Some(16))),
        ("place", inner.clone()),
        ("path", Type::Sequence(inner.into(), Some(4))),
        ("covariance", Type::Array(number.into(), alloc::vec![3])),
        ("codes", Type::Sequence(codes.into(), None)),
    ];
    [made("plant_msgs::msg::dds_::Pose_", pose), point]
}

#[test]
fn own_descriptions_are_those_of_cyclone() {
    // Oracle: the recorded description, octet by octet, and the digest in it of the inner one.
    let [pose, point] = pose();
    let (_, types) = read_reply(&octets(POSE)).unwrap();
    let (hash, object) = &types[0];
    let description = Description::of(&pose);
    let complete = description.objects.last().unwrap();
    assert_eq!((&complete.0, &complete.1), (hash, object));
    let inner = Description::of(&point);
    let (inner_hash, _) = inner.objects.last().unwrap();
    let Ok(Object::Structure { members, .. }) = Object::decode(object) else {
        panic!("no structure");
    };
    assert_eq!(members[1].kind, TypeId::Hash(*inner_hash));
    // What is announced is read again: the type, and what it needs.
    let read = TypeInformation::decode(&description.information).unwrap();
    assert_eq!(read.complete, TypeId::Hash(*hash));
    assert_eq!(read.dependencies, [TypeId::Hash(*inner_hash)]);
    // The announcement of a type without others, but for the sizes that Cyclone DDS leaves out.
    let members = alloc::vec![Member {
        name: "data".into(),
        id: 0,
        is_key: false,
        kind: Type::Text(None),
        default: None,
    }];
    let text = "std_msgs::msg::dds_::String_".into();
    let text = Arc::new(Structure::new(text, Extensibility::Final, members).unwrap());
    let mut ours = Description::of(&text).information;
    for at in [0x24, 0x54] {
        ours[at..at + 4].fill(0);
    }
    assert_eq!(ours, octets(INFORMATION));
}

#[test]
fn own_types_are_built_from_their_descriptions() {
    // Oracle: round trip.
    let [pose, _] = pose();
    let mut library = Library::default();
    let description = Description::of(&pose);
    let complete = description.objects.iter().filter(|(hash, _)| hash.is_complete);
    for (hash, object) in complete {
        library.insert(*hash, object).unwrap();
    }
    let (root, _) = description.objects.last().unwrap();
    let built = library.structure(&TypeId::Hash(*root), pose.name()).unwrap();
    assert_eq!(built, pose);
}

#[test]
fn whatever_is_cut_off_or_changed_is_refused_or_read() {
    // Oracle: no panic; what is cut off is never complete.
    for (hex, is_reply) in [(REPLY, true), (POSE, true), (REQUEST, false)] {
        let whole_octets = octets(hex);
        for cut in 0..whole_octets.len() {
            let part = &whole_octets[..cut];
            let (reply, request) = (read_reply(part), read_request(part));
            // Two octets of padding at the end are nobody's.
            let is_wrong = if is_reply { reply.is_err() } else { request.is_err() };
            assert!(is_wrong || cut + 4 >= whole_octets.len(), "{cut}");
        }
        for at in 0..whole_octets.len() {
            for change in [0x01, 0x80, 0xFF] {
                let mut changed = whole_octets.clone();
                changed[at] ^= change;
                drop(read_request(&changed));
                if let Ok((_, types)) = read_reply(&changed) {
                    for (_, object) in types {
                        drop(Object::decode(&object));
                    }
                }
            }
        }
    }
    let information = octets(INFORMATION);
    for cut in 0..information.len() {
        assert!(TypeInformation::decode(&information[..cut]).is_err(), "{cut}");
    }
}

#[test]
fn too_much_is_refused() {
    // Oracle: the limits.
    let identity = (Guid::default(), 1);
    let hashes = alloc::vec![TEXT; ASKED_MAX + 1];
    let asked =
        |count: usize| read_request(&request(identity, GuidPrefix::UNKNOWN, &hashes[..count]));
    assert!(asked(ASKED_MAX).is_ok_and(|read| read.is_some()));
    assert!(asked(ASKED_MAX + 1).is_err());
    // Sequences of sequences, deeper than allowed.
    let mut nested: Vec<u8> = Vec::new();
    for _ in 0..20 {
        // Kind, equivalence, flags at an even place, bound.
        nested.extend([0x80, 0xF3]);
        nested.resize(nested.len().next_multiple_of(2) + 3, 0);
    }
    let mut deep = decoder(&nested);
    assert!(TypeId::read(&mut deep).is_err());
}

/// A library in which types contain each other.
fn circle(members: usize) -> (Library, TypeId) {
    let hash = |number: u8| Hash { is_complete: true, octets: [number; 14] };
    let mut library = Library::default();
    for number in 0..2 {
        let member = |at| ObjectMember {
            name: alloc::format!("m{at}"),
            id: at,
            is_key: false,
            is_optional: false,
            kind: TypeId::Hash(hash(1 - number)),
        };
        let object = Object::Structure {
            name: String::from("T"),
            extensibility: Extensibility::Final,
            base: TypeId::None,
            members: (0..u32::try_from(members).unwrap()).map(member).collect(),
        };
        library.insert_unchecked(hash(number), object).unwrap();
    }
    (library, TypeId::Hash(hash(0)))
}

#[test]
fn circles_end() {
    // Oracle: the depth that types may have; with many members, the number of steps.
    for members in [1, 2, 1_000] {
        let (library, root) = circle(members);
        assert!(library.structure(&root, "T").is_err());
    }
}
