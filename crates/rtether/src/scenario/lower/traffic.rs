//! When a flow sends.

use rtether_model::flow::{Bulk, Phase, Tag, TcpParameters, Traffic, Transfer};
use rtether_model::quantity::{Bytes, Duration};
use rtether_model::wire::{self, Encapsulation};

use super::MAX_TRANSFERS;
use super::links::head;
use crate::scenario::codes;
use crate::scenario::diagnostic::{Diagnostic, quote};
use crate::scenario::keys::table::{BULK_TRANSFER, TCP};
use crate::scenario::plan::RunPlan;
use crate::scenario::reader::{At, Fields, Reader, bits_per_second};
use crate::scenario::units::{self, Quantity};

/// The kinds of traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Periodic,
    Sporadic,
    Poisson,
    Flood,
    Bulk,
}

/// Keys that only some kinds have, with those kinds.
const KIND_KEYS: &[(&str, &[Kind])] = &[
    ("period", &[Kind::Periodic]),
    (
        "rate",
        &[Kind::Periodic, Kind::Poisson, Kind::Flood, Kind::Bulk],
    ),
    ("phase", &[Kind::Periodic]),
    ("jitter", &[Kind::Periodic]),
    ("min_gap", &[Kind::Sporadic]),
    ("mean_gap", &[Kind::Sporadic, Kind::Poisson]),
    ("burst", &[Kind::Sporadic]),
    ("total", &[Kind::Bulk]),
    ("every", &[Kind::Bulk]),
    ("transfers", &[Kind::Bulk]),
    ("tcp", &[Kind::Bulk]),
];

/// Returns the kind that is said, or follows from the keys.
pub(super) fn kind(reader: &mut Reader<'_>, fields: &Fields<'_>, over: Encapsulation) -> Kind {
    let word = reader.word(fields, "kind");
    let kind = match word.map(|word| word.value) {
        Some("sporadic") => Kind::Sporadic,
        Some("poisson") => Kind::Poisson,
        Some("flood") => Kind::Flood,
        Some("bulk") => Kind::Bulk,
        Some(_) => Kind::Periodic,
        None if over == Encapsulation::Tcp => Kind::Bulk,
        None if fields.has("min_gap") => Kind::Sporadic,
        None if fields.has("total") || fields.has("transfers") => Kind::Bulk,
        None => Kind::Periodic,
    };
    if (over == Encapsulation::Tcp) != (kind == Kind::Bulk) {
        let place = fields.key_span("over").or(fields.key_span("kind"));
        let place = place
            .or(fields.key_span("total"))
            .or(fields.key_span("transfers"));
        let title = "bulk transfers use TCP, and TCP carries bulk transfers only";
        let label = format!("of {}", fields.owner);
        reader.report(
            Diagnostic::new(
                &codes::CONFLICTING_KEYS,
                title,
                place.unwrap_or(fields.at),
                label,
            )
            .help("write `over: tcp` and `kind: bulk` together")
            .help("for single messages write `over: udp`"),
        );
    }
    let what = match kind {
        Kind::Periodic => "a periodic flow",
        Kind::Sporadic => "a sporadic flow",
        Kind::Poisson => "a poisson flow",
        Kind::Flood => "a flood",
        Kind::Bulk => "a bulk transfer",
    };
    for (key, kinds) in KIND_KEYS {
        if !kinds.contains(&kind) {
            reader.misplaced(fields, &[key], what);
        }
    }
    kind
}

/// Reads the keys of a kind.
pub(super) fn traffic(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    kind: Kind,
    frame: (Option<Bytes>, Encapsulation, Option<Tag>),
    run: &RunPlan,
) -> Option<Traffic> {
    match kind {
        Kind::Periodic => periodic(reader, fields),
        Kind::Sporadic => sporadic(reader, fields),
        Kind::Poisson => poisson(reader, fields),
        Kind::Flood => flood(reader, fields, frame),
        Kind::Bulk => bulk(reader, fields, run).map(Traffic::Bulk),
    }
}

/// Reads one of two keys that say how often, or complains that neither is there.
fn how_often(reader: &mut Reader<'_>, fields: &Fields<'_>, time_key: &str) -> Option<At<Duration>> {
    if reader.conflict(fields, time_key, "rate") {
        return None;
    }
    if fields.has("rate") {
        let At { value: text, span } = reader.scalar(fields, "rate")?;
        if units::quantity_of(text) == Some(Quantity::BitRate) {
            let title = format!("`rate` is a packet rate here, found {}", quote(text));
            let label = "bits per second do not say when a packet is released";
            reader.report(
                Diagnostic::new(&codes::WRONG_QUANTITY, title, span, label)
                    .help("write `rate: 1000 packets/s` or `period: 1 ms`")
                    .help("for load at a constant bit rate add `kind: flood`"),
            );
            return None;
        }
        return reader.interval(fields, "rate");
    }
    if !fields.has(time_key) {
        let title = format!("how often {} sends is not said", fields.owner);
        let label = "belongs to this";
        reader.report(
            Diagnostic::new(&codes::MISSING_KEY, title, fields.at, label)
                .help(format!("add `{time_key}: 2 ms` or `rate: 500 packets/s`"))
                .help("or `min_gap: 10 ms` for events, `over: tcp` for bulk transfers"),
        );
        return None;
    }
    reader.positive_time(fields, time_key)
}

