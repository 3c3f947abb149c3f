//! Own endpoints and their samples.

use super::{Counters, Event, LocalReader, LocalWriter, Participant, ReaderId, WriterId};
use crate::guid::{Guid, GuidPrefix};
use crate::qos::LivelinessKind;
use crate::reader::{ReaderCounters, SampleInfo};
use crate::sequence::SequenceNumber;
use crate::time::Instant;
use crate::writer::{ChangeKind, New, WriteError};

/// A sample to write.
#[derive(Clone, Copy, Debug)]
pub struct NewSample<'a> {
    /// What happens to the instance.
    pub kind: ChangeKind,
    /// The value, or only the key of an instance that ends, with its encapsulation header.
    pub payload: &'a [u8],
    /// Key in canonical form; empty for topics without a key.
    pub key: &'a [u8],
    /// Key hash; `None` for topics without a key.
    pub key_hash: Option<[u8; 16]>,
}

impl<'a> NewSample<'a> {
    /// Returns a value for a topic without a key.
    pub const fn value(payload: &'a [u8]) -> Self {
        Self { kind: ChangeKind::Alive, payload, key: &[], key_hash: None }
    }
}

/// Vendor id of Cyclone DDS.
const CYCLONE: [u8; 2] = [1, 16];

impl Participant {
    /// Deletes a writer.
    pub fn delete_writer(&mut self, now: Instant, id: WriterId) {
        let local = self.writers.get_mut(id.0).and_then(Option::take);
        if let Some(endpoint) = local.and_then(|local| local.endpoint) {
            let gone = ChangeKind::DisposedUnregistered;
            self.publish_endpoint(now, true, &endpoint, gone);
            self.remove_remote_writer(now, endpoint.guid);
            self.renew_interests(now);
        }
    }

    /// Deletes a reader.
    pub fn delete_reader(&mut self, now: Instant, id: ReaderId) {
        let local = self.readers.get_mut(id.0).and_then(Option::take);
        if let Some(endpoint) = local.and_then(|local| local.endpoint) {
            let gone = ChangeKind::DisposedUnregistered;
            self.publish_endpoint(now, false, &endpoint, gone);
            self.remove_remote_reader(endpoint.guid);
            self.renew_interests(now);
        }
    }

    fn writer(&self, id: WriterId) -> Option<&LocalWriter> {
        self.writers.get(id.0).and_then(Option::as_ref)
    }

    fn reader(&self, id: ReaderId) -> Option<&LocalReader> {
        self.readers.get(id.0).and_then(Option::as_ref)
    }

    /// Returns the GUID of a writer.
    pub fn writer_guid(&self, id: WriterId) -> Option<Guid> {
        self.writer(id).map(|local| self.config.guid(local.writer.entity))
    }

    /// Returns the GUID of a reader.
    pub fn reader_guid(&self, id: ReaderId) -> Option<Guid> {
        self.reader(id).map(|local| self.config.guid(local.reader.entity))
    }

    /// Writes a sample.
    ///
    /// # Errors
    /// No room in the history.
    pub fn write(
        &mut self,
        now: Instant,
        id: WriterId,
        sample: &NewSample<'_>,
    ) -> Result<SequenceNumber, WriteError> {
        let time = self.wall(now);
        let sample_max = self.sending.sample_max;
        let local = self.writer(id).ok_or(WriteError::Unknown)?;
        let (publisher, scope) = (local.publisher, local.writer.qos.presentation.scope);
        let group_sequence = self.next_of_group(publisher, scope);
        // RTPS 1.0 has no keys.
        let has_key = self.role().is_none();
        let local = self.writers.get_mut(id.0).and_then(Option::as_mut);
        let local = local.ok_or(WriteError::Unknown)?;
        let new = New {
            kind: sample.kind,
            payload: sample.payload,
            key: if has_key { sample.key } else { &[] },
            key_hash: sample.key_hash.filter(|_| has_key),
            time,
            group_sequence,
        };
        let number = local.writer.write(now, sample_max, new)?;
        self.on_group_sample(publisher, group_sequence);
        Ok(number)
    }

    /// Begins a coherent set: samples written from now on belong together.
    pub fn begin_set(&mut self, id: WriterId) {
        if let Some(local) = self.writers.get_mut(id.0).and_then(Option::as_mut) {
            local.writer.cache.begin_set(None);
        }
    }

    /// Ends the coherent set: readers that request coherent access get it as a whole.
    ///
    /// # Errors
    /// There is no room for the sample that ends the set; the set remains open.
    pub fn end_set(&mut self, now: Instant, id: WriterId) -> Result<(), WriteError> {
        let time = self.wall(now);
        let local = self.writers.get_mut(id.0).and_then(Option::as_mut);
        local.ok_or(WriteError::Unknown)?.writer.end_set(now, time, None)
    }

