//! The outcome of a load in all formats.

use std::fmt::Write;

use rtether_model::quantity::BitRate;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Number;

use super::{Outcome, Totals};
use rtether::meter::Statistics;
use rtether::report::document::{self, Document};
use rtether::report::format::{Part, Render};
use rtether::report::table::{Cell, Screen, Table, Value};
use rtether::report::text::{plural, time};
use rtether::verdict::Conclusion;

impl Render for Outcome {
    fn parts(&self, _: Screen) -> Vec<Part> {
        vec![text(self).into()]
    }

    /// One row; what does not apply is empty.
    fn rows(&self) -> Table {
        Table::of([LoadJson::of(self)])
            .file("kind", |of| of.kind)
            .file("target", |of| of.target)
            .file("connections", |of| of.connections)
            .file("elapsed_ns", |of| digits(of.elapsed_ns))
            .file("sent_bytes", |of| of.sent_bytes)
            .file("received_bytes", |of| of.received_bytes)
            .file("sent_rate_bps", |of| of.sent_rate_bps)
            .file("received_rate_bps", |of| of.received_rate_bps)
            .file("files", |of| of.files)
            .file("file_time_min_ns", |of| digits(of.file_time_min_ns))
            .file("file_time_median_ns", |of| digits(of.file_time_median_ns))
            .file("file_time_max_ns", |of| digits(of.file_time_max_ns))
            .file("retransmissions", |of| of.retransmissions)
            .file("datagrams_sent", |of| of.datagrams_sent)
            .file("datagrams_not_taken", |of| of.datagrams_not_taken)
            .file("datagrams_received", |of| of.datagrams_received)
            .file("datagrams_lost", |of| of.datagrams_lost)
            .file("datagrams_duplicated", |of| of.datagrams_duplicated)
            .file("datagrams_reordered", |of| of.datagrams_reordered)
            .done()
    }

    fn json(&self) -> String {
        document::text(&LoadJson::of(self))
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

/// What a load has moved. Payload counts as sent once it is at the sink.
#[derive(Serialize, JsonSchema)]
pub(crate) struct LoadJson<'a> {
    /// `PASS` if payload has arrived, else `NO ANSWER`; `NOT MEASURED` if a connection ended early,
    /// and `INTERRUPTED`.
    conclusion: Conclusion,
    /// What was asked for: `ftp-up`, `ftp-down`, `ftp-both`, `greedy` or `udp`.
    kind: &'static str,
    /// Address or host name of the sink.
    target: &'a str,
    /// Simultaneous connections.
    connections: u32,
    /// Size of a file, or of the payload of a datagram.
    size_bytes: u64,
    /// Rate of all datagrams together that was asked for, on the wire; `null` for as fast as
    /// possible.
    rate_bps: Option<u64>,
    /// Time from the first connection to the sink's last word; of datagrams, until the last was
    /// sent.
    elapsed_ns: f64,
    /// Payload that has arrived at the sink.
    sent_bytes: u64,
    /// Payload that has arrived from the sink.
    received_bytes: u64,
    /// Rate of `sent_bytes` in `elapsed_ns`.
    sent_rate_bps: u64,
    /// Rate of `received_bytes` in `elapsed_ns`.
    received_rate_bps: u64,
    /// Complete files, in both directions.
    files: u64,
    /// Shortest time of a complete file; `null` without any.
    file_time_min_ns: Option<f64>,
    /// Median time of a file.
    file_time_median_ns: Option<f64>,
    /// Longest time of a file.
    file_time_max_ns: Option<f64>,
    /// TCP segments sent again, by the sender of the files.
    retransmissions: u64,
    /// Datagrams sent.
    datagrams_sent: u64,
    /// Datagrams that the system did not take.
    datagrams_not_taken: u64,
    /// Distinct datagrams that arrived at the sink; `null` if the sink's last word is missing.
    datagrams_received: Option<u64>,
    /// Datagrams sent that did not arrive; `null` likewise.
    datagrams_lost: Option<u64>,
    /// Copies of datagrams that arrived.
    datagrams_duplicated: u64,
    /// Datagrams overtaken by later ones.
    datagrams_reordered: u64,
    /// Why connections ended before their time.
    ended_early: &'a [String],
}

impl Document for LoadJson<'_> {
    const SCHEMA: &'static str = "rtether.load/1";
}

impl<'a> LoadJson<'a> {
    fn of(outcome: &'a Outcome) -> Self {
        let (options, totals) = (&outcome.options, outcome.totals());
        let times = Statistics::of(outcome.file_times());
        Self {
            conclusion: outcome.conclusion(),
            kind: options.kind.name(),
            target: &options.target,
            connections: options.connections,
            size_bytes: options.size.get(),
            rate_bps: options.rate.map(BitRate::as_bps),
            elapsed_ns: outcome.elapsed.as_ns_f64(),
            sent_bytes: totals.up,
            received_bytes: totals.down,
            sent_rate_bps: outcome.rate(totals.up).as_bps(),
            received_rate_bps: outcome.rate(totals.down).as_bps(),
            files: totals.files,
            file_time_min_ns: times.as_ref().map(|of| of.min.as_ns_f64()),
            file_time_median_ns: times.as_ref().map(|of| of.median.as_ns_f64()),
            file_time_max_ns: times.as_ref().map(|of| of.max.as_ns_f64()),
            retransmissions: totals.retransmissions,
            datagrams_sent: totals.sent,
            datagrams_not_taken: totals.unsent,
            datagrams_received: totals.received,
            datagrams_lost: totals.received.map(|all| totals.sent.saturating_sub(all)),
            datagrams_duplicated: totals.duplicates,
            datagrams_reordered: totals.reordered,
            ended_early: &outcome.failures,
        }
    }
}

/// Returns a number with the digits of JSON.
fn digits(number: impl Into<Option<f64>>) -> Cell {
    number.into().and_then(Number::from_f64).map(Value::Json).into()
}
