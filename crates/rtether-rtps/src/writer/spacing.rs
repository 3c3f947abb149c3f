//! Minimum separation at the writer (D3): readers that want a value no more often than so and may lose
//! samples are not sent what they would throw away, but the last value once the time is over.
//!
//! The end of an instance supersedes what was held back of it.
//! They make sure of it themselves in any case. It is worked out for places: where readers share one,
//! the shortest separation counts, and if one of them wants everything it is sent everything.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use super::send::{inline_qos, is_fragmented};
use super::{Destination, ReaderProxy, Sending, Writer};
use crate::guid::EntityId;
use crate::locator::Locator;
use crate::sequence::SequenceNumber;
use crate::time::{Duration, Instant};
use crate::wire::Builder;

/// What a place has been sent of an instance.
#[derive(Clone, Copy, Debug)]
struct Spaced {
    sent_at: Instant,
    /// Its last sample since, which waits.
    pending: Option<SequenceNumber>,
}

/// What keeps samples for a place apart.
#[derive(Debug)]
pub(super) struct Spacing {
    locator: Locator,
    /// Zero if all is sent.
    span: Duration,
    /// By their numbers in the history, which limits them.
    instances: BTreeMap<u32, Spaced>,
    /// All samples before have been looked at.
    next: SequenceNumber,
    /// Those that are not sent now, and have not been passed over yet.
    held: BTreeSet<SequenceNumber>,
    /// The last number that the place was sent: readers take smaller ones for old.
    top: SequenceNumber,
}

impl Spacing {
    fn due_at(&self) -> Option<Instant> {
        let pending = self.instances.values().filter(|one| one.pending.is_some());
        pending.map(|one| one.sent_at + self.span).min()
    }

    /// Returns whether a sample is not to be sent now.
    pub(super) fn holds(&self, sequence: SequenceNumber) -> bool {
        self.held.contains(&sequence)
    }
}

impl Destination {
    /// Returns whether a reader is at this place.
    pub(super) fn has(&self, reader: &ReaderProxy) -> bool {
        let is_in = reader.remote.multicast.contains(&self.locator);
        is_in || reader.place() == Some(self.locator)
    }
}

impl Writer {
    /// Keeps samples apart from now on for readers that want them so.
    pub(crate) fn keep_apart(&mut self) {
        self.spacings = Some(Vec::new());
        self.rebuild_spacings();
    }

    /// Works out which places want samples how far apart.
    pub(super) fn rebuild_spacings(&mut self) {
        let Some(mut old) = self.spacings.take() else {
            return;
        };
        let mut spacings = Vec::new();
        for there in &self.destinations {
            let readers = self.proxies.iter().filter(|reader| there.has(reader));
            let spans = readers.map(|reader| {
                let is_all = reader.is_reliable();
                if is_all {
                    Duration::ZERO
                } else {
                    reader.remote.separation
                }
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

    /// Decides which new samples are not sent to a place yet.
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
            let new = Spaced {
                sent_at: now,
                pending: None,
            };
            spacing.instances.insert(id, new);
            spacing.top = sequence;
        }
    }

    /// Sends a place the last value of an instance for which it is time.
    pub(super) fn send_late(
        &mut self,
        now: Instant,
        index: usize,
        sending: &Sending,
        buffer: &mut Vec<u8>,
    ) -> Option<Locator> {
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
        // Behind what was sent of other instances meanwhile it needs a number of its own; to others that
        // number is a gap.
        let is_new = sequence > spacing.top;
        let number = if is_new { sequence } else { self.cache.skip() };
        spacing.top = number;
        let locator = spacing.locator;
        let change = self.cache.get(sequence)?;
        let inline = inline_qos(change, self.qos.lifespan);
        let mut message = Builder::new(buffer, sending.prefix, sending.datagram_max);
        message.info_timestamp(Some(change.time));
        let (reader, own) = (EntityId::UNKNOWN, self.entity);
        message.data(reader, own, number, &inline, change.content());
        Some(locator)
    }

    /// Returns when the next value is due that was held back.
    pub(super) fn late_at(&self) -> Option<Instant> {
        let spacings = self.spacings.iter().flatten();
        spacings.filter_map(Spacing::due_at).min()
    }
}
