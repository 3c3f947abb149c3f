//! Numbers the places of a network and the links between them.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use rtether_model::access::CLASSES;
use rtether_model::flow::Flow;
use rtether_model::network::{
    Cost, EndStation, ForwardingMode, Network, NodeId, NodeKind, PortId, Stack,
};
use rtether_model::quantity::Duration;
use rtether_model::route::{Hop, Routing};
use rtether_model::unknown::{CostName, more};

use crate::access::{Carriage, Schemes};
use crate::analysis::Reason;
use crate::discipline::Discipline;
use crate::discipline::smoother::Pace;
use crate::gap::Gap;
use crate::index::NONE;
use crate::plant::{Server, ServerKind};
use crate::service_curve::ServiceCurve;
use crate::source::add as add_up;
use crate::stack::processors;
use crate::station;

/// A port with a link in use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wire {
    /// [`NONE`] at a hub, which does not queue.
    pub(crate) server: u32,
    pub(crate) to: PortId,
    pub(crate) octet: i64,
    /// Propagation, fixed costs of interfaces, and latency of the switch at the other end; behind
    /// the port of a hub with its own delay.
    pub(crate) flight: Gap,
    /// Octets of the largest frame of each class that the port sends.
    pub(crate) largest: [i64; CLASSES],
    /// Whether the port follows an access scheme, with a queue for each class.
    pub(crate) has_turns: bool,
    /// How long frames are under way where they pass through all stations; behind the port of a hub,
    /// those of the station that takes them out.
    pub(crate) carriage: Option<Carriage>,
}

/// All places by node and port.
#[derive(Debug)]
pub(crate) struct Sites {
    first_port: Vec<usize>,
    wires: Vec<Option<Wire>>,
    /// By node.
    stations: Vec<Inside>,
}

/// Places inside an end station, or a router, whose processor is its stack; [`NONE`] where the place
/// does not exist.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Inside {
    pub(crate) tasks: u32,
    /// Processors for sent and for received packets.
    stack: [u32; 2],
    pub(crate) smoother: u32,
}

impl Inside {
    const NONE: Self = Self { tasks: NONE, stack: [NONE; 2], smoother: NONE };

    /// Returns the processor of the stack that a packet takes.
    pub(crate) fn stack(&self, is_outbound: bool) -> u32 {
        self.stack[usize::from(!is_outbound)]
    }
}

impl Sites {
    /// Numbers the places of a network and appends them to `servers`.
    pub(crate) fn new(network: &Network, routing: &Routing, servers: &mut Vec<Server>) -> Self {
        let mut sites = Self {
            first_port: Vec::new(),
            wires: Vec::new(),
            stations: vec![Inside::NONE; network.nodes.len()],
        };
        let schemes = Schemes::new(network);
        for (id, node) in network.iter_nodes() {
            let first = sites.wires.len();
            sites.first_port.push(first);
            let ports = match &node.kind {
                NodeKind::EndStation(station) => usize::from(station.ports()),
                NodeKind::Switch(switch) => switch.ports.len(),
                NodeKind::Hub(hub) => usize::from(hub.ports),
            };
            sites.wires.resize(first + ports, None);
            if let NodeKind::EndStation(station) = &node.kind {
                sites.stations[id.index()] = add_station(id, station, servers);
            }
            if network.switch(id).is_some_and(|switch| switch.router.is_some()) {
                let processor = inside(ServerKind::Router(id), true, Discipline::Fifo);
                sites.stations[id.index()].stack = [add(servers, processor); 2];
            }
            for hop in routing.hops_from(network, id) {
                let server = add_port(network, &schemes, &hop, servers);
                let smoother = add_smoother(network, hop.egress, server, servers);
                sites.stations[id.index()].smoother = smoother;
                let link = &network.links[hop.link.index()];
                let largest = schemes.largest(hop.egress.node, hop.ingress.node);
                sites.wires[first + usize::from(hop.egress.port)] = Some(Wire {
                    server,
                    to: hop.ingress,
                    octet: link.rate.octet_time().map_or(0, Duration::as_ps),
                    flight: flight(network, &hop),
                    largest: largest.unwrap_or([i64::MAX; CLASSES]),
                    has_turns: largest.is_some(),
                    carriage: carriage(&schemes, &hop),
                });
            }
        }
        sites.first_port.push(sites.wires.len());
        sites
    }

