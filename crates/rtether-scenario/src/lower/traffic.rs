//! When a flow sends.

use rtether_model::flow::{Phase, Tag, Traffic};
use rtether_model::quantity::{Bytes, Duration};
use rtether_model::wire::{self, Encapsulation, Frames};

use super::bulk::bulk;
use crate::codes;
use crate::diagnostic::{Diagnostic, quote};
use crate::help::Help;
use crate::keys::Words;
use crate::keys::table::{KIND, PHASE, Release};
use crate::plan::RunPlan;
use crate::reader::{At, Fields, Reader, bits_per_second};
use crate::units::{self, Quantity};

/// Keys that only some kinds have, with those kinds.
const KIND_KEYS: &[(&str, &[Release])] = &[
    ("period", &[Release::Periodic]),
    ("rate", &[Release::Periodic, Release::Poisson, Release::Flood, Release::Bulk]),
    ("phase", &[Release::Periodic]),
    ("jitter", &[Release::Periodic]),
    ("min_gap", &[Release::Sporadic]),
    ("mean_gap", &[Release::Sporadic, Release::Poisson]),
    ("burst", &[Release::Sporadic]),
    ("total", &[Release::Bulk]),
    ("every", &[Release::Bulk]),
    ("transfers", &[Release::Bulk]),
    ("bursts", &[Release::Bulk]),
    ("pause", &[Release::Adaptive]),
    ("timeout", &[Release::Adaptive]),
];

/// Keys of bulk transfers only; any of them selects that kind.
pub(super) const BULK_ONLY: [&str; 3] = ["total", "transfers", "bursts"];

/// Returns the kind, as stated or as implied by the keys.
pub(super) fn kind(reader: &mut Reader<'_>, fields: &Fields<'_>, over: Encapsulation) -> Release {
    let kind = match reader.word(fields, &KIND) {
        Some(word) => word.means,
        None if BULK_ONLY.iter().any(|key| fields.has(key)) => Release::Bulk,
        None if fields.has("min_gap") => Release::Sporadic,
        // TCP segments a transfer itself, so no `size` means bulk; a message has a size.
        None if over == Encapsulation::Tcp && !fields.has("size") && !fields.has("period") => {
            Release::Bulk
        }
        None => Release::Periodic,
    };
    check_transport(reader, fields, kind, over);
    let what = match kind {
        Release::Periodic => "a periodic flow",
        Release::Sporadic => "a sporadic flow",
        Release::Poisson => "a poisson flow",
        Release::Adaptive => "an adaptive flow",
        Release::Flood => "a flood",
        Release::Bulk => "a bulk transfer",
    };
    for (key, kinds) in KIND_KEYS {
        if !kinds.contains(&kind) {
            reader.misplaced(fields, &[key], what);
        }
    }
    kind
}

/// Reports kinds that TCP does not carry, and bulk over anything else.
fn check_transport(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    kind: Release,
    over: Encapsulation,
) {
    let tcp = over == Encapsulation::Tcp;
    let (title, help) = match kind {
        Release::Bulk if !tcp => ("bulk transfers use TCP", "remove `over`, or write `over: tcp`"),
        Release::Flood if tcp => (
            "a flood has no connection",
            "write `kind: bulk` to send as much as TCP can, or `over: udp`",
        ),
        Release::Periodic
        | Release::Sporadic
        | Release::Poisson
        | Release::Adaptive
        | Release::Flood
        | Release::Bulk => {
            if !tcp {
                reader.misplaced(fields, &["tcp"], "a flow that is not over TCP");
            }
            return;
        }
    };
    let known = ["over", "kind"].iter().chain(&BULK_ONLY);
    let place = known.copied().find_map(|key| fields.key_span(key));
    let label = format!("of {}", fields.owner);
    let place = place.unwrap_or(fields.at);
    reader.report(Diagnostic::new(&codes::CONFLICTING_KEYS, title, place, label).help(help));
}

/// Reads the keys of a kind.
pub(super) fn traffic(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    kind: Release,
    frame: (Option<Bytes>, Encapsulation, Option<Tag>),
    run: &RunPlan,
) -> Option<Traffic> {
    match kind {
        Release::Periodic => periodic(reader, fields),
        Release::Sporadic => sporadic(reader, fields),
        Release::Poisson => poisson(reader, fields),
        Release::Adaptive => adaptive(reader, fields),
        Release::Flood => flood(reader, fields, frame),
        Release::Bulk => bulk(reader, fields, run).map(Traffic::Bulk),
    }
}

/// Reads the period or the rate, or reports that neither is given.
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
        let title = format!("{} has neither a period nor a rate", fields.owner);
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
    let phase = phase(reader, fields, &PHASE);
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

/// Reads a phase: a word for it, or a time.
pub(super) fn phase(reader: &mut Reader<'_>, fields: &Fields<'_>, words: &Words<Phase>) -> Phase {
    let phase = reader.scalar(fields, words.key).map(|phase| phase.value);
    let phase = phase.map_or(Some(words.default()), |text| words.means(text));
    phase.unwrap_or_else(|| {
        let time = reader.time(fields, words.key);
        Phase::Fixed(time.map_or(Duration::ZERO, |time| time.value))
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
        // The densest traffic the contract allows, which bounds assume.
        mean_gap: mean_gap.map_or(min_gap, |mean| mean.value),
        burst: burst.map_or(1, |burst| u32::try_from(burst.value).unwrap_or(1)),
    })
}

fn poisson(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<Traffic> {
    let mean_interval = how_often(reader, fields, "mean_gap")?.value;
    Some(Traffic::Poisson { mean_interval })
}

fn adaptive(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<Traffic> {
    let pause = reader.time(fields, "pause");
    let timeout = reader.positive_time(fields, "timeout");
    if !fields.has("reply") {
        let title = format!("{} has no `reply`", fields.owner);
        let at = fields.key_span("kind").unwrap_or(fields.at);
        let label = "an adaptive flow sends when the answer is there";
        reader.report(
            Diagnostic::new(&codes::MISSING_KEY, title, at, label)
                .help(Help::add("reply: { size: 60 B }")),
        );
        return None;
    }
    Some(Traffic::Adaptive {
        pause: pause.map_or(Duration::ZERO, |time| time.value),
        timeout: timeout.map_or(Duration::from_secs(1), |time| time.value),
    })
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
    let tag = tag.map_or(Bytes::ZERO, |_| wire::TAG);
    // Rounded up: the flood never exceeds its rate.
    let interval = Frames::of_packet(payload?, over)
        .total(|frame| bits_per_second(rate).time_ceil(wire::wire_size(frame + tag)));
    Some(Traffic::Flood { interval })
}
