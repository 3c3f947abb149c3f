//! Watches for gaps: times in which a spinning thread does not run.

use std::sync::atomic::{AtomicBool, Ordering};

use rtether_model::histogram::Histogram;
use rtether_model::quantity::{Duration, Instant};

use crate::clock::Clock;
use crate::thread::Placement;

/// Window of which the largest gap is recorded.
const WINDOW: Duration = Duration::from_ms(1);
/// Longest spin of a real-time thread, below the limit at which the kernel would stop it.
const SPIN_MAX: Duration = Duration::from_ms(400);
/// Rest after that.
const REST: std::time::Duration = std::time::Duration::from_millis(50);
/// Thresholds from which gaps are counted.
pub const LIMITS: [Duration; 3] =
    [Duration::from_us(10), Duration::from_us(100), Duration::from_ms(1)];

/// Observed gaps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gaps {
    /// Time watched.
    pub watched: Duration,
    /// Number of windows of a millisecond.
    pub windows: u64,
    /// Largest gap of each window.
    pub largest_per_window: Histogram,
    /// Largest gap of all.
    pub largest: Duration,
    /// Number of gaps at least as long as each of [`LIMITS`].
    pub counts: [u64; 3],
    /// Time in gaps at least as long as the first of [`LIMITS`].
    pub lost: Duration,
}

/// Spins for `length` and records gaps, at a real-time priority if the system grants it.
pub fn watch(length: Duration, stop: &AtomicBool) -> Gaps {
    std::thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            let placement = Placement { priority: Some(1), ..Placement::default() };
            // Without the right, the figures include time taken by other tasks, as in measurements.
            drop(placement.apply());
            let mut gaps = Gaps::default();
            while gaps.watched < length && !stop.load(Ordering::Relaxed) {
                let left = length - gaps.watched;
                gaps.spin(left.min(SPIN_MAX));
                std::thread::sleep(REST);
            }
            gaps
        });
        watcher.join().unwrap_or_default()
    })
}

impl Gaps {
    fn spin(&mut self, length: Duration) {
        let clock = Clock::start();
        let (mut before, mut window_end) = (clock.now(), Instant::ZERO + WINDOW);
        let mut window = Duration::ZERO;
        loop {
            let now = clock.now();
            let gap = now - before;
            before = now;
            window = window.max(gap);
            self.count(gap);
            if now >= window_end {
                self.largest_per_window.record(window);
                self.windows += 1;
                window = Duration::ZERO;
                window_end = now + WINDOW;
                if now.since_start() >= length {
                    self.watched += now.since_start();
                    return;
                }
            }
        }
    }

    fn count(&mut self, gap: Duration) {
        if gap < LIMITS[0] {
            self.largest = self.largest.max(gap);
            return;
        }
        self.largest = self.largest.max(gap);
        self.lost += gap;
        for (count, limit) in self.counts.iter_mut().zip(LIMITS) {
            *count += u64::from(gap >= limit);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_counted_by_their_length() {
        // Oracle: counted by hand.
        let mut gaps = Gaps::default();
        for us in [1, 10, 150, 2_000] {
            gaps.count(Duration::from_us(us));
        }
        assert_eq!(gaps.counts, [3, 2, 1]);
        assert_eq!(gaps.lost, Duration::from_us(2_160));
        assert_eq!(gaps.largest, Duration::from_ms(2));
    }

    #[test]
    fn every_millisecond_that_is_watched_has_a_window() {
        // Oracle: a window lasts at least a millisecond, which limits their number.
        let gaps = watch(Duration::from_ms(50), &AtomicBool::new(false));
        assert!(gaps.watched >= Duration::from_ms(50));
        let most = u64::try_from(gaps.watched.as_ps() / WINDOW.as_ps()).expect("positive");
        assert!((1..=most).contains(&gaps.windows), "{}", gaps.windows);
        assert_eq!(gaps.largest_per_window.total(), gaps.windows);
    }
}
