//! Descriptions of own types, and what an endpoint announces of them.

use alloc::sync::Arc;
use alloc::vec::Vec;

use md5::{Digest, Md5};

use super::Hash;
use crate::cdr::Extensibility;
use crate::dynamic::{Enumeration, Member, Primitive, Structure, Type};

const MINIMAL: u8 = 0xF1;
const COMPLETE: u8 = 0xF2;
const BOTH: u8 = 0xF3;
const STRUCTURE: u8 = 0x51;
const ENUMERATION: u8 = 0x40;
/// A value that does not fit is discarded with what contains it, the default of the standard.
const TRY_CONSTRUCT: u16 = 1;
const MUST_UNDERSTAND: u16 = 1 << 4;
const KEY: u16 = 1 << 5;
/// Ids of both descriptions in what is announced.
const MINIMAL_ID: u32 = 0x1001;
const COMPLETE_ID: u32 = 0x1002;
/// Header of a member with a length of its own.
const WITH_LENGTH: u32 = 4 << 28;

/// Descriptions of a type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Description {
    /// Both descriptions of it and of all types that it consists of, each after those it needs.
    pub objects: Vec<(Hash, Vec<u8>)>,
    /// What endpoints announce of it.
    pub information: Vec<u8>,
}

impl Description {
    /// Describes a type.
    pub fn of(structure: &Arc<Structure>) -> Self {
        let [minimal, complete] = [false, true].map(|is_complete| {
            let mut describer = Describer { is_complete, objects: Vec::new(), known: Vec::new() };
            describer.structure(structure);
            describer.objects
        });
        let mut out = Out::default();
        out.sized(|out| {
            for (id, objects) in [(MINIMAL_ID, &minimal), (COMPLETE_ID, &complete)] {
                out.u32(WITH_LENGTH | id);
                out.sized(|out| announce(out, objects));
            }
        });
        let mut objects = minimal;
        objects.extend(complete);
        Self { objects, information: out.0 }
    }
}

/// Writes the identifier of the last of some descriptions, and those of the others.
fn announce(out: &mut Out, objects: &[(Hash, Vec<u8>)]) {
    let one = |out: &mut Out, (hash, object): &(Hash, Vec<u8>)| {
        out.sized(|out| {
            hash.write(&mut out.0);
            out.count(object.len());
        });
    };
    out.sized(|out| {
        let Some((root, others)) = objects.split_last() else {
            return;
        };
        one(out, root);
        out.count(others.len());
        out.sized(|out| {
            out.count(others.len());
            for other in others {
                one(out, other);
            }
        });
    });
}

/// Octets being written, from a multiple of the largest alignment.
#[derive(Default)]
struct Out(Vec<u8>);

impl Out {
    fn align(&mut self, to: usize) {
        let len = self.0.len().next_multiple_of(to);
        self.0.resize(len, 0);
    }

