//! Times between events on the way of a packet.

/// Time between two events: minimum and maximum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Gap {
    pub(crate) min: i64,
    pub(crate) max: i64,
}
