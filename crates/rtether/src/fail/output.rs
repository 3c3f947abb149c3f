//! Failures in all formats.

use rtether_report::document::{self, Document};
use rtether_report::format::{Part, Render};
use rtether_report::number::Ns;
use rtether_report::table::{Cell, Screen, Table};
use rtether_report::text::{plain_line, plural, time, wrapped};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Basis, Failures, Interrupted, Row, Worst};
use crate::words::Conclusion;

/// What every single failure does.
#[derive(Serialize, JsonSchema)]
pub(crate) struct FailuresJson<'a> {
    /// Version of rtether.
    version: &'static str,
    /// Title of the scenario.
    scenario: &'a str,
    /// Whether a signal ended it early, so that failures are missing.
    partial: bool,
    /// What fails: `links`, `trunks`, `switches` or `both`.
    fail: &'static str,
    /// The time of recovery that `--recovery` states, or `null`.
    recovery_ns: Option<Ns>,
    /// The result in words.
    summary: String,
    conclusion: Conclusion,
    /// Number of failures to be judged.
    planned: usize,
    /// The plant without a failure; `null` if that was interrupted.
    intact: Option<RowJson<'a>>,
    /// The plant with each failure, in the order of the scenario.
    failures: Vec<RowJson<'a>>,
}

impl Document for FailuresJson<'_> {
    const SCHEMA: &'static str = "rtether.failures/1";
}

#[derive(Serialize, JsonSchema)]
struct RowJson<'a> {
    /// Name of what failed, such as `sw1:2 - sw2:1` or `sw1`; `null` if nothing did.
    failure: Option<&'a str>,
    /// What that is: `link`, `switch`, `hub` or `none`.
    kind: &'static str,
    /// Links on standby that were put into use.
    takes_over: &'a [String],
    /// Streams that have no way.
    cut_off: Vec<NameJson<'a>>,
    /// Number of streams that take another way than without the failure.
    rerouted: usize,
    /// Number of streams with late packets.
    late: usize,
    /// Number of streams with lost packets, among those without late ones.
    lost: usize,
    /// Number of sums of delays that are late; `null` if none is required.
    late_sums: Option<usize>,
    /// Streams that are proved without the failure and still have a way, but are proved no more.
    no_longer_proved: Vec<NameJson<'a>>,
    /// Number of streams that are worse than without the failure, as `rtether diff` judges.
    worse: usize,
    /// With `--recovery`, streams that do not survive it: they lose more packets than are accepted, or
    /// it takes longer than their deadline or period.
    interrupted: Vec<InterruptedJson<'a>>,
    /// The stream that is worst: the first that is cut off, else by verdict and use of its deadline.
    worst: Option<WorstJson<'a>>,
    conclusion: Conclusion,
    /// If all requirements hold, what that rests on: `proved`, `held` (at least one stream was only
    /// seen to hold) or `unjudged` (nothing is required); `null` otherwise.
    basis: Option<&'static str>,
    /// Number of streams and sums that are proved.
    proved: usize,
    /// Number of streams and sums that were only seen to hold.
    held: usize,
    /// Packets of these that were delivered.
    held_packets: u64,
}

#[derive(Serialize, JsonSchema)]
struct NameJson<'a> {
    /// Name of the flow.
    name: &'a str,
    /// Name of the listener.
    listener: &'a str,
}

#[derive(Serialize, JsonSchema)]
struct InterruptedJson<'a> {
    #[serde(flatten)]
    name: NameJson<'a>,
    /// The most packets that are released during the recovery, and lost; `null` if nothing limits
    /// them.
    packets: Option<u64>,
}

#[derive(Serialize, JsonSchema)]
struct WorstJson<'a> {
    #[serde(flatten)]
    name: NameJson<'a>,
    /// `cut-off`, or what its verdict rests on, as the `basis` of a flow of `rtether.result/1`.
    verdict: &'static str,
    /// Least distance to a requirement; negative if it failed.
    margin_ns: Option<Ns>,
}

/// Word for a stream without a way, where a verdict is expected.
const CUT_OFF: &str = "cut-off";

impl Row {
    /// Returns the name of what failed; `none` for the plant without a failure.
    pub fn name(&self) -> &str {
        self.failure.as_ref().map_or("none", |failure| &failure.name)
    }

    fn kind(&self) -> &'static str {
        self.failure.as_ref().map_or("none", |failure| failure.kind)
    }

    fn activated(&self) -> &[String] {
        let failure = self.failure.as_ref();
        failure.map_or(&[], |failure| &failure.activated)
    }

    /// Returns the interrupted stream that loses most; without a limit is most.
    fn most_interrupted(&self) -> Option<Interrupted> {
        let streams = self.interrupted.iter().rev().copied();
        streams.max_by_key(|one| one.packets.unwrap_or(u64::MAX))
    }
}

impl Worst {
    fn word(self) -> &'static str {
        self.standing.map_or(CUT_OFF, |standing| standing.name())
    }
}

