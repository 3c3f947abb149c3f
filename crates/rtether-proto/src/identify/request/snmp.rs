//! SNMP, port 161 of UDP: get of the system group, and getbulk.
//!
//! Source: RFC 1157, 4 (version 1), RFC 1901, 3 (version 2c), RFC 3416, 3 and 4.2 (requests), RFC
//! 3418, 2 (objects), and ITU-T X.690, 8 (encoding). Requests carry a request-id that always has
//! four octets, so that its length does not vary with the packet.

use alloc::string::String;
use alloc::vec::Vec;

use rtether_model::quantity::Bytes;

use super::answer::{Answer, Malformed, Outcome, append};
use super::carrier::{Carrier, nearest};
use super::cursor::{Cursor, expect};

/// The bits of a packet's name in a request. The upper two bits of the request-id are 01.
pub const TOKEN: u32 = 0x3FFF_FFFF;
/// Most variables of one get. Their answer fits a frame for values of five octets, if the community
/// has at most [`COMMUNITY_MAX`]; but no agent need take messages above 484 octets (RFC 1157, 4).
pub const TIMES_MAX: usize = 70;
/// Most repetitions of getbulk: those in one octet.
pub const REPETITIONS_MAX: u8 = 127;
/// Most octets of a community.
pub const COMMUNITY_MAX: usize = 64;

const MARK: u32 = 0x4000_0000;
const INTEGER: u8 = 0x02;
const TEXT: u8 = 0x04;
const NULL: u8 = 0x05;
const OBJECT: u8 = 0x06;
const SEQUENCE: u8 = 0x30;
const GET: u8 = 0xA0;
const RESPONSE: u8 = 0xA2;
const GET_BULK: u8 = 0xA5;
/// Values that say why there is none: no such object or instance, end of the view (RFC 3416, 3).
const ABSENT: core::ops::RangeInclusive<u8> = 0x80..=0x82;
/// 1.3.6.1.2.1.1, the system group, behind which getbulk begins.
const SYSTEM: [u8; 6] = [0x2B, 6, 1, 2, 1, 1];

/// The version of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// Version 1.
    V1,
    /// Version 2c.
    V2c,
}

/// What is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variable {
    /// `sysDescr.0`, a text that is the device's identity.
    Description,
    /// `sysUpTime.0`, in hundredths of a second.
    UpTime,
}

impl Variable {
    fn name(self) -> [u8; 8] {
        let object = match self {
            Self::Description => 1,
            Self::UpTime => 3,
        };
        [0x2B, 6, 1, 2, 1, 1, object, 0]
    }
}

/// Builds a get that asks for a variable several times. `None` if that is not 1 to [`TIMES_MAX`]
/// times, or the community is too long.
pub fn get(
    id: u32,
    version: Version,
    community: &[u8],
    variable: Variable,
    times: usize,
) -> Option<Vec<u8>> {
    let is_read = (1..=TIMES_MAX).contains(&times) && community.len() <= COMMUNITY_MAX;
    let varbinds = varbind(&variable.name()).repeat(times);
    is_read.then(|| message(id, version, community, GET, 0, &varbinds))
}

/// Builds a getbulk of version 2c: the next variables of the system group and behind it, as many as
/// there are repetitions. Only an answer tells its size, which depends on the device. `None` if
/// repetitions are not 1 to [`REPETITIONS_MAX`], or the community is too long.
pub fn get_bulk(id: u32, community: &[u8], repetitions: u8) -> Option<Vec<u8>> {
    let is_read = (1..=REPETITIONS_MAX).contains(&repetitions) && community.len() <= COMMUNITY_MAX;
    let varbinds = varbind(&SYSTEM);
    is_read.then(|| message(id, Version::V2c, community, GET_BULK, repetitions, &varbinds))
}

fn varbind(name: &[u8]) -> Vec<u8> {
    nest(SEQUENCE, &[&nest(OBJECT, &[name]), &[NULL, 0]])
}

/// Builds a message; the last number is the error index of a get, or the repetitions of a getbulk.
fn message(
    id: u32,
    version: Version,
    community: &[u8],
    request: u8,
    last: u8,
    varbinds: &[u8],
) -> Vec<u8> {
    let [a, b, c, d] = (MARK | id & TOKEN).to_be_bytes();
    let numbers = [INTEGER, 4, a, b, c, d, INTEGER, 1, 0, INTEGER, 1, last];
    let request = nest(request, &[&numbers, &nest(SEQUENCE, &[varbinds])]);
    let version = match version {
        Version::V1 => 0,
        Version::V2c => 1,
    };
    nest(SEQUENCE, &[&[INTEGER, 1, version], &nest(TEXT, &[community]), &request])
}

