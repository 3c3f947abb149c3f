//! Memory on the ways of flows: how much of it packets may need at once, and how much there is.
//!
//! **Theorem.** While nothing is dropped, a memory never holds more than its need. *Proof.* The need in
//! octets of a port is that of [`crate::report`]; a memory that several ports share needs at most the sum
//! of theirs. In packets: a packet that waits came no longer ago than its longest wait, so those of a
//! visit that wait at once came in a closed window of that length, which holds at most as many as its
//! arrival curve says; one whose longest wait is zero never waits. Packets held for an address count as
//! those that come to the port of the station within the jitter with which they get there: it is at least
//! as long as they are held. A smoother holds what waits for credits, and what waits for room below it:
//! the analysis counts the latter at the port.
//!
//! Frames that the analysis does not tell apart are counted together: a class may be promoted into the
//! memory of the next, so that a receive queue is taken to need what it and all lower ones do. That is too
//! much, and never too little.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use rtether_model::endnode::{Receive, TransmitStrategy};
use rtether_model::flow::{Flow, FlowId};
use rtether_model::network::{EndStation, Network, NodeId, NodeKind, PortId, Switch};
use rtether_model::quantity::Bytes;

use crate::analysis::{Holder, Memory, PortBound, StackBound};
use crate::classify::Level;
use crate::curve::Load;
use crate::discipline::{driver, receive};
use crate::plant::{Plant, ServerKind, Visit};
use crate::solution::Solution;
use crate::solve::loads_of;
use crate::source::INFINITE;

/// A memory and the places whose packets it holds.
pub(crate) struct Store {
    pub(crate) memory: Memory,
    pub(crate) servers: Vec<u32>,
    /// Which packets there.
    pub(crate) which: Which,
}

/// Packets at a place that a memory holds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Which {
    All,
    /// Those in this queue.
    Queue(u8),
    /// Those of this class of transmit queues.
    Class(u8),
    /// Those at the port that a smoother treats so.
    Level(u8),
    /// Received ones of all classes, or up to this one.
    Received(Option<u8>),
    /// Those to be sent.
    Sent,
}

impl Which {
    /// Returns whether the packets of a visit may be in the memory at the same time.
    fn counts(self, visit: &Visit) -> bool {
        match self {
            Self::Received(Some(class)) => {
                visit.is_inbound && receive::class_of(visit.queue) <= class
            }
            Self::All
            | Self::Queue(_)
            | Self::Class(_)
            | Self::Level(_)
            | Self::Received(None)
            | Self::Sent => self.holds(visit),
        }
    }

    /// Returns whether packets of a visit may find the memory full.
    pub(crate) fn holds(self, visit: &Visit) -> bool {
        match self {
            Self::All => true,
            Self::Queue(queue) => visit.queue == queue,
            Self::Class(class) => driver::class_of(visit.queue) == class,
            Self::Level(level) => driver::level_of(visit.queue) == level,
            Self::Received(None) => visit.is_inbound,
            Self::Received(Some(class)) => {
                visit.is_inbound && receive::class_of(visit.queue) == class
            }
            Self::Sent => !visit.is_inbound,
        }
    }
}

