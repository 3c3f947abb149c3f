//! Where the edits of messages are made: a proposal and the place of its diagnostic become a range of
//! the file and what is put there.
//!
//! A range with a comment in it is not replaced.

use std::ops::Range;

use super::codes::MISPLACED_KEY;
use super::diagnostic::{Diagnostic, Source, Span};
use super::help::{Edit, Help, Proposal};
use super::span::spanned;
use super::{Loaded, set};

/// A range of a text, and what replaces it.
type Change = (Range<usize>, String);

/// Finds the places of all edits that are those of files.
pub(super) fn place(loaded: &mut Loaded) {
    let mut diagnostics = std::mem::take(&mut loaded.diagnostics);
    let mut files = None;
    for own in &mut diagnostics {
        let (at, is_misplaced) = (own.primary.span, own.code == MISPLACED_KEY.name);
        for help in &mut own.help {
            let change = match &help.proposal {
                None => None,
                Some(Proposal::Set(changes)) => {
                    let files = files.get_or_insert_with(|| set::Files::of(loaded));
                    changes.iter().find_map(|change| files.edit(change))
                }
                Some(proposal) => loaded
                    .file(at.source)
                    .and_then(|file| at_place(file, at, proposal, is_misplaced)),
            };
            help.edit = change.map(|(span, new)| Edit {
                span,
                new,
                is_certain: help.is_certain,
                is_tried: false,
            });
        }
    }
    loaded.diagnostics = diagnostics;
}

/// Returns the edit that a proposal asks for at the place of its diagnostic.
fn at_place(
    file: &Source,
    at: Span,
    proposal: &Proposal,
    is_misplaced: bool,
) -> Option<(Span, String)> {
    let text = file.text.as_str();
    let range = at.start as usize..at.end as usize;
    text.get(range.clone())?;
    let (range, new) = change(text, range, proposal, is_misplaced)?;
    let place = spanned(at.source, text, range)?;
    let new = if text.contains("\r\n") { new.replace('\n', "\r\n") } else { new };
    Some((place, new))
}

/// Returns where an entry that starts at `start` ends: before the comma, the closing bracket, the
/// comment or the line end after it.
fn end_of_entry(text: &str, start: usize) -> usize {
    let mut depth = 0;
    let mut quoted = None;
    let mut before = ' ';
    let mut end = text.len();
    for (at, c) in text[start..].char_indices() {
        match (quoted, c) {
            (Some(sign), _) if sign == c => quoted = None,
            (Some(_), _) => {}
            // Within a word it is a letter.
            (None, '"' | '\'') if !before.is_alphanumeric() => quoted = Some(c),
            (None, '{' | '[') => depth += 1,
            (None, '}' | ']') if depth > 0 => depth -= 1,
            (None, '}' | ']' | ',' | '\n') if depth == 0 => {
                end = start + at;
                break;
            }
            (None, '#') if depth == 0 && before.is_whitespace() => {
                end = start + at;
                break;
            }
            (None, _) => {}
        }
        before = c;
    }
    start + text[start..end].trim_end().len()
}

/// Returns the value of `key:` on the line of `at`; prefers the last one before `at`.
fn value_on_line(text: &str, key: &str, at: usize) -> Option<Range<usize>> {
    let line = line_start(text, at);
    let end = text[at..].find('\n').map_or(text.len(), |n| at + n);
    let pattern = [" ", "{"].map(|before| format!("{before}{key}:"));
    let last = |part: &str| pattern.iter().filter_map(|one| part.rfind(one)).max();
    let begins = text[line..end].starts_with(&pattern[0][1..]);
    let found = match last(&text[line..at]) {
        Some(found) => line + found + 1,
        None if begins => line,
        None => line + last(&text[line..end])? + 1,
    };
    let found = found + key.len() + 1;
    let start = found + text[found..].len() - text[found..].trim_start_matches(' ').len();
    Some(start..end_of_entry(text, start))
}

/// Makes a proposal as a reader would: `beside` the place pointed at, or within it.
fn change(text: &str, span: Range<usize>, proposal: &Proposal, beside: bool) -> Option<Change> {
    let is_key = text[span.end..].starts_with(':');
    match proposal {
        Proposal::Write(new) => write_over(text, span, new, is_key),
        Proposal::Add(new) if new == "rtether: 1" => Some(first_line(text, new)),
        Proposal::Add(new) if beside && is_key => {
            let indent = &text[line_start(text, span.start)..span.start];
            let joint =
                if indent.trim().is_empty() { format!("\n{indent}") } else { ", ".to_owned() };
            Some((span.start..span.start, format!("{new}{joint}")))
        }
        Proposal::Add(new) => Some(add_inside(text, &span, new, is_key)),
        Proposal::Remove(key) => remove(text, &span, key),
        Proposal::Close(sign) => Some(close(text, span.end, sign)),
        Proposal::Set(_) => None,
    }
}

