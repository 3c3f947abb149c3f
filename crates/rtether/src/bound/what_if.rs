//! Effect of a change of the scenario on the bounds.

use rtether_bounds::Analysis;
use rtether_report::document::{self, Document};
use rtether_report::format::{Part, Render};
use rtether_report::table::{Screen, Table};
use schemars::JsonSchema;
use serde::Serialize;

use super::compare::{Answer, Comparison, compare};
use super::conclusion::conclusion;
use super::differences::DifferenceJson;
use super::{analyze, differences};
use crate::scenario::{Override, Scenario};
use crate::words::Conclusion;

/// Comparison of the bounds of a scenario with those of a changed one.
#[derive(Clone, Debug)]
pub struct WhatIf {
    /// Name of the scenario.
    pub scenario: String,
    /// The changes in words: `PATH=VALUE`.
    pub changes: Vec<String>,
    /// Bounds after the change.
    pub after: Analysis,
    /// The differences.
    pub comparison: Comparison,
    /// That of the changed scenario.
    pub conclusion: Conclusion,
}

/// The effect of a change of the scenario on the bounds.
#[derive(Serialize, JsonSchema)]
pub(crate) struct WhatIfJson<'a> {
    /// Title of the scenario.
    scenario: &'a str,
    conclusion: Conclusion,
    /// The changes, `PATH=VALUE` of `--set`.
    changes: &'a [String],
    /// How many streams do not differ.
    unchanged_streams: usize,
    /// Streams that differ.
    streams: Vec<DifferenceJson<'a>>,
}

impl Document for WhatIfJson<'_> {
    const SCHEMA: &'static str = "rtether.what-if/1";
}

/// Computes the bounds of both scenarios and compares them.
pub fn what_if(before: &Scenario, after: &Scenario, changes: &[Override]) -> WhatIf {
    let old = analyze(before);
    let new = analyze(after);
    let comparison = compare(
        Answer { scenario: before, analysis: &old },
        Answer { scenario: after, analysis: &new },
    );
    WhatIf {
        conclusion: conclusion(after, &new),
        scenario: before.name.clone(),
        changes: changes.iter().map(Override::text).collect(),
        after: new,
        comparison,
    }
}

impl Render for WhatIf {
    fn parts(&self, _: Screen) -> Vec<Part> {
        let head = format!("{}\nwhat if  {}\n", self.scenario, self.changes.join(", "));
        let mut parts = vec![Part::Lines(head + "\n")];
        if !self.comparison.differences.is_empty() {
            parts.extend([self.rows().into(), "\n".to_owned().into()]);
        }
        let said = differences::summary(&self.comparison);
        parts.push((self.conclusion.sentence(&said) + "\n").into());
        parts
    }

    fn rows(&self) -> Table {
        differences::rows(&self.comparison.differences)
    }

    fn json(&self) -> String {
        document::text(&WhatIfJson {
            scenario: &self.scenario,
            conclusion: self.conclusion,
            changes: &self.changes,
            unchanged_streams: self.comparison.same,
            streams: differences::list(&self.comparison.differences),
        })
    }
}
