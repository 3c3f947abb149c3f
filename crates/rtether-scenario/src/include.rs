//! Further files that a scenario names: `include: [cell2.yaml, own.yaml]`.
//!
//! Their stacks, nodes, switches, routers, hubs, links, flows and assumptions come after those of the file that
//! names them, as if they had been written there. `changes` replace values once all files are read
//! (`assemble`): those of included files first, so that the file above has the last word.
//!
//! Paths are relative to the file that names them. Texts come from a [`Loader`] of the caller; this
//! module opens nothing. The input is not trusted: number and depth of files, and their octets and
//! values together are limited, and no file is read twice, so that circles end.

use std::collections::BTreeMap;

use crate::codes;
use crate::diagnostic::{Diagnostic, Sink, Source, Span, quote};
use crate::help::Help;
use crate::keys::table::{PROFILE, SCENARIO};
use crate::overrides::Change;
use crate::suggest;
use crate::tree::{self, Data, Entry, MAX_FILE_SIZE, MAX_VALUES, Value};

/// Returns the text of a file, or why there is none.
///
/// Paths are those that diagnostics show: relative to where the scenario's own name is relative to.
pub type Loader<'l> = dyn Fn(&str) -> Result<String, String> + 'l;

/// Most files that are included.
const MAX_FILES: usize = 64;
/// Most files between the scenario and one that is included, that one counted.
const MAX_DEPTH: usize = 8;
/// Keys of which an included file may have more: maps of names, and lists.
const PARTS: &[&str] =
    &["stacks", "nodes", "switches", "routers", "hubs", "links", "flows", "assumed"];
/// Other keys that an included file may have.
const OTHERS: &[&str] = &["rtether", "include", "changes"];

/// The loader of callers that give none.
pub(super) fn none(_: &str) -> Result<String, String> {
    Err("no further files are read here".to_owned())
}

/// Adds what included files hold to the scenario, and returns the changes of all files. The texts of
/// these files are added to `sources`.
pub(super) fn merge(
    root: &mut Value,
    read: &Loader<'_>,
    sources: &mut Vec<Source>,
    sink: &mut Sink,
) -> Vec<Change> {
    if !has(root, "include") && !has(root, "changes") {
        return Vec::new();
    }
    let name = sources.first().map_or("", |source| source.name.as_str());
    // The name may be that of standard input.
    let own = resolve("", name).unwrap_or_else(|_| name.to_owned());
    let start = root.span;
    let mut merger = Merger {
        read,
        octets: sources.first().map_or(0, |source| source.text.len()),
        values: root.count(),
        seen: BTreeMap::from([(own.clone(), start)]),
        open: vec![own],
        changes: Vec::new(),
        sources,
        sink,
    };
    merger.include(root);
    merger.changes
}

fn has(root: &Value, key: &str) -> bool {
    entry(root, key).is_some()
}

fn entry<'v>(root: &'v Value, key: &str) -> Option<&'v Entry> {
    let Data::Map(entries) = &root.data else {
        return None;
    };
    entries.iter().find(|entry| entry.key == key)
}

struct Merger<'m> {
    read: &'m Loader<'m>,
    sources: &'m mut Vec<Source>,
    sink: &'m mut Sink,
    /// Files that were read, with where they were named.
    seen: BTreeMap<String, Span>,
    /// Files that are being read, the scenario first.
    open: Vec<String>,
    octets: usize,
    values: usize,
    changes: Vec<Change>,
}

