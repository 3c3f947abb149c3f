//! What a search over all streams has found, beside the result of a check.

use std::sync::atomic::AtomicBool;

use rtether_model::quantity::Duration;

use super::{Found, Hunt, Plant, Varied};
use crate::scenario::Scenario;

/// Result of a search over all streams of a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Plants that were tried.
    pub tried: u64,
    /// Seed of the search.
    pub seed: u64,
    /// What was varied.
    pub varied: Varied,
    /// Whether the user ended it early: then the same number of plants need not give the same.
    pub is_cut: bool,
    /// The worst for each stream, in the order of the record; `None` where nothing was tried or
    /// nothing arrived.
    pub found: Vec<Option<Found>>,
}

impl Outcome {
    /// Returns the stream whose packets were found nearest to their deadline, or furthest beyond it.
    pub fn worst(&self, scenario: &Scenario) -> Option<&Found> {
        let found = self.found.iter().flatten();
        let part = |found: &&Found| {
            let deadline = scenario.flows[found.target.flow.index()].deadline;
            let share = |deadline: Duration| {
                i128::from(found.latency.as_ps()) * 1_000_000_000 / i128::from(deadline.as_ps())
            };
            (deadline.map_or(0, share), found.latency)
        };
        // The first of equals.
        found.rev().max_by_key(part)
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
    Outcome {
        tried: hunt.tried(),
        seed: scenario.run.seed,
        varied: *hunt.varied(),
        is_cut: is_cut(),
        found: hunt.finish(),
    }
}
