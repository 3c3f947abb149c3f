//! Measurements as CSV, one row per stream.

use rtether_model::network::NodeId;
use rtether_model::quantity::Duration;

use super::Measured;
use super::output::{Row, rows};
use rtether::scenario::Scenario;
use rtether::sheet::Sheet;
use rtether::verdict::Assessment;

/// Returns one CSV row per stream, times in nanoseconds.
///
/// # Errors
/// If the rows cannot be written, which does not happen in memory.
pub fn csv(
    scenario: &Scenario,
    measured: &Measured,
    assessments: &[Assessment],
) -> Result<String, csv::Error> {
    let name = |id: NodeId| scenario.network.node(id).name.as_str();
    let mut writer = Sheet::from_writer(Vec::new());
    writer.write_record([
        "flow",
        "talker",
        "listener",
        "released",
        "delivered",
        "lost",
        "missed",
        "duplicates",
        "reordered",
        "stalled",
        "outside_profile",
        "mean_ns",
        "p50_ns",
        "p99_ns",
        "p999_ns",
        "max_ns",
        "deadline_ns",
        "verdict",
    ])?;
    for row in rows(scenario, measured, assessments) {
        let Row { flow, stream, .. } = &row;
        let ns = |time: Option<Duration>| {
            time.map_or_else(String::new, |time| time.as_ns_floor().to_string())
        };
        let max = (stream.latency.count > 0).then_some(stream.latency.max);
        let counts = [
            stream.released,
            stream.delivered,
            stream.lost,
            stream.missed,
            stream.duplicates,
            stream.reordered,
            stream.stalled,
            stream.outside,
        ];
        let mut record = vec![
            flow.name.clone(),
            name(flow.talker).to_owned(),
            name(row.listener).to_owned(),
        ];
        record.extend(counts.map(|count| count.to_string()));
        record.extend([
            ns(stream.latency.mean()),
            ns(stream.quantile(1, 2)),
            ns(stream.quantile(99, 100)),
            ns(stream.quantile(999, 1_000)),
            ns(max),
            ns(flow.deadline),
            row.assessment.verdict.name().to_owned(),
        ]);
        writer.write_record(record)?;
    }
    Ok(writer.into_text())
}
