//! Reads submessages (8.3.8, 9.4.5).

use super::{
    AckNack, Content, Cursor, Data, DataFrag, Gap, Heartbeat, HeartbeatFrag, Locators, Malformed,
    NackFrag, ParameterList, Submessage, flag, header, kind,
};
use crate::sequence::NumberSet;
use crate::time::WallTime;

/// Submessages of a message in order; ends after the first error, since the length of a malformed
/// submessage cannot be trusted.
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
        // Length zero means up to the end of the message, except for the two kinds that may be
        // empty (9.4.5.1.3).
        let end = if len == 0 && !matches!(kind, kind::PAD | kind::INFO_TIMESTAMP) {
            self.octets.len()
        } else {
            start.saturating_add(len)
        };
        let octets = self.octets.get(..end);
        let octets = octets.ok_or(Malformed::Overrun { offset })?;
        self.at = end;
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
        kind::DATA if is_set(flag::NON_STANDARD) => Submessage::Unknown(kind),
        kind::DATA => Submessage::Data(data(flags, cursor)?),
        kind::DATA_FRAG if is_set(flag::FRAGMENT_NON_STANDARD) => Submessage::Unknown(kind),
        kind::DATA_FRAG => Submessage::DataFrag(data_frag(flags, cursor)?),
        kind::HEARTBEAT => Submessage::Heartbeat(heartbeat(flags, cursor)?),
        kind::HEARTBEAT_FRAG => Submessage::HeartbeatFrag(HeartbeatFrag {
            reader: cursor.entity()?,
            writer: cursor.entity()?,
            sequence: cursor.number_from(1)?,
            last_fragment: cursor.fragment()?,
            count: cursor.i32()?,
        }),
        kind::ACK_NACK => Submessage::AckNack(AckNack {
            reader: cursor.entity()?,
            writer: cursor.entity()?,
            set: number_set(cursor, 0)?,
            count: cursor.i32()?,
            is_final: is_set(flag::FINAL),
        }),
        kind::NACK_FRAG => Submessage::NackFrag(NackFrag {
            reader: cursor.entity()?,
            writer: cursor.entity()?,
            sequence: cursor.number_from(1)?,
            set: fragment_set(cursor)?,
            count: cursor.i32()?,
        }),
        kind::GAP => Submessage::Gap(gap(cursor)?),
        kind::INFO_TIMESTAMP if is_set(flag::INVALIDATE) => Submessage::InfoTimestamp(None),
        kind::INFO_TIMESTAMP => {
            let (seconds, fraction) = (cursor.u32()?, cursor.u32()?);
            // All ones mean an invalid time (9.3.2).
            let is_time = (seconds, fraction) != (u32::MAX, u32::MAX);
            let time = is_time.then(|| WallTime::from_wire(seconds, fraction));
            Submessage::InfoTimestamp(time)
        }
        kind::INFO_DESTINATION => Submessage::InfoDestination(cursor.prefix()?),
        kind::INFO_SOURCE => {
            let _unused = cursor.u32()?;
            Submessage::InfoSource(header(cursor)?)
        }
        kind::INFO_REPLY => Submessage::InfoReply {
            unicast: Locators::parse(cursor)?,
            multicast: if is_set(flag::MULTICAST) {
                Locators::parse(cursor)?
            } else {
                Locators::EMPTY
            },
        },
        kind::PAD => Submessage::Pad,
        _ => Submessage::Unknown(kind),
    })
}

/// Advances to the parameter list or content; returns the earlier position, from which at least
/// `known` octets can be read.
fn skip_to_qos<'a>(cursor: &mut Cursor<'a>, known: usize) -> Result<Cursor<'a>, Malformed> {
    let _extra_flags = cursor.u16()?;
    let offset = cursor.at();
    let len = usize::from(cursor.u16()?);
    if len < known {
        return Err(Malformed::Value { offset });
    }
    let head = *cursor;
    cursor.take(len).map_err(|_| Malformed::Overrun { offset })?;
    Ok(head)
}

