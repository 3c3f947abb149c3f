//! What messages say (8.3.8, 9.4.5).

use super::{Cursor, Header, Malformed, ParameterList};
use crate::guid::{EntityId, GuidPrefix};
use crate::locator::Locator;
use crate::sequence::{NumberSet, SequenceNumber};
use crate::time::WallTime;

/// One part of a message.
#[derive(Clone, Copy, Debug)]
pub enum Submessage<'a> {
    /// A sample.
    Data(Data<'a>),
    /// A part of a sample.
    DataFrag(DataFrag<'a>),
    /// Which samples a writer has.
    Heartbeat(Heartbeat),
    /// Which fragments a writer has.
    HeartbeatFrag(HeartbeatFrag),
    /// Which samples a reader has and lacks.
    AckNack(AckNack),
    /// Which fragments a reader lacks.
    NackFrag(NackFrag),
    /// Which samples do not matter.
    Gap(Gap),
    /// When what follows was written; none takes an earlier time back.
    InfoTimestamp(Option<WallTime>),
    /// For whom what follows is; unknown: for all.
    InfoDestination(GuidPrefix),
    /// From whom what follows is.
    InfoSource(Header),
    /// Where answers to what follows go.
    InfoReply {
        /// Addresses of stations.
        unicast: Locators<'a>,
        /// Addresses of groups; may be empty.
        multicast: Locators<'a>,
    },
    /// Nothing.
    Pad,
    /// What is not known, or in an encoding that is not.
    Unknown(u8),
}

/// A sample.
#[derive(Clone, Copy, Debug)]
pub struct Data<'a> {
    /// For whom it is; unknown: for all that match.
    pub reader: EntityId,
    /// From whom it is.
    pub writer: EntityId,
    /// Its number, which is valid.
    pub sequence: SequenceNumber,
    /// What it carries beside its data.
    pub inline_qos: ParameterList<'a>,
    /// Its data.
    pub content: Content<'a>,
}

/// The data of a sample: octets with their encapsulation header of four octets, and up to three octets
/// of padding at the end.
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
    /// For whom it is; unknown: for all that match.
    pub reader: EntityId,
    /// From whom it is.
    pub writer: EntityId,
    /// Number of the sample, which is valid.
    pub sequence: SequenceNumber,
    /// The first one, from 1 on.
    pub first_fragment: u32,
    /// How many there are, at least one; none is beyond the sample.
    pub fragments: u16,
    /// Octets of each but the sample's last, at least 1.
    pub fragment_size: u16,
    /// Octets of the sample, at least `fragment_size`. What the sender says: nothing is proved by it.
    pub sample_size: u32,
    /// What the sample carries beside its data.
    pub inline_qos: ParameterList<'a>,
    /// Whether the sample is only a key.
    pub is_key: bool,
    /// As many octets as the fragments have, without padding.
    pub payload: &'a [u8],
}

/// Which samples a writer has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heartbeat {
    /// For whom it is; unknown: for all that match.
    pub reader: EntityId,
    /// From whom it is.
    pub writer: EntityId,
    /// The first one, from 1 on.
    pub first: SequenceNumber,
    /// The last one; one less than the first if there are none.
    pub last: SequenceNumber,
    /// Grows with each new one.
    pub count: i32,
    /// Whether no answer is needed.
    pub is_final: bool,
    /// Whether it also says that the writer is alive.
    pub is_liveliness: bool,
}

/// Which fragments of a sample a writer has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeartbeatFrag {
    /// For whom it is; unknown: for all that match.
    pub reader: EntityId,
    /// From whom it is.
    pub writer: EntityId,
    /// The sample.
    pub sequence: SequenceNumber,
    /// The last one, from 1 on.
    pub last_fragment: u32,
    /// Grows with each new one.
    pub count: i32,
}

/// Which samples a reader has and lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckNack {
    /// From whom it is.
    pub reader: EntityId,
    /// For whom it is.
    pub writer: EntityId,
    /// All below the base have arrived; those in the set are lacking. Base 0 comes from readers that
    /// have heard nothing yet.
    pub set: NumberSet,
    /// Grows with each new one.
    pub count: i32,
    /// Whether no heartbeat is needed.
    pub is_final: bool,
}

/// Which fragments of a sample a reader lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NackFrag {
    /// From whom it is.
    pub reader: EntityId,
    /// For whom it is.
    pub writer: EntityId,
    /// The sample.
    pub sequence: SequenceNumber,
    /// Those that are lacking.
    pub set: NumberSet,
    /// Grows with each new one.
    pub count: i32,
}

/// Which samples do not matter: from the start to before the base of the set, and those in the set.
/// The range can be huge: it is nothing to be walked through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// For whom it is; unknown: for all that match.
    pub reader: EntityId,
    /// From whom it is.
    pub writer: EntityId,
    /// The first one, not above the base of the set.
    pub start: SequenceNumber,
    /// Single ones; what lies before its base does not matter either.
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
    pub(super) const EMPTY: Self = Self {
        octets: &[],
        is_little_endian: true,
    };

    pub(super) fn parse(cursor: &mut Cursor<'a>) -> Result<Self, Malformed> {
        let offset = cursor.at();
        let error = Malformed::Overrun { offset };
        let size = cursor.count()?.checked_mul(LOCATOR_SIZE).ok_or(error)?;
        Ok(Self {
            octets: cursor.take(size).map_err(|_| error)?,
            is_little_endian: cursor.is_little_endian(),
        })
    }

    /// Returns those of kinds that are spoken here.
    pub fn iter(&self) -> impl Iterator<Item = Locator> + 'a {
        let is_little_endian = self.is_little_endian;
        self.octets
            .chunks_exact(LOCATOR_SIZE)
            .filter_map(move |octets| {
                let wire = Cursor::new(octets, 0, is_little_endian).locator().ok()?;
                Locator::from_wire(wire)
            })
    }
}
