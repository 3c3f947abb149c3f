//! Parts of a path that contribute to the latency.

use crate::network::PortId;

/// Where a part of the latency is spent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Segment {
    /// Sending stack: wait and service.
    TalkerStack,
    /// FIFO queue between stack and wire of the sending station.
    DriverQueue,
    /// On a shared medium, from the head of the queue to the start of the transmission that
    /// succeeds: deference, collisions and back-off.
    MediumAccess,
    /// Transmission and propagation on all links, network interfaces included.
    Wire,
    /// Fixed latency of switches.
    SwitchLatency,
    /// Egress queues of switches.
    SwitchQueue,
    /// Waiting for the receiving stack.
    ReceiveQueue,
    /// Service by the receiving stack.
    ReceiveStack,
    /// Application tasks, and the listener's application before it replies.
    Application,
    /// In a protocol at either end: waiting for an acknowledgment, a window, a repetition or earlier
    /// data. Only messages, files and samples have it; where what they wait for is meanwhile is told
    /// apart ([`StreamRecord::awaited_ps`](super::StreamRecord::awaited_ps)).
    Protocol,
}

impl Segment {
    /// Number of segments.
    pub const COUNT: usize = 10;
    /// Number of segments that single packets have: the first ones of [`Segment::ALL`].
    pub const OF_PACKETS: usize = 9;
    /// All segments, in the order in which a packet passes them.
    pub const ALL: [Self; Self::COUNT] = [
        Self::TalkerStack,
        Self::DriverQueue,
        Self::MediumAccess,
        Self::Wire,
        Self::SwitchLatency,
        Self::SwitchQueue,
        Self::ReceiveQueue,
        Self::ReceiveStack,
        Self::Application,
        Self::Protocol,
    ];

    /// Returns the position in [`Segment::ALL`].
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Returns the name used in tables and files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::TalkerStack => "talker stack",
            Self::DriverQueue => "driver queue",
            Self::MediumAccess => "medium access",
            Self::Wire => "wire",
            Self::SwitchLatency => "switch latency",
            Self::SwitchQueue => "switch queue",
            Self::ReceiveQueue => "receive queue",
            Self::ReceiveStack => "receive stack",
            Self::Application => "application",
            Self::Protocol => "protocol",
        }
    }

    /// Returns whether the time is spent inside an end station.
    pub const fn is_in_node(self) -> bool {
        matches!(
            self,
            Self::TalkerStack
                | Self::ReceiveQueue
                | Self::ReceiveStack
                | Self::Application
                | Self::Protocol
        )
    }

    /// Returns whether the time belongs to the Ethernet delay.
    pub const fn is_ethernet(self) -> bool {
        !self.is_in_node()
    }
}

/// A place on a packet's path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// Part of the latency spent there.
    pub segment: Segment,
    /// The node, or the sending port of a link. End stations use port 0.
    pub port: PortId,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_in_order() {
        for (index, segment) in Segment::ALL.iter().enumerate() {
            assert_eq!(segment.index(), index);
        }
    }
}
