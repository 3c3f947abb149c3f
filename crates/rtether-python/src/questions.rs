//! Further questions to a plant: those of `admit`, `design`, `judge`, `limit`, `compare`, `check --fail`,
//! `diff` and `export`, and of the options of `bound`.
#![allow(clippy::needless_pass_by_value, reason = "arguments that come from Python are owned")]

use std::sync::Arc;

use pyo3::exceptions::{PyLookupError, PyValueError};
use pyo3::prelude::*;
use rtether::adversary::{self, Effort};
use rtether::bound::{self, Bounds, ByDiameter, Places, SensitivityError, Steps, Waits};
use rtether::compare::{self, Candidate};
use rtether::design::{DesignError, ExplainError, Progress as Designed, Question as Designing};
use rtether::export::{Choice, Target, YAML, export_part, whole};
use rtether::fail::{Element, FailError, Question as Failing, Which};
use rtether::import::Duration;
use rtether::judge::JudgeError;
use rtether::limit::Question;
use rtether::scenario::{self, Override, Source};

use crate::diagnose;
use crate::outcome::{Found, Outcome, Shown};
use crate::plant::{Changes, Plant};
use crate::work::{self, Listener};

fn wrong(error: impl ToString) -> PyErr {
    PyValueError::new_err(error.to_string())
}

fn shown(shown: Shown) -> Outcome {
    Outcome(Found::Shown(Box::new(shown)))
}

/// Reads a time of at most this.
fn time(text: &str, most: Duration) -> PyResult<Duration> {
    let time = scenario::time(text).map_err(wrong)?;
    if time.is_negative() || time > most {
        return Err(wrong(format!("`{text}` is not between 0 and {most}")));
    }
    Ok(time)
}

/// Decides whether flows may be added.
#[pyfunction]
pub(crate) fn admit(
    py: Python<'_>,
    plant: &Plant,
    changes: Changes,
    flows: Vec<String>,
) -> PyResult<Outcome> {
    let mut written = plant.written.clone();
    written.changes = changes.overrides(py)?;
    // An overload is an answer here, not a mistake.
    written.changes.extend(Override::parse("run.overload=allow"));
    let added: Vec<Source> =
        flows.into_iter().map(|text| Source { name: "<flow>".to_owned(), text }).collect();
    let loaded = py.detach(|| written.load_and_add(&added));
    let Some((before, mut after)) = loaded.without_added.clone().zip(loaded.scenario.clone())
    else {
        return Err(diagnose::error(py, &loaded));
    };
    after.assumptions.is_strict = changes.strict;
    let found = work::run(py, 0, None, move |_| {
        let admission = bound::admit(&before, &after);
        Shown::of(&admission).judged(admission.conclusion())
    })?;
    Ok(shown(found))
}

/// Finds the highest load at which deadlines hold.
#[pyfunction]
pub(crate) fn limit(
    py: Python<'_>,
    plant: &Plant,
    changes: Changes,
    flows: Option<String>,
    shares: [f64; 3],
    jobs: usize,
) -> PyResult<Outcome> {
    let [miss_ratio, confidence, tolerance] = shares;
    let is_share = |value: f64| value > 0.0 && value < 1.0;
    if ![miss_ratio, confidence, tolerance].into_iter().all(is_share) || tolerance < 1e-6 {
        return Err(wrong(
            "`miss`, `confidence` and `tolerance` are ratios between 0 and 1, the last at least 1e-6",
        ));
    }
    let question = Question { flows, miss_ratio, confidence, tolerance };
    let (scenario, _) = plant.changed(py, &changes)?;
    let own = Arc::clone(&scenario);
    let found =
        work::run(py, jobs, None, move |progress| rtether::limit::find(&own, &question, progress))?;
    let both = (scenario, found.map_err(wrong)?);
    Ok(Outcome(Found::Limit(Box::new(both))))
}

