//! What is assumed, and what it is about.

use std::collections::BTreeMap;

use rtether_model::flow::FlowId;
use rtether_model::network::NodeId;

use super::Plant;
use crate::device::Place;
use crate::diagnostic::quote;
use crate::keys::table::ASSUMED;
use crate::overrides;
use crate::plan::{About, Assumption, Assumptions, Identified};
use crate::reader::{Fields, Reader};
use crate::tree::{Data, Entry, Value};

/// Reads `assumed:`, and what is known from profiles; `root` is the scenario after all changes.
pub(crate) fn assumed(
    reader: &mut Reader<'_>,
    top: &Fields<'_>,
    (root, places): (&Value, &[Place]),
    plant: &Plant,
) -> Assumptions {
    let mut found = Assumptions::default();
    let entries = reader.named(top, "assumed");
    if entries.is_empty() && places.is_empty() {
        return found;
    }
    let names = Names::new(root, plant);
    found.identified = identified(&names, places);
    for entry in entries {
        let owner = format!("assumption {}", quote(&entry.key));
        let Some(fields) = reader.fields(&entry.value, &ASSUMED, owner, entry.key_span) else {
            continue;
        };
        // Both are asked for before either answer counts, so that each missing one is reported.
        let given = reader.require(&fields, "is") & reader.require(&fields, "why");
        let why = reader.scalar(&fields, "why");
        let (true, Some(is), Some(why)) = (given, fields.get("is"), why) else {
            continue;
        };
        let now = names.value(&entry.key);
        if now.is_some_and(|now| is_same(now, &is.value)) {
            found.held.push(Assumption {
                path: entry.key.clone(),
                value: flow_style(&is.value),
                why: why.value.to_owned(),
                about: names.about(&entry.key),
            });
        } else {
            found.ended.push(entry.key.clone());
        }
    }
    found
}

/// Returns the stacks that come from profiles, unless a change has replaced them.
fn identified(names: &Names<'_>, places: &[Place]) -> Vec<Identified> {
    let there = places
        .iter()
        .filter(|place| names.value(&place.path).is_some_and(|now| is_of(now, place.source)));
    let found = there.map(|place| Identified {
        path: place.path.clone(),
        file: place.file.clone(),
        about: names.about(&place.path),
    });
    found.collect()
}

/// Returns whether a value, or a part of it, is from a file.
fn is_of(value: &Value, source: u32) -> bool {
    value.span.source == source
        || match &value.data {
            Data::Map(entries) => entries.iter().any(|own| own.value.span.source == source),
            Data::Null | Data::Scalar(_) | Data::List(_) => false,
        }
}

/// Returns whether a value is still the one that was assumed, from the same file.
fn is_same(now: &Value, assumed: &Value) -> bool {
    if now.span.source != assumed.span.source {
        return false;
    }
    match (&now.data, &assumed.data) {
        (Data::Null, Data::Null) => true,
        (Data::Scalar(one), Data::Scalar(other)) => one == other,
        (Data::List(one), Data::List(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(a, b)| is_same(a, b))
        }
        (Data::Map(one), Data::Map(other)) => {
            let value = |key: &str| other.iter().find(|entry| entry.key == key);
            let is_there = |entry: &Entry| {
                value(&entry.key).is_some_and(|own| is_same(&entry.value, &own.value))
            };
            one.len() == other.len() && one.iter().all(is_there)
        }
        _ => false,
    }
}

/// Returns a value on one line.
fn flow_style(value: &Value) -> String {
    match &value.data {
        Data::Null => String::new(),
        Data::Scalar(text) => text.clone(),
        Data::List(items) => {
            let items: Vec<String> = items.iter().map(flow_style).collect();
            format!("[{}]", items.join(", "))
        }
        Data::Map(entries) => {
            let own = |entry: &Entry| format!("{}: {}", entry.key, flow_style(&entry.value));
            let entries: Vec<String> = entries.iter().map(own).collect();
            format!("{{ {} }}", entries.join(", "))
        }
    }
}

