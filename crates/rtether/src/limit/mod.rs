//! The input limit of a whole network: how much other traffic the real-time flows tolerate (R24,
//! R25).
//!
//! [`find`] scales the load of chosen flows and simulates, in two stages. The *search* halves the
//! interval between a load that passes and one that does not, always with the same seeds. It looks
//! often, and chance passes one look in twenty, so that it certifies nothing. The *certification*
//! has fresh seeds and a ladder of loads that the search has fixed: it climbs from a little below
//! what the search found, and stops at the first rung that does not pass.
//!
//! **The confidence holds over the whole search.** Let the true miss ratio grow with the load. The
//! rungs do not depend on the fresh seeds. A load above the true limit is certified only if the first
//! rung above the true limit passes, and one test with the stated confidence decides about that
//! rung: a sequence of tests in a fixed order needs no correction (Maurer, Hothorn and Lehmacher 1995).
//! A load passes only if all flows pass, which needs none either (Berger 1982).
//!
//! For a shared medium the result includes the closed form of the worst case of N trials. Source:
//! 002 Kweon 1 and 2 (catalogue 3a, W4).

mod access;
mod output;
mod search;
mod split;

use rtether_model::flow::{Flow, FlowId};
use rtether_model::quantity::Duration;
use rtether_sim::BuildError;

pub use access::{Access, analyze};
pub(crate) use output::LimitJson;
pub use output::{Answer, html, summary};
pub use split::{DEPTH, Share, Station};

use crate::load;
use crate::run::Progress;
use crate::scenario::{Requirement, Scenario};
use crate::words::Conclusion;

/// Parameters of the search.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// Flows whose load is scaled: name, class or a pattern with `*`; `None` for all without a
    /// deadline.
    pub flows: Option<String>,
    /// Largest ratio of late or lost packets of each flow with a deadline.
    pub miss_ratio: f64,
    /// Confidence of the result, for example 0.95; one-sided.
    pub confidence: f64,
    /// Largest distance between a load that passes and one that fails, as a share of the latter.
    pub tolerance: f64,
}

/// Why the search is not possible.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LimitError {
    /// No flow has a deadline.
    #[error(
        "no flow of this scenario has a deadline, so none can be missed; give the flows that \
         matter a `deadline`"
    )]
    NoDeadline,
    /// The pattern matches no flow.
    #[error("no flow or class matches `{pattern}`; known are {names}")]
    NoMatch {
        /// The pattern.
        pattern: String,
        /// The names that exist.
        names: String,
    },
    /// All flows have deadlines.
    #[error(
        "every flow has a deadline, so there is no other traffic to scale; name the flows to \
         scale with `--flows`"
    )]
    NothingToScale,
    /// The network decides how much a flow sends.
    #[error(
        "the load of flow `{flow}` cannot be scaled: {reason}, or choose others with `--flows`"
    )]
    NotScalable {
        /// Name of the flow.
        flow: String,
        /// Why, and what to change.
        reason: &'static str,
    },
    /// The simulator refuses the plant.
    #[error(transparent)]
    Build(#[from] BuildError),
}

/// One simulated load.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// Load relative to the present one.
    pub factor: f64,
    /// Load of the chosen flows in bits per second on the wire.
    pub load_bps: f64,
    /// Delivered payload of the chosen flows in bits per second.
    pub throughput_bps: f64,
    /// Utilization of the busiest port or shared medium.
    pub utilization: f64,
    /// The flow with a deadline that has the worst result.
    pub worst: Misses,
    /// Verdict on this load.
    pub verdict: TrialVerdict,
    /// The stage it belongs to.
    pub stage: Stage,
}

/// Stage of the search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Looks for the limit, with the seeds of the scenario.
    Search,
    /// Certifies a load, with the seeds that follow.
    Certification,
}

impl Stage {
    /// Returns the word used in tables and files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Search => "search",
            Self::Certification => "certify",
        }
    }
}

/// Misses of one flow over all listeners and runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Misses {
    /// The flow.
    pub flow: FlowId,
    /// Packets late or lost.
    pub missed: u64,
    /// Packets released.
    pub released: u64,
    /// Upper limit of the miss ratio with the stated confidence; `None` if the runs do not tell it.
    pub upper: Option<f64>,
}

/// Verdict on one load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrialVerdict {
    /// The target holds for every flow.
    Pass,
    /// Some flow exceeds the target with the stated confidence.
    Fail,
    /// Neither is shown.
    Open,
    /// Even without a miss neither would be shown.
    TooFew,
}

impl TrialVerdict {
    /// Returns the word used in tables and files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Open => "not shown",
            Self::TooFew => "too few packets",
        }
    }
}

/// How the search ended; indices refer to [`Limit::trials`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The limit lies between two loads.
    Found {
        /// The highest load that is certified.
        passing: usize,
        /// The lowest load that does not pass.
        failing: usize,
    },
    /// Every load passes, even one above the capacity of the stations.
    Unlimited {
        /// The highest load that was tried.
        passing: usize,
    },
    /// Every load fails, even a minimal one: deadlines are missed without the scaled flows.
    Never,
    /// The runs are too few or too short to show the target.
    TooFew {
        /// Number of runs to try next; `None` if a flow released nothing.
        runs: Option<u64>,
    },
    /// The runs begin with a transient that is not over at the end of the warm-up.
    Unsettled,
    /// The search was interrupted.
    Interrupted,
}

