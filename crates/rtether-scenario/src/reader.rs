//! Typed values from the tree; every mistake is recorded and reading continues.
//!
//! A getter returns `None` for a missing value and for a wrong one; the latter has been reported.
//! [`Fields::has`] tells them apart.

use std::ops::Range;

use rtether_model::quantity::{BitRate, Bytes, Duration};

use super::codes;
use super::diagnostic::{Diagnostic, Sink, Source, Span, quote};
use super::help::Help;
use super::keys::{Key, Kind, Presence, Section, Texts, Word, Words};
use super::suggest;
use super::tree::{Data, Entry, Value};
use super::units::{self, Problem, Quantity, UnitError};

mod lists;
mod scalars;
mod words;

/// A value and its place.
#[derive(Clone, Copy, Debug)]
pub(super) struct At<T> {
    pub(super) value: T,
    pub(super) span: Span,
}

/// A map of one section.
pub(super) struct Fields<'t> {
    pub(super) section: &'static Section,
    /// The owner of the map, for messages: flow `setpoint`.
    pub(super) owner: String,
    /// Where to point if a key is missing.
    pub(super) at: Span,
    entries: &'t [Entry],
    /// Misspelled keys, read as the key they most likely mean, so that one slip causes one message.
    recovered: Vec<(&'static str, usize)>,
}

impl<'t> Fields<'t> {
    pub(super) fn get(&self, key: &str) -> Option<&'t Entry> {
        debug_assert!(
            self.section.find(key).is_some(),
            "{key} is not in the table of {}",
            self.section.name
        );
        let written = self.entries.iter().find(|entry| entry.key == key);
        written.or_else(|| {
            let (_, position) = self.recovered.iter().find(|(known, _)| *known == key)?;
            self.entries.get(*position)
        })
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    pub(super) fn key_span(&self, key: &str) -> Option<Span> {
        self.get(key).map(|entry| entry.key_span)
    }

    pub(super) fn spec(&self, key: &str) -> &'static Key {
        self.section.find(key).expect("getters ask for known keys")
    }
}

/// Reads values and collects mistakes.
pub(super) struct Reader<'s> {
    pub(super) sink: Sink,
    sources: &'s [Source],
    /// Whether everything was read, so that the plant was checked as a whole.
    pub(super) is_whole: bool,
    /// Some nodes could not be read or generated, so unknown names may refer to them.
    pub(super) names_are_missing: bool,
}

impl<'s> Reader<'s> {
    pub(super) fn new(sink: Sink, sources: &'s [Source]) -> Self {
        Self { sink, sources, is_whole: false, names_are_missing: false }
    }

    pub(super) fn report(&mut self, diagnostic: Diagnostic) {
        self.sink.push(diagnostic);
    }

