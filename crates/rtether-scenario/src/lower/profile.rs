//! Profiles of devices.

use std::collections::BTreeMap;

use rtether_model::quantity::{Bytes, Duration};

use super::{stacks, unseen, version};
use crate::codes;
use crate::device::{
    Bin, MAX_BINS, MAX_FRAME, MAX_SERIES, MAX_TEXT, MAX_TRIPS, Misfit, NotKnown, Profile, Range,
    Series, Tail, Trial, Trips,
};
use crate::diagnostic::{Diagnostic, Span, quote};
use crate::keys::Section;
use crate::keys::table::{
    BIN, DEVICE, DEVICE_ORDER, FIGURE, METHOD, MISFIT, MISFIT_KIND, NOT_KNOWN, SCANNED, SERIES,
    SERVERS, STACK, TAIL, TRIAL, TRIPS,
};
use crate::reader::{Fields, Reader};
use crate::tree::Value;

/// Reads the whole file; `None` after a mistake.
pub(crate) fn profile(reader: &mut Reader<'_>, top: &Fields<'_>) -> Option<Profile> {
    let errors = reader.sink.errors();
    version(reader, top);
    let mut profile = Profile::default();
    reader.require(top, "profile");
    let about = reader.one(top, "profile", &DEVICE);
    if let Some(fields) = &about {
        device(reader, fields, &mut profile);
    }
    if let Some(fields) = reader.one(top, "stack", &STACK) {
        reader.misplaced(&fields, &["stack"], "a profile, which has the costs themselves");
        let _ = stacks::stack(reader, &fields);
    }
    if let Some(fields) = reader.one(top, "reply", &SCANNED) {
        reader.time(&fields, "after");
        reader.positive_time(&fields, "scan");
    }
    all_series(reader, top, &mut profile);
    if let Some(fields) = &about {
        sources(reader, fields, &profile);
    }
    (reader.sink.errors() == errors).then_some(profile)
}

fn device(reader: &mut Reader<'_>, fields: &Fields<'_>, profile: &mut Profile) {
    reader.require(fields, "device");
    reader.require(fields, "date");
    profile.device = text(reader, fields, "device").unwrap_or_default();
    profile.firmware = text(reader, fields, "firmware");
    profile.address = text(reader, fields, "address");
    profile.date = text(reader, fields, "date").unwrap_or_default();
    profile.host = text(reader, fields, "host");
    profile.stack_from = text(reader, fields, "stack_from");
    profile.reply_from = text(reader, fields, "reply_from");
}

/// Reports a source that is no series.
fn sources(reader: &mut Reader<'_>, fields: &Fields<'_>, profile: &Profile) {
    for key in ["stack_from", "reply_from"] {
        let Some(name) = reader.scalar(fields, key) else { continue };
        if profile.series(name.value).is_some() {
            continue;
        }
        let known: Vec<String> = profile.requests.iter().map(|own| quote(&own.protocol)).collect();
        let title = format!("no series of {}", quote(name.value));
        let label = "the protocol of none of `requests`";
        let help = format!("there are {}", known.join(", "));
        reader.report(
            Diagnostic::new(&codes::UNKNOWN_WORD, title, name.span, label)
                .help_if((!known.is_empty()).then_some(help)),
        );
    }
}

/// Returns a text that can stand on one line of a report.
fn text(reader: &mut Reader<'_>, fields: &Fields<'_>, key: &str) -> Option<String> {
    let own = reader.scalar(fields, key)?;
    let length = own.value.chars().count();
    let why = unseen(own.value).or_else(|| {
        (length > MAX_TEXT).then(|| format!("it has {length} characters, {MAX_TEXT} are allowed"))
    });
    if let Some(why) = why {
        let title = format!("`{key}` cannot be {}", quote(own.value));
        reader.report(Diagnostic::new(&codes::BAD_NAME, title, own.span, &why));
        return None;
    }
    Some(own.value.to_owned())
}

