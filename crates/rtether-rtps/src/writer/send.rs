//! Transmission of new samples and heartbeats.

mod repair;

use alloc::vec::Vec;

use super::cache::{Cache, Change, ChangeKind};
use super::{Destination, ReaderProxy, Sending, Writer};
use crate::guid::EntityId;
use crate::locator::Recipient;
use crate::sequence::{NumberSet, SequenceNumber};
use crate::time::{Duration, Instant};
use crate::wire::{Builder, Content, Fragment, Gap, Heartbeat, InlineQos, Status, data_size};

/// Size of a timestamp, in octets.
const TIMESTAMP: usize = 12;
/// Maximum number of in-flight samples examined; no window is as long.
const WINDOW_LOOK: usize = 64;
/// Maximum number of samples examined for one GAP of samples that a reader does not want.
const LOOKED_AT_MAX: usize = 256;
/// Octets of the message header, the destination and the timestamp.
const HEADS: usize = 20 + 16 + TIMESTAMP;
/// Octets of a GAP of one range, with its header.
const GAP: usize = 4 + 8 + 8 + 12;
/// Octets of a fragment header with the longest `inlineQos`.
const FRAGMENT_HEADS: usize = 36 + 20 + 12 + 8 + 3 * 12 + 8 + 4;

/// Returns the size of a fragment for datagrams of this size: a multiple of 4.
pub(crate) fn fragment_size(datagram_max: usize) -> u16 {
    let size = datagram_max.saturating_sub(HEADS + FRAGMENT_HEADS) / 4 * 4;
    u16::try_from(size.clamp(64, 65_000)).unwrap_or(1_024)
}

pub(super) fn inline_qos(change: &Change, lifespan: Duration) -> InlineQos {
    let is_disposed =
        matches!(change.kind, ChangeKind::Disposed | ChangeKind::DisposedUnregistered);
    let is_unregistered =
        matches!(change.kind, ChangeKind::Unregistered | ChangeKind::DisposedUnregistered);
    InlineQos {
        key_hash: change.key_hash,
        status: Status { is_disposed, is_unregistered },
        lifespan: (!lifespan.is_infinite()).then_some(lifespan),
        coherent_set: change.set,
        group_sequence: change.group.sequence,
        group_set: change.group.set,
        group_digest: change.group.digest,
    }
}

/// Returns whether a sample does not fit one datagram.
pub(super) fn is_fragmented(change: &Change, inline: &InlineQos, sending: &Sending) -> bool {
    // RTPS 1.0 has no fragments.
    sending.v1.is_none() && HEADS + data_size(inline, change.payload.len()) > sending.datagram_max
}

impl Change {
    pub(super) fn content(&self) -> Content<'_> {
        if self.is_set_end() {
            Content::None
        } else if self.kind.is_alive() {
            Content::Data(&self.payload)
        } else {
            Content::Key(&self.payload)
        }
    }

    fn fragments(&self, size: u16) -> u32 {
        let count = self.payload.len().div_ceil(usize::from(size.max(1)));
        u32::try_from(count).unwrap_or(u32::MAX)
    }
}

impl Writer {
    /// Writes the next datagram into `buffer`.
    pub(crate) fn poll_transmit(
        &mut self,
        now: Instant,
        sending: &Sending,
        buffer: &mut Vec<u8>,
    ) -> Option<Recipient> {
        for index in 0..self.destinations.len() {
            self.hold_back(now, index, sending);
            if let Some(recipient) = self.send_new(now, index, sending, buffer) {
                return Some(recipient);
            }
            if let Some(recipient) = self.send_late(now, index, sending, buffer) {
                return Some(recipient);
            }
        }
        if self.is_asked {
            for index in 0..self.proxies.len() {
                if let Some(recipient) = self.send_wanted(index, sending, buffer) {
                    return Some(recipient);
                }
            }
        }
        self.mark_behind(now, sending);
        if !self.is_asked {
            return None;
        }
        let sent = self.send_heartbeat(sending, buffer);
        self.is_asked = sent.is_some();
        sent
    }

