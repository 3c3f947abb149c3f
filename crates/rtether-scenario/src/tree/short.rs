//! Short maps, read without the YAML library: a large plant is little else.
//!
//! A short map is all that follows `- ` or a key on its line: `{ name: x, size: 64 B }`, of words
//! and quoted texts in which nothing means anything to YAML. [`Shorts::find`] takes such maps out of
//! a text and leaves an empty text in quotes in the place of each, so that the library reads the
//! rest, with all places as before. Where it finds something else there, or a mistake anywhere, the
//! file is read again as it is: only the library knows what such a line is part of.

use std::iter::{Peekable, repeat_n};
use std::vec;

use super::{Data, Entry, Seen, Value};
use crate::diagnostic::Span;

/// Short maps in the order of the text.
pub(super) type Maps = Peekable<vec::IntoIter<Value>>;

/// A text without its short maps.
pub(super) struct Shorts {
    /// The text, with an empty text in the place of each map.
    pub(super) rest: String,
    /// The maps.
    pub(super) maps: Maps,
}

impl Shorts {
    /// What stands in the place of a map, which has as many octets at least.
    const PLACEHOLDER: &'static str = "\"\"";
    /// Fewer maps are left to the library.
    const FROM: usize = 64;

    /// Takes the short maps out of a text; `None` if there are few.
    pub(super) fn find(source: u32, text: &str) -> Option<Self> {
        let mut rest = String::with_capacity(text.len());
        let mut maps = Vec::new();
        let mut copied = 0;
        let mut begin = 0;
        for line in text.split_inclusive('\n') {
            let map = opening(line).and_then(|at| {
                let mut cursor = Cursor { source, text, at: begin + at };
                let map = cursor.map(0)?;
                cursor.ends_line().then_some((map, begin + at, cursor.at))
            });
            begin += line.len();
            if let Some((map, start, end)) = map {
                rest.push_str(&text[copied..start]);
                rest.push_str(Self::PLACEHOLDER);
                rest.extend(repeat_n(' ', end - start - Self::PLACEHOLDER.len()));
                copied = end;
                maps.push(map);
            }
        }
        rest.push_str(&text[copied..]);
        (maps.len() >= Self::FROM).then(|| Self { rest, maps: maps.into_iter().peekable() })
    }
}

/// Returns where a map opens on a line that is the value of a list or of a key.
fn opening(line: &str) -> Option<usize> {
    let bytes = line.as_bytes();
    let indent = bytes.iter().take_while(|&&byte| byte == b' ').count();
    let mut at = indent;
    while bytes.get(at..at + 2) == Some(b"- ") {
        at += 2;
    }
    if at > indent && bytes.get(at) == Some(&b'{') {
        return Some(at);
    }
    let length = bytes[at..].iter().take_while(|&&byte| is_key(byte));
    let end = at + length.count();
    let is_value = end > at && bytes.get(end..end + 3) == Some(b": {");
    is_value.then_some(end + 2)
}

/// Returns whether a key may have this character, and a word begin with it.
const fn is_key(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Returns whether a word may have this character.
const fn is_word(byte: u8) -> bool {
    is_key(byte) || matches!(byte, b'.' | b'/' | b'+' | b'%' | b'-')
}

/// A place in the text.
struct Cursor<'t> {
    source: u32,
    text: &'t str,
    at: usize,
}

impl Cursor<'_> {
    /// Most levels of maps and lists on a line.
    const DEPTH: usize = 4;

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip(&mut self, is_skipped: impl Fn(u8) -> bool) {
        while self.peek().is_some_and(&is_skipped) {
            self.at += 1;
        }
    }

    fn skip_spaces(&mut self) {
        self.skip(|byte| byte == b' ');
    }

    fn takes(&mut self, byte: u8) -> bool {
        let is_there = self.peek() == Some(byte);
        self.at += usize::from(is_there);
        is_there
    }

    /// Returns whether nothing but spaces follows on the line.
    fn ends_line(&mut self) -> bool {
        let end = self.at;
        self.skip_spaces();
        let ends = matches!(self.peek(), None | Some(b'\n'));
        self.at = end;
        ends
    }

    fn span(&self, start: usize) -> Span {
        let limit = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        Span { source: self.source, start: limit(start), end: limit(self.at) }
    }

    fn map(&mut self, depth: usize) -> Option<Value> {
        let start = self.at;
        if !self.takes(b'{') || depth >= Self::DEPTH {
            return None;
        }
        let mut entries: Vec<Entry> = Vec::new();
        let mut seen = Seen::default();
        loop {
            self.skip_spaces();
            let (key, key_span) = self.key()?;
            let value = self.value(depth + 1)?;
            if seen.find(&entries, &key).is_some() {
                return None;
            }
            entries.push(Entry { key, key_span, value });
            if !self.goes_on(b'}')? {
                break;
            }
        }
        Some(Value { span: self.span(start), data: Data::Map(entries) })
    }

    fn list(&mut self, depth: usize) -> Option<Value> {
        let start = self.at;
        if !self.takes(b'[') || depth >= Self::DEPTH {
            return None;
        }
        let mut items = Vec::new();
        loop {
            self.skip_spaces();
            items.push(self.value(depth + 1)?);
            if !self.goes_on(b']')? {
                break;
            }
        }
        Some(Value { span: self.span(start), data: Data::List(items) })
    }

    /// Returns whether a comma follows, or the end of the map or list.
    fn goes_on(&mut self, end: u8) -> Option<bool> {
        self.skip_spaces();
        if self.takes(b',') {
            return Some(true);
        }
        self.takes(end).then_some(false)
    }

    fn key(&mut self) -> Option<(String, Span)> {
        let start = self.at;
        self.skip(is_key);
        let key = self.text.get(start..self.at).filter(|key| !key.is_empty());
        let span = self.span(start);
        let is_key = self.takes(b':') && self.takes(b' ');
        self.skip_spaces();
        let key = key.filter(|_| is_key)?;
        Some((key.to_owned(), span))
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        match self.peek()? {
            b'{' => self.map(depth),
            b'[' => self.list(depth),
            quote @ (b'"' | b'\'') => self.quoted(quote),
            byte if is_key(byte) => self.words(),
            _ => None,
        }
    }

    fn quoted(&mut self, quote: u8) -> Option<Value> {
        let start = self.at;
        self.at += 1;
        self.skip(|byte| matches!(byte, b' '..=b'~') && byte != quote && byte != b'\\');
        let text = self.text.get(start + 1..self.at)?;
        // Two quotes in a text mean one.
        let is_whole = self.takes(quote) && self.peek() != Some(quote);
        is_whole.then(|| Value { span: self.span(start), data: Data::Scalar(text.to_owned()) })
    }

    /// Reads words up to the comma or bracket behind them.
    fn words(&mut self) -> Option<Value> {
        let start = self.at;
        self.skip(|byte| is_word(byte) || byte == b' ');
        if !matches!(self.peek(), Some(b',' | b'}' | b']')) {
            return None;
        }
        let text = self.text.get(start..self.at)?.trim_end_matches(' ');
        self.at = start + text.len();
        Some(Value {
            span: self.span(start),
            data: match text {
                "null" => Data::Null,
                text => Data::Scalar(text.to_owned()),
            },
        })
    }
}

#[cfg(test)]
mod tests;
