//! Repeats the experiments of the five papers and judges the papers' claims.
//!
//! Each experiment is one file here, with one function: it runs scenarios and fills a page with the
//! paper's values next to ours, a verdict for each claim of `reference/claims.csv`, figures and
//! notes. `dolejs.rs` is a short example. Values that the catalogue flags as suspect, wrong or
//! mistyped are never compared (R162).
//!
//! # Modules
//!
//! The experiments of the five papers, one function each, which fills a `Page`: rows next to the
//! printed values, verdicts, figures and notes. `documents` has the schema of their JSON.
//!
//! What is data is in `reference/`: printed values, claims with the accepted ranges, and what was
//! fitted to what; `live` repeats experiments on this host.

mod backoff;
mod basis;
mod beside;
mod bucket;
mod buses;
#[cfg(test)]
mod calibrated;
mod deadline;
pub mod documents;
mod dolejs;
mod echo;
mod fit;
pub mod fitted;
mod flat;
mod hub;
#[cfg(test)]
mod identified;
mod judge;
mod kakanakov;
mod kweon;
#[cfg(target_os = "linux")]
mod lab;
#[cfg(target_os = "linux")]
mod live;
mod observe;
mod orte;
mod output;
mod page;
mod plant;
mod prelude;
mod prio;
pub mod reference;
mod share;
mod substation;
mod synchronization;
mod valentim;
mod volume;

use std::fmt::Write as _;

use thiserror::Error;

use page::{Outcome, Page};
use reference::Experiment;
use rtether::report::markup::Markup;
use rtether::run::Progress;

pub use basis::Basis;
pub use beside::{Beside, SideBySide};
pub use judge::{Judgement, Status};
pub use kweon::laws;
pub use output::{Reproductions, html, verdict_table};

/// Results of an experiment.
#[derive(Clone, Debug)]
pub struct Reproduction {
    /// Id of the experiment.
    pub id: &'static str,
    /// One-line title.
    pub title: String,
    /// `sim`, `analysis` or `live`.
    pub mode: &'static str,
    /// The paper's values next to ours.
    pub comparisons: Vec<Comparison>,
    /// Verdicts on claims.
    pub claims: Vec<Judgement>,
    /// Figures for the page.
    pub figures: Vec<Figure>,
    /// Notes for the reader.
    pub notes: Vec<String>,
}

/// A value of the paper next to ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// What is compared.
    pub quantity: String,
    /// The paper's value.
    pub paper: String,
    /// Our value.
    pub ours: String,
    /// Paper and place.
    pub source: String,
}

/// A figure with its caption.
#[derive(Clone, Debug)]
pub struct Figure {
    /// Caption.
    pub caption: String,
    /// The drawing.
    pub drawing: Markup,
}

/// Why an experiment cannot be repeated.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ReproduceError {
    /// There is no such experiment.
    #[error("no experiment named `{id}`{}", did_you_mean(.suggestion.as_deref()))]
    Unknown {
        /// The requested id.
        id: String,
        /// A similar id.
        suggestion: Option<String>,
    },
    /// The experiment is not available in this mode or version.
    #[error("`{id}` cannot be repeated yet: {needs}")]
    NotYet {
        /// Its id.
        id: String,
        /// What it needs.
        needs: &'static str,
    },
    /// This machine cannot run the measurement.
    #[error("{0}")]
    Machine(String),
    /// The run was interrupted.
    #[error("interrupted")]
    Interrupted,
    /// A scenario of an experiment does not load or run: a defect of rtether.
    #[error("the scenario of the experiment is broken: {0}")]
    Scenario(String),
}

fn did_you_mean(suggestion: Option<&str>) -> String {
    suggestion.map_or_else(
        || "; `rtether reproduce --list` names them".to_owned(),
        |name| format!("; did you mean `{name}`?"),
    )
}

type Run = fn(&mut Page, &Progress) -> Outcome;

