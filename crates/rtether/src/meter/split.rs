//! Parts of round trips, one-way delays and stalls in the outputs.

use std::fmt::Write;

use rtether_model::quantity::Duration;
use serde_json::{Value, json};

use super::{Clocks, Decomposition, Measurement, Stall, Statistics, Valentim};
use crate::report::format::Part;
use crate::report::table::Table;
use crate::report::text::{plural, time};

/// Appends parts, one-way delays and the split by Valentim's method.
pub(super) fn append(measurement: &Measurement, all: &mut Vec<Part>) {
    if measurement.is_stamped {
        shown_parts(measurement, all);
    }
    if let Some(clocks) = measurement.clocks {
        directions(measurement, clocks, all);
    }
    if let Some(valentim) = &measurement.valentim {
        by_valentim(valentim, all);
    }
}

/// Appends a table with lines below it.
fn push(all: &mut Vec<Part>, table: Table, lines: String) {
    all.extend([Part::Lines("\n".into()), table.into(), lines.into()]);
}

/// Returns a few statistics of each row.
fn few_of(title: &'static str, rows: Vec<(&'static str, Statistics)>) -> Table {
    let rows = Table::of(rows).shown(title, |(name, _)| *name);
    let columns = ["min", "median", "p99", "max"].into_iter().enumerate();
    columns.fold(rows, |rows, (index, title)| rows.amount(title, |(_, of)| few(of)[index])).done()
}

fn by_valentim(valentim: &Valentim, all: &mut Vec<Part>) {
    let given = &valentim.given;
    let half = given.round_trip / 2;
    let means = format!(
        "from means without stalls: {} over the network, {} over loopback; wire at {} Mbit/s\n",
        time(given.round_trip),
        time(given.loopback),
        given.rate.as_bps() / 1_000_000
    );
    match &valentim.costs {
        Ok(costs) => {
            let rows = costs.named().map(|(name, label, span)| (format!("{name}, {label}"), span));
            let sum = ("half a round trip".to_owned(), half);
            let table = Table::of(rows.into_iter().chain([sum]))
                .shown("by the method of Valentim", |(name, _)| name.clone())
                .amount("time", |(_, span)| *span)
                .amount("share", |(_, span)| share(*span, half))
                .done();
            push(all, table, means);
        }
        Err(contradiction) => all.push(format!("\n{contradiction}\n{means}").into()),
    }
}

fn share(part: Duration, whole: Duration) -> String {
    format!("{:.1} %", 100.0 * part.as_ns_f64() / whole.as_ns_f64())
}

/// Returns the result of Valentim's method as JSON.
pub(super) fn valentim_json(measurement: &Measurement) -> Value {
    let Some(Valentim { given, costs }) = &measurement.valentim else {
        return Value::Null;
    };
    let parts = costs.as_ref().map(|costs| {
        let parts = costs.named().into_iter();
        parts
            .map(|(name, _, span)| {
                let name = format!("{}_ns", name.to_lowercase());
                (name, json!(span.as_ns_f64()))
            })
            .collect::<serde_json::Map<_, _>>()
    });
    json!({
        "round_trip_mean_ns": given.round_trip.as_ns_f64(),
        "loopback_mean_ns": given.loopback.as_ns_f64(),
        "rate_bps": given.rate.as_bps(),
        "parts": parts.as_ref().ok(),
        "contradiction": parts.as_ref().err().map(ToString::to_string),
    })
}

/// Reports how often the host stalled.
pub(super) fn remark_gaps(measurement: &Measurement, text: &mut String) {
    let seen = measurement.gaps.seen();
    let Some(longest) = seen.iter().map(Stall::length).max() else {
        return;
    };
    _ = writeln!(
        text,
        "this host stalled for more than 300 us {}, for up to {}; {} by it",
        times(seen.len()),
        time(longest),
        match measurement.hit() {
            0 => "no round trip was hit".to_owned(),
            hit => format!("{} hit", plural(hit, "round trip")),
        }
    );
}

fn times(count: usize) -> String {
    match count {
        1 => "once".into(),
        count => format!("{count} times"),
    }
}

fn few(of: &Statistics) -> [Duration; 4] {
    [of.min, of.median, of.percentiles[1], of.max]
}

