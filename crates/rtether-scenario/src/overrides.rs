//! Values replaced from outside: `--set flows.setpoint.period=1ms`.
//!
//! A path is keys and names joined by dots. A list item is given by its `name` or by its position
//! from 0, which may be in brackets: `links[3].rate`. Names may contain dots: the longest match
//! wins. A selector in brackets means several elements (`selector`). The last key may be new;
//! missing maps with fixed keys are created. The value is checked on
//! lowering like any other, and diagnostics point at the override.

use std::cell::Cell;

use super::change::Override;
use super::codes;
use super::diagnostic::{Diagnostic, Sink, Source, Span, quote};
use super::help::Help;
use super::selector::Selector;
use super::suggest;
use super::tree::{self, Data, Entry, MAX_VALUES, Value};

/// Maps that are created if missing; their keys are fixed, so a misspelling is still found.
const MADE: &[&str] = &[
    "design",
    "run",
    "generate",
    "substation",
    "tcp",
    "reply",
    "bursts",
    "outliers",
    "tasks",
    "priorities",
    "receive_queues",
    "transmit_queues",
    "smoother",
    "detector",
];

impl Override {
    /// Returns the text shown in diagnostics.
    pub(super) fn source(&self) -> Source {
        Source { name: self.flag.to_owned(), text: self.text() }
    }
}

/// A value to put at a path.
pub(super) struct Change {
    path: String,
    /// Where the path begins.
    start: Span,
    value: Value,
}

impl Change {
    /// Returns what an entry of a file says: its key is a path.
    pub(super) fn of(entry: Entry) -> Self {
        let key = entry.key_span;
        let width = usize::try_from(key.end.saturating_sub(key.start)).unwrap_or(0);
        // In quotation marks, or not.
        let lead = u32::from(width > entry.key.len());
        let start = Span { start: key.start + lead, ..key };
        Self { path: entry.key, start, value: entry.value }
    }

    /// Reads what an option says; mistakes go to `sink`.
    pub(super) fn read(change: &Override, source: u32, sink: &mut Sink) -> Option<Self> {
        let shift = u32::try_from(change.path.len() + 1).unwrap_or(0);
        let mut own = Sink::default();
        let value = tree::parse(source, &change.value, &mut own);
        for mut diagnostic in own.finish() {
            diagnostic.primary.span.start += shift;
            diagnostic.primary.span.end += shift;
            sink.push(diagnostic);
        }
        let mut value = value?;
        shift_spans(&mut value, shift);
        let start = Span { source, start: 0, end: 0 };
        let change = Self { path: change.path.clone(), start, value };
        let first = change.first();
        if ["include", "changes"].contains(&first) {
            let end = u32::try_from(first.len()).unwrap_or(0);
            let title = format!("`{first}` can only be written in a file");
            let label = "files are read before values are replaced";
            let span = Span { end, ..start };
            let wrong = Diagnostic::new(&codes::UNKNOWN_PATH, title, span, label);
            let help = "leave `changes.` away: `--set` takes the path itself";
            sink.push(wrong.help_if((first == "changes").then_some(help)));
            return None;
        }
        Some(change)
    }

    /// Returns the first key of the path.
    pub(super) fn first(&self) -> &str {
        self.path.split(['.', '[']).next().unwrap_or("")
    }

    /// Puts the value there.
    pub(super) fn put(self, root: &mut Value) -> Result<(), Box<Diagnostic>> {
        let path = Path::new(&self.path, self.start, root);
        path.put(root, 0, self.value)
    }
}

/// Returns where the value of a path stands, or the longest part of the path that is there.
pub(super) fn place(root: &Value, path: &str) -> Span {
    let (mut at, mut rest, mut span) = (root, path, root.span);
    while !rest.is_empty() {
        let Some((length, place, value)) = step(at, rest) else {
            break;
        };
        (at, span) = (value, place);
        rest = rest.get(length + 1..).unwrap_or("");
    }
    span
}

