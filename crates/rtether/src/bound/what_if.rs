//! Effect of a change of the scenario on the bounds.

use rtether_bounds::Analysis;
use serde_json::json;

use super::compare::{Answer, Comparison, compare};
use super::{analyze, differences};
use crate::scenario::{Override, Scenario};

/// Comparison of the bounds of a scenario with those of a changed one.
#[derive(Clone, Debug)]
pub struct WhatIf {
    /// The changes in words: `PATH=VALUE`.
    pub changes: Vec<String>,
    /// Bounds after the change.
    pub after: Analysis,
    /// The differences.
    pub comparison: Comparison,
}

/// Computes the bounds of both scenarios and compares them.
pub fn what_if(before: &Scenario, after: &Scenario, changes: &[Override]) -> WhatIf {
    let old = analyze(before);
    let new = analyze(after);
    let comparison = compare(
        Answer {
            scenario: before,
            analysis: &old,
        },
        Answer {
            scenario: after,
            analysis: &new,
        },
    );
    let text = |change: &Override| format!("{}={}", change.path, change.value);
    WhatIf {
        changes: changes.iter().map(text).collect(),
        after: new,
        comparison,
    }
}

impl WhatIf {
    /// Returns the streams that differ as a table.
    pub fn table(&self, scenario: &Scenario) -> String {
        let table = if self.comparison.differences.is_empty() {
            String::new()
        } else {
            let table = differences::table(&self.comparison.differences);
            format!("\n{table}\n")
        };
        format!(
            "{}\nwhat if  {}\n{table}\n{}\n",
            scenario.name,
            self.changes.join(", "),
            differences::summary(&self.comparison)
        )
    }

    /// Returns one JSON document, schema `rtether.what-if/1`.
    pub fn json(&self, scenario: &Scenario) -> String {
        let document = json!({
            "schema": "rtether.what-if/1",
            "scenario": scenario.name,
            "changes": self.changes,
            "unchanged_streams": self.comparison.same,
            "streams": differences::list(&self.comparison.differences),
        });
        format!("{document:#}\n")
    }

    /// Returns one CSV row per stream that differs.
    pub fn csv(&self) -> String {
        differences::csv(&self.comparison.differences)
    }
}
