//! Reproductions in all formats, and as a page.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::Serialize;

use super::{Basis, Judgement, Reproduction, Status, reference};
use rtether::report::document::{self, Document};
use rtether::report::format::{Part, Render};
use rtether::report::markup::{Markup, element};
use rtether::report::page::{self, Page, Tone};
use rtether::report::table::{Screen, Table};
use rtether::verdict::Conclusion;

/// Table width; claims are whole sentences.
pub(crate) const WIDTH: u16 = 110;

/// Name and version of the format, also with simulation and measurement side by side.
pub(crate) const SCHEMA: &str = "rtether.reproduce/1";

/// Experiments of the papers; values of the papers and ours are words, with their units.
#[derive(Serialize, JsonSchema)]
pub(crate) struct AloneJson<'a> {
    conclusion: Conclusion,
    /// Numbers of claims, each counted once with its worst verdict.
    summary: CountsJson,
    /// Each experiment.
    experiments: Vec<ExperimentJson<'a>>,
}

impl Document for AloneJson<'_> {
    const SCHEMA: &'static str = SCHEMA;
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct CountsJson {
    /// Passed, and predicted.
    pass_predicted: usize,
    /// Passed with calibrated values.
    pass_calibrated: usize,
    /// Passed by construction.
    pass_by_construction: usize,
    /// Passed by measurement.
    pass_measured: usize,
    /// Not reproduced.
    fail: usize,
    /// Not decided by the data.
    undecided: usize,
    /// Skipped.
    skipped: usize,
}

#[derive(Serialize, JsonSchema)]
struct ExperimentJson<'a> {
    /// Its id.
    id: &'a str,
    /// Its title.
    title: &'a str,
    /// `sim` or `analysis`.
    mode: &'a str,
    /// Values next to those of the paper.
    comparisons: Vec<ComparisonJson<'a>>,
    /// Claims.
    claims: Vec<ClaimJson<'a>>,
    /// What was fitted, and what was not reproduced.
    notes: &'a [String],
}

#[derive(Serialize, JsonSchema)]
struct ComparisonJson<'a> {
    /// What is compared.
    quantity: &'a str,
    /// The value of the paper.
    paper: &'a str,
    /// Ours.
    ours: &'a str,
    /// Its place in the paper.
    source: &'a str,
}

#[derive(Serialize, JsonSchema)]
struct ClaimJson<'a> {
    /// Its number.
    id: &'a str,
    /// What it says.
    statement: &'a str,
    /// `must` or `should`.
    strength: &'a str,
    /// `pass`, `fail`, `undecided` or `skipped`.
    status: &'static str,
    /// `predicted`, `calibrated`, `by construction` or `measured`; `null` if it was skipped.
    basis: Option<&'static str>,
    /// What was found.
    observed: &'a str,
    /// What it expects.
    expected: &'a str,
    /// Why, unless it passed.
    reason: &'a str,
}

impl<'a> ExperimentJson<'a> {
    fn of(one: &'a Reproduction) -> Self {
        let comparisons = one.comparisons.iter().map(|row| ComparisonJson {
            quantity: &row.quantity,
            paper: &row.paper,
            ours: &row.ours,
            source: &row.source,
        });
        let claims = one.claims.iter().map(|claim| ClaimJson {
            id: &claim.id,
            statement: &claim.statement,
            strength: &claim.strength,
            status: claim.status.name(),
            basis: claim.basis.map(Basis::name),
            observed: &claim.observed,
            expected: &claim.expected,
            reason: &claim.reason,
        });
        Self {
            id: one.id,
            title: &one.title,
            mode: one.mode,
            comparisons: comparisons.collect(),
            claims: claims.collect(),
            notes: &one.notes,
        }
    }
}

/// Reproductions in all formats.
#[derive(Clone, Copy, Debug)]
pub struct Reproductions<'a> {
    /// Experiments that came to their end.
    pub found: &'a [Reproduction],
    /// Why the others did not.
    pub stopped: Option<Conclusion>,
}

impl Reproductions<'_> {
    /// Returns the verdict.
    pub fn conclusion(&self) -> Conclusion {
        conclusion(self.found.iter().flat_map(|one| &one.claims), self.stopped)
    }
}

