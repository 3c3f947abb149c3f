//! Stalls of the measuring host, and statistics without them.

use rtether_model::stall::{Felt, Stall, distinct};
use rtether_proto::probe::Sample;

use super::{Measurement, Statistics};

/// Stalls of the host: the measuring thread, or one that watches for stalls, did not run although it
/// was runnable.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gaps {
    /// What was seen on one or several cores, sorted and disjoint.
    seen: Vec<Stall>,
    /// When it was felt.
    felt: Felt,
}

impl FromIterator<Stall> for Gaps {
    fn from_iter<T: IntoIterator<Item = Stall>>(stalls: T) -> Self {
        let all: Vec<Stall> = stalls.into_iter().collect();
        Self { felt: all.iter().copied().collect(), seen: distinct(all) }
    }
}

impl Gaps {
    /// Returns what was seen, sorted and disjoint.
    pub fn seen(&self) -> &[Stall] {
        &self.seen
    }
}

impl Measurement {
    /// Returns whether the host was stalled, or clearing the backlog of a stall, while a request
    /// was in flight.
    pub fn is_hit(&self, sample: &Sample) -> bool {
        let end = sample.sent_at + sample.round_trip;
        self.gaps.felt.touch(sample.sent_at, end)
    }

    /// Returns the number of affected round trips.
    pub fn hit(&self) -> usize {
        self.samples.iter().filter(|sample| self.is_hit(sample)).count()
    }

    /// Returns the statistics of unaffected samples; `None` if there are none.
    pub fn without_hit(&self) -> Option<Statistics> {
        let others = self.samples.iter().filter(|sample| !self.is_hit(sample));
        Statistics::of(others.map(|sample| sample.round_trip))
    }
}
