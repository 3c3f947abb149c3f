//! Probability that a stream that crosses a shared medium is late. Never a bound.
//!
//! A deadline is converted into a number of collisions: what the rest of the path leaves of the
//! deadline is divided equally among the accesses to media on the path, and in the worst case of
//! the standard an access within its part collides fewer than N times in a row (as in
//! [`crate::limit::Access`]). A packet is late at most as often as one of its accesses collides N
//! times in a row.
//!
//! The probability follows from the offered load of the collision domain. [`medium`] has the model,
//! [`way`] the accesses and the rest of the path.
//!
//! # Assumptions
//!
//! - Attempts collide independently of each other, and senders are independent: the model does not
//!   cover synchronized flows, which collide at every release.
//! - Arrivals are Poisson at the mean rate of each flow. A flow that sends as fast as it can has no
//!   rate; it counts as a station that always has a frame.
//! - No waiting in queues: neither behind frames of the same station nor in stacks or switches. The
//!   rest of the path takes its shortest time.
//!
//! Sources: 002 Kweon 2 (catalogue W4) for the worst case of N trials; 003 Dolejs (D1) for two
//! stations that draw the same number; 1-persistent sending, L. Kleinrock and F. A. Tobagi, IEEE
//! Transactions on Communications 23(12), 1975.

mod medium;
mod way;

use rtether_model::flow::{Flow, Traffic};
use rtether_model::quantity::Duration;
use rtether_model::route::Routing;

use crate::csma::ATTEMPTS_MAX;
use crate::scenario::{Domains, Scenario};
use medium::Medium;
use way::Access;

/// The assumptions in one sentence, shown with every number.
pub const MODEL: &str = "statistical, not a bound: 1-persistent CSMA/CD with binary exponential \
    back-off (IEEE 802.3), Poisson arrivals at the offered load, attempts and stations independent \
    of each other, no wait in queues; check it by simulation.";

/// Probability that a packet of one stream is late, by the model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Statistical {
    /// Accesses to shared media, including those of the answer; a message of several segments has
    /// several.
    pub accesses: u32,
    /// Longest permitted time of each access.
    pub part: Duration,
    /// Least number of collisions in a row after which an access may take longer; sixteen if only a
    /// frame that is given up is late.
    pub collisions: u32,
    /// Upper limit of the probability that a packet is late or lost, under the assumptions of the
    /// model.
    pub late_ratio: f64,
}

impl Statistical {
    /// Returns the statement: `P(late) <= 3.0e-5`.
    pub fn words(&self) -> String {
        if self.late_ratio >= 1.0 {
            "P(late) <= 1".into()
        } else {
            format!("P(late) <= {:.1e}", self.late_ratio)
        }
    }
}

/// Returns the result for each stream, in the order of a run's record; `None` without a deadline or
/// a shared medium on the path.
pub fn statistical(scenario: &Scenario) -> Vec<Option<Statistical>> {
    let network = &scenario.network;
    let streams: usize = scenario.flows.iter().map(|f| f.listeners.len()).sum();
    if network.links.iter().all(|link| !network.is_half_duplex(link)) {
        return vec![None; streams];
    }
    let domains = Domains::new(network);
    let routing = Routing::new(network);
    let media = Medium::all(scenario, &domains, &routing);
    let shortest = way::shortest(scenario, &domains, &routing);
    let streams = scenario.flows.iter();
    let streams = streams.flat_map(|flow| flow.listeners.iter().map(move |&to| (flow, to)));
    let judged = streams.zip(shortest).map(|((flow, listener), rest)| {
        let accesses = way::accesses(network, &domains, &routing, flow, listener)?;
        // Stations that follow an access scheme do not contend.
        let is_scheduled = |own: &Access| {
            let hubs = &domains.get(own.domain).hubs;
            network.access.iter().any(|access| hubs.contains(&access.hub))
        };
        if accesses.iter().any(is_scheduled) {
            return None;
        }
        of_stream(flow, &accesses, rest?, &media)
    });
    judged.collect()
}

fn of_stream(
    flow: &Flow,
    accesses: &[Access],
    rest: Duration,
    media: &[Medium],
) -> Option<Statistical> {
    let deadline = flow.deadline?;
    let is_message = !matches!(flow.traffic, Traffic::Bulk(_));
    let number = u32::try_from(accesses.len()).ok()?;
    if !is_message || number == 0 {
        return None;
    }
    let part = (deadline - rest).max(Duration::ZERO) / i64::from(number);
    let mut fewest = ATTEMPTS_MAX;
    let mut late = 0.0;
    for access in accesses {
        let medium = &media[access.domain];
        let collisions = medium.least_collisions(part);
        late += medium.repeated(access.port, collisions);
        fewest = fewest.min(collisions);
    }
    Some(Statistical { accesses: number, part, collisions: fewest, late_ratio: late.min(1.0) })
}
