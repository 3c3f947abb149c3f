//! Decides whether flows may be added to a plant.

use rtether_bounds::Analysis;
use rtether_model::quantity::Duration;
use rtether_report::document::{self, Document};
use rtether_report::format::{Part, Render};
use rtether_report::table::{Screen, Table};
use rtether_report::text::{plural, time};
use schemars::JsonSchema;
use serde::Serialize;

use super::compare::{Answer, Comparison, Difference, Side, compare};
use super::differences::DifferenceJson;
use super::{IF_DELIVERED, IF_NOTHING_DROPPED, NOT_PROVED, analyze, differences};
use crate::bound::assumed::{Assumed, AssumedJson};
use crate::scenario::Scenario;
use crate::touching::{condition_of, strictly};
use crate::words::Conclusion;

/// Whether flows may be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Every deadline that is met without the flows is met with them, and so are their own.
    Yes,
    /// A deadline would be missed, or a place would be overloaded.
    No,
    /// A flow with a deadline would be proved only if nothing is dropped.
    OnlyIf,
    /// A flow with a deadline would have no bound.
    Unknown,
}

impl Decision {
    /// Returns the word used in tables and files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::No => "no",
            Self::OnlyIf => "only-if",
            Self::Unknown => "unknown",
        }
    }

    /// Returns the word that begins a sentence.
    const fn word(self) -> &'static str {
        match self {
            Self::Yes => "Yes",
            Self::No => "No",
            Self::OnlyIf => "Only if",
            Self::Unknown => "Unknown",
        }
    }

    /// Returns what it is as a verdict.
    pub const fn conclusion(self) -> Conclusion {
        match self {
            Self::Yes => Conclusion::Met,
            Self::No => Conclusion::Failed,
            Self::OnlyIf | Self::Unknown => Conclusion::NoAnswer,
        }
    }
}

/// A decision and its evidence.
#[derive(Clone, Debug)]
pub struct Admission {
    /// The decision.
    pub decision: Decision,
    /// The plant with the added flows.
    pub scenario: Scenario,
    /// Bounds with the flows added.
    pub analysis: Analysis,
    /// Differences to the bounds without them.
    pub comparison: Comparison,
}

/// Whether flows may be added, and why.
#[derive(Serialize, JsonSchema)]
pub(crate) struct AdmitJson<'a> {
    /// Title of the scenario.
    scenario: &'a str,
    conclusion: Conclusion,
    /// `yes`, `no`, `only-if` or `unknown`.
    answer: &'static str,
    /// The answer in a sentence.
    summary: String,
    /// Streams that decide.
    objections: Vec<ObjectionJson<'a>>,
    /// How many streams do not differ.
    unchanged_streams: usize,
    /// Streams that differ.
    streams: Vec<DifferenceJson<'a>>,
    /// What the bounds with the added flows rest on; only if the scenario assumes anything, or
    /// stacks take no time.
    #[serde(skip_serializing_if = "Option::is_none")]
    assumed: Option<AssumedJson<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct ObjectionJson<'a> {
    /// Name of the flow.
    name: &'a str,
    /// Name of the listener.
    listener: &'a str,
}

impl Document for AdmitJson<'_> {
    const SCHEMA: &'static str = "rtether.admit/1";
}

/// Decides whether flows can be admitted: `before` is the scenario without them and `after` with
/// them, each read as a file of its own. What a scenario derives from all of its flows, as the turns
/// of stations at a hub, may differ for flows that are in both.
///
/// Flows that already miss their deadlines without them do not count.
pub fn admit(before: &Scenario, after: &Scenario) -> Admission {
    let bounds = analyze(before);
    let analysis = analyze(after);
    let comparison = compare(
        Answer { scenario: before, analysis: &bounds },
        Answer { scenario: after, analysis: &analysis },
    );
    let decisions = comparison.differences.iter().map(decide);
    let decision = decisions.fold(Decision::Yes, |all, one| match (all, one) {
        (Decision::No, _) | (_, Decision::No) => Decision::No,
        (Decision::Unknown, _) | (_, Decision::Unknown) => Decision::Unknown,
        (Decision::OnlyIf, _) | (_, Decision::OnlyIf) => Decision::OnlyIf,
        (Decision::Yes, Decision::Yes) => Decision::Yes,
    });
    Admission { decision, scenario: after.clone(), analysis, comparison }
}

