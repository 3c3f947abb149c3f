//! EtherNet/IP, port 44818: identity, services, a session, reads of an attribute, and silence.
//!
//! Source: CIP Networks Library, volume 2, 2-3 (header), 2-4 (commands) and 2-6 (items); volume 1,
//! appendix A (services) and 5 (identity object). Numbers are little-endian. Over UDP only to one
//! address: devices delay answers to broadcasts on purpose.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use rtether_model::quantity::Bytes;

use super::answer::{Answer, Malformed, Outcome, append};
use super::carrier::{Carrier, nearest};
use super::cursor::{Cursor, expect};
use crate::identify::sizes::Exchange;

/// The bits of a packet's name in a request: all, the end of the sender context.
pub const TOKEN: u32 = u32::MAX;
/// Octets of the header.
pub const HEADER: usize = 24;
/// Most octets in a silent packet: with the header they fit a segment with timestamps.
pub const SILENT_MAX: usize = 1_424;
/// Most attributes of one read: their answer fits a segment with timestamps.
pub const TIMES_MAX: u8 = 233;

const NOP: u16 = 0x00;
const LIST_SERVICES: u16 = 0x04;
const LIST_IDENTITY: u16 = 0x63;
const REGISTER_SESSION: u16 = 0x65;
const SEND_DATA: u16 = 0x6F;
/// Types of items.
const IDENTITY: u16 = 0x000C;
const SERVICES: u16 = 0x0100;
const UNCONNECTED: u16 = 0x00B2;
/// Services, and the bit of an answer.
const GET_LIST: u8 = 0x03;
const GET_ONE: u8 = 0x0E;
const REPLY: u8 = 0x80;
/// Class 1, instance 1: the identity object.
const OBJECT: [u8; 4] = [0x20, 1, 0x24, 1];
/// How the sender context begins. The first two octets are the most milliseconds for which a device
/// may delay its answer to a broadcast; zero would stand for 2000.
const CONTEXT: [u8; 4] = [1, 0, b'r', b't'];

/// Builds a request for the identity of a device.
pub fn list_identity(id: u32) -> Vec<u8> {
    message(id, LIST_IDENTITY, 0, &[])
}

/// Builds a request for the services of a device.
pub fn list_services(id: u32) -> Vec<u8> {
    message(id, LIST_SERVICES, 0, &[])
}

/// Builds a request for a session, over TCP. The session ends with the connection.
pub fn register_session(id: u32) -> Vec<u8> {
    message(id, REGISTER_SESSION, 0, &[1, 0, 0, 0])
}

/// Builds a packet that nobody answers, over TCP: these octets of zeros behind the header. `None`
/// above [`SILENT_MAX`]. Not all servers know it: one closes the connection.
pub fn silent(octets: usize) -> Option<Vec<u8>> {
    let data = [0; SILENT_MAX];
    Some(message(0, NOP, 0, data.get(..octets)?))
}

/// Builds a read of the vendor's number, attribute 1 of the identity object, in a session.
pub fn attribute(id: u32, session: u32) -> Vec<u8> {
    let [a, b, c, d] = OBJECT;
    read(id, session, &[GET_ONE, 3, a, b, c, d, 0x30, 1])
}

/// Builds a read of the vendor's number several times. `None` if that is not 1 to [`TIMES_MAX`]
/// times.
pub fn attributes(id: u32, session: u32, times: u8) -> Option<Vec<u8>> {
    let [a, b, c, d] = OBJECT;
    let head = [GET_LIST, 2, a, b, c, d, times, 0];
    let is_read = (1..=TIMES_MAX).contains(&times);
    is_read.then(|| read(id, session, &[&head[..], &[1, 0].repeat(times.into())].concat()))
}

/// Builds a request without a connection: an empty address and the service (2-4.7).
fn read(id: u32, session: u32, service: &[u8]) -> Vec<u8> {
    let [low, high, ..] = service.len().to_le_bytes();
    let mut data = Vec::from([0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0xB2, 0, low, high]);
    data.extend(service);
    message(id, SEND_DATA, session, &data)
}

fn message(id: u32, command: u16, session: u32, data: &[u8]) -> Vec<u8> {
    let [low, high, ..] = data.len().to_le_bytes();
    let mut all = Vec::with_capacity(HEADER + data.len());
    all.extend(command.to_le_bytes());
    all.extend([low, high]);
    all.extend(session.to_le_bytes());
    // The status of a request is zero.
    all.extend([0; 4]);
    all.extend(CONTEXT);
    all.extend(id.to_le_bytes());
    // So are its options.
    all.extend([0; 4]);
    all.extend(data);
    all
}

