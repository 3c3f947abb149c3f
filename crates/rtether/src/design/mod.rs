//! Designs a plant: settings under which every deadline is proved, with the fewest edits, or what
//! stands in the way.
//!
//! What may change is a list of parameters (`space`): priorities of flows, queues of switches,
//! layers of nodes, and what else the scenario allows. A design gives each one a value. A trial
//! bounds the scenario with these edits (`trial`), put together of what was read before (`readings`). What
//! comes of it is read from the text that is written, so that *proved* is what `bound` says of the
//! file; if a trial said another thing, the search is made again with scenarios that are read as a whole.
//! The search climbs by the number of proved deadlines, then by what the others
//! lack: the number alone is the same for many designs in a row (`search`). From the best design all
//! edits are taken back that no proof needs (`prune`).
//!
//! It has no clock: trials are counted, so that it finds the same on any machine and any number of
//! threads. Impossible is said only where a necessary condition fails (`obstacle`), or where all
//! designs have been tried.
//!
//! For one deadline it also looks for what prevents it (`explain`): by the same search, in what is left of
//! the plant (`part`) if other flows and costs are taken away (`burden`).

mod alike;
mod burden;
mod explain;
mod explained;
mod links;
mod lower;
mod many;
mod memory;
mod obstacle;
mod output;
mod page;
mod parameter;
mod part;
mod progress;
mod prune;
mod readings;
mod refine;
mod routes;
mod search;
mod smoothers;
mod space;
mod stacks;
mod starts;
mod trial;
mod work;

use std::cell::RefCell;
use std::sync::Arc;

use rtether_bounds::{Analysis, Methods};

use crate::bound::{self, Bounds};
use crate::scenario::{Freedom, Override, Scenario, Written};
use crate::words::Conclusion;
pub use explain::{Cause, Certainty, ExplainError, Explained, explain};
pub(crate) use explained::ExplainedJson;
pub use obstacle::Obstacle;
pub use output::Answer;
pub(crate) use output::DesignJson;
pub use page::html;
use parameter::Parameter;
use part::Subject;
pub use progress::{Best, Progress};
use readings::Readings;
use search::{Found, Search};
use space::{Faster, Point, Space};
use trial::{Halt, Judged, Trials};

/// Most designs that are tried, if the caller does not say.
const MOST_TRIALS: usize = 4_000;
/// Most streams times designs that are tried then, but some in any case.
const MOST_EFFORT: usize = 1_500_000;
const LEAST_TRIALS: usize = 300;
/// The same where flows are many, of the search, of taking edits back, and of what needs them.
const MOST_OF_MANY: usize = 3_000_000;
/// Streams that take as long as one that total flow analysis does not prove.
const LATE: usize = 8;
/// Most designs that are all tried if the search does not prove everything.
const MOST_OF_ALL: usize = 4_096;

/// What is asked.
#[derive(Clone, Copy, Debug, Default)]
pub struct Question {
    /// Most designs of the search; if `None`, what takes some minutes. To take edits back needs some more,
    /// and a space of at most 4096 is searched through.
    pub trials: Option<usize>,
    /// Whether a small space is not searched through.
    pub is_search_only: bool,
}

/// One edit: a line of the table, however many elements it changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// Where, as paths of `--set`.
    pub path: String,
    /// What is written there.
    pub old: String,
    /// What is to be written.
    pub new: String,
    /// The same as changes of `--set`.
    pub changes: Vec<Override>,
    /// What it costs.
    pub cost: u64,
    /// Deadlines and sums that are not proved without it; empty if the search was ended early, or if
    /// there are too many edits to leave out each.
    pub needed_by: Vec<String>,
}

/// How a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Everything is proved.
    Proved,
    /// A necessary condition fails, or no design of all proves everything.
    Impossible,
    /// The best design that was found; whether there is a better one is not known.
    Best,
    /// The user ended it; the best design so far.
    Interrupted,
}

