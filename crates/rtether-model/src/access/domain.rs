//! The collision domain of a hub: its members, its rate, and how far apart they are.

use alloc::collections::btree_map::Entry;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use crate::network::{LinkId, Network, NodeId};
use crate::quantity::{BitRate, Bytes, Duration};
use crate::wire;

/// A collision domain of joined hubs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Domain {
    /// Stations and switches on it, in ascending order.
    pub nodes: Vec<NodeId>,
    /// Its hubs.
    pub hubs: BTreeSet<NodeId>,
    /// Rate of all its links.
    pub rate: BitRate,
    /// Whether one of its nodes is a switch.
    pub has_switch: bool,
    /// Longest one-way delay between two of its nodes.
    pub reach: Duration,
}

impl Domain {
    /// Returns the domain of a hub; `None` if the node is no hub.
    pub fn of(network: &Network, hub: NodeId) -> Option<Self> {
        let rate = network.hub(hub)?.rate;
        let mut at: BTreeMap<NodeId, Vec<LinkId>> = BTreeMap::new();
        for (id, link) in network.iter_links().filter(|(_, link)| !link.standby) {
            for end in link.ends {
                at.entry(end.node).or_default().push(id);
            }
        }
        let from_hub = distances(network, &at, hub);
        let is_hub = |node: &NodeId| network.hub(*node).is_some();
        let nodes = from_hub.keys().filter(|node| !is_hub(node)).copied();
        // In a tree, the node farthest from any node is one end of the longest path.
        let far = from_hub.iter().filter(|(node, _)| !is_hub(node));
        let far = far.max_by_key(|(_, way)| **way).map(|(node, _)| *node);
        let ways = far.map(|far| distances(network, &at, far));
        let ways = ways.into_iter().flatten();
        let is_own = |node: &NodeId| from_hub.contains_key(node) && !is_hub(node);
        let reach = ways.filter(|(node, _)| is_own(node)).map(|(_, way)| way);
        let nodes: Vec<NodeId> = nodes.collect();
        Some(Self {
            has_switch: nodes.iter().any(|node| network.switch(*node).is_some()),
            nodes,
            hubs: from_hub.keys().filter(|node| is_hub(node)).copied().collect(),
            rate,
            reach: reach.max().unwrap_or(Duration::ZERO),
        })
    }

    /// Returns the time from the first bit of the preamble to the last bit of a frame.
    pub fn frame(&self, size: Bytes) -> Duration {
        wire::wire_time(size.max(wire::MIN_FRAME), self.rate)
    }

    /// Returns the inter-frame gap.
    pub fn gap(&self) -> Duration {
        self.rate.time_ceil(wire::GAP)
    }
}

/// Returns the delay from a node to each hub and node of its domain: cables, and hubs on the way.
fn distances(
    network: &Network,
    at: &BTreeMap<NodeId, Vec<LinkId>>,
    from: NodeId,
) -> BTreeMap<NodeId, Duration> {
    let mut found = BTreeMap::from([(from, Duration::ZERO)]);
    let mut open = Vec::from([from]);
    while let Some(node) = open.pop() {
        let reached = found[&node];
        let hub = network.hub(node);
        // The domain ends at stations and switches.
        if hub.is_none() && node != from {
            continue;
        }
        let own = hub.filter(|_| node != from);
        let reached = reached + own.map_or(Duration::ZERO, |hub| hub.delay);
        for &id in at.get(&node).into_iter().flatten() {
            let link = &network.links[id.index()];
            if hub.is_none() && !link.ends.iter().any(|end| network.hub(end.node).is_some()) {
                continue;
            }
            for end in link.ends.iter().filter(|end| end.node != node) {
                if let Entry::Vacant(entry) = found.entry(end.node) {
                    entry.insert(reached + link.propagation);
                    open.push(end.node);
                }
            }
        }
    }
    found
}
