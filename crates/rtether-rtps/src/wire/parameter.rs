//! Parameter lists (9.4.2.11), and `inlineQos` of samples (9.6.4).

use super::{Cursor, Malformed};
use crate::guid::Guid;
use crate::locator::Locator;
use crate::sequence::SequenceNumber;
use crate::time::Duration;

/// Parameter ids (9.6.3, 9.6.4).
pub(crate) mod pid {
    pub(crate) const PAD: u16 = 0x0000;
    pub(crate) const SENTINEL: u16 = 0x0001;
    pub(crate) const LEASE: u16 = 0x0002;
    pub(crate) const TIME_BASED_FILTER: u16 = 0x0004;
    pub(crate) const TOPIC_NAME: u16 = 0x0005;
    pub(crate) const OWNERSHIP_STRENGTH: u16 = 0x0006;
    pub(crate) const TYPE_NAME: u16 = 0x0007;
    pub(crate) const DOMAIN_ID: u16 = 0x000F;
    pub(crate) const PROTOCOL_VERSION: u16 = 0x0015;
    pub(crate) const VENDOR_ID: u16 = 0x0016;
    pub(crate) const RELIABILITY: u16 = 0x001A;
    pub(crate) const LIVELINESS: u16 = 0x001B;
    pub(crate) const DURABILITY: u16 = 0x001D;
    pub(crate) const OWNERSHIP: u16 = 0x001F;
    pub(crate) const PRESENTATION: u16 = 0x0021;
    pub(crate) const DEADLINE: u16 = 0x0023;
    pub(crate) const DESTINATION_ORDER: u16 = 0x0025;
    pub(crate) const LATENCY_BUDGET: u16 = 0x0027;
    pub(crate) const PARTITION: u16 = 0x0029;
    pub(crate) const LIFESPAN: u16 = 0x002B;
    pub(crate) const USER_DATA: u16 = 0x002C;
    pub(crate) const UNICAST_LOCATOR: u16 = 0x002F;
    pub(crate) const MULTICAST_LOCATOR: u16 = 0x0030;
    pub(crate) const DEFAULT_UNICAST_LOCATOR: u16 = 0x0031;
    pub(crate) const METATRAFFIC_UNICAST_LOCATOR: u16 = 0x0032;
    pub(crate) const METATRAFFIC_MULTICAST_LOCATOR: u16 = 0x0033;
    pub(crate) const CONTENT_FILTER: u16 = 0x0035;
    pub(crate) const HISTORY: u16 = 0x0040;
    pub(crate) const RESOURCE_LIMITS: u16 = 0x0041;
    pub(crate) const EXPECTS_INLINE_QOS: u16 = 0x0043;
    pub(crate) const DEFAULT_MULTICAST_LOCATOR: u16 = 0x0048;
    pub(crate) const TRANSPORT_PRIORITY: u16 = 0x0049;
    pub(crate) const PARTICIPANT_GUID: u16 = 0x0050;
    pub(crate) const GROUP_GUID: u16 = 0x0052;
    pub(crate) const GROUP_ENTITY: u16 = 0x0053;
    pub(crate) const COHERENT_SET: u16 = 0x0056;
    pub(crate) const BUILT_IN_ENDPOINTS: u16 = 0x0058;
    pub(crate) const ENDPOINT_GUID: u16 = 0x005A;
    pub(crate) const ENTITY_NAME: u16 = 0x0062;
    pub(crate) const GROUP_COHERENT_SET: u16 = 0x0063;
    pub(crate) const GROUP_SEQUENCE: u16 = 0x0064;
    pub(crate) const WRITER_GROUP: u16 = 0x0065;
    pub(crate) const KEY_HASH: u16 = 0x0070;
    pub(crate) const STATUS_INFO: u16 = 0x0071;
    pub(crate) const DATA_REPRESENTATION: u16 = 0x0073;
    pub(crate) const TYPE_INFORMATION: u16 = 0x0075;
    /// The only standard parameter that must be understood; without that flag the id is that of
    /// another, obsolete parameter.
    pub(crate) const DOMAIN_TAG: u16 = 0x4014;
    /// Topics of a participant; vendor-specific, with this meaning only from our vendor id.
    pub(crate) const INTERESTS: u16 = 0x8001;
}

