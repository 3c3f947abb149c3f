//! What an endpoint announces of its type (7.6.3.2).

use alloc::vec::Vec;

use super::{Hash, INFORMATION_MAX, LIST_MAX, TypeId, decoder};
use crate::cdr::{CdrError, Decoder, Extensibility};

const COMPLETE_ID: u32 = 0x1002;

/// Identifier of the type of an endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeInformation {
    /// Identifier of its complete description.
    pub complete: TypeId,
    /// Those of the types that it consists of, as far as they are announced.
    pub dependencies: Vec<TypeId>,
}

impl TypeInformation {
    /// Returns the digest of a type that an endpoint announces; `None` if it announces none that can
    /// be read here.
    pub(crate) fn hash_in(octets: &[u8]) -> Option<Hash> {
        let octets = Some(octets).filter(|octets| octets.len() <= INFORMATION_MAX)?;
        let information = Self::decode(octets).ok()?;
        information.complete.hash().filter(|hash| hash.is_complete)
    }

    /// Reads the value of the parameter.
    ///
    /// # Errors
    /// It is malformed, or has a type of a kind that is not supported, or no complete description.
    pub fn decode(octets: &[u8]) -> Result<Self, CdrError> {
        let mut decoder = decoder(octets);
        let read = decoder.structure(Extensibility::Mutable, |decoder| {
            let mut complete = None;
            while let Some(parameter) = decoder.next_parameter()? {
                if parameter.id == COMPLETE_ID {
                    complete = Some(decoder.in_parameter(parameter, described)?);
                } else {
                    // The minimal description has no names.
                    decoder.in_parameter(parameter, |_| Ok(()))?;
                }
            }
            decoder.required(COMPLETE_ID, complete)
        });
        let (complete, dependencies) = read?;
        Ok(Self { complete, dependencies })
    }
}

/// Reads an identifier with those that it depends on.
fn described(decoder: &mut Decoder<'_>) -> Result<(TypeId, Vec<TypeId>), CdrError> {
    decoder.structure(Extensibility::Appendable, |decoder| {
        let complete = with_size(decoder)?;
        let _count = decoder.i32()?;
        let dependencies = decoder.collection(false, |decoder| {
            let count = decoder.length()?;
            decoder.bound(count, LIST_MAX)?;
            decoder.elements(count, with_size)
        })?;
        Ok((complete, dependencies))
    })
}

fn with_size(decoder: &mut Decoder<'_>) -> Result<TypeId, CdrError> {
    decoder.structure(Extensibility::Appendable, |decoder| {
        let id = TypeId::read(decoder)?;
        let _size = decoder.u32()?;
        Ok(id)
    })
}
