//! Stations in two networks: each frame leaves twice, and the first copy counts.
//!
//! A copy is recognized as long as another one is in transit, as a table of sequence numbers does
//! that is large enough.

use alloc::vec::Vec;

use rtether_model::network::Redundancy;

use crate::kernel::Simulation;
use crate::mechanism::Level;
use crate::mechanism::redundancy::Redundant;
use crate::observe::{Observer, Trailer};
use crate::packet::{GROUP, MIRRORED, NONE, Packet, TWIN};
use crate::port::Owner;

impl Simulation {
    /// Passes a packet of a station in two networks to each port whose network leads to its
    /// destination; to the first if none does.
    #[cold]
    pub(super) fn send_by_both<O: Observer>(&mut self, index: u32, id: u32, observer: &mut O) {
        let Some(own) = self.redundancy_mut(index) else {
            return;
        };
        let (ports, sequence, trailer) = (own.ports, own.sequence, own.trailer());
        own.sequence = sequence.wrapping_add(1);
        self.pool.get_mut(id).size += trailer;
        self.pool.join_twins(id, sequence);
        let packet = self.pool.get(id);
        let leads = ports.map(|port| port != NONE && self.is_in_network(port, packet));
        if leads != [true; 2] {
            let is_second = leads[1] || ports[0] == NONE;
            if is_second {
                self.pool.put_into_second(id);
            }
            return self.enqueue(ports[usize::from(is_second)], id, observer);
        }
        if let Some(own) = self.redundancy_mut(index) {
            own.copied += 1;
        }
        let copy = self.pool.duplicate(id);
        self.pool.put_into_second(copy);
        if O::ACTIVE {
            observer.copied(self.now(), id, &self.info(copy));
        }
        self.enqueue(ports[0], id, observer);
        self.enqueue(ports[1], copy, observer);
    }

    /// Returns whether the network behind a port of a station leads to the destination of a packet; a
    /// group may have members behind any switch.
    fn is_in_network(&self, port: u32, packet: &Packet) -> bool {
        match self.ports[port as usize].peer_owner() {
            Owner::Switch(switch) => self.forwarding.leads(switch, packet.destination),
            Owner::Station(station) => self.is_addressed(station, packet),
            Owner::Hub => true,
        }
    }

    /// Returns whether a station takes a copy that has arrived: none for mirror ports or others, and of
    /// a frame of a station in two networks the first, without what its sender has added.
    #[cold]
    pub(in crate::kernel) fn takes_copy(&mut self, index: u32, id: u32) -> bool {
        let packet = self.pool.get(id);
        if packet.has(MIRRORED) || !self.is_addressed(index, packet) {
            return false;
        }
        let source = self.pool.get(id).source;
        if let Some(own) = self.redundancy(source) {
            let trailer = own.trailer();
            self.pool.get_mut(id).size -= trailer;
        }
        let number = self.pool.twins_of(id);
        let is_first = self.pool.twins_mut().take(number, index);
        if is_first {
            self.pool.part_from_twins(id);
        }
        is_first
    }

    /// Returns what a station in two networks has appended to a packet.
    pub(in crate::kernel) fn trailer_of(&self, id: u32) -> Option<Trailer> {
        let packet = self.pool.get(id);
        if !packet.has(TWIN) {
            return None;
        }
        let redundancy = self.redundancy(packet.source)?.redundancy;
        Some(Trailer {
            redundancy,
            sequence: match redundancy {
                Redundancy::Prp => self.pool.twins().sequence(self.pool.twins_of(id)),
                // Of its virtual link, from 1 to 255.
                Redundancy::Afdx => u16::try_from(packet.number % 255 + 1).unwrap_or(1),
            },
            is_in_second: self.pool.is_in_second(id),
        })
    }

    /// Removes the streams that have had a copy of a lost packet, and those that may get another
    /// one.
    pub(in crate::kernel) fn keep_last_copies(&mut self, id: u32, streams: &mut Vec<usize>) {
        if !self.pool.get(id).has(TWIN) {
            return;
        }
        streams.retain(|&stream| {
            !self.is_taken(id, stream) && {
                let packet = *self.pool.get(id);
                let copies = self.paths_of(&packet, self.receiver(&packet, stream)).len();
                let number = self.pool.twins_of(id);
                copies < 2 || !self.pool.twins_mut().lose(number, stream)
            }
        });
    }

    /// Returns whether a stream has had another copy of a packet.
    pub(in crate::kernel) fn is_taken(&self, id: u32, stream: usize) -> bool {
        let receiver = self.receiver(self.pool.get(id), stream);
        let number = self.pool.twins_of(id);
        self.pool.twins().is_taken(number, receiver)
    }

    /// Returns the station at which a packet of a stream is expected.
    fn receiver(&self, packet: &Packet, stream: usize) -> u32 {
        if packet.destination & GROUP == 0 {
            return packet.destination;
        }
        let flow = &self.flows[packet.flow as usize];
        flow.listeners()[stream - flow.first_stream() as usize]
    }

    fn redundancy(&self, station: u32) -> Option<&Redundant> {
        let number = self.mechanism_for(station, Level::Redundancy, 0)?;
        self.mechanisms[number].as_redundancy()
    }

    fn redundancy_mut(&mut self, station: u32) -> Option<&mut Redundant> {
        let number = self.mechanism_for(station, Level::Redundancy, 0)?;
        self.mechanisms[number].as_redundancy_mut()
    }
}
