//! One bound for all flows from three numbers of a plant: how many places a way has, how busy the
//! busiest place is, and how much work may arrive at one of them at once.
//!
//! **Theorem** (after Charny and Le Boudec, *Delay bounds in a network with aggregate scheduling*,
//! 2000). Let no way have more than `h` places. Let flow `f` bring work `c` to place `i` for each
//! of its packets, `b` packets at a time, at least `p` apart but for a jitter `j`. Let `r` be the
//! largest `sum of b c / p` of a place, `s` the largest `sum of b c (1 + j / p)`, and let the time
//! from the beginning of service at a place to the arrival at the next vary by at most `g`. Let no
//! place be idle while a packet waits, and none interrupt a packet.
//! - If all places serve in order of arrival, `r < 1` and `r (h - 1) < 1`, no packet waits at any
//!   place for more than `W = (s + r (h - 1) g) / (1 - r (h - 1))`.
//! - In any other order, if `r h < 1`, none waits for more than
//!   `W = (s + r (h - 1) g) / (1 - r h)`.
//!
//! *Proof.* Of the packets that begin service before some moment, let `W` be the longest wait. At
//! the `m`-th place of its way, what a flow sends has been delayed by waits between 0 and `W` and
//! by times that vary by `g`, `m - 1 <= h - 1` times; so a closed window of length `t` there holds
//! at most `b ((t + j + (h - 1) (W + g)) / p + 1)` of its packets, and all flows bring at most
//! `a(t) = s + r (t + (h - 1) (W + g))`. In order of arrival, a packet waits for at most
//! `sup (a(t) - t)`, which is `a(0)` since `r < 1`: `W <= s + r (h - 1) (W + g)`. In any order it
//! begins before the place is idle again, hence within the length `L <= a(L)` of the busy period:
//! `W <= L <= (s + r (h - 1) (W + g)) / (1 - r)`. Both are solved for `W`, which is finite because
//! finitely many packets have begun before any moment. QED
//!
//! Where packets are held for an address before their first place, times vary `h` times, and `h g`
//! stands for `(h - 1) g`.
//!
//! The bound of [`crate::analyze`] is lower, since it knows each place. This one needs no more than
//! what can be said of a plant before it is drawn.

use alloc::vec::Vec;

use rtether_model::flow::{Flow, FlowId};
use rtether_model::network::Network;
use rtether_model::quantity::Duration;
use rtether_model::record::Place;

use crate::analysis::Reason;
use crate::curve::{ONE, PLACES};
use crate::discipline::Discipline;
use crate::index::NONE;
use crate::plant::{Plant, Stream, Visit};
use crate::report::place;
use crate::source::INFINITE;
use crate::whole;

/// What the plant as a whole says about the longest wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diameter {
    /// Places on the longest way: ports, and processors of stacks; with the answer, if there is
    /// one.
    pub places: u32,
    /// Offered work of the busiest place in millionths.
    pub utilization_ppm: u64,
    /// Most work that may arrive at a place at once.
    pub burst: Duration,
    /// Whether all places serve in order of arrival.
    pub is_in_order: bool,
    /// Longest wait at any place.
    pub wait: Duration,
    /// Number of places and longest time of each stream, in the order of [`crate::analyze`]; `None`
    /// for a stream that does not arrive.
    pub streams: Vec<Option<(u32, Duration)>>,
}

/// Why the diameter of a plant says nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiameterObstacle {
    /// A place on the ways has no bound at all, or arrivals have no limit.
    Reason(Reason),
    /// A place may be idle while a packet waits, or interrupts one.
    Discipline(Place),
    /// A rule may stop or demote a frame, so that its queue is not known.
    Rule,
    /// The busiest place is too busy for a way of this many places.
    Utilization {
        /// Places on the longest way.
        places: u32,
        /// Offered work of the busiest place in millionths.
        utilization_ppm: u64,
        /// What it would have to stay below.
        limit_ppm: u64,
    },
}

/// Returns what the diameter of a plant says.
///
/// # Panics
/// As [`crate::analyze`].
///
/// # Errors
/// The reason why it says nothing.
pub fn diameter(network: &Network, flows: &[Flow]) -> Result<Diameter, DiameterObstacle> {
    let (plant, _) = whole::solve(network, flows);
    if !plant.exceeded.is_empty() {
        return Err(DiameterObstacle::Rule);
    }
    let is_in_order = check_places(&plant)?;
    let (rate, burst) = busiest(&plant)?;
    let depths = depths(&plant);
    let places = depths.iter().copied().max().unwrap_or(0);
    // A packet may be held for an address before its first place, too.
    let is_held = |visit: &Visit| visit.parent == NONE && visit.gap.max > 0;
    let before = i128::from(plant.visits.iter().any(is_held));
    let steps = i128::from(places.saturating_sub(1));
    let spreads = plant.visits.iter();
    let spread = spreads.map(|visit| visit.gap.max - visit.gap.min).max();
    // Scaled by `ONE`, as the rate is.
    let moved = rate.saturating_mul((steps + before).saturating_mul(spread.unwrap_or(0).into()));
    let times = if is_in_order { places.saturating_sub(1).max(1) } else { places };
    if rate.saturating_mul(times.into()) >= ONE {
        return Err(DiameterObstacle::Utilization {
            places,
            utilization_ppm: parts_per_million(rate),
            limit_ppm: 1_000_000 / u64::from(times),
        });
    }
    let idle = ONE - rate.saturating_mul(if is_in_order { steps } else { places.into() });
    let wait = burst.saturating_mul(ONE).saturating_add(moved).saturating_add(idle - 1) / idle;
    let out_of_range = || DiameterObstacle::Reason(Reason::OutOfRange);
    let wait = i64::try_from(wait).map_err(|_| out_of_range())?;
    if wait >= INFINITE {
        return Err(out_of_range());
    }
    Ok(Diameter {
        places,
        utilization_ppm: parts_per_million(rate),
        burst: Duration::from_ps(i64::try_from(burst).map_err(|_| out_of_range())?),
        is_in_order,
        wait: Duration::from_ps(wait),
        streams: streams(&plant, wait, &depths),
    })
}

