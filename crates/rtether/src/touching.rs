//! Which assumptions touch what is judged.
//!
//! An assumption touches a stream if the value belongs to a node that the flow
//! shares with others, directly or by flows in between, or to such a flow. A flow that switches
//! flood, or whose stations ask for addresses, shares the whole network. The deadline of a flow
//! touches that flow alone, unless ports send what is due first. Flows are judged if they have a
//! deadline or another limit.

use std::collections::{BTreeMap, BTreeSet};

use rtether_model::flow::{Delivery, Flow};
use rtether_model::network::{AddressTable, MulticastForwarding, NodeId};
use rtether_model::route::Routing;

use crate::scenario::{About, Assumption, Limit, Scenario};
use crate::words::Conclusion;

/// Returns what stands behind *proved*: ` if 141 assumptions hold`; empty without any.
pub(crate) fn condition(assumptions: usize) -> String {
    match assumptions {
        0 => String::new(),
        1 => " if 1 assumption holds".to_owned(),
        count => format!(" if {count} assumptions hold"),
    }
}

/// Returns the same of a scenario.
pub(crate) fn condition_of(scenario: &Scenario) -> String {
    let held = &scenario.assumptions.held;
    if held.is_empty() {
        return String::new();
    }
    let reach = Reach::new(scenario);
    condition(held.iter().filter(|own| reach.touches(own)).count())
}

/// Returns the verdict on bounds where nothing judged may rest on an assumption, if the scenario asks for
/// that: what is met only if some hold is no answer.
pub(crate) fn strictly(scenario: &Scenario, conclusion: Conclusion) -> Conclusion {
    let is_asked = scenario.assumptions.is_strict && conclusion == Conclusion::Met;
    if is_asked && !condition_of(scenario).is_empty() { Conclusion::NoAnswer } else { conclusion }
}

/// Returns whether the delay of a flow is held against something.
pub(crate) fn is_judged(scenario: &Scenario, flow: &Flow) -> bool {
    let has_time = |(_, limit): &(_, Limit)| matches!(limit, Limit::Time(_));
    let mut lines = scenario.accept.iter().filter(|line| line.matches(flow));
    flow.deadline.is_some()
        || lines.any(|line| {
            let all = line.simulated.iter().chain(&line.measured);
            let bound = line.bound.filter(|limit| matches!(limit, Limit::Time(_)));
            all.copied().any(|limit| has_time(&limit)) || bound.is_some()
        })
}

/// Which nodes share flows, directly or by flows in between.
pub(crate) struct Reach {
    /// By node: another one of the same part, or itself.
    parts: Vec<usize>,
    /// Parts with a judged flow.
    judged: BTreeSet<usize>,
    /// By flow: whether it is judged, and the part of its talker.
    flows: Vec<(bool, usize)>,
    /// Whether ports send what is due first, so that deadlines touch other flows.
    has_order: bool,
}

impl Reach {
    pub(crate) fn new(scenario: &Scenario) -> Self {
        let network = &scenario.network;
        let mut parts: Vec<usize> = (0..network.nodes.len()).collect();
        let mut wires = parts.clone();
        for link in network.links.iter().filter(|link| !link.standby) {
            let [a, b] = link.ends.map(|end| end.node.index());
            join(&mut wires, a, b);
        }
        let routing = Routing::new(network);
        let talks_to_all = network.resolves_addresses() || network.admission.is_some();
        let floods = |switch: NodeId, flow: &Flow| {
            network.switch(switch).is_some_and(|own| {
                let unmanaged = own.multicast == MulticastForwarding::Unmanaged;
                let learns = own.addresses != AddressTable::Static;
                learns || (unmanaged && flow.delivery == Delivery::Multicast)
            })
        };
        let mut flooded = BTreeSet::new();
        for flow in &scenario.flows {
            let talker = flow.talker.index();
            let hops = routing.flow_hops(network, flow);
            let is_known = hops.is_ok();
            let hops = hops.unwrap_or_default();
            let nodes = hops.iter().flat_map(|hop| [hop.egress.node, hop.ingress.node]);
            let nodes: Vec<NodeId> = nodes.chain(flow.listeners.iter().copied()).collect();
            let is_flooded = nodes.iter().any(|&node| floods(node, flow));
            if is_flooded || talks_to_all || flow.is_published() || !is_known {
                flooded.insert(root(&mut wires, talker));
            }
            for node in nodes {
                join(&mut parts, talker, node.index());
            }
        }
        for node in 0..network.nodes.len() {
            let part = root(&mut wires, node);
            if flooded.contains(&part) {
                join(&mut parts, part, node);
            }
        }
        let flows = scenario.flows.iter();
        let flows: Vec<(bool, usize)> = flows
            .map(|flow| (is_judged(scenario, flow), root(&mut parts, flow.talker.index())))
            .collect();
        let judged = flows.iter().filter(|own| own.0).map(|own| own.1).collect();
        Self {
            parts: (0..parts.len()).map(|node| root(&mut parts, node)).collect(),
            judged,
            flows,
            has_order: network.selects_by_deadline(),
        }
    }

    /// Returns the parts that an assumption is about; `None` for all.
    fn about(&self, assumption: &Assumption) -> Option<Vec<usize>> {
        match &assumption.about {
            About::Nodes(nodes) => {
                Some(nodes.iter().map(|node| self.parts[node.index()]).collect())
            }
            About::Flow(flow) => Some(vec![self.flows[flow.index()].1]),
            About::Plant => None,
        }
    }

    /// Returns whether an assumption touches what is judged.
    pub(crate) fn touches(&self, assumption: &Assumption) -> bool {
        if let About::Flow(flow) = &assumption.about
            && self.is_of_flow_alone(assumption)
        {
            return self.flows[flow.index()].0;
        }
        match self.about(assumption) {
            None => !self.judged.is_empty(),
            Some(parts) => parts.iter().any(|part| self.judged.contains(part)),
        }
    }

    /// Returns whether an assumption about a flow changes nothing for others.
    fn is_of_flow_alone(&self, assumption: &Assumption) -> bool {
        match assumption.kind() {
            "description" | "class" => true,
            "deadline" => !self.has_order,
            _ => false,
        }
    }

    /// Returns by flow how many assumptions touch it.
    pub(crate) fn by_flow(&self, scenario: &Scenario) -> Vec<usize> {
        let (mut all, mut of_part, mut own) = (0, BTreeMap::new(), BTreeMap::new());
        for one in &scenario.assumptions.held {
            match (&one.about, self.about(one)) {
                (About::Flow(flow), _) if self.is_of_flow_alone(one) => {
                    *own.entry(flow.index()).or_insert(0) += 1;
                }
                (_, None) => all += 1,
                (_, Some(parts)) => {
                    let parts: BTreeSet<usize> = parts.into_iter().collect();
                    for part in parts {
                        *of_part.entry(part).or_insert(0) += 1;
                    }
                }
            }
        }
        let flows = self.flows.iter().enumerate();
        let count = |(flow, (_, part)): (usize, &(bool, usize))| {
            all + of_part.get(part).unwrap_or(&0) + own.get(&flow).unwrap_or(&0)
        };
        flows.map(count).collect()
    }
}

/// Returns the node that stands for the part of a node.
fn root(parts: &mut [usize], node: usize) -> usize {
    let mut at = node;
    while parts[at] != at {
        parts[at] = parts[parts[at]];
        at = parts[at];
    }
    at
}

fn join(parts: &mut [usize], a: usize, b: usize) {
    let (a, b) = (root(parts, a), root(parts, b));
    parts[a] = b;
}
