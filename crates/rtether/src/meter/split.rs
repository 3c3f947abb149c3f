//! Parts of round trips, one-way delays and stalls in the outputs.

use std::fmt::Write;

use rtether_model::quantity::Duration;
use serde_json::{Value, json};

use super::aligned::aligned;
use super::{Clocks, Decomposition, Measurement, Statistics, Valentim};
use crate::report::text::{exact_ns, plural, time};
use crate::sheet::Sheet;

/// Appends parts, one-way delays and stalls to the text.
pub(super) fn append(measurement: &Measurement, text: &mut String) {
    if measurement.is_stamped {
        parts(measurement, text);
    }
    if let Some(clocks) = measurement.clocks {
        directions(measurement, clocks, text);
    }
    if let Some(valentim) = &measurement.valentim {
        by_valentim(valentim, text);
    }
}

fn by_valentim(valentim: &Valentim, text: &mut String) {
    let given = &valentim.given;
    let half = given.round_trip / 2;
    match &valentim.costs {
        Ok(costs) => {
            let rows = costs.named().map(|(name, label, span)| {
                vec![format!("{name}, {label}"), time(span), share(span, half)]
            });
            let sum = vec![
                "half a round trip".to_owned(),
                time(half),
                share(half, half),
            ];
            let rows = rows.into_iter().chain([sum]);
            let header = ["by the method of Valentim", "time", "share"];
            _ = writeln!(text, "\n{}", aligned(&header, rows));
        }
        Err(contradiction) => _ = writeln!(text, "\n{contradiction}"),
    }
    _ = writeln!(
        text,
        "from means without stalls: {} over the network, {} over loopback; wire at {} Mbit/s",
        time(given.round_trip),
        time(given.loopback),
        given.rate.as_bps() / 1_000_000
    );
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
    if measurement.gaps.is_empty() {
        return;
    }
    let lengths = measurement.gaps.iter().map(|gap| gap.until - gap.from);
    let longest = lengths.max().unwrap_or(Duration::ZERO);
    _ = writeln!(
        text,
        "this host stalled for more than 300 us {}, for up to {}; {} by it",
        times(measurement.gaps.len()),
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

fn parts(measurement: &Measurement, text: &mut String) {
    let found = Decomposition::of(&measurement.paths);
    if found.rows.is_empty() {
        _ = writeln!(
            text,
            "\nno round trip has the kernel's stamps of its own side"
        );
        return;
    }
    let rows = rows(&found).into_iter().map(|(label, _, of)| {
        let cells = few(&of).map(time);
        [label.to_owned()].into_iter().chain(cells).collect()
    });
    let header = ["part", "min", "median", "p99", "max"];
    _ = writeln!(text, "\n{}", aligned(&header, rows));
    _ = writeln!(
        text,
        "of {}, whose parts add up exactly; {} with fewer stamps left out",
        plural(found.rows.len(), "round trip"),
        found.left_out
    );
    if found.parts.contains(&super::Part::WireAndPeer) {
        _ = writeln!(
            text,
            "the peer has no stamps: `rtether echo --stamps` there gives its parts"
        );
    }
}

/// Statistics of one-way delays: to the peer's program, and back to ours.
fn one_way(measurement: &Measurement) -> Vec<(&'static str, Statistics)> {
    let delays: Vec<_> = measurement
        .paths
        .iter()
        .filter_map(super::Path::one_way)
        .collect();
    let there = Statistics::of(delays.iter().map(|(there, _)| *there));
    let back = Statistics::of(delays.iter().map(|(_, back)| *back));
    let named = [there.map(|of| ("there", of)), back.map(|of| ("back", of))];
    named.into_iter().flatten().collect()
}

fn directions(measurement: &Measurement, clocks: Clocks, text: &mut String) {
    let rows = one_way(measurement).into_iter().map(|(name, of)| {
        let cells = few(&of).map(time);
        [name.to_owned()].into_iter().chain(cells).collect()
    });
    let header = ["one way", "min", "median", "p99", "max"];
    _ = writeln!(text, "\n{}", aligned(&header, rows));
    _ = match clocks {
        Clocks::Same => writeln!(text, "from program to program; both have the same clock"),
        Clocks::Apart { error } => writeln!(
            text,
            "from program to program; by what both kernels say, the clocks are up to {} apart, and \
             so far may these delays be off",
            time(error)
        ),
    };
}

/// Returns the parts as JSON.
pub(super) fn parts_json(measurement: &Measurement) -> Value {
    if !measurement.is_stamped {
        return Value::Null;
    }
    let found = Decomposition::of(&measurement.paths);
    let parts = rows(&found)
        .into_iter()
        .map(|(_, name, of)| named(name, &of));
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
    let gaps = measurement.gaps.iter().map(|gap| {
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

/// Returns one CSV row per split round trip, with a column for each part.
pub fn parts_csv(measurement: &Measurement) -> String {
    let found = Decomposition::of(&measurement.paths);
    let mut writer = Sheet::from_writer(Vec::new());
    let names = found.parts.iter().map(|part| format!("{}_ns", part.name()));
    let header = ["series", "sequence", "round_trip_ns"].map(str::to_owned);
    drop(writer.write_record(header.into_iter().chain(names)));
    for (sample, parts) in &found.rows {
        let head = [
            sample.series.to_string(),
            sample.sequence.to_string(),
            exact_ns(sample.round_trip.as_ps()),
        ];
        let parts = parts.iter().map(|span| exact_ns(span.as_ps()));
        drop(writer.write_record(head.into_iter().chain(parts)));
    }
    writer.into_text()
}
