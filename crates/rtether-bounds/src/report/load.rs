//! Load and memory of one place.
//!
//! **Windows.** At a place of any discipline there are never more packets than these: of a connection
//! its window and its acknowledgements ([`crate::window`]), which is a limit on what is under way
//! anywhere, however long it waits here and below whatever priority; of any other flow those that
//! arrive while one of its packets may stay. *Proof* by the first moment at which there are more, or
//! a wait exceeds its bound, or a retransmission timer fires: until then nothing was sent twice. What
//! arrived before the longest stay has left. The timers are part of the solution, which takes no flow
//! for limited by its window whose round trip is not below its timeout ([`crate::solve`]); so are
//! lost packets, apart from those that find no memory: like every bound, this one holds as long as no
//! buffer overflows, and so proves that none does where it is below the memory everywhere: the first
//! packet for which there was no room would have come before anything was lost.

use alloc::vec::Vec;

use rtether_model::network::NodeId;
use rtether_model::quantity::{Bytes, Duration};
use rtether_model::record::Segment;

use crate::analysis::StackBound;
use crate::curve::Load;
use crate::discipline::Discipline;
use crate::frame::wire_octets;
use crate::index::NONE;
use crate::plant::{Plant, Server, ServerKind};
use crate::solution::Solution;
use crate::source::{INFINITE, add, times};
use crate::wait::{Class, backlog, exact_rate, millionths, waits};
use crate::window::under_way;

/// Load offered to a place.
pub(super) struct PlaceLoad {
    pub(super) utilization_ppm: Option<u64>,
    /// Work in picoseconds.
    pub(super) backlog: Option<i64>,
    /// Packets, by what each flow may have there.
    packets: Option<u64>,
    pub(super) queueing: Option<Duration>,
}

impl PlaceLoad {
    pub(super) fn of(plant: &Plant, solution: &Solution, server: u32, loads: &mut [Load]) -> Self {
        let place = &plant.servers[server as usize];
        let is_known = place.obstacle.is_none();
        let is_limited = |load: &Load| {
            let limit = plant.limits.get(plant.visits[load.visit as usize].limit as usize);
            let is_smoothed = limit.is_some_and(crate::output_limit::Limit::is_rate);
            plant.source_of(load.visit).is_limited() || (is_smoothed && load.is_limited())
        };
        let utilization_ppm = loads.iter().all(is_limited).then(|| utilization(loads));
        let waits = loads.iter().map(|load| solution.wait[load.visit as usize]);
        let longest = waits.max().unwrap_or(0);
        let stays = stays(plant, solution, server, loads);
        let counted = |worth: fn(&Load) -> i64| {
            let found = counted(plant, solution, server, loads, worth);
            found.filter(|&all| is_known && all < INFINITE)
        };
        let (work, packets) = (counted(|load| load.cost), counted(|_| 1));
        let mut by_rates = || {
            let found = backlog(loads).ok();
            found.filter(|&work| is_known && work < INFINITE)
        };
        Self {
            utilization_ppm,
            queueing: (longest < INFINITE).then(|| Duration::from_ps(longest)),
            backlog: match stays {
                Some(Stays::InOrder(work)) => Some(work),
                Some(Stays::ByClass(work)) => by_rates().into_iter().chain([work]).min(),
                None if place.curve.pauses => work,
                None => by_rates().into_iter().chain(work).min(),
            },
            packets: packets.and_then(|packets| u64::try_from(packets).ok()),
        }
    }

    pub(super) fn processor(
        &self,
        plant: &Plant,
        node: NodeId,
        segment: Segment,
        loads: &mut [Load],
    ) -> StackBound {
        let pauses = loads.first().is_some_and(|load| {
            let server = plant.visits[load.visit as usize].server;
            plant.servers[server as usize].curve.pauses
        });
        let is_bundled = loads.iter().any(|load| load.packets != load.burst);
        let waiting = match self.backlog {
            Some(_) if pauses || is_bundled => self.packets,
            Some(work) => [waiting(loads, work)].into_iter().chain(self.packets).min(),
            None => None,
        };
        StackBound {
            node,
            is_receiver: segment == Segment::ReceiveStack,
            segment,
            utilization_ppm: self.utilization_ppm,
            waiting,
            queueing: self.queueing,
        }
    }
}

/// Returns the work of loads in millionths of the time, rounded up once: a place that is exactly full is
/// not above.
fn utilization(loads: &mut [Load]) -> u64 {
    let mut each: Vec<Load> = loads.iter().map(|load| Load { group: NONE, ..*load }).collect();
    let exact = exact_rate(&mut each, 1_000_000);
    exact
        .and_then(|ppm| u64::try_from(ppm).ok())
        .unwrap_or_else(|| millionths(loads.iter().map(Load::rate).fold(0, i128::saturating_add)))
}

