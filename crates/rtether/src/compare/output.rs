//! Comparisons in all formats.

use rtether_model::quantity::Duration;
use rtether_report::document::{self, Document};
use rtether_report::format::{Part, Render};
use rtether_report::number::Ns;
use rtether_report::table::{Cell, Rows, Screen, Table};
use rtether_report::text::{count, percent, plural, time, wrapped};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Candidate, Comparison, Fault, Row, Stream};
use crate::words::Conclusion;

/// A comparison with a row for each stream under each scheme.
#[derive(Clone, Copy, Debug)]
pub struct ByFlow<'a>(pub &'a Comparison);

/// The plant under each access scheme.
#[derive(Serialize, JsonSchema)]
pub(crate) struct CompareJson<'a> {
    /// Version of rtether.
    version: &'static str,
    /// Title of the scenario.
    scenario: &'a str,
    /// Whether a signal ended it early.
    partial: bool,
    /// Streams with a deadline, which are judged.
    streams_with_deadline: usize,
    conclusion: Conclusion,
    /// Under which schemes all streams are in time, and proved, in words.
    summary: String,
    /// Each scheme.
    schemes: Vec<SchemeJson<'a>>,
}

impl Document for CompareJson<'_> {
    const SCHEMA: &'static str = "rtether.compare/1";
}

#[derive(Serialize, JsonSchema)]
struct SchemeJson<'a> {
    /// Its name, as in a scenario.
    access: &'static str,
    /// Why it cannot be simulated, or `null`.
    obstacle: Option<&'a str>,
    /// Streams whose packets all met their deadline.
    streams_in_time: usize,
    /// Streams whose proved bound is within their deadline.
    streams_proved: usize,
    /// Largest latency of packets of real-time streams, from the release.
    worst_ns: Option<Ns>,
    /// Their mean latency.
    mean_ns: Option<Ns>,
    /// Largest difference between the latencies of two packets of a real-time stream.
    jitter_ns: Option<Ns>,
    /// Payload of files and floods that arrived per second.
    bulk_bps: u64,
    /// Packets lost, over all runs.
    lost: u64,
    /// Control frames sent, over all runs.
    control_frames: u64,
    /// Share of the time of the busiest medium, or direction of a link, that control frames take.
    control_share: f64,
    /// Share of the same time that all frames take, control frames included.
    utilization: f64,
    /// A short run without a fault, for comparison with the next two; `null` if the scheme has no
    /// station that it depends on.
    without_fault: Option<FaultJson>,
    /// The worst of such runs in each of which one control frame is lost; `null` if it sends none.
    after_loss: Option<FaultJson>,
    /// Such a run in which the master of each medium, or else the first member, is silent from the
    /// middle on.
    after_death: Option<FaultJson>,
    /// Names of these silent stations.
    dead: &'a [String],
    /// Each flow and listener.
    streams: Vec<StreamJson<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct FaultJson {
    /// Largest latency of packets of real-time streams that arrived.
    worst_ns: Ns,
    /// Packets that missed their deadline, or were lost where there is none; after a fault, those
    /// beyond the run without it. Streams to and from silent stations do not count.
    missed: u64,
    /// Longest time beyond its period in which a listener of a periodic real-time stream got nothing;
    /// `null` if there is no such stream.
    silence_ns: Option<Ns>,
}

#[derive(Serialize, JsonSchema)]
struct StreamJson<'a> {
    /// Name of the flow.
    flow: &'a str,
    /// Name of the listener.
    listener: &'a str,
    /// Deadline of the flow.
    deadline_ns: Option<Ns>,
    /// Whether all packets met it; `null` without a deadline, and if no packet arrived, was late or
    /// was lost.
    in_time: Option<bool>,
    /// Packets that arrived, over all runs.
    arrived: u64,
    /// Packets that arrived after their deadline, or had not arrived by then.
    late: u64,
    /// Packets lost.
    lost: u64,
    /// Largest latency.
    worst_ns: Option<Ns>,
    /// Mean latency.
    mean_ns: Option<Ns>,
    /// Largest difference between the latencies of two packets.
    jitter_ns: Option<Ns>,
    /// Proved bound.
    bound_ns: Option<Ns>,
    /// Payload that arrived per second.
    rate_bps: u64,
}