fn periodic(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<Traffic> {
    let period = how_often(reader, fields, "period");
    let jitter = reader.time(fields, "jitter");
    let phase = match reader.scalar(fields, "phase").map(|phase| phase.value) {
        None | Some("random") => Phase::Random,
        Some("synchronized") => Phase::Fixed(Duration::ZERO),
        Some(_) => {
            let time = reader.time(fields, "phase");
            Phase::Fixed(time.map_or(Duration::ZERO, |time| time.value))
        }
    };
    let period = period?.value;
    if let Some(jitter) = jitter.filter(|jitter| jitter.value >= period) {
        let found = jitter.value.to_string();
        let rule = format!("less than the period, {period}");
        let why = "releases would overtake each other";
        reader.out_of_range("jitter", jitter.span, &rule, &found, why);
    }
    Some(Traffic::Periodic {
        period,
        phase,
        release_jitter: jitter.map_or(Duration::ZERO, |jitter| jitter.value),
    })
}

fn sporadic(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<Traffic> {
    reader.require(fields, "min_gap");
    let min_gap = reader.positive_time(fields, "min_gap");
    let mean_gap = reader.positive_time(fields, "mean_gap");
    let burst = reader.count(fields, "burst");
    let min_gap = min_gap?.value;
    if let Some(mean) = mean_gap.filter(|mean| mean.value < min_gap) {
        let found = mean.value.to_string();
        let rule = format!("at least `min_gap`, {min_gap}");
        let why = "a mean below the minimum";
        reader.out_of_range("mean_gap", mean.span, &rule, &found, why);
    }
    Some(Traffic::Sporadic {
        min_gap,
        // The densest the contract allows, which is what a bound assumes.
        mean_gap: mean_gap.map_or(min_gap, |mean| mean.value),
        burst: burst.map_or(1, |burst| u32::try_from(burst.value).unwrap_or(1)),
    })
}

fn poisson(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<Traffic> {
    let mean_interval = how_often(reader, fields, "mean_gap")?.value;
    Some(Traffic::Poisson { mean_interval })
}

fn flood(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    (payload, over, tag): (Option<Bytes>, Encapsulation, Option<Tag>),
) -> Option<Traffic> {
    reader.require(fields, "rate");
    let At { value: text, span } = reader.scalar(fields, "rate")?;
    if units::quantity_of(text) == Some(Quantity::PacketRate) {
        let interval = reader.interval(fields, "rate")?.value;
        return Some(Traffic::Flood { interval });
    }
    let rate = reader.quantity(fields, "rate", Quantity::BitRate)?.value;
    if rate < 1_000 {
        let why = "of a flood";
        reader.out_of_range("rate", span, "at least 1 kbit/s", &quote(text), why);
        return None;
    }
    let mut frame = wire::frame_size(payload?, over);
    if tag.is_some() {
        frame += wire::TAG;
    }
    // Rounded up: the flood never exceeds the rate it was given.
    let interval = bits_per_second(rate).time_ceil(wire::wire_size(frame));
    Some(Traffic::Flood { interval })
}

fn bulk(reader: &mut Reader<'_>, fields: &Fields<'_>, run: &RunPlan) -> Option<Bulk> {
    let tcp = tcp(reader, fields);
    let rate = reader.quantity(fields, "rate", Quantity::BitRate);
    if let Some(rate) = rate.filter(|rate| rate.value < 1_000) {
        let found = bits_per_second(rate.value).to_string();
        let why = "of an application";
        reader.out_of_range("rate", rate.span, "at least 1 kbit/s", &found, why);
    }
    let transfers = if fields.has("transfers") {
        for key in ["start", "total", "every"] {
            reader.conflict(fields, "transfers", key);
        }
        listed(reader, fields)?
    } else {
        repeated(reader, fields, run)?
    };
    Some(Bulk {
        transfers,
        bursts: None,
        rate: rate.map(|rate| bits_per_second(rate.value)),
        tcp,
    })
}

fn listed(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<Vec<Transfer>> {
    let mut list = Vec::new();
    for item in reader.items(fields, "transfers") {
        let owner = format!("a transfer of {}", fields.owner);
        let inner = reader.fields(item, &BULK_TRANSFER, owner, head(item))?;
        let given = reader.require(&inner, "at") & reader.require(&inner, "size");
        let start = reader.time(&inner, "at");
        let size = nonempty(reader, &inner, "size");
        if let (true, Some(start), Some(size)) = (given, start, size) {
            list.push(Transfer {
                start: start.value,
                size: Some(size),
            });
        }
    }
    if list.is_empty() {
        let place = fields.key_span("transfers").unwrap_or(fields.at);
        let title = format!("{} has no transfers", fields.owner);
        reader.report(
            Diagnostic::new(&codes::MISSING_KEY, title, place, "the list is empty")
                .help("for example `transfers: [{ at: 2 s, size: 1 MB }]`"),
        );
    }
    list.sort_by_key(|transfer| transfer.start);
    Some(list)
}

fn nonempty(reader: &mut Reader<'_>, fields: &Fields<'_>, key: &str) -> Option<Bytes> {
    let size = reader.size(fields, key)?;
    if size.value == Bytes::ZERO {
        let why = "an empty transfer takes no time";
        reader.out_of_range(key, size.span, "at least 1 B", "0 B", why);
        return None;
    }
    Some(size.value)
}

fn repeated(reader: &mut Reader<'_>, fields: &Fields<'_>, run: &RunPlan) -> Option<Vec<Transfer>> {
    let start = reader.time(fields, "start");
    let start = start.map_or(Duration::ZERO, |time| time.value);
    let size = nonempty(reader, fields, "total");
    let once = vec![Transfer { start, size }];
    let Some(every) = reader.positive_time(fields, "every") else {
        return Some(once);
    };
    if !fields.has("total") {
        let title = format!("{} has no `total`", fields.owner);
        let label = "how much to send each time";
        reader.report(
            Diagnostic::new(&codes::MISSING_KEY, title, every.span, label)
                .help("add `total: 1 MB`"),
        );
        return None;
    }
    let stop = reader
        .time(fields, "stop")
        .map_or(run.duration, |stop| stop.value);
    let end = stop.as_ps().min(run.duration.as_ps());
    let count = (end - start.as_ps()).max(0) / every.value.as_ps() + 1;
    if usize::try_from(count).is_ok_and(|count| count > MAX_TRANSFERS) || count > 1_000_000_000 {
        let found = every.value.to_string();
        let why = "more than a million transfers";
        let rule = "a larger part of the run";
        reader.out_of_range("every", every.span, rule, &found, why);
        return None;
    }
    let starts = (0..count).map(|n| start + every.value * n);
    let within = starts.filter(|&at| at == start || at.as_ps() < end);
    Some(within.map(|start| Transfer { start, size }).collect())
}

fn tcp(reader: &mut Reader<'_>, fields: &Fields<'_>) -> TcpParameters {
    let mut tcp = TcpParameters::default();
    let Some(inner) = reader.one(fields, "tcp", &TCP) else {
        return tcp;
    };
    let most = Encapsulation::Tcp.max_payload();
    if let Some(segment) = reader.size(&inner, "segment") {
        if segment.value == Bytes::ZERO || segment.value > most {
            let rule = format!("1 B to {most}");
            let found = segment.value.to_string();
            let why = "a frame carries 1500 B, 40 B of them headers";
            reader.out_of_range("segment", segment.span, &rule, &found, why);
        }
        tcp.segment = segment.value;
    }
    if let Some(window) = reader.size(&inner, "window") {
        let most = Bytes::new(1 << 30);
        if window.value < tcp.segment || window.value > most {
            let rule = format!("from one segment, {}, to 1 GiB", tcp.segment);
            let found = window.value.to_string();
            let why = "RFC 7323 scales windows to 1 GiB";
            reader.out_of_range("window", window.span, &rule, &found, why);
        }
        tcp.window = window.value;
    }
    if let Some(count) = reader.count(&inner, "initial_window") {
        tcp.initial_window = u32::try_from(count.value).unwrap_or(10);
    }
    if let Some(count) = reader.count(&inner, "ack_every") {
        tcp.ack_every = u32::try_from(count.value).unwrap_or(2);
    }
    for (key, slot, most) in [
        ("ack_delay", &mut tcp.ack_delay, Duration::from_secs(10)),
        ("min_rto", &mut tcp.min_rto, Duration::from_secs(60)),
    ] {
        if let Some(time) = reader.positive_time(&inner, key) {
            if time.value > most {
                let found = time.value.to_string();
                let rule = format!("at most {most}");
                reader.out_of_range(key, time.span, &rule, &found, "of a connection");
            }
            *slot = time.value;
        }
    }
    tcp
}
