//! Plants for other tools: what they read, from a scenario.
//!
//! A target has its own idea of a plant. What it cannot express is refused with every reason, since
//! an answer about another plant is worse than none; what it leaves out without harm is a note.

use std::fmt;

use rtether_model::characters::is_unseen;

use crate::scenario::Scenario;

mod choice;
mod inet;
mod saihu;
mod tc;
mod tsnkit;
mod whole;

pub use choice::Choice;
pub use whole::{YAML, whole};

/// The tool that is to read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// INET, models for `OMNeT++`: NED and INI.
    Inet,
    /// Saihu, with xTFA, panco and DNC: bounds by network calculus. JSON.
    Saihu,
    /// Linux: a shell script for each switch and station.
    Tc,
    /// tsnkit: schedules for TSN. Streams and topology as CSV.
    Tsnkit,
}

impl Target {
    /// All targets, with name and what they are.
    pub const ALL: [(Self, &str, &str); 4] = [
        (Self::Inet, "inet", "INET: simulations by OMNeT++"),
        (Self::Saihu, "saihu", "Saihu: bounds by network calculus"),
        (Self::Tc, "tc", "Linux: ip, bridge, tc and ethtool for each host"),
        (Self::Tsnkit, "tsnkit", "tsnkit: schedules for TSN"),
    ];

    /// Returns the target of a name.
    pub fn named(name: &str) -> Option<Self> {
        let found = Self::ALL.iter().find(|(_, own, _)| *own == name);
        found.map(|(target, ..)| *target)
    }
}

/// Files for a tool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exported {
    /// Names and contents.
    pub files: Vec<(String, String)>,
    /// What the tool is not told, or told otherwise.
    pub notes: Vec<String>,
}

/// Why a plant cannot be expressed: every reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reasons(pub Vec<String>);

impl fmt::Display for Reasons {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("\n"))
    }
}

impl std::error::Error for Reasons {}

/// Writes a plant for a tool.
///
/// # Errors
/// If the tool has no means to express it.
pub fn export(scenario: &Scenario, target: Target) -> Result<Exported, Reasons> {
    let unseen = unseen_names(scenario);
    if !unseen.is_empty() {
        return Err(Reasons(unseen));
    }
    match target {
        Target::Inet => inet::export(scenario),
        Target::Saihu => saihu::export(scenario),
        Target::Tc => tc::export(scenario),
        Target::Tsnkit => tsnkit::export(scenario),
    }
}

/// Writes a part of a plant for a tool; what is left out is the first of the notes.
///
/// # Errors
/// If no flow has a name that is to be left out, or the tool has no means to express the rest.
pub fn export_part(
    scenario: &Scenario,
    choice: &Choice,
    target: Target,
) -> Result<Exported, Reasons> {
    let (part, mut notes) = choice.part_of(scenario)?;
    let mut exported = export(&part, target)?;
    notes.append(&mut exported.notes);
    exported.notes = notes;
    Ok(exported)
}

/// Returns what is wrong with names that hold invisible characters. A name stands in comments, where
/// whatever follows the end of a line would be a command.
fn unseen_names(scenario: &Scenario) -> Vec<String> {
    let nodes = scenario.network.nodes.iter().map(|node| &node.name);
    let flows = scenario.flows.iter().map(|flow| &flow.name);
    let all = [&scenario.name].into_iter().chain(nodes).chain(flows);
    let unseen = all.filter(|name| name.chars().any(is_unseen));
    unseen.map(|name| format!("{name:?} holds an invisible character")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::load;

    #[test]
    fn no_name_becomes_a_command() {
        // Oracle: a line of a shell ends with its line feed.
        let text =
            crate::scenario::template::template(crate::scenario::template::Template::Star, "plant");
        let good = load("plant.yaml", &text).into_scenario().expect("a plant");
        assert!(export(&good, Target::Tc).is_ok());
        let break_name = |change: fn(&mut Scenario)| {
            let mut bad = good.clone();
            change(&mut bad);
            for (target, ..) in Target::ALL {
                let refused = export(&bad, target).expect_err("a name with a line feed");
                assert!(refused.to_string().contains("invisible"), "{refused}");
            }
        };
        break_name(|plant| plant.name.push_str("\nreboot"));
        break_name(|plant| plant.network.nodes[0].name.push_str("\nreboot"));
        break_name(|plant| plant.flows[0].name.push('\u{2028}'));
        let titled = text.replace("name: \"plant\"", "name: \"plant\\nreboot\"");
        assert_ne!(titled, text);
        assert!(load("plant.yaml", &titled).into_scenario().is_err());
    }
}
