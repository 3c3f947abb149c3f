//! Plans from the files of other tools, shown in every format.
//!
//! [`import`] reads a file; its plan is the text of a scenario, with what was assumed and found, and
//! [`scenario::load`] takes it.
//!
//! [`scenario::load`]: crate::scenario::load

use std::collections::BTreeSet;

mod loads;

pub use loads::{import, import_all, import_captures};
pub use rtether_import::{
    Assumption, Before, Cabling, Class, Code, Column, Columns, Count, File, Finding, Frequency,
    ImportError, Learner, Lesson, MAX_FILE_SIZE, Options, Plan, Sight, Source, StreamKey,
    is_capture, recognize, stamp,
};
pub use rtether_model::quantity::Duration;
use serde_json::{Map, Value, json};

use crate::report::format::{Part, Render};
use crate::report::table::{Screen, Table};
use crate::report::text::{plain_line, plural};
use crate::scenario::Scenario;

/// Schema of the JSON document.
const SCHEMA: &str = "rtether.import/1";
/// Findings that people are shown; files have all.
const SHOWN: usize = 25;
/// Flows that a second import names, of those that are new and of those that are gone.
const MOVED: usize = 5;

/// A plan and the file that it is from.
#[derive(Clone, Copy, Debug)]
pub struct Imported<'a> {
    /// Name of the file.
    pub file: &'a str,
    /// What was made of it.
    pub plan: &'a Plan,
}

impl Imported<'_> {
    /// Says what the file holds and what became of it.
    fn counts(&self) -> String {
        let counts = self.plan.counts.iter();
        let counts: Vec<String> =
            counts.map(|count| format!("{}: {}", count.title, count.number)).collect();
        counts.join(", ")
    }

    /// Says how much there is to look at.
    fn summary(&self) -> String {
        format!(
            "{} and {}",
            plural(self.plan.findings.len(), "finding"),
            plural(self.plan.assumptions.len(), "assumption")
        )
    }
}

impl Render for Imported<'_> {
    fn parts(&self, _: Screen) -> Vec<Part> {
        let Self { file, plan } = *self;
        let head = format!("{}: {}\n{}\n", plain_line(file), plan.format, self.counts());
        let mut parts = vec![head.into()];
        if !plan.findings.is_empty() {
            let table = findings(&plan.findings[..plan.findings.len().min(SHOWN)]);
            parts.extend(["\n".to_owned().into(), table.into()]);
        }
        let hidden = plan.findings.len().saturating_sub(SHOWN);
        let hidden =
            if hidden > 0 { format!("and {hidden} more; --csv has all\n") } else { String::new() };
        let mut helped: Vec<Code> = plan.findings.iter().map(|finding| finding.code).collect();
        helped.sort_unstable();
        helped.dedup();
        let helps = helped.iter();
        let helps: Vec<String> =
            helps.map(|code| format!("{}: {}\n", code.name(), code.help())).collect();
        let helps = helps.concat();
        let gap = if helps.is_empty() { "" } else { "\n" };
        parts.push(format!("{hidden}{gap}{helps}\n{}\n", self.summary()).into());
        parts
    }

    /// One row for each finding.
    fn rows(&self) -> Table {
        findings(&self.plan.findings)
    }

    /// Schema `rtether.import/1`, with the scenario.
    fn json(&self) -> String {
        let Self { file, plan } = *self;
        let counts = plan.counts.iter();
        let counts: Map<String, Value> =
            counts.map(|count| (count.name.to_owned(), count.number.into())).collect();
        let assumptions = plan.assumptions.iter().map(|assumption| {
            json!({ "line": assumption.line, "key": assumption.key, "text": assumption.text })
        });
        let findings = plan.findings.iter().map(|finding| {
            json!({
                "line": finding.line,
                "code": finding.code.name(),
                "text": finding.text,
                "help": finding.code.help(),
            })
        });
        let document = json!({
            "schema": SCHEMA,
            "file": file,
            "format": plan.format,
            "summary": self.summary(),
            "counts": counts,
            "findings": findings.collect::<Vec<Value>>(),
            "assumptions": assumptions.collect::<Vec<Value>>(),
            "scenario": plan.scenario,
        });
        format!("{document:#}\n")
    }
}

/// Says which flows are new in a second import, and which are gone; `None` if they have the same
/// names.
pub fn moved(before: &Scenario, after: &Scenario) -> Option<String> {
    let names = |scenario: &Scenario| -> BTreeSet<String> {
        let flows = scenario.flows.iter();
        flows.map(|flow| plain_line(&flow.name)).collect()
    };
    let (before, after) = (names(before), names(after));
    let list = |title: &str, names: Vec<&String>| {
        let shown: Vec<String> = names.iter().take(MOVED).map(|n| format!("`{n}`")).collect();
        let rest = match names.len().saturating_sub(MOVED) {
            0 => String::new(),
            rest => format!(" and {rest} more"),
        };
        let shown = format!("{title} {}{rest}", shown.join(", "));
        (!names.is_empty()).then_some(shown)
    };
    let new = list("new", after.difference(&before).collect());
    let gone = list("gone", before.difference(&after).collect());
    let parts: Vec<String> = new.into_iter().chain(gone).collect();
    (!parts.is_empty()).then(|| format!("flows since the last import: {}", parts.join("; ")))
}

fn findings(findings: &[Finding]) -> Table {
    Table::of(findings)
        .number("line", "line", |finding| finding.line)
        .both("finding", "code", |finding| finding.code.name())
        .both("what", "text", |finding| finding.text.as_str())
        .done()
}
