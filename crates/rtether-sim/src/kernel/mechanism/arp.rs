//! Address resolution: packets held for an address, and the frames that ask and answer.
//!
//! It stands at the bottom of the stack. A frame that arrives takes its time in the stack, like any
//! other packet that is not TCP; requests, replies and the packets held go down from there at once.

use rtether_model::network::NodeId;
use rtether_model::quantity::Bytes;
use rtether_model::wire;
use rtether_proto::mechanism::arp::Message;

use crate::kernel::Simulation;
use crate::mechanism::Level;
use crate::mechanism::arp::address_of;
use crate::observe::Observer;
use crate::packet::{ARP, GROUP, NONE, OUTBOUND, Packet, REVERSE, TAGGED, frame_octets};

impl Simulation {
    /// Handles a message of ARP that has left the stack of a station.
    #[cold]
    pub(in crate::kernel) fn take_arp<O: Observer>(
        &mut self,
        index: u32,
        id: u32,
        observer: &mut O,
    ) {
        let now = self.now();
        let packet = *self.pool.get(id);
        self.pool.remove(id);
        let sender = address_of(self.node_of(packet.source));
        let target = address_of(self.node_of(packet.number));
        let mut message = Message::request(sender, target.protocol);
        if packet.has(REVERSE) {
            // Its target has asked the sender.
            let asked = Message::request(target, sender.protocol);
            message = asked.answer(sender).unwrap_or(message);
        }
        let Some(number) = self.mechanism_for(index, Level::Arp, packet.flow) else {
            return;
        };
        let state = self.mechanisms[number].as_arp();
        if state.is_some_and(|state| state.handle(now, &message)) {
            let tag = packet.has(TAGGED).then_some(packet.vid);
            self.send_arp(index, packet.source, Some(packet.source), tag, observer);
        }
        self.drain_mechanism(number, observer);
    }

    /// Sends the request for the address that a packet waits for, in the VLAN of the packet, without
    /// its priority.
    pub(super) fn ask_for_address<O: Observer>(&mut self, index: u32, id: u32, observer: &mut O) {
        let packet = self.pool.get(id);
        let has_vlan = packet.has(TAGGED) && packet.vid != 0;
        let tag = has_vlan.then_some(packet.vid);
        self.send_arp(index, packet.destination, None, tag, observer);
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
        self.descend(index, id, Level::Gap, observer);
    }

    fn node_of(&self, station: u32) -> NodeId {
        self.stations[station as usize].node()
    }
}
