//! The waits at one place, by the way it chooses the next packet.
//!
//! **Weighted round robin** by frames, queue `q` with weight `w`. From the time at which a queue has
//! frames until it has none, others are served at most `Q = sum w_k * L_k` (`L_k` the longest frame
//! of queue `k`) between two turns of `q`, each turn of `q` has `w` frames, and one further frame
//! may be in front at the beginning, which an idle port took without a turn. The `n`-th frame
//! therefore waits for `B + ceil(n / w) * Q` besides its own queue, and with
//! `ceil(n / w) <= (n - 1) / w + 1` this is a queue in order of arrival in which every frame costs
//! `Q / w` more, behind `B + Q - Q / w`. With a strict queue above, its frames count as higher ones.
//! (The argument of Boyer, Stea and Sofack 2012 for deficits, on frames.) A frame leaves at
//! latest when the whole port runs empty, too, so that the smaller of both bounds holds.

use alloc::vec::Vec;
use core::ops::Range;

use rtether_model::network::Selection;

use crate::curve::Load;
use crate::plant::{Plant, ServerKind};
use crate::wait::{Class, Unbounded, waits};

/// Costs of packets of one queue that are told apart.
const COSTS_MAX: usize = 8;

/// What one evaluation needs and gives, kept for the next.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    /// In the order of the place's members.
    pub(crate) loads: Vec<Load>,
    /// Of the members, in their order.
    pub(crate) waits: Vec<Result<i64, Unbounded>>,
}

/// Computes the waits of all members of a place from their loads.
pub(crate) fn evaluate(plant: &Plant, server: u32, scratch: &mut Scratch) {
    scratch.waits.clear();
    let place = &plant.servers[server as usize];
    if place.obstacle.is_some() {
        let none = Err(Unbounded::Obstacle);
        scratch.waits.resize(scratch.loads.len(), none);
        return;
    }
    let queues = queues(plant, server);
    let port = Port::new(plant, server, &scratch.loads, &queues);
    for (queue, range) in &queues {
        match port.waits_of(*queue) {
            Ok(found) => scratch.waits.extend(found.into_iter().map(Ok)),
            Err(unbounded) => {
                let none = core::iter::repeat_n(Err(unbounded), range.len());
                scratch.waits.extend(none);
            }
        }
    }
}

/// Returns the wait of one member of a place, by its position among them, from loads of all that
/// are not those of one busy period; see [`Class::is_whole`].
pub(crate) fn wait_of(
    plant: &Plant,
    server: u32,
    loads: &[Load],
    member: usize,
) -> Result<i64, Unbounded> {
    if plant.servers[server as usize].obstacle.is_some() {
        return Err(Unbounded::Obstacle);
    }
    let queues = queues(plant, server);
    let port = Port {
        is_whole: true,
        ..Port::new(plant, server, loads, &queues)
    };
    let own = queues.iter().find(|(_, range)| range.contains(&member));
    let (queue, range) = own.ok_or(Unbounded::Obstacle)?;
    Ok(port.waits_of(*queue)?[member - range.start])
}

/// Returns the queues of a place with the positions of their members.
fn queues(plant: &Plant, server: u32) -> Vec<(u8, Range<usize>)> {
    let mut queues: Vec<(u8, Range<usize>)> = Vec::new();
    for (&visit, index) in plant.members.of(server).iter().zip(0..) {
        let queue = plant.visits[visit as usize].queue;
        match queues.last_mut() {
            Some((last, range)) if *last == queue => range.end = index + 1,
            _ => queues.push((queue, index..index + 1)),
        }
    }
    queues
}

/// The loads of a port by queue.
struct Port<'a> {
    selection: Selection,
    /// Its highest queue.
    top: u8,
    loads: &'a [Load],
    queues: &'a [(u8, Range<usize>)],
    is_whole: bool,
}

type Waits = Result<Vec<i64>, Unbounded>;

