//! The clock of a run.

use rtether_model::quantity::{Duration, Instant};

/// The system's monotonic clock, with the start of the run as its origin.
///
/// A reading takes about 25 ns, without entering the kernel.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    origin: std::time::Instant,
}

impl Clock {
    /// Returns a clock that shows zero now.
    pub fn start() -> Self {
        Self {
            origin: std::time::Instant::now(),
        }
    }

    /// Returns the time since the start.
    pub fn now(&self) -> Instant {
        let ns = self.origin.elapsed().as_nanos();
        // 292 years of nanoseconds fit 63 bits, and 106 days of picoseconds do.
        Instant::from_ps(i64::try_from(ns).unwrap_or(i64::MAX).saturating_mul(1_000))
    }
}

/// Returns a span for the system, rounded up to a nanosecond; zero for a negative one.
pub(crate) fn to_std(span: Duration) -> std::time::Duration {
    let ns = u64::try_from(span.as_ps()).unwrap_or(0).div_ceil(1_000);
    std::time::Duration::from_nanos(ns)
}
