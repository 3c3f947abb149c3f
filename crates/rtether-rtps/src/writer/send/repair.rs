//! Retransmission of samples and fragments that a reader has requested.

use alloc::vec::Vec;

use super::super::proxy::Wanted;
use super::super::{Sending, Writer};
use super::{TIMESTAMP, gap, heartbeat, inline_qos, is_fragmented, next_wanted};
use crate::locator::Recipient;
use crate::sequence::{NumberSet, SequenceNumber};
use crate::wire::{Builder, Fragment, data_size};

/// Result of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// Written; more may follow.
    Sent,
    /// Written; nothing may follow.
    Last,
    /// Nothing written; the next request has changed.
    Again,
    /// No room.
    Full,
}

impl Writer {
    /// Sends a reader what it has requested.
    pub(super) fn send_wanted(
        &mut self,
        index: usize,
        sending: &Sending,
        buffer: &mut Vec<u8>,
    ) -> Option<Recipient> {
        let last = self.cache.last();
        let proxy = self.proxies.get(index)?;
        proxy.wanted(last)?;
        let (recipient, guid) = (proxy.recipient()?, proxy.remote.guid);
        let mut message = sending.message(buffer);
        message.only_for(guid.prefix, proxy.offset());
        let mut sent = 0_u32;
        while let Some(wanted) = self.proxies.get(index).and_then(|proxy| proxy.wanted(last)) {
            let step = match wanted {
                Wanted::Sample(sequence) => {
                    self.answer(index, sequence, sent > 0, sending, &mut message)
                }
                Wanted::Fragment(sequence, number) if sent == 0 => {
                    self.answer_fragment(index, (sequence, number), sending, &mut message)
                }
                Wanted::Fragment(..) => Step::Full,
            };
            match step {
                Step::Sent => sent += 1,
                Step::Again => {}
                Step::Last => {
                    sent += 1;
                    break;
                }
                Step::Full => break,
            }
        }
        if sent == 0 {
            return None;
        }
        let octets = message.len();
        let proxy = self.proxies.get_mut(index)?;
        proxy.on_repaired(octets);
        if proxy.is_reliable() && proxy.wanted(last).is_none() {
            let sent = self.sent_to(guid);
            let readers = self.proxies.iter().filter(|one| one.remote.guid == guid);
            let first = self.first_for(sending, readers, sent);
            let heartbeat = heartbeat(self, guid.entity, first, sent);
            if message.heartbeat(&heartbeat) {
                self.heartbeat_count = heartbeat.count;
            }
        }
        Some(recipient)
    }

    /// Writes a sample for a reader, or a GAP if there is none with this number.
    fn answer(
        &mut self,
        index: usize,
        sequence: SequenceNumber,
        has_sent: bool,
        sending: &Sending,
        message: &mut Builder<'_>,
    ) -> Step {
        let Some(proxy) = self.proxies.get_mut(index) else {
            return Step::Full;
        };
        let (reader, start) = (proxy.remote.guid.entity, proxy.start);
        let found = self.cache.get(sequence).filter(|_| sequence >= start);
        let Some(change) = found.filter(|change| proxy.wants(change)) else {
            // What it is not owed, and what is gone, each in a GAP of its own.
            let next =
                if sequence < start { start } else { next_wanted(&self.cache, proxy, sequence) };
            if proxy.is_reliable() && !message.gap(&gap(reader, self.entity, sequence, next)) {
                return Step::Full;
            }
            proxy.on_sent(SequenceNumber(next.0 - 1));
            return if proxy.is_reliable() { Step::Sent } else { Step::Again };
        };
        let inline = inline_qos(change, self.qos.lifespan);
        if is_fragmented(change, &inline, sending) {
            if has_sent {
                return Step::Full;
            }
            if !proxy.takes_whole() {
                return Step::Again;
            }
            // Queues its first fragments as if requested; the reader requests the others.
            let count = change.fragments(sending.fragment).min(NumberSet::LEN_MAX);
            proxy.on_sent(sequence);
            if let Some(all) = NumberSet::from_words(1, count, [u32::MAX; 8]) {
                proxy.want_fragments(sequence, all);
            }
            return Step::Again;
        }
        let needed = data_size(&inline, change.payload.len()) + TIMESTAMP;
        if message.room() < needed && has_sent {
            return Step::Full;
        }
        message.info_timestamp(Some(change.time));
        message.data(reader, self.entity, sequence, &inline, change.content());
        proxy.on_sent(sequence);
        Step::Sent
    }

    /// Writes a fragment for a reader.
    fn answer_fragment(
        &mut self,
        index: usize,
        (sequence, number): (SequenceNumber, u32),
        sending: &Sending,
        message: &mut Builder<'_>,
    ) -> Step {
        let Some(proxy) = self.proxies.get_mut(index) else {
            return Step::Full;
        };
        let (reader, start) = (proxy.remote.guid.entity, proxy.start);
        let found = self.cache.get(sequence).filter(|_| sequence >= start);
        if found.is_none() && sequence <= self.cache.last() {
            // The sample is gone, or was not meant for this reader, which nonetheless has fragments
            // of it: a heartbeat would not tell it so.
            proxy.on_fragments_sent(None);
            let next = self.cache.at_or_after(sequence.max(start));
            let next = next.map_or(self.cache.last().next(), |change| change.sequence);
            let is_said = message.gap(&gap(reader, self.entity, sequence, next));
            return if is_said { Step::Sent } else { Step::Full };
        }
        let found = found.filter(|change| number <= change.fragments(sending.fragment));
        let Some(change) = found else {
            // No such fragment; a heartbeat announces the samples that exist.
            proxy.on_fragments_sent(None);
            proxy.wants_heartbeat = true;
            return Step::Again;
        };
        let fragment = Fragment {
            number,
            size: sending.fragment,
            sample: &change.payload,
            is_key: !change.kind.is_alive(),
        };
        let inline = inline_qos(change, self.qos.lifespan);
        message.info_timestamp(Some(change.time));
        message.data_frag(reader, self.entity, sequence, &inline, fragment);
        proxy.on_fragments_sent(Some(number));
        Step::Last
    }
}
