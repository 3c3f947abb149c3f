//! What is designed: a scenario as it is written, or what is left of it for one deadline.

use std::collections::BTreeSet;

use rtether_bounds::StreamBound;
use rtether_model::flow::FlowId;
use rtether_model::network::NodeId;

use super::burden::{Burden, relieve};
use crate::scenario::{Override, Scenario, Written, nearest_name};

/// The deadline of a flow, at all of its listeners or at one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) flow: FlowId,
    listener: Option<NodeId>,
}

impl Target {
    /// Returns what a name means: a flow, or `FLOW to LISTENER`, also with `>`; the error says which
    /// name is near.
    pub(super) fn named(scenario: &Scenario, name: &str) -> Result<Self, String> {
        if let Some(flow) = flow_named(scenario, name) {
            return Ok(Self { flow, listener: None });
        }
        let mut parts = [" to ", " > "].into_iter().filter_map(|between| name.rsplit_once(between));
        let known = parts.find_map(|(flow, listener)| {
            Some((flow_named(scenario, flow.trim())?, listener.trim()))
        });
        let Some((flow, listener)) = known else {
            let names = scenario.flows.iter().map(|flow| flow.name.as_str());
            let help = near(name, names).unwrap_or_else(|| "`rtether bound` lists them".to_owned());
            return Err(format!("no flow is named `{name}`; {help}"));
        };
        let own = &scenario.flows[flow.index()];
        let names = own.listeners.iter().map(|id| scenario.network.node(*id).name.as_str());
        let found = own.listeners.iter().zip(names.clone()).find(|(_, name)| *name == listener);
        found.map(|(id, _)| Self { flow, listener: Some(*id) }).ok_or_else(|| {
            let all: Vec<&str> = names.clone().collect();
            let help = near(listener, names);
            let help = help.unwrap_or_else(|| format!("its listeners are {}", all.join(", ")));
            format!("`{}` has no listener `{listener}`; {help}", own.name)
        })
    }

    /// Returns its name, as verdicts have it.
    pub(super) fn name(self, scenario: &Scenario) -> String {
        let flow = &scenario.flows[self.flow.index()];
        match self.listener {
            Some(listener) if flow.listeners.len() > 1 => {
                format!("{} to {}", flow.name, scenario.network.node(listener).name)
            }
            Some(_) | None => flow.name.clone(),
        }
    }
}

fn flow_named(scenario: &Scenario, name: &str) -> Option<FlowId> {
    let mut flows = (0..).map(FlowId).zip(&scenario.flows);
    flows.find(|(_, flow)| flow.name == name).map(|(id, _)| id)
}

fn near<'k>(word: &str, known: impl Iterator<Item = &'k str>) -> Option<String> {
    nearest_name(word, known).map(|near| format!("did you mean `{near}`?"))
}

/// A plant without some burdens, in which a deadline is to be proved.
#[derive(Clone, Debug)]
pub(super) struct Remainder<'a> {
    /// The plant with all of them.
    pub(super) whole: &'a Scenario,
    pub(super) target: Target,
    /// Names of other flows whose deadlines are to be proved, too, as far as they are left.
    pub(super) others: BTreeSet<String>,
    /// What is taken away.
    pub(super) without: Vec<Burden>,
}

impl Remainder<'_> {
    /// Returns what is left of a scenario; it may have edits, but no other flows or nodes.
    pub(super) fn of(&self, mut scenario: Scenario) -> Scenario {
        relieve(&mut scenario, self.whole, &self.without);
        scenario
    }

    /// Returns whether the deadline of a stream is to be proved.
    pub(super) fn is_meant(&self, left: &Scenario, stream: &StreamBound) -> bool {
        let flow = &left.flows[stream.flow.index()];
        if flow.name != self.whole.flows[self.target.flow.index()].name {
            return self.others.contains(&flow.name);
        }
        self.target.listener.is_none_or(|own| own == stream.listener)
    }
}

/// What is designed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Subject<'a> {
    pub(super) written: &'a Written,
    /// Only this of it, if not all.
    pub(super) part: Option<&'a Remainder<'a>>,
}

impl Subject<'_> {
    /// Reads it with these changes; `None` if that is a mistake.
    pub(super) fn with_all(&self, changes: &[Override]) -> Option<Scenario> {
        self.written.with_all(changes).map(|scenario| self.of(scenario))
    }

    /// Returns what is meant of a scenario that was read.
    pub(super) fn of(&self, scenario: Scenario) -> Scenario {
        match self.part {
            Some(part) => part.of(scenario),
            None => scenario,
        }
    }
}
