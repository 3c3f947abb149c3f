//! Publishers and subscribers: groups of writers and of readers (8.7.5, 8.7.6).
//!
//! The samples of a publisher have numbers of their own. At the end of its set, each of its writers
//! sends an end marker with a digest of the publisher's writers. A subscriber whose readers request
//! coherent access of a group delivers the set in all its readers at once, when all of the writers
//! matched there have sent the marker.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use md5::{Digest, Md5};

use super::{Participant, ReaderId};
use crate::guid::{EntityId, Guid, GuidPrefix};
use crate::qos::AccessScope;
use crate::reader::SampleInfo;
use crate::sequence::SequenceNumber;
use crate::time::Instant;
use crate::wire::GroupDigest;
use crate::writer::WriteError;

/// Identifies a publisher of this participant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PublisherId(usize);

/// Identifies a subscriber of this participant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SubscriberId(usize);

/// Maximum number of publishers, and of subscribers, of a participant.
const GROUPS_MAX: usize = 256;

/// A publisher: writers that belong together.
pub(super) struct Publisher {
    pub(super) entity: EntityId,
    /// Last group sequence number assigned.
    last: SequenceNumber,
    /// First number of the open set.
    set: Option<SequenceNumber>,
}

/// Participant and publisher.
type Source = (GuidPrefix, EntityId);

/// Returns the digest of a set of writers (9.3.2.5): MD5 of their count, big-endian, and their
/// sorted entity ids.
fn digest(writers: &BTreeSet<EntityId>) -> GroupDigest {
    let Some(count) = u32::try_from(writers.len()).ok().filter(|count| *count > 0) else {
        return [0; 4];
    };
    let mut md5 = Md5::new();
    md5.update(count.to_be_bytes());
    for writer in writers {
        md5.update(writer.0);
    }
    let [a, b, c, d, ..]: [u8; 16] = md5.finalize().into();
    [a, b, c, d]
}

impl Participant {
    /// Creates a publisher; `None` if the limit is reached.
    pub fn create_publisher(&mut self) -> Option<PublisherId> {
        let number = self.publishers.len();
        let entity = EntityId::publisher(u32::try_from(number + 1).ok()?);
        if number >= GROUPS_MAX {
            return None;
        }
        self.publishers.push(Publisher { entity, last: SequenceNumber::ZERO, set: None });
        Some(PublisherId(number))
    }

    /// Creates a subscriber; `None` if the limit is reached.
    pub fn create_subscriber(&mut self) -> Option<SubscriberId> {
        let number = self.subscribers;
        if number >= GROUPS_MAX {
            return None;
        }
        self.subscribers += 1;
        Some(SubscriberId(number))
    }

    pub(super) fn publisher(&self, id: PublisherId) -> Option<&Publisher> {
        self.publishers.get(id.0)
    }

    pub(super) fn has_subscriber(&self, id: SubscriberId) -> bool {
        id.0 < self.subscribers
    }

    /// Returns the group sequence number of the next sample, if the writer offers access by group.
    pub(super) fn next_of_group(
        &self,
        publisher: Option<PublisherId>,
        scope: AccessScope,
    ) -> Option<SequenceNumber> {
        let publisher = publisher.filter(|_| scope == AccessScope::Group)?;
        self.publisher(publisher).map(|one| one.last.next())
    }

    /// Records that a number was assigned to a sample.
    pub(super) fn on_group_sample(
        &mut self,
        publisher: Option<PublisherId>,
        number: Option<SequenceNumber>,
    ) {
        let publisher = publisher.and_then(|id| self.publishers.get_mut(id.0));
        if let (Some(publisher), Some(number)) = (publisher, number) {
            publisher.last = number;
        }
    }

