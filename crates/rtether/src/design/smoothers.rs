//! Smoothers for nodes that send over TCP: they spread what a window lets go at once.

use rtether_model::network::{EndStation, NodeId};

use super::parameter::{Kept, Parameter, set, stations, tcp};
use crate::scenario::{Freedom, Scenario, Written};

/// Periods in milliseconds in which a node may send one full frame over TCP: 12 to 0.3 Mbit/s.
const PERIODS: [u32; 6] = [1, 2, 5, 10, 20, 36];

/// Adds the smoothers of the nodes that may have one.
pub(super) fn smoothers(
    scenario: &Scenario,
    written: &Written,
    kept: &Kept,
    found: &mut Vec<Parameter>,
) {
    // What has a deadline of its own over TCP would wait for credits.
    let bulk = scenario.flows.iter().filter(|flow| tcp(flow).is_some() && flow.deadline.is_none());
    let senders: Vec<NodeId> = bulk.map(|flow| flow.talker).collect();
    for (path, node, is_wide) in stations(scenario, written, kept, senders) {
        let is_free = scenario.network.end_station(node).is_some_and(is_free);
        if !is_free {
            continue;
        }
        let path = format!("{path}.smoother");
        let values: Vec<_> = PERIODS
            .iter()
            .map(|period| {
                set(&path, &format!("{{ mode: fixed, classify: udp, period: {period} ms }}"))
            })
            .collect();
        let place = (path, "none".to_owned());
        let parameter = Parameter::new(scenario, Freedom::Smoother, place, values);
        found.push(Parameter { is_wide, ..parameter });
    }
}

/// Returns whether a station may have a smoother, and has none.
fn is_free(station: &EndStation) -> bool {
    let layer = station.layer.as_deref();
    station.redundancy.is_none()
        && !station.by_deadline
        && layer.is_none_or(|own| own.smoother.is_none())
}
