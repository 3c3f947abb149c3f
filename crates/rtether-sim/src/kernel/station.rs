//! End stations: between application, stack, and port.

use rtether_model::network::NodeId;
use rtether_model::quantity::Instant;
use rtether_model::record::Segment;

use super::Simulation;
use crate::mechanism::Level;
use crate::observe::{DropReason, Observer, Service};
use crate::packet::{ARP, CORRUPTED, GROUP, MIRRORED, OUTBOUND, Packet, TAGGED, TWIN};
use crate::servers::Entry;

impl Simulation {
    /// Hands a packet of an application to its stack.
    #[inline]
    pub(super) fn send<O: Observer>(&mut self, index: u32, id: u32, observer: &mut O) {
        self.stations[index as usize].note_released();
        if O::ACTIVE {
            observer.released(self.now(), &self.info(id));
        }
        self.pool.get_mut(id).put(OUTBOUND, true);
        let station = &self.stations[index as usize];
        if station.layer().is_some() {
            self.send_layered(index, id, observer);
        } else if station.servers() == 0 {
            self.leave_stack(index, id, observer);
        } else {
            self.enter_stack(index, id, observer);
        }
    }

    /// Receives a frame at a station over the link behind port `from`.
    #[inline]
    pub(super) fn receive<O: Observer>(
        &mut self,
        index: u32,
        id: u32,
        from: u32,
        observer: &mut O,
    ) {
        let station = &mut self.stations[index as usize];
        station.note_arrived();
        let is_layered = station.layer().is_some();
        if is_layered {
            self.hear(index, id);
        }
        let packet = self.pool.get(id);
        if packet.has(CORRUPTED) {
            let station = &mut self.stations[index as usize];
            station.note_discarded();
            let node = station.node();
            self.lose(id, node, Some(from), DropReason::FrameError, observer);
            return;
        }
        let is_wanted = if packet.has(MIRRORED | TWIN) {
            self.takes_copy(index, id)
        } else {
            self.is_addressed(index, packet)
        };
        if !is_wanted {
            let station = &mut self.stations[index as usize];
            station.note_filtered();
            let node = station.node();
            self.end_superfluous(id, node, observer);
            return;
        }
        let station = &self.stations[index as usize];
        let servers = station.servers();
        if O::ACTIVE {
            let node = station.node();
            observer.received(self.now(), node, &self.info(id));
        }
        let packet = self.pool.get_mut(id);
        packet.put(OUTBOUND, false);
        if is_layered {
            self.receive_layered(index, id, observer);
            return;
        }
        // A reply has the tag of its request.
        if !packet.has(ARP) {
            packet.put(TAGGED, false);
        }
        if servers == 0 {
            self.deliver(index, id, observer);
        } else {
            self.enter_stack(index, id, observer);
        }
    }

    /// Returns whether a frame is for a station or for a group of its. The groups of a flow over
    /// RTPS are for discovery and include all participants.
    #[inline]
    pub(super) fn is_addressed(&self, station: u32, packet: &Packet) -> bool {
        if packet.destination & GROUP == 0 {
            return packet.destination == station;
        }
        if packet.has(ARP) {
            return true;
        }
        let flow = &self.flows[packet.flow as usize];
        if flow.is_published() {
            return self.publications.party_of(station).is_some();
        }
        flow.listeners().contains(&station)
    }

    /// Ends a copy that no listener depends on.
    pub(super) fn end_superfluous<O: Observer>(&mut self, id: u32, node: NodeId, observer: &mut O) {
        if O::ACTIVE {
            observer.dropped(self.now(), node, &self.info(id), DropReason::Filtered);
        }
        self.pool.part_from_twins(id);
        self.pool.remove(id);
    }

    /// Adds a packet to a FIFO stack.
    #[inline]
    pub(super) fn enter_stack<O: Observer>(&mut self, index: u32, id: u32, observer: &mut O) {
        if self.stations[index as usize].servers() == 0 {
            self.leave_stack(index, id, observer);
            return;
        }
        let packet = self.pool.get_mut(id);
        packet.mark = self.now;
        let is_outbound = packet.has(OUTBOUND);
        match self.stacks[index as usize].enter(id, is_outbound, &mut self.pool) {
            Entry::Serve(server) => self.begin_service(index, server, id, observer),
            Entry::Wait => {}
            Entry::Full => self.refuse(index, id, observer),
        }
    }

    /// Drops a packet because the queue of the stack or of a task is full.
    #[cold]
    pub(super) fn refuse<O: Observer>(&mut self, index: u32, id: u32, observer: &mut O) {
        let station = &mut self.stations[index as usize];
        station.note_refused();
        let node = station.node();
        let place = self.stack_place(index, id);
        self.lose(id, node, place, DropReason::StackFull, observer);
    }

