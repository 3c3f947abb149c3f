//! Properties of the tagger on any octets.

use etherparse::SingleVlanSlice;
use rtether_model::network::{Pcp, Vid};
use rtether_proto::endnode::{
    FrameKey, MAX_TAGS, Malformed, MalformedReason, Tag, parse, pop_tag, push_tag,
};

/// Length of both addresses.
const ADDRESSES: usize = 12;

/// Checks a case: two octets for each of two tags, one unused, and the frame.
///
/// # Panics
/// If a property is violated.
pub(crate) fn check(octets: &[u8]) {
    let Some((head, frame)) = octets.split_first_chunk::<5>() else {
        return;
    };
    let [a, b, c, d, _] = *head;
    let tags = [[a, b], [c, d]].map(tag);
    push(frame, tags);
    pop(frame);
}

/// Returns a tag from these octets; the reserved VLAN 4095 becomes 0.
fn tag([high, low]: [u8; 2]) -> Tag {
    let vid = u16::from_be_bytes([high & 0x0F, low]);
    Tag {
        pcp: Pcp::new(high >> 5).expect("three bits"),
        dei: high & 0x10 != 0,
        vid: Vid::new(vid).unwrap_or(Vid::PRIORITY_ONLY),
    }
}

fn push(frame: &[u8], tags: [Tag; 2]) {
    let mut tagged = frame.to_vec();
    for tag in tags {
        if push_tag(&mut tagged, tag).is_err() {
            assert!(frame.len() < ADDRESSES + 2);
            assert_eq!(tagged, frame, "a refused frame has changed");
            return;
        }
        assert_eq!(parse(&tagged).key.tag, Some(tag));
        let vlan = SingleVlanSlice::from_slice(&tagged[ADDRESSES + 2..]).expect("a whole tag");
        let [pcp, vid] =
            [u16::from(vlan.priority_code_point().value()), vlan.vlan_identifier().value()];
        assert_eq!((pcp, vid), (u16::from(tag.pcp.get()), tag.vid.get()));
        assert_eq!(vlan.drop_eligible_indicator(), tag.dei);
    }
    assert_eq!(tagged[..ADDRESSES], frame[..ADDRESSES]);
    assert_eq!(tagged[ADDRESSES + 8..], frame[ADDRESSES..]);
    // The last tag in is the first out.
    assert_eq!(pop_tag(&mut tagged), Some(tags[1]));
    same_but_for_the_tag(frame, &tagged, tags[0]);
    assert_eq!(pop_tag(&mut tagged), Some(tags[0]));
    assert_eq!(tagged, frame, "pop does not undo push");
}

/// A tag changes only the tag of the key, and the offset of a malformed header.
fn same_but_for_the_tag(frame: &[u8], tagged: &[u8], tag: Tag) {
    let (before, after) = (parse(frame), parse(tagged));
    let is_full =
        after.malformed.is_some_and(|malformed| malformed.reason == MalformedReason::TooManyTags);
    if is_full {
        let mut inner = frame.to_vec();
        let tags = std::iter::from_fn(|| pop_tag(&mut inner)).count();
        // One more tag may be truncated, or have the reserved VLAN.
        let rest = inner.get(ADDRESSES..ADDRESSES + 2);
        let is_begun = matches!(rest, Some([0x81, 0x00] | [0x88, 0xA8]));
        let tags = tags + usize::from(is_begun);
        assert!(tags >= MAX_TAGS, "{tags} tags are not too many");
        return;
    }
    let key = FrameKey { tag: Some(tag), ..before.key };
    let malformed =
        before.malformed.map(|malformed| Malformed { offset: malformed.offset + 4, ..malformed });
    assert_eq!((after.key, after.malformed), (key, malformed));
}

fn pop(frame: &[u8]) {
    let mut untagged = frame.to_vec();
    let Some(tag) = pop_tag(&mut untagged) else {
        assert_eq!(untagged, frame, "a frame without a tag has changed");
        assert_eq!(parse(frame).key.tag, None);
        return;
    };
    assert_eq!(parse(frame).key.tag, Some(tag));
    assert_eq!(untagged.len() + 4, frame.len());
    push_tag(&mut untagged, tag).expect("it had room for one");
    // A service tag comes back as a customer tag.
    assert_eq!(untagged[..ADDRESSES], frame[..ADDRESSES]);
    assert_eq!(untagged[ADDRESSES..ADDRESSES + 2], [0x81, 0x00]);
    assert_eq!(untagged[ADDRESSES + 2..], frame[ADDRESSES + 2..]);
}
