//! Stations in two networks: their two ports. What becomes of copies is in [`crate::twins`].

use rtether_model::network::Redundancy;

/// The two ports of a station in two networks.
pub(crate) struct Redundant {
    /// Both ports; [`NONE`](crate::packet::NONE) without a link in use.
    pub(crate) ports: [u32; 2],
    pub(crate) redundancy: Redundancy,
    /// Number of its next frame.
    pub(crate) sequence: u16,
    /// Frames sent a second time.
    pub(crate) copied: u64,
}

impl Redundant {
    /// Returns the octets that it adds to each frame.
    pub(crate) fn trailer(&self) -> u16 {
        u16::try_from(self.redundancy.trailer().get()).unwrap_or(0)
    }
}
