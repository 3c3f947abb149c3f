//! One design: the scenario with its edits, bounded.
//!
//! A deadline that total flow analysis proves needs no other method; where only the number of proofs and
//! what the others lack count, no other is applied to it. Least margins take all methods.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use rayon::prelude::*;
use rtether_bounds::{Analysis, Condition, Dropper, Effect, Methods, StreamBound};
use rtether_model::quantity::Duration;

use super::part::Subject;
use super::progress::Progress;
use super::readings::Readings;
use super::space::{Point, Space};
use crate::bound;
use crate::scenario::Scenario;
use crate::sums;
use crate::words::Standing;

/// Parts of a limit.
pub(super) const WHOLE: u64 = 1_000_000;
/// A quotient that stands for no bound.
const NO_BOUND: u64 = u64::MAX;

/// What is to be proved: a deadline of a stream, or a sum over several flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Goal {
    /// The bound; `None` if there is none.
    pub(super) bound: Option<Duration>,
    /// Its limit.
    pub(super) limit: Duration,
    /// What drops would do to the proof, if something may drop packets.
    pub(super) effect: Option<Effect>,
    /// Memories that no limit is known to suffice for, where one deadline is to be proved: others would
    /// show the way out of there.
    unlimited: u64,
}

impl Goal {
    pub(super) fn is_within(&self) -> bool {
        self.bound.is_some_and(|bound| bound <= self.limit)
    }

    pub(super) fn is_proved(&self) -> bool {
        self.is_within() && self.effect.is_none()
    }

    /// Returns the bound in millionths of its limit.
    fn quotient(&self) -> u64 {
        match self.bound {
            Some(bound) => parts(bound, self.limit),
            None => NO_BOUND,
        }
    }

    /// Returns how much of the bound is beyond the limit, in millionths of the bound: what has no bound
    /// lacks all of it. What only lacks memory is nearest to a proof.
    fn shortfall(&self) -> u64 {
        match self.bound {
            None => WHOLE + 1,
            Some(bound) if bound <= self.limit => u64::from(self.effect.is_some()) + self.unlimited,
            Some(bound) => 1 + parts(bound - self.limit, bound),
        }
    }
}

/// Returns a time in millionths of another.
fn parts(part: Duration, whole: Duration) -> u64 {
    let (part, whole) = (i128::from(part.as_ps()), i128::from(whole.as_ps().max(1)));
    match u64::try_from(part * i128::from(WHOLE) / whole) {
        Ok(parts) => parts,
        // So late that it is as good as none.
        Err(_) => NO_BOUND,
    }
}

/// What is to be proved, in the order of the streams, then sums.
pub(super) fn goals(scenario: &Scenario, analysis: &Analysis) -> Vec<Goal> {
    let streams = analysis.judged().filter_map(|judged| goal(scenario, judged));
    let sums = sums::proved(scenario, analysis).into_iter().map(|sum| Goal {
        bound: sum.added.value,
        limit: sum.limit,
        effect: match sum.added.standing {
            Standing::IfDelivered => Some(Effect::IfDelivered),
            Standing::IfNothingDropped => Some(Effect::IfNothingDropped),
            Standing::Unjudged
            | Standing::Proved
            | Standing::Held { .. }
            | Standing::NoDeadline
            | Standing::NoAnswer
            | Standing::NoBound
            | Standing::NotProved
            | Standing::Lost
            | Standing::Late => None,
        },
        unlimited: 0,
    });
    streams.chain(sums).collect()
}

/// Returns the flow of each that is a deadline, in the same order; sums follow.
pub(super) fn flows(scenario: &Scenario, analysis: &Analysis) -> Vec<usize> {
    let flows = analysis.streams.iter().map(|stream| stream.flow.index());
    flows.filter(|flow| scenario.flows[*flow].deadline.is_some()).collect()
}

/// Returns what is to be proved of the subject of a design.
pub(super) fn goals_of(
    subject: Subject<'_>,
    scenario: &Scenario,
    analysis: &Analysis,
) -> Vec<Goal> {
    let Some(part) = subject.part else {
        return goals(scenario, analysis);
    };
    let meant = analysis.judged().filter(|(stream, _)| part.is_meant(scenario, stream));
    let goals = meant.filter_map(|(stream, condition)| {
        let unlimited = condition.map_or(0, |own| unlimited(analysis, own));
        Some(Goal { unlimited, ..goal(scenario, (stream, condition))? })
    });
    goals.collect()
}

