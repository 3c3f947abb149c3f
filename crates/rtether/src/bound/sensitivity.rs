//! Finds the single change that lowers the bound of a stream most.
//!
//! The trials are: a processor twice as fast for every stack on its path, ten times the rate for
//! every link, the next higher priority for its flow, and the next lower one for each flow that may
//! go before it. Each trial changes the plant, updates the bounds, and reverts the change.

mod candidates;
mod edit;
mod output;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rtether_bounds::{Analyzer, Changes, Reason, StreamBound};
use rtether_model::flow::FlowId;
use rtether_model::network::NodeId;
use rtether_model::quantity::Duration;

use super::reason;
use crate::run::Progress;
use crate::scenario::{Override, Scenario, Written};
pub(crate) use candidates::{Candidate, faster};
pub(crate) use edit::made;
pub(crate) use output::SensitivityJson;

/// Progress of the trials, shared with a caller that may also cancel them.
#[derive(Debug, Default)]
pub struct Steps {
    done: AtomicUsize,
    total: AtomicUsize,
    is_cancelled: AtomicBool,
    /// What the trials are a part of.
    whole: Option<Arc<Progress>>,
}

impl Steps {
    /// Returns those of a part of something larger, which cancels them, too.
    pub(crate) fn within(whole: Arc<Progress>) -> Self {
        Self { whole: Some(whole), ..Self::default() }
    }

    /// Returns the number of trials done and their total number.
    pub fn position(&self) -> (usize, usize) {
        let total = self.total.load(Ordering::Relaxed);
        (self.done.load(Ordering::Relaxed), total)
    }

    /// Cancels after the current trial; trials done so far count.
    pub fn cancel(&self) {
        self.is_cancelled.store(true, Ordering::Relaxed);
    }

    /// Returns whether the search was canceled.
    pub fn is_cancelled(&self) -> bool {
        let whole = self.whole.as_deref();
        self.is_cancelled.load(Ordering::Relaxed) || whole.is_some_and(Progress::is_cancelled)
    }
}

/// Effect of single changes on the bound of one stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sensitivity {
    /// Name of the scenario.
    pub scenario: String,
    /// Name of the flow.
    pub flow: String,
    /// Name of its talker.
    pub talker: String,
    /// Name of the listener.
    pub listener: String,
    /// Bound without any change.
    pub bound: Duration,
    /// The deadline of the flow.
    pub deadline: Option<Duration>,
    /// The trials, largest gain first.
    pub trials: Vec<Trial>,
    /// Whether the trials were interrupted, so that some are missing.
    pub partial: bool,
    /// Changes after which stations at a hub would have other turns, which are not tried: their effect
    /// is that of an edited file.
    pub untried: usize,
}

/// One change and its effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trial {
    /// The change in words.
    pub change: String,
    /// Bound after the change; `None` if the stream no longer has one.
    pub bound: Option<Duration>,
    /// By how much the bound falls; negative if it grows.
    pub gain: Option<Duration>,
    /// Other streams that met their deadlines before and would not afterwards.
    pub others_late: usize,
    /// The edit of the scenario file that makes the change, if a single value does and it was
    /// looked for.
    pub edit: Option<Override>,
    pub(crate) candidate: Candidate,
}

impl Trial {
    /// Returns whether the bound falls.
    pub fn gains(&self) -> bool {
        self.gain.is_some_and(|gain| gain > Duration::ZERO)
    }
}

impl Sensitivity {
    /// Most trials for which an edit is looked for; each reads the file again.
    const EDITS: usize = 20;

    /// Looks for the edits of the file that make the best changes. Where more follows from an edit, such
    /// as other parts of deadlines, the figures become those of the edited file.
    pub fn find_edits(&mut self, scenario: &Scenario, written: &Written) {
        let mut flows = (0u32..).zip(&scenario.flows);
        let flow = flows.find(|(_, own)| own.name == self.flow);
        let listener = scenario.network.find(&self.listener);
        let Some((flow, listener)) = flow.map(|(id, _)| FlowId(id)).zip(listener) else {
            return;
        };
        let before = self.bound;
        let best = self.trials.iter_mut().filter(|trial| trial.gains());
        for trial in best.take(Self::EDITS) {
            let Some((edit, read)) = made(trial.candidate, scenario, written) else {
                continue;
            };
            trial.edit = Some(edit);
            let changed = trial.candidate.changed(scenario);
            if (&read.network, &read.flows) != (&changed.network, &changed.flows) {
                trial.read_again(scenario, &read, ((flow, listener), before));
            }
        }
        self.trials.sort_by_key(|trial| std::cmp::Reverse(trial.gain));
    }
}

