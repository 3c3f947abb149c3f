//! What samples are made of, as a program without types of its own sees them.

use std::sync::Arc;

use rtether::scenario::Source;
use rtether::scenario::render::{self, Style};
use rtether_rtps::cdr::Data;
use rtether_rtps::dynamic::{Structure, Type, Value};
use rtether_rtps::types::Octets;
use serde_json::Map;

use super::super::{Member, values};
use super::Failure;
use crate::idl::Library;

/// What the samples of a topic are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Octets without meaning: the type `rtether::Octets`.
    Octets,
    /// Octets that another library has encoded: payloads of the type of this name, with their
    /// encapsulation header, of a topic without a key.
    Payload(String),
    /// Values of a described type.
    Described(Arc<Structure>),
}

/// What a sample has.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Octets.
    Octets(Vec<u8>),
    /// The value of a described type, as JSON; only its key if the instance has ended.
    Json(String),
}

impl Kind {
    /// Returns the values of a structure of a text of IDL, by default of its last one.
    ///
    /// # Errors
    /// The mistakes in the text with their places, or what structures it has instead.
    pub fn of_idl(source: &Source, name: Option<&str>) -> Result<Self, String> {
        let library = Library::parse(source);
        let own = std::slice::from_ref(source);
        let library = library.map_err(|mistake| render::text(&mistake, own, Style::Plain))?;
        let name = name.or_else(|| library.names().last().map(String::as_str));
        let found = name.and_then(|name| library.structure(name));
        found.cloned().map(Self::Described).ok_or_else(|| {
            let names = library.names().join(", ");
            let file = &source.name;
            match name {
                Some(name) => format!("no structure `{name}` is in {file}; it has {names}"),
                None => format!("{file} has no structure"),
            }
        })
    }

    /// Returns the type name, as announced to other participants.
    pub fn type_name(&self) -> &str {
        match self {
            Self::Octets => Octets::NAME,
            Self::Payload(name) => name,
            Self::Described(structure) => structure.name(),
        }
    }
}

/// Reads one value with all its members.
pub(super) fn value_of(json: &str, structure: &Structure) -> Result<Value, Failure> {
    let mut values = values::whole_values_of(json, structure)?;
    match (values.pop(), values.len()) {
        (Some(value), 0) => Ok(value),
        _ => Err(Failure::Content("a value is one mapping of its members")),
    }
}

/// Writes a value as JSON, or only its key; NaN and infinities are `NaN`, `Infinity` and `-Infinity`.
pub(super) fn json_of(value: &Value, structure: &Arc<Structure>, is_key: bool) -> String {
    let names = structure.members().iter().map(|member| member.name.clone());
    let members = names.zip(values::members(value, structure, is_key));
    let known = members.filter_map(|(name, member)| match member {
        Member::Tree(tree) => Some((name, tree)),
        Member::Text(_) | Member::Number(_) | Member::Absent => None,
    });
    let shown = serde_json::Value::Object(known.collect::<Map<_, _>>());
    let mut text = String::new();
    let kind = Type::Structure(Arc::clone(structure));
    values::write_with_words(&shown, &kind, &mut text);
    text
}
