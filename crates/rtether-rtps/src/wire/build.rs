//! Writes messages, little-endian (9.4).

use alloc::vec::Vec;

use super::{
    AckNack, Content, Gap, HEADER_SIZE, Heartbeat, HeartbeatFrag, InlineQos, MAGIC, NackFrag,
    Status, VENDOR, VERSION, flag, kind, pid, v1,
};
use crate::guid::{EntityId, GuidPrefix};
use crate::sequence::{NumberSet, SequenceNumber};
use crate::time::WallTime;

/// Octets of the header of a submessage.
const HEAD: usize = 4;
/// Octets of DATA before its parameter list.
const DATA_HEAD: usize = 20;
/// Octets of `DATA_FRAG` before its parameter list.
const DATA_FRAG_HEAD: usize = 32;

/// A fragment to send.
#[derive(Clone, Copy, Debug)]
pub struct Fragment<'a> {
    /// Its number, from 1 on.
    pub number: u32,
    /// Octets of each fragment but the last, from 1 to the size of the sample.
    pub size: u16,
    /// The whole sample with its encapsulation header.
    pub sample: &'a [u8],
    /// Whether the sample is only a key.
    pub is_key: bool,
}

impl<'a> Fragment<'a> {
    /// Returns its octets; `None` if the sample has no such fragment.
    pub fn octets(&self) -> Option<&'a [u8]> {
        let size = usize::from(self.size);
        if size == 0 || size > self.sample.len() {
            return None;
        }
        let before = usize::try_from(self.number.checked_sub(1)?).ok()?;
        self.sample.chunks(size).nth(before)
    }
}

/// Returns the size of [`Builder::data`] for content of this length, in octets.
pub fn data_size(inline_qos: &InlineQos, content_len: usize) -> usize {
    size(DATA_HEAD, inline_qos, content_len)
}

/// Returns the size of [`Builder::data_frag`] for a fragment of this length, in octets.
pub fn data_frag_size(inline_qos: &InlineQos, fragment_len: usize) -> usize {
    size(DATA_FRAG_HEAD, inline_qos, fragment_len)
}

fn size(head: usize, inline_qos: &InlineQos, len: usize) -> usize {
    let padded = len.checked_next_multiple_of(4).unwrap_or(usize::MAX);
    padded.saturating_add(HEAD + head + qos_size(inline_qos))
}

fn qos_size(qos: &InlineQos) -> usize {
    if qos.is_empty() {
        return 0;
    }
    let mut size = HEAD;
    size += qos.key_hash.map_or(0, |_| HEAD + 16);
    size += if qos.status == Status::default() { 0 } else { HEAD + 4 };
    size += qos.lifespan.map_or(0, |_| HEAD + 8);
    let numbers = [qos.coherent_set, qos.group_sequence, qos.group_set];
    size += numbers.iter().flatten().count() * (HEAD + 8);
    size + qos.group_digest.map_or(0, |_| HEAD + 4)
}

/// Writes a message into a buffer of the caller.
///
/// A submessage that would exceed the limit is not written at all, and the method returns `false`.
/// Nothing is allocated if the capacity of the buffer is at least the limit.
#[derive(Debug)]
pub struct Builder<'a> {
    octets: &'a mut Vec<u8>,
    limit: usize,
    /// Octets before the first submessage that says something.
    start: usize,
    /// Added to the sequence numbers of samples.
    offset: i64,
    /// RTPS 1.0: limit of a message with a single sample, which no fragments can carry.
    v1: Option<usize>,
}

impl<'a> Builder<'a> {
    /// Clears the buffer and writes the header, regardless of `limit`. The limit counts the octets
    /// of the whole message.
    pub fn new(buffer: &'a mut Vec<u8>, prefix: GuidPrefix, limit: usize) -> Self {
        buffer.clear();
        buffer.extend_from_slice(&MAGIC);
        buffer.extend_from_slice(&VERSION);
        buffer.extend_from_slice(&VENDOR);
        buffer.extend_from_slice(&prefix.0);
        Self { octets: buffer, limit, start: HEADER_SIZE, offset: 0, v1: None }
    }

