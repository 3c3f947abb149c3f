//! Reproductions as table, JSON, CSV and HTML page.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use comfy_table::{ContentArrangement, LineStyle, Table, TableStyle};
use serde_json::{Value, json};

use super::{Basis, Judgement, Reproduction, Status, reference};
use rtether::report::markup::{Markup, element};
use rtether::report::page::{self, DataTable, Page, TableCell, Tone};
use rtether::sheet::Sheet;

/// Name and version of the JSON format.
const SCHEMA: &str = "rtether.reproduce/1";

/// Table width; claims are whole sentences.
const WIDTH: u16 = 110;

/// Returns all reproductions as one JSON document.
pub fn json(found: &[Reproduction]) -> String {
    let experiments: Vec<Value> = found
        .iter()
        .map(|one| {
            json!({
                "id": one.id,
                "title": one.title,
                "mode": one.mode,
                "comparisons": one.comparisons.iter().map(|row| json!({
                    "quantity": row.quantity, "paper": row.paper, "ours": row.ours,
                    "source": row.source,
                })).collect::<Vec<_>>(),
                "claims": one.claims.iter().map(|claim| json!({
                    "id": claim.id, "statement": claim.statement, "strength": claim.strength,
                    "status": claim.status.name(), "basis": claim.basis.map(Basis::name),
                    "observed": claim.observed, "expected": claim.expected,
                    "reason": claim.reason,
                })).collect::<Vec<_>>(),
                "notes": one.notes,
            })
        })
        .collect();
    format!(
        "{:#}\n",
        json!({ "schema": SCHEMA, "summary": counts(found), "experiments": experiments })
    )
}

/// Returns tables for the terminal.
pub fn table(found: &[Reproduction]) -> String {
    let mut text = String::new();
    for one in found {
        let _ = writeln!(text, "{} ({}): {}", one.id, one.mode, one.title);
        if !one.comparisons.is_empty() {
            let mut table = new_table(&["quantity", "paper", "ours", "source"]);
            for row in &one.comparisons {
                table.add_row([&row.quantity, &row.paper, &row.ours, &row.source]);
            }
            let _ = writeln!(text, "{table}");
        }
        if !one.claims.is_empty() {
            let mut table = new_table(&["claim", "verdict", "observed", "expected"]);
            for claim in &one.claims {
                let mut verdict = words(claim);
                if !claim.reason.is_empty() {
                    let _ = write!(verdict, ": {}", claim.reason);
                }
                let what = format!("{} {}", claim.id, claim.statement);
                table.add_row([&what, &verdict, &claim.observed, &claim.expected]);
            }
            let _ = writeln!(text, "{table}");
        }
        for note in &one.notes {
            let _ = writeln!(text, "note: {note}");
        }
        text.push('\n');
    }
    let _ = writeln!(text, "{}", summary(found));
    text
}

fn new_table(titles: &[&str]) -> Table {
    let mut table = Table::new();
    let rule = LineStyle::none().fill('\u{2500}').junction('\u{2500}');
    table.load_style(TableStyle::new().header_separator(rule).row_separator(rule));
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(WIDTH);
    table.set_header(titles);
    table
}

/// Returns the verdict and its basis.
fn words(claim: &Judgement) -> String {
    let status = claim.status.name();
    match claim.basis {
        Some(basis) => format!("{status}, {}", basis.name()),
        None => status.to_owned(),
    }
}

/// Returns status and basis of each claim; of several verdicts on one claim, the worst.
fn verdicts(found: &[Reproduction]) -> BTreeMap<&str, (Status, Option<Basis>)> {
    let mut verdicts = BTreeMap::new();
    for claim in claims(found) {
        let this = (claim.status, claim.basis);
        let known = verdicts.entry(claim.id.as_str()).or_insert(this);
        *known = this.max(*known);
    }
    verdicts
}

/// Returns the number of passed claims by basis, and of the others by status.
fn counts(found: &[Reproduction]) -> Value {
    let verdicts = verdicts(found);
    let count = |wanted: &dyn Fn(Status, Option<Basis>) -> bool| {
        let all = verdicts.values();
        all.filter(|(status, basis)| wanted(*status, *basis))
            .count()
    };
    let passed = |of: Basis| count(&|status, basis| status == Status::Pass && basis == Some(of));
    let of = |of: Status| count(&|status, _| status == of);
    json!({
        "pass_predicted": passed(Basis::Predicted),
        "pass_calibrated": passed(Basis::Calibrated),
        "pass_by_construction": passed(Basis::ByConstruction),
        "pass_measured": passed(Basis::Measured),
        "fail": of(Status::Fail),
        "undecided": of(Status::Undecided),
        "skipped": of(Status::Skipped),
    })
}

/// Returns the counts in words. A claim judged by several experiments counts once.
fn summary(found: &[Reproduction]) -> String {
    let counts = counts(found);
    let count = |name: &str| counts[name].as_u64().unwrap_or_default();
    let passed = if found.iter().any(|one| one.mode == "live") {
        format!("{} measured and passed", count("pass_measured"))
    } else {
        format!(
            "{} predicted and passed, {} passed after calibration, {} by construction",
            count("pass_predicted"),
            count("pass_calibrated"),
            count("pass_by_construction"),
        )
    };
    format!(
        "claims: {passed}; {} failed, {} undecided, {} not judged",
        count("fail"),
        count("undecided"),
        count("skipped"),
    )
}

