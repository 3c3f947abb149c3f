//! Sightings: participants and endpoints on which a watching host decides before they are used; and
//! the start of a suspended participant.
//!
//! Nothing is matched before the host has admitted it. What the host has not decided on in time
//! waits at its origin: endpoints at the built-in readers, whose writers repeat them, and
//! participants until they announce themselves again.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::String;

use super::further::Further;
use super::{ANNOUNCE_AFTER_MIN, Event, Participant, Parting, Remote};
use crate::discovery::{EndpointData, ParticipantData};
use crate::guid::{EntityId, Guid, GuidPrefix};
use crate::time::Instant;

/// Maximum number of waiting sightings.
const SIGHTINGS_MAX: usize = 1_024;

/// What has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It is new, or was ignored before.
    New,
    /// Its announced data has changed.
    Changed,
    /// It is gone; no decision is needed.
    Gone,
}

/// Participant or endpoint seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sighted {
    /// A participant.
    Participant(ParticipantData),
    /// A writer of an admitted participant.
    Publication(EndpointData),
    /// A reader of an admitted participant.
    Subscription(EndpointData),
}

impl Sighted {
    /// Returns its GUID.
    pub fn guid(&self) -> Guid {
        match self {
            Self::Participant(data) => data.guid(),
            Self::Publication(data) | Self::Subscription(data) => data.guid,
        }
    }
}

/// A participant or endpoint that is new, changed or gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sighting {
    /// What has changed.
    pub change: Change,
    /// Participant or endpoint concerned.
    pub of: Sighted,
}

/// Sightings that await a decision; `None` unless the host watches.
pub(super) type Watch = Option<VecDeque<Sighting>>;

/// Which parts of a participant run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Running {
    /// Whether datagrams are received.
    pub receiving: bool,
    /// Whether datagrams are sent.
    pub sending: bool,
}

impl Running {
    /// Receives and sends.
    pub const ALL: Self = Self { receiving: true, sending: true };
    /// Neither: endpoints can be created, and samples written up to the limits of their histories.
    pub const NOTHING: Self = Self { receiving: false, sending: false };
    /// Receives only.
    pub const RECEIVING: Self = Self { receiving: true, sending: false };
    /// Sends only.
    pub const SENDING: Self = Self { receiving: false, sending: true };
}

impl Participant {
    /// Starts watching: from now on participants and endpoints are used only after [`Self::admit`].
    /// Those already known need no decision.
    pub fn watch(&mut self) {
        self.watch.get_or_insert_default();
    }

    /// Returns the next sighting, to be passed to [`Self::admit`] or [`Self::ignore`].
    pub fn poll_sighting(&mut self, now: Instant) -> Option<Sighting> {
        let watch = self.watch.as_mut()?;
        let was_full = watch.len() >= SIGHTINGS_MAX;
        let next = watch.pop_front();
        if was_full {
            self.take_discovery(now);
        }
        next
    }

    /// Returns whether an event or a sighting waits for the host.
    pub fn has_news(&self) -> bool {
        let is_seen = self.watch.as_ref().is_some_and(|watch| !watch.is_empty());
        is_seen || !self.events.is_empty()
    }

    /// Admits the participant or endpoint of a sighting.
    pub fn admit(&mut self, now: Instant, sighting: &Sighting) {
        match (sighting.change, &sighting.of) {
            (Change::Gone, _) => {}
            (_, Sighted::Participant(data)) => {
                let prefix = data.prefix;
                let Some(remote) = self.remotes.get_mut(&prefix) else {
                    return;
                };
                if !core::mem::replace(&mut remote.is_admitted, true) {
                    self.greet(now, prefix, data.name.clone());
                }
                self.know_built_in(now, prefix);
            }
            (_, Sighted::Publication(data)) => self.take_in_endpoint(now, true, data),
            (_, Sighted::Subscription(data)) => self.take_in_endpoint(now, false, data),
        }
    }

    /// Ignores the participant or endpoint of a sighting until its announced data changes.
    pub fn ignore(&mut self, now: Instant, sighting: &Sighting) {
        match (sighting.change, &sighting.of) {
            (Change::Gone | Change::New, _) => {}
            (Change::Changed, Sighted::Participant(data)) => self.leave_out(now, data.prefix),
            (Change::Changed, Sighted::Publication(data) | Sighted::Subscription(data)) => {
                let _ = self.end_endpoint(now, data.guid);
            }
        }
    }

    /// Keeps a participant in the table, but drops its endpoints and matches.
    fn leave_out(&mut self, now: Instant, prefix: GuidPrefix) {
        let Some(remote) = self.remotes.get(&prefix).filter(|one| one.is_admitted) else {
            return;
        };
        let remote = Remote {
            data: remote.data.clone(),
            announcement: remote.announcement.clone(),
            origin: remote.origin,
            since: remote.since,
            heard_at: remote.heard_at,
            period: remote.period,
            has_answered: remote.has_answered,
            proved: remote.proved.clone(),
            further: Further::default(),
            expires_at: remote.expires_at,
            writers: BTreeMap::new(),
            readers: BTreeMap::new(),
            is_admitted: false,
            via: remote.via,
        };
        let expires_at = remote.expires_at;
        self.forget(now, prefix, Parting::Ignored);
        self.addresses.meet(remote.origin);
        self.remotes.insert(prefix, remote);
        self.lease_at = self.lease_at.min(expires_at);
    }