    /// Returns the keys of a map and reports those the section does not have.
    pub(super) fn fields<'t>(
        &mut self,
        value: &'t Value,
        section: &'static Section,
        owner: String,
        at: Span,
    ) -> Option<Fields<'t>> {
        let entries: &[Entry] = match &value.data {
            Data::Map(entries) => entries,
            Data::Null => &[],
            Data::List(_) | Data::Scalar(_) => {
                let title = format!("{owner} needs keys and values, found {}", value.kind());
                let help = proposed_map(value, section);
                let is_plural = !section.noun.starts_with(['a', '`']);
                let verb = if is_plural { "are" } else { "is" };
                let label = format!("{} {verb} a map", section.noun);
                self.report(
                    Diagnostic::new(&codes::WRONG_TYPE, title, value.span, label).help_if(help),
                );
                return None;
            }
        };
        let mut recovered = Vec::new();
        for (position, entry) in entries.iter().enumerate() {
            if let Some(near) = self.check_key(entry, section, entries)
                && recovered.iter().all(|(known, _)| *known != near)
            {
                recovered.push((near, position));
            }
        }
        Some(Fields { section, owner, at, entries, recovered })
    }

    /// Reports an unknown key and returns the key it may stand for.
    fn check_key(
        &mut self,
        entry: &Entry,
        section: &'static Section,
        entries: &[Entry],
    ) -> Option<&'static str> {
        if section.find(&entry.key).is_some() || (section.is_file() && entry.key.starts_with("x-"))
        {
            return None;
        }
        let free = section.names().filter(|name| entries.iter().all(|e| e.key != *name));
        let near = suggest::nearest(&entry.key, free);
        let help = near.map_or_else(
            || {
                let names: Vec<&str> = section.names().collect();
                format!("known keys are {}", names.join(", ")).into()
            },
            Help::did_you_mean,
        );
        let title = format!("no key {} in {}", quote(&entry.key), section.noun);
        let label = "this key is not known here";
        self.report(Diagnostic::new(&codes::UNKNOWN_KEY, title, entry.key_span, label).help(help));
        near
    }

    /// Reports a missing key. Returns whether it is present.
    pub(super) fn require(&mut self, fields: &Fields<'_>, key: &str) -> bool {
        if fields.has(key) {
            return true;
        }
        let spec = fields.spec(key);
        let title = format!("{} has no `{key}`", fields.owner);
        let help = Help::add(format!("{key}: {}", spec.example)).certain(key == "rtether");
        let label = "belongs to this";
        self.report(Diagnostic::new(&codes::MISSING_KEY, title, fields.at, label).help(help));
        false
    }

    /// Returns the entries of a map from names to a section.
    pub(super) fn named<'t>(&mut self, fields: &Fields<'t>, key: &str) -> &'t [Entry] {
        let Some(entry) = fields.get(key) else {
            return &[];
        };
        match &entry.value.data {
            Data::Map(entries) => entries,
            Data::Null => &[],
            Data::List(_) | Data::Scalar(_) => {
                self.wrong_type(fields, key, &entry.value, "a map from names");
                &[]
            }
        }
    }

    /// Returns the items of a list.
    pub(super) fn items<'t>(&mut self, fields: &Fields<'t>, key: &str) -> &'t [Value] {
        let Some(entry) = fields.get(key) else {
            return &[];
        };
        match &entry.value.data {
            Data::List(items) => items,
            Data::Null => &[],
            Data::Map(_) | Data::Scalar(_) => {
                self.wrong_type(fields, key, &entry.value, "a list");
                &[]
            }
        }
    }

    /// Returns the map under a key.
    pub(super) fn one<'t>(
        &mut self,
        fields: &Fields<'t>,
        key: &str,
        section: &'static Section,
    ) -> Option<Fields<'t>> {
        let entry = fields.get(key)?;
        let owner = format!("`{key}` of {}", fields.owner);
        self.fields(&entry.value, section, owner, entry.key_span)
    }

    pub(super) fn wrong_type(
        &mut self,
        fields: &Fields<'_>,
        key: &str,
        value: &Value,
        expected: &str,
    ) {
        let title = format!("`{key}` needs {expected}, found {}", value.kind());
        let help = Help::example(format!("{key}: {}", fields.spec(key).example));
        let label = format!("of {}", fields.owner);
        self.report(Diagnostic::new(&codes::WRONG_TYPE, title, value.span, label).help(help));
    }

    pub(super) fn out_of_range(
        &mut self,
        key: &str,
        span: Span,
        rule: &str,
        found: &str,
        why: impl Into<String>,
    ) {
        let title = format!("`{key}` must be {rule}, found {found}");
        self.report(Diagnostic::new(&codes::VALUE_OUT_OF_RANGE, title, span, why));
    }

    /// Reports keys that do not apply here, with the reason.
    pub(super) fn misplaced(&mut self, fields: &Fields<'_>, keys: &[&str], what: &str) {
        for key in keys {
            if let Some(span) = fields.key_span(key) {
                let title = format!("`{key}` has no meaning for {what}");
                let label = format!("{} is one", fields.owner);
                self.report(
                    Diagnostic::new(&codes::MISPLACED_KEY, title, span, label)
                        .help(Help::remove(*key)),
                );
            }
        }
    }

    /// Reports two keys that exclude each other. Returns whether both are present.
    pub(super) fn conflict(&mut self, fields: &Fields<'_>, one: &str, other: &str) -> bool {
        let (Some(first), Some(second)) = (fields.key_span(one), fields.key_span(other)) else {
            return false;
        };
        let title = format!("`{one}` and `{other}` exclude each other");
        self.report(
            Diagnostic::new(&codes::CONFLICTING_KEYS, title, second, "given here")
                .also(first, "and here")
                .help(format!("remove `{one}` or `{other}`")),
        );
        true
    }

    /// Returns the place of a part of a scalar, if the source holds the scalar verbatim.
    pub(super) fn part(&self, span: Span, text: &str, range: &Range<usize>) -> Span {
        let source = self.sources.get(span.source as usize);
        let raw = source.and_then(|s| s.text.get(span.start as usize..span.end as usize));
        let lead = match raw {
            Some(raw) if raw == text => 0,
            Some(raw) if raw.len() == text.len() + 2 && raw.get(1..=text.len()) == Some(text) => 1,
            _ => return span,
        };
        let at = |offset: usize| span.start + u32::try_from(lead + offset).unwrap_or(0);
        if range.is_empty() {
            return span;
        }
        Span { source: span.source, start: at(range.start), end: at(range.end) }
    }
}

