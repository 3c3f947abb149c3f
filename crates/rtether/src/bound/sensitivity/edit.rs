//! Changes as edits of the scenario file.

use rtether_model::network::{Cost, LinearStack, NodeKind, Servers, Spread, Stack};
use rtether_model::quantity::Duration;
use rtether_model::unknown::{CostName, Unknown, stated};

use super::Candidate;
use crate::scenario::{Override, Scenario, Written};

/// Returns the edit that makes a change of one part, and the scenario that the edited file is read as:
/// what follows from the parts, such as turns at a hub and parts of deadlines, may differ, too. `None`
/// if no single value of the file does.
pub(crate) fn made(
    candidate: Candidate,
    scenario: &Scenario,
    written: &Written,
) -> Option<(Override, Scenario)> {
    let changed = candidate.changed(scenario);
    let edit = proposal(candidate, &changed)?;
    let read = written.with(&edit)?;
    has_same_parts(&read, &changed).then_some((edit, read))
}

/// Returns whether two scenarios have the same stacks, links and priorities. The link to the manager of
/// channels is no part that is written: it follows the others.
fn has_same_parts(a: &Scenario, b: &Scenario) -> bool {
    let stacks = |of: &Scenario| {
        let nodes = of.network.nodes.iter();
        let stacks = nodes.map(|node| match &node.kind {
            NodeKind::EndStation(own) => Some((own.stack.clone(), own.unknown.clone())),
            NodeKind::Switch(_) | NodeKind::Hub(_) => None,
        });
        stacks.collect::<Vec<_>>()
    };
    let tags = |of: &Scenario| {
        let flows = of.flows.iter();
        let tags = flows.map(|flow| (flow.name.clone(), flow.tag));
        tags.collect::<Vec<_>>()
    };
    let links = |of: &Scenario| {
        let manager = of.network.admission.as_ref().map(|own| own.manager);
        let mut links = of.network.links.clone();
        links.retain(|link| !link.ends.iter().any(|end| Some(end.node) == manager));
        links
    };
    links(a) == links(b) && stacks(a) == stacks(b) && tags(a) == tags(b)
}

/// Returns the edit of a file in which the part is written out by itself.
fn proposal(candidate: Candidate, changed: &Scenario) -> Option<Override> {
    let (path, value) = match candidate {
        Candidate::Stack(id) => {
            let node = changed.network.node(id);
            let NodeKind::EndStation(station) = &node.kind else {
                return None;
            };
            (format!("nodes.{}.stack", node.name), stack(&station.stack, &station.unknown)?)
        }
        Candidate::Link(id) => {
            let rate = changed.network.links[id.index()].rate;
            (format!("links[{}].rate", id.index()), rate.to_string())
        }
        Candidate::Priority(id, pcp) => {
            let name = &changed.flows[id.index()].name;
            (format!("flows.{name}.pcp"), pcp.get().to_string())
        }
    };
    Some(Override::new("--set", path, value))
}

/// Returns a stack without jitter in the syntax of a file.
fn stack(stack: &Stack, unknown: &[Unknown]) -> Option<String> {
    match stack {
        Stack::IpRate { service } => {
            let cost = Cost { base: *service, per_octet: Duration::ZERO };
            let service = ends(cost, stated(unknown, CostName::Service))?;
            Some(format!("{{ service: {service} }}"))
        }
        Stack::Linear(LinearStack {
            send,
            receive,
            interface,
            jitter,
            servers: Servers::Shared,
        }) if jitter.spread == Spread::None && jitter.outliers.is_none() => {
            let costs = [
                (CostName::Send, send),
                (CostName::Receive, receive),
                (CostName::Interface, interface),
            ];
            let costs = costs.iter().filter(|(name, own)| {
                let is_there = **own != Cost::default() || stated(unknown, *name) > Duration::ZERO;
                *name != CostName::Interface || is_there
            });
            let keys: Option<Vec<String>> = costs
                .map(|(name, own)| {
                    Some(format!("{name}: {}", ends(**own, stated(unknown, *name))?))
                })
                .collect();
            let mut keys = keys?;
            let both = stated(unknown, CostName::Both);
            let range = stated(unknown, CostName::Sum);
            let least = Cost { base: both - range, ..Cost::default() };
            if both > Duration::ZERO {
                keys.push(format!("both: {}", ends(least, range)?));
            }
            Some(format!("{{ {} }}", keys.join(", ")))
        }
        Stack::Zero | Stack::Linear(_) | Stack::Rtos(_) => None,
    }
}

/// Returns a cost, or both of its ends; `None` if the language has no word for it.
fn ends(least: Cost, more: Duration) -> Option<String> {
    if more == Duration::ZERO {
        return Some(cost(least));
    }
    let (least, per_octet) = (least.base, least.per_octet);
    let most = exact(least + more);
    let is_base = per_octet == Duration::ZERO;
    is_base.then(|| format!("{{ unknown: {} .. {most} }}", exact(least)))
}

fn cost(cost: Cost) -> String {
    let base = exact(cost.base);
    if cost.per_octet == Duration::ZERO {
        base
    } else {
        format!("{base} + {}/B", exact(cost.per_octet))
    }
}

/// Returns a time that is read as the same time.
fn exact(time: Duration) -> String {
    let text = time.to_string();
    if crate::scenario::time(&text) == Ok(time) { text } else { format!("{} ps", time.as_ps()) }
}
