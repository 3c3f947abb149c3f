//! A participant under attack, and its attackers.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use rtether_rtps::discovery::{EndpointData, ParticipantData};
use rtether_rtps::engine::{Config, NewSample, Participant, ReaderId, TopicName, WriterId};
use rtether_rtps::guid::{EntityId, Guid, GuidPrefix};
use rtether_rtps::locator::{Locator, Origin};
use rtether_rtps::qos::{History, Qos, Reliability};
use rtether_rtps::sequence::{NumberSet, SequenceNumber};
use rtether_rtps::time::{Duration, Instant};
use rtether_rtps::wire::{AckNack, Builder, Content, InlineQos, Status, Submessage, parse};

pub(crate) const MS: i64 = 1_000_000;
/// A locator on the network of the participant.
pub(crate) const ON_LINK: Locator = Locator::udp(Ipv4Addr::new(10, 0, 1, 99), 7_410);
pub(crate) const NAME: TopicName<'_> = TopicName { topic: "hostile", type_name: "T" };
/// `CDR_LE` and four octets.
pub(crate) const VALUE: [u8; 8] = [0, 1, 0, 0, 1, 2, 3, 4];
/// Of an instance whose writer unregisters and disposes of it.
pub(crate) const ENDED: Status = Status { is_disposed: true, is_unregistered: true };
const DATAGRAM_MAX: usize = 65_000;
/// Right acknowledgments in a row that prove an address.
pub(crate) const ROUNDS: usize = 4;

pub(crate) fn qos(reliability: Reliability) -> Qos {
    let mut qos = Qos::writer();
    qos.reliability = reliability;
    qos.history = History::KeepAll;
    qos.limits.samples = Some(64);
    qos
}

/// The participant under attack.
pub(crate) struct World {
    pub(crate) participant: Participant,
    pub(crate) now: i64,
    pub(crate) writer: WriterId,
    pub(crate) reader: ReaderId,
    /// A reader of a topic with a key, if there is one.
    pub(crate) keyed: Option<ReaderId>,
    /// Datagrams it has sent: destination and octets.
    pub(crate) sent: Vec<(Locator, Vec<u8>)>,
    /// Base of the acknowledgment that proves an address, by participant and address: only who
    /// receives there knows it.
    told: BTreeMap<(GuidPrefix, Origin), i64>,
    count: i32,
    buffer: Vec<u8>,
}

impl World {
    pub(crate) fn new() -> Self {
        Self::with(|_| {})
    }

    pub(crate) fn with(adapt: impl FnOnce(&mut Config)) -> Self {
        let mut config = Config::new(GuidPrefix([1; 12]), 0, [7; 16]);
        config.metatraffic_unicast = vec![Locator::udp(Ipv4Addr::new(10, 0, 1, 1), 7_410)];
        config.default_unicast.clone_from(&config.metatraffic_unicast);
        config.networks = vec![(Ipv4Addr::new(10, 0, 1, 0), 24)];
        adapt(&mut config);
        let now = Instant::from_ns(0);
        let mut participant = Participant::new(config, now);
        let qos = qos(Reliability::Reliable);
        let writer = participant.create_writer(now, NAME, false, qos.clone());
        // Its own reader has another topic, so that the two do not match.
        let name = TopicName { topic: "hostile too", ..NAME };
        let reader = participant.create_reader(now, name, None, qos);
        let mut this = Self {
            participant,
            now: 0,
            writer: writer.unwrap(),
            reader: reader.unwrap(),
            keyed: None,
            sent: Vec::new(),
            told: BTreeMap::new(),
            count: 0,
            buffer: Vec::new(),
        };
        this.drain();
        this
    }

    pub(crate) fn clock(&self) -> Instant {
        Instant::from_ns(self.now)
    }

    /// Passes in a datagram, and records what is sent.
    pub(crate) fn feed(&mut self, datagram: &[u8]) {
        self.feed_from(ON_LINK, datagram);
    }

    /// Like [`Self::feed`], from another address.
    pub(crate) fn feed_from(&mut self, at: Locator, datagram: &[u8]) {
        let now = self.clock();
        self.participant.handle_datagram(now, at.origin(), datagram);
        self.drain();
    }

