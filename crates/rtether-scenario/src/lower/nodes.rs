//! End stations.

use rtether_model::network::{EndStation, NodeKind};
use rtether_model::smoother::Mode;

use super::offers::Offer;
use super::stacks::{self, Declared, Station};
use super::{Plant, Ruled, check_name};
use crate::codes;
use crate::device::is_file;
use crate::diagnostic::{Diagnostic, Span, quote};
use crate::help::Help;
use crate::keys::table::{NODE, STACK};
use crate::profiles::{self, PROFILES};
use crate::reader::{At, Fields, Reader};
use crate::suggest;
use crate::tree::Data;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Reads `stacks:` and `nodes:`.
pub(crate) fn nodes(reader: &mut Reader<'_>, top: &Fields<'_>, plant: &mut Plant) {
    let mut declared = stacks::stacks(reader, top);
    let errors = reader.sink.errors();
    let entries = reader.named(top, "nodes");
    reader.names_are_missing |= reader.sink.errors() > errors;
    for entry in entries {
        check_name(reader, "node", &entry.key, entry.key_span, &[':', '*']);
        let owner = format!("node {}", quote(&entry.key));
        let fields = reader.fields(&entry.value, &NODE, owner, entry.key_span);
        let offer = fields.as_ref().map(|fields| Offer::read(reader, fields)).unwrap_or_default();
        let station = fields.and_then(|fields| station(reader, &fields, &mut declared));
        // A node with mistakes still has a name that links and flows may use.
        let (mut station, spans) = station.unwrap_or_else(|| (stacks::zero(), None));
        seed_smoother(&mut station, plant.network.nodes.len());
        let kind = NodeKind::EndStation(station);
        let added = plant.add_node(reader, &entry.key, entry.key_span, kind);
        if let Some(node) = added {
            plant.offers.add(node, 0..0, offer);
        }
        plant.ruled.extend(added.zip(spans).map(|(node, spans)| Ruled {
            node,
            ports: None,
            spans,
        }));
    }
    // After a mistake the stack may belong to the node that has it.
    if reader.sink.errors() > 0 {
        return;
    }
    for (name, stack) in &declared {
        if !stack.used && name != "zero" {
            let title = format!("no node has the stack {}", quote(name));
            reader.report(Diagnostic::new(
                &codes::UNUSED_STACK,
                title,
                stack.span,
                "declared here",
            ));
        }
    }
}

/// Gives each smoother with a random period its own seed, so that stations do not run in lockstep.
fn seed_smoother(station: &mut EndStation, position: usize) {
    if let Some(smoothing) = station.layer.as_mut().and_then(|l| l.smoother.as_mut())
        && let Mode::Nt(nt) = &mut smoothing.config.mode
    {
        nt.seed = u64::try_from(position).unwrap_or(u64::MAX);
    }
}

/// Returns a station, and where its header rules are written if it has any.
fn station(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    declared: &mut BTreeMap<String, Declared>,
) -> Option<(EndStation, Option<Rc<[Span]>>)> {
    let mut station = None;
    if !fields.has("stack") {
        let title = format!("{} has no `stack`", fields.owner);
        let some: Vec<String> = declared.keys().take(5).map(|name| quote(name)).collect();
        let label = "the cost of its protocol stack is missing";
        let names = match some.len() {
            0 => String::new(),
            _ => format!("declared stacks are {}", some.join(", ")),
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
        station = by_name(reader, fields, declared, name);
    }
    let mut result = station.unwrap_or_else(|| stacks::zero().into());
    stacks::settings(reader, fields, &mut result);
    // The nodes of one stack give equal messages, of which one stays.
    if let Some((span, owner)) = result.parts.idle_priorities() {
        let title = "`priorities` has no meaning without priority queues";
        let label = format!("of {owner}");
        reader.report(
            Diagnostic::new(&codes::MISPLACED_KEY, title, span, label)
                .help(Help::add("transmit_queues: { strategy: strict }"))
                .help("or `receive_queues: { selection: highest-first }`"),
        );
    }
    let spans = result.parts.rule_spans();
    Some((result.model, spans))
}

/// Returns the stack with this name: declared, `zero`, or built in.
fn by_name(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    declared: &mut BTreeMap<String, Declared>,
    At { value: name, span }: At<&str>,
) -> Option<Station> {
    if let Some(stack) = declared.get_mut(name) {
        stack.used = true;
        return Some(stack.station.clone());
    }
    if name == "zero" {
        return Some(stacks::zero().into());
    }
    if let Some(profile) = profiles::find(name) {
        return Some(profile.station().into());
    }
    // Why there is none has been told where the file was to be read.
    if is_file(name) {
        return None;
    }
    let built_in = PROFILES.iter().map(|profile| profile.name);
    let known = declared.keys().map(String::as_str).chain(["zero"]);
    let near = (!reader.sink.is_full())
        .then(|| suggest::nearest_name(name, known.clone().chain(built_in)))
        .flatten();
    let list: Vec<String> = known.take(8).map(quote).collect();
    let help = near.map_or_else(
        || format!("known stacks are {}", list.join(", ")).into(),
        |near| Help::did_you_mean(format!("stack: {near}")),
    );
    let title = format!("no stack named {}", quote(name));
    let label = format!("stack of {}", fields.owner);
    reader.report(Diagnostic::new(&codes::UNKNOWN_STACK, title, span, label).help(help));
    None
}