impl Trial {
    /// Takes the figures of the edited file.
    fn read_again(
        &mut self,
        scenario: &Scenario,
        read: &Scenario,
        (own, before): (Ends, Duration),
    ) {
        let [old, new] =
            [scenario, read].map(|of| Analyzer::new(of.network.clone(), of.flows.clone()));
        self.bound = joined(&new, own).ok();
        self.gain = self.bound.map(|bound| before - bound);
        let all: BTreeSet<Ends> = new.streams().iter().map(ends).collect();
        let late = all.into_iter().filter(|one| {
            let was_in_time = *one != own && is_in_time(scenario, &old, *one);
            was_in_time && !is_in_time(read, &new, *one)
        });
        self.others_late = late.count();
    }
}

/// Why there are no trials.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SensitivityError {
    /// The flow does not exist.
    #[error("no flow is named `{name}`; {help}")]
    NoFlow {
        /// The name requested.
        name: String,
        /// The nearest name, or advice.
        help: String,
    },
    /// The stream has no bound that a change could lower.
    #[error("`{flow}` to {listener} has no bound: {reason}")]
    NoBound {
        /// Name of the flow.
        flow: String,
        /// Name of the listener.
        listener: String,
        /// Why, with the names of the scenario.
        reason: String,
    },
    /// No stream has a bound.
    #[error("no stream of this scenario has a bound; `rtether bound` says why")]
    Nothing,
}

/// Tries single changes for the stream with the least slack, of all streams or of the flow named.
///
/// If no flow has a deadline, takes the stream with the largest bound.
pub fn sensitivity(
    scenario: &Scenario,
    flow: Option<&str>,
    steps: &Steps,
) -> Result<Sensitivity, SensitivityError> {
    Ok(Search::new(scenario, flow)?.run(steps))
}

/// A search that has not begun.
///
/// In two networks the analyzer has a stream for each copy; the bound of what is delivered is the
/// largest of theirs.
pub(crate) struct Search<'a> {
    scenario: &'a Scenario,
    analyzer: Analyzer,
    own: Ends,
    bound: Duration,
    candidates: Vec<Candidate>,
    untried: usize,
    /// Streams that met their deadlines before.
    in_time: BTreeSet<Ends>,
}

/// The flow of a stream and its listener.
type Ends = (FlowId, NodeId);

impl<'a> Search<'a> {
    fn new(scenario: &'a Scenario, flow: Option<&str>) -> Result<Self, SensitivityError> {
        let analyzer = Analyzer::new(scenario.network.clone(), scenario.flows.clone());
        let index = choose(scenario, analyzer.streams(), flow)?;
        let stream = &analyzer.streams()[index];
        let own = ends(stream);
        match joined(&analyzer, own) {
            Ok(bound) => {
                let all = Candidate::all(scenario, stream).into_iter();
                let (planned, kept): (Vec<_>, _) =
                    all.partition(|candidate| candidate.changes_turns(scenario));
                Ok(Self {
                    untried: planned.len(),
                    ..Self::begin(scenario, analyzer, (own, bound), kept)
                })
            }
            Err(why) => Err(SensitivityError::NoBound {
                flow: scenario.flows[stream.flow.index()].name.clone(),
                listener: scenario.network.node(stream.listener).name.clone(),
                reason: reason(scenario, why),
            }),
        }
    }

    /// Returns a search for one stream among these changes; `None` if it has no bound.
    pub(crate) fn at(
        scenario: &'a Scenario,
        stream: &StreamBound,
        candidates: Vec<Candidate>,
    ) -> Option<Self> {
        let analyzer = Analyzer::new(scenario.network.clone(), scenario.flows.clone());
        let own = ends(stream);
        let bound = joined(&analyzer, own).ok()?;
        Some(Self::begin(scenario, analyzer, (own, bound), candidates))
    }

    fn begin(
        scenario: &'a Scenario,
        analyzer: Analyzer,
        (own, bound): (Ends, Duration),
        candidates: Vec<Candidate>,
    ) -> Self {
        let all: BTreeSet<Ends> = analyzer.streams().iter().map(ends).collect();
        let all = all.into_iter();
        let in_time = all.filter(|one| is_in_time(scenario, &analyzer, *one));
        Self { scenario, own, bound, candidates, untried: 0, in_time: in_time.collect(), analyzer }
    }

    /// Returns how many changes there are to try.
    const fn len(&self) -> usize {
        self.candidates.len()
    }

