//! The trials in all formats.

use rtether_model::quantity::Duration;
use serde_json::json;

use super::{Sensitivity, Trial};
use crate::bound::differences::ns;
use crate::bound::differences::{METHOD, METHOD_NOTE};
use crate::report::format::{Part, Render};
use crate::report::table::{Cell, Screen, Table};
use crate::report::text::{plural, time};
use crate::scenario::Override;

/// Number of trials shown in a table; the others are counted.
const SHOWN: usize = 20;

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

    /// Schema `rtether.sensitivity/1`.
    fn json(&self) -> String {
        let trials = self.trials.iter().map(|trial| {
            json!({
                "change": trial.change,
                "bound_ns": ns(trial.bound),
                "gain_ns": ns(trial.gain),
                "slack_ns": ns(self.slack(trial.bound)),
                "others_late": trial.others_late,
                "edit": trial.edit.as_ref().map(Override::text),
            })
        });
        let document = json!({
            "schema": "rtether.sensitivity/1",
            "scenario": self.scenario,
            "method": METHOD,
            "partial": self.partial,
            "untried": self.untried,
            "name": self.flow,
            "talker": self.talker,
            "listener": self.listener,
            "bound_ns": ns(Some(self.bound)),
            "deadline_ns": ns(self.deadline),
            "slack_ns": ns(self.slack(Some(self.bound))),
            "trials": trials.collect::<Vec<_>>(),
        });
        format!("{document:#}\n")
    }
}
