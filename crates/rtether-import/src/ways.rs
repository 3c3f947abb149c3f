//! Ways through a network whose links close rings.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The nodes that links lead to, by node. No node has an empty name.
pub(crate) type Neighbors = BTreeMap<String, BTreeSet<String>>;

/// Returns the shortest way between two nodes, in which each node is the first of those that are
/// equally near.
pub(crate) fn way<'n>(neighbors: &'n Neighbors, from: &str, to: &str) -> Option<Vec<&'n str>> {
    let (from, _) = neighbors.get_key_value(from)?;
    let mut before: BTreeMap<&str, &str> = BTreeMap::from([(from.as_str(), "")]);
    let mut next = VecDeque::from([from.as_str()]);
    while let Some(node) = next.pop_front() {
        if node == to {
            break;
        }
        for neighbor in neighbors.get(node)? {
            if !before.contains_key(neighbor.as_str()) {
                before.insert(neighbor, node);
                next.push_back(neighbor);
            }
        }
    }
    let mut way = vec![*before.get_key_value(to)?.0];
    while let Some(&node) = way.last().and_then(|last| before.get(last)) {
        if node.is_empty() {
            break;
        }
        way.push(node);
    }
    way.reverse();
    Some(way)
}
