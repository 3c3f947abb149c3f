//! Checks that need the whole plant: routes, loops, overload, deadlines, unused declarations.

use std::collections::BTreeSet;

use rtether_model::flow::{Delivery, Flow, FlowId};
use rtether_model::network::{
    AddressTable, LinkId, MulticastForwarding, Network, NodeId, NodeKind, PortId, PortVlan, Vid,
};
use rtether_model::route::{RouteError, Routing};

use super::change::Override;
use super::codes::{self, Severity};
use super::diagnostic::{Diagnostic, quote};
use super::help::Help;
use super::lower::{Plant, ports_of};
use super::reader::Reader;

mod admission;
mod deadline;
mod domain;
mod gap;
mod idle;
mod load;
mod mirror;
mod order;
mod redundancy;
mod router;
mod shaper;
pub(super) mod size;
mod smoothed;

pub use domain::Domains;

/// Checks the plant as a whole.
pub(super) fn check(reader: &mut Reader<'_>, plant: &Plant, overload: Severity) {
    reader.is_whole = reader.sink.errors() == 0;
    let routing = Routing::new(&plant.network);
    loops(reader, plant, &routing);
    let domains = Domains::new(&plant.network);
    domain::check(reader, plant, &domains);
    let mut walk =
        Walk { used: vec![false; plant.network.nodes.len()], unconnected: BTreeSet::new() };
    router::check(reader, plant);
    redundancy::check(reader, plant, &routing);
    admission::check(reader, plant, &routing);
    if let Some(admission) = plant.network.admission {
        walk.used[admission.manager.index()] = true;
    }
    // Channels that would be too much are refused.
    let overload = match plant.network.admission {
        Some(_) => Severity::Warning,
        None => overload,
    };
    for station in mirror::check(reader, plant) {
        walk.used[station.index()] = true;
    }
    for (index, flow) in plant.flows.iter().enumerate() {
        walk.flow(reader, plant, &routing, index, flow);
        smoothed::check(reader, plant, index, flow);
        gap::check(reader, plant, index, flow);
    }
    shaper::check(reader, plant);
    deadline::partition(reader, plant, &routing);
    load::check(reader, plant, (&routing, &domains), overload);
    if reader.sink.errors() == 0 {
        walk.unused(reader, plant);
        idle::check(reader, plant, &routing);
        order::check(reader, plant, &routing);
    }
}

/// Checks the way of replies and acknowledgements, which meet the VLANs in reverse order.
fn way_back(
    plant: &Plant,
    routing: &Routing,
    flow: &Flow,
    listener: NodeId,
) -> Result<(), RouteError> {
    if flow.reply.is_none() && !flow.is_acknowledged() {
        return Ok(());
    }
    let hops = routing.answer_path(&plant.network, flow, listener);
    hops.map(|_| ())
}

struct Walk {
    used: Vec<bool>,
    unconnected: BTreeSet<NodeId>,
}

impl Walk {
    fn flow(
        &mut self,
        reader: &mut Reader<'_>,
        plant: &Plant,
        routing: &Routing,
        index: usize,
        flow: &Flow,
    ) {
        let mut late = false;
        for &listener in &flow.listeners {
            match routing.flow_paths(&plant.network, flow, listener) {
                Ok(paths) => {
                    self.used[flow.talker.index()] = true;
                    for hop in paths.iter().flatten() {
                        self.used[hop.ingress.node.index()] = true;
                    }
                    if !late {
                        // The first copy counts.
                        let shortest = paths.iter().min_by_key(|path| path.len());
                        let hops = shortest.map_or(&[][..], Vec::as_slice);
                        late = deadline::check(reader, plant, index, flow, hops);
                    }
                    if let Err(error) = way_back(plant, routing, flow, listener) {
                        self.no_route(reader, plant, (index, listener, " and back"), error);
                    }
                }
                Err(error) => self.no_route(reader, plant, (index, listener, ""), error),
            }
        }
    }

