//! A YAML document as a tree in which every key and value knows its place.
//!
//! Only this module uses the YAML library. It reads the library's events rather than deserializing
//! into types, so that all mistakes of a file are reported at once, with the places of keys and
//! values. Input is untrusted: size, depth, number of values and expansion of aliases are limited.

use std::collections::{BTreeMap, BTreeSet};

use serde_saphyr::granit_parser::{Event, Options, Parser, ScalarStyle, ScanError};

use super::codes;
use super::diagnostic::{Diagnostic, Sink, Span, quote};
use short::{Maps, Shorts};

mod short;

/// Largest size of a file in octets.
pub const MAX_FILE_SIZE: usize = 64 << 20;
/// Most values in a document, with aliases expanded.
pub(super) const MAX_VALUES: usize = 8_000_000;
/// Most octets of memory for aliases and the copies kept for them.
const MAX_EXPANDED: usize = 64 << 20;
/// Most levels of nesting; a scenario needs six.
const MAX_DEPTH: usize = 32;

/// A value and its place.
#[derive(Clone, Debug)]
pub struct Value {
    /// Where it was written.
    pub span: Span,
    /// What it is.
    pub data: Data,
}

/// What a value is.
#[derive(Clone, Debug)]
pub enum Data {
    /// Key without a value.
    Null,
    /// Number, word or text; the type the library infers is ignored.
    Scalar(String),
    /// A sequence.
    List(Vec<Value>),
    /// A mapping, in the order of the file.
    Map(Vec<Entry>),
}

/// A key and its value.
#[derive(Clone, Debug)]
pub struct Entry {
    pub key: String,
    pub key_span: Span,
    pub value: Value,
}

impl Value {
    /// Returns the word for this kind of value, for messages.
    pub const fn kind(&self) -> &'static str {
        match self.data {
            Data::Null => "nothing",
            Data::Scalar(_) => "a value",
            Data::List(_) => "a list",
            Data::Map(_) => "keys and values",
        }
    }

    /// Returns the value of its key `name`, if it has one.
    pub(super) fn name(&self) -> Option<&str> {
        let Data::Map(entries) = &self.data else {
            return None;
        };
        let entry = entries.iter().find(|entry| entry.key == "name")?;
        if let Data::Scalar(name) = &entry.value.data { Some(name) } else { None }
    }

    /// Returns the number of values inside, including this one.
    pub(super) fn count(&self) -> usize {
        1 + match &self.data {
            Data::Null | Data::Scalar(_) => 0,
            Data::List(items) => items.iter().map(Self::count).sum(),
            Data::Map(entries) => entries.iter().map(|e| 1 + e.value.count()).sum(),
        }
    }

    /// Returns the approximate octets of memory that a copy takes.
    fn size(&self) -> usize {
        size_of::<Entry>()
            + match &self.data {
                Data::Null => 0,
                Data::Scalar(text) => text.len(),
                Data::List(items) => items.iter().map(Self::size).sum(),
                Data::Map(entries) => entries.iter().map(|e| e.key.len() + e.value.size()).sum(),
            }
    }

    fn depth(&self) -> usize {
        1 + match &self.data {
            Data::Null | Data::Scalar(_) => 0,
            Data::List(items) => items.iter().map(Self::depth).max().unwrap_or(0),
            Data::Map(entries) => entries.iter().map(|e| e.value.depth()).max().unwrap_or(0),
        }
    }
}

/// Parses one document. Returns `None` if no usable document was found; mistakes go to `sink`.
pub(super) fn parse(source: u32, text: &str, sink: &mut Sink) -> Option<Value> {
    if text.len() > MAX_FILE_SIZE {
        let title = format!("the file has {} octets", text.len());
        let span = Span { source, start: 0, end: 0 };
        sink.push(Diagnostic::new(&codes::TOO_LARGE, title, span, "a scenario may have 64 MiB"));
        return None;
    }
    if let Some(shorts) = Shorts::find(source, text) {
        let mut mistakes = Sink::default();
        let root = read(source, text, Some(shorts), &mut mistakes);
        if root.is_some() && mistakes.finish().is_empty() {
            return root;
        }
    }
    read(source, text, None, sink)
}

