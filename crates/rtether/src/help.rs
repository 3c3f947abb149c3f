//! What would help: the changes that lower a bound above its limit most, as edits to paste.
//!
//! A check asks for the stream that failed worst, in the order of its table. Single changes are ranked
//! by total flow analysis ([`crate::bound::sensitivity`]) where there are many; the figures that are
//! shown are of the plant after the change, by all methods. Where a change is an edit, that plant is
//! read from the edited file, so that no edit is shown that the loader refuses.

mod choices;
mod memory;

use std::cmp::Reverse;
use std::sync::Arc;

use rtether_bounds::{Analysis, StreamBound};
use rtether_model::quantity::Duration;

use crate::bound::names::Names;
use crate::bound::{self, Search, Steps, Trial, condition};
use crate::run::Progress;
use crate::scenario::{Override, Replacement, Scenario, Written};
use crate::why::remedy;
use crate::words::Standing;
use choices::Choice;
use rtether_report::table::{Cell, Table};
use rtether_report::text::{plural, time};

/// Most changes that are shown.
const SHOWN: usize = 3;
/// Most streams, and most changes times streams, for which the changes are tried unasked: a few
/// seconds.
const MOST_STREAMS: usize = 2_000;
const MOST_EFFORT: usize = 20_000;
/// Most changes times streams that are all analyzed by all methods.
const MOST_ANALYZED: usize = 2_000;

/// What would help a stream that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Help {
    /// Position of the stream.
    pub stream: usize,
    /// Its bound today.
    pub bound: Option<Duration>,
    /// The least limit that the bound has to meet.
    pub limit: Duration,
    /// Whether the limit is its deadline.
    pub is_deadline: bool,
    /// Why it has no bound, and what would give it one.
    pub no_bound: Option<NoBound>,
    /// What must drop nothing for its bound to be a proof, in words.
    pub only_if: Option<String>,
    /// What else its proof needs that is no single value: `links without bit errors`.
    pub needs: Vec<&'static str>,
    /// Streams whose deadline is proved today.
    pub proved: usize,
    /// Streams with a deadline.
    pub deadlines: usize,
    /// The best changes, those that prove it first, then by gain; `None` if there were too many to
    /// try unasked, or the user did not wait for them.
    pub changes: Option<Vec<Change>>,
    /// Number of changes that were tried.
    pub tried: usize,
    /// Whether those that are not shown were tried by total flow analysis only.
    pub is_ranked: bool,
}

/// Why a stream has no bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoBound {
    /// The reason.
    pub reason: String,
    /// What would give it one.
    pub remedy: String,
}

/// One change and its effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The change in words.
    pub words: String,
    /// The edit of the scenario file that makes it, if a single value does.
    pub edit: Option<Override>,
    /// File and line where the edit is to be written, as [`Written::place`] tells them.
    pub place: Option<(String, usize)>,
    /// The edit as data, if one place of a file makes the change.
    pub written: Option<Replacement>,
    /// Bound of the stream after the change.
    pub bound: Duration,
    /// By how much the bound falls; `None` if there was none.
    pub gain: Option<Duration>,
    /// What the bound then proves of the limit.
    pub proof: Standing,
    /// Streams whose deadline is proved after the change.
    pub proved: usize,
}

/// Returns what would help a stream whose proof falls short of this limit; `None` if it does not.
pub fn help(
    scenario: &Scenario,
    written: &Written,
    analysis: &Analysis,
    of: (usize, Duration),
) -> Option<Help> {
    help_while(scenario, written, analysis, of, &Arc::default())
}

