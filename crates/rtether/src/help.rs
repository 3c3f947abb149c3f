//! What would help: the changes that lower a bound above its deadline most, as edits to paste.
//!
//! Single changes are ranked by total flow analysis ([`crate::bound::sensitivity`]); the best are
//! analyzed again by all methods, so that their figures are those of the edited file.

use std::cmp::Reverse;

use rtether_bounds::{Analysis, Condition, StreamBound};
use rtether_model::quantity::Duration;

use crate::bound::{self, Search, Steps};
use crate::report::table::{Cell, Table};
use crate::report::text::{plural, time};
use crate::scenario::{Override, Scenario, Written};

/// Most changes that are shown.
const SHOWN: usize = 3;
/// Most streams, and most changes times streams, for which the changes are tried unasked: a few
/// seconds.
const MOST_STREAMS: usize = 2_000;
const MOST_EFFORT: usize = 20_000;
/// Values of `generate: substation:` that cost money, and by how much they are raised.
const GENERATED: [(&str, u64); 5] = [
    ("pisa_rate", 2),
    ("bay_rate", 2),
    ("busbar_rate", 2),
    ("server_rate", 2),
    ("link_rate", 10),
];

/// What would help a stream whose bound exceeds its deadline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Help {
    /// Position of the stream.
    pub stream: usize,
    /// Its bound today.
    pub bound: Duration,
    /// Its deadline.
    pub deadline: Duration,
    /// Streams whose deadline is proved today.
    pub proved: usize,
    /// Streams with a deadline.
    pub deadlines: usize,
    /// The best changes, largest gain first; `None` if there were too many to try unasked.
    pub changes: Option<Vec<Change>>,
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
    /// Bound of the stream after the change.
    pub bound: Duration,
    /// By how much the bound falls.
    pub gain: Duration,
    /// Streams whose deadline is proved after the change.
    pub proved: usize,
}

/// Returns what would help a stream; `None` if its bound is no larger than its deadline.
pub fn help(
    scenario: &Scenario,
    written: &Written,
    analysis: &Analysis,
    stream: usize,
) -> Option<Help> {
    let own = &analysis.streams[stream];
    let flow = &scenario.flows[own.flow.index()];
    let (bound, deadline) = own
        .bound
        .as_ref()
        .ok()
        .map(|own| own.latency)
        .zip(flow.deadline)?;
    if bound <= deadline {
        return None;
    }
    let has_deadline = |own: &&StreamBound| scenario.flows[own.flow.index()].deadline.is_some();
    let streams = analysis.streams.len();
    let mut options = generated(scenario, written);
    let search = Search::new(scenario, Some(&flow.name)).ok()?;
    let effort = (search.len() + options.len()) * streams;
    let is_cheap = streams <= MOST_STREAMS && effort <= MOST_EFFORT;
    let changes = is_cheap.then(|| {
        let has_edits = !options.is_empty();
        options.extend(ranked(scenario, written, search, has_edits));
        let changes = options.into_iter();
        let mut changes: Vec<Change> = changes
            .filter_map(|option| option.effect(stream, bound))
            .filter(|change| change.gain > Duration::ZERO)
            .collect();
        changes.sort_by_key(|change| Reverse(change.gain));
        changes.truncate(SHOWN);
        for change in &mut changes {
            change.place = change.edit.as_ref().and_then(|edit| written.place(edit));
        }
        changes
    });
    Some(Help {
        stream,
        bound,
        deadline,
        proved: proved(scenario, analysis),
        deadlines: analysis.streams.iter().filter(has_deadline).count(),
        changes,
    })
}

/// A change that has not been analyzed.
struct Choice {
    words: String,
    edit: Option<Override>,
    changed: Scenario,
}

impl Choice {
    fn effect(self, stream: usize, before: Duration) -> Option<Change> {
        let analysis = bound::analyze(&self.changed);
        let bound = analysis.streams.get(stream)?.bound.as_ref().ok()?.latency;
        Some(Change {
            words: self.words,
            edit: self.edit,
            place: None,
            bound,
            gain: before - bound,
            proved: proved(&self.changed, &analysis),
        })
    }
}

/// Returns the best changes of single parts, and only those that are edits of the file if there are
/// any.
fn ranked(
    scenario: &Scenario,
    written: &Written,
    search: Search<'_>,
    has_edits: bool,
) -> Vec<Choice> {
    let mut found = search.run(&Steps::default());
    found.find_edits(scenario, written);
    let has_edits = has_edits || found.trials.iter().any(|trial| trial.edit.is_some());
    let best = found.trials.into_iter();
    let best = best.filter(|trial| trial.gains() && (!has_edits || trial.edit.is_some()));
    let choices = best.take(SHOWN).map(|trial| Choice {
        changed: trial.candidate.changed(scenario),
        words: trial.change,
        edit: trial.edit,
    });
    choices.collect()
}

/// Returns the changes of a generator's values.
fn generated(scenario: &Scenario, written: &Written) -> Vec<Choice> {
    let choices = GENERATED.iter().filter_map(|&(key, factor)| {
        let path = format!("generate.substation.{key}");
        let value = written.value(&path)?;
        let (number, unit) = value.split_once(' ')?;
        let raised = number.parse::<u64>().ok()?.checked_mul(factor)?;
        let raised = format!("{raised} {unit}");
        let edit = Override::new("--set", path, raised.clone());
        let changed = written.with(&edit)?;
        (changed.flows.len() == scenario.flows.len()).then(|| Choice {
            words: format!("{key}: {raised} instead of {value}"),
            edit: Some(edit),
            changed,
        })
    });
    choices.collect()
}

fn proved(scenario: &Scenario, analysis: &Analysis) -> usize {
    let is_proved = |(own, condition): &(&StreamBound, Option<&Condition>)| {
        let deadline = scenario.flows[own.flow.index()].deadline;
        let bound = own.bound.as_ref().ok().map(|bound| bound.latency);
        let both = deadline.zip(bound);
        condition.is_none() && both.is_some_and(|(limit, bound)| bound <= limit)
    };
    analysis.judged().filter(is_proved).count()
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
            .number("slack", "slack_ns", |change| self.deadline - change.bound)
            .rank(2)
            .number("proved", "proved_streams", |change| change.proved)
            .rank(3)
            .both("edit", "edit", |change| {
                let edit = change.edit.as_ref()?;
                Some(Cell::from(edit.text()).shown(edit.argument()))
            })
            .done()
    }

    /// Returns why there is no table.
    pub fn why_none(&self) -> Option<&'static str> {
        match self.changes.as_deref() {
            None => {
                Some("There are many changes: `rtether bound --sensitivity --flow` tries them.")
            }
            Some([]) => Some("No single faster stack or link, and no other priority does."),
            Some(_) => None,
        }
    }

    /// Returns the line above the table; `name` is that of the stream.
    pub fn title(&self, name: &str) -> String {
        let proved = format!(
            "{} of {} proved",
            self.proved,
            plural(self.deadlines, "deadline")
        );
        let (bound, deadline) = (time(self.bound), time(self.deadline));
        format!("What would help {name} (bound {bound}, deadline {deadline}; {proved}):")
    }
}
