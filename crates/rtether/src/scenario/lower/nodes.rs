//! End stations.

use rtether_model::network::{EndStation, NodeKind};

use super::stacks::{self, Profile};
use super::{Plant, check_name};
use crate::scenario::codes;
use crate::scenario::diagnostic::{Diagnostic, quote};
use crate::scenario::keys::table::{NODE, STACK};
use crate::scenario::reader::{Fields, Reader};
use crate::scenario::suggest;
use crate::scenario::tree::Data;
use std::collections::BTreeMap;

pub(in crate::scenario) use stacks::{default_interval, station_of_interval};

/// Reads `stacks:` and `nodes:`.
pub(in crate::scenario) fn nodes(reader: &mut Reader<'_>, top: &Fields<'_>, plant: &mut Plant) {
    let mut profiles = stacks::stacks(reader, top);
    let errors = reader.sink.errors();
    let entries = reader.named(top, "nodes");
    plant.names_are_missing |= reader.sink.errors() > errors;
    for entry in entries {
        check_name(reader, "node", &entry.key, entry.key_span, &[':', '*']);
        let owner = format!("node {}", quote(&entry.key));
        let station = reader
            .fields(&entry.value, &NODE, owner, entry.key_span)
            .and_then(|fields| station(reader, &fields, &mut profiles));
        // A node with mistakes still has a name that links and flows may use.
        let station = station.unwrap_or_else(stacks::zero);
        let kind = NodeKind::EndStation(station);
        plant.add_node(reader, &entry.key, entry.key_span, kind);
    }
    // After a mistake the stack may well be meant for the node that has it.
    if reader.sink.errors() > 0 {
        return;
    }
    for (name, profile) in &profiles {
        if !profile.used && name != "zero" {
            let title = format!("no node has the stack {}", quote(name));
            reader.report(Diagnostic::new(
                &codes::UNUSED_STACK,
                title,
                profile.span,
                "declared here",
            ));
        }
    }
}

fn station(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    profiles: &mut BTreeMap<String, Profile>,
) -> Option<EndStation> {
    let mut station = None;
    if !fields.has("stack") {
        let title = format!("{} has no `stack`", fields.owner);
        let declared: Vec<String> = profiles.keys().take(5).map(|name| quote(name)).collect();
        let label = "what its protocol stack costs is not said";
        let names = match declared.len() {
            0 => String::new(),
            _ => format!("declared stacks are {}", declared.join(", ")),
        };
        reader.report(
            Diagnostic::new(&codes::MISSING_KEY, title, fields.at, label)
                .help("add `stack: zero` for a node that takes no time")
                .help_if((!names.is_empty()).then_some(names)),
        );
    } else if let Some(Data::Map(_)) = fields.get("stack").map(|entry| &entry.value.data) {
        let inner = reader.one(fields, "stack", &STACK)?;
        station = stacks::stack(reader, &inner);
    } else if let Some(name) = reader.scalar(fields, "stack") {
        station = match profiles.get_mut(name.value) {
            Some(profile) => {
                profile.used = true;
                Some(profile.station.clone())
            }
            None if name.value == "zero" => Some(stacks::zero()),
            None => {
                let known = profiles.keys().map(String::as_str).chain(["zero"]);
                let near = (!reader.sink.is_full())
                    .then(|| suggest::nearest_name(name.value, known.clone()))
                    .flatten();
                let list: Vec<String> = known.take(8).map(quote).collect();
                let help = near.map_or_else(
                    || format!("known stacks are {}", list.join(", ")),
                    |near| format!("did you mean `stack: {near}`?"),
                );
                let title = format!("no stack named {}", quote(name.value));
                let label = format!("stack of {}", fields.owner);
                reader.report(
                    Diagnostic::new(&codes::UNKNOWN_STACK, title, name.span, label).help(help),
                );
                None
            }
        };
    }
    let mut result = station.unwrap_or_else(stacks::zero);
    stacks::queues(reader, fields, &mut result);
    Some(result)
}