/// Reads an answer. Refused are a status of the header, else the general status of a service.
pub fn answer(octets: &[u8]) -> Result<Answer, Malformed> {
    let mut cursor = Cursor::new(octets);
    let command = u16::from_le_bytes(cursor.array()?);
    let length = u16::from_le_bytes(cursor.array()?);
    let session = u32::from_le_bytes(cursor.array()?);
    let status = u32::from_le_bytes(cursor.array()?);
    let context = cursor.array()?;
    let token = u32::from_le_bytes(cursor.array()?);
    let _options: [u8; 4] = cursor.array()?;
    let data = cursor.last(length.into())?;
    let is_known = [LIST_IDENTITY, LIST_SERVICES, REGISTER_SESSION, SEND_DATA].contains(&command);
    expect(is_known, "command")?;
    expect(context == CONTEXT, "sender context")?;
    let outcome = match (status, command) {
        (0, LIST_IDENTITY) => Outcome::Identity(identity(item(data, IDENTITY)?)?),
        (0, LIST_SERVICES) => item(data, SERVICES).map(|_| Outcome::Done)?,
        (0, REGISTER_SESSION) => {
            data.last(4)?;
            expect(session != 0, "session")?;
            Outcome::Session(session)
        }
        (0, _) => service(data)?,
        _ => Outcome::Refused(status),
    };
    Ok(Answer { token, octets: octets.len(), outcome })
}

