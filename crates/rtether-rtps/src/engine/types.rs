//! The type lookup service: asking participants for descriptions of types, and answering them
//! (DDS-XTypes 1.3, 7.6.3.3.4).
//!
//! Requests and replies go to the participant concerned, and to those that have not acknowledged
//! theirs yet; a reply only to one that has answered and asked by its own writer: each description
//! once, at most [`REPLY_MAX`] octets, a limited number of times a second, and nothing for
//! descriptions that are not here.

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec::Vec;

use super::{LocalReader, LocalWriter, Participant, TYPE_REPLIES, TYPE_REQUESTS, WriterId};
use crate::guid::{EntityId, Guid, GuidPrefix};
use crate::qos::{History, Qos, Reliability};
use crate::reader::Reader;
use crate::time::{Duration, Instant};
use crate::writer::{ChangeKind, New, RemoteReader, Writer};
use crate::xtypes::lookup::{
    self, ASKED_MAX, Described, REPLY_MAX, Request, is_instance_of, read_reply, read_request,
};
use crate::xtypes::{Description, Hash, INFORMATION_MAX, OBJECT_MAX, Object, TypeId};

/// Bit of the service in the announced endpoints (table 62 of DDS-XTypes 1.3).
const REQUEST_READER: u32 = 1 << 13;
/// Requests and replies kept until they are acknowledged.
const KEPT: u32 = 16;
/// Requests that await a reply, and replies that await the host.
const WAITING_MAX: usize = 64;
/// Descriptions of own types.
const OWN_MAX: usize = 1_024;
/// Replies in a second.
const REPLIES_MAX: u32 = 50;

/// Descriptions from another participant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeReply {
    /// The participant.
    pub from: GuidPrefix,
    /// The descriptions, each with the digest that it claims.
    pub types: Vec<Described>,
}

/// State of the service.
#[derive(Debug, Default)]
pub(super) struct Types {
    /// Number of the last request.
    asked: i64,
    waiting: BTreeMap<i64, GuidPrefix>,
    replies: VecDeque<TypeReply>,
    own: BTreeMap<Hash, Vec<u8>>,
    /// Replies since this time.
    counted: Option<(Instant, u32)>,
}

impl Participant {
    /// Adds the endpoints of the service.
    pub(super) fn add_type_lookup(&mut self) {
        let qos = Qos {
            reliability: Reliability::Reliable,
            history: History::KeepLast(KEPT),
            ..Qos::writer()
        };
        let pairs = [
            (EntityId::TYPE_REQUEST_WRITER, EntityId::TYPE_REQUEST_READER),
            (EntityId::TYPE_REPLY_WRITER, EntityId::TYPE_REPLY_READER),
        ];
        for (writer, reader) in pairs {
            let writer = Writer::new(writer, qos.clone(), self.config.writer, false);
            self.writers.push(Some(LocalWriter {
                writer,
                endpoint: None,
                judge: None,
                publisher: None,
            }));
            let (timing, pool) = (self.config.reader, self.fragments.clone());
            let reader = Reader::new(reader, qos.clone(), timing, None, OBJECT_MAX, pool);
            self.readers.push(Some(LocalReader { reader, endpoint: None, subscriber: None }));
        }
    }

    /// Asks a participant for descriptions, at most [`ASKED_MAX`]; returns whether it has the
    /// service. The reply comes by [`Self::poll_types`], or never.
    pub fn ask_types(&mut self, now: Instant, to: GuidPrefix, hashes: &[Hash]) -> bool {
        let remote = self.remotes.get(&to);
        let serves = remote.is_some_and(|remote| remote.data.endpoints & REQUEST_READER != 0);
        if !self.config.type_lookup || !serves || self.role().is_some() {
            return false;
        }
        let hashes = hashes.get(..ASKED_MAX).unwrap_or(hashes);
        let types = &mut self.types;
        types.asked += 1;
        if types.waiting.len() >= WAITING_MAX {
            types.waiting.pop_first();
        }
        types.waiting.insert(types.asked, to);
        let writer = self.config.guid(EntityId::TYPE_REQUEST_WRITER);
        let identity = (writer, self.types.asked);
        let payload = lookup::request(identity, to, hashes);
        let reader = Guid::new(to, EntityId::TYPE_REQUEST_READER);
        self.send_to(now, TYPE_REQUESTS, reader, &payload)
    }

