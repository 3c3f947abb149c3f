//! Findings as table, JSON and CSV, and back from JSON.

use std::fmt::Write;

use comfy_table::{LineStyle, Table, TableStyle};
use serde_json::{Value, json};

use super::{Finding, Goal, Obstacle, Report, State};
use rtether::characters::is_unseen;
use rtether::sheet::Sheet;

/// Schema of the JSON document.
const SCHEMA: &str = "rtether.doctor/1";
/// Limits on the findings, and on the characters of each text, accepted from another host.
const FINDINGS: usize = 1_000;
const CHARACTERS: usize = 500;

/// Returns all findings as a table, followed by the remedies.
pub fn table(report: &Report) -> String {
    let mut text = format!("{}\n", report.host);
    let mut table = Table::new();
    let rule = LineStyle::none().fill('\u{2500}').junction('\u{2500}');
    table.load_style(TableStyle::new().header_separator(rule));
    table.set_header(["", "what", "found"]);
    for finding in &report.findings {
        table.add_row([finding.state.name(), &finding.id, &finding.found]);
    }
    _ = writeln!(text, "{table}");
    for state in [State::Problem, State::Note] {
        let those = report.findings.iter().filter(|of| of.state == state);
        for finding in those {
            _ = writeln!(
                text,
                "\n{}: {}\n  means:  {}",
                state.name(),
                finding.id,
                finding.meaning
            );
            if let Some(remedy) = &finding.remedy {
                _ = writeln!(text, "  remedy: {remedy}");
            }
        }
    }
    let count = |state| {
        report
            .findings
            .iter()
            .filter(|of| of.state == state)
            .count()
    };
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

/// Returns all findings as one JSON document, schema `rtether.doctor/1`.
pub fn json(report: &Report) -> String {
    let findings = report.findings.iter().map(|finding| {
        json!({
            "id": finding.id,
            "is_there": finding.is_there,
            "state": finding.state.name(),
            "found": finding.found,
            "meaning": finding.meaning,
            "remedy": finding.remedy,
        })
    });
    let document = json!({
        "schema": SCHEMA,
        "host": report.host,
        "findings": findings.collect::<Vec<_>>(),
    });
    format!("{document:#}\n")
}

/// Returns one CSV row per finding.
pub fn csv(report: &Report) -> String {
    let mut writer = Sheet::from_writer(Vec::new());
    // Writing to memory cannot fail.
    drop(writer.write_record(["id", "is_there", "state", "found", "meaning", "remedy"]));
    for finding in &report.findings {
        drop(writer.write_record([
            finding.id.as_str(),
            if finding.is_there { "1" } else { "0" },
            finding.state.name(),
            &finding.found,
            &finding.meaning,
            finding.remedy.as_deref().unwrap_or_default(),
        ]));
    }
    writer.into_text()
}

/// Reads the output of [`json()`], possibly from another host: texts are truncated and control
/// characters removed, since they could steer a terminal.
///
/// # Errors
/// What is wrong with the document, in words.
pub fn parse(text: &str) -> Result<Report, String> {
    let document: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if document["schema"] != SCHEMA {
        return Err(format!("its schema is not `{SCHEMA}`"));
    }
    let findings = document["findings"]
        .as_array()
        .ok_or("it has no findings")?;
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
