//! A reader: its writers, its instances, and the samples that wait for the application (8.4.10,
//! 8.4.12).
//!
//! Samples of a reliable writer are delivered in order; early ones are held. `accept` applies the
//! policies that keep samples from the application.

mod accept;
mod coherent;
mod drain;
mod fragments;
mod group;
mod held;
mod instance;
mod pool;
mod proxy;
mod queue;
mod reassembly;
mod sample;
mod send;
#[cfg(test)]
mod tests;
mod track;

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

use held::HELD_OCTETS_MAX;
use instance::Instance;
pub(crate) use pool::{Pool, make_room};
use proxy::Scope;
pub(crate) use proxy::{Gone, RemoteWriter, WriterProxy};
pub(crate) use sample::{Arrived, Sample, kind, octets};
pub use sample::{
    InstanceState, KeyOf, ReaderCounters, ReaderTiming, SampleInfo, WriteKey, WriteKeyFn,
};
use track::Turn;

use crate::filter::{Filter, Judge};
use crate::guid::{EntityId, Guid, GuidPrefix};
use crate::locator::{Locator, Origin};
use crate::qos::{Durability, History, LivelinessKind, Qos, Reliability};
use crate::sequence::SequenceNumber;
use crate::time::{Duration, Instant};
use crate::wire::{Gap, Heartbeat};

/// Maximum number of writers of a reader.
pub(crate) const WRITERS_MAX: usize = 1_024;
/// Default limit of samples that wait for the application.
const SAMPLES_DEFAULT: usize = 4_096;
/// Default limit of instances.
const INSTANCES_DEFAULT: usize = 4_096;
/// Maximum number of buffers kept for reuse.
const SPARE_MAX: usize = 64;
/// Maximum number of departed writers remembered.
const GONE_MAX: usize = 64;

/// A reader.
#[allow(clippy::struct_excessive_bools, reason = "each is a state of its own")]
pub(crate) struct Reader {
    pub(crate) entity: EntityId,
    pub(crate) qos: Qos,
    /// Ordered by GUID.
    pub(crate) proxies: Vec<WriterProxy>,
    pub(crate) counters: ReaderCounters,
    key_of: Option<KeyOf>,
    /// Content filter.
    pub(crate) filter: Option<(Filter, Judge)>,
    timing: ReaderTiming,
    depth: Option<usize>,
    samples_max: usize,
    instances_max: usize,
    sample_max: usize,
    pool: Pool,
    instances: Vec<Instance>,
    by_key: BTreeMap<Vec<u8>, usize>,
    queue: VecDeque<Sample>,
    /// Not later than the next timer of a writer; avoids scanning all of many.
    next_at: Instant,
    /// Whether an acknowledgment may have to travel along.
    owes_many: bool,
    /// Not later than the next timer of an instance.
    timer_at: Option<Instant>,
    key: Vec<u8>,
    spare: Vec<Vec<u8>>,
    /// Count of ACKNACK and `NACK_FRAG`, for all writers.
    count: i32,
    /// Whether it belongs to a subscriber, and requests access by group.
    pub(crate) is_in_group: bool,
    /// Whether a publisher's set may have become complete.
    pub(crate) has_group_news: bool,
    /// Whether a sample was refused for lack of room.
    is_starved: bool,
    /// Reliable writers that are gone.
    gone: VecDeque<Gone>,
}

fn limit(limit: Option<u32>, default: usize) -> usize {
    limit.map_or(default, |limit| usize::try_from(limit).unwrap_or(default))
}