    /// Like [`Self::new`], for a message of RTPS 1.0. Several samples share `limit` octets; one alone
    /// may take the message up to `most`.
    pub(crate) fn new_v1(
        buffer: &'a mut Vec<u8>,
        prefix: GuidPrefix,
        limit: usize,
        most: usize,
    ) -> Self {
        v1::Builder::new(buffer, v1::Source::of(prefix), most);
        Self { octets: buffer, limit, start: v1::HEADER_SIZE, offset: 0, v1: Some(most) }
    }

    /// Continues a message of RTPS 2.5.
    pub(crate) const fn resume(buffer: &'a mut Vec<u8>, limit: usize) -> Self {
        Self { octets: buffer, limit, start: HEADER_SIZE, offset: 0, v1: None }
    }

    /// Writes the participant for which alone all that follows is, and increases the numbers of
    /// samples that follow.
    pub(crate) fn only_for(&mut self, prefix: GuidPrefix, offset: i64) {
        self.info_destination(prefix);
        self.start = self.octets.len();
        self.offset = offset;
    }

    /// Returns what writes the submessages of RTPS 1.0, if the message is one.
    fn v1(&mut self) -> Option<v1::Builder<'_>> {
        let most = self.v1?;
        Some(v1::Builder::resume(self.octets, most))
    }

    /// Returns the octets written, header included.
    pub fn len(&self) -> usize {
        self.octets.len()
    }

    /// Returns the octets that may still be written.
    pub fn room(&self) -> usize {
        self.limit.saturating_sub(self.octets.len())
    }

    /// Returns whether only the header is written.
    pub fn is_empty(&self) -> bool {
        self.octets.len() <= self.start
    }

    /// Writes the source timestamp of what follows; `None` cancels an earlier one.
    pub fn info_timestamp(&mut self, time: Option<WallTime>) -> bool {
        if let Some(mut v1) = self.v1() {
            return v1.info_timestamp(time.map(v1::Stamp::from));
        }
        let Some(time) = time else {
            return self.begin(kind::INFO_TIMESTAMP, flag::INVALIDATE, 0);
        };
        let (seconds, fraction) = time.to_wire();
        let is_fit = self.begin(kind::INFO_TIMESTAMP, 0, 8);
        if is_fit {
            self.u32(seconds);
            self.u32(fraction);
        }
        is_fit
    }

    /// Writes the destination participant of what follows.
    pub fn info_destination(&mut self, prefix: GuidPrefix) -> bool {
        if let Some(mut v1) = self.v1() {
            return v1.info_destination(v1::Source::of(prefix));
        }
        let is_fit = self.begin(kind::INFO_DESTINATION, 0, 12);
        if is_fit {
            self.octets.extend_from_slice(&prefix.0);
        }
        is_fit
    }

    /// Writes a sample.
    pub fn data(
        &mut self,
        reader: EntityId,
        writer: EntityId,
        sequence: SequenceNumber,
        inline_qos: &InlineQos,
        content: Content<'_>,
    ) -> bool {
        let sequence = sequence.plus(self.offset);
        if let Some(mut v1) = self.v1() {
            return v1.data(writer, sequence, inline_qos, content);
        }
        let (flags, octets) = match content {
            Content::None => (0, &[][..]),
            Content::Data(octets) => (flag::DATA, octets),
            Content::Key(octets) => (flag::KEY, octets),
        };
        let flags = flags | qos_flag(inline_qos);
        let len = data_size(inline_qos, octets.len()) - HEAD;
        if !self.begin(kind::DATA, flags, len) {
            return false;
        }
        self.data_head(DATA_HEAD, [reader, writer], sequence);
        self.inline_qos(inline_qos);
        self.padded(octets);
        true
    }

    /// Writes one fragment of a sample; returns `false` also if the sample has no such fragment.
    pub fn data_frag(
        &mut self,
        reader: EntityId,
        writer: EntityId,
        sequence: SequenceNumber,
        inline_qos: &InlineQos,
        fragment: Fragment<'_>,
    ) -> bool {
        if self.v1.is_some() {
            return false;
        }
        let Some(octets) = fragment.octets() else {
            return false;
        };
        let Ok(sample_size) = u32::try_from(fragment.sample.len()) else {
            return false;
        };
        let key = if fragment.is_key { flag::FRAGMENT_KEY } else { 0 };
        let len = data_frag_size(inline_qos, octets.len()) - HEAD;
        if !self.begin(kind::DATA_FRAG, key | qos_flag(inline_qos), len) {
            return false;
        }
        let sequence = sequence.plus(self.offset);
        self.data_head(DATA_FRAG_HEAD, [reader, writer], sequence);
        self.u32(fragment.number);
        self.u16(1);
        self.u16(fragment.size);
        self.u32(sample_size);
        self.inline_qos(inline_qos);
        self.padded(octets);
        true
    }

    /// Announces which samples a writer has.
    pub fn heartbeat(&mut self, heartbeat: &Heartbeat) -> bool {
        let heartbeat = &Heartbeat {
            first: heartbeat.first.plus(self.offset),
            last: heartbeat.last.plus(self.offset),
            ..*heartbeat
        };
        if let Some(mut v1) = self.v1() {
            return v1.availability(heartbeat);
        }
        let mut flags = 0;
        if heartbeat.is_final {
            flags |= flag::FINAL;
        }
        if heartbeat.is_liveliness {
            flags |= flag::LIVELINESS;
        }
        let is_fit = self.begin(kind::HEARTBEAT, flags, 28);
        if is_fit {
            self.entities([heartbeat.reader, heartbeat.writer]);
            self.number(heartbeat.first);
            self.number(heartbeat.last);
            self.u32(heartbeat.count.cast_unsigned());
        }
        is_fit
    }

    /// Announces which fragments of a sample a writer has.
    pub fn heartbeat_frag(&mut self, heartbeat: &HeartbeatFrag) -> bool {
        if self.v1.is_some() {
            return false;
        }
        let is_fit = self.begin(kind::HEARTBEAT_FRAG, 0, 24);
        if is_fit {
            self.entities([heartbeat.reader, heartbeat.writer]);
            self.number(heartbeat.sequence);
            self.u32(heartbeat.last_fragment);
            self.u32(heartbeat.count.cast_unsigned());
        }
        is_fit
    }

    /// Reports which samples a reader has and lacks.
    pub fn ack_nack(&mut self, ack_nack: &AckNack) -> bool {
        if let Some(mut v1) = self.v1() {
            return v1.request(ack_nack);
        }
        let flags = if ack_nack.is_final { flag::FINAL } else { 0 };
        let len = 8 + 8 + set_size(&ack_nack.set) + 4;
        let is_fit = self.begin(kind::ACK_NACK, flags, len);
        if is_fit {
            self.entities([ack_nack.reader, ack_nack.writer]);
            self.number(SequenceNumber(ack_nack.set.base()));
            self.set(&ack_nack.set);
            self.u32(ack_nack.count.cast_unsigned());
        }
        is_fit
    }

    /// Reports which fragments of a sample a reader lacks; returns `false` also if their numbers
    /// exceed 32 bits.
    pub fn nack_frag(&mut self, nack: &NackFrag) -> bool {
        if self.v1.is_some() {
            return false;
        }
        let Ok(base) = u32::try_from(nack.set.base()) else {
            return false;
        };
        let len = 8 + 8 + 4 + set_size(&nack.set) + 4;
        let is_fit = self.begin(kind::NACK_FRAG, 0, len);
        if is_fit {
            self.entities([nack.reader, nack.writer]);
            self.number(nack.sequence);
            self.u32(base);
            self.set(&nack.set);
            self.u32(nack.count.cast_unsigned());
        }
        is_fit
    }

    /// Declares samples irrelevant.
    pub fn gap(&mut self, gap: &Gap) -> bool {
        let gap =
            &Gap { start: gap.start.plus(self.offset), set: gap.set.plus(self.offset), ..*gap };
        if let Some(mut v1) = self.v1() {
            return v1.irrelevant(gap);
        }
        let is_fit = self.begin(kind::GAP, 0, 8 + 8 + 8 + set_size(&gap.set));
        if is_fit {
            self.entities([gap.reader, gap.writer]);
            self.number(gap.start);
            self.number(SequenceNumber(gap.set.base()));
            self.set(&gap.set);
        }
        is_fit
    }

    /// Writes the header of a submessage if header and content fit.
    fn begin(&mut self, kind: u8, flags: u8, len: usize) -> bool {
        let Ok(len_field) = u16::try_from(len) else {
            return false;
        };
        let is_fit = HEAD + len <= self.room();
        if is_fit {
            self.octets.push(kind);
            self.octets.push(flags | flag::LITTLE_ENDIAN);
            self.u16(len_field);
        }
        is_fit
    }

    fn data_head(&mut self, head: usize, entities: [EntityId; 2], sequence: SequenceNumber) {
        // Extra flags, and the octets from the end of this field to the parameter list.
        self.u16(0);
        self.u16(u16::try_from(head - HEAD).unwrap_or_default());
        self.entities(entities);
        self.number(sequence);
    }

    fn inline_qos(&mut self, qos: &InlineQos) {
        if qos.is_empty() {
            return;
        }
        if let Some(hash) = qos.key_hash {
            self.parameter(pid::KEY_HASH, 16);
            self.octets.extend_from_slice(&hash);
        }
        if qos.status != Status::default() {
            self.parameter(pid::STATUS_INFO, 4);
            self.octets.extend_from_slice(&qos.status.octets());
        }
        if let Some(lifespan) = qos.lifespan {
            let (seconds, fraction) = lifespan.to_wire();
            self.parameter(pid::LIFESPAN, 8);
            self.u32(seconds.cast_unsigned());
            self.u32(fraction);
        }
        for (id, number) in [
            (pid::COHERENT_SET, qos.coherent_set),
            (pid::GROUP_COHERENT_SET, qos.group_set),
            (pid::GROUP_SEQUENCE, qos.group_sequence),
        ] {
            if let Some(number) = number {
                self.parameter(id, 8);
                self.number(number);
            }
        }
        if let Some(digest) = qos.group_digest {
            self.parameter(pid::WRITER_GROUP, 4);
            self.octets.extend_from_slice(&digest);
        }
        self.parameter(pid::SENTINEL, 0);
    }

    fn parameter(&mut self, id: u16, len: u16) {
        self.u16(id);
        self.u16(len);
    }

    fn padded(&mut self, octets: &[u8]) {
        self.octets.extend_from_slice(octets);
        let padding = octets.len().next_multiple_of(4) - octets.len();
        self.octets.resize(self.octets.len() + padding, 0);
    }

    fn entities(&mut self, entities: [EntityId; 2]) {
        self.octets.extend_from_slice(entities.map(|entity| entity.0).as_flattened());
    }

    /// High word, then low word.
    fn number(&mut self, number: SequenceNumber) {
        let [a, b, c, d, high @ ..] = number.0.to_le_bytes();
        self.octets.extend_from_slice(&high);
        self.octets.extend_from_slice(&[a, b, c, d]);
    }

    /// Writes a set without its base.
    fn set(&mut self, set: &NumberSet) {
        self.u32(set.len());
        for word in set.words() {
            self.u32(*word);
        }
    }

    fn u16(&mut self, number: u16) {
        self.octets.extend_from_slice(&number.to_le_bytes());
    }

    fn u32(&mut self, number: u32) {
        self.octets.extend_from_slice(&number.to_le_bytes());
    }
}

fn qos_flag(qos: &InlineQos) -> u8 {
    if qos.is_empty() { 0 } else { flag::INLINE_QOS }
}

fn set_size(set: &NumberSet) -> usize {
    4 + 4 * set.words().len()
}
