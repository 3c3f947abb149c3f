//! Measurements in all formats.

use rtether_model::histogram::Histogram;
use rtether_model::network::NodeId;
use rtether_model::quantity::Duration;

use super::judged::{Row, Run, rows};
use super::{Emulation, LiveJson, Measured, layers, profile, ssh};
use rtether::measured::much_stalled;
use rtether::report::Checked;
use rtether::report::document;
use rtether::report::format::{Part, Render};
use rtether::report::table::{Cell, Screen, Table};
use rtether::report::text::{plain_line, plural, time, time_or_dash};
use rtether::scenario::Scenario;
use rtether::sums;
use rtether::verdict::{Assessment, Verdict};

impl Render for Run<'_> {
    /// The measured streams, followed by facts about the run.
    fn parts(&self, _: Screen) -> Vec<Part> {
        let title = format!("{}\n", plain_line(&self.scenario.name));
        let footer = footer(self.scenario, self.measured, self.assessments);
        let mut parts = vec![title.into(), self.streams().into()];
        let sums = self.measured.sums(self.scenario);
        if !sums.is_empty() {
            let table = sums::table(&sums, "max", "max_ns");
            parts.extend(["\n".to_owned().into(), table.into()]);
        }
        parts.extend([format!("\n{footer}").into(), sums::said(&sums).into()]);
        parts.push((self.said() + "\n").into());
        parts
    }

    /// One row per stream, then one per sum of delays, times in nanoseconds.
    fn rows(&self) -> Table {
        let sums = self.measured.sums(self.scenario);
        let sums = sums::table(&sums, "max", "max_ns");
        self.streams().append(&sums)
    }

    fn json(&self) -> String {
        document::text(&LiveJson::of(self, &self.measured.sums(self.scenario)))
    }
}

impl Run<'_> {
    /// Returns the verdict in a line: its word, and what it rests on.
    fn said(&self) -> String {
        let Self { scenario, measured, .. } = *self;
        let results = measured.results(scenario);
        let checked = Checked::new(scenario.clone(), results, self.assessments.to_vec());
        let counts = checked.counts();
        let streams = plural(counts.streams, "stream");
        self.conclusion().sentence(&format!("{streams}: {}.", counts.words()))
    }

    /// Returns a row per stream.
    fn streams(&self) -> Table {
        let name = |id: NodeId| self.scenario.network.node(id).name.as_str();
        let max = |row: &Row<'_>| {
            let latency = &row.stream.latency;
            (latency.count > 0).then_some(latency.max)
        };
        Table::of(rows(self.scenario, self.measured, self.assessments))
            .both("flow", "flow", |row| &row.flow.name)
            .shown("talker > listener", |row| {
                format!("{} > {}", name(row.flow.talker), name(row.listener))
            })
            .rank(2)
            .file("talker", |row| name(row.flow.talker))
            .file("listener", |row| name(row.listener))
            .number("sent", "released", |row| row.stream.released)
            .rank(1)
            .file("delivered", |row| row.stream.delivered)
            .number("lost", "lost", |row| row.stream.lost)
            .number("missed", "missed", |row| row.stream.missed)
            .rank(1)
            .file("duplicates", |row| row.stream.duplicates)
            .file("reordered", |row| row.stream.reordered)
            .number("stalled", "stalled", |row| row.stream.stalled)
            .rank(1)
            .file("outside_profile", |row| row.stream.outside)
            .file("held_up", |row| row.stream.held_up)
            .file("mean_ns", |row| ns(row.stream.latency.mean()))
            .number("p50", "p50_ns", |row| ns(row.stream.quantile(1, 2)))
            .rank(3)
            .number("p99", "p99_ns", |row| ns(row.stream.quantile(99, 100)))
            .rank(3)
            .number("p99.9", "p999_ns", |row| ns(row.stream.quantile(999, 1_000)))
            .rank(4)
            .number("max", "max_ns", |row| ns(max(row)))
            .number("p50 with stalls", "p50_with_stalls_ns", |row| {
                ns(row.stream.with_stalls.quantile(1, 2))
            })
            .rank(2)
            .number("p99 with stalls", "p99_with_stalls_ns", |row| {
                ns(row.stream.with_stalls.quantile(99, 100))
            })
            .rank(2)
            .file("missed_with_stalls", |row| row.stream.missed_with_stalls)
            .file("p999_with_stalls_ns", |row| ns(row.stream.with_stalls.quantile(999, 1_000)))
            .file("max_with_stalls_ns", |row| ns(row.stream.with_stalls.max()))
            .number("deadline", "deadline_ns", |row| ns(row.flow.deadline))
            .both("verdict", "verdict", |row| {
                let said = row.assessment.standing().name();
                let verdict = row.assessment.verdict;
                Cell::from(verdict.name()).shown(if verdict.is_failure() {
                    said.to_uppercase()
                } else {
                    said.to_owned()
                })
            })
            .done()
    }
}

/// Returns whole nanoseconds, which is what clocks resolve.
fn ns(span: Option<Duration>) -> Cell {
    span.map(|span| Cell::from(span.as_ns_floor()).shown(time(span))).into()
}

