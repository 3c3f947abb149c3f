//! Submessages (8.3.8, 9.4.5).

use super::{Cursor, Header, Malformed, ParameterList};
use crate::guid::{EntityId, GuidPrefix};
use crate::locator::Locator;
use crate::sequence::{NumberSet, SequenceNumber};
use crate::time::WallTime;

/// A submessage.
#[derive(Clone, Copy, Debug)]
pub enum Submessage<'a> {
    /// A sample.
    Data(Data<'a>),
    /// One or more fragments of a sample.
    DataFrag(DataFrag<'a>),
    /// Which samples a writer has.
    Heartbeat(Heartbeat),
    /// Which fragments a writer has.
    HeartbeatFrag(HeartbeatFrag),
    /// Which samples a reader has and lacks.
    AckNack(AckNack),
    /// Which fragments a reader lacks.
    NackFrag(NackFrag),
    /// Samples that are irrelevant.
    Gap(Gap),
    /// Source timestamp of what follows; `None` cancels an earlier one.
    InfoTimestamp(Option<WallTime>),
    /// Destination of what follows; unknown: all participants.
    InfoDestination(GuidPrefix),
    /// Source of what follows.
    InfoSource(Header),
    /// Where to send answers to what follows.
    InfoReply {
        /// Unicast addresses.
        unicast: Locators<'a>,
        /// Multicast addresses; may be empty.
        multicast: Locators<'a>,
    },
    /// Padding.
    Pad,
    /// Unknown kind or non-standard encoding.
    Unknown(u8),
}

/// A sample.
#[derive(Clone, Copy, Debug)]
pub struct Data<'a> {
    /// Destination; unknown: all readers that match.
    pub reader: EntityId,
    /// Source.
    pub writer: EntityId,
    /// Sequence number; valid.
    pub sequence: SequenceNumber,
    /// `inlineQos`.
    pub inline_qos: ParameterList<'a>,
    /// Payload.
    pub content: Content<'a>,
}

/// Payload of a sample, with its encapsulation header of four octets and up to three octets of
/// padding at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content<'a> {
    /// None.
    None,
    /// All members.
    Data(&'a [u8]),
    /// Only the key.
    Key(&'a [u8]),
}

/// Consecutive fragments of a sample.
#[derive(Clone, Copy, Debug)]
pub struct DataFrag<'a> {
    /// Destination; unknown: all readers that match.
    pub reader: EntityId,
    /// Source.
    pub writer: EntityId,
    /// Sequence number of the sample; valid.
    pub sequence: SequenceNumber,
    /// Number of the first fragment, from 1.
    pub first_fragment: u32,
    /// Count of fragments, at least one; none lies beyond the sample.
    pub fragments: u16,
    /// Octets of each fragment but the sample's last, at least 1.
    pub fragment_size: u16,
    /// Octets of the sample, at least `fragment_size`; as claimed by the sender, unverified.
    pub sample_size: u32,
    /// `inlineQos`.
    pub inline_qos: ParameterList<'a>,
    /// Whether the sample is only a key.
    pub is_key: bool,
    /// Octets of the fragments, without padding.
    pub payload: &'a [u8],
}

/// Which samples a writer has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heartbeat {
    /// Destination; unknown: all readers that match.
    pub reader: EntityId,
    /// Source.
    pub writer: EntityId,
    /// First sample available, from 1.
    pub first: SequenceNumber,
    /// Last one; one less than the first if there are none.
    pub last: SequenceNumber,
    /// Increases with each heartbeat.
    pub count: i32,
    /// Whether no answer is required.
    pub is_final: bool,
    /// Whether it also asserts the liveliness of the writer.
    pub is_liveliness: bool,
}

/// Which fragments of a sample a writer has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeartbeatFrag {
    /// Destination; unknown: all readers that match.
    pub reader: EntityId,
    /// Source.
    pub writer: EntityId,
    /// The sample.
    pub sequence: SequenceNumber,
    /// Last fragment available, from 1.
    pub last_fragment: u32,
    /// Increases with each submessage of this kind.
    pub count: i32,
}

/// Which samples a reader has and lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckNack {
    /// Source.
    pub reader: EntityId,
    /// Destination.
    pub writer: EntityId,
    /// Acknowledges all numbers below the base and requests those in the set. Base 0 comes from
    /// readers that have not yet received a heartbeat.
    pub set: NumberSet,
    /// Increases with each ACKNACK.
    pub count: i32,
    /// Whether no heartbeat is required.
    pub is_final: bool,
}

/// Which fragments of a sample a reader lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NackFrag {
    /// Source.
    pub reader: EntityId,
    /// Destination.
    pub writer: EntityId,
    /// The sample.
    pub sequence: SequenceNumber,
    /// Fragments that are missing.
    pub set: NumberSet,
    /// Increases with each submessage of this kind.
    pub count: i32,
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

/// A list of locators.
#[derive(Clone, Copy, Debug)]
pub struct Locators<'a> {
    octets: &'a [u8],
    is_little_endian: bool,
}

const LOCATOR_SIZE: usize = 24;

impl<'a> Locators<'a> {
    pub(super) const EMPTY: Self = Self { octets: &[], is_little_endian: true };

    pub(super) fn parse(cursor: &mut Cursor<'a>) -> Result<Self, Malformed> {
        let offset = cursor.at();
        let error = Malformed::Overrun { offset };
        let size = cursor.count()?.checked_mul(LOCATOR_SIZE).ok_or(error)?;
        Ok(Self {
            octets: cursor.take(size).map_err(|_| error)?,
            is_little_endian: cursor.is_little_endian(),
        })
    }

    /// Returns the locators of supported kinds.
    pub fn iter(&self) -> impl Iterator<Item = Locator> + 'a {
        let is_little_endian = self.is_little_endian;
        self.octets.chunks_exact(LOCATOR_SIZE).filter_map(move |octets| {
            let wire = Cursor::new(octets, 0, is_little_endian).locator().ok()?;
            Locator::from_wire(wire)
        })
    }
}
