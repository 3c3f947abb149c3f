//! Acceptance of samples: instances, ownership, minimum separation, history and limits.

use alloc::vec::Vec;

use super::InstanceState;
use super::instance::Instance;
use super::{Arrived, Reader, RemoteWriter, Sample, SampleInfo};
use crate::guid::Guid;
use crate::qos::{Ownership, Qos};
use crate::sequence::SequenceNumber;
use crate::time::{Duration, Instant, due_anew};
use crate::writer::ChangeKind;

impl Reader {
    /// Accepts a sample outside any set; returns whether it is done with, that is, the writer need
    /// not send it again.
    pub(super) fn accept_one(&mut self, now: Instant, proxy: usize, arrived: &Arrived<'_>) -> bool {
        if !self.passes(arrived) {
            return true;
        }
        let index = match self.instance_of(arrived) {
            Ok(Some(index)) => index,
            // An unknown instance cannot end.
            Ok(None) => return true,
            Err(is_malformed) => {
                if is_malformed {
                    self.counters.malformed += 1;
                    return true;
                }
                return self.refuse(proxy);
            }
        };
        // The strongest standby goes before a weaker writer whose sample arrives first.
        self.take_over_if_due(now, index);
        if self.is_full(index) {
            return self.refuse(proxy);
        }
        if arrived.kind.is_alive() {
            self.accept_value(now, proxy, index, arrived);
        } else {
            self.accept_end(now, proxy, index, arrived);
        }
        true
    }

    /// Returns whether the content filter passes a sample; for the reader, one that it rejects was
    /// never written.
    fn passes(&mut self, arrived: &Arrived<'_>) -> bool {
        let filter = self.filter.as_ref().filter(|_| arrived.kind.is_alive());
        let Some((filter, judge)) = filter else {
            return true;
        };
        let passes = judge.passes(filter, arrived.payload);
        match passes {
            Some(true) => {}
            Some(false) => self.counters.filtered += 1,
            None => self.counters.malformed += 1,
        }
        passes == Some(true)
    }

    /// Refuses a sample for lack of room: in strict reliable mode the writer waits, otherwise the
    /// sample is lost.
    pub(super) fn refuse(&mut self, proxy: usize) -> bool {
        let proxy = self.proxies.get(proxy);
        let is_final = self.depth.is_some();
        if is_final || proxy.is_none_or(|proxy| !proxy.remote.is_reliable) {
            self.counters.rejected += 1;
        } else {
            self.counters.deferred += 1;
        }
        self.is_starved = true;
        is_final
    }

    fn is_full(&self, index: usize) -> bool {
        let queued = self.instances.get(index).map_or(0, |one| one.queued);
        let is_full = self.queue.len() >= self.samples_max;
        if let Some(depth) = self.depth {
            return is_full && queued < depth;
        }
        let per_instance = super::limit(self.qos.limits.samples_per_instance, usize::MAX);
        is_full || queued >= per_instance
    }

    /// Returns the instance of a sample; `None` if it is unknown and none is created; on lack of
    /// room an error, which says whether the payload is to blame.
    fn instance_of(&mut self, arrived: &Arrived<'_>) -> Result<Option<usize>, bool> {
        let Some(key_of) = &self.key_of else {
            if self.instances.is_empty() {
                self.instances.push(Instance::default());
            }
            return Ok(Some(0));
        };
        let is_alive = arrived.kind.is_alive();
        if arrived.payload.is_empty() {
            let hash = arrived.inline.key_hash.ok_or(true)?;
            let found = self.instances.iter().position(|one| one.hash == hash);
            return Ok(found);
        }
        self.key.clear();
        let hash = key_of.write(arrived.payload, !is_alive, &mut self.key);
        let hash = hash.ok_or(true)?;
        if let Some(index) = self.by_key.get(&self.key) {
            return Ok(Some(*index));
        }
        if !is_alive {
            return Ok(None);
        }
        let index = if self.instances.len() < self.instances_max {
            self.instances.push(Instance::default());
            self.instances.len() - 1
        } else {
            let idle = self.instances.iter().position(Instance::is_idle);
            let index = idle.ok_or(false)?;
            if let Some(old) = self.instances.get(index) {
                self.by_key.remove(&old.key);
            }
            index
        };
        if let Some(instance) = self.instances.get_mut(index) {
            *instance = Instance::default();
            instance.key.clone_from(&self.key);
            // Computed rather than taken from the writer: some send no hash with values.
            instance.hash = hash;
        }
        self.by_key.insert(self.key.clone(), index);
        Ok(Some(index))
    }

