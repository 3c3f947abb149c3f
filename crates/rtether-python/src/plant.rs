//! Plants: from files, texts, dictionaries, and files of other tools.
#![allow(clippy::needless_pass_by_value, reason = "arguments that come from Python are owned")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pyo3::exceptions::{PyLookupError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rtether::adversary::{self, Effort};
use rtether::against::against;
use rtether::beneath::Beneath;
use rtether::bound;
use rtether::check::{self, Options};
use rtether::import::{self, Cabling, Class, Columns, Duration, File, Frequency, Imported};
use rtether::report::Checked;
use rtether::run;
use rtether::scenario::{self, Loaded, Override, Scenario, Written};
use rtether::verdict::Conclusion;
use rtether::why::{self, Choice, Explainer, Stream};

use crate::diagnose;
use crate::outcome::{Found, Outcome, Shown};
use crate::work::{self, Listener};

/// A scenario.
#[pyclass(frozen, module = "rtether")]
pub(crate) struct Plant {
    pub(crate) written: Written,
    loaded: Loaded,
    scenario: Arc<Scenario>,
}

/// Changes to a scenario, as the flags of the command.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Changes {
    set: Option<Py<PyDict>>,
    seed: Option<u64>,
    runs: Option<u32>,
    duration: Option<String>,
    warmup: Option<String>,
    /// Whether nothing judged may rest on an assumption.
    pub(crate) strict: bool,
}

/// Reads a scenario: a path, a text of more than one line, or a dictionary in the form of the file. It
/// may include files beneath its folder, and beneath those of `include_from`.
#[pyfunction]
pub(crate) fn load(
    py: Python<'_>,
    source: &Bound<'_, PyAny>,
    include_from: Vec<PathBuf>,
) -> PyResult<Plant> {
    if source.is_instance_of::<PyDict>() {
        // JSON is YAML.
        let text = json(source)?;
        return Plant::new(py, "<dict>", &text, &include_from);
    }
    if let Ok(text) = source.extract::<String>()
        && text.contains('\n')
    {
        return Plant::new(py, "<text>", &text, &include_from);
    }
    let path: PathBuf = source.extract()?;
    let text = std::fs::read_to_string(&path)?;
    Plant::new(py, &path.display().to_string(), &text, &include_from)
}

/// Returns what reads the files that a file names.
pub(crate) fn beneath(file: &Path, include_from: &[PathBuf]) -> Beneath {
    let remedy = |folder: &Path| format!("add `include_from=[{:?}]`", folder.to_string_lossy());
    Beneath::new(file, include_from, remedy)
}

fn json(value: &Bound<'_, PyAny>) -> PyResult<String> {
    let text = value.py().import("json")?.call_method1("dumps", (value,))?;
    text.extract()
}

impl Plant {
    fn new(py: Python<'_>, name: &str, text: &str, include_from: &[PathBuf]) -> PyResult<Self> {
        let beneath = beneath(Path::new(name), include_from);
        let read = |path: &str| beneath.read(path).map_err(|why| why.to_string());
        let loaded = py.detach(|| scenario::load_from(name, text, &read, &[], &[]));
        let Some(scenario) = loaded.scenario.clone() else {
            return Err(diagnose::error(py, &loaded));
        };
        Ok(Self { written: Written::of(&loaded, Vec::new()), loaded, scenario: Arc::new(scenario) })
    }

    /// Returns one whose file has another text, and includes the same files.
    pub(crate) fn settled(py: Python<'_>, written: &Written, text: String) -> PyResult<Self> {
        let written = Written { text, changes: Vec::new(), ..written.clone() };
        let loaded = py.detach(|| written.load());
        let Some(scenario) = loaded.scenario.clone() else {
            return Err(diagnose::error(py, &loaded));
        };
        Ok(Self { written, loaded, scenario: Arc::new(scenario) })
    }

    /// Returns the scenario after changes, and how it is written.
    pub(crate) fn changed(
        &self,
        py: Python<'_>,
        changes: &Changes,
    ) -> PyResult<(Arc<Scenario>, Written)> {
        let strict = changes.strict;
        let changes = changes.overrides(py)?;
        if changes.is_empty() && !strict {
            return Ok((Arc::clone(&self.scenario), self.written.clone()));
        }
        let mut written = self.written.clone();
        written.changes = changes;
        let mut loaded = py.detach(|| written.load());
        let Some(mut scenario) = loaded.scenario.take() else {
            return Err(diagnose::error(py, &loaded));
        };
        scenario.assumptions.is_strict = strict;
        Ok((Arc::new(scenario), written))
    }
}

