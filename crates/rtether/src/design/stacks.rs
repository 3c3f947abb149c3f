//! Which nodes have which stack, as the scenario says it: the model has only what follows.

use std::collections::BTreeMap;

use rtether_model::network::NodeId;

use crate::scenario::{Data, Scenario, Value, Written};

/// Nodes by the path of their stack.
pub(super) struct Stacks {
    /// Path of what the nodes have in common, and the nodes.
    shared: Vec<(String, Vec<NodeId>)>,
}

impl Stacks {
    pub(super) fn new(scenario: &Scenario, written: &Written) -> Self {
        // Files, generators and changes all give nodes a stack.
        let tree = written.tree();
        let tree = tree.as_ref();
        let declared: Vec<&str> = entries(tree, "stacks").map(|(name, _)| name).collect();
        let mut nodes: BTreeMap<&str, Vec<NodeId>> = BTreeMap::new();
        for (name, node) in entries(tree, "nodes") {
            let stack = entry(node, "stack").map(|own| &own.data);
            if let (Some(Data::Scalar(stack)), Some(id)) = (stack, scenario.network.find(name)) {
                nodes.entry(stack.as_str()).or_default().push(id);
            }
        }
        let shared = nodes.into_iter().filter_map(|(stack, nodes)| {
            if declared.contains(&stack) {
                Some((format!("stacks.{stack}"), nodes))
            } else if nodes.len() > 1 && !has_selector(stack) {
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
fn entries<'v>(
    tree: Option<&'v Value>,
    key: &str,
) -> impl Iterator<Item = (&'v str, &'v Value)> + use<'v> {
    let own = tree.and_then(|tree| entry(tree, key)).map(|own| &own.data);
    let entries = if let Some(Data::Map(entries)) = own { &entries[..] } else { &[] };
    entries.iter().map(|own| (own.key.as_str(), &own.value))
}

/// Returns whether a text has signs of a selector, which cannot tell them from its own.
pub(super) fn has_selector(text: &str) -> bool {
    text.contains(['[', ']', '*', '='])
}

/// Returns the value of a key.
pub(super) fn entry<'v>(value: &'v Value, key: &str) -> Option<&'v Value> {
    let Data::Map(entries) = &value.data else {
        return None;
    };
    let entry = entries.iter().find(|entry| entry.key == key)?;
    Some(&entry.value)
}
