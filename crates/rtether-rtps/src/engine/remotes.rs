//! Remote participants: how they are found and lost (8.5.3), and what they announce of their
//! endpoints (8.5.4).

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::further::Further;
use super::proof::proving;
use super::sightings::{Change, Sighted};
use super::sources::is_at;
use super::{
    Event, MESSAGES, PUBLICATIONS, Participant, Parting, Remote, SUBSCRIPTIONS, TYPE_REPLIES,
    TYPE_REQUESTS,
};
use crate::discovery::{self, EndpointData, ParticipantData, decode_key, encode_key};
use crate::guid::{EntityId, Guid, GuidPrefix};
use crate::locator::{Locator, Origin, Recipient};
use crate::qos::{Liveliness, Reliability};
use crate::reader::{Arrived, RemoteWriter};
use crate::time::{Duration, Instant};
use crate::writer::{ChangeKind, RemoteReader};

/// Bits of the four built-in endpoints that announce endpoints.
const ENDPOINTS_OF_DISCOVERY: u32 = 0b11_1100;

/// Built-in endpoints of a participant by bit (table 9.13): whether it is a writer, its entity id,
/// and the index of the own endpoint that it matches.
const BUILT_IN: [(u32, bool, EntityId, usize); 8] = [
    (2, true, EntityId::PUBLICATIONS_WRITER, PUBLICATIONS),
    (3, false, EntityId::PUBLICATIONS_READER, PUBLICATIONS),
    (4, true, EntityId::SUBSCRIPTIONS_WRITER, SUBSCRIPTIONS),
    (5, false, EntityId::SUBSCRIPTIONS_READER, SUBSCRIPTIONS),
    (10, true, EntityId::MESSAGE_WRITER, MESSAGES),
    (11, false, EntityId::MESSAGE_READER, MESSAGES),
    // Readers of the type lookup service are matched when there is something for them.
    (12, true, EntityId::TYPE_REQUEST_WRITER, TYPE_REQUESTS),
    (14, true, EntityId::TYPE_REPLY_WRITER, TYPE_REPLIES),
];

/// Locators of a built-in endpoint of another participant.
pub(super) enum Places {
    /// Unicast and multicast.
    Usual(Vec<Locator>, Vec<Locator>),
    /// Unicast; the numbers told there prove the address.
    Secret(Vec<Locator>),
}

impl Participant {
    /// Handles the announcement of a participant.
    pub(super) fn handle_announcement(
        &mut self,
        now: Instant,
        from: GuidPrefix,
        origin: Origin,
        arrived: &Arrived<'_>,
    ) {
        if from == self.config.prefix {
            return;
        }
        // Announcements and good-byes are accepted only from the participant's own addresses.
        if !self.may_speak(from, origin) {
            self.counters.impostors += 1;
            return;
        }
        if !arrived.kind.is_alive() {
            self.handle_good_bye(now, from, arrived);
            return;
        }
        if self.is_known(now, from, origin, arrived.payload) {
            return;
        }
        let Some(data) = self.announced(from, arrived.payload) else {
            return;
        };
        if !self.is_address_of(&data, origin) {
            self.counters.impostors += 1;
            return;
        }
        let announcement = arrived.payload.to_vec();
        if let Some(known) = self.remotes.get_mut(&from) {
            (known.data, known.announcement) = (data, announcement);
            known.keep_proofs();
            let data = self.watch.is_some().then(|| known.data.clone());
            self.renew(now, from, origin);
            self.meet_again(now, from);
            self.know_built_in(now, from);
            if let Some(data) = data {
                self.sight(Change::Changed, || Sighted::Participant(data));
            }
            return;
        }
        if self.is_watch_full() {
            self.counters.unanswered += 1;
            return;
        }
        if self.is_closed(now, &data.metatraffic_unicast) {
            self.counters.unanswered += 1;
            return;
        }
        if !self.make_room(now, origin) {
            return;
        }
        let remote = Remote {
            data: data.clone(),
            announcement,
            origin,
            since: now,
            heard_at: now,
            period: Duration::ZERO,
            has_answered: false,
            proved: Vec::new(),
            further: Further::default(),
            expires_at: Instant::NEVER,
            writers: BTreeMap::new(),
            readers: BTreeMap::new(),
            is_admitted: !self.is_watching(),
            via: None,
        };
        self.remotes.insert(from, remote);
        self.renew(now, from, origin);
        if self.is_watching() {
            self.sight(Change::New, || Sighted::Participant(data));
            return;
        }
        self.greet(now, from, data.name);
        self.know_built_in(now, from);
    }