    fn drain(&mut self) {
        let now = self.clock();
        if self.participant.poll_timeout() <= now {
            self.participant.handle_timeout(now);
        }
        let mut rounds = 0;
        while let Some(transmit) = self.participant.poll_transmit(now, &mut self.buffer) {
            self.note_told(transmit.to);
            self.sent.push((transmit.to, self.buffer.clone()));
            rounds += 1;
            assert!(rounds < 20_000, "it sends without end");
        }
    }

    /// Advances time by `span`.
    pub(crate) fn wait(&mut self, span: i64) {
        let until = self.now + span;
        let mut rounds = 0;
        loop {
            let next = self.participant.poll_timeout().as_ns().max(self.now + 1);
            if next > until {
                self.now = until;
                return;
            }
            self.now = next;
            self.drain();
            rounds += 1;
            assert!(rounds < 1_000_000, "it is never done");
        }
    }

    pub(crate) fn write(&mut self) -> bool {
        let now = self.clock();
        let sample = NewSample::value(&VALUE);
        let is_written = self.participant.write(now, self.writer, &sample).is_ok();
        self.drain();
        is_written
    }

    /// Returns what was sent to the locators selected: datagrams and octets.
    pub(crate) fn sent_to(&self, is_meant: impl Fn(&Locator) -> bool) -> (usize, usize) {
        let sent = self.sent.iter().filter(|(to, _)| is_meant(to));
        sent.fold((0, 0), |(count, octets), (_, datagram)| (count + 1, octets + datagram.len()))
    }

    /// Takes the waiting samples; returns their number.
    pub(crate) fn take(&mut self) -> usize {
        let now = self.clock();
        let mut taken = 0;
        while self.participant.take(now, self.reader, |_, _, _| ()).is_some() {
            taken += 1;
        }
        self.drain();
        taken
    }

    /// Notes what a datagram tells of the numbers of participant messages.
    fn note_told(&mut self, to: Locator) {
        let mut destination = GuidPrefix::UNKNOWN;
        for submessage in parse(&self.buffer).unwrap().submessages() {
            let submessage = submessage.unwrap();
            if let Submessage::InfoDestination(prefix) = submessage {
                destination = prefix;
            } else if let Submessage::Heartbeat(one) = submessage
                && one.writer == EntityId::MESSAGE_WRITER
            {
                let key = (destination, to.origin());
                self.told.insert(key, one.last.0 + 1);
            }
        }
    }

    /// Returns the base that a forger was told last at an address.
    pub(crate) fn told_at(&self, forger: &Forger, at: Locator) -> i64 {
        self.told[&(forger.prefix, at.origin())]
    }

    /// Returns the acknowledgment of a forger that has received at an address, if it was sent
    /// anything there.
    pub(crate) fn proof_of(&mut self, forger: &Forger, at: Locator) -> Option<Vec<u8>> {
        let base = *self.told.get(&(forger.prefix, at.origin()))?;
        self.count += 1;
        Some(forger.guess(self.participant.prefix(), base, self.count))
    }

    /// Makes a forger answer from an address where it has received from this participant; returns
    /// whether it has.
    pub(crate) fn hear_from(&mut self, forger: &Forger, at: Locator) -> bool {
        for _ in 0..ROUNDS {
            let Some(proof) = self.proof_of(forger, at) else {
                return false;
            };
            self.feed_from(at, &proof);
        }
        true
    }

    pub(crate) fn participants(&self) -> usize {
        self.participant.participants().count()
    }

    pub(crate) fn endpoints(&self) -> usize {
        self.participant.endpoints().count()
    }
}

/// An attacker that may send anything.
pub(crate) struct Forger {
    pub(crate) prefix: GuidPrefix,
    numbers: BTreeMap<EntityId, i64>,
    pub(crate) data: ParticipantData,
}

impl Forger {
    pub(crate) fn new(number: u32, at: Locator) -> Self {
        let mut prefix = [9; 12];
        prefix[8..].copy_from_slice(&number.to_be_bytes());
        let prefix = GuidPrefix(prefix);
        let mut data = ParticipantData::new(prefix);
        data.metatraffic_unicast = vec![at];
        data.default_unicast = vec![at];
        data.endpoints = 0x0C3F;
        data.lease = Duration::INFINITE;
        Self { prefix, numbers: BTreeMap::new(), data }
    }

    pub(crate) fn guid(&self, entity: EntityId) -> Guid {
        Guid::new(self.prefix, entity)
    }

