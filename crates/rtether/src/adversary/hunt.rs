//! The search over all streams of a plant, in batches.
//!
//! A batch is the same on any machine: which streams it takes depends only on what was found before,
//! and each of its parts has its own random numbers. Streams whose worst case is open come first:
//! those with a deadline that was kept and is not proved, the ones nearest to it before the others.

use std::cmp::Reverse;
use std::sync::Arc;

use rayon::prelude::*;
use rtether_model::quantity::Duration;

use super::climb::Climb;
use super::found::{Found, Shown};
use super::part::{Part, Ways};
use super::stream::{FIRST, Stream};
use super::varied::Varied;
use super::window::windows;
use super::{GoesOn, Plant, Target};
use crate::dice::Dice;

/// Streams of a batch.
const STREAMS: usize = 16;
/// Searches for a stream in each window: one for each kind of plan.
const ISLANDS: usize = 2;
/// Streams that are confirmed between two batches.
const URGENT: usize = 4;
/// Events that a search for a single stream may simulate, a second of work.
const LIMIT: u64 = 5_000_000;
/// Above that many streams only those with a deadline are confirmed in the whole plant.
const CONFIRMED: usize = 100;
/// After that many batches the search that found least begins anew.
const PATIENCE: u64 = 8;

/// A search over the streams of a plant.
#[derive(Debug)]
pub struct Hunt<'a> {
    plant: Plant<'a>,
    ways: Ways<'a>,
    varied: Varied,
    streams: Vec<Stream<'a>>,
    tried: u64,
}

impl<'a> Hunt<'a> {
    /// Prepares a search. `bounds` and `seen` have the proved bound of each stream, if there is one,
    /// and the largest latency of an ordinary run, in the order of records.
    pub fn new(plant: Plant<'a>, bounds: &[Option<Duration>], seen: &[Duration]) -> Self {
        let all = Target::all(plant.flows).into_iter().enumerate();
        let streams = all.map(|(index, target)| {
            let deadline = plant.flows[target.flow.index()].deadline;
            let bound = bounds.get(index).copied().flatten();
            let seen = seen.get(index).copied().unwrap_or_default();
            Stream::new(target, deadline, bound, seen)
        });
        Self {
            streams: streams.collect(),
            ways: Ways::new(plant.network, plant.flows),
            varied: Varied::of(plant.network, plant.flows),
            plant,
            tried: 0,
        }
    }

    /// Searches for delays above these limits, by stream, in place of those above deadlines. The plant stays
    /// as it is: ports may select by deadline.
    #[must_use]
    pub fn aimed_at(mut self, limits: &[Option<Duration>]) -> Self {
        for (stream, limit) in self.streams.iter_mut().zip(limits) {
            stream.deadline = *limit;
        }
        self
    }

    /// Returns how many plants were tried.
    pub const fn tried(&self) -> u64 {
        self.tried
    }

    /// Returns what is varied.
    pub const fn varied(&self) -> &Varied {
        &self.varied
    }

    /// Returns the streams with a deadline that were found late so far.
    pub fn late(&self) -> usize {
        self.streams.iter().filter(|own| own.is_late()).count()
    }

    /// Returns the largest latency of each stream that the whole plant has shown in this search.
    pub fn shown(&self) -> Vec<Option<Duration>> {
        self.streams.iter().map(Stream::confirmed).collect()
    }

    /// Returns the streams whose worst was not simulated in the whole plant.
    pub fn unconfirmed(&self) -> usize {
        self.waiting(Stream::is_unconfirmed).len()
    }

    /// Tries a batch of plants, `most` at most; returns how many: none if nothing is open, or the search
    /// ends.
    pub fn step(&mut self, most: u64, goes_on: GoesOn<'_>) -> u64 {
        if !self.varied.is_open() || self.streams.is_empty() {
            return 0;
        }
        let chosen = self.chosen();
        for &index in &chosen {
            self.prepare(index);
        }
        let tried = self.search(&chosen, most, goes_on);
        self.tried += tried;
        tried
    }

