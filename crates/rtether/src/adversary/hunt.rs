//! The search over all streams of a plant, in batches.
//!
//! A batch is the same on any machine: which streams it takes depends only on what was found before,
//! and each of its parts has its own random numbers. Streams whose worst case is open come first:
//! those with a deadline that was kept and is not proved, the ones nearest to it before the others.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;
use rtether_model::quantity::Duration;

use super::climb::Climb;
use super::dice::Dice;
use super::found::Found;
use super::part::{Part, Ways};
use super::varied::Varied;
use super::window::windows;
use super::{Plant, Target};

/// Streams of a batch.
const STREAMS: usize = 16;
/// Searches for a stream in each window: one for each kind of plan.
const ISLANDS: usize = 2;
/// Plants that a search tries in its first batch, and at most in a later one.
const FIRST: u64 = 16;
const MOST: u64 = 64;
/// Events that a search may simulate in a batch, tens of milliseconds of work.
const EVENTS: u64 = 200_000;
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

/// The searches for one stream.
#[derive(Debug)]
struct Stream<'a> {
    target: Target,
    deadline: Option<Duration>,
    bound: Option<Duration>,
    /// Largest latency that an ordinary run has shown.
    seen: Duration,
    climbs: Vec<Climb<'a>>,
    batches: u64,
    restarts: usize,
}

impl Stream<'_> {
    /// Returns the largest latency found so far, before it is confirmed in the whole plant.
    fn found(&self) -> Duration {
        let best = self.climbs.iter().filter_map(Climb::best);
        let best = best.map(|best| Duration::from_ps(best.latency)).max();
        best.unwrap_or_default().max(self.seen)
    }

    /// Returns how often its turn comes: the larger, the more rarely.
    fn weight(&self) -> u64 {
        match (self.deadline, self.bound) {
            (Some(deadline), _) if self.found() > deadline => 4,
            (Some(deadline), Some(bound)) if bound <= deadline => 16,
            (Some(_), _) => 1,
            (None, _) => 8,
        }
    }

    /// Returns how near it is to its deadline, in millionths; 0 without one.
    fn nearness(&self) -> i128 {
        let part = |deadline: Duration| {
            i128::from(self.found().as_ps()) * 1_000_000 / i128::from(deadline.as_ps().max(1))
        };
        self.deadline.map_or(0, part)
    }

    /// Returns how many plants each search tries next.
    fn steps(&self) -> u64 {
        let events = self.climbs.iter().filter_map(Climb::best);
        let events = events.map(|best| best.events).max();
        events.map_or(FIRST, |events| (EVENTS / events.max(1)).clamp(2, MOST))
    }
}

impl<'a> Hunt<'a> {
    /// Prepares a search. `bounds` and `seen` have the proved bound of each stream, if there is one,
    /// and the largest latency of an ordinary run, in the order of records.
    pub fn new(plant: Plant<'a>, bounds: &[Option<Duration>], seen: &[Duration]) -> Self {
        let all = Target::all(plant.flows).into_iter().enumerate();
        let streams = all.map(|(index, target)| Stream {
            target,
            deadline: plant.flows[target.flow.index()].deadline,
            bound: bounds.get(index).copied().flatten(),
            seen: seen.get(index).copied().unwrap_or_default(),
            climbs: Vec::new(),
            batches: 0,
            restarts: 0,
        });
        Self {
            streams: streams.collect(),
            ways: Ways::new(plant.network, plant.flows),
            varied: Varied::of(plant.network, plant.flows),
            plant,
            tried: 0,
        }
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
        let late = |own: &&Stream<'_>| own.deadline.is_some_and(|deadline| own.found() > deadline);
        self.streams.iter().filter(late).count()
    }

    /// Tries a batch of plants, `most` at most; returns how many. None if nothing is open.
    pub fn step(&mut self, most: u64, is_cancelled: &AtomicBool) -> u64 {
        if !self.varied.is_open() || self.streams.is_empty() {
            return 0;
        }
        let chosen = self.chosen();
        let mut left = most;
        for &index in &chosen {
            self.prepare(index);
        }
        let seed = self.plant.run.seed;
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
                let plan = if restarts == 0 {
                    number % ISLANDS
                } else {
                    ISLANDS + restarts
                };
                work.push((climb, steps, dice, plan));
            }
        }
        let before: u64 = work.iter().map(|(climb, ..)| climb.tried()).sum();
        work.par_iter_mut().for_each(|(climb, steps, dice, plan)| {
            if !is_cancelled.load(Ordering::Relaxed) {
                climb.run(*steps, *plan, dice, seed);
            }
        });
        let after: u64 = work.iter().map(|(climb, ..)| climb.tried()).sum();
        self.tried += after - before;
        after - before
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
            for window in windows(
                &part,
                self.plant.run,
                span(own.bound, own.seen, own.deadline),
            ) {
                for _ in 0..ISLANDS {
                    own.climbs
                        .push(Climb::new(Arc::clone(&part), window, is_drawn));
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

    /// Returns the worst that was found for each stream, simulated in the whole plant; `None` where
    /// nothing was found that takes longer than an ordinary run has shown. In plants of many streams,
    /// those without a deadline are left out.
    pub fn finish(self) -> Vec<Option<Found>> {
        let plant = self.plant;
        let is_large = self.streams.len() > CONFIRMED;
        let worst = |own: Stream<'_>| {
            // Without a deadline nothing hangs on it, and each takes a run of the whole plant.
            if is_large && own.deadline.is_none() || own.found() <= own.seen {
                return None;
            }
            let mut climbs: Vec<&Climb<'_>> = own.climbs.iter().collect();
            climbs.sort_by_key(|climb| {
                std::cmp::Reverse(climb.best().map_or(0, |best| best.latency))
            });
            let mut found = climbs.into_iter().take(2);
            found.find_map(|climb| Found::of(&plant, own.target, climb))
        };
        self.streams.into_par_iter().map(worst).collect()
    }
}

/// Returns about how long a packet takes at most.
fn span(bound: Option<Duration>, seen: Duration, deadline: Option<Duration>) -> Duration {
    let seen = (seen * 8)
        .max(deadline.unwrap_or_default())
        .max(Duration::from_us(20));
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
    let plans = (steps / climbs.len() as u64).clamp(1, FIRST);
    let numbered = climbs.par_iter_mut().enumerate();
    numbered.for_each(|(number, (plan, climb))| {
        climb.run(plans, *plan, &mut dice(number), seed);
    });
    let left = steps.saturating_sub(plans * climbs.len() as u64);
    let best = |(_, climb): &(usize, Climb<'_>)| climb.best().map_or(0, |best| best.latency);
    // The plan that is best goes on.
    climbs.sort_by_key(|climb| std::cmp::Reverse(best(climb)));
    let (plan, climb) = climbs.first_mut()?;
    let events = climb.best()?.events.max(1);
    climb.run(left.min(LIMIT / events), *plan, &mut dice(usize::MAX), seed);
    if events < LIMIT / 1_000 {
        climb.polish();
    }
    let found = climbs.iter().take(2);
    let found = found.filter_map(|(_, climb)| Found::of(&plant, target, climb));
    found.reduce(|best, next| {
        if next.latency > best.latency {
            next
        } else {
            best
        }
    })
}