/// Returns what may be at a place at once if each packet counts what `worth` says: connections with
/// their window, other flows with their arrivals within their longest wait. `None` if that is
/// infinite.
fn counted(
    plant: &Plant,
    solution: &Solution,
    server: u32,
    loads: &[Load],
    worth: impl Fn(&Load) -> i64,
) -> Option<i64> {
    // There a packet may have to wait again after its service has begun.
    let is_preemptive = plant.servers[server as usize].discipline == Discipline::Preemptive;
    let wait_of = |load: &Load| {
        let service = if is_preemptive { load.cost } else { 0 };
        add(solution.wait[load.visit as usize], service)
    };
    let queue_of = |load: &Load| plant.visits[load.visit as usize].queue;
    let mut sum = under_way(loads, &worth);
    for load in loads.iter().filter(|load| load.in_flight == 0) {
        let wait = if load.is_of_limit {
            // It may stand for all flows of the queue that share its limit.
            let same = loads.iter().filter(|other| queue_of(other) == queue_of(load));
            same.map(wait_of).max().unwrap_or(INFINITE)
        } else {
            wait_of(load)
        };
        if wait >= INFINITE || !load.is_limited() {
            return None;
        }
        let packets = load.packets * ((wait + load.jitter) / load.period + 1);
        sum = add(sum, times(worth(load), packets));
    }
    Some(sum)
}

/// Work at a place at once, from the time that its packets stay.
enum Stays {
    /// In order of arrival.
    InOrder(i64),
    /// Summed over the classes.
    ByClass(i64),
}

/// Returns the work that may be at a place at once, if all its waits are finite.
///
/// **Theorem.** A class in order of arrival holds at most `wait + cost` work, for the flow where
/// this is largest. *Proof.* Work grows only at arrivals. A packet that arrives and finds itself
/// among work `b`, its own included, is served after the rest of it, so it waits for at least `b`
/// less its own work, regardless of other work there; and no packet waits longer than its bound.
/// Where all packets are in one order and nothing else is served, every flow's bound is the most
/// work there can be less its own and the copies behind it ([`Plant::behind`]), so that the smallest
/// sum also holds; but not where bounds leave out packets of a connection ([`crate::offset`]).
fn stays(plant: &Plant, solution: &Solution, server: u32, loads: &[Load]) -> Option<Stays> {
    let discipline = &plant.servers[server as usize].discipline;
    if !discipline.is_queue_by_queue() {
        return None;
    }
    let mut classes = [0i64; 8];
    let mut in_order = None;
    for load in loads {
        let wait = solution.wait[load.visit as usize];
        if wait >= INFINITE || load.cost >= INFINITE {
            return None;
        }
        let queue = usize::from(plant.visits[load.visit as usize].queue);
        classes[queue] = classes[queue].max(wait + load.cost);
        let work = wait + load.least + plant.behind(load.visit);
        in_order = Some(in_order.map_or(work, |other: i64| other.min(work)));
    }
    let work = in_order?;
    let is_prompt = |load: &Load| plant.is_prompt(plant.visits[load.visit as usize].flow);
    Some(if *discipline == Discipline::Fifo && !loads.iter().any(is_prompt) {
        Stays::InOrder(work)
    } else {
        Stays::ByClass(classes.into_iter().fold(0, add))
    })
}

/// Returns the work that may be in each queue of a port at once, by the theorem of [`stays`], which
/// needs only that each queue is served in order of arrival; `None` where a wait is infinite. Empty if
/// it is not the port of a switch with queues.
pub(super) fn by_queue(
    plant: &Plant,
    solution: &Solution,
    server: &Server,
    loads: &[Load],
) -> impl Iterator<Item = Option<i64>> {
    let mut queues: Vec<Option<i64>> = Vec::new();
    // Elsewhere queues are no more than classes of the analysis.
    let has_queues =
        matches!(server.kind, ServerKind::Switch(_)) && server.discipline != Discipline::Deadline;
    for load in loads.iter().filter(|_| has_queues) {
        let queue = usize::from(plant.visits[load.visit as usize].queue);
        let wait = solution.wait[load.visit as usize];
        let stay = add(wait, load.cost);
        if queues.len() <= queue {
            queues.resize(queue + 1, Some(0));
        }
        let known = &mut queues[queue];
        *known = known.filter(|_| stay < INFINITE).map(|own| own.max(stay));
    }
    queues.into_iter()
}

/// Returns the octets of frames that make up this much work at a port.
///
/// Each frame brings overhead, which takes no memory: the ratio of memory to work is largest for
/// the longest frame.
pub(super) fn octets(plant: &Plant, index: u32, server: &Server, work: i64) -> Bytes {
    let members = plant.members.of(index).iter();
    let longest = members
        .map(|&visit| plant.visits[visit as usize].service.max() / server.curve.octet.max(1))
        .max()
        .unwrap_or(0);
    let frame = longest - wire_octets(0);
    let wire = i128::from(work) / i128::from(server.curve.octet.max(1));
    let octets = wire * i128::from(frame.max(0)) / i128::from(longest.max(1));
    Bytes::new(u64::try_from(octets).unwrap_or(u64::MAX))
}

/// Returns how many packets may wait where there is this much work: as if each took as long as the
/// longest, if the place is not overloaded by that; otherwise as if all were the shortest.
fn waiting(loads: &mut [Load], work: i64) -> u64 {
    let longest = loads.iter().map(|load| load.cost).max().unwrap_or(0);
    let shortest = loads.iter().map(|load| load.least).min().unwrap_or(0);
    let heavier = loads.iter().map(|load| load.with(longest - load.least));
    let mut heavier: Vec<Load> = heavier.collect();
    let found = waits(&mut Class {
        base: 0,
        own: &mut heavier,
        higher: &mut [],
        costs: &[longest],
        is_whole: false,
    });
    // The work present when a packet arrives, itself included, is its wait plus its service.
    let packets = match found {
        Ok(found) => (found[0] + longest) / longest.max(1) + 1,
        Err(_) => work / shortest.max(1) + 1,
    };
    u64::try_from(packets).unwrap_or(u64::MAX)
}
