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

impl Measurement {
    /// Returns whether the host stood still while a request was under way.
    pub fn is_hit(&self, sample: &Sample) -> bool {
        let end = sample.sent_at + sample.round_trip;
        // Gaps are in the order of time and do not overlap.
        let next = self.gaps.partition_point(|gap| gap.until <= sample.sent_at);
        self.gaps.get(next).is_some_and(|gap| gap.from < end)
    }

    /// Returns the number of round trips during which the host stood still.
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