/// Returns where the line of a place starts, behind a byte order mark.
fn line_start(text: &str, at: usize) -> usize {
    let mark = if text.starts_with('\u{feff}') { 3 } else { 0 };
    text[..at].rfind('\n').map_or(mark.min(at), |end| end + 1)
}

fn first_line(text: &str, new: &str) -> Change {
    let start = line_start(text, text.find('\n').unwrap_or(text.len()));
    (start..start, format!("{new}\n"))
}

fn write_over(text: &str, mut span: Range<usize>, new: &str, is_key: bool) -> Option<Change> {
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
        return Some((span, new.to_owned()));
    };
    let first = text.chars().next().map_or(0, char::len_utf8);
    if let Some(range) = value_on_line(text, key, span.start.max(first)) {
        let next = text[range.end..].split('\n').nth(1);
        if range.is_empty() && next.is_some_and(|next| next.starts_with([' ', '-'])) {
            // Its value stands on the lines below.
            return None;
        }
        // A key without a value has no space behind it.
        let joint = if text[..range.start].ends_with(':') { " " } else { "" };
        return Some((range, format!("{joint}{value}")));
    }
    // A place that is not a key here is a value of several lines.
    is_key.then(|| (span.start..end_of_entry(text, span.start), new.to_owned()))
}

fn add_inside(text: &str, span: &Range<usize>, new: &str, is_key: bool) -> Change {
    let line_end = text[span.start..].find(['\r', '\n']).map_or(text.len(), |n| span.start + n);
    let line = line_start(text, span.start);
    let inside = text[line..span.start].rfind('{').map(|at| line + at);
    let after = text[span.start..line_end].find('{').map(|at| span.start + at);
    let own = text[span.start..].starts_with('{').then_some(span.start);
    let brace = if own.is_some() {
        own
    } else if is_key {
        after.or(inside)
    } else {
        inside.or(after)
    };
    if let Some(brace) = brace {
        return (brace + 1..brace + 1, format!(" {new},"));
    }
    let indent = if is_key {
        Some(text[line..].len() - text[line..].trim_start_matches(' ').len())
    } else {
        text[line..span.start].find("- ")
    };
    match indent {
        Some(indent) => {
            let new = format!("\n{}{new}", " ".repeat(indent + 2));
            (line_end..line_end, new)
        }
        None => first_line(text, new),
    }
}

fn remove(text: &str, span: &Range<usize>, key: &str) -> Option<Change> {
    let from = if text[span.clone()] == *key { span.start } else { line_start(text, span.start) };
    let start = from + text[from..].find(&format!("{key}:"))?;
    let mut end = end_of_entry(text, start);
    let line = line_start(text, start);
    if text[line..start].trim().is_empty() {
        // With its line, unless a comment stands there.
        let rest = &text[end..];
        let is_alone = rest.starts_with(['\n', '\r']) || rest.is_empty();
        let with_line = end + rest.find('\n').map_or(rest.len(), |at| at + 1);
        let range = if is_alone { line..with_line } else { start..end };
        return Some((range, String::new()));
    }
    end += text[end..].len() - text[end..].trim_start_matches(' ').len();
    if text[end..].starts_with(", ") {
        end += 2;
    }
    let mut begin = start;
    if !text[end..].starts_with(|c: char| c.is_alphanumeric()) {
        begin = text[..start].trim_end_matches([' ', ',']).len();
    }
    let joint = if text[..begin].ends_with('{') || begin == start { "" } else { " " };
    Some((begin..end, joint.to_owned()))
}

/// Closes a bracket behind what its line holds.
fn close(text: &str, opened: usize, sign: &str) -> Change {
    let line = text[opened..].find('\n').unwrap_or(text.len() - opened);
    let content = &text[opened..opened + line];
    let content = content.find(" #").map_or(content, |at| &content[..at]);
    let end = opened + content.trim_end().len();
    let joint = if sign == "}" { " " } else { "" };
    (end..end, format!("{joint}{sign}"))
}

impl Diagnostic {
    /// Returns the edits that it proposes, with the lines of help that stand for them.
    pub fn edits(&self) -> impl Iterator<Item = (&Help, &Edit)> {
        self.help.iter().filter_map(|help| Some((help, help.edit.as_ref()?)))
    }
}
