//! A result, in every form.

use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use rtether::against::{self, Against};
use rtether::bound::{self, Analysis, Bounds};
use rtether::certificate::certificate;
use rtether::compare::{self, ByFlow, Comparison};
use rtether::design;
use rtether::import::Plan;
use rtether::limit::{self, Answer, Limit};
use rtether::report::format::{Format, Part, Render};
use rtether::report::table::{Screen, Table};
use rtether::report::{Checked, Verdicts, html, json};
use rtether::scenario::Scenario;
use rtether::verdict::Conclusion;

use crate::{arrow, diagnose};

/// What a method of `Plant` has found; what the command prints is one of its forms.
#[pyclass(frozen, module = "rtether", name = "Result")]
pub(crate) struct Outcome(pub(crate) Found);

/// What was found.
pub(crate) enum Found {
    Checked(Box<Checked>),
    Bounds(Box<(Scenario, Analysis)>),
    /// With what it is compared with a plan.
    Against(Box<(Against, Arc<Plan>)>),
    Limit(Box<(Arc<Scenario>, Limit)>),
    /// With whether streams are shown.
    Schemes(Box<(Comparison, bool)>),
    Design(Box<design::Outcome>),
    /// Shown already.
    Shown(Box<Shown>),
}

/// A result that borrows from what it is about, in all forms.
#[derive(Clone, Debug)]
pub(crate) struct Shown {
    parts: Vec<Part>,
    document: Vec<Part>,
    rows: Table,
    json: String,
    /// The verdict, if anything is judged.
    conclusion: Option<Conclusion>,
}

impl Shown {
    pub(crate) fn of(result: &impl Render) -> Self {
        Self {
            parts: result.parts(Screen::default()),
            document: result.document(),
            rows: result.rows(),
            json: result.json(),
            conclusion: None,
        }
    }

    /// Adds the verdict.
    pub(crate) fn judged(self, conclusion: Conclusion) -> Self {
        Self { conclusion: Some(conclusion), ..self }
    }
}

impl Render for Shown {
    fn document(&self) -> Vec<Part> {
        self.document.clone()
    }

    fn parts(&self, _: Screen) -> Vec<Part> {
        self.parts.clone()
    }

    fn rows(&self) -> Table {
        self.rows.clone()
    }

    fn json(&self) -> String {
        self.json.clone()
    }
}

impl Outcome {
    fn with<T: Send>(&self, py: Python<'_>, show: impl FnOnce(&dyn Render) -> T + Send) -> T {
        py.detach(|| match &self.0 {
            Found::Checked(checked) => {
                show(&Verdicts { checked, all: false, json: json::Options::default() })
            }
            Found::Bounds(both) => show(&bounds(both)),
            Found::Against(both) => show(&both.0),
            Found::Limit(both) => show(&Answer { scenario: &both.0, limit: &both.1 }),
            Found::Schemes(both) if both.1 => show(&ByFlow(&both.0)),
            Found::Schemes(both) => show(&both.0),
            Found::Design(outcome) => show(&design::Answer { outcome }),
            Found::Shown(shown) => show(&**shown),
        })
    }

    /// Returns the verdict, if anything is judged.
    fn judged(&self) -> Option<Conclusion> {
        Some(match &self.0 {
            Found::Checked(checked) => checked.conclusion,
            Found::Against(both) => both.0.conclusion(),
            Found::Bounds(both) => bounds(both).conclusion(),
            Found::Limit(both) => both.1.conclusion(),
            Found::Schemes(both) => both.0.conclusion(),
            Found::Design(outcome) => outcome.conclusion(),
            Found::Shown(shown) => return shown.conclusion,
        })
    }

    fn form(&self, py: Python<'_>, format: Format) -> String {
        self.with(py, |result| result.render(format, Screen::default()))
    }
}

const fn bounds((scenario, analysis): &(Scenario, Analysis)) -> Bounds<'_> {
    Bounds { scenario, analysis }
}

#[pymethods]
impl Outcome {
    /// What the command prints with `--json`, to the byte.
    fn json(&self, py: Python<'_>) -> String {
        self.form(py, Format::Json)
    }

    /// The same as objects of Python.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        diagnose::parse(py, &self.form(py, Format::Json))
    }

    /// One row per record, as CSV.
    fn csv(&self, py: Python<'_>) -> String {
        self.form(py, Format::Csv)
    }

    /// Text and tables as Markdown.
    fn markdown(&self, py: Python<'_>) -> String {
        self.form(py, Format::Md)
    }

    /// The page of `--report`.
    fn report(&self, py: Python<'_>) -> PyResult<String> {
        match &self.0 {
            Found::Checked(checked) => Ok(py.detach(|| html::render(checked))),
            Found::Bounds(both) => Ok(py.detach(|| bound::html(&both.0, &both.1))),
            Found::Against(both) => Ok(py.detach(|| against::html(&both.0, &both.1))),
            Found::Limit(both) => Ok(py.detach(|| limit::html(&both.0, &both.1))),
            Found::Schemes(both) => Ok(py.detach(|| compare::html(&both.0))),
            Found::Design(outcome) => Ok(py.detach(|| design::html(outcome))),
            Found::Shown(_) => Err(PyValueError::new_err("this result has no page")),
        }
    }

    /// Claims about every packet's way, which `rtether-verify` checks without rtether.
    fn certificate(&self, py: Python<'_>) -> PyResult<String> {
        let both = match &self.0 {
            Found::Checked(checked) => Some(&*checked.scenario).zip(checked.analysis.as_ref()),
            Found::Bounds(both) => Some((&both.0, &both.1)),
            Found::Against(_)
            | Found::Limit(_)
            | Found::Schemes(_)
            | Found::Design(_)
            | Found::Shown(_) => None,
        };
        let (scenario, analysis) =
            both.ok_or_else(|| PyValueError::new_err("this result has no bounds"))?;
        let found = py.detach(|| certificate(scenario, analysis));
        found.map(|own| own.text).map_err(|beyond| PyValueError::new_err(beyond.to_string()))
    }

    /// Whether what is judged holds; `None` if there is no answer, or nothing to judge.
    #[getter]
    fn ok(&self) -> Option<bool> {
        self.judged()?.holds()
    }

    /// The first word of the verdict: `PASS`, `FAIL`, `NO ANSWER` or `CONTRADICTION`; `None` if there is
    /// nothing to judge.
    #[getter]
    fn conclusion(&self) -> Option<&'static str> {
        Some(self.judged()?.word())
    }

    /// The columns of the CSV, typed: `polars.DataFrame(result)`, `pyarrow.table(result)`.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface lets a producer ignore wishes that it cannot meet.
        drop(requested_schema);
        let rows = self.with(py, |result| result.rows());
        arrow::stream(py, &rows)
    }

    /// Draws it with matplotlib, into `ax` or a figure of its own; the axes.
    #[pyo3(signature = (ax=None))]
    fn plot<'py>(
        slf: &Bound<'py, Self>,
        ax: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let drawing = slf.py().import("rtether._plot")?;
        drawing.call_method1("plot", (slf, ax))
    }

    fn _repr_html_(&self, py: Python<'_>) -> String {
        self.with(py, |result| result.fragment())
    }

    fn __str__(&self, py: Python<'_>) -> String {
        self.form(py, Format::Table)
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let rows = self.with(py, |result| result.rows().height());
        format!("<rtether.Result: {rows} rows>")
    }
}
