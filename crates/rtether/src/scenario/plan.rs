//! A scenario as the engines see it: after parsing, checking and lowering.

use rtether_model::flow::Flow;
use rtether_model::network::Network;
use rtether_model::quantity::Duration;

/// A plant, its traffic, how long to run it and what to accept.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// Title.
    pub name: String,
    /// Nodes and links.
    pub network: Network,
    /// All flows; indices are [`rtether_model::flow::FlowId`]s.
    pub flows: Vec<Flow>,
    /// How to simulate.
    pub run: RunPlan,
    /// The verdict: a stream fails if a requirement that matches it does not hold.
    pub accept: Vec<Requirement>,
}

/// How to simulate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunPlan {
    /// Simulated time of one run, warm-up included.
    pub duration: Duration,
    /// Start of every run that does not count.
    pub warmup: Duration,
    /// Number of replications, at least one; their seeds are consecutive.
    pub runs: u32,
    /// Seed of the first replication.
    pub seed: u64,
    /// Length of the buckets on the time axis.
    pub bucket: Duration,
}

impl RunPlan {
    /// Points on the time axes of all streams that are held in memory at once, some 500 MB: no run
    /// may have more, and fewer runs go side by side where each has many.
    pub const MOST_POINTS: i64 = 10_000_000;

    /// Returns the points on the time axes of so many streams in one run.
    pub fn points(&self, streams: usize) -> i64 {
        let buckets = self.duration.as_ps().checked_div(self.bucket.as_ps());
        let streams = i64::try_from(streams).unwrap_or(i64::MAX);
        buckets.map_or(0, |buckets| buckets.saturating_mul(streams))
    }
}

/// One line of `accept:`.
#[derive(Clone, Debug, PartialEq)]
pub struct Requirement {
    /// Flow name, class, or a pattern with `*`.
    pub flow: String,
    /// Upper limits on simulated statistics. Packets still under way past their deadline at the end
    /// of a run count against quantiles and maximum.
    pub simulated: Vec<(Statistic, Limit)>,
    /// Upper limits on measured statistics; those on simulated ones where there are none.
    pub measured: Vec<(Statistic, Limit)>,
    /// Upper limit on the proved bound.
    pub bound: Option<Limit>,
    /// Packets that may be dropped, over all runs.
    pub lost: Option<u64>,
    /// Largest ratio of late or lost packets, in parts per billion.
    pub miss_per_billion: Option<u64>,
}

/// A statistic of the latency of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statistic {
    /// Mean.
    Mean,
    /// The quantile `part / whole`: 999/1000 for p99.9.
    Quantile {
        /// Numerator.
        part: u64,
        /// Denominator.
        whole: u64,
    },
    /// Largest value seen.
    Max,
}

/// An upper limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The flow's deadline; holds for flows without one.
    Deadline,
    /// This time.
    Time(Duration),
}

impl Requirement {
    /// Returns what holds where a scenario has no `accept:`: nothing lost, and no packet later than
    /// its deadline in simulation, be it delivered or still under way.
    pub fn default_for_all() -> Self {
        Self {
            flow: "*".into(),
            simulated: vec![(Statistic::Max, Limit::Deadline)],
            measured: Vec::new(),
            bound: None,
            lost: Some(0),
            miss_per_billion: None,
        }
    }

    /// Returns what `accept: proved` requires: the same, and a bound within every deadline.
    pub fn proved_for_all() -> Self {
        Self {
            bound: Some(Limit::Deadline),
            ..Self::default_for_all()
        }
    }
}
