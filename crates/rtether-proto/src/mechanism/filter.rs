//! Filter of a rule by the size of frames: the maximum SDU size of a stream filter (IEEE
//! 802.1Q-2022, 8.6.5; formerly 802.1Qci).
//!
//! A frame whose SDU has more octets than `max_sdu` is dropped (`NotPassingSDUCount` counts it), all
//! others pass (`PassingSDUCount`). If the filter blocks, the first frame that is too large sets
//! `StreamBlockedDueToOversizeFrame`: from then on every frame that the rule matches at this port is
//! dropped, whatever its size. In a switch only its management takes this back, so here it lasts to
//! the end of the run.

use rtether_model::ingress::{self, Cause};
use rtether_model::quantity::Bytes;
use rtether_model::wire::TAG;

use super::Offer;
use super::ingress::Arrival;

/// The filter of a rule at one port.
#[derive(Clone, Debug)]
pub(super) struct Filter {
    /// The largest frame that passes, without a tag.
    largest: Bytes,
    blocks: bool,
    is_blocked: bool,
}

impl Filter {
    pub(super) const fn new(config: ingress::Filter) -> Self {
        Self { largest: config.largest_frame(), blocks: config.block, is_blocked: false }
    }

    /// Takes a frame; returns what becomes of one that does not pass.
    pub(super) fn offer(&mut self, frame: &Arrival) -> Option<(Cause, Offer)> {
        if self.is_blocked {
            return Some((Cause::Blocked, Offer::Drop));
        }
        // A tag is no part of the SDU.
        let tag = if frame.key.tag.is_some() { TAG } else { Bytes::ZERO };
        if frame.size <= self.largest + tag {
            return None;
        }
        self.is_blocked = self.blocks;
        Some((Cause::Oversize, Offer::Drop))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endnode::{FrameKey, Tag};
    use crate::mechanism::ingress::Ingress;
    use rtether_model::ingress::{Exceed, IngressRule, Police};
    use rtether_model::network::{NodeId, Pcp, Vid};
    use rtether_model::quantity::{BitRate, Instant};
    use std::vec::Vec;

    /// A frame with an SDU of that many octets: behind two addresses and `EtherType`, before the FCS.
    fn frame(sdu: u64, is_tagged: bool) -> Arrival {
        let tag = is_tagged.then(|| Tag::new(Pcp::default(), Vid::DEFAULT));
        let header = if is_tagged { 6 + 6 + 4 + 2 } else { 6 + 6 + 2 };
        Arrival {
            from: NodeId(1),
            to: Some(NodeId(2)),
            pcp: Pcp::default(),
            key: FrameKey { tag, ..FrameKey::default() },
            size: Bytes::new(header + sdu + 4),
        }
    }

    /// Returns what becomes of frames with these SDUs at a rule, and its counters.
    fn offers(rule: IngressRule, sdus: &[(u64, bool)]) -> (Vec<bool>, [u64; 4]) {
        let mut port = Ingress::new(&[rule], false).expect("one rule");
        let passed = sdus
            .iter()
            .map(|&(sdu, tagged)| port.offer(Instant::ZERO, &frame(sdu, tagged)).0 == Offer::Pass);
        let passed = passed.collect();
        let counts = port.counts().next().expect("one rule");
        let [exceeded, oversize, blocked] = Cause::ALL.map(|cause| counts.of(cause));
        (passed, [counts.matched, oversize, blocked, exceeded])
    }

    fn rule(max_sdu: u64, block: bool) -> IngressRule {
        let filter = ingress::Filter { max_sdu: Bytes::new(max_sdu), block };
        IngressRule { filter: Some(filter), ..IngressRule::default() }
    }

    /// Oracle: the standard: an SDU of the maximum size passes, one octet more does not; a tag does not
    /// count. Of 1500 octets the frame has 1518, or 1522 with a tag (IEEE 802.3-2022, 3.2.7).
    #[test]
    fn the_largest_sdu_passes() {
        for (max_sdu, tagged) in [(46, false), (46, true), (1_500, false), (1_500, true)] {
            let sdus = [max_sdu - 1, max_sdu, max_sdu + 1, max_sdu].map(|sdu| (sdu, tagged));
            let found = offers(rule(max_sdu, false), &sdus);
            assert_eq!(found, ([true, true, false, true].to_vec(), [4, 1, 0, 0]));
        }
        let [untagged, tagged] =
            [frame(1_500, false), frame(1_500, true)].map(|own| own.size.get());
        assert_eq!([untagged, tagged], [1_518, 1_522]);
    }

    /// Oracle: the standard: `StreamBlockedDueToOversizeFrame` is set by the first frame that is too
    /// large, which is counted as such; what comes later is dropped whatever its size.
    #[test]
    fn a_stream_is_blocked_after_its_first_oversize_frame() {
        let sdus = [100, 101, 100, 46, 1_500].map(|sdu| (sdu, false));
        let found = offers(rule(100, true), &sdus);
        assert_eq!(found, ([true, false, false, false, false].to_vec(), [5, 1, 3, 0]));
    }

    /// Oracle: the order of 8.6.5: a frame that the filter drops takes no tokens of the meter.
    #[test]
    fn the_filter_stands_before_the_meter() {
        let police =
            Police { rate: BitRate::from_bps(8), burst: Bytes::new(118), exceed: Exceed::Drop };
        let both = IngressRule { police: Some(police), ..rule(100, false) };
        let found = offers(both, &[(101, false), (100, false), (100, false)]);
        assert_eq!(found, ([false, true, false].to_vec(), [3, 1, 0, 1]));
    }
}
