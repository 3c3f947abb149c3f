//! Conditions that every design in the space has to meet, and what they say of a scenario.
//!
//! A condition is necessary: where it fails, no priorities, queues, layers or memories prove the
//! deadline. Only then a design is impossible; that a search found none says nothing.

use rtether_bounds::{Analysis, Reason, StreamBound};
use rtether_model::flow::{Flow, Traffic};
use rtether_report::text::time;

use super::space::Faster;
use crate::bound;
use crate::scenario::Scenario;
use crate::why::remedy;

/// Why a deadline cannot be proved in the space that may change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obstacle {
    /// Flow, and its listener if it has several; or what several streams have in common.
    pub name: String,
    /// The condition that fails, in words.
    pub why: String,
    /// Positions of the streams.
    pub streams: Vec<usize>,
    /// How many of their deadlines cannot be proved.
    pub count: usize,
}

/// Returns what stands in the way of single deadlines; `names` are those of all deadlines, in order.
pub(super) fn obstacles(
    scenario: &Scenario,
    analysis: &Analysis,
    names: &[String],
) -> Vec<Obstacle> {
    let faster = Faster::new(scenario);
    let streams = analysis.streams.iter().enumerate();
    let judged = streams.filter(|(_, own)| scenario.flows[own.flow.index()].deadline.is_some());
    let found = judged.zip(names).filter_map(|((stream, own), name)| {
        let why = obstacle(scenario, own, faster)?;
        Some(Obstacle { name: name.clone(), why, streams: vec![stream], count: 1 })
    });
    found.collect()
}

fn obstacle(scenario: &Scenario, stream: &StreamBound, faster: Faster) -> Option<String> {
    let flow = &scenario.flows[stream.flow.index()];
    // Windows and segments may change how a connection behaves.
    let is_tcp = flow.connection.is_some() || matches!(flow.traffic, Traffic::Bulk(_));
    match &stream.bound {
        Ok(bound) => {
            // A tag only makes frames longer, and all else that may change only lets them wait, unless
            // it is a rate or a way.
            let is_least = !is_tcp && faster == Faster::Never;
            let deadline = flow.deadline.filter(|own| *own < bound.latency_min && is_least)?;
            Some(format!(
                "it takes {} without any wait, and its deadline is {}",
                time(bound.latency_min),
                time(deadline)
            ))
        }
        Err(why) if is_lasting(why, stream, (flow, is_tcp), faster) => {
            let reason = bound::reason(scenario, why);
            Some(format!("{reason}: {}", remedy(scenario, stream.flow, why)))
        }
        Err(_) => None,
    }
}

/// Returns whether a reason is one whatever may change.
fn is_lasting(
    why: &Reason,
    stream: &StreamBound,
    (flow, is_tcp): (&Flow, bool),
    faster: Faster,
) -> bool {
    match why {
        Reason::NoRoute(_) | Reason::NotDelivered | Reason::SharedMedium { .. } => {
            faster != Faster::Elsewhere
        }
        Reason::UnlimitedArrivals { flow: other } => {
            *other == stream.flow && !is_tcp && matches!(flow.traffic, Traffic::Poisson { .. })
        }
        Reason::Access { .. }
        | Reason::Overload { .. }
        | Reason::Connection { .. }
        | Reason::Files { .. }
        | Reason::Samples { .. }
        | Reason::Cycle { .. }
        | Reason::EndNodeLayer { .. }
        | Reason::Ingress { .. }
        | Reason::Resolution { .. }
        | Reason::LinkRate { .. }
        | Reason::FloodingLoop { .. }
        | Reason::OutOfRange => false,
    }
}