/// Flag of ids: without understanding this parameter, the list must not be used.
const MUST_UNDERSTAND: u16 = 0x4000;
/// Flag of vendor-specific ids.
const VENDOR: u16 = 0x8000;

/// Returns whether a parameter is vendor-specific.
pub(crate) const fn is_vendor(id: u16) -> bool {
    id & VENDOR != 0
}

/// Returns whether a receiver that does not know the parameter must drop the submessage.
pub(crate) const fn is_must_understand(id: u16) -> bool {
    !is_vendor(id) && id & MUST_UNDERSTAND != 0
}

/// Returns the id without the must-understand flag, except where the id without it is another
/// parameter.
pub(crate) const fn without_flags(id: u16) -> u16 {
    if id == pid::DOMAIN_TAG { id } else { id & !MUST_UNDERSTAND }
}

/// Largest size of a string with its NUL, in octets.
pub const STRING_SIZE_MAX: usize = 256;

/// A parameter list, checked to end with a sentinel.
#[derive(Clone, Copy, Debug)]
pub struct ParameterList<'a> {
    octets: &'a [u8],
    is_little_endian: bool,
}

impl<'a> ParameterList<'a> {
    /// The empty list.
    pub const EMPTY: Self = Self { octets: &[], is_little_endian: true };

    /// Splits a list with its sentinel from the start of `octets`; also returns the rest.
    pub fn split(octets: &'a [u8], is_little_endian: bool) -> Result<(Self, &'a [u8]), Malformed> {
        let mut cursor = Cursor::new(octets, 0, is_little_endian);
        let list = Self::parse(&mut cursor)?;
        Ok((list, cursor.rest()))
    }

    pub(crate) fn parse(cursor: &mut Cursor<'a>) -> Result<Self, Malformed> {
        let octets = cursor.rest();
        let start = cursor.at();
        loop {
            let offset = cursor.at();
            let endless = Malformed::Endless { offset };
            let id = cursor.u16().map_err(|_| endless)?;
            let len = usize::from(cursor.u16().map_err(|_| endless)?);
            // The length of a sentinel is ignored.
            if id == pid::SENTINEL {
                let octets = octets.get(..offset - start).unwrap_or_default();
                return Ok(Self { octets, is_little_endian: cursor.is_little_endian() });
            }
            if !len.is_multiple_of(4) {
                return Err(Malformed::Value { offset });
            }
            cursor.take(len).map_err(|_| Malformed::Overrun { offset })?;
        }
    }

    /// Returns whether the list is empty.
    pub const fn is_empty(&self) -> bool {
        self.octets.is_empty()
    }

    /// Returns the parameters without padding.
    pub const fn iter(&self) -> Parameters<'a> {
        Parameters { cursor: Cursor::new(self.octets, 0, self.is_little_endian) }
    }
}

impl<'a> IntoIterator for &ParameterList<'a> {
    type Item = Result<Parameter<'a>, Malformed>;
    type IntoIter = Parameters<'a>;

    fn into_iter(self) -> Parameters<'a> {
        self.iter()
    }
}

impl<'a> IntoIterator for ParameterList<'a> {
    type Item = Result<Parameter<'a>, Malformed>;
    type IntoIter = Parameters<'a>;

    fn into_iter(self) -> Parameters<'a> {
        self.iter()
    }
}

/// Parameters of a list in order; ends after the first error.
#[derive(Clone, Debug)]
pub struct Parameters<'a> {
    cursor: Cursor<'a>,
}

impl<'a> Parameters<'a> {
    fn step(&mut self) -> Result<Parameter<'a>, Malformed> {
        let id = self.cursor.u16()?;
        let len = self.cursor.u16()?;
        Ok(Parameter {
            id,
            value: self.cursor.take(usize::from(len))?,
            is_little_endian: self.cursor.is_little_endian(),
        })
    }
}

