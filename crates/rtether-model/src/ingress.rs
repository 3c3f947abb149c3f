//! What a switch does with frames as they arrive: rules that filter, police and mark (catalogue R44).

use alloc::vec::Vec;

use crate::endnode::HeaderMatch;
use crate::index::NodeId;
use crate::priority::Pcp;
use crate::quantity::{BitRate, Bytes};
use crate::wire;

/// A rule of a switch for frames that arrive at a port. The first that matches decides; one without
/// filter, policer and marks lets frames pass as they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IngressRule {
    /// Sending stations, by their address; empty for all.
    pub from: Vec<NodeId>,
    /// Receiving stations, by their address; empty for all, and for groups.
    pub to: Vec<NodeId>,
    /// Priority on arrival: that of the tag, or the one the port gives to untagged frames.
    pub pcp: Option<Pcp>,
    /// Header fields.
    pub headers: HeaderMatch,
    /// New priority.
    pub mark: Option<Pcp>,
    /// New code point of differentiated services, 0 to 63, in a packet of IP.
    pub mark_dscp: Option<u8>,
    /// Limit on the size of the frames that match, before that on their rate.
    pub filter: Option<Filter>,
    /// Limit on the rate of the frames that match; each port has one of its own.
    pub police: Option<Police>,
}

/// The maximum SDU size of a stream filter (IEEE 802.1Q-2022, 8.6.5; formerly 802.1Qci).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Filter {
    /// Octets of the largest SDU that passes: what stands between `EtherType` and FCS, padding
    /// included. An untagged frame of 1518 octets, and a tagged one of 1522, has an SDU of 1500.
    pub max_sdu: Bytes,
    /// Whether it drops all later frames that match once one was larger, at its port
    /// (`StreamBlockedDueToOversizeFrameEnable`).
    pub block: bool,
}

impl Filter {
    /// Returns the size of the largest frame that passes if it has no tag, addresses to FCS.
    pub const fn largest_frame(self) -> Bytes {
        Bytes::new(self.max_sdu.get().saturating_add(wire::HEADER.get() + wire::FCS.get()))
    }
}

/// A token bucket: a frame conforms if the bucket holds its octets, addresses to FCS with the tag,
/// and takes them. It begins full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Police {
    /// Rate at which it fills.
    pub rate: BitRate,
    /// Octets that it holds.
    pub burst: Bytes,
    /// What becomes of frames that do not conform.
    pub exceed: Exceed,
}

/// Why a rule stops a frame that it matches, or demotes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// It exceeds the limit of the policer.
    Exceeded,
    /// Its SDU is larger than the filter lets through.
    Oversize,
    /// The filter blocks the stream, since an earlier frame was too large.
    Blocked,
}

impl Cause {
    /// All of them, in order.
    pub const ALL: [Self; 3] = [Self::Exceeded, Self::Oversize, Self::Blocked];
}

impl IngressRule {
    /// Returns whether frames that it stops for this cause are dropped.
    pub fn drops(&self, cause: Cause) -> bool {
        match cause {
            Cause::Exceeded => self.police.is_some_and(|police| police.exceed == Exceed::Drop),
            Cause::Oversize | Cause::Blocked => self.filter.is_some(),
        }
    }
}

/// Frames that a rule decided on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RuleCounts {
    /// All of them.
    pub matched: u64,
    /// Those of them that it stopped or demoted, by cause.
    causes: [u64; Cause::ALL.len()],
}

impl RuleCounts {
    /// Counts a frame that it stopped or demoted.
    pub const fn note(&mut self, cause: Cause) {
        self.causes[cause as usize] += 1;
    }

    /// Returns how many frames it stopped or demoted for this cause.
    pub const fn of(&self, cause: Cause) -> u64 {
        self.causes[cause as usize]
    }

    /// Adds the frames of another run.
    pub fn merge(&mut self, other: &Self) {
        self.matched += other.matched;
        for (own, others) in self.causes.iter_mut().zip(other.causes) {
            *own += others;
        }
    }
}

/// What becomes of a frame that exceeds the limit of a policer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exceed {
    /// It is dropped.
    Drop,
    /// It goes on with this priority.
    Demote(Pcp),
}