impl<'a> SchemeJson<'a> {
    fn of(row: &'a Row) -> Self {
        Self {
            access: row.scheme,
            obstacle: row.obstacle.as_deref(),
            streams_in_time: row.kept,
            streams_proved: row.proved,
            worst_ns: row.worst().map(Ns),
            mean_ns: row.latency.mean().map(Ns),
            jitter_ns: row.jitter.map(Ns),
            bulk_bps: row.bulk,
            lost: row.lost,
            control_frames: row.control,
            control_share: row.shares.control,
            utilization: row.shares.carried(),
            without_fault: row.faults.none.map(FaultJson::of),
            after_loss: row.faults.loss.map(FaultJson::of),
            after_death: row.faults.death.map(FaultJson::of),
            dead: &row.faults.dead,
            streams: row.streams.iter().map(StreamJson::of).collect(),
        }
    }
}

impl FaultJson {
    fn of(own: Fault) -> Self {
        Self { worst_ns: Ns(own.worst), missed: own.missed, silence_ns: own.silence.map(Ns) }
    }
}

impl<'a> StreamJson<'a> {
    fn of(own: &'a Stream) -> Self {
        Self {
            flow: &own.flow,
            listener: &own.listener,
            deadline_ns: own.deadline.map(Ns),
            in_time: own.is_kept(),
            arrived: own.arrived,
            late: own.late,
            lost: own.lost,
            worst_ns: own.worst.map(Ns),
            mean_ns: own.mean.map(Ns),
            jitter_ns: own.jitter.map(Ns),
            bound_ns: own.bound.map(Ns),
            rate_bps: own.rate,
        }
    }
}

impl Row {
    /// Returns whether it was simulated.
    pub(super) const fn is_run(&self) -> bool {
        self.obstacle.is_none()
    }

    /// Returns the largest latency of real-time packets.
    pub(super) fn worst(&self) -> Option<Duration> {
        (self.latency.count > 0).then_some(self.latency.max)
    }
}

impl Comparison {
    /// Returns a row for each scheme, with or without what faults do.
    pub(super) fn table(&self, has_faults: bool) -> Table {
        let judged = self.judged;
        let kept = |row: &&Row| {
            let cell = Cell::from(row.kept);
            if row.is_run() {
                cell.shown(format!("{} of {judged}", row.kept))
            } else {
                cell.shown("-")
            }
        };
        let share =
            |row: &Row, share: f64| row.is_run().then(|| Cell::from(share).shown(percent(share)));
        Table::of(&self.rows)
            .both("access", "access", |row| row.scheme)
            .number("in time", "streams_in_time", kept)
            .file("streams_with_deadline", |_| judged)
            .number("proved", "streams_proved", |row| row.is_run().then_some(row.proved))
            .number("worst", "worst_ns", |row| row.worst())
            .number("mean", "mean_ns", |row| row.latency.mean())
            .rank(5)
            .number("jitter", "jitter_ns", |row| row.jitter)
            .rank(6)
            .number("bulk", "bulk_bps", |row| {
                row.is_run().then(|| Cell::from(row.bulk).shown(megabits(row.bulk)))
            })
            .rank(7)
            .number("lost", "lost_packets", |row| row.is_run().then_some(row.lost))
            .rank(4)
            .number("busy", "utilization", |row| share(row, row.shares.carried()))
            .rank(2)
            .number("control", "control_share", |row| share(row, row.shares.control))
            .rank(2)
            .file("control_frames", |row| row.is_run().then_some(row.control))
            .when(has_faults, with_faults)
            .both("why not", "obstacle", |row| row.obstacle.clone())
            .optional()
            .done()
    }

    /// Returns a row for each stream under each scheme.
    pub(super) fn by_flow(&self) -> Table {
        let rows = self.rows.iter();
        let rows = rows.flat_map(|row| row.streams.iter().map(move |own| (row.scheme, own)));
        let in_time = |own: &Stream| {
            if own.is_open() {
                return Cell::default().shown("no answer");
            }
            let shown = |kept: bool| Cell::from(kept).shown(if kept { "yes" } else { "no" });
            own.is_kept().map_or_else(Cell::default, shown)
        };
        Table::of(rows)
            .both("access", "access", |(scheme, _)| *scheme)
            .both("flow", "flow", |(_, own)| own.flow.as_str())
            .both("listener", "listener", |(_, own)| own.listener.as_str())
            .number("deadline", "deadline_ns", |(_, own)| own.deadline)
            .rank(3)
            .both("in time", "in_time", |(_, own)| in_time(own))
            .number("worst", "worst_ns", |(_, own)| own.worst)
            .number("mean", "mean_ns", |(_, own)| own.mean)
            .rank(4)
            .number("jitter", "jitter_ns", |(_, own)| own.jitter)
            .rank(5)
            .number("bound", "bound_ns", |(_, own)| own.bound)
            .number("late", "late_packets", |(_, own)| own.late)
            .rank(2)
            .number("lost", "lost_packets", |(_, own)| own.lost)
            .rank(2)
            .number("arrived", "arrived_packets", |(_, own)| own.arrived)
            .rank(1)
            .number("rate", "rate_bps", |(_, own)| Cell::from(own.rate).shown(megabits(own.rate)))
            .rank(1)
            .done()
    }

