//! A writer: its history, its readers, and what it sends to them (8.4.7, 8.4.9).
//!
//! New samples are sent once to each locator with readers. Heartbeats tell reliable readers which
//! samples exist; they request missing ones, and a GAP reports those no longer available.

mod cache;
mod proxy;
mod secret;
mod send;
mod spacing;
mod window;

use alloc::vec::Vec;

pub(crate) use cache::{Cache, New};
pub use cache::{ChangeKind, WriteError};
pub(crate) use proxy::{Count, PARTIALS_MAX, ReaderProxy, RemoteReader};
use secret::Shown;
pub(crate) use secret::{Rounds, Secret};
pub(crate) use send::fragment_size;
use spacing::Spacing;

use crate::guid::{EntityId, Guid, GuidPrefix};
use crate::locator::{Locator, Origin, Recipient};
use crate::qos::{Durability, Qos};
use crate::sequence::SequenceNumber;
use crate::time::{Duration, Instant, WallTime};
use crate::wire::{AckNack, Builder, GroupDigest, NackFrag};

/// Maximum number of readers of a writer.
pub(crate) const READERS_MAX: usize = 1_024;

/// Maximum number of readers for which a writer filters; others only filter themselves, as all
/// readers do.
const FILTERS_MAX: usize = 32;

/// Timing of heartbeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriterTiming {
    /// From a sample to the first separate heartbeat, if a reader has not acknowledged it by then;
    /// doubled after each.
    pub heartbeat_min: Duration,
    /// Longest time between heartbeats.
    pub heartbeat_max: Duration,
}

impl Default for WriterTiming {
    fn default() -> Self {
        Self { heartbeat_min: Duration::from_ms(10), heartbeat_max: Duration::from_ms(500) }
    }
}

/// Parameters shared by all writers of a participant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sending {
    pub(crate) prefix: crate::guid::GuidPrefix,
    /// Maximum size of a datagram, in octets.
    pub(crate) datagram_max: usize,
    /// Size of a fragment, in octets.
    pub(crate) fragment: u16,
    pub(crate) sample_max: usize,
    /// RTPS 1.0: limit of a datagram with a single sample, in octets. `None`: RTPS 2.5.
    pub(crate) v1: Option<usize>,
}

impl Sending {
    /// Starts a message.
    pub(crate) fn message<'a>(&self, buffer: &'a mut Vec<u8>) -> Builder<'a> {
        match self.v1 {
            None => Builder::new(buffer, self.prefix, self.datagram_max),
            Some(most) => Builder::new_v1(buffer, self.prefix, self.datagram_max, most),
        }
    }
}

/// A locator with readers.
#[derive(Clone, Copy, Debug)]
struct Destination {
    locator: Locator,
    /// The participant that alone is sent samples there, with numbers of its own.
    sole: Option<GuidPrefix>,
    /// What is added to the numbers.
    offset: i64,
    /// Whether a reader there has proved to receive.
    is_proved: bool,
    /// Next sample to send there.
    next: SequenceNumber,
    /// Next fragment of it, from 1.
    fragment: u32,
}

impl Destination {
    fn recipient(&self) -> Recipient {
        Recipient { to: self.locator, is_proved: self.is_proved }
    }

    /// Begins a message to it.
    fn message<'a>(&self, sending: &Sending, buffer: &'a mut Vec<u8>) -> Builder<'a> {
        let mut message = sending.message(buffer);
        if let Some(prefix) = self.sole {
            message.only_for(prefix, self.offset);
        }
        message
    }

    /// Returns what it is sorted by.
    fn key(&self) -> (Locator, Option<GuidPrefix>) {
        (self.locator, self.sole)
    }
}

/// A writer.
#[derive(Debug)]
pub(crate) struct Writer {
    pub(crate) entity: EntityId,
    pub(crate) qos: Qos,
    pub(crate) cache: Cache,
    /// Ordered by GUID.
    pub(crate) proxies: Vec<ReaderProxy>,
    destinations: Vec<Destination>,
    /// Whether a reader has a content filter.
    has_filters: bool,
    /// Spacing for each destination; `None` if this writer does not separate samples.
    spacings: Option<Vec<Spacing>>,
    timing: WriterTiming,
    heartbeat_at: Option<Instant>,
    heartbeat_after: Duration,
    heartbeat_count: i32,
    /// Whether a single reader may need something; avoids scanning all of many.
    is_asked: bool,
    /// Whether samples may be multicast.
    may_multicast: bool,
}

