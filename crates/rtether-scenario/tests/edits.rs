//! Every edit that a message proposes fixes the mistake it is about. Oracle: the loader, which
//! reads the edited file again.
//!
//! Advice in prose ("use a faster link") is not an edit and is not tried.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use std::fs;
use std::ops::Range;
use std::path::Path;

use rtether_scenario::{Diagnostic, load};

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
    if let Some(range) = value_on_line(text, key, span.start.max(1)) {
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

fn range(diagnostic: &Diagnostic) -> Range<usize> {
    let span = diagnostic.primary.span;
    span.start as usize..span.end as usize
}

/// Returns the mistakes left after each edit proposed for a text, and the number of edits tried.
fn try_all(name: &str, text: &str) -> (Vec<String>, usize) {
    let (mut wrong, mut tried) = (Vec::new(), 0);
    let before = load(name, text).diagnostics;
    for diagnostic in &before {
        for help in &diagnostic.help {
            let Some(edit) = edit(help) else { continue };
            let Some(edited) = apply(
                text,
                range(diagnostic),
                &edit,
                diagnostic.code == "misplaced-key",
            ) else {
                continue;
            };
            tried += 1;
            let after = load(name, &edited).diagnostics;
            let is_same = |d: &Diagnostic| d.code == diagnostic.code && d.title == diagnostic.title;
            let count = |list: &[Diagnostic]| list.iter().filter(|d| is_same(d)).count();
            // The edit itself must not introduce one of these mistakes.
            let kinds = [
                "syntax",
                "value-out-of-range",
                "wrong-quantity",
                "wrong-type",
                "missing-unit",
                "unknown-unit",
                "unknown-key",
                "unknown-word",
            ];
            let is_new = |d: &&Diagnostic| {
                kinds.contains(&d.code) && before.iter().all(|b| b.title != d.title)
            };
            let fresh = after.iter().find(is_new);
            if count(&after) >= count(&before) || fresh.is_some() {
                let fresh = fresh.map_or("the same as before", |d| d.title.as_str());
                wrong.push(format!(
                    "{name}: {}: {help}: {fresh}\n{edited}",
                    diagnostic.title
                ));
            }
        }
    }
    (wrong, tried)
}

/// A one-line-per-key scenario to try values in.
fn plant(ports: &str, flow: &str) -> String {
    format!(
        "rtether: 1\nnodes: {{ a: {{ stack: zero }}, b: {{ stack: zero }} }}\n\
         switches: {{ s: {{ ports: {ports} }} }}\n\
         links: [{{ ends: [a, \"s:1\"], rate: 100 Mbit/s }}, {{ ends: [b, \"s:2\"], rate: 100 Mbit/s }}]\n\
         flows:\n  - {{ name: x, from: a, to: b, period: 2 ms, size: 64 B{flow} }}\n"
    )
}

#[test]
fn edits_for_the_files_of_bad_mend_them() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad");
    let (mut wrong, mut tried) = (Vec::new(), 0);
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "yaml") {
            let name = path.file_name().unwrap().to_str().unwrap();
            let (found, count) = try_all(name, &fs::read_to_string(&path).unwrap());
            wrong.extend(found);
            tried += count;
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {tried}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(tried > 80, "{tried}");
}

#[test]
fn edits_for_what_people_write_mend_it() {
    let counts = [
        "0x4", "0X08", "4 ports", "0x", "0xffffff", "4.5", "-3", "four", "0",
    ];
    let texts = counts.iter().map(|ports| plant(ports, "")).chain(
        [
            ", reply: 200 B",
            ", reply: 200",
            ", reply: none",
            ", deadline: 0",
            ", deadline: -5",
            ", deadline: -5 sec",
            ", deadline: 3 sec",
            ", deadline: 99999999999",
            ", deadline: 1e99",
            ", pcp: 0x6",
            ", pcp: 9 high",
            ", vlan: 0x10",
            ", jitter: 1e-20",
            ", dscp: 0x2e",
            ", reply: { size: -4 bytes }",
            ", reply: { size: 4 Mb }",
            ", tcp: 1460 B",
        ]
        .iter()
        .map(|flow| plant("4", flow)),
    );
    let mut wrong = Vec::new();
    for text in texts {
        wrong.extend(try_all("x.yaml", &text).0);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_was_written_is_kept_in_the_edit() {
    // Oracle: the author's intent, by eye.
    for (text, expected) in [
        (plant("0x4", ""), "write `ports: 4`"),
        (plant("4", ", reply: 200 B"), "write `{ size: 200 B }`"),
    ] {
        let diagnostics = load("x.yaml", &text).diagnostics;
        let help: Vec<_> = diagnostics.iter().flat_map(|d| d.help.clone()).collect();
        assert_eq!(help, [expected]);
    }
}