impl Reader {
    pub(crate) fn new(
        entity: EntityId,
        qos: Qos,
        timing: ReaderTiming,
        key_of: Option<KeyOf>,
        sample_max: usize,
        pool: Pool,
    ) -> Self {
        let depth = match qos.history {
            History::KeepLast(depth) => Some(limit(Some(depth.max(1)), 1)),
            History::KeepAll => None,
        };
        let mut qos = qos;
        qos.deadline = qos.deadline.or_never();
        Self {
            entity,
            proxies: Vec::new(),
            counters: ReaderCounters::default(),
            key_of,
            filter: None,
            timing,
            depth,
            samples_max: limit(qos.limits.samples, SAMPLES_DEFAULT).max(1),
            instances_max: limit(qos.limits.instances, INSTANCES_DEFAULT).max(1),
            qos,
            sample_max,
            pool,
            instances: Vec::new(),
            by_key: BTreeMap::new(),
            queue: VecDeque::new(),
            next_at: Instant::NEVER,
            owes_many: false,
            timer_at: None,
            key: Vec::new(),
            spare: Vec::new(),
            count: 0,
            is_in_group: false,
            has_group_news: false,
            is_starved: false,
            gone: VecDeque::new(),
        }
    }

    /// Returns whether sets of publishers are delivered as a whole in all readers of the
    /// subscriber.
    pub(crate) fn is_grouped(&self) -> bool {
        self.is_in_group && self.qos.presentation.is_coherent
    }

    fn find(&self, guid: Guid) -> Result<usize, usize> {
        self.proxies.binary_search_by_key(&guid, |proxy| proxy.remote.guid)
    }

    /// Returns what this reader wants of its writers.
    fn scope(&self) -> Scope {
        Scope {
            is_durable: self.qos.durability != Durability::Volatile,
            is_filtered: self.filter.is_some() || self.qos.time_based_filter > Duration::ZERO,
        }
    }

    /// Adds or updates a writer; returns whether it is new and there is room.
    pub(crate) fn add_writer(&mut self, now: Instant, mut remote: RemoteWriter) -> bool {
        remote.is_reliable &= self.qos.reliability == Reliability::Reliable;
        match self.find(remote.guid) {
            Ok(index) => {
                let (guid, strength) = (remote.guid, remote.strength);
                if let Some(proxy) = self.proxies.get_mut(index) {
                    proxy.remote = remote;
                }
                self.set_strength(guid, strength);
                false
            }
            Err(_) if self.proxies.len() >= WRITERS_MAX => false,
            Err(index) => {
                let mut proxy = WriterProxy::new(now, remote);
                proxy.scope = self.scope();
                let before = self.gone.iter().position(|gone| gone.writer == proxy.remote.guid);
                if let Some(gone) = before.and_then(|before| self.gone.remove(before)) {
                    proxy.begin_at(gone.next);
                    gone.take_back(&mut self.counters);
                }
                self.next_at = self.next_at.min(proxy.due_at());
                self.proxies.insert(index, proxy);
                true
            }
        }
    }

    /// Removes a writer; returns whether it was known.
    pub(crate) fn remove_writer(&mut self, now: Instant, guid: Guid) -> bool {
        let Ok(index) = self.find(guid) else {
            return false;
        };
        let proxy = self.proxies.remove(index);
        self.has_group_news |= proxy.remote.group.is_some();
        self.counters.lost = self.counters.lost.saturating_add(proxy.lost);
        self.counters.not_owed = self.counters.not_owed.saturating_add(proxy.not_owed);
        self.counters.filtered = self.counters.filtered.saturating_add(proxy.withheld);
        let contradicted = &mut self.counters.contradicted;
        *contradicted = contradicted.saturating_add(proxy.contradicted);
        self.gone.retain(|gone| gone.writer != guid);
        if self.gone.len() >= GONE_MAX {
            self.gone.pop_front();
        }
        // Built-in readers receive everything again: what is known of endpoints is dropped with
        // their participant.
        if !self.entity.is_built_in() {
            self.gone.push_back(Gone::of(&proxy));
        }
        self.release(now, guid);
        true
    }

    /// Forgets the position of a departed writer. Samples written meanwhile are not for this reader,
    /// unless it requests history.
    pub(crate) fn forget_place(&mut self, writer: Guid) {
        if self.qos.durability == Durability::Volatile {
            self.gone.retain(|gone| gone.writer != writer);
        }
    }