    /// Reports a new participant, answers it, and announces more often for a while.
    pub(super) fn greet(&mut self, now: Instant, prefix: GuidPrefix, name: String) {
        self.tell(Event::ParticipantFound { prefix, name });
        // It hears the next announcement to all, soon enough if nothing is exchanged with it.
        if self.is_of_interest(prefix) {
            self.answer(prefix);
        }
        self.announce_after = ANNOUNCE_AFTER_MIN;
        self.announce_at = self.announce_at.min(now + ANNOUNCE_AFTER_MIN);
    }

    /// Returns whether the host decides on admission.
    pub(super) fn is_watching(&self) -> bool {
        self.watch.is_some()
    }

    /// Returns whether no more sightings can be queued.
    pub(super) fn is_watch_full(&self) -> bool {
        let waiting = self.watch.as_ref().map_or(0, VecDeque::len);
        waiting >= SIGHTINGS_MAX
    }

    /// Queues a sighting, if the host watches and there is room.
    pub(super) fn sight(&mut self, change: Change, of: impl FnOnce() -> Sighted) {
        let is_full = self.is_watch_full();
        if let Some(watch) = &mut self.watch {
            if is_full {
                self.counters.events_dropped += 1;
            } else {
                watch.push_back(Sighting { change, of: of() });
            }
        }
    }

    /// Queues the announced data of an endpoint as a sighting; returns it if no decision is needed.
    pub(super) fn sight_endpoint(
        &mut self,
        is_writer: bool,
        data: EndpointData,
    ) -> Option<EndpointData> {
        if !self.is_watching() {
            return Some(data);
        }
        let known = self.known_endpoint(data.guid);
        if known == Some(&data) {
            return Some(data);
        }
        let change = if known.is_some() { Change::Changed } else { Change::New };
        self.sight(change, || sighted(is_writer, data));
        None
    }

    fn known_endpoint(&self, guid: Guid) -> Option<&EndpointData> {
        let remote = self.remotes.get(&guid.prefix)?;
        let writer = remote.writers.get(&guid.entity);
        writer.or_else(|| remote.readers.get(&guid.entity))
    }

    /// Drops the sightings of an endpoint, or of a participant and all its endpoints.
    pub(super) fn drop_sightings(&mut self, prefix: GuidPrefix, entity: Option<EntityId>) {
        if let Some(watch) = &mut self.watch {
            watch.retain(|sighting| {
                let guid = sighting.of.guid();
                let is_meant = entity.is_none_or(|entity| entity == guid.entity);
                sighting.change == Change::Gone || guid.prefix != prefix || !is_meant
            });
        }
    }

    /// Reports to a watching host that a participant is gone with its endpoints.
    pub(super) fn sight_end(&mut self, remote: Remote) {
        if !self.is_watching() {
            return;
        }
        self.drop_sightings(remote.data.prefix, None);
        for data in remote.writers.into_values() {
            self.sight(Change::Gone, || Sighted::Publication(data));
        }
        for data in remote.readers.into_values() {
            self.sight(Change::Gone, || Sighted::Subscription(data));
        }
        self.sight(Change::Gone, || Sighted::Participant(remote.data));
    }

    /// Removes a remote endpoint; returns what it was.
    pub(super) fn end_endpoint(&mut self, now: Instant, guid: Guid) -> Option<Sighted> {
        let remote = self.remotes.get_mut(&guid.prefix)?;
        self.has_group_news = true;
        if let Some(data) = remote.writers.remove(&guid.entity) {
            self.remove_remote_writer(now, guid);
            return Some(Sighted::Publication(data));
        }
        let data = remote.readers.remove(&guid.entity)?;
        self.remove_remote_reader(guid);
        Some(Sighted::Subscription(data))
    }

    /// Suspends a participant that has not started.
    pub fn suspend(&mut self) {
        self.running = Running::NOTHING;
    }

    /// Starts what was suspended; running parts continue.
    pub fn start(&mut self, now: Instant, start: Running) {
        self.running.receiving |= start.receiving;
        if start.sending && !self.running.sending {
            self.running.sending = true;
            self.announce_at = now;
            self.announce_after = ANNOUNCE_AFTER_MIN;
        }
    }

    /// Returns which parts run.
    pub fn running(&self) -> Running {
        self.running
    }

    /// Returns the next timeout of a suspended participant, without sending: transmissions wait for
    /// the start.
    pub(super) fn poll_timeout_suspended(&self) -> Instant {
        let writers = self.writers.iter().flatten();
        let writers = writers.filter_map(|local| local.writer.cache.deadline_at());
        let readers = self.readers.iter().flatten();
        let readers = readers.filter_map(|local| local.reader.timer_at());
        let all = writers.chain(readers).chain([self.leave_at()]);
        all.fold(self.lease_at, Instant::min)
    }
}

fn sighted(is_writer: bool, data: EndpointData) -> Sighted {
    if is_writer { Sighted::Publication(data) } else { Sighted::Subscription(data) }
}