impl Writer {
    pub(crate) fn new(
        entity: EntityId,
        qos: Qos,
        timing: WriterTiming,
        may_multicast: bool,
    ) -> Self {
        Self {
            entity,
            cache: Cache::new(&qos),
            qos,
            proxies: Vec::new(),
            destinations: Vec::new(),
            has_filters: false,
            spacings: None,
            timing,
            heartbeat_at: None,
            heartbeat_after: timing.heartbeat_min,
            heartbeat_count: 0,
            is_asked: false,
            may_multicast,
        }
    }

    /// Changes the mutable policies.
    pub(crate) fn set_qos(&mut self, now: Instant, qos: Qos) {
        self.cache.set_qos(now, &qos);
        self.qos = qos;
    }

    /// Writes a sample.
    pub(crate) fn write(
        &mut self,
        now: Instant,
        sample_max: usize,
        new: New<'_>,
    ) -> Result<SequenceNumber, WriteError> {
        if new.payload.len() > sample_max {
            return Err(WriteError::TooLong { max: sample_max });
        }
        self.cache.expire(now);
        let sequence = self.cache.push(now, new, self.acknowledged())?;
        self.plan_heartbeat(now);
        Ok(sequence)
    }

    /// Ends the open set.
    pub(crate) fn end_set(
        &mut self,
        now: Instant,
        time: WallTime,
        digest: Option<GroupDigest>,
    ) -> Result<(), WriteError> {
        let acknowledged = self.acknowledged();
        if self.cache.end_set(now, time, acknowledged, digest)? {
            self.plan_heartbeat(now);
        }
        Ok(())
    }

    fn plan_heartbeat(&mut self, now: Instant) {
        if self.has_reliable() {
            self.heartbeat_soon(now);
        }
    }

    fn has_reliable(&self) -> bool {
        self.proxies.iter().any(ReaderProxy::is_reliable)
    }

    /// Returns the last sample that all reliable readers have acknowledged. Readers that never
    /// answered are excluded, so that they cannot block the others.
    pub(crate) fn acknowledged(&self) -> SequenceNumber {
        let reliable = self.proxies.iter();
        let reliable = reliable.filter(|proxy| proxy.is_reliable() && !proxy.is_given_up());
        let least = reliable.map(|proxy| proxy.acknowledged).min();
        least.unwrap_or(self.cache.last())
    }

    /// Adds or updates a reader; returns whether the application is to be told of it: not before samples
    /// reach it, or the first ones would be lost where nothing is repeated.
    pub(crate) fn add_reader(&mut self, now: Instant, mut remote: RemoteReader) -> bool {
        self.is_asked = true;
        let others = self.proxies.iter().map(|proxy| &proxy.remote);
        let others = others.filter(|other| other.guid != remote.guid);
        if others.filter(|other| other.filter.is_some()).count() >= FILTERS_MAX {
            remote.filter = None;
        }
        match self.find(remote.guid) {
            Ok(index) => {
                let last = self.cache.last();
                if let Some(proxy) = self.proxies.get_mut(index) {
                    proxy.update(remote, last);
                    if !proxy.has_answered && proxy.is_reliable() {
                        self.heartbeat_soon(now);
                    }
                }
                let is_told = self.proxies.get_mut(index).is_some_and(ReaderProxy::become_told);
                self.rebuild_destinations();
                is_told
            }
            Err(index) => {
                if self.proxies.len() >= READERS_MAX {
                    return false;
                }
                remote.wants_history &= self.qos.durability != Durability::Volatile;
                let (first, last) = (self.cache.first(), self.cache.last());
                let mut proxy = ReaderProxy::new(remote, first, last);
                let is_told = proxy.become_told();
                if proxy.is_reliable() {
                    self.heartbeat_after = self.timing.heartbeat_min;
                    let at = now + self.heartbeat_after;
                    self.heartbeat_at.get_or_insert(at);
                }
                self.proxies.insert(index, proxy);
                self.rebuild_destinations();
                is_told
            }
        }
    }

    /// Removes a reader; returns whether it was known to the application.
    pub(crate) fn remove_reader(&mut self, guid: Guid) -> bool {
        let Ok(index) = self.find(guid) else {
            return false;
        };
        let proxy = self.proxies.remove(index);
        self.rebuild_destinations();
        if !self.has_reliable() {
            self.heartbeat_at = None;
        }
        proxy.is_told
    }

