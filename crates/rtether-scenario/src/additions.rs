//! Flows added from outside: `rtether admit SCENARIO FLOW`.
//!
//! The text holds one flow, a list of flows, or a map with a list under `flows`, in scenario
//! syntax. Its flows are put into the scenario's tree before lowering, so every check of the loader
//! applies and points into the text.

use super::codes::{self, Severity};
use super::device::Place;
use super::diagnostic::{Diagnostic, Sink, Source, Span};
use super::lower_all;
use super::plan::Scenario;
use super::reader::Reader;
use super::tree::{self, Data, Entry, Value};

/// Adds the flows of a text to those of the scenario.
pub(super) fn apply(root: &mut Value, source: u32, text: &Source, sink: &mut Sink) {
    let Some(value) = tree::parse(source, &text.text, sink) else {
        return;
    };
    let start = Span { end: value.span.start, ..value.span };
    let added = flows_of(value);
    if added.is_empty() {
        let title = format!("no flow found in `{}`", text.name);
        let help = "write for example `{ name: setpoint, from: plc1, to: drive1, period: 2 ms, \
                    size: 64 B }`";
        sink.push(Diagnostic::new(&codes::MISSING_KEY, title, start, "").help(help));
        return;
    }
    // Mistakes in the scenario itself are reported when it is lowered.
    let Data::Map(entries) = &mut root.data else {
        return;
    };
    let found = entries.iter_mut().find(|entry| entry.key == "flows");
    match found.map(|entry| &mut entry.value.data) {
        Some(Data::List(items)) => items.extend(added),
        Some(data @ Data::Null) => *data = Data::List(added),
        Some(Data::Scalar(_) | Data::Map(_)) => {}
        None => entries.push(Entry {
            key: "flows".to_owned(),
            key_span: start,
            value: Value { span: start, data: Data::List(added) },
        }),
    }
}

/// Reads the file without added flows. It may have no flow at all, and its `accept`, which may name a
/// flow that is to be added, is left out.
pub(super) fn without(
    mut file: Value,
    sources: &[Source],
    places: &[Place],
    source_name: &str,
) -> Result<Scenario, Vec<Diagnostic>> {
    if let Data::Map(entries) = &mut file.data {
        entries.retain(|entry| entry.key != "accept");
    }
    let mut reader = Reader::new(Sink::default(), sources);
    let lowered = lower_all(&mut reader, &file, places, source_name);
    let is_mistake = |own: &Diagnostic| {
        own.severity == Severity::Error && own.code != codes::NOTHING_TO_RUN.name
    };
    let mistakes = reader.sink.finish().into_iter().filter(is_mistake);
    match (lowered, mistakes.collect::<Vec<_>>()) {
        (Some((scenario, _)), mistakes) if mistakes.is_empty() => Ok(scenario),
        (_, mistakes) => Err(mistakes),
    }
}

fn flows_of(value: Value) -> Vec<Value> {
    match value.data {
        Data::Null => Vec::new(),
        Data::List(items) => items,
        Data::Map(entries) if entries.len() == 1 && entries[0].key == "flows" => {
            entries.into_iter().flat_map(|e| flows_of(e.value)).collect()
        }
        Data::Scalar(_) | Data::Map(_) => vec![value],
    }
}
