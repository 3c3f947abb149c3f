//! Stalls of the host: times in which a core ran nothing of ours, whatever its priority.
//!
//! A virtual machine stands still while its host does something else, and firmware stops a real one
//! now and then. What is measured across a stall says nothing of the network, so such samples are
//! told apart and counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use rtether_model::quantity::{Duration, Instant};

use crate::clock::{Clock, to_std};
use crate::thread::Placement;

/// A watcher sleeps so long at a time.
const NAP: Duration = Duration::from_ms(1);
/// A nap that is so much too long was a stall. A real-time thread wakes up within a tenth of it.
pub const THRESHOLD: Duration = Duration::from_ms(1);
/// Above the priority of every measuring thread, so that these do not look like stalls.
const PRIORITY: u8 = 90;
/// Stalls that are remembered; more are counted only.
const STALLS_MAX: usize = 100_000;

/// A time in which a core stood still.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// The core.
    pub core: usize,
    /// From the last time the watcher was awake; the stall lies within.
    pub from: Instant,
    /// Until it was awake again.
    pub until: Instant,
}

/// What a watch has found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stalls {
    /// In the order of cores and times.
    pub stalls: Vec<Stall>,
    /// Whether the watchers had a real-time priority; without one, ordinary competition for a core
    /// looks like a stall.
    pub is_real_time: bool,
}

impl Stalls {
    /// Returns whether a stall touches a span of time.
    pub fn touch(&self, from: Instant, until: Instant) -> bool {
        self.stalls
            .iter()
            .any(|stall| stall.from <= until && from <= stall.until)
    }
}

/// One watching thread on each core.
#[derive(Debug)]
pub struct Watch {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<(Vec<Stall>, bool)>>,
}

impl Watch {
    /// Begins to watch all cores.
    pub fn start(clock: Clock) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let threads = (0..cores).map(|core| {
            let stop = Arc::clone(&stop);
            std::thread::spawn(move || watch(core, clock, &stop))
        });
        Self {
            threads: threads.collect(),
            stop,
        }
    }

    /// Ends the watch and returns what it has found.
    pub fn finish(mut self) -> Stalls {
        self.stop.store(true, Ordering::Relaxed);
        let mut found = Stalls {
            stalls: Vec::new(),
            is_real_time: true,
        };
        for thread in self.threads.drain(..) {
            if let Ok((stalls, is_real_time)) = thread.join() {
                found.stalls.extend(stalls);
                found.is_real_time &= is_real_time;
            }
        }
        found
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn watch(core: usize, clock: Clock, stop: &AtomicBool) -> (Vec<Stall>, bool) {
    let placement = Placement {
        core: Some(core),
        priority: Some(PRIORITY),
        lock_memory: false,
    };
    let is_real_time = placement.apply().is_ok();
    let mut stalls = Vec::new();
    let mut awake = clock.now();
    while !stop.load(Ordering::Relaxed) {
        std::thread::sleep(to_std(NAP));
        let now = clock.now();
        if now - awake > NAP + THRESHOLD && stalls.len() < STALLS_MAX {
            stalls.push(Stall {
                core,
                from: awake,
                until: now,
            });
        }
        awake = now;
    }
    (stalls, is_real_time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stall_touches_what_overlaps_it() {
        let at = |ms| Instant::ZERO + Duration::from_ms(ms);
        let stall = Stall {
            core: 0,
            from: at(10),
            until: at(17),
        };
        let stalls = Stalls {
            stalls: vec![stall],
            is_real_time: true,
        };
        assert!(stalls.touch(at(5), at(10)) && stalls.touch(at(12), at(13)));
        assert!(!stalls.touch(at(5), at(9)) && !stalls.touch(at(18), at(20)));
    }
}
