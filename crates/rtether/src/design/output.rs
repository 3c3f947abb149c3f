//! A design in all formats.

use rtether_bounds::StreamBound;
use rtether_model::quantity::Duration;
use rtether_report::document::{self, Document};
use rtether_report::format::{Part, Render};
use rtether_report::number::Ns;
use rtether_report::table::{Cell, Screen, Table};
use rtether_report::text::{few, plain_line, plural};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Edit, End, Outcome};
use crate::bound;
use crate::scenario::Override;
use crate::touching::condition_of;
use crate::words::Conclusion;

/// Most streams that a table for people shows, those nearest to their deadline first.
const SHOWN: usize = 20;

/// A design, in all formats.
#[derive(Clone, Copy, Debug)]
pub struct Answer<'a> {
    /// What was found.
    pub outcome: &'a Outcome,
}

/// A stream with a deadline, before and after the edits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Margin<'a> {
    pub(super) flow: &'a str,
    pub(super) listener: &'a str,
    deadline: Duration,
    /// Bound before and after; `None` if there is none.
    pub(super) bounds: [Option<Duration>; 2],
    /// Verdict before and after.
    pub(super) verdicts: [&'static str; 2],
}

impl Margin<'_> {
    /// Returns the deadline minus the bound, before or after.
    pub(super) fn slack(&self, side: usize) -> Option<Duration> {
        Some(self.deadline - self.bounds[side]?)
    }
}

/// Returns the bound of a stream; `None` if there is none.
fn latency(stream: &StreamBound) -> Option<Duration> {
    stream.bound.as_ref().ok().map(|own| own.latency)
}

impl Outcome {
    /// Returns the streams with a deadline: those that are not proved, then by slack.
    pub(super) fn margins(&self) -> Vec<Margin<'_>> {
        let [before, after] = [&self.before, &self.after];
        let sides = before.1.judged().zip(after.1.judged());
        let margins = sides.filter_map(|(old, new)| {
            let flow = &after.0.flows[new.0.flow.index()];
            Some(Margin {
                flow: &flow.name,
                listener: &after.0.network.node(new.0.listener).name,
                deadline: flow.deadline?,
                bounds: [old.0, new.0].map(latency),
                verdicts: [bound::verdict(&before.0, old), bound::verdict(&after.0, new)],
            })
        });
        let mut margins: Vec<Margin<'_>> = margins.collect();
        margins.sort_by_key(|own| (own.verdicts[1] == "ok", own.slack(1)));
        margins
    }

    /// Returns the verdict in one sentence.
    pub fn headline(&self) -> String {
        self.conclusion().sentence(&self.said())
    }

    fn said(&self) -> String {
        let [before, after] = self.proved;
        let of = plural(self.goals, "deadline");
        let edits = plural(self.edits.len(), "edit");
        let condition = if after > 0 { condition_of(&self.after.0) } else { String::new() };
        let found = match self.edits.len() {
            0 => format!("{after} of {of} proved as it is{condition}"),
            _ => format!("{after} of {of} proved with {edits}{condition}, {before} without"),
        };
        match self.end {
            End::Proved => format!("{found}."),
            End::Impossible => format!("{} {found}.", self.impossible()),
            End::Best => format!("{found}; whether more can be is not known."),
            End::Interrupted => format!("{found}, when it was ended."),
        }
    }

    /// Returns what cannot be, and why.
    fn impossible(&self) -> String {
        if let Some(first) = self.obstacles.first() {
            let all: usize = self.obstacles.iter().map(|own| own.count).sum();
            let more = match all - first.count {
                0 => String::new(),
                more => format!("; nor {}", plural(more, "other deadline")),
            };
            return format!("No edit that is allowed proves {}: {}{more}.", first.name, first.why);
        }
        let all = self.all.unwrap_or(0);
        format!("None of all {all} designs that are allowed proves everything.")
    }

    /// Returns the edits as a table.
    pub(super) fn edits(&self) -> Table {
        edits(&self.edits)
    }
}

/// Returns edits as a table.
pub(super) fn edits(edits: &[Edit]) -> Table {
    Table::of(edits)
        .file("kind", |_| "edit")
        .both("path", "name", |edit| &edit.path)
        .both("old", "old", |edit| &edit.old)
        .both("new", "new", |edit| &edit.new)
        .shown("needed by", |edit| few(&edit.needed_by).unwrap_or_default())
        .rank(1)
        .file("needed_by_deadlines", |edit| edit.needed_by.len())
        .file("cost", |edit| edit.cost)
        .done()
}

