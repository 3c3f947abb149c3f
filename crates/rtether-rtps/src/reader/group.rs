//! Sets of a publisher (8.7.6): the part of each writer waits here until the participant finds that
//! the parts of all writers are there.

use alloc::vec;
use alloc::vec::Vec;

use super::coherent::is_end;
use super::held::{GroupSet, OpenSet, Owned};
use super::{Arrived, Reader, WriterProxy};
use crate::guid::{EntityId, Guid, GuidPrefix};
use crate::sequence::SequenceNumber;
use crate::time::Instant;
use crate::wire::GroupDigest;

/// Maximum number of sets, and of samples between them, that wait for a writer's group; then the
/// oldest is dropped.
const WAITING_MAX: usize = 64;

/// State of a writer's next set, for the participant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GroupFront {
    pub(crate) first: SequenceNumber,
    pub(crate) digest: Option<GroupDigest>,
    pub(crate) is_whole: bool,
    /// Whether a later set of the writer is already complete.
    pub(crate) is_followed: bool,
}

impl WriterProxy {
    /// Returns the octets of samples in open and waiting sets.
    pub(super) fn set_octets(&self) -> usize {
        let open = self.set.as_ref().map_or(0, |set| set.octets);
        let waiting = self.waiting.iter().map(|set| set.octets);
        open + waiting.sum::<usize>()
    }
}

impl Reader {
    /// Queues a set that has ended.
    pub(super) fn wait_for_group(
        &mut self,
        index: usize,
        set: OpenSet,
        is_whole: bool,
        arrived: &Arrived<'_>,
    ) {
        let digest = arrived.inline.group_digest.filter(|_| is_end(arrived));
        let set = GroupSet {
            first: set.group,
            digest,
            is_whole,
            samples: set.samples,
            octets: set.octets,
        };
        self.let_wait(index, set);
    }

    fn let_wait(&mut self, index: usize, set: GroupSet) {
        let Some(proxy) = self.proxies.get_mut(index) else {
            return;
        };
        let dropped =
            if proxy.waiting.len() >= WAITING_MAX { proxy.waiting.pop_front() } else { None };
        proxy.waiting.push_back(set);
        if let Some(dropped) = dropped {
            self.count_incoherent(&dropped);
        }
        self.has_group_news = true;
    }

    /// Queues samples between sets behind waiting ones, and end markers of sets in which this
    /// writer has no sample; returns whether the sample is done with.
    pub(super) fn keep_for_group(&mut self, index: usize, arrived: &Arrived<'_>) -> bool {
        let kept: usize = self.proxies.iter().map(WriterProxy::set_octets).sum();
        let room = self.set_room();
        let is_grouped = self.is_grouped();
        let proxy = self.proxies.get_mut(index).filter(|_| is_grouped);
        let Some(proxy) = proxy.filter(|proxy| proxy.remote.group.is_some()) else {
            return false;
        };
        // Whether everything written before it has arrived.
        let is_first = arrived.sequence == SequenceNumber::FIRST;
        let is_whole = is_first || proxy.lost_before == Some(proxy.lost);
        proxy.lost_before = Some(proxy.lost);
        let (first, digest, samples) = if is_end(arrived) {
            let first = arrived.inline.group_set;
            let last = proxy.waiting.back().and_then(|set| set.first);
            if first.is_none() || first == last {
                return true;
            }
            (first, arrived.inline.group_digest, Vec::new())
        } else if proxy.waiting.is_empty() {
            return false;
        } else if kept.saturating_add(arrived.payload.len()) > room {
            self.counters.rejected += 1;
            return true;
        } else {
            (None, None, vec![(arrived.sequence, Owned::new(arrived))])
        };
        let set = GroupSet {
            first,
            digest,
            is_whole,
            octets: samples.iter().map(|(_, one)| one.payload.len()).sum(),
            samples,
        };
        self.let_wait(index, set);
        true
    }

    fn count_incoherent(&mut self, set: &GroupSet) {
        self.counters.incoherent += u64::try_from(set.samples.len()).unwrap_or(u64::MAX);
    }

    /// Returns the publishers of known writers, with the GUID of each writer.
    pub(crate) fn grouped(&self) -> impl Iterator<Item = ((GuidPrefix, EntityId), Guid)> {
        self.proxies.iter().filter_map(|proxy| {
            let guid = proxy.remote.guid;
            Some(((guid.prefix, proxy.remote.group?), guid))
        })
    }

    /// Returns the publisher of a writer.
    pub(crate) fn publisher_of(&self, writer: Guid) -> Option<EntityId> {
        let index = self.find(writer).ok()?;
        self.proxies.get(index)?.remote.group
    }

    /// Delivers samples of a writer that only waited for earlier sets; returns the next set.
    pub(crate) fn group_front(&mut self, now: Instant, writer: Guid) -> Option<GroupFront> {
        loop {
            let index = self.find(writer).ok()?;
            let waiting = &self.proxies.get(index)?.waiting;
            let front = waiting.front()?;
            if let Some(first) = front.first {
                return Some(GroupFront {
                    first,
                    digest: front.digest,
                    is_whole: front.is_whole,
                    is_followed: waiting.len() > 1,
                });
            }
            if !self.has_room_for(front.samples.len()) {
                self.is_starved = true;
                return None;
            }
            self.end_front(now, writer, true);
        }
    }

    /// Returns whether there is room for a writer's next set.
    pub(crate) fn has_room_for_front(&mut self, writer: Guid) -> bool {
        let proxy = self.find(writer).ok().and_then(|index| self.proxies.get(index));
        let front = proxy.and_then(|proxy| proxy.waiting.front());
        let has_room = front.is_none_or(|front| self.has_room_for(front.samples.len()));
        self.is_starved |= !has_room;
        has_room
    }

    fn has_room_for(&self, samples: usize) -> bool {
        self.depth.is_some() || self.queue.len() + samples <= self.samples_max
    }

    /// Delivers or drops a writer's next set.
    pub(crate) fn end_front(&mut self, now: Instant, writer: Guid, is_delivered: bool) {
        let Ok(index) = self.find(writer) else {
            return;
        };
        let proxy = self.proxies.get_mut(index);
        let Some(set) = proxy.and_then(|proxy| proxy.waiting.pop_front()) else {
            return;
        };
        if !is_delivered {
            self.count_incoherent(&set);
            return;
        }
        for (sequence, sample) in &set.samples {
            self.accept_one(now, index, &sample.arrived(*sequence));
        }
    }
}