    /// Handles a good-bye; accepted only from the participant itself.
    fn handle_good_bye(&mut self, now: Instant, from: GuidPrefix, arrived: &Arrived<'_>) {
        let hash = arrived.inline.key_hash.map(Guid::from_octets);
        let named = decode_key(arrived.payload).ok().or(hash);
        if named.is_some_and(|named| named.prefix != from) {
            self.counters.forged += 1;
        } else if self.remotes.contains_key(&from) {
            self.take_leave(now, from, true);
        }
    }

    /// Returns the announced data, if it is valid and of this domain.
    fn announced(&mut self, from: GuidPrefix, payload: &[u8]) -> Option<ParticipantData> {
        let Ok(data) = ParticipantData::decode(payload) else {
            self.counters.malformed += 1;
            return None;
        };
        if data.prefix != from {
            self.counters.forged += 1;
            return None;
        }
        if data.lease <= Duration::ZERO {
            // A lease of zero would expire at once.
            self.counters.malformed += 1;
            return None;
        }
        let domain = u32::from(self.config.domain);
        let is_here = data.domain.is_none_or(|other| other == domain) && data.domain_tag.is_empty();
        is_here.then_some(data)
    }

    /// Returns whether the announcement is unchanged; if so, renews the lease.
    fn is_known(&mut self, now: Instant, from: GuidPrefix, origin: Origin, payload: &[u8]) -> bool {
        let known = self.remotes.get(&from);
        if known.is_none_or(|known| known.announcement != payload) {
            return false;
        }
        self.renew(now, from, origin);
        self.meet_again(now, from);
        true
    }

    /// Renews the lease of a participant.
    fn renew(&mut self, now: Instant, from: GuidPrefix, origin: Origin) {
        // With `any_source` no address is checked.
        if !self.config.any_source {
            self.addresses.meet(origin);
        }
        let known = self.remotes.get(&from);
        let until = known.map(|known| self.believed_until(now, known));
        if let Some((known, until)) = self.remotes.get_mut(&from).zip(until) {
            known.expires_at = until;
            known.period = known.period.max(now - known.heard_at);
            known.heard_at = now;
            self.lease_at = self.lease_at.min(until);
        }
    }

    /// Contacts the endpoints of a participant that have not answered.
    pub(super) fn meet_again(&mut self, now: Instant, from: GuidPrefix) {
        for local in self.readers.iter_mut().flatten() {
            local.reader.ask_silent(now, from);
        }
        for local in self.writers.iter_mut().flatten() {
            local.writer.tell_again(from);
        }
        self.call_further(now, from);
    }

    /// Announces this participant to a new one, so that it need not wait for the next period.
    pub(super) fn answer(&mut self, to: GuidPrefix) {
        if self.role().is_some() {
            // Its manager tells it.
            return;
        }
        match self.place_of(to) {
            Some(place) => self.announce(place),
            None => self.counters.unanswered += 1,
        }
    }

    /// Returns where a participant is told of this one.
    pub(super) fn place_of(&self, prefix: GuidPrefix) -> Option<Recipient> {
        let remote = self.remotes.get(&prefix)?;
        let places = self.reachable(prefix, &remote.data.metatraffic_unicast, false);
        places.first().map(|to| Recipient { to: *to, is_proved: self.is_proved(prefix, &places) })
    }

