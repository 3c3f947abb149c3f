//! Simulates a scenario: replications in parallel, merged in the order of their seeds.

use rtether_model::quantity::Duration;
use rtether_model::record::Record;

/// What the replications of a scenario said.
#[derive(Clone, Debug, PartialEq)]
pub struct Results {
    /// All runs merged.
    pub record: Record,
    /// Per stream, how sure the figures are; same order as `record.streams`.
    pub confidence: Vec<Confidence>,
    /// The seeds that were run, in order.
    pub seeds: Vec<u64>,
    /// Set when the run was interrupted: fewer seeds, or less simulated time.
    pub partial: bool,
}

/// Two-sided 95 % confidence intervals of one stream.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Confidence {
    /// Mean latency, from the spread of the replications (Student's t); needs two runs.
    pub mean: Option<Interval>,
    /// 99th percentile, in the same way.
    pub p99: Option<Interval>,
    /// Ratio of late or lost packets (Clopper-Pearson on all packets).
    pub miss_ratio: Option<(f64, f64)>,
}

/// From, to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// Lower end.
    pub low: Duration,
    /// Upper end.
    pub high: Duration,
}
