//! Edits of the flows of a plant.

use core::ops::Range;

use crate::index::NONE;

/// Replacement of a range of flows.
#[derive(Clone, Debug)]
pub(crate) struct Edit {
    /// Their numbers before the edit.
    pub(crate) flows: Range<usize>,
    pub(crate) added: usize,
}

impl Edit {
    pub(crate) const NOTHING: Self = Self { flows: 0..0, added: 0 };

    /// Returns the number of a flow after the edit.
    pub(crate) fn renumber(&self, flow: u32) -> u32 {
        if (flow as usize) < self.flows.end {
            return flow;
        }
        let moved = flow as usize - self.flows.len() + self.added;
        u32::try_from(moved).unwrap_or(NONE)
    }
}
