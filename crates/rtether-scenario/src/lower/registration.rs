//! VLANs of ports that follow from what is declared behind them: the state in which GVRP and MVRP end
//! (IEEE 802.1Q-2022, 11.2).
//!
//! A port declares the VLANs it is a member of by its settings, an end station those of the tags that
//! its flows are sent and received with. A switch passes on at each port what it hears at the others,
//! so a port hears what is declared anywhere behind its link. Ports with `trunk: all` and those
//! without VLANs declare nothing of their own, and pass on what they hear.

use std::collections::{BTreeMap, BTreeSet};

use rtether_model::network::{LinkId, NodeId, NodeKind, PortId, PortVlan, Vid};
use rtether_model::route::{Hop, Routing};

use super::Plant;
use crate::codes;
use crate::diagnostic::{Diagnostic, quote};
use crate::reader::Reader;

/// Gives ports the VLANs registered there, now that all flows are known.
pub(crate) fn register(reader: &mut Reader<'_>, plant: &mut Plant) {
    let pending = std::mem::take(&mut plant.pending);
    let ports: Vec<PortId> = pending
        .iter()
        .filter(|(_, own)| own.is_registered)
        .flat_map(|(node, own)| {
            let ports = own
                .ports
                .clone()
                .filter_map(|port| u16::try_from(port).ok());
            ports.map(|port| PortId { node: *node, port })
        })
        .collect();
    let Some(first) = ports.first() else { return };
    let routing = Routing::new(&plant.network);
    if let Some(links) = routing.find_loop(&plant.network) {
        let switch = quote(&plant.network.node(first.node).name);
        let title = format!("{switch} registers VLANs in a loop");
        let at = plant.node_spans[first.node.index()];
        let label = "has a `trunk: registered`";
        let diagnostic = Diagnostic::new(&codes::NETWORK_LOOP, title, at, label);
        let help = "put a link of the loop on standby, or list the VLANs of each trunk";
        let link = links
            .first()
            .map(|link: &LinkId| plant.link_spans[link.index()]);
        let diagnostic = link.into_iter().fold(diagnostic, |diagnostic, span| {
            diagnostic.also(span, "a link of the loop")
        });
        return reader.report(diagnostic.help(help));
    }
    let declared = declarations(plant);
    for port in ports {
        let heard = behind(plant, &routing, &declared, port);
        if let NodeKind::Switch(switch) = &mut plant.network.nodes[port.node.index()].kind
            && let PortVlan::Trunk { allowed, .. } = &mut switch.ports[usize::from(port.port)].vlan
            // A later setting of the same port may have a list.
            && allowed.as_ref().is_some_and(Vec::is_empty)
        {
            *allowed = Some(heard.into_iter().collect());
        }
    }
}

/// Returns what each node declares by itself: end stations by their flows, switches port by port.
fn declarations(plant: &Plant) -> BTreeMap<PortId, BTreeSet<Vid>> {
    let mut declared: BTreeMap<PortId, BTreeSet<Vid>> = BTreeMap::new();
    for flow in &plant.flows {
        let Some(tag) = flow.tag.filter(|tag| tag.vid != Vid::PRIORITY_ONLY) else {
            continue;
        };
        for &end in core::iter::once(&flow.talker).chain(&flow.listeners) {
            let own = declared.entry(PortId::first(end)).or_default();
            own.insert(tag.vid);
        }
    }
    for (node, definition) in plant.network.iter_nodes() {
        let NodeKind::Switch(switch) = &definition.kind else {
            continue;
        };
        for (port, setting) in (0..).zip(&switch.ports) {
            let vids: BTreeSet<Vid> = match &setting.vlan {
                PortVlan::Transparent => continue,
                PortVlan::Access(vid) => [*vid].into(),
                PortVlan::Trunk { allowed, native } => {
                    allowed.iter().flatten().chain(native).copied().collect()
                }
            };
            declared.insert(PortId { node, port }, vids);
        }
    }
    declared
}

/// Returns the VLANs declared behind the link of a port.
fn behind(
    plant: &Plant,
    routing: &Routing,
    declared: &BTreeMap<PortId, BTreeSet<Vid>>,
    port: PortId,
) -> BTreeSet<Vid> {
    let hops = |node: NodeId| routing.hops_from(&plant.network, node);
    let mut heard = BTreeSet::new();
    let mut open: Vec<Hop> = hops(port.node).filter(|hop| hop.egress == port).collect();
    while let Some(hop) = open.pop() {
        let node = hop.ingress.node;
        // The port that faces the one in question hears it, and declares what the others hear.
        let mut own = declared.range(
            PortId::first(node)..=PortId {
                node,
                port: u16::MAX,
            },
        );
        let is_other =
            |at: &PortId| *at != hop.ingress || plant.network.end_station(node).is_some();
        heard.extend(
            own.by_ref()
                .filter(|(at, _)| is_other(at))
                .flat_map(|(_, vids)| vids),
        );
        open.extend(hops(node).filter(|next| next.egress != hop.ingress));
    }
    heard
}