    /// Handles a sign of life of a participant: its given-up readers get another heartbeat.
    pub(crate) fn tell_again(&mut self, prefix: GuidPrefix) {
        let mut is_asked = false;
        for proxy in self.of_participant(prefix) {
            proxy.wants_heartbeat |= proxy.is_reliable() && proxy.is_given_up();
            is_asked |= proxy.wants_heartbeat;
        }
        self.is_asked |= is_asked;
    }

    /// Returns the readers of a participant.
    fn of_participant(&mut self, prefix: GuidPrefix) -> &mut [ReaderProxy] {
        let place = |proxy: &ReaderProxy| proxy.remote.guid.prefix;
        let start = self.proxies.partition_point(|one| place(one) < prefix);
        let end = self.proxies.partition_point(|one| place(one) <= prefix);
        self.proxies.get_mut(start..end).unwrap_or_default()
    }

    /// Handles the proof of a participant that it receives at these addresses, which are preferred,
    /// and returns its readers that the application may be told of now.
    pub(crate) fn on_proof(&mut self, prefix: GuidPrefix, proved: &[Origin]) -> Vec<Guid> {
        let mut told = Vec::new();
        for proxy in self.of_participant(prefix) {
            let unicast = &mut proxy.remote.unicast;
            // An address that is still to be proved keeps its numbers.
            if proxy.remote.secret.is_none() {
                unicast.sort_by_key(|place| !proved.contains(&place.origin()));
            }
            let first = unicast.first();
            proxy.remote.is_proved = first.is_none_or(|place| proved.contains(&place.origin()));
            if proxy.become_told() {
                told.push(proxy.remote.guid);
            }
        }
        self.rebuild_destinations();
        told
    }

    /// Returns whether a reader is matched.
    pub(crate) fn knows(&self, reader: Guid) -> bool {
        self.find(reader).is_ok()
    }

    /// Returns the locators at which a participant is to be sent data, and which it has not proved.
    pub(crate) fn unproved(&self, prefix: GuidPrefix) -> impl Iterator<Item = Locator> {
        let start = self.proxies.partition_point(|one| one.remote.guid.prefix < prefix);
        let own = self.proxies.iter().skip(start).map(|proxy| &proxy.remote);
        let own = own.take_while(move |remote| remote.guid.prefix == prefix);
        let own = own.filter(|remote| !remote.is_proved);
        own.filter_map(|remote| remote.unicast.first().copied())
    }

    /// Returns whether a reader has still to prove its address.
    pub(crate) fn is_to_prove(&self, reader: Guid) -> bool {
        let proxy = self.find(reader).ok();
        let proxy = proxy.and_then(|index| self.proxies.get(index));
        proxy.is_some_and(|proxy| proxy.remote.secret.is_some() && !proxy.remote.is_proved)
    }

    /// Returns the locator at which a reader receives, if its acknowledgment proves it.
    pub(crate) fn proved_by(
        &mut self,
        now: Instant,
        reader: Guid,
        ack: &AckNack,
    ) -> Option<Locator> {
        let known = [self.cache.first(), self.sent_to(reader)];
        let proxy = self.proxy_mut(reader)?;
        let shown = proxy.remote.secret.as_mut()?.judge(ack.set.base(), known);
        if shown == Shown::More {
            proxy.begin_anew();
            self.is_asked = true;
            self.rebuild_destinations();
            self.heartbeat_soon(now);
        }
        let place = self.proxy_mut(reader)?.place();
        place.filter(|_| shown == Shown::Proof)
    }

    /// Returns the number above all that a participant was told in proof of its address.
    pub(crate) fn position_of(&mut self, prefix: GuidPrefix) -> Option<i64> {
        let last = self.cache.last().0;
        let proxies = self.of_participant(prefix).iter();
        let mut proved = proxies.filter(|proxy| proxy.remote.is_proved);
        proved.find_map(|proxy| Some(proxy.remote.secret?.offset.saturating_add(last)))
    }

    fn find(&self, guid: Guid) -> Result<usize, usize> {
        self.proxies.binary_search_by_key(&guid, |proxy| proxy.remote.guid)
    }

    pub(crate) fn proxy_mut(&mut self, guid: Guid) -> Option<&mut ReaderProxy> {
        let index = self.find(guid).ok()?;
        self.proxies.get_mut(index)
    }

    /// Returns whether all reliable readers have acknowledged everything.
    pub(crate) fn is_acknowledged(&self) -> bool {
        self.acknowledged() >= self.cache.last()
    }

