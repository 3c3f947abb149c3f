//! Why a deadline cannot be proved: a set of flows and costs that prevents it, from which none can be
//! left out.
//!
//! A set prevents the deadline if no design proves it in the plant that has these flows and costs
//! and no others: all other flows are left out, all other costs are the least (`burden`). A deadline
//! that can be proved, but not by the best design of all deadlines, is in the way of others: then
//! what is looked for prevents it together with those that are proved there, of flows in the set.
//!
//! It begins with all, and takes away all of a kind, halves, quarters and single ones as long as what is left prevents
//! the deadline. Neither bounds nor searches follow from smaller sets to larger ones, so that single
//! ones are tried again until none can be taken away from the same set.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::mem::discriminant;
use std::ops::Range;

use rtether_bounds::Analysis;
use rtether_model::quantity::Duration;

use super::burden::Burden;
use super::obstacle::obstacles;
use super::part::{Remainder, Subject, Target};
use super::progress::Progress;
use super::readings::Readings;
use super::trial::{Goal, Halt, Judged, goals, goals_of, name, names};
use super::{Edit, MOST_EFFORT, Question, Work, usual_trials};
use crate::bound;
use crate::scenario::{Override, Scenario, Written};
use crate::touching::condition_of;
use crate::words::Conclusion;

/// Most designs that are searched through for each set, if the caller does not say.
const MOST_TRIALS: usize = 250;
/// Most streams times designs that are tried then, but some in any case.
const EFFORT: usize = MOST_EFFORT / 16;
const LEAST_TRIALS: usize = 40;
/// Most flows and costs in the sets that are remembered: 64 MB.
const MOST_KNOWN: usize = 4_000_000;

/// A flow or a cost without which the deadline can be proved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// `flow` or `cost`.
    pub kind: &'static str,
    /// The flow, or what costs: `receive of drive1`.
    pub name: String,
    /// Talker and listeners of the flow, or how much it is, with its unit.
    pub now: String,
    /// The deadline of the flow, if it is to be proved, too.
    pub deadline: Option<Duration>,
    /// The bound with the edits if this one is left out; `None` if the search was ended before.
    pub bound: Option<Duration>,
    /// Edits that prove the deadline if this one is left out.
    pub edits: Vec<Edit>,
}

/// What is known of the deadline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Certainty {
    /// A design proves it.
    Provable,
    /// A condition fails that every design has to meet: why, in words.
    Condition(String),
    /// None of this many designs proves it with these flows and costs, and there are no others.
    All(usize),
    /// No design was found that proves it with these flows and costs.
    NotFound,
    /// The user ended it: what is named prevents it, but not all of it need be needed.
    Interrupted,
}

/// Why a deadline is not proved, or the edits that prove it.
#[derive(Clone, Debug)]
pub struct Explained {
    /// Title of the scenario.
    pub scenario: String,
    /// The flow, and its listener if one was asked for.
    pub stream: String,
    /// Its deadline.
    pub deadline: Duration,
    /// What is known.
    pub certainty: Certainty,
    /// What a proof rests on: ` if 3 assumptions hold`, or nothing.
    pub condition: String,
    /// Whether a design proves it, but none was found that proves the deadlines of the flows among the
    /// causes, too.
    pub is_alone: bool,
    /// The flows and costs that prevent it; empty if it is proved, or late by itself.
    pub causes: Vec<Cause>,
    /// How many flows and costs there are besides the flow.
    pub burdens: usize,
    /// Edits that prove it, if it can be proved: together with all others, unless there are causes.
    pub edits: Vec<Edit>,
    /// Its bound with these edits, or the least that was found with the causes alone; `None` if there is
    /// none.
    pub bound: Option<Duration>,
    /// Deadlines of the whole plant that are proved with these edits, and how many there are.
    pub proved: [usize; 2],
    /// Designs that were tried.
    pub trials: usize,
}

/// Why nothing is explained.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExplainError {
    /// There is no such flow or listener; the nearest name, or advice.
    #[error("{0}")]
    Unknown(String),
    /// Nothing is to be proved.
    #[error("`{0}` has no deadline, so there is nothing to prove; `deadline` gives it one")]
    NoDeadline(String),
}

