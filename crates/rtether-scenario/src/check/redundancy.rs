//! Stations in two networks: whether these are two, and what else does not go with them.

use std::collections::BTreeSet;

use rtether_model::network::{NodeId, PortId};
use rtether_model::route::Routing;

use super::{Plant, codes, quote};
use crate::diagnostic::Diagnostic;
use crate::reader::Reader;

/// Checks the stations with `redundancy`, and the flows that begin or end there.
pub(super) fn check(reader: &mut Reader<'_>, plant: &Plant, routing: &Routing) {
    let doubles: BTreeSet<NodeId> = plant
        .network
        .iter_nodes()
        .map(|(node, _)| node)
        .filter(|&node| is_double(plant, node))
        .collect();
    for &node in &doubles {
        check_links(reader, plant, routing, node);
    }
    for (flow, &span) in plant.flows.iter().zip(&plant.flow_spans) {
        let mut ends = flow.listeners.iter().chain([&flow.talker]);
        let Some(end) = ends.find(|end| !flow.routes.is_empty() && doubles.contains(end)) else {
            continue;
        };
        let name = quote(&plant.network.node(*end).name);
        let title = format!("flow {} has a route and an end in two networks", quote(&flow.name));
        let label = format!("a route leads through one network, and {name} is in two");
        reader.report(
            Diagnostic::new(&codes::CONFLICTING_KEYS, title, span, label)
                .help("remove `route`: switches take the shortest way in each network"),
        );
    }
}

fn is_double(plant: &Plant, node: NodeId) -> bool {
    let station = plant.network.end_station(node);
    station.is_some_and(|own| own.redundancy.is_some())
}

/// Checks that a station has two links, at full duplex, into networks that are not joined.
fn check_links(reader: &mut Reader<'_>, plant: &Plant, routing: &Routing, node: NodeId) {
    let network = &plant.network;
    let name = quote(&network.node(node).name);
    let span = plant.node_spans[node.index()];
    let links = [0, 1].map(|port| routing.link_at(PortId { node, port }));
    let [Some(first), Some(second)] = links else {
        let title = format!("{name} has `redundancy` and fewer than two links");
        let help = "add the link to its other network, or remove `redundancy`";
        let label = "its frames go into one network";
        return reader.report(Diagnostic::new(&codes::ONE_NETWORK, title, span, label).help(help));
    };
    let is_half =
        |link: rtether_model::network::LinkId| network.is_half_duplex(&network.links[link.index()]);
    if is_half(first) || is_half(second) {
        let title = format!("{name} has `redundancy` and a link at half duplex");
        let label = "each of its networks is switched at full duplex";
        return reader.report(
            Diagnostic::new(&codes::CONFLICTING_KEYS, title, span, label)
                .help("use a switch in place of the hub, or remove `redundancy`"),
        );
    }
    let hops: Vec<_> = routing.hops_from(network, node).map(|hop| hop.ingress.node).collect();
    let &[one, other] = &hops[..] else { return };
    if one == other || routing.port_towards(one, other).is_some() {
        let [one_name, other_name] = [one, other].map(|node| quote(&network.node(node).name));
        let label = if one == other {
            format!("both links lead to {one_name}")
        } else {
            format!("{one_name} and {other_name} are joined")
        };
        let title = format!("the two networks of {name} are one");
        let help = "give each network switches of its own, linked to none of the other";
        reader.report(Diagnostic::new(&codes::ONE_NETWORK, title, span, label).help(help));
    }
}