/// Returns help that proposes a map in place of a value, with the value in it if some key takes it.
fn proposed_map(value: &Value, section: &'static Section) -> Option<Help> {
    let required = |key: &&Key| matches!(key.presence, Presence::Required);
    let keys = section.keys.iter();
    let needed: Vec<&Key> = keys.clone().filter(required).collect();
    let first = needed.first().copied().or_else(|| section.keys.first())?;
    let takes = |key: &Key, text: &str| {
        if let Kind::Quantity(want) = &key.kind {
            units::read(text, *want).is_ok_and(|value| value > 0)
        } else if let Kind::Count { min, max } = &key.kind {
            units::read_count(text).is_ok_and(|count| (*min..=*max).contains(&count))
        } else {
            false
        }
    };
    let Data::Scalar(text) = &value.data else {
        let map = format!("{{ {}: {} }}", first.name, first.example);
        return Some(Help::write(map).certain(false));
    };
    let written = keys.clone().find(|key| takes(key, text));
    // Include the other required keys.
    let others = needed.iter().filter(|key| written.is_none_or(|w| w.name != key.name));
    let others = others.map(|key| format!("{}: {}", key.name, key.example));
    let own = written.map(|key| format!("{}: {text}", key.name));
    let mut entries: Vec<String> = own.into_iter().chain(others).collect();
    let is_whole = written.is_some() && entries.len() == 1;
    if entries.is_empty() {
        entries.push(format!("{}: {}", first.name, first.example));
    }
    let map = format!("{{ {} }}", entries.join(", "));
    Some(Help::write(map).certain(is_whole))
}

/// Returns a value as messages show it: numbers bare, words in backticks.
pub(super) fn found(text: &str) -> String {
    let number = !text.is_empty()
        && text.len() <= 30
        && text.chars().all(|c| c.is_ascii_digit() || "+-._e".contains(c));
    if number { text.to_owned() } else { quote(text) }
}

pub(super) fn picoseconds(ps: u64) -> Duration {
    // Units limit times to 10 days, well within range.
    Duration::from_ps(i64::try_from(ps).unwrap_or(i64::MAX))
}

pub(super) const fn octets(size: u64) -> Bytes {
    Bytes::new(size)
}

pub(super) const fn bits_per_second(rate: u64) -> BitRate {
    BitRate::from_bps(rate)
}

/// Returns the type a key expects, with its article.
fn expectation(kind: &Kind) -> &'static str {
    match kind {
        Kind::Text => "a text",
        Kind::Value => "a value",
        Kind::Name(_) => "a name",
        Kind::Word(_) => "a word",
        Kind::Flag => "`true` or `false`",
        Kind::Count { .. } => "a whole number",
        Kind::Quantity(quantity) => quantity.name(),
        Kind::TimeRange => "two times",
        Kind::Cost => "a time, or a time and a time per octet",
        Kind::One(_) | Kind::Named(_) | Kind::Statistics | Kind::Changes => "keys and values",
        Kind::List(_) | Kind::Values(_) => "a list",
        Kind::Any(kinds) => match kinds.first() {
            Some(first) => expectation(first),
            None => "a value",
        },
    }
}