impl Explained {
    /// Returns the verdict: failed only if no design can prove it.
    pub const fn conclusion(&self) -> Conclusion {
        match self.certainty {
            Certainty::Provable => Conclusion::Met,
            Certainty::Condition(_) | Certainty::All(_) => Conclusion::Failed,
            Certainty::NotFound => Conclusion::NoAnswer,
            Certainty::Interrupted => Conclusion::Interrupted,
        }
    }
}

/// Searches for flows and costs that prevent a deadline, on the threads of the current rayon pool;
/// `name` is a flow, or `FLOW to LISTENER`. `question` limits the designs of each set of them.
///
/// # Errors
/// If there is no such flow or listener, or the flow has no deadline.
pub fn explain(
    scenario: &Scenario,
    written: &Written,
    name: &str,
    question: Question,
    progress: &Progress,
) -> Result<Explained, ExplainError> {
    let target = Target::named(scenario, name).map_err(ExplainError::Unknown)?;
    let stream = target.name(scenario);
    let deadline = scenario.flows[target.flow.index()].deadline;
    let deadline = deadline.ok_or_else(|| ExplainError::NoDeadline(stream.clone()))?;
    let all = Burden::all(scenario, target.flow);
    let mut explainer = Explainer {
        scenario,
        written,
        target,
        others: BTreeSet::new(),
        question,
        progress,
        all,
        known: BTreeMap::new(),
    };
    let mut explained = Explained {
        scenario: scenario.name.clone(),
        stream,
        deadline,
        certainty: Certainty::Interrupted,
        condition: condition_of(scenario),
        is_alone: false,
        causes: Vec::new(),
        burdens: explainer.all.len(),
        edits: Vec::new(),
        bound: None,
        proved: [0; 2],
        trials: 0,
    };
    // What is known when it is ended is told.
    let ended = explainer.fill(&mut explained);
    debug_assert_ne!(ended, Err(Halt::Spent));
    explained.trials = progress.trials();
    Ok(explained)
}

/// A search for what prevents a deadline.
struct Explainer<'a> {
    scenario: &'a Scenario,
    written: &'a Written,
    target: Target,
    /// Names of other flows whose deadlines are to be proved, too.
    others: BTreeSet<String>,
    question: Question,
    progress: &'a Progress,
    all: Vec<Burden>,
    /// What was found of sets of burdens.
    known: BTreeMap<Vec<Burden>, Tried>,
}

/// What was found of a set of burdens.
#[derive(Clone, Debug)]
struct Tried {
    certainty: Certainty,
    /// Edits of the best design.
    best: Vec<Override>,
}

