//! Maps a frame's headers to its class (S10; R72, R74).
//!
//! The class is decided by the priority of the tag if there is one, else by the first matching
//! header rule, else by the entry for untagged frames. Table and rules are fixed when the
//! classifier is created. The key holds no octets, so that a simulator can fill it from its own
//! packets.

use core::net::IpAddr;

use alloc::vec::Vec;

use rtether_model::endnode::{HeaderMatch, PortRange, Prefix, PriorityTable, Rule, TosMatch};
use rtether_model::network::{Pcp, Vid};

use super::ConfigError;

/// An IEEE 802.1Q tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tag {
    /// Priority code point.
    pub pcp: Pcp,
    /// Drop eligible indicator.
    pub dei: bool,
    /// VLAN, or [`Vid::PRIORITY_ONLY`].
    pub vid: Vid,
}

impl Tag {
    /// Returns a tag with DEI 0.
    pub const fn new(pcp: Pcp, vid: Vid) -> Self {
        let dei = false;
        Self { pcp, dei, vid }
    }
}

/// The fields that header rules compare; `None` where the frame has no such field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FrameKey {
    /// Outermost tag.
    pub tag: Option<Tag>,
    /// `EtherType` after the tags; `None` for a length (IEEE 802.3-2022, 3.2.6).
    pub ethertype: Option<u16>,
    /// `ToS` octet of IPv4 or traffic class of IPv6: DSCP in the upper six bits.
    pub tos: Option<u8>,
    /// Protocol above IP, behind extension headers (IANA protocol numbers).
    pub protocol: Option<u8>,
    /// Source address.
    pub source: Option<IpAddr>,
    /// Destination address.
    pub destination: Option<IpAddr>,
    /// Source port of TCP, UDP and similar protocols; `None` in all fragments but the first.
    pub source_port: Option<u16>,
    /// Destination port, likewise.
    pub destination_port: Option<u16>,
}

impl FrameKey {
    /// Returns whether it is a frame of ICMP or `ICMPv6`, which some devices do not classify
    /// (catalogue 2d.2).
    pub const fn is_icmp(&self) -> bool {
        matches!(self.protocol, Some(ICMP | ICMP_V6))
    }
}

/// Returns whether the frame meets all conditions.
pub fn matches(wanted: &HeaderMatch, key: &FrameKey) -> bool {
    fits(wanted.ethertype, key.ethertype, |want, found| want == found)
        && fits(wanted.tos, key.tos, TosMatch::contains)
        && fits(wanted.protocol, key.protocol, |want, found| want == found)
        && fits(wanted.source, key.source, Prefix::contains)
        && fits(wanted.destination, key.destination, Prefix::contains)
        && fits(wanted.source_port, key.source_port, PortRange::contains)
        && fits(wanted.destination_port, key.destination_port, PortRange::contains)
}

/// Returns whether there is no condition, or the field exists and satisfies it.
fn fits<W, V>(wanted: Option<W>, found: Option<V>, test: impl Fn(W, V) -> bool) -> bool {
    match (wanted, found) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(wanted), Some(found)) => test(wanted, found),
    }
}

/// The class of a frame and what decided it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Classification {
    /// Number of the queue.
    pub class: u8,
    /// What decided.
    pub basis: Basis,
}

/// What decided on a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// The priority in the tag.
    Tag,
    /// The header rule at this position.
    Rule(u16),
    /// No match: the entry for untagged frames.
    Untagged,
}

/// Assigns a class to each frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Classifier {
    table: PriorityTable,
    rules: Vec<Rule>,
    icmp_unclassified: bool,
}

impl Classifier {
    /// Largest number of header rules; an untagged frame may be compared with all of them.
    pub const MAX_RULES: usize = 256;

    /// Creates a classifier; the first matching rule decides.
    pub fn new(table: PriorityTable, rules: Vec<Rule>) -> Result<Self, ConfigError> {
        if rules.len() > Self::MAX_RULES {
            return Err(ConfigError::TooManyRules { found: rules.len() });
        }
        for rule in &rules {
            check_class(rule.class, table.count())?;
        }
        Ok(Self { table, rules, icmp_unclassified: false })
    }

