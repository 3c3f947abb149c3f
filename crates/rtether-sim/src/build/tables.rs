//! Switches and their address tables.

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

use rtether_model::flow::{Delivery, Flow};
use rtether_model::network::{
    AddressTable, ForwardingMode, MulticastForwarding, Network, NodeId, NodeKind, PortVlan, Switch,
    TagHandling,
};
use rtether_model::quantity::Bytes;
use rtether_model::route::Routing;

use super::Numbers;
use crate::kernel::BuildError;
use crate::packet::NONE;
use crate::port::Owner;
use crate::switch::{Forwarding, Learned, SwitchState};

pub(super) fn build_switches(
    network: &Network,
    flows: &[Flow],
    routing: &Routing,
    numbers: &Numbers,
) -> Result<Vec<SwitchState>, BuildError> {
    let stations = network
        .nodes
        .iter()
        .filter(|n| matches!(n.kind, NodeKind::EndStation(_)))
        .count();
    let mut groups = group_tables(network, flows, routing, numbers)?;
    let mut switches = Vec::new();
    for (node, definition) in network.iter_nodes() {
        let NodeKind::Switch(switch) = &definition.kind else {
            continue;
        };
        let table = core::mem::take(&mut groups[node.index()]);
        let nobody = Learned { port: NONE, at: 0 };
        let (learned, aging) = match switch.addresses {
            AddressTable::Static => (None, 0),
            AddressTable::Learning { aging } => (Some(vec![nobody; stations]), aging.as_ps()),
        };
        switches.push(SwitchState {
            node,
            first_port: numbers.first_port[node.index()],
            ports: switch.ports.clone(),
            is_cut_through: switch.mode == ForwardingMode::CutThrough,
            is_vlan_aware: is_vlan_aware(switch),
            strips_tags: switch.tags == TagHandling::Strip,
            learned,
            aging,
            groups: (switch.multicast == MulticastForwarding::Managed).then_some(table),
            shared_used: 0,
            shared_limit: switch.buffer.shared.map_or(u64::MAX, Bytes::get),
            arrived: 0,
            copied: 0,
            filtered: 0,
            discarded: 0,
        });
    }
    Ok(switches)
}

fn is_vlan_aware(switch: &Switch) -> bool {
    let is_plain = |port: &rtether_model::network::SwitchPort| {
        port.vlan == PortVlan::Transparent && port.default_pcp.get() == 0
    };
    !switch.ports.iter().all(is_plain)
}

/// Returns the egress ports of each multicast flow, by node.
fn group_tables(
    network: &Network,
    flows: &[Flow],
    routing: &Routing,
    numbers: &Numbers,
) -> Result<Vec<BTreeMap<u32, Vec<u32>>>, BuildError> {
    let mut tables = vec![BTreeMap::<u32, Vec<u32>>::new(); network.nodes.len()];
    for (group, flow) in (0u32..).zip(flows) {
        if flow.delivery != Delivery::Multicast {
            continue;
        }
        let hops = routing
            .flow_hops(network, flow)
            .map_err(|reason| BuildError::NoRoute {
                flow: flow.name.clone(),
                reason,
            })?;
        for hop in hops {
            let table = &mut tables[hop.egress.node.index()];
            table
                .entry(group)
                .or_default()
                .push(numbers.port(hop.egress));
        }
    }
    Ok(tables)
}

pub(super) fn static_addresses(
    network: &Network,
    routing: &Routing,
    numbers: &Numbers,
) -> Forwarding {
    let mut forwarding = Forwarding::default();
    let (mut switches, mut hubs) = (Vec::new(), Vec::new());
    for (node, definition) in network.iter_nodes() {
        match definition.kind {
            NodeKind::Switch(_) => switches.push(node),
            NodeKind::Hub(_) => hubs.push(node),
            NodeKind::EndStation(_) => {}
        }
    }
    // A hub is a destination place like a switch, but does not forward by address.
    let hub_number = |node: NodeId| {
        let position = hubs.iter().position(|&hub| hub == node)?;
        u32::try_from(switches.len() + position).ok()
    };
    for (node, definition) in network.iter_nodes() {
        match definition.kind {
            NodeKind::Switch(_) | NodeKind::Hub(_) => {}
            NodeKind::EndStation(_) => {
                let access = routing
                    .hops_from(network, node)
                    .next()
                    .map(|hop| hop.ingress);
                forwarding.access.push(
                    match access.map(|port| (port, numbers.owner[port.node.index()])) {
                        Some((port, Owner::Switch(switch))) => (switch, numbers.port(port)),
                        Some((port, Owner::Hub)) => (hub_number(port.node).unwrap_or(NONE), NONE),
                        _ => (NONE, NONE),
                    },
                );
            }
        }
    }
    forwarding.places = switches.len() + hubs.len();
    for &from in &switches {
        for &to in switches.iter().chain(&hubs) {
            let port = routing.port_towards(from, to);
            forwarding
                .towards
                .push(port.map_or(NONE, |port| numbers.port(port)));
        }
    }
    forwarding
}
