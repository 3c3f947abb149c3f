//! Stalls of the measuring host, and statistics without them.

use rtether_model::quantity::Instant;
use rtether_proto::probe::Sample;

use super::{Measurement, Statistics};

/// A stall of the host: the measuring thread, or one that watches for stalls, did not run although
/// it was runnable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// Last time before the stall.
    pub from: Instant,
    /// First time after the stall.
    pub until: Instant,
}

impl Gap {
    /// Merges the gaps of one or several cores, sorted by time; a gap that begins while the
    /// previous one is still felt extends it.
    pub fn merged(gaps: impl IntoIterator<Item = Self>) -> Vec<Self> {
        let mut all: Vec<Self> = gaps.into_iter().collect();
        all.sort_by_key(|gap| gap.from);
        let mut merged: Vec<Self> = Vec::new();
        for gap in all {
            match merged.last_mut() {
                Some(last) if gap.from <= last.felt_until() => {
                    last.until = last.until.max(gap.until);
                }
                _ => merged.push(gap),
            }
        }
        merged
    }

    /// Returns until when a gap is felt: clearing the backlog is assumed to take as long as the
    /// gap.
    fn felt_until(&self) -> Instant {
        self.until + (self.until - self.from)
    }
}

impl Measurement {
    /// Returns whether the host was stalled, or clearing the backlog of a stall, while a request
    /// was in flight.
    pub fn is_hit(&self, sample: &Sample) -> bool {
        let end = sample.sent_at + sample.round_trip;
        let is_over = |gap: &Gap| gap.felt_until() <= sample.sent_at;
        let next = self.gaps.partition_point(is_over);
        self.gaps.get(next).is_some_and(|gap| gap.from < end)
    }

    /// Returns the number of affected round trips.
    pub fn hit(&self) -> usize {
        self.samples
            .iter()
            .filter(|sample| self.is_hit(sample))
            .count()
    }

    /// Returns the statistics of unaffected samples; `None` if there are none.
    pub fn without_hit(&self) -> Option<Statistics> {
        let others = self.samples.iter().filter(|sample| !self.is_hit(sample));
        Statistics::of(others.map(|sample| sample.round_trip))
    }
}
