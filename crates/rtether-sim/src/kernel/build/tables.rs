//! Switches and their address tables.

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

use rtether_model::flow::{Delivery, Flow};
use rtether_model::network::{MulticastForwarding, Network, NodeId, NodeKind, PortId};
use rtether_model::route::{Hop, RouteError, Routing};

use super::Numbers;
use crate::error::BuildError;
use crate::packet::NONE;
use crate::port::Owner;
use crate::random::{Draw, Purpose};
use crate::switch::{Forwarding, SwitchState};

pub(super) fn build_switches(
    network: &Network,
    flows: &[Flow],
    routing: &Routing,
    numbers: &Numbers,
    seed: u64,
) -> Result<Vec<SwitchState>, BuildError> {
    let stations =
        network.nodes.iter().filter(|n| matches!(n.kind, NodeKind::EndStation(_))).count();
    let mut groups = group_tables(network, flows, routing, numbers)?;
    let mut switches = Vec::new();
    for (node, definition) in network.iter_nodes() {
        let NodeKind::Switch(switch) = &definition.kind else {
            continue;
        };
        let mut table = core::mem::take(&mut groups[node.index()]);
        if switch.multicast == MulticastForwarding::Unmanaged {
            // It floods groups, but for those with a route, also where the route does not pass.
            let routed = (0u32..).zip(flows).filter(|(_, flow)| is_routed_group(flow));
            let own = |(group, _)| (group, table.remove(&group).unwrap_or_default());
            table = routed.map(own).collect();
        }
        let first_port = numbers.first_port[node.index()];
        let draw = Draw::new(seed, &definition.name, Purpose::Stack);
        let state = SwitchState::new(node, switch, first_port, stations, table, draw);
        switches.push(
            state.map_err(|reason| BuildError::Ingress {
                switch: definition.name.clone(),
                reason,
            })?,
        );
    }
    Ok(switches)
}

fn is_routed_group(flow: &Flow) -> bool {
    flow.delivery == Delivery::Multicast && !flow.routes.is_empty()
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
            .map_err(|reason| BuildError::NoRoute { flow: flow.name.clone(), reason })?;
        for hop in hops {
            let table = &mut tables[hop.egress.node.index()];
            table.entry(group).or_default().push(numbers.port(hop.egress));
        }
    }
    // Copies take memory in this order.
    let ways = tables.iter_mut().flat_map(BTreeMap::values_mut);
    ways.for_each(|ways| ways.sort_unstable());
    Ok(tables)
}

/// Checks that frames reach the listeners, and answers or acknowledgements the talker, and adds
/// entries for each unicast stream, the first one numbered `stream`, that has a route or goes
/// elsewhere than its address leads.
///
/// Switches tell such streams apart as IEEE 802.1CB and ARINC 664 do, not by address and VLAN
/// alone: two streams from one station to another may take different routes.
pub(super) fn add_streams(
    forwarding: &mut Forwarding,
    (network, routing, numbers): (&Network, &Routing, &Numbers),
    flow: &Flow,
    stream: u32,
) -> Result<(), RouteError> {
    let mut add = |way, hops: Vec<Hop>, from, to| {
        let is_usual = || routing.path(network, from, to).as_ref() == Ok(&hops);
        if flow.routes.is_empty() && (!routing.has_vlans() || is_usual()) {
            return;
        }
        for hop in hops {
            if let Owner::Switch(switch) = numbers.owner[hop.egress.node.index()] {
                forwarding.add(way, switch, numbers.port(hop.egress));
            }
        }
    };
    for (stream, &listener) in (stream..).zip(&flow.listeners) {
        let hops = routing.flow_path(network, flow, listener)?;
        if flow.delivery == Delivery::Unicast {
            add((stream, false), hops, flow.talker, listener);
        }
        if flow.reply.is_some() || flow.is_acknowledged() {
            let hops = routing.answer_path(network, flow, listener)?;
            add((stream, true), hops, listener, flow.talker);
        }
    }
    Ok(())
}

pub(super) fn static_addresses(
    network: &Network,
    routing: &Routing,
    numbers: &Numbers,
) -> Forwarding {
    let (mut switches, mut hubs) = (Vec::new(), Vec::new());
    // A hub is a destination place like a switch, but does not forward by address.
    let mut hub_number = BTreeMap::new();
    for (node, definition) in network.iter_nodes() {
        match definition.kind {
            NodeKind::Switch(_) => switches.push(node),
            NodeKind::Hub(_) => {
                hub_number.insert(node, hubs.len());
                hubs.push(node);
            }
            NodeKind::EndStation(_) => {}
        }
    }
    let place_of_hub = |hub: NodeId| {
        let number = hub_number.get(&hub).map(|number| switches.len() + number);
        number.and_then(|number| u32::try_from(number).ok())
    };
    let stations =
        network.iter_nodes().filter(|(_, node)| matches!(node.kind, NodeKind::EndStation(_)));
    let place = |port: PortId| match numbers.owner[port.node.index()] {
        Owner::Switch(switch) => (switch, numbers.port(port)),
        Owner::Hub => (place_of_hub(port.node).unwrap_or(NONE), NONE),
        Owner::Station(_) => (NONE, NONE),
    };
    let (mut access, mut second) = (Vec::new(), BTreeMap::new());
    for (number, (node, _)) in (0u32..).zip(stations) {
        let hops = routing.hops_from(network, node);
        let mut places = hops.map(|hop| place(hop.ingress));
        access.push(places.next().unwrap_or((NONE, NONE)));
        second.extend(places.next().map(|place| (number, place)));
    }
    let first_ports = switches.iter().map(|node| numbers.first_port[node.index()]).collect();
    switches.extend(hubs);
    Forwarding::new((access, second), switches, first_ports, routing)
}
