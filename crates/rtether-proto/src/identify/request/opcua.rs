//! OPC UA over TCP, port 4840: a hello, a channel without security, and a question for servers, which
//! needs no session.
//!
//! Source: OPC 10000-6, 7.1 (messages of the connection), 6.7.2 (chunks), 5.2 (encoding) and annex A.3
//! (numbers of types); OPC 10000-4, 5.5.2 (`FindServers`) and 7.32 (request header). Numbers are
//! little-endian. A request is as long as its audit entry, a text that servers may log.

use alloc::string::String;
use alloc::vec::Vec;

use rtether_model::quantity::Bytes;

use super::answer::{Answer, Channel, Malformed, Outcome, append};
use super::carrier::Carrier;
use super::cursor::{Cursor, expect};

/// The bits of a packet's name in a request: all, as its request identifier.
pub const TOKEN: u32 = u32::MAX;
/// The longest chunk that an answer may have, which the hello states: the least that a server may be
/// asked for.
pub const CHUNK_MAX: usize = 8_192;

const POLICY: &[u8] = b"http://opcfoundation.org/UA/SecurityPolicy#None";
/// Numbers of types in their binary encoding.
const OPEN: u16 = 446;
const OPENED: u16 = 449;
const FIND_SERVERS: u16 = 422;
const SERVERS: u16 = 425;
const FAULT: u16 = 397;
/// A text or a list that is not there.
const NONE: [u8; 4] = [0xFF; 4];
/// Milliseconds for which the channel is wished: the series of a measurement and more.
const LIFETIME: u32 = 3_600_000;
/// Octets of a question for servers without address and audit entry.
const BARE: usize = 24 + 4 + 29 + 4 + 4 + 4;
/// Where the sequence number is in a message of a channel.
const SEQUENCE: core::ops::Range<usize> = 16..20;

/// Numbers the messages of a channel: each has the next number, whatever it asks.
#[derive(Clone, Copy, Debug)]
pub struct Numbers {
    next: u32,
}

impl Default for Numbers {
    /// The message that opens the channel has the first.
    fn default() -> Self {
        Self { next: 2 }
    }
}

impl Numbers {
    /// Numbers a message; what comes before the channel has no number to set.
    pub fn stamp(&mut self, message: &mut [u8]) {
        let is_numbered = message.starts_with(b"MSG");
        if let Some(place) = message.get_mut(SEQUENCE).filter(|_| is_numbered) {
            place.copy_from_slice(&self.next.to_le_bytes());
            self.next = self.next.wrapping_add(1);
        }
    }
}

/// Builds the first message of a connection.
pub fn hello(url: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    body.extend([0; 4]);
    let [a, b, c, d, ..] = CHUNK_MAX.to_le_bytes();
    body.extend([a, b, c, d, a, b, c, d]);
    // No limit of messages and chunks.
    body.extend([0; 8]);
    text(&mut body, url);
    chunk(*b"HEL", &body)
}

/// Builds the request for a channel without security.
pub fn open() -> Vec<u8> {
    let mut body = Vec::new();
    body.extend([0; 4]);
    text(&mut body, POLICY);
    // Neither certificate; sequence number and request.
    body.extend([NONE, NONE, [1, 0, 0, 0], [1, 0, 0, 0]].concat());
    header(&mut body, OPEN, 1, &[]);
    // Version of the protocol, a new channel, without security, without a random number.
    body.extend([[0; 4], [0; 4], [1, 0, 0, 0], NONE, LIFETIME.to_le_bytes()].concat());
    chunk(*b"OPN", &body)
}

/// Builds a question for the servers at an address; the audit entry has this many octets.
pub fn find_servers(id: u32, channel: Channel, url: &[u8], entry: usize) -> Vec<u8> {
    let mut body = Vec::new();
    body.extend(channel.id.to_le_bytes());
    body.extend(channel.token.to_le_bytes());
    // The number is set when it is sent.
    body.extend([0; 4]);
    body.extend(id.to_le_bytes());
    header(&mut body, FIND_SERVERS, id, &alloc::vec![b'r'; entry]);
    text(&mut body, url);
    // In any language, any servers.
    body.extend([NONE, NONE].concat());
    chunk(*b"MSG", &body)
}

/// Returns the frame of a question without an audit entry.
pub fn smallest(url: usize, carrier: Carrier) -> Bytes {
    carrier.frame(BARE + url)
}

/// Returns how many octets of an audit entry make a frame of this size.
pub fn entry(request: Bytes, url: usize, carrier: Carrier) -> usize {
    let more = request.get().saturating_sub(smallest(url, carrier).get());
    usize::try_from(more).map_or(0, |more| more.min(carrier.room().saturating_sub(BARE + url)))
}

