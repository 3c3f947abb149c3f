//! What a search over all streams has found, beside the result of a check.

use std::sync::atomic::AtomicBool;

use rtether_model::quantity::Duration;

use super::{Found, Hunt, Plant};
use crate::report::text::plural;
use crate::scenario::Scenario;

/// How a search over all streams of a scenario went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Search {
    /// Plants that were tried.
    pub tried: u64,
    /// Seed of the search.
    pub seed: u64,
    /// Whether the user ended it early: then the same number of plants need not give the same.
    pub is_cut: bool,
    /// Streams for which something was found.
    pub streams: usize,
    /// Those of them that were found later than a run had shown.
    pub later: usize,
}

/// Result of a search over all streams of a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// How it went.
    pub search: Search,
    /// The worst for each stream, in the order of the record; `None` where nothing was tried or
    /// nothing arrived.
    pub found: Vec<Option<Found>>,
}

impl Search {
    /// Returns it in words: `4312 plants tried (seed 1): 40 of 160 streams take longer than in the run`.
    pub fn words(&self) -> String {
        let plants = match self.tried {
            1 => "1 plant".to_owned(),
            tried => format!("{tried} plants"),
        };
        let cut = if self.is_cut { ", interrupted" } else { "" };
        format!(
            "{plants} tried (seed {}{cut}): {} of {} found take longer than any packet of the run",
            self.seed,
            self.later,
            plural(self.streams, "stream"),
        )
    }
}

/// Searches all streams of a scenario until `most` plants were tried, or `goes_on` says no between two
/// batches: it may look at a clock. `bounds` and `seen` are those of [`Hunt::new`].
pub fn attack(
    scenario: &Scenario,
    (bounds, seen): (&[Option<Duration>], &[Duration]),
    most: u64,
    is_cancelled: &AtomicBool,
    mut goes_on: impl FnMut(&Hunt<'_>) -> bool,
) -> Outcome {
    let mut hunt = Hunt::new(Plant::of(scenario), bounds, seen);
    let is_cut = || is_cancelled.load(std::sync::atomic::Ordering::Relaxed);
    while hunt.tried() < most && !is_cut() && goes_on(&hunt) {
        if hunt.step(most - hunt.tried(), is_cancelled) == 0 {
            break;
        }
    }
    let is_cut = is_cut();
    let tried = hunt.tried();
    let found = hunt.finish();
    let pairs = found.iter().zip(seen);
    let later =
        pairs.filter(|(found, seen)| found.as_ref().is_some_and(|own| own.latency > **seen));
    Outcome {
        search: Search {
            tried,
            seed: scenario.run.seed,
            is_cut,
            streams: found.iter().flatten().count(),
            later: later.count(),
        },
        found,
    }
}
