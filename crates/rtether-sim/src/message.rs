//! Messages, files and samples that are more than one packet: how their latency is booked.

use rtether_model::record::Segment;

use crate::packet::{COUNTED, Packet};

/// Parts of a latency, and the largest part with its place.
#[derive(Clone, Copy, Default)]
pub(crate) struct Spent {
    segments: [i64; Segment::COUNT],
    worst: i64,
    worst_place: u32,
}

impl Spent {
    /// Returns the parts of a packet.
    pub(crate) const fn of(packet: &Packet) -> Self {
        Self {
            segments: packet.segments,
            worst: packet.worst,
            worst_place: packet.worst_place,
        }
    }

    /// Adds these parts to those of a packet.
    fn add_to(&self, packet: &mut Packet) {
        for (sum, part) in packet.segments.iter_mut().zip(self.segments) {
            *sum += part;
        }
        if self.worst > packet.worst {
            packet.worst = self.worst;
            packet.worst_place = self.worst_place;
        }
    }
}

/// A message as released by the application.
#[derive(Clone, Copy)]
pub(crate) struct Released {
    pub(crate) at: i64,
    pub(crate) number: u32,
    pub(crate) is_counted: bool,
    /// Time spent on the way to the listener and in its application, if the listener answers.
    pub(crate) spent: Spent,
}

impl Released {
    /// Turns a copy of the packet that completed this message of station `talker` at `now` into the
    /// message, as it is booked.
    ///
    /// Latency beyond the parts of the packet was spent in the protocol, waiting for a window, a
    /// retransmission, or earlier lost data.
    pub(crate) fn put_into(&self, packet: &mut Packet, talker: u32, now: i64) {
        self.spent.add_to(packet);
        let latency = now - self.at;
        let in_protocol = latency - packet.segments.iter().sum::<i64>();
        if in_protocol < 0 {
            // The packet was sent before the message was written, so its parts say nothing about
            // the message.
            packet.segments = [0; Segment::COUNT];
            packet.worst = 0;
        }
        let rest = if in_protocol < 0 {
            latency
        } else {
            in_protocol
        };
        packet.spend(Segment::TalkerStack, talker, rest);
        packet.released_at = self.at;
        packet.number = self.number;
        packet.put(COUNTED, self.is_counted);
    }
}
