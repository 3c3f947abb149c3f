//! Managers and applications of RTPS 1.0: who is believed to be one, and for how long.
//!
//! The protocol has no source checks. Here an application listens to the manager of its host and to
//! those named by the host, a manager to applications of its host and to managers named by the host;
//! each only from addresses that it has announced. What these managers report is believed, and no
//! other report.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::discovery::ParticipantData;
use crate::discovery::v1::{Membership, Ports, decode_participant};
use crate::engine::further::Further;
use crate::engine::sightings::{Change, Sighted};
use crate::engine::{Event, Participant, Remote};
use crate::guid::{EntityId, Guid, GuidPrefix};
use crate::locator::{Locator, Origin};
use crate::time::{Duration, Instant};
use crate::wire::v1::{Role, Source};

/// What is known of a participant.
struct Member<'a> {
    data: ParticipantData,
    payload: &'a [u8],
    /// Address from which it, or for a reported one its first address.
    origin: Origin,
    /// Manager that reports it; `None` if it has announced itself.
    via: Option<GuidPrefix>,
}

impl Participant {
    pub(in crate::engine) fn ports_v1(&self) -> Ports {
        Ports::new(self.config.domain).unwrap_or(Ports { manager: 0, samples: 0, discovery: 0 })
    }

    /// Handles what a participant announces of itself; `None`: that it leaves.
    pub(super) fn on_self(
        &mut self,
        now: Instant,
        own: Role,
        (from, origin): (GuidPrefix, Origin),
        payload: Option<&[u8]>,
    ) {
        if from == self.config.prefix {
            return;
        }
        if !self.may_speak(from, origin) {
            self.counters.impostors += 1;
            return;
        }
        let Some(payload) = payload else {
            if self.remotes.contains_key(&from) {
                self.take_leave(now, from, true);
            }
            return;
        };
        let Some((data, member)) = self.described(from, payload) else {
            return;
        };
        if !self.is_address_of(&data, origin) {
            self.counters.impostors += 1;
            return;
        }
        let is_here = self.is_own(origin);
        let may = match (own, Source::of(from).role()) {
            (Role::Manager, Some(Role::Application)) => is_here || self.has_own_key(&member.keys),
            (Role::Manager, Some(Role::Manager)) => self.is_configured(origin),
            (Role::Application, Some(Role::Manager)) => is_here || self.is_configured(origin),
            _ => false,
        };
        if !may {
            self.counters.unanswered += 1;
            return;
        }
        let member = Member { data, payload, origin, via: None };
        self.meet_member(now, own, member);
    }

    /// Handles the report of a manager on another participant; `None`: that it is gone.
    pub(super) fn on_report(
        &mut self,
        now: Instant,
        own: Role,
        (via, reported): (GuidPrefix, Role),
        guid: Guid,
        payload: Option<&[u8]>,
    ) {
        let prefix = guid.prefix;
        if guid.entity != EntityId::PARTICIPANT || Source::of(prefix).role() != Some(reported) {
            self.counters.forged += 1;
            return;
        }
        if prefix == self.config.prefix || prefix == via {
            return;
        }
        let known = self.remotes.get(&prefix);
        // What a participant says of itself counts more.
        if known.is_some_and(|known| known.via.is_none()) {
            return;
        }
        let Some(payload) = payload else {
            if known.is_some_and(|known| known.via == Some(via)) {
                self.take_leave(now, prefix, false);
            }
            return;
        };
        let Some((data, _)) = self.described(prefix, payload) else {
            return;
        };
        let reachable = self.reachable(prefix, &data.metatraffic_unicast, false);
        let Some(origin) = reachable.first().map(Locator::origin) else {
            self.counters.unanswered += 1;
            return;
        };
        self.stay(prefix);
        let member = Member { data, payload, origin, via: Some(via) };
        self.meet_member(now, own, member);
    }

    fn described(
        &mut self,
        prefix: GuidPrefix,
        payload: &[u8],
    ) -> Option<(ParticipantData, Membership)> {
        let described = decode_participant(prefix, self.ports_v1(), payload);
        let described = described.ok();
        let described = described.filter(|(data, _)| data.lease > Duration::ZERO);
        if described.is_none() {
            self.counters.malformed += 1;
        }
        described
    }

