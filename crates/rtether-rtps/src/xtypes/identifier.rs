//! Identifiers of types (7.3.4.2).

use alloc::boxed::Box;
use alloc::vec::Vec;

use md5::{Digest, Md5};

use super::unsupported;
use crate::cdr::{CdrError, CdrErrorKind, Decoder};

/// Kinds (annex B of DDS-XTypes 1.3).
const NONE: u8 = 0x00;
const STRING_SMALL: u8 = 0x70;
const STRING_LARGE: u8 = 0x71;
const WIDE_SMALL: u8 = 0x72;
const WIDE_LARGE: u8 = 0x73;
const SEQUENCE_SMALL: u8 = 0x80;
const SEQUENCE_LARGE: u8 = 0x81;
const ARRAY_SMALL: u8 = 0x90;
const ARRAY_LARGE: u8 = 0x91;
const MINIMAL: u8 = 0xF1;
const COMPLETE: u8 = 0xF2;
/// Deepest nesting of collections.
const NESTED_MAX: u8 = 16;
/// Largest number of dimensions.
const DIMENSIONS_MAX: usize = 16;

/// Digest of the description of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hash {
    /// Whether the description is complete, with names.
    pub is_complete: bool,
    /// First octets of the MD5 of the description.
    pub octets: [u8; 14],
}

/// Identifier of a type.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TypeId {
    /// No type, as of a structure without a base.
    None,
    /// A number, a Boolean or a character, by its kind.
    Primitive(u8),
    /// A string, with its maximum size in characters; zero for none.
    Text {
        /// Whether its characters have 16 bits.
        is_wide: bool,
        /// Its bound.
        max: u32,
    },
    /// A sequence, with its maximum number of elements; zero for none.
    Sequence(Box<Self>, u32),
    /// An array with its dimensions.
    Array(Box<Self>, Vec<u32>),
    /// A type that a description defines.
    Hash(Hash),
}

impl TypeId {
    /// Reads an identifier.
    pub(super) fn read(decoder: &mut Decoder<'_>) -> Result<Self, CdrError> {
        Self::read_nested(decoder, 0)
    }

    fn read_nested(decoder: &mut Decoder<'_>, depth: u8) -> Result<Self, CdrError> {
        if depth >= NESTED_MAX {
            return Err(decoder.error(CdrErrorKind::Depth));
        }
        let kind = decoder.u8()?;
        Ok(match kind {
            NONE => Self::None,
            0x01..=0x0D | 0x10 | 0x11 => Self::Primitive(kind),
            STRING_SMALL | WIDE_SMALL => {
                Self::Text { is_wide: kind == WIDE_SMALL, max: decoder.u8()?.into() }
            }
            STRING_LARGE | WIDE_LARGE => {
                Self::Text { is_wide: kind == WIDE_LARGE, max: decoder.u32()? }
            }
            SEQUENCE_SMALL | SEQUENCE_LARGE => {
                header(decoder)?;
                let max =
                    if kind == SEQUENCE_SMALL { decoder.u8()?.into() } else { decoder.u32()? };
                Self::Sequence(Box::new(Self::read_nested(decoder, depth + 1)?), max)
            }
            ARRAY_SMALL | ARRAY_LARGE => {
                header(decoder)?;
                let count = decoder.length()?;
                decoder.bound(count, DIMENSIONS_MAX)?;
                let dimensions = decoder.elements(count, |decoder| {
                    if kind == ARRAY_SMALL { decoder.u8().map(u32::from) } else { decoder.u32() }
                })?;
                Self::Array(Box::new(Self::read_nested(decoder, depth + 1)?), dimensions)
            }
            MINIMAL | COMPLETE => {
                let octets = decoder.octets(14)?;
                let octets = octets.try_into();
                Self::Hash(Hash {
                    is_complete: kind == COMPLETE,
                    octets: octets.map_err(|_| decoder.error(CdrErrorKind::Truncated))?,
                })
            }
            kind => return Err(unsupported(decoder, kind)),
        })
    }

    /// Returns the digest that it contains.
    pub fn hash(&self) -> Option<Hash> {
        match self {
            Self::None | Self::Primitive(_) | Self::Text { .. } => None,
            Self::Sequence(element, _) | Self::Array(element, _) => element.hash(),
            Self::Hash(hash) => Some(*hash),
        }
    }
}

impl Hash {
    /// Returns the digest of a complete description.
    pub fn of(object: &[u8]) -> Self {
        let digest: [u8; 16] = Md5::digest(object).into();
        let mut octets = [0; 14];
        octets.copy_from_slice(&digest[..14]);
        Self { is_complete: true, octets }
    }

    /// Appends it as an identifier.
    pub(super) fn write(self, out: &mut Vec<u8>) {
        out.push(if self.is_complete { COMPLETE } else { MINIMAL });
        out.extend_from_slice(&self.octets);
    }
}

/// Skips the header of a plain collection: equivalence kind, and flags of the elements.
fn header(decoder: &mut Decoder<'_>) -> Result<(), CdrError> {
    decoder.u8()?;
    decoder.u16().map(|_| ())
}