    /// Returns how many samples in the history lack the acknowledgment of a reader.
    pub(crate) fn unacknowledged(&self) -> u64 {
        let before_first = self.cache.first().0 - 1;
        let lacking = self.cache.last().0 - self.acknowledged().0.max(before_first);
        u64::try_from(lacking).unwrap_or(0)
    }

    /// Computes the destinations of new samples: one group that all readers have joined, if they
    /// are at several locators, otherwise each locator.
    fn rebuild_destinations(&mut self) {
        let next = self.destinations.iter().map(|there| there.next).min();
        let next = next.unwrap_or(self.cache.last().next());
        let mut readers = self.proxies.iter();
        self.has_filters = readers.any(|proxy| proxy.remote.filter.is_some());
        // Sorted, since searching all readers for each one is slow.
        let places = self.proxies.iter().filter_map(|proxy| {
            let place = proxy.place()?;
            Some(Destination {
                locator: place,
                sole: proxy.sole(),
                offset: proxy.offset(),
                is_proved: proxy.remote.is_proved,
                next,
                fragment: 1,
            })
        });
        let mut places: Vec<Destination> = places.collect();
        places.sort_unstable_by_key(|there| (there.key(), !there.is_proved));
        places.dedup_by_key(|there| there.key());
        if self.may_multicast && places.len() > 1 {
            let shared = self.proxies.first().and_then(|first| {
                let mut groups = first.remote.multicast.iter();
                groups.find(|group| {
                    let mut all = self.proxies.iter();
                    all.all(|proxy| proxy.remote.multicast.contains(group))
                })
            });
            if let Some(group) = shared {
                places = alloc::vec![Destination {
                    locator: *group,
                    sole: None,
                    offset: 0,
                    is_proved: places.iter().any(|there| there.is_proved),
                    next,
                    fragment: 1,
                }];
            }
        }
        let old = core::mem::take(&mut self.destinations);
        self.destinations = places
            .into_iter()
            .map(|new| {
                let known = old.binary_search_by_key(&new.key(), Destination::key);
                let known = known.ok().and_then(|index| old.get(index));
                known.map_or(new, |known| Destination {
                    next: known.next,
                    fragment: known.fragment,
                    ..new
                })
            })
            .collect();
        self.rebuild_spacings();
    }

    /// Returns the last sample that a reader was sent; later ones are waiting.
    fn sent_to(&self, reader: Guid) -> SequenceNumber {
        let last = self.cache.last();
        let proxy = self.find(reader).ok();
        let proxy = proxy.and_then(|index| self.proxies.get(index));
        let place = proxy.and_then(|proxy| Some((proxy.place()?, proxy.sole())));
        let there = place.and_then(|place| {
            let own = self.destinations.binary_search_by_key(&place, Destination::key);
            // If there is a group, it is the only destination.
            let index = own.unwrap_or(0);
            self.destinations.get(index)
        });
        there.map_or(last, |there| SequenceNumber(there.next.0 - 1).min(last))
    }

    /// Handles an ACKNACK.
    pub(crate) fn on_ack_nack(&mut self, now: Instant, from: Guid, ack: &AckNack) -> bool {
        let last = self.cache.last();
        let sent = self.sent_to(from);
        let Some(proxy) = self.proxy_mut(from).filter(|proxy| proxy.is_reliable()) else {
            return false;
        };
        if !proxy.on_ack_nack(ack, last, sent) {
            return false;
        }
        self.is_asked = true;
        if self.proxies.iter().any(|proxy| proxy.is_behind(last)) {
            self.heartbeat_soon(now);
        } else {
            self.heartbeat_at = None;
        }
        true
    }

    /// Handles a `NACK_FRAG`.
    pub(crate) fn on_nack_frag(&mut self, now: Instant, from: Guid, nack: &NackFrag) -> bool {
        let sent = self.sent_to(from);
        let proxy = self.proxy_mut(from).filter(|proxy| proxy.is_reliable());
        let is_news = proxy.is_some_and(|proxy| proxy.on_nack_frag(nack, sent));
        self.is_asked |= is_news;
        if is_news {
            self.heartbeat_soon(now);
        }
        is_news
    }

    /// Restarts with short heartbeat intervals: a live reader lacks samples.
    fn heartbeat_soon(&mut self, now: Instant) {
        self.heartbeat_after = self.timing.heartbeat_min;
        self.heartbeat_at = Some(now + self.heartbeat_after);
    }

    /// Returns the next timer.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        let all = [self.heartbeat_at, self.cache.deadline_at(), self.late_at()];
        all.into_iter().flatten().min()
    }
}
