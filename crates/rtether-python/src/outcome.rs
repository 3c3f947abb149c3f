//! A result, in every form.

use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use rtether::against::{self, Against};
use rtether::bound::{Analysis, Bounds};
use rtether::import::Plan;
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
}

impl Shown {
    pub(crate) fn of(result: &impl Render) -> Self {
        Self {
            parts: result.parts(Screen::default()),
            document: result.document(),
            rows: result.rows(),
            json: result.json(),
        }
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
            Found::Checked(checked) => show(&Verdicts {
                checked,
                all: false,
                json: json::Options::default(),
            }),
            Found::Bounds(both) => show(&Bounds {
                scenario: &both.0,
                analysis: &both.1,
            }),
            Found::Against(both) => show(&both.0),
            Found::Shown(shown) => show(&**shown),
        })
    }

    fn form(&self, py: Python<'_>, format: Format) -> String {
        self.with(py, |result| result.render(format, Screen::default()))
    }
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
            Found::Bounds(both) => Ok(py.detach(|| rtether::bound::html(&both.0, &both.1))),
            Found::Against(both) => Ok(py.detach(|| against::html(&both.0, &both.1))),
            Found::Shown(_) => Err(PyValueError::new_err("this result has no page")),
        }
    }

    /// Whether every requirement holds; `None` if the result judges nothing.
    #[getter]
    fn ok(&self) -> Option<bool> {
        match &self.0 {
            Found::Checked(checked) => Some(checked.conclusion == Conclusion::Met),
            Found::Against(both) => Some(!both.0.deviates()),
            Found::Bounds(_) | Found::Shown(_) => None,
        }
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