/// A design, and what it proves.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The scenario as it was, and its bounds.
    pub before: (Scenario, Analysis),
    /// The scenario as the written text is read, and its bounds.
    pub after: (Scenario, Analysis),
    /// The edits.
    pub edits: Vec<Edit>,
    /// The text of the file with the edits, comments kept.
    pub text: String,
    /// How the search ended.
    pub end: End,
    /// Deadlines and sums that are proved before and after, and how many there are.
    pub proved: [usize; 2],
    /// How many there are.
    pub goals: usize,
    /// What stands in the way of single deadlines.
    pub obstacles: Vec<Obstacle>,
    /// How many designs there are, if none of all proves everything.
    pub all: Option<usize>,
    /// Designs that were tried.
    pub trials: usize,
}

/// Why there is no design.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DesignError {
    /// Nothing is to be proved.
    #[error("no flow has a deadline, so there is nothing to prove; `deadline` gives a flow one")]
    NoDeadline,
    /// The edits cannot be written into the file.
    #[error("the edits cannot be written into the file; as options they are {0}")]
    Unwritten(String),
}

/// Searches for the design of a scenario that proves most with the fewest edits, on the threads of the
/// current rayon pool.
///
/// # Errors
/// If nothing is to be proved, or the edits cannot be written.
pub fn design(
    scenario: &Scenario,
    written: &Written,
    question: Question,
    progress: &Progress,
) -> Result<Outcome, DesignError> {
    let analysis = bound::analyze(scenario);
    let goals = trial::goals(scenario, &analysis);
    if goals.is_empty() {
        return Err(DesignError::NoDeadline);
    }
    let names = trial::names(scenario, &analysis);
    let flows = trial::flows(scenario, &analysis);
    let mut obstacles = obstacle::obstacles(scenario, &analysis, &names);
    if Faster::new(scenario) == Faster::Never {
        obstacles.extend(work::overdue(scenario, &analysis, &obstacles));
    }
    let first = Judged::new(&goals);
    let most = question.trials.unwrap_or_else(|| usual_trials(&analysis));
    let mut work = Work {
        scenario,
        subject: Subject { written, part: None },
        readings: RefCell::new(Readings::new(scenario, written, false)),
        question,
        progress,
        names: &names,
        flows: &flows,
        streams: analysis.streams.len().max(1),
        possible: goals.len() - obstacles.iter().map(|own| own.count).sum::<usize>(),
        most,
        left: most,
    };
    let mut found = work.search(&first);
    let mut result = settled(written, &found);
    let is_other = !result.as_ref().is_ok_and(|own| own.judged.proved == found.judged.proved);
    if is_other && !progress.is_cancelled() {
        work.readings = RefCell::new(Readings::new(scenario, written, true));
        work.left = most;
        found = work.search(&first);
        result = settled(written, &found);
    }
    let Settled { text, after, judged } = result?;
    let proved = [first.count, judged.count];
    let end = if progress.is_cancelled() {
        End::Interrupted
    } else if proved[1] == goals.len() {
        End::Proved
    } else if found.all.is_some() || !obstacles.is_empty() {
        End::Impossible
    } else {
        found.end
    };
    found.edits.iter_mut().for_each(|own| own.needed_by.sort());
    Ok(Outcome {
        before: (scenario.clone(), analysis),
        after,
        edits: found.edits,
        text,
        end,
        proved,
        goals: goals.len(),
        obstacles,
        all: found.all,
        trials: progress.trials(),
    })
}

/// A text with the edits of a design, and what it proves.
struct Settled {
    text: String,
    after: (Scenario, Analysis),
    judged: Judged,
}

