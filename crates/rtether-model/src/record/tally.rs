//! What was counted of a stream up to some moment of a run.

use alloc::vec::Vec;

use super::StreamRecord;
use crate::histogram::Histogram;

/// Counts of one stream since the end of the warm-up.
///
/// The difference of two of them is what happened in between: intervals of confidence compare such
/// batches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Packets released.
    pub released: u64,
    /// Packets delivered.
    pub delivered: u64,
    /// Packets known to be late or lost.
    pub missed: u64,
    /// Sum of the latencies of delivered packets, in picoseconds.
    pub sum_ps: i128,
    /// Delivered packets by the coarse bin of their latency ([`Histogram::coarse`]), in ascending
    /// order.
    pub bins: Vec<(usize, u64)>,
}

impl Tally {
    /// Returns the tally at the end of a run.
    pub fn of(record: &StreamRecord) -> Self {
        Self {
            released: record.released,
            delivered: record.delivered,
            missed: record.missed,
            sum_ps: record.latency.sum_ps,
            bins: Self::bins_of(&record.histogram),
        }
    }

    /// Returns the coarse bins of a histogram.
    pub fn bins_of(histogram: &Histogram) -> Vec<(usize, u64)> {
        histogram.coarse().collect()
    }
}