    fn sample(
        &mut self,
        writer: Guid,
        index: usize,
        arrived: &Arrived<'_>,
        expires_at: Instant,
    ) -> Sample {
        let mut payload = self.spare.pop().unwrap_or_default();
        payload.clear();
        payload.extend_from_slice(arrived.payload);
        Sample {
            info: SampleInfo {
                writer,
                sequence: arrived.sequence,
                source_time: arrived.time,
                received_at: arrived.at,
                is_valid: arrived.kind == ChangeKind::Alive,
                state: InstanceState::Alive,
                key_hash: arrived.inline.key_hash,
                group_sequence: arrived.inline.group_sequence,
                instance: index,
            },
            payload,
            expires_at,
            is_filtered: false,
        }
    }

    /// Returns how long a sample of a writer keeps weaker writers away.
    fn persistence_of(&self, remote: &RemoteWriter) -> Duration {
        let promised = remote.deadline.min(self.qos.deadline);
        remote.persistence.unwrap_or(promised)
    }

    fn accept_value(&mut self, now: Instant, proxy: usize, index: usize, arrived: &Arrived<'_>) {
        let Some(remote) = self.proxies.get(proxy).map(|proxy| &proxy.remote) else {
            return;
        };
        let (writer, strength) = (remote.guid, remote.strength);
        let lifespan = arrived.inline.lifespan.unwrap_or(remote.lifespan);
        let persistence = self.persistence_of(remote);
        let mut sample = self.sample(writer, index, arrived, arrived.at + lifespan);
        let is_exclusive = self.qos.ownership == Ownership::Exclusive;
        let deadline = self.qos.deadline;
        let Some(instance) = self.instances.get_mut(index) else {
            return;
        };
        instance.add_writer(writer);
        if is_exclusive && !instance.arbitrate(now, writer, strength, persistence) {
            let until = (now + persistence).min(arrived.at + lifespan);
            sample.is_filtered = true;
            instance.stand_by(strength, until, sample);
            self.counters.filtered += 1;
            return;
        }
        instance.state = InstanceState::Alive;
        if !deadline.is_infinite() {
            instance.deadline_at = Some(now + deadline);
        }
        self.separate(now, index, sample);
        self.set_timer(index);
    }

    /// Delivers a sample, or keeps it until the minimum separation ends.
    fn separate(&mut self, now: Instant, index: usize, mut sample: Sample) {
        let filter = self.qos.time_based_filter;
        let Some(instance) = self.instances.get_mut(index) else {
            return;
        };
        let is_early = instance.delivered_at.is_some_and(|at| at + filter > now);
        if filter > Duration::ZERO && is_early {
            self.counters.filtered += u64::from(!sample.is_filtered);
            sample.is_filtered = true;
            if let Some(older) = instance.pending.replace(sample) {
                self.recycle(older.payload);
            }
            return;
        }
        // A value still pending is now outdated, even if its time had come.
        let older = instance.pending.take_if(|_| filter > Duration::ZERO);
        if let Some(older) = older {
            self.counters.filtered += u64::from(!older.is_filtered);
            self.recycle(older.payload);
        }
        self.enqueue_or_keep(now, index, sample);
    }

    /// Delivers a sample on a timer, or keeps it until there is room.
    fn enqueue_or_keep(&mut self, now: Instant, index: usize, sample: Sample) {
        let is_full = self.is_full(index);
        if let Some(instance) = self.instances.get_mut(index) {
            instance.waits_for_room = is_full;
            if is_full {
                self.is_starved = true;
                if let Some(older) = instance.pending.replace(sample) {
                    self.counters.rejected += u64::from(!older.is_filtered);
                    self.recycle(older.payload);
                }
                return;
            }
        }
        self.enqueue(now, index, sample);
    }

