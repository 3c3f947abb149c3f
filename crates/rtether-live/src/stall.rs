//! Times at which this host stood still.
//!
//! A thread that reads the clock continuously, or is woken at known times, sees a gap if the
//! machine was stopped from outside or the processor was given to another task.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use rtether_model::quantity::{Duration, Instant};

use crate::clock::{Clock, to_std};
use crate::thread::Placement;

/// A gap longer than this is a stall: three times the 99.9th percentile of the wake-up time of a
/// real-time thread on an otherwise idle virtual machine (90 us).
pub const THRESHOLD: Duration = Duration::from_us(300);
/// Gaps kept; further ones are counted.
pub const KEPT: usize = 1 << 16;
/// Interval at which the watcher wakes up.
const PERIOD: Duration = Duration::from_us(250);

/// A gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// Last time before the gap at which the thread ran.
    pub from: Instant,
    /// First time after the gap at which it ran.
    pub until: Instant,
}

/// Gaps found, in order of time for each watcher.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stalls {
    /// The first [`KEPT`] gaps.
    pub found: Vec<Stall>,
    /// Number of further gaps.
    pub dropped: u64,
    /// Times during which gaps are felt, sorted and disjoint.
    felt: Vec<Stall>,
}

impl Stalls {
    /// Returns whether a stall, or its aftermath, overlaps a span of time: the backlog is assumed
    /// to take as long as the stall.
    pub fn touch(&self, from: Instant, until: Instant) -> bool {
        let next = self.felt.partition_point(|felt| felt.until < from);
        self.felt.get(next).is_some_and(|felt| felt.from <= until)
    }

    /// Returns for how long stalls were felt within a span of time: an upper limit on the delay
    /// they caused in it.
    pub fn within(&self, from: Instant, until: Instant) -> Duration {
        let next = self.felt.partition_point(|felt| felt.until < from);
        let touched = self.felt[next..].iter();
        let touched = touched.take_while(|felt| felt.from <= until);
        let parts = touched.map(|felt| felt.until.min(until) - felt.from.max(from));
        parts.fold(Duration::ZERO, |sum, part| sum + part)
    }

    /// Adds the gaps of another watcher.
    pub fn extend(&mut self, other: Self) {
        self.found.extend(other.found);
        self.dropped += other.dropped;
        let mut all = std::mem::take(&mut self.felt);
        all.extend(other.felt);
        all.sort_by_key(|felt| felt.from);
        for felt in all {
            self.feel(felt);
        }
    }

    /// Adds a time that does not begin before the last one.
    fn feel(&mut self, felt: Stall) {
        match self.felt.last_mut() {
            Some(last) if felt.from <= last.until => last.until = last.until.max(felt.until),
            _ => self.felt.push(felt),
        }
    }

    /// Takes two clock readings that should follow each other after `expected`; `from` is not
    /// before that of the last call.
    pub fn look(&mut self, from: Instant, until: Instant, expected: Duration) {
        if until - from - expected <= THRESHOLD {
            return;
        }
        if self.found.len() < KEPT {
            self.found.push(Stall { from, until });
            let until = until + (until - from);
            self.feel(Stall { from, until });
        } else {
            self.dropped += 1;
        }
    }
}

/// A thread that sleeps for short times and records when a sleep takes too long.
///
/// For measurements that block: they cannot distinguish a late reply from a late wake-up.
#[derive(Debug)]
pub struct Watcher {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Stalls>>,
}

