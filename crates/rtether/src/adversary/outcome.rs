//! What a search over all streams has found, beside the result of a check.

use rtether_model::quantity::Duration;
use rtether_report::text::plural;

use super::effort::{Effort, Progress, Stage};
use super::{Found, Hunt, Plant};
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
    /// Streams for which there was no time to simulate the whole plant with the worst that was found.
    pub unconfirmed: usize,
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
        let unconfirmed = match self.unconfirmed {
            0 => String::new(),
            more => format!(", {more} more not confirmed in time"),
        };
        format!(
            "{plants} tried (seed {}{cut}): {} of {} found take longer than any packet of the run{unconfirmed}",
            self.seed,
            self.later,
            plural(self.streams, "stream"),
        )
    }
}

/// Searches all streams of a scenario, and simulates what is found in the whole plant, for as long as
/// `progress` says. `bounds` and `seen` are those of [`Hunt::new`].
pub fn attack(
    scenario: &Scenario,
    (bounds, seen): (&[Option<Duration>], &[Duration]),
    progress: &Progress,
) -> Outcome {
    let hunt = Hunt::new(Plant::of(scenario), bounds, seen);
    attack_until(hunt, (scenario.run.seed, seen), progress, &|_| false)
}

/// Like [`attack`] with a search of the caller, but ends when `is_done` says so of the largest latencies
/// that the whole plant has shown, by stream.
pub(crate) fn attack_until(
    mut hunt: Hunt<'_>,
    (seed, seen): (u64, &[Duration]),
    progress: &Progress,
    is_done: &dyn Fn(&[Option<Duration>]) -> bool,
) -> Outcome {
    let most = match progress.effort() {
        Effort::Plants(plants) => plants,
        Effort::Time(_) => u64::MAX,
    };
    let searches = || progress.goes_on(Stage::Search);
    let confirms = || progress.goes_on(Stage::Confirm);
    // A run of the whole plant that is cut short was in vain.
    let runs = || !progress.is_cancelled();
    while hunt.tried() < most && !is_done(&hunt.shown()) && progress.begin_round() {
        let before = hunt.tried();
        while hunt.tried() < most && hunt.step(most - hunt.tried(), &searches) > 0 {
            progress.note(hunt.tried(), hunt.late());
            hunt.confirm_urgent(&searches, &runs);
            if is_done(&hunt.shown()) {
                break;
            }
        }
        hunt.confirm(&confirms, &runs);
        if hunt.tried() == before {
            break;
        }
    }
    let tried = hunt.tried();
    let unconfirmed = hunt.unconfirmed();
    let found = hunt.results();
    let pairs = found.iter().zip(seen);
    let later =
        pairs.filter(|(found, seen)| found.as_ref().is_some_and(|own| own.latency > **seen));
    Outcome {
        search: Search {
            tried,
            seed,
            is_cut: progress.is_cancelled(),
            streams: found.iter().flatten().count(),
            later: later.count(),
            unconfirmed,
        },
        found,
    }
}