/// Returns the verdict on claims: failed if one fails that must hold, no answer if none is decided.
pub(crate) fn conclusion<'a>(
    claims: impl Iterator<Item = &'a Judgement>,
    stopped: Option<Conclusion>,
) -> Conclusion {
    let mut is_decided = false;
    for claim in claims {
        is_decided |= matches!(claim.status, Status::Pass | Status::Fail);
        if claim.status == Status::Fail && claim.strength == "must" {
            return stopped.unwrap_or(Conclusion::Failed);
        }
    }
    stopped.unwrap_or(Conclusion::meets(is_decided.then_some(true)))
}

impl Render for Reproductions<'_> {
    fn parts(&self, _: Screen) -> Vec<Part> {
        let mut parts = Vec::new();
        for one in self.found {
            parts.push(format!("{} ({}): {}\n", one.id, one.mode, one.title).into());
            let tables = [comparisons(one), claims_for_people(one)].into_iter();
            let tables = tables.filter(|table| !table.is_empty());
            parts.extend(tables.map(Part::Table));
            let notes = one.notes.iter().map(|note| format!("note: {note}\n"));
            parts.push((notes.collect::<String>() + "\n").into());
        }
        parts.push((self.conclusion().sentence(&summary(self.found)) + "\n").into());
        parts
    }

    /// Comparisons and claims; the column `kind` tells them apart.
    fn rows(&self) -> Table {
        let tables = self.found.iter().map(|one| comparison_rows(one).append(&claim_rows(one)));
        tables.reduce(|all, table| all.append(&table)).unwrap_or_default()
    }

    fn json(&self) -> String {
        document::text(&AloneJson {
            conclusion: self.conclusion(),
            summary: counts(self.found),
            experiments: self.found.iter().map(ExperimentJson::of).collect(),
        })
    }
}

fn comparisons(one: &Reproduction) -> Table {
    Table::of(&one.comparisons)
        .shown("quantity", |row| &row.quantity)
        .shown("paper", |row| &row.paper)
        .shown("ours", |row| &row.ours)
        .shown("source", |row| &row.source)
        .done()
        .wrapped(WIDTH)
}

/// Returns the claims with statement, verdict and reason in one cell each.
fn claims_for_people(one: &Reproduction) -> Table {
    Table::of(&one.claims)
        .shown("claim", |claim| format!("{} {}", claim.id, claim.statement))
        .shown("verdict", |claim| match &*claim.reason {
            "" => words(claim),
            reason => format!("{}: {reason}", words(claim)),
        })
        .shown("observed", |claim| &claim.observed)
        .shown("expected", |claim| &claim.expected)
        .done()
        .wrapped(WIDTH)
}

fn comparison_rows(one: &Reproduction) -> Table {
    Table::of(&one.comparisons)
        .file("experiment", |_| one.id)
        .file("kind", |_| "value")
        .file("name", |row| &row.quantity)
        .file("paper_or_expected", |row| &row.paper)
        .file("observed", |row| &row.ours)
        .file("status", |_| ())
        .file("basis", |_| ())
        .file("reason", |_| ())
        .done()
}

fn claim_rows(one: &Reproduction) -> Table {
    Table::of(&one.claims)
        .file("experiment", |_| one.id)
        .file("kind", |_| "claim")
        .both("claim", "name", |claim| &claim.id)
        .shown("statement", |claim| &claim.statement)
        .shown("verdict", |claim| claim.status.name())
        .shown("basis", |claim| claim.basis.map_or("", Basis::name))
        .both("observed", "observed", |claim| &claim.observed)
        .both("expected", "paper_or_expected", |claim| &claim.expected)
        .file("status", |claim| claim.status.name())
        .file("basis", |claim| claim.basis.map(Basis::name))
        .both("reason", "reason", |claim| &claim.reason)
        .done()
        .wrapped(WIDTH)
}

/// Returns the verdict and its basis.
pub(crate) fn words(claim: &Judgement) -> String {
    let status = claim.status.name();
    match claim.basis {
        Some(basis) => format!("{status}, {}", basis.name()),
        None => status.to_owned(),
    }
}

/// Returns status and basis of each claim; of several verdicts on one claim, the worst.
fn verdicts<'a>(
    found: impl IntoIterator<Item = &'a Reproduction>,
) -> BTreeMap<&'a str, (Status, Option<Basis>)> {
    let mut verdicts = BTreeMap::new();
    for claim in claims(found) {
        let this = (claim.status, claim.basis);
        let known = verdicts.entry(claim.id.as_str()).or_insert(this);
        *known = this.max(*known);
    }
    verdicts
}

