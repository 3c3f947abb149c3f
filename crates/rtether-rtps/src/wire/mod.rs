//! RTPS messages: datagrams to submessages and back (8.3, 9.4).
//!
//! Reading borrows from the datagram, allocates nothing, and trusts no length field: no octet
//! beyond the datagram is read, and values that the standard forbids (8.3.8) are errors. Writing
//! appends to a buffer of the caller up to a limit.

use crate::guid::GuidPrefix;

mod build;
mod cursor;
mod parameter;
mod read;
mod submessage;
#[cfg(test)]
mod tests;
pub mod v1;

pub use build::{Builder, Fragment, data_frag_size, data_size};
pub(crate) use cursor::Cursor;
pub use parameter::{
    GroupDigest, InlineQos, Parameter, ParameterList, Parameters, STRING_SIZE_MAX, Status,
};
pub(crate) use parameter::{
    duration, is_must_understand, is_vendor, pid, string, string_within, without_flags,
};
pub use read::Submessages;
pub use submessage::{
    AckNack, Content, Data, DataFrag, Gap, Heartbeat, HeartbeatFrag, Locators, NackFrag, Submessage,
};

/// Protocol version sent. Peers of an earlier 2.x accept it: only the major version decides whether
/// a message can be understood (8.6).
pub const VERSION: [u8; 2] = [2, 5];

/// Vendor id of this implementation; not assigned by the OMG.
pub const VENDOR: [u8; 2] = [0x01, 0xFE];

/// Size of a message header, in octets.
pub const HEADER_SIZE: usize = 20;

const MAGIC: [u8; 4] = *b"RTPS";
const MAJOR: u8 = 2;

/// Kinds of submessages (9.4.5).
pub(crate) mod kind {
    pub(crate) const PAD: u8 = 0x01;
    pub(crate) const ACK_NACK: u8 = 0x06;
    pub(crate) const HEARTBEAT: u8 = 0x07;
    pub(crate) const GAP: u8 = 0x08;
    pub(crate) const INFO_TIMESTAMP: u8 = 0x09;
    pub(crate) const INFO_SOURCE: u8 = 0x0C;
    pub(crate) const INFO_DESTINATION: u8 = 0x0E;
    pub(crate) const INFO_REPLY: u8 = 0x0F;
    pub(crate) const NACK_FRAG: u8 = 0x12;
    pub(crate) const HEARTBEAT_FRAG: u8 = 0x13;
    pub(crate) const DATA: u8 = 0x15;
    pub(crate) const DATA_FRAG: u8 = 0x16;
}

/// Flags of submessages.
pub(crate) mod flag {
    /// All submessages: numbers are little-endian.
    pub(crate) const LITTLE_ENDIAN: u8 = 0x01;
    /// DATA and `DATA_FRAG`: a parameter list precedes the content.
    pub(crate) const INLINE_QOS: u8 = 0x02;
    /// DATA: the content is a sample.
    pub(crate) const DATA: u8 = 0x04;
    /// DATA: the content is a key.
    pub(crate) const KEY: u8 = 0x08;
    /// DATA: the content has a non-standard encoding.
    pub(crate) const NON_STANDARD: u8 = 0x10;
    /// `DATA_FRAG`: the content is a key.
    pub(crate) const FRAGMENT_KEY: u8 = 0x04;
    /// `DATA_FRAG`: the content has a non-standard encoding.
    pub(crate) const FRAGMENT_NON_STANDARD: u8 = 0x08;
    /// HEARTBEAT and ACKNACK: no answer required.
    pub(crate) const FINAL: u8 = 0x02;
    /// HEARTBEAT: also asserts liveliness.
    pub(crate) const LIVELINESS: u8 = 0x04;
    /// `INFO_TS`: what follows has no timestamp.
    pub(crate) const INVALIDATE: u8 = 0x02;
    /// `INFO_REPLY`: multicast locators follow.
    pub(crate) const MULTICAST: u8 = 0x02;
}

/// Header of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Protocol version: major, minor.
    pub version: [u8; 2],
    /// Vendor id of the sender.
    pub vendor: [u8; 2],
    /// Participant that sent it.
    pub prefix: GuidPrefix,
}

/// Why octets are malformed. Offsets count from the start of the datagram, or of the payload passed
/// in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// The RTPS magic is missing.
    #[error("no header of RTPS")]
    NotRtps,
    /// Unsupported major version.
    #[error("RTPS version {major}.{minor} is not supported")]
    Version {
        /// Major version.
        major: u8,
        /// Minor version.
        minor: u8,
    },
    /// The octets end too early.
    #[error("data ends early, at octet {offset}")]
    Truncated {
        /// Where octets are missing.
        offset: usize,
    },
    /// A length exceeds the data.
    #[error("length at octet {offset} exceeds the data")]
    Overrun {
        /// Start of the submessage or parameter with the length.
        offset: usize,
    },
    /// A value that the standard forbids.
    #[error("number at octet {offset} is out of its range")]
    Value {
        /// Position of the value.
        offset: usize,
    },
    /// A parameter list ends without a sentinel.
    #[error("parameter list ends at octet {offset} without its sentinel")]
    Endless {
        /// End of the data.
        offset: usize,
    },
    /// The value of a parameter does not fit its type, or exceeds a limit.
    #[error("parameter {id:#06x} has a value that it cannot have")]
    Parameter {
        /// Parameter id.
        id: u16,
    },
    /// An unknown parameter that must be understood.
    #[error("parameter {id:#06x} has to be understood, but is not known")]
    NotUnderstood {
        /// Parameter id.
        id: u16,
    },
    /// A mandatory parameter is missing.
    #[error("parameter {id:#06x} is missing")]
    Missing {
        /// Parameter id.
        id: u16,
    },
    /// A payload of another encapsulation.
    #[error("encapsulation {id:#06x} is not a parameter list")]
    Encapsulation {
        /// Encapsulation id.
        id: u16,
    },
}

/// A message whose header has been read.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    header: Header,
    octets: &'a [u8],
}

/// Reads the header of a message.
pub fn parse(datagram: &[u8]) -> Result<Message<'_>, Malformed> {
    let mut cursor = Cursor::new(datagram, 0, true);
    if cursor.array() != Ok(MAGIC) {
        return Err(Malformed::NotRtps);
    }
    // Headers of other versions have other sizes.
    let [major, minor] = { cursor }.array()?;
    if major != MAJOR {
        return Err(Malformed::Version { major, minor });
    }
    let header = header(&mut cursor)?;
    Ok(Message { header, octets: datagram })
}

fn header(cursor: &mut Cursor<'_>) -> Result<Header, Malformed> {
    Ok(Header { version: cursor.array()?, vendor: cursor.array()?, prefix: cursor.prefix()? })
}

impl<'a> Message<'a> {
    /// Returns the header.
    pub const fn header(&self) -> Header {
        self.header
    }

    /// Returns its submessages, up to the first error.
    pub const fn submessages(&self) -> Submessages<'a> {
        Submessages::new(self.octets, HEADER_SIZE)
    }
}
