//! What participants send and receive: samples, answers, datagrams.

use core::net::IpAddr;

use rtether_model::network::NodeId;
use rtether_model::quantity::{Duration, Instant};
use rtether_rtps::engine::NewSample;
use rtether_rtps::guid::GuidPrefix;
use rtether_rtps::locator::{Locator, Origin};
use rtether_rtps::sequence::SequenceNumber;

use super::build::address_of;
use super::{
    Answer, Due, Listener, Message, Outgoing, Party, Publications, Reader, Role, Sample, clock,
};
use crate::message::Released;
use crate::packet::{DISCOVERY_FROM, GROUP};

impl Publications {
    /// Returns whether the writer of a topic and all its readers have matched, in both directions.
    pub(crate) fn is_matched(&mut self, topic: u32) -> bool {
        let (parties, topic) = (&self.parties, &mut self.topics[topic as usize]);
        if topic.is_matched {
            return true;
        }
        let of = |party: u32| &parties[party as usize].participant;
        let talker = of(topic.party);
        let knows = |listener: &Listener| {
            let own = of(listener.party);
            let is_back = listener.back.is_none_or(|(writer, reader)| {
                own.readers_of(writer) > 0 && talker.writers_of(reader) > 0
            });
            own.writers_of(listener.reader) > 0 && is_back
        };
        let awaited = topic.listeners.iter();
        let awaited = awaited.filter(|listener| listener.habit.from == Duration::ZERO);
        topic.is_matched = talker.readers_of(topic.writer) >= awaited.clone().count()
            && awaited.clone().all(knows);
        topic.is_matched
    }

    /// Publishes a sample of the talker's application, and returns the index of its participant.
    /// `lose` is called with the stream of each listener that does not get a sample.
    pub(crate) fn publish(
        &mut self,
        topic: u32,
        released: &Released,
        mut lose: impl FnMut(u32, &Released),
    ) -> u32 {
        let topic = &mut self.topics[topic as usize];
        let sample = NewSample::value(&topic.payload);
        let participant = &mut self.parties[topic.party as usize].participant;
        let at = clock(released.at);
        let written = (!topic.has_left).then(|| participant.write(at, topic.writer, &sample));
        let written = written.and_then(Result::ok);
        if let Some(sequence) = written {
            topic.written = sequence.0.unsigned_abs();
        }
        for listener in &mut topic.listeners {
            let lost = match written {
                Some(sequence) => listener.samples.push(sequence, released.clone()),
                None => Some(released.clone()),
            };
            if let Some(lost) = lost {
                lose(listener.stream, &lost);
            }
        }
        topic.party
    }

    /// Does what a station's applications do now, until one looks at its queue: its reader. `lose` as in
    /// [`Self::publish`].
    pub(crate) fn do_due(
        &mut self,
        party: u32,
        now: i64,
        mut lose: impl FnMut(u32, &Released),
    ) -> Option<Reader> {
        loop {
            let due = &mut self.parties[party as usize].due;
            let first = due.first_entry().filter(|entry| entry.key().0 <= now)?;
            match first.remove() {
                Due::Answer(answer) => self.write_answer(party, &answer, now, &mut lose),
                Due::Come(coming, place) => self.come(&coming, place, now),
                Due::Look([topic, place]) => {
                    self.plan_look([topic, place], now);
                    let role = Role { topic, answers: None };
                    return Some(Reader { role, place });
                }
                Due::Leave => self.leave(party),
            }
        }
    }

    /// Returns whether a reader's application takes each sample at once.
    pub(crate) fn takes_at_once(&self, reader: Reader) -> bool {
        let topic = &self.topics[reader.role.topic as usize];
        let listener = &topic.listeners[reader.place as usize];
        reader.role.answers.is_some() || listener.habit.every == Duration::ZERO
    }

    /// Handles the timers of a participant that are due; `true` if there was one, after which any
    /// of its [`Self::readers`] may have samples.
    pub(crate) fn handle_timeout(&mut self, party: u32, now: i64) -> bool {
        let participant = &mut self.parties[party as usize].participant;
        let is_due = participant.poll_timeout() <= clock(now);
        if is_due {
            participant.handle_timeout(clock(now));
        }
        is_due
    }

    /// Returns a reader of a participant by its number.
    pub(crate) fn reader(&self, party: u32, number: usize) -> Option<Reader> {
        self.parties[party as usize].readers.get(number).copied()
    }

    /// Passes a datagram from the station at node `from` to a participant, and returns the reader
    /// that may have samples then.
    pub(crate) fn handle_datagram(
        &mut self,
        party: u32,
        from: NodeId,
        message: &Message,
        now: i64,
    ) -> Option<Reader> {
        let origin = Origin::Ip(address_of(from).into());
        let participant = &mut self.parties[party as usize].participant;
        participant.handle_datagram(clock(now), origin, &message.octets);
        // Events are not used.
        while participant.poll_event().is_some() {}
        let role = *self.by_writer.get(&message.writer?)?;
        let place = if let Some(place) = role.answers {
            place
        } else {
            let mut listeners = self.topics[role.topic as usize].listeners.iter();
            let place = listeners.position(|listener| listener.party == party)?;
            u32::try_from(place).ok()?
        };
        Some(Reader { role, place })
    }