impl Row {
    /// Returns the word of a basis, if every requirement holds.
    fn basis(&self) -> Option<&'static str> {
        if self.conclusion != Conclusion::Met {
            return None;
        }
        Some(match self.basis {
            Basis { held: 1.., .. } => "held",
            Basis { proved: 1.., .. } => "proved",
            Basis { .. } => "unjudged",
        })
    }
}

impl Failures {
    fn table(&self) -> Table {
        let name = |stream: usize| &self.streams[stream];
        let worst = |row: &&Row| row.worst.map(|worst| name(worst.stream));
        let activated = |row: &&Row| {
            let names = row.activated().join(", ");
            Some(names).filter(|names| !names.is_empty())
        };
        let most = |row: &Row| row.most_interrupted().and_then(|most| most.packets);
        let has_recovery = self.question.recovery.is_some();
        Table::of(&self.rows)
            .both("failure", "failure", |row| row.name())
            .file("kind", |row| row.kind())
            .shown("takes over", activated)
            .rank(2)
            .optional()
            .file("takes_over", activated)
            .number("cut off", "cut_off_streams", |row| row.cut_off.len())
            .number("rerouted", "rerouted_streams", |row| row.rerouted)
            .rank(1)
            .number("late", "late_streams", |row| row.late)
            .number("lost", "lost_streams", |row| row.lost)
            .rank(4)
            .amount("late sums", |row| row.late_sums)
            .optional()
            .number("unproved", "unproved_streams", |row| row.unproved.len())
            .number("worse", "worse_streams", |row| row.worse)
            .rank(5)
            .when(has_recovery, |rows| {
                rows.amount("interrupted", |row| row.interrupted.len())
                    .amount("packets", |row| most(row))
                    .rank(3)
            })
            .file("interrupted_streams", |row| row.interrupted.len())
            .file("interrupted_packets", |row| most(row))
            .shown("worst", |row| worst(row).map(|name| &name.unique))
            .file("worst_flow", |row| worst(row).map(|name| &name.flow))
            .file("worst_listener", |row| worst(row).map(|name| &name.listener))
            .file("worst_verdict", |row| row.worst.map(Worst::word))
            .number("margin", "worst_margin_ns", |row| row.worst.and_then(|worst| worst.margin))
            .rank(6)
            .both("verdict", "verdict", |row| {
                let word = row.conclusion.word();
                let shown = row.basis().map_or_else(|| word.to_uppercase(), str::to_owned);
                Cell::from(word).shown(shown)
            })
            .file("late_sums", |row| row.late_sums)
            .file("basis", |row| row.basis())
            .file("proved_streams", |row| row.basis.proved)
            .file("held_streams", |row| row.basis.held)
            .file("held_packets", |row| row.basis.packets)
            .done()
    }

    /// Returns the verdict in a few sentences.
    pub fn summary(&self) -> String {
        self.conclusion().sentence(&self.said())
    }

    /// Returns what it rests on.
    fn said(&self) -> String {
        let partial = if self.partial {
            format!("{} of {} judged. ", self.failures().len(), plural(self.planned, "failure"))
        } else {
            String::new()
        };
        let intact = match self.intact().map(|row| row.conclusion) {
            None | Some(Conclusion::Met) => "",
            Some(_) => "Not all requirements hold even without a failure. ",
        };
        let sentences = [partial, intact.to_owned(), self.counts(), self.lost()];
        sentences.concat().trim_end().to_owned()
    }

    /// Returns how many failures are survived, and what the others do.
    fn counts(&self) -> String {
        let all = self.failures();
        if all.is_empty() {
            return if self.planned == 0 {
                "There is nothing to fail.".to_owned()
            } else {
                String::new()
            };
        }
        let with = |is: fn(&Row) -> bool| all.iter().filter(|row| is(row)).count();
        let effects = [
            (with(|row| !row.cut_off.is_empty()), "cut streams off"),
            (with(|row| row.late > 0), "make streams late"),
            (with(|row| row.lost > 0), "lose packets"),
            (with(|row| !row.unproved.is_empty()), "leave streams unproved"),
        ];
        let effects = effects.iter().filter(|(count, _)| *count > 0);
        let effects: Vec<String> =
            effects.map(|(count, what)| format!("; {count} {what}")).collect();
        let effects = effects.concat();
        let worst = self.worst().map_or_else(String::new, |row| {
            format!(" The worst is the failure of {}.", row.name())
        });
        let failures = plural(all.len(), "single failure");
        format!("Requirements after {failures}: {}{effects}.{worst}", self.outcomes())
    }

