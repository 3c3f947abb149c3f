//! The file of a profile.

use std::fmt::Write as _;

use rtether_model::characters::is_unseen;
use rtether_proto::identify::Order;

use super::stack;
use super::words::{servers_word, time};
use crate::device::{FIGURES, MAX_TEXT, Profile, Range, Series, Tail};
use crate::scalar::scalar;

/// Writing to a text does not fail, so that results of `write!` are left alone.
pub(super) fn write(profile: &Profile) -> String {
    let mut out = String::from("rtether: 1\nprofile:\n");
    for (key, value) in [
        ("device", Some(&profile.device)),
        ("firmware", profile.firmware.as_ref()),
        ("address", profile.address.as_ref()),
        ("date", Some(&profile.date)),
        ("host", profile.host.as_ref()),
        ("stack_from", profile.stack_from.as_ref()),
        ("reply_from", profile.reply_from.as_ref()),
    ] {
        if let Some(value) = value {
            let _ = writeln!(out, "  {key}: {}", text(value));
        }
    }
    out.push_str(&stack::stack(profile).unwrap_or_default());
    out.push_str(&stack::reply(profile).unwrap_or_default());
    if !profile.requests.is_empty() {
        out.push_str("requests:\n");
    }
    for series in &profile.requests {
        write_series(&mut out, series);
    }
    out
}

fn write_series(out: &mut String, series: &Series) {
    let _ = writeln!(out, "  - protocol: {}", text(&series.protocol));
    let _ = writeln!(out, "    method: {}", series.method.word());
    for (key, count) in
        [("sent", series.sent), ("answered", series.answered), ("lost", series.lost)]
    {
        let _ = writeln!(out, "    {key}: {count}");
    }
    for key in FIGURES {
        if let Some(Range { value, low, high }) = series.figure(key) {
            let [value, low, high] = [value, low, high].map(time);
            let _ = writeln!(out, "    {key}: {{ value: {value}, low: {low}, high: {high} }}");
        }
    }
    write_words(out, series);
    list(out, "unknown", &series.unknown, |own| {
        format!("{{ figure: {}, why: {} }}", text(&own.figure), text(&own.why))
    });
    list(out, "misfits", &series.misfits, |own| {
        format!("{{ kind: {}, why: {} }}", own.kind.word(), text(&own.why))
    });
    list(out, "histogram", &series.histogram, |bin| {
        format!("{{ from: {}, to: {}, count: {} }}", time(bin.from), time(bin.to), bin.count)
    });
    if let Some(trial) = &series.confirmed {
        let [predicted, measured] = [trial.predicted, trial.measured].map(tail);
        let holds = trial.holds;
        let parts = format!("holds: {holds}, predicted: {predicted}, measured: {measured}");
        let _ = writeln!(out, "    confirmed: {{ {parts} }}");
    }
    list(out, "trips", &series.trips, |own| {
        let times: Vec<String> = own.times.iter().copied().map(time).collect();
        let (request, answer) = (own.request, own.answer);
        format!("{{ request: {request}, answer: {answer}, times: [{}] }}", times.join(", "))
    });
}

fn tail(Tail { p50, p99 }: Tail) -> String {
    format!("{{ p50: {}, p99: {} }}", time(p50), time(p99))
}

fn write_words(out: &mut String, series: &Series) {
    if let Some(servers) = series.servers {
        let word = servers_word(servers);
        let _ = writeln!(out, "    servers: {word}");
    }
    if let Some(order) = series.order {
        let word = match order {
            Order::Arrival => "arrival",
            Order::Priority => "priority",
        };
        let _ = writeln!(out, "    order: {word}");
    }
    if let Some(queue) = series.queue {
        let _ = writeln!(out, "    queue: {queue}");
    }
}

fn list<T>(out: &mut String, key: &str, items: &[T], line: impl Fn(&T) -> String) {
    if !items.is_empty() {
        let _ = writeln!(out, "    {key}:");
    }
    for item in items {
        let _ = writeln!(out, "      - {}", line(item));
    }
}

/// Returns a text as a scalar of one line: devices name themselves, and are not trusted.
fn text(text: &str) -> String {
    let seen = text.chars().map(|c| if is_unseen(c) { ' ' } else { c });
    scalar(&seen.take(MAX_TEXT).collect::<String>())
}
