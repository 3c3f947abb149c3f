//! Messages over connections: segments between TCP and the stacks.

use rtether_model::wire::{self, Encapsulation};

use super::Simulation;
use crate::conversation::{LISTENER, TALKER};
use crate::observe::Observer;
use crate::packet::{Packet, REVERSE, frame_octets};
use crate::tcp;

impl Simulation {
    /// Writes a message of the talker's application.
    pub(super) fn write_message<O: Observer>(&mut self, index: u32, number: u32, observer: &mut O) {
        let now = self.now();
        let is_counted = self.is_counted(self.now);
        let conversation = &mut self.conversations[index as usize];
        if conversation.write(now, number, is_counted) {
            self.drain_end(index, TALKER, observer);
        } else {
            let stream = conversation.stream();
            self.book_lost_message(stream, is_counted);
        }
    }

    /// Handles an expired timer of an end.
    pub(super) fn wake_end<O: Observer>(&mut self, index: u32, end: u8, observer: &mut O) {
        let now = self.now();
        self.conversations[index as usize].wake(now, end);
        self.drain_end(index, end, observer);
    }

    /// Sends what an end has ready and sets its timer.
    fn drain_end<O: Observer>(&mut self, index: u32, end: u8, observer: &mut O) {
        let now = self.now();
        while let Some(segment) = self.conversations[index as usize].poll_transmit(now, end) {
            self.send_from_end(index, end, segment, observer);
        }
        self.conversations[index as usize].set_timer(end, &mut self.agenda);
    }

    /// Hands a segment to the stack of its station.
    fn send_from_end<O: Observer>(
        &mut self,
        index: u32,
        end: u8,
        segment: tcp::Segment,
        observer: &mut O,
    ) {
        let conversation = &self.conversations[index as usize];
        let flow = &self.flows[conversation.flow() as usize];
        let [source, destination] = conversation.direction(end);
        let frame = wire::frame_size(segment.payload_size(), Encapsulation::Tcp);
        let mut packet = Packet {
            released_at: self.now,
            stream: conversation.stream(),
            number: conversation.number_of(end, &segment),
            size: frame_octets(frame).unwrap_or(u16::MAX),
            ..flow.frame(conversation.flow(), source, destination)
        };
        packet.put(REVERSE, end == LISTENER);
        let id = self.pool.insert(packet);
        self.pool.set_segment(id, segment);
        let cause = self.conversations[index as usize].cause(end);
        self.pool.set_cause(id, cause);
        self.send(source, id, observer);
    }

    /// Handles a segment that has left the receiving stack.
    pub(super) fn deliver_to_end<O: Observer>(&mut self, id: u32, observer: &mut O) {
        let now = self.now();
        let packet = *self.pool.get(id);
        let segment = self.pool.segment(id).copied().unwrap_or_default();
        let Some(index) = self.flows[packet.flow as usize].conversation_of(packet.stream) else {
            self.pool.remove(id);
            return;
        };
        let cause = self.pool.cause(id);
        let conversation = &mut self.conversations[index as usize];
        let end = conversation.handle_segment(now, (&packet, cause), &segment);
        while let Some((released, spent)) = self.conversations[index as usize].book(&packet, cause)
        {
            self.book_whole(id, &released, &spent, None, observer);
        }
        self.conversations[index as usize].forget(now);
        self.pool.remove(id);
        self.drain_end(index, end, observer);
    }
}