/// The experiments that can be simulated or computed.
const AVAILABLE: &[(&str, Run)] = &[
    ("skeie-volume", volume::run),
    ("skeie-bounds", substation::bounds::run),
    ("skeie-flat", flat::run),
    ("skeie-substation", substation::run),
    ("skeie-substation-slow", substation::run_slow),
    ("kakanakov-icmp-a", kakanakov::run),
    ("kakanakov-icmp-b", kakanakov::run),
    ("kakanakov-icmp-c", kakanakov::run),
    ("kakanakov-icmp-d", kakanakov::run),
    ("kakanakov-icmp-e", kakanakov::run),
    ("kakanakov-cndep-a", kakanakov::run),
    ("kakanakov-cndep-b", kakanakov::run),
    ("kakanakov-cndep-c", kakanakov::run),
    ("kakanakov-cndep-d", kakanakov::run),
    ("kakanakov-cndep-e", kakanakov::run),
    ("kakanakov-stack", kakanakov::stack::run),
    ("skeie-prio-baseline", prio::tables::baseline),
    ("skeie-prio-table1", prio::tables::run),
    ("skeie-prio-table2", prio::tables::run),
    ("skeie-prio-table3", prio::tables::run),
    ("skeie-prio-switch-strip", prio::strip::run),
    ("skeie-prio-taskprio", prio::tasks::run),
    ("skeie-buses", buses::run),
    ("skeie-share", share::run),
    ("skeie-sync", synchronization::run),
    ("kweon-bucket", bucket::run),
    ("kweon-deadline", deadline::run),
    ("kweon-smoothing", kweon::smoothing::run),
    ("kweon-linux-rtonly", kweon::rt_only::run),
    ("kweon-linux-nongreedy", kweon::nongreedy::run),
    ("kweon-linux-sequence", kweon::sequence::run),
    ("kweon-linux-greedy", kweon::greedy::run),
    ("kweon-linux-alternatives", kweon::alternatives::run),
    ("kweon-nt-greedy", kweon::nt::run),
    ("dolejs-backoff", backoff::run),
    ("dolejs-hub", hub::run),
    ("dolejs-sim-4nodes", dolejs::run),
    ("dolejs-orte-4nodes", orte::parts),
    ("dolejs-orte-loopback", orte::parts),
    ("dolejs-orte-repetition", orte::repetition),
    ("dolejs-orte-size", orte::size),
    ("dolejs-orte-surface", orte::surface),
    ("valentim-rtt", valentim::rtt::run),
    ("valentim-loopback", valentim::loopback::run),
    ("valentim-decomposition", valentim::decomposition::run),
    ("valentim-switch-hub", valentim::switch_hub::run),
];

/// Returns every experiment of the papers, and whether it can be repeated.
pub fn list() -> Vec<(Experiment, bool)> {
    let experiments = reference::experiments().into_iter();
    experiments
        .map(|experiment| {
            let is_available = Mode::Sim.has(&experiment.id) || Mode::Live.has(&experiment.id);
            (experiment, is_available)
        })
        .collect()
}

/// Returns the list as text.
pub fn list_text() -> String {
    let mut text =
        String::from("Success criteria are the catalogue's; only the claims are judged.\n");
    for (experiment, is_available) in list() {
        let mark = if is_available { "" } else { "  (not yet)" };
        let Experiment { id, paper, place, success, .. } = experiment;
        let _ = writeln!(text, "{id:<26} paper {paper}, {place}: {success}{mark}");
    }
    text
}

/// How an experiment is repeated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Simulated or computed.
    #[default]
    Sim,
    /// Measured on this host.
    Live,
}

impl Mode {
    /// Returns the experiments available in this mode.
    const fn available(self) -> &'static [(&'static str, Run)] {
        match self {
            Self::Sim => AVAILABLE,
            #[cfg(target_os = "linux")]
            Self::Live => live::AVAILABLE,
            #[cfg(not(target_os = "linux"))]
            Self::Live => &[],
        }
    }

    /// Returns the word for what was found in this mode.
    const fn participle(self) -> &'static str {
        match self {
            Self::Sim => "simulated",
            Self::Live => "measured",
        }
    }

    fn has(self, id: &str) -> bool {
        self.available().iter().any(|(available, _)| *available == id)
    }
}

/// Repeats one experiment in every mode in which it can be, side by side.
///
/// # Errors
/// As [`reproduce`].
pub fn reproduce_beside(id: &str, progress: &Progress) -> Result<Beside, ReproduceError> {
    let of = |mode: Mode| {
        let is_there = mode.has(id);
        is_there.then(|| reproduce(id, mode, progress)).transpose()
    };
    let (simulated, measured) = (of(Mode::Sim)?, of(Mode::Live)?);
    if let (None, None) = (&simulated, &measured) {
        find(id, Mode::Sim)?;
    }
    Ok(Beside::new(simulated, measured))
}

