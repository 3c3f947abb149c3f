//! The trials as table, JSON and CSV.

use comfy_table::{Cell, CellAlignment, LineStyle, Table, TableStyle};
use rtether_model::quantity::Duration;
use serde_json::json;

use super::{Sensitivity, Trial};
use crate::bound::differences::ns;
use crate::bound::differences::{METHOD, METHOD_NOTE};
use crate::report::text::{exact_ns, plural, time, time_or_dash};
use crate::scenario::Scenario;
use crate::sheet::write;

/// Number of trials shown in a table; the others are counted.
const SHOWN: usize = 20;

impl Sensitivity {
    fn slack(&self, bound: Option<Duration>) -> Option<Duration> {
        Some(self.deadline? - bound?)
    }

    /// Returns the trials that lower the bound as a table, best first.
    pub fn table(&self, scenario: &Scenario) -> String {
        let gains = |trial: &&Trial| trial.gain.is_some_and(|gain| gain > Duration::ZERO);
        let useful: Vec<&Trial> = self.trials.iter().filter(gains).collect();
        let slack = self.slack(Some(self.bound));
        let slack = slack.map_or_else(String::new, |slack| format!(", slack {}", time(slack)));
        let table = if useful.is_empty() {
            String::new()
        } else {
            let table = self.rows(useful.iter().copied().take(SHOWN));
            format!("\n{table}\n")
        };
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
        format!(
            "{}\n{}, {} > {}: bound {}{slack}\n{table}\n{}.\n{METHOD_NOTE}\n",
            scenario.name,
            self.flow,
            self.talker,
            self.listener,
            time(self.bound),
            words.join(", ")
        )
    }

    fn rows<'a>(&self, trials: impl Iterator<Item = &'a Trial>) -> Table {
        let mut table = Table::new();
        let rule = LineStyle::none().fill('\u{2500}').junction('\u{2500}');
        table.load_style(TableStyle::new().header_separator(rule));
        table.set_header(["change", "bound", "gain", "slack", "others late"]);
        for trial in trials {
            let cells = [
                trial.change.clone(),
                time_or_dash(trial.bound),
                time_or_dash(trial.gain),
                time_or_dash(self.slack(trial.bound)),
                trial.others_late.to_string(),
            ];
            table.add_row(cells.into_iter().map(Cell::new));
        }
        for column in 1..5 {
            if let Some(column) = table.column_mut(column) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        table
    }

    /// Returns one JSON document, schema `rtether.sensitivity/1`.
    pub fn json(&self, scenario: &Scenario) -> String {
        let trials = self.trials.iter().map(|trial| {
            json!({
                "change": trial.change,
                "bound_ns": ns(trial.bound),
                "gain_ns": ns(trial.gain),
                "slack_ns": ns(self.slack(trial.bound)),
                "others_late": trial.others_late,
            })
        });
        let document = json!({
            "schema": "rtether.sensitivity/1",
            "scenario": scenario.name,
            "method": METHOD,
            "partial": self.partial,
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

    /// Returns one CSV row per trial.
    pub fn csv(&self) -> String {
        let header = [
            "change",
            "bound_ns",
            "gain_ns",
            "slack_ns",
            "others_late_streams",
        ];
        let exact =
            |span: Option<Duration>| span.map_or_else(String::new, |span| exact_ns(span.as_ps()));
        let rows = self.trials.iter().map(|trial| {
            vec![
                trial.change.clone(),
                exact(trial.bound),
                exact(trial.gain),
                exact(self.slack(trial.bound)),
                trial.others_late.to_string(),
            ]
        });
        write(&header, rows)
    }
}
