//! Whether the keys of a type fit into a hash unchanged.

use super::kinds::{Structure, Type, count};
use crate::cdr::{Data, Encoding, Extent, HASH_LEN};

/// Stops the walk beyond the size of a hash: every step adds at least an octet of key, so the walk
/// is short for any type.
fn within(extent: Extent) -> Option<Extent> {
    Some(extent).filter(|extent| extent.len() <= HASH_LEN)
}

impl Structure {
    /// Returns whether every key of the type fits into a hash unchanged, like
    /// [`crate::cdr::is_key_short`].
    pub fn is_key_short(&self, encoding: Encoding) -> bool {
        self.extend(Extent::key(encoding)).is_some()
    }

    fn extend(&self, extent: Extent) -> Option<Extent> {
        extent.structure(self.extensibility(), |extent| {
            self.key().try_fold(extent, |extent, (_, member)| {
                let extent = if self.is_list() { extent.parameter()? } else { extent };
                member.kind.extend(extent)
            })
        })
    }
}

impl Type {
    fn extend(&self, extent: Extent) -> Option<Extent> {
        let after = match self {
            Self::Primitive(primitive) => extent.add(primitive.size(), primitive.size()),
            Self::Enumeration(_) => <i32 as Data>::extend(extent),
            Self::Text(max) => extent.add(4, (*max)?.checked_add(4 + 1)?),
            Self::Sequence(element, max) => {
                let extent = extent.collection(element.is_primitive())?.add(4, 4)?;
                element.extend_all(within(extent)?, (*max)?)
            }
            Self::Array(element, dimensions) => {
                let extent = extent.collection(element.is_primitive())?;
                element.extend_all(within(extent)?, count(dimensions))
            }
            Self::Structure(structure) => structure.extend(extent),
        };
        within(after?)
    }

    fn extend_all(&self, extent: Extent, count: usize) -> Option<Extent> {
        (0..count).try_fold(extent, |extent, _| self.extend(extent))
    }
}
