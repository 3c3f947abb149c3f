//! Properties of parser and classifier on any octets.

use std::net::IpAddr;

use rtether_model::network::QueueMap;
use rtether_proto::endnode::{
    Basis, Classification, Classifier, FrameKey, HeaderMatch, PortRange, Prefix, PriorityTable,
    Rule, TosMatch, parse,
};

use super::reading::{self, Seen};

/// Checks a case: four octets that choose table and rules, one that tells where the frame is cut,
/// and the frame. Returns which parts an independent parser confirmed.
///
/// # Panics
/// If a property is violated.
pub(crate) fn check(octets: &[u8]) -> Seen {
    let Some((head, frame)) = octets.split_first_chunk::<5>() else {
        return Seen::default();
    };
    let [a, b, c, d, cut] = *head;
    let parsed = parse(frame);
    let key = parsed.key;
    assert!(
        parsed.malformed.is_none_or(|m| m.offset <= frame.len()),
        "the offset is outside of the frame"
    );
    assert_eq!(key.source_port.is_some(), key.destination_port.is_some());
    assert_eq!(key.source.is_some(), key.destination.is_some());
    assert_eq!(key.source.is_some(), key.tos.is_some());
    assert_eq!(key.source.is_some(), key.protocol.is_some());
    assert!(key.source_port.is_none() || key.protocol.is_some());
    cut_short(frame, usize::from(cut) * frame.len() / 256, &key);
    classify(&key, [a, b, c, d]);
    reading::compare(frame, &parsed)
}

/// A truncated frame has the fields of the whole or none, except for the protocol, which may be
/// that of an extension header.
fn cut_short(frame: &[u8], len: usize, whole: &FrameKey) {
    let key = parse(&frame[..len]).key;
    assert!(key.tag.is_none() || key.tag == whole.tag);
    assert!(key.ethertype.is_none() || key.ethertype == whole.ethertype);
    assert!(key.tos.is_none() || key.tos == whole.tos);
    assert!(key.source.is_none() || key.source == whole.source);
    assert!(key.destination.is_none() || key.destination == whole.destination);
    assert!(key.source_port.is_none() || key.source_port == whole.source_port);
    assert!(key.destination_port.is_none() || key.destination_port == whole.destination_port);
}

fn classify(key: &FrameKey, [count, untagged, fields, change]: [u8; 4]) {
    let map = QueueMap::standard(count % 8 + 1).expect("one to eight queues");
    let table = PriorityTable::new(map, untagged % map.count()).expect("an existing queue");
    // Rules for other frames first, so that the match is not always the first rule.
    let rules: Vec<Rule> = [(fields, change), (!fields, change), (fields, 0), (0, change)]
        .into_iter()
        .map(|(fields, change)| rule(key, fields, change, map.count()))
        .collect();
    let overlooks_icmp = count & 0x80 != 0;
    let classifier = Classifier::new(table, rules.clone()).expect("existing classes");
    let classifier = classifier.icmp_unclassified(overlooks_icmp);
    let found = classifier.classify(key);
    assert!(found.class < map.count(), "a class that does not exist");
    let is_icmp = matches!(key.protocol, Some(1 | 58));
    let expected = if let Some(tag) = key.tag {
        (table.class_of(Some(tag.pcp)), Basis::Tag)
    } else {
        let first = rules.iter().position(|rule| asks_for(rule, key));
        match first.filter(|_| !(is_icmp && overlooks_icmp)) {
            Some(index) => {
                let number = u16::try_from(index).expect("four rules");
                (rules[index].class, Basis::Rule(number))
            }
            None => (table.class_of(None), Basis::Untagged),
        }
    };
    let Classification { class, basis } = found;
    assert_eq!((class, basis), expected);
}

/// Makes a rule on some fields of a frame, with the frame's values or similar ones.
fn rule(key: &FrameKey, fields: u8, change: u8, classes: u8) -> Rule {
    let wants = |bit: u8| fields & (1 << bit) != 0;
    let other = u16::from(change);
    let around = |port: u16| PortRange {
        first: port.saturating_sub(other),
        last: port.saturating_add(other >> 4) ^ (other & 1),
    };
    let prefix = |address: IpAddr| Prefix { address, bits: change };
    let headers = HeaderMatch {
        ethertype: key.ethertype.filter(|_| wants(0)).map(|t| t ^ (other & 1)),
        tos: key
            .tos
            .filter(|_| wants(1))
            .map(|tos| TosMatch { value: tos ^ (change & 0x0F), mask: change.rotate_left(3) }),
        protocol: key.protocol.filter(|_| wants(2)),
        source: key.source.filter(|_| wants(3)).map(prefix),
        // From the source address: matches only as far as both addresses agree.
        destination: key.source.filter(|_| wants(4)).map(prefix),
        source_port: key.source_port.filter(|_| wants(5)).map(around),
        destination_port: Some(around(502)).filter(|_| wants(6)),
    };
    Rule { headers, class: fields % classes }
}

/// Evaluates a rule octet by octet and bit by bit, following its documentation.
fn asks_for(rule: &Rule, key: &FrameKey) -> bool {
    let rule = &rule.headers;
    let bit = |octets: &[u8], bit: usize| octets[bit / 8] >> (7 - bit % 8) & 1;
    let tos = rule.tos.is_none_or(|want| {
        key.tos.is_some_and(|tos| {
            (0..8).all(|b| want.mask >> b & 1 == 0 || (tos ^ want.value) >> b & 1 == 0)
        })
    });
    let is_in = |want: Option<Prefix>, found: Option<IpAddr>| {
        let Some(want) = want else { return true };
        let agree = |a: &[u8], b: &[u8]| {
            let bits = usize::from(want.bits).min(8 * a.len());
            (0..bits).all(|number| bit(a, number) == bit(b, number))
        };
        match (want.address, found) {
            (IpAddr::V4(a), Some(IpAddr::V4(b))) => agree(&a.octets(), &b.octets()),
            (IpAddr::V6(a), Some(IpAddr::V6(b))) => agree(&a.octets(), &b.octets()),
            _ => false,
        }
    };
    let is_port = |want: Option<PortRange>, found: Option<u16>| {
        want.is_none_or(|want| found.is_some_and(|p| p >= want.first && p <= want.last))
    };
    rule.ethertype.is_none_or(|want| key.ethertype == Some(want))
        && tos
        && rule.protocol.is_none_or(|want| key.protocol == Some(want))
        && is_in(rule.source, key.source)
        && is_in(rule.destination, key.destination)
        && is_port(rule.source_port, key.source_port)
        && is_port(rule.destination_port, key.destination_port)
}
