//! Counters of nodes.

use alloc::vec::Vec;

use super::{LayerRecord, ratio};
use crate::ingress::RuleCounts;
use crate::network::NodeId;
use crate::quantity::Duration;

/// Counters of one rule for frames that arrive at a port of a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IngressRecord {
    /// Number of the port within its switch, from zero.
    pub port: u16,
    /// Number of the rule at this port, from zero.
    pub rule: u16,
    /// Frames that it decided on.
    pub counts: RuleCounts,
}

/// Counters of the address resolution of one end station.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ArpRecord {
    /// Requests sent, repeated ones included.
    pub requests: u64,
    /// Replies sent.
    pub replies: u64,
    /// Requests and replies that its stack has handled, for this station or another.
    pub handled: u64,
    /// Packets held for a neighbor.
    pub held: u64,
    /// Of these, dropped: nobody answered, or too many were held.
    pub dropped: u64,
    /// Of these, still held at the end.
    pub waiting: u64,
    /// Neighbors given up after the last attempt.
    pub failures: u64,
}

impl ArpRecord {
    fn merge(&mut self, other: &Self) {
        self.requests += other.requests;
        self.replies += other.replies;
        self.handled += other.handled;
        self.held += other.held;
        self.dropped += other.dropped;
        self.waiting += other.waiting;
        self.failures += other.failures;
    }
}

/// Counters of the manager that grants channels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AdmissionRecord {
    /// Requests taken, repeated ones included.
    pub requests: u64,
    /// Channels granted.
    pub granted: u64,
    /// Requests refused.
    pub refused: u64,
    /// Channels released by their talkers.
    pub released: u64,
    /// Frames repeated since an answer did not come.
    pub repeated: u64,
    /// Listeners that were not told of the end of a channel, since they did not answer.
    pub abandoned: u64,
    /// Frames that were malformed, forged, or not for a manager.
    pub malformed: u64,
    /// Channels kept at the end, those not decided yet included.
    pub kept: u64,
}

impl AdmissionRecord {
    fn merge(&mut self, other: &Self) {
        self.requests += other.requests;
        self.granted += other.granted;
        self.refused += other.refused;
        self.released += other.released;
        self.repeated += other.repeated;
        self.abandoned += other.abandoned;
        self.malformed += other.malformed;
        self.kept += other.kept;
    }
}

/// Counters of one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeRecord {
    /// The node.
    pub node: NodeId,
    /// Packets released by its applications (each unicast copy counts).
    pub released: u64,
    /// Packets delivered to its applications.
    pub delivered: u64,
    /// Frames that arrived from its links.
    pub arrived: u64,
    /// Copies made by flooding and multicast, or sent by a station in two networks, beyond the frame
    /// itself.
    pub copied: u64,
    /// Frames for other nodes that a station's interface ignored, or for which a switch had no
    /// port; copies of a frame that a station had already taken from its other network.
    pub filtered: u64,
    /// Frames discarded for a wrong FCS.
    pub discarded: u64,
    /// Frames that rules of a switch dropped.
    pub policed: u64,
    /// Counters of the rules of a switch for frames that arrive, by port and rule.
    pub ingress: Vec<IngressRecord>,
    /// Packets dropped because the stack's queue was full.
    pub stack_dropped: u64,
    /// Packets in the stack at the end (waiting or being served), or in switch latency.
    pub in_stack: u64,
    /// Largest number of packets that waited for the stack.
    pub stack_queue_max: u32,
    /// Time the stack's servers were busy, summed over servers.
    pub stack_busy: Duration,
    /// Packets dropped by the layer between stack and driver.
    pub layer_dropped: u64,
    /// Record of that layer, if the node has one.
    pub layer: Option<LayerRecord>,
    /// Counters of address resolution, if any station of the plant resolves addresses.
    pub arp: Option<ArpRecord>,
    /// Counters of the manager of channels, if this station is the one.
    pub admission: Option<AdmissionRecord>,
}

impl NodeRecord {
    /// Returns the share of `time` in which the stack was busy (up to 2 with two servers).
    pub fn stack_utilization(&self, time: Duration) -> f64 {
        ratio(self.stack_busy.as_ps().unsigned_abs(), time.as_ps().unsigned_abs()).unwrap_or(0.0)
    }

    /// Adds the counters of another run of the same node.
    pub fn merge(&mut self, other: &Self) {
        debug_assert_eq!(self.node, other.node);
        self.released += other.released;
        self.delivered += other.delivered;
        self.arrived += other.arrived;
        self.copied += other.copied;
        self.filtered += other.filtered;
        self.discarded += other.discarded;
        self.policed += other.policed;
        for (own, others) in self.ingress.iter_mut().zip(&other.ingress) {
            own.counts.merge(&others.counts);
        }
        self.stack_dropped += other.stack_dropped;
        self.in_stack += other.in_stack;
        self.stack_queue_max = Ord::max(self.stack_queue_max, other.stack_queue_max);
        self.stack_busy += other.stack_busy;
        self.layer_dropped += other.layer_dropped;
        if let (Some(own), Some(others)) = (&mut self.layer, &other.layer) {
            own.merge(others);
        }
        if let (Some(own), Some(others)) = (&mut self.arp, &other.arp) {
            own.merge(others);
        }
        if let (Some(own), Some(others)) = (&mut self.admission, &other.admission) {
            own.merge(others);
        }
    }
}
