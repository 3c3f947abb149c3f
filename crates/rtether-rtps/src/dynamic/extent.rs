//! Whether the key of a type fits its hash.

use super::kinds::{Structure, Type, count};
use crate::cdr::{Data, Encoding, Extent, HASH_LEN};

/// Goes no further than it matters: every key has at least an octet for each step, so that a walk is
/// over soon, whatever the type.
fn within(extent: Extent) -> Option<Extent> {
    Some(extent).filter(|extent| extent.len() <= HASH_LEN)
}

impl Structure {
    /// Returns whether every key of the type fits into a hash as it is, as [`crate::cdr::is_key_short`]
    /// does.
    pub fn is_key_short(&self, encoding: Encoding) -> bool {
        self.extend(Extent::key(encoding)).is_some()
    }

    fn extend(&self, extent: Extent) -> Option<Extent> {
        extent.structure(self.extensibility(), |extent| {
            self.key().try_fold(extent, |extent, (_, member)| {
                let extent = if self.is_list() {
                    extent.parameter()?
                } else {
                    extent
                };
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
