//! Ports and the links behind them.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use rtether_model::access::Domain;
use rtether_model::endnode::TransmitStrategy;
use rtether_model::network::{
    EndStation, ForwardingMode, Network, NodeKind, PortId, PortPlan, QueueMap, Selection, Stack,
};
use rtether_model::quantity::Bytes;
use rtether_model::route::Routing;

use super::Numbers;
use crate::config::Config;
use crate::error::BuildError;
use crate::port::{Line, Port, PortRest};
use crate::queues::EgressQueues;
use crate::random::{Draw, Purpose};

/// All ports in node order, split into three parts.
pub(super) struct Ports {
    pub(super) hot: Vec<Port>,
    pub(super) rests: Vec<PortRest>,
    pub(super) queues: Vec<EgressQueues>,
}

pub(super) fn build_ports(
    network: &Network,
    routing: &Routing,
    numbers: &Numbers,
    config: &Config,
) -> Result<Ports, BuildError> {
    let count = numbers.ports as usize;
    let mut all = Ports {
        hot: Vec::with_capacity(count),
        rests: Vec::with_capacity(count),
        queues: Vec::with_capacity(count),
    };
    let by_class = ports_by_class(network, routing);
    for (node, definition) in network.iter_nodes() {
        for port in (0u16..).take(ports_of(&definition.kind)) {
            let id = PortId { node, port };
            let is_by_class = by_class.contains(&id);
            if let NodeKind::EndStation(station) = &definition.kind
                && let Some(reason) = impossible(station, is_by_class)
            {
                return Err(BuildError::Layer {
                    station: definition.name.clone(),
                    reason: reason.into(),
                });
            }
            let (mut built, mut rest, queues) =
                idle_port(id, network, routing, numbers, is_by_class);
            connect(&mut built, &mut rest, network, routing, numbers, config)?;
            all.hot.push(built);
            all.rests.push(rest);
            all.queues.push(queues);
        }
    }
    Ok(all)
}

/// Returns the number of ports of a node.
pub(super) fn ports_of(kind: &NodeKind) -> usize {
    match kind {
        NodeKind::EndStation(station) => usize::from(station.ports()),
        NodeKind::Switch(switch) => switch.ports.len(),
        NodeKind::Hub(hub) => usize::from(hub.ports),
    }
}

/// Returns the ports on media with an access scheme: they have a queue for each class.
fn ports_by_class(network: &Network, routing: &Routing) -> BTreeSet<PortId> {
    let schemes = network.access.iter();
    let domains = schemes.filter_map(|access| Domain::of(network, access.hub));
    let hops = domains
        .flat_map(|domain| domain.hubs)
        .flat_map(|hub| routing.hops_from(network, hub).collect::<Vec<_>>());
    let ports = hops.map(|hop| hop.ingress);
    ports.filter(|port| network.hub(port.node).is_none()).collect()
}

fn idle_port(
    id: PortId,
    network: &Network,
    routing: &Routing,
    numbers: &Numbers,
    is_by_class: bool,
) -> (Port, PortRest, EgressQueues) {
    let kind = &network.node(id.node).kind;
    let (map, plan, limit) = match kind {
        NodeKind::EndStation(station) => {
            let plan = rings(station);
            (standard_map(plan.queues()), plan, station.driver_queue)
        }
        NodeKind::Switch(switch) => {
            (switch.queues, switch.plan_at(id.port), switch.buffer.per_port)
        }
        NodeKind::Hub(_) => (standard_map(1), PortPlan::new(Selection::Fcfs, 1), Bytes::ZERO),
    };
    // The queues of an access scheme replace those of the port.
    let plan = if is_by_class { PortPlan::new(Selection::StrictPriority, 2) } else { plan };
    let rate = routing.link_at(id).map(|link| network.links[link.index()].rate);
    let mut queues = EgressQueues::new(&plan, rate, limit);
    if let NodeKind::Switch(switch) = kind
        && !is_by_class
        && let Some(thresholds) = switch.thresholds_at(id.port)
    {
        queues.set_thresholds(thresholds);
    }
    let owner = numbers.owner[id.node.index()];
    let reports = matches!(kind, NodeKind::EndStation(station) if reports(station));
    let port = Port::new(owner, &queues, reports);
    let rest = PortRest::new(id, map);
    (port, rest, queues)
}

