//! Where threads wait until there may be something for them.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// A bell: it rings for all who wait at it, and they look for themselves.
#[derive(Debug, Default)]
pub(super) struct Bell {
    state: Mutex<State>,
    rung: Condvar,
}

#[derive(Debug, Default)]
struct State {
    rings: u64,
    waiting: usize,
}

impl Bell {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns how often it has rung: to be asked before the look that decides to wait.
    pub(super) fn rings(&self) -> u64 {
        self.lock().rings
    }

    pub(super) fn ring(&self) {
        let mut state = self.lock();
        state.rings += 1;
        if state.waiting > 0 {
            self.rung.notify_all();
        }
    }

    /// Waits until it has rung more often than `seen`, but not after `until`; returns whether it
    /// has.
    pub(super) fn wait(&self, seen: u64, until: Instant) -> bool {
        let mut state = self.lock();
        while state.rings == seen {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            state.waiting += 1;
            let waited = self.rung.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
            state.waiting -= 1;
        }
        true
    }
}
