//! Repeats the experiments of the five papers and judges the papers' claims.
//!
//! Each experiment is one file here: it runs scenarios, compares the paper's values with ours and
//! gives each claim of `reference/claims.csv` a verdict. Values that the catalogue flags as
//! suspect, wrong or mistyped are never compared (R162).

mod backoff;
mod basis;
mod bucket;
#[cfg(test)]
mod calibrated;
mod deadline;
mod dolejs;
mod echo;
mod fit;
pub mod fitted;
mod flat;
mod hub;
mod judge;
mod kakanakov;
mod kweon;
#[cfg(target_os = "linux")]
mod live;
mod observe;
mod orte;
mod output;
mod plant;
mod prio;
pub mod reference;
mod substation;
mod valentim;
mod volume;

use std::fmt::Write as _;

use thiserror::Error;

use judge::Judge;
use reference::Experiment;
use rtether::report::markup::Markup;
use rtether::run::Progress;

pub use basis::Basis;
pub use judge::{Judgement, Status};
pub use kweon::laws;
pub use output::{Reproductions, html, verdict_table};

/// Results of an experiment.
#[derive(Clone, Debug)]
pub struct Reproduction {
    /// Id of the experiment.
    pub id: &'static str,
    /// One-line title.
    pub title: &'static str,
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
    suggestion.map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
}

type Run = fn(&Progress) -> Result<Reproduction, ReproduceError>;

/// The experiments that can be simulated or computed, in groups.
const AVAILABLE: &[&[(&str, Run)]] = &[
    &[
        ("skeie-volume", volume::run),
        ("skeie-bounds", substation::bounds::run),
        ("skeie-flat", flat::run),
        ("skeie-substation", substation::run),
        ("skeie-substation-slow", substation::run_slow),
    ],
    &kakanakov::cells!(kakanakov::run),
    &[
        ("kakanakov-stack", kakanakov::run_stack),
        ("skeie-prio-baseline", prio::run_baseline),
        ("skeie-prio-table1", prio::run_table1),
        ("skeie-prio-table2", prio::run_table2),
        ("skeie-prio-table3", prio::run_table3),
        ("skeie-prio-switch-strip", prio::run_strip),
        ("skeie-prio-taskprio", prio::run_tasks),
        ("kweon-bucket", bucket::run),
        ("kweon-deadline", deadline::run),
        ("kweon-linux-rtonly", kweon::run_rt_only),
        ("kweon-linux-nongreedy", kweon::run_nongreedy),
        ("kweon-linux-sequence", kweon::run_sequence),
        ("kweon-linux-greedy", kweon::run_greedy),
        ("kweon-linux-alternatives", kweon::run_alternatives),
        ("kweon-nt-greedy", kweon::run_nt),
        ("dolejs-backoff", backoff::run),
        ("dolejs-hub", hub::run),
        ("dolejs-sim-4nodes", dolejs::run_four_nodes),
        ("dolejs-orte-4nodes", orte::run_four_nodes),
        ("dolejs-orte-loopback", orte::run_loopback),
        ("dolejs-orte-repetition", orte::run_repetition),
        ("dolejs-orte-size", orte::run_size),
        ("dolejs-orte-surface", orte::run_surface),
        ("valentim-rtt", valentim::run_rtt),
        ("valentim-loopback", valentim::run_loopback),
        ("valentim-decomposition", valentim::run_decomposition),
        ("valentim-switch-hub", valentim::run_switch_hub),
    ],
];

