//! Shared media: their frames, between ports and the nodes that take them in.
//!
//! Each port of a hub is an egress port like that of a switch, so that a copy travels through the
//! port that faces its receiver. Frames that a station's interface ignores are counted and not
//! simulated further.

use rtether_model::record::Segment;

use super::Simulation;
use crate::agenda::NEVER;
use crate::medium::{self, Event, EventKind};
use crate::observe::{DropReason, Observer};
use crate::port::Owner;
use crate::queues::Next;
use crate::shared::Receiver;

impl Simulation {
    /// Gives the medium the next waiting frame of a port, unless it already holds one of it.
    pub(super) fn offer_next(&mut self, index: u32) {
        let Some(number) = self.ports[index as usize].attachment() else {
            return;
        };
        let attachment = self.attachments[number as usize];
        if self.follows_scheme(attachment) {
            self.ask_for_turn(number);
        } else if attachment.frame().is_none() {
            self.hand_over_or_wait(index);
            let shared = &self.shared[attachment.domain() as usize];
            shared.set_timer(&mut self.agenda);
        }
    }

    /// Gives the medium the next waiting frame of a port of which it holds none, or makes the port
    /// wake up when its queues let a frame go.
    fn hand_over_or_wait(&mut self, index: u32) {
        if let Err(time) = self.hand_over(index, None)
            && time != NEVER
        {
            self.ports[index as usize].wake_at(time, &mut self.agenda);
        }
    }

    /// Gives the medium the next waiting frame of a port of which it holds none; the medium's timer
    /// has to be set afterwards. Otherwise returns when to ask again, [`NEVER`] if none waits.
    /// `class` is given where an access scheme chooses the queue.
    pub(super) fn hand_over(&mut self, index: u32, class: Option<u8>) -> Result<(), i64> {
        let number = self.ports[index as usize].attachment().ok_or(NEVER)?;
        let attachment = self.attachments[number as usize];
        let (id, queue) = self.take_head(index, class)?;
        let packet = self.pool.get(id);
        let (size, released_at) = (packet.frame_size().unsigned_abs(), packet.released_at);
        self.attachments[number as usize].hold(id, queue);
        let shared = &mut self.shared[attachment.domain() as usize];
        shared.offer(self.now, attachment.station(), id, size, released_at);
        if self.ports[index as usize].reports_completion() {
            let ring = if class.is_some() { 0 } else { queue };
            self.transmission_begins(index, ring);
        }
        Ok(())
    }

    /// Takes the next waiting frame of a port, with its queue, and books how long it has waited.
    pub(super) fn take_head(&mut self, index: u32, class: Option<u8>) -> Result<(u32, u8), i64> {
        let queues = &mut self.queues[index as usize];
        let next = match class {
            Some(queue) => queues.pop_from(&self.pool, queue),
            None => queues.pop(&self.pool, self.now),
        };
        let (id, queue) = match next {
            Next::Frame(id, queue) => (id, queue),
            Next::NotBefore(time) => return Err(time),
            Next::Empty => return Err(NEVER),
        };
        let port = &self.ports[index as usize];
        let packet = self.pool.get_mut(id);
        let waited = self.now - packet.mark;
        packet.spend(port.owner().waiting_place(), index, waited);
        packet.mark = self.now;
        queues.note_waited(queue, waited);
        let size = packet.frame_size().unsigned_abs();
        self.release_shared(index, size);
        Ok((id, queue))
    }

    /// Handles the timer of a medium: a transmission starts or ends.
    pub(super) fn wake_medium<O: Observer>(&mut self, domain: u32, observer: &mut O) {
        // Take all events before any station offers its next frame.
        let mut events = self.shared[domain as usize].wake(self.now);
        for event in events.drain(..) {
            self.handle_medium(domain, event, observer);
        }
        let shared = &mut self.shared[domain as usize];
        shared.keep(events);
        shared.set_timer(&mut self.agenda);
    }

