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
    Identified, ImportError, IpPacket, Learner, Lesson, MAX_FILE_SIZE, Options, Plan, Profile,
    Sight, Source, StreamKey, ip_packets, is_capture, recognize, stamp,
};
pub use rtether_model::quantity::Duration;
use rtether_report::document::{self, Document, Members};
use rtether_report::format::{Part, Render};
use rtether_report::table::{Screen, Table};
use rtether_report::text::{plain_line, plural};
use schemars::JsonSchema;
use serde::Serialize;

use crate::scenario::Scenario;

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

/// A plan from the file of another tool.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ImportJson<'a> {
    /// The file as named.
    file: &'a str,
    /// What it is.
    format: &'a str,
    /// How many findings and assumptions there are.
    summary: String,
    /// What the file holds (a capture: `packets`, `interfaces`, `streams`; SCL: `devices`,
    /// `access_points`, `subnetworks`, `goose_blocks`, `sampled_value_blocks`, `report_blocks`), and
    /// what became of it (`published`, `unsubscribed`, `idle_access_points`, `stations`, `switches`,
    /// `flows`, `streams`).
    counts: Members<&'static str, usize>,
    /// What to look at in the file.
    findings: Vec<FindingJson<'a>>,
    /// What the file does not say.
    assumptions: Vec<AssumptionJson<'a>>,
    /// Stations that take their stacks from profiles of devices.
    identified: &'a [String],
    /// Paths of assumptions that have ended by that.
    ended: &'a [String],
    /// Text of the scenario.
    scenario: &'a str,
}

#[derive(Serialize, JsonSchema)]
struct FindingJson<'a> {
    /// Line of the file, or number of the packet of a capture.
    line: usize,
    /// A word for it.
    code: &'static str,
    /// What was found.
    text: &'a str,
    /// What can be done.
    help: &'static str,
}

#[derive(Serialize, JsonSchema)]
struct AssumptionJson<'a> {
    /// Line of the scenario.
    line: usize,
    /// Path in the scenario.
    key: &'a str,
    /// What is assumed.
    text: &'a str,
}

impl Document for ImportJson<'_> {
    const SCHEMA: &'static str = "rtether.import/1";
}

impl Imported<'_> {
    /// Says what the file holds and what became of it.
    fn counts(&self) -> String {
        let counts = self.plan.counts.iter();
        let counts: Vec<String> =
            counts.map(|count| format!("{}: {}", count.title, count.number)).collect();
        counts.join(", ")
    }

    /// Says how many stations have profiles, and what has ended by that; nothing without any.
    fn identified(&self) -> String {
        let Identified { stations, ended, .. } = &self.plan.identified;
        if stations.is_empty() {
            return String::new();
        }
        let ended = match ended.len() {
            0 => "other stations need what was assumed of theirs".to_owned(),
            count => format!("{} ended", plural(count, "assumption")),
        };
        format!("; the stacks of {} are identified: {ended}", plural(stations.len(), "station"))
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
        let summary = format!("{}{}", self.summary(), self.identified());
        parts.push(format!("{hidden}{gap}{helps}\n{summary}\n").into());
        parts
    }

    /// One row for each finding.
    fn rows(&self) -> Table {
        findings(&self.plan.findings)
    }

    /// With the scenario.
    fn json(&self) -> String {
        let Self { file, plan } = *self;
        let assumptions = plan.assumptions.iter().map(|assumption| AssumptionJson {
            line: assumption.line,
            key: &assumption.key,
            text: &assumption.text,
        });
        let findings = plan.findings.iter().map(|finding| FindingJson {
            line: finding.line,
            code: finding.code.name(),
            text: &finding.text,
            help: finding.code.help(),
        });
        document::text(&ImportJson {
            file,
            format: &plan.format,
            summary: self.summary(),
            counts: Members(plan.counts.iter().map(|count| (count.name, count.number)).collect()),
            findings: findings.collect(),
            assumptions: assumptions.collect(),
            identified: &plan.identified.stations,
            ended: &plan.identified.ended,
            scenario: &plan.scenario,
        })
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
