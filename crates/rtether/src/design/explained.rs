//! An explanation in all formats.

use rtether_report::document::{self, Document};
use rtether_report::format::{Part, Render};
use rtether_report::number::Ns;
use rtether_report::table::{Screen, Table};
use rtether_report::text::{few, plain_line, plural, time};
use schemars::JsonSchema;
use serde::Serialize;

use super::explain::{Cause, Certainty, Explained};
use super::output::{EditJson, edits};
use crate::words::Conclusion;

impl Explained {
    /// Returns the verdict in one sentence.
    pub fn headline(&self) -> String {
        self.conclusion().sentence(&self.said())
    }

    fn said(&self) -> String {
        let stream = format!("{} (deadline {})", self.stream, time(self.deadline));
        let how = match self.edits.len() {
            0 => "as it is".to_owned(),
            edits => format!("with {}", plural(edits, "edit")),
        };
        let how = format!("{how}{}", self.condition);
        let [proved, of] = self.proved;
        if self.certainty == Certainty::Provable {
            let of = plural(of, "deadline");
            return format!("{stream} can be proved {how}; {proved} of {of} are then.");
        }
        if self.certainty == Certainty::Interrupted && self.causes.is_empty() {
            let first = if self.edits.is_empty() {
                String::new()
            } else {
                format!("{stream} can be proved {how}. ")
            };
            return format!("{first}It was ended before what prevents it was found.");
        }
        let (alone, and) = if self.is_alone {
            (
                format!("{} can be proved {how}, but others are late then. ", self.stream),
                " and theirs",
            )
        } else {
            (String::new(), "")
        };
        let found = format!("{alone}No design was found that proves {stream}{and}");
        let none = format!("{alone}No design proves {stream}{and}");
        let these = self.these();
        match &self.certainty {
            Certainty::Condition(why) => format!("{none} {these}: {why}."),
            Certainty::All(all) => format!("{none} {these}: all {all} were tried."),
            Certainty::Interrupted => {
                format!("{found} {these}, when it was ended; not all of them need be needed.")
            }
            Certainty::NotFound | Certainty::Provable => {
                format!("{found} {these}; whether there is one is not known.")
            }
        }
    }

    /// Returns which flows and costs prevent the deadline.
    fn these(&self) -> String {
        match self.causes.len() {
            0 => "even without other flows, and with the least costs".to_owned(),
            1 => "with this one alone".to_owned(),
            causes => format!("with these {causes} alone"),
        }
    }

    fn causes(&self) -> Table {
        Table::of(&self.causes)
            .both("kind", "kind", |own| own.kind)
            .both("name", "name", |own| &own.name)
            .both("now", "now", |own| &own.now)
            .number("deadline", "deadline_ns", |own| own.deadline)
            .optional()
            .number("bound without it", "bound_without_ns", |own| own.bound)
            .shown("with edits", |own| few(&paths(own)).unwrap_or_else(|| "none".to_owned()))
            .rank(1)
            .file("edits_without", |own| own.edits.len())
            .done()
    }
}

fn paths(cause: &Cause) -> Vec<String> {
    cause.edits.iter().map(|own| own.path.clone()).collect()
}

impl Render for Explained {
    fn parts(&self, _: Screen) -> Vec<Part> {
        let head = format!("{}\n{}\n", plain_line(&self.scenario), plain_line(&self.headline()));
        let mut parts = vec![Part::Lines(head + "\n")];
        if !self.edits.is_empty() {
            parts.extend([edits(&self.edits).into(), Part::Lines("\n".into())]);
        }
        if !self.causes.is_empty() {
            parts.extend([self.causes().into(), Part::Lines("\n".into())]);
        }
        let bound = match (self.bound, &self.certainty) {
            (_, Certainty::Interrupted) => String::new(),
            (None, _) => "It has no bound. ".to_owned(),
            (Some(bound), _) if self.is_alone || self.certainty == Certainty::Provable => {
                format!("Its bound is {} with these edits. ", time(bound))
            }
            (Some(bound), _) => {
                format!("The least bound that was found is {}. ", time(bound))
            }
        };
        let tried = plural(self.trials, "design");
        parts.push(format!("{bound}{tried} tried.\n").into());
        parts
    }

