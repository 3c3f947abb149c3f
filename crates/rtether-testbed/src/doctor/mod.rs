//! Whether this host is fit for measurements, and how to fix what is not.
//!
//! Every finding says what was found, what it means for measurements, and its remedy.

mod devices;
mod goals;
mod kernel;
mod machine;
mod output;
mod remote;
mod rights;
mod samples;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicBool, Ordering};

use rtether_live::host::files::Files;
use rtether_live::host::stall;
use rtether_model::quantity::Duration;
use schemars::JsonSchema;
use serde::Serialize;

pub use goals::{GOALS, Goal, Obstacle, goal};
pub use output::{obstacles_text, parse};
pub use remote::{RemoteError, examine_remote};

/// Prefix of the names of its namespaces.
pub(super) const NAMES: &str = "doctor-";

/// Effect of a finding on measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// As it should be.
    Ok,
    /// Worth knowing.
    Note,
    /// Spoils or prevents measurements.
    Problem,
}

impl State {
    /// Returns the word for tables and files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Note => "note",
            Self::Problem => "problem",
        }
    }
}

/// Result of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Finding {
    /// Group and name, such as `rights.net-raw`.
    pub id: String,
    /// Whether it is present, works, or is granted.
    pub is_there: bool,
    /// Effect on measurements: `ok`, `note` (worth knowing) or `problem` (spoils or prevents them).
    #[schemars(with = "String")]
    pub state: State,
    /// What was found.
    pub found: String,
    /// What it means for measurements.
    pub meaning: String,
    /// What to do about it; `null` if there is nothing to do.
    pub remedy: Option<String>,
}

impl Finding {
    /// Returns a finding in state [`State::Ok`].
    fn ok(id: impl Into<String>, found: impl Into<String>, meaning: &str) -> Self {
        Self {
            id: id.into(),
            is_there: true,
            state: State::Ok,
            found: found.into(),
            meaning: meaning.into(),
            remedy: None,
        }
    }

    /// Returns a finding that is there, but not as it should be.
    fn note(id: impl Into<String>, found: impl Into<String>, meaning: &str, remedy: &str) -> Self {
        Self { state: State::Note, remedy: Some(remedy.into()), ..Self::ok(id, found, meaning) }
    }

    /// Returns a finding that is missing.
    fn missing(
        id: impl Into<String>,
        state: State,
        found: impl Into<String>,
        meaning: &str,
        remedy: &str,
    ) -> Self {
        Self { is_there: false, state, ..Self::note(id, found, meaning, remedy) }
    }

    fn worse(self) -> Self {
        Self { state: State::Problem, ..self }
    }
}

/// All findings of a host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Report {
    /// Name of the host.
    pub host: String,
    /// All findings, by group.
    pub findings: Vec<Finding>,
}

impl Report {
    /// Returns the finding with this id.
    pub fn find(&self, id: &str) -> Option<&Finding> {
        self.findings.iter().find(|finding| finding.id == id)
    }
}

/// What to examine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DoctorOptions {
    /// How long to watch for gaps; zero to skip.
    pub watch: Duration,
    /// Whether to try features in a scratch namespace.
    pub probe: bool,
    /// Size of samples that are to pass over RTPS, in octets; `None` to skip.
    pub sample: Option<u64>,
}

impl Default for DoctorOptions {
    fn default() -> Self {
        Self { watch: Duration::from_secs(1), probe: true, sample: None }
    }
}

/// Examines this host and calls `step` with the name of each check. Once `stop` is set, the
/// remaining checks are skipped.
pub fn examine(
    options: &DoctorOptions,
    stop: &AtomicBool,
    mut step: impl FnMut(&'static str),
) -> Report {
    let files = Files::default();
    let mut findings = Vec::new();
    let host = files.text("proc/sys/kernel/hostname");
    step("rights");
    findings.extend(rights::findings(&files));
    if options.probe {
        step("features of the kernel");
        findings.extend(kernel::findings(&files, stop));
    }
    step("devices");
    findings.extend(devices::findings(&files));
    if let Some(size) = options.sample {
        step("samples over RTPS");
        findings.extend(samples::findings(&files, size, stop));
    }
    step("clock and processors");
    findings.extend(machine::findings(&files));
    if options.watch > Duration::ZERO && !stop.load(Ordering::Relaxed) {
        step("gaps");
        let before = machine::ticks(&files);
        let gaps = stall::watch(options.watch, stop);
        findings.extend(machine::steal(before, machine::ticks(&files)));
        findings.push(machine::gaps(&gaps));
    }
    Report { host: host.unwrap_or_else(|| "this host".into()), findings }
}
