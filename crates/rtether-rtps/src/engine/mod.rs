//! A participant of a domain: its endpoints, the remote participants it knows, and the traffic
//! between them.
//!
//! The host passes in time and datagrams, sends what [`Participant::poll_transmit`] returns, and
//! calls [`Participant::handle_timeout`] at [`Participant::poll_timeout`].

mod addresses;
mod admission;
mod config;
mod create;
mod demand;
mod endpoints;
mod expected;
mod further;
mod groups;
mod leaving;
mod liveliness;
mod matching;
mod policies;
mod proof;
mod receive;
mod remotes;
mod sightings;
mod sources;
mod types;
mod v1;
mod versions;

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

pub use config::{
    Config, Counters, Discovery, Event, Parting, Protocol, ReaderId, TopicName, Transport, WriterId,
};
pub use create::{CreateError, NewFilter, NewReader, NewWriter};
pub use endpoints::NewSample;
pub use expected::ExpectedEndpoint;
pub use groups::{PublisherId, SubscriberId};
pub use policies::ChangeError;
pub use sightings::{Change, Running, Sighted, Sighting};
pub use types::TypeReply;
pub use v1::SAMPLE_MAX as SAMPLE_MAX_V1;
pub use versions::Versions;

use groups::Publisher;

use crate::discovery::{EndpointData, Interests, ParticipantData, encode_key};
use crate::filter::Judge;
use crate::guid::{EntityId, Guid, GuidPrefix};
use crate::locator::{Locator, Origin, Recipient};
use crate::qos::{Durability, History, Qos, Reliability, ResourceLimits};
use crate::reader::{Pool, Reader};
use crate::sequence::SequenceNumber;
use crate::time::{Duration, Instant, WallTime};
use crate::wire::v1::Role;
use crate::wire::{Builder, Content, InlineQos, Status};
use crate::writer::{Sending, Writer, fragment_size};

/// Maximum number of waiting events; older ones are dropped and counted.
const EVENTS_MAX: usize = 1_024;
/// Maximum number of waiting announcements to single participants.
const ANNOUNCEMENTS_MAX: usize = 64;
/// Minimum time between announcements to all.
const ANNOUNCE_AFTER_MIN: Duration = Duration::from_ms(100);
/// Maximum size of a discovery sample, in octets.
const DISCOVERY_SAMPLE_MAX: usize = 64 << 10;
/// Indices of the built-in writers and readers.
const PUBLICATIONS: usize = 0;
const SUBSCRIPTIONS: usize = 1;
const MESSAGES: usize = 2;
/// Those of the type lookup service, in participants that have it.
const TYPE_REQUESTS: usize = 3;
const TYPE_REPLIES: usize = 4;

/// A writer of this participant.
struct LocalWriter {
    writer: Writer,
    /// Announced data; `None` for built-in endpoints.
    endpoint: Option<EndpointData>,
    /// Evaluates filters of readers.
    judge: Option<Judge>,
    publisher: Option<PublisherId>,
}

/// A reader of this participant.
struct LocalReader {
    reader: Reader,
    /// Announced data; `None` for built-in endpoints.
    endpoint: Option<EndpointData>,
    subscriber: Option<SubscriberId>,
}

/// A remote participant.
struct Remote {
    data: ParticipantData,
    /// Its last announcement, unparsed: the next one is usually identical.
    announcement: Vec<u8>,
    /// Address from which its first announcement came.
    origin: Origin,
    /// When it came.
    since: Instant,
    /// When its last announcement came, and the longest time between two of them.
    heard_at: Instant,
    period: Duration,
    /// Whether it counts as one that has answered: it has proved an address, or is vouched for by a
    /// manager.
    has_answered: bool,
    /// Addresses at which it has proved to receive.
    proved: Vec<Origin>,
    /// What is done about its further addresses.
    further: further::Further,
    expires_at: Instant,
    writers: BTreeMap<EntityId, EndpointData>,
    readers: BTreeMap<EntityId, EndpointData>,
    /// Whether it is admitted; in a watching participant the host decides.
    is_admitted: bool,
    /// RTPS 1.0: manager that reports it; `None` if it has announced itself here.
    via: Option<GuidPrefix>,
}

