//! Sending ports: queueing, transmission, and the frames on the link behind them.
//!
//! A frame occupies the link for its wire size (preamble and gap included); it has reached the
//! other end when its last bit is there, or its header if the other end is a cut-through switch.
//! The latency of the switch at the other end is added to the flight, so that a hop is one event.

use rtether_model::network::{LinkId, NodeId, PortId, QueueMap};
use rtether_model::quantity::{Bytes, Duration, Instant};
use rtether_model::record::{AccessRecord, PortRecord, Segment};
use rtether_model::wire;

use crate::kernel::Simulation;
use crate::observe::{DropReason, Observer};
use crate::packet::{CORRUPTED, Fifo, NONE, TAGGED};
use crate::queues::{EgressQueues, Next};
use crate::random::Draw;

/// Octets after which a cut-through switch can forward: preamble and header.
const HEADER: i64 = 22;
/// Preamble; preamble and gap.
pub(crate) const PREAMBLE: i64 = 8;
pub(crate) const OVERHEAD: i64 = 20;
const _: () = assert!(
    wire::PREAMBLE.get() == 8 && wire::GAP.get() == 12 && wire::HEADER.get() == 14,
    "the constants above are those of the wire"
);

/// What a port belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    /// A station, by number.
    Station(u32),
    /// A switch, by number.
    Switch(u32),
    /// A hub; its ports originate no frames.
    Hub,
}

impl Owner {
    /// Returns the segment in which a frame waits at a port of this owner.
    pub(crate) const fn waiting_place(self) -> Segment {
        match self {
            Self::Station(_) => Segment::DriverQueue,
            Self::Switch(_) | Self::Hub => Segment::SwitchQueue,
        }
    }
}

/// The state of a sending port and the link behind it that every frame needs. Times in picoseconds.
///
/// In a large plant no state of a port is in a near cache when its next frame comes, so its cost is
/// the number of cache lines: these are two. State that only some frames need is in [`PortRest`]
/// and in the port's [`EgressQueues`].
#[repr(align(64))]
pub(crate) struct Port {
    pub(crate) owner: Owner,
    /// Port at the other end; [`NONE`] without a link in use.
    pub(crate) peer: u32,
    /// Owner of that port.
    pub(crate) peer_owner: Owner,
    /// Time per octet on the wire.
    pub(crate) octet: i64,
    /// Propagation, and what the network interfaces at both ends add, fixed and per octet.
    pub(crate) flight: i64,
    pub(crate) flight_per_octet: i64,
    /// Latency of the switch at the other end.
    pub(crate) latency: i64,
    pub(crate) free_at: i64,
    /// When the last bit of the last frame reaches the other end, switch latency included.
    pub(crate) landed_at: i64,
    pub(crate) flying: Fifo,
    pub(crate) arrival_slot: u32,
    pub(crate) wake_slot: u32,
    /// Number among the ports on shared media, or [`NONE`]. For [`Simulation::enqueue`] such a port
    /// is never free: the medium takes its frames.
    pub(crate) attachment: u32,
    /// The port wakes up, for waiting frames or to report a completion.
    pub(crate) is_wake_set: bool,
    /// Its transmission selection decides about every frame.
    pub(crate) is_asked_when_idle: bool,
    pub(crate) has_one_queue: bool,
    /// The other end is a cut-through switch.
    pub(crate) is_cut_through: bool,
    /// The link has bit errors.
    pub(crate) is_faulty: bool,
    /// The layer above is told when a frame has been sent; the port wakes up after every frame.
    pub(crate) reports_completion: bool,
    pub(crate) offered: u64,
    pub(crate) sent: u64,
    pub(crate) sent_octets: u64,
}
const _: () = assert!(size_of::<Port>() == 128, "a port is two cache lines");

/// The state of a port that few frames need.
pub(crate) struct PortRest {
    pub(crate) id: PortId,
    pub(crate) link: LinkId,
    pub(crate) map: QueueMap,
    pub(crate) errors_per_billion: u32,
    pub(crate) draw: Draw,
    /// Frames from this port that a cut-through switch stores.
    pub(crate) held: Fifo,
    pub(crate) stored_slot: u32,
    pub(crate) dropped: u64,
    pub(crate) corrupted: u64,
}

