//! How far a search for a design is.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use rtether_report::text::plural;

use crate::run;

/// Progress of a search, shared with a caller that may also end it with what it has found.
#[derive(Debug, Default)]
pub struct Progress {
    run: run::Progress,
    tried: AtomicUsize,
    best: Mutex<Best>,
    kept: Mutex<Option<usize>>,
    listener: Listener,
}

/// What is called after each trial.
#[derive(Default)]
struct Listener(Option<Tell>);

type Tell = Box<dyn Fn(&Progress) + Send + Sync>;

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Listener").field(&self.0.is_some()).finish()
    }
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
    /// Returns one that is told to `tell` after each design that was tried, on the thread that tried it:
    /// for callers without a thread that looks.
    pub fn telling(tell: impl Fn(&Self) + Send + Sync + 'static) -> Self {
        Self { listener: Listener(Some(Box::new(tell))), ..Self::default() }
    }

    /// Returns how far it is, in words: `151 of 160 deadlines proved, worst bound 1.07 times its
    /// deadline, 312 designs tried`, or `7 flows and costs left, 312 designs tried`.
    pub fn words(&self) -> String {
        let tried = plural(self.trials(), "design");
        if let Some(left) = self.burdens() {
            return format!("{left} flows and costs left, {tried} tried");
        }
        let best = self.best();
        let worst = match best.worst_ppm {
            Some(ppm) => {
                format!("{}.{:02} times its deadline", ppm / 1_000_000, ppm / 10_000 % 100)
            }
            None => "none".to_owned(),
        };
        let Best { proved, of, .. } = best;
        format!("{proved} of {of} deadlines proved, worst bound {worst}, {tried} tried")
    }

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

    /// Returns how many flows and costs an explanation still has; `None` if none is searched for, or none
    /// was tried.
    pub fn burdens(&self) -> Option<usize> {
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) const fn run(&self) -> &run::Progress {
        &self.run
    }

    pub(super) fn tried(&self) {
        self.tried.fetch_add(1, Ordering::Relaxed);
        if let Listener(Some(tell)) = &self.listener {
            tell(self);
        }
    }

    pub(super) fn found(&self, best: Best) {
        *self.best.lock().unwrap_or_else(PoisonError::into_inner) = best;
    }

    pub(super) fn kept(&self, burdens: usize) {
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(burdens);
    }
}
