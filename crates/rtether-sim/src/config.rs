//! Configuration of a run.

use rtether_model::quantity::Duration;

/// Configuration of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Seed of all random draws.
    pub seed: u64,
    /// Packets released before this time do not count.
    pub warmup: Duration,
    /// Length of the buckets of the time axis; zero for none.
    pub bucket: Duration,
}
