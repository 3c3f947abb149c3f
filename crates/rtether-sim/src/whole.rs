//! Messages, files and samples that are more than one packet: how their latency is booked.

use rtether_model::record::Segment;

use crate::kernel::Simulation;
use crate::observe::Observer;
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

impl Simulation {
    /// Books a message of station `talker` that packet `id` completed; the packet remains.
    /// `payload` is given where messages differ in size.
    ///
    /// Latency beyond the parts of the packet was spent in the protocol, waiting for a window, a
    /// retransmission, or earlier lost data.
    pub(crate) fn book_whole<O: Observer>(
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
        released.spent.add_to(packet);
        let latency = self.now - released.at;
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
        packet.released_at = released.at;
        packet.number = released.number;
        packet.put(COUNTED, released.is_counted);
        let flow = packet.flow;
        self.note_answer(flow, released.number);
        self.book_delivery(copy, payload, observer);
    }

    /// Counts a message of a stream as lost.
    pub(crate) fn book_lost_message(&mut self, stream: u32, is_counted: bool) {
        if is_counted {
            let stats = &mut self.streams[stream as usize];
            stats.rest.record.dropped += 1;
            if stats.deadline != i64::MAX {
                stats.note_missed();
            }
        }
    }
}