/// Reads a text, without short maps that were taken out of it.
fn read(source: u32, text: &str, shorts: Option<Shorts>, sink: &mut Sink) -> Option<Value> {
    let mut builder = Builder {
        source,
        text,
        sink,
        open: Vec::new(),
        root: None,
        anchors: BTreeMap::new(),
        values: 0,
        expanded: 0,
        shorts: None,
    };
    let rest;
    let left = match shorts {
        Some(shorts) => {
            rest = shorts.rest;
            builder.shorts = Some(shorts.maps);
            &rest
        }
        None => text,
    };
    let mut options = Options::default();
    options.set_emit_comments(false);
    for item in Parser::new_from_str_with_options(left, options) {
        match item {
            Ok((event, place)) => {
                let (start, end) = (place.start.byte_offset(), place.end.byte_offset());
                let span = builder.span(start.unwrap_or(0), end.unwrap_or(0));
                builder.event(event, span)?;
            }
            Err(error) => {
                builder.syntax_error(&error);
                return None;
            }
        }
    }
    let empty = Value { span: Span { source, start: 0, end: 0 }, data: Data::Null };
    if builder.shorts.is_some_and(|mut maps| maps.next().is_some()) {
        return None;
    }
    Some(builder.root.unwrap_or(empty))
}

/// A collection whose end has not been read.
struct Open {
    span: Span,
    anchor: usize,
    data: Collecting,
}

enum Collecting {
    List(Vec<Value>),
    Map { entries: Vec<Entry>, seen: Seen, key: Option<(String, Span)> },
}

/// Index of the keys of a map; built only for maps with more than [`Self::FEW`] keys.
#[derive(Default)]
struct Seen(BTreeMap<String, Span>);

impl Seen {
    /// Up to this many keys are searched linearly.
    const FEW: usize = 16;

    /// Returns where a key was given before.
    fn find(&mut self, entries: &[Entry], key: &str) -> Option<Span> {
        if entries.len() <= Self::FEW {
            let same = entries.iter().find(|entry| entry.key == key);
            return same.map(|entry| entry.key_span);
        }
        for entry in &entries[self.0.len()..] {
            self.0.insert(entry.key.clone(), entry.key_span);
        }
        self.0.get(key).copied()
    }
}

struct Builder<'t> {
    source: u32,
    text: &'t str,
    sink: &'t mut Sink,
    open: Vec<Open>,
    root: Option<Value>,
    anchors: BTreeMap<usize, Value>,
    values: usize,
    /// Octets of all copies made for anchors and aliases.
    expanded: usize,
    /// Maps that were taken out of the text, if any.
    shorts: Option<Maps>,
}