impl Merger<'_> {
    /// Adds to a file what it includes, and keeps its changes.
    fn include(&mut self, root: &mut Value) {
        for (path, span) in self.names(root) {
            let Some((name, mut part)) = self.open(&path, span) else {
                continue;
            };
            self.open.push(name);
            self.check(&part);
            self.include(&mut part);
            self.open.pop();
            absorb(root, part, self.sink);
        }
        match entry(root, "changes").map(|entry| &entry.value) {
            None => {}
            Some(value) => match &value.data {
                Data::Map(changes) => {
                    self.changes.extend(changes.iter().cloned().map(Change::of));
                }
                Data::Null => {}
                Data::Scalar(_) | Data::List(_) => {
                    let title = format!("`changes` needs paths and values, found {}", value.kind());
                    let help = Help::example("changes: { flows.trip.deadline: 5 ms }");
                    let wrong = Diagnostic::new(&codes::WRONG_TYPE, title, value.span, "");
                    self.sink.push(wrong.help(help));
                }
            },
        }
    }

    /// Returns the paths under `include`.
    fn names(&mut self, root: &Value) -> Vec<(String, Span)> {
        let Some(entry) = entry(root, "include") else {
            return Vec::new();
        };
        let items = match &entry.value.data {
            Data::List(items) => items.as_slice(),
            Data::Null => &[],
            Data::Scalar(_) | Data::Map(_) => std::slice::from_ref(&entry.value),
        };
        let mut names = Vec::new();
        for item in items {
            if let Data::Scalar(path) = &item.data {
                names.push((path.clone(), item.span));
                continue;
            }
            let title = format!("`include` needs the names of files, found {}", item.kind());
            let help = Help::example("include: [cell2.yaml, own.yaml]");
            let wrong = Diagnostic::new(&codes::WRONG_TYPE, title, item.span, "");
            self.sink.push(wrong.help(help));
        }
        names
    }

    /// Reads a file; returns its name in messages, and what it holds.
    fn open(&mut self, path: &str, span: Span) -> Option<(String, Value)> {
        let base = self.open.last().map_or("", String::as_str);
        let name = match resolve(base, path) {
            Ok(name) => name,
            Err(why) => {
                let title = format!("{} is no path of a file to include", quote(path));
                self.refuse(&codes::UNREAD_FILE, title, span, why);
                return None;
            }
        };
        if let Some(&first) = self.seen.get(&name) {
            self.again(&name, span, first);
            return None;
        }
        let count = self.seen.len();
        if count > MAX_FILES || self.open.len() > MAX_DEPTH {
            let title = "too many files are included".to_owned();
            let limits = format!("a scenario may include {MAX_FILES}, {MAX_DEPTH} deep");
            self.refuse(&codes::TOO_LARGE, title, span, &limits);
            return None;
        }
        self.seen.insert(name.clone(), span);
        let text = match (self.read)(&name) {
            Ok(text) => text,
            Err(why) => {
                let title = format!("{} cannot be included", quote(&name));
                self.refuse(&codes::UNREAD_FILE, title, span, &why);
                return None;
            }
        };
        self.octets = self.octets.saturating_add(text.len());
        if self.octets > MAX_FILE_SIZE {
            let title = "the files are too large together".to_owned();
            let label = "with this one they have more than 64 MiB";
            self.refuse(&codes::TOO_LARGE, title, span, label);
            return None;
        }
        if !begins_as_part(&text) {
            let title = format!("{} is no part of a scenario", quote(&name));
            let label = "its first key is none of scenarios";
            let wrong = Diagnostic::new(&codes::UNREAD_FILE, title, span, label);
            self.sink.push(wrong.help(format!("it may have {}", PARTS.join(", "))));
            return None;
        }
        let source = u32::try_from(self.sources.len()).ok()?;
        let value = tree::parse(source, &text, self.sink);
        self.sources.push(Source { name: name.clone(), text });
        let value = value?;
        self.values = self.values.saturating_add(value.count());
        if self.values > MAX_VALUES {
            let title = "the files hold more than eight million values together".to_owned();
            let label = "the limit is reached in this one";
            self.refuse(&codes::TOO_LARGE, title, span, label);
            return None;
        }
        Some((name, value))
    }

    fn refuse(&mut self, code: &'static codes::Code, title: String, span: Span, label: &str) {
        self.sink.push(Diagnostic::new(code, title, span, label));
    }

    /// Reports a file that is named a second time.
    fn again(&mut self, name: &str, span: Span, first: Span) {
        let code = &codes::INCLUDED_TWICE;
        let ring = self.open.iter().position(|open| open == name);
        let diagnostic = if let Some(position) = ring {
            let mut way: Vec<&str> = self.open[position..].iter().map(String::as_str).collect();
            way.push(name);
            let title = format!("{} includes itself", quote(name));
            Diagnostic::new(code, title, span, way.join(" > "))
        } else {
            let title = format!("{} is included twice", quote(name));
            Diagnostic::new(code, title, span, "the second time").also(first, "the first time")
        };
        let help = "remove this line: what a file holds is there once, for all files";
        self.sink.push(diagnostic.help(help));
    }

    /// Reports the keys that an included file cannot have.
    fn check(&mut self, part: &Value) {
        let entries = match &part.data {
            Data::Map(entries) => entries,
            Data::Null => return,
            Data::Scalar(_) | Data::List(_) => {
                let title = format!("an included file needs keys, found {}", part.kind());
                let help = Help::example(
                    "flows: [{ name: setpoint, from: plc1, to: drive1, period: 2 ms, size: 64 B }]",
                );
                let wrong = Diagnostic::new(&codes::WRONG_TYPE, title, part.span, "");
                self.sink.push(wrong.help(help));
                return;
            }
        };
        for entry in entries {
            let key = entry.key.as_str();
            let known = || PARTS.iter().chain(OTHERS).copied();
            if known().any(|own| own == key) || key.starts_with("x-") {
                if key == "rtether" && !matches!(&entry.value.data, Data::Scalar(own) if own == "1")
                {
                    let title = "an included file of another version of the format";
                    let label = "this program reads version 1";
                    let code = &codes::UNSUPPORTED_VERSION;
                    let wrong = Diagnostic::new(code, title, entry.value.span, label);
                    self.sink.push(wrong.help(Help::write("rtether: 1").certain(false)));
                }
                continue;
            }
            let (code, title, label) = if SCENARIO.find(key).is_some() {
                let title = format!("an included file has {}", quote(key));
                let label = "only the scenario itself may have it";
                (&codes::MISPLACED_KEY, title, label)
            } else {
                let title = format!("an included file has no key {}", quote(key));
                (&codes::UNKNOWN_KEY, title, "not a known key")
            };
            let near = suggest::nearest(key, known());
            let help = match near {
                Some(near) => Help::did_you_mean(near),
                None => format!(
                    "it may have {}; `changes` replace other values: \
                     `changes: {{ run.for: 20 s }}`",
                    PARTS.join(", ")
                )
                .into(),
            };
            let wrong = Diagnostic::new(code, title, entry.key_span, label);
            self.sink.push(wrong.help(help));
        }
    }
}