fn footer(scenario: &Scenario, measured: &Measured, assessments: &[Assessment]) -> String {
    let facts = facts(measured).into_iter();
    let mut lines: Vec<String> = facts.map(|(name, text)| format!("{name:<15}{text}")).collect();
    lines.extend(ssh::lines(scenario, measured));
    let emulated = profile::said(scenario, measured);
    lines.extend(emulated.map(|said| format!("stacks         emulated at {said}")));
    let layers = layers::said(scenario, &measured.layers).into_iter();
    lines.extend(layers.map(|said| format!("layer          {said}")));
    for row in rows(scenario, measured, assessments) {
        lines.extend(files(&row));
        let share = much_stalled(row.stream.stalled, row.stream.delivered);
        lines.extend(share.map(|share| {
            let name = plain_line(&row.flow.name);
            format!("{name}: {}", rtether::check::biased(share))
        }));
    }
    for row in rows(scenario, measured, assessments) {
        for reason in &row.assessment.reasons {
            lines.push(format!("{}: {reason}", plain_line(&row.flow.name)));
        }
    }
    let verdicts = assessments.iter().map(|assessment| assessment.verdict);
    let failed = verdicts.clone().filter(|verdict| verdict.is_failure());
    let open = verdicts.filter(|verdict| *verdict == Verdict::NoAnswer);
    let said = match (failed.count(), open.count()) {
        (0, 0) => "every requirement held in the measured packets, which is not a proof".into(),
        (0, open) => format!("none failed as measured, no answer for {open}"),
        (failed, _) => format!("{failed} failed as measured"),
    };
    lines.push(format!("{}: {said}", plural(assessments.len(), "stream")));
    lines.join("\n") + "\n"
}

/// Returns facts about the run: what was measured, and under which conditions.
pub(super) fn facts(measured: &Measured) -> Vec<(&'static str, String)> {
    let mut facts = vec![(
        "measured",
        format!(
            "{} over `{}`, the first {} not counted",
            time(measured.duration),
            measured.backend.name(),
            time(measured.warmup)
        ),
    )];
    let mut stalls = match measured.longest_stall {
        Some(longest) => format!(
            "{}, the longest {}; packets they touched are counted as stalled, and left out of p50 to max",
            measured.stalls,
            time(longest)
        ),
        None => "none of more than 300 us".into(),
    };
    if !measured.watched_in_real_time {
        stalls += "; watched without real-time priority, so that waiting for a core looks like one";
    }
    facts.push(("host stalls", stalls));
    facts.push((
        "cores",
        match &measured.awake {
            Ok(()) => "kept from deep sleep".into(),
            Err(why) => format!("may sleep deeply: {why}"),
        },
    ));
    let mut late = Histogram::default();
    for stream in &measured.streams {
        late.merge(&stream.late);
    }
    facts.push((
        "late releases",
        format!(
            "p50 {}, p99 {}: latencies count from the release as it was",
            time_or_dash(late.quantile(1, 2)),
            time_or_dash(late.quantile(99, 100))
        ),
    ));
    let emulation = measured.emulation.as_ref();
    facts.extend(emulation.map(|emulation| ("emulator", emulated(emulation))));
    let held_up: u64 = measured.streams.iter().map(|stream| stream.held_up).sum();
    facts.extend((held_up > 0).then(|| ("held up", held_up_by(measured, held_up))));
    let oddities = measured.oddities;
    let odd = [
        (oddities.foreign, "foreign packets"),
        (oddities.unsent, "packets refused by the system"),
        (oddities.unrecorded, "packets without a record"),
        (oddities.clock_steps, "steps of the wall clock"),
    ];
    let odd = odd.iter().filter(|(count, _)| *count > 0);
    facts.extend(odd.map(|(count, what)| ("note", format!("{count} {what}"))));
    let failures = measured.failures.iter();
    facts.extend(failures.map(|failure| ("note", plain_line(failure))));
    let errors = measured.errors.iter();
    facts.extend(errors.map(|error| ("error", plain_line(error))));
    if measured.is_partial {
        let how = if measured.errors.is_empty() { "interrupted" } else { "ended early" };
        let what = "the figures are those of the part that was run";
        facts.push((how, what.into()));
    }
    facts
}

/// Summarizes the files of a flow.
fn files(row: &Row<'_>) -> Option<String> {
    let files = &row.stream.transfers;
    let first = files.first()?;
    let octets: u64 = files.iter().map(|file| file.delivered.get()).sum();
    let ends = files.iter().filter_map(|file| file.finished_at);
    let last = ends.clone().max();
    let retransmissions: u64 = files.iter().map(|file| file.retransmissions).sum();
    let throughput = last.map(|last| {
        let seconds = (last - first.started_at).as_secs_f64();
        format!(", {:.2} Mbit/s", to_f64(octets) * 8.0 / seconds / 1e6)
    });
    Some(format!(
        "{}: {}, {} complete, {octets} B{}; {retransmissions} segments sent again",
        plain_line(&row.flow.name),
        plural(files.len(), "file"),
        ends.count(),
        throughput.unwrap_or_default()
    ))
}

#[allow(clippy::cast_precision_loss, reason = "a rate for display needs no 53rd bit")]
fn to_f64(value: u64) -> f64 {
    value as f64
}

fn emulated(emulation: &Emulation) -> String {
    let differing = match emulation.differing {
        Some(0) => "all decided as in their replay".into(),
        Some(differing) => format!(
            "{} were late, {differing} differ from the replay (by p50 {}, max {})",
            emulation.late,
            time_or_dash(emulation.apart_p50),
            time_or_dash(emulation.apart_max)
        ),
        None => "more than are recorded, so not replayed".into(),
    };
    format!(
        "{} frames, {differing}; sent late by p50 {}, p99 {}, max {}; {} dropped by \
         the network, {} by the emulator",
        emulation.frames,
        time_or_dash(emulation.late_p50),
        time_or_dash(emulation.late_p99),
        time(emulation.late_max),
        emulation.dropped,
        emulation.failed
    )
}

fn held_up_by(measured: &Measured, packets: u64) -> String {
    let stalls = measured.emulation.as_ref().map_or(0, |own| own.stalls);
    format!(
        "{packets} measured packets, by {stalls} stalls of the emulator: they count in the figures, but \
         prove nothing against a bound"
    )
}
