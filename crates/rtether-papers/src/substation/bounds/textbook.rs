//! Leaky buckets and staircases, hop by hop, in order of arrival.
//!
//! All times are in picoseconds. A place does one picosecond of work per picosecond; a packet of
//! flow i brings C(i), and the packets of a flow have period T(i) and arrive at the place with
//! jitter J(i). D is the delay bound of a place, from arrival to end of service:
//!
//! - Leaky buckets. In any window of length t at most b(i) + C(i) t / T(i) arrives, with b(i) =
//!   C(i) (1 + J(i) / T(i)), since ceil(x) < 1 + x. If the rates do not exceed the capacity, the
//!   backlog never exceeds the sum of bursts, and a packet that finds it leaves after that time: D
//!   = sum b. At the next place packets of the flow are late by up to J + D, which makes the burst
//!   grow by rate times delay.
//! - Staircases. In a closed window of length t at most C(i) (floor((t + J(i)) / T(i)) + 1)
//!   arrives. A packet that arrives a time t after the start of its busy period waits for all other
//!   work that has arrived by then, minus the t already done: the wait is at most the largest such
//!   difference, attained at a step of some flow, and busy periods are no longer than the least L
//!   for which the work in a half-open window of length L is at most L. At the next place J grows
//!   by the wait.
//!
//! Jitter that depends on itself through shared stacks is iterated from zero to the least fixed
//! point. This is a bound by induction over events: the first packet to exceed its jitter would
//! have met only packets that do not.

use std::collections::BTreeMap;

use rtether_bounds::Analysis;
use rtether_model::flow::Traffic;
use rtether_model::network::{PortId, Stack};
use rtether_model::quantity::Duration;
use rtether_model::record::{Place, Segment};
use rtether_model::route::Routing;
use rtether_model::wire;

use rtether::scenario::Scenario;

/// Most iterations towards the fixed point of the jitter.
const ROUNDS_MAX: u32 = 1_000;

/// A basic method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    /// Leaky buckets.
    NetworkCalculus,
    /// Staircases.
    Scheduling,
}

/// One flow at one place.
#[derive(Clone, Copy, Debug)]
struct Visit {
    place: usize,
    period: i64,
    cost: i64,
    /// From the start of service to the next place.
    passage: i64,
}

/// Paths of all streams through places that serve in order of arrival.
pub(super) struct Plant {
    streams: Vec<Vec<Visit>>,
    release_jitter: Vec<i64>,
    places: usize,
}

impl Plant {
    /// Takes the paths from the hops of an analysis; `None` if a stream has no bound, is not
    /// periodic or has a reply, or a stack is not a single processor for both directions.
    pub(super) fn new(scenario: &Scenario, analysis: &Analysis) -> Option<Self> {
        let routing = Routing::new(&scenario.network);
        let mut places = BTreeMap::new();
        let mut plant = Self { streams: Vec::new(), release_jitter: Vec::new(), places: 0 };
        for stream in &analysis.streams {
            let flow = &scenario.flows[stream.flow.index()];
            let Traffic::Periodic { period, release_jitter, .. } = flow.traffic else {
                return None;
            };
            let is_plain = flow.reply.is_none() && flow.tag.is_none() && flow.listeners.len() == 1;
            let frame = wire::frame_size(flow.payload, flow.encapsulation);
            let mut visits = Vec::new();
            for hop in &stream.bound.as_ref().ok()?.hops {
                let (key, cost) = match stack_of(scenario, hop.place) {
                    Some(Stack::IpRate { service }) => ((hop.place.port.node, None), *service),
                    Some(_) => return None,
                    None => {
                        let port: PortId = hop.place.port;
                        let link = &scenario.network.links[routing.link_at(port)?.index()];
                        let time = wire::occupancy(frame, link.rate);
                        ((port.node, Some(port.port)), time)
                    }
                };
                let number = places.len();
                visits.push(Visit {
                    place: *places.entry(key).or_insert(number),
                    period: period.as_ps(),
                    cost: cost.as_ps(),
                    passage: hop.passage.as_ps(),
                });
            }
            is_plain.then_some(())?;
            plant.streams.push(visits);
            plant.release_jitter.push(release_jitter.as_ps());
        }
        plant.places = places.len();
        Some(plant)
    }

    /// Returns the bound of each stream; `None` if a place is overloaded or the jitter has no fixed
    /// point within [`ROUNDS_MAX`] iterations.
    pub(super) fn solve(&self, method: Method) -> Option<Vec<Duration>> {
        let mut waits: Vec<Vec<i64>> = self.streams.iter().map(|s| vec![0; s.len()]).collect();
        for _ in 0..ROUNDS_MAX {
            let loads = self.loads(method, &waits);
            let mut delays = Vec::new();
            for load in &loads {
                delays.push(method.delay(load)?);
            }
            let mut has_changed = false;
            for (visits, waits) in self.streams.iter().zip(&mut waits) {
                for (visit, wait) in visits.iter().zip(waits) {
                    let longer = delays[visit.place] - visit.cost;
                    has_changed |= longer != *wait;
                    *wait = longer;
                }
            }
            if !has_changed {
                let totals = self.streams.iter().zip(&waits).map(|(visits, waits)| {
                    let passages: i64 = visits.iter().map(|visit| visit.passage).sum();
                    Duration::from_ps(passages + waits.iter().sum::<i64>())
                });
                return Some(totals.collect());
            }
        }
        None
    }

