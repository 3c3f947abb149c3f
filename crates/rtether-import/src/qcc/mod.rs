//! Requirements of users on a network, IEEE 802.1Qcc: streams with talker, listeners, what is sent
//! and how late it may be, as instances of `ieee802-dot1q-tsn-types` in XML or JSON (RFC 7951).
//!
//! Modules that use these types name and nest the streams in several ways: `tree` reads both
//! encodings without their prefixes, and a stream is whatever has a talker. Stations are known by
//! the addresses of their interfaces.

mod tree;

use std::collections::{BTreeMap, BTreeSet};

use rtether_model::quantity::Duration;
use rtether_model::wire::MAX_FRAME_PAYLOAD;

use crate::error::ImportError;
use crate::list::{self, Row};
use crate::options::{Class, Options};
use crate::plan::{Code, Finding, Plan};
use crate::text::quote;
use tree::Item;

/// Most streams.
const MOST: usize = 20_000;
/// Most findings that are kept.
const MAX_FINDINGS: usize = 2_000;
/// Longest time, a day in picoseconds.
const LONGEST: u128 = 86_400_000_000_000_000;
/// Largest payload of a frame.
const LARGEST: u64 = MAX_FRAME_PAYLOAD.get();
/// Most frames in an interval: what a scenario takes.
const MOST_FRAMES: u64 = 10_000;
/// Where listeners are, in modules of several years.
const LISTENERS: [&str; 4] = ["listener", "listeners", "listener-list", "listeners-list"];
const INTERFACES: [&str; 2] = ["end-station-interfaces", "end-station-interface"];
/// The leaf that makes a document one of these.
const MARK: &str = "traffic-specification";

/// Returns whether a text is such a document, as far as one sees at once.
pub(crate) fn is_qcc(text: &str) -> bool {
    let begin = text.trim_start();
    begin.starts_with(['<', '{', '[']) && text.contains(MARK) && !text.contains("<SCL")
}

/// Reads a document.
pub(crate) fn import(name: &str, text: &str, options: &Options) -> Result<Plan, ImportError> {
    let root = Item::read(name, text)?;
    let mut streams = Vec::new();
    find(&root, &mut streams);
    if streams.len() > MOST {
        let what = format!("it has more than {MOST} streams");
        return Err(ImportError::new(name, None, what, "import a part of it"));
    }
    let places = places(text, &streams);
    let mut reader = Reader { options, findings: Vec::new(), groups: BTreeMap::new() };
    let streams = streams.iter().zip(places);
    let rows: Vec<Row> = streams.filter_map(|(stream, line)| reader.row(stream, line)).collect();
    if rows.is_empty() {
        let found = reader.findings.first();
        let what = found.map_or("it has no stream with a talker", |found| &found.text);
        let line = found.map(|found| found.line);
        let remedy = "give streams with talker, listeners and traffic specification";
        return Err(ImportError::new(name, line, what.to_owned(), remedy));
    }
    reader.findings.sort();
    reader.findings.truncate(MAX_FINDINGS);
    let cabling = options.cabling().map(|own| own.renamed(station));
    let made = list::Made {
        name,
        what: "TSN requirements",
        format: "TSN requirements (IEEE 802.1Qcc)",
        is_frame: true,
    };
    list::plan(&made, &rows, (None, cabling.as_ref()), options, reader.findings)
}

/// Finds streams: what has a talker, itself or in its request.
fn find<'i>(item: &'i Item, streams: &mut Vec<&'i Item>) {
    if streams.len() > MOST {
        return;
    }
    let request = item.get("request").unwrap_or(item);
    if request.get("talker").is_some() {
        streams.push(item);
        return;
    }
    for child in &item.children {
        // What the network has answered is no requirement.
        if child.name != "configuration" {
            find(child, streams);
        }
    }
}

/// Returns the lines of streams. In JSON these are those of their names, if they are in order.
fn places(text: &str, streams: &[&Item]) -> Vec<usize> {
    if text.trim_start().starts_with('<') {
        return streams.iter().map(|own| own.line).collect();
    }
    let mut keys = text.match_indices("\"stream-id\"");
    let (mut line, mut counted) = (1, 0);
    let places = streams.iter().map(|stream| {
        let id = stream.get("stream-id").map(|own| own.text.as_str());
        let Some((id, (at, key))) = id.zip(keys.next()) else {
            return 1;
        };
        let between = text.get(counted..at).unwrap_or_default();
        line += between.matches('\n').count();
        counted = at;
        let behind = text.get(at + key.len()..).unwrap_or_default();
        let behind = behind.trim_start_matches([' ', ':', '\n', '\r', '\t', '"']);
        if behind.starts_with(id) { line } else { 1 }
    });
    places.collect()
}