/// Returns every experiment of the papers, and whether it can be repeated.
pub fn list() -> Vec<(Experiment, bool)> {
    let modes = [Mode::Sim, Mode::Live];
    let is_available = |id: &str| {
        let mut all = modes.iter().flat_map(|mode| mode.available());
        all.any(|(available, _)| *available == id)
    };
    let experiments = reference::experiments().into_iter();
    experiments
        .map(|experiment| {
            let is_available = is_available(&experiment.id);
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
        let Experiment {
            id,
            paper,
            place,
            success,
            ..
        } = experiment;
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
    fn available(self) -> impl Iterator<Item = &'static (&'static str, Run)> {
        let groups: &[&[(&str, Run)]] = match self {
            Self::Sim => AVAILABLE,
            #[cfg(target_os = "linux")]
            Self::Live => live::AVAILABLE,
            #[cfg(not(target_os = "linux"))]
            Self::Live => &[],
        };
        groups.iter().copied().flatten()
    }
}

/// Replaces `all` by every experiment available in this mode.
///
/// # Errors
/// If any id does not exist or cannot be repeated.
pub fn expand(ids: &[String], mode: Mode) -> Result<Vec<String>, ReproduceError> {
    for id in ids.iter().filter(|id| *id != "all") {
        find(id, mode)?;
    }
    if ids.iter().any(|id| id == "all") {
        Ok(mode.available().map(|(id, _)| (*id).to_owned()).collect())
    } else {
        Ok(ids.to_vec())
    }
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
    let mut found = find(id, mode)?(progress)?;
    match mode {
        Mode::Sim => found.notes.extend(fitted::notes(id)),
        Mode::Live => {
            for claim in found
                .claims
                .iter_mut()
                .filter(|claim| claim.basis.is_some())
            {
                claim.basis = Some(Basis::Measured);
            }
        }
    }
    if progress.is_cancelled() {
        Err(ReproduceError::Interrupted)
    } else {
        Ok(found)
    }
}

/// Returns the function that repeats an experiment.
fn find(id: &str, mode: Mode) -> Result<Run, ReproduceError> {
    if let Some((_, run)) = mode.available().find(|(available, _)| *available == id) {
        return Ok(*run);
    }
    let experiments = reference::experiments();
    if experiments.iter().any(|experiment| experiment.id == id) {
        return Err(ReproduceError::NotYet {
            id: id.to_owned(),
            needs: needs(id, mode),
        });
    }
    let similar = experiments
        .iter()
        .map(|experiment| (strsim::jaro_winkler(&experiment.id, id), &experiment.id))
        .filter(|(likeness, _)| *likeness > 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0));
    let suggestion = similar.map(|(_, id)| id.clone());
    Err(ReproduceError::Unknown {
        id: id.to_owned(),
        suggestion,
    })
}

/// Returns why an experiment cannot be repeated in this mode.
fn needs(id: &str, mode: Mode) -> &'static str {
    let has = |mode: Mode| mode.available().any(|(available, _)| *available == id);
    if mode == Mode::Sim && has(Mode::Live) {
        "it has to be measured; use `--live`"
    } else if mode == Mode::Live && has(Mode::Sim) {
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
            super::expand(&ids, Mode::Sim)
        };
        assert_eq!(
            expand(&["all", "skeie-flat"]).map(|all| all.len()),
            Ok(Mode::Sim.available().count())
        );
        assert_eq!(expand(&["skeie-flat"]), Ok(vec!["skeie-flat".to_owned()]));
        let unknown = expand(&["skeie-volume", "skeie-falt"]).expect_err("is no experiment");
        assert!(
            unknown.to_string().contains("did you mean `skeie-flat`"),
            "{unknown}"
        );
        let live = expand(&["valentim-outliers"]).expect_err("is measured");
        assert!(live.to_string().contains("has to be measured"), "{live}");
    }

    #[test]
    fn what_is_arithmetic_holds() {
        // Oracle: the catalogue's own checks of these claims.
        for (id, judged) in [
            ("skeie-volume", 2),
            ("kweon-bucket", 1),
            ("kweon-deadline", 1),
            ("dolejs-backoff", 0),
        ] {
            let found = reproduce(id, Mode::Sim, &Progress::default()).expect("can be repeated");
            let statuses: Vec<_> = found.claims.iter().map(|claim| claim.status).collect();
            assert_eq!(statuses, vec![Status::Pass; judged], "{id}");
            assert!(!found.comparisons.is_empty(), "{id}");
        }
    }
}
