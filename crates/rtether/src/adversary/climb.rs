//! The search for one stream: a plan, and then moves, keeping every change that does not make the
//! packet faster.
//!
//! The plan lets, at each place on the stream's way, the packets that join it there arrive back to
//! back, the longest first, the last one just before the stream's own; it is corrected from the
//! simulation until it is met as well as possible. Moves then put single packets or whole groups next
//! to each other, and draw what is drawn anew.

use std::collections::BTreeMap;
use std::sync::Arc;

use rtether_model::flow::Flow;

use super::GoesOn;
use super::freedom::Freedom;
use super::part::{Part, Place};
use super::trial::{Genes, Tried, Window, skip, trial};
use crate::dice::Dice;

/// Rounds of plan correction.
const CORRECTIONS: usize = 12;
/// Times by which packets are moved at random, picoseconds.
const WIDTHS: [i64; 5] = [10, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000];

/// Most flows that are moved by single picoseconds.
const POLISHED: usize = 100;

/// A search for one stream in one window.
#[derive(Debug)]
pub(super) struct Climb<'a> {
    part: Arc<Part<'a>>,
    window: Window,
    /// Flows as they are in the window, and what they leave open there.
    flows: Vec<Flow>,
    freedoms: Vec<Freedom>,
    /// Whether anything is drawn besides releases.
    is_drawn: bool,
    /// The best so far; `None` before the first step, or if the plant cannot be simulated.
    best: Option<Tried>,
    tried: u64,
}

impl<'a> Climb<'a> {
    pub(super) fn new(part: Arc<Part<'a>>, window: Window, is_drawn: bool) -> Self {
        let mut flows = part.flows.clone();
        for flow in &mut flows {
            skip(flow, window.skipped);
        }
        let freedoms = flows.iter().map(|flow| Freedom::of(part.network, flow));
        Self { freedoms: freedoms.collect(), flows, part, window, is_drawn, best: None, tried: 0 }
    }

