//! Generators of whole plants. They write keys and values, which are read like those of an included
//! file, so that changes, selectors and exports meet what they make.

use super::diagnostic::{Sink, Source, Span};
use super::include;
use super::keys::table::GENERATE;
use super::lower;
use super::reader::Reader;
use super::tree::{Data, Entry, Value};
use super::units::{self, Quantity};
use rtether_model::quantity::Duration;

mod substation;

/// Adds to a scenario what its `generate` means; returns whether nothing is missing.
pub(super) fn expand(root: &mut Value, sources: &[Source], sink: &mut Sink) -> bool {
    let Some(generate) = find(root, "generate") else {
        return true;
    };
    let mut reader = Reader::new(std::mem::take(sink), sources);
    let errors = reader.sink.errors();
    let owner = "`generate` of the scenario".to_owned();
    let fields = reader.fields(&generate.value, &GENERATE, owner, generate.key_span);
    let part = fields.and_then(|fields| substation::part(&mut reader, &fields, root));
    let is_generated = reader.sink.errors() == errors;
    *sink = reader.sink;
    if let Some(part) = part.filter(|_| is_generated) {
        include::absorb(root, part, sink);
    }
    is_generated
}

fn find<'v>(at: &'v Value, key: &str) -> Option<&'v Entry> {
    let Data::Map(entries) = &at.data else {
        return None;
    };
    entries.iter().find(|entry| entry.key == key)
}

/// Returns how long a run takes; a wrong value is reported when it is read.
fn length_of_run(root: &Value) -> Duration {
    let length = find(root, "run").and_then(|run| find(&run.value, "for"));
    let written = length.and_then(|length| match &length.value.data {
        Data::Scalar(text) => units::read(text, Quantity::Time).ok(),
        Data::Null | Data::List(_) | Data::Map(_) => None,
    });
    written.map_or(lower::DEFAULT_LENGTH, super::reader::picoseconds)
}

/// Returns a time in its largest whole unit.
fn exact(time: Duration) -> String {
    let units = [(1_000_000_000_000, "s"), (1_000_000_000, "ms"), (1_000_000, "us"), (1_000, "ns")];
    let whole = units.into_iter().find(|(unit, _)| time.as_ps() % unit == 0);
    let (unit, name) = whole.unwrap_or((1, "ps"));
    format!("{} {name}", time.as_ps() / unit)
}

/// Writes values that all stand in one place.
#[derive(Clone, Copy)]
struct Pen(Span);

impl Pen {
    fn value(self, data: Data) -> Value {
        Value { span: self.0, data }
    }

    fn text(self, text: impl Into<String>) -> Value {
        self.value(Data::Scalar(text.into()))
    }

    fn list(self, items: Vec<Value>) -> Value {
        self.value(Data::List(items))
    }

    fn entry(self, key: impl Into<String>, value: Value) -> Entry {
        Entry { key: key.into(), key_span: self.0, value }
    }

    fn map<const N: usize>(self, entries: [(&str, Value); N]) -> Value {
        let entries = entries.into_iter().map(|(key, value)| self.entry(key, value));
        self.value(Data::Map(entries.collect()))
    }
}