/// Returns the number of passed claims by basis, and of the others by status.
pub(crate) fn counts<'a>(found: impl IntoIterator<Item = &'a Reproduction>) -> CountsJson {
    let verdicts = verdicts(found);
    let count = |wanted: &dyn Fn(Status, Option<Basis>) -> bool| {
        let all = verdicts.values();
        all.filter(|(status, basis)| wanted(*status, *basis)).count()
    };
    let passed = |of: Basis| count(&|status, basis| status == Status::Pass && basis == Some(of));
    let of = |of: Status| count(&|status, _| status == of);
    CountsJson {
        pass_predicted: passed(Basis::Predicted),
        pass_calibrated: passed(Basis::Calibrated),
        pass_by_construction: passed(Basis::ByConstruction),
        pass_measured: passed(Basis::Measured),
        fail: of(Status::Fail),
        undecided: of(Status::Undecided),
        skipped: of(Status::Skipped),
    }
}

/// Returns the counts in words. A claim judged by several experiments counts once.
pub(crate) fn summary<'a>(found: impl IntoIterator<Item = &'a Reproduction>) -> String {
    let mut found = found.into_iter().peekable();
    let is_live = found.peek().is_some_and(|one| one.mode == "live");
    let counts = counts(found);
    let passed = if is_live {
        format!("{} measured and passed", counts.pass_measured)
    } else {
        format!(
            "{} predicted and passed, {} passed after calibration, {} by construction",
            counts.pass_predicted, counts.pass_calibrated, counts.pass_by_construction,
        )
    };
    format!(
        "claims: {passed}; {} failed, {} undecided, {} not judged",
        counts.fail, counts.undecided, counts.skipped,
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

fn claims<'a>(
    found: impl IntoIterator<Item = &'a Reproduction>,
) -> impl Iterator<Item = &'a Judgement> {
    found.into_iter().flat_map(|one| &one.claims)
}

/// Returns one self-contained page with tables and figures.
pub fn html(found: &[Reproduction]) -> String {
    let is_good = claims(found).all(|claim| claim.status != Status::Fail);
    let (tone, word) = if is_good { (Tone::Good, "reproduced") } else { (Tone::Bad, "not all") };
    let mut page = Page::new("Experiments of the papers, repeated")
        .kicker("rtether reproduce")
        .lead(page::banner(tone, word, &summary(found)));
    for one in found {
        let note = format!("{} · {}", one.id, one.mode);
        page = page.section(one.id, &one.title, note, section(one));
    }
    page.render()
}

fn section(one: &Reproduction) -> Markup {
    let mut body = Markup::default();
    if !one.comparisons.is_empty() {
        body.push(comparisons(one).html(|_| false));
    }
    body.push(figures(one));
    if !one.claims.is_empty() {
        body.push(claim_rows(one).html(|row| one.claims[row].status == Status::Fail));
    }
    for note in &one.notes {
        body.push(element("p").text(note));
    }
    body
}

/// Returns the figures with their captions.
pub(crate) fn figures(one: &Reproduction) -> Markup {
    if one.figures.is_empty() {
        return Markup::default();
    }
    page::wide_grid(one.figures.iter().map(|figure| {
        let caption = element("p").class("caption").text(&figure.caption);
        element("div").child(figure.drawing.clone()).child(caption).into()
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

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
            title: "x".to_owned(),
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
        let shown = Reproductions { found: &found, stopped: None };
        let csv = shown.rows().csv();
        assert!(csv.contains("x,claim,C2,,,pass,calibrated,\n"), "{csv}");
        let document: Value = serde_json::from_str(&shown.json()).expect("is JSON");
        assert_eq!(document["summary"]["fail"], 1);
        assert_eq!(document["experiments"][1]["claims"][3]["basis"], Value::Null);
        // The first word rests on the claims that must hold; an end before the last experiment goes
        // first, and without a decided claim there is no answer.
        assert_eq!(document["conclusion"], "FAIL");
        let of = |found, stopped| Reproductions { found, stopped }.conclusion();
        assert_eq!(of(&found[..1], None), Conclusion::Met);
        assert_eq!(of(&found, Some(Conclusion::Interrupted)), Conclusion::Interrupted);
        let undecided = [one(&[("C4", Status::Undecided, predicted)])];
        assert_eq!(of(&undecided, None), Conclusion::NoAnswer);
        assert_eq!(of(&[], None), Conclusion::NoAnswer);
    }
}
