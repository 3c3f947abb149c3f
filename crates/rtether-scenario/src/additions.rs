//! Flows added from outside: `rtether admit SCENARIO FLOW`.
//!
//! The text holds one flow, a list of flows, or a map with a list under `flows`, in scenario
//! syntax. Its flows are put into the scenario's tree before lowering, so every check of the loader
//! applies and points into the text.

use super::codes;
use super::diagnostic::{Diagnostic, Sink, Source, Span};
use super::tree::{self, Data, Entry, Value};

/// Adds the flows of a text to those of the scenario.
pub(super) fn apply(root: &mut Value, source: u32, text: &Source, sink: &mut Sink) {
    let Some(value) = tree::parse(source, &text.text, sink) else {
        return;
    };
    let start = Span {
        end: value.span.start,
        ..value.span
    };
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
            value: Value {
                span: start,
                data: Data::List(added),
            },
        }),
    }
}

fn flows_of(value: Value) -> Vec<Value> {
    match value.data {
        Data::Null => Vec::new(),
        Data::List(items) => items,
        Data::Map(entries) if entries.len() == 1 && entries[0].key == "flows" => entries
            .into_iter()
            .flat_map(|e| flows_of(e.value))
            .collect(),
        Data::Scalar(_) | Data::Map(_) => vec![value],
    }
}
