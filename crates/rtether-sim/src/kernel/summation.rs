//! Frames in summation frames, from the station that puts them in to those that take them out.
//!
//! The hub's books are those of a repeated frame: a frame passes by every station.

use alloc::vec::Vec;

use rtether_model::network::NodeId;
use rtether_model::record::Segment;
use rtether_proto::access::Message;

use super::Simulation;
use crate::access::{AccessState, Cargo, Relay, Returned};
use crate::observe::{DropReason, Observer};
use crate::packet::CORRUPTED;
use crate::shared::{Attachment, Shared};

impl Simulation {
    /// Handles that the master's frame has left it: what it has put in is under way, and so is what
    /// it passes on.
    pub(super) fn depart<O: Observer>(
        &mut self,
        domain: u32,
        (master, message): (u32, &Message),
        observer: &mut O,
    ) {
        let Some(access) = self.shared[domain as usize].scheme_mut() else {
            return;
        };
        let is_lost = access.was_lost();
        let relays = access.pass_on(message);
        let (own, others): (Vec<Cargo>, Vec<Cargo>) =
            access.unload().into_iter().partition(|cargo| cargo.station == master);
        // Stations near the master have put in theirs by now.
        for cargo in others {
            access.load(cargo);
        }
        for cargo in own {
            if is_lost {
                self.lose_aboard(domain, cargo, observer);
            } else {
                self.set_down(domain, cargo, master, observer);
            }
        }
        for relay in relays {
            // What the master has taken back and sends again in vain is discarded at its end.
            let packet = self.pool.get_mut(relay.id);
            packet.put(CORRUPTED, packet.has(CORRUPTED) || is_lost);
            let due = self.now + self.way(domain, relay.to);
            self.take_out(relay.sender, relay.receiver, relay.id, due);
        }
    }

    /// Handles that a frame is back at the master with what others have put in.
    pub(super) fn come_back<O: Observer>(
        &mut self,
        domain: u32,
        returned: Returned,
        observer: &mut O,
    ) {
        for cargo in returned.cargo {
            if returned.back.is_valid {
                self.set_down(domain, cargo, returned.master, observer);
            } else {
                self.lose_aboard(domain, cargo, observer);
            }
        }
    }

    /// Sends copies of a frame to those that take it out: of the master's frames, as they pass; of
    /// others, the master now, and those to which it passes them on later.
    fn set_down<O: Observer>(&mut self, domain: u32, cargo: Cargo, master: u32, observer: &mut O) {
        let Cargo { station, id, class } = cargo;
        let sender = self.member(domain, station);
        self.book_carried(sender, cargo);
        if O::ACTIVE {
            self.tell_transmitted(sender, id, observer);
        }
        self.maybe_corrupt(sender, id);
        let frame_size = self.pool.get(id).frame_size();
        let shared = &mut self.shared[domain as usize];
        shared.repeat(station, frame_size);
        let count = shared.attachments().len();
        let mut left = Some(id);
        let all = (0u32..).take(count).filter(|to| *to != station);
        let all: Vec<(u32, u32)> = all.map(|to| (to, self.member(domain, to))).collect();
        let takers: Vec<(u32, u32)> =
            all.into_iter().filter(|(_, receiver)| self.wants(*receiver, id)).collect();
        for (position, &(to, receiver)) in takers.iter().enumerate() {
            // The last one gets the frame itself, not a copy.
            let own = if position + 1 == takers.len() {
                left = None;
                id
            } else {
                let copy = self.pool.duplicate(id);
                if O::ACTIVE {
                    observer.copied(self.now(), id, &self.info(copy));
                }
                copy
            };
            if station == master || to == master {
                let after = if to == master { 0 } else { self.way(domain, to) };
                self.take_out(sender, receiver, own, self.now + after);
            } else if let Some(access) = self.shared[domain as usize].scheme_mut() {
                access.keep(Relay { sender, to, receiver, id: own, class });
            }
        }
        if let Some(id) = left {
            let node = self.port_id(sender).node;
            self.end_superfluous(id, node, observer);
        }
    }

    /// Returns the time from the master to a station.
    fn way(&self, domain: u32, station: u32) -> i64 {
        let access = self.shared[domain as usize].scheme();
        access.map_or(0, |access| access.way(station))
    }

    /// Lets a frame arrive at a station's port at `due`.
    fn take_out(&mut self, sender: u32, receiver: u32, id: u32, due: i64) {
        let facing = self.ports[receiver as usize].peer();
        self.maybe_corrupt(facing, id);
        let packet = self.pool.get_mut(id);
        let inside = self.ports[facing as usize].flight(packet.size)
            + self.ports[sender as usize].flight(packet.size);
        packet.spend(Segment::Wire, sender, due + inside - packet.mark);
        packet.due = due + inside;
        let port = &mut self.ports[facing as usize];
        port.launch(facing, id, &mut self.pool, &mut self.agenda);
    }

    fn book_carried(&mut self, sender: u32, cargo: Cargo) {
        self.queues[sender as usize].note_sent(cargo.class);
        self.ports[sender as usize].carried(self.pool.get_mut(cargo.id));
    }

    /// Ends a frame whose summation frame was lost, or came back with a short working counter.
    fn lose_aboard<O: Observer>(&mut self, domain: u32, cargo: Cargo, observer: &mut O) {
        let sender = self.member(domain, cargo.station);
        self.book_carried(sender, cargo);
        self.discard_garbled(domain, sender);
        let node = self.port_id(sender).node;
        self.lose(cargo.id, node, Some(sender), DropReason::FrameError, observer);
    }

    /// Returns how many frames of a port its medium holds.
    pub(super) fn held_by_medium(&self, attachment: Attachment) -> u64 {
        let access = self.shared[attachment.domain() as usize].scheme();
        let aboard = access.map_or(0, |access| {
            let own = access.aboard().iter();
            own.filter(|cargo| cargo.station == attachment.station()).count()
        });
        u64::from(attachment.frame().is_some()) + aboard as u64
    }

    /// Returns how many frames wait to be passed on to a node.
    pub(super) fn relays_to(&self, node: NodeId) -> u64 {
        let all = self.shared.iter().filter_map(Shared::scheme);
        let relays = all.flat_map(AccessState::relays);
        let own = relays.filter(|relay| self.port_id(relay.receiver).node == node);
        own.count() as u64
    }

    /// Visits the frames in summation frames and those to be passed on, with the port that they have
    /// left.
    pub(super) fn for_each_carried(&self, visit: &mut impl FnMut(u32, Option<u32>)) {
        for (domain, shared) in (0u32..).zip(&self.shared) {
            let Some(access) = shared.scheme() else {
                continue;
            };
            for cargo in access.aboard() {
                visit(cargo.id, Some(self.member(domain, cargo.station)));
            }
            for relay in access.relays() {
                visit(relay.id, Some(self.ports[relay.receiver as usize].peer()));
            }
        }
    }
}
