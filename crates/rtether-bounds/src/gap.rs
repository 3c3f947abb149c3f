//! Times between events on the way of a packet.
//!
//! **Costs that are not known.** A cost may be any constant of an interval: the same for all packets
//! in a run, and nobody knows which. *Theorem.* Take the most of each interval as the largest cost
//! and the least as the smallest, as if it varied from packet to packet, but let the time under way
//! vary by no more than it does for one constant. All bounds then hold for every constant. *Proof.*
//! Take any constants. With these known, the analysis has services and gaps between the same ends
//! or closer ones, and jitters that are no larger: induction along the way, since a jitter is the
//! one before, plus a wait, plus the variation of the gap for these constants, of which
//! [`Gap::varies`] is the largest. Everything else is computed from them and grows with the largest
//! times and jitters, and shrinks with the smallest: so it is at least what is proved for these
//! constants. Where packets of several flows, or a least time under way, come in (limits on the
//! way, policers, replies as echoes), the whole difference of both ends counts.

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
        Self {
            min,
            max,
            constant: 0,
        }
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
        if self.max < INFINITE {
            self.max - self.min - self.constant
        } else {
            INFINITE
        }
    }
}
