//! Rules of a switch port for frames that arrive: marking and policing (catalogue R44).
//!
//! The first rule that matches decides, as in end nodes ([`crate::endnode::Classifier`]), whose
//! header conditions these are. A frame that a switch cannot look into, such as ICMP in some, passes
//! as it is ([`Ingress::new`]).
//!
//! A rule is a stream filter of IEEE 802.1Q-2022, 8.6.5: one match, then its steps in order
//! (`RuleStep`), each of which may stop the frame. Marks are for frames that pass all of them.

use alloc::vec::Vec;

use rtether_model::ingress::{Cause, IngressRule, RuleCounts};
use rtether_model::network::{NodeId, Pcp};
use rtether_model::quantity::{Bytes, Instant};

use super::{Marks, Offer, RuleStep};
use crate::endnode::{Classifier, ConfigError, FrameKey, matches};

/// Largest number of rules of a port.
pub const MAX_RULES: usize = Classifier::MAX_RULES;

/// A frame that arrives.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// Sending station.
    pub from: NodeId,
    /// Receiving station; `None` for a group.
    pub to: Option<NodeId>,
    /// Priority on arrival.
    pub pcp: Pcp,
    /// Header fields.
    pub key: FrameKey,
    /// Octets from addresses to FCS, tag included.
    pub size: Bytes,
}

impl Marks {
    /// Returns a new priority.
    pub const fn priority(pcp: Pcp) -> Self {
        Self { pcp: Some(pcp), dscp: None }
    }

    /// Returns those of a rule.
    const fn of(rule: &IngressRule) -> Self {
        Self { pcp: rule.mark, dscp: rule.mark_dscp }
    }
}

/// The rules of one port.
#[derive(Clone, Debug)]
pub struct Ingress {
    rules: Vec<Rule>,
    icmp_unclassified: bool,
}

#[derive(Clone, Debug)]
struct Rule {
    config: IngressRule,
    steps: Vec<RuleStep>,
    counts: RuleCounts,
}

impl Ingress {
    /// Creates the rules of a port, whose buckets are full. With `icmp_unclassified` they overlook
    /// ICMP and `ICMPv6`.
    ///
    /// # Errors
    /// If there are more than [`MAX_RULES`].
    pub fn new(rules: &[IngressRule], icmp_unclassified: bool) -> Result<Self, ConfigError> {
        if rules.len() > MAX_RULES {
            return Err(ConfigError::TooManyRules { found: rules.len() });
        }
        let rules = rules.iter().map(|config| Rule {
            config: config.clone(),
            steps: RuleStep::all_of(config),
            counts: RuleCounts::default(),
        });
        Ok(Self { rules: rules.collect(), icmp_unclassified })
    }

    /// Decides on a frame that arrives at `now`, which never decreases; returns also why, if a rule
    /// stops it or demotes it.
    pub fn offer(&mut self, now: Instant, frame: &Arrival) -> (Offer, Option<Cause>) {
        if self.icmp_unclassified && frame.key.is_icmp() {
            return (Offer::Pass, None);
        }
        let Some(rule) = self.rules.iter_mut().find(|rule| rule.fits(frame)) else {
            return (Offer::Pass, None);
        };
        rule.counts.matched += 1;
        if let Some((cause, offer)) = rule.steps.iter_mut().find_map(|own| own.offer(now, frame)) {
            rule.counts.note(cause);
            return (offer, Some(cause));
        }
        let offer = match Marks::of(&rule.config) {
            Marks { pcp: None, dscp: None } => Offer::Pass,
            marks => Offer::Mark(marks),
        };
        (offer, None)
    }

    /// Returns the counters of the rules, in their order.
    pub fn counts(&self) -> impl Iterator<Item = RuleCounts> + '_ {
        self.rules.iter().map(|rule| rule.counts)
    }
}

