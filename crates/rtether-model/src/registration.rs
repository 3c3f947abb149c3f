//! VLANs of ports that follow from what is declared behind them: the state in which GVRP and MVRP end
//! (IEEE 802.1Q-2022, 11.2).
//!
//! A port declares the VLANs it is a member of by its settings, an end station those of the tags that
//! its flows are sent and received with. A switch passes on at each port what it hears at the others,
//! so a port hears what is declared anywhere behind its link. Ports with `trunk: all` and those
//! without VLANs declare nothing of their own, and pass on what they hear.
//!
//! These VLANs follow from all flows and from the links in use: after a change of either they are
//! registered anew.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use crate::flow::Flow;
use crate::network::{Network, NodeId, NodeKind, PortId, PortVlan, Vid};
use crate::route::{Hop, Routing};

/// Gives the trunks of [`Network::registering`] the VLANs that are registered there.
pub fn register(network: &mut Network, flows: &[Flow]) {
    if network.registering.is_empty() {
        return;
    }
    let ports = network.registering.clone();
    // What was registered before declares nothing.
    for &port in &ports {
        set(network, port, Vec::new());
    }
    let routing = Routing::new(network);
    let declared = declarations(network, flows);
    for port in ports {
        let heard = behind(network, &routing, &declared, port);
        set(network, port, heard.into_iter().collect());
    }
}

fn set(network: &mut Network, port: PortId, vids: Vec<Vid>) {
    if let NodeKind::Switch(switch) = &mut network.nodes[port.node.index()].kind
        && let PortVlan::Trunk { allowed, .. } = &mut switch.ports[usize::from(port.port)].vlan
    {
        *allowed = Some(vids);
    }
}

/// Returns what each node declares by itself: end stations by their flows, switches port by port.
fn declarations(network: &Network, flows: &[Flow]) -> BTreeMap<PortId, BTreeSet<Vid>> {
    let mut declared: BTreeMap<PortId, BTreeSet<Vid>> = BTreeMap::new();
    for flow in flows {
        let Some(tag) = flow.tag.filter(|tag| tag.vid != Vid::PRIORITY_ONLY) else {
            continue;
        };
        for &end in core::iter::once(&flow.talker).chain(&flow.listeners) {
            let own = declared.entry(PortId::first(end)).or_default();
            own.insert(tag.vid);
        }
    }
    for (node, definition) in network.iter_nodes() {
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
    network: &Network,
    routing: &Routing,
    declared: &BTreeMap<PortId, BTreeSet<Vid>>,
    port: PortId,
) -> BTreeSet<Vid> {
    let hops = |node: NodeId| routing.hops_from(network, node);
    let mut heard = BTreeSet::new();
    let mut open: Vec<Hop> = hops(port.node).filter(|hop| hop.egress == port).collect();
    while let Some(hop) = open.pop() {
        let node = hop.ingress.node;
        // The port that faces the one in question hears it, and declares what the others hear.
        let mut own = declared.range(PortId::first(node)..=PortId { node, port: u16::MAX });
        let is_other = |at: &PortId| *at != hop.ingress || network.end_station(node).is_some();
        heard.extend(own.by_ref().filter(|(at, _)| is_other(at)).flat_map(|(_, vids)| vids));
        open.extend(hops(node).filter(|next| next.egress != hop.ingress));
    }
    heard
}
