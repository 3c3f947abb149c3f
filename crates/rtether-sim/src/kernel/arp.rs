//! Address resolution: packets held for an address, and the frames that ask and answer.
//!
//! It stands at the bottom of the stack. A frame that arrives takes its time in the stack, like any
//! other packet that is not TCP; requests, replies and the packets held go down from there at once.

use rtether_model::network::NodeId;
use rtether_model::quantity::Bytes;
use rtether_model::record::Segment;
use rtether_model::wire;
use rtether_proto::arp::{Message, Transmit};

use super::Simulation;
use crate::arp::address_of;
use crate::observe::{DropReason, Observer};
use crate::packet::{ARP, GROUP, NONE, OUTBOUND, Packet, REVERSE, TAGGED, frame_octets};

impl Simulation {
    /// Returns whether a packet that leaves the stack of a station on its way out is held, because
    /// the address of its destination is not known.
    #[cold]
    pub(super) fn holds_back<O: Observer>(
        &mut self,
        index: u32,
        id: u32,
        observer: &mut O,
    ) -> bool {
        let now = self.now();
        let packet = self.pool.get(id);
        let flow = &self.flow_list[packet.flow as usize];
        if packet.destination & GROUP != 0 || !flow.encapsulation.is_ip() {
            return false;
        }
        let size = Bytes::new(packet.frame_size().unsigned_abs());
        let to = address_of(self.node_of(packet.destination)).protocol;
        if !self.arp[index as usize].holds(now, id, size, to) {
            return false;
        }
        self.pool.get_mut(id).mark = self.now;
        self.drain_arp(index, observer);
        true
    }

    /// Handles a message of ARP that has left the stack of a station.
    #[cold]
    pub(super) fn take_arp<O: Observer>(&mut self, index: u32, id: u32, observer: &mut O) {
        let now = self.now();
        let packet = *self.pool.get(id);
        self.pool.remove(id);
        let sender = address_of(self.node_of(packet.source));
        let target = self.arp[packet.number as usize].address();
        let mut message = Message::request(sender, target.protocol);
        if packet.has(REVERSE) {
            // Its target has asked the sender.
            let asked = Message::request(target, sender.protocol);
            message = asked.answer(sender).unwrap_or(message);
        }
        if self.arp[index as usize].handle(now, &message) {
            let tag = packet.has(TAGGED).then_some(packet.vid);
            self.send_arp(index, packet.source, Some(packet.source), tag, observer);
        }
        self.drain_arp(index, observer);
    }

    /// Handles the timer of a station: requests without an answer.
    pub(super) fn wake_arp<O: Observer>(&mut self, index: u32, observer: &mut O) {
        let now = self.now();
        self.arp[index as usize].handle_timeout(now);
        self.drain_arp(index, observer);
    }

    /// Does what the table of a station asks for, and sets its timer.
    fn drain_arp<O: Observer>(&mut self, index: u32, observer: &mut O) {
        while let Some(transmit) = self.arp[index as usize].poll_transmit() {
            match transmit {
                Transmit::Request(_, id) => {
                    // In the VLAN of the packet, without its priority.
                    let packet = self.pool.get(id);
                    let has_vlan = packet.has(TAGGED) && packet.vid != 0;
                    let tag = has_vlan.then_some(packet.vid);
                    self.send_arp(index, packet.destination, None, tag, observer);
                }
                Transmit::Packet(id, _) => {
                    let now = self.now;
                    let packet = self.pool.get_mut(id);
                    let held = now - packet.mark;
                    packet.spend(Segment::TalkerStack, index, held);
                    self.hand_to_driver(index, id, observer);
                }
            }
        }
        while let Some(id) = self.arp[index as usize].poll_dropped() {
            let node = self.node_of(index);
            self.lose(id, node, None, DropReason::Unresolved, observer);
        }
        self.arp[index as usize].set_timer(&mut self.agenda);
    }

    /// Sends a message about station `target`: a request to all or, to one station, a reply.
    fn send_arp<O: Observer>(
        &mut self,
        index: u32,
        target: u32,
        to: Option<u32>,
        tag: Option<u16>,
        observer: &mut O,
    ) {
        // The flow of the station's own requests and replies.
        let flow = self.flooded_from + index;
        let frame = wire::frame_size(Bytes::ZERO, wire::Encapsulation::Arp);
        let mut packet = Packet {
            released_at: self.now,
            stream: NONE,
            number: target,
            size: frame_octets(frame).unwrap_or(u16::MAX),
            vid: tag.unwrap_or(0),
            ..self.flows[flow as usize].frame(flow, index, to.unwrap_or(GROUP | flow))
        };
        packet.put(ARP, true);
        packet.put(OUTBOUND, true);
        packet.put(REVERSE, to.is_some());
        packet.put(TAGGED, tag.is_some());
        let id = self.pool.insert(packet);
        self.hand_to_driver(index, id, observer);
    }

    /// Passes a packet from the bottom of the stack to the layer or to the port.
    fn hand_to_driver<O: Observer>(&mut self, index: u32, id: u32, observer: &mut O) {
        let station = &self.stations[index as usize];
        if station.layer().is_some() {
            self.hand_down(index, id, observer);
            self.set_layer_timer(index);
        } else {
            self.hand_to_port(index, id, observer);
        }
    }

    fn node_of(&self, station: u32) -> NodeId {
        self.stations[station as usize].node()
    }
}