impl Rule {
    fn fits(&self, frame: &Arrival) -> bool {
        let Self { config, .. } = self;
        let is_among = |stations: &[NodeId], own: Option<NodeId>| {
            stations.is_empty() || own.is_some_and(|own| stations.contains(&own))
        };
        config.pcp.is_none_or(|pcp| pcp == frame.pcp)
            && is_among(&config.from, Some(frame.from))
            && is_among(&config.to, frame.to)
            && matches(&config.headers, &frame.key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rtether_model::endnode::{HeaderMatch, PortRange, TosMatch};
    use rtether_model::ingress::{Exceed, Police};
    use rtether_model::quantity::{BitRate, Duration};
    use std::vec;

    fn pcp(value: u8) -> Pcp {
        Pcp::new(value).unwrap()
    }

    fn marked(value: u8) -> Offer {
        Offer::Mark(Marks::priority(pcp(value)))
    }

    fn frame(size: u64) -> Arrival {
        Arrival {
            from: NodeId(1),
            to: Some(NodeId(2)),
            pcp: pcp(3),
            key: FrameKey {
                ethertype: Some(0x0800),
                tos: Some(46 << 2),
                protocol: Some(17),
                destination_port: Some(5000),
                ..FrameKey::default()
            },
            size: Bytes::new(size),
        }
    }

    fn offer(port: &mut Ingress, now: Instant, frame: &Arrival) -> Offer {
        port.offer(now, frame).0
    }

    fn policed(rate: u64, burst: u64, exceed: Exceed) -> IngressRule {
        IngressRule {
            police: Some(Police {
                rate: BitRate::from_bps(rate),
                burst: Bytes::new(burst),
                exceed,
            }),
            ..IngressRule::default()
        }
    }

    fn at(ps: i64) -> Instant {
        Instant::from_ps(ps)
    }

    /// Oracle: by hand. 8 Mbit/s are an octet each microsecond; the bucket holds 1000.
    #[test]
    fn a_bucket_fills_to_the_picosecond() {
        let rule = policed(8_000_000, 1_000, Exceed::Drop);
        let mut port = Ingress::new(&[rule], false).unwrap();
        let us = 1_000_000;
        // All of it at once, then nothing before 600 of its octets are back.
        assert_eq!(offer(&mut port, at(0), &frame(1_000)), Offer::Pass);
        assert_eq!(offer(&mut port, at(0), &frame(64)), Offer::Drop);
        assert_eq!(offer(&mut port, at(600 * us - 1), &frame(600)), Offer::Drop);
        assert_eq!(offer(&mut port, at(600 * us), &frame(600)), Offer::Pass);
        // It holds no more than its depth, however long nothing comes.
        assert_eq!(offer(&mut port, at(i64::MAX), &frame(1_001)), Offer::Drop);
        assert_eq!(offer(&mut port, at(i64::MAX), &frame(1_000)), Offer::Pass);
        let counted = port.counts().map(|own| [own.matched, own.of(Cause::Exceeded)]);
        assert!(counted.eq([[6, 3]]));
    }

    /// Rules that match the frame of [`frame`] by one condition each, and such that do not.
    fn conditions() -> [[IngressRule; 2]; 5] {
        let pair = |set: fn(&mut IngressRule, bool)| {
            [true, false].map(|fits| {
                let mut rule = IngressRule::default();
                set(&mut rule, fits);
                rule
            })
        };
        let ports = PortRange { first: 4_999, last: 5_001 };
        let by_port = [true, false].map(|fits| IngressRule {
            headers: HeaderMatch {
                destination_port: fits.then_some(ports),
                source_port: (!fits).then_some(ports),
                ..HeaderMatch::default()
            },
            ..IngressRule::default()
        });
        [
            pair(|rule, fits| rule.from = vec![NodeId(0), NodeId(if fits { 1 } else { 2 })]),
            pair(|rule, fits| rule.to = vec![NodeId(if fits { 2 } else { 1 })]),
            pair(|rule, fits| rule.pcp = Some(pcp(if fits { 3 } else { 0 }))),
            pair(|rule, fits| {
                rule.headers.tos = Some(TosMatch::dscp(if fits { 46 } else { 0 }));
            }),
            by_port,
        ]
    }

    /// Oracle: the order of the rules, and each condition by hand.
    #[test]
    fn the_first_rule_that_matches_decides() {
        let marking =
            |rule: &IngressRule, value| IngressRule { mark: Some(pcp(value)), ..rule.clone() };
        for [fitting, other] in conditions() {
            let rules = [marking(&other, 7), marking(&fitting, 5), marking(&fitting, 6)];
            let mut port = Ingress::new(&rules, false).unwrap();
            assert_eq!(offer(&mut port, at(0), &frame(64)), marked(5));
            let counted = port.counts().map(|rule| rule.matched);
            assert!(counted.eq([0, 1, 0]), "{fitting:?}");
        }
        // Groups have no receiving station.
        let to = IngressRule { to: vec![NodeId(2)], mark: Some(pcp(5)), ..IngressRule::default() };
        let group = Arrival { to: None, ..frame(64) };
        let mut port = Ingress::new(&[to], false).unwrap();
        assert_eq!(offer(&mut port, at(0), &group), Offer::Pass);
    }

    /// Oracle: by hand: the first 1000 octets conform, and have both marks; the next frame goes on
    /// with the priority for what exceeds, and its own code point.
    #[test]
    fn a_rule_marks_priority_and_code_point() {
        let rule = IngressRule {
            mark: Some(pcp(5)),
            mark_dscp: Some(34),
            ..policed(8_000_000, 1_000, Exceed::Demote(pcp(1)))
        };
        let mut port = Ingress::new(&[rule], false).unwrap();
        let both = Marks { pcp: Some(pcp(5)), dscp: Some(34) };
        assert_eq!(offer(&mut port, at(0), &frame(1_000)), Offer::Mark(both));
        assert_eq!(offer(&mut port, at(0), &frame(64)), marked(1));
        let alone = IngressRule { mark_dscp: Some(0), ..IngressRule::default() };
        let mut port = Ingress::new(&[alone], false).unwrap();
        let zero = Marks { pcp: None, dscp: Some(0) };
        assert_eq!(offer(&mut port, at(0), &frame(64)), Offer::Mark(zero));
    }

    /// Oracle: catalogue 2d.2, a switch whose rules do not see ICMP.
    #[test]
    fn icmp_may_be_overlooked() {
        let rule = IngressRule { mark: Some(pcp(5)), ..IngressRule::default() };
        let ping = |protocol| Arrival {
            key: FrameKey { protocol: Some(protocol), ..FrameKey::default() },
            ..frame(64)
        };
        let mut blind = Ingress::new(core::slice::from_ref(&rule), true).unwrap();
        let mut plain = Ingress::new(core::slice::from_ref(&rule), false).unwrap();
        for protocol in [1, 58] {
            assert_eq!(offer(&mut blind, at(0), &ping(protocol)), Offer::Pass);
            assert_eq!(offer(&mut plain, at(0), &ping(protocol)), marked(5));
        }
        assert_eq!(offer(&mut blind, at(0), &frame(64)), marked(5));
    }

    #[test]
    fn rules_are_limited_in_number() {
        let rules = vec![IngressRule::default(); MAX_RULES + 1];
        let found = MAX_RULES + 1;
        let refused = Ingress::new(&rules, false).map(|_| ());
        assert_eq!(refused, Err(ConfigError::TooManyRules { found }));
        assert!(Ingress::new(&rules[1..], false).is_ok());
    }

    /// Returns whether octets in every window that ends at the last of these arrivals stay within
    /// the limit.
    fn obey(frames: &[(i64, u64)], rate: u64, burst: u64) -> bool {
        let end = frames.last().map_or(0, |last| last.0);
        // Bits, for a second in picoseconds.
        let octet = 8_000_000_000_000;
        let mut sum = 0u128;
        frames.iter().rev().all(|&(begin, size)| {
            sum += u128::from(size) * octet;
            let span = Duration::from_ps(end - begin).as_ps().unsigned_abs();
            sum <= u128::from(burst) * octet + u128::from(rate) * u128::from(span)
        })
    }

    proptest! {
        /// Oracle: the theorem, window by window: a frame conforms if and only if it breaks no
        /// window together with the conforming frames before it.
        #[test]
        fn exactly_what_fits_the_curve_conforms(
            rate in prop_oneof![1u64..1_000, 1_000_000u64..1_000_000_000],
            burst in 0u64..5_000,
            demotes: bool,
            arrivals in prop::collection::vec((0i64..2_000_000_000, 64u64..1_523), 1..60),
        ) {
            let exceed = if demotes { Exceed::Demote(pcp(0)) } else { Exceed::Drop };
            let rule = IngressRule { mark: Some(pcp(6)), ..policed(rate, burst, exceed) };
            let mut port = Ingress::new(&[rule], false).unwrap();
            let mut conforming = Vec::new();
            let mut now = 0;
            for (gap, size) in arrivals {
                now += gap;
                conforming.push((now, size));
                let fits = obey(&conforming, rate, burst);
                let expected = match exceed {
                    _ if fits => marked(6),
                    Exceed::Drop => Offer::Drop,
                    Exceed::Demote(pcp) => Offer::Mark(Marks::priority(pcp)),
                };
                prop_assert_eq!(offer(&mut port, at(now), &frame(size)), expected);
                if !fits {
                    conforming.pop();
                }
            }
        }
    }
}
