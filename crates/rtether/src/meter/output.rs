//! Measurements as table, JSON and CSV.

use std::fmt::Write;

use rtether_model::quantity::Duration;
use serde_json::{Value, json};

use super::aligned::aligned;
use super::{Measurement, Outlier, Statistics, split};
use crate::report::text::{exact_ns, plural, time};
use crate::sheet::Sheet;

/// Most outliers in a table.
const SHOWN: usize = 10;

/// Columns of statistics: title, name in files, value.
fn columns(of: &Statistics) -> [(&'static str, &'static str, Duration); 10] {
    [
        ("min", "min_ns", of.min),
        ("mean", "mean_ns", of.mean),
        ("median", "median_ns", of.median),
        ("p90", "p90_ns", of.percentiles[0]),
        ("p99", "p99_ns", of.percentiles[1]),
        ("p99.9", "p99_9_ns", of.percentiles[2]),
        ("max", "max_ns", of.max),
        ("std", "standard_deviation_ns", of.standard_deviation),
        ("mdev", "mdev_ns", of.mdev),
        ("mad", "mean_deviation_ns", of.mean_deviation),
    ]
}

/// Rows: each series with samples, then all together.
fn rows(measurement: &Measurement) -> Vec<(String, Statistics)> {
    let numbers = 0..measurement.subject.series;
    let series = numbers.filter_map(|number| {
        let found = measurement.of_series(number)?;
        Some((format!("series {}", number + 1), found))
    });
    let mut rows: Vec<_> = series.collect();
    rows.extend(measurement.all().map(|all| ("all".to_owned(), all)));
    if rows.len() == 2 {
        rows.remove(0);
    }
    if measurement.hit() > 0 {
        let others = measurement.without_hit();
        rows.extend(others.map(|others| ("without stalls".to_owned(), others)));
    }
    rows
}

/// Returns the measurement as a table with notes.
pub fn table(measurement: &Measurement) -> String {
    let subject = &measurement.subject;
    let mut text = format!(
        "{} via {}, {} of payload: round trips\n",
        subject.target,
        subject.via,
        plural(subject.payload, "octet"),
    );
    let rows = rows(measurement);
    if let Some((_, all)) = rows.last() {
        let names = columns(all).map(|(name, ..)| name);
        let header: Vec<&str> = ["", "samples"].into_iter().chain(names).collect();
        let rows = rows.iter().map(|(name, of)| {
            let cells = columns(of).map(|(.., value)| time(value));
            let head = [name.clone(), of.count.to_string()];
            head.into_iter().chain(cells).collect()
        });
        _ = writeln!(text, "{}", aligned(&header, rows));
    }
    split::append(measurement, &mut text);
    remarks(measurement, &mut text);
    text
}

fn remarks(measurement: &Measurement, text: &mut String) {
    let counters = &measurement.counters;
    _ = writeln!(text, "\n{} of {} lost", counters.lost, counters.sent);
    if let Some((misses, due, (low, high))) = measurement.misses() {
        let deadline = measurement.subject.deadline.map_or_else(String::new, time);
        _ = writeln!(
            text,
            "{misses} of {due} beyond {deadline} or lost; 95 % interval of the ratio {low:.2e} to \
             {high:.2e}"
        );
    }
    if let Some(combined) = measurement
        .combined()
        .filter(|_| measurement.subject.series > 1)
    {
        _ = writeln!(
            text,
            "standard deviation of all series: within {}, total {}",
            time(combined.pooled_within),
            time(combined.total)
        );
    }
    let oddities = oddities(measurement).into_iter().filter(|odd| odd.1 > 0);
    for (name, count) in oddities {
        _ = writeln!(text, "{}: {count}", in_words(name));
    }
    // RTPS sends nothing before a responder is found.
    if counters.answered == 0 && (counters.sent > 0 || measurement.subject.via == "rtps") {
        _ = writeln!(text, "no reply{}", hint(measurement));
    }
    split::remark_gaps(measurement, text);
    let outliers = measurement.outliers();
    if !outliers.is_empty() {
        _ = writeln!(
            text,
            "{} far from the others (more than three interquartile ranges above the third \
             quartile):",
            plural(outliers.len(), "place")
        );
        for outlier in largest(&outliers) {
            _ = writeln!(text, "  {}", outlier_line(measurement, outlier));
        }
        if outliers.len() > SHOWN {
            _ = writeln!(text, "  and {} smaller ones", outliers.len() - SHOWN);
        }
    }
    if let Some(why) = &measurement.ended {
        _ = writeln!(text, "ended early: {why}");
    }
}

/// Returns the largest outliers, in time order.
fn largest(outliers: &[Outlier]) -> Vec<&Outlier> {
    let mut shown: Vec<&Outlier> = outliers.iter().collect();
    shown.sort_by_key(|outlier| std::cmp::Reverse(outlier.sample.round_trip));
    shown.truncate(SHOWN);
    shown.sort_by_key(|outlier| outlier.sample.sequence);
    shown
}

fn outlier_line(measurement: &Measurement, outlier: &Outlier) -> String {
    let sample = &outlier.sample;
    let more = match outlier.count {
        1 => String::new(),
        count => format!(" and {} around it", count - 1),
    };
    let cause = if measurement.is_hit(sample) {
        "; this host stalled"
    } else {
        ""
    };
    format!(
        "{} at {:.3} s, request {}{more}{cause}",
        time(sample.round_trip),
        sample.sent_at.since_start().as_secs_f64(),
        sample.sequence
    )
}

