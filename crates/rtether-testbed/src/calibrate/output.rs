//! Calibration results in all formats.

use rtether_model::quantity::Duration;
use serde_json::{Value, json};

use super::{Calibration, Row, path_name, protocol_name, waiting_name};
use rtether::meter::Statistics;
use rtether::report::format::{Part, Render};
use rtether::report::table::{Screen, Table};
use rtether::report::text::time;

/// Statistics of one combination: round trip, send and receive.
fn parts(row: &Row) -> [(&'static str, Option<Statistics>); 3] {
    [
        ("round_trip", Statistics::of(row.totals())),
        ("send", Statistics::of(row.sends())),
        ("receive", Statistics::of(row.receives())),
    ]
}

/// Figures of a distribution with their names in JSON and CSV.
fn figures(of: &Statistics) -> [(&'static str, Duration); 7] {
    [
        ("min_ns", of.min),
        ("median_ns", of.median),
        ("mean_ns", of.mean),
        ("p90_ns", of.percentiles[0]),
        ("p99_ns", of.percentiles[1]),
        ("p99_9_ns", of.percentiles[2]),
        ("max_ns", of.max),
    ]
}

/// Counters of round trips that the distributions leave out.
fn counters(row: &Row) -> [(&'static str, u32); 4] {
    let measured = &row.measured;
    [
        ("stalled", measured.stalled),
        ("stalls", measured.stalls),
        ("lost", measured.lost),
        ("unstamped", measured.unstamped),
    ]
}

impl Render for Calibration {
    /// The distributions, and a line about what they leave out.
    fn parts(&self, _: Screen) -> Vec<Part> {
        let priority = self.priority.map_or_else(
            || "ordinary priority; see `rtether doctor --for realtime`".to_owned(),
            |priority| format!("SCHED_FIFO {priority}"),
        );
        let awake = if self.is_awake { ", cores kept awake" } else { "" };
        let head = format!(
            "{}, Linux {}, {priority}, one request every {}{awake}\n",
            self.host,
            self.kernel,
            time(self.interval),
        );
        let sum = |index: usize| -> u32 {
            let rows = self.rows.iter();
            rows.map(|row| counters(row)[index].1).sum()
        };
        let ended = if self.is_partial { "ended early\n" } else { "" };
        let rest = format!(
            "\nleft out: {} round trips that touched one of {} stalls of the host, {} lost, {} \
             without a stamp that makes sense\n{ended}",
            sum(0),
            sum(1),
            sum(2),
            sum(3)
        );
        vec![head.into(), combinations(&self.rows).into(), rest.into()]
    }

    /// One row per distribution.
    fn rows(&self) -> Table {
        let rows = self.rows.iter().flat_map(|row| {
            let known = parts(row).into_iter();
            known.filter_map(move |(part, of)| Some((row, part, of?)))
        });
        let table = Table::of(rows)
            .file("path", |(row, ..)| path_name(row.path))
            .file("via", |(row, ..)| protocol_name(row.protocol))
            .file("waiting", |(row, ..)| waiting_name(row.waiting))
            .file("payload_bytes", |(row, ..)| row.size)
            .file("part", |(_, part, _)| *part)
            .file("count", |(.., of)| of.count);
        let names = ["min_ns", "median_ns", "mean_ns", "p90_ns", "p99_ns", "p99_9_ns", "max_ns"];
        let table = names
            .into_iter()
            .enumerate()
            .fold(table, |table, (index, name)| table.file(name, |(.., of)| figures(of)[index].1));
        let names = ["stalled", "stalls", "lost", "unstamped"];
        let table = names.into_iter().enumerate().fold(table, |table, (index, name)| {
            table.file(name, |(row, ..)| counters(row)[index].1)
        });
        table.done()
    }

    fn json(&self) -> String {
        json(self)
    }
}

/// Returns one row per combination, for people.
fn combinations(rows: &[Row]) -> Table {
    type Pick = fn(&Statistics) -> Duration;
    let columns: [(&str, usize, Pick); 8] = [
        ("RTT p50", 0, |of| of.median),
        ("p99", 0, |of| of.percentiles[1]),
        ("p99.9", 0, |of| of.percentiles[2]),
        ("max", 0, |of| of.max),
        ("send p50", 1, |of| of.median),
        ("p99", 1, |of| of.percentiles[1]),
        ("receive p50", 2, |of| of.median),
        ("p99", 2, |of| of.percentiles[1]),
    ];
    let rows = rows.iter().map(|row| (row, parts(row).map(|(_, of)| of)));
    let table = Table::of(rows)
        .shown("over", |(row, _)| path_name(row.path))
        .shown("via", |(row, _)| protocol_name(row.protocol))
        .shown("waiting", |(row, _)| waiting_name(row.waiting))
        .amount("B", |(row, _)| row.size)
        .amount("samples", |(row, _)| row.measured.round_trips.len())
        .rank(2);
    let table = columns.into_iter().fold(table, |table, (title, part, pick)| {
        let rank = if title == "RTT p50" { 0 } else { 3 };
        table.amount(title, |(_, parts)| parts[part].as_ref().map(pick)).rank(rank)
    });
    table.amount("stalled", |(row, _)| row.measured.stalled).rank(1).done()
}

/// Returns all distributions as one JSON document, schema `rtether.calibrate/1`.
fn json(calibration: &Calibration) -> String {
    let rows = calibration.rows.iter().map(|row| {
        let mut value = json!({
            "path": path_name(row.path),
            "via": protocol_name(row.protocol),
            "waiting": waiting_name(row.waiting),
            "payload_bytes": row.size,
            "frame_bytes": row.frame().get(),
            "count": row.measured.round_trips.len(),
        });
        for (name, count) in counters(row) {
            value[name] = json!(count);
        }
        for (name, statistics) in parts(row) {
            value[name] = statistics.map_or(Value::Null, |of| {
                let all =
                    figures(&of).map(|(name, span)| (name.to_owned(), json!(span.as_ns_f64())));
                Value::Object(all.into_iter().collect())
            });
        }
        value
    });
    let document = json!({
        "schema": "rtether.calibrate/1",
        "host": calibration.host,
        "kernel": calibration.kernel,
        "processors": calibration.processors,
        "priority": calibration.priority,
        "awake": calibration.is_awake,
        "cores": calibration.cores,
        "interval_ns": calibration.interval.as_ns_f64(),
        "is_partial": calibration.is_partial,
        "rows": rows.collect::<Vec<_>>(),
    });
    format!("{document:#}\n")
}
