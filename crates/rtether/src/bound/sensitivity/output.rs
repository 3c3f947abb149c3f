//! The trials in all formats.

use rtether_model::quantity::Duration;
use rtether_report::document::{self, Document};
use rtether_report::format::{Part, Render};
use rtether_report::number::Ns;
use rtether_report::table::{Cell, Screen, Table};
use rtether_report::text::{plural, time};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Sensitivity, Trial};
use crate::bound::differences::{METHOD, METHOD_NOTE};
use crate::scenario::Override;

/// Number of trials shown in a table; the others are counted.
const SHOWN: usize = 20;

/// Single changes, and what each does for one stream.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SensitivityJson<'a> {
    /// Title of the scenario.
    scenario: &'a str,
    /// Method of the bounds.
    method: &'static str,
    /// Whether Ctrl-C ended it before all changes were tried.
    partial: bool,
    /// How many changes give stations at a hub other turns, which only the edited file tells.
    untried: usize,
    /// Name of the flow.
    name: &'a str,
    /// Name of its talker.
    talker: &'a str,
    /// Name of the listener.
    listener: &'a str,
    /// Bound of the stream.
    bound_ns: Ns,
    /// Deadline of the flow.
    deadline_ns: Option<Ns>,
    /// The deadline minus the bound.
    slack_ns: Option<Ns>,
    /// Changes that were tried, best first.
    trials: Vec<TrialJson<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct TrialJson<'a> {
    /// The change in words.
    change: &'a str,
    /// Bound of the stream after the change.
    bound_ns: Option<Ns>,
    /// How much lower that is.
    gain_ns: Option<Ns>,
    /// The deadline minus the bound.
    slack_ns: Option<Ns>,
    /// How many other streams are then late.
    others_late: usize,
    /// `PATH=VALUE` of `--set` that makes the change, or `null`.
    edit: Option<String>,
}

impl Document for SensitivityJson<'_> {
    const SCHEMA: &'static str = "rtether.sensitivity/1";
}

impl Sensitivity {
    fn slack(&self, bound: Option<Duration>) -> Option<Duration> {
        Some(self.deadline? - bound?)
    }

    fn table<'a>(&self, trials: impl Iterator<Item = &'a Trial>) -> Table {
        Table::of(trials)
            .both("change", "change", |trial| &trial.change)
            .number("bound", "bound_ns", |trial| trial.bound)
            .number("gain", "gain_ns", |trial| trial.gain)
            .number("slack", "slack_ns", |trial| self.slack(trial.bound))
            .number("others late", "others_late_streams", |trial| trial.others_late)
            .both("edit", "edit", |trial| {
                let edit = trial.edit.as_ref()?;
                Some(Cell::from(edit.text()).shown(edit.argument()))
            })
            .optional()
            .done()
    }
}

impl Render for Sensitivity {
    /// The trials that lower the bound, best first.
    fn parts(&self, _: Screen) -> Vec<Part> {
        let useful: Vec<&Trial> = self.trials.iter().filter(|trial| trial.gains()).collect();
        let slack = self.slack(Some(self.bound));
        let slack = slack.map_or_else(String::new, |slack| format!(", slack {}", time(slack)));
        let head = format!(
            "{}\n{}, {} > {}: bound {}{slack}\n\n",
            self.scenario,
            self.flow,
            self.talker,
            self.listener,
            time(self.bound)
        );
        let mut parts = vec![Part::Lines(head)];
        if !useful.is_empty() {
            let table = self.table(useful.iter().copied().take(SHOWN));
            parts.extend([table.into(), Part::Lines("\n".into())]);
        }
        let hidden = useful.len().saturating_sub(SHOWN);
        let idle = self.trials.len() - useful.len();
        let mut words = vec![plural(self.trials.len(), "single change") + " tried"];
        if hidden > 0 {
            words.push(format!("{hidden} with smaller gains not shown"));
        }
        if idle > 0 {
            words.push(format!("{idle} without gain"));
        }
        if self.partial {
            words.push("interrupted before all were tried".into());
        }
        if self.untried > 0 {
            words.push(format!(
                "{} not tried, which give stations at a hub other turns: read the file with them",
                self.untried
            ));
        }
        parts.push(format!("{}.\n{METHOD_NOTE}\n", words.join(", ")).into());
        parts
    }

    fn rows(&self) -> Table {
        self.table(self.trials.iter())
    }

    fn json(&self) -> String {
        let trials = self.trials.iter().map(|trial| TrialJson {
            change: &trial.change,
            bound_ns: trial.bound.map(Ns),
            gain_ns: trial.gain.map(Ns),
            slack_ns: self.slack(trial.bound).map(Ns),
            others_late: trial.others_late,
            edit: trial.edit.as_ref().map(Override::text),
        });
        document::text(&SensitivityJson {
            scenario: &self.scenario,
            method: METHOD,
            partial: self.partial,
            untried: self.untried,
            name: &self.flow,
            talker: &self.talker,
            listener: &self.listener,
            bound_ns: Ns(self.bound),
            deadline_ns: self.deadline.map(Ns),
            slack_ns: self.slack(Some(self.bound)).map(Ns),
            trials: trials.collect(),
        })
    }
}