    pub(crate) fn run(mut self, steps: &Steps) -> Sensitivity {
        steps.total.store(self.len(), Ordering::Relaxed);
        let mut trials = Vec::new();
        for candidate in self.candidates.clone() {
            if steps.is_cancelled() {
                break;
            }
            trials.push(self.attempt(candidate));
            steps.done.fetch_add(1, Ordering::Relaxed);
        }
        let partial = trials.len() < self.len();
        trials.sort_by_key(|trial| std::cmp::Reverse(trial.gain));
        let (flow, listener) = self.own;
        let own = &self.scenario.flows[flow.index()];
        let name = |node| self.scenario.network.node(node).name.clone();
        Sensitivity {
            scenario: self.scenario.name.clone(),
            flow: own.name.clone(),
            talker: name(own.talker),
            listener: name(listener),
            bound: self.bound,
            deadline: own.deadline,
            trials,
            partial,
            untried: self.untried,
        }
    }

    /// Applies a change, reads the bound of the stream, and reverts the change.
    fn attempt(&mut self, candidate: Candidate) -> Trial {
        let changes = candidate.apply(self.scenario, &mut self.analyzer);
        let bound = joined(&self.analyzer, self.own).ok();
        let others_late = self.late(&changes);
        candidate.take_back(self.scenario, &mut self.analyzer);
        Trial {
            change: candidate.words(self.scenario),
            bound,
            gain: bound.map(|bound| self.bound - bound),
            others_late,
            edit: None,
            candidate,
        }
    }

    /// Counts the other streams whose deadline was met before the change and is not now.
    fn late(&self, changes: &Changes) -> usize {
        let after = changes.streams.iter();
        let after = after.filter_map(|change| change.after.as_ref());
        let changed: BTreeSet<Ends> = after.map(ends).collect();
        let late = changed.into_iter().filter(|one| {
            let was_in_time = *one != self.own && self.in_time.contains(one);
            was_in_time && !is_in_time(self.scenario, &self.analyzer, *one)
        });
        late.count()
    }
}

const fn ends(stream: &StreamBound) -> Ends {
    (stream.flow, stream.listener)
}

/// Returns the bound of what is delivered, whichever copy it is.
fn joined(analyzer: &Analyzer, own: Ends) -> Result<Duration, &Reason> {
    let streams = analyzer.streams();
    // They are in the order of the flows.
    let first = streams.partition_point(|one| one.flow < own.0);
    let of_flow = streams[first..].iter().take_while(|one| one.flow == own.0);
    let mut copies = of_flow.filter(|one| one.listener == own.1);
    copies.try_fold(Duration::ZERO, |largest, copy| {
        let bound = copy.bound.as_ref()?;
        Ok(largest.max(bound.latency))
    })
}

fn is_in_time(scenario: &Scenario, analyzer: &Analyzer, own: Ends) -> bool {
    let deadline = scenario.flows[own.0.index()].deadline;
    let bound = joined(analyzer, own).ok();
    bound.zip(deadline).is_some_and(|(bound, deadline)| bound <= deadline)
}

/// Returns the position of the stream with the least slack, of all streams or of one flow.
fn choose(
    scenario: &Scenario,
    streams: &[StreamBound],
    flow: Option<&str>,
) -> Result<usize, SensitivityError> {
    let chosen = flow.map(|name| find_flow(scenario, name)).transpose()?;
    let is_chosen = |stream: &StreamBound| chosen.is_none_or(|flow| stream.flow == flow);
    let bounded = streams.iter().enumerate().filter(|(_, s)| is_chosen(s));
    // Streams with a deadline first, by slack; then by bound.
    let urgency = |stream: &StreamBound| {
        let bound = stream.bound.as_ref().ok()?;
        let slack = bound.slack.map_or(i64::MAX, Duration::as_ps);
        Some((slack, std::cmp::Reverse(bound.latency)))
    };
    let least = bounded.clone().filter_map(|(index, stream)| Some((urgency(stream)?, index))).min();
    match (least, chosen) {
        (Some((_, index)), _) => Ok(index),
        // For a flow requested by name, the caller reports the reason.
        (None, Some(_)) => bounded.map(|(index, _)| index).next().ok_or(SensitivityError::Nothing),
        (None, None) => Err(SensitivityError::Nothing),
    }
}

fn find_flow(scenario: &Scenario, name: &str) -> Result<FlowId, SensitivityError> {
    let mut flows = (0u32..).zip(&scenario.flows);
    if let Some((index, _)) = flows.find(|(_, flow)| flow.name == name) {
        return Ok(FlowId(index));
    }
    let names = scenario.flows.iter().map(|flow| flow.name.as_str());
    let near = crate::scenario::nearest_name(name, names);
    Err(SensitivityError::NoFlow {
        name: name.to_owned(),
        help: near.map_or_else(
            || "`rtether bound` lists them".to_owned(),
            |near| format!("did you mean `{near}`?"),
        ),
    })
}