/// What the paths lead to, found by name: scenarios may have many thousands of them.
pub(super) struct Names<'p> {
    root: &'p Value,
    plant: &'p Plant,
    /// By section: what it has under each name, or number.
    sections: BTreeMap<&'p str, BTreeMap<String, &'p Value>>,
    /// By stack: the nodes that have it.
    stacks: BTreeMap<&'p str, Vec<NodeId>>,
    flows: BTreeMap<&'p str, FlowId>,
}

impl<'p> Names<'p> {
    pub(super) fn new(root: &'p Value, plant: &'p Plant) -> Self {
        let mut sections = BTreeMap::new();
        if let Data::Map(entries) = &root.data {
            for entry in entries {
                sections.insert(entry.key.as_str(), named(&entry.value));
            }
        }
        let mut stacks: BTreeMap<&str, Vec<NodeId>> = BTreeMap::new();
        for (node, value) in sections.get("nodes").into_iter().flatten() {
            let stack = overrides::find(value, "stack").map(|own| &own.data);
            if let (Some(Data::Scalar(stack)), Some(id)) = (stack, plant.find(node)) {
                stacks.entry(stack).or_default().push(id);
            }
        }
        let flows = (0u32..).map(FlowId).zip(&plant.flows);
        Self {
            root,
            plant,
            sections,
            stacks,
            flows: flows.map(|(id, flow)| (flow.name.as_str(), id)).collect(),
        }
    }

    /// Returns the value at a path.
    fn value(&self, path: &str) -> Option<&'p Value> {
        let (section, rest) = path.split_once('.').unwrap_or((path, ""));
        let own = self.sections.get(section)?;
        let found = prefixes(rest).find_map(|name| Some((name, *own.get(name)?)));
        match found {
            None => overrides::find(self.root, path),
            Some((name, value)) => overrides::find(value, rest.get(name.len() + 1..).unwrap_or("")),
        }
    }

    /// Returns what a path is about.
    pub(super) fn about(&self, path: &str) -> About {
        let (section, rest) = path.split_once('.').unwrap_or((path, ""));
        match section {
            "stacks" => {
                let nodes = prefixes(rest).find_map(|name| self.stacks.get(name));
                About::Nodes(nodes.cloned().unwrap_or_default())
            }
            "nodes" | "switches" | "routers" | "hubs" => {
                let node = prefixes(rest).find_map(|name| self.plant.find(name));
                About::Nodes(node.into_iter().collect())
            }
            "links" => {
                let number = rest.split(['.', ']']).next().unwrap_or("");
                let links = &self.plant.network.links;
                let link = number.parse().ok().and_then(|n: usize| links.get(n));
                let ends = link.map(|link| link.ends.map(|end| end.node).to_vec());
                About::Nodes(ends.unwrap_or_default())
            }
            "flows" => {
                let flow = prefixes(rest).find_map(|name| self.flows.get(name));
                flow.map_or(About::Plant, |id| About::Flow(*id))
            }
            _ => About::Plant,
        }
    }
}

/// Returns what a section has by name, or by number if it has none.
fn named<'v>(section: &'v Value) -> BTreeMap<String, &'v Value> {
    match &section.data {
        Data::Null | Data::Scalar(_) => BTreeMap::new(),
        Data::Map(entries) => {
            let entries = entries.iter();
            entries.map(|own| (own.key.clone(), &own.value)).collect()
        }
        Data::List(items) => {
            let items = items.iter().enumerate();
            let name = |(number, item): (usize, &'v Value)| {
                let name = item.name().map(str::to_owned);
                (name.unwrap_or_else(|| number.to_string()), item)
            };
            items.map(name).collect()
        }
    }
}

/// Returns a path and its beginnings of whole components, the longest first.
fn prefixes(path: &str) -> impl Iterator<Item = &str> {
    core::iter::successors(Some(path), |path| {
        let path: &str = path;
        path.rfind(['.', '[']).map(|end| &path[..end])
    })
}
