//! Acknowledgments and requests to writers, and their timing.

use alloc::vec::Vec;

use super::{Reader, WriterProxy};
use crate::locator::{Locator, Recipient};
use crate::time::Instant;
use crate::wire::Builder;
use crate::writer::Sending;

/// Octets of an acknowledgment of samples that have all arrived, with its destination.
const ALONG: usize = 16 + 28;

impl Reader {
    /// Returns the next timer of all writers.
    pub(super) fn first_due(&self) -> Instant {
        let all = self.proxies.iter().map(WriterProxy::due_at);
        all.fold(Instant::NEVER, Instant::min)
    }

    /// Updates `next_at` with the timer of a writer.
    pub(super) fn plan(&mut self, index: usize) {
        let due = self.proxies.get(index).map(WriterProxy::due_at);
        self.next_at = due.map_or(self.next_at, |due| due.min(self.next_at));
    }

    /// Writes the next datagram into `buffer`.
    pub(crate) fn poll_transmit(
        &mut self,
        now: Instant,
        sending: &Sending,
        buffer: &mut Vec<u8>,
    ) -> Option<Recipient> {
        if self.next_at > now {
            return None;
        }
        let mut due = self.proxies.iter_mut();
        let due = due.find_map(|proxy| {
            if proxy.ack_at.is_none_or(|at| at > now) {
                return None;
            }
            let Some(locator) = proxy.remote.unicast.first().copied() else {
                proxy.ack_at = None;
                return None;
            };
            let is_proved = proxy.remote.is_proved;
            let recipient = Recipient { to: locator, is_proved };
            Some((proxy, recipient))
        });
        let Some((proxy, recipient)) = due else {
            self.next_at = self.first_due();
            return None;
        };
        // One count for all writers, so that a writer that is found again sees no old counts.
        self.count = self.count.wrapping_add(1);
        let (ack, nacks) = proxy.acknowledge(now, self.entity, self.count, &self.timing);
        let mut message = sending.message(buffer);
        message.info_destination(proxy.remote.guid.prefix);
        message.ack_nack(&ack);
        let mut asked = nacks.iter();
        while asked.next().is_some_and(|nack| message.nack_frag(nack)) {}
        // Each request above has a count of its own: continue after the last.
        let more = i32::try_from(nacks.len().saturating_sub(1)).unwrap_or(0);
        self.count = self.count.wrapping_add(more);
        Some(recipient)
    }

    /// Adds the acknowledgments to a message that are due there within half of their delay, or for
    /// half as many samples as one is sent for at once: in datagrams of their own they would wake the
    /// other side once more. Requests for what is missing go alone, at their time.
    pub(crate) fn acknowledge_along(
        &mut self,
        now: Instant,
        to: Locator,
        sending: &Sending,
        buffer: &mut Vec<u8>,
    ) {
        let soon = now + self.timing.ack_delay.halved();
        if self.next_at > soon && !self.owes_many || sending.v1.is_some() {
            return;
        }
        self.owes_many = false;
        for proxy in &mut self.proxies {
            let mut message = Builder::resume(buffer, sending.datagram_max);
            let is_due = proxy.owes_many() || proxy.ack_at.is_some_and(|at| at <= soon);
            let is_there = proxy.remote.unicast.first() == Some(&to) && message.room() >= ALONG;
            if !is_due || !is_there || !proxy.lacks_nothing() {
                self.owes_many |= proxy.owes_many();
                continue;
            }
            self.count = self.count.wrapping_add(1);
            let (ack, _) = proxy.acknowledge(now, self.entity, self.count, &self.timing);
            message.info_destination(proxy.remote.guid.prefix);
            message.ack_nack(&ack);
        }
    }

    /// Returns the next timer of an instance.
    pub(crate) fn timer_at(&self) -> Option<Instant> {
        self.timer_at
    }

    /// Returns the next timer.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        debug_assert!(self.next_at <= self.first_due());
        let next = (self.next_at != Instant::NEVER).then_some(self.next_at);
        [next, self.timer_at].into_iter().flatten().min()
    }
}
