//! Rests of a spinning thread of real-time priority, which the kernel would otherwise throttle for
//! 50 ms of each second (`sched_rt_runtime_us`).
//!
//! Unlike a throttled thread it does not stand still: it sleeps until a datagram arrives, handles
//! it, and continues until it has slept long enough in total. A datagram is then late by a wake-up,
//! not by a rest. A thread that is busy for more than two thirds of that time does not complete its
//! rest within the second, and is throttled as before.

use rtether_rtps::time::{Duration, Instant};

use crate::thread::is_real_time;
use crate::wait::{REST, SPIN_MAX};

/// Tracks when a thread has slept.
#[derive(Debug)]
pub(super) struct Rests {
    awake_since: Instant,
    /// Time slept in the current rest.
    slept: Duration,
    /// Whether the kernel may throttle the thread: without real-time priority no rest is needed.
    is_needed: fn() -> bool,
}

/// Converts from the unit of the meter, whose limits apply here too.
const fn ns(of: rtether_model::quantity::Duration) -> Duration {
    Duration::from_ns(of.as_ps() / 1_000)
}

impl Rests {
    pub(super) fn new(now: Instant) -> Self {
        Self { awake_since: now, slept: Duration::ZERO, is_needed: is_real_time }
    }

    /// Returns whether the thread should sleep instead of spin.
    pub(super) fn is_due(&mut self, now: Instant) -> bool {
        if now - self.awake_since < ns(SPIN_MAX) {
            return false;
        }
        // Checked once per rest: the priority may have changed.
        if self.slept == Duration::ZERO && !(self.is_needed)() {
            self.awake_since = now;
            return false;
        }
        true
    }

    /// Records that the thread has slept.
    pub(super) fn on_slept(&mut self, from: Instant, until: Instant) {
        if until - self.awake_since < ns(SPIN_MAX) {
            return;
        }
        self.slept = self.slept + (until - from);
        if self.slept >= ns(REST) {
            self.awake_since = until;
            self.slept = Duration::ZERO;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    fn rests(is_needed: fn() -> bool) -> Rests {
        Rests { is_needed, ..Rests::new(Instant::ZERO) }
    }

    /// Simulates a thread for ten seconds that is woken every `gap` while it sleeps, and then works
    /// for `work`; returns the least time slept in any second, and the longest time slept at once.
    fn run(gap: i64, work: i64) -> (i64, i64) {
        let mut rests = rests(|| true);
        let mut asleep: Vec<(i64, i64)> = Vec::new();
        let mut now = 0;
        while now < 10_000 * MS {
            if rests.is_due(Instant::from_ns(now)) {
                asleep.push((now, now + gap));
                rests.on_slept(Instant::from_ns(now), Instant::from_ns(now + gap));
                now += gap + work;
            } else {
                now += MS / 10;
            }
        }
        let slept_in = |begin: i64| -> i64 {
            let end = begin + 1_000 * MS;
            let parts = asleep.iter();
            parts.map(|(from, until)| ((*until).min(end) - (*from).max(begin)).max(0)).sum()
        };
        let least = (0..9_000).map(|begin| slept_in(begin * MS)).min();
        let longest = asleep.iter().map(|(from, until)| until - from).max();
        (least.unwrap(), longest.unwrap())
    }

    #[test]
    fn a_thread_sleeps_for_the_share_of_each_second_that_the_kernel_would_take() {
        // Oracle: `sched_rt_runtime_us` is 950 000 of 1 000 000 us.
        for (gap, work) in [(60 * MS, 0), (MS, 0), (MS, MS / 10), (MS / 10, MS / 10), (7 * MS, MS)]
        {
            let (least, longest) = run(gap, work);
            assert!(least >= 50 * MS, "{least} ns with {gap} and {work}");
            // It wakes for every datagram.
            assert!(longest <= gap);
        }
    }

    #[test]
    fn a_thread_without_priority_does_not_rest() {
        let mut rests = rests(|| false);
        for ms in 0..5_000 {
            assert!(!rests.is_due(Instant::from_ns(ms * MS)));
        }
    }
}