    /// Returns the locators, or groups, to which data for a participant may be sent.
    pub(super) fn reachable(
        &self,
        prefix: GuidPrefix,
        places: &[Locator],
        is_group: bool,
    ) -> Vec<Locator> {
        let places = places.iter().copied();
        let places = places.filter(|place| self.config.may_send_to(place, is_group));
        let mut places: Vec<Locator> = places.collect();
        self.sort_by_reach(prefix, &mut places);
        places
    }

    /// Matches the built-in endpoints.
    pub(super) fn know_built_in(&mut self, now: Instant, prefix: GuidPrefix) {
        if let Some(role) = self.role() {
            self.know_built_in_v1(now, role, prefix);
            return;
        }
        if !self.is_of_interest(prefix) {
            return;
        }
        let remote = self.remotes.get(&prefix);
        let Some(remote) = remote.filter(|remote| remote.is_admitted) else {
            return;
        };
        let unicast = self.reachable(prefix, &remote.data.metatraffic_unicast, false);
        let multicast = self.reachable(prefix, &remote.data.metatraffic_multicast, true);
        let endpoints = self.endpoints_of(remote);
        let proving = proving(endpoints);
        let told = remote.further.place().map_or_else(|| unicast.clone(), |to| alloc::vec![to]);
        for (bit, is_writer, entity, place) in BUILT_IN {
            if endpoints >> bit & 1 == 0 || !self.has_built_in(place) {
                continue;
            }
            let guid = Guid::new(prefix, entity);
            let locators = if proving == Some(place) {
                // Its numbers are a secret of the participant.
                Places::Secret(if is_writer { unicast.clone() } else { told.clone() })
            } else {
                Places::Usual(unicast.clone(), multicast.clone())
            };
            self.match_built_in(now, (guid, is_writer), place, locators);
        }
        self.take_in_expected(now, prefix);
    }

    /// Tells a participant its secret numbers at an address; `None`: at the first one.
    pub(super) fn tell_secret(&mut self, now: Instant, prefix: GuidPrefix, at: Option<Locator>) {
        let Some(remote) = self.remotes.get(&prefix) else {
            return;
        };
        let place = proving(self.endpoints_of(remote));
        let mut all = BUILT_IN.into_iter();
        let reader = all.find(|(_, is_writer, _, at)| !is_writer && place == Some(*at));
        let Some((_, _, entity, place)) = reader else {
            return;
        };
        let guid = Guid::new(prefix, entity);
        let writer = self.writers.get(place).and_then(Option::as_ref);
        if !writer.is_some_and(|local| local.writer.knows(guid)) {
            return;
        }
        let there = match at {
            Some(at) => alloc::vec![at],
            None => self.reachable(prefix, &remote.data.metatraffic_unicast, false),
        };
        self.match_built_in(now, (guid, false), place, Places::Secret(there));
    }

    /// Returns the built-in endpoints of a participant that are used: with expected endpoints, only
    /// those for liveliness.
    pub(super) fn endpoints_of(&self, remote: &Remote) -> u32 {
        if self.is_expected(remote.data.prefix) {
            remote.data.endpoints & !ENDPOINTS_OF_DISCOVERY
        } else {
            remote.data.endpoints
        }
    }

    /// Returns whether there are built-in endpoints at a place.
    fn has_built_in(&self, place: usize) -> bool {
        place < TYPE_REQUESTS || self.config.type_lookup
    }

