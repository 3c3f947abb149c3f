//! The waits at one server.
//!
//! **Copies for a list of listeners.** A flow may send one packet to each of several listeners, in
//! the order of the list. Where all copies of a release come at once, in one queue in order of
//! arrival, a copy does not wait for those behind it.
//! *Proof.* The wait of a packet that comes at `t` is bounded by the arrivals of its class in
//! `[0, t]` ([`crate::wait`]). The copies of its release come at `t` as well, so each of those
//! behind it is one of the packets counted for its own listener, but is not in front. Without their
//! work the least solution is smaller by at least as much, since what higher classes bring does not
//! grow when the span becomes shorter.

use alloc::vec::Vec;
use core::ops::Range;

use crate::curve::Load;
use crate::discipline::{Port, Visits, Waits};
use crate::offset::reduced;
use crate::plant::Plant;
use crate::wait::Unbounded;

/// Input and output of one evaluation, reused for the next.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    /// In the order of the server's members.
    pub(crate) loads: Vec<Load>,
    /// Waits of the members, in their order.
    pub(crate) waits: Vec<Result<i64, Unbounded>>,
}

impl Visits for Plant {
    fn sizes(&self, visit: u32) -> [i64; 2] {
        self.visits[visit as usize].sizes
    }

    fn local_deadline(&self, visit: u32) -> i64 {
        self.visits[visit as usize].due
    }
}

/// Computes the waits of all members of a server from their loads.
pub(crate) fn evaluate(plant: &Plant, server: u32, scratch: &mut Scratch) {
    scratch.waits.clear();
    let own = &plant.servers[server as usize];
    if own.obstacle.is_some() {
        let none = Err(Unbounded::Obstacle);
        scratch.waits.resize(scratch.loads.len(), none);
        return;
    }
    let queues = queues(plant, &scratch.loads);
    let port = Port {
        visits: plant,
        curve: own.curve,
        loads: &scratch.loads,
        queues: &queues,
        is_whole: false,
    };
    for (queue, range) in &queues {
        let found = own.discipline.waits(&port, *queue);
        scratch.waits.extend(spread(found, range.len()));
    }
    for (member, left) in reduced(plant, server, &scratch.loads, &queues) {
        let found = wait_with(plant, server, &scratch.loads, (member, &left));
        let wait = &mut scratch.waits[member];
        *wait = smaller(*wait, found);
    }
    if own.discipline.is_by_priority() && plant.has_copies() {
        let members = plant.members.of(server);
        for (wait, &visit) in scratch.waits.iter_mut().zip(members) {
            if let Ok(wait) = wait {
                *wait = (*wait - plant.behind(visit)).max(0);
            }
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

/// Returns the wait of one member of a server, by its position among them, from loads that are not
/// those of one busy period; see [`crate::wait::Class::is_whole`]. An error unless the server serves
/// queue by queue.
pub(crate) fn wait_of(
    plant: &Plant,
    server: u32,
    loads: &[Load],
    member: usize,
) -> Result<i64, Unbounded> {
    let own = &plant.servers[server as usize];
    if !own.discipline.is_queue_by_queue() {
        return Err(Unbounded::Obstacle);
    }
    wait_at(plant, server, (loads, true), member)
}

/// Returns the wait of one visit if only some of a server's members come, in their order.
pub(crate) fn wait_among(
    plant: &Plant,
    server: u32,
    loads: &[Load],
    member: usize,
) -> Result<i64, Unbounded> {
    let mut wait = wait_at(plant, server, (loads, false), member);
    let all = reduced(plant, server, loads, &queues(plant, loads));
    if let Some((_, left)) = all.iter().find(|own| own.0 == member) {
        wait = smaller(wait, wait_with(plant, server, loads, (member, left)));
    }
    let wait = wait?;
    let is_behind =
        plant.servers[server as usize].discipline.is_by_priority() && plant.has_copies();
    let behind = if is_behind { plant.behind(loads[member].visit) } else { 0 };
    Ok((wait - behind).max(0))
}

/// Returns the wait of a member if only the loads at these positions come, among them its own.
fn wait_with(
    plant: &Plant,
    server: u32,
    loads: &[Load],
    (member, positions): (usize, &[usize]),
) -> Result<i64, Unbounded> {
    let left: Vec<Load> = positions.iter().map(|&at| loads[at]).collect();
    let member = positions.iter().position(|&at| at == member);
    let member = member.ok_or(Unbounded::Obstacle)?;
    wait_at(plant, server, (&left, false), member)
}

/// Returns the smaller of two waits of a packet.
fn smaller(one: Result<i64, Unbounded>, other: Result<i64, Unbounded>) -> Result<i64, Unbounded> {
    match (one, other) {
        (Ok(one), Ok(other)) => Ok(one.min(other)),
        (Err(_), Ok(other)) => Ok(other),
        (one, Err(_)) => one,
    }
}

/// Returns the wait of one of these loads; the flag is that of [`crate::wait::Class::is_whole`].
fn wait_at(
    plant: &Plant,
    server: u32,
    (loads, is_whole): (&[Load], bool),
    member: usize,
) -> Result<i64, Unbounded> {
    let own = &plant.servers[server as usize];
    if own.obstacle.is_some() {
        return Err(Unbounded::Obstacle);
    }
    let queues = queues(plant, loads);
    let port = Port { visits: plant, curve: own.curve, loads, queues: &queues, is_whole };
    let of_member = queues.iter().find(|(_, range)| range.contains(&member));
    let (queue, range) = of_member.ok_or(Unbounded::Obstacle)?;
    Ok(own.discipline.waits(&port, *queue)?[member - range.start])
}

/// Returns the queues of a server with the positions of their loads.
pub(crate) fn queues(plant: &Plant, loads: &[Load]) -> Vec<(u8, Range<usize>)> {
    let mut queues: Vec<(u8, Range<usize>)> = Vec::new();
    for (load, index) in loads.iter().zip(0..) {
        let queue = plant.visits[load.visit as usize].queue;
        match queues.last_mut() {
            Some((last, range)) if *last == queue => range.end = index + 1,
            _ => queues.push((queue, index..index + 1)),
        }
    }
    queues
}