    /// Returns the number of ports.
    pub(crate) fn ports(&self) -> usize {
        self.wires.len()
    }

    /// Returns the number of a port.
    pub(crate) fn number_of(&self, port: PortId) -> usize {
        self.first_port[port.node.index()] + usize::from(port.port)
    }

    /// Returns the link in use at a port.
    pub(crate) fn wire(&self, port: PortId) -> Option<Wire> {
        let first = self.first_port[port.node.index()];
        self.wires[first + usize::from(port.port)]
    }

    /// Returns the ports of a node that have a link in use.
    pub(crate) fn ports_of(&self, node: NodeId) -> impl Iterator<Item = PortId> + use<> {
        let range = self.first_port[node.index()]..self.first_port[node.index() + 1];
        let used: Box<[bool]> = self.wires[range].iter().map(Option::is_some).collect();
        (0u16..)
            .zip(used)
            .filter(|&(_, is_used)| is_used)
            .map(move |(port, _)| PortId { node, port })
    }

    /// Returns the places inside an end station or a router.
    pub(crate) fn inside(&self, node: NodeId) -> Inside {
        self.stations[node.index()]
    }
}

/// Returns how long frames of the station at one end of a link are under way.
fn carriage(schemes: &Schemes<'_>, hop: &Hop) -> Option<Carriage> {
    let [from, to] = [hop.egress.node, hop.ingress.node];
    let sent = schemes.carriage(from, to);
    sent.or_else(|| schemes.carriage(to, from))
}

fn add(servers: &mut Vec<Server>, server: Server) -> u32 {
    let id = u32::try_from(servers.len()).unwrap_or(NONE);
    servers.push(server);
    id
}

/// Returns a place inside an end station.
fn inside(kind: ServerKind, spaces: bool, discipline: Discipline) -> Server {
    Server {
        kind,
        obstacle: None,
        curve: ServiceCurve::new(0, discipline.pauses()),
        interface_per_octet: 0,
        latency_jitter: 0,
        is_cut_through: false,
        is_lossy: false,
        spaces,
        plan: None,
        discipline,
    }
}

/// Adds the processors of a station: tasks, then stack.
fn add_station(node: NodeId, station: &EndStation, servers: &mut Vec<Server>) -> Inside {
    let mut found = Inside::NONE;
    if let Some(tasks) = &station.tasks {
        let discipline =
            if tasks.messages_first { Discipline::Preemptive } else { Discipline::Fifo };
        let spaces = discipline == Discipline::Fifo;
        found.tasks = add(servers, inside(ServerKind::Tasks { node }, spaces, discipline));
    }
    let discipline = station::discipline(station);
    let spaces = !matches!(discipline, Discipline::Preemptive);
    let stack = |is_receiver| {
        let kind = ServerKind::Stack { node, is_receiver };
        inside(kind, spaces, discipline.clone())
    };
    found.stack = match processors(&station.stack) {
        0 if station::holds_back(station) => [NONE, add(servers, stack(true))],
        0 => [NONE; 2],
        1 => [add(servers, stack(false)); 2],
        _ => [false, true].map(|is_receiver| add(servers, stack(is_receiver))),
    };
    found
}

/// Adds the places where flows keep their gap; returns them by flow.
pub(crate) fn gaps(network: &Network, flows: &[Flow], servers: &mut Vec<Server>) -> Vec<u32> {
    let gaps = flows.iter().map(|flow| {
        let kind = ServerKind::Gap(flow.talker);
        let is_kept = flow.kept_gap(network).is_some();
        if is_kept { add(servers, inside(kind, true, Discipline::Gap)) } else { NONE }
    });
    gaps.collect()
}

/// Adds the smoother above the port of a station that has one.
fn add_smoother(network: &Network, port: PortId, server: u32, servers: &mut Vec<Server>) -> u32 {
    let Some(station) = network.end_station(port.node) else {
        return NONE;
    };
    let layer = station.layer.as_deref();
    let Some(smoothing) = layer.and_then(|layer| layer.smoother) else {
        return NONE;
    };
    let below = &servers[server as usize];
    let (octet, obstacle) = (below.curve.octet, below.obstacle.clone());
    let is_in_order = station::driver(station).is_none_or(|driver| driver.is_in_order());
    let pace = Pace::new(smoothing, is_in_order);
    let discipline = Discipline::Smoother(Box::new(pace));
    add(
        servers,
        Server {
            obstacle,
            curve: ServiceCurve::new(octet, discipline.pauses()),
            ..inside(ServerKind::Smoother(port), false, discipline)
        },
    )
}