/// Returns the statistics of each part, then of the round trips that were split.
fn rows(found: &Decomposition) -> Vec<(&'static str, &'static str, Statistics)> {
    let of_part = |(index, part): (usize, &super::Part)| {
        let values = found.rows.iter().map(|(_, parts)| parts[index]);
        Some((part.label(), part.name(), Statistics::of(values)?))
    };
    let mut rows: Vec<_> = found.parts.iter().enumerate().filter_map(of_part).collect();
    let whole = Statistics::of(found.rows.iter().map(|(sample, _)| sample.round_trip));
    rows.extend(whole.map(|of| ("round trip", "round_trip", of)));
    rows
}

fn shown_parts(measurement: &Measurement, all: &mut Vec<Part>) {
    let found = Decomposition::of(&measurement.paths);
    if found.rows.is_empty() {
        let none = "\nno round trip has the kernel's stamps of its own side\n";
        all.push(none.to_owned().into());
        return;
    }
    let rows = rows(&found).into_iter().map(|(label, _, of)| (label, of));
    let mut text = format!(
        "of {}, whose parts add up exactly; {} with fewer stamps left out\n",
        plural(found.rows.len(), "round trip"),
        found.left_out
    );
    if found.parts.contains(&super::Part::WireAndPeer) {
        text += "the peer has no stamps: `rtether echo --stamps` there gives its parts\n";
    }
    push(all, few_of("part", rows.collect()), text);
}

/// Statistics of one-way delays: to the peer's program, and back to ours.
fn one_way(measurement: &Measurement) -> Vec<(&'static str, Statistics)> {
    let delays: Vec<_> = measurement.paths.iter().filter_map(super::Path::one_way).collect();
    let there = Statistics::of(delays.iter().map(|(there, _)| *there));
    let back = Statistics::of(delays.iter().map(|(_, back)| *back));
    let named = [there.map(|of| ("there", of)), back.map(|of| ("back", of))];
    named.into_iter().flatten().collect()
}

fn directions(measurement: &Measurement, clocks: Clocks, all: &mut Vec<Part>) {
    let text = match clocks {
        Clocks::Same => "from program to program; both have the same clock\n".to_owned(),
        Clocks::Apart { error } => format!(
            "from program to program; by what both kernels say, the clocks are up to {} apart, and \
             so far may these delays be off\n",
            time(error)
        ),
    };
    push(all, few_of("one way", one_way(measurement)), text);
}

/// Returns the parts as JSON.
pub(super) fn parts_json(measurement: &Measurement) -> Value {
    if !measurement.is_stamped {
        return Value::Null;
    }
    let found = Decomposition::of(&measurement.paths);
    let parts = rows(&found).into_iter().map(|(_, name, of)| named(name, &of));
    json!({
        "round_trips": found.rows.len(),
        "left_out": found.left_out,
        "parts": parts.collect::<Vec<_>>(),
    })
}

/// Returns the one-way delays as JSON.
pub(super) fn one_way_json(measurement: &Measurement) -> Value {
    let error = match measurement.clocks {
        None => return Value::Null,
        Some(Clocks::Same) => Duration::ZERO,
        Some(Clocks::Apart { error }) => error,
    };
    let directions = one_way(measurement);
    let directions = directions.iter().map(|(name, of)| named(name, of));
    json!({
        "clock_error_ns": error.as_ns_f64(),
        "directions": directions.collect::<Vec<_>>(),
    })
}

fn named(name: &str, of: &Statistics) -> Value {
    let [min, median, p99, max] = few(of).map(Duration::as_ns_f64);
    json!({ "name": name, "min_ns": min, "median_ns": median, "p99_ns": p99, "max_ns": max })
}

/// Returns the stalls as JSON.
pub(super) fn gaps_json(measurement: &Measurement) -> Value {
    let gaps = measurement.gaps.seen().iter().map(|gap| {
        json!({
            "from_ns": gap.from.since_start().as_ns_f64(),
            "until_ns": gap.until.since_start().as_ns_f64(),
        })
    });
    json!({
        "round_trips_hit": measurement.hit(),
        "list": gaps.collect::<Vec<_>>(),
    })
}

/// Returns one row per split round trip, with a column for each part.
pub fn parts(measurement: &Measurement) -> Table {
    let found = Decomposition::of(&measurement.paths);
    let rows = Table::of(&found.rows)
        .file("series", |(sample, _)| sample.series)
        .file("sequence", |(sample, _)| sample.sequence)
        .file("round_trip_ns", |(sample, _)| sample.round_trip);
    let parts = found.parts.iter().enumerate();
    let rows = parts.fold(rows, |rows, (index, part)| {
        let name = format!("{}_ns", part.name());
        rows.file(name, |(_, parts)| parts[index])
    });
    rows.done()
}