/// Returns the name of a station: an address in one form, whatever its separators.
fn station(text: &str) -> String {
    let digits: String = text.chars().filter(|c| !"-:".contains(*c)).collect();
    let is_address = digits.len() == 12 && digits.chars().all(|c| c.is_ascii_hexdigit());
    if !is_address {
        return text.to_owned();
    }
    let digits = digits.to_ascii_uppercase();
    let pairs = (0..6).filter_map(|pair| digits.get(2 * pair..2 * pair + 2));
    pairs.collect::<Vec<&str>>().join("-")
}

/// Returns the name of a stream: the address of its talker, and its number there.
fn name(stream: &Item) -> String {
    let Some(id) = stream.get("stream-id") else {
        return String::new();
    };
    if let (Some(address), Some(number)) = (id.leaf("mac-address"), id.leaf("unique-id")) {
        return format!("{}/{number}", station(address));
    }
    let digits: String = id.text.chars().filter(|c| !"-:".contains(*c)).collect();
    if digits.len() == 16 && digits.chars().all(|c| c.is_ascii_hexdigit()) {
        let (address, number) = digits.split_at(12);
        let (high, low) = number.split_at(2);
        let number = format!("{high}-{low}").to_ascii_uppercase();
        return format!("{}/{number}", station(address));
    }
    id.text.clone()
}

struct Reader<'o> {
    options: &'o Options,
    findings: Vec<Finding>,
    /// Talker and stream of each group address in a VLAN.
    groups: BTreeMap<(String, u64), (String, String)>,
}

impl Reader<'_> {
    fn find(&mut self, line: usize, code: Code, text: String) {
        // Sorted at the end; the limit keeps memory from growing.
        if self.findings.len() < 4 * MAX_FINDINGS {
            self.findings.push(Finding { line, code, text });
        }
    }

    /// Returns what a stream says of a flow.
    fn row(&mut self, stream: &Item, line: usize) -> Option<Row> {
        let request = stream.get("request").unwrap_or(stream);
        let talker = request.get("talker")?;
        let named = Some(name(stream)).filter(|own| !own.is_empty());
        let named = named.or_else(|| interface(talker)).unwrap_or_default();
        let shown = quote(&named);
        let mut leave = |what: &str| {
            let text = format!("the stream {shown}: {what}; it is left out");
            self.find(line, Code::NotRead, text);
            None
        };
        let Some(from) = interface(talker) else {
            return leave("its talker has no interface");
        };
        let Some(traffic) = talker.get(MARK) else {
            return leave("its talker has no traffic specification");
        };
        let Some(period) = interval(traffic) else {
            return leave("its interval is no time above zero, up to a day");
        };
        let (to, latency) = self.listeners(request, talker, &from, line, &shown);
        let (burst, size) = self.frames(traffic, line, &shown);
        let tag =
            talker.all(&["data-frame-specification"]).find_map(|own| own.get("ieee802-vlan-tag"));
        let number = |key: &str, most: u64| {
            let own = tag?.leaf(key)?.parse::<u64>().ok();
            own.filter(|own| *own <= most)
        };
        let (pcp, vlan) = (number("priority-code-point", 7), number("vlan-id", 4_094));
        self.group(talker, &from, vlan, line, &named);
        let class = if burst > 1 { Class::Sporadic } else { Class::Periodic };
        let stated = self.options.deadline(class);
        let deadline = if stated.is_stated { stated.time } else { latency };
        let (phase, jitter) = offsets(traffic, period).filter(|_| burst == 1).unzip();
        Some(Row {
            line,
            name: named,
            from,
            to,
            size,
            period,
            burst,
            phase,
            jitter: jitter.filter(|own| *own > Duration::ZERO),
            deadline,
            pcp,
            vlan: vlan.filter(|own| *own > 0),
        })
    }

    /// Returns the listeners, and the least latency that is asked for.
    fn listeners(
        &mut self,
        request: &Item,
        talker: &Item,
        from: &str,
        line: usize,
        shown: &str,
    ) -> (Vec<String>, Option<Duration>) {
        let mut all = Vec::new();
        for own in request.all(&LISTENERS) {
            if own.all(&INTERFACES).next().is_some() {
                all.push(own);
            } else {
                all.extend(own.all(&LISTENERS));
            }
        }
        let mut to: Vec<String> = Vec::new();
        let mut known = BTreeSet::from([from.to_owned()]);
        for listener in &all {
            match interface(listener) {
                Some(own) if known.insert(own.clone()) => to.push(own),
                Some(_) => {}
                None => {
                    let what = format!("a listener of the stream {shown} has no interface");
                    self.find(line, Code::NoInterface, what);
                }
            }
        }
        if to.is_empty() {
            let what = format!("the stream {shown} has no listener");
            self.find(line, Code::NoSubscriber, what);
            to.push("unknown".to_owned());
        }
        let needs = all.iter().copied().chain([talker]);
        let needs = needs.filter_map(|own| own.get("user-to-network-requirements"));
        let mut latency: Option<u64> = None;
        for needs in needs {
            let number = |key: &str| needs.leaf(key).and_then(|own| own.parse::<u64>().ok());
            // Zero asks for nothing.
            let own = number("max-latency").filter(|own| *own > 0);
            latency = latency.into_iter().chain(own).min();
            if number("num-seamless-trees").is_some_and(|trees| trees > 1) {
                let what =
                    format!("copies of the stream {shown} on several trees are not imported");
                self.find(line, Code::NotRead, what);
            }
        }
        (to, latency.and_then(|ns| span(u128::from(ns) * 1_000)))
    }

    /// Returns the frames in an interval and their octets.
    fn frames(&mut self, traffic: &Item, line: usize, shown: &str) -> (u64, u64) {
        let number = |key: &str| traffic.leaf(key).and_then(|own| own.parse::<u64>().ok());
        let burst = number("max-frames-per-interval");
        let burst = burst.filter(|own| (1..=MOST_FRAMES).contains(own));
        let burst = burst.unwrap_or_else(|| {
            let what = format!(
                "the stream {shown} sends no number of frames in an interval; one is assumed"
            );
            self.find(line, Code::BadValue, what);
            1
        });
        let size = number("max-frame-size").filter(|own| *own > 0);
        let size = match size {
            Some(size) if size <= LARGEST => size,
            Some(_) => {
                let what = format!("frames of the stream {shown} have more than {LARGEST} octets");
                self.find(line, Code::TooLarge, what);
                LARGEST
            }
            None => {
                let what = format!(
                    "the size of frames of the stream {shown} is not stated; {LARGEST} octets are assumed"
                );
                self.find(line, Code::UnknownSize, what);
                LARGEST
            }
        };
        (burst, size)
    }

    /// Notes the group address of a stream, which one talker may have.
    fn group(&mut self, talker: &Item, from: &str, vlan: Option<u64>, line: usize, named: &str) {
        let Some(group) = talker.leaf("destination-mac-address").map(station) else {
            return;
        };
        let first = group.get(..2).and_then(|own| u8::from_str_radix(own, 16).ok());
        if first.is_none_or(|own| own & 1 == 0) {
            return;
        }
        let key = (group.clone(), vlan.unwrap_or(0));
        let own = (from.to_owned(), named.to_owned());
        let known = self.groups.entry(key).or_insert_with(|| own.clone()).clone();
        if known.0 != own.0 {
            let (one, other) = (quote(&known.1), quote(named));
            let what = format!("2 talkers send to {}: {one}, {other}", quote(&group));
            self.find(line, Code::SharedAddress, what);
        }
    }
}

