//! Samples within a reader.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use crate::guid::Guid;
use crate::sequence::SequenceNumber;
use crate::time::{Duration, Instant, WallTime};
use crate::wire::{Content, InlineQos};
use crate::writer::ChangeKind;

/// State of an instance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InstanceState {
    /// It exists.
    #[default]
    Alive,
    /// A writer has disposed of it.
    Disposed,
    /// No writer writes it any more.
    NoWriters,
}

/// Writes the key of a payload in canonical form; the flag says whether the payload is only a key.
/// Returns the hash that a writer of such payloads would send; `None` if the payload is malformed.
pub type WriteKey = dyn Fn(&[u8], bool, &mut Vec<u8>) -> Option<[u8; 16]> + Send + Sync;

/// [`WriteKey`] as a function pointer.
pub type WriteKeyFn = fn(&[u8], bool, &mut Vec<u8>) -> Option<[u8; 16]>;

/// Extracts keys from payloads of a type, like [`WriteKey`].
#[derive(Clone)]
pub enum KeyOf {
    /// A function, for types known at compile time.
    Function(WriteKeyFn),
    /// A closure, for types described at run time.
    Closure(Arc<WriteKey>),
}

impl fmt::Debug for KeyOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Function(_) => "Function",
            Self::Closure(_) => "Closure",
        })
    }
}

impl KeyOf {
    /// Writes the key of a payload.
    pub(super) fn write(
        &self,
        payload: &[u8],
        is_key: bool,
        key: &mut Vec<u8>,
    ) -> Option<[u8; 16]> {
        match self {
            Self::Function(write) => write(payload, is_key, key),
            Self::Closure(write) => write(payload, is_key, key),
        }
    }
}

/// Timing of acknowledgments and requests of a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReaderTiming {
    /// From a heartbeat to the acknowledgment if no sample is missing; missing ones are requested
    /// at once.
    pub ack_delay: Duration,
    /// Minimum time between requests for missing samples.
    pub nack_suppression: Duration,
    /// Interval of requests to a writer without a heartbeat; also the longest interval of requests
    /// for missing samples.
    pub ask_again: Duration,
    /// Shortest interval of requests for missing samples; doubled while none arrive.
    pub ask_again_min: Duration,
}

impl Default for ReaderTiming {
    fn default() -> Self {
        Self {
            ack_delay: Duration::from_ms(5),
            nack_suppression: Duration::from_ms(2),
            ask_again: Duration::from_ms(250),
            ask_again_min: Duration::from_ms(10),
        }
    }
}

/// Metadata of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampleInfo {
    /// Its writer.
    pub writer: Guid,
    /// Sequence number.
    pub sequence: SequenceNumber,
    /// Source timestamp, by the writer's clock.
    pub source_time: Option<WallTime>,
    /// Arrival time.
    pub received_at: Instant,
    /// Whether it has a value; if not, it only reports a change of the instance state.
    pub is_valid: bool,
    /// State of the instance.
    pub state: InstanceState,
    /// Key hash, if sent by the writer.
    pub key_hash: Option<[u8; 16]>,
    /// Number among the samples of its publisher, if sent by the writer.
    pub group_sequence: Option<SequenceNumber>,
    pub(crate) instance: usize,
}

/// A queued sample.
#[derive(Debug)]
pub(crate) struct Sample {
    pub(crate) info: SampleInfo,
    pub(crate) payload: Vec<u8>,
    pub(super) expires_at: Instant,
    /// Whether it counts as filtered so far.
    pub(super) is_filtered: bool,
}

/// A sample that has just arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrived<'a> {
    pub(crate) sequence: SequenceNumber,
    pub(crate) kind: ChangeKind,
    pub(crate) payload: &'a [u8],
    pub(crate) inline: InlineQos,
    pub(crate) time: Option<WallTime>,
    /// Arrival time; it may have been held since.
    pub(crate) at: Instant,
}

/// Counters of a reader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReaderCounters {
    /// Samples queued for the application.
    pub delivered: u64,
    /// Samples replaced in the queue by later ones of their instance, before they were taken: more
    /// than the depth of the history.
    pub replaced: u64,
    /// Samples received more than once.
    pub duplicates: u64,
    /// Samples irrecoverably lost, of those that writers owed this reader.
    pub lost: u64,
    /// Samples that writers did not owe this reader: written before they knew it, and not in the
    /// history that it requests.
    pub not_owed: u64,
    /// Samples rejected for good for lack of room: the limit of the queue, the instances or the held
    /// samples was reached.
    pub rejected: u64,
    /// Samples not taken for lack of room, or twice, that a reliable writer sends again.
    pub deferred: u64,
    /// Samples with malformed payloads.
    pub malformed: u64,
    /// Samples of a weaker writer, within the minimum separation, or rejected by the content
    /// filter, here or by the writer.
    pub filtered: u64,
    /// Samples of coherent sets with a lost part.
    pub incoherent: u64,
    /// Samples that expired before they were taken.
    pub expired: u64,
    /// Deadlines missed.
    pub deadlines_missed: u64,
    /// Samples that heartbeats in a writer's name declared gone, until its own showed that it never
    /// had them: another host speaks in its name, and what is counted as lost may be wrong.
    pub contradicted: u64,
}

impl ReaderCounters {
    /// Adds the counters of another reader. Saturating: forged sequence numbers can add up beyond the
    /// type.
    pub fn add(&mut self, other: &Self) {
        let Self {
            delivered,
            replaced,
            duplicates,
            lost,
            not_owed,
            rejected,
            deferred,
            malformed,
            filtered,
            incoherent,
            expired,
            deadlines_missed,
            contradicted,
        } = self;
        for (own, one) in [
            (delivered, other.delivered),
            (replaced, other.replaced),
            (duplicates, other.duplicates),
            (lost, other.lost),
            (not_owed, other.not_owed),
            (rejected, other.rejected),
            (deferred, other.deferred),
            (malformed, other.malformed),
            (filtered, other.filtered),
            (incoherent, other.incoherent),
            (expired, other.expired),
            (deadlines_missed, other.deadlines_missed),
            (contradicted, other.contradicted),
        ] {
            *own = own.saturating_add(one);
        }
    }

    /// Returns how many samples have come to an end without having been queued, or in the queue.
    ///
    /// What a writer has written is this, what was taken, what waits in the queue, and what is still
    /// under way.
    pub fn ended(&self) -> u64 {
        let all = [
            self.lost,
            self.not_owed,
            self.replaced,
            self.rejected,
            self.filtered,
            self.expired,
            self.malformed,
            self.incoherent,
        ];
        all.into_iter().fold(0, u64::saturating_add)
    }
}

/// Returns the kind of a change, from its `inlineQos`.
pub(crate) fn kind(inline: InlineQos, is_key: bool) -> ChangeKind {
    match (inline.status.is_disposed, inline.status.is_unregistered) {
        (true, true) => ChangeKind::DisposedUnregistered,
        (true, false) => ChangeKind::Disposed,
        (false, true) => ChangeKind::Unregistered,
        // A key without a status counts as unregistration.
        (false, false) if is_key => ChangeKind::Unregistered,
        (false, false) => ChangeKind::Alive,
    }
}

/// Returns the octets of a content, and whether they are a key.
pub(crate) fn octets(content: Content<'_>) -> (&[u8], bool) {
    match content {
        Content::None => (&[], true),
        Content::Data(octets) => (octets, false),
        Content::Key(octets) => (octets, true),
    }
}
