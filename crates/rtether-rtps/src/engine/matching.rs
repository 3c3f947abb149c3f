//! Matching of endpoints: by topic, type, partition and policies.

use super::{Event, Participant, ReaderId, WriterId};
use crate::discovery::EndpointData;
use crate::filter::{self, Filter, Judge};
use crate::guid::Guid;
use crate::locator::Locator;
use crate::matching::{Mismatch, mismatches_between, partitions_match};
use crate::qos::{Durability, Reliability};
use crate::reader::RemoteWriter;
use crate::time::{Duration, Instant};
use crate::writer::RemoteReader;
use alloc::string::String;
use alloc::vec::Vec;

/// Relation of a writer and a reader.
enum Relation {
    /// Different topic, type or partition.
    Strangers,
    /// Incompatible policies only.
    Incompatible(Vec<Mismatch>),
    /// The reader gets the writer's samples.
    Matched,
}

fn relation(writer: &EndpointData, reader: &EndpointData) -> Relation {
    let is_topic = writer.topic == reader.topic && writer.type_name == reader.type_name;
    let has_key = writer.guid.entity.has_key() == reader.guid.entity.has_key();
    let is_shared = partitions_match(&writer.qos.partitions, &reader.qos.partitions);
    if !is_topic || !has_key || !is_shared {
        return Relation::Strangers;
    }
    let policies = mismatches_between(writer, reader);
    if policies.is_empty() { Relation::Matched } else { Relation::Incompatible(policies) }
}

impl Participant {
    fn places(&self, own: &[Locator], prefix: Guid, is_multicast: bool) -> Vec<Locator> {
        if !own.is_empty() {
            return self.reachable(prefix.prefix, own, is_multicast);
        }
        if prefix.prefix == self.config.prefix {
            return if is_multicast { Vec::new() } else { self.config.default_unicast.clone() };
        }
        let remote = self.remotes.get(&prefix.prefix);
        let usual = remote.map(|remote| {
            if is_multicast { &remote.data.default_multicast } else { &remote.data.default_unicast }
        });
        usual.map(|places| self.reachable(prefix.prefix, places, is_multicast)).unwrap_or_default()
    }

    /// Matches a remote writer with the readers of this participant.
    pub(super) fn match_remote_writer(&mut self, now: Instant, writer: &EndpointData) {
        for index in 0..self.readers.len() {
            let local = self.readers.get(index).and_then(Option::as_ref);
            let endpoint = local.and_then(|local| local.endpoint.as_ref());
            if let Some(relation) = endpoint.map(|endpoint| relation(writer, endpoint)) {
                self.relate_writer(now, ReaderId(index), writer, relation);
            }
        }
    }

    fn relate_writer(
        &mut self,
        now: Instant,
        reader: ReaderId,
        writer: &EndpointData,
        relation: Relation,
    ) {
        let unicast = self.places(&writer.unicast, writer.guid, false);
        let is_proved = self.is_proved(writer.guid.prefix, &unicast);
        let Some(local) = self.readers.get_mut(reader.0).and_then(Option::as_mut) else {
            return;
        };
        let guid = writer.guid;
        let is_v1 = self.config.protocol.role().is_some();
        let persistence = writer.qos.persistence.filter(|_| is_v1);
        match relation {
            Relation::Matched => {
                let remote = RemoteWriter {
                    guid,
                    group: writer.group,
                    is_reliable: writer.qos.reliability == Reliability::Reliable,
                    strength: writer.qos.strength,
                    deadline: persistence.map_or(writer.qos.deadline, |_| Duration::INFINITE),
                    lifespan: writer.qos.lifespan,
                    liveliness: writer.qos.liveliness,
                    persistence,
                    unicast,
                    is_proved,
                };
                if local.reader.add_writer(now, remote) {
                    self.tell(Event::WriterMatched { reader, writer: guid });
                }
            }
            Relation::Strangers => self.part_from_writer(now, reader, guid),
            Relation::Incompatible(policies) => {
                self.part_from_writer(now, reader, guid);
                self.tell(Event::RequestedIncompatible { reader, writer: guid, policies });
            }
        }
    }

    /// Unmatches a writer from one reader.
    fn part_from_writer(&mut self, now: Instant, reader: ReaderId, writer: Guid) {
        self.unmatch_writer(now, reader, writer);
        if let Some(local) = self.readers.get_mut(reader.0).and_then(Option::as_mut) {
            local.reader.forget_place(writer);
        }
    }

    fn unmatch_writer(&mut self, now: Instant, reader: ReaderId, writer: Guid) {
        let local = self.readers.get_mut(reader.0).and_then(Option::as_mut);
        if local.is_some_and(|local| local.reader.remove_writer(now, writer)) {
            self.tell(Event::WriterUnmatched { reader, writer });
        }
    }

    /// Removes a remote writer.
    pub(super) fn remove_remote_writer(&mut self, now: Instant, writer: Guid) {
        for index in 0..self.readers.len() {
            self.unmatch_writer(now, ReaderId(index), writer);
        }
    }