/// Returns the value at the end of a path, or the last that is there, and what is left of the path.
pub(super) fn reach<'v, 'p>(root: &'v Value, path: &'p str) -> (&'v Value, &'p str) {
    let (mut at, mut rest) = (root, path);
    while let Some((length, _, value)) = step(at, rest).filter(|_| !rest.is_empty()) {
        (at, rest) = (value, rest.get(length + 1..).unwrap_or(""));
    }
    (at, rest)
}

/// Returns the value at a path; `None` if nothing is there.
pub(super) fn find<'v>(root: &'v Value, path: &str) -> Option<&'v Value> {
    let (mut at, mut rest) = (root, path);
    while !rest.is_empty() {
        let (length, _, value) = step(at, rest)?;
        (at, rest) = (value, rest.get(length + 1..).unwrap_or(""));
    }
    Some(at)
}

/// Returns the entry or item with which a path goes on: the length of its name there, its place and
/// its value.
fn step<'v>(at: &'v Value, rest: &str) -> Option<(usize, Span, &'v Value)> {
    match &at.data {
        Data::Null | Data::Scalar(_) => None,
        Data::Map(entries) => {
            let found = entries.iter().filter_map(|entry| {
                Some((prefix(rest, &entry.key)?, entry.key_span, &entry.value))
            });
            found.max_by_key(|(length, _, _)| *length)
        }
        Data::List(items) => {
            let found = items.iter().enumerate().filter_map(|(number, item)| {
                let by_name = item.name().and_then(|name| prefix(rest, name));
                let position = || {
                    let number = number.to_string();
                    prefix(rest, &number).or_else(|| prefix(rest, &format!("{number}]")))
                };
                Some((by_name.or_else(position)?, item.span, item))
            });
            found.max_by_key(|(length, _, _)| *length)
        }
    }
}

/// Shifts the spans of a value by the length of `PATH=`.
fn shift_spans(value: &mut Value, shift: u32) {
    value.span.start += shift;
    value.span.end += shift;
    match &mut value.data {
        Data::Null | Data::Scalar(_) => {}
        Data::List(items) => items.iter_mut().for_each(|item| shift_spans(item, shift)),
        Data::Map(entries) => {
            for entry in entries {
                entry.key_span.start += shift;
                entry.key_span.end += shift;
                shift_spans(&mut entry.value, shift);
            }
        }
    }
}

struct Path<'p> {
    text: &'p str,
    /// Where the path begins.
    start: Span,
    /// Names of declared stacks, which nodes refer to.
    stacks: Vec<String>,
    /// Values that a selector may still add.
    left: Cell<usize>,
}

impl<'p> Path<'p> {
    fn new(text: &'p str, start: Span, root: &Value) -> Self {
        // Only a selector copies, and counting takes as long as the scenario is large.
        let may_select = text.contains('[') && text.contains(['*', '=']);
        let left = if may_select { MAX_VALUES.saturating_sub(root.count()) } else { 0 };
        Self { text, start, stacks: stacks(root), left: Cell::new(left) }
    }

    fn span(&self, start: usize, end: usize) -> Span {
        let limit = |at: usize| {
            let at = u32::try_from(at).unwrap_or(u32::MAX);
            self.start.start.saturating_add(at)
        };
        Span { source: self.start.source, start: limit(start), end: limit(end) }
    }

