//! The searches for one stream, and what the whole plant has shown of it.

use std::cmp::Reverse;

use rtether_model::quantity::Duration;

use super::climb::Climb;
use super::found::{Found, Shown};
use super::{GoesOn, Plant, Target};

/// Plants that a search tries in its first batch, and at most in a later one.
pub(super) const FIRST: u64 = 16;
const MOST: u64 = 64;
/// Events that a search may simulate in a batch, tens of milliseconds of work.
const EVENTS: u64 = 200_000;

/// The searches for one stream.
#[derive(Debug)]
pub(super) struct Stream<'a> {
    pub(super) target: Target,
    pub(super) deadline: Option<Duration>,
    pub(super) bound: Option<Duration>,
    /// Largest latency that an ordinary run has shown.
    pub(super) seen: Duration,
    pub(super) climbs: Vec<Climb<'a>>,
    pub(super) batches: u64,
    pub(super) restarts: usize,
    /// The worst that the whole plant has shown.
    confirmed: Option<Found>,
    /// Latency in the part that was last tried in the whole plant.
    looked: Duration,
}

impl Stream<'_> {
    pub(super) const fn new(
        target: Target,
        deadline: Option<Duration>,
        bound: Option<Duration>,
        seen: Duration,
    ) -> Self {
        Self {
            target,
            deadline,
            bound,
            seen,
            climbs: Vec::new(),
            batches: 0,
            restarts: 0,
            confirmed: None,
            looked: Duration::ZERO,
        }
    }

    /// Returns the largest latency found so far, before it is confirmed in the whole plant.
    pub(super) fn found(&self) -> Duration {
        self.climbed().max(self.seen).max(self.shown())
    }

    /// Returns the largest latency of the searches that go on.
    fn climbed(&self) -> Duration {
        let best = self.climbs.iter().filter_map(Climb::best);
        let best = best.map(|best| Duration::from_ps(best.latency)).max();
        best.unwrap_or_default()
    }

    /// Returns the largest latency that the whole plant has shown.
    fn shown(&self) -> Duration {
        let latency = self.confirmed.as_ref().map(|found| found.latency);
        latency.unwrap_or_default()
    }

    /// Returns whether a packet was found late.
    pub(super) fn is_late(&self) -> bool {
        self.deadline.is_some_and(|deadline| self.found() > deadline)
    }

    /// Returns how often its turn comes: the larger, the more rarely.
    pub(super) fn weight(&self) -> u64 {
        match (self.deadline, self.bound) {
            (Some(_), _) if self.is_late() => 4,
            (Some(deadline), Some(bound)) if bound <= deadline => 16,
            (Some(_), _) => 1,
            (None, _) => 8,
        }
    }

    /// Returns how near it is to its deadline, in millionths; 0 without one.
    pub(super) fn nearness(&self) -> i128 {
        let part = |deadline: Duration| {
            i128::from(self.found().as_ps()) * 1_000_000 / i128::from(deadline.as_ps().max(1))
        };
        self.deadline.map_or(0, part)
    }

    /// Returns how many plants each search tries next.
    pub(super) fn steps(&self) -> u64 {
        let events = self.climbs.iter().filter_map(Climb::best);
        let events = events.map(|best| best.events).max();
        events.map_or(FIRST, |events| (EVENTS / events.max(1)).clamp(2, MOST))
    }

    /// Returns whether something was found that takes longer than what any run of the whole plant has
    /// shown.
    pub(super) fn is_unconfirmed(&self) -> bool {
        self.climbed() > self.seen.max(self.shown()).max(self.looked)
    }

    /// Returns whether that should be simulated before the search goes on, so that an interrupted one
    /// has it: the first that was found, and the first that is late.
    pub(super) fn is_urgent(&self) -> bool {
        let is_shown = self.deadline.is_none_or(|deadline| self.shown() > deadline);
        self.is_unconfirmed() && (self.looked == Duration::ZERO || self.is_late() && !is_shown)
    }

    /// Simulates the worst that was found in the whole plant; `index` is the position of the stream.
    /// Returns the latency it had in the part, and what the whole plant shows; `None` if the search ends.
    pub(super) fn simulated(
        &self,
        index: usize,
        plant: &Plant<'_>,
        goes_on: GoesOn<'_>,
    ) -> Option<(Duration, Option<Shown>)> {
        let mut climbs: Vec<&Climb<'_>> = self.climbs.iter().collect();
        climbs.sort_by_key(|climb| Reverse(climb.best().map_or(0, |best| best.latency)));
        let mut best = climbs.into_iter().take(2);
        let shown = best.find_map(|climb| {
            let shown = Shown::of(plant, climb, goes_on)?;
            shown.latency(index).is_some().then_some(shown)
        });
        (shown.is_some() || goes_on()).then(|| (self.climbed(), shown))
    }

    /// Notes that what took this long in the part was simulated in the whole plant.
    pub(super) fn look(&mut self, looked: Duration) {
        self.looked = self.looked.max(looked);
    }

    /// Keeps what a run of the whole plant shows of this stream, at position `index`, if it takes longer
    /// than any before: also of a run for another stream, if it takes longer than in the ordinary run.
    pub(super) fn keep(&mut self, index: usize, shown: &Shown, is_own: bool) {
        let known = if is_own { self.shown() } else { self.shown().max(self.seen) };
        if shown.latency(index) > Some(known) {
            self.confirmed = shown.found(self.target, index);
        }
    }

    /// Returns its latency; `None` as long as nothing was confirmed.
    pub(super) fn confirmed(&self) -> Option<Duration> {
        self.confirmed.as_ref().map(|found| found.latency)
    }

    /// Returns the worst that the whole plant has shown.
    pub(super) fn into_found(self) -> Option<Found> {
        self.confirmed
    }
}
