//! Frame fields that the emulator reads and writes: addresses, tags, lengths, collision reports.

use std::collections::BTreeMap;

use rtether_model::network::{NodeId, Pcp, Vid};
use rtether_model::quantity::{Bytes, Duration};
use rtether_model::wire::{FCS, MIN_FRAME};
use rtether_sim::emulation::Destination;

use crate::link::MacAddress;

/// Why a frame did not enter the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Discard {
    Short,
    Long,
    Unknown,
    Tag,
}

/// Two addresses and a type.
const HEADER: usize = 14;
const ADDRESSES: usize = 12;
/// Header and the longest payload; packet sockets omit the frame check sequence.
const LENGTH_MAX: usize = HEADER + 1_500;
const ETHERTYPE_TAG: u16 = 0x8100;

/// `EtherType` of collision reports: local experimental 2 (IEEE 802-2014, 9.2.4).
pub const COLLISION_ETHERTYPE: u16 = 0x88B6;
/// Source address of collision reports, locally administered; no host has it.
const REPORTER: [u8; 6] = [0x02, 0x00, 0x00, 0x00, 0x88, 0xB6];
/// First octet of a report's payload.
const REPORT_VERSION: u8 = 1;
const REPORT_LENGTH: usize = 60;
/// Flags in the second octet.
const COMPLETION: u8 = 1;
const GIVEN_UP: u8 = 2;

/// Tells a host how many of its transmissions have collided.
///
/// The payload: octet 0 the version, which is 1; octets 1 to 3 zero; octets 4 to 11 the number of
/// collisions so far, most significant octet first; then padding to the shortest frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CollisionReport {
    /// Collisions of the station since the start of the emulator.
    pub collisions: u64,
}

impl CollisionReport {
    /// Parses a frame without check sequence; `None` if it is not a report. A completion report
    /// also parses as a collision report.
    pub fn parse(frame: &[u8]) -> Option<Self> {
        Some(Self { collisions: number(report(frame)?, 4)? })
    }

    pub(super) fn frame(self, to: MacAddress) -> [u8; REPORT_LENGTH] {
        let mut frame = [0; REPORT_LENGTH];
        frame[..6].copy_from_slice(&to.0);
        frame[6..ADDRESSES].copy_from_slice(&REPORTER);
        frame[ADDRESSES..HEADER].copy_from_slice(&COLLISION_ETHERTYPE.to_be_bytes());
        frame[HEADER] = REPORT_VERSION;
        put(&mut frame, 4, &self.collisions.to_be_bytes());
        frame
    }
}

/// Tells a host that one of its frames was sent or given up, as a network card does by an
/// interrupt.
///
/// The payload is that of a [`CollisionReport`] except for octet 1, which is 1 for a frame that was
/// sent and 3 for one given up, and for what follows octet 11: octets 12 to 19 the number of frames
/// sent or given up so far, 20 to 23 the attempts of the last of them, 24 to 31 the time in
/// nanoseconds from the start of its last attempt to this report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompletionReport {
    /// Collisions of the station since the start of the emulator.
    pub collisions: u64,
    /// Frames of the station sent or given up, including this one.
    pub completed: u64,
    /// Transmissions of this frame: 1 without collision, 0 if it did not enter the network.
    pub attempts: u32,
    /// Time since the last of them started; whole nanoseconds on the wire.
    pub since_attempt: Duration,
    /// The frame was lost.
    pub is_given_up: bool,
}

impl CompletionReport {
    /// Parses a frame without check sequence; `None` if it is not such a report.
    pub fn parse(frame: &[u8]) -> Option<Self> {
        let payload = report(frame)?;
        let flags = *payload.get(1)?;
        let attempts = *payload.get(20..24)?.first_chunk()?;
        let ns = i64::try_from(number(payload, 24)?).ok()?;
        let this = Self {
            collisions: number(payload, 4)?,
            completed: number(payload, 12)?,
            attempts: u32::from_be_bytes(attempts),
            since_attempt: Duration::from_ps(ns.checked_mul(1_000)?),
            is_given_up: flags & GIVEN_UP != 0,
        };
        (flags & COMPLETION != 0).then_some(this)
    }