    /// Returns the load of each place: cost, period and jitter of every visit.
    fn loads(&self, method: Method, waits: &[Vec<i64>]) -> Vec<Vec<Load>> {
        let mut loads = vec![Vec::new(); self.places];
        let streams = self.streams.iter().zip(waits).zip(&self.release_jitter);
        for ((visits, waits), &release) in streams {
            let mut jitter = release;
            for (visit, wait) in visits.iter().zip(waits) {
                loads[visit.place].push(Load { cost: visit.cost, period: visit.period, jitter });
                jitter += match method {
                    Method::NetworkCalculus => wait + visit.cost,
                    Method::Scheduling => *wait,
                };
            }
        }
        loads
    }
}

fn stack_of(scenario: &Scenario, place: Place) -> Option<&Stack> {
    let is_stack = matches!(place.segment, Segment::TalkerStack | Segment::ReceiveStack);
    let station = scenario.network.end_station(place.port.node)?;
    is_stack.then_some(&station.stack)
}

/// One flow as it arrives at one place.
#[derive(Clone, Copy, Debug)]
struct Load {
    cost: i64,
    period: i64,
    jitter: i64,
}

impl Load {
    /// Returns the work that arrives in a closed window.
    const fn within(&self, span: i64) -> i64 {
        self.cost * ((span + self.jitter) / self.period + 1)
    }

    /// Returns the work that arrives in a half-open window.
    const fn before(&self, span: i64) -> i64 {
        let (whole, rest) =
            ((span + self.jitter) / self.period, (span + self.jitter) % self.period);
        self.cost * (whole + if rest > 0 { 1 } else { 0 })
    }
}

impl Method {
    /// Returns the longest time from arrival to end of service; `None` at overload.
    fn delay(self, loads: &[Load]) -> Option<i64> {
        // In units of 2^-40, rounded up.
        let share = |load: &Load| (i128::from(load.cost) << 40) / i128::from(load.period) + 1;
        if loads.iter().map(share).sum::<i128>() >= 1 << 40 {
            return None;
        }
        match self {
            Self::NetworkCalculus => {
                let burst = |load: &Load| {
                    let growth = i128::from(load.cost) * i128::from(load.jitter);
                    let period = i128::from(load.period);
                    load.cost + i64::try_from((growth + period - 1) / period).unwrap_or(i64::MAX)
                };
                Some(loads.iter().map(burst).sum())
            }
            Self::Scheduling => {
                let end = busy_period(loads);
                let work = |at: i64| loads.iter().map(|load| load.within(at)).sum::<i64>();
                let steps = loads.iter().flat_map(|load| {
                    // The first step after the start, then one per period.
                    let first = load.period - load.jitter % load.period;
                    (0i64..).map(move |n| first + n * load.period).take_while(|at| *at < end)
                });
                let later = steps.map(|at| work(at) - at).max().unwrap_or(0);
                Some(work(0).max(later))
            }
        }
    }
}

/// Returns the length of the longest busy period; the load must be below one.
fn busy_period(loads: &[Load]) -> i64 {
    let mut length: i64 = loads.iter().map(|load| load.within(0)).sum();
    loop {
        let longer = loads.iter().map(|load| load.before(length)).sum();
        if longer <= length {
            return length;
        }
        length = longer;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn load(cost: i64, period: i64, jitter: i64) -> Load {
        Load { cost, period, jitter }
    }

    /// Oracle: by hand.
    #[test]
    fn delays_of_one_place_by_hand() {
        // Two packets at once: three and four units. No more arrive while they are served.
        let loads = [load(3, 10, 0), load(4, 20, 0)];
        assert_eq!(Method::Scheduling.delay(&loads), Some(7));
        assert_eq!(Method::NetworkCalculus.delay(&loads), Some(7));
        // Jitter of half a period lets a second packet of the first flow follow 5 after the first:
        // the bucket grows by 1.5, the staircase has 3 + 4 at once and then 10 - 5.
        let loads = [load(3, 10, 5), load(4, 20, 0)];
        assert_eq!(Method::Scheduling.delay(&loads), Some(7));
        assert_eq!(Method::NetworkCalculus.delay(&loads), Some(9));
        // A full period of jitter: two at once in both.
        let loads = [load(3, 10, 10), load(4, 20, 0)];
        assert_eq!(Method::Scheduling.delay(&loads), Some(10));
        assert_eq!(Method::NetworkCalculus.delay(&loads), Some(10));
        assert_eq!(Method::Scheduling.delay(&[load(10, 10, 0)]), None);
    }
}