    /// Sets whether header rules ignore ICMP and `ICMPv6`, as in some switches (catalogue 2d.2).
    ///
    /// A tag still decides the class.
    #[must_use]
    pub const fn icmp_unclassified(mut self, overlooked: bool) -> Self {
        self.icmp_unclassified = overlooked;
        self
    }

    /// Returns the priority table.
    pub const fn table(&self) -> &PriorityTable {
        &self.table
    }

    /// Returns the class of a frame.
    pub fn classify(&self, key: &FrameKey) -> Classification {
        if let Some(tag) = key.tag {
            return Classification { class: self.table.class_of(Some(tag.pcp)), basis: Basis::Tag };
        }
        let overlooked = self.icmp_unclassified && key.is_icmp();
        let mut numbered = (0_u16..).zip(&self.rules);
        match numbered.find(|(_, rule)| !overlooked && matches(&rule.headers, key)) {
            Some((number, rule)) => {
                Classification { class: rule.class, basis: Basis::Rule(number) }
            }
            None => Classification { class: self.table.class_of(None), basis: Basis::Untagged },
        }
    }
}

fn check_class(class: u8, count: u8) -> Result<(), ConfigError> {
    if class < count { Ok(()) } else { Err(ConfigError::ClassOutOfRange { class, count }) }
}

const ICMP: u8 = 1;
const ICMP_V6: u8 = 58;

#[cfg(test)]
mod tests {
    use core::net::{Ipv4Addr, Ipv6Addr};

    use super::*;
    use rtether_model::network::QueueMap;

    fn tagged(pcp: u8) -> FrameKey {
        FrameKey {
            tag: Some(Tag::new(Pcp::new(pcp).unwrap(), Vid::PRIORITY_ONLY)),
            ..FrameKey::default()
        }
    }

    fn udp(destination_port: u16) -> FrameKey {
        FrameKey {
            ethertype: Some(0x0800),
            tos: Some(0xB8),
            protocol: Some(17),
            source: Some(Ipv4Addr::new(10, 0, 0, 1).into()),
            destination: Some(Ipv4Addr::new(10, 0, 7, 2).into()),
            source_port: Some(5000),
            destination_port: Some(destination_port),
            ..FrameKey::default()
        }
    }

    #[test]
    fn four_to_seven_are_high_by_default() {
        // Oracle: catalogue S10, "priority 4..7 is high by default", else class 0.
        let classifier = Classifier::new(PriorityTable::HIGH_LOW, Vec::new()).unwrap();
        for pcp in 0..8 {
            let seen = classifier.classify(&tagged(pcp));
            assert_eq!(seen.class, u8::from(pcp >= 4));
            assert_eq!(seen.basis, Basis::Tag);
        }
        let seen = classifier.classify(&FrameKey::default());
        assert_eq!((seen.class, seen.basis), (0, Basis::Untagged));
    }

    #[test]
    fn tag_before_rules_before_untagged_entry() {
        // Oracle: catalogue S10, the order of the decision.
        let map = QueueMap::new(3, [0, 0, 0, 0, 0, 0, 0, 2]).unwrap();
        let table = PriorityTable::new(map, 1).unwrap();
        let everything = Rule { class: 2, ..Rule::default() };
        let port = Rule {
            headers: HeaderMatch {
                destination_port: Some(PortRange::one(102)),
                ..HeaderMatch::default()
            },
            class: 0,
        };
        let classifier = Classifier::new(table, alloc::vec![port, everything]).unwrap();
        let with_tag = FrameKey { tag: tagged(3).tag, ..udp(102) };
        assert_eq!(classifier.classify(&with_tag).class, 0);
        assert_eq!(classifier.classify(&with_tag).basis, Basis::Tag);
        assert_eq!(classifier.classify(&udp(102)).basis, Basis::Rule(0));
        assert_eq!(classifier.classify(&udp(103)).basis, Basis::Rule(1));
        let without_rules = Classifier::new(table, Vec::new()).unwrap();
        assert_eq!(without_rules.classify(&udp(102)).class, 1);
    }

