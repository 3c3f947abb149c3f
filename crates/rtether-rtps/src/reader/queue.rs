//! Samples that wait for the application.

use alloc::vec::Vec;

use super::{Reader, SPARE_MAX, SampleInfo};
use crate::time::Instant;

impl Reader {
    /// Passes the next sample to `read`, with its payload and the key of its instance.
    pub(crate) fn take<R>(
        &mut self,
        now: Instant,
        read: impl FnOnce(&SampleInfo, &[u8], &[u8]) -> R,
    ) -> Option<R> {
        let sample = loop {
            let sample = self.queue.pop_front()?;
            if let Some(instance) = self.instances.get_mut(sample.info.instance) {
                instance.queued = instance.queued.saturating_sub(1);
            }
            if sample.expires_at > now {
                break sample;
            }
            self.counters.expired += 1;
            self.recycle(sample.payload);
        };
        if self.is_starved {
            self.is_starved = false;
            self.offer_again(now);
        }
        let instance = self.instances.get(sample.info.instance);
        let key = instance.map_or(&[][..], |instance| &instance.key);
        let result = read(&sample.info, &sample.payload, key);
        self.recycle(sample.payload);
        Some(result)
    }

    /// Returns the next sample, and drops expired ones before it.
    pub(crate) fn front(&mut self, now: Instant) -> Option<&SampleInfo> {
        while self.queue.front()?.expires_at <= now {
            let sample = self.queue.pop_front()?;
            if let Some(instance) = self.instances.get_mut(sample.info.instance) {
                instance.queued = instance.queued.saturating_sub(1);
            }
            self.counters.expired += 1;
            self.recycle(sample.payload);
        }
        self.queue.front().map(|sample| &sample.info)
    }

    /// Returns the queue position of a sample: last, unless samples of its publisher are ordered by
    /// group number.
    pub(super) fn place(&self, info: &SampleInfo) -> usize {
        let is_ordered = self.is_in_group && self.qos.presentation.is_ordered;
        let own = info.group_sequence.filter(|_| is_ordered);
        let (Some(own), Some(publisher)) = (own, self.publisher_of(info.writer)) else {
            return self.queue.len();
        };
        let is_later = |other: &SampleInfo| {
            other.group_sequence.is_some_and(|other| other > own)
                && other.writer.prefix == info.writer.prefix
                && self.publisher_of(other.writer) == Some(publisher)
        };
        let before = self.queue.iter().rposition(|one| !is_later(&one.info));
        before.map_or(0, |before| before + 1)
    }

    /// Accepts samples held for lack of room, and requests the rest.
    fn offer_again(&mut self, now: Instant) {
        self.has_group_news |= self.is_grouped();
        self.offer_pending(now);
        for index in 0..self.proxies.len() {
            self.deliver_held(now, index);
            if let Some(proxy) = self.proxies.get_mut(index)
                && proxy.remote.is_reliable
                && proxy.is_missing()
            {
                proxy.ack_at = Some(now);
            }
            self.plan(index);
        }
    }

    pub(super) fn recycle(&mut self, payload: Vec<u8>) {
        if self.spare.len() < SPARE_MAX {
            self.spare.push(payload);
        }
    }

    /// Returns the number of waiting samples.
    pub(crate) fn waiting(&self) -> usize {
        self.queue.len()
    }
}
