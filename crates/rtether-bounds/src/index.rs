//! Indices of 32 bits, as tables of plants are small and many.

/// Stands for "no such index".
pub(crate) const NONE: u32 = u32::MAX;
