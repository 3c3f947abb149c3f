//! Samples on their way through a reader.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use super::instance::InstanceState;
use crate::guid::Guid;
use crate::sequence::SequenceNumber;
use crate::time::{Duration, Instant, WallTime};
use crate::wire::{Content, InlineQos};
use crate::writer::ChangeKind;

/// Writes the key of a payload in its canonical form; the flag says whether the payload is a key
/// alone. Returns the hash that a writer of such payloads would send, `None` if it is malformed.
pub type WriteKey = dyn Fn(&[u8], bool, &mut Vec<u8>) -> Option<[u8; 16]> + Send + Sync;

/// The same, by itself.
pub type WriteKeyFn = fn(&[u8], bool, &mut Vec<u8>) -> Option<[u8; 16]>;

/// How the keys of a type are found in its payloads, as [`WriteKey`] says.
#[derive(Clone)]
pub enum KeyOf {
    /// By a function, for types that are known when the program is compiled.
    Function(WriteKeyFn),
    /// By a closure, for types that are described at run time.
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

/// How a reader keeps its writers up to date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReaderTiming {
    /// From a heartbeat to the answer that nothing is missing; what is missing is asked for at once.
    pub ack_delay: Duration,
    /// What is missing is not asked for again sooner.
    pub nack_suppression: Duration,
    /// From asking a writer what there is to asking again; the longest time from asking for what is
    /// missing to asking again.
    pub ask_again: Duration,
    /// The shortest; doubled as long as nothing comes.
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

/// What is known of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampleInfo {
    /// Who has written it.
    pub writer: Guid,
    /// Its number at the writer.
    pub sequence: SequenceNumber,
    /// When it was written, by the writer's clock.
    pub source_time: Option<WallTime>,
    /// When it came.
    pub received_at: Instant,
    /// Whether it has a value; if not, it says only what has become of the instance.
    pub is_valid: bool,
    /// What has become of the instance.
    pub state: InstanceState,
    /// The hash of the key, if the writer has sent it.
    pub key_hash: Option<[u8; 16]>,
    /// Its number among the samples of its publisher, if the writer has sent it.
    pub group_sequence: Option<SequenceNumber>,
    pub(crate) instance: usize,
}

/// A sample that waits.
#[derive(Debug)]
pub(crate) struct Sample {
    pub(crate) info: SampleInfo,
    pub(crate) payload: Vec<u8>,
    pub(super) expires_at: Instant,
}

/// A sample that has just come.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrived<'a> {
    pub(crate) sequence: SequenceNumber,
    pub(crate) kind: ChangeKind,
    pub(crate) payload: &'a [u8],
    pub(crate) inline: InlineQos,
    pub(crate) time: Option<WallTime>,
    /// When it came; it may have been held since.
    pub(crate) at: Instant,
}

/// What has happened at a reader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReaderCounters {
    /// Samples handed to the queue of the application.
    pub delivered: u64,
    /// Samples that came again.
    pub duplicates: u64,
    /// Samples that will never come.
    pub lost: u64,
    /// Samples that found no room: the queue, the instances or the held ones were at their limit.
    pub rejected: u64,
    /// Samples whose payload makes no sense.
    pub malformed: u64,
    /// Samples of a weaker writer, too soon after another, or kept out by the content filter.
    pub filtered: u64,
    /// Samples of coherent sets of which a part was lost.
    pub incoherent: u64,
    /// Samples that were worth nothing when they came to be taken.
    pub expired: u64,
    /// Deadlines missed.
    pub deadlines_missed: u64,
}

/// Returns what a payload is, by what comes with it.
pub(crate) fn kind(inline: InlineQos, is_key: bool) -> ChangeKind {
    match (inline.status.is_disposed, inline.status.is_unregistered) {
        (true, true) => ChangeKind::DisposedUnregistered,
        (true, false) => ChangeKind::Disposed,
        (false, true) => ChangeKind::Unregistered,
        // A key without a word on its status says nothing.
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
