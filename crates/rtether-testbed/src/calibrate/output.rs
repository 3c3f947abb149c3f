//! Calibration results as table, JSON and CSV.

use std::fmt::Write;

use comfy_table::{CellAlignment, LineStyle, Table, TableStyle};
use rtether_model::quantity::Duration;
use serde_json::{Value, json};

use super::{Calibration, Row, path_name, protocol_name, waiting_name};
use rtether::meter::Statistics;
use rtether::report::text::{exact_ns, time};
use rtether::sheet::Sheet;

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

fn head(row: &Row) -> [String; 4] {
    [
        path_name(row.path).to_owned(),
        protocol_name(row.protocol).to_owned(),
        waiting_name(row.waiting).to_owned(),
        row.size.to_string(),
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

/// Returns a table of the distributions and a line about what they leave out.
pub fn table(calibration: &Calibration) -> String {
    let priority = calibration.priority.map_or_else(
        || "ordinary priority; see `rtether doctor --for realtime`".to_owned(),
        |priority| format!("SCHED_FIFO {priority}"),
    );
    let mut text = format!(
        "{}, Linux {}, {priority}, one request every {}{}\n",
        calibration.host,
        calibration.kernel,
        time(calibration.interval),
        if calibration.is_awake {
            ", cores kept awake"
        } else {
            ""
        }
    );
    _ = writeln!(text, "{}\n", distributions(&calibration.rows));
    let sum = |index: usize| -> u32 {
        calibration
            .rows
            .iter()
            .map(|row| counters(row)[index].1)
            .sum()
    };
    _ = writeln!(
        text,
        "left out: {} round trips that touched one of {} stalls of the host, {} lost, {} without \
         a stamp that makes sense",
        sum(0),
        sum(1),
        sum(2),
        sum(3)
    );
    if calibration.is_partial {
        text.push_str("ended early\n");
    }
    text
}

/// Returns one line per combination and part.
fn distributions(rows: &[Row]) -> Table {
    let mut table = Table::new();
    let rule = LineStyle::none().fill('\u{2500}').junction('\u{2500}');
    table.load_style(TableStyle::new().header_separator(rule));
    table.set_header([
        "over",
        "via",
        "waiting",
        "B",
        "samples",
        "RTT p50",
        "p99",
        "p99.9",
        "max",
        "send p50",
        "p99",
        "receive p50",
        "p99",
        "stalled",
    ]);
    for row in rows {
        let [total, send, receive] = parts(row).map(|(_, statistics)| statistics);
        let show = |of: Option<&Statistics>, pick: fn(&Statistics) -> Duration| {
            of.map_or_else(|| "-".into(), |of| time(pick(of)))
        };
        let (total, send, receive) = (total.as_ref(), send.as_ref(), receive.as_ref());
        let mut cells = head(row).to_vec();
        cells.extend([
            row.measured.round_trips.len().to_string(),
            show(total, |of| of.median),
            show(total, |of| of.percentiles[1]),
            show(total, |of| of.percentiles[2]),
            show(total, |of| of.max),
            show(send, |of| of.median),
            show(send, |of| of.percentiles[1]),
            show(receive, |of| of.median),
            show(receive, |of| of.percentiles[1]),
            row.measured.stalled.to_string(),
        ]);
        table.add_row(cells);
    }
    for column in table.column_iter_mut().skip(3) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// Returns all distributions as one JSON document, schema `rtether.calibrate/1`.
pub fn json(calibration: &Calibration) -> String {
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

/// Returns one CSV row per distribution.
pub fn csv(calibration: &Calibration) -> String {
    let mut writer = Sheet::from_writer(Vec::new());
    let names = [
        "path",
        "via",
        "waiting",
        "payload_bytes",
        "part",
        "count",
        "min_ns",
        "median_ns",
        "mean_ns",
        "p90_ns",
        "p99_ns",
        "p99_9_ns",
        "max_ns",
        "stalled",
        "stalls",
        "lost",
        "unstamped",
    ];
    // Writing to memory cannot fail.
    drop(writer.write_record(names));
    for row in &calibration.rows {
        let known = parts(row).into_iter();
        for (part, of) in known.filter_map(|(part, of)| Some((part, of?))) {
            let mut cells = head(row).to_vec();
            cells.extend([part.to_owned(), of.count.to_string()]);
            cells.extend(figures(&of).map(|(_, span)| exact_ns(span.as_ps())));
            cells.extend(counters(row).map(|(_, count)| count.to_string()));
            drop(writer.write_record(cells));
        }
    }
    writer.into_text()
}