/// Result of the search.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    /// The parameters.
    pub question: Question,
    /// Flows whose load was scaled.
    pub flows: Vec<FlowId>,
    /// Their load in the unchanged scenario, in bits per second on the wire.
    pub present_bps: f64,
    /// Loads in the order in which they were simulated.
    pub trials: Vec<Trial>,
    /// How the search ended.
    pub end: End,
    /// The limit split among the sending stations; empty without a limit.
    pub stations: Vec<Station>,
    /// Closed forms of the collision domains with deadlines.
    pub access: Vec<Access>,
}

impl Limit {
    /// Returns the highest load that is certified.
    pub fn passing(&self) -> Option<&Trial> {
        match self.end {
            End::Found { passing, .. } | End::Unlimited { passing } => self.trials.get(passing),
            End::Never | End::TooFew { .. } | End::Unsettled | End::Interrupted => None,
        }
    }

    /// Returns the lowest load that does not pass.
    pub fn failing(&self) -> Option<&Trial> {
        match self.end {
            End::Found { failing, .. } => self.trials.get(failing),
            End::Unlimited { .. }
            | End::Never
            | End::TooFew { .. }
            | End::Unsettled
            | End::Interrupted => None,
        }
    }

    /// Returns whether the present load is within the limit.
    pub fn conclusion(&self) -> Conclusion {
        match (self.end, self.present()) {
            (End::Interrupted, _) => Conclusion::Interrupted,
            (End::TooFew { .. } | End::Unsettled, _) => Conclusion::NoAnswer,
            (_, TrialVerdict::Pass) => Conclusion::meets(Some(true)),
            (_, TrialVerdict::Fail) => Conclusion::Failed,
            (_, TrialVerdict::Open | TrialVerdict::TooFew) => Conclusion::NoAnswer,
        }
    }

    /// Returns the verdict on the unchanged load of the scenario: it passes only if it or a higher
    /// one is certified.
    pub fn present(&self) -> TrialVerdict {
        if self.passing().is_some_and(|trial| trial.factor >= 1.0) {
            return TrialVerdict::Pass;
        }
        match self.trials.first().map(|trial| trial.verdict) {
            Some(TrialVerdict::Fail) => TrialVerdict::Fail,
            // What only the search has passed is not certified.
            Some(TrialVerdict::Pass | TrialVerdict::Open) => TrialVerdict::Open,
            Some(TrialVerdict::TooFew) | None => TrialVerdict::TooFew,
        }
    }
}

/// Searches for the limit.
pub fn find(
    scenario: &Scenario,
    question: &Question,
    progress: &Progress,
) -> Result<Limit, LimitError> {
    let flows = choose(scenario, question)?;
    let found = search::run(scenario, question, &flows, progress)?;
    let mut limit = Limit {
        question: question.clone(),
        present_bps: load::total_bps(scenario, &flows),
        flows,
        trials: found.trials,
        end: found.end,
        stations: Vec::new(),
        access: Vec::new(),
    };
    if let Some(trial) = limit.passing() {
        limit.stations = split::stations(scenario, &limit.flows, trial.factor);
    }
    if let Some(record) = &found.record {
        limit.access = access::analyze(scenario, record);
    }
    Ok(limit)
}

/// Returns the flows to scale.
fn choose(scenario: &Scenario, question: &Question) -> Result<Vec<FlowId>, LimitError> {
    if scenario.flows.iter().all(|flow| flow.deadline.is_none()) {
        return Err(LimitError::NoDeadline);
    }
    let is_chosen: Box<dyn Fn(&Flow) -> bool> = match &question.flows {
        None => Box::new(|flow| flow.deadline.is_none()),
        Some(pattern) => {
            let pattern = Requirement { flow: pattern.clone(), ..Requirement::default_for_all() };
            Box::new(move |flow| pattern.matches(flow))
        }
    };
    let numbered = (0u32..).map(FlowId).zip(&scenario.flows);
    let chosen: Vec<(FlowId, &Flow)> = numbered.filter(|(_, flow)| is_chosen(flow)).collect();
    if chosen.is_empty() {
        return Err(match &question.flows {
            None => LimitError::NothingToScale,
            Some(pattern) => {
                LimitError::NoMatch { pattern: pattern.clone(), names: names(scenario) }
            }
        });
    }
    for (_, flow) in &chosen {
        if let Err(reason) = load::scaled(flow, 1.0) {
            return Err(LimitError::NotScalable { flow: flow.name.clone(), reason });
        }
    }
    Ok(chosen.into_iter().map(|(id, _)| id).collect())
}

/// Largest number of flows named in a message.
const NAMED: usize = 8;

fn names(scenario: &Scenario) -> String {
    let quoted = |flow: &Flow| format!("`{}`", flow.name);
    let some: Vec<String> = scenario.flows.iter().take(NAMED).map(quoted).collect();
    match scenario.flows.len().saturating_sub(NAMED) {
        0 => some.join(", "),
        more => format!("{} and {more} more", some.join(", ")),
    }
}

/// Returns the smallest deadline with its flow.
fn smallest_deadline<'a>(
    flows: impl Iterator<Item = (FlowId, &'a Flow)>,
) -> Option<(Duration, FlowId)> {
    flows.filter_map(|(id, flow)| Some((flow.deadline?, id))).min()
}

#[cfg(test)]
mod tests;