    /// Delivers samples that were kept for lack of room.
    pub(super) fn offer_pending(&mut self, now: Instant) {
        for index in 0..self.instances.len() {
            let instance = self.instances.get_mut(index);
            if let Some(instance) = instance.filter(|one| one.waits_for_room) {
                instance.waits_for_room = false;
                self.deliver_pending(now, index);
            }
        }
    }

    fn enqueue(&mut self, now: Instant, index: usize, mut sample: Sample) {
        if core::mem::take(&mut sample.is_filtered) {
            self.counters.filtered = self.counters.filtered.saturating_sub(1);
        }
        let Some(instance) = self.instances.get_mut(index) else {
            return;
        };
        instance.delivered_at = Some(now);
        let queued = instance.queued;
        if self.depth.is_some_and(|depth| queued >= depth) {
            let oldest = self.queue.iter().position(|one| one.info.instance == index);
            if let Some(older) = oldest.and_then(|oldest| self.queue.remove(oldest)) {
                // The end of all writers is news of this reader, not a sample.
                let is_sample = older.info.sequence != SequenceNumber::ZERO;
                self.counters.replaced += u64::from(is_sample);
                self.recycle(older.payload);
            }
        } else if let Some(instance) = self.instances.get_mut(index) {
            instance.queued += 1;
        }
        let place = self.place(&sample.info);
        self.queue.insert(place, sample);
        self.counters.delivered += 1;
    }

    /// Handles the disposal of an instance, or its unregistration by a writer.
    fn accept_end(&mut self, now: Instant, proxy: usize, index: usize, arrived: &Arrived<'_>) {
        let Some(remote) = self.proxies.get(proxy).map(|proxy| &proxy.remote) else {
            return;
        };
        let (writer, strength) = (remote.guid, remote.strength);
        let persistence = self.persistence_of(remote);
        let is_exclusive = self.qos.ownership == Ownership::Exclusive;
        let is_disposed =
            matches!(arrived.kind, ChangeKind::Disposed | ChangeKind::DisposedUnregistered);
        let is_unregistered = arrived.kind != ChangeKind::Disposed;
        let Some(instance) = self.instances.get_mut(index) else {
            return;
        };
        let before = instance.state;
        // A weaker writer ends only its own samples.
        let counts =
            !is_disposed || !is_exclusive || instance.arbitrate(now, writer, strength, persistence);
        if is_unregistered {
            instance.remove_writer(writer);
        } else {
            instance.add_writer(writer);
            instance.forget_standby(writer);
        }
        if !counts {
            self.counters.filtered += 1;
            return;
        }
        if is_disposed {
            instance.state = InstanceState::Disposed;
            // A pending value must not follow the end.
            let pending = instance.pending.take();
            let is_new = pending.is_some_and(|pending| !pending.is_filtered);
            self.counters.filtered += u64::from(is_new);
        } else if instance.writers.is_empty() && before == InstanceState::Alive {
            instance.state = InstanceState::NoWriters;
        }
        let state = instance.state;
        if state != InstanceState::Alive {
            instance.deadline_at = None;
        }
        // Built-in readers have one instance for all endpoints, each of which can end.
        if state != before || self.entity.is_built_in() {
            let mut sample = self.sample(writer, index, arrived, Instant::NEVER);
            sample.info.state = state;
            self.enqueue(now, index, sample);
        }
        self.take_over(now, index);
    }

    /// Releases the instances of a writer that is gone or not alive.
    pub(super) fn release(&mut self, now: Instant, writer: Guid) {
        for index in 0..self.instances.len() {
            let Some(instance) = self.instances.get_mut(index) else {
                return;
            };
            let was_writer = instance.writers.contains(&writer);
            instance.remove_writer(writer);
            let is_orphan = was_writer && instance.writers.is_empty();
            if is_orphan && instance.state == InstanceState::Alive && self.key_of.is_some() {
                instance.state = InstanceState::NoWriters;
                instance.deadline_at = None;
                let sample = Sample {
                    info: SampleInfo {
                        writer,
                        sequence: SequenceNumber::ZERO,
                        source_time: None,
                        received_at: now,
                        is_valid: false,
                        state: InstanceState::NoWriters,
                        key_hash: None,
                        group_sequence: None,
                        instance: index,
                    },
                    payload: Vec::new(),
                    expires_at: Instant::NEVER,
                    is_filtered: false,
                };
                if !self.is_full(index) {
                    self.enqueue(now, index, sample);
                }
            }
            self.take_over(now, index);
        }
    }

