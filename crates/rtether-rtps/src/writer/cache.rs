//! The history of a writer: samples that it can still send.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

use crate::qos::{History, Qos};
use crate::sequence::SequenceNumber;
use crate::time::{Duration, Instant, WallTime, due_anew};
use crate::wire::GroupDigest;

/// Default limit of samples.
pub(crate) const SAMPLES_DEFAULT: usize = 4_096;
/// Default limit of instances.
pub(crate) const INSTANCES_DEFAULT: usize = 4_096;
/// Maximum number of buffers kept for reuse.
const SPARE_MAX: usize = 64;

/// Kind of a change to an instance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChangeKind {
    /// It has a new value.
    #[default]
    Alive,
    /// The instance was disposed of.
    Disposed,
    /// This writer unregistered it.
    Unregistered,
    /// Both.
    DisposedUnregistered,
}

impl ChangeKind {
    /// Returns whether the payload is a value, not a key.
    pub(crate) fn is_alive(self) -> bool {
        self == Self::Alive
    }
}

/// A sample in the history.
#[derive(Debug)]
pub(crate) struct Change {
    pub(crate) sequence: SequenceNumber,
    pub(crate) kind: ChangeKind,
    /// Payload with its encapsulation header: the value, or the key.
    pub(crate) payload: Vec<u8>,
    pub(crate) key_hash: Option<[u8; 16]>,
    pub(crate) written_at: Instant,
    pub(crate) time: WallTime,
    /// First sample of its set; [`SequenceNumber::UNKNOWN`] for an end marker, which is not itself
    /// a sample.
    pub(crate) set: Option<SequenceNumber>,
    pub(crate) group: GroupMark,
    pub(super) instance: u32,
}

/// Group data of a sample (8.7.5, 8.7.6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct GroupMark {
    /// Number among the samples of all writers of the publisher.
    pub(crate) sequence: Option<SequenceNumber>,
    /// First number of the publisher's set.
    pub(crate) set: Option<SequenceNumber>,
    /// Digest of the publisher's writers, in an end marker.
    pub(crate) digest: Option<GroupDigest>,
}

impl Change {
    /// Returns whether it is only the end marker of a set.
    pub(crate) fn is_set_end(&self) -> bool {
        self.set == Some(SequenceNumber::UNKNOWN)
    }
}

#[derive(Debug, Default)]
struct Instance {
    /// Its samples in the history, oldest first.
    sequences: VecDeque<SequenceNumber>,
    /// Deadline of its next sample.
    deadline_at: Option<Instant>,
    is_registered: bool,
}

/// A sample to write.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct New<'a> {
    pub(crate) kind: ChangeKind,
    pub(crate) payload: &'a [u8],
    /// Key in canonical form; empty if there is none.
    pub(crate) key: &'a [u8],
    pub(crate) key_hash: Option<[u8; 16]>,
    pub(crate) time: WallTime,
    /// Number among the samples of the publisher, if used.
    pub(crate) group_sequence: Option<SequenceNumber>,
}

/// Why a sample is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// A reliable reader has not acknowledged the oldest sample yet.
    #[error("the history is full of samples that a reliable reader has not acknowledged")]
    Full,
    /// The limit of instances is reached.
    #[error("the writer's limit of instances is reached")]
    Instances,
    /// The sample is longer than the limit.
    #[error("the sample is longer than the limit of {max} octets")]
    TooLong {
        /// The limit.
        max: usize,
    },
    /// The writer does not exist.
    #[error("the writer does not exist")]
    Unknown,
}

/// The history.
#[derive(Debug)]
pub(crate) struct Cache {
    changes: VecDeque<Change>,
    last: SequenceNumber,
    ids: BTreeMap<Vec<u8>, u32>,
    instances: Vec<Instance>,
    depth: Option<usize>,
    samples_max: usize,
    instances_max: usize,
    lifespan: Duration,
    deadline: Duration,
    spare: Vec<Vec<u8>>,
    /// Whether a set is open, and its first sample.
    is_in_set: bool,
    set: Option<SequenceNumber>,
    /// First number of the publisher's set.
    group_set: Option<SequenceNumber>,
}

fn count(limit: Option<u32>, default: usize) -> usize {
    limit.map_or(default, |limit| usize::try_from(limit).unwrap_or(default))
}

impl Cache {
    pub(crate) fn new(qos: &Qos) -> Self {
        let depth = match qos.history {
            History::KeepLast(depth) => Some(count(Some(depth.max(1)), 1)),
            History::KeepAll => None,
        };
        Self {
            changes: VecDeque::new(),
            last: SequenceNumber::ZERO,
            ids: BTreeMap::new(),
            instances: Vec::new(),
            depth,
            samples_max: count(qos.limits.samples, SAMPLES_DEFAULT).max(1),
            instances_max: count(qos.limits.instances, INSTANCES_DEFAULT).max(1),
            lifespan: qos.lifespan,
            deadline: qos.deadline.or_never(),
            spare: Vec::new(),
            is_in_set: false,
            set: None,
            group_set: None,
        }
    }