    /// Matches a remote reader with the writers of this participant.
    pub(super) fn match_remote_reader(&mut self, now: Instant, reader: &EndpointData) {
        for index in 0..self.writers.len() {
            let local = self.writers.get(index).and_then(Option::as_ref);
            let endpoint = local.and_then(|local| local.endpoint.as_ref());
            if let Some(relation) = endpoint.map(|endpoint| relation(endpoint, reader)) {
                self.relate_reader(now, WriterId(index), reader, relation);
            }
        }
    }

    fn relate_reader(
        &mut self,
        now: Instant,
        writer: WriterId,
        reader: &EndpointData,
        relation: Relation,
    ) {
        let unicast = self.places(&reader.unicast, reader.guid, false);
        let is_proved = self.is_proved(reader.guid.prefix, &unicast);
        let multicast = self.places(&reader.multicast, reader.guid, true);
        let filter = self.understood(writer, reader);
        let is_v1 = self.role().is_some();
        let Some(local) = self.writers.get_mut(writer.0).and_then(Option::as_mut) else {
            return;
        };
        let guid = reader.guid;
        match relation {
            Relation::Matched => {
                let remote = RemoteReader {
                    guid,
                    reliability: reader.qos.reliability.min(local.writer.qos.reliability),
                    wants_history: reader.qos.durability != Durability::Volatile && !is_v1,
                    secret: None,
                    is_proved,
                    unicast,
                    multicast,
                    filter,
                    separation: reader.qos.time_based_filter,
                };
                if local.writer.add_reader(now, remote) {
                    self.tell(Event::ReaderMatched { writer, reader: guid });
                }
            }
            Relation::Strangers => self.unmatch_reader(writer, guid),
            Relation::Incompatible(policies) => {
                self.unmatch_reader(writer, guid);
                self.tell(Event::OfferedIncompatible { writer, reader: guid, policies });
            }
        }
    }

    /// Returns the filter of a reader, if the writer can evaluate it.
    fn understood(&self, writer: WriterId, reader: &EndpointData) -> Option<(Filter, Judge)> {
        let local = self.writers.get(writer.0).and_then(Option::as_ref)?;
        let (judge, said) = (local.judge?, reader.content_filter.as_ref()?);
        if said.class != filter::CLASS {
            return None;
        }
        let parameters: Vec<&str> = said.parameters.iter().map(String::as_str).collect();
        let filter = Filter::parse(&said.expression, &parameters).ok()?;
        let is_fit = filter.is_quick() && judge.check(&filter).is_ok();
        is_fit.then_some((filter, judge))
    }

    fn unmatch_reader(&mut self, writer: WriterId, reader: Guid) {
        let local = self.writers.get_mut(writer.0).and_then(Option::as_mut);
        if local.is_some_and(|local| local.writer.remove_reader(reader)) {
            self.tell(Event::ReaderUnmatched { writer, reader });
        }
    }

    /// Removes a remote reader.
    pub(super) fn remove_remote_reader(&mut self, reader: Guid) {
        for index in 0..self.writers.len() {
            self.unmatch_reader(WriterId(index), reader);
        }
    }

    /// Matches a new writer with all known readers, own ones included.
    pub(super) fn match_own_writer(&mut self, now: Instant, id: WriterId) {
        let local = self.writers.get(id.0).and_then(Option::as_ref);
        let Some(writer) = local.and_then(|local| local.endpoint.clone()) else {
            return;
        };
        let remote = self.remotes.values().flat_map(|one| one.readers.values());
        let own = self.readers.iter().flatten();
        let own = own.filter_map(|local| local.endpoint.as_ref());
        let readers: Vec<EndpointData> = remote.chain(own).cloned().collect();
        for reader in readers {
            let relation = relation(&writer, &reader);
            self.relate_reader(now, id, &reader, relation);
        }
        for index in 0..self.readers.len() {
            let local = self.readers.get(index).and_then(Option::as_ref);
            let endpoint = local.and_then(|local| local.endpoint.as_ref());
            if let Some(relation) = endpoint.map(|endpoint| relation(&writer, endpoint)) {
                self.relate_writer(now, ReaderId(index), &writer, relation);
            }
        }
    }

    /// Matches a new reader with all known writers, own ones included.
    pub(super) fn match_own_reader(&mut self, now: Instant, id: ReaderId) {
        let local = self.readers.get(id.0).and_then(Option::as_ref);
        let Some(reader) = local.and_then(|local| local.endpoint.clone()) else {
            return;
        };
        let remote = self.remotes.values().flat_map(|one| one.writers.values());
        let own = self.writers.iter().flatten();
        let own = own.filter_map(|local| local.endpoint.as_ref());
        let writers: Vec<EndpointData> = remote.chain(own).cloned().collect();
        for writer in writers {
            let relation = relation(&writer, &reader);
            self.relate_writer(now, id, &writer, relation);
        }
        for index in 0..self.writers.len() {
            let local = self.writers.get(index).and_then(Option::as_ref);
            let endpoint = local.and_then(|local| local.endpoint.as_ref());
            if let Some(relation) = endpoint.map(|endpoint| relation(endpoint, &reader)) {
                self.relate_reader(now, WriterId(index), &reader, relation);
            }
        }
    }
}