impl Explainer<'_> {
    fn fill(&mut self, explained: &mut Explained) -> Result<(), Halt> {
        let mut kept = self.all.clone();
        if self.is_provable(&kept)? {
            self.prove(explained, &kept)?;
            if self.is_proved_with_others(explained, &kept)? {
                explained.certainty = Certainty::Provable;
                return Ok(());
            }
            explained.is_alone = true;
        }
        let reduced = self.reduce(&mut kept);
        explained.causes = kept.iter().map(|own| self.cause(*own)).collect();
        reduced?;
        for (number, cause) in explained.causes.iter_mut().enumerate() {
            let mut others = kept.clone();
            others.remove(number);
            (cause.edits, cause.bound) = self.designed(&others)?;
        }
        let tried = self.tried(&kept)?.clone();
        if !explained.is_alone {
            explained.bound = Left::new(self, &kept).bound(self, &tried.best);
        }
        explained.certainty = tried.certainty;
        Ok(())
    }

    /// Adds the fewest edits that prove what is asked for with these burdens.
    fn prove(&self, explained: &mut Explained, kept: &[Burden]) -> Result<(), Halt> {
        (explained.edits, explained.bound) = self.designed(kept)?;
        explained.proved = self.counts(&explained.edits);
        Ok(())
    }

    /// Returns whether a design was found that proves a deadline together with all others that the best one
    /// proves. If not, those are the others from now on.
    fn is_proved_with_others(
        &mut self,
        explained: &mut Explained,
        all: &[Burden],
    ) -> Result<bool, Halt> {
        if explained.proved[0] == explained.proved[1] {
            return Ok(true);
        }
        self.known.clear();
        self.others = self.scenario.flows.iter().map(|flow| flow.name.clone()).collect();
        let left = Left::new(self, all);
        let (_, found, _) = left.work(self).most(&Judged::new(&left.goals));
        if self.progress.is_cancelled() {
            return Err(Halt::Interrupted);
        }
        // All listeners of a flow count.
        let flows = left.flow_names().zip(&found.judged.proved);
        let late: BTreeSet<&str> =
            flows.filter(|(_, is_proved)| !**is_proved).map(|(flow, _)| flow).collect();
        self.others.retain(|flow| !late.contains(flow.as_str()));
        let is_proved = self.is_provable(all)?;
        if is_proved {
            self.prove(explained, all)?;
        }
        Ok(is_proved)
    }

    /// Takes away what is not needed to prevent the deadline, until nothing can be.
    fn reduce(&mut self, kept: &mut Vec<Burden>) -> Result<(), Halt> {
        self.take_away(kept, 0..kept.len())?;
        // All of a kind first: in a plant with its memories, but without its costs, files fill them.
        let mut at = 0;
        while at < kept.len() {
            let kind = discriminant(&kept[at]);
            let count = kept[at..].iter().take_while(|own| discriminant(*own) == kind).count();
            if !self.take_away(kept, at..at + count)? {
                at += count;
            }
        }
        let mut size = kept.len();
        loop {
            let before = kept.len();
            let mut at = 0;
            while at < kept.len() {
                let end = kept.len().min(at + size);
                if !self.take_away(kept, at..end)? {
                    at = end;
                }
            }
            if size <= 1 && kept.len() == before {
                return Ok(());
            }
            size = (size / 2).max(1);
        }
    }

    /// Takes burdens away if the others prevent the deadline, and returns whether they do.
    fn take_away(&mut self, kept: &mut Vec<Burden>, range: Range<usize>) -> Result<bool, Halt> {
        let others = [&kept[..range.start], &kept[range.end..]].concat();
        let is_needed = self.is_provable(&others)?;
        if !is_needed {
            *kept = others;
        }
        self.progress.kept(kept.len());
        Ok(!is_needed)
    }

    fn cause(&self, burden: Burden) -> Cause {
        let name = burden.name(self.scenario);
        let flow = burden.flow().filter(|_| self.others.contains(&name));
        Cause {
            kind: burden.kind(),
            deadline: flow.and_then(|flow| self.scenario.flows[flow.index()].deadline),
            name,
            now: burden.shown(self.scenario).unwrap_or_default(),
            bound: None,
            edits: Vec::new(),
        }
    }

    fn is_provable(&mut self, kept: &[Burden]) -> Result<bool, Halt> {
        Ok(self.tried(kept)?.certainty == Certainty::Provable)
    }

    /// Returns what is known of the deadline in the plant with these burdens alone.
    fn tried(&mut self, kept: &[Burden]) -> Result<&Tried, Halt> {
        if !self.known.contains_key(kept) {
            // What is forgotten is tried again.
            if self.known.len() * self.all.len() > MOST_KNOWN {
                self.known.clear();
            }
            let tried = Left::new(self, kept).tried(self)?;
            self.known.insert(kept.to_vec(), tried);
        }
        Ok(&self.known[kept])
    }

    /// Returns the fewest edits that were found for the plant with these burdens alone, and the bound with
    /// them.
    fn designed(&self, kept: &[Burden]) -> Result<(Vec<Edit>, Option<Duration>), Halt> {
        let left = Left::new(self, kept);
        let mut work = left.work(self);
        let first = Judged::new(&left.goals);
        let edits = work.search(&first).edits;
        if self.progress.is_cancelled() {
            return Err(Halt::Interrupted);
        }
        Ok((edits.clone(), left.bound(self, &changes(&edits))))
    }

    /// Returns how many deadlines of the whole plant are proved with these edits, and how many there
    /// are.
    fn counts(&self, edits: &[Edit]) -> [usize; 2] {
        let changed = self.written.with_all(&changes(edits));
        let judged = changed.map(|own| Judged::new(&goals(&own, &bound::analyze(&own))));
        judged.map_or([0; 2], |own| [own.count, own.proved.len()])
    }

    /// Returns how many designs may be searched through for a set.
    fn most(&self, left: &Left<'_>) -> usize {
        if let Some(trials) = self.question.trials {
            return trials;
        }
        if left.part.without.is_empty() {
            // What `design` finds, this finds, too.
            return usual_trials(&left.analysis);
        }
        let streams = left.analysis.streams.len().max(1);
        MOST_TRIALS.min((EFFORT / streams).max(LEAST_TRIALS))
    }
}