    /// Applies changed policies.
    pub(crate) fn set_qos(&mut self, now: Instant, qos: &Qos) {
        self.lifespan = qos.lifespan;
        let deadline = qos.deadline.or_never();
        if deadline != self.deadline {
            self.deadline = deadline;
            for instance in &mut self.instances {
                instance.deadline_at = due_anew(now, deadline, instance.is_registered);
            }
        }
    }

    /// Begins a set unless one is open; `group_set` is the first number of a publisher's set.
    pub(crate) fn begin_set(&mut self, group_set: Option<SequenceNumber>) {
        self.is_in_set = true;
        self.group_set = group_set;
    }

    /// Ends the set; returns whether an end marker must be sent: the set has samples, here or in
    /// other writers of the publisher.
    pub(crate) fn end_set(
        &mut self,
        now: Instant,
        time: WallTime,
        acknowledged: SequenceNumber,
        digest: Option<GroupDigest>,
    ) -> Result<bool, WriteError> {
        let is_told = self.set.is_some() || self.group_set.is_some() && digest.is_some();
        if is_told {
            self.make_room_for_one(acknowledged)?;
        }
        self.is_in_set = false;
        self.set = None;
        let group_set = self.group_set.take();
        if !is_told {
            return Ok(false);
        }
        self.last = self.last.next();
        self.changes.push_back(Change {
            sequence: self.last,
            kind: ChangeKind::Alive,
            payload: Vec::new(),
            key_hash: None,
            written_at: now,
            time,
            set: Some(SequenceNumber::UNKNOWN),
            group: GroupMark { sequence: None, set: group_set, digest },
            instance: u32::MAX,
        });
        Ok(true)
    }

    /// Assigns a number to no sample, and returns it.
    pub(crate) fn skip(&mut self) -> SequenceNumber {
        self.last = self.last.next();
        self.last
    }

    /// Returns the last number assigned.
    pub(crate) fn last(&self) -> SequenceNumber {
        self.last
    }

    /// Returns the first number in the history, or the next one to be assigned.
    pub(crate) fn first(&self) -> SequenceNumber {
        let first = self.changes.front();
        first.map_or(self.last.next(), |change| change.sequence)
    }

    fn position(&self, sequence: SequenceNumber) -> usize {
        self.changes.partition_point(|change| change.sequence < sequence)
    }

    /// Returns the first sample at or after this number.
    pub(crate) fn at_or_after(&self, sequence: SequenceNumber) -> Option<&Change> {
        self.changes.get(self.position(sequence))
    }

    /// Returns the samples from this number.
    pub(crate) fn from(&self, sequence: SequenceNumber) -> impl Iterator<Item = &Change> {
        self.changes.range(self.position(sequence)..)
    }

    /// Returns the sample with this number.
    pub(crate) fn get(&self, sequence: SequenceNumber) -> Option<&Change> {
        let found = self.at_or_after(sequence);
        found.filter(|change| change.sequence == sequence)
    }

    /// Adds a sample; those up to `acknowledged` may be dropped for it.
    pub(crate) fn push(
        &mut self,
        now: Instant,
        new: New<'_>,
        acknowledged: SequenceNumber,
    ) -> Result<SequenceNumber, WriteError> {
        let id = self.instance(new.key)?;
        self.make_room(id, acknowledged)?;
        let mut payload = self.spare.pop().unwrap_or_default();
        payload.clear();
        payload.extend_from_slice(new.payload);
        let sequence = self.last.next();
        self.last = sequence;
        if self.is_in_set {
            self.set.get_or_insert(sequence);
        }
        let is_registered = matches!(new.kind, ChangeKind::Alive | ChangeKind::Disposed);
        if let Some(instance) = self.instances.get_mut(slot(id)) {
            instance.sequences.push_back(sequence);
            let is_due = new.kind.is_alive() && !self.deadline.is_infinite();
            instance.deadline_at = is_due.then(|| now + self.deadline);
            instance.is_registered = is_registered;
        }
        self.changes.push_back(Change {
            sequence,
            kind: new.kind,
            payload,
            key_hash: new.key_hash,
            written_at: now,
            time: new.time,
            set: self.set,
            group: GroupMark { sequence: new.group_sequence, set: self.group_set, digest: None },
            instance: id,
        });
        Ok(sequence)
    }

    fn instance(&mut self, key: &[u8]) -> Result<u32, WriteError> {
        if let Some(id) = self.ids.get(key) {
            return Ok(*id);
        }
        if self.instances.len() >= self.instances_max && !self.forget_instance() {
            return Err(WriteError::Instances);
        }
        let id = u32::try_from(self.instances.len()).map_err(|_| WriteError::Instances)?;
        if let Some(free) = self.free_instance() {
            self.ids.insert(key.to_vec(), free);
            return Ok(free);
        }
        self.instances.push(Instance::default());
        self.ids.insert(key.to_vec(), id);
        Ok(id)
    }