/// As [`help`]; without changes if it was cancelled.
pub(crate) fn help_while(
    scenario: &Scenario,
    written: &Written,
    analysis: &Analysis,
    (stream, limit): (usize, Duration),
    progress: &Arc<Progress>,
) -> Option<Help> {
    let own = &analysis.streams[stream];
    let bound = own.bound.as_ref().ok().map(|bound| bound.latency);
    let condition = analysis.condition(stream);
    if bound.is_some_and(|bound| bound <= limit) && condition.is_none() {
        return None;
    }
    let deadline = |own: &StreamBound| scenario.flows[own.flow.index()].deadline;
    let need = Need { stream, bound, limit, proved: proved(scenario, analysis) };
    let tried = if progress.is_cancelled() {
        Tried::NOTHING
    } else {
        try_changes((scenario, written), analysis, need, progress)
    };
    Some(Help {
        stream,
        bound,
        limit,
        is_deadline: deadline(own) == Some(limit),
        no_bound: own.bound.as_ref().err().map(|why| NoBound {
            reason: bound::reason(scenario, why),
            remedy: remedy(scenario, own.flow, why),
        }),
        only_if: condition.map(|own| condition::only_if(&Names::new(scenario), analysis, own)),
        needs: condition.map_or_else(Vec::new, |own| memory::needs(analysis, own)),
        proved: need.proved,
        deadlines: analysis.streams.iter().filter_map(deadline).count(),
        changes: tried.changes,
        tried: tried.count,
        is_ranked: tried.is_ranked,
    })
}

/// The stream that needs help.
#[derive(Clone, Copy, Debug)]
struct Need {
    stream: usize,
    bound: Option<Duration>,
    limit: Duration,
    /// Streams whose deadline is proved today.
    proved: usize,
}

/// Changes that were tried.
struct Tried {
    changes: Option<Vec<Change>>,
    count: usize,
    is_ranked: bool,
}

impl Tried {
    const NOTHING: Self = Self { changes: None, count: 0, is_ranked: false };
}

fn try_changes(
    (scenario, written): (&Scenario, &Written),
    analysis: &Analysis,
    need: Need,
    progress: &Arc<Progress>,
) -> Tried {
    let streams = analysis.streams.len();
    let candidates = choices::candidates(scenario, &analysis.streams[need.stream]);
    let mut options = choices::of_file(scenario, written, &candidates);
    let condition = analysis.condition(need.stream);
    options.extend(memory::choices(scenario, written, (analysis, condition)));
    let candidates = candidates.kept;
    let count = options.len() + candidates.len();
    let effort = count * streams;
    if streams > MOST_STREAMS || effort > MOST_EFFORT {
        return Tried::NOTHING;
    }
    let is_ranked = effort > MOST_ANALYZED && need.bound.is_some();
    if is_ranked {
        let search = Search::at(scenario, &analysis.streams[need.stream], candidates);
        options.extend(search.into_iter().flat_map(|search| {
            let found = search.run(&Steps::within(Arc::clone(progress)));
            let best = found.trials.into_iter().filter(Trial::gains);
            let best = best.take(SHOWN).map(|trial| trial.candidate);
            best.map(|own| Choice::of(own, scenario, written)).collect::<Vec<_>>()
        }));
    } else {
        let all = candidates.into_iter();
        options.extend(all.map(|own| Choice::of(own, scenario, written)));
    }
    let effects = options.into_iter().take_while(|_| !progress.is_cancelled());
    let effects = effects.filter_map(|option| option.effect(need));
    let mut changes: Vec<Change> = effects.filter(|change| change.helps(need)).collect();
    if progress.is_cancelled() {
        // Those that were tried are not the best.
        return Tried::NOTHING;
    }
    changes.sort_by_key(|own| (own.proof != Standing::Proved, Reverse(own.gain), own.bound));
    changes.truncate(SHOWN);
    for change in &mut changes {
        if let Some(edit) = &change.edit {
            change.place = written.place(edit);
            change.written = written.edit(edit);
        }
    }
    Tried { changes: Some(changes), count, is_ranked }
}

impl Choice {
    fn effect(self, need: Need) -> Option<Change> {
        let analysis = bound::analyze(&self.changed);
        let bound = analysis.streams.get(need.stream)?;
        let bound = bound.bound.as_ref().ok()?.latency;
        let condition = analysis.condition(need.stream);
        let proof = if bound > need.limit {
            Standing::NotProved
        } else {
            Standing::of_proof(condition.map(|own| own.effect))
        };
        Some(Change {
            words: self.words,
            edit: self.edit,
            place: None,
            written: None,
            bound,
            gain: need.bound.map(|before| before - bound),
            proof,
            proved: proved(&self.changed, &analysis),
        })
    }
}

