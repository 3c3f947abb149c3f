//! Delivery to applications, their answers, and what is booked.

use rtether_model::quantity::{Duration, Instant};
use rtether_model::record::Segment;

use super::Simulation;
use crate::flow::Carrier;
use crate::message::Released;
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
            let packet = self.pool.get(id);
            let segments = packet.segments.map(Duration::from_ps);
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

    /// Books a message of station `talker` that packet `id` completed; the packet remains.
    /// `payload` is given where messages differ in size.
    pub(super) fn book_whole<O: Observer>(
        &mut self,
        id: u32,
        talker: u32,
        released: &Released,
        payload: Option<u64>,
        observer: &mut O,
    ) {
        // One packet may complete several messages, and booking ends a packet.
        let copy = self.pool.duplicate(id);
        let packet = self.pool.get_mut(copy);
        released.put_into(packet, talker, self.now);
        let flow = packet.flow;
        self.note_answer(flow, released.number);
        self.book_delivery(copy, payload, observer);
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
