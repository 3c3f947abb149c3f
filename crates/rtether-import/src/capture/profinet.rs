//! The connect request of PROFINET, which states period, size and priority of cyclic data.
//!
//! Source: IEC 61158-6-10, 5.2 (blocks of the context management), over DCE RPC; periods are counted
//! in units of 31.25 us.

use std::collections::BTreeMap;

use super::frame::Mac;

/// Header of a request of DCE RPC, and the five lengths before the blocks.
const RPC: usize = 80;
const LENGTHS: usize = 20;
/// Operation that connects.
const CONNECT: u16 = 0;
/// Kinds of blocks.
const CONTROLLER: u16 = 0x0101;
const RELATION: u16 = 0x0102;
const RELATION_GRANTED: u16 = 0x8102;
/// Kinds of relations.
const INPUT: u16 = 1;
const OUTPUT: u16 = 2;
/// Unit of periods, in picoseconds.
const UNIT: i64 = 31_250_000;
/// Most relations that are kept, and blocks of one request.
const MAX_RELATIONS: usize = 2000;
const MAX_BLOCKS: usize = 256;
/// Longest name of a station.
const LONGEST: usize = 80;

/// Cyclic data of a controller and a device, one way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Relation {
    pub(super) talker: Mac,
    pub(super) listener: Mac,
    /// Identifier of its frames; none if the answer was not seen.
    pub(super) frame: Option<u16>,
    /// Picoseconds.
    pub(super) period: i64,
    /// Octets of data.
    pub(super) size: u64,
    /// Periods without data after which the connection is given up.
    pub(super) watchdog: i64,
    pub(super) pcp: u8,
    pub(super) vid: u16,
    /// Number of the packet that says so.
    pub(super) packet: u64,
}

/// Relations by controller, device and reference.
#[derive(Debug, Default)]
pub(super) struct Relations {
    known: BTreeMap<(Mac, Mac, u16), Relation>,
    /// Names of controllers.
    pub(super) names: BTreeMap<Mac, String>,
}

/// Order of numbers in the header.
fn number(octets: &[u8], at: usize, is_little: bool) -> Option<u16> {
    let pair: [u8; 2] = octets.get(at..at + 2)?.try_into().ok()?;
    Some(if is_little { u16::from_le_bytes(pair) } else { u16::from_be_bytes(pair) })
}

fn big(octets: &[u8], at: usize) -> Option<u16> {
    number(octets, at, false)
}

impl Relations {
    /// Reads a request or an answer from one station to another.
    pub(super) fn read(&mut self, octets: &[u8], from: Mac, to: Mac, packet: u64) {
        let is_little = octets.get(4).is_some_and(|order| order & 0x10 != 0);
        let operation = number(octets, 68, is_little);
        let kind = octets.get(1).copied();
        if octets.first() != Some(&4) || operation != Some(CONNECT) {
            return;
        }
        let mut rest = octets.get(RPC + LENGTHS..).unwrap_or_default();
        for _ in 0..MAX_BLOCKS {
            let (Some(block), Some(length)) = (big(rest, 0), big(rest, 2)) else {
                return;
            };
            let end = 4 + usize::from(length);
            let Some(content) = rest.get(6..end) else {
                return;
            };
            match (kind, block) {
                (Some(0), CONTROLLER) => self.controller(content),
                (Some(0), RELATION) => _ = self.requested(content, [from, to], packet),
                (Some(2), RELATION_GRANTED) => _ = self.granted(content, [to, from]),
                _ => {}
            }
            rest = rest.get(end..).unwrap_or_default();
        }
    }

    /// Reads what the controller calls itself.
    fn controller(&mut self, block: &[u8]) {
        let mac: Option<Mac> = block.get(20..26).and_then(|mac| mac.try_into().ok());
        let length = big(block, 50).map_or(0, usize::from).min(LONGEST);
        if let (Some(mac), Some(name)) = (mac, block.get(52..52 + length))
            && !name.is_empty()
            && (self.names.len() < MAX_RELATIONS || self.names.contains_key(&mac))
        {
            let name = String::from_utf8_lossy(name).into_owned();
            self.names.insert(mac, name);
        }
    }

    fn requested(
        &mut self,
        block: &[u8],
        [controller, device]: [Mac; 2],
        packet: u64,
    ) -> Option<()> {
        let [talker, listener] = match big(block, 0)? {
            INPUT => [device, controller],
            OUTPUT => [controller, device],
            _ => return None,
        };
        let units = i64::from(big(block, 14)?) * i64::from(big(block, 16)?);
        let tag = big(block, 30)?;
        let frame = big(block, 12)?;
        let relation = Relation {
            talker,
            listener,
            frame: Some(frame).filter(|frame| *frame != u16::MAX),
            period: units * UNIT,
            size: u64::from(big(block, 10)?),
            watchdog: i64::from(big(block, 26)?),
            pcp: u8::try_from(tag >> 13).ok()?,
            vid: tag & 0xfff,
            packet,
        };
        let key = (controller, device, big(block, 2)?);
        let is_known = self.known.contains_key(&key);
        if units > 0 && (is_known || self.known.len() < MAX_RELATIONS) {
            self.known.insert(key, relation);
        }
        Some(())
    }

    /// Takes the identifier that the device has chosen.
    fn granted(&mut self, block: &[u8], [controller, device]: [Mac; 2]) -> Option<()> {
        let key = (controller, device, big(block, 2)?);
        let relation = self.known.get_mut(&key)?;
        relation.frame = Some(big(block, 4)?);
        Some(())
    }

    /// Returns the relations.
    pub(super) fn all(&self) -> impl Iterator<Item = &Relation> {
        self.known.values()
    }
}
