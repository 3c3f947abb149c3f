//! Counters of the layer between stack and driver of an end station.

use alloc::vec::Vec;

use crate::quantity::Bytes;

/// The layer between stack and driver of an end station.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LayerRecord {
    /// Receive queues, lowest first.
    pub receive: Vec<ClassRecord>,
    /// Transmit queues, lowest first.
    pub transmit: Vec<ClassRecord>,
    /// The smoother.
    pub smoother: Option<SmootherRecord>,
}

/// Counters of one queue of the layer (R85).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassRecord {
    /// Frames that entered.
    pub arrived: u64,
    /// Frames that left.
    pub left: u64,
    /// Frames dropped because it was full.
    pub dropped: u64,
    /// Largest number of frames that waited.
    pub depth_max: u32,
    /// Sum of the waiting times of frames, in picoseconds.
    pub waited_ps: i128,
    /// Frames promoted from it.
    pub promoted: u64,
    /// Frames released by the idle release.
    pub idle_releases: u64,
}

/// Counters of a smoother.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SmootherRecord {
    /// Real-time octets that left, as IP datagrams.
    pub real_time: Bytes,
    /// Bulk octets that left.
    pub bulk: Bytes,
    /// Packets refused because a queue was full.
    pub dropped: u64,
    /// Congestion signals.
    pub signals: u64,
    /// Sum of the waiting times of bulk packets, in picoseconds.
    pub bulk_waited_ps: i128,
    /// Largest number of bulk packets that waited.
    pub bulk_depth_max: u32,
}

impl ClassRecord {
    /// Adds the counters of another queue, or of another run of the same one.
    pub fn merge(&mut self, other: &Self) {
        self.arrived += other.arrived;
        self.left += other.left;
        self.dropped += other.dropped;
        self.depth_max = Ord::max(self.depth_max, other.depth_max);
        self.waited_ps += other.waited_ps;
        self.promoted += other.promoted;
        self.idle_releases += other.idle_releases;
    }
}

impl LayerRecord {
    /// Adds the counters of another run of the same layer.
    pub fn merge(&mut self, other: &Self) {
        let queues = self.receive.iter_mut().zip(&other.receive);
        let queues = queues.chain(self.transmit.iter_mut().zip(&other.transmit));
        for (own, others) in queues {
            own.merge(others);
        }
        if let (Some(own), Some(others)) = (&mut self.smoother, &other.smoother) {
            own.real_time += others.real_time;
            own.bulk += others.bulk;
            own.dropped += others.dropped;
            own.signals += others.signals;
            own.bulk_waited_ps += others.bulk_waited_ps;
            own.bulk_depth_max = Ord::max(own.bulk_depth_max, others.bulk_depth_max);
        }
    }
}
