//! What is wrong with a scenario, as an exception.

use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rtether::scenario::Loaded;
use rtether::scenario::render::Style;

create_exception!(
    rtether,
    ScenarioError,
    PyValueError,
    "A scenario that cannot be used: all that is wrong with it, each with its place and a remedy."
);

/// Returns the exception for a file with errors; its `diagnostics` have places and remedies.
pub(crate) fn error(py: Python<'_>, loaded: &Loaded) -> PyErr {
    let error = ScenarioError::new_err(loaded.text(Style::Plain));
    let list = diagnostics(py, loaded);
    match list.and_then(|list| error.value(py).setattr("diagnostics", list)) {
        Ok(()) => error,
        Err(other) => other,
    }
}

/// Returns all diagnostics as objects of Python.
pub(crate) fn diagnostics<'py>(py: Python<'py>, loaded: &Loaded) -> PyResult<Bound<'py, PyAny>> {
    parse(py, &loaded.json().to_string())
}

/// Returns JSON as objects of Python.
pub(crate) fn parse<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("json")?.call_method1("loads", (text,))
}