    /// If the owner is no longer valid, delivers the last sample of the strongest remaining writer.
    fn take_over(&mut self, now: Instant, index: usize) {
        let is_exclusive = self.qos.ownership == Ownership::Exclusive;
        let instance = self.instances.get_mut(index).filter(|_| is_exclusive);
        if let Some(sample) = instance.and_then(|instance| instance.take_over(now)) {
            let deadline = self.qos.deadline;
            if let Some(instance) = self.instances.get_mut(index) {
                instance.state = InstanceState::Alive;
                if !deadline.is_infinite() {
                    instance.deadline_at = Some(now + deadline);
                }
            }
            self.separate(now, index, sample);
        }
        self.set_timer(index);
    }

    /// Changes the mutable policies.
    pub(crate) fn set_qos(&mut self, now: Instant, mut qos: Qos) {
        qos.deadline = qos.deadline.or_never();
        let is_new = qos.deadline != self.qos.deadline;
        self.qos = qos;
        for index in 0..self.instances.len() {
            if let Some(instance) = self.instances.get_mut(index).filter(|_| is_new) {
                let is_alive = instance.state == InstanceState::Alive;
                instance.deadline_at = due_anew(now, self.qos.deadline, is_alive);
            }
            self.set_timer(index);
        }
    }

    /// Updates the strength of a writer.
    pub(super) fn set_strength(&mut self, writer: Guid, strength: i32) {
        for instance in &mut self.instances {
            instance.set_strength(writer, strength);
        }
    }

    fn set_timer(&mut self, index: usize) {
        let filter = self.qos.time_based_filter;
        let instance = self.instances.get(index);
        let at = instance.and_then(|instance| instance.timeout(filter));
        self.timer_at = match (self.timer_at, at) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
    }

    /// Handles timers; returns the number of missed deadlines, and adds writers that are no longer
    /// alive to `silent`.
    pub(crate) fn handle_timeout(&mut self, now: Instant, silent: &mut Vec<Guid>) -> u32 {
        if self.next_at <= now {
            for proxy in &mut self.proxies {
                if proxy.alive_until.is_some_and(|until| until <= now) {
                    proxy.alive_until = None;
                    silent.push(proxy.remote.guid);
                }
            }
            self.next_at = self.first_due();
        }
        for writer in silent.iter().copied() {
            self.release(now, writer);
        }
        if self.timer_at.is_none_or(|at| at > now) {
            return 0;
        }
        self.timer_at = None;
        let mut missed = 0;
        for index in 0..self.instances.len() {
            missed += u32::from(self.check_deadline(now, index));
            self.take_over_if_due(now, index);
            self.deliver_pending(now, index);
            self.set_timer(index);
        }
        self.counters.deadlines_missed += u64::from(missed);
        missed
    }

    fn check_deadline(&mut self, now: Instant, index: usize) -> bool {
        let deadline = self.qos.deadline;
        let Some(instance) = self.instances.get_mut(index) else {
            return false;
        };
        let Some(at) = instance.deadline_at.filter(|at| *at <= now) else {
            return false;
        };
        // After a long stall only one miss is reported.
        let next = at + deadline;
        instance.deadline_at = Some(if next <= now { now + deadline } else { next });
        true
    }

    fn take_over_if_due(&mut self, now: Instant, index: usize) {
        let instance = self.instances.get(index);
        let until = instance.and_then(Instance::owner_until);
        if until.is_some_and(|until| until <= now) {
            self.take_over(now, index);
        }
    }

    fn deliver_pending(&mut self, now: Instant, index: usize) {
        let filter = self.qos.time_based_filter;
        let Some(instance) = self.instances.get_mut(index) else {
            return;
        };
        if instance.delivered_at.is_none_or(|at| at + filter <= now)
            && let Some(sample) = instance.pending.take()
        {
            self.enqueue_or_keep(now, index, sample);
        }
    }
}
