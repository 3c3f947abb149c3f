//! The outcome of a load in all formats.

use std::fmt::Write;

use rtether_model::quantity::BitRate;
use serde_json::{Value, json};

use super::{Outcome, Totals};
use rtether::meter::Statistics;
use rtether::report::format::{Part, Render};
use rtether::report::table::{Rows, Screen, Table, Value as Cell};
use rtether::report::text::{plural, time};

impl Render for Outcome {
    fn parts(&self, _: Screen) -> Vec<Part> {
        vec![text(self).into()]
    }

    /// One row; what does not apply is empty.
    fn rows(&self) -> Table {
        let rows = Table::of([self])
            .file("kind", |of| of.options.kind.name())
            .file("target", |of| &of.options.target)
            .file("connections", |of| of.options.connections);
        let add = |rows: Rows<_>, (name, value): (&'static str, Value)| {
            rows.file(name, |_| match value.as_number() {
                Some(number) => Cell::Json(number.clone()),
                None => Cell::None,
            })
        };
        figures(self).into_iter().fold(rows, add).done()
    }

    fn json(&self) -> String {
        json(self)
    }
}

/// Returns the outcome in a few lines.
fn text(outcome: &Outcome) -> String {
    let (options, totals) = (&outcome.options, outcome.totals());
    let said = format!(
        "{} to {}, {}, {}",
        options.kind.name(),
        options.target,
        plural(usize::try_from(options.connections).unwrap_or(0), "connection"),
        time(outcome.elapsed)
    );
    let mut text = outcome.conclusion().sentence(&said) + "\n";
    for (name, octets) in [("to the sink", totals.up), ("from the sink", totals.down)] {
        if octets > 0 {
            let rate = megabits(outcome.rate(octets));
            _ = writeln!(text, "{name}: {octets} B of payload, {rate}");
        }
    }
    if !outcome.parts.is_empty() {
        files(outcome, &totals, &mut text);
    }
    if !outcome.floods.is_empty() {
        let fate = match totals.received {
            Some(received) => format!(
                "{received} received, {} lost, {} copies, {} overtaken",
                totals.sent.saturating_sub(received),
                totals.duplicates,
                totals.reordered
            ),
            None => "the final report of the sink is missing".into(),
        };
        _ = writeln!(
            text,
            "datagrams: {} sent, {} refused by the system, {fate}",
            totals.sent, totals.unsent
        );
    }
    for failure in &outcome.failures {
        _ = writeln!(text, "ended early: {failure}");
    }
    text
}

fn files(outcome: &Outcome, totals: &Totals, text: &mut String) {
    _ = write!(
        text,
        "{} complete, {} retransmitted",
        plural(usize::try_from(totals.files).unwrap_or(0), "file"),
        plural(usize::try_from(totals.retransmissions).unwrap_or(0), "segment")
    );
    if let Some(of) = Statistics::of(outcome.file_times()) {
        _ = write!(
            text,
            "; a file took {} to {}, median {}",
            time(of.min),
            time(of.max),
            time(of.median)
        );
    }
    text.push('\n');
}

/// Writes a rate in Mbit/s with two decimals.
fn megabits(rate: BitRate) -> String {
    let hundredths = rate.as_bps() / 10_000;
    format!("{}.{:02} Mbit/s", hundredths / 100, hundredths % 100)
}

/// Name and value of each figure, for JSON and CSV.
fn figures(outcome: &Outcome) -> Vec<(&'static str, Value)> {
    let totals = outcome.totals();
    let times = Statistics::of(outcome.file_times());
    let lost = totals.received.map(|all| totals.sent.saturating_sub(all));
    let ns = |pick: fn(&Statistics) -> rtether_model::quantity::Duration| {
        times.as_ref().map(|of| pick(of).as_ns_f64())
    };
    vec![
        ("elapsed_ns", json!(outcome.elapsed.as_ns_f64())),
        ("sent_bytes", json!(totals.up)),
        ("received_bytes", json!(totals.down)),
        ("sent_rate_bps", json!(outcome.rate(totals.up).as_bps())),
        ("received_rate_bps", json!(outcome.rate(totals.down).as_bps())),
        ("files", json!(totals.files)),
        ("file_time_min_ns", json!(ns(|of| of.min))),
        ("file_time_median_ns", json!(ns(|of| of.median))),
        ("file_time_max_ns", json!(ns(|of| of.max))),
        ("retransmissions", json!(totals.retransmissions)),
        ("datagrams_sent", json!(totals.sent)),
        ("datagrams_not_taken", json!(totals.unsent)),
        ("datagrams_received", json!(totals.received)),
        ("datagrams_lost", json!(lost)),
        ("datagrams_duplicated", json!(totals.duplicates)),
        ("datagrams_reordered", json!(totals.reordered)),
    ]
}

/// Returns the outcome as one JSON document, schema `rtether.load/1`.
fn json(outcome: &Outcome) -> String {
    let options = &outcome.options;
    let mut document = json!({
        "schema": "rtether.load/1",
        "conclusion": outcome.conclusion().word(),
        "kind": options.kind.name(),
        "target": options.target,
        "connections": options.connections,
        "size_bytes": options.size.get(),
        "rate_bps": options.rate.map(BitRate::as_bps),
    });
    for (name, value) in figures(outcome) {
        document[name] = value;
    }
    document["ended_early"] = json!(outcome.failures);
    format!("{document:#}\n")
}