/// Returns what is to be proved of a stream; `None` without a deadline.
fn goal(
    scenario: &Scenario,
    (stream, condition): (&StreamBound, Option<&Condition>),
) -> Option<Goal> {
    Some(Goal {
        bound: stream.bound.as_ref().ok().map(|bound| bound.latency),
        limit: scenario.flows[stream.flow.index()].deadline?,
        effect: condition.map(|own| own.effect),
        unlimited: 0,
    })
}

/// Returns how many memories that a proof lacks have no limit that is known to suffice.
fn unlimited(analysis: &Analysis, condition: &Condition) -> u64 {
    let droppers = condition.droppers.iter().map(|number| &analysis.droppers[*number as usize]);
    let unlimited =
        droppers.filter(|own| matches!(own, Dropper::Memory(own) if own.need.is_none()));
    unlimited.map(|_| 1).sum()
}

/// Returns the names of what is to be proved, in the same order.
pub(super) fn names(scenario: &Scenario, analysis: &Analysis) -> Vec<String> {
    let streams = analysis.streams.iter().filter_map(|stream| name(scenario, stream));
    let sums = scenario.sums.iter().map(|sum| sums::name(&sum.flows));
    streams.chain(sums).collect()
}

/// Returns the name of a stream, with its listener if there are several; `None` without a deadline.
pub(super) fn name(scenario: &Scenario, stream: &StreamBound) -> Option<String> {
    let flow = &scenario.flows[stream.flow.index()];
    flow.deadline?;
    let listener = &scenario.network.node(stream.listener).name;
    Some(if flow.listeners.len() > 1 {
        format!("{} to {listener}", flow.name)
    } else {
        flow.name.clone()
    })
}

/// What a trial tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Judged {
    /// By goal: whether it is proved.
    pub(super) proved: Vec<bool>,
    /// How many are.
    pub(super) count: usize,
    /// Sum of what all others lack, in millionths of each.
    pub(super) shortfall: u64,
    /// The largest quotient of bound and limit, in millionths.
    pub(super) worst: u64,
    /// The largest such quotient of what is proved.
    pub(super) tightest: u64,
}

impl Judged {
    pub(super) fn new(goals: &[Goal]) -> Self {
        let proved: Vec<bool> = goals.iter().map(Goal::is_proved).collect();
        let within = goals.iter().filter(|own| own.is_proved());
        Self {
            count: proved.iter().filter(|own| **own).count(),
            shortfall: goals.iter().map(Goal::shortfall).sum(),
            worst: goals.iter().map(Goal::quotient).max().unwrap_or(0),
            tightest: within.map(Goal::quotient).max().unwrap_or(0),
            proved,
        }
    }

    /// Returns what a plant counts that is no scenario.
    fn nothing(goals: usize) -> Self {
        Self {
            proved: vec![false; goals],
            count: 0,
            shortfall: u64::MAX,
            worst: NO_BOUND,
            tightest: 0,
        }
    }

    /// Returns whether it proves more than another, or is nearer to that.
    pub(super) fn is_better(&self, other: &Self) -> bool {
        (self.count, other.shortfall) > (other.count, self.shortfall)
    }

    /// Returns whether it proves all that another does.
    pub(super) fn keeps(&self, other: &Self) -> bool {
        self.proved.iter().zip(&other.proved).all(|(own, other)| *own || !*other)
    }
}

/// Why there is no further trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Halt {
    /// The user does not wait any longer.
    Interrupted,
    /// As much has been tried as was allowed.
    Spent,
}

/// Trials of the designs of a scenario, each of which is made once.
pub(super) struct Trials<'a> {
    subject: Subject<'a>,
    readings: &'a RefCell<Readings>,
    pub(super) space: &'a Space,
    progress: &'a Progress,
    by: Known,
    goals: usize,
    /// How many are left.
    pub(super) left: usize,
}

/// What designs were judged to be, by some methods.
pub(super) struct Known {
    methods: Methods,
    judged: BTreeMap<Point, Arc<Judged>>,
}

impl Known {
    /// Begins with nothing.
    pub(super) const fn new(methods: Methods) -> Self {
        Self { methods, judged: BTreeMap::new() }
    }
}

