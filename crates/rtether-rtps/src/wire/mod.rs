//! Messages of RTPS: octets of a datagram to submessages and back (8.3, 9.4).
//!
//! Reading borrows from the datagram, allocates nothing, and does not trust what it reads: whatever a
//! length field says, no octet beyond the datagram is looked at, and numbers that the standard forbids
//! (8.3.8) are errors. Writing appends to a buffer of the caller up to a limit.

use crate::guid::GuidPrefix;

mod build;
mod cursor;
mod parameter;
mod read;
mod submessage;
#[cfg(test)]
mod tests;

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

/// The version that is spoken. Peers of an earlier 2.x take it: only the major version says whether a
/// message can be understood (8.6).
pub const VERSION: [u8; 2] = [2, 5];

/// Who made this implementation; not among the ids that the OMG has given away.
pub const VENDOR: [u8; 2] = [0x01, 0xFE];

/// Octets of the header of a message.
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
    /// Of all: numbers are little-endian.
    pub(crate) const LITTLE_ENDIAN: u8 = 0x01;
    /// Of DATA and `DATA_FRAG`: a parameter list precedes the content.
    pub(crate) const INLINE_QOS: u8 = 0x02;
    /// Of DATA.
    pub(crate) const DATA: u8 = 0x04;
    /// Of DATA: the content is a key.
    pub(crate) const KEY: u8 = 0x08;
    /// Of DATA: the content is encoded in some other way.
    pub(crate) const NON_STANDARD: u8 = 0x10;
    /// Of `DATA_FRAG`: the content is a key.
    pub(crate) const FRAGMENT_KEY: u8 = 0x04;
    /// Of `DATA_FRAG`: the content is encoded in some other way.
    pub(crate) const FRAGMENT_NON_STANDARD: u8 = 0x08;
    /// Of HEARTBEAT and ACKNACK: no answer is needed.
    pub(crate) const FINAL: u8 = 0x02;
    /// Of HEARTBEAT: also asserts liveliness.
    pub(crate) const LIVELINESS: u8 = 0x04;
    /// Of `INFO_TS`: what follows has no time.
    pub(crate) const INVALIDATE: u8 = 0x02;
    /// Of `INFO_REPLY`: locators of groups follow.
    pub(crate) const MULTICAST: u8 = 0x02;
}

/// Who sent a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Version of the protocol: major, minor.
    pub version: [u8; 2],
    /// Who made the sender.
    pub vendor: [u8; 2],
    /// The sender.
    pub prefix: GuidPrefix,
}

/// Why octets are not what they should be. Offsets count from the start of the datagram, or of the
/// payload that was handed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// It does not start as a message does.
    #[error("no header of RTPS")]
    NotRtps,
    /// Another major version.
    #[error("version {major}.{minor} of RTPS is not spoken")]
    Version {
        /// Major version.
        major: u8,
        /// Minor version.
        minor: u8,
    },
    /// The octets end where more were due.
    #[error("octets end at {offset}, where more are due")]
    Truncated {
        /// Where they are missing.
        offset: usize,
    },
    /// A length leads beyond what there is.
    #[error("length at octet {offset} leads beyond the end")]
    Overrun {
        /// Where the submessage or parameter with it starts.
        offset: usize,
    },
    /// A number that the standard forbids.
    #[error("number at octet {offset} is out of its range")]
    Value {
        /// Where it is.
        offset: usize,
    },
    /// A parameter list ends without saying so.
    #[error("parameter list ends at octet {offset} without its sentinel")]
    Endless {
        /// Where it ends.
        offset: usize,
    },
    /// The value of a parameter is not of its type, or beyond its limits.
    #[error("parameter {id:#06x} has a value that it cannot have")]
    Parameter {
        /// Which one.
        id: u16,
    },
    /// A parameter that is not known, but must be.
    #[error("parameter {id:#06x} has to be understood, but is not known")]
    NotUnderstood {
        /// Which one.
        id: u16,
    },
    /// A parameter that may not be left out.
    #[error("parameter {id:#06x} is missing")]
    Missing {
        /// Which one.
        id: u16,
    },
    /// A payload of another encoding.
    #[error("encapsulation {id:#06x} is not a parameter list")]
    Encapsulation {
        /// Which one.
        id: u16,
    },
}

/// A message, of which the header has been read.
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
    let header = header(&mut cursor)?;
    let [major, minor] = header.version;
    if major != MAJOR {
        return Err(Malformed::Version { major, minor });
    }
    Ok(Message {
        header,
        octets: datagram,
    })
}

fn header(cursor: &mut Cursor<'_>) -> Result<Header, Malformed> {
    Ok(Header {
        version: cursor.array()?,
        vendor: cursor.array()?,
        prefix: cursor.prefix()?,
    })
}

impl<'a> Message<'a> {
    /// Returns who sent it.
    pub const fn header(&self) -> Header {
        self.header
    }

    /// Returns what it says, up to the first error.
    pub const fn submessages(&self) -> Submessages<'a> {
        Submessages::new(self.octets, HEADER_SIZE)
    }
}
