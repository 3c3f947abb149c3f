//! The search for a design that proves most.
//!
//! It begins at several points: the plant as it is written; flows in order of deadlines and of periods
//! (`starts`), with and without layers and queues; and what Audsley's algorithm makes of the order, which gives the
//! lowest priority to a flow that is proved there and goes on with the others. A bound depends on
//! the order of those above it, so that this is only a good start. From each it climbs: the
//! first change of one parameter in a batch that proves more, or leaves less to prove, is kept. Then it
//! begins again near the best. Where flows are many, many of them move at once (`many`), and only what
//! late flows have changes on its own.

use std::cmp::Reverse;
use std::sync::Arc;

use super::progress::{Best, Progress};
use super::space::{Point, with};
use super::starts::starts;
use super::trial::{Halt, Judged, Trials, WHOLE};
use crate::dice::Dice;
use crate::scenario::{Freedom, Scenario};

/// Designs that are tried at the same time: as many on any machine, so that each finds the same.
pub(super) const BATCH: usize = 16;
/// Times that the search begins again near the best without finding better.
const RESTARTS: usize = 12;

/// A point with what it proves.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) point: Point,
    pub(super) judged: Arc<Judged>,
}

/// A search.
pub(super) struct Search<'a, 't> {
    pub(super) scenario: &'a Scenario,
    pub(super) trials: &'t mut Trials<'a>,
    pub(super) progress: &'a Progress,
    /// The best so far.
    pub(super) best: Found,
    /// Goals that can be proved at most.
    pub(super) possible: usize,
    /// Whether it goes on from the best, and begins nowhere else.
    pub(super) goes_on: bool,
}

impl Search<'_, '_> {
    /// Searches until everything possible is proved, or nothing better is found.
    pub(super) fn run(&mut self) -> Result<(), Halt> {
        self.tell();
        if self.is_done() {
            return Ok(());
        }
        let starts = self.started()?;
        if self.trials.space.has_many() {
            return self.move_many(starts);
        }
        for start in starts {
            if self.is_done() {
                return Ok(());
            }
            self.climb(start)?;
        }
        if !self.is_done() {
            let lowered = self.audsley()?;
            self.climb(lowered)?;
        }
        let mut dice = Dice::of(&[self.trials.space.parameters.len() as u64]);
        let mut idle = 0;
        while !self.is_done() && idle < RESTARTS {
            let before = Arc::clone(&self.best.judged);
            let point = self.shaken(&mut dice);
            let judged = self.trials.judge(&point)?;
            self.climb(Found { point, judged })?;
            idle = if self.best.judged.is_better(&before) { 0 } else { idle + 1 };
        }
        Ok(())
    }

    /// Tries where a search begins, and returns the best first.
    fn started(&mut self) -> Result<Vec<Found>, Halt> {
        let points = if self.goes_on {
            vec![self.best.point.clone()]
        } else {
            starts(self.scenario, self.trials.space, &self.best.point)
        };
        let mut found = Vec::new();
        for batch in points.chunks(BATCH.min(self.trials.left.max(1))) {
            let judged = self.trials.judge_all(batch)?;
            for (point, judged) in batch.iter().cloned().zip(judged) {
                let own = Found { point, judged };
                self.keep(own.clone());
                found.push(own);
            }
        }
        found.sort_by_key(|own| (Reverse(own.judged.count), own.judged.shortfall));
        Ok(found)
    }

    pub(super) fn is_done(&self) -> bool {
        self.best.judged.count >= self.possible
    }

    /// Keeps a point if it is the best.
    pub(super) fn keep(&mut self, found: Found) {
        if found.judged.is_better(&self.best.judged) {
            self.best = found;
            self.tell();
        }
    }

    fn tell(&self) {
        let judged = &self.best.judged;
        self.progress.found(Best {
            proved: judged.count,
            of: judged.proved.len(),
            worst_ppm: (judged.worst < u64::MAX).then_some(judged.worst),
        });
    }

    /// Climbs from a point until no single change is better.
    fn climb(&mut self, start: Found) -> Result<Found, Halt> {
        let mut at = start;
        let mut first = 0;
        'better: loop {
            self.keep(at.clone());
            if self.is_done() {
                return Ok(at);
            }
            let neighbors = self.neighbors(&at.point, first)?;
            for batch in neighbors.chunks(BATCH) {
                let judged = self.trials.judge_all(batch)?;
                let mut best = at.clone();
                for (point, judged) in batch.iter().zip(judged) {
                    if judged.is_better(&best.judged) {
                        best = Found { point: point.clone(), judged };
                    }
                }
                if best.point != at.point {
                    // What comes behind has not been tried for longest.
                    first = changed(&at.point, &best.point) + 1;
                    at = best;
                    continue 'better;
                }
            }
            return Ok(at);
        }
    }

    /// Returns the points that differ in one parameter, beginning with that of a number; where there are
    /// many, only those that change what late flows have, or what is of no flow.
    pub(super) fn neighbors(&mut self, point: &Point, first: usize) -> Result<Vec<Point>, Halt> {
        let space = self.trials.space;
        if !space.has_many() {
            return Ok(space.neighbors(point, first, |_| true));
        }
        let quotients = self.trials.quotients(point)?;
        Ok(space.neighbors(point, first, |own| {
            let mut quotients = own.flows.iter().filter_map(|flow| quotients[*flow]);
            own.flows.is_empty() || quotients.any(|own| own > WHOLE)
        }))
    }

    /// Orders the flows from the lowest priority: of those with which no less is proved, the one with
    /// which the others lack least.
    fn audsley(&mut self) -> Result<Found, Halt> {
        let space = self.trials.space;
        let ranks = space.ranks();
        let numbers = 0..space.parameters.len();
        let mut left: Vec<usize> =
            numbers.filter(|own| space.parameters[*own].freedom == Some(Freedom::Pcp)).collect();
        let mut point = self.best.point.clone();
        for &number in &left {
            point[number] = space.value_at(number, ranks.first().copied().unwrap_or(0));
        }
        let mut at = Found { judged: self.trials.judge(&point)?, point };
        for (level, rank) in ranks.iter().enumerate().skip(1).rev() {
            // One to a level, as long as there are levels for all.
            let end = left.len().saturating_sub(1).min(level);
            while left.len() > end {
                let values = left.iter().map(|own| (*own, space.value_at(*own, *rank)));
                let lowered: Vec<Point> =
                    values.map(|(own, value)| with(&at.point, own, value)).collect();
                let judged = self.trials.judge_all(&lowered)?;
                let kept = (0..left.len()).filter(|own| !at.judged.is_better(&judged[*own]));
                let Some(best) =
                    kept.min_by_key(|own| (Reverse(judged[*own].count), judged[*own].shortfall))
                else {
                    break;
                };
                at = Found { point: lowered[best].clone(), judged: Arc::clone(&judged[best]) };
                left.remove(best);
            }
        }
        Ok(at)
    }

    /// Returns the best point with some parameters changed at random.
    fn shaken(&self, dice: &mut Dice) -> Point {
        let parameters = &self.trials.space.parameters;
        let mut point = self.best.point.clone();
        if parameters.is_empty() {
            return point;
        }
        for _ in 0..dice.pick(&[2, 3, 4]) {
            let number = dice.index(parameters.len());
            let values: Vec<u8> = (0..).take(parameters[number].values.len()).collect();
            point[number] = dice.pick(&values);
        }
        point
    }
}

/// Returns the number of the first parameter in which two points differ.
pub(super) fn changed(one: &Point, other: &Point) -> usize {
    one.iter().zip(other).position(|(a, b)| a != b).unwrap_or(0)
}