/// Adds what a part holds to a scenario: a file that it includes, or what a generator has written.
pub(super) fn absorb(root: &mut Value, part: Value, sink: &mut Sink) {
    // A root or part without keys has been reported, or is when the scenario is read.
    let (Data::Map(own), Data::Map(more)) = (&mut root.data, part.data) else {
        return;
    };
    for entry in more {
        if !PARTS.contains(&entry.key.as_str()) || matches!(entry.value.data, Data::Null) {
            continue;
        }
        match own.iter_mut().find(|known| known.key == entry.key) {
            None => own.push(entry),
            Some(known) => join(known, entry.value, sink),
        }
    }
}

/// Adds the items of a list or map to those of the same key.
fn join(known: &mut Entry, more: Value, sink: &mut Sink) {
    let (found, span) = (more.kind(), more.span);
    match (&mut known.value.data, more.data) {
        (Data::List(items), Data::List(more)) => items.extend(more),
        (Data::Map(entries), Data::Map(more)) => extend(entries, more, sink),
        (Data::Null, data) => known.value = Value { span, data },
        (Data::List(_) | Data::Map(_) | Data::Scalar(_), _) => {
            let other = known.value.kind();
            let title = format!("{} is {found} here, and {other} elsewhere", quote(&known.key));
            let wrong = Diagnostic::new(&codes::WRONG_TYPE, title, span, "");
            sink.push(wrong.also(known.value.span, "the other one"));
        }
    }
}

/// Adds entries to a map, but none whose name it has.
fn extend(entries: &mut Vec<Entry>, more: Vec<Entry>, sink: &mut Sink) {
    let names = entries.iter();
    let names: BTreeMap<String, Span> =
        names.map(|entry| (entry.key.clone(), entry.key_span)).collect();
    for entry in more {
        let Some(&first) = names.get(&entry.key) else {
            entries.push(entry);
            continue;
        };
        let title = format!("{} is given twice", quote(&entry.key));
        let code = &codes::DUPLICATE_KEY;
        let twice = Diagnostic::new(code, title, entry.key_span, "the second one");
        let help = "give one of them another name, or replace its values under `changes`";
        sink.push(twice.also(first, "the first one").help(help));
    }
}

/// Returns whether a file begins with a key of scenarios or profiles, or with no key at all.
///
/// What does not is no part of a scenario, but any file of the host that a stranger has named, of which
/// messages must quote nothing.
pub(super) fn begins_as_part(text: &str) -> bool {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let is_left_out = |line: &&str| {
        let line = line.trim();
        line.is_empty() || line == "---" || line.starts_with(['#', '%'])
    };
    let Some(line) = text.lines().find(|line| !is_left_out(line)) else {
        return true;
    };
    let line = line.trim_start();
    let line = line.strip_prefix("--- ").unwrap_or(line).trim_start();
    // JSON is YAML, and may have its first key on the next line.
    let Some(line) = line.strip_prefix('{') else {
        return is_part(line);
    };
    let rest = text.split_once('{').map_or(line, |(_, rest)| rest).trim_start();
    rest.starts_with('}') || is_part(rest)
}

