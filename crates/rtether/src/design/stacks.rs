//! Which nodes have which stack, as the files say it: the model has only what follows.

use std::collections::BTreeMap;

use rtether_model::network::NodeId;

use crate::scenario::{self, Data, Scenario, Value, Written};

/// Nodes by the path of their stack.
pub(super) struct Stacks {
    /// Path of what the nodes have in common, and the nodes.
    shared: Vec<(String, Vec<NodeId>)>,
}

impl Stacks {
    pub(super) fn new(scenario: &Scenario, written: &Written) -> Self {
        let trees: Vec<Value> =
            written.texts().filter_map(|text| scenario::tree(text).ok()).collect();
        let declared: Vec<&str> = trees.iter().flat_map(|tree| keys(tree, "stacks")).collect();
        let mut nodes: BTreeMap<&str, Vec<NodeId>> = BTreeMap::new();
        for (name, node) in trees.iter().flat_map(|tree| entries(tree, "nodes")) {
            let stack = entry(node, "stack").map(|own| &own.data);
            if let (Some(Data::Scalar(stack)), Some(id)) = (stack, scenario.network.find(name)) {
                nodes.entry(stack.as_str()).or_default().push(id);
            }
        }
        let shared = nodes.into_iter().filter_map(|(stack, nodes)| {
            let is_plain = !stack.contains(['[', ']', '*', '=']);
            if declared.contains(&stack) {
                Some((format!("stacks.{stack}"), nodes))
            } else if nodes.len() > 1 && is_plain {
                Some((format!("nodes[stack={stack}]"), nodes))
            } else {
                None
            }
        });
        Self { shared: shared.collect() }
    }

    /// Returns the path of each stack that a file names, and the nodes that have it.
    pub(super) fn shared(&self) -> impl Iterator<Item = (&str, &[NodeId])> {
        self.shared.iter().map(|(path, nodes)| (path.as_str(), &nodes[..]))
    }
}

/// Returns the entries of a map under a key.
fn entries<'v>(tree: &'v Value, key: &str) -> Vec<(&'v str, &'v Value)> {
    match entry(tree, key).map(|own| &own.data) {
        Some(Data::Map(own)) => own.iter().map(|own| (own.key.as_str(), &own.value)).collect(),
        _ => Vec::new(),
    }
}

fn keys<'v>(tree: &'v Value, key: &str) -> Vec<&'v str> {
    entries(tree, key).into_iter().map(|(key, _)| key).collect()
}

fn entry<'v>(value: &'v Value, key: &str) -> Option<&'v Value> {
    let Data::Map(entries) = &value.data else {
        return None;
    };
    let entry = entries.iter().find(|entry| entry.key == key)?;
    Some(&entry.value)
}
