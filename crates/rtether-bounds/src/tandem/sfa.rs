//! One flow, separated from the others: its own jitter counts once, not at every place.
//!
//! **Theorem.** Let `r(n)` be the release of packet `n` of a flow, let all its packets arrive at a
//! place no later than `r(n) + S`, and let `T` be the longest wait there as if the flow came with
//! the jitter of its release instead of its own, over all lengths of a window. Then each begins its
//! service no later than `r(n) + S + T`.
//! *Proof.* Let the packet arrive at `s + t`, where its busy period begins at `s`, and let `q`
//! earlier packets of the flow have come in it. Its service begins at most `u(q, t)` after `s`,
//! where `u` is the function that gives the waits (`wait`): the work in front in a window of length
//! `t` and, with priorities, of higher classes until then. `u` grows with `q` and `t`. The first of
//! the `q` arrived at `s` or later and was released at `s - S` or later, so that
//! `r(n) + S >= s + g`, where `g` is the least time between the first and the last of `q + 1`
//! releases; and `r(n) + S >= s + t`. With `x = max(g, t)` the service begins at most `u(q, x) - x`
//! after `r(n) + S`, and since `g <= x` the jitter of the release allows at least `q` packets
//! besides this one in a window of length `x`. So this is at most `T`. The limits of links count as
//! well, since they hold for all arrivals and grow with `t`.
//!
//! In other words, a packet that comes early has time. `x` may be longer than a busy period with
//! the smaller jitter, so that all windows count ([`crate::wait::Class::is_whole`]). In terms of
//! holistic analysis (Tindell and Clark 1994) the wait is counted from the nominal release; in
//! terms of network calculus the flow pays its burst once (separated flow analysis; Le Boudec and
//! Thiran, 1.4.3), and for reshaped flows this is known as "reshaping is for free" (Le Boudec
//! 2018).
//!
//! **The only packet.** Where the releases of the flow are further apart than all windows that
//! count, `q` is zero in them, and the packet is not the first from its link if any other from
//! there comes in front of it. So the work in front from that link is at most the longest of the
//! others plus what the link lets through, less the packet's own work, or zero. This helps if the
//! packet is longer than all others from its link, because it otherwise counts as the first one. In
//! windows beyond the time at which all possible arrivals are done nothing waits, for any `q`.
//!
//! Since the wait of a flow grows with the jitters of the others, and these with their waits,
//! smaller waits lead to even smaller ones. Each round starts with valid jitters, so its results
//! are valid.

use alloc::vec::Vec;

use crate::curve::Load;
use crate::discipline::Discipline;
use crate::evaluate::wait_of;
use crate::index::NONE;
use crate::plant::{Plant, ServerKind};
use crate::solution::Solution;
use crate::solve::loads_of;
use crate::source::{INFINITE, add};
use crate::tandem::exchange::Exchanges;
use crate::wait::{caught_up, wait_of_only};

/// Largest number of rounds.
const ROUNDS: u32 = 4;

/// Waits from the latest arrival of each packet, and jitters, by visit.
pub(crate) struct Separated {
    pub(crate) wait: Vec<i64>,
    pub(crate) jitter: Vec<i64>,
    pub(crate) drift: Vec<i64>,
}

impl Separated {
    /// Starts with the waits and jitters of total flow analysis, or of requests and replies taken
    /// together, and reduces them.
    pub(crate) fn new(plant: &Plant, solution: &Solution, exchanges: Option<&Exchanges>) -> Self {
        let all = match exchanges {
            Some(found) => [&found.wait, &found.jitter, &found.drift],
            None => [&solution.wait, &solution.jitter, &solution.drift],
        };
        let [wait, jitter, drift] = all.map(Clone::clone);
        let mut separated = Self { wait, jitter, drift };
        for _ in 0..ROUNDS {
            if !separated.improve(plant) {
                break;
            }
            separated.hand_on(plant);
        }
        separated
    }

