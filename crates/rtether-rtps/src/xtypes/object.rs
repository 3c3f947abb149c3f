//! Complete descriptions of types (7.3.4.5).

use alloc::string::String;
use alloc::vec::Vec;

use super::{TypeId, decoder, unsupported};
use crate::cdr::{CdrError, CdrErrorKind, Decoder, Extensibility};
use crate::dynamic::MEMBERS_MAX;

const COMPLETE: u8 = 0xF2;
const ALIAS: u8 = 0x30;
const ENUMERATION: u8 = 0x40;
const STRUCTURE: u8 = 0x51;
/// Flags of a structure.
const FINAL: u16 = 1;
const MUTABLE: u16 = 4;
/// Flags of a member.
const OPTIONAL: u16 = 1 << 3;
const KEY: u16 = 1 << 5;
/// Longest name, in octets.
const NAME_MAX: usize = 256;

/// Description of a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Object {
    /// Another name of a type.
    Alias {
        /// The name.
        name: String,
        /// The type.
        target: TypeId,
    },
    /// An enumeration.
    Enumeration {
        /// Its name.
        name: String,
        /// Bits of a value.
        bits: u16,
        /// Its names.
        literals: Vec<Literal>,
    },
    /// A structure.
    Structure {
        /// Its name.
        name: String,
        /// Its extensibility.
        extensibility: Extensibility,
        /// The structure that it extends.
        base: TypeId,
        /// Its own members.
        members: Vec<ObjectMember>,
    },
}

/// A name of an enumeration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Literal {
    /// The name.
    pub name: String,
    /// Its number.
    pub value: i32,
}

/// A member of a structure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectMember {
    /// Its name.
    pub name: String,
    /// Its id.
    pub id: u32,
    /// Whether it is part of the key.
    pub is_key: bool,
    /// Whether it may be absent.
    pub is_optional: bool,
    /// Its type.
    pub kind: TypeId,
}

impl Object {
    /// Reads a description.
    ///
    /// # Errors
    /// It is malformed, or of a kind that is not supported: unions, bit masks, maps, annotations.
    pub fn decode(octets: &[u8]) -> Result<Self, CdrError> {
        decoder(octets).structure(Extensibility::Appendable, |decoder| {
            match decoder.u8()? {
                COMPLETE => {}
                kind => return Err(unsupported(decoder, kind)),
            }
            match decoder.u8()? {
                ALIAS => alias(decoder),
                ENUMERATION => enumeration(decoder),
                STRUCTURE => structure(decoder),
                kind => Err(unsupported(decoder, kind)),
            }
        })
    }

    /// Returns the identifiers of the types that it needs.
    pub fn needs(&self) -> impl Iterator<Item = &TypeId> {
        let (one, members): (Option<&TypeId>, &[ObjectMember]) = match self {
            Self::Alias { target, .. } => (Some(target), &[]),
            Self::Enumeration { .. } => (None, &[]),
            Self::Structure { base, members, .. } => (Some(base), members),
        };
        one.into_iter().chain(members.iter().map(|member| &member.kind))
    }
}

fn name(decoder: &mut Decoder<'_>) -> Result<String, CdrError> {
    let name = decoder.str()?;
    decoder.bound(name.len(), NAME_MAX)?;
    Ok(name.into())
}

/// Skips annotations, of which nothing is used; custom ones end what can be read.
fn annotations(decoder: &mut Decoder<'_>) -> Result<(), CdrError> {
    if decoder.u8()? != 0 {
        // Appendable: they have a length.
        decoder.structure(Extensibility::Appendable, |_| Ok(()))?;
    }
    if decoder.u8()? != 0 {
        decoder.collection(false, |_| Ok(()))?;
    }
    Ok(())
}

/// Reads annotations and the name of a type.
fn detail(decoder: &mut Decoder<'_>) -> Result<String, CdrError> {
    annotations(decoder)?;
    name(decoder)
}

fn alias(decoder: &mut Decoder<'_>) -> Result<Object, CdrError> {
    let _flags = decoder.u16()?;
    let name = decoder.structure(Extensibility::Appendable, detail)?;
    let target = decoder.structure(Extensibility::Appendable, |decoder| {
        let _flags = decoder.u16()?;
        TypeId::read(decoder)
    })?;
    Ok(Object::Alias { name, target })
}

fn enumeration(decoder: &mut Decoder<'_>) -> Result<Object, CdrError> {
    let _flags = decoder.u16()?;
    let (bits, name) = decoder
        .structure(Extensibility::Appendable, |decoder| Ok((decoder.u16()?, detail(decoder)?)))?;
    let literals = list(decoder, |decoder| {
        let value = decoder.structure(Extensibility::Appendable, |decoder| {
            let value = decoder.i32()?;
            let _flags = decoder.u16()?;
            Ok(value)
        })?;
        let name = self::name(decoder)?;
        Ok(Literal { name, value })
    })?;
    Ok(Object::Enumeration { name, bits, literals })
}

fn structure(decoder: &mut Decoder<'_>) -> Result<Object, CdrError> {
    let extensibility = match decoder.u16()? & 0b111 {
        FINAL => Extensibility::Final,
        MUTABLE => Extensibility::Mutable,
        _ => Extensibility::Appendable,
    };
    let (base, name) = decoder.structure(Extensibility::Appendable, |decoder| {
        Ok((TypeId::read(decoder)?, detail(decoder)?))
    })?;
    let members = list(decoder, |decoder| {
        let id = decoder.u32()?;
        let flags = decoder.u16()?;
        let kind = TypeId::read(decoder)?;
        let name = self::name(decoder)?;
        Ok(ObjectMember {
            name,
            id,
            is_key: flags & KEY != 0,
            is_optional: flags & OPTIONAL != 0,
            kind,
        })
    })?;
    Ok(Object::Structure { name, extensibility, base, members })
}

/// Reads a list of elements that have a length each; what follows in an element is skipped.
fn list<T>(
    decoder: &mut Decoder<'_>,
    mut element: impl FnMut(&mut Decoder<'_>) -> Result<T, CdrError>,
) -> Result<Vec<T>, CdrError> {
    decoder.collection(false, |decoder| {
        let count = decoder.length()?;
        if count > MEMBERS_MAX {
            let max = MEMBERS_MAX;
            return Err(decoder.error(CdrErrorKind::Bound { len: count, max }));
        }
        decoder
            .elements(count, |decoder| decoder.structure(Extensibility::Appendable, &mut element))
    })
}
