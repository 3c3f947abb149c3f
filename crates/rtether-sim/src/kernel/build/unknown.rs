//! Costs that are not known: each is drawn once for a run.

use alloc::format;

use rtether_model::network::Network;
use rtether_model::quantity::Duration;

use crate::random::{Draw, Purpose};

/// Returns the network with each unknown cost drawn, uniform between its ends.
pub(super) fn drawn(network: &Network, seed: u64) -> Network {
    network.decided(|node, cost, more| {
        let name = format!("{} {cost}", network.node(node).name);
        let mut draw = Draw::new(seed, &name, Purpose::Unknown);
        Duration::from_ps(draw.up_to(more.as_ps()))
    })
}