    /// Matches a built-in endpoint of another participant with ours at a place.
    pub(super) fn match_built_in(
        &mut self,
        now: Instant,
        (guid, is_writer): (Guid, bool),
        place: usize,
        places: Places,
    ) {
        let is_secret = matches!(places, Places::Secret(_));
        let (unicast, multicast) = match places {
            Places::Usual(unicast, multicast) => (unicast, multicast),
            Places::Secret(unicast) => (unicast, Vec::new()),
        };
        let is_proved = self.is_proved(guid.prefix, &unicast);
        if is_writer {
            let remote = RemoteWriter {
                guid,
                group: None,
                is_reliable: true,
                strength: 0,
                deadline: Duration::INFINITE,
                lifespan: Duration::INFINITE,
                liveliness: Liveliness::default(),
                persistence: None,
                unicast,
                is_proved,
            };
            if let Some(local) = self.readers.get_mut(place).and_then(Option::as_mut) {
                local.reader.add_writer(now, remote);
            }
        } else {
            let secret = unicast.first().filter(|_| is_secret);
            let secret = secret.map(|to| self.secret_of(now, guid.prefix, to.origin()));
            let remote = RemoteReader {
                guid,
                reliability: Reliability::Reliable,
                wants_history: true,
                secret,
                is_proved,
                unicast,
                multicast,
                filter: None,
                separation: Duration::ZERO,
            };
            if let Some(local) = self.writers.get_mut(place).and_then(Option::as_mut) {
                local.writer.add_reader(now, remote);
            }
        }
    }

    /// Removes participants whose lease has expired.
    pub(super) fn expire_remotes(&mut self, now: Instant) {
        if self.lease_at > now {
            return;
        }
        loop {
            let mut remotes = self.remotes.iter();
            let silent = remotes.find(|(_, remote)| remote.expires_at <= now);
            let Some(prefix) = silent.map(|(prefix, _)| *prefix) else {
                break;
            };
            self.forget(now, prefix, Parting::Silent);
        }
        let leases = self.remotes.values().map(|remote| remote.expires_at);
        self.lease_at = leases.fold(Instant::NEVER, Instant::min);
    }

    /// Forgets a participant.
    pub(super) fn forget(&mut self, now: Instant, prefix: GuidPrefix, why: Parting) {
        self.hang_up(now, prefix);
        self.keep_position(prefix);
        let Some(remote) = self.remotes.remove(&prefix) else {
            return;
        };
        self.leaving.remove(&prefix);
        for entity in remote.writers.keys() {
            self.remove_remote_writer(now, Guid::new(prefix, *entity));
        }
        for entity in remote.readers.keys() {
            self.remove_remote_reader(Guid::new(prefix, *entity));
        }
        for (_, is_writer, entity, place) in BUILT_IN {
            let guid = Guid::new(prefix, entity);
            if !self.has_built_in(place) {
                continue;
            }
            if is_writer {
                if let Some(local) = self.readers.get_mut(place).and_then(Option::as_mut) {
                    local.reader.remove_writer(now, guid);
                }
            } else if let Some(local) = self.writers.get_mut(place).and_then(Option::as_mut) {
                local.writer.remove_reader(guid);
            }
        }
        self.forget_type_readers(prefix);
        if let Some(role) = self.role() {
            self.on_member_lost(now, role, &remote);
        }
        let remotes = &self.remotes;
        self.addresses.retain(|origin| remotes.values().any(|remote| is_at(remote, origin)));
        if remote.is_admitted {
            self.tell(Event::ParticipantLost { prefix, why });
        }
        self.sight_end(remote);
    }

    /// Handles the samples of the built-in readers.
    pub(super) fn take_discovery(&mut self, now: Instant) {
        if let Some(role) = self.role() {
            self.take_state(now, role);
            return;
        }
        for place in [PUBLICATIONS, SUBSCRIPTIONS, MESSAGES, TYPE_REQUESTS, TYPE_REPLIES] {
            while self.has_built_in(place) && (place >= MESSAGES || !self.is_watch_full()) {
                let Some(local) = self.readers.get_mut(place).and_then(Option::as_mut) else {
                    break;
                };
                let taken = local.reader.take(now, |info, payload, _| {
                    (info.writer.prefix, info.is_valid, info.key_hash, payload.to_vec())
                });
                let Some((from, is_valid, key_hash, payload)) = taken else {
                    break;
                };
                if place == MESSAGES {
                    self.handle_message(now, from, &payload);
                } else if place == TYPE_REQUESTS {
                    self.handle_type_request(now, from, &payload);
                } else if place == TYPE_REPLIES {
                    self.handle_type_reply(from, &payload);
                } else if is_valid {
                    self.handle_endpoint(now, from, place == PUBLICATIONS, &payload);
                } else {
                    let guid = decode_key(&payload).ok();
                    let guid = guid.or(key_hash.map(Guid::from_octets));
                    self.handle_end(now, from, guid);
                }
            }
        }
    }