/// A participant.
pub struct Participant {
    config: Config,
    sending: Sending,
    /// Wall-clock time at the origin of the host's clock, in nanoseconds.
    wall_offset: i64,
    announcement: Vec<u8>,
    /// Topics in it, if endpoints are discovered on demand.
    interests: Option<Interests>,
    announce_at: Instant,
    /// Interval after the next announcement. Short at first and when a participant is new, since any
    /// announcement may be lost; then doubled up to the period.
    announce_after: Duration,
    /// Destinations of waiting announcements.
    announcements: VecDeque<Recipient>,
    is_leaving: bool,
    writers: Vec<Option<LocalWriter>>,
    readers: Vec<Option<LocalReader>>,
    next_entity: u32,
    publishers: Vec<Publisher>,
    subscribers: usize,
    /// Whether a publisher's set may have become complete.
    has_group_news: bool,
    remotes: BTreeMap<GuidPrefix, Remote>,
    leaving: BTreeMap<GuidPrefix, leaving::Leaving>,
    addresses: addresses::Addresses,
    closed: proof::Closed,
    positions: proof::Positions,
    /// Earliest times of the next warnings of refused participants and of withheld datagrams.
    warn_refused_at: Instant,
    warn_withheld_at: Instant,
    /// Not later than the first expiry of a remote lease.
    lease_at: Instant,
    /// Not later than the end of the first call of a further address.
    call_at: Instant,
    /// When the next liveliness assertion is due.
    alive_at: Option<Instant>,
    events: VecDeque<Event>,
    counters: Counters,
    /// Room for fragments shared by all readers.
    fragments: Pool,
    silent: Vec<Guid>,
    expected: expected::Expected,
    watch: sightings::Watch,
    running: Running,
    types: types::Types,
    v1: v1::State,
}

/// A datagram to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// Destination.
    pub to: Locator,
    /// Transport priority of the writer, or of the reader that acknowledges; zero for discovery.
    pub priority: i32,
}

/// The next datagram.
struct Next {
    recipient: Recipient,
    priority: i32,
    is_discovery: bool,
}

impl Participant {
    /// Creates a participant that announces itself at once.
    pub fn new(config: Config, now: Instant) -> Self {
        let sending = Sending {
            prefix: config.prefix,
            datagram_max: config.datagram_max.clamp(512, 65_507),
            fragment: fragment_size(config.datagram_max.clamp(512, 65_507)),
            sample_max: config.sample_max,
            v1: None,
        };
        let sending = v1::sending(sending, config.protocol);
        let mut announcement = Vec::new();
        config.participant_data().encode(&mut announcement);
        let mut this = Self {
            sending,
            wall_offset: 0,
            announcement,
            interests: None,
            announce_at: now,
            announce_after: ANNOUNCE_AFTER_MIN,
            announcements: VecDeque::new(),
            is_leaving: false,
            writers: Vec::new(),
            readers: Vec::new(),
            next_entity: 1,
            publishers: Vec::new(),
            subscribers: 0,
            has_group_news: false,
            remotes: BTreeMap::new(),
            leaving: BTreeMap::new(),
            addresses: addresses::Addresses::default(),
            closed: proof::Closed::new(),
            positions: proof::Positions::new(),
            warn_refused_at: now,
            warn_withheld_at: now,
            lease_at: Instant::NEVER,
            call_at: Instant::NEVER,
            alive_at: None,
            events: VecDeque::new(),
            counters: Counters::default(),
            fragments: Pool::new(config.fragments_max),
            silent: Vec::new(),
            expected: BTreeMap::new(),
            watch: None,
            running: Running::ALL,
            types: types::Types::default(),
            v1: v1::State::default(),
            config,
        };
        this.add_built_in();
        this.renew_interests(now);
        if let Some(role) = this.role() {
            this.describe_v1(role);
        }
        this
    }