    pub(super) fn frame(self, to: MacAddress) -> [u8; REPORT_LENGTH] {
        let collisions = self.collisions;
        let mut frame = CollisionReport { collisions }.frame(to);
        let given_up = if self.is_given_up { GIVEN_UP } else { 0 };
        put(&mut frame, 1, &[COMPLETION | given_up]);
        put(&mut frame, 12, &self.completed.to_be_bytes());
        put(&mut frame, 20, &self.attempts.to_be_bytes());
        let ns = u64::try_from(self.since_attempt.as_ns_floor()).unwrap_or(0);
        put(&mut frame, 24, &ns.to_be_bytes());
        frame
    }
}

/// Returns the payload of a report.
fn report(frame: &[u8]) -> Option<&[u8]> {
    let payload = frame.get(HEADER..)?;
    let is_report = frame[ADDRESSES..HEADER] == COLLISION_ETHERTYPE.to_be_bytes()
        && payload.first() == Some(&REPORT_VERSION);
    is_report.then_some(payload)
}

fn number(payload: &[u8], at: usize) -> Option<u64> {
    let octets = payload.get(at..)?.first_chunk()?;
    Some(u64::from_be_bytes(*octets))
}

fn put(frame: &mut [u8; REPORT_LENGTH], at: usize, octets: &[u8]) {
    frame[HEADER + at..HEADER + at + octets.len()].copy_from_slice(octets);
}

pub(super) const fn is_group(address: [u8; 6]) -> bool {
    address[0] & 1 != 0
}

/// Returns the destination of a frame that starts with `octets`.
pub(super) fn destination(
    octets: &[u8],
    length: usize,
    stations: &BTreeMap<[u8; 6], NodeId>,
    floods: bool,
) -> Result<Destination, Discard> {
    if length < HEADER {
        return Err(Discard::Short);
    }
    if length > LENGTH_MAX {
        return Err(Discard::Long);
    }
    let address = *octets.first_chunk().ok_or(Discard::Short)?;
    if is_group(address) {
        return Ok(Destination::All);
    }
    match stations.get(&address) {
        Some(&station) => Ok(Destination::One(station)),
        None if floods => Ok(Destination::All),
        None => Err(Discard::Unknown),
    }
}

/// Reads tag control information (IEEE 802.1Q-2022, 9.6); the drop-eligible indicator is ignored,
/// since no switch here uses it.
pub(super) fn tag(control: Option<u16>) -> Result<Option<(Pcp, Vid)>, Discard> {
    let Some(control) = control else {
        return Ok(None);
    };
    let [high, _] = control.to_be_bytes();
    let pcp = Pcp::new(high >> 5).ok_or(Discard::Tag)?;
    let vid = Vid::new(control & 0x0FFF).ok_or(Discard::Tag)?;
    Ok(Some((pcp, vid)))
}

/// Returns the frame size without tag: padded, with check sequence.
pub(super) fn size(length: usize) -> Bytes {
    MIN_FRAME.max(Bytes::new(length as u64) + FCS)
}

