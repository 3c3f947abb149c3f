//! Builds a simulation: numbers of nodes, ports and streams, timer slots, tables.

mod admission;
mod media;
mod ports;
mod publications;
mod slots;
mod tables;
mod traffic;
mod unknown;

use alloc::vec::Vec;
use core::ops::Range;

use rtether_model::flow::Flow;
use rtether_model::network::{Network, NodeId, NodeKind, PortId};
use rtether_model::quantity::{BitRate, Bytes};
use rtether_model::route::Routing;

use super::{Simulation, mechanism};
use crate::agenda::Agenda;
use crate::config::Config;
use crate::error::BuildError;
use crate::flow::{Carrier, FlowState, Parts};
use crate::fragments::{FragmentedFlow, Reassembly};
use crate::layer::LayerState;
use crate::packet::{NONE, Pool, frame_octets};
use crate::port::Owner;
use crate::publication::Publications;
use crate::random::{Draw, Purpose};
use crate::servers::StackState;
use crate::shared::Shared;
use crate::station::Station;
use crate::stats::StreamStats;
use crate::switch::SwitchState;
use crate::thinking::Thinking;
use media::build_media;
use ports::build_ports;
use tables::{add_streams, build_switches, static_addresses};
use traffic::check_traffic;

/// Numbers of the parts of a network.
struct Numbers {
    /// By node: its station or switch, and its first port.
    owner: Vec<Owner>,
    first_port: Vec<u32>,
    /// How many there are: a vector that grows has up to half of its places free.
    stations: u32,
    ports: u32,
}

impl Numbers {
    fn new(network: &Network) -> Result<Self, BuildError> {
        let (mut stations, mut switches, mut ports) = (0u32, 0u32, 0u32);
        let (mut owner, mut first_port) = (Vec::new(), Vec::new());
        for node in &network.nodes {
            first_port.push(ports);
            let count = match &node.kind {
                NodeKind::EndStation(station) => {
                    owner.push(Owner::Station(stations));
                    stations += 1;
                    u32::from(station.ports())
                }
                NodeKind::Hub(hub) => {
                    owner.push(Owner::Hub);
                    u32::from(hub.ports)
                }
                NodeKind::Switch(switch) => {
                    owner.push(Owner::Switch(switches));
                    switches += 1;
                    u32::try_from(switch.ports.len()).map_err(|_| BuildError::TooLarge)?
                }
            };
            // A place code has 28 bits for the port.
            ports = ports
                .checked_add(count)
                .filter(|&ports| ports < 1 << crate::packet::PLACE_INDEX_BITS)
                .ok_or(BuildError::TooLarge)?;
        }
        Ok(Self { owner, first_port, stations, ports })
    }

    fn port(&self, id: PortId) -> u32 {
        self.first_port[id.node.index()] + u32::from(id.port)
    }

    fn station(&self, node: NodeId) -> Option<u32> {
        match self.owner[node.index()] {
            Owner::Station(station) => Some(station),
            Owner::Switch(_) | Owner::Hub => None,
        }
    }
}

impl Simulation {
    /// Builds a run of `flows` over `network`.
    ///
    /// Costs that are not known are drawn here, once: by the seed, the node and the cost.
    pub fn new(network: &Network, flows: &[Flow], config: &Config) -> Result<Self, BuildError> {
        if network.has_unknown() {
            return Self::build(&unknown::drawn(network, config.seed), flows, config);
        }
        Self::build(network, flows, config)
    }