impl Watcher {
    /// Starts a watcher on the core of `placement`, one priority above it, since at equal priority
    /// it would wait for the measurement and record that as a stall.
    pub fn start(placement: Placement, clock: Clock) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let is_over = Arc::clone(&stop);
        let placement = Placement {
            priority: placement.priority.map(|own| own.saturating_add(1).min(99)),
            lock_memory: false,
            ..placement
        };
        let thread = std::thread::spawn(move || {
            let mut stalls = Stalls::default();
            // The measurement itself has been granted this placement.
            let _ = placement.apply();
            let mut before = clock.now();
            while !is_over.load(Ordering::Relaxed) {
                std::thread::sleep(to_std(PERIOD));
                let now = clock.now();
                stalls.look(before, now, PERIOD);
                before = now;
            }
            stalls
        });
        Self {
            stop,
            thread: Some(thread),
        }
    }

    /// Stops it and returns its gaps.
    pub fn finish(mut self) -> Stalls {
        self.stop.store(true, Ordering::Relaxed);
        let thread = self.thread.take();
        let found = thread.and_then(|thread| thread.join().ok());
        found.unwrap_or_default()
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn us(us: i64) -> Instant {
        Instant::ZERO + Duration::from_us(us)
    }

    #[test]
    fn a_gap_beyond_the_threshold_is_a_stall() {
        let mut stalls = Stalls::default();
        stalls.look(us(0), us(300), Duration::ZERO);
        stalls.look(us(1_000), us(1_301), Duration::ZERO);
        stalls.look(us(3_000), us(3_800), Duration::from_us(500));
        let expected = Stall {
            from: us(1_000),
            until: us(1_301),
        };
        assert_eq!(stalls.found, [expected]);
    }

    /// Oracle: by hand; a stall from 10 to 15 ms is felt until 20 ms.
    #[test]
    fn a_stall_touches_what_overlaps_it_or_follows() {
        let mut stalls = Stalls::default();
        stalls.look(us(10_000), us(15_000), Duration::ZERO);
        assert!(stalls.touch(us(5_000), us(10_000)) && stalls.touch(us(12_000), us(13_000)));
        assert!(stalls.touch(us(20_000), us(30_000)));
        assert!(!stalls.touch(us(5_000), us(9_000)) && !stalls.touch(us(20_001), us(30_000)));
        stalls.look(us(40_000), us(41_000), Duration::ZERO);
        for (from, until, expected) in [
            (5_000, 9_000, 0),
            (5_000, 12_000, 2_000),
            (12_000, 50_000, 8_000 + 2_000),
            (19_000, 41_000, 1_000 + 1_000),
        ] {
            let within = stalls.within(us(from), us(until));
            assert_eq!(within, Duration::from_us(expected), "{from} to {until}");
        }
    }

    proptest! {
        /// Oracle: the definition, stall by stall.
        #[test]
        fn many_stalls_of_two_watchers_touch_as_each_of_them_does(
            gaps in prop::collection::vec((0_i64..2_000, 200_i64..1_000, any::<bool>()), 0..40),
            spans in prop::collection::vec((0_i64..60_000, 0_i64..2_000), 1..40),
        ) {
            let mut watchers = [Stalls::default(), Stalls::default()];
            let mut from = 0;
            for (distance, length, is_second) in gaps {
                from += distance;
                let watcher = &mut watchers[usize::from(is_second)];
                watcher.look(us(from), us(from + length), Duration::ZERO);
            }
            let [mut stalls, other] = watchers;
            stalls.extend(other);
            let felt = stalls.felt.windows(2);
            prop_assert!(felt.into_iter().all(|pair| pair[0].until < pair[1].from));
            for (from, length) in spans {
                let (from, until) = (us(from), us(from + length));
                let touches = |stall: &Stall| {
                    let worked_off = stall.until + (stall.until - stall.from);
                    stall.from <= until && from <= worked_off
                };
                prop_assert_eq!(stalls.touch(from, until), stalls.found.iter().any(touches));
            }
        }
    }

    #[test]
    fn gaps_beyond_the_limit_are_counted() {
        let mut stalls = Stalls::default();
        for _ in 0..=KEPT {
            stalls.look(us(0), us(5_000), Duration::ZERO);
        }
        assert_eq!((stalls.found.len(), stalls.dropped), (KEPT, 1));
    }
}