impl Port {
    /// Returns the counters at the end of a run.
    ///
    /// `access` is given for a port on a shared medium: its counters, and whether the medium holds
    /// a frame of it.
    pub(crate) fn record(
        &self,
        rest: &PortRest,
        queues: &EgressQueues,
        access: Option<(AccessRecord, bool)>,
        now: i64,
    ) -> PortRecord {
        let mut records = queues.records();
        if let [only] = &mut records[..] {
            only.sent = self.sent;
        }
        let busy = i64::try_from(self.sent_octets).unwrap_or(i64::MAX) * self.octet;
        let unfinished = if access.is_some() {
            0
        } else {
            (self.free_at - now).max(0)
        };
        PortRecord {
            port: rest.id,
            link: rest.link,
            offered: self.offered,
            sent: self.sent,
            sent_wire: Bytes::new(self.sent_octets),
            dropped: rest.dropped,
            queued: u64::from(queues.waiting()) + u64::from(access.is_some_and(|a| a.1)),
            corrupted: rest.corrupted,
            busy: Duration::from_ps(busy - unfinished),
            backlog_max: queues.backlog_max(),
            queues: records,
            access: access.map(|(record, _)| record),
        }
    }
}

impl Simulation {
    /// Queues a frame at a port, or sends it if the link is free.
    #[inline]
    pub(crate) fn enqueue<O: Observer>(&mut self, index: u32, id: u32, observer: &mut O) {
        let queue = if self.ports[index as usize].has_one_queue {
            0
        } else {
            let map = &self.port_rests[index as usize].map;
            let pcp = self.pool.get(id).pcp;
            self.queues[index as usize].queue_for(map.queue_of_value(pcp))
        };
        self.enqueue_at(index, id, queue, observer);
    }

    /// Queues a frame in a queue of a port, or sends it if the link is free.
    #[inline]
    pub(crate) fn enqueue_at<O: Observer>(
        &mut self,
        index: u32,
        id: u32,
        queue: u8,
        observer: &mut O,
    ) {
        let now = self.now;
        let port = &mut self.ports[index as usize];
        port.offered += 1;
        self.pool.get_mut(id).mark = now;
        if !port.is_wake_set && now >= port.free_at && !port.is_asked_when_idle {
            self.transmit(index, id, queue, observer);
            return;
        }
        self.queue_up(index, id, queue, observer);
    }

    /// Queues a frame at a busy port. Not inlined, so that the fast path does not pay for its
    /// variables.
    #[inline(never)]
    fn queue_up<O: Observer>(&mut self, index: u32, id: u32, queue: u8, observer: &mut O) {
        let size = self.pool.get(id).frame_size().unsigned_abs();
        if !self.queues[index as usize].fits(size) || !self.reserve_shared(index, size) {
            self.queues[index as usize].note_dropped(queue);
            let rest = &mut self.port_rests[index as usize];
            rest.dropped += 1;
            let node = rest.id.node;
            self.lose(id, node, Some(index), DropReason::BufferFull, observer);
            return;
        }
        self.queues[index as usize].push(&mut self.pool, id, queue, size);
        let port = &mut self.ports[index as usize];
        if port.attachment != NONE {
            self.offer_next(index);
        } else if !port.is_wake_set || (port.is_asked_when_idle && port.free_at <= self.now) {
            port.is_wake_set = true;
            self.agenda.set(port.wake_slot, port.free_at.max(self.now));
        }
    }

    /// Sends the next waiting frame: the link is free.
    pub(crate) fn wake_port<O: Observer>(&mut self, index: u32, observer: &mut O) {
        let mut not_before = i64::MIN;
        match self.queues[index as usize].pop(&self.pool, self.now) {
            Next::Frame(id, queue) => {
                let size = self.pool.get(id).frame_size().unsigned_abs();
                self.release_shared(index, size);
                self.transmit(index, id, queue, observer);
            }
            Next::NotBefore(time) => not_before = time,
            Next::Empty => {}
        }
        let port = &mut self.ports[index as usize];
        let is_reporting = port.reports_completion;
        port.is_wake_set =
            !self.queues[index as usize].is_empty() || (is_reporting && port.free_at > self.now);
        let next = if port.is_wake_set {
            port.free_at.max(not_before)
        } else {
            crate::agenda::NEVER
        };
        self.agenda.set(port.wake_slot, next);
        if is_reporting {
            // The ring did not wait for its driver: its next frame is already being sent.
            self.transmission_complete(index, 1, observer);
        }
    }

