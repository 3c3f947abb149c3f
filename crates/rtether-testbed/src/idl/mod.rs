//! Types in the OMG's interface definition language, as far as topics need them.
//!
//! The part of IDL 4.2 (formal/2018-01-05) that controllers use: modules, structures, enumerations,
//! typedefs, integer constants, numbers, strings, sequences and arrays, with the annotations of
//! DDS-XTypes 1.3, 7.3.1.2 that affect the wire, and the `#pragma keylist` of older files. A
//! structure without annotation is appendable, as the standard says (7.3.3.1).
//!
//! There is no preprocessor; include guards are accepted. Parsing ends at the first mistake.

mod declare;
mod default;
mod lex;
mod parse;
mod specs;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

pub(crate) use default::integer;
use rtether_rtps::dynamic::Structure;

use rtether::scenario::{Diagnostic, Help, Label, Severity, Source, Span};

/// Largest size of a file, in octets.
pub const FILE_MAX: usize = 1 << 20;
/// Deepest nesting of modules, or of types without a name.
const NESTED_MAX: usize = 16;
/// Largest number of names in a file.
const NAMES_MAX: usize = 10_000;

/// The structures of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Library {
    structures: BTreeMap<String, Arc<Structure>>,
    /// In file order.
    names: Vec<String>,
}

impl Library {
    /// Parses a text.
    ///
    /// # Errors
    /// If it is not IDL, or uses a part of IDL that is not supported; [`rtether::scenario::render`]
    /// shows the place in `source`.
    pub fn parse(source: &Source) -> Result<Self, Box<Diagnostic>> {
        if source.text.len() > FILE_MAX {
            let what = format!("the file has {} octets", source.text.len());
            let help = "write the types of the topic into a file of their own, of at most 1 MiB";
            return Err(mistake("idl-too-large", what, (0, 0), "", help));
        }
        let lexed = lex::lex(&source.text)?;
        parse::parse(lexed)
    }

    /// Returns a structure by its full name, such as `Cell::Axis`, or by an unambiguous suffix.
    pub fn structure(&self, name: &str) -> Option<&Arc<Structure>> {
        let exact = self.structures.get(name);
        exact.or_else(|| {
            let end = format!("::{name}");
            let mut found = self.structures.iter().filter(|(full, _)| full.ends_with(&end));
            let (_, only) = found.next()?;
            found.next().is_none().then_some(only)
        })
    }

    /// Returns the full names of all structures, in file order.
    pub fn names(&self) -> &[String] {
        &self.names
    }
}

/// Returns a mistake with its place, the reason, and what to write instead.
fn mistake(
    code: &'static str,
    what: impl Into<String>,
    (start, end): (usize, usize),
    why: impl Into<String>,
    help: impl Into<String>,
) -> Box<Diagnostic> {
    let place = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    Box::new(Diagnostic {
        severity: Severity::Error,
        code,
        title: what.into(),
        primary: Label {
            span: Span { source: 0, start: place(start), end: place(end) },
            text: why.into(),
        },
        secondary: Vec::new(),
        help: vec![Help::from(Into::<String>::into(help))],
    })
}
