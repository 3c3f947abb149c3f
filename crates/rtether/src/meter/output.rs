//! Measurements in all formats.

use std::fmt::Write;

use rtether_model::quantity::Duration;
use rtether_report::document::{self, Document, Members};
use rtether_report::format::{Part, Render};
use rtether_report::table::{Rows, Screen, Table};
use rtether_report::text::{plural, time};
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Counters, INTERRUPTED, Measurement, Misses, Outlier, Settling, Statistics, Subject, split,
};
use crate::words::Conclusion;

/// Most outliers in a table.
const SHOWN: usize = 10;

/// A statistic: title, name in files, value.
type Statistic = (&'static str, &'static str, fn(&Statistics) -> Duration);

const STATISTICS: [Statistic; 10] = [
    ("min", "min_ns", |of| of.min),
    ("mean", "mean_ns", |of| of.mean),
    ("median", "median_ns", |of| of.median),
    ("p90", "p90_ns", |of| of.percentiles[0]),
    ("p99", "p99_ns", |of| of.percentiles[1]),
    ("p99.9", "p99_9_ns", |of| of.percentiles[2]),
    ("max", "max_ns", |of| of.max),
    ("std", "standard_deviation_ns", |of| of.standard_deviation),
    ("mdev", "mdev_ns", |of| of.mdev),
    ("mad", "mean_deviation_ns", |of| of.mean_deviation),
];

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

impl Measurement {
    /// Returns the verdict: failed if a request was lost, or answered later than the deadline.
    pub fn conclusion(&self) -> Conclusion {
        let is_held = self.missed() == 0;
        match self.ended.as_deref() {
            Some(INTERRUPTED) => Conclusion::Interrupted,
            Some(_) => Conclusion::Unmeasured,
            None => Conclusion::meets((self.counters.answered > 0).then_some(is_held)),
        }
    }

    /// Returns the number of requests that were lost, or answered later than the deadline.
    fn missed(&self) -> u64 {
        let late = self.misses().map_or(0, |own| own.misses);
        late.max(self.counters.lost)
    }

    /// Returns the verdict in a sentence.
    pub fn summary(&self) -> String {
        self.conclusion().sentence(&self.said())
    }

    /// Says how many requests were answered, and how many were not in time.
    fn said(&self) -> String {
        let Counters { sent, answered, lost, .. } = self.counters;
        let sent = plural(usize::try_from(sent).unwrap_or(usize::MAX), "request");
        let late = self.missed() - lost;
        let late = self
            .subject
            .deadline
            .map_or_else(String::new, |deadline| format!(", {late} later than {}", time(deadline)));
        format!("{answered} of {sent} answered, {lost} lost{late}.")
    }
}

impl Render for Measurement {
    fn parts(&self, _: Screen) -> Vec<Part> {
        let subject = &self.subject;
        let head = format!(
            "{} via {}, {} of payload: round trips\n",
            subject.target,
            subject.via,
            plural(subject.payload, "octet"),
        );
        let mut parts = vec![Part::Lines(head)];
        let rows = self.rows();
        if !rows.is_empty() {
            parts.push(rows.into());
        }
        split::append(self, &mut parts);
        let mut text = String::new();
        remarks(self, &mut text);
        _ = writeln!(text, "{}", self.summary());
        parts.push(text.into());
        parts
    }

    /// One row per series, and one for all.
    fn rows(&self) -> Table {
        let table = Table::of(rows(self)).both("", "series", |(name, _)| name.clone()).number(
            "samples",
            "samples",
            |(_, of)| of.count,
        );
        let add = |table: Rows<(String, Statistics)>, (title, name, of): Statistic| {
            table.number(title, name, |(_, row)| of(row))
        };
        let table = STATISTICS.into_iter().fold(table, add);
        with_subject(table, &self.subject).done()
    }

    /// Everything except the samples.
    fn json(&self) -> String {
        json(self)
    }
}

