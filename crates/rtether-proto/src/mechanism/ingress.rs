//! Rules of a switch port for frames that arrive: marking and policing (catalogue R44).
//!
//! The first rule that matches decides, as in end nodes ([`crate::endnode::Classifier`]), whose
//! header conditions these are. A frame that a switch cannot look into, such as ICMP in some, passes
//! as it is ([`Ingress::new`]).
//!
//! # Policer
//!
//! A token bucket of `B` octets that fills at rate `R` and begins full. A frame conforms if the
//! bucket holds all its octets, and takes them; one that does not conform takes none.
//!
//! **Theorem.** Conforming frames that arrive in any closed window of length `t` have at most
//! `B + R t` octets; and a frame is refused only if it would break this together with conforming
//! frames before it. *Proof.* The level is `B` at most, rises by `R t` in the window, and what
//! conforms is taken from it, so the sum is at most `B + R t`. Let `s` be the last time before a
//! refused frame at which the bucket was full, or the start. From `s` on, nothing that flowed in
//! was lost, so the level is `B + R t` less the conforming frames since `s`; it is below the size of
//! the frame, and the window from `s` would hold more than `B + R t`.
//!
//! The level counts picoseconds at one bit per second, so that neither rate nor time is rounded.

use alloc::vec::Vec;

use rtether_model::ingress::{Exceed, IngressRule, Police};
use rtether_model::network::{NodeId, Pcp};
use rtether_model::quantity::{Bytes, Instant};

use super::{Marks, Offer};
use crate::endnode::{Classifier, ConfigError, FrameKey, matches};

/// Largest number of rules of a port.
pub const MAX_RULES: usize = Classifier::MAX_RULES;

/// Units of the level in an octet: 8 bits for 10^12 ps each.
const OCTET: u128 = 8_000_000_000_000;

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

/// Counters of a rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RuleCounters {
    /// Frames that it decided on.
    pub matched: u64,
    /// Frames of these that exceeded its limit.
    pub exceeded: u64,
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
    bucket: Option<(Bucket, Exceed)>,
    counters: RuleCounters,
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
            bucket: config.police.map(|police| (Bucket::new(police), police.exceed)),
            counters: RuleCounters::default(),
        });
        Ok(Self { rules: rules.collect(), icmp_unclassified })
    }

    /// Decides on a frame that arrives at `now`, which never decreases.
    pub fn offer(&mut self, now: Instant, frame: &Arrival) -> Offer {
        if self.icmp_unclassified && frame.key.is_icmp() {
            return Offer::Pass;
        }
        let Some(rule) = self.rules.iter_mut().find(|rule| rule.fits(frame)) else {
            return Offer::Pass;
        };
        rule.counters.matched += 1;
        let marked = match Marks::of(&rule.config) {
            Marks { pcp: None, dscp: None } => Offer::Pass,
            marks => Offer::Mark(marks),
        };
        let Some((bucket, exceed)) = &mut rule.bucket else {
            return marked;
        };
        if bucket.admits(now, frame.size) {
            return marked;
        }
        rule.counters.exceeded += 1;
        match *exceed {
            Exceed::Drop => Offer::Drop,
            Exceed::Demote(pcp) => Offer::Mark(Marks::priority(pcp)),
        }
    }

    /// Returns the counters of the rules, in their order.
    pub fn counters(&self) -> impl Iterator<Item = RuleCounters> + '_ {
        self.rules.iter().map(|rule| rule.counters)
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

/// A token bucket.
#[derive(Clone, Debug)]
struct Bucket {
    rate: u128,
    depth: u128,
    level: u128,
    at: Instant,
}

impl Bucket {
    fn new(police: Police) -> Self {
        let depth = u128::from(police.burst.get()) * OCTET;
        Self { rate: police.rate.as_bps().into(), depth, level: depth, at: Instant::ZERO }
    }

    /// Returns whether a frame conforms, and takes its octets if so.
    fn admits(&mut self, now: Instant, size: Bytes) -> bool {
        let elapsed = u128::try_from((now - self.at).as_ps()).unwrap_or(0);
        // Below 2^128: a time has 63 bits, a rate at most 64.
        let filled = self.level.saturating_add(self.rate * elapsed);
        self.level = filled.min(self.depth);
        self.at = now;
        let needed = u128::from(size.get()) * OCTET;
        let conforms = needed <= self.level;
        if conforms {
            self.level -= needed;
        }
        conforms
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rtether_model::endnode::{HeaderMatch, PortRange, TosMatch};
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
        assert_eq!(port.offer(at(0), &frame(1_000)), Offer::Pass);
        assert_eq!(port.offer(at(0), &frame(64)), Offer::Drop);
        assert_eq!(port.offer(at(600 * us - 1), &frame(600)), Offer::Drop);
        assert_eq!(port.offer(at(600 * us), &frame(600)), Offer::Pass);
        // It holds no more than its depth, however long nothing comes.
        assert_eq!(port.offer(at(i64::MAX), &frame(1_001)), Offer::Drop);
        assert_eq!(port.offer(at(i64::MAX), &frame(1_000)), Offer::Pass);
        let counted: Vec<RuleCounters> = port.counters().collect();
        let expected = RuleCounters { matched: 6, exceeded: 3 };
        assert_eq!(counted, [expected]);
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
            assert_eq!(port.offer(at(0), &frame(64)), marked(5));
            let counted = port.counters().map(|rule| rule.matched);
            assert!(counted.eq([0, 1, 0]), "{fitting:?}");
        }
        // Groups have no receiving station.
        let to = IngressRule { to: vec![NodeId(2)], mark: Some(pcp(5)), ..IngressRule::default() };
        let group = Arrival { to: None, ..frame(64) };
        let mut port = Ingress::new(&[to], false).unwrap();
        assert_eq!(port.offer(at(0), &group), Offer::Pass);
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
        assert_eq!(port.offer(at(0), &frame(1_000)), Offer::Mark(both));
        assert_eq!(port.offer(at(0), &frame(64)), marked(1));
        let alone = IngressRule { mark_dscp: Some(0), ..IngressRule::default() };
        let mut port = Ingress::new(&[alone], false).unwrap();
        let zero = Marks { pcp: None, dscp: Some(0) };
        assert_eq!(port.offer(at(0), &frame(64)), Offer::Mark(zero));
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
            assert_eq!(blind.offer(at(0), &ping(protocol)), Offer::Pass);
            assert_eq!(plain.offer(at(0), &ping(protocol)), marked(5));
        }
        assert_eq!(blind.offer(at(0), &frame(64)), marked(5));
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
        let mut sum = 0u128;
        frames.iter().rev().all(|&(begin, size)| {
            sum += u128::from(size) * OCTET;
            let span = Duration::from_ps(end - begin).as_ps().unsigned_abs();
            sum <= u128::from(burst) * OCTET + u128::from(rate) * u128::from(span)
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
                prop_assert_eq!(port.offer(at(now), &frame(size)), expected);
                if !fits {
                    conforming.pop();
                }
            }
        }
    }
}