    /// Handles a sample.
    pub(crate) fn on_data(&mut self, now: Instant, from: Guid, arrived: &Arrived<'_>) {
        let Ok(index) = self.find(from) else {
            return;
        };
        self.touch(now, index);
        let Some(proxy) = self.proxies.get_mut(index) else {
            return;
        };
        if arrived.sequence < proxy.next && !proxy.moves_back(arrived.sequence) {
            self.counters.duplicates += 1;
            return;
        }
        if !proxy.remote.is_reliable {
            match proxy.track.ahead(proxy.next, arrived.sequence) {
                Turn::Wait => self.counters.rejected += 1,
                Turn::Repeated => {
                    self.counters.duplicates += 1;
                    if arrived.sequence == proxy.next {
                        proxy.next = proxy.next.next();
                    }
                }
                Turn::Take => {
                    proxy.pass(arrived.sequence);
                    proxy.advance(now);
                    self.owes_many |= proxy.owes_many();
                    self.accept(now, index, arrived);
                }
            }
        } else if arrived.sequence == proxy.next {
            if self.accept(now, index, arrived) {
                self.advance(now, index);
            }
        } else {
            let held: usize = self.proxies.iter().map(|proxy| proxy.held_octets).sum();
            let room = self.sample_max.saturating_mul(2).max(HELD_OCTETS_MAX);
            let room = room.saturating_sub(held);
            let proxy = self.proxies.get_mut(index);
            let timing = &self.timing;
            if !proxy.is_some_and(|proxy| proxy.hold(now, arrived, timing, room)) {
                self.counters.deferred += 1;
            }
        }
        self.plan(index);
    }

    fn advance(&mut self, now: Instant, index: usize) {
        if let Some(proxy) = self.proxies.get_mut(index) {
            proxy.advance(now);
            self.owes_many |= proxy.owes_many();
        }
        self.deliver_held(now, index);
    }

    /// Delivers held samples whose turn has come.
    fn deliver_held(&mut self, now: Instant, index: usize) {
        while let Some(proxy) = self.proxies.get_mut(index) {
            let Some(held) = proxy.take_held() else {
                return;
            };
            let arrived = held.arrived(proxy.next);
            let is_taken = self.accept(now, index, &arrived);
            let Some(proxy) = self.proxies.get_mut(index) else {
                return;
            };
            if !is_taken {
                proxy.put_back(held);
                return;
            }
            proxy.advance(now);
            self.owes_many |= proxy.owes_many();
        }
    }

    /// Handles a GAP.
    pub(crate) fn on_gap(&mut self, now: Instant, from: Guid, gap: &Gap) {
        let scope = self.scope();
        let Ok(index) = self.find(from) else {
            return;
        };
        let proxy = self.proxies.get_mut(index);
        let Some(proxy) = proxy.filter(|proxy| proxy.remote.is_reliable) else {
            return;
        };
        if proxy.may_leap(now, SequenceNumber(gap.set.base()), None) {
            proxy.scope = scope;
            proxy.on_gap(gap);
            self.deliver_held(now, index);
        }
        self.plan(index);
    }

    /// Handles a HEARTBEAT.
    pub(crate) fn on_heartbeat(&mut self, now: Instant, from: Guid, heartbeat: &Heartbeat) {
        let Ok(index) = self.find(from) else {
            return;
        };
        self.touch(now, index);
        if let Some(proxy) = self.proxies.get_mut(index)
            && !proxy.may_leap(now, heartbeat.first, Some(heartbeat.count))
        {
            self.plan(index);
            return;
        }
        while let Some(proxy) = self.proxies.get_mut(index) {
            if !proxy.remote.is_reliable {
                return;
            }
            if proxy.next >= heartbeat.first {
                break;
            }
            let is_held = proxy.give_up(heartbeat.first);
            let before = proxy.next;
            self.deliver_held(now, index);
            let after = self.proxies.get(index).map(|proxy| proxy.next);
            if !is_held || after == Some(before) {
                break;
            }
        }
        if let Some(proxy) = self.proxies.get_mut(index) {
            proxy.on_heartbeat(now, heartbeat, &self.timing);
        }
        self.plan(index);
    }

