//! Names and patterns of partitions (DDS 1.4, 2.2.3.13).

use alloc::string::String;
use alloc::vec::Vec;
use core::str::Chars;

/// Returns whether two endpoints have a partition in common.
///
/// An empty list means the empty name. A pattern is compared with names only, not with another
/// pattern. Endpoints without a common partition are not a mismatch: they are unrelated.
pub fn partitions_match(a: &[String], b: &[String]) -> bool {
    let unnamed = [String::new()];
    let (a, b) = (non_empty(a, &unnamed), non_empty(b, &unnamed));
    a.iter().any(|a| b.iter().any(|b| is_common(a, b)))
}

const fn non_empty<'a>(names: &'a [String], unnamed: &'a [String]) -> &'a [String] {
    if names.is_empty() { unnamed } else { names }
}

fn is_common(a: &str, b: &str) -> bool {
    match (is_pattern(a), is_pattern(b)) {
        (false, false) => a == b,
        (true, false) => is_match(a, b),
        (false, true) => is_match(b, a),
        (true, true) => false,
    }
}

/// Returns whether a name is a pattern.
pub fn is_pattern(name: &str) -> bool {
    name.contains(['*', '?', '['])
}

/// Element of a pattern.
enum Part<'a> {
    One(char),
    AnyOne,
    Any,
    /// One of the members, or none of them if negated.
    Class {
        members: &'a str,
        is_negated: bool,
    },
}

/// Returns whether a name matches a pattern: `*` for any characters, `?` for one, `[a-c]` for one
/// of these, `[!a-c]` for any other; `\` escapes the next one (POSIX fnmatch).
///
/// Takes at most as many steps as the product of the two lengths: after a difference it is enough
/// to go back to the last `*`.
pub fn is_match(pattern: &str, name: &str) -> bool {
    let parts = parts(pattern);
    let (mut at, mut rest) = (0, name.chars());
    let mut last_any: Option<(usize, Chars<'_>)> = None;
    loop {
        let mut ahead = rest.clone();
        match (parts.get(at), ahead.next()) {
            (None, None) => return true,
            (Some(Part::Any), _) => {
                at += 1;
                last_any = Some((at, rest.clone()));
                continue;
            }
            (Some(part), Some(char)) if part.is_match(char) => {
                at += 1;
                rest = ahead;
                continue;
            }
            _ => {}
        }
        // The last `*` consumes one more character.
        let Some((behind, from)) = &mut last_any else {
            return false;
        };
        if from.next().is_none() {
            return false;
        }
        at = *behind;
        rest = from.clone();
    }
}

fn parts(pattern: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut rest = pattern.chars();
    // Once one class is unterminated, no later one can end either, so the search is made only once.
    let mut has_classes = true;
    while let Some(char) = rest.next() {
        parts.push(match char {
            '*' => Part::Any,
            '?' => Part::AnyOne,
            '\\' => Part::One(rest.next().unwrap_or('\\')),
            '[' if has_classes => {
                let class = class(&mut rest);
                has_classes = class.is_some();
                class.unwrap_or(Part::One('['))
            }
            _ => Part::One(char),
        });
    }
    parts
}

/// Reads a class after its bracket and advances behind it; returns `None` and does not advance if
/// it is unterminated.
fn class<'a>(rest: &mut Chars<'a>) -> Option<Part<'a>> {
    let text = rest.as_str();
    let members = text.strip_prefix(['!', '^']).unwrap_or(text);
    let is_negated = members.len() < text.len();
    // A closing bracket in first position is a member.
    let first = members.chars().next()?.len_utf8();
    let end = first + members.get(first..)?.find(']')?;
    *rest = members.get(end + 1..)?.chars();
    let members = members.get(..end)?;
    Some(Part::Class { members, is_negated })
}

impl Part<'_> {
    fn is_match(&self, char: char) -> bool {
        match self {
            Self::One(other) => *other == char,
            Self::AnyOne => true,
            Self::Any => false,
            Self::Class { members, is_negated } => is_member(members, char) != *is_negated,
        }
    }
}

fn is_member(members: &str, char: char) -> bool {
    let mut rest = members.chars();
    while let Some(low) = rest.next() {
        let mut ahead = rest.clone();
        let high = match (ahead.next(), ahead.next()) {
            (Some('-'), Some(high)) => {
                rest = ahead;
                high
            }
            _ => low,
        };
        if (low..=high).contains(&char) {
            return true;
        }
    }
    false
}