    /// Returns the next reply.
    pub fn poll_types(&mut self) -> Option<TypeReply> {
        self.types.replies.pop_front()
    }

    /// Adds a description that others may ask for; returns whether there is room.
    pub fn offer_type(&mut self, hash: Hash, object: &[u8]) -> bool {
        let own = &mut self.types.own;
        let has_room = own.len() < OWN_MAX || own.contains_key(&hash);
        if has_room && object.len() <= OBJECT_MAX {
            own.insert(hash, object.to_vec());
            return true;
        }
        false
    }

    /// Describes the type of an own writer to others: it is announced, and returned to those who
    /// ask. Returns whether there is room.
    pub fn describe_writer(&mut self, now: Instant, id: WriterId, of: &Description) -> bool {
        let has_room = of.information.len() <= INFORMATION_MAX;
        let mut objects = of.objects.iter();
        let has_room = has_room && objects.all(|(hash, object)| self.offer_type(*hash, object));
        let local = self.writers.get_mut(id.0).and_then(Option::as_mut);
        let Some(endpoint) = local.and_then(|local| local.endpoint.as_mut()) else {
            return false;
        };
        if has_room {
            endpoint.type_information.clone_from(&of.information);
            let endpoint = endpoint.clone();
            self.publish_endpoint(now, true, &endpoint, ChangeKind::Alive);
        }
        has_room
    }

    /// Sends a sample to one reader. Others that have everything are dismissed: they are not sent
    /// what is not for them.
    fn send_to(&mut self, now: Instant, place: usize, to: Guid, payload: &[u8]) -> bool {
        let remote = self.remotes.get(&to.prefix);
        let Some(remote) = remote else {
            return false;
        };
        let unicast = self.reachable(to.prefix, &remote.data.metatraffic_unicast, false);
        let is_proved = self.is_proved(to.prefix, &unicast);
        let time = self.wall(now);
        let Some(local) = self.writers.get_mut(place).and_then(Option::as_mut) else {
            return false;
        };
        let writer = &mut local.writer;
        let others = writer.proxies.iter().map(|proxy| proxy.remote.guid);
        let others: Vec<Guid> = others.filter(|other| *other != to).collect();
        if writer.is_acknowledged() || others.len() >= WAITING_MAX {
            for other in others {
                writer.remove_reader(other);
            }
        }
        let reader = RemoteReader {
            guid: to,
            reliability: Reliability::Reliable,
            wants_history: false,
            secret: None,
            is_proved,
            unicast,
            multicast: Vec::new(),
            filter: None,
            separation: Duration::ZERO,
        };
        writer.add_reader(now, reader);
        let new = New {
            kind: ChangeKind::Alive,
            payload,
            key: &[],
            key_hash: None,
            time,
            group_sequence: None,
        };
        writer.write(now, OBJECT_MAX, new).is_ok()
    }

    /// Dismisses the readers of a participant that is gone.
    pub(super) fn forget_type_readers(&mut self, prefix: GuidPrefix) {
        if !self.config.type_lookup || self.role().is_some() {
            return;
        }
        let readers = [
            (TYPE_REQUESTS, EntityId::TYPE_REQUEST_READER),
            (TYPE_REPLIES, EntityId::TYPE_REPLY_READER),
        ];
        for (place, entity) in readers {
            if let Some(local) = self.writers.get_mut(place).and_then(Option::as_mut) {
                local.writer.remove_reader(Guid::new(prefix, entity));
            }
        }
        self.types.waiting.retain(|_, to| *to != prefix);
    }