/// Searches for settings under which every deadline is proved.
#[pyfunction]
pub(crate) fn design(
    py: Python<'_>,
    plant: &Plant,
    changes: Changes,
    trials: Option<usize>,
    jobs: usize,
) -> PyResult<(Outcome, Plant)> {
    let (scenario, written) = plant.changed(py, &changes)?;
    let question = Designing { trials, ..Designing::default() };
    let progress = Arc::new(Designed::default());
    let (own, text) = (Arc::clone(&progress), written.clone());
    let found = work::run(py, jobs, None, move |_| {
        rtether::design::design(&scenario, &text, question, &own)
    });
    let outcome = found.inspect_err(|_| progress.cancel())?.map_err(|error| match error {
        DesignError::NoDeadline => PyLookupError::new_err(error.to_string()),
        DesignError::Unwritten(_) => wrong(error),
    })?;
    let plant = Plant::settled(py, &written, outcome.text.clone())?;
    Ok((Outcome(Found::Design(Box::new(outcome))), plant))
}

/// Says what prevents the deadline of a flow.
#[pyfunction]
pub(crate) fn explain(
    py: Python<'_>,
    plant: &Plant,
    changes: Changes,
    flow: String,
    trials: Option<usize>,
    jobs: usize,
) -> PyResult<Outcome> {
    let (scenario, written) = plant.changed(py, &changes)?;
    let question = Designing { trials, ..Designing::default() };
    let progress = Arc::new(Designed::default());
    let own = Arc::clone(&progress);
    let found = work::run(py, jobs, None, move |_| {
        let found = rtether::design::explain(&scenario, &written, &flow, question, &own)?;
        Ok::<_, ExplainError>(Shown::of(&found).judged(found.conclusion()))
    });
    let found = found.inspect_err(|_| progress.cancel())?;
    found.map(shown).map_err(|error| PyLookupError::new_err(error.to_string()))
}

/// Compares access schemes on the hubs of a plant.
#[pyfunction]
pub(crate) fn compare_schemes(
    py: Python<'_>,
    plant: &Plant,
    changes: Changes,
    access: Option<Vec<String>>,
    by_flow: bool,
    jobs: usize,
) -> PyResult<Outcome> {
    let named = |names: Vec<String>| names.iter().map(|name| Candidate::named(name)).collect();
    let candidates: Vec<Candidate> =
        access.map_or_else(|| Ok(Candidate::all()), named).map_err(wrong)?;
    let (scenario, _) = plant.changed(py, &changes)?;
    let found = work::run(py, jobs, None, move |progress| {
        compare::compare(&scenario, &candidates, progress)
    })?;
    let both = (found.map_err(wrong)?, by_flow);
    Ok(Outcome(Found::Schemes(Box::new(both))))
}

/// Judges a plant again for every single failure.
#[pyfunction]
pub(crate) fn fail(
    py: Python<'_>,
    plant: &Plant,
    changes: Changes,
    elements: &str,
    recovery: Option<&str>,
    jobs: usize,
    progress: Option<Py<PyAny>>,
) -> PyResult<Outcome> {
    let which = Which::ALL.into_iter().find(|own| own.name() == elements);
    let which = which.ok_or_else(|| {
        let names = Which::ALL.map(Which::name).join("`, `");
        wrong(format!("`{elements}` does not fail; known are `{names}`"))
    })?;
    let most = Failing::MOST_RECOVERY;
    let recovery = recovery.map(|text| time(text, most)).transpose()?;
    let question = Failing { which, recovery };
    let (scenario, _) = plant.changed(py, &changes)?;
    let failures = Element::all(&scenario.network, which).len();
    let judgments = i64::try_from(failures).map_or(i64::MAX, |failures| failures + 1);
    let listener = progress.map(|callback| Listener {
        callback,
        whole: scenario.run.duration * (i64::from(scenario.run.runs) * judgments),
    });
    let found = work::run(py, jobs, listener.as_ref(), move |progress| {
        let failures = rtether::fail::judge(&scenario, question, progress)?;
        Ok::<_, FailError>(Shown::of(&failures).judged(failures.conclusion()))
    })?;
    found.map(shown).map_err(wrong)
}

