//! Several elements in one path: `flows[class=bulk].pcp=0`, `switches[*].queues=2`.
//!
//! A selector stands in brackets behind a collection. `*` means everything in it; `KEY=VALUE` what
//! has this value, in which a `*` stands for any characters; further brackets choose among those. In
//! a map `name` is the key. A list matches if one of its items does. A value that is not written
//! matches nothing, not even its default.

use super::plan::matches_pattern;
use super::tree::{Data, Value};

/// Most `*` in a value: each multiplies the time that a match takes.
const MOST_STARS: usize = 4;

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
        let is_sound = !key.trim().is_empty() && value.matches('*').count() <= MOST_STARS;
        is_sound.then(|| Self { wanted: Some((key.trim(), value.trim())), length })
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
        self.terms.iter().all(|&(key, pattern)| {
            let mut values = values(element, key);
            values.extend(name.filter(|_| key == "name"));
            values.into_iter().any(|value| matches_pattern(pattern, value))
        })
    }

    /// Returns what the key of the last term is among some elements.
    pub(super) fn known<'v>(&self, elements: &[(Option<&'v str>, &'v Value)]) -> Vec<&'v str> {
        let Some(&(key, _)) = self.terms.last() else {
            return Vec::new();
        };
        let all = elements.iter().flat_map(|&(name, element)| match (key, name) {
            ("name", Some(name)) => vec![name],
            _ => values(element, key),
        });
        let mut known: Vec<&str> = all.collect();
        known.sort_unstable();
        known.dedup();
        known
    }

    /// Returns the key of the last term.
    pub(super) fn key(&self) -> &'p str {
        self.terms.last().map_or("name", |&(key, _)| key)
    }

    /// Returns the value of the last term.
    pub(super) fn wanted(&self) -> &'p str {
        self.terms.last().map_or("*", |&(_, value)| value)
    }
}

/// Returns the scalars at a key of an element.
fn values<'v>(element: &'v Value, key: &str) -> Vec<&'v str> {
    let Data::Map(entries) = &element.data else {
        return Vec::new();
    };
    let Some(entry) = entries.iter().find(|entry| entry.key == key) else {
        return Vec::new();
    };
    match &entry.value.data {
        Data::Scalar(text) => vec![text],
        Data::List(items) => items.iter().filter_map(scalar).collect(),
        Data::Null | Data::Map(_) => Vec::new(),
    }
}

fn scalar(value: &Value) -> Option<&str> {
    if let Data::Scalar(text) = &value.data { Some(text) } else { None }
}