impl<'a> Port<'a> {
    fn new(
        plant: &Plant,
        server: u32,
        loads: &'a [Load],
        queues: &'a [(u8, Range<usize>)],
    ) -> Self {
        let (selection, top) = match plant.servers[server as usize].kind {
            ServerKind::Switch { selection, top, .. } => (selection, top),
            ServerKind::Station(_) | ServerKind::Stack { .. } => (Selection::Fcfs, 0),
        };
        Self {
            selection,
            top,
            loads,
            queues,
            is_whole: false,
        }
    }

    /// Returns the waits of a queue, in the order of its loads.
    fn waits_of(&self, queue: u8) -> Waits {
        match self.selection {
            Selection::Fcfs => self.waits(queue, 0, |_| false),
            Selection::StrictPriority => self.strict(queue),
            Selection::Wrr { weights } => self.by_turns(queue, weights, None),
            Selection::StrictWrr { .. } if queue == self.top => self.strict(queue),
            Selection::StrictWrr { weights } => self.by_turns(queue, weights, Some(self.top)),
        }
    }

    /// Returns the waits of a queue behind `base`, with the queues of which `is_higher` says so
    /// before it, in the order of its loads.
    fn waits(&self, queue: u8, base: i64, is_higher: impl Fn(u8) -> bool) -> Waits {
        self.waits_with(queue, base, 0, is_higher)
    }

    /// The same if each frame of the queue brings `extra` work that is not its own.
    fn waits_with(
        &self,
        queue: u8,
        base: i64,
        extra: i64,
        is_higher: impl Fn(u8) -> bool,
    ) -> Waits {
        let own = self.of(|other| other == queue);
        let mut costs: Vec<i64> = own.iter().map(|load| load.cost).collect();
        costs.sort_unstable();
        costs.dedup();
        // A smaller own cost gives a larger wait, so that some may stand for others.
        let each = costs.len().div_ceil(COSTS_MAX).max(1);
        let costs: Vec<i64> = costs.into_iter().step_by(each).collect();
        let mut heavier: Vec<Load> = own.iter().map(|load| load.with(extra)).collect();
        let mut higher = self.of(is_higher);
        let found = waits(&mut Class {
            base,
            own: &mut heavier,
            higher: &mut higher,
            costs: &costs,
            is_whole: self.is_whole,
        })?;
        let wait_of = |load: &Load| found[costs.partition_point(|&cost| cost <= load.cost) - 1];
        Ok(own.iter().map(wait_of).collect())
    }

    fn of(&self, chosen: impl Fn(u8) -> bool) -> Vec<Load> {
        let queues = self.queues.iter().filter(|(queue, _)| chosen(*queue));
        let loads = queues.flat_map(|(_, range)| &self.loads[range.clone()]);
        loads.copied().collect()
    }

    /// Returns the longest frame of the chosen queues.
    fn longest(&self, chosen: impl Fn(u8) -> bool) -> i64 {
        let own = self.of(chosen);
        own.iter().map(|load| load.cost).max().unwrap_or(0)
    }

    fn strict(&self, queue: u8) -> Waits {
        let lower = self.longest(|other| other < queue);
        self.waits(queue, lower, |other| other > queue)
    }

    /// Round robin among all queues but `strict`, which goes first.
    fn by_turns(&self, queue: u8, weights: [u8; 8], strict: Option<u8>) -> Waits {
        let until_empty = self.waits(queue, 0, |other| other != queue);
        let own = i64::from(weights[usize::from(queue)]);
        if own == 0 {
            return until_empty;
        }
        let takes_turns = |other: u8| other != queue && Some(other) != strict;
        let round: i64 = self
            .queues
            .iter()
            .filter(|(other, _)| takes_turns(*other))
            .map(|&(other, _)| {
                let weight = i64::from(weights[usize::from(other)]);
                weight * self.longest(|queue| queue == other)
            })
            .sum();
        let base = self.longest(takes_turns) + round - round / own;
        let extra = (round + own - 1) / own;
        let by_turns = self.waits_with(queue, base, extra, |other| Some(other) == strict);
        match (until_empty, by_turns) {
            (Ok(a), Ok(b)) => Ok(a.into_iter().zip(b).map(|(a, b)| a.min(b)).collect()),
            (Ok(one), Err(_)) | (_, Ok(one)) => Ok(one),
            (_, Err(unbounded)) => Err(unbounded),
        }
    }
}
