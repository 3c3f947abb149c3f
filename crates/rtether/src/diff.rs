//! What changed between two results of `check`: margins gained and lost, and new failures.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use rtether_model::quantity::Duration;
use rtether_report::document::{self, Document};
use rtether_report::format::{Part, Render};
use rtether_report::number::{MaybeNs, Ns};
use rtether_report::table::{Cell, Screen, Table};
use rtether_report::text::{plural, time};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::report::Stream;
use crate::words::Conclusion;

/// The documents that can be compared.
const SCHEMA: &str = "rtether.result/1";

/// What a result says of a stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Side {
    /// `ok`, `late`, `lost`, `not-proved`, `no-answer`, `no-deadline` or `unjudged`.
    pub verdict: String,
    /// What it rests on: `proved`, `held` or `late`, if anything.
    pub basis: Option<String>,
    /// Least distance to a requirement; negative if it failed.
    #[serde(rename = "margin_ns", with = "MaybeNs")]
    pub margin: Option<Duration>,
    /// Deadline of the flow.
    #[serde(rename = "deadline_ns", with = "MaybeNs")]
    pub deadline: Option<Duration>,
    /// Proved bound.
    #[serde(rename = "bound_ns", with = "MaybeNs")]
    pub bound: Option<Duration>,
    /// Largest simulated latency.
    #[serde(rename = "max_ns", with = "MaybeNs")]
    pub max: Option<Duration>,
}

impl Side {
    /// Returns what a result says of a stream that is at hand.
    pub fn of(stream: &Stream<'_>) -> Self {
        Self {
            verdict: stream.verdict().name().to_owned(),
            basis: Some(stream.standing().name().to_owned()),
            margin: stream.assessment.margin,
            deadline: stream.flow.deadline,
            bound: stream.bound,
            max: stream.max(),
        }
    }

    fn read(stream: &Value) -> Option<Self> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        Some(Self {
            verdict: text(&stream["verdict"])?,
            basis: text(&stream["basis"]["word"]),
            margin: span(&stream["margin_ns"]),
            deadline: span(&stream["deadline_ns"]),
            bound: span(&stream["bound_ns"]),
            max: span(&stream["sim"]["max_ns"]),
        })
    }

    /// Returns whether a requirement failed, or could not be judged.
    fn is_bad(&self) -> bool {
        !matches!(self.verdict.as_str(), "ok" | "unjudged")
    }
}

/// Reads a time in nanoseconds, with up to three decimals.
fn span(value: &Value) -> Option<Duration> {
    if let Some(whole) = value.as_i64() {
        return whole.checked_mul(1_000).map(Duration::from_ps);
    }
    let ps = (value.as_f64()? * 1e3).round();
    #[allow(clippy::cast_possible_truncation, reason = "checked before")]
    (ps.abs() < 9e18).then(|| Duration::from_ps(ps as i64))
}

/// What became of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// It fails, and did not fail before or was not there.
    NewFailure,
    /// Its margin is smaller, or it is not proved any more, or with the same margin bound or largest
    /// latency are larger.
    Worse,
    /// It is not there any more.
    Removed,
    /// It was not there before, and does not fail.
    Added,
    /// Something else is different.
    Other,
    /// The opposite.
    Better,
    /// It failed before and does not any more.
    Mended,
}

impl Change {
    /// Returns the name used in tables and files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NewFailure => "new failure",
            Self::Worse => "worse",
            Self::Removed => "removed",
            Self::Added => "added",
            Self::Other => "other",
            Self::Better => "better",
            Self::Mended => "mended",
        }
    }

    /// Returns what happened between two sides; `None` if they are equal.
    pub fn between(before: Option<&Side>, after: Option<&Side>) -> Option<Self> {
        let (before, after) = match (before, after) {
            (None, None) => return None,
            (Some(_), None) => return Some(Self::Removed),
            (None, Some(after)) if after.is_bad() => return Some(Self::NewFailure),
            (None, Some(_)) => return Some(Self::Added),
            (Some(before), Some(after)) => (before, after),
        };
        if before == after {
            return None;
        }
        Some(match (before.is_bad(), after.is_bad()) {
            (false, true) => Self::NewFailure,
            (true, false) => Self::Mended,
            (true, true) | (false, false) => before.to(after),
        })
    }
}

