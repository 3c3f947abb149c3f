//! Times at which the measuring host stood still, and what is left without them.

use rtether_model::quantity::Instant;
use rtether_proto::probe::Sample;

use super::{Measurement, Statistics};

/// A time at which the host stood still: the measuring thread, or one that watched for it, was not
/// run though it should have been.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The last time at which all was well.
    pub from: Instant,
    /// The first time at which it was again.
    pub until: Instant,
}

impl Gap {
    /// Returns gaps, of one core or of several, in the order of time; what is felt of one before the
    /// next begins makes them one.
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

    /// Returns until when it is felt: for as long as it lasted, what it held up is worked off.
    fn felt_until(&self) -> Instant {
        self.until + (self.until - self.from)
    }
}

impl Measurement {
    /// Returns whether the host stood still, or worked off what it had held up, while a request was
    /// under way.
    pub fn is_hit(&self, sample: &Sample) -> bool {
        let end = sample.sent_at + sample.round_trip;
        let is_over = |gap: &Gap| gap.felt_until() <= sample.sent_at;
        let next = self.gaps.partition_point(is_over);
        self.gaps.get(next).is_some_and(|gap| gap.from < end)
    }

    /// Returns the number of round trips that were hit.
    pub fn hit(&self) -> usize {
        self.samples
            .iter()
            .filter(|sample| self.is_hit(sample))
            .count()
    }

    /// Returns the statistics of all other samples; `None` without any.
    pub fn without_hit(&self) -> Option<Statistics> {
        let others = self.samples.iter().filter(|sample| !self.is_hit(sample));
        Statistics::of(others.map(|sample| sample.round_trip))
    }
}
