//! How long a search over all streams goes on, and how far it is.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration as WallDuration, Instant as WallInstant};

use crate::run;

/// How long to search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// This much real time.
    Time(WallDuration),
    /// This many plants, which find the same on any machine.
    Plants(u64),
}

impl Effort {
    /// Reads a time as in scenarios, or a number of plants.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn parse(text: &str) -> Result<Self, String> {
        if let Ok(plants) = text.parse() {
            return Ok(Self::Plants(plants));
        }
        let time = crate::scenario::time(text)?;
        let time = u64::try_from(time.as_ps() / 1_000).unwrap_or(0);
        Ok(Self::Time(WallDuration::from_nanos(time)))
    }
}

/// What a search is about to do when it asks whether there is time for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// To try a plant.
    Search,
    /// To simulate the whole plant with what was found.
    Confirm,
}

/// A search under way, seen by its threads and by those who show it or end it.
#[derive(Debug)]
pub struct Progress {
    effort: Effort,
    begun: WallInstant,
    /// When the search gives way to the confirmation of what it has found, nanoseconds from the
    /// beginning.
    share: AtomicU64,
    is_cancelled: AtomicBool,
    /// The work that this is a part of, which may be asked to end, too.
    whole: Option<Arc<run::Progress>>,
    tried: AtomicU64,
    late: AtomicUsize,
}

impl Progress {
    /// Begins now.
    pub fn begin(effort: Effort) -> Self {
        Self {
            effort,
            begun: WallInstant::now(),
            share: AtomicU64::new(0),
            is_cancelled: AtomicBool::new(false),
            whole: None,
            tried: AtomicU64::new(0),
            late: AtomicUsize::new(0),
        }
    }

    /// Returns this as a part of other work, with which it ends.
    #[must_use]
    pub fn within(self, whole: Arc<run::Progress>) -> Self {
        Self { whole: Some(whole), ..self }
    }

    /// Asks the search to end with what it has confirmed.
    pub fn cancel(&self) {
        self.is_cancelled.store(true, Ordering::Relaxed);
    }

    /// Returns whether it was asked to end.
    pub fn is_cancelled(&self) -> bool {
        let whole = self.whole.as_ref();
        self.is_cancelled.load(Ordering::Relaxed) || whole.is_some_and(|own| own.is_cancelled())
    }

    /// Returns how many plants were tried so far.
    pub fn tried(&self) -> u64 {
        self.tried.load(Ordering::Relaxed)
    }

    /// Returns how many streams were found late so far.
    pub fn late(&self) -> usize {
        self.late.load(Ordering::Relaxed)
    }

    /// Returns the real time since the beginning.
    pub fn elapsed(&self) -> WallDuration {
        self.begun.elapsed()
    }

    /// Returns the effort.
    pub const fn effort(&self) -> Effort {
        self.effort
    }

    pub(super) fn note(&self, tried: u64, late: usize) {
        self.tried.store(tried, Ordering::Relaxed);
        self.late.store(late, Ordering::Relaxed);
    }

    /// Begins another round of search and confirmation; returns whether there is time for it.
    ///
    /// Two thirds of what is left are for the search. Confirmation may need less than the rest; then
    /// there is another round, until hardly anything is left.
    pub(super) fn begin_round(&self) -> bool {
        let Effort::Time(limit) = self.effort else {
            return !self.is_cancelled();
        };
        let elapsed = self.elapsed();
        let left = limit.saturating_sub(elapsed);
        let share = u64::try_from((elapsed + left / 3 * 2).as_nanos());
        self.share.store(share.unwrap_or(u64::MAX), Ordering::Relaxed);
        left > limit / 20 && !self.is_cancelled()
    }

    /// Returns whether there is time for this.
    pub(super) fn goes_on(&self, stage: Stage) -> bool {
        if self.is_cancelled() {
            return false;
        }
        match (self.effort, stage) {
            (Effort::Plants(_), _) => true,
            (Effort::Time(limit), Stage::Confirm) => self.elapsed() < limit,
            (Effort::Time(_), Stage::Search) => {
                self.elapsed().as_nanos() < u128::from(self.share.load(Ordering::Relaxed))
            }
        }
    }
}
