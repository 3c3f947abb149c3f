//! A parameter of a design, and where its edits stand.

use std::collections::BTreeSet;

use rtether_model::flow::{Flow, TcpParameters, Traffic};
use rtether_model::network::NodeId;

use super::stacks::Stacks;
use crate::scenario::{About, Freedom, Override, Priced, Scenario, Written};

/// Most nodes, and most switches, that have a parameter of their own besides the one for all.
pub(super) const MOST_SINGLE: usize = 24;
/// What diagnostics call an edit.
const FLAG: &str = "rtether design";

/// Something that may change.
#[derive(Clone, Debug)]
pub(super) struct Parameter {
    /// What kind of edits it takes; `None` for a number whose steps have a cost.
    pub(super) freedom: Option<Freedom>,
    /// Whether it is of several elements, some of which have a parameter of their own.
    pub(super) is_wide: bool,
    /// Where it stands.
    pub(super) path: String,
    /// What is written there, in words.
    pub(super) old: String,
    /// The changes that each of its values takes; none for the first, which is as written.
    pub(super) values: Vec<Vec<Override>>,
    /// Flows that it is of.
    pub(super) flows: Vec<usize>,
    /// Of a priority: the place of each value in [`super::space::URGENCY`], or of the first that is treated alike.
    pub(super) ranks: Vec<u8>,
    /// What each of its values costs.
    pub(super) costs: Vec<u64>,
    /// Of a number: its values are multiples of this, but for what is written; zero if it is none.
    pub(super) grain: u64,
}

impl Parameter {
    /// Creates one of this kind; `others` are the changes that its values take beside the one that is
    /// written.
    pub(super) fn new(
        scenario: &Scenario,
        freedom: Freedom,
        (path, old): (String, String),
        others: impl IntoIterator<Item = Vec<Override>>,
    ) -> Self {
        let values: Vec<Vec<Override>> = [Vec::new()].into_iter().chain(others).collect();
        let mut costs = scenario.design.costs.iter();
        let cost = costs.find(|own| own.of == Priced::Freedom(freedom));
        let mut costs = vec![cost.map_or(1, |own| own.units); values.len()];
        costs[0] = 0;
        Self {
            freedom: Some(freedom),
            is_wide: false,
            path,
            old,
            values,
            flows: Vec::new(),
            ranks: Vec::new(),
            costs,
            grain: 0,
        }
    }

    /// Returns a value as the table of edits shows it.
    pub(super) fn shown(&self, value: u8) -> String {
        let changes = &self.values[usize::from(value)];
        let [one] = &changes[..] else {
            let keys = changes.iter().map(|change| {
                let key = change.path.strip_prefix(&self.path).unwrap_or(&change.path);
                format!("{}: {}", key.trim_start_matches('.'), change.value)
            });
            return keys.collect::<Vec<_>>().join(", ");
        };
        one.value.clone()
    }
}

/// What stays as it is.
pub(super) struct Kept {
    pub(super) flows: BTreeSet<usize>,
    pub(super) nodes: BTreeSet<NodeId>,
}

impl Kept {
    pub(super) fn new(scenario: &Scenario) -> Self {
        let (mut flows, mut nodes) = (BTreeSet::new(), BTreeSet::new());
        for about in &scenario.design.keep {
            match about {
                About::Flow(flow) => {
                    flows.insert(flow.index());
                }
                About::Nodes(own) => nodes.extend(own),
                About::Plant => {}
            }
        }
        Self { flows, nodes }
    }

    /// Returns the flows that may change.
    pub(super) fn free_flows<'a>(
        &self,
        scenario: &'a Scenario,
    ) -> impl Iterator<Item = (usize, &'a Flow)> {
        let flows = scenario.flows.iter().enumerate();
        flows.filter(|(number, _)| !self.flows.contains(number))
    }
}

/// Returns an edit of one key.
pub(super) fn set(path: &str, value: &(impl ToString + ?Sized)) -> Vec<Override> {
    vec![Override::new(FLAG, path, value.to_string())]
}

/// Returns where edits of these stations stand: the path of each stack that some share, then each
/// station alone, with one station of it, and whether it is of several.
pub(super) fn stations(
    scenario: &Scenario,
    written: &Written,
    kept: &Kept,
    meant: impl IntoIterator<Item = NodeId>,
) -> Vec<(String, NodeId, bool)> {
    let stacks = Stacks::new(scenario, written);
    let meant: BTreeSet<NodeId> = meant.into_iter().collect();
    let mut alone: BTreeSet<NodeId> = meant.difference(&kept.nodes).copied().collect();
    let single = alone.len() <= MOST_SINGLE;
    let mut places: Vec<(String, NodeId, bool)> = Vec::new();
    for (path, nodes) in stacks.shared() {
        if nodes.iter().all(|node| !kept.nodes.contains(node)) {
            let own: Vec<NodeId> =
                nodes.iter().copied().filter(|node| meant.contains(node)).collect();
            let Some(first) = own.first() else { continue };
            places.push((path.to_owned(), *first, own.len() > 1));
            if own.len() == 1 || !single {
                alone.retain(|node| !own.contains(node));
            }
        }
    }
    let alone = alone.into_iter();
    places.extend(
        alone.map(|node| (format!("nodes.{}", scenario.network.node(node).name), node, false)),
    );
    places
}

/// Returns the values of TCP of a flow.
pub(super) const fn tcp(flow: &Flow) -> Option<TcpParameters> {
    match &flow.traffic {
        Traffic::Bulk(bulk) => Some(bulk.tcp),
        Traffic::Periodic { .. }
        | Traffic::Sporadic { .. }
        | Traffic::Poisson { .. }
        | Traffic::Adaptive { .. }
        | Traffic::Flood { .. } => flow.connection,
    }
}
