//! Reads submessages of RTPS 1.0.

use super::{
    Ack, Address, Cursor, Gap, Heartbeat, Issue, Malformed, Parameters, Stamp, Submessage, Var,
    flag, header, kind, source,
};
use crate::guid::EntityId;
use crate::sequence::{NumberSet, SequenceNumber};

/// Submessages of a message in order; ends after the first error.
#[derive(Clone, Debug)]
pub struct Submessages<'a> {
    octets: &'a [u8],
    at: usize,
}

impl<'a> Submessages<'a> {
    pub(super) const fn new(octets: &'a [u8], at: usize) -> Self {
        Self { octets, at }
    }

    fn step(&mut self) -> Result<Submessage<'a>, Malformed> {
        let offset = self.at;
        let mut head = Cursor::new(self.octets, offset, true);
        let [kind, flags] = head.array()?;
        let is_little_endian = flags & flag::LITTLE_ENDIAN != 0;
        let mut head = Cursor::new(self.octets, head.at(), is_little_endian);
        let len = usize::from(head.u16()?);
        let start = head.at();
        // Unlike in 2.x, a length of zero means that nothing follows.
        let octets = self.octets.get(..start.saturating_add(len));
        let octets = octets.ok_or(Malformed::Overrun { offset })?;
        self.at = octets.len();
        read(kind, flags, Cursor::new(octets, start, is_little_endian))
    }
}

impl<'a> Iterator for Submessages<'a> {
    type Item = Result<Submessage<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.octets.len() {
            return None;
        }
        let result = self.step();
        if result.is_err() {
            self.at = self.octets.len();
        }
        Some(result)
    }
}

fn read(kind: u8, flags: u8, mut cursor: Cursor<'_>) -> Result<Submessage<'_>, Malformed> {
    let is_set = |flag| flags & flag != 0;
    let cursor = &mut cursor;
    Ok(match kind {
        kind::VAR => Submessage::Var(var(flags, cursor)?),
        kind::ISSUE => Submessage::Issue(issue(flags, cursor)?),
        kind::ACK => Submessage::Ack(Ack {
            reader: cursor.entity()?,
            writer: cursor.entity()?,
            set: number_set(cursor, 0)?,
            is_final: is_set(flag::FINAL),
        }),
        kind::HEARTBEAT => Submessage::Heartbeat(heartbeat(flags, cursor)?),
        kind::GAP => Submessage::Gap(gap(cursor)?),
        kind::INFO_TIMESTAMP if is_set(flag::INVALIDATE) => Submessage::InfoTimestamp(None),
        kind::INFO_TIMESTAMP => {
            let (seconds, fraction) = (cursor.u32()?, cursor.u32()?);
            Submessage::InfoTimestamp(Some(Stamp { seconds, fraction }))
        }
        kind::INFO_SOURCE => {
            Submessage::InfoSource { address: cursor.u32()?, header: header(cursor)? }
        }
        kind::INFO_REPLY => Submessage::InfoReply {
            unicast: address(cursor)?,
            multicast: if is_set(flag::MULTICAST) { Some(address(cursor)?) } else { None },
        },
        kind::INFO_DESTINATION => Submessage::InfoDestination(source(cursor)?),
        kind::PAD => Submessage::Pad,
        _ => Submessage::Unknown(kind),
    })
}

fn address(cursor: &mut Cursor<'_>) -> Result<Address, Malformed> {
    Ok(Address { address: cursor.u32()?, port: cursor.u32()? })
}

fn parameters<'a>(flags: u8, cursor: &mut Cursor<'a>) -> Result<Option<Parameters<'a>>, Malformed> {
    if flags & flag::PARAMETERS == 0 {
        return Ok(None);
    }
    Parameters::parse(cursor).map(Some)
}

fn var<'a>(flags: u8, cursor: &mut Cursor<'a>) -> Result<Var<'a>, Malformed> {
    Ok(Var {
        reader: cursor.entity()?,
        writer: cursor.entity()?,
        of: if flags & flag::NAMED != 0 { Some(source(cursor)?) } else { None },
        object: cursor.entity()?,
        sequence: cursor.number_from(1)?,
        is_alive: flags & flag::ALIVE != 0,
        parameters: parameters(flags, cursor)?,
    })
}

fn issue<'a>(flags: u8, cursor: &mut Cursor<'a>) -> Result<Issue<'a>, Malformed> {
    Ok(Issue {
        reader: cursor.entity()?,
        writer: cursor.entity()?,
        sequence: cursor.number_from(1)?,
        parameters: parameters(flags, cursor)?,
        payload: cursor.rest(),
        is_little_endian: cursor.is_little_endian(),
    })
}

fn heartbeat(flags: u8, cursor: &mut Cursor<'_>) -> Result<Heartbeat, Malformed> {
    let (reader, writer): (EntityId, EntityId) = (cursor.entity()?, cursor.entity()?);
    let first = cursor.number_from(0)?;
    let last = cursor.number_from((first.0 - 1).max(0))?;
    Ok(Heartbeat { reader, writer, first, last, is_final: flags & flag::FINAL != 0 })
}

fn gap(cursor: &mut Cursor<'_>) -> Result<Gap, Malformed> {
    let (reader, writer) = (cursor.entity()?, cursor.entity()?);
    let start: SequenceNumber = cursor.number_from(1)?;
    Ok(Gap { reader, writer, start, set: number_set(cursor, start.0)? })
}

fn number_set(cursor: &mut Cursor<'_>, base_min: i64) -> Result<NumberSet, Malformed> {
    let base = cursor.number_from(base_min)?.0;
    cursor.set(base)
}