fn chunk(kind: [u8; 3], body: &[u8]) -> Vec<u8> {
    let [a, b, c, d, ..] = (8 + body.len()).to_le_bytes();
    // A whole message.
    let mut all = Vec::from([kind[0], kind[1], kind[2], b'F', a, b, c, d]);
    all.extend(body);
    all
}

fn text(out: &mut Vec<u8>, octets: &[u8]) {
    let [a, b, c, d, ..] = octets.len().to_le_bytes();
    out.extend([a, b, c, d]);
    out.extend(octets);
}

/// Appends the type of a request and its header: without a session, at no time, with a handle, without
/// diagnostics, with an audit entry, without a limit of time.
fn header(out: &mut Vec<u8>, of: u16, handle: u32, entry: &[u8]) {
    let [low, high] = of.to_le_bytes();
    out.extend([1, 0, low, high, 0, 0]);
    out.extend([0; 8]);
    out.extend(handle.to_le_bytes());
    out.extend([0; 4]);
    if entry.is_empty() {
        out.extend(NONE);
    } else {
        text(out, entry);
    }
    out.extend([0; 4]);
    out.extend([0; 3]);
}

/// Reads an answer. Refused are an error of the connection and the status of a service.
pub fn answer(octets: &[u8]) -> Result<Answer, Malformed> {
    let mut cursor = Cursor::new(octets);
    let kind: [u8; 3] = cursor.array()?;
    let [end] = cursor.array()?;
    let length = u32::from_le_bytes(cursor.array()?);
    let length = usize::try_from(length).map_err(|_| Malformed::Truncated)?;
    expect(end == b'F', "kind of chunk")?;
    let mut body = cursor.last(length.checked_sub(8).ok_or(Malformed::Truncated)?)?;
    let (token, outcome) = match &kind {
        b"ACK" => {
            body.last(20)?;
            (0, Outcome::Done)
        }
        b"ERR" => {
            let status = u32::from_le_bytes(body.array()?);
            string(&mut body)?;
            body.end()?;
            (0, Outcome::Refused(status))
        }
        b"OPN" => opened(body)?,
        b"MSG" => {
            // Channel, token, number.
            body.take(12)?;
            let token = u32::from_le_bytes(body.array()?);
            (token, service(body)?)
        }
        _ => return Err(Malformed::Unexpected("kind of message")),
    };
    Ok(Answer { token, octets: octets.len(), outcome })
}

/// Reads the answer to [`open`].
fn opened(mut body: Cursor<'_>) -> Result<(u32, Outcome), Malformed> {
    body.take(4)?;
    // The policy and the certificates.
    for _ in 0..3 {
        string(&mut body)?;
    }
    body.take(4)?;
    let token = u32::from_le_bytes(body.array()?);
    let (of, status) = response(&mut body)?;
    if status != 0 || of == FAULT {
        return Ok((token, Outcome::Refused(status)));
    }
    expect(of == OPENED, "type of the answer")?;
    body.take(4)?;
    let channel = u32::from_le_bytes(body.array()?);
    let own = u32::from_le_bytes(body.array()?);
    // When it was made, and how long it lives.
    body.take(12)?;
    string(&mut body)?;
    body.end()?;
    Ok((token, Outcome::Channel(Channel { id: channel, token: own })))
}

/// Reads what a service answers.
fn service(mut body: Cursor<'_>) -> Result<Outcome, Malformed> {
    let (of, status) = response(&mut body)?;
    if status != 0 || of == FAULT {
        return Ok(Outcome::Refused(status));
    }
    expect(of == SERVERS, "type of the answer")?;
    let servers = u32::from_le_bytes(body.array()?);
    // Minus one, or none: it says nothing of itself.
    if servers == 0 || servers == u32::MAX {
        body.end()?;
        return Ok(Outcome::Identity(String::new()));
    }
    let mut found = String::new();
    string(&mut body)?;
    let product = string(&mut body)?;
    // The name, in a language.
    let [parts] = body.array()?;
    if parts & 1 != 0 {
        string(&mut body)?;
    }
    if parts & 2 != 0 {
        append(&mut found, string(&mut body)?);
    }
    append(&mut found, product);
    // What follows says where it is, and which others are there.
    Ok(Outcome::Identity(found))
}

/// Reads the type of an answer and its header; returns the type and the status.
fn response(body: &mut Cursor<'_>) -> Result<(u16, u32), Malformed> {
    let [form, namespace] = body.array()?;
    expect((form, namespace) == (1, 0), "form of the type")?;
    let of = u16::from_le_bytes(body.array()?);
    // Time and handle.
    body.take(12)?;
    let status = u32::from_le_bytes(body.array()?);
    let [diagnostics] = body.array()?;
    expect(diagnostics == 0, "diagnostics")?;
    let texts = u32::from_le_bytes(body.array()?);
    for _ in 0..if texts == u32::MAX { 0 } else { texts } {
        string(body)?;
    }
    let header: [u8; 3] = body.array()?;
    expect(header == [0; 3], "header")?;
    Ok((of, status))
}

