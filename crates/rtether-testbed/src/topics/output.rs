//! Samples as lines of a table, CSV or JSON, and the summary.

use std::fmt::Write;

use rtether_model::quantity::Duration;
use serde::Serialize;
use serde_json::Value;

use super::delay_output;
use super::text::clean;
use super::{Member, Sample, Summary, TopicJson, TopicType};
use rtether::characters::is_unseen;
use rtether::report::document::{self, Members};
use rtether::report::format::Format;
use rtether::report::text::{plural, time};
use rtether::sheet::Sheet;

/// Formats samples of a type as lines.
#[derive(Clone, Debug)]
pub struct Lines {
    /// The format; JSON is one object per line, and Markdown a table as for a terminal.
    pub format: Format,
    /// The type of the samples.
    pub kind: TopicType,
}

/// A line for a sample.
#[derive(Serialize)]
struct SampleJson<'a> {
    event: &'static str,
    time_ns: i64,
    writer: &'a str,
    sequence: i64,
    latency_ns: Option<i64>,
    state: &'static str,
    value: Members<&'a str, &'a Member>,
}

/// Columns before the members, with their names in CSV.
const HEAD: [(&str, &str); 5] = [
    ("time", "time_ns"),
    ("writer", "writer"),
    ("sequence", "sequence"),
    ("latency", "latency_ns"),
    ("state", "state"),
];

/// Name of samples that were replaced before they were read, with what prevents it.
const REPLACED: &str = "replaced by later ones (`--depth 0` keeps all)";

/// Name of samples that only another host can have declared gone.
const CONTRADICTED: &str =
    "declared gone by others in a writer's name (what is lost may be wrong, too)";

/// Width of a table column, in characters.
fn width(name: &str) -> usize {
    match name {
        "state" | "color" => 10,
        "sent_ns" => 19,
        "x" | "y" => 5,
        _ => name.len().max(9),
    }
}

impl Lines {
    /// Returns the header.
    pub fn head(&self) -> Option<String> {
        let members = self.kind.columns().into_iter();
        if self.format.is_json() {
            return None;
        }
        if self.format == Format::Csv {
            let head = HEAD.iter().map(|(_, name)| *name);
            return Some(row(head.chain(members).map(str::to_owned)));
        }
        let head = HEAD.iter().map(|(name, _)| *name);
        let names = head.filter(|name| *name != "writer").chain(members);
        let cells = names.map(|name| cell(name, name));
        Some(line(&cells.collect::<Vec<_>>().concat()))
    }

    /// Returns the line of a sample.
    pub fn sample(&self, sample: &Sample) -> String {
        if self.format.is_json() {
            self.object(sample)
        } else if self.format == Format::Csv {
            self.record(sample)
        } else {
            self.columns(sample)
        }
    }

    fn record(&self, sample: &Sample) -> String {
        let head = [
            sample.at.as_ns_floor().to_string(),
            sample.writer.clone(),
            sample.sequence.to_string(),
            sample.latency.map_or_else(String::new, |latency| latency.as_ns_floor().to_string()),
            sample.state.to_owned(),
        ];
        let columns = self.kind.columns().len();
        let members = (0..columns).map(|at| sample.members.get(at));
        let members = members.map(|member| member.map_or_else(String::new, text));
        row(head.into_iter().chain(members))
    }

    fn object(&self, sample: &Sample) -> String {
        let names = self.kind.columns().into_iter();
        let members = names.zip(&sample.members).filter(|(_, member)| **member != Member::Absent);
        let line = SampleJson {
            event: "sample",
            time_ns: sample.at.as_ns_floor(),
            writer: &sample.writer,
            sequence: sample.sequence,
            latency_ns: sample.latency.map(Duration::as_ns_floor),
            state: sample.state,
            value: Members(members.collect()),
        };
        let text = serde_json::to_string(&line).expect("names are text");
        format!("{}\n", escaped(&text))
    }

    fn columns(&self, sample: &Sample) -> String {
        let mut cells = String::new();
        cells.push_str(&cell("time", &time(sample.at)));
        cells.push_str(&cell("sequence", &sample.sequence.to_string()));
        let latency = sample.latency.map_or_else(|| "-".to_owned(), time);
        cells.push_str(&cell("latency", &latency));
        cells.push_str(&cell("state", sample.state));
        for (name, member) in self.kind.columns().iter().zip(&sample.members) {
            let text = if *member == Member::Absent {
                "-".to_owned()
            } else {
                // Long texts are cut off.
                clean(&text(member))
            };
            cells.push_str(&cell(name, &text));
        }
        line(&cells)
    }