impl<'a> Iterator for Parameters<'a> {
    type Item = Result<Parameter<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.cursor.rest().is_empty() {
            let result = self.step();
            if result.is_err() {
                self.cursor = Cursor::new(&[], 0, true);
            }
            if !matches!(result, Ok(Parameter { id: pid::PAD, .. })) {
                return Some(result);
            }
        }
        None
    }
}

/// A parameter. The value may be longer than its type: later versions append members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter<'a> {
    /// Its id.
    pub id: u16,
    /// Its value, with padding.
    pub value: &'a [u8],
    /// Its byte order.
    pub is_little_endian: bool,
}

impl<'a> Parameter<'a> {
    /// Returns the error of an invalid value.
    pub const fn malformed(&self) -> Malformed {
        Malformed::Parameter { id: self.id }
    }

    /// Reads the value; offsets count from its start.
    pub(crate) fn read<T>(
        &self,
        read: impl FnOnce(&mut Cursor<'a>) -> Result<T, Malformed>,
    ) -> Result<T, Malformed> {
        let mut cursor = Cursor::new(self.value, 0, self.is_little_endian);
        read(&mut cursor).map_err(|_| self.malformed())
    }

    /// Reads the first octets unchanged.
    pub fn array<const N: usize>(&self) -> Result<[u8; N], Malformed> {
        self.read(Cursor::array)
    }

    /// Reads a 16-bit number.
    pub fn u16(&self) -> Result<u16, Malformed> {
        self.read(Cursor::u16)
    }

    /// Reads a 32-bit number.
    pub fn u32(&self) -> Result<u32, Malformed> {
        self.read(Cursor::u32)
    }

    /// Reads a signed 32-bit number.
    pub fn i32(&self) -> Result<i32, Malformed> {
        self.read(Cursor::i32)
    }

    /// Reads a Boolean of one octet.
    pub fn is_true(&self) -> Result<bool, Malformed> {
        match self.array()? {
            [0] => Ok(false),
            [1] => Ok(true),
            _ => Err(self.malformed()),
        }
    }

    /// Reads a duration; negative ones are errors.
    pub fn duration(&self) -> Result<Duration, Malformed> {
        self.read(duration)
    }

    /// Reads a sequence number without a range check.
    pub fn sequence(&self) -> Result<SequenceNumber, Malformed> {
        self.read(Cursor::number)
    }

    /// Reads a locator; `None` for unsupported kinds.
    pub fn locator(&self) -> Result<Option<Locator>, Malformed> {
        self.read(Cursor::locator).map(Locator::from_wire)
    }

    /// Reads the GUID of an endpoint or participant.
    pub fn guid(&self) -> Result<Guid, Malformed> {
        self.array().map(Guid::from_octets)
    }

    /// Reads a string of at most [`STRING_SIZE_MAX`] octets with its NUL.
    pub fn string(&self) -> Result<&'a str, Malformed> {
        self.read(string)
    }

    /// Reads an octet sequence with its length.
    pub fn octets(&self) -> Result<&'a [u8], Malformed> {
        self.read(|cursor| {
            let len = cursor.count()?;
            cursor.take(len)
        })
    }
}

/// Reads a duration; negative ones are errors.
pub(crate) fn duration(cursor: &mut Cursor<'_>) -> Result<Duration, Malformed> {
    let offset = cursor.at();
    let (seconds, fraction) = (cursor.i32()?, cursor.u32()?);
    if seconds < 0 {
        return Err(Malformed::Value { offset });
    }
    Ok(Duration::from_wire(seconds, fraction))
}

/// Reads a string and skips its padding.
pub(crate) fn string<'a>(cursor: &mut Cursor<'a>) -> Result<&'a str, Malformed> {
    string_within(cursor, STRING_SIZE_MAX)
}

