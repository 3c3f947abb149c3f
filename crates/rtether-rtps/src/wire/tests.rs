//! RTPS messages against the layouts of the standard.

use std::vec::Vec;

use proptest::prelude::*;

use super::*;
use crate::guid::EntityId;
use crate::sequence::{NumberSet, SequenceNumber};
use crate::time::{Duration, WallTime};

const PREFIX: GuidPrefix = GuidPrefix([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
const READER: EntityId = EntityId([0, 0, 1, 7]);
const WRITER: EntityId = EntityId([0, 0, 2, 2]);

/// Prefixes submessages with a message header.
fn message(submessages: &[u8]) -> Vec<u8> {
    let mut octets = b"RTPS\x02\x05\x01\xFE".to_vec();
    octets.extend_from_slice(&PREFIX.0);
    octets.extend_from_slice(submessages);
    octets
}

/// Prefixes content with a submessage header.
fn part(kind: u8, flags: u8, body: &[u8]) -> Vec<u8> {
    let len = u16::try_from(body.len()).unwrap();
    let len = if flags & 1 == 1 { len.to_le_bytes() } else { len.to_be_bytes() };
    let mut octets = std::vec![kind, flags, len[0], len[1]];
    octets.extend_from_slice(body);
    octets
}

/// Concatenates octets.
fn join(parts: &[&[u8]]) -> Vec<u8> {
    parts.concat()
}

/// Submessages of a message as text: they hold slices and compare by octets.
fn read(octets: &[u8]) -> Vec<Result<std::string::String, Malformed>> {
    let parts = parse(octets).unwrap().submessages();
    parts.map(|part| part.map(|part| std::format!("{part:?}"))).collect()
}

/// Returns the only submessage of a message.
fn only(octets: &[u8]) -> Result<Submessage<'_>, Malformed> {
    let mut parts = parse(octets).unwrap().submessages();
    let first = parts.next().unwrap();
    assert!(parts.next().is_none());
    first
}

/// Error of a big-endian message with one submessage.
fn error(kind: u8, flags: u8, body: &[u8]) -> Malformed {
    only(&message(&part(kind, flags, body))).unwrap_err()
}

mod by_hand;
mod hostile;
mod round_trip;