    fn handle_medium<O: Observer>(&mut self, domain: u32, event: Event, observer: &mut O) {
        let has_scheme = self.shared[domain as usize].scheme().is_some();
        if has_scheme && self.hear_scheme(domain, event, observer) {
            return;
        }
        let number = self.shared[domain as usize].attachment(event.station);
        let attachment = self.attachments[number as usize];
        let index = attachment.port();
        match event.kind {
            EventKind::Collision { .. } => {
                if O::ACTIVE {
                    observer.collided(self.now(), self.port_id(index), &self.info(event.frame));
                }
            }
            EventKind::Started => {
                if self.ports[index as usize].reports_completion() {
                    self.attempt_begins(index);
                }
            }
            EventKind::Sent { .. } => {
                self.queues[index as usize].note_sent(attachment.queue());
                self.book_access(index, event.frame, observer);
            }
            EventKind::Delivered { attempts } => {
                self.distribute(domain, event.station, event.frame, observer);
                self.free_attachment(number, attempts, observer);
            }
            EventKind::Garbled { attempts } => {
                self.discard_garbled(domain, index);
                let node = self.port_id(index).node;
                self.lose(event.frame, node, Some(index), DropReason::Garbled, observer);
                self.free_attachment(number, attempts, observer);
            }
            EventKind::Dropped { reason, attempts } => {
                self.queues[index as usize].note_dropped(attachment.queue());
                self.port_rests[index as usize].note_dropped();
                let node = self.port_id(index).node;
                let reason = match reason {
                    medium::DropReason::ExcessiveCollisions => DropReason::ExcessiveCollisions,
                    medium::DropReason::LateCollision => DropReason::LateCollision,
                };
                self.lose(event.frame, node, Some(index), reason, observer);
                self.free_attachment(number, attempts, observer);
            }
        }
    }

    /// Tells the access scheme of an event. Returns whether it was that of a control frame.
    fn hear_scheme<O: Observer>(&mut self, domain: u32, event: Event, observer: &mut O) -> bool {
        let scheme = self.shared[domain as usize].scheme();
        let control = scheme.and_then(|scheme| scheme.controlling(event.station));
        if !self.hear_medium(domain, &event) {
            return false;
        }
        let is_sent = matches!(event.kind, EventKind::Delivered { .. });
        if let Some(control) = control.filter(|_| is_sent) {
            if O::ACTIVE {
                let port = self.port_id(self.member(domain, event.station));
                observer.controlled(self.now(), port, &control);
            }
            self.depart(domain, (event.station, &control.message), observer);
        }
        true
    }

    /// Counts a garbled frame at the next node, which discards it.
    pub(super) fn discard_garbled(&mut self, domain: u32, sender: u32) {
        let peer = self.ports[sender as usize].peer();
        self.shared[domain as usize].note_garbled(peer);
        match self.ports[peer as usize].owner() {
            Owner::Station(station) => {
                let station = &mut self.stations[station as usize];
                station.note_arrived();
                station.note_discarded();
            }
            Owner::Switch(switch) => self.switches[switch as usize].note_garbled(),
            Owner::Hub => {}
        }
    }

    /// Frees an attachment and hands over the next frame of its port; the timer of the medium is
    /// set once all events are handled.
    fn free_attachment<O: Observer>(&mut self, number: u32, attempts: u32, observer: &mut O) {
        let attachment = &mut self.attachments[number as usize];
        attachment.free();
        let attachment = *attachment;
        let index = attachment.port();
        // A station that follows a scheme asks for its turn once it has heard its own frame.
        if !self.follows_scheme(attachment) {
            self.hand_over_or_wait(index);
        }
        if self.ports[index as usize].reports_completion() {
            self.transmission_complete(index, attempts, observer);
        }
    }

    /// Books the time a frame took when its last bit leaves its station.
    fn book_access<O: Observer>(&mut self, index: u32, id: u32, observer: &mut O) {
        let packet = self.pool.get_mut(id);
        self.ports[index as usize].sent_by_medium(index, packet, self.now);
        if O::ACTIVE {
            self.tell_transmitted(index, id, observer);
        }
        if self.ports[index as usize].is_special() {
            self.mirror_sent(index, id, observer);
        }
        self.maybe_corrupt(index, id);
    }

