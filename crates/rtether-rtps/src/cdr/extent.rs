//! Maximum serialized size of the values of a type.

use super::{DEPTH_MAX, Encoding, Extensibility};

/// Position after the longest value so far; types advance it by their longest value.
///
/// Alignment preserves the order of positions, so the longest value of a structure consists of its
/// longest members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    end: usize,
    encoding: Encoding,
    /// Counts keys only: in structures with keys no other members, and no lengths of appendable
    /// types.
    is_key: bool,
    depth: u8,
}

/// Number of elements of a sequence that are added one by one; the rest is rounded up.
const WALK_MAX: usize = 64;

impl Extent {
    /// Returns the start of a value.
    pub(super) const fn new(encoding: Encoding) -> Self {
        Self { end: 0, encoding, is_key: false, depth: 0 }
    }

    /// Returns the start of a key in its hashed form.
    pub(crate) const fn key(encoding: Encoding) -> Self {
        let mut extent = Self::new(encoding);
        extent.is_key = true;
        extent
    }

    /// Returns the size so far, in octets.
    pub const fn len(self) -> usize {
        self.end
    }

    /// Returns whether the size so far is zero.
    pub const fn is_empty(self) -> bool {
        self.end == 0
    }

    /// Returns whether only keys are counted.
    pub const fn is_key(self) -> bool {
        self.is_key
    }

    /// Adds octets with an alignment, a power of two.
    pub fn add(mut self, align: usize, len: usize) -> Option<Self> {
        let align = align.min(self.encoding.align_max()).max(1);
        self.end = self.end.checked_next_multiple_of(align)?.checked_add(len)?;
        Some(self)
    }

    /// Adds the header and members of a structure. `None` for recursive types, whose values have no
    /// maximum size.
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

    /// Adds the header of a list member.
    pub fn parameter(self) -> Option<Self> {
        match self.encoding {
            _ if self.is_key => Some(self),
            // The member is aligned anew, and padded.
            Encoding::Xcdr1 => self.add(8, 12 + 4),
            Encoding::Xcdr2 => self.add(4, 8),
        }
    }

    /// Adds the flag of an optional member.
    pub(super) fn option(self) -> Option<Self> {
        match self.encoding {
            Encoding::Xcdr1 => self.parameter(),
            Encoding::Xcdr2 => self.add(1, 1),
        }
    }

    /// Adds the length field of elements that are not primitive.
    pub(crate) fn collection(self, is_primitive: bool) -> Option<Self> {
        if is_primitive || self.encoding == Encoding::Xcdr1 { Some(self) } else { self.add(4, 4) }
    }

    /// Adds `count` elements.
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
