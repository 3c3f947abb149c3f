//! Waits at one place, by the way it chooses the next packet.
//!
//! **Weighted round robin** by frames, queue `q` with weight `w`. While queue `q` has frames, the
//! others are served for at most `Q = sum w_k * L_k` (`L_k` the longest frame of queue `k`) between
//! two turns of `q`, each turn of `q` has `w` frames, and one further frame, which an idle port
//! took without a turn, may be in front at the beginning. The `n`-th frame therefore waits for
//! `B + ceil(n / w) * Q` besides its own queue, and with `ceil(n / w) <= (n - 1) / w + 1` this is a
//! queue in order of arrival in which every frame costs `Q / w` more, behind `B + Q - Q / w`. With
//! a strict queue above, its frames count as higher ones. (Boyer, Stea and Sofack 2012 argue
//! similarly for deficits; what is proved here is the text above, on frames.) A frame also leaves
//! at the latest when the whole port runs empty, so that the smaller of both bounds holds.
//!
//! **Own work.** Where packets of a flow have two sizes, the smaller one is subtracted: a line
//! limits the work, not the number of packets, and the packet looked at may be a small one.

use alloc::vec::Vec;
use core::ops::Range;

use rtether_model::network::Selection;

use crate::curve::Load;
use crate::plant::{Plant, ServerKind};
use crate::source::{INFINITE, add, times};
use crate::wait::{Class, Unbounded, waits};

/// Largest number of distinct packet costs of one queue.
const COSTS_MAX: usize = 8;

/// Input and output of one evaluation, reused for the next.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    /// In the order of the place's members.
    pub(crate) loads: Vec<Load>,
    /// Waits of the members, in their order.
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
    if place.selects_by_deadline() {
        by_deadline(plant, server, scratch);
        return;
    }
    let queues = queues(plant, server);
    let port = Port::new(plant, server, &scratch.loads, &queues);
    for (queue, range) in &queues {
        let found = match &place.discipline {
            Some(discipline) => discipline.waits(plant, &port, *queue),
            None => port.waits_of(*queue),
        };
        scratch.waits.extend(spread(found, range.len()));
    }
}

/// The same where the earliest deadline goes first; flows without a deadline form a queue in order
/// of arrival below all others.
fn by_deadline(plant: &Plant, server: u32, scratch: &mut Scratch) {
    let members = plant.members.of(server);
    let deadline = |visit: u32| {
        let flow = plant.visits[visit as usize].flow;
        plant.sources[flow as usize].local_deadline
    };
    let (mut last, mut due) = (Vec::new(), Vec::new());
    for (&visit, index) in members.iter().zip(0usize..) {
        let list = if deadline(visit) < INFINITE {
            &mut due
        } else {
            &mut last
        };
        list.push(index);
    }
    let own = due
        .iter()
        .map(|&index| (scratch.loads[index], deadline(members[index])));
    let own: Vec<(Load, i64)> = own.collect();
    let lower = last.iter().map(|&index| scratch.loads[index].cost).max();
    let of_due = crate::edf::waits(&own, lower.unwrap_or(0));
    let order = last.iter().chain(&due);
    let loads: Vec<Load> = order.map(|&index| scratch.loads[index]).collect();
    let queues = [(0, 0..last.len()), (1, last.len()..loads.len())];
    let port = Port::new(plant, server, &loads, &queues);
    let of_last = if last.is_empty() {
        Ok(Vec::new())
    } else {
        port.strict(0)
    };
    scratch.waits.resize(members.len(), Ok(0));
    for (indices, found) in [(&last, of_last), (&due, of_due)] {
        for (&index, rank) in indices.iter().zip(0usize..) {
            scratch.waits[index] = match &found {
                Ok(waits) => Ok(waits[rank]),
                Err(unbounded) => Err(*unbounded),
            };
        }
    }
}

/// Returns one wait for each of `members`.
fn spread(found: Waits, members: usize) -> Vec<Result<i64, Unbounded>> {
    match found {
        Ok(found) => found.into_iter().map(Ok).collect(),
        Err(unbounded) => alloc::vec![Err(unbounded); members],
    }
}