    /// Handles a liveliness assertion of a participant for its writers of automatic liveliness, or
    /// with `is_manual` also for manual by participant.
    pub(crate) fn on_alive(&mut self, now: Instant, from: GuidPrefix, is_manual: bool) {
        let mut due = Instant::NEVER;
        for proxy in self.of_participant(from) {
            let counts = match proxy.remote.liveliness.kind {
                LivelinessKind::Automatic => true,
                LivelinessKind::ManualByParticipant => is_manual,
                LivelinessKind::ManualByTopic => false,
            };
            if counts {
                proxy.touch(now);
                due = due.min(proxy.due_at());
            }
        }
        self.next_at = self.next_at.min(due);
    }

    /// Asks those writers of a live participant that have sent no heartbeat yet.
    ///
    /// If only one side has lost the other, the other assumes that both are in step.
    pub(crate) fn ask_silent(&mut self, now: Instant, from: GuidPrefix) {
        let mut due = Instant::NEVER;
        let silent = self.of_participant(from).iter_mut();
        for proxy in silent.filter(|proxy| proxy.is_silent()) {
            due = due.min(*proxy.ack_at.get_or_insert(now));
        }
        self.next_at = self.next_at.min(due);
    }

    /// Returns the writers of a participant.
    fn of_participant(&mut self, prefix: GuidPrefix) -> &mut [WriterProxy] {
        let start = self.proxies.partition_point(|proxy| proxy.remote.guid.prefix < prefix);
        let end = self.proxies.partition_point(|proxy| proxy.remote.guid.prefix <= prefix);
        self.proxies.get_mut(start..end).unwrap_or_default()
    }

    /// Handles the proof of a participant that it receives at these addresses: they are preferred.
    pub(crate) fn on_proof(&mut self, prefix: GuidPrefix, proved: &[Origin]) {
        for proxy in self.of_participant(prefix) {
            let unicast = &mut proxy.remote.unicast;
            unicast.sort_by_key(|place| !proved.contains(&place.origin()));
            let first = unicast.first();
            proxy.remote.is_proved = first.is_some_and(|place| proved.contains(&place.origin()));
        }
    }

    /// Returns the locators at which a participant is to be sent acknowledgments, and which it has
    /// not proved.
    pub(crate) fn unproved(&self, prefix: GuidPrefix) -> impl Iterator<Item = Locator> {
        let start = self.proxies.partition_point(|one| one.remote.guid.prefix < prefix);
        let own = self.proxies.iter().skip(start).map(|proxy| &proxy.remote);
        let own = own.take_while(move |remote| remote.guid.prefix == prefix);
        let own = own.filter(|remote| !remote.is_proved);
        own.filter_map(|remote| remote.unicast.first().copied())
    }

    /// Returns whether a writer is matched.
    pub(crate) fn knows(&self, writer: Guid) -> bool {
        self.find(writer).is_ok()
    }

    /// Returns the counters, including samples that writers no longer have.
    pub(crate) fn all_counters(&self) -> ReaderCounters {
        // Saturating: forged sequence numbers can add up beyond the type.
        let lost = self.proxies.iter().map(|proxy| proxy.lost);
        let not_owed = self.proxies.iter().map(|proxy| proxy.not_owed);
        let withheld = self.proxies.iter().map(|proxy| proxy.withheld);
        let contradicted = self.proxies.iter().map(|proxy| proxy.contradicted);
        ReaderCounters {
            lost: lost.fold(self.counters.lost, u64::saturating_add),
            not_owed: not_owed.fold(self.counters.not_owed, u64::saturating_add),
            filtered: withheld.fold(self.counters.filtered, u64::saturating_add),
            contradicted: contradicted.fold(self.counters.contradicted, u64::saturating_add),
            ..self.counters
        }
    }

    fn touch(&mut self, now: Instant, index: usize) {
        if let Some(proxy) = self.proxies.get_mut(index) {
            proxy.touch(now);
            self.next_at = self.next_at.min(proxy.due_at());
        }
    }
}
