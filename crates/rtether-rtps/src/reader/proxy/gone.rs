//! Reliable writers that are gone, for when one comes back.
//!
//! One that is only reported to have ended may come back, and then sends what this reader has not
//! acknowledged. What is missing of it is counted, but nothing is delivered out of turn, and the
//! figures are taken back if it is found anew.

use super::WriterProxy;
use crate::guid::Guid;
use crate::reader::ReaderCounters;
use crate::sequence::SequenceNumber;
use crate::time::Instant;

/// A writer that is gone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gone {
    pub(crate) writer: Guid,
    /// Where it continues if it is found anew, so that no sample is delivered twice.
    pub(crate) next: SequenceNumber,
    presumed: Presumed,
}

/// What is counted of a writer from its position on, since it is said to be gone.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Presumed {
    samples: u64,
    lost: u64,
    not_owed: u64,
    withheld: u64,
    rejected: u64,
}

impl Gone {
    /// The end of a writer, whose figures the reader has taken over.
    pub(crate) fn of(proxy: &WriterProxy) -> Self {
        let presumed = proxy.presumed;
        let next = SequenceNumber(proxy.next.0.saturating_sub_unsigned(presumed.samples));
        Self { writer: proxy.remote.guid, next, presumed }
    }

    /// Returns its first sample that has no figure.
    pub(crate) fn accounted_to(&self) -> SequenceNumber {
        SequenceNumber(self.next.0.saturating_add_unsigned(self.presumed.samples))
    }

    /// Takes back what was counted, since it is found anew.
    pub(crate) fn take_back(&self, counters: &mut ReaderCounters) {
        let Presumed { samples: _, lost, not_owed, withheld, rejected } = self.presumed;
        for (all, own) in [
            (&mut counters.lost, lost),
            (&mut counters.not_owed, not_owed),
            (&mut counters.filtered, withheld),
            (&mut counters.rejected, rejected),
        ] {
            *all = all.saturating_sub(own);
        }
    }
}

impl WriterProxy {
    /// Counts what is missing: what has come and found no room is rejected, and all other samples are
    /// lost, as are those that waited for them. Returns how many were rejected.
    pub(crate) fn presume_gone(&mut self, now: Instant) -> u64 {
        let Self { next, lost, not_owed, withheld, .. } = *self;
        let (mut rejected, mut is_one_missing) = (0, false);
        loop {
            if self.take_held().is_some() {
                if is_one_missing {
                    self.lose(1);
                } else {
                    rejected += 1;
                }
                self.advance(now);
            } else {
                is_one_missing = true;
                if !self.give_up(self.end()) {
                    break;
                }
            }
        }
        self.presumed = Presumed {
            samples: self.next.0.saturating_sub(next.0).unsigned_abs(),
            lost: self.lost.saturating_sub(lost),
            not_owed: self.not_owed.saturating_sub(not_owed),
            withheld: self.withheld.saturating_sub(withheld),
            rejected,
        };
        rejected
    }
}
