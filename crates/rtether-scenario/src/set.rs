//! Where a changed value is written in a file.
//!
//! A value replaces the one that is there; a new key stands behind the keys beside it, in the form that
//! these have.

use super::Loaded;
use super::assemble::assemble;
use super::change::Override;
use super::diagnostic::{Sink, Source, Span};
use super::overrides;
use super::span::spanned;
use super::tree::{self, Data, Value};

/// The files of a scenario as one tree.
pub(super) struct Files {
    root: Option<Value>,
    sources: Vec<Source>,
    /// Between the first file and those that it includes: sources that are no files.
    others: usize,
}

impl Files {
    /// Reads the files again, without what options changed in them.
    pub(super) fn of(loaded: &Loaded) -> Self {
        let main = loaded.sources.first().cloned();
        let main = main.unwrap_or_else(|| Source { name: String::new(), text: String::new() });
        let mut sink = Sink::default();
        let mut root = tree::parse(0, &main.text, &mut sink);
        let mut sources = vec![main];
        let read = |path: &str| {
            let found = loaded.included().iter().find(|file| file.name == path);
            found.map(|file| file.text.clone()).ok_or_else(String::new)
        };
        if let Some(root) = &mut root {
            assemble(root, &read, &mut sources, &[], &mut sink);
        }
        Self { root, sources, others: loaded.first_included.saturating_sub(1) }
    }

    /// Returns place and text of the edit that makes a change; `None` if the path is not there, or
    /// no single place is to be changed.
    pub(super) fn edit(&self, change: &Override) -> Option<(Span, String)> {
        let (mut span, new) = edit(self.root.as_ref()?, &self.sources, change)?;
        if span.source > 0 {
            span.source += u32::try_from(self.others).ok()?;
        }
        Some((span, new))
    }
}

/// Returns place and text of the edit that makes a change in the files of a tree.
pub(super) fn edit(root: &Value, sources: &[Source], change: &Override) -> Option<(Span, String)> {
    let (at, rest) = overrides::reach(root, &change.path);
    let text = &sources.get(at.span.source as usize)?.text;
    let (start, end) = (at.span.start as usize, at.span.end as usize);
    let written = text.get(start..end)?;
    if rest.is_empty() {
        let is_one = matches!(at.data, Data::Scalar(_)) && !written.contains('\n');
        let is_flow = written.starts_with(['{', '[']);
        let range = start..start + written.trim_end().len();
        let place = spanned(at.span.source, text, range)?;
        return (is_one || is_flow).then(|| (place, change.value.clone()));
    }
    let entry = entry(rest, &change.value)?;
    let Data::Map(entries) = &at.data else {
        return None;
    };
    if written.starts_with('{') {
        // What a profile adds stands elsewhere.
        let source = at.span.source;
        let (place, new) = match entries.iter().rfind(|own| own.value.span.source == source) {
            Some(last) => (last.value.span.end as usize, format!(", {entry}")),
            None => (start + 1, format!(" {entry} ")),
        };
        let before = text.get(start..place)?;
        let place = start + before.trim_end().len();
        return Some((spanned(at.span.source, text, place..place)?, new));
    }
    // Behind the last entry of one line, if it is of this file.
    let beside = entries.iter().rev().find(|own| {
        let value = own.value.span;
        matches!(own.value.data, Data::Scalar(_))
            && value.source == own.key_span.source
            && text
                .get(own.key_span.start as usize..value.end as usize)
                .is_some_and(|line| !line.contains('\n'))
    })?;
    let source = beside.key_span.source;
    let text = &sources.get(source as usize)?.text;
    let key = beside.key_span.start as usize;
    let line = text[..key].rfind('\n').map_or(0, |end| end + 1);
    let indent = text[line..key].chars().count();
    let behind = beside.value.span.end as usize;
    let end = text[behind..].find('\n').map_or(text.len(), |at| behind + at);
    let end = line + text[line..end].trim_end().len();
    let end_of_line = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let new = format!("{end_of_line}{}{entry}", " ".repeat(indent));
    Some((spanned(source, text, end..end)?, new))
}

/// Returns the entry that a path below a map stands for: `run.for` is `run: { for: 2 s }`.
fn entry(path: &str, value: &str) -> Option<String> {
    let is_plain = |key: &str| {
        let is_letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        !key.is_empty() && key.chars().all(is_letter)
    };
    let (key, rest) = match path.split_once('.') {
        Some((key, rest)) => (key, Some(rest)),
        None => (path, None),
    };
    if !is_plain(key) {
        return None;
    }
    Some(match rest {
        Some(rest) => format!("{key}: {{ {} }}", entry(rest, value)?),
        None => format!("{key}: {value}"),
    })
}