impl Side {
    /// Returns whether another side is better than this one: by margin, then by proof, bound and
    /// largest latency.
    fn to(&self, after: &Self) -> Change {
        let is_proved = |side: &Self| side.basis.as_deref() == Some("proved");
        // Less is better, and nothing is worst.
        let least = |span: Option<Duration>| span.unwrap_or(Duration::MAX);
        let order = (self.margin.zip(after.margin))
            .map_or(Ordering::Equal, |(before, after)| after.cmp(&before))
            .then(is_proved(after).cmp(&is_proved(self)))
            .then(least(self.bound).cmp(&least(after.bound)))
            .then(least(self.max).cmp(&least(after.max)));
        match order {
            Ordering::Less => Change::Worse,
            Ordering::Greater => Change::Better,
            Ordering::Equal => Change::Other,
        }
    }
}

/// A stream that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Name of the flow.
    pub flow: String,
    /// Name of the listener.
    pub listener: String,
    /// What became of it.
    pub change: Change,
    /// In the old result.
    pub before: Option<Side>,
    /// In the new result.
    pub after: Option<Side>,
}

impl Difference {
    /// Returns the margin gained; negative if it was lost.
    pub fn gain(&self) -> Option<Duration> {
        Some(self.after.as_ref()?.margin? - self.before.as_ref()?.margin?)
    }
}

/// Two results compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diff {
    /// Titles of the scenarios, old and new.
    pub scenarios: [String; 2],
    /// Streams that differ: new failures first, then by the margin lost.
    pub differences: Vec<Difference>,
    /// How many streams do not.
    pub same: usize,
}

/// What changed between two results.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DiffJson<'a> {
    /// Titles of the scenarios, old and new.
    scenarios: &'a [String; 2],
    conclusion: Conclusion,
    /// The result in a sentence.
    summary: String,
    /// Streams that fail, or have no answer, and did not before or were not there.
    new_failures: usize,
    /// Streams with the same verdict, basis, margin, deadline, bound and largest latency.
    unchanged_streams: usize,
    /// Streams that differ, new failures first.
    streams: Vec<DifferenceJson<'a>>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct DifferenceJson<'a> {
    /// Name of the flow.
    name: &'a str,
    /// Name of the listener.
    listener: &'a str,
    /// `new failure`, `worse` (a smaller margin, not proved any more, or at the same margin a larger
    /// bound or latency), `better`, `mended`, `added`, `removed` or `other`.
    change: &'static str,
    /// Margin after minus margin before.
    gain_ns: Option<Ns>,
    /// In the old result; `null` for a stream that came.
    before: Option<&'a Side>,
    /// In the new result; `null` for a stream that went.
    after: Option<&'a Side>,
}

impl Document for DiffJson<'_> {
    const SCHEMA: &'static str = "rtether.diff/1";
}

/// Checks that a document is one of `rtether check --json`.
///
/// # Errors
/// If it is something else; the message says why.
pub fn check(document: &Value) -> Result<(), String> {
    streams(document).map(drop)
}

type Streams = BTreeMap<(String, String), Side>;

/// Compares two documents of `rtether check --json`.
///
/// # Errors
/// If one of them is something else; the message says which and why.
pub fn diff(old: &Value, new: &Value) -> Result<Diff, String> {
    let read =
        |document, which| streams(document).map_err(|error| format!("the {which} result: {error}"));
    let (mut before, after) = (read(old, "old")?, read(new, "new")?);
    let mut differences = Vec::new();
    let mut same = 0;
    let mut note =
        |(flow, listener), before: Option<Side>, after: Option<Side>| match Change::between(
            before.as_ref(),
            after.as_ref(),
        ) {
            None => same += 1,
            Some(change) => differences.push(Difference { flow, listener, change, before, after }),
        };
    for (key, after) in after {
        let before = before.remove(&key);
        note(key, before, Some(after));
    }
    for (key, before) in before {
        note(key, Some(before), None);
    }
    differences.sort_by_key(|difference| (difference.change, difference.gain()));
    let title = |document: &Value| document["scenario"].as_str().unwrap_or_default().to_owned();
    Ok(Diff { scenarios: [title(old), title(new)], differences, same })
}

