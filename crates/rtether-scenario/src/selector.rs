//! Several elements in one path: `flows[class=bulk].pcp=0`, `switches[*].queues=2`.
//!
//! A selector stands in brackets behind a collection. `*` means everything in it; `KEY=VALUE` what
//! has this value, in which a `*` stands for any characters; further brackets choose among those. In
//! a map `name` is the key. A list matches if one of its items does. A value that is not written
//! matches nothing, not even its default.

use std::collections::BTreeSet;

use super::plan::matches_pattern;
use super::tree::{Data, Value};

/// Which elements of a collection are meant.
pub(super) struct Selector<'p> {
    /// Keys and what they have to be; empty for everything.
    terms: Vec<(&'p str, &'p str)>,
    /// Octets of its text, from behind the first bracket to behind the last one.
    pub(super) length: usize,
}

/// What stands in one pair of brackets.
struct Term<'p> {
    /// Key and value; `None` for everything.
    wanted: Option<(&'p str, &'p str)>,
    /// Octets up to behind the bracket that closes it.
    length: usize,
}

impl<'p> Term<'p> {
    fn parse(path: &'p str) -> Option<Self> {
        let (inner, _) = path.split_once(']')?;
        let length = inner.len() + 1;
        if inner == "*" {
            return Some(Self { wanted: None, length });
        }
        let (key, value) = inner.split_once('=')?;
        let has_key = !key.trim().is_empty();
        has_key.then(|| Self { wanted: Some((key.trim(), value.trim())), length })
    }
}

impl<'p> Selector<'p> {
    /// Reads a selector from a path, behind its first bracket; `None` if there is none, as in
    /// `links[3]`.
    pub(super) fn parse(path: &'p str) -> Option<Self> {
        let (mut terms, mut length) = (Vec::new(), 0);
        let mut next = Term::parse(path)?;
        loop {
            terms.extend(next.wanted);
            length += next.length;
            match path.as_bytes().get(length) {
                None | Some(b'.') => return Some(Self { terms, length }),
                Some(b'[') => match Term::parse(&path[length + 1..]) {
                    Some(term) => (next, length) = (term, length + 1),
                    None => return Some(Self { terms, length }),
                },
                Some(_) => return None,
            }
        }
    }

    /// Returns whether an element is meant; `name` is its key in a map.
    pub(super) fn selects(&self, name: Option<&str>, element: &Value) -> bool {
        let mut terms = self.terms.iter();
        terms.all(|&(key, wanted)| {
            values(name, element, key).any(|own| matches_pattern(wanted, own))
        })
    }

    /// Returns key and value of a term that no element meets, if there is one, or of the last; and
    /// what the elements have there.
    pub(super) fn missed<'v>(
        &self,
        elements: &[(Option<&'v str>, &'v Value)],
    ) -> Option<(&'p str, &'p str, BTreeSet<&'v str>)> {
        let mut terms = self.terms.iter();
        let missed = terms.find(|(key, wanted)| {
            known(elements, key).iter().all(|own| !matches_pattern(wanted, own))
        });
        let (key, wanted) = *missed.or(self.terms.last())?;
        Some((key, wanted, known(elements, key)))
    }
}

/// Returns the scalars at a key of any element.
fn known<'v>(elements: &[(Option<&'v str>, &'v Value)], key: &str) -> BTreeSet<&'v str> {
    elements.iter().flat_map(|&(name, own)| values(name, own, key)).collect()
}

/// Returns the scalars at a key of an element; `name` is its key in a map.
fn values<'v>(
    name: Option<&'v str>,
    element: &'v Value,
    key: &str,
) -> impl Iterator<Item = &'v str> + use<'v> {
    let entries = if let Data::Map(entries) = &element.data { &entries[..] } else { &[] };
    let own = entries.iter().find(|entry| entry.key == key).map(|entry| &entry.value);
    let items = own.map_or(&[][..], |own| match &own.data {
        Data::List(items) => items,
        Data::Null | Data::Scalar(_) | Data::Map(_) => core::slice::from_ref(own),
    });
    let scalars = items.iter().filter_map(|item| match &item.data {
        Data::Scalar(text) => Some(text.as_str()),
        Data::Null | Data::List(_) | Data::Map(_) => None,
    });
    let name = if key == "name" { name } else { None };
    name.into_iter().chain(scalars)
}
