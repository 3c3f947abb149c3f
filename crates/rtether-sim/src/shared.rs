//! Shared media: drives the CSMA/CD engine of each collision domain and distributes its frames.
//!
//! A port on a medium gives it the frame at the head of its queue, and the next one when that frame
//! has been sent or given up. A frame leaves through every hub of the domain by all other ports;
//! each of those is an egress port like that of a switch, so that a copy travels through the port
//! that faces its receiver. Frames that a station's interface ignores are counted and not simulated
//! further.

use alloc::vec::Vec;

use rtether_model::network::{NodeId, PortId};
use rtether_model::quantity::{Bytes, Instant};
use rtether_model::record::{AccessRecord, MediumRecord, Segment};

use crate::agenda::NEVER;
use crate::kernel::Simulation;
use crate::medium::{self, Event, EventKind, Medium};
use crate::observe::{DropReason, Observer};
use crate::packet::{CORRUPTED, GROUP, NONE};
use crate::port::{OVERHEAD, Owner, PREAMBLE};
use crate::queues::Next;

/// One collision domain.
pub(crate) struct Shared {
    pub(crate) medium: Medium,
    /// Indices of the attachments, in the order of the medium's stations.
    pub(crate) attachments: Vec<u32>,
    pub(crate) hubs: Vec<HubState>,
    pub(crate) slot: u32,
    /// Seed from which the back-offs of each frame are drawn separately; `None` draws all from one
    /// sequence.
    pub(crate) seed_of_frames: Option<u64>,
    /// Buffer for the medium's events while they are handled.
    pub(crate) events: Vec<Event>,
}

/// One hub of a collision domain.
pub(crate) struct HubState {
    pub(crate) node: NodeId,
    /// Ports with a link in use.
    pub(crate) ports: Vec<u32>,
    /// By station of the medium: the port at which its frames enter.
    pub(crate) ingress: Vec<u32>,
    pub(crate) arrived: u64,
    pub(crate) copied: u64,
    /// Frames that arrived at the only port in use.
    pub(crate) filtered: u64,
    pub(crate) discarded: u64,
}

/// A port on a medium.
#[derive(Clone, Copy)]
pub(crate) struct Attachment {
    pub(crate) port: u32,
    /// Collision domain, and number of the station within it.
    pub(crate) domain: u32,
    pub(crate) station: u32,
    /// Frame held by the medium, or [`NONE`].
    pub(crate) frame: u32,
    /// Queue it comes from.
    pub(crate) queue: u8,
}

impl Shared {
    /// Returns the counters at the end of a run.
    pub(crate) fn record(&self, ports: impl Fn(u32) -> PortId) -> MediumRecord {
        let statistics = self.medium.statistics();
        MediumRecord {
            ports: self.attachments.iter().map(|&index| ports(index)).collect(),
            collisions: statistics.collisions.to_vec(),
            carried: statistics.carried,
            wasted: statistics.wasted,
        }
    }

    /// Returns the counters of one station.
    pub(crate) fn access(&self, station: u32) -> AccessRecord {
        let counts = self.medium.station_statistics(station);
        AccessRecord {
            collisions: counts.collisions,
            sent_after_collision: counts.sent_after_collision,
            excessive_collisions: counts.excessive_collisions,
            late_collisions: counts.late_collisions,
        }
    }
}

impl Simulation {
    /// Gives the medium the next waiting frame of a port, unless it already holds one of it.
    pub(crate) fn offer_next(&mut self, index: u32) {
        if let Some(domain) = self.hand_over(index) {
            self.set_medium_slot(domain);
        }
    }

    /// Like [`Self::offer_next`], but does not set the timer of the medium; returns the medium if
    /// it got a frame.
    fn hand_over(&mut self, index: u32) -> Option<u32> {
        let number = self.ports[index as usize].attachment;
        let attachment = self.attachments[number as usize];
        if attachment.frame != NONE {
            return None;
        }
        let Next::Frame(id, queue) = self.queues[index as usize].pop(&self.pool, self.now) else {
            return None;
        };
        let now = self.now;
        let packet = self.pool.get_mut(id);
        let waited = now - packet.mark;
        let size = packet.frame_size().unsigned_abs();
        let released_at = packet.released_at.unsigned_abs();
        packet.spend(
            self.ports[index as usize].owner.waiting_place(),
            index,
            waited,
        );
        packet.mark = now;
        self.release_shared(index, size);
        self.queues[index as usize].note_waited(queue, waited);
        let own = &mut self.attachments[number as usize];
        own.frame = id;
        own.queue = queue;
        let shared = &mut self.shared[attachment.domain as usize];
        if let Some(seed) = shared.seed_of_frames {
            let own = crate::random::mix(&[seed, u64::from(attachment.station), released_at]);
            shared.medium.reseed(attachment.station, own);
        }
        shared.medium.offer(
            Instant::from_ps(now),
            attachment.station,
            id,
            Bytes::new(size),
        );
        if self.ports[index as usize].reports_completion {
            self.transmission_begins(index, queue);
        }
        Some(attachment.domain)
    }