    /// Recomputes the waits; returns whether any has become smaller.
    fn improve(&mut self, plant: &Plant) -> bool {
        let mut is_better = false;
        let mut loads = Vec::new();
        for (server, place) in (0u32..).zip(&plant.servers) {
            // The theorem covers neither layers nor deadlines.
            if !place.discipline.is_queue_by_queue() {
                continue;
            }
            loads_of(plant, (&self.jitter, &self.drift), server, &mut loads);
            for load in &mut loads {
                // Windows of packets under way hold for real arrivals only.
                load.in_flight = 0;
            }
            for (member, &visit) in plant.members.of(server).iter().enumerate() {
                let real = loads[member];
                // The theorem counts releases; a limit on the way holds for arrivals only.
                if real.is_of_limit || self.is_settled(plant, visit) {
                    continue;
                }
                loads[member] = Load { jitter: plant.source_of(visit).jitter, ..real };
                let found = if self.may_gain(plant, visit) {
                    wait_of(plant, server, &loads, member).ok()
                } else {
                    None
                };
                let found = found.into_iter().chain(only(plant, server, &loads, member));
                loads[member] = real;
                let wait = &mut self.wait[visit as usize];
                if let Some(found) = found.min().filter(|found| found < wait) {
                    *wait = found;
                    is_better = true;
                }
            }
        }
        is_better
    }

    /// Returns whether nothing can be gained.
    fn is_settled(&self, plant: &Plant, visit: u32) -> bool {
        let (wait, jitter) = (self.wait[visit as usize], self.jitter[visit as usize]);
        let is_closed = plant.source_of(visit).closed.is_some();
        // What a timer releases has no release of its flow.
        let limit = plant.limit_of(&plant.visits[visit as usize]);
        let is_closed = is_closed || limit.is_some_and(|limit| limit.is_timer);
        wait == 0 || wait >= INFINITE || jitter >= INFINITE || is_closed
    }

    /// Guesses whether a smaller jitter means fewer packets in the window of the longest wait. That
    /// window is not known; it is taken as twice the wait and the packet's service. A wrong guess
    /// leaves the wait as it was, which is valid. For the 6000 flows of the example `avionics` it
    /// saves more than half of the time of all methods.
    fn may_gain(&self, plant: &Plant, visit: u32) -> bool {
        let source = plant.source_of(visit);
        let (wait, jitter) = (self.wait[visit as usize], self.jitter[visit as usize]);
        let reach = 2 * (wait + plant.visits[visit as usize].service.max());
        jitter > source.jitter && (jitter + reach) / source.period > source.jitter / source.period
    }

    /// Computes the jitters from the waits.
    fn hand_on(&mut self, plant: &Plant) {
        for (index, visit) in plant.visits.iter().enumerate() {
            if visit.parent == NONE {
                continue;
            }
            let parent = visit.parent as usize;
            let before = add(self.jitter[parent], self.wait[parent]);
            let after = add(before, visit.gap.varies());
            self.jitter[index] = after.min(self.jitter[index]);
        }
    }
}

/// Returns the wait of a packet that is the only one of its flow, and longer than all others from
/// the same link; `None` if that gains nothing, or there may be a second packet.
pub(crate) fn only(plant: &Plant, server: u32, loads: &[Load], member: usize) -> Option<i64> {
    let own = loads[member];
    if own.group == NONE || own.burst > 1 || !is_in_order(plant, server, own.group) {
        return None;
    }
    let least = plant.visits[own.visit as usize].service.min();
    let others = loads.iter().filter(|load| load.visit != own.visit);
    let same = others.clone().filter(|load| load.group == own.group);
    let longest = same.map(|load| load.cost).max()?;
    if longest >= least || own.period - own.jitter < caught_up(&mut loads.to_vec()).ok()? {
        return None;
    }
    // The packet itself also passes the line.
    let mut others: Vec<Load> = others.copied().collect();
    for load in others.iter_mut().filter(|load| load.group == own.group) {
        load.ratio = load.ratio.max(own.ratio);
        load.slack = load.slack.max(own.slack);
    }
    wait_of_only(&mut others, own.group, least).ok()
}

/// Returns whether a place serves in order of arrival what the place `before` it sends in whole
/// packets: with cut-through, all but the last packet of a window were served within it.
fn is_in_order(plant: &Plant, server: u32, before: u32) -> bool {
    let server = &plant.servers[server as usize];
    let is_whole = !plant.servers[before as usize].is_cut_through;
    let is_task = matches!(server.kind, ServerKind::Tasks { .. });
    let is_in_order = server.discipline == Discipline::Fifo && !is_task;
    is_whole && is_in_order && server.obstacle.is_none()
}