    /// Removes an instance that is no longer written and has no samples.
    fn forget_instance(&mut self) -> bool {
        let idle = self.ids.iter().find(|(_, id)| {
            let instance = self.instances.get(slot(**id));
            instance.is_some_and(|one| !one.is_registered && one.sequences.is_empty())
        });
        let Some(key) = idle.map(|(key, _)| key.clone()) else {
            return false;
        };
        self.ids.remove(&key);
        true
    }

    /// Returns the index of an instance whose key was removed; `None` below the limit.
    fn free_instance(&self) -> Option<u32> {
        if self.instances.len() < self.instances_max {
            return None;
        }
        let places = 0..u32::try_from(self.instances.len()).unwrap_or(u32::MAX);
        let used: alloc::collections::BTreeSet<u32> = self.ids.values().copied().collect();
        places.into_iter().find(|id| !used.contains(id))
    }

    fn make_room(&mut self, id: u32, acknowledged: SequenceNumber) -> Result<(), WriteError> {
        if let Some(depth) = self.depth {
            while let Some(instance) = self.instances.get(slot(id)) {
                let Some(oldest) = instance.sequences.front().copied() else {
                    break;
                };
                if instance.sequences.len() < depth {
                    break;
                }
                self.remove(oldest);
            }
        }
        self.make_room_for_one(acknowledged)
    }

    fn make_room_for_one(&mut self, acknowledged: SequenceNumber) -> Result<(), WriteError> {
        if self.changes.len() < self.samples_max {
            return Ok(());
        }
        let oldest = self.first();
        if self.depth.is_some() || oldest <= acknowledged {
            self.remove(oldest);
            return Ok(());
        }
        Err(WriteError::Full)
    }

    /// Removes a sample.
    pub(crate) fn remove(&mut self, sequence: SequenceNumber) {
        let position = self.position(sequence);
        let is_there = self.changes.get(position);
        if is_there.is_none_or(|change| change.sequence != sequence) {
            return;
        }
        let Some(change) = self.changes.remove(position) else {
            return;
        };
        if let Some(instance) = self.instances.get_mut(slot(change.instance)) {
            if instance.sequences.front() == Some(&sequence) {
                instance.sequences.pop_front();
            } else {
                instance.sequences.retain(|own| *own != sequence);
            }
        }
        if self.spare.len() < SPARE_MAX {
            self.spare.push(change.payload);
        }
    }

    /// Removes expired samples.
    pub(crate) fn expire(&mut self, now: Instant) {
        if self.lifespan.is_infinite() {
            return;
        }
        while let Some(oldest) = self.changes.front() {
            if oldest.written_at + self.lifespan > now {
                break;
            }
            self.remove(oldest.sequence);
        }
    }

    /// Returns the next deadline of an instance.
    pub(crate) fn deadline_at(&self) -> Option<Instant> {
        if self.deadline.is_infinite() {
            return None;
        }
        self.instances.iter().filter_map(|one| one.deadline_at).min()
    }

    /// Counts instances that are overdue at `now`; each is due again one deadline later.
    pub(crate) fn overdue(&mut self, now: Instant) -> u32 {
        let mut overdue = 0;
        for instance in &mut self.instances {
            while let Some(at) = instance.deadline_at.filter(|at| *at <= now) {
                // After a long stall only one miss is reported.
                let next = at + self.deadline;
                instance.deadline_at = Some(if next <= now { now + self.deadline } else { next });
                overdue += 1;
            }
        }
        overdue
    }
}

fn slot(id: u32) -> usize {
    usize::try_from(id).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_in_a_set_names_its_first_sample() {
        // Oracle: 8.7.6 by hand; a set without samples leaves no trace, others get an end marker.
        let mut cache = Cache::new(&Qos { history: History::KeepAll, ..Qos::writer() });
        let (now, time) = (Instant::ZERO, WallTime::default());
        let none = SequenceNumber::ZERO;
        cache.begin_set(None);
        assert_eq!(cache.end_set(now, time, none, None), Ok(false));
        cache.push(now, New::default(), none).unwrap();
        cache.begin_set(None);
        cache.push(now, New::default(), none).unwrap();
        cache.push(now, New::default(), none).unwrap();
        assert_eq!(cache.end_set(now, time, none, None), Ok(true));
        cache.push(now, New::default(), none).unwrap();
        let sets: Vec<_> = cache.changes.iter().map(|change| change.set).collect();
        let (set, end) = (SequenceNumber(2), SequenceNumber::UNKNOWN);
        assert_eq!(sets, [None, Some(set), Some(set), Some(end), None]);
    }
}