    fn set_medium_slot(&mut self, domain: u32) {
        let shared = &self.shared[domain as usize];
        let due = shared.medium.poll_timeout().map_or(NEVER, Instant::as_ps);
        self.agenda.set(shared.slot, due);
    }

    /// Handles the timer of a medium: a transmission starts or ends.
    pub(crate) fn wake_medium<O: Observer>(&mut self, domain: u32, observer: &mut O) {
        let now = self.now();
        let shared = &mut self.shared[domain as usize];
        shared.medium.handle_timeout(now);
        // Take all events before any station offers its next frame.
        let mut events = core::mem::take(&mut shared.events);
        while let Some(event) = shared.medium.poll_event() {
            events.push(event);
        }
        for event in events.drain(..) {
            self.handle_medium(domain, event, observer);
        }
        self.shared[domain as usize].events = events;
        self.set_medium_slot(domain);
    }

    fn handle_medium<O: Observer>(&mut self, domain: u32, event: Event, observer: &mut O) {
        let number = self.shared[domain as usize].attachments[event.station as usize];
        let index = self.attachments[number as usize].port;
        match event.kind {
            EventKind::Collision { .. } => {
                if O::ACTIVE {
                    observer.collided(self.now(), self.port_id(index), &self.info(event.frame));
                }
            }
            EventKind::Started => {
                if self.ports[index as usize].reports_completion {
                    self.attempt_begins(index);
                }
            }
            EventKind::Sent { .. } => {
                let queue = self.attachments[number as usize].queue;
                self.queues[index as usize].note_sent(queue);
                self.book_access(index, event.frame, observer);
            }
            EventKind::Delivered { attempts } => {
                self.distribute(domain, event.station, event.frame, observer);
                self.free_attachment(number, attempts, observer);
            }
            EventKind::Garbled { attempts } => {
                self.discard_garbled(domain, index);
                let node = self.port_id(index).node;
                self.lose(
                    event.frame,
                    node,
                    Some(index),
                    DropReason::Garbled,
                    observer,
                );
                self.free_attachment(number, attempts, observer);
            }
            EventKind::Dropped { reason, attempts } => {
                let queue = self.attachments[number as usize].queue;
                self.queues[index as usize].note_dropped(queue);
                let rest = &mut self.port_rests[index as usize];
                rest.dropped += 1;
                let node = rest.id.node;
                let reason = match reason {
                    medium::DropReason::ExcessiveCollisions => DropReason::ExcessiveCollisions,
                    medium::DropReason::LateCollision => DropReason::LateCollision,
                };
                self.lose(event.frame, node, Some(index), reason, observer);
                self.free_attachment(number, attempts, observer);
            }
        }
    }

    /// Counts a garbled frame at the next node, which discards it.
    fn discard_garbled(&mut self, domain: u32, sender: u32) {
        let peer = self.ports[sender as usize].peer;
        let hubs = self.shared[domain as usize].hubs.iter_mut();
        for hub in hubs.filter(|hub| hub.ports.contains(&peer)) {
            hub.arrived += 1;
            hub.discarded += 1;
        }
        match self.ports[peer as usize].owner {
            Owner::Station(station) => {
                let station = &mut self.stations[station as usize];
                station.arrived += 1;
                station.discarded += 1;
            }
            Owner::Switch(switch) => {
                let switch = &mut self.switches[switch as usize];
                switch.arrived += 1;
                switch.discarded += 1;
            }
            Owner::Hub => {}
        }
    }

    /// Frees an attachment and hands over the next frame of its port; the timer of the medium is
    /// set once all events are handled.
    fn free_attachment<O: Observer>(&mut self, number: u32, attempts: u32, observer: &mut O) {
        let attachment = &mut self.attachments[number as usize];
        attachment.frame = NONE;
        let index = attachment.port;
        self.hand_over(index);
        if self.ports[index as usize].reports_completion {
            self.transmission_complete(index, attempts, observer);
        }
    }

    /// Books the time a frame took when its last bit leaves its station.
    fn book_access<O: Observer>(&mut self, index: u32, id: u32, observer: &mut O) {
        let now = self.now;
        let port = &mut self.ports[index as usize];
        let packet = self.pool.get_mut(id);
        let size = packet.frame_size();
        let last_bit = (size + PREAMBLE) * port.octet;
        let waited = now - last_bit - packet.mark;
        packet.spend(Segment::MediumAccess, index, waited);
        packet.tail = 0;
        port.sent += 1;
        port.sent_octets += (size + OVERHEAD).unsigned_abs();
        if O::ACTIVE {
            self.tell_transmitted(index, id, observer);
        }
        self.maybe_corrupt(index, id);
    }