    fn put(&self, at: &mut Value, offset: usize, value: Value) -> Result<(), Box<Diagnostic>> {
        let rest = &self.text[offset..];
        if self.text[..offset].ends_with('[')
            && let Some(selector) = Selector::parse(rest)
        {
            return self.put_in_selected(at, offset, &selector, &value);
        }
        match &mut at.data {
            Data::Map(entries) => self.put_in_map(entries, offset, value),
            Data::List(items) => {
                let found = items
                    .iter()
                    .enumerate()
                    .filter_map(|(n, item)| {
                        let by_name = item.name().and_then(|name| prefix(rest, name));
                        let position = if self.text[..offset].ends_with('[') {
                            format!("{n}]")
                        } else {
                            n.to_string()
                        };
                        by_name.or_else(|| prefix(rest, &position)).map(|len| (len, n))
                    })
                    .max_by_key(|&(length, n)| (length, std::cmp::Reverse(n)));
                let Some((length, position)) = found else {
                    let names: Vec<&str> = items.iter().filter_map(Value::name).collect();
                    let unknown = self.unknown(offset, &names);
                    let count = items.len();
                    let positions = format!("positions go from 0 to {}", count.max(1) - 1);
                    let has_positions = names.is_empty() && count > 0;
                    return Err(Box::new(unknown.help_if(has_positions.then_some(positions))));
                };
                if offset + length == self.text.len() {
                    items[position] = value;
                    return Ok(());
                }
                self.put(&mut items[position], offset + length + 1, value)
            }
            Data::Null => {
                at.data = Data::Map(Vec::new());
                self.put(at, offset, value)
            }
            Data::Scalar(text) => {
                let title = format!("{} has no parts", quote(&self.text[..offset.max(1) - 1]));
                let label = format!("its value is {}", quote(text));
                let span = self.span(offset, self.text.len());
                let declared = self.stacks.iter().any(|stack| stack == text);
                let rest = &self.text[offset.min(self.text.len())..];
                let help = format!("it is declared elsewhere: write `stacks.{text}.{rest}`");
                Err(Box::new(
                    Diagnostic::new(&codes::UNKNOWN_PATH, title, span, label)
                        .help_if(declared.then_some(help)),
                ))
            }
        }
    }

    /// Puts a value into all elements that a selector means; none is a mistake.
    fn put_in_selected(
        &self,
        at: &mut Value,
        offset: usize,
        selector: &Selector<'_>,
        value: &Value,
    ) -> Result<(), Box<Diagnostic>> {
        let end = offset + selector.length;
        let mut elements: Vec<(Option<&str>, &mut Value)> = match &mut at.data {
            Data::Null | Data::Scalar(_) => Vec::new(),
            Data::List(items) => items.iter_mut().map(|item| (None, item)).collect(),
            Data::Map(entries) => {
                entries.iter_mut().map(|own| (Some(own.key.as_str()), &mut own.value)).collect()
            }
        };
        let mut is_met = false;
        for (name, element) in &mut elements {
            if !selector.selects(*name, element) {
                continue;
            }
            is_met = true;
            let value = self.copy(value, offset)?;
            if end == self.text.len() {
                **element = value;
            } else {
                self.put(element, end + 1, value)?;
            }
        }
        if is_met {
            return Ok(());
        }
        let elements: Vec<_> =
            elements.into_iter().map(|(name, element)| (name, &*element)).collect();
        let help = selector.missed(&elements).map(|(key, wanted, known)| {
            if let Some(near) = suggest::nearest_name(wanted, known.iter().copied()) {
                return format!("did you mean {}?", quote(near));
            }
            let listed: Vec<String> = known.iter().take(8).map(|own| quote(own)).collect();
            match listed[..] {
                [] => format!("none has {} in the file", quote(key)),
                _ => format!("{} is {}", quote(key), listed.join(", ")),
            }
        });
        let title = format!("nothing meets {}", quote(&self.text[..end]));
        let label = "a value that is not written in the file matches nothing";
        let wrong = Diagnostic::new(&codes::UNKNOWN_PATH, title, self.span(offset, end - 1), label);
        Err(Box::new(wrong.help_if(help)))
    }

