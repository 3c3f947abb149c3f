//! Mapping of frames to queues: priority table and header rules.

use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::rc::Rc;

use rtether_model::endnode::{HeaderMatch, PortRange, Prefix, PriorityTable, Rule, TosMatch};
use rtether_proto::endnode::Classifier;

use super::links::head;
use super::tags::queues;
use crate::codes;
use crate::diagnostic::{Diagnostic, Span, quote};
use crate::help::Help;
use crate::keys::table::{PROTOCOL, RULE};
use crate::reader::{At, Fields, Reader};
use crate::units;

/// Contents of `priorities:`.
#[derive(Clone)]
pub(super) struct Priorities {
    pub(super) table: PriorityTable,
    pub(super) rules: Vec<Rule>,
    /// Where each of them is written.
    pub(super) spans: Rc<[Span]>,
    pub(super) icmp_unclassified: bool,
}

/// Reads `priorities:`.
pub(super) fn priorities(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Priorities {
    let map = queues(reader, fields, 2);
    let untagged = reader.small(fields, "untagged");
    let table = PriorityTable::new(map, untagged.map_or(0, |queue| queue.value));
    if let (None, Some(queue)) = (table, untagged) {
        no_queue(reader, "untagged", queue, map.count());
    }
    let (rules, spans): (Vec<Rule>, Vec<Span>) =
        rules(reader, fields, map.count()).into_iter().unzip();
    let icmp_unclassified = reader.flag(fields, "icmp_unclassified").unwrap_or(false);
    let table = table.or(PriorityTable::new(map, 0));
    let table = table.unwrap_or(PriorityTable::HIGH_LOW);
    if let Err(error) = Classifier::new(table, rules.clone()) {
        let title = format!("`rules` cannot be used: {error}");
        let at = fields.key_span("rules").unwrap_or(fields.at);
        let label = format!("of {}", fields.owner);
        reader.report(Diagnostic::new(&codes::VALUE_OUT_OF_RANGE, title, at, label));
    }
    Priorities { table, rules, spans: spans.into(), icmp_unclassified }
}

/// Reports a queue that does not exist.
fn no_queue(reader: &mut Reader<'_>, key: &str, queue: At<u8>, count: u8) {
    let rule = format!("0 to {}", count - 1);
    let found = queue.value.to_string();
    let why = match count {
        1 => "there is one queue".to_owned(),
        _ => format!("there are {count} queues, counted from 0"),
    };
    reader.out_of_range(key, queue.span, &rule, &found, why);
}

/// Reads `rules:` for `queues` queues, with the place of each.
fn rules(reader: &mut Reader<'_>, fields: &Fields<'_>, queues: u8) -> Vec<(Rule, Span)> {
    let mut list = Vec::new();
    for item in reader.items(fields, "rules") {
        let owner = format!("a rule of {}", fields.owner);
        let inner = reader.fields(item, &RULE, owner, head(item));
        let rule = inner.and_then(|inner| rule(reader, &inner, queues));
        list.extend(rule.map(|rule| (rule, head(item))));
    }
    list
}

fn rule(reader: &mut Reader<'_>, fields: &Fields<'_>, queues: u8) -> Option<Rule> {
    reader.require(fields, "queue");
    let queue = reader.small(fields, "queue");
    if let Some(queue) = queue.filter(|queue| queue.value >= queues) {
        no_queue(reader, "queue", queue, queues);
        return None;
    }
    let rule = Rule {
        headers: HeaderMatch {
            source: prefix(reader, fields, "from"),
            destination: prefix(reader, fields, "to"),
            ..headers(reader, fields)
        },
        class: queue?.value,
    };
    let others = RULE.names().filter(|name| *name != "queue");
    if !others.clone().any(|name| fields.has(name)) {
        let title = format!("{} names no field", fields.owner);
        let label = "it would match every frame without a tag";
        let help = format!("write `untagged: {}` beside `rules` instead", rule.class);
        reader.report(Diagnostic::new(&codes::MISSING_KEY, title, fields.at, label).help(help));
    }
    Some(rule)
}

/// Reads the conditions on headers but for addresses.
pub(super) fn headers(reader: &mut Reader<'_>, fields: &Fields<'_>) -> HeaderMatch {
    let dscp = reader.small(fields, "dscp");
    HeaderMatch {
        ethertype: ethertype(reader, fields),
        tos: dscp.map(|dscp| TosMatch::dscp(dscp.value)),
        protocol: protocol(reader, fields),
        source: None,
        destination: None,
        source_port: ports(reader, fields, "source_port"),
        destination_port: ports(reader, fields, "port"),
    }
}

fn ethertype(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<u16> {
    let At { value: text, span } = reader.scalar(fields, "ethertype")?;
    let number = text.strip_prefix("0x").and_then(|digits| u16::from_str_radix(digits, 16).ok());
    // Smaller values are lengths (IEEE 802.3-2022, 3.2.6).
    let number = number.filter(|number| *number >= 0x600);
    if number.is_none() {
        let title = format!("`ethertype` is 0x0600 to 0xffff, found {}", quote(text));
        let label = format!("of {}", fields.owner);
        reader.report(
            Diagnostic::new(&codes::VALUE_OUT_OF_RANGE, title, span, label)
                .help(Help::example("ethertype: 0x88b8")),
        );
    }
    number
}

fn protocol(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<u8> {
    let At { value: text, span } = reader.scalar(fields, PROTOCOL.key)?;
    if units::read_count(text).is_ok() {
        let number = reader.count_in(PROTOCOL.key, text, span, (0, 255))?;
        return u8::try_from(number).ok();
    }
    Some(reader.word(fields, &PROTOCOL)?.means)
}

/// Reads `5000` or `5000-5010`.
fn ports(reader: &mut Reader<'_>, fields: &Fields<'_>, key: &str) -> Option<PortRange> {
    let At { value: text, span } = reader.scalar(fields, key)?;
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let number = |text: &str| text.trim().parse::<u16>().ok();
    let range: Option<RangeInclusive<u16>> = number(first)
        .zip(number(last))
        .map(|(first, last)| first..=last)
        .filter(|range| !range.is_empty());
    if let Some(range) = range {
        let (first, last) = range.into_inner();
        return Some(PortRange { first, last });
    }
    let title = format!("`{key}` is a port or a range of ports, found {}", quote(text));
    let label = "ports are 0 to 65535";
    reader.report(
        Diagnostic::new(&codes::VALUE_OUT_OF_RANGE, title, span, label)
            .help(format!("for example `{key}: 5000` or `{key}: 5000-5010`")),
    );
    None
}

/// Reads `10.0.0.7` or `10.0.0.0/8`.
fn prefix(reader: &mut Reader<'_>, fields: &Fields<'_>, key: &str) -> Option<Prefix> {
    let At { value: text, span } = reader.scalar(fields, key)?;
    let (address, bits) = match text.split_once('/') {
        Some((address, bits)) => (address, bits.parse::<u8>().ok()),
        None => (text, Some(128)),
    };
    let address = address.parse::<IpAddr>().ok();
    let most = if address.is_some_and(|address| address.is_ipv4()) && text.contains('/') {
        32
    } else {
        128
    };
    if let (Some(address), Some(bits)) = (address, bits.filter(|bits| *bits <= most)) {
        return Some(Prefix { address, bits });
    }
    let title = format!("`{key}` is an IP address, found {}", quote(text));
    let label = "an address, or its upper bits";
    reader.report(
        Diagnostic::new(&codes::VALUE_OUT_OF_RANGE, title, span, label)
            .help(format!("for example `{key}: 10.0.0.7` or `{key}: 10.0.0.0/8`")),
    );
    None
}