/// Returns the streams as a table.
pub(super) fn margins(rows: &[Margin<'_>]) -> Table {
    Table::of(rows)
        .file("kind", |_| "stream")
        .both("flow", "name", |own| own.flow)
        .both("listener", "listener", |own| own.listener)
        .rank(2)
        .number("deadline", "deadline_ns", |own| own.deadline)
        .number("bound before", "bound_before_ns", |own| or_none(own.bounds[0]))
        .rank(1)
        .number("after", "bound_after_ns", |own| or_none(own.bounds[1]))
        .number("slack before", "slack_before_ns", |own| own.slack(0))
        .rank(1)
        .number("after", "slack_after_ns", |own| own.slack(1))
        .file("verdict_before", |own| own.verdicts[0])
        .file("verdict_after", |own| own.verdicts[1])
        .shown("verdict", |own| bound::words(own.verdicts[1]))
        .done()
}

fn or_none(bound: Option<Duration>) -> Cell {
    bound.map_or_else(|| Cell::default().shown("none"), Cell::from)
}

impl Render for Answer<'_> {
    fn parts(&self, _: Screen) -> Vec<Part> {
        let own = self.outcome;
        let head = format!("{}\n{}\n", plain_line(&own.after.0.name), plain_line(&own.headline()));
        let mut parts = vec![Part::Lines(head + "\n")];
        if !own.edits.is_empty() {
            parts.extend([own.edits().into(), Part::Lines("\n".into())]);
        }
        let mut rows = own.margins();
        let hidden = rows.len().saturating_sub(SHOWN);
        rows.truncate(SHOWN);
        parts.push(margins(&rows).into());
        let more = match hidden {
            0 => String::new(),
            _ => format!("{} with more slack not shown. ", plural(hidden, "stream")),
        };
        parts.push(format!("\n{more}{} tried.\n", plural(own.trials, "design")).into());
        parts
    }

    /// `kind` distinguishes edits and streams.
    fn rows(&self) -> Table {
        self.outcome.edits().append(&margins(&self.outcome.margins()))
    }

    fn json(&self) -> String {
        let own = self.outcome;
        document::text(&DesignJson {
            version: env!("CARGO_PKG_VERSION"),
            scenario: &own.after.0.name,
            conclusion: own.conclusion(),
            summary: own.headline(),
            end: match own.end {
                End::Proved => "proved",
                End::Impossible => "impossible",
                End::Best => "best found",
                End::Interrupted => "interrupted",
            },
            deadlines: own.goals,
            proved_before: own.proved[0],
            proved_after: own.proved[1],
            cost: own.edits.iter().map(|edit| edit.cost).sum(),
            edits: own.edits.iter().map(EditJson::of).collect(),
            obstacles: own
                .obstacles
                .iter()
                .map(|own| ObstacleJson { name: &own.name, why: &own.why, deadlines: own.count })
                .collect(),
            all_designs: own.all,
            designs_tried: own.trials,
            streams: own.margins().iter().map(MarginJson::of).collect(),
        })
    }
}

/// A design: edits of a scenario under which deadlines are proved.
#[derive(Serialize, JsonSchema)]
pub(crate) struct DesignJson<'a> {
    /// Version of rtether.
    version: &'static str,
    /// Title of the scenario.
    scenario: &'a str,
    conclusion: Conclusion,
    /// The result in words.
    summary: String,
    /// `proved`, `impossible` in the space that may change, `best found` or `interrupted`.
    end: &'static str,
    /// Deadlines of streams, and sums, that are to be proved.
    deadlines: usize,
    /// How many are proved without the edits.
    proved_before: usize,
    /// How many are proved with them.
    proved_after: usize,
    /// What the edits cost together.
    cost: u64,
    /// The edits.
    edits: Vec<EditJson<'a>>,
    /// Deadlines that no allowed edit proves.
    obstacles: Vec<ObstacleJson<'a>>,
    /// How many designs are allowed, if all were tried and none proves everything.
    all_designs: Option<usize>,
    /// Designs that were tried.
    designs_tried: usize,
    /// Streams with a deadline: those that are not proved, then by slack.
    streams: Vec<MarginJson<'a>>,
}

impl Document for DesignJson<'_> {
    const SCHEMA: &'static str = "rtether.design/1";
}

#[derive(Serialize, JsonSchema)]
pub(super) struct EditJson<'a> {
    /// Where it is, as paths of `--set`.
    path: &'a str,
    /// What is written there, in words.
    old: &'a str,
    /// What is written instead.
    new: &'a str,
    /// The same as `PATH=VALUE` of `--set`.
    changes: Vec<String>,
    /// What it costs.
    cost: u64,
    /// Deadlines and sums that are not proved without it; empty if the search was interrupted.
    needed_by: &'a [String],
}

impl<'a> EditJson<'a> {
    pub(super) fn of(edit: &'a Edit) -> Self {
        Self {
            path: &edit.path,
            old: &edit.old,
            new: &edit.new,
            changes: edit.changes.iter().map(Override::text).collect(),
            cost: edit.cost,
            needed_by: &edit.needed_by,
        }
    }
}

#[derive(Serialize, JsonSchema)]
struct ObstacleJson<'a> {
    /// The flow, and its listener if it has several; or what several streams have in common.
    name: &'a str,
    /// The condition that fails.
    why: &'a str,
    /// How many deadlines it concerns.
    deadlines: usize,
}

#[derive(Serialize, JsonSchema)]
struct MarginJson<'a> {
    /// Name of the flow.
    name: &'a str,
    /// Name of the listener.
    listener: &'a str,
    /// Its deadline.
    deadline_ns: Ns,
    /// Bound without the edits; `null` if there is none.
    bound_before_ns: Option<Ns>,
    /// Bound with them.
    bound_after_ns: Option<Ns>,
    /// The deadline minus the bound without the edits.
    slack_before_ns: Option<Ns>,
    /// The same with them.
    slack_after_ns: Option<Ns>,
    /// Verdict without the edits: `ok`, `if-delivered`, `if-nothing-dropped`, `not-proved` or
    /// `no-bound`.
    verdict_before: &'static str,
    /// Verdict with them.
    verdict_after: &'static str,
}

impl<'a> MarginJson<'a> {
    fn of(own: &Margin<'a>) -> Self {
        Self {
            name: own.flow,
            listener: own.listener,
            deadline_ns: Ns(own.deadline),
            bound_before_ns: own.bounds[0].map(Ns),
            bound_after_ns: own.bounds[1].map(Ns),
            slack_before_ns: own.slack(0).map(Ns),
            slack_after_ns: own.slack(1).map(Ns),
            verdict_before: own.verdicts[0],
            verdict_after: own.verdicts[1],
        }
    }
}
