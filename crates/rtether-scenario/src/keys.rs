//! The format as one table: every key with its type, default and description.
//!
//! Key checks, the JSON Schema and the reference page are all made from [`table`], so they cannot
//! disagree.

pub(super) mod table;
mod words;

use super::units::Quantity;
pub(super) use words::{Texts, Word, Words};

/// The keys of one kind of map.
pub(super) struct Section {
    /// Name in the schema and the reference.
    pub(super) name: &'static str,
    /// What a map of this kind is called in messages, with its article.
    pub(super) noun: &'static str,
    pub(super) description: &'static str,
    pub(super) keys: &'static [Key],
}

/// One key.
pub(super) struct Key {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) presence: Presence,
    pub(super) description: &'static str,
    /// An example value, ready to paste.
    pub(super) example: &'static str,
    /// Whether it limits a memory, or makes one that is limited: a bound is a proof only if that suffices.
    pub(super) is_memory: bool,
}

/// Whether a key has to be given.
#[derive(Clone, Copy)]
pub(super) enum Presence {
    Required,
    /// The default, as it would be written.
    Default(&'static str),
    /// May be left out; the description says what that means.
    Optional,
}

/// The type and form of a value.
pub(super) enum Kind {
    /// Any text.
    Text,
    /// The name of something declared elsewhere.
    Name(&'static str),
    /// One of these words.
    Word(&'static dyn Texts),
    /// `true` or `false`.
    Flag,
    /// A whole number.
    Count { min: u64, max: u64 },
    /// A number with a unit.
    Quantity(Quantity),
    /// Two times, `1 ms .. 5 ms`.
    TimeRange,
    /// A time that grows with the frame, `8 us + 12 ns/B`.
    Cost,
    /// A map of the section.
    One(&'static Section),
    /// A map from names to the section.
    Named(&'static Section),
    /// A list of the section.
    List(&'static Section),
    /// A list of values.
    Values(&'static Self),
    /// One of several forms.
    Any(&'static [Self]),
    /// Statistics of latency, with their limits.
    Statistics,
    /// A map from paths to any values.
    Changes,
    /// Any value.
    Value,
}

impl Section {
    pub(super) fn find(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|key| key.name == name)
    }

    /// Returns whether this is the top-level section of a file.
    pub(super) fn is_file(&self) -> bool {
        ["scenario", "shim", "profile"].contains(&self.name)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &'static str> + Clone {
        self.keys.iter().map(|key| key.name)
    }
}