    /// Returns the indices of the publisher's writers that offer access by group.
    fn members(&self, id: PublisherId) -> Vec<usize> {
        let all = self.writers.iter().enumerate();
        let members = all.filter(|(_, local)| {
            let local = local.as_ref().filter(|local| local.publisher == Some(id));
            local.is_some_and(|one| one.writer.qos.presentation.scope == AccessScope::Group)
        });
        members.map(|(place, _)| place).collect()
    }

    /// Begins a coherent set of a publisher: samples that its writers with access by group write
    /// from now on belong together.
    pub fn begin_group_set(&mut self, id: PublisherId) {
        let Some(publisher) = self.publishers.get_mut(id.0) else {
            return;
        };
        let next = publisher.last.next();
        publisher.set.get_or_insert(next);
        for place in self.members(id) {
            self.join_group_set(id, place);
        }
    }

    /// Adds a writer to the open set of its publisher.
    pub(super) fn join_group_set(&mut self, id: PublisherId, place: usize) {
        let set = self.publisher(id).and_then(|publisher| publisher.set);
        let local = self.writers.get_mut(place).and_then(Option::as_mut);
        if let Some(local) = local.filter(|_| set.is_some()) {
            local.writer.cache.begin_set(set);
        }
    }

    /// Ends the coherent set of a publisher.
    ///
    /// # Errors
    /// A writer has no room for the sample that ends the set; the set remains open there, and this
    /// must be called again.
    pub fn end_group_set(&mut self, now: Instant, id: PublisherId) -> Result<(), WriteError> {
        let publisher = self.publisher(id).ok_or(WriteError::Unknown)?;
        let is_empty = publisher.set.is_none_or(|set| publisher.last < set);
        let members = self.members(id);
        let entities = members.iter().filter_map(|place| {
            let local = self.writers.get(*place).and_then(Option::as_ref)?;
            Some(local.writer.entity)
        });
        let digest = Some(digest(&entities.collect())).filter(|_| !is_empty);
        let time = self.wall(now);
        for place in members {
            if let Some(local) = self.writers.get_mut(place).and_then(Option::as_mut) {
                local.writer.end_set(now, time, digest)?;
            }
        }
        if let Some(publisher) = self.publishers.get_mut(id.0) {
            publisher.set = None;
        }
        Ok(())
    }

    /// Returns the reader of a subscriber from which to take the next sample: among the waiting
    /// samples of one publisher the one with the lowest group number, otherwise the one written
    /// first.
    pub fn next_in_group(&mut self, now: Instant, id: SubscriberId) -> Option<ReaderId> {
        let mut next: Option<(usize, SampleInfo, Option<EntityId>)> = None;
        for (place, local) in self.readers.iter_mut().enumerate() {
            let local = local.as_mut().filter(|local| local.subscriber == Some(id));
            let Some(local) = local else { continue };
            let Some(info) = local.reader.front(now).copied() else {
                continue;
            };
            let publisher = local.reader.publisher_of(info.writer);
            let is_before = next.is_none_or(|(_, other, other_publisher)| {
                let is_same = info.writer.prefix == other.writer.prefix
                    && publisher == other_publisher
                    && publisher.is_some();
                match (info.group_sequence, other.group_sequence) {
                    (Some(one), Some(other)) if is_same => one < other,
                    _ => {
                        let time = |info: &SampleInfo| (info.source_time, info.received_at);
                        time(&info) < time(&other)
                    }
                }
            });
            if is_before {
                next = Some((place, info, publisher));
            }
        }
        next.map(|(place, ..)| ReaderId(place))
    }