    /// Handles a reply; only those to own requests count, from the participant asked.
    pub(super) fn handle_type_reply(&mut self, from: GuidPrefix, payload: &[u8]) {
        let Ok(((writer, number), types)) = read_reply(payload) else {
            self.counters.malformed += 1;
            return;
        };
        if writer != self.config.guid(EntityId::TYPE_REQUEST_WRITER) {
            // Some implementations send replies to all.
            return;
        }
        // Some repeat the number of their first request: the participant decides.
        let waiting = &mut self.types.waiting;
        let number = if waiting.get(&number) == Some(&from) {
            Some(number)
        } else {
            let mut asked = waiting.iter();
            asked.find(|(_, to)| **to == from).map(|(number, _)| *number)
        };
        let Some(number) = number else {
            self.counters.strangers += 1;
            return;
        };
        waiting.remove(&number);
        if self.types.replies.len() >= WAITING_MAX {
            self.types.replies.pop_front();
        }
        self.types.replies.push_back(TypeReply { from, types });
    }

    /// Handles a request.
    pub(super) fn handle_type_request(&mut self, now: Instant, from: GuidPrefix, payload: &[u8]) {
        let request = match read_request(payload) {
            Ok(Some(request)) => request,
            Ok(None) => return,
            Err(_) => {
                self.counters.malformed += 1;
                return;
            }
        };
        if request.identity.0 != Guid::new(from, EntityId::TYPE_REQUEST_WRITER) {
            self.counters.forged += 1;
            return;
        }
        let is_for_all = request.instance.is_empty() || request.instance.ends_with(&[b'0'; 32]);
        let is_for_us = is_for_all || is_instance_of(&request.instance, self.config.prefix);
        let remote = self.remotes.get(&from);
        if !is_for_us || !remote.is_some_and(|remote| remote.has_answered) {
            return;
        }
        let Some(reply) = self.type_reply(&request) else {
            return;
        };
        if !self.may_reply(now) {
            self.counters.unanswered += 1;
            return;
        }
        let reader = Guid::new(from, EntityId::TYPE_REPLY_READER);
        self.send_to(now, TYPE_REPLIES, reader, &reply);
    }

    /// Returns the reply to a request; `None` if nothing of it is known here.
    fn type_reply(&self, request: &Request) -> Option<Vec<u8>> {
        // One that is asked for again and again is sent once.
        let hashes: BTreeSet<&Hash> = request.hashes.iter().collect();
        let known = hashes.into_iter().filter_map(|hash| {
            let object = self.types.own.get(hash)?;
            Some((*hash, object.as_slice()))
        });
        let mut room = REPLY_MAX;
        let known: Vec<(Hash, &[u8])> = known
            .take_while(|(_, object)| {
                let size = object.len() + 32;
                let fits = size <= room;
                room = room.saturating_sub(size);
                fits
            })
            .collect();
        if known.is_empty() {
            return None;
        }
        if !request.is_for_dependencies {
            return Some(lookup::reply(request.identity, &known));
        }
        let mut all: BTreeMap<Hash, usize> = BTreeMap::new();
        for (_, object) in known {
            let needs = Object::decode(object).ok();
            let needs = needs.iter().flat_map(Object::needs);
            for hash in needs.filter_map(TypeId::hash) {
                let size = self.types.own.get(&hash).map_or(0, Vec::len);
                all.insert(hash, size);
            }
        }
        let all: Vec<(Hash, usize)> = all.into_iter().take(ASKED_MAX).collect();
        Some(lookup::dependencies(request.identity, &all))
    }

    /// Returns whether another reply may be sent in this second.
    fn may_reply(&mut self, now: Instant) -> bool {
        let second = Duration::from_s(1);
        let (since, count) = match self.types.counted {
            Some((since, count)) if now - since < second => (since, count),
            _ => (now, 0),
        };
        self.types.counted = Some((since, count.saturating_add(1)));
        count < REPLIES_MAX
    }
}
