//! rtether for Python: the extension module `rtether._rtether`.
//!
//! It translates and decides nothing: a method of Python is a function of `rtether`, or of
//! `rtether-testbed` where there is Linux, with the interpreter released while that runs.
//! `python/rtether` has what is better written in Python, with the types.
//!
//! # Modules
//!
//! The wheel for Python: `work` runs calls on threads of their own while Ctrl-C is heard, `plant`
//! has the calls, `questions` those beyond simulation, proof and explanation, `outcome` a result in
//! every form, `arrow` its rows, `diagnose` what is wrong as an exception, `study` studies that
//! travel to other processes, `live` participants of a domain, whose waits hear Ctrl-C (Linux);
//! `python/rtether` has signatures, types and documentation, `_sweep` sends points through a
//! cluster of Dask, `_plot` draws with matplotlib.
//!
//! **Invariant:** a method of Python is one function of `rtether` or `rtether-testbed`, and
//! `unsafe` is only in pyo3 and arrow (decision 27).

mod arrow;
mod diagnose;
#[cfg(target_os = "linux")]
mod live;
mod outcome;
mod plant;
mod questions;
mod study;
mod work;

use std::ffi::OsString;

use pyo3::prelude::*;

/// Runs the command with these arguments, the first of which is its own name; returns its exit code.
#[pyfunction]
fn run(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| rtether_cli::code(arguments))
}

/// The module.
#[pymodule]
fn _rtether(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("ScenarioError", module.py().get_type::<diagnose::ScenarioError>())?;
    module.add_class::<plant::Plant>()?;
    module.add_class::<plant::Plan>()?;
    module.add_class::<outcome::Outcome>()?;
    module.add_class::<study::Sweep>()?;
    #[cfg(target_os = "linux")]
    {
        module.add_class::<live::Participant>()?;
        module.add_class::<live::Publisher>()?;
        module.add_class::<live::Subscriber>()?;
    }
    module.add_function(wrap_pyfunction!(plant::load, module)?)?;
    module.add_function(wrap_pyfunction!(plant::import_, module)?)?;
    module.add_function(wrap_pyfunction!(questions::admit, module)?)?;
    module.add_function(wrap_pyfunction!(questions::bound_of, module)?)?;
    module.add_function(wrap_pyfunction!(questions::compare_schemes, module)?)?;
    module.add_function(wrap_pyfunction!(questions::design, module)?)?;
    module.add_function(wrap_pyfunction!(questions::diff, module)?)?;
    module.add_function(wrap_pyfunction!(questions::discovery, module)?)?;
    module.add_function(wrap_pyfunction!(questions::explain, module)?)?;
    module.add_function(wrap_pyfunction!(questions::export, module)?)?;
    module.add_function(wrap_pyfunction!(questions::fail, module)?)?;
    module.add_function(wrap_pyfunction!(questions::judge, module)?)?;
    module.add_function(wrap_pyfunction!(questions::limit, module)?)?;
    module.add_function(wrap_pyfunction!(questions::sensitivity, module)?)?;
    module.add_function(wrap_pyfunction!(questions::tightness, module)?)?;
    module.add_function(wrap_pyfunction!(questions::waits, module)?)?;
    module.add_function(wrap_pyfunction!(questions::what_if, module)?)?;
    module.add_function(wrap_pyfunction!(run, module)?)
}
