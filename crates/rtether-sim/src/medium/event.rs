//! Events of a shared segment, and its counters.

use rtether_model::quantity::{Duration, Instant};

use super::config::ATTEMPT_LIMIT;

/// Why a frame was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DropReason {
    /// The last allowed attempt collided too.
    ExcessiveCollisions,
    /// A collision came a slot or more after the first bit: the segment is too long.
    LateCollision,
}

/// What happened to the frame of a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EventKind {
    /// The first bit of the preamble leaves the station.
    Started,
    /// The last bit of the jam has left the station; the frame is tried again or dropped.
    Collision {
        /// Transmissions of this frame so far, this one included.
        attempts: u32,
        /// When the station detected it.
        detected: Instant,
    },
    /// The last bit has left the station, which detected no collision; it may offer its next frame.
    Sent {
        /// Transmissions of this frame; 1 if it never collided.
        attempts: u32,
    },
    /// Every other station receives the frame, [`super::Medium::propagation`] later.
    Delivered {
        /// Transmissions of this frame; 1 if it never collided.
        attempts: u32,
    },
    /// The frame overlapped with another at the repeater although its sender detected no collision:
    /// no station receives it. Only on a segment that is too long.
    Garbled {
        /// Transmissions of this frame.
        attempts: u32,
    },
    /// The frame is given up; the station may offer its next one.
    Dropped {
        /// Why.
        reason: DropReason,
        /// Transmissions of this frame.
        attempts: u32,
    },
}

/// An event on the segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Event {
    /// When; never later than the `now` of the call that caused it.
    pub at: Instant,
    /// Number of the station that offered the frame, in the order of attachment.
    pub station: u32,
    /// The driver's name for the frame.
    pub frame: u32,
    /// What happened.
    pub kind: EventKind,
}

/// Counters of the segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Transmissions that collided, by number of the attempt: the first entry counts first
    /// attempts. Each station in a collision counts once.
    pub collisions: [u64; ATTEMPT_LIMIT as usize],
    /// Collisions a slot or more after the first bit; also in `collisions`.
    pub late_collisions: u64,
    /// Frames sent, but received by no station.
    pub garbled: u64,
    /// Time of frames sent, preamble included, gap excluded. Divided by the length of the run it is
    /// the utilization.
    pub carried: Duration,
    /// Time that stations spent on transmissions that collided, jam included; each station in a
    /// collision counts.
    pub wasted: Duration,
}

/// Counters of one station.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StationStatistics {
    /// Frames offered.
    pub offered: u64,
    /// Frames sent.
    pub sent: u64,
    /// Frames sent after at least one collision.
    pub sent_after_collision: u64,
    /// Frames dropped after too many collisions.
    pub excessive_collisions: u64,
    /// Frames dropped after a late collision.
    pub late_collisions: u64,
    /// Transmissions that collided.
    pub collisions: u64,
}

impl StationStatistics {
    /// Returns the frames dropped for either reason.
    pub const fn dropped(&self) -> u64 {
        self.excessive_collisions + self.late_collisions
    }
}
