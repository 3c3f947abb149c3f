//! The wait of a frame at a port that sends frames of one size in order of arrival.

use rtether_model::quantity::Duration;

use super::chain::{Count, Waiting};

/// Longest wait that is asked for: a second.
pub(super) const LONGEST: Duration = Duration::from_secs(1);

/// Frames that come at random moments: M/D/1.
///
/// Let a frame take `D`, let `k D` be the least multiple above `x`, and `u = k D - x`. A frame that
/// comes at `t` begins by `t + x` exactly if at most `k - 1` are in front of it among those that
/// waited at `t - u` and those that came since: in the `k D` up to `t + x` the port begins `k`
/// frames while any wait. So `P(wait > x)` is the probability that these are `k` or more, a sum of
/// positive terms (after G. J. Franx, 2001).
#[derive(Clone, Debug)]
pub(super) struct Random {
    frame: Duration,
    load: f64,
    waiting: Waiting,
}

impl Random {
    /// Returns the queue of frames that take this long, with a load below one.
    pub(super) fn new(frame: Duration, load: f64) -> Self {
        Self { frame, load, waiting: Waiting::new(&Count::poisson(load)) }
    }

    /// Returns `P(wait > time)`.
    pub(super) fn beyond(&self, time: Duration) -> f64 {
        let frame = self.frame.as_ps();
        let count = time.as_ps() / frame + 1;
        let before = Duration::from_ps(count * frame - time.as_ps());
        let came = Count::poisson(self.load * before.as_secs_f64() / self.frame.as_secs_f64());
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        let few =
            (0..count.min(came.len())).map(|n| came.equal(n) * self.waiting.beyond(count - 1 - n));
        few.sum::<f64>() + came.at_least(count)
    }

    /// Returns the mean wait (Pollaczek and Khinchine).
    pub(super) fn mean_frames(&self) -> f64 {
        self.load / (2.0 * (1.0 - self.load))
    }
}

/// Frames that come in slots of one frame, from several sources at once.
///
/// A frame waits for those that waited before its slot, and for those of its slot in front of it,
/// in random order. There are `n` of these with the probability `P(A > n) / E A`.
#[derive(Clone, Debug)]
pub(super) struct Slotted {
    frame: Duration,
    arrivals: Count,
    waiting: Waiting,
}

impl Slotted {
    /// Returns the queue of frames that take this long, from sources that each send one in a slot
    /// with these probabilities, whose sum is below one.
    pub(super) fn new(frame: Duration, sources: impl IntoIterator<Item = f64>) -> Self {
        let arrivals = Count::of_sources(sources);
        let waiting = Waiting::new(&arrivals);
        Self { frame, arrivals, waiting }
    }

    /// Returns `P(wait > time)`.
    pub(super) fn beyond(&self, time: Duration) -> f64 {
        let slots = time.as_ps() / self.frame.as_ps();
        let slots = usize::try_from(slots).unwrap_or(usize::MAX);
        let mean = self.arrivals.mean();
        if mean <= 0.0 {
            return 0.0;
        }
        let in_front = |n: usize| self.arrivals.at_least(n + 1) / mean;
        let few = (0..self.arrivals.len().min(slots.saturating_add(1)))
            .map(|n| in_front(n) * self.waiting.beyond(slots - n));
        let many = (slots.saturating_add(1)..self.arrivals.len()).map(in_front);
        few.sum::<f64>() + many.sum::<f64>()
    }

    /// Returns the mean wait in frames.
    pub(super) fn mean_frames(&self) -> f64 {
        let load = self.arrivals.mean();
        if load <= 0.0 {
            return 0.0;
        }
        self.arrivals.pairs() / (2.0 * load * (1.0 - load))
    }
}

/// Returns the least whole nanosecond that is exceeded with at most this probability; `None` beyond
/// a second.
pub(super) fn quantile(beyond: impl Fn(Duration) -> f64, most: f64) -> Option<Duration> {
    let exceeds = |ns: i64| beyond(Duration::from_ns(ns)) > most;
    let mut high = 1;
    while exceeds(high) {
        high *= 2;
        if Duration::from_ns(high) > LONGEST {
            return None;
        }
    }
    let mut low = -1;
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if exceeds(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    Some(Duration::from_ns(high))
}