    /// Searches for these streams, in `most` plants at most; returns how many were tried.
    fn search(&mut self, chosen: &[usize], most: u64, goes_on: GoesOn<'_>) -> u64 {
        let seed = self.plant.run.seed;
        let mut left = most;
        let mut work: Vec<(&mut Climb<'a>, u64, Dice, usize)> = Vec::new();
        for (index, stream) in self.streams.iter_mut().enumerate() {
            if !chosen.contains(&index) {
                continue;
            }
            let (steps, batch, restarts) = (stream.steps(), stream.batches, stream.restarts);
            stream.batches += 1;
            for (number, climb) in stream.climbs.iter_mut().enumerate() {
                let steps = steps.min(left);
                if steps == 0 {
                    break;
                }
                left -= steps;
                let dice = Dice::of(&[seed, index as u64, batch, number as u64]);
                let plan = if restarts == 0 { number % ISLANDS } else { ISLANDS + restarts };
                work.push((climb, steps, dice, plan));
            }
        }
        let before: u64 = work.iter().map(|(climb, ..)| climb.tried()).sum();
        work.par_iter_mut().for_each(|(climb, steps, dice, plan)| {
            if goes_on() {
                climb.run((*steps, *plan), dice, seed, goes_on);
            }
        });
        let after: u64 = work.iter().map(|(climb, ..)| climb.tried()).sum();
        after - before
    }

    /// Simulates in the whole plant the worst of each stream, those that matter most first; `begins` says
    /// whether there is time for another one, and `goes_on` within one. In plants of many streams, those
    /// without a deadline are left out.
    pub fn confirm(&mut self, begins: GoesOn<'_>, goes_on: GoesOn<'_>) {
        let waiting = self.waiting(Stream::is_unconfirmed);
        self.simulate(&waiting, begins, goes_on);
    }

    /// Like [`Self::confirm`], for a few streams of which nothing was confirmed, or nothing late: what an
    /// interrupted search has.
    pub fn confirm_urgent(&mut self, begins: GoesOn<'_>, goes_on: GoesOn<'_>) {
        let mut urgent = self.waiting(Stream::is_urgent);
        urgent.truncate(URGENT);
        self.simulate(&urgent, begins, goes_on);
    }

    /// Returns the streams for which this holds and that are confirmed at all, those that matter most
    /// first.
    fn waiting(&self, is_waiting: impl Fn(&Stream<'a>) -> bool) -> Vec<usize> {
        let is_large = self.streams.len() > CONFIRMED;
        // Without a deadline nothing hangs on it, and each takes a run of the whole plant.
        let is_left_out = |own: &Stream<'_>| is_large && own.deadline.is_none();
        let all = self.streams.iter().enumerate();
        let waiting = all.filter(|(_, own)| !is_left_out(own) && is_waiting(own));
        let mut waiting: Vec<usize> = waiting.map(|(index, _)| index).collect();
        waiting.sort_by_cached_key(|&index| (Reverse(self.streams[index].nearness()), index));
        waiting
    }

    /// Simulates the worst of these streams in the whole plant, in this order.
    fn simulate(&mut self, waiting: &[usize], begins: GoesOn<'_>, goes_on: GoesOn<'_>) {
        for next in waiting.chunks(rayon::current_num_threads()) {
            if !begins() {
                return;
            }
            let (streams, plant) = (&self.streams, &self.plant);
            let shown = next.par_iter();
            let shown = shown.map(|&index| streams[index].simulated(index, plant, goes_on));
            let shown: Vec<_> = shown.collect();
            for (&own, shown) in next.iter().zip(shown) {
                let Some((looked, shown)) = shown else {
                    continue;
                };
                self.streams[own].look(looked);
                let Some(shown) = shown else { continue };
                for (index, stream) in self.streams.iter_mut().enumerate() {
                    stream.keep(index, &shown, index == own);
                }
            }
        }
    }

    /// Returns the streams of the next batch.
    fn chosen(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.streams.len()).collect();
        order.sort_by_cached_key(|&index| {
            let own = &self.streams[index];
            ((own.batches + 1) * own.weight(), -own.nearness(), index)
        });
        order.truncate(STREAMS);
        order
    }

    /// Gives a stream its searches, or lets the one that found least begin anew.
    fn prepare(&mut self, index: usize) {
        let is_drawn = self.varied.is_drawn();
        let own = &mut self.streams[index];
        if own.climbs.is_empty() {
            let part = Part::new(&self.ways, own.target.flow, own.target.listener);
            let part = Arc::new(part);
            for window in windows(&part, self.plant.run, span(own.bound, own.seen, own.deadline)) {
                for _ in 0..ISLANDS {
                    own.climbs.push(Climb::new(Arc::clone(&part), window, is_drawn));
                }
            }
        } else if own.batches.is_multiple_of(PATIENCE) && own.climbs.len() > 1 {
            let found = |climb: &Climb<'_>| climb.best().map_or(0, |best| best.latency);
            let least = (0..own.climbs.len()).min_by_key(|&at| found(&own.climbs[at]));
            if let Some(least) = least {
                own.restarts += 1;
                own.climbs[least].restart();
            }
        }
    }

    /// Returns the worst that the whole plant has shown for each stream; `None` where nothing was
    /// confirmed that takes longer than an ordinary run has shown.
    pub fn results(self) -> Vec<Option<Found>> {
        self.streams.into_iter().map(Stream::into_found).collect()
    }
}

/// Returns about how long a packet takes at most.
fn span(bound: Option<Duration>, seen: Duration, deadline: Option<Duration>) -> Duration {
    let seen = (seen * 8).max(deadline.unwrap_or_default()).max(Duration::from_us(20));
    bound.map_or(seen, |bound| bound.min(seen))
}

/// Searches for releases that delay one stream, in `steps` plants. `None` if the plant cannot be
/// simulated, nothing arrives, or channels are granted, which decides when flows begin.
pub fn search(
    plant: Plant<'_>,
    target: Target,
    bound: Option<Duration>,
    steps: u64,
) -> Option<Found> {
    let ways = Ways::new(plant.network, plant.flows);
    let varied = Varied::of(plant.network, plant.flows);
    let part = Arc::new(Part::new(&ways, target.flow, target.listener));
    let deadline = plant.flows.get(target.flow.index())?.deadline;
    let span = bound.unwrap_or_else(|| span(None, Duration::ZERO, deadline));
    let seed = plant.run.seed;
    let windows = windows(&part, plant.run, span);
    let mut climbs: Vec<(usize, Climb<'_>)> = Vec::new();
    for window in windows {
        climbs.extend((0..ISLANDS).map(|plan| {
            let climb = Climb::new(Arc::clone(&part), window, varied.is_drawn());
            (plan, climb)
        }));
    }
    let dice = |number: usize| Dice::of(&[seed, target.index(plant.flows) as u64, number as u64]);
    let plans = steps.checked_div(climbs.len() as u64)?.clamp(1, FIRST);
    let numbered = climbs.par_iter_mut().enumerate();
    numbered.for_each(|(number, (plan, climb))| {
        climb.run((plans, *plan), &mut dice(number), seed, &|| true);
    });
    let left = steps.saturating_sub(plans * climbs.len() as u64);
    let best = |(_, climb): &(usize, Climb<'_>)| climb.best().map_or(0, |best| best.latency);
    // The plan that is best goes on.
    climbs.sort_by_key(|climb| Reverse(best(climb)));
    let (plan, climb) = climbs.first_mut()?;
    let events = climb.best()?.events.max(1);
    let left = left.min(LIMIT / events);
    climb.run((left, *plan), &mut dice(usize::MAX), seed, &|| true);
    if events < LIMIT / 1_000 {
        climb.polish();
    }
    let found = climbs.iter().take(2).filter_map(|(_, climb)| {
        let shown = Shown::of(&plant, climb, &|| true)?;
        shown.found(target, target.index(plant.flows))
    });
    found.reduce(|best, next| if next.latency > best.latency { next } else { best })
}