/// Writes a design, and judges what is written.
fn settled(written: &Written, found: &Designed) -> Result<Settled, DesignError> {
    let edits = found.edits.iter().flat_map(|own| own.changes.iter().cloned());
    let changes: Vec<Override> = edits.collect();
    let unwritten = DesignError::Unwritten(options(&changes));
    let text = written.settled(&changes).ok_or_else(|| unwritten.clone())?;
    let after = Written { text: text.clone(), changes: Vec::new(), ..written.clone() };
    let after = after.load().scenario.ok_or(unwritten)?;
    let analysis = bound::analyze(&after);
    let judged = Judged::new(&trial::goals(&after, &analysis));
    Ok(Settled { text, after: (after, analysis), judged })
}

/// Returns how many designs are tried, if the caller does not say.
fn usual_trials(analysis: &Analysis) -> usize {
    MOST_TRIALS.min((MOST_EFFORT / analysis.streams.len().max(1)).max(LEAST_TRIALS))
}

/// Returns changes as options of a command.
fn options(changes: &[Override]) -> String {
    let options: Vec<String> = changes.iter().map(Override::argument).collect();
    options.join(" ")
}

impl Outcome {
    /// Returns the verdict: that of the written scenario where everything is proved.
    pub fn conclusion(&self) -> Conclusion {
        match self.end {
            End::Proved => {
                let (scenario, analysis) = &self.after;
                Bounds { scenario, analysis }.conclusion()
            }
            End::Impossible => Conclusion::Failed,
            End::Best => Conclusion::NoAnswer,
            End::Interrupted => Conclusion::Interrupted,
        }
    }
}

/// What a search has to work with.
struct Work<'a> {
    scenario: &'a Scenario,
    subject: Subject<'a>,
    readings: RefCell<Readings>,
    question: Question,
    progress: &'a Progress,
    names: &'a [String],
    /// Flow of each deadline, in the same order.
    flows: &'a [usize],
    /// How many streams there are.
    streams: usize,
    /// Goals that can be proved at most.
    possible: usize,
    /// Trials that were allowed.
    most: usize,
    /// Trials that are left.
    left: usize,
}

/// The best design.
struct Designed {
    edits: Vec<Edit>,
    judged: Arc<Judged>,
    end: End,
    /// How many designs there are, if all were tried and none proves everything.
    all: Option<usize>,
}

