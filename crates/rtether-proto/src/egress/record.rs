//! Recordings of every call and decision of an [`Egress`](super::Egress).

use alloc::vec::Vec;

use rtether_model::quantity::{BitRate, Bytes, Duration, Instant};

use super::{Marked, Offered, Seeds};

/// A call of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// [`Egress::offer`](super::Egress::offer); frames are numbered in order of these calls, from 0.
    Offer(Offered),
    /// [`Egress::poll_transmit`](super::Egress::poll_transmit), unless the engine was idle.
    Poll,
    /// [`Egress::refuse`](super::Egress::refuse).
    Refuse {
        /// Number of the ring.
        ring: u8,
    },
    /// [`Egress::begin`](super::Egress::begin).
    Begin {
        /// Number of the ring.
        ring: u8,
    },
    /// [`Egress::attempt`](super::Egress::attempt).
    Attempt,
    /// [`Egress::attempted`](super::Egress::attempted).
    Attempted {
        /// How long ago.
        ago: Duration,
    },
    /// [`Egress::handle_completion`](super::Egress::handle_completion).
    Complete {
        /// Attempts of the frame.
        attempts: u32,
    },
    /// [`Egress::hear`](super::Egress::hear).
    Hear {
        /// Size on the wire.
        wire_size: Bytes,
    },
    /// [`Egress::probe`](super::Egress::probe).
    Probe {
        /// Number of the path.
        path: u8,
        /// Its delay; `None` if it was lost.
        delay: Option<Duration>,
    },
    /// [`Egress::mark`](super::Egress::mark).
    Mark(Marked),
    /// [`Egress::handle_timeout`](super::Egress::handle_timeout).
    Timeout,
    /// [`Egress::set`](super::Egress::set) with the next layer, accepted.
    Set,
}

/// A decision about a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The frame was handed out.
    Handed {
        /// Number of the frame.
        frame: u64,
        /// Number of its ring.
        ring: u8,
    },
    /// The frame was dropped.
    Dropped {
        /// Number of the frame.
        frame: u64,
        /// What dropped it.
        by: Dropper,
    },
}

/// What dropped a frame for lack of room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dropper {
    /// The smoother.
    Smoother,
    /// A transmit queue.
    Queue,
}

/// A call or a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A call by the host.
    Call(Call),
    /// A decision made during the preceding call.
    Decision(Decision),
}

/// One entry of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Time; never before that of the previous entry.
    pub at: Instant,
    /// The call or decision.
    pub what: What,
}

/// Calls and decisions of an [`Egress`](super::Egress) from its start, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recording {
    /// When the engine was created.
    pub start: Instant,
    /// Rate of the link.
    pub rate: BitRate,
    /// The engine's random inputs.
    pub seeds: Seeds,
    /// The first entries; recording stops at the limit.
    pub entries: Vec<Entry>,
    /// Entries beyond the limit.
    pub lost: u64,
}

/// A recording that grows up to a limit.
#[derive(Clone, Debug)]
pub(super) struct Recorder {
    recording: Recording,
    limit: usize,
}

impl Recorder {
    /// Allocates memory for all entries at once, so that a driver never waits for an allocation.
    pub(super) fn new(start: Instant, rate: BitRate, seeds: Seeds, limit: usize) -> Self {
        Self {
            recording: Recording {
                start,
                rate,
                seeds,
                entries: Vec::with_capacity(limit),
                lost: 0,
            },
            limit,
        }
    }

    pub(super) fn push(&mut self, at: Instant, what: What) {
        let Recording { entries, lost, .. } = &mut self.recording;
        if entries.len() < self.limit {
            entries.push(Entry { at, what });
        } else {
            *lost += 1;
        }
    }

    pub(super) const fn recording(&self) -> &Recording {
        &self.recording
    }

    pub(super) fn into_recording(self) -> Recording {
        self.recording
    }
}
