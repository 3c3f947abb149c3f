//! Where frames wait for each other: at a port, or at all ports of a shared medium.

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

use rtether_model::network::{Network, NodeId, PortId};
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
    let mut ports = BTreeMap::new();
    for link in network.links.iter().filter(|link| !link.standby) {
        let [a, b] = link.ends;
        let octet = link.rate.octet_time().unwrap_or(Duration::ZERO);
        let shared = network.is_half_duplex(link).then(|| medium_of(network, a));
        for (own, peer) in [(a, b), (b, a)] {
            let server = shared.map_or(Server::Port(own), Server::Medium);
            let peer = peer.node;
            ports.insert(
                own,
                Port {
                    server,
                    octet,
                    peer,
                },
            );
        }
    }
    ports
}

/// Returns the smallest port of the collision domain that a half-duplex port belongs to.
fn medium_of(network: &Network, port: PortId) -> PortId {
    let mut seen = vec![port];
    let mut next = 0;
    while let Some(&port) = seen.get(next) {
        next += 1;
        let links = network.links.iter().filter(|link| !link.standby);
        for [a, b] in links.map(|link| link.ends) {
            // Both ends of a link, and all ports of a hub, are one domain.
            let joins = |own: PortId| {
                own == port || (own.node == port.node && network.hub(port.node).is_some())
            };
            if joins(a) || joins(b) {
                let new: Vec<PortId> = [a, b]
                    .into_iter()
                    .filter(|own| !seen.contains(own))
                    .collect();
                seen.extend(new);
            }
        }
    }
    seen.into_iter().min().unwrap_or(port)
}