impl Changes {
    pub(crate) fn overrides(&self, py: Python<'_>) -> PyResult<Vec<Override>> {
        let mut all = Vec::new();
        for (path, value) in self.set.iter().flat_map(|set| set.bind(py)) {
            let value = match value.extract::<String>() {
                Ok(text) => text,
                Err(_) => json(&value)?,
            };
            all.push(Override::new("set", path.extract::<String>()?, value));
        }
        let flags = [
            ("duration", "run.for", self.duration.clone()),
            ("warmup", "run.warmup", self.warmup.clone()),
            ("runs", "run.seeds", self.runs.map(|runs| runs.to_string())),
            ("seed", "run.seed", self.seed.map(|seed| seed.to_string())),
        ];
        let given = flags.into_iter();
        all.extend(given.filter_map(|(flag, path, value)| Some(Override::new(flag, path, value?))));
        Ok(all)
    }
}

#[pymethods]
impl Plant {
    /// The text of the scenario.
    #[getter]
    fn text(&self) -> &str {
        &self.written.text
    }

    /// The name of the plant.
    #[getter]
    fn name(&self) -> &str {
        &self.scenario.name
    }

    /// What the scenario is warned of.
    #[getter]
    fn diagnostics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        diagnose::diagnostics(py, &self.loaded)
    }

    /// Simulates; proves, and searches for bad releases, if wished.
    #[pyo3(signature = (changes, proves, report, adversarial, pace))]
    fn _judge(
        &self,
        py: Python<'_>,
        changes: Changes,
        proves: bool,
        report: bool,
        adversarial: Option<&str>,
        pace: (usize, Option<Py<PyAny>>),
    ) -> PyResult<Outcome> {
        let (jobs, progress) = pace;
        let effort = adversarial.map(Effort::parse).transpose();
        let effort = effort.map_err(PyValueError::new_err)?;
        let (scenario, written) = self.changed(py, &changes)?;
        let mut scenario = Scenario::clone(&scenario);
        if !report {
            scenario.run.bucket = Duration::ZERO;
        }
        let options =
            Options { proves, source: Some(written), explains: report, ..Options::default() };
        let listener = progress.map(|callback| Listener {
            callback,
            whole: scenario.run.duration * i64::from(scenario.run.runs),
        });
        let checked = work::run(py, jobs, listener.as_ref(), move |progress| {
            let results = run::simulate(&scenario, progress);
            let results = results.map_err(|error| error.to_string())?;
            let mut checked = check::conclude(scenario, results, options);
            if let Some(effort) = effort {
                search(effort, progress, &mut checked);
            }
            Ok::<_, String>(checked)
        })?;
        let checked = checked.map_err(PyValueError::new_err)?;
        Ok(Outcome(Found::Checked(Box::new(checked))))
    }

    /// Proves without simulation.
    fn _bound(&self, py: Python<'_>, changes: Changes) -> PyResult<Outcome> {
        let (scenario, _) = self.changed(py, &changes)?;
        let own = Arc::clone(&scenario);
        let analysis = work::run(py, 0, None, move |_| bound::analyze(&own))?;
        let scenario = Scenario::clone(&scenario);
        Ok(Outcome(Found::Bounds(Box::new((scenario, analysis)))))
    }

    /// Explains a packet, or with `bound` a proved bound.
    #[pyo3(signature = (changes, flow, packet, bound, jobs))]
    fn _why(
        &self,
        py: Python<'_>,
        changes: Changes,
        flow: &str,
        packet: &str,
        bound: bool,
        jobs: usize,
    ) -> PyResult<Outcome> {
        let (scenario, _) = self.changed(py, &changes)?;
        let unknown = || PyLookupError::new_err(format!("there is no stream `{flow}`"));
        let stream = Stream::named(&scenario, flow).ok_or_else(unknown)?;
        let choice = choice(packet)?;
        let shown = work::run(py, jobs, None, move |progress| {
            if bound {
                let mut found = Explainer::new(&scenario).explain(stream);
                if let Some(found) = &mut found {
                    found.look_for_pattern();
                }
                return Ok::<_, String>(found.map(|found| Shown::of(&found)));
            }
            let found = why::explain(&scenario, stream, choice, progress);
            let found = found.map_err(|error| error.to_string())?;
            Ok(found.map(|found| Shown::of(&found)))
        })?;
        let shown = shown.map_err(PyValueError::new_err)?;
        let none = || PyLookupError::new_err(format!("`{flow}` has no such packet, or no bound"));
        Ok(Outcome(Found::Shown(Box::new(shown.ok_or_else(none)?))))
    }

    /// Numbers of flows and nodes.
    #[getter]
    fn size(&self) -> (usize, usize) {
        (self.scenario.flows.len(), self.scenario.network.nodes.len())
    }

    fn __repr__(&self) -> String {
        let (flows, nodes) = self.size();
        let name = &self.scenario.name;
        format!("<rtether.Plant `{name}`: {flows} flows, {nodes} nodes>")
    }
}