/// Returns the octets of a frame as sent: unchanged, or a copy with a tag.
pub(super) fn with_tag<'a>(
    frame: &'a [u8],
    tag: Option<(Pcp, Vid)>,
    copy: &'a mut [u8],
) -> &'a [u8] {
    let Some((pcp, vid)) = tag else {
        return frame;
    };
    let control = u16::from(pcp.get()) << 13 | vid.get();
    let [after, end] = [ADDRESSES + 4, frame.len() + 4];
    copy[..ADDRESSES].copy_from_slice(&frame[..ADDRESSES]);
    copy[ADDRESSES..ADDRESSES + 2].copy_from_slice(&ETHERTYPE_TAG.to_be_bytes());
    copy[ADDRESSES + 2..after].copy_from_slice(&control.to_be_bytes());
    copy[after..end].copy_from_slice(&frame[ADDRESSES..]);
    &copy[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_read_and_written() {
        // Oracle: PCP 5, DEI 1, VID 0x123 by hand; 4095 is reserved.
        let tag = tag(Some(0b1011_0001_0010_0011)).unwrap();
        assert_eq!(tag, Some((Pcp::new(5).unwrap(), Vid::new(0x123).unwrap())));
        assert_eq!(super::tag(Some(0x0FFF)), Err(Discard::Tag));
        assert_eq!(super::tag(None), Ok(None));
        let frame: Vec<u8> = (0..20).collect();
        let mut copy = [0; 64];
        let sent = with_tag(&frame, tag, &mut copy);
        let expected = [&frame[..12], &[0x81, 0x00, 0xA1, 0x23], &frame[12..]].concat();
        assert_eq!(sent, expected);
        assert_eq!(with_tag(&frame, None, &mut copy), frame);
    }

    #[test]
    fn destinations_by_hand() {
        let own = [2, 0, 0, 0, 0, 7];
        let stations = BTreeMap::from([(own, NodeId(3))]);
        let mut octets = [0; 64];
        let find = |octets: &[u8], length, floods| destination(octets, length, &stations, floods);
        octets[..6].copy_from_slice(&own);
        assert_eq!(find(&octets, 60, false), Ok(Destination::One(NodeId(3))));
        assert_eq!(find(&octets, 13, false), Err(Discard::Short));
        assert_eq!(find(&octets, 1_514, false), Ok(Destination::One(NodeId(3))));
        assert_eq!(find(&octets, 1_515, false), Err(Discard::Long));
        octets[5] = 8;
        assert_eq!(find(&octets, 60, false), Err(Discard::Unknown));
        assert_eq!(find(&octets, 60, true), Ok(Destination::All));
        octets[0] = 0x33;
        assert_eq!(find(&octets, 60, false), Ok(Destination::All));
        // 42 octets of an ARP request are padded; 1514 with the check sequence are 1518.
        assert_eq!(
            [size(42).get(), size(60).get(), size(61).get(), size(1_514).get()],
            [64, 64, 65, 1_518]
        );
    }

    #[test]
    fn collision_reports_are_read_and_written() {
        let report = CollisionReport { collisions: 0x0102_0304_0506_0708 };
        let frame = report.frame(MacAddress([2, 0, 0, 0, 0, 7]));
        assert_eq!(frame[12..26], [0x88, 0xB6, 1, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(CollisionReport::parse(&frame), Some(report));
        for length in 0..26 {
            assert_eq!(CollisionReport::parse(&frame[..length]), None);
        }
        let mut other = frame;
        other[13] = 0xB5;
        assert_eq!(CollisionReport::parse(&other), None);
        assert_eq!(CompletionReport::parse(&frame), None);
    }

    #[test]
    fn completion_reports_are_read_and_written() {
        // Oracle: by hand; 1.230 ms are 1 230 000 ns, 0x12_C4B0.
        let report = CompletionReport {
            collisions: 7,
            completed: 0x0102_0304_0506_0708,
            attempts: 16,
            since_attempt: Duration::from_us(1_230),
            is_given_up: true,
        };
        let frame = report.frame(MacAddress([2, 0, 0, 0, 0, 7]));
        assert_eq!(frame[12..26], [0x88, 0xB6, 1, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7]);
        assert_eq!(frame[26..38], [1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 16]);
        assert_eq!(frame[38..46], [0, 0, 0, 0, 0, 0x12, 0xC4, 0xB0]);
        assert_eq!(CompletionReport::parse(&frame), Some(report));
        let collisions = CollisionReport::parse(&frame).unwrap();
        assert_eq!(collisions, CollisionReport { collisions: 7 });
        for length in 0..46 {
            assert_eq!(CompletionReport::parse(&frame[..length]), None);
        }
        let mut endless = frame;
        endless[38] = 0xFF;
        assert_eq!(CompletionReport::parse(&endless), None);
    }
}