    fn u16(&mut self, number: u16) {
        self.align(2);
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    fn u32(&mut self, number: u32) {
        self.align(4);
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    fn count(&mut self, number: usize) {
        self.u32(u32::try_from(number).unwrap_or(u32::MAX));
    }

    fn text(&mut self, text: &str) {
        self.count(text.len() + 1);
        self.0.extend_from_slice(text.as_bytes());
        self.0.push(0);
    }

    fn sized(&mut self, write: impl FnOnce(&mut Self)) {
        self.u32(0);
        let from = self.0.len();
        write(self);
        let len = u32::try_from(self.0.len() - from).unwrap_or(u32::MAX);
        if let Some(field) = self.0.get_mut(from - 4..from) {
            field.copy_from_slice(&len.to_le_bytes());
        }
    }
}

struct Describer {
    is_complete: bool,
    objects: Vec<(Hash, Vec<u8>)>,
    known: Vec<(Arc<Structure>, Hash)>,
}

impl Describer {
    fn structure(&mut self, structure: &Arc<Structure>) -> Hash {
        let mut known = self.known.iter();
        if let Some((_, hash)) = known.find(|(known, _)| Arc::ptr_eq(known, structure)) {
            return *hash;
        }
        let members = structure.members().iter();
        let members: Vec<(&Member, Option<Hash>)> =
            members.map(|member| (member, self.hash_of(&member.kind))).collect();
        let is_complete = self.is_complete;
        let hash = self.add(STRUCTURE, |out| {
            out.u16(match structure.extensibility() {
                Extensibility::Final => 1,
                Extensibility::Appendable => 2,
                Extensibility::Mutable => 4,
            });
            out.sized(|out| {
                // No base.
                out.0.push(0);
                detail(out, structure.name(), is_complete);
            });
            out.sized(|out| {
                out.count(members.len());
                for (member, hash) in &members {
                    out.sized(|out| self::member(out, member, *hash, is_complete));
                }
            });
        });
        self.known.push((Arc::clone(structure), hash));
        hash
    }

    /// Describes what a type consists of; returns the digest that it refers to.
    fn hash_of(&mut self, kind: &Type) -> Option<Hash> {
        match kind {
            Type::Primitive(_) | Type::Text(_) => None,
            Type::Enumeration(names) => Some(self.enumeration(names)),
            Type::Sequence(element, _) | Type::Array(element, _) => self.hash_of(element),
            Type::Structure(structure) => Some(self.structure(structure)),
        }
    }

    fn enumeration(&mut self, names: &Enumeration) -> Hash {
        let is_complete = self.is_complete;
        self.add(ENUMERATION, |out| {
            out.u16(0);
            out.sized(|out| {
                // Bits of a value.
                out.u16(32);
                detail(out, names.name(), is_complete);
            });
            out.sized(|out| {
                out.count(names.names().len());
                for one in names.names() {
                    out.sized(|out| {
                        out.sized(|out| {
                            out.u32(one.value.cast_unsigned());
                            out.u16(0);
                        });
                        name(out, &one.name, is_complete);
                    });
                }
            });
        })
    }

    /// Adds a description, unless it is there already; returns its digest.
    fn add(&mut self, kind: u8, write: impl FnOnce(&mut Out)) -> Hash {
        let mut out = Out::default();
        out.sized(|out| {
            out.0.push(if self.is_complete { COMPLETE } else { MINIMAL });
            out.0.push(kind);
            write(out);
        });
        let hash = Hash { is_complete: self.is_complete, ..Hash::of(&out.0) };
        if !self.objects.iter().any(|(known, _)| *known == hash) {
            self.objects.push((hash, out.0));
        }
        hash
    }
}

/// Writes the name of a type, which only complete descriptions have; no annotations.
fn detail(out: &mut Out, name: &str, is_complete: bool) {
    if is_complete {
        out.0.extend_from_slice(&[0, 0]);
        out.text(name);
    }
}

/// Writes the name of a member, or its digest.
fn name(out: &mut Out, name: &str, is_complete: bool) {
    if is_complete {
        out.text(name);
        // No annotations.
        out.0.extend_from_slice(&[0, 0]);
        return;
    }
    let digest: [u8; 16] = Md5::digest(name.as_bytes()).into();
    out.0.extend_from_slice(&digest[..4]);
}

fn member(out: &mut Out, member: &Member, hash: Option<Hash>, is_complete: bool) {
    out.u32(member.id);
    let key = if member.is_key { KEY | MUST_UNDERSTAND } else { 0 };
    out.u16(TRY_CONSTRUCT | key);
    identifier(out, &member.kind, hash);
    name(out, &member.name, is_complete);
}

/// Writes the identifier of a type; `hash` is what it refers to.
fn identifier(out: &mut Out, kind: &Type, hash: Option<Hash>) {
    let bound = |max: &Option<usize>| u32::try_from(max.unwrap_or(0)).unwrap_or(u32::MAX);
    match kind {
        Type::Primitive(primitive) => out.0.push(primitive_kind(*primitive)),
        Type::Text(max) => {
            if let Ok(small) = u8::try_from(bound(max)) {
                out.0.extend_from_slice(&[0x70, small]);
            } else {
                out.0.push(0x71);
                out.u32(bound(max));
            }
        }
        Type::Enumeration(_) | Type::Structure(_) => {
            if let Some(hash) = hash {
                hash.write(&mut out.0);
            }
        }
        Type::Sequence(element, max) => {
            let small = u8::try_from(bound(max));
            out.0.push(if small.is_ok() { 0x80 } else { 0x81 });
            header(out, hash);
            match small {
                Ok(small) => out.0.push(small),
                Err(_) => out.u32(bound(max)),
            }
            identifier(out, element, hash);
        }
        Type::Array(element, dimensions) => {
            let are_small = dimensions.iter().all(|one| u8::try_from(*one).is_ok());
            out.0.push(if are_small { 0x90 } else { 0x91 });
            header(out, hash);
            out.count(dimensions.len());
            for one in dimensions {
                match u8::try_from(*one) {
                    Ok(small) if are_small => out.0.push(small),
                    _ => out.count(*one),
                }
            }
            identifier(out, element, hash);
        }
    }
}

/// Writes the header of a plain collection.
fn header(out: &mut Out, hash: Option<Hash>) {
    out.0.push(match hash {
        None => BOTH,
        Some(hash) if hash.is_complete => COMPLETE,
        Some(_) => MINIMAL,
    });
    out.u16(TRY_CONSTRUCT);
}

const fn primitive_kind(primitive: Primitive) -> u8 {
    match primitive {
        Primitive::Boolean => 0x01,
        Primitive::Octet => 0x02,
        Primitive::Int16 => 0x03,
        Primitive::Int32 => 0x04,
        Primitive::Int64 => 0x05,
        Primitive::Uint16 => 0x06,
        Primitive::Uint32 => 0x07,
        Primitive::Uint64 => 0x08,
        Primitive::Float32 => 0x09,
        Primitive::Float64 => 0x0A,
        Primitive::Int8 => 0x0C,
        Primitive::Character => 0x10,
    }
}