    /// Builds a run in which all costs are known.
    fn build(network: &Network, flows: &[Flow], config: &Config) -> Result<Self, BuildError> {
        let numbers = Numbers::new(network)?;
        let routing = Routing::new(network);
        let mut ports = build_ports(network, &routing, &numbers, config)?;
        let media = build_media(network, &routing, &numbers, config)?;
        let mut flow_list = flows.to_vec();
        let tables = mechanism::resolving(network, &routing, &mut flow_list)?;
        let admission = admission::add(network, &numbers, &mut flow_list)?;
        for (number, attachment) in (0u32..).zip(&media.attachments) {
            ports.hot[attachment.port() as usize].attach(number);
        }
        let Stations { hot: stations, stacks, layers } =
            build_stations(network, &routing, &numbers, config)?;
        let mut simulation = Self {
            network: network.clone(),
            flow_list,
            forwarding: static_addresses(network, &routing, &numbers),
            switches: build_switches(network, flows, &routing, &numbers, config.seed)?,
            stations,
            stacks,
            layers,
            mechanisms: Vec::new(),
            admission,
            divisions: 0,
            routing,
            config: *config,
            now: 0,
            events: 0,
            agenda: Agenda::new(0, [0, 0]),
            actions: Vec::new(),
            bringing: NONE,
            selects_from: [0; 2],
            release_order: Vec::new(),
            is_injecting: false,
            pool: Pool::default(),
            ports: ports.hot,
            port_rests: ports.rests,
            queues: ports.queues,
            shared: media.shared,
            attachments: media.attachments,
            flows: Vec::with_capacity(flows.len()),
            bulk: Vec::new(),
            conversations: Vec::new(),
            publications: Publications::default(),
            fragmented: Vec::new(),
            reassemblies: Vec::new(),
            streams: Vec::with_capacity(flows.iter().map(|flow| flow.listeners.len()).sum()),
            flooded_from: u32::MAX,
            visitors: Vec::new(),
        };
        for flow in flows {
            simulation.add_flow(flow, &numbers)?;
        }
        if simulation.forwarding.has_streams() {
            let switches = simulation.switches.iter_mut();
            switches.for_each(SwitchState::look_at_streams);
        }
        simulation.add_publications(flows)?;
        simulation.add_mechanisms(tables);
        simulation.open_for_messages();
        simulation.divide_deadlines();
        simulation.give_slots()?;
        simulation.set_first_times();
        simulation.find_ports_in_order();
        simulation.find_plain_stations();
        Ok(simulation)
    }

    fn add_flow(&mut self, flow: &Flow, numbers: &Numbers) -> Result<(), BuildError> {
        let index = u32::try_from(self.flows.len()).map_err(|_| BuildError::TooLarge)?;
        let first_stream = u32::try_from(self.streams.len()).map_err(|_| BuildError::TooLarge)?;
        let name = || flow.name.clone();
        let station = |node| {
            numbers.station(node).ok_or_else(|| BuildError::NotAnEndStation { flow: name() })
        };
        let talker = station(flow.talker)?;
        let listeners: Vec<u32> =
            flow.listeners.iter().map(|&node| station(node)).collect::<Result<_, _>>()?;
        let plant = (&self.network, &self.routing, numbers);
        add_streams(&mut self.forwarding, plant, flow, first_stream)
            .map_err(|reason| BuildError::NoRoute { flow: name(), reason })?;
        let octets = |payload: Bytes| {
            // TCP and RTPS cut messages and samples themselves, so the payload may exceed a frame.
            let is_cut = flow.connection.is_some() || flow.is_published();
            let payload = if is_cut { Bytes::ZERO } else { payload };
            let fits = payload <= flow.encapsulation.max_packet();
            frame_octets(flow.frames(payload).full)
                .filter(|_| fits)
                .ok_or_else(|| BuildError::Payload { flow: name() })
        };
        check_traffic(flow, &self.network)?;
        let conversation = self.add_conversations(index, talker, &listeners, flow)?;
        let stations = [talker, listeners.first().copied().unwrap_or(talker)];
        let bulk = self.add_bulk(index, stations, flow)?;
        let fragmented = self.add_fragmented(flow)?;
        let size = octets(flow.payload)?;
        let answer = match flow.reply {
            Some(reply) => Some((self.thinking(flow), octets(reply.payload)?)),
            None => None,
        };
        for listener in &flow.listeners {
            let sent_back = flow.reply.map_or(flow.payload, |reply| reply.payload);
            // Segments of a bulk flow differ in size.
            let payload = if bulk.is_some() { 0 } else { sent_back.get() };
            self.streams.push(StreamStats::new(index, listener.0, flow.deadline, payload));
        }
        let parts = Parts {
            talker,
            listeners,
            first_stream,
            size,
            answer,
            carrier: match (bulk, conversation, fragmented) {
                (Some(bulk), ..) => Carrier::Bulk(bulk),
                (None, Some(first), _) => Carrier::Conversation(first),
                (None, None, Some(position)) => Carrier::Fragments(position),
                (None, None, None) => Carrier::Packets,
            },
        };
        let state = FlowState::new(flow, self.config.seed, parts);
        self.flows.push(state);
        Ok(())
    }

    /// Returns how long each listener takes to answer.
    pub(super) fn thinking(&self, flow: &Flow) -> Vec<Thinking> {
        let Some(reply) = &flow.reply else {
            return Vec::new();
        };
        let names = flow.listeners.iter().map(|node| &self.network.node(*node).name);
        names.map(|name| Thinking::new(reply, name, self.config.seed)).collect()
    }

