//! What stations that are emulated have to know of a frame from outside.

use rtether_model::quantity::Bytes;

use crate::kernel::Simulation;

/// What the headers of a frame say, for stacks that charge by kind of packet and for layers.
///
/// Addresses and ports are missing: those of real hosts are not those of the plant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Headers {
    /// `EtherType` after the tag; `None` for a length.
    pub ethertype: Option<u16>,
    /// `ToS` octet of IPv4 or traffic class of IPv6; `None` if the frame is not IP.
    pub tos: Option<u8>,
    /// Protocol above IP.
    pub protocol: Option<u8>,
    /// Octets of the IP packet, its header included, padding not.
    pub datagram: Option<Bytes>,
    /// What kind of packet it is.
    pub content: Content,
}

/// A kind of packet for stacks that charge by it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Content {
    /// Anything but TCP.
    #[default]
    Datagram,
    /// A TCP segment with data.
    Segment,
    /// A TCP segment without data.
    Acknowledgement,
}

/// A frame from outside that is under way.
#[derive(Clone, Copy, Default)]
pub(crate) struct Visitor {
    pub(crate) headers: Headers,
    /// Seed of what stacks draw for it; `None` to draw one after the other.
    pub(crate) seed: Option<u64>,
}

impl Simulation {
    /// Returns what is known of a packet if it is from outside.
    #[inline]
    pub(crate) fn visitor(&self, id: u32) -> Option<&Visitor> {
        self.visitors.get(self.pool.get(id).number as usize)
    }
}
