//! Faster links: hardware, so that they may change only where the scenario names them.

use rtether_model::network::{Link, Network, NodeKind};
use rtether_model::quantity::BitRate;

use super::parameter::{Parameter, set};
use crate::scenario::{Freedom, Scenario};

/// Rates of twisted pairs.
const RATES: [BitRate; 4] = [
    BitRate::from_mbps(10),
    BitRate::from_mbps(100),
    BitRate::from_mbps(1_000),
    BitRate::from_mbps(10_000),
];

/// Adds the rates of the links that may be faster.
pub(super) fn links(scenario: &Scenario, found: &mut Vec<Parameter>) {
    for (number, link) in scenario.network.links.iter().enumerate() {
        if is_fixed(&scenario.network, link) {
            continue;
        }
        let path = format!("links.{number}.rate");
        let faster = RATES.into_iter().filter(|rate| *rate > link.rate);
        let values: Vec<_> = faster.map(|rate| set(&path, &rate)).collect();
        if !values.is_empty() {
            let place = (path, link.rate.to_string());
            found.push(Parameter::new(scenario, Freedom::Links, place, values));
        }
    }
}

/// Returns whether the rate of a link stays: a hub gives one, and CSMA/CD ends at 100 Mbit/s.
fn is_fixed(network: &Network, link: &Link) -> bool {
    let is_at_hub =
        link.ends.iter().any(|end| matches!(network.node(end.node).kind, NodeKind::Hub(_)));
    is_at_hub || network.is_half_duplex(link)
}
