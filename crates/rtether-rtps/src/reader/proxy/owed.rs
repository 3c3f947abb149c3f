//! Which samples a writer owes its reader: what is missing of these is lost, and nothing else.
//!
//! GAPs of our writers and the first heartbeats tell where a reader begins.

use super::WriterProxy;
use crate::sequence::SequenceNumber;
use crate::wire::Gap;

/// Maximum number of GAPs from the first sample that are not followed in a row.
const RETOLD_MAX: u8 = 64;

impl WriterProxy {
    /// Begins with a sample that is owed for certain, and all later ones.
    pub(super) fn begin_with(&mut self, first: SequenceNumber) {
        self.begin = Some(first);
        if !self.scope.is_durable {
            self.history_end = Some(SequenceNumber(first.0 - 1));
        }
    }

    /// Counts samples before the position that will not arrive: those before the first owed one are
    /// not lost.
    pub(super) fn count_missed(&mut self, skipped: u64) {
        if self.begin.is_none() {
            self.begin = Some(self.next);
            self.not_owed = self.not_owed.saturating_add(skipped);
            return;
        }
        let from = self.next.0.saturating_sub_unsigned(skipped);
        let end = self.history_end.map_or(from, |end| end.next().0);
        let before = end.min(self.next.0).saturating_sub(from).max(0);
        let before = before.unsigned_abs();
        self.not_owed = self.not_owed.saturating_add(before);
        self.doubtful = self.doubtful.saturating_add(before);
        self.lose(skipped.saturating_sub(before));
    }

    /// Handles a GAP that tells where this reader begins, when it has begun already; returns whether
    /// it was that.
    ///
    /// The reader began with what the first heartbeat offered: what it was owed before is lost.
    /// Samples after its position still come: the writer may have lost it, and found it anew.
    pub(super) fn is_retold(&mut self, gap: &Gap) -> bool {
        let is_told = gap.start == SequenceNumber::FIRST && gap.set.is_empty();
        if !is_told || self.next <= SequenceNumber::FIRST || self.retold >= RETOLD_MAX {
            return false;
        }
        self.retold += 1;
        let first = SequenceNumber(gap.set.base());
        if let Some(begin) = self.begin.filter(|begin| first < *begin) {
            let mut late = begin.0.saturating_sub(first.0).unsigned_abs();
            if !self.scope.is_durable {
                late = late.saturating_add(self.doubtful);
            }
            let late = late.min(self.not_owed);
            self.not_owed -= late;
            self.lose(late);
            self.begin_with(first);
        }
        true
    }

    /// Advances to a later number, since the writer has none before for this reader: they were
    /// written before it was there, filtered out, or dropped from the history.
    pub(super) fn pass_over(&mut self, next: SequenceNumber) {
        let skipped = self.skip_to(next);
        if self.begin.is_none() {
            self.not_owed = self.not_owed.saturating_add(skipped);
            self.begin_with(self.next);
        } else if self.scope.is_filtered {
            self.withheld = self.withheld.saturating_add(skipped);
        } else {
            self.count_missed(skipped);
        }
    }

    /// Counts what is missing of a best-effort writer before its position: numbers come in any order,
    /// and nothing tells which of them the writer has filtered out.
    pub(super) fn settle(&mut self) {
        let begin = self.begin.unwrap_or(self.next);
        let span = |from: SequenceNumber, to: SequenceNumber| {
            to.0.saturating_sub(from.0).max(0).unsigned_abs()
        };
        let missing = span(begin, self.next).saturating_sub(self.arrived);
        self.not_owed = span(self.origin, begin);
        (self.lost, self.withheld) =
            if self.scope.is_filtered { (0, missing) } else { (missing, 0) };
    }

    /// Adds to the count of lost samples.
    pub(crate) fn lose(&mut self, count: u64) {
        self.lost = self.lost.saturating_add(count);
    }
}
