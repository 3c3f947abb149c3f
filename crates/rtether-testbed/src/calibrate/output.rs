//! Calibration results in all formats.

use rtether_model::quantity::Duration;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::{Calibration, Row, path_name, protocol_name, waiting_name};
use rtether::meter::Statistics;
use rtether::report::document::{self, Document};
use rtether::report::format::{Part, Render};
use rtether::report::table::{Screen, Table};
use rtether::report::text::time;

/// What the network stack of a host costs.
#[derive(Serialize, JsonSchema)]
pub(crate) struct CalibrateJson<'a> {
    /// Name of the host.
    host: &'a str,
    /// Version of its kernel.
    kernel: &'a str,
    /// Number of its processors.
    processors: usize,
    /// Priority of `SCHED_FIFO` of the two ends; `null` for ordinary tasks.
    priority: Option<u8>,
    /// Whether cores were kept from deep sleep.
    awake: bool,
    /// Cores of the two ends; `null` if they were not pinned.
    cores: Option<[usize; 2]>,
    /// Time between requests.
    interval_ns: DecimalNs,
    /// Whether Ctrl-C ended it early.
    is_partial: bool,
    /// Each combination of path, protocol, way to wait and size.
    rows: Vec<CombinationJson>,
}

impl Document for CalibrateJson<'_> {
    const SCHEMA: &'static str = "rtether.calibrate/1";
}

#[derive(Serialize, JsonSchema)]
struct CombinationJson {
    /// Path measured over: `loopback` or `veth`.
    path: &'static str,
    /// Protocol that carried the payload: `udp`, `raw` or `icmp`.
    via: &'static str,
    /// How the ends wait: `block` or `spin`.
    waiting: &'static str,
    /// Size of the payload.
    payload_bytes: usize,
    /// Size of the untagged frame with it, from addresses to check sequence.
    frame_bytes: u64,
    /// Round trips that no stall touched; the distributions are theirs.
    count: usize,
    /// Round trips that touched a stall of the host, and are left out.
    stalled: u32,
    /// Stalls that were seen.
    stalls: u32,
    /// Requests without an answer.
    lost: u32,
    /// Answers without a stamp that makes sense.
    unstamped: u32,
    /// Round trips; `null` without any.
    round_trip: Option<DistributionJson>,
    /// Costs of sending, of both ends together; `null` for ICMP, whose far end is the kernel.
    send: Option<DistributionJson>,
    /// Costs of receiving, likewise.
    receive: Option<DistributionJson>,
}

#[derive(Clone, Copy, Serialize, JsonSchema)]
struct DistributionJson {
    /// How many there are; not in the document.
    #[serde(skip)]
    count: u64,
    /// The least.
    min_ns: DecimalNs,
    /// The median.
    median_ns: DecimalNs,
    /// The mean.
    mean_ns: DecimalNs,
    /// The 90th percentile.
    p90_ns: DecimalNs,
    /// The 99th percentile.
    p99_ns: DecimalNs,
    /// The 99.9th percentile.
    p99_9_ns: DecimalNs,
    /// The largest.
    max_ns: DecimalNs,
}

/// A time, written in nanoseconds with decimals.
#[derive(Clone, Copy, JsonSchema)]
#[schemars(transparent)]
struct DecimalNs(#[schemars(with = "f64")] Duration);

impl Serialize for DecimalNs {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.0.as_ns_f64())
    }
}

impl<'a> CalibrateJson<'a> {
    fn of(calibration: &'a Calibration) -> Self {
        Self {
            host: &calibration.host,
            kernel: &calibration.kernel,
            processors: calibration.processors,
            priority: calibration.priority,
            awake: calibration.is_awake,
            cores: calibration.cores,
            interval_ns: DecimalNs(calibration.interval),
            is_partial: calibration.is_partial,
            rows: calibration.rows.iter().map(CombinationJson::of).collect(),
        }
    }
}

impl CombinationJson {
    fn of(row: &Row) -> Self {
        let measured = &row.measured;
        Self {
            path: path_name(row.path),
            via: protocol_name(row.protocol),
            waiting: waiting_name(row.waiting),
            payload_bytes: row.size,
            frame_bytes: row.frame().get(),
            count: measured.round_trips.len(),
            stalled: measured.stalled,
            stalls: measured.stalls,
            lost: measured.lost,
            unstamped: measured.unstamped,
            round_trip: DistributionJson::of(row.totals()),
            send: DistributionJson::of(row.sends()),
            receive: DistributionJson::of(row.receives()),
        }
    }