    fn no_route(
        &mut self,
        reader: &mut Reader<'_>,
        plant: &Plant,
        (index, listener, back): (usize, NodeId, &str),
        error: RouteError,
    ) {
        let flow = &plant.flows[index];
        let network = &plant.network;
        let name = |node: NodeId| quote(&network.node(node).name);
        let span = plant.flow_spans[index];
        let (talker, to) = (name(flow.talker), name(listener));
        let from_to = format!("flow {} runs from {talker} to {to}{back}", quote(&flow.name));
        let diagnostic = match error {
            RouteError::Unconnected { node } => {
                if !self.unconnected.insert(node) {
                    return;
                }
                let title = format!("{} has no link in use", name(node));
                let place = plant.node_spans[node.index()];
                let help = match free_port(network, &ports_in_use(plant)) {
                    Some((port, rate)) => format!(
                        "add `- {{ ends: [{}, \"{port}\"]{rate} }}` to `links`",
                        network.node(node).name
                    ),
                    None => "add a link".to_owned(),
                };
                Diagnostic::new(&codes::NO_ROUTE, title, place, "declared here")
                    .also(span, from_to)
                    .help(help)
            }
            RouteError::Separated { from, to } => {
                let title = format!("no links join {} and {}", name(from), name(to));
                Diagnostic::new(&codes::NO_ROUTE, title, span, from_to).help(
                    "link the switches or hubs they are at; a link on standby carries nothing",
                )
            }
            RouteError::OutsideVlan { port, vid } => vlan(plant, index, port, vid, from_to),
            RouteError::Ambiguous { from, to } => {
                let title = format!(
                    "several ways from {} to {} in the VLAN are equally short",
                    name(from),
                    name(to)
                );
                Diagnostic::new(&codes::AMBIGUOUS_ROUTE, title, span, from_to)
                    .help("give the flow a `route`: the nodes from the talker to the listener")
            }
            RouteError::Broken { port } => {
                let place = port_name(network, port);
                let title = format!("the route has no link in use behind {place}");
                Diagnostic::new(&codes::BAD_ROUTE, title, span, from_to)
                    .help("take another way; a link on standby carries nothing")
            }
            RouteError::NoVlan { port } => {
                let title = format!("{} takes no untagged frames", port_name(network, port));
                let label = "its trunk has no `native` VLAN";
                Diagnostic::new(&codes::VLAN_SEPARATION, title, span, from_to)
                    .also(plant.node_spans[port.node.index()], label)
                    .help("give the flow a `vlan`, or the trunk a `native` VLAN")
            }
        };
        reader.report(diagnostic);
    }

    fn unused(&self, reader: &mut Reader<'_>, plant: &Plant) {
        for (id, node) in plant.network.iter_nodes() {
            if self.used[id.index()] {
                continue;
            }
            let verb = match node.kind {
                NodeKind::EndStation(_) => "no flow starts or ends at",
                NodeKind::Switch(_) | NodeKind::Hub(_) => "no flow passes",
            };
            let title = format!("{verb} {}", quote(&node.name));
            let span = plant.node_spans[id.index()];
            let label = "declared here";
            reader.report(Diagnostic::new(&codes::UNUSED_NODE, title, span, label));
        }
    }
}

fn vlan(plant: &Plant, index: usize, port: PortId, vid: Vid, from_to: String) -> Diagnostic {
    let flow = &plant.flows[index];
    let (number, place) = (vid.get(), port_name(&plant.network, port));
    let title = format!("{place} is not a member of VLAN {number}");
    let label = "on the way of the flow";
    let tagged = flow.tag.is_some_and(|tag| tag.vid == vid);
    let source = if tagged {
        "the flow is tagged with it"
    } else {
        "untagged frames belong to it where they enter"
    };
    let own = port.port + 1;
    let switch = plant.network.switch(port.node);
    let setting = switch.and_then(|switch| switch.ports.get(usize::from(port.port)));
    let (remedy, key, value) =
        if let Some(PortVlan::Trunk { allowed, .. }) = setting.map(|port| &port.vlan) {
            let all = allowed.iter().flatten().map(|vid| vid.get()).chain([number]);
            let all: Vec<String> = all.map(|vid| vid.to_string()).collect();
            let remedy = format!("add {number} to the `trunk` of port {own}; {source}");
            (remedy, "trunk", format!("[{}]", all.join(", ")))
        } else {
            let remedy =
                format!("set `port_settings: {{ {own}: {{ access: {number} }} }}` there; {source}");
            (remedy, "access", number.to_string())
        };
    let settings = format!("switches.{}.port_settings", plant.network.node(port.node).name);
    // The same value, by how much of its place is there.
    let changes = vec![
        Override::new("edit", format!("{settings}.{own}.{key}"), value.clone()),
        Override::new("edit", format!("{settings}.{own}"), format!("{{ {key}: {value} }}")),
        Override::new("edit", settings, format!("{{ {own}: {{ {key}: {value} }} }}")),
    ];
    Diagnostic::new(&codes::VLAN_SEPARATION, title, plant.flow_spans[index], from_to)
        .also(plant.node_spans[port.node.index()], label)
        .help(Help::from(remedy).sets(changes))
}

/// Returns a port in words, counted from 1: "port 3 of switch `sw1`".
fn port_name(network: &Network, port: PortId) -> String {
    let name = quote(&network.node(port.node).name);
    match ports_of(network, port.node) {
        Some((kind, _)) => format!("port {} of {kind} {name}", port.port + 1),
        None => format!("node {name}"),
    }
}

fn ports_in_use(plant: &Plant) -> BTreeSet<PortId> {
    let links = plant.network.links.iter();
    links.flat_map(|link| link.ends).collect()
}

/// Returns an unused port and the `rate` to write for a link to it; empty for a hub, which implies
/// the rate.
fn free_port(network: &Network, used: &BTreeSet<PortId>) -> Option<(String, &'static str)> {
    network.iter_nodes().find_map(|(node, _)| {
        let (kind, count) = ports_of(network, node)?;
        let port = (0..count).find(|&port| !used.contains(&PortId { node, port }))?;
        let rate = match kind {
            "hub" => "",
            _ => ", rate: 100 Mbit/s",
        };
        Some((format!("{}:{}", network.node(node).name, port + 1), rate))
    })
}