impl Change {
    /// Returns whether the change mends anything, and breaks nothing that counts more.
    fn helps(&self, need: Need) -> bool {
        // Where the bound is within the limit, a lower one is no help.
        let is_within = need.bound.is_some_and(|bound| bound <= need.limit);
        let falls = !is_within && self.gain.is_none_or(|gain| gain > Duration::ZERO);
        let proves = self.proof == Standing::Proved || self.proved > need.proved;
        (falls || proves) && self.proved >= need.proved
    }
}

fn proved(scenario: &Scenario, analysis: &Analysis) -> usize {
    bound::counts(scenario, analysis).ok
}

impl Help {
    /// Returns the changes as a table.
    pub fn table(&self) -> Table {
        let changes = self.changes.iter().flatten();
        Table::of(changes)
            .both("change", "change", |change| &change.words)
            .number("bound", "bound_ns", |change| change.bound)
            .number("gain", "gain_ns", |change| change.gain)
            .rank(1)
            .number("slack", "slack_ns", |change| self.limit - change.bound)
            .rank(2)
            .both("proof", "proof", |change| {
                Cell::from(change.proof.name()).shown(change.proof.name().replace('-', " "))
            })
            .rank(4)
            .number("proved", "proved_streams", |change| change.proved)
            .rank(3)
            .both("edit", "edit", |change| {
                let edit = change.edit.as_ref()?;
                Some(Cell::from(edit.text()).shown(edit.argument()))
            })
            .done()
    }

    /// Returns whether there is a table.
    pub fn has_table(&self) -> bool {
        self.changes.as_ref().is_some_and(|own| !own.is_empty())
    }

    /// Returns what is to be said below the table, or in its place; empty if the best change proves the
    /// stream.
    pub fn remark(&self) -> String {
        let mut said: Vec<String> = self.outcome().into_iter().collect();
        let proves = |change: &Change| change.proof == Standing::Proved;
        if let Some(why) = &self.no_bound
            && !self.changes.iter().flatten().any(proves)
        {
            said.push(format!("What would give it a bound: {}.", why.remedy));
        }
        if !self.needs.is_empty() {
            said.push(format!("Its proof needs {}.", self.needs.join(", and ")));
        }
        said.join(" ")
    }

    /// Returns what no single change does.
    fn outcome(&self) -> Option<String> {
        let Some(changes) = &self.changes else {
            let again = "There are many changes: `rtether bound --sensitivity --flow` tries them.";
            return self.bound.map(|_| again.to_owned());
        };
        if changes.iter().any(|own| own.proof == Standing::Proved) {
            return None;
        }
        if self.tried == 0 {
            return Some(
                "No single change proves anything: there is none of stacks, links, hubs, priorities \
                 and memories to try."
                    .to_owned(),
            );
        }
        let what =
            if changes.iter().any(|own| own.proved > self.proved) { "it" } else { "anything" };
        let ranked = if self.is_ranked { ", all but the best by total flow analysis" } else { "" };
        let tried = plural(self.tried, "change");
        Some(format!(
            "No single change proves {what}: {tried} of stacks, links, hubs, priorities and memories \
             tried{ranked}."
        ))
    }

    /// Returns the line above the table; `name` is that of the stream.
    pub fn title(&self, name: &str) -> String {
        let proved = format!("{} of {} proved", self.proved, plural(self.deadlines, "deadline"));
        let mut bound = match (self.bound, &self.no_bound) {
            (Some(bound), _) => format!("bound {}", time(bound)),
            (None, Some(why)) => format!("no bound: {}", why.reason),
            (None, None) => "no bound".to_owned(),
        };
        if let Some(words) = &self.only_if {
            bound = format!("{bound} {words}");
        }
        let limit = if self.is_deadline { "deadline" } else { "limit" };
        let end = if self.has_table() { ":" } else { "." };
        format!("What would help {name} ({bound}, {limit} {}; {proved}){end}", time(self.limit))
    }
}
