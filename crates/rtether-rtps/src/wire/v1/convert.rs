//! What writers and readers of the engine say, in the words of RTPS 1.0, and the other way round.

use super::{Ack, Builder, Gap, Heartbeat, Issue, Source, Var};
use crate::guid::{EntityId, Guid};
use crate::sequence::{NumberSet, SequenceNumber};
use crate::wire::{self, AckNack, Content, InlineQos, Status};

/// Size of the encapsulation header, in octets.
const ENCAPSULATION: usize = 4;
/// Octets of the end of a list.
const SENTINEL: usize = 4;
/// Fewest numbers that an ACK covers; ORTE always sends as many.
const COVERED_MIN: u32 = 32;
/// Encapsulation of a value and of a list, by byte order: big, little.
const CDR: [[u8; 4]; 2] = [[0, 0, 0, 0], [0, 1, 0, 0]];
const LIST: [[u8; 4]; 2] = [[0, 2, 0, 0], [0, 3, 0, 0]];

/// Returns the encapsulation header that a value of an ISSUE has in other versions.
pub(crate) fn value_head(is_little_endian: bool) -> [u8; ENCAPSULATION] {
    CDR[usize::from(is_little_endian)]
}

/// Returns the same for the parameters of a VAR.
pub(crate) fn list_head(is_little_endian: bool) -> [u8; ENCAPSULATION] {
    LIST[usize::from(is_little_endian)]
}

impl Builder<'_> {
    /// Writes a sample: of a built-in writer as a VAR about the object of its key hash, of another
    /// as an ISSUE.
    ///
    /// ISSUEs are for all readers that match: ORTE would not end if one were named.
    pub(crate) fn data(
        &mut self,
        writer: EntityId,
        sequence: SequenceNumber,
        inline: &InlineQos,
        content: Content<'_>,
    ) -> bool {
        if writer.is_built_in() {
            return self.object(writer, sequence, inline, content);
        }
        let Content::Data(octets) = content else {
            // There are no instances that could end.
            return self.gap(&Gap {
                reader: EntityId::UNKNOWN,
                writer,
                start: sequence,
                set: NumberSet::empty(sequence.next().0),
            });
        };
        let (head, payload) = octets.split_at(ENCAPSULATION.min(octets.len()));
        self.issue(&Issue {
            reader: EntityId::UNKNOWN,
            writer,
            sequence,
            parameters: None,
            payload,
            is_little_endian: head != value_head(false),
        })
    }

    fn object(
        &mut self,
        writer: EntityId,
        sequence: SequenceNumber,
        inline: &InlineQos,
        content: Content<'_>,
    ) -> bool {
        let guid = inline.key_hash.map(Guid::from_octets).unwrap_or_default();
        let is_alive = inline.status == Status::default();
        let parameters = match content {
            // What ends has no properties.
            Content::Data(octets) if is_alive => {
                octets.get(ENCAPSULATION..octets.len().saturating_sub(SENTINEL))
            }
            Content::None | Content::Data(_) | Content::Key(_) => None,
        };
        let is_participant = guid.entity == EntityId::PARTICIPANT;
        let var = Var {
            reader: EntityId::UNKNOWN,
            writer,
            of: is_participant.then(|| Source::of(guid.prefix)),
            object: guid.entity,
            sequence,
            is_alive,
            parameters: None,
        };
        self.state(&var, parameters)
    }

    /// Announces the samples of a writer. One that has none left names its last: ORTE drops
    /// announcements of nothing.
    pub(crate) fn availability(&mut self, heartbeat: &wire::Heartbeat) -> bool {
        self.heartbeat(&Heartbeat {
            reader: heartbeat.reader,
            writer: heartbeat.writer,
            first: heartbeat.first.min(heartbeat.last),
            last: heartbeat.last,
            is_final: heartbeat.is_final,
        })
    }

    /// Acknowledges and requests samples.
    pub(crate) fn request(&mut self, ack: &AckNack) -> bool {
        let len = ack.set.len().max(COVERED_MIN);
        let count = usize::try_from(len.div_ceil(32)).unwrap_or(8);
        let mut words = [u32::MAX; 8];
        for (word, missing) in words.iter_mut().zip(ack.set.words()) {
            *word = !missing;
        }
        let words = words.into_iter().take(count);
        let set = NumberSet::from_words(ack.set.base(), len, words);
        set.is_some_and(|set| {
            self.ack(&Ack { reader: ack.reader, writer: ack.writer, set, is_final: ack.is_final })
        })
    }

    /// Declares samples irrelevant.
    pub(crate) fn irrelevant(&mut self, gap: &wire::Gap) -> bool {
        self.gap(&Gap { reader: gap.reader, writer: gap.writer, start: gap.start, set: gap.set })
    }
}

impl Heartbeat {
    /// Returns the heartbeat of other versions, with a count of reception.
    pub(crate) fn counted(&self, count: i32) -> wire::Heartbeat {
        wire::Heartbeat {
            reader: self.reader,
            writer: self.writer,
            first: self.first.max(SequenceNumber::FIRST),
            last: self.last,
            count,
            is_final: self.is_final,
            is_liveliness: false,
        }
    }
}

impl Ack {
    /// Returns the acknowledgment of other versions, with a count of reception.
    pub(crate) fn counted(&self, count: i32) -> AckNack {
        AckNack {
            reader: self.reader,
            writer: self.writer,
            set: self.missing(),
            count,
            is_final: self.is_final,
        }
    }
}

impl Gap {
    /// Returns the GAP of other versions.
    pub(crate) const fn of_2(&self) -> wire::Gap {
        wire::Gap { reader: self.reader, writer: self.writer, start: self.start, set: self.set }
    }
}