fn standard_map(queues: u8) -> QueueMap {
    QueueMap::standard(queues).unwrap_or_else(|| unreachable!("a plan has one to eight queues"))
}

/// Returns why a station cannot have the queues it asks for, if it cannot; `is_by_class` if those
/// of its port are the access scheme's.
fn impossible(station: &EndStation, is_by_class: bool) -> Option<&'static str> {
    let transmit = station.layer.as_ref().and_then(|layer| layer.transmit.as_ref());
    if let Some(TransmitStrategy::Rings { count: 9.. }) = transmit.map(|own| own.strategy) {
        return Some("more than eight rings");
    }
    if is_by_class && rings(station).queues() > 1 {
        return Some("several rings and an access scheme with queues of its own");
    }
    if is_by_class && station.by_deadline {
        return Some("earliest deadline first and an access scheme with queues of its own");
    }
    let is_layered = station.layer.is_some() || station.tasks.is_some();
    if station.redundancy.is_some() && is_layered {
        return Some("a layer or tasks at a station in two networks");
    }
    let is_chosen_above = station.by_deadline && reports(station);
    is_chosen_above.then_some("earliest deadline first below transmit queues or a smoother")
}

/// Returns the plan by which a station's interface serves its rings.
fn rings(station: &EndStation) -> PortPlan {
    let transmit = station.layer.as_ref().and_then(|l| l.transmit.as_ref());
    match transmit.map(|transmit| transmit.strategy) {
        Some(TransmitStrategy::Rings { count }) if count > 1 => {
            PortPlan::new(Selection::StrictPriority, count)
        }
        _ if station.by_deadline => PortPlan::new(Selection::EarliestDeadline, 1),
        _ => PortPlan::new(Selection::Fcfs, 1),
    }
}

/// Returns whether a layer above the port has to be told which frames the port has sent.
pub(super) fn reports(station: &EndStation) -> bool {
    let layer = station.layer.as_ref();
    layer.is_some_and(|layer| layer.transmit.is_some() || layer.smoother.is_some())
}

/// Connects the link behind a port, if one is in use.
fn connect(
    port: &mut Port,
    rest: &mut PortRest,
    network: &Network,
    routing: &Routing,
    numbers: &Numbers,
    config: &Config,
) -> Result<(), BuildError> {
    let id = rest.id();
    let Some(hop) = routing.hops_from(network, id.node).find(|hop| hop.egress == id) else {
        return Ok(());
    };
    let link = &network.links[hop.link.index()];
    let octet = link
        .rate
        .octet_time()
        .ok_or(BuildError::Rate { link: hop.link.index(), rate: link.rate })?;
    let mut line =
        Line { octet: octet.as_ps(), is_special: link.errors_per_billion > 0, ..Line::default() };
    let name = alloc::format!("{} {}", network.node(id.node).name, id.port);
    // On a shared medium, the medium accounts for the delay between stations.
    if !network.is_half_duplex(link) {
        line.flight = link.propagation.as_ps();
    }
    for end in [hop.egress, hop.ingress] {
        match &network.node(end.node).kind {
            NodeKind::EndStation(station) => {
                if let Stack::Linear(linear) = &station.stack {
                    line.flight += linear.interface.base.as_ps();
                    line.flight_per_octet += linear.interface.per_octet.as_ps();
                }
            }
            NodeKind::Switch(switch) if end == hop.ingress => {
                line.latency = switch.latency.as_ps();
                let jitter = switch.latency_jitter.as_ps();
                line.has_jitter = jitter > 0;
                line.is_special |= line.has_jitter;
                rest.vary_latency(jitter, Draw::new(config.seed, &name, Purpose::Latency));
                line.is_cut_through = switch.mode == ForwardingMode::CutThrough;
            }
            NodeKind::Switch(_) | NodeKind::Hub(_) => {}
        }
    }
    if let Some(switch) = network.switch(id.node)
        && let Some(mirror) = &switch.mirror
        && mirror.copies_sent(id.port)
    {
        line.is_special = true;
        rest.look_at(numbers.port(PortId { node: id.node, port: mirror.to }));
    }
    let draw = Draw::new(config.seed, &name, Purpose::Errors);
    let owner = numbers.owner[hop.ingress.node.index()];
    port.connect(numbers.port(hop.ingress), owner, line);
    rest.connect(hop.link, link.errors_per_billion, draw);
    Ok(())
}
