//! Writes messages of RTPS 1.0, little-endian.

use alloc::vec::Vec;

use super::{
    Ack, Address, Gap, HEADER_SIZE, Header, Heartbeat, Issue, MAGIC, Source, Stamp, VENDOR,
};
use super::{VERSION, Var, flag, kind};
use crate::guid::EntityId;
use crate::sequence::{NumberSet, SequenceNumber};

/// Octets of the header of a submessage.
const HEAD: usize = 4;
/// Octets of VAR and ISSUE before their parameters, without the participant of a VAR.
const VAR_HEAD: usize = 20;
const ISSUE_HEAD: usize = 16;
/// End of a parameter list.
const SENTINEL: [u8; 4] = [1, 0, 0, 0];

/// Writes a message into a buffer of the caller.
///
/// A submessage that would exceed the limit is not written at all, and the method returns `false`.
#[derive(Debug)]
pub struct Builder<'a> {
    octets: &'a mut Vec<u8>,
    limit: usize,
}

impl<'a> Builder<'a> {
    /// Clears the buffer and writes the header, regardless of `limit`. The limit counts the octets
    /// of the whole message.
    pub fn new(buffer: &'a mut Vec<u8>, source: Source, limit: usize) -> Self {
        buffer.clear();
        buffer.extend_from_slice(&MAGIC);
        let mut this = Self::resume(buffer, limit);
        this.header(Header { version: VERSION, vendor: VENDOR, source });
        this
    }

    /// Continues a message.
    pub(crate) const fn resume(buffer: &'a mut Vec<u8>, limit: usize) -> Self {
        Self { octets: buffer, limit }
    }

    /// Returns whether only the header is written.
    pub fn is_empty(&self) -> bool {
        self.octets.len() <= HEADER_SIZE
    }

    /// Writes the state of an object. Parameters that are not little-endian are not written, and
    /// the method returns `false`.
    pub fn var(&mut self, var: &Var<'_>) -> bool {
        let parameters = var.parameters.map(|list| list.octets());
        if var.parameters.is_some_and(|list| !list.is_little_endian()) {
            return false;
        }
        self.state(var, parameters)
    }

    /// Writes the state of an object with these parameters, little-endian and without a sentinel.
    pub(crate) fn state(&mut self, var: &Var<'_>, parameters: Option<&[u8]>) -> bool {
        let list = parameters.map_or(0, |octets| octets.len() + SENTINEL.len());
        let named = var.of.map_or(0, |_| 8);
        let mut flags = 0;
        for (is_set, flag) in [
            (parameters.is_some(), flag::PARAMETERS),
            (var.is_alive, flag::ALIVE),
            (var.of.is_some(), flag::NAMED),
        ] {
            flags |= if is_set { flag } else { 0 };
        }
        if !self.begin(kind::VAR, flags, VAR_HEAD + named + list) {
            return false;
        }
        self.entities([var.reader, var.writer]);
        if let Some(of) = var.of {
            self.source(of);
        }
        self.octets.extend_from_slice(&var.object.0);
        self.number(var.sequence);
        if let Some(parameters) = parameters {
            self.octets.extend_from_slice(parameters);
            self.octets.extend_from_slice(&SENTINEL);
        }
        true
    }

    /// Writes a sample in the byte order of its value; parameters are not written, and with them
    /// the method returns `false`.
    pub fn issue(&mut self, issue: &Issue<'_>) -> bool {
        let len = ISSUE_HEAD + issue.payload.len();
        if issue.parameters.is_some() || !self.fits(len) {
            return false;
        }
        let Ok(field) = u16::try_from(len) else {
            return false;
        };
        let is_little_endian = issue.is_little_endian;
        self.octets.extend_from_slice(&[kind::ISSUE, u8::from(is_little_endian)]);
        self.octets.extend_from_slice(&if is_little_endian {
            field.to_le_bytes()
        } else {
            field.to_be_bytes()
        });
        self.entities([issue.reader, issue.writer]);
        if is_little_endian {
            self.number(issue.sequence);
        } else {
            self.octets.extend_from_slice(&issue.sequence.0.to_be_bytes());
        }
        self.octets.extend_from_slice(issue.payload);
        true
    }

    /// Reports which samples a reader has and lacks.
    pub fn ack(&mut self, ack: &Ack) -> bool {
        let flags = if ack.is_final { flag::FINAL } else { 0 };
        let is_fit = self.begin(kind::ACK, flags, 16 + set_size(&ack.set));
        if is_fit {
            self.entities([ack.reader, ack.writer]);
            self.set(&ack.set);
        }
        is_fit
    }

