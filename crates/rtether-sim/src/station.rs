//! End stations: applications, the protocol stack and its servers.
//!
//! The stack is one FIFO server for both directions or one for each (catalogue 0.3). Below it is
//! the driver queue, which belongs to the port. The queue of the stack is limited; further packets
//! are dropped. Stations with application tasks or priority queues are handled by [`crate::layer`].

use rtether_model::network::NodeId;
use rtether_model::quantity::{Bytes, Instant};
use rtether_model::record::Segment;

use crate::kernel::{Carrier, Simulation};
use crate::observe::{Delivery, DropReason, Observer, Service};
use crate::packet::{CORRUPTED, COUNTED, GROUP, NONE, OUTBOUND, REVERSE, TAGGED};

/// The state of an end station that every packet needs, in one cache line. The stack is stored
/// separately, since many plants are simulated without one.
#[repr(align(64))]
pub(crate) struct Station {
    pub(crate) node: NodeId,
    /// Its port; [`NONE`] without one.
    pub(crate) port: u32,
    /// Index among the stations with tasks or a layer; [`NONE`] without them.
    pub(crate) layer: u32,
    /// Number of servers of its stack; zero for zero processing time.
    pub(crate) servers: u8,
    pub(crate) released: u64,
    pub(crate) delivered: u64,
    pub(crate) arrived: u64,
    pub(crate) filtered: u64,
    pub(crate) discarded: u64,
    pub(crate) stack_dropped: u64,
}
const _: () = assert!(size_of::<Station>() == 64, "a station is one cache line");

impl Simulation {
    /// Hands a packet of an application to its stack.
    #[inline]
    pub(crate) fn send<O: Observer>(&mut self, station: u32, id: u32, observer: &mut O) {
        self.stations[station as usize].released += 1;
        if O::ACTIVE {
            observer.released(self.now(), &self.info(id));
        }
        self.pool.get_mut(id).put(OUTBOUND, true);
        let state = &self.stations[station as usize];
        if state.layer != NONE {
            self.send_layered(station, id, observer);
        } else if state.servers == 0 {
            let port = state.port;
            self.enqueue(port, id, observer);
        } else {
            self.enter_stack(station, id, observer);
        }
    }

    /// Receives a frame at a station over the link behind port `from`.
    #[inline]
    pub(crate) fn receive<O: Observer>(
        &mut self,
        index: u32,
        id: u32,
        from: u32,
        observer: &mut O,
    ) {
        let mut station = &mut self.stations[index as usize];
        station.arrived += 1;
        let is_layered = station.layer != NONE;
        if is_layered {
            self.hear(index, id);
            station = &mut self.stations[index as usize];
        }
        let packet = *self.pool.get(id);
        if packet.has(CORRUPTED) {
            station.discarded += 1;
            let node = station.node;
            self.lose(id, node, Some(from), DropReason::FrameError, observer);
            return;
        }
        let is_for_me = if packet.destination & GROUP == 0 {
            packet.destination == index
        } else {
            self.is_in_group(index, packet.flow)
        };
        if !is_for_me {
            let station = &mut self.stations[index as usize];
            station.filtered += 1;
            let node = station.node;
            self.end_superfluous(id, node, observer);
            return;
        }
        let station = &self.stations[index as usize];
        let servers = station.servers;
        if O::ACTIVE {
            let node = station.node;
            observer.received(self.now(), node, &self.info(id));
        }
        let packet = self.pool.get_mut(id);
        packet.put(OUTBOUND, false);
        if is_layered {
            self.receive_layered(index, id, observer);
            return;
        }
        packet.put(TAGGED, false);
        if servers == 0 {
            self.deliver(index, id, observer);
        } else {
            self.enter_stack(index, id, observer);
        }
    }

    /// Returns whether a station is in the group of a flow; the groups of a flow over RTPS are for
    /// discovery and include all participants.
    #[inline]
    pub(crate) fn is_in_group(&self, station: u32, flow: u32) -> bool {
        let flow = &self.flows[flow as usize];
        if flow.is_published() {
            return self.publications.party_of(station).is_some();
        }
        flow.listeners.all().contains(&station)
    }

    /// Ends a copy that no listener depends on.
    pub(crate) fn end_superfluous<O: Observer>(&mut self, id: u32, node: NodeId, observer: &mut O) {
        if O::ACTIVE {
            observer.dropped(self.now(), node, &self.info(id), DropReason::Filtered);
        }
        self.pool.remove(id);
    }