/// Proves what a change would do.
#[pyfunction]
pub(crate) fn what_if(
    py: Python<'_>,
    plant: &Plant,
    changes: Changes,
    change: Changes,
) -> PyResult<Outcome> {
    let (before, written) = plant.changed(py, &changes)?;
    let own = change.overrides(py)?;
    let mut after = written;
    after.changes.extend(own.iter().cloned());
    let loaded = py.detach(|| after.load());
    let Some(after) = loaded.scenario.clone() else {
        return Err(diagnose::error(py, &loaded));
    };
    let found = work::run(py, 0, None, move |_| {
        let found = bound::what_if(&before, &after, &own);
        Shown::of(&found).judged(found.conclusion)
    })?;
    Ok(shown(found))
}

/// Ranks single changes by what they gain.
#[pyfunction]
pub(crate) fn sensitivity(
    py: Python<'_>,
    plant: &Plant,
    changes: Changes,
    flow: Option<String>,
) -> PyResult<Outcome> {
    let (scenario, written) = plant.changed(py, &changes)?;
    let steps = Arc::new(Steps::default());
    let own = Arc::clone(&steps);
    let found = work::run(py, 0, None, move |_| {
        let mut found = bound::sensitivity(&scenario, flow.as_deref(), &own)?;
        found.find_edits(&scenario, &written);
        Ok(Shown::of(&found))
    });
    let found = found.inspect_err(|_| steps.cancel())?;
    found.map(shown).map_err(|error| match error {
        SensitivityError::NoFlow { .. } => PyLookupError::new_err(error.to_string()),
        SensitivityError::NoBound { .. } | SensitivityError::Nothing => wrong(error),
    })
}

/// Proves bounds, and shows places, or what the diameter proves.
#[pyfunction]
pub(crate) fn bound_of(
    py: Python<'_>,
    plant: &Plant,
    changes: Changes,
    shows: &str,
) -> PyResult<Outcome> {
    let by_diameter = shows == "diameter";
    let (scenario, _) = plant.changed(py, &changes)?;
    let found = work::run(py, 0, None, move |_| {
        let (scenario, analysis) = (&*scenario, &bound::analyze(&scenario));
        if by_diameter {
            let found = ByDiameter::new(scenario, analysis);
            return Shown::of(&found).judged(found.conclusion());
        }
        let bounds = Bounds { scenario, analysis };
        Shown::of(&Places { scenario, analysis }).judged(bounds.conclusion())
    })?;
    Ok(shown(found))
}

/// Says how near the largest delays that a search finds come to the bounds.
#[pyfunction]
pub(crate) fn tightness(
    py: Python<'_>,
    plant: &Plant,
    changes: Changes,
    search: &str,
    jobs: usize,
) -> PyResult<Outcome> {
    let effort = Effort::parse(search).map_err(wrong)?;
    let (scenario, _) = plant.changed(py, &changes)?;
    let found = work::run(py, jobs, None, move |whole| {
        let progress = adversary::Progress::begin(effort).within(Arc::clone(whole));
        let found = rtether::tightness::tightness(&scenario, &progress);
        Shown::of(&found).judged(found.conclusion())
    })?;
    Ok(shown(found))
}