    #[test]
    fn every_field_can_decide() {
        // Oracle: the fields of `udp(102)` above; each rule names one that matches and one that
        // does not.
        let key = udp(102);
        let host = |d| IpAddr::from(Ipv4Addr::new(10, 0, 7, d));
        let pairs: [(HeaderMatch, HeaderMatch); 7] = [
            (rule(|r| r.ethertype = Some(0x0800)), rule(|r| r.ethertype = Some(0x86DD))),
            (
                rule(|r| r.tos = Some(TosMatch::dscp(46))),
                rule(|r| r.tos = Some(TosMatch::dscp(45))),
            ),
            (rule(|r| r.protocol = Some(17)), rule(|r| r.protocol = Some(6))),
            (
                rule(|r| {
                    r.source = Some(Prefix { address: host(9), bits: 21 });
                }),
                rule(|r| {
                    r.source = Some(Prefix { address: host(9), bits: 22 });
                }),
            ),
            (
                rule(|r| r.destination = Some(Prefix::host(host(2)))),
                rule(|r| r.destination = Some(Prefix::host(host(3)))),
            ),
            (
                rule(|r| r.source_port = Some(PortRange::one(5000))),
                rule(|r| r.source_port = Some(PortRange::one(102))),
            ),
            (
                rule(|r| {
                    r.destination_port = Some(PortRange { first: 100, last: 102 });
                }),
                rule(|r| {
                    r.destination_port = Some(PortRange { first: 103, last: 200 });
                }),
            ),
        ];
        for (fitting, other) in pairs {
            assert!(matches(&fitting, &key), "{fitting:?}");
            assert!(!matches(&other, &key), "{other:?}");
            // A missing field matches no condition.
            assert!(!matches(&fitting, &FrameKey::default()), "{fitting:?}");
        }
    }

    fn rule(set: impl Fn(&mut HeaderMatch)) -> HeaderMatch {
        let mut wanted = HeaderMatch::default();
        set(&mut wanted);
        wanted
    }

    #[test]
    fn prefixes_of_both_families() {
        // Oracle: RFC 4291, 2.3; by hand.
        let link_local =
            Prefix { address: Ipv6Addr::new(0xFE80, 0, 0, 0, 0, 0, 0, 0).into(), bits: 10 };
        let address = |head| IpAddr::from(Ipv6Addr::new(head, 1, 2, 3, 4, 5, 6, 7));
        assert!(link_local.contains(address(0xFEBF)));
        assert!(!link_local.contains(address(0xFEC0)));
        assert!(!link_local.contains(Ipv4Addr::LOCALHOST.into()));
        let any = Prefix { address: Ipv6Addr::LOCALHOST.into(), bits: 0 };
        assert!(any.contains(address(0xFFFF)));
        assert!(!any.contains(Ipv4Addr::LOCALHOST.into()));
        assert!(!Prefix::host(address(1)).contains(address(2)));
    }

    #[test]
    fn icmp_may_be_overlooked() {
        // Oracle: catalogue 2d.2: rules cannot match ICMP, tags still work.
        let rules = alloc::vec![Rule { class: 1, ..Rule::default() }];
        let plain = Classifier::new(PriorityTable::HIGH_LOW, rules).unwrap();
        let blind = plain.clone().icmp_unclassified(true);
        for protocol in [1, 58] {
            let mut ping = FrameKey { protocol: Some(protocol), ..udp(0) };
            assert_eq!(plain.classify(&ping).class, 1);
            assert_eq!(blind.classify(&ping).class, 0);
            ping.tag = tagged(7).tag;
            assert_eq!(blind.classify(&ping).class, 1);
        }
        assert_eq!(blind.classify(&udp(0)).class, 1);
    }

    #[test]
    fn classes_exist() {
        let rule = |class| Rule { class, ..Rule::default() };
        let make = |rules| Classifier::new(PriorityTable::HIGH_LOW, rules).map(|_| ());
        let wrong = ConfigError::ClassOutOfRange { class: 2, count: 2 };
        assert_eq!(make(alloc::vec![rule(1), rule(2)]), Err(wrong));
        let many = Classifier::MAX_RULES + 1;
        let found = ConfigError::TooManyRules { found: many };
        assert_eq!(make(alloc::vec![rule(1); many]), Err(found));
        let map = QueueMap::standard(2).unwrap();
        assert_eq!(PriorityTable::new(map, 2), None);
    }
}
