//! Counters of sending ports and their queues.

use alloc::vec::Vec;

use super::ratio;
use crate::network::{LinkId, PortId};
use crate::quantity::{Bytes, Duration};

/// Counters of one sending port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortRecord {
    /// The port.
    pub port: PortId,
    /// Its link.
    pub link: LinkId,
    /// Frames offered to its queues.
    pub offered: u64,
    /// Frames sent.
    pub sent: u64,
    /// Octets sent, preamble and gap included.
    pub sent_wire: Bytes,
    /// Frames dropped because a buffer was full, or given up on a shared medium.
    pub dropped: u64,
    /// Frames waiting at the end, including a frame contending for a shared medium.
    pub queued: u64,
    /// Frames sent from here that were corrupted on the link.
    pub corrupted: u64,
    /// Time for which the link was occupied in this direction, gaps included.
    pub busy: Duration,
    /// Largest number of octets that waited.
    pub backlog_max: Bytes,
    /// Counters of each queue, lowest first.
    pub queues: Vec<QueueRecord>,
    /// Access to the shared medium, if the port is on one.
    pub access: Option<AccessRecord>,
}

/// Access of one port to a shared medium.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccessRecord {
    /// Transmissions that collided.
    pub collisions: u64,
    /// Frames sent after at least one collision.
    pub sent_after_collision: u64,
    /// Frames dropped after the last attempt collided too.
    pub excessive_collisions: u64,
    /// Frames dropped after a late collision.
    pub late_collisions: u64,
}

/// Counters of one egress queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueRecord {
    /// Frames sent from it.
    pub sent: u64,
    /// Frames in it that the port dropped ([`PortRecord::dropped`]).
    pub dropped: u64,
    /// Largest number of frames that waited.
    pub depth_max: u32,
    /// Largest number of octets that waited.
    pub backlog_max: Bytes,
    /// Sum of the waiting times of frames, in picoseconds.
    pub waited_ps: i128,
}

impl PortRecord {
    /// Returns the share of `time` in which the link was occupied.
    pub fn utilization(&self, time: Duration) -> f64 {
        ratio(self.busy.as_ps().unsigned_abs(), time.as_ps().unsigned_abs()).unwrap_or(0.0)
    }

    /// Adds the counters of another run of the same port.
    pub fn merge(&mut self, other: &Self) {
        debug_assert_eq!(self.port, other.port);
        self.offered += other.offered;
        self.sent += other.sent;
        self.sent_wire += other.sent_wire;
        self.dropped += other.dropped;
        self.queued += other.queued;
        self.corrupted += other.corrupted;
        self.busy += other.busy;
        self.backlog_max = Ord::max(self.backlog_max, other.backlog_max);
        for (own, others) in self.queues.iter_mut().zip(&other.queues) {
            own.sent += others.sent;
            own.dropped += others.dropped;
            own.depth_max = Ord::max(own.depth_max, others.depth_max);
            own.backlog_max = Ord::max(own.backlog_max, others.backlog_max);
            own.waited_ps += others.waited_ps;
        }
        if let (Some(own), Some(others)) = (&mut self.access, &other.access) {
            own.collisions += others.collisions;
            own.sent_after_collision += others.sent_after_collision;
            own.excessive_collisions += others.excessive_collisions;
            own.late_collisions += others.late_collisions;
        }
    }
}
