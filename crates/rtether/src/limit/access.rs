//! Closed forms of a shared medium, in addition to the simulation (R22, R23).
//!
//! The longest time of N trials follows from the standard; the probability that a frame needs that
//! many follows from the share of attempts that collided in the simulation, attempt by attempt.
//! Queues are not covered: the result is the access of one frame that is the next of its station.

use rtether_model::flow::{Flow, FlowId};
use rtether_model::network::{Backoff, Hub, NodeId};
use rtether_model::quantity::{BitRate, Duration};
use rtether_model::record::Record;
use rtether_model::wire::MAX_FRAME;

use super::smallest_deadline;
use crate::csma::{ATTEMPTS_MAX, Ranges};
use crate::domain::{Attempts, Domain};
use crate::scenario::Scenario;

/// Result of the standard for one collision domain and its tightest deadline.
#[derive(Clone, Debug, PartialEq)]
pub struct Access {
    /// Names of its hubs, or of the two ends of its link.
    pub medium: String,
    /// The flow with the smallest deadline there.
    pub flow: FlowId,
    /// Its deadline.
    pub deadline: Duration,
    /// Accesses to the medium by a packet and its answer; the deadline is divided equally among
    /// them.
    pub accesses: u32,
    /// Least number of collisions in a row after which one access can take longer than its part of
    /// the deadline; with sixteen the frame is given up.
    pub collisions: u32,
    /// Longest access that gets through with one collision fewer: within the deadline.
    pub longest_within: Option<Duration>,
    /// Longest access with `collisions` collisions; `None` if the frame is given up.
    pub longest_beyond: Option<Duration>,
    /// Attempts in the simulation.
    pub attempts: Vec<Attempts>,
    /// Probability of at least `collisions` collisions, as observed: the product of the shares of
    /// attempts that collided, times the number of accesses. Statistical, not a bound.
    pub probability: f64,
}

/// Analyzes every collision domain in which a flow with a deadline begins or ends.
pub fn analyze(scenario: &Scenario, record: &Record) -> Vec<Access> {
    let network = &scenario.network;
    let domains = Domain::all(network, record);
    let found = domains.iter().filter_map(|domain| {
        let is_inside = |node: NodeId| domain.ports.iter().any(|port| port.port.node == node);
        let touches = |flow: &Flow| {
            is_inside(flow.talker) || flow.listeners.iter().any(|&node| is_inside(node))
        };
        let numbered = (0u32..).map(FlowId).zip(&scenario.flows);
        let (deadline, flow) = smallest_deadline(numbered.filter(|(_, flow)| touches(flow)))?;
        let rate = network.links[domain.links.first()?.index()].rate;
        let hub = domain.hubs.first().and_then(|&hub| network.hub(hub));
        let accesses = 1 + u32::from(scenario.flows[flow.index()].reply.is_some());
        Some(Access {
            medium: domain.name(network),
            flow,
            accesses,
            ..of_deadline(deadline, accesses, ranges(hub), rate, domain.attempts())
        })
    });
    found.collect()
}

fn ranges(hub: Option<&Hub>) -> Ranges {
    match hub.map(|hub| hub.backoff) {
        Some(Backoff::UpperEndIncluded) => Ranges::Printed,
        Some(Backoff::Standard) | None => Ranges::Standard,
    }
}

/// Computes the result for one deadline; the caller fills in medium and flow.
fn of_deadline(
    deadline: Duration,
    accesses: u32,
    ranges: Ranges,
    rate: BitRate,
    attempts: Vec<Attempts>,
) -> Access {
    let part = deadline / i64::from(accesses);
    // After this many collisions a frame gets through at the next trial at best.
    let longest = |collisions: u32| {
        let (back_off, sending) = ranges.worst_case(collisions + 1, MAX_FRAME, rate);
        back_off + sending
    };
    let collisions = (0..ATTEMPTS_MAX).find(|&n| longest(n) > part).unwrap_or(ATTEMPTS_MAX);
    let probability = f64::from(accesses) * repeated(&attempts, collisions);
    Access {
        medium: String::new(),
        flow: FlowId(0),
        deadline,
        accesses,
        collisions,
        longest_within: collisions.checked_sub(1).map(longest),
        longest_beyond: (collisions < ATTEMPTS_MAX).then(|| longest(collisions)),
        attempts,
        probability: probability.min(1.0),
    }
}

/// Returns the product of the shares of the first attempts that collided. Where attempts were too
/// rare to be observed the last share is repeated: a frame that has collided often is in a crowd,
/// and collides no less often than before.
fn repeated(attempts: &[Attempts], collisions: u32) -> f64 {
    let mut last = 0.0;
    let mut product = 1.0;
    for number in 0..collisions {
        let seen = usize::try_from(number).ok().and_then(|at| attempts.get(at));
        last = seen.and_then(|attempts| attempts.ratio()).unwrap_or(last);
        product *= last;
    }
    product
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempts(numbers: &[(u64, u64)]) -> Vec<Attempts> {
        let numbered = (1..).zip(numbers);
        let all = numbered.map(|(number, &(made, collided))| Attempts { number, made, collided });
        all.collect()
    }

    #[test]
    fn the_deadline_of_the_paper_needs_ten_collisions() {
        // 002 Kweon 3.1, footnote 3: ten trials take at most 64.68 ms, so that a round trip within
        // 129.6 ms is only missed after ten collisions of one of its two accesses.
        let seen = attempts(&[(1_000, 500), (500, 100), (100, 10)]);
        let slow = BitRate::from_mbps(10);
        let round_trip = Duration::from_us(129_600);
        let access = of_deadline(round_trip, 2, Ranges::Standard, slow, seen.clone());
        assert_eq!(access.collisions, 10);
        assert_eq!(access.longest_within, Some(Duration::from_ns(64_681_600)));
        // 0.5 * 0.2 * 0.1, and 0.1 for each of the seven that follow; twice.
        assert!((access.probability / 2e-9 - 1.0).abs() < 1e-9, "{access:?}");
        // A single access has the whole time: 118.3 ms after ten collisions, 172 ms after eleven.
        let one_way = of_deadline(round_trip, 1, Ranges::Standard, slow, seen);
        assert_eq!(one_way.collisions, 11);
    }

    #[test]
    fn extremes() {
        let fast = BitRate::from_mbps(100);
        let of = |deadline| of_deadline(deadline, 1, Ranges::Standard, fast, Vec::new());
        // A frame of another station alone takes longer.
        let short = of(Duration::from_us(100));
        assert_eq!((short.collisions, short.longest_within), (0, None));
        assert!((short.probability - 1.0).abs() < 1e-12);
        // Only a frame that is given up misses a second; no attempt ever collided.
        let long = of(Duration::from_secs(1));
        assert_eq!((long.collisions, long.longest_beyond), (16, None));
        assert!(long.probability.abs() < 1e-12);
    }
}
