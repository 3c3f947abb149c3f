//! Places in the text of a scenario.

use std::ops::Range;

/// A range of bytes in one source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// Position in [`super::Loaded::sources`].
    pub source: u32,
    /// First byte.
    pub start: u32,
    /// Byte after the last one.
    pub end: u32,
}

/// A text that spans point into: the scenario file, or the value of an override.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Name shown to the user: a path, or `--set`.
    pub name: String,
    /// Its contents.
    pub text: String,
}

/// Returns line and column of a byte offset, both from 1.
pub fn position(text: &str, offset: u32) -> (usize, usize) {
    let mut offset = (offset as usize).min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    let before = &text[..offset];
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let line = before.matches('\n').count() + 1;
    (line, before[line_start..].chars().count() + 1)
}

/// Returns a range of a text as a span, unless there is a comment in it.
pub(super) fn spanned(source: u32, text: &str, range: Range<usize>) -> Option<Span> {
    let inside = text.get(range.clone())?;
    let has_comment = inside.match_indices('#').any(|(at, _)| {
        let before = text[..range.start + at].chars().next_back();
        before.is_none_or(char::is_whitespace)
    });
    if has_comment {
        return None;
    }
    let octet = |at: usize| u32::try_from(at).ok();
    Some(Span { source, start: octet(range.start)?, end: octet(range.end)? })
}
