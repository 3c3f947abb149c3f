//! Inserts and removes IEEE 802.1Q tags (S10; R73).
//!
//! The buffer holds the frame from the destination address on, without FCS. A frame is padded
//! before it is tagged, so that removing the tag restores the same frame.

use core::fmt;

use alloc::vec::Vec;

use super::classifier::Tag;
use super::parse::{ADDRESSES, ETHERTYPE_CUSTOMER_TAG, is_tag, tag_from};

/// A frame too short for its addresses and `EtherType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TagError {
    /// Octets present; 14 are needed.
    pub len: usize,
}

impl fmt::Display for TagError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a frame of {} octets has no room for a tag", self.len)
    }
}

impl core::error::Error for TagError {}

/// Inserts a tag behind the addresses, outside of any other tag (IEEE 802.1Q-2022, 9.4).
pub fn push_tag(frame: &mut Vec<u8>, tag: Tag) -> Result<(), TagError> {
    if frame.len() < ADDRESSES + 2 {
        return Err(TagError { len: frame.len() });
    }
    let [a, b] = ETHERTYPE_CUSTOMER_TAG.to_be_bytes();
    let [c, d] = tag_octets(tag);
    frame.splice(ADDRESSES..ADDRESSES, [a, b, c, d]);
    Ok(())
}

/// Removes the outermost tag, 802.1Q or 802.1ad, and returns it.
///
/// A frame without a complete tag, or with the reserved VLAN 4095, is left unchanged.
pub fn pop_tag(frame: &mut Vec<u8>) -> Option<Tag> {
    let inner = frame.get(ADDRESSES..ADDRESSES + 6)?;
    let &[a, b, c, d, _, _] = inner else {
        return None;
    };
    if !is_tag(u16::from_be_bytes([a, b])) {
        return None;
    }
    let tag = tag_from([c, d])?;
    frame.drain(ADDRESSES..ADDRESSES + 4);
    Some(tag)
}

/// Returns the tag control information (IEEE 802.1Q-2022, 9.6).
fn tag_octets(tag: Tag) -> [u8; 2] {
    let high = u16::from(tag.pcp.get()) << 13 | u16::from(tag.dei) << 12;
    (high | tag.vid.get()).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rtether_model::network::{Pcp, Vid};

    use super::*;

    fn tag(pcp: u8, dei: bool, vid: u16) -> Tag {
        Tag { pcp: Pcp::new(pcp).unwrap(), dei, vid: Vid::new(vid).unwrap() }
    }

    #[test]
    fn octets_of_a_tag() {
        // Oracle: IEEE 802.1Q-2022, 9.6: PCP 5 = 101, DEI 1, VID 100 = 0x064: 1011 0000 0110 0100.
        let mut frame: Vec<u8> = (0..12).chain([0x08, 0x00, 0x45]).collect();
        push_tag(&mut frame, tag(5, true, 100)).unwrap();
        assert_eq!(frame[..12], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
        assert_eq!(frame[12..], [0x81, 0x00, 0xB0, 0x64, 0x08, 0x00, 0x45]);
    }

    #[test]
    fn outermost_tag_goes_first() {
        // Oracle: IEEE 802.1ad: the service tag, 0x88A8, is outside.
        let mut frame: Vec<u8> = (0..12)
            .chain([0x88, 0xA8, 0x60, 0x0A, 0x81, 0x00, 0xE0, 0x14, 0x08, 0x00, 0x45])
            .collect();
        assert_eq!(pop_tag(&mut frame), Some(tag(3, false, 10)));
        assert_eq!(pop_tag(&mut frame), Some(tag(7, false, 20)));
        assert_eq!(pop_tag(&mut frame), None);
        assert_eq!(frame[12..], [0x08, 0x00, 0x45]);
    }

    #[test]
    fn frames_without_a_whole_tag_stay() {
        // Oracle: IEEE 802.3-2022, 3.1.1: addresses and EtherType are 14 octets, a tag 4 more.
        for len in 0..14 {
            let mut short = alloc::vec![0x81; len];
            assert_eq!(push_tag(&mut short, tag(0, false, 0)), Err(TagError { len }));
            assert_eq!(pop_tag(&mut short), None);
            assert_eq!(short.len(), len);
        }
        let mut cut: Vec<u8> = (0..12).chain([0x81, 0x00, 0x20, 0x01, 0x08]).collect();
        assert_eq!(pop_tag(&mut cut), None);
        let mut reserved: Vec<u8> = (0..12).chain([0x81, 0x00, 0x2F, 0xFF, 0x08, 0x00]).collect();
        assert_eq!(pop_tag(&mut reserved), None);
        assert_eq!(reserved.len(), 18);
    }

    proptest! {
        #[test]
        fn pop_undoes_push(
            frame in proptest::collection::vec(any::<u8>(), 14..200),
            pcp in 0_u8..8,
            dei in any::<bool>(),
            vid in 0_u16..4095,
        ) {
            // Oracle: identity.
            let mut tagged = frame.clone();
            push_tag(&mut tagged, tag(pcp, dei, vid)).unwrap();
            prop_assert_eq!(tagged.len(), frame.len() + 4);
            prop_assert_eq!(pop_tag(&mut tagged), Some(tag(pcp, dei, vid)));
            prop_assert_eq!(tagged, frame);
        }
    }
}