    /// Returns the summary: a line of text, or a JSON object.
    pub fn summary(&self, summary: &Summary) -> String {
        if self.format.is_json() {
            return document::line(&TopicJson::of(summary));
        }
        let mut text = String::new();
        let does = if summary.is_writer { "written" } else { "received" };
        let word = summary.conclusion().word();
        let wanted = summary.wanted.filter(|wanted| summary.samples < *wanted);
        let wanted = wanted.map_or_else(String::new, |wanted| format!(" of {wanted}"));
        let samples = plural_u64(summary.samples, "sample");
        _ = write!(text, "{word}. {samples}{wanted} {does}");
        if !summary.is_writer {
            let (lost, rejected) = (summary.lost, summary.rejected);
            let least = if lost > 0 && !summary.is_reliable { "at least " } else { "" };
            _ = write!(text, ", {least}{lost} lost, {rejected} rejected");
        }
        let missed = plural_u64(summary.deadlines_missed, "deadline");
        _ = write!(text, ", {missed} missed");
        for (count, name) in [
            (summary.missing, "announced and not yet received"),
            (summary.waiting, "received and not read"),
            (summary.replaced, REPLACED),
            (summary.filtered, "filtered"),
            (summary.expired, "expired"),
            (summary.malformed, "malformed"),
            (summary.contradicted, CONTRADICTED),
            (summary.impostors, "from addresses not announced"),
            (summary.elsewhere, "over other devices"),
            (summary.crowded, "without room for fragments"),
        ] {
            if count > 0 {
                _ = write!(text, ", {count} {name}");
            }
        }
        if !summary.versions.is_empty() {
            _ = write!(text, ", dropped: {}", summary.versions);
        }
        let other = if summary.is_writer { "reader" } else { "writer" };
        _ = write!(text, "; {} matched", plural_u64(summary.matched, other));
        if summary.mismatched > 0 {
            _ = write!(text, ", {} did not", summary.mismatched);
        }
        if summary.is_writer && !summary.is_acknowledged {
            let count = plural_u64(summary.unacknowledged, "sample");
            _ = write!(text, "; {count} not acknowledged");
        }
        let delays = summary.delays.as_ref();
        line(&text) + &delays.map(delay_output::text).unwrap_or_default()
    }
}

fn plural_u64(count: u64, name: &str) -> String {
    plural(usize::try_from(count).unwrap_or(usize::MAX), name)
}

fn text(member: &Member) -> String {
    match member {
        Member::Text(text) => text.clone(),
        Member::Number(number) => number.to_string(),
        Member::Tree(Value::String(text)) => escaped(text),
        Member::Tree(tree) => escaped(&tree.to_string()),
        Member::Absent => String::new(),
    }
}

/// Escapes control characters, which could upset a terminal, and other invisible characters, in the
/// notation of JSON.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        if is_unseen(character) {
            _ = write!(safe, "\\u{:04x}", u32::from(character));
        } else {
            safe.push(character);
        }
    }
    safe
}

fn cell(name: &str, text: &str) -> String {
    let width = width(name);
    match name {
        "state" | "color" => format!("  {text:<width$}"),
        _ => format!("  {text:>width$}"),
    }
}

fn line(text: &str) -> String {
    format!("{}\n", text.trim_end())
}

/// Returns a CSV row.
pub(super) fn row(cells: impl Iterator<Item = String>) -> String {
    let mut writer = Sheet::from_writer(Vec::new());
    // Writing to memory cannot fail.
    drop(writer.write_record(cells));
    writer.into_text()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]
    use super::*;
    use rtether_testkit::read_document;

    fn sample() -> Sample {
        Sample {
            at: Duration::from_ms(1_500),
            sequence: 7,
            writer: "01fe:00000102".to_owned(),
            latency: Some(Duration::from_us(80)),
            state: "alive",
            members: vec![
                Member::Text("BL,UE".to_owned()),
                Member::Number(1),
                Member::Number(2),
                Member::Number(30),
                Member::Number(0),
            ],
        }
    }

    #[test]
    fn a_sample_in_each_form() {
        // Oracle: RFC 4180 for the quotes, the documented columns and units for the rest.
        let lines = |format| Lines { format, kind: TopicType::Shape };
        let csv = lines(Format::Csv);
        assert_eq!(
            csv.head().as_deref(),
            Some("time_ns,writer,sequence,latency_ns,state,color,x,y,shapesize,payload_bytes\n")
        );
        assert_eq!(
            csv.sample(&sample()),
            "1500000000,01fe:00000102,7,80000,alive,\"BL,UE\",1,2,30,0\n"
        );
        let object: Value = serde_json::from_str(&lines(Format::Json).sample(&sample())).unwrap();
        assert_eq!(object["latency_ns"], 80_000);
        assert_eq!(object["value"]["color"], "BL,UE");
        let table = lines(Format::Table);
        let (head, line) = (table.head().unwrap(), table.sample(&sample()));
        assert_eq!(head.trim_end().len(), line.trim_end().len(), "{head}{line}");
    }

    #[test]
    fn of_best_effort_at_least_so_many_are_lost() {
        // Oracle: nothing tells a best-effort reader what was lost at the end.
        let lines = Lines { format: Format::Table, kind: TopicType::Octets };
        let lost =
            |is_reliable| lines.summary(&Summary { is_reliable, lost: 3, ..Summary::default() });
        assert!(lost(false).contains(", at least 3 lost,"), "{}", lost(false));
        assert!(lost(true).contains(", 3 lost,"), "{}", lost(true));
    }

    #[test]
    fn replaced_samples_have_a_figure_and_a_hint() {
        // Oracle: the counts of the summary, and the option that keeps all samples.
        let summary = Summary { samples: 1_827, replaced: 1_173, missing: 3, ..Summary::default() };
        let lines = |format| Lines { format, kind: TopicType::Octets };
        let text = lines(Format::Table).summary(&summary);
        assert!(text.contains(", 1173 replaced by later ones (`--depth 0`"), "{text}");
        assert!(text.contains(", 3 announced and not yet received"), "{text}");
        let none = lines(Format::Table).summary(&Summary::default());
        assert!(!none.contains("replaced"), "{none}");
        let object = read_document(&lines(Format::Json).summary(&summary));
        assert_eq!(object["replaced"], 1_173);
        assert_eq!(object["not_owed"], 0);
        assert_eq!(object["missing"], 3);
    }

    #[test]
    fn an_instance_that_ended_has_empty_members() {
        // Oracle: the number of columns of the head.
        let lines = Lines { format: Format::Csv, kind: TopicType::Shape };
        let ended =
            Sample { state: "disposed", members: vec![Member::Text("RED".to_owned())], ..sample() };
        assert!(lines.sample(&ended).ends_with("disposed,RED,,,,\n"));
    }
}
