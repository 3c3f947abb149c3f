//! Builds a simulation: numbers for nodes, ports and streams, slots for timers, tables.

mod tables;

use alloc::vec::Vec;

use rtether_model::flow::{Delivery, Flow, Traffic};
use rtether_model::network::{
    ForwardingMode, LinkId, Network, NodeId, NodeKind, PortId, QueueMap, Selection, Stack,
};
use rtether_model::quantity::Bytes;
use rtether_model::route::{RouteError, Routing};
use rtether_model::wire::{self, Encapsulation};

use crate::agenda::Agenda;
use crate::bulk::BulkFlow;
use crate::kernel::{Action, BuildError, Config, FlowState, Simulation};
use crate::packet::{Fifo, NONE, Pool, TAGGED};
use crate::port::{Owner, Port, PortRest};
use crate::queues::EgressQueues;
use crate::random::{Draw, Purpose};
use crate::source::Source;
use crate::station::{StackState, Station, frame_octets};
use crate::stats::StreamStats;
use tables::{build_switches, static_addresses};

/// Numbers given to the parts of a network.
struct Numbers {
    /// By node: the station or the switch it is, and its first port.
    owner: Vec<Owner>,
    first_port: Vec<u32>,
}

impl Numbers {
    fn new(network: &Network) -> Result<Self, BuildError> {
        let (mut stations, mut switches, mut ports) = (0u32, 0u32, 0u32);
        let (mut owner, mut first_port) = (Vec::new(), Vec::new());
        for node in &network.nodes {
            first_port.push(ports);
            let count = match &node.kind {
                NodeKind::EndStation(_) => {
                    owner.push(Owner::Station(stations));
                    stations += 1;
                    1
                }
                NodeKind::Switch(switch) => {
                    owner.push(Owner::Switch(switches));
                    switches += 1;
                    u32::try_from(switch.ports.len()).map_err(|_| BuildError::TooLarge)?
                }
            };
            // Places are coded with 28 bits for the port.
            ports = ports
                .checked_add(count)
                .filter(|&ports| ports < 1 << crate::packet::PLACE_INDEX_BITS)
                .ok_or(BuildError::TooLarge)?;
        }
        Ok(Self { owner, first_port })
    }

    fn port(&self, id: PortId) -> u32 {
        self.first_port[id.node.index()] + u32::from(id.port)
    }

    fn station(&self, node: NodeId) -> Option<u32> {
        match self.owner[node.index()] {
            Owner::Station(station) => Some(station),
            Owner::Switch(_) => None,
        }
    }
}

impl Simulation {
    /// Builds a run of `flows` over `network`.
    pub fn new(network: &Network, flows: &[Flow], config: &Config) -> Result<Self, BuildError> {
        let numbers = Numbers::new(network)?;
        let routing = Routing::new(network);
        let (ports, port_rests, queues) = build_ports(network, &routing, &numbers, config)?;
        let (stations, stacks) = build_stations(network, &routing, &numbers, config);
        let mut simulation = Self {
            network: network.clone(),
            flow_list: flows.to_vec(),
            forwarding: static_addresses(network, &routing, &numbers),
            switches: build_switches(network, flows, &routing, &numbers)?,
            stations,
            stacks,
            routing,
            config: *config,
            now: 0,
            events: 0,
            agenda: Agenda::new(0),
            actions: Vec::new(),
            pool: Pool::default(),
            ports,
            port_rests,
            queues,
            flows: Vec::new(),
            bulk: Vec::new(),
            streams: Vec::new(),
        };
        for flow in flows {
            simulation.add_flow(flow, &numbers)?;
        }
        simulation.give_slots()?;
        Ok(simulation)
    }