    /// Corrupts the frame if the link behind a port has a bit error.
    fn maybe_corrupt(&mut self, index: u32, id: u32) {
        if !self.ports[index as usize].is_faulty {
            return;
        }
        let rest = &mut self.port_rests[index as usize];
        if rest.draw.happens(rest.errors_per_billion, 1_000_000_000) {
            self.pool.get_mut(id).put(CORRUPTED, true);
            rest.corrupted += 1;
        }
    }

    /// Sends copies of a frame to the nodes that take it in.
    fn distribute<O: Observer>(&mut self, domain: u32, from: u32, id: u32, observer: &mut O) {
        let frame_size = self.pool.get(id).frame_size();
        self.repeat(domain, from, frame_size);
        let members = self.shared[domain as usize].attachments.len();
        // The last receiver gets the frame itself, not a copy.
        let mut last = None;
        for station in (0u32..).take(members).filter(|&station| station != from) {
            let number = self.shared[domain as usize].attachments[station as usize];
            let receiver = self.attachments[number as usize].port;
            if !self.wants(receiver, id) {
                continue;
            }
            if let Some((station, receiver)) = last.replace((station, receiver)) {
                let copy = self.pool.duplicate(id);
                if O::ACTIVE {
                    observer.copied(self.now(), id, &self.info(copy));
                }
                self.fly(domain, from, station, receiver, copy);
            }
        }
        if let Some((station, receiver)) = last {
            self.fly(domain, from, station, receiver, id);
            return;
        }
        let number = self.shared[domain as usize].attachments[from as usize];
        let node = self.port_id(self.attachments[number as usize].port).node;
        self.end_superfluous(id, node, observer);
    }

    /// Counts a frame at the hubs, and at the ports it leaves by.
    fn repeat(&mut self, domain: u32, from: u32, frame_size: i64) {
        for hub in &mut self.shared[domain as usize].hubs {
            let ingress = hub.ingress[from as usize];
            hub.arrived += 1;
            match hub.ports.len() {
                0 | 1 => hub.filtered += 1,
                ports => hub.copied += ports as u64 - 2,
            }
            for &egress in hub.ports.iter().filter(|&&port| port != ingress) {
                let port = &mut self.ports[egress as usize];
                port.offered += 1;
                port.sent += 1;
                port.sent_octets += (frame_size + OVERHEAD).unsigned_abs();
            }
        }
    }

    /// Returns whether the node of a port takes the frame in. A station that filters it counts it,
    /// and its layer hears it.
    fn wants(&mut self, receiver: u32, id: u32) -> bool {
        let Owner::Station(number) = self.ports[receiver as usize].owner else {
            return true;
        };
        let packet = self.pool.get(id);
        let is_addressed = if packet.destination & GROUP == 0 {
            packet.destination == number
        } else {
            self.is_in_group(number, packet.flow)
        };
        if !is_addressed {
            let station = &mut self.stations[number as usize];
            station.arrived += 1;
            station.filtered += 1;
            if station.layer != NONE {
                self.hear(number, id);
            }
        }
        is_addressed
    }

    /// Starts the flight of a frame, which has just left its station, to a receiver.
    fn fly(&mut self, domain: u32, from: u32, to: u32, receiver: u32, id: u32) {
        let shared = &self.shared[domain as usize];
        let sender = self.attachments[shared.attachments[from as usize] as usize].port;
        let way = shared.medium.propagation(from, to).as_ps();
        // The port facing the receiver: a hub's, or without hubs the sender's own.
        let facing = self.ports[receiver as usize].peer;
        if facing != sender {
            self.maybe_corrupt(facing, id);
        }
        let packet = self.pool.get_mut(id);
        let size = i64::from(packet.size);
        let last_bit = (packet.frame_size() + PREAMBLE) * self.ports[sender as usize].octet;
        let interface = |port: u32| {
            let port = &self.ports[port as usize];
            port.flight + port.flight_per_octet * size
        };
        let mut on_wire = last_bit + way + interface(facing);
        if facing != sender {
            on_wire += interface(sender);
        }
        packet.spend(Segment::Wire, sender, on_wire);
        let port = &mut self.ports[facing as usize];
        packet.spend(Segment::SwitchLatency, facing, port.latency);
        packet.due = self.now - last_bit + on_wire + port.latency;
        let held_up = port.landed_at - packet.due;
        if held_up > 0 {
            packet.spend(Segment::Wire, facing, held_up);
            packet.due += held_up;
        }
        port.landed_at = packet.due;
        let due = packet.due;
        let is_first = port.flying.len() == 0;
        port.flying.push(&mut self.pool, id);
        if is_first {
            self.agenda.set(port.arrival_slot, due);
        }
    }
}
