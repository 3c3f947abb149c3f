//! Messages of the type lookup service (7.6.3.3.4): requests for descriptions, and replies.

use alloc::format;
use alloc::vec::Vec;

use super::{Hash, LIST_MAX, OBJECT_MAX, TypeId};
use crate::cdr::{
    ByteOrder, CdrError, CdrErrorKind, Decoder, Encoding, Extensibility, Representation,
};
use crate::guid::{Guid, GuidPrefix};

/// Operations, by the hashes of their names.
const GET_TYPES: u32 = 0x0182_52D3;
const GET_DEPENDENCIES: u32 = 0x05AA_FB31;
/// Members, by the hashes of their names.
const TYPE_IDS: u32 = 0x0C53_6065;
const TYPES: u32 = 0x0280_4AD1;
const COMPLETE_TO_MINIMAL: u32 = 0x0B8E_6577;
const DEPENDENT_TYPE_IDS: u32 = 0x0BA4_DFC9;
const CONTINUATION: u32 = 0x0508_E3D2;
/// Header of `PLAIN_CDR2`, little-endian.
const HEADER: [u8; 4] = [0, 7, 0, 0];
/// Lengths that follow the header of a member, and are those of its value too.
const LENGTH_FOLLOWS: u32 = 5 << 28;
/// Largest number of identifiers in a request that is answered.
pub const ASKED_MAX: usize = 64;
/// Largest size of a reply, in octets.
pub const REPLY_MAX: usize = 60 << 10;

/// Identity of a request: its writer and number.
pub type Identity = (Guid, i64);

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Its identity, which the reply repeats.
    pub identity: Identity,
    /// Which service it is for: a participant by its name, or all.
    pub instance: Vec<u8>,
    /// Whether it asks for dependencies instead of descriptions.
    pub is_for_dependencies: bool,
    /// The digests that it asks for.
    pub hashes: Vec<Hash>,
}

/// A description with its digest.
pub type Described = (Hash, Vec<u8>);

/// Returns the name of the service of a participant.
pub fn instance_of(prefix: GuidPrefix) -> Vec<u8> {
    let mut name = Vec::from(*b"dds.builtin.TOS.");
    let participant = Guid::new(prefix, crate::guid::EntityId::PARTICIPANT).octets();
    for octet in participant {
        name.extend_from_slice(format!("{octet:02x}").as_bytes());
    }
    name
}

/// Returns whether this is the name of the service of a participant, by its own GUID or by that of
/// one of its endpoints: Fast DDS names the writer that announced the type.
pub fn is_instance_of(name: &[u8], prefix: GuidPrefix) -> bool {
    let own = instance_of(prefix);
    let entity = 8;
    name.len() == own.len() && name.starts_with(&own[..own.len() - entity])
}

/// A message being written.
struct Out(Vec<u8>);

impl Out {
    fn new() -> Self {
        Self(Vec::from(HEADER))
    }

    fn align(&mut self, to: usize) {
        while !(self.0.len() - HEADER.len()).is_multiple_of(to) {
            self.0.push(0);
        }
    }

    fn u32(&mut self, number: u32) {
        self.align(4);
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    fn count(&mut self, number: usize) {
        self.u32(u32::try_from(number).unwrap_or(u32::MAX));
    }

    fn identity(&mut self, (writer, number): Identity) {
        self.0.extend_from_slice(&writer.octets());
        self.u32(u32::try_from(number >> 32 & 0xFFFF_FFFF).unwrap_or(0));
        self.u32(u32::try_from(number & 0xFFFF_FFFF).unwrap_or(0));
    }

    /// Writes a value with its length in front.
    fn sized(&mut self, write: impl FnOnce(&mut Self)) {
        self.u32(0);
        let from = self.0.len();
        write(self);
        let len = u32::try_from(self.0.len() - from).unwrap_or(u32::MAX);
        if let Some(field) = self.0.get_mut(from - 4..from) {
            field.copy_from_slice(&len.to_le_bytes());
        }
    }

    /// Writes a member whose value has its length in front.
    fn member(&mut self, id: u32, write: impl FnOnce(&mut Self)) {
        self.u32(LENGTH_FOLLOWS | id);
        self.sized(write);
    }

    fn hashes(&mut self, hashes: &[Hash]) {
        self.count(hashes.len());
        for hash in hashes {
            hash.write(&mut self.0);
        }
    }
}

/// Returns a request for descriptions.
pub fn request(identity: Identity, to: GuidPrefix, hashes: &[Hash]) -> Vec<u8> {
    let mut out = Out::new();
    out.identity(identity);
    let instance = instance_of(to);
    out.count(instance.len() + 1);
    out.0.extend_from_slice(&instance);
    out.0.push(0);
    out.sized(|call| {
        call.u32(GET_TYPES);
        call.sized(|members| members.member(TYPE_IDS, |ids| ids.hashes(hashes)));
    });
    out.align(4);
    out.0
}

/// Returns the reply to a request for descriptions.
pub fn reply(identity: Identity, types: &[(Hash, &[u8])]) -> Vec<u8> {
    answer(identity, GET_TYPES, |members| {
        members.member(TYPES, |list| {
            list.count(types.len());
            for (hash, object) in types {
                hash.write(&mut list.0);
                // The description begins with its length.
                list.align(4);
                list.0.extend_from_slice(object);
            }
        });
        members.member(COMPLETE_TO_MINIMAL, |list| list.u32(0));
    })
}

/// Returns the reply to a request for dependencies: each with the size of its description.
pub fn dependencies(identity: Identity, all: &[(Hash, usize)]) -> Vec<u8> {
    answer(identity, GET_DEPENDENCIES, |members| {
        members.member(DEPENDENT_TYPE_IDS, |list| {
            list.count(all.len());
            for (hash, size) in all {
                list.sized(|one| {
                    hash.write(&mut one.0);
                    one.count(*size);
                });
            }
        });
        // Octets have their number in front, and nothing is left to ask for.
        members.member(CONTINUATION, |_| ());
    })
}

fn answer(identity: Identity, operation: u32, write: impl FnOnce(&mut Out)) -> Vec<u8> {
    let mut out = Out::new();
    out.identity(identity);
    // No exception.
    out.u32(0);
    out.sized(|call| {
        call.u32(operation);
        call.sized(|result| {
            // `DDS_RETCODE_OK`.
            result.u32(0);
            result.sized(write);
        });
    });
    out.align(4);
    out.0
}

fn open(payload: &[u8]) -> Result<Decoder<'_>, CdrError> {
    let (representation, body) = Representation::split(payload)?;
    if representation.encoding != Encoding::Xcdr2 || representation.order != ByteOrder::Little {
        return Err(CdrError {
            offset: 0,
            kind: CdrErrorKind::Representation(representation.id()),
        });
    }
    Ok(super::decoder(body))
}

