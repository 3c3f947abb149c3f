//! Reproductions as table, JSON, CSV and page.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use comfy_table::{ContentArrangement, LineStyle, Table, TableStyle};
use serde_json::{Value, json};

use super::{Judgement, Reproduction, Status};
use crate::report::markup::{Markup, element};
use crate::report::page::{self, DataTable, Page, TableCell, Tone};

/// Name and version of the JSON format.
const SCHEMA: &str = "rtether.reproduce/1";

/// Widest table; the claims are sentences.
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
                    "status": claim.status.name(), "observed": claim.observed,
                    "expected": claim.expected, "reason": claim.reason,
                })).collect::<Vec<_>>(),
                "notes": one.notes,
            })
        })
        .collect();
    format!(
        "{:#}\n",
        json!({ "schema": SCHEMA, "experiments": experiments })
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
                let verdict = match claim.status {
                    Status::Pass => "pass".to_owned(),
                    Status::Fail | Status::Skipped => {
                        format!("{}: {}", claim.status.name(), claim.reason)
                    }
                };
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

/// Returns how many claims got which verdict. One that several experiments judge counts once.
fn summary(found: &[Reproduction]) -> String {
    let count = |status: Status| {
        let those = claims(found).filter(|claim| claim.status == status);
        those.map(|claim| &claim.id).collect::<BTreeSet<_>>().len()
    };
    let [passed, failed, skipped] = [Status::Pass, Status::Fail, Status::Skipped].map(count);
    format!("{passed} claims pass, {failed} fail, {skipped} skipped")
}

fn claims(found: &[Reproduction]) -> impl Iterator<Item = &Judgement> {
    found.iter().flat_map(|one| &one.claims)
}

/// Returns comparisons and claims as one CSV file; `kind` tells them apart.
pub fn csv(found: &[Reproduction]) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let mut row = |cells: [&str; 7]| drop(writer.write_record(cells));
    row([
        "experiment",
        "kind",
        "name",
        "paper_or_expected",
        "observed",
        "status",
        "reason",
    ]);
    for one in found {
        for c in &one.comparisons {
            row([one.id, "value", &c.quantity, &c.paper, &c.ours, "", ""]);
        }
        for c in &one.claims {
            row([
                one.id,
                "claim",
                &c.id,
                &c.expected,
                &c.observed,
                c.status.name(),
                &c.reason,
            ]);
        }
    }
    let bytes = writer.into_inner().unwrap_or_default();
    String::from_utf8(bytes).unwrap_or_default()
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
