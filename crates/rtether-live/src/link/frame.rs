//! Ethernet frames of the meter: `EtherType` 0x88B5, reserved for experiments (IEEE 802-2014,
//! 9.2.4), with or without a tag.

use std::ops::Range;

use rtether_model::network::{Pcp, Vid};

use super::MacAddress;

/// The `EtherType` of the meter.
pub(crate) const ETHERTYPE: u16 = 0x88B5;
/// The `EtherType` of a tag.
pub(crate) const ETHERTYPE_TAG: u16 = 0x8100;
/// Octets before the payload without a tag.
pub(super) const HEADER: usize = 14;
/// Octets of a tag.
pub(super) const TAG: usize = 4;
/// Addresses, type and the smallest payload.
const FRAME_MIN: usize = 60;

/// How frames are marked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RawOptions {
    /// PCP and VLAN of the tag; `None` for no tag.
    pub tag: Option<(Pcp, Vid)>,
}

/// Writes a frame, padded to the shortest one.
pub(super) fn write(
    frame: &mut Vec<u8>,
    to: MacAddress,
    from: MacAddress,
    options: RawOptions,
    payload: &[u8],
) {
    frame.clear();
    header(frame, to, from, options.tag, ETHERTYPE);
    let shortest = frame.len() - HEADER + FRAME_MIN;
    frame.extend_from_slice(payload);
    if frame.len() < shortest {
        frame.resize(shortest, 0);
    }
}

/// Appends addresses, tag and type.
pub(crate) fn header(
    frame: &mut Vec<u8>,
    to: MacAddress,
    from: MacAddress,
    tag: Option<(Pcp, Vid)>,
    ethertype: u16,
) {
    frame.extend_from_slice(&to.0);
    frame.extend_from_slice(&from.0);
    if let Some((pcp, vid)) = tag {
        frame.extend_from_slice(&ETHERTYPE_TAG.to_be_bytes());
        let control = u16::from(pcp.get()) << 13 | vid.get();
        frame.extend_from_slice(&control.to_be_bytes());
    }
    frame.extend_from_slice(&ethertype.to_be_bytes());
}

/// Returns the range of the payload of a frame to `own`, and the source address; `None` if the
/// frame is too short, for another station, or of another type.
pub(super) fn read(frame: &[u8], own: MacAddress) -> Option<(Range<usize>, MacAddress)> {
    let &[to, from] = frame.as_chunks::<6>().0.first_chunk::<2>()?;
    let kind = |at: usize| Some(u16::from_be_bytes([*frame.get(at)?, *frame.get(at + 1)?]));
    let start = match kind(HEADER - 2)? {
        ETHERTYPE => HEADER,
        ETHERTYPE_TAG if kind(HEADER + TAG - 2)? == ETHERTYPE => HEADER + TAG,
        _ => return None,
    };
    (to == own.0).then_some((start..frame.len(), MacAddress(from)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEAR: MacAddress = MacAddress([2, 0, 0, 0, 0, 1]);
    const FAR: MacAddress = MacAddress([2, 0, 0, 0, 0, 2]);

    #[test]
    fn a_tagged_frame_by_hand() {
        let (pcp, vid) = (Pcp::new(5).unwrap(), Vid::new(0x123).unwrap());
        let tag = Some((pcp, vid));
        let mut frame = Vec::new();
        write(&mut frame, FAR, NEAR, RawOptions { tag }, &[7; 46]);
        assert_eq!(
            frame[..19],
            [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x81, 0, 0xA1, 0x23, 0x88, 0xB5, 7]
        );
        assert_eq!(frame.len(), 64);
        assert_eq!(read(&frame, FAR), Some((18..64, NEAR)));
        assert_eq!(read(&frame, NEAR), None);
    }

    #[test]
    fn short_payloads_are_padded_and_short_frames_left_out() {
        let mut frame = Vec::new();
        write(&mut frame, FAR, NEAR, RawOptions::default(), &[7]);
        assert_eq!(read(&frame, FAR), Some((14..60, NEAR)));
        for len in 0..14 {
            assert_eq!(read(&frame[..len], FAR), None);
        }
        frame[13] = 0xB6;
        assert_eq!(read(&frame, FAR), None);
    }
}
