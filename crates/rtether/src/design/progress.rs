//! How far a search for a design is.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::run;

/// Progress of a search, shared with a caller that may also end it with what it has found.
#[derive(Debug, Default)]
pub struct Progress {
    run: run::Progress,
    tried: AtomicUsize,
    best: Mutex<Best>,
}

/// The best design so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Best {
    /// Deadlines and sums that it proves.
    pub proved: usize,
    /// How many there are.
    pub of: usize,
    /// Largest quotient of a bound and its limit, in millionths; `None` if one has no bound.
    pub worst_ppm: Option<u64>,
}

impl Progress {
    /// Ends the search with what it has found.
    pub fn cancel(&self) {
        self.run.cancel();
    }

    /// Returns whether it was ended.
    pub fn is_cancelled(&self) -> bool {
        self.run.is_cancelled()
    }

    /// Returns the number of designs that were tried.
    pub fn trials(&self) -> usize {
        self.tried.load(Ordering::Relaxed)
    }

    /// Returns the best design so far.
    pub fn best(&self) -> Best {
        *self.best.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) const fn run(&self) -> &run::Progress {
        &self.run
    }

    pub(super) fn tried(&self) {
        self.tried.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn found(&self, best: Best) {
        *self.best.lock().unwrap_or_else(PoisonError::into_inner) = best;
    }
}