fn changes(edits: &[Edit]) -> Vec<Override> {
    edits.iter().flat_map(|own| own.changes.iter().cloned()).collect()
}

/// The plant with some burdens alone.
struct Left<'a> {
    part: Remainder<'a>,
    scenario: Scenario,
    analysis: Analysis,
    goals: Vec<Goal>,
    names: Vec<String>,
    /// Flow of each goal.
    flows: Vec<usize>,
}

impl<'a> Left<'a> {
    fn new(explainer: &Explainer<'a>, kept: &[Burden]) -> Self {
        // They are in the same order.
        let (all, mut kept) = (explainer.all.iter().copied(), kept.iter().peekable());
        let without = all.filter(|own| kept.next_if_eq(&own).is_none()).collect();
        let others = explainer.others.clone();
        let part =
            Remainder { whole: explainer.scenario, target: explainer.target, others, without };
        let scenario = part.of(explainer.scenario.clone());
        let analysis = bound::analyze(&scenario);
        let subject = Subject { written: explainer.written, part: Some(&part) };
        let goals = goals_of(subject, &scenario, &analysis);
        let meant = analysis.judged().filter(|(stream, _)| part.is_meant(&scenario, stream));
        let named =
            meant.filter_map(|(stream, _)| Some((name(&scenario, stream)?, stream.flow.index())));
        let (names, flows) = named.unzip();
        Self { part, scenario, analysis, goals, names, flows }
    }

    /// Returns the names of the flows whose deadlines are to be proved, for each goal.
    fn flow_names(&self) -> impl Iterator<Item = &str> {
        self.flows.iter().map(|flow| self.scenario.flows[*flow].name.as_str())
    }

    /// Returns a search for a design.
    fn work<'w>(&'w self, explainer: &Explainer<'w>) -> Work<'w> {
        let most = explainer.most(self);
        Work {
            scenario: &self.scenario,
            subject: Subject { written: explainer.written, part: Some(&self.part) },
            // Flows have other numbers in what is left.
            readings: RefCell::new(Readings::new(&self.scenario, explainer.written, true)),
            question: explainer.question,
            progress: explainer.progress,
            names: &self.names,
            flows: &self.flows,
            streams: self.analysis.streams.len().max(1),
            possible: self.goals.len(),
            most,
            left: most,
        }
    }

    fn tried(&self, explainer: &Explainer<'_>) -> Result<Tried, Halt> {
        let all_names = names(&self.scenario, &self.analysis);
        let failed =
            obstacles(&self.scenario, &self.analysis, &all_names).into_iter().find(|own| {
                let mut streams = own.streams.iter().map(|number| &self.analysis.streams[*number]);
                streams.any(|stream| self.part.is_meant(&self.scenario, stream))
            });
        if let Some(failed) = failed {
            return Ok(Tried { certainty: Certainty::Condition(failed.why), best: Vec::new() });
        }
        let first = Judged::new(&self.goals);
        let (space, found, (all, halt)) = self.work(explainer).most(&first);
        if explainer.progress.is_cancelled() {
            return Err(Halt::Interrupted);
        }
        debug_assert_ne!(halt, Some(Halt::Interrupted));
        let certainty = match all {
            _ if found.judged.count == self.goals.len() => Certainty::Provable,
            Some(all) => Certainty::All(all),
            None => Certainty::NotFound,
        };
        Ok(Tried { certainty, best: space.changes(&found.point) })
    }

    /// Returns the bound of the flow that is explained, with changes.
    fn bound(&self, explainer: &Explainer<'_>, changes: &[Override]) -> Option<Duration> {
        let part = Remainder { others: BTreeSet::new(), ..self.part.clone() };
        let subject = Subject { written: explainer.written, part: Some(&part) };
        let changed = subject.with_all(changes)?;
        let goals = goals_of(subject, &changed, &bound::analyze(&changed));
        let bounds: Option<Vec<Duration>> = goals.iter().map(|own| own.bound).collect();
        bounds?.into_iter().max()
    }
}
