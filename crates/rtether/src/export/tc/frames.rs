//! The longest frames of queues, and the credits of shaped ones.

use std::collections::BTreeMap;

use rtether_model::flow::Flow;
use rtether_model::network::{NodeKind, Pcp, PortId, TagHandling};
use rtether_model::quantity::{BitRate, Bytes};
use rtether_model::route::{Hop, Routing};
use rtether_model::wire::{MAX_TAGGED_FRAME, TAG, wire_size};

use crate::scenario::Scenario;

/// Octets on the wire of the longest frame that Ethernet knows, with tag, preamble and gap.
pub(super) const WHOLE: u64 = wire_size(MAX_TAGGED_FRAME).get();

/// Octets on the wire of the longest frame of each priority at each port.
pub(super) struct Longest(BTreeMap<(PortId, Pcp), u64>);

impl Longest {
    pub(super) fn of(scenario: &Scenario, routing: &Routing) -> Self {
        let mut all = Self(BTreeMap::new());
        let network = &scenario.network;
        for flow in &scenario.flows {
            for &listener in &flow.listeners {
                // Without a way, nothing of it is at any port.
                if let Ok(hops) = routing.flow_path(network, flow, listener) {
                    all.book(scenario, flow, &hops, longest(flow));
                }
                // What comes back takes the same priority, and may be as long as any frame.
                if flow.reply.is_some() || flow.is_acknowledged() {
                    let back = routing.path(network, listener, flow.talker);
                    all.book(scenario, flow, &back.unwrap_or_default(), WHOLE);
                }
            }
        }
        all
    }

    fn book(&mut self, scenario: &Scenario, flow: &Flow, hops: &[Hop], octets: u64) {
        let mut tag = flow.tag.map(|tag| tag.pcp);
        let mut priority = tag.unwrap_or_default();
        for hop in hops {
            let most = self.0.entry((hop.egress, priority)).or_default();
            *most = octets.max(*most);
            let NodeKind::Switch(switch) = &scenario.network.node(hop.ingress.node).kind else {
                continue;
            };
            let own = switch.ports.get(usize::from(hop.ingress.port));
            priority = tag.unwrap_or_else(|| own.map_or(priority, |own| own.default_pcp));
            if switch.tags == TagHandling::Strip {
                tag = None;
            }
        }
    }

    /// Returns the longest frame of a queue at a port; `None` if none passes.
    pub(super) fn at(&self, port: PortId, is_in_queue: impl Fn(Pcp) -> bool) -> Option<u64> {
        let first = (port, Pcp::default());
        let own = self.0.range(first..).take_while(|((at, _), _)| *at == port);
        let own = own.filter(|((_, pcp), _)| is_in_queue(*pcp));
        own.map(|(_, octets)| *octets).max()
    }
}

/// Returns the octets of a flow's longest frame on the wire.
fn longest(flow: &Flow) -> u64 {
    if flow.is_acknowledged() {
        return WHOLE;
    }
    let frames = flow.frames(flow.payload);
    let tag = flow.tag.map_or(Bytes::ZERO, |_| TAG);
    wire_size(frames.full.max(frames.last) + tag).get()
}

/// What `cbs` is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Credits {
    /// Kilobits per second.
    pub(super) idle: u64,
    /// Kilobits per second, below zero.
    pub(super) send: i64,
    /// Octets.
    pub(super) high: u64,
    /// Octets, zero or below.
    pub(super) low: i64,
}

/// A shaped queue: its idle slope in bit/s, and its longest frame in octets on the wire.
pub(super) type Shaped = (u64, u64);

/// Returns the credits of a shaped queue below others: `D = (B + sum L (R - I) / R) / (R - sum I)`
/// is the longest time in which it waits with a credit above zero, with the longest frame `B` of
/// the queues below and `L`, `I` of those above; the credit then reaches `I D`, and falls to
/// `-L (R - I) / R` behind a frame of its own. The proof is that of our bounds.
///
/// `front` is what goes first without a shaper: octets, or `None` if that has no limit.
pub(super) fn credits(rate: BitRate, own: Shaped, above: &[Shaped], front: Option<u64>) -> Credits {
    let rate = u128::from(rate.as_bps()).max(1);
    let (idle, length) = (u128::from(own.0).min(rate), u128::from(own.1));
    let debts = above.iter().map(|&(slope, length)| {
        let left = rate.saturating_sub(u128::from(slope));
        (u128::from(length) * left).div_ceil(rate)
    });
    let shared: u128 = above.iter().map(|&(slope, _)| u128::from(slope)).sum();
    let waits = u128::from(WHOLE) + debts.sum::<u128>();
    let left = rate.saturating_sub(shared).max(1);
    let narrow = |value: u128| u64::try_from(value).unwrap_or(u64::MAX);
    let high = front.map_or(u64::from(u32::MAX >> 1), |_| narrow((waits * idle).div_ceil(left)));
    let low = (length * (rate - idle)).div_ceil(rate);
    let kilobits = narrow(idle.div_ceil(1_000));
    let whole = narrow(rate / 1_000);
    Credits {
        idle: kilobits,
        send: i64::try_from(kilobits).unwrap_or(0) - i64::try_from(whole).unwrap_or(0),
        high,
        low: -i64::try_from(low).unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Oracle: the example of tc-cbs(8) turned round, by hand. 20 Mbit/s of 100, own frames of 1542
    /// octets, nothing above: high 1542 x 20 / 100 = 308.4, low -1542 x 80 / 100 = -1233.6. Below
    /// it 10 Mbit/s with frames of 500 octets: (1542 + 1233.6) x 10 / 80 = 347, low -450.
    #[test]
    fn credits_are_what_queues_may_wait_for() {
        let rate = BitRate::from_bps(100_000_000);
        let first = credits(rate, (20_000_000, 1_542), &[], Some(0));
        let expected = Credits { idle: 20_000, send: -80_000, high: 309, low: -1_234 };
        assert_eq!(first, expected);
        let second = credits(rate, (10_000_000, 500), &[(20_000_000, 1_542)], Some(0));
        let expected = Credits { idle: 10_000, send: -90_000, high: 347, low: -450 };
        assert_eq!(second, expected);
    }
}