    /// Delivers sets of publishers that are complete.
    pub(super) fn deliver_group_sets(&mut self, now: Instant) {
        let mut news = self.readers.iter_mut().flatten();
        let mut has_news = core::mem::take(&mut self.has_group_news);
        for local in &mut news {
            has_news |= core::mem::take(&mut local.reader.has_group_news);
        }
        if !has_news {
            return;
        }
        for id in (0..self.subscribers).map(SubscriberId) {
            let readers = self.readers.iter().enumerate();
            let members: BTreeSet<(Source, usize, Guid)> = readers
                .filter_map(|(place, local)| {
                    let local = local.as_ref()?;
                    let is_member = local.subscriber == Some(id) && local.reader.is_grouped();
                    is_member.then(|| {
                        let writers = local.reader.grouped();
                        writers.map(move |(source, writer)| (source, place, writer))
                    })
                })
                .flatten()
                .collect();
            let mut rest: Vec<_> = members.into_iter().collect();
            while let Some((source, ..)) = rest.first().copied() {
                let end = rest.partition_point(|(other, ..)| *other <= source);
                let of_source: Vec<_> = rest.drain(..end).map(|(_, at, by)| (at, by)).collect();
                while self.end_group_front(now, source, &of_source) {}
            }
        }
    }

    /// Delivers or drops the next set of a publisher; returns whether one was decided.
    fn end_group_front(&mut self, now: Instant, source: Source, of: &[(usize, Guid)]) -> bool {
        let mut fronts = Vec::new();
        for (place, writer) in of {
            let Some(local) = self.readers.get_mut(*place).and_then(Option::as_mut) else {
                return false;
            };
            let Some(front) = local.reader.group_front(now, *writer) else {
                return false;
            };
            fronts.push(front);
        }
        let Some(latest) = fronts.iter().map(|front| front.first).max() else {
            return false;
        };
        if fronts.iter().any(|front| front.first < latest) {
            // A writer has moved on to a later set: earlier ones will not become complete.
            for ((place, writer), front) in of.iter().zip(&fronts) {
                if front.first < latest {
                    self.end_front(now, *place, *writer, false);
                }
            }
            return true;
        }
        let known = digest(&self.writers_of_publisher(source));
        let mut said = fronts.iter().filter_map(|front| front.digest);
        let is_known = said.all(|said| said == known);
        if !is_known && !fronts.iter().all(|front| front.is_followed) {
            // A writer may not have been discovered yet.
            return false;
        }
        let is_whole = is_known && fronts.iter().all(|front| front.is_whole);
        for (place, writer) in of.iter().filter(|_| is_whole) {
            let local = self.readers.get_mut(*place).and_then(Option::as_mut);
            if local.is_some_and(|local| !local.reader.has_room_for_front(*writer)) {
                return false;
            }
        }
        for (place, writer) in of {
            self.end_front(now, *place, *writer, is_whole);
        }
        true
    }

    fn end_front(&mut self, now: Instant, place: usize, writer: Guid, is_delivered: bool) {
        if let Some(local) = self.readers.get_mut(place).and_then(Option::as_mut) {
            local.reader.end_front(now, writer, is_delivered);
        }
    }

    /// Returns the known writers of a publisher, matched or not.
    fn writers_of_publisher(&self, (prefix, group): Source) -> BTreeSet<EntityId> {
        let is_in = |one: &&crate::discovery::EndpointData| {
            one.group == Some(group) && one.qos.presentation.scope == AccessScope::Group
        };
        let remote = self.remotes.get(&prefix).into_iter();
        let remote = remote.flat_map(|remote| remote.writers.values());
        let own = self.writers.iter().flatten();
        let own = own.filter_map(|local| local.endpoint.as_ref());
        let all = remote.chain(own.filter(|_| prefix == self.config.prefix));
        all.filter(is_in).map(|one| one.guid.entity).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_by_hand() {
        // Oracle: 9.3.2.5; MD5 of the octets 0000 0002 0000 0102 0000 0203 by md5sum.
        assert_eq!(digest(&BTreeSet::new()), [0; 4]);
        let two = [EntityId([0, 0, 2, 3]), EntityId([0, 0, 1, 2])];
        assert_eq!(digest(&two.into()), DIGEST);
    }

    const DIGEST: GroupDigest = [0x7A, 0x2D, 0x40, 0xF0];
}
