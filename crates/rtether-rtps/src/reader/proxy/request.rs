//! Requests of a reader to a writer: missing samples and fragments (8.4.12.2).

use alloc::vec::Vec;

use super::super::ReaderTiming;
use super::{Held, WriterProxy};
use crate::guid::EntityId;
use crate::sequence::{NumberSet, SequenceNumber};
use crate::time::Instant;
use crate::wire::{AckNack, NackFrag};

/// Maximum number of requests to a writer that has sent no heartbeat.
const ASKED_MAX: u8 = 10;
/// Number of samples that a request names after one to the same silent writer went unanswered.
const UNHEARD: i64 = 16;

impl WriterProxy {
    /// Returns whether a sample that the writer has is missing.
    pub(crate) fn is_missing(&self) -> bool {
        let mut next = self.next;
        for (sequence, held) in &self.held {
            if *sequence > next {
                break;
            }
            next = match held {
                Held::Sample(_) => sequence.next(),
                Held::Gap(end) => *end,
            };
        }
        next <= self.announced
    }

    /// Returns whether all samples have arrived whole of which the writer has told.
    pub(crate) fn lacks_nothing(&self) -> bool {
        let is_whole = self.reassembly.partials().is_empty();
        is_whole && !self.heartbeat_count.is_none() && !self.is_missing()
    }

    /// Returns the acknowledgment, and requests for the missing fragments of incomplete samples;
    /// `count` tells the writer which is new. Whole samples are requested up to the first
    /// incomplete one, and no more samples in fragments than can be reassembled.
    pub(crate) fn acknowledge(
        &mut self,
        now: Instant,
        reader: EntityId,
        count: i32,
        timing: &ReaderTiming,
    ) -> (AckNack, Vec<NackFrag>) {
        let mut set = NumberSet::empty(self.next.0);
        let mut room = if self.is_fragmented { self.reassembly.free().max(1) } else { usize::MAX };
        let has_heard = !self.heartbeat_count.is_none();
        let may_ask = !has_heard && self.asked < ASKED_MAX;
        let mut last = self.announced;
        if may_ask && self.asked > 0 && self.remote.persistence.is_none() {
            // Fast DDS answers a request without numbers only with its next periodic heartbeat,
            // after up to 3 s; requests for numbers that it has, at once. The first heartbeat of a
            // writer of RTPS 1.0 says where the reader begins, so that it must wait for it.
            last = last.max(SequenceNumber(self.next.0.saturating_add(UNHEARD - 1)));
        }
        let mut number = self.next;
        let mut held = self.held.iter().peekable();
        while number <= last && number.0 - self.next.0 < i64::from(NumberSet::LEN_MAX) {
            if let Some((_, is_there)) = held.next_if(|(held, _)| **held == number) {
                number = match is_there {
                    Held::Sample(_) => number.next(),
                    Held::Gap(end) => (*end).max(number.next()),
                };
                while held.next_if(|(held, _)| **held < number).is_some() {}
                continue;
            }
            if room == 0 || self.reassembly.get(number).is_some() {
                break;
            }
            set.insert(number.0);
            room -= 1;
            number = number.next();
        }
        let nacks = self.fragments_wanted(reader, count);
        let is_asking = !set.is_empty() || !nacks.is_empty();
        self.ack_at = None;
        if is_asking {
            self.asked_at = Some(now);
            // Some writers send heartbeats only every few seconds.
            let after = self.ask_after.doubled().max(timing.ask_again_min);
            self.ask_after = after.min(timing.ask_again);
            self.ack_at = Some(now + self.ask_after);
        }
        self.since_ack = 0;
        if may_ask {
            self.asked += 1;
            self.ack_at = Some(now + timing.ask_again);
        }
        let writer = self.remote.guid.entity;
        let ack = AckNack { reader, writer, set, count, is_final: has_heard };
        (ack, nacks)
    }

    /// Returns requests for the missing fragments of incomplete samples, with consecutive counts
    /// from `count`.
    fn fragments_wanted(&self, reader: EntityId, count: i32) -> Vec<NackFrag> {
        let partials = self.reassembly.partials().iter();
        let partials = partials.filter(|one| one.sequence <= self.announced);
        let mut wanted: Vec<NackFrag> = partials
            .map(|one| NackFrag {
                reader,
                writer: self.remote.guid.entity,
                sequence: one.sequence,
                set: one.missing(),
                count,
            })
            .collect();
        wanted.sort_unstable_by_key(|nack| nack.sequence);
        for (number, nack) in (0..).zip(&mut wanted) {
            nack.count = count.wrapping_add(number);
        }
        wanted
    }
}