/// Reports loops in which frames would circulate. Hubs repeat everything they receive. Static
/// tables, managed multicast and flows with a route need no tree: nothing is flooded.
fn loops(reader: &mut Reader<'_>, plant: &Plant, routing: &Routing) {
    /// Beyond this many loops the plant has one mistake rather than many.
    const MOST: usize = 8;
    let free = || plant.flows.iter().filter(|flow| flow.routes.is_empty());
    let floods = Floods {
        any: free().next().is_some(),
        multicast: free().any(|flow| flow.delivery == Delivery::Multicast),
        requests: plant.network.resolves_addresses(),
    };
    let mut found = routing.find_loop(&plant.network);
    let mut opened: Option<Network> = None;
    for _ in 0..MOST {
        let Some(links) = found else { return };
        let network = opened.get_or_insert_with(|| plant.network.clone());
        if !report_loop(reader, plant, &links, floods) {
            return;
        }
        let Some(last) = links.last() else { return };
        network.links[last.index()].standby = true;
        found = Routing::new(network).find_loop(network);
    }
}

/// Whether switches may flood frames of flows without a route, or requests for addresses.
#[derive(Clone, Copy)]
struct Floods {
    any: bool,
    multicast: bool,
    requests: bool,
}

/// Returns whether other loops of the plant are of interest.
fn report_loop(reader: &mut Reader<'_>, plant: &Plant, links: &[LinkId], free: Floods) -> bool {
    let network = &plant.network;
    let ends = links.iter().flat_map(|link| network.links[link.index()].ends);
    let members: BTreeSet<NodeId> = ends.map(|end| end.node).collect();
    let culprit = members.iter().find_map(|&node| {
        if network.hub(node).is_some() {
            return Some((node, "repeats every frame at all its ports"));
        }
        let switch = network.switch(node)?;
        if free.any && matches!(switch.addresses, AddressTable::Learning { .. }) {
            return Some((node, "floods unknown addresses because it learns"));
        }
        let floods = switch.multicast == MulticastForwarding::Unmanaged;
        if free.multicast && floods {
            return Some((node, "floods multicast"));
        }
        let requests = "floods broadcasts, and stations with `arp` send them";
        free.requests.then_some((node, requests))
    });
    let Some((node, why)) = culprit else {
        unsaid(reader, plant, &members, links);
        return false;
    };
    let names: Vec<String> =
        members.iter().take(8).map(|&member| quote(&network.node(member).name)).collect();
    let has_hub = members.iter().any(|&member| network.hub(member).is_some());
    let has_switch = members.iter().any(|&member| network.switch(member).is_some());
    let kinds = match (has_hub, has_switch) {
        (true, true) => "hubs and switches",
        (true, false) => "hubs",
        (false, _) => "switches",
    };
    let title = format!("{kinds} {} form a loop", names.join(", "));
    let Some((last, others)) = links.split_last() else {
        return false;
    };
    let label = "this link closes the loop";
    let mut diagnostic =
        Diagnostic::new(&codes::NETWORK_LOOP, title, plant.link_spans[last.index()], label)
            .also(plant.node_spans[node.index()], why)
            .help("add `standby: true` to this link, as a spanning tree would block it")
            .help_if((!has_hub && !free.requests).then_some(
                "or use `addresses: static` and `multicast: managed`, which follow shortest paths",
            ))
            .help_if(
                (!has_hub && !free.requests)
                    .then_some("or give every flow a `route`: then nothing is flooded"),
            );
    for link in others.iter().take(6) {
        diagnostic = diagnostic.also(plant.link_spans[link.index()], "part of the loop");
    }
    reader.report(diagnostic);
    true
}

/// Warns of a ring of switches that do not say how they know addresses: those in a shop learn them,
/// and then need a spanning tree, which leaves other ways than shortest ones.
fn unsaid(reader: &mut Reader<'_>, plant: &Plant, members: &BTreeSet<NodeId>, links: &[LinkId]) {
    let Some((last, node)) = links.last().zip(members.intersection(&plant.plain).next()) else {
        return;
    };
    if plant.flows.iter().all(|flow| !flow.routes.is_empty()) {
        return;
    }
    let names = members.iter().take(8);
    let names: Vec<String> = names.map(|&node| quote(&plant.network.node(node).name)).collect();
    let title =
        format!("switches {} form a ring, and no link of it is on standby", names.join(", "));
    let label = "frames take the shortest path over all links";
    let why = "says nothing of `addresses`, which are then static";
    reader.report(
        Diagnostic::new(
            &codes::OPEN_RING,
            title,
            plant.link_spans[last.index()],
            label,
        )
        .also(plant.node_spans[node.index()], why)
        .help("add `standby: true` to the link that the spanning tree or ring protocol blocks")
        .help(
            "or write `addresses: static` where frames do follow shortest paths, as in TSN or SDN",
        )
        .help("or give every flow a `route`"),
    );
}

/// Returns the flow with this index.
fn flow_of(plant: &Plant, id: FlowId) -> &Flow {
    &plant.flows[id.index()]
}