/// Reads a string of at most `max` octets with its NUL, and skips its padding.
pub(crate) fn string_within<'a>(cursor: &mut Cursor<'a>, max: usize) -> Result<&'a str, Malformed> {
    let error = Malformed::Value { offset: cursor.at() };
    let len = cursor.count()?;
    if len > max {
        return Err(error);
    }
    let octets = cursor.take(len)?;
    cursor.align();
    // Some implementations write the empty string without its NUL.
    let octets = match octets.split_last() {
        None => octets,
        Some((0, octets)) if !octets.contains(&0) => octets,
        Some(_) => return Err(error),
    };
    core::str::from_utf8(octets).map_err(|_| error)
}

/// Status of an instance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// The instance was disposed of.
    pub is_disposed: bool,
    /// The writer no longer writes it.
    pub is_unregistered: bool,
}

const DISPOSED: u8 = 0x01;
const UNREGISTERED: u8 = 0x02;

impl Status {
    /// Returns the wire format: in both byte orders the flags are in the last octet (9.6.4).
    pub(super) fn octets(self) -> [u8; 4] {
        let disposed = if self.is_disposed { DISPOSED } else { 0 };
        let unregistered = if self.is_unregistered { UNREGISTERED } else { 0 };
        [0, 0, 0, disposed | unregistered]
    }

    fn from_octets([.., flags]: [u8; 4]) -> Self {
        Self { is_disposed: flags & DISPOSED != 0, is_unregistered: flags & UNREGISTERED != 0 }
    }
}

/// `inlineQos` of a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InlineQos {
    /// Hash of the key.
    pub key_hash: Option<[u8; 16]>,
    /// Status of the instance.
    pub status: Status,
    /// Time until the sample expires.
    pub lifespan: Option<Duration>,
    /// First sample of the coherent set that this one belongs to; [`SequenceNumber::UNKNOWN`] ends
    /// the set.
    pub coherent_set: Option<SequenceNumber>,
    /// Number of the sample among those of its publisher (8.7.5).
    pub group_sequence: Option<SequenceNumber>,
    /// Publisher-wide number of the first sample of the publisher's set (8.7.6).
    pub group_set: Option<SequenceNumber>,
    /// Digest of the publisher's writers, sent where the set ends.
    pub group_digest: Option<GroupDigest>,
}

/// Digest of a set of writers: the first octets of the MD5 of their entity identifiers (9.3.2.5).
pub type GroupDigest = [u8; 4];

/// Reads the coherent set of a sample.
fn set(parameter: &Parameter<'_>) -> Result<SequenceNumber, Malformed> {
    let set = parameter.sequence()?;
    if !set.is_valid() && set != SequenceNumber::UNKNOWN {
        return Err(parameter.malformed());
    }
    Ok(set)
}

impl InlineQos {
    /// Reads the known parameters of a list; an unknown one that must be understood is an error.
    pub fn read(list: ParameterList<'_>) -> Result<Self, Malformed> {
        let mut qos = Self::default();
        for parameter in list {
            let parameter = parameter?;
            let id = parameter.id;
            if is_vendor(id) {
                continue;
            }
            match without_flags(id) {
                pid::KEY_HASH => qos.key_hash = Some(parameter.array()?),
                pid::STATUS_INFO => qos.status = Status::from_octets(parameter.array()?),
                pid::LIFESPAN => qos.lifespan = Some(parameter.duration()?),
                pid::COHERENT_SET => qos.coherent_set = Some(set(&parameter)?),
                pid::GROUP_COHERENT_SET => {
                    // Unknown means the end of a set, as does a missing parameter.
                    qos.group_set = Some(set(&parameter)?).filter(|set| set.is_valid());
                }
                pid::GROUP_SEQUENCE => {
                    let number = parameter.sequence()?;
                    if !number.is_valid() {
                        return Err(parameter.malformed());
                    }
                    qos.group_sequence = Some(number);
                }
                pid::WRITER_GROUP => qos.group_digest = Some(parameter.array()?),
                _ if is_must_understand(id) => return Err(Malformed::NotUnderstood { id }),
                _ => {}
            }
        }
        Ok(qos)
    }

    /// Returns whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