    /// Announces which samples a writer has.
    pub fn heartbeat(&mut self, heartbeat: &Heartbeat) -> bool {
        let flags = if heartbeat.is_final { flag::FINAL } else { 0 };
        let is_fit = self.begin(kind::HEARTBEAT, flags, 24);
        if is_fit {
            self.entities([heartbeat.reader, heartbeat.writer]);
            self.number(heartbeat.first);
            self.number(heartbeat.last);
        }
        is_fit
    }

    /// Declares samples irrelevant.
    pub fn gap(&mut self, gap: &Gap) -> bool {
        let is_fit = self.begin(kind::GAP, 0, 24 + set_size(&gap.set));
        if is_fit {
            self.entities([gap.reader, gap.writer]);
            self.number(gap.start);
            self.set(&gap.set);
        }
        is_fit
    }

    /// Writes the source timestamp of what follows; `None` cancels an earlier one.
    pub fn info_timestamp(&mut self, stamp: Option<Stamp>) -> bool {
        let Some(Stamp { seconds, fraction }) = stamp else {
            return self.begin(kind::INFO_TIMESTAMP, flag::INVALIDATE, 0);
        };
        let is_fit = self.begin(kind::INFO_TIMESTAMP, 0, 8);
        if is_fit {
            self.u32(seconds);
            self.u32(fraction);
        }
        is_fit
    }

    /// Writes the source of what follows.
    pub fn info_source(&mut self, address: u32, header: Header) -> bool {
        let is_fit = self.begin(kind::INFO_SOURCE, 0, 16);
        if is_fit {
            self.u32(address);
            self.header(header);
        }
        is_fit
    }

    /// Writes the destination of what follows.
    pub fn info_destination(&mut self, to: Source) -> bool {
        let is_fit = self.begin(kind::INFO_DESTINATION, 0, 8);
        if is_fit {
            self.source(to);
        }
        is_fit
    }

    /// Writes where answers to what follows are to be sent.
    pub fn info_reply(&mut self, unicast: Address, multicast: Option<Address>) -> bool {
        let flags = multicast.map_or(0, |_| flag::MULTICAST);
        let len = multicast.map_or(8, |_| 16);
        let is_fit = self.begin(kind::INFO_REPLY, flags, len);
        if is_fit {
            for one in [Some(unicast), multicast].into_iter().flatten() {
                self.u32(one.address);
                self.u32(one.port);
            }
        }
        is_fit
    }

    fn fits(&self, len: usize) -> bool {
        let room = self.limit.saturating_sub(self.octets.len());
        u16::try_from(len).is_ok() && HEAD + len <= room
    }

    /// Writes the header of a submessage if header and content fit.
    fn begin(&mut self, kind: u8, flags: u8, len: usize) -> bool {
        let field = u16::try_from(len).ok().filter(|_| self.fits(len));
        let Some(field) = field else {
            return false;
        };
        self.octets.extend_from_slice(&[kind, flags | flag::LITTLE_ENDIAN]);
        self.octets.extend_from_slice(&field.to_le_bytes());
        true
    }

    fn header(&mut self, header: Header) {
        self.octets.extend_from_slice(&header.version);
        self.octets.extend_from_slice(&header.vendor);
        self.source(header.source);
    }

    fn source(&mut self, source: Source) {
        self.octets.extend_from_slice(&source.host.to_be_bytes());
        self.octets.extend_from_slice(&source.application.to_be_bytes());
    }

    fn entities(&mut self, entities: [EntityId; 2]) {
        self.octets.extend_from_slice(entities.map(|entity| entity.0).as_flattened());
    }

    /// High word, then low word.
    fn number(&mut self, number: SequenceNumber) {
        let [a, b, c, d, high @ ..] = number.0.to_le_bytes();
        self.octets.extend_from_slice(&high);
        self.octets.extend_from_slice(&[a, b, c, d]);
    }

    /// Writes a set with its base.
    fn set(&mut self, set: &NumberSet) {
        self.number(SequenceNumber(set.base()));
        self.u32(set.len());
        for word in set.words() {
            self.u32(*word);
        }
    }

    fn u32(&mut self, number: u32) {
        self.octets.extend_from_slice(&number.to_le_bytes());
    }
}

/// Returns the size of a set without its base.
fn set_size(set: &NumberSet) -> usize {
    4 + 4 * set.words().len()
}
