//! Flows that one path means: those that have the same value under a key of the scenario.

use std::collections::BTreeMap;

use super::stacks::{entry, has_selector};
use crate::scenario::{Data, Scenario, Value, Written};

/// Keys whose values order flows.
const KEYS: [&str; 2] = ["deadline", "period"];
/// Most values of a key: with more of them a path means few flows.
const MOST_VALUES: usize = 64;

/// Returns paths that mean several flows, with these: all, and those of each value.
pub(super) fn alike(scenario: &Scenario, written: &Written) -> Vec<(String, Vec<usize>)> {
    let mut found = vec![("flows[*]".to_owned(), (0..scenario.flows.len()).collect())];
    // Files, generators and changes all give flows their values.
    let tree = written.tree();
    let Some(Data::List(items)) =
        tree.as_ref().and_then(|tree| entry(tree, "flows")).map(|own| &own.data)
    else {
        return found;
    };
    if items.len() != scenario.flows.len() {
        return found;
    }
    for key in KEYS {
        let mut groups: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (number, item) in items.iter().enumerate() {
            if let Some(value) = scalar(item, key).filter(|own| !has_selector(own)) {
                groups.entry(value).or_default().push(number);
            }
        }
        if groups.len() <= MOST_VALUES {
            let several = groups.into_iter().filter(|(_, flows)| flows.len() > 1);
            found.extend(several.map(|(value, flows)| (format!("flows[{key}={value}]"), flows)));
        }
    }
    found
}

fn scalar<'v>(item: &'v Value, key: &str) -> Option<&'v str> {
    match &entry(item, key)?.data {
        Data::Scalar(text) => Some(text),
        Data::Null | Data::List(_) | Data::Map(_) => None,
    }
}