/// Returns the name of the first interface of a station: its address, or what it is called.
fn interface(end: &Item) -> Option<String> {
    let own = end.all(&INTERFACES).next()?;
    let address = own.leaf("mac-address").map(station);
    address.or_else(|| own.leaf("interface-name").map(str::to_owned))
}

/// Returns a time of picoseconds.
fn span(ps: u128) -> Option<Duration> {
    let ps = Some(ps).filter(|ps| (1..=LONGEST).contains(ps))?;
    i64::try_from(ps).ok().map(Duration::from_ps)
}

/// Returns the interval, a fraction of a second, rounded down.
fn interval(traffic: &Item) -> Option<Duration> {
    let interval = traffic.get("interval").or_else(|| traffic.get("Interval"))?;
    let number = |key: &str| interval.leaf(key)?.parse::<u64>().ok();
    let (numerator, denominator) = (number("numerator")?, number("denominator")?);
    let ps = u128::from(numerator) * 1_000_000_000_000;
    span(ps.checked_div(u128::from(denominator))?)
}

/// Returns the first offset in the interval and how much later a frame may be, for a talker that is
/// aware of time: its clock is off by `jitter` in both directions.
fn offsets(traffic: &Item, period: Duration) -> Option<(Duration, Duration)> {
    let aware = traffic.get("time-aware")?;
    let number = |key: &str| aware.leaf(key)?.parse::<u32>().ok().map(i64::from);
    let (early, late) = (number("earliest-transmit-offset")?, number("latest-transmit-offset")?);
    let jitter = number("jitter").unwrap_or(0);
    let first = (early - jitter).max(0);
    let width = late + jitter - first;
    let (first, width) = (Duration::from_ns(first), Duration::from_ns(width.max(0)));
    // All zero is what talkers say that are not aware of time.
    let is_stated = early > 0 || late > 0;
    (is_stated && first < period && width < period).then_some((first, width))
}
