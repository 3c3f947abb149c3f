//! Sending and receiving of datagrams, samples and answers.

use rtether_model::quantity::Bytes;
use rtether_model::record::Segment;
use rtether_model::wire::{self, Encapsulation};
use rtether_rtps::engine::NewSample;
use rtether_rtps::locator::{Locator, Origin};
use rtether_rtps::sequence::SequenceNumber;

use super::build::address_of;
use super::{Answer, Message, Role, clock};
use crate::kernel::Simulation;
use crate::observe::Observer;
use crate::packet::{GROUP, Packet, REVERSE, TAGGED};
use crate::station::frame_octets;
use crate::whole::{Released, Spent};

impl Simulation {
    /// Returns whether the writer of a topic and all its readers have matched, in both directions.
    pub(crate) fn is_matched(&mut self, topic: u32) -> bool {
        let publications = &mut self.publications;
        let (parties, topic) = (
            &publications.parties,
            &mut publications.topics[topic as usize],
        );
        if topic.is_matched {
            return true;
        }
        let of = |party: u32| &parties[party as usize].participant;
        let talker = of(topic.party);
        let knows = |listener: &super::Listener| {
            let own = of(listener.party);
            let is_back = listener.back.is_none_or(|(writer, reader)| {
                own.readers_of(writer) > 0 && talker.writers_of(reader) > 0
            });
            own.writers_of(listener.reader) > 0 && is_back
        };
        topic.is_matched = talker.readers_of(topic.writer) == topic.listeners.len()
            && topic.listeners.iter().all(knows);
        topic.is_matched
    }

    /// Publishes a sample of the talker's application.
    pub(crate) fn publish<O: Observer>(&mut self, index: u32, number: u32, observer: &mut O) {
        let now = self.now;
        let released = Released {
            at: now,
            number,
            is_counted: now >= self.config.warmup.as_ps(),
            spent: Spent::default(),
        };
        let topic = &mut self.publications.topics[index as usize];
        let (party, writer) = (topic.party, topic.writer);
        let sample = NewSample::value(&topic.payload);
        let participant = &mut self.publications.parties[party as usize].participant;
        let written = participant.write(clock(now), writer, &sample);
        for place in 0..self.publications.topics[index as usize].listeners.len() {
            let topic = &mut self.publications.topics[index as usize];
            let listener = &mut topic.listeners[place];
            let stream = listener.stream;
            let lost = match written {
                Ok(sequence) => listener.samples.push(sequence, released),
                Err(_) => Some(released),
            };
            if let Some(lost) = lost {
                self.book_lost_message(stream, lost.is_counted);
            }
        }
        self.drain_party(party, observer);
    }

    /// Writes the answers that are due and handles timers of the participant.
    pub(crate) fn wake_party<O: Observer>(&mut self, index: u32, observer: &mut O) {
        let now = self.now;
        loop {
            let due = &mut self.publications.parties[index as usize].due;
            let Some(first) = due.first_entry().filter(|entry| entry.key().0 <= now) else {
                break;
            };
            let answer = first.remove();
            self.write_answer(index, &answer);
        }
        let participant = &mut self.publications.parties[index as usize].participant;
        if participant.poll_timeout() <= clock(now) {
            participant.handle_timeout(clock(now));
            self.take_held(index, observer);
        }
        self.drain_party(index, observer);
    }

    /// Takes the samples that became available to a participant's readers without a datagram.
    fn take_held<O: Observer>(&mut self, party: u32, observer: &mut O) {
        for index in 0..self.publications.parties[party as usize].readers.len() {
            let (role, place) = self.publications.parties[party as usize].readers[index];
            self.take_of(role, place, None, observer);
        }
    }

    /// Handles a datagram that has left the receiving stack.
    pub(crate) fn deliver_datagram<O: Observer>(
        &mut self,
        station: u32,
        id: u32,
        observer: &mut O,
    ) {
        let message = self.pool.take_message(id);
        let (Some(party), Some(message)) = (self.publications.party_of(station), message) else {
            self.pool.remove(id);
            return;
        };
        let now = clock(self.now);
        let source = self.pool.get(id).source;
        let node = self.stations[source as usize].node;
        let origin = Origin::Ip(address_of(node).into());
        let participant = &mut self.publications.parties[party as usize].participant;
        participant.handle_datagram(now, origin, &message.octets);
        // Events are not used.
        while participant.poll_event().is_some() {}
        let roles = &self.publications.by_writer;
        let role = message
            .writer
            .and_then(|writer| roles.get(&writer).copied());
        if let Some(role) = role {
            let listeners = &self.publications.topics[role.topic as usize].listeners;
            let place = match role.answers {
                Some(place) => Some(place),
                None => listeners
                    .iter()
                    .position(|listener| listener.party == party)
                    .and_then(|place| u32::try_from(place).ok()),
            };
            if let Some(place) = place {
                self.take_of(role, place, Some(id), observer);
            }
        }
        self.pool.remove(id);
        self.drain_party(party, observer);
    }

    /// Takes the samples of one reader; packet `id` completed the last one.
    fn take_of<O: Observer>(&mut self, role: Role, place: u32, id: Option<u32>, observer: &mut O) {
        let now = clock(self.now);
        loop {
            let publications = &mut self.publications;
            let topic = &publications.topics[role.topic as usize];
            let listener = &topic.listeners[place as usize];
            let (party, reader) = match (role.answers, listener.back) {
                (Some(_), Some((_, reader))) => (topic.party, reader),
                (Some(_), None) => return,
                (None, _) => (listener.party, listener.reader),
            };
            let participant = &mut publications.parties[party as usize].participant;
            let Some(sequence) = participant.take(now, reader, |info, _, _| info.sequence) else {
                return;
            };
            self.hand_sample(role, place, sequence, id, observer);
        }
    }