    /// Copies a value for one of several elements, as long as the scenario stays small enough.
    fn copy(&self, value: &Value, offset: usize) -> Result<Value, Box<Diagnostic>> {
        if let Some(left) = self.left.get().checked_sub(value.count()) {
            self.left.set(left);
            return Ok(value.clone());
        }
        let title = "the scenario gets too many values".to_owned();
        let label = "this value is copied into each element";
        let span = self.span(offset, self.text.len());
        Err(Box::new(Diagnostic::new(&codes::TOO_LARGE, title, span, label)))
    }

    fn put_in_map(
        &self,
        entries: &mut Vec<Entry>,
        offset: usize,
        value: Value,
    ) -> Result<(), Box<Diagnostic>> {
        let rest = &self.text[offset..];
        let found = entries
            .iter()
            .enumerate()
            .filter_map(|(n, entry)| prefix(rest, &entry.key).map(|length| (length, n)))
            .max();
        if let Some((length, position)) = found {
            let entry = &mut entries[position];
            if offset + length == self.text.len() {
                entry.key_span = self.span(offset, self.text.len());
                entry.value = value;
                return Ok(());
            }
            return self.put(&mut entry.value, offset + length + 1, value);
        }
        let (key, more) = rest.split_once(['.', '[']).unwrap_or((rest, ""));
        let last = key.len() == rest.len();
        let collection = ["nodes", "switches", "routers", "hubs", "stacks", "flows", "links"];
        // `nodes.hmi2=...` would declare a node without a link; a misspelling is more likely.
        let in_collection = self.text[..offset].trim_end_matches(['.', '[']);
        if key.is_empty()
            || collection.contains(&in_collection)
            || !(last || (MADE.contains(&key) && !more.is_empty()))
        {
            let keys: Vec<&str> = entries.iter().map(|entry| entry.key.as_str()).collect();
            return Err(self.unknown(offset, &keys));
        }
        let mut entry = Entry {
            key: key.to_owned(),
            key_span: self.span(offset, offset + key.len()),
            value: Value {
                span: self.span(offset, offset + key.len()),
                data: Data::Map(Vec::new()),
            },
        };
        if last {
            entry.value = value;
        } else {
            self.put(&mut entry.value, offset + key.len() + 1, value)?;
        }
        entries.push(entry);
        Ok(())
    }

    fn unknown(&self, offset: usize, known: &[&str]) -> Box<Diagnostic> {
        let word = self.text[offset..].split(['.', '[', ']']).next();
        let word = word.unwrap_or("");
        let place = match self.text[..offset].trim_end_matches(['.', '[']) {
            "" => "the scenario".to_owned(),
            parent => quote(parent),
        };
        let near = suggest::nearest_name(word, known.iter().copied());
        let listed: Vec<String> = known.iter().take(8).map(|name| quote(name)).collect();
        let help = match near {
            Some(near) => Help::did_you_mean(near),
            None => format!("there are {}", listed.join(", ")).into(),
        };
        let title = format!("{place} has no {}", quote(word));
        let span = self.span(offset, offset + word.len());
        let label = "names are as in the file";
        Box::new(
            Diagnostic::new(&codes::UNKNOWN_PATH, title, span, label)
                .help_if((!known.is_empty()).then_some(help)),
        )
    }
}

/// Returns the length of `name` if the path starts with it as a whole component.
fn prefix(path: &str, name: &str) -> Option<usize> {
    let rest = path.strip_prefix(name)?;
    (!name.is_empty() && (rest.is_empty() || rest.starts_with(['.', '[']))).then_some(name.len())
}

/// Returns the names of the stacks that a scenario declares.
fn stacks(root: &Value) -> Vec<String> {
    let Data::Map(entries) = &root.data else {
        return Vec::new();
    };
    let stacks = entries.iter().find(|entry| entry.key == "stacks");
    match stacks.map(|entry| &entry.value.data) {
        Some(Data::Map(stacks)) => stacks.iter().map(|stack| stack.key.clone()).collect(),
        Some(Data::Null | Data::Scalar(_) | Data::List(_)) | None => Vec::new(),
    }
}