/// Encodes what is below 64 KiB with the shortest length (X.690, 8.1.3).
fn nest(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let octets: usize = parts.iter().map(|part| part.len()).sum();
    let [.., high, low] = octets.to_be_bytes();
    let mut all = Vec::with_capacity(4 + octets);
    all.push(tag);
    match octets {
        0..=0x7F => all.push(low),
        0x80..=0xFF => all.extend([0x81, low]),
        _ => all.extend([0x82, high, low]),
    }
    for part in parts {
        all.extend(*part);
    }
    all
}

/// Reads an answer of either version. Refused are errors (1 to 18, RFC 3416, 3) and absent
/// variables (128 to 130).
pub fn answer(octets: &[u8]) -> Result<Answer, Malformed> {
    let mut all = Cursor::new(octets);
    let mut message = element(&mut all, SEQUENCE, "message")?;
    all.end()?;
    expect((0..=1).contains(&integer(&mut message)?), "version")?;
    element(&mut message, TEXT, "community")?;
    let mut response = element(&mut message, RESPONSE, "type of the request")?;
    message.end()?;
    let id = u32::try_from(integer(&mut response)?).ok().filter(|id| id & !TOKEN == MARK);
    let id = id.ok_or(Malformed::Unexpected("request-id"))?;
    let status = u32::try_from(integer(&mut response)?);
    let status = status.map_err(|_| Malformed::Unexpected("error-status"))?;
    integer(&mut response)?;
    let varbinds = element(&mut response, SEQUENCE, "list of variables")?;
    response.end()?;
    let found = variables(varbinds)?;
    let outcome = match status {
        0 => found.ok_or(Malformed::Unexpected("list of variables"))?,
        _ => Outcome::Refused(status),
    };
    Ok(Answer { token: id & TOKEN, octets: octets.len(), outcome })
}

/// Reads all variables; returns what the first one says.
fn variables(mut cursor: Cursor<'_>) -> Result<Option<Outcome>, Malformed> {
    let mut first = None;
    while !cursor.is_empty() {
        let mut varbind = element(&mut cursor, SEQUENCE, "variable")?;
        let mut name = element(&mut varbind, OBJECT, "name of a variable")?;
        let is_description = name.array() == Ok(Variable::Description.name()) && name.is_empty();
        let (tag, value) = any(&mut varbind)?;
        varbind.end()?;
        let outcome = if ABSENT.contains(&tag) {
            Outcome::Refused(tag.into())
        } else if is_description && tag == TEXT {
            let mut text = String::new();
            append(&mut text, value.rest());
            Outcome::Identity(text)
        } else {
            Outcome::Done
        };
        first.get_or_insert(outcome);
    }
    Ok(first)
}

fn element<'a>(
    cursor: &mut Cursor<'a>,
    tag: u8,
    field: &'static str,
) -> Result<Cursor<'a>, Malformed> {
    let (found, content) = any(cursor)?;
    expect(found == tag, field)?;
    Ok(content)
}

/// Takes an element with a tag of one octet and a definite length, short or long (X.690, 8.1). Long
/// lengths need not be the shortest.
fn any<'a>(cursor: &mut Cursor<'a>) -> Result<(u8, Cursor<'a>), Malformed> {
    let [tag, length] = cursor.array()?;
    expect(tag & 0x1F != 0x1F, "tag")?;
    let octets = match length {
        0..=0x7F => length.into(),
        0x81..=0x84 => {
            let digits = cursor.take(usize::from(length & 0x7F))?;
            digits.iter().fold(0, |sum, &digit| sum << 8 | usize::from(digit))
        }
        _ => return Err(Malformed::Unexpected("length")),
    };
    Ok((tag, Cursor::new(cursor.take(octets)?)))
}

/// Takes an integer of at most eight octets (X.690, 8.3).
fn integer(cursor: &mut Cursor<'_>) -> Result<i64, Malformed> {
    let digits = element(cursor, INTEGER, "integer")?.rest();
    expect((1..=8).contains(&digits.len()), "integer")?;
    let sign = if digits[0] < 0x80 { 0 } else { -1 };
    Ok(digits.iter().fold(sign, |sum, &digit| sum << 8 | i64::from(digit)))
}

/// Returns the octets of a get with a community of these octets that asks this many times, if values
/// have none; else those of its answer. Agents that write long lengths answer with some more.
pub fn octets(community: usize, times: usize, value: usize) -> usize {
    let varbinds = times * nested(nested(8) + nested(value));
    nested(3 + nested(community) + nested(12 + nested(varbinds)))
}

fn nested(octets: usize) -> usize {
    octets
        + match octets {
            0..=0x7F => 2,
            0x80..=0xFF => 3,
            _ => 4,
        }
}

/// Returns how often to ask for a variable, so that the request comes nearest to this frame.
pub fn times(request: Bytes, community: usize) -> usize {
    let all = (1..=TIMES_MAX).map(|times| (times, Carrier::Udp.frame(octets(community, times, 0))));
    nearest(all, request).unwrap_or(1)
}

