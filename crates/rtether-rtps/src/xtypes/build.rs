//! A type from descriptions.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use thiserror::Error;

use super::{Hash, Object, ObjectMember, TypeId};
use crate::cdr::{CdrError, Extensibility};
use crate::dynamic::{
    DEPTH_MAX, Enumeration, Enumerator, MEMBERS_MAX, Member, Primitive, Structure, Type, TypeError,
};

/// Maximum number of descriptions that a type may need.
pub const OBJECTS_MAX: usize = 256;
/// Maximum number of steps to build a type, which repeated parts could make too many.
const STEPS_MAX: u32 = 1 << 16;

/// Why a type cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BuildError {
    /// A description is missing.
    #[error("a description is missing")]
    Missing(Hash),
    /// A description cannot be read.
    #[error("a description cannot be read: {0}")]
    Description(CdrError),
    /// More descriptions than allowed.
    #[error("it needs more than {OBJECTS_MAX} descriptions")]
    Many,
    /// Something that described types lack.
    #[error("{0}")]
    Unsupported(&'static str),
    /// A description contradicts itself or exceeds a limit.
    #[error("{0}: {1}")]
    Type(String, TypeError),
}

/// Descriptions by their digests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Library(BTreeMap<Hash, Object>);

impl Library {
    /// Reads a description and adds it. The digest is not checked: Fast DDS 3.2 announces others
    /// than those of what it sends, and who describes a type wrongly could as well announce another.
    ///
    /// # Errors
    /// It is malformed or of a kind that is not supported, or there are too many.
    pub fn insert(&mut self, hash: Hash, object: &[u8]) -> Result<(), BuildError> {
        let object = Object::decode(object).map_err(BuildError::Description)?;
        self.insert_unchecked(hash, object)
    }

    pub(super) fn insert_unchecked(
        &mut self,
        hash: Hash,
        object: Object,
    ) -> Result<(), BuildError> {
        if self.0.len() >= OBJECTS_MAX && !self.0.contains_key(&hash) {
            return Err(BuildError::Many);
        }
        self.0.insert(hash, object);
        Ok(())
    }

    /// Returns the number of descriptions.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the digests that a type needs and that are not here.
    pub fn missing(&self, root: &TypeId) -> Vec<Hash> {
        let objects = self.0.values().flat_map(Object::needs);
        let needed = objects.chain([root]).filter_map(TypeId::hash);
        let mut missing: Vec<Hash> = needed.filter(|hash| !self.0.contains_key(hash)).collect();
        missing.sort_unstable();
        missing.dedup();
        missing
    }

    /// Returns the structure of an identifier, with the name that its topic has for it.
    ///
    /// # Errors
    /// A description is missing, is of no structure, or has what described types lack.
    pub fn structure(&self, root: &TypeId, name: &str) -> Result<Arc<Structure>, BuildError> {
        let mut builder = Builder { library: self, known: BTreeMap::new(), steps: 0 };
        let Type::Structure(structure) = builder.kind(root, 0)? else {
            return Err(BuildError::Unsupported("the type is no structure"));
        };
        if structure.name() == name {
            return Ok(structure);
        }
        let (extensibility, members) = (structure.extensibility(), structure.members());
        made(name, extensibility, members.to_vec())
    }
}

struct Builder<'a> {
    library: &'a Library,
    known: BTreeMap<Hash, Type>,
    steps: u32,
}

