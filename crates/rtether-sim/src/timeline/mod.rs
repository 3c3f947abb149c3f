//! The timeline of a packet, part by part, and the frames that it waited for.
//!
//! [`Trails`] is an observer that follows packets. The parts of a [`Timeline`] follow each other
//! without a gap: the first begins at the release, the last ends at the delivery, and their sum is the
//! latency to the picosecond.

mod server;
mod trail;
mod works;

use alloc::vec::Vec;

use rtether_model::flow::FlowId;
use rtether_model::quantity::{Duration, Instant};
use rtether_model::record::Place;

pub use trail::Trails;

/// The timeline of a packet from release to delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timeline {
    /// Number of the packet within its flow.
    pub number: u32,
    /// When it was released.
    pub released_at: Instant,
    /// Release to delivery.
    pub latency: Duration,
    /// The parts, in order of time and without a gap.
    pub parts: Vec<Part>,
}

/// A part of the timeline of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// What it is, and where.
    pub place: Place,
    /// When the packet came there.
    pub enter: Instant,
    /// When it left.
    pub leave: Instant,
    /// Whom it waited for, in order of time; what they leave uncovered is its own service, or a
    /// pause.
    pub waits: Vec<Wait>,
    /// Whether some of the frames that it waited for are no longer known: memory holds about a
    /// million.
    pub is_partial: bool,
    /// Whether it is time in the protocol: not the packet was there, but what it waited for, such as
    /// earlier data or their acknowledgment; or an end waited for a timer.
    pub is_awaited: bool,
}

impl Part {
    /// Returns how long the packet was there.
    pub fn time(&self) -> Duration {
        self.leave - self.enter
    }
}

/// A wait for one other frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Flow of the other frame.
    pub flow: FlowId,
    /// Its number within the flow.
    pub number: u32,
    /// Whether it is a reply or an acknowledgement.
    pub is_reverse: bool,
    /// Its octets from addresses to FCS.
    pub octets: u64,
    /// Its priority, if tagged.
    pub priority: Option<u8>,
    /// What it was doing.
    pub cause: Cause,
    /// When it began; before the packet came, if the wait is only for its rest.
    pub since: Instant,
    /// How long the packet waited for it.
    pub time: Duration,
}

/// Why a packet waited for another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The other one was being served or sent when the packet came.
    InService,
    /// The other one was served or sent first.
    Ahead,
    /// Both collided, or the other one collided on the medium that the packet waited for.
    Collision,
}

impl Cause {
    /// Returns the name used in tables and files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::InService => "in service",
            Self::Ahead => "ahead",
            Self::Collision => "collision",
        }
    }
}
