//! Studies: read where they are written, run wherever a point is sent to.
#![allow(clippy::needless_pass_by_value, reason = "arguments that come from Python are owned")]

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::exceptions::{
    PyFileNotFoundError, PyIndexError, PyOSError, PyRuntimeError, PyValueError,
};
use pyo3::prelude::*;
use pyo3::types::PyType;
use rtether::beneath::{Beneath, Unread};
use rtether::scenario::{self, Source, Written};
use rtether::sweep::{Answer, Point, Study};

use crate::outcome::{Found, Outcome, Shown};
use crate::plant::{Plant, beneath};
use crate::{diagnose, work};

/// A study with its scenario, complete in itself: other processes need no file.
#[pyclass(frozen, module = "rtether._rtether", name = "Study")]
pub(crate) struct Sweep {
    name: String,
    text: String,
    own: Arc<Own>,
}

struct Own {
    study: Study,
    scenario: Written,
    points: Vec<Point>,
}

/// What a copy in another process is made of: version, name, text, and the files of the scenario.
type Copied = (&'static str, String, String, Vec<(String, String)>);

impl Sweep {
    fn read(py: Python<'_>, name: String, text: String, scenario: Scenario) -> PyResult<Self> {
        let study = Study::read(&name, &text);
        let study = study.map_err(|mistake| PyValueError::new_err(mistake.to_string()))?;
        let written = match scenario {
            Scenario::Known(written) => written,
            Scenario::Beside(file, include_from) => {
                let path = file.with_file_name("").join(&study.scenario);
                load(py, &path.display().to_string(), &beneath(&file, &include_from))?
            }
        };
        let (first, own) = py.detach(|| {
            let points = study.points();
            let own = Own { study, scenario: written, points };
            (own.study.first(&own.scenario), own)
        });
        if first.scenario.is_none() {
            return Err(diagnose::error(py, &first));
        }
        Ok(Self { name, text, own: Arc::new(own) })
    }

    fn point(&self, index: usize) -> PyResult<&Point> {
        let missing = || PyIndexError::new_err(format!("there is no point {index}"));
        self.own.points.get(index).ok_or_else(missing)
    }
}

/// Where the scenario of a study is.
enum Scenario {
    Known(Written),
    /// In the file that the study in this one names, beneath its folder or those added.
    Beside(PathBuf, Vec<PathBuf>),
}

fn load(py: Python<'_>, path: &str, beneath: &Beneath) -> PyResult<Written> {
    let text = beneath.read(path).map_err(|why| {
        let words = format!("reading `{path}`: {why}");
        match why {
            Unread::Missing(_) => PyFileNotFoundError::new_err(words),
            Unread::Refused(_) => PyOSError::new_err(words),
        }
    })?;
    let read = |path: &str| beneath.read(path).map_err(|why| why.to_string());
    let loaded = py.detach(|| scenario::load_from(path, &text, &read, &[], &[]));
    match loaded.scenario {
        Some(_) => Ok(Written::of(&loaded, Vec::new())),
        None => Err(diagnose::error(py, &loaded)),
    }
}

#[pymethods]
impl Sweep {
    /// Makes the copy of another process.
    #[new]
    fn new(
        py: Python<'_>,
        version: &str,
        name: String,
        text: String,
        files: Vec<(String, String)>,
    ) -> PyResult<Self> {
        let own = env!("CARGO_PKG_VERSION");
        if version != own {
            let message = format!("rtether {version} sent a study to rtether {own}");
            return Err(PyRuntimeError::new_err(message));
        }
        let mut files = files.into_iter();
        let (file, first) = files.next().unwrap_or_default();
        let written = Written {
            name: file,
            text: first,
            changes: Vec::new(),
            included: files.map(|(name, text)| Source { name, text }).collect(),
        };
        Self::read(py, name, text, Scenario::Known(written))
    }

    /// Reads a study, with the scenario of a plant, or that which it names beside it.
    #[staticmethod]
    #[pyo3(signature = (name, text, plant, include_from))]
    fn open(
        py: Python<'_>,
        name: String,
        text: String,
        plant: Option<&Bound<'_, Plant>>,
        include_from: Vec<PathBuf>,
    ) -> PyResult<Self> {
        let scenario = match plant {
            Some(plant) => Scenario::Known(plant.get().written.clone()),
            None => Scenario::Beside(PathBuf::from(&name), include_from),
        };
        Self::read(py, name, text, scenario)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> (Bound<'py, PyType>, Copied) {
        let this = slf.get();
        let scenario = &this.own.scenario;
        let mut files = vec![(scenario.name.clone(), scenario.text.clone())];
        let included = scenario.included.iter();
        files.extend(included.map(|file| (file.name.clone(), file.text.clone())));
        let version = env!("CARGO_PKG_VERSION");
        let copied = (version, this.name.clone(), this.text.clone(), files);
        (slf.get_type(), copied)
    }

    fn __len__(&self) -> usize {
        self.own.points.len()
    }

    /// The name of a point, without the ending of its file.
    fn name(&self, index: usize) -> PyResult<String> {
        let point = self.point(index)?;
        Ok(point.name(&self.own.study, &self.own.scenario))
    }

    /// Runs a point in one thread; the content of its file.
    fn run(&self, py: Python<'_>, index: usize) -> PyResult<String> {
        self.point(index)?;
        let own = Arc::clone(&self.own);
        let result = work::run(py, 1, None, move |progress| {
            own.study.run(&own.scenario, &own.points[index], progress)
        })?;
        result.ok_or_else(|| PyRuntimeError::new_err("the point was cancelled"))
    }

    /// Takes the results of all points, in their order: the files that go beside them, and what they
    /// tell.
    fn conclude(
        &self,
        py: Python<'_>,
        results: Vec<String>,
    ) -> PyResult<(Vec<(&'static str, String)>, Outcome)> {
        let concluded = py.detach(|| {
            let points = self.own.points.iter().cloned();
            let answer = Answer::new(&self.own.study, points.zip(results))?;
            Ok((answer.files().to_vec(), Shown::of(&answer)))
        });
        let (files, shown) = concluded.map_err(|message: String| PyValueError::new_err(message))?;
        Ok((files, Outcome(Found::Shown(Box::new(shown)))))
    }
}
