//! Diagnostics as text and as JSON.

pub use super::span::position;
use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use serde_json::{Value, json};

use super::codes::Severity;
use super::diagnostic::{Diagnostic, Source, Span};
use super::help::Replacement;

/// Whether to use terminal colors; the text is the same either way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// No escape sequences.
    Plain,
    /// With ANSI colors.
    Colored,
}

/// Returns one diagnostic with its source lines, ending in a newline.
pub fn text(diagnostic: &Diagnostic, sources: &[Source], style: Style) -> String {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let title = level.primary_title(&diagnostic.title).id(diagnostic.code);
    let mut report = vec![Group::with_title(title).elements(snippets(diagnostic, sources))];
    for help in &diagnostic.help {
        let title = Level::HELP.primary_title(help.text.as_str());
        report.push(Group::with_title(title));
    }
    let renderer = match style {
        Style::Plain => Renderer::plain(),
        Style::Colored => Renderer::styled(),
    };
    let mut out = renderer.decor_style(DecorStyle::Ascii).term_width(120).render(&report);
    out.push('\n');
    out
}

fn snippets<'a>(
    diagnostic: &'a Diagnostic,
    sources: &'a [Source],
) -> Vec<Snippet<'a, annotate_snippets::Annotation<'a>>> {
    let mut places = vec![(AnnotationKind::Primary, &diagnostic.primary)];
    places.extend(diagnostic.secondary.iter().map(|label| (AnnotationKind::Context, label)));
    let mut order: Vec<u32> = places.iter().map(|(_, label)| label.span.source).collect();
    order.dedup();
    let mut done = Vec::new();
    let mut list = Vec::new();
    for source_id in order {
        let Some(source) = sources.get(source_id as usize) else {
            continue;
        };
        if done.contains(&source_id) {
            continue;
        }
        done.push(source_id);
        let here = || places.iter().filter(|(_, label)| label.span.source == source_id);
        let ranges = here().map(|(_, label)| range(label.span, &source.text));
        let window = window(&source.text, ranges);
        let annotations = here().map(|(kind, label)| {
            let text = (!label.text.is_empty()).then_some(label.text.as_str());
            let range = range(label.span, &source.text);
            let (start, end) = (range.start - window.start, range.end - window.start);
            kind.span(start..end).label(text)
        });
        let (line, _) = position(&source.text, u32::try_from(window.start).unwrap_or(u32::MAX));
        list.push(
            Snippet::source(&source.text[window.clone()])
                .line_start(line)
                .path(source.name.as_str())
                .annotations(annotations),
        );
    }
    list
}

/// Returns the range of lines from the first to the last place, so that rendering each of many
/// diagnostics does not scan the whole of a large file.
fn window(
    text: &str,
    ranges: impl Iterator<Item = std::ops::Range<usize>>,
) -> std::ops::Range<usize> {
    let (start, end) = ranges
        .fold((text.len(), 0), |(start, end), range| (start.min(range.start), end.max(range.end)));
    let start = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let end = end.max(start);
    start..text[end..].find('\n').map_or(text.len(), |at| end + at)
}

/// Returns the span on character boundaries, cut at the end of its first line: a caret under a
/// whole block says nothing.
fn range(span: Span, text: &str) -> std::ops::Range<usize> {
    let floor = |at: u32| {
        let mut at = (at as usize).min(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    let (start, end) = (floor(span.start), floor(span.end));
    let line = text[start..].find(['\n', '\r']).map_or(text.len(), |n| start + n);
    start..end.clamp(start, line.max(start))
}

/// Returns all diagnostics in sequence, followed by a line with their number.
pub fn all(diagnostics: &[Diagnostic], sources: &[Source], style: Style) -> String {
    let mut out = String::new();
    for diagnostic in diagnostics {
        out.push_str(&text(diagnostic, sources, style));
        out.push('\n');
    }
    let count = |severity| diagnostics.iter().filter(|d| d.severity == severity).count();
    let plural = |count: usize, word: &str| match count {
        0 => None,
        1 => Some(format!("1 {word}")),
        n => Some(format!("{n} {word}s")),
    };
    let parts: Vec<String> =
        [plural(count(Severity::Error), "error"), plural(count(Severity::Warning), "warning")]
            .into_iter()
            .flatten()
            .collect();
    if !parts.is_empty() {
        out.push_str(&parts.join(", "));
        out.push('\n');
    }
    out
}

/// Returns one diagnostic as JSON. Lines and columns count from 1, columns in characters; offsets
/// are in bytes. `edits` are those that its lines of help stand for, each with the
/// position of its line.
pub fn json(diagnostic: &Diagnostic, sources: &[Source]) -> Value {
    let place = |span: Span, label: &str, primary: bool| {
        let source = sources.get(span.source as usize);
        let (line, column) = source.map_or((1, 1), |s| position(&s.text, span.start));
        let (end_line, end_column) = source.map_or((1, 1), |s| position(&s.text, span.end));
        json!({
            "file": source.map_or("", |s| s.name.as_str()),
            "start": span.start,
            "end": span.end,
            "line": line,
            "column": column,
            "end_line": end_line,
            "end_column": end_column,
            "label": label,
            "primary": primary,
        })
    };
    let edits = diagnostic.help.iter().enumerate().filter_map(|(line, help)| {
        let edit = help.edit.as_ref()?;
        let mut object = json!(Replacement::of(edit, sources).json());
        object["certain"] = edit.is_certain.into();
        object["tried"] = edit.is_tried.into();
        object["help"] = line.into();
        Some(object)
    });
    let mut spans = vec![place(diagnostic.primary.span, &diagnostic.primary.text, true)];
    let secondary = diagnostic.secondary.iter();
    spans.extend(secondary.map(|label| place(label.span, &label.text, false)));
    json!({
        "severity": diagnostic.severity.name(),
        "code": diagnostic.code,
        "title": diagnostic.title,
        "spans": spans,
        "help": diagnostic.help.iter().map(|help| help.text.as_str()).collect::<Vec<_>>(),
        "edits": edits.collect::<Vec<_>>(),
    })
}