    fn add_flow(&mut self, flow: &Flow, numbers: &Numbers) -> Result<(), BuildError> {
        let index = u32::try_from(self.flows.len()).map_err(|_| BuildError::TooLarge)?;
        let first_stream = u32::try_from(self.streams.len()).map_err(|_| BuildError::TooLarge)?;
        let name = || flow.name.clone();
        let station = |node| {
            numbers
                .station(node)
                .ok_or_else(|| BuildError::NotAnEndStation { flow: name() })
        };
        let talker = station(flow.talker)?;
        let listeners: Vec<u32> = flow
            .listeners
            .iter()
            .map(|&node| station(node))
            .collect::<Result<_, _>>()?;
        self.check_routes(flow)
            .map_err(|reason| BuildError::NoRoute {
                flow: name(),
                reason,
            })?;
        let octets = |payload: Bytes| {
            let fits = payload <= flow.encapsulation.max_payload();
            let size = wire::frame_size(payload, flow.encapsulation);
            frame_octets(size)
                .filter(|_| fits)
                .ok_or_else(|| BuildError::Payload { flow: name() })
        };
        let bulk = match &flow.traffic {
            Traffic::Bulk(bulk) if bulk.tcp.segment <= Encapsulation::Tcp.max_payload() => {
                self.bulk.push(BulkFlow::new(index, bulk));
                u32::try_from(self.bulk.len() - 1).ok()
            }
            Traffic::Bulk(_) => return Err(BuildError::Payload { flow: name() }),
            Traffic::Periodic { .. }
            | Traffic::Sporadic { .. }
            | Traffic::Poisson { .. }
            | Traffic::Flood { .. } => None,
        };
        for listener in &flow.listeners {
            let sent_back = flow.reply.map_or(flow.payload, |reply| reply.payload);
            // Segments of a bulk flow differ.
            let payload = if bulk.is_some() { 0 } else { sent_back.get() };
            self.streams
                .push(StreamStats::new(index, listener.0, flow.deadline, payload));
        }
        self.flows.push(FlowState {
            source: Source::new(flow, self.config.seed),
            slot: NONE,
            talker,
            listeners,
            group: (flow.delivery == Delivery::Multicast).then_some(index),
            first_stream,
            size: octets(flow.payload)?,
            reply_size: octets(flow.reply.map_or(Bytes::ZERO, |reply| reply.payload))?,
            reply_after: flow.reply.map(|reply| reply.after.as_ps()),
            replies: Fifo::default(),
            reply_slot: NONE,
            flags: if flow.tag.is_some() { TAGGED } else { 0 },
            pcp: flow.tag.map_or(0, |tag| tag.pcp.get()),
            vid: flow.tag.map_or(0, |tag| tag.vid.get()),
            number: 0,
            counted: 0,
            bulk,
        });
        Ok(())
    }

    /// Checks that frames reach the listeners, and replies or acknowledgements the talker.
    fn check_routes(&self, flow: &Flow) -> Result<(), RouteError> {
        let is_answered = flow.reply.is_some() || matches!(flow.traffic, Traffic::Bulk(_));
        for &listener in &flow.listeners {
            self.routing.flow_path(&self.network, flow, listener)?;
            if is_answered {
                let answer = Flow {
                    talker: listener,
                    delivery: Delivery::Unicast,
                    ..flow.clone()
                };
                self.routing
                    .flow_path(&self.network, &answer, flow.talker)?;
            }
        }
        Ok(())
    }

    /// Lays out the timers in the order of [`Action`] and sets the first releases.
    fn give_slots(&mut self) -> Result<(), BuildError> {
        let mut actions = Vec::new();
        let mut give = |action: Action| {
            actions.push(action);
            u32::try_from(actions.len() - 1).map_err(|_| BuildError::TooLarge)
        };
        let numbered = |count: usize| 0..u32::try_from(count).unwrap_or(u32::MAX);
        for (index, port) in numbered(self.ports.len()).zip(&mut self.ports) {
            port.arrival_slot = give(Action::Arrival(index))?;
        }
        for (index, port) in numbered(self.ports.len()).zip(&mut self.ports) {
            if port.is_cut_through {
                let slot = give(Action::Stored(index))?;
                self.port_rests[index as usize].stored_slot = slot;
            }
        }
        for (index, stack) in numbered(self.stations.len()).zip(&mut self.stacks) {
            for server in 0..stack.servers {
                let slot = give(Action::Stack(index, server))?;
                stack.server[usize::from(server)].slot = slot;
            }
        }
        for (index, flow) in numbered(self.flows.len()).zip(&mut self.flows) {
            if flow.reply_after.is_some_and(|after| after > 0) {
                flow.reply_slot = give(Action::Reply(index))?;
            }
        }
        for (index, bulk) in numbered(self.bulk.len()).zip(&mut self.bulk) {
            bulk.sender_slot = give(Action::TcpSender(index))?;
            bulk.receiver_slot = give(Action::TcpReceiver(index))?;
        }
        for (index, flow) in numbered(self.flows.len()).zip(&mut self.flows) {
            flow.slot = give(Action::Release(index))?;
        }
        for (index, port) in numbered(self.ports.len()).zip(&mut self.ports) {
            port.wake_slot = give(Action::Wake(index))?;
        }
        self.agenda = Agenda::new(u32::try_from(actions.len()).map_err(|_| BuildError::TooLarge)?);
        self.actions = actions;
        for flow in &mut self.flows {
            self.agenda.set(flow.slot, flow.source.first());
        }
        for bulk in &self.bulk {
            self.agenda.set(bulk.sender_slot, bulk.wake_at());
        }
        Ok(())
    }
}

