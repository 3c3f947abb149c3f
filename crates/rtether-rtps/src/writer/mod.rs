//! A writer: its history, the readers it knows, and what it sends to them (8.4.7, 8.4.9).
//!
//! New samples go once to each place where readers are. Reliable readers are told by heartbeats what
//! there is, and ask for what they lack; what is gone by then they are told with a GAP.

mod cache;
mod proxy;
mod send;
mod spacing;
mod window;

use alloc::vec::Vec;

pub(crate) use cache::{Cache, New};
pub use cache::{ChangeKind, WriteError};
pub(crate) use proxy::{Count, ReaderProxy, RemoteReader};
pub(crate) use send::fragment_size;
use spacing::Spacing;

use crate::guid::{EntityId, Guid, GuidPrefix};
use crate::locator::Locator;
use crate::qos::{Durability, Qos};
use crate::sequence::SequenceNumber;
use crate::time::{Duration, Instant, WallTime};
use crate::wire::{AckNack, GroupDigest, NackFrag};

/// Readers that a writer knows at most.
pub(crate) const READERS_MAX: usize = 1_024;

/// Readers for which a writer filters at most; the others filter for themselves, as all do.
const FILTERS_MAX: usize = 32;

/// How a writer keeps its readers up to date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriterTiming {
    /// From a sample to the first heartbeat of its own, if no reader has acknowledged it by then;
    /// doubled from one to the next.
    pub heartbeat_min: Duration,
    /// The longest time between heartbeats.
    pub heartbeat_max: Duration,
}

impl Default for WriterTiming {
    fn default() -> Self {
        Self {
            heartbeat_min: Duration::from_ms(10),
            heartbeat_max: Duration::from_ms(500),
        }
    }
}

/// What all writers of a participant share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sending {
    pub(crate) prefix: crate::guid::GuidPrefix,
    /// Octets of a datagram at most.
    pub(crate) datagram_max: usize,
    /// Octets of a fragment.
    pub(crate) fragment: u16,
    pub(crate) sample_max: usize,
}

/// A place where readers are.
#[derive(Clone, Copy, Debug)]
struct Destination {
    locator: Locator,
    /// The next sample to be sent there.
    next: SequenceNumber,
    /// Its next fragment, from 1.
    fragment: u32,
}

/// A writer.
#[derive(Debug)]
pub(crate) struct Writer {
    pub(crate) entity: EntityId,
    pub(crate) qos: Qos,
    pub(crate) cache: Cache,
    /// In the order of their names.
    pub(crate) proxies: Vec<ReaderProxy>,
    destinations: Vec<Destination>,
    /// Whether a reader wants only some samples.
    has_filters: bool,
    /// What keeps samples apart, for each of them; none if the writer does not do that.
    spacings: Option<Vec<Spacing>>,
    timing: WriterTiming,
    heartbeat_at: Option<Instant>,
    heartbeat_after: Duration,
    heartbeat_count: i32,
    /// Whether a single reader may want something: of many mostly none does.
    is_asked: bool,
    /// Whether samples may go to groups.
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

    /// Changes its policies, as far as they may change.
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

    /// Says that the samples since the begin of the set belong together.
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

    /// Returns up to where all reliable readers have everything, save for those of which nothing was
    /// ever heard: they may not hold up the others.
    pub(crate) fn acknowledged(&self) -> SequenceNumber {
        let reliable = self.proxies.iter();
        let reliable = reliable.filter(|proxy| proxy.is_reliable() && !proxy.is_given_up());
        let least = reliable.map(|proxy| proxy.acknowledged).min();
        least.unwrap_or(self.cache.last())
    }

    /// Takes in a reader, or what has changed about it; returns whether it is new and there is room.
    pub(crate) fn add_reader(&mut self, now: Instant, mut remote: RemoteReader) -> bool {
        self.is_asked = true;
        let others = self.proxies.iter().map(|proxy| &proxy.remote);
        let others = others.filter(|other| other.guid != remote.guid);
        if others.filter(|other| other.filter.is_some()).count() >= FILTERS_MAX {
            remote.filter = None;
        }
        match self.find(remote.guid) {
            Ok(index) => {
                if let Some(proxy) = self.proxies.get_mut(index) {
                    proxy.remote = remote;
                }
                self.rebuild_destinations();
                false
            }
            Err(index) => {
                if self.proxies.len() >= READERS_MAX {
                    return false;
                }
                remote.wants_history &= self.qos.durability != Durability::Volatile;
                let (first, last) = (self.cache.first(), self.cache.last());
                let proxy = ReaderProxy::new(remote, first, last);
                if proxy.is_reliable() {
                    self.heartbeat_after = self.timing.heartbeat_min;
                    let at = now + self.heartbeat_after;
                    self.heartbeat_at.get_or_insert(at);
                }
                self.proxies.insert(index, proxy);
                self.rebuild_destinations();
                true
            }
        }
    }