fn inline_qos<'a>(flags: u8, cursor: &mut Cursor<'a>) -> Result<ParameterList<'a>, Malformed> {
    if flags & flag::INLINE_QOS != 0 {
        ParameterList::parse(cursor)
    } else {
        Ok(ParameterList::EMPTY)
    }
}

/// Octets from the end of the length field to the parameter list.
const DATA_HEAD: usize = 16;
const DATA_FRAG_HEAD: usize = 28;
/// Size of the encapsulation header, in octets.
const ENCAPSULATION: usize = 4;

fn data<'a>(flags: u8, cursor: &mut Cursor<'a>) -> Result<Data<'a>, Malformed> {
    let mut head = skip_to_qos(cursor, DATA_HEAD)?;
    let inline_qos = inline_qos(flags, cursor)?;
    let offset = cursor.at();
    let rest = cursor.rest();
    let content = match (flags & flag::DATA != 0, flags & flag::KEY != 0) {
        (false, false) => Content::None,
        (true, true) => return Err(Malformed::Value { offset }),
        _ if rest.len() < ENCAPSULATION => return Err(Malformed::Truncated { offset }),
        (true, false) => Content::Data(rest),
        (false, true) => Content::Key(rest),
    };
    Ok(Data {
        reader: head.entity()?,
        writer: head.entity()?,
        sequence: head.number_from(1)?,
        inline_qos,
        content,
    })
}

fn data_frag<'a>(flags: u8, cursor: &mut Cursor<'a>) -> Result<DataFrag<'a>, Malformed> {
    let mut head = skip_to_qos(cursor, DATA_FRAG_HEAD)?;
    let reader = head.entity()?;
    let writer = head.entity()?;
    let sequence = head.number_from(1)?;
    let offset = head.at();
    let first_fragment = head.fragment()?;
    let fragments = head.u16()?;
    let fragment_size = head.u16()?;
    let sample_size = head.u32()?;
    if fragments == 0 || fragment_size == 0 || u32::from(fragment_size) > sample_size {
        return Err(Malformed::Value { offset });
    }
    // Computed in 64 bits, so that no product or sum overflows.
    let (size, sample) = (u64::from(fragment_size), u64::from(sample_size));
    let before = u64::from(first_fragment) - 1;
    if before + u64::from(fragments) > sample.div_ceil(size) {
        return Err(Malformed::Value { offset });
    }
    let len = (u64::from(fragments) * size).min(sample - before * size);
    let inline_qos = inline_qos(flags, cursor)?;
    let error = Malformed::Truncated { offset: cursor.at() };
    let len = usize::try_from(len).map_err(|_| error)?;
    Ok(DataFrag {
        reader,
        writer,
        sequence,
        first_fragment,
        fragments,
        fragment_size,
        sample_size,
        inline_qos,
        is_key: flags & flag::FRAGMENT_KEY != 0,
        payload: cursor.take(len).map_err(|_| error)?,
    })
}

fn heartbeat(flags: u8, cursor: &mut Cursor<'_>) -> Result<Heartbeat, Malformed> {
    let (reader, writer) = (cursor.entity()?, cursor.entity()?);
    let first = cursor.number_from(1)?;
    let last = cursor.number_from(first.0 - 1)?;
    Ok(Heartbeat {
        reader,
        writer,
        first,
        last,
        count: cursor.i32()?,
        is_final: flags & flag::FINAL != 0,
        is_liveliness: flags & flag::LIVELINESS != 0,
    })
}

fn gap(cursor: &mut Cursor<'_>) -> Result<Gap, Malformed> {
    let (reader, writer) = (cursor.entity()?, cursor.entity()?);
    let start = cursor.number_from(1)?;
    Ok(Gap { reader, writer, start, set: number_set(cursor, start.0)? })
}

fn number_set(cursor: &mut Cursor<'_>, base_min: i64) -> Result<NumberSet, Malformed> {
    let base = cursor.number_from(base_min)?.0;
    cursor.set(base)
}

fn fragment_set(cursor: &mut Cursor<'_>) -> Result<NumberSet, Malformed> {
    let base = i64::from(cursor.fragment()?);
    cursor.set(base)
}