fn add_port(network: &Network, schemes: &Schemes<'_>, hop: &Hop, servers: &mut Vec<Server>) -> u32 {
    let link = &network.links[hop.link.index()];
    let port = hop.egress;
    let (kind, discipline, plan) = match &network.node(port.node).kind {
        NodeKind::Hub(_) => return NONE,
        NodeKind::EndStation(station) => {
            let driver = station::driver(station).map(Box::new);
            let plain = if station.by_deadline { Discipline::Deadline } else { Discipline::Fifo };
            let discipline = driver.map_or(plain, Discipline::Driver);
            (ServerKind::Station(port), discipline, None)
        }
        NodeKind::Switch(switch) => {
            let plan = switch.plan_at(port.port);
            (ServerKind::Switch(port), Discipline::of_port(&plan), Some(plan))
        }
    };
    let is_shared = network.is_half_duplex(link);
    let octet = link.rate.octet_time().map(Duration::as_ps);
    let turns = schemes.turns(port, hop.ingress.node);
    let (discipline, unscheduled) = match turns {
        Some(Ok(turns)) => (Discipline::Access(turns), None),
        Some(Err(reason)) => (discipline, Some(reason)),
        None => (discipline, is_shared.then_some(Reason::SharedMedium { port })),
    };
    let obstacle = if unscheduled.is_some() {
        unscheduled
    } else if octet.is_none() {
        Some(Reason::LinkRate { port })
    } else {
        None
    };
    let interfaces =
        [hop.egress.node, hop.ingress.node].into_iter().filter_map(|node| interface(network, node));
    let switch = network.switch(hop.ingress.node);
    add(
        servers,
        Server {
            kind,
            // A shared medium may be idle while a frame waits; what leaves a link below a layer is
            // no denser than the link.
            spaces: !is_shared && octet.is_some(),
            obstacle,
            curve: ServiceCurve::new(octet.unwrap_or(0), discipline.pauses()),
            interface_per_octet: interfaces.map(|(cost, _)| cost.per_octet.as_ps()).fold(0, add_up),
            latency_jitter: switch.map_or(0, |switch| switch.latency_jitter.as_ps()),
            // On a medium with turns of its own the port does not choose.
            plan: plan.filter(|_| !matches!(discipline, Discipline::Access(_))),
            is_cut_through: switch.is_some_and(|switch| switch.mode == ForwardingMode::CutThrough),
            discipline,
            is_lossy: link.errors_per_billion > 0 || schemes.is_lossy(hop.ingress.node),
        },
    )
}

/// Returns the cost of the network interface of a station that has one, and what it may be more.
fn interface(network: &Network, node: NodeId) -> Option<(Cost, Duration)> {
    let station = network.end_station(node)?;
    let more = more(&station.unknown, CostName::Interface);
    match &station.stack {
        Stack::Linear(linear) => Some((linear.interface, more)),
        Stack::Zero | Stack::IpRate { .. } | Stack::Rtos(_) => None,
    }
}

/// Returns the delay of every frame between the end of its transmission and the egress queue, which
/// is the same for all frames in a run.
fn flight(network: &Network, hop: &Hop) -> Gap {
    let link = &network.links[hop.link.index()];
    let interfaces =
        [hop.egress.node, hop.ingress.node].into_iter().filter_map(|node| interface(network, node));
    let interfaces = interfaces.map(|(cost, more)| constant(cost.base, more));
    let switch = network.switch(hop.ingress.node);
    let latency = switch.map(|switch| constant(switch.latency, switch.unknown_latency));
    let hub = network.hub(hop.egress.node).map(|hub| hub.delay);
    let known = [Some(link.propagation), hub].into_iter().flatten();
    let known = known.map(|time| constant(time, Duration::ZERO));
    known.chain(interfaces).chain(latency).fold(Gap::default(), Gap::then)
}

/// Returns a time that is the same for all frames in a run.
fn constant(least: Duration, more: Duration) -> Gap {
    Gap { min: least.as_ps(), max: add_up(least.as_ps(), more.as_ps()), constant: more.as_ps() }
}