/// Finds the memory of a plant.
pub(crate) fn stores(
    network: &Network,
    flows: &[Flow],
    (plant, solution): (&Plant, &Solution),
    (ports, stacks): (&[PortBound], &[StackBound]),
) -> Vec<Store> {
    let mut finder = Finder {
        plant,
        solution,
        stacks: BTreeMap::new(),
        inside: BTreeMap::new(),
        loads: Vec::new(),
        found: Vec::new(),
    };
    for stack in stacks {
        finder.stacks.entry(stack.node).or_default().push(stack);
    }
    let mut of_ports = BTreeMap::new();
    for (index, server) in (0u32..).zip(&plant.servers) {
        match server.kind {
            ServerKind::Switch(port) | ServerKind::Station(port) => {
                of_ports.insert(port, index);
            }
            kind @ (ServerKind::Stack { .. }
            | ServerKind::Router(_)
            | ServerKind::Tasks { .. }
            | ServerKind::Gap(_)
            | ServerKind::Smoother(_)) => {
                finder.inside.entry(node_of(kind)).or_default().push((kind, index));
            }
        }
    }
    let bounds: BTreeMap<PortId, &PortBound> = ports.iter().map(|own| (own.port, own)).collect();
    for (id, node) in network.iter_nodes() {
        let own = (PortId { node: id, port: 0 })..=(PortId { node: id, port: u16::MAX });
        let servers: Vec<(PortId, u32)> =
            of_ports.range(own).map(|(&port, &own)| (port, own)).collect();
        let bounds: Vec<(u32, &PortBound)> =
            servers.iter().filter_map(|&(port, own)| Some((own, *bounds.get(&port)?))).collect();
        match &node.kind {
            NodeKind::EndStation(station) => finder.station(id, station, &bounds),
            NodeKind::Switch(switch) => finder.switch(id, switch, &bounds),
            NodeKind::Hub(_) => {}
        }
    }
    finder.gaps(flows);
    finder.found
}

/// Returns the node of a place.
pub(crate) const fn node_of(kind: ServerKind) -> NodeId {
    match kind {
        ServerKind::Switch(port) | ServerKind::Station(port) | ServerKind::Smoother(port) => {
            port.node
        }
        ServerKind::Stack { node, .. } | ServerKind::Router(node) | ServerKind::Tasks { node } => {
            node
        }
        ServerKind::Gap(node) => node,
    }
}

struct Finder<'a> {
    plant: &'a Plant,
    solution: &'a Solution,
    stacks: BTreeMap<NodeId, Vec<&'a StackBound>>,
    /// Places that are no ports, by node.
    inside: BTreeMap<NodeId, Vec<(ServerKind, u32)>>,
    loads: Vec<Load>,
    found: Vec<Store>,
}

