//! The search where flows are many: a single one moves little, and there are too many of them to try
//! each.
//!
//! Flows that are late move to the next more urgent priority, those nearest to a proof first, and flows
//! with much to spare to the next less urgent one: all of them, or half as many, down to a single one, and
//! some that are drawn. Each set is one trial, by total flow analysis, and the best of a batch is kept.
//! When none is better, what late flows have changes on its own.

use std::cmp::Reverse;

use rtether_bounds::Methods;

use super::search::{BATCH, Found, Search, changed};
use super::space::{Point, Space};
use super::trial::{Halt, Known, WHOLE};
use crate::dice::Dice;
use crate::scenario::Freedom;

/// Starts from which flows move.
const MOST_STARTS: usize = 3;
/// Draws in a row that find nothing better.
const MOST_IDLE: usize = 3;
/// Sets of flows that are drawn with each of the others.
const DRAWN: usize = 8;

impl Search<'_, '_> {
    /// Moves flows from the best starts on.
    pub(super) fn move_many(&mut self, starts: Vec<Found>) -> Result<(), Halt> {
        let mut dice = Dice::of(&[self.trials.space.parameters.len() as u64, 2]);
        for start in starts.into_iter().take(MOST_STARTS) {
            if self.is_done() {
                break;
            }
            // What it takes is at least what all methods take, in a small part of the time.
            let all = self.trials.change(Known::new(Methods::TotalFlow));
            let mut at = start.point;
            let moved = self.moved(&mut at, &mut dice);
            self.trials.change(all);
            self.trials.left += 1;
            let judged = self.trials.judge(&at)?;
            self.keep(Found { point: at, judged });
            moved?;
        }
        Ok(())
    }

    /// Moves many flows at once until nothing better is found, then single ones.
    fn moved(&mut self, point: &mut Point, dice: &mut Dice) -> Result<(), Halt> {
        let mut best = self.trials.judge(point)?;
        let (mut idle, mut first) = (0, 0);
        while best.count < self.possible {
            let neighbors = if idle < MOST_IDLE {
                let quotients = self.trials.quotients(point)?;
                Moves::new(self.trials.space, point, &quotients).points(dice)
            } else {
                self.neighbors(point, first)?
            };
            let before = point.clone();
            for batch in neighbors.chunks(BATCH) {
                for (other, judged) in batch.iter().zip(self.trials.judge_all(batch)?) {
                    if judged.is_better(&best) {
                        (*point, best) = (other.clone(), judged);
                    }
                }
                if *point != before {
                    break;
                }
            }
            if *point != before {
                first = changed(&before, point) + 1;
                idle = 0;
            } else if idle < MOST_IDLE {
                idle += 1;
            } else {
                return Ok(());
            }
        }
        Ok(())
    }
}

/// Flows that may move.
struct Moves<'a> {
    space: &'a Space,
    point: &'a Point,
    /// By flow: its rank.
    ranks: Vec<u8>,
    /// By flow: whether an edit of several flows is in force.
    is_under: Vec<bool>,
    /// Parameters of late flows, those nearest to a proof first.
    late: Vec<usize>,
    /// Parameters of the others, those with most to spare first.
    spare: Vec<usize>,
}

impl<'a> Moves<'a> {
    fn new(space: &'a Space, point: &'a Point, quotients: &[Option<u64>]) -> Self {
        let (mut ranks, mut is_under) = (vec![0; quotients.len()], vec![false; quotients.len()]);
        let (mut late, mut spare) = (Vec::new(), Vec::new());
        let priorities = space.parameters.iter().zip(point).enumerate();
        let priorities = priorities.filter(|(_, (own, _))| own.freedom == Some(Freedom::Pcp));
        for (number, (own, value)) in priorities {
            for &flow in &own.flows {
                if own.is_wide {
                    is_under[flow] |= *value > 0;
                }
                if *value > 0 || (!own.is_wide && !is_under[flow]) {
                    ranks[flow] = own.ranks[usize::from(*value)];
                }
            }
            // What has no deadline has all to spare.
            let worst = own.flows.iter().map(|flow| quotients.get(*flow).copied().flatten()).max();
            match worst.flatten().filter(|_| !own.is_wide) {
                Some(own) if own > WHOLE => late.push((own, number)),
                Some(own) => spare.push((own, number)),
                None if own.is_wide => {}
                None => spare.push((0, number)),
            }
        }
        late.sort_unstable();
        spare.sort_unstable();
        let [late, spare] =
            [late, spare].map(|list| list.into_iter().map(|(_, number)| number).collect());
        Self { space, point, ranks, is_under, late, spare }
    }

    /// Returns the points with some flows moved, larger sets first.
    fn points(&self, dice: &mut Dice) -> Vec<Point> {
        let largest = self.late.len().max(self.spare.len());
        let mut points = Vec::new();
        let sizes = std::iter::successors(Some(largest), |size| Some(size / 2));
        for size in sizes.take_while(|size| *size > 0) {
            let late = &self.late[..size.min(self.late.len())];
            let spare = &self.spare[..size.min(self.spare.len())];
            points.push(self.moved(late, &[]));
            points.push(self.moved(&[], spare));
            points.push(self.moved(late, spare));
        }
        for _ in 0..DRAWN {
            let percent = dice.pick(&[5, 20, 50]);
            let mut drawn = self.late.clone();
            drawn.retain(|_| dice.chance(percent));
            points.push(self.moved(&drawn, &[]));
        }
        points.sort_by_key(|point| Reverse(self.distance(point)));
        points.dedup();
        points.retain(|point| point != self.point);
        points
    }

    fn distance(&self, point: &Point) -> usize {
        point.iter().zip(self.point).filter(|(own, other)| own != other).count()
    }

    /// Returns the point with some flows at the next more urgent priority, and some at the next less
    /// urgent one.
    fn moved(&self, up: &[usize], down: &[usize]) -> Point {
        let ranks = self.space.ranks();
        let mut point = self.point.clone();
        for (numbers, is_up) in [(up, true), (down, false)] {
            for &number in numbers {
                let own = &self.space.parameters[number];
                let Some(now) = own.flows.iter().map(|flow| self.ranks[*flow]).min() else {
                    continue;
                };
                let next = if is_up {
                    ranks.iter().rev().find(|rank| **rank < now)
                } else {
                    ranks.iter().find(|rank| **rank > now)
                };
                let is_under = own.flows.iter().any(|flow| self.is_under[*flow]);
                let value =
                    next.and_then(|next| self.space.value_from(number, *next, u8::from(is_under)));
                if let Some(value) = value {
                    point[number] = value;
                }
            }
        }
        point
    }
}
