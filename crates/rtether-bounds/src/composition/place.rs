//! Contributions to the wait at one place.

use alloc::vec::Vec;
use core::cmp::Ordering;

use super::{Candidate, Composer, Share, ShareCause, split};
use crate::analysis::Method;
use crate::curve::Load;
use crate::discipline::Discipline;
use crate::discipline::receive::class_of;
use crate::evaluate::{wait_among, wait_of};
use crate::plant::{Plant, Server};
use crate::solve::loads_among;
use crate::tandem::sfa::only;

/// The waits of one method.
pub(super) struct At<'a> {
    plant: &'a Plant,
    waits: &'a [i64],
    /// Jitter and drift with which the waits place by place were found.
    total: (&'a [i64], &'a [i64]),
    /// The same for each flow separated from the others.
    separated: Option<(&'a [i64], &'a [i64])>,
}

impl<'a> At<'a> {
    pub(super) fn new(composer: &'a Composer, method: Method) -> Self {
        let (solution, refined) = (&composer.solution, &composer.refined);
        let is_total = matches!(method, Method::TotalFlow | Method::FixedPoint);
        let exchanges = refined.exchanges.as_ref().filter(|_| !is_total);
        let (wait, jitter, drift) = match exchanges {
            Some(found) => (&found.wait, &found.jitter, &found.drift),
            None => (&solution.wait, &solution.jitter, &solution.drift),
        };
        let own = (method == Method::SeparatedFlow).then_some(&refined.separated);
        Self {
            plant: &composer.plant,
            waits: own.map_or(wait, |own| &own.wait),
            total: (jitter, drift),
            separated: own.map(|own| (&own.jitter[..], &own.drift[..])),
        }
    }

    /// Returns the contributions to the wait at a visit, of which `less` does not count.
    pub(super) fn shares(&self, visit: u32, less: i64) -> Vec<Share> {
        let whole = self.waits[visit as usize] - less;
        if whole <= 0 {
            return Vec::new();
        }
        let server = self.plant.visits[visit as usize].server;
        let members = self.plant.members.of(server);
        let candidates = members.iter().zip(0..).map(|(&other, key)| {
            let own = &self.plant.visits[other as usize];
            Candidate {
                key,
                flow: own.flow,
                is_reply: self.is_reply(other),
                cause: self.cause(visit, other),
                cost: own.service.max(),
            }
        });
        let candidates: Vec<Candidate> = candidates.collect();
        let is_own = |other: &Candidate| members[other.key as usize] == visit;
        let (own, others): (Vec<_>, Vec<_>) = candidates.into_iter().partition(is_own);
        let Some(&own) = own.first() else {
            return Vec::new();
        };
        let mut positions = Vec::new();
        split(whole, own, others, |keys| {
            positions.clear();
            positions.extend_from_slice(keys);
            positions.push(own.key);
            positions.sort_unstable();
            let present = positions.iter().map(|&key| members[key as usize]);
            let present: Vec<u32> = present.collect();
            Some(self.wait(server, &present, visit)? - less)
        })
    }

    /// Returns the wait of a visit if only these members of its server come; `None` if it has no
    /// bound.
    fn wait(&self, server: u32, present: &[u32], visit: u32) -> Option<i64> {
        let plant = self.plant;
        let member = present.iter().position(|&other| other == visit)?;
        let mut loads = Vec::new();
        loads_among(plant, self.total, present, &mut loads);
        let together = wait_among(plant, server, &loads, member).ok();
        let Some(now) = self.separated else {
            return together;
        };
        // Those that separated flow analysis leaves alone.
        let limit = plant.limit_of(&plant.visits[visit as usize]);
        let is_timer = limit.is_some_and(|limit| limit.is_timer);
        let is_settled = plant.source_of(visit).closed.is_some() || is_timer;
        let discipline = &plant.servers[server as usize].discipline;
        if is_settled || !discipline.is_queue_by_queue() {
            return together;
        }
        loads_among(plant, now, present, &mut loads);
        for load in &mut loads {
            load.in_flight = 0;
        }
        if loads[member].is_of_limit {
            return together;
        }
        loads[member] = Load { jitter: plant.source_of(visit).jitter, ..loads[member] };
        let alone = wait_of(plant, server, &loads, member).ok();
        let only = only(plant, server, &loads, member);
        together.into_iter().chain(alone).chain(only).min()
    }

    /// Returns whether a visit is one of the way back.
    fn is_reply(&self, visit: u32) -> bool {
        self.plant.way_to(visit).any(|visit| visit.is_answer)
    }

    /// Returns how packets of another visit to the same place delay those of this one.
    fn cause(&self, visit: u32, other: u32) -> ShareCause {
        let visits = &self.plant.visits;
        let (own, other_visit) = (&visits[visit as usize], &visits[other as usize]);
        let server = &self.plant.servers[own.server as usize];
        if visit == other {
            return if server.curve.pauses { ShareCause::Pause } else { ShareCause::Own };
        }
        relation(server, own.queue, other_visit.queue)
    }
}

/// Returns how packets of another queue delay those of a queue.
pub(super) fn relation(server: &Server, own: u8, other: u8) -> ShareCause {
    let (own, other) = if matches!(server.discipline, Discipline::Receive(_)) {
        (class_of(own), class_of(other))
    } else {
        (own, other)
    };
    let take_turns = server.plan.as_ref().is_some_and(|plan| plan.take_turns(own, other));
    match other.cmp(&own) {
        Ordering::Equal => ShareCause::SameClass,
        Ordering::Less | Ordering::Greater if take_turns => ShareCause::OtherQueue,
        Ordering::Less => ShareCause::Lower,
        Ordering::Greater => ShareCause::Higher,
    }
}