    /// Returns what follows from the failures, worst last:
    /// `1 proved, 2 held in 1188 packets (not proved), 1 failed`.
    fn outcomes(&self) -> String {
        let with = |word: &'static str| {
            let rows = self.failures().iter();
            rows.filter(move |row| row.basis() == Some(word))
        };
        let packets = with("held").fold(0_u64, |sum, row| sum.saturating_add(row.basis.packets));
        let ended = |conclusion| {
            let rows = self.failures().iter();
            rows.filter(|row| row.conclusion == conclusion).count()
        };
        let packets = plural(usize::try_from(packets).unwrap_or(usize::MAX), "packet");
        let held = format!("held in {packets} (not proved)");
        let counts = [
            (with("proved").count(), "proved"),
            (with("held").count(), held.as_str()),
            (with("unjudged").count(), "unjudged"),
            (ended(Conclusion::NoAnswer), "no-answer"),
            (ended(Conclusion::Failed), "failed"),
            (ended(Conclusion::Contradiction), "a contradiction"),
        ];
        let counts = counts.iter().filter(|(count, _)| *count > 0);
        let words = counts.map(|(count, word)| format!("{count} {word}"));
        words.collect::<Vec<_>>().join(", ")
    }

    /// Returns the failure that cuts off, or makes late, most streams.
    fn worst(&self) -> Option<&Row> {
        let harm = |row: &&Row| (row.cut_off.len(), row.late, row.lost, row.unproved.len());
        let failures = self.failures().iter().rev();
        let worst = failures.max_by_key(harm)?;
        (harm(&worst) != (0, 0, 0, 0)).then_some(worst)
    }

    /// Returns what the recovery costs.
    fn lost(&self) -> String {
        if self.failures().is_empty() {
            return String::new();
        }
        let Some(recovery) = self.question.recovery else {
            return " Verdicts hold once the network has reconverged; `--recovery` tells what is lost until then."
                .to_owned();
        };
        let recovery = time(recovery);
        let head = format!(" Verdicts hold after the recovery of {recovery}");
        let rows = self.failures().iter().rev();
        let most = rows.filter_map(|row| Some((row.most_interrupted()?, row)));
        let most = most.max_by_key(|(one, _)| one.packets.unwrap_or(u64::MAX));
        let Some((one, row)) = most else {
            return format!("{head}, which every stream that keeps a way survives.");
        };
        let packets = one.packets.map_or_else(
            || "any number of packets".to_owned(),
            |packets| {
                format!(
                    "up to {}",
                    plural(usize::try_from(packets).unwrap_or(usize::MAX), "packet")
                )
            },
        );
        format!(
            "{head}; until then {} loses {packets} after the failure of {}.",
            self.streams[one.stream].unique,
            row.name()
        )
    }

    fn document(&self) -> FailuresJson<'_> {
        FailuresJson {
            version: env!("CARGO_PKG_VERSION"),
            scenario: &self.scenario,
            partial: self.partial,
            fail: self.question.which.name(),
            recovery_ns: self.question.recovery.map(Ns),
            summary: self.summary(),
            conclusion: self.conclusion(),
            planned: self.planned,
            intact: self.intact().map(|row| self.row(row)),
            failures: self.failures().iter().map(|row| self.row(row)).collect(),
        }
    }

    fn row<'a>(&'a self, row: &'a Row) -> RowJson<'a> {
        let names = |streams: &[usize]| streams.iter().map(|&one| self.name_json(one)).collect();
        let worst = row.worst.map(|worst| WorstJson {
            name: self.name_json(worst.stream),
            verdict: worst.word(),
            margin_ns: worst.margin.map(Ns),
        });
        let interrupted = row
            .interrupted
            .iter()
            .map(|one| InterruptedJson { name: self.name_json(one.stream), packets: one.packets });
        RowJson {
            failure: row.failure.as_ref().map(|failure| failure.name.as_str()),
            kind: row.kind(),
            takes_over: row.activated(),
            cut_off: names(&row.cut_off),
            rerouted: row.rerouted,
            late: row.late,
            lost: row.lost,
            late_sums: row.late_sums,
            no_longer_proved: names(&row.unproved),
            worse: row.worse,
            interrupted: interrupted.collect(),
            worst,
            conclusion: row.conclusion,
            basis: row.basis(),
            proved: row.basis.proved,
            held: row.basis.held,
            held_packets: row.basis.packets,
        }
    }

    fn name_json(&self, stream: usize) -> NameJson<'_> {
        let name = &self.streams[stream];
        NameJson { name: &name.flow, listener: &name.listener }
    }
}

impl Render for Failures {
    fn parts(&self, screen: Screen) -> Vec<Part> {
        let title = plain_line(&self.scenario);
        let summary = wrapped(&plain_line(&self.summary()), screen.width, 0);
        let mut parts = vec![Part::Lines(format!("{title}\n\n"))];
        if !self.rows.is_empty() {
            parts.push(self.table().into());
        }
        parts.push(format!("\n{summary}\n").into());
        parts
    }

    /// One row for the plant without a failure, and one for each failure.
    fn rows(&self) -> Table {
        self.table()
    }

    fn json(&self) -> String {
        document::text(&self.document())
    }
}
