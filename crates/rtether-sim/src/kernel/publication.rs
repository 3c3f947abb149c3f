//! Publications over RTPS: datagrams between participants and the stacks, and the samples in them.

use alloc::boxed::Box;

use rtether_model::flow::Flow;
use rtether_model::quantity::{Bytes, Duration};
use rtether_model::record::Segment;
use rtether_model::wire::{self, Encapsulation};

use super::Simulation;
use crate::message::{Released, Spent};
use crate::observe::Observer;
use crate::packet::Way;
use crate::packet::{Packet, REVERSE, TAGGED, frame_octets};
use crate::publication::{Habit, Outgoing, Reader, Sample};
use crate::stats::StreamStats;

impl Simulation {
    /// Gives the listener of a stream of this flow a habit, before the run; without effect on flows
    /// that are not published.
    pub fn set_habit(&mut self, stream: u32, flow: &Flow, habit: Habit) {
        self.publications.set_habit(stream, flow, habit);
    }

    /// Has the talker of a stream say good-bye at a time, in all its topics; called before the run.
    pub fn end_talker(&mut self, stream: u32, at: Duration) {
        self.publications.end_talker(stream, at);
    }

    /// Publishes a sample of the talker's application.
    pub(super) fn publish<O: Observer>(&mut self, topic: u32, number: u32, observer: &mut O) {
        let released = Released::new(self.now, number, self.is_counted(self.now));
        let lose = losses(&mut self.streams);
        let party = self.publications.publish(topic, &released, lose);
        self.drain_party(party, observer);
    }

    /// Does what applications do now, and handles timers of the participant.
    pub(super) fn wake_party<O: Observer>(&mut self, party: u32, observer: &mut O) {
        while let Some(reader) =
            self.publications.do_due(party, self.now, losses(&mut self.streams))
        {
            self.take_samples(reader, None, observer);
        }
        if self.publications.handle_timeout(party, self.now) {
            self.take_held(party, observer);
        }
        self.drain_party(party, observer);
    }

    /// Takes the samples that became available to a participant's readers without a datagram.
    fn take_held<O: Observer>(&mut self, party: u32, observer: &mut O) {
        let mut number = 0;
        while let Some(reader) = self.publications.reader(party, number) {
            if self.publications.takes_at_once(reader) {
                self.take_samples(reader, None, observer);
            }
            number += 1;
        }
    }

    /// Handles a datagram that has left the receiving stack.
    pub(super) fn deliver_datagram<O: Observer>(
        &mut self,
        station: u32,
        id: u32,
        observer: &mut O,
    ) {
        let message = self.pool.take_message(id);
        let party = |port| self.publications.party_at(station, port);
        let (Some(message), Some(party)) = (&message, message.as_ref().and_then(|m| party(m.port)))
        else {
            self.pool.remove(id);
            return;
        };
        let source = self.pool.get(id).source;
        let from = self.stations[source as usize].node();
        let publications = &mut self.publications;
        let reader = publications.handle_datagram(party, from, message, self.now);
        if let Some(reader) = reader.filter(|one| self.publications.takes_at_once(*one)) {
            self.take_samples(reader, Some(id), observer);
        }
        self.pool.remove(id);
        self.drain_party(party, observer);
    }

    /// Takes the samples of one reader; packet `id` completed the last one.
    fn take_samples<O: Observer>(&mut self, reader: Reader, id: Option<u32>, observer: &mut O) {
        while let Some(sample) = self.publications.take(reader, self.now, losses(&mut self.streams))
        {
            self.hand_sample(reader, &sample, id, observer);
        }
    }

    /// Hands a sample to an application, which answers it or not.
    fn hand_sample<O: Observer>(
        &mut self,
        reader: Reader,
        sample: &Sample,
        id: Option<u32>,
        observer: &mut O,
    ) {
        let mut packet = id.map_or_else(Packet::default, |id| *self.pool.get(id));
        packet.flow = sample.flow;
        packet.stream = sample.stream;
        let mut spent = Spent::default();
        let since = sample.released.since();
        let [writer, taker] = sample.stations;
        if id.is_some() {
            spent.carry(since, &Way::of(&packet), sample.stations);
            // It waited for its turn or its repetition.
            spent.pause(Segment::Protocol, writer, packet.released_at - since);
        } else {
            // The reader has held it back.
            spent.pause(Segment::Protocol, taker, self.now - since);
        }
        let mut spent = sample.released.all(spent);
        if let Some((station, after)) = sample.answer {
            spent.answer(station, after);
            let released = Released { spent: Some(Box::new(spent)), ..sample.released.clone() };
            let lose = losses(&mut self.streams);
            self.publications.answer(reader, released, (self.now, after), lose);
        } else {
            let id = self.pool.insert(packet);
            self.book_whole(id, &sample.released, &spent, None, observer);
            self.pool.remove(id);
        }
    }

    /// Sends what a participant has ready and sets its timer; so do those of its station that hear
    /// of it.
    fn drain_party<O: Observer>(&mut self, party: u32, observer: &mut O) {
        let mut next = Some(party);
        while let Some(party) = next {
            while let Some(outgoing) = self.publications.poll_transmit(party, self.now) {
                self.send_datagram(outgoing, observer);
            }
            self.publications.set_timer(party, self.now, &mut self.agenda);
            next = self.publications.take_woken();
        }
    }

    /// Hands a datagram to the stack of its station.
    fn send_datagram<O: Observer>(&mut self, outgoing: Outgoing, observer: &mut O) {
        let Outgoing { message, source, destination, number, flow: index, is_discovery } = outgoing;
        let flow = &self.flows[index as usize];
        let octets = u64::try_from(message.octets.len()).unwrap_or(u64::MAX);
        let frame = wire::frame_size(Bytes::new(octets), Encapsulation::Udp);
        let mut packet = Packet {
            released_at: self.now,
            number,
            size: frame_octets(frame).unwrap_or(u16::MAX),
            ..flow.frame(index, source, destination)
        };
        if is_discovery {
            // Discovery uses the VLAN of the station's flow, without its priority.
            packet.pcp = 0;
            packet.put(TAGGED, flow.has_vlan());
        }
        packet.put(REVERSE, source != flow.talker());
        let id = self.pool.insert(packet);
        self.pool.set_message(id, message);
        self.send(source, id, observer);
    }
}

/// Returns how samples that do not arrive count in their streams.
fn losses(streams: &mut [StreamStats]) -> impl FnMut(u32, &Released) {
    |stream, released| {
        if released.is_counted {
            streams[stream as usize].note_lost();
        }
    }
}
