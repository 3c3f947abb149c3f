//! Delivery to applications, their answers, and what is booked.

use rtether_model::quantity::{Duration, Instant};
use rtether_model::record::Segment;

use super::Simulation;
use crate::flow::Carrier;
use crate::message::{Released, Spent};
use crate::observe::{Delivery, Observer};
use crate::packet::{ARP, COUNTED, GROUP, REVERSE};

impl Simulation {
    /// Delivers a packet to the application.
    #[inline]
    pub(super) fn deliver<O: Observer>(&mut self, index: u32, id: u32, observer: &mut O) {
        if self.pool.get(id).has(ARP) {
            return self.take_arp(index, id, observer);
        }
        let station = &mut self.stations[index as usize];
        station.note_delivered();
        if O::ACTIVE {
            let node = station.node();
            observer.reached(self.now(), node, &self.info(id));
        }
        let packet = self.pool.get_mut(id);
        let flow_index = packet.flow;
        let flow = &self.flows[flow_index as usize];
        match flow.carrier() {
            Carrier::Packets => {}
            Carrier::Bulk(bulk) => return self.deliver_segment(bulk, id, observer),
            Carrier::Conversation(_) => return self.deliver_to_end(id, observer),
            Carrier::Admission => return self.take_admission(index, id, observer),
            Carrier::Publication(_) => return self.deliver_datagram(index, id, observer),
            Carrier::Fragments(position) => {
                return self.deliver_fragment(position, index, id, observer);
            }
        }
        if packet.destination & GROUP != 0 {
            packet.stream = flow.stream_of(index);
        }
        if flow.is_answered() && !packet.has(REVERSE) {
            self.answer(flow_index, index, id, observer);
        } else {
            let number = packet.number;
            self.note_answer(flow_index, number);
            self.book_delivery(id, None, observer);
        }
    }

    /// Sets the stream of a packet to a group to that of the listener.
    pub(super) fn tell_stream(&mut self, station: u32, id: u32) {
        let packet = self.pool.get_mut(id);
        if packet.destination & GROUP != 0 {
            packet.stream = self.flows[packet.flow as usize].stream_of(station);
        }
    }

    /// Lets an adaptive flow go on after the answer to request `number`.
    #[inline]
    pub(super) fn note_answer(&mut self, flow: u32, number: u32) {
        self.flows[flow as usize].note_answer(number, self.now, &mut self.agenda);
    }

    /// Books a delivery and ends the packet. `payload` is given where packets differ in size.
    pub(super) fn book_delivery<O: Observer>(
        &mut self,
        id: u32,
        payload: Option<u64>,
        observer: &mut O,
    ) {
        if O::ACTIVE {
            self.tell_delivered(id, &Spent::default(), observer);
        }
        let packet = self.pool.get(id);
        if packet.has(COUNTED) {
            let stats = &mut self.streams[packet.stream as usize];
            stats.deliver(self.now, packet, self.config.bucket.as_ps(), payload);
        }
        self.pool.remove(id);
    }

    /// Tells the observer of a delivery, with what was spent in the protocol.
    fn tell_delivered<O: Observer>(&self, id: u32, spent: &Spent, observer: &mut O) {
        let packet = self.pool.get(id);
        let mut segments = packet.spent();
        let awaited = spent.awaited().map(Duration::from_ps);
        segments[Segment::Protocol.index()] = awaited.into_iter().sum();
        let inside = Segment::ALL.iter().filter(|segment| segment.is_ethernet());
        let delivery = Delivery {
            stream: packet.stream as usize,
            latency: self.now() - Instant::from_ps(packet.released_at),
            ethernet: inside.map(|segment| segments[segment.index()]).sum(),
            segments,
            awaited,
            answer: spent.answered().map(|own| own.map(Duration::from_ps)),
            is_counted: packet.has(COUNTED),
        };
        observer.delivered(self.now(), &self.info(id), &delivery);
    }

    /// Books a message that packet `id` completed, with what has been spent since its release; the packet
    /// remains. `payload` is given where messages differ in size.
    pub(super) fn book_whole<O: Observer>(
        &mut self,
        id: u32,
        released: &Released,
        spent: &Spent,
        payload: Option<u64>,
        observer: &mut O,
    ) {
        debug_assert_eq!(spent.total(), self.now - released.at, "the parts of a message");
        // One packet may complete several messages, and booking ends a packet.
        let copy = self.pool.duplicate(id);
        let packet = self.pool.get_mut(copy);
        released.put_into(packet, spent);
        let flow = packet.flow;
        self.note_answer(flow, released.number);
        if O::ACTIVE {
            self.tell_delivered(copy, spent, observer);
        }
        let packet = self.pool.get(copy);
        if packet.has(COUNTED) {
            let stats = &mut self.streams[packet.stream as usize];
            let bucket = self.config.bucket.as_ps();
            stats.deliver_whole(self.now, (packet, spent), bucket, payload);
        }
        self.pool.remove(copy);
    }

    /// Counts a message of a stream as lost.
    pub(super) fn book_lost_message(&mut self, stream: u32, is_counted: bool) {
        if is_counted {
            self.streams[stream as usize].note_lost();
        }
    }

    /// Lets the listener's application answer a request, at once or later.
    pub(super) fn answer<O: Observer>(
        &mut self,
        index: u32,
        station: u32,
        id: u32,
        observer: &mut O,
    ) {
        let flow = &mut self.flows[index as usize];
        if flow.answer(station, id, self.now, &mut self.pool, &mut self.agenda) {
            self.send_answer(index, station, id, observer);
        }
    }

    /// Sends the answer that is due.
    pub(super) fn send_due_answer<O: Observer>(&mut self, index: u32, observer: &mut O) {
        let flow = &mut self.flows[index as usize];
        if let Some(id) = flow.take_answer(&self.pool, &mut self.agenda) {
            let station = self.pool.get(id).source;
            self.send_answer(index, station, id, observer);
        }
    }

    /// Hands an answer to the stack of its station.
    #[inline]
    fn send_answer<O: Observer>(&mut self, flow: u32, station: u32, id: u32, observer: &mut O) {
        if let Carrier::Fragments(position) = self.flows[flow as usize].carrier() {
            self.send_datagram_of(position, station, id, observer);
        } else {
            self.send(station, id, observer);
        }
    }
}
