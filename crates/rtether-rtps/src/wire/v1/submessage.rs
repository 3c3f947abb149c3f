//! Submessages of RTPS 1.0.

use super::{Header, Parameters, Source};
use crate::guid::EntityId;
use crate::sequence::{NumberSet, SequenceNumber};
use crate::time::WallTime;

/// A submessage.
#[derive(Clone, Copy, Debug)]
pub enum Submessage<'a> {
    /// State of an object.
    Var(Var<'a>),
    /// A sample.
    Issue(Issue<'a>),
    /// Which samples a reader has and lacks.
    Ack(Ack),
    /// Which samples a writer has.
    Heartbeat(Heartbeat),
    /// Samples that are irrelevant.
    Gap(Gap),
    /// Source timestamp of what follows; `None` cancels an earlier one.
    InfoTimestamp(Option<Stamp>),
    /// Source of what follows, and where to answer.
    InfoSource {
        /// IPv4 address for answers; zero: the address that the datagram came from.
        address: u32,
        /// The source.
        header: Header,
    },
    /// Destination of what follows; zeros stand for all.
    InfoDestination(Source),
    /// Where to send answers to what follows.
    InfoReply {
        /// Unicast address.
        unicast: Address,
        /// Multicast address.
        multicast: Option<Address>,
    },
    /// Padding.
    Pad,
    /// Unknown kind.
    Unknown(u8),
}

/// A timestamp: seconds, and the fraction in units of 2^-32 s, finer than nanoseconds.
///
/// The draft counts from 1970; ORTE counts from when its host was started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Seconds.
    pub seconds: u32,
    /// Fraction.
    pub fraction: u32,
}

impl From<WallTime> for Stamp {
    fn from(time: WallTime) -> Self {
        let (seconds, fraction) = time.to_wire();
        Self { seconds, fraction }
    }
}

impl From<Stamp> for WallTime {
    fn from(stamp: Stamp) -> Self {
        Self::from_wire(stamp.seconds, stamp.fraction)
    }
}

/// An IPv4 address and a port, zero where unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Address {
    /// Address.
    pub address: u32,
    /// Port; more than 16 bits are possible on the wire.
    pub port: u32,
}

/// State of an object: a participant, a publication or a subscription.
#[derive(Clone, Copy, Debug)]
pub struct Var<'a> {
    /// Destination; unknown: all readers that match.
    pub reader: EntityId,
    /// Source.
    pub writer: EntityId,
    /// Participant of the object, if it is named; otherwise the source of the message.
    pub of: Option<Source>,
    /// The object.
    pub object: EntityId,
    /// Sequence number; valid.
    pub sequence: SequenceNumber,
    /// Whether the object exists.
    pub is_alive: bool,
    /// Its properties, if any are announced.
    pub parameters: Option<Parameters<'a>>,
}

/// A sample.
#[derive(Clone, Copy, Debug)]
pub struct Issue<'a> {
    /// Destination; unknown: all readers that match.
    pub reader: EntityId,
    /// Source.
    pub writer: EntityId,
    /// Sequence number; valid.
    pub sequence: SequenceNumber,
    /// Parameters in front of the value.
    pub parameters: Option<Parameters<'a>>,
    /// The value: CDR without an encapsulation header.
    pub payload: &'a [u8],
    /// Byte order of the value.
    pub is_little_endian: bool,
}

/// Which samples a reader has and lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// Source.
    pub reader: EntityId,
    /// Destination.
    pub writer: EntityId,
    /// Acknowledges all numbers below the base. Of those that it covers, the ones that are *not* in
    /// the set are missing; of the others nothing is said.
    pub set: NumberSet,
    /// Whether no heartbeat is required.
    pub is_final: bool,
}

impl Ack {
    /// Returns the missing numbers, with the same base.
    pub fn missing(&self) -> NumberSet {
        let words = self.set.words().iter().map(|word| !word);
        let missing = NumberSet::from_words(self.set.base(), self.set.len(), words);
        missing.unwrap_or(NumberSet::empty(self.set.base()))
    }
}

/// Which samples a writer has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heartbeat {
    /// Destination; unknown: all readers that match.
    pub reader: EntityId,
    /// Source.
    pub writer: EntityId,
    /// First sample that readers may request; zero if there has been none.
    pub first: SequenceNumber,
    /// Last one; one less than the first if there are none.
    pub last: SequenceNumber,
    /// Whether no answer is required.
    pub is_final: bool,
}

/// Irrelevant samples: from `start` to below the base of the set, and those in the set. The range
/// can be huge and must not be iterated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// Destination; unknown: all readers that match.
    pub reader: EntityId,
    /// Source.
    pub writer: EntityId,
    /// First irrelevant sample, not above the base of the set.
    pub start: SequenceNumber,
    /// Single samples; those from `start` to below its base are irrelevant too.
    pub set: NumberSet,
}