/// Returns whether a text begins with a key of scenarios.
fn is_part(text: &str) -> bool {
    let Some((written, value)) = text.split_once(':') else {
        return false;
    };
    let key = written.trim_end().trim_matches(['"', '\'']);
    // Without a blank behind it, a colon is a part of a word.
    let is_key = value.is_empty() || value.starts_with(char::is_whitespace) || key != written;
    let is_own = key.starts_with("x-") && !key.contains(char::is_whitespace);
    is_key && (is_own || SCENARIO.find(key).is_some() || PROFILE.find(key).is_some())
}

/// Returns a path that stands in a file as seen from where that file's own path begins.
pub(super) fn resolve(base: &str, path: &str) -> Result<String, &'static str> {
    let is_absolute = |path: &str| {
        let drive = path.get(1..2) == Some(":");
        path.starts_with(['/', '\\']) || drive
    };
    if path.is_empty() || path.ends_with('/') || path.chars().any(char::is_control) {
        return Err("write the name of a file");
    }
    if is_absolute(path) && !base.is_empty() {
        return Err("paths are relative to the file that names them");
    }
    let folder = base.rfind(['/', '\\']).map_or("", |at| &base[..=at]);
    let mut parts: Vec<&str> = Vec::new();
    for part in folder.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => _ = parts.pop(),
            part => parts.push(part),
        }
    }
    let lead = if folder.starts_with('/') || path.starts_with('/') { "/" } else { "" };
    match parts.last() {
        None | Some(&".." | &"-") => Err("write the name of a file"),
        Some(_) => Ok(format!("{lead}{}", parts.join("/"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::table::{SECTIONS, SHIM_SECTIONS};

    /// Who adds a key that names a file has it read by the rules of `include`, and adds it here.
    /// Oracle: the examples of the table, of which files have an ending.
    #[test]
    fn two_keys_name_files() {
        let of_files = |key: &&crate::keys::Key| {
            let mut words = key.example.split(['[', ']', '{', '}', ',', ' ', '"']);
            words.any(|word| [".yaml", ".json", ".csv"].iter().any(|end| word.ends_with(end)))
        };
        let sections = SECTIONS.iter().chain(SHIM_SECTIONS);
        let keys = sections.flat_map(|section| section.keys).filter(of_files);
        let names: Vec<&str> = keys.map(|key| key.name).collect();
        assert_eq!(names, ["include", "stack"]);
    }

    /// Oracle: YAML 1.2.2 for where a key ends; files of hosts that people have asked for.
    #[test]
    fn a_part_is_known_by_its_first_key() {
        for part in [
            "",
            "# nothing\n",
            "flows: []",
            "\u{feff}# own\n\n---\nnodes:\n  a: {}\n",
            "{ \"flows\": [] }",
            "{\"flows\":[]}",
            "{\n}",
            "{}",
            "--- { links: [] }",
            "x-own: &a 1\nflows: []",
            "'include': own.yaml",
        ] {
            assert!(begins_as_part(part), "{part}");
        }
        for other in [
            "root:*:19000:0:99999:7:::\n",
            "HOME=/root\0PATH=/bin",
            "flows:secret",
            "x-a b: 1",
            "secret: flows: 1",
            "[flows]",
            "token",
            "{ secret: 1, flows: [] }",
            "flows",
        ] {
            assert!(!begins_as_part(other), "{other}");
        }
    }

    /// Oracle: RFC 3986, 5.2.4, for relative paths, by hand.
    #[test]
    fn paths_are_relative_to_the_file_that_names_them() {
        for (base, path, whole) in [
            ("plant.yaml", "own.yaml", "own.yaml"),
            ("plants/a.yaml", "own.yaml", "plants/own.yaml"),
            ("plants/a.yaml", "./cells/../own.yaml", "plants/own.yaml"),
            ("plants/a.yaml", "../own.yaml", "own.yaml"),
            ("a.yaml", "../../own.yaml", "../../own.yaml"),
            ("../a.yaml", "../own.yaml", "../../own.yaml"),
            ("/srv/a.yaml", "cells/b.yaml", "/srv/cells/b.yaml"),
            ("-", "own.yaml", "own.yaml"),
        ] {
            assert_eq!(resolve(base, path).as_deref(), Ok(whole), "{base} {path}");
        }
        for path in ["", "/etc/passwd", "C:/plant.yaml", "cells/", "..", "-", "a\nb"] {
            assert!(resolve("plant.yaml", path).is_err(), "{path}");
        }
    }
}
