//! Paper, simulation and measurement of an experiment in one table (R169).

use schemars::JsonSchema;
use serde::Serialize;

use rtether::report::document::{self, Document};
use rtether::report::format::{Part, Render};
use rtether::report::markup::Markup;
use rtether::report::page::{self, Page, Tone};
use rtether::report::table::{Screen, Table};
use rtether::verdict::Conclusion;

use super::output::{self, CountsJson, SCHEMA, WIDTH};
use super::{Basis, Judgement, Mode, Reproduction, Status};

/// An experiment, simulated and measured; one of the two may not exist.
#[derive(Clone, Debug)]
pub struct Beside {
    simulated: Option<Reproduction>,
    measured: Option<Reproduction>,
}

/// A value of the paper, or a claim, beside what was simulated and what was measured.
struct Row<'a> {
    name: &'a str,
    paper: &'a str,
    found: [Option<&'a str>; 2],
    source: &'a str,
}

/// Experiments simulated and measured, of `--sim --live`; what one of the two does not have is
/// `null`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct BesideJson<'a> {
    conclusion: Conclusion,
    /// Numbers of claims, each counted once with its worst verdict.
    summary: BothJson,
    /// Each experiment.
    experiments: Vec<ExperimentJson<'a>>,
}

impl Document for BesideJson<'_> {
    const SCHEMA: &'static str = SCHEMA;
}

#[derive(Serialize, JsonSchema)]
struct BothJson {
    /// Of simulations.
    simulated: CountsJson,
    /// Of measurements.
    measured: CountsJson,
}

#[derive(Serialize, JsonSchema)]
struct ExperimentJson<'a> {
    /// Its id.
    id: &'a str,
    /// Its title.
    title: &'a str,
    /// Values next to those of the paper.
    comparisons: Vec<ValueJson<'a>>,
    /// Claims.
    claims: Vec<ClaimJson<'a>>,
    /// What was fitted, and what was not reproduced.
    notes: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
struct ValueJson<'a> {
    /// What is compared.
    quantity: &'a str,
    /// The value of the paper.
    paper: &'a str,
    /// Its place in the paper.
    source: &'a str,
    /// The value that was simulated.
    simulated: Option<&'a str>,
    /// The value that was measured.
    measured: Option<&'a str>,
}

#[derive(Serialize, JsonSchema)]
struct ClaimJson<'a> {
    /// Its number.
    id: &'a str,
    /// What it says.
    statement: &'a str,
    /// `must` or `should`.
    strength: &'a str,
    /// What it expects.
    expected: &'a str,
    /// The verdict of the simulation.
    simulated: Option<FoundJson<'a>>,
    /// The verdict of the measurement.
    measured: Option<FoundJson<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct FoundJson<'a> {
    /// `pass`, `fail`, `undecided` or `skipped`.
    status: &'static str,
    /// `predicted`, `calibrated`, `by construction` or `measured`; `null` if it was skipped.
    basis: Option<&'static str>,
    /// What was found.
    observed: &'a str,
    /// Why, unless it passed.
    reason: &'a str,
}

impl<'a> FoundJson<'a> {
    fn of(claim: &'a Judgement) -> Self {
        Self {
            status: claim.status.name(),
            basis: claim.basis.map(Basis::name),
            observed: &claim.observed,
            reason: &claim.reason,
        }
    }
}

impl Beside {
    /// Joins the repetitions of one experiment.
    ///
    /// # Panics
    /// If there is none.
    pub fn new(simulated: Option<Reproduction>, measured: Option<Reproduction>) -> Self {
        assert!(simulated.is_some() || measured.is_some(), "one of the two");
        Self { simulated, measured }
    }

    /// Returns what there is, with how it was found.
    fn both(&self) -> impl Iterator<Item = (usize, &Reproduction)> {
        [&self.simulated, &self.measured]
            .into_iter()
            .enumerate()
            .filter_map(|(column, one)| Some((column, one.as_ref()?)))
    }

    fn first(&self) -> &Reproduction {
        self.both().next().expect("one of the two").1
    }