fn streams(document: &Value) -> Result<Streams, String> {
    let schema = document["schema"].as_str();
    if schema != Some(SCHEMA) {
        let found = schema.map_or_else(|| "no schema".to_owned(), |schema| format!("`{schema}`"));
        return Err(format!(
            "{found} where `{SCHEMA}` is expected; `rtether check S.yaml --json` prints it"
        ));
    }
    if document["partial"] == true {
        return Err("it was interrupted, and says nothing of whole runs".to_owned());
    }
    let all = document["flows"].as_array().ok_or("it has no `flows`")?;
    let read = |stream: &Value| {
        let name = |key: &str| stream[key].as_str().map(str::to_owned);
        // A sum of several streams has no listener.
        let is_sum = stream["flows"].is_array();
        let listener = name("listener").or_else(|| is_sum.then(String::new))?;
        Some(((name("name")?, listener), Side::read(stream)?))
    };
    let sums = document["sums"].as_array().map_or(&[][..], Vec::as_slice);
    all.iter()
        .chain(sums)
        .map(|stream| {
            read(stream).ok_or_else(|| "a stream lacks name, listener or verdict".to_owned())
        })
        .collect()
}

impl Diff {
    /// Returns how many streams changed in this way.
    pub fn count(&self, change: Change) -> usize {
        let all = self.differences.iter();
        all.filter(|difference| difference.change == change).count()
    }

    /// Returns the verdict: failed if a stream fails that did not.
    pub fn conclusion(&self) -> Conclusion {
        Conclusion::meets(Some(self.count(Change::NewFailure) == 0))
    }

    /// Returns the verdict in a sentence.
    pub fn summary(&self) -> String {
        self.conclusion().sentence(&self.said())
    }

    fn said(&self) -> String {
        if self.differences.is_empty() {
            return format!("No change: {}.", plural(self.same, "stream"));
        }
        let kinds = [
            Change::NewFailure,
            Change::Worse,
            Change::Better,
            Change::Mended,
            Change::Added,
            Change::Removed,
            Change::Other,
        ];
        let counts = kinds.map(|change| (self.count(change), change));
        let words = counts.iter().filter(|(count, _)| *count > 0);
        let words: Vec<String> = words
            .map(|(count, change)| {
                if *change == Change::NewFailure {
                    plural(*count, change.name())
                } else {
                    format!("{count} {}", change.name())
                }
            })
            .collect();
        format!("{}; {} unchanged.", words.join(", "), self.same)
    }

    fn table(&self) -> Table {
        let step = |difference: &Difference, of: &dyn Fn(&Side) -> String| match (
            &difference.before,
            &difference.after,
        ) {
            (Some(before), Some(after)) if of(before) == of(after) => of(after),
            (Some(before), Some(after)) => format!("{} > {}", of(before), of(after)),
            (Some(before), None) => of(before),
            (None, Some(after)) => of(after),
            (None, None) => String::new(),
        };
        let shown = |text: String| Cell::default().shown(text);
        let span = |span: Option<Duration>| span.map_or_else(|| "-".to_owned(), time);
        let verdict = |side: &Side| match &side.basis {
            Some(basis) if !side.is_bad() => basis.clone(),
            _ => side.verdict.clone(),
        };
        let before = |of: fn(&Side) -> Option<Duration>| {
            move |difference: &&Difference| difference.before.as_ref().and_then(of)
        };
        let after = |of: fn(&Side) -> Option<Duration>| {
            move |difference: &&Difference| difference.after.as_ref().and_then(of)
        };
        let word = |side: &Option<Side>| side.as_ref().map(|side| side.verdict.clone());
        Table::of(&self.differences)
            .both("change", "change", |difference| difference.change.name())
            .both("flow", "flow", |difference| &difference.flow)
            .both("listener", "listener", |difference| &difference.listener)
            .rank(4)
            .shown("verdict", |difference| shown(step(difference, &verdict)))
            .number("gained", "gain_ns", |difference| difference.gain())
            .amount("margin", |difference| shown(step(difference, &|side| span(side.margin))))
            .rank(3)
            .amount("bound", |difference| shown(step(difference, &|side| span(side.bound))))
            .rank(2)
            .amount("max", |difference| shown(step(difference, &|side| span(side.max))))
            .rank(1)
            .file("verdict_before", |difference| word(&difference.before))
            .file("verdict_after", |difference| word(&difference.after))
            .file("margin_before_ns", before(|side| side.margin))
            .file("margin_after_ns", after(|side| side.margin))
            .file("bound_before_ns", before(|side| side.bound))
            .file("bound_after_ns", after(|side| side.bound))
            .file("max_before_ns", before(|side| side.max))
            .file("max_after_ns", after(|side| side.max))
            .done()
    }