    /// Forgets a reader; returns whether there was one.
    pub(crate) fn remove_reader(&mut self, guid: Guid) -> bool {
        let Ok(index) = self.find(guid) else {
            return false;
        };
        self.proxies.remove(index);
        self.rebuild_destinations();
        if !self.has_reliable() {
            self.heartbeat_at = None;
        }
        true
    }

    /// The participant is still there: its readers that were given up are told once more.
    pub(crate) fn tell_again(&mut self, prefix: GuidPrefix) {
        let place = |proxy: &ReaderProxy| proxy.remote.guid.prefix;
        let start = self.proxies.partition_point(|one| place(one) < prefix);
        let end = self.proxies.partition_point(|one| place(one) <= prefix);
        for proxy in self.proxies.get_mut(start..end).unwrap_or_default() {
            proxy.wants_heartbeat |= proxy.is_reliable() && proxy.is_given_up();
            self.is_asked |= proxy.wants_heartbeat;
        }
    }

    fn find(&self, guid: Guid) -> Result<usize, usize> {
        self.proxies
            .binary_search_by_key(&guid, |proxy| proxy.remote.guid)
    }

    pub(crate) fn proxy_mut(&mut self, guid: Guid) -> Option<&mut ReaderProxy> {
        let index = self.find(guid).ok()?;
        self.proxies.get_mut(index)
    }

    /// Returns whether all reliable readers have acknowledged everything.
    pub(crate) fn is_acknowledged(&self) -> bool {
        self.acknowledged() >= self.cache.last()
    }

    /// Returns how many of the samples that are still there some reader has not acknowledged.
    pub(crate) fn unacknowledged(&self) -> u64 {
        let before_first = self.cache.first().0 - 1;
        let lacking = self.cache.last().0 - self.acknowledged().0.max(before_first);
        u64::try_from(lacking).unwrap_or(0)
    }

    /// Works out where new samples go: to a group that all listen to if they are at several places, or
    /// else to each place.
    fn rebuild_destinations(&mut self) {
        let next = self.destinations.iter().map(|there| there.next).min();
        let next = next.unwrap_or(self.cache.last().next());
        let mut readers = self.proxies.iter();
        self.has_filters = readers.any(|proxy| proxy.remote.filter.is_some());
        // Sorted, since with many readers looking for each among all takes long.
        let mut places: Vec<Locator> = self.proxies.iter().filter_map(ReaderProxy::place).collect();
        places.sort_unstable();
        places.dedup();
        if self.may_multicast && places.len() > 1 {
            let shared = self.proxies.first().and_then(|first| {
                let mut groups = first.remote.multicast.iter();
                groups.find(|group| {
                    let mut all = self.proxies.iter();
                    all.all(|proxy| proxy.remote.multicast.contains(group))
                })
            });
            if let Some(group) = shared {
                places = alloc::vec![*group];
            }
        }
        let old = core::mem::take(&mut self.destinations);
        self.destinations = places
            .into_iter()
            .map(|locator| {
                let known = old.binary_search_by_key(&locator, |there| there.locator);
                let known = known.ok().and_then(|index| old.get(index));
                known.copied().unwrap_or(Destination {
                    locator,
                    next,
                    fragment: 1,
                })
            })
            .collect();
        self.rebuild_spacings();
    }

    /// Returns up to which sample a reader has been sent what is written; what follows waits for its turn.
    fn sent_to(&self, reader: Guid) -> SequenceNumber {
        let last = self.cache.last();
        let proxy = self.find(reader).ok();
        let place = proxy.and_then(|index| self.proxies.get(index)?.place());
        let there = place.and_then(|place| {
            let own = self
                .destinations
                .binary_search_by_key(&place, |there| there.locator);
            // Where there is a group, it is the only one.
            let index = own.unwrap_or(0);
            self.destinations.get(index)
        });
        there.map_or(last, |there| SequenceNumber(there.next.0 - 1).min(last))
    }

    /// Takes in an ACKNACK from a reader.
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

    /// Takes in which fragments a reader lacks.
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

    /// Begins anew with short times between heartbeats: a reader is there and lacks something.
    fn heartbeat_soon(&mut self, now: Instant) {
        self.heartbeat_after = self.timing.heartbeat_min;
        self.heartbeat_at = Some(now + self.heartbeat_after);
    }

    /// Returns when it has something to do although nothing comes in.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        let all = [self.heartbeat_at, self.cache.deadline_at(), self.late_at()];
        all.into_iter().flatten().min()
    }
}