    /// Returns the experiment's name.
    pub fn id(&self) -> &'static str {
        self.first().id
    }

    /// Returns all verdicts.
    pub fn claims(&self) -> impl Iterator<Item = &Judgement> {
        self.both().flat_map(|(_, one)| &one.claims)
    }

    /// Returns the values of both, joined where they have the same name.
    fn rows(&self) -> Vec<Row<'_>> {
        let mut rows: Vec<Row<'_>> = Vec::new();
        for (column, one) in self.both() {
            for value in &one.comparisons {
                let known = rows.iter_mut().find(|row| {
                    // A value that occurs twice in one column has a row for each.
                    row.name == value.quantity && row.found[column].is_none()
                });
                if let Some(row) = known {
                    row.found[column] = Some(&value.ours);
                    continue;
                }
                let mut found = [None; 2];
                found[column] = Some(&*value.ours);
                rows.push(Row {
                    name: &value.quantity,
                    paper: &value.paper,
                    found,
                    source: &value.source,
                });
            }
        }
        rows
    }

    /// Returns each claim with the verdicts of both.
    fn verdicts(&self) -> Vec<(&Judgement, [Option<&Judgement>; 2])> {
        let mut rows: Vec<(&Judgement, [Option<&Judgement>; 2])> = Vec::new();
        for (column, one) in self.both() {
            for claim in &one.claims {
                let known = rows.iter().position(|(first, _)| first.id == claim.id);
                let at = known.unwrap_or(rows.len());
                if known.is_none() {
                    rows.push((claim, [None; 2]));
                }
                rows[at].1[column] = Some(claim);
            }
        }
        rows.sort_by(|a, b| a.0.id.cmp(&b.0.id));
        rows
    }

    fn values(&self) -> Table {
        Table::of(self.rows())
            .file("experiment", |_| self.id())
            .file("kind", |_| "value")
            .both("quantity", "name", |row| row.name)
            .both("paper", "paper_or_expected", |row| row.paper)
            .both("simulated", "simulated", |row| row.found[0])
            .both("measured", "measured", |row| row.found[1])
            .shown("source", |row| row.source)
            .file("simulated_status", |_| ())
            .file("measured_status", |_| ())
            .done()
            .wrapped(WIDTH)
    }

    fn judged(&self) -> Table {
        let status = |claim: Option<&Judgement>| claim.map(|claim| claim.status.name());
        let observed = |claim: Option<&Judgement>| claim.map(|claim| claim.observed.clone());
        Table::of(self.verdicts())
            .file("experiment", |_| self.id())
            .file("kind", |_| "claim")
            .shown("claim", |row| format!("{} {}", row.0.id, row.0.statement))
            .file("name", |row| &row.0.id)
            .both("expected", "paper_or_expected", |row| &row.0.expected)
            .shown("simulated", |row| row.1[0].map(words))
            .file("simulated", move |row| observed(row.1[0]))
            .shown("measured", |row| row.1[1].map(words))
            .file("measured", move |row| observed(row.1[1]))
            .file("simulated_status", move |row| status(row.1[0]))
            .file("measured_status", move |row| status(row.1[1]))
            .done()
            .wrapped(WIDTH)
    }

    fn notes(&self) -> impl Iterator<Item = String> {
        self.both().flat_map(|(column, one)| {
            let mode = [Mode::Sim, Mode::Live][column].participle();
            one.notes.iter().map(move |note| format!("{mode}: {note}"))
        })
    }

    fn json(&self) -> ExperimentJson<'_> {
        let values = self.rows().into_iter().map(|row| ValueJson {
            quantity: row.name,
            paper: row.paper,
            source: row.source,
            simulated: row.found[0],
            measured: row.found[1],
        });
        let claims = self.verdicts().into_iter().map(|(claim, found)| {
            let [simulated, measured] = found.map(|own| own.map(FoundJson::of));
            ClaimJson {
                id: &claim.id,
                statement: &claim.statement,
                strength: &claim.strength,
                expected: &claim.expected,
                simulated,
                measured,
            }
        });
        ExperimentJson {
            id: self.id(),
            title: &self.first().title,
            comparisons: values.collect(),
            claims: claims.collect(),
            notes: self.notes().collect(),
        }
    }

    fn section(&self) -> Markup {
        let mut body = Markup::default();
        body.push(self.values().html(|_| false));
        let verdicts = self.verdicts();
        if !verdicts.is_empty() {
            let is_bad = |claim: &&Judgement| claim.status == Status::Fail;
            let judged = self.judged();
            body.push(judged.html(|row| verdicts[row].1.iter().flatten().any(is_bad)));
        }
        for (_, one) in self.both() {
            body.push(output::figures(one));
        }
        for note in self.notes() {
            body.push(rtether::report::markup::element("p").text(&note));
        }
        body
    }
}

/// Returns verdict, basis, reason and what was observed.
fn words(claim: &Judgement) -> String {
    let mut words = output::words(claim);
    for more in [&claim.observed, &claim.reason] {
        if !more.is_empty() {
            words = words + ": " + more;
        }
    }
    words
}

/// Experiments in all formats, with the paper, simulation and measurement side by side.
#[derive(Clone, Copy, Debug)]
pub struct SideBySide<'a> {
    /// Experiments that came to their end.
    pub found: &'a [Beside],
    /// Why the others did not.
    pub stopped: Option<Conclusion>,
}