/// Reads a text; one that is not there is empty.
fn string<'a>(body: &mut Cursor<'a>) -> Result<&'a [u8], Malformed> {
    let length = u32::from_le_bytes(body.array()?);
    if length == u32::MAX {
        return Ok(&[]);
    }
    body.take(usize::try_from(length).map_err(|_| Malformed::Truncated)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const URL: &[u8] = b"opc.tcp://127.0.0.1:14840";

    /// Oracle: OPC 10000-6 by hand; asyncua 2.1.0 answers these octets.
    #[test]
    fn requests_by_hand() {
        let hello = hello(URL);
        assert_eq!(hello[..12], *b"HELF\x39\0\0\0\0\0\0\0");
        assert_eq!(hello[12..20], [0, 0x20, 0, 0, 0, 0x20, 0, 0]);
        assert_eq!((hello.len(), &hello[32..]), (32 + URL.len(), URL));
        let open = open();
        assert_eq!((open.len(), &open[..8]), (132, &b"OPNF\x84\0\0\0"[..]));
        assert_eq!(open[63..71], [0xFF; 8]);
        let mut asked = find_servers(7, Channel { id: 6, token: 13 }, URL, 0);
        let mut numbers = Numbers::default();
        for number in 2..4 {
            numbers.stamp(&mut asked);
            let head = [6, 0, 0, 0, 13, 0, 0, 0, number, 0, 0, 0, 7, 0, 0, 0, 1, 0, 0xA6, 1];
            assert_eq!(asked[8..28], head);
        }
        let mut first = super::hello(URL);
        numbers.stamp(&mut first);
        assert_eq!(first, hello);
        let carrier = Carrier::Tcp { timestamps: true };
        assert_eq!(smallest(URL.len(), carrier), carrier.frame(asked.len()));
        let frame = Bytes::new(1_000);
        let entry = entry(frame, URL.len(), carrier);
        let asked = find_servers(7, Channel::default(), URL, entry);
        assert_eq!(carrier.frame(asked.len()), frame);
    }

    /// Oracle: what asyncua 2.1.0 answers.
    #[test]
    fn answers_of_a_server() {
        let acknowledge = b"ACKF\x1c\0\0\0\0\0\0\0\0 \0\0\0 \0\0\0\0@\x06A\x06\0\0";
        assert_eq!(answer(acknowledge).map(|own| own.outcome), Ok(Outcome::Done));
        let head = b"OPNF\x87\0\0\0\x06\0\0\0/\0\0\0";
        let rest = b"\xff\xff\xff\xff\xff\xff\xff\xff\x01\0\0\0\x01\0\0\0\x01\0\xc1\x01\
            $--\x80\n\x81\xdd\x01\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x06\0\0\0\r\0\0\0\
            \xd4,-\x80\n\x81\xdd\x01\x80\xee6\0\0\0\0\0";
        let opened = answer(&[&head[..], POLICY, rest].concat()).map(|own| own.outcome);
        assert_eq!(opened, Ok(Outcome::Channel(Channel { id: 6, token: 13 })));
        let server = b"MSGF\xba\0\0\0\x06\0\0\0\r\0\0\0\x06\0\0\0\x09\0\0\0\x01\0\xa9\x01\
            >5.\x80\n\x81\xdd\x01\x09\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\0\0\0\
            \x1b\0\0\0urn:freeopcua:python:server\
            %\0\0\0urn:freeopcua.github.io:python:server\x02\x07\0\0\0ACME P1\x02\0\0\0\
            \xff\xff\xff\xff\xff\xff\xff\xff\x01\0\0\0\x1a\0\0\0opc.tcp://127.0.0.1:14840/";
        let found = answer(server).unwrap();
        assert_eq!((found.token, found.octets), (9, 186));
        let said = "ACME P1 urn:freeopcua.github.io:python:server";
        assert_eq!(found.outcome, Outcome::Identity(said.into()));
    }

    /// Oracle: OPC 10000-6, 7.1.2.5, by hand: the status of an error, and of a fault.
    #[test]
    fn refusals_are_answers() {
        let error = b"ERRF\x12\0\0\0\0\0\x7d\x80\x02\0\0\0no";
        assert_eq!(answer(error).map(|own| own.outcome), Ok(Outcome::Refused(0x807D_0000)));
        let kinds = [(b"CLOF\x08\0\0\0", "kind of message"), (b"MSGC\x08\0\0\0", "kind of chunk")];
        for (octets, field) in kinds {
            assert_eq!(answer(octets), Err(Malformed::Unexpected(field)));
        }
        assert_eq!(answer(b"MSGF\x04\0\0\0"), Err(Malformed::Truncated));
    }
}