    /// Hands a sample to an application.
    fn hand_sample<O: Observer>(
        &mut self,
        role: Role,
        place: u32,
        sequence: SequenceNumber,
        id: Option<u32>,
        observer: &mut O,
    ) {
        let topic = &mut self.publications.topics[role.topic as usize];
        let listener = &mut topic.listeners[place as usize];
        let (stream, party) = (listener.stream, listener.party);
        let series = match role.answers {
            Some(_) => &mut listener.answers,
            None => &mut listener.samples,
        };
        let mut lost = 0_u32;
        let released = series.take(sequence, |one| lost += u32::from(one.is_counted));
        let after = topic.answer.as_ref().map(|answer| answer.after);
        let (flow, talker) = (topic.flow, topic.talker);
        for _ in 0..lost {
            self.book_lost_message(stream, true);
        }
        let Some(released) = released else {
            return;
        };
        let mut packet = id.map_or_else(Packet::default, |id| *self.pool.get(id));
        packet.flow = flow;
        packet.stream = stream;
        if let (None, Some(after)) = (role.answers, after) {
            let station = self.publications.parties[party as usize].station;
            packet.spend(Segment::Application, station, after);
            let spent = Spent::of(&packet);
            let released = Released { spent, ..released };
            self.think(role.topic, place, released, after);
        } else {
            let id = self.pool.insert(packet);
            self.book_whole(id, talker, &released, None, observer);
            self.pool.remove(id);
        }
    }

    /// Schedules the answer of a listener's application.
    fn think(&mut self, topic: u32, listener: u32, released: Released, after: i64) {
        let party = self.publications.topics[topic as usize].listeners[listener as usize].party;
        let answer = Answer {
            topic,
            listener,
            released,
        };
        if after == 0 {
            self.write_answer(party, &answer);
            return;
        }
        let own = &mut self.publications.parties[party as usize];
        own.planned += 1;
        own.due.insert((self.now + after, own.planned), answer);
    }

    fn write_answer(&mut self, party: u32, answer: &Answer) {
        let now = clock(self.now);
        let topic = &mut self.publications.topics[answer.topic as usize];
        let listener = &mut topic.listeners[answer.listener as usize];
        let (Some((writer, _)), Some(of)) = (listener.back, &topic.answer) else {
            return;
        };
        let participant = &mut self.publications.parties[party as usize].participant;
        let stream = listener.stream;
        let lost = match participant.write(now, writer, &NewSample::value(&of.payload)) {
            Ok(sequence) => listener.answers.push(sequence, answer.released),
            Err(_) => Some(answer.released),
        };
        if let Some(lost) = lost {
            self.book_lost_message(stream, lost.is_counted);
        }
    }

    /// Sends what a participant has ready and sets its timer.
    fn drain_party<O: Observer>(&mut self, index: u32, observer: &mut O) {
        let now = self.now;
        let mut buffer = core::mem::take(&mut self.publications.buffer);
        loop {
            let party = &mut self.publications.parties[index as usize];
            let Some(transmit) = party.participant.poll_transmit(clock(now), &mut buffer) else {
                break;
            };
            let Locator::Udp(to) = transmit.to else {
                continue;
            };
            let core::net::IpAddr::V4(address) = to.ip() else {
                continue;
            };
            let dscp = u8::try_from(transmit.priority.clamp(0, 63)).unwrap_or(0);
            let from = party.participant.prefix();
            let message = Message::new(&buffer, from, dscp, to.port());
            let destination = if address.is_multicast() {
                Some(GROUP | (self.broadcasts_from + index))
            } else {
                self.publications.by_address.get(&address).copied()
            };
            if let Some(destination) = destination {
                self.send_datagram(index, destination, message, observer);
            }
        }
        self.publications.buffer = buffer;
        let party = &self.publications.parties[index as usize];
        self.agenda.set(party.slot, party.wake_at(now + 1));
    }

    /// Hands a datagram to the stack of its station.
    fn send_datagram<O: Observer>(
        &mut self,
        index: u32,
        destination: u32,
        message: Message,
        observer: &mut O,
    ) {
        let party = &mut self.publications.parties[index as usize];
        party.number = party.number.wrapping_add(1);
        let (source, number) = (party.station, party.number);
        let roles = &self.publications.by_writer;
        let role = message
            .writer
            .and_then(|writer| roles.get(&writer).copied());
        let (flow, is_discovery) = match role {
            Some(role) => (self.publications.topics[role.topic as usize].flow, false),
            None => (party.flow, true),
        };
        let state = &self.flows[flow as usize];
        // Discovery uses the VLAN of the station's flow, without its priority.
        let is_tagged = state.flags & TAGGED != 0 && !(is_discovery && state.vid == 0);
        let octets = u64::try_from(message.octets.len()).unwrap_or(u64::MAX);
        let frame = wire::frame_size(Bytes::new(octets), Encapsulation::Udp);
        let mut packet = Packet {
            released_at: self.now,
            flow,
            stream: state.first_stream,
            number,
            source,
            destination,
            size: frame_octets(frame).unwrap_or(u16::MAX),
            vid: state.vid,
            pcp: if is_discovery { 0 } else { state.pcp },
            ..Packet::default()
        };
        packet.put(TAGGED, is_tagged);
        packet.put(REVERSE, source != state.talker);
        let id = self.pool.insert(packet);
        self.pool.set_message(id, message);
        self.send(source, id, observer);
    }
}
