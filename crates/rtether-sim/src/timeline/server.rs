//! Where frames wait for each other: at a port, or at all ports of a shared medium.

use alloc::collections::BTreeMap;

use rtether_model::network::{Link, Network, NodeId, PortId};
use rtether_model::quantity::Duration;

/// What serves one packet after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Server {
    /// A full-duplex port.
    Port(PortId),
    /// A shared medium, by the smallest of its ports.
    Medium(PortId),
    /// A server of the stack of an end station.
    Stack(NodeId, u8),
}

/// A port in use.
#[derive(Clone, Copy, Debug)]
pub(super) struct Port {
    pub(super) server: Server,
    pub(super) octet: Duration,
    /// Node at the other end of the link.
    pub(super) peer: NodeId,
}

/// Returns the ports of all links in use.
pub(super) fn ports(network: &Network) -> BTreeMap<PortId, Port> {
    let media = media(network);
    let mut ports = BTreeMap::new();
    for link in in_use(network) {
        let [a, b] = link.ends;
        let octet = link.rate.octet_time().unwrap_or(Duration::ZERO);
        let is_shared = network.is_half_duplex(link);
        for (own, peer) in [(a, b), (b, a)] {
            let server =
                if is_shared { Server::Medium(first_of(&media, own)) } else { Server::Port(own) };
            let peer = peer.node;
            ports.insert(own, Port { server, octet, peer });
        }
    }
    ports
}

fn in_use(network: &Network) -> impl Iterator<Item = &Link> {
    network.links.iter().filter(|link| !link.standby)
}

/// Joins the half-duplex ports of each collision domain: both ends of a link, and all ports of a
/// hub. A port leads to a smaller one of its domain, or is the smallest.
fn media(network: &Network) -> BTreeMap<PortId, PortId> {
    let mut media = BTreeMap::new();
    let mut join = |a: PortId, b: PortId| {
        let (a, b) = (first_of(&media, a), first_of(&media, b));
        media.insert(Ord::max(a, b), Ord::min(a, b));
    };
    let mut hubs: BTreeMap<NodeId, PortId> = BTreeMap::new();
    for link in in_use(network).filter(|link| network.is_half_duplex(link)) {
        let [a, b] = link.ends;
        join(a, b);
        for own in link.ends {
            if network.hub(own.node).is_some() {
                join(own, *hubs.entry(own.node).or_insert(own));
            }
        }
    }
    media
}

/// Returns the smallest port of the collision domain of a port.
fn first_of(media: &BTreeMap<PortId, PortId>, mut port: PortId) -> PortId {
    while let Some(&smaller) = media.get(&port).filter(|smaller| **smaller != port) {
        port = smaller;
    }
    port
}