    /// Adds a packet to a FIFO stack.
    #[inline]
    pub(crate) fn enter_stack<O: Observer>(&mut self, index: u32, id: u32, observer: &mut O) {
        let now = self.now;
        let station = &mut self.stations[index as usize];
        if station.servers == 0 {
            self.leave_stack(index, id, observer);
            return;
        }
        let packet = self.pool.get_mut(id);
        let is_outbound = packet.has(OUTBOUND);
        packet.mark = now;
        let server = u8::from(station.servers == 2 && !is_outbound);
        let stack = &mut self.stacks[index as usize];
        let state = &mut stack.server[usize::from(server)];
        if state.serving == NONE {
            self.begin_service(index, server, id, observer);
        } else if stack.waiting < stack.limit {
            state.queue.push(&mut self.pool, id);
            stack.waiting += 1;
            stack.waiting_max = stack.waiting_max.max(stack.waiting);
        } else {
            self.refuse(index, id, observer);
        }
    }

    /// Drops a packet because the queue of the stack or of a task is full.
    #[cold]
    pub(crate) fn refuse<O: Observer>(&mut self, index: u32, id: u32, observer: &mut O) {
        let station = &mut self.stations[index as usize];
        station.stack_dropped += 1;
        let node = station.node;
        let place = self.stack_place(index, id);
        self.lose(id, node, place, DropReason::StackFull, observer);
    }

    /// Returns the port that represents a packet inside a stack when looking up which listeners
    /// depend on it: the station's own port for an outbound packet, its peer for an inbound one.
    /// `None` for unicast.
    pub(crate) fn stack_place(&self, index: u32, id: u32) -> Option<u32> {
        let port = self.stations[index as usize].port;
        let packet = self.pool.get(id);
        if packet.destination & GROUP == 0 {
            None
        } else if packet.has(OUTBOUND) {
            Some(port)
        } else {
            Some(self.ports[port as usize].peer)
        }
    }