impl<'a> Trials<'a> {
    /// Begins with what the scenario counts as it is written, and a number of trials; `methods` are those
    /// of each trial.
    pub(super) fn new(
        (subject, readings, space): (Subject<'a>, &'a RefCell<Readings>, &'a Space),
        progress: &'a Progress,
        methods: Methods,
        (first, most): (Judged, usize),
    ) -> Self {
        let goals = first.proved.len();
        let judged = BTreeMap::from([(space.written(), Arc::new(first))]);
        let by = Known { methods, judged };
        Self { subject, readings, space, progress, by, goals, left: most }
    }

    /// Judges a design.
    pub(super) fn judge(&mut self, point: &Point) -> Result<Arc<Judged>, Halt> {
        let mut found = self.judge_all(std::slice::from_ref(point))?;
        Ok(found.swap_remove(0))
    }

    /// Judges several designs at the same time.
    pub(super) fn judge_all(&mut self, points: &[Point]) -> Result<Vec<Arc<Judged>>, Halt> {
        let mut new: Vec<&Point> =
            points.iter().filter(|own| !self.by.judged.contains_key(*own)).collect();
        new.sort_unstable();
        new.dedup();
        if new.len() > self.left {
            self.left = 0;
            return Err(Halt::Spent);
        }
        self.readings.borrow_mut().prepare(self.space, &new);
        let readings = self.readings.borrow();
        let trial = self.trial(&readings);
        let (methods, goals) = (self.by.methods, self.goals);
        let judged: Option<Vec<Judged>> =
            new.par_iter().map(|point| trial.judge(point, methods, goals)).collect();
        let judged = judged.ok_or(Halt::Interrupted)?;
        self.left -= new.len();
        for (point, judged) in new.into_iter().zip(judged) {
            self.by.judged.insert(point.clone(), Arc::new(judged));
        }
        Ok(points.iter().map(|point| Arc::clone(&self.by.judged[point])).collect())
    }

    /// Takes other methods from now on, by which nothing is known yet; returns what those before were, and
    /// what is known by them.
    pub(super) fn change(&mut self, by: Known) -> Known {
        std::mem::replace(&mut self.by, by)
    }

    /// Returns the largest quotient of bound and deadline of each flow of a design, in millionths; `None`
    /// for those without a deadline.
    pub(super) fn quotients(&mut self, point: &Point) -> Result<Vec<Option<u64>>, Halt> {
        self.readings.borrow_mut().prepare(self.space, &[point]);
        let readings = self.readings.borrow();
        let trial = self.trial(&readings);
        match trial.bounds(point, self.by.methods)? {
            Some((scenario, analysis)) => Ok(quotients(&scenario, &analysis)),
            None => Ok(vec![Some(NO_BOUND); readings.flows()]),
        }
    }

    fn trial<'t>(&'t self, readings: &'t Readings) -> Trial<'t> {
        let Self { subject, space, progress, .. } = *self;
        Trial { subject, readings, space, progress }
    }
}

/// What a trial needs.
struct Trial<'a> {
    subject: Subject<'a>,
    readings: &'a Readings,
    space: &'a Space,
    progress: &'a Progress,
}

impl Trial<'_> {
    /// Judges a design; `None` if it was interrupted.
    fn judge(&self, point: &Point, methods: Methods, goals: usize) -> Option<Judged> {
        let Some((scenario, analysis)) = self.bounds(point, methods).ok()? else {
            return Some(Judged::nothing(goals));
        };
        self.progress.tried();
        let judged = Judged::new(&goals_of(self.subject, &scenario, &analysis));
        // Other edits than those of the language would have other streams.
        debug_assert_eq!(judged.proved.len(), goals);
        Some(judged)
    }

    /// Bounds a design; `None` if it is no scenario.
    fn bounds(
        &self,
        point: &Point,
        methods: Methods,
    ) -> Result<Option<(Scenario, Analysis)>, Halt> {
        let Some(scenario) = self.readings.scenario(self.space, point) else {
            return Ok(None);
        };
        let scenario = self.subject.of(scenario);
        // A sum takes bounds that are no goals themselves.
        let methods = if scenario.sums.is_empty() { methods } else { Methods::All };
        let analysis = bound::analyze_with_while(&scenario, methods, self.progress.run());
        Ok(Some((scenario, analysis.ok_or(Halt::Interrupted)?)))
    }
}

/// Returns the largest quotient of bound and deadline of each flow, in millionths.
fn quotients(scenario: &Scenario, analysis: &Analysis) -> Vec<Option<u64>> {
    let mut found = vec![None; scenario.flows.len()];
    for (stream, condition) in analysis.judged() {
        let Some(limit) = scenario.flows[stream.flow.index()].deadline else { continue };
        let bound = stream.bound.as_ref().ok().map(|bound| bound.latency);
        let goal = Goal { bound, limit, effect: condition.map(|own| own.effect), unlimited: 0 };
        let own = &mut found[stream.flow.index()];
        *own = (*own).max(Some(goal.quotient()));
    }
    found
}