    /// Corrupts the frame if the link behind a port has a bit error.
    pub(super) fn maybe_corrupt(&mut self, index: u32, id: u32) {
        if self.ports[index as usize].is_special() {
            self.port_rests[index as usize].maybe_corrupt(self.pool.get_mut(id));
        }
    }

    /// Sends copies of a frame to the nodes that take it in.
    fn distribute<O: Observer>(&mut self, domain: u32, from: u32, id: u32, observer: &mut O) {
        let packet = self.pool.get(id);
        let shared = &mut self.shared[domain as usize];
        shared.repeat(from, packet.frame_size());
        let last = match shared.receiver(from, packet.destination) {
            Receiver::One(station) => Some((station, self.member(domain, station))),
            Receiver::None => None,
            Receiver::Unknown => self.send_copies(domain, from, id, observer),
        };
        if let Some((station, receiver)) = last {
            self.fly(domain, from, station, receiver, id);
            return;
        }
        let node = self.port_id(self.member(domain, from)).node;
        self.end_superfluous(id, node, observer);
    }

    /// Asks every node whether it takes a frame in, sends copies to all of them but the last, and
    /// returns that one, which gets the frame itself: its number on the medium, and its port.
    fn send_copies<O: Observer>(
        &mut self,
        domain: u32,
        from: u32,
        id: u32,
        observer: &mut O,
    ) -> Option<(u32, u32)> {
        let destination = self.pool.get(id).destination;
        let mut last = None;
        for number in self.shared[domain as usize].attachments() {
            let attachment = self.attachments[number as usize];
            let station = attachment.station();
            if station == from {
                continue;
            }
            if let Some(number) = attachment.filtering(destination) {
                self.stations[number as usize].has_filtered(1);
                continue;
            }
            let receiver = attachment.port();
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
        last
    }

    /// Enters what media have counted by sender in the counters of the ports and stations on them.
    pub(super) fn settle_media(&mut self) {
        let (ports, stations) = (&mut self.ports, &mut self.stations);
        for shared in &mut self.shared {
            shared.settle(
                |port, frames, octets| ports[port as usize].repeated(frames, octets),
                |station, frames| stations[station as usize].has_filtered(frames),
            );
        }
    }

    /// Returns the port that is this station of a medium.
    #[inline]
    pub(super) fn member(&self, domain: u32, station: u32) -> u32 {
        let number = self.shared[domain as usize].attachment(station);
        self.attachments[number as usize].port()
    }

    /// Returns whether the node of a port takes the frame in. A station that filters it counts it,
    /// and its layer hears it.
    pub(super) fn wants(&mut self, receiver: u32, id: u32) -> bool {
        let Owner::Station(number) = self.ports[receiver as usize].owner() else {
            return true;
        };
        let is_addressed = self.is_addressed(number, self.pool.get(id));
        if !is_addressed {
            let station = &mut self.stations[number as usize];
            station.has_filtered(1);
            if station.layer().is_some() {
                self.hear(number, id);
            }
        }
        is_addressed
    }

    /// Starts the flight of a frame, which has just left its station, to a receiver.
    fn fly(&mut self, domain: u32, from: u32, to: u32, receiver: u32, id: u32) {
        let sender = self.member(domain, from);
        // The port facing the receiver: a hub's, or without hubs the sender's own.
        let facing = self.ports[receiver as usize].peer();
        if facing != sender {
            self.maybe_corrupt(facing, id);
        }
        let packet = self.pool.get_mut(id);
        let last_bit = self.ports[sender as usize].last_bit(packet.frame_size());
        let mut on_wire = last_bit + self.shared[domain as usize].propagation(from, to);
        on_wire += self.ports[facing as usize].flight(packet.size);
        if facing != sender {
            on_wire += self.ports[sender as usize].flight(packet.size);
        }
        packet.spend(Segment::Wire, sender, on_wire);
        let port = &mut self.ports[facing as usize];
        let latency = port.book_latency(facing, packet);
        packet.due = self.now - last_bit + on_wire + latency;
        if port.is_special() {
            self.delay_in_switch(facing, id);
        }
        let port = &mut self.ports[facing as usize];
        port.launch(facing, id, &mut self.pool, &mut self.agenda);
    }
}
