//! Times between events on the way of a packet.
//!
//! **Costs that are not known.** A cost may be any constant of an interval: the same for all packets
//! in a run. *Theorem.* Take the most of each interval as the largest cost and the least as the
//! smallest, as if it varied from packet to packet, but let the time under way vary by no more than
//! it does for one constant. All bounds then hold for every constant. *Proof.* Take a run with any
//! constants. Its services and gaps lie between the ends, and a gap varies among the packets of a
//! flow by at most [`Gap::varies`], which is the largest variation for any constant. The theorems of
//! the analysis ask for nothing else: that services and gaps lie between their ends, and that
//! jitters are at least the variation of the way so far, which is that of the release, the waits
//! and the gaps ([`crate::solve`], by the first moment at which a bound is exceeded). Where packets
//! of several flows, or a least time under way, come in (limits on the way, policers, replies as
//! echoes), the whole difference of both ends counts.

use crate::source::{INFINITE, add};

/// Time between two events: minimum and maximum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Gap {
    pub(crate) min: i64,
    pub(crate) max: i64,
    /// Part of the difference that is the same for all packets of a flow in a run.
    pub(crate) constant: i64,
}

impl Gap {
    /// Returns a time that does not vary.
    pub(crate) const fn exact(time: i64) -> Self {
        Self::between(time, time)
    }

    /// Returns a time between two ends, which may differ from packet to packet.
    pub(crate) const fn between(min: i64, max: i64) -> Self {
        Self { min, max, constant: 0 }
    }

    /// Returns both one after the other.
    pub(crate) fn then(self, next: Self) -> Self {
        Self {
            min: add(self.min, next.min),
            max: add(self.max, next.max),
            constant: add(self.constant, next.constant),
        }
    }

    /// Returns by how much the time varies among packets of a flow in a run; infinite if the
    /// maximum is.
    pub(crate) const fn varies(&self) -> i64 {
        if self.max < INFINITE { self.max - self.min - self.constant } else { INFINITE }
    }
}