fn all_series(reader: &mut Reader<'_>, top: &Fields<'_>, profile: &mut Profile) {
    let mut seen: BTreeMap<String, Span> = BTreeMap::new();
    for (value, fields) in maps(reader, top, "requests", &SERIES, MAX_SERIES) {
        let Some(series) = series(reader, &fields) else { continue };
        if let Some(first) = seen.insert(series.protocol.clone(), value.span) {
            let title = format!("a second series of {}", quote(&series.protocol));
            reader.report(
                Diagnostic::new(&codes::DUPLICATE_NAME, title, value.span, "each protocol has one")
                    .also(first, "the first one")
                    .help("keep them in two files; `rtether profile merge` makes one of both"),
            );
        }
        profile.requests.push(series);
    }
}

/// Returns the maps of a list, at most `most`.
fn maps<'t>(
    reader: &mut Reader<'_>,
    fields: &Fields<'t>,
    key: &'static str,
    section: &'static Section,
    most: usize,
) -> Vec<(&'t Value, Fields<'t>)> {
    let items = reader.items(fields, key);
    if let Some(beyond) = items.get(most) {
        let title = format!("`{key}` has {} items", items.len());
        let label = format!("at most {most} are allowed");
        reader.report(Diagnostic::new(&codes::TOO_LARGE, title, beyond.span, label));
    }
    let mut found = Vec::new();
    for (number, item) in (1..).zip(&items[..items.len().min(most)]) {
        let owner = format!("item {number} of `{key}`");
        found.extend(reader.fields(item, section, owner, item.span).map(|own| (item, own)));
    }
    found
}