impl Builder<'_> {
    fn span(&self, start: usize, end: usize) -> Span {
        let limit = |at: usize| u32::try_from(at.min(self.text.len())).unwrap_or(u32::MAX);
        Span { source: self.source, start: limit(start), end: limit(end.max(start)) }
    }

    /// Handles one event; `None` stops the parse.
    #[allow(
        clippy::wildcard_enum_match_arm,
        reason = "the enum is the library's, which may add kinds of events"
    )]
    fn event(&mut self, event: Event<'_>, span: Span) -> Option<()> {
        match event {
            Event::Scalar(text, style, anchor, _) => {
                if let Some(map) = self.short(&text, span) {
                    return self.finish_short(map);
                }
                let data = if style == ScalarStyle::Plain && matches!(&*text, "" | "~" | "null") {
                    Data::Null
                } else {
                    Data::Scalar(text.into_owned())
                };
                self.finish(Value { span, data }, anchor)
            }
            Event::SequenceStart(_, anchor, _) => {
                self.start(span, anchor, Collecting::List(Vec::new()))
            }
            Event::MappingStart(_, anchor, _) => self.start(
                span,
                anchor,
                Collecting::Map { entries: Vec::new(), seen: Seen::default(), key: None },
            ),
            Event::SequenceEnd | Event::MappingEnd => self.close(span),
            Event::Alias(anchor) => self.alias(anchor, span),
            Event::DocumentStart(..) if self.root.is_some() => {
                self.stop(&codes::SYNTAX, "a second document begins", span, {
                    "a scenario file holds one document"
                })
            }
            // Document ends, comments and the like carry no values.
            _ => Some(()),
        }
    }

    /// Returns the short map in the place of a text, if one was there.
    fn short(&mut self, text: &str, span: Span) -> Option<Value> {
        let maps = self.shorts.as_mut().filter(|_| text.is_empty())?;
        maps.next_if(|map| map.span.start == span.start)
    }

    /// Adds a short map as if all in it had been read.
    fn finish_short(&mut self, map: Value) -> Option<()> {
        if self.open.len() + map.depth() > MAX_DEPTH {
            // What is said of it is found when the file is read as it is.
            return None;
        }
        self.values += map.count() - 1;
        self.finish(map, 0)
    }

    fn stop(
        &mut self,
        code: &'static codes::Code,
        title: &str,
        span: Span,
        label: &str,
    ) -> Option<()> {
        self.sink.push(Diagnostic::new(code, title, span, label));
        None
    }

    fn start(&mut self, span: Span, anchor: usize, data: Collecting) -> Option<()> {
        if self.open.len() >= MAX_DEPTH {
            let title = "values are nested too deeply";
            return self.stop(&codes::TOO_LARGE, title, span, "the 33rd level begins here");
        }
        self.open.push(Open { span, anchor, data });
        Some(())
    }

    fn close(&mut self, end: Span) -> Option<()> {
        let Open { span, anchor, data } = self.open.pop()?;
        let data = match data {
            Collecting::List(items) => Data::List(items),
            Collecting::Map { entries, .. } => Data::Map(expand_merges(entries)),
        };
        let span = Span { end: end.end.max(span.end), ..span };
        self.finish(Value { span, data }, anchor)
    }

    fn alias(&mut self, anchor: usize, span: Span) -> Option<()> {
        let Some(value) = self.anchors.get(&anchor) else {
            let title = "an alias stands inside the value it refers to";
            return self.stop(&codes::SYNTAX, title, span, "this value would never end");
        };
        // An alias counts as if its contents had been written out.
        self.values = self.values.saturating_add(value.count());
        let size = value.size();
        if self.values > MAX_VALUES {
            let title = "aliases expand to more than eight million values";
            return self.stop(&codes::TOO_LARGE, title, span, "the limit is reached here");
        }
        if self.open.len() + value.depth() > MAX_DEPTH {
            let title = "values are nested too deeply";
            return self.stop(&codes::TOO_LARGE, title, span, "this alias goes below level 32");
        }
        self.expand(size, span)?;
        let value = self.anchors.get(&anchor)?.clone();
        self.finish(value, 0)
    }

    /// Charges octets to the budget for copies: a few values can be long texts.
    fn expand(&mut self, size: usize, span: Span) -> Option<()> {
        self.expanded = self.expanded.saturating_add(size);
        if self.expanded > MAX_EXPANDED {
            let title = "anchors and aliases take more than 64 MiB";
            return self.stop(&codes::TOO_LARGE, title, span, "the limit is reached here");
        }
        Some(())
    }

    /// Adds a complete value to the open collection.
    fn finish(&mut self, value: Value, anchor: usize) -> Option<()> {
        self.values += 1;
        if self.values > MAX_VALUES {
            let title = "the file holds more than eight million values";
            let span = value.span;
            return self.stop(&codes::TOO_LARGE, title, span, "the limit is reached here");
        }
        if anchor != 0 {
            // The copy counts: otherwise an anchor on every level would multiply the file.
            self.values = self.values.saturating_add(value.count());
            self.expand(value.size(), value.span)?;
            self.anchors.insert(anchor, value.clone());
        }
        let is_top = self.open.len() == 1;
        match self.open.last_mut().map(|open| &mut open.data) {
            None => self.root = Some(value),
            Some(Collecting::List(items)) => items.push(value),
            Some(Collecting::Map { entries, seen, key }) => match key.take() {
                None => match value.data {
                    Data::Scalar(text) => *key = Some((text, value.span)),
                    Data::Null => *key = Some((String::from("null"), value.span)),
                    Data::List(_) | Data::Map(_) => {
                        let title = "a key is a list or a map";
                        let label = "keys are words";
                        return self.stop(&codes::SYNTAX, title, value.span, label);
                    }
                },
                Some((key, key_span)) => {
                    if let Some(first) = seen.find(entries, &key) {
                        self.sink.push(
                            Diagnostic::new(
                                &codes::DUPLICATE_KEY,
                                format!("{} is given twice", quote(&key)),
                                key_span,
                                "the second one",
                            )
                            .also(first, "the first one"),
                        );
                    } else {
                        // Top-level `x-` keys only hold anchors; their values are dropped.
                        let is_aside = is_top && key.starts_with("x-");
                        let data = if is_aside { Data::Null } else { value.data };
                        let value = Value { data, ..value };
                        entries.push(Entry { key, key_span, value });
                    }
                }
            },
        }
        Some(())
    }

    fn syntax_error(&mut self, error: &ScanError) {
        let at = error.marker().byte_offset().unwrap_or(0);
        let text = self.text;
        let tail = text.get(at.min(text.len())..).unwrap_or("");
        let width = tail.chars().next().map_or(0, char::len_utf8);
        let span = self.span(at, at + width);
        let message = error.to_string();
        // The library appends the position, which the caret already shows.
        let reason = message
            .split(" at byte ")
            .next()
            .and_then(|m| m.split(" at char ").next())
            .and_then(|m| m.split(" at line ").next())
            .unwrap_or("not YAML");
        // The library has its own depth limit.
        if reason.contains("recursion limit") {
            let title = "values are nested too deeply";
            let label = "a scenario needs six levels and may have 32";
            self.sink.push(Diagnostic::new(&codes::TOO_LARGE, title, span, label));
            return;
        }
        let tab = tail.starts_with('\t') || text[..at.min(text.len())].ends_with('\t');
        let diagnostic =
            Diagnostic::new(&codes::SYNTAX, "the file is not YAML from here on", span, reason)
                .help_if(tab.then_some("indent with spaces; YAML does not allow tabs there"))
                .help_if(
                    reason
                        .contains("mapping values")
                        .then_some("put text that contains `: ` into quotes"),
                );
        self.sink.push(diagnostic);
    }
}

/// Replaces the entry `<<` by the entries of the maps it refers to; entries written out win.
fn expand_merges(entries: Vec<Entry>) -> Vec<Entry> {
    if !entries.iter().any(|entry| entry.key == "<<") {
        return entries;
    }
    let (merges, mut own): (Vec<_>, Vec<_>) = entries.into_iter().partition(|e| e.key == "<<");
    let mut known: BTreeSet<String> = own.iter().map(|entry| entry.key.clone()).collect();
    for merge in merges {
        let maps = match merge.value.data {
            Data::List(maps) => maps,
            Data::Map(_) => vec![merge.value],
            Data::Null | Data::Scalar(_) => {
                own.push(merge);
                continue;
            }
        };
        for map in maps {
            let Data::Map(more) = map.data else { continue };
            for entry in more {
                if known.insert(entry.key.clone()) {
                    own.push(entry);
                }
            }
        }
    }
    own
}