    fn handle_endpoint(&mut self, now: Instant, from: GuidPrefix, is_writer: bool, payload: &[u8]) {
        let Ok(endpoint) = EndpointData::decode(payload, is_writer) else {
            self.counters.malformed += 1;
            return;
        };
        let entity = endpoint.guid.entity;
        let is_kind = if is_writer { entity.is_writer() } else { entity.is_reader() };
        if endpoint.guid.prefix != from || !is_kind || entity.is_built_in() {
            self.counters.forged += 1;
            return;
        }
        if let Some(endpoint) = self.sight_endpoint(is_writer, endpoint) {
            self.take_in_endpoint(now, is_writer, &endpoint);
        }
    }

    /// Adds an admitted endpoint.
    pub(super) fn take_in_endpoint(
        &mut self,
        now: Instant,
        is_writer: bool,
        endpoint: &EndpointData,
    ) {
        let guid = endpoint.guid;
        let max = usize::try_from(self.config.endpoints_max).unwrap_or(usize::MAX);
        let all = self.remotes.values();
        let all: usize = all.map(|one| one.writers.len() + one.readers.len()).sum();
        let is_full = all >= self.config.remote_endpoints_max;
        let Some(remote) = self.remotes.get_mut(&guid.prefix) else {
            return;
        };
        let known = if is_writer { &mut remote.writers } else { &mut remote.readers };
        if (is_full || known.len() >= max) && !known.contains_key(&guid.entity) {
            self.counters.refused += 1;
            return;
        }
        known.insert(guid.entity, endpoint.clone());
        self.has_group_news |= endpoint.group.is_some();
        if is_writer {
            self.match_remote_writer(now, endpoint);
        } else {
            self.match_remote_reader(now, endpoint);
        }
        self.call_further(now, guid.prefix);
    }

    pub(super) fn handle_end(&mut self, now: Instant, from: GuidPrefix, guid: Option<Guid>) {
        let Some(guid) = guid.filter(|guid| guid.prefix == from) else {
            self.counters.forged += 1;
            return;
        };
        self.drop_sightings(from, Some(guid.entity));
        self.drain(now, guid);
        if let Some(sighted) = self.end_endpoint(now, guid) {
            self.sight(Change::Gone, || sighted);
        }
    }

    /// Publishes the sample that announces an own endpoint, or its end.
    pub(super) fn publish_endpoint(
        &mut self,
        now: Instant,
        is_writer: bool,
        endpoint: &EndpointData,
        kind: ChangeKind,
    ) {
        let mut payload = Vec::new();
        let guid = endpoint.guid.octets();
        if self.role().is_some() {
            discovery::v1::encode_endpoint(endpoint, is_writer, &mut payload);
        } else if kind.is_alive() {
            endpoint.encode(&mut payload, is_writer);
        } else {
            encode_key(endpoint.guid, &mut payload);
        }
        let new = crate::writer::New {
            kind,
            payload: &payload,
            key: &guid,
            key_hash: Some(guid),
            time: self.wall(now),
            group_sequence: None,
        };
        let place = if is_writer { PUBLICATIONS } else { SUBSCRIPTIONS };
        if let Some(local) = self.writers.get_mut(place).and_then(Option::as_mut) {
            let written = local.writer.write(now, self.sending.sample_max, new);
            if written.is_err() {
                self.counters.refused += 1;
            }
        }
    }
}