/// Replaces `all` by every experiment available in one of these modes.
///
/// # Errors
/// If any id does not exist, or can be repeated in none of them.
pub fn expand(ids: &[String], modes: &[Mode]) -> Result<Vec<String>, ReproduceError> {
    for id in ids.iter().filter(|id| *id != "all") {
        if !modes.iter().any(|mode| mode.has(id)) {
            find(id, modes[0])?;
        }
    }
    if !ids.iter().any(|id| id == "all") {
        return Ok(ids.to_vec());
    }
    let mut all: Vec<String> = Vec::new();
    for (id, _) in modes.iter().flat_map(|mode| mode.available()) {
        if !all.iter().any(|known| known == id) {
            all.push((*id).to_owned());
        }
    }
    Ok(all)
}

/// Repeats one experiment.
///
/// # Errors
/// If there is no such experiment, it was interrupted, or one of its scenarios is broken.
pub fn reproduce(
    id: &str,
    mode: Mode,
    progress: &Progress,
) -> Result<Reproduction, ReproduceError> {
    let (id, run) = find(id, mode)?;
    let mut page = Page::new(id, mode);
    let outcome = run(&mut page, progress);
    // What was not run to its end may look like a broken scenario.
    if progress.is_cancelled() {
        return Err(ReproduceError::Interrupted);
    }
    outcome?;
    Ok(page.finish())
}

/// Returns an experiment with the function that repeats it.
fn find(id: &str, mode: Mode) -> Result<(&'static str, Run), ReproduceError> {
    let mut available = mode.available().iter();
    if let Some(experiment) = available.find(|(available, _)| *available == id) {
        return Ok(*experiment);
    }
    let experiments = reference::experiments();
    if experiments.iter().any(|experiment| experiment.id == id) {
        return Err(ReproduceError::NotYet { id: id.to_owned(), needs: needs(id, mode) });
    }
    let similar = experiments
        .iter()
        .map(|experiment| (strsim::jaro_winkler(&experiment.id, id), &experiment.id))
        .filter(|(likeness, _)| *likeness > 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0));
    let suggestion = similar.map(|(_, id)| id.clone());
    Err(ReproduceError::Unknown { id: id.to_owned(), suggestion })
}

/// Returns why an experiment cannot be repeated in this mode.
fn needs(id: &str, mode: Mode) -> &'static str {
    if mode == Mode::Sim && Mode::Live.has(id) {
        "it has to be measured; use `--live`"
    } else if mode == Mode::Live && Mode::Sim.has(id) {
        "it is simulated only; leave out `--live`"
    } else {
        "it is not in this version"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_checked_before_anything_runs() {
        // Oracle: the contents of `experiments.csv`, and which experiments are available.
        let expand = |ids: &[&str]| {
            let ids: Vec<String> = ids.iter().map(|id| (*id).to_owned()).collect();
            super::expand(&ids, &[Mode::Sim])
        };
        assert_eq!(expand(&["all", "skeie-flat"]).map(|all| all.len()), Ok(AVAILABLE.len()));
        assert_eq!(expand(&["skeie-flat"]), Ok(vec!["skeie-flat".to_owned()]));
        let unknown = expand(&["skeie-volume", "skeie-falt"]).expect_err("is no experiment");
        assert!(unknown.to_string().contains("did you mean `skeie-flat`"), "{unknown}");
        let live = expand(&["valentim-outliers"]).expect_err("is measured");
        assert!(live.to_string().contains("has to be measured"), "{live}");
    }

    /// Oracle: the cancelled progress. Results of a part of a run must not look like a defect.
    #[test]
    fn an_interrupted_experiment_says_so() {
        let progress = Progress::default();
        progress.cancel();
        for (id, _) in AVAILABLE {
            let outcome = reproduce(id, Mode::Sim, &progress).map(drop);
            assert_eq!(outcome, Err(ReproduceError::Interrupted), "{id}");
        }
    }

    #[test]
    fn what_is_arithmetic_holds() {
        // Oracle: the catalogue's own checks of these claims.
        for (id, judged) in
            [("skeie-volume", 2), ("kweon-bucket", 1), ("kweon-deadline", 1), ("dolejs-backoff", 0)]
        {
            let found = reproduce(id, Mode::Sim, &Progress::default()).expect("can be repeated");
            let statuses: Vec<_> = found.claims.iter().map(|claim| claim.status).collect();
            assert_eq!(statuses, vec![Status::Pass; judged], "{id}");
            assert!(!found.comparisons.is_empty(), "{id}");
        }
    }
}