    /// Sends new samples to a destination.
    fn send_new(
        &mut self,
        now: Instant,
        index: usize,
        sending: &Sending,
        buffer: &mut Vec<u8>,
    ) -> Option<Recipient> {
        let mut there = *self.destinations.get(index)?;
        let last = self.cache.last();
        if there.next > last {
            return None;
        }
        let is_reliable = self.has_reliable();
        let (mut is_kept_back, mut is_long) = (false, false);
        let mut message = there.message(sending, buffer);
        self.tell_begins(index, &there, sending, &mut message);
        while let Some(change) = self.wanted_at(index, &there) {
            if change.sequence > there.next {
                let none = EntityId::UNKNOWN;
                let gap = gap(none, self.entity, there.next, change.sequence);
                if is_reliable && !message.gap(&gap) {
                    break;
                }
                (there.next, there.fragment) = (change.sequence, 1);
            }
            let inline = inline_qos(change, self.qos.lifespan);
            if is_fragmented(change, &inline, sending) {
                is_kept_back = !self.admits(now, &there, change, sending);
                is_long = message.is_empty() && !is_kept_back;
                if is_long {
                    self.send_new_fragment(&mut there, change, &inline, sending, &mut message);
                }
                break;
            }
            let needed = data_size(&inline, change.payload.len()) + TIMESTAMP;
            if message.room() < needed && !message.is_empty() {
                break;
            }
            message.info_timestamp(Some(change.time));
            let (reader, own) = (EntityId::UNKNOWN, self.entity);
            message.data(reader, own, change.sequence, &inline, change.content());
            there.next = change.sequence.next();
        }
        if there.next <= last && self.wanted_at(index, &there).is_none() {
            // Later samples were evicted (heartbeats announce that) or no reader there wants them.
            if is_reliable && self.has_filters {
                message.gap(&gap(EntityId::UNKNOWN, self.entity, there.next, last.next()));
            }
            there.next = last.next();
        }
        is_kept_back |= self.is_kept_back(now, index, &there, sending);
        let is_paused = is_kept_back && !message.is_empty();
        if (there.next > last || is_paused) && is_reliable {
            let sent = SequenceNumber(there.next.0 - 1);
            let readers = self.proxies.iter().filter(|reader| there.has(reader));
            let first = self.first_for(sending, readers, sent);
            let heartbeat = heartbeat(self, EntityId::UNKNOWN, first, sent);
            if message.heartbeat(&heartbeat) {
                self.heartbeat_count = heartbeat.count;
            }
        }
        let is_empty = message.is_empty();
        if is_long {
            let readers = self.proxies.iter_mut();
            for reader in readers.filter(|reader| there.has(reader)) {
                reader.on_long_sent(now);
            }
        }
        if let Some(place) = self.destinations.get_mut(index) {
            *place = there;
        }
        (!is_empty).then_some(there.recipient())
    }

    /// Tells new readers at a destination where they begin, if the next sample still fits.
    fn tell_begins(
        &self,
        index: usize,
        there: &Destination,
        sending: &Sending,
        message: &mut Builder<'_>,
    ) {
        let Some(next) = self.wanted_at(index, there) else {
            return;
        };
        let inline = inline_qos(next, self.qos.lifespan);
        let needed = data_size(&inline, next.payload.len()) + TIMESTAMP;
        let readers = self.proxies.iter().filter(|reader| there.has(reader));
        for reader in readers {
            if message.room() < needed + GAP {
                return;
            }
            self.tell_begin(reader, sending, message);
        }
    }

    /// Tells a new reader where it begins. In RTPS 1.0 heartbeats do.
    fn tell_begin(&self, reader: &ReaderProxy, sending: &Sending, message: &mut Builder<'_>) {
        let is_silent = sending.v1.is_some() || self.entity.is_built_in();
        if let Some(begin) = reader.begin().filter(|_| !is_silent) {
            let entity = reader.remote.guid.entity;
            message.gap(&gap(entity, self.entity, SequenceNumber::FIRST, begin));
        }
    }

    /// Returns whether the next sample to a destination must wait until earlier ones are
    /// acknowledged.
    fn is_kept_back(
        &self,
        now: Instant,
        index: usize,
        there: &Destination,
        sending: &Sending,
    ) -> bool {
        self.wanted_at(index, there).is_some_and(|change| {
            let inline = inline_qos(change, self.qos.lifespan);
            is_fragmented(change, &inline, sending) && !self.admits(now, there, change, sending)
        })
    }

    /// Returns whether a sample in fragments may be sent to a destination: the windows of its
    /// reliable readers limit what is in flight.
    fn admits(
        &self,
        now: Instant,
        there: &Destination,
        change: &Change,
        sending: &Sending,
    ) -> bool {
        if there.fragment > 1 {
            return true;
        }
        let readers = self.proxies.iter().filter(|reader| there.has(reader));
        let mut paced = readers.filter(|reader| reader.is_paced(now));
        paced.all(|reader| {
            let before = self.cache.from(reader.acknowledged.next());
            let before = before.take_while(|one| one.sequence < change.sequence);
            let (mut samples, mut octets) = (0, 0_usize);
            let is_long = |one: &&Change| one.payload.len() > sending.datagram_max;
            for one in before.filter(is_long).take(WINDOW_LOOK) {
                samples += 1;
                octets = octets.saturating_add(one.payload.len());
            }
            reader.window.admits(samples, octets, change.payload.len())
        })
    }

    /// Returns the next sample for a destination: one that a reader there wants now.
    fn wanted_at(&self, index: usize, there: &Destination) -> Option<&Change> {
        let spacings = self.spacings.as_ref();
        let spacing = spacings.and_then(|spacings| spacings.get(index));
        if !self.has_filters && spacing.is_none() {
            return self.cache.at_or_after(there.next);
        }
        let mut changes = self.cache.from(there.next);
        changes.find(|change| {
            let mut readers = self.proxies.iter().filter(|reader| there.has(reader));
            let is_wanted = !self.has_filters || readers.any(|reader| reader.wants(change));
            is_wanted && spacing.is_none_or(|spacing| !spacing.holds(change.sequence))
        })
    }