    fn add_built_in(&mut self) {
        let qos = Qos {
            reliability: Reliability::Reliable,
            durability: Durability::TransientLocal,
            history: History::KeepLast(1),
            limits: ResourceLimits {
                samples: Some(self.config.endpoints_max.saturating_mul(2)),
                instances: Some(self.config.endpoints_max.saturating_mul(2)),
                samples_per_instance: None,
            },
            ..Qos::writer()
        };
        let is_v1 = self.role().is_some();
        let messages = (!is_v1).then_some(EntityId::MESSAGE_WRITER);
        let usual = [EntityId::PUBLICATIONS_WRITER, EntityId::SUBSCRIPTIONS_WRITER];
        for entity in usual.into_iter().chain(messages) {
            let writer = Writer::new(entity, qos.clone(), self.config.writer, false);
            self.writers.push(Some(LocalWriter {
                writer,
                endpoint: None,
                judge: None,
                publisher: None,
            }));
        }
        let writer_qos = qos.clone();
        let qos = Qos { history: History::KeepAll, ..qos };
        let messages = (!is_v1).then_some(EntityId::MESSAGE_READER);
        let usual = [EntityId::PUBLICATIONS_READER, EntityId::SUBSCRIPTIONS_READER];
        for entity in usual.into_iter().chain(messages) {
            let timing = self.config.reader;
            let reader = Reader::new(
                entity,
                qos.clone(),
                timing,
                None,
                DISCOVERY_SAMPLE_MAX,
                self.fragments.clone(),
            );
            self.readers.push(Some(LocalReader { reader, endpoint: None, subscriber: None }));
        }
        if is_v1 {
            self.add_built_in_v1(&writer_qos, &qos);
        } else if self.config.type_lookup {
            self.add_type_lookup();
        }
    }

    /// Sets the wall-clock time at `now`, from which the timestamps of samples are derived.
    pub fn set_wall_clock(&mut self, now: Instant, wall: WallTime) {
        self.wall_offset = wall.as_ns().saturating_sub(now.as_ns());
    }

    fn wall(&self, now: Instant) -> WallTime {
        WallTime::from_ns(now.as_ns().saturating_add(self.wall_offset))
    }

    /// Returns the version of the protocol that it speaks.
    pub fn protocol(&self) -> Protocol {
        self.config.protocol
    }

    /// Returns the known remote participants.
    pub fn participants(&self) -> impl Iterator<Item = &ParticipantData> {
        let known = self.remotes.values().filter(|remote| remote.is_admitted);
        known.map(|remote| &remote.data)
    }

    /// Returns the remote endpoints, and whether each is a writer.
    pub fn endpoints(&self) -> impl Iterator<Item = (bool, &EndpointData)> {
        self.remotes.values().flat_map(|remote| {
            let writers = remote.writers.values().map(|one| (true, one));
            writers.chain(remote.readers.values().map(|one| (false, one)))
        })
    }