/// Returns a Markdown table of the verdicts, without observations; of several verdicts on one
/// claim, the worst.
pub fn verdict_table(found: &[Reproduction]) -> String {
    let mut text = String::from(
        "| claim | what it says | experiments | verdict | basis |\n|---|---|---|---|---|\n",
    );
    let verdicts = verdicts(found);
    for claim in reference::claims() {
        let Some((status, basis)) = verdicts.get(claim.id.as_str()) else {
            continue;
        };
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} |",
            claim.id,
            claim.statement.replace('|', "/"),
            claim.experiments.replace('|', ", "),
            status.name(),
            basis.map_or("", Basis::name)
        );
    }
    text
}

fn claims(found: &[Reproduction]) -> impl Iterator<Item = &Judgement> {
    found.iter().flat_map(|one| &one.claims)
}

/// Returns comparisons and claims as one CSV file; the column `kind` tells them apart.
pub fn csv(found: &[Reproduction]) -> String {
    let mut writer = Sheet::from_writer(Vec::new());
    let mut row = |cells: [&str; 8]| drop(writer.write_record(cells));
    row([
        "experiment",
        "kind",
        "name",
        "paper_or_expected",
        "observed",
        "status",
        "basis",
        "reason",
    ]);
    for one in found {
        for c in &one.comparisons {
            row([one.id, "value", &c.quantity, &c.paper, &c.ours, "", "", ""]);
        }
        for c in &one.claims {
            row([
                one.id,
                "claim",
                &c.id,
                &c.expected,
                &c.observed,
                c.status.name(),
                c.basis.map_or("", Basis::name),
                &c.reason,
            ]);
        }
    }
    writer.into_text()
}

/// Returns one self-contained page with tables and figures.
pub fn html(found: &[Reproduction]) -> String {
    let is_good = claims(found).all(|claim| claim.status != Status::Fail);
    let (tone, word) = if is_good {
        (Tone::Good, "reproduced")
    } else {
        (Tone::Bad, "not all")
    };
    let mut page = Page::new("Experiments of the papers, repeated")
        .kicker("rtether reproduce")
        .lead(page::banner(tone, word, &summary(found)));
    for one in found {
        let note = format!("{} · {}", one.id, one.mode);
        page = page.section(one.id, one.title, note, section(one));
    }
    page.render()
}

fn section(one: &Reproduction) -> Markup {
    let mut body = Markup::default();
    if !one.comparisons.is_empty() {
        body.push(comparison_table(one));
    }
    if !one.figures.is_empty() {
        body.push(page::wide_grid(one.figures.iter().map(|figure| {
            let caption = element("p").class("caption").text(&figure.caption);
            element("div")
                .child(figure.drawing.clone())
                .child(caption)
                .into()
        })));
    }
    if !one.claims.is_empty() {
        body.push(claim_table(one));
    }
    for note in &one.notes {
        body.push(element("p").text(note));
    }
    body
}

fn comparison_table(one: &Reproduction) -> Markup {
    let columns = ["quantity", "paper", "ours", "source"].map(|title| (title.to_owned(), false));
    let rows = one.comparisons.iter().map(|row| {
        let cells = [&row.quantity, &row.paper, &row.ours, &row.source];
        (cells.map(TableCell::text).to_vec(), false)
    });
    DataTable {
        columns: columns.to_vec(),
        rows: rows.collect(),
        filter: false,
    }
    .render()
}

fn claim_table(one: &Reproduction) -> Markup {
    let titles = [
        "claim",
        "statement",
        "verdict",
        "basis",
        "observed",
        "expected",
        "reason",
    ];
    let columns = titles.map(|title| (title.to_owned(), false)).to_vec();
    let rows = one.claims.iter().map(|claim| {
        let cells = [
            claim.id.as_str(),
            &claim.statement,
            claim.status.name(),
            claim.basis.map_or("", Basis::name),
            &claim.observed,
            &claim.expected,
            &claim.reason,
        ];
        (
            cells.map(TableCell::text).to_vec(),
            claim.status == Status::Fail,
        )
    });
    DataTable {
        columns,
        rows: rows.collect(),
        filter: false,
    }
    .render()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(claims: &[(&str, Status, Option<Basis>)]) -> Reproduction {
        let judged = claims.iter().map(|&(id, status, basis)| Judgement {
            id: id.to_owned(),
            statement: String::new(),
            strength: "must".to_owned(),
            status,
            basis,
            observed: String::new(),
            expected: String::new(),
            reason: String::new(),
        });
        Reproduction {
            id: "x",
            title: "x",
            mode: "sim",
            comparisons: Vec::new(),
            claims: judged.collect(),
            figures: Vec::new(),
            notes: Vec::new(),
        }
    }

    #[test]
    fn passes_are_counted_by_what_they_rest_on() {
        // Oracle: counted by hand. C1 fails in one of two experiments, so it counts as failed; C5
        // is judged by one experiment only.
        let (predicted, calibrated) = (Some(Basis::Predicted), Some(Basis::Calibrated));
        let found = [
            one(&[
                ("C1", Status::Pass, predicted),
                ("C2", Status::Pass, calibrated),
                ("C3", Status::Pass, Some(Basis::ByConstruction)),
                ("C5", Status::Skipped, None),
            ]),
            one(&[
                ("C1", Status::Fail, predicted),
                ("C4", Status::Undecided, predicted),
                ("C5", Status::Pass, predicted),
                ("C6", Status::Skipped, None),
            ]),
        ];
        let expected = "claims: 1 predicted and passed, 1 passed after calibration, 1 by construction; \
                        1 failed, 1 undecided, 1 not judged";
        assert_eq!(summary(&found), expected);
        assert!(
            csv(&found).contains("x,claim,C2,,,pass,calibrated,\n"),
            "{}",
            csv(&found)
        );
        let document: Value = serde_json::from_str(&json(&found)).expect("is JSON");
        assert_eq!(document["summary"]["fail"], 1);
        assert_eq!(
            document["experiments"][1]["claims"][3]["basis"],
            Value::Null
        );
    }
}
