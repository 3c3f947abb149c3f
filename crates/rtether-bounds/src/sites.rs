//! Numbers for the places of a network, and the links between them.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use rtether_model::network::{
    EndStation, ForwardingMode, Network, NodeId, NodeKind, PortId, Stack,
};
use rtether_model::quantity::Duration;
use rtether_model::route::{Hop, Routing};
use rtether_model::wire;

use crate::answer::Reason;
use crate::plant::{NONE, Server, ServerKind};
use crate::source::add as add_up;
use crate::stack::{is_plain, processors};

/// Octets after which a cut-through switch knows the way: preamble and header (catalogue 0.2).
pub(crate) const HEADER: i64 = 22;
/// Preamble and start frame delimiter.
pub(crate) const PREAMBLE: i64 = 8;
const OVERHEAD: i64 = 20;
const _: () = assert!(
    wire::PREAMBLE.get() == 8 && wire::GAP.get() == 12 && wire::HEADER.get() == 14,
    "the constants above are those of the wire"
);

/// Returns the octets for which a frame keeps a link busy.
pub(crate) const fn wire_octets(frame: i64) -> i64 {
    frame + OVERHEAD
}

/// A port with a link in use.
#[derive(Clone, Copy)]
pub(crate) struct Wire {
    /// [`NONE`] at a hub, which does not queue.
    pub(crate) server: u32,
    pub(crate) to: PortId,
    pub(crate) octet: i64,
    /// Propagation, fixed costs of interfaces, and latency of the switch at the other end.
    pub(crate) flight: i64,
}

/// All places by node and port.
pub(crate) struct Sites {
    first_port: Vec<usize>,
    wires: Vec<Option<Wire>>,
    /// By node: processors for sent and for received packets.
    stacks: Vec<[u32; 2]>,
}

impl Sites {
    /// Numbers the places of a network and appends them to `servers`.
    pub(crate) fn new(network: &Network, routing: &Routing, servers: &mut Vec<Server>) -> Self {
        let mut sites = Self {
            first_port: Vec::new(),
            wires: Vec::new(),
            stacks: vec![[NONE; 2]; network.nodes.len()],
        };
        for (id, node) in network.iter_nodes() {
            let first = sites.wires.len();
            sites.first_port.push(first);
            let ports = match &node.kind {
                NodeKind::EndStation(_) => 1,
                NodeKind::Switch(switch) => switch.ports.len(),
                NodeKind::Hub(hub) => usize::from(hub.ports),
            };
            sites.wires.resize(first + ports, None);
            if let NodeKind::EndStation(station) = &node.kind {
                sites.stacks[id.index()] = add_stack(id, station, servers);
            }
            for hop in routing.hops_from(network, id) {
                let server = add_port(network, &hop, servers);
                let link = &network.links[hop.link.index()];
                sites.wires[first + usize::from(hop.egress.port)] = Some(Wire {
                    server,
                    to: hop.ingress,
                    octet: link.rate.octet_time().map_or(0, Duration::as_ps),
                    flight: flight(network, &hop),
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

    /// Returns the processor that a packet takes, or [`NONE`].
    pub(crate) fn stack(&self, node: NodeId, is_outbound: bool) -> u32 {
        self.stacks[node.index()][usize::from(!is_outbound)]
    }
}

fn add(servers: &mut Vec<Server>, server: Server) -> u32 {
    let id = u32::try_from(servers.len()).unwrap_or(NONE);
    servers.push(server);
    id
}

/// Adds the processors of a stack. A station with tasks or a layer is one place of which nothing
/// is known.
fn add_stack(node: NodeId, station: &EndStation, servers: &mut Vec<Server>) -> [u32; 2] {
    let is_known = is_plain(station);
    let stack = |is_receiver| Server {
        kind: ServerKind::Stack { node, is_receiver },
        obstacle: (!is_known).then_some(Reason::EndNodeLayer { node }),
        octet: 0,
        interface_per_octet: 0,
        is_cut_through: false,
        is_lossy: false,
        spaces: is_known,
    };
    if !is_known {
        return [add(servers, stack(false)); 2];
    }
    match processors(&station.stack) {
        0 => [NONE; 2],
        1 => [add(servers, stack(false)); 2],
        _ => [false, true].map(|is_receiver| add(servers, stack(is_receiver))),
    }
}

fn add_port(network: &Network, hop: &Hop, servers: &mut Vec<Server>) -> u32 {
    let link = &network.links[hop.link.index()];
    let kind = match &network.node(hop.egress.node).kind {
        NodeKind::Hub(_) => return NONE,
        NodeKind::EndStation(_) => ServerKind::Station(hop.egress),
        NodeKind::Switch(switch) => ServerKind::Switch {
            port: hop.egress,
            selection: switch.selection,
            top: switch.queues.count() - 1,
        },
    };
    let port = hop.egress;
    let has_layer = network
        .end_station(port.node)
        .is_some_and(|station| !is_plain(station));
    let is_shared = network.is_half_duplex(link);
    let octet = link.rate.octet_time().map(Duration::as_ps);
    let obstacle = if is_shared {
        Some(Reason::SharedMedium { port })
    } else if octet.is_none() {
        Some(Reason::LinkRate { port })
    } else if has_layer {
        Some(Reason::EndNodeLayer { node: port.node })
    } else {
        None
    };
    let interfaces = [hop.egress.node, hop.ingress.node]
        .into_iter()
        .filter_map(|node| interface(network, node));
    let is_cut_through = network
        .switch(hop.ingress.node)
        .is_some_and(|switch| switch.mode == ForwardingMode::CutThrough);
    add(
        servers,
        Server {
            kind,
            // A shared medium may be idle while a frame waits, and so may a link below a layer; what
            // comes out of the latter is still no denser than the link.
            spaces: !is_shared && octet.is_some(),
            obstacle,
            octet: octet.unwrap_or(0),
            interface_per_octet: interfaces
                .map(|cost| cost.per_octet.as_ps())
                .fold(0, add_up),
            is_cut_through,
            is_lossy: link.errors_per_billion > 0,
        },
    )
}

/// Returns the cost of the network interface of a station that has one.
fn interface(network: &Network, node: NodeId) -> Option<rtether_model::network::Cost> {
    match &network.end_station(node)?.stack {
        Stack::Linear(linear) => Some(linear.interface),
        Stack::Zero | Stack::IpRate { .. } | Stack::Rtos(_) => None,
    }
}

/// Returns what every frame spends between the end of its transmission and the egress queue.
fn flight(network: &Network, hop: &Hop) -> i64 {
    let link = &network.links[hop.link.index()];
    let interfaces = [hop.egress.node, hop.ingress.node]
        .into_iter()
        .filter_map(|node| interface(network, node));
    let fixed = interfaces.map(|cost| cost.base.as_ps()).fold(0, add_up);
    let latency = network
        .switch(hop.ingress.node)
        .map_or(0, |switch| switch.latency.as_ps());
    add_up(add_up(link.propagation.as_ps(), fixed), latency)
}