impl Work<'_> {
    fn search(&mut self, first: &Judged) -> Designed {
        let (mut space, found, ended) = self.most(first);
        self.pruned(&mut space, found, first, ended)
    }

    /// Searches for what proves most, whatever it costs. It returns how many designs there are if all
    /// were tried, and why there is no further trial.
    fn most(&mut self, first: &Judged) -> (Space, Found, (Option<usize>, Option<Halt>)) {
        let mut space = Space::new(self.scenario, self.subject.written);
        if space.has_many() && self.question.trials.is_none() && self.subject.part.is_none() {
            self.left = MOST_TRIALS.min(MOST_OF_MANY / self.streams);
        }
        let mut found = Found { point: space.written(), judged: Arc::new(first.clone()) };
        let (mut all, mut halt) = self.climb(&space, (&mut found, false), first);
        if found.judged.count < self.possible && halt != Some(Halt::Interrupted) {
            halt = self.split(&mut space, &mut found, first).or(halt);
        }
        if memory::may_change(self.scenario) && halt != Some(Halt::Interrupted) {
            halt = self.hold_more(&mut space, &mut found, first).or(halt);
        }
        let numbers = space::numbers(self.scenario);
        let is_open = found.judged.count < self.possible && halt != Some(Halt::Interrupted);
        if !numbers.is_empty() && is_open {
            // What costs most comes last.
            halt = self.raise(&mut space, numbers, &mut found, first).or(halt);
            all = None;
        }
        (space, found, (all, halt))
    }

    /// Gives flows that are not proved a priority apart from their class, and goes on.
    fn split(&mut self, space: &mut Space, found: &mut Found, first: &Judged) -> Option<Halt> {
        let proved = found.judged.proved.iter().zip(self.flows);
        let late = proved.filter(|(is_proved, _)| !**is_proved).map(|(_, flow)| *flow).collect();
        let apart = space::split(self.scenario, space, &late);
        if apart.is_empty() {
            return None;
        }
        space.parameters.extend(apart);
        found.point.resize(space.parameters.len(), 0);
        self.grant();
        self.climb(space, (found, true), first).1
    }

    /// Searches with all numbers raised as far as they may be; what is not needed is taken back later.
    fn raise(
        &mut self,
        space: &mut Space,
        numbers: Vec<Parameter>,
        found: &mut Found,
        first: &Judged,
    ) -> Option<Halt> {
        let mut point = found.point.clone();
        let highest =
            numbers.iter().map(|own| (0..).zip(&own.values).map(|(value, _)| value).max());
        point.extend(highest.map(Option::unwrap_or_default));
        space.parameters.extend(numbers);
        found.point.resize(space.parameters.len(), 0);
        self.grant();
        let judged = match self.trials(space, first).judge(&point) {
            Ok(judged) => judged,
            Err(why) => return Some(why),
        };
        let mut raised = Found { point, judged };
        let (_, mut halt) = self.climb(space, (&mut raised, false), first);
        if raised.judged.is_better(&found.judged) {
            *found = raised;
            if halt != Some(Halt::Interrupted) {
                halt = lower::lower(self, space, found, first).err().or(halt);
            }
        }
        halt
    }

    /// Allows a further search some trials, even if all are used.
    fn grant(&mut self) {
        self.left = self.left.max(self.most / 2).max(LEAST_TRIALS);
    }

    /// Makes memories larger where proofs lack nothing else.
    fn hold_more(&mut self, space: &mut Space, found: &mut Found, first: &Judged) -> Option<Halt> {
        while found.judged.count < self.possible {
            let changes = space.changes(&found.point);
            let more = memory::parameters(self.scenario, self.subject, &changes);
            if more.is_empty() {
                return None;
            }
            space.parameters.extend(more);
            let mut point = found.point.clone();
            found.point.resize(space.parameters.len(), 0);
            point.resize(space.parameters.len(), 1);
            let mut trials = self.trials(space, first);
            trials.left += 1;
            let judged = match trials.judge(&point) {
                Ok(judged) => judged,
                Err(why) => return Some(why),
            };
            if judged.count <= found.judged.count {
                return None;
            }
            *found = Found { point, judged };
        }
        None
    }

    /// Returns trials of the number of proofs, and of what the others lack.
    fn trials<'t>(&'t self, space: &'t Space, first: &Judged) -> Trials<'t> {
        self.trials_by(space, first, Methods::UntilProved)
    }

    fn trials_by<'t>(&'t self, space: &'t Space, first: &Judged, methods: Methods) -> Trials<'t> {
        let first = (first.clone(), self.left);
        let known = (self.subject, &self.readings, space);
        Trials::new(known, self.progress, methods, first)
    }

    /// Searches a space; if all designs in it were tried, it returns their number.
    fn climb(
        &mut self,
        space: &Space,
        (found, goes_on): (&mut Found, bool),
        first: &Judged,
    ) -> (Option<usize>, Option<Halt>) {
        let mut trials = self.trials(space, first);
        let mut search = Search {
            scenario: self.scenario,
            progress: self.progress,
            best: found.clone(),
            possible: self.possible,
            goes_on,
            trials: &mut trials,
        };
        let mut halt = search.run().err();
        *found = search.best;
        let mut all = None;
        let size = space.size().filter(|size| *size <= MOST_OF_ALL);
        let is_open = found.judged.count < self.possible && halt != Some(Halt::Interrupted);
        if let Some(size) = size.filter(|_| is_open && !self.question.is_search_only) {
            trials.left = trials.left.max(size);
            match tried_all(space, &mut trials, found) {
                // Numbers, and what layers may be, are samples of what is allowed.
                Ok(()) => all = is_whole(self.scenario, space).then_some(size),
                Err(why) => halt = Some(why),
            }
        }
        let left = trials.left;
        self.left = left;
        (all, halt)
    }

    /// Returns how many streams take as long as a trial of what was found.
    fn effort(&self, found: &Found) -> usize {
        self.streams + LATE * (found.judged.proved.len() - found.judged.count)
    }

    /// Takes back what nothing needs, and says what needs the rest.
    fn pruned(
        &mut self,
        space: &mut Space,
        mut found: Found,
        first: &Judged,
        (all, mut halt): (Option<usize>, Option<Halt>),
    ) -> Designed {
        let needed = Arc::clone(&found.judged);
        let mut needs = Vec::new();
        if halt != Some(Halt::Interrupted) {
            // Of designs that cost the same, the one with the largest least margin stays, unless they are many.
            let methods = if space.has_many() { Methods::UntilProved } else { Methods::All };
            let mut trials = self.trials_by(space, first, methods);
            // Some of these trials come on top.
            trials.left = trials.left / 4 + LEAST_TRIALS;
            if space.has_many() {
                trials.left = MOST_OF_MANY / self.effort(&found);
            }
            if let Ok(judged) = trials.judge(&found.point) {
                found.judged = judged;
            }
            halt = prune::prune(&mut trials, &mut found, &needed).err().or(halt);
        }
        if halt != Some(Halt::Interrupted) {
            let refined = refine::refine(self, space, &mut found, (&needed, first));
            halt = refined.err().or(halt);
        }
        let count = prune::edits(&found.point).len();
        let are_few = !space.has_many() || count * self.effort(&found) <= MOST_OF_MANY;
        if halt != Some(Halt::Interrupted) && are_few {
            let mut trials = self.trials(space, first);
            trials.left += count * count + LEAST_TRIALS;
            match prune::needs(&mut trials, &mut found) {
                Ok(own) => needs = own,
                Err(why) => halt = Some(why),
            }
        }
        let edits = prune::edits(&found.point).into_iter().map(|number| {
            let own = &space.parameters[number];
            let value = found.point[number];
            let needed = needs.iter().filter(|(edit, _)| *edit == number);
            let goals = needed.flat_map(|(_, goals)| goals);
            Edit {
                path: own.path.clone(),
                old: own.old.clone(),
                new: own.shown(value),
                changes: own.values[usize::from(value)].clone(),
                cost: own.costs[usize::from(value)],
                needed_by: goals.map(|goal| self.names[*goal].clone()).collect(),
            }
        });
        let end = if halt == Some(Halt::Interrupted) { End::Interrupted } else { End::Best };
        Designed { edits: edits.collect(), judged: found.judged, end, all }
    }
}

/// Tries all designs of a space.
fn tried_all(space: &Space, trials: &mut Trials<'_>, best: &mut Found) -> Result<(), Halt> {
    const BATCH: usize = 256;
    let mut points: Vec<Point> = vec![Vec::new()];
    for parameter in &space.parameters {
        let values = 0..parameter.values.len();
        let values: Vec<u8> = values.filter_map(|value| u8::try_from(value).ok()).collect();
        let longer = points.iter().flat_map(|point| {
            values.iter().map(|value| {
                let mut point = point.clone();
                point.push(*value);
                point
            })
        });
        points = longer.collect();
    }
    for batch in points.chunks(BATCH) {
        let judged = trials.judge_all(batch)?;
        for (point, judged) in batch.iter().zip(judged) {
            if judged.is_better(&best.judged) {
                *best = Found { point: point.clone(), judged };
            }
        }
    }
    Ok(())
}

/// Returns whether the values of all parameters are all that is allowed.
fn is_whole(scenario: &Scenario, space: &Space) -> bool {
    let mut parameters = space.parameters.iter();
    // With larger memories other designs might prove more.
    !memory::may_change(scenario)
        && parameters.all(|own| own.freedom == Some(Freedom::Pcp) && own.flows.len() == 1)
}
