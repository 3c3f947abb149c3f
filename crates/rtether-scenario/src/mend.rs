//! Edits that messages propose, made in the text.
//!
//! A line of help is for people, and most of them are edits word for word: "write `period: 2 ms`",
//! "add `rate: 1 Gbit/s`", "remove `pcp`". The tests try each of them (`tests/edits.rs`); advice in
//! prose ("use a faster link") is none.

use std::ops::Range;

use super::codes::MISPLACED_KEY;
use super::diagnostic::Diagnostic;

/// Returns the text of a scenario after the edit that a line of help of one of its diagnostics asks
/// for; `None` if that line is prose, or the place is not in this text.
///
/// Whether the mistake is gone is for the loader to say: help knows its place only, and several
/// mistakes may stand there.
pub fn mend(text: &str, diagnostic: &Diagnostic, help: &str) -> Option<String> {
    if diagnostic.primary.span.source != 0 {
        return None;
    }
    mend_source(text, diagnostic, help)
}

/// As [`mend`], for the text of the source that the diagnostic points into.
pub(crate) fn mend_source(text: &str, diagnostic: &Diagnostic, help: &str) -> Option<String> {
    let edit = edit(help)?;
    let span = diagnostic.primary.span;
    let range = span.start as usize..span.end as usize;
    text.get(range.clone())?;
    apply(text, range, &edit, diagnostic.code == MISPLACED_KEY.name)
}

/// The edit a line of help asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Edit {
    Write(String),
    Add(String),
    Remove(String),
}

/// Reads a line of help; `None` if it is prose.
fn edit(help: &str) -> Option<Edit> {
    let help = help.strip_prefix("bits or bytes? ").unwrap_or(help);
    let (verb, rest) = help.split_once(" `")?;
    let (what, after) = rest.split_once('`')?;
    let is_whole = after.is_empty() || after == "?" || after.starts_with(" (");
    let is_whole = is_whole || after.starts_with(" for bits, ") || after.starts_with(" for bytes;");
    let what = what.to_owned();
    match verb {
        "write" | "did you mean" | "for example" | "the next is" if is_whole => {
            Some(Edit::Write(what))
        }
        "add" if after.is_empty() => Some(Edit::Add(what)),
        "remove" if after.is_empty() => Some(Edit::Remove(what)),
        _ => None,
    }
}

/// Returns where the entry that starts at `start` ends: at the comma or closing bracket after it.
fn end_of_entry(text: &str, start: usize) -> usize {
    let mut depth = 0;
    let mut quoted = false;
    for (at, c) in text[start..].char_indices() {
        match c {
            '"' => quoted = !quoted,
            _ if quoted => {}
            '{' | '[' => depth += 1,
            '}' | ']' if depth == 0 => return start + at,
            '}' | ']' => depth -= 1,
            ',' if depth == 0 => return start + at,
            '\n' if depth == 0 => return start + at,
            '#' if depth == 0 => return start + at,
            _ => {}
        }
    }
    text.len()
}

/// Returns the value of `key:` on the line of `at`; prefers the last one before `at`.
fn value_on_line(text: &str, key: &str, at: usize) -> Option<Range<usize>> {
    let line = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let end = text[at..].find('\n').map_or(text.len(), |n| at + n);
    let pattern = [" ", "{"].map(|before| format!("{before}{key}:"));
    let last = |part: &str| pattern.iter().filter_map(|one| part.rfind(one)).max();
    let found = match last(&text[line..at]) {
        Some(found) => line + found,
        None => line + last(&text[line..end])?,
    };
    let found = found + key.len() + 2;
    let start = found + text[found..].len() - text[found..].trim_start_matches(' ').len();
    Some(start..end_of_entry(text, start))
}

fn with(text: &str, range: Range<usize>, new: &str) -> String {
    format!("{}{new}{}", &text[..range.start], &text[range.end..])
}

