//! The Forward Open of EtherNet/IP, which states period and size of cyclic data.
//!
//! Source: CIP volume 1, 3-5.5 (connection manager), and volume 2, 2-4 (encapsulation).

use std::collections::BTreeMap;

use super::frame::Mac;

/// Command that carries requests, and the item that holds one.
const SEND_DATA: u16 = 0x006F;
const UNCONNECTED: u16 = 0x00B2;
/// Services, and the bit of an answer.
const FORWARD_OPEN: u8 = 0x54;
const LARGE_FORWARD_OPEN: u8 = 0x5B;
const ANSWER: u8 = 0x80;
/// Most connections that are kept.
const MAX_CONNECTIONS: usize = 2000;

/// Cyclic data one way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Connection {
    /// Microseconds.
    pub(super) period: u32,
    /// Periods without data after which the connection is given up.
    pub(super) timeout: i64,
    /// Number of the packet that says so.
    pub(super) packet: u64,
}

/// Connections by the number in their datagrams.
#[derive(Debug, Default)]
pub(super) struct Connections {
    pub(super) known: BTreeMap<u32, Connection>,
    /// Requests without an answer, by originator, target and serial number.
    open: BTreeMap<(Mac, Mac, u16), [Connection; 2]>,
}

fn u16_at(octets: &[u8], at: usize) -> Option<u16> {
    let octets: [u8; 2] = octets.get(at..at + 2)?.try_into().ok()?;
    Some(u16::from_le_bytes(octets))
}

fn u32_at(octets: &[u8], at: usize) -> Option<u32> {
    let octets: [u8; 4] = octets.get(at..at + 4)?.try_into().ok()?;
    Some(u32::from_le_bytes(octets))
}

impl Connections {
    /// Reads a segment from one station to another, if it begins with a message.
    pub(super) fn read(&mut self, octets: &[u8], ends: [Mac; 2], packet: u64) {
        _ = self.message(octets, ends, packet);
    }

    fn message(&mut self, octets: &[u8], [from, to]: [Mac; 2], packet: u64) -> Option<()> {
        if u16_at(octets, 0)? != SEND_DATA {
            return None;
        }
        // Header of 24 octets, handle and time-out; then an address without content, and the data.
        let items = octets.get(30..)?;
        let data = 6 + usize::from(u16_at(items, 4)?);
        if u16_at(items, data)? != UNCONNECTED {
            return None;
        }
        let request = items.get(data + 4..)?;
        match *request.first()? {
            FORWARD_OPEN => self.requested(request, [from, to], false, packet),
            LARGE_FORWARD_OPEN => self.requested(request, [from, to], true, packet),
            service if [FORWARD_OPEN, LARGE_FORWARD_OPEN].contains(&(service & !ANSWER)) => {
                self.granted(request, [to, from])
            }
            _ => None,
        }
    }

    fn requested(
        &mut self,
        request: &[u8],
        [from, to]: [Mac; 2],
        is_large: bool,
        packet: u64,
    ) -> Option<()> {
        let path = 2 + usize::from(*request.get(1)?) * 2;
        let body = request.get(path..)?;
        let serial = u16_at(body, 10)?;
        // Four times the power of two.
        let timeout = 4_i64 << (*body.get(18)?).min(7);
        let size = if is_large { 4 } else { 2 };
        let one = |at: usize| Some(Connection { period: u32_at(body, at)?, timeout, packet });
        let both = [one(22)?, one(26 + size)?];
        if self.open.len() < MAX_CONNECTIONS {
            self.open.insert((from, to, serial), both);
        }
        Some(())
    }

    /// Takes the numbers that both ends have chosen.
    fn granted(&mut self, answer: &[u8], [from, to]: [Mac; 2]) -> Option<()> {
        let is_granted = *answer.get(2)? == 0;
        let body = answer.get(4 + usize::from(*answer.get(3)?) * 2..)?;
        let serial = u16_at(body, 8)?;
        let both = self.open.remove(&(from, to, serial))?;
        for (number, connection) in [0, 4].into_iter().zip(both) {
            let number = u32_at(body, number)?;
            if is_granted && self.known.len() < MAX_CONNECTIONS && connection.period > 0 {
                self.known.insert(number, connection);
            }
        }
        Some(())
    }
}