/// Returns the repetitions whose answer came nearest to this frame, of those that were tried.
pub fn repetitions(answer: Bytes, tried: &[(u8, Bytes)]) -> Option<u8> {
    nearest(tried.iter().copied(), answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A get of `sysUpTime.0` by hand, what snmpd 5.9.3 answers, and the same in long lengths, as lwIP
    /// writes them.
    const GET: &[u8] = b"\x30\x29\x02\x01\x01\x04\x06public\
        \xA0\x1C\x02\x04\x40\0\0\x07\x02\x01\0\x02\x01\0\
        \x30\x0E\x30\x0C\x06\x08\x2B\x06\x01\x02\x01\x01\x03\0\x05\0";
    const SHORT: &[u8] = b"\x30\x2B\x02\x01\0\x04\x06public\
        \xA2\x1E\x02\x04\x40\0\0\x07\x02\x01\0\x02\x01\0\
        \x30\x10\x30\x0E\x06\x08\x2B\x06\x01\x02\x01\x01\x03\0\x43\x02\0\xAA";
    const LONG: &[u8] = b"\x30\x82\0\x2F\x02\x01\0\x04\x06public\
        \xA2\x82\0\x20\x02\x04\x40\0\0\x07\x02\x01\0\x02\x01\0\
        \x30\x81\x11\x30\x81\x0E\x06\x08\x2B\x06\x01\x02\x01\x01\x03\0\x43\x02\0\xAA";

    fn changed(octets: &[u8], at: usize, to: u8) -> Result<Answer, Malformed> {
        let mut octets = octets.to_vec();
        octets[at] = to;
        answer(&octets)
    }

    /// Oracle: RFC 1157, 4, and X.690, 8.1.3, by hand.
    #[test]
    fn a_get_by_hand() {
        let request = get(0xC000_0007, Version::V2c, b"public", Variable::UpTime, 1);
        assert_eq!(request.as_deref(), Some(GET));
        for octets in [SHORT, LONG] {
            let expected = Answer { token: 7, octets: octets.len(), outcome: Outcome::Done };
            assert_eq!(answer(octets), Ok(expected));
        }
        assert_eq!(octets(6, 1, 2), SHORT.len());
        assert_eq!(answer(GET), Err(Malformed::Unexpected("type of the request")));
    }

    /// Oracle: the fields of SHORT, changed by hand.
    #[test]
    fn refusals_are_answers_and_damage_is_none() {
        // Error status, and an object that does not exist.
        assert_eq!(changed(SHORT, 23, 2).unwrap().outcome, Outcome::Refused(2));
        assert_eq!(changed(SHORT, 41, 0x80).unwrap().outcome, Outcome::Refused(0x80));
        for (at, to, expected) in [
            (1, 0x80, Malformed::Unexpected("length")),
            (1, 0x85, Malformed::Unexpected("length")),
            (1, 0x2C, Malformed::Truncated),
            (1, 0x2A, Malformed::Trailing),
            (4, 3, Malformed::Unexpected("version")),
            (17, 0x3F, Malformed::Unexpected("request-id")),
            (17, 0x80, Malformed::Unexpected("request-id")),
            (23, 0x80, Malformed::Unexpected("error-status")),
            (41, 0x5F, Malformed::Unexpected("tag")),
        ] {
            assert_eq!(changed(SHORT, at, to), Err(expected), "{at} {to:#x}");
        }
    }

    /// Oracle: the description that snmpd 5.9.3 was given.
    #[test]
    fn an_identity() {
        let octets = b"\x30\x36\x02\x01\0\x04\x06public\
            \xA2\x29\x02\x04\x40\0\0\x07\x02\x01\0\x02\x01\0\x30\x1B\x30\x19\
            \x06\x08\x2B\x06\x01\x02\x01\x01\x01\0\x04\x0DACME P1 relay";
        let expected = Outcome::Identity("ACME P1 relay".into());
        assert_eq!(answer(octets).unwrap().outcome, expected);
    }

    /// Oracle: Net-SNMP's requests of 43 octets, of 315 for twenty variables, of 41 for getbulk; what
    /// is predicted is what is built.
    #[test]
    fn sizes_of_messages() {
        for times in 1..=TIMES_MAX {
            let request = get(7, Version::V1, b"public", Variable::Description, times).unwrap();
            assert_eq!(request.len(), octets(6, times, 0));
            assert_eq!(super::times(Carrier::Udp.frame(request.len()), 6), times);
        }
        assert_eq!((octets(6, 1, 0), octets(6, 20, 0)), (43, 315));
        assert_eq!(get_bulk(7, b"public", 127).unwrap().len(), 41);
        assert!(octets(COMMUNITY_MAX, TIMES_MAX, 5) <= Carrier::Udp.room());
        assert_eq!(get_bulk(7, b"public", 128), None);
        assert_eq!(get(7, Version::V1, &[0; 65], Variable::UpTime, 1), None);
        let tried = [(1, Bytes::new(98)), (10, Bytes::new(286)), (40, Bytes::new(1_323))];
        assert_eq!(repetitions(Bytes::new(700), &tried), Some(10));
    }
}
