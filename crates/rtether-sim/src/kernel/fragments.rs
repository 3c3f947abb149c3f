//! Datagrams above one frame: cut below the sending task, reassembled before the receiving one.

use alloc::vec::Vec;

use super::Simulation;
use crate::fragments::{Taken, WHOLE};
use crate::observe::Observer;
use crate::packet::{COUNTED, GROUP, Packet, REVERSE};

impl Simulation {
    /// Returns the position of a packet among the fragmented flows, if its flow is one.
    #[inline]
    fn fragmented_of(&self, id: u32) -> Option<u32> {
        self.flows[self.pool.get(id).flow as usize].fragmented()
    }

    /// Releases a datagram for each listener, or one for all of them.
    #[cold]
    pub(super) fn release_datagrams<O: Observer>(
        &mut self,
        position: u32,
        (index, number): (u32, u32),
        copies: usize,
        observer: &mut O,
    ) {
        for copy in 0..copies {
            let packet = self.new_packet(index, copy, number);
            if packet.has(COUNTED) {
                let streams = if packet.destination & GROUP == 0 {
                    1
                } else {
                    self.flows[index as usize].listeners().len()
                };
                let streams = u32::try_from(streams).unwrap_or(u32::MAX);
                for stream in packet.stream..packet.stream + streams {
                    self.fragmented[position as usize].set_out(stream, &packet);
                }
            }
            let id = self.pool.insert(packet);
            self.send_datagram_of(position, packet.source, id, observer);
        }
    }

    /// Sends a datagram from its station: whole to a task, otherwise in fragments to the stack.
    pub(super) fn send_datagram_of<O: Observer>(
        &mut self,
        position: u32,
        station: u32,
        id: u32,
        observer: &mut O,
    ) {
        if self.has_tasks(station) {
            self.pool.get_mut(id).fragment = WHOLE;
            self.send(station, id, observer);
            return;
        }
        let whole = *self.pool.get(id);
        for number in 0..self.fragmented[position as usize].count(&whole) {
            let id = self.put_fragment(position, id, &whole, number);
            self.send(station, id, observer);
        }
    }

    /// Puts a fragment of a datagram into the pool; the first one takes the place of the datagram.
    fn put_fragment(&mut self, position: u32, id: u32, whole: &Packet, number: u32) -> u32 {
        let fragment = self.fragmented[position as usize].fragment(whole, number);
        if number > 0 {
            return self.pool.insert(fragment);
        }
        *self.pool.get_mut(id) = fragment;
        id
    }

    /// Cuts a packet that leaves its application task into fragments if it is a datagram. Returns
    /// the packets; the first one keeps its index.
    pub(super) fn cut<O: Observer>(&mut self, station: u32, id: u32, observer: &mut O) -> Vec<u32> {
        let Some(position) = self.fragmented_of(id) else {
            return alloc::vec![id];
        };
        let whole = *self.pool.get(id);
        let mut ids = Vec::new();
        for number in 0..self.fragmented[position as usize].count(&whole) {
            let id = self.put_fragment(position, id, &whole, number);
            ids.push(id);
            if number > 0 {
                self.stations[station as usize].note_released();
                if O::ACTIVE {
                    observer.released(self.now(), &self.info(id));
                }
            }
        }
        ids
    }

    /// Returns whether a packet that leaves the stack of a station with tasks goes on to the
    /// application: a fragment that completes no datagram ends here.
    pub(super) fn is_for_application<O: Observer>(
        &mut self,
        station: u32,
        id: u32,
        observer: &mut O,
    ) -> bool {
        let Some(position) = self.fragmented_of(id) else {
            return true;
        };
        self.tell_stream(station, id);
        if self.assemble(position, station, id) {
            self.pool.get_mut(id).fragment = WHOLE;
            return true;
        }
        let own = &mut self.stations[station as usize];
        own.note_delivered();
        if O::ACTIVE {
            let node = own.node();
            observer.reached(self.now(), node, &self.info(id));
        }
        self.pool.remove(id);
        false
    }

    /// Handles a fragment, or a datagram from a task, that has reached the application.
    #[cold]
    pub(super) fn deliver_fragment<O: Observer>(
        &mut self,
        position: u32,
        station: u32,
        id: u32,
        observer: &mut O,
    ) {
        let is_whole = self.pool.get(id).fragment == WHOLE;
        self.tell_stream(station, id);
        if !is_whole && !self.assemble(position, station, id) {
            self.pool.remove(id);
            return;
        }
        let packet = *self.pool.get(id);
        let own = &mut self.fragmented[position as usize];
        own.arrive(packet.stream, &packet);
        if self.flows[packet.flow as usize].is_answered() && !packet.has(REVERSE) {
            if packet.has(COUNTED) {
                let mut answer = packet;
                answer.put(REVERSE, true);
                own.set_out(packet.stream, &answer);
            }
            self.answer(packet.flow, station, id, observer);
        } else {
            self.note_answer(packet.flow, packet.number);
            self.book_delivery(id, None, observer);
        }
    }

    /// Adds a fragment to its datagram; returns whether the datagram is complete.
    fn assemble(&mut self, position: u32, station: u32, id: u32) -> bool {
        let now = self.now;
        while let Some((flow, stream, number)) = self.reassemblies[station as usize].expire(now) {
            if let Some(position) = self.flows[flow as usize].fragmented() {
                self.lose_datagram(position, stream, number);
            }
        }
        let packet = *self.pool.get(id);
        let count = self.fragmented[position as usize].count(&packet);
        if count == 1 {
            return true;
        }
        let taken = self.reassemblies[station as usize].take(now, count, &packet);
        if taken == Taken::Refused {
            self.lose_datagram(position, packet.stream, packet.number);
        }
        if taken != Taken::Completes {
            self.fragmented[position as usize].note_end(packet.stream, &packet);
        }
        taken == Taken::Completes
    }

    /// Counts a datagram as lost, once.
    fn lose_datagram(&mut self, position: u32, stream: u32, number: u32) {
        if self.fragmented[position as usize].lose(stream, number) {
            self.book_lost_message(stream, true);
        }
    }

    /// Counts the loss of a fragment for these streams.
    #[cold]
    pub(super) fn book_lost_fragment(&mut self, position: u32, id: u32, streams: &[usize]) {
        let packet = *self.pool.get(id);
        for &stream in streams {
            let stream = u32::try_from(stream).unwrap_or(u32::MAX);
            self.lose_datagram(position, stream, packet.number);
            self.fragmented[position as usize].note_end(stream, &packet);
        }
    }
}