    /// Passes the next sample of a reader to `read`, with its payload and the key of its instance;
    /// returns the result of `read`, or `None` if no sample waits.
    pub fn take<R>(
        &mut self,
        now: Instant,
        id: ReaderId,
        read: impl FnOnce(&SampleInfo, &[u8], &[u8]) -> R,
    ) -> Option<R> {
        let local = self.readers.get_mut(id.0).and_then(Option::as_mut)?;
        let taken = local.reader.take(now, read);
        if local.reader.has_group_news {
            self.deliver_group_sets(now);
        }
        taken
    }

    /// Returns how many samples wait at a reader.
    pub fn waiting(&self, id: ReaderId) -> usize {
        self.reader(id).map_or(0, |local| local.reader.waiting())
    }

    /// Returns how many readers are matched with a writer, of participants that have proved their address.
    pub fn readers_of(&self, id: WriterId) -> usize {
        let told = |local: &LocalWriter| {
            let proxies = local.writer.proxies.iter();
            proxies.filter(|proxy| proxy.is_told).count()
        };
        self.writer(id).map_or(0, told)
    }

    /// Returns how many readers a writer knows, of participants that have not proved their address, too.
    pub fn known_readers_of(&self, id: WriterId) -> usize {
        self.writer(id).map_or(0, |local| local.writer.proxies.len())
    }

    /// Returns whether all readers of a writer need keys of appendable types without their length
    /// (`cdr::to_bare_key_payload`). Cyclone DDS 0.10 does; it announces RTPS 2.1, later versions
    /// 2.5.
    pub fn wants_bare_keys(&self, id: WriterId) -> bool {
        let Some(local) = self.writer(id) else {
            return false;
        };
        let is_old = |prefix| {
            let remote = self.remotes.get(prefix);
            remote.is_some_and(|one| (one.data.vendor, one.data.version) == (CYCLONE, [2, 1]))
        };
        let proxies = &local.writer.proxies;
        let mut prefixes = proxies.iter().map(|proxy| &proxy.remote.guid.prefix);
        !proxies.is_empty() && prefixes.all(is_old)
    }

    /// Returns how many writers are matched with a reader.
    pub fn writers_of(&self, id: ReaderId) -> usize {
        self.reader(id).map_or(0, |local| local.reader.proxies.len())
    }

    /// Returns whether all reliable readers of a writer have acknowledged all its samples.
    pub fn is_acknowledged(&self, id: WriterId) -> bool {
        self.writer(id).is_none_or(|local| local.writer.is_acknowledged())
    }

    /// Returns how many samples in the history of a writer lack the acknowledgment of a reliable
    /// reader.
    pub fn unacknowledged(&self, id: WriterId) -> u64 {
        self.writer(id).map_or(0, |local| local.writer.unacknowledged())
    }

    /// Returns the GUID prefix of the participant.
    pub fn prefix(&self) -> GuidPrefix {
        self.config.prefix
    }

    /// Returns the counters.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Returns the counters of a reader.
    pub fn reader_counters(&self, id: ReaderId) -> ReaderCounters {
        let counters = self.reader(id).map(|local| local.reader.all_counters());
        counters.unwrap_or_default()
    }

    /// Returns how many samples reliable writers of a reader have announced that it still lacks, or
    /// that wait for such.
    pub fn lacking(&self, id: ReaderId) -> u64 {
        self.reader(id).map_or(0, |local| local.reader.lacking())
    }

    /// Returns the first sample of a writer that has no figure yet in the counters of a reader, and is
    /// not in its queue: all earlier ones have.
    pub fn accounted_to(&self, id: ReaderId, writer: Guid) -> SequenceNumber {
        self.reader(id).map_or(SequenceNumber::FIRST, |local| local.reader.accounted_to(writer))
    }

    /// Returns the memory that a reader holds for incomplete samples in fragments, in octets.
    pub fn fragment_octets(&self, id: ReaderId) -> usize {
        self.reader(id).map_or(0, |local| local.reader.fragment_octets())
    }

    /// Returns the memory that all readers hold for incomplete samples in fragments, in octets.
    pub fn all_fragment_octets(&self) -> usize {
        self.fragments.used()
    }

    /// Returns the shortest lease of writers with automatic liveliness.
    pub(super) fn automatic_lease(&self) -> Option<crate::time::Duration> {
        let writers = self.writers.iter().flatten();
        let leases = writers.map(|local| local.writer.qos.liveliness);
        let automatic = leases.filter(|one| one.kind == LivelinessKind::Automatic);
        let leases = automatic.map(|one| one.lease);
        leases.filter(|lease| !lease.is_infinite()).min()
    }

    /// Removes waiting events that `is_kept` rejects.
    pub fn discard_events(&mut self, mut is_kept: impl FnMut(&Event) -> bool) {
        self.events.retain(|event| is_kept(event));
    }
}