fn identity(decoder: &mut Decoder<'_>) -> Result<Identity, CdrError> {
    let guid = decoder.octets(16)?.try_into();
    let guid = guid.map_err(|_| decoder.error(CdrErrorKind::Truncated))?;
    let (high, low) = (decoder.i32()?, decoder.u32()?);
    Ok((Guid::from_octets(guid), i64::from(high) << 32 | i64::from(low)))
}

/// Reads a list of at most `max` elements, which are not numbers.
fn list<T>(
    decoder: &mut Decoder<'_>,
    max: usize,
    element: impl FnMut(&mut Decoder<'_>) -> Result<T, CdrError>,
) -> Result<Vec<T>, CdrError> {
    decoder.collection(false, |decoder| {
        let count = decoder.length()?;
        decoder.bound(count, max)?;
        decoder.elements(count, element)
    })
}

/// Reads one member of a mutable structure, and skips the others.
fn only<T>(
    decoder: &mut Decoder<'_>,
    id: u32,
    mut read: impl FnMut(&mut Decoder<'_>) -> Result<T, CdrError>,
) -> Result<Option<T>, CdrError> {
    decoder.structure(Extensibility::Mutable, |decoder| {
        let mut found = None;
        while let Some(parameter) = decoder.next_parameter()? {
            if parameter.id == id {
                found = Some(decoder.in_parameter(parameter, &mut read)?);
            } else {
                decoder.in_parameter(parameter, |_| Ok(()))?;
            }
        }
        Ok(found)
    })
}

/// Reads a request; `None` for an operation that is not known.
///
/// # Errors
/// It is malformed, or asks for more than [`ASKED_MAX`].
pub fn read_request(payload: &[u8]) -> Result<Option<Request>, CdrError> {
    let mut decoder = open(payload)?;
    let identity = identity(&mut decoder)?;
    let instance = decoder.str()?;
    decoder.bound(instance.len(), 255)?;
    let instance = instance.as_bytes().to_vec();
    decoder.structure(Extensibility::Appendable, |decoder| {
        let is_for_dependencies = match decoder.u32()? {
            GET_TYPES => false,
            GET_DEPENDENCIES => true,
            _ => return Ok(None),
        };
        let ids = only(decoder, TYPE_IDS, |decoder| list(decoder, ASKED_MAX, TypeId::read))?;
        let hashes = ids.unwrap_or_default();
        Ok(Some(Request {
            identity,
            instance,
            is_for_dependencies,
            hashes: hashes.iter().filter_map(TypeId::hash).collect(),
        }))
    })
}

/// Reads the reply to a request for descriptions, with the identity of the request; no descriptions
/// if it tells an error, or replies to something else.
///
/// # Errors
/// It is malformed.
pub fn read_reply(payload: &[u8]) -> Result<(Identity, Vec<Described>), CdrError> {
    let mut decoder = open(payload)?;
    let identity = identity(&mut decoder)?;
    let exception = decoder.u32()?;
    if exception != 0 {
        return Ok((identity, Vec::new()));
    }
    let types = decoder.structure(Extensibility::Appendable, |decoder| {
        if decoder.u32()? != GET_TYPES {
            return Ok(None);
        }
        decoder.structure(Extensibility::Appendable, |decoder| {
            if decoder.u32()? != 0 {
                return Ok(None);
            }
            only(decoder, TYPES, |decoder| list(decoder, LIST_MAX, pair))
        })
    })?;
    let types = types.unwrap_or_default();
    Ok((identity, types.into_iter().flatten().collect()))
}

/// Reads an identifier and its description; `None` if it is no digest.
fn pair(decoder: &mut Decoder<'_>) -> Result<Option<Described>, CdrError> {
    let id = TypeId::read(decoder)?;
    decoder.align(4)?;
    let mut ahead = decoder.clone();
    let len = ahead.length()?;
    decoder.bound(len, OBJECT_MAX)?;
    let object = decoder.octets(len + 4)?;
    let TypeId::Hash(hash) = id else {
        return Ok(None);
    };
    Ok(Some((hash, object.to_vec())))
}