    /// Takes the next sample of a reader. `lose` is called with the stream for each sample that is
    /// passed over and counts.
    pub(crate) fn take(
        &mut self,
        reader: Reader,
        now: i64,
        mut lose: impl FnMut(u32, &Released),
    ) -> Option<Sample> {
        let Reader { role, place } = reader;
        loop {
            let sequence = self.take_sequence(reader, now)?;
            let topic = &mut self.topics[role.topic as usize];
            let listener = &mut topic.listeners[place as usize];
            listener.taken += u64::from(role.answers.is_none());
            let stream = listener.stream;
            let station = self.parties[listener.party as usize].station;
            let series = match role.answers {
                Some(_) => &mut listener.answers,
                None => &mut listener.samples,
            };
            if let Some(released) = series.take(sequence, |one| lose(stream, one)) {
                let answer = topic.answer.as_ref().filter(|_| role.answers.is_none());
                return Some(Sample {
                    flow: topic.flow,
                    stream,
                    stations: match role.answers {
                        None => [topic.talker, station],
                        Some(_) => [station, topic.talker],
                    },
                    released,
                    answer: answer
                        .map(|_| (station, listener.thinking.takes(Instant::from_ps(now)).as_ps())),
                });
            }
        }
    }

    fn take_sequence(&mut self, reader: Reader, now: i64) -> Option<SequenceNumber> {
        let topic = &self.topics[reader.role.topic as usize];
        let listener = &topic.listeners[reader.place as usize];
        let (party, reader) = match (reader.role.answers, listener.back) {
            (Some(_), back) => (topic.party, back?.1),
            (None, _) => (listener.party, listener.reader),
        };
        let participant = &mut self.parties[party as usize].participant;
        participant.take(clock(now), reader, |info, _, _| info.sequence)
    }

    /// Schedules the answer of a listener's application to a sample, `after` this time. `lose` as
    /// in [`Self::publish`].
    pub(crate) fn answer(
        &mut self,
        reader: Reader,
        released: Released,
        (now, after): (i64, i64),
        mut lose: impl FnMut(u32, &Released),
    ) {
        let (topic, listener) = (reader.role.topic, reader.place);
        let party = self.topics[topic as usize].listeners[listener as usize].party;
        let answer = Answer { topic, listener, released };
        if after == 0 {
            self.write_answer(party, &answer, now, &mut lose);
            return;
        }
        self.parties[party as usize].plan(now + after, Due::Answer(answer));
    }

    fn write_answer(
        &mut self,
        party: u32,
        answer: &Answer,
        now: i64,
        lose: &mut impl FnMut(u32, &Released),
    ) {
        let topic = &mut self.topics[answer.topic as usize];
        let listener = &mut topic.listeners[answer.listener as usize];
        let (Some((writer, _)), Some(of)) = (listener.back, &topic.answer) else {
            return;
        };
        let participant = &mut self.parties[party as usize].participant;
        let lost = match participant.write(clock(now), writer, &NewSample::value(&of.payload)) {
            Ok(sequence) => listener.answers.push(sequence, answer.released.clone()),
            Err(_) => Some(answer.released.clone()),
        };
        if let Some(lost) = lost {
            lose(listener.stream, &lost);
        }
    }

    /// Hands the datagram in the buffer to the other participant of a station.
    fn hand_over(&mut self, from: u32, now: i64) {
        let Party { companion, address, .. } = self.parties[from as usize];
        let Some(other) = self.parties.get_mut(companion as usize) else {
            return;
        };
        let origin = Origin::Ip(address.into());
        other.participant.handle_datagram(clock(now), origin, &self.buffer);
        while other.participant.poll_event().is_some() {}
        self.woken.push(companion);
    }

    /// Returns a participant that has received something within its station since it was polled.
    pub(crate) fn take_woken(&mut self) -> Option<u32> {
        self.woken.pop()
    }

    fn prefix_of(&self, station: u32) -> GuidPrefix {
        let party = self.by_station[station as usize];
        self.parties[party as usize].participant.prefix()
    }

    /// Returns a datagram that a participant has ready, for a station or group of the plant.
    pub(crate) fn poll_transmit(&mut self, index: u32, now: i64) -> Option<Outgoing> {
        loop {
            let party = &mut self.parties[index as usize];
            let participant = &mut party.participant;
            let transmit = participant.poll_transmit(clock(now), &mut self.buffer)?;
            let Locator::Udp(to) = transmit.to else {
                continue;
            };
            let IpAddr::V4(address) = to.ip() else {
                continue;
            };
            let dscp = u8::try_from(transmit.priority.clamp(0, 63)).unwrap_or(0);
            let prefix = participant.prefix();
            let mut reader = prefix;
            let destination = if address.is_multicast() {
                GROUP | (DISCOVERY_FROM + index)
            } else if address.is_loopback() {
                self.hand_over(index, now);
                continue;
            } else {
                match self.by_address.get(&address) {
                    Some(&station) if station == party.station => {
                        self.hand_over(index, now);
                        continue;
                    }
                    Some(&station) => {
                        reader = self.prefix_of(station);
                        station
                    }
                    None => continue,
                }
            };
            let message = Message::new(&self.buffer, [prefix, reader], dscp, to.port());
            let party = &mut self.parties[index as usize];
            party.number = party.number.wrapping_add(1);
            let role = message.writer.and_then(|writer| self.by_writer.get(&writer));
            let flow = role.map(|role| self.topics[role.topic as usize].flow);
            return Some(Outgoing {
                message,
                source: party.station,
                destination,
                number: party.number,
                flow: flow.unwrap_or(party.flow),
                is_discovery: role.is_none(),
            });
        }
    }
}
