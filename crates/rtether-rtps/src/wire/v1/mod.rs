//! RTPS 1.0, the protocol of ORTE (draft-thiebaut-rtps-wps-00): datagrams to submessages and back.
//!
//! A participant is a host and an application of it, so that its identifier has eight octets and
//! the header sixteen. State travels in VAR, samples in ISSUE, without an encapsulation header;
//! there are neither fragments nor counts. As for 2.5, reading allocates nothing and trusts no
//! length.

use crate::guid::{EntityId, GuidPrefix};

use super::{Cursor, MAGIC, Malformed};

mod build;
mod convert;
mod parameters;
mod read;
mod submessage;
#[cfg(test)]
mod tests;

pub use build::Builder;
pub(crate) use convert::{list_head, value_head};
pub use parameters::{Parameters, span, span_to_wire};
pub use read::Submessages;
pub use submessage::{Ack, Address, Gap, Heartbeat, Issue, Stamp, Submessage, Var};

/// The protocol version.
pub const VERSION: [u8; 2] = [1, 0];

/// Vendor id sent: none, as ORTE sends.
pub const VENDOR: [u8; 2] = [0, 0];

/// Size of a message header, in octets.
pub const HEADER_SIZE: usize = 16;

/// Octets before the value of a sample: header, timestamp, and the head of an ISSUE.
pub const ISSUE_HEADS: usize = HEADER_SIZE + 12 + 20;

/// Kinds of submessages.
pub(crate) mod kind {
    pub(crate) const PAD: u8 = 0x01;
    pub(crate) const VAR: u8 = 0x02;
    pub(crate) const ISSUE: u8 = 0x03;
    pub(crate) const ACK: u8 = 0x06;
    pub(crate) const HEARTBEAT: u8 = 0x07;
    pub(crate) const GAP: u8 = 0x08;
    pub(crate) const INFO_TIMESTAMP: u8 = 0x09;
    pub(crate) const INFO_SOURCE: u8 = 0x0C;
    pub(crate) const INFO_REPLY: u8 = 0x0D;
    pub(crate) const INFO_DESTINATION: u8 = 0x0E;
}

/// Flags of submessages.
pub(crate) mod flag {
    /// All submessages: numbers are little-endian.
    pub(crate) const LITTLE_ENDIAN: u8 = 0x01;
    /// ACK and HEARTBEAT: no answer required.
    pub(crate) const FINAL: u8 = 0x02;
    /// VAR and ISSUE: parameters follow.
    pub(crate) const PARAMETERS: u8 = 0x02;
    /// `INFO_TS`: what follows has no timestamp.
    pub(crate) const INVALIDATE: u8 = 0x02;
    /// `INFO_REPLY`: a multicast address follows.
    pub(crate) const MULTICAST: u8 = 0x02;
    /// VAR: the object exists.
    pub(crate) const ALIVE: u8 = 0x04;
    /// VAR: the participant of the object is named.
    pub(crate) const NAMED: u8 = 0x08;
}

/// Kind of a participant, in the last octet of its identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Has publications and subscriptions.
    Application,
    /// Knows the applications of its host, and the other managers.
    Manager,
}

/// A participant as it is written: host, and application with its role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Source {
    /// The host; ORTE takes its first address.
    pub host: u32,
    /// Number of the application (24 bits), and its role (8 bits).
    pub application: u32,
}

const MANAGER: u32 = 2;
const APPLICATION: u32 = 1;

impl Source {
    /// Returns the participant with the lower 24 bits of `instance` as its number.
    pub const fn new(host: u32, instance: u32, role: Role) -> Self {
        let role = match role {
            Role::Application => APPLICATION,
            Role::Manager => MANAGER,
        };
        Self { host, application: instance << 8 | role }
    }

    /// Returns the role; `None` if the number is of another kind.
    pub const fn role(self) -> Option<Role> {
        match self.application & 0xFF {
            APPLICATION => Some(Role::Application),
            MANAGER => Some(Role::Manager),
            _ => None,
        }
    }

    /// Returns the prefix that stands for it in this implementation: the eight octets of the wire
    /// behind four zeros, which no participant of a 2.x vendor has.
    pub fn prefix(self) -> GuidPrefix {
        let mut octets = [0; 12];
        let (_, own) = octets.split_at_mut(4);
        let (host, application) = own.split_at_mut(4);
        host.copy_from_slice(&self.host.to_be_bytes());
        application.copy_from_slice(&self.application.to_be_bytes());
        GuidPrefix(octets)
    }

    /// Returns the participant for which a prefix stands.
    pub fn of(prefix: GuidPrefix) -> Self {
        let (words, _) = prefix.0.as_chunks();
        let [_, host, application] = [0, 1, 2].map(|at: usize| words.get(at).copied());
        let word = |octets: Option<[u8; 4]>| octets.map_or(0, u32::from_be_bytes);
        Self { host: word(host), application: word(application) }
    }
}

/// Built-in objects besides those that 2.5 has, too.
pub(crate) mod object {
    use super::EntityId;

    /// Announces the participant itself.
    pub(crate) const SELF_WRITER: EntityId = EntityId([0, 0, 8, 0xC2]);
    /// Managers announce the applications of their host.
    pub(crate) const APPLICATIONS_WRITER: EntityId = EntityId([0, 0, 1, 0xC2]);
    /// Receives these announcements.
    pub(crate) const APPLICATIONS_READER: EntityId = EntityId([0, 0, 1, 0xC7]);
    /// Managers announce managers.
    pub(crate) const MANAGERS_WRITER: EntityId = EntityId([0, 0, 7, 0xC2]);
    /// Receives these announcements.
    pub(crate) const MANAGERS_READER: EntityId = EntityId([0, 0, 7, 0xC7]);
}

/// Header of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Protocol version: major, minor.
    pub version: [u8; 2],
    /// Vendor id of the sender.
    pub vendor: [u8; 2],
    /// Participant that sent it.
    pub source: Source,
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
    if major != VERSION[0] {
        return Err(Malformed::Version { major, minor });
    }
    let header = header(&mut cursor)?;
    Ok(Message { header, octets: datagram })
}

fn header(cursor: &mut Cursor<'_>) -> Result<Header, Malformed> {
    Ok(Header { version: cursor.array()?, vendor: cursor.array()?, source: source(cursor)? })
}

/// Reads a participant, big-endian in every message.
fn source(cursor: &mut Cursor<'_>) -> Result<Source, Malformed> {
    Ok(Source {
        host: u32::from_be_bytes(cursor.array()?),
        application: u32::from_be_bytes(cursor.array()?),
    })
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