impl Finder<'_> {
    fn add(
        &mut self,
        holder: Holder,
        need: Option<u64>,
        limit: u64,
        servers: Vec<u32>,
        which: Which,
    ) {
        self.found.push(Store { memory: Memory { holder, need, limit }, servers, which });
    }

    /// Returns the places of a node that are no ports and of some kind.
    fn inside(&self, node: NodeId, is: impl Fn(ServerKind) -> bool) -> Vec<u32> {
        let own = self.inside.get(&node).into_iter().flatten();
        own.filter(|(kind, _)| is(*kind)).map(|(_, server)| *server).collect()
    }

    /// Returns how many packets of these may wait at some places at once; `None` if nothing limits them.
    fn packets(&mut self, servers: &[u32], which: Which) -> Option<u64> {
        let mut all = 0_u64;
        for &server in servers {
            let now = (&*self.solution.jitter, &*self.solution.drift);
            loads_of(self.plant, now, server, &mut self.loads);
            for load in &self.loads {
                if which.counts(&self.plant.visits[load.visit as usize]) {
                    all = all.saturating_add(self.there(load)?);
                }
            }
        }
        Some(all)
    }

    /// Returns how many packets of a visit may wait at once.
    fn there(&self, load: &Load) -> Option<u64> {
        let wait = self.solution.wait[load.visit as usize];
        let count = match wait {
            0 => 0,
            _ if load.in_flight > 0 => load.in_flight,
            INFINITE.. => return None,
            _ if !load.is_limited() => return None,
            _ => load.packets.saturating_mul((wait + load.jitter) / load.period + 1),
        };
        u64::try_from(count).ok()
    }

    /// Returns the packets that a processor is known to let wait.
    fn waiting(&self, node: NodeId, is: impl Fn(&StackBound) -> bool) -> Option<u64> {
        let own = self.stacks.get(&node).into_iter().flatten();
        own.filter(|own| is(own)).map(|own| own.waiting).sum()
    }

    fn switch(&mut self, id: NodeId, switch: &Switch, ports: &[(u32, &PortBound)]) {
        for &(server, bound) in ports {
            let need = bound.backlog.map(Bytes::get);
            let buffer = switch.buffer.per_port.get();
            self.add(Holder::Buffer(bound.port), need, buffer, [server].into(), Which::All);
            let thresholds = switch.thresholds_at(bound.port.port);
            for (queue, limit) in (0u8..).zip(thresholds.into_iter().flatten()) {
                // A queue above those in use needs nothing.
                if let Some(need) = bound.queues.get(usize::from(queue)) {
                    let holder = Holder::Threshold(bound.port, queue);
                    let need = need.map(Bytes::get);
                    self.add(holder, need, limit.get(), [server].into(), Which::Queue(queue));
                }
            }
        }
        if let Some(shared) = switch.buffer.shared {
            let mut all = ports.iter().map(|(_, bound)| Some(bound.backlog?.get()));
            let need = all.try_fold(0_u64, |sum, own| Some(sum.saturating_add(own?)));
            let servers = ports.iter().map(|(server, _)| *server).collect();
            self.add(Holder::SharedBuffer(id), need, shared.get(), servers, Which::All);
        }
        if let Some(router) = &switch.router {
            let servers = self.inside(id, |kind| matches!(kind, ServerKind::Router(_)));
            let need = least(self.packets(&servers, Which::All), self.waiting(id, |_| true));
            self.add(Holder::Router(id), need, router.queue.into(), servers, Which::All);
        }
    }

    fn station(&mut self, id: NodeId, station: &EndStation, ports: &[(u32, &PortBound)]) {
        let driver = station.driver_queue.get();
        for &(server, bound) in ports {
            let need = bound.backlog.map(Bytes::get);
            self.add(Holder::Buffer(bound.port), need, driver, [server].into(), Which::All);
        }
        let servers: Vec<u32> = ports.iter().map(|(server, _)| *server).collect();
        self.stack(id, station);
        self.egress(id, station, &servers);
        if let Some(arp) = &station.arp {
            let need = self.held(&servers);
            self.add(Holder::Address(id), need, arp.hold.get(), servers, Which::Sent);
        }
    }

    /// Adds what holds packets for the tasks and the stack of a station.
    fn stack(&mut self, id: NodeId, station: &EndStation) {
        let limit = station.stack_queue.into();
        let tasks = self.inside(id, |kind| matches!(kind, ServerKind::Tasks { .. }));
        if !tasks.is_empty() {
            let need = self.packets(&tasks, Which::All);
            self.add(Holder::Tasks(id), need, limit, tasks, Which::All);
        }
        let servers = self.inside(id, |kind| matches!(kind, ServerKind::Stack { .. }));
        if servers.is_empty() {
            return;
        }
        let layer = station.layer.as_deref();
        match layer.and_then(|layer| layer.receive.as_ref()) {
            None => {
                let is_stack =
                    |own: &StackBound| own.segment != rtether_model::record::Segment::Application;
                let need = least(self.packets(&servers, Which::All), self.waiting(id, is_stack));
                self.add(Holder::Stack(id), need, limit, servers, Which::All);
            }
            Some(Receive::Queues(config)) => {
                let need = self.packets(&servers, Which::Sent);
                self.add(Holder::Stack(id), need, limit, servers.clone(), Which::Sent);
                let all = Which::Received(None);
                let need = self.packets(&servers, all);
                self.add(Holder::Input(id), need, config.input_limit.into(), servers.clone(), all);
                for (class, &limit) in (0u8..).zip(&config.queue_limits) {
                    let which = Which::Received(Some(class));
                    let need = self.packets(&servers, which);
                    self.add(
                        Holder::ReceiveQueue(id, class),
                        need,
                        limit.into(),
                        servers.clone(),
                        which,
                    );
                }
            }
            Some(Receive::Instances { queue_limits }) => {
                for (class, &limit) in (0u8..).zip(queue_limits) {
                    let which = Which::Queue(class);
                    // Each direction may have its own.
                    let mut own = servers.iter().map(|&server| self.packets(&[server], which));
                    let need = own.try_fold(0, |most: u64, own| Some(most.max(own?)));
                    self.add(
                        Holder::ReceiveQueue(id, class),
                        need,
                        limit.into(),
                        servers.clone(),
                        which,
                    );
                }
            }
        }
    }

    /// Adds what holds packets between the stack of a station and its port.
    fn egress(&mut self, id: NodeId, station: &EndStation, servers: &[u32]) {
        let Some(layer) = station.layer.as_deref() else {
            return;
        };
        if let Some(smoothing) = layer.smoother {
            let own = self.inside(id, |kind| matches!(kind, ServerKind::Smoother(_)));
            let limits = smoothing.config.limits;
            for (holder, level, limit) in [
                (Holder::Bulk(id), Level::Bulk, limits.bulk_packets),
                (Holder::RealTime(id), Level::RealTime, limits.real_time_packets),
            ] {
                let which = Which::Queue(level as u8);
                let credits = self.packets(&own, which);
                let room = self.packets(servers, Which::Level(level as u8));
                let need = credits.zip(room).map(|(credits, room)| credits.saturating_add(room));
                self.add(holder, need, limit as u64, own.clone(), which);
            }
        }
        let Some(transmit) = &layer.transmit else {
            return;
        };
        let limits = transmit.queue_limits.iter().map(|&limit| u64::from(limit));
        if transmit.strategy == TransmitStrategy::Fifo {
            let need = self.packets(servers, Which::All);
            self.add(
                Holder::TransmitQueue(id, 0),
                need,
                limits.sum(),
                servers.to_vec(),
                Which::All,
            );
            return;
        }
        for (class, limit) in (0u8..).zip(limits.collect::<Vec<_>>()) {
            let which = Which::Class(class);
            let need = self.packets(servers, which);
            self.add(Holder::TransmitQueue(id, class), need, limit, servers.to_vec(), which);
        }
    }

    /// Returns the octets that may be held for addresses at once.
    fn held(&mut self, servers: &[u32]) -> Option<u64> {
        let mut all = 0_u64;
        for &server in servers {
            let now = (&*self.solution.jitter, &*self.solution.drift);
            loads_of(self.plant, now, server, &mut self.loads);
            for load in &self.loads {
                let visit = &self.plant.visits[load.visit as usize];
                // What is not held waits for nothing here; four octets are those of a tag.
                if visit.gap.max > visit.gap.min {
                    let packets = match load.in_flight {
                        0 if !load.is_limited() => return None,
                        0 => load.packets.saturating_mul(load.jitter / load.period + 1),
                        known => known,
                    };
                    let octets = packets.saturating_mul(visit.sizes[1] + 4);
                    all = all.saturating_add(u64::try_from(octets).ok()?);
                }
            }
        }
        Some(all)
    }

    /// Adds what holds frames of flows with a gap.
    fn gaps(&mut self, flows: &[Flow]) {
        let gaps = self.inside.values().flatten();
        let gaps = gaps.filter(|(kind, _)| matches!(kind, ServerKind::Gap(_)));
        let gaps: Vec<u32> = gaps.map(|(_, server)| *server).collect();
        for server in gaps {
            let first = self.plant.members.of(server).first();
            let flow = first.map(|&visit| self.plant.visits[visit as usize].flow);
            let Some(flow) = flow.filter(|&flow| (flow as usize) < flows.len()) else {
                continue;
            };
            let need = self.packets(&[server], Which::All);
            let limit = Flow::HELD_MAX.into();
            self.add(Holder::Gap(FlowId(flow)), need, limit, [server].into(), Which::All);
        }
    }
}

/// Returns the smaller of two bounds, either of which may be unknown.
fn least(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}