fn series(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<Series> {
    let given = reader.require(fields, "protocol") & reader.require(fields, "method");
    let protocol = protocol(reader, fields);
    let method = reader.word(fields, &METHOD);
    let mut series = Series::new(protocol.unwrap_or_default(), method?.means);
    for (key, slot) in
        [("sent", &mut series.sent), ("answered", &mut series.answered), ("lost", &mut series.lost)]
    {
        *slot = reader.count(fields, key).map_or(0, |count| count.value);
    }
    series.fixed = range(reader, fields, "fixed");
    series.request_octet = range(reader, fields, "request_octet");
    series.answer_octet = range(reader, fields, "answer_octet");
    series.both_octets = range(reader, fields, "both_octets");
    series.receive = range(reader, fields, "receive");
    series.jitter = range(reader, fields, "jitter");
    series.scan = range(reader, fields, "scan");
    series.servers = reader.word(fields, &SERVERS).map(|word| word.means);
    series.order = reader.word(fields, &DEVICE_ORDER).map(|word| word.means);
    let queue = reader.count(fields, "queue");
    series.queue = queue.and_then(|queue| u32::try_from(queue.value).ok());
    for (_, own) in maps(reader, fields, "unknown", &NOT_KNOWN, MAX_BINS) {
        series.unknown.extend(not_known(reader, &own));
    }
    for (_, own) in maps(reader, fields, "misfits", &MISFIT, MAX_BINS) {
        series.misfits.extend(misfit(reader, &own));
    }
    series.histogram = histogram(reader, fields);
    series.confirmed = trial(reader, fields);
    series.trips = trips(reader, fields);
    given.then_some(series)
}

fn protocol(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<String> {
    let own = reader.scalar(fields, "protocol")?;
    let mut signs = own.value.bytes();
    let is_plain = signs.all(|own| matches!(own, b'a'..=b'z' | b'0'..=b'9' | b'-'));
    if !own.value.is_empty() && own.value.len() <= 32 && is_plain {
        return Some(own.value.to_owned());
    }
    let title = format!("{} cannot name a protocol", quote(own.value));
    let label = "1 to 32 small letters, digits and hyphens";
    reader.report(Diagnostic::new(&codes::BAD_NAME, title, own.span, label));
    None
}

fn range(reader: &mut Reader<'_>, fields: &Fields<'_>, key: &'static str) -> Option<Range> {
    let own = reader.one(fields, key, &FIGURE)?;
    let [value, low, high] = ["value", "low", "high"].map(|part| {
        reader.require(&own, part);
        reader.time(&own, part)
    });
    let (value, low, high) = (value?, low?, high?);
    for (end, is_beyond, rule) in [
        (("low", low), low.value > value.value, "at most `value`"),
        (("high", high), high.value < value.value, "at least `value`"),
    ] {
        if is_beyond {
            let (part, end) = end;
            let found = end.value.to_string();
            reader.out_of_range(part, end.span, rule, &found, "the interval holds the estimate");
        }
    }
    Some(Range { value: value.value, low: low.value, high: high.value })
}

fn not_known(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<NotKnown> {
    let given = reader.require(fields, "figure") & reader.require(fields, "why");
    let figure = text(reader, fields, "figure");
    let why = text(reader, fields, "why");
    given.then_some(())?;
    Some(NotKnown { figure: figure?, why: why? })
}

fn misfit(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<Misfit> {
    let given = reader.require(fields, "kind") & reader.require(fields, "why");
    let kind = reader.word(fields, &MISFIT_KIND);
    let why = text(reader, fields, "why");
    given.then_some(())?;
    Some(Misfit { kind: kind?.means, why: why? })
}

fn histogram(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Vec<Bin> {
    let mut bins: Vec<Bin> = Vec::new();
    for (value, own) in maps(reader, fields, "histogram", &BIN, MAX_BINS) {
        for key in ["from", "to", "count"] {
            reader.require(&own, key);
        }
        let [from, to] = ["from", "to"].map(|key| reader.time(&own, key).map(|at| at.value));
        let count = reader.count(&own, "count");
        let (Some(from), Some(to), Some(count)) = (from, to, count) else { continue };
        let is_behind = bins.last().is_none_or(|last| last.to <= from);
        if !is_behind || to <= from {
            let title = "a bin that is not behind the one before".to_owned();
            let label = "bins go up and do not overlap";
            reader.report(Diagnostic::new(&codes::VALUE_OUT_OF_RANGE, title, value.span, label));
        }
        bins.push(Bin { from, to, count: count.value });
    }
    bins
}

fn trial(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<Trial> {
    let own = reader.one(fields, "confirmed", &TRIAL)?;
    for key in ["holds", "predicted", "measured"] {
        reader.require(&own, key);
    }
    let holds = reader.flag(&own, "holds");
    let [predicted, measured] = ["predicted", "measured"].map(|key| tail(reader, &own, key));
    Some(Trial { holds: holds?, predicted: predicted?, measured: measured? })
}

fn tail(reader: &mut Reader<'_>, fields: &Fields<'_>, key: &'static str) -> Option<Tail> {
    let own = reader.one(fields, key, &TAIL)?;
    let [p50, p99] = ["p50", "p99"].map(|part| {
        reader.require(&own, part);
        reader.time(&own, part)
    });
    Some(Tail { p50: p50?.value, p99: p99?.value })
}

fn trips(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Vec<Trips> {
    let mut found = Vec::new();
    let mut left = MAX_TRIPS;
    for (value, own) in maps(reader, fields, "trips", &TRIPS, MAX_TRIPS) {
        for key in ["request", "answer", "times"] {
            reader.require(&own, key);
        }
        let [request, answer] = ["request", "answer"].map(|key| frame(reader, &own, key));
        let times = reader.values(&own, "times").unwrap_or_default();
        let (Some(request), Some(answer)) = (request, answer) else { continue };
        let Some(rest) = left.checked_sub(times.len()) else {
            let title = format!("more than {MAX_TRIPS} round trips");
            let label = "the limit is reached here";
            reader.report(Diagnostic::new(&codes::TOO_LARGE, title, value.span, label));
            break;
        };
        left = rest;
        let times = times.into_iter().map(crate::reader::picoseconds).collect::<Vec<Duration>>();
        found.push(Trips { request, answer, times });
    }
    found
}

fn frame(reader: &mut Reader<'_>, fields: &Fields<'_>, key: &'static str) -> Option<Bytes> {
    let size = reader.size(fields, key)?;
    if size.value > Bytes::new(MAX_FRAME) {
        let (rule, found) = (format!("at most {MAX_FRAME} B"), size.value.to_string());
        reader.out_of_range(key, size.span, &rule, &found, "octets of one frame");
        return None;
    }
    Some(size.value)
}