    /// Returns the distributions with their names; none that is missing.
    fn parts(&self) -> impl Iterator<Item = (&'static str, DistributionJson)> {
        let all = [("round_trip", self.round_trip), ("send", self.send), ("receive", self.receive)];
        all.into_iter().filter_map(|(name, of)| Some((name, of?)))
    }
}

impl DistributionJson {
    fn of(times: impl Iterator<Item = Duration>) -> Option<Self> {
        let of = Statistics::of(times)?;
        let [p90_ns, p99_ns, p99_9_ns] = of.percentiles.map(DecimalNs);
        Some(Self {
            count: of.count,
            min_ns: DecimalNs(of.min),
            median_ns: DecimalNs(of.median),
            mean_ns: DecimalNs(of.mean),
            p90_ns,
            p99_ns,
            p99_9_ns,
            max_ns: DecimalNs(of.max),
        })
    }
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
        let ended = if self.is_partial { "ended early\n" } else { "" };
        let rows = CalibrateJson::of(self).rows;
        let sum = |count: fn(&CombinationJson) -> u32| rows.iter().map(count).sum::<u32>();
        let rest = format!(
            "\nleft out: {} round trips that touched one of {} stalls of the host, {} lost, {} \
             without a stamp that makes sense\n{ended}",
            sum(|row| row.stalled),
            sum(|row| row.stalls),
            sum(|row| row.lost),
            sum(|row| row.unstamped)
        );
        vec![head.into(), combinations(&rows).into(), rest.into()]
    }

    /// One row per distribution.
    fn rows(&self) -> Table {
        let all = CalibrateJson::of(self).rows;
        let rows = all.iter().flat_map(|row| row.parts().map(move |(part, of)| (row, part, of)));
        Table::of(rows)
            .file("path", |(row, ..)| row.path)
            .file("via", |(row, ..)| row.via)
            .file("waiting", |(row, ..)| row.waiting)
            .file("payload_bytes", |(row, ..)| row.payload_bytes)
            .file("part", |(_, part, _)| *part)
            .file("count", |(.., of)| of.count)
            .file("min_ns", |(.., of)| of.min_ns.0)
            .file("median_ns", |(.., of)| of.median_ns.0)
            .file("mean_ns", |(.., of)| of.mean_ns.0)
            .file("p90_ns", |(.., of)| of.p90_ns.0)
            .file("p99_ns", |(.., of)| of.p99_ns.0)
            .file("p99_9_ns", |(.., of)| of.p99_9_ns.0)
            .file("max_ns", |(.., of)| of.max_ns.0)
            .file("stalled", |(row, ..)| row.stalled)
            .file("stalls", |(row, ..)| row.stalls)
            .file("lost", |(row, ..)| row.lost)
            .file("unstamped", |(row, ..)| row.unstamped)
            .done()
    }

    fn json(&self) -> String {
        document::text(&CalibrateJson::of(self))
    }
}

/// Returns one row per combination, for people.
fn combinations(rows: &[CombinationJson]) -> Table {
    type Pick = fn(&CombinationJson) -> Option<DecimalNs>;
    let columns: [(&str, u8, Pick); 8] = [
        ("RTT p50", 0, |row| Some(row.round_trip?.median_ns)),
        ("p99", 3, |row| Some(row.round_trip?.p99_ns)),
        ("p99.9", 3, |row| Some(row.round_trip?.p99_9_ns)),
        ("max", 3, |row| Some(row.round_trip?.max_ns)),
        ("send p50", 3, |row| Some(row.send?.median_ns)),
        ("p99", 3, |row| Some(row.send?.p99_ns)),
        ("receive p50", 3, |row| Some(row.receive?.median_ns)),
        ("p99", 3, |row| Some(row.receive?.p99_ns)),
    ];
    let table = Table::of(rows)
        .shown("over", |row| row.path)
        .shown("via", |row| row.via)
        .shown("waiting", |row| row.waiting)
        .amount("B", |row| row.payload_bytes)
        .amount("samples", |row| row.count)
        .rank(2);
    let table = columns.into_iter().fold(table, |table, (title, rank, pick)| {
        table.amount(title, move |row| pick(row).map(|time| time.0)).rank(rank)
    });
    table.amount("stalled", |row| row.stalled).rank(1).done()
}