    /// Returns the document of schema `rtether.diff/1`.
    pub fn document(&self) -> DiffJson<'_> {
        let streams = self.differences.iter().map(|difference| DifferenceJson {
            name: &difference.flow,
            listener: &difference.listener,
            change: difference.change.name(),
            gain_ns: difference.gain().map(Ns),
            before: difference.before.as_ref(),
            after: difference.after.as_ref(),
        });
        DiffJson {
            scenarios: &self.scenarios,
            conclusion: self.conclusion(),
            summary: self.summary(),
            new_failures: self.count(Change::NewFailure),
            unchanged_streams: self.same,
            streams: streams.collect(),
        }
    }
}

impl Render for Diff {
    fn parts(&self, _: Screen) -> Vec<Part> {
        let [old, new] = &self.scenarios;
        let title = if old == new { format!("{new}\n\n") } else { format!("{old} > {new}\n\n") };
        let mut parts = vec![title.into()];
        if !self.differences.is_empty() {
            parts.push(self.table().into());
        }
        let gap = if self.differences.is_empty() { "" } else { "\n" };
        parts.push(format!("{gap}{}\n", self.summary()).into());
        parts
    }

    /// One row for each stream that differs.
    fn rows(&self) -> Table {
        self.table()
    }

    fn json(&self) -> String {
        document::text(&self.document())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn side(verdict: &str, basis: &str, margin: i64) -> Side {
        Side {
            verdict: verdict.into(),
            basis: Some(basis.into()),
            margin: Some(Duration::from_us(margin)),
            deadline: None,
            bound: None,
            max: None,
        }
    }

    #[test]
    fn changes_by_hand() {
        let (proved, held) = (side("ok", "proved", 10), side("ok", "held", 10));
        let (tight, late) = (side("ok", "proved", 5), side("late", "late", -5));
        let unknown = side("no-answer", "held", 10);
        let change = |before: &Side, after: &Side| Change::between(Some(before), Some(after));
        assert_eq!(change(&proved, &proved), None);
        assert_eq!(change(&proved, &tight), Some(Change::Worse));
        assert_eq!(change(&tight, &proved), Some(Change::Better));
        assert_eq!(change(&proved, &held), Some(Change::Worse));
        assert_eq!(change(&held, &proved), Some(Change::Better));
        assert_eq!(change(&proved, &late), Some(Change::NewFailure));
        assert_eq!(change(&proved, &unknown), Some(Change::NewFailure));
        assert_eq!(change(&late, &held), Some(Change::Mended));
        let bounded = Side { bound: Some(Duration::from_us(20)), ..proved.clone() };
        assert_eq!(change(&proved, &bounded), Some(Change::Better));
        assert_eq!(change(&bounded, &proved), Some(Change::Worse));
        let other = Side { deadline: Some(Duration::from_us(30)), ..proved.clone() };
        assert_eq!(change(&proved, &other), Some(Change::Other));
        assert_eq!(Change::between(None, Some(&late)), Some(Change::NewFailure));
        assert_eq!(Change::between(None, Some(&held)), Some(Change::Added));
        assert_eq!(Change::between(Some(&held), None), Some(Change::Removed));
    }

    #[test]
    fn times_are_read_to_the_picosecond() {
        assert_eq!(span(&json!(1_500)), Some(Duration::from_ps(1_500_000)));
        assert_eq!(span(&json!(98_350.793)), Some(Duration::from_ps(98_350_793)));
        assert_eq!(span(&json!(-0.001)), Some(Duration::from_ps(-1)));
        assert_eq!(span(&json!(null)), None);
        assert_eq!(span(&json!(1e30)), None);
    }

    #[test]
    fn other_documents_are_refused() {
        let result = json!({ "schema": SCHEMA, "scenario": "x", "flows": [] });
        assert_eq!(diff(&result, &result).unwrap().summary(), "PASS. No change: 0 streams.");
        let other = json!({ "schema": "rtether.bound/1" });
        let error = diff(&result, &other).unwrap_err();
        assert!(error.starts_with("the new result: `rtether.bound/1` where"), "{error}");
        let partial = json!({ "schema": SCHEMA, "partial": true, "flows": [] });
        assert!(diff(&partial, &result).unwrap_err().contains("interrupted"));
        let nameless = json!({ "schema": SCHEMA, "flows": [{ "verdict": "ok" }] });
        assert!(diff(&nameless, &result).unwrap_err().contains("lacks name"));
    }
}