/// Returns whether all places that are visited serve in order of arrival.
fn check_places(plant: &Plant) -> Result<bool, DiameterObstacle> {
    let mut is_in_order = true;
    for visit in &plant.visits {
        let server = &plant.servers[visit.server as usize];
        if let Some(obstacle) = &server.obstacle {
            return Err(DiameterObstacle::Reason(obstacle.clone()));
        }
        match server.discipline {
            Discipline::Fifo => {}
            Discipline::Strict
            | Discipline::RoundRobin(_)
            | Discipline::Deficit(_)
            | Discipline::Deadline => is_in_order = false,
            Discipline::Credit(_)
            | Discipline::Access(_)
            | Discipline::Preemptive
            | Discipline::Receive(_)
            | Discipline::Driver(_)
            | Discipline::Gap
            | Discipline::Smoother(_) => {
                return Err(DiameterObstacle::Discipline(place(server, visit)));
            }
        }
        let source = &plant.sources[visit.flow as usize];
        if !source.is_limited() || plant.is_prompt(visit.flow) {
            return Err(DiameterObstacle::Reason(Reason::UnlimitedArrivals {
                flow: FlowId(visit.flow),
            }));
        }
    }
    Ok(is_in_order)
}

/// Returns the largest rate of work that arrives at a place, as a fixed-point number, and the most
/// that may arrive at once.
fn busiest(plant: &Plant) -> Result<(i128, i128), DiameterObstacle> {
    let mut found = (0, 0);
    for server in 0..u32::try_from(plant.servers.len()).unwrap_or(NONE) {
        let (mut rate, mut burst) = (0i128, 0i128);
        let visits = plant.members.of(server).iter();
        for visit in visits.map(|&visit| &plant.visits[visit as usize]) {
            let work = at_once(plant, visit);
            if visit.service.max() >= INFINITE {
                return Err(DiameterObstacle::Reason(Reason::OutOfRange));
            }
            let source = &plant.sources[visit.flow as usize];
            let (period, jitter) = (i128::from(source.period), i128::from(source.jitter));
            let late = divided(work.saturating_mul(jitter), period);
            rate = rate.saturating_add(divided(work.saturating_mul(ONE), period));
            burst = burst.saturating_add(work).saturating_add(late);
        }
        found = (rate.max(found.0), burst.max(found.1));
    }
    Ok(found)
}

/// Returns the work of the packets that one release brings to a place.
fn at_once(plant: &Plant, visit: &Visit) -> i128 {
    let packets = plant.sources[visit.flow as usize].burst;
    let packets = i128::from(packets).saturating_mul(visit.frames.into());
    packets.saturating_mul(visit.service.max().into())
}

/// Divides a non-negative number, rounding up.
fn divided(number: i128, by: i128) -> i128 {
    number.saturating_add(by - 1) / by
}

fn parts_per_million(rate: i128) -> u64 {
    let millionths = rate.saturating_mul(1_000_000).saturating_add(ONE / 2) >> PLACES;
    u64::try_from(millionths).unwrap_or(u64::MAX)
}

/// Returns by visit how many places the way has up to there.
fn depths(plant: &Plant) -> Vec<u32> {
    let mut depths: Vec<u32> = Vec::with_capacity(plant.visits.len());
    for visit in &plant.visits {
        // A visit comes behind the one before it.
        let before = depths.get(visit.parent as usize).copied().unwrap_or(0);
        depths.push(before + 1);
    }
    depths
}

/// Returns places and longest time of each stream, with this longest wait.
fn streams(plant: &Plant, wait: i64, depths: &[u32]) -> Vec<Option<(u32, Duration)>> {
    let time_of = |stream: &Stream| {
        let (last, end) = stream.end.as_ref().ok()?;
        let places = depths[*last as usize];
        // That of the first place is the time for which a packet is held for an address.
        let gaps = plant.way_to(*last).map(|visit| i128::from(visit.gap.max));
        let time = gaps.sum::<i128>() + i128::from(end.max) + i128::from(places) * i128::from(wait);
        let time = i64::try_from(time).ok().filter(|&time| time < INFINITE)?;
        Some((places, Duration::from_ps(time)))
    };
    let longest = |copies: &[Stream]| {
        let times = copies.iter().map(time_of);
        times.reduce(|one, other| Some(Ord::max(one?, other?)))?
    };
    plant.results().map(longest).collect()
}