/// Applies the edit as a reader would: `beside` the place pointed at, or within it.
fn apply(text: &str, span: Range<usize>, edit: &Edit, beside: bool) -> Option<String> {
    let is_key = text[span.end..].starts_with(':');
    match edit {
        Edit::Write(new) => write_over(text, span, new, is_key),
        Edit::Add(new) if new == "rtether: 1" => Some(format!("{new}\n{text}")),
        Edit::Add(new) if beside && is_key => {
            let indent = &text[line_start(text, span.start)..span.start];
            let joint = if indent.trim().is_empty() {
                format!("\n{indent}")
            } else {
                ", ".to_owned()
            };
            Some(with(text, span.start..span.start, &format!("{new}{joint}")))
        }
        Edit::Add(new) => Some(add_inside(text, &span, new, is_key)),
        Edit::Remove(key) => remove(text, &span, key),
    }
}

fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |end| end + 1)
}

fn write_over(text: &str, mut span: Range<usize>, new: &str, is_key: bool) -> Option<String> {
    let entry = new
        .split_once(": ")
        .filter(|(key, _)| !key.starts_with(['{', '[', '"', '-']) && !key.contains(' '));
    let Some((key, value)) = entry else {
        // If only the unit is pointed at, number and unit are meant.
        let is_number = |c: char| c.is_ascii_digit() || matches!(c, '.' | ' ');
        if new.starts_with(|c: char| c.is_ascii_digit())
            && !text[span.clone()].starts_with(is_number)
        {
            let head = text[..span.start].trim_end_matches(is_number);
            span.start = head.len() + usize::from(text[head.len()..].starts_with(' '));
        }
        return Some(with(text, span, new));
    };
    let first = text.chars().next().map_or(0, char::len_utf8);
    if let Some(range) = value_on_line(text, key, span.start.max(first)) {
        return Some(with(text, range, value));
    }
    // A place that is not a key here is a value of several lines.
    is_key.then(|| with(text, span.start..end_of_entry(text, span.start), new))
}

fn add_inside(text: &str, span: &Range<usize>, new: &str, is_key: bool) -> String {
    let line_end = text[span.start..]
        .find('\n')
        .map_or(text.len(), |n| span.start + n);
    let line = line_start(text, span.start);
    let inside = text[line..span.start].rfind('{').map(|at| line + at);
    let after = text[span.start..line_end]
        .find('{')
        .map(|at| span.start + at);
    let own = text[span.start..].starts_with('{').then_some(span.start);
    let brace = if own.is_some() {
        own
    } else if is_key {
        after.or(inside)
    } else {
        inside.or(after)
    };
    if let Some(brace) = brace {
        return with(text, brace + 1..brace + 1, &format!(" {new},"));
    }
    if is_key {
        let indent = text[line..].len() - text[line..].trim_start_matches(' ').len();
        let new = format!("\n{}{new}", " ".repeat(indent + 2));
        return with(text, line_end..line_end, &new);
    }
    if let Some(indent) = text[line..span.start].find("- ") {
        let new = format!("\n{}{new}", " ".repeat(indent + 2));
        return with(text, line_end..line_end, &new);
    }
    format!("{new}\n{text}")
}

fn remove(text: &str, span: &Range<usize>, key: &str) -> Option<String> {
    let from = if text[span.clone()] == *key {
        span.start
    } else {
        line_start(text, span.start)
    };
    let start = from + text[from..].find(&format!("{key}:"))?;
    let mut end = end_of_entry(text, start);
    if text[end..].starts_with(", ") {
        end += 2;
    }
    let mut begin = start;
    if !text[end..].starts_with(|c: char| c.is_alphanumeric()) {
        begin = text[..start].trim_end_matches([' ', ',']).len();
    }
    let joint = if text[..begin].ends_with('{') || begin == start {
        ""
    } else {
        " "
    };
    Some(with(text, begin..end, joint))
}