/// Searches for bad releases, and adds what was found.
fn search(effort: Effort, whole: &Arc<run::Progress>, checked: &mut Checked) {
    if checked.conclusion == Conclusion::Interrupted {
        return;
    }
    let (bounds, seen) = check::known(checked);
    let progress = adversary::Progress::begin(effort).within(Arc::clone(whole));
    let found = adversary::attack(&checked.scenario, (&bounds, &seen), &progress);
    check::add_found(checked, found);
}

fn choice(packet: &str) -> PyResult<Choice> {
    match packet {
        "worst" => Ok(Choice::Worst),
        "late" => Ok(Choice::Late),
        number => number.parse().map(Choice::Number).map_err(|_| {
            PyValueError::new_err("`packet` is \"worst\", \"late\" or a number from 0")
        }),
    }
}

/// A scenario made of the files of another tool.
#[pyclass(frozen, module = "rtether")]
pub(crate) struct Plan {
    plan: Arc<import::Plan>,
    shown: Shown,
}

#[pymethods]
impl Plan {
    /// The text of the scenario.
    #[getter]
    fn text(&self) -> &str {
        &self.plan.scenario
    }

    /// The scenario.
    fn load(&self, py: Python<'_>) -> PyResult<Plant> {
        Plant::new(py, "<import>", self.text(), &[])
    }

    /// The comparison with a plan, flow by flow.
    fn against(&self, py: Python<'_>, planned: &Plant) -> PyResult<Outcome> {
        let seen = self.load(py)?;
        let found = py.detach(|| against(&planned.scenario, &seen.scenario));
        let both = (found, Arc::clone(&self.plan));
        Ok(Outcome(Found::Against(Box::new(both))))
    }

    /// What was assumed and found.
    fn result(&self) -> Outcome {
        Outcome(Found::Shown(Box::new(self.shown.clone())))
    }
}

/// What the options of `import` say.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Choices {
    frequency: Option<String>,
    deadline: Vec<(String, Option<String>)>,
    columns: Option<String>,
    config: Option<String>,
    switches: Vec<PathBuf>,
}

impl Choices {
    fn options(self) -> PyResult<import::Options> {
        let wrong = |message: String| PyValueError::new_err(message);
        let mut options = import::Options::new();
        if let Some(text) = self.frequency {
            options = options.with_frequency(Frequency::parse(&text).map_err(wrong)?);
        }
        for (class, time) in self.deadline {
            let class = Class::parse(&class).map_err(wrong)?;
            let time = time.map(|time| scenario::time(&time)).transpose();
            options = options.with_deadline(class, time.map_err(wrong)?);
        }
        if let Some(text) = self.columns {
            options = options.with_columns(Columns::parse(&text).map_err(wrong)?);
        }
        if let Some(config) = self.config {
            options = options.with_config(config);
        }
        if !self.switches.is_empty() {
            let contents = contents(&self.switches)?;
            let cabling = Cabling::read(&files(&contents));
            let cabling = cabling.map_err(|error| wrong(error.to_string()))?;
            options = options.with_cabling(cabling);
        }
        Ok(options)
    }
}

/// Reads files, each with its name.
fn contents(paths: &[PathBuf]) -> PyResult<Vec<(String, Vec<u8>)>> {
    let mut contents = Vec::new();
    for path in paths {
        let name = path.file_name().unwrap_or(path.as_os_str());
        contents.push((name.to_string_lossy().into_owned(), std::fs::read(path)?));
    }
    Ok(contents)
}

fn files(contents: &[(String, Vec<u8>)]) -> Vec<File<'_>> {
    let files = contents.iter().map(|(name, octets)| File { name, octets });
    files.collect()
}

/// Makes a scenario of files of another tool.
#[pyfunction]
pub(crate) fn import_(py: Python<'_>, paths: Vec<PathBuf>, choices: Choices) -> PyResult<Plan> {
    let options = choices.options()?;
    let contents = contents(&paths)?;
    let shown: Vec<String> = paths.iter().map(|file| file.display().to_string()).collect();
    let made = work::run(py, 0, None, move |_| {
        let plan = import::import_all(&files(&contents), &options)?;
        let file = shown.join(", ");
        let imported = Imported { file: &file, plan: &plan };
        let shown = Shown::of(&imported);
        Ok(Plan { plan: Arc::new(plan), shown })
    })?;
    made.map_err(|error: import::ImportError| PyValueError::new_err(error.to_string()))
}