    /// Returns the port that represents a packet inside a stack when looking up which listeners
    /// depend on it: the station's own port for an outbound packet, its peer for an inbound one.
    /// `None` for unicast.
    pub(super) fn stack_place(&self, index: u32, id: u32) -> Option<u32> {
        let port = self.stations[index as usize].port();
        let packet = self.pool.get(id);
        if packet.destination & GROUP == 0 {
            None
        } else if packet.has(OUTBOUND) {
            Some(port)
        } else {
            Some(self.ports[port as usize].peer())
        }
    }

    /// Returns the cost of a packet in the stack, jitter included.
    #[inline]
    pub(super) fn stack_cost(&mut self, index: u32, id: u32) -> i64 {
        let packet = self.pool.get(id);
        let (size, is_outbound) = (i64::from(packet.size), packet.has(OUTBOUND));
        let stack = &mut self.stacks[index as usize];
        if !stack.asks() {
            return stack.cost(size, is_outbound);
        }
        let kind = self.packet_kind(id);
        let seed = self.visitor(id).and_then(|visitor| visitor.seed);
        let stack = &mut self.stacks[index as usize];
        if let Some(seed) = seed {
            stack.seed(&[seed, u64::from(index), u64::from(is_outbound)]);
        }
        stack.cost_of_kind(size, kind, is_outbound)
    }

    /// Begins to serve a packet.
    pub(super) fn begin_service<O: Observer>(
        &mut self,
        index: u32,
        server: u8,
        id: u32,
        observer: &mut O,
    ) {
        let now = self.now;
        let cost = self.stack_cost(index, id);
        let packet = self.pool.get_mut(id);
        let is_outbound = packet.has(OUTBOUND);
        if !is_outbound {
            let waited = now - packet.mark;
            packet.spend(Segment::ReceiveQueue, index, waited);
            packet.mark = now;
        }
        let due = now + cost;
        packet.due = due;
        self.stacks[index as usize].begin(server, id, cost, due, &mut self.agenda);
        if O::ACTIVE {
            self.tell_served(index, server, (now, due), id, observer);
        }
        if O::ACTIVE && !is_outbound && !self.has_tasks(index) {
            let node = self.stations[index as usize].node();
            observer.serving(Instant::from_ps(due), node, &self.info(id));
        }
    }

    /// Tells the observer of work of a stack from one time to another.
    pub(super) fn tell_served<O: Observer>(
        &self,
        index: u32,
        server: u8,
        (begin, end): (i64, i64),
        id: u32,
        observer: &mut O,
    ) {
        let service = Service {
            station: self.stations[index as usize].node(),
            server,
            begin: Instant::from_ps(begin),
            end: Instant::from_ps(end),
        };
        observer.served(&service, &self.info(id));
    }

    /// Completes the service of a packet and begins the next one.
    pub(super) fn complete_service<O: Observer>(
        &mut self,
        index: u32,
        server: u8,
        observer: &mut O,
    ) {
        let id = self.stacks[index as usize].complete(server);
        if let Some(next) = self.stacks[index as usize].next(server, &self.pool) {
            self.begin_service(index, server, next, observer);
        } else {
            self.stacks[index as usize].rest(server, &mut self.agenda);
            if self.stations[index as usize].layer().is_some() {
                self.select_when_free(index, server);
            }
        }
        let now = self.now;
        let packet = self.pool.get_mut(id);
        let spent = now - packet.mark;
        if packet.has(OUTBOUND) {
            packet.spend(Segment::TalkerStack, index, spent);
        } else {
            packet.spend(Segment::ReceiveStack, index, spent);
        }
        self.leave_stack(index, id, observer);
    }

    /// Passes a packet from the stack to the port or the application.
    #[inline]
    pub(super) fn leave_stack<O: Observer>(&mut self, index: u32, id: u32, observer: &mut O) {
        let station = &self.stations[index as usize];
        if station.layer().is_some() {
            self.leave_layered_stack(index, id, observer);
        } else if self.pool.get(id).has(OUTBOUND) {
            if self.pool.get(id).destination == index {
                return self.turn_round(index, id, observer);
            }
            if station.has_mechanisms() {
                return self.descend(index, id, Level::Arp, observer);
            }
            let port = station.port();
            self.enqueue(port, id, observer);
        } else {
            self.deliver(index, id, observer);
        }
    }

    /// Passes a packet of a station to itself from the bottom of the stack back up: it meets no
    /// address resolution, gap, layer or port.
    #[cold]
    pub(super) fn turn_round<O: Observer>(&mut self, index: u32, id: u32, observer: &mut O) {
        let packet = self.pool.get_mut(id);
        packet.put(OUTBOUND, false);
        packet.put(TAGGED, false);
        if self.stations[index as usize].layer().is_some() {
            self.receive_layered(index, id, observer);
        } else if self.stations[index as usize].servers() == 0 {
            self.deliver(index, id, observer);
        } else {
            self.enter_stack(index, id, observer);
        }
    }
}