/// Judges claims, as CSV or JSON; returns the result with the files of its runs.
#[pyfunction]
pub(crate) fn judge(
    py: Python<'_>,
    plant: &Plant,
    changes: Changes,
    claims: &str,
    search: &str,
    jobs: usize,
) -> PyResult<(Outcome, Vec<(String, String)>)> {
    let effort = Effort::parse(search).map_err(wrong)?;
    let claims = rtether::judge::claims(CLAIMS, claims.as_bytes()).map_err(wrong)?;
    let (scenario, written) = plant.changed(py, &changes)?;
    let found = work::run(py, jobs, None, move |whole| {
        let progress = adversary::Progress::begin(effort).within(Arc::clone(whole));
        let plant = (&*scenario, &written);
        let found = rtether::judge::judge(plant, (CLAIMS, claims), &progress, true)?;
        let files: Vec<(String, String)> = found.files().collect();
        Ok::<_, JudgeError>((Shown::of(&found).judged(found.conclusion()), files))
    })?;
    let (found, files) = found.map_err(|error| PyLookupError::new_err(error.to_string()))?;
    Ok((shown(found), files))
}

/// What claims without a file are called.
const CLAIMS: &str = "claims";

/// Says how likely frames wait longer than this at ports of switches.
#[pyfunction]
pub(crate) fn waits(
    py: Python<'_>,
    plant: &Plant,
    changes: Changes,
    longer_than: &str,
) -> PyResult<Outcome> {
    let time = scenario::time(longer_than).map_err(wrong)?;
    if !Waits::takes(time) {
        return Err(wrong("write at most a second, for example \"50 us\""));
    }
    let (scenario, _) = plant.changed(py, &changes)?;
    let found = work::run(py, 0, None, move |_| Shown::of(&bound::waits(&scenario, time)))?;
    Ok(shown(found))
}

/// Says what discovery over RTPS takes.
#[pyfunction]
pub(crate) fn discovery(
    py: Python<'_>,
    plant: &Plant,
    changes: Changes,
    progress: Option<Py<PyAny>>,
) -> PyResult<Outcome> {
    let (scenario, _) = plant.changed(py, &changes)?;
    let listener = progress.map(|callback| Listener { callback, whole: scenario.run.duration });
    let found = work::run(py, 1, listener.as_ref(), move |progress| {
        let found = rtether::discovery::discovery(&scenario, progress);
        found.map(|found| found.as_ref().map(Shown::of))
    })?;
    let found = found.map_err(wrong)?;
    let none = || PyLookupError::new_err("no flow of the scenario is `over: rtps`");
    Ok(shown(found.ok_or_else(none)?))
}

/// Names and contents of files, and what they do not tell.
type Files = (Vec<(String, String)>, Vec<String>);

/// Returns the files of a plant for another tool, and what that tool is not told.
#[pyfunction]
pub(crate) fn export(
    py: Python<'_>,
    plant: &Plant,
    changes: Changes,
    tool: &str,
    without_stacks: bool,
    without_flows: Vec<String>,
) -> PyResult<Files> {
    let target = Target::named(tool);
    if target.is_none() && tool != YAML.0 {
        let names = Target::ALL.map(|(_, name, _)| name).join("`, `");
        return Err(wrong(format!("no tool `{tool}`; known are `{names}`, `{}`", YAML.0)));
    }
    let (scenario, written) = plant.changed(py, &changes)?;
    let choice = Choice { without_stacks, without_flows };
    let exported = py.detach(|| match target {
        Some(target) => export_part(&scenario, &choice, target),
        None => whole(&scenario, &written, &choice),
    });
    let exported = exported.map_err(wrong)?;
    Ok((exported.files, exported.notes))
}

/// Compares two results of `check` or `sim`, in JSON.
#[pyfunction]
pub(crate) fn diff(py: Python<'_>, old: &str, new: &str) -> PyResult<Outcome> {
    let read = |text: &str, which: &str| {
        let read = serde_json::from_str(text);
        read.map_err(|error| format!("the {which} result is not JSON: {error}"))
    };
    let found = py.detach(|| {
        let (old, new) = (read(old, "old")?, read(new, "new")?);
        rtether::diff::diff(&old, &new)
    });
    let found = found.map_err(wrong)?;
    Ok(shown(Shown::of(&found).judged(found.conclusion())))
}