    /// Adds the fragmentation state of a flow whose datagrams do not fit a frame; returns its
    /// index.
    fn add_fragmented(&mut self, flow: &Flow) -> Result<Option<u32>, BuildError> {
        if !flow.is_fragmented() {
            return Ok(None);
        }
        let position = u32::try_from(self.fragmented.len()).map_err(|_| BuildError::TooLarge)?;
        self.fragmented.push(FragmentedFlow::new(flow));
        let stations = self.stations.len();
        self.reassemblies.resize_with(stations, Reassembly::default);
        Ok(Some(position))
    }

    /// Finds the ports at which nothing else decides when a frame leaves: no medium, no memory
    /// shared with other ports, no errors and copies, and no layer that is told.
    fn find_ports_in_order(&mut self) {
        for (port, queues) in self.ports.iter().zip(&mut self.queues) {
            let shares = match port.owner() {
                Owner::Switch(switch) => self.switches[switch as usize].shares_memory(),
                Owner::Station(_) | Owner::Hub => false,
            };
            let is_decided = port.attachment().is_some() || port.is_special() || shares;
            if !is_decided && !port.reports_completion() {
                queues.set_alone();
            }
        }
    }

    /// Finds the stations on media of which nothing but the interface looks at a frame: those
    /// without a layer.
    fn find_plain_stations(&mut self) {
        for attachment in &mut self.attachments {
            if let Owner::Station(number) = self.ports[attachment.port() as usize].owner()
                && self.stations[number as usize].layer().is_none()
            {
                attachment.set_plain(number);
            }
        }
        for shared in &mut self.shared {
            let members = shared.attachments();
            let own = &self.attachments[members.start as usize..members.end as usize];
            let plain = own.iter().map(|own| own.plain().zip(Some(own.station())));
            let mut plain: Vec<(u32, u32)> = plain.collect::<Option<_>>().unwrap_or_default();
            plain.sort_unstable();
            // A station that is on it twice takes a frame in twice.
            if plain.windows(2).all(|pair| pair[0].0 != pair[1].0) {
                shared.set_plain(plain);
            }
        }
    }

    /// Sets the timers of the first events.
    fn set_first_times(&mut self) {
        for &index in &self.release_order {
            let flow = &mut self.flows[index as usize];
            if flow.together() > 0 {
                flow.start(&mut self.agenda);
            }
        }
        for bulk in &self.bulk {
            bulk.start(&mut self.agenda);
        }
        self.publications.start(&mut self.agenda);
        if let Some(admission) = &self.admission {
            admission.set_timer(&mut self.agenda);
        }
        for access in self.shared.iter().filter_map(Shared::scheme) {
            access.set_timer(&mut self.agenda);
        }
        for station in numbered(self.stations.len()) {
            self.set_layer_timer(station);
        }
    }
}

/// Returns the numbers of this many elements.
fn numbered(count: usize) -> Range<u32> {
    0..u32::try_from(count).unwrap_or(u32::MAX)
}

/// End stations, split into three parts.
struct Stations {
    hot: Vec<Station>,
    stacks: Vec<StackState>,
    /// Only for stations that have one.
    layers: Vec<LayerState>,
}

fn build_stations(
    network: &Network,
    routing: &Routing,
    numbers: &Numbers,
    config: &Config,
) -> Result<Stations, BuildError> {
    let count = numbers.stations as usize;
    let mut all = Stations {
        hot: Vec::with_capacity(count),
        stacks: Vec::with_capacity(count),
        layers: Vec::new(),
    };
    for (node, definition) in network.iter_nodes() {
        let NodeKind::EndStation(station) = &definition.kind else {
            continue;
        };
        let hop = routing.hops_from(network, node).next();
        let draw = Draw::new(config.seed, &definition.name, Purpose::Stack);
        let stack = StackState::new(&station.stack, station.stack_queue, draw);
        let rate = hop
            .as_ref()
            .map_or(BitRate::from_mbps(100), |hop| network.links[hop.link.index()].rate);
        let layer = LayerState::new(station, &definition.name, config.seed, rate);
        let layer = layer
            .map_err(|reason| BuildError::Layer { station: definition.name.clone(), reason })?;
        let place = u32::try_from(all.layers.len()).map_err(|_| BuildError::TooLarge)?;
        let port = hop.map(|hop| numbers.port(hop.egress));
        let place = layer.as_ref().map(|_| place);
        all.hot.push(Station::new(node, port, place, stack.servers()));
        all.layers.extend(layer);
        all.stacks.push(stack);
    }
    Ok(all)
}