    /// Returns the cost of a packet in the stack, jitter included.
    #[inline]
    pub(crate) fn stack_cost(&mut self, index: u32, id: u32) -> i64 {
        let packet = self.pool.get(id);
        let (size, is_outbound) = (i64::from(packet.size), packet.has(OUTBOUND));
        let stack = &mut self.stacks[index as usize];
        if !stack.asks {
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

    pub(crate) fn begin_service<O: Observer>(
        &mut self,
        index: u32,
        server: u8,
        id: u32,
        observer: &mut O,
    ) {
        let now = self.now;
        let cost = self.stack_cost(index, id);
        let packet = self.pool.get_mut(id);
        if !packet.has(OUTBOUND) {
            let waited = now - packet.mark;
            packet.spend(Segment::ReceiveQueue, index, waited);
            packet.mark = now;
        }
        packet.due = now + cost;
        let due = packet.due;
        let stack = &mut self.stacks[index as usize];
        stack.busy += cost;
        let own = &mut stack.server[usize::from(server)];
        own.serving = id;
        self.agenda.set(own.slot, due);
        if O::ACTIVE {
            self.tell_served(index, server, (now, due), id, observer);
        }
        if O::ACTIVE && !self.pool.get(id).has(OUTBOUND) && !self.has_tasks(index) {
            let node = self.stations[index as usize].node;
            observer.serving(Instant::from_ps(due), node, &self.info(id));
        }
    }

    /// Tells the observer of work of a stack from one time to another.
    pub(crate) fn tell_served<O: Observer>(
        &self,
        index: u32,
        server: u8,
        (begin, end): (i64, i64),
        id: u32,
        observer: &mut O,
    ) {
        let service = Service {
            station: self.stations[index as usize].node,
            server,
            begin: Instant::from_ps(begin),
            end: Instant::from_ps(end),
        };
        observer.served(&service, &self.info(id));
    }

    /// Completes the service of a packet and begins the next one.
    pub(crate) fn complete_service<O: Observer>(
        &mut self,
        index: u32,
        server: u8,
        observer: &mut O,
    ) {
        let stack = &mut self.stacks[index as usize];
        let state = &mut stack.server[usize::from(server)];
        let id = core::mem::replace(&mut state.serving, NONE);
        let slot = state.slot;
        if let Some(next) = self.next_in_stack(index, server, observer) {
            self.begin_service(index, server, next, observer);
        } else {
            self.agenda.set(slot, crate::agenda::NEVER);
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

    /// Removes and returns the packet that a server serves next.
    #[inline]
    fn next_in_stack<O: Observer>(
        &mut self,
        index: u32,
        server: u8,
        observer: &mut O,
    ) -> Option<u32> {
        let stack = &mut self.stacks[index as usize];
        let state = &mut stack.server[usize::from(server)];
        if let Some(next) = state.queue.pop(&self.pool) {
            stack.waiting -= 1;
            return Some(next);
        }
        if self.stations[index as usize].layer == NONE {
            return None;
        }
        self.select_packet(index, server, observer)
    }

    /// Passes a packet from the stack to the port or the application.
    #[inline]
    pub(crate) fn leave_stack<O: Observer>(&mut self, index: u32, id: u32, observer: &mut O) {
        let station = &self.stations[index as usize];
        if station.layer != NONE {
            self.leave_layered_stack(index, id, observer);
        } else if self.pool.get(id).has(OUTBOUND) {
            let port = station.port;
            self.enqueue(port, id, observer);
        } else {
            self.deliver(index, id, observer);
        }
    }

    /// Delivers a packet to the application.
    #[inline]
    pub(crate) fn deliver<O: Observer>(&mut self, index: u32, id: u32, observer: &mut O) {
        let station = &mut self.stations[index as usize];
        station.delivered += 1;
        if O::ACTIVE {
            let node = station.node;
            observer.reached(self.now(), node, &self.info(id));
        }
        let packet = self.pool.get(id);
        let flow_index = packet.flow;
        let flow = &self.flows[flow_index as usize];
        match flow.carrier {
            Carrier::Packets => {}
            Carrier::Bulk(bulk) => return self.deliver_segment(bulk, id, observer),
            Carrier::Conversation(_) => return self.deliver_to_end(id, observer),
            Carrier::Publication(_) => return self.deliver_datagram(index, id, observer),
            Carrier::Fragments(position) => {
                return self.deliver_fragment(position, index, id, observer);
            }
        }
        if packet.destination & GROUP != 0 {
            let position = flow
                .listeners
                .all()
                .iter()
                .position(|&listener| listener == index);
            let offset = u32::try_from(position.unwrap_or(0)).unwrap_or(0);
            let stream = flow.first_stream + offset;
            self.pool.get_mut(id).stream = stream;
        }
        let packet = self.pool.get(id);
        if flow.reply.is_some() && !packet.has(REVERSE) {
            self.reply(flow_index, index, id, observer);
        } else {
            let number = packet.number;
            self.note_answer(flow_index, number);
            self.book_delivery(id, None, observer);
        }
    }

    /// Books a delivery and ends the packet. `payload` is given where packets differ in size.
    pub(crate) fn book_delivery<O: Observer>(
        &mut self,
        id: u32,
        payload: Option<u64>,
        observer: &mut O,
    ) {
        if O::ACTIVE {
            let packet = self.pool.get(id);
            let segments = packet
                .segments
                .map(rtether_model::quantity::Duration::from_ps);
            let inside = Segment::ALL.iter().filter(|segment| segment.is_ethernet());
            let delivery = Delivery {
                stream: packet.stream as usize,
                latency: self.now() - Instant::from_ps(packet.released_at),
                ethernet: inside.map(|segment| segments[segment.index()]).sum(),
                segments,
                is_counted: packet.has(COUNTED),
            };
            observer.delivered(self.now(), &self.info(id), &delivery);
        }
        let packet = self.pool.get(id);
        if packet.has(COUNTED) {
            let stats = &mut self.streams[packet.stream as usize];
            stats.deliver(self.now, packet, self.config.bucket.as_ps(), payload);
        }
        self.pool.remove(id);
    }

    /// Schedules the answer of the listener's application.
    pub(crate) fn reply<O: Observer>(
        &mut self,
        flow_index: u32,
        station: u32,
        id: u32,
        observer: &mut O,
    ) {
        let flow = &mut self.flows[flow_index as usize];
        let Some(reply) = &mut flow.reply else { return };
        let packet = self.pool.get_mut(id);
        packet.spend(Segment::Application, station, reply.after);
        packet.put(REVERSE, true);
        packet.put(TAGGED, flow.flags & TAGGED != 0);
        packet.source = station;
        packet.destination = flow.talker;
        packet.size = reply.size;
        packet.pcp = flow.pcp;
        packet.vid = flow.vid;
        if reply.after == 0 {
            self.send_answer(flow_index, station, id, observer);
            return;
        }
        packet.due = self.now + reply.after;
        let due = packet.due;
        if reply.pending.len() == 0 {
            self.agenda.set(reply.slot, due);
        }
        reply.pending.push(&mut self.pool, id);
    }

    /// Sends the reply that is due.
    pub(crate) fn send_replies<O: Observer>(&mut self, index: u32, observer: &mut O) {
        let Some(reply) = &mut self.flows[index as usize].reply else {
            return;
        };
        let Some(id) = reply.pending.pop(&self.pool) else {
            return;
        };
        let next = reply
            .pending
            .head()
            .map_or(crate::agenda::NEVER, |id| self.pool.get(id).due);
        self.agenda.set(reply.slot, next);
        let station = self.pool.get(id).source;
        self.send_answer(index, station, id, observer);
    }

    /// Hands an answer to the stack of its station.
    #[inline]
    fn send_answer<O: Observer>(&mut self, flow: u32, station: u32, id: u32, observer: &mut O) {
        if let Carrier::Fragments(position) = self.flows[flow as usize].carrier {
            self.send_datagram_of(position, station, id, observer);
        } else {
            self.send(station, id, observer);
        }
    }
}

/// Returns a frame size as the kernel stores it; `None` if it does not fit.
pub(crate) fn frame_octets(size: Bytes) -> Option<u16> {
    u16::try_from(size.get()).ok()
}
