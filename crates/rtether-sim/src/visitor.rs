//! Properties of frames from outside that emulated stations use ([`crate::emulation`]).

use rtether_model::quantity::Bytes;

/// Header fields of a frame, for layers and for stacks that charge by kind of packet.
///
/// Without addresses and ports: those of real hosts differ from those of the plant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Headers {
    /// `EtherType` after the tag; `None` for a length.
    pub ethertype: Option<u16>,
    /// `ToS` octet of IPv4 or traffic class of IPv6; `None` if the frame is not IP.
    pub tos: Option<u8>,
    /// Protocol above IP.
    pub protocol: Option<u8>,
    /// Octets of the IP packet, header included, padding excluded.
    pub datagram: Option<Bytes>,
    /// Kind of the packet.
    pub content: Content,
}

/// Kind of a packet, for stacks that charge by kind.
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

/// A frame from outside in transit.
#[derive(Clone, Copy, Default)]
pub(crate) struct Visitor {
    pub(crate) headers: Headers,
    /// Seed of the stacks' draws for it; `None` to draw from one sequence.
    pub(crate) seed: Option<u64>,
}