    pub(crate) fn message(&self, write: impl FnOnce(&mut Builder<'_>)) -> Vec<u8> {
        message(self.prefix, write)
    }

    /// An acknowledgment of participant messages, with the destination that all neighbors know.
    pub(crate) fn guess(&self, of: GuidPrefix, base: i64, count: i32) -> Vec<u8> {
        self.message(|message| {
            assert!(message.info_destination(of));
            assert!(message.ack_nack(&AckNack {
                reader: EntityId::MESSAGE_READER,
                writer: EntityId::MESSAGE_WRITER,
                set: NumberSet::empty(base),
                count,
                is_final: true,
            }));
        })
    }

    pub(crate) fn announcement(&self) -> Vec<u8> {
        let mut payload = Vec::new();
        self.data.encode(&mut payload);
        self.sample(EntityId::SPDP_WRITER, 1, &InlineQos::default(), &payload)
    }

    /// What ends the announcement of an entity: parameters in line, and a key as payload.
    pub(crate) fn end_of(&self, entity: EntityId) -> (InlineQos, Vec<u8>) {
        let guid = self.guid(entity).octets();
        let inline = InlineQos { key_hash: Some(guid), status: ENDED, ..InlineQos::default() };
        let is_participant = entity == EntityId::PARTICIPANT;
        let parameter = if is_participant { 0x50 } else { 0x5A };
        let mut key = vec![0, 3, 0, 0, parameter, 0, 16, 0];
        key.extend_from_slice(&guid);
        key.extend_from_slice(&[1, 0, 0, 0]);
        (inline, key)
    }

    /// A sample of any writer, with any number.
    pub(crate) fn sample(
        &self,
        writer: EntityId,
        number: i64,
        inline: &InlineQos,
        payload: &[u8],
    ) -> Vec<u8> {
        self.message(|message| {
            let (reader, number) = (EntityId::UNKNOWN, SequenceNumber(number));
            assert!(message.data(reader, writer, number, inline, Content::Data(payload)));
        })
    }

    /// The next sample of one of its writers.
    pub(crate) fn next(&mut self, writer: EntityId, payload: &[u8]) -> Vec<u8> {
        let number = self.numbers.entry(writer).or_insert(0);
        *number += 1;
        let number = *number;
        self.sample(writer, number, &InlineQos::default(), payload)
    }

    /// Announces a writer or a reader with any GUID.
    pub(crate) fn endpoint(&mut self, data: &EndpointData) -> Vec<u8> {
        let is_writer = data.guid.entity.is_writer();
        let mut payload = Vec::new();
        data.encode(&mut payload, is_writer);
        let writer =
            if is_writer { EntityId::PUBLICATIONS_WRITER } else { EntityId::SUBSCRIPTIONS_WRITER };
        self.next(writer, &payload)
    }
}

pub(crate) fn message(prefix: GuidPrefix, write: impl FnOnce(&mut Builder<'_>)) -> Vec<u8> {
    let mut octets = Vec::new();
    let mut message = Builder::new(&mut octets, prefix, DATAGRAM_MAX);
    write(&mut message);
    octets
}

/// Announced data of an endpoint that matches those of the participant.
pub(crate) fn endpoint(guid: Guid, reliability: Reliability) -> EndpointData {
    let topic = if guid.entity.is_writer() { "hostile too" } else { "hostile" };
    EndpointData {
        guid,
        topic: topic.to_owned(),
        type_name: "T".to_owned(),
        qos: qos(reliability),
        unicast: Vec::new(),
        multicast: Vec::new(),
        expects_inline_qos: false,
        content_filter: None,
        type_hash: None,
        type_information: Vec::new(),
        group: None,
    }
}

/// A participant with a forger whose writer and reader are matched with its own.
pub(crate) fn matched() -> (World, Forger, EntityId, EntityId) {
    let (mut world, mut forger) = (World::new(), Forger::new(0, ON_LINK));
    let (writer, reader) = (EntityId::writer(1, false), EntityId::reader(2, false));
    world.feed(&forger.announcement());
    assert!(world.hear_from(&forger, ON_LINK));
    for entity in [writer, reader] {
        let data = endpoint(forger.guid(entity), Reliability::Reliable);
        let datagram = forger.endpoint(&data);
        world.feed(&datagram);
    }
    assert_eq!(world.participant.writers_of(world.reader), 1);
    assert_eq!(world.participant.known_readers_of(world.writer), 1);
    (world, forger, writer, reader)
}
