//! How many octets values of a type take at most.

use super::{DEPTH_MAX, Encoding, Extensibility};

/// The place after the longest value so far; types move it on by their longest value.
///
/// Since alignment never turns an earlier place into a later one, the longest value of a structure is
/// that of all its longest members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    end: usize,
    encoding: Encoding,
    /// Of structures with keys, these alone count, and nothing has a length for its type's sake.
    is_key: bool,
    depth: u8,
}

/// Elements up to which sequences are walked one by one; longer ones are rounded up.
const WALK_MAX: usize = 64;

impl Extent {
    /// The start of a value.
    pub(super) const fn new(encoding: Encoding) -> Self {
        Self {
            end: 0,
            encoding,
            is_key: false,
            depth: 0,
        }
    }

    /// The start of a key as it is hashed.
    pub(crate) const fn key(encoding: Encoding) -> Self {
        let mut extent = Self::new(encoding);
        extent.is_key = true;
        extent
    }

    /// Returns the octets so far.
    pub const fn len(self) -> usize {
        self.end
    }

    /// Returns whether there are none so far.
    pub const fn is_empty(self) -> bool {
        self.end == 0
    }

    /// Returns whether keys alone count.
    pub const fn is_key(self) -> bool {
        self.is_key
    }

    /// Adds octets at an alignment, which is a power of two.
    pub fn add(mut self, align: usize, len: usize) -> Option<Self> {
        let align = align.min(self.encoding.align_max()).max(1);
        self.end = self.end.checked_next_multiple_of(align)?.checked_add(len)?;
        Some(self)
    }

    /// Adds the head of a structure and its members. `None` for types within themselves, whose values
    /// have no largest size.
    pub fn structure(
        mut self,
        extensibility: Extensibility,
        members: impl FnOnce(Self) -> Option<Self>,
    ) -> Option<Self> {
        if self.depth >= DEPTH_MAX {
            return None;
        }
        self.depth += 1;
        let has_length = self.encoding == Encoding::Xcdr2 && !self.is_key;
        if has_length && extensibility != Extensibility::Final {
            self = self.add(4, 4)?;
        }
        let mut after = members(self)?;
        let has_end = self.encoding == Encoding::Xcdr1 && !self.is_key;
        if has_end && extensibility == Extensibility::Mutable {
            after = after.add(4, 4)?;
        }
        after.depth -= 1;
        Some(after)
    }

    /// Adds the header of a member in a list.
    pub fn parameter(self) -> Option<Self> {
        match self.encoding {
            _ if self.is_key => Some(self),
            // The member is aligned anew, and padded.
            Encoding::Xcdr1 => self.add(8, 12 + 4),
            Encoding::Xcdr2 => self.add(4, 8),
        }
    }

    /// Adds the mark of a member that may be absent.
    pub(super) fn option(self) -> Option<Self> {
        match self.encoding {
            Encoding::Xcdr1 => self.parameter(),
            Encoding::Xcdr2 => self.add(1, 1),
        }
    }

    /// Adds the head of elements that are not primitive.
    pub(crate) fn collection(self, is_primitive: bool) -> Option<Self> {
        if is_primitive || self.encoding == Encoding::Xcdr1 {
            Some(self)
        } else {
            self.add(4, 4)
        }
    }

    /// Adds elements.
    pub(super) fn elements(
        mut self,
        count: usize,
        element: impl Fn(Self) -> Option<Self>,
    ) -> Option<Self> {
        for _ in 0..count.min(WALK_MAX) {
            self = element(self)?;
        }
        let rest = count.saturating_sub(WALK_MAX);
        if rest > 0 {
            let from = self.add(8, 0)?;
            let one = element(from)?.end.checked_sub(from.end)?;
            let each = one.checked_next_multiple_of(8)?;
            self = from.add(1, each.checked_mul(rest)?)?;
        }
        Some(self)
    }
}