fn build_ports(
    network: &Network,
    routing: &Routing,
    numbers: &Numbers,
    config: &Config,
) -> Result<(Vec<Port>, Vec<PortRest>, Vec<EgressQueues>), BuildError> {
    let (mut ports, mut rests, mut all_queues) = (Vec::new(), Vec::new(), Vec::new());
    for (node, definition) in network.iter_nodes() {
        let count = match &definition.kind {
            NodeKind::EndStation(_) => 1,
            NodeKind::Switch(switch) => switch.ports.len(),
        };
        for port in (0u16..).take(count) {
            let id = PortId { node, port };
            let (mut built, mut rest, queues) = idle_port(id, &definition.kind, numbers);
            connect(&mut built, &mut rest, network, routing, numbers, config)?;
            ports.push(built);
            rests.push(rest);
            all_queues.push(queues);
        }
    }
    Ok((ports, rests, all_queues))
}

fn idle_port(id: PortId, kind: &NodeKind, numbers: &Numbers) -> (Port, PortRest, EgressQueues) {
    let one = QueueMap::standard(1).unwrap_or_else(|| unreachable!("one queue is a legal map"));
    let (map, selection, limit) = match kind {
        NodeKind::EndStation(station) => (one, Selection::Fcfs, station.driver_queue),
        NodeKind::Switch(switch) => (switch.queues, switch.selection, switch.buffer.per_port),
    };
    let queues = EgressQueues::new(map.count(), selection, limit);
    let port = Port {
        owner: numbers.owner[id.node.index()],
        peer: NONE,
        peer_owner: numbers.owner[id.node.index()],
        octet: 0,
        flight: 0,
        flight_per_octet: 0,
        latency: 0,
        free_at: 0,
        landed_at: 0,
        flying: Fifo::default(),
        arrival_slot: NONE,
        wake_slot: NONE,
        is_wake_set: false,
        has_one_queue: queues.count() == 1,
        is_cut_through: false,
        is_faulty: false,
        offered: 0,
        sent: 0,
        sent_octets: 0,
    };
    let rest = PortRest {
        id,
        link: LinkId(NONE),
        map,
        errors_per_billion: 0,
        draw: Draw::new(0, "", Purpose::Errors),
        held: Fifo::default(),
        stored_slot: NONE,
        dropped: 0,
        corrupted: 0,
    };
    (port, rest, queues)
}

/// Attaches the link behind a port, if it has one in use.
fn connect(
    port: &mut Port,
    rest: &mut PortRest,
    network: &Network,
    routing: &Routing,
    numbers: &Numbers,
    config: &Config,
) -> Result<(), BuildError> {
    let Some(hop) = routing
        .hops_from(network, rest.id.node)
        .find(|hop| hop.egress == rest.id)
    else {
        return Ok(());
    };
    let link = &network.links[hop.link.index()];
    let octet = link.rate.octet_time().ok_or(BuildError::Rate {
        link: hop.link.index(),
        rate: link.rate,
    })?;
    port.peer = numbers.port(hop.ingress);
    port.peer_owner = numbers.owner[hop.ingress.node.index()];
    rest.link = hop.link;
    port.octet = octet.as_ps();
    port.flight = link.propagation.as_ps();
    for end in [hop.egress, hop.ingress] {
        match &network.node(end.node).kind {
            NodeKind::EndStation(station) => {
                if let Stack::Linear(linear) = &station.stack {
                    port.flight += linear.interface.base.as_ps();
                    port.flight_per_octet += linear.interface.per_octet.as_ps();
                }
            }
            NodeKind::Switch(switch) if end == hop.ingress => {
                port.latency = switch.latency.as_ps();
                port.is_cut_through = switch.mode == ForwardingMode::CutThrough;
            }
            NodeKind::Switch(_) => {}
        }
    }
    port.is_faulty = link.errors_per_billion > 0;
    rest.errors_per_billion = link.errors_per_billion;
    let name = alloc::format!("{} {}", network.node(rest.id.node).name, rest.id.port);
    rest.draw = Draw::new(config.seed, &name, Purpose::Errors);
    Ok(())
}

fn build_stations(
    network: &Network,
    routing: &Routing,
    numbers: &Numbers,
    config: &Config,
) -> (Vec<Station>, Vec<StackState>) {
    let (mut stations, mut stacks) = (Vec::new(), Vec::new());
    for (node, definition) in network.iter_nodes() {
        let NodeKind::EndStation(station) = &definition.kind else {
            continue;
        };
        let hop = routing.hops_from(network, node).next();
        let draw = Draw::new(config.seed, &definition.name, Purpose::Stack);
        let stack = StackState::new(&station.stack, station.stack_queue, draw);
        stations.push(Station {
            node,
            port: hop.map_or(NONE, |hop| numbers.port(hop.egress)),
            servers: stack.servers,
            released: 0,
            delivered: 0,
            arrived: 0,
            filtered: 0,
            discarded: 0,
            stack_dropped: 0,
        });
        stacks.push(stack);
    }
    (stations, stacks)
}