impl Builder<'_> {
    fn kind(&mut self, id: &TypeId, depth: u8) -> Result<Type, BuildError> {
        self.steps += 1;
        if self.steps > STEPS_MAX {
            return Err(BuildError::Many);
        }
        if depth >= DEPTH_MAX {
            return Err(BuildError::Type("the type".into(), TypeError::Depth));
        }
        Ok(match id {
            TypeId::None => return Err(BuildError::Unsupported("a member has no type")),
            TypeId::Primitive(kind) => Type::Primitive(primitive(*kind)?),
            TypeId::Text { is_wide: true, .. } => {
                return Err(BuildError::Unsupported("wide strings are not supported"));
            }
            TypeId::Text { max, .. } => Type::Text(bound(*max)),
            TypeId::Sequence(element, max) => {
                Type::Sequence(Arc::new(self.kind(element, depth + 1)?), bound(*max))
            }
            TypeId::Array(element, dimensions) => {
                let dimensions = dimensions.iter();
                let dimensions = dimensions.map(|one| usize::try_from(*one).unwrap_or(usize::MAX));
                Type::Array(Arc::new(self.kind(element, depth + 1)?), dimensions.collect())
            }
            TypeId::Hash(hash) => {
                if let Some(known) = self.known.get(hash) {
                    return Ok(known.clone());
                }
                let object = self.library.0.get(hash).ok_or(BuildError::Missing(*hash))?;
                let kind = self.object(object, depth)?;
                self.known.insert(*hash, kind.clone());
                kind
            }
        })
    }

    fn object(&mut self, object: &Object, depth: u8) -> Result<Type, BuildError> {
        match object {
            Object::Alias { target, .. } => self.kind(target, depth + 1),
            Object::Enumeration { bits, .. } if *bits != 32 => {
                Err(BuildError::Unsupported("enumerations of other than 32 bits are not supported"))
            }
            Object::Enumeration { name, literals, .. } => {
                let names = literals
                    .iter()
                    .map(|one| Enumerator { name: one.name.clone(), value: one.value });
                let made = Enumeration::new(name.clone(), names.collect());
                let made = made.map_err(|error| BuildError::Type(name.clone(), error))?;
                Ok(Type::Enumeration(Arc::new(made)))
            }
            Object::Structure { name, extensibility, base, members } => {
                let mut all = Vec::new();
                if *base != TypeId::None {
                    let Type::Structure(base) = self.kind(base, depth + 1)? else {
                        return Err(BuildError::Unsupported("a base is no structure"));
                    };
                    all.extend_from_slice(base.members());
                }
                for member in members {
                    if all.len() >= MEMBERS_MAX {
                        return Err(BuildError::Type(name.clone(), TypeError::Members));
                    }
                    all.push(self.member(member, depth)?);
                }
                made(name, *extensibility, all).map(Type::Structure)
            }
        }
    }

    fn member(&mut self, member: &ObjectMember, depth: u8) -> Result<Member, BuildError> {
        if member.is_optional {
            return Err(BuildError::Unsupported("optional members are not supported"));
        }
        Ok(Member {
            name: member.name.clone(),
            id: member.id,
            is_key: member.is_key,
            kind: self.kind(&member.kind, depth + 1)?,
            default: None,
        })
    }
}

fn made(
    name: &str,
    extensibility: Extensibility,
    members: Vec<Member>,
) -> Result<Arc<Structure>, BuildError> {
    let structure = Structure::new(name.into(), extensibility, members);
    let structure = structure.map_err(|error| BuildError::Type(name.into(), error))?;
    Ok(Arc::new(structure))
}

/// Returns a bound; zero is none.
fn bound(max: u32) -> Option<usize> {
    (max > 0).then(|| usize::try_from(max).unwrap_or(usize::MAX))
}

fn primitive(kind: u8) -> Result<Primitive, BuildError> {
    Ok(match kind {
        0x01 => Primitive::Boolean,
        0x02 | 0x0D => Primitive::Octet,
        0x03 => Primitive::Int16,
        0x04 => Primitive::Int32,
        0x05 => Primitive::Int64,
        0x06 => Primitive::Uint16,
        0x07 => Primitive::Uint32,
        0x08 => Primitive::Uint64,
        0x09 => Primitive::Float32,
        0x0A => Primitive::Float64,
        0x0C => Primitive::Int8,
        0x10 => Primitive::Character,
        0x0B => {
            return Err(BuildError::Unsupported("numbers of 128 bits are not supported"));
        }
        _ => return Err(BuildError::Unsupported("wide characters are not supported")),
    })
}
