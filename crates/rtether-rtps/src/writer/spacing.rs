//! Minimum separation at the writer (D3): best-effort readers with a minimum separation are not
//! sent samples that they would drop, but the last value when the separation ends.
//!
//! The end of an instance supersedes values held back. Readers enforce the separation themselves in
//! any case. It is computed per destination: where readers share one, the shortest separation
//! applies, and if one of them wants everything, everything is sent.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use super::send::{inline_qos, is_fragmented};
use super::{Destination, ReaderProxy, Sending, Writer};
use crate::guid::EntityId;
use crate::locator::{Locator, Recipient};
use crate::sequence::SequenceNumber;
use crate::time::{Duration, Instant};

/// State of an instance at a destination.
#[derive(Clone, Copy, Debug)]
struct Spaced {
    sent_at: Instant,
    /// Last sample held back since.
    pending: Option<SequenceNumber>,
}

/// Spacing of samples to a destination.
#[derive(Debug)]
pub(super) struct Spacing {
    locator: Locator,
    /// Zero if everything is sent.
    span: Duration,
    /// By instance index of the history, which limits their number.
    instances: BTreeMap<u32, Spaced>,
    /// All earlier samples have been examined.
    next: SequenceNumber,
    /// Samples held back and not yet passed.
    held: BTreeSet<SequenceNumber>,
    /// Last number sent to the destination: readers take smaller ones as old.
    top: SequenceNumber,
}

impl Spacing {
    fn due_at(&self) -> Option<Instant> {
        let pending = self.instances.values().filter(|one| one.pending.is_some());
        pending.map(|one| one.sent_at + self.span).min()
    }

    /// Returns whether a sample is held back.
    pub(super) fn holds(&self, sequence: SequenceNumber) -> bool {
        self.held.contains(&sequence)
    }
}

impl Destination {
    /// Returns whether a reader is at this destination.
    pub(super) fn has(&self, reader: &ReaderProxy) -> bool {
        let is_in = reader.remote.multicast.contains(&self.locator);
        (is_in || reader.place() == Some(self.locator)) && reader.sole() == self.sole
    }
}

impl Writer {
    /// Enables separation for readers that request it.
    pub(crate) fn keep_apart(&mut self) {
        self.spacings = Some(Vec::new());
        self.rebuild_spacings();
    }

    /// Computes the separation of each destination.
    pub(super) fn rebuild_spacings(&mut self) {
        let Some(mut old) = self.spacings.take() else {
            return;
        };
        let mut spacings = Vec::new();
        for there in &self.destinations {
            let readers = self.proxies.iter().filter(|reader| there.has(reader));
            let spans = readers.map(|reader| {
                let is_all = reader.is_reliable();
                if is_all { Duration::ZERO } else { reader.remote.separation }
            });
            let span = spans.min().unwrap_or(Duration::ZERO);
            let known = old.iter().position(|one| one.locator == there.locator);
            let mut spacing = known.map_or_else(
                || Spacing {
                    locator: there.locator,
                    span,
                    instances: BTreeMap::new(),
                    next: there.next,
                    held: BTreeSet::new(),
                    top: SequenceNumber(there.next.0 - 1),
                },
                |index| old.swap_remove(index),
            );
            spacing.span = span;
            spacings.push(spacing);
        }
        self.spacings = Some(spacings);
    }

    /// Decides which new samples to hold back from a destination.
    pub(super) fn hold_back(&mut self, now: Instant, index: usize, sending: &Sending) {
        let there = self.destinations.get(index);
        let spacings = self.spacings.as_mut();
        let spacing = spacings.and_then(|spacings| spacings.get_mut(index));
        let (Some(there), Some(spacing)) = (there, spacing) else {
            return;
        };
        spacing.held = spacing.held.split_off(&there.next);
        for change in self.cache.from(spacing.next.max(there.next)) {
            let sequence = change.sequence;
            spacing.next = sequence.next();
            let id = change.instance;
            let inline = inline_qos(change, self.qos.lifespan);
            let is_apart = change.kind.is_alive()
                && change.set.is_none()
                && !is_fragmented(change, &inline, sending);
            let spaced = spacing.instances.get_mut(&id);
            let is_early = |one: &&mut Spaced| is_apart && one.sent_at + spacing.span > now;
            if let Some(spaced) = spaced.filter(is_early) {
                spaced.pending = Some(sequence);
                spacing.held.insert(sequence);
                continue;
            }
            let new = Spaced { sent_at: now, pending: None };
            spacing.instances.insert(id, new);
            spacing.top = sequence;
        }
    }

    /// Sends a destination the last value of an instance whose separation has ended.
    pub(super) fn send_late(
        &mut self,
        now: Instant,
        index: usize,
        sending: &Sending,
        buffer: &mut Vec<u8>,
    ) -> Option<Recipient> {
        let spacing = self.spacings.as_mut()?.get_mut(index)?;
        let span = spacing.span;
        let sequence = loop {
            let mut all = spacing.instances.values_mut();
            let spaced = all.find(|one| one.pending.is_some() && one.sent_at + span <= now)?;
            let sequence = spaced.pending.take()?;
            // It may have expired.
            if self.cache.get(sequence).is_some() {
                spaced.sent_at = now;
                break sequence;
            }
        };
        // After samples of other instances it needs a new number; to other readers that number is a
        // gap.
        let is_new = sequence > spacing.top;
        let number = if is_new { sequence } else { self.cache.skip() };
        spacing.top = number;
        let there = *self.destinations.get(index)?;
        let change = self.cache.get(sequence)?;
        let inline = inline_qos(change, self.qos.lifespan);
        let mut message = there.message(sending, buffer);
        message.info_timestamp(Some(change.time));
        let (reader, own) = (EntityId::UNKNOWN, self.entity);
        message.data(reader, own, number, &inline, change.content());
        Some(there.recipient())
    }

    /// Returns when the next value held back is due.
    pub(super) fn late_at(&self) -> Option<Instant> {
        let spacings = self.spacings.iter().flatten();
        spacings.filter_map(Spacing::due_at).min()
    }
}