/// Returns the wait of one member of a place, by its position among them, from loads that are not
/// those of one busy period; see [`Class::is_whole`]. Places that choose by a layer or by deadlines
/// return an error.
pub(crate) fn wait_of(
    plant: &Plant,
    server: u32,
    loads: &[Load],
    member: usize,
) -> Result<i64, Unbounded> {
    let place = &plant.servers[server as usize];
    let is_plain = place.discipline.is_none() && !place.selects_by_deadline();
    if place.obstacle.is_some() || !is_plain {
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
pub(crate) struct Port<'a> {
    selection: Selection,
    /// Highest queue of the port.
    top: u8,
    loads: &'a [Load],
    queues: &'a [(u8, Range<usize>)],
    is_whole: bool,
}

/// Waits, in the order of their loads.
pub(crate) type Waits = Result<Vec<i64>, Unbounded>;

impl<'a> Port<'a> {
    fn new(
        plant: &Plant,
        server: u32,
        loads: &'a [Load],
        queues: &'a [(u8, Range<usize>)],
    ) -> Self {
        let (selection, top) = match plant.servers[server as usize].kind {
            ServerKind::Switch { selection, top, .. } => (selection, top),
            ServerKind::Station(_)
            | ServerKind::Stack { .. }
            | ServerKind::Tasks { .. }
            | ServerKind::Smoother(_) => (Selection::Fcfs, 0),
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
            // `by_deadline` handles deadlines.
            Selection::Fcfs | Selection::EarliestDeadline => self.waits(queue, 0, |_| false),
            Selection::StrictPriority => self.strict(queue),
            Selection::Wrr { weights } => self.by_turns(queue, weights, None),
            Selection::StrictWrr { .. } if queue == self.top => self.strict(queue),
            Selection::StrictWrr { weights } => self.by_turns(queue, weights, Some(self.top)),
        }
    }

    /// Returns the waits of `queue`, in load order, when `base` work is in front and the queues
    /// selected by `is_higher` go first.
    pub(crate) fn waits(&self, queue: u8, base: i64, is_higher: impl Fn(u8) -> bool) -> Waits {
        self.waits_with(queue, base, 0, is_higher)
    }

    /// The same if each frame of the queue brings `extra` work in addition to its own.
    pub(crate) fn waits_with(
        &self,
        queue: u8,
        base: i64,
        extra: i64,
        is_higher: impl Fn(u8) -> bool,
    ) -> Waits {
        let own = self.of(|other| other == queue);
        let mut heavier: Vec<Load> = own.iter().map(|load| load.with(extra)).collect();
        let mut higher = self.of(is_higher);
        waits_in(&own, base, &mut heavier, &mut higher, self.is_whole)
    }

    /// Returns the loads of the chosen queues.
    pub(crate) fn of(&self, chosen: impl Fn(u8) -> bool) -> Vec<Load> {
        let queues = self.queues.iter().filter(|(queue, _)| chosen(*queue));
        let loads = queues.flat_map(|(_, range)| &self.loads[range.clone()]);
        loads.copied().collect()
    }

    /// Returns the longest frame of the chosen queues.
    pub(crate) fn longest(&self, chosen: impl Fn(u8) -> bool) -> i64 {
        let own = self.of(chosen);
        own.iter().map(|load| load.cost).max().unwrap_or(0)
    }

    /// Returns the waits of a queue under strict priority without preemption.
    pub(crate) fn strict(&self, queue: u8) -> Waits {
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
                times(self.longest(|queue| queue == other), weight)
            })
            .fold(0, add);
        if round >= INFINITE {
            return until_empty;
        }
        let base = self.longest(takes_turns) + round - round / own;
        let extra = (round + own - 1) / own;
        let by_turns = self.waits_with(queue, base, extra, |other| Some(other) == strict);
        smaller(until_empty, by_turns)
    }
}

/// Returns the smaller of two waits for each packet.
pub(crate) fn smaller(one: Waits, other: Waits) -> Waits {
    match (one, other) {
        (Ok(a), Ok(b)) => Ok(a.into_iter().zip(b).map(|(a, b)| a.min(b)).collect()),
        (Ok(one), Err(_)) | (_, Ok(one)) => Ok(one),
        (_, Err(unbounded)) => Err(unbounded),
    }
}

/// Returns the waits of `own` packets in order of arrival behind `base`, where `all` are the
/// arrivals of their class and `higher` those ahead of them.
pub(crate) fn waits_behind(
    own: &[Load],
    base: i64,
    all: &mut [Load],
    higher: &mut [Load],
) -> Waits {
    waits_in(own, base, all, higher, false)
}

/// The same; `is_whole` as [`Class::is_whole`].
fn waits_in(
    own: &[Load],
    base: i64,
    all: &mut [Load],
    higher: &mut [Load],
    is_whole: bool,
) -> Waits {
    let mut costs: Vec<i64> = own.iter().map(|load| load.least).collect();
    costs.sort_unstable();
    costs.dedup();
    // A smaller own cost gives a larger wait, so that it can stand for larger ones.
    let each = costs.len().div_ceil(COSTS_MAX).max(1);
    let costs: Vec<i64> = costs.into_iter().step_by(each).collect();
    let found = waits(&mut Class {
        base,
        own: all,
        higher,
        costs: &costs,
        is_whole,
    })?;
    let wait_of = |load: &Load| found[costs.partition_point(|&cost| cost <= load.least) - 1];
    Ok(own.iter().map(wait_of).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::curve::ONE;
    use alloc::vec;

    /// Oracle: by hand. Packets of one link keep their spacing, so that there is at most 10 ps of
    /// work, of which a packet of 2 ps finds 8 in front, even if its flow also has packets of 10.
    #[test]
    fn the_small_packet_of_a_flow_waits_longest() {
        let load = |least| Load {
            cost: 10,
            least,
            period: 1_000,
            burst: 1,
            packets: 1,
            jitter: 0,
            group: 1,
            ratio: ONE,
            spacing: 10,
            slack: 0,
            visit: 0,
            in_flight: 0,
        };
        let port = Port {
            selection: Selection::Fcfs,
            top: 0,
            loads: &[load(10), load(2)],
            queues: &[(0, 0..2)],
            is_whole: false,
        };
        assert_eq!(port.waits(0, 0, |_| false), Ok(vec![0, 8]));
    }
}
