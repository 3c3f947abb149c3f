//! Export for other programs: `HdrHistogram` log and Prometheus text.

use std::fmt::Write;

use hdrhistogram::Histogram;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::IntervalLogWriterBuilder;
use rtether_model::quantity::{Duration, Instant};

use super::Measurement;

/// Returns all round trips as an `HdrHistogram` interval log in nanoseconds, with three significant
/// digits.
///
/// # Errors
/// Returns a message if the histogram cannot be written.
pub fn hdr_log(measurement: &Measurement) -> Result<String, String> {
    let mut histogram = Histogram::<u64>::new(3).map_err(|error| error.to_string())?;
    for sample in &measurement.samples {
        let ns = u64::try_from(sample.round_trip.as_ns_floor()).unwrap_or(0);
        histogram.saturating_record(ns.max(1));
    }
    let ends = measurement.samples.iter().map(|s| s.sent_at + s.round_trip);
    let length = ends.max().map_or(Duration::ZERO, Instant::since_start);
    let length = std::time::Duration::from_nanos(u64::try_from(length.as_ns_floor()).unwrap_or(0));
    let (mut text, mut serializer) = (Vec::new(), V2DeflateSerializer::new());
    let failed = |error: &dyn std::fmt::Debug| format!("writing the histogram: {error:?}");
    let mut log = IntervalLogWriterBuilder::new()
        .add_comment("rtether ping, nanoseconds")
        .begin_log_with(&mut text, &mut serializer)
        .map_err(|error| failed(&error))?;
    log.write_histogram(&histogram, std::time::Duration::ZERO, length, None)
        .map_err(|error| failed(&error))?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// Returns counters and percentiles in the Prometheus text format.
pub fn prometheus(measurement: &Measurement) -> String {
    let subject = &measurement.subject;
    let labels =
        format!("target=\"{}\",via=\"{}\"", escaped(&subject.target), escaped(&subject.via));
    let counters = &measurement.counters;
    let mut text = String::new();
    for (name, help, value) in [
        ("sent", "Requests sent", counters.sent),
        ("answered", "Replies in time", counters.answered),
        ("lost", "Requests without a reply in time", counters.lost),
        ("late", "Replies after the timeout", counters.late),
        ("duplicates", "Further replies", counters.duplicates),
        ("reordered", "Replies overtaken by a later one", counters.reordered),
    ] {
        let name = format!("rtether_probe_{name}_total");
        _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} counter");
        _ = writeln!(text, "{name}{{{labels}}} {value}");
    }
    if let Some(all) = measurement.all() {
        let name = "rtether_probe_round_trip_seconds";
        _ = writeln!(text, "# HELP {name} Round-trip time\n# TYPE {name} summary");
        let quantiles = [
            ("0.5", all.median),
            ("0.9", all.percentiles[0]),
            ("0.99", all.percentiles[1]),
            ("0.999", all.percentiles[2]),
        ];
        for (quantile, value) in quantiles {
            let value = value.as_secs_f64();
            _ = writeln!(text, "{name}{{{labels},quantile=\"{quantile}\"}} {value}");
        }
        let sum: f64 = measurement.samples.iter().map(|s| s.round_trip.as_secs_f64()).sum();
        _ = writeln!(text, "{name}_sum{{{labels}}} {sum}");
        _ = writeln!(text, "{name}_count{{{labels}}} {}", all.count);
    }
    text
}

fn escaped(label: &str) -> String {
    label.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
