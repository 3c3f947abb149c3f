//! Findings in all formats, and back from JSON.

use std::fmt::Write;

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::{Finding, Goal, Obstacle, Report, State};
use rtether::characters::is_unseen;
use rtether::report::document::{self, Document};
use rtether::report::format::{Part, Render};
use rtether::report::table::{Screen, Table};

/// Limits on the findings, and on the characters of each text, accepted from another host.
const FINDINGS: usize = 1_000;
const CHARACTERS: usize = 500;

impl Render for Report {
    /// All findings, followed by the remedies.
    fn parts(&self, _: Screen) -> Vec<Part> {
        vec![format!("{}\n", self.host).into(), self.rows().into(), remedies(self).into()]
    }

    fn rows(&self) -> Table {
        Table::of(&self.findings)
            .shown("", |finding| finding.state.name())
            .both("what", "id", |finding| &finding.id)
            .file("is_there", |finding| finding.is_there)
            .file("state", |finding| finding.state.name())
            .both("found", "found", |finding| &finding.found)
            .file("meaning", |finding| &finding.meaning)
            .file("remedy", |finding| finding.remedy.clone())
            .done()
    }

    fn json(&self) -> String {
        document::text(self)
    }
}

/// Returns what each finding means and what helps, and how many there are.
fn remedies(report: &Report) -> String {
    let mut text = String::new();
    for state in [State::Problem, State::Note] {
        let those = report.findings.iter().filter(|of| of.state == state);
        for finding in those {
            _ = writeln!(text, "\n{}: {}\n  means:  {}", state.name(), finding.id, finding.meaning);
            if let Some(remedy) = &finding.remedy {
                _ = writeln!(text, "  remedy: {remedy}");
            }
        }
    }
    let count = |state| report.findings.iter().filter(|of| of.state == state).count();
    _ = writeln!(
        text,
        "\n{} ok, {} to note, {} blocking",
        count(State::Ok),
        count(State::Note),
        count(State::Problem)
    );
    text
}

/// Lists what is missing for a goal, with remedies.
pub fn obstacles_text(goal: &Goal, obstacles: &[Obstacle<'_>]) -> String {
    let mut text = format!("{} ({}) is not possible:", goal.name, goal.description);
    for obstacle in obstacles {
        let Some(finding) = obstacle.finding else {
            _ = write!(text, "\n  {}: could not be tried", obstacle.need);
            continue;
        };
        _ = write!(text, "\n  {}: {}", obstacle.need, finding.found);
        if let Some(remedy) = &finding.remedy {
            _ = write!(text, "\n    remedy: {remedy}");
        }
    }
    text
}

impl Document for Report {
    const SCHEMA: &'static str = "rtether.doctor/1";
}

impl Serialize for State {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.name().serialize(serializer)
    }
}

/// Reads a report in JSON, possibly from another host: texts are truncated and control
/// characters removed, since they could steer a terminal.
///
/// # Errors
/// What is wrong with the document, in words.
pub fn parse(text: &str) -> Result<Report, String> {
    let document: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if document["schema"] != Report::SCHEMA {
        return Err(format!("its schema is not `{}`", Report::SCHEMA));
    }
    let findings = document["findings"].as_array().ok_or("it has no findings")?;
    let findings = findings.iter().take(FINDINGS).map(|value| {
        let field = |name: &str| {
            let text = value[name].as_str().map(harmless);
            text.ok_or_else(|| format!("a finding has no `{name}`"))
        };
        let state = match field("state")?.as_str() {
            "ok" => State::Ok,
            "note" => State::Note,
            "problem" => State::Problem,
            other => return Err(format!("`{other}` is no state")),
        };
        Ok(Finding {
            id: field("id")?,
            is_there: value["is_there"].as_bool().unwrap_or(false),
            state,
            found: field("found")?,
            meaning: field("meaning")?,
            remedy: field("remedy").ok(),
        })
    });
    Ok(Report {
        host: document["host"].as_str().map_or_else(String::new, harmless),
        findings: findings.collect::<Result<_, String>>()?,
    })
}

fn harmless(text: &str) -> String {
    let characters = text.chars().filter(|character| !is_unseen(*character));
    characters.take(CHARACTERS).collect()
}
