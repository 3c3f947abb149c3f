//! GUIDs: identifiers of participants and their endpoints (9.3.1).

use core::fmt;

/// Identifies a participant; the first two octets are the vendor id.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GuidPrefix(pub [u8; 12]);

/// Identifies an endpoint within its participant; the last octet is its kind.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntityId(pub [u8; 4]);

/// Identifies an endpoint globally.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Guid {
    /// The participant.
    pub prefix: GuidPrefix,
    /// The endpoint.
    pub entity: EntityId,
}

impl GuidPrefix {
    /// Unknown participant.
    pub const UNKNOWN: Self = Self([0; 12]);

    /// Returns whether it stands for a participant of RTPS 1.0, whose identifier has eight octets:
    /// the first four are zero.
    pub fn is_v1(self) -> bool {
        self.0.starts_with(&[0; 4]) && self != Self::UNKNOWN
    }
}

/// Kinds of user-defined endpoints (table 9.1).
const WRITER_WITH_KEY: u8 = 0x02;
const WRITER_NO_KEY: u8 = 0x03;
const READER_NO_KEY: u8 = 0x04;
const WRITER_GROUP: u8 = 0x08;
const READER_WITH_KEY: u8 = 0x07;
/// Bits set in the kind of built-in endpoints.
const BUILT_IN: u8 = 0xC0;

impl EntityId {
    /// Unknown endpoint; as a destination, all that match.
    pub const UNKNOWN: Self = Self([0; 4]);
    /// The participant itself.
    pub const PARTICIPANT: Self = Self([0, 0, 1, 0xC1]);
    /// Announces the participant (SPDP).
    pub const SPDP_WRITER: Self = Self([0, 1, 0, 0xC2]);
    /// Receives participant announcements.
    pub const SPDP_READER: Self = Self([0, 1, 0, 0xC7]);
    /// Announces user writers (SEDP).
    pub const PUBLICATIONS_WRITER: Self = Self([0, 0, 3, 0xC2]);
    /// Receives writer announcements.
    pub const PUBLICATIONS_READER: Self = Self([0, 0, 3, 0xC7]);
    /// Announces user readers (SEDP).
    pub const SUBSCRIPTIONS_WRITER: Self = Self([0, 0, 4, 0xC2]);
    /// Receives reader announcements.
    pub const SUBSCRIPTIONS_READER: Self = Self([0, 0, 4, 0xC7]);
    /// Asserts liveliness of the participant or of one of its writers (8.4.13).
    pub const MESSAGE_WRITER: Self = Self([0, 2, 0, 0xC2]);
    /// Receives these assertions.
    pub const MESSAGE_READER: Self = Self([0, 2, 0, 0xC7]);

    /// Asks for descriptions of types (DDS-XTypes 1.3, 7.6.3.3.3).
    pub const TYPE_REQUEST_WRITER: Self = Self([0, 3, 0, 0xC3]);
    /// Receives these requests.
    pub const TYPE_REQUEST_READER: Self = Self([0, 3, 0, 0xC4]);
    /// Replies with descriptions of types.
    pub const TYPE_REPLY_WRITER: Self = Self([0, 3, 1, 0xC3]);
    /// Receives these replies.
    pub const TYPE_REPLY_READER: Self = Self([0, 3, 1, 0xC4]);

    /// Returns the identifier of the writer with this number, of which the low 24 bits are used.
    pub const fn writer(number: u32, has_key: bool) -> Self {
        Self::user(number, if has_key { WRITER_WITH_KEY } else { WRITER_NO_KEY })
    }

    /// Returns the identifier of the reader with this number, of which the low 24 bits are used.
    pub const fn reader(number: u32, has_key: bool) -> Self {
        Self::user(number, if has_key { READER_WITH_KEY } else { READER_NO_KEY })
    }

    /// Returns the identifier of the publisher with this number, of which the low 24 bits are used.
    pub const fn publisher(number: u32) -> Self {
        Self::user(number, WRITER_GROUP)
    }

    const fn user(number: u32, kind: u8) -> Self {
        let [_, a, b, c] = number.to_be_bytes();
        Self([a, b, c, kind])
    }

    /// Returns whether it is a built-in endpoint.
    pub const fn is_built_in(self) -> bool {
        self.0[3] & BUILT_IN == BUILT_IN
    }

    /// Returns whether it is a writer.
    pub const fn is_writer(self) -> bool {
        matches!(self.0[3] & !BUILT_IN, WRITER_WITH_KEY | WRITER_NO_KEY)
    }

    /// Returns whether it is a reader.
    pub const fn is_reader(self) -> bool {
        matches!(self.0[3] & !BUILT_IN, READER_WITH_KEY | READER_NO_KEY)
    }

    /// Returns whether its topic has a key.
    pub const fn has_key(self) -> bool {
        matches!(self.0[3] & !BUILT_IN, WRITER_WITH_KEY | READER_WITH_KEY)
    }
}

impl Guid {
    /// Unknown endpoint of an unknown participant.
    pub const UNKNOWN: Self = Self { prefix: GuidPrefix::UNKNOWN, entity: EntityId::UNKNOWN };

    /// Returns the GUID of an endpoint of a participant.
    pub const fn new(prefix: GuidPrefix, entity: EntityId) -> Self {
        Self { prefix, entity }
    }

    /// Reads the sixteen octets of the wire format.
    pub fn from_octets(octets: [u8; 16]) -> Self {
        let (mut prefix, mut entity) = ([0; 12], [0; 4]);
        prefix.copy_from_slice(&octets[..12]);
        entity.copy_from_slice(&octets[12..]);
        Self::new(GuidPrefix(prefix), EntityId(entity))
    }

    /// Returns the sixteen octets of the wire format.
    pub fn octets(self) -> [u8; 16] {
        let mut octets = [0; 16];
        octets[..12].copy_from_slice(&self.prefix.0);
        octets[12..].copy_from_slice(&self.entity.0);
        octets
    }
}

fn hex(octets: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    octets.iter().try_for_each(|octet| write!(f, "{octet:02x}"))
}

impl fmt::Display for GuidPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        hex(&self.0, f)
    }
}

impl fmt::Debug for GuidPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for EntityId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        hex(&self.0, f)
    }
}

impl fmt::Debug for EntityId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.prefix, self.entity)
    }
}

impl fmt::Debug for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_those_of_the_table() {
        // Oracle: table 9.1.
        let writer = EntityId::writer(0x01_02_03, true);
        assert_eq!(writer.0, [1, 2, 3, 2]);
        assert!(writer.is_writer() && !writer.is_reader() && writer.has_key());
        let reader = EntityId::reader(7, false);
        assert_eq!(reader.0, [0, 0, 7, 4]);
        assert!(reader.is_reader() && !reader.has_key() && !reader.is_built_in());
        assert!(EntityId::PUBLICATIONS_READER.is_reader());
        assert!(EntityId::SPDP_WRITER.is_built_in() && EntityId::SPDP_WRITER.is_writer());
    }
}
