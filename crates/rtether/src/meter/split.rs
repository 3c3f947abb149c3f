//! Parts of round trips, one-way delays and stalls in the outputs.

use std::fmt::Write;

use rtether_model::quantity::Duration;
use rtether_report::document::Members;
use rtether_report::format::Part;
use rtether_report::table::Table;
use rtether_report::text::{plural, time};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Clocks, Decomposition, Measurement, Stall, Statistics, Valentim};

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

/// The result of Valentim's method.
#[derive(Serialize, JsonSchema)]
pub(super) struct ValentimJson {
    /// Mean round trip over the network, without stalls.
    round_trip_mean_ns: f64,
    /// Mean round trip over loopback, without stalls.
    loopback_mean_ns: f64,
    /// Rate of the wire.
    rate_bps: u64,
    /// Stack and network card of the sender (`sut_ns`, `nut_ns`), headers and payload on the wire
    /// (`htx_ns`, `dtx_ns`), network card and stack of the receiver (`ndt_ns`, `sdt_ns`); `null` if the
    /// figures contradict each other.
    parts: Option<Members<String, f64>>,
    /// What contradicts, or `null`.
    contradiction: Option<String>,
}

impl ValentimJson {
    pub(super) fn of(Valentim { given, costs }: &Valentim) -> Self {
        let parts = costs.as_ref().ok().map(|costs| {
            let parts = costs.named().into_iter();
            let parts = parts
                .map(|(name, _, span)| (format!("{}_ns", name.to_lowercase()), span.as_ns_f64()));
            Members(parts.collect())
        });
        Self {
            round_trip_mean_ns: given.round_trip.as_ns_f64(),
            loopback_mean_ns: given.loopback.as_ns_f64(),
            rate_bps: given.rate.as_bps(),
            parts,
            contradiction: costs.as_ref().err().map(ToString::to_string),
        }
    }
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

/// Parts by kernel time stamps.
#[derive(Serialize, JsonSchema)]
pub(super) struct PartsJson {
    /// Round trips with the most common set of stamps, which are split.
    round_trips: usize,
    /// Round trips with other stamps, or none.
    left_out: u64,
    /// Each part, then the round trip.
    parts: Vec<FewJson>,
}

impl PartsJson {
    pub(super) fn of(measurement: &Measurement) -> Option<Self> {
        let found = measurement.is_stamped.then(|| Decomposition::of(&measurement.paths))?;
        Some(Self {
            round_trips: found.rows.len(),
            left_out: found.left_out,
            parts: rows(&found).into_iter().map(|(_, name, of)| FewJson::of(name, &of)).collect(),
        })
    }
}

/// Delays of both directions.
#[derive(Serialize, JsonSchema)]
pub(super) struct OneWayJson {
    /// How far they may be off because of the clocks; 0 if both ends have one.
    clock_error_ns: f64,
    /// Each direction.
    directions: Vec<FewJson>,
}

impl OneWayJson {
    pub(super) fn of(measurement: &Measurement) -> Option<Self> {
        let error = match measurement.clocks? {
            Clocks::Same => Duration::ZERO,
            Clocks::Apart { error } => error,
        };
        let directions = one_way(measurement);
        Some(Self {
            clock_error_ns: error.as_ns_f64(),
            directions: directions.iter().map(|(name, of)| FewJson::of(name, of)).collect(),
        })
    }
}

#[derive(Serialize, JsonSchema)]
struct FewJson {
    /// Name of the part or direction.
    name: &'static str,
    /// The least.
    min_ns: f64,
    /// The median.
    median_ns: f64,
    /// The 99th percentile.
    p99_ns: f64,
    /// The largest.
    max_ns: f64,
}

impl FewJson {
    fn of(name: &'static str, of: &Statistics) -> Self {
        let [min_ns, median_ns, p99_ns, max_ns] = few(of).map(Duration::as_ns_f64);
        Self { name, min_ns, median_ns, p99_ns, max_ns }
    }
}

/// Stalls of this host.
#[derive(Serialize, JsonSchema)]
pub(super) struct StallsJson {
    /// How many round trips were hit.
    round_trips_hit: usize,
    /// Each stall.
    list: Vec<StallJson>,
}

#[derive(Serialize, JsonSchema)]
struct StallJson {
    /// When it began, from the start of the measurement.
    from_ns: f64,
    /// When it ended.
    until_ns: f64,
}

impl StallsJson {
    pub(super) fn of(measurement: &Measurement) -> Self {
        let stalls = measurement.gaps.seen().iter().map(|gap| StallJson {
            from_ns: gap.from.since_start().as_ns_f64(),
            until_ns: gap.until.since_start().as_ns_f64(),
        });
        Self { round_trips_hit: measurement.hit(), list: stalls.collect() }
    }
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