    /// Puts a frame on the wire now.
    #[inline]
    fn transmit<O: Observer>(&mut self, index: u32, id: u32, queue: u8, observer: &mut O) {
        let now = self.now;
        let port = &mut self.ports[index as usize];
        let packet = self.pool.get_mut(id);
        let waited = now - packet.mark;
        if waited > 0 {
            packet.spend(port.owner.waiting_place(), index, waited);
        }
        if O::ACTIVE {
            self.tell_transmitted(index, id, observer);
        }
        let port = &mut self.ports[index as usize];
        let packet = self.pool.get_mut(id);
        if waited > 0 || !port.has_one_queue {
            self.queues[index as usize].note_waited(queue, waited);
            self.queues[index as usize].note_sent(queue);
        }

        let size = packet.frame_size();
        let last_bit = (size + PREAMBLE) * port.octet;
        let occupancy = (size + OVERHEAD) * port.octet;
        let flight = port.flight + port.flight_per_octet * i64::from(packet.size);
        packet.tail = 0;
        if port.is_cut_through {
            let header = HEADER + if packet.has(TAGGED) { 4 } else { 0 };
            packet.tail = last_bit - header * port.octet;
        }
        let on_wire = last_bit + flight - packet.tail;
        packet.spend(Segment::Wire, index, on_wire);
        packet.spend(Segment::SwitchLatency, index, port.latency);
        packet.due = now + on_wire + port.latency;
        port.free_at = now + occupancy;
        port.sent += 1;
        port.sent_octets += (size + OVERHEAD).unsigned_abs();
        if port.is_faulty {
            let rest = &mut self.port_rests[index as usize];
            if rest.draw.happens(rest.errors_per_billion, 1_000_000_000) {
                packet.put(CORRUPTED, true);
                rest.corrupted += 1;
            }
        }
        // Interface costs per octet could let a short frame overtake a long one; make it wait for
        // the long one's last bit.
        let held_up = port.landed_at - packet.due;
        if held_up > 0 {
            packet.spend(Segment::Wire, index, held_up);
            packet.due += held_up;
        }
        port.landed_at = packet.due + packet.tail;
        let due = packet.due;
        let is_first = port.flying.len() == 0;
        port.flying.push(&mut self.pool, id);
        if is_first {
            self.agenda.set(port.arrival_slot, due);
        }
        if port.reports_completion {
            port.is_wake_set = true;
            self.agenda.set(port.wake_slot, port.free_at);
            self.transmission_begins(index, queue);
        }
        if O::ACTIVE {
            self.announce(index, id, observer);
        }
    }

    /// Announces a frame just put on the wire, if it goes to a station and is not corrupted.
    fn announce<O: Observer>(&self, index: u32, id: u32, observer: &mut O) {
        let port = &self.ports[index as usize];
        let packet = self.pool.get(id);
        if let Owner::Station(station) = port.peer_owner
            && !packet.has(CORRUPTED)
        {
            let node = self.stations[station as usize].node;
            observer.landing(Instant::from_ps(packet.due), node, &self.info(id));
        }
    }

    /// Handles a frame that arrives at the other end of the link behind port `index`.
    pub(crate) fn arrive<O: Observer>(&mut self, index: u32, observer: &mut O) {
        let port = &mut self.ports[index as usize];
        let Some(id) = port.flying.pop(&self.pool) else {
            return;
        };
        let next = port
            .flying
            .head()
            .map_or(crate::agenda::NEVER, |id| self.pool.get(id).due);
        self.agenda.set(port.arrival_slot, next);
        let peer = port.peer;
        debug_assert!(peer != NONE, "a frame on a missing link");
        match port.peer_owner {
            Owner::Station(station) => self.receive(station, id, index, observer),
            Owner::Switch(switch) => self.forward(switch, peer, id, index, observer),
            Owner::Hub => unreachable!("a hub is part of a medium"),
        }
    }

    /// Takes memory from the pool shared by the ports of a switch; `false` if too little is left.
    fn reserve_shared(&mut self, port: u32, size: u64) -> bool {
        let Owner::Switch(switch) = self.ports[port as usize].owner else {
            return true;
        };
        self.switches[switch as usize].reserve(size)
    }

    pub(crate) fn release_shared(&mut self, port: u32, size: u64) {
        if let Owner::Switch(switch) = self.ports[port as usize].owner {
            self.switches[switch as usize].release(size);
        }
    }

    /// Returns the node at the other end of the link behind port `index`.
    pub(crate) fn peer_node(&self, index: u32) -> NodeId {
        let peer = self.ports[index as usize].peer;
        self.port_id(peer).node
    }
}