/// Decides whether the change of one stream is admissible.
fn decide(difference: &Difference) -> Decision {
    let verdict = |side: &Option<Side>| side.as_ref().map_or("", |side| side.verdict);
    let (before, after) = (verdict(&difference.before), verdict(&difference.after));
    let is_overload = |side: &Option<Side>| side.as_ref().is_some_and(|side| side.is_overload);
    let is_overloaded = is_overload(&difference.after) && !is_overload(&difference.before);
    match after {
        NOT_PROVED if before != NOT_PROVED => Decision::No,
        _ if is_overloaded => Decision::No,
        "no-bound" if before != "no-bound" => Decision::Unknown,
        IF_DELIVERED | IF_NOTHING_DROPPED if matches!(before, "" | "ok" | "unjudged") => {
            Decision::OnlyIf
        }
        _ => Decision::Yes,
    }
}

impl Admission {
    /// Returns the verdict.
    pub fn conclusion(&self) -> Conclusion {
        strictly(&self.scenario, self.decision.conclusion())
    }

    /// Returns the streams that prevent a yes.
    pub fn objections(&self) -> impl Iterator<Item = &Difference> {
        let all = self.comparison.differences.iter();
        all.filter(|difference| decide(difference) == self.decision)
            .filter(|_| self.decision != Decision::Yes)
    }

    /// Returns the streams of the added flows.
    pub fn own(&self) -> impl Iterator<Item = &Difference> {
        let all = self.comparison.differences.iter();
        all.filter(|difference| difference.before.is_none())
    }

    /// Returns the decision in one sentence, which names the first objection.
    pub fn headline(&self) -> String {
        self.conclusion().sentence(&self.said())
    }

    fn said(&self) -> String {
        let word = self.decision.word();
        let Some(first) = self.objections().next() else {
            let own: Vec<String> = self.own().map(own_words).collect();
            let others = self.comparison.differences.len() - own.len();
            let condition = condition_of(&self.scenario);
            return format!(
                "{word}{condition}: {}; {} of other flows grow{} and no other deadline is missed",
                own.join(", "),
                plural(others, "bound"),
                if others == 1 { "s" } else { "" },
            );
        };
        let more = match self.objections().count() - 1 {
            0 => String::new(),
            more => format!("; and so for {}", plural(more, "further stream")),
        };
        format!("{word}: {}{more}", objection(first))
    }
}

impl Render for Admission {
    fn parts(&self, _: Screen) -> Vec<Part> {
        let shown = self.comparison.differences.iter();
        let shown = shown.filter(|d| d.before.is_none() || decide(d) != Decision::Yes);
        let shown: Vec<Difference> = shown.cloned().collect();
        let end = format!("\n{}\n", differences::summary(&self.comparison));
        vec![
            format!("{}\n{}\n\n", self.scenario.name, self.headline()).into(),
            differences::rows(&shown).into(),
            end.into(),
        ]
    }

    /// One row for each stream that differs.
    fn rows(&self) -> Table {
        differences::rows(&self.comparison.differences)
    }

    /// With all streams that differ.
    fn json(&self) -> String {
        let objections = self.objections().map(|difference| ObjectionJson {
            name: &difference.flow,
            listener: &difference.listener,
        });
        let assumed = Assumed::said(&self.scenario, &self.analysis);
        document::text(&AdmitJson {
            scenario: &self.scenario.name,
            conclusion: self.conclusion(),
            answer: self.decision.name(),
            summary: self.headline(),
            objections: objections.collect(),
            unchanged_streams: self.comparison.same,
            streams: differences::list(&self.comparison.differences),
            assumed: assumed.as_ref().map(|own| own.json(&self.scenario)),
        })
    }
}

fn own_words(difference: &Difference) -> String {
    let name = format!("`{}` to {}", difference.flow, difference.listener);
    let side = difference.after.as_ref();
    let bound = side.and_then(|side| side.bound).map_or_else(
        || "has no bound and no deadline".to_owned(),
        |bound| format!("takes at most {}", time(bound)),
    );
    let slack = side.and_then(Side::slack);
    let slack = slack.map_or_else(String::new, |slack| format!(" (slack {})", time(slack)));
    format!("{name} {bound}{slack}")
}

fn objection(difference: &Difference) -> String {
    let name = format!("`{}` to {}", difference.flow, difference.listener);
    let Some(side) = &difference.after else {
        return name;
    };
    let before = difference.before.as_ref().and_then(|side| side.bound);
    let instead = before.map_or_else(String::new, |before| format!(" instead of {}", time(before)));
    if let Some(words) = &side.only_if
        && side.slack().is_some_and(|slack| !slack.is_negative())
    {
        return format!("{name} would be proved only {words}");
    }
    match (side.bound, &side.reason) {
        (Some(bound), _) => {
            let deadline = side.deadline.unwrap_or(Duration::ZERO);
            format!(
                "{name} would take up to {}{instead}; its deadline is {}",
                time(bound),
                time(deadline)
            )
        }
        (None, Some(reason)) => format!("{name} would have no bound{instead}: {reason}"),
        (None, None) => format!("{name} would have no bound{instead}"),
    }
}