    fn meet_member(&mut self, now: Instant, own: Role, member: Member<'_>) {
        let prefix = member.data.prefix;
        let until = match member.via {
            Some(_) => Instant::NEVER,
            None => now + member.data.lease.min(self.config.lease_max),
        };
        if self.remotes.contains_key(&prefix) {
            self.meet_at(&member);
        }
        let Some(known) = self.remotes.get_mut(&prefix) else {
            self.add_member(now, own, member, until);
            return;
        };
        let is_same = known.announcement == member.payload && known.via == member.via;
        (known.via, known.expires_at) = (member.via, until);
        known.period = known.period.max(now - known.heard_at);
        known.heard_at = now;
        self.lease_at = self.lease_at.min(until);
        if is_same {
            self.meet_again(now, prefix);
            return;
        }
        known.data.clone_from(&member.data);
        known.announcement = member.payload.to_vec();
        known.proved.retain(|one| *one == member.origin);
        self.know_built_in(now, prefix);
        if own == Role::Manager && member.via.is_none() {
            self.publish_member(now, member.data.guid(), Some(member.payload));
        }
        self.sight(Change::Changed, || Sighted::Participant(member.data));
    }

    /// Adds the address of a participant.
    fn meet_at(&mut self, member: &Member<'_>) {
        if !self.config.any_source {
            self.addresses.meet(member.origin);
        }
    }

    fn add_member(&mut self, now: Instant, own: Role, member: Member<'_>, until: Instant) {
        if self.is_watch_full() {
            self.counters.unanswered += 1;
            return;
        }
        if !self.make_room(now, member.origin) {
            return;
        }
        self.meet_at(&member);
        let data = member.data;
        let prefix = data.prefix;
        self.remotes.insert(
            prefix,
            Remote {
                data: data.clone(),
                announcement: member.payload.to_vec(),
                origin: member.origin,
                since: now,
                heard_at: now,
                period: Duration::ZERO,
                // Believed, or vouched for by one who is; what it is sent is limited all the same.
                has_answered: true,
                proved: Vec::new(),
                further: Further::default(),
                expires_at: until,
                writers: BTreeMap::new(),
                readers: BTreeMap::new(),
                is_admitted: !self.is_watching(),
                via: member.via,
            },
        );
        self.lease_at = self.lease_at.min(until);
        if self.is_watching() {
            self.sight(Change::New, || Sighted::Participant(data));
            return;
        }
        let guid = data.guid();
        if member.via.is_none() {
            self.greet(now, prefix, data.name);
        } else {
            let name = data.name;
            self.tell(Event::ParticipantFound { prefix, name });
        }
        self.know_built_in(now, prefix);
        if own == Role::Manager && member.via.is_none() {
            self.publish_member(now, guid, Some(member.payload));
        }
    }

    /// Handles a sign of life of a participant. One that its manager reports needs none while that
    /// manager lives.
    pub(super) fn on_sign_of_life(&mut self, now: Instant, from: GuidPrefix) {
        let lease_max = self.config.lease_max;
        let known = self.remotes.get_mut(&from);
        if let Some(known) = known.filter(|known| known.expires_at != Instant::NEVER) {
            known.expires_at = now + known.data.lease.min(lease_max);
        }
    }

    /// Handles the loss of a participant: those that it reported now have to show that they live.
    pub(in crate::engine) fn on_member_lost(&mut self, now: Instant, own: Role, lost: &Remote) {
        let prefix = lost.data.prefix;
        self.forget_built_in_v1(now, prefix);
        let lease_max = self.config.lease_max;
        let mut first = Instant::NEVER;
        let all = self.remotes.values_mut();
        for one in all.filter(|one| one.via == Some(prefix)) {
            one.expires_at = now + one.data.lease.min(lease_max);
            first = first.min(one.expires_at);
        }
        self.lease_at = self.lease_at.min(first);
        if own == Role::Manager && lost.via.is_none() {
            self.publish_member(now, lost.data.guid(), None);
        }
    }
}