    fn send_new_fragment(
        &self,
        there: &mut Destination,
        change: &Change,
        inline: &InlineQos,
        sending: &Sending,
        message: &mut Builder<'_>,
    ) {
        let fragment = Fragment {
            number: there.fragment,
            size: sending.fragment,
            sample: &change.payload,
            is_key: !change.kind.is_alive(),
        };
        message.info_timestamp(Some(change.time));
        let (reader, own) = (EntityId::UNKNOWN, self.entity);
        message.data_frag(reader, own, change.sequence, inline, fragment);
        there.fragment += 1;
        if there.fragment > change.fragments(sending.fragment) {
            (there.next, there.fragment) = (change.sequence.next(), 1);
        }
    }

    /// Marks readers that are behind, if a heartbeat is due.
    fn mark_behind(&mut self, now: Instant, sending: &Sending) {
        if self.heartbeat_at.is_none_or(|at| at > now) {
            return;
        }
        let last = self.cache.last();
        let mut is_any = false;
        for proxy in &mut self.proxies {
            if proxy.is_behind(last) && !proxy.is_given_up() {
                proxy.wants_heartbeat = true;
                if sending.v1.is_some() {
                    proxy.ask_again();
                }
                is_any = true;
            }
        }
        self.is_asked |= is_any;
        self.heartbeat_at = is_any.then(|| now + self.heartbeat_after);
        let after = self.heartbeat_after.doubled();
        self.heartbeat_after = after.min(self.timing.heartbeat_max);
    }

    /// Sends a heartbeat to a reader that is behind or has asked.
    fn send_heartbeat(&mut self, sending: &Sending, buffer: &mut Vec<u8>) -> Option<Recipient> {
        let mut asked = self.proxies.iter_mut();
        let last = self.cache.last();
        let is_silent = sending.v1.is_some() && !self.entity.is_built_in();
        let (recipient, guid, offset) = asked.find_map(|proxy| {
            if !proxy.wants_heartbeat {
                return None;
            }
            if is_silent && proxy.start > last && last > SequenceNumber::ZERO {
                // It would ask for the last sample, which is not for it.
                proxy.wants_heartbeat = false;
                return None;
            }
            proxy.on_heartbeat_sent();
            Some((proxy.recipient()?, proxy.remote.guid, proxy.offset()))
        })?;
        let mut message = sending.message(buffer);
        message.only_for(guid.prefix, offset);
        let sent = self.sent_to(guid);
        let readers = self.proxies.iter().filter(|one| one.remote.guid == guid);
        let first = self.first_for(sending, readers, sent);
        let heartbeat = heartbeat(self, guid.entity, first, sent);
        if let Some(reader) = self.find(guid).ok().and_then(|at| self.proxies.get(at)) {
            self.tell_begin(reader, sending, &mut message);
        }
        self.heartbeat_count = heartbeat.count;
        message.heartbeat(&heartbeat);
        Some(recipient)
    }

    /// Returns the first sample that a heartbeat to these readers offers: the first in the history.
    ///
    /// In RTPS 1.0 a reader begins with it, without a GAP before: there it is the first that one of
    /// the readers lacks. Built-in readers know GAPs, and want all.
    fn first_for<'a>(
        &self,
        sending: &Sending,
        readers: impl Iterator<Item = &'a ReaderProxy>,
        sent: SequenceNumber,
    ) -> SequenceNumber {
        let first = self.cache.first();
        if sending.v1.is_none() || self.entity.is_built_in() {
            return first;
        }
        // Also of one that has not answered so far: it may have lost its answers.
        let reliable = readers.filter(|one| one.is_reliable());
        let lacking = reliable.map(|one| one.acknowledged.next()).min();
        lacking.unwrap_or(sent).min(sent).max(first)
    }
}

/// Returns the first sample from `from` that a reader wants, or one before which it wants none.
fn next_wanted(cache: &Cache, reader: &ReaderProxy, from: SequenceNumber) -> SequenceNumber {
    let mut changes = cache.from(from).enumerate();
    let wanted = changes.find(|(count, change)| *count >= LOOKED_AT_MAX || reader.wants(change));
    wanted.map_or(cache.last().next(), |(_, change)| change.sequence)
}

/// Returns a heartbeat with the samples that the reader was already sent.
fn heartbeat(
    writer: &Writer,
    reader: EntityId,
    first: SequenceNumber,
    sent: SequenceNumber,
) -> Heartbeat {
    Heartbeat {
        reader,
        writer: writer.entity,
        first,
        last: sent.max(SequenceNumber(first.0 - 1)),
        count: writer.heartbeat_count.wrapping_add(1),
        is_final: false,
        is_liveliness: false,
    }
}

/// Returns a GAP from `start` to before `next`.
fn gap(reader: EntityId, writer: EntityId, start: SequenceNumber, next: SequenceNumber) -> Gap {
    Gap { reader, writer, start, set: NumberSet::empty(next.0) }
}