    pub(super) fn part(&self) -> &Part<'a> {
        &self.part
    }

    pub(super) const fn window(&self) -> Window {
        self.window
    }

    pub(super) const fn best(&self) -> Option<&Tried> {
        self.best.as_ref()
    }

    /// Returns how many plants were tried.
    pub(super) const fn tried(&self) -> u64 {
        self.tried
    }

    /// Returns what flows leave open in the window.
    pub(super) fn freedoms(&self) -> &[Freedom] {
        &self.freedoms
    }

    /// Tries `steps` plants. The first of them begin with the plan of this number.
    pub(super) fn run(
        &mut self,
        (steps, plan): (u64, usize),
        dice: &mut Dice,
        seed: u64,
        goes_on: GoesOn<'_>,
    ) {
        let end = self.tried + steps;
        if self.best.is_none() {
            self.plan((plan, end), dice, seed, goes_on);
        }
        while self.tried < end && goes_on() {
            let Some(best) = &self.best else { return };
            let genes =
                if self.part.free.is_empty() { best.genes.clone() } else { self.moved(best, dice) };
            self.attempt(self.drawn(genes, dice), goes_on);
        }
    }

    /// Tries a plant; keeps it if the packet is not faster. Returns what happened.
    fn attempt(&mut self, genes: Genes, goes_on: GoesOn<'_>) -> Option<Tried> {
        let open = (&self.flows[..], &self.freedoms[..]);
        let found = trial(&self.part, open, self.window, genes, goes_on);
        // One that was cut short was not tried.
        self.tried += u64::from(found.is_some() || goes_on());
        let found = found?;
        let best = self.best.as_ref().map_or(-1, |best| best.latency);
        if found.latency >= best {
            self.best = Some(found.clone());
        }
        Some(found)
    }

    /// Draws another seed now and then, always if there is nothing else to choose.
    fn drawn(&self, mut genes: Genes, dice: &mut Dice) -> Genes {
        if self.is_drawn && (self.part.free.is_empty() || dice.chance(15)) {
            genes.seed = dice.next() >> 1;
        }
        genes
    }

    /// Tries a plan, with its corrections.
    fn plan(
        &mut self,
        (number, end): (usize, u64),
        dice: &mut Dice,
        seed: u64,
        goes_on: GoesOn<'_>,
    ) {
        let offsets = self.offsets(number % 2 == 1);
        // Later plans aim elsewhere, since what is fixed comes at times of its own.
        let aim = self.window.aim + if number < 2 { 0 } else { dice.time(0, self.spread()) };
        let choices = (0..self.flows.len()).map(|flow| {
            let time = match self.part.meetings[flow] {
                Some((here, there)) if flow != self.part.own => {
                    aim + self.way(self.part.own, here) - offsets[flow] - self.way(flow, there)
                }
                _ => aim,
            };
            self.freedoms[flow].at(time.max(0))
        });
        let choices = choices.collect();
        let genes = Genes { choices, seed };
        let Some(mut found) = self.attempt(genes.clone(), goes_on) else {
            return;
        };
        // The packet was still under way at the end of the window.
        while found.latency == 0 && self.tried < end && self.window.lengthen() {
            let Some(next) = self.attempt(genes.clone(), goes_on) else {
                return;
            };
            found = next;
        }
        for _ in 0..CORRECTIONS {
            if self.tried >= end {
                return;
            }
            let Some(next) = self.attempt(self.corrected(&found, &offsets), goes_on) else {
                return;
            };
            found = next;
        }
    }

    fn spread(&self) -> i64 {
        (self.window.until - self.window.aim).max(1)
    }

    /// Moves every flow to where it should meet the stream.
    fn corrected(&self, found: &Tried, offsets: &[i64]) -> Genes {
        let mut genes = found.genes.clone();
        for (flow, choice) in genes.choices.iter_mut().enumerate() {
            let Some((here, there)) = self.part.meetings[flow].filter(|_| flow != self.part.own)
            else {
                continue;
            };
            let Some(own) = found.aimed_came(&self.part, here) else {
                continue;
            };
            if let Some((_, other)) = found.other(&self.part, (flow, there), own) {
                self.freedoms[flow].shift(choice, own - other - offsets[flow]);
            }
        }
        genes
    }

    /// Returns how long before the stream each flow should arrive where they meet; with `is_ahead`,
    /// also before the frames in front of the stream, so that these stay in front.
    fn offsets(&self, is_ahead: bool) -> Vec<i64> {
        let (ways, own) = (&self.part.ways, self.part.own);
        let mut offsets = vec![0; ways.len()];
        let others = (0..ways.len()).filter(|&flow| flow != own);
        let mut order: Vec<(usize, usize, usize)> = others
            .filter_map(|flow| self.part.meetings[flow].map(|(here, there)| (flow, here, there)))
            .collect();
        // Order backwards from the stream's own frame: those with the longest common path first,
        // then the shortest frames.
        order.sort_by_key(|&(flow, here, there)| {
            let common = ways[flow][there..].iter().zip(&ways[own][here..]);
            let common = common.take_while(|(a, b)| a.place == b.place).count();
            (core::cmp::Reverse(common), ways[flow][there].occupancy)
        });
        let mut taken: BTreeMap<Place, i64> = BTreeMap::new();
        for (rank, &(flow, here, there)) in (1..).zip(&order) {
            let before = ways[flow][there.saturating_sub(1)].place;
            let in_front = || {
                if is_ahead { self.in_front(&order, here) } else { 0 }
            };
            let sum = taken.entry(before).or_insert_with(in_front);
            offsets[flow] = *sum + rank;
            if there > 0 {
                *sum += ways[flow][there].occupancy;
            }
        }
        offsets
    }

    /// Returns how long the frames in front of the stream keep the place, the longest left out: it
    /// goes first, and arrives with its last bit.
    fn in_front(&self, order: &[(usize, usize, usize)], here: usize) -> i64 {
        let (ways, own) = (&self.part.ways, self.part.own);
        let front = order.iter().filter(|&&(flow, met, there)| {
            let passage = ways[flow].get((there + here).wrapping_sub(met));
            met < here && passage.is_some_and(|there| there.place == ways[own][here].place)
        });
        let front = front.map(|&(flow, ..)| ways[flow][0].occupancy);
        let (sum, longest) = front
            .fold((ways[own][0].occupancy, 0), |(sum, most), time| (sum + time, time.max(most)));
        if longest > 0 { sum - longest } else { 0 }
    }

    /// Returns choices that differ slightly from those of `found`.
    fn moved(&self, found: &Tried, dice: &mut Dice) -> Genes {
        let mut genes = found.genes.clone();
        for _ in 0..dice.pick(&[1, 1, 2, 3]) {
            self.step(&mut genes, found, dice);
        }
        genes
    }

    fn step(&self, genes: &mut Genes, found: &Tried, dice: &mut Dice) {
        let free = &self.part.free;
        let mut one = free[dice.index(free.len())];
        if one == self.part.own && dice.chance(80) {
            // To move the stream itself is to move all others.
            one = free[dice.index(free.len())];
        }
        let tick = dice.time(1, 8);
        if dice.chance(self.freedoms[one].single_percent()) {
            return self.crowd(genes, found, one, dice);
        }
        match dice.index(9) {
            // To the stream itself where they meet, or somewhat before it.
            0 => self.join(genes, found, one, tick),
            1 => {
                let way = self.part.ways[one].first();
                let occupancy = way.map_or(0, |first| first.occupancy);
                let early = dice.time(0, 20) * occupancy / 4 + tick;
                self.join(genes, found, one, early);
            }
            // Any visit to any place on the stream's way, answers and acknowledgements too.
            2 => self.come_before(genes, found, one, tick, dice),
            // Just behind or before another flow at a common place.
            3 | 4 => self.follow(genes, found, one, tick, dice),
            5 => {
                let width = dice.pick(&WIDTHS);
                let by = dice.time(-width, width);
                self.freedoms[one].shift(&mut genes.choices[one], by);
            }
            // All flows that pass a place with it.
            6 | 7 => self.shift_together(genes, found, one, tick, dice),
            _ if self.freedoms[one].is_movable() => {
                let other = free[dice.index(free.len())];
                let begin = genes.choices[one].begin;
                let there = genes.choices[other].begin;
                genes.choices[one] = self.freedoms[one].at(there);
                genes.choices[other] = self.freedoms[other].at(begin);
            }
            _ => {}
        }
    }

    /// Lets a flow come this much before the stream, where they meet first.
    fn join(&self, genes: &mut Genes, found: &Tried, one: usize, early: i64) {
        let Some((here, there)) = self.part.meetings[one] else {
            return;
        };
        let own = found.came(&self.part, here);
        let other = own.and_then(|own| found.other(&self.part, (one, there), own));
        match (own, other) {
            (Some(own), Some((number, other))) => {
                self.shift(genes, one, number, own - other - early);
            }
            // It is nowhere near: released so that it would come then if nothing were in its way.
            (Some(own), None) if self.freedoms[one].is_movable() => {
                let time = own - early - self.way(one, there);
                genes.choices[one] = self.freedoms[one].at(time.max(0));
            }
            _ => {}
        }
    }

    /// Returns how long a packet takes to a place on its way if nothing is in its way.
    fn way(&self, flow: usize, at: usize) -> i64 {
        let passed = self.part.ways[flow].iter().take(at);
        passed.map(|passage| passage.time).sum()
    }

    /// Moves packets by single picoseconds as long as the latency grows: a plan puts packets just
    /// before each other, and some may come at the same time.
    pub(super) fn polish(&mut self) {
        let movable = |&&flow: &&usize| self.freedoms[flow].is_movable();
        let free: Vec<usize> = self.part.free.iter().filter(movable).copied().collect();
        if free.len() > POLISHED {
            return;
        }
        for step in [1, -1, 2, -2, 4, 8] {
            for &flow in &free {
                let Some(best) = self.best.clone() else {
                    return;
                };
                let mut genes = best.genes.clone();
                self.freedoms[flow].shift(&mut genes.choices[flow], step);
                self.attempt(genes, &|| true);
                if self.best.as_ref().is_none_or(|now| now.latency <= best.latency) {
                    self.best = Some(best);
                }
            }
        }
    }

    /// Moves a packet: the whole flow, or only this release if nothing else may be moved.
    fn shift(&self, genes: &mut Genes, flow: usize, number: u32, by: i64) {
        let (freedom, choice) = (self.freedoms[flow], &mut genes.choices[flow]);
        if freedom.is_movable() {
            freedom.shift(choice, by);
        } else {
            freedom.shift_one(choice, usize::try_from(number).unwrap_or(usize::MAX), by);
        }
    }

    fn come_before(
        &self,
        genes: &mut Genes,
        found: &Tried,
        one: usize,
        tick: i64,
        dice: &mut Dice,
    ) {
        if found.own.is_empty() {
            return;
        }
        let own = found.own[dice.index(found.own.len())];
        if let Some(other) = found.nearest(one, own.place, own.time) {
            self.shift(genes, one, other.number, own.time - other.time - tick);
        }
    }

    fn follow(&self, genes: &mut Genes, found: &Tried, one: usize, tick: i64, dice: &mut Dice) {
        let (part, free) = (&self.part, &self.part.free);
        let other = free[dice.index(free.len())];
        let (here, there) = (&part.ways[one], &part.ways[other]);
        if here.is_empty() || one == other {
            return;
        }
        let at = dice.index(here.len());
        let Some(behind) = there.iter().position(|own| own.place == here[at].place) else {
            return;
        };
        let Some((number, own)) = self.arrival(found, (one, at), found.released_at) else {
            return;
        };
        if let Some((_, other)) = self.arrival(found, (other, behind), own) {
            self.shift(genes, one, number, other - own + dice.pick(&[-tick, tick]));
        }
    }

    /// Returns the packet of a flow that came to a place on its way nearest to this time; of the
    /// stream's own flow that of the stream.
    fn arrival(&self, found: &Tried, (flow, at): (usize, usize), time: i64) -> Option<(u32, i64)> {
        if flow == self.part.own {
            let number = found.own.first()?.number;
            return Some((number, found.came(&self.part, at)?));
        }
        found.other(&self.part, (flow, at), time)
    }

    fn shift_together(
        &self,
        genes: &mut Genes,
        found: &Tried,
        one: usize,
        tick: i64,
        dice: &mut Dice,
    ) {
        let Some((here, there)) = self.part.meetings[one] else {
            return;
        };
        let own = found.came(&self.part, here);
        let other = own.and_then(|own| found.other(&self.part, (one, there), own));
        let by = match (own, other) {
            (Some(own), Some((_, other))) if dice.chance(50) => own - other - tick,
            _ => {
                let width = dice.pick(&WIDTHS);
                dice.time(-width, width)
            }
        };
        let place = self.part.ways[one][dice.index(there + 1)].place;
        for &flow in &self.part.free {
            let passes = self.part.ways[flow].iter().any(|own| own.place == place);
            if passes && flow != self.part.own {
                self.freedoms[flow].shift(&mut genes.choices[flow], by);
            }
        }
    }

    /// Lets releases of a flow come close to each other.
    fn crowd(&self, genes: &mut Genes, found: &Tried, one: usize, dice: &mut Dice) {
        let visits = found.others.iter().chain(&found.own);
        let mut visits = visits.filter(|visit| visit.flow as usize == one);
        let number = visits.next().map_or(0, |visit| visit.number);
        let number = usize::try_from(number).unwrap_or(0);
        self.freedoms[one].crowd(&mut genes.choices[one], number, dice);
    }

    /// Forgets what was found, to begin with another plan.
    pub(super) fn restart(&mut self) {
        self.best = None;
    }
}