/// Returns the first item of a type; all have to be whole (2-6).
fn item(mut data: Cursor<'_>, wanted: u16) -> Result<Cursor<'_>, Malformed> {
    let count = u16::from_le_bytes(data.array()?);
    let mut found = None;
    for _ in 0..count {
        let own = u16::from_le_bytes(data.array()?);
        let length = u16::from_le_bytes(data.array()?);
        let content = Cursor::new(data.take(length.into())?);
        if own == wanted {
            found.get_or_insert(content);
        }
    }
    data.end()?;
    found.ok_or(Malformed::Unexpected("type of the item"))
}

/// Reads name and revision of a device (2-4.2); its state may follow.
fn identity(mut item: Cursor<'_>) -> Result<String, Malformed> {
    // Version, address of the socket, vendor, type, product.
    item.take(2 + 16 + 2 + 2 + 2)?;
    let [major, minor] = item.array()?;
    // Status, serial number.
    item.take(2 + 4)?;
    let [length] = item.array()?;
    let mut text = String::new();
    append(&mut text, item.take(length.into())?);
    append(&mut text, format!("{major}.{minor}").as_bytes());
    Ok(text)
}

/// Reads the answer of a service.
fn service(mut data: Cursor<'_>) -> Result<Outcome, Malformed> {
    // Interface, timeout.
    data.take(4 + 2)?;
    let mut reply = item(data, UNCONNECTED)?;
    let [service, _reserved, status, words] = reply.array()?;
    expect([GET_ONE, GET_LIST].contains(&(service ^ REPLY)), "service")?;
    reply.take(2 * usize::from(words))?;
    Ok(if status == 0 { Outcome::Done } else { Outcome::Refused(status.into()) })
}

/// Returns the frames of a read of this many attributes. Not all devices answer as specified: one
/// leaves the count of attributes out, two octets.
pub fn exchange(times: u8, carrier: Carrier) -> Exchange {
    let times = usize::from(times);
    Exchange { request: carrier.frame(48 + 2 * times), answer: carrier.frame(46 + 6 * times) }
}

/// Returns how often to read, so that the answer comes nearest to this frame.
pub fn times(answer: Bytes, carrier: Carrier) -> u8 {
    let all = (1..=TIMES_MAX).map(|times| (times, exchange(times, carrier).answer));
    nearest(all, answer).unwrap_or(1)
}

/// Returns how many octets to send in a silent packet, so that it comes nearest to this frame.
pub fn silent_octets(request: Bytes, carrier: Carrier) -> usize {
    let all = (0..=SILENT_MAX).map(|octets| (octets, carrier.frame(HEADER + octets)));
    nearest(all, request).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TCP: Carrier = Carrier::Tcp { timestamps: true };
    const ID: u32 = 0x0403_0201;

    /// Returns a message with these fields and the context of the request.
    fn reply(command: u8, session: u8, status: u8, data: &[u8]) -> Vec<u8> {
        let [low, high, ..] = data.len().to_le_bytes();
        let mut all = Vec::from([command, 0, low, high, session, 0, 0, 0, status, 0, 0, 0]);
        all.extend(b"\x01\x00rt\x01\x02\x03\x04\0\0\0\0");
        all.extend(data);
        all
    }

    fn outcome(octets: &[u8]) -> Result<Outcome, Malformed> {
        let found = answer(octets)?;
        assert_eq!((found.token, found.octets), (ID, octets.len()));
        Ok(found.outcome)
    }

    /// Oracle: the layouts of 2-3.1 and 2-4, by hand.
    #[test]
    fn requests_by_hand() {
        assert_eq!(list_identity(ID), reply(0x63, 0, 0, &[]));
        assert_eq!(list_services(ID), reply(0x04, 0, 0, &[]));
        assert_eq!(register_session(ID), reply(0x65, 0, 0, &[1, 0, 0, 0]));
        let data = b"\0\0\0\0\0\0\x02\0\0\0\0\0\xB2\0\x08\0\x0E\x03\x20\x01\x24\x01\x30\x01";
        assert_eq!(attribute(ID, 7), reply(0x6F, 7, 0, data));
        let data =
            b"\0\0\0\0\0\0\x02\0\0\0\0\0\xB2\0\x0C\0\x03\x02\x20\x01\x24\x01\x02\0\x01\0\x01\0";
        assert_eq!(attributes(ID, 7, 2).unwrap(), reply(0x6F, 7, 0, data));
        let nop = silent(3).unwrap();
        assert_eq!((&nop[..4], nop.len()), (&[0, 0, 3, 0][..], 27));
        assert_eq!(silent(SILENT_MAX).unwrap().len(), TCP.room());
        assert!(silent(SILENT_MAX + 1).is_none());
        assert!(attributes(ID, 7, 0).is_none() && attributes(ID, 7, TIMES_MAX + 1).is_none());
    }

    /// Oracle: what cpppo 5.2.5 answers: identity, services, a session, the number of its vendor.
    #[test]
    fn answers_of_a_server() {
        let item = b"\x01\0\x0C\0\x36\0\x01\0\0\x02\xAF\x12\0\0\0\0\0\0\0\0\0\0\0\0\
            \x01\0\x0E\0\x36\0\x14\x0B\x60\x31\x1A\x06\x6C\0\x141756-L61/B LOGIX5561\xFF";
        let expected = Outcome::Identity("1756-L61/B LOGIX5561 20.11".into());
        assert_eq!(outcome(&reply(0x63, 0, 0, item)), Ok(expected));
        let data = b"\x01\0\0\x01\x13\0\x01\0\x20\0Communications\0";
        assert_eq!(outcome(&reply(0x04, 0, 0, data)), Ok(Outcome::Done));
        assert_eq!(outcome(&reply(0x65, 9, 0, &[1, 0, 0, 0])), Ok(Outcome::Session(9)));
        let data = b"\0\0\0\0\0\0\x02\0\0\0\0\0\xB2\0\x06\0\x8E\0\0\0\x01\0";
        assert_eq!(outcome(&reply(0x6F, 9, 0, data)), Ok(Outcome::Done));
    }

    /// Oracle: status 0x64 is an invalid session (2-3.5); general status 8 a service that is not
    /// supported (volume 1, appendix B).
    #[test]
    fn refusals_are_answers_and_damage_is_none() {
        assert_eq!(outcome(&reply(0x6F, 9, 0x64, &[])), Ok(Outcome::Refused(0x64)));
        let data = b"\0\0\0\0\0\0\x02\0\0\0\0\0\xB2\0\x06\0\x83\0\x08\x01\0\0";
        assert_eq!(outcome(&reply(0x6F, 9, 0, data)), Ok(Outcome::Refused(8)));
        for (octets, expected) in [
            (reply(0x66, 0, 0, &[]), Malformed::Unexpected("command")),
            (reply(0x65, 0, 0, &[1, 0, 0, 0]), Malformed::Unexpected("session")),
            (reply(0x63, 0, 0, &[0, 0]), Malformed::Unexpected("type of the item")),
            (reply(0x63, 0, 0, &[255, 255]), Malformed::Truncated),
        ] {
            assert_eq!(outcome(&octets), Err(expected));
        }
        let mut foreign = reply(0x63, 0, 0, &[0, 0]);
        foreign[14] = b'x';
        assert_eq!(answer(&foreign), Err(Malformed::Unexpected("sender context")));
    }

    /// Oracle: `OpENer` answers sixty attributes with 406 octets.
    #[test]
    fn frames_of_reads() {
        let carrier = Carrier::Tcp { timestamps: false };
        let expected = [48 + 120, 406].map(|octets| carrier.frame(octets));
        let found = exchange(60, carrier);
        assert_eq!([found.request, found.answer], expected);
        assert_eq!(attributes(ID, 7, 60).unwrap().len(), 168);
        assert!((1..=TIMES_MAX).all(|n| times(exchange(n, carrier).answer, carrier) == n));
        assert!(46 + 6 * usize::from(TIMES_MAX) <= TCP.room());
        assert_eq!(silent_octets(TCP.frame(HEADER + 700), TCP), 700);
        assert_eq!(silent_octets(Bytes::new(9_000), TCP), SILENT_MAX);
    }
}
