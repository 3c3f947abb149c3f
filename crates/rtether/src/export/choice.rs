//! What of a plant is left out before a tool sees it, because the user says so.

use rtether_model::flow::Flow;
use rtether_model::network::{EndStation, NodeKind, Stack};
use rtether_report::text::few;

use super::Reasons;
use crate::scenario::{Requirement, Scenario};

/// What is left out of a plant. What is left out is said, since results of the tool are then those
/// of another plant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// Leaves out what stations do between application and port: stacks, tasks, queues and
    /// smoothers, and the resolution of addresses.
    pub without_stacks: bool,
    /// Leaves out flows: names, classes or patterns with `*`.
    pub without_flows: Vec<String>,
}

impl Choice {
    /// Returns the part of a plant that is left, and in sentences what is not in it.
    ///
    /// # Errors
    /// If no flow has a name that is to be left out.
    pub fn part_of(&self, scenario: &Scenario) -> Result<(Scenario, Vec<String>), Reasons> {
        let mut part = scenario.clone();
        let flows = self.leave_out_flows(&mut part)?;
        let stacks = if self.without_stacks { leave_out_stacks(&mut part) } else { Vec::new() };
        let left = [
            (flows, "left out, with the load that they are to others"),
            (
                stacks,
                "what takes time between application and port is left out; delays are those of \
                 the network",
            ),
        ];
        let left = left.into_iter();
        let left = left.filter_map(|(names, why)| Some(format!("{}: {why}", few(&names)?)));
        Ok((part, left.collect()))
    }

    fn leave_out_flows(&self, scenario: &mut Scenario) -> Result<Vec<String>, Reasons> {
        let mut left = Vec::new();
        for pattern in &self.without_flows {
            let wanted = Requirement { flow: pattern.clone(), ..Requirement::default_for_all() };
            let is_left = |flow: &Flow| wanted.matches(flow);
            let before = left.len();
            let names = scenario.flows.iter().filter(|flow| is_left(flow));
            left.extend(names.map(|flow| flow.name.clone()));
            if left.len() == before {
                let why = format!("no flow has the name or class `{pattern}`");
                return Err(Reasons(vec![why]));
            }
            scenario.retain_flows(|flow| !is_left(flow));
        }
        Ok(left)
    }
}

/// Leaves out stacks, and returns the names of stations that had something.
fn leave_out_stacks(scenario: &mut Scenario) -> Vec<String> {
    let mut names = Vec::new();
    for node in &mut scenario.network.nodes {
        let NodeKind::EndStation(own) = &mut node.kind else {
            continue;
        };
        let plain = EndStation {
            driver_queue: own.driver_queue,
            redundancy: own.redundancy,
            ..EndStation::new(Stack::Zero)
        };
        if *own != plain {
            *own = plain;
            names.push(node.name.clone());
        }
    }
    names
}