fn remarks(measurement: &Measurement, text: &mut String) {
    let counters = &measurement.counters;
    text.push('\n');
    if let Some(Misses { misses, due, interval }) = measurement.misses() {
        let deadline = measurement.subject.deadline.map_or_else(String::new, time);
        let sure = match interval {
            Some((low, high)) => format!("95 % interval of the ratio {low:.2e} to {high:.2e}"),
            None => "an interval of the ratio needs more samples".to_owned(),
        };
        _ = writeln!(text, "{misses} of {due} beyond {deadline} or lost; {sure}");
    }
    if let Some(combined) = measurement.combined().filter(|_| measurement.subject.series > 1) {
        _ = writeln!(
            text,
            "standard deviation of all series: within {}, total {}",
            time(combined.pooled_within),
            time(combined.total)
        );
    }
    if let Some(settling) = measurement.settling() {
        remark_settling(&settling, text);
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

/// Says how sure the mean is, and how many samples would be enough.
fn remark_settling(settling: &Settling, text: &mut String) {
    let sure = match settling.half_interval.zip(settling.enough) {
        Some((half, enough)) => {
            let enough = usize::try_from(enough).unwrap_or(usize::MAX);
            let enough = plural(enough, "sample");
            format!("mean known to within {} (95 %); 1 % of it takes about {enough}", time(half))
        }
        None => "how well the mean is known needs more samples".to_owned(),
    };
    text.push_str(&sure);
    let last = settling.means.iter().rev().take(3).rev();
    let words: Vec<String> =
        last.map(|first| format!("{} by {:.1} %", first.count, first.apart * 100.0)).collect();
    _ = writeln!(text, "; the first differ from all: {}", words.join(", "));
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
    let cause = if measurement.is_hit(sample) { "; this host stalled" } else { "" };
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

/// Round trips to a host.
#[derive(Serialize, JsonSchema)]
pub(crate) struct PingJson<'a> {
    /// Where the requests went.
    target: &'a str,
    /// What carried them: `udp`, `raw`, `xdp`, `icmp`, `cndep`, `tcp` or `rtps`.
    via: &'a str,
    /// The command of CNDEP, such as `GET 3`, or `null`.
    command: Option<&'a str>,
    /// Octets of the payload of a request.
    payload_bytes: usize,
    conclusion: Conclusion,
    /// The verdict in a sentence.
    summary: String,
    /// All round trips within the timeout; `null` without any.
    all: Option<StatisticsJson>,
    /// Those of them that no stall of this host touched; `null` without any.
    without_stalls: Option<StatisticsJson>,
    /// Those of each series; `null` for a series without any.
    series: Vec<Option<StatisticsJson>>,
    /// Standard deviations over all series; `null` without round trips.
    combined: Option<CombinedJson>,
    /// Requests `sent`, `answered` and `lost`, and what is zero in a healthy measurement: replies that
    /// were `late` (after the timeout), `duplicates`, `reordered` (overtaken by a later one) or
    /// `unknown` (to no request), requests `skipped` because this host was late, and others of the
    /// protocol.
    counters: Members<&'static str, u64>,
    /// How many requests miss the deadline; `null` without one.
    misses: Option<MissesJson>,
    /// How far the mean has settled; `null` with fewer than 100 round trips.
    settling: Option<SettlingJson>,
    /// Round trips far from the others: more than three interquartile ranges above the third quartile.
    outliers: Vec<OutlierJson>,
    /// Stalls of this host.
    stalls: split::StallsJson,
    /// With `--stamps`: parts of the round trip by time stamps of the kernel; else `null`.
    decomposition: Option<split::PartsJson>,
    /// With `--one-way`: delays of both directions; else `null`.
    one_way: Option<split::OneWayJson>,
    /// With `--valentim`: parts of half a round trip by the method of Valentim; else `null`.
    valentim: Option<split::ValentimJson>,
    /// Why it ended before its time, or `null`.
    ended_early: Option<&'a str>,
}

impl Document for PingJson<'_> {
    const SCHEMA: &'static str = "rtether.ping/1";
}

#[derive(Serialize, JsonSchema)]
struct StatisticsJson {
    /// Number of round trips.
    count: u64,
    /// The least.
    min_ns: f64,
    /// The mean.
    mean_ns: f64,
    /// The median.
    median_ns: f64,
    /// The 90th percentile.
    p90_ns: f64,
    /// The 99th percentile.
    p99_ns: f64,
    /// The 99.9th percentile.
    p99_9_ns: f64,
    /// The largest.
    max_ns: f64,
    /// Standard deviation of the sample, with the number less one as divisor.
    standard_deviation_ns: f64,
    /// The same with the number as divisor, as `ping` of iputils shows it.
    mdev_ns: f64,
    /// Mean distance from the mean.
    mean_deviation_ns: f64,
}

impl StatisticsJson {
    fn of(of: &Statistics) -> Self {
        let [p90_ns, p99_ns, p99_9_ns] = of.percentiles.map(Duration::as_ns_f64);
        Self {
            count: of.count,
            min_ns: of.min.as_ns_f64(),
            mean_ns: of.mean.as_ns_f64(),
            median_ns: of.median.as_ns_f64(),
            p90_ns,
            p99_ns,
            p99_9_ns,
            max_ns: of.max.as_ns_f64(),
            standard_deviation_ns: of.standard_deviation.as_ns_f64(),
            mdev_ns: of.mdev.as_ns_f64(),
            mean_deviation_ns: of.mean_deviation.as_ns_f64(),
        }
    }
}

#[derive(Serialize, JsonSchema)]
struct CombinedJson {
    /// Within the series: root of the mean of their variances.
    pooled_within_ns: f64,
    /// Of all round trips about their common mean, so with what differs between the series.
    total_ns: f64,
}

#[derive(Serialize, JsonSchema)]
struct MissesJson {
    /// The deadline.
    deadline_ns: Option<f64>,
    /// Requests whose round trip took longer, or that got no answer.
    misses: u64,
    /// Requests that were answered or lost.
    due: u64,
    /// Lower end of the 95 % interval of the ratio of these; `null` if requests are too few, or depend
    /// on each other for too long.
    ratio_low: Option<f64>,
    /// Upper end; `null` likewise.
    ratio_high: Option<f64>,
}

#[derive(Serialize, JsonSchema)]
struct SettlingJson {
    /// Half of the 95 % interval of the mean; `null` if round trips depend on each other for too long.
    half_interval_ns: Option<f64>,
    /// Number of round trips with which it would be 1 % of the mean; `null` likewise.
    enough: Option<u64>,
    /// Means of the first 10, 20, 50, 100 and so on.
    means: Vec<FirstJson>,
}

#[derive(Serialize, JsonSchema)]
struct FirstJson {
    /// Number of round trips.
    count: usize,
    /// Their mean.
    mean_ns: f64,
    /// Its distance from the mean of all, as a part of that.
    apart: f64,
}

#[derive(Serialize, JsonSchema)]
struct OutlierJson {
    /// Number of the request.
    sequence: u32,
    /// When it was sent, from the start of the measurement.
    at_ns: f64,
    /// How long it took.
    round_trip_ns: f64,
    /// Number of round trips for which it stands: itself and those far from the others that followed
    /// without a pause.
    count: u32,
    /// Whether a stall of this host touched it.
    is_hit_by_stall: bool,
}

fn json(measurement: &Measurement) -> String {
    let subject = &measurement.subject;
    let series = (0..subject.series)
        .map(|number| measurement.of_series(number).as_ref().map(StatisticsJson::of));
    let counters = &measurement.counters;
    let own = [("sent", counters.sent), ("answered", counters.answered), ("lost", counters.lost)];
    let outliers = measurement.outliers().into_iter().map(|outlier| OutlierJson {
        sequence: outlier.sample.sequence,
        at_ns: outlier.sample.sent_at.since_start().as_ns_f64(),
        round_trip_ns: outlier.sample.round_trip.as_ns_f64(),
        count: outlier.count,
        is_hit_by_stall: measurement.is_hit(&outlier.sample),
    });
    document::text(&PingJson {
        target: &subject.target,
        via: &subject.via,
        command: (!subject.command.is_empty()).then_some(&subject.command),
        payload_bytes: subject.payload,
        conclusion: measurement.conclusion(),
        summary: measurement.summary(),
        all: measurement.all().as_ref().map(StatisticsJson::of),
        without_stalls: measurement.without_hit().as_ref().map(StatisticsJson::of),
        series: series.collect(),
        combined: measurement.combined().map(|combined| CombinedJson {
            pooled_within_ns: combined.pooled_within.as_ns_f64(),
            total_ns: combined.total.as_ns_f64(),
        }),
        counters: Members(own.into_iter().chain(oddities(measurement)).collect()),
        misses: measurement.misses().map(|own| MissesJson {
            deadline_ns: subject.deadline.map(Duration::as_ns_f64),
            misses: own.misses,
            due: own.due,
            ratio_low: own.interval.map(|ends| ends.0),
            ratio_high: own.interval.map(|ends| ends.1),
        }),
        settling: measurement.settling().map(|settling| SettlingJson::of(&settling)),
        outliers: outliers.collect(),
        stalls: split::StallsJson::of(measurement),
        decomposition: split::PartsJson::of(measurement),
        one_way: split::OneWayJson::of(measurement),
        valentim: measurement.valentim.as_ref().map(split::ValentimJson::of),
        ended_early: measurement.ended.as_deref(),
    })
}

impl SettlingJson {
    fn of(settling: &Settling) -> Self {
        let means = settling.means.iter().map(|first| FirstJson {
            count: first.count,
            mean_ns: first.mean.as_ns_f64(),
            apart: first.apart,
        });
        Self {
            half_interval_ns: settling.half_interval.map(Duration::as_ns_f64),
            enough: settling.enough,
            means: means.collect(),
        }
    }
}

/// Returns one row per round trip, in the order of the replies (R128).
pub fn samples(measurement: &Measurement) -> Table {
    let table = Table::of(&measurement.samples)
        .file("series", |sample| sample.series)
        .file("sequence", |sample| sample.sequence)
        .file("sent_at_ns", |sample| sample.sent_at.since_start())
        .file("round_trip_ns", |sample| sample.round_trip)
        .file("is_reordered", |sample| sample.is_reordered)
        .file("is_hit_by_stall", |sample| measurement.is_hit(sample));
    with_subject(table, &measurement.subject).done()
}

/// Adds in every row what was asked, and whom: rows of several controllers go into one file.
fn with_subject<T>(table: Rows<T>, subject: &Subject) -> Rows<T> {
    let table = table.file("target", |_| subject.target.as_str());
    let has_command = !subject.command.is_empty();
    table.file("command", |_| has_command.then_some(subject.command.as_str()))
}
