//! Changes to try, and the edits that make them.

use std::collections::BTreeSet;

use rtether_bounds::StreamBound;
use rtether_model::access::Domain;
use rtether_model::network::{LinkId, NodeId};

use crate::bound::{Candidate, faster, made};
use crate::scenario::{Override, Scenario, Written};

/// Values of `generate: substation:` that cost money, and by how much they are raised.
const GENERATED: [(&str, u64); 5] =
    [("pisa_rate", 2), ("bay_rate", 2), ("busbar_rate", 2), ("server_rate", 2), ("link_rate", 10)];

/// A change that has not been analyzed.
pub(super) struct Choice {
    pub(super) words: String,
    pub(super) edit: Option<Override>,
    pub(super) changed: Scenario,
}

impl Choice {
    /// Returns a change of one part: as the file with the edit is read, if an edit makes it.
    pub(super) fn of(own: Candidate, scenario: &Scenario, written: &Written) -> Self {
        let words = own.words(scenario);
        match made(own, scenario, written) {
            Some((edit, changed)) => Self { words, edit: Some(edit), changed },
            None => Self { words, edit: None, changed: own.changed(scenario) },
        }
    }
}

/// Changes of single parts.
pub(super) struct Candidates {
    /// Those whose effect follows from the plant.
    pub(super) kept: Vec<Candidate>,
    /// Those after which stations at a hub have other turns, which are planned where a file is read.
    planned: Vec<Candidate>,
}

/// Returns the changes of parts on the way of a stream.
pub(super) fn candidates(scenario: &Scenario, stream: &StreamBound) -> Candidates {
    let all = Candidate::all(scenario, stream).into_iter();
    let (planned, kept) = all.partition(|own| own.changes_turns(scenario));
    Candidates { kept, planned }
}

/// Returns the changes whose effect is that of an edited file.
pub(super) fn of_file(
    scenario: &Scenario,
    written: &Written,
    candidates: &Candidates,
) -> Vec<Choice> {
    let mut found = generated(scenario, written);
    let mut links = Vec::new();
    for &own in &candidates.planned {
        match own {
            Candidate::Link(link) => links.push(link),
            Candidate::Stack(_) | Candidate::Priority(..) => {
                found.extend(made(own, scenario, written).map(|(edit, changed)| Choice {
                    words: own.words(scenario),
                    edit: Some(edit),
                    changed,
                }));
            }
        }
    }
    found.extend(hubs(scenario, written, &links));
    found
}

/// Returns the changes of a generator's values.
fn generated(scenario: &Scenario, written: &Written) -> Vec<Choice> {
    let choices = GENERATED.iter().filter_map(|&(key, factor)| {
        let path = format!("generate.substation.{key}");
        let value = written.value(&path)?;
        let (number, unit) = value.split_once(' ')?;
        let raised = number.parse::<u64>().ok()?.checked_mul(factor)?;
        let raised = format!("{raised} {unit}");
        let edit = Override::new("--set", path, raised.clone());
        let changed = written.with(&edit)?;
        (changed.flows.len() == scenario.flows.len()).then(|| Choice {
            words: format!("{key}: {raised} instead of {value}"),
            edit: Some(edit),
            changed,
        })
    });
    choices.collect()
}

/// Returns for each collision domain of the links the change to faster hubs, with all links on them.
fn hubs(scenario: &Scenario, written: &Written, links: &[LinkId]) -> Vec<Choice> {
    let network = &scenario.network;
    let ends = links.iter().flat_map(|link| network.links[link.index()].ends);
    let at: BTreeSet<NodeId> = ends.map(|end| end.node).collect();
    let domains = at.into_iter().filter_map(|node| Domain::of(network, node));
    let mut domains: Vec<Domain> = domains.collect();
    domains.dedup_by(|a, b| a.hubs == b.hubs);
    let choices = domains.iter();
    choices.filter_map(|domain| faster_hubs(scenario, written, domain)).collect()
}

/// A hub takes its rate to its links unless these name their own: then no single value does.
fn faster_hubs(scenario: &Scenario, written: &Written, domain: &Domain) -> Option<Choice> {
    let network = &scenario.network;
    let rate = faster(domain.rate);
    let name = |node: &NodeId| network.node(*node).name.as_str();
    let names: Vec<&str> = domain.hubs.iter().map(name).collect();
    let hubs = names.iter().map(|hub| {
        let path = format!("hubs.{hub}.rate");
        Override::new("--set", path, rate.to_string())
    });
    let mut edits: Vec<Override> = hubs.collect();
    let kind = if names.len() == 1 { "hub" } else { "hubs" };
    let words = format!("{kind} {}: {rate} instead of {}", names.join(", "), domain.rate);
    let is_it = |changed: &Scenario| {
        let mut hubs = domain.hubs.iter();
        let has_rate = |hub: &NodeId| changed.network.hub(*hub).is_some_and(|own| own.rate == rate);
        changed.flows.len() == scenario.flows.len() && hubs.all(has_rate)
    };
    if let Some(changed) = written.with_all(&edits).filter(is_it) {
        let only = edits.pop().filter(|_| edits.is_empty());
        return Some(Choice { words, edit: only, changed });
    }
    for (id, link) in network.iter_links() {
        if link.ends.iter().any(|end| domain.hubs.contains(&end.node)) {
            let path = format!("links[{}].rate", id.index());
            edits.push(Override::new("--set", path, rate.to_string()));
        }
    }
    let changed = written.with_all(&edits).filter(is_it)?;
    Some(Choice { words: format!("{words}, with all links on it"), edit: None, changed })
}
