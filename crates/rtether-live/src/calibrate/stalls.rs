//! Notices when the whole machine, or a core, stands still.
//!
//! One thread a core wakes every few milliseconds, above the priority of what is measured. When it
//! wakes much too late, nothing on that core ran; what was measured meanwhile is the machine's and
//! not the stack's. Stalls shorter than its period may go unnoticed.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::stamp;
use crate::thread::Placement;

/// Time between two looks.
const PERIOD: Duration = Duration::from_millis(4);
/// Later than so is a stall.
const LATE: Duration = Duration::from_micros(500);
/// Stalls that are kept.
const MOST: usize = 100_000;

/// A time in which nothing ran, in nanoseconds of the real-time clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// Last time that all was well.
    pub from: i64,
    /// First time that all was well again.
    pub until: i64,
}

/// Watches from one core until `stop`.
pub(super) fn watch(placement: Placement, stop: &AtomicBool) -> Vec<Stall> {
    // Without the right the watcher waits like other tasks, and sees more than stalls.
    drop(placement.apply());
    let mut stalls = Vec::new();
    let (mut before, mut from) = (Instant::now(), stamp::now());
    while !stop.load(Ordering::Relaxed) {
        std::thread::sleep(PERIOD);
        let (now, until) = (Instant::now(), stamp::now());
        if now - before > PERIOD + LATE && stalls.len() < MOST {
            stalls.push(Stall { from, until });
        }
        (before, from) = (now, until);
    }
    stalls
}

/// Returns whether a span touches one of the stalls, which are in order for each watcher.
pub(super) fn touches(watchers: &[Vec<Stall>], from: i64, until: i64) -> bool {
    watchers.iter().any(|stalls| {
        let next = stalls.partition_point(|stall| stall.until < from);
        stalls.get(next).is_some_and(|stall| stall.from <= until)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_touches_a_stall_is_found() {
        // Oracle: intervals on paper.
        let stall = |from, until| Stall { from, until };
        let watchers = [vec![stall(10, 20), stall(50, 60)], vec![stall(100, 110)]];
        for (from, until, expected) in [
            (0, 9, false),
            (0, 10, true),
            (12, 15, true),
            (20, 30, true),
            (21, 49, false),
            (21, 70, true),
            (105, 106, true),
            (111, 900, false),
        ] {
            assert_eq!(
                touches(&watchers, from, until),
                expected,
                "{from} to {until}"
            );
        }
    }
}