    /// `kind` distinguishes edits, flows and costs.
    fn rows(&self) -> Table {
        edits(&self.edits).append(&self.causes())
    }

    fn json(&self) -> String {
        document::text(&ExplainedJson {
            version: env!("CARGO_PKG_VERSION"),
            scenario: &self.scenario,
            conclusion: self.conclusion(),
            summary: self.headline(),
            stream: &self.stream,
            deadline_ns: Ns(self.deadline),
            bound_ns: self.bound.map(Ns),
            end: match self.certainty {
                Certainty::Provable => "provable",
                Certainty::Condition(_) | Certainty::All(_) => "prevented",
                Certainty::NotFound => "not found",
                Certainty::Interrupted => "interrupted",
            },
            why: match &self.certainty {
                Certainty::Condition(why) => Some(why),
                Certainty::Provable
                | Certainty::All(_)
                | Certainty::NotFound
                | Certainty::Interrupted => None,
            },
            all_designs: match self.certainty {
                Certainty::All(all) => Some(all),
                Certainty::Provable
                | Certainty::Condition(_)
                | Certainty::NotFound
                | Certainty::Interrupted => None,
            },
            is_alone: self.is_alone,
            causes: self.causes.iter().map(CauseJson::of).collect(),
            flows_and_costs: self.burdens,
            edits: self.edits.iter().map(EditJson::of).collect(),
            proved_after: (self.proved[1] > 0).then_some(self.proved[0]),
            designs_tried: self.trials,
        })
    }
}

/// Why a deadline cannot be proved: flows and costs that prevent it, none of which can be left out.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ExplainedJson<'a> {
    /// Version of rtether.
    version: &'static str,
    /// Title of the scenario.
    scenario: &'a str,
    conclusion: Conclusion,
    /// The result in words.
    summary: String,
    /// Name of the flow, with the listener if one was asked for.
    stream: &'a str,
    /// Its deadline.
    deadline_ns: Ns,
    /// Its bound with `edits`, or the least that was found with the causes alone; `null` if there is none.
    bound_ns: Option<Ns>,
    /// `provable`; `prevented` by the causes, whatever the design; `not found`: no design was found with
    /// the causes; `interrupted`: not all of the causes need be needed.
    end: &'static str,
    /// The condition that fails with the causes whatever the design, if there is one.
    why: Option<&'a str>,
    /// How many designs there are with the causes alone, if all were tried and none proves it.
    all_designs: Option<usize>,
    /// Whether `edits` prove the deadline, but no design was found that also proves those of the flows in
    /// `causes`.
    is_alone: bool,
    /// Flows and costs that prevent the deadline. Without any one of them, what is left can be proved.
    causes: Vec<CauseJson<'a>>,
    /// How many flows and costs there are besides the flow.
    flows_and_costs: usize,
    /// Edits that prove the deadline, if there are any.
    edits: Vec<EditJson<'a>>,
    /// Deadlines and sums of the whole plant that are proved with `edits`; `null` if they do not prove this
    /// one.
    proved_after: Option<usize>,
    /// Designs that were tried.
    designs_tried: usize,
}

impl Document for ExplainedJson<'_> {
    const SCHEMA: &'static str = "rtether.explained/1";
}

#[derive(Serialize, JsonSchema)]
struct CauseJson<'a> {
    /// `flow` or `cost`.
    kind: &'static str,
    /// The flow, or what costs.
    name: &'a str,
    /// Talker and listeners of the flow, or how much it costs.
    now: &'a str,
    /// The deadline of the flow, if it is to be proved, too.
    deadline_ns: Option<Ns>,
    /// The bound with the edits if this one is left out; `null` if the search was interrupted.
    bound_without_ns: Option<Ns>,
    /// Edits that prove the deadline if this one is left out.
    edits_without: Vec<EditJson<'a>>,
}

impl<'a> CauseJson<'a> {
    fn of(own: &'a Cause) -> Self {
        Self {
            kind: own.kind,
            name: &own.name,
            now: &own.now,
            deadline_ns: own.deadline.map(Ns),
            bound_without_ns: own.bound.map(Ns),
            edits_without: own.edits.iter().map(EditJson::of).collect(),
        }
    }
}
