//! Mirror ports: each leads to a station that looks on.

use rtether_model::network::{NodeId, PortId};

use super::{Plant, codes, port_name, quote};
use crate::diagnostic::Diagnostic;
use crate::reader::Reader;

/// Checks all mirror ports; returns the stations behind them.
pub(super) fn check(reader: &mut Reader<'_>, plant: &Plant) -> Vec<NodeId> {
    let network = &plant.network;
    let mut behind = Vec::new();
    for (node, _) in network.iter_nodes() {
        let mirror = network.switch(node).and_then(|switch| switch.mirror.as_ref());
        let Some(port) = mirror.map(|mirror| PortId { node, port: mirror.to }) else {
            continue;
        };
        let numbered = network.links.iter().zip(&plant.link_spans);
        let links = numbered.filter(|(link, _)| !link.standby);
        for (link, span) in links {
            let Some(peer) = link.peer_of(port) else {
                continue;
            };
            let is_station = network.end_station(peer.node).is_some();
            if is_station && !network.is_half_duplex(link) {
                behind.push(peer.node);
                continue;
            }
            let title = format!("{} is a mirror port", port_name(network, port));
            let label = "it needs a full-duplex link to an end station";
            reader.report(
                Diagnostic::new(&codes::MIRROR_PORT, title, *span, label)
                    .help("link another port, or change `mirror: { to: ... }` of the switch"),
            );
        }
    }
    for (flow, span) in plant.flows.iter().zip(&plant.flow_spans) {
        let mut ends = core::iter::once(&flow.talker).chain(&flow.listeners);
        if let Some(end) = ends.find(|end| behind.contains(end)) {
            let title = format!("flow {} has an end behind a mirror port", quote(&flow.name));
            let label = format!("{} looks on and takes no part", quote(&network.node(*end).name));
            reader.report(
                Diagnostic::new(&codes::MIRROR_PORT, title, *span, label)
                    .help("link the station to another port"),
            );
        }
    }
    behind
}