    /// Returns how much is compared, in words.
    fn compared(&self) -> String {
        let is_scheme = |row: &&Row| row.scheme != Candidate::VirtualLinks.name();
        let schemes = self.rows.iter().filter(is_scheme).count();
        let others = self.rows.len() > schemes;
        match (schemes, others) {
            (0, true) => "AFDX".to_owned(),
            (_, true) => format!("{} and AFDX", plural(schemes, "access scheme")),
            (_, false) => plural(schemes, "access scheme"),
        }
    }

    /// Returns the verdict in a few sentences.
    pub fn summary(&self) -> String {
        self.conclusion().sentence(&self.said())
    }

    /// Returns what it rests on.
    pub(super) fn said(&self) -> String {
        let with = |is: &dyn Fn(&Row) -> bool| {
            let rows = self.rows.iter().filter(|row| row.is_run());
            let names: Vec<&str> = rows.filter(|row| is(row)).map(|row| row.scheme).collect();
            if names.is_empty() { "none".to_owned() } else { names.join(", ") }
        };
        format!(
            "{} with a deadline, under {}. Every packet in time: {}. Proved: {}.",
            plural(self.judged, "stream"),
            self.compared(),
            with(&|row| row.kept == self.judged),
            with(&|row| row.proved == self.judged),
        )
    }

    /// Returns what the faults do, in sentences.
    pub(super) fn losses(&self) -> Vec<String> {
        let worst = self.rows.iter().filter_map(|row| {
            let lost = row.faults.loss?;
            let usual = row.faults.none?;
            (lost.worst > usual.worst).then(|| {
                format!(
                    "A lost control frame makes {} {} of {} in the worst case.",
                    row.scheme,
                    time(lost.worst),
                    time(usual.worst),
                )
            })
        });
        worst.collect()
    }
}

/// Adds what a lost control frame and a dead master do.
fn with_faults(table: Rows<&Row>) -> Rows<&Row> {
    let loss = |row: &Row| row.faults.loss;
    let death = |row: &Row| row.faults.death;
    table
        .number("frame lost: worst", "after_loss_worst_ns", |row| {
            loss(row).map(|fault| fault.worst)
        })
        .rank(3)
        .number("missed", "after_loss_missed_packets", |row| loss(row).map(|fault| fault.missed))
        .rank(3)
        .number("silence", "after_loss_silence_ns", |row| loss(row).and_then(|fault| fault.silence))
        .rank(1)
        .number("station dead: missed", "after_death_missed_packets", |row| {
            death(row).map(|fault| fault.missed)
        })
        .rank(3)
        .number("silence", "after_death_silence_ns", |row| {
            death(row).and_then(|fault| fault.silence)
        })
        .rank(1)
}

impl ByFlow<'_> {
    fn parts_of(self, table: Table, screen: Screen) -> Vec<Part> {
        let mut lines = vec![self.0.summary()];
        lines.extend(self.0.losses());
        let lines = lines.iter().map(|line| wrapped(line, screen.width, 0));
        vec![
            format!("# {}\n", self.0.scenario).into(),
            Part::Table(table),
            Part::Lines(lines.map(|line| line + "\n").collect()),
        ]
    }
}

impl Render for ByFlow<'_> {
    fn parts(&self, screen: Screen) -> Vec<Part> {
        self.parts_of(self.0.by_flow(), screen)
    }

    fn rows(&self) -> Table {
        self.0.by_flow()
    }

    fn json(&self) -> String {
        self.0.json()
    }
}

impl Render for Comparison {
    fn parts(&self, screen: Screen) -> Vec<Part> {
        ByFlow(self).parts_of(self.table(true), screen)
    }

    fn rows(&self) -> Table {
        self.table(true)
    }

    fn json(&self) -> String {
        document::text(&CompareJson {
            version: env!("CARGO_PKG_VERSION"),
            scenario: &self.scenario,
            partial: self.partial,
            streams_with_deadline: self.judged,
            conclusion: self.conclusion(),
            summary: self.summary(),
            schemes: self.rows.iter().map(SchemeJson::of).collect(),
        })
    }
}

/// Returns a rate in Mbit/s.
pub(super) fn megabits(rate: u64) -> String {
    if rate == 0 {
        return count(0);
    }
    let hundredths = (rate + 5_000) / 10_000;
    format!("{}.{:02} Mbit/s", hundredths / 100, hundredths % 100)
}