    /// Returns the next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    fn tell(&mut self, event: Event) {
        if self.events.len() >= EVENTS_MAX {
            self.events.pop_front();
            self.counters.events_dropped += 1;
        }
        self.events.push_back(event);
    }

    /// Announces departure: datagrams sent from now on tell the others that this participant is
    /// gone.
    pub fn leave(&mut self) {
        self.is_leaving = true;
        self.announce_at = Instant::NEVER;
        self.announcements.clear();
        let configured = self.config.announce_to.iter();
        let configured = configured.map(|to| Recipient { to: *to, is_proved: true });
        self.announcements.extend(configured);
        if self.role().is_some() {
            // Managers tell the others.
            return;
        }
        for prefix in self.remotes.keys() {
            let place = self.place_of(*prefix);
            self.announcements.extend(place);
        }
    }

    /// Writes the next datagram into `buffer`; returns its destination, or `None` if nothing is to
    /// be sent now.
    pub fn poll_transmit(&mut self, now: Instant, buffer: &mut Vec<u8>) -> Option<Transmit> {
        if !self.running.sending {
            return None;
        }
        loop {
            let next = self.next_datagram(now, buffer)?;
            if self.may_transmit(now, next.recipient, buffer.len(), next.is_discovery) {
                return Some(Transmit { to: next.recipient.to, priority: next.priority });
            }
        }
    }

    /// Writes the next datagram into `buffer`.
    fn next_datagram(&mut self, now: Instant, buffer: &mut Vec<u8>) -> Option<Next> {
        for local in self.writers.iter_mut().flatten() {
            let writer = &mut local.writer;
            if let Some(recipient) = writer.poll_transmit(now, &self.sending, buffer) {
                let priority = writer.qos.transport_priority;
                let is_discovery = writer.entity.is_built_in();
                if !is_discovery && !recipient.to.is_multicast() {
                    self.acknowledge_along(now, recipient.to, buffer);
                }
                return Some(Next { recipient, priority, is_discovery });
            }
        }
        for local in self.readers.iter_mut().flatten() {
            let reader = &mut local.reader;
            if let Some(recipient) = reader.poll_transmit(now, &self.sending, buffer) {
                return Some(Next {
                    recipient,
                    priority: reader.qos.transport_priority,
                    is_discovery: reader.entity.is_built_in(),
                });
            }
        }
        let recipient = self.announcements.pop_front()?;
        self.write_announcement(buffer);
        Some(Next { recipient, priority: 0, is_discovery: true })
    }

    /// Adds acknowledgments to a datagram of a writer that goes where they do.
    fn acknowledge_along(&mut self, now: Instant, to: Locator, buffer: &mut Vec<u8>) {
        let all = self.readers.iter_mut().flatten();
        let all = all.filter(|local| !local.reader.entity.is_built_in());
        for local in all {
            let reader = &mut local.reader;
            reader.acknowledge_along(now, to, &self.sending, buffer);
        }
    }

    fn write_announcement(&self, buffer: &mut Vec<u8>) {
        if let Some(role) = self.role() {
            self.write_announcement_v1(role, buffer);
            return;
        }
        let sending = &self.sending;
        let mut message = Builder::new(buffer, sending.prefix, sending.datagram_max);
        let (reader, writer) = (EntityId::SPDP_READER, EntityId::SPDP_WRITER);
        let first = SequenceNumber::FIRST;
        if !self.is_leaving {
            let content = Content::Data(&self.announcement);
            message.data(reader, writer, first, &InlineQos::default(), content);
            return;
        }
        let own = self.config.guid(EntityId::PARTICIPANT);
        let mut key = Vec::new();
        encode_key(own, &mut key);
        let inline = InlineQos {
            key_hash: Some(own.octets()),
            status: Status { is_disposed: true, is_unregistered: true },
            ..InlineQos::default()
        };
        // Some peers take a second sample with the same number for a duplicate.
        message.data(reader, writer, first.next(), &inline, Content::Key(&key));
    }

    /// Returns when to call [`Self::handle_timeout`] if no datagram arrives before.
    pub fn poll_timeout(&self) -> Instant {
        if !self.running.sending {
            return self.poll_timeout_suspended();
        }
        let writers = self.writers.iter().flatten();
        let writers = writers.filter_map(|local| local.writer.poll_timeout());
        let readers = self.readers.iter().flatten();
        let readers = readers.filter_map(|local| local.reader.poll_timeout());
        let all = writers.chain(readers).chain(self.alive_at);
        let all = all.chain([self.leave_at(), self.call_at]);
        all.fold(self.announce_at.min(self.lease_at), Instant::min)
    }

    /// Handles the timers that are due at `now`.
    pub fn handle_timeout(&mut self, now: Instant) {
        if now >= self.announce_at && self.running.sending {
            let after = self.announce_after.min(self.config.announce_period);
            self.announce_at = now + after;
            self.announce_after = after.doubled();
            if self.role() == Some(Role::Manager) {
                self.repeat_managers(now);
            }
            for place in 0..self.config.announce_to.len() {
                if let Some(to) = self.config.announce_to.get(place).copied() {
                    self.announce(Recipient { to, is_proved: true });
                }
            }
        }
        self.end_leaves(now);
        self.end_calls(now);
        self.expire_remotes(now);
        self.assert_liveliness_if_due(now);
        self.handle_writers(now);
        self.handle_readers(now);
        self.deliver_group_sets(now);
    }

    fn announce(&mut self, to: Recipient) {
        if self.announcements.len() < ANNOUNCEMENTS_MAX {
            self.announcements.push_back(to);
        }
    }

    fn handle_writers(&mut self, now: Instant) {
        for index in 0..self.writers.len() {
            let Some(local) = self.writers.get_mut(index).and_then(Option::as_mut) else {
                continue;
            };
            let overdue = local.writer.cache.overdue(now);
            local.writer.cache.expire(now);
            if overdue > 0 {
                let writer = WriterId(index);
                self.tell(Event::OfferedDeadlineMissed { writer, overdue });
            }
        }
    }

    fn handle_readers(&mut self, now: Instant) {
        for index in 0..self.readers.len() {
            let Some(local) = self.readers.get_mut(index).and_then(Option::as_mut) else {
                continue;
            };
            self.silent.clear();
            let overdue = local.reader.handle_timeout(now, &mut self.silent);
            let reader = ReaderId(index);
            if overdue > 0 {
                self.tell(Event::DeadlineMissed { reader, overdue });
            }
            let silent = core::mem::take(&mut self.silent);
            for writer in silent.iter().copied() {
                self.tell(Event::WriterSilent { reader, writer });
            }
            self.silent = silent;
        }
    }
}
