//! Samples that a reader holds until they can be delivered: those that wait for earlier ones, and
//! those of sets.

use alloc::vec::Vec;

use super::Arrived;
use crate::sequence::SequenceNumber;
use crate::time::{Instant, WallTime};
use crate::wire::{GroupDigest, InlineQos};
use crate::writer::ChangeKind;

/// Maximum octets of held samples.
pub(super) const HELD_OCTETS_MAX: usize = 8 << 20;

/// A sample that waits for earlier ones.
#[derive(Debug)]
pub(crate) struct Owned {
    pub(crate) kind: ChangeKind,
    pub(crate) payload: Vec<u8>,
    pub(crate) inline: InlineQos,
    pub(crate) time: Option<WallTime>,
    at: Instant,
}

impl Owned {
    pub(super) fn new(arrived: &Arrived<'_>) -> Self {
        Self {
            kind: arrived.kind,
            payload: arrived.payload.to_vec(),
            inline: arrived.inline,
            time: arrived.time,
            at: arrived.at,
        }
    }

    pub(super) fn arrived(&self, sequence: SequenceNumber) -> Arrived<'_> {
        Arrived {
            sequence,
            kind: self.kind,
            payload: &self.payload,
            inline: self.inline,
            time: self.time,
            at: self.at,
        }
    }
}

/// Part of a set received so far.
#[derive(Debug)]
pub(crate) struct OpenSet {
    pub(super) start: SequenceNumber,
    /// First group sequence number of the publisher's set.
    pub(super) group: Option<SequenceNumber>,
    pub(super) samples: Vec<(SequenceNumber, Owned)>,
    /// Octets of the samples; all sets of a reader share the room.
    pub(super) octets: usize,
    /// Samples of the writer that were lost before the set.
    pub(super) lost: u64,
    pub(super) is_whole: bool,
}

/// A writer's part of a set.
#[derive(Debug)]
pub(crate) struct GroupSet {
    /// First number of the set; `None` for a sample outside any set that only keeps its place.
    pub(super) first: Option<SequenceNumber>,
    pub(super) digest: Option<GroupDigest>,
    pub(super) is_whole: bool,
    pub(super) samples: Vec<(SequenceNumber, Owned)>,
    pub(super) octets: usize,
}