impl SideBySide<'_> {
    /// Returns the verdict.
    pub fn conclusion(&self) -> Conclusion {
        output::conclusion(self.found.iter().flat_map(Beside::claims), self.stopped)
    }

    /// Counts the verdicts of simulations and of measurements apart.
    fn summary(&self) -> String {
        let count = |of: fn(&Beside) -> &Option<Reproduction>| {
            output::summary(self.found.iter().filter_map(|one| of(one).as_ref()))
        };
        format!(
            "simulated, {}; measured, {}",
            count(|one| &one.simulated),
            count(|one| &one.measured)
        )
    }

    /// Returns one self-contained page with tables and figures.
    pub fn html(&self) -> String {
        let mut claims = self.found.iter().flat_map(Beside::claims);
        let (tone, word) = if claims.all(|claim| claim.status != Status::Fail) {
            (Tone::Good, "reproduced")
        } else {
            (Tone::Bad, "not all")
        };
        let mut page = Page::new("Experiments of the papers, simulated and measured")
            .kicker("rtether reproduce")
            .lead(page::banner(tone, word, &self.summary()));
        for one in self.found {
            let note = format!("{} · paper, simulation, measurement", one.id());
            page = page.section(one.id(), &one.first().title, note, one.section());
        }
        page.render()
    }
}

impl Render for SideBySide<'_> {
    fn parts(&self, _: Screen) -> Vec<Part> {
        let mut parts = Vec::new();
        for one in self.found {
            parts.push(format!("{}: {}\n", one.id(), one.first().title).into());
            let tables = [one.values(), one.judged()].into_iter();
            parts.extend(tables.filter(|table| !table.is_empty()).map(Part::Table));
            let notes = one.notes().map(|note| format!("note: {note}\n"));
            parts.push((notes.collect::<String>() + "\n").into());
        }
        parts.push((self.conclusion().sentence(&self.summary()) + "\n").into());
        parts
    }

    /// Values and claims; the column `kind` tells them apart.
    fn rows(&self) -> Table {
        let tables = self.found.iter();
        tables
            .map(|one| one.values().append(&one.judged()))
            .reduce(|all, table| all.append(&table))
            .unwrap_or_default()
    }

    fn json(&self) -> String {
        let count = |of: fn(&Beside) -> &Option<Reproduction>| {
            output::counts(self.found.iter().filter_map(|one| of(one).as_ref()))
        };
        document::text(&BesideJson {
            conclusion: self.conclusion(),
            summary: BothJson {
                simulated: count(|one| &one.simulated),
                measured: count(|one| &one.measured),
            },
            experiments: self.found.iter().map(Beside::json).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Comparison;
    use serde_json::Value;

    fn one(mode: &'static str, values: &[(&str, &str)], status: Status) -> Reproduction {
        let values = values.iter().map(|(quantity, ours)| Comparison {
            quantity: (*quantity).to_owned(),
            paper: "1 ms".to_owned(),
            ours: (*ours).to_owned(),
            source: "000 I".to_owned(),
        });
        Reproduction {
            id: "x",
            title: "title".to_owned(),
            mode,
            comparisons: values.collect(),
            claims: vec![Judgement {
                id: "C1".to_owned(),
                statement: "holds".to_owned(),
                strength: "must".to_owned(),
                status,
                basis: Some(Basis::Predicted),
                observed: "seen".to_owned(),
                expected: "at least 1".to_owned(),
                reason: String::new(),
            }],
            figures: Vec::new(),
            notes: vec![format!("a note of {mode}")],
        }
    }

    #[test]
    fn values_of_one_name_stand_in_one_row() {
        // Oracle: joined by hand; `a` occurs twice in one simulation and once in the measurement.
        let simulated = one("sim", &[("a", "2"), ("a", "3"), ("b", "4")], Status::Pass);
        let measured = one("live", &[("c", "5"), ("a", "6")], Status::Fail);
        let found = [Beside::new(Some(simulated), Some(measured))];
        let rows: Vec<(&str, [Option<&str>; 2])> =
            found[0].rows().iter().map(|row| (row.name, row.found)).collect();
        assert_eq!(
            rows,
            [
                ("a", [Some("2"), Some("6")]),
                ("a", [Some("3"), None]),
                ("b", [Some("4"), None]),
                ("c", [None, Some("5")]),
            ]
        );
        let csv = SideBySide { found: &found, stopped: None }.rows().csv();
        assert_eq!(
            csv.lines().collect::<Vec<_>>(),
            [
                "experiment,kind,name,paper_or_expected,simulated,measured,simulated_status,measured_status",
                "x,value,a,1 ms,2,6,,",
                "x,value,a,1 ms,3,,,",
                "x,value,b,1 ms,4,,,",
                "x,value,c,1 ms,,5,,",
                "x,claim,C1,at least 1,seen,seen,pass,fail",
            ]
        );
        let document: Value =
            serde_json::from_str(&SideBySide { found: &found, stopped: None }.json())
                .expect("is JSON");
        let claim = &document["experiments"][0]["claims"][0];
        assert_eq!(claim["simulated"]["status"], "pass");
        assert_eq!(claim["measured"]["status"], "fail");
        assert_eq!(document["summary"]["measured"]["fail"], 1);
        let page = SideBySide { found: &found, stopped: None }.html();
        assert!(page.contains("not all") && page.contains("measured: a note of live"));
    }
}