/// Suggests what the user may have forgotten.
fn hint(measurement: &Measurement) -> &'static str {
    match measurement.subject.via.as_str() {
        "icmp" => "; is the host up, and does it let ICMP through?",
        "cndep" => "; is the board up, or `rtether echo --via cndep` running there?",
        _ => "; is `rtether echo` running there, with the same `--via`?",
    }
}

/// Returns a counter's description.
fn in_words(name: &'static str) -> &'static str {
    match name {
        "late" => "replies after the timeout",
        "duplicates" => "further replies to the same request",
        "reordered" => "replies overtaken by a later one",
        "unknown" => "replies that match no request",
        "skipped" => "requests skipped because this host was late",
        "malformed" => "malformed packets received",
        "foreign" => "messages for others",
        "refusals" => "refusals received",
        "unreachable" => "times a host reported the port unreachable",
        "unsent" => "requests that the system did not take",
        "rests" => "rests, so that the kernel does not throttle the spinning thread",
        "clock_steps" => "times the clock of the day was set; stamps of that round trip left out",
        "tracks_dropped" => "round trips whose stamps were not kept",
        other => other,
    }
}

/// Counters that are zero in a healthy measurement.
fn oddities(measurement: &Measurement) -> Vec<(&'static str, u64)> {
    let counters = &measurement.counters;
    let mut all = vec![
        ("late", counters.late),
        ("duplicates", counters.duplicates),
        ("reordered", counters.reordered),
        ("unknown", counters.unknown),
        ("skipped", counters.skipped),
    ];
    all.extend(&measurement.oddities);
    all
}

/// Returns everything except the samples as one JSON document, schema `rtether.ping/1`.
pub fn json(measurement: &Measurement) -> String {
    let subject = &measurement.subject;
    let statistics = |of: &Statistics| {
        let mut value = json!({ "count": of.count });
        for (_, name, span) in columns(of) {
            value[name] = json!(span.as_ns_f64());
        }
        value
    };
    let series = (0..subject.series).map(|number| {
        let found = measurement.of_series(number);
        found.as_ref().map_or(Value::Null, statistics)
    });
    let counters = &measurement.counters;
    let mut counts = json!({
        "sent": counters.sent,
        "answered": counters.answered,
        "lost": counters.lost,
    });
    for (name, count) in oddities(measurement) {
        counts[name] = json!(count);
    }
    let outliers = measurement.outliers().into_iter().map(|outlier| {
        json!({
            "sequence": outlier.sample.sequence,
            "at_ns": outlier.sample.sent_at.since_start().as_ns_f64(),
            "round_trip_ns": outlier.sample.round_trip.as_ns_f64(),
            "count": outlier.count,
            "is_hit_by_stall": measurement.is_hit(&outlier.sample),
        })
    });
    let document = json!({
        "schema": "rtether.ping/1",
        "target": subject.target,
        "via": subject.via,
        "payload_bytes": subject.payload,
        "all": measurement.all().as_ref().map_or(Value::Null, statistics),
        "without_stalls": measurement.without_hit().as_ref().map_or(Value::Null, statistics),
        "series": series.collect::<Vec<_>>(),
        "combined": measurement.combined().map(|combined| json!({
            "pooled_within_ns": combined.pooled_within.as_ns_f64(),
            "total_ns": combined.total.as_ns_f64(),
        })),
        "counters": counts,
        "misses": measurement.misses().map(|(misses, due, (low, high))| json!({
            "deadline_ns": subject.deadline.map(Duration::as_ns_f64),
            "misses": misses,
            "due": due,
            "ratio_low": low,
            "ratio_high": high,
        })),
        "outliers": outliers.collect::<Vec<_>>(),
        "stalls": split::gaps_json(measurement),
        "decomposition": split::parts_json(measurement),
        "one_way": split::one_way_json(measurement),
        "valentim": split::valentim_json(measurement),
        "ended_early": measurement.ended,
    });
    format!("{document:#}\n")
}

/// Returns one CSV row per series, and one for all.
pub fn csv(measurement: &Measurement) -> String {
    let mut writer = Sheet::from_writer(Vec::new());
    for (index, (name, of)) in rows(measurement).into_iter().enumerate() {
        let columns = columns(&of);
        if index == 0 {
            let names = columns.map(|(_, name, _)| name);
            drop(writer.write_record(["series", "samples"].into_iter().chain(names)));
        }
        let values = columns.map(|(.., value)| exact_ns(value.as_ps()));
        drop(writer.write_record([name, of.count.to_string()].into_iter().chain(values)));
    }
    writer.into_text()
}

/// Returns one CSV row per round trip, in the order of the replies (R128).
pub fn samples_csv(measurement: &Measurement) -> String {
    let mut writer = Sheet::from_writer(Vec::new());
    let header = [
        "series",
        "sequence",
        "sent_at_ns",
        "round_trip_ns",
        "is_reordered",
        "is_hit_by_stall",
    ];
    drop(writer.write_record(header));
    for sample in &measurement.samples {
        drop(writer.write_record([
            sample.series.to_string(),
            sample.sequence.to_string(),
            exact_ns(sample.sent_at.since_start().as_ps()),
            exact_ns(sample.round_trip.as_ps()),
            u8::from(sample.is_reordered).to_string(),
            u8::from(measurement.is_hit(sample)).to_string(),
        ]));
    }
    writer.into_text()
}
