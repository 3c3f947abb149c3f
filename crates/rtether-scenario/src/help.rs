//! Lines of help: words for people, and the edit that they stand for as data.
//!
//! A line that is an edit is made of that edit: its words come from what it proposes, and nothing is
//! read back from words.

use std::fmt::{self, Display};
use std::ops::Range;

use schemars::JsonSchema;
use serde::Serialize;

use super::change::Override;
use super::span::{Source, Span, position};

/// A line of help.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Help {
    /// For people.
    pub text: String,
    /// The edit that it stands for; `None` if it is advice, or if the place is in no file.
    pub edit: Option<Edit>,
    pub(super) proposal: Option<Proposal>,
    /// Whether what is proposed follows from what is written.
    pub(super) is_certain: bool,
}

/// A change of one place in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// What is replaced; empty where something is added.
    pub span: Span,
    /// What is put there.
    pub new: String,
    /// Whether it follows from what is written. If not, its value is an example or one of several
    /// meanings, and the author has to choose.
    pub is_certain: bool,
    /// Whether the loader has read what comes of it: without the mistake, and with no other one. Of
    /// large files few edits are tried.
    pub is_tried: bool,
}

impl Edit {
    /// Returns the text after the edit; `None` if the place is not in it.
    pub fn apply(&self, text: &str) -> Option<String> {
        let (start, end) = (self.span.start as usize, self.span.end as usize);
        text.get(start..end)?;
        Some(format!("{}{}{}", &text[..start], self.new, &text[end..]))
    }
}

/// An edit apart from the text that it is for. Lines and columns count from 1, columns in characters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replacement {
    /// The file as messages name it.
    pub file: String,
    /// What is replaced, in octets.
    pub range: Range<usize>,
    /// Line and column where it begins.
    pub begin: (usize, usize),
    /// Line and column behind its end.
    pub end: (usize, usize),
    /// What is put there.
    pub new: String,
}

impl Replacement {
    /// Describes an edit of one of these texts.
    pub fn of(edit: &Edit, sources: &[Source]) -> Self {
        let span = edit.span;
        let Some(source) = sources.get(span.source as usize) else {
            return Self::default();
        };
        Self {
            file: source.name.clone(),
            range: span.start as usize..span.end as usize,
            begin: position(&source.text, span.start),
            end: position(&source.text, span.end),
            new: edit.new.clone(),
        }
    }

    /// Returns it as documents have it, with the members of the places of messages.
    pub fn json(&self) -> EditJson<'_> {
        EditJson {
            file: &self.file,
            start: self.range.start,
            end: self.range.end,
            line: self.begin.0,
            column: self.begin.1,
            end_line: self.end.0,
            end_column: self.end.1,
            replacement: &self.new,
        }
    }
}

/// An edit as documents have it.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct EditJson<'a> {
    /// The file as messages name it.
    file: &'a str,
    /// Where what is replaced begins, in octets.
    start: usize,
    /// Where it ends.
    end: usize,
    /// Line where it begins, from 1.
    line: usize,
    /// Column where it begins, from 1 and in characters.
    column: usize,
    /// Line behind its end.
    end_line: usize,
    /// Column behind its end.
    end_column: usize,
    /// What is put there.
    replacement: &'a str,
}

/// What a line of help proposes, at the place of its diagnostic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Proposal {
    /// To write a value, or a key with its value, in place of what is there.
    Write(String),
    /// To add a key with its value.
    Add(String),
    /// To remove a key with its value.
    Remove(String),
    /// To close a bracket at the end of its line.
    Close(&'static str),
    /// To set the first of these values whose path exists.
    Set(Vec<Override>),
}

impl Help {
    fn new(text: String, proposal: Proposal, is_certain: bool) -> Self {
        Self { text, edit: None, proposal: Some(proposal), is_certain }
    }

    /// Proposes to write something that follows from what is there.
    pub(super) fn write(new: impl Into<String>) -> Self {
        let new = new.into();
        Self::new(format!("write `{new}`"), Proposal::Write(new), true)
    }

    /// Asks whether something is meant by what is there.
    pub(super) fn did_you_mean(new: impl Into<String>) -> Self {
        let new = new.into();
        let text = format!("did you mean `{new}`?");
        Self::new(text, Proposal::Write(new), true)
    }

    /// Shows what may be written.
    pub(super) fn example(new: impl Into<String>) -> Self {
        let new = new.into();
        let text = format!("for example `{new}`");
        Self::new(text, Proposal::Write(new), false)
    }

    /// Proposes to add an entry, whose value is an example.
    pub(super) fn add(entry: impl Into<String>) -> Self {
        let entry = entry.into();
        Self::new(format!("add `{entry}`"), Proposal::Add(entry), false)
    }

    /// Proposes to remove a key, which changes nothing.
    pub(super) fn remove(key: impl Into<String>) -> Self {
        let key = key.into();
        Self::new(format!("remove `{key}`"), Proposal::Remove(key), true)
    }

    /// Proposes to close a bracket.
    pub(super) fn close(sign: &'static str) -> Self {
        let text = format!("write `{sign}` at the end of this line");
        Self::new(text, Proposal::Close(sign), true)
    }

    /// Says that it proposes to write this; the words are its own.
    pub(super) fn writes(self, new: impl Into<String>) -> Self {
        Self::new(self.text, Proposal::Write(new.into()), true)
    }

    /// Says that it proposes to remove this key; the words are its own.
    pub(super) fn removes(self, key: impl Into<String>) -> Self {
        Self::new(self.text, Proposal::Remove(key.into()), true)
    }

    /// Says that it proposes to set one of these values; the words are its own.
    pub(super) fn sets(self, changes: Vec<Override>) -> Self {
        Self::new(self.text, Proposal::Set(changes), false)
    }

    /// Adds words.
    pub(super) fn noted(mut self, words: &str) -> Self {
        self.text.push_str(words);
        self
    }

    /// Says whether what is proposed follows from what is written.
    pub(super) const fn certain(mut self, is_certain: bool) -> Self {
        self.is_certain = is_certain;
        self
    }
}

impl From<String> for Help {
    fn from(text: String) -> Self {
        Self { text, edit: None, proposal: None, is_certain: false }
    }
}

impl From<&str> for Help {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl Display for Help {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
